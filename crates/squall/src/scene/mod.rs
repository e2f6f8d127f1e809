//! What was typed: the scene file, key by key, with the place of every value. Nothing is filled in or checked here
//! beyond the kind of each value; [`Scene::setup`] does the rest.

pub mod choices;
mod film;
mod flipbook;
mod looped;
pub(crate) mod read;
mod shapes;
mod sides;
mod target;
mod texture;
pub(crate) mod tree;

use choices::{
    AdvectWith, Advection, Diffusion, FadeLaw, Green, Matching, Model, Movie, Pass, PictureMode, Solids, Splitting,
    Tracer,
};
pub use film::*;
pub use flipbook::*;
pub use looped::*;
pub use read::{Named, NumberOrText, OneOrMany};
use read::{Read, Reader, plain_key, read_keys, table};
pub use shapes::*;
pub use sides::*;
pub use target::*;
pub use texture::*;
use tree::Node;

use crate::assets::Assets;
use crate::diagnostic::{Problem, Problems, SceneError, Sources, Spanned};
use crate::setup::Setup;

/// Largest scene file, in bytes.
pub const MAX_BYTES: usize = 1 << 20;

/// A scene file as it was typed.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The texts it was read from.
    pub sources: Sources,
    /// What they say.
    pub file: SceneFile,
    /// Where the files are that it names.
    pub assets: Assets,
}

impl Scene {
    /// Reads a scene. `name` is what messages call the file; each override is `key.path=value`, as after `--set`.
    pub fn parse(name: &str, text: &str, overrides: &[String]) -> Result<Scene, SceneError> {
        let mut sources = Sources::default();
        let too_big = text.len() > MAX_BYTES;
        let main = sources.add(name, if too_big { "" } else { text });
        let numbers: Vec<usize> = overrides.iter().map(|o| sources.add("--set", o)).collect();

        let mut problems = Problems::new(&sources);
        let mut file = None;
        if too_big {
            let message = format!("{name} has {} bytes; a scene has at most {MAX_BYTES}", text.len());
            problems.error(None, message, "").help("is this really a scene file?");
        } else if let Some(mut root) = tree::parse(text, main, &mut problems) {
            for (number, text) in numbers.into_iter().zip(overrides) {
                tree::apply_override(&mut root, text, number, &mut problems);
            }
            file = SceneFile::read(&root, &mut Reader { problems: &mut problems, path: Vec::new() });
        }
        problems.into_result()?;
        // Whoever returns no file has said why, and that was an error.
        Ok(Scene { file: file.unwrap_or_default(), sources, assets: Assets::none() })
    }

    /// The same scene, with the files that it may name.
    pub fn with_assets(self, assets: Assets) -> Scene {
        Scene { assets, ..self }
    }

    /// Fills in defaults and checks everything. Warnings come along with the result.
    pub fn setup(&self) -> Result<(Setup, Vec<Problem>), SceneError> {
        Setup::resolve(self)
    }
}

