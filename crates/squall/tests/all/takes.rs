//! What is done while a scene plays is part of the scene: playing it again comes to the same bits.

use crate::folder::{Folder, options};
use squall::picture::Painter;
use squall::run::{Outcome, run};
use squall::setup::{Change, Edit, Move, Stroke, Thing, edit};
use squall::{CancelToken, Driver, Event, Scene, Setup};
use squall_core::Value;
use squall_core::visit::StateCopy;

const STABLE: &str = "[grid]\ncells = [24, 32]\n[fluid]\nvelocity = [\"0.2*sin(tau*y)\", 0]\n[substance.dye]\ninitial = \"y < 0.3\"\n\
                      [substance.ink]\n[boundary]\nx = \"periodic\"\n[output]\nwidth = 48\n";
const SMOKE: &str = "model = \"smoke\"\n[grid]\ncells = [32, 32]\n[[source]]\n\
                     shape = { sphere = { center = [0.5, 0.2], radius = 0.1 } }\nset = { density = 1, temperature = 200 }\n\
                     [output]\nwidth = 48\n";
const SOLID: &str = "model = \"smoke\"\n[grid]\ncells = [16, 16, 16]\n[boundary]\nx = \"slip\"\ny = \"slip\"\nz = \"slip\"\n[[object]]\nname = \"ball\"\n\
                     shape = { sphere = { center = [0.5, 0.5, 0.5], radius = 0.2 } }\n[substance.density]\ninitial = \"y < 0.3\"\n\
                     [output]\nwidth = 48\n";
const LIQUID: &str = "model = \"liquid\"\n[grid]\ncells = [32, 24]\n[substance.ink]\n[[blob]]\nshape = { box = { min = [0, 0], max = [1, 0.2] } }\n\
                      [output]\nwidth = 48\n";
const TARGET: &str = "model = \"target_smoke\"\n[grid]\ncells = [24, 24]\n[substance.density]\nstart = { text = \"A\" }\n\
                      [[target]]\nfigure = { text = \"B\" }\ntime = 2\n[output]\nwidth = 48\n";

fn setup(text: &str) -> Setup {
    Scene::parse("take.toml", text, &[]).unwrap().setup().unwrap_or_else(|e| panic!("{e:?}")).0
}

fn state(driver: &mut Driver) -> StateCopy {
    let mut copy = StateCopy::default();
    assert!(copy.save(|visitor| driver.visit_state(visitor)));
    copy
}

fn play_to(driver: &mut Driver, frame: u64) {
    assert!(driver.run_to(frame, &mut |step| step.strictly().unwrap(), &CancelToken::default()).unwrap());
}

/// A stroke that is put down after a frame.
fn stroke(frame: u64, at: &[f64], paint: &str) -> Edit {
    let paint = if paint.is_empty() { Vec::new() } else { vec![(paint.to_owned(), 20.0)] };
    let stroke = Stroke {
        points: vec![at.to_vec()],
        pressure: vec![1.0],
        radius: 0.15,
        softness: 0.5,
        push: 20.0,
        force: vec![0.0; at.len()],
        paint,
        ..Stroke::default()
    };
    Edit { frame, change: Change::Stroke(stroke) }
}

/// Plays eight frames by hand: two strokes, one of them erases; and a parameter that changes twice. What was played.
fn play(driver: &mut Driver, paint: &str, parameter: &str) {
    let d = driver.simulation().cells().len();
    let at = |x: f64, y: f64| [x, y, 0.5][..d].to_vec();
    let change = |frame, value| Edit {
        frame,
        change: Change::Parameter { name: parameter.to_owned(), value: Value::Number(value) },
    };
    for frame in 0..8 {
        match frame {
            1 => driver.edit(stroke(1, &at(0.3, 0.4), paint)).unwrap(),
            2 => driver.edit(change(2, 0.01)).unwrap(),
            5 => {
                let Edit { change: Change::Stroke(stroke), .. } = stroke(5, &at(0.6, 0.5), "") else { unreachable!() };
                driver.edit(Edit { frame: 5, change: Change::Stroke(Stroke { erase: 3.0, ..stroke }) }).unwrap();
            }
            6 => driver.edit(change(6, 0.002)).unwrap(),
            _ => {}
        }
        if frame == 2 {
            let late = driver.edit(change(1, 0.1)).unwrap_err().to_string();
            assert_eq!(late, "cannot edit after frame 1: frame 2 is already finished");
            assert!(!driver.stroke_to(&at(0.5, 0.5), 1.0), "the last edit is no stroke");
        }
        if frame == 7 {
            assert!(!driver.stroke_to(&at(0.5, 0.5), 1.0), "a parameter was changed since: that stroke is over");
        }
        play_to(driver, frame + 1);
    }
}

