//! Checks of the scene as a whole: inflow that does not balance, emitters outside the box, too many cells.

mod edits;
mod liquid;

pub(super) use edits::edits;

use squall_core::ParameterError;

use super::*;
use crate::diagnostic::{Problem, Problems, SceneError, Sources, Span, Spanned, did_you_mean, number};
use crate::driver::MAX_STEPS;
use crate::scene;

pub(super) fn check(setup: &Setup, file: &scene::SceneFile, problems: &mut Problems<'_>) {
    net_inflow(setup, file, problems);
    if !problems.errors.is_empty() {
        // The values behind an error are stand-ins: warnings about them would only confuse.
        return;
    }
    many_steps(setup, file, problems);
    idle_sources(setup, file, problems);
    lost_objects(setup, file, problems);
    idle_substances(setup, file, problems);
    smoke_without_sources(setup, problems);
    nothing_happens(setup, problems);
    full_of_objects(setup, file, problems);
    liquid::check(setup, file, problems);
    unseen_smoke(setup, file, problems);
    fire_that_does_not_burn(setup, file, problems);
    late_targets(setup, file, problems);
    useless_forces(setup, file, problems);
    idle_wind(setup, file, problems);
}

impl Setup {
    /// Steps in a frame if the fluid is never faster than what the scene prescribes: usually it will be.
    pub fn fewest_steps_per_frame(&self) -> f64 {
        let spacing = self.grid.spacing();
        let cells_per_second = |v: &[f64]| v.iter().zip(&spacing).map(|(v, h)| v.abs() / h).fold(0.0, f64::max);
        let sides = self.grid.axes.iter().flat_map(|axis| match axis {
            Axis::Bounded { lo, hi } => vec![lo, hi],
            Axis::Periodic | Axis::Unbounded => vec![],
        });
        let sides = sides.filter_map(|side| match side {
            Side::Inflow(v) | Side::NoSlip(v) => Some(v.clone()),
            _ => None,
        });
        let duration = self.time.duration();
        let largest = |v: &Vec<Curve>| v.iter().map(|curve| curve.largest_abs(duration)).collect::<Vec<f64>>();
        let sources = self.sources.iter().filter_map(|s| s.velocity.as_ref()).map(largest);
        let blobs = self.blobs.iter().map(|blob| blob.velocity.clone());
        let spouts = self.spouts.iter().map(|spout| vec![spout.speed.largest_abs(duration)]);
        let fastest = sides.chain(sources).chain(blobs).chain(spouts).map(|v| cells_per_second(&v)).fold(0.0, f64::max);
        let by_length = self.solver.max_dt.map_or(0.0, |max| 1.0 / max);
        (fastest / self.solver.cfl).max(by_length) / self.time.fps
    }
}

/// Steps so short that the first frame would never come, or only after hours.
fn many_steps(setup: &Setup, file: &scene::SceneFile, problems: &mut Problems<'_>) {
    const MANY: f64 = 500.0;
    let steps = setup.fewest_steps_per_frame();
    if steps <= MANY {
        return;
    }
    let shortest = file.solver.as_ref().and_then(|s| s.max_dt.as_ref());
    let by_length = setup.solver.max_dt.is_some_and(|max| 1.0 / max >= 0.999 * steps * setup.time.fps);
    let (place, why) = match shortest.filter(|_| by_length) {
        Some(max) => (Some(max.span), "`solver.max_dt` is so short"),
        None => (None, "sources or sides are so fast for cells of this size"),
    };
    let message = format!("every frame takes {steps:.0} steps or more: {why}");
    let help =
        "make steps longer (solver.max_dt, solver.cfl), velocities slower, cells larger, or frames more frequent";
    if steps > f64::from(MAX_STEPS) {
        problems.error(place, message, format!("at most {MAX_STEPS} steps a frame")).help(help);
    } else {
        problems.warn(place, message, "slow").help(help);
    }
}

