//! The resolved scene: every default filled in, every value checked. Plain data without a dimension in its types:
//! vectors are `Vec<f64>` with one entry per axis.
//!
//! A [`Setup`] only comes from [`Scene::setup`](crate::scene::Scene::setup), so whoever holds one may rely on it:
//! all numbers are finite (except `to` times and `max_dt`, which may be infinite), vectors have one entry per axis,
//! every substance that is named exists, and all expressions compile.

mod check;
pub mod curve;
pub mod edit;
mod film;
mod flipbook;
mod resolve;
mod shape;
mod target;
mod texture;

use crate::assets::{Assets, fingerprint};
use crate::diagnostic::{Span, Spanned};
use crate::expr::Expr;
pub use crate::scene::choices::{
    AdvectWith, Advection, Alpha, Diffusion, FadeLaw, FlowLines, Green, MAPS, MeltingLaw, MeshFormat, Model, Movie,
    ParticleFormat, Pass, PictureMode, Solids, Splitting, Tone, Tracer, Tracking, Transfer, Viscous,
};
use crate::scene::key::{Listed, Matters};
use crate::scene::write::Writer;
use crate::scene::{self, OneOrMany, SceneFile};
pub use crate::scene::{
    EmbersValues as Embers, FireValues as Fire, HeatLossValues as HeatLoss, LiquidValues as Liquid,
    MeltingValues as Melting, SmokeValues as Smoke, SolverValues as Solver, SurfaceValues as Surface,
};
pub use curve::Curve;
pub use edit::{Change, Edit, Move, Stroke, Thing};
pub use film::{Ambient, Camera, CameraKey, Film, Glow, Ground, Light, LightSource, Quality, Render, Sky, Vdb, Water};
pub use flipbook::Flipbook;
pub(crate) use resolve::Resolver;
pub use shape::{Interpolation, Mesh, Motion, MotionKey, Object, Shape, Up};
pub use squall_core::model::liquid::Elastic;
pub use target::{
    Channel, Dial, EASED_DRIVE, EASED_GATHERING, Figure, FigureKind, File, Fit, FlatAxis, Frame, Guide, Guided, Ink,
    Limiter, Matching, Release, Target,
};

pub use texture::{Photo, Texture, TexturePattern};

/// Most cells that a scene may ask for.
pub const MAX_CELLS: u64 = 1 << 31;

/// A scene, resolved and checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// What the scene shows.
    pub description: String,
    /// Which model computes it.
    pub model: Model,
    /// Seed of everything random.
    pub seed: u64,
    /// The box of cells and what bounds it.
    pub grid: Grid,
    /// The fluid itself.
    pub fluid: Fluid,
    /// What smoke does; `None` for other models.
    pub smoke: Option<Smoke>,
    /// How fuel burns; `None` if nothing does.
    pub fire: Option<Fire>,
    /// What glowing bits it gives off.
    pub embers: Option<Embers>,
    /// What a liquid does; `None` for other models.
    pub liquid: Option<Liquid>,
    /// How thick the liquid is, m^2/s, over `x y z`, `t`, noise, `shear` and what it carries; 0 for other models.
    pub viscosity: Formula,
    /// How the liquid remembers its shape; `None` if it does not.
    pub elastic: Option<Elastic>,
    /// Liquid that appears, in file order.
    pub blobs: Vec<Blob>,
    /// Openings that liquid comes out of.
    pub spouts: Vec<Spout>,
    /// How fine the surface of a liquid is for who looks at it.
    pub surface: Surface,
    /// What smoke is to become; `None` for other models than "target_smoke".
    pub guide: Option<Guide>,
    /// What the fluid carries, in file order; smoke begins with `density` and `temperature`, a liquid with `liquid`.
    pub substances: Vec<Substance>,
    /// Emitters.
    pub sources: Vec<Source>,
    /// Solids in the way.
    pub objects: Vec<Object>,
    /// Forces.
    pub forces: Vec<Force>,
    /// What was done while it played, in file order.
    pub edits: Vec<Edit>,
    /// What is painted on the fluid.
    pub texture: Option<Texture>,
    /// How it is computed.
    pub solver: Solver,
    /// Frames and their rate.
    pub time: Time,
    /// What is written.
    pub output: Output,
    /// What frames look like.
    pub picture: Picture,
    /// How 3D pictures are taken; `None` in 2D.
    pub film: Option<Film>,
    /// How frames are packed into textures.
    pub flipbook: Flipbook,
    /// The scene as a file, with every default filled in.
    file: SceneFile,
    /// The files that it names, and fingerprints of what they hold.
    files: Vec<(Matters, File)>,
    /// Where they are.
    assets: Assets,
    /// What the scene is after edits of its keys: from which frame on, in ascending order.
    later: Vec<(u64, Setup)>,
}

