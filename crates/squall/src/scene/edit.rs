//! What was done while a scene played.

use super::key::Range::{Above, AtLeast, Within};
use super::table::table;
use super::{LIQUID, MAX_FRAMES, Named, NumberOrText, Vector};
use crate::diagnostic::Spanned;

table! {
    /// Something that was done while the scene played: a parameter that was changed, a stroke of a brush, something that was moved, or other values of scene keys.
    pub struct Edit {
        /// After which frame: 0 is the start.
        frame: u64 [Within(0.0, MAX_FRAMES)] (required "12"),
        /// A parameter that changes then, and stays so.
        parameter: ParameterEdit [] (none "none"),
        /// A stroke that begins then.
        stroke: BrushStroke [] (none "none"),
        /// An object, a source or a light that is moved from then on.
        r#move: MoveEdit [] (none "none"),
        /// Keys of the scene that have other values from then on, written as after `--set`: `["smoke.fade=0.5", "object.1.visible=false"]`. The state stays what it is, so grid, model, substances,
        /// time and output cannot change. The entry after the last of a list adds one.
        set: Vec<Spanned<String>> [] (none "none"),
    }

    /// Something that is moved by hand. It stays where it was put.
    pub struct MoveEdit {
        /// What: `object`, `source` or `light`, and its number from 0.
        what: String [] (required "\"object.0\""),
        /// How far it is from its own place after each frame; it moves evenly from one to the next. What is on keyframes goes on along them, displaced.
        points: Vec<Spanned<Vector>> ["m"] (required "[[0.05, 0.0], [0.1, 0.0]]"),
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
