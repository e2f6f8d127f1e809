//! The operator of one level and the kernels that apply it.
//!
//! `(S x)_i = s x_i + sum over the faces f of cell i of A_f (x_i - x_j)`, j being the cell behind the face. The shift `s` is
//! zero for the pressure and `h^2 / (k dt)` for diffusion. What the boundary
//! does is part of the weights: a wall has weight 0, and where the value is zero somewhere behind the last cell, the link
//! to that point is a face with weight 1 / distance, in cells, to a ghost that is zero and stays so. Only the ghosts of
//! periodic axes are ever written.
//!
//! Most cells have nothing but open faces. Each row knows one stretch of such cells, and kernels spare themselves the
//! weights there. It also knows where its unknowns are: of a liquid that fills a quarter of its box, kernels see no more than that.

use super::number::Number;
use crate::field::{Field, OutOfMemory, VectorField};
use crate::grid::{At, Ends};
use crate::halo::slab_runs;
use crate::layout::{Beside, Layout, Row, Walk};
use crate::poisson::pcg::dot;
use crate::rows::{self, Span};
use crate::sample::{Isa, Kernel};

/// The end of a row of plain cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct End<T> {
    /// Weight of the outer face, less 1.
    pub extra: T,
    /// 1 / (sum of the weights of the last cell's faces + shift).
    inverse: T,
    /// The last cell's share, and 1 / that.
    share: T,
    pub present: T,
}

impl<T: Number> End<T> {
    /// `present`: what part of the interpolation is not behind a wall.
    pub fn new(dimensions: usize, weight: f64, present: f64) -> Self {
        let (share, present) = (T::of(1.0 / present), T::of(present));
        let mut end = End { extra: T::of(weight) - T::ONE, inverse: T::ZERO, share, present };
        end.set_shift(dimensions, 0.0);
        end
    }

    fn set_shift(&mut self, dimensions: usize, shift: f64) {
        self.inverse = T::of(1.0 / (2.0 * dimensions as f64 + self.extra.to_f64() + shift));
    }
}

pub(super) struct Operator<const D: usize, T> {
    pub layout: Layout<D>,
    /// Which axes are periodic.
    pub joined: [bool; D],
    /// The weight of each face.
    pub open: VectorField<D, T>,
    /// 1 / (sum of the weights of a cell's faces + shift); 0 where the cell is no unknown.
    pub inverse: Field<D, T>,
    /// What is added to the sum of the weights of each unknown.
    pub shift: T,
    /// `inverse` of plain cells.
    plain_inverse: T,
    /// What is to be multiplied with the residual before it goes to the next coarser level.
    pub share: Field<D, T>,
    /// Of each row a stretch of cells all of whose weights and shares are 1, but for the outer faces of `ends`.
    pub plain: Vec<Span>,
    /// Of each row the shortest stretch that holds all unknowns.
    pub used: Vec<Span>,
    /// What else there is to know of the first and the last cell of a row, if they are plain.
    pub ends: [End<T>; 2],
    pub isa: Isa,
}

/// A field of zeros. What happens at the ends is in the weights, so the field itself need not know.
pub(super) fn zeros<const D: usize, T: Number>(layout: &Layout<D>, at: At) -> Result<Field<D, T>, OutOfMemory> {
    let ends = if layout.as_tiles().is_some() { Ends::Unbounded(0.0) } else { Ends::FLAT };
    Field::on(layout, at, [ends; D])
}

fn faces<const D: usize, T: Number>(layout: &Layout<D>) -> Result<VectorField<D, T>, OutOfMemory> {
    let fields: Vec<_> = (0..D).map(|a| zeros(layout, At::Face(a))).collect::<Result<_, _>>()?;
    Ok(fields.try_into().unwrap_or_else(|_| unreachable!("one field for each axis")))
}

impl<const D: usize, T: Number> Operator<D, T> {
    pub fn new(layout: &Layout<D>, joined: [bool; D], ends: [End<T>; 2], isa: Isa) -> Result<Self, OutOfMemory> {
        Ok(Operator {
            layout: layout.clone(),
            joined,
            open: faces(layout)?,
            inverse: zeros(layout, At::Center)?,
            shift: T::ZERO,
            plain_inverse: T::of(1.0 / (2 * D) as f64),
            share: zeros(layout, At::Center)?,
            plain: vec![Span::default(); layout.rows()],
            used: vec![Span::default(); layout.rows()],
            ends,
            isa,
        })
    }

