//! Pictures and text in 3D: a flat density with a thickness.

use super::TargetError;
use squall_core::{Axis, Grid};

/// A layer of the box that a picture fills.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slab {
    /// The axis towards the viewer: 0, 1 or 2. Seen from the far end of that axis the picture is upright: with 2 (z), it
    /// stands with x to its right; with 0 (x), with z to its left; with 1 (y), it lies on the floor, z towards its bottom.
    pub normal: usize,
    /// In metres, along that axis.
    pub thickness: f64,
    /// The middle of the slab along that axis, in metres. `None`: the middle of the box.
    pub center: Option<f64>,
}

/// The axes to the right and up, and whether each is looked at against its direction.
fn seen_from(normal: usize) -> [(usize, bool); 2] {
    match normal {
        0 => [(2, true), (1, false)],
        1 => [(0, false), (2, true)],
        _ => [(0, false), (1, false)],
    }
}

/// The face of the box that shows the picture: the grid to place it on. Its coordinates are those of the box, negative
/// where it is looked at against an axis.
pub fn face(grid: &Grid<3>, normal: usize) -> Grid<2> {
    let axes = seen_from(normal);
    let size = grid.size();
    Grid {
        origin: axes.map(|(a, against)| if against { -(grid.origin[a] + size[a]) } else { grid.origin[a] }),
        spacing: axes.map(|(a, _)| grid.spacing[a]),
        cells: axes.map(|(a, _)| grid.cells[a]),
        axes: [Axis::Unbounded; 2],
    }
}

/// Where a point of the box is seen on [`face`].
pub fn on_face(point: [f64; 3], normal: usize) -> [f64; 2] {
    seen_from(normal).map(|(a, against)| if against { -point[a] } else { point[a] })
}

/// A density on [`face`] as a slab in the box. Cells that the slab fills in part have that part of it.
pub fn extrude(flat: &[f32], grid: &Grid<3>, slab: &Slab) -> Result<Vec<f32>, TargetError> {
    let Slab { normal, thickness, center } = *slab;
    let wrong = |what: String| Err(TargetError::Place { what });
    if normal > 2 {
        return wrong(format!("axis {normal} towards the viewer: it is 0, 1 or 2"));
    }
    if !(thickness.is_finite() && thickness > 0.0) || center.is_some_and(|c| !c.is_finite()) {
        return wrong(format!("a thickness of {thickness} m at {center:?}: it must be positive"));
    }
    let face = face(grid, normal);
    if flat.len() != face.cell_count() {
        return wrong(format!("{} values on a face of {} cells", flat.len(), face.cell_count()));
    }
    let middle = center.unwrap_or(grid.origin[normal] + 0.5 * grid.size()[normal]);
    let ends = [middle - 0.5 * thickness, middle + 0.5 * thickness];
    // The part of each cell that the slab fills.
    let part: Vec<f64> = (0..grid.cells[normal])
        .map(|i| {
            let low = grid.origin[normal] + i as f64 * grid.spacing[normal];
            ((ends[1].min(low + grid.spacing[normal]) - ends[0].max(low)) / grid.spacing[normal]).clamp(0.0, 1.0)
        })
        .collect();
    let [right, up] = seen_from(normal);
    let mut density = Vec::with_capacity(grid.cell_count());
    for z in 0..grid.cells[2] {
        for y in 0..grid.cells[1] {
            for x in 0..grid.cells[0] {
                let cell = [x, y, z];
                let on_face = |(a, against): (usize, bool)| if against { grid.cells[a] - 1 - cell[a] } else { cell[a] };
                let value = flat[on_face(right) + face.cells[0] * on_face(up)];
                density.push((f64::from(value) * part[cell[normal]]) as f32);
            }
        }
    }
    Ok(density)
}
