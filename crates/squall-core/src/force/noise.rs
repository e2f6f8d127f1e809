//! Smooth random numbers in space and time, the same for the same seed on every machine, on every layout of cells, and
//! wherever the cells lie.
//!
//! Noise is the sum of three octaves, each a small [pattern](pattern) of spline coefficients that repeats, sampled at its
//! own scale and offset. A row of cells crosses the lattice along one of its axes. So the sums along the other axes are
//! taken once per node that the row passes, and turned into a polynomial for each lattice cell; what is left per cell of
//! the grid is the value of a cubic, for all components at once. Nothing is stored per cell of the grid.

mod pattern;

use wide::f32x4;

pub(crate) use self::pattern::mix;
use self::pattern::{Basis, Kind, Pattern, TAPS, basis, longest_period};
use crate::Real;
use crate::grid::{Axis, Grid};
use crate::layout::Row;
use crate::ops::each;

/// Octaves: each finer by two and weaker by two than the one before.
const OCTAVES: usize = 3;

/// Width of a lattice cell per size of what is seen: splines are smooth, so their bumps are wider than a cell.
const CELLS_PER_SCALE: f64 = 0.55;

/// Root mean square of scalar noise before its peaks are rounded off.
const SCALAR_RMS: f64 = 0.4;

/// Positions on the lattice are whole numbers of 2^-36 lattice cells: a row that begins elsewhere finds the same ones, and
/// a hundred million lattice cells fit.
const FRACTION_BITS: u32 = 36;

/// Cells of the grid handled at once.
const CHUNK: usize = 32;

/// Smooth noise that changes smoothly in time, blended between fixed moments.
pub struct NoiseField<const D: usize> {
    kind: Kind,
    lasting: f64,
    seed: u64,
    bases: [Basis; D],
    /// Octaves that repeat alike share one.
    patterns: Vec<Pattern<D>>,
    octaves: [Octave<D>; OCTAVES],
    /// The moment for which the patterns are blended.
    moment: Option<f64>,
}

/// How a pattern lies on the grid.
struct Octave<const D: usize> {
    pattern: usize,
    /// Position of cell 0 of the grid on the lattice, and distance between cells.
    start: [i64; D],
    step: [i64; D],
    strength: f32,
}

/// Which lattice cell, and which part of it.
#[derive(Clone, Copy)]
struct Place {
    cell: i64,
    part: f32,
}

impl<const D: usize> Octave<D> {
    #[inline(always)]
    fn place(&self, a: usize, index: isize) -> Place {
        let at = self.start[a].wrapping_add((index as i64).wrapping_mul(self.step[a]));
        // As many bits as a float holds.
        let part = (at >> (FRACTION_BITS - 24)) as i32 & 0xff_ffff;
        Place { cell: at >> FRACTION_BITS, part: part as f32 * (1.0 / 16_777_216.0) }
    }
}

impl<const D: usize> NoiseField<D> {
    /// A vector field without divergence and of unit root mean square, with swirls of about `scale` metres that last about
    /// `lasting` seconds: the curl of noise (Bridson, Hourihan & Nordenstam 2007). Periodic where the grid is.
    pub fn swirls(grid: &Grid<D>, scale: f64, lasting: f64, seed: u64) -> Self {
        Self::new(Kind::Swirls, grid, scale, lasting, seed)
    }

    /// One number per cell, from -1 to 1, with spots of about `scale` metres. Periodic where the grid is.
    pub fn scalar(grid: &Grid<D>, scale: f64, lasting: f64, seed: u64) -> Self {
        Self::new(Kind::Scalar, grid, scale, lasting, seed)
    }

    /// What a noise of this scale takes, in bytes.
    pub fn bytes(grid: &Grid<D>, scale: f64) -> u64 {
        let lattices = lattices(grid, scale);
        let nodes = |l: &Lattice<D>| 3 * l.period.iter().product::<usize>() * size_of::<f32x4>();
        (0..OCTAVES).filter(|&o| first_like(&lattices, o) == o).map(|o| nodes(&lattices[o]) as u64).sum()
    }

