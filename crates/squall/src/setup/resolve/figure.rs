//! Figures: files are read here and converted to densities on the grid.

use std::path::Path;

use squall_core::shape::Beyond;
use squall_io::picture::{self, Font, Placement, draw_text, parse_artwork};
use squall_io::vdb::parse_vdb;

use super::shape::Place;
use super::*;
use crate::assets::{AssetError, Loaded, MeshFiles, fingerprint, numbered};
use crate::build;
use crate::target::{self, DensitySequence, PictureOptions, TargetError, face, on_face};

/// Longest sequence of pictures.
const MAX_PICTURES: u64 = 10_000;

type Typed = scene::Figure;

impl Resolver<'_> {
    /// A figure on the grid; `None` if something is wrong, which has been said.
    pub(super) fn figure(&mut self, typed: &Typed, span: Span, key: &str) -> Option<Figure> {
        let grid = &self.grid.clone();
        let kind = self.figure_kind(typed, span, key)?;
        self.figure_keys(typed, kind, key);
        if kind == "formula" {
            let formula = self.formula(typed.formula.as_ref()?, &format!("{key}.formula"), Known::Start);
            return Some(Figure { kind: FigureKind::Formula(formula), frame: None });
        }
        if kind == "shape" {
            let shape = self.part(typed.shape.as_ref()?, &format!("{key}.shape"))?;
            let position = typed.position.as_ref().map_or(vec![0.0; self.d], |p| p.values());
            let place = Place {
                position: position.into_iter().map(Curve::Constant).collect(),
                rotation: self.figure_angles(&typed.rotation, &format!("{key}.rotation")).map(Curve::Constant),
                scale: typed.scale.as_deref().copied().unwrap_or(1.0),
                pivot: &typed.pivot,
                motion: &typed.motion,
            };
            let motion = self.motion(place, &shape, key);
            return Some(Figure { kind: FigureKind::Shape { shape, motion }, frame: None });
        }
        let before = self.problems.errors.len();
        let frame = self.frame(typed, kind, key, grid);
        if self.problems.errors.len() > before || !self.fits_into_memory(grid) {
            return None;
        }
        let kind = match kind {
            "mesh" | "vdb" => self.solid(typed, &frame, key, grid)?,
            _ => self.flat(typed, span, &frame, key, grid)?,
        };
        Some(Figure { kind, frame: Some(frame) })
    }

    /// Degrees about x, y and z. In 2D one number: about the viewer's axis.
    fn figure_angles(&mut self, typed: &Option<Spanned<OneOrMany<Spanned<f64>>>>, key: &str) -> [f64; 3] {
        let Some(typed) = typed else { return [0.0; 3] };
        let list = match &typed.value {
            OneOrMany::One(angle) => vec![angle.value],
            OneOrMany::Many(list) => list.iter().map(|angle| angle.value).collect(),
        };
        match (list.as_slice(), self.d) {
            ([angle], 2) => [0.0, 0.0, *angle],
            ([x, y, z], 3) => [*x, *y, *z],
            _ => {
                self.wrong_angles(&list, typed.span, key);
                [0.0; 3]
            }
        }
    }

    /// Which kind of figure it is: exactly one.
    fn figure_kind(&mut self, f: &Typed, span: Span, key: &str) -> Option<&'static str> {
        let kinds = [
            ("image", f.image.is_some()),
            ("text", f.text.is_some()),
            ("images", f.images.is_some()),
            ("film", f.film.is_some()),
            ("mesh", f.mesh.is_some()),
            ("vdb", f.vdb.is_some()),
            ("shape", f.shape.is_some()),
            ("formula", f.formula.is_some()),
        ];
        let given: Vec<&str> = kinds.iter().filter(|(_, given)| *given).map(|(kind, _)| *kind).collect();
        match given.as_slice() {
            [kind] => return kinds.iter().map(|(known, _)| *known).find(|known| known == kind),
            [] => {
                self.problems.error(span, format!("`{key}` specifies no figure"), "what is it?").help(
                    "for example { text = \"Hello\" }, { image = \"logo.png\" } or { shape = { sphere = { ... } } }",
                );
            }
            several => {
                let list = several.iter().map(|kind| format!("`{kind}`")).collect::<Vec<_>>().join(" and ");
                self.problems
                    .error(span, format!("`{key}` is more than one figure: {list}"), "exactly one of them")
                    .help("a smoke takes one figure at a time: use a second [[target]], or a second smoke");
            }
        }
        None
    }

    /// Refuses keys that mean nothing to this kind of figure.
    fn figure_keys(&mut self, f: &Typed, kind: &str, key: &str) {
        let flat: &[&str] = &["image", "text", "images", "film"];
        let pictures: &[&str] = &["image", "images", "film"];
        let films: &[&str] = &["images", "film"];
        let framed: &[&str] = &["image", "text", "images", "film", "mesh", "vdb"];
        let turned: &[&str] = &["image", "text", "images", "film", "shape", "mesh"];
        let keys = [
            ("font", f.font.as_ref().map(|v| v.span), &["text"][..]),
            ("frames", f.frames.as_ref().map(|v| v.span), &["images"]),
            ("fps", f.fps.as_ref().map(|v| v.span), &["images"]),
            ("from", f.from.as_ref().map(|v| v.span), films),
            ("loop", f.r#loop.as_ref().map(|v| v.span), films),
            ("grid", f.grid.as_ref().map(|v| v.span), &["vdb"]),
            ("up", f.up.as_ref().map(|v| v.span), &["mesh", "vdb"]),
            ("channel", f.channel.as_ref().map(|v| v.span), pictures),
            ("invert", f.invert.as_ref().map(|v| v.span), pictures),
            ("fit", f.fit.as_ref().map(|v| v.span), flat),
            ("margin", f.margin.as_ref().map(|v| v.span), framed),
            ("center", f.center.as_ref().map(|v| v.span), framed),
            ("size", f.size.as_ref().map(|v| v.span), framed),
            ("rotation", f.rotation.as_ref().map(|v| v.span), turned),
            ("thickness", f.thickness.as_ref().map(|v| v.span), flat),
            ("normal", f.normal.as_ref().map(|v| v.span), flat),
            ("position", f.position.as_ref().map(|v| v.span), &["shape"]),
            ("scale", f.scale.as_ref().map(|v| v.span), &["shape"]),
            ("pivot", f.pivot.as_ref().map(|v| v.span), &["shape"]),
            ("motion", f.motion.as_ref().map(|v| v.span), &["shape"]),
        ];
        for (name, span, kinds) in keys {
            let Some(span) = span else { continue };
            if !kinds.contains(&kind) {
                let list = kinds.iter().map(|k| format!("`{k}`")).collect::<Vec<_>>().join(", ");
                self.problems
                    .error(span, format!("`{key}.{name}` does not apply to `{kind}`"), "not of this figure")
                    .help(format!("leave it out; it is for {list}"));
            } else if self.d == 2 && ["thickness", "normal"].contains(&name) {
                self.problems
                    .error(span, format!("`{key}.{name}` in a 2D scene"), "only in 3D")
                    .help("leave it out: in 2D everything is flat");
            }
        }
    }

    /// Where a figure without a place of its own goes.
    fn frame(&mut self, f: &Typed, kind: &str, key: &str, grid: &Grid) -> Frame {
        let solid = ["mesh", "vdb"].contains(&kind);
        let size = f.size.as_ref().map(|typed| {
            let wanted = if solid { 3 } else { 2 };
            if typed.len() != wanted {
                let message = format!("`{key}.size` has {}", entries(typed.len()));
                self.problems
                    .error(typed.span, message, format!("expected {wanted} entries"))
                    .help("a picture has a width and a height, a mesh or a volume three lengths");
            }
            for length in typed.iter().filter(|l| l.value <= 0.0) {
                self.problems
                    .error(length.span, format!("`{key}.size` cannot be {}", length.value), "metres, above zero")
                    .help("leave it out to fill the box");
            }
            typed.iter().map(|v| v.value).collect()
        });
        let rotation = match f.rotation.as_ref().map(|r| (&r.value, r.span)) {
            // Its angles are read with its file.
            _ if solid => 0.0,
            None => 0.0,
            Some((OneOrMany::One(angle), _)) => angle.value,
            Some((OneOrMany::Many(_), span)) => {
                self.problems
                    .error(span, format!("`{key}.rotation` must be one number for something flat"), "degrees")
                    .help("for example 90.0: counter-clockwise");
                0.0
            }
        };
        let shortest = grid.size.iter().copied().fold(f64::INFINITY, f64::min);
        let cell = grid.spacing().into_iter().fold(0.0, f64::max);
        let slab = (self.d == 3 && !solid).then(|| {
            let thickness = f.thickness.as_deref().copied().unwrap_or((shortest / 8.0).max(2.0 * cell));
            (thickness, f.normal.as_deref().copied().unwrap_or(FlatAxis::Z))
        });
        Frame {
            fit: f.fit.as_deref().copied().unwrap_or(Fit::Contain),
            margin: f.margin.as_deref().copied().unwrap_or(0.1),
            center: f.center.as_ref().map(|center| center.values()),
            size,
            rotation,
            slab,
        }
    }

    /// Whether figures may be drawn on this grid. If not, the scene is refused as a whole.
    pub(super) fn fits_into_memory(&mut self, grid: &Grid) -> bool {
        let cells = grid.cells.iter().map(|&n| n as u128).product::<u128>();
        // The velocity twice, smoke, targets and what is smoothed: less will not do.
        let needed = u64::try_from(cells * 4 * 16).unwrap_or(u64::MAX).saturating_add(self.loaded);
        match self.assets.memory_limit() {
            _ if cells > u128::from(MAX_CELLS) || self.too_much.is_some() => false,
            Some(limit) if needed > limit => {
                self.needs.get_or_insert((needed, limit));
                false
            }
            _ => true,
        }
    }

    /// Pictures, films and letters.
    fn flat(&mut self, f: &Typed, span: Span, frame: &Frame, key: &str, grid: &Grid) -> Option<FigureKind> {
        let (canvas, placement) = canvas(grid, frame);
        let resolution = canvas.cells.map(target::pixels_across);
        let ink = Ink {
            channel: f.channel.as_deref().copied().unwrap_or(Channel::Auto),
            invert: f.invert.as_deref().copied().unwrap_or(false),
        };
        let options = PictureOptions { channel: channel(ink.channel), invert: ink.invert, placement };
        let picture = |data: &[u8], path: &Path| {
            let picture = parse_artwork(data, path, resolution)?;
            Ok(target::picture_density(&picture, &canvas, &options)?.0)
        };
        if let Some(text) = &f.text {
            let mut fingerprint_of_font = 0;
            let font = match &f.font {
                None => Font::carried(),
                Some(name) => {
                    let data = self.asset(name)?;
                    fingerprint_of_font = fingerprint(&data);
                    let font = Font::parse(data, Path::new(&name.value)).map_err(TargetError::from);
                    self.drawn(font, name.span)?
                }
            };
            let density = draw_text(text, &font, resolution).and_then(|drawn| drawn.density(&canvas, &placement));
            let density = self.drawn(density.map_err(TargetError::from), text.span)?;
            let density = self.keep(fingerprint(text.as_bytes()) ^ fingerprint_of_font, density);
            let font = f.font.as_ref().map(|f| File { name: f.value.clone(), fingerprint: fingerprint_of_font });
            return Some(FigureKind::Text { text: text.value.clone(), font, density });
        }
        if let Some(name) = &f.image {
            let data = self.asset(name)?;
            let file = File { name: name.value.clone(), fingerprint: fingerprint(&data) };
            let density = self.drawn(picture(&data, Path::new(&name.value)), name.span)?;
            let density = self.keep(file.fingerprint, density);
            return Some(FigureKind::Image { file, ink, density });
        }
        let repeat = f.r#loop.as_deref().copied().unwrap_or(false);
        let beyond = if repeat { Beyond::Loop } else { Beyond::Hold };
        let from = f.from.as_ref().map_or(0.0, |v| v.value);
        if let Some(name) = &f.film {
            let data = self.asset(name)?;
            let file = File { name: name.value.clone(), fingerprint: fingerprint(&data) };
            let film = target::film(&data, Path::new(&name.value), &canvas, &options, beyond);
            let density = self.drawn(film, name.span)?;
            let density = self.keep_film(file.fingerprint, density);
            return Some(FigureKind::Film { file, numbered: None, from, repeat, ink, density });
        }
        let name = f.images.as_ref()?;
        let frames = self.picture_numbers(name, &f.frames, span, key)?;
        let fps = f.fps.as_deref().copied().unwrap_or(self.fps);
        let mut print = 0;
        let each = |data: &[u8], path: &Path| {
            print = fingerprint(data) ^ u64::rotate_left(print, 7);
            picture(data, path)
        };
        let sequence = target::numbered_files(self.assets, name, frames, fps, beyond, each);
        let density = self.drawn(sequence, name.span)?;
        let density = self.keep_film(print, density);
        let file = File { name: name.value.clone(), fingerprint: print };
        self.read_file(Matters::Physics, &name.value, print);
        Some(FigureKind::Film { file, numbered: Some((frames, fps)), from, repeat, ink, density })
    }

    /// First and last number of pictures.
    fn picture_numbers(
        &mut self,
        name: &Spanned<String>,
        frames: &Option<Spanned<Vec<Spanned<u64>>>>,
        span: Span,
        key: &str,
    ) -> Option<[u64; 2]> {
        if numbered(name, 0).is_none() {
            self.problems
                .error(name.span, format!("`{key}.images` has no place for the number"), "no `####` in it")
                .help("for example \"walk_####.png\": walk_0001.png, walk_0002.png, ...");
            return None;
        }
        let Some(frames) = frames else {
            self.problems
                .error(span, format!("`{key}` has no `frames`"), "`frames` is missing")
                .help("for example frames = [1, 24]");
            return None;
        };
        match frames.as_slice() {
            [first, last] if first.value <= last.value && last.value - first.value < MAX_PICTURES => {
                Some([first.value, last.value])
            }
            _ => {
                self.problems
                    .error(frames.span, format!("`{key}.frames` is not a first and a last number"), "[first, last]")
                    .help(format!("for example [1, 24]; at most {MAX_PICTURES} pictures"));
                None
            }
        }
    }

    /// Meshes and volumes.
    fn solid(&mut self, f: &Typed, frame: &Frame, key: &str, grid: &Grid) -> Option<FigureKind> {
        let (kind, span) = match (&f.mesh, &f.vdb) {
            (Some(mesh), _) => ("mesh", mesh.span),
            (_, vdb) => ("vdb", vdb.as_ref()?.span),
        };
        if self.d == 2 {
            self.problems
                .error(span, format!("`{key}.{kind}` in a 2D scene"), "only in 3D")
                .help("use an `image`, a `text` or a `shape`, or give `grid.cells` three entries");
            return None;
        }
        let grid = build::grid::<3>(grid);
        let vector = |v: &Option<Vec<f64>>| v.as_ref().map(|v| std::array::from_fn(|a| v[a]));
        let (center, size) = (vector(&frame.center), vector(&frame.size));
        let place = target::Place::Fitted { margin: frame.margin, center, size };
        let up = f.up.as_deref().copied().unwrap_or(Up::Y);
        let Some(name) = &f.mesh else {
            let name = f.vdb.as_ref()?;
            let data = self.asset(name)?;
            let file = File { name: name.value.clone(), fingerprint: fingerprint(&data) };
            let wanted = f.grid.as_deref().cloned();
            let volume =
                parse_vdb(&data, Path::new(&name.value)).map_err(|e| TargetError::Volume { what: e.to_string() });
            let volume = volume.map(|v| if up == Up::Z { v.upright() } else { v });
            let density = volume.and_then(|v| target::vdb_density(&v, wanted.as_deref(), &grid, &place));
            let density = self.drawn(density, name.span)?;
            let density = self.keep(file.fingerprint, density);
            return Some(FigureKind::Vdb { file, up, grid: wanted, density });
        };
        let rotation = self.figure_angles(&f.rotation, &format!("{key}.rotation"));
        let mut files = MeshFiles::default();
        if let Err(e) = files.load(self.assets, self.loaded, name, None, up) {
            self.unusable(name.span, &e);
            return None;
        }
        let mesh = files.meshes.pop()?.turned(rotation);
        let density = target::mesh_density(&mesh, &grid, &place).map(|(density, _)| density);
        let density = self.drawn(density, name.span)?;
        let density = self.keep(files.fingerprint, density);
        let file = File { name: name.value.clone(), fingerprint: files.fingerprint };
        self.read_file(Matters::Physics, &name.value, files.fingerprint);
        Some(FigureKind::Mesh { file, up, rotation, density })
    }

    /// A density that stays in memory.
    fn keep(&mut self, fingerprint: u64, density: Vec<f32>) -> Loaded<Vec<f32>> {
        self.loaded += size_of_val(&*density) as u64;
        Loaded::new(fingerprint, density)
    }

    fn keep_film(&mut self, fingerprint: u64, film: DensitySequence) -> Loaded<DensitySequence> {
        self.loaded += 4 * film.values() as u64;
        Loaded::new(fingerprint, film)
    }

    /// Says that a file that the scene names cannot be used.
    pub(super) fn unusable(&mut self, span: Span, error: &AssetError) {
        if let AssetError::TooMuch { .. } = error {
            // No mistake, but the scene is refused as a whole.
            let mut problems = Problems::new(self.problems.sources);
            problems.error(span, error.to_string(), "this file").help(error.advice());
            self.too_much = self.too_much.take().or(problems.errors.pop());
            return;
        }
        let fix = self.problems.error(span, error.to_string(), "this file");
        if error.is_io() { fix.io_help(error.advice()) } else { fix.help(error.advice()) }
    }

    /// The content of a file that the scene names.
    pub(super) fn asset(&mut self, name: &Spanned<String>) -> Option<Vec<u8>> {
        match self.assets.read_after(self.loaded, name) {
            Ok(data) => {
                let matters = if self.reads_looks { Matters::Look } else { Matters::Physics };
                self.read_file(matters, &name.value, fingerprint(&data));
                Some(data)
            }
            Err(e) => {
                self.unusable(name.span, &e);
                None
            }
        }
    }

    /// Remembers what was read.
    pub(super) fn read_file(&mut self, matters: Matters, name: &str, fingerprint: u64) {
        self.files.push((matters, File { name: name.to_owned(), fingerprint }));
    }

    fn drawn<T>(&mut self, result: Result<T, TargetError>, span: Span) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(e) => {
                match &e {
                    TargetError::Asset(e) => self.unusable(span, e),
                    e => {
                        self.problems.error(span, e.to_string(), "cannot be drawn");
                    }
                }
                None
            }
        }
    }
}

/// The cells that face the viewer, and where on them something flat is put.
fn canvas(grid: &Grid, frame: &Frame) -> (squall_core::Grid<2>, Placement) {
    let (canvas, center) = match frame.slab {
        None => (build::grid::<2>(grid), frame.center.as_ref().map(|c| [c[0], c[1]])),
        Some(_) => {
            let normal = build::figure::slab(frame).normal;
            let center = frame.center.as_ref().map(|c| on_face([c[0], c[1], c[2]], normal));
            (face(&build::grid::<3>(grid), normal), center)
        }
    };
    let fit = match frame.fit {
        Fit::Contain => picture::Fit::Contain,
        Fit::Cover => picture::Fit::Cover,
        Fit::Stretch => picture::Fit::Stretch,
    };
    let size = frame.size.as_ref().map(|s| [s[0], s[1]]);
    (canvas, Placement { fit, margin: frame.margin, center, size, rotation: frame.rotation })
}

fn channel(channel: Channel) -> picture::Channel {
    match channel {
        Channel::Auto => picture::Channel::Auto,
        Channel::Alpha => picture::Channel::Alpha,
        Channel::Darkness => picture::Channel::Darkness,
        Channel::Brightness => picture::Channel::Brightness,
    }
}
