//! The open part of a face, from signed distances at its corners (Ng, Min & Gibou 2009).
//!
//! Along an edge the distance is taken to be linear, on a square the surface to be straight between the edges. A corner
//! exactly on the surface counts as solid: a surface that lies along faces closes them.

use crate::Real;

/// The open part of a face, from 0 to 1: of an edge with two corners, or of a square with four corners in cyclic order.
pub fn open_fraction(corners: &[Real]) -> Real {
    match *corners {
        [a, b] => edge(a, b),
        [a, b, c, d] => square([a, b, c, d]),
        _ => panic!("a face has two corners in 2D and four in 3D"),
    }
}

/// The open part of a cell from the distances at its corners, `phi` of the corner so many cells from the lowest one: in 2D that of
/// a square, in 3D of the squares at both ends and in the middle by Simpson's rule, which is exact for a plane.
pub(super) fn open_volume<const D: usize>(phi: impl Fn([isize; D]) -> Real) -> Real {
    let corner = |x: isize, y: isize, z: isize| phi(std::array::from_fn(|a| [x, y, z][a]));
    let square_at = |z: isize| [corner(0, 0, z), corner(1, 0, z), corner(1, 1, z), corner(0, 1, z)];
    let low = square_at(0);
    if D == 2 {
        return square(low);
    }
    let high = square_at(1);
    let middle = std::array::from_fn(|i| 0.5 * (low[i] + high[i]));
    (square(low) + 4.0 * square(middle) + square(high)) / 6.0
}

/// The open part of an edge.
fn edge(a: Real, b: Real) -> Real {
    match (a > 0.0, b > 0.0) {
        (true, true) => 1.0,
        (false, false) => 0.0,
        (true, false) => a / (a - b),
        (false, true) => b / (b - a),
    }
}

/// The open part of a square.
fn square(v: [Real; 4]) -> Real {
    // Corner i cut off alone: half the product of the parts of its two edges that are on its side.
    let part = |i: usize, j: usize| v[i] / (v[i] - v[j]);
    let triangle = |i: usize| 0.5 * part(i, (i + 1) % 4) * part(i, (i + 3) % 4);
    let solid = v.map(|v| v <= 0.0);
    match solid.iter().filter(|&&s| s).count() {
        0 => 1.0,
        1 => 1.0 - (0..4).filter(|&i| solid[i]).map(triangle).sum::<Real>(),
        3 => (0..4).filter(|&i| !solid[i]).map(triangle).sum(),
        4 => 0.0,
        // Opposite corners: the middle decides which two are connected.
        _ if solid[0] == solid[2] => {
            let middle_solid = v.iter().sum::<Real>() < 0.0;
            let cut_off: Real = (0..4).filter(|&i| solid[i] != middle_solid).map(triangle).sum();
            if middle_solid { cut_off } else { 1.0 - cut_off }
        }
        // Corners side by side: a trapezium, bounded by the two edges that change sides.
        _ => 0.5 * (0..4).filter(|&i| solid[i] != solid[(i + 1) % 4]).map(|i| edge(v[i], v[(i + 1) % 4])).sum::<Real>(),
    }
}
