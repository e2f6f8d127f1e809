//! Liquid that never appears, or does not fit.

use squall_core::model::liquid::PER_AXIS;

use super::*;
use crate::build::liquid::{Fate, fate, least_opening, poured};

pub(super) fn check(setup: &Setup, file: &scene::SceneFile, problems: &mut Problems<'_>) {
    if setup.model != Model::Liquid {
        return;
    }
    no_liquid(setup, file, problems);
    empty_blobs(setup, file, problems);
    odd_spouts(setup, file, problems);
    too_much_liquid(setup, file, problems);
    useless_zones(setup, file, problems);
    fast_mixing(setup, file, problems);
}

/// Boxes without liquid, and blobs that appear outside or too late.
fn no_liquid(setup: &Setup, file: &scene::SceneFile, problems: &mut Problems<'_>) {
    if setup.blobs.is_empty() && setup.spouts.is_empty() && !setup.sources.iter().any(|s| s.fill) {
        problems
            .warn(None, "there is no liquid", "an empty box")
            .help("add some: [[blob]] with shape = { box = { min = [0.0, 0.0], max = [0.3, 0.5] } }");
    }
    let grid = &setup.grid;
    let is_outside =
        |x: &[f64]| (0..setup.dimensions()).any(|a| x[a] < grid.origin[a] || x[a] > grid.origin[a] + grid.size[a]);
    for (i, (spout, typed)) in setup.spouts.iter().zip(file.spout.iter().flat_map(|list| &list.value)).enumerate() {
        if !spout.motion.is_rest() || spout.follow.is_some() {
            continue;
        }
        let size = spout.direction.iter().map(|v| v * v).sum::<f64>().sqrt();
        let h = grid.spacing()[0];
        let ahead: Vec<f64> = spout.center.iter().zip(&spout.direction).map(|(x, v)| x + 0.5 * h * v / size).collect();
        let place = typed.center.as_ref().map_or(typed.span, |center| center.span);
        let solid = setup.objects.iter().find(|o| o.solid && o.motion.is_rest() && contains(&o.shape, &ahead, h));
        if is_outside(&ahead) && !grid.is_unbounded() {
            problems
                .warn(place, format!("`spout.{i}` opens outside of the box"), "no liquid comes in")
                .help("move it, or turn it around: `grid.size` and `grid.origin` say where the box is");
        } else if let Some(object) = solid {
            problems
                .warn(place, format!("`spout.{i}` opens inside of the object `{}`", object.name), "no liquid comes in")
                .help("move it to the surface of the object, or outside");
        }
        if spout.active.from >= setup.time.duration() {
            let message = format!("`spout.{i}` starts at {} s, after the last frame", spout.active.from);
            let place = typed.from.as_ref().map_or(typed.span, |f| f.span);
            problems.warn(place, message, "never starts").help("raise `time.frames`, or start it earlier");
        }
    }
    let Some(list) = &file.blob else { return };
    for (i, (blob, built)) in list.iter().zip(&setup.blobs).enumerate() {
        // What is given by a formula or a file is somewhere in the box.
        let inside = || (grid.origin.clone(), (0..setup.dimensions()).map(|a| grid.origin[a] + grid.size[a]).collect());
        let (lo, hi) = built.shape.as_ref().map_or_else(inside, Shape::extent);
        let outside = |a: usize| hi[a] <= grid.origin[a] || lo[a] >= grid.origin[a] + grid.size[a];
        let place = blob.shape.as_ref().map_or(blob.span, |shape| shape.span);
        match (0..setup.dimensions()).find(|&a| outside(a)).map(|a| grid.is_unbounded_at(a)) {
            None => {}
            Some([false, false]) => {
                problems
                    .warn(place, format!("`blob.{i}` lies outside of the box"), "no liquid appears")
                    .help("move it, or make the box larger: `grid.size` and `grid.origin` say where it is");
            }
            Some(_) => {
                problems
                    .warn(place, format!("`blob.{i}` lies outside the framed box"), "is not in the picture")
                    .help("`grid.size` and `grid.origin` say where the box is");
            }
        }
        let larger = |a: usize| hi[a] - lo[a] > MUCH_LARGER * grid.size[a] && (hi[a] - lo[a]).is_finite();
        if let Some(a) = (0..setup.dimensions()).find(|&a| grid.is_unbounded() && larger(a)) {
            let times = (hi[a] - lo[a]) / grid.size[a];
            problems
                .warn(place, format!("`blob.{i}` is {times:.0} times as large as the box"), "is its unit the metre?")
                .help("lengths are in metres; the grid follows this liquid, however much memory that takes");
        }
        if let Some(time) = blob.time.as_ref().filter(|time| time.value > setup.time.duration()) {
            let message = format!("`blob.{i}` appears at {} s, after the last frame", time.value);
            problems.warn(time.span, message, "too late").help("raise `time.frames`, or make it earlier");
        }
    }
}

