//! Implicit viscosity with the full stress and a free surface (Batty & Bridson 2008).
//!
//! ```text
//! minimise over u:    1/2 |u - u*|^2 + dt nu |sym grad u|^2, integrated over the liquid
//! ```
//!
//! The usual `(1 - nu dt lap) u = u*`, one component after the other ([`Diffusion`](super::Diffusion)), takes the surface for a wall that lets no
//! momentum out of each component by itself. It brakes a drop that turns, and a thread of honey neither folds nor coils. Here the
//! components are coupled by the shear stresses; what a stress is worth is the volume of liquid around it, and where there is no
//! liquid there is no stress: that is the true condition at a free surface. A motion without strain stays as it is.
//!
//! Stresses along axes live at cell centres, shear stresses on edges (in 2D on corners). The unknown is the change `d = u - u*`:
//!
//! ```text
//! A d = -(A - m) u*,        A as in `level.rs`
//! ```
//!
//! It is one symmetric positive system over all components. Conjugate gradients ([`pcg`]) solve it with a V-cycle as preconditioner:
//!
//! | part | what it is |
//! |---|---|
//! | smoother | Jacobi's method with the sums of absolute values of rows, and factors of the Chebyshev polynomials of the fourth kind |
//! | interpolation | linear on staggered faces: rigid rotations stay rigid on all levels |
//! | coarse operator | the same stresses, with coefficients shared out (`transfer.rs`): never too soft |
//! | coarsest level | at most 64 cells, directly |
//! | small drops | their rigid motions, which no coarser level has, directly (`drops.rs`) |
//!
//! In the end each drop in a box that touches nothing gets back exactly the momentum and spin that it had.
//!
//! It ends when the error that is left, measured as energy `(r, M r)`, is a small part of the motion: the norm of the residual alone says
//! nothing about rigid motions, for which `A` is a million times weaker than for others.

mod coarsest;
mod drops;
mod level;
mod matter;
mod transfer;

use self::matter::Load;
pub(crate) use matter::Strain;
pub use matter::{Matter, Thickness};

use self::coarsest::{Coarsest, SMALL};
use self::drops::Drops;
use self::level::{Deep, Level, pair, vector};
use self::transfer::{Kind, Transfer};
use crate::Real;
use crate::cancel::CancelToken;
use crate::field::{Field, OutOfMemory, VectorField};
use crate::grid::{Axis, Grid};
use crate::layout::Layout;
use crate::ops::each;
use crate::poisson::multigrid::{Number, coarser_tiles, wrap};
use crate::poisson::pcg::{Fields, System, Work, clear, pcg};
use crate::report::SolveReport;
use crate::rows;
use crate::sample::Isa;

/// Factors of the passes of the smoother: `2 / (1 - cos(2 pi j / (2 k + 1)))` for `j = k .. 1` damps all errors with eigenvalues up to 1.
const FACTORS: [f64; 3] = [1.052_095_083, 1.635_963_806, 5.311_941_11];
/// More of them on coarser levels, where what is thin is thinner than cells: they cost little there and save a third of the iterations.
const COARSE_FACTORS: [f64; 6] =
    [1.014_743_298, 1.143_830_544, 1.476_445_286, 2.274_114_173, 4.630_323_607, 17.460_543_09];

/// No solve takes this many iterations, unless rounding is in its way.
const MAX_ITERATIONS: u32 = 200;

/// Below this `nu dt / h^2` no value changes by more than half its last bit.
const NOTHING: f64 = 1e-9;

/// Viscous stresses in fields of one layout. The second step on a layout allocates nothing.
pub struct Stress<const D: usize, T: Number = Real> {
    /// How much of the motion may be wrong: the energy of the error is the square of this times that of the motion.
    pub tolerance: f64,
    /// The layout of the fields that it was made for.
    layout: Layout<D>,
    levels: Vec<Level<D, T>>,
    coarsest: Coarsest,
    drops: Drops<D>,
    /// The velocity before, with what walls and solids prescribe.
    before: VectorField<D, T>,
    change: VectorField<D, T>,
    /// What elastic stresses do, if there are any.
    load: Option<Load<D, T>>,
    work: Work<D, D, T>,
    cancel: CancelToken,
}

/// Where the values of component `a` lie.
fn kinds<const D: usize>(a: usize) -> [Kind; D] {
    each(|b| if a == b { Kind::Node } else { Kind::Cell })
}

