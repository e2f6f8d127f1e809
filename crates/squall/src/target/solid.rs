//! Shapes and meshes.

use super::{Place, TargetError};
use squall_core::shape::{MeshReport, MeshShape, TriangleMesh};
use squall_core::{At, Grid, Shape};

/// How much of each cell a shape fills at time `t`: clamp(1/2 - distance / cell size, 0, 1), which is exact for a plane
/// along the cells. Prepare a shape whose distance is dear.
pub fn shape_density<const D: usize>(shape: &dyn Shape<D>, t: f64, grid: &Grid<D>) -> Vec<f32> {
    let h = grid.min_spacing();
    let mut density = Vec::with_capacity(grid.cell_count());
    let mut index = [0_isize; D];
    for _ in 0..grid.cell_count() {
        let phi = shape.distance(grid.position(At::Center, index), t);
        density.push((0.5 - phi / h).clamp(0.0, 1.0) as f32);
        // The next cell: x fastest.
        for a in 0..D {
            index[a] += 1;
            if index[a] < grid.cells[a] as isize {
                break;
            }
            index[a] = 0;
        }
    }
    density
}

/// How much of each cell a mesh fills, and what is worth knowing about the mesh.
pub fn mesh_density(mesh: &TriangleMesh, grid: &Grid<3>, place: &Place) -> Result<(Vec<f32>, MeshReport), TargetError> {
    mesh.check()?;
    let (low, high) = mesh.bounds();
    let fitting = place.fitting(low, high, grid)?;
    let vertices = mesh.vertices.iter().map(|&x| fitting.at(x)).collect();
    let placed = TriangleMesh { vertices, triangles: mesh.triangles.clone() };
    let shape = MeshShape::new(&placed, grid.min_spacing())?;
    Ok((shape_density(&shape, 0.0, grid), shape.report()))
}
