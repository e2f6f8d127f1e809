//! The coarsest level, solved directly.

use super::level::Level;
use super::number::Number;
use super::shape::SMALL;
use crate::layout::Layout;

/// The pseudo-inverse of an operator on a few cells. Nothing is allocated from the second set-up on.
#[derive(Default)]
pub(super) struct Coarsest {
    /// Where the unknowns lie in memory.
    places: Vec<usize>,
    /// Row by row.
    inverse: Vec<f64>,
    right: Vec<f64>,
    matrix: Vec<f64>,
}

impl Coarsest {
    pub fn set<const D: usize, T: Number>(&mut self, level: &Level<D, T>) {
        let layout = &level.shape.layout;
        let cells = layout.cells();
        let unknown = |index: &[isize; D]| level.operator.inverse.get_signed(*index) > T::ZERO;
        let (mut list, mut n) = ([[0; D]; SMALL], 0);
        for index in indices(layout).filter(unknown) {
            list[n] = index;
            n += 1;
        }
        let indices = &list[..n];
        self.places.clear();
        self.places.extend(indices.iter().map(|&index| layout.offset(index)));
        self.right.resize(n, 0.0);

        let matrix = &mut self.matrix;
        matrix.clear();
        matrix.resize(n * n, 0.0);
        // Sets of connected cells, each named after one of its cells, and whether something holds a cell.
        let mut set: [usize; SMALL] = std::array::from_fn(|i| i);
        let mut held = [false; SMALL];
        let shift = level.operator.shift.to_f64();
        for (i, &index) in indices.iter().enumerate() {
            matrix[i * n + i] += shift;
            for a in 0..D {
                for step in [-1, 1] {
                    let (mut face, mut other) = (index, index);
                    face[a] += (step + 1) / 2;
                    other[a] += step;
                    if level.operator.joined[a] {
                        other[a] = other[a].rem_euclid(cells[a] as isize);
                    }
                    let weight = level.operator.open[a].get_signed(face).to_f64();
                    matrix[i * n + i] += weight;
                    match indices.iter().position(|&index| index == other) {
                        Some(j) if weight > 0.0 => {
                            matrix[i * n + j] -= weight;
                            merge(&mut set, i, j);
                        }
                        None if weight > 0.0 => held[i] = true,
                        _ => {}
                    }
                }
            }
        }
        // Where nothing holds a connected set of cells, the constant c on it is in the null space. With c c^T / (c^T c)
        // added, the matrix has an inverse; taking its inverse on c away again leaves the pseudo-inverse. With a shift that
        // is right as well, since right sides have no part along c; and rounding does not blow up if the shift is tiny.
        let set = &set[..n];
        let mut size = [0; SMALL];
        let mut loose = [true; SMALL];
        for i in 0..n {
            size[set[i]] += 1;
            loose[set[i]] &= !held[i];
        }
        let add = |matrix: &mut [f64], sign: f64| {
            for i in (0..n).filter(|&i| loose[set[i]]) {
                for j in (0..n).filter(|&j| set[j] == set[i]) {
                    matrix[i * n + j] += sign / size[set[i]] as f64;
                }
            }
        };
        add(matrix, 1.0);
        self.inverse.resize(n * n, 0.0);
        invert(matrix, &mut self.inverse, n);
        add(&mut self.inverse, -1.0 / (1.0 + shift));
    }

    /// `x = S^+ b`.
    pub fn solve<const D: usize, T: Number>(&mut self, level: &mut Level<D, T>) {
        let n = self.places.len();
        for (right, &at) in self.right.iter_mut().zip(&self.places) {
            *right = level.b.data[at].to_f64();
        }
        let x = level.x.data_mut();
        for (row, &at) in self.inverse.chunks_exact(n.max(1)).zip(&self.places) {
            let sum: f64 = row.iter().zip(&self.right).map(|(a, b)| a * b).sum();
            x[at] = T::of(sum);
        }
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

/// Gives two connected sets one name.
fn merge(set: &mut [usize], i: usize, j: usize) {
    let (keep, drop) = (set[i], set[j]);
    if keep != drop {
        set.iter_mut().filter(|s| **s == drop).for_each(|s| *s = keep);
    }
}

/// The inverse of a symmetric positive definite matrix: `L L^T = A` (Cholesky), then one column after the other.
fn invert(a: &mut [f64], inverse: &mut [f64], n: usize) {
    for j in 0..n {
        for k in 0..j {
            let factor = a[j * n + k];
            for i in j..n {
                a[i * n + j] -= factor * a[i * n + k];
            }
        }
        let root = a[j * n + j].sqrt();
        for i in j..n {
            a[i * n + j] /= root;
        }
    }
    inverse.fill(0.0);
    for c in 0..n {
        let column = &mut inverse[c * n..(c + 1) * n];
        column[c] = 1.0;
        for i in c..n {
            let sum: f64 = (c..i).map(|k| a[i * n + k] * column[k]).sum();
            column[i] = (column[i] - sum) / a[i * n + i];
        }
        for i in (0..n).rev() {
            let sum: f64 = (i + 1..n).map(|k| a[k * n + i] * column[k]).sum();
            column[i] = (column[i] - sum) / a[i * n + i];
        }
    }
}
