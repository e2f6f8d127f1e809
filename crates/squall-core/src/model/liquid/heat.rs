//! Heat exchange of a liquid with the air and obstacles, and latent heat.
//!
//! One of the numbers that particles carry is their temperature. Conduction is how it diffuses ([`Liquid::carry`]). Besides,
//!
//! ```text
//! dT/dt = -(a + s (T^2 + T_air^2) (T + T_air)) / h (T - T_air)    within a cell of the surface: Newton's law, and Stefan & Boltzmann's
//! dT/dt = -2 k / h^2 (T - T_object)                               within a cell of an object: conduction from its surface, half a cell away
//! ```
//!
//! each solved exactly for the rate that it has at the beginning of a step, so that no rate is too fast. While it melts it takes `latent`
//! kelvins of heat, spread over the range in which it does: heat `H` and temperature are two names of one number.

use super::{Curve, Liquid};
use crate::Real;
use crate::particles::Patch;
use crate::report::Stage;
use crate::shape::Shape;

/// The heat that a cubic metre takes for each kelvin, in joules: that of water.
pub const HEAT_CAPACITY: f64 = 4.2e6;

/// What a black body radiates, in W/(m^2 K^4).
const STEFAN_BOLTZMANN: f64 = 5.670_374e-8;

/// How a liquid is heated and cooled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heat {
    /// Which of the carried numbers is the temperature.
    pub carried: usize,
    /// The heat that melting takes, in kelvins, and the range in which it melts.
    pub latent: f64,
    /// Where it begins to melt, and where it is molten.
    pub range: [f64; 2],
    /// The temperature of the air.
    pub air: f64,
    /// What the surface gives to the air, in W/(m^2 K).
    pub cooling: f64,
    /// How much it radiates, as a part of what a black body does; temperatures are then in kelvins.
    pub emissivity: f64,
}

impl Heat {
    /// The temperature after some more heat, in kelvins.
    #[inline]
    fn with(&self, temperature: f64, more: f64) -> f64 {
        if self.latent == 0.0 {
            return temperature + more;
        }
        let [cold, hot] = self.range;
        let slow = 1.0 + self.latent / (hot - cold);
        let heat = temperature + (slow - 1.0) * (temperature - cold).clamp(0.0, hot - cold) + more;
        match heat - cold {
            below if below <= 0.0 => heat,
            within if within < slow * (hot - cold) => cold + within / slow,
            _ => heat - self.latent,
        }
    }

    /// How fast the surface comes to the temperature of the air, in m/s.
    fn to_air(self, temperature: f64) -> f64 {
        let (t, air) = (temperature.max(0.0), self.air.max(0.0));
        (self.cooling + self.emissivity * STEFAN_BOLTZMANN * (t * t + air * air) * (t + air)) / HEAT_CAPACITY
    }
}

/// Something that has a temperature of its own.
pub struct Heater<const D: usize> {
    /// Where it is.
    pub shape: Box<dyn Shape<D>>,
    /// How hot it is, over time in seconds.
    pub temperature: Curve,
}

impl<const D: usize> Liquid<D> {
    /// Says how the liquid is heated and cooled.
    pub fn set_heat(&mut self, heat: Heat, heaters: Vec<Heater<D>>) {
        assert!(heat.range[0] < heat.range[1] || heat.latent == 0.0, "a range in which it melts");
        self.heat = Some((heat, heaters));
    }

    /// The number of a carried substance that has been told some more heat.
    pub(super) fn heated(&self, k: usize) -> impl Fn(Real, Real) -> Real + Sync + use<D> {
        let heat = self.heat.as_ref().map(|(heat, _)| *heat).filter(|heat| heat.carried == k && heat.latent > 0.0);
        move |value, more| heat.map_or(value + more, |heat| heat.with(value.into(), more.into()) as Real)
    }

    /// Heat goes to the air and comes from objects.
    pub(super) fn exchange_heat(&mut self, time: f64, dt: f64) {
        let Some((heat, mut heaters)) = self.heat.take() else { return };
        let timer = self.flow.timings.start();
        let (grid, periodic) = (self.flow.grid, self.periodic());
        let (h, level) = (grid.spacing[0], f64::from(self.surface_level()));
        let conduction = 2.0 * self.flow.substances[heat.carried + 1].diffusion / (h * h);
        let hot: Vec<f64> = heaters
            .iter_mut()
            .map(|heater| {
                heater.shape.prepare(time);
                (heater.temperature)(time)
            })
            .collect();
        let cools = heat.cooling > 0.0 || heat.emissivity > 0.0;
        let part = |rate: f64| -libm::expm1(-rate * dt);
        let Self { particles, phi, .. } = self;
        particles.change_by_tiles(heat.carried, |tile, list, values| {
            // Only objects that reach into the tile.
            let near: Vec<_> = heaters
                .iter()
                .zip(&hot)
                .filter(|(heater, _)| {
                    heater.shape.bounds(time).is_none_or(|(low, high)| {
                        (0..D).all(|a| {
                            let begin = grid.origin[a] + tile.first[a] as f64 * h;
                            low[a] < begin + (tile.cells[a] + 1) as f64 * h && high[a] > begin - h
                        })
                    })
                })
                .collect();
            let mut patch = Patch::default();
            if cools {
                patch.copy(phi, tile, 1, periodic);
            } else if near.is_empty() {
                return;
            }
            for (p, value) in list.iter().zip(values) {
                let mut t = f64::from(*value);
                if cools && f64::from(patch.value(p.place)) > level - h {
                    t = heat.with(t, part(heat.to_air(t) / h) * (heat.air - t));
                }
                for (heater, hot) in &near {
                    let x =
                        std::array::from_fn(|a| grid.origin[a] + (tile.first[a] as f64 + f64::from(p.place[a])) * h);
                    if heater.shape.distance(x, time) < h {
                        t = heat.with(t, part(conduction) * (*hot - t));
                    }
                }
                *value = t as Real;
            }
        });
        self.enter(|account| &mut account.emitted);
        let air = if cools { Some(heat.air) } else { None };
        let allowed = &mut self.carried[heat.carried].account.allowed;
        for t in air.into_iter().chain(hot) {
            *allowed = [allowed[0].min(t), allowed[1].max(t)];
        }
        self.heat = Some((heat, heaters));
        self.flow.timings.stop(Stage::Diffuse, timer);
    }
}