#[test]
fn what_was_played_is_read_from_its_scene_and_played_again_to_the_same_bits() {
    let takes = [
        (STABLE, "ink", "viscosity"),
        (SMOKE, "density", "viscosity"),
        (SOLID, "density", "viscosity"),
        (LIQUID, "ink", "viscosity"),
    ];
    for (text, paint, parameter) in takes {
        let mut live = Driver::new(&setup(text)).unwrap();
        play(&mut live, paint, parameter);
        let last = state(&mut live);

        let text = text.to_owned() + &edit::to_toml(live.edits());
        let take = setup(&text);
        assert_eq!(take.edits, live.edits(), "{text}");
        assert_eq!(setup(&take.to_toml()).edits, live.edits(), "the resolved scene has them, too");
        let mut again = Driver::new(&take).unwrap();
        play_to(&mut again, 8);
        assert!(state(&mut again) == last, "played again: {text}");

        // Saved in the middle of the first stroke, and restored.
        let mut first = Driver::new(&take).unwrap();
        play_to(&mut first, 2);
        let saved = state(&mut first);
        let mut resumed = Driver::new(&take).unwrap();
        saved.restore(|visitor| resumed.visit_state(visitor));
        play_to(&mut resumed, 8);
        assert!(state(&mut resumed) == last, "resumed: {text}");

        let mut untouched = Driver::new(&setup(text.split("[[edit]]").next().unwrap())).unwrap();
        play_to(&mut untouched, 8);
        assert!(state(&mut untouched) != last, "and it makes a difference: {text}");
    }
}

#[test]
fn smoke_with_a_target_can_be_painted_too() {
    let mut live = Driver::new(&setup(TARGET)).unwrap();
    live.edit(stroke(0, &[0.5, 0.9], "density")).unwrap();
    let mut emitted = 0.0;
    live.run_to(2, &mut |step| emitted += step.report.ledger.substances[0].emitted, &CancelToken::default()).unwrap();
    // A bell of 20 per second for a thirtieth of one, of which the middle of the edge lies at 0.11 m.
    let expected = 20.0 / 30.0 * std::f64::consts::PI * 0.1125f64.powi(2);
    assert!((emitted / expected - 1.0).abs() < 0.15, "{emitted} and {expected}");
}

#[test]
fn a_brush_that_waits_changes_no_bit() {
    for text in [STABLE, SMOKE, LIQUID, TARGET] {
        let later = setup(text).with_edits(&[stroke(100, &[0.5, 0.5], "")]).unwrap();
        let (mut plain, mut waiting) = (Driver::new(&setup(text)).unwrap(), Driver::new(&later).unwrap());
        for driver in [&mut plain, &mut waiting] {
            play_to(driver, 4);
        }
        assert!(state(&mut plain) == state(&mut waiting), "{text}");
    }
}

#[test]
fn a_stroke_knows_nothing_of_points_that_come_later() {
    let long = |points: usize| {
        let Edit { frame, change: Change::Stroke(mut stroke) } = stroke(0, &[0.2, 0.5], "density") else {
            unreachable!()
        };
        stroke.points = (0..points).map(|k| vec![0.2 + 0.05 * k as f64, 0.5]).collect();
        stroke.pressure = (0..points).map(|k| 1.0 / (1.0 + k as f64)).collect();
        Edit { frame, change: Change::Stroke(stroke) }
    };
    let mut drivers = [4, 9].map(|points| Driver::new(&setup(SMOKE).with_edits(&[long(points)]).unwrap()).unwrap());
    drivers.iter_mut().for_each(|driver| play_to(driver, 4));
    let [short, long] = &mut drivers;
    assert!(state(short) == state(long));
    drivers.iter_mut().for_each(|driver| play_to(driver, 5));
    let [short, long] = &mut drivers;
    assert!(state(short) != state(long));
}

