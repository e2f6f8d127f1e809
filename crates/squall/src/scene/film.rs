//! How 3D pictures are taken: camera, lights, looks; and volumes as files.

use serde_json::{Value as Json, json};

use super::choices::{Quality, Up};
use super::read::{OneOrMany, Read, Reader, plain_key, read_keys, table};
use super::tree::{Node, Value};
use crate::diagnostic::Spanned;

table! {
    /// Where 3D pictures are taken from.
    pub struct Camera {
        /// Degrees around the vertical: 0 looks along -z, 90 along -x. Default 30.
        yaw: f64,
        /// Degrees above the horizon. Default 10.
        pitch: f64,
        /// Metres from the target. Default: such that the whole box is seen.
        distance: f64,
        /// Where the camera stands, metres; instead of yaw, pitch and distance.
        position: Vec<Spanned<f64>>,
        /// What is in the middle of the picture, metres. Default: the middle of the box.
        target: Vec<Spanned<f64>>,
        /// Angle between the bottom and the top of the picture, degrees. Default 35.
        fov: f64,
        /// Turned about its axis, degrees. Default 0.
        roll: f64,
        /// Whether nothing shrinks with distance. Default false.
        orthographic: bool,
        /// The part of the picture left free on each side where the distance is chosen for you. Default 0.
        margin: f64,
        /// Seconds for a whole turn around the target. Default: the camera stands still.
        turntable: f64,
        /// Where the camera is at some times; what a key does not say is as above.
        orbit: Vec<Spanned<CameraKey>>,
    }

    /// Where the camera is at one time.
    pub struct CameraKey {
        /// Seconds. Required.
        time: f64,
        /// Degrees around the vertical.
        yaw: f64,
        /// Degrees above the horizon.
        pitch: f64,
        /// Metres from the target.
        distance: f64,
        /// What is in the middle of the picture, metres.
        target: Vec<Spanned<f64>>,
        /// Angle between the bottom and the top of the picture, degrees.
        fov: f64,
        /// Turned about its axis, degrees.
        roll: f64,
    }

    /// A light: either far away or at a place.
    pub struct Light {
        /// The direction towards a light that is very far away; any length.
        sun: Vec<Spanned<f64>>,
        /// The place of a light, metres.
        point: Vec<Spanned<f64>>,
        /// Colour "#rrggbb". Default white.
        color: String,
        /// How strong: 1 makes a white surface white; of a point light, at a distance of one metre. Default 1.
        strength: f64,
        /// How soft its shadows are: half the angle in degrees of a sun (2), the radius in metres of a point (0.05).
        size: f64,
    }

    /// What 3D pictures look like.
    pub struct Render {
        /// How much work goes into a picture. Default "final".
        quality: Quality,
        /// Rays per pixel, 1 to 16. Default: 1 for a preview, else 4.
        samples: u64,
        /// Optical depth of a metre of smoke of density 1. Default: 25 divided by the longest side of the box.
        thickness: f64,
        /// Colour of the smoke in white light. Default "#f1f0ef".
        color: String,
        /// How heat glows. Default: not at all.
        glow: Glow,
        /// How far smoke scatters light forward, -0.9 to 0.9. Default 0.2.
        anisotropy: f64,
        /// How much light scattered several times lifts shadows in smoke, 0 to 1. Default 1.
        softness: f64,
        /// Light from all around.
        ambient: Ambient,
        /// A floor that catches shadows. Default: none.
        ground: Ground,
        /// Whether pictures have no background. Default false.
        transparent: bool,
    }

    /// How heat glows.
    pub struct Glow {
        /// What glows. Default "temperature".
        substance: String,
        /// Values at the cold and the hot end. Default: from a third of the largest value emitted to all of it.
        range: Vec<Spanned<f64>>,
        /// Light sent out per metre at the hot end. Default: 12 divided by the longest side of the box.
        strength: f64,
        /// "blackbody", the name of a colour map, or a list of colours. Default "blackbody".
        colors: OneOrMany<Spanned<String>>,
        /// Kelvins of a black body at the cold and the hot end, for its colours. Default [700, 2300].
        kelvin: Vec<Spanned<f64>>,
    }

    /// Light from all around.
    pub struct Ambient {
        /// Colour of the light from above. Default "#737f90".
        sky: String,
        /// Colour of the light from below. Default "#3f3c38".
        below: String,
        /// How much of it smoke and objects keep from what they cover, 0 to 1. Default 0.85.
        occlusion: f64,
    }

    /// A horizontal floor.
    pub struct Ground {
        /// Its height, metres. Default: the bottom of the box.
        height: f64,
        /// Colour "#rrggbb". Default "#817f7c".
        color: String,
        /// 0 polished to 1 matt. Default 0.9.
        roughness: f64,
        /// It fades into the background between these distances from the middle, metres. Default: between once and four times the size of what is shown.
        fade: Vec<Spanned<f64>>,
        /// Whether only its shadows are drawn. Default false.
        only_shadow: bool,
    }

    /// Which volumes are written.
    pub struct VdbTable {
        /// Substances, "velocity" and "pressure". Default: all substances.
        fields: Vec<Spanned<String>>,
        /// Whether numbers have 16 bits instead of 32. Default true.
        half: bool,
        /// Whether substances have the detail of the texture, and its resolution. Default: true if there is a texture.
        detail: bool,
        /// Which axis is up. Default "y", as in the scene.
        up: Up,
        /// Whether faint values are left out, and velocity and pressure away from smoke. Default true.
        mask: bool,
    }
}

/// `true`, `false`, or a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Vdb {
    /// With default values, or not at all.
    Plain(bool),
    /// With values.
    Table(Box<VdbTable>),
}

impl Read for Vdb {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match &node.value {
            Value::Bool(value) => Some(Vdb::Plain(*value)),
            Value::Table(_) => VdbTable::read(node, reader).map(|table| Vdb::Table(Box::new(table))),
            _ => reader.wrong(node, "true, false or a table", "for example { fields = [\"density\", \"velocity\"] }"),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [{ "type": "boolean" }, VdbTable::schema()] })
    }
}
