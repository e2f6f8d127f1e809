//! Smooth random numbers in space and time, the same for the same seed on every machine.

use crate::Real;
use crate::field::{Field, OutOfMemory};
use crate::grid::{At, Axis, Ends, Grid};
use crate::layout::Row;
use crate::ops::{self, each};

/// A number from 64 bits that looks random (the finaliser of splitmix64).
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn hash<const D: usize>(cell: [i64; D], seed: u64) -> u64 {
    cell.iter().fold(mix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15)), |h, &c| mix(h ^ c as u64).wrapping_add(c as u64))
}

/// Gradient noise: zero at lattice points, about -0.5 to 0.5 between them. The lattice repeats after `period` points
/// along axes where that is not zero.
fn gradient_noise<const D: usize>(p: [f64; D], period: [i64; D], seed: u64) -> f64 {
    let cell: [i64; D] = p.map(|v| v.floor() as i64);
    let f: [f64; D] = each(|a| p[a] - cell[a] as f64);
    let fade = f.map(|t| t * t * t * (t * (t * 6.0 - 15.0) + 10.0));
    let mut sum = 0.0;
    for corner in 0..1usize << D {
        let mut weight = 1.0;
        let mut c = cell;
        let mut r = f;
        for a in 0..D {
            let high = corner >> a & 1;
            weight *= if high == 1 { fade[a] } else { 1.0 - fade[a] };
            c[a] += high as i64;
            r[a] -= high as f64;
            if period[a] > 0 {
                c[a] = c[a].rem_euclid(period[a]);
            }
        }
        // A gradient with components from -1 to 1, from the bits of one hash.
        let h = hash(c, seed);
        let g: f64 =
            (0..D).map(|a| ((h >> (21 * a)) & 0x1f_ffff) as f64 / 1_048_575.5 - 1.0).zip(r).map(|(g, r)| g * r).sum();
        sum += weight * g;
    }
    sum
}