#[test]
fn smoke_is_painted_where_there_was_no_grid_and_moves_with_the_brush() {
    let text = "model = \"smoke\"\n[grid]\ncells = [32, 32]\n[smoke]\nfade = 0\nconfinement = 0\nrise = 0\n";
    let mut driver = Driver::new(&setup(text)).unwrap();
    // Far outside of what is looked at.
    driver.edit(stroke(0, &[3.5, 2.5], "density")).unwrap();
    let mut mass = Vec::new();
    for k in 1..6 {
        driver.run_to(k, &mut |step| mass.push(step.report.mass[0]), &CancelToken::default()).unwrap();
        assert!(driver.stroke_to(&[3.5 + 0.04 * k as f64, 2.5], 1.0));
    }
    driver.run_to(12, &mut |step| step.strictly().unwrap(), &CancelToken::default()).unwrap();
    let total = *mass.last().unwrap();
    // Six dabs of 20 per second for a thirtieth, longer ones by the way of the brush; less where they fade.
    assert!(total > 0.1 && total < 0.4, "{total}");
    // The brush went 1.2 m/s, which is 38 cells a second: the smoke has taken a good part of that.
    let speed = driver.simulation().cells_per_second();
    assert!(speed > 5.0 && speed < 60.0, "{speed}");
}

#[test]
fn a_brush_fills_with_liquid_and_takes_it_away() {
    let volume = |change: fn(&mut Stroke)| {
        let Edit { frame, change: Change::Stroke(mut stroke) } = stroke(0, &[0.5, 0.5], "") else { unreachable!() };
        (stroke.push, stroke.softness) = (0.0, 0.0);
        change(&mut stroke);
        let mut driver = Driver::new(&setup(LIQUID)).unwrap();
        driver.edit(Edit { frame, change: Change::Stroke(stroke) }).unwrap();
        let mut volume = 0.0;
        let mut note = |step: &squall::Step| {
            step.strictly().unwrap();
            volume = step.report.mass[0];
        };
        driver.run_to(2, &mut note, &CancelToken::default()).unwrap();
        volume
    };
    let disc = std::f64::consts::PI * 0.15f64.powi(2);
    let (before, more) = (0.2, volume(|stroke| stroke.fill = true));
    // Particles are counted by quarters of cells along the edge of the disc.
    assert!((more - before - disc).abs() < 0.15 * disc, "{more}");
    let less = volume(|stroke| {
        stroke.erase = 1.0;
        stroke.points = vec![vec![0.5, 0.0]];
    });
    // Half of the disc is above the floor; more comes in while it is drained.
    assert!(less < before - 0.4 * disc && less > before - 1.5 * disc, "{less}");
}

#[test]
fn a_run_bakes_what_was_played_and_resumes_it_to_the_same_bytes() {
    let mut live = Driver::new(&setup(SMOKE)).unwrap();
    let mut painter = Painter::new(&setup(SMOKE)).unwrap();
    let mut shown = Vec::new();
    let mut frame = 0;
    while frame < 8 {
        match frame {
            2 => live.edit(stroke(2, &[0.3, 0.6], "density")).unwrap(),
            3..=5 => assert!(live.stroke_to(&[0.3 + 0.04 * (frame as f64 - 2.0), 0.6], 0.7)),
            _ => {}
        }
        play_to(&mut live, frame + 1);
        frame += 1;
        let picture = painter.draw(live.simulation(), live.time(), frame).unwrap();
        shown.push(picture.to_image(&squall::picture::tone(&setup(SMOKE), live.time())));
    }
    let text = SMOKE.to_owned() + "[time]\nframes = 8\n" + &edit::to_toml(live.edits());
    let folder = Folder::new("take");
    let (whole, parts) = (folder.0.join("whole"), folder.0.join("parts"));
    run(&setup(&text), &options(&whole), &mut |_: &Event<'_>| (), &CancelToken::default()).unwrap();
    let file = |folder: &std::path::Path, k: u64| std::fs::read(folder.join(format!("frame_{k:04}.png"))).unwrap();
    for (k, image) in (1..).zip(&shown) {
        let baked = squall_io::image::read_png(whole.join(format!("frame_{k:04}.png"))).unwrap();
        let seen = folder.0.join("seen.png");
        squall_io::image::write_png(&seen, image.width as u32, image.height as u32, &image.to_rgb()).unwrap();
        assert!(baked == squall_io::image::read_png(&seen).unwrap(), "frame {k} is what was seen");
    }
    // Stopped after every few steps, in the middle of frames.
    let mut outcome = Outcome::Cancelled;
    for _ in 0..200 {
        let cancel = CancelToken::default();
        let mut steps = 0;
        let mut observer = |event: &Event<'_>| {
            steps += usize::from(matches!(event, Event::Step { .. }));
            if steps == 3 {
                cancel.cancel();
            }
        };
        outcome = run(&setup(&text), &options(&parts), &mut observer, &cancel).unwrap().outcome;
        if outcome != Outcome::Cancelled {
            break;
        }
    }
    assert_ne!(outcome, Outcome::Cancelled);
    for k in 1..=8 {
        assert!(file(&whole, k) == file(&parts, k), "frame {k} of the resumed run");
    }
}

