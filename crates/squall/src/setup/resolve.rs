//! From what was typed to what is meant: defaults, units, and a message for everything that cannot be.

use super::*;
use crate::diagnostic::{Problem, Problems, SceneError, Span, Spanned, did_you_mean, nearest};
use crate::scene::{self, NumberOrText, OneOrMany, PlainSide, Scene, SubstanceEnds, tree::inside_text};

/// Names that mean something already, besides functions and constants.
const RESERVED: &[&str] = &[
    "x",
    "y",
    "z",
    "t",
    "u",
    "v",
    "w",
    "speed",
    "vorticity",
    "pressure",
    "velocity",
    "divergence",
    "substances",
    "noise",
    "noise_x",
    "noise_y",
    "noise_z",
];
const AXES: [&str; 3] = ["x", "y", "z"];
/// Colours of substances that say none.
const PALETTE: [[u8; 3]; 6] = [
    [0xff, 0x8a, 0x3d],
    [0x4d, 0xa6, 0xff],
    [0x7d, 0xe0, 0x6b],
    [0xff, 0x5d, 0x8f],
    [0xf6, 0xd8, 0x4c],
    [0xb2, 0x8d, 0xff],
];
const MAX_SUBSTANCES: usize = 16;
const MAX_PIXELS: u64 = 16_384;
const MAX_FRAMES: u64 = 1_000_000;

type Vector = Option<Spanned<Vec<Spanned<f64>>>>;
/// Stands for a default where there is none; never seen, since an error was reported.
const REQUIRED: f64 = f64::NAN;

type Number = Option<Spanned<f64>>;

impl Setup {
    pub(crate) fn resolve(scene: &Scene) -> Result<(Setup, Vec<Problem>), SceneError> {
        let file = &scene.file;
        let mut r = Resolver { problems: Problems::new(&scene.sources), d: 2, names: Vec::new() };
        let Some(grid) = r.grid(file) else {
            return Err(r.problems.into_result().expect_err("a missing grid is reported"));
        };
        r.substance_names(file);

        let default = scene::Fluid::default();
        let fluid = file.fluid.as_deref().unwrap_or(&default);
        let longest = grid.size.iter().copied().fold(0.0, f64::max);
        let noise_scale = r.positive(&fluid.noise_scale, longest / 8.0, "fluid.noise_scale");
        let fluid = Fluid {
            viscosity: r.not_negative(&fluid.viscosity, 0.0, "fluid.viscosity"),
            velocity: match &fluid.velocity {
                Some(v) => r.formulas(v, "fluid.velocity", Known::Start),
                None => vec![Formula::Number(0.0); r.d],
            },
            noise_scale,
        };
        let substances = r.substances(file, &grid);
        let sources = r.sources(file, &grid);
        let forces = r.forces(file, noise_scale);
        let solver = r.solver(file);
        let time = r.time(file);
        let output = r.output(file, &grid);
        let picture = r.picture(file, &substances, &sources);
        let setup = Setup {
            description: file.description.as_deref().cloned().unwrap_or_default(),
            model: file.model.as_deref().copied().unwrap_or(Model::StableFluids),
            seed: file.seed.as_deref().copied().unwrap_or(1),
            grid,
            fluid,
            substances,
            sources,
            forces,
            solver,
            time,
            output,
            picture,
        };
        super::check::check(&setup, file, &mut r.problems);
        let budget = super::check::budget(&setup, file, &scene.sources);
        let warnings = r.problems.into_result()?;
        match budget {
            Some(problem) => Err(SceneError::Budget(problem)),
            None => Ok((setup, warnings)),
        }
    }
}

/// Which variables an expression may use.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    /// Position and noise: at the start nothing else exists.
    Start,
    /// Position, time, noise and all fields.
    Everything,
}

struct Resolver<'a> {
    problems: Problems<'a>,
    /// How many axes.
    d: usize,
    /// Names of the substances.
    names: Vec<String>,
}

