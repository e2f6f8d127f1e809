//! Transmittance from each light through the smoke.
//!
//! Light is followed from brick to brick, away from its source. Within a brick the optical depth between a node and the
//! face nearer to the light is summed up; what lies behind that face has been computed before and is looked up there:
//!
//! depth(x) = sum of (optical depth per cell) ds  up to the face  +  depth(where the line enters the next brick)
//!
//! Bricks are ordered by their Manhattan distance along the light, those of equal distance are independent of each
//! other. The cost grows with the amount of smoke and not with its depth, for distant lights and near ones alike, and a
//! shadow's edge is blurred by one interpolation per eight cells only.

use super::bricks::{BRICK, Bricks, LANES, Spots, split};
use super::index::Line;
use super::stage::go_on;
use super::style::{Ambient, Light, Source, Style};
use super::surface::Surfaces;
use super::vector::{Vec3, cross, unit};
use crate::plane::RenderError;
use rayon::prelude::*;
use squall_core::CancelToken;
use squall_core::sample::{Isa, Kernel};

/// Length of a step along a shadow, in cells.
const STEP: f32 = 1.0;

/// Light from several sources that reaches the nodes of every brick.
pub(super) struct LightGrid<const N: usize> {
    /// Nodes along each side of a brick.
    side: usize,
    /// How many channels are lamps; the others are the sky and light from below.
    lamps: usize,
    weights: [f32; OCTAVES],
    /// Of lamps the sixteenth root of what smoke leaves of them ([`powers`]), of the others what is left of them.
    nodes: Vec<[u16; N]>,
    /// What objects leave of lamps; none if there are no objects.
    past_objects: Vec<[u16; N]>,
}

/// Light that was scattered once, and more often in steps.
pub(super) const OCTAVES: usize = 3;

/// How much light there is of each octave: with full softness each has half of the one before (Wrenninge et al. 2013).
pub(super) fn octaves(softness: f32) -> [f32; OCTAVES] {
    let share = 0.5 * softness;
    let sum = 1.0 + share + share * share;
    [1.0 / sum, share / sum, share * share / sum]
}

/// What is left of each octave. Light that was scattered several times goes deeper: each octave is weakened by a quarter of the optical
/// depth that weakens the one before, so all are powers of one number.
#[inline(always)]
pub(super) fn powers(root: f32) -> [f32; OCTAVES] {
    let square = root * root;
    let fourth = square * square;
    let eighth = fourth * fourth;
    [eighth * eighth, fourth, root]
}

pub(super) fn root(depth: f32) -> f32 {
    (-depth / 16.0).exp()
}

pub(super) fn soften(weights: &[f32; OCTAVES], root: f32) -> f32 {
    powers(root).iter().zip(weights).map(|(left, weight)| weight * left).sum()
}

/// Where a light is, in cells.
#[derive(Clone, Copy)]
enum Towards {
    Direction([f32; 3]),
    Place([f32; 3]),
}

impl Towards {
    fn of(source: Source, bricks: &Bricks) -> Self {
        match source {
            Source::Directional(v) => Self::Direction(unit(v).unwrap_or([0.0, 1.0, 0.0]).map(|v| v as f32)),
            Source::Point(p) => Self::Place(bricks.local(p).map(|v| v as f32)),
        }
    }

    /// The way to the light, of length 1, and how long it is.
    #[inline(always)]
    fn from(&self, p: [f32; 3]) -> ([f32; 3], f32) {
        match *self {
            Self::Direction(direction) => (direction, f32::INFINITY),
            Self::Place(place) => {
                let way = [place[0] - p[0], place[1] - p[1], place[2] - p[2]];
                let length = (way[0] * way[0] + way[1] * way[1] + way[2] * way[2]).sqrt();
                let per = if length > 0.0 { 1.0 / length } else { 0.0 };
                ([way[0] * per, way[1] * per, way[2] * per], length)
            }
        }
    }

