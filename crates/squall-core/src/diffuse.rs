//! Diffusion with constant diffusivity: heat, viscosity, spreading smoke.
//!
//! [`Diffusion`] takes an implicit step of any field on any layout, around solids too; [`stress`] is the viscosity of thick
//! liquids. [`Diffuser`] is for cell-centred fields on a box without anything in it:
//!
//! | scheme | one step | stable | maximum principle |
//! |---|---|---|---|
//! | [`DiffusionScheme::Implicit`] | `(I - k dt lap) a = a_old`, backward Euler (Stam 1999, section 2.2) | always | yes |
//! | [`DiffusionScheme::Exact`] | `a = exp(k dt lap) a_old` | always | yes |
//!
//! Both are solved directly with the transforms of [`Spectral`], which know only homogeneous ends. If an end prescribes
//! a value that is not zero, the field is written as `a = w + lift`, where `lift` is the steady state that has those
//! values (`lap lift = 0`): then `w` obeys the same equation with homogeneous ends.

mod implicit;
pub mod stress;

pub use implicit::{Around, Diffusion};

use crate::field::{Field, OutOfMemory};
use crate::grid::{At, End, Ends};
use crate::poisson::{Spectral, Symbol, homogeneous};
use crate::sample::Isa;
use crate::{Real, rows};

/// Steady states that are kept. More are only met if prescribed values change all the time; then the oldest goes.
const KEPT: usize = 16;

/// How a step of diffusion is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiffusionScheme {
    /// Backward Euler, as in the paper: first order in time, very damping.
    #[default]
    Implicit,
    /// The exact solution of the equation that is discrete in space and continuous in time.
    Exact,
}

/// Diffuses fields of one shape, whatever their ends; fields with the same ends share their plans.
pub struct Diffuser<const D: usize> {
    cells: [usize; D],
    spacing: [f64; D],
    isa: Isa,
    plans: Vec<([Ends; D], Spectral<D>)>,
    lifts: Vec<Lift<D>>,
}

/// What is known about one set of ends.
struct Lift<const D: usize> {
    ends: [Ends; D],
    plan: usize,
    /// The steady state; `None` if it is zero.
    steady: Option<Field<D>>,
}

impl<const D: usize> Diffuser<D> {
    /// For fields of `cells`, with nothing planned yet.
    pub fn new(cells: [usize; D], spacing: [f64; D]) -> Self {
        Diffuser::with_isa(cells, spacing, Isa::best())
    }

    /// [`Diffuser::new`] for a certain instruction set.
    pub fn with_isa(cells: [usize; D], spacing: [f64; D], isa: Isa) -> Self {
        Diffuser { cells, spacing, isa, plans: Vec::new(), lifts: Vec::with_capacity(KEPT) }
    }

    /// Plans for fields with the ends of this one, so that [`Diffuser::apply`] need not allocate.
    pub fn prepare(&mut self, field: &Field<D>) -> Result<(), OutOfMemory> {
        self.find(field).map(|_| ())
    }

    /// Diffuses by `k_dt`, diffusivity times time step (in square metres, not negative). Zero leaves the field alone.
    /// Ghosts are neither read nor written.
    ///
    /// Fails only if the ends are new and there is no memory for their steady state.
    pub fn apply(&mut self, field: &mut Field<D>, k_dt: f64, scheme: DiffusionScheme) -> Result<(), OutOfMemory> {
        assert!(k_dt >= 0.0, "diffusion cannot run backwards: k dt = {k_dt}");
        if k_dt == 0.0 {
            return Ok(());
        }
        let symbol = match scheme {
            DiffusionScheme::Implicit => Symbol::Implicit { k: k_dt },
            DiffusionScheme::Exact => Symbol::Exponential { k: k_dt },
        };
        let known = self.find(field)?;
        let Lift { plan, steady, .. } = &self.lifts[known];
        if let Some(steady) = steady {
            add(field, -1.0, steady);
        }
        self.plans[*plan].1.apply(field, symbol);
        if let Some(steady) = steady {
            add(field, 1.0, steady);
        }
        Ok(())
    }

    /// Index of the lift for the ends of this field, made if there is none.
    fn find(&mut self, field: &Field<D>) -> Result<usize, OutOfMemory> {
        assert_eq!(field.cells(), self.cells, "the diffuser is for fields of another shape");
        let ends = field.ends();
        if let Some(known) = self.lifts.iter().position(|lift| lift.ends == ends) {
            return Ok(known);
        }
        let plan = self.find_plan(homogeneous(ends));
        let steady = if ends == homogeneous(ends) { None } else { Some(self.steady_state(ends, plan)?) };
        if self.lifts.len() == KEPT {
            self.lifts.remove(0);
        }
        self.lifts.push(Lift { ends, plan, steady });
        Ok(self.lifts.len() - 1)
    }

    fn find_plan(&mut self, ends: [Ends; D]) -> usize {
        if let Some(known) = self.plans.iter().position(|plan| plan.0 == ends) {
            return known;
        }
        self.plans.push((ends, Spectral::with_isa(self.cells, self.spacing, ends, self.isa)));
        self.plans.len() - 1
    }

    /// The field with `lap a = 0` and these ends.
    ///
    /// Behind a face with value `b` the ghost is `2 b - a`, so a homogeneous solver finds `-2 b / h^2` on the right
    /// side of the end cells. The mean of all `b` is taken out first: if they are all equal, that is the exact answer.
    fn steady_state(&mut self, ends: [Ends; D], plan: usize) -> Result<Field<D>, OutOfMemory> {
        let mean = mean_value(&ends);
        let source = |a: usize, end: End| match end {
            End::Flat | End::Outside(_) => 0.0,
            End::Value(b) => (-2.0 * (b as f64 - mean) / (self.spacing[a] * self.spacing[a])) as Real,
        };
        let cells = self.cells;
        let mut steady = Field::new(cells, At::Center, ends)?;
        steady.par_rows(|row, out| {
            for a in 0..D {
                let Ends::Bounded { lo, hi } = ends[a] else { continue };
                let (lo, hi) = (source(a, lo), source(a, hi));
                if a == 0 {
                    out[0] += lo;
                    out[cells[0] - 1] += hi;
                    continue;
                }
                let at_lo = if row.index[a] == 0 { lo } else { 0.0 };
                let at_hi = if row.index[a] as usize == cells[a] - 1 { hi } else { 0.0 };
                out.iter_mut().for_each(|v| *v += at_lo + at_hi);
            }
        });
        self.plans[plan].1.apply(&mut steady, Symbol::InverseLaplacian);
        steady.par_rows(|_, out| out.iter_mut().for_each(|v| *v += mean as Real));
        Ok(steady)
    }
}

/// The mean over all prescribed values.
fn mean_value(ends: &[Ends]) -> f64 {
    let both = ends.iter().flat_map(|ends| match *ends {
        Ends::Periodic | Ends::Unbounded(_) => [End::Flat; 2],
        Ends::Bounded { lo, hi } => [lo, hi],
    });
    let (mut sum, mut count) = (0.0, 0.0);
    for end in both {
        if let End::Value(b) = end {
            sum += b as f64;
            count += 1.0;
        }
    }
    if count > 0.0 { sum / count } else { 0.0 }
}

/// `a += factor b`
fn add<const D: usize>(a: &mut Field<D>, factor: Real, b: &Field<D>) {
    rows::for_each([a], |row, [a]| {
        for (a, b) in a.iter_mut().zip(b.row(row)) {
            *a += factor * b;
        }
    });
}