impl<const D: usize, T: Number> Stress<D, T> {
    /// For velocities of this layout on a grid.
    pub fn new(layout: &Layout<D>, grid: &Grid<D>, isa: Isa) -> Result<Self, OutOfMemory> {
        let joined = grid.axes.map(|axis| axis == Axis::Periodic);
        let finest = matter::own_layout(layout, grid);
        let mut levels = vec![Level::new(&finest, joined, isa)?];
        while let Some((coarse, origin)) = coarser(&levels[levels.len() - 1].operator.layout, joined) {
            let fine = levels.last_mut().expect("at least one level");
            fine.transfer = Some(Transfer::new(&fine.operator.layout, &coarse, origin, isa));
            levels.push(Level::new(&coarse, joined, isa)?);
        }
        let change = vector(&finest)?;
        let work = Work::like(&change, isa)?;
        Ok(Stress {
            tolerance: 2e-3,
            layout: layout.clone(),
            levels,
            coarsest: Coarsest::default(),
            drops: Drops::default(),
            before: vector(&finest)?,
            change,
            load: None,
            work,
            cancel: CancelToken::default(),
        })
    }

    /// About how many bytes it holds for this many cells.
    pub fn estimate_bytes(cells: u64) -> u64 {
        let level = 6 * D + level::pairs(D);
        let (levels, fields) = (1u64 << D, (level + 5 * D) as u64);
        cells.saturating_mul(fields * size_of::<T>() as u64 + 16).saturating_mul(levels) / (levels - 1)
    }

    /// The layout of the velocities that it is for.
    pub fn layout(&self) -> &Layout<D> {
        &self.layout
    }

    /// Where to look whether to go on.
    pub fn set_cancel(&mut self, token: &CancelToken) {
        self.cancel = token.clone();
    }

    /// What `dt` seconds of viscosity make of velocities on faces. Those inside of solids to which the liquid sticks move as the solid does; those
    /// that no stress reaches stay as they are. Leaves ghosts to be filled.
    ///
    /// The residual that is reported is `(r, M r)` over the energy of the motion, both under a root.
    pub fn apply(&mut self, u: &mut VectorField<D>, dt: f64, matter: Matter<'_, D>) -> SolveReport {
        let report = self.find(u, dt, matter, None).expect("nothing to make room for");
        for (u, change) in u.iter_mut().zip(&self.change) {
            let layout = change.layout();
            u.par_rows(|row, u| {
                let start = layout.offset(row.index);
                u.iter_mut().zip(&change.data[start..]).for_each(|(u, d)| *u += d.to_f64() as Real);
            });
        }
        report
    }

    /// Finds the change that [`Stress::apply`] makes, without making it; also that which strains make that are there already.
    pub(crate) fn find(
        &mut self,
        u: &mut VectorField<D>,
        dt: f64,
        mut matter: Matter<'_, D>,
        strain: Option<Strain<'_, D>>,
    ) -> Result<SolveReport, OutOfMemory> {
        assert!(u[0].layout() == &self.layout, "velocities of the layout that it was made for");
        let h = matter.grid.spacing[0];
        if let Thickness::Constant(nu) = matter.viscosity
            && nu * dt < NOTHING * h * h
        {
            self.change.iter_mut().for_each(clear);
            return Ok(SolveReport::NONE);
        }
        self.load = match (strain, self.load.take()) {
            (None, _) => None,
            (_, Some(load)) => Some(load),
            _ => Some(Load::new(&self.levels[0].operator.layout)?),
        };
        self.set_all(u, dt, &mut matter, strain);
        Ok(self.solve())
    }

    /// What was found: the change on each face, and 1 where there is a stress, 0 elsewhere.
    pub(crate) fn change(&self, change: &mut VectorField<D>, reached: &mut VectorField<D>) {
        for a in 0..D {
            let (found, inverse) = (&self.change[a], &self.levels[0].operator.inverse[a]);
            let layout = found.layout();
            rows::for_each([&mut change[a], &mut reached[a]], |row, [change, reached]| {
                let start = layout.offset(row.index);
                for x in 0..change.len() {
                    change[x] = found.data[start + x].to_f64() as Real;
                    reached[x] = Real::from(inverse.data[start + x] > T::ZERO);
                }
            });
        }
    }

    /// Finds all coefficients.
    pub fn set(&mut self, u: &mut VectorField<D>, dt: f64, matter: &mut Matter<'_, D>) {
        self.load = None;
        self.set_all(u, dt, matter, None);
    }

