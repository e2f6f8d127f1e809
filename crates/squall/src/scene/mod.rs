//! The scene file as typed, key by key, with the position of every value. Nothing is filled in or checked here
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
    AdvectWith, Advection, Diffusion, FadeLaw, FlowLines, Green, Matching, MeltingLaw, MeshFormat, Model, Movie, Pass,
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
const WITH_PARTICLES: &[Model] = &[Model::Smoke, Model::Liquid];
const STABLE: &[Model] = &[Model::StableFluids];
pub(crate) const TARGET: &[Model] = &[Model::TargetSmoke];
const NOT_TARGET: &[Model] = &[Model::StableFluids, Model::Smoke];
const ADVECTED: &[Model] = &[Model::StableFluids, Model::Smoke, Model::Liquid];

/// Most frames of a run.
pub(crate) const MAX_FRAMES: f64 = 1_000_000.0;
/// Most pixels along a side of a picture.
pub(crate) const MAX_PIXELS: f64 = 16_384.0;

table! {
    /// A Squall scene.
    pub struct SceneFile {
        /// What the scene shows, in a sentence.
        description: String [Run] (none "none"),
        /// The model: `"stable_fluids"` (smoke, ink and air in a box), `"smoke"` (smoke and fire on a sparse grid, around obstacles), `"target_smoke"` (smoke that forms pictures, text and shapes) or `"liquid"` (water, honey, jelly).
        model: Model [] (Model::StableFluids),
        /// Seed of all random numbers.
        seed: u64 [] (1),
        /// The box of cells.
        grid: Grid [] (required "add [grid] with the number of cells, for example cells = [128, 192] for a 2D scene, or [64, 96, 64] for a 3D one"),
        /// Boundary conditions.
        boundary: Boundary [] (none "slip walls everywhere; smoke has no bounds"),
        /// The fluid itself.
        fluid: Fluid [] (Fluid::default()),
        /// Parameters of smoke.
        smoke: Smoke [SMOKE] (Smoke::default()),
        /// Combustion; `{}` uses the defaults. Smoke then also has the substances `fuel` (1 is pure fuel), `flame` and `exhaust`.
        fire: Fire [SMOKE] (none "nothing burns"),
        /// Glowing particles emitted by fire; `{}` uses the defaults.
        embers: Embers [SMOKE] (none "none"),
        /// Advected quantities: one table per substance, with a name of your choice.
        substance: Named<Substance> [] (none "none; smoke has `density` and `temperature`, fire also `fuel`, `flame` and `exhaust`, a liquid `liquid`"),
        /// Shapes that smoke is driven to.
        target: Vec<Spanned<Target>> [TARGET] (none "none"),
        /// How smoke is driven to its targets.
        guide: Guide [TARGET] (Guide::default()),
        /// Emitters.
        source: Vec<Spanned<Source>> [] (none "none"),
        /// Parameters of liquids.
        liquid: Liquid [LIQUID] (Liquid::default()),
        /// Initial liquid, or liquid that appears later.
        blob: Vec<Spanned<Blob>> [LIQUID] (none "none"),
        /// Openings that liquid comes out of.
        spout: Vec<Spanned<Spout>> [LIQUID] (none "none"),
        /// Resolution of the surface of a liquid in pictures, volumes and meshes.
        surface: Surface [LIQUID, Look] (Surface::default()),
        /// Obstacles.
        object: Vec<Spanned<Object>> [STAGGERED] (none "none"),
        /// Forces.
        force: Vec<Spanned<Force>> [] (none "none"),
        /// Edits recorded while the scene played: written by `squall studio`.
        edit: Vec<Spanned<Edit>> [] (none "none"),
        /// A texture advected with the fluid.
        texture: Texture [NOT_LIQUID] (none "none"),
        /// Numerical methods.
        solver: Solver [] (Solver::default()),
        /// Frames and their rate.
        time: Time [] (Time::default()),
        /// Output files.
        output: Output [Look] (Output::default()),
        /// Appearance of the pictures.
        picture: Picture [Look] (Picture::default()),
        /// The camera of 3D pictures.
        camera: Camera [Look] (|r| r.film.then(Camera::default); "a view of the whole box"),
        /// Lights of 3D pictures.
        light: Vec<Spanned<Light>> [Look] (|r| r.film.then(|| Light::usual(r.is_water())); "a warm one from the upper left, a cool one from behind"),
        /// Appearance of 3D pictures.
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

    /// Boundary conditions of each axis.
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
        /// Initial velocity: one number or expression per axis.
        velocity: Vec<Spanned<NumberOrText>> ["m/s", NOT_LIQUID] (|r| r.zero_formulas(); "0"),
        /// Feature size of `noise` in expressions and in sources.
        noise_scale: f64 ["m", Above(0.0)] (|r| r.longest() / 8.0; "1/8 of the longest side"),
    }

    /// Parameters of smoke. It always carries `density`, and `temperature` in kelvins above that of the air.
    pub struct Smoke as SmokeValues {
        /// Thermal buoyancy: upward acceleration per kelvin above the air. The default is that of air at room temperature.
        rise: Animated ["m/s^2 per K"] (Animated::constant(0.0335)),
        /// Weight of the smoke: downward acceleration at density 1.
        fall: Animated ["m/s^2"] (Animated::constant(0.0)),
        /// Rate at which smoke dissipates.
        fade: f64 ["1/s", AtLeast(0.0)] (0.15),
        /// Dissipation law: `"even"` removes the same fraction each second, `"thin_first"` the same amount, so that thin smoke goes first and edges stay crisp.
        fade_law: FadeLaw [] (FadeLaw::ThinFirst),
        /// Rate at which temperature decays.
        cooling: f64 ["1/s", AtLeast(0.0)] (0.4),
        /// Cooling by radiation at 1000 K above the air; proportional to the fourth power of the temperature difference.
        radiation: f64 ["K/s", AtLeast(0.0)] (|r| if r.burns { 400.0 } else { 0.0 }; "0; with `[fire]` 400"),
        /// Vorticity confinement: amplifies small vortices; values above 5 are violent.
        confinement: Animated ["1/s", AtLeast(0.0)] (Animated::constant(0.3)),
        /// Velocity of the surrounding air.
        wind: AnimatedVector ["m/s"] (|r| r.still(); "0"),
        /// Cells of clean air around the smoke on an unbounded grid.
        buffer: u32 [Within(1.0, 64.0)] (3),
    }

    /// Combustion. The gas is a mixture of fuel, exhaust and air; hot fuel burns as fast as it mixes with air and becomes hot, sooty exhaust.
    pub struct Fire as FireValues {
        /// Ignition temperature, above that of the air.
        ignition: f64 ["K", Within(0.0, 1e6)] (200.0),
        /// Burn rate of fuel mixed with air. Slow fuel burns high above its source.
        rate: f64 ["1/s", Within(0.0, 1e9)] (12.0),
        /// Volumes of air that a volume of fuel needs; larger values make longer and wider flames. 0: premixed fuel, as in explosions.
        air: f64 [Within(0.0, 100.0)] (6.0),
        /// Temperature rise of the burnt gas.
        heat: f64 ["K", Within(0.0, 1e6)] (1400.0),
        /// Smoke density of the burnt gas.
        soot: f64 [Within(0.0, 1e6)] (0.3),
        /// Expansion of the burnt gas, relative to its volume.
        expansion: f64 [Within(0.0, 100.0)] (1.0),
        /// Decay time of the flame (to 37 %).
        life: f64 ["s", Within(1e-6, 1e6)] (0.25),
    }

    /// Glowing particles emitted by fire and carried by the air. Drawn in 3D pictures; `output.particles` writes them, with a `heat` from 1 to 0.
    pub struct Embers as EmbersValues {
        /// Emission rate per cubic metre (2D: square metre) of flame.
        rate: f64 ["1/(m^3 s)", Within(0.0, 1e9)] (|r| 300.0 * r.per_box(); "300 per box"),
        /// Mean lifetime; it varies by up to half.
        life: f64 ["s", Within(1e-3, 1e6)] (1.2),
        /// Drag: rate of relaxation to the velocity of the air.
        drag: f64 ["1/s", Within(0.0, 1e6)] (8.0),
        /// Downward acceleration.
        gravity: f64 ["m/s^2", Within(0.0, 1e6)] (2.0),
        /// Emission speed, in random directions.
        speed: f64 ["m/s", Within(0.0, 1e6)] (|r| 0.2 * r.longest(); "0.2 longest sides per second"),
        /// Diameter.
        size: f64 ["m", Above(0.0), Look] (|r| r.longest() / 500.0; "1/500 of the longest side"),
        /// Brightness of new embers.
        strength: f64 [Within(0.0, 1e6), Look] (12.0),
        /// Length of the motion trails.
        trail: f64 ["s", Within(0.0, 1e3), Look] (|r| 0.5 / r.fps; "half a frame"),
    }

    /// Parameters of liquids. The filled fraction of each cell is the field `liquid`.
    pub struct Liquid as LiquidValues {
        /// Gravity.
        gravity: AnimatedVector ["m/s^2"] (|r| r.gravity(); "9.81 downwards"),
        /// How the liquid is tracked: particles that carry momentum, marker particles with the velocity on the grid, or a particle level set.
        tracking: Tracking [] (Tracking::Particles),
        /// Particle-grid transfer, with `tracking = "particles"`.
        transfer: Transfer [] (Transfer::Apic),
        /// With `transfer = "flip"`: the FLIP fraction; the rest is PIC.
        flip: f64 [Within(0.0, 1.0)] (0.97),
        /// Width of the band of particles below the surface, in cells, with `tracking = "particles"`: deeper liquid has none and costs little. 0: particles everywhere.
        narrow_band: u32 [Within(0.0, 64.0)] (0),
        /// Volume correction: crowded particles are spread and holes are closed, so that the volume is conserved. A level set is offset slightly instead.
        keep_volume: bool [] (true),
        /// Surface tension, for a density of 1000 kg/m³; water 0.073. Visible on drops of millimetres; larger drops need larger values.
        surface_tension: f64 ["N/m", AtLeast(0.0)] (0.0),
        /// Kinematic viscosity: a number, an expression of position, time, `shear` (shear rate, 1/s) and substances, or
        /// one of `"water"`, `"oil"`, `"honey"`, `"chocolate"`, `"lava"`, `"toothpaste"`, `"slime"` and `"dough"`.
        viscosity: NumberOrText ["m^2/s"] (NumberOrText::Number(0.0)),
        /// Treatment of viscosity: `"full"` stress with a free surface, or each velocity `"component"` by itself, which damps rotation.
        viscous: Viscous [] (Viscous::Full),
        /// Shear modulus, for a density of 1000 kg/m³, or one of `"jelly"`, `"slime"`, `"putty"`, `"dough"` and
        /// `"toothpaste"`, which also set yield and relaxation. Needs `tracking = "particles"` and `transfer = "apic"`.
        elasticity: NumberOrText ["Pa"] (none "not elastic"),
        /// Strain beyond which it yields and keeps its new shape; 0.1 is a shear of about 1/8.
        yield_strain: f64 [Above(0.0)] (none "never, or that of the name"),
        /// Rate of plastic flow beyond the yield strain; 1000 and more is instantaneous.
        yield_rate: f64 ["1/s", AtLeast(0.0)] (none "50, or that of the name"),
        /// Relaxation time: the elastic strain decays to 37 % in this time.
        relaxation: f64 ["s", Above(0.0)] (none "never, or that of the name"),
        /// Melting: between two temperatures the viscosity falls from `solid` to `viscosity`.
        melting: Melting [] (none "none"),
        /// Heat loss to the air. Objects have a `temperature` of their own.
        heat: HeatLoss [] (none "none"),
    }

    /// Melting of a liquid.
    pub struct Melting as MeltingValues {
        /// The substance that is its temperature.
        substance: String [] (|_r| "temperature".to_owned(); "`\"temperature\"`"),
        /// Temperatures at which melting begins and ends.
        range: Pair [] (required "[300.0, 360.0]"),
        /// Viscosity below the range.
        solid: f64 ["m^2/s", Above(0.0)] (required "1.0"),
        /// Interpolation in between: of the viscosity or of its logarithm.
        law: MeltingLaw [] (MeltingLaw::Log),
        /// Latent heat, as the temperature rise that the same heat would cause. Wax 90, lava 300.
        latent: f64 ["K", AtLeast(0.0)] (0.0),
    }

    /// Heat loss of a liquid to the air, for the heat capacity of water.
    pub struct HeatLoss as HeatLossValues {
        /// The substance that is its temperature; in kelvins if it radiates.
        substance: String [] (|_r| "temperature".to_owned(); "`\"temperature\"`"),
        /// Temperature of the air.
        air: f64 [] (293.0),
        /// Heat transfer coefficient of the surface: 10 in still air; 1000 cools within seconds.
        cooling: f64 ["W/(m^2 K)", AtLeast(0.0)] (0.0),
        /// Emissivity; 1 is a black body.
        emissivity: f64 [AtLeast(0.0)] (0.0),
    }

    /// Liquid that appears where there is none yet. It needs a shape or a figure.
    pub struct Blob {
        /// The shape to fill.
        shape: Shape [] (none "none"),
        /// The figure to fill: a picture, drawing, text, mesh or volume, scaled to fit, or a formula (filled where it exceeds 0.5).
        figure: Start [] (none "none"),
        /// Values of the substances it carries: `{ red = 1.0 }`.
        set: Named<Animated> [] (none "the `initial` values of the substances"),
        /// Initial velocity.
        velocity: Vector ["m/s"] (|r| r.zeros(); "0"),
        /// When it appears.
        time: f64 ["s", AtLeast(0.0)] (0.0),
        /// Period of repetition.
        every: f64 ["s", AtLeast(0.001)] (none "never"),
        /// End of the repetition.
        to: f64 ["s"] (none "never"),
    }

    /// Resolution of the surface of a liquid in pictures, volumes and meshes.
    pub struct Surface as SurfaceValues {
        /// Surface cells per grid cell, along each axis.
        refine: u32 [Within(1.0, 4.0)] (2),
        /// Strength of smoothing: 0 is none, 30 suits calm water. The volume is kept.
        smoothing: u32 [Within(0.0, 50.0)] (8),
        /// Up axis of meshes and OpenVDB points.
        up: Up [] (Up::Y),
    }

    /// An opening that liquid comes out of. The flow rate does not depend on the time step. It needs a radius or a width.
    pub struct Spout {
        /// Centre of the opening.
        center: Vector ["m"] (required "[0.2, 0.8]"),
        /// Direction of the jet.
        direction: Vector [] (required "[1.0, 0.0]"),
        /// Speed of the jet.
        speed: Animated ["m/s", AtLeast(0.0)] (Animated::constant(1.0)),
        /// Values of the substances it carries: `{ red = 1.0 }`.
        set: Named<Animated> [] (none "the `initial` values of the substances"),
        /// Radius of a round opening.
        radius: f64 ["m", Above(0.0)] (none "none"),
        /// Width of a slit in 2D, of a rectangle in 3D.
        width: f64 ["m", Above(0.0)] (none "none"),
        /// Height of a rectangle.
        height: f64 ["m", Above(0.0)] (none "as its width"),
        /// Direction of the width of a rectangle.
        side: Vector [] (none "horizontal"),
        /// When it starts.
        from: f64 ["s", AtLeast(0.0)] (0.0),
        /// When it stops.
        to: f64 ["s"] (none "never"),
        /// Period of repetition.
        every: f64 ["s"] (none "never"),
        /// Translation.
        position: AnimatedVector ["m"] (|r| r.still(); "0"),
        /// Rotation about x, then y, then z.
        rotation: AnimatedAngles ["degrees"] (|r| r.no_turn(); "0"),
        /// Centre of rotation.
        pivot: Vector ["m"] (none "its center"),
        /// Its motion.
        motion: Motion [] (none "none"),
        /// Name of the object that it is attached to.
        follow: String [] (none "none"),
    }

    /// A quantity that is advected: smoke, heat, dye.
    pub struct Substance {
        /// Diffusivity; in a liquid it mixes the values of neighbouring particles.
        diffusion: f64 ["m^2/s", AtLeast(0.0)] (0.0),
        /// Rate of exponential decay.
        dissipation: f64 ["1/s", AtLeast(0.0)] (0.0),
        /// Initial value; in a liquid, of everything that appears without a `set`.
        initial: NumberOrText [] (none "0"),
        /// Values held on sides of the box: keys `x`, `y`, `z`, each a number, `"insulated"`, or a table of `lo` and `hi`. At open and inflow sides it is the value of what enters.
        boundary: SubstanceBoundary [NOT_LIQUID] (none "walls are insulated; 0 at inflow and open sides"),
        /// Colour where several substances are shown together. In a liquid, the colour at a value of 1.
        color: Color [Look] (none "a palette; in a liquid it is invisible"),
        /// Amount added per second, everywhere in the box.
        source: NumberOrText ["1/s", NOT_LIQUID] (none "none"),
        /// On an unbounded grid: values below this do not keep tiles alive.
        threshold: f64 [Above(0.0), NOT_LIQUID] (none "1/500 of the largest value emitted"),
        /// Figure at the start, instead of `initial`; sources may add to it.
        start: Start [TARGET] (none "none"),
        /// Strength of the driving force towards the target. `"auto"` depends on the figures and increases while a target forms; it is constant for moving figures and for smoke that is fed by sources.
        drive: Dial ["m^2/s^2", TARGET, AtLeast(0.0)] (none "`\"auto\"`"),
        /// Strength of gathering, a diffusion towards the target that can change densities, which the flow alone cannot. `"auto"` gathers towards the end.
        gathering: Dial ["m^2/s", TARGET, AtLeast(0.0)] (none "`\"auto\"`"),
        /// Strength of long-range transport from where there is too much smoke to where some is missing; 0 is the paper's method.
        levelling: f64 [TARGET, AtLeast(0.0)] (1.0),
        /// How the amounts of smoke and target are matched: `"mass"` scales the density of the target, `"area"` grows or shrinks the target to the area (3D: volume) of the smoke.
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

    /// An emitter. It needs a shape and an action: set, rate, velocity, sink or expansion; for a liquid fill, drain, velocity, set or rate.
    pub struct Source {
        /// Its region. Optional for a source that follows an object: then the surface of that object emits.
        shape: Shape [] (none "**required**, or a `figure`"),
        /// Its region as a figure: a picture, drawing, text, mesh or volume, scaled to fit, or a formula (where it exceeds 0.5).
        figure: Start [SMOKE] (none "none"),
        /// Width of its soft edge.
        softness: f64 ["m", AtLeast(0.0), STABLE] (|r| r.cell(); "one cell"),
        /// Values that substances are set to inside: `{ density = 1.0 }`.
        set: Named<Animated> [] (none "none"),
        /// Amount of each substance added inside per second.
        rate: Named<Animated> ["1/s"] (none "none"),
        /// Keeps the shape full of liquid, which leaves with `velocity`.
        fill: bool [LIQUID] (false),
        /// Removes all liquid inside.
        drain: bool [LIQUID] (false),
        /// Velocity that the fluid inside is accelerated to.
        velocity: AnimatedVector ["m/s"] (none "unchanged"),
        /// Rate at which all substances decay inside.
        sink: Animated ["1/s", NOT_LIQUID, AtLeast(0.0)] (Animated::constant(0.0)),
        /// Divergence: fluid volume created inside per volume and second, for explosions.
        expansion: Animated ["1/s", SMOKE] (Animated::constant(0.0)),
        /// Modulation of the emission by smooth noise.
        noise: f64 [NOT_LIQUID, Within(0.0, 1.0)] (0.0),
        /// When it starts.
        from: f64 ["s", AtLeast(0.0)] (0.0),
        /// When it stops.
        to: f64 ["s"] (none "never"),
        /// Period of repetition.
        every: f64 ["s"] (none "never"),
        /// Translation of the shape.
        position: AnimatedVector ["m"] (|r| r.still(); "0"),
        /// Rotation about x, then y, then z.
        rotation: AnimatedAngles ["degrees"] (|r| r.no_turn(); "0"),
        /// Scale factor.
        scale: f64 [Above(0.0)] (1.0),
        /// Centre of rotation and scaling.
        pivot: Vector ["m"] (none "the middle of the shape; the origin of a mesh"),
        /// Its motion.
        motion: Motion [STAGGERED] (none "none"),
        /// Name of the object that it is attached to: the shape moves with that object.
        follow: String [STAGGERED] (none "none"),
        /// Whether fluid inside takes on the velocity of the moving shape.
        drag: bool [STAGGERED] (none "if it moves"),
    }

    /// A force: exactly one kind, and when it acts.
    pub struct Force {
        /// Buoyancy: acceleration strength * (value - ambient) along +y.
        buoyancy: Buoyancy [] (none ""),
        /// A uniform acceleration. In a closed box the pressure balances it and nothing moves.
        uniform: AnimatedVector ["m/s^2"] (none ""),
        /// Accelerates the fluid towards a velocity: rate * (velocity - u).
        wind: Wind [] (none ""),
        /// Rotates the fluid counter-clockwise about a point (3D: an axis): strength * exp(-(r/radius)^2/2).
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

    /// Buoyancy: acceleration strength * (value - ambient) along +y.
    pub struct Buoyancy {
        /// Which substance.
        substance: String [] (required "\"density\""),
        /// Acceleration per unit of the substance; negative values make it sink.
        strength: Animated ["m/s^2"] (Animated::constant(1.0)),
        /// The value that is neutrally buoyant.
        ambient: Animated [] (Animated::constant(0.0)),
    }

    /// Accelerates the fluid towards a velocity.
    pub struct Wind {
        /// The velocity.
        velocity: AnimatedVector ["m/s"] (required "[1.0, 0.0]"),
        /// Rate of relaxation to that velocity.
        rate: Animated ["1/s", AtLeast(0.0)] (Animated::constant(1.0)),
    }

    /// Rotates the fluid counter-clockwise about a point (3D: an axis).
    pub struct Vortex {
        /// A point of the axis.
        center: AnimatedVector ["m"] (required "[0.5, 0.5]"),
        /// Direction of the axis; 3D only.
        axis: Vec<Spanned<f64>> [] (none "[0, 0, 1], towards the viewer"),
        /// Standard deviation of its profile.
        radius: Animated ["m", Above(0.0)] (required "0.2"),
        /// Acceleration at the centre; negative turns clockwise.
        strength: Animated ["m/s^2"] (required "1.0"),
    }

    /// Stirs with smooth, divergence-free noise.
    pub struct Noise {
        /// RMS acceleration; per unit of the substance, if one is named.
        strength: Animated ["m/s^2"] (required "0.5"),
        /// Feature size.
        scale: f64 ["m", Above(0.0)] (|r| r.noise_scale; "`fluid.noise_scale`"),
        /// Rate of change: after 1/speed seconds the pattern is a new one.
        speed: f64 ["1/s", AtLeast(0.0)] (4.0),
        /// Strength is proportional to this substance.
        substance: String [] (none "the same everywhere"),
    }

    /// Pushes away from a point; towards it if the strength is negative.
    pub struct Radial {
        /// The point.
        center: AnimatedVector ["m"] (required "[0.5, 0.5]"),
        /// Standard deviation of its profile.
        radius: Animated ["m", Above(0.0)] (required "0.2"),
        /// Acceleration.
        strength: Animated ["m/s^2"] (required "1.0"),
    }

    /// Numerical methods.
    pub struct Solver as SolverValues {
        /// Advection scheme. In a liquid it carries velocities on the grid: with `liquid.tracking` `"markers"` or `"level_set"`, or `liquid.narrow_band`.
        advection: Advection [ADVECTED] (Advection::MacCormack),
        /// Order of a time step: `"lagged_pressure"` (second order, one projection), `"reflection"` (two projections, best at large steps), `"plain"` (advect, force, project) or `"paper"` (the order of Stam's paper).
        splitting: Splitting [NOT_TARGET] (Splitting::LaggedPressure),
        /// Advecting velocity: on faces (divergence-free) or at cell centres.
        advect_with: AdvectWith [STABLE] (AdvectWith::Face),
        /// Backtracing scheme.
        tracer: Tracer [NOT_TARGET] (Tracer::Auto),
        /// Time integration of viscosity and diffusion.
        diffusion: Diffusion [STABLE] (Diffusion::Implicit),
        /// Strength of the filter against checkerboard patterns.
        filter: f64 [Within(0.0, 1.0), STABLE] (none "by the advection scheme"),
        /// CFL number: maximum cells that fluid may cross in one time step; smaller is more accurate and slower.
        cfl: f64 ["cells", Within(0.01, 1000.0)] (|r| r.usual_cfl(); "2; 0.8 for target smoke"),
        /// Maximum time step.
        max_dt: f64 ["s", Above(0.0)] (none "no limit but the frame and `cfl`"),
        /// Minimum number of time steps per frame.
        steps_per_frame: u32 [Within(1.0, 1000.0)] (1),
        /// Discretisation of obstacles: cut cells, or whole cells (staircase).
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
        /// Makes a seamless loop of this many frames, after a run-up of `frames` frames.
        r#loop: Loop [NOT_LIQUID] (none "none"),
    }

    /// Output files.
    pub struct Output {
        /// Width of the pictures.
        width: u32 ["pixels", Within(1.0, MAX_PIXELS)] (640),
        /// Height of the pictures; 3D only.
        height: u32 ["pixels", Within(1.0, MAX_PIXELS)] (none "as the box"),
        /// Bits per colour of the PNG pictures: 8, or in 3D 16.
        bits: u32 [] (8),
        /// Also write pictures in linear light with alpha and depth (.exr); 3D only.
        exr: bool [] (false),
        /// Volumes (.vdb) for Blender, Houdini and `squall render`; 3D only.
        vdb: Vdb [] (none "true in 3D, except for stable fluids"),
        /// The surface of a liquid: `"ply"` (with velocities, colours and substances), `"obj"`, `"glb"` for each frame, `"usda"` for all; in 2D `"svg"`.
        mesh: Vec<Spanned<MeshFormat>> [LIQUID] (Vec::new()),
        /// The particles of a liquid, or embers, for each frame, with velocities and substances: `"ply"` (true), which `squall mesh` can mesh again,
        /// `"vdb"` (OpenVDB points), `"npy"` (arrays for NumPy).
        particles: Particles [WITH_PARTICLES] (Particles::default()),
        /// The movie written at the end.
        movie: Movie [Run] (Movie::Gif),
        /// Raw numbers (.npy) for each frame: substances, `"velocity"`, `"pressure"`, `"vorticity"`, `"speed"`.
        fields: Vec<Spanned<String>> [] (Vec::new()),
        /// Additional images per frame for compositing and games; see [flipbooks and passes](flipbooks.md).
        passes: Vec<Spanned<Pass>> [] (Vec::new()),
        /// Green-channel convention of the PNG maps of passes: up as in OpenGL, or down as in DirectX.
        green: Green [] (Green::Up),
        /// Wall-clock time between checkpoints; 0 writes none.
        checkpoint_seconds: f64 ["s", Within(0.0, 1e6), Run] (60.0),
    }

    /// Appearance of the pictures.
    pub struct Picture {
        /// What is shown: a substance, `"substances"` (all, in their colours), `"speed"`, `"vorticity"`, `"pressure"`; in 2D `"texture"`; for a liquid `"water"`.
        show: String [] (none "`\"water\"` for a liquid; the first substance, else `\"speed\"`; `\"substances\"` for target smoke with several smokes or with a `color`"),
        /// Colours from low to high: the name of a colour map, or a list of colours. In 3D `smoke` and `grey` are lit by the lights, all others emit light.
        map: OneOrMany<Spanned<String>> [] (none "`\"inferno\"`; `\"smoke\"` for substances in 3D; `\"diverging\"` for vorticity and pressure in 2D"),
        /// Values shown as the first and the last colour.
        range: Pair [] (none "0 to the largest value emitted, else the extremes of all frames so far"),
        /// Whether substances emit light or absorb it like ink on paper.
        mode: PictureMode [] (PictureMode::Emission),
        /// Background colour, or two: top and bottom.
        background: OneOrMany<Spanned<Color>> [] (none "`\"#101018\"`; white for ink; greys for 3D smoke"),
        /// Strength of relief shading of 2D fields.
        relief: Animated [Within(0.0, 100.0)] (Animated::constant(0.0)),
        /// Brightness. Automatic exposure in 3D: a ball of the scene's smoke under its lights at the start is shown bright but not white; constant over all frames.
        exposure: Animated [Above(0.0)] (none "automatic for smoke in 3D; 1 in 2D, for water, and where something glows"),
        /// Tone mapping of 3D pictures.
        tone: Tone [] (none "`\"filmic\"`; `\"soft\"` with a colour map"),
        /// White balance: the colour temperature shown as white, in 3D.
        white: Animated ["K", Within(1000.0, 40000.0)] (Animated::constant(6500.0)),
        /// Bloom: the fraction of light that spreads around bright areas; in 3D, not in EXR files.
        bloom: Animated [Within(0.0, 1.0)] (Animated::constant(0.0)),
        /// Film grain in 3D, relative to white.
        grain: Animated [Within(0.0, 1.0)] (Animated::constant(0.0)),
        /// The velocity over 2D pictures: `"streaks"` along the flow (line integral convolution), or `"arrows"`, the longest for the fastest.
        flow: FlowLines [] (FlowLines::None),
        /// Supersampling of 2D pictures: samples along each side of a pixel.
        supersample: u32 [Within(1.0, 4.0)] (1),
        /// Opacity of substances.
        opacity: Animated [AtLeast(0.0)] (Animated::constant(1.0)),
        /// Values are raised to 1/gamma before colouring: above 1 brightens faint smoke.
        gamma: Animated [Within(0.1, 10.0)] (Animated::constant(1.0)),
        /// Without a `range`: use one range for all frames, found by a first simulation without pictures. Always on for loops.
        steady: bool [] (false),
        /// 2D pictures with an alpha channel: alpha is the value relative to the range. For 3D see `[render]`.
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
