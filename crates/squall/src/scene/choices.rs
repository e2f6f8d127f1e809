//! Enumerated values of scenes.

use super::table::choices;

/// Names of the built-in colour maps.
pub const MAPS: &[&str] = squall_render::ColorMap::names();

choices! {
    /// Which model computes the fluid.
    pub enum Model {
        /// Stable fluids: smoke, ink and air in a box.
        StableFluids = "stable_fluids",
        /// Smoke and fire on a grid that follows them, around solid objects.
        Smoke = "smoke",
        /// Smoke that forms pictures, letters and shapes, one after the other.
        TargetSmoke = "target_smoke",
        /// Liquids: water, honey, jelly.
        Liquid = "liquid",
    }

    /// How a liquid is tracked.
    pub enum Tracking {
        /// Particles that carry momentum: splashes, conserved volume.
        Particles = "particles",
        /// Marker particles; the velocity is stored on the grid.
        Markers = "markers",
        /// A particle level set: smooth surfaces.
        LevelSet = "level_set",
    }

    /// Particle-grid transfer.
    pub enum Transfer {
        /// Affine particle-in-cell: calm, conserves rotation.
        Apic = "apic",
        /// Mostly the change of velocity: livelier and noisier.
        Flip = "flip",
    }

    /// Treatment of viscosity in a liquid.
    pub enum Viscous {
        /// Full stress with a free surface: threads fold and coil, rotation is not damped.
        Full = "full",
        /// One velocity component at a time, as in textbooks; damps rotation.
        Component = "component",
    }

    /// Interpolation of viscosity while a liquid melts.
    pub enum MeltingLaw {
        /// The logarithm of the viscosity: smooth over many orders of magnitude.
        Log = "log",
        /// The viscosity itself: it stays thick until it is nearly molten.
        Linear = "linear",
    }

    /// Files that hold the surface of a liquid.
    pub enum MeshFormat {
        /// For Blender and Houdini: with velocities.
        Ply = "ply",
        /// For anything; places and normals only.
        Obj = "obj",
        /// glTF, for engines and the web.
        Glb = "glb",
        /// One USD file for all frames, besides a PLY for each.
        Usda = "usda",
        /// Outlines, of 2D liquids.
        Svg = "svg",
    }

    /// Files that hold the particles of a liquid.
    pub enum ParticleFormat {
        /// For `squall mesh`, which makes other meshes of them, and for Blender.
        Ply = "ply",
        /// OpenVDB points, for Houdini.
        Vdb = "vdb",
        /// Arrays for NumPy.
        Npy = "npy",
    }

    /// The environment, seen behind everything and in reflections.
    pub enum Sky {
        /// A bright room with large soft lights.
        Studio = "studio",
        /// A clear sky by the height of the first `sun` among the lights, which is seen in it.
        Day = "day",
        /// `picture.background`.
        Background = "background",
    }

    /// What counts as drawn in a picture.
    pub enum Channel {
        /// What is opaque, if something is not; else what differs from the colour along the border.
        Auto = "auto",
        /// What is opaque.
        Alpha = "alpha",
        /// What is dark, as on white paper.
        Darkness = "darkness",
        /// What is bright, as on a black screen.
        Brightness = "brightness",
    }

    /// Built-in patterns.
    pub enum Photo {
        /// Wet stones of a beach.
        Pebbles = "pebbles",
        /// Planks with grain.
        Wood = "wood",
        /// Small glazed tiles.
        Mosaic = "mosaic",
        /// Drops of ink on water, as for marbled paper.
        Inks = "inks",
    }

    /// Up axis of a file.
    pub enum Up {
        /// As in Squall, Houdini, Maya and glTF files.
        Y = "y",
        /// As in Blender and its PLY and STL files, and in CAD programs.
        Z = "z",
    }

    /// How a picture fills its frame.
    pub enum Fit {
        /// The largest size that fits into the frame.
        Contain = "contain",
        /// The smallest size that covers the frame.
        Cover = "cover",
        /// Exactly the frame.
        Stretch = "stretch",
    }

    /// The axis along which something flat is seen in 3D.
    pub enum FlatAxis {
        /// From the right.
        X = "x",
        /// From above: it lies on the floor.
        Y = "y",
        /// From the front: it stands upright.
        Z = "z",
    }

    /// Slope limiter of the advection scheme.
    pub enum Limiter {
        /// Monotonized central: second order, keeps edges of a few cells.
        Mc = "mc",
        /// Soft.
        Minmod = "minmod",
        /// Makes edges out of slopes.
        Superbee = "superbee",
    }

    /// How the amounts of smoke and target are made equal.
    pub enum Matching {
        /// The target gets the mass of the smoke, whatever its density has to be.
        Mass = "mass",
        /// The target is made thicker or thinner until it has the area (3D: volume) of the smoke.
        Area = "area",
    }

    /// Dissipation law of smoke.
    pub enum FadeLaw {
        /// All of it evenly: the same part each second.
        Even = "even",
        /// The same amount each second: thin smoke goes first and edges stay crisp.
        ThinFirst = "thin_first",
    }

    /// Discretisation of obstacles.
    pub enum Solids {
        /// Cut cells: smooth slopes.
        CutCells = "cut_cells",
        /// Whole cells: staircase.
        Cells = "cells",
    }

    /// Interpolation between keyframes.
    pub enum Interpolation {
        /// At constant speed.
        Linear = "linear",
        /// Without jerks and without overshooting.
        Smooth = "smooth",
        /// Not at all: jumps at each key.
        Step = "step",
    }

    /// Render quality.
    pub enum Quality {
        /// Fast, for checking.
        Preview = "preview",
        /// For movies.
        Final = "final",
        /// For stills: every cell is lit, many rays.
        Best = "best",
    }

    /// Tone mapping.
    pub enum Tone {
        /// Linear up to 0.8, then a soft shoulder towards white.
        Soft = "soft",
        /// Film-like: highlights roll off, bright colours desaturate.
        Filmic = "filmic",
        /// ACES reference contrast.
        Aces = "aces",
        /// sRGB, clipped at white.
        Srgb = "srgb",
        /// Linear values without the sRGB curve.
        Linear = "linear",
    }

    /// Advection scheme.
    pub enum Advection {
        /// Second order, with a limiter: the sharpest.
        MacCormack = "maccormack",
        /// First order: soft and quick.
        SemiLagrangian = "semi_lagrangian",
        /// Monotone cubic interpolation: between the two.
        MonotoneCubic = "monotone_cubic",
    }

    /// Order of a time step.
    pub enum Splitting {
        /// Pressure of the last step and a centred trace: second order, one projection.
        LaggedPressure = "lagged_pressure",
        /// Advection-reflection: two projections, best at large steps.
        Reflection = "reflection",
        /// Advect, then forces, then project.
        Plain = "plain",
        /// The order of Stam's paper: forces, advect, diffuse, project.
        Paper = "paper",
    }

    /// The advecting velocity.
    pub enum AdvectWith {
        /// That of the faces, which has no divergence.
        Face = "face",
        /// That of the cell centres.
        Cell = "cell",
    }

    /// Backtracing scheme.
    pub enum Tracer {
        /// Second order, third order at large steps.
        Auto = "auto",
        /// Midpoint rule.
        Rk2 = "rk2",
        /// Ralston's third-order rule.
        Rk3 = "rk3",
        /// Shorter steps where the velocity changes quickly.
        Adaptive = "adaptive",
    }

    /// Time integration of viscosity and diffusion.
    pub enum Diffusion {
        /// Backward Euler.
        Implicit = "implicit",
        /// The exact decay of each mode.
        Exact = "exact",
    }

    /// The movie written after the last frame.
    pub enum Movie {
        /// GIF: plays everywhere, 256 colours.
        Gif = "gif",
        /// Animated PNG: all colours.
        Apng = "apng",
        /// MP4 (H.264).
        Mp4 = "mp4",
        /// Only the frames.
        None = "none",
    }

    /// Additional images per frame.
    pub enum Pass {
        /// Motion vectors to the next frame, in pixels.
        Motion = "motion",
        /// Normals of smoke, or of a 2D field as a height map.
        Normal = "normal",
        /// Metres from the camera; 3D only.
        Depth = "depth",
        /// Light from the right, the top, the back, the left, the bottom and the front; 3D only.
        SixWay = "six_way",
        /// Temperature of what is visible.
        Temperature = "temperature",
        /// The shown field as a height map; 2D only.
        Height = "height",
        /// Velocity, as a flow map; 2D only.
        Flow = "flow",
    }

    /// Green-channel convention.
    pub enum Green {
        /// Up, as in OpenGL, Unity and Godot.
        Up = "up",
        /// Down, as in DirectX and Unreal.
        Down = "down",
    }

    /// Alpha mode.
    pub enum Alpha {
        /// Colours as they are; the engine multiplies by opacity.
        Straight = "straight",
        /// Colours already multiplied by opacity: glow may be brighter than it is opaque.
        Premultiplied = "premultiplied",
        /// No opacity: frames keep their background.
        Opaque = "opaque",
    }

    /// How the direction of the flow is drawn over 2D pictures.
    pub enum FlowLines {
        /// Not at all.
        None = "none",
        /// Line integral convolution: streaks along the flow.
        Streaks = "streaks",
        /// Arrows.
        Arrows = "arrows",
    }

    /// How substances are shown.
    pub enum PictureMode {
        /// They emit light.
        Emission = "emission",
        /// They absorb, as ink on paper does.
        Ink = "ink",
    }
}
