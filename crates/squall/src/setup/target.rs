//! Targets.

use super::{Formula, Motion, Shape, Up};
use crate::assets::Loaded;
pub use crate::scene::choices::{Channel, Fit, FlatAxis, Limiter, Matching};
use crate::target::DensitySequence;

/// How smoke is guided to its targets.
#[derive(Clone, Debug, PartialEq)]
pub struct Guide {
    /// The part of the velocity that is lost per second.
    pub damping: Dial,
    /// When and how smoke is let go; `None`: never.
    pub release: Option<Release>,
    /// How slopes are limited in transport.
    pub limiter: Limiter,
    /// How often a step projects: 1 or 2.
    pub projections: u32,
    /// The smokes that have targets, in the order of the substances.
    pub smokes: Vec<Guided>,
}

/// A smoke and what it is to become.
#[derive(Clone, Debug, PartialEq)]
pub struct Guided {
    /// Index into [`Setup::substances`](super::Setup::substances).
    pub substance: usize,
    /// How strongly it is driven, m^2/s^2 per unit of density.
    pub drive: Dial,
    /// How strongly it is gathered, m^2/s per unit of density squared.
    pub gathering: Dial,
    /// How strongly both bring it to where it is missing; 1 is usual.
    pub levelling: f64,
    /// How amounts are made equal.
    pub matching: Matching,
    /// Its targets, in order of time; at least one.
    pub targets: Vec<Target>,
}

/// One entry of the timeline of a smoke.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// When it is to be reached, seconds.
    pub time: f64,
    /// What is to be reached.
    pub figure: Figure,
    /// A factor on the smoke's drive.
    pub strength: f64,
    /// Width of smoothing at first and in the end, metres.
    pub smoothing: [f64; 2],
    /// How long the change from the target before it takes, seconds.
    pub blend: f64,
}

/// A number over time: pairs of time and value, linear between them and constant beyond; at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Dial(pub Vec<[f64; 2]>);

/// How the drive grows while a target forms: parts of its time, and of the full drive. With the full drive from the start the
/// new form is there in a fifth of the time, and nobody can read the old one. Eased, the error in the end is smaller where
/// forms lie on each other ("Hello" to "Squall", 128 cells, 5 s: 0.12 instead of 0.16), and larger where smoke has far to go
/// (a cloud to "Squall": 0.38 instead of 0.20).
pub const EASED_DRIVE: &[[f64; 2]] = &[[0.0, 0.017], [0.25, 0.25], [0.5, 1.0], [1.0, 1.0]];

/// The same for gathering: flow first, and what it leaves is gathered in the end, in less time and so more strongly.
pub const EASED_GATHERING: &[[f64; 2]] = &[[0.0, 0.0], [0.6, 0.0], [1.0, 2.0]];

/// Seconds in which the push falls back when the next target begins.
const FALL_BACK: f64 = 0.02;

impl Dial {
    /// A curve over the time in which each target forms, then constant until the next one begins. A curve has pairs of a part
    /// of that time and a part of `full`; `forming` has the beginning and the end of each of these times.
    pub fn eased(curve: &[[f64; 2]], full: f64, forming: &[[f64; 2]]) -> Self {
        let mut keys: Vec<[f64; 2]> = Vec::new();
        for (k, &[begin, end]) in forming.iter().enumerate() {
            let key = |&[part, value]: &[f64; 2]| [begin + part * (end - begin), value * full];
            let staying = forming.get(k + 1).and_then(|next| Some([next[0], curve.last()?[1] * full]));
            for [time, value] in curve.iter().map(key).chain(staying) {
                let time = if k > 0 && time == begin { begin + FALL_BACK } else { time };
                // In very short times, or where nothing stays, keys would coincide.
                if keys.last().is_none_or(|last| time > last[0] + 1e-9) {
                    keys.push([time, value]);
                }
            }
        }
        Dial(keys)
    }

    /// The same at all times.
    pub fn constant(value: f64) -> Self {
        Dial(vec![[0.0, value]])
    }

    /// Whether it is zero at all times.
    pub fn is_zero(&self) -> bool {
        self.0.iter().all(|[_, value]| *value == 0.0)
    }

    /// The value at a time.
    pub fn at(&self, time: f64) -> f64 {
        let after = self.0.partition_point(|key| key[0] <= time);
        if after == 0 || after == self.0.len() {
            return self.0[after.saturating_sub(1)][1];
        }
        let [[t0, from], [t1, to]] = [self.0[after - 1], self.0[after]];
        from + (to - from) * (time - t0) / (t1 - t0)
    }

