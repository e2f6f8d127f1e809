//! From the typed scene to the setup: defaults, units, and messages for everything invalid.

use squall_core::layout::tile_width;

pub(super) use picture::largest_emitted;

use super::*;
use crate::assets::Assets;
use crate::diagnostic::{Problem, Problems, SceneError, Span, Spanned, did_you_mean, nearest, typed};
use crate::scene::key::Key;
use crate::scene::kind::{Kind, Plain};
use crate::scene::{
    self, Animated, AnimatedAngles, AnimatedVector, MAX_PIXELS, NumberOrText, OneOrMany, PlainSide, Scene, SceneFile,
    SubstanceEnds, Vector, entries, tree::inside_text,
};

/// Names that mean something already, besides functions and constants.
const RESERVED: &[&str] = &[
    "x",
    "y",
    "z",
    "t",
    "u",
    "v",
    "w",
    "speed",
    "shear",
    "vorticity",
    "pressure",
    "velocity",
    "divergence",
    "substances",
    "noise",
    "noise_x",
    "noise_y",
    "noise_z",
    "texture",
];
const AXES: [&str; 3] = ["x", "y", "z"];
/// Colours of substances that say none.
const PALETTE: [[u8; 3]; 6] = [
    [0xff, 0x8a, 0x3d],
    [0x4d, 0xa6, 0xff],
    [0x7d, 0xe0, 0x6b],
    [0xff, 0x5d, 0x8f],
    [0xf6, 0xd8, 0x4c],
    [0xb2, 0x8d, 0xff],
];
const MAX_SUBSTANCES: usize = 16;

impl Setup {
    pub(crate) fn resolve(scene: &Scene) -> Result<(Setup, Vec<Problem>), SceneError> {
        let mut file = scene.file.clone();
        let mut r = Resolver::new(scene);
        let Some(grid) = r.grid(&mut file) else {
            return Err(r.problems.into_result().expect_err("whoever gives no grid has said why"));
        };
        r.know(&file, grid);
        r.substance_names(&mut file);
        r.film = r.wants_film(&file);
        let shown = file.picture.as_ref().and_then(|p| p.show.as_ref());
        r.shows_water = r.model == Model::Liquid && shown.is_none_or(|show| show.value == "water");
        r.look = thick::look(&file);
        file.complete(Span::DEFAULT, "", &mut r);

        let grid = r.grid.clone();
        let time = r.time(&file);
        let fluid = r.fluid(&file);
        let smoke = (r.model == Model::Smoke).then(|| file.smoke().plain());
        let fire = file.fire.as_ref().filter(|_| r.model == Model::Smoke).map(|fire| fire.plain());
        let embers = r.embers(&file);
        let liquid = (r.model == Model::Liquid).then(|| file.liquid().plain());
        r.tracking(&file);
        r.narrow_band(&file);
        r.advection(&file);
        let blobs = r.blobs(&file);
        r.cubes(&file);
        let objects = r.objects(&file);
        let sources = r.sources(&file, &objects);
        let spouts = r.spouts(&file, &objects);
        let substances = r.substances(&mut file, &sources);
        let viscosity = r.viscosity(&file);
        let elastic = r.elastic(&file);
        let forces = r.forces(&file);
        let edits = r.edits(&file);
        let texture = r.texture(&mut file);
        let solver = file.solver().plain();
        let output = r.output(&mut file);
        let picture = r.picture(&mut file, &substances, &sources);
        let film = r.film.then(|| r.film(&mut file, &substances, &sources));
        let flipbook = r.flipbook(&file);
        let mut setup = Setup {
            description: file.description.as_deref().cloned().unwrap_or_default(),
            model: r.model,
            seed: r.seed,
            grid,
            fluid,
            smoke,
            fire,
            embers,
            liquid,
            viscosity,
            elastic,
            blobs,
            spouts,
            surface: file.surface().plain(),
            guide: None,
            substances,
            sources,
            objects,
            forces,
            edits,
            texture,
            solver,
            time,
            output,
            picture,
            film,
            flipbook,
            file: SceneFile::default(),
            files: Vec::new(),
            assets: scene.assets.clone(),
            later: Vec::new(),
        };
        r.looped(&mut file, &mut setup);
        setup.guide = r.guide(&mut file, &setup);
        r.check_passes(&file, &setup);
        super::check::check(&setup, &file, &mut r.problems);
        let budget = super::check::budget(&setup, &file, &scene.sources, r.needs).or(r.too_much.take());
        (setup.file, setup.files) = (file, std::mem::take(&mut r.files));
        if r.problems.errors.is_empty() {
            if let Some(problem) = budget {
                return Err(SceneError::Budget(problem));
            }
            super::check::edits(&mut setup, &mut r.problems)?;
        }
        r.problems.into_result().map(|warnings| (setup, warnings))
    }
}

