//! Between a level and the next coarser one.
//!
//! Coarse face `I` of a component lies on fine face `2 I` along its own axis, and between `2 I` and `2 I + 1` across it. Corrections
//! are interpolated linearly, so that rigid motions stay rigid; residuals go the other way with the same weights. So do masses and
//! coefficients: every stress of an interpolated motion is a mean of coarse stresses, with weights that sum up to one, and when the
//! coefficients are shared out by them, the coarse operator never has less energy than the fine one has for what is interpolated
//! (Jensen's inequality), and as much for what is smooth. A correction is never too long because of that.

use crate::field::Field;
use crate::layout::Layout;
use crate::poisson::multigrid::Number;
use crate::rows::{self, Span};
use crate::sample::{Isa, Kernel};
use std::ops::Range;

/// Coarse cells handled at once.
const CHUNK: usize = 64;

/// How coarse values lie among the fine ones along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// On the lower side of cells.
    Node,
    /// In the middle of cells.
    Cell,
    /// Both fine cells, and no others.
    Both,
    /// The fine value in the same place, and no others.
    Same,
}

impl Kind {
    /// Weights of the fine values `2 I - 1` to `2 I + 2`.
    fn up(self) -> [f64; 4] {
        match self {
            Kind::Node => [0.5, 1.0, 0.5, 0.0],
            Kind::Cell => [0.25, 0.75, 0.75, 0.25],
            Kind::Both => [0.0, 1.0, 1.0, 0.0],
            Kind::Same => [0.0, 1.0, 0.0, 0.0],
        }
    }

    /// Weights of the coarse values `i / 2` and the one beside it, down of even fine ones and up of odd ones.
    fn down(self, odd: bool) -> [f64; 2] {
        match (self, odd) {
            (Kind::Node, true) => [0.5, 0.5],
            (Kind::Cell, _) => [0.75, 0.25],
            _ => [1.0, 0.0],
        }
    }
}

/// Where values lie that a row is blended from: the first cells of rows, the cells before them, and those behind the last.
#[derive(Clone, Copy, Debug)]
struct Lines<const N: usize> {
    first: [u32; N],
    before: [u32; N],
    behind: [u32; N],
}

/// The children of a part of a coarse row.
#[derive(Clone, Copy, Debug)]
struct Part {
    x: u32,
    len: u32,
    lines: Lines<16>,
}

/// Where values of one level lie on the other.
pub(super) struct Transfer<const D: usize> {
    parts: Vec<Part>,
    /// Where those of each coarse row begin.
    first_part: Vec<u32>,
    parents: Vec<Lines<4>>,
    isa: Isa,
}

/// The place of a cell, or of some zero further away than ghosts are.
fn place<const D: usize>(layout: &Layout<D>, mut index: [isize; D]) -> u32 {
    if layout.as_tiles().is_none() {
        for a in 1..D {
            index[a] = index[a].clamp(-2, layout.cells()[a] as isize + 1);
        }
    }
    layout.offset(index) as u32
}

