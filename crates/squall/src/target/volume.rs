//! Volumes as targets.

use super::{Place, TargetError};
use squall_core::volume::BLOCK;
use squall_core::{Grid, Volume};
use squall_io::picture::AxisWeights;
use squall_io::vdb::{VdbFile, VdbLoaded};
use squall_io::{VdbClass, VdbValues};

/// Cells along one side of a volume. Blocks may lie anywhere: this is their extent, not what they hold.
const MOST_CELLS_A_SIDE: usize = 1 << 16;

/// The density of a grid of an OpenVDB file: of the one named, or else `density`, or else the first of numbers.
pub fn vdb_density(file: &VdbFile, name: Option<&str>, grid: &Grid<3>, place: &Place) -> Result<Vec<f32>, TargetError> {
    let numbers = |g: &&VdbLoaded| matches!(g.values, VdbValues::Scalar(_));
    let named = |name: &str| file.grids.iter().filter(numbers).find(|g| g.name == name);
    let found = match name {
        Some(name) => named(name),
        None => named("density").or_else(|| file.grids.iter().find(numbers)),
    };
    let Some(VdbLoaded { values: VdbValues::Scalar(volume), class, .. }) = found else {
        let there: Vec<_> = file.grids.iter().filter(numbers).map(|g| format!("`{}`", g.name)).collect();
        let there = if there.is_empty() { "none".into() } else { there.join(", ") };
        let wanted = name.map_or("a grid of numbers".into(), |name| format!("a grid of numbers called `{name}`"));
        return Err(TargetError::Volume { what: format!("it needs {wanted}; there are: {there}") });
    };
    volume_density(volume, *class, grid, place)
}

/// The density of a volume on another grid. Where cells are larger than the volume's they take the exact mean, where they
/// are smaller values are linear between: the whole amount stays the same. If values exceed 1 all are made smaller.
pub fn volume_density(
    volume: &Volume,
    class: VdbClass,
    grid: &Grid<3>,
    place: &Place,
) -> Result<Vec<f32>, TargetError> {
    let wrong = |what: &str| TargetError::Volume { what: what.into() };
    let spacing = volume.spacing;
    if !(spacing.is_finite() && spacing > 0.0 && volume.origin.iter().all(|x| x.is_finite())) {
        return Err(wrong("its cells have no finite place and size"));
    }
    if !volume.values.iter().all(|v| v.is_finite()) {
        return Err(wrong("it has values that are not finite"));
    }
    let value = |v: f32| if class == VdbClass::LevelSet { 0.5 - f64::from(v) / spacing } else { f64::from(v) };
    let filled = |v: f32| if class == VdbClass::LevelSet { value(v).clamp(0.0, 1.0) } else { value(v).max(0.0) };
    if filled(volume.background) > 0.0 {
        return Err(wrong("it is filled infinitely far: its background must be empty"));
    }
    let (low, high) = extent(volume, filled).ok_or_else(|| wrong("it is empty"))?;
    let count: [usize; 3] = std::array::from_fn(|a| (i64::from(high[a]) - i64::from(low[a])) as usize);
    if count.iter().any(|&n| n > MOST_CELLS_A_SIDE) {
        return Err(wrong("it extends over more than 65536 cells: use larger cells"));
    }
    let corner = |cell: [i32; 3]| std::array::from_fn(|a| volume.origin[a] + f64::from(cell[a]) * spacing);
    let fitting = place.fitting(corner(low), corner(high), grid)?;
    let (from, to) = (fitting.at(corner(low)), fitting.at(corner(high)));
    let spread: [Vec<Vec<(usize, f64)>>; 3] = std::array::from_fn(|a| {
        let axis = AxisWeights::new(count[a], [from[a], to[a]], grid.cells[a], grid.origin[a], grid.spacing[a]);
        cells_of_samples(&axis, count[a])
    });

    // density(cells) += weight_x weight_y weight_z value(sample), sample by sample: only blocks that are stored cost time.
    let [nx, ny, _] = grid.cells;
    let mut density = vec![0.0_f64; grid.cell_count()];
    for_each_filled(volume, filled, |cell, value| {
        let [xs, ys, zs]: [_; 3] = std::array::from_fn(|a| &spread[a][(cell[a] - low[a]) as usize]);
        for (z, wz) in zs {
            for (y, wy) in ys {
                let (row, w) = (nx * (y + ny * z), wz * wy * value);
                xs.iter().for_each(|(x, wx)| density[row + x] += wx * w);
            }
        }
    });
    let peak = density.iter().copied().fold(1.0, f64::max);
    Ok(density.iter().map(|v| (v / peak) as f32).collect())
}

fn for_each_filled(volume: &Volume, filled: impl Fn(f32) -> f64, mut each: impl FnMut([i32; 3], f64)) {
    for (b, block) in volume.blocks.iter().enumerate() {
        for (i, &v) in volume.block(b).iter().enumerate() {
            let value = filled(v);
            if value > 0.0 {
                let inside = [i % BLOCK, i / BLOCK % BLOCK, i / (BLOCK * BLOCK)];
                each(std::array::from_fn(|a| block[a] * BLOCK as i32 + inside[a] as i32), value);
            }
        }
    }
}

/// The lowest filled cell, and the one behind the highest.
fn extent(volume: &Volume, filled: impl Fn(f32) -> f64) -> Option<([i32; 3], [i32; 3])> {
    let mut extent: Option<([i32; 3], [i32; 3])> = None;
    for_each_filled(volume, filled, |cell, _| {
        let (low, high) = extent.get_or_insert((cell, cell));
        for a in 0..3 {
            low[a] = low[a].min(cell[a]);
            high[a] = high[a].max(cell[a]);
        }
    });
    extent.map(|(low, high)| (low, high.map(|i| i.saturating_add(1))))
}

/// The weights seen from the other side: which cells each sample goes to.
fn cells_of_samples(axis: &AxisWeights, count: usize) -> Vec<Vec<(usize, f64)>> {
    let mut cells = vec![Vec::new(); count];
    for i in 0..axis.len() {
        let (first, weights) = axis.of(i);
        weights.iter().enumerate().for_each(|(k, &weight)| cells[first + k].push((i, weight)));
    }
    cells
}
