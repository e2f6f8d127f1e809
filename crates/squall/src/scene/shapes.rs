//! Shapes and motion, shared by sources and objects.

use serde_json::{Value as Json, json};

use super::choices::{Interpolation, Up};
use super::key::Matters::Look;
use super::key::Range::{Above, AtLeast, Within};
use super::kind::{Kind, Reader};
use super::table::table;
use super::tree::{Node, Value};
use super::write::Writer;
use super::{Angles, Animated, AnimatedAngles, AnimatedVector, Color, Vector};
use crate::diagnostic::{Span, Spanned};
use crate::setup::Resolver;

table! {
    /// A region of space: exactly one of these.
    pub struct Shape {
        /// A ball; in 2D a disc.
        sphere: Sphere [] (none ""),
        /// A box along the axes.
        r#box: Block [] (none ""),
        /// All points within a distance of a line segment.
        capsule: Capsule [] (none ""),
        /// A cylinder with flat ends; in 2D a rectangle.
        cylinder: Cylinder [] (none ""),
        /// Everything on one side of a plane; in 2D of a line.
        plane: Plane [] (none ""),
        /// The inside of a closed outline: a list of points `[[x, y], ...]`; 2D only.
        polygon: Vec<Spanned<Vec<Spanned<f64>>>> ["m"] (none ""),
        /// A triangle mesh: a file name, or a table; 3D only.
        mesh: MeshFile [] (none ""),
        /// Union of several shapes.
        union: Vec<Spanned<Part>> [] (none ""),
        /// Intersection of several shapes.
        intersection: Vec<Spanned<Part>> [] (none ""),
        /// One shape without another.
        difference: Difference [] (none ""),
        /// Everything outside of a shape.
        inverse: Part [] (none ""),
        /// The surface of a shape, with a thickness.
        shell: Shell [] (none ""),
        /// A shape grown on all sides.
        grown: Grown [] (none ""),
    }

    /// A ball; in 2D a disc.
    pub struct Sphere {
        /// Its centre.
        center: Vector ["m"] (required "[0.5, 0.1]"),
        /// Its radius.
        radius: f64 ["m", Above(0.0)] (required "0.05"),
    }

    /// A box along the axes.
    pub struct Block {
        /// Lower corner.
        min: Vector ["m"] (required "[0.4, 0.0]"),
        /// Upper corner.
        max: Vector ["m"] (required "[0.6, 0.1]"),
        /// Radius of its edges and corners.
        rounding: f64 ["m", AtLeast(0.0)] (0.0),
    }

    /// All points within a distance of a line segment.
    pub struct Capsule {
        /// One end of the segment.
        from: Vector ["m"] (required "[0.2, 0.1]"),
        /// The other end.
        to: Vector ["m"] (required "[0.8, 0.1]"),
        /// That distance.
        radius: f64 ["m", Above(0.0)] (required "0.05"),
    }

    /// A cylinder with flat ends; in 2D a rectangle.
    pub struct Cylinder {
        /// Middle of one end.
        from: Vector ["m"] (required "[0.2, 0.1]"),
        /// Middle of the other end.
        to: Vector ["m"] (required "[0.8, 0.1]"),
        /// Its radius.
        radius: f64 ["m", Above(0.0)] (required "0.05"),
    }

    /// Everything on one side of a plane; in 2D of a line.
    pub struct Plane {
        /// A point of the plane.
        point: Vector ["m"] (required "[0.0, 0.0]"),
        /// Outward normal; any length.
        normal: Vector [] (required "[0.0, 1.0]"),
    }

    /// A triangle mesh, or a sequence of them.
    pub struct Mesh {
        /// An OBJ, PLY, STL or glTF file in the folder of the scene; `####` in its name stands for the frame number. Animated glTF files move (node translation, rotation and scale; no bones, no morph targets).
        file: String [] (required "\"horse.ply\""),
        /// First and last frame of a sequence.
        frames: Vec<Spanned<u64>> [] (none ""),
        /// Meshes per second of a sequence or an animation.
        fps: f64 ["1/s", Within(0.001, 10_000.0)] (|r| r.fps; "`time.fps`"),
        /// Repeat a sequence or an animation.
        r#loop: bool [] (false),
        /// Treat the mesh as a sheet of this thickness instead of the surface of a solid.
        sheet: f64 ["m", Above(0.0)] (none "a solid"),
        /// Thicken parts that are thinner than 1.5 cells to that thickness.
        thicken: bool [] (false),
        /// Up axis of the file: `"z"` for Blender's PLY and STL files (its OBJ and glTF files have y up).
        up: Up [] (Up::Y),
    }

    /// One shape without another.
    pub struct Difference {
        /// The shape to cut from.
        from: Part [] (required "{ sphere = { ... } }"),
        /// The shape to cut away.
        cut: Part [] (required "{ sphere = { ... } }"),
    }

    /// The surface of a shape, with a thickness.
    pub struct Shell {
        /// The shape.
        shape: Part [] (required "{ sphere = { ... } }"),
        /// Thickness, half of it inside, half outside.
        thickness: f64 ["m", Above(0.0)] (required "0.02"),
    }

    /// A shape grown on all sides, with round corners.
    pub struct Grown {
        /// The shape.
        shape: Part [] (required "{ sphere = { ... } }"),
        /// Distance; negative shrinks it.
        by: f64 ["m"] (required "0.02"),
    }

    /// Motion of an object, source or figure.
    pub struct Motion {
        /// Keyframes: each with `time`, `position` and `rotation`.
        keys: Vec<Spanned<MotionKey>> [] (none "none"),
        /// Interpolation between keyframes.
        interpolation: Interpolation [] (Interpolation::Smooth),
        /// Repeat the keyframes.
        r#loop: bool [] (false),
        /// Constant velocity, on top of the keyframes.
        velocity: Vector ["m/s"] (|r| r.zeros(); "0"),
        /// Constant angular velocity about x, y and z (2D: one number), on top of the keyframes.
        spin: Angles ["degrees/s"] (Angles::default()),
    }

    /// A keyframe of a motion.
    pub struct MotionKey {
        /// When.
        time: f64 ["s"] (required "1.0"),
        /// Translation.
        position: Vector ["m"] (none "`position`"),
        /// Rotation about x, y and z (2D: one number).
        rotation: Angles ["degrees"] (none "`rotation`"),
    }

    /// An obstacle.
    pub struct Object {
        /// Its name, for messages and for `follow`.
        name: String [] (required "\"ball\""),
        /// Its shape; see the shapes of sources.
        shape: Shape [] (required "{ sphere = { center = [0.5, 0.5], radius = 0.1 } }"),
        /// Translation of the shape; for a mesh, the position of its origin.
        position: AnimatedVector ["m"] (|r| r.still(); "0"),
        /// Rotation about x, then y, then z.
        rotation: AnimatedAngles ["degrees"] (|r| r.no_turn(); "0"),
        /// Scale factor.
        scale: f64 [Above(0.0)] (1.0),
        /// Centre of rotation and scaling.
        pivot: Vector ["m"] (none "the middle of the shape; the origin of a mesh"),
        /// Its motion.
        motion: Motion [] (none "none"),
        /// Whether it is an obstacle; if false it is only drawn.
        solid: bool [] (true),
        /// How much the fluid sticks to it: 0 is free slip, 1 no slip.
        friction: f64 [Within(0.0, 1.0)] (0.0),
        /// Its temperature, for liquids: it heats or cools liquid in contact, at the rate given by the diffusion of `temperature`.
        temperature: Animated [] (none "insulating"),
        /// Its colour.
        color: Color [Look] (Color::hex(0xbcbcbc)),
        /// Surface roughness, 0 (mirror) to 1 (matt); 3D only.
        roughness: f64 [Within(0.0, 1.0), Look] (0.45),
        /// Glass, in 3D: reflects and refracts; `color` is that of white light after a length equal to its longest side. Smoke behind it is not visible.
        glass: bool [Look] (false),
        /// 0 (paint, stone) to 1 (metal, which only reflects); 3D only.
        metal: f64 [Within(0.0, 1.0), Look] (0.0),
        /// Whether it is drawn.
        visible: bool [Look] (true),
    }
}

