//! Implicit diffusion of any field on any layout: `(1 - k dt lap) a = a_old`.
//!
//! The unknown is the change `d = a - a_old`, which obeys
//!
//! ```text
//! (s + S) d = h^2 lap a_old        s = h^2 / (k dt),  S = -h^2 lap with every prescribed value zero
//! ```
//!
//! So whatever the ends prescribe and whatever is held comes in through the right side alone, as `lap a_old` finds it in
//! ghosts and neighbours; what changes little is computed to as many digits as what changes much; and where nothing
//! gets in or out, the change sums up to zero, however large `k dt` is.
//!
//! | where | solved by |
//! |---|---|
//! | box, nothing held, centres (or faces across a periodic axis) | transforms, directly |
//! | `k dt < h^2` | conjugate gradients with the diagonal as preconditioner: few iterations |
//! | everything else | conjugate gradients with a V-cycle of [`Multigrid`], shifted on all levels |
//!
//! Faces on the ends of their own axis are values, not unknowns: what an end prescribes, or the next face inside. On tiles
//! the outermost cells keep their values.

use super::{Diffuser, DiffusionScheme};
use crate::Real;
use crate::cancel::CancelToken;
use crate::field::{Field, OutOfMemory, Pad, VectorField};
use crate::grid::{At, End, Ends};
use crate::layout::{Layout, Row};
use crate::poisson::multigrid::Kind;
use crate::poisson::pcg::{clear, squared};
use crate::poisson::{CellState, Domain, MAX_ITERATIONS, Multigrid, PoissonSolver, homogeneous};
use crate::report::SolveReport;
use crate::rows;
use crate::sample::Isa;

/// Below this `k dt / h^2` no value changes by more than half its last bit.
const NOTHING: f64 = 1e-9;

/// From this `k dt / h^2` on a V-cycle is worth its price: up to here the diagonal alone takes 20 iterations at most, and
/// five of those cost as much as one V-cycle.
const FAR: f64 = 1.0;

/// The true residual of `f32` cannot be brought below about this times the cells along an axis.
const FLOOR: f64 = 3e-7;

/// Solves at most for cells that are fluid in part, after the first; and what they lose is nothing below this part of the 2-norm of all values.
const ROUNDS: u32 = 6;
const LOST: f64 = 1e-6;

/// What stands in the way of diffusion.
#[derive(Clone, Copy)]
pub enum Around<'a, const D: usize> {
    /// Nothing.
    Nothing,
    /// Where this field is 0, values stay as they are and the others see them: solids that set velocities, for example. It
    /// lies where the values lie; the open parts of a component's faces are such a field.
    Held(&'a Field<D>),
    /// Nothing gets through the closed parts of faces. For values at cell centres.
    Open(&'a VectorField<D>),
    /// Air stays as it is and the others see it, solid does not take part; and the difference between a value and the next
    /// one down an axis counts with a weight. Both fields have one entry for each value, wherever those lie.
    Links {
        /// What each value is.
        state: &'a Field<D, CellState>,
        /// Of the link down each axis, ghosts filled.
        weight: &'a VectorField<D>,
    },
}

/// Diffuses fields of one layout, centred or staggered, whatever their ends.
///
/// For each kind of ends there is a solver, made when it is first needed; on tiles one serves all. The second step with
/// the same ends allocates nothing. Cells must be cubes, except where transforms can be used.
pub struct Diffusion<const D: usize> {
    /// To which part of its right side the equation of the change is solved.
    pub tolerance: f64,
    /// How a step is taken where transforms can do it; elsewhere it is implicit.
    pub scheme: DiffusionScheme,
    /// Asks the solver to stop; what it leaves then is not diffused.
    pub cancel: CancelToken,
    layout: Layout<D>,
    spacing: [f64; D],
    isa: Isa,
    direct: Option<Diffuser<D>>,
    solvers: Vec<Solver<D>>,
    work: Option<Scratch<D>>,
}

struct Solver<const D: usize> {
    kind: Kind<D>,
    multigrid: Multigrid<D>,
    /// The shift that it has; `None` after a set-up.
    shift: Option<f64>,
    /// Whether it was set up with nothing around.
    plain: bool,
}

struct Scratch<const D: usize> {
    right: Field<D>,
    change: Field<D>,
    mean: Field<D>,
    state: Field<D, CellState>,
}

impl<'a, const D: usize> Around<'a, D> {
    /// The weights of links, if they are not all 1.
    fn weights(self) -> Option<&'a VectorField<D>> {
        match self {
            Around::Nothing | Around::Held(_) => None,
            Around::Open(weight) | Around::Links { weight, .. } => Some(weight),
        }
    }
}

