//! How 3D pictures are taken.

use super::*;

const MAX_LIGHTS: usize = squall_render::film::MAX_LIGHTS;

type Text = Option<Spanned<String>>;

impl Resolver<'_> {
    /// Whether pictures are taken by a camera: always of smoke in 3D, else if the scene says anything about it.
    pub(super) fn wants_film(&mut self, file: &scene::SceneFile, model: Model, grid: &Grid) -> bool {
        let spans = [
            file.camera.as_ref().map(|c| ("camera", c.span)),
            file.light.as_ref().map(|l| ("light", l.span)),
            file.render.as_ref().map(|r| ("render", r.span)),
        ];
        let given = spans.into_iter().flatten().next();
        let substances =
            matches!(
                file.picture.as_ref().and_then(|p| p.show.as_deref()).map(String::as_str),
                None | Some("substances")
            ) || file.picture.as_ref().and_then(|p| p.show.as_ref()).is_some_and(|s| self.names.contains(&s.value));
        let wrong = match (self.d, substances && !self.names.is_empty()) {
            (2, _) => Some("2D pictures have no camera"),
            (_, false) => Some("a camera sees substances only"),
            _ if !grid.has_cubes() => Some("a camera needs cells that are cubes"),
            _ => None,
        };
        if let (Some((key, span)), Some(wrong)) = (given, wrong) {
            self.problems
                .error(span, format!("`{key}`: {wrong}"), "not here")
                .help("leave it out; [picture] says what the pictures of this scene look like");
        }
        wrong.is_none() && (model != Model::StableFluids || given.is_some())
    }

    pub(super) fn film(
        &mut self,
        file: &scene::SceneFile,
        grid: &Grid,
        picture: &Picture,
        substances: &[Substance],
        sources: &[Source],
    ) -> Film {
        Film {
            camera: self.camera(file, grid, picture.view),
            lights: self.lights(file),
            render: self.render(file, grid, substances, sources),
        }
    }

    fn camera(&mut self, file: &scene::SceneFile, grid: &Grid, view: View) -> Camera {
        let default = scene::Camera::default();
        let c = file.camera.as_deref().unwrap_or(&default);
        let middle: [f64; 3] = std::array::from_fn(|a| grid.origin[a] + 0.5 * grid.size[a]);
        let target = self.point(&c.target, "camera.target").unwrap_or(middle);
        let mut base = CameraKey {
            time: 0.0,
            yaw: c.yaw.as_ref().map_or(view.yaw, |v| v.value),
            pitch: self.between(&c.pitch, -90.0, 90.0, view.pitch, "camera.pitch"),
            distance: c.distance.as_ref().map(|_| self.positive(&c.distance, 1.0, "camera.distance")),
            target,
            fov: self.between(&c.fov, 1.0, 170.0, 35.0, "camera.fov"),
            roll: c.roll.as_ref().map_or(0.0, |v| v.value),
        };
        if let Some(position) = self.point(&c.position, "camera.position") {
            let [x, y, z]: [f64; 3] = std::array::from_fn(|a| position[a] - target[a]);
            let distance = (x * x + y * y + z * z).sqrt();
            let span = c.position.as_ref().map(|p| p.span);
            if c.yaw.is_some() || c.pitch.is_some() || c.distance.is_some() {
                self.problems
                    .error(span, "`camera.position` and `yaw`, `pitch` or `distance`", "one or the other")
                    .help("the position says it all: leave out the others");
            }
            if distance < 1e-9 {
                self.problems
                    .error(span, "the camera stands in its own target", "nothing to see")
                    .help("move `camera.position` away from `camera.target`");
            } else {
                base.yaw = x.atan2(z).to_degrees();
                base.pitch = (y / distance).clamp(-1.0, 1.0).asin().to_degrees();
                base.distance = Some(distance);
            }
        }
        let keys = self.orbit(c, &base);
        let turntable = c.turntable.as_ref().map(|_| self.positive(&c.turntable, 1.0, "camera.turntable"));
        if let (Some(given), true) = (&c.turntable, c.orbit.is_some()) {
            self.problems
                .error(given.span, "`camera.turntable` and `camera.orbit`", "one or the other")
                .help("keys of an orbit may have a yaw 360 degrees apart: that is a whole turn");
        }
        Camera {
            keys,
            turntable,
            orthographic: c.orthographic.as_deref().copied().unwrap_or(false),
            margin: self.between(&c.margin, 0.0, 0.45, 0.0, "camera.margin"),
        }
    }

    fn orbit(&mut self, c: &scene::Camera, base: &CameraKey) -> Vec<CameraKey> {
        let mut keys: Vec<CameraKey> = Vec::new();
        for (i, k) in c.orbit.iter().flat_map(|o| &o.value).enumerate() {
            let key = format!("camera.orbit.{i}");
            self.required(&k.time, k.span, &key, "time", "2.0");
            let time = k.time.as_ref().map_or(0.0, |t| t.value);
            if k.time.is_some() && keys.last().is_some_and(|last| last.time >= time) {
                self.problems
                    .error(k.span, format!("`{key}` is at {time} s, not later than the key before it"), "too early")
                    .help("put keys in order of time");
            }
            keys.push(CameraKey {
                time,
                yaw: k.yaw.as_ref().map_or(base.yaw, |v| v.value),
                pitch: self.between(&k.pitch, -90.0, 90.0, base.pitch, &format!("{key}.pitch")),
                distance: match &k.distance {
                    Some(_) => Some(self.positive(&k.distance, 1.0, &format!("{key}.distance"))),
                    None => base.distance,
                },
                target: self.point(&k.target, &format!("{key}.target")).unwrap_or(base.target),
                fov: self.between(&k.fov, 1.0, 170.0, base.fov, &format!("{key}.fov")),
                roll: k.roll.as_ref().map_or(base.roll, |v| v.value),
            });
        }
        if keys.is_empty() { vec![base.clone()] } else { keys }
    }

    fn lights(&mut self, file: &scene::SceneFile) -> Vec<Light> {
        let Some(typed) = &file.light else {
            let sun =
                |towards, color, strength| Light { source: LightSource::Sun(towards), color, strength, size: 2.0 };
            return vec![
                sun([-0.7, 0.8, 0.35], [0xff, 0xf3, 0xe2], 1.25),
                sun([0.75, 0.3, -0.75], [0xce, 0xe5, 0xff], 0.55),
            ];
        };
        if typed.len() > MAX_LIGHTS {
            self.problems
                .error(typed[MAX_LIGHTS].span, format!("{} lights are too many", typed.len()), "one too many")
                .help(format!("a picture has at most {MAX_LIGHTS}"));
        }
        let mut lights = Vec::new();
        for (i, l) in typed.iter().enumerate() {
            let key = format!("light.{i}");
            let sun = self.point(&l.sun, &format!("{key}.sun"));
            let point = self.point(&l.point, &format!("{key}.point"));
            let (source, size, most) = match (sun, point) {
                (Some(sun), None) => (LightSource::Sun(sun), 2.0, 60.0),
                (None, Some(point)) => (LightSource::Point(point), 0.05, 1e6),
                (both, _) => {
                    let message = match both {
                        Some(_) => format!("`{key}` is both a sun and a point"),
                        None => format!("`{key}` has no place"),
                    };
                    self.problems
                        .error(l.span, message, "one of `sun`, `point`")
                        .help("for example sun = [-1.0, 2.0, 1.0], a direction, or point = [0.5, 0.2, 0.5], a place");
                    continue;
                }
            };
            if let (LightSource::Sun([0.0, 0.0, 0.0]), Some(given)) = (&source, &l.sun) {
                self.problems
                    .error(given.span, format!("`{key}.sun` has no direction"), "length zero")
                    .help("for example sun = [-1.0, 2.0, 1.0]");
            }
            lights.push(Light {
                source,
                color: l.color.as_ref().map_or([0xff; 3], |c| self.color(c)),
                strength: self.between(&l.strength, 0.0, 1e6, 1.0, &format!("{key}.strength")),
                size: self.between(&l.size, 0.0, most, size, &format!("{key}.size")),
            });
        }
        lights
    }

    fn render(&mut self, file: &scene::SceneFile, grid: &Grid, substances: &[Substance], sources: &[Source]) -> Render {
        let default = scene::Render::default();
        let r = file.render.as_deref().unwrap_or(&default);
        let quality = r.quality.as_deref().copied().unwrap_or(Quality::Final);
        let ambient = r.ambient.as_deref().cloned().unwrap_or_default();
        let samples = if quality == Quality::Preview { 1 } else { 4 };
        let longest = grid.longest();
        Render {
            quality,
            samples: self.count(&r.samples, 1, 16, samples, "render.samples"),
            thickness: self.between(&r.thickness, 0.0, 1e9, 25.0 / longest, "render.thickness"),
            color: self.color_or(&r.color, [0xf1, 0xf0, 0xef]),
            glow: r.glow.as_ref().and_then(|g| self.glow(g, longest, substances, sources)),
            anisotropy: self.between(&r.anisotropy, -0.9, 0.9, 0.2, "render.anisotropy"),
            softness: self.between(&r.softness, 0.0, 1.0, 1.0, "render.softness"),
            sky: self.color_or(&ambient.sky, [0x73, 0x7f, 0x90]),
            below: self.color_or(&ambient.below, [0x3f, 0x3c, 0x38]),
            occlusion: self.between(&ambient.occlusion, 0.0, 1.0, 0.85, "render.ambient.occlusion"),
            ground: r.ground.as_ref().map(|g| self.ground(g, grid)),
            transparent: r.transparent.as_deref().copied().unwrap_or(false),
        }
    }

    fn glow(
        &mut self,
        g: &Spanned<scene::Glow>,
        longest: f64,
        substances: &[Substance],
        sources: &[Source],
    ) -> Option<Glow> {
        let substance = match &g.substance {
            Some(name) => self.substance(name)?,
            None => match self.names.iter().position(|n| n == "temperature") {
                Some(index) => index,
                None => {
                    self.problems
                        .error(g.span, "the scene has no `temperature` that could glow", "what glows?")
                        .help("name a substance: glow = { substance = \"heat\" }");
                    return None;
                }
            },
        };
        let hottest = super::picture::largest_emitted(substance, substances, sources);
        let range = match self.pair(&g.range, "render.glow.range") {
            Some(range) => range,
            None if hottest > 0.0 => [hottest / 3.0, hottest],
            None => [0.0, 1.0],
        };
        let colors = match g.colors.as_ref().map(|c| &c.value) {
            None => None,
            Some(OneOrMany::One(name)) if name.value == "blackbody" => None,
            Some(_) => Some(self.color_map(g.colors.as_ref()?, "render.glow.colors")),
        };
        Some(Glow {
            substance,
            range,
            strength: self.between(&g.strength, 0.0, 1e9, 12.0 / longest, "render.glow.strength"),
            colors,
            kelvin: self.pair(&g.kelvin, "render.glow.kelvin").unwrap_or([700.0, 2300.0]),
        })
    }

    fn ground(&mut self, g: &scene::Ground, grid: &Grid) -> Ground {
        Ground {
            height: g.height.as_ref().map_or(grid.origin[1], |h| h.value),
            color: self.color_or(&g.color, [0x81, 0x7f, 0x7c]),
            roughness: self.between(&g.roughness, 0.0, 1.0, 0.9, "render.ground.roughness"),
            fade: self.pair(&g.fade, "render.ground.fade"),
            only_shadow: g.only_shadow.as_deref().copied().unwrap_or(false),
        }
    }

    fn point(&mut self, typed: &Vector, key: &str) -> Option<[f64; 3]> {
        typed.as_ref()?;
        let v = self.vector(typed, key);
        (v.len() == 3).then(|| [v[0], v[1], v[2]])
    }

    fn color_or(&mut self, typed: &Text, default: [u8; 3]) -> [u8; 3] {
        typed.as_ref().map_or(default, |c| self.color(c))
    }
}
