//! What frames look like.

use super::*;

impl Resolver<'_> {
    pub(super) fn picture(
        &mut self,
        file: &scene::SceneFile,
        model: Model,
        substances: &[Substance],
        sources: &[Source],
        film: bool,
    ) -> Picture {
        let default = scene::Picture::default();
        let p = file.picture.as_deref().unwrap_or(&default);
        let show = self.show(&p.show, file, model);
        let mode = p.mode.as_deref().copied().unwrap_or(PictureMode::Emission);
        let view = p.view.as_deref().cloned().unwrap_or_default();
        Picture {
            map: self.map(&p.map, &show),
            range: self.pair(&p.range, "picture.range").or_else(|| natural_range(&show, substances, sources)),
            mode,
            background: self.background(&p.background, mode, film),
            relief: self.between(&p.relief, 0.0, 100.0, 0.0, "picture.relief"),
            exposure: self.positive(&p.exposure, 1.0, "picture.exposure"),
            opacity: self.not_negative(&p.opacity, 1.0, "picture.opacity"),
            steady: p.steady.as_deref().copied().unwrap_or(false),
            transparent: self.transparent(&p.transparent, film),
            gamma: self.between(&p.gamma, 0.1, 10.0, 1.0, "picture.gamma"),
            view: View {
                yaw: self.between(&view.yaw, -360.0, 360.0, 30.0, "picture.view.yaw"),
                pitch: self.between(&view.pitch, -90.0, 90.0, if film { 10.0 } else { 15.0 }, "picture.view.pitch"),
            },
            show,
        }
    }

    fn transparent(&mut self, typed: &Option<Spanned<bool>>, film: bool) -> bool {
        let Some(typed) = typed.as_ref().filter(|typed| typed.value) else { return false };
        if self.d == 3 {
            let help = match film {
                true => "write it in [render]: transparent = true",
                false => "give the scene a [camera], and [render] with transparent = true",
            };
            self.problems.error(typed.span, "`picture.transparent` in a 3D scene", "for 2D pictures only").help(help);
        }
        true
    }

    fn show(&mut self, typed: &Option<Spanned<String>>, file: &scene::SceneFile, model: Model) -> Show {
        let Some(typed) = typed else {
            // Whoever gives smokes colours, or has several, wants to see them.
            let colored = file.substance.iter().flat_map(|named| &named.0).any(|(_, s)| s.color.is_some());
            let together = model == Model::TargetSmoke && (colored || self.names.len() > 1);
            return match self.names.is_empty() {
                true => Show::Speed,
                false if together => Show::Substances,
                false => Show::Substance(0),
            };
        };
        if typed.as_str() == "pressure" {
            self.no_pressure(typed.span, model);
        }
        match typed.as_str() {
            "speed" => Show::Speed,
            "vorticity" => Show::Vorticity,
            "pressure" => Show::Pressure,
            "texture" => self.show_texture(typed.span, file),
            "substances" if !self.names.is_empty() => Show::Substances,
            "substances" => {
                let help = "add one, for example [substance.density]";
                self.problems.error(typed.span, "the scene has no substances to show", "nothing to show").help(help);
                Show::Speed
            }
            name => match self.names.iter().position(|n| n == name) {
                Some(index) => Show::Substance(index),
                None => {
                    let fixed = ["substances", "speed", "vorticity", "pressure", "texture"];
                    let names: Vec<&str> = self.names.iter().map(String::as_str).chain(fixed).collect();
                    let help = did_you_mean(name, &names, "it can show");
                    self.problems
                        .error(typed.span, format!("`picture.show` cannot be \"{}\"", short(name)), "no such field")
                        .help(help);
                    Show::Speed
                }
            },
        }
    }

    fn show_texture(&mut self, span: Span, file: &scene::SceneFile) -> Show {
        let (message, help) = match (&file.texture, self.d) {
            (Some(_), 2) => return Show::Texture,
            (None, _) => ("the scene has no texture to show", "add [texture], for example with pattern = \"pebbles\""),
            _ => (
                "only 2D scenes show a texture by itself",
                "in 3D it is seen in the smoke: show a substance, and make `texture.strength` larger",
            ),
        };
        self.problems.error(span, message, "nothing to show").help(help);
        Show::Speed
    }

    fn map(&mut self, typed: &Option<Spanned<OneOrMany<Spanned<String>>>>, show: &Show) -> ColorMap {
        // In 3D vorticity and pressure are shown by their size, and substances are smoke in daylight rather than a map.
        let default = match (show, self.d) {
            (Show::Pressure | Show::Vorticity, 2) => "diverging",
            (Show::Substance(_) | Show::Substances, 3) => "smoke",
            _ => "inferno",
        };
        let default = ColorMap::Named(default.to_owned());
        typed.as_ref().map_or(default, |typed| self.color_map(typed, "picture.map"))
    }

    /// The name of a map, or colours.
    pub(super) fn color_map(&mut self, typed: &Spanned<OneOrMany<Spanned<String>>>, key: &str) -> ColorMap {
        match (&typed.value, typed.span) {
            (OneOrMany::One(name), _) => {
                if !MAPS.contains(&name.as_str()) {
                    let mut help = did_you_mean(name, MAPS, "maps");
                    if nearest(name, MAPS.iter().copied()).is_none() {
                        help += "; or give your own colours: [\"#000000\", \"#ff8800\"]";
                    }
                    self.problems
                        .error(name.span, format!("there is no colour map \"{}\"", short(name)), "not a colour map")
                        .help(help);
                }
                ColorMap::Named(name.value.clone())
            }
            (OneOrMany::Many(colors), span) => {
                if colors.len() < 2 {
                    self.problems
                        .error(
                            span,
                            format!("`{key}` has {}; a ramp needs 2", entries(colors.len())),
                            "at least 2 colours",
                        )
                        .help("for example [\"#000000\", \"#ff8800\"]");
                }
                ColorMap::Ramp(colors.iter().map(|c| self.color(c)).collect())
            }
        }
    }

    /// Two numbers, the smaller one first.
    pub(super) fn pair(&mut self, typed: &Vector, key: &str) -> Option<[f64; 2]> {
        let typed = typed.as_ref()?;
        let [lo, hi] = typed.as_slice() else {
            let message = format!("`{key}` has {}", entries(typed.len()));
            let last = key.rsplit('.').next().unwrap_or(key);
            self.problems
                .error(typed.span, message, "expected [low, high]")
                .help(format!("for example {last} = [0.0, 1.0]"));
            return None;
        };
        if lo.value >= hi.value {
            let message = format!("`{key}` goes from {} to {}", lo.value, hi.value);
            let help = match key {
                "picture.range" => {
                    "the first value must be less than the second; to reverse the colours, reverse `picture.map`"
                }
                _ => "the first value must be less than the second",
            };
            self.problems.error(typed.span, message, "low must be below high").help(help);
        }
        Some([lo.value, hi.value])
    }

    fn background(
        &mut self,
        typed: &Option<Spanned<OneOrMany<Spanned<String>>>>,
        mode: PictureMode,
        film: bool,
    ) -> [[u8; 3]; 2] {
        match typed.as_ref().map(|t| (&t.value, t.span)) {
            None if film => [[0x30, 0x39, 0x45], [0x65, 0x6c, 0x76]],
            None if mode == PictureMode::Ink => [[0xff; 3]; 2],
            None => [[0x10, 0x10, 0x18]; 2],
            Some((OneOrMany::One(color), _)) => [self.color(color); 2],
            Some((OneOrMany::Many(colors), span)) => match colors.as_slice() {
                [top, bottom] => [self.color(top), self.color(bottom)],
                _ => {
                    let message = format!("`picture.background` has {}; it takes 1 colour or 2", entries(colors.len()));
                    self.problems
                        .error(span, message, "one colour, or [top, bottom]")
                        .help("for example [\"#202840\", \"#101018\"]");
                    [[0; 3]; 2]
                }
            },
        }
    }
}

