//! Motion vectors: frames moved by them come close to the frames that follow.

use squall::picture::{Painter, Picture};
use squall::{Driver, Scene, Setup};
use squall_render::color::from_srgb8;
use squall_render::flow::fit;

/// A picture: four numbers for each pixel, premultiplied, the top row first.
struct Shot {
    width: usize,
    pixels: Vec<[f32; 4]>,
    /// Pixels to the right and up until the next frame.
    motion: Vec<[f32; 4]>,
}

impl Shot {
    /// Linear between pixels, the edge repeated. `x` is right, `y` down.
    fn at(pixels: &[[f32; 4]], width: usize, x: f32, y: f32) -> [f32; 4] {
        let rows = pixels.len() / width;
        let (x, y) = (x.clamp(0.0, (width - 1) as f32), y.clamp(0.0, (rows - 1) as f32));
        let (i, j) = ((x as usize).min(width - 2), (y as usize).min(rows - 2));
        let (u, v) = (x - i as f32, y - j as f32);
        let p = |dx: usize, dy: usize| pixels[(j + dy) * width + i + dx];
        let (a, b, c, d) = (p(0, 0), p(1, 0), p(0, 1), p(1, 1));
        std::array::from_fn(|n| (1.0 - v) * ((1.0 - u) * a[n] + u * b[n]) + v * ((1.0 - u) * c[n] + u * d[n]))
    }

    /// What an engine shows: the value at `x + share * motion(x)`.
    fn moved(&self, share: f32) -> Vec<[f32; 4]> {
        let place = |i: usize| ((i % self.width) as f32, (i / self.width) as f32);
        (0..self.pixels.len())
            .map(|i| {
                let ((x, y), [u, v, ..]) = (place(i), self.motion[i]);
                Self::at(&self.pixels, self.width, x + share * u, y - share * v)
            })
            .collect()
    }
}

/// The sum of all differences of colour and opacity.
fn apart(a: &[[f32; 4]], b: &[[f32; 4]]) -> f32 {
    a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| (a - b).abs()).sum()
}

fn mixed(a: &[[f32; 4]], b: &[[f32; 4]], t: f32) -> Vec<[f32; 4]> {
    a.iter().zip(b).map(|(a, b)| std::array::from_fn(|c| a[c] + t * (b[c] - a[c]))).collect()
}

/// Frames `last - 2` to `last + 1` of a scene, and the one half way between the two in the middle.
fn shots(text: &str, last: u32) -> ([Shot; 4], Shot) {
    let (setup, _) = Scene::parse("test.toml", text, &[]).unwrap().setup().unwrap();
    let mut driver = Driver::new(&setup).unwrap();
    let mut painter = Painter::new(&setup).unwrap();
    let (mut frames, mut between) = (Vec::new(), None);
    for half in 1..=2 * last + 2 {
        driver.run_to_time(f64::from(half) / (2.0 * setup.time.fps)).unwrap();
        let sim = driver.simulation();
        if half + 4 >= 2 * last {
            // The same grain in all: what differs is what has moved.
            let picture = painter.draw(sim, sim.time(), 1).unwrap();
            let passes = painter.draw_passes(sim, sim.time(), 1, &picture).unwrap();
            let motion = passes.into_iter().find(|pass| pass.name == "motion").unwrap().rgba;
            let (width, pixels) = pixels(&setup, &picture);
            let shot = Shot { width, pixels, motion };
            match half {
                _ if half % 2 == 0 => frames.push(shot),
                _ if half + 1 == 2 * last => between = Some(shot),
                _ => {}
            }
        }
    }
    (frames.try_into().ok().unwrap(), between.unwrap())
}

/// The motion as flipbooks have it: fitted to the frames before and after.
fn fitted(shots: &[Shot; 4], k: usize) -> Shot {
    let Shot { width, pixels, motion } = &shots[k];
    let mut down: Vec<[f32; 2]> = motion.iter().map(|[u, v, ..]| [*u, -v]).collect();
    fit(&mut down, *width, [false; 2], pixels, Some(&shots[k + 1].pixels), Some(&shots[k - 1].pixels));
    let motion = down.iter().zip(motion).map(|([u, v], m)| [*u, -v, m[2], m[3]]).collect();
    Shot { width: *width, pixels: pixels.clone(), motion }
}