/// The place of `density` among the substances of smoke.
pub const DENSITY: usize = 0;
/// The place of `temperature` among the substances of smoke.
pub const TEMPERATURE: usize = 1;
/// The place of `fuel` among the substances of fire.
pub const FUEL: usize = 2;
/// The place of `flame` among the substances of fire.
pub const FLAME: usize = 3;
/// The place of `exhaust` among the substances of fire.
pub const EXHAUST: usize = 4;

/// Liquid that appears.
#[derive(Clone, Debug, PartialEq)]
pub struct Blob {
    /// What it fills; `None`: a figure.
    pub shape: Option<Shape>,
    /// What it fills instead: where its density is more than a half.
    pub figure: Option<Figure>,
    /// What it carries: `(index into Setup::substances, value)`, by index.
    pub set: Vec<(usize, Curve)>,
    /// How it moves, in m/s.
    pub velocity: Vec<f64>,
    /// When it appears, in seconds.
    pub time: f64,
    /// After how many seconds it appears again; infinite if it does not.
    pub every: f64,
    /// When that ends; infinite if it does not.
    pub to: f64,
}

/// An opening that liquid comes out of.
#[derive(Clone, Debug, PartialEq)]
pub struct Spout {
    /// Its middle, before it is moved.
    pub center: Vec<f64>,
    /// Where the liquid goes.
    pub direction: Vec<f64>,
    /// Its form.
    pub opening: Opening,
    /// How fast it comes out, m/s.
    pub speed: Curve,
    /// What it carries: `(index into Setup::substances, value)`, by index.
    pub set: Vec<(usize, Curve)>,
    /// When it is on.
    pub active: Interval,
    /// After how many seconds that begins again; infinite if it does not.
    pub every: f64,
    /// How it moves.
    pub motion: Motion,
    /// The object (index into [`Setup::objects`]) whose motion it takes part in, on top of its own.
    pub follow: Option<usize>,
}

/// The form of an opening, in metres.
#[derive(Clone, Debug, PartialEq)]
pub enum Opening {
    /// A disc of this radius.
    Disc(f64),
    /// A rectangle, and the direction of its first side; in 2D a slit of the first.
    Rectangle([f64; 2], Vec<f64>),
}

impl Opening {
    /// Its least width, in 2D or 3D.
    pub fn narrowest(&self, dimensions: usize) -> f64 {
        match self {
            Opening::Disc(radius) => 2.0 * radius,
            Opening::Rectangle([width, height], _) => {
                if dimensions == 3 {
                    width.min(*height)
                } else {
                    *width
                }
            }
        }
    }

    /// The same, but nowhere narrower than this.
    pub fn at_least(&self, width: f64) -> Opening {
        match self {
            Opening::Disc(radius) => Opening::Disc(radius.max(0.5 * width)),
            Opening::Rectangle(sides, side) => Opening::Rectangle(sides.map(|length| length.max(width)), side.clone()),
        }
    }
}

/// The box of cells and what bounds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Cells along each axis: two entries or three.
    pub cells: Vec<usize>,
    /// Length of the box along each axis, in metres.
    pub size: Vec<f64>,
    /// Lower corner of the box, in metres.
    pub origin: Vec<f64>,
    /// What bounds each axis.
    pub axes: Vec<Axis>,
}

/// What bounds one axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Axis {
    /// The far end joins the near one.
    Periodic,
    /// No ends: the box only says what is looked at.
    Unbounded,
    /// Two ends, each with its own condition.
    Bounded {
        /// The end at the origin.
        lo: Side,
        /// The far end.
        hi: Side,
    },
}

