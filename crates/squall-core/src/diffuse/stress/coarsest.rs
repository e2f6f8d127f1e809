//! The coarsest level, solved directly.

use super::level::{Level, Operator, pair};
use crate::layout::Layout;
use crate::poisson::multigrid::Number;

/// A level of so few cells is solved directly.
pub(super) const SMALL: usize = 64;

/// The Cholesky factor of the operator of a small level.
#[derive(Default)]
pub(super) struct Coarsest {
    /// Where the unknowns lie: component and place in memory.
    places: Vec<(usize, usize)>,
    /// Row by row, the lower half of it.
    factor: Vec<f64>,
    right: Vec<f64>,
    /// Number of the unknown of each component in each cell; none where there is none.
    numbers: Vec<usize>,
}

const NONE: usize = usize::MAX;

impl Coarsest {
    pub fn set<const D: usize, T: Number>(&mut self, operator: &Operator<D, T>) {
        let layout = &operator.layout;
        let cells = layout.cells();
        let count = layout.cell_count();
        self.places.clear();
        self.numbers.clear();
        self.numbers.resize(D * count, NONE);
        for a in 0..D {
            for (c, index) in indices(layout).enumerate() {
                let place = layout.offset(index);
                if operator.inverse[a].data[place] > T::ZERO {
                    self.numbers[a * count + c] = self.places.len();
                    self.places.push((a, place));
                }
            }
        }
        let n = self.places.len();
        let (numbers, matrix) = (&self.numbers, &mut self.factor);
        self.right.resize(n, 0.0);
        matrix.clear();
        matrix.resize(n * n, 0.0);
        let number = |a: usize, mut index: [isize; D]| {
            let mut c = 0;
            for b in (0..D).rev() {
                if operator.joined[b] {
                    index[b] = index[b].rem_euclid(cells[b] as isize);
                }
                if index[b] < 0 || index[b] >= cells[b] as isize {
                    return NONE;
                }
                c = c * cells[b] + index[b] as usize;
            }
            numbers[a * count + c]
        };
        // `c (sum of s x)^2 / 2`: the energy of a stress.
        let mut add = |c: f64, terms: &[(usize, f64)]| {
            for &(i, s) in terms.iter().filter(|&&(i, _)| i != NONE) {
                for &(j, t) in terms.iter().filter(|&&(j, _)| j != NONE) {
                    matrix[i * n + j] += c * s * t;
                }
            }
        };
        for index in indices(layout) {
            let place = layout.offset(index);
            let shifted = |a: usize, by: isize| {
                let mut index = index;
                index[a] += by;
                index
            };
            for a in 0..D {
                add(operator.mass[a].data[place].to_f64().max(0.0), &[(number(a, index), 1.0)]);
                let c = operator.center[a].data[place].to_f64();
                add(c, &[(number(a, index), -1.0), (number(a, shifted(a, 1)), 1.0)]);
                for b in a + 1..D {
                    let c = operator.edge[pair(a, b)].data[place].to_f64();
                    let below = [(a, b), (b, a)]
                        .map(|(u, along)| [(number(u, index), 1.0), (number(u, shifted(along, -1)), -1.0)]);
                    add(c, below.as_flattened());
                }
            }
        }
        factorise(matrix, n);
    }

    /// `x = b / A`; returns the sum of `b x`.
    pub fn solve<const D: usize, T: Number>(&mut self, level: &mut Level<D, T>) -> f64 {
        let n = self.places.len();
        let (y, l) = (&mut self.right, &self.factor);
        for (y, &(a, place)) in y.iter_mut().zip(&self.places) {
            *y = level.b[a].data[place].to_f64();
        }
        for i in 0..n {
            let sum: f64 = (0..i).map(|k| l[i * n + k] * y[k]).sum();
            y[i] = (y[i] - sum) / l[i * n + i];
        }
        let size: f64 = y.iter().map(|y| y * y).sum();
        for i in (0..n).rev() {
            y[i] /= l[i * n + i];
            for k in 0..i {
                y[k] -= l[i * n + k] * y[i];
            }
        }
        level.x.iter_mut().for_each(|x| x.fill(T::ZERO));
        for (y, &(a, place)) in y.iter().zip(&self.places) {
            level.x[a].data_mut()[place] = T::of(*y);
        }
        size
    }
}

fn indices<const D: usize>(layout: &Layout<D>) -> impl Iterator<Item = [isize; D]> {
    let cells = layout.cells();
    (0..layout.cell_count()).map(move |mut c| {
        cells.map(|n| {
            let i = c % n;
            c /= n;
            i as isize
        })
    })
}

/// `L L^T = A` (Cholesky), in place of the lower half.
fn factorise(a: &mut [f64], n: usize) {
    for i in 0..n {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| a[i * n + k] * a[j * n + k]).sum();
            let left = a[i * n + j] - sum;
            a[i * n + j] = if i == j { left.max(1e-12 * a[i * n + i]).sqrt() } else { left / a[j * n + j] };
        }
    }
}
