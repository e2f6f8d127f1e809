//! Elastic strain of particles.
//!
//! A particle carries `E = (B - 1) / 2`, where `B = F F^T` says how the matter around it is stretched (left Cauchy-Green). It changes by
//!
//! ```text
//! dE/dt = D + L E + E L^T,    L = grad u,  D = (L + L^T) / 2
//! ```
//!
//! which for small strains is Goktekin's `dE/dt = D`, and turns with the matter for large ones. In a step with `X = dt/2 L`
//!
//! ```text
//! F = (1 - X)^-1 (1 + X),    R = (1 - X)^-1,    E = F E F^T + R (X + X^T) R^T
//! ```
//!
//! A rotation has `X + X^T = 0` and an orthogonal `F` (Cayley): the strain turns, and is neither larger nor smaller to the last bits. `B` is symmetric
//! and positive whatever the step is, and keeps its determinant of 1, as the liquid its volume.
//!
//! What particles hear of `L` are differences in the places where their strains act as stresses, with the same weights ([`Slopes`]): then what the flow
//! does to the strains is what they do to the flow, and no energy comes from nowhere. (With the slopes that particles read for APIC a block at rest
//! strained itself by 3 per second: those look at faces beyond the surface, which no stress holds.)

use super::carried::limits;
use super::{Particle, Particles, Patch};
use crate::Real;
use crate::field::{Field, OutOfMemory, Pad, VectorField};
use crate::grid::{At, Ends};
use crate::layout::Layout;
use crate::rows;
use crate::scatter::Scatter;
use crate::threads::prelude::*;

/// How many numbers a symmetric tensor has: those of the axes first, then those of pairs of axes.
pub(crate) const fn components(dimensions: usize) -> usize {
    dimensions * (dimensions + 1) / 2
}

/// Where the number of two axes stands among them.
const fn component(dimensions: usize, a: usize, b: usize) -> usize {
    if a == b { a } else { dimensions + a + b - 1 }
}

/// Nothing is strained further: it tears. Threads are then stretched to 2.2 times their length.
const TEARS: f64 = 2.0;

type Matrix<const D: usize> = [[f64; D]; D];

/// What happens to the strain in some time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Deformation {
    /// The time over the size of a cell: slopes are told by cells.
    pub cells: f64,
    /// Which part of the strain is left after it.
    pub kept: f64,
    /// Which part of the new strain: what comes in the end has less time to relax.
    pub gained: f64,
    /// What yields: from which strain on, and which part of what is beyond it is left.
    pub yields: [f64; 2],
}

fn read<const D: usize>(numbers: &[Real]) -> Matrix<D> {
    std::array::from_fn(|a| std::array::from_fn(|b| f64::from(numbers[component(D, a, b)])))
}

fn write<const D: usize>(strain: &Matrix<D>, numbers: &mut [Real]) {
    for a in 0..D {
        (a..D).for_each(|b| numbers[component(D, a, b)] = strain[a][b] as Real);
    }
}

fn times<const D: usize>(x: &Matrix<D>, y: &Matrix<D>) -> Matrix<D> {
    std::array::from_fn(|a| std::array::from_fn(|b| (0..D).map(|c| x[a][c] * y[c][b]).sum()))
}

/// `x y x^T`, for a symmetric `y`.
fn around<const D: usize>(x: &Matrix<D>, y: &Matrix<D>) -> Matrix<D> {
    let half = times(x, y);
    std::array::from_fn(|a| std::array::from_fn(|b| (0..D).map(|c| half[a][c] * x[b][c]).sum()))
}

fn determinant<const D: usize>(x: &Matrix<D>) -> f64 {
    match D {
        2 => x[0][0] * x[1][1] - x[0][1] * x[1][0],
        _ => (0..3).map(|a| x[0][a] * cofactor(x, 0, a)).sum(),
    }
}

fn cofactor<const D: usize>(x: &Matrix<D>, a: usize, b: usize) -> f64 {
    if D == 2 {
        let value = x[1 - a][1 - b];
        return if a == b { value } else { -value };
    }
    let next = |i: usize, k: usize| (i + k) % 3;
    x[next(a, 1)][next(b, 1)] * x[next(a, 2)][next(b, 2)] - x[next(a, 1)][next(b, 2)] * x[next(a, 2)][next(b, 1)]
}

fn inverse<const D: usize>(x: &Matrix<D>) -> Matrix<D> {
    let one = 1.0 / determinant(x);
    std::array::from_fn(|a| std::array::from_fn(|b| one * cofactor(x, b, a)))
}