/// One end of a bounded axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Side {
    /// A wall along which the fluid slides freely.
    Slip,
    /// A wall to which the fluid sticks, moving along itself with this velocity (m/s).
    NoSlip(Vec<f64>),
    /// Fluid enters (or leaves) with this velocity (m/s).
    Inflow(Vec<f64>),
    /// Outside air: fluid comes and goes.
    Open,
    /// No end on this side; the other one has one, else the axis is unbounded.
    Unbounded,
}

/// The fluid itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Fluid {
    /// Kinematic viscosity, m^2/s.
    pub viscosity: f64,
    /// Initial velocity, m/s: one formula per axis, over `x y z`, `t` (0) and noise.
    pub velocity: Vec<Formula>,
    /// Size of the features of `noise` in expressions and emitters, in metres.
    pub noise_scale: f64,
}

/// Something that the fluid carries.
#[derive(Clone, Debug, PartialEq)]
pub struct Substance {
    /// Its name in expressions, pictures and files.
    pub name: String,
    /// Diffusion, m^2/s.
    pub diffusion: f64,
    /// How fast it vanishes, 1/s.
    pub dissipation: f64,
    /// Values at the start, over `x y z`, `t` (0) and noise.
    pub initial: Formula,
    /// What it is formed like at the start, instead.
    pub start: Option<Figure>,
    /// What it does at the two ends `[lo, hi]` of each axis; on a periodic axis both are `Insulated` and mean nothing.
    pub boundary: Vec<[End; 2]>,
    /// Its colour, sRGB, where several substances are shown together.
    pub color: [u8; 3],
    /// Whether it gives that colour to a liquid.
    pub is_ink: bool,
    /// What appears each second, over position, time and all fields; `None` if nothing does.
    pub source: Option<Formula>,
    /// The most that burning makes of it.
    pub burnt: f64,
    /// Less counts as nothing, where the grid follows the smoke.
    pub threshold: f64,
}

/// What a substance does at one end of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// No slope across the boundary.
    Insulated,
    /// This value on the boundary.
    Value(f64),
}

/// A number or an expression that gives one per cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    /// The same everywhere, always.
    Number(f64),
    /// To be evaluated cell by cell.
    Expression(Expr),
}

/// An emitter.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Where, before it is moved.
    pub shape: Shape,
    /// What it fills instead: where its density is more than a half.
    pub figure: Option<Figure>,
    /// How it moves.
    pub motion: Motion,
    /// The object (index into [`Setup::objects`]) whose motion it takes part in, on top of its own.
    pub follow: Option<usize>,
    /// Whether fluid inside takes the velocity of the moving shape.
    pub drag: bool,
    /// Width of its soft edge, metres.
    pub softness: f64,
    /// Values that substances are held at inside: `(index into Setup::substances, value)`, by index.
    pub set: Vec<(usize, Curve)>,
    /// What each second adds to substances inside: `(index into Setup::substances, 1/s)`, by index.
    pub rate: Vec<(usize, Curve)>,
    /// The velocity (m/s) that fluid inside is pushed to; `None` leaves it alone.
    pub velocity: Option<Vec<Curve>>,
    /// Whether it is kept full of liquid.
    pub fill: bool,
    /// Whether liquid inside vanishes.
    pub drain: bool,
    /// How fast all substances vanish inside, 1/s.
    pub sink: Curve,
    /// How much fluid appears inside, per volume and second.
    pub expansion: Curve,
    /// How much smooth noise modulates the emission, 0 to 1.
    pub noise: f64,
    /// When it is on.
    pub active: Interval,
    /// After how many seconds that begins again; infinite if it does not.
    pub every: f64,
}

/// Whether a time lies in an interval that begins again after `every` seconds.
pub fn is_on(active: Interval, every: f64, t: f64) -> bool {
    let since = t - active.from;
    let since = if every.is_finite() && since >= 0.0 { since % every } else { since };
    since >= 0.0 && since < active.to - active.from
}

/// A stretch of time, in seconds: `from <= t < to`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Beginning.
    pub from: f64,
    /// End; infinite if it never ends.
    pub to: f64,
}

/// A force and when it acts.
#[derive(Clone, Debug, PartialEq)]
pub struct Force {
    /// What it does.
    pub kind: ForceKind,
    /// When it acts.
    pub active: Interval,
}