impl<const D: usize> Diffusion<D> {
    /// For fields of this layout, with nothing planned yet.
    pub fn new(layout: &Layout<D>, spacing: [f64; D]) -> Self {
        Diffusion::with_isa(layout, spacing, Isa::best())
    }

    /// [`Diffusion::new`] for a certain instruction set.
    pub fn with_isa(layout: &Layout<D>, spacing: [f64; D], isa: Isa) -> Self {
        let layout = layout.clone();
        let scheme = DiffusionScheme::Implicit;
        let (cancel, solvers) = (CancelToken::default(), Vec::new());
        Diffusion { tolerance: 1e-5, scheme, cancel, layout, spacing, isa, direct: None, solvers, work: None }
    }

    /// About how many bytes it will hold for fields of this many cells and so many kinds of ends, if steps are long; on tiles
    /// there is one kind, in a box one for each component of the velocity between walls.
    pub fn estimate_bytes(cells: u64, kinds: u64) -> u64 {
        let scratch = cells.saturating_mul((3 * size_of::<Real>() + size_of::<CellState>()) as u64);
        Multigrid::<D>::estimate_bytes(cells).saturating_mul(kinds).saturating_add(scratch)
    }

    /// Makes what [`Diffusion::apply`] will need, so that it need not allocate.
    pub fn prepare(&mut self, field: &Field<D>, k_dt: f64, around: Around<'_, D>) -> Result<(), OutOfMemory> {
        self.follow(field);
        if self.is_direct(field, around) {
            return self.direct().prepare(field);
        }
        self.find(field, k_dt)?;
        self.scratch()?;
        Ok(())
    }

    /// Diffuses by `k_dt`, diffusivity times time step (in square metres, not negative). Zero leaves the field alone. Fills
    /// the ghosts of the field before, not after.
    ///
    /// The report is that of the equation of the change. A direct solve is not measured: its residual is given as the
    /// rounding of a number.
    ///
    /// Fails only if there is no memory for a kind of field that is met for the first time.
    pub fn apply(
        &mut self,
        field: &mut Field<D>,
        k_dt: f64,
        around: Around<'_, D>,
    ) -> Result<SolveReport, OutOfMemory> {
        self.apply_but(field, k_dt, around, None)
    }

    /// [`Diffusion::apply`], but values with a bit in `kept`, which has one for each place of a row, for each row of tiles, stay as they are,
    /// and the others see them.
    pub(crate) fn apply_but(
        &mut self,
        field: &mut Field<D>,
        k_dt: f64,
        around: Around<'_, D>,
        kept: Option<&[u64]>,
    ) -> Result<SolveReport, OutOfMemory> {
        Ok(self.diffuse(field, k_dt, around, kept, None)?.0)
    }

    /// [`Diffusion::apply`] at centres of cells that are fluid in part, and open to each other in part: `(V - k dt lap) a = V a_old`. Also
    /// returns how much that leaves too little, in cells.
    pub(crate) fn apply_in_part(
        &mut self,
        field: &mut Field<D>,
        k_dt: f64,
        open: &VectorField<D>,
        volume: &Field<D>,
    ) -> Result<(SolveReport, f64), OutOfMemory> {
        self.diffuse(field, k_dt, Around::Open(open), None, Some(volume))
    }