    /// Sets the shift; `inverse` is the caller's business.
    pub fn set_shift(&mut self, shift: f64) {
        self.shift = T::of(shift);
        self.plain_inverse = T::of(1.0 / (2.0 * D as f64 + shift));
        self.ends.iter_mut().for_each(|end| end.set_shift(D, shift));
    }

    /// Writes the ghosts that the operator needs.
    pub fn join(&self, field: &mut Field<D, T>) {
        wrap(field, self.joined, self.layout.cells());
    }

    /// Copies the values of a row in the unknowns, and zeros elsewhere.
    #[inline(always)]
    pub fn unknowns(&self, row: Row<'_, D>, values: &[T], out: &mut [T]) {
        let (inverse, values) = (&self.inverse.row(row)[..out.len()], &values[..out.len()]);
        for x in 0..out.len() {
            out[x] = if inverse[x] > T::ZERO { values[x] } else { T::ZERO };
        }
    }

    /// `out = S x` in the unknowns, all else stays (zero); returns the sum of `x out`. Needs the joined ghosts of `x`.
    pub fn apply(&self, x: &Field<D, T>, out: &mut Field<D, T>) -> f64 {
        self.run(x, out, Apply { x: &x.data })
    }

    /// `out = b - S x` in the unknowns, all else stays (zero); returns its sum of squares. Needs the joined ghosts of `x`.
    pub fn residual(&self, x: &Field<D, T>, b: &Field<D, T>, out: &mut Field<D, T>) -> f64 {
        self.run(x, out, Residual { b: &b.data })
    }

    /// `out = share (b - S x)` in the unknowns, all else stays (zero). Needs the joined ghosts of `x`.
    pub fn shared_residual(&self, x: &Field<D, T>, b: &Field<D, T>, out: &mut Field<D, T>) {
        self.run(x, out, SharedResidual { b: &b.data, operator: self });
    }

    /// One pass of Jacobi's method with this factor, `out = x + factor inverse (b - S x)`. Needs the joined ghosts of `x`.
    pub fn smooth(&self, factor: f64, x: &Field<D, T>, b: &Field<D, T>, out: &mut Field<D, T>) {
        self.run(x, out, Smooth { factor: T::of(factor), x: &x.data, b: &b.data, dot: false });
    }

    /// [`Operator::smooth`] that returns the sum of `b out`.
    pub fn smooth_dot(&self, factor: f64, x: &Field<D, T>, b: &Field<D, T>, out: &mut Field<D, T>) -> f64 {
        self.run(x, out, Smooth { factor: T::of(factor), x: &x.data, b: &b.data, dot: true })
    }

    /// The shares of a row.
    #[inline(always)]
    pub fn shares(&self, number: usize, here: usize) -> Shares<'_, T> {
        let values = &self.share.data[here..here + self.layout.cells()[0]];
        Shares { plain: self.plain[number], ends: [self.ends[0].share, self.ends[1].share], values }
    }

    /// Does something with `S x` in all cells; returns the sum of what the job returns.
    fn run(&self, x: &Field<D, T>, out: &mut Field<D, T>, job: impl Job<T>) -> f64 {
        rows::blocks([out], |rows, base, [out]| {
            let mut sum = 0.0;
            let walk = Walk::new(&self.layout, rows);
            self.isa.run(Block { operator: self, walk, x: &x.data, job, out, base, sum: &mut sum });
            sum
        })
    }
}

/// Cells handled at once. Arrays of fixed length become vectors, whatever else the compiler makes of a loop.
const LANES: usize = 8;

/// What is done with `S x`.
trait Job<T>: Copy + Sync {
    /// The new values of the cells of a row from `i` on; the row begins at `here`.
    fn cells<const L: usize>(&self, here: usize, i: usize, sx: [T; L], inverse: [T; L]) -> [T; L];

    /// Looks at the new values of a row, which begins at `here`, from a cell on.
    fn row(&self, number: usize, from: (usize, usize), out: &mut [T]) -> f64;
}