/// Objects that leave the fluid no room.
fn full_of_objects(setup: &Setup, file: &scene::SceneFile, problems: &mut Problems<'_>) {
    use crate::build::liquid::is_full_of_objects;
    if setup.grid.is_unbounded() || setup.cell_count() > MAX_CELLS {
        return;
    }
    let full = if setup.dimensions() == 2 { is_full_of_objects::<2>(setup) } else { is_full_of_objects::<3>(setup) };
    if let Ok(true) = full {
        let mut typed = setup.objects.iter().zip(file.object.iter().flat_map(|list| &list.value));
        let first = typed.find(|(object, _)| object.solid).map(|(_, typed)| typed);
        let place = first.map(|typed| typed.shape.as_ref().map_or(typed.span, |shape| shape.span));
        problems
            .error(place, "objects fill the whole box: there is no room for fluid", "fills the box")
            .help("make it smaller or the box larger, turn it inside out with shape = { inverse = .. }, or write solid = false");
    }
}

/// Whether a point is inside of a shape at rest. Meshes are not looked at: that takes long.
fn contains(shape: &Shape, x: &[f64], resolution: f64) -> bool {
    use crate::build::shape::still;
    match *x {
        _ if shape.has_mesh() => false,
        [x, y] => still::<2>(shape, resolution).is_ok_and(|s| s.distance([x, y], 0.0) < 0.0),
        [x, y, z] => still::<3>(shape, resolution).is_ok_and(|s| s.distance([x, y, z], 0.0) < 0.0),
        _ => false,
    }
}

/// Smoke that is only hot cannot be seen.
fn unseen_smoke(setup: &Setup, file: &scene::SceneFile, problems: &mut Problems<'_>) {
    let Some(_) = &setup.smoke else { return };
    let emits = |index: usize| setup.sources.iter().any(|s| s.set.iter().chain(&s.rate).any(|(i, _)| *i == index));
    let density = &setup.substances[DENSITY];
    let dense =
        setup.fire.is_some() || emits(DENSITY) || density.initial != Formula::Number(0.0) || density.source.is_some();
    let shown = setup.picture.show == Show::Substance(DENSITY) && setup.heat().is_none_or(|_| !glows(setup));
    if emits(TEMPERATURE) && !dense && shown {
        let place = file.source.as_ref().and_then(|list| list.first()).map(|s| s.span);
        problems
            .warn(place, "heat rises, but there is no smoke to be seen", "only temperature")
            .help("add density to the source: set = { density = 1.0, temperature = 150.0 }");
    }
}

/// Fire without fuel, or without anything hot enough to light it.
fn fire_that_does_not_burn(setup: &Setup, file: &scene::SceneFile, problems: &mut Problems<'_>) {
    let Some(fire) = &setup.fire else { return };
    let place = file.fire.as_ref().map(|fire| fire.span);
    let appears = |index: usize| {
        let s = &setup.substances[index];
        let emitted = setup.sources.iter().any(|s| s.set.iter().chain(&s.rate).any(|(i, _)| *i == index));
        emitted || s.initial != Formula::Number(0.0) || s.source.is_some() || !setup.edits.is_empty()
    };
    if !appears(FUEL) {
        problems
            .warn(place, "there is never any fuel", "nothing burns")
            .help("let a source emit some: set = { fuel = 1.0, temperature = 600.0 }");
        return;
    }
    // What appears at a rate or by a formula may become as hot as it likes.
    let heat = &setup.substances[TEMPERATURE];
    let unknown = setup.sources.iter().any(|s| s.rate.iter().any(|(i, _)| *i == TEMPERATURE))
        || heat.source.is_some()
        || !matches!(heat.initial, Formula::Number(_))
        || !setup.edits.is_empty();
    let held = setup.sources.iter().flat_map(|s| &s.set).filter(|(i, _)| *i == TEMPERATURE);
    let hottest = held.map(|(_, curve)| curve.largest(setup.time.duration())).fold(0.0, f64::max);
    let start = if let Formula::Number(value) = heat.initial { value } else { 0.0 };
    if !unknown && hottest.max(start) < fire.ignition {
        let message = format!("nothing is hot enough to light the fuel: it burns from {} K on", fire.ignition);
        problems
            .warn(place, message, "nothing burns")
            .help("let a source be hotter: set = { fuel = 1.0, temperature = 600.0 }");
    }
}

fn glows(setup: &Setup) -> bool {
    setup.film.as_ref().is_some_and(|film| film.render.glow.is_some())
}

