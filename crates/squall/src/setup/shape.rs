//! Shapes and their motion.

use squall_core::shape::{Path, TriangleMesh};

use crate::assets::Loaded;
pub use crate::scene::choices::{Interpolation, Up};
use crate::setup::Curve;

/// A region of space. All lengths in metres.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A ball (2D: a disc).
    Sphere {
        /// Its centre.
        center: Vec<f64>,
        /// Its radius.
        radius: f64,
    },
    /// A box along the axes.
    Box {
        /// Lower corner.
        min: Vec<f64>,
        /// Upper corner.
        max: Vec<f64>,
        /// Radius of edges and corners.
        rounding: f64,
    },
    /// All points near a line segment.
    Capsule {
        /// One end of the segment.
        from: Vec<f64>,
        /// The other end.
        to: Vec<f64>,
        /// How near.
        radius: f64,
    },
    /// A cylinder with flat ends (2D: a rectangle).
    Cylinder {
        /// Middle of one end.
        from: Vec<f64>,
        /// Middle of the other end.
        to: Vec<f64>,
        /// Its radius.
        radius: f64,
    },
    /// The side of a plane that the normal points away from.
    Plane {
        /// A point of the plane.
        point: Vec<f64>,
        /// Of any length but 0.
        normal: Vec<f64>,
    },
    /// What a closed outline goes around; 2D.
    Polygon(Vec<[f64; 2]>),
    /// A triangle mesh, or a sequence; 3D.
    Mesh(Mesh),
    /// What lies in any of the parts.
    Union(Vec<Shape>),
    /// What lies in all of the parts.
    Intersection(Vec<Shape>),
    /// The first without the second.
    Difference(Box<[Shape; 2]>),
    /// Everything outside.
    Inverse(Box<Shape>),
    /// The skin.
    Shell {
        /// Of what.
        shape: Box<Shape>,
        /// Half inside, half outside.
        thickness: f64,
    },
    /// Grown on all sides.
    Grown {
        /// What.
        shape: Box<Shape>,
        /// How far; negative shrinks.
        by: f64,
    },
}

/// A triangle mesh, or a sequence of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    /// The file as the scene names it.
    pub file: String,
    /// A fingerprint of what the files hold.
    pub fingerprint: u64,
    /// First and last frame of a sequence.
    pub frames: Option<[u64; 2]>,
    /// Meshes per second of a sequence or an animation.
    pub fps: f64,
    /// Whether a sequence or an animation begins again at its end.
    pub repeat: bool,
    /// Thickness if it is a sheet and not the surface of a solid.
    pub sheet: Option<f64>,
    /// Whether thin parts are made a cell and a half thick.
    pub thicken: bool,
    /// Which axis of the file points upwards. The meshes have y there.
    pub up: Up,
    /// The mesh, or those of all frames.
    pub meshes: Loaded<Vec<TriangleMesh>>,
}

/// How something moves as a rigid body: see [`squall_core::shape::Motion`].
#[derive(Clone, Debug, PartialEq)]
pub struct Motion {
    /// What stays in place while it turns and grows, in the coordinates of the shape.
    pub pivot: Vec<f64>,
    /// Size compared with the shape as it was built.
    pub scale: f64,
    /// Where it is at some times; empty: where it was built.
    pub keys: Vec<MotionKey>,
    /// What happens between keys.
    pub interpolation: Interpolation,
    /// Whether the keys are gone through again and again.
    pub repeat: bool,
    /// Constant velocity on top of the keys, m/s.
    pub velocity: Vec<f64>,
    /// Constant turning on top of the keys, degrees per second about x, y and z.
    pub spin: [f64; 3],
    /// How it is moved by hand, on top of everything.
    pub path: Option<Path>,
}

/// Where something is at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct MotionKey {
    /// Seconds.
    pub time: f64,
    /// How far it has been moved, metres.
    pub position: Vec<f64>,
    /// How far it has been turned about x, y and z, degrees.
    pub rotation: [f64; 3],
}

impl Motion {
    /// Stays where it was built.
    pub fn rest(d: usize) -> Self {
        Self {
            pivot: vec![0.0; d],
            scale: 1.0,
            keys: Vec::new(),
            interpolation: Interpolation::Smooth,
            repeat: false,
            velocity: vec![0.0; d],
            spin: [0.0; 3],
            path: None,
        }
    }

    /// Whether it changes anything at all, but for being moved by hand.
    pub fn is_rest(&self) -> bool {
        self.scale == 1.0 && self.keys.is_empty() && !self.drifts()
    }

