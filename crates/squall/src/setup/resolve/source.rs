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
            let shape = match (&s.shape, follow) {
                (Some(shape), _) => self.shape(shape, &format!("{key}.shape")),
                // Nothing can be emitted inside of a solid: a skin of a cell and a half outside of it.
                (None, Some(object)) => {
                    let shape = Box::new(objects[object].shape.clone());
                    Some(Shape::Grown { shape, by: 1.5 * self.cell() / objects[object].motion.scale })
                }
                (None, None) => {
                    let help = "for example shape = { sphere = { center = [0.5, 0.1], radius = 0.05 } }";
                    if s.follow.is_none() {
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
                motion,
                follow,
                drag: s.drag.as_deref().copied().unwrap_or(moves),
                softness: *s.softness(),
                set: self.amounts(&s.set),
                rate: self.amounts(&s.rate),
                velocity: s.velocity.as_ref().map(|v| v.plain()),
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

    fn does_something(&mut self, s: &Spanned<scene::Source>, key: &str) {
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

    fn amounts(&mut self, named: &Option<Spanned<scene::Named<Animated>>>) -> Vec<(usize, Curve)> {
        let Some(named) = named else { return Vec::new() };
        let mut amounts = Vec::new();
        for (name, value) in &named.0 {
            if let Some(index) = self.substance(name) {
                amounts.push((index, value.plain()));
            }
        }
        amounts.sort_by_key(|&(index, _)| index);
        amounts
    }
}