/// Which variables an expression may use.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    /// Position and noise: at the start nothing else exists.
    Start,
    /// Position, time, noise and all fields.
    Everything,
    /// Besides, how fast a liquid is sheared.
    Thickness,
}

/// What is known of a scene while it is completed and resolved.
pub(crate) struct Resolver<'a> {
    pub(crate) problems: Problems<'a>,
    /// The files that the scene may name.
    assets: &'a Assets,
    /// Those that were read.
    files: Vec<(Matters, File)>,
    /// What of them is kept, in bytes.
    loaded: u64,
    /// More memory than there is: what is needed at least, and what may be taken, in bytes.
    needs: Option<(u64, u64)>,
    /// A file that does not fit into memory beside those before it.
    too_much: Option<Problem>,
    /// Whether what is read now matters to pictures only.
    reads_looks: bool,
    pub(crate) model: Model,
    /// How many axes.
    pub(crate) d: usize,
    grid: Grid,
    /// Names of the substances.
    names: Vec<String>,
    pub(crate) seed: u64,
    /// Frames per second.
    pub(crate) fps: f64,
    /// Seconds to the last frame.
    duration: f64,
    pub(crate) is_loop: bool,
    /// Whether pictures are taken by a camera.
    pub(crate) film: bool,
    /// Whether fuel burns, and gives off embers.
    pub(crate) burns: bool,
    embers: bool,
    /// Whether they show the surface of a liquid.
    shows_water: bool,
    /// How the liquid looks, if it has a name.
    look: Option<thick::Look>,
    /// Whether the scene says what is behind it.
    has_background: bool,
    pub(crate) noise_scale: f64,
}

/// Gives a key the value that was chosen for it, if it has none.
fn fill<T: Clone>(slot: &mut Option<Spanned<T>>, value: impl FnOnce() -> T) -> T {
    slot.get_or_insert_with(|| Spanned { value: value(), span: Span::DEFAULT }).value.clone()
}

/// Gives a key another value than it had.
fn replace<T>(slot: &mut Option<Spanned<T>>, value: T) {
    let span = slot.as_ref().map_or(Span::DEFAULT, |old| old.span);
    *slot = Some(Spanned { value, span });
}

impl<'a> Resolver<'a> {
    fn new(scene: &'a Scene) -> Self {
        Resolver {
            problems: Problems::new(&scene.sources),
            assets: &scene.assets,
            files: Vec::new(),
            loaded: 0,
            needs: None,
            too_much: None,
            reads_looks: false,
            model: scene.file.model.as_deref().copied().unwrap_or(Model::StableFluids),
            d: 2,
            grid: Grid { cells: vec![1; 2], size: vec![1.0; 2], origin: vec![0.0; 2], axes: vec![Axis::Periodic; 2] },
            names: Vec::new(),
            seed: scene.file.seed.as_deref().copied().unwrap_or(1),
            fps: 30.0,
            duration: 0.0,
            is_loop: false,
            film: false,
            burns: false,
            embers: false,
            shows_water: false,
            look: None,
            has_background: false,
            noise_scale: 1.0,
        }
    }

    /// What defaults depend on.
    fn know(&mut self, file: &SceneFile, grid: Grid) {
        self.grid = grid;
        self.burns = self.model == Model::Smoke && file.fire.is_some();
        self.embers = file.embers.is_some();
        if let Some(time) = &file.time {
            self.fps = time.fps.as_deref().copied().unwrap_or(self.fps);
            self.is_loop = time.r#loop.is_some();
        }
        let frames = file.time.as_ref().and_then(|t| t.frames.as_deref().copied()).unwrap_or(90);
        self.duration = f64::from(frames) / self.fps;
        let noise_scale = file.fluid.as_ref().and_then(|f| f.noise_scale.as_deref().copied());
        self.noise_scale = noise_scale.unwrap_or(self.longest() / 8.0);
    }

    /// The longest side of the box, metres.
    pub(crate) fn longest(&self) -> f64 {
        self.grid.longest()
    }

    /// The shortest side of a cell, metres.
    pub(crate) fn cell(&self) -> f64 {
        self.grid.spacing().into_iter().fold(f64::INFINITY, f64::min)
    }

    /// One for the volume of a cube as high as the box.
    pub(crate) fn per_box(&self) -> f64 {
        self.longest().powi(self.d as i32).recip()
    }

    /// Height of the bottom of the box, metres.
    pub(crate) fn bottom(&self) -> f64 {
        self.grid.origin[1]
    }

    /// The middle of the box.
    pub(crate) fn middle(&self) -> AnimatedVector {
        let middle: Vec<f64> = (0..self.d).map(|a| self.grid.origin[a] + 0.5 * self.grid.size[a]).collect();
        AnimatedVector::constant(&middle)
    }

    /// A zero for each axis.
    pub(crate) fn zeros(&self) -> Vector {
        Vector::of(&vec![0.0; self.d])
    }

