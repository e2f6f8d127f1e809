//! The surface of a liquid as others see it: a field of distances finer than the grid, and meshes.
//!
//! | file | what it holds |
//! |---|---|
//! | `points` | particles, but for those that are deep inside |
//! | `bins`, `blocks` | points found by where they are |
//! | `distance` | distances around particles (Zhu & Bridson 2005), smoothed, cut off at walls |
//! | `refine` | distances from those that a level set has on the grid |
//! | `contour`, `outline` | the closed mesh where they are zero; in 2D closed lines |
//! | `carried` | velocities and whatever particles carry, at vertices |

mod bins;
mod blocks;
mod carried;
mod contour;
mod distance;
mod outline;
mod points;
mod refine;

pub use contour::contour;
pub use distance::{FINEST, Fineness, Room, touch_solids};
pub use outline::outline;
pub use points::Points;
pub use refine::refined;

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
    /// Red, green and blue of the liquid, from 0 to 1 in linear light.
    pub colors: Vec<[f32; 3]>,
    /// Whatever else is known of each vertex, by name.
    pub attributes: Vec<(String, Vec<f32>)>,
}

/// Closed lines around a liquid in 2D: outer ones counter-clockwise, holes clockwise. In metres; y points up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outline {
    /// The corners of each; the last is joined to the first.
    pub loops: Vec<Vec<[f32; 2]>>,
}

impl SurfaceMesh {
    /// Area in square metres, and the volume inside in cubic metres.
    pub fn area_and_volume(&self) -> [f64; 2] {
        let (mut area, mut volume) = (0.0, 0.0);
        for triangle in &self.triangles {
            let [p, q, r] = triangle.map(|v| self.positions[v as usize].map(f64::from));
            let (u, v): ([f64; 3], [f64; 3]) =
                (std::array::from_fn(|a| q[a] - p[a]), std::array::from_fn(|a| r[a] - p[a]));
            let across = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
            area += 0.5 * across.iter().map(|x| x * x).sum::<f64>().sqrt();
            volume += (0..3).map(|a| p[a] * across[a]).sum::<f64>() / 6.0;
        }
        [area, volume]
    }
}

impl Outline {
    /// The area inside, in square metres.
    pub fn area(&self) -> f64 {
        let cross = |p: [f32; 2], q: [f32; 2]| f64::from(p[0]) * f64::from(q[1]) - f64::from(q[0]) * f64::from(p[1]);
        let of = |corners: &Vec<[f32; 2]>| -> f64 {
            (0..corners.len()).map(|i| cross(corners[i], corners[(i + 1) % corners.len()])).sum()
        };
        0.5 * self.loops.iter().map(of).sum::<f64>()
    }
}
