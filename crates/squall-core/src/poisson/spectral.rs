//! Direct solution by transforms along every axis: `field <- T^-1 symbol(lambda) T field`.
//!
//! Each axis has the real transform of [`super::transform`] that belongs to its ends, so any mix of ends is one code
//! path and the data stays real and in place. The eigenvalue of a mode is `lambda = sum over axes of lam_a / h_a^2`.
//!
//! The solve is bound by memory as much as by arithmetic, so it passes over the field three times:
//!
//! 1. slab by slab (a plane in 3D, a few rows in 2D, so that it stays in the cache): forward along all axes but the last;
//! 2. line by line along the last axis: forward, multiply with the symbol, inverse;
//! 3. slab by slab: inverse along all axes but the last.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use wide::f32x8;

use super::lines::{Batch, Buffers, Columns, Lanes, PAIRS, PlaneColumns, load, read, store};
use super::transform::{Domain, Pair, Planner, Transform};
use super::{PoissonSolver, Unsuitable};
use crate::field::{Field, Pad};
use crate::grid::{At, End, Ends};
use crate::layout::{Layout, Row};
use crate::report::SolveReport;
use crate::sample::Isa;
use crate::threads::{self, prelude::*};
use crate::{Real, ops, rows};

/// Rows of a slab in 2D; even, so that pairs of rows never cross slabs.
const SLAB_ROWS: usize = 16;

/// Factors of [`Symbol::Exponential`] below this become zero: far below rounding, and a product of three of them with
/// the normalisation is still no subnormal number (which would be slow).
const NEGLIGIBLE: f64 = 1e-10;

/// Terms of [`Symbol::Implicit`] are cut off here, so that sums stay finite and quotients stay normal numbers.
const HUGE: f64 = 1e30;

/// What each mode is multiplied with; `lambda <= 0` is the eigenvalue of the Laplacian.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Symbol {
    /// `1 / lambda`, and 0 for the mode with `lambda = 0`: solves `lap q = r`.
    InverseLaplacian,
    /// `1 / (1 - k lambda)`: a backward Euler step of diffusion.
    Implicit {
        /// Diffusivity times time step.
        k: f64,
    },
    /// `exp(k lambda)`: exact diffusion.
    Exponential {
        /// Diffusivity times time step.
        k: f64,
    },
}

/// A plan for one shape, one cell size and one set of ends, with the buffers it needs.
///
/// Results do not depend on the number of threads; on the instruction set they do, in the last bits. Applying the plan allocates nothing, once it has been applied in a
/// thread pool of that size.
pub struct Spectral<const D: usize> {
    layout: Layout<D>,
    spacing: [f64; D],
    ends: [Ends; D],
    transforms: [Transform; D],
    /// Eigenvalues of the Laplacian along each axis, slot by slot.
    eigenvalues: [Vec<f64>; D],
    /// What the symbol needs of each axis, slot by slot, and entries for missing lines that keep their zeros zero.
    factors: [Vec<Real>; D],
    workers: Vec<Mutex<Buffers>>,
    rows: RowList,
}

/// How the factors of the axes make up the multiplier of a mode.
#[derive(Clone, Copy)]
enum Combine {
    /// `numerator / sum of factors`
    Quotient { numerator: Real },
    /// product of factors
    Product,
}

impl<const D: usize> Spectral<D> {
    /// Plans for fields of `cells` with these ends. Prescribed values count as zero: `End::Value(b)` is taken for
    /// `End::Value(0.0)`.
    pub fn new(cells: [usize; D], spacing: [f64; D], ends: [Ends; D]) -> Self {
        Spectral::with_isa(cells, spacing, ends, Isa::best())
    }

