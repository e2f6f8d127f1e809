//! Smoke on a staggered grid (Cline, Cardon & Egbert; Fedkiw, Stam & Jensen 2001), in a box or without bounds.
//!
//! Velocities live on the faces of cells, where the projection makes them free of divergence exactly. Without bounds the
//! grid consists of tiles that follow the smoke: outside is still air, or wind, at pressure zero.
//!
//! Differences from the papers: hot smoke rises (a sign), wind and cooling are exact in time, the pressure of the last
//! step takes part in transport (second order in time), and the limit on the step knows how fast the flow may become.

mod carried;
mod obstacles;
mod outside;
pub(super) mod parts;
mod pressure;
mod tiles;

use crate::Real;
use crate::advect::{Advection, MapScratch};
use crate::clock::Clock;
use crate::field::{Field, OutOfMemory, VectorField};
use crate::force::{Force, Source, Substance};
use crate::grid::{At, Axis, Ends, Grid};
use crate::layout::Layout;
use crate::project::Projected;
use crate::report::{StepReport, Timings};
use crate::sample::Isa;
use crate::sim::StepError;
use crate::texture::TextureCoordinates;
use crate::trace::Tracer;

use super::{LAGGED_UP_TO, Splitting};
use obstacles::Obstacles;
use parts::Carried;
use pressure::Pressure;
use tiles::{Ages, Edge, PATIENCE};

/// How a step is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options<const D: usize> {
    /// How values are taken from departure points.
    pub advection: Advection,
    /// How the step is split; `Paper` counts as `Plain`.
    pub splitting: Splitting,
    /// How departure points are found.
    pub tracer: Tracer,
    /// What the pressure solver may leave of the divergence, relative to what it found.
    pub tolerance: f64,
    /// The air that the smoke is in moves like this, in metres per second.
    pub wind: [Real; D],
    /// How fast the edge of an unbounded grid takes the velocity of the wind, per second.
    pub wind_rate: f64,
    /// Cells of clean air kept around the smoke where the grid follows it; more if the flow is fast.
    pub buffer: usize,
    /// The instruction set to compute with. All give the same bits.
    pub isa: Isa,
}

impl<const D: usize> Default for Options<D> {
    fn default() -> Self {
        Options {
            advection: Advection::MacCormack,
            splitting: Splitting::LaggedPressure,
            tracer: Tracer::Auto,
            tolerance: 1e-4,
            wind: [0.0; D],
            wind_rate: 1.0,
            buffer: 3,
            isa: Isa::best(),
        }
    }
}

/// Smoke: air, and what it carries.
pub struct Smoke<const D: usize> {
    /// The box; or, if its axes are unbounded, the cell size and the part that is looked at.
    pub grid: Grid<D>,
    /// How a step is computed.
    pub options: Options<D>,
    /// Kinematic viscosity, in square metres per second.
    pub viscosity: f64,
    /// What is carried along.
    pub substances: Vec<Substance<D>>,
    /// What pushes.
    pub forces: Vec<Box<dyn Force<D>>>,
    /// What gives off substances.
    pub sources: Vec<Box<dyn Source<D>>>,
    /// Coordinates of what is painted on the fluid, if anything is.
    pub texture: Option<TextureCoordinates<D>>,
    layout: Layout<D>,
    /// How long each tile has been empty.
    ages: Ages,
    /// Where the tiles end, if there are tiles.
    edge: Option<Edge<D>>,
    clock: Clock,
    /// On faces, free of divergence between steps; and one step ago.
    velocity: VectorField<D>,
    velocity_before: VectorField<D>,
    /// Pressure over density.
    pressure: Field<D>,
    scratch: Option<MapScratch<D>>,
    solver: Pressure<D>,
    /// How much fluid appears, per volume and second; if any ever does.
    swelling: Option<Field<D>>,
    obstacles: Option<Obstacles<D>>,
    /// The largest velocity component of the fluid, in metres per second; and how fast it grew in the last step.
    max_speed: f64,
    acceleration: f64,
    timings: Timings,
}

