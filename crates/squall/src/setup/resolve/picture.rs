//! Appearance of the pictures.

use super::*;

/// Air and water.
const AIR_AND_WATER: [&str; 2] = ["#e9eef0", "#1c6ea4"];
/// Water from the surface to the depth.
const WATER: [&str; 3] = ["#6cb8dc", "#2a7fb8", "#155585"];

impl Resolver<'_> {
    pub(super) fn picture(&mut self, file: &mut SceneFile, substances: &[Substance], sources: &[Source]) -> Picture {
        let show = self.show(file);
        let has_glow = file.render.as_ref().is_some_and(|r| r.glow.is_some());
        let film = self.d == 3;
        let Some(Spanned { value: p, .. }) = &mut file.picture else { unreachable!("a completed scene") };
        let word = match show {
            Show::Substance(index) => &substances[index].name,
            Show::Substances => "substances",
            Show::Speed => "speed",
            Show::Vorticity => "vorticity",
            Show::Pressure => "pressure",
            Show::Texture => "texture",
            Show::Water => "water",
        };
        fill(&mut p.show, || word.to_owned());
        let mode = *p.mode();
        let natural = match (self.model, &show) {
            // Parts of cells; what is carried shows its extremes.
            (Model::Liquid, Show::Substance(0) | Show::Substances) => Some([0.0, 1.0]),
            (Model::Liquid, _) => None,
            _ => natural_range(&show, substances, sources, self.duration),
        };
        let range = match (&p.range, natural) {
            (Some(range), _) => Some(range.0),
            (None, Some(natural)) => Some(fill(&mut p.range, || scene::Pair(natural)).0),
            (None, None) => None,
        };
        let map = self.map(&mut p.map, &show);
        let glows = mode == PictureMode::Emission
            && show != Show::Water
            && (!matches!(show, Show::Substance(_) | Show::Substances) || !map.is_lit());
        Picture {
            map,
            range,
            mode,
            background: {
                self.has_background = p.background.is_some();
                self.background(&mut p.background, mode, glows)
            },
            relief: p.relief().plain(),
            // Only smoke that is lit from outside has a brightness of its own.
            exposure: match &p.exposure {
                Some(given) => Some(given.plain()),
                None if film && !glows && show != Show::Water && !has_glow => None,
                None => Some(fill(&mut p.exposure, || Animated::constant(1.0)).plain()),
            },
            grain: p.grain().plain(),
            flow: self.flow_lines(p.flow.as_ref().map(|typed| typed.span), *p.flow()),
            supersample: *p.supersample(),
            tone: fill(&mut p.tone, || if film && !glows { Tone::Filmic } else { Tone::Soft }),
            white: p.white().plain(),
            bloom: p.bloom().plain(),
            opacity: p.opacity().plain(),
            steady: *p.steady(),
            transparent: self.transparent(&p.transparent),
            gamma: p.gamma().plain(),
            show,
        }
    }

    fn transparent(&mut self, typed: &Option<Spanned<bool>>) -> bool {
        let Some(typed) = typed.as_ref().filter(|typed| typed.value) else { return false };
        if self.d == 3 {
            self.problems
                .error(typed.span, "`picture.transparent` in a 3D scene", "for 2D pictures only")
                .help("write it in [render]: transparent = true");
        }
        true
    }

    fn flow_lines(&mut self, typed: Option<Span>, lines: FlowLines) -> FlowLines {
        if let Some(span) = typed.filter(|_| self.d == 3 && lines != FlowLines::None) {
            self.problems
                .error(span, "`picture.flow` in a 3D scene", "for 2D pictures only")
                .help("show = \"speed\" or \"vorticity\" shows motion in 3D");
        }
        lines
    }

    fn show(&mut self, file: &SceneFile) -> Show {
        let Some(typed) = &file.picture().show else {
            // Whoever gives smokes colours, or has several, wants to see them.
            let colored = file.substance.iter().flat_map(|named| &named.0).any(|(_, s)| typed(&s.color).is_some());
            let together = self.model == Model::TargetSmoke && (colored || self.names.len() > 1);
            return match self.names.is_empty() {
                _ if self.model == Model::Liquid => Show::Water,
                true => Show::Speed,
                false if together => Show::Substances,
                false if self.burns && self.d == 2 => Show::Substance(FLAME),
                false => Show::Substance(0),
            };
        };
        if typed.as_str() == "pressure" {
            self.no_pressure(typed.span);
        }
        match typed.as_str() {
            "speed" => Show::Speed,
            "vorticity" => Show::Vorticity,
            "pressure" => Show::Pressure,
            "texture" => self.show_texture(typed.span, file),
            "water" if self.model == Model::Liquid => Show::Water,
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

    fn show_texture(&mut self, span: Span, file: &SceneFile) -> Show {
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

    fn map(&mut self, slot: &mut Option<Spanned<OneOrMany<Spanned<String>>>>, show: &Show) -> ColorMap {
        if self.model == Model::Liquid && self.d == 2 && matches!(show, Show::Water | Show::Substance(0)) {
            let colors: &[&str] = if *show == Show::Water { &WATER } else { &AIR_AND_WATER };
            let water = colors.iter().map(|color| Spanned { value: (*color).to_owned(), span: Span::DEFAULT });
            fill(slot, || OneOrMany::Many(water.collect()));
        }
        // In 3D vorticity and pressure are shown by their size, and substances are smoke in daylight rather than a map.
        let default = match (show, self.d) {
            (Show::Pressure | Show::Vorticity, 2) => "diverging",
            (Show::Substance(_) | Show::Substances | Show::Water, 3) => "smoke",
            (Show::Substance(FLAME), 2) if self.burns => "fire",
            _ => "inferno",
        };
        fill(slot, || OneOrMany::One(Spanned { value: default.to_owned(), span: Span::DEFAULT }));
        slot.as_ref().map_or(ColorMap::Named(default.to_owned()), |typed| self.color_map(typed, "picture.map"))
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
                ColorMap::Ramp(colors.iter().map(|c| self.color_text(c)).collect())
            }
        }
    }

    fn background(
        &mut self,
        slot: &mut Option<Spanned<OneOrMany<Spanned<scene::Color>>>>,
        mode: PictureMode,
        glows: bool,
    ) -> [[u8; 3]; 2] {
        let default = match mode {
            _ if self.is_water() && self.d == 2 => [[0xf3, 0xf6, 0xf8], [0xd9, 0xe4, 0xec]],
            _ if self.d == 3 && !glows => [[0x30, 0x39, 0x45], [0x65, 0x6c, 0x76]],
            PictureMode::Ink => [[0xff; 3]; 2],
            PictureMode::Emission => [[0x10, 0x10, 0x18]; 2],
        };
        let both = default.map(|color| Spanned { value: scene::Color(color), span: Span::DEFAULT });
        let span = slot.as_ref().map_or(Span::DEFAULT, |typed| typed.span);
        match fill(slot, || OneOrMany::Many(both.to_vec())) {
            OneOrMany::One(color) => [color.0; 2],
            OneOrMany::Many(colors) => match colors.as_slice() {
                [top, bottom] => [top.0, bottom.0],
                _ => {
                    let message = format!("`picture.background` has {}; it takes 1 colour or 2", entries(colors.len()));
                    self.problems
                        .error(span, message, "one colour, or [top, bottom]")
                        .help("for example [\"#202840\", \"#101018\"]");
                    default
                }
            },
        }
    }

    /// A colour in a list that might have been the name of a map.
    fn color_text(&mut self, typed: &Spanned<String>) -> [u8; 3] {
        let node = scene::tree::Node { span: typed.span, value: scene::tree::Value::Text(typed.value.clone()) };
        let mut reader = scene::kind::Reader { problems: &mut self.problems, path: Vec::new() };
        scene::Color::read(&node, &mut reader).unwrap_or_default().0
    }
}

/// From 0 to the largest value that the scene puts anywhere, if that says something.
fn natural_range(show: &Show, substances: &[Substance], sources: &[Source], duration: f64) -> Option<[f64; 2]> {
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
    let largest = shown.map(|index| largest_emitted(index, substances, sources, duration)).fold(0.0, f64::max);
    (largest > 0.0).then_some([0.0, largest])
}

/// The largest value that the scene puts anywhere, as far as it says; 0 if it does not.
pub(in crate::setup) fn largest_emitted(
    index: usize,
    substances: &[Substance],
    sources: &[Source],
    duration: f64,
) -> f64 {
    let mut largest = substances[index].burnt;
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
    set.map(|(_, value)| value.largest(duration)).fold(largest, f64::max)
}
