//! Colour maps: from a number between 0 and 1 to a colour.

use crate::color::{Rgb, from_hex, from_oklab, from_srgb8, mix, to_oklab};
use crate::plane::RenderError;

/// A colour for every number from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct ColorMap {
    // The colours at positions that increase; interpolated in OKLab.
    stops: Vec<(f32, Rgb)>,
    diverging: bool,
}

const NAMES: &[&str] = &[
    "inferno",
    "magma",
    "plasma",
    "viridis",
    "cividis",
    "turbo",
    "grey",
    "smoke",
    "fire",
    "ice",
    "ocean",
    "toxic",
    "ink",
    "diverging",
    "neon",
];

impl ColorMap {
    /// The names of all built-in maps.
    pub const fn names() -> &'static [&'static str] {
        NAMES
    }

    /// A built-in map.
    pub fn by_name(name: &str) -> Result<Self, RenderError> {
        let map = match name {
            "inferno" => Self::sampled(&colorous::INFERNO),
            "magma" => Self::sampled(&colorous::MAGMA),
            "plasma" => Self::sampled(&colorous::PLASMA),
            "viridis" => Self::sampled(&colorous::VIRIDIS),
            "cividis" => Self::sampled(&colorous::CIVIDIS),
            "turbo" => Self::sampled(&colorous::TURBO),
            "grey" => Self::built_in(&[(0.0, "#000000"), (1.0, "#ffffff")]),
            // A soft toe: thin smoke fades into the dark instead of ending at an edge.
            "smoke" => Self::built_in(&[
                (0.0, "#07080b"),
                (0.12, "#14161b"),
                (0.35, "#4a4d55"),
                (0.7, "#b4b5b8"),
                (1.0, "#fbfaf7"),
            ]),
            "fire" => Self::built_in(&[
                (0.0, "#000000"),
                (0.14, "#1f0605"),
                (0.32, "#7d1206"),
                (0.5, "#d6400a"),
                (0.68, "#fb8c1a"),
                (0.84, "#ffd35a"),
                (1.0, "#fffbe8"),
            ]),
            "ice" => Self::built_in(&[
                (0.0, "#03050d"),
                (0.22, "#0b1d47"),
                (0.48, "#1a5c9e"),
                (0.72, "#5fb4dd"),
                (0.9, "#c3ecf7"),
                (1.0, "#ffffff"),
            ]),
            "ocean" => Self::built_in(&[
                (0.0, "#04101f"),
                (0.3, "#08415c"),
                (0.6, "#1b998b"),
                (0.82, "#8fe0b0"),
                (1.0, "#fbfbe0"),
            ]),
            "toxic" => Self::built_in(&[
                (0.0, "#05070a"),
                (0.28, "#15363a"),
                (0.55, "#2f8f3f"),
                (0.8, "#b5e838"),
                (1.0, "#faffd6"),
            ]),
            "ink" => Self::built_in(&[
                (0.0, "#f7f2e7"),
                (0.12, "#e2ddd6"),
                (0.4, "#8b8c96"),
                (0.72, "#2f3346"),
                (1.0, "#0b0c18"),
            ]),
            "diverging" => Self::built_in(&[
                (0.0, "#0b2a5b"),
                (0.2, "#2c6fb3"),
                (0.38, "#9cc8e2"),
                (0.5, "#f6f4f0"),
                (0.62, "#f3ae8c"),
                (0.8, "#c73f3b"),
                (1.0, "#650a26"),
            ])
            .into_diverging(),
            "neon" => Self::built_in(&[
                (0.0, "#d9fbff"),
                (0.12, "#4fd8f7"),
                (0.3, "#1763c4"),
                (0.42, "#101f4f"),
                (0.5, "#05050a"),
                (0.58, "#4a1030"),
                (0.7, "#c9272f"),
                (0.88, "#ff9a2e"),
                (1.0, "#fff3c4"),
            ])
            .into_diverging(),
            _ => return Err(RenderError::ColorMap { name: name.to_owned(), known: NAMES }),
        };
        Ok(map)
    }

    /// A map through colours of the user's own: `[(0.0, "#000000"), (0.4, "#c02010"), (1.0, "#ffe0a0")]`.
    pub fn ramp(stops: &[(f32, &str)]) -> Result<Self, RenderError> {
        let increasing = stops.windows(2).all(|pair| pair[0].0 < pair[1].0);
        if stops.len() < 2 || !increasing || !stops.iter().all(|(at, _)| at.is_finite()) {
            return Err(RenderError::Ramp(stops.iter().map(|stop| stop.0).collect()));
        }
        let stops: Result<_, _> = stops.iter().map(|&(at, hex)| Ok((at, from_hex(hex)?))).collect();
        Ok(Self { stops: stops?, diverging: false })
    }

    /// The same map, of which the middle stands for zero.
    pub fn into_diverging(self) -> Self {
        Self { diverging: true, ..self }
    }

    /// Whether the middle of the map stands for zero.
    pub fn is_diverging(&self) -> bool {
        self.diverging
    }

    /// The same map from its end to its start.
    pub fn reversed(mut self) -> Self {
        self.stops.reverse();
        self.stops.iter_mut().for_each(|stop| stop.0 = 1.0 - stop.0);
        self
    }

    /// The colour at `t`, clamped to the ends.
    pub fn at(&self, t: f32) -> Rgb {
        let next = self.stops.partition_point(|stop| stop.0 <= t);
        match (next.checked_sub(1).map(|i| self.stops[i]), self.stops.get(next)) {
            (Some((from, a)), Some(&(to, b))) => from_oklab(mix(to_oklab(a), to_oklab(b), (t - from) / (to - from))),
            (Some((_, color)), None) | (None, Some(&(_, color))) => color,
            (None, None) => [0.0; 3],
        }
    }

    fn sampled(gradient: &colorous::Gradient) -> Self {
        // Few enough that the rounding of the source to 8 bits does not show as steps.
        const KNOTS: usize = 64;
        let stop = |i: usize| {
            let t = i as f64 / KNOTS as f64;
            (t as f32, from_srgb8(gradient.eval_continuous(t).as_array()))
        };
        Self { stops: (0..=KNOTS).map(stop).collect(), diverging: false }
    }

    fn built_in(stops: &[(f32, &str)]) -> Self {
        let stop = |&(at, hex): &(f32, &str)| (at, from_hex(hex).unwrap_or(crate::color::NOT_FINITE));
        Self { stops: stops.iter().map(stop).collect(), diverging: false }
    }

    /// The map as a table for quick look-ups, with `t` raised to `gamma` first.
    pub(crate) fn table(&self, gamma: f32) -> Table {
        let last = TABLE as f32;
        Table((0..=TABLE + 1).map(|i| self.at((i as f32 / last).min(1.0).powf(gamma))).collect())
    }
}

