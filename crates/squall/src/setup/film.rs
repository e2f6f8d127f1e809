//! Camera, lights and appearance of 3D pictures.

use squall_core::shape::Path;

use super::{ColorMap, Curve, File, PictureMode, Setup, Show, Up};
use crate::assets::Loaded;
pub use crate::scene::choices::Quality;
pub use crate::scene::choices::Sky;
use squall_render::film::Panorama;

pub use crate::scene::{AmbientValues as Ambient, GroundValues as Ground, WaterValues as Water};

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
    /// Degrees around the vertical.
    pub yaw: Curve,
    /// Degrees above the horizon.
    pub pitch: Curve,
    /// Metres from the target; `None`: such that the whole box is seen.
    pub distance: Option<Curve>,
    /// Where it stands, instead of the three above.
    pub position: Option<[Curve; 3]>,
    /// What is in the middle of the picture.
    pub target: [Curve; 3],
    /// Angle between the bottom and the top of the picture, degrees.
    pub fov: Curve,
    /// Turned about its axis, degrees.
    pub roll: Curve,
    /// Where it is at some times, instead of all of the above; may be empty.
    pub orbit: Vec<CameraKey>,
    /// Seconds for a whole turn around the target; then there is no orbit.
    pub turntable: Option<f64>,
    /// Whether nothing shrinks with distance.
    pub orthographic: bool,
    /// Whether smoke is framed instead of the box.
    pub follow: bool,
    /// Radius of the lens, metres.
    pub aperture: Curve,
    /// Where things are sharp, metres; `None`: at the target.
    pub focus: Option<Curve>,
    /// Degrees of a turn of the shutter that it is open.
    pub shutter: f64,
    /// The part of the picture left free on each side where a key has no distance.
    pub margin: f64,
}

impl Setup {
    /// Whether 3D pictures show a field as light in the colours of the map, which the field hides in turn, and not as smoke.
    pub fn shows_light(&self) -> bool {
        let Some(film) = &self.film else { return false };
        match self.picture.show {
            Show::Speed | Show::Vorticity | Show::Pressure => true,
            Show::Substance(_) => {
                let glows = self.picture.mode == PictureMode::Emission && !self.picture.map.is_lit();
                glows && film.render.glow.is_none()
            }
            Show::Substances | Show::Texture | Show::Water => false,
        }
    }
}

impl Camera {
    /// Where it is at a time, in seconds, if it is on no orbit.
    pub fn key(&self, time: f64) -> CameraKey {
        let target = self.target.each_ref().map(|curve| curve.at(time));
        let mut key = CameraKey {
            time,
            yaw: self.yaw.at(time),
            pitch: self.pitch.at(time),
            distance: self.distance.as_ref().map(|curve| curve.at(time)),
            target,
            fov: self.fov.at(time),
            roll: self.roll.at(time),
        };
        if let Some(position) = &self.position {
            let [x, y, z]: [f64; 3] = std::array::from_fn(|a| position[a].at(time) - target[a]);
            let distance = (x * x + y * y + z * z).sqrt().max(1e-9);
            key.yaw = x.atan2(z).to_degrees();
            key.pitch = (y / distance).clamp(-1.0, 1.0).asin().to_degrees();
            key.distance = Some(distance);
        }
        key
    }
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
    pub strength: Curve,
    /// Degrees of a sun, metres of a point.
    pub size: Curve,
    /// How it is moved by hand.
    pub path: Option<Path>,
}

/// Where a light is.
#[derive(Clone, Debug, PartialEq)]
pub enum LightSource {
    /// Very far away in this direction.
    Sun([Curve; 3]),
    /// At a place.
    Point([Curve; 3]),
}

impl LightSource {
    /// Where it is at a time: `true` and its place, or `false` and the direction towards it. The direction of a sun, of length 1, is moved by hand like a place.
    pub fn at(&self, time: f64, path: Option<&Path>) -> (bool, [f64; 3]) {
        let shift = path.map_or([0.0; 3], |path| path.at(time).0);
        let moved = |v: [f64; 3]| std::array::from_fn(|a| v[a] + shift[a]);
        match self {
            LightSource::Point(place) => (true, moved(place.each_ref().map(|c| c.at(time)))),
            LightSource::Sun(towards) => {
                let towards = towards.each_ref().map(|c| c.at(time));
                if path.is_none() {
                    return (false, towards);
                }
                let length = towards.iter().map(|v| v * v).sum::<f64>().sqrt().max(1e-12);
                let moved: [f64; 3] = moved(towards.map(|v| v / length));
                // Moved to where it came from, it has no direction: it stays.
                let kept = moved.iter().map(|v| v * v).sum::<f64>() > 1e-6;
                (false, if kept { moved } else { towards })
            }
        }
    }
}

/// What pictures look like.
#[derive(Clone, Debug, PartialEq)]
pub struct Render {
    /// How much work goes into a picture.
    pub quality: Quality,
    /// Rays per pixel.
    pub samples: u32,
    /// Whether smoke is interpolated by cubics where cells are seen large.
    pub smooth: bool,
    /// Optical depth of a metre of smoke of density 1.
    pub thickness: Curve,
    /// Colour of the smoke, sRGB.
    pub color: [u8; 3],
    /// How heat glows.
    pub glow: Option<Glow>,
    /// How far smoke scatters light forward.
    pub anisotropy: f64,
    /// The part of the light that smoke scatters back instead.
    pub back: f64,
    /// How much light scattered several times lifts shadows.
    pub softness: f64,
    /// How water looks.
    pub water: Water,
    /// What is around.
    pub sky: Sky,
    /// A picture of it instead.
    pub environment: Option<(File, Loaded<Panorama>)>,
    /// Degrees by which that is turned.
    pub environment_turn: Curve,
    /// Strength of the light of both.
    pub sky_light: Curve,
    /// Turbidity of the sky.
    pub haze: f64,
    /// Light from all around.
    pub ambient: Ambient,
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
    pub strength: Curve,
    /// How strongly it lights everything else.
    pub light: Curve,
    /// The colours; `None`: those of a black body.
    pub colors: Option<ColorMap>,
    /// Kelvins of a black body at the cold and the hot end.
    pub kelvin: [f64; 2],
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
