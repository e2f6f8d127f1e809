//! Forces, sources, losses, viscosity and diffusion.

use smallvec::SmallVec;

use super::Flow;
use super::follow::Air;
use super::obstacles::Obstacles;
use crate::Real;
use crate::diffuse::{Around, DiffusionScheme};
use crate::field::{Field, Pad, VectorField};
use crate::force::Moment;
use crate::grid::{At, End};
use crate::ops::{self, above};
use crate::report::Stage;
use crate::rows;
use crate::sim::StepError;
use crate::solid::Walls;

/// What swells has started or stopped if the sum of its rates changed by this part of it within a step.
const JUMP: f64 = 0.25;

impl<const D: usize> Flow<D> {
    /// `u += dt f`, on faces.
    pub fn push(&mut self, time: f64, dt: f64) {
        let timer = self.timings.start();
        self.books.momentum_before(&self.velocity);
        let Self { grid, velocity, substances, forces, scratch, obstacles, .. } = self;
        let now = Moment { time, dt, step: self.step };
        substances.iter_mut().for_each(|s| s.field.fill_halo());
        let (mut others, mut apart): (SmallVec<[usize; 8]>, SmallVec<[usize; 8]>) = Default::default();
        for (i, force) in forces.iter_mut().enumerate() {
            if obstacles.is_some() && force.avoids_solids() {
                apart.push(i);
            } else if !force.apply_to_faces(grid, now, velocity, substances) {
                others.push(i);
            }
        }
        // Others act at the centres; first those that act everywhere, then those that avoid solids.
        for (list, beside) in [(others, None), (apart, obstacles.as_ref().map(|o| &o.exact))] {
            if !list.is_empty() {
                let centered = scratch.lend();
                center(velocity, centered);
                list.iter().for_each(|&i| forces[i].apply(grid, now, centered, substances));
                add_change(velocity, centered, beside);
            }
        }
        self.calm_the_outside();
        for u in &mut self.velocity {
            match self.has_surface {
                true => u.set_end_faces_that_press(&self.pressure),
                false => u.set_end_faces(),
            }
            u.slow_what_enters(&self.grid, dt);
        }
        self.books.momentum_after(&self.velocity);
        self.timings.stop(Stage::Force, timer);
    }

    /// `u += dt f`, at cell centres, for a model whose velocities live there.
    pub fn push_centered(&mut self, u: &mut VectorField<D>, time: f64, dt: f64) {
        let timer = self.timings.start();
        self.books.momentum_before(u);
        for force in &mut self.forces {
            force.apply(&self.grid, Moment { time, dt, step: self.step }, u, &self.substances);
        }
        self.books.momentum_after(u);
        self.timings.stop(Stage::Force, timer);
    }

    /// Substances and fluid appear, and momentum comes in with them.
    pub fn emit(&mut self, time: f64, dt: f64) {
        let timer = self.timings.start();
        if !self.sources.iter().any(|s| s.acts()) {
            // What burnt in the last step swells no more.
            self.swelling.iter_mut().for_each(|rate| rate.fill(0.0));
            return;
        }
        self.books.momentum_before(&self.velocity);
        let pushing = self.sources.iter().any(|s| s.pushes());
        if pushing {
            center(&mut self.velocity, self.scratch.lend());
        }
        let Self { grid, substances, sources, scratch, .. } = self;
        for source in sources.iter_mut() {
            source.apply(grid, Moment::whole(time, dt), scratch.lend(), substances);
        }
        if pushing {
            add_change(&mut self.velocity, self.scratch.lend(), None);
            self.velocity.iter_mut().for_each(|u| u.set_end_faces());
        }
        self.swell(time, dt);
        if self.combustion.is_none() {
            self.note_swelling();
        }
        self.clear_obstacles();
        self.books.momentum_after(&self.velocity);
        self.books.emitted(&self.grid, &self.substances, self.obstacles.as_ref());
        self.timings.stop(Stage::Force, timer);
    }

