//! The surface of a liquid for ray casting.
//!
//! Only bricks through which the surface goes hold values; of all others it is known on which side they lie, and rays
//! leap over them. A brick has two copies of its values, both in cells:
//!
//! * `nodes`, 9³: the cubic B-spline at the centres of cells, along each axis `(v[i-1] + 4 v[i] + v[i+1]) / 6`, for
//!   rays to step through with linear interpolation;
//! * `raw`, 11³: the distances themselves, whose cubic B-spline gives normals that bend evenly across cells. Normals
//!   that are only continuous would draw the lattice of cells into every reflection.
//!
//! Coordinates are in cells, 0 at the centre of the lowest cell of the lowest brick, as in `bricks`.

use super::bricks::BRICK;
use super::stage::go_on;
use super::vector::{Vec3, along, clip, scale, smoothstep, sub, unit};
use crate::plane::RenderError;
use rayon::prelude::*;
use squall_core::volume::BLOCK_CELLS;
use squall_core::{CancelToken, Volume};

const SIDE: usize = BRICK + 1;
const NODES: usize = SIDE * SIDE * SIDE;
/// Values along each side of a brick with one more cell all around.
const WIDE: usize = BRICK + 3;
const RAW: usize = WIDE * WIDE * WIDE;

/// More bricks than this (64 MB) are refused.
const MOST_BRICKS: u64 = 1 << 24;

const OUTSIDE: u32 = u32::MAX;
const INSIDE: u32 = u32::MAX - 1;

/// The distance of cells that are not stored: liquid that ends with its blocks ends half a cell behind its last cell.
const MISSING: f32 = 0.5;
/// Distances further away are cut off.
const FAR: f32 = 4.0;
/// How far from the surface distances are known at least: those of particles end there.
const KNOWN: f32 = 1.4;
/// The shortest and the longest step of a ray near the surface.
const STEPS: [f32; 2] = [0.25, 2.0];
/// A ray that starts on the surface does not look for it again before this.
const LEAVES: f32 = 0.1;
/// Up to here it takes steps of the second length at most: what it has entered may be a sheet thinner than a cell.
const CAREFUL: [f32; 2] = [0.6, 0.2];
/// A ray that has not come to its side of the surface by then has changed sides again, where it began: a sheet that is thinner still.
const GIVES_UP: f32 = 1.0;

/// The surface of a liquid.
pub(super) struct Levels {
    /// In metres: where coordinate 0 is, and the side of a cell.
    origin: Vec3,
    pub spacing: f64,
    /// Bricks along each axis.
    size: [i32; 3],
    /// For each brick of the box, where its values are, or on which side it lies.
    bricks: Vec<u32>,
    nodes: Vec<f32>,
    raw: Vec<f32>,
    /// A box around the surface, in metres.
    pub low: Vec3,
    pub high: Vec3,
}

/// What one brick of the box turns out to be.
enum Brick {
    Side(u32),
    Surface(Box<([f32; NODES], [f32; RAW])>),
}

impl Levels {
    /// `None` if there is no surface.
    pub fn new(distance: &Volume, cancel: &CancelToken) -> Result<Option<Self>, RenderError> {
        let Some((low, high)) = distance.bounds() else { return Ok(None) };
        let side = BRICK as i32;
        // The lowest cells of a block are the highest nodes of the brick below it.
        let lowest = low.map(|v| v / side - 1);
        let size: [i32; 3] = std::array::from_fn(|a| high[a] / side - lowest[a]);
        let count = size.iter().try_fold(1u64, |count, &n| count.checked_mul(n as u64)).unwrap_or(u64::MAX);
        if count > MOST_BRICKS {
            return Err(RenderError::Spread { cells: size.map(|n| n as usize * BRICK) });
        }
        let place = |i: usize| unflat(i, size);
        let found = (0..count as usize).into_par_iter().map(|i| {
            go_on(cancel)?;
            Ok(brick(distance, add(lowest, place(i))))
        });
        let found = found.collect::<Result<Vec<Brick>, RenderError>>()?;
        let mut levels = Self {
            origin: std::array::from_fn(|a| {
                distance.origin[a] + (f64::from(lowest[a] * side) + 0.5) * distance.spacing
            }),
            spacing: distance.spacing,
            size,
            bricks: Vec::with_capacity(found.len()),
            nodes: Vec::new(),
            raw: Vec::new(),
            low: [f64::INFINITY; 3],
            high: [f64::NEG_INFINITY; 3],
        };
        for (i, found) in found.into_iter().enumerate() {
            match found {
                Brick::Side(side) => levels.bricks.push(side),
                Brick::Surface(values) => {
                    levels.bricks.push((levels.nodes.len() / NODES) as u32);
                    levels.nodes.extend_from_slice(&values.0);
                    levels.raw.extend_from_slice(&values.1);
                    levels.enclose(place(i), &values.0);
                }
            }
        }
        Ok((!levels.nodes.is_empty()).then_some(levels))
    }