/// What a force does. Up is +y, in 2D and in 3D.
#[derive(Clone, Debug, PartialEq)]
pub enum ForceKind {
    /// Acceleration `strength * (value - ambient)` along +y.
    Buoyancy {
        /// Index into [`Setup::substances`].
        substance: usize,
        /// m/s^2 per unit of the substance; negative sinks.
        strength: Curve,
        /// The value at which nothing rises.
        ambient: Curve,
    },
    /// The same acceleration everywhere, m/s^2.
    Uniform(Vec<Curve>),
    /// Draws the fluid towards a velocity: `rate * (velocity - u)`.
    Wind {
        /// m/s.
        velocity: Vec<Curve>,
        /// 1/s.
        rate: Curve,
    },
    /// Turns the fluid about an axis: acceleration `strength * exp(-(r/radius)^2 / 2)` along the circles.
    Vortex {
        /// A point of the axis.
        center: Vec<Curve>,
        /// Direction of the axis, of length 1; empty in 2D, where it is the viewer's. Counter-clockwise about it.
        axis: Vec<f64>,
        /// How wide, metres.
        radius: Curve,
        /// m/s^2.
        strength: Curve,
    },
    /// Smooth divergence-free noise.
    Noise {
        /// RMS acceleration, m/s^2 (per unit of the substance, if there is one).
        strength: Curve,
        /// Size of its features, metres.
        scale: f64,
        /// How fast it changes, 1/s: after `1/speed` seconds it is another noise.
        speed: f64,
        /// Index into [`Setup::substances`]: proportional to it.
        substance: Option<usize>,
    },
    /// Pushes away from a point (negative: towards it): `strength * exp(-(r/radius)^2 / 2)`.
    Radial {
        /// The point.
        center: Vec<Curve>,
        /// How wide, metres.
        radius: Curve,
        /// m/s^2.
        strength: Curve,
    },
    /// Rods that follow a path and drag the fluid along.
    Stir {
        /// Points that the first one passes.
        path: Vec<Vec<f64>>,
        /// When it is at each, in seconds after the force begins.
        times: Vec<f64>,
        /// Whether the last point is the first one of the next round.
        looped: bool,
        /// How thick they are, metres.
        radius: f64,
        /// How fast the fluid takes their velocity, 1/s.
        rate: Curve,
        /// How many.
        rods: u32,
        /// From one to the next, metres.
        apart: Vec<f64>,
    },
    /// Acceleration (m/s^2) by one formula per axis, over position, time and all fields.
    Expression(Vec<Formula>),
}

/// Frames and their rate. Frame `k` shows the time `k / fps`; frames 1 to `frames` are written.
#[derive(Clone, Debug, PartialEq)]
pub struct Time {
    /// Frames per second.
    pub fps: f64,
    /// The last frame.
    pub frames: u32,
    /// Whether frame 0, the initial state, is written as well.
    pub include_start: bool,
    /// What makes these frames a loop, if they are one.
    pub looped: Option<Loop>,
}

/// How a run becomes a loop of [`Time::frames`] frames.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// Frames that pass before.
    pub start: u32,
    /// Frames over which the end goes over into the beginning.
    pub overlap: u32,
    /// How often smoke is carried around before it is shown, at most.
    pub rounds: u32,
    /// Whether every frame has the contrast of the first.
    pub even: bool,
}

/// What is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Width of the pictures in pixels.
    pub width: u32,
    /// Height of the pictures in pixels.
    pub height: u32,
    /// Bits per colour of the pictures: 8 or 16.
    pub bits: u32,
    /// Whether pictures are also written in linear light.
    pub exr: bool,
    /// The volumes that are written.
    pub vdb: Option<Vdb>,
    /// Files of the surface of a liquid, in the order of [`MeshFormat`].
    pub mesh: Vec<MeshFormat>,
    /// Files of its particles, in the order of [`ParticleFormat`].
    pub particles: Vec<ParticleFormat>,
    /// The movie at the end.
    pub movie: Movie,
    /// Fields written raw for each frame.
    pub fields: Vec<String>,
    /// What is written for each frame besides the picture, in the order of [`Pass`].
    pub passes: Vec<Pass>,
    /// What more green means in PNG maps.
    pub green: Green,
    /// Wall-clock seconds between checkpoints.
    pub checkpoint_seconds: f64,
}

