//! Fields made from velocity, for pictures: centred differences inside, one-sided at the ends.
//!
//! Components are arrays of cell values, x fastest, as `Simulation::read` gives them.

use crate::plane::{RenderError, check};
use rayon::prelude::*;

/// `dv/dx - du/dy` in 1/s: positive turns counter-clockwise.
pub fn vorticity(u: &[f32], v: &[f32], cells: [usize; 2], spacing: [f64; 2]) -> Result<Vec<f32>, RenderError> {
    check(u, &cells, &spacing)?;
    check(v, &cells, &spacing)?;
    Ok(curl_component([v, u], [0, 1], &cells, &spacing))
}

/// `|u|`, of two or three components.
pub fn speed(components: &[&[f32]]) -> Result<Vec<f32>, RenderError> {
    let length = components.first().map_or(0, |c| c.len());
    for c in components {
        check(c, &[length], &[1.0])?;
    }
    let squares = |i: usize| components.iter().map(|c| c[i] * c[i]).sum::<f32>();
    Ok((0..length).into_par_iter().with_min_len(4096).map(|i| squares(i).sqrt()).collect())
}

/// `|curl u|` in 1/s.
pub fn curl_magnitude(u: [&[f32]; 3], cells: [usize; 3], spacing: [f64; 3]) -> Result<Vec<f32>, RenderError> {
    for c in u {
        check(c, &cells, &spacing)?;
    }
    let curl: [Vec<f32>; 3] = std::array::from_fn(|a| {
        let (b, c) = ((a + 1) % 3, (a + 2) % 3);
        curl_component([u[c], u[b]], [b, c], &cells, &spacing)
    });
    speed(&[&curl[0], &curl[1], &curl[2]])
}

/// `d f0 / d a0 - d f1 / d a1`.
fn curl_component(f: [&[f32]; 2], axes: [usize; 2], cells: &[usize], spacing: &[f64]) -> Vec<f32> {
    let nx = cells[0];
    let mut out = vec![0.0; f[0].len()];
    out.par_chunks_mut(nx).enumerate().for_each(|(row, out)| {
        for (x, value) in out.iter_mut().enumerate() {
            let i = row * nx + x;
            *value = slope(f[0], i, axes[0], cells, spacing) - slope(f[1], i, axes[1], cells, spacing);
        }
    });
    out
}

#[inline(always)]
fn slope(f: &[f32], i: usize, axis: usize, cells: &[usize], spacing: &[f64]) -> f32 {
    let stride: usize = cells[..axis].iter().product();
    let at = i / stride % cells[axis];
    let below = if at > 0 { i - stride } else { i };
    let above = if at + 1 < cells[axis] { i + stride } else { i };
    // One cell thick: nothing changes along this axis.
    let steps = ((above - below) / stride).max(1);
    (f[above] - f[below]) / (steps as f64 * spacing[axis]) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rigid_rotation_has_twice_its_rate_as_vorticity_everywhere() {
        let (cells, h) = ([9, 7], [0.5, 0.25]);
        let at = |i: usize| ((i % 9) as f32 * 0.5, (i / 9) as f32 * 0.25);
        let u: Vec<f32> = (0..63).map(|i| -3.0 * at(i).1).collect();
        let v: Vec<f32> = (0..63).map(|i| 3.0 * at(i).0).collect();
        assert!(vorticity(&u, &v, cells, h).unwrap().iter().all(|w| (w - 6.0).abs() < 1e-4));
        let w = vec![1.0; 63];
        let curl = curl_magnitude([&u, &v, &w], [9, 7, 1], [0.5, 0.25, 1.0]).unwrap();
        assert!(curl.iter().all(|w| (w - 6.0).abs() < 1e-4));
        let speed = speed(&[&u, &v]).unwrap();
        assert!((speed[62] - 3.0 * at(62).0.hypot(at(62).1)).abs() < 1e-4);
    }

    #[test]
    fn components_of_different_lengths_are_refused() {
        assert!(vorticity(&[0.0; 4], &[0.0; 5], [2, 2], [1.0; 2]).is_err());
        assert!(speed(&[&[0.0; 4], &[0.0; 5]]).is_err());
    }
}