    /// Widens the box by the cells of a brick that have liquid, and one more.
    fn enclose(&mut self, place: [i32; 3], nodes: &[f32; NODES]) {
        for (i, _) in nodes.iter().enumerate().filter(|v| *v.1 < 0.0) {
            let at = [i % SIDE, i / SIDE % SIDE, i / (SIDE * SIDE)];
            for a in 0..3 {
                let x = f64::from(place[a] * BRICK as i32) + at[a] as f64;
                self.low[a] = self.low[a].min(self.origin[a] + (x - 1.0) * self.spacing);
                self.high[a] = self.high[a].max(self.origin[a] + (x + 1.0) * self.spacing);
            }
        }
    }

    /// Bytes in use.
    pub fn memory(&self) -> usize {
        4 * (self.bricks.len() + self.nodes.len() + self.raw.len())
    }

    /// From metres to cells.
    fn local(&self, x: Vec3) -> Vec3 {
        scale(sub(x, self.origin), 1.0 / self.spacing)
    }

    /// Whether a place, in metres, is in the liquid.
    pub fn inside(&self, x: Vec3) -> bool {
        self.phi(self.local(x).map(|v| v as f32)) < 0.0
    }

    /// Metres to the surface at a place, negative inside; right up to some cells from it, and no more than [`FAR`] cells.
    pub fn distance(&self, x: Vec3) -> f64 {
        f64::from(self.phi(self.local(x).map(|v| v as f32))) * self.spacing
    }

    /// The direction away from the liquid by differences over `step` metres, where [`Self::normal`] knows none.
    pub fn slope(&self, x: Vec3, step: f64) -> Option<Vec3> {
        unit(std::array::from_fn(|a| {
            let shifted = |by: f64| std::array::from_fn(|i| x[i] + if i == a { by } else { 0.0 });
            self.distance(shifted(step)) - self.distance(shifted(-step))
        }))
    }

    /// How much light passes the liquid, taken for opaque, on its way from direction `to` and distance `far`, from 0 to 1. `spread` is the
    /// tangent of half the angle of the light: what misses the surface by less than that is in half shadow.
    pub fn light_past(&self, x: Vec3, to: Vec3, far: f64, spread: f64) -> f32 {
        let high = self.size.map(|n| f64::from(n * BRICK as i32));
        let from = self.local(x);
        let Some((enter, leave)) = clip(from, to, [0.0; 3], high) else { return 1.0 };
        let (enter, leave) = (enter.max(0.0), leave.min(far / self.spacing));
        let start: [f32; 3] = std::array::from_fn(|a| (from[a] + enter * to[a]) as f32);
        let d = to.map(|v| v as f32);
        let (mut t, end) = (0.0f32, (leave - enter) as f32);
        let mut light = 1.0f32;
        while t < end && light > 0.0 {
            let p: [f32; 3] = std::array::from_fn(|a| start[a] + d[a] * t);
            let (slot, place, within) = self.find(p);
            match slot {
                OUTSIDE => t = exit(p, d, place, t),
                INSIDE => return 0.0,
                slot => {
                    let value = self.linear(slot, within);
                    // Further away distances are not known: no shadow is softer than that.
                    let soft = ((enter as f32 + t) * spread as f32).clamp(0.3, KNOWN);
                    light = light.min(0.5 + 0.5 * value / soft);
                    t += (0.7 * value.abs()).clamp(STEPS[0], STEPS[1]);
                }
            }
        }
        smoothstep(0.0, 1.0, f64::from(light)) as f32
    }

    /// How open the half space above a place is, from 0 to 1, as far as distances are known.
    pub fn openness(&self, x: Vec3, normal: Vec3) -> f32 {
        let (mut covered, mut weight) = (0.0, 1.0);
        for k in 1..=4 {
            let t = 0.25 * f64::from(k) * f64::from(KNOWN);
            let found = self.distance(along(x, normal, t * self.spacing)) / self.spacing;
            covered += weight * (t - found.clamp(0.0, t)) / t;
            weight *= 0.65;
        }
        (1.0 - 0.45 * covered).clamp(0.0, 1.0) as f32
    }