/// Targets that the run ends before, or that are let go before they are formed.
fn late_targets(setup: &Setup, file: &scene::SceneFile, problems: &mut Problems<'_>) {
    let Some(guide) = &setup.guide else { return };
    let duration = setup.time.duration();
    let typed = file.target.iter().flat_map(|list| &list.value);
    for (i, target) in typed.enumerate() {
        let Some(time) = &target.time else { continue };
        if time.value > duration + 1e-9 {
            let message =
                format!("`target.{i}` is to be reached at {} s, but the last frame is at {duration} s", time.value);
            problems.warn(time.span, message, "too late").help("raise `time.frames`, or make the target earlier");
        } else if let Some(release) = guide.release.filter(|release| release.from < time.value) {
            let message =
                format!("`target.{i}` is to be reached at {} s, but smoke is let go at {} s", time.value, release.from);
            problems
                .warn(time.span, message, "after `guide.release`")
                .help("make `guide.release` later than the last target");
        }
    }
}

/// What flows in must be able to leave: in a box without an open side the flows through the sides must cancel.
fn net_inflow(setup: &Setup, file: &scene::SceneFile, problems: &mut Problems<'_>) {
    let size = &setup.grid.size;
    let (mut net, mut gross) = (0.0, 0.0);
    for (a, axis) in setup.grid.axes.iter().enumerate() {
        if setup.grid.is_unbounded_at(a).contains(&true) {
            return;
        }
        let Axis::Bounded { lo, hi } = axis else { continue };
        let area = size.iter().enumerate().filter(|(b, _)| *b != a).map(|(_, length)| length).product::<f64>();
        for (side, inwards) in [(lo, 1.0), (hi, -1.0)] {
            match side {
                Side::Open => return,
                Side::Inflow(velocity) => {
                    net += inwards * velocity[a] * area;
                    gross += (velocity[a] * area).abs();
                }
                _ => {}
            }
        }
    }
    // Typed decimals cancel to rounding; anything more is meant.
    if net.abs() > 1e-9 * gross {
        let unit = if setup.dimensions() == 2 { "m^2/s" } else { "m^3/s" };
        let (verb, help) = match net > 0.0 {
            true => (
                "enters",
                "the fluid cannot be compressed: make another side \"open\", or let as much flow out through another `inflow` side (velocity pointing outwards)",
            ),
            false => (
                "leaves",
                "nothing can take its place: make another side \"open\", or let as much flow in through another `inflow` side",
            ),
        };
        let message = format!("{} {unit} of fluid {verb} the box and no side is open", net.abs());
        problems.error(first_inflow(file), message, "here").help(help);
    }
}

/// Where the first inflow was written.
fn first_inflow(file: &scene::SceneFile) -> Option<Span> {
    let sides = file.boundary.as_deref()?;
    let pairs = [&sides.x, &sides.y, &sides.z].into_iter().flatten().filter_map(|ends| match &ends.value {
        scene::AxisEnds::Pair(pair) => Some(pair),
        _ => None,
    });
    let mut sides = pairs.flat_map(|pair| [&pair.lo, &pair.hi]).flatten();
    sides.find_map(|side| match &side.value {
        scene::Side::Special(special) => special.inflow.as_ref().map(|v| v.span),
        scene::Side::Plain(_) => None,
    })
}

