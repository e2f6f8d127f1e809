//! What was done while a scene played.

use super::key::Range::{Above, AtLeast, Within};
use super::table::table;
use super::{LIQUID, MAX_FRAMES, Named, NumberOrText, Vector};
use crate::diagnostic::Spanned;

table! {
    /// Something that was done while the scene played: a parameter that was changed, or a stroke of a brush.
    pub struct Edit {
        /// After which frame: 0 is the start.
        frame: u64 [Within(0.0, MAX_FRAMES)] (required "12"),
        /// A parameter that changes then, and stays so.
        parameter: ParameterEdit [] (none "none"),
        /// A stroke that begins then.
        stroke: BrushStroke [] (none "none"),
    }

    /// A parameter that changes while the scene plays.
    pub struct ParameterEdit {
        /// What it is called: `squall studio` shows the parameters of a scene.
        name: String [] (required "\"viscosity\""),
        /// What it is from then on: a number, or a word in quotes.
        value: NumberOrText [] (required "0.01"),
    }

    /// A stroke of a brush. It needs at least one of `paint`, `erase`, `push`, `force` and `fill`.
    pub struct BrushStroke {
        /// Where the brush is, one point for each frame: it is put down at the first and goes from each to the next within a frame.
        points: Vec<Spanned<Vector>> ["m"] (required "[[0.5, 0.5], [0.55, 0.5]]"),
        /// How hard it is pressed at each point; everything that it does is in proportion.
        pressure: Vec<Spanned<f64>> [Within(0.0, 1.0)] (none "1 everywhere"),
        /// How far it reaches.
        radius: f64 ["m", Above(0.0)] (|r| r.longest() / 20.0; "1/20 of the longest side"),
        /// The part of the radius over which it fades to nothing; at least a cell.
        softness: f64 [Within(0.0, 1.0)] (0.5),
        /// What it adds per second, by substance: `{ density = 5.0 }`.
        paint: Named<f64> ["1/s"] (none "nothing"),
        /// The part of all substances that vanishes per second; of a liquid all vanishes at once.
        erase: f64 ["1/s", AtLeast(0.0)] (0.0),
        /// How fast the fluid takes the velocity of the brush: 5 is a feather, 60 a spoon.
        push: f64 ["1/s", AtLeast(0.0)] (0.0),
        /// The acceleration that it gives to the fluid.
        force: Vector ["m/s^2"] (|r| r.zeros(); "0"),
        /// Whether it fills what it covers with liquid at rest.
        fill: bool [LIQUID] (false),
    }
}
