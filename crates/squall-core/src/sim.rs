//! The interface of a simulation, without dimension or grid type: named fields, parameters, state.

use crate::cancel::CancelToken;
use crate::clock::Clock;
use crate::field::{Field, OutOfMemory};
use crate::layout::Row;
use crate::parameter::{Parameter, ParameterError, Value};
use crate::report::StepReport;
use crate::volume::Volume;

/// A field as others see it.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldInfo {
    /// The name used in scenes and outputs.
    pub name: String,
    /// Values per cell: 1, or the number of axes.
    pub components: usize,
}

/// A simulation whose number of dimensions has been forgotten: what the run loop, studios and bindings hold.
pub trait Simulation: Send {
    /// Cells along each axis: two or three entries.
    fn cells(&self) -> &[usize];

    /// Lower corner and cell size along each axis, in metres.
    fn placement(&self) -> (Vec<f64>, Vec<f64>);

    /// Simulated seconds.
    fn time(&self) -> f64;

    /// The largest speed along one axis, in cells per second: what a limit on the step is computed from.
    fn cells_per_second(&self) -> f64;

    /// The longest step, in seconds, in which nothing moves by more than `cfl` cells.
    fn longest_step(&self, cfl: f64) -> f64 {
        cfl / self.cells_per_second()
    }

    /// Advances by `dt` seconds.
    fn step(&mut self, dt: f64) -> Result<StepReport, StepError>;

    /// From now on steps look at this token between their stages and within iterations, and end with [`StepError::Cancelled`]
    /// when it asks for that. The state is then somewhere within the step: who wants to go on restores one.
    fn set_cancel(&mut self, _token: &CancelToken) {}

    /// Says that the time is exactly `t` now: frames fall on exact times however many steps led there.
    fn snap_time(&mut self, t: f64);

    /// The fields that can be asked for.
    fn fields(&self) -> Vec<FieldInfo>;

    /// Copies component `component` of a field into `out`, one value per cell, x fastest. `false`: no such field.
    fn read(&self, name: &str, component: usize, out: &mut Vec<f32>) -> bool;

    /// Puts component `component` of a field, at cell centres, into `out`, where it is. `false`: no such field, or not three
    /// dimensions.
    fn volume(&self, name: &str, component: usize, out: &mut Volume) -> bool {
        let (&[nx, ny, nz], (origin, spacing)) = (self.cells(), self.placement()) else { return false };
        let mut values = Vec::new();
        if !self.read(name, component, &mut values) || spacing.iter().any(|h| (h / spacing[0] - 1.0).abs() > 1e-6) {
            return false;
        }
        *out = Volume::from_dense([origin[0], origin[1], origin[2]], spacing[0], 0.0, [nx, ny, nz], &values);
        true
    }

    /// A number that belongs to the state, by name: `texture_0.weight` is what the coordinates in the field `texture_0` count
    /// now. `None`: no such number.
    fn scalar(&self, _name: &str) -> Option<f64> {
        None
    }

    /// What the model measures of itself, as it is now, always in the same order: for example how well smoke meets its target.
    /// Computed when asked for; meant for every frame.
    fn figures(&mut self) -> Vec<Figure> {
        Vec::new()
    }

    /// The particles, where there are some.
    fn particles(&self) -> Option<Particles> {
        None
    }

    /// The name of the field that holds the distance to the surface of a liquid, in metres and negative inside, where there is
    /// one. It is read like every other field.
    fn surface(&self) -> Option<&str> {
        None
    }

    /// What can be changed while it runs, and what it is now.
    fn parameters(&mut self) -> Vec<Parameter> {
        Vec::new()
    }

    /// Changes a parameter from the next step on. Memory that this needs is taken then. States do not hold parameters:
    /// who saves them keeps what was changed.
    fn set_parameter(&mut self, name: &str, _value: Value) -> Result<(), ParameterError> {
        Err(ParameterError::Unknown { name: name.to_owned(), known: Vec::new() })
    }

    /// Shows the visitor everything that the next step depends on, always in the same order. The visitor may read
    /// (to save) or write (to restore): one list serves both, so that they cannot disagree.
    fn visit_state(&mut self, visitor: &mut dyn StateVisitor);
}

/// A number that a model measured of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What it is; of a substance `substance.quantity`.
    pub name: String,
    /// How much.
    pub value: f64,
}

impl Figure {
    /// A number with its name.
    pub fn new(name: impl Into<String>, value: f64) -> Self {
        Figure { name: name.into(), value }
    }
}