    fn new(kind: Kind, grid: &Grid<D>, scale: f64, lasting: f64, seed: u64) -> Self {
        let lattices = lattices(grid, scale);
        let rms = if kind == Kind::Scalar { SCALAR_RMS } else { 1.0 };
        // Mean squares of independent octaves add up.
        let first = rms / (0..OCTAVES).map(|octave| 0.25f64.powi(octave as i32)).sum::<f64>().sqrt();
        let mut patterns = Vec::new();
        let mut pattern_of = [0; OCTAVES];
        let octaves = each(|octave| {
            let Lattice { period, length } = lattices[octave];
            let like = first_like(&lattices, octave);
            if like == octave {
                pattern_of[octave] = patterns.len();
                patterns.push(Pattern::new(kind, period, length, mix(seed ^ octave as u64)));
            }
            let one = (1u64 << FRACTION_BITS) as f64;
            let step = each(|a| (grid.spacing[a] / length[a] * one).round() as i64);
            let start = each(|a| {
                let offset = mix(seed ^ mix(octave as u64 ^ mix(a as u64))) >> (64 - FRACTION_BITS);
                offset as i64 * period[a] as i64 + step[a] / 2
            });
            Octave { pattern: pattern_of[like], start, step, strength: (first * 0.5f64.powi(octave as i32)) as f32 }
        });
        let mut noise =
            NoiseField { kind, lasting, seed, bases: each(|a| basis(kind, a)), patterns, octaves, moment: None };
        noise.move_to(0.0);
        noise
    }

    /// Prepares the noise of a moment. Depends on nothing but the moment, so there is no state to save.
    pub fn move_to(&mut self, time: f64) {
        if self.moment == Some(time) {
            return;
        }
        self.moment = Some(time);
        let now = time / self.lasting;
        let knot = now.floor();
        // Two independent patterns: weights on a circle keep the mean square.
        let angle = (now - knot) * std::f64::consts::FRAC_PI_2;
        let knots = [(knot as i64, libm::cos(angle) as f32), (knot as i64 + 1, libm::sin(angle) as f32)];
        for pattern in &mut self.patterns {
            pattern.blend(knots, self.seed);
        }
    }

    /// `out[x] += factor(x) * noise(x)` along the cells of a row from `first` on, for one component.
    pub fn add_row(&self, a: usize, row: Row<'_, D>, first: usize, factor: impl Fn(usize) -> Real, out: &mut [Real]) {
        let mut values = [f32x4::ZERO; CHUNK];
        for (n, out) in out.chunks_mut(CHUNK).enumerate() {
            let values = &mut values[..out.len()];
            self.evaluate(row, first + n * CHUNK, values);
            for (x, (out, value)) in out.iter_mut().zip(values).enumerate() {
                *out += factor(n * CHUNK + x) * value.to_array()[a];
            }
        }
    }

    /// [`NoiseField::add_row`] for all components of a whole row, which takes no longer than one.
    pub fn add_rows(&self, row: Row<'_, D>, factor: impl Fn(usize) -> Real, out: [&mut [Real]; D]) {
        let mut values = [f32x4::ZERO; CHUNK];
        for first in (0..out[0].len()).step_by(CHUNK) {
            let len = (out[0].len() - first).min(CHUNK);
            self.evaluate(row, first, &mut values[..len]);
            for x in 0..len {
                let value = (values[x] * factor(first + x)).to_array();
                for a in 0..D {
                    out[a][first + x] += value[a];
                }
            }
        }
    }

    /// The values in at most [`CHUNK`] cells of a row from `first` on.
    fn evaluate(&self, row: Row<'_, D>, first: usize, out: &mut [f32x4]) {
        out.fill(f32x4::ZERO);
        let begin = row.index[0] + first as isize;
        // Cells are not wider than those of the lattice: at most one more of those is passed.
        let mut nodes = [f32x4::ZERO; CHUNK + TAPS];
        let mut cubics = [[f32x4::ZERO; TAPS]; CHUNK + 1];
        let along = &self.bases[0];
        for octave in &self.octaves {
            let start = octave.place(0, begin).cell;
            let passed = (octave.place(0, begin + out.len() as isize - 1).cell - start) as usize + 1;
            self.sum_across(octave, row.index, start, &mut nodes[..passed + TAPS - 1]);
            for (cubic, taps) in cubics[..passed].iter_mut().zip(nodes.windows(TAPS)) {
                for (k, c) in cubic.iter_mut().enumerate() {
                    *c = along[0][k] * taps[0] + along[1][k] * taps[1] + along[2][k] * taps[2] + along[3][k] * taps[3];
                }
            }
            for (x, out) in out.iter_mut().enumerate() {
                let Place { cell, part } = octave.place(0, begin + x as isize);
                let [c0, c1, c2, c3] = cubics[(cell - start) as usize];
                *out += ((c3 * part + c2) * part + c1) * part + c0;
            }
        }
        if self.kind == Kind::Scalar {
            for v in out {
                *v = rounded_off(*v);
            }
        }
    }

