//! What is written.

use super::*;

impl Resolver<'_> {
    pub(super) fn output(&mut self, file: &scene::SceneFile, grid: &Grid, model: Model, film: bool) -> Output {
        let default = scene::Output::default();
        let o = file.output.as_deref().unwrap_or(&default);
        let width = self.count(&o.width, 1, MAX_PIXELS, 640, "output.width");
        let natural = (f64::from(width) * grid.size[1] / grid.size[0]).round().max(1.0);
        if natural > MAX_PIXELS as f64 && o.height.is_none() {
            let message = format!("the pictures would be {natural} pixels high");
            let place = o.width.as_ref().map_or(file.grid.as_ref().map(|g| g.span), |w| Some(w.span));
            self.problems
                .error(place, message, "too high")
                .help(format!("the height follows from the box; at most {MAX_PIXELS}: make `output.width` smaller"));
        }
        let natural = natural.min(MAX_PIXELS as f64) as u32;
        let height = self.count(&o.height, 1, MAX_PIXELS, natural, "output.height");
        if let (Some(given), false) = (&o.height, film)
            && height != natural
        {
            let message = format!("`output.height` is {height}, but the box makes it {natural}");
            self.problems
                .error(given.span, message, "follows from the box")
                .help("leave it out; only 3D pictures taken by a [camera] have a height of their own");
        }
        let bits = self.count(&o.bits, 8, 16, 8, "output.bits");
        let exr = o.exr.as_deref().copied().unwrap_or(false);
        if !film && (bits != 8 || exr) {
            let span = o.bits.as_ref().map(|b| b.span).or(o.exr.as_ref().map(|e| e.span));
            self.problems
                .error(span, "only 3D pictures taken by a [camera] are kept in more than 8 bits", "not here")
                .help("leave it out; raw numbers of other scenes are had by `output.fields`");
        } else if ![8, 16].contains(&bits) {
            let span = o.bits.as_ref().map(|b| b.span);
            self.problems.error(span, format!("`output.bits` is {bits}"), "8 or 16").help("the default is 8");
        }
        for field in o.fields.iter().flat_map(|f| &f.value).filter(|f| f.as_str() == "pressure") {
            self.no_pressure(field.span, model);
        }
        let fields = self.field_names(&o.fields, &["velocity", "pressure", "vorticity", "speed"]);
        let vdb = self.vdb(&o.vdb, model, grid, file.texture.is_some());
        let checkpoint_seconds = self.between(&o.checkpoint_seconds, 0.0, 1e6, 60.0, "output.checkpoint_seconds");
        let movie = o.movie.as_deref().copied().unwrap_or(Movie::Gif);
        let mut passes: Vec<Pass> = o.passes.iter().flat_map(|p| &p.value).map(|p| p.value).collect();
        passes.sort_by_key(|pass| Pass::WORDS.iter().position(|word| *word == pass.word()));
        passes.dedup();
        let green = o.green.as_deref().copied().unwrap_or(Green::Up);
        Output { width, height, bits, exr, vdb, movie, fields, passes, green, checkpoint_seconds }
    }

    /// Names of substances and of `known` fields, each once.
    fn field_names(&mut self, typed: &Option<Spanned<Vec<Spanned<String>>>>, known: &[&str]) -> Vec<String> {
        let mut fields: Vec<String> = Vec::new();
        for field in typed.iter().flat_map(|f| &f.value) {
            if !self.names.contains(field) && !known.contains(&field.as_str()) {
                let names: Vec<&str> = self.names.iter().map(String::as_str).chain(known.iter().copied()).collect();
                let help = did_you_mean(field, &names, "fields");
                self.problems
                    .error(field.span, format!("there is no field `{}`", short(field)), "not a field")
                    .help(help);
            } else if !fields.contains(field) {
                fields.push(field.value.clone());
            }
        }
        fields
    }

    fn vdb(&mut self, typed: &Option<Spanned<scene::Vdb>>, model: Model, grid: &Grid, textured: bool) -> Option<Vdb> {
        let (table, wanted, span) = match typed {
            None => (None, model != Model::StableFluids && self.d == 3 && grid.has_cubes(), None),
            Some(Spanned { value: scene::Vdb::Plain(wanted), span }) => (None, *wanted, Some(*span)),
            Some(Spanned { value: scene::Vdb::Table(table), span }) => (Some(table), true, Some(*span)),
        };
        if !wanted {
            return None;
        }
        if self.d == 2 || !grid.has_cubes() {
            let why = if self.d == 2 { "2D scenes have no volumes" } else { "volumes need cells that are cubes" };
            self.problems
                .error(span, format!("`output.vdb`: {why}"), "not here")
                .help("leave it out; `output.fields` writes raw numbers of every scene");
            return None;
        }
        for field in table.and_then(|t| t.fields.as_ref()).iter().flat_map(|f| &f.value) {
            if field.as_str() == "pressure" {
                self.no_pressure(field.span, model);
            }
        }
        let fields = match table.and_then(|t| t.fields.as_ref()) {
            Some(_) => self.field_names(&table?.fields, &["velocity", "pressure"]),
            None => self.names.clone(),
        };
        if fields.is_empty() {
            self.problems
                .error(span, "`output.vdb` names no field", "nothing to write")
                .help("for example vdb = { fields = [\"velocity\"] }");
        }
        let flag = |value: Option<&Option<Spanned<bool>>>| value.and_then(|v| v.as_deref().copied());
        let detail = flag(table.map(|t| &t.detail));
        if let (Some(true), false, Some(typed)) = (detail, textured, table.and_then(|t| t.detail.as_ref())) {
            self.problems
                .error(typed.span, "`output.vdb.detail` without a texture", "detail of what?")
                .help("add [texture], for example with noise = {}");
        }
        Some(Vdb {
            fields,
            half: flag(table.map(|t| &t.half)).unwrap_or(true),
            detail: detail.unwrap_or(true) && textured,
            up: table.and_then(|t| t.up.as_deref().copied()).unwrap_or(Up::Y),
            mask: flag(table.map(|t| &t.mask)).unwrap_or(true),
        })
    }
}
