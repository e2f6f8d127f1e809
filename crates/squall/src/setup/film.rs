//! How 3D pictures are taken.

use super::{ColorMap, Up};
pub use crate::scene::choices::Quality;

/// How 3D pictures are taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Film {
    /// Where from.
    pub camera: Camera,
    /// In which light; at most six.
    pub lights: Vec<Light>,
    /// In which style.
    pub render: Render,
}

/// Where pictures are taken from.
#[derive(Clone, Debug, PartialEq)]
pub struct Camera {
    /// Where it is at some times; at least one.
    pub keys: Vec<CameraKey>,
    /// Seconds for a whole turn around the target; then there is one key.
    pub turntable: Option<f64>,
    /// Whether nothing shrinks with distance.
    pub orthographic: bool,
    /// The part of the picture left free on each side where a key has no distance.
    pub margin: f64,
}

/// Where the camera is at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct CameraKey {
    /// Seconds.
    pub time: f64,
    /// Degrees around the vertical.
    pub yaw: f64,
    /// Degrees above the horizon.
    pub pitch: f64,
    /// Metres from the target; `None`: such that the whole box is seen.
    pub distance: Option<f64>,
    /// What is in the middle of the picture.
    pub target: [f64; 3],
    /// Angle between the bottom and the top of the picture, degrees.
    pub fov: f64,
    /// Turned about its axis, degrees.
    pub roll: f64,
}

/// A light.
#[derive(Clone, Debug, PartialEq)]
pub struct Light {
    /// Where it is.
    pub source: LightSource,
    /// sRGB.
    pub color: [u8; 3],
    /// 1 makes a white surface white.
    pub strength: f64,
    /// Degrees of a sun, metres of a point.
    pub size: f64,
}

/// Where a light is.
#[derive(Clone, Debug, PartialEq)]
pub enum LightSource {
    /// Very far away in this direction.
    Sun([f64; 3]),
    /// At a place.
    Point([f64; 3]),
}

/// What pictures look like.
#[derive(Clone, Debug, PartialEq)]
pub struct Render {
    /// How much work goes into a picture.
    pub quality: Quality,
    /// Rays per pixel.
    pub samples: u32,
    /// Optical depth of a metre of smoke of density 1.
    pub thickness: f64,
    /// Colour of the smoke, sRGB.
    pub color: [u8; 3],
    /// How heat glows.
    pub glow: Option<Glow>,
    /// How far smoke scatters light forward.
    pub anisotropy: f64,
    /// How much light scattered several times lifts shadows.
    pub softness: f64,
    /// Light from above, sRGB.
    pub sky: [u8; 3],
    /// Light from below, sRGB.
    pub below: [u8; 3],
    /// How much of the light from all around is kept from what is covered.
    pub occlusion: f64,
    /// A floor.
    pub ground: Option<Ground>,
    /// Whether there is no background.
    pub transparent: bool,
}

/// How heat glows.
#[derive(Clone, Debug, PartialEq)]
pub struct Glow {
    /// Index into [`Setup::substances`](super::Setup::substances).
    pub substance: usize,
    /// Values at the cold and the hot end.
    pub range: [f64; 2],
    /// Light sent out per metre at the hot end.
    pub strength: f64,
    /// The colours; `None`: those of a black body.
    pub colors: Option<ColorMap>,
    /// Kelvins of a black body at the cold and the hot end.
    pub kelvin: [f64; 2],
}

/// A horizontal floor.
#[derive(Clone, Debug, PartialEq)]
pub struct Ground {
    /// Metres.
    pub height: f64,
    /// sRGB.
    pub color: [u8; 3],
    /// 0 polished to 1 matt.
    pub roughness: f64,
    /// Distances between which it fades; `None`: by the size of what is shown.
    pub fade: Option<[f64; 2]>,
    /// Whether only its shadows are drawn.
    pub only_shadow: bool,
}

/// Which volumes are written.
#[derive(Clone, Debug, PartialEq)]
pub struct Vdb {
    /// Substances, `velocity` and `pressure`.
    pub fields: Vec<String>,
    /// Whether numbers have 16 bits.
    pub half: bool,
    /// Whether substances have the detail of the texture.
    pub detail: bool,
    /// Which axis is up.
    pub up: Up,
    /// Whether faint values are left out, and velocity and pressure away from smoke.
    pub mask: bool,
}