    /// A zero for each axis, at all times.
    pub(crate) fn still(&self) -> AnimatedVector {
        AnimatedVector::constant(&vec![0.0; self.d])
    }

    /// Not turned.
    pub(crate) fn no_turn(&self) -> AnimatedAngles {
        AnimatedAngles::none(self.d == 2)
    }

    /// The direction of x.
    pub(crate) fn along_x(&self) -> Vector {
        let axes: Vec<f64> = (0..self.d).map(|a| if a == 0 { 1.0 } else { 0.0 }).collect();
        Vector::of(&axes)
    }

    /// A zero for each axis, as formulas.
    pub(crate) fn zero_formulas(&self) -> Vec<Spanned<NumberOrText>> {
        vec![Spanned { value: NumberOrText::Number(0.0), span: Span::DEFAULT }; self.d]
    }

    /// Smoke that one sees into; liquid that one does not.
    pub(crate) fn usual_thickness(&self) -> f64 {
        if self.model == Model::Liquid { 4.0 / self.cell() } else { 25.0 / self.longest() }
    }

    /// Whether pictures show the surface of a liquid.
    pub(crate) fn is_water(&self) -> bool {
        self.shows_water
    }

    /// How the liquid looks, if it has a name.
    pub(crate) fn look(&self) -> Option<thick::Look> {
        self.look
    }

    /// Gravity on Earth.
    pub(crate) fn gravity(&self) -> AnimatedVector {
        let down: Vec<f64> = (0..self.d).map(|a| if a == 1 { -9.81 } else { 0.0 }).collect();
        AnimatedVector::constant(&down)
    }

    /// Target smoke is advected in flux form, by less than a cell; splashes are followed in small steps.
    pub(crate) fn usual_cfl(&self) -> f64 {
        match self.model {
            Model::TargetSmoke => 0.8,
            Model::StableFluids | Model::Smoke | Model::Liquid => 2.0,
        }
    }

    /// Refuses a key that was typed and that the model does not have.
    pub(crate) fn has_key(&mut self, key: &Key, path: &str, span: Span) {
        if key.is_for(self.model) || span == Span::DEFAULT {
            return;
        }
        let models: Vec<String> = key.models.iter().map(|model| format!("\"{}\"", model.word())).collect();
        let message = format!("`{path}` needs the model {}", models.join(" or "));
        let help = format!("leave it out, or write model = {} above the first [table]", models[0]);
        self.problems.error(span, message, "not in this model").help(help);
    }

    /// Whether a vector has one entry per axis; says so if not.
    pub(crate) fn has_length(&mut self, got: usize, span: Span, key: &str) -> bool {
        if got == self.d {
            return true;
        }
        let message = format!("`{key}` has {}, but the scene is {}D", entries(got), self.d);
        let help =
            format!("`grid.cells` has {} entries, so every position and velocity has {} as well", self.d, self.d);
        self.problems.error(span, message, format!("expected {} entries", self.d)).help(help);
        false
    }

    /// Says that angles do not suit the number of axes.
    pub(crate) fn wrong_angles(&mut self, angles: &[f64], span: Span, key: &str) {
        let about_z = match *angles {
            [0.0, 0.0, z] | [z] => Some(z),
            _ => None,
        };
        let (wanted, example, meaning) = match self.d {
            2 => ("one number in 2D", format!("{:?}", about_z.unwrap_or(90.0)), "counter-clockwise, in degrees"),
            _ => {
                let example = about_z.map_or("[0.0, 90.0, 0.0]".to_owned(), |z| format!("[0.0, 0.0, {z:?}]"));
                ("three numbers in 3D", example, "about x, y and z, in degrees")
            }
        };
        self.problems
            .error(span, format!("`{key}` must be {wanted}"), "degrees")
            .help(format!("for example {example}: {meaning}"));
    }

    fn fluid(&mut self, file: &SceneFile) -> Fluid {
        let fluid = file.fluid();
        let velocity = self.formulas(
            fluid.velocity(),
            fluid.velocity.as_ref().map_or(Span::DEFAULT, |v| v.span),
            "fluid.velocity",
            Known::Start,
        );
        Fluid { viscosity: *fluid.viscosity(), velocity, noise_scale: *fluid.noise_scale() }
    }

    /// Glowing bits: only fire gives off any, and what flies cannot be made to loop.
    fn embers(&mut self, file: &SceneFile) -> Option<Embers> {
        let typed = file.embers.as_ref()?;
        if !self.burns {
            self.problems
                .error(typed.span, "`embers` without a fire", "nothing gives them off")
                .help("add [fire], and a [[source]] with set = { fuel = 1.0, temperature = 600.0 }");
        } else if self.is_loop {
            self.problems
                .error(typed.span, "`embers` in a loop", "they fly on and do not come back")
                .help("leave out `time.loop`, or `embers`");
        }
        Some(typed.plain())
    }