/// Two octaves of smooth noise, about -0.5 to 0.5, that changes over a time of 1.
pub fn lattice_noise<const D: usize>(p: [f64; D], time: f64, seed: u64) -> Real {
    let knot = time.floor();
    let t = time - knot;
    let fade = t * t * (3.0 - 2.0 * t);
    let at = |knot: f64| {
        let seed = mix(seed ^ (knot as i64 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        gradient_noise(p, [0; D], seed) + 0.5 * gradient_noise(p.map(|v| 2.0 * v + 0.37), [0; D], seed ^ 1)
    };
    (at(knot) * (1.0 - fade) + at(knot + 1.0) * fade) as Real
}

/// Smooth noise on a grid that changes smoothly in time, blended between fixed moments.
pub struct NoiseField<const D: usize> {
    kind: Kind,
    scale: f64,
    lasting: f64,
    seed: u64,
    /// The moments on both sides of now.
    knots: [(i64, Vec<Field<D>>); 2],
    /// How much each of them counts now.
    blend: [Real; 2],
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Scalar,
    Swirls,
}

/// No moment has been computed yet.
const NEVER: i64 = i64::MIN;

impl<const D: usize> NoiseField<D> {
    /// A vector field without divergence and of unit root mean square, with swirls of about `scale` metres that last about
    /// `lasting` seconds: the curl of three octaves of gradient noise (Bridson, Hourihan & Nordenstam 2007).
    pub fn swirls(grid: &Grid<D>, scale: f64, lasting: f64, seed: u64) -> Result<Self, OutOfMemory> {
        Self::new(grid, Kind::Swirls, scale, lasting, seed)
    }

    /// One number per cell, between about -1 and 1.
    pub fn scalar(grid: &Grid<D>, scale: f64, lasting: f64, seed: u64) -> Result<Self, OutOfMemory> {
        Self::new(grid, Kind::Scalar, scale, lasting, seed)
    }

    fn new(grid: &Grid<D>, kind: Kind, scale: f64, lasting: f64, seed: u64) -> Result<Self, OutOfMemory> {
        let ends = grid.axes.map(|axis| if axis == Axis::Periodic { Ends::Periodic } else { Ends::FLAT });
        let components = if kind == Kind::Scalar { 1 } else { D };
        let knot = || -> Result<_, OutOfMemory> {
            let fields = (0..components).map(|_| Field::new(grid.cells, At::Center, ends)).collect::<Result<_, _>>()?;
            Ok((NEVER, fields))
        };
        Ok(NoiseField { kind, scale, lasting, seed, knots: [knot()?, knot()?], blend: [1.0, 0.0] })
    }

    /// Prepares the noise of a moment. Depends on nothing but the moment, so there is no state to save.
    pub fn move_to(&mut self, grid: &Grid<D>, time: f64) {
        let now = time / self.lasting;
        let knot = now.floor() as i64;
        if self.knots[0].0 != knot && self.knots[1].0 == knot {
            self.knots.swap(0, 1);
        }
        for (k, wanted) in [knot, knot + 1].into_iter().enumerate() {
            if self.knots[k].0 != wanted {
                self.knots[k].0 = wanted;
                let seed = mix(self.seed ^ (wanted as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
                match self.kind {
                    Kind::Swirls => swirls(grid, self.scale, seed, &mut self.knots[k].1),
                    // Three octaves of gradient noise seldom leave -0.6 to 0.6.
                    Kind::Scalar => {
                        self.knots[k].1[0].set_from(grid, |p| 1.6 * octaves(grid, self.scale, seed, 0.5, p))
                    }
                }
            }
        }
        // Two independent fields: weights on a circle keep the mean square.
        let angle = (now - knot as f64) * std::f64::consts::FRAC_PI_2;
        self.blend = [libm::cos(angle) as Real, libm::sin(angle) as Real];
    }

    /// `out[x] += factor(x) * noise(x)` along the cells of a row from `first` on, for one component.
    pub fn add_row(&self, a: usize, row: Row<'_, D>, first: usize, factor: impl Fn(usize) -> Real, out: &mut [Real]) {
        let (n0, n1) = (&self.knots[0].1[a].row(row)[first..], &self.knots[1].1[a].row(row)[first..]);
        for x in 0..out.len() {
            out[x] += factor(x) * (self.blend[0] * n0[x] + self.blend[1] * n1[x]);
        }
    }
}

/// Three octaves of gradient noise, each finer by two and weaker by `gain`; periodic where the grid is.
fn octaves<const D: usize>(grid: &Grid<D>, scale: f64, seed: u64, gain: f64, p: [f64; D]) -> f64 {
    let size = grid.size();
    let (mut sum, mut weight) = (0.0, 1.0);
    for octave in 0..3 {
        let fine = f64::from(1 << octave);
        let mut period = [0; D];
        let q: [f64; D] = each(|a| {
            let r = (p[a] - grid.origin[a]) / scale * fine;
            if grid.axes[a] == Axis::Periodic {
                // A whole number of lattice cells around the axis.
                let cells = (size[a] / scale * fine).round().max(1.0);
                period[a] = cells as i64;
                r * cells / (size[a] / scale * fine)
            } else {
                r
            }
        });
        sum += weight * gradient_noise(q, period, mix(seed ^ octave));
        weight *= gain;
    }
    sum
}

/// Fills `out` with the curl of noise. In 2D the potential is one number, in 3D a vector; both curls are
/// `out_a = sum over b, c of epsilon_abc d(psi_c)/dx_b`.
fn swirls<const D: usize>(grid: &Grid<D>, scale: f64, seed: u64, out: &mut [Field<D>]) {
    // Each octave of the potential is weaker by four, of its slopes by two.
    let potential = |p: [f64; D], c: usize| octaves(grid, scale, mix(seed ^ (31 * c as u64 + 7)), 0.25, p);
    // d(psi_c)/dx_b by a centred difference of the function itself.
    let slope = |p: [f64; D], b: usize, c: usize| -> f64 {
        let (mut up, mut down) = (p, p);
        let step = 0.25 * scale.min(grid.spacing[b] * 2.0);
        up[b] += step;
        down[b] -= step;
        (potential(up, c) - potential(down, c)) / (2.0 * step)
    };
    for a in 0..D {
        let (b, c) = ((a + 1) % 3, (a + 2) % 3);
        out[a].set_from(grid, |p| {
            let plus = if b < D { slope(p, b, c) } else { 0.0 };
            let minus = if c < D { slope(p, c, b) } else { 0.0 };
            plus - minus
        });
    }
    let energy: f64 = out.iter().map(|f| ops::dot(f, f)).sum();
    let rms = (energy / grid.cell_count() as f64).sqrt();
    let scale = if rms > 0.0 { (1.0 / rms) as Real } else { 0.0 };
    for f in out {
        f.par_rows(|_, f| f.iter_mut().for_each(|v| *v *= scale));
        f.fill_halo();
    }
}
