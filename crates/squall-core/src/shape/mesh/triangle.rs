//! One triangle: nearest point, solid angle, crossing with a ray.

use crate::shape::vector::{add, cross, dot, length, scale, sub};

/// The corners of a triangle. Seen from outside they go round counter-clockwise.
pub type Corners = [[f64; 3]; 3];

pub fn centroid([a, b, c]: &Corners) -> [f64; 3] {
    scale(add(add(*a, *b), *c), 1.0 / 3.0)
}

/// The normal, as long as the triangle is large.
pub fn area_vector([a, b, c]: &Corners) -> [f64; 3] {
    scale(cross(sub(*b, *a), sub(*c, *a)), 0.5)
}

/// The point with these barycentric coordinates.
pub fn point([a, b, c]: &Corners, [u, v, w]: [f64; 3]) -> [f64; 3] {
    add(add(scale(*a, u), scale(*b, v)), scale(*c, w))
}

/// Barycentric coordinates of the nearest point of the triangle. (Ericson 2005, section 5.1.5: first the regions of the
/// corners, then those of the edges, then the face.)
pub fn nearest([a, b, c]: &Corners, x: [f64; 3]) -> [f64; 3] {
    let (ab, ac, ax) = (sub(*b, *a), sub(*c, *a), sub(x, *a));
    let (d1, d2) = (dot(ab, ax), dot(ac, ax));
    if d1 <= 0.0 && d2 <= 0.0 {
        return [1.0, 0.0, 0.0];
    }
    let bx = sub(x, *b);
    let (d3, d4) = (dot(ab, bx), dot(ac, bx));
    if d3 >= 0.0 && d4 <= d3 {
        return [0.0, 1.0, 0.0];
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        let v = ratio(d1, d1 - d3);
        return [1.0 - v, v, 0.0];
    }
    let cx = sub(x, *c);
    let (d5, d6) = (dot(ab, cx), dot(ac, cx));
    if d6 >= 0.0 && d5 <= d6 {
        return [0.0, 0.0, 1.0];
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        let w = ratio(d2, d2 - d6);
        return [1.0 - w, 0.0, w];
    }
    let va = d3 * d6 - d5 * d4;
    let (from_b, from_c) = (d4 - d3, d5 - d6);
    if va <= 0.0 && from_b >= 0.0 && from_c >= 0.0 {
        let w = ratio(from_b, from_b + from_c);
        return [0.0, 1.0 - w, w];
    }
    let (v, w) = (ratio(vb, va + vb + vc), ratio(vc, va + vb + vc));
    [1.0 - v - w, v, w]
}

/// a / b, and 0 where a triangle without area makes it 0 / 0.
fn ratio(a: f64, b: f64) -> f64 {
    if b != 0.0 { a / b } else { 0.0 }
}

/// The share of all directions in which `x` sees the triangle: 1 is the whole sphere, positive from behind. (van Oosterom
/// & Strackee 1983: tan(angle / 2) = a . (b x c) / (|a||b||c| + (a.b)|c| + (b.c)|a| + (c.a)|b|).)
pub fn winding(corners: &Corners, x: [f64; 3]) -> f64 {
    let [a, b, c] = corners.map(|corner| sub(corner, x));
    let (la, lb, lc) = (length(a), length(b), length(c));
    let volume = dot(a, cross(b, c));
    let sum = la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb;
    libm::atan2(volume, sum) * std::f64::consts::FRAC_1_PI * 0.5
}

/// How far along the ray (in lengths of `along`) it leaves through the triangle's outer side. (Möller & Trumbore 1997.)
pub fn exit([a, b, c]: &Corners, from: [f64; 3], along: [f64; 3]) -> Option<f64> {
    let (ab, ac) = (sub(*b, *a), sub(*c, *a));
    let p = cross(along, ac);
    let det = dot(ab, p);
    // The normal ab x ac looks along the ray exactly if det is negative.
    if det >= 0.0 {
        return None;
    }
    let s = sub(from, *a);
    let u = dot(s, p) / det;
    let q = cross(s, ab);
    let v = dot(along, q) / det;
    let t = dot(ac, q) / det;
    (u >= 0.0 && v >= 0.0 && u + v <= 1.0 && t >= 0.0).then_some(t)
}