/// A job for a block of rows.
struct Block<'a, const D: usize, T, J> {
    operator: &'a Operator<D, T>,
    walk: Walk<'a, D>,
    x: &'a [T],
    job: J,
    out: &'a mut [T],
    /// Place of the first value of `out` among those of the field.
    base: usize,
    sum: &'a mut f64,
}

impl<const D: usize, T: Number, J: Job<T>> Kernel for Block<'_, D, T, J> {
    #[inline(always)]
    fn run(self) {
        let Block { operator, mut walk, x, job, out, base, sum } = self;
        let n = operator.layout.cells()[0];
        let tiles = operator.layout.as_tiles().is_some();
        while let Some(row) = walk.next() {
            let out = &mut out[row.here - base..row.here - base + n];
            let (plain, used) = (operator.plain[row.number], operator.used[row.number]);
            if used.is_empty() {
                // Zeros, as in all vectors where no unknown is.
                continue;
            }
            let kernel = RowKernel { operator, plain, used, x, row, tiles, n, job };
            if n >= 2 * LANES {
                kernel.cells::<{ 2 * LANES }>(out);
            } else if n >= LANES {
                kernel.cells::<LANES>(out);
            } else {
                kernel.cells::<1>(out);
            }
            kernel.end_cell(0, 0, out);
            kernel.end_cell(1, n - 1, out);
            let cells = used.eights(n);
            *sum += job.row(row.number, (row.here, cells.start), &mut out[cells]);
        }
    }
}

/// A job along one row.
struct RowKernel<'a, const D: usize, T, J> {
    operator: &'a Operator<D, T>,
    plain: Span,
    used: Span,
    x: &'a [T],
    row: Beside<D>,
    tiles: bool,
    n: usize,
    job: J,
}

impl<const D: usize, T: Number, J: Job<T>> RowKernel<'_, D, T, J> {
    /// The cells of the row.
    #[inline(always)]
    fn cells<const L: usize>(&self, out: &mut [T]) {
        let n = self.n;
        let (begin, end) = (self.plain.begin as usize, self.plain.end as usize);
        let Beside { here, below, above, ends, .. } = self.row;
        let mut x = Values::new(self.x, here, below, above, n);
        if self.tiles {
            x.ends = Some(ends.map(|at| self.x[at]));
        }
        let constant = [self.operator.plain_inverse; L];
        let shift = self.operator.shift;
        // As many cells as are handled at once, at least.
        let first = (self.used.begin as usize).min(n - L);
        let last = (self.used.end as usize).max(first + L);
        let mut i = first;
        if begin <= first && last <= end {
            while i < last {
                store(out, i, self.job.cells(here, i, x.plain::<L>(shift, i), constant));
                i = next::<L>(i, last);
            }
            return;
        }
        let Operator { open, inverse, .. } = self.operator;
        let inverse = &inverse.data[here..here + n];
        let (mut low, mut high) = ([inverse; D], [inverse; D]);
        for a in 0..D {
            low[a] = &open[a].data[here..here + n];
            high[a] = &open[a].data[above[a]..above[a] + n];
        }
        let behind = self.tiles.then(|| open[0].data[ends[1]]);
        while i < last {
            if begin <= i && i + L <= end {
                store(out, i, self.job.cells(here, i, x.plain::<L>(shift, i), constant));
            } else {
                store(
                    out,
                    i,
                    self.job.cells(here, i, x.weighted::<L>(shift, &low, &high, behind, i), load(inverse, i)),
                );
            }
            i = next::<L>(i, last);
        }
    }

    /// The first or the last cell of a row of a box, if it is plain but for its outer face.
    #[inline(always)]
    fn end_cell(&self, side: usize, i: usize, out: &mut [T]) {
        let Beside { here, below, above, .. } = self.row;
        let end = self.operator.ends[side];
        let plain = self.plain.begin as usize <= i && i < self.plain.end as usize;
        let unused = i < self.used.begin as usize || i >= self.used.end as usize;
        if !plain || end.extra == T::ZERO || unused {
            return;
        }
        let x = self.x[here + i];
        let mut sum = self.operator.shift * x + end.extra * x;
        for a in 0..D {
            sum += (x - self.x[below[a] + i]) + (x - self.x[above[a] + i]);
        }
        store(out, i, self.job.cells(here, i, [sum], [end.inverse]));
    }
}