    /// The brick at a place, in cells, and the place within it.
    #[inline(always)]
    fn find(&self, p: [f32; 3]) -> (u32, [i32; 3], [f32; 3]) {
        let (mut place, mut within) = ([0; 3], [0.0; 3]);
        for a in 0..3 {
            place[a] = (p[a] * (1.0 / BRICK as f32)).floor() as i32;
            if place[a] < 0 || place[a] >= self.size[a] {
                return (OUTSIDE, place, within);
            }
            within[a] = p[a] - (place[a] * BRICK as i32) as f32;
        }
        let i = place[0] + self.size[0] * (place[1] + self.size[1] * place[2]);
        (self.bricks[i as usize], place, within)
    }

    /// Linear between the nodes of a brick.
    #[inline(always)]
    fn linear(&self, slot: u32, p: [f32; 3]) -> f32 {
        let nodes = &self.nodes[slot as usize * NODES..][..NODES];
        let (mut cell, mut f) = ([0; 3], [0.0; 3]);
        for a in 0..3 {
            cell[a] = (p[a] as usize).min(BRICK - 1);
            f[a] = p[a] - cell[a] as f32;
        }
        let first = cell[0] + SIDE * (cell[1] + SIDE * cell[2]);
        let row = |skip: usize| {
            let pair = &nodes[first + skip..][..2];
            pair[0] + f[0] * (pair[1] - pair[0])
        };
        let (a, b) = (row(0), row(SIDE));
        let (c, d) = (row(SIDE * SIDE), row(SIDE * SIDE + SIDE));
        let (near, far) = (a + f[1] * (b - a), c + f[1] * (d - c));
        near + f[2] * (far - near)
    }

    /// The distance at a place in cells; away from the surface, only its sign.
    fn phi(&self, p: [f32; 3]) -> f32 {
        match self.find(p) {
            (OUTSIDE, ..) => FAR,
            (INSIDE, ..) => -FAR,
            (slot, _, within) => self.linear(slot, within),
        }
    }

    /// Where a ray that is `inside` of the liquid or not changes sides, in metres. `leaving`: it starts on the surface.
    pub fn crossing(&self, origin: Vec3, direction: Vec3, inside: bool, leaving: bool, far: f64) -> Option<f64> {
        let high = self.size.map(|n| f64::from(n * BRICK as i32));
        let from = self.local(origin);
        let (enter, leave) = clip(from, direction, [0.0; 3], high)?;
        let (enter, leave) = (enter.max(0.0), leave.min(far / self.spacing));
        if leave <= enter {
            return None;
        }
        // From here on in single precision, counted from where the box begins.
        let start: [f32; 3] = std::array::from_fn(|a| (from[a] + enter * direction[a]) as f32);
        let d = direction.map(|v| v as f32);
        let at = |t: f32| -> [f32; 3] { std::array::from_fn(|a| start[a] + d[a] * t) };
        let side = if inside { -1.0 } else { 1.0 };
        let end = (leave - enter) as f32;
        let first = if leaving { LEAVES } else { 0.0 };
        let (mut t, mut before, mut astray) = (first, None, false);
        while t < end {
            let p = at(t);
            let (slot, place, within) = self.find(p);
            let (value, next) = match slot {
                OUTSIDE => (FAR, exit(p, d, place, t)),
                INSIDE => (-FAR, exit(p, d, place, t)),
                slot => {
                    let value = self.linear(slot, within);
                    let step = (0.85 * value.abs()).clamp(STEPS[0], STEPS[1]);
                    (value, t + if leaving && t < CAREFUL[0] { step.min(CAREFUL[1]) } else { step })
                }
            };
            if value * side >= 0.0 {
                before = Some((t, value));
            } else if let Some(before) = before {
                let t = self.between(&at, before, (t, value));
                return Some((enter + f64::from(t)) * self.spacing);
            } else {
                astray = true;
                if t - first > GIVES_UP {
                    break;
                }
            }
            t = next;
        }
        // Never on its side: it has changed sides where it began.
        (astray && before.is_none()).then(|| (enter + f64::from(first)) * self.spacing)
    }

    /// The surface between two places on its two sides: by the secant, kept between them.
    fn between(&self, at: &impl Fn(f32) -> [f32; 3], mut a: (f32, f32), mut b: (f32, f32)) -> f32 {
        for _ in 0..4 {
            // Not too close to either end, or one of them would never move.
            let share = (a.1 / (a.1 - b.1)).clamp(0.05, 0.95);
            let t = a.0 + share * (b.0 - a.0);
            let value = self.phi(at(t));
            if (value < 0.0) == (a.1 < 0.0) { a = (t, value) } else { b = (t, value) }
        }
        let share = if a.1 == b.1 { 0.5 } else { (a.1 / (a.1 - b.1)).clamp(0.0, 1.0) };
        a.0 + share * (b.0 - a.0)
    }

