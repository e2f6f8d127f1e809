//! How thick a liquid is.

use super::*;
use crate::scene::Pair;

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

impl Resolver<'_> {
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
        if let Formula::Number(nu) = formula
            && nu < 0.0
        {
            self.problems
                .error(typed.span, format!("`{KEY}` is {nu}"), "must not be negative")
                .help("water 1e-6, honey 5e-3, lava 0.1 m^2/s");
        }
        formula
    }
}
