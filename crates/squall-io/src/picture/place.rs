//! Where in the box of a simulation a picture is, and what its cells see of it.

use super::{AxisWeights, Coverage, PictureError};
use squall_core::{At, Grid};

/// How a picture fills its frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fit {
    /// As large as all of it fits.
    #[default]
    Contain,
    /// As small as it fills the frame; what hangs over is cut off by the box.
    Cover,
    /// Exactly the frame: circles become ellipses.
    Stretch,
}

/// Where a picture goes: into a frame, in metres. The default is the middle of the box, upright, with a margin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement {
    /// How it fills the frame.
    pub fit: Fit,
    /// Share of the shorter side of the box that stays empty on all sides, where the frame is the box: 0 to 0.45. Not of
    /// use to [`Fit::Cover`].
    pub margin: f64,
    /// The middle of the frame, in metres. `None`: the middle of the box.
    pub center: Option<[f64; 2]>,
    /// Width and height of the frame, in metres. `None`: the box without its margin.
    pub size: Option<[f64; 2]>,
    /// Turns the picture around its middle, in degrees, counter-clockwise.
    pub rotation: f64,
}

impl Default for Placement {
    fn default() -> Self {
        Placement { fit: Fit::Contain, margin: 0.1, center: None, size: None, rotation: 0.0 }
    }
}

impl Placement {
    /// Middle and size, in metres, of something `shape` wide and high in any unit.
    fn rectangle(&self, shape: [f64; 2], grid: &Grid<2>) -> Result<([f64; 2], [f64; 2]), PictureError> {
        let wrong = |what: String| Err(PictureError::Placement { what });
        if !(0.0..=0.45).contains(&self.margin) {
            return wrong(format!("a margin of {}: it may be 0 to 0.45", self.margin));
        }
        if !self.rotation.is_finite() || self.center.is_some_and(|c| !c.iter().all(|x| x.is_finite())) {
            return wrong("a rotation or centre that is not finite".into());
        }
        if let Some(size) = self.size.filter(|s| !s.iter().all(|x| x.is_finite() && *x > 0.0)) {
            return wrong(format!("a size of {size:?} m: both must be positive"));
        }
        let whole = grid.size();
        let margin = if self.fit == Fit::Cover { 0.0 } else { self.margin * whole[0].min(whole[1]) };
        let frame = self.size.unwrap_or(whole.map(|length| length - 2.0 * margin));
        let center = self.center.unwrap_or(std::array::from_fn(|a| grid.origin[a] + 0.5 * whole[a]));
        let ratio = [frame[0] / shape[0], frame[1] / shape[1]];
        let size = match self.fit {
            Fit::Contain => shape.map(|side| side * ratio[0].min(ratio[1])),
            Fit::Cover => shape.map(|side| side * ratio[0].max(ratio[1])),
            Fit::Stretch => frame,
        };
        Ok((center, size))
    }
}

/// Points per cell and axis of a turned picture: two for each pixel, within reason.
const LEAST_POINTS: f64 = 4.0;
const MOST_POINTS: f64 = 64.0;

impl Coverage {
    /// The share of each cell that is covered, x fastest, the bottom row first. Exact for upright pictures; small pictures
    /// are made larger smoothly.
    pub fn density(&self, grid: &Grid<2>, placement: &Placement) -> Result<Vec<f32>, PictureError> {
        let (center, size) = placement.rectangle([self.width as f64, self.height as f64], grid)?;
        Ok(if placement.rotation == 0.0 {
            self.upright(grid, center, size)
        } else {
            self.turned(grid, center, size, placement.rotation.to_radians())
        })
    }

    /// density(i, j) = sum over x and y of weight(i, x) weight(j, y) coverage(x, y), one axis after the other.
    fn upright(&self, grid: &Grid<2>, center: [f64; 2], size: [f64; 2]) -> Vec<f32> {
        let axis = |a: usize, count: usize, ends: [f64; 2]| {
            let ends = ends.map(|end| center[a] + end * size[a]);
            AxisWeights::new(count, ends, grid.cells[a], grid.origin[a], grid.spacing[a])
        };
        let along = axis(0, self.width, [-0.5, 0.5]);
        // Rows of pixels go down, rows of cells up.
        let up = axis(1, self.height, [0.5, -0.5]);
        let narrowed: Vec<f64> = (0..self.height)
            .flat_map(|y| {
                let row = &self.values[y * self.width..][..self.width];
                (0..along.len()).map(|i| weighted(along.of(i), |x| f64::from(row[x]))).collect::<Vec<_>>()
            })
            .collect();
        let cells = (0..up.len()).flat_map(|j| (0..along.len()).map(move |i| (i, j)));
        cells.map(|(i, j)| weighted(up.of(j), |y| narrowed[y * along.len() + i]).clamp(0.0, 1.0) as f32).collect()
    }

    /// The mean over points in each cell, with linear values between pixels.
    fn turned(&self, grid: &Grid<2>, center: [f64; 2], size: [f64; 2], angle: f64) -> Vec<f32> {
        let (sin, cos) = libm::sincos(angle);
        let pixel = [size[0] / self.width as f64, size[1] / self.height as f64];
        let coarsest = (grid.spacing[0] / pixel[0]).max(grid.spacing[1] / pixel[1]);
        let points = (2.0 * coarsest).ceil().clamp(LEAST_POINTS, MOST_POINTS) as usize;
        let offsets: Vec<f64> = (0..points).map(|k| (k as f64 + 0.5) / points as f64 - 0.5).collect();
        let seen = |x: f64, y: f64| {
            let (x, y) = (x - center[0], y - center[1]);
            // Turned back, then counted in pixels from the upper left corner.
            let (u, v) = (cos * x + sin * y, cos * y - sin * x);
            self.between(u / pixel[0] + 0.5 * self.width as f64, 0.5 * self.height as f64 - v / pixel[1])
        };
        let mut density = Vec::with_capacity(grid.cell_count());
        for j in 0..grid.cells[1] {
            for i in 0..grid.cells[0] {
                let [x, y] = grid.position(At::Center, [i as isize, j as isize]);
                let mut sum = 0.0;
                for dy in &offsets {
                    sum +=
                        offsets.iter().map(|dx| seen(x + dx * grid.spacing[0], y + dy * grid.spacing[1])).sum::<f64>();
                }
                density.push((sum / (points * points) as f64).clamp(0.0, 1.0) as f32);
            }
        }
        density
    }

    /// The coverage at a point, in pixels from the upper left corner: 0 outside, linear between the middles of pixels.
    fn between(&self, x: f64, y: f64) -> f64 {
        if !((0.0..self.width as f64).contains(&x) && (0.0..self.height as f64).contains(&y)) {
            return 0.0;
        }
        let split = |x: f64, count: usize| {
            let x = (x - 0.5).clamp(0.0, (count - 1) as f64);
            (x as usize, (x as usize + 1).min(count - 1), x - x.floor())
        };
        let ((x0, x1, fx), (y0, y1, fy)) = (split(x, self.width), split(y, self.height));
        let value = |x: usize, y: usize| f64::from(self.values[y * self.width + x]);
        let row = |y: usize| value(x0, y) * (1.0 - fx) + value(x1, y) * fx;
        row(y0) * (1.0 - fy) + row(y1) * fy
    }
}

fn weighted((first, weights): (usize, &[f64]), sample: impl Fn(usize) -> f64) -> f64 {
    weights.iter().enumerate().map(|(k, weight)| weight * sample(first + k)).sum()
}