    /// [`Spectral::new`] for a certain instruction set. [`Isa::Portable`] gives the same bits on every machine.
    pub fn with_isa(cells: [usize; D], spacing: [f64; D], ends: [Ends; D], isa: Isa) -> Self {
        const { assert!(1 <= D && D <= 3, "one to three dimensions") };
        let mut planner = Planner::new(isa);
        let transforms: [_; D] = ops::each(|a| Transform::new(cells[a], ends[a], &mut planner));
        let eigenvalues = ops::each(|a| {
            let h2 = spacing[a] * spacing[a];
            transforms[a].eigenvalues().iter().map(|lam| lam / h2).collect()
        });
        let factors = cells.map(|n| vec![0.0; n + 2 * PAIRS]);
        let layout = Layout::dense(cells);
        let ends = homogeneous(ends);
        let (workers, rows) = (Vec::new(), RowList::default());
        let mut plan = Spectral { layout, spacing, ends, transforms, eigenvalues, factors, workers, rows };
        plan.hire(threads::current_num_threads());
        plan.rows.0.reserve_exact(Self::row_count(cells));
        plan
    }

    /// Replaces the field by `T^-1 symbol T field`. Ghosts are neither read nor written.
    ///
    /// Returns the mean of the field if it had to be dropped (the inverse Laplacian of a singular problem), else 0.
    pub fn apply(&mut self, field: &mut Field<D>, symbol: Symbol) -> f64 {
        assert_eq!(*field.layout(), self.layout, "the plan is for fields of another shape");
        assert_eq!(field.at(), At::Center, "the transforms are for cell-centred fields");
        self.hire(threads::current_num_threads());
        let combine = self.set_factors(symbol);
        let first = self.layout.row(0).start;
        let data = &mut field.data_mut()[first..];

        self.slabs(data, Domain::Space);
        let zero_mode = self.last_axis(data, combine, symbol == Symbol::InverseLaplacian && self.is_singular());
        self.slabs(data, Domain::Modes);

        zero_mode / self.scale()
    }

    /// Whether no end prescribes a value, so that a constant is in the null space of the Laplacian.
    pub fn is_singular(&self) -> bool {
        self.eigenvalues.iter().all(|lambda| lambda[0] == 0.0)
    }

    /// The transforms, for people: `direct: FFT x DCT-II x DCT-IV`.
    pub fn describe(&self) -> String {
        format!("direct: {}", self.transforms.each_ref().map(Transform::name).join(" x "))
    }

    /// Bytes of scratch this plan holds (the twiddle factors inside the FFTs are not counted).
    pub fn scratch_bytes(&self) -> usize {
        let workers: usize = self.workers.iter().map(|w| lock(w).bytes()).sum();
        let tables: usize = self.layout.cells().iter().map(|n| n * TABLE_BYTES).sum();
        workers + tables + self.rows.0.capacity() * size_of::<&mut [Real]>()
    }

    /// About how many bytes of scratch a plan for these cells will hold, without building anything; saturates instead
    /// of overflowing. Long prime axes need more: the FFTs pad them.
    pub fn estimate_bytes(cells: [usize; D]) -> u64 {
        let longest = cells.into_iter().max().unwrap_or(1);
        let buffers = longest.saturating_add(PAIRS).saturating_mul((PAIRS + 2) * size_of::<Pair>());
        let workers = buffers.saturating_mul(threads::current_num_threads());
        let rows = Self::row_count(cells).saturating_mul(size_of::<&mut [Real]>());
        let tables = cells.iter().fold(0usize, |sum, n| sum.saturating_add(n.saturating_mul(TABLE_BYTES)));
        workers.saturating_add(rows).saturating_add(tables) as u64
    }

    /// Entries of the list of rows: x-rows in 3D, pieces of x-rows in 2D.
    fn row_count(cells: [usize; D]) -> usize {
        match D {
            1 => cells[0],
            2 => cells[0].div_ceil(2 * PAIRS).saturating_mul(cells[1]),
            _ => cells[1].saturating_mul(cells[2]),
        }
    }