fn idle_sources(setup: &Setup, file: &scene::SceneFile, problems: &mut Problems<'_>) {
    let grid = &setup.grid;
    let typed = file.source.iter().flat_map(|list| &list.value);
    for (i, (source, typed)) in setup.sources.iter().zip(typed).enumerate() {
        let place = typed.shape.as_ref().map_or(typed.span, |s| s.span);
        let (lo, hi) = source.shape.extent();
        let placed = source.motion.is_rest() && source.follow.is_none();
        let outside = (0..setup.dimensions())
            .filter(|_| placed)
            .find(|&a| hi[a] <= grid.origin[a] || lo[a] >= grid.origin[a] + grid.size[a]);
        if let Some(a) = outside {
            let (from, to) = (grid.origin[a], grid.origin[a] + grid.size[a]);
            let axis = ["x", "y", "z"][a];
            let (what, label) = match grid.is_unbounded() {
                true => ("outside the framed box", "is not in the picture"),
                false if source.drain => ("outside the box", "drains nothing"),
                false => ("outside the box", "emits nothing"),
            };
            problems.warn(place, format!("`source.{i}` lies {what}"), label).help(format!(
                "along {axis} the box reaches from {from} to {to} m, the source from {} to {} m",
                lo[a], hi[a]
            ));
        } else if let Some(a) = (0..setup.dimensions()).find(|&a| {
            let extent = (hi[a] - lo[a]) * source.motion.scale;
            extent.is_finite() && grid.is_unbounded() && extent > MUCH_LARGER * grid.size[a]
        }) {
            let times = (hi[a] - lo[a]) * source.motion.scale / grid.size[a];
            problems
                .warn(place, format!("`source.{i}` is {times:.0} times as large as the box"), "is its unit the metre?")
                .help(
                    "lengths are in metres; the grid follows what comes out of this source, however much memory that takes",
                );
        } else if let Some(a) =
            (0..setup.dimensions()).find(|&a| (hi[a] - lo[a]) * source.motion.scale < grid.spacing()[a])
        {
            let message = format!("`source.{i}` is thinner than a cell");
            problems.warn(place, message, "may miss every cell").help(format!(
                "a cell is {} m wide along {}",
                grid.spacing()[a],
                ["x", "y", "z"][a]
            ));
        }
        // Of liquids another warning knows more.
        let told = setup.model == Model::Liquid;
        if let Some(object) = (placed && !told).then(|| buried_in(setup, &source.shape)).flatten() {
            problems
                .warn(place, format!("`source.{i}` lies inside of the object `{}`", object.name), "emits nothing")
                .help("move it to the surface of the object, or outside; `follow` without a `shape` emits from the surface");
        }
        let duration = setup.time.duration();
        if source.active.from >= duration {
            let place = typed.from.as_ref().map_or(typed.span, |f| f.span);
            let message =
                format!("`source.{i}` starts at {} s, but the last frame is at {duration} s", source.active.from);
            problems.warn(place, message, "never starts").help("raise `time.frames`, or start it earlier");
        }
    }
}

/// The still solid that a still shape lies in as a whole, as far as some points of it show.
fn buried_in<'a>(setup: &'a Setup, shape: &Shape) -> Option<&'a Object> {
    let (lo, hi) = shape.extent();
    let (d, h) = (setup.dimensions(), setup.grid.spacing()[0]);
    if shape.has_mesh() || lo.iter().chain(&hi).any(|x| !x.is_finite()) {
        return None;
    }
    let middle: Vec<f64> = lo.iter().zip(&hi).map(|(lo, hi)| 0.5 * (lo + hi)).collect();
    let around = |object: &&Object| {
        let (low, high) = object.shape.extent();
        object.solid && object.motion.is_rest() && (0..d).all(|a| (low[a]..=high[a]).contains(&middle[a]))
    };
    setup.objects.iter().filter(around).find(|object| {
        let points = (0..5usize.pow(d as u32)).map(|i| -> Vec<f64> {
            let part = |a: usize| (i / 5usize.pow(a as u32) % 5) as f64 / 4.0;
            (0..d).map(|a| lo[a] + part(a) * (hi[a] - lo[a])).collect()
        });
        let mut inside = points.filter(|x| contains(shape, x, h)).peekable();
        inside.peek().is_some() && inside.all(|x| contains(&object.shape, &x, h))
    })
}

/// A box of still air.
fn nothing_happens(setup: &Setup, problems: &mut Problems<'_>) {
    let still = |side: &Side| match side {
        Side::Slip | Side::Open | Side::Unbounded => true,
        Side::NoSlip(v) | Side::Inflow(v) => v.iter().all(|v| *v == 0.0),
    };
    let moves = setup.grid.axes.iter().any(|axis| matches!(axis, Axis::Bounded { lo, hi } if !still(lo) || !still(hi)));
    let starts = setup.fluid.velocity.iter().any(|v| *v != Formula::Number(0.0));
    let acts = !(setup.sources.is_empty() && setup.forces.is_empty());
    let (there, help) = match setup.model {
        Model::StableFluids => (
            !setup.substances.is_empty(),
            "add a [substance.smoke], a [[source]] that emits it and a [[force]] that moves it: `squall new` writes a scene with all of them",
        ),
        Model::TargetSmoke => (
            setup.substances.iter().any(|s| s.start.is_some() || s.initial != Formula::Number(0.0)),
            "say where the smoke is at first, [substance.density] with start = { text = \"A\" }, and add a [[target]]: \
             `squall new NAME --template morph` writes a scene with both",
        ),
        // These say so themselves.
        Model::Smoke | Model::Liquid => return,
    };
    if !moves && !starts && !acts && !there && setup.texture.is_none() {
        problems.warn(None, "nothing happens in this scene", "still air").help(help);
    }
}

