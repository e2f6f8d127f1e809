//! How quickly the window answers while the simulation runs at full load: how long it draws itself, and how long a stroke takes to be seen.
//!
//! `cargo bench -p squall-studio --features kittest --bench latency`

use std::time::{Duration, Instant};

use eframe::egui::{self, Pos2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use squall::Assets;
use squall_studio::app::Studio;
use squall_studio::open::Opened;

const FLAT: &str = "model = \"smoke\"\n[grid]\ncells = [512, 512]\n[[source]]\n\
                    shape = { sphere = { center = [0.5, 0.2], radius = 0.1 } }\nset = { density = 1, temperature = 200 }\n[output]\nwidth = 640\n";
const PLUME: &str = "model = \"smoke\"\n[grid]\ncells = [256, 384]\nsize = [1, 1.5]\n[[source]]\n\
                     shape = { sphere = { center = [0.5, 0.2], radius = 0.1 } }\nset = { density = 1, temperature = 200 }\n[output]\nwidth = 640\n";
const SOLID: &str = "model = \"smoke\"\n[grid]\ncells = [64, 64, 64]\n[[source]]\n\
                     shape = { sphere = { center = [0.5, 0.2, 0.5], radius = 0.1 } }\nset = { density = 1, temperature = 200 }\n[output]\nwidth = 320\n";

fn main() {
    let seconds = std::env::var("SQUALL_BENCH_SECONDS").ok().and_then(|v| v.parse().ok()).unwrap_or(5.0);
    println!("scene            window ms: median, 99 %, longest   frames a second   stroke to picture: ms, frames");
    for (name, text) in [("2D 256 x 384", PLUME), ("2D 512 x 512", FLAT), ("3D 64 x 64 x 64", SOLID)] {
        measure(name, text, seconds);
    }
}

fn measure(name: &str, text: &str, seconds: f64) {
    let opened = Opened::text("test", text, Assets::none(), None).expect("a scene");
    let start = Instant::now();
    let app = move |ui: &mut egui::Ui, studio: &mut Option<Studio>| {
        let ctx = ui.ctx().clone();
        studio.get_or_insert_with(|| Studio::new(&ctx, opened.clone()).expect("a session")).ui(ui);
    };
    let mut harness = Harness::builder().with_size(egui::vec2(1280.0, 800.0)).build_ui_state(app, None);
    let frame = |harness: &Harness<'_, Option<Studio>>| harness.state().as_ref().map_or(0, |s| s.shown().frame);
    while frame(&harness) < 1 {
        harness.step();
        std::thread::sleep(Duration::from_millis(1));
    }
    let first = start.elapsed();
    let mut times = Vec::new();
    let (begin, from) = (Instant::now(), frame(&harness));
    while begin.elapsed().as_secs_f64() < seconds {
        let start = Instant::now();
        harness.step();
        times.push(start.elapsed().as_secs_f64() * 1e3);
        std::thread::sleep(Duration::from_millis(4));
    }
    let fps = (frame(&harness) - from) as f64 / begin.elapsed().as_secs_f64();
    times.sort_by(f64::total_cmp);
    let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];

    // From the press of the button to the first picture that has the stroke in it.
    let rect = harness.get_by_label("The fluid: drag to paint").rect();
    let place = Pos2::new(rect.center().x, rect.center().y);
    harness.hover_at(place);
    harness.step();
    let (pressed, before) = (Instant::now(), frame(&harness));
    harness.drag_at(place);
    let limit = Duration::from_secs(60);
    loop {
        harness.step();
        let shown = harness.state().as_ref().map(|s| s.shown().clone()).unwrap_or_default();
        if shown.edits.first().is_some_and(|edit| shown.frame > edit.frame) || pressed.elapsed() > limit {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let (waited, frames) = (pressed.elapsed().as_secs_f64() * 1e3, frame(&harness) - before);
    harness.drop_at(place);
    println!(
        "{name:16} {:8.2} {:8.2} {:8.2}   {fps:21.1}   {waited:14.0} {frames:8}   first picture after {:.2} s",
        at(0.5),
        at(0.99),
        at(1.0),
        first.as_secs_f64()
    );
}
