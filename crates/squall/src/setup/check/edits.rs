//! Recorded edits: what they make of the scene, and what its simulation refuses.

use squall_core::Value;

use super::*;
use crate::driver::Driver;
use crate::scene::tree::inside_text;
use crate::setup::edit::Unfit;

/// Follows the edits of a scene in which nothing else is wrong. More than it may ask for is an error of its own.
pub(in crate::setup) fn edits(setup: &mut Setup, problems: &mut Problems<'_>) -> Result<(), SceneError> {
    if let Err(unfit) = setup.follow_edits() {
        if let SceneError::Budget(_) = unfit.error {
            return Err(unfit.error);
        }
        wrong_keys(setup, &unfit, problems);
        return Ok(());
    }
    late_edits(setup, problems);
    missing_things(setup, problems);
    wrong_parameters(setup, problems);
    Ok(())
}

/// An edit as it was typed.
fn typed(setup: &Setup, i: usize) -> Option<&Spanned<scene::Edit>> {
    setup.file.edit.as_ref().and_then(|list| list.get(i))
}

/// Tells what is wrong with changed keys where they were typed.
fn wrong_keys(setup: &Setup, unfit: &Unfit, problems: &mut Problems<'_>) {
    let key = |&(i, k): &(usize, usize)| typed(setup, i)?.set.as_ref()?.get(k);
    for problem in unfit.error.problems() {
        // The first text is the scene before its edits, which is right: then the last change is to blame.
        let inside = problem.span().filter(|span| span.source > 0);
        let place = match inside {
            Some(span) => unfit
                .places
                .get(span.source - 1)
                .and_then(key)
                .map(|typed| inside_text(problems.sources, typed.span, &typed.value, span.start..span.end)),
            None => unfit.places.last().and_then(key).map(|typed| typed.span),
        };
        let label = if inside.is_some() { problem.label() } else { "after this edit" };
        let fix = problems.error(place, problem.message(), label);
        if let Some(advice) = problem.advice() {
            fix.help(advice);
        }
    }
}

/// Edits after the last frame.
fn late_edits(setup: &Setup, problems: &mut Problems<'_>) {
    let frames = setup.time.simulated_frames();
    let late = setup.edits.iter().enumerate().filter(|(_, edit)| edit.frame >= frames);
    let late: Vec<usize> = late.map(|(i, _)| i).collect();
    if let Some((&first, others)) = late.split_first() {
        let place = typed(setup, first).and_then(|edit| edit.frame.as_ref()).map(|frame| frame.span);
        let more = match others.len() {
            0 => String::new(),
            n => format!(", and so do {n} more"),
        };
        let message = format!("`edit.{first}` comes after the last frame, which is {frames}{more}");
        problems.warn(place, message, "too late").help("raise `time.frames`, or leave it out");
    }
}

/// Moves of what is not there when they begin.
fn missing_things(setup: &Setup, problems: &mut Problems<'_>) {
    for (i, edit) in setup.edits.iter().enumerate() {
        let Change::Move(Move { thing, .. }) = &edit.change else { continue };
        let then = setup.at_frame(edit.frame);
        let (index, count) = match *thing {
            Thing::Object(i) => (i, then.objects.len()),
            Thing::Source(i) => (i, then.sources.len()),
            // Pictures without a camera show no lights.
            Thing::Light(i) => (i, then.film.as_ref().map_or(usize::MAX, |film| film.lights.len())),
        };
        if index >= count {
            let what = typed(setup, i).and_then(|edit| edit.r#move.as_ref()?.what.as_ref()).map(|what| what.span);
            problems.no_such_thing(what, *thing, count);
        }
    }
}

/// Parameters that the simulation does not have or that may not be so, and changes of the scene that its state does not survive: tried in few cells.
fn wrong_parameters(setup: &Setup, problems: &mut Problems<'_>) {
    let needs_a_trial = |edit: &Edit| matches!(edit.change, Change::Parameter { .. } | Change::Set(_));
    if !setup.edits.iter().any(needs_a_trial) {
        return;
    }
    let mut small = setup.in_few_cells();
    small.edits.retain(|edit| matches!(edit.change, Change::Set(_)));
    // What else is wrong the run will say.
    let Ok(mut driver) = Driver::new(&small) else { return };
    let known = driver.parameters();
    let names: Vec<&str> = known.iter().map(|p| p.name.as_str()).collect();
    for (i, edit) in setup.edits.iter().enumerate() {
        let Change::Parameter { name, value } = &edit.change else { continue };
        let given = typed(setup, i).and_then(|edit| edit.parameter.as_deref());
        let name_span = given.and_then(|p| p.name.as_ref()).map(|name| name.span);
        let value_span = given.and_then(|p| p.value.as_ref()).map(|value| value.span);
        match driver.check_parameter(name, value) {
            Ok(()) => {}
            Err(ParameterError::Unknown { .. }) => {
                let message = format!("`edit.{i}.parameter`: there is no parameter `{name}`");
                problems.error(name_span, message, "not a parameter").help(did_you_mean(name, &names, "parameters"));
            }
            Err(error @ ParameterError::Fixed { .. }) => {
                problems
                    .error(name_span, format!("`edit.{i}.parameter`: {error}"), "cannot change")
                    .help("change it in the scene itself");
            }
            Err(error) => {
                let known = known.iter().find(|p| p.name == *name);
                let range = known.map(|p| p.range.map(number)).unwrap_or_default();
                let choices = known.map_or_else(String::new, |p| p.choices.join(", "));
                let (message, label) = match (error, value) {
                    (ParameterError::OutOfRange { .. }, Value::Number(value)) => (
                        format!("`{name}` must lie between {} and {}, but is {}", range[0], range[1], number(*value)),
                        format!("{} to {}", range[0], range[1]),
                    ),
                    (ParameterError::NotAChoice { .. }, _) => (format!("`{name}` must be one of {choices}"), choices),
                    _ => (format!("`{name}` must be a number"), format!("{} to {}", range[0], range[1])),
                };
                problems
                    .error(value_span, format!("`edit.{i}.parameter`: {message}"), label)
                    .help("`squall studio` lists the parameters of a scene");
            }
        }
    }
    if let Some((frame, reason)) = driver.try_edits() {
        let by = |edit: &Edit| edit.frame == frame && matches!(edit.change, Change::Set(_));
        let i = setup.edits.iter().position(by).unwrap_or_default();
        let place = typed(setup, i).and_then(|edit| edit.set.as_ref()).map(|set| set.span);
        problems
            .error(place, format!("`edit.{i}.set` cannot take over the state of the scene: {reason}"), "this edit")
            .help("change it in the scene itself");
    }
}