    fn diffuse(
        &mut self,
        field: &mut Field<D>,
        k_dt: f64,
        around: Around<'_, D>,
        kept: Option<&[u64]>,
        volume: Option<&Field<D>>,
    ) -> Result<(SolveReport, f64), OutOfMemory> {
        assert!(k_dt >= 0.0, "diffusion cannot run backwards: k dt = {k_dt}");
        self.follow(field);
        let h2 = self.spacing[0] * self.spacing[0];
        if k_dt == 0.0 {
            return Ok((SolveReport { converged: true, ..SolveReport::default() }, 0.0));
        }
        if self.is_direct(field, around) {
            // Along a periodic axis faces are as good as centres.
            let at = field.at();
            field.relabel(At::Center, field.ends());
            let scheme = self.scheme;
            let done = self.direct().apply(field, k_dt, scheme);
            field.relabel(at, field.ends());
            let residual = Real::EPSILON as f64;
            let report = SolveReport { iterations: 1, residual, converged: true, ..SolveReport::default() };
            return done.map(|()| (report, 0.0));
        }
        field.finish_end_faces();
        if k_dt < NOTHING * h2 {
            return Ok((SolveReport { converged: true, ..SolveReport::default() }, 0.0));
        }
        let shift = h2 / k_dt;
        let found = self.find(field, k_dt)?;
        self.scratch()?;
        let Diffusion { solvers, work, tolerance, layout, cancel, .. } = self;
        let Scratch { right, change, mean, state } = work.as_mut().expect("made above");
        solvers[found].set(around, kept, state, shift);
        let solver = &mut solvers[found].multigrid;
        solver.set_cancel(cancel);

        field.fill_halo();
        laplacian(field, around, right);
        solver.keep_unknowns(right);
        let (size, values) = (squared(right).sqrt(), squared(field).sqrt());
        // As far as rounding lets it come, but what is below the last bit of the values does not matter.
        let across = (layout.cell_count() as f64).powf(1.0 / D as f64);
        let last_bit = if size > 0.0 { Real::EPSILON as f64 * shift * values / size } else { 0.0 };
        let goal = tolerance.max(FLOOR * across) + last_bit;
        clear(change);
        let mut report = solver.solve_scaled(right, 1.0, change, goal, MAX_ITERATIONS, shift * FAR > 1.0);
        let add = |field: &mut Field<D>, change: &Field<D>| {
            field.par_rows(|row, out| out.iter_mut().zip(change.row(row)).for_each(|(out, d)| *out += d));
        };
        add(field, change);
        let mut left = 0.0;
        if let Some(volume) = volume {
            // The solver takes all cells for whole. What that takes from the change of cells that are not is given back, again and again.
            for round in 0.. {
                let sums = |row: Row<'_, D>| {
                    let lost = change.row(row).iter().zip(volume.row(row)).map(|(d, v)| f64::from((1.0 - v) * d));
                    lost.fold((0.0, 0.0), |(sum, size), lost| (sum + lost, size + lost.abs()))
                };
                let (sum, size) = rows::reduce(layout, sums, |a, b| (a.0 + b.0, a.1 + b.1));
                left = sum;
                if size <= LOST * values || round == ROUNDS {
                    break;
                }
                right.par_rows(|row, out| {
                    let lost = change.row(row).iter().zip(volume.row(row)).map(|(d, v)| (1.0 - v) * d);
                    out.iter_mut().zip(lost).for_each(|(out, lost)| *out = lost);
                });
                // In rooms that nothing can leave the solver drops the mean, which spreads over the room.
                mean.par_rows(|row, mean| mean.copy_from_slice(right.row(row)));
                solver.remove_means(right);
                mean.par_rows(|row, mean| mean.iter_mut().zip(right.row(row)).for_each(|(mean, r)| *mean -= r));
                right.par_rows(|_, right| right.iter_mut().for_each(|r| *r *= shift as Real));
                clear(change);
                let more = solver.solve_scaled(right, 1.0, change, goal, MAX_ITERATIONS, shift * FAR > 1.0);
                report = report.and(&more);
                add(change, mean);
                add(field, change);
            }
        }
        field.finish_end_faces();
        Ok((report, left))
    }

    /// Tiles come and go.
    fn follow(&mut self, field: &Field<D>) {
        if *field.layout() != self.layout {
            let (tolerance, scheme, cancel) = (self.tolerance, self.scheme, self.cancel.clone());
            *self = Diffusion { tolerance, scheme, cancel, ..Self::with_isa(field.layout(), self.spacing, self.isa) };
        }
    }

    /// Whether transforms can do it.
    fn is_direct(&self, field: &Field<D>, around: Around<'_, D>) -> bool {
        let along_periodic = match field.at() {
            At::Center => true,
            At::Face(a) => field.ends()[a] == Ends::Periodic,
            At::Edge(_) | At::Node => false,
        };
        matches!(around, Around::Nothing) && along_periodic && self.layout.as_tiles().is_none()
    }

    fn direct(&mut self) -> &mut Diffuser<D> {
        let Diffusion { direct, layout, spacing, isa, .. } = self;
        direct.get_or_insert_with(|| Diffuser::with_isa(layout.cells(), *spacing, *isa))
    }

    fn scratch(&mut self) -> Result<(), OutOfMemory> {
        if self.work.is_none() {
            let ends = if self.layout.as_tiles().is_some() { Ends::Unbounded(0.0) } else { Ends::FLAT };
            let new = || Field::on(&self.layout, At::Center, [ends; D]);
            let state = Field::on(&self.layout, At::Center, [ends; D])?;
            self.work = Some(Scratch { right: new()?, change: new()?, mean: new()?, state });
        }
        Ok(())
    }

    /// Index of the solver for such a field, made if there is none.
    fn find(&mut self, field: &Field<D>, k_dt: f64) -> Result<usize, OutOfMemory> {
        let h = self.spacing;
        assert!(h.iter().all(|s| (s / h[0] - 1.0).abs() < 1e-6), "cells must be cubes");
        let own = match field.at() {
            At::Face(a) => matches!(field.ends()[a], Ends::Bounded { .. }).then_some(a),
            At::Center => None,
            At::Edge(_) | At::Node => panic!("diffusion is for values at centres and on faces"),
        };
        let ends = homogeneous(field.ends());
        let kind = Kind { ends, own, all_levels: k_dt >= FAR * h[0] * h[0] };
        let known = self.solvers.iter().position(|s| Kind { all_levels: kind.all_levels, ..s.kind } == kind);
        if let Some(known) = known
            && (self.solvers[known].kind.all_levels || !kind.all_levels)
        {
            return Ok(known);
        }
        if let Some(known) = known {
            // Its memory first.
            self.solvers.remove(known);
        }
        let multigrid = Multigrid::of_kind(&self.layout, h[0], kind, self.isa)?;
        self.solvers.push(Solver { kind, multigrid, shift: None, plain: false });
        Ok(self.solvers.len() - 1)
    }
}