    fn blobs(&mut self, file: &SceneFile) -> Vec<Blob> {
        let Some(list) = &file.blob else { return Vec::new() };
        let mut blobs: Vec<Blob> = Vec::new();
        for (i, blob) in list.iter().enumerate() {
            let shape = blob.shape.as_ref().and_then(|shape| self.shape(shape, &format!("blob.{i}.shape")));
            let figure = self.blob_figure(blob, i);
            if shape.is_some() || figure.is_some() {
                let active = self.interval(*blob.time(), &blob.to, &format!("blob.{i}"));
                let every = blob.every.as_deref().copied().unwrap_or(f64::INFINITY);
                if let (Some(to), None) = (&blob.to, &blob.every) {
                    self.problems
                        .error(to.span, format!("`blob.{i}` appears only once, so it cannot end"), "needs `every`")
                        .help("for example time = 0.5, every = 0.2, to = 2.0");
                }
                let (velocity, set) = (blob.velocity().values(), self.amounts(&blob.set));
                blobs.push(Blob { shape, figure, set, velocity, time: active.from, every, to: active.to });
            }
        }
        blobs
    }

    /// The figure that a blob fills, if it has one instead of a shape.
    fn blob_figure(&mut self, blob: &Spanned<scene::Blob>, i: usize) -> Option<Figure> {
        let key = format!("blob.{i}");
        let Some(typed) = &blob.figure else {
            if blob.shape.is_none() {
                self.problems
                    .error(blob.span, format!("`{key}` has no shape"), "this blob")
                    .help("for example shape = { box = { min = [0.0, 0.0], max = [0.3, 0.5] } }, or figure = { text = \"Hello\" }");
            }
            return None;
        };
        if blob.shape.is_some() {
            self.problems
                .error(typed.span, format!("`{key}` has both a shape and a figure"), "one or the other")
                .help("write two [[blob]]s");
            return None;
        }
        let figure = self.figure(&typed.0, typed.span, &format!("{key}.figure"))?;
        if figure.moves() {
            self.problems
                .error(typed.span, format!("the figure of `{key}` moves"), "a blob appears at once")
                .help("use one picture, or a shape at rest");
        }
        Some(figure)
    }

    /// What lives on the grid needs a box; a level set has no particles to write or to carry anything.
    fn tracking(&mut self, file: &SceneFile) {
        let Some(typed) = file.liquid.as_ref().and_then(|l| l.tracking.as_ref()) else { return };
        if self.model != Model::Liquid || typed.value == Tracking::Particles {
            return;
        }
        if self.grid.is_unbounded() {
            self.problems
                .error(typed.span, "this tracking needs a box", "the grid has no bounds")
                .help("use tracking = \"particles\", or sides on all axes");
        }
        if typed.value != Tracking::LevelSet {
            return;
        }
        let mut carried = file.substance.iter().flat_map(|named| &named.0).filter(|(name, _)| name.value != "liquid");
        if let Some((name, _)) = carried.next() {
            self.problems
                .error(name.span, "tracking = \"level_set\" does not support substances", "not supported")
                .help("use tracking = \"particles\"");
        }
        if let Some(particles) =
            file.output.as_ref().and_then(|o| o.particles.as_ref()).filter(|p| !p.value.0.is_empty())
        {
            self.problems
                .error(particles.span, "there are no particles to write", "`liquid.tracking` is \"level_set\"")
                .help("write meshes or volumes, or use tracking = \"particles\"");
        }
    }

    /// Where there are no particles nothing is carried, and without a liquid of particles there is no band of them.
    fn narrow_band(&mut self, file: &SceneFile) {
        let Some(liquid) = file.liquid.as_ref().filter(|_| self.model == Model::Liquid) else { return };
        let Some(typed) = liquid.narrow_band.as_ref().filter(|typed| typed.value > 0) else { return };
        if liquid.tracking.as_ref().is_some_and(|tracking| tracking.value != Tracking::Particles) {
            self.problems
                .error(typed.span, "`liquid.narrow_band` needs tracking = \"particles\"", "no such particles")
                .help("leave it out, or use tracking = \"particles\"");
        }
        let mut carried = file.substance.iter().flat_map(|named| &named.0).filter(|(name, _)| name.value != "liquid");
        if let Some((name, _)) = carried.next() {
            self.problems
                .error(name.span, "`liquid.narrow_band` cannot be used with substances", "not supported")
                .help("leave out `liquid.narrow_band`");
        }
    }

    /// Particles carry their velocities themselves: no scheme does.
    fn advection(&mut self, file: &SceneFile) {
        let Some(typed) = file.solver.as_ref().and_then(|solver| solver.advection.as_ref()) else { return };
        let on_grid = |l: &scene::Liquid| *l.tracking() != Tracking::Particles || *l.narrow_band() > 0;
        if self.model == Model::Liquid && typed.value != Advection::MacCormack && !on_grid(file.liquid()) {
            self.problems
                .error(
                    typed.span,
                    "`solver.advection` has no effect with tracking = \"particles\"",
                    "particles carry velocities",
                )
                .help("leave it out, or use tracking = \"markers\" or \"level_set\", or liquid.narrow_band");
        }
    }

