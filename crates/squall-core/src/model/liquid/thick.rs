//! Viscous liquids: honey, chocolate, lava.
//!
//! ```text
//! u = project(u)        gravity and all that pushes; its pressure is the one that is remembered
//! u = u + d             viscosity: [`Stress`], which knows of the free surface
//! u = project(u)        what viscosity left of divergence; its pressure is not remembered
//! ```
//!
//! The first projection makes of a fall onto a floor a flow along it, so that viscosity works on what is to be; without it a thick drop would
//! stick where it lands. Faces that no stress reaches, but particles do, take the change of those beside them.

use super::elastic::Strained;
use super::{Liquid, like};
use crate::Real;
use crate::diffuse::Diffusion;
use crate::diffuse::stress::{Matter, Stress, Thickness};
use crate::field::{Field, OutOfMemory, Pad, VectorField};
use crate::flow::Flow;
use crate::force::Substance;
use crate::grid::{At, Grid};
use crate::layout::Row;
use crate::ops::each;
use crate::poisson::CellState;
use crate::project::Projected;
use crate::report::{SolveReport, Stage};
use crate::sim::StepError;
use crate::solid::Walls;

/// How viscosity acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Viscous {
    /// By the whole stress, with nothing on the surface: what turns goes on turning, and threads fold and coil.
    #[default]
    Full,
    /// On one component after the other, as in textbooks: quicker, but it brakes what turns.
    Component,
}

impl Viscous {
    /// What it is called in scenes and reports.
    pub fn name(self) -> &'static str {
        match self {
            Viscous::Full => "full",
            Viscous::Component => "component",
        }
    }
}

/// What a law of viscosity can know.
pub struct Surroundings<'a, const D: usize> {
    /// Where cells are.
    pub grid: &'a Grid<D>,
    /// Simulated seconds.
    pub time: f64,
    /// What the liquid carries, and before that the liquid itself; as it is in cells.
    pub substances: &'a [Substance<D>],
    /// How fast it is sheared, in 1/s: `sqrt(2 e : e)`, where `e` is the rate of strain.
    pub shear: &'a Field<D>,
}

/// A law that says how thick a liquid is, cell by cell.
pub trait Law<const D: usize>: Send + Sync {
    /// Sets the kinematic viscosity, in square metres per second, in all cells where there is liquid.
    fn find(&self, at: &Surroundings<'_, D>, viscosity: &mut Field<D>);
}

/// How the viscosity changes in a range of temperatures (METHODS of Carlson et al. 2002 for melting).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Melting {
    /// The place of the temperature among the substances of the flow.
    pub substance: usize,
    /// Where it begins to melt, and where it is molten.
    pub range: [f64; 2],
    /// Its viscosity below the range, and above, in square metres per second.
    pub viscosity: [f64; 2],
    /// Whether the logarithm is interpolated, or the viscosity itself.
    pub logarithmic: bool,
}

impl Melting {
    /// The viscosity at a temperature: never rises with it, and has no jumps.
    pub fn at(&self, temperature: f64) -> f64 {
        let [cold, hot] = self.range;
        let part = ((temperature - cold) / (hot - cold)).clamp(0.0, 1.0);
        let [thick, thin] = self.viscosity;
        match (self.logarithmic, part) {
            (_, 0.0) => thick,
            (_, 1.0) => thin,
            (true, _) => thick * libm::pow(thin / thick, part),
            (false, _) => thick + part * (thin - thick),
        }
    }
}

impl<const D: usize> Law<D> for Melting {
    fn find(&self, at: &Surroundings<'_, D>, viscosity: &mut Field<D>) {
        let temperature = &at.substances[self.substance].field;
        viscosity.par_rows(|row, out| {
            out.iter_mut().zip(temperature.row(row)).for_each(|(out, t)| *out = self.at((*t).into()) as Real);
        });
    }
}