    /// The direction out of the liquid at a place near its surface, in metres; of length 1.
    pub fn normal(&self, x: Vec3) -> Option<Vec3> {
        let (slot, _, p) = self.find(self.local(x).map(|v| v as f32));
        if slot >= INSIDE {
            return None;
        }
        let raw = &self.raw[slot as usize * RAW..][..RAW];
        let (mut first, mut w, mut slope) = (0, [[0.0; 4]; 3], [[0.0; 4]; 3]);
        let mut stride = 1;
        for a in 0..3 {
            let cell = (p[a] as usize).min(BRICK - 1);
            (w[a], slope[a]) = spline(p[a] - cell as f32);
            first += cell * stride;
            stride *= WIDE;
        }
        let mut sum = [0.0f32; 3];
        for z in 0..4 {
            for y in 0..4 {
                let row = &raw[first + WIDE * (y + WIDE * z)..][..4];
                let (mut value, mut along) = (0.0, 0.0);
                for x in 0..4 {
                    value += w[0][x] * row[x];
                    along += slope[0][x] * row[x];
                }
                sum[0] += w[1][y] * w[2][z] * along;
                sum[1] += slope[1][y] * w[2][z] * value;
                sum[2] += w[1][y] * slope[2][z] * value;
            }
        }
        unit(sum.map(f64::from))
    }
}

/// The weights of the four nearest values in a cubic B-spline, and their slopes; `f` runs from 0 to 1.
#[inline(always)]
fn spline(f: f32) -> ([f32; 4], [f32; 4]) {
    let g = 1.0 - f;
    let w = [
        g * g * g * (1.0 / 6.0),
        2.0 / 3.0 - f * f * (1.0 - 0.5 * f),
        2.0 / 3.0 - g * g * (1.0 - 0.5 * g),
        f * f * f * (1.0 / 6.0),
    ];
    (w, [-0.5 * g * g, f * (1.5 * f - 2.0), g * (2.0 - 1.5 * g), 0.5 * f * f])
}

/// When a ray has left a brick, a hair behind its side.
fn exit(p: [f32; 3], d: [f32; 3], place: [i32; 3], t: f32) -> f32 {
    let mut least = f32::INFINITY;
    for a in 0..3 {
        if d[a] != 0.0 {
            let face = ((place[a] + i32::from(d[a] > 0.0)) * BRICK as i32) as f32;
            least = least.min((face - p[a]) / d[a]);
        }
    }
    t + least.max(0.0) + 1e-3
}

fn add(a: [i32; 3], b: [i32; 3]) -> [i32; 3] {
    std::array::from_fn(|i| a[i] + b[i])
}

fn unflat(i: usize, size: [i32; 3]) -> [i32; 3] {
    let n = size.map(|n| n as usize);
    [i % n[0], i / n[0] % n[1], i / (n[0] * n[1])].map(|v| v as i32)
}

/// The values around one brick, and whether the surface goes through it.
fn brick(distance: &Volume, place: [i32; 3]) -> Brick {
    let blocks: [Option<&[f32]>; 27] = std::array::from_fn(|i| {
        let block = add(place, [i % 3, i / 3 % 3, i / 9].map(|v| v as i32 - 1));
        distance.blocks.binary_search(&block).ok().map(|b| distance.block(b))
    });
    if blocks.iter().all(|block| block.is_none()) {
        return Brick::Side(OUTSIDE);
    }
    // From -1 to 9: the block below, this one, and the one above, and where in them.
    let split: [(usize, usize); WIDE] = std::array::from_fn(|i| i + BRICK - 1).map(|i| (i / BRICK, i % BRICK));
    let per_cell = (1.0 / distance.spacing) as f32;
    let mut raw = [MISSING; RAW];
    let mut out = raw.iter_mut();
    for z in split {
        for y in split {
            for (x, out) in split.iter().zip(&mut out) {
                let Some(block) = blocks[x.0 + 3 * (y.0 + 3 * z.0)] else { continue };
                debug_assert_eq!(block.len(), BLOCK_CELLS);
                let value = block[x.1 + BRICK * (y.1 + BRICK * z.1)] * per_cell;
                *out = if value.is_nan() { MISSING } else { value.clamp(-FAR, FAR) };
            }
        }
    }
    if raw.iter().all(|&v| v >= 0.0) {
        return Brick::Side(OUTSIDE);
    }
    if raw.iter().all(|&v| v < 0.0) {
        return Brick::Side(INSIDE);
    }
    let nodes = smooth(&raw);
    match (nodes.iter().any(|&v| v < 0.0), nodes.iter().any(|&v| v >= 0.0)) {
        (true, true) => Brick::Surface(Box::new((nodes, raw))),
        (true, false) => Brick::Side(INSIDE),
        (false, _) => Brick::Side(OUTSIDE),
    }
}