    /// Makes sure that every thread has buffers.
    fn hire(&mut self, threads: usize) {
        let longest = self.layout.cells().into_iter().max().unwrap_or(1);
        let scratch = self.transforms.iter().map(Transform::scratch_len).max().unwrap_or(0);
        while self.workers.len() < threads {
            self.workers.push(Mutex::new(Buffers::new(longest, scratch)));
        }
    }

    /// What inverse after forward has to be divided by.
    fn scale(&self) -> f64 {
        self.transforms.iter().map(Transform::scale).product()
    }

    /// Fills the tables from which the multiplier of each mode is made, normalisation included.
    fn set_factors(&mut self, symbol: Symbol) -> Combine {
        let scale = self.scale();
        // Of the sign of all other factors, so that no sum with it vanishes.
        let spare = if symbol == Symbol::InverseLaplacian { -1.0 } else { 1.0 };
        for a in 0..D {
            let share = self.transforms[a].scale();
            let factor = |lambda: f64| match symbol {
                Symbol::InverseLaplacian => lambda,
                Symbol::Implicit { k } => (-k * lambda).min(HUGE) + if a == 0 { 1.0 } else { 0.0 },
                Symbol::Exponential { k } => {
                    let decay = libm::exp(k * lambda);
                    if decay < NEGLIGIBLE { 0.0 } else { decay / share }
                }
            };
            let n = self.eigenvalues[a].len();
            for (f, &lambda) in self.factors[a].iter_mut().zip(&self.eigenvalues[a]) {
                *f = factor(lambda) as Real;
            }
            self.factors[a][n..].fill(spare);
        }
        match symbol {
            Symbol::Exponential { .. } => Combine::Product,
            _ => Combine::Quotient { numerator: (1.0 / scale) as Real },
        }
    }

    /// Transforms all axes but the last, slab by slab: forward from space, inverse from modes.
    fn slabs(&self, data: &mut [Real], from: Domain) {
        let (n, stride) = (self.layout.cells(), self.layout.stride());
        if D == 1 {
            return;
        }
        let (slab, ny) = if D == 2 { (SLAB_ROWS, n[1]) } else { (n[1], n[1]) };
        let length = if D == 2 { SLAB_ROWS * stride[1] } else { stride[D - 1] };
        let used = n[D - 1] * stride[D - 1];
        data[..used].par_chunks_mut(length).enumerate().for_each(|(s, data)| {
            let buffers = &mut *self.buffers();
            let rows = if D == 2 { slab.min(ny - s * slab) } else { slab };
            // The axes may go in any order. Rows first, both ways: they fetch the slab into the cache in the order of
            // memory, which columns do not (columns first in the inverse pass: 21 ms instead of 18 ms for 128^3 on
            // one thread).
            self.rows(data, rows, from, buffers);
            if D == 3 {
                self.plane_columns(data, from, buffers);
            }
        });
    }

    /// Transforms `count` x-rows, two at a time.
    fn rows(&self, data: &mut [Real], count: usize, from: Domain, buffers: &mut Buffers) {
        let (transform, nx, stride) = (&self.transforms[0], self.layout.cells()[0], self.layout.stride()[1]);
        let Buffers { lines, scratch } = buffers;
        let line = &mut lines[..nx];
        for y in (0..count).step_by(2) {
            let (a, b) = data[y * stride..].split_at_mut(stride);
            let a = &mut a[..nx];
            let b = (y + 1 < count).then(|| &mut b[..nx]);
            load(transform, from, a, b.as_deref(), line);
            let to = turn(transform, from, line, scratch);
            store(transform, to, line, a, b);
        }
    }

    /// Transforms the y-lines of one plane.
    fn plane_columns(&self, plane: &mut [Real], from: Domain, buffers: &mut Buffers) {
        let (transform, n) = (&self.transforms[1], self.layout.cells());
        let Buffers { lines, scratch } = buffers;
        let batch = &mut Batch::new(lines, n[1]);
        let columns = &mut PlaneColumns { plane, stride: self.layout.stride()[1], width: n[0] };
        for (begin, count) in batches(n[0]) {
            if from == Domain::Space {
                transform.gather_samples(columns, begin, batch);
                transform.fft(batch, count, scratch);
                transform.scatter_modes(columns, begin, batch);
            } else {
                transform.gather_modes(columns, begin, batch);
                transform.inverse_fft(batch, count, scratch);
                transform.scatter_samples(columns, begin, batch);
            }
        }
    }

