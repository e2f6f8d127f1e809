//! Example meshes. All are closed, about the origin, with sizes in metres.

use super::TriangleMesh;
use crate::shape::vector::{add, cross, length, scale, sub};
use std::f64::consts::{PI, TAU};

/// The surface `f(u, v)`, u and v going once round in `nu` and `nv` steps. It looks towards du x dv.
fn wrapped(nu: usize, nv: usize, f: impl Fn(f64, f64) -> [f64; 3]) -> TriangleMesh {
    let at = |i: usize, n: usize| TAU * i as f64 / n as f64;
    let vertices = (0..nu).flat_map(|i| (0..nv).map(move |j| (i, j))).map(|(i, j)| f(at(i, nu), at(j, nv))).collect();
    let index = |i: usize, j: usize| ((i % nu) * nv + j % nv) as u32;
    let mut triangles = Vec::with_capacity(2 * nu * nv);
    for i in 0..nu {
        for j in 0..nv {
            let [a, b, c, d] = [index(i, j), index(i + 1, j), index(i + 1, j + 1), index(i, j + 1)];
            triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    TriangleMesh { vertices, triangles }
}

/// A sphere of meridians and parallels: `n` rows of triangles from pole to pole, `4 n (n - 1)` triangles.
pub fn sphere(radius: f64, n: usize) -> TriangleMesh {
    let (rings, around) = (n - 1, 2 * n);
    let mut vertices = vec![[0.0, -radius, 0.0]];
    for i in 1..=rings {
        let (sin, cos) = libm::sincos(PI * i as f64 / n as f64);
        for j in 0..around {
            let (s, c) = libm::sincos(TAU * j as f64 / around as f64);
            vertices.push([radius * sin * c, -radius * cos, radius * sin * s]);
        }
    }
    vertices.push([0.0, radius, 0.0]);
    let top = vertices.len() as u32 - 1;
    let index = |ring: usize, j: usize| (1 + ring * around + j % around) as u32;
    let mut triangles = Vec::new();
    for j in 0..around {
        triangles.push([0, index(0, j), index(0, j + 1)]);
        for ring in 1..rings {
            let [a, b] = [index(ring - 1, j), index(ring - 1, j + 1)];
            let [d, c] = [index(ring, j), index(ring, j + 1)];
            triangles.extend([[a, d, c], [a, c, b]]);
        }
        triangles.push([top, index(rings - 1, j + 1), index(rings - 1, j)]);
    }
    TriangleMesh { vertices, triangles }
}

/// A torus about the y axis: `radius` to the middle of the tube, `tube` its own radius; `2 nu nv` triangles.
pub fn torus(radius: f64, tube: f64, nu: usize, nv: usize) -> TriangleMesh {
    wrapped(nu, nv, |u, v| {
        let ((su, cu), (sv, cv)) = (libm::sincos(u), libm::sincos(v));
        let out = radius + tube * cv;
        [out * cu, tube * sv, -out * su]
    })
}

/// A tube of radius `tube` along a trefoil knot about 1 m wide; `2 nu nv` triangles.
pub fn trefoil_knot(tube: f64, nu: usize, nv: usize) -> TriangleMesh {
    let size = 1.0 / 6.0;
    let curve = |u: f64| {
        let [(s1, c1), (s2, c2), (s3, _)] = [1.0, 2.0, 3.0].map(|k| libm::sincos(k * u));
        [size * (s1 + 2.0 * s2), size * (c1 - 2.0 * c2), -size * s3]
    };
    wrapped(nu, nv, |u, v| {
        let middle = curve(u);
        let along = sub(curve(u + 1e-4), curve(u - 1e-4));
        // The curve goes around the z axis and never along it: "away from the axis" gives a frame without twist.
        let along = scale(along, 1.0 / length(along));
        let side = cross(along, [0.0, 0.0, 1.0]);
        let side = scale(side, 1.0 / length(side));
        let up = cross(side, along);
        let (sin, cos) = libm::sincos(v);
        add(middle, add(scale(side, tube * sin), scale(up, -tube * cos)))
    })
}

/// A ring whose cross-section is a star of `points` rays that twists once around: about 1 m wide, `2 nu nv` triangles.
pub fn twisted_star(points: usize, nu: usize, nv: usize) -> TriangleMesh {
    wrapped(nu, nv, |u, v| {
        let ray = libm::cos(points as f64 * v);
        let thickness = 0.13 + 0.05 * ray;
        let ((su, cu), (sv, cv)) = (libm::sincos(u), libm::sincos(v + u));
        let out = 0.32 + thickness * cv;
        [out * cu, thickness * sv, -out * su]
    })
}

/// A propeller about the z axis, about 1 m across: `blades` twisted blades that start inside a round hub. Its parts pass
/// through each other, as parts of models do.
pub fn propeller(blades: usize) -> TriangleMesh {
    let mut all = TriangleMesh::default();
    let mut join = |part: &TriangleMesh| {
        let first = all.vertices.len() as u32;
        all.vertices.extend(&part.vertices);
        all.triangles.extend(part.triangles.iter().map(|t| t.map(|v| v + first)));
    };
    let mut hub = sphere(0.11, 10);
    hub.vertices.iter_mut().for_each(|v| v[2] *= 1.6);
    join(&hub);
    for blade in 0..blades {
        let (sin, cos) = libm::sincos(TAU * blade as f64 / blades as f64);
        let mut part = sphere(1.0, 12);
        for v in &mut part.vertices {
            // A ball, drawn out along y, flattened, widest in the middle, twisted like a screw.
            let along = 0.27 + 0.23 * v[1];
            let (chord, thick) = (0.09 * v[0], 0.025 * v[2]);
            let (s, c) = libm::sincos(0.25 + 0.09 / along);
            let [x, z] = [c * chord - s * thick, s * chord + c * thick];
            *v = [cos * x - sin * along, sin * x + cos * along, z];
        }
        join(&part);
    }
    all
}
