//! Facts about playing: the same bits on every way to a moment.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use squall::setup::{Change, Stroke, Thing};
use squall::{Assets, CancelToken, Driver, Scene, gallery};
use squall_core::Value;
use squall_core::visit::StateCopy;
use squall_studio::bake::{Bake, Export};
use squall_studio::open::Opened;
use squall_studio::player::things::{New, removed, wall};
use squall_studio::player::{Command, Player, Shown};
use squall_studio::session::Session;

const SMOKE: &str = "model = \"smoke\"\n[grid]\ncells = [32, 40]\nsize = [1.0, 1.25]\n[[source]]\n\
                     shape = { sphere = { center = [0.5, 0.2], radius = 0.1 } }\nset = { density = 1, temperature = 200 }\n\
                     [output]\nwidth = 64\n";

fn opened(text: &str) -> Opened {
    Opened::text("test", text, Assets::none(), None).unwrap()
}

fn stroke(x: f64, y: f64) -> Stroke {
    Stroke {
        points: vec![vec![x, y]],
        pressure: vec![1.0],
        radius: 0.1,
        softness: 0.5,
        paint: vec![("density".to_owned(), 10.0)],
        push: 20.0,
        force: vec![0.0, 0.0],
        ..Stroke::default()
    }
}

fn state(player: &mut Player) -> StateCopy {
    let mut copy = StateCopy::default();
    assert!(copy.save(|visitor| player.driver().visit_state(visitor)));
    copy
}

/// Goes on until nothing is to be done, or for some frames.
fn frames(player: &mut Player, count: usize) {
    for _ in 0..count {
        assert!(player.tick());
        if let Some(message) = player.show().message {
            panic!("{message}");
        }
    }
}

/// Plays ten frames: a stroke over four of them, then a parameter.
fn played() -> Player {
    let mut player = Player::new(opened(SMOKE)).unwrap();
    player.command(Command::Play);
    frames(&mut player, 3);
    player.command(Command::Down(stroke(0.3, 0.6)));
    for k in 0..4 {
        player.command(Command::Move(vec![0.3 + 0.05 * f64::from(k), 0.6], 0.5 + 0.1 * f64::from(k)));
        frames(&mut player, 1);
    }
    player.command(Command::Up);
    frames(&mut player, 1);
    player.command(Command::Set("viscosity".to_owned(), Value::Number(0.02)));
    frames(&mut player, 2);
    player
}

#[test]
fn a_stroke_has_a_point_for_each_frame_and_the_take_bakes_to_the_same_state() {
    let mut player = played();
    let shown = player.show();
    assert_eq!((shown.frame, shown.edits.len()), (10, 2));
    let Change::Stroke(stroke) = &shown.edits[0].change else { panic!("{:?}", shown.edits) };
    assert_eq!((shown.edits[0].frame, stroke.points.len()), (3, 4), "one for each frame that it was down");
    let now = state(&mut player);

    let take = player.opened().take(&shown.edits);
    assert!(take.starts_with(SMOKE), "the scene as it was typed, and the edits behind it");
    let setup = Scene::parse("take.toml", &take, &[]).unwrap().setup().unwrap().0;
    let mut baked = Driver::new(&setup).unwrap();
    baked.run_to(10, &mut |_| (), &CancelToken::default()).unwrap();
    let mut copy = StateCopy::default();
    copy.save(|visitor| baked.visit_state(visitor));
    assert!(copy == now);

    let again = opened(&take);
    assert_eq!(again.setup.edits, shown.edits, "a take can be opened and played again");
    assert_eq!(again.take(&shown.edits), take);
    let mut again = Player::new(again).unwrap();
    again.command(Command::GoTo(10));
    while again.tick() {}
    assert!(state(&mut again) == now);
}

