//! From what was typed to what is meant: defaults, units, and a message for everything that cannot be.

use squall_core::layout::tile_width;

pub(super) use picture::largest_emitted;

use super::*;
use crate::assets::Assets;
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
    "texture",
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
        let assets = &scene.assets;
        let mut r = Resolver { problems: Problems::new(&scene.sources), assets, d: 2, names: Vec::new(), fps: 30.0 };
        let model = file.model.as_deref().copied().unwrap_or(Model::StableFluids);
        let Some(grid) = r.grid(file, model) else {
            return Err(r.problems.into_result().expect_err("a missing grid is reported"));
        };
        r.substance_names(file, model);

        let default = scene::Fluid::default();
        let fluid = file.fluid.as_deref().unwrap_or(&default);
        if model == Model::TargetSmoke {
            r.not_in(model, &fluid.viscosity, "fluid.viscosity");
        }
        let noise_scale = r.positive(&fluid.noise_scale, grid.longest() / 8.0, "fluid.noise_scale");
        let fluid = Fluid {
            viscosity: r.not_negative(&fluid.viscosity, 0.0, "fluid.viscosity"),
            velocity: match &fluid.velocity {
                Some(v) => r.formulas(v, "fluid.velocity", Known::Start),
                None => vec![Formula::Number(0.0); r.d],
            },
            noise_scale,
        };
        let time = r.time(file);
        r.fps = time.fps;
        let smoke = r.smoke(file, model, &grid);
        let objects = r.objects(file, model);
        let sources = r.sources(file, &grid, model, &objects);
        let substances = r.substances(file, &grid, model, &sources);
        let forces = r.forces(file, noise_scale, &grid);
        let seed = file.seed.as_deref().copied().unwrap_or(1);
        let texture = r.texture(file, &grid, seed);
        let solver = r.solver(file, model);
        let film = r.wants_film(file, model, &grid);
        let output = r.output(file, &grid, model, film);
        let picture = r.picture(file, model, &substances, &sources, film);
        let film = film.then(|| r.film(file, &grid, &picture, &substances, &sources));
        let flipbook = r.flipbook(file);
        let mut setup = Setup {
            description: file.description.as_deref().cloned().unwrap_or_default(),
            model,
            seed,
            grid,
            fluid,
            smoke,
            guide: None,
            substances,
            sources,
            objects,
            forces,
            texture,
            solver,
            time,
            output,
            picture,
            film,
            flipbook,
        };
        r.looped(file, &mut setup);
        setup.guide = r.guide(file, &setup);
        r.check_passes(file, &setup);
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
    /// The files that the scene may name.
    assets: &'a Assets,
    /// How many axes.
    d: usize,
    /// Names of the substances.
    names: Vec<String>,
    /// Frames per second.
    fps: f64,
}

