//! The equations once more, in the plainest way: a dense matrix in `f64`.

use std::collections::HashMap;

use squall_core::poisson::CellState;
use squall_core::{At, End, Ends, Field, Layout, VectorField};

/// What is where.
pub struct Scene<const D: usize> {
    pub layout: Layout<D>,
    pub ends: [Ends; D],
    /// The axis across whose faces the values live, if they are not centred.
    pub own: Option<usize>,
    pub open: Option<VectorField<D, f64>>,
    pub state: Option<Field<D, CellState>>,
    pub phi: Option<Field<D, f64>>,
}

/// What is on the other side of a face.
#[derive(Clone, Copy, PartialEq)]
pub enum Behind<const D: usize> {
    Cell([isize; D]),
    Wall,
    /// A value `1 / weight` cells away; at the lower or upper end.
    Value(f64),
    /// No cell: only on tiles.
    Nothing,
}

/// Every index of a layout.
pub fn cells_of<const D: usize>(layout: &Layout<D>) -> Vec<[isize; D]> {
    let mut all = Vec::new();
    for r in 0..layout.rows() {
        let row = layout.row(r);
        for x in 0..layout.cells()[0] as isize {
            let mut i = row.index;
            i[0] += x;
            all.push(i);
        }
    }
    all
}

impl<const D: usize> Scene<D> {
    pub fn on(layout: Layout<D>, ends: [Ends; D]) -> Self {
        Scene { layout, ends, own: None, open: None, state: None, phi: None }
    }

    pub fn state_of(&self, i: [isize; D]) -> CellState {
        if let Some(a) = self.own
            && i[a] == 0
            && let Ends::Bounded { lo, .. } = self.ends[a]
        {
            return if lo == End::Flat { CellState::Solid } else { CellState::Air };
        }
        self.state.as_ref().map_or(CellState::Fluid, |s| s.get_signed(i))
    }

    fn behind(&self, i: [isize; D], a: usize, step: isize) -> Behind<D> {
        let mut j = i;
        j[a] += step;
        let n = self.layout.cells()[a] as isize;
        if let Some(tiles) = self.layout.as_tiles() {
            let exists = tiles.find(j.map(|j| j.div_euclid(n) as i32)).is_some();
            return if exists { Behind::Cell(j) } else { Behind::Nothing };
        }
        match self.ends[a] {
            _ if (0..n).contains(&j[a]) => Behind::Cell(j),
            Ends::Periodic => {
                j[a] = j[a].rem_euclid(n);
                Behind::Cell(j)
            }
            Ends::Bounded { lo, hi } => match if step < 0 { lo } else { hi } {
                End::Flat => Behind::Wall,
                // A face on the end lies one cell behind the last unknown, others half a cell.
                End::Value(_) => Behind::Value(if self.own == Some(a) { 1.0 } else { 2.0 }),
                End::Outside(_) => Behind::Nothing,
            },
            Ends::Unbounded(_) => Behind::Nothing,
        }
    }

    /// Weight and other side of the face of cell `i` towards `step` along `a`.
    pub fn face(&self, i: [isize; D], a: usize, step: isize) -> (f64, Behind<D>) {
        let mut face = i;
        face[a] += (step + 1) / 2;
        if self.ends[a] == Ends::Periodic {
            face[a] = face[a].rem_euclid(self.layout.cells()[a] as isize);
        }
        let open = self.open.as_ref().map_or(1.0, |open| open[a].get_signed(face));
        let behind = self.behind(i, a, step);
        let weight = match behind {
            Behind::Wall => 0.0,
            Behind::Value(weight) => weight * open,
            Behind::Nothing => open,
            Behind::Cell(j) => match (self.state_of(i), self.state_of(j)) {
                (CellState::Solid, _) | (_, CellState::Solid) => 0.0,
                (CellState::Fluid, CellState::Air) => {
                    let theta = self.phi.as_ref().map_or(1.0, |phi| {
                        let (inside, outside) = (-phi.get_signed(i), phi.get_signed(j));
                        (inside / (inside + outside)).max(0.05)
                    });
                    open / theta
                }
                _ => open,
            },
        };
        (weight, behind)
    }

    pub fn is_unknown(&self, i: [isize; D]) -> bool {
        let faces = (0..2 * D).map(|f| self.face(i, f / 2, f as isize % 2 * 2 - 1));
        self.state_of(i) == CellState::Fluid
            && faces.clone().all(|f| f.1 != Behind::Nothing)
            && faces.map(|f| f.0).sum::<f64>() > 0.0
    }

