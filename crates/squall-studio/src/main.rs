//! `squall-studio [SCENE]`: a window on a scene.

use eframe::egui::ViewportBuilder;
use squall_studio::app::Studio;
use squall_studio::open::Opened;
use squall_studio::recover;

const USAGE: &str = "Play with fluids, paint them, and bake exactly what was played.

Usage: squall-studio [SCENE]

SCENE is a scene file, or the name of a scene of the gallery; without one the first of the gallery plays.";

fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let scene = match &arguments[..] {
        [] => "plume",
        [flag] if flag == "--help" || flag == "-h" => {
            println!("{USAGE}");
            return std::process::ExitCode::SUCCESS;
        }
        [flag] if flag == "--version" || flag == "-V" => {
            println!("squall-studio {}", env!("CARGO_PKG_VERSION"));
            return std::process::ExitCode::SUCCESS;
        }
        [scene] => scene,
        _ => {
            eprintln!("{USAGE}");
            return std::process::ExitCode::from(2);
        }
    };
    let opened = match Opened::named(scene) {
        Ok(opened) => opened,
        Err(reason) => {
            eprintln!("{reason}");
            return std::process::ExitCode::from(3);
        }
    };
    let viewport = ViewportBuilder::default().with_inner_size([1280.0, 800.0]).with_min_inner_size([800.0, 500.0]);
    let options = eframe::NativeOptions { viewport: viewport.with_title("Squall"), ..Default::default() };
    let ran = eframe::run_native(
        "squall-studio",
        options,
        Box::new(|context| {
            let studio = Studio::new(&context.egui_ctx, opened)?;
            Ok(Box::new(studio.with_gpu(context.gl.as_ref()).with_thumbs().with_recovery(recover::folder())))
        }),
    );
    match ran {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("there is no window: {e}");
            std::process::ExitCode::FAILURE
        }
    }
}
