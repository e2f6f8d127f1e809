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
//! lose mass nor make it negative. Lengths are metres: with smoke of density one in a unit box, the paper's numbers apply.
//!
//! | file | what it holds |
//! |---|---|
//! | `goal` | targets, their timeline, and what is computed from them |
//! | `check` | what can be wrong with a target |
//! | `parts` | the parts of a step |
//! | `gather` | gathering |
//! | `obstacles` | solids |
//! | `suggest` | parameters that suit a smoke and its target |
//! | `metrics` | how well the target is met |
//! | `outside` | what others see |

mod carried;
mod check;
mod gather;
mod goal;
mod metrics;
mod obstacles;
mod outside;
mod parts;
mod suggest;

use crate::advect::hyperbolic::{Limiter, SweepScratch};
use crate::clock::Clock;
use crate::diffuse::Diffuser;
use crate::field::{Field, OutOfMemory, VectorField};
use crate::force::{Force, Source, Substance};
use crate::grid::{At, Axis, Ends, Grid};
use crate::layout::Layout;
use crate::ops::each;
use crate::poisson::{Spectral, Symbol};
use crate::report::{StepReport, Timings};
use crate::sample::Isa;
use crate::shape::Track;
use crate::sim::StepError;
use crate::texture::TextureCoordinates;

pub use check::TargetError;
pub use gather::{Gathered, MOST_CYCLES};
pub use goal::{Guided, Matching, ShapeTarget, Smoothing, Target, TargetSource};
pub use metrics::{Metrics, PEAKS_MATCH};
use obstacles::{Obstacles, Pressure};
pub use suggest::{Parameters, suggest};

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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// How slopes are limited in transport.
    pub limiter: Limiter,
    /// How often a step projects.
    pub projections: Projections,
    /// What an iterative pressure solver may leave of the divergence, relative to what it found.
    pub tolerance: f64,
    /// The instruction set to compute with. All give the same bits.
    pub isa: Isa,
}

impl Default for Options {
    fn default() -> Self {
        Options { limiter: Limiter::default(), projections: Projections::default(), tolerance: 1e-5, isa: Isa::best() }
    }
}

/// Several smokes in one flow, each on its way to its targets.
pub struct TargetSmoke<const D: usize> {
    /// The box.
    pub grid: Grid<D>,
    /// How a step is computed.
    pub options: Options,
    /// What is carried along: the smokes, and anything else.
    pub substances: Vec<Substance<D>>,
    /// What pushes, besides targets.
    pub forces: Vec<Box<dyn Force<D>>>,
    /// What gives off substances. (Fluid that appears is not supported: transport in flux form needs a flow without divergence.)
    pub sources: Vec<Box<dyn Source<D>>>,
    /// Coordinates of what is painted on the fluid, if anything is.
    pub texture: Option<TextureCoordinates<D>>,
    /// `v_d`: the part of the velocity that is lost per second, over time.
    pub damping: Track<1>,
    guided: Vec<Guided<D>>,
    clock: Clock,
    /// On faces, free of divergence between steps.
    velocity: VectorField<D>,
    /// The flow that carries.
    carrier: VectorField<D>,
    pressure: Pressure<D>,
    /// The potential of the last projection; and room for a smoothed smoke.
    potential: Field<D>,
    smooth: Field<D>,
    sweeps: SweepScratch<D>,
    blur: Blur<D>,
    diffuser: Diffuser<D>,
    obstacles: Option<Obstacles<D>>,
    /// The largest velocity component, in metres per second.
    max_speed: f64,
    timings: Timings,
}

impl<const D: usize> TargetSmoke<D> {
    /// Clean air at rest in a box.
    pub fn new(grid: Grid<D>, options: Options) -> Result<Self, OutOfMemory> {
        assert!(!grid.axes.contains(&Axis::Unbounded), "targets live in a box");
        let layout = Layout::dense(grid.cells);
        let center = || Field::on(&layout, At::Center, flat_ends(&grid));
        Ok(TargetSmoke {
            substances: Vec::new(),
            forces: Vec::new(),
            sources: Vec::new(),
            texture: None,
            damping: Track::constant([3.0]),
            guided: Vec::new(),
            clock: Clock::default(),
            velocity: faces(&layout, |c| grid.velocity_ends(c))?,
            carrier: faces(&layout, |c| grid.velocity_ends(c))?,
            pressure: Pressure::direct(&grid),
            potential: center()?,
            smooth: center()?,
            sweeps: SweepScratch::new(&layout)?,
            blur: Blur::new(&grid),
            diffuser: Diffuser::new(grid.cells, grid.spacing),
            obstacles: None,
            max_speed: 0.0,
            timings: Timings::default(),
            options,
            grid,
        })
    }

    /// How many fields, each of one number per cell, it takes; `smokes` of the substances have targets.
    pub fn fields_needed(substances: usize, smokes: usize) -> usize {
        2 * D + 2 + (D - 1) + substances + smokes * (4 + D)
    }

    /// One time step. Flows of more than one cell per step are carried in parts.
    pub fn step(&mut self, dt: f64) -> Result<StepReport, StepError> {
        assert!(dt > 0.0 && dt.is_finite(), "a time step must be positive, not {dt}");
        self.timings = Timings::default();
        let t = self.clock.time;

        self.take_aim(t);
        self.drive(t, dt); //                     1  u += dt v_f F
        self.attenuate(t, dt); //                    2  u /= 1 + dt v_d
        self.project_before_transport(); //             (only with two projections)
        self.carry_momentum(dt)?; //                 3  du/dt = -(u grad) u
        let done = self.make_incompressible(); //    4  lap q = div u, u -= grad q
        self.carry_smoke(t, dt)?; //                 5  drho/dt = -div(rho u)
        self.emit(t, dt);
        self.gather(t, dt); //                       6  drho/dt = v_g G
        self.carry_texture(dt);

        self.clock.tick(dt);
        self.report(dt, done)
    }
}

/// One field on the faces across each axis.
fn faces<const D: usize>(layout: &Layout<D>, ends: impl Fn(usize) -> [Ends; D]) -> Result<VectorField<D>, OutOfMemory> {
    let mut fields = Vec::with_capacity(D);
    for c in 0..D {
        let mut field = Field::on(layout, At::Face(c), ends(c))?;
        field.fill_halo();
        fields.push(field);
    }
    let mut fields = fields.into_iter();
    Ok(each(|_| fields.next().expect("one field per axis")))
}

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
