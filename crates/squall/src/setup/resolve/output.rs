//! Output files.

use super::*;

/// No larger pictures are written or read as OpenEXR.
const MOST_EXR_PIXELS: u64 = 1 << 26;

impl Resolver<'_> {
    pub(super) fn output(&mut self, file: &mut SceneFile) -> Output {
        let (grid, film) = (self.grid.clone(), self.film);
        let textured = file.texture.is_some();
        let place = file.grid.as_ref().map(|g| g.span);
        let Some(Spanned { value: o, .. }) = &mut file.output else { unreachable!("a completed scene") };
        let width = *o.width();
        let natural = (f64::from(width) * grid.size[1] / grid.size[0]).round().max(1.0);
        if natural > MAX_PIXELS && o.height.is_none() {
            let message = format!("the pictures would be {natural} pixels high");
            let place = typed(&o.width).map_or(place, |w| Some(w.span));
            self.problems
                .error(place, message, "too high")
                .help(format!("the height follows from the box; at most {MAX_PIXELS}: make `output.width` smaller"));
        }
        let natural = natural.min(MAX_PIXELS) as u32;
        let height = fill(&mut o.height, || natural);
        if let (Some(given), false) = (&o.height, film)
            && height != natural
        {
            let message = format!("`output.height` is {height}, but the box makes it {natural}");
            self.problems
                .error(given.span, message, "follows from the box")
                .help("leave it out; only 3D pictures have a height of their own");
        }
        let (bits, exr) = (*o.bits(), *o.exr());
        if !film && (bits == 16 || exr) {
            let span = typed(&o.bits).map(|b| b.span).or(typed(&o.exr).map(|e| e.span));
            self.problems
                .error(span, "only 3D pictures can have more than 8 bits", "not here")
                .help("leave it out; use `output.fields` for raw numbers");
        } else if ![8, 16].contains(&bits) {
            let span = o.bits.as_ref().map(|b| b.span);
            self.problems.error(span, format!("`output.bits` is {bits}"), "8 or 16").help("the default is 8");
        }
        for field in o.fields.iter().flat_map(|f| &f.value).filter(|f| f.as_str() == "pressure") {
            self.no_pressure(field.span);
        }
        let fields = self.field_names(o.fields(), &["velocity", "pressure", "vorticity", "speed"]);
        let vdb = self.vdb(&mut o.vdb, textured);
        let mut passes: Vec<Pass> = o.passes().plain();
        passes.sort_by_key(|pass| Pass::WORDS.iter().position(|word| *word == pass.word()));
        passes.dedup();
        if (exr || !passes.is_empty()) && u64::from(width) * u64::from(height) > MOST_EXR_PIXELS {
            let span = typed(&o.width).map(|w| w.span).or(typed(&o.height).map(|h| h.span)).or(place);
            self.problems
                .error(span, format!("{width} x {height} pixels are too many for .exr files"), "too large")
                .help(format!(
                    "at most {MOST_EXR_PIXELS} pixels; leave out `output.exr` and `output.passes`, or make it smaller"
                ));
        }
        let mesh = self.mesh_formats(o);
        let mut particles = o.particles().0.clone();
        if let (Some(given), true) = (&o.particles, self.model == Model::Smoke && !particles.is_empty() && !self.embers)
        {
            self.problems
                .error(given.span, "smoke has no particles", "nothing to write")
                .help("embers are particles: add [embers] and [fire], or leave it out");
        }
        particles.sort_by_key(|format| ParticleFormat::WORDS.iter().position(|word| *word == format.word()));
        particles.dedup();
        let (movie, green, checkpoint_seconds) = (*o.movie(), *o.green(), *o.checkpoint_seconds());
        Output { width, height, bits, exr, vdb, mesh, particles, movie, fields, passes, green, checkpoint_seconds }
    }

    /// Files of the surface.
    fn mesh_formats(&mut self, o: &scene::Output) -> Vec<MeshFormat> {
        let mut formats: Vec<MeshFormat> = o.mesh().plain();
        for typed in
            o.mesh.iter().flat_map(|list| &list.value).filter(|f| (f.value == MeshFormat::Svg) != (self.d == 2))
        {
            let (which, help) = match self.d {
                2 => ("3D", "in 2D write mesh = [\"svg\"]"),
                _ => ("2D", "in 3D write mesh = [\"ply\"], \"obj\", \"glb\" or \"usda\""),
            };
            let message = format!("`output.mesh` \"{}\" is for {which} scenes", typed.value.word());
            self.problems.error(typed.span, message, "not here").help(help);
        }
        formats.sort_by_key(|format| MeshFormat::WORDS.iter().position(|word| *word == format.word()));
        formats.dedup();
        formats
    }

    /// Names of substances and of `known` fields, each once.
    fn field_names(&mut self, typed: &[Spanned<String>], known: &[&str]) -> Vec<String> {
        let mut fields: Vec<String> = Vec::new();
        for field in typed {
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

    fn vdb(&mut self, slot: &mut Option<Spanned<scene::Vdb>>, textured: bool) -> Option<Vdb> {
        let usual = self.model != Model::StableFluids && self.d == 3 && self.grid.has_cubes();
        if slot.is_none() {
            let mut usual = if usual { scene::Vdb::Table(Box::default()) } else { scene::Vdb::None };
            usual.complete(Span::DEFAULT, "output.vdb", self);
            fill(slot, || usual);
        }
        let Some(Spanned { value: scene::Vdb::Table(table), span }) = slot else { return None };
        if self.d == 2 || !self.grid.has_cubes() {
            let why = if self.d == 2 { "2D scenes have no volumes" } else { "volumes need cells that are cubes" };
            self.problems
                .error(*span, format!("`output.vdb`: {why}"), "not here")
                .help("leave it out; `output.fields` writes raw numbers of every scene");
            return None;
        }
        for field in table.fields.iter().flat_map(|f| &f.value).filter(|field| field.as_str() == "pressure") {
            self.no_pressure(field.span);
        }
        let span = *span;
        let liquid = self.model == Model::Liquid;
        let mut names = self.names.clone();
        if liquid {
            names[0] = "surface".to_owned();
        }
        let all = names.into_iter().map(|value| Spanned { value, span: Span::DEFAULT }).collect();
        let known: &[&str] = if liquid { &["velocity", "pressure", "surface"] } else { &["velocity", "pressure"] };
        let fields = self.field_names(&fill(&mut table.fields, || all), known);
        if fields.is_empty() {
            self.problems
                .error(span, "`output.vdb` names no field", "nothing to write")
                .help("for example vdb = { fields = [\"velocity\"] }");
        }
        if let (Some(Spanned { value: true, span }), false) = (&table.detail, textured) {
            self.problems
                .error(*span, "`output.vdb.detail` without a texture", "detail of what?")
                .help("add [texture], for example with noise = {}");
        }
        let detail = fill(&mut table.detail, || textured) && textured;
        Some(Vdb { fields, half: *table.half(), detail, up: *table.up(), mask: *table.mask() })
    }
}
