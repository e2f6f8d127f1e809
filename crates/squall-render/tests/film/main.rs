//! Facts about pictures of smoke, water, objects and light.

mod camera;
mod light;
mod objects;
mod passes;
mod pictures;
mod smoke;
mod water;

use squall_core::Volume;
use squall_render::film::*;

/// A box of smoke whose lower corner is at the origin; `amount` gets the coordinates of cells.
fn smoke(cells: [usize; 3], spacing: f64, amount: impl Fn([usize; 3]) -> f32) -> Volume {
    let at = |i: usize| [i % cells[0], i / cells[0] % cells[1], i / cells[0] / cells[1]];
    let values: Vec<f32> = (0..cells.iter().product()).map(|i| amount(at(i))).collect();
    Volume::from_dense([0.0; 3], spacing, 0.0, cells, &values)
}

/// A soft ball of smoke that fills a cube with a side of one metre.
fn puff(cells: usize) -> Volume {
    let half = 0.5 * cells as f32;
    smoke([cells; 3], 1.0 / cells as f64, |cell| {
        let r = cell.map(|c| (c as f32 + 0.5) / half - 1.0).iter().map(|v| v * v).sum::<f32>();
        (1.0 - r).max(0.0) * (1.0 + 0.5 * (cell[0] as f32 * 0.9).sin() * (cell[1] as f32 * 0.7).cos())
    })
}

/// No light at all, light scattered once and evenly, nothing behind.
fn bare() -> Style {
    Style {
        scatter: Scatter { anisotropy: 0.0, softness: 0.0, back: 0.0 },
        lights: vec![],
        ambient: Ambient::NONE,
        ground: None,
        background: None,
        environment: None,
        glow: Glow::default(),
    }
}

fn one_light(light: Light) -> Style {
    Style { lights: vec![light], ..bare() }
}

/// One ray through the middle of each pixel, in short steps.
const FINE: Quality = Quality { step: 0.5, samples: 1, light_spacing: 1, sky_directions: 1 };

/// Looks along -z at the middle of a box; `height` metres of it are seen.
fn front(size: [f64; 3], height: f64) -> Camera {
    let middle = size.map(|v| 0.5 * v);
    Camera::orbiting(middle, 0.0, 0.0, 2.0 * size[2], Projection::Orthographic { height })
}

fn draw(scene: &Scene<'_>, style: &Style, camera: &Camera, size: [usize; 2]) -> Frame {
    render(scene, style, camera, size, 0, FINE).expect("a picture")
}

fn only(volume: &Volume, kappa: f32, albedo: f32) -> Scene<'_> {
    Scene { substances: vec![Substance { amount: volume, kappa, albedo: [albedo; 3] }], ..Scene::default() }
}

fn middle(frame: &Frame) -> [f32; 4] {
    frame.rgba[frame.height / 2 * frame.width + frame.width / 2]
}

/// The sum of all differences, relative to the sum of all values.
fn difference(a: &Frame, b: &Frame) -> f32 {
    let (mut apart, mut whole) = (0.0, 0.0);
    for (a, b) in a.rgba.iter().flatten().zip(b.rgba.iter().flatten()) {
        apart += (a - b).abs();
        whole += a.abs();
    }
    apart / whole
}
