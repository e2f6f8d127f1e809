//! Recorded edits: data, stamped by frame, so that a bake is a replay.

use squall_core::Value;
use squall_core::force::Dab;
use squall_core::shape::Path;

use super::{Figure, FigureKind, Formula, Motion, Setup, Shape};
use crate::Scene;
use crate::build::shape::rigid;
use crate::diagnostic::{SceneError, Span, Spanned};
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
    /// Something was moved.
    Move(Move),
    /// Keys of the scene have other values from then on: each `key.path=value`, as after `--set`.
    Set(Vec<String>),
}

/// Something of a scene that can be moved by hand: its number in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Thing {
    /// Of [`Setup::objects`].
    Object(usize),
    /// Of [`Setup::sources`].
    Source(usize),
    /// Of the lights of [`Setup::film`].
    Light(usize),
}

impl std::fmt::Display for Thing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (word, number) = match self {
            Thing::Object(i) => ("object", i),
            Thing::Source(i) => ("source", i),
            Thing::Light(i) => ("light", i),
        };
        write!(f, "{word}.{number}")
    }
}

impl std::str::FromStr for Thing {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (word, number) = text.split_once('.').ok_or(())?;
        let number = number.parse().map_err(|_| ())?;
        match word {
            "object" => Ok(Thing::Object(number)),
            "source" => Ok(Thing::Source(number)),
            "light" => Ok(Thing::Light(number)),
            _ => Err(()),
        }
    }
}

/// Something that was moved.
#[derive(Clone, Debug, PartialEq)]
pub struct Move {
    /// What.
    pub thing: Thing,
    /// How far it is from its own place after each frame, in metres.
    pub points: Vec<Vec<f64>>,
}

/// First words of keys that belong to a scene as a whole: they cannot change while it plays.
const WHOLE: [&str; 18] = [
    "description",
    "model",
    "seed",
    "grid",
    "boundary",
    "substance",
    "target",
    "guide",
    "blob",
    "surface",
    "edit",
    "texture",
    "time",
    "output",
    "picture",
    "camera",
    "render",
    "flipbook",
];

/// Whether a key, or a list of them, may have another value while a scene plays.
pub fn may_change(key: &str) -> bool {
    let first = key.trim().split(['.', '=']).next().unwrap_or("").trim();
    !WHOLE.contains(&first)
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
            Change::Move(m) => {
                edit.r#move = typed(scene::MoveEdit {
                    what: typed(m.thing.to_string()),
                    points: typed(all(m.points.iter().map(|p| Vector::of(p)))),
                });
            }
            Change::Set(keys) => edit.set = typed(all(keys.clone())),
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

/// Why a scene cannot become what its edits make of it.
pub(crate) struct Unfit {
    /// Where the keys were changed that [`error`](Self::error) takes for overrides: the number of the edit, and of the key in it.
    pub places: Vec<(usize, usize)>,
    /// What is wrong then.
    pub error: SceneError,
}

/// Times in seconds and displacements of a thing that was moved.
pub(crate) type Way = Vec<(f64, [f64; 3])>;

/// The ways of all things that were moved.
pub(crate) fn moved(edits: &[Edit], fps: f64) -> Vec<(Thing, Way)> {
    let mut moves: Vec<(u64, &Move)> = Vec::new();
    for edit in edits {
        if let Change::Move(m) = &edit.change {
            moves.push((edit.frame, m));
        }
    }
    moves.sort_by_key(|(frame, _)| *frame);
    let mut all: Vec<(Thing, Way)> = Vec::new();
    for (frame, Move { thing, points }) in moves {
        let at = all.iter().position(|(known, _)| known == thing).unwrap_or_else(|| {
            all.push((*thing, Vec::new()));
            all.len() - 1
        });
        let path = &mut all[at].1;
        let start = frame as f64 / fps;
        // Who takes it in the hand again ends what was done before.
        path.retain(|(time, _)| *time < start);
        let place = path.last().map_or([0.0; 3], |(_, place)| *place);
        path.push((start, place));
        path.extend(
            (frame + 1..).zip(points).map(|(frame, point)| {
                (frame as f64 / fps, std::array::from_fn(|a| point.get(a).copied().unwrap_or(0.0)))
            }),
        );
    }
    all
}

