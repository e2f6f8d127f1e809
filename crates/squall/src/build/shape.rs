//! Shapes of scenes as shapes of the simulation.

use std::any::Any;

use squall_core::Shape;
use squall_core::shape as core;

use super::BuildError;
use crate::setup::{self, Interpolation, Mesh, Motion};

type Boxed<const D: usize> = Box<dyn Shape<D>>;

/// A shape in motion; meshes are sampled every `resolution` metres.
pub fn moving<const D: usize>(s: &setup::Shape, motion: &Motion, resolution: f64) -> Result<Boxed<D>, BuildError> {
    let built = shape::<D>(s, resolution / motion.scale)?;
    Ok(moved(built, motion))
}

/// A shape moved as a rigid body.
pub fn moved<const D: usize>(shape: Boxed<D>, motion: &Motion) -> Boxed<D> {
    let shape = if motion.is_rest() { shape } else { Box::new(core::Moving::new(shape, rigid(motion))) };
    match &motion.path {
        Some(path) => Box::new(core::Dragged::new(shape, path.clone())),
        None => shape,
    }
}

/// The motion of a rigid body.
pub fn rigid<const D: usize>(motion: &Motion) -> core::Motion<D> {
    let vector = |v: &[f64]| -> [f64; D] { std::array::from_fn(|a| v[a]) };
    let interpolation = match motion.interpolation {
        Interpolation::Linear => core::Interpolation::Linear,
        Interpolation::Smooth => core::Interpolation::Smooth,
        Interpolation::Step => core::Interpolation::Step,
    };
    let beyond = if motion.repeat { core::Beyond::Loop } else { core::Beyond::Hold };
    let shift = motion.keys.iter().map(|k| core::Key { time: k.time, value: vector(&k.position) }).collect();
    let angles = motion.keys.iter().map(|k| core::Key { time: k.time, value: k.rotation }).collect();
    core::Motion {
        pivot: vector(&motion.pivot),
        scale: motion.scale,
        // Keys were found to be finite and in order when the scene was read.
        shift: core::Track::new(shift, interpolation, beyond).expect("keys in order"),
        angles: core::Track::new(angles, interpolation, beyond).expect("keys in order"),
        velocity: vector(&motion.velocity),
        spin: motion.spin,
    }
}

/// A shape at rest.
pub fn still<const D: usize>(s: &setup::Shape, resolution: f64) -> Result<Boxed<D>, BuildError> {
    shape::<D>(s, resolution)
}

fn shape<const D: usize>(s: &setup::Shape, resolution: f64) -> Result<Boxed<D>, BuildError> {
    use setup::Shape as S;
    let vector = |v: &[f64]| -> [f64; D] { std::array::from_fn(|a| v[a]) };
    let part = |s: &S| shape::<D>(s, resolution);
    let parts = |list: &[S]| list.iter().map(part).collect::<Result<Vec<_>, _>>();
    Ok(match s {
        S::Sphere { center, radius } => Box::new(core::Sphere { center: vector(center), radius: *radius }),
        S::Box { min, max, rounding } => {
            Box::new(core::Cuboid { rounding: *rounding, ..core::Cuboid::between(vector(min), vector(max)) })
        }
        S::Capsule { from, to, radius } => {
            Box::new(core::Capsule { from: vector(from), to: vector(to), radius: *radius })
        }
        S::Cylinder { from, to, radius } => {
            Box::new(core::Cylinder { from: vector(from), to: vector(to), radius: *radius })
        }
        S::Plane { point, normal } => Box::new(core::HalfSpace::new(vector(point), vector(normal))),
        S::Polygon(points) => {
            let outline = core::PolygonShape::new(std::slice::from_ref(points)).expect("an outline of three points");
            in_dimensions::<2, D>(Box::new(outline))
        }
        S::Mesh(m) => in_dimensions::<3, D>(mesh(m, resolution)?),
        S::Union(list) => Box::new(core::Union(parts(list)?)),
        S::Intersection(list) => Box::new(core::Intersection(parts(list)?)),
        S::Difference(both) => Box::new(core::Difference { from: part(&both[0])?, cut: part(&both[1])? }),
        S::Inverse(s) => Box::new(core::Inverse(part(s)?)),
        S::Shell { shape, thickness } => Box::new(core::Shell { shape: part(shape)?, thickness: *thickness }),
        S::Grown { shape, by } => Box::new(core::Offset { shape: part(shape)?, by: *by }),
    })
}

/// The same shape, where the compiler does not know that `N` is `D`. Scenes have polygons in 2D only, meshes in 3D only.
fn in_dimensions<const N: usize, const D: usize>(shape: Boxed<N>) -> Boxed<D> {
    let any: Box<dyn Any> = Box::new(shape);
    *any.downcast::<Boxed<D>>().expect("the number of dimensions was checked when the scene was read")
}

fn mesh(m: &Mesh, resolution: f64) -> Result<Boxed<3>, BuildError> {
    let options = core::MeshOptions { thicken: m.thicken, sheet: m.sheet, ..core::MeshOptions::default() };
    let failed = |reason: String| BuildError::Mesh { file: m.file.clone(), reason };
    if m.meshes.len() == 1 {
        let shape = core::MeshShape::with_options(&m.meshes[0], resolution, options);
        return Ok(Box::new(shape.map_err(|e| failed(e.to_string()))?));
    }
    let beyond = if m.repeat { core::Beyond::Loop } else { core::Beyond::Hold };
    let keys = m.meshes.iter().enumerate().map(|(i, mesh)| (i as f64 / m.fps, mesh.clone())).collect();
    let sequence = core::MeshSequence::new(keys, beyond, resolution, options);
    Ok(Box::new(sequence.map_err(|e| failed(e.to_string()))?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::MotionKey;

    #[test]
    fn shapes_of_scenes_have_their_distances() {
        let sphere = setup::Shape::Sphere { center: vec![1.0, 0.0], radius: 0.5 };
        let cut = setup::Shape::Polygon(vec![[0.5, -1.0], [2.0, -1.0], [2.0, 0.0], [0.5, 0.0]]);
        let upper = setup::Shape::Difference(Box::new([sphere.clone(), cut]));
        let built = shape::<2>(&upper, 0.1).unwrap();
        assert_eq!(built.distance([1.0, 0.25], 0.0), -0.25);
        assert_eq!(built.distance([1.0, 2.0], 0.0), 1.5);
        assert_eq!(built.distance([1.0, -0.1], 0.0), 0.1);
    }

    #[test]
    fn keys_move_and_turn_a_shape() {
        let rod = setup::Shape::Capsule { from: vec![0.0; 3], to: vec![1.0, 0.0, 0.0], radius: 0.1 };
        let keys = vec![
            MotionKey { time: 0.0, position: vec![0.0; 3], rotation: [0.0; 3] },
            MotionKey { time: 2.0, position: vec![0.0, 0.0, 4.0], rotation: [0.0, 0.0, 90.0] },
        ];
        let motion = Motion { keys, ..Motion::rest(3) };
        let built = moving::<3>(&rod, &motion, 0.1).unwrap();
        assert!((built.distance([0.0, 1.0, 4.0], 2.0) + 0.1).abs() < 1e-12);
        assert!((built.distance([1.0, 0.0, 0.0], 0.0) + 0.1).abs() < 1e-12);
    }
}
