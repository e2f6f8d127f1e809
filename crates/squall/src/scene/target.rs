//! Figures, targets, and how smoke is driven to them.

use serde_json::{Value as Json, json};

use super::Vector;
use super::choices::{Channel, Fit, FlatAxis, Limiter, Up};
use super::key::Range::{Above, AtLeast, Within};
use super::kind::{Kind, NumberOrText, OneOrMany, Reader};
use super::shapes::{Motion, Part};
use super::table::table;
use super::tree::{Node, Value};
use super::write::Writer;
use crate::diagnostic::{Span, Spanned};
use crate::setup::Resolver;

table! {
    /// A figure that smoke can form: exactly one of image, text, images, film, mesh, vdb, shape and formula.
    pub struct Figure {
        /// A picture or a drawing: a PNG, JPEG, WebP, GIF, BMP, TIFF or SVG file.
        image: String [] (none ""),
        /// Text; `\\n` begins a new line.
        text: String [] (none ""),
        /// Numbered pictures: `"frame_####.png"`.
        images: String [] (none ""),
        /// An animated GIF, PNG or WebP file.
        film: String [] (none ""),
        /// A triangle mesh (OBJ, PLY, STL, glTF; the first frame of an animation), scaled to fit; 3D only.
        mesh: String [] (none ""),
        /// An OpenVDB file, scaled to fit; 3D only.
        vdb: String [] (none ""),
        /// A shape, in the coordinates of the box.
        shape: Part [] (none ""),
        /// Density as an expression of position (`x`, `y`, `z`), time (`t`) and noise.
        formula: NumberOrText [] (none ""),
        /// Font of a text: a TTF or OTF file.
        font: String [] (none "Noto Sans Bold"),
        /// First and last number of `images`.
        frames: Vec<Spanned<u64>> [] (none ""),
        /// Pictures per second of `images`.
        fps: f64 ["1/s", Within(0.001, 10_000.0)] (none "`time.fps`"),
        /// Time of the first picture of `images` or `film`.
        from: f64 ["s"] (none "0"),
        /// Repeat `images` or `film`.
        r#loop: bool [] (none "false"),
        /// Name of the grid in a `vdb` file.
        grid: String [] (none "density, else the first one"),
        /// Up axis of a `mesh` or `vdb` file: `"z"` for Blender's PLY, STL and VDB files.
        up: Up [] (none "`\"y\"`"),
        /// What counts as drawn in a picture.
        channel: Channel [] (none "`\"auto\"`"),
        /// Use what is not drawn instead.
        invert: bool [] (none "false"),
        /// How a picture or text is scaled: the largest size that fits the frame, the smallest size that covers it, or stretched to it.
        fit: Fit [] (none "`\"contain\"`"),
        /// Empty border, as a fraction of the shorter side of the box.
        margin: f64 [Within(0.0, 0.45)] (none "0.1"),
        /// Centre of the frame.
        center: Vector ["m"] (none "the middle of the box"),
        /// Width and height of the frame; three lengths for a mesh or a volume.
        size: Vec<Spanned<f64>> ["m"] (none "the box without its margin"),
        /// Counter-clockwise; for a mesh (before it is fitted into its frame) or a shape in 3D about x, y and z.
        rotation: OneOrMany<Spanned<f64>> ["degrees"] (none "0"),
        /// Thickness of a picture or text in 3D.
        thickness: f64 ["m", Above(0.0)] (none "1/8 of the shortest side"),
        /// Axis perpendicular to a picture or text in 3D: seen from the right, from above, or from the front.
        normal: FlatAxis [] (none "`\"z\"`"),
        /// Translation of a shape.
        position: Vector ["m"] (none "0"),
        /// Scale factor of a shape.
        scale: f64 [Above(0.0)] (none "1"),
        /// Centre of rotation and scaling of a shape.
        pivot: Vector ["m"] (none "its middle"),
        /// Motion of a shape.
        motion: Motion [] (none "none"),
    }

    /// A figure that smoke is driven to, and when.
    pub struct Target {
        /// The substance to drive.
        substance: String [] (none "the only one"),
        /// Time at which the figure should be reached, later than that of the target before; then the next target begins.
        time: f64 ["s", Above(0.0)] (required "4.0"),
        /// The figure.
        figure: Figure [] (required "{ text = \"Hello\" }"),
        /// Multiplier of the smoke's `drive`.
        strength: f64 [AtLeast(0.0)] (1.0),
        /// Width of the smoothing of smoke and target: a number, `[first, last]`, or `"auto"`; wide attracts from a distance, narrow forms details.
        smoothing: Width ["m", AtLeast(0.0)] (none "`\"auto\"`"),
        /// Duration of the transition from the target before.
        blend: f64 ["s", AtLeast(0.0)] (0.2),
    }

    /// How smoke is driven to its targets.
    pub struct Guide {
        /// Rate of velocity damping, which lets the smoke settle.
        damping: Dial ["1/s", AtLeast(0.0)] (none "`\"auto\"`"),
        /// Factor on all smoothing widths: above 1 is softer and acts from further away, below 1 is finer.
        softness: f64 [Above(0.0)] (1.0),
        /// Time from which drive, damping and gathering fade out, leaving free smoke.
        release: f64 ["s", AtLeast(0.0)] (none "never"),
        /// Duration of the release.
        release_over: f64 ["s", Above(0.0)] (none "1"),
        /// Slope limiter of the advection scheme.
        limiter: Limiter [] (Limiter::Mc),
        /// Pressure solves per time step; 1 is faster, 2 meets targets better.
        projections: u32 [Within(1.0, 2.0)] (2),
    }
}

/// A figure that is not the one of a target. Its schema is a reference to that.
#[derive(Clone, Debug, PartialEq)]
pub struct Start(pub Box<Figure>);

impl Kind for Start {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        Figure::read(node, reader).map(|figure| Start(Box::new(figure)))
    }
    fn schema() -> Json {
        json!({ "$ref": "#/properties/target/items/properties/figure" })
    }
    fn kind() -> String {
        "figure".to_owned()
    }
    fn write(&self, writer: &Writer) -> String {
        self.0.write(writer)
    }
    fn complete(&mut self, span: Span, path: &str, resolver: &mut Resolver<'_>) {
        self.0.complete(span, path, resolver);
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

impl Kind for Dial {
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
    fn kind() -> String {
        "number or keyframes".to_owned()
    }
    fn write(&self, writer: &Writer) -> String {
        match self {
            Dial::Auto => "\"auto\"".to_owned(),
            Dial::Number(value) => value.write(writer),
            Dial::Keys(keys) => keys.write(writer),
        }
    }
    fn numbers(&self, span: Span, visit: &mut dyn FnMut(f64, Span)) {
        match self {
            Dial::Auto => {}
            Dial::Number(value) => visit(*value, span),
            Dial::Keys(keys) => {
                keys.iter().filter_map(|key| key.get(1)).for_each(|value| visit(value.value, value.span))
            }
        }
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

impl Kind for Width {
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
    fn kind() -> String {
        "number, or two".to_owned()
    }
    fn write(&self, writer: &Writer) -> String {
        match self {
            Width::Auto => "\"auto\"".to_owned(),
            Width::Number(value) => value.write(writer),
            Width::Pair(pair) => pair.write(writer),
        }
    }
    fn numbers(&self, span: Span, visit: &mut dyn FnMut(f64, Span)) {
        match self {
            Width::Auto => {}
            Width::Number(value) => visit(*value, span),
            Width::Pair(pair) => pair.numbers(span, visit),
        }
    }
}
