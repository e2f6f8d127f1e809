//! How 3D pictures are taken: camera, lights, looks; and volumes and particles as files.

use serde_json::{Value as Json, json};

use super::LIQUID;
use super::choices::{Model, ParticleFormat, Quality, Sky, Up};
use super::key::Range::{Above, AtLeast, Within};
use super::kind::{Kind, OneOrMany, Reader};
use super::table::table;
use super::tree::{Node, Value};
use super::write::Writer;
use super::{Animated, AnimatedVector, Color, Pair};
use crate::diagnostic::{Span, Spanned};
use crate::setup::Resolver;

table! {
    /// Where 3D pictures are taken from.
    pub struct Camera {
        /// Around the vertical: 0 looks along -z, 90 along -x.
        yaw: Animated ["degrees"] (none "30"),
        /// Above the horizon.
        pitch: Animated ["degrees", Within(-90.0, 90.0)] (none "6; of a liquid 10"),
        /// From the target.
        distance: Animated ["m", Above(0.0)] (none "such that the whole box is seen"),
        /// Where the camera stands; instead of yaw, pitch and distance.
        position: AnimatedVector ["m"] (none ""),
        /// What is in the middle of the picture.
        target: AnimatedVector ["m"] (|r| r.middle(); "the middle of the box"),
        /// Angle between the bottom and the top of the picture.
        fov: Animated ["degrees", Within(1.0, 170.0)] (|r| Animated::constant(if r.model == Model::Liquid { 35.0 } else { 28.0 }); "28; of a liquid 35"),
        /// Turned about its axis.
        roll: Animated ["degrees"] (Animated::constant(0.0)),
        /// Whether the smoke of each frame is framed instead of the box, where `distance` and `target` are not given.
        follow: bool [] (false),
        /// Radius of the lens: what is nearer or further than `focus` is blurred. Wants 16 `samples` or more.
        aperture: Animated ["m", AtLeast(0.0)] (Animated::constant(0.0)),
        /// Distance at which things are sharp.
        focus: Animated ["m", Above(0.0)] (none "that of the target"),
        /// How long the shutter is open: 180 is half of the time between two frames, 0 a moment. Smoke, objects and camera are blurred by their motion; water is not.
        shutter: f64 ["degrees", Within(0.0, 360.0)] (0.0),
        /// Whether nothing shrinks with distance.
        orthographic: bool [] (false),
        /// The part of the picture left free on each side where the distance is chosen for you.
        margin: f64 [Within(0.0, 0.45)] (0.0),
        /// Time for a whole turn around the target.
        turntable: f64 ["s", Above(0.0)] (none "the camera stands still"),
        /// Where the camera is at some times: `time` and any of `yaw`, `pitch`, `distance`, `target`, `fov`, `roll`; what a key does not say is as above.
        orbit: Vec<Spanned<CameraKey>> [] (none "none"),
    }

    /// Where the camera is at one time.
    pub struct CameraKey {
        /// When.
        time: f64 ["s"] (required "2.0"),
        /// Around the vertical.
        yaw: f64 ["degrees"] (none "that of the camera"),
        /// Above the horizon.
        pitch: f64 ["degrees", Within(-90.0, 90.0)] (none "that of the camera"),
        /// From the target.
        distance: f64 ["m", Above(0.0)] (none "that of the camera"),
        /// What is in the middle of the picture.
        target: super::Vector ["m"] (none "that of the camera"),
        /// Angle between the bottom and the top of the picture.
        fov: f64 ["degrees", Within(1.0, 170.0)] (none "that of the camera"),
        /// Turned about its axis.
        roll: f64 ["degrees"] (none "that of the camera"),
    }

    /// A light: either far away or at a place.
    pub struct Light {
        /// The direction towards a light that is very far away; any length.
        sun: AnimatedVector [] (none ""),
        /// The place of a light.
        point: AnimatedVector ["m"] (none ""),
        /// Its colour.
        color: Color [] (Color::hex(0xffffff)),
        /// How strong: 1 makes a white surface white; of a point light, at a distance of one metre.
        strength: Animated [Within(0.0, 1e6)] (Animated::constant(1.0)),
        /// How soft its shadows are: half the angle of a sun in degrees, the radius of a point in metres.
        size: Animated [AtLeast(0.0)] (none "2 degrees, or 0.05 m"),
    }

    /// What 3D pictures look like.
    pub struct Render {
        /// How much work goes into a picture.
        quality: Quality [] (Quality::Final),
        /// Rays per pixel.
        samples: u32 [Within(1.0, 64.0)] (none "4; 1 for a preview, 16 for the best"),
        /// Whether smoke is interpolated by cubics where a cell is seen larger than two pixels.
        smooth: bool [] (none "true; false for a preview"),
        /// Optical depth of a metre of smoke of density 1, or of liquid.
        thickness: Animated ["1/m", Within(0.0, 1e9)] (|r| Animated::constant(r.usual_thickness()); "25 / longest side; of a liquid 4 / cell"),
        /// Colour of the smoke, or of the liquid, in white light.
        color: Color [] (|r| Color::hex(if r.model == Model::Liquid { 0x4f93bd } else { 0xdcdad7 }); "`#dcdad7`; of a liquid `#4f93bd`"),
        /// How heat glows.
        glow: Glow [] (none "not at all"),
        /// How far smoke scatters light forward.
        anisotropy: f64 [Within(-0.9, 0.9)] (|r| if r.model == Model::Liquid { 0.0 } else { 0.5 }; "0.5; of a liquid 0"),
        /// The part of the light that smoke scatters back instead.
        back: f64 [Within(0.0, 1.0)] (|r| if r.model == Model::Liquid { 0.0 } else { 0.25 }; "0.25; of a liquid 0"),
        /// How much light scattered several times lifts shadows in smoke.
        softness: f64 [Within(0.0, 1.0)] (|r| if r.model == Model::Liquid { 0.5 } else { 0.8 }; "0.8; of a liquid 0.5"),
        /// How water looks.
        water: Water [LIQUID] (Water::default()),
        /// What is around: behind everything, in what surfaces mirror, and, if it is a sky or a picture, as light from all around instead of `ambient`.
        sky: Sky [] (none "the background; `\"studio\"` for water, unless `picture.background` is given"),
        /// A picture of all around instead of `sky`: twice as wide as high, its middle towards +z; EXR or HDR in linear light, or PNG.
        environment: String [] (none ""),
        /// How far that picture is turned about the vertical.
        environment_turn: Animated ["degrees"] (Animated::constant(0.0)),
        /// Strength of a sky, as light that a white floor sends back of it, or of the picture.
        sky_light: Animated [Within(0.0, 1e6)] (none "0.3; 1 for a picture"),
        /// How hazy a sky is: 2 very clear, 3 a clear day, 6 haze.
        haze: f64 [Within(1.7, 10.0)] (3.0),
        /// Light from all around.
        ambient: Ambient [] (Ambient::default()),
        /// A floor that catches shadows, `{}` at least.
        ground: Ground [] (|r| r.is_water().then(Ground::default); "none; under water a floor of tiles"),
        /// Whether pictures have no background.
        transparent: bool [] (false),
    }

    /// How water looks.
    pub struct Water as WaterValues {
        /// The colour of white light after `depth` metres of it.
        tint: Color [] (Color::hex(0xcbeef6)),
        /// How many metres that takes.
        depth: f64 ["m", Above(0.0)] (|r| 0.5 * r.longest(); "half of the longest side"),
        /// How strongly it bends light.
        ior: f64 [Within(1.0, 3.0)] (1.333),
        /// How blurred lights are in its surface.
        roughness: f64 [Within(0.0, 1.0)] (0.02),
        /// How many metres of it with an amount of 1 give light the `color` of a substance.
        ink_depth: f64 ["m", Above(0.0)] (|r| 0.1 * r.longest(); "a tenth of the longest side"),
    }

    /// How heat glows.
    pub struct Glow {
        /// What glows.
        substance: String [] (none "`\"temperature\"`"),
        /// Values at the cold and the hot end.
        range: Pair [] (none "from a third of the largest value emitted to all of it"),
        /// Light sent out per metre at the hot end.
        strength: Animated ["1/m", Within(0.0, 1e9)] (|r| Animated::constant(12.0 / r.longest()); "12 / longest side"),
        /// How strongly it lights smoke, objects and the ground: 1 as much as it sends out, 0 not at all.
        light: Animated [Within(0.0, 1e6)] (Animated::constant(0.0)),
        /// `"blackbody"`, the name of a colour map, or a list of colours.
        colors: OneOrMany<Spanned<String>> [] (|_r| OneOrMany::One(Spanned { value: "blackbody".to_owned(), span: Span::DEFAULT }); "`\"blackbody\"`"),
        /// Temperatures of a black body at the cold and the hot end, for its colours.
        kelvin: Pair ["K"] (Pair([700.0, 2300.0])),
    }

    /// Light from all around.
    pub struct Ambient as AmbientValues {
        /// Colour of the light from above.
        sky: Color [] (|r| Color::hex(if r.is_water() { 0x9da1a8 } else { 0x737f90 }); "`#737f90`; around water `#9da1a8`"),
        /// Colour of the light from below.
        below: Color [] (|r| Color::hex(if r.is_water() { 0x7c7c7c } else { 0x3f3c38 }); "`#3f3c38`; around water `#7c7c7c`"),
        /// How much of it smoke and objects keep from what they cover.
        occlusion: f64 [Within(0.0, 1.0)] (|r| if r.is_water() { 0.7 } else { 0.85 }; "0.85; around water 0.7"),
    }

    /// A horizontal floor.
    pub struct Ground as GroundValues {
        /// Its height.
        height: f64 ["m"] (|r| r.bottom(); "the bottom of the box"),
        /// Its colour.
        color: Color [] (|r| Color::hex(if r.is_water() { 0xc4c8cc } else { 0x817f7c }); "`#817f7c`; under water `#c4c8cc`"),
        /// The side of its tiles; 0: it has none.
        tiles: f64 ["m", AtLeast(0.0)] (|r| if r.is_water() { r.longest() / 10.0 } else { 0.0 }; "0; under water a tenth of the longest side"),
        /// The colour between tiles.
        joints: Color [] (Color::hex(0x959ba4)),
        /// 0 polished to 1 matt.
        roughness: f64 [Within(0.0, 1.0)] (|r| if r.is_water() { 0.9 } else { 0.6 }; "0.6; under water 0.9"),
        /// How much of the light that falls on it goes up again to smoke and objects, instead of `ambient.below`.
        bounce: f64 [Within(0.0, 1.0)] (|r| if r.is_water() { 0.0 } else { 1.0 }; "1; under water 0"),
        /// It fades into the background between these distances from the middle.
        fade: Pair ["m"] (none "between once and four times the size of what is shown; under a sky 6 and 160 times"),
        /// Whether only its shadows are drawn.
        only_shadow: bool [] (false),
    }

    /// Which volumes are written.
    pub struct VdbTable {
        /// Substances, `"velocity"` and `"pressure"`; `"surface"`, the distance to the surface of a liquid.
        fields: Vec<Spanned<String>> [] (none "all substances; `\"surface\"` of a liquid"),
        /// Whether numbers have 16 bits instead of 32.
        half: bool [] (true),
        /// Whether substances have the detail of the texture, at its resolution.
        detail: bool [] (none "true if there is a `[texture]`"),
        /// Which axis is up: `"z"` turns volumes for programs with z up. See [Blender](blender.md) and [Houdini](houdini.md).
        up: Up [] (Up::Y),
        /// Whether values below a thousandth of the most that is emitted are left out, and velocity and pressure more than two cells away from smoke.
        mask: bool [] (true),
    }
}

