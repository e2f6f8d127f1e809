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
            let change = match (&edit.parameter, &edit.stroke) {
                (Some(parameter), None) => Some(Change::Parameter {
                    name: parameter.name().clone(),
                    value: match parameter.value() {
                        NumberOrText::Number(number) => Value::Number(*number),
                        NumberOrText::Text(word) => Value::Choice(word.clone()),
                    },
                }),
                (None, Some(stroke)) => self.stroke(stroke, &format!("{key}.stroke")).map(Change::Stroke),
                (None, None) => {
                    self.problems
                        .error(edit.span, format!("`{key}` does nothing"), "this edit")
                        .help("give it one of: parameter, stroke");
                    None
                }
                (Some(_), Some(stroke)) => {
                    self.problems
                        .error(stroke.span, format!("`{key}` is more than one edit"), "the second one")
                        .help("each edit needs its own [[edit]]");
                    None
                }
            };
            edits.extend(change.map(|change| Edit { frame: *edit.frame(), change }));
        }
        edits
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