impl Resolver<'_> {
    fn grid(&mut self, file: &scene::SceneFile) -> Option<Grid> {
        let example = "for example cells = [128, 192] for a 2D scene, or [64, 96, 64] for a 3D one";
        let Some(grid) = &file.grid else {
            self.problems
                .error(None, "the scene has no `[grid]`", "")
                .help(format!("add [grid] with the number of cells, {example}"));
            return None;
        };
        let Some(cells) = &grid.cells else {
            self.problems.error(grid.span, "`grid.cells` is missing", "cells belong here").help(example);
            return None;
        };
        if !(2..=3).contains(&cells.len()) {
            let message = format!("`grid.cells` has {}; a box has 2 axes or 3", entries(cells.len()));
            self.problems.error(cells.span, message, "2 entries or 3").help(example);
            return None;
        }
        self.d = cells.len();
        for n in &cells.value {
            if n.value == 0 {
                self.problems.error(n.span, "`grid.cells` has an axis without cells", "at least 1").help(example);
            } else if n.value > MAX_CELLS {
                let message = format!("{} cells along one axis are too many", n.value);
                self.problems
                    .error(n.span, message, "too many")
                    .help(format!("a box has at most {MAX_CELLS} cells in all"));
            }
        }
        let counts: Vec<usize> = cells.iter().map(|n| n.value.clamp(1, MAX_CELLS) as usize).collect();
        let size = match &grid.size {
            Some(size) => {
                for length in size.iter().filter(|l| !(1e-9..=1e9).contains(&l.value)) {
                    let message = format!("`grid.size` cannot be {}", length.value);
                    self.problems
                        .error(length.span, message, "metres, above zero")
                        .help("lengths lie between 1e-9 and 1e9 metres");
                }
                self.vector(&grid.size, "grid.size")
            }
            None => counts.iter().map(|&n| n as f64 / counts[0] as f64).collect(),
        };
        let origin = self.vector(&grid.origin, "grid.origin");
        let default = scene::Boundary::default();
        let sides = file.boundary.as_deref().unwrap_or(&default);
        let axes = [&sides.x, &sides.y, &sides.z];
        if let (2, Some(z)) = (self.d, &sides.z) {
            self.problems
                .error(z.span, "`boundary.z` in a 2D scene", "there is no z axis")
                .help("leave it out, or give `grid.cells` three entries");
        }
        let axes = (0..self.d).map(|a| self.axis(a, axes[a])).collect();
        Some(Grid { cells: counts, size, origin, axes })
    }

    fn axis(&mut self, a: usize, ends: &Option<Spanned<scene::AxisEnds>>) -> Axis {
        let plain = |side: PlainSide, d: usize| match side {
            PlainSide::Slip => Side::Slip,
            PlainSide::NoSlip => Side::NoSlip(vec![0.0; d]),
            PlainSide::Open => Side::Open,
        };
        match ends.as_deref() {
            None => Axis::Bounded { lo: Side::Slip, hi: Side::Slip },
            Some(scene::AxisEnds::Periodic) => Axis::Periodic,
            Some(scene::AxisEnds::Both(side)) => Axis::Bounded { lo: plain(*side, self.d), hi: plain(*side, self.d) },
            Some(scene::AxisEnds::Pair(pair)) => {
                let [lo, hi] = [(&pair.lo, "lo"), (&pair.hi, "hi")].map(|(side, end)| match side {
                    None => Side::Slip,
                    Some(Spanned { value: scene::Side::Plain(side), .. }) => plain(*side, self.d),
                    Some(Spanned { value: scene::Side::Special(side), span }) => self.special_side(a, end, side, *span),
                });
                Axis::Bounded { lo, hi }
            }
        }
    }

    fn special_side(&mut self, a: usize, end: &str, side: &scene::SpecialSide, span: Span) -> Side {
        let key = format!("boundary.{}.{end}", AXES[a]);
        match (&side.moving, &side.inflow) {
            (Some(moving), None) => {
                let velocity = self.vector(&side.moving, &format!("{key}.moving"));
                if velocity[a] != 0.0 {
                    let place = moving.get(a).map_or(moving.span, |v| v.span);
                    let message = format!("the wall `{key}` cannot move along {}", AXES[a]);
                    let help = format!("a wall moves along itself: make entry {} zero, or use `inflow`", a + 1);
                    self.problems.error(place, message, "across the wall").help(help);
                }
                Side::NoSlip(velocity)
            }
            (None, Some(_)) => Side::Inflow(self.vector(&side.inflow, &format!("{key}.inflow"))),
            (both, _) => {
                let message = match both {
                    Some(_) => format!("`{key}` is both moving and inflow"),
                    None => format!("`{key}` says nothing"),
                };
                self.problems
                    .error(span, message, "one of `moving`, `inflow`")
                    .help("for example { inflow = [0.0, 0.5] }, or just \"open\"");
                Side::Slip
            }
        }
    }

    fn substance_names(&mut self, file: &scene::SceneFile) {
        let Some(named) = &file.substance else { return };
        if named.0.len() > MAX_SUBSTANCES {
            let message = format!("{} substances are too many", named.0.len());
            self.problems
                .error(named.0[MAX_SUBSTANCES].0.span, message, "one too many")
                .help(format!("a scene carries at most {MAX_SUBSTANCES}"));
        }
        for (name, _) in &named.0 {
            let good = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                && name.starts_with(|c: char| c.is_ascii_alphabetic())
                && name.len() <= 40;
            if !good {
                self.problems
                    .error(name.span, format!("`{}` cannot be the name of a substance", name.value), "not a name")
                    .help("names begin with a letter and have up to 40 letters, digits and underscores");
            } else if RESERVED.contains(&name.as_str())
                || crate::expr::CONSTANTS.iter().any(|(c, _)| *c == name.as_str())
                || crate::expr::function_names().any(|f| f == name.as_str())
            {
                self.problems
                    .error(name.span, format!("`{}` has a meaning already", name.value), "reserved name")
                    .help(format!("choose another name, for example `{}_1`", name.value));
            }
            self.names.push(name.value.clone());
        }
    }

    fn substances(&mut self, file: &scene::SceneFile, grid: &Grid) -> Vec<Substance> {
        let Some(named) = &file.substance else { return Vec::new() };
        let mut substances = Vec::new();
        for (index, (name, s)) in named.0.iter().enumerate() {
            let key = format!("substance.{}", name.value);
            let color = s.color.as_ref().map(|c| self.color(c));
            substances.push(Substance {
                name: name.value.clone(),
                diffusion: self.not_negative(&s.diffusion, 0.0, &format!("{key}.diffusion")),
                dissipation: self.not_negative(&s.dissipation, 0.0, &format!("{key}.dissipation")),
                initial: match &s.initial {
                    Some(initial) => self.formula(initial, &format!("{key}.initial"), Known::Start),
                    None => Formula::Number(0.0),
                },
                boundary: self.substance_boundary(s, grid, &key),
                color: color.unwrap_or(PALETTE[index % PALETTE.len()]),
                source: s.source.as_ref().map(|f| self.formula(f, &format!("{key}.source"), Known::Everything)),
            });
        }
        substances
    }

    fn substance_boundary(&mut self, s: &scene::Substance, grid: &Grid, key: &str) -> Vec<[End; 2]> {
        let default = scene::SubstanceBoundary::default();
        let typed = s.boundary.as_deref().unwrap_or(&default);
        let typed = [&typed.x, &typed.y, &typed.z];
        if let (2, Some(z)) = (self.d, typed[2]) {
            self.problems
                .error(z.span, format!("`{key}.boundary.z` in a 2D scene"), "there is no z axis")
                .help("leave it out");
        }
        let mut boundary = Vec::new();
        for (a, axis) in grid.axes.iter().enumerate() {
            let mut ends = match axis {
                Axis::Periodic => [End::Insulated; 2],
                Axis::Bounded { lo, hi } => [lo, hi].map(|side| match side {
                    Side::Inflow(_) | Side::Open => End::Value(0.0),
                    _ => End::Insulated,
                }),
            };
            if let Some(given) = typed[a] {
                if *axis == Axis::Periodic {
                    let message = format!("`{key}.boundary.{}` on a periodic axis", AXES[a]);
                    self.problems
                        .error(given.span, message, "this axis has no ends")
                        .help("leave it out, or make the axis bounded in [boundary]");
                }
                let given = match &given.value {
                    SubstanceEnds::Both(end) => [Some(end.clone()), Some(end.clone())],
                    SubstanceEnds::Pair(pair) => [&pair.lo, &pair.hi].map(|e| e.as_ref().map(|e| e.value.clone())),
                };
                for (end, given) in ends.iter_mut().zip(given) {
                    match given {
                        Some(scene::SubstanceEnd::Insulated) => *end = End::Insulated,
                        Some(scene::SubstanceEnd::Value(value)) => *end = End::Value(value),
                        None => {}
                    }
                }
            }
            boundary.push(ends);
        }
        boundary
    }

    fn sources(&mut self, file: &scene::SceneFile, grid: &Grid) -> Vec<Source> {
        let Some(typed) = &file.source else { return Vec::new() };
        let cell = grid.spacing().into_iter().fold(f64::INFINITY, f64::min);
        let mut sources = Vec::new();
        for (i, s) in typed.iter().enumerate() {
            let key = format!("source.{i}");
            if s.set.is_none() && s.rate.is_none() && s.velocity.is_none() {
                self.problems.error(s.span, format!("`{key}` emits nothing"), "this source").help(
                    "say what it does: set = { density = 1.0 }, rate = { density = 2.0 } or velocity = [0.0, 1.0]",
                );
            }
            let shape = match &s.shape {
                Some(shape) => self.shape(shape, &format!("{key}.shape")),
                None => {
                    let help = "for example shape = { sphere = { center = [0.5, 0.1], radius = 0.05 } }";
                    self.problems.error(s.span, format!("`{key}` has no shape"), "this source").help(help);
                    None
                }
            };
            let source = Source {
                shape: shape.unwrap_or(Shape::Sphere { center: grid.origin.clone(), radius: 1.0 }),
                softness: self.not_negative(&s.softness, cell, &format!("{key}.softness")),
                set: self.amounts(&s.set),
                rate: self.amounts(&s.rate),
                velocity: s.velocity.as_ref().map(|_| self.vector(&s.velocity, &format!("{key}.velocity"))),
                noise: self.between(&s.noise, 0.0, 1.0, 0.0, &format!("{key}.noise")),
                active: self.interval(&s.from, &s.to, &key),
            };
            if let (Some(set), Some(rate)) = (&s.set, &s.rate) {
                for (name, _) in
                    rate.0.iter().filter(|(name, _)| set.0.iter().any(|(other, _)| other.value == name.value))
                {
                    let message = format!("`{key}` both sets `{0}` and adds to it", name.value);
                    self.problems
                        .error(name.span, message, "also in `set`")
                        .help("a value that is held cannot grow: keep one of the two");
                }
            }
            sources.push(source);
        }
        sources
    }

    fn amounts(&mut self, named: &Option<Spanned<scene::Named<f64>>>) -> Vec<(usize, f64)> {
        let Some(named) = named else { return Vec::new() };
        let mut amounts = Vec::new();
        for (name, value) in &named.0 {
            if let Some(index) = self.substance(name) {
                amounts.push((index, value.value));
            }
        }
        amounts.sort_by_key(|&(index, _)| index);
        amounts
    }

    /// The number of the substance of this name.
    fn substance(&mut self, name: &Spanned<String>) -> Option<usize> {
        let index = self.names.iter().position(|n| *n == name.value);
        if index.is_none() {
            let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
            let help = match names.is_empty() {
                true => format!("the scene has no substances yet: add [substance.{}]", short(name)),
                false => match nearest(name, names.iter().copied()) {
                    Some(best) => format!("did you mean `{best}`?"),
                    None => format!("{}; or add [substance.{}]", did_you_mean(name, &names, "substances"), short(name)),
                },
            };
            self.problems
                .error(name.span, format!("there is no substance `{}`", short(name)), "not a substance")
                .help(help);
        }
        index
    }

    fn shape(&mut self, shape: &Spanned<scene::Shape>, key: &str) -> Option<Shape> {
        let kinds = [shape.sphere.is_some(), shape.r#box.is_some(), shape.capsule.is_some()];
        if kinds.iter().filter(|k| **k).count() != 1 {
            let message = match kinds.contains(&true) {
                true => format!("`{key}` is more than one shape"),
                false => format!("`{key}` is empty"),
            };
            self.problems
                .error(shape.span, message, "exactly one of `sphere`, `box`, `capsule`")
                .help("several shapes need several [[source]] entries");
            return None;
        }
        if let Some(s) = &shape.sphere {
            let key = format!("{key}.sphere");
            let center = self.required(&s.center, s.span, &key, "center", "[0.5, 0.1]");
            let radius = self.required(&s.radius, s.span, &key, "radius", "0.05");
            (center & radius).then(|| Shape::Sphere {
                center: self.vector(&s.center, &format!("{key}.center")),
                radius: self.positive(&s.radius, REQUIRED, &format!("{key}.radius")),
            })
        } else if let Some(b) = &shape.r#box {
            let key = format!("{key}.box");
            let low = self.required(&b.min, b.span, &key, "min", "[0.4, 0.0]");
            let high = self.required(&b.max, b.span, &key, "max", "[0.6, 0.1]");
            if !(low & high) {
                return None;
            }
            let min = self.vector(&b.min, &format!("{key}.min"));
            let max = self.vector(&b.max, &format!("{key}.max"));
            if let Some(a) = (0..self.d).find(|&a| min[a] >= max[a]) {
                let message = format!("the box `{key}` has no extent along {}", AXES[a]);
                let help =
                    format!("along {} it reaches from {} to {}: min must be less than max", AXES[a], min[a], max[a]);
                self.problems.error(b.span, message, "min and max").help(help);
            }
            Some(Shape::Box { min, max })
        } else {
            let c = shape.capsule.as_ref()?;
            let key = format!("{key}.capsule");
            let from = self.required(&c.from, c.span, &key, "from", "[0.2, 0.1]");
            let to = self.required(&c.to, c.span, &key, "to", "[0.8, 0.1]");
            let radius = self.required(&c.radius, c.span, &key, "radius", "0.05");
            (from & to & radius).then(|| Shape::Capsule {
                from: self.vector(&c.from, &format!("{key}.from")),
                to: self.vector(&c.to, &format!("{key}.to")),
                radius: self.positive(&c.radius, REQUIRED, &format!("{key}.radius")),
            })
        }
    }

    fn solver(&mut self, file: &scene::SceneFile) -> Solver {
        let default = scene::Solver::default();
        let s = file.solver.as_deref().unwrap_or(&default);
        Solver {
            advection: s.advection.as_deref().copied().unwrap_or(Advection::MacCormack),
            splitting: s.splitting.as_deref().copied().unwrap_or(Splitting::LaggedPressure),
            advect_with: s.advect_with.as_deref().copied().unwrap_or(AdvectWith::Face),
            tracer: s.tracer.as_deref().copied().unwrap_or(Tracer::Auto),
            diffusion: s.diffusion.as_deref().copied().unwrap_or(Diffusion::Implicit),
            filter: s.filter.as_ref().map(|_| self.between(&s.filter, 0.0, 1.0, REQUIRED, "solver.filter")),
            cfl: self.between(&s.cfl, 0.01, 1000.0, 2.0, "solver.cfl"),
            max_dt: self.positive(&s.max_dt, f64::INFINITY, "solver.max_dt"),
            steps_per_frame: self.count(&s.steps_per_frame, 1, 1000, 1, "solver.steps_per_frame"),
        }
    }

    fn time(&mut self, file: &scene::SceneFile) -> Time {
        let default = scene::Time::default();
        let t = file.time.as_deref().unwrap_or(&default);
        Time {
            fps: self.between(&t.fps, 0.001, 10_000.0, 30.0, "time.fps"),
            frames: self.count(&t.frames, 1, MAX_FRAMES, 90, "time.frames"),
            include_start: t.include_start.as_deref().copied().unwrap_or(false),
        }
    }

    fn output(&mut self, file: &scene::SceneFile, grid: &Grid) -> Output {
        let default = scene::Output::default();
        let o = file.output.as_deref().unwrap_or(&default);
        let width = self.count(&o.width, 1, MAX_PIXELS, 640, "output.width");
        let height = (f64::from(width) * grid.size[1] / grid.size[0]).round().max(1.0);
        if height > MAX_PIXELS as f64 {
            let message = format!("the pictures would be {height} pixels high");
            let place = o.width.as_ref().map_or(file.grid.as_ref().map(|g| g.span), |w| Some(w.span));
            self.problems
                .error(place, message, "too high")
                .help(format!("the height follows from the box; at most {MAX_PIXELS}: make `output.width` smaller"));
        }
        let mut fields: Vec<String> = Vec::new();
        let known = ["velocity", "pressure", "vorticity", "speed"];
        for field in o.fields.iter().flat_map(|f| &f.value) {
            if !self.names.contains(field) && !known.contains(&field.as_str()) {
                let names: Vec<&str> = self.names.iter().map(String::as_str).chain(known).collect();
                let help = did_you_mean(field, &names, "fields");
                self.problems
                    .error(field.span, format!("there is no field `{}`", short(field)), "not a field")
                    .help(help);
            } else if !fields.contains(field) {
                fields.push(field.value.clone());
            }
        }
        let checkpoint_seconds = self.between(&o.checkpoint_seconds, 0.0, 1e6, 60.0, "output.checkpoint_seconds");
        let movie = o.movie.as_deref().copied().unwrap_or(Movie::Gif);
        Output { width, height: height.min(MAX_PIXELS as f64) as u32, movie, fields, checkpoint_seconds }
    }
}

mod force;
mod picture;
mod values;

fn entries(n: usize) -> String {
    if n == 1 { "1 entry".to_owned() } else { format!("{n} entries") }
}

/// A text cut to a length that fits into a message.
fn short(text: &str) -> String {
    text.chars().take(40).collect()
}