    /// Forward, multiply, inverse along the last axis. Returns the coefficient of the zero mode if it is to be dropped.
    fn last_axis(&mut self, data: &mut [Real], combine: Combine, drop_zero: bool) -> f64 {
        let (n, stride) = (self.layout.cells(), self.layout.stride());
        let len = n[D - 1];
        let mut list = std::mem::take(&mut self.rows).lend();
        list_rows(&mut list, data, n, stride);

        let zero_mode = AtomicU32::new(0);
        list.par_chunks_mut(len).enumerate().for_each(|(task, rows)| {
            // One task: in 3D the lines of one y, in 2D one batch of columns.
            let (x, base) = match D {
                3 => (0, Some(self.factors[1][task])),
                2 => (task * 2 * PAIRS, None),
                _ => (0, None),
            };
            let dropped = self.columns(rows, x, base, combine, drop_zero && task == 0);
            if drop_zero && task == 0 {
                zero_mode.store(dropped.to_bits(), Ordering::Relaxed);
            }
        });
        self.rows = RowList::give_back(list);
        Real::from_bits(zero_mode.into_inner()) as f64
    }

    /// Forward, multiply, inverse for the lines across `rows`, the first of which has mode `x` along the first axis.
    /// Returns the coefficient that was dropped.
    fn columns(
        &self,
        rows: &mut [&mut [Real]],
        x: usize,
        base: Option<Real>,
        combine: Combine,
        drop_zero: bool,
    ) -> Real {
        let (transform, len) = (&self.transforms[D - 1], self.layout.cells()[D - 1]);
        let last = &self.factors[D - 1][..len];
        let Buffers { lines, scratch } = &mut *self.buffers();
        let batch = &mut Batch::new(lines, len);
        let mut dropped = 0.0;
        for (begin, count) in batches(rows.row(0).len()) {
            transform.gather_samples(rows, begin, batch);
            transform.fft(batch, count, scratch);
            let zero_mode = batch.lines[0][0].re;
            let others = self.lane_factors(x + begin, base, combine);
            match combine {
                Combine::Quotient { numerator } => {
                    transform.change_modes(batch, |slot, modes| divided(modes, others, last[slot], numerator))
                }
                Combine::Product => transform.change_modes(batch, |slot, modes| times(modes, others, last[slot])),
            }
            if drop_zero && begin == 0 {
                // The FFT holds the zero mode by itself: half of it, if there is more than one sample.
                dropped = if len > 1 { 2.0 * zero_mode } else { zero_mode };
                batch.lines[0][0].re = 0.0;
            }
            transform.inverse_fft(batch, count, scratch);
            transform.scatter_samples(rows, begin, batch);
        }
        dropped
    }

    /// Solves without a look at what is left. Returns the mean of `rhs`, which was dropped.
    pub fn solve_into(&mut self, rhs: &Field<D>, q: &mut Field<D>) -> f64 {
        q.par_rows(|row, q| q.copy_from_slice(rhs.row(row)));
        self.solve_in_place(q)
    }

    /// [`Spectral::solve_into`] for a right side that stands where the solution is to be.
    pub fn solve_in_place(&mut self, q: &mut Field<D>) -> f64 {
        q.relabel(At::Center, self.ends);
        self.apply(q, Symbol::InverseLaplacian)
    }

