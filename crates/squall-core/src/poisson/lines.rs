//! Moving lines of a field into the buffer where they are transformed, and back.
//!
//! Lines are always paired in the same way: columns `2 l` and `2 l + 1`, rows `2 l` and `2 l + 1`. A line without a
//! partner travels with zeros. So a line is computed from the same bits however the work is split.

use wide::f32x8;

use super::transform::{Domain, Order, Pair, Transform};
use crate::Real;

/// Pairs of columns that are gathered together: one or two cache lines of each row, and a buffer that stays in the
/// first-level cache (8 kB for lines of 128). Also the width of [`Lanes`].
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
fn line_stride(len: usize) -> usize {
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

/// Values of [`PAIRS`] pairs: those of the first lines and those of the second lines, as vectors.
///
/// Vectors by type, because the compiler does not find them by itself between loads and stores that are far apart
/// (128^3, all flat, one thread: 18.3 ms with arrays, 16.6 ms with vectors).
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    pub re: f32x8,
    pub im: f32x8,
}

impl Lanes {
    /// The same pair everywhere.
    #[inline(always)]
    pub fn all(z: Pair) -> Self {
        Lanes { re: f32x8::splat(z.re), im: f32x8::splat(z.im) }
    }

    /// The pairs `f(0)`, `f(1)` and so on.
    #[inline(always)]
    pub fn from_fn(f: impl Fn(usize) -> Pair) -> Self {
        let (mut re, mut im) = ([0.0; PAIRS], [0.0; PAIRS]);
        for l in 0..PAIRS {
            let z = f(l);
            re[l] = z.re;
            im[l] = z.im;
        }
        Lanes { re: f32x8::new(re), im: f32x8::new(im) }
    }

    /// The pairs one by one.
    #[inline(always)]
    pub fn pairs(self) -> [Pair; PAIRS] {
        let (re, im) = (self.re.to_array(), self.im.to_array());
        let mut pairs = [Pair::new(0.0, 0.0); PAIRS];
        for l in 0..PAIRS {
            pairs[l] = Pair::new(re[l], im[l]);
        }
        pairs
    }

    /// `factor` times everything.
    #[inline(always)]
    pub fn scaled(self, factor: Real) -> Self {
        let factor = f32x8::splat(factor);
        Lanes { re: self.re * factor, im: self.im * factor }
    }
}

/// The values of a row from column `begin` on; beyond its end there are zeros.
#[inline(always)]
pub(super) fn read(row: &[Real], begin: usize) -> Lanes {
    let row = &row[begin..];
    let lanes = |v: &[Real; 2 * PAIRS]| Lanes::from_fn(|l| Pair::new(v[2 * l], v[2 * l + 1]));
    if let Some(whole) = row.first_chunk() {
        return lanes(whole);
    }
    let mut part = [0.0; 2 * PAIRS];
    part[..row.len()].copy_from_slice(row);
    lanes(&part)
}

/// Writes values into a row from column `begin` on; those beyond its end are dropped.
#[inline(always)]
pub(super) fn write(row: &mut [Real], begin: usize, lanes: Lanes) {
    let row = &mut row[begin..];
    let pairs = lanes.pairs();
    if let Some(whole) = row.first_chunk_mut::<{ 2 * PAIRS }>() {
        for l in 0..PAIRS {
            whole[2 * l] = pairs[l].re;
            whole[2 * l + 1] = pairs[l].im;
        }
        return;
    }
    for (i, v) in row.iter_mut().enumerate() {
        *v = if i % 2 == 0 { pairs[i / 2].re } else { pairs[i / 2].im };
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
        Lanes::from_fn(|l| self.lines[l][slot])
    }

    #[inline(always)]
    pub fn set(&mut self, slot: usize, lanes: Lanes) {
        let pairs = lanes.pairs();
        for l in 0..PAIRS {
            self.lines[l][slot] = pairs[l];
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