    fn cubes(&mut self, file: &SceneFile) {
        if !matches!(self.model, Model::Smoke | Model::Liquid) || self.grid.has_cubes() {
            return;
        }
        let size = file.grid.as_ref().and_then(|g| g.size.as_ref()).map(|s| s.span);
        let h = self.grid.spacing();
        let fits: Vec<f64> = self.grid.cells.iter().map(|&n| n as f64 * h[0]).collect();
        self.problems
            .error(size, format!("cells of this model must be cubes, but are {h:?} m"), "not in proportion to `cells`")
            .help(format!("with these `cells`, size = {fits:?} makes cubes; without `size` they are cubes as well"));
    }

    fn grid(&mut self, file: &mut SceneFile) -> Option<Grid> {
        let example = "for example cells = [128, 192] for a 2D scene, or [64, 96, 64] for a 3D one";
        // A scene without it was refused when it was read.
        let grid = file.grid.as_mut()?;
        let cells = grid.value.cells.as_ref()?;
        if !(2..=3).contains(&cells.len()) {
            let message = format!("`grid.cells` has {}; a box has 2 axes or 3", entries(cells.len()));
            self.problems.error(cells.span, message, "2 entries or 3").help(example);
            return None;
        }
        self.d = cells.len();
        let before = self.problems.errors.len();
        for n in &cells.value {
            if n.value == 0 {
                self.problems.error(n.span, "`grid.cells` has an axis without cells", "at least 1").help(example);
            } else if n.value > MAX_CELLS {
                let message = format!("{} cells along one axis are too many", n.value);
                self.problems
                    .error(n.span, message, "too many")
                    .help(format!("a box has at most {MAX_CELLS} cells in all"));
            }
        }
        if self.problems.errors.len() > before {
            return None;
        }
        let counts: Vec<usize> = cells.iter().map(|n| n.value as usize).collect();
        for length in grid.value.size.iter().flat_map(|size| size.iter()).filter(|l| !(1e-9..=1e9).contains(&l.value)) {
            let message = format!("`grid.size` cannot be {}", length.value);
            self.problems
                .error(length.span, message, "metres, above zero")
                .help("lengths lie between 1e-9 and 1e9 metres");
        }
        let natural: Vec<f64> = counts.iter().map(|&n| n as f64 / counts[0] as f64).collect();
        let zeros = self.zeros();
        for (slot, key, default) in
            [(&mut grid.value.size, "grid.size", Vector::of(&natural)), (&mut grid.value.origin, "grid.origin", zeros)]
        {
            if slot.as_ref().is_some_and(|typed| !self.has_length(typed.len(), typed.span, key)) {
                *slot = None;
            }
            fill(slot, || default);
        }
        let (size, origin) = (grid.value.size.as_ref()?.values(), grid.value.origin.as_ref()?.values());
        if self.model == Model::Smoke && file.boundary.is_none() {
            return Some(Grid { cells: counts, size, origin, axes: vec![Axis::Unbounded; self.d] });
        }
        let default = scene::Boundary::default();
        let sides = file.boundary.as_deref().unwrap_or(&default);
        let typed = [&sides.x, &sides.y, &sides.z];
        if let (2, Some(z)) = (self.d, &sides.z) {
            self.problems
                .error(z.span, "`boundary.z` in a 2D scene", "there is no z axis")
                .help("leave it out, or give `grid.cells` three entries");
        }
        let axes = (0..self.d).map(|a| self.axis(a, typed[a])).collect();
        let grid = Grid { cells: counts, size, origin, axes };
        self.unbounded_sides(&grid, typed);
        Some(grid)
    }

    fn axis(&mut self, a: usize, ends: &Option<Spanned<scene::AxisEnds>>) -> Axis {
        let plain = |side: PlainSide, d: usize| match side {
            PlainSide::Slip => Side::Slip,
            PlainSide::NoSlip => Side::NoSlip(vec![0.0; d]),
            PlainSide::Open => Side::Open,
            PlainSide::Unbounded => Side::Unbounded,
        };
        match ends.as_deref() {
            None => Axis::Bounded { lo: Side::Slip, hi: Side::Slip },
            Some(scene::AxisEnds::Periodic) => Axis::Periodic,
            Some(scene::AxisEnds::Both(PlainSide::Unbounded)) => Axis::Unbounded,
            Some(scene::AxisEnds::Both(side)) => Axis::Bounded { lo: plain(*side, self.d), hi: plain(*side, self.d) },
            Some(scene::AxisEnds::Pair(pair)) => {
                let [lo, hi] = [(&pair.lo, "lo"), (&pair.hi, "hi")].map(|(side, end)| match side {
                    None => Side::Slip,
                    Some(Spanned { value: scene::Side::Plain(side), .. }) => plain(*side, self.d),
                    Some(Spanned { value: scene::Side::Special(side), span }) => self.special_side(a, end, side, *span),
                });
                match (lo, hi) {
                    (Side::Unbounded, Side::Unbounded) => Axis::Unbounded,
                    (lo, hi) => Axis::Bounded { lo, hi },
                }
            }
        }
    }