/// The cells after those from `i` on; the last ones may be some of them again.
#[inline(always)]
fn next<const L: usize>(i: usize, n: usize) -> usize {
    if i + L == n { n } else { (i + L).min(n - L) }
}

/// The values of a row and of those beside it.
struct Values<'a, const D: usize, T> {
    here: &'a [T],
    below: [&'a [T]; D],
    above: [&'a [T]; D],
    /// What lies before and behind the row, if not beside it in memory.
    ends: Option<[T; 2]>,
}

impl<'a, const D: usize, T: Number> Values<'a, D, T> {
    #[inline(always)]
    fn new(values: &'a [T], here: usize, below: [usize; D], above: [usize; D], n: usize) -> Self {
        let here = &values[here..here + n];
        let mut beside = Values { here, below: [here; D], above: [here; D], ends: None };
        for a in 0..D {
            beside.below[a] = &values[below[a]..below[a] + n];
            beside.above[a] = &values[above[a]..above[a] + n];
        }
        beside
    }

    /// The cells below and above those from `i` on, along an axis.
    #[inline(always)]
    fn beside<const L: usize>(&self, a: usize, i: usize) -> ([T; L], [T; L]) {
        let (mut down, mut up) = (load::<L, T>(self.below[a], i), load::<L, T>(self.above[a], i));
        if let (0, Some([before, behind])) = (a, self.ends) {
            if i == 0 {
                down[0] = before;
            }
            if i + L == self.here.len() {
                up[L - 1] = behind;
            }
        }
        (down, up)
    }

    /// `S` of the cells from `i` on, all of whose faces are open.
    #[inline(always)]
    fn plain<const L: usize>(&self, shift: T, i: usize) -> [T; L] {
        let x = load::<L, T>(self.here, i);
        let mut sum = x.map(|x| shift * x);
        for a in 0..D {
            let (down, up) = self.beside::<L>(a, i);
            for l in 0..L {
                sum[l] += (x[l] - down[l]) + (x[l] - up[l]);
            }
        }
        sum
    }

    /// `S` of the cells from `i` on. `behind` is the weight of the last face along x, if it does not lie behind the others.
    #[inline(always)]
    fn weighted<const L: usize>(
        &self,
        shift: T,
        low: &[&[T]; D],
        high: &[&[T]; D],
        behind: Option<T>,
        i: usize,
    ) -> [T; L] {
        let x = load::<L, T>(self.here, i);
        let mut sum = x.map(|x| shift * x);
        for a in 0..D {
            let (down, up) = self.beside::<L>(a, i);
            let (low, mut high) = (load::<L, T>(low[a], i), load::<L, T>(high[a], i));
            if let (0, Some(behind), true) = (a, behind, i + L == self.here.len()) {
                high[L - 1] = behind;
            }
            for l in 0..L {
                sum[l] += low[l] * (x[l] - down[l]) + high[l] * (x[l] - up[l]);
            }
        }
        sum
    }
}

#[inline(always)]
fn load<const L: usize, T: Copy + Default>(values: &[T], at: usize) -> [T; L] {
    let mut out = [T::default(); L];
    out.copy_from_slice(&values[at..at + L]);
    out
}

#[inline(always)]
fn store<const L: usize, T: Copy>(out: &mut [T], at: usize, values: [T; L]) {
    out[at..at + L].copy_from_slice(&values);
}

/// `S x` in the unknowns.
#[derive(Clone, Copy)]
struct Apply<'a, T> {
    x: &'a [T],
}

impl<T: Number> Job<T> for Apply<'_, T> {
    #[inline(always)]
    fn cells<const L: usize>(&self, _: usize, _: usize, mut sx: [T; L], inverse: [T; L]) -> [T; L] {
        for l in 0..L {
            sx[l] = if inverse[l] > T::ZERO { sx[l] } else { T::ZERO };
        }
        sx
    }

    #[inline(always)]
    fn row(&self, _: usize, (here, first): (usize, usize), out: &mut [T]) -> f64 {
        dot(&self.x[here + first..][..out.len()], out)
    }
}

/// `b - S x` in the unknowns.
#[derive(Clone, Copy)]
struct Residual<'a, T> {
    b: &'a [T],
}

