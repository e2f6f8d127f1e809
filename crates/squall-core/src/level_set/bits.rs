//! Bit sets over the cells of a layout.

use crate::Real;
use crate::field::Field;
use crate::layout::{Layout, Row};
use crate::threads::prelude::*;
use wide::f32x4;

/// Rows that are handled by one task.
const BLOCK: usize = 128;

/// No row.
const NONE: u32 = u32::MAX;

/// What lies beside the rows of a layout.
#[derive(Debug, Default)]
pub(super) struct Neighbours<const D: usize> {
    /// Cells of a row.
    n: usize,
    /// Where the first cell of each row lies.
    start: Vec<u32>,
    /// The rows below and above along each axis; along x those that go on where a row ends.
    beside: Vec<[[u32; 2]; D]>,
}

impl<const D: usize> Neighbours<D> {
    pub fn new(layout: &Layout<D>, periodic: [bool; D]) -> Self {
        let cells = layout.cells();
        let beside = |r: usize| -> [[u32; 2]; D] {
            let row = layout.row(r);
            std::array::from_fn(|a| {
                [false, true].map(|up| match layout.as_tiles() {
                    Some(_) => {
                        let by = if a == 0 { cells[0] as isize } else { 1 };
                        let next: Row<'_, D> = row.shifted(a, if up { by } else { -by });
                        next.tile().map_or(NONE, |_| layout.row_number(next) as u32)
                    }
                    None if a == 0 => {
                        if periodic[0] {
                            r as u32
                        } else {
                            NONE
                        }
                    }
                    None => {
                        let stride = cells[1..a].iter().product::<usize>();
                        let (i, last) = (r / stride % cells[a], cells[a] - 1);
                        match (i == if up { last } else { 0 }, up) {
                            (false, true) => (r + stride) as u32,
                            (false, false) => (r - stride) as u32,
                            (true, _) if !periodic[a] => NONE,
                            (true, true) => (r - last * stride) as u32,
                            (true, false) => (r + last * stride) as u32,
                        }
                    }
                })
            })
        };
        let rows = layout.rows();
        Neighbours {
            n: cells[0],
            start: (0..rows).map(|r| layout.row(r).start as u32).collect(),
            beside: (0..rows).map(beside).collect(),
        }
    }

    /// Calls `f(row, x, place)` for the cells beside one that exist, along each axis that below first.
    #[inline(always)]
    pub fn for_each_beside(&self, r: usize, x: usize, mut f: impl FnMut(usize, usize, usize)) {
        let (beside, n) = (&self.beside[r], self.n);
        let mut see = |row: u32, x: usize| {
            if row != NONE {
                f(row as usize, x, self.start[row as usize] as usize + x);
            }
        };
        if x > 0 {
            see(r as u32, x - 1)
        } else {
            see(beside[0][0], n - 1)
        }
        if x + 1 < n {
            see(r as u32, x + 1)
        } else {
            see(beside[0][1], 0)
        }
        for rows in &beside[1..] {
            see(rows[0], x);
            see(rows[1], x);
        }
    }
}

/// A set of places.
#[derive(Debug, Default)]
pub(super) struct Bits {
    /// Words of each row.
    words: usize,
    bits: Vec<u64>,
}

impl Bits {
    fn reserve(&mut self, rows: usize, n: usize) {
        self.words = n.div_ceil(64);
        self.bits.resize(rows * self.words, 0);
    }

    /// Whether a place is in it.
    #[inline(always)]
    pub fn has(&self, row: usize, x: usize) -> bool {
        self.bits[row * self.words + x / 64] >> (x % 64) & 1 == 1
    }

    /// The words of a row.
    #[inline(always)]
    fn row(&self, r: usize) -> &[u64] {
        &self.bits[r * self.words..][..self.words]
    }

    /// Changes the words of all rows, in parallel.
    fn for_each_row(&mut self, f: impl Fn(usize, &mut [u64]) + Sync + Send) {
        let words = self.words;
        self.bits.par_chunks_mut(words * BLOCK).enumerate().for_each(|(block, bits)| {
            bits.chunks_exact_mut(words).enumerate().for_each(|(k, row)| f(block * BLOCK + k, row));
        });
    }

    /// Where a field is below a value.
    pub fn set_below<const D: usize>(&mut self, field: &Field<D>, value: Real) {
        self.set(field, |v| v.simd_lt(f32x4::splat(value)).to_bitmask());
    }

    /// Where a field is above a value.
    pub fn set_above<const D: usize>(&mut self, field: &Field<D>, value: Real) {
        self.set(field, |v| v.simd_gt(f32x4::splat(value)).to_bitmask());
    }

    fn set<const D: usize>(&mut self, field: &Field<D>, test: impl Fn(f32x4) -> u32 + Sync + Send + Copy) {
        let layout = field.layout();
        self.reserve(layout.rows(), layout.cells()[0]);
        self.for_each_row(|r, out| {
            for (out, values) in out.iter_mut().zip(field.row(layout.row(r)).chunks(64)) {
                *out = word(values, test);
            }
        });
    }

    /// Only where a field is above a value.
    pub fn keep_above<const D: usize>(&mut self, field: &Field<D>, value: Real) {
        let layout = field.layout();
        self.for_each_row(|r, out| {
            if out.iter().all(|bits| *bits == 0) {
                return;
            }
            for (out, values) in out.iter_mut().zip(field.row(layout.row(r)).chunks(64)) {
                *out &= word(values, |v| v.simd_gt(f32x4::splat(value)).to_bitmask());
            }
        });
    }

