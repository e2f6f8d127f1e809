//! What is drawn of a frame besides its picture: motion, normals, depth, light from six sides, heat, height, flow.
//!
//! Every pass is full numbers for compositors; some also are maps with the few bits that games take.

use squall_core::{Simulation, Volume};
use squall_render::film::{Frame, Motion, Passes, Wanted};
use squall_render::maps::{normals, sample};
use squall_render::{Plane, RenderError, fill::fill};

use super::film::{FilmPainter, Volumes};
use crate::setup::{Axis, Green, Pass, Setup};

/// One more picture of a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct PassImage {
    /// What its files are called.
    pub name: &'static str,
    /// Pixels per row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Four numbers for each pixel, the top row first.
    pub rgba: Vec<[f32; 4]>,
    /// Whether the numbers need all of their digits.
    pub exact: bool,
    /// The same for games.
    pub map: Option<GameMap>,
}

/// Numbers as games take them.
#[derive(Clone, Debug, PartialEq)]
pub enum GameMap {
    /// Red, green, blue with 8 bits.
    Rgb(Vec<u8>),
    /// A velocity: red and green are 0.5 + 0.5 v / scale, with 16 bits, and the scale in m/s.
    Flow(Vec<u16>, f64),
    /// One number, with 16 bits.
    Grey(Vec<u16>),
}

/// The files of a pass.
pub fn series(pass: Pass) -> &'static [&'static str] {
    match pass {
        Pass::Motion => &["motion"],
        Pass::Normal => &["normal"],
        Pass::Depth => &["depth"],
        Pass::SixWay => &["six_way_positive", "six_way_negative"],
        Pass::Temperature => &["temperature"],
        Pass::Height => &["height"],
        Pass::Flow => &["flow"],
    }
}

/// A normal in 8 bits: 0.5 + 0.5 n.
pub fn encode_normal(normal: [f32; 3], green: Green) -> [u8; 3] {
    let [x, y, z] = normal;
    let y = if green == Green::Down { -y } else { y };
    [x, y, z].map(|v| (127.5 + 127.5 * v.clamp(-1.0, 1.0) + 0.5) as u8)
}

/// A signed number from `-most` to `most` in 16 bits.
pub fn encode_signed(v: f32, most: f64) -> u16 {
    (65535.0 * (0.5 + 0.5 * (f64::from(v) / most).clamp(-1.0, 1.0)) + 0.5) as u16
}

/// Draws the passes of one scene.
pub(crate) struct PassPainter {
    pub passes: Vec<Pass>,
    green: Green,
    /// The name of what is hot.
    heat: Option<String>,
    seconds: f64,
    wraps: [bool; 2],
    size: [f64; 2],
    relief: f32,
}

impl PassPainter {
    pub fn new(setup: &Setup) -> Self {
        let periodic = |a: usize| setup.grid.axes[a] == Axis::Periodic;
        Self {
            passes: setup.output.passes.clone(),
            green: setup.output.green,
            heat: setup.heat().map(|index| setup.substances[index].name.clone()),
            seconds: 1.0 / setup.time.fps,
            wraps: [periodic(0), periodic(1)],
            size: [setup.grid.size[0], setup.grid.size[1]],
            relief: if setup.picture.relief.start() > 0.0 { setup.picture.relief.start() as f32 } else { 1.0 },
        }
    }

    pub fn wants(&self, pass: Pass) -> bool {
        self.passes.contains(&pass)
    }

    /// The passes of a 2D simulation; `heights` are what is shown at every pixel, from 0 to 1 in the range
    /// of the picture.
    pub fn flat(
        &self,
        sim: &dyn Simulation,
        heights: &[f32],
        [width, rows]: [usize; 2],
    ) -> Result<Vec<PassImage>, RenderError> {
        let (n, (_, h)) = (sim.cells(), sim.placement());
        let field = |values: &[f32]| {
            let plane = Plane::new(values, [n[0], n[1]], [h[0], h[1]])?.wrapping(self.wraps);
            sample(&plane, width, rows)
        };
        let named = |name: &str, component: usize| {
            let mut out = Vec::new();
            sim.read(name, component, &mut out);
            field(&out)
        };
        let velocity = match self.wants(Pass::Motion) || self.wants(Pass::Flow) {
            true => Some([named("velocity", 0)?, named("velocity", 1)?]),
            false => None,
        };
        let opacity = |i: usize| heights[i].clamp(0.0, 1.0);
        let image = |name, rgba, exact, map| PassImage { name, width, height: rows, rgba, exact, map };
        let pixels = 0..width * rows;
        let mut out = Vec::new();
        for &pass in &self.passes {
            let name = series(pass)[0];
            match (pass, &velocity) {
                (Pass::Motion, Some([u, v])) => {
                    let per_metre = [width as f64 / self.size[0], rows as f64 / self.size[1]];
                    let [x, y] = per_metre.map(|p| (p * self.seconds) as f32);
                    let rgba = pixels.clone().map(|i| [x * u[i], y * v[i], 0.0, opacity(i)]).collect();
                    out.push(image(name, rgba, false, None));
                }
                (Pass::Flow, Some([u, v])) => {
                    let scale = flow_scale(u.iter().chain(v));
                    let down = if self.green == Green::Down { -1.0 } else { 1.0 };
                    let code = |v: f32| encode_signed(v, scale);
                    // Blue of a flow map has no meaning: the middle, so that it looks like one.
                    let map = pixels.clone().flat_map(|i| [code(u[i]), code(down * v[i]), 32768]).collect();
                    let rgba = pixels.clone().map(|i| [u[i], v[i], 0.0, 1.0]).collect();
                    out.push(image(name, rgba, false, Some(GameMap::Flow(map, scale))));
                }
                (Pass::Height, _) => {
                    let map = pixels.clone().map(|i| (65535.0 * opacity(i) + 0.5) as u16).collect();
                    let rgba = heights.iter().map(|&h| [h, h, h, 1.0]).collect();
                    out.push(image(name, rgba, false, Some(GameMap::Grey(map))));
                }
                (Pass::Normal, _) => {
                    // As high as the shading of `picture.relief` makes it look.
                    let scale = self.relief * width as f32 / 12.0;
                    let raised: Vec<f32> = heights.iter().map(|h| scale * h).collect();
                    out.push(self.normal(normals(&raised, width, self.wraps), opacity, [width, rows]));
                }
                (Pass::Temperature, _) => {
                    let values = named(self.heat.as_deref().unwrap_or_default(), 0)?;
                    let rgba = pixels.clone().map(|i| [values[i], values[i], values[i], opacity(i)]).collect();
                    out.push(image(name, rgba, true, None));
                }
                _ => {}
            }
        }
        Ok(out)
    }

