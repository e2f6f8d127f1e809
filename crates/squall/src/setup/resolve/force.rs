//! Forces.

use super::*;

impl Resolver<'_> {
    pub(super) fn forces(&mut self, file: &scene::SceneFile, noise_scale: f64, grid: &Grid) -> Vec<Force> {
        let mut forces = Vec::new();
        for (i, force) in file.force.iter().flat_map(|list| &list.value).enumerate() {
            let key = format!("force.{i}");
            let active = self.interval(&force.from, &force.to, &key);
            if let Some(kind) = self.force(force, &key, noise_scale, grid) {
                forces.push(Force { kind, active });
            }
        }
        forces
    }

    fn force(&mut self, f: &Spanned<scene::Force>, key: &str, noise_scale: f64, grid: &Grid) -> Option<ForceKind> {
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
        self.buoyancy(f, key)
            .or_else(|| self.wind(f, key))
            .or_else(|| self.vortex(f, key))
            .or_else(|| self.noise(f, key, noise_scale))
            .or_else(|| self.radial(f, key))
            .or_else(|| self.stir(f, key, grid))
            .or_else(|| {
                f.uniform.as_ref().map(|_| ForceKind::Uniform(self.vector(&f.uniform, &format!("{key}.uniform"))))
            })
            .or_else(|| {
                let e = f.expression.as_ref()?;
                Some(ForceKind::Expression(self.formulas(e, &format!("{key}.expression"), Known::Everything)))
            })
    }

    fn buoyancy(&mut self, f: &scene::Force, key: &str) -> Option<ForceKind> {
        let b = f.buoyancy.as_ref()?;
        self.required(&b.substance, b.span, &format!("{key}.buoyancy"), "substance", "\"density\"");
        Some(ForceKind::Buoyancy {
            substance: self.substance(b.substance.as_ref()?)?,
            strength: value(&b.strength, 1.0),
            ambient: value(&b.ambient, 0.0),
        })
    }

    fn wind(&mut self, f: &scene::Force, key: &str) -> Option<ForceKind> {
        let w = f.wind.as_ref()?;
        let key = format!("{key}.wind");
        self.required(&w.velocity, w.span, &key, "velocity", "[1.0, 0.0]").then(|| ForceKind::Wind {
            velocity: self.vector(&w.velocity, &format!("{key}.velocity")),
            rate: self.not_negative(&w.rate, 1.0, &format!("{key}.rate")),
        })
    }

    fn vortex(&mut self, f: &scene::Force, key: &str) -> Option<ForceKind> {
        let v = f.vortex.as_ref()?;
        let key = format!("{key}.vortex");
        let whole = self.required(&v.center, v.span, &key, "center", "[0.5, 0.5]")
            & self.required(&v.radius, v.span, &key, "radius", "0.2")
            & self.required(&v.strength, v.span, &key, "strength", "1.0");
        whole.then(|| ForceKind::Vortex {
            center: self.vector(&v.center, &format!("{key}.center")),
            axis: self.vortex_axis(&v.axis, &key),
            radius: self.positive(&v.radius, REQUIRED, &format!("{key}.radius")),
            strength: value(&v.strength, 0.0),
        })
    }

    /// The axis with length 1; nothing in 2D.
    fn vortex_axis(&mut self, typed: &Vector, key: &str) -> Vec<f64> {
        let Some(given) = typed else { return if self.d == 3 { vec![0.0, 0.0, 1.0] } else { Vec::new() } };
        if self.d == 2 {
            self.problems
                .error(given.span, format!("`{key}.axis` in a 2D scene"), "not in 2D")
                .help("leave it out: in 2D the fluid turns about a point");
            return Vec::new();
        }
        let axis = self.vector(typed, &format!("{key}.axis"));
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

    fn noise(&mut self, f: &scene::Force, key: &str, noise_scale: f64) -> Option<ForceKind> {
        let n = f.noise.as_ref()?;
        let key = format!("{key}.noise");
        self.required(&n.strength, n.span, &key, "strength", "0.5").then(|| ForceKind::Noise {
            strength: value(&n.strength, 0.0),
            scale: self.positive(&n.scale, noise_scale, &format!("{key}.scale")),
            speed: self.not_negative(&n.speed, 4.0, &format!("{key}.speed")),
            substance: n.substance.as_ref().and_then(|s| self.substance(s)),
        })
    }

    fn radial(&mut self, f: &scene::Force, key: &str) -> Option<ForceKind> {
        let r = f.radial.as_ref()?;
        let key = format!("{key}.radial");
        let whole = self.required(&r.center, r.span, &key, "center", "[0.5, 0.5]")
            & self.required(&r.radius, r.span, &key, "radius", "0.2")
            & self.required(&r.strength, r.span, &key, "strength", "1.0");
        whole.then(|| ForceKind::Radial {
            center: self.vector(&r.center, &format!("{key}.center")),
            radius: self.positive(&r.radius, REQUIRED, &format!("{key}.radius")),
            strength: value(&r.strength, 0.0),
        })
    }
}

fn value(typed: &Number, default: f64) -> f64 {
    typed.as_ref().map_or(default, |v| v.value)
}