const TABLE: usize = 2048;

pub(crate) struct Table(Vec<Rgb>);

impl Table {
    /// The colour at `t` in 0 to 1.
    #[inline(always)]
    pub fn at(&self, t: f32) -> Rgb {
        let x = t.clamp(0.0, 1.0) * TABLE as f32;
        let i = x as usize;
        mix(self.0[i], self.0[i + 1], x - i as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_map_and_other_names_are_told_what_there_is() {
        for name in ColorMap::names() {
            let map = ColorMap::by_name(name).unwrap();
            assert!(map.stops.iter().all(|&(_, color)| color != crate::color::NOT_FINITE), "{name}");
            assert!(map.stops.is_sorted_by(|a, b| a.0 < b.0), "{name}");
        }
        let error = ColorMap::by_name("infernal").unwrap_err().to_string();
        assert!(error.contains("`infernal`") && error.contains("viridis"), "{error}");
    }

    #[test]
    fn the_ends_of_a_map_are_its_end_colours() {
        let map = ColorMap::ramp(&[(0.0, "#102030"), (0.3, "#ff0000"), (1.0, "#ffe0a0")]).unwrap();
        let table = map.table(0.7);
        for (t, hex) in [(-1.0, "#102030"), (0.0, "#102030"), (1.0, "#ffe0a0"), (7.0, "#ffe0a0")] {
            for c in 0..3 {
                // There and back through OKLab in f32; a 255th of a level is 1e-5.
                assert!((map.at(t)[c] - from_hex(hex).unwrap()[c]).abs() < 1e-6);
                assert!((table.at(t)[c] - from_hex(hex).unwrap()[c]).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn lightness_grows_along_the_maps_that_promise_it() {
        for name in ["inferno", "magma", "viridis", "cividis", "grey", "smoke", "fire", "ice", "ocean", "toxic"] {
            let map = ColorMap::by_name(name).unwrap();
            let lightness: Vec<f32> = (0..=100).map(|i| to_oklab(map.at(i as f32 / 100.0))[0]).collect();
            // The 8-bit source of the sampled maps wobbles by half a level.
            assert!(lightness.windows(2).all(|pair| pair[1] > pair[0] - 2e-3), "{name}");
        }
    }

    #[test]
    fn a_ramp_without_order_is_refused() {
        assert!(ColorMap::ramp(&[(0.0, "#000")]).is_err());
        assert!(ColorMap::ramp(&[(0.0, "#000"), (0.0, "#fff")]).is_err());
        assert!(ColorMap::ramp(&[(0.0, "#000"), (f32::NAN, "#fff")]).is_err());
        assert!(ColorMap::ramp(&[(0.0, "#000"), (1.0, "white")]).is_err());
    }
}
