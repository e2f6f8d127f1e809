//! Forces.

use super::*;

impl Resolver<'_> {
    pub(super) fn forces(&mut self, file: &SceneFile) -> Vec<Force> {
        let mut forces = Vec::new();
        for (i, force) in file.force.iter().flat_map(|list| &list.value).enumerate() {
            let key = format!("force.{i}");
            let active = self.interval(*force.from(), &force.to, &key);
            if let Some(kind) = self.force(force, &key) {
                forces.push(Force { kind, active });
            }
        }
        forces
    }

    fn force(&mut self, f: &Spanned<scene::Force>, key: &str) -> Option<ForceKind> {
        let spans = [
            f.buoyancy.as_ref().map(|k| k.span),
            f.uniform.as_ref().map(|k| k.span),
            f.wind.as_ref().map(|k| k.span),
            f.vortex.as_ref().map(|k| k.span),
            f.noise.as_ref().map(|k| k.span),
            f.radial.as_ref().map(|k| k.span),
            f.stir.as_ref().map(|k| k.span),
            f.expression.as_ref().map(|k| k.span),
        ];
        let mut given = spans.into_iter().flatten();
        match (given.next(), given.next()) {
            (None, _) => {
                self.problems
                    .error(f.span, format!("`{key}` does nothing"), "this force")
                    .help("give it one of: buoyancy, uniform, wind, vortex, noise, radial, stir, expression");
                return None;
            }
            (Some(_), Some(second)) => {
                self.problems
                    .error(second, format!("`{key}` is more than one force"), "the second one")
                    .help("each force needs its own [[force]]");
                return None;
            }
            _ => {}
        }
        if let Some(b) = &f.buoyancy {
            let (strength, ambient) = (b.strength().plain(), b.ambient().plain());
            let substance = self.substance(b.substance.as_ref()?)?;
            return Some(ForceKind::Buoyancy { substance, strength, ambient });
        }
        if let Some(w) = &f.wind {
            return Some(ForceKind::Wind { velocity: w.velocity().plain(), rate: w.rate().plain() });
        }
        if let Some(v) = &f.vortex {
            return Some(ForceKind::Vortex {
                center: v.center().plain(),
                axis: self.vortex_axis(&v.axis, &format!("{key}.vortex")),
                radius: v.radius().plain(),
                strength: v.strength().plain(),
            });
        }
        if let Some(n) = &f.noise {
            return Some(ForceKind::Noise {
                strength: n.strength().plain(),
                scale: *n.scale(),
                speed: *n.speed(),
                substance: n.substance.as_ref().and_then(|s| self.substance(s)),
            });
        }
        if let Some(r) = &f.radial {
            let (radius, strength) = (r.radius().plain(), r.strength().plain());
            return Some(ForceKind::Radial { center: r.center().plain(), radius, strength });
        }
        if let Some(s) = &f.stir {
            return self.stir(s, &format!("{key}.stir"));
        }
        if let Some(e) = &f.expression {
            return Some(ForceKind::Expression(self.formulas(
                e,
                e.span,
                &format!("{key}.expression"),
                Known::Everything,
            )));
        }
        f.uniform.as_ref().map(|f| ForceKind::Uniform(f.plain()))
    }

    /// The axis with length 1; nothing in 2D.
    fn vortex_axis(&mut self, typed: &Option<Spanned<Vec<Spanned<f64>>>>, key: &str) -> Vec<f64> {
        let Some(given) = typed else { return if self.d == 3 { vec![0.0, 0.0, 1.0] } else { Vec::new() } };
        if self.d == 2 {
            self.problems
                .error(given.span, format!("`{key}.axis` in a 2D scene"), "not in 2D")
                .help("leave it out: in 2D the fluid turns about a point");
            return Vec::new();
        }
        if !self.has_length(given.len(), given.span, &format!("{key}.axis")) {
            return vec![0.0, 0.0, 1.0];
        }
        let axis = given.plain();
        let length = axis.iter().map(|a| a * a).sum::<f64>().sqrt();
        if length < 1e-12 {
            self.problems
                .error(given.span, format!("`{key}.axis` has no direction"), "length zero")
                .help("for example axis = [0.0, 1.0, 0.0]");
            return vec![0.0, 0.0, 1.0];
        }
        // An axis that is a unit vector already stays as it was typed, to the last bit.
        if (length - 1.0).abs() < 1e-14 { axis } else { axis.iter().map(|a| a / length).collect() }
    }
}
