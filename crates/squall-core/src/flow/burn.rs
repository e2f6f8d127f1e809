//! Combustion: fuel burns with the air that mixes with it, and gives heat, soot, flame and volume.
//!
//! Each cell is a mixture of fuel `F`, exhaust `E` and fresh air `1 - F - E`. One part of fuel needs `s` parts of air and makes
//! `1 + s` parts of exhaust. Where the gas is hot enough, fuel burns as fast as it mixes with air: the eddy dissipation model of
//! Magnussen & Hjertager (1976) with a constant mixing rate.
//!
//! ```text
//! x      = min(F, (1 - F - E) / s) (1 - exp(-rate dt))     where T >= ignition, else 0
//! F     -= x
//! E     += (1 + s) x
//! T     += heat (1 + s) x
//! soot  += soot (1 + s) x
//! flame += (1 + s) x,  at most 1;  d flame/dt = -flame / life
//! div u += expansion (1 + s) x / dt,  at most 200 / s
//! ```
//!
//! As fuel burns only with air, a stronger source has to draw in more air before its fuel is used up, and has longer flames. With
//! `air = 0` fuel is premixed and burns at its rate wherever it is.

use super::Flow;
use crate::Real;
use crate::force::{Loss, Substance};
use crate::parameter::ParameterList;
use crate::report::Stage;
use crate::rows;

/// Gas does not swell faster than this, per second. A source that holds fuel which burns at once would otherwise make volume without
/// limit: the shorter the steps, the more.
const FASTEST: Real = 200.0;

/// How fuel burns. Substances are given by their places in the list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Combustion {
    /// What burns, from 0 (air) to 1 (fuel alone).
    pub fuel: usize,
    /// How much of the gas is flame: 1 where all of it has just burnt.
    pub flame: usize,
    /// What has burnt: fuel and the air that it took.
    pub exhaust: usize,
    /// Temperature above the air, in kelvins.
    pub temperature: usize,
    /// What smoke consists of.
    pub soot: usize,
    /// The temperature from which on fuel burns, in kelvins above the air.
    pub ignition: f64,
    /// The part of fuel (or air, of which there is less) that burns per second.
    pub rate: f64,
    /// Parts of air that a part of fuel needs.
    pub air: f64,
    /// How much hotter exhaust is than what it was made of, in kelvins.
    pub heat: f64,
    /// How much soot exhaust holds.
    pub yields: f64,
    /// The volume that appears for each volume of exhaust.
    pub expansion: f64,
    /// The time in which flames fade to a third, in seconds.
    pub life: f64,
}

impl Combustion {
    /// Shows what can be changed while it burns.
    fn visit_parameters(&mut self, visit: &mut ParameterList<'_>) {
        let mut number = |name: &str, unit: &'static str, doc: &'static str, range: [f64; 2], value: &mut f64| {
            if let Some(v) = visit.number(name, unit, doc, range, *value) {
                *value = v;
            }
        };
        const POSITIVE: [f64; 2] = [0.0, 1e9];
        number(
            "fire.ignition",
            "K",
            "temperature above the air from which on fuel burns",
            POSITIVE,
            &mut self.ignition,
        );
        number("fire.rate", "1/s", "how fast fuel burns where it has air", POSITIVE, &mut self.rate);
        number("fire.air", "", "parts of air that a part of fuel needs", [0.0, 100.0], &mut self.air);
        number("fire.heat", "K", "how much burning heats the gas", POSITIVE, &mut self.heat);
        number("fire.soot", "", "density of the smoke that burning leaves", POSITIVE, &mut self.yields);
        number(
            "fire.expansion",
            "",
            "volume that burning adds to that of the burnt gas",
            [0.0, 100.0],
            &mut self.expansion,
        );
        number("fire.life", "s", "the time in which flames fade to a third", [1e-6, 1e9], &mut self.life);
    }

    /// Flames fade.
    pub(super) fn age<const D: usize>(&self, substances: &mut [Substance<D>], dt: f64) {
        Loss::Fade { rate: 1.0 / self.life }.apply(&mut substances[self.flame].field, 0.0, dt);
    }
}

impl<const D: usize> Flow<D> {
    /// Fuel burns for `dt` seconds: heat, soot and flame appear, and the gas swells.
    pub fn burn(&mut self, dt: f64) {
        let Some(c) = self.combustion else { return };
        let timer = self.timings.start();
        let Self { substances, swelling: Some(swelling), obstacles, .. } = self else {
            unreachable!("allocated at the start of the step")
        };
        let solids = obstacles.as_ref().map(|o| &o.solids);
        let each = [c.fuel, c.exhaust, c.temperature, c.flame, c.soot];
        let [fuel, exhaust, temperature, flame, soot] =
            substances.get_disjoint_mut(each).expect("five different substances").map(|s| &mut s.field);
        let part = -libm::expm1(-c.rate * dt) as Real;
        let made = (1.0 + c.air) as Real;
        // Without any need for air there is always enough of it.
        let premixed = c.air == 0.0;
        let (per_air, besides) = if premixed { (0.0, Real::MAX) } else { ((1.0 / c.air) as Real, 0.0) };
        let (ignition, heat, yields) = (c.ignition as Real, c.heat as Real, c.yields as Real);
        // Nothing can swell in a closed box.
        let swells = if self.grid.has_outlet() { (c.expansion / dt) as Real } else { 0.0 };
        rows::for_each(
            [fuel, exhaust, temperature, flame, soot, swelling],
            |row, [fuel, exhaust, temperature, flame, soot, swelling]| {
                let fluid = solids.and_then(|solids| solids.volumes_near(row));
                if premixed {
                    // Fuel that a source adds displaces exhaust and its soot: else both would grow without end where the source burns.
                    for i in 0..fuel.len() {
                        let room = (1.0 - fuel[i]).max(0.0);
                        if exhaust[i] > room {
                            soot[i] *= room / exhaust[i];
                            exhaust[i] = room;
                        }
                    }
                }
                for i in 0..fuel.len() {
                    let air = (1.0 - fuel[i] - exhaust[i]).max(0.0);
                    let burns = fuel[i].max(0.0).min(air * per_air + besides) * part;
                    let x = if temperature[i] >= ignition { burns } else { 0.0 };
                    let made = made * x;
                    fuel[i] -= x;
                    exhaust[i] += made;
                    temperature[i] += heat * made;
                    soot[i] += yields * made;
                    flame[i] = (flame[i] + made).min(flame[i].max(1.0));
                    swelling[i] += (swells * made).min(FASTEST) * fluid.map_or(1.0, |fluid| fluid[i]);
                }
            },
        );
        self.clear_obstacles();
        self.books.reacted(&self.grid, &self.substances, self.obstacles.as_ref());
        self.note_swelling();
        self.timings.stop(Stage::Force, timer);
    }

    /// Shows what can be changed of the fire, if something burns.
    pub(super) fn visit_fire(&mut self, visit: &mut ParameterList<'_>) {
        if let Some(combustion) = &mut self.combustion {
            combustion.visit_parameters(visit);
        }
    }
}