/// Plays ten frames by hand: something is moved, let go and moved again; something is added; keys change.
fn rearrange(driver: &mut Driver, thing: Thing, keys: &[&str]) {
    let d = driver.simulation().cells().len();
    let by = |x: f64| [x, 0.3 * x, 0.0][..d].to_vec();
    let grab = |frame, x: f64| Edit { frame, change: Change::Move(Move { thing, points: vec![by(x)] }) };
    for frame in 0..10 {
        match frame {
            1 => driver.edit(grab(1, 0.01)).unwrap(),
            2 => assert!(driver.carry_to(&by(0.03))),
            3 => assert!(driver.carry_to(&by(0.04))),
            5 => {
                assert!(!driver.carry_to(&by(0.05)), "it was let go after frame 4");
                driver
                    .edit(Edit { frame: 5, change: Change::Set(keys.iter().map(|&key| key.to_owned()).collect()) })
                    .unwrap();
            }
            7 => driver.edit(grab(7, 0.02)).unwrap(),
            _ => {}
        }
        play_to(driver, frame + 1);
    }
}

#[test]
fn what_was_moved_added_and_changed_is_played_again_to_the_same_bits() {
    let ball = "name = \"added\", shape = { sphere = { center = ";
    let flat = format!("object.0={{ {ball}[0.5, 0.7], radius = 0.15 }} }} }}");
    let solid = format!("object.1={{ {ball}[0.2, 0.8, 0.5], radius = 0.12 }} }} }}");
    let water = format!("object.0={{ {ball}[0.5, 0.25], radius = 0.15 }} }} }}");
    let filled =
        LIQUID.to_owned() + "[[source]]\nshape = { sphere = { center = [0.3, 0.6], radius = 0.08 } }\nfill = true\n";
    let takes: [(&str, Thing, Vec<&str>); 4] = [
        (SMOKE, Thing::Source(0), vec!["smoke.fade=1.5", "solver.cfl=1.0"]),
        (SMOKE, Thing::Source(0), vec![&flat]),
        (SOLID, Thing::Object(0), vec![&solid, "object.0.friction=0.5"]),
        (&filled, Thing::Source(0), vec![&water]),
    ];
    for (text, thing, keys) in takes {
        let mut live = Driver::new(&setup(text)).unwrap();
        rearrange(&mut live, thing, &keys);
        let last = state(&mut live);

        let text = text.to_owned() + &edit::to_toml(live.edits());
        let take = setup(&text);
        assert_eq!(take.edits, live.edits(), "{text}");
        assert_eq!(setup(&take.to_toml()).edits, live.edits(), "the resolved scene has them, too");
        assert_eq!(take.later().len(), 1);
        for (name, take) in [("its file", take.clone()), ("the resolved scene", setup(&take.to_toml()))] {
            let mut again = Driver::new(&take).unwrap();
            play_to(&mut again, 10);
            assert!(state(&mut again) == last, "played again from {name}: {text}");
        }
        // Saved before, between and after the edits, and restored.
        for stop in [1, 3, 5, 8] {
            let mut first = Driver::new(&take).unwrap();
            play_to(&mut first, stop);
            let saved = state(&mut first);
            let mut resumed = Driver::new(&take).unwrap();
            saved.restore(|visitor| resumed.visit_state(visitor));
            play_to(&mut resumed, 10);
            assert!(state(&mut resumed) == last, "resumed after frame {stop}: {text}");
        }
        let mut untouched = Driver::new(&setup(text.split("[[edit]]").next().unwrap())).unwrap();
        play_to(&mut untouched, 10);
        assert!(state(&mut untouched) != last, "and it makes a difference: {text}");
    }
}

