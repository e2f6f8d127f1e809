//! Moving lines of a field into the buffer where they are transformed, and back.
//!
//! Lines are always paired in the same way: columns `2 l` and `2 l + 1`, rows `2 l` and `2 l + 1`. A line without a
//! partner travels with zeros. So a line is computed from the same bits however the work is split.

use super::transform::{Domain, Order, Pair, Transform};
use crate::Real;

/// Pairs of columns that are gathered together. 16 values are a cache line; two cache lines per visit of a row keep
/// the buffer (8 kB for 64 cells) in the first-level cache.
pub(super) const PAIRS: usize = 8;

/// Unused values behind each line of the buffer, so that the columns of a power of two do not share cache sets.
const PAD: usize = 8;

/// What one worker needs to transform [`PAIRS`] pairs of lines.
pub(super) struct Buffers {
    pub lines: Vec<Pair>,
    pub scratch: Vec<Pair>,
}

impl Buffers {
    pub fn new(longest: usize, scratch: usize) -> Self {
        Buffers { lines: vec![Pair::default(); PAIRS * line_stride(longest)], scratch: vec![Pair::default(); scratch] }
    }

    pub fn bytes(&self) -> usize {
        (self.lines.len() + self.scratch.len()) * size_of::<Pair>()
    }
}

/// Distance between the lines of a buffer.
pub(super) fn line_stride(len: usize) -> usize {
    len + PAD
}

/// A bundle of neighbouring lines: `row(n)` is sample `n` of each of them.
pub(super) trait Columns {
    fn row(&mut self, n: usize) -> &mut [Real];
}

/// Lines across the rows of one plane.
pub(super) struct PlaneColumns<'a> {
    pub plane: &'a mut [Real],
    pub stride: usize,
    pub width: usize,
}

impl Columns for PlaneColumns<'_> {
    #[inline(always)]
    fn row(&mut self, n: usize) -> &mut [Real] {
        &mut self.plane[n * self.stride..][..self.width]
    }
}

/// Lines across a list of rows.
impl Columns for [&mut [Real]] {
    #[inline(always)]
    fn row(&mut self, n: usize) -> &mut [Real] {
        self[n]
    }
}

/// `W` pairs of values, first all of the first lines, then all of the second ones: so that arithmetic is vector
/// arithmetic. Loops over `W` everywhere, because `map` and `from_fn` on arrays are not always inlined.
#[derive(Clone, Copy)]
pub(super) struct Wide<const W: usize> {
    pub re: [Real; W],
    pub im: [Real; W],
}

/// Values of [`PAIRS`] pairs of neighbouring lines at one place.
pub(super) type Lanes = Wide<PAIRS>;

impl<const W: usize> Wide<W> {
    /// The same pair everywhere.
    #[inline(always)]
    pub fn all(z: Pair) -> Self {
        Wide { re: [z.re; W], im: [z.im; W] }
    }

    /// Consecutive pairs.
    #[inline(always)]
    pub fn new(pairs: &[Pair; W]) -> Self {
        let mut wide = Wide::all(Pair::new(0.0, 0.0));
        for l in 0..W {
            wide.re[l] = pairs[l].re;
            wide.im[l] = pairs[l].im;
        }
        wide
    }

    /// Consecutive pairs, the last one first.
    #[inline(always)]
    pub fn reversed(pairs: &[Pair; W]) -> Self {
        let mut wide = Wide::all(Pair::new(0.0, 0.0));
        for l in 0..W {
            wide.re[l] = pairs[W - 1 - l].re;
            wide.im[l] = pairs[W - 1 - l].im;
        }
        wide
    }

    /// The pair in lane `l`.
    #[inline(always)]
    pub fn pair(&self, l: usize) -> Pair {
        Pair::new(self.re[l], self.im[l])
    }

    /// `factor` times everything.
    #[inline(always)]
    pub fn scaled(mut self, factor: Real) -> Self {
        for l in 0..W {
            self.re[l] *= factor;
            self.im[l] *= factor;
        }
        self
    }
}

/// The values of a row from column `begin` on; beyond its end there are zeros.
#[inline(always)]
pub(super) fn read(row: &[Real], begin: usize) -> Lanes {
    let row = &row[begin..];
    if let Some(whole) = row.first_chunk() {
        return unzip(whole);
    }
    let mut part = [0.0; 2 * PAIRS];
    part[..row.len()].copy_from_slice(row);
    unzip(&part)
}

#[inline(always)]
fn unzip(values: &[Real; 2 * PAIRS]) -> Lanes {
    let mut lanes = Lanes::all(Pair::new(0.0, 0.0));
    for l in 0..PAIRS {
        lanes.re[l] = values[2 * l];
        lanes.im[l] = values[2 * l + 1];
    }
    lanes
}