impl Setup {
    /// The same scene, played differently. Edits of scene keys must be right.
    pub fn with_edits(&self, edits: &[Edit]) -> Result<Setup, SceneError> {
        let mut setup = self.clone();
        setup.edits = edits.to_vec();
        setup.file.edit = if edits.is_empty() { None } else { typed(all(edits.iter().map(Edit::to_scene))) };
        setup.follow_edits().map_err(|unfit| unfit.error)?;
        Ok(setup)
    }

    /// The scene as its edits make it from a frame on.
    pub fn at_frame(&self, frame: u64) -> &Setup {
        self.later.iter().rev().find(|(from, _)| *from <= frame).map_or(self, |(_, setup)| setup)
    }

    /// What the scene becomes by edits of its keys: from which frame on, in ascending order.
    pub fn later(&self) -> &[(u64, Setup)] {
        &self.later
    }

    /// All forms of the scene, and the times from which on it has them, with a little room for rounding.
    pub(crate) fn forms(&self) -> impl Iterator<Item = (f64, &Setup)> {
        let from = |frame: u64| (frame as f64 - 1e-6) / self.time.fps;
        std::iter::once((f64::NEG_INFINITY, self))
            .chain(self.later.iter().map(move |(frame, setup)| (from(*frame), setup)))
    }

    /// Works out what the edits make of the scene: later forms of it, and paths of what is moved.
    pub(crate) fn follow_edits(&mut self) -> Result<(), Box<Unfit>> {
        let mut sets: Vec<(u64, usize, &[String])> = Vec::new();
        for (i, edit) in self.edits.iter().enumerate() {
            if let Change::Set(keys) = &edit.change {
                sets.push((edit.frame, i, keys));
            }
        }
        sets.sort_by_key(|(frame, ..)| *frame);
        let mut later: Vec<(u64, Setup)> = Vec::new();
        let (mut keys, mut places) = (Vec::new(), Vec::new());
        let plain = if sets.is_empty() { String::new() } else { self.without_edits().to_toml() };
        for (frame, i, set) in sets {
            keys.extend_from_slice(set);
            places.extend((0..set.len()).map(|k| (i, k)));
            // What other keys were found to be stays so: the scene with all defaults filled in is changed.
            let scene = Scene::parse("the scene", &plain, &keys);
            let changed = scene.and_then(|scene| scene.with_assets(self.assets.clone()).setup());
            let (setup, _) = changed.map_err(|error| Box::new(Unfit { places: places.clone(), error }))?;
            match later.last_mut() {
                Some((known, last)) if *known == frame => *last = setup,
                _ => later.push((frame, setup)),
            }
        }
        self.later = later;
        self.place_moved();
        Ok(())
    }

    /// The same scene in few cells and without figures, to try what does not depend on them. Its box may have other proportions.
    pub(crate) fn in_few_cells(&self) -> Setup {
        // A multiple of the width of tiles.
        const MOST: usize = 32;
        let most = self.grid.cells.iter().fold(MOST, |most, &n| most.max(n));
        let spacing = self.grid.spacing();
        let mut small = self.clone();
        small.later.iter_mut().for_each(|(_, setup)| *setup = setup.in_few_cells());
        for (a, cells) in small.grid.cells.iter_mut().enumerate() {
            *cells = (*cells).min(MOST);
            small.grid.size[a] = *cells as f64 * spacing[a] * most as f64 / MOST as f64;
        }
        small.blobs.clear();
        small.sources.iter_mut().for_each(|source| source.figure = None);
        small.substances.iter_mut().for_each(|substance| substance.start = None);
        let targets = small.guide.iter_mut().flat_map(|guide| &mut guide.smokes).flat_map(|smoke| &mut smoke.targets);
        targets.for_each(|t| t.figure = Figure { kind: FigureKind::Formula(Formula::Number(1.0)), frame: None });
        (small.texture, small.time.looped) = (None, None);
        small
    }

