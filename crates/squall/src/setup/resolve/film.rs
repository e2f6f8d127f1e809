//! Camera, lights and appearance of 3D pictures.

use squall_render::film::Panorama;

use super::*;
use crate::assets::{Loaded, fingerprint};

const MAX_LIGHTS: usize = squall_render::film::MAX_LIGHTS;

impl Resolver<'_> {
    /// Whether pictures are taken by a camera: in 3D they are.
    pub(super) fn wants_film(&mut self, file: &SceneFile) -> bool {
        let spans = [
            file.camera.as_ref().map(|c| ("camera", c.span)),
            file.light.as_ref().map(|l| ("light", l.span)),
            file.render.as_ref().map(|r| ("render", r.span)),
        ];
        let given = spans.into_iter().flatten().next();
        if let (Some((key, span)), 2) = (given, self.d) {
            self.problems
                .error(span, format!("`{key}`: 2D pictures have no camera"), "not here")
                .help("leave it out; [picture] says what the pictures of this scene look like");
        }
        self.d == 3
    }

    pub(super) fn film(&mut self, file: &mut SceneFile, substances: &[Substance], sources: &[Source]) -> Film {
        Film { camera: self.camera(file), lights: self.lights(file), render: self.render(file, substances, sources) }
    }

    fn camera(&mut self, file: &mut SceneFile) -> Camera {
        let Some(Spanned { value: c, .. }) = &mut file.camera else { unreachable!("pictures taken by a camera") };
        if let Some(position) = &c.position {
            if c.yaw.is_some() || c.pitch.is_some() || c.distance.is_some() {
                self.problems
                    .error(position.span, "`camera.position` and `yaw`, `pitch` or `distance`", "one or the other")
                    .help("the position says it all: leave out the others");
            }
            let there = |v: &AnimatedVector| curve::at(&v.plain(), 0.0);
            let way: f64 = there(position).iter().zip(there(c.target())).map(|(p, t)| (p - t).powi(2)).sum();
            if way < 1e-18 {
                self.problems
                    .error(position.span, "`camera.position` and `camera.target` are the same point", "nothing to see")
                    .help("move `camera.position` away from `camera.target`");
            }
        } else {
            let pitch = if self.model == Model::Liquid { 10.0 } else { 6.0 };
            fill(&mut c.yaw, || Animated::constant(30.0));
            fill(&mut c.pitch, || Animated::constant(pitch));
        }
        if let (Some(given), true) = (&c.turntable, c.orbit.is_some()) {
            self.problems
                .error(given.span, "`camera.turntable` and `camera.orbit`", "one or the other")
                .help("keys of an orbit may have a yaw 360 degrees apart: that is a whole turn");
        }
        let curve = |slot: &Option<Spanned<Animated>>| slot.as_ref().map(|v| v.plain());
        let mut camera = Camera {
            yaw: curve(&c.yaw).unwrap_or_default(),
            pitch: curve(&c.pitch).unwrap_or_default(),
            distance: curve(&c.distance),
            position: c.position.as_ref().map(|v| three(v)),
            target: three(c.target()),
            fov: c.fov().plain(),
            roll: c.roll().plain(),
            orbit: Vec::new(),
            turntable: c.turntable.as_deref().copied(),
            orthographic: *c.orthographic(),
            follow: *c.follow(),
            aperture: c.aperture().plain(),
            focus: curve(&c.focus),
            shutter: *c.shutter(),
            margin: *c.margin(),
        };
        camera.orbit = self.orbit(c, &camera);
        camera
    }

    fn orbit(&mut self, c: &scene::Camera, camera: &Camera) -> Vec<CameraKey> {
        let mut keys: Vec<CameraKey> = Vec::new();
        for (i, k) in c.orbit.iter().flat_map(|o| &o.value).enumerate() {
            let key = format!("camera.orbit.{i}");
            let time = *k.time();
            if keys.last().is_some_and(|last| last.time >= time) {
                self.problems
                    .error(k.span, format!("`{key}` is at {time} s, not later than the key before it"), "too early")
                    .help("put keys in order of time");
            }
            let base = camera.key(time);
            let or = |slot: &Option<Spanned<f64>>, base: f64| slot.as_deref().copied().unwrap_or(base);
            keys.push(CameraKey {
                time,
                yaw: or(&k.yaw, base.yaw),
                pitch: or(&k.pitch, base.pitch),
                distance: k.distance.as_deref().copied().or(base.distance),
                target: k
                    .target
                    .as_ref()
                    .map_or(base.target, |t| std::array::from_fn(|a| t.get(a).map_or(0.0, |v| v.value))),
                fov: or(&k.fov, base.fov),
                roll: or(&k.roll, base.roll),
            });
        }
        keys
    }

    fn lights(&mut self, file: &mut SceneFile) -> Vec<Light> {
        let Some(Spanned { value: typed, .. }) = &mut file.light else { return Vec::new() };
        if typed.len() > MAX_LIGHTS {
            self.problems
                .error(typed[MAX_LIGHTS].span, format!("{} lights are too many", typed.len()), "one too many")
                .help(format!("a picture has at most {MAX_LIGHTS}"));
        }
        let mut lights = Vec::new();
        for (i, l) in typed.iter_mut().enumerate() {
            let (l, span) = (&mut l.value, l.span);
            let key = format!("light.{i}");
            let (source, size, most) = match (&l.sun, &l.point) {
                (Some(sun), None) => (LightSource::Sun(three(sun)), 2.0, 60.0),
                (None, Some(point)) => (LightSource::Point(three(point)), 0.05, 1e6),
                (both, _) => {
                    let message = match both {
                        Some(_) => format!("`{key}` is both a sun and a point"),
                        None => format!("`{key}` has no place"),
                    };
                    self.problems
                        .error(span, message, "one of `sun`, `point`")
                        .help("for example sun = [-1.0, 2.0, 1.0], a direction, or point = [0.5, 0.2, 0.5], a place");
                    continue;
                }
            };
            if let (LightSource::Sun(towards), Some(given)) = (&source, &l.sun)
                && towards.iter().all(|curve| curve.is(0.0))
            {
                self.problems
                    .error(given.span, format!("`{key}.sun` has no direction"), "length zero")
                    .help("for example sun = [-1.0, 2.0, 1.0]");
            }
            let size = fill(&mut l.size, || Animated::constant(size)).plain();
            if let (Some(given), true) = (&l.size, size.largest(self.duration) > most) {
                let message = format!("`{key}.size` must lie between 0 and {most}");
                self.problems
                    .error(given.span, message, format!("0 to {most}"))
                    .help("the angle of a sun in degrees, the radius of a point in metres");
            }
            lights.push(Light { source, color: l.color().0, strength: l.strength().plain(), size, path: None });
        }
        lights
    }

    fn render(&mut self, file: &mut SceneFile, substances: &[Substance], sources: &[Source]) -> Render {
        let Some(Spanned { value: r, .. }) = &mut file.render else { unreachable!("pictures taken by a camera") };
        let quality = *r.quality();
        let studio = self.is_water() && !self.has_background;
        if let (Some(water), Some(body)) = (&mut r.water, self.look().and_then(|look| look.body)) {
            fill(&mut water.value.body, || scene::Color::hex(body));
        }
        let environment = r.environment.as_ref().and_then(|name| self.environment(name));
        let sky_light = if environment.is_some() { 1.0 } else { 0.3 };
        Render {
            quality,
            smooth: fill(&mut r.smooth, || quality != Quality::Preview),
            environment,
            environment_turn: r.environment_turn().plain(),
            sky_light: fill(&mut r.sky_light, || Animated::constant(sky_light)).plain(),
            haze: *r.haze(),
            samples: fill(&mut r.samples, || match quality {
                Quality::Preview => 1,
                Quality::Final => 4,
                Quality::Best => 16,
            }),
            thickness: r.thickness().plain(),
            color: r.color().0,
            glow: r.glow.as_mut().and_then(|g| self.glow(g, substances, sources)),
            anisotropy: *r.anisotropy(),
            back: *r.back(),
            softness: *r.softness(),
            water: r.water().plain(),
            sky: fill(&mut r.sky, || if studio { Sky::Studio } else { Sky::Background }),
            ambient: r.ambient().plain(),
            ground: r.ground.as_ref().map(|g| g.plain()),
            transparent: *r.transparent(),
        }
    }

    /// A picture of all around.
    fn environment(&mut self, name: &Spanned<String>) -> Option<(File, Loaded<Panorama>)> {
        self.reads_looks = true;
        let data = self.asset(name);
        self.reads_looks = false;
        let data = data?;
        let path = std::path::Path::new(&name.value);
        let read = squall_io::parse_light(&data, path).map_err(|e| e.to_string());
        let made = read.and_then(|light| {
            Panorama::new(light.width, light.height, light.pixels, 0.0, 1.0).map_err(|e| e.to_string())
        });
        match made {
            Ok(panorama) => {
                self.loaded += 16 * data.len() as u64;
                let file = File { name: name.value.clone(), fingerprint: fingerprint(&data) };
                let panorama = Loaded::new(file.fingerprint, panorama);
                Some((file, panorama))
            }
            Err(reason) => {
                self.problems
                    .error(name.span, reason, "this file")
                    .help("a picture of all around, twice as wide as high: EXR, Radiance HDR or PNG");
                None
            }
        }
    }

    fn glow(&mut self, g: &mut Spanned<scene::Glow>, substances: &[Substance], sources: &[Source]) -> Option<Glow> {
        let (span, g) = (g.span, &mut g.value);
        let substance = match &g.substance {
            Some(name) => self.substance(name)?,
            None if self.burns => FLAME,
            None => match self.names.iter().position(|n| n == "temperature") {
                Some(index) => index,
                None => {
                    self.problems
                        .error(span, "the scene has no `temperature` that could glow", "what glows?")
                        .help("name a substance: glow = { substance = \"heat\" }");
                    return None;
                }
            },
        };
        fill(&mut g.substance, || substances[substance].name.clone());
        let hottest = super::picture::largest_emitted(substance, substances, sources, self.duration);
        let range = fill(&mut g.range, || match hottest {
            _ if self.burns && substance == FLAME => scene::Pair([0.0, 1.0]),
            0.0 => scene::Pair([0.0, 1.0]),
            _ => scene::Pair([hottest / 3.0, hottest]),
        });
        let colors = match g.colors() {
            OneOrMany::One(name) if name.value == "blackbody" => None,
            _ => Some(self.color_map(g.colors.as_ref()?, "render.glow.colors")),
        };
        let (strength, light) = (g.strength().plain(), g.light().plain());
        Some(Glow { substance, range: range.0, strength, light, colors, kelvin: g.kelvin().0 })
    }
}

/// The three components of a vector over time.
fn three(v: &AnimatedVector) -> [Curve; 3] {
    let curves = v.plain();
    std::array::from_fn(|a| curves.get(a).cloned().unwrap_or_default())
}
