//! Meshes that deform.

use super::solid::{Solid, growth};
use super::triangle;
use super::{MeshError, MeshOptions, TriangleMesh};
use crate::shape::Shape;
use crate::shape::baked::{BAND, Baked};
use crate::shape::motion::{Beyond, in_loop};
use crate::shape::vector::{lerp, scale, sub};

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
pub struct MeshSequence {
    keys: Vec<(f64, TriangleMesh)>,
    beyond: Beyond,
    resolution: f64,
    options: MeshOptions,
    same_triangles: bool,
    prepared: Option<Prepared>,
}

struct Prepared {
    time: f64,
    solid: Solid,
    baked: Baked<3>,
}

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
        let mut sequence = MeshSequence { keys, beyond, resolution, options, same_triangles, prepared: None };
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
        let (from, to) = (&self.keys[from].1, &self.keys[to].1);
        let vertices = from.vertices.iter().zip(&to.vertices).map(|(&a, &b)| lerp(a, b, share)).collect();
        TriangleMesh { vertices, triangles: from.triangles.clone() }
    }

    fn solid(&self, t: f64) -> Result<Solid, MeshError> {
        Solid::new(&self.mesh(t), self.resolution, self.options)
    }

    fn bake(&self, t: f64) -> Result<Prepared, MeshError> {
        let solid = self.solid(t)?;
        let baked = solid.bake()?;
        Ok(Prepared { time: t, solid, baked })
    }

    fn prepared(&self, t: f64) -> Option<&Prepared> {
        self.prepared.as_ref().filter(|prepared| prepared.time == t)
    }
}

impl Shape<3> for MeshSequence {
    fn distance(&self, x: [f64; 3], t: f64) -> f64 {
        match self.prepared(t) {
            Some(prepared) => prepared.baked.distance(x, t),
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
            Some(prepared) => prepared.solid.nearest(x),
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
            Some(prepared) => prepared.baked.bounds(t),
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
            self.prepared = self.bake(t).ok();
        }
    }
}
