//! How frames are packed into textures, and which passes a scene can have.

use super::*;

impl Resolver<'_> {
    pub(super) fn flipbook(&mut self, file: &SceneFile) -> Flipbook {
        let f = file.flipbook();
        let optional = |slot: &Option<Spanned<u32>>| slot.as_deref().copied();
        let (columns, rows, count) = (optional(&f.columns), optional(&f.rows), optional(&f.count));
        if let (Some(columns), Some(rows), Some(count), Some(typed)) = (columns, rows, count, &f.count)
            && count > columns * rows
        {
            let message =
                format!("`flipbook.count` is {count}, but {columns} columns and {rows} rows hold {}", columns * rows);
            self.problems
                .error(typed.span, message, "too many")
                .help("leave `rows` out: there will be as many as it takes");
        }
        let (width, height) = self.flipbook_size(f);
        let motion_bits = *f.motion_bits();
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
            from: optional(&f.from),
            every: optional(&f.every),
            width,
            height,
            padding: optional(&f.padding),
            mips: *f.mips(),
            power_of_two: *f.power_of_two(),
            alpha: *f.alpha(),
            maps: self.flipbook_maps(f.maps()),
            motion_bits,
            fit: *f.fit(),
            green: *f.green(),
            looped: *f.r#loop(),
            preview: *f.preview(),
        }
    }

    /// Width, and height if it was given.
    fn flipbook_size(&mut self, f: &scene::Flipbook) -> (u32, Option<u32>) {
        match f.size() {
            OneOrMany::One(width) => (width.value, None),
            OneOrMany::Many(sides) => match sides.as_slice() {
                [width, height] => (width.value, Some(height.value)),
                _ => {
                    let message =
                        format!("`flipbook.size` has {}; it is a width, or a width and a height", entries(sides.len()));
                    let span = f.size.as_ref().map(|size| size.span);
                    self.problems.error(span, message, "one number or two").help("for example size = [128, 192]");
                    (128, None)
                }
            },
        }
    }

    fn flipbook_maps(&mut self, typed: &[Spanned<Pass>]) -> Vec<Pass> {
        for map in typed.iter().filter(|map| matches!(map.value, Pass::Height | Pass::Flow)) {
            self.problems
                .error(map.span, format!("`flipbook.maps` cannot have \"{}\"", map.value.word()), "not in a flipbook")
                .help("for tiles, write it for each frame by `output.passes`");
        }
        let mut maps: Vec<Pass> = typed.iter().map(|map| map.value).collect();
        maps.sort_by_key(|map| Pass::WORDS.iter().position(|word| *word == map.word()));
        maps.dedup();
        maps
    }

    /// Refuses passes that the scene cannot have.
    pub(super) fn check_passes(&mut self, file: &SceneFile, setup: &Setup) {
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
            _ if !flat && !self.grid.has_cubes() => {
                Some(("its cells are no cubes", "leave out `grid.size`, or make it proportional to `grid.cells`"))
            }
            Pass::Temperature if self.heat().is_none() => {
                Some(("nothing is hot", "call a substance `temperature` or `heat`, or leave it out"))
            }
            _ => None,
        }
    }
}