    fn without_edits(&self) -> Setup {
        let mut setup = Setup { edits: Vec::new(), later: Vec::new(), ..self.clone() };
        setup.file.edit = None;
        setup
    }

    /// Gives everything that the edits move its path, in all forms of the scene.
    fn place_moved(&mut self) {
        let paths: Vec<(Thing, Path)> =
            moved(&self.edits, self.time.fps).into_iter().map(|(thing, points)| (thing, Path::new(points))).collect();
        self.take_paths(&paths);
        self.later.iter_mut().for_each(|(_, setup)| setup.take_paths(&paths));
    }

    /// Things go along these paths, and no others by hand.
    pub(crate) fn take_paths(&mut self, paths: &[(Thing, Path)]) {
        let path = |thing: Thing| paths.iter().find(|(known, _)| *known == thing).map(|(_, path)| path.clone());
        for (i, object) in self.objects.iter_mut().enumerate() {
            object.motion.path = path(Thing::Object(i));
        }
        for (i, source) in self.sources.iter_mut().enumerate() {
            source.motion.path = path(Thing::Source(i));
        }
        for (i, light) in self.film.iter_mut().flat_map(|film| &mut film.lights).enumerate() {
            light.path = path(Thing::Light(i));
        }
    }

    /// Things that were moved already go along what these edits say: for whoever draws pictures of a scene that is being played.
    pub fn tell_moved(&self, edits: &[Edit]) {
        for (thing, points) in moved(edits, self.time.fps) {
            let mut forms = self.forms();
            if let Some(path) = forms.find_map(|(_, setup)| setup.path_of(thing)) {
                path.set(points, f64::INFINITY);
            }
        }
    }

    fn path_of(&self, thing: Thing) -> Option<&Path> {
        match thing {
            Thing::Object(i) => self.objects.get(i)?.motion.path.as_ref(),
            Thing::Source(i) => self.sources.get(i)?.motion.path.as_ref(),
            Thing::Light(i) => self.film.as_ref()?.lights.get(i)?.path.as_ref(),
        }
    }

    /// Where a thing is, without being moved by hand, at a time: the middle of its shape, or the place of a light; of a sun the direction towards it. `None`: there is no such thing, or it
    /// reaches infinitely far.
    pub fn place_of(&self, thing: Thing, time: f64) -> Option<Vec<f64>> {
        match thing {
            Thing::Object(i) => self.objects.get(i).and_then(|o| middle(&o.shape, &o.motion, time)),
            Thing::Source(i) => self.sources.get(i).and_then(|s| middle(&s.shape, &s.motion, time)),
            Thing::Light(i) => {
                let light = self.film.as_ref()?.lights.get(i)?;
                Some(light.source.at(time, None).1.to_vec())
            }
        }
    }

    /// How far a thing is displaced by hand at a time.
    pub fn displacement_of(&self, thing: Thing, time: f64) -> [f64; 3] {
        self.path_of(thing).map_or([0.0; 3], |path| path.at(time).0)
    }
}

/// The middle of a shape in motion.
fn middle(shape: &Shape, motion: &Motion, time: f64) -> Option<Vec<f64>> {
    let (low, high) = shape.extent();
    let middle: Vec<f64> = low.iter().zip(&high).map(|(a, b)| 0.5 * (a + b)).collect();
    let is_finite = middle.iter().all(|v| v.is_finite());
    let wide = Motion { path: None, ..motion.clone() };
    is_finite.then(|| match middle.len() {
        2 => rigid::<2>(&wide).place([middle[0], middle[1]], time).to_vec(),
        _ => rigid::<3>(&wide).place([middle[0], middle[1], middle[2]], time).to_vec(),
    })
}