/// The cubic B-spline at the nodes, one axis after the other.
fn smooth(raw: &[f32; RAW]) -> [f32; NODES] {
    let mut values = *raw;
    for stride in [1, WIDE, WIDE * WIDE] {
        let before = values;
        for i in stride..RAW - stride {
            values[i] = (before[i - stride] + 4.0 * before[i] + before[i + stride]) * (1.0 / 6.0);
        }
    }
    std::array::from_fn(|i| {
        let at = [i % SIDE, i / SIDE % SIDE, i / (SIDE * SIDE)].map(|v| v + 1);
        values[at[0] + WIDE * (at[1] + WIDE * at[2])]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::film::vector::{dot, length};

    /// Liquid whose distance depends on that from the middle, both in cells.
    fn round(distance: impl Fn(f32) -> f32) -> Levels {
        let at = |i: usize| [i % 40, i / 40 % 40, i / 1600].map(|v| v as f32 - 19.5);
        let distance = |[x, y, z]: [f32; 3]| 0.1 * distance((x * x + y * y + z * z).sqrt());
        let values: Vec<f32> = (0..64_000).map(|i| distance(at(i))).collect();
        let volume = Volume::from_dense([-2.0; 3], 0.1, 1.0, [40; 3], &values);
        Levels::new(&volume, &CancelToken::default()).unwrap().unwrap()
    }

    #[test]
    fn rays_enter_and_leave_a_ball_where_it_is_with_the_normals_of_a_ball() {
        let ball = round(|r| r - 12.0);
        for k in 0..60 {
            let angle = 0.1 * f64::from(k);
            let target = [0.4 * angle.sin(), 0.3 * angle.cos(), 0.2];
            let origin = [5.0 * angle.cos(), 2.0 * angle.sin(), 5.0 * angle.sin()];
            let direction = unit(sub(target, origin)).unwrap();
            let enter = ball.crossing(origin, direction, false, false, f64::INFINITY).unwrap();
            let x = along(origin, direction, enter);
            // The spline shrinks a ball by a third of a cell over its radius in cells.
            assert!((length(x) - 1.197).abs() < 0.004, "{}", length(x));
            assert!(dot(ball.normal(x).unwrap(), unit(x).unwrap()) > 0.9999);
            let leave = ball.crossing(x, direction, true, true, f64::INFINITY).unwrap();
            let y = along(x, direction, leave);
            assert!((length(y) - 1.197).abs() < 0.004 && leave > 1.0, "{}", length(y));
            assert_eq!(ball.crossing(y, direction, false, true, f64::INFINITY), None);
            assert!(ball.inside([0.0; 3]) && !ball.inside(origin) && !ball.inside([1.25, 0.0, 0.0]));
        }
        let (low, high) = (ball.low, ball.high);
        assert!((0..3).all(|a| low[a] < -1.2 && low[a] > -1.4 && high[a] > 1.2 && high[a] < 1.4), "{low:?} {high:?}");
    }

    #[test]
    fn rays_leave_a_sheet_thinner_than_a_cell_behind_it() {
        // A bubble in a skin of a cell, of which the spline leaves half or less.
        let skin = round(|r| (r - 12.0).abs() - 0.5);
        let mut met = 0;
        for k in 0..400 {
            let angle = 0.1 * f64::from(k);
            let origin = [5.0 * angle.cos(), 2.0 * angle.sin(), 5.0 * (0.7 * angle).sin()];
            let direction = unit(sub([0.02 * angle.sin(), 0.0, 0.02], origin)).unwrap();
            let Some(enter) = skin.crossing(origin, direction, false, false, f64::INFINITY) else { continue };
            let x = along(origin, direction, enter);
            let leave = skin.crossing(x, direction, true, true, f64::INFINITY).unwrap();
            // Not some cells behind it, where other normals would bend the ray.
            assert!(leave < 0.1, "ray {k} is in the skin for {leave} m of 0.1");
            met += 1;
        }
        assert!(met > 50, "{met} rays");
    }

    #[test]
    fn the_weights_of_the_spline_sum_to_one_and_their_slopes_to_nothing() {
        for f in [0.0, 0.3, 0.5, 1.0] {
            let (w, slope) = spline(f);
            assert!((w.iter().sum::<f32>() - 1.0).abs() < 1e-6 && slope.iter().sum::<f32>().abs() < 1e-6);
        }
    }
}