/// Meshes of other programs lie on their side, or are in centimetres: then they are far away, or fill everything.
fn lost_objects(setup: &Setup, file: &scene::SceneFile, problems: &mut Problems<'_>) {
    let grid = &setup.grid;
    let typed = file.object.iter().flat_map(|list| &list.value);
    for (i, (object, typed)) in setup.objects.iter().zip(typed).enumerate() {
        let Some(mesh) = object.shape.meshes().into_iter().next() else { continue };
        if object.motion.moves() || object.motion.keys.len() > 1 {
            continue;
        }
        let (lo, hi) = object.shape.extent();
        let Motion { pivot, scale, keys, .. } = &object.motion;
        // Turned, it reaches no further than its furthest corner: a ball around the pivot.
        let turned = keys.iter().any(|key| key.rotation != [0.0; 3]);
        let far = (0..lo.len()).map(|a| (lo[a] - pivot[a]).abs().max((hi[a] - pivot[a]).abs()).powi(2)).sum::<f64>();
        let placed = |a: usize, x: f64, sign: f64| {
            let shift = keys.first().map_or(0.0, |key| key.position[a]);
            pivot[a] + shift + scale * if turned { sign * far.sqrt() } else { x - pivot[a] }
        };
        let reach: Vec<[f64; 2]> =
            (0..setup.dimensions()).map(|a| [placed(a, lo[a], -1.0), placed(a, hi[a], 1.0)]).collect();
        let size = |a: usize| grid.size[a];
        let outside = |a: usize| reach[a][1] <= grid.origin[a] || reach[a][0] >= grid.origin[a] + size(a);
        let extent = |a: usize| reach[a][1] - reach[a][0];
        let place = typed.shape.as_ref().map_or(typed.span, |s| s.span);
        let help = |a: usize| {
            let up = match mesh.up {
                Up::Y => {
                    "files with z up, such as PLY and STL files of Blender, need mesh = { file = ..., up = \"z\" }; "
                }
                Up::Z => "",
            };
            format!(
                "{up}`position` moves it, and `scale` makes it larger or smaller; along {} it reaches from {:.4} to {:.4} m, the \
                 box from {} to {} m",
                ["x", "y", "z"][a],
                reach[a][0],
                reach[a][1],
                grid.origin[a],
                grid.origin[a] + size(a)
            )
        };
        if let Some(a) = (0..setup.dimensions()).find(|&a| outside(a)) {
            let message = format!("`object.{i}` lies outside the box");
            problems.warn(place, message, "no fluid gets there").help(help(a));
        } else if let Some(a) = (0..setup.dimensions()).find(|&a| !turned && extent(a) > MUCH_LARGER * size(a)) {
            let message = format!("`object.{i}` is {:.0} times as large as the box", extent(a) / size(a));
            problems.warn(place, message, "is its unit the metre?").help(help(a));
        }
    }
}

/// Objects that exceed the box so many times are mistakes.
const MUCH_LARGER: f64 = 5.0;

fn idle_substances(setup: &Setup, file: &scene::SceneFile, problems: &mut Problems<'_>) {
    let Some(typed) = &file.substance else { return };
    for (name, _) in typed.0.iter().filter(|(name, _)| name.is_typed()) {
        let Some(index) = setup.substances.iter().position(|s| s.name == name.value) else { continue };
        let substance = &setup.substances[index];
        let sources = setup.sources.iter().flat_map(|s| s.set.iter().chain(&s.rate));
        let liquids = setup.blobs.iter().map(|b| &b.set).chain(setup.spouts.iter().map(|s| &s.set)).flatten();
        let emitted = sources.chain(liquids).any(|(i, _)| *i == index) || (setup.liquid.is_some() && index == 0);
        let held = substance.boundary.iter().flatten().any(|end| !matches!(end, End::Insulated | End::Value(0.0)));
        if !emitted
            && !held
            && substance.source.is_none()
            && substance.start.is_none()
            && substance.initial == Formula::Number(0.0)
        {
            let message = format!("there is never any `{}`", substance.name);
            problems
                .warn(name.span, message, "always zero")
                .help(format!("give it `initial`, or a [[source]] with set = {{ {} = 1.0 }}", substance.name));
        }
    }
}

