//! Meshes that deform.

use super::solid::{Solid, growth};
use super::triangle;
use super::{MeshError, MeshOptions, TriangleMesh};
use crate::shape::Shape;
use crate::shape::baked::{BAND, Baked};
use crate::shape::motion::{Beyond, in_loop};
use crate::shape::vector::{length, lerp, scale, sub};

/// Why meshes make no sequence.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SequenceError {
    /// One of them is unusable.
    #[error("mesh {key} (counted from 1) of the sequence: {source}")]
    Mesh {
        /// Number of the mesh, from 1.
        key: usize,
        /// What is wrong with it.
        source: MeshError,
    },
    /// Times must grow.
    #[error("mesh {key} (counted from 1) of the sequence is at {time} s: times must be finite and grow")]
    Time {
        /// Number of the mesh, from 1.
        key: usize,
        /// Its time.
        time: f64,
    },
    /// There are none.
    #[error("a mesh sequence needs at least one mesh")]
    Empty,
}

/// A mesh per key time. Between keys, vertices move in straight lines, and with them the material.
///
/// If the meshes do not all have the same triangles, each stays as it is until the next one takes its place, and the
/// velocity is 0: fluid is displaced, but not dragged along.
///
/// Distances are sampled by [`prepare`](Shape::prepare), for one time. Questions about any other time are answered
/// exactly, but each of them sorts the whole mesh anew.
///
/// While no vertex moves faster than a `resolution` in 1/24 s, the mesh is sampled each time that one has moved by a
/// `resolution`, and distances are interpolated in between. What moves faster is sampled anew each time.
pub struct MeshSequence {
    keys: Vec<(f64, TriangleMesh)>,
    beyond: Beyond,
    resolution: f64,
    options: MeshOptions,
    same_triangles: bool,
    /// Into how many parts each time between two keys is divided for sampling; 0: it is sampled at the time asked for.
    parts: Vec<u32>,
    prepared: Option<Prepared>,
}

struct Prepared {
    time: f64,
    low: Sampled,
    /// The next sample and how much it counts, if the time lies between two.
    high: Option<(Sampled, f64)>,
}

/// The mesh as it is after some of the parts that follow a key.
struct Sampled {
    /// The key and the part; `None` if it is somewhere else.
    at: Option<(usize, u32)>,
    solid: Solid,
    baked: Baked<3>,
}

/// What moves by less than a sample in this time, in seconds, is not sampled anew for each time.
const SLOW: f64 = 1.0 / 24.0;

/// Where between two keys a time lies.
struct Between {
    from: usize,
    to: usize,
    share: f64,
    /// 1 / seconds between the keys; 0 while nothing moves.
    rate: f64,
}

impl MeshSequence {
    /// A sequence of meshes at growing times, sampled every `resolution` metres.
    pub fn new(
        keys: Vec<(f64, TriangleMesh)>,
        beyond: Beyond,
        resolution: f64,
        options: MeshOptions,
    ) -> Result<Self, SequenceError> {
        let (_, first) = keys.first().ok_or(SequenceError::Empty)?;
        let same_triangles = keys
            .iter()
            .all(|(_, mesh)| mesh.triangles == first.triangles && mesh.vertices.len() == first.vertices.len());
        for (i, (time, mesh)) in keys.iter().enumerate() {
            if !time.is_finite() || i > 0 && *time <= keys[i - 1].0 {
                return Err(SequenceError::Time { key: i + 1, time: *time });
            }
            mesh.check().map_err(|source| SequenceError::Mesh { key: i + 1, source })?;
        }
        if !(resolution.is_finite() && resolution > 0.0) {
            return Err(SequenceError::Mesh { key: 1, source: MeshError::Resolution { resolution } });
        }
        let parts = keys.windows(2).map(|pair| parts(&pair[0], &pair[1], resolution)).collect();
        let mut sequence = MeshSequence { keys, beyond, resolution, options, same_triangles, parts, prepared: None };
        // A resolution too fine is found here, at every key: not during the simulation.
        for (i, (_, mesh)) in sequence.keys.iter().enumerate() {
            Baked::check(mesh.bounds(), resolution, options.band.max(BAND))
                .map_err(|source| SequenceError::Mesh { key: i + 1, source: source.into() })?;
        }
        sequence.prepare(sequence.keys[0].0);
        Ok(sequence)
    }

    /// Whether the material moves between keys: all meshes have the same triangles.
    pub fn has_velocity(&self) -> bool {
        self.same_triangles
    }

    fn between(&self, t: f64) -> Between {
        let last = self.keys.len() - 1;
        let t = if self.beyond == Beyond::Loop { in_loop(t, self.keys[0].0, self.keys[last].0) } else { t };
        let from = self.keys.partition_point(|key| key.0 <= t).saturating_sub(1);
        let to = from + 1;
        if to > last || t < self.keys[0].0 || !self.same_triangles {
            return Between { from, to: from, share: 0.0, rate: 0.0 };
        }
        let rate = 1.0 / (self.keys[to].0 - self.keys[from].0);
        Between { from, to, share: (t - self.keys[from].0) * rate, rate }
    }

    /// The mesh at a time.
    pub fn mesh(&self, t: f64) -> TriangleMesh {
        let Between { from, to, share, .. } = self.between(t);
        self.mesh_between(from, to, share)
    }

    fn mesh_between(&self, from: usize, to: usize, share: f64) -> TriangleMesh {
        let (from, to) = (&self.keys[from].1, &self.keys[to].1);
        let vertices = from.vertices.iter().zip(&to.vertices).map(|(&a, &b)| lerp(a, b, share)).collect();
        TriangleMesh { vertices, triangles: from.triangles.clone() }
    }