    /// The factors of all axes but the last for the modes from `x` on along the first axis.
    fn lane_factors(&self, x: usize, base: Option<Real>, combine: Combine) -> Lanes {
        if D == 1 {
            // One line and no other axis; the lanes beside it hold zeros.
            let spare = self.factors[0][self.layout.cells()[0]];
            let neutral = if matches!(combine, Combine::Product) { 1.0 } else { 0.0 };
            return Lanes::from_fn(|l| Pair::new(if l == 0 { neutral } else { spare }, spare));
        }
        let lanes = read(&self.factors[0], x);
        match (combine, base) {
            (Combine::Quotient { .. }, Some(f)) => Lanes { re: lanes.re + f, im: lanes.im + f },
            (Combine::Product, Some(f)) => lanes.scaled(f),
            (_, None) => lanes,
        }
    }

    /// The buffers of the thread that asks. They are only contended if a plan is used from outside its thread pool.
    fn buffers(&self) -> std::sync::MutexGuard<'_, Buffers> {
        let thread = threads::current_thread_index().unwrap_or(0);
        lock(&self.workers[thread % self.workers.len()])
    }
}

impl<const D: usize> PoissonSolver<D> for Spectral<D> {
    /// Gives `q` its ends and fills its ghosts, to measure the residual; that takes about a tenth of the time.
    fn solve(&mut self, rhs: &mut Field<D>, q: &mut Field<D>, _tolerance: f64) -> SolveReport {
        let mean = self.solve_into(rhs, q);
        q.fill_halo();
        let [rest, size] = residual(rhs, q, self.spacing, mean);
        let cells = self.layout.cell_count();
        let dropped = mean * mean * cells as f64;
        SolveReport::of_direct(size + dropped, rest + dropped, mean, cells)
    }

    fn improve(&mut self, rhs: &mut Field<D>, q: &mut Field<D>, tolerance: f64) -> SolveReport {
        self.solve(rhs, q, tolerance)
    }

    fn set(&mut self, domain: super::Domain<'_, D>) -> Result<(), Unsuitable> {
        if domain.open.is_some() || domain.state.is_some() {
            return Err(Unsuitable { solver: self.describe() });
        }
        Ok(())
    }

    fn direct(&mut self) -> Option<&mut Spectral<D>> {
        Some(self)
    }

    fn describe(&self) -> String {
        Spectral::describe(self)
    }
}

/// The sums of squares of `r - mean - lap q` and of `r - mean`. Needs the ghosts of `q`.
pub(super) fn residual<const D: usize>(rhs: &Field<D>, q: &Field<D>, spacing: [f64; D], mean: f64) -> [f64; 2] {
    let inv_h2 = spacing.map(|h| (1.0 / (h * h)) as Real);
    let mean = mean as Real;
    let of_row = |row: Row<'_, D>| {
        let (rhs, here) = (rhs.row(row), q.row(row));
        let mut pads = [Pad::default(); 2];
        let mut sums = [0.0; 2];
        // By pieces, so that what is left stays in vectors.
        for begin in (0..here.len()).step_by(PIECE) {
            let len = (here.len() - begin).min(PIECE);
            let mut rest = [0.0; PIECE];
            for (x, rest) in rest[..len].iter_mut().enumerate() {
                *rest = rhs[begin + x] - mean;
            }
            sums[1] += ops::lanes_sum(len, |x| rest[x] as f64 * rest[x] as f64);
            for a in 0..D {
                let [pad, other] = &mut pads;
                let (up, down) = (&q.up(row, a, pad)[begin..], &q.down(row, a, other)[begin..]);
                let here = &here[begin..];
                for x in 0..len {
                    rest[x] -= inv_h2[a] * ((up[x] - here[x]) - (here[x] - down[x]));
                }
            }
            sums[0] += ops::lanes_sum(len, |x| rest[x] as f64 * rest[x] as f64);
        }
        sums
    };
    rows::reduce(q.layout(), of_row, |a, b| [a[0] + b[0], a[1] + b[1]])
}

/// Cells of a row that are looked at together.
const PIECE: usize = 64;

