//! Models: each file holds one whole time step.
//!
//! A model holds a [`Flow`], writes its step as a list of the flow's parts, and says what it has besides ([`Model`]). All
//! that others see of it ([`Simulation`](crate::Simulation)) follows from that.

pub mod liquid;
pub mod smoke;
pub mod stable_fluids;
pub mod target;

pub use liquid::Liquid;
pub use smoke::Smoke;
pub use stable_fluids::StableFluids;
pub use target::TargetSmoke;

use crate::field::{Field, OutOfMemory};
use crate::flow::Flow;
use crate::parameter::ParameterList;
use crate::report::StepReport;
use crate::sim::{FieldInfo, Figure, Particles, StateVisitor, StepError};

/// What differs from model to model.
pub trait Model<const D: usize>: Send {
    /// The flow that it is made of.
    fn flow(&self) -> &Flow<D>;

    /// The flow that it is made of, to be changed.
    fn flow_mut(&mut self) -> &mut Flow<D>;

    /// Makes of what has been put into it a flow that the first step can begin with. Done once; a step does it where it was not done.
    fn start(&mut self) -> Result<(), OutOfMemory> {
        self.flow_mut().start()
    }

    /// Advances by `dt` seconds.
    fn step(&mut self, dt: f64) -> Result<StepReport, StepError>;

    /// The longest step in which nothing moves by more than `cfl` cells.
    fn longest_step(&self, cfl: f64) -> f64 {
        self.flow().longest_step(cfl)
    }

    /// The fields that can be asked for.
    fn fields(&self) -> Vec<FieldInfo> {
        self.flow().fields()
    }

    /// The field that is called so.
    fn field(&self, name: &str, component: usize) -> Option<&Field<D>> {
        self.flow().field(name, component)
    }

    /// Shows the visitor what the next step depends on besides the flow.
    fn visit_own_state(&mut self, _visitor: &mut dyn StateVisitor) {}

    /// Shows what can be changed while it runs.
    fn visit_parameters(&mut self, visit: &mut ParameterList<'_>) {
        let flow = self.flow_mut();
        flow.visit_schemes(visit);
        flow.visit_parameters(visit);
    }

    /// What it measures of itself when asked.
    fn figures(&mut self) -> Vec<Figure> {
        Vec::new()
    }

    /// Its particles, if it has any.
    fn particles(&self) -> Option<Particles> {
        None
    }

    /// The name of the field that holds the distance to the surface, if there is one.
    fn surface(&self) -> Option<&str> {
        None
    }
}