    /// The further along the light a brick lies, the smaller; a line towards the light goes to larger numbers only.
    fn order(&self, brick: [i32; 3]) -> i64 {
        let along = |a: usize| match *self {
            Self::Direction(d) => i64::from(brick[a]) * if d[a] == 0.0 { 0 } else { d[a].signum() as i64 },
            Self::Place(p) => -(i64::from(brick[a]) - (p[a] / BRICK as f32).floor() as i64).abs(),
        };
        along(0) + along(1) + along(2)
    }
}

/// The optical depth between every node and the light.
fn depths(bricks: &Bricks, towards: Towards, spacing: usize, cancel: &CancelToken) -> Result<Vec<f32>, RenderError> {
    let side = BRICK / spacing + 1;
    let count = side * side * side;
    let mut order: Vec<usize> = (0..bricks.places.len()).collect();
    let key = |b: usize| (-towards.order(bricks.places[b]), b);
    order.sort_unstable_by_key(|&b| key(b));
    let isa = Isa::best();
    let mut depths = vec![0.0; bricks.places.len() * count];
    for level in order.chunk_by(|&a, &b| key(a).0 == key(b).0) {
        go_on(cancel)?;
        let found: Vec<Vec<f32>> = level
            .par_iter()
            .map(|&brick| {
                let mut out = vec![0.0; count];
                isa.run(BrickDepths { bricks, towards, depths: &depths, side, spacing, brick, out: &mut out });
                out
            })
            .collect();
        for (&brick, found) in level.iter().zip(&found) {
            depths[brick * count..][..count].copy_from_slice(found);
        }
    }
    Ok(depths)
}

/// One brick of [`depths`].
struct BrickDepths<'a> {
    bricks: &'a Bricks,
    towards: Towards,
    depths: &'a [f32],
    side: usize,
    spacing: usize,
    brick: usize,
    out: &'a mut [f32],
}

impl Kernel for BrickDepths<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { bricks, towards, depths, side, spacing, brick, out } = self;
        let place = bricks.places[brick];
        let count = side * side * side;
        for (node, out) in out.iter_mut().enumerate() {
            let cell = [node % side, node / side % side, node / (side * side)];
            let (mut inside, mut p) = ([0.0; 3], [0.0; 3]);
            for a in 0..3 {
                inside[a] = (cell[a] * spacing) as f32;
                p[a] = (place[a] * BRICK as i32) as f32 + inside[a];
            }
            let (direction, far) = towards.from(p);
            let mut line = Line::new(p, direction, 0.0, far);
            let exit = line.exit(place, 1).0.max(0.0).min(far);
            let mut depth = 0.0;
            if exit > 0.0 && bricks.thickest(brick) > 0.0 {
                // Rounded up; a hair less, so that eight cells are eight steps.
                let steps = (exit * (0.9999 / STEP)) as u32 + 1;
                let length = exit / steps as f32;
                let mut first = 0;
                while first < steps {
                    let mut spots = [[0.0; LANES]; 3];
                    for l in 0..LANES {
                        let t = ((first + l as u32) as f32 + 0.5) * length;
                        for a in 0..3 {
                            spots[a][l] = inside[a] + direction[a] * t;
                        }
                    }
                    let here = bricks.depth(brick, &Spots::new(&spots));
                    for l in 0..LANES {
                        depth += if first + (l as u32) < steps { here[l] * length } else { 0.0 };
                    }
                    first += LANES as u32;
                }
            }
            if exit < far {
                line.enter = exit;
                let mut walk = bricks.index.walk(&line, Some(place));
                while let Some(next) = walk.next() {
                    if next.brick != brick {
                        let [before] = interpolate(
                            &depths[next.brick * count..][..count],
                            side,
                            line.within(next.place, next.from),
                        );
                        depth += before;
                        break;
                    }
                }
            }
            *out = depth;
        }
    }
}

/// What a node holds.
trait Node<const N: usize> {
    fn value(&self) -> [f32; N];
}

impl Node<1> for f32 {
    #[inline(always)]
    fn value(&self) -> [f32; 1] {
        [*self]
    }
}

