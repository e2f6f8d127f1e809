//! Objects over 2D pictures.

use squall_core::Shape;
use squall_render::Image;

use crate::build::{BuildError, shape};
use crate::setup::Setup;

type Drawn = (Box<dyn Shape<2>>, [u8; 3]);

/// The objects of a 2D scene, to be drawn as filled shapes.
pub struct FlatObjects {
    /// From which time on, and what there is then.
    forms: Vec<(f64, Vec<Drawn>)>,
    origin: [f64; 2],
    size: [f64; 2],
}

impl FlatObjects {
    pub fn new(setup: &Setup) -> Result<Self, BuildError> {
        let shapes = |setup: &Setup| -> Result<Vec<Drawn>, BuildError> {
            let visible = setup.objects.iter().filter(|o| o.visible && setup.dimensions() == 2);
            visible.map(|o| Ok((shape::moving::<2>(&o.shape, &o.motion, setup.grid.spacing()[0])?, o.color))).collect()
        };
        let forms = setup.forms().map(|(time, setup)| Ok((time, shapes(setup)?))).collect::<Result<_, BuildError>>()?;
        let [origin, size] = [&setup.grid.origin, &setup.grid.size].map(|v| [v[0], v[1]]);
        Ok(Self { forms, origin, size })
    }

    /// Draws them as they are at a time, with edges one pixel soft.
    pub fn draw(&mut self, image: &mut Image, time: f64) {
        let (width, height) = (image.width, image.height);
        let pixel = [self.size[0] / width as f64, self.size[1] / height as f64];
        let Some((_, shapes)) = self.forms.iter_mut().rev().find(|(from, _)| *from <= time) else { return };
        for (shape, color) in shapes {
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
