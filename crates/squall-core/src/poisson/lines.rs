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

/// Columns `begin..end` into the lines of the buffer.
#[inline(always)]
pub(super) fn gather<C: Columns + ?Sized>(
    transform: &Transform,
    domain: Domain,
    columns: &mut C,
    (begin, end): (usize, usize),
    lines: &mut [Pair],
) {
    let places = transform.places(domain);
    let stride = line_stride(places.len());
    for (n, place) in places.iter().enumerate() {
        let (pairs, odd) = columns.row(n)[begin..end].as_chunks::<2>();
        let mut lines = lines[place.slot..].chunks_mut(stride);
        for ([a, b], line) in pairs.iter().zip(lines.by_ref()) {
            line[0] = Pair::new(a * place.sign, b * place.sign);
        }
        if let ([a], Some(line)) = (odd, lines.next()) {
            line[0] = Pair::new(a * place.sign, 0.0);
        }
    }
}

/// The lines of the buffer into columns `begin..end`.
#[inline(always)]
pub(super) fn scatter<C: Columns + ?Sized>(
    transform: &Transform,
    domain: Domain,
    columns: &mut C,
    (begin, end): (usize, usize),
    lines: &[Pair],
) {
    let places = transform.places(domain);
    let stride = line_stride(places.len());
    for (n, place) in places.iter().enumerate() {
        let (pairs, odd) = columns.row(n)[begin..end].as_chunks_mut::<2>();
        let mut lines = lines[place.slot..].chunks(stride);
        for ([a, b], line) in pairs.iter_mut().zip(lines.by_ref()) {
            *a = line[0].re * place.sign;
            *b = line[0].im * place.sign;
        }
        if let ([a], Some(line)) = (odd, lines.next()) {
            *a = line[0].re * place.sign;
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