fn smoke_without_sources(setup: &Setup, problems: &mut Problems<'_>) {
    let starts = setup.substances.iter().any(|s| s.initial != Formula::Number(0.0) || s.source.is_some());
    if setup.smoke.is_some() && setup.sources.is_empty() && !starts {
        problems.warn(None, "there is never any smoke", "").help(
            "add [[source]] with a shape and set = { density = 1.0, temperature = 100.0 }, or give [substance.density] an `initial`",
        );
    }
}

fn useless_forces(setup: &Setup, file: &scene::SceneFile, problems: &mut Problems<'_>) {
    // In a box that is walled along every axis of the force, pressure balances it at once.
    let walled = |a: usize| match &setup.grid.axes[a] {
        Axis::Periodic | Axis::Unbounded => false,
        Axis::Bounded { lo, hi } => [lo, hi].iter().all(|side| !matches!(side, Side::Open | Side::Unbounded)),
    };
    let typed = file.force.iter().flat_map(|list| &list.value);
    for (i, (force, typed)) in setup.forces.iter().zip(typed).enumerate() {
        if let ForceKind::Uniform(f) = &force.kind
            && (0..f.len()).all(|a| f[a].is(0.0) || walled(a))
        {
            problems
                .warn(typed.span, format!("`force.{i}` moves nothing"), "the same everywhere, between walls")
                .help("the pressure balances a uniform force; use `buoyancy`, `wind` or `noise`, or open a side");
        }
    }
}

/// A box with more cells than Squall is willing to compute.
pub(super) fn budget(
    setup: &Setup,
    file: &scene::SceneFile,
    sources: &Sources,
    memory: Option<(u64, u64)>,
) -> Option<Problem> {
    let cells = setup.grid.cells.iter().map(|&n| n as u128).product::<u128>();
    let mut problems = Problems::new(sources);
    let place = file.grid.as_ref().and_then(|g| g.cells.as_ref()).map(|c| c.span);
    if cells <= u128::from(MAX_CELLS) {
        let (needed, limit) = memory?;
        let message = format!("{cells} cells of smoke with targets need at least {} MB of memory", needed / 1_000_000);
        problems
            .error(place, message, "too many cells")
            .help(format!("{} MB may be used: take fewer cells, or raise --memory-limit", limit / 1_000_000));
        return problems.errors.pop();
    }
    // Velocity, pressure and the substances, each twice, in 32 bits: a lower bound.
    let bytes = cells * 4 * 2 * (setup.dimensions() as u128 + 1 + setup.substances.len() as u128);
    let shrink = (MAX_CELLS as f64 / cells as f64).powf(1.0 / setup.dimensions() as f64);
    let fits: Vec<usize> = setup.grid.cells.iter().map(|&n| ((n as f64 * shrink) as usize).max(1)).collect();
    let message = format!("{cells} cells are more than Squall computes (at most {MAX_CELLS})");
    problems.error(place, message, "too many cells").help(format!(
        "they would take at least {} GiB of memory; the most in this shape is about {fits:?}",
        bytes >> 30
    ));
    problems.errors.pop()
}

/// Wind that sides keep out.
fn idle_wind(setup: &Setup, file: &scene::SceneFile, problems: &mut Problems<'_>) {
    let Some(smoke) = &setup.smoke else { return };
    let place = file.smoke.as_ref().and_then(|s| s.wind.as_ref()).map(|w| w.span);
    if !setup.grid.is_unbounded() {
        if smoke.wind.iter().any(|curve| !curve.is(0.0)) {
            problems.warn(place, "`smoke.wind` has no effect in a box", "ignored").help(
                "it is the air around smoke without bounds: make sides \"unbounded\", or let air in through an `inflow` side",
            );
        }
        return;
    }
    for (a, curve) in smoke.wind.iter().enumerate() {
        let axis = ["x", "y", "z"][a];
        match setup.grid.wind_past_sides(a) {
            Some(0.0) if !curve.is(0.0) => {
                let message = format!("wind along {axis} cannot pass the wall across {axis}");
                let help = format!("make that side \"unbounded\" or \"open\", or leave out the wind along {axis}");
                problems.warn(place, message, "ignored").help(help);
            }
            Some(inflow) if !curve.is(0.0) && !curve.is(inflow) => {
                let message = format!("the inflow of {inflow} m/s is the wind along {axis}");
                problems.warn(place, message, "ignored").help(format!("leave out the wind along {axis}"));
            }
            _ => {}
        }
    }
}