/// `ends` with every prescribed value replaced by zero.
pub(crate) fn homogeneous<const D: usize>(ends: [Ends; D]) -> [Ends; D] {
    ends.map(|ends| {
        ends.map(|end| match end {
            End::Flat => End::Flat,
            End::Value(_) => End::Value(0.0),
            End::Outside(_) => End::Outside(0.0),
        })
    })
}

/// Tables per cell of an axis: eigenvalues twice, two lists of places, factors.
const TABLE_BYTES: usize = 2 * 8 + 2 * 16 + 4;

/// A poisoned lock only means that another solve panicked; buffers hold nothing that outlives a batch.
fn lock(worker: &Mutex<Buffers>) -> std::sync::MutexGuard<'_, Buffers> {
    worker.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// One transform of one line, away from the domain where it is.
#[inline(always)]
fn turn(transform: &Transform, from: Domain, line: &mut [Pair], scratch: &mut [Pair]) -> Domain {
    match from {
        Domain::Space => {
            transform.forward(line, scratch);
            Domain::Modes
        }
        Domain::Modes => {
            transform.inverse(line, scratch);
            Domain::Space
        }
    }
}

/// `modes * numerator / (others + f)`; real and imaginary parts are two lines, not complex numbers.
#[inline(always)]
fn divided(modes: Lanes, others: Lanes, f: Real, numerator: Real) -> Lanes {
    let (f, numerator) = (f32x8::splat(f), f32x8::splat(numerator));
    Lanes { re: modes.re * (numerator / (others.re + f)), im: modes.im * (numerator / (others.im + f)) }
}

/// `modes * others * f`, part by part.
#[inline(always)]
fn times(modes: Lanes, others: Lanes, f: Real) -> Lanes {
    let others = others.scaled(f);
    Lanes { re: modes.re * others.re, im: modes.im * others.im }
}

/// Where each batch of columns begins and how many pairs of lines it has.
fn batches(width: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..width).step_by(2 * PAIRS).map(move |begin| (begin, (width - begin).div_ceil(2).min(PAIRS)))
}

/// The memory of a list of rows, kept between solves.
///
/// Lines along the last axis interleave in memory, so no split of the field gives each thread its own. A list of rows
/// does: it is built anew for every solve (16 bytes per row, about 1 % of the time) and ordered so that each task owns
/// a consecutive part. A list that borrows the field cannot be kept, but its memory can.
#[derive(Default)]
struct RowList(Vec<&'static mut [Real]>);

impl RowList {
    /// The empty list, for borrows of any length.
    fn lend<'a>(self) -> Vec<&'a mut [Real]> {
        self.0
    }

    /// Takes the list back without its contents. Collecting an emptied list of the same type reuses its memory.
    fn give_back(mut list: Vec<&mut [Real]>) -> Self {
        list.clear();
        RowList(list.into_iter().map(|_| <&'static mut [Real]>::default()).collect())
    }
}

/// Lists the rows so that those of one task follow each other: in 3D `y` major, in 2D batches of columns major.
fn list_rows<'a, const D: usize>(
    list: &mut Vec<&'a mut [Real]>,
    data: &'a mut [Real],
    n: [usize; D],
    stride: [usize; D],
) {
    list.resize_with(Spectral::<D>::row_count(n), Default::default);
    match D {
        1 => list.iter_mut().zip(data.chunks_mut(1)).for_each(|(entry, cell)| *entry = cell),
        2 => {
            for (y, row) in data.chunks_mut(stride[1]).take(n[1]).enumerate() {
                for (task, piece) in row[..n[0]].chunks_mut(2 * PAIRS).enumerate() {
                    list[task * n[1] + y] = piece;
                }
            }
        }
        _ => {
            for (z, plane) in data.chunks_mut(stride[2]).take(n[2]).enumerate() {
                for (y, row) in plane.chunks_mut(stride[1]).take(n[1]).enumerate() {
                    list[y * n[2] + z] = &mut row[..n[0]];
                }
            }
        }
    }
}
