//! What was typed: the scene file, key by key, with the place of every value. Nothing is filled in or checked here
//! beyond the kind of each value; [`Scene::setup`] does the rest.

pub mod choices;
mod edit;
mod film;
mod flipbook;
pub mod key;
pub(crate) mod kind;
mod looped;
pub mod reference;
mod shapes;
mod sides;
pub(crate) mod table;
mod target;
mod texture;
pub(crate) mod tree;
mod values;
pub(crate) mod write;

use choices::{
    AdvectWith, Advection, Diffusion, FadeLaw, Green, Matching, MeltingLaw, MeshFormat, Model, Movie, Pass,
    PictureMode, Solids, Splitting, Tone, Tracer, Tracking, Transfer, Up, Viscous,
};
pub use edit::*;
pub use film::*;
pub use flipbook::*;
use key::Matters::{Look, Run};
use key::Range::{Above, AtLeast, Within};
use kind::{Kind, Reader};
pub use kind::{Named, NumberOrText, OneOrMany};
pub use looped::*;
pub use shapes::*;
pub use sides::*;
use table::table;
pub use target::*;
pub use texture::*;
pub use values::*;
use write::Writer;

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
            let message = format!("the file has {} bytes; a scene has at most {MAX_BYTES}", text.len());
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

/// Models with solids on a staggered grid.
pub(crate) const STAGGERED: &[Model] = &[Model::Smoke, Model::TargetSmoke, Model::Liquid];
pub(crate) const LIQUID: &[Model] = &[Model::Liquid];
const NOT_LIQUID: &[Model] = &[Model::StableFluids, Model::Smoke, Model::TargetSmoke];
const SMOKE: &[Model] = &[Model::Smoke];
const STABLE: &[Model] = &[Model::StableFluids];
pub(crate) const TARGET: &[Model] = &[Model::TargetSmoke];
const NOT_TARGET: &[Model] = &[Model::StableFluids, Model::Smoke];

/// Most frames of a run.
pub(crate) const MAX_FRAMES: f64 = 1_000_000.0;
/// Most pixels along a side of a picture.
pub(crate) const MAX_PIXELS: f64 = 16_384.0;