/// What viscosity needs besides the flow.
pub(super) struct Thick<const D: usize> {
    stress: Option<Stress<D>>,
    by_component: Option<Diffusion<D>>,
    pub walls: Walls<D>,
    /// What particles say of their strain, if the liquid is elastic.
    pub strained: Option<Strained<D>>,
    /// With a law: the viscosity, how fast the liquid is sheared, and room for one more.
    varying: Option<[Field<D>; 3]>,
    change: VectorField<D>,
    reached: VectorField<D>,
}

impl<const D: usize> Thick<D> {
    fn new(flow: &Flow<D>) -> Result<Self, OutOfMemory> {
        Ok(Thick {
            stress: None,
            by_component: None,
            walls: Walls::new(flow.layout(), &flow.grid)?,
            strained: None,
            varying: None,
            change: like(&flow.velocity)?,
            reached: like(&flow.velocity)?,
        })
    }
}

/// By how many faces the change goes on beyond those that stresses reach.
const BEYOND: usize = 2;

impl<const D: usize> Liquid<D> {
    /// Whether it is thick at all.
    pub fn is_viscous(&self) -> bool {
        self.flow.viscosity > 0.0 || self.law.is_some() || self.elastic.is_some()
    }

    /// Says how thick the liquid is by a law, instead of by one number.
    pub fn set_viscosity_law(&mut self, law: Box<dyn Law<D>>) {
        self.law = Some(law);
    }

    /// Viscosity, and once more the projection. What there is no viscosity in is left alone, to the bit.
    pub(super) fn resist(&mut self, dt: f64, cfl: f64, done: Projected) -> Result<Projected, StepError> {
        if !self.is_viscous() {
            self.thick = None;
            return Ok(done);
        }
        self.flow.go_on()?;
        let timer = self.flow.timings.start();
        let mut thick = match self.thick.take() {
            Some(thick) if thick.walls.layout() == self.flow.layout() => thick,
            _ => Thick::new(&self.flow)?,
        };
        self.find_viscosity(&mut thick)?;
        self.gather_strain(&mut thick)?;
        let report = match self.viscous {
            // Strains are stresses of all components.
            Viscous::Component if self.elastic.is_none() => self.resist_by_component(dt, &mut thick)?,
            _ => self.resist_by_stress(dt, &mut thick)?,
        };
        self.flow.viscous = self.flow.viscous.and(&report);
        self.thick = Some(thick);
        self.flow.timings.stop(Stage::Diffuse, timer);
        let again = self.project(cfl);
        Ok(Projected { solve: done.solve.and(&again.solve), ..again })
    }

    fn resist_by_stress(&mut self, dt: f64, thick: &mut Thick<D>) -> Result<SolveReport, StepError> {
        let level = self.surface_level();
        let strain = self.elastic.map_or(0.0, |_| self.mean_strain());
        let Thick { stress, walls, strained, varying, change, reached, .. } = thick;
        let Flow { grid, velocity, obstacles, options, pressure, viscosity, cancel, .. } = &mut self.flow;
        let [stiffness, elastic] = self.elastic.map_or([0.0; 2], |elastic| elastic.within(dt, strain));
        if let (Some([nu, ..]), true) = (&mut *varying, elastic > 0.0) {
            nu.par_rows(|_, nu| nu.iter_mut().filter(|nu| **nu > 0.0).for_each(|nu| *nu += elastic as Real));
            nu.fill_halo();
        }
        if stress.is_none() {
            *stress = Some(Stress::new(velocity[0].layout(), grid, options.isa)?);
        }
        let Some(stress) = stress else { unreachable!("it has just been made") };
        stress.set_cancel(cancel);
        let constant = Thickness::Constant(*viscosity + elastic);
        let viscosity = varying.as_ref().map_or(constant, |[nu, ..]| Thickness::Varying(nu));
        let solids = obstacles.as_ref().map(|o| (&o.solids, walls));
        let matter = Matter { grid, surface: Some((&self.phi, level)), viscosity, solids };
        let strain = strained.as_ref().map(|strained| strained.stress(stiffness));
        let report = stress.find(velocity, dt, matter, strain)?;
        stress.change(change, reached);
        self.extrapolation.from_told(change, reached, pressure, BEYOND);
        for (u, d) in velocity.iter_mut().zip(&*change) {
            u.par_rows(|row, u| u.iter_mut().zip(d.row(row)).for_each(|(u, d)| *u += d));
        }
        Ok(report)
    }