/// What others see of a model: its number of dimensions is forgotten. It can be replayed, unless it is said to be a `Simulation` alone.
macro_rules! simulation {
    ($model:ident) => {
        $crate::model::simulation!($model as Replay);
    };
    ($model:ident as $kind:ident) => {
        impl<const D: usize> $crate::sim::Simulation for $model<D> {
            fn cells(&self) -> &[usize] {
                &self.flow.grid.cells
            }

            fn placement(&self) -> (Vec<f64>, Vec<f64>) {
                (self.flow.grid.origin.to_vec(), self.flow.grid.spacing.to_vec())
            }

            fn time(&self) -> f64 {
                self.flow.time()
            }

            fn cells_per_second(&self) -> f64 {
                self.flow.speed()
            }

            fn longest_step(&self, cfl: f64) -> f64 {
                $crate::model::Model::longest_step(self, cfl)
            }

            fn step(&mut self, dt: f64) -> Result<$crate::StepReport, $crate::StepError> {
                $crate::model::Model::step(self, dt)
            }

            fn set_cancel(&mut self, token: &$crate::CancelToken) {
                self.flow.cancel = token.clone();
            }

            fn snap_time(&mut self, t: f64) {
                self.flow.snap_time(t);
            }

            fn fields(&self) -> Vec<$crate::FieldInfo> {
                $crate::model::Model::fields(self)
            }

            fn read(&self, name: &str, component: usize, out: &mut Vec<f32>) -> bool {
                let field = $crate::model::Model::field(self, name, component);
                field.map(|field| self.flow.read(field, out)).is_some()
            }

            fn volume(&self, name: &str, component: usize, out: &mut $crate::Volume) -> bool {
                let field = $crate::model::Model::field(self, name, component);
                field.is_some_and(|field| self.flow.read_volume(name, field, out))
            }

            fn scalar(&self, name: &str) -> Option<f64> {
                self.flow.scalar(name)
            }

            fn figures(&mut self) -> Vec<$crate::sim::Figure> {
                $crate::model::Model::figures(self)
            }

            fn particles(&self) -> Option<$crate::sim::Particles> {
                $crate::model::Model::particles(self)
            }

            fn surface(&self) -> Option<&str> {
                $crate::model::Model::surface(self)
            }

            fn parameters(&mut self) -> Vec<$crate::Parameter> {
                let mut all = $crate::parameter::ParameterList::default();
                $crate::model::Model::visit_parameters(self, &mut all);
                all.into_list()
            }

            fn set_parameter(&mut self, name: &str, value: $crate::Value) -> Result<(), $crate::ParameterError> {
                let mut change = $crate::parameter::ParameterList::changing(name, &value);
                $crate::model::Model::visit_parameters(self, &mut change);
                change.into_outcome()
            }

            fn visit_state(&mut self, visitor: &mut dyn $crate::StateVisitor) {
                self.flow.visit_state(visitor);
                $crate::model::Model::visit_own_state(self, visitor);
            }
        }

        $crate::model::simulation!($model as $kind, 2);
        $crate::model::simulation!($model as $kind, 3);
    };
    ($model:ident as $kind:ident, $d:literal) => {
        impl $model<$d> {
            /// As any simulation, started. Its steps are compiled here once, and not in every crate that makes a box of it.
            pub fn boxed(mut self) -> Result<Box<dyn $crate::$kind>, $crate::OutOfMemory> {
                $crate::model::Model::start(&mut self)?;
                Ok(Box::new(self))
            }
        }
    };
}
use simulation;

/// How a step is split into parts. What a fluid loses, it loses mostly here.
///
/// | splitting | advections | projections | order in time | use |
/// |---|---|---|---|---|
/// | `LaggedPressure` | 1 | 1 | 2 | default: keeps vortices alive at the price of a plain step |
/// | `Reflection` | 2 | 2 | 2 | the same for long steps (Zehnder, Narain & Thomaszewski 2018) |
/// | `Plain` | 1 | 1 | 1 | everything is moved at once, then forces, then projection |
/// | `Paper` | 2 | 1 | 1 | the order of Stam's paper: force, advect, diffuse, project, then substances |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Splitting {
    /// Half of the last pressure and half of the forces act before advection, half after it.
    LaggedPressure,
    /// Half a step, mirror at the divergence-free fields, half a step.
    Reflection,
    /// Move, push, project.
    Plain,
    /// The order of Stam's paper.
    Paper,
}

impl Splitting {
    /// What it is called in scenes and reports.
    pub fn name(self) -> &'static str {
        match self {
            Splitting::LaggedPressure => "lagged_pressure",
            Splitting::Reflection => "reflection",
            Splitting::Plain => "plain",
            Splitting::Paper => "paper",
        }
    }

    /// How a step of so many cells is made, and in how many parts.
    fn resolve(self, cfl: f64) -> (Self, u32) {
        match self {
            Splitting::LaggedPressure if cfl > LAGGED_UP_TO => {
                (self, (cfl / LAGGED_UP_TO).ceil().min(MOST_PARTS) as u32)
            }
            _ => (self, 1),
        }
    }
}

/// Above this many cells per step the last pressure says nothing about the next: a longer step is made in parts.
const LAGGED_UP_TO: f64 = 4.0;

/// Nobody makes steps of so many times that.
const MOST_PARTS: f64 = 64.0;

/// A step in equal parts, reported as one.
fn in_parts<const D: usize>(model: &mut impl Model<D>, dt: f64, parts: u32) -> Result<StepReport, StepError> {
    let part = dt / f64::from(parts);
    let mut report = model.step(part)?;
    for _ in 1..parts {
        report = report.followed_by(model.step(part)?);
    }
    Ok(report)
}
