//! From the texture of a scene to pictures and volumes.

use squall_core::{Simulation, Volume};
use squall_render::texture::fine::{Displacements, refined};
use squall_render::texture::flat::Coordinates;
use squall_render::{Pattern, Photo, Plane, RenderError, Texture};

use crate::setup::{self, Axis, Setup, TexturePattern};

/// Fewest and most pixels along each side of patterns that Squall draws.
const PHOTO_PIXELS: [usize; 2] = [256, 1024];

/// The texture of a scene of `D` dimensions, if it has one.
pub fn texture<const D: usize>(setup: &Setup) -> Option<Texture<D>> {
    let t = setup.texture.as_ref()?;
    let repeat = std::array::from_fn(|a| (setup.grid.axes[a] == Axis::Periodic).then_some(setup.grid.size[a]));
    let none = [[0.0; D]; 3];
    let (pattern, offsets) = match &t.pattern {
        TexturePattern::Noise { scale, octaves, gain, seed } => {
            (Pattern::clouds(repeat, *scale, *octaves, *gain, *seed), Texture::apart(*scale))
        }
        TexturePattern::Lines { spacing, direction, warp, seed } => {
            let direction = std::array::from_fn(|a| direction[a]);
            (Pattern::lines(repeat, *spacing, direction, *warp, *seed), Texture::apart(*spacing))
        }
        TexturePattern::Image { picture, size, .. } => (Pattern::picture((**picture).clone(), *size), none),
        TexturePattern::Photo { photo, size } => {
            let photo = match photo {
                setup::Photo::Pebbles => Photo::Pebbles,
                setup::Photo::Wood => Photo::Wood,
                setup::Photo::Mosaic => Photo::Mosaic,
                setup::Photo::Inks => Photo::Inks,
            };
            // Twice as fine as pictures show it: the flow enlarges parts of it.
            let shown = f64::from(setup.output.width) * size[0] / setup.grid.size[0];
            let [fewest, most] = PHOTO_PIXELS;
            let pixels = (2.0 * shown).min(most as f64) as usize;
            (Pattern::picture(photo.draw(pixels.next_power_of_two().clamp(fewest, most)), *size), none)
        }
    };
    Some(Texture { pattern, strength: t.strength as f32, restore_contrast: t.contrast, offsets })
}

/// Texture coordinates of a 2D simulation.
pub struct FlatCoordinates {
    sets: [[Vec<f32>; 2]; 3],
    weights: [f64; 3],
}

impl FlatCoordinates {
    /// As they are now; `None` if there are none.
    pub fn of(sim: &dyn Simulation) -> Option<Self> {
        let weights = weights(sim)?;
        let mut sets = <[[Vec<f32>; 2]; 3]>::default();
        for (k, set) in sets.iter_mut().enumerate() {
            for (a, values) in set.iter_mut().enumerate() {
                sim.read(&format!("texture_{k}"), a, values).then_some(())?;
            }
        }
        Some(Self { sets, weights })
    }

    /// To be drawn, where `plane` makes a plane of values.
    pub fn planes<'a>(
        &'a self,
        plane: impl Fn(&'a [f32]) -> Result<Plane<'a>, RenderError>,
    ) -> Result<Coordinates<'a>, RenderError> {
        let [a, b, c] = &self.sets;
        let set = |s: &'a [Vec<f32>; 2]| Ok([plane(&s[0])?, plane(&s[1])?]);
        Ok(Coordinates { sets: [set(a)?, set(b)?, set(c)?], weights: self.weights })
    }
}

/// What each set of coordinates counts now; `None` if there are none.
fn weights(sim: &dyn Simulation) -> Option<[f64; 3]> {
    let [a, b, c] = [0, 1, 2].map(|k| sim.scalar(&format!("texture_{k}.weight")));
    Some([a?, b?, c?])
}

/// Makes the volumes of a 3D scene finer and gives them the detail of its texture.
pub struct Detail {
    texture: Texture<3>,
    refine: usize,
    /// Heat has none: it is seen by its glow, and moves the smoke.
    plain: Option<String>,
}

impl Detail {
    /// That of a scene; `None` if it has no texture.
    pub fn new(setup: &Setup) -> Option<Self> {
        if setup.dimensions() != 3 {
            return None;
        }
        Some(Self {
            texture: texture::<3>(setup)?,
            refine: setup.texture.as_ref()?.refine as usize,
            plain: setup.smoke.as_ref().map(|_| setup.substances[setup::TEMPERATURE].name.clone()),
        })
    }

    /// The coordinates of a simulation as they are now.
    pub fn displacements(&self, sim: &dyn Simulation) -> Displacements {
        let mut d = Displacements { weights: weights(sim).unwrap_or_default(), ..Displacements::default() };
        for (k, set) in d.sets.iter_mut().enumerate() {
            for (a, out) in set.iter_mut().enumerate() {
                sim.volume(&format!("texture_{k}"), a, out);
            }
        }
        d
    }

    /// A volume of the substance `name`, finer.
    pub fn apply(&self, name: &str, volume: &Volume, displacements: &Displacements) -> Volume {
        let textured = self.plain.as_deref() != Some(name);
        refined(volume, self.refine, textured.then_some((&self.texture, displacements)))
    }
}
