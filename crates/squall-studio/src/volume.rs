//! What a view in 3D draws: smoke, heat, objects and the surface of a liquid on one lattice of bytes, and the light that reaches each cell.
//!
//! | byte | holds |
//! |---|---|
//! | 0 | the root of the amount of smoke, as a part of the largest |
//! | 1 | the part of the light of the first lamp that arrives |
//! | 2 | the distance to objects: [`SURFACE`] on them, more inside |
//! | 3 | the same of a liquid; without one, how hot it is |

use rayon::prelude::*;
use squall::Setup;
use squall::picture::FilmPainter;
use squall::surface::Surface;
use squall_core::{Simulation, Volume};
use squall_render::film::{Ramp, Source, Style, blackbody};

/// The byte of distance 0.
pub const SURFACE: f32 = 128.0;
/// How many cells of distance the bytes reach, on each side.
const REACH: f32 = 4.0;
/// Most cells along a side.
const MOST: usize = 96;
/// Colours of heat, from cold to hot.
pub const RAMP: usize = 8;

/// A moment of a scene in 3D.
#[derive(Clone, Debug, PartialEq)]
pub struct Solid {
    /// Cells along each axis.
    pub cells: [usize; 3],
    /// Four bytes for each, x fastest.
    pub texels: Vec<u8>,
    /// Lower and upper corner, in metres.
    pub low: [f32; 3],
    /// See `low`.
    pub high: [f32; 3],
    /// The box of the scene.
    pub scene: ([f32; 3], [f32; 3]),
    /// Optical depth of a metre of the largest amount.
    pub kappa: f32,
    /// Colour of the smoke, of the objects, and of light through the liquid, in linear light.
    pub smoke: [f32; 3],
    /// See `smoke`.
    pub object: [f32; 3],
    /// See `smoke`.
    pub water: [f32; 3],
    /// Whether there is a liquid.
    pub is_liquid: bool,
    /// Light that heat sends out per metre, from cold to hot.
    pub glow: [[f32; 3]; RAMP],
    /// Where the light comes from, and how much; and light from all around.
    pub to_light: [f32; 3],
    /// See `to_light`.
    pub light: [f32; 3],
    /// See `to_light`.
    pub ambient: [f32; 3],
    /// Top and bottom of what is behind everything.
    pub background: [[f32; 3]; 2],
    /// Height and colour of the ground.
    pub ground: Option<(f32, [f32; 3])>,
    /// Brightness.
    pub exposure: f32,
}

/// A lattice that covers some volumes.
struct Lattice {
    cells: [usize; 3],
    low: [f64; 3],
    h: f64,
}

impl Lattice {
    /// Over the box of the scene and whatever is outside of it, in cells of the simulation or a multiple of them.
    fn new(setup: &Setup, volumes: &[&Volume]) -> Self {
        let spacing = setup.grid.spacing()[0];
        let (mut low, mut high): ([f64; 3], [f64; 3]) = (
            std::array::from_fn(|a| setup.grid.origin[a]),
            std::array::from_fn(|a| setup.grid.origin[a] + setup.grid.size[a]),
        );
        for volume in volumes {
            if let Some((first, last)) = volume.bounds() {
                for a in 0..3 {
                    // Beyond walls blocks have cells that are none.
                    let [below, above] = setup.grid.is_unbounded_at(a);
                    if below {
                        low[a] = low[a].min(volume.origin[a] + volume.spacing * f64::from(first[a]));
                    }
                    if above {
                        high[a] = high[a].max(volume.origin[a] + volume.spacing * f64::from(last[a]));
                    }
                }
            }
        }
        let longest = (0..3).map(|a| high[a] - low[a]).fold(0.0, f64::max);
        let h = (longest / MOST as f64).max(spacing);
        let cells = std::array::from_fn(|a| (((high[a] - low[a]) / h).round() as usize).clamp(2, MOST + 1));
        Lattice { cells, low, h }
    }

    fn len(&self) -> usize {
        self.cells.iter().product()
    }

    fn middle(&self, i: usize) -> [f64; 3] {
        let [nx, ny, _] = self.cells;
        let index = [i % nx, i / nx % ny, i / (nx * ny)];
        std::array::from_fn(|a| self.low[a] + (index[a] as f64 + 0.5) * self.h)
    }

