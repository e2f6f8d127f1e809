//! What only the model "smoke" has.

use super::*;

impl Resolver<'_> {
    pub(super) fn smoke(&mut self, file: &scene::SceneFile, model: Model, grid: &Grid) -> Option<Smoke> {
        if model != Model::Smoke {
            self.only_in_smoke(&file.smoke, "smoke");
            return None;
        }
        if !grid.has_cubes() {
            let size = file.grid.as_ref().and_then(|g| g.size.as_ref()).map(|s| s.span);
            let h = grid.spacing();
            let fits: Vec<f64> = grid.cells.iter().map(|&n| n as f64 * h[0]).collect();
            self.problems
                .error(size, format!("cells of smoke must be cubes, but are {h:?} m"), "not in proportion to `cells`")
                .help(format!(
                    "with these `cells`, size = {fits:?} makes cubes; without `size` they are cubes as well"
                ));
        }
        let default = scene::Smoke::default();
        let s = file.smoke.as_deref().unwrap_or(&default);
        Some(Smoke {
            rise: s.rise.as_ref().map_or(0.0335, |v| v.value),
            fall: s.fall.as_ref().map_or(0.0, |v| v.value),
            fade: self.not_negative(&s.fade, 0.15, "smoke.fade"),
            fade_law: s.fade_law.as_deref().copied().unwrap_or(FadeLaw::ThinFirst),
            cooling: self.not_negative(&s.cooling, 0.4, "smoke.cooling"),
            radiation: self.not_negative(&s.radiation, 0.0, "smoke.radiation"),
            confinement: self.not_negative(&s.confinement, 0.3, "smoke.confinement"),
            wind: self.vector(&s.wind, "smoke.wind"),
            buffer: self.count(&s.buffer, 1, 64, 3, "smoke.buffer"),
        })
    }

    /// Refuses what means nothing outside of the model "smoke".
    pub(super) fn only_in_smoke<T>(&mut self, typed: &Option<Spanned<T>>, key: &str) {
        if let Some(given) = typed {
            self.problems
                .error(given.span, format!("`{key}` needs the model \"smoke\""), "not in this model")
                .help("write model = \"smoke\" above the first [table], or leave it out");
        }
    }

    /// Refuses what means nothing in this model.
    pub(super) fn not_in<T>(&mut self, model: Model, typed: &Option<Spanned<T>>, key: &str) {
        if let Some(given) = typed {
            self.problems
                .error(
                    given.span,
                    format!("`{key}` means nothing to the model \"{}\"", model.word()),
                    "not in this model",
                )
                .help("leave it out");
        }
    }
}
