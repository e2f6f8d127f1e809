//! Viscosity, elasticity and heat of liquids.

use super::*;
use crate::scene::Pair;
use crate::setup::Elastic;

/// Liquids by name, as kinematic viscosity in m^2/s. What yields only under stress (a Bingham fluid) is as thick as `stress / shear`, but for
/// a limit.
pub(crate) const LIQUIDS: [(&str, &str); 8] = [
    ("water", "1e-6"),
    ("oil", "9e-5"),
    ("honey", "5e-3"),
    ("chocolate", "2e-3 + 8e-3 / max(shear, 0.01)"),
    ("lava", "0.1"),
    ("toothpaste", "0.05 + 0.15 / max(shear, 0.01)"),
    ("slime", "0.03 / (1 + shear)^0.3"),
    ("dough", "2 + 1 / max(shear, 0.05)"),
];

/// Elastic liquids by name: shear modulus in Pa, strain from which on they yield, how fast (1/s), and in which time they relax (s).
pub(crate) const ELASTIC: [(&str, Elastic); 5] = [
    ("jelly", Elastic { modulus: 1500.0, yield_strain: NEVER, yield_rate: 0.0, relaxation: NEVER }),
    ("slime", Elastic { modulus: 60.0, yield_strain: NEVER, yield_rate: 0.0, relaxation: 1.0 }),
    ("putty", Elastic { modulus: 20_000.0, yield_strain: 0.05, yield_rate: 50.0, relaxation: NEVER }),
    ("dough", Elastic { modulus: 2000.0, yield_strain: 0.3, yield_rate: 5.0, relaxation: 10.0 }),
    ("toothpaste", Elastic { modulus: 1000.0, yield_strain: 0.15, yield_rate: 30.0, relaxation: NEVER }),
];

/// How a liquid with a name looks: `render.water`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub tint: u32,
    pub depth: f64,
    pub ior: f64,
    pub roughness: f64,
    /// Its colour, if nobody sees through it.
    pub body: Option<u32>,
    pub spread: f64,
}

impl Look {
    const fn clear(tint: u32, depth: f64, ior: f64) -> Self {
        Look { tint, depth, ior, roughness: 0.02, body: None, spread: 0.01 }
    }

    const fn cloudy(body: u32, spread: f64, ior: f64, roughness: f64) -> Self {
        Look { tint: 0xffffff, depth: 1.0, ior, roughness, body: Some(body), spread }
    }
}

/// Looks by the names of [`LIQUIDS`] and [`ELASTIC`]; water has that of a scene that says nothing.
pub(crate) const LOOKS: [(&str, Look); 9] = [
    ("oil", Look::clear(0xf2e29a, 0.05, 1.47)),
    ("honey", Look::clear(0xe8951a, 0.018, 1.49)),
    ("jelly", Look::clear(0xe0304c, 0.035, 1.36)),
    ("chocolate", Look::cloudy(0x4b2412, 0.002, 1.5, 0.22)),
    ("lava", Look::cloudy(0x2e2926, 0.01, 1.5, 0.6)),
    ("toothpaste", Look::cloudy(0xe6f4f4, 0.004, 1.45, 0.15)),
    ("slime", Look::cloudy(0x63c132, 0.012, 1.4, 0.06)),
    ("dough", Look::cloudy(0xe9d8b4, 0.004, 1.4, 0.6)),
    ("putty", Look::cloudy(0xb7a58c, 0.003, 1.4, 0.5)),
];

const NEVER: f64 = f64::INFINITY;

/// In pascals. Far stiffer matter is not stable when it is hit.
const STIFFEST: f64 = 1e5;

/// The look of the liquid of a scene, if it has a name.
pub(super) fn look(file: &SceneFile) -> Option<Look> {
    let liquid = &file.liquid.as_ref()?.value;
    let of = |typed: &Option<Spanned<NumberOrText>>| match typed.as_ref().map(|typed| &typed.value) {
        Some(NumberOrText::Text(text)) => LOOKS.iter().find(|(name, _)| name == text).map(|(_, look)| *look),
        _ => None,
    };
    of(&liquid.elasticity).or_else(|| of(&liquid.viscosity))
}

