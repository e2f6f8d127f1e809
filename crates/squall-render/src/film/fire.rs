//! Light of fire on smoke, objects and the ground.
//!
//! What glows in a brick is one lamp, in the middle of its light; where there are many, neighbours are joined. To smoke there are
//! some dozens of them, to surfaces, which look for shadows of objects, a few. A lamp of the power `P = sum(e dV)` gives
//!
//! light = P / (pi (r² + R²)) times what smoke leaves of it
//!
//! at the distance `r`, with its own size `R`; `e` is the light sent out per metre. The smoke between is that of the bricks on the way,
//! each as thick as it is in the mean.

use super::bricks::{BRICK, Bricks, LANES, Spots};
use super::ramp::Emission;
use super::shadow::{OCTAVES, octaves, root, soften};
use super::style::{Light, Source, Style};
use super::vector::Vec3;
use crate::color::Rgb;
use rayon::prelude::*;
use std::f64::consts::PI;

/// The most lamps that light smoke, and surfaces.
const FOR_SMOKE: usize = 48;
const FOR_SURFACES: usize = 4;

/// Samples along each side of a brick.
const SAMPLES: usize = 4;

/// What fire lights.
pub(super) struct Fire {
    /// Lamps for surfaces.
    pub lamps: Vec<Light>,
    /// Light at the eight corners of every brick; the fourth number is nothing.
    corners: Vec<[[f32; 4]; 8]>,
    /// The mean optical depth per cell of every brick.
    thickness: Vec<f32>,
    weights: [f32; OCTAVES],
}

/// Something that glows.
#[derive(Clone, Copy)]
struct Lamp {
    /// In cells.
    place: [f64; 3],
    /// Per metre, times cubic metres.
    power: [f64; 3],
    brick: [i32; 3],
    /// Bricks along its side.
    side: i32,
}

impl Lamp {
    fn light(&self) -> f64 {
        self.power.iter().sum()
    }
}

impl Fire {
    /// `None` if nothing glows, or if fire is to light nothing.
    pub fn new(bricks: &Bricks, emission: &Emission, style: &Style) -> Option<Self> {
        if style.glow.light <= 0.0 {
            return None;
        }
        let looks: Vec<(f32, Option<Lamp>)> = (0..bricks.places.len())
            .into_par_iter()
            .map(|brick| look(bricks, emission, brick, f64::from(style.glow.light)))
            .collect();
        let found: Vec<Lamp> = looks.iter().filter_map(|look| look.1).collect();
        if found.is_empty() {
            return None;
        }
        let thickness = looks.iter().map(|look| look.0).collect();
        let weights = octaves(style.scatter.softness);
        let h = bricks.spacing;
        let surface_light = |lamp: &Lamp| Light {
            source: Source::Point(bricks.place(lamp.place.map(|v| v as f32))),
            color: lamp.power.map(|p| (p / PI) as f32),
            intensity: 1.0,
            size: lamp.radius() * h,
        };
        let lamps = joined(found.clone(), FOR_SURFACES).iter().map(surface_light).collect();
        let mut fire = Fire { lamps, corners: Vec::new(), thickness, weights };
        let lamps = joined(found, FOR_SMOKE);

        // Neighbours share corners.
        let corners_of = |place: &[i32; 3]| {
            let place = *place;
            (0..8usize).map(move |c| -> [i32; 3] { std::array::from_fn(|a| place[a] + (c >> a & 1) as i32) })
        };
        let mut places: Vec<[i32; 3]> = bricks.places.iter().flat_map(corners_of).collect();
        places.sort_unstable();
        places.dedup();
        let light_at = |corner: &[i32; 3]| {
            let x = corner.map(|c| f64::from(c) * BRICK as f64);
            let mut light = [0.0f32; 4];
            for lamp in &lamps {
                let way: [f64; 3] = std::array::from_fn(|a| lamp.place[a] - x[a]);
                let squared = way.iter().map(|v| v * v).sum::<f64>();
                let near = (squared + lamp.radius().powi(2)) * h * h;
                let left = fire.past_smoke(bricks, x.map(|v| v as f32), way, squared.sqrt());
                (0..3).for_each(|c| light[c] += (lamp.power[c] / (PI * near)) as f32 * left);
            }
            light
        };
        let lit: Vec<[f32; 4]> = places.par_iter().map(light_at).collect();
        let found = |corner| places.binary_search(&corner).map_or([0.0; 4], |i| lit[i]);
        fire.corners = bricks
            .places
            .iter()
            .map(|place| {
                let mut corners = [[0.0; 4]; 8];
                corners.iter_mut().zip(corners_of(place)).for_each(|(light, corner)| *light = found(corner));
                corners
            })
            .collect();
        Some(fire)
    }