    /// The implicit step of textbooks: every link between two faces of the liquid counts, those to air do not.
    fn resist_by_component(&mut self, dt: f64, thick: &mut Thick<D>) -> Result<SolveReport, StepError> {
        let Thick { by_component, walls, varying, .. } = thick;
        let Flow { grid, velocity, obstacles, options, viscosity, .. } = &mut self.flow;
        let diffusion =
            by_component.get_or_insert_with(|| Diffusion::with_isa(walls.layout(), grid.spacing, options.isa));
        let nu = varying.as_ref().map(|[nu, ..]| nu);
        // Links count in parts of the thickest.
        let most = nu.map_or(*viscosity, |nu| f64::from(crate::ops::max_abs(nu)));
        let mut report = SolveReport::NONE;
        for (a, u) in velocity.iter_mut().enumerate() {
            match obstacles {
                Some(o) => walls.find(&o.solids, grid, a, u),
                None => walls.clear(),
            }
            let phi = &self.phi;
            walls.state.par_rows(|row, state| {
                let mut pad = Pad::default();
                let (low, high) = (phi.down(row, a, &mut pad), phi.row(row));
                for (x, state) in state.iter_mut().enumerate() {
                    if low[x] >= 0.0 && high[x] >= 0.0 && *state == CellState::Fluid {
                        *state = CellState::Solid;
                    }
                }
            });
            let (states, weights) = (&walls.state, &mut walls.weight);
            for (b, weight) in weights.iter_mut().enumerate() {
                weight.par_rows(|row, weight| {
                    let mut pad = Pad::default();
                    let (here, below) = (states.row(row), states.down(row, b, &mut pad));
                    for x in 0..weight.len() {
                        if here[x] == CellState::Solid || below[x] == CellState::Solid {
                            weight[x] = 0.0;
                        }
                    }
                    if let Some(nu) = nu {
                        let mut pads = [Pad::default(); 2];
                        let cells = link_cells(nu, row, a, b, &mut pads);
                        for (x, weight) in weight.iter_mut().enumerate() {
                            let product: f64 = cells.iter().map(|c| f64::from(c[x])).product();
                            *weight *= (libm::pow(product, 1.0 / cells.len() as f64) / most) as Real;
                        }
                    }
                });
                weight.fill_halo();
            }
            report = report.and(&diffusion.apply(u, most * dt, walls.around())?);
        }
        Ok(report)
    }

    /// What the law says, where there is one.
    fn find_viscosity(&mut self, thick: &mut Thick<D>) -> Result<(), OutOfMemory> {
        let Self { law: Some(law), last, flow, .. } = self else {
            thick.varying = None;
            return Ok(());
        };
        let Flow { grid, substances, clock, .. } = &*flow;
        if thick.varying.is_none() {
            let new = || Field::on(thick.walls.layout(), At::Center, grid.flat_ends(0.0));
            thick.varying = Some([new()?, new()?, new()?]);
        }
        let Some([nu, shear, spare]) = &mut thick.varying else { unreachable!("it has just been made") };
        // As the last step left it: what gravity has just added is not yet balanced, and would make a heap at rest yield.
        last.iter_mut().for_each(|u| u.fill_halo());
        find_shear(last, grid.spacing[0], shear);
        law.find(&Surroundings { grid, time: clock.time, substances, shear }, nu);
        let liquid = &substances[0].field;
        // Nothing that a law says of air is true: it is as thick as the liquid beside it, and zero means that nothing is known.
        nu.par_rows(|row, nu| {
            for (nu, liquid) in nu.iter_mut().zip(liquid.row(row)) {
                let usable = if nu.is_finite() { nu.clamp(1e-9, 1e12) } else { 1e12 };
                *nu = if *liquid > 0.0 { usable } else { 0.0 };
            }
        });
        for _ in 0..2 {
            nu.fill_halo();
            let known = &*nu;
            spare.par_rows(|row, out| go_beyond(known, row, out));
            std::mem::swap(nu, spare);
        }
        nu.fill_halo();
        Ok(())
    }
}