impl<const N: usize> Node<N> for [u16; N] {
    #[inline(always)]
    fn value(&self) -> [f32; N] {
        let mut value = [0.0; N];
        for c in 0..N {
            value[c] = f32::from(self[c]);
        }
        value
    }
}

#[inline(always)]
fn lerp<const N: usize>(a: [f32; N], b: [f32; N], t: f32) -> [f32; N] {
    let mut between = [0.0; N];
    for c in 0..N {
        between[c] = a[c] + t * (b[c] - a[c]);
    }
    between
}

/// A value between the nodes of a brick; `p` runs from 0 to 8.
#[inline(always)]
fn interpolate<T: Node<N>, const N: usize>(nodes: &[T], side: usize, p: [f32; 3]) -> [f32; N] {
    let last = (side - 1) as f32;
    let scale = last * (1.0 / BRICK as f32);
    let (x, fx) = split(p[0] * scale, last);
    let (y, fy) = split(p[1] * scale, last);
    let (z, fz) = split(p[2] * scale, last);
    let first = x as usize + side * (y as usize + side * z as usize);
    let mut line = [[0.0; N]; 4];
    for (r, line) in line.iter_mut().enumerate() {
        let pair = &nodes[first + side * ((r & 1) + side * (r >> 1))..][..2];
        *line = lerp(pair[0].value(), pair[1].value(), fx);
    }
    lerp(lerp(line[0], line[1], fy), lerp(line[2], line[3], fy), fz)
}

/// How many small lights a large one is to smoke.
const AREA_PARTS: usize = 4;
/// Distant lights of more than this, half an angle in degrees, are large.
const LARGE: f64 = 3.0;

/// The small lights that a large one is made of: a ring at two thirds of its size.
fn parts(light: &Light, count: usize) -> Vec<Source> {
    let Source::Directional(towards) = light.source else { return vec![light.source] };
    if light.size <= LARGE || count < 2 {
        return vec![light.source];
    }
    let axis = unit(towards).unwrap_or([0.0, 1.0, 0.0]);
    let beside = if axis[1].abs() < 0.9 { [0.0, 1.0, 0.0] } else { [1.0, 0.0, 0.0] };
    let right = unit(cross(axis, beside)).unwrap_or([1.0, 0.0, 0.0]);
    let up = cross(axis, right);
    let tan = (light.size * 2.0 / 3.0).to_radians().tan();
    (0..count)
        .map(|k| {
            let (s, c) = (std::f64::consts::TAU * (k as f64 + 0.3) / count as f64).sin_cos();
            Source::Directional(std::array::from_fn(|a| axis[a] + tan * (c * right[a] + s * up[a])))
        })
        .collect()
}

/// The directions that the light of the sky comes from: straight above, and a ring around.
pub(super) fn sky_directions(count: usize) -> Vec<(Vec3, f32)> {
    let (sin, cos) = 50f64.to_radians().sin_cos();
    let ring = (1..count).map(|k| {
        // Off the axes, so that no direction is special.
        let (s, c) = (std::f64::consts::TAU * (k as f64 + 0.37) / (count - 1) as f64).sin_cos();
        ([c * sin, cos, s * sin], cos as f32)
    });
    std::iter::once(([0.0, 1.0, 0.0], 1.0)).chain(ring).collect()
}