/// What frames look like.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// What is shown.
    pub show: Show,
    /// Colours from low to high.
    pub map: ColorMap,
    /// The values shown as the first and the last colour; `None`: the extremes of all frames so far.
    pub range: Option<[f64; 2]>,
    /// Whether substances glow or absorb.
    pub mode: PictureMode,
    /// sRGB at the top and at the bottom.
    pub background: [[u8; 3]; 2],
    /// Strength of the shading that makes 2D fields look raised; 0 is flat.
    pub relief: Curve,
    /// Brightness multiplier.
    pub exposure: Option<Curve>,
    /// Film grain.
    pub grain: Curve,
    /// What of the velocity is drawn over 2D pictures.
    pub flow: FlowLines,
    /// Points along each side of a pixel that 2D pictures are drawn with.
    pub supersample: u32,
    /// How light becomes what a screen shows.
    pub tone: Tone,
    /// Kelvins of light that is shown as white.
    pub white: Curve,
    /// The part of all light that spreads around what is bright.
    pub bloom: Curve,
    /// Multiplier of how much a substance hides or glows.
    pub opacity: Curve,
    /// Values are raised to `1 / gamma` before they are coloured.
    pub gamma: Curve,
    /// Whether all frames have one range; what it is, is found by a simulation without pictures before the first frame.
    pub steady: bool,
    /// Whether 2D pictures have no background.
    pub transparent: bool,
}

/// What pictures show.
#[derive(Clone, Debug, PartialEq)]
pub enum Show {
    /// Index into [`Setup::substances`].
    Substance(usize),
    /// All substances, each in its own colour.
    Substances,
    /// Length of the velocity.
    Speed,
    /// Rotation of the velocity (3D: its length).
    Vorticity,
    /// Pressure.
    Pressure,
    /// What is painted on the fluid; 2D only.
    Texture,
    /// The surface of a liquid.
    Water,
}

/// Colours from low to high.
#[derive(Clone, Debug, PartialEq)]
pub enum ColorMap {
    /// One of [`MAPS`].
    Named(String),
    /// Evenly spaced sRGB colours, at least two.
    Ramp(Vec<[u8; 3]>),
}

impl ColorMap {
    /// Whether it stands for the looks of smoke in daylight: in 3D smoke is lit then instead of glowing in the colours of the map.
    pub fn is_lit(&self) -> bool {
        matches!(self, ColorMap::Named(name) if name == "smoke" || name == "grey")
    }
}

impl Setup {
    /// The scene with every default filled in: read back, it is this setup again.
    pub fn to_toml(&self) -> String {
        self.written(Matters::Run)
    }

    /// All keys of the scene with their values, but for edits; those that its model does not have are left out.
    pub fn keys(&self) -> Vec<Listed> {
        let mut all = Vec::new();
        self.file.list_keys("", &mut all);
        all.retain(|listed| listed.key.is_for(self.model) && !listed.path.starts_with("edit"));
        all
    }

    /// The changes, each `key.path=value`, that give it finer or coarser cells in the same box: through the parser, so that whatever depends on the
    /// cells is worked out anew.
    pub fn scaled(&self, factor: f64) -> [String; 2] {
        let grid = &self.grid;
        let cells: Vec<u64> = grid.cells.iter().map(|&n| (n as f64 * factor).round().max(1.0) as u64).collect();
        // Cubes stay cubes, though whole numbers of them may not fill the box exactly.
        let old = |a: usize| grid.size[a] / grid.cells[a] as f64;
        let cubes = (1..cells.len()).all(|a| (old(a) / old(0) - 1.0).abs() < 1e-6);
        let h = grid.size[0] / cells[0] as f64;
        let size: Vec<f64> = if cubes { cells.iter().map(|&n| h * n as f64).collect() } else { grid.size.clone() };
        [format!("grid.cells={cells:?}"), format!("grid.size={size:?}")]
    }

    /// Whether it was made of other files than the scene.
    pub fn names_files(&self) -> bool {
        !self.files.is_empty()
    }