    /// Whether anything ever changes with time.
    pub fn moves(&self) -> bool {
        self.drifts() || self.keys.windows(2).any(|k| k[0].position != k[1].position || k[0].rotation != k[1].rotation)
    }

    fn drifts(&self) -> bool {
        self.velocity.iter().chain(&self.spin).any(|v| *v != 0.0)
    }
}

/// A solid in the way of the fluid.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// What messages and sources call it.
    pub name: String,
    /// What it is.
    pub shape: Shape,
    /// How it moves.
    pub motion: Motion,
    /// Whether fluid flows around it.
    pub solid: bool,
    /// How much the fluid sticks to it, 0 to 1.
    pub friction: f64,
    /// Its temperature, if it heats or cools a liquid.
    pub temperature: Option<Curve>,
    /// sRGB.
    pub color: [u8; 3],
    /// 0 polished to 1 matt.
    pub roughness: f64,
    /// Whether light passes through it.
    pub glass: bool,
    /// 0 paint to 1 metal.
    pub metal: f64,
    /// Whether it is drawn.
    pub visible: bool,
}

impl Shape {
    /// Lower and upper corner; infinite where the shape is.
    pub fn extent(&self) -> (Vec<f64>, Vec<f64>) {
        let grown = |a: &[f64], b: &[f64], r: f64| {
            let lo = a.iter().zip(b).map(|(a, b)| a.min(*b) - r).collect();
            let hi = a.iter().zip(b).map(|(a, b)| a.max(*b) + r).collect();
            (lo, hi)
        };
        let endless = |d: usize| (vec![f64::NEG_INFINITY; d], vec![f64::INFINITY; d]);
        let both = |parts: &[Shape], pick: fn(f64, f64) -> f64, other: fn(f64, f64) -> f64| {
            let extents = parts.iter().map(Shape::extent);
            extents.reduce(|(lo, hi), (l, h)| {
                let lo = lo.iter().zip(&l).map(|(a, b)| pick(*a, *b)).collect();
                (lo, hi.iter().zip(&h).map(|(a, b)| other(*a, *b)).collect())
            })
        };
        match self {
            Shape::Sphere { center, radius } => grown(center, center, *radius),
            Shape::Box { min, max, .. } => grown(min, max, 0.0),
            Shape::Capsule { from, to, radius } | Shape::Cylinder { from, to, radius } => grown(from, to, *radius),
            Shape::Plane { point, .. } => endless(point.len()),
            Shape::Polygon(points) => {
                let [lo, hi] = [f64::min, f64::max].map(|pick: fn(f64, f64) -> f64| {
                    points.iter().copied().reduce(|a, b| [pick(a[0], b[0]), pick(a[1], b[1])]).unwrap_or_default()
                });
                (lo.to_vec(), hi.to_vec())
            }
            Shape::Mesh(mesh) => {
                let boxes = mesh.meshes.iter().map(TriangleMesh::bounds);
                let around = boxes.reduce(|(lo, hi), (l, h)| {
                    (std::array::from_fn(|a| lo[a].min(l[a])), std::array::from_fn(|a| hi[a].max(h[a])))
                });
                let (lo, hi) = around.unwrap_or_default();
                grown(&lo, &hi, 0.5 * mesh.sheet.unwrap_or(0.0))
            }
            Shape::Union(parts) => both(parts, f64::min, f64::max).unwrap_or_default(),
            Shape::Intersection(parts) => both(parts, f64::max, f64::min).unwrap_or_default(),
            Shape::Difference(parts) => parts[0].extent(),
            Shape::Inverse(shape) => endless(shape.extent().0.len()),
            Shape::Shell { shape, thickness } => {
                let (lo, hi) = shape.extent();
                grown(&lo, &hi, 0.5 * thickness)
            }
            Shape::Grown { shape, by } => {
                let (lo, hi) = shape.extent();
                grown(&lo, &hi, *by)
            }
        }
    }

    /// Whether a mesh is part of it.
    pub fn has_mesh(&self) -> bool {
        !self.meshes().is_empty()
    }

    /// All meshes in it.
    pub fn meshes(&self) -> Vec<&Mesh> {
        match self {
            Shape::Mesh(mesh) => vec![mesh],
            Shape::Union(parts) | Shape::Intersection(parts) => parts.iter().flat_map(Shape::meshes).collect(),
            Shape::Difference(parts) => parts.iter().flat_map(Shape::meshes).collect(),
            Shape::Inverse(shape) | Shape::Shell { shape, .. } | Shape::Grown { shape, .. } => shape.meshes(),
            _ => Vec::new(),
        }
    }
}
