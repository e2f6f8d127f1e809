//! Triangle meshes as shapes.
//!
//! Meshes from files have holes, pass through themselves and look the wrong way. What is inside is decided by the winding
//! number: a point is inside where the mesh winds around it more than half a time. Small holes are closed by a smooth
//! membrane, overlapping parts are one solid. A mesh that looks inwards as a whole is turned.
//!
//! | module | what it holds |
//! |---|---|
//! | [`samples`] | meshes to play with: torus, knot, star, propeller |
//! | `triangle`, `distant`, `tree`, `solid` (private) | nearest points, winding numbers, exact distances |

mod distant;
pub mod samples;
mod sequence;
mod solid;
#[cfg(test)]
mod tests;
mod tree;
mod triangle;

use super::Shape;
use super::baked::{BAND, BakeError, Baked};
use super::vector::box_around;
pub use sequence::{MeshSequence, SequenceError};
use solid::Solid;

/// A surface of triangles. Seen from outside, corners go round counter-clockwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TriangleMesh {
    /// Corners, in metres.
    pub vertices: Vec<[f64; 3]>,
    /// Three corners each.
    pub triangles: Vec<[u32; 3]>,
}

/// Why a mesh makes no shape.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MeshError {
    /// There is nothing.
    #[error("the mesh has no triangles")]
    Empty,
    /// A coordinate is infinite or not a number.
    #[error("vertex {vertex} of the mesh is not at a finite position")]
    NotFinite {
        /// Number of the vertex, from 0.
        vertex: usize,
    },
    /// A triangle refers to a vertex that does not exist.
    #[error("triangle {triangle} of the mesh uses vertex {vertex}, but there are only {count}")]
    Index {
        /// Number of the triangle, from 0.
        triangle: usize,
        /// What it refers to.
        vertex: u32,
        /// Number of vertices.
        count: usize,
    },
    /// The resolution is not a positive number.
    #[error("a mesh cannot be sampled every {resolution} m: give a positive number")]
    Resolution {
        /// What was given.
        resolution: f64,
    },
    /// Triangles on top of each other, or long thin ones that cross.
    #[error(
        "its triangles overlap: {near} of them are as near as any other to a point beside the mesh, where {most} may be; \
         remove duplicates, or remesh it"
    )]
    Dense {
        /// How many, on average.
        near: usize,
        /// How many may be.
        most: usize,
    },
    /// Too fine.
    #[error(transparent)]
    Bake(#[from] BakeError),
}

impl TriangleMesh {
    /// The corners of a triangle.
    pub fn corners(&self, triangle: usize) -> [[f64; 3]; 3] {
        self.triangles[triangle].map(|vertex| self.vertices[vertex as usize])
    }

    /// The box around the triangles: lower and upper corner. Vertices without triangles do not count.
    pub fn bounds(&self) -> ([f64; 3], [f64; 3]) {
        box_around((0..self.triangles.len()).flat_map(|i| self.corners(i)))
    }

    /// Whether the mesh can be used at all.
    pub fn check(&self) -> Result<(), MeshError> {
        if self.triangles.is_empty() {
            return Err(MeshError::Empty);
        }
        if let Some(vertex) = self.vertices.iter().position(|v| !v.iter().all(|x| x.is_finite())) {
            return Err(MeshError::NotFinite { vertex });
        }
        let count = self.vertices.len();
        for (triangle, corners) in self.triangles.iter().enumerate() {
            if let Some(&vertex) = corners.iter().find(|&&v| v as usize >= count) {
                return Err(MeshError::Index { triangle, vertex, count });
            }
        }
        Ok(())
    }
}

/// How a mesh becomes a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeshOptions {
    /// How far from the surface distances are exact, in cells: 4 or more.
    pub band: f64,
    /// Makes parts that are thinner than 1.5 cells that thick: on a grid they would vanish.
    pub thicken: bool,
    /// The mesh is a sheet of this thickness, in metres, not the surface of a solid: cloth, a leaf, a bowl.
    pub sheet: Option<f64>,
}

impl Default for MeshOptions {
    fn default() -> Self {
        MeshOptions { band: BAND, thicken: false, sheet: None }
    }
}

/// What is worth knowing about a mesh that became a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeshReport {
    /// Whether the mesh has no holes.
    pub closed: bool,
    /// Whether it looked inwards and was turned.
    pub flipped: bool,
    /// Share of the surface, from 0 to 1, behind which the solid is thinner than 1.5 cells.
    pub thin_share: f64,
    /// Whether parts are so thin that a grid of the given resolution loses them: more than 1 % of the surface. The
    /// option `thicken` helps. Never of a sheet.
    pub thin: bool,
    /// Memory held, in bytes.
    pub bytes: usize,
}

/// A mesh at rest, as distances on a grid.
///
/// Within the band, distances are linear between exact values at nodes a `resolution` apart: right to a tenth of that
/// where the surface is smooth, to half of it at edges and corners. Beyond: a lower bound.
#[derive(Clone, Debug)]
pub struct MeshShape {
    baked: Baked<3>,
    report: MeshReport,
}

impl MeshShape {
    /// Samples a solid mesh every `resolution` metres: the cell size of the simulation is a good choice.
    pub fn new(mesh: &TriangleMesh, resolution: f64) -> Result<Self, MeshError> {
        Self::with_options(mesh, resolution, MeshOptions::default())
    }

    /// [`new`](Self::new), with a choice.
    pub fn with_options(mesh: &TriangleMesh, resolution: f64, options: MeshOptions) -> Result<Self, MeshError> {
        let solid = Solid::new(mesh, resolution, options)?;
        let thin_share = if options.sheet.is_some() { 0.0 } else { solid.thin_share() };
        let baked = solid.bake(false)?;
        let report = MeshReport {
            closed: solid.is_closed(),
            flipped: solid.is_flipped(),
            thin_share,
            thin: thin_share > 0.01,
            bytes: baked.bytes(),
        };
        Ok(MeshShape { baked, report })
    }

    /// What was found out about the mesh.
    pub fn report(&self) -> MeshReport {
        self.report
    }
}

impl Shape<3> for MeshShape {
    fn distance(&self, x: [f64; 3], t: f64) -> f64 {
        self.baked.distance(x, t)
    }

    fn velocity(&self, _: [f64; 3], _: f64) -> [f64; 3] {
        [0.0; 3]
    }

    fn bounds(&self, t: f64) -> Option<([f64; 3], [f64; 3])> {
        self.baked.bounds(t)
    }

    fn moves(&self) -> bool {
        false
    }
}