    /// The same until a time, and then down to nothing.
    pub fn released(&self, release: Release) -> Self {
        let mut keys: Vec<[f64; 2]> = self.0.iter().copied().filter(|key| key[0] < release.from).collect();
        keys.push([release.from, self.at(release.from)]);
        // Times grow, however short it is.
        keys.push([(release.from + release.over).max(release.from + 1e-9 * release.from.max(1.0)), 0.0]);
        Dial(keys)
    }
}

/// When smoke is let go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Release {
    /// From when on, seconds.
    pub from: f64,
    /// How long it takes, seconds.
    pub over: f64,
}

/// Something that smoke can be formed like.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What it is.
    pub kind: FigureKind,
    /// Where it is put; `None` for shapes and formulas, which have places of their own.
    pub frame: Option<Frame>,
}

/// What a figure is.
#[derive(Clone, Debug, PartialEq)]
pub enum FigureKind {
    /// A picture or a drawing.
    Image {
        /// What is read.
        file: File,
        /// What of it is drawn.
        ink: Ink,
        /// Its density on the cells that face the viewer.
        density: Loaded<Vec<f32>>,
    },
    /// Letters.
    Text {
        /// What is written.
        text: String,
        /// In which font; `None`: the one that Squall carries.
        font: Option<File>,
        /// Its density on the cells that face the viewer.
        density: Loaded<Vec<f32>>,
    },
    /// Pictures, one after the other.
    Film {
        /// One file, or a name with a place for the number.
        file: File,
        /// First and last number, and how many are shown per second; `None`: the file has all of them.
        numbered: Option<([u64; 2], f64)>,
        /// When the first one is shown, seconds.
        from: f64,
        /// Whether they begin again at their end.
        repeat: bool,
        /// What of them is drawn.
        ink: Ink,
        /// Their densities on the cells that face the viewer.
        density: Loaded<DensitySequence>,
    },
    /// A triangle mesh.
    Mesh {
        /// What is read.
        file: File,
        /// Which axis of it points upwards.
        up: Up,
        /// How far it is turned about x, y and z, degrees.
        rotation: [f64; 3],
        /// Its density on all cells.
        density: Loaded<Vec<f32>>,
    },
    /// A volume.
    Vdb {
        /// What is read.
        file: File,
        /// Which axis of it points upwards.
        up: Up,
        /// Which grid of it; `None`: density, or the first one.
        grid: Option<String>,
        /// Its density on all cells.
        density: Loaded<Vec<f32>>,
    },
    /// The inside of a shape.
    Shape {
        /// Which.
        shape: Shape,
        /// Where it is, and how it moves.
        motion: Motion,
    },
    /// A density over position, time and noise.
    Formula(Formula),
}

/// A file that a scene names.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// As the scene names it.
    pub name: String,
    /// A fingerprint of what it holds.
    pub fingerprint: u64,
}

/// What of a picture is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ink {
    /// What counts as drawn.
    pub channel: Channel,
    /// Takes what is not drawn instead.
    pub invert: bool,
}

/// Where a figure that has no place of its own is put.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// How it fills the frame.
    pub fit: Fit,
    /// Share of the shorter side of the box that stays empty.
    pub margin: f64,
    /// Middle of the frame, metres, one entry per axis; `None`: that of the box.
    pub center: Option<Vec<f64>>,
    /// Sides of the frame, metres: two of something flat, three of a solid; `None`: the box without its margin.
    pub size: Option<Vec<f64>>,
    /// Degrees counter-clockwise.
    pub rotation: f64,
    /// Thickness in metres and axis towards the viewer of something flat in 3D.
    pub slab: Option<(f64, FlatAxis)>,
}

impl Figure {
    /// Whether it changes with time.
    pub fn moves(&self) -> bool {
        match &self.kind {
            FigureKind::Film { .. } => true,
            FigureKind::Shape { shape, motion } => motion.moves() || shape.meshes().iter().any(|m| m.meshes.len() > 1),
            FigureKind::Formula(Formula::Expression(e)) => e.variables().iter().any(|v| v == "t"),
            _ => false,
        }
    }

    /// The files that it is read from, apart from meshes of shapes.
    pub fn files(&self) -> Vec<&File> {
        match &self.kind {
            FigureKind::Image { file, .. }
            | FigureKind::Film { file, .. }
            | FigureKind::Mesh { file, .. }
            | FigureKind::Vdb { file, .. } => vec![file],
            FigureKind::Text { font, .. } => font.iter().collect(),
            FigureKind::Shape { .. } | FigureKind::Formula(_) => Vec::new(),
        }
    }
}
