//! Textures and stirring rods.

use std::path::Path;

use squall_core::force::Stroke;
use squall_io::picture::parse_artwork;
use squall_render::Bitmap;
use squall_render::color::from_srgb8;

use super::*;
use crate::assets::{Loaded, fingerprint};

/// Pixels along the longer side of a drawing that is used as a texture.
const DRAWN_PIXELS: usize = 1024;

/// Features are at most this many times smaller or larger than the box.
const FINEST: f64 = 10_000.0;

impl Resolver<'_> {
    pub(super) fn texture(&mut self, file: &mut SceneFile) -> Option<Texture> {
        let typed = file.texture.as_mut()?;
        let pattern = self.texture_pattern(&typed.value, typed.span)?;
        let t = &mut typed.value;
        if let TexturePattern::Image { size, .. } | TexturePattern::Photo { size, .. } = &pattern {
            fill(&mut t.size, || size.iter().map(|&value| Spanned { value, span: Span::DEFAULT }).collect());
        }
        Some(Texture {
            period: *t.period(),
            strength: *t.strength(),
            contrast: fill(&mut t.contrast, || !pattern.is_colored()),
            refine: *t.refine(),
            pattern,
        })
    }

    fn texture_pattern(&mut self, t: &scene::Texture, span: Span) -> Option<TexturePattern> {
        let grid = &self.grid.clone();
        let spans = [
            t.detail.as_ref().map(|k| k.span),
            t.noise.as_ref().map(|k| k.span),
            t.lines.as_ref().map(|k| k.span),
            t.image.as_ref().map(|k| k.span),
            t.pattern.as_ref().map(|k| k.span),
        ];
        let mut given = spans.into_iter().flatten();
        match (given.next(), given.next()) {
            (None, _) => {
                self.problems.error(span, "`texture` has no pattern", "what is painted?").help(
                    "give it one of: detail = {}, noise = {}, lines = {}, image = \"photo.png\", pattern = \"pebbles\"",
                );
                return None;
            }
            (Some(_), Some(second)) => {
                self.problems
                    .error(second, "`texture` is more than one pattern", "the second one")
                    .help("a fluid carries one: detail, noise, lines, image or pattern");
                return None;
            }
            _ => {}
        }
        if let (Some(detail), 2) = (&t.detail, self.d) {
            self.problems
                .error(detail.span, "`texture.detail` in a 2D scene", "3D only")
                .help("give the grid more cells: in 2D they cost little");
        }
        if let (Some(size), true) = (&t.size, t.detail.is_some() || t.noise.is_some() || t.lines.is_some()) {
            self.problems
                .error(size.span, "`texture.size` is for pictures", "not here")
                .help("noise has a `scale`, lines have a `spacing`");
        }
        if let Some(detail) = &t.detail {
            let scale = self.texture_length(&detail.scale, "texture.detail.scale");
            return Some(TexturePattern::Detail { scale, octaves: *detail.octaves(), seed: *detail.seed() });
        }
        if let Some(noise) = &t.noise {
            return Some(TexturePattern::Noise {
                scale: self.texture_length(&noise.scale, "texture.noise.scale"),
                octaves: *noise.octaves(),
                gain: *noise.gain(),
                seed: *noise.seed(),
            });
        }
        if let Some(lines) = &t.lines {
            return Some(TexturePattern::Lines {
                spacing: self.texture_length(&lines.spacing, "texture.lines.spacing"),
                direction: self.line_direction(lines),
                warp: *lines.warp(),
                seed: *lines.seed(),
            });
        }
        if let Some(photo) = &t.pattern {
            // Square, or as near to it as fits into the box.
            let short = grid.size[0].min(grid.size[1]);
            let fitting = std::array::from_fn(|a| grid.size[a] / (grid.size[a] / short).round().max(1.0));
            return Some(TexturePattern::Photo { photo: photo.value, size: self.texture_size(&t.size, fitting, grid) });
        }
        let name = t.image.as_ref()?;
        let size = self.texture_size(&t.size, [grid.size[0], grid.size[1]], grid);
        self.reads_looks = true;
        let data = self.asset(name);
        self.reads_looks = false;
        let data = data?;
        let artwork = match parse_artwork(&data, Path::new(&name.value), [DRAWN_PIXELS; 2]) {
            Ok(artwork) => artwork,
            Err(e) => {
                self.problems
                    .error(name.span, e.to_string(), "this file")
                    .help("pictures are PNG, JPEG, WebP, GIF, BMP, TIFF or SVG files");
                return None;
            }
        };
        // What is transparent lets white paper through.
        let linear = |&[r, g, b, alpha]: &[f32; 4]| {
            let bytes = [r, g, b].map(|v| (255.0 * (alpha * v + 1.0 - alpha) + 0.5).clamp(0.0, 255.0) as u8);
            from_srgb8(bytes)
        };
        let pixels: Vec<_> = artwork.pixels.iter().map(linear).collect();
        self.loaded += size_of_val(&*pixels) as u64;
        let file = File { name: name.value.clone(), fingerprint: fingerprint(&data) };
        let picture = Loaded::new(file.fingerprint, Bitmap::new(artwork.width, artwork.height, &pixels));
        Some(TexturePattern::Image { file, picture, size })
    }

    /// A size of features: not beyond what a box can show.
    fn texture_length(&mut self, typed: &Option<Spanned<f64>>, key: &str) -> f64 {
        let (longest, Some(length)) = (self.longest(), typed) else { return self.longest() };
        let (low, high) = (longest / FINEST, longest * FINEST);
        if !(low..=high).contains(&length.value) {
            let message = format!("`{key}` must lie between {low} and {high}, but is {}", length.value);
            self.problems.error(length.span, message, "metres").help("about a tenth of the box is usual");
        }
        length.value.clamp(low, high)
    }

    fn line_direction(&mut self, lines: &scene::TextureLines) -> Vec<f64> {
        let direction = lines.direction().values();
        if let (Some(typed), true) = (&lines.direction, direction.iter().all(|v| *v == 0.0)) {
            self.problems
                .error(typed.span, "`texture.lines.direction` has no direction", "length zero")
                .help("for example [1.0, 0.5]: from one line to the next");
        }
        direction
    }

    /// Width and height of a picture; a whole number of them fits into a box that repeats.
    fn texture_size(&mut self, typed: &Option<Spanned<Vec<Spanned<f64>>>>, default: [f64; 2], grid: &Grid) -> [f64; 2] {
        let Some(typed) = typed else { return default };
        let [width, height] = typed.as_slice() else {
            self.problems
                .error(typed.span, format!("`texture.size` has {}", entries(typed.len())), "width and height")
                .help("for example size = [0.5, 0.5]");
            return default;
        };
        for (a, length) in [width, height].into_iter().enumerate() {
            let times = grid.size[a] / length.value;
            if grid.axes[a] == Axis::Periodic && (times - times.round()).abs() > 1e-6 {
                let fitting = grid.size[a] / times.round().max(1.0);
                let message =
                    format!("a picture of {} m does not fit into a periodic box of {} m", length.value, grid.size[a]);
                self.problems
                    .error(length.span, message, "would leave a seam")
                    .help(format!("a whole number of them must fit: make it {fitting}"));
            }
        }
        [width.value, height.value]
    }

    pub(super) fn stir(&mut self, s: &Spanned<scene::Stir>, key: &str) -> Option<ForceKind> {
        let grid = self.grid.clone();
        let typed = s.path.as_ref()?;
        let before = self.problems.errors.len();
        let mut path: Vec<Vec<f64>> = typed.iter().map(|point| point.values()).collect();
        if path.len() < 2 {
            self.problems
                .error(typed.span, format!("`{key}.path` has {}", entries(path.len())), "at least 2 points")
                .help("for example path = [[0.2, 0.5], [0.8, 0.5]]");
        } else if let Some(i) = path.windows(2).position(|p| p[0] == p[1]) {
            let message = format!("`{key}.path` has the same point twice, one after the other");
            self.problems.error(typed.value[i + 1].span, message, "again").help("leave one of them out");
        }
        if self.problems.errors.len() > before {
            return None;
        }
        let looped = *s.r#loop();
        if looped && !closes(&path, &grid) {
            path.push(path[0].clone());
        }
        let speed = s.speed.as_deref().copied().unwrap_or(grid.longest() / 2.0);
        let times = self.stir_times(s, &path, speed, key)?;
        let (rods, apart) = (*s.rods(), s.apart().values());
        if rods > 1 && apart.iter().all(|v| *v == 0.0) {
            let span = s.rods.as_ref().map(|r| r.span);
            self.problems
                .error(span, format!("`{key}` has {rods} rods in the same place"), "how far apart?")
                .help("for example apart = [0.0, 0.1]: from one rod to the next");
        }
        Some(ForceKind::Stir { path, times, looped, radius: *s.radius(), rate: s.rate().plain(), rods, apart })
    }

    /// When the rod is at each point.
    fn stir_times(&mut self, s: &scene::Stir, path: &[Vec<f64>], speed: f64, key: &str) -> Option<Vec<f64>> {
        let Some(typed) = &s.times else {
            let points: Vec<[f64; 3]> =
                path.iter().map(|p| std::array::from_fn(|a| p.get(a).copied().unwrap_or(0.0))).collect();
            let times = Stroke::times(&points, speed);
            if times.windows(2).all(|t| t[1] > t[0]) && times.iter().all(|t| t.is_finite()) {
                return Some(times);
            }
            let span = s.speed.as_ref().map_or_else(|| s.path.as_ref().map(|p| p.span), |speed| Some(speed.span));
            self.problems
                .error(
                    span,
                    format!("`{key}` cannot be timed: {speed} m/s is too fast or too slow for its path"),
                    "here",
                )
                .help("points should be about as far apart as the box is large");
            return None;
        };
        if let Some(speed) = &s.speed {
            self.problems
                .error(speed.span, format!("`{key}` has both `speed` and `times`"), "one of them")
                .help("`times` say when the rod is at each point; `speed` is the same everywhere");
        }
        let times: Vec<f64> = typed.iter().map(|t| t.value).collect();
        if times.len() != path.len() {
            let message = format!("`{key}.times` has {}, but there are {} points", entries(times.len()), path.len());
            let help = "one time for each point; a loop that does not end where it began has one more, for its return";
            self.problems.error(typed.span, message, format!("expected {}", path.len())).help(help);
            return None;
        }
        if let Some(i) = times.windows(2).position(|t| t[1] <= t[0]) {
            let message = format!("`{key}.times` goes from {} to {}", times[i], times[i + 1]);
            self.problems.error(typed.value[i + 1].span, message, "not later").help("times must grow");
            return None;
        }
        Some(times)
    }
}

/// Whether a path ends where it began, or a whole number of periodic boxes away.
fn closes(path: &[Vec<f64>], grid: &Grid) -> bool {
    let (first, last) = (&path[0], &path[path.len() - 1]);
    (0..first.len()).all(|a| {
        let way = (last[a] - first[a]) / grid.size[a];
        let whole = if grid.axes[a] == Axis::Periodic { way.round() } else { 0.0 };
        (way - whole).abs() < 1e-9
    })
}