table! {
    /// A Squall scene.
    pub struct SceneFile {
        /// What the scene shows, in a sentence.
        description: String,
        /// Which model computes the fluid. Default "stable_fluids".
        model: Model,
        /// Seed of everything random. Default 1.
        seed: u64,
        /// The box of cells. Required.
        grid: Grid,
        /// What bounds the box. Default: slip walls everywhere; smoke has no bounds.
        boundary: Boundary,
        /// The fluid itself.
        fluid: Fluid,
        /// What the fluid carries: one table per substance, with a name of your choice.
        substance: Named<Substance>,
        /// What smoke does; for the model "smoke".
        smoke: Smoke,
        /// What smoke is to become; for the model "target_smoke".
        target: Vec<Spanned<Target>>,
        /// How it is guided there; for the model "target_smoke".
        guide: Guide,
        /// Emitters.
        source: Vec<Spanned<Source>>,
        /// Solids in the way of the fluid; for the models "smoke" and "target_smoke".
        object: Vec<Spanned<Object>>,
        /// Forces.
        force: Vec<Spanned<Force>>,
        /// What is painted on the fluid and moves with it.
        texture: Texture,
        /// How the fluid is computed.
        solver: Solver,
        /// Frames and their rate.
        time: Time,
        /// What is written.
        output: Output,
        /// What frames look like.
        picture: Picture,
        /// Where 3D pictures are taken from.
        camera: Camera,
        /// Lights of 3D pictures. Default: a warm one from the upper left, a cool one from behind.
        light: Vec<Spanned<Light>>,
        /// What 3D pictures look like.
        render: Render,
        /// How `squall flipbook` packs frames into textures.
        flipbook: Flipbook,
    }

    /// The box of cells.
    pub struct Grid {
        /// Cells along each axis: two numbers make a 2D scene, three a 3D one. Required.
        cells: Vec<Spanned<u64>>,
        /// Length of the box along each axis, in metres. Default: 1 m along x and cubic cells.
        size: Vec<Spanned<f64>>,
        /// Lower corner of the box, in metres. Default 0.
        origin: Vec<Spanned<f64>>,
    }

    /// What bounds the box along each axis.
    pub struct Boundary {
        /// Left and right.
        x: AxisEnds,
        /// Bottom and top.
        y: AxisEnds,
        /// Far and near; 3D only.
        z: AxisEnds,
    }

    /// The fluid itself.
    pub struct Fluid {
        /// Kinematic viscosity, m^2/s. Default 0. Air 1.5e-5, water 1e-6, honey 5e-3.
        viscosity: f64,
        /// Velocity at the start, m/s: one number or expression per axis. Default at rest.
        velocity: Vec<Spanned<NumberOrText>>,
        /// Size in metres of the features of `noise` in expressions and emitters. Default 1/8 of the longest side.
        noise_scale: f64,
    }

    /// What smoke does. It always carries `density`, and `temperature` in kelvins above that of the air.
    pub struct Smoke {
        /// Upward acceleration for each kelvin above the air, m/s^2. Default 0.0335, that of air at room temperature.
        rise: f64,
        /// Downward acceleration for a density of 1, m/s^2. Default 0.
        fall: f64,
        /// How fast smoke vanishes, 1/s. Default 0.15.
        fade: f64,
        /// How it vanishes. Default "thin_first".
        fade_law: FadeLaw,
        /// How fast heat is lost, 1/s. Default 0.4.
        cooling: f64,
        /// What a body at 1000 K above the air loses by radiation, K/s; falls with the fourth power. Default 0.
        radiation: f64,
        /// Strength of the force that keeps small whirls alive. Default 0.3.
        confinement: f64,
        /// Velocity of the air around, m/s. Default at rest.
        wind: Vec<Spanned<f64>>,
        /// Cells of clean air kept around the smoke where the grid follows it. Default 3.
        buffer: u64,
    }

    /// Something that the fluid carries: smoke, heat, dye.
    pub struct Substance {
        /// Diffusion, m^2/s. Default 0.
        diffusion: f64,
        /// How fast it vanishes, 1/s. Default 0.
        dissipation: f64,
        /// Value at the start: a number or an expression. Default 0.
        initial: NumberOrText,
        /// Values held on sides of the box. Default: walls are insulated; 0 where fluid flows in or the side is open.
        boundary: SubstanceBoundary,
        /// Colour "#rrggbb" where several substances are shown together. Default: a palette.
        color: String,
        /// What appears each second everywhere: an expression over position, time and all fields.
        source: NumberOrText,
        /// Less than this counts as nothing, where the grid follows the smoke. Default: 1/500 of the largest value emitted.
        threshold: f64,
        /// What it is formed like at the start; for the model "target_smoke".
        start: Start,
        /// How strongly it is driven to its targets: a number, keyframes [[time, value], ...], or "auto"; for the model "target_smoke". Default "auto".
        drive: Dial,
        /// How strongly it is gathered where its targets are: a number, keyframes, or "auto"; for the model "target_smoke". Default "auto".
        gathering: Dial,
        /// How strongly drive and gathering bring smoke to where it is missing; 0: not at all, as in the paper; for the model "target_smoke". Default 1.
        levelling: f64,
        /// How the amounts of smoke and target are made equal; for the model "target_smoke". Default "mass".
        r#match: Matching,
    }

    /// Values of a substance on the sides of the box.
    pub struct SubstanceBoundary {
        /// Left and right.
        x: SubstanceEnds,
        /// Bottom and top.
        y: SubstanceEnds,
        /// Far and near; 3D only.
        z: SubstanceEnds,
    }

    /// An emitter. It needs a place and something to do: set, rate, velocity, sink or expansion.
    pub struct Source {
        /// Where it is. Required, unless it follows an object: then it is the skin of that object.
        shape: Shape,
        /// Width in metres of its soft edge. Default: one cell.
        softness: f64,
        /// Substances are held at these values inside, for example { density = 1.0 }.
        set: Named<f64>,
        /// This much of each substance is added inside, per second.
        rate: Named<f64>,
        /// Fluid inside is pushed to this velocity, m/s. Default: left alone.
        velocity: Vec<Spanned<f64>>,
        /// How fast all substances vanish inside, 1/s. Default 0.
        sink: f64,
        /// How much fluid appears inside, per volume and second. Default 0.
        expansion: f64,
        /// Modulates the emission by smooth noise, 0 to 1, so that plumes look alive. Default 0.
        noise: f64,
        /// When it starts, seconds. Default 0.
        from: f64,
        /// When it stops, seconds. Default: never.
        to: f64,
        /// It starts again after this many seconds, again and again.
        every: f64,
        /// How far the shape is moved from where it was built, metres. Default 0.
        position: Vec<Spanned<f64>>,
        /// How far it is turned about x, y and z, degrees, in this order (2D: one number). Default 0.
        rotation: OneOrMany<Spanned<f64>>,
        /// How many times larger it is than it was built. Default 1.
        scale: f64,
        /// The point of the shape about which it turns and grows. Default: the middle of the shape; the origin of a mesh.
        pivot: Vec<Spanned<f64>>,
        /// How it moves. Default: not at all.
        motion: Motion,
        /// The name of an object that it is a part of and moves with.
        follow: String,
        /// Whether fluid inside takes the velocity of the moving shape. Default: if it moves.
        drag: bool,
    }

    /// A force: exactly one kind, and when it acts.
    pub struct Force {
        /// Makes a substance rise (or sink).
        buoyancy: Buoyancy,
        /// The same acceleration everywhere, m/s^2.
        uniform: Vec<Spanned<f64>>,
        /// Draws the fluid towards a velocity.
        wind: Wind,
        /// Turns the fluid about a point (3D: about an axis).
        vortex: Vortex,
        /// Stirs with smooth noise.
        noise: Noise,
        /// Pushes away from a point, or towards it.
        radial: Radial,
        /// Moves a rod along a path through the fluid.
        stir: Stir,
        /// Acceleration in m/s^2: one number or expression per axis, over position, time and all fields.
        expression: Vec<Spanned<NumberOrText>>,
        /// When it starts, seconds. Default 0.
        from: f64,
        /// When it stops, seconds. Default: never.
        to: f64,
    }

    /// Makes a substance rise: acceleration strength * (value - ambient) upwards, along +y.
    pub struct Buoyancy {
        /// Which substance. Required.
        substance: String,
        /// Acceleration per unit of the substance, m/s^2; negative sinks. Default 1.
        strength: f64,
        /// The value at which nothing rises. Default 0.
        ambient: f64,
    }

    /// Draws the fluid towards a velocity.
    pub struct Wind {
        /// The velocity, m/s. Required.
        velocity: Vec<Spanned<f64>>,
        /// How fast the fluid takes it up, 1/s. Default 1.
        rate: f64,
    }

    /// Turns the fluid counter-clockwise about a point (3D: about an axis).
    pub struct Vortex {
        /// A point of the axis, metres. Required.
        center: Vec<Spanned<f64>>,
        /// Direction of the axis; 3D only. Default [0, 0, 1], towards the viewer.
        axis: Vec<Spanned<f64>>,
        /// How wide, metres. Required.
        radius: f64,
        /// Acceleration at the centre, m/s^2; negative turns clockwise. Required.
        strength: f64,
    }

    /// Stirs with smooth noise that has no divergence.
    pub struct Noise {
        /// RMS acceleration, m/s^2; per unit of the substance, if one is named. Required.
        strength: f64,
        /// Size of its features, metres. Default: fluid.noise_scale.
        scale: f64,
        /// How fast it changes, 1/s. Default 4.
        speed: f64,
        /// Proportional to this substance. Default: the same everywhere.
        substance: String,
    }

    /// Pushes away from a point; towards it if the strength is negative.
    pub struct Radial {
        /// The point, metres. Required.
        center: Vec<Spanned<f64>>,
        /// How wide, metres. Required.
        radius: f64,
        /// Acceleration, m/s^2. Required.
        strength: f64,
    }

    /// How the fluid is computed.
    pub struct Solver {
        /// How values are carried along. Default "maccormack".
        advection: Advection,
        /// How a step is split. Default "lagged_pressure".
        splitting: Splitting,
        /// Which velocity carries. Default "face".
        advect_with: AdvectWith,
        /// How paths are traced. Default "auto".
        tracer: Tracer,
        /// How viscosity and diffusion are stepped. Default "implicit".
        diffusion: Diffusion,
        /// Strength of the checkerboard filter, 0 to 1. Default: chosen by the advection scheme.
        filter: f64,
        /// Most cells that fluid may cross in one step. Default 2; 0.8 for the model "target_smoke".
        cfl: f64,
        /// Longest step, seconds. Default: no limit but the frame and cfl.
        max_dt: f64,
        /// Fewest steps in a frame. Default 1.
        steps_per_frame: u64,
        /// How solids enter the grid; for the models "smoke" and "target_smoke". Default "cut_cells".
        solids: Solids,
    }

    /// Frames and their rate.
    pub struct Time {
        /// Frames per second. Default 30.
        fps: f64,
        /// Frames 1 to this are written; frame k shows the time k / fps. Default 90.
        frames: u64,
        /// Also write frame 0, the initial state. Default false.
        include_start: bool,
        /// The run becomes a loop of so many frames, whose last leads into its first; it is made after `frames` frames.
        r#loop: Loop,
    }

    /// What is written.
    pub struct Output {
        /// Width of the pictures in pixels. Default 640.
        width: u64,
        /// Height of the pictures in pixels; 3D only. Default: as the box.
        height: u64,
        /// Bits per colour of the pictures: 8 or 16 (3D with a camera only). Default 8.
        bits: u64,
        /// Whether pictures are also written in linear light with opacity and depth (.exr); 3D with a camera only. Default false.
        exr: bool,
        /// Whether volumes are written for other programs and for `squall render` (.vdb); 3D only. Default: true for smoke.
        vdb: Vdb,
        /// The movie written at the end. Default "gif".
        movie: Movie,
        /// Fields written raw (.npy) for each frame: substances, "velocity", "pressure", "vorticity", "speed". Default none.
        fields: Vec<Spanned<String>>,
        /// What is written for each frame besides the picture, for compositing and games. Default none.
        passes: Vec<Spanned<Pass>>,
        /// What more green means in the PNG maps of passes. Default "up".
        green: Green,
        /// Wall-clock seconds between checkpoints; 0 writes none. Default 60.
        checkpoint_seconds: f64,
    }

    /// What frames look like.
    pub struct Picture {
        /// A substance, "substances" (all, in their colours), "speed", "vorticity", "pressure" or (in 2D) "texture". Default: the first substance, else "speed".
        show: String,
        /// Name of a colour map, or a list of colours "#rrggbb" from low to high. Default "inferno", "smoke" for substances in 3D, "diverging" for vorticity and pressure in 2D.
        map: OneOrMany<Spanned<String>>,
        /// Values shown as the first and the last colour. Default: from 0 to the largest value emitted, else the extremes of all frames so far.
        range: Vec<Spanned<f64>>,
        /// Whether substances glow or absorb. Default "emission".
        mode: PictureMode,
        /// Background colour, or two: top and bottom. Default "#101018"; white for ink.
        background: OneOrMany<Spanned<String>>,
        /// Strength of the shading that makes 2D fields look raised. Default 0.
        relief: f64,
        /// Brightness multiplier. Default 1.
        exposure: f64,
        /// Multiplier of how much a substance hides or glows. Default 1.
        opacity: f64,
        /// Values are raised to 1/gamma before they are coloured: above 1 lifts faint smoke. Default 1.
        gamma: f64,
        /// Whether all frames have one range, found by simulating once without pictures; loops always have one. Default false.
        steady: bool,
        /// Whether pictures have no background; 2D only. Default false.
        transparent: bool,
        /// Where a 3D scene is seen from.
        view: View,
    }

    /// Where a 3D scene is seen from.
    pub struct View {
        /// Degrees around the vertical. Default 30.
        yaw: f64,
        /// Degrees from above. Default 15.
        pitch: f64,
    }
}