/// From 0 to the largest value that the scene puts anywhere, if that says something.
fn natural_range(show: &Show, substances: &[Substance], sources: &[Source]) -> Option<[f64; 2]> {
    if *show == Show::Texture {
        // Amounts are 1 on average.
        return Some([0.0, 2.0]);
    }
    let chosen = |index: usize| match show {
        Show::Substance(shown) => *shown == index,
        Show::Substances => true,
        _ => false,
    };
    let shown = (0..substances.len()).filter(|&index| chosen(index));
    let largest = shown.map(|index| largest_emitted(index, substances, sources)).fold(0.0, f64::max);
    (largest > 0.0).then_some([0.0, largest])
}

/// The largest value that the scene puts anywhere, as far as it says; 0 if it does not.
pub(in crate::setup) fn largest_emitted(index: usize, substances: &[Substance], sources: &[Source]) -> f64 {
    let mut largest: f64 = 0.0;
    if let Formula::Number(value) = substances[index].initial {
        largest = largest.max(value);
    }
    if substances[index].start.is_some() {
        // Figures are drawn with densities up to 1.
        largest = largest.max(1.0);
    }
    for end in substances[index].boundary.iter().flatten() {
        if let End::Value(value) = end {
            largest = largest.max(*value);
        }
    }
    let set = sources.iter().flat_map(|s| &s.set).filter(|(i, _)| *i == index);
    set.map(|(_, value)| *value).fold(largest, f64::max)
}
