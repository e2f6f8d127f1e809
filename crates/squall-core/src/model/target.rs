//! Smoke that takes shapes (Fustin & Mihajlovic; Fattal & Lischinski 2004): forces drive it towards a target density, and
//! it forms the target as smoke would.
//!
//! ```text
//! du/dt   = -(u grad) u - grad p + v_f F - v_d u,   div u = 0       F = rt grad(rts) / rts
//! drho/dt = -div(rho u) + v_g G                                     G = div(rho rts grad(rho - rho*))
//! ```
//!
//! `rt` and `rts` are the smoke and its target, smoothed. `grad(rts) / rts` points towards the target wherever its smoothed
//! edge can be felt, and where the smoke has become the target the force is a gradient, which the pressure takes up: the target is
//! an equilibrium. `v_d` lets the flow settle. Gathering, `G`, diffuses the error; it sharpens what transport cannot, as an
//! incompressible flow only rearranges what is there.
//!
//! Differences from the paper: the force has the gradient of the smoothed target, attenuation is implicit, the
//! pressure is solved directly, momentum is carried by the projected flow along all axes, and gathering is a transport that can neither
//! lose mass nor make it negative. Levelling (`level`) is our own: it brings smoke to where it is missing, which the papers' terms
//! do not see; with a levelling of zero they stand alone. Lengths are metres: with smoke of density one in a unit box, the paper's
//! numbers apply.
//!
//! | file | what it holds |
//! |---|---|
//! | `goal` | targets, their timeline, and what is computed from them |
//! | `check` | what can be wrong with a target |
//! | `parts` | the parts of a step that only this model has |
//! | `gather` | gathering |
//! | `level` | levelling: what is missing elsewhere |
//! | `suggest` | parameters that suit a smoke and its target |
//! | `metrics` | how well the target is met |

mod check;
mod gather;
mod goal;
mod level;
mod metrics;
mod parts;
mod suggest;

use super::Model;
use crate::advect::Advection;
use crate::advect::hyperbolic::{Limiter, SweepScratch};
use crate::diffuse::DiffusionScheme;
use crate::field::{Field, OutOfMemory, VectorField};
use crate::flow::{self, Flow, faces, show};
use crate::grid::{At, Axis, Ends, Grid};
use crate::parameter::ParameterList;
use crate::poisson::{Spectral, Symbol};
use crate::project::REFINE_ABOVE;
use crate::replay::Replay;
use crate::report::StepReport;
use crate::shape::Track;
use crate::sim::{FieldInfo, Figure, StateVisitor, StepError};
use crate::snapshot::Snapshot;

pub use check::TargetError;
pub use gather::{Gathered, MOST_CYCLES};
pub use goal::{Guided, Matching, ShapeTarget, Smoothing, Target, TargetSource};
pub use metrics::{Metrics, PEAKS_MATCH};
pub use suggest::{Parameters, suggest};

/// However far others let things move in a step: beyond this many cells advection takes several parts.
const MOST_CELLS: f64 = 0.8;

/// How often a step projects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Projections {
    /// Once; momentum is carried by the flow that the last step left. Forces are mostly gradients, and what single precision leaves
    /// of them after one solve lets the mass drift by some parts in a million.
    Once,
    /// Before momentum is carried, too: it is carried by the flow with the new forces, and what the second solve leaves is
    /// rounding. Meets targets better.
    #[default]
    Twice,
}

/// How a step is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// How slopes are limited in advection.
    pub limiter: Limiter,
    /// How often a step projects.
    pub projections: Projections,
}

/// Several smokes in one flow, each on its way to its targets.
pub struct TargetSmoke<const D: usize> {
    /// The flow, and what is carried along: the smokes, and anything else. (Fluid that appears is not supported: advection in flux
    /// form needs a flow without divergence.)
    pub flow: Flow<D>,
    /// How a step is computed.
    pub options: Options,
    /// `v_d`: the part of the velocity that is lost per second, over time.
    pub damping: Track<1>,
    guided: Vec<Guided<D>>,
    /// The flow that carries.
    carrier: VectorField<D>,
    /// Room for a smoothed smoke.
    smooth: Field<D>,
    sweeps: SweepScratch<D>,
    blur: Blur<D>,
}

