//! How much light reaches each cell: one sweep through the volume, slice by slice away from the light.

use crate::volume::Volume;
use rayon::prelude::*;

/// Calls `found(cell, depth)` with the optical depth between each cell's centre and a distant light in direction
/// `towards` (need not be of length 1). `kappa` is the optical depth per metre for a density of 1. Nothing of the size of
/// the volume is kept.
pub fn optical_depth(volume: &Volume<'_>, towards: [f32; 3], kappa: f32, mut found: impl FnMut(usize, f32)) {
    let h = volume.spacing.map(|h| h as f32);
    // In cells: the sweep goes along the axis that the ray crosses most slices of.
    let mut step: [f32; 3] = std::array::from_fn(|a| towards[a] / h[a]);
    let main = (1..3).fold(0, |best, a| if step[a].abs() > step[best].abs() { a } else { best });
    let (b, c) = ((main + 1) % 3, (main + 2) % 3);
    let slices = step[main].abs();
    if !(slices > 0.0 && slices.is_finite()) {
        return (0..volume.density.len()).for_each(|i| found(i, 0.0));
    }
    step = step.map(|s| s / slices);
    let metres = (0..3).map(|a| (step[a] * h[a]).powi(2)).sum::<f32>().sqrt();

    let n = volume.cells;
    let stride = [1, n[0], n[0] * n[1]];
    let density = |i: usize| {
        let v = volume.density[i];
        if v.is_finite() { v.max(0.0) } else { 0.0 }
    };
    // Depth and density of the slice before, in order (b, c); outside of the volume there is nothing.
    let mut before: Vec<[f32; 2]> = vec![[0.0; 2]; n[b] * n[c]];
    let mut slice = before.clone();
    for k in 0..n[main] {
        let k = if step[main] > 0.0 { n[main] - 1 - k } else { k };
        slice.par_chunks_mut(n[b]).enumerate().for_each(|(j, row)| {
            for (i, cell) in row.iter_mut().enumerate() {
                let here = density(k * stride[main] + i * stride[b] + j * stride[c]);
                let [depth, there] = bilinear(&before, [n[b], n[c]], i as f32 + step[b], j as f32 + step[c]);
                *cell = [depth + 0.5 * (here + there) * kappa * metres, here];
            }
        });
        for (ij, cell) in slice.iter().enumerate() {
            found(k * stride[main] + ij % n[b] * stride[b] + ij / n[b] * stride[c], cell[0]);
        }
        std::mem::swap(&mut before, &mut slice);
    }
}

fn bilinear(slice: &[[f32; 2]], n: [usize; 2], x: f32, y: f32) -> [f32; 2] {
    let (x0, y0) = (x.floor(), y.floor());
    let (fx, fy) = (x - x0, y - y0);
    let at = |x: f32, y: f32| {
        let inside = x >= 0.0 && y >= 0.0 && x < n[0] as f32 && y < n[1] as f32;
        if inside { slice[y as usize * n[0] + x as usize] } else { [0.0; 2] }
    };
    let (a, b, c, d) = (at(x0, y0), at(x0 + 1.0, y0), at(x0, y0 + 1.0), at(x0 + 1.0, y0 + 1.0));
    std::array::from_fn(|i| (a[i] * (1.0 - fx) + b[i] * fx) * (1.0 - fy) + (c[i] * (1.0 - fx) + d[i] * fx) * fy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depths(volume: &Volume<'_>, towards: [f32; 3], kappa: f32) -> Vec<f32> {
        let mut all = vec![f32::NAN; volume.density.len()];
        optical_depth(volume, towards, kappa, |i, depth| all[i] = depth);
        all
    }

    #[test]
    fn depth_grows_evenly_below_the_top_of_uniform_smoke() {
        let density = vec![2.0; 6 * 10 * 4];
        let volume = Volume::new(&density, [6, 10, 4], [0.1; 3]).unwrap();
        let depth = depths(&volume, [0.0, 1.0, 0.0], 3.0);
        for y in 0..10 {
            // Half a cell to the top face, for the cells in the middle.
            let expected = 2.0 * 3.0 * 0.1 * (9.5 - y as f32);
            assert!((depth[3 + 6 * y + 60 * 2] - expected).abs() < 1e-4);
        }
    }

    #[test]
    fn light_from_opposite_sides_gives_mirrored_depths() {
        let density: Vec<f32> = (0..5 * 5 * 5).map(|i| (i % 7) as f32).collect();
        let mirrored: Vec<f32> = density.iter().rev().copied().collect();
        let towards = [0.3, -0.2, 0.8];
        let volume = |d| Volume::new(d, [5; 3], [1.0; 3]).unwrap();
        let one = depths(&volume(&density), towards, 0.5);
        let mut other = depths(&volume(&mirrored), towards.map(|v| -v), 0.5);
        other.reverse();
        assert!(one.iter().zip(&other).all(|(a, b)| (a - b).abs() < 1e-4));
    }
}