    /// What tiles ask of a grid that goes anywhere on some sides, but not on others.
    fn unbounded_sides(&mut self, grid: &Grid, typed: [&Option<Spanned<scene::AxisEnds>>; 3]) {
        if !grid.is_unbounded() {
            return;
        }
        let tile = if self.d == 2 { tile_width::<2>() } else { tile_width::<3>() };
        for (a, axis) in grid.axes.iter().enumerate() {
            let (place, name) = (typed[a].as_ref().map(|ends| ends.span), AXES[a]);
            let [_, far] = grid.is_unbounded_at(a);
            if !matches!(self.model, Model::Smoke | Model::Liquid) {
                if !grid.is_unbounded_at(a).contains(&true) {
                    continue;
                }
                self.problems
                    .error(place, format!("`boundary.{name}` cannot be unbounded"), "this model lives in a box")
                    .help(
                        "only model = \"smoke\" and model = \"liquid\" have grids that follow the fluid; use \"open\"",
                    );
            } else if *axis == Axis::Periodic {
                self.problems
                    .error(place, format!("`boundary.{name}` is periodic while another axis is unbounded"), "periodic")
                    .help(
                        "a grid that follows the fluid has no axis that repeats: use \"slip\" walls, or bound all axes",
                    );
            } else if matches!(axis, Axis::Bounded { .. }) && !far && !grid.cells[a].is_multiple_of(tile) {
                let n = grid.cells[a];
                let (below, above) = (n / tile * tile, n.next_multiple_of(tile));
                let fits = if below > 0 { format!("{below} or {above}") } else { above.to_string() };
                let message = format!("the far side of `boundary.{name}` stands {n} cells from the near one");
                self.problems.error(place, message, format!("not a multiple of {tile}")).help(format!(
                    "the grid grows in tiles of {tile} cells, and a side stands between two of them: give `grid.cells` {fits} along {name}"
                ));
            }
        }
    }

    fn special_side(&mut self, a: usize, end: &str, side: &scene::SpecialSide, span: Span) -> Side {
        let key = format!("boundary.{}.{end}", AXES[a]);
        match (&side.moving, &side.inflow) {
            (Some(moving), None) => {
                let velocity = self.side_velocity(moving, &format!("{key}.moving"));
                if velocity[a] != 0.0 {
                    let place = moving.get(a).map_or(moving.span, |v| v.span);
                    let message = format!("the wall `{key}` cannot move along {}", AXES[a]);
                    let help = format!("a wall moves along itself: make entry {} zero, or use `inflow`", a + 1);
                    self.problems.error(place, message, "across the wall").help(help);
                }
                Side::NoSlip(velocity)
            }
            (None, Some(inflow)) => {
                if self.model == Model::Liquid {
                    self.problems
                        .error(inflow.span, format!("no liquid flows in through `{key}`"), "not in this model")
                        .help("use a wall, or \"open\", and let [[blob]]s appear");
                }
                Side::Inflow(self.side_velocity(inflow, &format!("{key}.inflow")))
            }
            (both, _) => {
                let message = match both {
                    Some(_) => format!("`{key}` is both moving and inflow"),
                    None => format!("`{key}` says nothing"),
                };
                self.problems
                    .error(span, message, "one of `moving`, `inflow`")
                    .help("for example { inflow = [0.0, 0.5] }, or just \"open\"");
                Side::Slip
            }
        }
    }

    /// The velocity of a side. Its length is checked with all others.
    fn side_velocity(&mut self, typed: &Spanned<Vector>, _key: &str) -> Vec<f64> {
        if typed.len() == self.d { typed.values() } else { vec![0.0; self.d] }
    }