    fn solid(&self, t: f64) -> Result<Solid, MeshError> {
        Solid::new(&self.mesh(t), self.resolution, self.options)
    }

    fn sample(&self, mesh: &TriangleMesh, at: Option<(usize, u32)>) -> Result<Sampled, MeshError> {
        let solid = Solid::new(mesh, self.resolution, self.options)?;
        let baked = solid.bake(true)?;
        Ok(Sampled { at, solid, baked })
    }

    /// Samples for a time, as far as they are not among those given.
    fn bake(&self, t: f64, mut old: [Option<Sampled>; 2]) -> Result<Prepared, MeshError> {
        let Between { from, to, share, .. } = self.between(t);
        let mut get = |at: (usize, u32)| {
            if let Some(known) = old.iter_mut().find(|s| s.as_ref().is_some_and(|s| s.at == Some(at))) {
                return known.take().map_or_else(|| unreachable!("just found"), Ok);
            }
            let (key, part) = at;
            let share = if part == 0 { 0.0 } else { f64::from(part) / f64::from(self.parts[key]) };
            self.sample(&self.mesh_between(key, if part == 0 { key } else { key + 1 }, share), Some(at))
        };
        if from == to {
            return Ok(Prepared { time: t, low: get((from, 0))?, high: None });
        }
        if self.parts[from] == 0 {
            return Ok(Prepared { time: t, low: self.sample(&self.mesh(t), None)?, high: None });
        }
        let place = share * f64::from(self.parts[from]);
        let part = (place as u32).min(self.parts[from] - 1);
        let next = if part + 1 == self.parts[from] { (to, 0) } else { (from, part + 1) };
        let low = get((from, part))?;
        Ok(Prepared { time: t, low, high: Some((get(next)?, place - f64::from(part))) })
    }

    fn prepared(&self, t: f64) -> Option<&Prepared> {
        self.prepared.as_ref().filter(|prepared| prepared.time == t)
    }
}

/// How often a mesh is sampled between two keys; 0 if it moves too fast for that.
fn parts((start, from): &(f64, TriangleMesh), (end, to): &(f64, TriangleMesh), resolution: f64) -> u32 {
    let furthest = from.vertices.iter().zip(&to.vertices).map(|(&a, &b)| length(sub(b, a))).fold(0.0, f64::max);
    let parts = (furthest / resolution).ceil().max(1.0);
    if (end - start) / parts < SLOW { 0 } else { parts as u32 }
}

impl Shape<3> for MeshSequence {
    fn distance(&self, x: [f64; 3], t: f64) -> f64 {
        match self.prepared(t) {
            Some(Prepared { low, high: None, .. }) => low.baked.distance(x, t),
            Some(Prepared { low, high: Some((high, share)), .. }) => {
                (1.0 - share) * low.baked.distance(x, t) + share * high.baked.distance(x, t)
            }
            // Keys were checked, so there is a solid.
            None => self.solid(t).map_or(f64::INFINITY, |solid| solid.distance(x)),
        }
    }

    fn velocity(&self, x: [f64; 3], t: f64) -> [f64; 3] {
        let Between { from, to, rate, .. } = self.between(t);
        if rate == 0.0 {
            return [0.0; 3];
        }
        let (triangle, weights) = match self.prepared(t) {
            Some(Prepared { low, high, .. }) => {
                let sampled = high.as_ref().filter(|high| high.1 > 0.5).map_or(low, |high| &high.0);
                // What is nearest to the next sample will do: it is less than a cell away. A search for every face took most of
                // the time.
                let known = sampled.baked.mark_near(x).and_then(|mark| sampled.solid.near_mark(x, mark));
                known.unwrap_or_else(|| {
                    let about = sampled.baked.distance(x, t).abs() + growth(&self.options, self.resolution);
                    sampled.solid.nearest_within(x, about + self.resolution)
                })
            }
            None => match self.solid(t) {
                Ok(solid) => solid.nearest(x),
                Err(_) => return [0.0; 3],
            },
        };
        let [from, to] = [from, to].map(|key| triangle::point(&self.keys[key].1.corners(triangle), weights));
        scale(sub(to, from), rate)
    }

    fn bounds(&self, t: f64) -> Option<([f64; 3], [f64; 3])> {
        match self.prepared(t) {
            Some(prepared) => {
                let (mut low, mut high) = prepared.low.baked.bounds(t)?;
                if let Some((next, _)) = &prepared.high {
                    let (next_low, next_high) = next.baked.bounds(t)?;
                    low = std::array::from_fn(|a| low[a].min(next_low[a]));
                    high = std::array::from_fn(|a| high[a].max(next_high[a]));
                }
                Some((low, high))
            }
            // Nothing has to be sorted for that.
            None => {
                let (low, high) = self.mesh(t).bounds();
                let grown = growth(&self.options, self.resolution);
                Some((low.map(|x| x - grown), high.map(|x| x + grown)))
            }
        }
    }

    fn moves(&self) -> bool {
        self.keys.windows(2).any(|pair| pair[0].1 != pair[1].1)
    }

    fn prepare(&mut self, t: f64) {
        if self.prepared(t).is_none() {
            // What cannot be sampled is still answered, one exact distance after the other.
            let old = self.prepared.take().map(|p| [Some(p.low), p.high.map(|high| high.0)]);
            self.prepared = self.bake(t, old.unwrap_or_default()).ok();
        }
    }
}