impl<T: Number> Job<T> for Residual<'_, T> {
    #[inline(always)]
    fn cells<const L: usize>(&self, here: usize, i: usize, mut sx: [T; L], inverse: [T; L]) -> [T; L] {
        let b = load::<L, T>(self.b, here + i);
        for l in 0..L {
            sx[l] = if inverse[l] > T::ZERO { b[l] - sx[l] } else { T::ZERO };
        }
        sx
    }

    #[inline(always)]
    fn row(&self, _: usize, _: (usize, usize), out: &mut [T]) -> f64 {
        dot(out, out)
    }
}

/// `share (b - S x)` in the unknowns.
#[derive(Clone, Copy)]
struct SharedResidual<'a, const D: usize, T> {
    b: &'a [T],
    operator: &'a Operator<D, T>,
}

impl<const D: usize, T: Number> Job<T> for SharedResidual<'_, D, T> {
    #[inline(always)]
    fn cells<const L: usize>(&self, here: usize, i: usize, sx: [T; L], inverse: [T; L]) -> [T; L] {
        Residual { b: self.b }.cells(here, i, sx, inverse)
    }

    #[inline(always)]
    fn row(&self, number: usize, (here, first): (usize, usize), out: &mut [T]) -> f64 {
        self.operator.shares(number, here).multiply(first, out);
        0.0
    }
}

/// `x + factor inverse (b - S x)`.
#[derive(Clone, Copy)]
struct Smooth<'a, T> {
    factor: T,
    x: &'a [T],
    b: &'a [T],
    /// Whether to sum up `b out`.
    dot: bool,
}

impl<T: Number> Job<T> for Smooth<'_, T> {
    #[inline(always)]
    fn cells<const L: usize>(&self, here: usize, i: usize, mut sx: [T; L], inverse: [T; L]) -> [T; L] {
        let (x, b) = (load::<L, T>(self.x, here + i), load::<L, T>(self.b, here + i));
        for l in 0..L {
            sx[l] = x[l] + self.factor * inverse[l] * (b[l] - sx[l]);
        }
        sx
    }

    #[inline(always)]
    fn row(&self, _: usize, (here, first): (usize, usize), out: &mut [T]) -> f64 {
        if self.dot { dot(&self.b[here + first..][..out.len()], out) } else { 0.0 }
    }
}

/// The shares of a row's cells, as far as they are not 1.
#[derive(Clone, Copy)]
pub(super) struct Shares<'a, T> {
    plain: Span,
    ends: [T; 2],
    values: &'a [T],
}

impl<T: Number> Shares<'_, T> {
    /// Multiplies the values of the cells from `first` on with their shares.
    #[inline(always)]
    pub fn multiply(&self, first: usize, values: &mut [T]) {
        let (n, last) = (self.values.len(), first + values.len());
        let (begin, end) = (self.plain.begin as usize, self.plain.end as usize);
        for i in (first..begin.clamp(first, last)).chain(end.clamp(first, last)..last) {
            values[i - first] = self.values[i] * values[i - first];
        }
        if first == 0 && begin == 0 && end > 0 {
            values[0] = self.ends[0] * values[0];
        }
        if last == n && end == n {
            values[n - 1 - first] = self.ends[1] * values[n - 1 - first];
        }
    }
}

/// Writes the ghosts along joined axes. `period` is the number of cells after which things repeat: one more than there
/// are, where the last cell of a coarser level covers only one cell.
pub(crate) fn wrap<const D: usize, T: Number>(field: &mut Field<D, T>, joined: [bool; D], period: [usize; D]) {
    for a in (0..D).filter(|&a| joined[a]) {
        let layout = field.layout().clone();
        let (n, stride) = (layout.cells()[a] as isize, layout.stride()[a] as isize);
        let data = field.data_mut();
        for ghost in [-1, n, n + 1] {
            let source = ghost.rem_euclid(period[a] as isize);
            slab_runs(&layout, a, ghost, |to, run| {
                if source < n {
                    let from = to.wrapping_add_signed((source - ghost) * stride);
                    data.copy_within(from..from + run, to);
                } else {
                    data[to..to + run].fill(T::ZERO);
                }
            });
        }
    }
}