    fn substance_names(&mut self, file: &mut SceneFile) {
        if self.model == Model::Smoke {
            self.names.extend(["density", "temperature"].map(str::to_owned));
            if self.burns {
                self.names.extend(["fuel", "flame", "exhaust"].map(str::to_owned));
            }
        }
        if self.model == Model::Liquid {
            self.names.push("liquid".to_owned());
        }
        let Some(named) = &file.substance else { return self.name_substances(file) };
        if named.0.len() > MAX_SUBSTANCES {
            let message = format!("{} substances are too many", named.0.len());
            self.problems
                .error(named.0[MAX_SUBSTANCES].0.span, message, "one too many")
                .help(format!("a scene carries at most {MAX_SUBSTANCES}"));
        }
        for (name, _) in &named.0 {
            let good = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                && name.starts_with(|c: char| c.is_ascii_alphabetic())
                && name.len() <= 40;
            if !good {
                self.problems
                    .error(name.span, format!("`{}` cannot be the name of a substance", name.value), "not a name")
                    .help("names begin with a letter and have up to 40 letters, digits and underscores");
            } else if RESERVED.contains(&name.as_str())
                || (self.model == Model::Liquid && ["surface", "positions", "velocities"].contains(&name.as_str()))
                || crate::expr::CONSTANTS.iter().any(|(c, _)| *c == name.as_str())
                || crate::expr::function_names().any(|f| f == name.as_str())
            {
                self.problems
                    .error(name.span, format!("`{}` has a meaning already", name.value), "reserved name")
                    .help(format!("choose another name, for example `{}_1`", name.value));
            }
            if !self.names.contains(&name.value) {
                self.names.push(name.value.clone());
            }
        }
        self.name_substances(file);
    }

    /// Gives every substance a table, in the order of their names.
    fn name_substances(&mut self, file: &mut SceneFile) {
        if self.names.is_empty() {
            return;
        }
        let mut given = file.substance.take().map(|named| named.value.0).unwrap_or_default();
        let tables = self.names.iter().map(|name| match given.iter().position(|(typed, _)| typed.value == *name) {
            Some(index) => given.swap_remove(index),
            None => {
                let span = Span::DEFAULT;
                (Spanned { value: name.clone(), span }, Spanned { value: scene::Substance::default(), span })
            }
        });
        file.substance = Some(Spanned { value: scene::Named(tables.collect()), span: Span::DEFAULT });
    }

    fn substances(&mut self, file: &mut SceneFile, sources: &[Source]) -> Vec<Substance> {
        let mut substances = Vec::new();
        let tables = file.substance.iter_mut().flat_map(|named| &mut named.value.0);
        for (index, (name, s)) in tables.enumerate() {
            let (name, s) = (name.value.clone(), &mut s.value);
            let key = format!("substance.{name}");
            let itself = self.model == Model::Liquid && index == 0;
            if itself && (*s.diffusion() > 0.0 || *s.dissipation() > 0.0 || s.initial.is_some()) {
                let place = s.initial.as_ref().map(|v| v.span).or(typed(&s.diffusion).map(|v| v.span));
                self.problems
                    .error(
                        place,
                        "`liquid` is how much of a cell is liquid: it neither diffuses nor vanishes",
                        "not here",
                    )
                    .help("give another name to what the liquid carries, for example [substance.ink]");
            }
            let initial = match &s.initial {
                Some(initial) => self.formula(initial, &format!("{key}.initial"), Known::Start),
                None => Formula::Number(0.0),
            };
            // A five-hundredth of what is brightest cannot be seen.
            let held = sources.iter().flat_map(|s| &s.set).filter(|(i, _)| *i == index);
            let start = if let Formula::Number(value) = initial { value.abs() } else { 0.0 };
            let burnt = file.fire.as_ref().filter(|_| self.burns).map_or(0.0, |fire| match index {
                DENSITY => *fire.soot(),
                TEMPERATURE => *fire.heat(),
                FLAME | EXHAUST => 1.0,
                _ => 0.0,
            });
            let largest = held.map(|(_, value)| value.largest_abs(self.duration)).fold(start.max(burnt), f64::max);
            let unbounded = self.grid.is_unbounded();
            let threshold = match largest {
                // What burnt long ago is not followed.
                _ if self.burns && index == EXHAUST => 1e9,
                0.0 => 1e-3,
                _ => largest / 500.0,
            };
            let threshold = if unbounded { fill(&mut s.threshold, || threshold) } else { threshold };
            substances.push(Substance {
                diffusion: *s.diffusion(),
                dissipation: *s.dissipation(),
                start: self.start(s, &key),
                boundary: self.substance_boundary(s, &key),
                is_ink: self.model == Model::Liquid && !itself && s.color.is_some(),
                color: match (&s.color, self.model) {
                    // What has no colour is not seen: it stays so.
                    (None, Model::Liquid) => PALETTE[index % PALETTE.len()],
                    _ => fill(&mut s.color, || scene::Color(PALETTE[index % PALETTE.len()])).0,
                },
                source: s.source.as_ref().map(|f| self.formula(f, &format!("{key}.source"), Known::Everything)),
                burnt,
                threshold,
                initial,
                name,
            });
        }
        substances
    }

