//! Recording and replaying a flow, and advecting substances along a given flow.

use super::Flow;
use super::advection::fastest;
use crate::Real;
use crate::field::{Field, OutOfMemory};
use crate::force::Substance;
use crate::ops::max_abs_faces;
use crate::project::Projected;
use crate::report::SolveReport;
use crate::snapshot::Snapshot;

impl<const D: usize> Flow<D> {
    /// The velocity as it is.
    pub(crate) fn snapshot(&mut self) -> Snapshot {
        self.velocity.iter_mut().for_each(|u| u.fill_halo());
        Snapshot::of(&self.layout, self.velocity.iter().zip(self.away()))
    }

    /// Replaces the velocity.
    pub(crate) fn restore(&mut self, flow: &Snapshot) {
        for (c, away) in self.away().into_iter().enumerate() {
            flow.restore(c, &mut self.velocity[c], away);
        }
        self.max_speed = self.velocity.iter().map(|u| max_abs_faces(u) as f64).fold(0.0, f64::max);
        self.fastest = fastest(&self.velocity, &self.grid);
        self.acceleration = 0.0;
        self.before_by = 0.0;
        self.started = true;
    }

    /// What is carried, as it is.
    pub(crate) fn contents(&self) -> Snapshot {
        Snapshot::of(&self.layout, self.substances.iter().map(|s| (&s.field, s.ambient)))
    }

    /// Replaces what is carried, wherever it is.
    pub(crate) fn set_contents(&mut self, contents: &Snapshot) {
        if let (Some(coords), Some(tiles)) = (contents.tiles::<D>(), self.layout.as_tiles())
            && coords != tiles.coords()
        {
            self.move_or_fail(coords);
            if self.not_restored.is_some() {
                return;
            }
        }
        for (i, s) in self.substances.iter_mut().enumerate() {
            contents.restore(i, &mut s.field, s.ambient);
        }
    }

    /// What sources of several times do together, each time with its weight: what they do is linear in the substances, so the
    /// results are mixed.
    pub(crate) fn emit_at(&mut self, times: &[(f64, f64)], dt: f64) -> Result<(), OutOfMemory> {
        if let &[(time, _)] = times {
            self.emit(time, dt);
            self.burn(dt);
            self.lose(dt);
            return Ok(());
        }
        let fields = |all: &[Substance<D>]| all.iter().map(|s| Field::like(&s.field)).collect::<Result<Vec<_>, _>>();
        let [mut before, mut mixed] = [fields(&self.substances)?, fields(&self.substances)?];
        before.iter_mut().zip(&self.substances).for_each(|(before, s)| before.copy_all(&s.field));
        for &(time, weight) in times {
            for (s, before) in self.substances.iter_mut().zip(&before) {
                s.field.copy_all(before);
            }
            self.emit(time, dt);
            self.burn(dt);
            self.lose(dt);
            let weight = weight as Real;
            for (mixed, s) in mixed.iter_mut().zip(&self.substances) {
                let now = &s.field;
                mixed.par_rows(|row, out| out.iter_mut().zip(now.row(row)).for_each(|(out, v)| *out += weight * v));
            }
        }
        for (s, mixed) in self.substances.iter_mut().zip(&mut mixed) {
            s.field.swap_values(mixed);
        }
        self.books.emitted(&self.grid, &self.substances, self.obstacles.as_ref());
        Ok(())
    }

    /// What a step without a projection has to say about it.
    pub(crate) fn not_projected(&self) -> Projected {
        let solve = SolveReport { converged: true, ..SolveReport::default() };
        Projected { max_speed: self.max_speed, solve, ..Projected::default() }
    }

    /// The velocity far away.
    fn away(&self) -> [Real; D] {
        if self.is_unbounded() { self.options.wind } else { [0.0; D] }
    }
}