impl<const D: usize> Solver<D> {
    /// Sets up what is around and the shift, as far as it is not.
    fn set(&mut self, around: Around<'_, D>, kept: Option<&[u64]>, state: &mut Field<D, CellState>, shift: f64) {
        let Kind { ends, own, .. } = self.kind;
        let plain = matches!(around, Around::Nothing) && kept.is_none();
        if !(self.plain && plain) {
            let layout = state.layout().clone();
            // The first face on an end keeps its value, or is the next one's: then nothing flows between them.
            let first = own.and_then(|a| match ends[a].pair() {
                Some([End::Flat, _]) => Some((a, CellState::Solid)),
                Some([End::Value(_), _]) => Some((a, CellState::Air)),
                _ => None,
            });
            state.par_rows(|row, state| {
                match around {
                    Around::Held(free) => {
                        for (state, &free) in state.iter_mut().zip(free.row(row)) {
                            *state = if free == 0.0 { CellState::Air } else { CellState::Fluid };
                        }
                    }
                    Around::Links { state: given, .. } => state.copy_from_slice(given.row(row)),
                    Around::Nothing | Around::Open(_) => state.fill(CellState::Fluid),
                }
                match first {
                    Some((0, what)) if row.index[0] == 0 => state[0] = what,
                    Some((a, what)) if a > 0 && row.index[a] == 0 => state.fill(what),
                    _ => {}
                }
                let mut bits = kept.map_or(0, |kept| kept[layout.row_number(row)]);
                while bits != 0 {
                    let state = &mut state[bits.trailing_zeros() as usize];
                    *state = if *state == CellState::Fluid { CellState::Air } else { *state };
                    bits &= bits - 1;
                }
            });
            let some = first.is_some() || kept.is_some() || matches!(around, Around::Held(_) | Around::Links { .. });
            self.multigrid.set(Domain { open: around.weights(), state: some.then_some(&*state), phi: None });
            self.plain = plain;
            self.shift = None;
        }
        if self.shift != Some(shift) {
            self.multigrid.set_shift(shift);
            self.shift = Some(shift);
        }
    }
}

/// `out = h^2 lap a`, as differences of differences: what is nearly linear is nearly zero, to many digits. Needs the ghosts
/// of `a`.
fn laplacian<const D: usize>(a: &Field<D>, around: Around<'_, D>, out: &mut Field<D>) {
    out.par_rows(|row, out| {
        let here = a.row(row);
        let mut pads = [Pad::default(); 3];
        let [pad, other, third] = &mut pads;
        out.fill(0.0);
        for b in 0..D {
            let (up, down) = (a.up(row, b, pad), a.down(row, b, other));
            if let Some(open) = around.weights() {
                let (low, high) = (open[b].row(row), open[b].up(row, b, third));
                for x in 0..out.len() {
                    out[x] += high[x] * (up[x] - here[x]) - low[x] * (here[x] - down[x]);
                }
            } else {
                for x in 0..out.len() {
                    out[x] += (up[x] - here[x]) - (here[x] - down[x]);
                }
            }
        }
    });
}
