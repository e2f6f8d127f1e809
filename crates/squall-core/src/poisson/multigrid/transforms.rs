//! The transforms of the empty box as a preconditioner around solids.
//!
//! A thick object in a large box changes little: with `L` the operator of the empty box and `R` what picks the unknowns,
//! `R L^-1 R^T` is the inverse of `S` but for the energy of a flow that would fill the object. Around a ball that is less than the
//! energy outside, mode by mode, so all eigenvalues lie between 1/2 and 1, most of them close to either end, and conjugate gradients
//! need no more than four or five iterations to four digits, whatever the number of cells; multigrid takes seven or eight of the same
//! cost. Faces that are open by a little only would spoil that; some passes of Jacobi's method in the cells beside solids, before and
//! after (in reverse, so that all stays symmetric), take care of them:
//!
//! ```text
//! x = passes from zero for S x = r, beside solids        z = x + R L^-1 R^T (r - S x)        z = passes for S z = r, beside solids
//! ```
//!
//! Thin plates and rooms that are nearly closed are another matter: values on both sides of a plate differ, which `L` does not know.
//! So a few iterations with the flow of a uniform wind are tried first, which depends on nothing but the solids.

use super::number::Number;
use super::operator::Operator;
use super::shape::Side;
use super::{FACTORS, dot};
use crate::Real;
use crate::field::Field;
use crate::grid::Ends;
use crate::layout::{Layout, Row};
use crate::poisson::{Spectral, Symbol};
use crate::rows;
use crate::sample::Isa;
use crate::threads::prelude::*;

/// Something like the inverse of the operator of a level, symmetric as that is.
pub(super) trait Precondition<const D: usize, T: Number>: Send {
    /// Learns what the operator is. Whether it is of use.
    fn set(&mut self, operator: &Operator<D, T>, sides: [[Side; 2]; D]) -> bool;

    /// A right side to try it with.
    fn trial(&self, rhs: &mut Field<D, T>);

    /// `z = M r`; returns the sum of `r z`.
    fn apply(&mut self, r: &Field<D, T>, z: &mut Field<D, T>) -> f64;
}

/// Faces of a cell.
const FACES: usize = 6;

/// A cell beside solids, or beside one of those.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    /// Its place in memory, and those of the cells behind its faces.
    at: u32,
    behind: [u32; FACES],
    /// The numbers of the latter, if they are beside solids; else that of a zero.
    number: [u32; FACES],
    weights: [Real; FACES],
    /// 1 / their sum.
    inverse: Real,
    /// The flow of a uniform wind out of it.
    outflow: Real,
}

/// With more cells beside solids than this part of all, multigrid is better.
const MOST: usize = 16;

/// Cells that one task works on.
const TASK: usize = 2048;

/// A wind that blows along no axis.
const WIND: [Real; 3] = [1.0, 0.7, -0.4];

pub(super) struct Transforms<const D: usize> {
    spectral: Spectral<D>,
    isa: Isa,
    /// The cells beside solids, and behind them those around.
    cells: Vec<Cell>,
    beside: usize,
    /// Stretches of memory that hold no unknowns.
    closed: Vec<(u32, u32)>,
    /// Of the cells: the right side; values, with a zero behind them, before and after a pass; what comes from cells
    /// around.
    r: Vec<Real>,
    x: [Vec<Real>; 2],
    around: Vec<Real>,
}

impl<const D: usize> Transforms<D> {
    /// If transforms of these cells are fast.
    pub fn new(layout: &Layout<D>, ends: [Ends; D], isa: Isa) -> Option<Self> {
        let is_fast = |mut n: usize| {
            for factor in [2, 3, 5, 7] {
                while n.is_multiple_of(factor) {
                    n /= factor;
                }
            }
            n == 1
        };
        if layout.as_tiles().is_some() || !layout.cells().into_iter().all(is_fast) {
            return None;
        }
        Some(Transforms {
            spectral: Spectral::with_isa(layout.cells(), [1.0; D], ends, isa),
            isa,
            cells: Vec::new(),
            beside: 0,
            closed: Vec::new(),
            r: Vec::new(),
            x: Default::default(),
            around: Vec::new(),
        })
    }

