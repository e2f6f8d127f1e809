//! From the texture of a scene to pictures and volumes.

use squall_core::{Simulation, Volume};
use squall_render::texture::Swirls;
use squall_render::texture::fine::{self, Displacements, FURTHEST, refined};
use squall_render::texture::flat::Coordinates;
use squall_render::{Pattern, Photo, Plane, RenderError, Texture};

use crate::setup::{self, Axis, Setup, TexturePattern};

/// Fewest and most pixels along each side of patterns that Squall draws.
const PHOTO_PIXELS: [usize; 2] = [256, 1024];

/// What is painted on the fluid of a scene of `D` dimensions, if something is.
pub fn texture<const D: usize>(setup: &Setup) -> Option<Texture<D>> {
    let t = setup.texture.as_ref()?;
    let repeat = repeat(setup);
    let none = [[0.0; D]; 3];
    let (pattern, offsets) = match &t.pattern {
        TexturePattern::Detail { .. } => return None,
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
    kind: Kind,
    refine: usize,
}

enum Kind {
    /// The pattern, and the names of what it does not affect: heat and flames move the smoke or glow by themselves.
    Painted(Texture<3>, Vec<String>),
    Swirled(Swirls),
}

impl Detail {
    /// That of a scene; `None` if it has no texture.
    pub fn new(setup: &Setup) -> Option<Self> {
        let t = setup.texture.as_ref().filter(|_| setup.dimensions() == 3)?;
        let plain = (0..setup.substances.len()).filter(|&i| !setup.is_smoke(i));
        let plain = plain.map(|i| setup.substances[i].name.clone()).collect();
        let kind = match t.pattern {
            TexturePattern::Detail { scale, octaves, seed } => {
                let most = FURTHEST as f64 * setup.grid.spacing()[0];
                Kind::Swirled(Swirls::new(repeat(setup), scale, octaves, t.strength, most, seed))
            }
            _ => Kind::Painted(texture::<3>(setup)?, plain),
        };
        Some(Self { kind, refine: t.refine as usize })
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
        let detail = match &self.kind {
            Kind::Painted(texture, _) => fine::Detail::Painted(texture),
            Kind::Swirled(swirls) => fine::Detail::Swirled(swirls),
        };
        refined(volume, self.refine, self.shows_in(name).then_some((detail, displacements)))
    }

    /// Whether a volume of the substance `name` has it.
    pub fn shows_in(&self, name: &str) -> bool {
        match &self.kind {
            Kind::Painted(_, plain) => !plain.iter().any(|p| p == name),
            Kind::Swirled(_) => true,
        }
    }
}

/// The lengths after which a scene repeats.
fn repeat<const D: usize>(setup: &Setup) -> [Option<f64>; D] {
    std::array::from_fn(|a| (setup.grid.axes[a] == Axis::Periodic).then_some(setup.grid.size[a]))
}