/// A shape inside another one. Its schema is a reference: shapes hold shapes without end.
#[derive(Clone, Debug, PartialEq)]
pub struct Part(pub Box<Shape>);

impl Kind for Part {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        Shape::read(node, reader).map(|shape| Part(Box::new(shape)))
    }
    fn schema() -> Json {
        json!({ "$ref": "#/properties/object/items/properties/shape" })
    }
    fn kind() -> String {
        "shape".to_owned()
    }
    fn write(&self, writer: &Writer) -> String {
        self.0.write(writer)
    }
    fn complete(&mut self, span: Span, path: &str, resolver: &mut Resolver<'_>) {
        self.0.complete(span, path, resolver);
    }
}

/// The name of a mesh file, or a table.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshFile(pub Mesh);

impl Kind for MeshFile {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match &node.value {
            Value::Text(_) => {
                let file = Spanned::read(node, reader)?;
                Some(MeshFile(Mesh { file: Some(file), ..Mesh::default() }))
            }
            Value::Table(_) => Mesh::read(node, reader).map(MeshFile),
            _ => reader.wrong(node, "a mesh", "for example \"horse.ply\", or { file = \"horse.ply\", thicken = true }"),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [{ "type": "string" }, Mesh::schema()] })
    }
    fn kind() -> String {
        "file name, or a table".to_owned()
    }
    fn write(&self, writer: &Writer) -> String {
        self.0.write(writer)
    }
    fn complete(&mut self, span: Span, path: &str, resolver: &mut Resolver<'_>) {
        self.0.complete(span, path, resolver);
    }
}