#[test]
fn rewinding_undo_and_redo_come_back_to_the_same_bits() {
    for room in [usize::MAX, 1] {
        let mut player = played();
        player.set_room(room);
        let at_ten = state(&mut player);
        player.command(Command::GoTo(4));
        while player.tick() {}
        assert_eq!(player.show().frame, 4);
        let at_four = state(&mut player);
        player.command(Command::GoTo(10));
        while player.tick() {}
        assert!(state(&mut player) == at_ten, "played again after rewinding");

        player.command(Command::Undo);
        while player.tick() {}
        let shown = player.show();
        assert_eq!((shown.frame, shown.edits.len(), shown.undone), (8, 1, 1), "back where it was changed");
        player.command(Command::Undo);
        while player.tick() {}
        let shown = player.show();
        assert_eq!((shown.frame, shown.edits.len(), shown.undone), (3, 0, 2));
        let mut plain = Player::new(opened(SMOKE)).unwrap();
        plain.command(Command::GoTo(3));
        while plain.tick() {}
        assert!(state(&mut player) == state(&mut plain), "as if nothing had been played");

        player.command(Command::Redo);
        while player.tick() {}
        player.command(Command::Redo);
        while player.tick() {}
        assert!(state(&mut player) == at_ten, "and made again");
        player.command(Command::GoTo(4));
        while player.tick() {}
        assert!(state(&mut player) == at_four);
    }
}

#[test]
fn an_edit_that_is_dropped_was_never_made() {
    let mut player = played();
    player.command(Command::Stop);
    player.command(Command::Drop(0));
    while player.tick() {}
    let shown = player.show();
    assert_eq!((shown.frame, shown.edits.len()), (10, 1));
    let mut other = Player::new(opened(SMOKE)).unwrap();
    other.command(Command::GoTo(8));
    while other.tick() {}
    other.command(Command::Set("viscosity".to_owned(), Value::Number(0.02)));
    other.command(Command::GoTo(10));
    while other.tick() {}
    assert!(state(&mut player) == state(&mut other));
}

#[test]
fn who_paints_in_the_past_begins_another_story() {
    let mut player = played();
    player.command(Command::GoTo(5));
    while player.tick() {}
    assert_eq!(player.show().edits.len(), 2, "nothing is lost by looking");
    player.command(Command::Down(stroke(0.7, 0.8)));
    frames(&mut player, 2);
    player.command(Command::Up);
    let shown = player.show();
    assert!(!player.tick(), "time runs only while the brush is down");
    assert_eq!((shown.frame, shown.edits.len()), (7, 2), "the stroke of before, and this one");
    assert_eq!(shown.edits[1].frame, 5);
    assert_eq!(shown.last, 7);
    // A click that is shorter than a frame.
    player.command(Command::Down(stroke(0.2, 0.8)));
    player.command(Command::Up);
    while player.tick() {}
    let shown = player.show();
    assert_eq!((shown.frame, shown.edits.len()), (8, 3));
}

#[test]
fn what_cannot_be_is_told_and_changes_nothing() {
    let mut player = played();
    let before = state(&mut player);
    for (command, told) in [
        (Command::Set("viscosity".to_owned(), Value::Number(-1.0)), "must be from 0"),
        (Command::Set("nothing".to_owned(), Value::Number(1.0)), "there is no parameter"),
        (Command::Down(Stroke::default()), "begins at a point"),
    ] {
        player.command(command);
        let message = player.show().message.unwrap();
        assert!(message.contains(told), "{message}");
    }
    assert!(state(&mut player) == before && player.show().edits.len() == 2);
    for (text, told) in
        [("[grid]\ncells = 3", "must be a list"), ("nonsense", ""), ("[grid]\ncells = [70000, 70000]", "")]
    {
        let refused = Opened::text("bad", text, Assets::none(), None).unwrap_err();
        assert!(refused.contains(told) && !refused.is_empty(), "{refused}");
    }
    assert!(Opened::file(&PathBuf::from("/nowhere/scene.toml")).unwrap_err().contains("cannot be opened"));
    assert!(Opened::file(&std::env::temp_dir()).unwrap_err().contains("no scene file"));
}

#[test]
fn every_scene_of_the_gallery_opens_and_its_take_is_a_scene() {
    for scene in gallery::all() {
        let opened = Opened::named(scene.name).unwrap_or_else(|e| panic!("{}: {e}", scene.name));
        let at: Vec<f64> = opened.setup.grid.size.iter().map(|s| 0.5 * s).collect();
        let edits = [squall::setup::Edit {
            frame: 2,
            change: Change::Stroke(Stroke {
                push: 1.0,
                points: vec![at.clone()],
                pressure: vec![1.0],
                radius: 0.1,
                force: vec![0.0; at.len()],
                ..Stroke::default()
            }),
        }];
        let setup = opened.to_bake(&edits, 5, &[]).unwrap_or_else(|e| panic!("{}: {e}", scene.name));
        assert_eq!((&setup.edits[..], setup.time.frames), (&edits[..], 5), "{}", scene.name);
    }
}