/// Blobs of which nothing comes: open meshes and blank pictures, which have no inside, and what is too small or inside of objects.
fn empty_blobs(setup: &Setup, file: &scene::SceneFile, problems: &mut Problems<'_>) {
    if setup.cell_count() > MAX_CELLS {
        return;
    }
    let grid = &setup.grid;
    let d = setup.dimensions();
    let typed = file.blob.iter().flat_map(|list| &list.value);
    for (i, (blob, typed)) in setup.blobs.iter().zip(typed).enumerate() {
        let outside = |shape: &Shape| {
            let (lo, hi) = shape.extent();
            (0..d).any(|a| hi[a] <= grid.origin[a] || lo[a] >= grid.origin[a] + grid.size[a])
        };
        let fate = match d {
            // That was told already.
            _ if blob.shape.as_ref().is_some_and(outside) => continue,
            2 => fate::<2>(setup, blob),
            _ => fate::<3>(setup, blob),
        };
        let shape = typed.shape.as_ref().map(|s| s.span);
        let place = shape.or(typed.figure.as_ref().map(|f| f.span)).unwrap_or(typed.span);
        match fate {
            Err(_) | Ok(Fate::Liquid) => {}
            Ok(Fate::Empty) => {
                let help = match &blob.shape {
                    Some(shape) if shape.has_mesh() => {
                        "the mesh is open or flat: close it, or make a sheet of it with mesh = { file = ..., sheet = 0.05 }"
                    }
                    Some(_) => "no point lies inside: what is left of it after cutting or shrinking?",
                    None => "it is blank, or finer than the cells: make it larger, or `invert` it",
                };
                problems.error(place, format!("`blob.{i}` encloses nothing"), "no liquid appears").help(help);
            }
            Ok(Fate::TooSmall) => {
                let (h, apart) = (grid.spacing()[0], grid.spacing()[0] / PER_AXIS as f64);
                problems
                    .warn(place, format!("`blob.{i}` is too small for the cells"), "hardly a particle fits into it")
                    .help(format!(
                        "a cell is {h:.4} m wide and particles are {apart:.4} m apart: make it wider than a cell, or the cells smaller"
                    ));
            }
            Ok(Fate::Covered(names)) => {
                let names = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ");
                problems
                    .warn(place, format!("`blob.{i}` lies inside of the object {names}"), "no liquid appears")
                    .help("move one of them, or let the object be no obstacle: solid = false");
            }
        }
    }
}

