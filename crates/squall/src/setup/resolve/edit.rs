//! Recorded edits.

use squall_core::Value;

use super::*;

impl Resolver<'_> {
    pub(super) fn edits(&mut self, file: &SceneFile) -> Vec<Edit> {
        let Some(list) = &file.edit else { return Vec::new() };
        if self.is_loop {
            self.problems
                .error(
                    list.span,
                    "a loop has no beginning, so nothing can be done after a frame of it",
                    "edits of a loop",
                )
                .help("leave out `time.loop`, or the edits");
        }
        let mut edits = Vec::new();
        for (i, edit) in list.iter().enumerate() {
            let key = format!("edit.{i}");
            let given = [edit.parameter.is_some(), edit.stroke.is_some(), edit.r#move.is_some(), edit.set.is_some()];
            let change = match (&edit.parameter, &edit.stroke, &edit.r#move, &edit.set) {
                (Some(parameter), None, None, None) => Some(Change::Parameter {
                    name: parameter.name().clone(),
                    value: match parameter.value() {
                        NumberOrText::Number(number) => Value::Number(*number),
                        NumberOrText::Text(word) => Value::Choice(word.clone()),
                    },
                }),
                (None, Some(stroke), None, None) => self.stroke(stroke, &format!("{key}.stroke")).map(Change::Stroke),
                (None, None, Some(m), None) => self.moved(m, &format!("{key}.move"), file).map(Change::Move),
                (None, None, None, Some(keys)) => self.keys(keys, &format!("{key}.set")).map(Change::Set),
                _ if given == [false; 4] => {
                    self.problems
                        .error(edit.span, format!("`{key}` does nothing"), "this edit")
                        .help("give it one of: parameter, stroke, move, set");
                    None
                }
                _ => {
                    self.problems
                        .error(edit.span, format!("`{key}` is more than one edit"), "this edit")
                        .help("each edit needs its own [[edit]]");
                    None
                }
            };
            edits.extend(change.map(|change| Edit { frame: *edit.frame(), change }));
        }
        edits
    }

    fn moved(&mut self, m: &Spanned<scene::MoveEdit>, key: &str, file: &SceneFile) -> Option<Move> {
        let points: Vec<Vec<f64>> = m.points().iter().map(|point| point.values()).collect();
        let what = m.what.as_ref().map(|what| what.span);
        let Ok(thing) = m.what().parse::<Thing>() else {
            self.problems
                .error(what, format!("`{key}.what` cannot be \"{}\"", m.what()), "an object, a source or a light")
                .help("for example \"object.0\", \"source.1\" or \"light.0\"");
            return None;
        };
        let count = match thing {
            Thing::Object(_) => file.object.as_ref().map_or(0, |list| list.len()),
            Thing::Source(_) => file.source.as_ref().map_or(0, |list| list.len()),
            Thing::Light(_) => file.light.as_ref().map_or(0, |list| list.len()),
        };
        let (Thing::Object(i) | Thing::Source(i) | Thing::Light(i)) = thing;
        // Edits of scene keys may have added it: then it is looked for when they are known to be right.
        let added = file.edit.as_ref().is_some_and(|list| list.iter().any(|edit| edit.set.is_some()));
        if i >= count && !added {
            self.problems.no_such_thing(what, thing, count);
        }
        if points.is_empty() {
            let span = m.points.as_ref().map(|p| p.span);
            self.problems
                .error(span, format!("`{key}` has no points"), "at least one")
                .help("for example points = [[0.05, 0.0], [0.1, 0.0]]: one for each frame");
        }
        Some(Move { thing, points })
    }

    fn keys(&mut self, list: &Spanned<Vec<Spanned<String>>>, key: &str) -> Option<Vec<String>> {
        for text in list.iter().filter(|text| !crate::setup::edit::may_change(text)) {
            let first = text.value.split(['.', '=']).next().unwrap_or("").trim().to_owned();
            self.problems
                .error(
                    text.span,
                    format!("`{key}`: `{first}` cannot change while the scene plays"),
                    "belongs to the whole scene",
                )
                .help("change it in the scene itself");
        }
        Some(list.iter().map(|text| text.value.clone()).collect())
    }

    fn stroke(&mut self, s: &Spanned<scene::BrushStroke>, key: &str) -> Option<Stroke> {
        let points: Vec<Vec<f64>> = s.points().iter().map(|point| point.values()).collect();
        if points.is_empty() {
            let span = s.points.as_ref().map(|p| p.span);
            self.problems
                .error(span, format!("`{key}` has no points"), "at least one")
                .help("for example points = [[0.5, 0.5], [0.55, 0.5]]: one for each frame");
        }
        let pressure = match &s.pressure {
            Some(typed) if typed.len() != points.len() => {
                let message =
                    format!("`{key}.pressure` has {}, but there are {} points", entries(typed.len()), points.len());
                self.problems
                    .error(typed.span, message, format!("expected {}", points.len()))
                    .help("one for each point");
                return None;
            }
            Some(typed) => typed.plain(),
            None => vec![1.0; points.len()],
        };
        let mut paint = Vec::new();
        for (name, rate) in s.paint.iter().flat_map(|named| &named.0) {
            if self.substance(name)? == 0 && self.model == Model::Liquid {
                self.problems
                    .error(name.span, "`liquid` is how much of a cell is liquid: it cannot be painted", "not carried")
                    .help("write fill = true, or name what the liquid carries");
            }
            paint.push((name.value.clone(), rate.value));
        }
        let force = s.force().values();
        if paint.is_empty() && *s.erase() == 0.0 && *s.push() == 0.0 && !*s.fill() && force.iter().all(|&f| f == 0.0) {
            self.problems
                .error(s.span, format!("`{key}` does nothing"), "this stroke")
                .help("give it one of: paint, erase, push, force; with the model \"liquid\" fill");
        }
        Some(Stroke {
            points,
            pressure,
            radius: *s.radius(),
            softness: *s.softness(),
            paint,
            erase: *s.erase(),
            push: *s.push(),
            force,
            fill: *s.fill(),
        })
    }
}