    fn substance_boundary(&mut self, s: &scene::Substance, key: &str) -> Vec<[End; 2]> {
        let grid = &self.grid.clone();
        let default = scene::SubstanceBoundary::default();
        let typed = s.boundary.as_deref().unwrap_or(&default);
        let typed = [&typed.x, &typed.y, &typed.z];
        if let (2, Some(z)) = (self.d, typed[2]) {
            self.problems
                .error(z.span, format!("`{key}.boundary.z` in a 2D scene"), "there is no z axis")
                .help("leave it out");
        }
        let mut boundary = Vec::new();
        for (a, axis) in grid.axes.iter().enumerate() {
            let mut ends = match axis {
                Axis::Periodic | Axis::Unbounded => [End::Insulated; 2],
                Axis::Bounded { lo, hi } => [lo, hi].map(|side| match side {
                    Side::Inflow(_) | Side::Open => End::Value(0.0),
                    _ => End::Insulated,
                }),
            };
            if let Some(given) = typed[a] {
                if grid.is_endless(a) {
                    let kind = if *axis == Axis::Periodic { "a periodic axis" } else { "an axis without bounds" };
                    let message = format!("`{key}.boundary.{}` on {kind}", AXES[a]);
                    self.problems
                        .error(given.span, message, "this axis has no ends")
                        .help("leave it out, or make the axis bounded in [boundary]");
                }
                let given = match &given.value {
                    SubstanceEnds::Both(end) => [Some(end.clone()), Some(end.clone())],
                    SubstanceEnds::Pair(pair) => [&pair.lo, &pair.hi].map(|e| e.as_ref().map(|e| e.value.clone())),
                };
                let unbounded = grid.is_unbounded_at(a);
                for (k, (end, given)) in ends.iter_mut().zip(given).enumerate() {
                    if given.is_some() && unbounded[k] && !unbounded[1 - k] {
                        let side = ["lo", "hi"][k];
                        let message = format!("`{key}.boundary.{}.{side}` on a side without bounds", AXES[a]);
                        let place = typed[a].as_ref().map(|given| given.span);
                        self.problems.error(place, message, "there is no side").help("name the other side only");
                    }
                    match given {
                        Some(scene::SubstanceEnd::Insulated) => *end = End::Insulated,
                        Some(scene::SubstanceEnd::Value(value)) => *end = End::Value(value),
                        None => {}
                    }
                }
            }
            boundary.push(ends);
        }
        boundary
    }

    /// The number of the substance of this name.
    fn substance(&mut self, name: &Spanned<String>) -> Option<usize> {
        let index = self.names.iter().position(|n| *n == name.value);
        if index.is_none() {
            let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
            let help = match names.is_empty() {
                true => format!("the scene has no substances yet: add [substance.{}]", short(name)),
                false => match nearest(name, names.iter().copied()) {
                    Some(best) => format!("did you mean `{best}`?"),
                    None => format!("{}; or add [substance.{}]", did_you_mean(name, &names, "substances"), short(name)),
                },
            };
            self.problems
                .error(name.span, format!("there is no substance `{}`", short(name)), "not a substance")
                .help(help);
        }
        index
    }

    fn time(&mut self, file: &SceneFile) -> Time {
        let t = file.time();
        if let (Some(given), Some(_), true) = (&t.include_start, &t.r#loop, *t.include_start()) {
            self.problems
                .error(given.span, "a loop has no frame 0: its last frame comes before its first", "not here")
                .help("leave out `time.include_start` or `time.loop`");
        }
        Time { fps: *t.fps(), frames: *t.frames(), include_start: *t.include_start(), looped: None }
    }

    /// The loop that the run becomes, if it does: then frames are its frames.
    fn looped(&mut self, file: &mut SceneFile, setup: &mut Setup) {
        let Some(table) = file.time.as_mut().and_then(|t| t.value.r#loop.as_mut()) else { return };
        let table = &mut table.value.0;
        let frames = *table.frames();
        if let Some(given) = table.overlap.as_ref().filter(|given| given.value > frames) {
            let message = format!("`time.loop.overlap` must lie between 1 and {frames}, but is {}", given.value);
            self.problems.error(given.span, message, format!("1 to {frames}")).help("at most the frames of the loop");
        }
        let forgets = setup.forgets();
        let looped = Loop {
            start: setup.time.frames,
            overlap: fill(&mut table.overlap, || frames.div_ceil(2)).min(frames),
            rounds: fill(&mut table.rounds, || if forgets { 4 } else { 0 }),
            even: fill(&mut table.even, || !forgets && setup.model != Model::TargetSmoke),
        };
        (setup.time.frames, setup.time.looped) = (frames, Some(looped));
        if let (Some(texture), Some(table)) = (&mut setup.texture, &mut file.texture) {
            // Textures are forgotten by turns: after a whole number of them a loop is where it was.
            let length = f64::from(frames) / setup.time.fps;
            texture.period = length / (length / texture.period).round().max(1.0);
            replace(&mut table.value.period, texture.period);
        }
    }
}

mod edit;
mod figure;
mod film;
mod flipbook;
mod force;
mod output;
mod picture;
mod shape;
mod source;
mod target;
mod texture;
mod thick;
mod values;

/// A text cut to a length that fits into a message.
fn short(text: &str) -> String {
    text.chars().take(40).collect()
}