    /// A fingerprint of everything that affects the simulation or the pictures. The number of frames, the movie and the
    /// interval between checkpoints do not: a run may be made longer and resumed.
    pub fn hash(&self) -> u64 {
        fingerprint(self.written(Matters::Look).as_bytes())
    }

    /// A fingerprint of what affects the simulation alone: a run may be resumed with other colours.
    pub fn physics_hash(&self) -> u64 {
        fingerprint(self.written(Matters::Physics).as_bytes())
    }

    /// What matters to something, and fingerprints of the files that it names.
    fn written(&self, matters: Matters) -> String {
        let mut text = self.file.to_toml(&Writer { model: Some(self.model), matters });
        for (_, file) in self.files.iter().filter(|(to, _)| *to <= matters) {
            text += &format!("# {:?} holds {:016x}\n", file.name, file.fingerprint);
        }
        if self.picture.steady && matters == Matters::Look {
            // The range is that of all frames: a longer run has another.
            text += &format!("# one range over {} frames\n", self.time.frames);
        }
        if let (Some(looped), true) = (&self.time.looped, matters < Matters::Run) {
            // Frames before a loop are a part of the simulation.
            text += &format!("# a loop after {} frames\n", looped.start);
        }
        text
    }

    /// The largest value of a substance that the scene puts anywhere, as far as it says; 0 if it does not.
    pub fn largest_emitted(&self, substance: usize) -> f64 {
        resolve::largest_emitted(substance, &self.substances, &self.sources, self.time.duration())
    }

    /// The same setup without a movie at the end.
    pub fn without_movie(mut self) -> Self {
        self.output.movie = Movie::None;
        self.tell_output();
        self
    }

    /// Writes into the file what was changed in output, pictures, flipbook and length.
    pub(crate) fn tell_output(&mut self) {
        fn tell<T>(slot: &mut Option<Spanned<T>>, value: T) {
            *slot = Some(Spanned { value, span: Span::DEFAULT });
        }
        fn list<T>(values: impl IntoIterator<Item = T>) -> Vec<Spanned<T>> {
            values.into_iter().map(|value| Spanned { value, span: Span::DEFAULT }).collect()
        }
        let (o, f) = (&self.output, &self.flipbook);
        if let Some(Spanned { value: file, .. }) = &mut self.file.output {
            tell(&mut file.width, o.width);
            tell(&mut file.height, o.height);
            tell(&mut file.bits, o.bits);
            tell(&mut file.exr, o.exr);
            tell(&mut file.movie, o.movie);
            tell(&mut file.fields, list(o.fields.clone()));
            tell(&mut file.passes, list(o.passes.clone()));
            if o.vdb.is_none() {
                tell(&mut file.vdb, scene::Vdb::None);
            }
        }
        if let Some(Spanned { value: file, .. }) = &mut self.file.picture {
            tell(&mut file.transparent, self.picture.transparent);
        }
        if let (Some(Spanned { value: file, .. }), Some(film)) = (&mut self.file.render, &self.film) {
            tell(&mut file.transparent, film.render.transparent);
            if film.render.ground.is_none() {
                file.ground = None;
            }
        }
        if let Some(Spanned { value: file, .. }) = &mut self.file.flipbook {
            let number = |value: Option<u32>| value.map(|value| Spanned { value, span: Span::DEFAULT });
            (file.columns, file.rows, file.count) = (number(f.columns), number(f.rows), number(f.count));
            (file.from, file.every, file.padding) = (number(f.from), number(f.every), number(f.padding));
            let width = Spanned { value: f.width, span: Span::DEFAULT };
            let size = match f.height {
                Some(height) => OneOrMany::Many(list([f.width, height])),
                None => OneOrMany::One(width),
            };
            tell(&mut file.size, size);
            tell(&mut file.maps, list(f.maps.clone()));
        }
        if let (Some(Spanned { value: file, .. }), None) = (&mut self.file.time, &self.time.looped) {
            tell(&mut file.frames, self.time.frames);
        }
    }

    /// How many axes: 2 or 3.
    pub fn dimensions(&self) -> usize {
        self.grid.cells.len()
    }