    /// The faces across an axis of some cells, on both sides.
    pub fn set_faces<const D: usize>(&mut self, rows: &Neighbours<D>, cells: &Bits, a: usize) {
        self.reserve(rows.start.len(), rows.n);
        self.for_each_row(|r, out| {
            let (here, below) = (cells.row(r), rows.beside[r][a][0]);
            if a == 0 {
                let mut carry = u64::from(below != NONE && cells.has(below as usize, rows.n - 1));
                for (out, bits) in out.iter_mut().zip(here) {
                    *out = bits | bits << 1 | carry;
                    carry = bits >> 63;
                }
                trim(out, rows.n);
            } else {
                out.copy_from_slice(here);
                if below != NONE {
                    out.iter_mut().zip(cells.row(below as usize)).for_each(|(out, bits)| *out |= bits);
                }
            }
        });
    }

    /// All places beside some that are not themselves among them.
    pub fn set_beside<const D: usize>(&mut self, rows: &Neighbours<D>, places: &Bits) {
        self.reserve(rows.start.len(), rows.n);
        let (n, last) = (rows.n, places.words - 1);
        self.for_each_row(|r, out| {
            let (here, beside) = (places.row(r), &rows.beside[r]);
            let goes_on = |row: u32, x: usize| u64::from(row != NONE && places.has(row as usize, x));
            let (mut carry, after) = (goes_on(beside[0][0], n - 1), goes_on(beside[0][1], 0));
            for (w, out) in out.iter_mut().enumerate() {
                let bits = here[w];
                let next = if w < last { here[w + 1] << 63 } else { after << ((n - 1) % 64) };
                *out = bits << 1 | carry | bits >> 1 | next;
                carry = bits >> 63;
            }
            for row in beside[1..].as_flattened().iter().filter(|row| **row != NONE) {
                out.iter_mut().zip(places.row(*row as usize)).for_each(|(out, bits)| *out |= bits);
            }
            out.iter_mut().zip(here).for_each(|(out, bits)| *out &= !bits);
            trim(out, n);
        });
    }

    pub fn copy(&mut self, other: &Bits) {
        self.words = other.words;
        self.bits.clone_from(&other.bits);
    }

    pub fn add(&mut self, other: &Bits) {
        self.bits.iter_mut().zip(&other.bits).for_each(|(bits, other)| *bits |= other);
    }

    pub fn remove(&mut self, other: &Bits) {
        self.bits.iter_mut().zip(&other.bits).for_each(|(bits, other)| *bits &= !other);
    }

    /// Keeps those for which `wanted` says so, asked for each in order.
    pub fn filter(&mut self, mut wanted: impl FnMut() -> bool) {
        for word in &mut self.bits {
            let mut left = *word;
            while left != 0 {
                let lowest = left & left.wrapping_neg();
                left ^= lowest;
                if !wanted() {
                    *word ^= lowest;
                }
            }
        }
    }

    /// Lists where all places lie, with a value for each: `value(row, x, place)`; by blocks of rows, in order.
    pub fn list<const D: usize>(
        &self,
        rows: &Neighbours<D>,
        out: &mut Vec<Vec<(u32, Real)>>,
        value: impl Fn(usize, usize, usize) -> Real + Sync,
    ) {
        out.resize_with(rows.start.len().div_ceil(BLOCK), Vec::new);
        let blocks = self.bits.par_chunks(self.words * BLOCK).zip(out.par_iter_mut());
        blocks.enumerate().for_each(|(block, (bits, out))| {
            out.clear();
            for (k, &word) in bits.iter().enumerate() {
                let (r, first) = (block * BLOCK + k / self.words, k % self.words * 64);
                let mut left = word;
                while left != 0 {
                    let x = first + left.trailing_zeros() as usize;
                    left &= left - 1;
                    let at = rows.start[r] + x as u32;
                    out.push((at, value(r, x, at as usize)));
                }
            }
        });
    }

    /// Makes zero what of a row is not in it.
    #[inline(always)]
    pub fn clear_others(&self, r: usize, values: &mut [Real]) {
        for (&bits, values) in self.row(r).iter().zip(values.chunks_mut(64)) {
            match bits {
                0 => values.fill(0.0),
                u64::MAX => {}
                _ => values.iter_mut().enumerate().for_each(|(x, v)| *v = if bits >> x & 1 == 1 { *v } else { 0.0 }),
            }
        }
    }
}

/// The bits of at most 64 values.
#[inline(always)]
fn word(values: &[Real], test: impl Fn(f32x4) -> u32) -> u64 {
    let mut bits = 0;
    let (fours, rest) = values.as_chunks::<4>();
    for (k, four) in fours.iter().enumerate() {
        bits |= u64::from(test(f32x4::new(*four))) << (4 * k);
    }
    if !rest.is_empty() {
        let mut four = [0.0; 4];
        four[..rest.len()].copy_from_slice(rest);
        bits |= u64::from(test(f32x4::new(four)) & ((1 << rest.len()) - 1)) << (4 * fours.len());
    }
    bits
}

/// Takes away what lies behind the end of a row.
#[inline(always)]
fn trim(row: &mut [u64], n: usize) {
    if let (Some(last), 1..) = (row.last_mut(), n % 64) {
        *last &= (1 << (n % 64)) - 1;
    }
}