impl<const D: usize> Smoke<D> {
    /// Clean air, moving with the wind if there are no bounds. Cells must be cubes.
    pub fn new(grid: Grid<D>, options: Options<D>) -> Result<Self, OutOfMemory> {
        assert!(grid.spacing.iter().all(|h| (h / grid.spacing[0] - 1.0).abs() < 1e-6), "cells are cubes");
        let unbounded = grid.axes.contains(&Axis::Unbounded);
        assert!(!unbounded || grid.axes == [Axis::Unbounded; D], "all axes are unbounded, or none");
        // Some tile has to be there; the first step finds the right ones.
        let layout = if unbounded { Layout::tiles([[0; D]]) } else { Layout::dense(grid.cells) };
        let faces = || -> Result<VectorField<D>, OutOfMemory> {
            let fields: Vec<_> = (0..D)
                .map(|c| {
                    let mut field = Field::on(&layout, At::Face(c), velocity_ends(&grid, &options, c))?;
                    if unbounded {
                        field.fill(options.wind[c]);
                    }
                    field.fill_halo();
                    Ok(field)
                })
                .collect::<Result<_, _>>()?;
            Ok(fields.try_into().expect("one field per axis"))
        };
        Ok(Smoke {
            viscosity: 0.0,
            substances: Vec::new(),
            forces: Vec::new(),
            sources: Vec::new(),
            texture: None,
            // The tile to begin with goes at once, if it is not where the smoke is.
            ages: vec![PATIENCE],
            clock: Clock::default(),
            velocity: faces()?,
            velocity_before: faces()?,
            pressure: Field::on(&layout, At::Center, grid.pressure_ends())?,
            scratch: None,
            solver: Pressure::new(&grid, &layout, false)?,
            edge: Edge::of(&layout),
            swelling: None,
            obstacles: None,
            max_speed: if unbounded { options.wind.iter().fold(0.0, |m: f64, w| m.max(w.abs() as f64)) } else { 0.0 },
            acceleration: 0.0,
            timings: Timings::default(),
            layout,
            options,
            grid,
        })
    }

    /// How many fields, each of one number per cell, smoke with this many substances takes in a box.
    pub fn fields_needed(options: &Options<D>, substances: usize) -> usize {
        2 * D + 1 + substances + MapScratch::<D>::fields(options.advection)
    }

    /// Adds something to be carried, of which there is `ambient` everywhere; returns its place in the list.
    pub fn add_substance(&mut self, name: &str, ambient: Real) -> Result<usize, OutOfMemory> {
        self.substances.push(Substance::on(&self.layout, &self.grid, name, ambient)?);
        Ok(self.substances.len() - 1)
    }

    /// Which cells exist.
    pub fn layout(&self) -> &Layout<D> {
        &self.layout
    }

    /// One time step.
    pub fn step(&mut self, dt: f64) -> Result<StepReport, StepError> {
        assert!(dt > 0.0 && dt.is_finite(), "a time step must be positive, not {dt}");
        self.timings = Timings::default();
        let cfl = self.speed() * dt;
        self.follow_the_smoke(cfl, dt);
        let projected = match self.options.splitting {
            Splitting::LaggedPressure if cfl <= LAGGED_UP_TO => self.lagged_pressure(dt),
            Splitting::Reflection => self.reflection(dt),
            Splitting::LaggedPressure | Splitting::Plain | Splitting::Paper => self.plain(dt),
        };
        self.carry_texture(dt);
        self.clock.tick(dt);
        self.report(dt, cfl, projected)
    }

    /// v = u + dt/2 du/dt;  u* = A(u + dt/2 (f - G); v) + dt/2 (f - G);  G += grad q / dt
    fn lagged_pressure(&mut self, dt: f64) -> Projected {
        let (t, half) = (self.clock.time, 0.5 * dt);
        self.trace_ahead(dt);
        self.push(t, half);
        self.apply_pressure(half);
        self.transport(Carried::Everything);
        self.move_obstacles(t, dt);
        // Before the pressure pushes again: it pushes the fluid, but not what lies inside of solids, and viscosity would
        // see a jump at every surface that the fluid sticks to.
        self.diffuse(dt);
        self.emit(t, dt);
        self.apply_pressure(half);
        self.push(t + half, half);
        let done = self.make_incompressible(Some(dt));
        self.accumulate_pressure(dt);
        done
    }

    /// u1 = A(u; u) over half a step;  uh = P u1;  u2 = A(2 uh - u1; uh) over the other half;  u = P u2
    fn reflection(&mut self, dt: f64) -> Projected {
        let (t, half) = (self.clock.time, 0.5 * dt);
        self.trace_now(half);
        self.transport(Carried::Velocity);
        self.push(t, half);
        self.make_incompressible(None);
        self.replace_pressure(half);
        self.trace_now(dt);
        self.transport(Carried::Substances);
        self.trace_now(half);
        self.apply_pressure(half); // the mirror image: 2 uh - u1 = uh - grad q
        self.transport(Carried::Velocity);
        self.move_obstacles(t, dt);
        self.emit(t, dt);
        self.push(t + half, half);
        self.diffuse(dt);
        let done = self.make_incompressible(None);
        self.replace_pressure(half);
        done
    }

    /// One map for everything: advect, force, diffuse, project.
    fn plain(&mut self, dt: f64) -> Projected {
        let t = self.clock.time;
        self.trace_now(dt);
        self.transport(Carried::Everything);
        self.move_obstacles(t, dt);
        self.emit(t, dt);
        self.push(t, dt);
        self.diffuse(dt);
        let done = self.make_incompressible(None);
        self.replace_pressure(dt);
        done
    }
}

/// What velocity component `c` does at the ends: as the sides of the box say, or the wind far away.
fn velocity_ends<const D: usize>(grid: &Grid<D>, options: &Options<D>, c: usize) -> [Ends; D] {
    grid.velocity_ends(c).map(|ends| match ends {
        Ends::Unbounded(_) => Ends::Unbounded(options.wind[c]),
        bounded => bounded,
    })
}
