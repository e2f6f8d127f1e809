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
        let folder = std::env::temp_dir().join(format!("squall-studio-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("test.toml");
        std::fs::write(&path, text).unwrap();
        let opened = Opened::text("test", text, Assets::none(), Some(path), 1.0).unwrap();
        let app = move |ui: &mut egui::Ui, studio: &mut Option<Studio>| {
            let ctx = ui.ctx().clone();
            studio.get_or_insert_with(|| Studio::new(&ctx, opened.clone()).unwrap()).ui(ui);
        };
        let harness = Harness::builder().with_size(egui::vec2(1280.0, 800.0)).build_ui_state(app, None);
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
