//! Emitters.

use super::shape::Place;
use super::*;

impl Resolver<'_> {
    pub(super) fn sources(&mut self, file: &SceneFile, objects: &[Object]) -> Vec<Source> {
        let Some(list) = &file.source else { return Vec::new() };
        let mut sources = Vec::new();
        for (i, s) in list.iter().enumerate() {
            let key = format!("source.{i}");
            self.does_something(s, &key);
            let follow = s.follow.as_ref().and_then(|name| self.object_named(name, objects));
            let figure = self.source_figure(s, &key);
            let shape = match (&s.shape, follow) {
                _ if figure.is_some() => {
                    let (min, size) = (self.grid.origin.clone(), &self.grid.size);
                    let max = min.iter().zip(size).map(|(min, size)| min + size).collect();
                    Some(Shape::Box { min, max, rounding: 0.0 })
                }
                (Some(shape), _) => self.shape(shape, &format!("{key}.shape")),
                // Nothing can be emitted inside of a solid: a skin of a cell and a half outside of it.
                (None, Some(object)) => {
                    let shape = Box::new(objects[object].shape.clone());
                    Some(Shape::Grown { shape, by: 1.5 * self.cell() / objects[object].motion.scale })
                }
                (None, None) => {
                    let help = "for example shape = { sphere = { center = [0.5, 0.1], radius = 0.05 } }";
                    if s.follow.is_none() && s.figure.is_none() {
                        self.problems.error(s.span, format!("`{key}` has no shape"), "this source").help(help);
                    }
                    None
                }
            };
            let shape = shape.unwrap_or(Shape::Sphere { center: self.grid.origin.clone(), radius: 1.0 });
            let place = Place {
                position: s.position().plain(),
                rotation: s.rotation().curves(),
                scale: *s.scale(),
                pivot: &s.pivot,
                motion: &s.motion,
            };
            let motion = self.motion(place, &shape, &key);
            let moves = motion.moves() || follow.is_some_and(|object| objects[object].motion.moves());
            let active = self.interval(*s.from(), &s.to, &key);
            let source = Source {
                shape,
                figure,
                motion,
                follow,
                drag: s.drag.as_deref().copied().unwrap_or(moves),
                softness: *s.softness(),
                set: self.amounts(&s.set),
                rate: self.amounts(&s.rate),
                velocity: s.velocity.as_ref().map(|v| v.plain()),
                fill: *s.fill(),
                drain: *s.drain(),
                sink: s.sink().plain(),
                expansion: s.expansion().plain(),
                noise: *s.noise(),
                every: self.every(&s.every, active, &key),
                active,
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

    /// The figure that a source fills, if it has one instead of a shape.
    fn source_figure(&mut self, s: &Spanned<scene::Source>, key: &str) -> Option<Figure> {
        let typed = s.figure.as_ref()?;
        if s.shape.is_some() {
            self.problems
                .error(typed.span, format!("`{key}` has both a shape and a figure"), "one or the other")
                .help("write two [[source]]s");
            return None;
        }
        let figure = self.figure(&typed.0, typed.span, &format!("{key}.figure"))?;
        if figure.moves() {
            self.problems
                .error(typed.span, format!("the figure of `{key}` moves"), "one that stands still")
                .help("use one picture; `position` and `motion` move it as a whole");
        }
        Some(figure)
    }

    /// Openings that liquid comes out of.
    pub(super) fn spouts(&mut self, file: &SceneFile, objects: &[Object]) -> Vec<Spout> {
        let Some(list) = &file.spout else { return Vec::new() };
        let mut spouts = Vec::new();
        for (i, s) in list.iter().enumerate() {
            let key = format!("spout.{i}");
            let (Some(center), Some(direction)) = (&s.center, &s.direction) else { continue };
            let (center, aim) = (center.values(), direction.values());
            if aim.iter().all(|v| *v == 0.0) {
                self.problems
                    .error(direction.span, format!("`{key}.direction` has no length"), "goes nowhere")
                    .help("for example direction = [0.0, 1.0]: upwards");
            }
            let only_3d = [("height", s.height.as_ref().map(|v| v.span)), ("side", s.side.as_ref().map(|v| v.span))];
            for (name, span) in only_3d.into_iter().filter(|_| self.d == 2) {
                if let Some(span) = span {
                    self.problems
                        .error(span, format!("`{key}.{name}` in a 2D scene"), "only in 3D")
                        .help("leave it out: in 2D an opening is a slit of its `width`");
                }
            }
            let opening = match (&s.radius, &s.width) {
                (Some(radius), None) => Opening::Disc(radius.value),
                (None, Some(width)) => {
                    let height = s.height.as_ref().map_or(width.value, |h| h.value);
                    let level = if self.d == 3 { vec![aim[2], 0.0, -aim[0]] } else { vec![-aim[1], aim[0]] };
                    let level = if level.iter().all(|v| *v == 0.0) { vec![1.0, 0.0, 0.0] } else { level };
                    let side = s.side.as_ref().map_or(level, |side| side.values());
                    let (dot, size) = (inner(&side, &aim), inner(&side, &side).sqrt() * inner(&aim, &aim).sqrt());
                    if dot.abs() > 0.99 * size {
                        let place = s.side.as_ref().map_or(s.span, |side| side.span);
                        self.problems
                            .error(place, format!("`{key}.side` points where the liquid goes"), "must go across it")
                            .help("give a direction within the opening, or leave it out");
                    }
                    Opening::Rectangle([width.value, height], side)
                }
                _ => {
                    self.problems
                        .error(s.span, format!("`{key}` needs a radius or a width, one of the two"), "this spout")
                        .help("for example radius = 0.05");
                    Opening::Disc(1.0)
                }
            };
            let place = Place {
                position: s.position().plain(),
                rotation: s.rotation().curves(),
                scale: 1.0,
                pivot: &s.pivot,
                motion: &s.motion,
            };
            let motion = self.motion(place, &Shape::Sphere { center: center.clone(), radius: 1.0 }, &key);
            let active = self.interval(*s.from(), &s.to, &key);
            let follow = s.follow.as_ref().and_then(|name| self.object_named(name, objects));
            let every = self.every(&s.every, active, &key);
            spouts.push(Spout {
                center,
                direction: aim,
                opening,
                speed: s.speed().plain(),
                set: self.amounts(&s.set),
                active,
                every,
                motion,
                follow,
            });
        }
        spouts
    }

    fn does_something(&mut self, s: &Spanned<scene::Source>, key: &str) {
        if self.model == Model::Liquid {
            if let (true, Some(drain)) = (*s.fill(), s.drain.as_ref().filter(|drain| drain.value)) {
                self.problems
                    .error(drain.span, format!("`{key}` both fills and drains"), "and `fill = true`")
                    .help("keep one of the two");
            }
            if !*s.fill() && !*s.drain() && s.velocity.is_none() && s.set.is_none() && s.rate.is_none() {
                self.problems
                    .error(s.span, format!("`{key}` does nothing"), "this source")
                    .help("say what it does: fill = true, drain = true, velocity = [0.0, 1.0] or set = { ink = 1.0 }");
            }
            return;
        }
        let idle = s.set.is_none() && s.rate.is_none() && s.velocity.is_none();
        if idle && typed(&s.sink).is_none() && typed(&s.expansion).is_none() {
            self.problems
                .error(s.span, format!("`{key}` emits nothing"), "this source")
                .help("say what it does: set = { density = 1.0 }, rate = { density = 2.0 } or velocity = [0.0, 1.0]");
        }
    }

    /// The number of the object of this name.
    fn object_named(&mut self, name: &Spanned<String>, objects: &[Object]) -> Option<usize> {
        let found = objects.iter().position(|o| o.name == name.value);
        if found.is_none() {
            let names: Vec<&str> = objects.iter().map(|o| o.name.as_str()).collect();
            let help = match names.is_empty() {
                true => "the scene has no [[object]]".to_owned(),
                false => did_you_mean(name, &names, "objects"),
            };
            self.problems.error(name.span, format!("there is no object `{}`", short(name)), "not an object").help(help);
        }
        found
    }

    /// After how many seconds the time between `from` and `to` begins again.
    fn every(&mut self, typed: &Option<Spanned<f64>>, active: Interval, key: &str) -> f64 {
        let Some(every) = typed else { return f64::INFINITY };
        let on = active.to - active.from;
        if !on.is_finite() {
            self.problems
                .error(every.span, format!("`{key}` never stops, so it cannot start again"), "needs `to`")
                .help("for example from = 0.0, to = 0.2, every = 1.0: a fifth of each second");
        } else if every.value <= on {
            let message = format!("`{key}.every` is {} s, but the source is on for {on} s", every.value);
            self.problems
                .error(every.span, message, "too short")
                .help("`every` must be longer than from `from` to `to`");
        }
        every.value
    }

    pub(super) fn amounts(&mut self, named: &Option<Spanned<scene::Named<Animated>>>) -> Vec<(usize, Curve)> {
        let Some(named) = named else { return Vec::new() };
        let mut amounts = Vec::new();
        for (name, value) in &named.0 {
            if let Some(index) = self.substance(name) {
                if self.model == Model::Liquid && index == 0 {
                    self.problems
                        .error(name.span, "`liquid` is how much of a cell is liquid: it cannot be set", "not carried")
                        .help("name what the liquid carries: add [substance.ink], and write { ink = 1.0 }");
                }
                amounts.push((index, value.plain()));
            }
        }
        amounts.sort_by_key(|&(index, _)| index);
        amounts
    }
}

fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