    /// One pass of Jacobi's method in the cells beside solids: `x + factor inverse (r - S x)`.
    fn pass(&mut self, factor: f64) {
        let Self { cells, beside, r, x: [x, next], around, .. } = self;
        let factor = factor as Real;
        let (cells, r, old, around) = (&cells[..*beside], &r[..], &x[..], &around[..]);
        next[..*beside].par_chunks_mut(TASK).enumerate().for_each(|(task, next)| {
            let first = task * TASK;
            for (k, next) in next.iter_mut().enumerate() {
                let i = first + k;
                let left = r[i] - cells[i].apply(i, old, around[i]);
                *next = old[i] + factor * cells[i].inverse * left;
            }
        });
        std::mem::swap(x, next);
    }
}

impl Cell {
    /// `S x` of the `i`-th cell, if `around` is what comes from cells that have no number.
    #[inline(always)]
    fn apply(&self, i: usize, x: &[Real], around: Real) -> Real {
        let mut sum = -around;
        for f in 0..FACES {
            sum += self.weights[f] * (x[i] - x[self.number[f] as usize]);
        }
        sum
    }
}

impl<const D: usize> Precondition<D, Real> for Transforms<D> {
    fn set(&mut self, operator: &Operator<D, Real>, sides: [[Side; 2]; D]) -> bool {
        let layout = &operator.layout;
        let (n, stride) = (layout.cells(), layout.stride());
        let inverse = &operator.inverse.data;
        let full = |a: usize, upper: bool, i: isize| match sides[a][upper as usize] {
            side if i == if upper { n[a] as isize - 1 } else { 0 } => side.weight(1.0),
            _ => 1.0,
        };
        // Places of the cells behind the faces; those of joined ends are ghosts, which hold what the cells do.
        let behind = |index: [isize; D], at: usize, f: usize| {
            let (a, upper) = (f / 2, f % 2 == 1);
            let last = index[a] == if upper { n[a] as isize - 1 } else { 0 };
            match (last && operator.joined[a], upper) {
                (true, true) => at - (n[a] - 1) * stride[a],
                (true, false) => at + (n[a] - 1) * stride[a],
                (false, true) => at + stride[a],
                (false, false) => at - stride[a],
            }
        };
        let of = |index: [isize; D], at: usize| {
            let mut cell = Cell { at: at as u32, inverse: inverse[at], ..Cell::default() };
            let mut cut = false;
            for f in 0..2 * D {
                let (a, upper) = (f / 2, f % 2 == 1);
                let weight = operator.open[a].data[if upper { at + stride[a] } else { at }];
                let full = full(a, upper, index[a]);
                cell.behind[f] = behind(index, at, f) as u32;
                cell.weights[f] = weight;
                if weight != full {
                    cut = true;
                    cell.outflow += WIND[a] * if upper { weight - full } else { full - weight };
                }
            }
            (cell, cut)
        };
        const NOBODY: u32 = u32::MAX;
        let mut numbers = vec![NOBODY; layout.storage()];
        let (cells, closed) = (&mut self.cells, &mut self.closed);
        cells.clear();
        closed.clear();
        let most = layout.cell_count() / MOST;
        for r in 0..layout.rows() {
            let (row, plain) = (layout.row(r), operator.plain[r].range());
            let mut shut: Option<(u32, u32)> = None;
            for x in (0..plain.start).chain(plain.end..n[0]) {
                let (mut index, at) = (row.index, row.start + x);
                index[0] = x as isize;
                if inverse[at] > 0.0 {
                    let (cell, cut) = of(index, at);
                    if cut {
                        numbers[at] = cells.len() as u32;
                        cells.push(cell);
                    }
                } else if let Some((start, len)) = &mut shut
                    && *start + *len == at as u32
                {
                    *len += 1;
                } else {
                    closed.extend(shut.replace((at as u32, 1)));
                }
            }
            closed.extend(shut);
            if cells.len() > most {
                return false;
            }
        }
        // Those around, twice: to smooth a cell further than what is cut makes better of it, and to know what that leaves.
        for round in 0..2 {
            let count = cells.len();
            if round == 1 {
                self.beside = count;
            }
            for i in 0..count {
                for f in 0..2 * D {
                    let at = cells[i].behind[f] as usize;
                    if cells[i].weights[f] > 0.0 && inverse[at] > 0.0 && numbers[at] == NOBODY {
                        numbers[at] = cells.len() as u32;
                        cells.push(of(layout.index_at(at), at).0);
                    }
                }
            }
        }
        let beside = self.beside as u32;
        for cell in cells.iter_mut() {
            for f in 0..FACES {
                let number = if f < 2 * D { numbers[cell.behind[f] as usize] } else { NOBODY };
                cell.number[f] = number.min(beside);
            }
        }
        self.r.resize(cells.len(), 0.0);
        self.around.resize(self.beside, 0.0);
        self.x.iter_mut().for_each(|x| {
            x.clear();
            x.resize(self.beside + 1, 0.0);
        });
        true
    }