    /// Means of the cells of a volume that lie in each cell.
    fn means(&self, volume: &Volume) -> Vec<f32> {
        let mut sums = vec![0.0f32; self.len()];
        let scale = volume.spacing / self.h;
        let at = |cell: i32, a: usize| {
            let x = (volume.origin[a] - self.low[a]) / self.h + (f64::from(cell) + 0.5) * scale;
            (x >= 0.0 && x < self.cells[a] as f64).then_some(x as usize)
        };
        for (b, corner) in volume.blocks.iter().enumerate() {
            let values = volume.block(b);
            let places: [[Option<usize>; 8]; 3] =
                std::array::from_fn(|a| std::array::from_fn(|i| at(8 * corner[a] + i as i32, a)));
            for z in 0..8 {
                for y in 0..8 {
                    let (Some(cz), Some(cy)) = (places[2][z], places[1][y]) else { continue };
                    let row = self.cells[0] * (cy + self.cells[1] * cz);
                    for x in 0..8 {
                        if let Some(cx) = places[0][x] {
                            sums[row + cx] += values[x + 8 * (y + 8 * z)];
                        }
                    }
                }
            }
        }
        let part = (scale * scale * scale).min(1.0) as f32;
        sums.iter_mut().for_each(|v| *v *= part);
        sums
    }

    /// Values of a volume at the middles of the cells.
    fn samples(&self, volume: &Volume) -> Vec<f32> {
        let value = |i: usize| {
            let x = self.middle(i);
            volume.get(std::array::from_fn(|a| ((x[a] - volume.origin[a]) / volume.spacing).floor() as i32))
        };
        (0..self.len()).into_par_iter().map(value).collect()
    }

    /// The part of light from a direction that reaches each cell past what is in its way: one layer after the other, away from the light. `depth` is the
    /// optical depth of each cell.
    fn light(&self, towards: [f64; 3], depth: &[f32]) -> Vec<f32> {
        let main = (0..3).max_by(|&a, &b| towards[a].abs().total_cmp(&towards[b].abs())).unwrap_or(1);
        let across: [usize; 2] = [(main + 1) % 3, (main + 2) % 3];
        let n = self.cells;
        let stride = [1, n[0], n[0] * n[1]];
        // From a cell to where its light came through the layer before, in cells.
        let slope = across.map(|a| towards[a] / towards[main].abs());
        let way = (1.0 + slope[0] * slope[0] + slope[1] * slope[1]).sqrt() as f32;
        let up = towards[main] > 0.0;
        let mut light = vec![1.0f32; self.len()];
        for layer in 1..n[main] {
            let (here, before) = match up {
                true => (n[main] - 1 - layer, n[main] - layer),
                false => (layer, layer - 1),
            };
            for j in 0..n[across[1]] {
                for i in 0..n[across[0]] {
                    let place = [i as f64 + slope[0], j as f64 + slope[1]];
                    let low = place.map(f64::floor);
                    let mut sum = 0.0;
                    for corner in 0..4usize {
                        let k: [f64; 2] = std::array::from_fn(|a| low[a] + f64::from(u8::from(corner >> a & 1 == 1)));
                        let weight: f64 = (0..2).map(|a| 1.0 - (place[a] - k[a]).abs()).product();
                        let inside = (0..2).all(|a| k[a] >= 0.0 && k[a] < n[across[a]] as f64);
                        let arrives = if inside {
                            let at = before * stride[main]
                                + k[0] as usize * stride[across[0]]
                                + k[1] as usize * stride[across[1]];
                            light[at] * (-way * depth[at]).exp()
                        } else {
                            1.0
                        };
                        sum += weight as f32 * arrives;
                    }
                    light[here * stride[main] + i * stride[across[0]] + j * stride[across[1]]] = sum;
                }
            }
        }
        light
    }
}

/// A distance, negative inside, as a byte.
fn distance_byte(distance: f32, h: f32) -> u8 {
    (SURFACE - 127.0 * distance / (REACH * h)).clamp(0.0, 255.0) as u8
}