    /// [`Flow::emit`] for a model whose velocities live at cell centres.
    pub fn emit_centered(&mut self, u: &mut VectorField<D>, time: f64, dt: f64) {
        let timer = self.timings.start();
        if !self.sources.iter().any(|s| s.acts()) {
            return;
        }
        self.books.momentum_before(u);
        for source in &mut self.sources {
            source.apply(&self.grid, Moment::whole(time, dt), u, &mut self.substances);
        }
        self.books.momentum_after(u);
        self.books.emitted(&self.grid, &self.substances, self.obstacles.as_ref());
        self.timings.stop(Stage::Force, timer);
    }

    /// How much fluid appears.
    fn swell(&mut self, time: f64, dt: f64) {
        let Self { grid, sources, swelling, obstacles, .. } = self;
        let Some(rate) = swelling else { return };
        rate.fill(0.0);
        sources.iter().for_each(|s| s.swell(grid, Moment::whole(time, dt), 1.0, rate));
        if let Some(o) = obstacles {
            o.solids.keep_fluid_part(rate);
        }
    }

    /// The flow of what swells is there at once and gone at once: nothing to extrapolate from when it starts or stops.
    pub(super) fn note_swelling(&mut self) {
        let Some(rate) = &self.swelling else { return };
        let total = ops::sum(rate);
        if (total - self.swelled).abs() > JUMP * total.abs().max(self.swelled.abs()) {
            self.before_by = 0.0;
        }
        self.swelled = total;
    }

    /// Substances vanish and temperatures settle.
    pub fn lose(&mut self, dt: f64) {
        let timer = self.timings.start();
        let mut any = false;
        for s in &mut self.substances {
            if s.dissipation > 0.0 {
                any = true;
                // As viscosity: the paper's implicit rule, or the exact solution.
                let keep = match self.options.diffusion {
                    DiffusionScheme::Implicit => 1.0 / (1.0 + dt * s.dissipation),
                    DiffusionScheme::Exact => libm::exp(-dt * s.dissipation),
                } as Real;
                let ambient = s.ambient;
                s.field.par_runs(|_, a| a.iter_mut().for_each(|a| *a = ambient + keep * (*a - ambient)));
            }
            any |= !s.losses.is_empty();
            s.losses.iter().for_each(|loss| loss.apply(&mut s.field, s.ambient, dt));
        }
        if let Some(fire) = &self.combustion {
            any = true;
            fire.age(&mut self.substances, dt);
        }
        if any {
            self.books.enter(&self.grid, &self.substances, self.obstacles.as_ref(), |account| &mut account.dissipated);
        }
        self.timings.stop(Stage::Force, timer);
    }

    /// `(1 - nu dt lap) u = u` on faces, and the same for every substance that diffuses. Faces inside of solids move as those do.
    pub fn diffuse(&mut self, dt: f64) -> Result<(), StepError> {
        self.go_on()?;
        let timer = self.timings.start();
        if self.viscosity > 0.0 {
            // In a potential flow viscosity does nothing, and beyond the edge it knows nothing.
            self.keep_ring();
            if let Some(o) = &mut self.obstacles
                && o.walls.as_ref().is_none_or(|w| *w.layout() != self.layout)
            {
                o.walls = Some(Walls::new(&self.layout, &self.grid)?);
            }
            let Self { grid, velocity, diffusion, obstacles, viscosity, viscous, following, .. } = self;
            // What moves as it did would be a step beside what was diffused, and that step a charge in every time step.
            let far = Air::of(following).map(|air| &air.far);
            (diffusion.scheme, diffusion.cancel) = (self.options.diffusion, self.cancel.clone());
            for (a, u) in velocity.iter_mut().enumerate() {
                let around = match obstacles {
                    Some(Obstacles { solids, walls: Some(walls), .. }) => {
                        walls.find(solids, grid, a, u);
                        walls.around()
                    }
                    _ => Around::Nothing,
                };
                *viscous = viscous.and(&diffusion.apply_but(u, *viscosity * dt, around, far.map(|far| far.ring(a)))?);
            }
            self.restore_ring(false);
        }
        self.timings.stop(Stage::Diffuse, timer);
        self.diffuse_substances(dt)
    }

