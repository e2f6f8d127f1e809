//! Relief: a picture shaded as if a field were a landscape, lit from the upper left.

/// Slopes of a resampled field.
pub struct Relief<'a> {
    height: &'a [f32],
    width: usize,
    rows: usize,
    wraps: [bool; 2],
    // Pixels per unit of height; 0 draws flat.
    scale: f32,
}

/// Towards the light: from the left, from above, and towards the viewer. Length 1.
const LIGHT: [f32; 3] = [-0.45, 0.55, 0.703_562_4];

impl<'a> Relief<'a> {
    /// `height` has one value per pixel, the top row first. `strength` 1 makes a height of 1 look as high as a
    /// twelfth of the picture's width.
    pub fn new(height: &'a [f32], width: usize, rows: usize, strength: f32) -> Self {
        let scale = strength * width as f32 / 12.0;
        Self { height, width, rows, wraps: [false; 2], scale: if scale.is_finite() { scale } else { 0.0 } }
    }

    /// The same, going on at opposite edges along these axes.
    pub fn wrapping(self, wraps: [bool; 2]) -> Self {
        Self { wraps, ..self }
    }

    /// A colour in the light of its place. Flat places keep their colour.
    #[inline(always)]
    pub fn shade(&self, [r, g, b, a]: [f32; 4], x: usize, y: usize) -> [f32; 4] {
        if self.scale == 0.0 {
            return [r, g, b, a];
        }
        let at = |x: usize, y: usize| self.height[y * self.width + x];
        // Differences over two pixels, over one at the edges; y is up.
        let beside = |i: usize, n: usize, wraps: bool| match wraps {
            true => ((i + n - 1) % n, (i + 1) % n, 2.0),
            false => {
                let (low, high) = (i.saturating_sub(1), (i + 1).min(n - 1));
                (low, high, (high - low).max(1) as f32)
            }
        };
        let (left, right, across) = beside(x, self.width, self.wraps[0]);
        let (above, below, down) = beside(y, self.rows, self.wraps[1]);
        let along_x = self.scale * (at(right, y) - at(left, y)) / across;
        let along_y = self.scale * (at(x, above) - at(x, below)) / down;
        let length = (1.0 + along_x * along_x + along_y * along_y).sqrt();
        let facing = (LIGHT[2] - along_x * LIGHT[0] - along_y * LIGHT[1]) / length;
        // Next to a value that is not finite there is no slope.
        if !facing.is_finite() {
            return [r, g, b, a];
        }
        // Shadows keep a third of the light; highlights add a little white, as on something moist.
        let shade = 0.34 + 0.66 * (facing.max(0.0) / LIGHT[2]).min(1.25);
        let shine = 0.35 * ((facing - LIGHT[2]) / (1.0 - LIGHT[2])).max(0.0).powi(3);
        [r * shade + shine * (1.0 - r), g * shade + shine * (1.0 - g), b * shade + shine * (1.0 - b), a]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_towards_the_upper_left_are_bright_and_flat_places_unchanged() {
        let grey = [0.4, 0.4, 0.4, 1.0];
        let plane =
            |dx: f32, dy: f32| -> Vec<f32> { (0..64).map(|i| dx * (i % 8) as f32 - dy * (i / 8) as f32).collect() };
        let shade = |dx, dy| Relief::new(&plane(dx, dy), 8, 8, 0.3).shade(grey, 4, 4)[0];
        assert_eq!(shade(0.0, 0.0), 0.4);
        // Rising to the right means facing left.
        assert!(shade(1.0, 0.0) > 0.4 && shade(-1.0, 0.0) < 0.4);
        assert!(shade(0.0, -1.0) > 0.4 && shade(0.0, 1.0) < 0.4);
    }
}
