//! Far-field approximation of triangles for winding numbers.

use super::triangle::{Corners, area_vector, centroid};
use crate::shape::vector::{add, dot, length, scale, sub};

/// The winding number of a group of triangles as a series in (size / distance), up to the second power. (Barill et al.
/// 2018, section 3.)
///
/// With y = c + d running over the group, A its area vectors and r = c - x:
///
/// 4 pi w(x) = int A.(y - x) / |y - x|^3 = int A_i ( g_i + d_j g_i,j + 1/2 d_j d_k g_i,jk + ...),  g = r / |r|^3,
///
/// and the derivatives of g reduce the three integrals to a vector, a symmetric matrix with its trace, and a cubic form
/// with its contraction.
pub struct Distant {
    pub center: [f64; 3],
    pub radius: f64,
    /// int A_i.
    area: [f64; 3],
    /// int A_i d_i.
    trace: f64,
    /// int A_i d_j r_i r_j, as factors of xx, yy, zz, xy, xz, yz.
    quadratic: [f64; 6],
    /// int 2 A_i d_i d_k + A_k d_i d_i.
    contraction: [f64; 3],
    /// int A_i d_j d_k r_i r_j r_k, as factors of the monomials of [`cubes`].
    cubic: [f64; 10],
}

/// xx, yy, zz, xy, xz, yz.
fn squares([x, y, z]: [f64; 3]) -> [f64; 6] {
    [x * x, y * y, z * z, x * y, x * z, y * z]
}

/// xxx, xxy, xxz, yyx, yyy, yyz, zzx, zzy, zzz, xyz.
fn cubes(r: [f64; 3]) -> [f64; 10] {
    let [x, y, z] = r;
    let [xx, yy, zz, xy, ..] = squares(r);
    [xx * x, xx * y, xx * z, yy * x, yy * y, yy * z, zz * x, zz * y, zz * z, xy * z]
}

impl Distant {
    /// Sums up the triangles with these numbers. There must be at least one.
    pub fn new(triangles: &[Corners], ids: &[u32]) -> Self {
        let (mut weight, mut center) = (0.0, [0.0; 3]);
        for corners in ids.iter().map(|&id| &triangles[id as usize]) {
            let area = length(area_vector(corners));
            weight += area;
            center = add(center, scale(centroid(corners), area));
        }
        // Triangles without area: any centre will do.
        let center = if weight > 0.0 { scale(center, 1.0 / weight) } else { triangles[ids[0] as usize][0] };
        let mut sum = Distant {
            center,
            radius: 0.0,
            area: [0.0; 3],
            trace: 0.0,
            quadratic: [0.0; 6],
            contraction: [0.0; 3],
            cubic: [0.0; 10],
        };
        for corners in ids.iter().map(|&id| &triangles[id as usize]) {
            sum.add_triangle(area_vector(corners), corners.map(|corner| sub(corner, center)));
        }
        sum
    }

    fn add_triangle(&mut self, a: [f64; 3], corners: [[f64; 3]; 3]) {
        self.radius = corners.iter().fold(self.radius, |radius, &corner| radius.max(length(corner)));
        self.area = add(self.area, a);
        let d = centroid(&corners);
        self.trace += dot(a, d);
        let off = |i: usize, j: usize| a[i] * d[j] + a[j] * d[i];
        let terms = [a[0] * d[0], a[1] * d[1], a[2] * d[2], off(0, 1), off(0, 2), off(1, 2)];
        self.quadratic.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);

        // The mean of d d^T over a triangle with corners v: (sum v v^T + 9 d d^T) / 12.
        let mut s = squares(d).map(|d| 9.0 * d);
        for corner in corners {
            s.iter_mut().zip(squares(corner)).for_each(|(sum, term)| *sum += term);
        }
        let [xx, yy, zz, xy, xz, yz] = s.map(|s| s / 12.0);
        let s = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
        for k in 0..3 {
            self.contraction[k] += 2.0 * dot(a, s[k]) + a[k] * (xx + yy + zz);
        }
        // Each monomial gathers the terms A_i S_jk whose indices make it up.
        let twice = |i: usize, j: usize| a[j] * s[i][i] + 2.0 * a[i] * s[i][j];
        let terms = [
            a[0] * xx,
            twice(0, 1),
            twice(0, 2),
            twice(1, 0),
            a[1] * yy,
            twice(1, 2),
            twice(2, 0),
            twice(2, 1),
            a[2] * zz,
            2.0 * (a[0] * yz + a[1] * xz + a[2] * xy),
        ];
        self.cubic.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
    }

    /// The winding number at a point from which `r` leads to the centre; r2 = r.r.
    ///
    /// g_i,j = (delta_ij - 3 r_i r_j / r2) / |r|^3 and
    /// g_i,jk = (-3 (delta_ij r_k + delta_ik r_j + delta_jk r_i) + 15 r_i r_j r_k / r2) / |r|^5.
    pub fn winding(&self, r: [f64; 3], r2: f64) -> f64 {
        let inverse = 1.0 / r2;
        let first = self.trace - 3.0 * dot(self.quadratic, squares(r)) * inverse;
        let second = (7.5 * dot(self.cubic, cubes(r)) * inverse - 1.5 * dot(self.contraction, r)) * inverse;
        (dot(self.area, r) + first + second) * inverse * inverse.sqrt() * (0.25 * std::f64::consts::FRAC_1_PI)
    }
}