fn byte(part: f32) -> u8 {
    (255.0 * part.clamp(0.0, 1.0)).round() as u8
}

impl Solid {
    /// What a scene shows at a time.
    pub fn new(
        setup: &Setup,
        film: &mut FilmPainter,
        sim: &dyn Simulation,
        surface: Option<&Surface>,
        time: f64,
        frame: u64,
    ) -> Self {
        let volumes = film.volumes(sim);
        let liquid = surface.and_then(Surface::volume);
        let all: Vec<&Volume> = volumes.substances.iter().chain(&volumes.heat).collect();
        let lattice = Lattice::new(setup, &all);
        let style = film.style_at(time, frame);
        let h = lattice.h as f32;

        let mut amount = vec![0.0f32; lattice.len()];
        for volume in &volumes.substances {
            amount.iter_mut().zip(lattice.means(volume)).for_each(|(sum, v)| *sum += v.max(0.0));
        }
        let most = amount.iter().copied().fold(1e-6, f32::max);
        let thickness = setup.film.as_ref().map_or(0.0, |film| film.render.thickness.at(time).max(0.0));
        let kappa =
            if setup.shows_light() { 2.0 / lattice.h } else { thickness * setup.picture.opacity.at(time).max(0.0) }
                as f32;
        let heat = volumes.heat.as_ref().map(|heat| lattice.means(heat));
        let objects = film.object_distances(time, frame, lattice.len(), |i| lattice.middle(i));
        let liquid = liquid.map(|volume| lattice.samples(volume));

        let lamp = style.lights.first();
        let (towards, light) = lamp.map_or(([0.0, 1.0, 0.0], [1.0; 3]), |lamp| toward(lamp, setup));
        let mut depth: Vec<f32> = amount.iter().map(|v| kappa * v * h).collect();
        if let Some(objects) = &objects {
            depth.iter_mut().zip(objects).filter(|(_, d)| **d < 0.0).for_each(|(depth, _)| *depth = 20.0);
        }
        if let Some(liquid) = &liquid {
            // Water lets most of the light through.
            depth.iter_mut().zip(liquid).filter(|(_, d)| **d < 0.0).for_each(|(depth, _)| *depth += 0.05);
        }
        let arrives = lattice.light(towards, &depth);

        let [cold, hot] = style.glow.range;
        let warm = |v: f32| (v - cold) / (hot - cold).max(1e-9);
        let texel = |i: usize| {
            let last = match (&liquid, &heat) {
                (Some(liquid), _) => distance_byte(liquid[i], h),
                (None, Some(heat)) => byte(warm(heat[i])),
                (None, None) => 0,
            };
            let object = objects.as_ref().map_or(0, |objects| distance_byte(objects[i], h));
            [byte((amount[i] / most).sqrt()), byte(arrives[i]), object, last]
        };
        let texels = (0..lattice.len()).into_par_iter().flat_map_iter(texel).collect();
        let high = std::array::from_fn(|a| (lattice.low[a] + lattice.h * lattice.cells[a] as f64) as f32);
        let [low_box, high_box] =
            [0.0, 1.0].map(|part| std::array::from_fn(|a| (setup.grid.origin[a] + part * setup.grid.size[a]) as f32));
        let color = |srgb: [u8; 3]| squall_render::color::from_srgb8(srgb);
        let film = setup.film.as_ref();
        let objects = setup.objects.iter().filter(|o| o.visible).map(|o| color(o.color)).next();
        Solid {
            cells: lattice.cells,
            texels,
            low: lattice.low.map(|v| v as f32),
            high,
            scene: (low_box, high_box),
            kappa: kappa * most,
            smoke: film.map_or([1.0; 3], |film| color(film.render.color)),
            object: objects.unwrap_or([0.5; 3]),
            water: film.map_or([0.8, 0.95, 1.0], |film| color(film.render.water.tint)),
            is_liquid: liquid.is_some(),
            glow: glow(&style, heat.is_some(), kappa * most),
            to_light: towards.map(|v| v as f32),
            light,
            ambient: std::array::from_fn(|a| 0.5 * (style.ambient.sky[a] + style.ambient.ground[a])),
            background: style.background.as_ref().map_or([[0.35, 0.4, 0.45], [0.2, 0.22, 0.25]], |b| [b.top, b.bottom]),
            ground: style.ground.as_ref().map(|g| (g.height as f32, g.finish.color)),
            exposure: setup.picture.exposure.as_ref().map_or(1.0, |e| e.at(time)).max(1e-3) as f32,
        }
    }
}

