//! Every tool and panel of the window, clicked and dragged without a screen.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use eframe::egui::{self, Key, Modifiers, Pos2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use squall::Assets;
use squall::setup::Change;
use squall_studio::app::Studio;
use squall_studio::open::Opened;

const SMOKE: &str = "model = \"smoke\"\n[grid]\ncells = [32, 32]\n[[source]]\n\
                     shape = { sphere = { center = [0.5, 0.2], radius = 0.1 } }\nset = { density = 1, temperature = 200 }\n\
                     [output]\nwidth = 64\n";
const LIQUID: &str = "model = \"liquid\"\n[grid]\ncells = [32, 32]\n[substance.ink]\n[[blob]]\nshape = { box = { min = [0, 0], max = [1, 0.3] } }\n\
                      [output]\nwidth = 64\n";

/// So high that no panel needs to be scrolled.
const HEIGHT: f32 = 2400.0;

struct Window {
    harness: Harness<'static, Option<Studio>>,
    folder: PathBuf,
}

impl Drop for Window {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Window {
    fn new(name: &str, text: &str) -> Self {
        Self::with(name, text, |studio| studio)
    }

    /// A window that has something more.
    fn with(name: &str, text: &str, more: impl Fn(Studio) -> Studio + 'static) -> Self {
        let folder = std::env::temp_dir().join(format!("squall-studio-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("test.toml");
        std::fs::write(&path, text).unwrap();
        let opened = Opened::text("test", text, Assets::none(), Some(path)).unwrap();
        let app = move |ui: &mut egui::Ui, studio: &mut Option<Studio>| {
            let ctx = ui.ctx().clone();
            studio.get_or_insert_with(|| more(Studio::new(&ctx, opened.clone()).unwrap())).ui(ui);
        };
        let harness = Harness::builder().with_size(egui::vec2(1280.0, HEIGHT)).build_ui_state(app, None);
        let mut window = Window { harness, folder };
        window.until(|studio| studio.shown().frame >= 2);
        window
    }

    fn studio(&self) -> &Studio {
        self.harness.state().as_ref().unwrap()
    }

    /// Goes on until something is so.
    fn until(&mut self, so: impl Fn(&Studio) -> bool) {
        let start = Instant::now();
        loop {
            self.harness.step();
            if so(self.studio()) {
                return;
            }
            let shown = self.studio().shown();
            assert!(
                start.elapsed() < Duration::from_secs(300),
                "frame {} of {}, {} edits, {:?}",
                shown.frame,
                shown.last,
                shown.edits.len(),
                self.studio().message()
            );
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn click(&mut self, label: &str) {
        self.harness.get_by_label(label).click();
        self.harness.step();
        self.harness.step();
    }

    fn key(&mut self, modifiers: Modifiers, key: Key) {
        self.harness.key_press_modifiers(modifiers, key);
        self.harness.step();
    }

    /// Paints over some frames.
    fn drag(&mut self) {
        let rect = self.harness.get_by_label("The fluid: drag to paint").rect();
        let at = |part: f32| Pos2::new(rect.center().x + 120.0 * (part - 0.5), rect.center().y);
        self.harness.hover_at(at(0.0));
        self.harness.step();
        self.harness.drag_at(at(0.0));
        let edits = self.studio().shown().edits.len();
        self.until(|studio| studio.shown().edits.len() > edits);
        for part in 1..6 {
            let frame = self.studio().shown().frame;
            self.harness.hover_at(at(part as f32 / 5.0));
            self.until(|studio| studio.shown().frame > frame);
        }
        self.harness.drop_at(at(1.0));
        for _ in 0..3 {
            self.harness.step();
        }
    }

    fn stop(&mut self) {
        if self.studio().shown().playing {
            self.click("Stop");
        }
        self.until(|studio| !studio.shown().playing && !studio.shown().busy);
        // What was on its way.
        for _ in 0..5 {
            std::thread::sleep(Duration::from_millis(10));
            self.harness.step();
        }
    }
}

#[test]
fn it_plays_stops_steps_and_rewinds_by_buttons_and_by_keys() {
    let mut window = Window::new("play", SMOKE);
    window.stop();
    let frame = window.studio().shown().frame;
    window.click("Step");
    window.until(|studio| studio.shown().frame == frame + 1 && !studio.shown().busy);
    window.key(Modifiers::NONE, Key::ArrowRight);
    window.until(|studio| studio.shown().frame == frame + 2 && !studio.shown().busy);
    window.click("Back");
    window.until(|studio| studio.shown().frame == frame + 1 && !studio.shown().busy);
    window.key(Modifiers::NONE, Key::Home);
    window.until(|studio| studio.shown().frame == 0);
    window.key(Modifiers::NONE, Key::Space);
    window.until(|studio| studio.shown().playing && studio.shown().frame > 3);
    window.click("Rewind");
    window.until(|studio| studio.shown().frame == 0 && !studio.shown().playing);
    window.click("Play");
    window.until(|studio| studio.shown().frame > 2);
    window.click("Reset");
    window.until(|studio| studio.shown().last < 3);
    let dark = window.harness.query_by_label("Light").is_some();
    window.click(if dark { "Light" } else { "Dark" });
    assert!(
        window.harness.query_by_label(if dark { "Dark" } else { "Light" }).is_some(),
        "the window has other colours"
    );
}

#[test]
fn every_brush_of_smoke_paints_and_undo_takes_it_back() {
    let mut window = Window::new("brushes", SMOKE);
    for (number, tool) in ["Paint density", "Paint temperature", "Push", "Erase"].into_iter().enumerate() {
        window.click(tool);
        window.drag();
        let shown = window.studio().shown();
        assert_eq!(shown.edits.len(), number + 1, "{tool}");
        let Change::Stroke(stroke) = &shown.edits[number].change else { panic!("{tool}") };
        assert!(stroke.points.len() >= 4, "{tool}: {:?}", stroke.points);
        let [first, last] = [&stroke.points[0], &stroke.points[stroke.points.len() - 1]];
        assert!(last[0] > first[0] + 0.05 && (last[1] - 0.5).abs() < 0.05, "{tool}: {first:?} to {last:?}");
        let does = [!stroke.paint.is_empty(), stroke.push > 0.0, stroke.erase > 0.0];
        assert_eq!(does, [number < 2, number == 2, number == 3], "{tool}");
    }
    window.stop();
    window.key(Modifiers::COMMAND, Key::Z);
    window.until(|studio| studio.shown().edits.len() == 3 && studio.shown().undone == 1);
    window.click("Undo");
    window.until(|studio| studio.shown().edits.len() == 2);
    window.click("Redo");
    window.until(|studio| studio.shown().edits.len() == 3 && !studio.shown().busy);
    window.click("Drop 1");
    window.until(|studio| studio.shown().edits.len() == 2 && !studio.shown().busy);
}

#[test]
fn liquid_is_poured() {
    let mut window = Window::new("pour", LIQUID);
    window.click("Pour liquid");
    let before = window.studio().shown().history.last().unwrap().mass;
    window.drag();
    let shown = window.studio().shown();
    assert!(shown.history.last().unwrap().mass > before + 0.005, "{before}: {:?}", shown.history.last());
    assert!(shown.particles.is_some_and(|n| n > 100));
    assert!(window.harness.query_by_label("Paint liquid").is_none(), "how much of a cell is liquid is not painted");
}

/// Where a place of the unit box is in the window.
fn seen_at(window: &Window, x: f32, y: f32) -> Pos2 {
    let rect = window.harness.get_by_label("The fluid: drag to paint").rect();
    // The picture is square, as large as fits.
    let side = rect.width().min(rect.height());
    rect.center() + egui::vec2((x - 0.5) * side, (0.5 - y) * side)
}

#[test]
fn a_source_is_dragged_by_its_mark_and_stays_where_it_was_put() {
    let mut window = Window::new("move", SMOKE);
    window.stop();
    window.click("Move");
    let from = seen_at(&window, 0.5, 0.2);
    let to = from + egui::vec2(60.0, -40.0);
    window.harness.hover_at(from);
    window.harness.step();
    window.harness.drag_at(from);
    window.harness.step();
    for part in 1..=4 {
        window.harness.hover_at(from + (to - from) * (part as f32 / 4.0));
        let frame = window.studio().shown().frame;
        window.until(|studio| studio.shown().frame > frame);
    }
    window.harness.drop_at(to);
    window.stop();
    let shown = window.studio().shown();
    assert_eq!(shown.edits.len(), 1, "{:?}", shown.edits);
    let Change::Move(moved) = &shown.edits[0].change else { panic!("{:?}", shown.edits) };
    assert!(moved.points.len() >= 3 && window.studio().selected() == Some(moved.thing));
    let side = 60.0 / (seen_at(&window, 1.0, 0.5).x - seen_at(&window, 0.0, 0.5).x);
    let place = &shown.handles.iter().find(|h| h.thing == moved.thing).unwrap().place;
    assert!((place[0] - 0.5 - f64::from(side)).abs() < 0.01 && place[1] > 0.22, "{place:?}, {side}");
    window.key(Modifiers::COMMAND, Key::Z);
    window.until(|studio| studio.shown().edits.is_empty());
    let place = window.studio().shown().handles[0].place.clone();
    assert!((place[0] - 0.5).abs() < 1e-9 && (place[1] - 0.2).abs() < 1e-9, "{place:?}");
}

#[test]
fn things_are_added_removed_and_drawn() {
    let mut window = Window::new("things", SMOKE);
    window.stop();
    let names = |studio: &Studio| studio.shown().handles.iter().map(|h| h.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(window.studio()), ["source 1"]);
    for (button, name) in [("Add ball", "added 1"), ("Add box", "added 2"), ("Add source", "source 2")] {
        window.click(button);
        window.until(|studio| names(studio).iter().any(|known| known == name));
        window.click("Step");
        window.until(|studio| !studio.shown().busy);
    }
    assert!(window.harness.query_by_label("Add light").is_none(), "2D has no lights");
    window.click("added 1");
    window.click("Remove added 1");
    window.until(|studio| names(studio) == ["added 2", "source 1", "source 2"]);
    window.click("Draw obstacle");
    let (from, to) = (seen_at(&window, 0.2, 0.9), seen_at(&window, 0.6, 0.9));
    window.harness.hover_at(from);
    window.harness.step();
    window.harness.drag_at(from);
    window.harness.step();
    for part in 1..=6 {
        window.harness.hover_at(from + (to - from) * (part as f32 / 6.0));
        window.harness.step();
    }
    window.harness.drop_at(to);
    window.until(|studio| names(studio).iter().any(|name| name == "drawn 3"));
    let frame = window.studio().shown().frame;
    window.click("Play");
    window.until(|studio| studio.shown().frame > frame + 3);
    assert_eq!(window.studio().message(), None);
}

#[test]
fn every_key_of_the_scene_is_there_and_changes_it() {
    let mut window = Window::new("keys", SMOKE);
    window.stop();
    window.click("All keys of the scene");
    window.harness.step();
    let type_into = |window: &mut Window, label: &str, text: &str| {
        let role = egui::accesskit::Role::TextInput;
        window.harness.get_by_role_and_label(role, label).focus();
        window.harness.step();
        window.key(Modifiers::COMMAND, Key::A);
        window.harness.get_by_role_and_label(role, label).type_text(text);
        window.harness.step();
        window.key(Modifiers::NONE, Key::Enter);
        window.harness.step();
    };
    type_into(&mut window, "Filter", "grid");
    window.harness.step();
    type_into(&mut window, "cells", "[40, 40]");
    window.until(|studio| studio.shown().cells > 0 && studio.opened().setup.grid.cells == [40, 40]);
    assert!(window.studio().is_unsaved(), "the scene is another one now");
    window.until(|studio| !studio.shown().busy);
    window.key(Modifiers::COMMAND, Key::Z);
    window.until(|studio| studio.opened().setup.grid.cells == [32, 32]);
    // From this moment on.
    type_into(&mut window, "Filter", "noise_scale");
    window.harness.step();
    let rect = window.harness.get_by_role_and_label(egui::accesskit::Role::SpinButton, "noise_scale").rect();
    window.harness.drag_at(rect.center());
    window.harness.step();
    window.harness.hover_at(rect.center() + egui::vec2(40.0, 0.0));
    window.harness.step();
    window.harness.drop_at(rect.center() + egui::vec2(40.0, 0.0));
    window.until(|studio| !studio.shown().edits.is_empty());
    let edits = &window.studio().shown().edits;
    assert!(matches!(&edits[0].change, Change::Set(keys) if keys[0].starts_with("fluid.noise_scale=")), "{edits:?}");
}

#[test]
fn colours_arrows_and_values_under_the_mouse_are_shown() {
    let mut window = Window::new("looks", SMOKE);
    window.stop();
    window.click("Arrows");
    window.until(|studio| studio.shown().arrows.len() > 400);
    window.harness.hover_at(seen_at(&window, 0.5, 0.2));
    window.until(|studio| studio.shown().probe.iter().any(|(name, value)| name == "density" && *value > 0.5));
    window.harness.get_by_label("Colours").click();
    window.harness.step();
    window.harness.step();
    window.click("viridis");
    window.until(|studio| studio.opened().changes.iter().any(|change| change.contains("viridis")));
    window.harness.get_by_label("Show").click();
    window.harness.step();
    window.harness.step();
    window.click("vorticity");
    window.until(|studio| studio.opened().changes.iter().any(|change| change.contains("vorticity")));
}

#[test]
fn the_search_box_finds_scenes() {
    let mut window = Window::new("search", SMOKE);
    let role = egui::accesskit::Role::TextInput;
    window.harness.get_by_role_and_label(role, "Search scenes").focus();
    window.harness.step();
    window.harness.get_by_role_and_label(role, "Search scenes").type_text("dam 3");
    window.harness.step();
    window.harness.step();
    assert!(window.harness.query_by_label("dam 3d").is_some());
    assert!(window.harness.query_by_label("plume").is_none(), "only what was searched for");
}

#[test]
fn words_are_typed_and_smoke_becomes_them() {
    let mut window = Window::new("targets", SMOKE);
    window.click("Targets");
    let role = egui::accesskit::Role::TextInput;
    for (label, text) in [("Source", "A"), ("Target 1", "B")] {
        window.harness.get_by_role_and_label(role, label).focus();
        window.harness.step();
        window.key(Modifiers::COMMAND, Key::A);
        window.harness.get_by_role_and_label(role, label).type_text(text);
        window.harness.step();
    }
    window.click("Play targets");
    window.until(|studio| studio.shown().scene == 1 && studio.shown().compared.len() == 3);
    window.until(|studio| studio.shown().figures.iter().any(|(name, _)| name.starts_with("density.")));
    assert!(window.harness.query_by_label("Time of target 1").is_some());
}

#[test]
fn what_was_not_saved_is_offered_at_the_next_start() {
    let folder = std::env::temp_dir().join(format!("squall-left-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let scene = folder.join("lost.toml");
    std::fs::write(&scene, SMOKE).unwrap();
    let opened = Opened::text("lost", SMOKE, Assets::none(), Some(scene)).unwrap();
    let edit = "[[edit]]\nframe = 1\nparameter = { name = \"viscosity\", value = 0.02 }\n";
    let edits = Opened::text("lost", &format!("{SMOKE}{edit}"), Assets::none(), None).unwrap().setup.edits;
    let lost = folder.join("take-4294967295.toml");
    std::fs::write(&lost, squall_studio::recover::text(&opened, &edits)).unwrap();
    let state = folder.clone();
    let mut window = Window::with("recover", SMOKE, move |studio| studio.with_recovery(Some(state.clone())));
    window.harness.step();
    window.click("Recover it");
    window.until(|studio| studio.shown().edits == edits && studio.opened().name == "lost");
    assert!(!lost.exists(), "it is in the window now");
    // What is played is copied.
    window.drag();
    let own = squall_studio::recover::own(&folder);
    window.until(|_| own.exists());
    let copy = std::fs::read_to_string(&own).unwrap();
    assert!(copy.contains("stroke") && copy.contains("lost"), "{copy}");
    window.stop();
    window.click("Save take");
    assert!(!own.exists(), "what is saved needs no copy");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A generator of numbers from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }
}

/// Clicks, drags, keys, files and edits at random: nothing panics, and the window goes on. 60 times, or for the seconds of `SQUALL_MONKEY_SECONDS`; the seed is `SQUALL_MONKEY_SEED`.
#[test]
fn a_monkey_breaks_nothing() {
    let number = |name: &str, usual: u64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(usual);
    let (seconds, seed) = (number("SQUALL_MONKEY_SECONDS", 0), number("SQUALL_MONKEY_SEED", 7));
    let mut window = Window::new("monkey", SMOKE);
    let mut dice = Dice(seed);
    let files: Vec<PathBuf> = [("good.toml", LIQUID), ("bad.toml", "[grid]\ncells = 7"), ("noise.bin", "\u{1}\u{2}")]
        .iter()
        .map(|(name, text)| {
            let path = window.folder.join(name);
            std::fs::write(&path, text).unwrap();
            path
        })
        .collect();
    let keys = [
        Key::Space,
        Key::ArrowRight,
        Key::ArrowLeft,
        Key::Home,
        Key::Tab,
        Key::Enter,
        Key::Escape,
        Key::Z,
        Key::F,
        Key::Num3,
        Key::OpenBracket,
    ];
    let start = Instant::now();
    let mut done = 0;
    while done < 60 || start.elapsed() < Duration::from_secs(seconds) {
        let at = Pos2::new(dice.roll(1280) as f32, dice.roll(HEIGHT as usize) as f32);
        match dice.roll(10) {
            0..=3 => {
                window.harness.hover_at(at);
                window.harness.step();
                window.harness.drag_at(at);
                window.harness.step();
                window.harness.drop_at(at);
            }
            4..=6 => {
                window.harness.drag_at(at);
                for _ in 0..3 {
                    let way = egui::vec2(dice.roll(80) as f32 - 40.0, dice.roll(80) as f32 - 40.0);
                    window.harness.hover_at(at + way);
                    window.harness.step();
                }
                window.harness.drop_at(at);
            }
            7 => window.key([Modifiers::NONE, Modifiers::COMMAND][dice.roll(2)], keys[dice.roll(keys.len())]),
            8 => {
                let file = files[dice.roll(files.len())].clone();
                window.harness.input_mut().dropped_files.push(Arc::new(Dropped(file)));
                window.harness.step();
                window.harness.input_mut().dropped_files.clear();
            }
            _ => {
                for label in ["Discard it", "Go back", "Dismiss", "Reset"] {
                    if let Some(node) = window.harness.query_by_label(label) {
                        node.click();
                        break;
                    }
                }
            }
        }
        window.harness.step();
        done += 1;
    }
    // It still plays.
    for _ in 0..3 {
        for label in ["Discard it", "Ask me later"] {
            if window.harness.query_by_label(label).is_some() {
                window.click(label);
            }
        }
        window.key(Modifiers::NONE, Key::Escape);
    }
    for _ in 0..200 {
        window.harness.step();
        std::thread::sleep(Duration::from_millis(5));
    }
    let crashed = window.studio().message().is_some_and(|message| message.contains("has crashed"));
    assert!(!crashed, "seed {seed}: {:?}", window.studio().message());
}

#[test]
fn parameters_change_at_once_and_can_be_reset() {
    let mut window = Window::new("parameters", SMOKE);
    window.stop();
    let first = window.studio().shown().parameters.clone();
    assert!(first.iter().any(|p| p.name == "viscosity"));
    let drag = window.harness.get_by_role_and_label(egui::accesskit::Role::SpinButton, "viscosity");
    let rect = drag.rect();
    window.harness.drag_at(rect.center());
    window.harness.step();
    window.harness.hover_at(rect.center() + egui::vec2(40.0, 0.0));
    window.harness.step();
    window.harness.drop_at(rect.center() + egui::vec2(40.0, 0.0));
    window.until(|studio| !studio.shown().edits.is_empty());
    window.click("Step");
    let changed = |studio: &Studio| studio.shown().parameters.iter().find(|p| p.name == "viscosity").cloned();
    let before = first.iter().find(|p| p.name == "viscosity").cloned();
    window.until(|studio| changed(studio) != before);
    window.click("Reset viscosity");
    window.click("Step");
    window.until(|studio| changed(studio) == before);
    assert_eq!(window.studio().shown().edits.len(), 2, "both are part of the take");
}

#[test]
fn a_take_is_saved_and_baked_from_the_window() {
    let mut window = Window::new("take", SMOKE);
    window.drag();
    window.stop();
    assert!(window.studio().is_unsaved());
    window.click("Save take");
    assert!(!window.studio().is_unsaved(), "{:?}", window.studio().message());
    let text = std::fs::read_to_string(window.folder.join("test.take.toml")).unwrap();
    assert!(text.contains("[[edit]]") && text.starts_with(SMOKE), "{text}");
    let out = window.folder.join("frames");
    let field = window.harness.get_by_role_and_label(egui::accesskit::Role::TextInput, "Folder for frames");
    field.focus();
    window.harness.step();
    window.key(Modifiers::COMMAND, Key::A);
    let field = window.harness.get_by_role_and_label(egui::accesskit::Role::TextInput, "Folder for frames");
    field.type_text(&out.display().to_string());
    window.harness.step();
    window.click("Bake");
    window.until(|studio| studio.message().is_some_and(|message| message.starts_with("Baked")));
    assert!(out.join("frame_0001.png").exists());
}

#[derive(Debug)]
struct Dropped(PathBuf);

impl egui::DroppedFile for Dropped {
    fn path(&self) -> &Path {
        &self.0
    }
    fn bytes(&self) -> Result<Vec<u8>, String> {
        std::fs::read(&self.0).map_err(|e| e.to_string())
    }
}

#[test]
fn scenes_are_opened_by_click_and_by_drop_and_bad_ones_change_nothing() {
    let mut window = Window::new("open", SMOKE);
    let bad = window.folder.join("bad.toml");
    std::fs::write(&bad, "[grid]\ncells = 7").unwrap();
    window.harness.input_mut().dropped_files.push(Arc::new(Dropped(bad)));
    window.harness.step();
    window.harness.input_mut().dropped_files.clear();
    window.until(|studio| studio.message().is_some_and(|message| message.contains("cells")));
    let frame = window.studio().shown().frame;
    window.until(|studio| studio.shown().frame > frame);

    window.drag();
    let good = window.folder.join("good.toml");
    std::fs::write(&good, LIQUID).unwrap();
    window.harness.input_mut().dropped_files.push(Arc::new(Dropped(good)));
    window.harness.step();
    window.harness.input_mut().dropped_files.clear();
    window.harness.step();
    assert!(window.harness.query_by_label("Save what was played?").is_some(), "something would be lost");
    window.click("Go back");
    assert!(window.harness.query_by_label("Paint density").is_some(), "and nothing is");
    window.harness.input_mut().dropped_files.push(Arc::new(Dropped(window.folder.join("good.toml"))));
    window.harness.step();
    window.harness.input_mut().dropped_files.clear();
    window.harness.step();
    window.click("Discard it");
    window.until(|studio| studio.shown().scene == 1 && studio.shown().frame > 0);
    assert!(window.harness.query_by_label("Pour liquid").is_some());
    assert!(window.studio().shown().edits.is_empty());
    window.click("plume");
    window.until(|studio| studio.shown().scene == 2);
    assert!(window.harness.query_by_label("Paint heat").is_some(), "it carries heat and smoke");
}