/// How far an opening reaches along each axis from its middle, as long as nothing moves it.
fn half_of_opening(spout: &Spout) -> Vec<f64> {
    let unit = |v: &[f64]| -> Vec<f64> {
        let length = v.iter().map(|v| v * v).sum::<f64>().sqrt().max(1e-300);
        v.iter().map(|v| v / length).collect()
    };
    let n = unit(&spout.direction);
    match &spout.opening {
        Opening::Disc(radius) => n.iter().map(|n| radius * (1.0 - n * n).max(0.0).sqrt()).collect(),
        Opening::Rectangle([width, height], side) => {
            let along = side.iter().zip(&n).map(|(s, n)| s * n).sum::<f64>();
            let first = unit(&side.iter().zip(&n).map(|(s, n)| s - along * n).collect::<Vec<_>>());
            let second = match (n.as_slice(), first.as_slice()) {
                (&[a, b, c], &[x, y, z]) => vec![b * z - c * y, c * x - a * z, a * y - b * x],
                _ => vec![0.0; n.len()],
            };
            (0..n.len()).map(|a| 0.5 * (width * first[a].abs() + height * second[a].abs())).collect()
        }
    }
}

/// Spouts that let nothing out, or that are wider than the box.
fn odd_spouts(setup: &Setup, file: &scene::SceneFile, problems: &mut Problems<'_>) {
    let grid = &setup.grid;
    let h = grid.spacing()[0];
    let typed = file.spout.iter().flat_map(|list| &list.value);
    for (i, (spout, typed)) in setup.spouts.iter().zip(typed).enumerate() {
        let (key, typed_opening) = match &spout.opening {
            Opening::Disc(_) => ("radius", &typed.radius),
            Opening::Rectangle([width, height], _) if setup.dimensions() == 3 && height < width => {
                ("height", &typed.height)
            }
            Opening::Rectangle(..) => ("width", &typed.width),
        };
        let place = typed_opening.as_ref().map_or(typed.span, |opening| opening.span);
        let wide = |half: f64, length: f64| 2.0 * half > length * (1.0 + 1e-9);
        let half = half_of_opening(spout);
        let bounded = |a: usize| grid.is_unbounded_at(a) == [false; 2];
        if let Some(a) = (0..setup.dimensions()).find(|&a| bounded(a) && wide(half[a], grid.size[a])) {
            let (axis, opening, length) = (["x", "y", "z"][a], 2.0 * half[a], grid.size[a]);
            problems
                .warn(
                    place,
                    format!("the opening of `spout.{i}` is wider than the box"),
                    "what is outside of the box is lost",
                )
                .help(format!(
                    "along {axis} it is {opening:.4} m wide, and the box {length} m: is its unit the metre?"
                ));
        }
        let least = match setup.dimensions() {
            2 => least_opening::<2>(setup, spout),
            _ => least_opening::<3>(setup, spout),
        };
        if let Ok(Some(least)) = least {
            let least = if key == "radius" { 0.5 * least } else { least };
            problems
                .warn(
                    place,
                    format!("the opening of `spout.{i}` is too narrow for the cells"),
                    "hardly any liquid comes out",
                )
                .help(format!("a cell is {h:.4} m wide: make `{key}` {least:.4} or more, or the cells smaller"));
        }
        let duration = setup.time.duration();
        let on = |t: &f64| is_on(spout.active, spout.every, *t);
        let times = || (0..=1000).map(|k| duration * f64::from(k) / 1000.0);
        if times().any(|t| on(&t)) && times().filter(on).all(|t| spout.speed.at(t) <= 0.0) {
            let place = typed.speed.as_ref().filter(|speed| speed.is_typed()).map_or(typed.span, |speed| speed.span);
            problems
                .warn(place, format!("the speed of `spout.{i}` is 0 as long as it is on"), "no liquid comes out")
                .help("for example speed = 1.0, in metres per second");
        }
    }
}

