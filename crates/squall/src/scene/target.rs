//! What smoke is to become: figures, targets, and how it is driven to them.

use serde_json::{Value as Json, json};

use super::choices::{Channel, Fit, FlatAxis, Limiter, Up};
use super::read::{NumberOrText, OneOrMany, Read, Reader, plain_key, read_keys, table};
use super::shapes::{Motion, Part};
use super::tree::{Node, Value};
use crate::diagnostic::Spanned;

table! {
    /// Something that smoke can be formed like: exactly one of image, text, images, film, mesh, vdb, shape and formula.
    pub struct Figure {
        /// A picture or a drawing: PNG, JPEG, WebP, GIF, BMP, TIFF or SVG.
        image: String,
        /// Letters; \n begins a new line.
        text: String,
        /// Numbered pictures: "frame_####.png".
        images: String,
        /// An animated GIF, PNG or WebP.
        film: String,
        /// A triangle mesh (OBJ, PLY, STL, glTF), made as large as fits; 3D only.
        mesh: String,
        /// An OpenVDB file, made as large as fits; 3D only.
        vdb: String,
        /// A shape where its own coordinates say, as of objects.
        shape: Part,
        /// A density over position (x, y, z), time (t) and noise.
        formula: NumberOrText,
        /// Font of a text: a TTF or OTF file. Default: Noto Sans Bold.
        font: String,
        /// First and last number of `images`.
        frames: Vec<Spanned<u64>>,
        /// Pictures per second of `images`. Default: time.fps.
        fps: f64,
        /// When the first picture of `images` or `film` is shown, seconds. Default 0.
        from: f64,
        /// Whether `images` or `film` begin again at their end. Default false.
        r#loop: bool,
        /// Which grid of a `vdb` file. Default: density, else the first one.
        grid: String,
        /// Which axis of a `mesh` or `vdb` file points upwards: "y", or "z" as in Blender. Default "y".
        up: Up,
        /// What of a picture counts as drawn. Default "auto".
        channel: Channel,
        /// Takes what is not drawn instead. Default false.
        invert: bool,
        /// How a picture or a text fills its frame. Default "contain".
        fit: Fit,
        /// Share of the shorter side of the box that stays empty on all sides, 0 to 0.45. Default 0.1.
        margin: f64,
        /// Middle of the frame, metres. Default: the middle of the box.
        center: Vec<Spanned<f64>>,
        /// Width and height of the frame, metres; three lengths for a mesh or a volume. Default: the box without its margin.
        size: Vec<Spanned<f64>>,
        /// Degrees counter-clockwise; for a mesh or a shape in 3D about x, y and z. Default 0.
        rotation: OneOrMany<Spanned<f64>>,
        /// How thick a picture or a text is in 3D, metres. Default 1/8 of the shortest side.
        thickness: f64,
        /// The axis along which it is seen in 3D. Default "z".
        normal: FlatAxis,
        /// How far a shape is moved from where it was built, metres. Default 0.
        position: Vec<Spanned<f64>>,
        /// How many times larger a shape is than it was built. Default 1.
        scale: f64,
        /// The point of a shape about which it turns and grows. Default: its middle.
        pivot: Vec<Spanned<f64>>,
        /// How a shape moves. Default: not at all.
        motion: Motion,
    }

    /// What a smoke is to become, and when.
    pub struct Target {
        /// Which smoke. Default: the only one.
        substance: String,
        /// When it is to be reached, seconds. Required.
        time: f64,
        /// What is to be reached. Required.
        figure: Figure,
        /// A factor on the smoke's `drive`. Default 1.
        strength: f64,
        /// How wide smoke and target are smoothed, metres: a number, [first, last], or "auto". Default "auto".
        smoothing: Width,
        /// How long the change from the target before takes, seconds. Default 0.2.
        blend: f64,
    }

    /// How smoke is guided to its targets.
    pub struct Guide {
        /// The part of the velocity that is lost per second: a number, keyframes [[time, value], ...], or "auto". Default "auto".
        damping: Dial,
        /// A factor on the widths of smoothing of all targets. Default 1.
        softness: f64,
        /// From this time on, in seconds, the smoke is let go. Default: never.
        release: f64,
        /// How long that takes, seconds. Default 1.
        release_over: f64,
        /// How slopes are limited in transport. Default "mc".
        limiter: Limiter,
        /// How often a step projects, 1 or 2. Default 2.
        projections: u64,
    }
}

/// A figure that is not the one of a target. Its schema is a reference to that.
#[derive(Clone, Debug, PartialEq)]
pub struct Start(pub Box<Figure>);

impl Read for Start {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        Figure::read(node, reader).map(|figure| Start(Box::new(figure)))
    }
    fn schema() -> Json {
        json!({ "$ref": "#/properties/target/items/properties/figure" })
    }
}

/// A number, numbers over time, or what suits.
#[derive(Clone, Debug, PartialEq)]
pub enum Dial {
    /// What suits the smoke and its first target.
    Auto,
    /// The same at all times.
    Number(f64),
    /// Pairs of time and value.
    Keys(Vec<Spanned<Vec<Spanned<f64>>>>),
}

impl Read for Dial {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match &node.value {
            Value::Text(text) if text == "auto" => Some(Dial::Auto),
            Value::Float(_) | Value::Int(_) => f64::read(node, reader).map(Dial::Number),
            Value::List(items) if items.iter().all(|item| matches!(item.value, Value::List(_))) => {
                Vec::read(node, reader).map(Dial::Keys)
            }
            _ => reader.wrong(
                node,
                "a number, \"auto\" or a list of keyframes",
                "for example 3.0, or [[0.0, 3.0], [4.0, 0.0]]: pairs of time and value",
            ),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [{ "const": "auto" }, { "type": "number" }, Vec::<Vec<f64>>::schema()] })
    }
}

/// How wide something is smoothed.
#[derive(Clone, Debug, PartialEq)]
pub enum Width {
    /// What suits.
    Auto,
    /// The same at all times.
    Number(f64),
    /// At first and in the end.
    Pair(Vec<Spanned<f64>>),
}

impl Read for Width {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match &node.value {
            Value::Text(text) if text == "auto" => Some(Width::Auto),
            Value::Float(_) | Value::Int(_) => f64::read(node, reader).map(Width::Number),
            Value::List(_) => Vec::read(node, reader).map(Width::Pair),
            _ => reader.wrong(
                node,
                "a number, \"auto\" or [first, last]",
                "for example 0.04, or [0.12, 0.02]: wide at first, narrow in the end",
            ),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [{ "const": "auto" }, { "type": "number" }, Vec::<f64>::schema()] })
    }
}