impl<const D: usize> TargetSmoke<D> {
    /// Clean air at rest in a box.
    pub fn new(grid: Grid<D>, options: Options) -> Result<Self, OutOfMemory> {
        assert!(!grid.is_unbounded(), "targets live in a box");
        let shared = flow::Options {
            advection: Advection::SemiLagrangian,
            diffusion: DiffusionScheme::Exact,
            tolerance: 1e-5,
            ..flow::Options::default()
        };
        let mut flow = Flow::new(grid, shared)?;
        // Advection in flux form needs a flow without divergence.
        flow.refine_above = REFINE_ABOVE;
        flow.books.whole_cells = true;
        Ok(TargetSmoke {
            damping: Track::constant([3.0]),
            guided: Vec::new(),
            carrier: faces(flow.layout(), |c| grid.velocity_ends(c))?,
            smooth: Field::on(flow.layout(), At::Center, flat_ends(&grid))?,
            sweeps: SweepScratch::new(flow.layout())?,
            blur: Blur::new(&grid),
            flow,
            options,
        })
    }

    /// How many fields, each of one number per cell, it takes; `smokes` of the substances have targets.
    pub fn fields_needed(substances: usize, smokes: usize) -> usize {
        let shared = flow::Options { advection: Advection::SemiLagrangian, ..flow::Options::default() };
        Flow::<D>::fields_needed(&shared, substances) + 2 * D + smokes * (5 + D)
    }

    /// One time step. Flows of more than one cell per step are carried in parts.
    pub fn step(&mut self, dt: f64) -> Result<StepReport, StepError> {
        let cfl = self.flow.begin(dt)?;
        let t = self.flow.time();

        self.take_aim(t);
        self.drive(t, dt); //                        1  u += dt v_f F
        self.attenuate(t, dt); //                    2  u /= 1 + dt v_d
        self.flow.emit(t, dt); //                       before the projections: what enters pushes
        self.project_before_advection(); //             (only with two projections)
        self.advect_momentum(dt)?; //                3  du/dt = -(u grad) u
        let done = self.flow.project(None); //       4  lap q = div u, u -= grad q
        self.flow.replace_pressure(dt);
        self.advect_smoke(t, dt)?; //                5  drho/dt = -div(rho u)
        self.flow.diffuse_substances(dt)?;
        self.flow.lose(dt);
        self.gather(t, dt); //                       6  drho/dt = v_g G
        self.flow.advect_texture(dt);

        Ok(StepReport { cfl, splitting: "target", ..self.flow.finish(dt, done)? })
    }

    /// The densities that smokes are driven to, by their names.
    fn goal_of(&self, smoke: &str) -> Option<&Field<D>> {
        let substance = self.flow.substances.iter().position(|s| s.name == smoke)?;
        self.guided.iter().find(|g| g.substance == substance).map(|g| g.goal())
    }
}

impl<const D: usize> Model<D> for TargetSmoke<D> {
    fn flow(&self) -> &Flow<D> {
        &self.flow
    }

    fn flow_mut(&mut self) -> &mut Flow<D> {
        &mut self.flow
    }

    fn step(&mut self, dt: f64) -> Result<StepReport, StepError> {
        TargetSmoke::step(self, dt)
    }

    /// `dt = min(c h / U, sqrt(c h / a))`, where `a` is what the targets may do to a fluid at rest.
    fn longest_step(&self, cfl: f64) -> f64 {
        let cells = cfl.min(MOST_CELLS);
        let from_rest = (cells * self.flow.grid.min_spacing() / self.most_pulled()).sqrt();
        self.flow.longest_step(cells).min(from_rest)
    }

    fn fields(&self) -> Vec<FieldInfo> {
        let goals = self.guided.iter().map(|g| format!("target of {}", self.flow.substances[g.substance].name));
        self.flow.fields().into_iter().chain(goals.map(|name| FieldInfo { name, components: 1 })).collect()
    }

