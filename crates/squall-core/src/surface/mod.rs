//! The surface of a liquid as others see it: a field of distances finer than the grid, and meshes.

/// A mesh of triangles at one moment, for files and other programs.
///
/// Lists of values hold one for each vertex, or nothing where they are not known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SurfaceMesh {
    /// Places of vertices, in metres; y points up.
    pub positions: Vec<[f32; 3]>,
    /// Three vertices each, counter-clockwise as seen from outside.
    pub triangles: Vec<[u32; 3]>,
    /// Directions away from the liquid, of length 1.
    pub normals: Vec<[f32; 3]>,
    /// In metres per second.
    pub velocities: Vec<[f32; 3]>,
    /// Whatever else is known of each vertex, by name.
    pub attributes: Vec<(String, Vec<f32>)>,
}

/// Closed lines around a liquid in 2D: outer ones counter-clockwise, holes clockwise. In metres; y points up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outline {
    /// The corners of each; the last is joined to the first.
    pub loops: Vec<Vec<[f32; 2]>>,
}