#[test]
fn what_cannot_take_over_the_state_is_refused_and_nothing_changes() {
    let mut driver = Driver::new(&setup(&LIQUID.replace("[substance.ink]\n", ""))).unwrap();
    play_to(&mut driver, 2);
    let before = state(&mut driver);
    let change = |keys: &str| Edit { frame: 2, change: Change::Set(vec![keys.to_owned()]) };
    let told = driver.edit(change("liquid.tracking=\"level_set\"")).unwrap_err().to_string();
    assert!(told.contains("cannot change while the scene plays"), "{told}");
    let told = driver.edit(change("liquid.gravitas=3")).unwrap_err().to_string();
    assert!(told.contains("gravitas"), "{told}");
    assert!(driver.edits().is_empty() && state(&mut driver) == before);
    driver.edit(change("liquid.gravity=[3.0, 0.0]")).unwrap();
    driver.edit(change("liquid.gravity=[0.0, 3.0]")).unwrap();
    assert_eq!(driver.edits().len(), 1, "only the last value after a frame counts");
    play_to(&mut driver, 4);

    let refused = |edit: &str| {
        let text = format!("{SMOKE}[[edit]]\nframe = 1\n{edit}\n");
        format!("{:?}", Scene::parse("take.toml", &text, &[]).and_then(|s| s.setup()).unwrap_err())
    };
    for (edit, told) in [
        ("set = [\"grid.cells=[8, 8]\"]", "`grid` cannot change while the scene plays"),
        ("set = [\"smoke.fad=1\"]", "unknown key `fad`"),
        ("move = { what = \"object.3\", points = [[0, 0]] }", "there is no `object.3`"),
        ("move = { what = \"camera\", points = [[0, 0]] }", "`edit.0.move.what` cannot be"),
        ("move = { what = \"source.0\", points = [] }", "has no points"),
    ] {
        let error = refused(edit);
        assert!(error.contains(told), "{edit}: {error}");
    }
}

#[test]
fn a_run_bakes_what_was_moved_and_resumes_it_to_the_same_bytes() {
    let text =
        SMOKE.to_owned() + "[[object]]\nname = \"ball\"\nshape = { sphere = { center = [0.5, 0.6], radius = 0.1 } }\n";
    let mut live = Driver::new(&setup(&text)).unwrap();
    live.edit(stroke(0, &[0.3, 0.4], "density")).unwrap();
    play_to(&mut live, 1);
    rearrange_after(&mut live);
    let take = text + "[time]\nframes = 8\n" + &edit::to_toml(live.edits());
    let folder = Folder::new("moved");
    let (whole, parts) = (folder.0.join("whole"), folder.0.join("parts"));
    run(&setup(&take), &options(&whole), &mut |_: &Event<'_>| (), &CancelToken::default()).unwrap();
    let mut outcome = Outcome::Cancelled;
    for _ in 0..200 {
        let cancel = CancelToken::default();
        let mut steps = 0;
        let mut observer = |event: &Event<'_>| {
            steps += usize::from(matches!(event, Event::Step { .. }));
            if steps == 3 {
                cancel.cancel();
            }
        };
        outcome = run(&setup(&take), &options(&parts), &mut observer, &cancel).unwrap().outcome;
        if outcome != Outcome::Cancelled {
            break;
        }
    }
    assert_ne!(outcome, Outcome::Cancelled);
    // What was seen live: a painter that is told of edits as they are made.
    let played = setup(&take);
    let (mut again, mut painter) = (Driver::new(&played).unwrap(), Painter::new(&played).unwrap());
    for k in 1..=8 {
        play_to(&mut again, k);
        let [one, other] = [&whole, &parts].map(|f| std::fs::read(f.join(format!("frame_{k:04}.png"))).unwrap());
        assert!(one == other, "frame {k} of the resumed run");
        let image = painter.draw(again.simulation(), again.time(), k).unwrap();
        let image = image.to_image(&squall::picture::tone(&played, again.time()));
        let seen = folder.0.join("seen.png");
        squall_io::image::write_png(&seen, image.width as u32, image.height as u32, &image.to_rgb()).unwrap();
        let read = |path: &std::path::Path| squall_io::image::read_png(path).unwrap();
        assert!(read(&seen) == read(&whole.join(format!("frame_{k:04}.png"))), "frame {k} is what was seen");
    }
    assert!(
        state(&mut again) == {
            play_to(&mut live, 8);
            state(&mut live)
        }
    );
}