    /// Sums the pattern over the axes other than x, with the weights of the row's place on them, for the nodes along x from
    /// tap 0 of lattice cell `start` on.
    #[inline(always)]
    fn sum_across(&self, octave: &Octave<D>, index: [isize; D], start: i64, nodes: &mut [f32x4]) {
        let Pattern { period, now, .. } = &self.patterns[octave.pattern];
        let wrapped = |cell: i64, a: usize| cell.rem_euclid(period[a] as i64) as usize;
        let mut taps = [[(0, f32x4::ZERO); TAPS]; D];
        for a in 1..D {
            let Place { cell, part } = octave.place(a, index[a]);
            taps[a] = each(|j| {
                let [b0, b1, b2, b3] = self.bases[a][j];
                (wrapped(cell + j as i64, a), ((b3 * part + b2) * part + b1) * part + b0)
            });
        }
        // In 2D there is one layer.
        let layers = if D == 3 { TAPS } else { 1 };
        nodes.fill(f32x4::ZERO);
        for &(layer, weight) in taps[D - 1].iter().take(layers) {
            let (layer, weight) = if D == 3 { (layer, weight * octave.strength) } else { (0, octave.strength.into()) };
            let [w0, w1, w2, w3]: [f32x4; TAPS] = each(|j| taps[1][j].1 * weight);
            let lines: [&[f32x4]; TAPS] = each(|j| &now[(layer * period[1] + taps[1][j].0) * period[0]..][..period[0]]);
            let (mut from, mut rest) = (wrapped(start, 0), &mut *nodes);
            while !rest.is_empty() {
                let (piece, behind) = rest.split_at_mut(rest.len().min(period[0] - from));
                let [l0, l1, l2, l3]: [_; TAPS] = each(|j| &lines[j][from..from + piece.len()]);
                for (i, node) in piece.iter_mut().enumerate() {
                    *node += w0 * l0[i] + w1 * l1[i] + w2 * l2[i] + w3 * l3[i];
                }
                (from, rest) = (0, behind);
            }
        }
    }
}

/// The cells of an octave's lattice: after how many it repeats, and how long they are, in metres.
struct Lattice<const D: usize> {
    period: [usize; D],
    length: [f64; D],
}

/// One per octave. A periodic axis has a whole number of cells. Shorter ones than the grid's would make noise that it
/// cannot hold.
fn lattices<const D: usize>(grid: &Grid<D>, scale: f64) -> [Lattice<D>; OCTAVES] {
    let longest = longest_period::<D>();
    each(|octave| {
        let wanted = scale * CELLS_PER_SCALE * 0.5f64.powi(octave as i32);
        let mut lattice = Lattice { period: [longest; D], length: grid.spacing.map(|h| wanted.max(h)) };
        for a in (0..D).filter(|&a| grid.axes[a] == Axis::Periodic) {
            let most = grid.cells[a];
            // One cell would be no noise at all.
            let cells = ((grid.size()[a] / wanted).round().min(most as f64) as usize).max(most.min(2));
            let repeats = cells.div_ceil(longest);
            lattice.period[a] = cells / repeats;
            lattice.length[a] = grid.size()[a] / (lattice.period[a] * repeats) as f64;
        }
        lattice
    })
}

/// The first octave whose pattern will do for this one.
fn first_like<const D: usize>(lattices: &[Lattice<D>], octave: usize) -> usize {
    let shape = |l: &Lattice<D>| (l.period, l.length.map(|length| length / l.length[0]));
    (0..octave).find(|&o| shape(&lattices[o]) == shape(&lattices[octave])).unwrap_or(octave)
}

/// `v - 4/27 v^3` up to 1.5, where it has its peak, 1.
#[inline(always)]
fn rounded_off(v: f32x4) -> f32x4 {
    let v = v.fast_max(f32x4::splat(-1.5)).fast_min(f32x4::splat(1.5));
    v - v * v * v * (4.0 / 27.0)
}