    /// Solves `(shift + S) x = b`, where `b(i, outside)` gets the sum over links of weight times `outside(link)` of what is
    /// held: `right(i)` plus what `held` says of each cell or end beside it. Rooms that nothing holds: without their means.
    pub fn solve(
        &self,
        shift: f64,
        right: impl Fn([isize; D]) -> f64,
        held: impl Fn(Behind<D>, usize, isize) -> f64,
    ) -> HashMap<[isize; D], f64> {
        let unknowns: Vec<[isize; D]> = cells_of(&self.layout).into_iter().filter(|&i| self.is_unknown(i)).collect();
        let number: HashMap<[isize; D], usize> = unknowns.iter().enumerate().map(|(n, &i)| (i, n)).collect();
        let n = unknowns.len();
        let (mut matrix, mut b) = (vec![0.0; n * n], vec![0.0; n]);
        let mut room: Vec<usize> = (0..n).collect();
        let mut is_held = vec![false; n];
        for (k, &i) in unknowns.iter().enumerate() {
            b[k] = right(i);
            matrix[k * n + k] += shift;
            for f in 0..2 * D {
                let (a, step) = (f / 2, f as isize % 2 * 2 - 1);
                let (w, behind) = self.face(i, a, step);
                matrix[k * n + k] += w;
                match behind {
                    Behind::Cell(j) if number.contains_key(&j) => {
                        let j = number[&j];
                        matrix[k * n + j] -= w;
                        if w > 0.0 {
                            let (keep, drop) = (room[k], room[j]);
                            room.iter_mut().filter(|r| **r == drop).for_each(|r| *r = keep);
                        }
                    }
                    _ => {
                        is_held[k] |= w > 0.0;
                        if w > 0.0 {
                            b[k] += w * held(behind, a, step);
                        }
                    }
                }
            }
        }
        let mut loose = Vec::new();
        if shift == 0.0 {
            for r in 0..n {
                let set: Vec<usize> = (0..n).filter(|&k| room[k] == r).collect();
                if !set.is_empty() && !set.iter().any(|&k| is_held[k]) {
                    let mean = set.iter().map(|&k| b[k]).sum::<f64>() / set.len() as f64;
                    for &k in &set {
                        b[k] -= mean;
                        set.iter().for_each(|&l| matrix[k * n + l] += 1.0 / set.len() as f64);
                    }
                    loose.push(set);
                }
            }
        }
        let mut x = gauss(matrix, b);
        for set in loose {
            let mean = set.iter().map(|&k| x[k]).sum::<f64>() / set.len() as f64;
            set.iter().for_each(|&k| x[k] -= mean);
        }
        unknowns.into_iter().zip(x).collect()
    }
}

/// Gauss's elimination; the matrix is symmetric and positive, so that no pivots are needed.
fn gauss(mut a: Vec<f64>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for k in 0..n {
        let (above, below) = a.split_at_mut((k + 1) * n);
        let pivot = &above[k * n..];
        for (r, row) in below.chunks_exact_mut(n).enumerate() {
            let factor = row[k] / pivot[k];
            if factor != 0.0 {
                row[k..].iter_mut().zip(&pivot[k..]).for_each(|(v, p)| *v -= factor * p);
                b[k + 1 + r] -= factor * b[k];
            }
        }
    }
    for k in (0..n).rev() {
        let sum: f64 = (k + 1..n).map(|j| a[k * n + j] * b[j]).sum();
        b[k] = (b[k] - sum) / a[k * n + k];
    }
    b
}

/// A field for a layout, with ends that suit it.
pub fn new<const D: usize, T: Copy + Default + Send + Sync>(layout: &Layout<D>, at: At) -> Field<D, T> {
    let ends = if layout.as_tiles().is_some() { Ends::Unbounded(0.0) } else { Ends::FLAT };
    Field::on(layout, at, [ends; D]).unwrap()
}

/// Sets every cell.
pub fn set<const D: usize, T: Copy + Default + Send + Sync>(
    field: &mut Field<D, T>,
    f: impl Fn([isize; D]) -> T + Sync,
) {
    field.par_rows(|row, out| {
        for (x, out) in out.iter_mut().enumerate() {
            let mut i = row.index;
            i[0] += x as isize;
            *out = f(i);
        }
    });
}

/// Unlike numbers between -1 and 1 that depend on the index and a seed alone.
pub fn noise<const D: usize>(seed: u64, i: [isize; D]) -> f64 {
    let mut h = 0x9e37_79b9_7f4a_7c15u64 ^ seed.wrapping_mul(0x2545_f491_4f6c_dd1d);
    for i in i {
        h = (h ^ (i as u64).wrapping_add(77)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        h = (h ^ (h >> 32)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        h ^= h >> 32;
    }
    (h >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// Random parts of faces, last ones included: closed, open and in between.
pub fn random_faces<const D: usize>(layout: &Layout<D>, seed: u64) -> VectorField<D, f64> {
    let part = |a: usize, i: [isize; D]| (0.9 * noise(seed + a as u64, i) + 0.6).clamp(0.0, 1.0);
    std::array::from_fn(|a| {
        let mut faces = new(layout, At::Face(a));
        set(&mut faces, |i| part(a, i));
        if layout.as_tiles().is_none() {
            let mut last = layout.cells();
            last[a] = 1;
            for mut i in cells_of(&Layout::dense(last)) {
                i[a] = layout.cells()[a] as isize;
                faces.set(i.map(|i| i as usize), part(a, i));
            }
        }
        faces
    })
}

/// The kinds of ends, prescribed values being zero.
pub const KINDS: [Ends; 5] = [
    Ends::Periodic,
    Ends::FLAT,
    Ends::Bounded { lo: End::Value(0.0), hi: End::Value(0.0) },
    Ends::Bounded { lo: End::Flat, hi: End::Value(0.0) },
    Ends::Bounded { lo: End::Value(0.0), hi: End::Flat },
];

/// Every combination of the kinds.
pub fn combinations<const D: usize>() -> impl Iterator<Item = [Ends; D]> {
    (0..5usize.pow(D as u32)).map(|c| std::array::from_fn(|a| KINDS[c / 5usize.pow(a as u32) % 5]))
}