impl Resolver<'_> {
    fn grid(&mut self, file: &scene::SceneFile, model: Model) -> Option<Grid> {
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
        if model == Model::Smoke && file.boundary.is_none() {
            return Some(Grid { cells: counts, size, origin, axes: vec![Axis::Unbounded; self.d] });
        }
        let default = scene::Boundary::default();
        let sides = file.boundary.as_deref().unwrap_or(&default);
        let axes = [&sides.x, &sides.y, &sides.z];
        if let (2, Some(z)) = (self.d, &sides.z) {
            self.problems
                .error(z.span, "`boundary.z` in a 2D scene", "there is no z axis")
                .help("leave it out, or give `grid.cells` three entries");
        }
        let typed = axes;
        let axes = (0..self.d).map(|a| self.axis(a, typed[a])).collect();
        let grid = Grid { cells: counts, size, origin, axes };
        self.unbounded_sides(model, &grid, typed);
        Some(grid)
    }

    fn axis(&mut self, a: usize, ends: &Option<Spanned<scene::AxisEnds>>) -> Axis {
        let plain = |side: PlainSide, d: usize| match side {
            PlainSide::Slip => Side::Slip,
            PlainSide::NoSlip => Side::NoSlip(vec![0.0; d]),
            PlainSide::Open => Side::Open,
            PlainSide::Unbounded => Side::Unbounded,
        };
        match ends.as_deref() {
            None => Axis::Bounded { lo: Side::Slip, hi: Side::Slip },
            Some(scene::AxisEnds::Periodic) => Axis::Periodic,
            Some(scene::AxisEnds::Both(PlainSide::Unbounded)) => Axis::Unbounded,
            Some(scene::AxisEnds::Both(side)) => Axis::Bounded { lo: plain(*side, self.d), hi: plain(*side, self.d) },
            Some(scene::AxisEnds::Pair(pair)) => {
                let [lo, hi] = [(&pair.lo, "lo"), (&pair.hi, "hi")].map(|(side, end)| match side {
                    None => Side::Slip,
                    Some(Spanned { value: scene::Side::Plain(side), .. }) => plain(*side, self.d),
                    Some(Spanned { value: scene::Side::Special(side), span }) => self.special_side(a, end, side, *span),
                });
                match (lo, hi) {
                    (Side::Unbounded, Side::Unbounded) => Axis::Unbounded,
                    (lo, hi) => Axis::Bounded { lo, hi },
                }
            }
        }
    }

    /// What tiles ask of a grid that goes anywhere on some sides, but not on others.
    fn unbounded_sides(&mut self, model: Model, grid: &Grid, typed: [&Option<Spanned<scene::AxisEnds>>; 3]) {
        if !grid.is_unbounded() {
            return;
        }
        let tile = if self.d == 2 { tile_width::<2>() } else { tile_width::<3>() };
        for (a, axis) in grid.axes.iter().enumerate() {
            let (place, name) = (typed[a].as_ref().map(|ends| ends.span), AXES[a]);
            let [_, far] = grid.is_unbounded_at(a);
            if model != Model::Smoke {
                if !grid.is_unbounded_at(a).contains(&true) {
                    continue;
                }
                self.problems
                    .error(place, format!("`boundary.{name}` cannot be unbounded"), "this model lives in a box")
                    .help("only model = \"smoke\" has grids that follow the fluid; use \"open\"");
            } else if *axis == Axis::Periodic {
                self.problems
                    .error(place, format!("`boundary.{name}` is periodic while another axis is unbounded"), "periodic")
                    .help(
                        "a grid that follows the smoke has no axis that repeats: use \"slip\" walls, or bound all axes",
                    );
            } else if matches!(axis, Axis::Bounded { .. }) && !far && !grid.cells[a].is_multiple_of(tile) {
                let n = grid.cells[a];
                let (below, above) = (n / tile * tile, n.next_multiple_of(tile));
                let fits = if below > 0 { format!("{below} or {above}") } else { above.to_string() };
                let message = format!("the far side of `boundary.{name}` stands {n} cells from the near one");
                self.problems.error(place, message, format!("not a multiple of {tile}")).help(format!(
                    "the grid grows in tiles of {tile} cells, and a side stands between two of them: give `grid.cells` {fits} along {name}"
                ));
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

    fn substance_names(&mut self, file: &scene::SceneFile, model: Model) {
        if model == Model::Smoke {
            self.names.extend(["density", "temperature"].map(str::to_owned));
        }
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
            if !self.names.contains(&name.value) {
                self.names.push(name.value.clone());
            }
        }
    }

    fn substances(&mut self, file: &scene::SceneFile, grid: &Grid, model: Model, sources: &[Source]) -> Vec<Substance> {
        let default = scene::Substance::default();
        let mut substances = Vec::new();
        for (index, name) in self.names.clone().into_iter().enumerate() {
            let typed = file.substance.iter().flat_map(|named| &named.0).find(|(typed, _)| typed.value == name);
            let s = typed.map_or(&default, |(_, s)| &s.value);
            let key = format!("substance.{name}");
            let color = s.color.as_ref().map(|c| self.color(c));
            let initial = match &s.initial {
                Some(initial) => self.formula(initial, &format!("{key}.initial"), Known::Start),
                None => Formula::Number(0.0),
            };
            // A five-hundredth of what is brightest cannot be seen.
            let held = sources.iter().flat_map(|s| &s.set).filter(|(i, _)| *i == index).map(|(_, v)| v.abs());
            let start = if let Formula::Number(value) = initial { value.abs() } else { 0.0 };
            let largest = held.fold(start, f64::max);
            let threshold = if largest > 0.0 { largest / 500.0 } else { 1e-3 };
            substances.push(Substance {
                diffusion: self.not_negative(&s.diffusion, 0.0, &format!("{key}.diffusion")),
                dissipation: self.not_negative(&s.dissipation, 0.0, &format!("{key}.dissipation")),
                initial,
                start: self.start(s, model, grid, &key),
                boundary: self.substance_boundary(s, grid, &key),
                color: color.unwrap_or(PALETTE[index % PALETTE.len()]),
                source: s.source.as_ref().map(|f| self.formula(f, &format!("{key}.source"), Known::Everything)),
                threshold: self.positive(&s.threshold, threshold, &format!("{key}.threshold")),
                name,
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
                Axis::Periodic | Axis::Unbounded => [End::Insulated; 2],
                Axis::Bounded { lo, hi } => [lo, hi].map(|side| match side {
                    Side::Inflow(_) | Side::Open => End::Value(0.0),
                    _ => End::Insulated,
                }),
            };
            if let Some(given) = typed[a] {
                if grid.is_endless(a) {
                    let kind = if *axis == Axis::Periodic { "a periodic axis" } else { "an axis without bounds" };
                    let message = format!("`{key}.boundary.{}` on {kind}", AXES[a]);
                    self.problems
                        .error(given.span, message, "this axis has no ends")
                        .help("leave it out, or make the axis bounded in [boundary]");
                }
                let given = match &given.value {
                    SubstanceEnds::Both(end) => [Some(end.clone()), Some(end.clone())],
                    SubstanceEnds::Pair(pair) => [&pair.lo, &pair.hi].map(|e| e.as_ref().map(|e| e.value.clone())),
                };
                let unbounded = grid.is_unbounded_at(a);
                for (k, (end, given)) in ends.iter_mut().zip(given).enumerate() {
                    if given.is_some() && unbounded[k] && !unbounded[1 - k] {
                        let side = ["lo", "hi"][k];
                        let message = format!("`{key}.boundary.{}.{side}` on a side without bounds", AXES[a]);
                        let place = typed[a].as_ref().map(|given| given.span);
                        self.problems.error(place, message, "there is no side").help("name the other side only");
                    }
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

    fn solver(&mut self, file: &scene::SceneFile, model: Model) -> Solver {
        let default = scene::Solver::default();
        let s = file.solver.as_deref().unwrap_or(&default);
        if model == Model::StableFluids {
            self.only_in_smoke(&s.solids, "solver.solids");
        } else {
            self.not_in(model, &s.advect_with, "solver.advect_with");
            self.not_in(model, &s.diffusion, "solver.diffusion");
            self.not_in(model, &s.filter, "solver.filter");
        }
        if model == Model::TargetSmoke {
            self.not_in(model, &s.advection, "solver.advection");
            self.not_in(model, &s.splitting, "solver.splitting");
            self.not_in(model, &s.tracer, "solver.tracer");
        }
        // Target smoke is carried in flux form, by less than a cell.
        let cfl = if model == Model::TargetSmoke { 0.8 } else { 2.0 };
        Solver {
            advection: s.advection.as_deref().copied().unwrap_or(Advection::MacCormack),
            splitting: s.splitting.as_deref().copied().unwrap_or(Splitting::LaggedPressure),
            advect_with: s.advect_with.as_deref().copied().unwrap_or(AdvectWith::Face),
            tracer: s.tracer.as_deref().copied().unwrap_or(Tracer::Auto),
            diffusion: s.diffusion.as_deref().copied().unwrap_or(Diffusion::Implicit),
            filter: s.filter.as_ref().map(|_| self.between(&s.filter, 0.0, 1.0, REQUIRED, "solver.filter")),
            cfl: self.between(&s.cfl, 0.01, 1000.0, cfl, "solver.cfl"),
            max_dt: self.positive(&s.max_dt, f64::INFINITY, "solver.max_dt"),
            steps_per_frame: self.count(&s.steps_per_frame, 1, 1000, 1, "solver.steps_per_frame"),
            solids: s.solids.as_deref().copied().unwrap_or(Solids::CutCells),
        }
    }

    fn time(&mut self, file: &scene::SceneFile) -> Time {
        let default = scene::Time::default();
        let t = file.time.as_deref().unwrap_or(&default);
        let include_start = t.include_start.as_deref().copied().unwrap_or(false);
        if let (Some(given), Some(_), true) = (&t.include_start, &t.r#loop, include_start) {
            self.problems
                .error(given.span, "a loop has no frame 0: its last frame comes before its first", "not here")
                .help("leave out `time.include_start` or `time.loop`");
        }
        Time {
            fps: self.between(&t.fps, 0.001, 10_000.0, 30.0, "time.fps"),
            frames: self.count(&t.frames, 1, MAX_FRAMES, 90, "time.frames"),
            include_start,
            looped: None,
        }
    }

    /// The loop that the run becomes, if it does: then frames are its frames.
    fn looped(&mut self, file: &scene::SceneFile, setup: &mut Setup) {
        let default = scene::LoopTable::default();
        let typed = file.time.as_deref().and_then(|t| t.r#loop.as_ref());
        let (frames, table) = match typed.map(|l| &l.value) {
            None => return,
            Some(scene::Loop::Frames(frames)) => (Some(frames.clone()), &default),
            Some(scene::Loop::Table(table)) => (table.frames.clone(), &**table),
        };
        if frames.is_none() {
            self.problems
                .error(typed.map(|l| l.span), "`time.loop` does not say how many frames", "of what length?")
                .help("for example loop = { frames = 64 }");
        }
        let frames = self.count(&frames, 2, MAX_FRAMES, 64, "time.loop.frames");
        let forgets = setup.forgets();
        let rounds = if forgets { 4 } else { 0 };
        let looped = Loop {
            start: setup.time.frames,
            overlap: self.count(&table.overlap, 1, frames.into(), frames.div_ceil(2), "time.loop.overlap"),
            rounds: self.count(&table.rounds, 0, 100, rounds, "time.loop.rounds"),
            even: table.even.as_deref().copied().unwrap_or(!forgets && setup.model != Model::TargetSmoke),
        };
        (setup.time.frames, setup.time.looped) = (frames, Some(looped));
        if let Some(texture) = &mut setup.texture {
            // Textures are forgotten by turns: after a whole number of them a loop is where it was.
            let length = f64::from(frames) / setup.time.fps;
            texture.period = length / (length / texture.period).round().max(1.0);
        }
    }
}

mod figure;
mod film;
mod flipbook;
mod force;
mod output;
mod picture;
mod shape;
mod smoke;
mod source;
mod target;
mod texture;
mod values;

fn entries(n: usize) -> String {
    if n == 1 { "1 entry".to_owned() } else { format!("{n} entries") }
}

/// A text cut to a length that fits into a message.
fn short(text: &str) -> String {
    text.chars().take(40).collect()
}