/// A ball is moved, a parameter changed, and another ball comes, from frame 1 to frame 6.
fn rearrange_after(driver: &mut Driver) {
    let thing = Thing::Object(0);
    for frame in 1..6 {
        match frame {
            1 => driver
                .edit(Edit { frame, change: Change::Move(Move { thing, points: vec![vec![0.02, 0.0]] }) })
                .unwrap(),
            2 => assert!(driver.carry_to(&[0.05, 0.01])),
            3 => {
                let change = Change::Parameter { name: "viscosity".to_owned(), value: Value::Number(0.002) };
                driver.edit(Edit { frame, change }).unwrap();
            }
            4 => {
                let added = "object.1={ name = \"other\", shape = { box = { min = [0.1, 0.7], max = [0.2, 0.8] } } }";
                driver.edit(Edit { frame, change: Change::Set(vec![added.to_owned()]) }).unwrap();
            }
            _ => {}
        }
        play_to(driver, frame + 1);
    }
}

#[test]
fn edits_that_cannot_be_are_refused() {
    let refused = |edit: &str| {
        let text = format!("{LIQUID}[[edit]]\n{edit}\n");
        let error = Scene::parse("take.toml", &text, &[]).and_then(|s| s.setup()).unwrap_err();
        format!("{error:?}")
    };
    for (edit, told) in [
        ("frame = 1", "`edit.0` does nothing"),
        ("parameter = { name = \"viscosity\", value = 1 }", "`edit.0` has no `frame`"),
        ("frame = 1\nstroke = { points = [[0.5, 0.5]] }", "`edit.0.stroke` does nothing"),
        ("frame = 1\nstroke = { points = [], push = 1 }", "`edit.0.stroke` has no points"),
        ("frame = 1\nstroke = { points = [[0.5, 0.5, 0.5]], push = 1 }", "has 3 entries, but the scene is 2D"),
        (
            "frame = 1\nstroke = { points = [[0, 0]], pressure = [1, 1], push = 1 }",
            "pressure` has 2 entries, but there are 1",
        ),
        ("frame = 1\nstroke = { points = [[0, 0]], paint = { inc = 1 } }", "inc"),
        ("frame = 1\nstroke = { points = [[0, 0]], paint = { liquid = 1 } }", "it cannot be painted"),
        (
            "frame = 1\nparameter = { name = \"a\", value = 1 }\nstroke = { points = [[0, 0]], push = 1 }",
            "more than one edit",
        ),
    ] {
        let error = refused(edit);
        assert!(error.contains(told), "{edit}: {error}");
    }
    let filled = format!("{SMOKE}[[edit]]\nframe = 1\nstroke = {{ points = [[0, 0]], fill = true }}\n");
    let error = Scene::parse("take.toml", &filled, &[]).unwrap().setup().unwrap_err();
    assert!(format!("{error:?}").contains("needs the model"), "{error:?}");
    let looped = format!("{STABLE}[time]\nloop = 8\n[[edit]]\nframe = 1\nstroke = {{ points = [[0, 0]], push = 1 }}\n");
    let error = Scene::parse("take.toml", &looped, &[]).unwrap().setup().unwrap_err();
    assert!(format!("{error:?}").contains("a loop has no beginning"), "{error:?}");

    let change = |name: &str, value: Value| {
        let edit = Edit { frame: 3, change: Change::Parameter { name: name.to_owned(), value } };
        Driver::new(&setup(STABLE).with_edits(&[edit]).unwrap()).err().map(|e| e.to_string()).unwrap_or_default()
    };
    assert!(change("thickness", 1.0.into()).starts_with("the edit after frame 3: there is no parameter \"thickness\""));
    assert!(change("viscosity", (-1.0).into()).contains("must be from 0"), "{}", change("viscosity", (-1.0).into()));
    assert!(change("viscosity", "much".into()).contains("must be a number"));
    assert!(change("advection", "sideways".into()).contains("must be one of"));
    assert_eq!(change("viscosity", 1.0.into()), "");
}
