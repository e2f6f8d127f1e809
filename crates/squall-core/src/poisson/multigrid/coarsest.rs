//! The coarsest level, solved directly.

use super::level::Level;
use super::number::Number;
use crate::layout::Layout;

/// The pseudo-inverse of an operator on a few cells.
#[derive(Default)]
pub(super) struct Coarsest {
    /// Where the unknowns lie in memory.
    places: Vec<usize>,
    /// Row by row.
    inverse: Vec<f64>,
    right: Vec<f64>,
}

impl Coarsest {
    pub fn set<const D: usize, T: Number>(&mut self, level: &Level<D, T>) {
        let layout = &level.shape.layout;
        let cells = layout.cells();
        let unknown = |index| level.operator.inverse.get_signed(index) > T::ZERO;
        let indices: Vec<[isize; D]> = indices(layout).filter(|&index| unknown(index)).collect();
        self.places.clear();
        self.places.extend(indices.iter().map(|&index| layout.offset(index)));
        let n = indices.len();
        self.right.resize(n, 0.0);

        let mut matrix = vec![0.0; n * n];
        let mut component: Vec<usize> = (0..n).collect();
        let mut held = vec![false; n];
        for (i, &index) in indices.iter().enumerate() {
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
                            merge(&mut component, i, j);
                        }
                        None if weight > 0.0 => held[i] = true,
                        _ => {}
                    }
                }
            }
        }
        // Where nothing holds a connected set of cells, the constant c on it is in the null space. With c c^T / (c^T c)
        // added, the matrix has an inverse; taking the same away again leaves the pseudo-inverse.
        let loose: Vec<Vec<usize>> = (0..n)
            .map(|c| (0..n).filter(|&i| component[i] == c).collect::<Vec<usize>>())
            .filter(|set| !set.is_empty() && !set.iter().any(|&i| held[i]))
            .collect();
        let add = |matrix: &mut [f64], sign: f64| {
            for set in &loose {
                for &i in set {
                    for &j in set {
                        matrix[i * n + j] += sign / set.len() as f64;
                    }
                }
            }
        };
        add(&mut matrix, 1.0);
        self.inverse = inverse(matrix, n);
        add(&mut self.inverse, -1.0);
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
fn merge(component: &mut [usize], i: usize, j: usize) {
    let (keep, drop) = (component[i], component[j]);
    if keep != drop {
        component.iter_mut().filter(|c| **c == drop).for_each(|c| *c = keep);
    }
}

/// The inverse of a symmetric positive definite matrix: `L L^T = A` (Cholesky), then one column after the other.
fn inverse(mut a: Vec<f64>, n: usize) -> Vec<f64> {
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
    let mut inverse = vec![0.0; n * n];
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
    inverse
}