impl<const N: usize> LightGrid<N> {
    /// The lights of the style, in order; then the sky; then light from below.
    pub fn new(
        bricks: &Bricks,
        surfaces: &Surfaces<'_>,
        style: &Style,
        spacing: usize,
        sky_from: usize,
        cancel: &CancelToken,
    ) -> Result<LightGrid<N>, RenderError> {
        let side = BRICK / spacing + 1;
        let count = side * side * side;
        let weights = octaves(style.scatter.softness);
        let nodes = || vec![[0; N]; bricks.places.len() * count];
        let past_objects = if surfaces.is_empty() { Vec::new() } else { nodes() };
        let mut grid = Self { side, lamps: style.lights.len(), weights, nodes: nodes(), past_objects };
        for (channel, light) in style.lights.iter().enumerate() {
            // A large light is several small ones. Of what reaches a place from each the mean root is kept: exact where all are alike.
            let parts = parts(light, if sky_from > 1 { AREA_PARTS } else { 1 });
            let mut mean = vec![0.0f32; bricks.places.len() * count];
            for part in &parts {
                let depth = depths(bricks, Towards::of(*part, bricks), spacing, cancel)?;
                let share = 1.0 / parts.len() as f32;
                mean.par_iter_mut().zip(&depth).for_each(|(mean, depth)| *mean += share * root(*depth));
            }
            fill(&mut grid.nodes, count, channel, |brick, node| mean[brick * count + node]);
            fill(&mut grid.past_objects, count, channel, |brick, node| {
                let cell = [node % side, node / side % side, node / (side * side)].map(|i| i * spacing);
                light_past(surfaces, light, bricks.world(brick, cell))
            });
        }
        let Ambient { occlusion, .. } = style.ambient;
        for (channel, directions) in
            [(style.lights.len(), sky_directions(sky_from)), (style.lights.len() + 1, vec![([0.0, -1.0, 0.0], 1.0)])]
        {
            let whole: f32 = directions.iter().map(|d| d.1).sum();
            let mut open = vec![0.0f32; bricks.places.len() * count];
            for (direction, weight) in directions {
                let towards = Towards::Direction(direction.map(|v| v as f32));
                let depth = depths(bricks, towards, spacing, cancel)?;
                let add = |(open, depth): (&mut f32, &f32)| *open += weight / whole * soften(&weights, root(*depth));
                open.par_iter_mut().zip(&depth).for_each(add);
            }
            fill(&mut grid.nodes, count, channel, |brick, node| 1.0 - occlusion * (1.0 - open[brick * count + node]));
        }
        Ok(grid)
    }

    /// What the grid holds at a place within a brick, and what objects leave of each light; `p` runs from 0 to 8.
    #[inline(always)]
    pub fn at(&self, brick: usize, p: [f32; 3]) -> ([f32; N], [f32; N]) {
        let count = self.side * self.side * self.side;
        let value = |nodes: &[[u16; N]]| {
            let mut light: [f32; N] = interpolate(&nodes[brick * count..][..count], self.side, p);
            for light in &mut light {
                *light *= 1.0 / 65535.0;
            }
            light
        };
        let past = if self.past_objects.is_empty() { [1.0; N] } else { value(&self.past_objects) };
        (value(&self.nodes), past)
    }

    /// How much of the light of one channel is left after the smoke between `x` (in metres, anywhere) and that light.
    pub fn past_smoke(&self, bricks: &Bricks, channel: usize, x: Vec3, direction: Vec3, far: f64) -> f32 {
        let Some(line) = bricks.line(x, direction, far) else { return 1.0 };
        let Some(first) = bricks.index.walk(&line, None).next() else { return 1.0 };
        let (held, past) = self.at(first.brick, line.within(first.place, first.from));
        if channel < self.lamps { soften(&self.weights, held[channel]) * past[channel] } else { held[channel] }
    }

    /// Bytes in use.
    pub fn memory(&self) -> usize {
        2 * N * (self.nodes.len() + self.past_objects.len())
    }
}

fn fill<const N: usize>(
    nodes: &mut [[u16; N]],
    count: usize,
    channel: usize,
    light: impl Fn(usize, usize) -> f32 + Sync,
) {
    nodes.par_chunks_mut(count).enumerate().for_each(|(brick, nodes)| {
        for (node, out) in nodes.iter_mut().enumerate() {
            out[channel] = (light(brick, node) * 65535.0 + 0.5) as u16;
        }
    });
}

/// How much of a light passes the objects on its way to a place in the smoke. Inside of an object, that of the nearest
/// place outside counts: smoke that touches a lit surface must not be darkened by what lies behind it.
fn light_past(surfaces: &Surfaces<'_>, light: &Light, x: Vec3) -> f32 {
    let x = surfaces.outside(x);
    let (direction, far, _) = light.at(x);
    surfaces.light_past(x, direction, far, light.spread(far))
}