    fn normal(&self, normals: Vec<[f32; 3]>, opacity: impl Fn(usize) -> f32, [width, height]: [usize; 2]) -> PassImage {
        let map = normals.iter().flat_map(|&n| encode_normal(n, self.green)).collect();
        let rgba = normals.iter().enumerate().map(|(i, &[x, y, z])| [x, y, z, opacity(i)]).collect();
        PassImage { name: series(Pass::Normal)[0], width, height, rgba, exact: false, map: Some(GameMap::Rgb(map)) }
    }

    /// What of a simulation the passes need besides what pictures show.
    pub fn take(&self, volumes: &mut Volumes, mut volume: impl FnMut(&str, usize) -> Volume) {
        if self.wants(Pass::Motion) {
            volumes.velocity = Some(std::array::from_fn(|a| volume("velocity", a)));
        }
        if let (true, Some(name)) = (self.wants(Pass::Temperature), &self.heat) {
            volumes.temperature = Some(volume(name, 0));
        }
    }

    /// The passes of a picture taken by a camera.
    pub fn film(
        &self,
        film: &mut FilmPainter,
        volumes: &Volumes,
        frame: &Frame,
        time: f64,
        number: u64,
    ) -> Result<Vec<PassImage>, RenderError> {
        let (width, height) = (frame.width, frame.height);
        let image = |name, rgba, exact| PassImage { name, width, height, rgba, exact, map: None };
        let next = film.camera_at(time + self.seconds)?;
        let motion = |v| Motion { velocity: v, seconds: self.seconds, next };
        let wanted = Wanted {
            motion: volumes.velocity.as_ref().map(|v| motion(v.each_ref())).filter(|_| self.wants(Pass::Motion)),
            normal: self.wants(Pass::Normal),
            temperature: volumes.temperature.as_ref().filter(|_| self.wants(Pass::Temperature)),
            six_way: self.wants(Pass::SixWay),
        };
        if self.passes.is_empty() {
            return Ok(Vec::new());
        }
        let found = film.passes(volumes, time, number, &wanted)?;
        let alpha = |i: usize| found.opacity[i];
        let pixels = 0..width * height;
        let mut out = Vec::new();
        for &pass in &self.passes {
            let name = series(pass)[0];
            match pass {
                Pass::Motion => out.push(image(name, beyond_the_smoke(&found), false)),
                Pass::Normal => out.push(self.normal(found.normal.clone(), alpha, [width, height])),
                Pass::Depth => {
                    let depth = |i: usize| frame.depth[i];
                    out.push(image(
                        name,
                        pixels.clone().map(|i| [depth(i), depth(i), depth(i), alpha(i)]).collect(),
                        true,
                    ));
                }
                Pass::Temperature => {
                    let t = &found.temperature;
                    out.push(image(name, pixels.clone().map(|i| [t[i], t[i], t[i], alpha(i)]).collect(), true));
                }
                Pass::SixWay => {
                    let half = |from: usize, last: &[f32]| {
                        let six = &found.six_way;
                        pixels.clone().map(|i| [six[i][from], six[i][from + 1], six[i][from + 2], last[i]]).collect()
                    };
                    let [positive, negative] = [series(pass)[0], series(pass)[1]];
                    out.push(image(positive, half(0, &found.opacity), false));
                    out.push(image(negative, half(3, &found.glow), false));
                }
                Pass::Height | Pass::Flow => {}
            }
        }
        Ok(out)
    }
}

/// Motion with opacity. Beside the smoke it is that of the nearest smoke: there is where smoke moves to.
fn beyond_the_smoke(found: &Passes) -> Vec<[f32; 4]> {
    let mut motion = found.motion.clone();
    // Where a fiftieth is hidden the mean is a good one.
    let weights: Vec<f32> = found.opacity.iter().map(|a| 50.0 * a).collect();
    fill(&mut motion, &weights, found.width, found.height);
    motion.iter().zip(&found.opacity).map(|(&[x, y], &a)| [x, y, 0.0, a]).collect()
}

/// The least power of two that no component exceeds: it rarely changes from frame to frame.
fn flow_scale<'a>(values: impl Iterator<Item = &'a f32>) -> f64 {
    let most = values.filter(|v| v.is_finite()).fold(0.0f32, |most, v| most.max(v.abs()));
    let mut scale = 2f64.powi(-10);
    while scale < f64::from(most) {
        scale *= 2.0;
    }
    scale
}