    /// The substance that stands for heat in pictures: what glows, else `temperature`, else `heat`.
    pub fn heat(&self) -> Option<usize> {
        let glows = self.film.as_ref().and_then(|film| film.render.glow.as_ref()).map(|glow| glow.substance);
        let named = |name: &str| self.substances.iter().position(|s| s.name == name);
        glows.or_else(|| named("temperature")).or_else(|| named("heat"))
    }

    /// What colours a liquid.
    pub fn inks(&self) -> impl Iterator<Item = &Substance> + Clone {
        self.substances.iter().filter(|s| s.is_ink)
    }

    /// How many cells the box has.
    pub fn cell_count(&self) -> u64 {
        self.grid.cells.iter().map(|&n| n as u64).product()
    }
}

impl Grid {
    /// Cell size along each axis, in metres.
    pub fn spacing(&self) -> Vec<f64> {
        self.size.iter().zip(&self.cells).map(|(length, &n)| length / n as f64).collect()
    }

    /// Whether the axis has no ends.
    pub fn is_endless(&self, axis: usize) -> bool {
        matches!(self.axes[axis], Axis::Periodic | Axis::Unbounded)
    }

    /// Whether the grid follows the smoke.
    pub fn is_unbounded(&self) -> bool {
        (0..self.axes.len()).any(|a| self.is_unbounded_at(a).contains(&true))
    }

    /// Whether the grid follows the smoke on the two sides of an axis.
    pub fn is_unbounded_at(&self, axis: usize) -> [bool; 2] {
        match &self.axes[axis] {
            Axis::Periodic => [false; 2],
            Axis::Unbounded => [true; 2],
            Axis::Bounded { lo, hi } => [lo, hi].map(|side| *side == Side::Unbounded),
        }
    }

    /// The velocity along an axis that its sides give to the air far away, m/s: that of an inflow, none through a wall.
    /// `None` if they leave it free.
    pub fn wind_past_sides(&self, axis: usize) -> Option<f64> {
        let Axis::Bounded { lo, hi } = &self.axes[axis] else { return None };
        [lo, hi].into_iter().find_map(|side| match side {
            Side::Inflow(velocity) => Some(velocity[axis]),
            Side::Slip | Side::NoSlip(_) => Some(0.0),
            Side::Open | Side::Unbounded => None,
        })
    }

    /// The longest side of the box, metres.
    pub fn longest(&self) -> f64 {
        self.size.iter().copied().fold(0.0, f64::max)
    }

    /// Whether cells have the same length along each axis.
    pub fn has_cubes(&self) -> bool {
        let h = self.spacing();
        h.iter().all(|l| (l / h[0] - 1.0).abs() < 1e-6)
    }
}

impl Setup {
    /// Whether a substance is smoke to the eye: heat, fuel, flames and exhaust are not.
    pub fn is_smoke(&self, substance: usize) -> bool {
        let unseen = match (&self.smoke, &self.fire) {
            (None, _) => 0..0,
            (Some(_), None) => TEMPERATURE..TEMPERATURE + 1,
            (Some(_), Some(_)) => TEMPERATURE..EXHAUST + 1,
        };
        !unseen.contains(&substance)
    }

    /// Whether what is carried ever leaves: through a side, by fading, or by being drawn off.
    pub fn forgets(&self) -> bool {
        let open = |side: &Side| matches!(side, Side::Open | Side::Inflow(_) | Side::Unbounded);
        let leaves = self.grid.axes.iter().any(|axis| match axis {
            Axis::Periodic => false,
            Axis::Unbounded => true,
            Axis::Bounded { lo, hi } => open(lo) || open(hi),
        });
        let fades = self.substances.iter().any(|s| s.dissipation > 0.0)
            || self.smoke.as_ref().is_some_and(|s| s.fade > 0.0)
            || self.sources.iter().any(|s| !s.sink.is(0.0));
        leaves || fades
    }
}

impl std::fmt::Display for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_toml())
    }
}

impl Time {
    /// Seconds from the start to the last frame that is simulated.
    pub fn duration(&self) -> f64 {
        self.simulated_frames() as f64 / self.fps
    }

    /// Frames that are simulated: more than are written, if they are a loop.
    pub fn simulated_frames(&self) -> u64 {
        u64::from(self.frames) + self.looped.as_ref().map_or(0, |l| u64::from(l.start) + u64::from(l.overlap))
    }
}