impl<const D: usize> Transfer<D> {
    /// `origin` is the place of the coarse layout's first cell in the frame in which coarse cell `I` covers the fine cells `2 I`
    /// and `2 I + 1`.
    pub fn new(fine: &Layout<D>, coarse: &Layout<D>, origin: [isize; D], isa: Isa) -> Self {
        // As many coarse cells as have children that lie together.
        let piece = if fine.as_tiles().is_some() { fine.cells()[0] / 2 } else { coarse.cells()[0] };
        let mut parts = Vec::new();
        let mut first_part = vec![0];
        for r in 0..coarse.rows() {
            let row = coarse.row(r);
            for x in (0..coarse.cells()[0]).step_by(piece) {
                let lowest: [isize; D] =
                    std::array::from_fn(|a| 2 * (row.index[a] + origin[a] + if a == 0 { x as isize } else { 0 }));
                let at = |along: isize| {
                    let mut places = [0; 16];
                    for (k, p) in places[..4usize.pow(D as u32 - 1)].iter_mut().enumerate() {
                        let shift =
                            |a: usize| if a == 0 { along } else { (k / 4usize.pow(a as u32 - 1) % 4) as isize - 1 };
                        *p = place(fine, std::array::from_fn(|a| lowest[a] + shift(a)));
                    }
                    places
                };
                let lines = if fine.as_tiles().is_some() {
                    Lines { first: at(0), before: at(-1), behind: at(2 * piece as isize) }
                } else {
                    let first = at(0);
                    Lines {
                        first,
                        before: first.map(|p| p.wrapping_sub(1)),
                        behind: first.map(|p| p + 2 * piece as u32),
                    }
                };
                parts.push(Part { x: x as u32, len: piece as u32, lines });
            }
            first_part.push(parts.len() as u32);
        }
        let len = fine.cells()[0].div_ceil(2) as isize;
        let parents = (0..fine.rows()).map(|r| {
            let index = fine.row(r).index;
            let at = |along: isize| {
                let mut places = [0; 4];
                for (k, p) in places[..2usize.pow(D as u32 - 1)].iter_mut().enumerate() {
                    let shift = |a: usize| {
                        let beside = a > 0 && k >> (a - 1) & 1 == 1;
                        match (a, beside) {
                            (0, _) => along,
                            (_, false) => 0,
                            _ if index[a].rem_euclid(2) == 1 => 1,
                            _ => -1,
                        }
                    };
                    *p = place(coarse, std::array::from_fn(|a| index[a].div_euclid(2) - origin[a] + shift(a)));
                }
                places
            };
            if coarse.as_tiles().is_some() {
                Lines { first: at(0), before: at(-1), behind: at(len) }
            } else {
                let first = at(0);
                Lines { first, before: first.map(|p| p.wrapping_sub(1)), behind: first.map(|p| p + len as u32) }
            }
        });
        Transfer { parents: parents.collect(), parts, first_part, isa }
    }

    /// `out = scale P^T fine` in rows that are used. Needs the ghosts of `fine`, wrapped at twice the coarse cell count.
    pub fn restrict<T: Number>(
        &self,
        fine: &Field<D, T>,
        kinds: [Kind; D],
        scale: f64,
        used: Option<&[Span]>,
        out: &mut Field<D, T>,
    ) {
        let weights = kinds.map(Kind::up);
        let along = weights[0].map(|w| T::of(w * scale));
        let data = &fine.data[..];
        rows::numbered([out], |r, _, [out]| {
            if used.is_some_and(|used| used[r].is_empty()) {
                return out.fill(T::ZERO);
            }
            let parts = &self.parts[self.first_part[r] as usize..self.first_part[r + 1] as usize];
            self.isa.run(Restrict { parts, weights: &weights, along, data, out });
        });
    }

    /// `x += P X` in the unknowns of the used part of each row: where `inverse` is more than zero. Needs the joined ghosts of `X`.
    pub fn prolong<T: Number>(
        &self,
        coarse: &Field<D, T>,
        kinds: [Kind; D],
        (used, inverse): (&[Span], &Field<D, T>),
        x: &mut Field<D, T>,
    ) {
        let data = &coarse.data[..];
        let [even, odd] = [false, true].map(|odd| kinds[0].down(odd).map(T::of));
        rows::numbered([x], |r, row, [x]| {
            let (begin, end) = used[r].pairs();
            if begin >= end {
                return;
            }
            let mut weights = [[0.0; 2]; D];
            for a in 1..D {
                weights[a] = kinds[a].down(row.index[a].rem_euclid(2) == 1);
            }
            let lines = &self.parents[r];
            self.isa.run(Prolong {
                lines,
                weights,
                along: [even, odd],
                data,
                inverse: inverse.row(row),
                span: begin..end,
                x,
            });
        });
    }
}