impl Resolver<'_> {
    /// A modulus or a name, and how it yields and relaxes.
    pub(super) fn elastic(&mut self, file: &SceneFile) -> Option<Elastic> {
        const KEY: &str = "liquid.elasticity";
        let liquid = file.liquid.as_ref().filter(|_| self.model == Model::Liquid)?;
        let Some(typed) = &liquid.elasticity else {
            let spans = [&liquid.yield_strain, &liquid.yield_rate, &liquid.relaxation];
            if let Some(span) = spans.iter().find_map(|key| key.as_ref().map(|key| key.span)) {
                self.problems
                    .error(span, "this key needs `liquid.elasticity`", "there is no `elasticity`")
                    .help("add elasticity = \"jelly\", or leave this out");
            }
            return None;
        };
        let mut elastic = match &typed.value {
            NumberOrText::Number(modulus) if (0.0..=STIFFEST).contains(modulus) => {
                Elastic { modulus: *modulus, yield_strain: NEVER, yield_rate: 50.0, relaxation: NEVER }
            }
            NumberOrText::Number(modulus) => {
                self.problems
                    .error(typed.span, format!("`{KEY}` is {modulus}"), format!("must be 0 to {STIFFEST} Pa"))
                    .help("jelly has 1500, putty 20000 Pa; use an [[object]] for anything stiffer");
                return None;
            }
            NumberOrText::Text(text) => match ELASTIC.iter().find(|(name, _)| name == text) {
                Some((_, elastic)) => *elastic,
                None => {
                    let names = ELASTIC.map(|(name, _)| format!("\"{name}\"")).join(", ");
                    self.problems
                        .error(typed.span, format!("`{KEY}` is \"{text}\""), "no such liquid is known")
                        .help(format!("a shear modulus in Pa, or one of {names}"));
                    return None;
                }
            },
        };
        let set = |value: &mut f64, key: &Option<Spanned<f64>>| key.iter().for_each(|key| *value = key.value);
        set(&mut elastic.yield_strain, &liquid.yield_strain);
        set(&mut elastic.yield_rate, &liquid.yield_rate);
        set(&mut elastic.relaxation, &liquid.relaxation);
        let grid = liquid.tracking.as_ref().is_some_and(|tracking| tracking.value != Tracking::Particles);
        let flip = liquid.transfer.as_ref().is_some_and(|transfer| transfer.value != Transfer::Apic);
        let band = liquid.narrow_band.as_ref().is_some_and(|band| band.value > 0);
        if grid || flip || band {
            self.problems
                .error(typed.span, "`liquid.elasticity` needs APIC particles everywhere", "not here")
                .help("use tracking = \"particles\" and transfer = \"apic\", and no narrow_band");
        }
        Some(elastic)
    }

    /// What is heated and cooled has a temperature, and one only.
    fn heat(&mut self, file: &SceneFile) {
        let liquid = file.liquid();
        let melts = liquid.melting.as_ref().map(|m| m.value.substance().clone());
        let cools = liquid.heat.as_ref().map(|heat| (heat.value.substance().clone(), heat.span));
        let heated =
            file.object.iter().flat_map(|list| &list.value).find_map(|o| o.temperature.as_ref()).map(|t| t.span);
        let name = cools.as_ref().map(|(name, _)| name.clone()).or(melts.clone()).unwrap_or("temperature".to_owned());
        let Some(span) = cools.as_ref().map(|(_, span)| *span).or(heated) else { return };
        if !self.names.iter().skip(1).any(|known| *known == name) {
            self.problems
                .error(span, format!("the liquid carries no `{name}`"), "needed as its temperature")
                .help(format!("add [substance.{name}] with its `initial` value and its `diffusion`"));
        } else if melts.is_some_and(|melts| melts != name) {
            self.problems
                .error(span, "`liquid.heat` and `liquid.melting` use different temperatures", "one of both")
                .help("let `liquid.melting.substance` and `liquid.heat.substance` be the same");
        }
    }

    /// A number, a name or an expression; and what melts must have a temperature.
    pub(super) fn viscosity(&mut self, file: &SceneFile) -> Formula {
        const KEY: &str = "liquid.viscosity";
        if self.model != Model::Liquid {
            return Formula::Number(0.0);
        }
        let liquid = file.liquid();
        if let Some(melting) = &liquid.melting {
            let Spanned { value: melting, span } = melting;
            let Pair([cold, hot]) = *melting.range();
            if cold >= hot {
                let span = melting.range.as_ref().map_or(*span, |range| range.span);
                self.problems
                    .error(
                        span,
                        format!("`liquid.melting.range` ends at {hot}, where it begins at {cold}"),
                        "must rise",
                    )
                    .help("for example range = [300.0, 360.0]: solid below 300, molten above 360");
            }
            let name = melting.substance();
            if !self.names.iter().skip(1).any(|known| known == name) {
                let span = melting.substance.as_ref().map(|s| s.span).filter(|s| *s != Span::DEFAULT).unwrap_or(*span);
                self.problems
                    .error(span, format!("the liquid carries no `{name}`"), "needed to melt")
                    .help(format!("add [substance.{name}] with its `initial` value, or name another by `substance`"));
            }
        }
        self.heat(file);
        let Some(typed) = &liquid.viscosity else { return Formula::Number(0.0) };
        let named = match &typed.value {
            NumberOrText::Text(text) => LIQUIDS.iter().find(|(name, _)| name == text),
            NumberOrText::Number(_) => None,
        };
        let formula = match named {
            Some((_, law)) => {
                let law = Spanned { value: NumberOrText::Text((*law).to_owned()), span: typed.span };
                self.formula(&law, KEY, Known::Thickness)
            }
            None => self.formula(typed, KEY, Known::Thickness),
        };
        let help = "water 1e-6, honey 5e-3, lava 0.1 m^2/s";
        match &formula {
            Formula::Number(nu) if *nu < 0.0 => {
                self.problems.error(typed.span, format!("`{KEY}` is {nu}"), "must not be negative").help(help);
            }
            Formula::Number(_) => {}
            Formula::Expression(law) => self.not_negative(law, typed.span, KEY, file, help),
        }
        formula
    }
}
