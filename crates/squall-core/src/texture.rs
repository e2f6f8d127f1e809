//! Texture coordinates that the flow carries (Stam 1999; Max, Crawfis & Williams 1992).
//!
//! Each place remembers where the fluid in it came from, so that a pattern painted on the fluid can be looked up there. The flow
//! stretches such a memory beyond recognition in time. So there are three, each forgotten once in a period, one after the other;
//! what is seen is a blend in which the one about to be forgotten has no weight, and nothing is seen to jump.
//!
//! What is stored is the displacement, not the coordinate: `X_k(x) = x + xi_k(x)`. In a periodic box it needs no special case.

use crate::Real;
use crate::advect::{Advection, Flow, MapScratch, carry};
use crate::field::{Field, OutOfMemory, VectorField};
use crate::grid::{At, Grid};
use crate::layout::Layout;
use crate::sim::StateVisitor;

/// How many sets of coordinates there are.
pub const SETS: usize = 3;

/// How displacements are sampled unless one says otherwise. Linear interpolation blurs them step by step, and with them the
/// pattern; monotone cubics are no better than this.
const SCHEME: Advection = Advection::MacCormack;

/// Three sets of displacements, in metres, at cell centres.
pub struct TextureCoordinates<const D: usize> {
    period: f64,
    scheme: Advection,
    sets: [VectorField<D>; SETS],
    /// How often each set has been forgotten.
    turns: [u64; SETS],
}

impl<const D: usize> TextureCoordinates<D> {
    /// Undistorted coordinates on a layout; each set begins anew after `period` seconds.
    pub fn new(grid: &Grid<D>, layout: &Layout<D>, period: f64) -> Result<Self, OutOfMemory> {
        assert!(period > 0.0 && period.is_finite(), "a period must be positive, not {period}");
        let ends = grid.flat_ends(0.0);
        let mut sets = Vec::with_capacity(SETS);
        for _ in 0..SETS {
            let set: Vec<_> = (0..D).map(|_| Field::on(layout, At::Center, ends)).collect::<Result<_, _>>()?;
            sets.push(set.try_into().expect("one field per axis"));
        }
        let sets = sets.try_into().unwrap_or_else(|_| unreachable!("so many were made"));
        Ok(TextureCoordinates { period, scheme: SCHEME, sets, turns: [0; SETS] })
    }

    /// The same, sampled in another way.
    pub fn sampled_by(self, scheme: Advection) -> Self {
        TextureCoordinates { scheme, ..self }
    }

    /// How many fields, each of one number per cell, they take.
    pub const fn fields() -> usize {
        SETS * D
    }

    /// Seconds after which a set begins anew.
    pub fn period(&self) -> f64 {
        self.period
    }

    /// The displacements of set `k`, in metres, at cell centres.
    pub fn set(&self, k: usize) -> &VectorField<D> {
        &self.sets[k]
    }

    /// The displacements called `texture_0` to `texture_2`.
    pub fn field(&self, name: &str, component: usize) -> Option<&Field<D>> {
        let k: usize = name.strip_prefix("texture_")?.parse().ok()?;
        self.sets.get(k)?.get(component)
    }

    /// The age of each set at a time, as a part of the period, from 0 to 1.
    pub fn ages(&self, time: f64) -> [f64; SETS] {
        self.turned(time).map(|turns| turns - turns.floor())
    }

    /// What each set counts in the blend at a time: `2/3 sin^2(pi age)`. They add up to 1, and their squares to 1/2.
    pub fn weights(&self, time: f64) -> [f64; SETS] {
        self.ages(time).map(|age| {
            let s = libm::sin(std::f64::consts::PI * age);
            2.0 / 3.0 * s * s
        })
    }

    /// How many turns each set has made, and parts of them.
    fn turned(&self, time: f64) -> [f64; SETS] {
        std::array::from_fn(|k| time / self.period + k as f64 / SETS as f64)
    }

    /// Moves the coordinates from `time` on for `dt` seconds: `xi(x) <- xi(x0) + (x0 - x)`, where `x0` is the place that the
    /// flow came from. A set whose age wraps begins anew at that instant. Needs the ghosts of the velocity, and scratch for
    /// MacCormack's scheme.
    pub fn advect(&mut self, flow: Flow<D>, time: f64, dt: f64, scratch: &mut MapScratch<D>) {
        // How far along the flow each set is carried: for all of the step, unless it begins anew within it.
        let mut spans = [dt; SETS];
        let begun = self.turned(time);
        for (turns, turned) in self.turns.iter_mut().zip(begun) {
            // A loop goes back in time, by whole turns.
            *turns = (*turns).min((turned + 1e-6).floor().max(0.0) as u64);
        }
        for (k, turned) in self.turned(time + dt).into_iter().enumerate() {
            // Turns are counted, as a time that falls just short of a turn by rounding must not lose it.
            let turns = turned.floor().max(0.0) as u64;
            if turns > self.turns[k] {
                self.turns[k] = turns;
                self.sets[k].iter_mut().for_each(|xi| xi.fill(0.0));
                spans[k] = ((turned - turned.floor()) * self.period).min(dt);
            }
        }
        let mut traced = f64::NAN;
        let scheme = self.scheme;
        for (set, span) in self.sets.iter_mut().zip(spans) {
            if span <= 0.0 {
                continue;
            }
            if span != traced {
                scratch.trace(scheme, flow, span);
                traced = span;
            }
            let mut fields = set.each_mut();
            carry(scheme, flow.isa, &mut fields, &mut [], None, scratch);
            for (a, xi) in set.iter_mut().enumerate() {
                let (back, h) = (&scratch.back()[a], flow.grid.spacing[a] as Real);
                xi.par_rows(|row, xi| {
                    for (xi, d) in xi.iter_mut().zip(back.row(row)) {
                        *xi += h * d;
                    }
                });
            }
        }
    }

    /// Moves to another set of tiles: new ones are undistorted.
    pub fn move_to(&mut self, layout: &Layout<D>) -> Result<(), OutOfMemory> {
        self.sets.iter_mut().flatten().try_for_each(|xi| xi.move_to(layout, 0.0))
    }

    /// Shows what the next step depends on.
    pub fn visit_state(&mut self, visitor: &mut dyn StateVisitor) {
        self.turns.iter_mut().for_each(|turns| visitor.integer("texture_turns", turns));
        for xi in self.sets.iter_mut().flatten() {
            xi.fill_halo();
            visitor.array("texture", xi.data_mut());
        }
    }
}