/// Coarse values of a row.
struct Restrict<'a, const D: usize, T> {
    parts: &'a [Part],
    weights: &'a [[f64; 4]; D],
    along: [T; 4],
    data: &'a [T],
    out: &'a mut [T],
}

impl<const D: usize, T: Number> Kernel for Restrict<'_, D, T> {
    #[inline(always)]
    fn run(self) {
        let Restrict { parts, weights, along, data, out } = self;
        for part in parts {
            let out = &mut out[part.x as usize..(part.x + part.len) as usize];
            let total = out.len();
            for begin in (0..total).step_by(CHUNK) {
                let len = (total - begin).min(CHUNK);
                let mut blend = [T::ZERO; 2 * CHUNK + 2];
                let blend = &mut blend[..2 * len + 2];
                let ends = [begin == 0, begin + len == total];
                part.lines.blend::<D, 4, T>(weights, data, 2 * begin, ends, blend);
                for (k, out) in out[begin..begin + len].iter_mut().enumerate() {
                    *out = along[0] * blend[2 * k]
                        + along[1] * blend[2 * k + 1]
                        + along[2] * blend[2 * k + 2]
                        + along[3] * blend[2 * k + 3];
                }
            }
        }
    }
}

/// What is added to a fine row.
struct Prolong<'a, const D: usize, T> {
    lines: &'a Lines<4>,
    weights: [[f64; 2]; D],
    /// Of even and of odd cells.
    along: [[T; 2]; 2],
    data: &'a [T],
    inverse: &'a [T],
    span: Range<usize>,
    x: &'a mut [T],
}

impl<const D: usize, T: Number> Kernel for Prolong<'_, D, T> {
    #[inline(always)]
    fn run(self) {
        let Prolong { lines, weights, along: [even, odd], data, inverse, span, x } = self;
        let total = x.len().div_ceil(2);
        let mut begin = span.start;
        while begin < span.end {
            let len = (span.end - begin).min(2 * CHUNK);
            let count = len.div_ceil(2);
            let mut blend = [T::ZERO; CHUNK + 2];
            let blend = &mut blend[..count + 2];
            let ends = [begin == 0, begin / 2 + count == total];
            lines.blend::<D, 2, T>(&weights, data, begin / 2, ends, blend);
            let mut values = [T::ZERO; 2 * CHUNK];
            for k in 0..count {
                values[2 * k] = even[0] * blend[k + 1] + even[1] * blend[k];
                values[2 * k + 1] = odd[0] * blend[k + 1] + odd[1] * blend[k + 2];
            }
            let (x, inverse) = (&mut x[begin..begin + len], &inverse[begin..begin + len]);
            for i in 0..len {
                x[i] += if inverse[i] > T::ZERO { values[i] } else { T::ZERO };
            }
            begin += len;
        }
    }
}

impl<const N: usize> Lines<N> {
    /// The rows with these weights, blended: `out.len() - 2` cells from the cell `from` on, and one on either side. `ends`: whether
    /// those on the sides are the one before the first and the one behind the last.
    #[inline(always)]
    fn blend<const D: usize, const W: usize, T: Number>(
        &self,
        weights: &[[f64; W]; D],
        data: &[T],
        from: usize,
        ends: [bool; 2],
        out: &mut [T],
    ) {
        let len = out.len() - 2;
        for k in 0..W.pow(D as u32 - 1) {
            let weight: f64 = (1..D).map(|a| weights[a][k / W.pow(a as u32 - 1) % W]).product();
            if weight == 0.0 {
                continue;
            }
            let weight = T::of(weight);
            let first = self.first[k] as usize + from;
            let values = &data[first..first + len];
            for (out, value) in out[1..len + 1].iter_mut().zip(values) {
                *out += weight * *value;
            }
            let before = if ends[0] { self.before[k] as usize } else { first - 1 };
            let behind = if ends[1] { self.behind[k] as usize } else { first + len };
            out[0] += weight * data[before];
            out[len + 1] += weight * data[behind];
        }
    }
}