    /// `(1 - nu dt lap) u = u` at cell centres.
    pub fn diffuse_centered(&mut self, u: &mut VectorField<D>, dt: f64) -> Result<(), StepError> {
        self.go_on()?;
        let timer = self.timings.start();
        (self.diffusion.scheme, self.diffusion.cancel) = (self.options.diffusion, self.cancel.clone());
        for u in u.iter_mut().filter(|_| self.viscosity > 0.0) {
            let report = self.diffusion.apply(u, self.viscosity * dt, Around::Nothing)?;
            self.viscous = self.viscous.and(&report);
        }
        self.timings.stop(Stage::Diffuse, timer);
        Ok(())
    }

    /// `(1 - k dt lap) a = a` for every substance that diffuses; nothing gets into solids.
    pub fn diffuse_substances(&mut self, dt: f64) -> Result<(), StepError> {
        self.go_on()?;
        if self.substances.iter().all(|s| s.diffusion == 0.0) {
            return Ok(());
        }
        let timer = self.timings.start();
        (self.diffusion.scheme, self.diffusion.cancel) = (self.options.diffusion, self.cancel.clone());
        let Self { grid, substances, diffusion, obstacles, viscous, books, scratch, .. } = self;
        for (i, s) in substances.iter_mut().enumerate().filter(|(_, s)| s.diffusion > 0.0) {
            // Cells that solids cut count in part, if the accounts say so, too.
            let (report, left) = match obstacles {
                None => (diffusion.apply(&mut s.field, s.diffusion * dt, Around::Nothing)?, 0.0),
                Some(o) if books.whole_cells => {
                    (diffusion.apply(&mut s.field, s.diffusion * dt, Around::Open(o.solids.open()))?, 0.0)
                }
                Some(o) => {
                    diffusion.apply_in_part(&mut s.field, s.diffusion * dt, o.solids.open(), o.solids.volume())?
                }
            };
            *viscous = viscous.and(&report);
            books.diffused(grid, (i, s), left, obstacles.as_ref(), &mut scratch.lend()[0]);
        }
        self.timings.stop(Stage::Diffuse, timer);
        Ok(())
    }
}

/// `centered = mean of the two faces`.
pub fn center<const D: usize>(faces: &mut VectorField<D>, centered: &mut VectorField<D>) {
    for a in 0..D {
        faces[a].fill_halo();
        centered[a].relabel(At::Center, faces[a].ends());
    }
    let faces = &*faces;
    rows::for_each_with_ghosts(centered.each_mut(), |row, out| {
        let mut pad = Pad::default();
        let next = above(faces, row, &mut pad);
        for (a, out) in out.into_iter().enumerate() {
            let here = faces[a].row(row);
            for x in 0..out.len() {
                out[x] = 0.5 * (here[x] + next[a][x]);
            }
        }
    });
}

/// Each face takes the mean of the changes on its two sides, where `centered` was the mean of faces before it changed; times
/// `weight`, if there is one.
pub fn add_change<const D: usize>(
    faces: &mut VectorField<D>,
    centered: &mut VectorField<D>,
    weight: Option<&Field<D>>,
) {
    let old = &*faces;
    rows::for_each(centered.each_mut(), |row, change| {
        let mut pad = Pad::default();
        let next = above(old, row, &mut pad);
        for (a, change) in change.into_iter().enumerate() {
            let here = old[a].row(row);
            for x in 0..change.len() {
                change[x] -= 0.5 * (here[x] + next[a][x]);
            }
            if let Some(weight) = weight {
                change.iter_mut().zip(weight.row(row)).for_each(|(change, weight)| *change *= weight);
            }
        }
    });
    for a in 0..D {
        // Beyond an end as beside it; nothing changes where no tile is.
        let ends = faces[a]
            .ends()
            .map(|ends| ends.map(|end| if matches!(end, End::Outside(_)) { End::Outside(0.0) } else { End::Flat }));
        centered[a].relabel(At::Center, ends);
        centered[a].fill_halo();
        faces[a].add_face_means(&centered[a], a);
    }
}