/// Cells of which nothing is known take the geometric mean of those beside them.
fn go_beyond<const D: usize>(known: &Field<D>, row: Row<'_, D>, out: &mut [Real]) {
    let here = known.row(row);
    out.copy_from_slice(here);
    if here.iter().all(|nu| *nu > 0.0) {
        return;
    }
    let mut pads: [[Pad; 2]; D] = each(|_| Default::default());
    let mut rest = pads.iter_mut();
    let beside: [[&[Real]; 2]; D] = each(|a| {
        let [p, q] = rest.next().expect("pads for each axis");
        [known.down(row, a, p), known.up(row, a, q)]
    });
    for x in (0..out.len()).filter(|&x| here[x] <= 0.0) {
        let some = beside.as_flattened().iter().map(|nu| nu[x]).filter(|nu| *nu > 0.0);
        let (sum, count) = some.fold((0.0, 0), |(sum, n), nu| (sum + libm::log(nu.into()), n + 1));
        if count > 0 {
            out[x] = libm::exp(sum / f64::from(count)) as Real;
        }
    }
}

/// The cells around the middle of the link from a face across `a` to the next one down `b`: one, or four.
fn link_cells<'a, const D: usize>(
    nu: &'a Field<D>,
    row: Row<'_, D>,
    a: usize,
    b: usize,
    pads: &'a mut [Pad; 2],
) -> smallvec::SmallVec<[&'a [Real]; 4]> {
    let [pad, other] = pads;
    if a == b {
        return smallvec::smallvec![nu.down(row, a, pad)];
    }
    let (low, high) = (a.min(b), a.max(b));
    smallvec::smallvec![
        nu.row(row),
        nu.down(row, low, pad),
        nu.row(row.down(high)),
        nu.down(row.down(high), low, other)
    ]
}

/// How fast a flow is sheared at cell centres, in 1/s. Needs the ghosts of `u`.
fn find_shear<const D: usize>(u: &VectorField<D>, h: f64, shear: &mut Field<D>) {
    let inv_h = (1.0 / h) as Real;
    shear.par_rows(|row, out| {
        out.fill(0.0);
        let n = out.len();
        for a in 0..D {
            let mut pad = Pad::default();
            let (low, high) = (u[a].row(row), u[a].up(row, a, &mut pad));
            for x in 0..n {
                let e = inv_h * (high[x] - low[x]);
                out[x] += 2.0 * e * e;
            }
            for b in a + 1..D {
                // Four times the mean of the differences on the edges around: of both components.
                let mut sum = [0.0; 256];
                for begin in (0..n).step_by(256) {
                    let len = (n - begin).min(256);
                    let sum = &mut sum[..len];
                    sum.fill(0.0);
                    for (c, along) in [(a, b), (b, a)] {
                        let mut pads = [Pad::default(); 4];
                        let [p, q, r, s] = &mut pads;
                        let field = &u[c];
                        let (up, down) = (field.up(row, along, p), field.down(row, along, q));
                        // The same on the faces on the other side of the cell.
                        let (next_up, next_down) = if c == 0 {
                            (field.up(row.up(along), 0, r), field.up(row.down(along), 0, s))
                        } else {
                            (field.up(row.up(c), along, r), field.down(row.up(c), along, s))
                        };
                        for x in 0..len {
                            let i = begin + x;
                            sum[x] += (up[i] - down[i]) + (next_up[i] - next_down[i]);
                        }
                    }
                    for x in 0..len {
                        let e = 0.25 * inv_h * sum[x];
                        out[begin + x] += e * e;
                    }
                }
            }
        }
        out.iter_mut().for_each(|v| *v = v.sqrt());
    });
}
