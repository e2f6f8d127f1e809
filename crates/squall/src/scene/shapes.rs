//! Where things are and how they move: the vocabulary that sources and objects share.

use serde_json::{Value as Json, json};

use super::choices::{Interpolation, Up};
use super::read::{OneOrMany, Read, Reader, plain_key, read_keys, table};
use super::tree::{Node, Value};
use crate::diagnostic::Spanned;

table! {
    /// A region of space: exactly one of these.
    pub struct Shape {
        /// A ball; in 2D a disc.
        sphere: Sphere,
        /// A box along the axes.
        r#box: Block,
        /// All points near a line segment.
        capsule: Capsule,
        /// A cylinder with flat ends; in 2D a rectangle.
        cylinder: Cylinder,
        /// Everything on one side of a plane; in 2D of a line.
        plane: Plane,
        /// What a closed outline goes around: a list of points; 2D only.
        polygon: Vec<Spanned<Vec<Spanned<f64>>>>,
        /// A triangle mesh: a file, or a table with more; 3D only.
        mesh: MeshFile,
        /// What lies in any of several shapes.
        union: Vec<Spanned<Part>>,
        /// What lies in all of several shapes.
        intersection: Vec<Spanned<Part>>,
        /// One shape without another.
        difference: Difference,
        /// Everything outside of a shape.
        inverse: Part,
        /// The skin of a shape.
        shell: Shell,
        /// A shape grown on all sides.
        grown: Grown,
    }

    /// A ball; in 2D a disc.
    pub struct Sphere {
        /// Its centre, metres. Required.
        center: Vec<Spanned<f64>>,
        /// Its radius, metres. Required.
        radius: f64,
    }

    /// A box along the axes.
    pub struct Block {
        /// Lower corner, metres. Required.
        min: Vec<Spanned<f64>>,
        /// Upper corner, metres. Required.
        max: Vec<Spanned<f64>>,
        /// Radius of its edges and corners, metres. Default 0.
        rounding: f64,
    }

    /// All points near a line segment.
    pub struct Capsule {
        /// One end of the segment, metres. Required.
        from: Vec<Spanned<f64>>,
        /// The other end, metres. Required.
        to: Vec<Spanned<f64>>,
        /// How near, metres. Required.
        radius: f64,
    }

    /// A cylinder with flat ends; in 2D a rectangle.
    pub struct Cylinder {
        /// Middle of one end, metres. Required.
        from: Vec<Spanned<f64>>,
        /// Middle of the other end, metres. Required.
        to: Vec<Spanned<f64>>,
        /// Its radius, metres. Required.
        radius: f64,
    }

    /// Everything on one side of a plane; in 2D of a line.
    pub struct Plane {
        /// A point of the plane, metres. Required.
        point: Vec<Spanned<f64>>,
        /// Points out of the solid side; any length. Required.
        normal: Vec<Spanned<f64>>,
    }

    /// A triangle mesh, or a sequence of them.
    pub struct Mesh {
        /// An OBJ, PLY, STL or glTF file in the folder of the scene; `{frame}` in its name stands for the number of a frame, with four digits. Required.
        file: String,
        /// First and last frame of a sequence.
        frames: Vec<Spanned<u64>>,
        /// Meshes per second of a sequence or an animation. Default: time.fps.
        fps: f64,
        /// Whether a sequence or an animation begins again at its end. Default false.
        r#loop: bool,
        /// The mesh is a sheet of this thickness in metres, not the surface of a solid.
        sheet: f64,
        /// Makes parts that are thinner than a cell and a half that thick. Default false.
        thicken: bool,
        /// Which axis of the file points upwards: "y", or "z" as in PLY and STL files of Blender. Default "y".
        up: Up,
    }

    /// One shape without another.
    pub struct Difference {
        /// The whole. Required.
        from: Part,
        /// What is taken away. Required.
        cut: Part,
    }

    /// The skin of a shape.
    pub struct Shell {
        /// The shape. Required.
        shape: Part,
        /// How thick, metres: half of it inside, half outside. Required.
        thickness: f64,
    }

    /// A shape grown on all sides, with round corners.
    pub struct Grown {
        /// The shape. Required.
        shape: Part,
        /// How far, metres; negative shrinks it. Required.
        by: f64,
    }

    /// How something moves.
    pub struct Motion {
        /// Where it is at some times.
        keys: Vec<Spanned<MotionKey>>,
        /// How it moves between keys. Default "smooth".
        interpolation: Interpolation,
        /// Whether the keys are gone through again and again. Default false.
        r#loop: bool,
        /// Constant velocity, m/s, on top of the keys.
        velocity: Vec<Spanned<f64>>,
        /// Constant turning about x, y and z in degrees per second (2D: one number), on top of the keys.
        spin: OneOrMany<Spanned<f64>>,
    }

    /// Where something is at one time.
    pub struct MotionKey {
        /// Seconds. Required.
        time: f64,
        /// How far it has been moved, metres. Default: `position`.
        position: Vec<Spanned<f64>>,
        /// How far it has been turned about x, y and z, degrees (2D: one number). Default: `rotation`.
        rotation: OneOrMany<Spanned<f64>>,
    }

    /// A solid in the way of the fluid.
    pub struct Object {
        /// What messages and sources call it. Required.
        name: String,
        /// What it is. Required.
        shape: Shape,
        /// How far the shape is moved from where it was built, metres. Default 0.
        position: Vec<Spanned<f64>>,
        /// How far it is turned about x, y and z, degrees, in this order (2D: one number). Default 0.
        rotation: OneOrMany<Spanned<f64>>,
        /// How many times larger it is than it was built. Default 1.
        scale: f64,
        /// The point of the shape about which it turns and grows. Default: the middle of the shape; the origin of a mesh.
        pivot: Vec<Spanned<f64>>,
        /// How it moves. Default: not at all.
        motion: Motion,
        /// Whether fluid flows around it; if not it is only drawn. Default true.
        solid: bool,
        /// How much the fluid sticks to it: 0 slides along freely, 1 moves with the surface. Default 0.
        friction: f64,
        /// Colour "#rrggbb". Default "#bcbcbc".
        color: String,
        /// 0 polished to 1 matt; 3D only. Default 0.45.
        roughness: f64,
        /// Whether it is drawn. Default true.
        visible: bool,
    }
}

/// A shape inside another one. Its schema is a reference: shapes hold shapes without end.
#[derive(Clone, Debug, PartialEq)]
pub struct Part(pub Box<Shape>);

impl Read for Part {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        Shape::read(node, reader).map(|shape| Part(Box::new(shape)))
    }
    fn schema() -> Json {
        json!({ "$ref": "#/properties/object/items/properties/shape" })
    }
}

/// The name of a mesh file, or a table.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshFile(pub Mesh);

impl Read for MeshFile {
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
}