/// `1 s + x t`.
fn mixed<const D: usize>(s: f64, x: &Matrix<D>, t: f64) -> Matrix<D> {
    std::array::from_fn(|a| std::array::from_fn(|b| t * x[a][b] + if a == b { s } else { 0.0 }))
}

/// What has no trace: the rest is pressure, and the projection's business.
fn deviator<const D: usize>(x: &Matrix<D>) -> Matrix<D> {
    let mean = (0..D).map(|a| x[a][a]).sum::<f64>() / D as f64;
    mixed(-mean, x, 1.0)
}

fn norm<const D: usize>(x: &Matrix<D>) -> f64 {
    x.as_flattened().iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// The strain after a deformation, of matter around which velocities change by `slope` over a cell.
fn deform<const D: usize>(strain: Matrix<D>, slope: &[[Real; D]; D], how: &Deformation) -> Matrix<D> {
    let x: Matrix<D> = slope.map(|row| row.map(|s| 0.5 * how.cells * f64::from(s)));
    // What is deformed by more than its own size in a step is deformed bit by bit, as `1 - X` must have an inverse.
    let most = x.as_flattened().iter().fold(0.0, |most: f64, v| most.max(v.abs()));
    let parts = (4.0 * most).ceil().clamp(1.0, 16.0);
    let limit = if most > 4.0 { 4.0 / most } else { 1.0 };
    let x = x.map(|row| row.map(|v| v * limit / parts));
    let back = inverse(&mixed(1.0, &x, -1.0));
    let turn = times(&back, &mixed(1.0, &x, 1.0));
    let both: Matrix<D> = std::array::from_fn(|a| std::array::from_fn(|b| x[a][b] + x[b][a]));
    let gain = around(&back, &both);
    let mut strain = strain;
    let kept = libm::pow(how.kept, 1.0 / parts);
    for _ in 0..parts as u32 {
        let turned = around(&turn, &strain);
        strain = std::array::from_fn(|a| std::array::from_fn(|b| kept * turned[a][b] + how.gained * gain[a][b]));
    }
    let size = norm(&deviator(&strain));
    let [limit, left] = how.yields;
    let beyond = if size > limit { limit + (size - limit) * left } else { size };
    if beyond.min(TEARS) < size {
        let part = beyond.min(TEARS) / size;
        strain = strain.map(|row| row.map(|v| part * v));
    }
    // Nothing is compressed: det B = 1.
    let stretch = mixed(1.0, &strain, 2.0);
    let volume = determinant(&stretch);
    let root = if D == 2 { volume.sqrt() } else { libm::cbrt(volume) };
    let strain = mixed(-0.5, &stretch, 0.5 / root);
    if strain.as_flattened().iter().all(|v| v.is_finite()) { strain } else { [[0.0; D]; D] }
}

/// How velocities change over a cell, where stresses live. What is beyond the surface is no matter that could be strained.
///
/// A stress is worth the liquid `V` around it, and is a mean over as many particles as weights say, `m` of those that fill a cell. So strains do as much work on the
/// flow as the flow does on them if every particle hears `V / m` of each difference. That is done beside the surface; inside, where both are about 1, all of it.
pub(crate) struct Slopes<const D: usize> {
    /// Strains along the axes at centres; for each pair of axes liquid, strain and spin on edges.
    fields: Vec<Field<D>>,
}

/// Where the grid ends, and whether the liquid sticks there.
pub(crate) type Sides<const D: usize> = [[(isize, bool); 2]; D];

impl<const D: usize> Slopes<D> {
    pub fn new(layout: &Layout<D>, ends: [Ends; D]) -> Result<Self, OutOfMemory> {
        let centers = (0..D).map(|_| At::Center);
        let edges = (0..components(D) - D).flat_map(|pair| [edge_at::<D>(pair); 3]);
        let fields = centers.chain(edges).map(|at| Field::on(layout, at, ends)).collect::<Result<_, _>>()?;
        Ok(Slopes { fields })
    }

    /// From velocities, the distance to the surface, of which `level` is zero, and how many particles were heard of at centres and edges, of `per_cell` that
    /// fill a cell. Needs the ghosts of velocities and distances. Edges on sides along which the liquid slides have no stress.
    pub fn find(
        &mut self,
        u: &VectorField<D>,
        phi: &Field<D>,
        (level, h): (Real, Real),
        (heard, per_cell): (&[Field<D>], usize),
        sides: Sides<D>,
    ) {
        let part = |phi: Real| (0.5 - (phi - level) / h).clamp(0.0, 1.0);
        let all = per_cell as Real;
        // What is full hears differences as they are: how many particles happen to be there would strain jelly anew in every swing, and it would not
        // come back.
        let share = |inside: Real, part: Real, heard: Real| match inside > 0.0 && heard > 0.0 {
            true if part >= 1.0 => 1.0,
            true => (inside * part * all / heard).min(MOST),
            false => 0.0,
        };
        let (centers, edges) = self.fields.split_at_mut(D);
        for (a, out) in centers.iter_mut().enumerate() {
            out.par_rows(|row, out| {
                let mut pad = Pad::default();
                let (low, high, phi) = (u[a].row(row), u[a].up(row, a, &mut pad), phi.row(row));
                let heard = heard[0].row(row);
                (0..out.len()).for_each(|x| out[x] = share(1.0, part(phi[x]), heard[x]) * (high[x] - low[x]));
            });
        }
        for a in 0..D {
            for b in a + 1..D {
                let [liquid, strain, spin] = &mut edges[3 * (a + b - 1)..][..3] else { unreachable!("three") };
                let heard = &heard[a + b];
                // Half of what is around an edge on a side is inside.
                let inside = |index: [isize; D]| {
                    let along = |c: usize| match sides[c].iter().find(|(side, _)| *side == index[c]) {
                        Some((_, sticks)) => 0.5 * Real::from(*sticks),
                        None => 1.0,
                    };
                    along(a) * along(b)
                };
                // Liquid, strain and spin from the slopes of both components.
                let values = |inside: Real, mean: Real, heard: Real, [first, second]: [Real; 2]| {
                    let liquid = inside * part(mean);
                    [liquid, share(inside, part(mean), heard) * 0.5 * (first + second), liquid * 0.5 * (first - second)]
                };
                rows::for_each([&mut *liquid, strain, spin], |row, [liquid, strain, spin]| {
                    let mut pads = [Pad::default(); 4];
                    let [p, q, r, s] = &mut pads;
                    let around = [phi.row(row), phi.down(row, a, p), phi.row(row.down(b)), phi.down(row.down(b), a, q)];
                    let (ua, below) = (u[a].row(row), u[a].down(row, b, r));
                    let (ub, beside) = (u[b].row(row), u[b].down(row, a, s));
                    let heard = heard.row(row);
                    for x in 0..liquid.len() {
                        let mut index = row.index;
                        index[0] += x as isize;
                        let mean = 0.25 * ((around[0][x] + around[1][x]) + (around[2][x] + around[3][x]));
                        let slopes = [ua[x] - below[x], ub[x] - beside[x]];
                        [liquid[x], strain[x], spin[x]] = values(inside(index), mean, heard[x], slopes);
                    }
                });
                // Those on far sides of a box stand among the ghosts.
                let layout = liquid.layout().clone();
                if layout.as_tiles().is_some() {
                    continue;
                }
                for c in [a, b].into_iter().filter(|&c| sides[c][1].1) {
                    let others: [usize; D] = std::array::from_fn(|d| if d == c { 1 } else { layout.cells()[d] });
                    for mut n in 0..others.iter().product() {
                        let index: [isize; D] = std::array::from_fn(|d| {
                            let i = n % others[d];
                            n /= others[d];
                            if d == c { sides[c][1].0 } else { i as isize }
                        });
                        let down =
                            |index: [isize; D], d: usize| std::array::from_fn(|e| index[e] - isize::from(d == e));
                        let cells = [index, down(index, a), down(index, b), down(down(index, a), b)];
                        let mean = 0.25 * cells.map(|cell| phi.get_signed(cell)).iter().sum::<Real>();
                        let slope = |c: usize, d: usize| u[c].get_signed(index) - u[c].get_signed(down(index, d));
                        let found = values(inside(index), mean, heard.get_signed(index), [slope(a, b), slope(b, a)]);
                        let fields = edges[3 * (a + b - 1)..][..3].iter_mut();
                        fields.zip(found).for_each(|(field, value)| field.set_signed(index, value));
                    }
                }
            }
        }
    }

    /// Around a particle, from copies of all fields. It turns as its surroundings do, however little there is of them.
    fn at(patches: &[Patch<D>], p: &Particle<D>, limits: &[[Real; 2]; D]) -> [[Real; D]; D] {
        let mut slope = p.slope;
        // Not beyond the centres of outermost cells.
        let held: [Real; D] = std::array::from_fn(|c| p.place[c].max(limits[c][0]).min(limits[c][1]));
        for a in 0..D {
            slope[a][a] = patches[a].value(held);
            for b in a + 1..D {
                let place = std::array::from_fn(|c| if c == a || c == b { p.place[c] } else { held[c] });
                let [liquid, strain, spin] = std::array::from_fn(|n| patches[D + 3 * (a + b - 1) + n].value(place));
                let spin = match liquid > LITTLE {
                    true => spin / liquid,
                    false => 0.5 * (p.slope[a][b] - p.slope[b][a]),
                };
                (slope[a][b], slope[b][a]) = (strain + spin, strain - spin);
            }
        }
        slope
    }
}

/// No particle hears more than this many times of a difference.
const MOST: Real = 4.0;

/// Less liquid than this around a particle tells nothing.
const LITTLE: Real = 1e-3;

/// Where the values of a pair of axes live: that of the first two is along the last.
pub(crate) fn edge_at<const D: usize>(pair: usize) -> At {
    if D == 2 { At::Node } else { At::Edge(2 - pair) }
}

impl<const D: usize> Particles<D> {
    /// Strains and particles of a tile; those of a particle begin with its number `first`.
    fn strains(&self, tile: usize, first: usize) -> impl Iterator<Item = (&Particle<D>, Matrix<D>)> {
        let numbers = self.carried.tiles[tile].chunks_exact(self.carried.each.max(1));
        self.of_tile(tile).iter().zip(numbers).map(move |(p, numbers)| (p, read(&numbers[first..])))
    }

    /// Deforms the matter around each particle as the flow around it says. Strains are the numbers from `first` on.
    pub(crate) fn deform(&mut self, first: usize, how: &Deformation, flow: &Slopes<D>, periodic: [bool; D]) {
        let (each, layout) = (self.carried.each, &self.layout);
        let tiles = self.tiles.par_iter().zip(self.carried.tiles.par_iter_mut()).enumerate();
        tiles.filter(|(_, (list, _))| !list.is_empty()).for_each_init(Vec::new, |patches, (n, (list, numbers))| {
            let tile = layout.tile(n);
            patches.resize_with(flow.fields.len(), Patch::default);
            patches.iter_mut().zip(&flow.fields).for_each(|(patch, field)| patch.copy(field, &tile, 1, periodic));
            let limits = limits(layout, &tile, periodic);
            for (p, numbers) in list.iter().zip(numbers.chunks_exact_mut(each)) {
                let numbers = &mut numbers[first..];
                write(&deform(read(numbers), &Slopes::at(patches, p, &limits), how), numbers);
            }
        });
    }

    /// The mean of `E_ab`, without its trace, around the places of a field; zero where no particle is near.
    pub(crate) fn strain_to_grid(
        &self,
        first: usize,
        [a, b]: [usize; 2],
        scatter: &mut Scatter<D>,
        periodic: [bool; D],
        [mean, weight]: [&mut Field<D>; 2],
    ) -> Result<(), OutOfMemory> {
        let at = mean.at();
        weight.relabel(at, mean.ends());
        mean.fill(0.0);
        weight.fill(0.0);
        scatter.add([mean, weight], |tile, [sums, weights]| {
            let limits = limits(&self.layout, &tile, periodic);
            for (p, strain) in self.strains(tile.number, first) {
                let value = deviator(&strain)[a][b] as Real;
                let (mut begin, mut way) = (tile.first, [0.0; D]);
                for c in 0..D {
                    let lower = at.on_lower_side(c);
                    let place = if lower { p.place[c] } else { p.place[c].max(limits[c][0]).min(limits[c][1]) + 0.5 };
                    let i = (place as isize).min(tile.cells[c] as isize - isize::from(lower));
                    way[c] = place - i as Real;
                    begin[c] += i - isize::from(!lower);
                }
                for r in 0..1usize << (D - 1) {
                    let (mut index, mut w) = (begin, 1.0);
                    for c in 1..D {
                        let upper = r >> (c - 1) & 1 == 1;
                        index[c] += isize::from(upper);
                        w *= if upper { way[c] } else { 1.0 - way[c] };
                    }
                    let pair = [w * (1.0 - way[0]), w * way[0]];
                    let out = weights.row(index, 2);
                    (out[0], out[1]) = (out[0] + pair[0], out[1] + pair[1]);
                    let out = sums.row(index, 2);
                    (out[0], out[1]) = (out[0] + pair[0] * value, out[1] + pair[1] * value);
                }
            }
        })?;
        // Those on far sides as well, which stand among the ghosts.
        let values = mean.data_mut().par_chunks_mut(1 << 14).zip(weight.data_mut().par_chunks_mut(1 << 14));
        values.for_each(|(values, weights)| {
            values.iter_mut().zip(weights).for_each(|(v, w)| *v = if *w > 0.0 { *v / *w } else { 0.0 });
        });
        Ok(())
    }

    /// The sum over all particles of `(tr B - D) / 2`: the energy of neo-Hookean matter, over its modulus and the volume of a particle.
    pub(crate) fn elastic_energy(&self, first: usize) -> f64 {
        let of =
            |tile: usize| -> f64 { self.strains(tile, first).map(|(_, e)| (0..D).map(|a| e[a][a]).sum::<f64>()).sum() };
        (0..self.tiles.len()).map(of).sum()
    }

    /// The sum of the norms of all strains, in the order of the tiles.
    pub(crate) fn strain_sum(&self, first: usize) -> f64 {
        let of = |tile: usize| self.strains(tile, first).map(|(_, e)| norm(&deviator(&e))).sum::<f64>();
        (0..self.tiles.len()).map(of).sum()
    }

    /// How much each is strained: the norm of `E` without its trace, in the order of [`Particles::iter`].
    pub(crate) fn strain_norms(&self, first: usize) -> impl Iterator<Item = Real> {
        let of = move |tile| self.strains(tile, first).map(|(_, e)| norm(&deviator(&e)) as Real);
        (0..self.tiles.len()).flat_map(of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: Deformation = Deformation { cells: 0.01, kept: 1.0, gained: 1.0, yields: [f64::INFINITY, 1.0] };

    #[test]
    fn simple_shear_gives_half_of_the_shear_until_it_yields() {
        let slope: [[Real; 3]; 3] = [[0.0, 2.0, 0.0], [0.0; 3], [0.0; 3]];
        let (mut strain, mut yielding) = ([[0.0; 3]; 3], [[0.0; 3]; 3]);
        let yields = Deformation { yields: [0.2, 0.0], ..FREE };
        // Not as far as it tears.
        for step in 1..=90 {
            strain = deform(strain, &slope, &FREE);
            yielding = deform(yielding, &slope, &yields);
            // E12 = c t / 2, exactly: shears add up, and so they do in matter that remembers them.
            let expected = 0.5 * 2.0 * 0.01 * f64::from(step);
            assert!((strain[0][1] - expected).abs() < 1e-12, "{step}: {} {expected}", strain[0][1]);
            let size = norm(&deviator(&yielding));
            assert!(size < 0.2 + 1e-3, "{step}: {size}");
            // sqrt(2) E12 is the norm: it begins to yield at E12 = 0.1414.
            assert!(step > 13 || (yielding[0][1] - expected).abs() < 1e-12, "{step}: {yielding:?}");
        }
        assert!(norm(&deviator(&yielding)) > 0.195);
    }

    #[test]
    fn what_is_strained_and_turns_keeps_its_strain() {
        let slope: [[Real; 3]; 3] = [[0.0, -3.0, 1.0], [3.0, 0.0, -2.0], [-1.0, 2.0, 0.0]];
        let mut strain: Matrix<3> = [[0.0; 3]; 3];
        strain =
            deform(strain, &[[5.0, 3.0, 0.0], [0.0, -5.0, 0.0], [1.0, 0.0, 0.0]], &Deformation { cells: 0.1, ..FREE });
        let before = norm(&strain);
        // Sixty turns of which each takes 17 steps.
        (0..1000).for_each(|_| strain = deform(strain, &slope, &Deformation { cells: 0.1, ..FREE }));
        assert!((norm(&strain) / before - 1.0).abs() < 1e-12, "{}", norm(&strain) / before);
    }

    #[test]
    fn whatever_happens_the_volume_is_kept() {
        let mut strain: Matrix<2> = [[0.0; 2]; 2];
        for k in 0..200u32 {
            let r = |i: u32| ((k * 7919 + i * 104_729) % 1000) as Real / 10.0 - 50.0;
            strain = deform(strain, &[[r(1), r(2)], [r(3), r(4)]], &FREE);
            let stretch = mixed(1.0, &strain, 2.0);
            assert!((determinant(&stretch) - 1.0).abs() < 1e-6 && stretch[0][0] > 0.0, "{k}: {stretch:?}");
        }
    }
}