    /// The light at a place within a brick; `p` runs from 0 to 8.
    #[inline(always)]
    pub fn at(&self, brick: usize, p: [f32; 3]) -> [f32; 4] {
        let mut corner = self.corners[brick];
        for a in 0..3 {
            let t = p[a] * (1.0 / BRICK as f32);
            for c in 0..4 >> a {
                for k in 0..4 {
                    corner[c][k] = corner[2 * c][k] + t * (corner[2 * c + 1][k] - corner[2 * c][k]);
                }
            }
        }
        corner[0]
    }

    /// How much of the light of a lamp of [`Self::lamps`] gets through the smoke to a place, in metres.
    pub fn past_smoke_to(&self, bricks: &Bricks, x: Vec3, direction: Vec3, far: f64) -> f32 {
        self.past_smoke(bricks, bricks.local(x).map(|v| v as f32), direction, far / bricks.spacing)
    }

    /// How much light gets through the smoke from a place, in cells, along a way of some length.
    fn past_smoke(&self, bricks: &Bricks, from: [f32; 3], way: [f64; 3], length: f64) -> f32 {
        let norm = way.iter().map(|v| v * v).sum::<f64>().sqrt();
        if norm <= 0.0 {
            return 1.0;
        }
        let Some(line) = bricks.line(bricks.place(from), way.map(|v| v / norm), length * bricks.spacing) else {
            return 1.0;
        };
        let mut depth = 0.0;
        let mut walk = bricks.index.walk(&line, None);
        while let Some(crossing) = walk.next() {
            depth += self.thickness[crossing.brick] * (crossing.to - crossing.from);
        }
        soften(&self.weights, root(depth))
    }

    /// Bytes in use.
    pub fn memory(&self) -> usize {
        128 * self.corners.len() + 4 * self.thickness.len()
    }
}

impl Lamp {
    /// How large it is, in cells.
    fn radius(&self) -> f64 {
        0.5 * f64::from(self.side) * BRICK as f64
    }
}

/// How thick a brick is, and what glows in it.
fn look(bricks: &Bricks, emission: &Emission, brick: usize, strength: f64) -> (f32, Option<Lamp>) {
    let apart = BRICK as f32 / SAMPLES as f32;
    let volume = (f64::from(apart) * bricks.spacing).powi(3) * strength;
    let low = bricks.places[brick].map(|v| f64::from(v) * BRICK as f64);
    let (mut thick, mut power, mut moment) = (0.0, [0.0f64; 3], [0.0f64; 3]);
    for first in (0..SAMPLES * SAMPLES * SAMPLES).step_by(LANES) {
        let mut p = [[0.0; LANES]; 3];
        for l in 0..LANES {
            let i = first + l;
            let cell = [i % SAMPLES, i / SAMPLES % SAMPLES, i / (SAMPLES * SAMPLES)];
            (0..3).for_each(|a| p[a][l] = (cell[a] as f32 + 0.5) * apart);
        }
        let spots = Spots::new(&p);
        thick += bricks.depth(brick, &spots).iter().sum::<f32>();
        let Some(heat) = bricks.heat(brick, &spots) else { continue };
        for l in 0..LANES {
            let sent: Rgb = emission.at(heat[l]);
            (0..3).for_each(|c| power[c] += volume * f64::from(sent[c]));
            let light = volume * sent.iter().map(|&v| f64::from(v)).sum::<f64>();
            (0..3).for_each(|a| moment[a] += light * (low[a] + f64::from(p[a][l])));
        }
    }
    let light = power.iter().sum::<f64>();
    let lamp = Lamp { place: moment.map(|m| m / light), power, brick: bricks.places[brick], side: 1 };
    (thick / (SAMPLES * SAMPLES * SAMPLES) as f32, (light > 0.0).then_some(lamp))
}

/// The same light from at most `most` lamps: those of neighbouring bricks are joined.
fn joined(mut lamps: Vec<Lamp>, most: usize) -> Vec<Lamp> {
    while lamps.len() > most {
        lamps.iter_mut().for_each(|lamp| {
            lamp.brick = lamp.brick.map(|b| b >> 1);
            lamp.side *= 2;
        });
        lamps.sort_by_key(|lamp| lamp.brick);
        let join = |group: &[Lamp]| {
            let sum = |part: &dyn Fn(&Lamp) -> f64| group.iter().map(part).sum::<f64>();
            let light = sum(&Lamp::light);
            Lamp {
                place: std::array::from_fn(|a| sum(&|lamp| lamp.light() * lamp.place[a]) / light),
                power: std::array::from_fn(|c| sum(&|lamp| lamp.power[c])),
                ..group[0]
            }
        };
        lamps = lamps.chunk_by(|a, b| a.brick == b.brick).map(join).collect();
    }
    lamps
}
