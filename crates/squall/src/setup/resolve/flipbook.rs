//! How frames are packed into textures, and which passes a scene can have.

use super::*;

/// The largest side of a texture that engines take.
const MAX_SIDE: u64 = 16_384;

impl Resolver<'_> {
    pub(super) fn flipbook(&mut self, file: &scene::SceneFile) -> Flipbook {
        let default = scene::Flipbook::default();
        let f = file.flipbook.as_deref().unwrap_or(&default);
        let fallback = Flipbook::default();
        let mut optional = |typed: &Option<Spanned<u64>>, lo: u64, hi: u64, key: &str| {
            let typed = typed.as_ref()?;
            if !(lo..=hi).contains(&typed.value) {
                let message = format!("`flipbook.{key}` must lie between {lo} and {hi}, but is {}", typed.value);
                self.problems
                    .error(typed.span, message, format!("{lo} to {hi}"))
                    .help("without it, it is chosen for you");
            }
            Some(typed.value.clamp(lo, hi) as u32)
        };
        let columns = optional(&f.columns, 1, 1024, "columns");
        let rows = optional(&f.rows, 1, 1024, "rows");
        let count = optional(&f.count, 1, 4096, "count");
        let from = optional(&f.from, 0, MAX_FRAMES, "from");
        let every = optional(&f.every, 1, MAX_FRAMES, "every");
        let padding = optional(&f.padding, 0, 256, "padding");
        if let (Some(columns), Some(rows), Some(count), Some(typed)) = (columns, rows, count, &f.count)
            && count > columns * rows
        {
            let message =
                format!("`flipbook.count` is {count}, but {columns} columns and {rows} rows hold {}", columns * rows);
            self.problems
                .error(typed.span, message, "too many")
                .help("leave `rows` out: there will be as many as it takes");
        }
        let (width, height) = self.flipbook_size(&f.size, fallback.width);
        let motion_bits = self.count(&f.motion_bits, 8, 16, fallback.motion_bits, "flipbook.motion_bits");
        if ![8, 16].contains(&motion_bits) {
            let span = f.motion_bits.as_ref().map(|b| b.span);
            self.problems
                .error(span, format!("`flipbook.motion_bits` is {motion_bits}"), "8 or 16")
                .help("the default is 8");
        }
        Flipbook {
            columns,
            rows,
            count,
            from,
            every,
            width,
            height,
            padding,
            mips: self.count(&f.mips, 0, 6, fallback.mips, "flipbook.mips"),
            power_of_two: f.power_of_two.as_deref().copied().unwrap_or(fallback.power_of_two),
            alpha: f.alpha.as_deref().copied().unwrap_or(fallback.alpha),
            maps: self.flipbook_maps(&f.maps).unwrap_or(fallback.maps),
            motion_bits,
            fit: f.fit.as_deref().copied().unwrap_or(fallback.fit),
            green: f.green.as_deref().copied().unwrap_or(fallback.green),
            looped: f.r#loop.as_deref().copied().unwrap_or(file.time.as_deref().is_some_and(|t| t.r#loop.is_some())),
            preview: f.preview.as_deref().copied().unwrap_or(fallback.preview),
        }
    }

    /// Width, and height if it was given.
    fn flipbook_size(&mut self, typed: &Option<Spanned<OneOrMany<Spanned<u64>>>>, default: u32) -> (u32, Option<u32>) {
        let key = "flipbook.size";
        let mut side = |n: &Spanned<u64>| self.count(&Some(n.clone()), 1, MAX_SIDE, default, key);
        match typed.as_ref().map(|t| (&t.value, t.span)) {
            None => (default, None),
            Some((OneOrMany::One(width), _)) => (side(width), None),
            Some((OneOrMany::Many(sides), span)) => match sides.as_slice() {
                [width, height] => (side(width), Some(side(height))),
                _ => {
                    let message =
                        format!("`{key}` has {}; it is a width, or a width and a height", entries(sides.len()));
                    self.problems.error(span, message, "one number or two").help("for example size = [128, 192]");
                    (default, None)
                }
            },
        }
    }

    fn flipbook_maps(&mut self, typed: &Option<Spanned<Vec<Spanned<Pass>>>>) -> Option<Vec<Pass>> {
        let typed = typed.as_ref()?;
        for map in typed.iter().filter(|map| matches!(map.value, Pass::Height | Pass::Flow)) {
            self.problems
                .error(map.span, format!("`flipbook.maps` cannot have \"{}\"", map.value.word()), "not in a flipbook")
                .help("for tiles, write it for each frame by `output.passes`");
        }
        let mut maps: Vec<Pass> = typed.iter().map(|map| map.value).collect();
        maps.sort_by_key(|map| Pass::WORDS.iter().position(|word| *word == map.word()));
        maps.dedup();
        Some(maps)
    }

    /// Refuses passes that the scene cannot have.
    pub(super) fn check_passes(&mut self, file: &scene::SceneFile, setup: &Setup) {
        let typed = file.output.iter().filter_map(|o| o.passes.as_ref()).flat_map(|p| &p.value);
        for pass in typed {
            if let Some((why, help)) = setup.cannot_pass(pass.value) {
                let message = format!("`output.passes` cannot have \"{}\": {why}", pass.value.word());
                self.problems.error(pass.span, message, "not here").help(help);
            }
        }
    }
}

impl Setup {
    /// Why a scene cannot have a pass, and what to do about it; `None` if it can.
    pub fn cannot_pass(&self, pass: Pass) -> Option<(&'static str, &'static str)> {
        let flat = self.dimensions() == 2;
        match pass {
            Pass::Depth | Pass::SixWay if flat => Some((
                "a 2D scene has no depth and no sides to light",
                "leave it out; \"normal\" and \"height\" suit 2D scenes",
            )),
            Pass::Height | Pass::Flow if !flat => {
                Some(("it is a map of a 2D scene", "leave it out; \"depth\" and \"motion\" are their like in 3D"))
            }
            _ if !flat && self.film.is_none() => {
                Some(("no camera sees the scene", "add an empty table [camera] to the scene, or --set camera.yaw=30"))
            }
            Pass::Temperature if self.heat().is_none() => {
                Some(("nothing is hot", "call a substance `temperature` or `heat`, or leave it out"))
            }
            _ => None,
        }
    }
}