    fn set_all(&mut self, u: &mut VectorField<D>, dt: f64, matter: &mut Matter<'_, D>, strain: Option<Strain<'_, D>>) {
        let h = matter.grid.spacing;
        assert!(h.iter().all(|s| (s / h[0] - 1.0).abs() < 1e-6), "cells must be cubes");
        matter.set(dt, u, &mut self.levels[0], &mut self.before, strain.zip(self.load.as_mut()));
        for l in 1..self.levels.len() {
            let (fine, coarse) = self.levels.split_at_mut(l);
            coarsen(&mut fine[l - 1], &mut coarse[0]);
        }
        let last = self.levels.last().expect("at least one level");
        if is_small(&last.operator.layout) {
            self.coarsest.set(&last.operator);
        }
        self.levels.iter_mut().for_each(Level::clear);
        self.drops.find(&self.levels[0].operator);
    }

    fn solve(&mut self) -> SolveReport {
        let [motion, rounding] = self.sizes();
        let limit = self.tolerance * self.tolerance * motion;
        let Stress { levels, coarsest, drops, before, change, load, work, cancel, .. } = self;
        let load = load.as_ref().map(|load| &load.push);
        change.iter_mut().for_each(clear);
        work.begin(&levels[0].operator.used);
        let mut equation = Equation {
            levels,
            coarsest,
            drops,
            before,
            load,
            cancel,
            size: None,
            limit,
            rounding,
            first: None,
            last: 0.0,
        };
        let mut report = pcg(&mut equation, change, work, 1e-7, MAX_ITERATIONS);
        let left = equation.last;
        drops.keep_momentum(&levels[0].operator.mass, change);
        report.residual = if motion > 0.0 { (left / motion).sqrt() } else { 0.0 };
        report
    }

    /// The energy of the motion before, and that of an error in the last bits of all velocities.
    fn sizes(&self) -> [f64; 2] {
        let operator = &self.levels[0].operator;
        let bits = 4.0 * f64::from(Real::EPSILON);
        let sum = |row: crate::layout::Row<'_, D>| {
            let mut sums = [0.0; 2];
            if operator.used[operator.layout.row_number(row)].is_empty() {
                return sums;
            }
            for a in 0..D {
                let (u, mass) = (self.before[a].row(row), operator.mass[a].row(row));
                let inverse = operator.inverse[a].row(row);
                for x in 0..u.len() {
                    if inverse[x] > T::ZERO {
                        let square = u[x].to_f64() * u[x].to_f64();
                        sums[0] += mass[x].to_f64() * square;
                        sums[1] += bits * bits * square / inverse[x].to_f64();
                    }
                }
            }
            sums
        };
        rows::reduce(&operator.layout, sum, |a, b| [a[0] + b[0], a[1] + b[1]])
    }

    /// `out = A x` for fields of the solver's own layout: see [`Stress::vector`]. What `x` holds where no unknown is counts as zero.
    pub fn operator(&mut self, x: &mut VectorField<D, T>, out: &mut VectorField<D, T>) {
        let operator = &self.levels[0].operator;
        for (x, inverse) in x.iter_mut().zip(&operator.inverse) {
            x.par_rows(|row, x| {
                x.iter_mut().zip(inverse.row(row)).filter(|(_, i)| **i == T::ZERO).for_each(|(x, _)| *x = T::ZERO);
            });
        }
        operator.join(x);
        operator.apply(x, out);
    }

    /// `out = M b`, one V-cycle.
    pub fn v_cycle(&mut self, b: &mut VectorField<D, T>, out: &mut VectorField<D, T>) {
        precondition(&mut self.levels, &mut self.coarsest, &self.drops, b, out);
    }

    /// Zeros of the solver's own layout.
    pub fn vector(&self) -> Result<VectorField<D, T>, OutOfMemory> {
        vector(&self.levels[0].operator.layout)
    }

    /// How it solves, for people.
    pub fn describe(&self) -> String {
        format!("conjugate gradients with multigrid over {D} components: {} levels", self.levels.len())
    }
}

/// `z = M r`; returns the sum of `r z`. The memory of `z` is exchanged for that of the finest level.
fn precondition<const D: usize, T: Number>(
    levels: &mut [Level<D, T>],
    coarsest: &mut Coarsest,
    drops: &Drops<D>,
    r: &mut VectorField<D, T>,
    z: &mut VectorField<D, T>,
) -> f64 {
    std::mem::swap(&mut levels[0].b, r);
    let sum = v_cycle(levels, &FACTORS, coarsest);
    std::mem::swap(&mut levels[0].b, r);
    std::mem::swap(&mut levels[0].x, z);
    sum + drops.add(r, z)
}