table! {
    /// A Squall scene.
    pub struct SceneFile {
        /// What the scene shows, in a sentence.
        description: String [Run] (none "none"),
        /// Which model computes the fluid: any fluid in a box, solved directly; smoke and fire on a grid that follows them, around solid objects; smoke that forms pictures, letters and shapes; or water.
        model: Model [] (Model::StableFluids),
        /// Seed of everything random.
        seed: u64 [] (1),
        /// The box of cells.
        grid: Grid [] (required "add [grid] with the number of cells, for example cells = [128, 192] for a 2D scene, or [64, 96, 64] for a 3D one"),
        /// What bounds the box.
        boundary: Boundary [] (none "slip walls everywhere; smoke has no bounds"),
        /// The fluid itself.
        fluid: Fluid [] (Fluid::default()),
        /// What smoke does.
        smoke: Smoke [SMOKE] (Smoke::default()),
        /// What the fluid carries: one table per substance, with a name of your choice.
        substance: Named<Substance> [] (none "none; smoke has `density` and `temperature`, a liquid `liquid`"),
        /// What smoke is to become.
        target: Vec<Spanned<Target>> [TARGET] (none "none"),
        /// How it is guided there.
        guide: Guide [TARGET] (Guide::default()),
        /// Emitters.
        source: Vec<Spanned<Source>> [] (none "none"),
        /// What a liquid does.
        liquid: Liquid [LIQUID] (Liquid::default()),
        /// Liquid that is there at the start, or appears later.
        blob: Vec<Spanned<Blob>> [LIQUID] (none "none"),
        /// Openings that liquid comes out of.
        spout: Vec<Spanned<Spout>> [LIQUID] (none "none"),
        /// How fine the surface of a liquid is in pictures, volumes and meshes.
        surface: Surface [LIQUID, Look] (Surface::default()),
        /// Solids in the way of the fluid.
        object: Vec<Spanned<Object>> [STAGGERED] (none "none"),
        /// Forces.
        force: Vec<Spanned<Force>> [] (none "none"),
        /// What was done while the scene played: `squall studio` writes them.
        edit: Vec<Spanned<Edit>> [] (none "none"),
        /// What is painted on the fluid and moves with it.
        texture: Texture [NOT_LIQUID] (none "none"),
        /// How the fluid is computed.
        solver: Solver [] (Solver::default()),
        /// Frames and their rate.
        time: Time [] (Time::default()),
        /// What is written.
        output: Output [Look] (Output::default()),
        /// What frames look like.
        picture: Picture [Look] (Picture::default()),
        /// Where 3D pictures are taken from.
        camera: Camera [Look] (|r| r.film.then(Camera::default); "a view of the whole box"),
        /// Lights of 3D pictures.
        light: Vec<Spanned<Light>> [Look] (|r| r.film.then(|| Light::usual(r.is_water())); "a warm one from the upper left, a cool one from behind"),
        /// What 3D pictures look like.
        render: Render [Look] (|r| r.film.then(Render::default); "smoke in daylight"),
        /// How `squall flipbook` packs frames into textures.
        flipbook: Flipbook [Run] (Flipbook::default()),
    }

    /// The box of cells.
    pub struct Grid {
        /// Cells along each axis, any counts from 1: two numbers make a 2D scene, three a 3D one.
        cells: Vec<Spanned<u64>> [] (required "[128, 192] for a 2D scene, or [64, 96, 64] for a 3D one"),
        /// Length of the box along each axis.
        size: Vector ["m"] (none "1 m along x, cubic cells"),
        /// Lower corner of the box.
        origin: Vector ["m"] (none "0"),
    }

    /// What bounds the box along each axis.
    pub struct Boundary {
        /// Left and right.
        x: AxisEnds [] (none "slip walls"),
        /// Bottom and top.
        y: AxisEnds [] (none "slip walls"),
        /// Far and near; 3D only.
        z: AxisEnds [] (none "slip walls"),
    }

    /// The fluid itself.
    pub struct Fluid {
        /// Kinematic viscosity; air 1.5e-5, water 1e-6, honey 5e-3.
        viscosity: f64 ["m^2/s", AtLeast(0.0), NOT_TARGET] (0.0),
        /// Velocity at the start: one number or expression per axis.
        velocity: Vec<Spanned<NumberOrText>> ["m/s", NOT_LIQUID] (|r| r.zero_formulas(); "0"),
        /// Size of the features of `noise` in expressions and of flickering sources.
        noise_scale: f64 ["m", Above(0.0)] (|r| r.longest() / 8.0; "1/8 of the longest side"),
    }

    /// What smoke does. It always carries `density`, and `temperature` in kelvins above that of the air.
    pub struct Smoke as SmokeValues {
        /// Upward acceleration for each kelvin above the air: that of air at room temperature.
        rise: Animated ["m/s^2 per K"] (Animated::constant(0.0335)),
        /// Downward acceleration for a density of 1.
        fall: Animated ["m/s^2"] (Animated::constant(0.0)),
        /// How fast smoke vanishes.
        fade: f64 ["1/s", AtLeast(0.0)] (0.15),
        /// How it vanishes: the same part of it each second, or the same amount, so that thin smoke goes first and edges stay crisp.
        fade_law: FadeLaw [] (FadeLaw::ThinFirst),
        /// How fast heat is lost.
        cooling: f64 ["1/s", AtLeast(0.0)] (0.4),
        /// What is lost by radiation at 1000 K above the air; falls with the fourth power.
        radiation: f64 ["K/s", AtLeast(0.0)] (0.0),
        /// Vorticity confinement: strength of the force that keeps small vortices alive; above 5 is wild.
        confinement: Animated ["1/s", AtLeast(0.0)] (Animated::constant(0.3)),
        /// Velocity of the air around.
        wind: AnimatedVector ["m/s"] (|r| r.still(); "0"),
        /// Cells of clean air kept around the smoke where the grid follows it.
        buffer: u32 [Within(1.0, 64.0)] (3),
    }

    /// What a liquid does. The part of each cell that it fills is the field `liquid`.
    pub struct Liquid as LiquidValues {
        /// The acceleration that makes it fall.
        gravity: AnimatedVector ["m/s^2"] (|r| r.gravity(); "9.81 downwards"),
        /// What says where it is: particles that carry it, markers in a flow that lives on the grid, or a level set.
        tracking: Tracking [] (Tracking::Particles),
        /// What its particles take from the grid, with `tracking = "particles"`.
        transfer: Transfer [] (Transfer::Apic),
        /// With `transfer = "flip"`: the part of the change of velocity that they take; the rest is the velocity itself.
        flip: f64 [Within(0.0, 1.0)] (0.97),
        /// How many cells from the surface particles are kept, with `tracking = "particles"`: deeper water has none and costs little. 0: everywhere.
        narrow_band: u32 [Within(0.0, 64.0)] (0),
        /// Whether crowds of particles are spread and holes among them closed, so that the volume stays what it is. The surface of a level set
        /// swells a little instead.
        keep_volume: bool [] (true),
        /// How its surface pulls itself together, for a density of 1000 kg/m³: that of water is 0.073. It shows on drops of millimetres; larger ones need more.
        surface_tension: f64 ["N/m", AtLeast(0.0)] (0.0),
        /// How thick it is, as kinematic viscosity: a number, an expression over place, time, `shear` (how fast it is sheared, 1/s) and what the liquid carries, or
        /// one of `"water"`, `"oil"`, `"honey"`, `"chocolate"`, `"lava"`, `"toothpaste"`, `"slime"` and `"dough"`.
        viscosity: NumberOrText ["m^2/s"] (NumberOrText::Number(0.0)),
        /// How viscosity acts: by the whole stress, with a free surface, or on one component of the velocity after the other, which brakes what turns.
        viscous: Viscous [] (Viscous::Full),
        /// How hard it is to shear, if it remembers its shape, for a density of 1000 kg/m³: its shear modulus, or one of `"jelly"`, `"slime"`, `"putty"`, `"dough"` and
        /// `"toothpaste"`, which also say how they yield and relax. With `tracking = "particles"` and `transfer = "apic"`.
        elasticity: NumberOrText ["Pa"] (none "it remembers nothing"),
        /// From which strain on it yields and keeps its new shape: 0.1 is a shear of an eighth.
        yield_strain: f64 [Above(0.0)] (none "never, or that of the name"),
        /// How fast it then yields; 1000 and more is at once.
        yield_rate: f64 ["1/s", AtLeast(0.0)] (none "50, or that of the name"),
        /// The time in which it forgets its shape but for a third.
        relaxation: f64 ["s", Above(0.0)] (none "never, or that of the name"),
        /// How it melts: between two temperatures its viscosity falls from `solid` to `viscosity`.
        melting: Melting [] (none "not at all"),
        /// How it gives heat to the air. Objects have a `temperature` of their own.
        heat: HeatLoss [] (none "it keeps its heat"),
    }

    /// How a liquid melts.
    pub struct Melting as MeltingValues {
        /// What it carries that counts as its temperature.
        substance: String [] (|_r| "temperature".to_owned(); "`\"temperature\"`"),
        /// Where it begins to melt, and where it is molten.
        range: Pair [] (required "[300.0, 360.0]"),
        /// Its viscosity below the range.
        solid: f64 ["m^2/s", Above(0.0)] (required "1.0"),
        /// What is interpolated in between.
        law: MeltingLaw [] (MeltingLaw::Log),
        /// The heat that melting takes, and setting gives back: by how much as much heat would warm it. Wax 90, lava 300.
        latent: f64 ["K", AtLeast(0.0)] (0.0),
    }

    /// How a liquid gives heat to the air, for the heat capacity of water.
    pub struct HeatLoss as HeatLossValues {
        /// What it carries that counts as its temperature; with radiation in kelvins.
        substance: String [] (|_r| "temperature".to_owned(); "`\"temperature\"`"),
        /// The temperature of the air.
        air: f64 [] (293.0),
        /// What the surface gives to air that is colder by a kelvin: 10 in still air, 1000 in pictures that do not wait.
        cooling: f64 ["W/(m^2 K)", AtLeast(0.0)] (0.0),
        /// What it radiates, as a part of what a black body does.
        emissivity: f64 [AtLeast(0.0)] (0.0),
    }

    /// Liquid that appears, where there is none yet. It needs a shape, or a figure.
    pub struct Blob {
        /// What it fills.
        shape: Shape [] (none "none"),
        /// What it fills: a picture, a drawing, letters, a mesh or a volume that is made as large as fits, or a formula (where it is above a half).
        figure: Start [] (none "none"),
        /// What it carries, by substance: `{ red = 1.0 }`.
        set: Named<Animated> [] (none "the `initial` values of the substances"),
        /// How it moves.
        velocity: Vector ["m/s"] (|r| r.zeros(); "0"),
        /// When it appears.
        time: f64 ["s", AtLeast(0.0)] (0.0),
        /// Period after which it appears again.
        every: f64 ["s", AtLeast(0.001)] (none "never"),
        /// When that ends.
        to: f64 ["s"] (none "never"),
    }

    /// How fine the surface of a liquid is in pictures, volumes and meshes.
    pub struct Surface as SurfaceValues {
        /// Cells along each side of a cell of the grid.
        refine: u32 [Within(1.0, 4.0)] (2),
        /// How often it is smoothed; its volume stays.
        smoothing: u32 [Within(0.0, 50.0)] (8),
        /// Which axis points upwards in meshes and OpenVDB points.
        up: Up [] (Up::Y),
    }

    /// An opening that liquid comes out of. How much does not depend on the length of steps. It needs a radius, or a width.
    pub struct Spout {
        /// The middle of the opening.
        center: Vector ["m"] (required "[0.2, 0.8]"),
        /// Where the liquid goes.
        direction: Vector [] (required "[1.0, 0.0]"),
        /// How fast it comes out.
        speed: Animated ["m/s", AtLeast(0.0)] (Animated::constant(1.0)),
        /// What it carries, by substance: `{ red = 1.0 }`.
        set: Named<Animated> [] (none "the `initial` values of the substances"),
        /// The radius of a round opening.
        radius: f64 ["m", Above(0.0)] (none "none"),
        /// The width of a slit in 2D, of a rectangle in 3D.
        width: f64 ["m", Above(0.0)] (none "none"),
        /// The other side of a rectangle.
        height: f64 ["m", Above(0.0)] (none "as its width"),
        /// The direction of the width of a rectangle.
        side: Vector [] (none "horizontal"),
        /// When it starts.
        from: f64 ["s", AtLeast(0.0)] (0.0),
        /// When it stops.
        to: f64 ["s"] (none "never"),
        /// Period after which it starts again.
        every: f64 ["s"] (none "never"),
        /// Translation.
        position: AnimatedVector ["m"] (|r| r.still(); "0"),
        /// Rotation about x, then y, then z.
        rotation: AnimatedAngles ["degrees"] (|r| r.no_turn(); "0"),
        /// The point about which it is rotated.
        pivot: Vector ["m"] (none "its center"),
        /// How it moves.
        motion: Motion [] (none "not at all"),
        /// The name of an object that it is a part of, and moves with.
        follow: String [] (none "none"),
    }

    /// Something that the fluid carries: smoke, heat, dye.
    pub struct Substance {
        /// How fast it diffuses; in a liquid, how fast it mixes.
        diffusion: f64 ["m^2/s", AtLeast(0.0)] (0.0),
        /// How fast it vanishes.
        dissipation: f64 ["1/s", AtLeast(0.0)] (0.0),
        /// Value at the start; of a liquid, the value of all that appears and says no other.
        initial: NumberOrText [] (none "0"),
        /// Values held on sides of the box: keys `x`, `y`, `z`, each a number, `"insulated"`, or a table of `lo` and `hi`. What leaves through an open side is not held back by the value; what enters brings it along.
        boundary: SubstanceBoundary [NOT_LIQUID] (none "walls are insulated; 0 at inflow and open sides"),
        /// Colour where several substances are shown together. In a liquid, the colour that an amount of 1 gives it.
        color: Color [Look] (none "a palette; in a liquid it is not seen"),
        /// What appears each second, everywhere in the box.
        source: NumberOrText ["1/s", NOT_LIQUID] (none "none"),
        /// On an unbounded grid: values below this count as no smoke.
        threshold: f64 [Above(0.0), NOT_LIQUID] (none "1/500 of the largest value emitted"),
        /// What it is formed like at the start, instead of `initial`; sources may feed it as well.
        start: Start [TARGET] (none "none"),
        /// How strongly it is driven to its targets. `"auto"` finds what suits the figures and grows while a target forms; for moving figures, and for smoke that sources feed, it is constant.
        drive: Dial ["m^2/s^2", TARGET, AtLeast(0.0)] (none "`\"auto\"`"),
        /// How strongly it is gathered where the target is: flow alone only rearranges what is there, gathering makes it denser or thinner. `"auto"` gathers in the end.
        gathering: Dial ["m^2/s", TARGET, AtLeast(0.0)] (none "`\"auto\"`"),
        /// How strongly drive and gathering bring smoke from where there is too much to where some is missing, however far away; 0: not at all, as in the paper.
        levelling: f64 [TARGET, AtLeast(0.0)] (1.0),
        /// How the amounts of smoke and target are made equal: the target gets the mass of the smoke, or it is made thicker or thinner until it has its area (3D: volume).
        r#match: Matching [TARGET] (Matching::Mass),
    }

    /// Values of a substance on the sides of the box.
    pub struct SubstanceBoundary {
        /// Left and right.
        x: SubstanceEnds [] (none ""),
        /// Bottom and top.
        y: SubstanceEnds [] (none ""),
        /// Far and near; 3D only.
        z: SubstanceEnds [] (none ""),
    }

    /// An emitter. It needs a place and something to do: set, rate, velocity, sink or expansion; for a liquid fill, drain, velocity, set or rate.
    pub struct Source {
        /// Where it is. A source that follows an object may leave it out: then it is the surface of that object.
        shape: Shape [] (none "**required**"),
        /// Width of its soft edge.
        softness: f64 ["m", AtLeast(0.0), STABLE] (|r| r.cell(); "one cell"),
        /// Values that substances are held at inside: `{ density = 1.0 }`.
        set: Named<Animated> [] (none "none"),
        /// How much of each substance is added inside each second.
        rate: Named<Animated> ["1/s"] (none "none"),
        /// Whether it is kept full of liquid, which comes out with its velocity.
        fill: bool [LIQUID] (false),
        /// Whether all liquid that comes in vanishes.
        drain: bool [LIQUID] (false),
        /// Velocity that the fluid inside is pushed to.
        velocity: AnimatedVector ["m/s"] (none "left alone"),
        /// How fast all substances vanish inside.
        sink: Animated ["1/s", NOT_LIQUID, AtLeast(0.0)] (Animated::constant(0.0)),
        /// How much fluid appears inside, per volume and second: explosions.
        expansion: Animated ["1/s", SMOKE] (Animated::constant(0.0)),
        /// How much smooth noise modulates the emission, so that plumes look alive.
        noise: f64 [NOT_LIQUID, Within(0.0, 1.0)] (0.0),
        /// When it starts.
        from: f64 ["s", AtLeast(0.0)] (0.0),
        /// When it stops.
        to: f64 ["s"] (none "never"),
        /// Period after which it starts again.
        every: f64 ["s"] (none "never"),
        /// Translation of the shape.
        position: AnimatedVector ["m"] (|r| r.still(); "0"),
        /// Rotation about x, then y, then z.
        rotation: AnimatedAngles ["degrees"] (|r| r.no_turn(); "0"),
        /// Scale factor.
        scale: f64 [Above(0.0)] (1.0),
        /// The point of the shape about which it is rotated and scaled.
        pivot: Vector ["m"] (none "the middle of the shape; the origin of a mesh"),
        /// How it moves.
        motion: Motion [STAGGERED] (none "not at all"),
        /// The name of an object that it is a part of: the shape is given as if it belonged to that object, and moves with it.
        follow: String [STAGGERED] (none "none"),
        /// Whether fluid inside takes the velocity of the moving shape.
        drag: bool [STAGGERED] (none "if it moves"),
    }

    /// A force: exactly one kind, and when it acts.
    pub struct Force {
        /// Makes a substance rise (or sink): acceleration strength * (value - ambient) upwards, along +y.
        buoyancy: Buoyancy [] (none ""),
        /// The same acceleration everywhere. Between walls the pressure balances it and nothing moves.
        uniform: AnimatedVector ["m/s^2"] (none ""),
        /// Draws the fluid towards a velocity: rate * (velocity - u).
        wind: Wind [] (none ""),
        /// Turns the fluid counter-clockwise about a point (3D: about an axis): strength * exp(-(r/radius)^2/2).
        vortex: Vortex [] (none ""),
        /// Stirs with smooth, divergence-free noise.
        noise: Noise [] (none ""),
        /// Pushes away from a point, or towards it: strength * exp(-(r/radius)^2/2).
        radial: Radial [] (none ""),
        /// Moves rods along a path through the fluid.
        stir: Stir [] (none ""),
        /// One number or expression per axis, over position, time and all fields.
        expression: Vec<Spanned<NumberOrText>> ["m/s^2"] (none ""),
        /// When it starts.
        from: f64 ["s", AtLeast(0.0)] (0.0),
        /// When it stops.
        to: f64 ["s"] (none "never"),
    }

    /// Makes a substance rise: acceleration strength * (value - ambient) upwards, along +y.
    pub struct Buoyancy {
        /// Which substance.
        substance: String [] (required "\"density\""),
        /// Acceleration per unit of the substance; negative sinks.
        strength: Animated ["m/s^2"] (Animated::constant(1.0)),
        /// The value that is neutrally buoyant.
        ambient: Animated [] (Animated::constant(0.0)),
    }

    /// Draws the fluid towards a velocity.
    pub struct Wind {
        /// The velocity.
        velocity: AnimatedVector ["m/s"] (required "[1.0, 0.0]"),
        /// How fast the fluid takes it up.
        rate: Animated ["1/s", AtLeast(0.0)] (Animated::constant(1.0)),
    }

    /// Turns the fluid counter-clockwise about a point (3D: about an axis).
    pub struct Vortex {
        /// A point of the axis.
        center: AnimatedVector ["m"] (required "[0.5, 0.5]"),
        /// Direction of the axis; 3D only.
        axis: Vec<Spanned<f64>> [] (none "[0, 0, 1], towards the viewer"),
        /// How wide.
        radius: Animated ["m", Above(0.0)] (required "0.2"),
        /// Acceleration at the centre; negative turns clockwise.
        strength: Animated ["m/s^2"] (required "1.0"),
    }

    /// Stirs with smooth, divergence-free noise.
    pub struct Noise {
        /// RMS acceleration; per unit of the substance, if one is named.
        strength: Animated ["m/s^2"] (required "0.5"),
        /// Size of its features.
        scale: f64 ["m", Above(0.0)] (|r| r.noise_scale; "`fluid.noise_scale`"),
        /// How fast it changes: after 1/speed seconds the pattern is an entirely new one.
        speed: f64 ["1/s", AtLeast(0.0)] (4.0),
        /// Proportional to this substance.
        substance: String [] (none "the same everywhere"),
    }

    /// Pushes away from a point; towards it if the strength is negative.
    pub struct Radial {
        /// The point.
        center: AnimatedVector ["m"] (required "[0.5, 0.5]"),
        /// How wide.
        radius: Animated ["m", Above(0.0)] (required "0.2"),
        /// Acceleration.
        strength: Animated ["m/s^2"] (required "1.0"),
    }

    /// How the fluid is computed.
    pub struct Solver as SolverValues {
        /// How values are advected.
        advection: Advection [NOT_TARGET] (Advection::MacCormack),
        /// How a step is split: second order with one projection, two projections (best at large steps), advect-force-project, or the order of Stam's paper.
        splitting: Splitting [NOT_TARGET] (Splitting::LaggedPressure),
        /// Which velocity advects: that of the faces, which has no divergence, or of the cell centres.
        advect_with: AdvectWith [STABLE] (AdvectWith::Face),
        /// How paths are traced back.
        tracer: Tracer [NOT_TARGET] (Tracer::Auto),
        /// How viscosity and diffusion are stepped.
        diffusion: Diffusion [STABLE] (Diffusion::Implicit),
        /// Strength of the filter against checkerboard patterns.
        filter: f64 [Within(0.0, 1.0), STABLE] (none "by the advection scheme"),
        /// CFL number: most cells that fluid may cross in one step; less is more accurate and slower.
        cfl: f64 ["cells", Within(0.01, 1000.0)] (|r| r.usual_cfl(); "2; 0.8 for target smoke"),
        /// Longest step.
        max_dt: f64 ["s", Above(0.0)] (none "no limit but the frame and `cfl`"),
        /// Fewest steps in a frame.
        steps_per_frame: u32 [Within(1.0, 1000.0)] (1),
        /// How objects enter the grid: cut cells with smooth slopes, or whole cells (stair steps).
        solids: Solids [STAGGERED] (Solids::CutCells),
    }

    /// Frames and their rate.
    pub struct Time {
        /// Frames per second.
        fps: f64 ["1/s", Within(0.001, 1000.0)] (30.0),
        /// Frames 1 to this are written; frame k shows the time k / fps.
        frames: u32 [Within(1.0, MAX_FRAMES), Run] (90),
        /// Also write frame 0, the initial state.
        include_start: bool [Look] (false),
        /// The run becomes a loop of so many frames, whose last leads into its first; it is made after `frames` frames.
        r#loop: Loop [NOT_LIQUID] (none "none"),
    }

    /// What is written.
    pub struct Output {
        /// Width of the pictures.
        width: u32 ["pixels", Within(1.0, MAX_PIXELS)] (640),
        /// Height of the pictures; 3D only.
        height: u32 ["pixels", Within(1.0, MAX_PIXELS)] (none "as the box"),
        /// Bits per colour of the PNG pictures: 8, or in 3D 16.
        bits: u32 [] (8),
        /// Pictures in linear light with opacity and depth as well (.exr); 3D only.
        exr: bool [] (false),
        /// Volumes (.vdb) for Blender, Houdini and `squall render`; 3D only.
        vdb: Vdb [] (none "true in 3D, except for stable fluids"),
        /// The surface of a liquid: `"ply"` (with velocities, colours and whatever it carries), `"obj"`, `"glb"` for each frame, `"usda"` for all; in 2D `"svg"`.
        mesh: Vec<Spanned<MeshFormat>> [LIQUID] (Vec::new()),
        /// The particles of a liquid for each frame, with velocities and whatever they carry: `"ply"` (true), of which `squall mesh` makes other meshes,
        /// `"vdb"` (OpenVDB points), `"npy"` (arrays for NumPy).
        particles: Particles [LIQUID] (Particles::default()),
        /// The movie written at the end.
        movie: Movie [Run] (Movie::Gif),
        /// Raw numbers (.npy) for each frame: substances, `"velocity"`, `"pressure"`, `"vorticity"`, `"speed"`.
        fields: Vec<Spanned<String>> [] (Vec::new()),
        /// What is written for each frame besides the picture, for compositing and games; see [flipbooks and passes](flipbooks.md).
        passes: Vec<Spanned<Pass>> [] (Vec::new()),
        /// Green-channel convention of the PNG maps of passes: up as in OpenGL, or down as in DirectX.
        green: Green [] (Green::Up),
        /// Wall-clock time between checkpoints; 0 writes none.
        checkpoint_seconds: f64 ["s", Within(0.0, 1e6), Run] (60.0),
    }

    /// What frames look like.
    pub struct Picture {
        /// A substance, `"substances"` (all, in their colours), `"speed"`, `"vorticity"`, `"pressure"`; in 2D `"texture"`; of a liquid `"water"`.
        show: String [] (none "`\"water\"` of a liquid; the first substance, else `\"speed\"`; `\"substances\"` for target smoke with several smokes or with a `color`"),
        /// Colours from low to high: the name of a colour map, or a list of colours. In 3D `smoke` and `grey` are lit from outside, all others glow.
        map: OneOrMany<Spanned<String>> [] (none "`\"inferno\"`; `\"smoke\"` for substances in 3D; `\"diverging\"` for vorticity and pressure in 2D"),
        /// Values shown as the first and the last colour.
        range: Pair [] (none "0 to the largest value emitted, else the extremes of all frames so far"),
        /// Whether substances glow, or absorb as ink on paper does.
        mode: PictureMode [] (PictureMode::Emission),
        /// Background colour, or two: top and bottom.
        background: OneOrMany<Spanned<Color>> [] (none "`\"#101018\"`; white for ink; greys for 3D smoke"),
        /// Shading that makes 2D fields look raised.
        relief: Animated [Within(0.0, 100.0)] (Animated::constant(0.0)),
        /// Brightness. In 3D automatic means: a ball of the scene's smoke under its lights at the start is shown bright, but not white; the same for all frames.
        exposure: Animated [Above(0.0)] (none "automatic for smoke in 3D; 1 in 2D, for water, and where something glows"),
        /// How light becomes what a screen shows, in 3D.
        tone: Tone [] (none "`\"filmic\"`; `\"soft\"` where a map gives the colours"),
        /// The colour temperature of light that is shown as white, in 3D.
        white: Animated ["K", Within(1000.0, 40000.0)] (Animated::constant(6500.0)),
        /// The part of all light that spreads around what is bright, as in a lens; in 3D, not in EXR files.
        bloom: Animated [Within(0.0, 1.0)] (Animated::constant(0.0)),
        /// Film grain in 3D: how far it goes, relative to white. The same for the same frame.
        grain: Animated [Within(0.0, 1.0)] (Animated::constant(0.0)),
        /// Points along each side of a pixel that 2D pictures are drawn with: 2 for thin lines and fine textures.
        supersample: u32 [Within(1.0, 4.0)] (1),
        /// How much a substance hides or glows.
        opacity: Animated [AtLeast(0.0)] (Animated::constant(1.0)),
        /// Values are raised to 1/gamma before they are coloured: above 1 lifts faint smoke.
        gamma: Animated [Within(0.1, 10.0)] (Animated::constant(1.0)),
        /// Without a `range`: one range for all frames, found by simulating once without pictures. Loops always have one.
        steady: bool [] (false),
        /// 2D pictures without background: how much a value reaches of the range is its opacity. In 3D see `[render]`.
        transparent: bool [] (false),
    }
}

impl SceneFile {
    /// As TOML.
    pub(crate) fn to_toml(&self, writer: &Writer) -> String {
        let mut out = String::new();
        self.write_file(writer, &mut out);
        out
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
        ("picture", "view") => "write [camera] with yaw and pitch: all 3D pictures are taken by a camera",
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
