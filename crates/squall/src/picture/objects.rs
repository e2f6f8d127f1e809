//! Objects over 2D pictures.

use squall_core::Shape;
use squall_render::Image;

use crate::build::{BuildError, shape};
use crate::setup::Setup;

/// The objects of a 2D scene, to be drawn as filled shapes.
pub struct FlatObjects {
    shapes: Vec<(Box<dyn Shape<2>>, [u8; 3])>,
    origin: [f64; 2],
    size: [f64; 2],
}

impl FlatObjects {
    pub fn new(setup: &Setup) -> Result<Self, BuildError> {
        let mut shapes = Vec::new();
        for o in setup.objects.iter().filter(|o| o.visible && setup.dimensions() == 2) {
            shapes.push((shape::moving::<2>(&o.shape, &o.motion, setup.grid.spacing()[0])?, o.color));
        }
        let [origin, size] = [&setup.grid.origin, &setup.grid.size].map(|v| [v[0], v[1]]);
        Ok(Self { shapes, origin, size })
    }

    /// Draws them as they are at a time, with edges one pixel soft.
    pub fn draw(&mut self, image: &mut Image, time: f64) {
        let (width, height) = (image.width, image.height);
        let pixel = [self.size[0] / width as f64, self.size[1] / height as f64];
        for (shape, color) in &mut self.shapes {
            shape.prepare(time);
            for (i, out) in image.pixels.iter_mut().enumerate() {
                let (x, y) = (i % width, height - 1 - i / width);
                let place = [x, y].map(|v| v as f64 + 0.5);
                let p = std::array::from_fn(|a| self.origin[a] + place[a] * pixel[a]);
                let cover = (0.5 - shape.distance(p, time) / pixel[0]).clamp(0.0, 1.0);
                let opacity = f64::from(out[3]);
                out[3] = (opacity + cover * (255.0 - opacity)).round() as u8;
                // What is transparent has no colour of its own to mix with.
                let cover = if out[3] > 0 { (255.0 * cover / f64::from(out[3])).min(1.0) } else { 0.0 };
                for c in 0..3 {
                    let (behind, front) = (f64::from(out[c]), f64::from(color[c]));
                    out[c] = (behind + cover * (front - behind)).round() as u8;
                }
            }
        }
    }
}