/// Where the light of a lamp comes from in the middle of the scene, and how much.
fn toward(lamp: &squall_render::film::Light, setup: &Setup) -> ([f64; 3], [f32; 3]) {
    let middle: [f64; 3] = std::array::from_fn(|a| setup.grid.origin[a] + 0.5 * setup.grid.size[a]);
    let (way, weaker) = match lamp.source {
        Source::Directional(towards) => (towards, 1.0),
        Source::Point(place) => {
            let way: [f64; 3] = std::array::from_fn(|a| place[a] - middle[a]);
            let square: f64 = way.iter().map(|v| v * v).sum();
            (way, 1.0 / square.max(1e-3))
        }
    };
    let length = way.iter().map(|v| v * v).sum::<f64>().sqrt();
    let way = if length > 1e-9 { way.map(|v| v / length) } else { [0.0, 1.0, 0.0] };
    (way, lamp.color.map(|c| c * lamp.intensity * weaker as f32))
}

/// What heat sends out, from cold to hot.
fn glow(style: &Style, is_hot: bool, dense: f32) -> [[f32; 3]; RAMP] {
    if !is_hot {
        return [[0.0; 3]; RAMP];
    }
    std::array::from_fn(|i| {
        let part = i as f32 / (RAMP - 1) as f32;
        match &style.glow.ramp {
            Ramp::Map(map) => map.at(part).map(|v| part * v * dense.max(style.glow.strength)),
            Ramp::Blackbody([cold, hot]) => {
                let kelvin = f64::from(cold + part * (hot - cold));
                blackbody(kelvin).map(|v| v * part.powi(4) * style.glow.strength)
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lattice() -> Lattice {
        Lattice { cells: [8, 10, 6], low: [0.0; 3], h: 0.1 }
    }

    #[test]
    fn light_is_what_the_law_of_lambert_and_beer_leaves() {
        let lattice = lattice();
        let depth = vec![0.3; lattice.len()];
        let light = lattice.light([0.0, 1.0, 0.0], &depth);
        // The cell three layers below the top lies behind three others.
        let at = |y: usize| light[3 + 8 * (y + 10 * 2)];
        assert_eq!(at(9), 1.0);
        assert!((at(6) - (-0.9f32).exp()).abs() < 1e-5, "{}", at(6));
        // From the side and from below: the first layer is lit, the last is not.
        let slanted = lattice.light([0.6, -0.8, 0.0], &depth);
        assert_eq!(slanted[3 + 8 * 10 * 2], 1.0);
        assert!(slanted[3 + 8 * (9 + 10 * 2)] < 0.3);
        assert!(slanted.iter().all(|v| (0.0..=1.0001).contains(v)));
    }

    #[test]
    fn means_keep_the_amount_of_a_volume() {
        let values: Vec<f32> = (0..16 * 16 * 16).map(|i| (i % 7) as f32).collect();
        let volume = Volume::from_dense([0.0; 3], 0.05, 0.0, [16, 16, 16], &values);
        let lattice = Lattice { cells: [8, 8, 8], low: [0.0; 3], h: 0.1 };
        let sum = |v: &[f32]| v.iter().map(|v| f64::from(*v)).sum::<f64>();
        let (fine, coarse) = (sum(&values) * 0.05f64.powi(3), sum(&lattice.means(&volume)) * 0.1f64.powi(3));
        assert!((fine / coarse - 1.0).abs() < 1e-5, "{fine} {coarse}");
    }

    #[test]
    fn distances_become_bytes_around_the_surface() {
        assert_eq!(distance_byte(0.0, 0.1), 128);
        assert!(distance_byte(-0.05, 0.1) > 128 && distance_byte(0.05, 0.1) < 128);
        assert_eq!([distance_byte(-9.0, 0.1), distance_byte(9.0, 0.1)], [255, 0]);
    }
}
