//! How 3D pictures are exposed, lit and blurred.

use crate::folder::{Folder, go, options};
use squall::picture::tone;
use squall::run::{CancelToken, RunOptions, render};
use squall::{Assets, Event, Scene, Setup};
use squall_io::read_png;

const PLUME: &str = r#"
model = "smoke"
[grid]
cells = [16, 24, 16]
[[source]]
shape = { sphere = { center = [0.5, 0.2, 0.5], radius = 0.15 } }
set = { density = 1.0, temperature = 200.0 }
[time]
frames = 6
[output]
width = 48
vdb = { fields = ["density", "temperature", "velocity"] }
[camera]
orbit = [{ time = 0.0, yaw = 0 }, { time = 0.25, yaw = 90 }]
[render]
thickness = 60
ground = {}
"#;

fn setup(overrides: &[&str]) -> Setup {
    let overrides: Vec<String> = overrides.iter().map(|&o| o.to_owned()).collect();
    match Scene::parse("film.toml", PLUME, &overrides).and_then(|s| s.setup()) {
        Ok((setup, _)) => setup,
        Err(e) => panic!("{}", e.to_text()),
    }
}

#[test]
fn an_automatic_exposure_is_the_same_for_all_frames_and_follows_the_light() {
    let plain = setup(&[]);
    let exposure = tone(&plain, 0.0).exposure;
    // Never pumps: not even while the camera goes around, and not in a longer film.
    for time in [0.04, 0.1, 0.25, 10.0] {
        assert_eq!(tone(&plain, time).exposure, exposure);
    }
    assert_eq!(tone(&setup(&["time.frames=60"]), 1.0).exposure, exposure);
    // Twice the light, half the exposure: the smoke looks the same.
    let lit = |strength: &str| {
        let dark = "render.ambient={sky=\"#000000\",below=\"#000000\"}";
        let overrides = ["light=[{sun=[-0.8,0.7,0.1]}]", strength, dark, "render.ground={bounce=0}"];
        tone(&setup(&overrides), 0.0).exposure
    };
    let (dim, bright) = (lit("light.0.strength=0.5"), lit("light.0.strength=1.0"));
    assert!((dim / bright - 2.0).abs() < 1e-3, "{dim} {bright}");
    // Who says it gets it.
    assert_eq!(tone(&setup(&["picture.exposure=1.7"]), 0.0).exposure, 1.7);
    assert_eq!(tone(&setup(&["render.glow={}"]), 0.0).exposure, 1.0, "what glows has its own brightness");
}

#[test]
fn thick_smoke_is_bright_and_not_clipped_without_any_tuning() {
    const LOOKS: [&str; 4] =
        ["render.softness=0.8", "render.sky=day", "render.color=\"#808080\"", "camera.orbit=[{time=0,yaw=200}]"];
    for look in LOOKS {
        let folder = Folder::new("film-bright");
        go(&setup(&["time.frames=2", "output.vdb=false", look]), &folder.0);
        let picture = read_png(folder.0.join("frame_0002.png")).unwrap();
        let brightest: Vec<u8> = picture.rgba.as_chunks::<4>().0.iter().map(|p| p[0].max(p[1]).max(p[2])).collect();
        let most = *brightest.iter().max().unwrap();
        // The ball that is measured is smooth, smoke is not, and the sun may stand behind it.
        assert!((150..=250).contains(&most), "{look:?}: {most}");
    }
}

#[test]
fn a_picture_taken_alone_is_that_of_the_whole_film() {
    let setup = setup(&["camera.shutter=180", "camera.follow=true"]);
    let folder = Folder::new("film-alone");
    let run = folder.0.join("run");
    go(&setup, &run);
    let again = |name: &str, only: Option<u64>| {
        let out = folder.0.join(name);
        let options = RunOptions { only: only.map(|frame| frame..=frame), ..options(&out) };
        render(&setup, &run, &Assets::none(), &options, &mut |_: &Event<'_>| {}, &CancelToken::default()).unwrap();
        std::fs::read(out.join("frame_0004.png")).unwrap()
    };
    assert!(again("all", None) == again("alone", Some(4)));
}

#[test]
fn an_open_shutter_blurs_what_moves() {
    let shot = |shutter: &str| {
        let folder = Folder::new("film-shutter");
        go(&setup(&["time.frames=3", "time.fps=6", "output.vdb=false", shutter]), &folder.0);
        read_png(folder.0.join("frame_0003.png")).unwrap().rgba
    };
    let (sharp, open) = (shot("camera.shutter=0"), shot("camera.shutter=360"));
    let apart: u32 = sharp.iter().zip(&open).map(|(a, b)| u32::from(a.abs_diff(*b))).sum();
    assert!(apart > 2 * sharp.len() as u32 / 4, "{apart}");
}