/// Advice for keys that people write although they are called otherwise here.
pub(crate) fn often_meant(place: &str, key: &str) -> Option<String> {
    let first = place.split('.').next().unwrap_or("");
    let advice = match (first, key) {
        ("force", "gravity") => {
            "gravity only adds pressure to a fluid of one density: use `buoyancy` to make smoke rise, or \
             `uniform = [0.0, -9.81]` if you do mean a force that is the same everywhere"
        }
        ("source", "substance") => "say what is emitted by `set = { density = 1.0 }` or `rate = { density = 2.0 }`",
        ("source", "circle" | "disc" | "disk" | "ball") => "did you mean `sphere`? In 2D it is a disc",
        ("source", "rectangle" | "rect" | "cube") => "did you mean `box`?",
        ("grid", "resolution") => "did you mean `cells`?",
        ("boundary", "left" | "right") => "write x = { lo = \"slip\", hi = \"open\" }: lo is left, hi is right",
        ("boundary", "bottom" | "top") => "write y = { lo = \"slip\", hi = \"open\" }: lo is the bottom, hi the top",
        ("boundary", "inflow" | "moving") => {
            "say at which end: { lo = { inflow = [0.0, 0.5] }, hi = \"open\" }, or { hi = { moving = [1.0, 0.0] } }"
        }
        ("smoke", "wind_rate") => {
            "it was removed, as it had no effect: the air at the edge of an unbounded grid moves as `wind` and the smoke inside \
             make it. Leave it out"
        }
        ("time", "duration" | "seconds") => "give the number of `frames`: seconds times `fps`",
        ("", "substances") => "write one table per substance: [substance.density]",
        ("", "density" | "temperature") => "substances are tables of their own: [substance.density]",
        ("object", "mesh") => "write shape = { mesh = \"horse.ply\" }",
        ("object", "sphere" | "box" | "capsule" | "cylinder" | "plane" | "polygon") => {
            return Some(format!("write shape = {{ {key} = ... }}"));
        }
        ("object", "velocity" | "spin" | "keys") => return Some(format!("write motion = {{ {key} = ... }}")),
        ("source" | "object", "bunny" | "file") => "write shape = { mesh = \"horse.ply\" }",
        ("source", "density" | "temperature") => {
            "say what is emitted by `set = { density = 1.0, temperature = 200.0 }`"
        }
        ("object" | "source", "keyframes") => "write motion = { keys = [{ time = 0.0, position = [0.0, 0.0] }] }",
        ("light", "direction") => "did you mean `sun`? It points towards the light",
        ("light", "position") => "did you mean `point`?",
        ("light", "intensity") => "did you mean `strength`?",
        ("camera", "from") => "did you mean `position`?",
        ("camera", "look_at") => "did you mean `target`?",
        ("render", "exposure" | "background" | "show") => return Some(format!("`{key}` belongs to [picture]")),
        ("render", "kappa") => "did you mean `thickness`?",
        ("solver", "dt") => "did you mean `max_dt`?",
        // In TOML, keys below a [table] belong to it.
        (_, "description" | "model" | "seed") => return Some(format!("`{key}` belongs above the first [table]")),
        ("target" | "substance", "image" | "text" | "shape" | "film" | "mesh") => {
            let place = if first == "target" { "figure" } else { "start" };
            return Some(format!("write {place} = {{ {key} = ... }}"));
        }
        ("target", "at") => "did you mean `time`?",
        (_, "source" | "force" | "object" | "light" | "target") => {
            return Some(format!("`{key}` is a list of its own: begin it with [[{key}]]"));
        }
        (
            _,
            "grid" | "boundary" | "fluid" | "substance" | "smoke" | "guide" | "solver" | "time" | "output" | "picture"
            | "texture" | "camera" | "render" | "flipbook",
        ) => {
            return Some(format!("`{key}` is a table of its own: begin it with [{key}]"));
        }
        _ => return None,
    };
    Some(advice.to_owned())
}