    fn trial(&self, rhs: &mut Field<D>) {
        rhs.fill(0.0);
        let data = rhs.data_mut();
        self.cells.iter().for_each(|cell| data[cell.at as usize] = cell.outflow);
    }

    fn apply(&mut self, r: &Field<D>, z: &mut Field<D>) -> f64 {
        let beside = self.beside;
        // From zero.
        self.around.fill(0.0);
        for (i, cell) in self.cells.iter().enumerate() {
            self.r[i] = r.data[cell.at as usize];
        }
        for (i, cell) in self.cells[..beside].iter().enumerate() {
            self.x[0][i] = FACTORS[0] as Real * cell.inverse * self.r[i];
        }
        FACTORS[1..].iter().for_each(|&factor| self.pass(factor));

        // `L` is minus the Laplacian.
        z.par_rows(|row, z| z.iter_mut().zip(r.row(row)).for_each(|(z, r)| *z = -r));
        let data = z.data_mut();
        for (i, cell) in self.cells.iter().enumerate() {
            let own = if i < beside { i } else { beside };
            data[cell.at as usize] = cell.apply(own, &self.x[0], 0.0) - self.r[i];
        }
        self.spectral.apply(z, Symbol::InverseLaplacian);

        let data = z.data_mut();
        for &(start, len) in &self.closed {
            data[start as usize..(start + len) as usize].fill(0.0);
        }
        for (i, cell) in self.cells[..beside].iter().enumerate() {
            self.x[0][i] += data[cell.at as usize];
        }
        for (i, cell) in self.cells[..beside].iter().enumerate() {
            let from = |f: usize| if cell.number[f] as usize == beside { data[cell.behind[f] as usize] } else { 0.0 };
            self.around[i] = (0..FACES).map(|f| cell.weights[f] * from(f)).sum();
        }
        FACTORS.iter().rev().for_each(|&factor| self.pass(factor));
        for (i, cell) in self.cells[..beside].iter().enumerate() {
            data[cell.at as usize] = self.x[0][i];
        }
        let z = &*z;
        let of_row = |row: Row<'_, D>| {
            let mut sum = 0.0;
            self.isa.run(Dot { a: r.row(row), b: z.row(row), sum: &mut sum });
            sum
        };
        rows::reduce(z.layout(), of_row, |a, b| a + b)
    }
}

struct Dot<'a> {
    a: &'a [Real],
    b: &'a [Real],
    sum: &'a mut f64,
}

impl crate::sample::Kernel for Dot<'_> {
    #[inline(always)]
    fn run(self) {
        *self.sum = dot(self.a, self.b);
    }
}
