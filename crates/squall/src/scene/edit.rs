//! Recorded edits.

use super::key::Range::{Above, AtLeast, Within};
use super::table::table;
use super::{LIQUID, MAX_FRAMES, Named, NumberOrText, Vector};
use crate::diagnostic::Spanned;

table! {
    /// An edit recorded while the scene played: a parameter change, a brush stroke, a moved object, or changed scene keys.
    pub struct Edit {
        /// The edit acts after this frame; 0 is the start.
        frame: u64 [Within(0.0, MAX_FRAMES)] (required "12"),
        /// A parameter change.
        parameter: ParameterEdit [] (none "none"),
        /// A brush stroke that begins then.
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
        /// Its name; `squall studio` lists the parameters of a scene.
        name: String [] (required "\"viscosity\""),
        /// Its new value: a number, or a word in quotes.
        value: NumberOrText [] (required "0.01"),
    }

    /// A stroke of a brush. It needs at least one of `paint`, `erase`, `push`, `force` and `fill`.
    pub struct BrushStroke {
        /// Positions of the brush, one per frame; within a frame it moves from one to the next.
        points: Vec<Spanned<Vector>> ["m"] (required "[[0.5, 0.5], [0.55, 0.5]]"),
        /// Pressure at each point; scales everything that the brush does.
        pressure: Vec<Spanned<f64>> [Within(0.0, 1.0)] (none "1 everywhere"),
        /// Radius of the brush.
        radius: f64 ["m", Above(0.0)] (|r| r.longest() / 20.0; "1/20 of the longest side"),
        /// Fraction of the radius over which the effect fades out; at least one cell.
        softness: f64 [Within(0.0, 1.0)] (0.5),
        /// Amounts added per second, by substance: `{ density = 5.0 }`.
        paint: Named<f64> ["1/s"] (none "nothing"),
        /// Decay rate of all substances under the brush; liquid is removed at once.
        erase: f64 ["1/s", AtLeast(0.0)] (0.0),
        /// Rate at which the fluid takes on the velocity of the brush: 5 is weak, 60 strong.
        push: f64 ["1/s", AtLeast(0.0)] (0.0),
        /// Acceleration of the fluid under the brush.
        force: Vector ["m/s^2"] (|r| r.zeros(); "0"),
        /// Fills the brush with liquid at rest.
        fill: bool [LIQUID] (false),
    }
}