fn is_small<const D: usize>(layout: &Layout<D>) -> bool {
    layout.as_tiles().is_none() && layout.cell_count() <= SMALL
}

/// The next coarser cells, unless these are few enough, and where the first one is.
fn coarser<const D: usize>(layout: &Layout<D>, joined: [bool; D]) -> Option<(Layout<D>, [isize; D])> {
    if is_small(layout) {
        return None;
    }
    if let Some(tiles) = layout.as_tiles() {
        return Some(coarser_tiles(layout, tiles));
    }
    // One behind the last cell is the face on the far side.
    let cells = layout.cells();
    let coarse = each(|a| if joined[a] { cells[a].div_ceil(2) } else { (cells[a] - 1).div_ceil(2) + 1 });
    (coarse != cells).then(|| (Layout::dense(coarse), [0; D]))
}

/// Sets the coefficients of a level from those of the next finer one.
fn coarsen<const D: usize, T: Number>(fine: &mut Level<D, T>, coarse: &mut Level<D, T>) {
    let Level { operator: from, transfer, scratch, x, .. } = fine;
    let transfer = transfer.as_ref().expect("there is a coarser level");
    let to = &mut coarse.operator;
    let period = to.layout.cells().map(|n| 2 * n);
    let joined = from.joined;
    let times = |value: T, factor: f64| T::of(value.to_f64() * factor);
    let cells = (1u32 << D) as f64;
    to.deep = from.deep.map(|d| Deep {
        center: times(d.center, 0.25 * cells),
        edge: times(d.edge, 0.25 * cells),
        mass: times(d.mass, cells),
    });
    // Differences between coarse values are twice those between fine ones.
    for a in 0..D {
        wrap(&mut from.center[a], joined, period);
        let kinds = each(|b| if a == b { Kind::Both } else { Kind::Cell });
        transfer.restrict(&from.center[a], kinds, 0.25, None, &mut to.center[a]);
        for b in a + 1..D {
            let field = &mut from.edge[pair(a, b)];
            wrap(field, joined, period);
            let kinds = each(|c| if c == a || c == b { Kind::Node } else { Kind::Cell });
            transfer.restrict(field, kinds, 0.25, None, &mut to.edge[pair(a, b)]);
            wrap(field, joined, from.layout.cells());
            snap(&mut to.edge[pair(a, b)], to.deep.map(|d| d.edge));
        }
        wrap(&mut from.center[a], joined, from.layout.cells());
        snap(&mut to.center[a], to.deep.map(|d| d.center));
    }
    for a in 0..D {
        let (held, mass, inverse) = (&mut scratch[a], &from.mass[a], &from.inverse[a]);
        held.par_rows(|row, out| {
            out.iter_mut().zip(mass.row(row)).for_each(|(out, m)| *out = if *m < T::ZERO { T::ONE } else { T::ZERO });
        });
        let some = &mut x[a];
        some.par_rows(|row, out| {
            let (mass, inverse) = (mass.row(row), inverse.row(row));
            for x in 0..out.len() {
                out[x] = if inverse[x] > T::ZERO { mass[x] } else { T::ZERO };
            }
        });
        wrap(held, joined, period);
        wrap(some, joined, period);
        // A coarse face is held if one of the fine ones that it stands for is.
        let core = each(|b| if a == b { Kind::Same } else { Kind::Both });
        transfer.restrict(held, core, 1.0, None, &mut coarse.scratch[a]);
        transfer.restrict(some, kinds(a), 1.0, None, &mut to.mass[a]);
        snap(&mut to.mass[a], to.deep.map(|d| d.mass));
        let held = &coarse.scratch[a];
        to.mass[a].par_rows(|row, out| {
            let held = held.row(row);
            for x in 0..out.len() {
                if held[x] > T::ZERO {
                    out[x] = T::of(-1.0);
                }
            }
        });
    }
    to.finish();
}

/// Takes for a value what is the same but for rounding.
fn snap<const D: usize, T: Number>(field: &mut Field<D, T>, value: Option<T>) {
    let Some(value) = value else { return };
    let (low, high) = (T::of(value.to_f64() * (1.0 - 1e-6)), T::of(value.to_f64() * (1.0 + 1e-6)));
    field.par_rows(|_, out| {
        out.iter_mut().for_each(|v| *v = if low < *v && *v < high { value } else { *v });
    });
}