/// Particles as others see them: arrays of one length, in the model's own order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Particles {
    /// A number for each that it keeps for life.
    pub ids: Vec<u64>,
    /// Places in metres, one array per axis.
    pub positions: Vec<Vec<f32>>,
    /// Velocities in metres per second, one array per axis.
    pub velocities: Vec<Vec<f32>>,
    /// Whatever else each has, by name.
    pub attributes: Vec<(String, Vec<f32>)>,
}

impl Particles {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The attribute that is called so.
    pub fn attribute(&self, name: &str) -> Option<&[f32]> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, values)| &values[..])
    }
}

/// Reads or writes the state of a simulation.
pub trait StateVisitor {
    /// A whole number.
    fn integer(&mut self, name: &str, value: &mut u64);
    /// A real number.
    fn real(&mut self, name: &str, value: &mut f64);
    /// An array of fixed length.
    fn array(&mut self, name: &str, values: &mut [f32]);

    /// How many parts follow, each with values of its own. Memory is taken for them, so who restores a state from a file refuses
    /// counts that cannot be, and leaves them as they are.
    fn parts(&mut self, name: &str, count: &mut u64) {
        self.integer(name, count);
    }

    /// How many entries the array has that follows at once, of so many `words` each. Like [`StateVisitor::parts`].
    fn length(&mut self, name: &str, length: &mut u64, words: u64) {
        let _ = words;
        self.integer(name, length);
    }

    /// Says that what was restored makes no sense.
    fn refuse(&mut self, what: &str) {
        let _ = what;
    }
}

/// Why a step could not be made. The state is then no longer to be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StepError {
    /// A value stopped being finite.
    #[error(transparent)]
    NotFinite(#[from] NotFinite),
    /// The flow is too fast for the step.
    #[error(
        "{field} is {value} in cell {cell:?} at t = {time} s, in step {step}: {cells:.1} cells in one step, {limit} at most"
    )]
    TooFast {
        /// Which field.
        field: String,
        /// What the cell holds.
        value: f32,
        /// Where, one index per axis.
        cell: Vec<isize>,
        /// When, in seconds.
        time: f64,
        /// The step, counted from 0.
        step: u64,
        /// Cells travelled in this step.
        cells: f64,
        /// Cells that can be travelled in one step.
        limit: f64,
    },
    /// The fluid went too far away.
    #[error(
        "the fluid reaches cell {cell:?} at t = {time} s: an unbounded grid ends {limit} cells away from where it began"
    )]
    TooFar {
        /// Where, one index per axis.
        cell: Vec<isize>,
        /// When, in seconds.
        time: f64,
        /// The furthest cell that there can be.
        limit: isize,
    },
    /// There is no memory for the fields.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// It was asked to stop within a step: see [`Simulation::set_cancel`].
    #[error("the step was cancelled")]
    Cancelled,
    /// A solver did not converge, and the caller asked for an error then.
    #[error(
        "the {what} solve did not converge in step {step} at t = {time} s: residual {residual:.1e} after {iterations} iterations"
    )]
    NotConverged {
        /// Which solve.
        what: &'static str,
        /// The step, counted from 0.
        step: u64,
        /// When, in seconds.
        time: f64,
        /// What remains of the right side, relative to it.
        residual: f64,
        /// Iterations made.
        iterations: u32,
    },
}

/// A value stopped being finite.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{field} became {value} in cell {cell:?} at t = {time} s, in step {step} ({stage})")]
pub struct NotFinite {
    /// Which field.
    pub field: String,
    /// What the cell holds.
    pub value: f32,
    /// Where, one index per axis.
    pub cell: Vec<isize>,
    /// When, in seconds.
    pub time: f64,
    /// The step in which it was found, counted from 0.
    pub step: u64,
    /// The part of the step after which it was found.
    pub stage: &'static str,
}

impl<const D: usize> Field<D> {
    /// An error that names the first cell whose value is not finite.
    pub(crate) fn find_not_finite(&self, name: &str, clock: &Clock, stage: &'static str) -> Result<(), NotFinite> {
        let layout = self.layout();
        let in_row = |row: Row<'_, D>| {
            let x = self.row(row).iter().position(|v| !v.is_finite())?;
            let mut cell = row.index;
            cell[0] += x as isize;
            Some((cell, self.row(row)[x]))
        };
        let in_cells = || (0..layout.rows()).find_map(|r| in_row(layout.row(r)));
        // The last faces are stored behind the cells.
        let on_last = || self.find_last(|v| !v.is_finite()).map(|at| (at, self.get_signed(at)));
        if let Some((cell, value)) = in_cells().or_else(on_last) {
            return Err(NotFinite {
                field: name.to_string(),
                value,
                cell: cell.to_vec(),
                time: clock.time,
                step: clock.steps - 1,
                stage,
            });
        }
        Ok(())
    }
}