impl Light {
    /// The lights of scenes that name none: a warm one from the upper left, a cool one from behind.
    pub(crate) fn usual(water: bool) -> Vec<Spanned<Light>> {
        let sun = |towards: [f64; 3], color, strength: f64| {
            let value = Light {
                sun: default(AnimatedVector::constant(&towards)),
                color: default(Color::hex(color)),
                strength: default(Animated::constant(strength)),
                ..Light::default()
            };
            Spanned { value, span: Span::DEFAULT }
        };
        match water {
            true => vec![sun([-0.55, 0.85, -0.3], 0xfffcf6, 0.8), sun([0.7, 0.6, 0.5], 0xe7f3ff, 0.18)],
            // For a camera at the usual yaw: from the left and slightly behind, and a rim from behind on the right.
            false => vec![sun([-0.85, 0.8, -0.05], 0xfff1de, 0.9), sun([0.35, 0.35, -0.9], 0xcfe2ff, 0.35)],
        }
    }
}

fn default<T>(value: T) -> Option<Spanned<T>> {
    Some(Spanned { value, span: Span::DEFAULT })
}

/// `true`, `false`, or a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Vdb {
    /// Not at all.
    None,
    /// With values.
    Table(Box<VdbTable>),
}

impl Kind for Vdb {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match &node.value {
            Value::Bool(false) => Some(Vdb::None),
            Value::Bool(true) => Some(Vdb::Table(Box::default())),
            Value::Table(_) => VdbTable::read(node, reader).map(|table| Vdb::Table(Box::new(table))),
            _ => reader.wrong(node, "true, false or a table", "for example { fields = [\"density\", \"velocity\"] }"),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [{ "type": "boolean" }, VdbTable::schema()] })
    }
    fn kind() -> String {
        "true, false or a table".to_owned()
    }
    fn write(&self, writer: &Writer) -> String {
        match self {
            Vdb::None => "false".to_owned(),
            Vdb::Table(table) => table.write(writer),
        }
    }
    fn complete(&mut self, span: Span, path: &str, resolver: &mut Resolver<'_>) {
        if let Vdb::Table(table) = self {
            table.complete(span, path, resolver);
        }
    }
}

/// `true`, `false`, or a list of files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Particles(pub Vec<ParticleFormat>);

impl Kind for Particles {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match &node.value {
            Value::Bool(false) => Some(Particles(Vec::new())),
            Value::Bool(true) => Some(Particles(vec![ParticleFormat::Ply])),
            Value::List(_) => Vec::read(node, reader).map(Particles),
            _ => reader.wrong(node, "true, false or a list", "for example [\"ply\", \"vdb\"]"),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [{ "type": "boolean" }, Vec::<ParticleFormat>::schema()] })
    }
    fn kind() -> String {
        format!("true, false or a {}", Vec::<ParticleFormat>::kind())
    }
    fn write(&self, writer: &Writer) -> String {
        self.0.write(writer)
    }
}