/// `x = M b` on the first of some levels; returns the sum of `b x`.
fn v_cycle<const D: usize, T: Number>(levels: &mut [Level<D, T>], factors: &[f64], coarsest: &mut Coarsest) -> f64 {
    let Some((level, coarser)) = levels.split_first_mut() else { return 0.0 };
    let Some(below) = coarser.first_mut() else {
        if is_small(&level.operator.layout) {
            return coarsest.solve(level);
        }
        level.smooth_before(factors);
        return level.smooth_after(factors);
    };
    level.smooth_before(factors);
    level.find_residual();
    let period = below.operator.layout.cells().map(|n| 2 * n);
    let transfer = level.transfer.as_ref().expect("there is a coarser level");
    for a in 0..D {
        wrap(&mut level.scratch[a], level.operator.joined, period);
        transfer.restrict(&level.scratch[a], kinds(a), 1.0, Some(&below.operator.used), &mut below.b[a]);
    }

    v_cycle(coarser, &COARSE_FACTORS, coarsest);

    let below = &mut coarser[0];
    below.operator.join(&mut below.x);
    let transfer = level.transfer.as_ref().expect("there is a coarser level");
    for a in 0..D {
        let operator = &level.operator;
        transfer.prolong(&below.x[a], kinds(a), (&operator.used, &operator.inverse[a]), &mut level.x[a]);
    }
    level.smooth_after(factors)
}

/// `A d = load - (A - m) u*` in the unknowns.
struct Equation<'a, const D: usize, T: Number> {
    levels: &'a mut [Level<D, T>],
    coarsest: &'a mut Coarsest,
    drops: &'a Drops<D>,
    before: &'a VectorField<D, T>,
    load: Option<&'a VectorField<D, T>>,
    cancel: &'a CancelToken,
    /// The sum of squares of the right side, once it is known.
    size: Option<f64>,
    /// The energy of an error that is small enough.
    limit: f64,
    /// And of one that rounding makes.
    rounding: f64,
    /// The energy of the error at the beginning, and now.
    first: Option<f64>,
    last: f64,
}

/// The first error falls to this part of it at least, as energy: a change that is small beside the motion has to be right as well. (In a channel
/// that starts in 200 steps the velocity was 1.4 % too high without.) What is left then falls once more, by the last correction of [`pcg`].
const CLOSE: f64 = 4e-4;
/// And from this part of it on it is small enough whatever the motion was.
const FAR: f64 = 1e-12;

impl<const D: usize, T: Number> System<D, D, T> for Equation<'_, D, T> {
    fn goes_on(&self) -> bool {
        !self.cancel.is_cancelled()
    }

    fn residual(
        &mut self,
        d: &mut Fields<D, D, T>,
        r: &mut Fields<D, D, T>,
        spare: &mut Fields<D, D, T>,
    ) -> (f64, f64) {
        let operator = &self.levels[0].operator;
        for a in 0..D {
            spare[a].copy_all(&self.before[a]);
            let d = &d[a];
            spare[a].par_rows(|row, u| u.iter_mut().zip(d.row(row)).for_each(|(u, d)| *u += *d));
        }
        operator.join(spare);
        let mut left = operator.change_residual(spare, d, r);
        if let Some(load) = self.load {
            let add = |row: crate::layout::Row<'_, D>, r: [&mut [T]; D]| {
                let mut sum = 0.0;
                for (a, r) in r.into_iter().enumerate() {
                    r.iter_mut().zip(load[a].row(row)).for_each(|(r, load)| *r += *load);
                    sum += r.iter().map(|r| r.to_f64() * r.to_f64()).sum::<f64>();
                }
                sum
            };
            left = rows::for_each_and_reduce(r.each_mut(), add, |a, b| a + b);
        }
        // Whose memory is that of a vector next: zero where no unknown is.
        spare.iter_mut().for_each(|v| v.fill(T::ZERO));
        (left, *self.size.get_or_insert(left))
    }

    fn precondition(&mut self, r: &mut Fields<D, D, T>, z: &mut Fields<D, D, T>) -> f64 {
        precondition(self.levels, self.coarsest, self.drops, r, z)
    }

    fn is_enough(&mut self, rz: f64) -> bool {
        self.last = rz;
        let first = *self.first.get_or_insert(rz);
        rz <= self.limit.min(CLOSE * first).max(FAR * first) + self.rounding
    }

    fn apply(&mut self, p: &mut Fields<D, D, T>, ap: &mut Fields<D, D, T>) -> f64 {
        let operator = &self.levels[0].operator;
        operator.join(p);
        operator.apply(p, ap)
    }
}