    fn field(&self, name: &str, component: usize) -> Option<&Field<D>> {
        match name.strip_prefix("target of ") {
            Some(smoke) => self.goal_of(smoke),
            None => self.flow.field(name, component),
        }
    }

    fn figures(&mut self) -> Vec<Figure> {
        let metrics = self.metrics();
        let names = self.guided.iter().map(|g| self.flow.substances[g.substance].name.as_str());
        let smokes = names.zip(&metrics).flat_map(|(name, m)| m.figures(name));
        std::iter::once(Figure::new("energy", self.flow.energy())).chain(smokes).collect()
    }

    fn visit_parameters(&mut self, visit: &mut ParameterList<'_>) {
        visit.fixed("advection", "smoke with targets is carried in flux form");
        visit.fixed("splitting", "smoke with targets has a step of its own");
        self.flow.visit_parameters(visit);
    }

    fn visit_own_state(&mut self, visitor: &mut dyn StateVisitor) {
        for guided in &mut self.guided {
            let aim = &mut guided.aim;
            let mut active = aim.active.map_or(0, |k| k as u64 + 1);
            visitor.integer("target", &mut active);
            aim.active = (active as usize).checked_sub(1);
            visitor.real("target_since", &mut aim.since);
            visitor.real("target_weight", &mut aim.weight);
            visitor.real("target_sigma", &mut aim.sigma);
            visitor.real("thickest", &mut aim.thickest);
            visitor.real("level_steepest", &mut aim.level_steepest);
            aim.first_errors.iter_mut().for_each(|e| visitor.real("first_error", e));
            show(visitor, "target_before", &mut aim.before);
            show(visitor, "target_next", &mut aim.next);
            // Everything else follows, to the bit.
            aim.rebuild(&self.flow.grid, &mut self.blur);
        }
    }
}

impl<const D: usize> Replay for TargetSmoke<D> {
    fn record_flow(&mut self) -> Snapshot {
        self.flow.snapshot()
    }

    fn set_flow(&mut self, flow: &Snapshot) {
        self.flow.restore(flow);
    }

    fn contents(&self) -> Snapshot {
        self.flow.contents()
    }

    fn set_contents(&mut self, contents: &Snapshot) {
        self.flow.set_contents(contents);
    }

    /// Without looking at its targets.
    fn replay(&mut self, recorded: &Snapshot, sources: &[(f64, f64)], dt: f64) -> Result<StepReport, StepError> {
        self.flow.restore(recorded);
        let cfl = self.flow.begin(dt)?;
        self.advect_smoke(self.flow.time(), dt)?;
        self.flow.advect_texture(dt);
        self.flow.emit_at(sources, dt)?;
        let done = self.flow.not_projected();
        Ok(StepReport { cfl, splitting: "recorded", ..self.flow.finish(dt, done)? })
    }
}

super::simulation!(TargetSmoke);

/// Mirrored at all ends.
fn flat_ends<const D: usize>(grid: &Grid<D>) -> [Ends; D] {
    grid.axes.map(|axis| if axis == Axis::Periodic { Ends::Periodic } else { Ends::FLAT })
}

/// Smooths fields by diffusion, exactly: a bell of any width that conserves mass, with mirrors at the walls. (A sampled Gaussian
/// would need cutting off, a Gaussian of modes makes ripples below zero; the bell of the grid's own diffusion does neither, and
/// has the same standard deviation.)
struct Blur<const D: usize>(Spectral<D>);

impl<const D: usize> Blur<D> {
    fn new(grid: &Grid<D>) -> Self {
        Blur(Spectral::new(grid.cells, grid.spacing, flat_ends(grid)))
    }

    /// Smooths with standard deviation `sigma`, in metres. The field's ends must be flat.
    fn apply(&mut self, field: &mut Field<D>, sigma: f64) {
        if sigma > 0.0 {
            self.0.apply(field, Symbol::Exponential { k: 0.5 * sigma * sigma });
        }
    }
}