/// Waits for something to be seen.
fn wait(session: &Session, mut seen: impl FnMut(&Shown) -> bool) -> Shown {
    let start = Instant::now();
    loop {
        if let Some(shown) = session.latest()
            && seen(&shown)
        {
            return shown;
        }
        assert!(start.elapsed() < Duration::from_secs(300), "nothing came");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_session_plays_in_a_thread_of_its_own_and_shows_the_latest_picture() {
    let session = Session::start(opened(SMOKE), Arc::new(|| ())).unwrap();
    session.send(Command::Speed(f64::INFINITY));
    let shown = wait(&session, |shown| shown.frame >= 5);
    assert!(shown.image.is_some() && shown.playing);
    session.send(Command::Stop);
    let shown = wait(&session, |shown| !shown.playing);
    session.send(Command::Down(stroke(0.3, 0.6)));
    let painted = wait(&session, |now| now.frame > shown.frame);
    assert!(!painted.playing, "time runs while the brush is down, and only then");
    session.send(Command::Up);
    session.send(Command::Open(Box::new(opened(&SMOKE.replace("40]\nsize = [1.0, 1.25]", "32]")))));
    let shown = wait(&session, |shown| shown.scene == 1 && shown.image.is_some());
    assert_eq!(shown.image.map(|image| image.height), Some(64));
    session.send(Command::Step);
    wait(&session, |shown| !shown.playing && shown.frame > 0);
}

#[test]
fn a_take_is_baked_in_the_background_and_can_be_cancelled() {
    let mut player = played();
    let shown = player.show();
    let folder = std::env::temp_dir().join(format!("squall-studio-bake-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let setup = player.opened().to_bake(&shown.edits, 10, &[]).unwrap();
    let bake = Bake::start(setup.clone(), Export::Scene, "test", &folder.join("whole"), Arc::new(|| ())).unwrap();
    let start = Instant::now();
    while bake.progress().ended.is_none() {
        assert!(start.elapsed() < Duration::from_secs(300));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(bake.progress().ended.unwrap().is_ok());
    assert_eq!(bake.progress().frames, (10, 10));
    assert!(folder.join("whole/frame_0010.png").exists());

    let longer = player.opened().to_bake(&shown.edits, 100_000, &[]).unwrap();
    let bake = Bake::start(longer, Export::Scene, "test", &folder.join("long"), Arc::new(|| ())).unwrap();
    bake.cancel();
    while bake.progress().ended.is_none() {
        assert!(start.elapsed() < Duration::from_secs(300));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(bake.progress().ended, Some(Err("cancelled".to_owned())));
    drop(bake);
    let _ = std::fs::remove_dir_all(&folder);
}

/// With a ball in the way of the smoke.
fn with_ball() -> String {
    SMOKE.to_owned() + "[[object]]\nname = \"ball\"\nshape = { sphere = { center = [0.5, 0.7], radius = 0.12 } }\n"
}

/// Plays twelve frames: a stroke, a ball that is carried, a source that is added, a wall that is drawn, a key that changes.
fn rearranged() -> Player {
    let mut player = Player::new(opened(&with_ball())).unwrap();
    player.command(Command::Play);
    frames(&mut player, 2);
    player.command(Command::Down(stroke(0.3, 0.6)));
    frames(&mut player, 1);
    player.command(Command::Up);
    player.command(Command::Grab(Thing::Object(0)));
    for k in 1..4 {
        player.command(Command::Carry(vec![0.03 * f64::from(k), -0.01 * f64::from(k)]));
        frames(&mut player, 1);
    }
    player.command(Command::Release);
    frames(&mut player, 1);
    let scene = player.show().now.unwrap();
    player.command(Command::Change(New::Source.keys(&scene, &[0.2, 0.4], 0.06)));
    frames(&mut player, 1);
    let line: Vec<Vec<f64>> = (0..50).map(|k| vec![0.6 + 0.006 * f64::from(k), 1.0]).collect();
    let scene = player.show().now.unwrap();
    player.command(Command::Change(wall(&scene, &line, 0.03)));
    frames(&mut player, 1);
    player.command(Command::Change(vec!["smoke.fade=0.9".to_owned()]));
    frames(&mut player, 3);
    assert!(player.show().message.is_none());
    player
}

#[test]
fn what_was_moved_and_added_is_seen_and_comes_back_bit_by_bit() {
    let mut player = rearranged();
    let (last, shown) = (state(&mut player), player.show());
    assert_eq!(shown.edits.len(), 5, "{:?}", shown.edits);
    let names: Vec<&str> = shown.handles.iter().map(|h| h.name.as_str()).collect();
    assert_eq!(names, ["ball", "drawn 2", "source 1", "source 2"]);
    assert!((shown.handles[0].place[0] - 0.59).abs() < 1e-9, "{:?}", shown.handles[0]);
    assert_eq!(shown.handles[0].displacement, [0.09, -0.03]);

    player.command(Command::GoTo(3));
    player.command(Command::GoTo(12));
    while player.has_work() && player.show().busy {
        player.tick();
    }
    assert!(state(&mut player) == last, "rewound and played again");
    for _ in 0..5 {
        player.command(Command::Undo);
        while player.show().busy {
            player.tick();
        }
    }
    assert!(player.driver().edits().is_empty() && player.driver().frame() == 2);
    for _ in 0..5 {
        player.command(Command::Redo);
        while player.show().busy {
            player.tick();
        }
    }
    player.command(Command::GoTo(12));
    while player.show().busy {
        player.tick();
    }
    assert!(state(&mut player) == last, "undone and done again");

    let take = player.opened().take(&shown.edits);
    let mut again = Player::new(opened(&take)).unwrap();
    again.command(Command::GoTo(12));
    while again.show().busy {
        again.tick();
    }
    assert!(state(&mut again) == last, "read from its file");
}

#[test]
fn pictures_show_what_was_moved_while_it_is_moved() {
    let still = with_ball();
    let mut player = Player::new(opened(&still)).unwrap();
    let first = frames_to(&mut player, 2);
    let ball = |image: &squall_render::Image| {
        // The middle of what has the colour of the ball, in pixels.
        let grey = image.pixels.iter().enumerate().filter(|(_, p)| p[..3] == [0xbc; 3]).map(|(i, _)| i % image.width);
        let columns: Vec<usize> = grey.collect();
        columns.iter().sum::<usize>() as f64 / columns.len().max(1) as f64
    };
    let before = ball(&first.image.unwrap());
    player.command(Command::Grab(Thing::Object(0)));
    player.command(Command::Carry(vec![0.1, 0.0]));
    assert!(player.tick());
    let half = ball(&player.show().image.unwrap());
    assert!((half - before - 6.4).abs() < 0.5, "a tenth of 64 pixels: {before} to {half}");
    player.command(Command::Carry(vec![0.2, 0.0]));
    assert!(player.tick());
    let after = ball(&player.show().image.unwrap());
    assert!((after - before - 12.8).abs() < 0.5, "{before} to {after}");
    player.command(Command::Release);
    let keys = removed(&player.show().now.unwrap(), Thing::Object(0), 0.2);
    player.command(Command::Change(keys));
    let shown = player.show();
    assert_eq!(shown.message, None);
    assert!(ball(&shown.image.unwrap()) == 0.0, "it is gone at once");
    assert!(shown.handles.iter().all(|h| h.thing != Thing::Object(0)));
}

/// Goes to a frame; what is seen there.
fn frames_to(player: &mut Player, frame: u64) -> Shown {
    player.command(Command::GoTo(frame));
    loop {
        let shown = player.show();
        if !shown.busy {
            return shown;
        }
        player.tick();
    }
}

#[test]
fn an_edit_is_made_later_and_everything_is_played_again() {
    let mut player = Player::new(opened(SMOKE)).unwrap();
    frames_to(&mut player, 2);
    player.command(Command::Set("viscosity".to_owned(), Value::Number(0.01)));
    frames_to(&mut player, 8);
    let once = state(&mut player);
    player.command(Command::Shift(0, 3));
    while player.show().busy {
        player.tick();
    }
    assert_eq!((player.driver().edits()[0].frame, player.driver().frame()), (5, 8));
    let shifted = state(&mut player);
    assert!(shifted != once);
    let mut other = Player::new(opened(SMOKE)).unwrap();
    frames_to(&mut other, 5);
    other.command(Command::Set("viscosity".to_owned(), Value::Number(0.01)));
    frames_to(&mut other, 8);
    assert!(state(&mut other) == shifted);
    player.command(Command::Shift(0, -3));
    while player.show().busy {
        player.tick();
    }
    assert!(state(&mut player) == once);
}

#[test]
fn keys_of_the_whole_scene_change_from_its_start_and_looks_at_once() {
    let mut player = Player::new(opened(SMOKE)).unwrap();
    frames_to(&mut player, 3);
    player.command(Command::Set("viscosity".to_owned(), Value::Number(0.01)));
    frames_to(&mut player, 6);
    let before = state(&mut player);
    let edits = player.driver().edits().to_vec();

    let other = player.opened().changed(&["picture.map=\"viridis\"".to_owned()], &edits).unwrap();
    player.command(Command::Rebase(Box::new(other)));
    let shown = player.show();
    assert!(
        shown.message.is_none() && shown.image.is_some() && state(&mut player) == before,
        "nothing is computed again"
    );
    assert_eq!(player.opened().changes, ["picture.map=\"viridis\""]);

    let finer = player.opened().changed(&["grid.cells=[40, 50]".to_owned()], &edits).unwrap();
    player.command(Command::Rebase(Box::new(finer)));
    while player.show().busy {
        player.tick();
    }
    assert_eq!((player.driver().frame(), player.driver().simulation().cells()), (6, &[40, 50][..]));
    assert_eq!(player.driver().edits(), edits, "what was played is played again");
    let take = player.opened().take(&edits);
    let read = opened(&take);
    assert_eq!((read.setup.grid.cells.clone(), read.setup.edits.len()), (vec![40, 50], 1), "{take}");

    player.command(Command::Undo);
    while player.show().busy {
        player.tick();
    }
    assert!(state(&mut player) == before, "undone");
    player.command(Command::Redo);
    while player.show().busy {
        player.tick();
    }
    assert_eq!(player.driver().simulation().cells(), [40, 50]);
}

#[test]
fn every_export_of_a_take_is_written() {
    let mut player = rearranged();
    let shown = player.show();
    let folder = std::env::temp_dir().join(format!("squall-exports-{}", std::process::id()));
    let bake = |export: Export, scene: &Opened, edits: &[squall::setup::Edit]| {
        let setup = export.setup(scene, edits, 4).unwrap_or_else(|e| panic!("{}: {e}", export.name()));
        let out = folder.join(export.name().replace([' ', ':'], "_"));
        let bake = Bake::start(setup, export, "test", &out, Arc::new(|| ())).unwrap();
        let start = Instant::now();
        loop {
            match bake.progress().ended {
                Some(Ok(_)) => return out,
                Some(Err(e)) => panic!("{}: {e}", export.name()),
                None => assert!(start.elapsed() < Duration::from_secs(900)),
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let has = |out: &PathBuf, ending: &str| {
        let mut all = Vec::new();
        let mut folders = vec![out.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { folders.push(path) } else { all.push(path.display().to_string()) }
            }
        }
        assert!(all.iter().any(|name| name.ends_with(ending)), "{ending}: {all:?}");
    };
    let scene = player.opened().clone();
    for (export, ending) in
        [(Export::Gif, ".gif"), (Export::Apng, ".png"), (Export::Frames, "frame_0004.png"), (Export::Flipbook, ".json")]
    {
        assert!(export.fits(&scene.setup));
        has(&bake(export, &scene, &shown.edits), ending);
    }
    let water = "model = \"liquid\"\n[grid]\ncells = [8, 8, 8]\n[[blob]]\nshape = { box = { min = [0, 0, 0], max = [0.5, 0.5, 1] } }\n\
                 [output]\nwidth = 24\n[render]\nquality = \"preview\"\nsamples = 1\n";
    let water = opened(water);
    has(&bake(Export::Meshes, &water, &[]), ".ply");
    has(&bake(Export::Volumes, &water, &[]), ".vdb");
    assert!(!Export::Loop.fits(&water.setup) && !Export::Volumes.fits(&scene.setup));
    let looped = Export::Loop.setup(&scene, &shown.edits, 12).unwrap();
    assert!(looped.time.looped.is_some() && looped.edits.is_empty());

    let still = folder.join("still.png");
    player.command(Command::Still(still.clone()));
    assert!(player.show().message.is_some_and(|m| m.contains("still.png")));
    assert!(squall_io::image::read_png(&still).is_ok());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_scene_in_3d_is_seen_from_any_side_without_the_film_renderer() {
    let text = "model = \"smoke\"\n[grid]\ncells = [16, 20, 16]\nsize = [1, 1.25, 1]\n[boundary]\nx = \"slip\"\ny = \"slip\"\nz = \"slip\"\n\
                [[source]]\nshape = { sphere = { center = [0.5, 0.3, 0.5], radius = 0.15 } }\nset = { density = 1, temperature = 200 }\n\
                [[object]]\nname = \"ball\"\nshape = { sphere = { center = [0.5, 0.8, 0.5], radius = 0.2 } }\n[output]\nwidth = 24\n";
    let mut player = Player::new(opened(text)).unwrap();
    player.command(Command::Film(false));
    frames_to(&mut player, 2);
    player.command(Command::Step);
    assert!(player.tick());
    let shown = player.show();
    assert!(shown.image.is_none(), "nothing is drawn that nobody looks at");
    let solid = shown.volume.unwrap();
    assert_eq!((solid.cells, solid.texels.len()), ([16, 20, 16], 4 * 16 * 20 * 16));
    let texel = |x: usize, y: usize, z: usize| &solid.texels[4 * (x + 16 * (y + 20 * z))..][..4];
    assert!(texel(8, 5, 8)[0] > 100, "smoke: {:?}", texel(8, 5, 8));
    assert!(texel(8, 12, 8)[2] > 128 && texel(0, 0, 0)[2] < 128, "the ball: {:?}", texel(8, 12, 8));
    assert_eq!(shown.handles.iter().filter(|h| matches!(h.thing, Thing::Light(_))).count(), 2);
    // A light is moved: only pictures change.
    let before = state(&mut player);
    player.command(Command::Grab(Thing::Light(0)));
    player.command(Command::Carry(vec![1.0, 0.5, 0.0]));
    assert!(player.tick());
    player.command(Command::Release);
    let moved = player.show();
    assert_ne!(moved.volume.unwrap().to_light, solid.to_light);
    player.command(Command::Undo);
    while player.show().busy {
        player.tick();
    }
    assert!(state(&mut player) == before);
    let camera = player.show().camera.unwrap();
    player.command(Command::Look(Some(camera.orbited(40.0, 10.0, 1.5))));
    player.command(Command::Film(true));
    let shown = player.show();
    assert!(shown.image.is_some() && shown.camera.is_some_and(|seen| seen != camera));
}

#[test]
fn scenes_of_the_gallery_open_with_as_many_cells_as_run_smoothly_in_a_browser() {
    let most = [128.0 * 192.0, 40.0 * 40.0 * 40.0];
    for scene in gallery::all() {
        let whole = Opened::named(scene.name).unwrap();
        let cells = |opened: &Opened| opened.setup.grid.cells.iter().map(|&n| n as f64).product::<f64>();
        let (before, dimensions) = (cells(&whole), whole.setup.dimensions());
        let edits = whole.setup.edits.len();
        let fewer = whole.within(most).unwrap_or_else(|reason| panic!("{}: {reason}", scene.name));
        let (after, most) = (cells(&fewer), most[dimensions - 2]);
        // Whole per cent of each axis, and whole cells.
        assert!(after <= 1.05 * most && after >= (0.85 * most).min(before), "{}: {before} to {after}", scene.name);
        assert_eq!(fewer.setup.edits.len(), edits);
    }
}