/// Writes values into a row from column `begin` on; those beyond its end are dropped.
#[inline(always)]
pub(super) fn write(row: &mut [Real], begin: usize, lanes: Lanes) {
    let row = &mut row[begin..];
    if let Some(whole) = row.first_chunk_mut::<{ 2 * PAIRS }>() {
        for l in 0..PAIRS {
            whole[2 * l] = lanes.re[l];
            whole[2 * l + 1] = lanes.im[l];
        }
        return;
    }
    for (i, v) in row.iter_mut().enumerate() {
        *v = if i % 2 == 0 { lanes.re[i / 2] } else { lanes.im[i / 2] };
    }
}

/// The lines of a buffer, one beside the other. Slices of one length, so that one bounds check serves all.
pub(super) struct Batch<'a> {
    pub lines: [&'a mut [Pair]; PAIRS],
}

impl<'a> Batch<'a> {
    pub fn new(buffer: &'a mut [Pair], len: usize) -> Self {
        let mut rest = buffer;
        let lines = std::array::from_fn(|_| {
            let (line, behind) = std::mem::take(&mut rest).split_at_mut(line_stride(len));
            rest = behind;
            &mut line[..len]
        });
        Batch { lines }
    }

    #[inline(always)]
    pub fn get(&self, slot: usize) -> Lanes {
        let mut lanes = Lanes::all(Pair::new(0.0, 0.0));
        for l in 0..PAIRS {
            let z = self.lines[l][slot];
            lanes.re[l] = z.re;
            lanes.im[l] = z.im;
        }
        lanes
    }

    #[inline(always)]
    pub fn set(&mut self, slot: usize, lanes: Lanes) {
        for l in 0..PAIRS {
            self.lines[l][slot] = lanes.pair(l);
        }
    }
}

/// Two rows into one line; the second may be missing.
#[inline(always)]
pub(super) fn load(transform: &Transform, domain: Domain, a: &[Real], b: Option<&[Real]>, line: &mut [Pair]) {
    let Some(b) = b else {
        for (a, place) in a.iter().zip(transform.places(domain)) {
            line[place.slot] = Pair::new(a * place.sign, 0.0);
        }
        return;
    };
    match transform.order(domain) {
        Order::Natural => {
            for ((z, &a), &b) in line.iter_mut().zip(a).zip(b) {
                *z = Pair::new(a, b);
            }
        }
        Order::EvenOdd { odd_sign } => {
            let (low, high) = line.split_at_mut(a.len().div_ceil(2));
            let ((a, last_a), (b, last_b)) = (a.as_chunks::<2>(), b.as_chunks::<2>());
            for (((lo, hi), a), b) in low.iter_mut().zip(high.iter_mut().rev()).zip(a).zip(b) {
                *lo = Pair::new(a[0], b[0]);
                *hi = Pair::new(a[1] * odd_sign, b[1] * odd_sign);
            }
            if let (Some(z), [a], [b]) = (low.last_mut(), last_a, last_b) {
                *z = Pair::new(*a, *b);
            }
        }
        Order::Listed => {
            for ((a, b), place) in a.iter().zip(b).zip(transform.places(domain)) {
                line[place.slot] = Pair::new(a * place.sign, b * place.sign);
            }
        }
    }
}

/// One line into two rows; the second may be missing.
#[inline(always)]
pub(super) fn store(transform: &Transform, domain: Domain, line: &[Pair], a: &mut [Real], b: Option<&mut [Real]>) {
    let Some(b) = b else {
        for (a, place) in a.iter_mut().zip(transform.places(domain)) {
            *a = line[place.slot].re * place.sign;
        }
        return;
    };
    match transform.order(domain) {
        Order::Natural => {
            for ((z, a), b) in line.iter().zip(a).zip(b) {
                (*a, *b) = (z.re, z.im);
            }
        }
        Order::EvenOdd { odd_sign } => {
            let (low, high) = line.split_at(a.len().div_ceil(2));
            let ((a, last_a), (b, last_b)) = (a.as_chunks_mut::<2>(), b.as_chunks_mut::<2>());
            for (((lo, hi), a), b) in low.iter().zip(high.iter().rev()).zip(a).zip(b) {
                *a = [lo.re, hi.re * odd_sign];
                *b = [lo.im, hi.im * odd_sign];
            }
            if let (Some(z), [a], [b]) = (low.last(), last_a, last_b) {
                (*a, *b) = (z.re, z.im);
            }
        }
        Order::Listed => {
            for ((a, b), place) in a.iter_mut().zip(b).zip(transform.places(domain)) {
                let z = line[place.slot] * place.sign;
                (*a, *b) = (z.re, z.im);
            }
        }
    }
}
