//! Colour ramps of heat.

use super::style::{Glow, Ramp};
use crate::color::Rgb;

const STEPS: usize = 1024;

/// The light sent out per metre, by heat from 0 to 1, as a table.
pub(super) struct Emission(Vec<Rgb>);

impl Emission {
    pub fn new(glow: &Glow) -> Self {
        let color = |t: f32| match &glow.ramp {
            Ramp::Map(map) => map.at(t).map(|v| t * v),
            Ramp::Blackbody([cold, hot]) => {
                let kelvin = |t: f32| f64::from(cold + t * (hot - cold));
                // Stefan and Boltzmann's law, less what the cold end would send out.
                let power = |t: f32| (kelvin(t) / f64::from(*hot)).powi(4);
                let bright = if hot > cold { (power(t) - power(0.0)) / (1.0 - power(0.0)) } else { f64::from(t) };
                blackbody(kelvin(t)).map(|v| v * bright as f32)
            }
        };
        let at = |i: usize| color((i as f32 / STEPS as f32).min(1.0)).map(|v| v * glow.strength);
        // One entry more, so that the last has a neighbour.
        Self((0..STEPS + 2).map(at).collect())
    }

    /// The light of heat `t`.
    #[inline(always)]
    pub fn at(&self, t: f32) -> Rgb {
        let x = t.clamp(0.0, 1.0) * STEPS as f32;
        let i = (x as usize).min(STEPS);
        let (a, b, t) = (&self.0[i], &self.0[i + 1], x - i as f32);
        [a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]), a[2] + t * (b[2] - a[2])]
    }
}

/// The colour of a black body in linear light, the strongest component 1: Planck's law seen by the standard observer
/// (fits by Wyman, Sloan and Shirley 2013).
pub fn blackbody(kelvin: f64) -> Rgb {
    let mut xyz = [0.0f64; 3];
    for nanometres in (380..=780).step_by(5).map(f64::from) {
        // Relative to 560 nm, so that the exponential stays in range for cold bodies.
        let exponent = |nm: f64| 1.438_776_9e7 / (nm * kelvin.max(1.0));
        let planck = nanometres.powi(-5) / (1.0 - (-exponent(nanometres)).exp());
        let power = planck * (exponent(780.0) - exponent(nanometres)).exp();
        let lobe = |peak: f64, low: f64, high: f64| {
            let t = (nanometres - peak) / if nanometres < peak { low } else { high };
            (-0.5 * t * t).exp()
        };
        xyz[0] += power
            * (1.056 * lobe(599.8, 37.9, 31.0) + 0.362 * lobe(442.0, 16.0, 26.7) - 0.065 * lobe(501.1, 20.4, 26.2));
        xyz[1] += power * (0.821 * lobe(568.8, 46.9, 40.5) + 0.286 * lobe(530.9, 16.3, 31.1));
        xyz[2] += power * (1.217 * lobe(437.0, 11.8, 36.0) + 0.681 * lobe(459.0, 26.0, 13.8));
    }
    let [x, y, z] = xyz;
    let rgb = [
        3.240_97 * x - 1.537_383 * y - 0.498_611 * z,
        -0.969_244 * x + 1.875_968 * y + 0.041_555 * z,
        0.055_63 * x - 0.203_977 * y + 1.056_972 * z,
    ]
    .map(|v| v.max(0.0));
    let most = rgb.iter().fold(0.0f64, |most, &v| most.max(v));
    if most > 0.0 { rgb.map(|v| (v / most) as f32) } else { [1.0, 0.0, 0.0] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hot_bodies_go_from_red_over_orange_and_white_to_blue() {
        let [red, orange, white, blue] = [900.0, 2000.0, 6600.0, 20_000.0].map(blackbody);
        assert!(red[0] == 1.0 && red[1] < 0.15 && red[2] < 0.01, "{red:?}");
        assert!(orange[0] == 1.0 && (0.2..0.35).contains(&orange[1]) && orange[2] < 0.05, "{orange:?}");
        // The white of screens is daylight of 6500 K, a little greener than a black body.
        assert!(white.iter().all(|&v| v > 0.9), "{white:?}");
        assert!(blue[2] == 1.0 && blue[0] < 0.5, "{blue:?}");
        for kelvin in [0.0, 1.0, 100.0, 1e5] {
            assert!(blackbody(kelvin).iter().all(|v| v.is_finite()), "{kelvin}");
        }
    }

    #[test]
    fn every_ramp_is_dark_at_its_cold_end_and_strongest_at_its_hot_end() {
        for ramp in [
            Ramp::Blackbody([700.0, 2300.0]),
            Ramp::Blackbody([900.0, 900.0]),
            Ramp::Map(crate::ColorMap::by_name("viridis").unwrap()),
        ] {
            let emission = Emission::new(&Glow { ramp, strength: 3.0, ..Glow::default() });
            assert_eq!(emission.at(0.0), [0.0; 3]);
            assert!(emission.at(1.0).iter().sum::<f32>() > emission.at(0.5).iter().sum());
            assert_eq!(emission.at(1.0), emission.at(5.0));
        }
    }
}