/// More liquid than a box without an outlet has room for.
fn too_much_liquid(setup: &Setup, file: &scene::SceneFile, problems: &mut Problems<'_>) {
    let open = |axis: &Axis| match axis {
        Axis::Periodic => false,
        Axis::Unbounded => true,
        Axis::Bounded { lo, hi } => [lo, hi].iter().any(|side| matches!(side, Side::Open | Side::Unbounded)),
    };
    let runs_out = setup.grid.axes.iter().any(open) || setup.sources.iter().any(|s| s.drain) || !setup.edits.is_empty();
    // Blobs of the start fill the box at most.
    let comes_later = !setup.spouts.is_empty() || setup.blobs.iter().any(|b| b.time > 0.0 || b.every.is_finite());
    if runs_out || !comes_later || setup.cell_count() > MAX_CELLS {
        return;
    }
    let poured = if setup.dimensions() == 2 { poured::<2>(setup) } else { poured::<3>(setup) };
    let Ok((room, all)) = poured else { return };
    let total: f64 = all.iter().map(|(_, part)| part).sum();
    // A lattice of points counts volumes to a few per cent.
    const SURE: f64 = 1.05;
    if total <= SURE * room {
        return;
    }
    let mut sum = 0.0;
    let full = all.iter().find(|(_, part)| {
        sum += part;
        sum > room
    });
    let at = full.map_or(0.0, |(t, _)| *t);
    let place = file.spout.as_ref().and_then(|l| l.first()).map(|s| s.span);
    let place = place.or(file.blob.as_ref().and_then(|l| l.last()).map(|b| b.span));
    problems
        .warn(
            place,
            format!("{:.1} times as much liquid comes into the box as it has room for", total / room),
            "more than fits",
        )
        .help(format!(
            "it is full after about {at:.2} s: let spouts and blobs end with `to`, add a source with drain = true, or make a side \"open\""
        ));
}

/// Sources inside of a solid, where there is never any liquid.
fn useless_zones(setup: &Setup, file: &scene::SceneFile, problems: &mut Problems<'_>) {
    const POINTS: usize = 8;
    let (d, h) = (setup.dimensions(), setup.grid.spacing()[0]);
    let typed = file.source.iter().flat_map(|list| &list.value);
    for (i, (source, typed)) in setup.sources.iter().zip(typed).enumerate() {
        let (lo, hi) = source.shape.extent();
        if !source.motion.is_rest() || source.follow.is_some() || lo.iter().chain(&hi).any(|x| !x.is_finite()) {
            continue;
        }
        let points: Vec<Vec<f64>> = (0..POINTS.pow(d as u32))
            .map(|i| {
                let part = |a: usize| (i / POINTS.pow(a as u32) % POINTS) as f64 + 0.5;
                (0..d).map(|a| lo[a] + part(a) / POINTS as f64 * (hi[a] - lo[a])).collect()
            })
            .filter(|x: &Vec<f64>| contains(&source.shape, x, h))
            .collect();
        let hides = |o: &&Object| {
            o.solid && o.motion.is_rest() && !points.is_empty() && points.iter().all(|x| contains(&o.shape, x, h))
        };
        if let Some(object) = setup.objects.iter().find(hides) {
            let place = typed.shape.as_ref().map_or(typed.span, |s| s.span);
            let message = format!("`source.{i}` lies inside of the object `{}`", object.name);
            problems.warn(place, message, "no liquid gets there").help("let it reach out of the object, or move it");
        }
    }
}

/// Inks that mix so fast that steps take long.
fn fast_mixing(setup: &Setup, file: &scene::SceneFile, problems: &mut Problems<'_>) {
    const MANY: f64 = 50.0;
    const MOST: f64 = 5000.0;
    let h = setup.grid.spacing()[0];
    for (i, s) in setup.substances.iter().enumerate() {
        // One pass over the particles mixes over a sixth of a cell's square.
        let passes = 6.0 * s.diffusion / (setup.time.fps * h * h);
        if passes > MANY {
            let typed =
                file.substance.as_ref().and_then(|named| named.0.get(i)).and_then(|(_, s)| s.diffusion.as_ref());
            let message = format!("`{}` is mixed {passes:.0} times in every frame", s.name);
            let spread = (2.0 * s.diffusion / setup.time.fps).sqrt();
            let help = format!("it spreads by {spread:.3} m in a frame: make `diffusion` smaller");
            let place = typed.map(|d| d.span);
            match passes > MOST {
                true => problems.error(place, message, format!("at most {MOST} times")).help(help),
                false => problems.warn(place, message, "slow").help(help),
            };
        }
    }
}
