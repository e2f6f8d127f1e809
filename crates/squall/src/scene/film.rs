//! Camera, lights and appearance of 3D pictures; volumes and particles as files.

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
    /// The camera of 3D pictures.
    pub struct Camera {
        /// Angle about the vertical: 0 looks along -z, 90 along -x.
        yaw: Animated ["degrees"] (none "30"),
        /// Angle above the horizon.
        pitch: Animated ["degrees", Within(-90.0, 90.0)] (none "6; of a liquid 10"),
        /// Distance from the target.
        distance: Animated ["m", Above(0.0)] (none "so that the whole box is visible"),
        /// Position of the camera; replaces yaw, pitch and distance.
        position: AnimatedVector ["m"] (none ""),
        /// The point that the camera looks at.
        target: AnimatedVector ["m"] (|r| r.middle(); "the middle of the box"),
        /// Vertical field of view.
        fov: Animated ["degrees", Within(1.0, 170.0)] (|r| Animated::constant(if r.model == Model::Liquid { 35.0 } else { 28.0 }); "28; of a liquid 35"),
        /// Rotation about the viewing axis.
        roll: Animated ["degrees"] (Animated::constant(0.0)),
        /// Frame the smoke of each frame instead of the box, where `distance` and `target` are not given.
        follow: bool [] (false),
        /// Depth of field: radius of the lens. Needs 16 `samples` or more.
        aperture: Animated ["m", AtLeast(0.0)] (Animated::constant(0.0)),
        /// Focus distance.
        focus: Animated ["m", Above(0.0)] (none "that of the target"),
        /// Motion blur: shutter angle. 180 is half a frame, 0 off. It blurs smoke, objects and camera, but not liquids.
        shutter: f64 ["degrees", Within(0.0, 360.0)] (0.0),
        /// Orthographic instead of perspective projection.
        orthographic: bool [] (false),
        /// Empty fraction of the picture on each side, if the distance is automatic.
        margin: f64 [Within(0.0, 0.45)] (0.0),
        /// Time of a full revolution around the target.
        turntable: f64 ["s", Above(0.0)] (none "the camera stands still"),
        /// Keyframes: `time` and any of `yaw`, `pitch`, `distance`, `target`, `fov`, `roll`; omitted values are those above.
        orbit: Vec<Spanned<CameraKey>> [] (none "none"),
    }

    /// A keyframe of the camera.
    pub struct CameraKey {
        /// When.
        time: f64 ["s"] (required "2.0"),
        /// Angle about the vertical.
        yaw: f64 ["degrees"] (none "that of the camera"),
        /// Angle above the horizon.
        pitch: f64 ["degrees", Within(-90.0, 90.0)] (none "that of the camera"),
        /// Distance from the target.
        distance: f64 ["m", Above(0.0)] (none "that of the camera"),
        /// The point that the camera looks at.
        target: super::Vector ["m"] (none "that of the camera"),
        /// Vertical field of view.
        fov: f64 ["degrees", Within(1.0, 170.0)] (none "that of the camera"),
        /// Rotation about the viewing axis.
        roll: f64 ["degrees"] (none "that of the camera"),
    }

    /// A directional or a point light.
    pub struct Light {
        /// Directional light: the direction towards it; any length.
        sun: AnimatedVector [] (none ""),
        /// Point light: its position.
        point: AnimatedVector ["m"] (none ""),
        /// Its colour.
        color: Color [] (Color::hex(0xffffff)),
        /// Intensity: 1 makes a white surface white; for a point light at a distance of one metre.
        strength: Animated [Within(0.0, 1e6)] (Animated::constant(1.0)),
        /// Softness of its shadows: half the angle of a `sun` in degrees, the radius of a `point` in metres.
        size: Animated [AtLeast(0.0)] (none "2 degrees, or 0.05 m"),
    }

    /// Appearance of 3D pictures.
    pub struct Render {
        /// Render quality.
        quality: Quality [] (Quality::Final),
        /// Rays per pixel.
        samples: u32 [Within(1.0, 64.0)] (none "4; 1 for preview, 16 for best"),
        /// Cubic interpolation of smoke where a cell covers more than two pixels.
        smooth: bool [] (none "true; false for preview"),
        /// Extinction: optical depth per metre at density 1, or of liquid.
        thickness: Animated ["1/m", Within(0.0, 1e9)] (|r| Animated::constant(r.usual_thickness()); "25 / longest side; of a liquid 4 / cell"),
        /// Colour of the smoke, or of the liquid, in white light.
        color: Color [] (|r| Color::hex(if r.model == Model::Liquid { 0x4f93bd } else { 0xdcdad7 }); "`#dcdad7`; of a liquid `#4f93bd`"),
        /// Emission of light by hot smoke.
        glow: Glow [] (|r| r.burns.then(Glow::default); "none; with `[fire]` the defaults"),
        /// Anisotropy of scattering: positive values scatter forward.
        anisotropy: f64 [Within(-0.9, 0.9)] (|r| if r.model == Model::Liquid { 0.0 } else { 0.5 }; "0.5; of a liquid 0"),
        /// Fraction of the light that is scattered backward instead.
        back: f64 [Within(0.0, 1.0)] (|r| if r.model == Model::Liquid { 0.0 } else { 0.25 }; "0.25; of a liquid 0"),
        /// Strength of multiple scattering, which brightens shadows in smoke.
        softness: f64 [Within(0.0, 1.0)] (|r| if r.model == Model::Liquid { 0.5 } else { 0.8 }; "0.8; of a liquid 0.5"),
        /// Appearance of liquids.
        water: Water [LIQUID] (Water::default()),
        /// The surroundings: the background, what surfaces mirror, and, for a sky, the ambient light.
        sky: Sky [] (none "the background; `\"studio\"` for water, unless `picture.background` is given"),
        /// An equirectangular picture as surroundings, instead of `sky`: twice as wide as high, centred on +z; EXR or HDR (linear) or PNG.
        environment: String [] (none ""),
        /// Rotation of that picture about the vertical.
        environment_turn: Animated ["degrees"] (Animated::constant(0.0)),
        /// Brightness of a sky (light reflected by a white floor), or of the picture.
        sky_light: Animated [Within(0.0, 1e6)] (none "0.3; 1 for a picture"),
        /// Turbidity of a sky: 2 very clear, 3 a clear day, 6 haze.
        haze: f64 [Within(1.7, 10.0)] (3.0),
        /// Ambient light.
        ambient: Ambient [] (Ambient::default()),
        /// A floor that receives shadows; `{}` uses the defaults.
        ground: Ground [] (|r| r.is_water().then(Ground::default); "none; under water a floor of tiles"),
        /// Alpha channel instead of a background.
        transparent: bool [] (false),
    }

    /// Appearance of liquids. A named liquid (`viscosity = "honey"`) has defaults of its own.
    pub struct Water as WaterValues {
        /// Colour of white light after `depth` metres of liquid.
        tint: Color [] (|r| Color::hex(r.look().map_or(0xcbeef6, |look| look.tint)); "`#cbeef6`"),
        /// Distance after which light has the colour `tint`.
        depth: f64 ["m", Above(0.0)] (|r| r.look().map_or(0.5 * r.longest(), |look| look.depth); "half of the longest side"),
        /// Index of refraction.
        ior: f64 [Within(1.0, 3.0)] (|r| r.look().map_or(1.333, |look| look.ior); "1.333"),
        /// Roughness of the surface: blur of reflected lights.
        roughness: f64 [Within(0.0, 1.0)] (|r| r.look().map_or(0.02, |look| look.roughness); "0.02"),
        /// Subsurface colour of an opaque liquid, such as paint or wax. `tint` and `depth` then have no effect.
        body: Color [] (none "none: clear; chocolate, lava, toothpaste, slime, dough and putty have one"),
        /// Scattering distance of light in a liquid with a `body`: thinner parts shine when lit from behind.
        spread: f64 ["m", Above(0.0)] (|r| r.look().map_or(0.02 * r.longest(), |look| look.spread); "a fiftieth of the longest side"),
        /// Distance through a substance of value 1 after which light has its `color`.
        ink_depth: f64 ["m", Above(0.0)] (|r| 0.1 * r.longest(); "a tenth of the longest side"),
    }

    /// Emission of light by hot smoke.
    pub struct Glow {
        /// The substance that emits.
        substance: String [] (none "`\"temperature\"`; with `[fire]` `\"flame\"`"),
        /// Values at the cold and the hot end of the colours.
        range: Pair [] (none "from a third of the largest value emitted to all of it"),
        /// Emission per metre at the hot end. A liquid with a `body` emits as a layer of a twelfth of the longest side.
        strength: Animated ["1/m", Within(0.0, 1e9)] (|r| Animated::constant(if r.burns { 40.0 } else { 12.0 } / r.longest()); "12 / longest side; with `[fire]` 40 / longest side"),
        /// How strongly it lights smoke, objects and the ground: 1 is physical, 0 off.
        light: Animated [Within(0.0, 1e6)] (|r| Animated::constant(if r.burns { 1.0 } else { 0.0 }); "0; with `[fire]` 1"),
        /// `"blackbody"`, the name of a colour map, or a list of colours.
        colors: OneOrMany<Spanned<String>> [] (|_r| OneOrMany::One(Spanned { value: "blackbody".to_owned(), span: Span::DEFAULT }); "`\"blackbody\"`"),
        /// Black-body temperatures at the cold and the hot end.
        kelvin: Pair ["K"] (|r| Pair(if r.burns { [1000.0, 2400.0] } else { [700.0, 2300.0] }); "`[700, 2300]`; with `[fire]` `[1000, 2400]`"),
    }

    /// Ambient light.
    pub struct Ambient as AmbientValues {
        /// Colour of the light from above.
        sky: Color [] (|r| Color::hex(if r.is_water() { 0x9da1a8 } else { 0x737f90 }); "`#737f90`; around water `#9da1a8`"),
        /// Colour of the light from below.
        below: Color [] (|r| Color::hex(if r.is_water() { 0x7c7c7c } else { 0x3f3c38 }); "`#3f3c38`; around water `#7c7c7c`"),
        /// Strength of ambient occlusion by smoke and objects.
        occlusion: f64 [Within(0.0, 1.0)] (|r| if r.is_water() { 0.7 } else { 0.85 }; "0.85; around water 0.7"),
    }

    /// A horizontal floor.
    pub struct Ground as GroundValues {
        /// Its height.
        height: f64 ["m"] (|r| r.bottom(); "the bottom of the box"),
        /// Its colour.
        color: Color [] (|r| Color::hex(if r.is_water() { 0xc4c8cc } else { 0x817f7c }); "`#817f7c`; under water `#c4c8cc`"),
        /// Side length of its tiles; 0: no tiles.
        tiles: f64 ["m", AtLeast(0.0)] (|r| if r.is_water() { r.longest() / 10.0 } else { 0.0 }; "0; under water a tenth of the longest side"),
        /// Colour between tiles.
        joints: Color [] (Color::hex(0x959ba4)),
        /// Surface roughness, 0 (mirror) to 1 (matt).
        roughness: f64 [Within(0.0, 1.0)] (|r| if r.is_water() { 0.9 } else { 0.6 }; "0.6; under water 0.9"),
        /// Fraction of the light on the ground that is reflected up to smoke and objects, instead of `ambient.below`.
        bounce: f64 [Within(0.0, 1.0)] (|r| if r.is_water() { 0.0 } else { 1.0 }; "1; under water 0"),
        /// It fades into the background between these distances from the centre.
        fade: Pair ["m"] (none "1 to 4 times the size of what is shown; under a sky 6 to 160 times"),
        /// Draw only the shadows on it.
        only_shadow: bool [] (false),
    }

    /// Which volumes are written.
    pub struct VdbTable {
        /// Substances, `"velocity"` and `"pressure"`; `"surface"`, the distance to the surface of a liquid.
        fields: Vec<Spanned<String>> [] (none "all substances; `\"surface\"` of a liquid"),
        /// 16-bit instead of 32-bit floats.
        half: bool [] (true),
        /// Include the detail of the texture, at its resolution.
        detail: bool [] (none "true if there is a `[texture]`"),
        /// Up axis: `"z"` rotates volumes for programs with z up. See [Blender](blender.md) and [Houdini](houdini.md).
        up: Up [] (Up::Y),
        /// Omit values below 1/1000 of the largest emitted value, and velocity and pressure more than two cells away from smoke.
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
