//! Boolean combinations of shapes.
//!
//! A union is exact outside, an intersection inside; on the other side the value is the usual lower bound. Either way the
//! surface itself is exact. What is moved outwards or inwards ([`Offset`], [`Shell`]) is as exact as the distance of the
//! original at the new surface.

use super::Shape;
use std::array::from_fn;

/// A list of parts of any kind.
pub type Parts<const D: usize> = Vec<Box<dyn Shape<D>>>;

/// What lies in any of the parts. Moves like the nearest part; the first of equally near ones.
pub struct Union<const D: usize>(pub Parts<D>);

/// What lies in all of the parts. Moves like the part whose surface is nearest.
pub struct Intersection<const D: usize>(pub Parts<D>);

/// What lies in `from` but not in `cut`. Moves like the one whose surface is nearest.
pub struct Difference<A, B> {
    /// The whole.
    pub from: A,
    /// What is taken away.
    pub cut: B,
}

/// Everything outside of a shape: a container.
pub struct Inverse<S>(pub S);

/// A shape grown on all sides, with round corners; shrunk if `by` is negative.
pub struct Offset<S> {
    /// The original.
    pub shape: S,
    /// How far the surface moves outwards, in metres.
    pub by: f64,
}

/// The skin of a shape: half of its thickness lies inside the original surface, half outside.
pub struct Shell<S> {
    /// The original.
    pub shape: S,
    /// Thickness of the skin, in metres.
    pub thickness: f64,
}

/// The part whose distance times `sign` is least, the first of several, and that distance.
fn least<const D: usize>(parts: &Parts<D>, sign: f64, x: [f64; D], t: f64) -> Option<(&dyn Shape<D>, f64)> {
    let mut best: Option<(&dyn Shape<D>, f64)> = None;
    for part in parts {
        let distance = sign * part.distance(x, t);
        if best.is_none_or(|(_, least)| distance < least) {
            best = Some((part.as_ref(), distance));
        }
    }
    best.map(|(part, distance)| (part, sign * distance))
}

impl<const D: usize> Shape<D> for Union<D> {
    fn distance(&self, x: [f64; D], t: f64) -> f64 {
        least(&self.0, 1.0, x, t).map_or(f64::INFINITY, |(_, distance)| distance)
    }

    fn velocity(&self, x: [f64; D], t: f64) -> [f64; D] {
        least(&self.0, 1.0, x, t).map_or([0.0; D], |(part, _)| part.velocity(x, t))
    }

    fn bounds(&self, t: f64) -> Option<([f64; D], [f64; D])> {
        let mut all = self.0.first()?.bounds(t)?;
        for part in &self.0[1..] {
            let (low, high) = part.bounds(t)?;
            all = (from_fn(|a| low[a].min(all.0[a])), from_fn(|a| high[a].max(all.1[a])));
        }
        Some(all)
    }

    fn moves(&self) -> bool {
        self.0.iter().any(|part| part.moves())
    }

    fn prepare(&mut self, t: f64) {
        self.0.iter_mut().for_each(|part| part.prepare(t));
    }
}

impl<const D: usize> Shape<D> for Intersection<D> {
    fn distance(&self, x: [f64; D], t: f64) -> f64 {
        least(&self.0, -1.0, x, t).map_or(f64::INFINITY, |(_, distance)| distance)
    }

    fn velocity(&self, x: [f64; D], t: f64) -> [f64; D] {
        least(&self.0, -1.0, x, t).map_or([0.0; D], |(part, _)| part.velocity(x, t))
    }

    fn bounds(&self, t: f64) -> Option<([f64; D], [f64; D])> {
        let common = self.0.iter().filter_map(|part| part.bounds(t)).reduce(|(low, high), (l, h)| {
            let low: [f64; D] = from_fn(|a| low[a].max(l[a]));
            // Parts that do not meet leave a box without size.
            (low, from_fn(|a| high[a].min(h[a]).max(low[a])))
        });
        if self.0.is_empty() { Some(([0.0; D], [0.0; D])) } else { common }
    }

    fn moves(&self) -> bool {
        self.0.iter().any(|part| part.moves())
    }

    fn prepare(&mut self, t: f64) {
        self.0.iter_mut().for_each(|part| part.prepare(t));
    }
}

impl<const D: usize, A: Shape<D>, B: Shape<D>> Shape<D> for Difference<A, B> {
    fn distance(&self, x: [f64; D], t: f64) -> f64 {
        self.from.distance(x, t).max(-self.cut.distance(x, t))
    }

    fn velocity(&self, x: [f64; D], t: f64) -> [f64; D] {
        let cut_is_nearest = -self.cut.distance(x, t) > self.from.distance(x, t);
        if cut_is_nearest { self.cut.velocity(x, t) } else { self.from.velocity(x, t) }
    }

    fn bounds(&self, t: f64) -> Option<([f64; D], [f64; D])> {
        self.from.bounds(t)
    }

    fn moves(&self) -> bool {
        self.from.moves() || self.cut.moves()
    }

    fn prepare(&mut self, t: f64) {
        self.from.prepare(t);
        self.cut.prepare(t);
    }
}

/// What a shape made of one other shares with it.
macro_rules! like_the_original {
    ($field:tt) => {
        fn velocity(&self, x: [f64; D], t: f64) -> [f64; D] {
            self.$field.velocity(x, t)
        }

        fn moves(&self) -> bool {
            self.$field.moves()
        }

        fn prepare(&mut self, t: f64) {
            self.$field.prepare(t);
        }
    };
}

impl<const D: usize, S: Shape<D>> Shape<D> for Inverse<S> {
    like_the_original!(0);

    fn distance(&self, x: [f64; D], t: f64) -> f64 {
        -self.0.distance(x, t)
    }

    fn bounds(&self, _: f64) -> Option<([f64; D], [f64; D])> {
        None
    }
}

impl<const D: usize, S: Shape<D>> Shape<D> for Offset<S> {
    like_the_original!(shape);

    fn distance(&self, x: [f64; D], t: f64) -> f64 {
        self.shape.distance(x, t) - self.by
    }

    fn bounds(&self, t: f64) -> Option<([f64; D], [f64; D])> {
        // What shrinks keeps its old box: half sides must not become negative.
        let grow = self.by.max(0.0);
        self.shape.bounds(t).map(|(low, high)| (low.map(|x| x - grow), high.map(|x| x + grow)))
    }
}

impl<const D: usize, S: Shape<D>> Shape<D> for Shell<S> {
    like_the_original!(shape);

    fn distance(&self, x: [f64; D], t: f64) -> f64 {
        self.shape.distance(x, t).abs() - 0.5 * self.thickness
    }

    fn bounds(&self, t: f64) -> Option<([f64; D], [f64; D])> {
        let grow = 0.5 * self.thickness;
        self.shape.bounds(t).map(|(low, high)| (low.map(|x| x - grow), high.map(|x| x + grow)))
    }
}