fn pixels(setup: &Setup, picture: &Picture) -> (usize, Vec<[f32; 4]>) {
    match picture {
        Picture::Film(frame) => {
            let tone = squall::picture::tone(setup, 0.0);
            (
                frame.width,
                frame
                    .rgba
                    .iter()
                    .map(|&[r, g, b, a]| {
                        let [r, g, b] = tone.apply([r, g, b]);
                        [r, g, b, a]
                    })
                    .collect(),
            )
        }
        Picture::Screen(image) => {
            let pixel = |&[r, g, b, a]: &[u8; 4]| {
                let alpha = f32::from(a) / 255.0;
                let [r, g, b] = from_srgb8([r, g, b]).map(|v| v * alpha);
                [r, g, b, alpha]
            };
            (image.width, image.pixels.iter().map(pixel).collect())
        }
    }
}

const FLAT: &str = r#"
seed = 3
[grid]
cells = [64, 96]
[boundary]
y = { lo = "slip", hi = "open" }
[fluid]
noise_scale = 0.1
[substance.smoke]
[substance.heat]
[[source]]
shape = { sphere = { center = [0.45, 0.15], radius = 0.12 } }
softness = 0.08
rate = { smoke = 3.0, heat = 4.0 }
noise = 0.9
to = 0.3
[[force]]
buoyancy = { substance = "heat", strength = 1.5 }
[time]
fps = 8
[output]
width = 128
passes = ["motion"]
[picture]
show = "smoke"
range = [0.0, 1.0]
transparent = true
"#;

const DEEP: &str = r#"
model = "smoke"
seed = 3
[grid]
cells = [16, 24, 16]
[boundary]
y = { lo = "slip", hi = "open" }
[[source]]
shape = { sphere = { center = [0.45, 0.2, 0.5], radius = 0.14 } }
set = { density = 1.0, temperature = 300.0 }
noise = 0.9
to = 0.3
[time]
fps = 15
[output]
width = 96
height = 144
passes = ["motion"]
vdb = false
[render]
quality = "preview"
transparent = true
[camera]
yaw = 25
"#;

/// How far frames are apart: without motion, warped by it, half frames cross-faded, half frames with motion.
fn measure(text: &str, last: u32) -> [f32; 4] {
    let (shots, half) = shots(text, last);
    let [now, next] = [fitted(&shots, 1), fitted(&shots, 2)];
    let still = apart(&now.pixels, &next.pixels);
    let warped = apart(&now.moved(-1.0), &next.pixels);
    let faded = apart(&mixed(&now.pixels, &next.pixels, 0.5), &half.pixels);
    let played = apart(&mixed(&now.moved(-0.5), &next.moved(0.5), 0.5), &half.pixels);
    println!(
        "still {still:.1} warped {warped:.1} ({:.2}), faded {faded:.1} played {played:.1} ({:.2})",
        warped / still,
        played / faded
    );
    [still, warped, faded, played]
}

/// With a source that has stopped, and with one that goes on: what leaves it moves, what is held in it does not.
fn scenes(text: &str) -> [String; 2] {
    [text.to_owned(), text.replace("to = 0.3\n", "")]
}

/// The warp is the engine's: each pixel of the next frame is looked up in this one, at its place less the motion there.
/// Half frames are compared with simulated ones.
#[test]
fn a_frame_of_2d_smoke_moved_by_its_motion_is_twice_as_near_to_the_next_one() {
    for (scene, fps) in scenes(FLAT).iter().flat_map(|scene| [8, 16].map(|fps| (scene, fps))) {
        let scene = scene.replace("fps = 8", &format!("fps = {fps}"));
        let [still, warped, faded, played] = measure(&scene, 6 * fps / 8);
        assert!(warped < 0.5 * still, "{warped} of {still} at {fps} fps");
        assert!(played < faded, "half a frame: {played} with motion, {faded} by fading, at {fps} fps");
    }
}

#[test]
fn a_frame_of_3d_smoke_moved_by_its_motion_is_twice_as_near_to_the_next_one() {
    for (scene, fps) in scenes(DEEP).iter().flat_map(|scene| [15, 24].map(|fps| (scene, fps))) {
        let scene = scene.replace("fps = 15", &format!("fps = {fps}"));
        let [still, warped, faded, played] = measure(&scene, 9 * fps / 15);
        assert!(warped < 0.5 * still, "{warped} of {still} at {fps} fps");
        // Frames that lie close together can be faded just as well: what is left is the flicker of the source.
        let as_good = if fps > 15 { 1.1 } else { 1.0 };
        assert!(played < as_good * faded, "half a frame: {played} with motion, {faded} by fading, at {fps} fps");
    }
}
