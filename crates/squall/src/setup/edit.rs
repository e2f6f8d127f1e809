//! Recorded edits: data, stamped by frame, so that a bake is a replay.

use squall_core::Value;
use squall_core::force::Dab;

use super::Setup;
use crate::diagnostic::{Span, Spanned};
use crate::scene::kind::Kind;
use crate::scene::write::Writer;
use crate::scene::{self, Named, NumberOrText, Vector};

/// Most edits of a scene, and most points of a stroke: the longest list that a scene may have.
pub const MOST: usize = 1000;

/// Something that was done while a scene played.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    /// After which frame.
    pub frame: u64,
    /// What.
    pub change: Change,
}

/// What was done.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A parameter of the simulation has another value from then on.
    Parameter {
        /// Which one.
        name: String,
        /// What it is.
        value: Value,
    },
    /// A brush was used.
    Stroke(Stroke),
}

/// A stroke of a brush: at a point for each frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stroke {
    /// Where it is, in metres: put down at the first, it goes from each to the next within a frame.
    pub points: Vec<Vec<f64>>,
    /// How hard it is pressed at each of them, 0 to 1.
    pub pressure: Vec<f64>,
    /// How far it reaches, in metres.
    pub radius: f64,
    /// The part of the radius over which it fades to nothing.
    pub softness: f64,
    /// What it adds per second, by substance.
    pub paint: Vec<(String, f64)>,
    /// The part of all substances that vanishes per second.
    pub erase: f64,
    /// How fast the fluid takes its velocity, per second.
    pub push: f64,
    /// The acceleration that it gives to the fluid, m/s^2.
    pub force: Vec<f64>,
    /// Whether it fills what it covers with liquid.
    pub fill: bool,
}

impl Stroke {
    /// What it does in the frame of this number after it began; `None` when it is over. Nothing depends on points that come later.
    pub(crate) fn dab(&self, frame: u64, fps: f64, substances: &[String]) -> Option<Dab> {
        let k = usize::try_from(frame).ok()?;
        let wide = |v: &[f64]| -> [f64; 3] { std::array::from_fn(|a| v.get(a).copied().unwrap_or(0.0)) };
        let to = wide(self.points.get(k)?);
        let from = k.checked_sub(1).map_or(to, |k| wide(&self.points[k]));
        let hard = self.pressure.get(k).copied().unwrap_or(1.0);
        let place = |name: &String| substances.iter().position(|known| known == name);
        Some(Dab {
            from,
            to,
            radius: self.radius,
            softness: self.softness,
            velocity: std::array::from_fn(|a| (to[a] - from[a]) * fps),
            add: self.paint.iter().filter_map(|(name, rate)| Some((place(name)?, hard * rate))).collect(),
            erase: hard * self.erase,
            push: hard * self.push,
            force: wide(&self.force).map(|f| hard * f),
            fill: self.fill,
        })
    }
}

fn typed<T>(value: T) -> Option<Spanned<T>> {
    Some(Spanned { value, span: Span::DEFAULT })
}

fn all<T>(values: impl IntoIterator<Item = T>) -> Vec<Spanned<T>> {
    values.into_iter().map(|value| Spanned { value, span: Span::DEFAULT }).collect()
}

impl Edit {
    /// As it stands in a scene file: what is as it would be without being said is left out.
    fn to_scene(&self) -> scene::Edit {
        let mut edit = scene::Edit { frame: typed(self.frame), ..scene::Edit::default() };
        match &self.change {
            Change::Parameter { name, value } => {
                let value = match value {
                    Value::Number(number) => NumberOrText::Number(*number),
                    Value::Choice(word) => NumberOrText::Text(word.clone()),
                };
                edit.parameter = typed(scene::ParameterEdit { name: typed(name.clone()), value: typed(value) });
            }
            Change::Stroke(s) => {
                let paint = s.paint.iter().map(|(name, rate)| {
                    let [span, other] = [Span::DEFAULT; 2];
                    (Spanned { value: name.clone(), span }, Spanned { value: *rate, span: other })
                });
                edit.stroke = typed(scene::BrushStroke {
                    points: typed(all(s.points.iter().map(|p| Vector::of(p)))),
                    pressure: s.pressure.iter().any(|&p| p != 1.0).then(|| typed(all(s.pressure.clone()))).flatten(),
                    radius: typed(s.radius),
                    softness: typed(s.softness),
                    paint: (!s.paint.is_empty()).then(|| typed(Named(paint.collect()))).flatten(),
                    erase: (s.erase != 0.0).then(|| typed(s.erase)).flatten(),
                    push: (s.push != 0.0).then(|| typed(s.push)).flatten(),
                    force: s.force.iter().any(|&f| f != 0.0).then(|| typed(Vector::of(&s.force))).flatten(),
                    fill: s.fill.then(|| typed(true)).flatten(),
                });
            }
        }
        edit
    }
}

/// Edits as the end of a scene file.
pub fn to_toml(edits: &[Edit]) -> String {
    let mut out = String::new();
    all(edits.iter().map(Edit::to_scene)).write_section("edit", &Writer::everything(), &mut out);
    out
}

impl Setup {
    /// The same scene, played differently.
    pub fn with_edits(&self, edits: &[Edit]) -> Setup {
        let mut setup = self.clone();
        setup.edits = edits.to_vec();
        setup.file.edit = if edits.is_empty() { None } else { typed(all(edits.iter().map(Edit::to_scene))) };
        setup
    }
}
