//! Between a level and the next coarser one.
//!
//! Each coarse cell covers two fine cells along each axis. A correction is brought to the finer level by multilinear
//! interpolation, `x_i += share_i sum over J of w_iJ X_J` with `w` made of 3/4 and 1/4 along each axis. Where some of the
//! coarse cells are solid or behind a wall, the others have to stand in for them: `share = 1 / sum of w over the cells
//! present`. Cells held at zero count as present. The way up is the transpose, scaled so that the coarse equation is the
//! fine one averaged: a residual in units of `h^2` grows by `(2h / h)^2`, and the weights of a cell sum up to `2^D`.

use super::number::Number;
use super::operator::{Operator, zeros};
use crate::field::{Field, OutOfMemory};
use crate::grid::At;
use crate::layout::{Layout, Row, Walk};
use crate::ops::each;
use crate::rows::{self, Span};
use crate::sample::{Isa, Kernel};

/// Fine cells handled at once.
const CHUNK: usize = 128;

/// Weights along an axis: of the coarse cell above and of the nearer one beside it; of the children and those beside them.
const DOWN: [f64; 2] = [0.75, 0.25];
const UP: [f64; 4] = [0.25, 0.75, 0.75, 0.25];

/// Rows that a row is blended from, in 3D: the square of the number of weights.
const DOWN_LINES: usize = 4;
const UP_LINES: usize = 16;

/// Where the values lie from which a row is blended.
#[derive(Clone, Copy, Debug)]
struct Lines<const N: usize> {
    /// In each of the rows the cell before the first.
    first: [u32; N],
    /// On tiles, cells before the first or behind the last may lie elsewhere.
    before: Option<[u32; N]>,
    behind: Option<[u32; N]>,
}

/// Where the children of a part of a coarse row lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Children {
    /// Coarse cells.
    pub x: u32,
    pub len: u32,
    /// Number of the fine row with the lowest children.
    pub row: u32,
    lines: Lines<UP_LINES>,
}

pub(super) struct Transfer<const D: usize, T> {
    /// What each fine row is interpolated from.
    parents: Vec<Lines<DOWN_LINES>>,
    children: Vec<Children>,
    /// Where the children of each coarse row begin in the list.
    first_child: Vec<u32>,
    /// Coarse cells that count in the interpolation: 1, others 0.
    pub present: Field<D, T>,
    isa: Isa,
}

impl<const D: usize, T: Number> Transfer<D, T> {
    /// `origin` is the place of the coarse layout's first cell in the frame in which coarse cell `I` covers the fine cells
    /// `2 I` and `2 I + 1`.
    pub fn new(fine: &Layout<D>, coarse: &Layout<D>, origin: [isize; D], isa: Isa) -> Result<Self, OutOfMemory> {
        const { assert!(D == 2 || D == 3, "two or three dimensions") };
        let parents: Vec<Parent<D>> = (0..fine.rows()).map(|r| parent(fine.row(r), coarse, origin)).collect();
        // The row with even indices is the one whose parent has it as its lowest children.
        let lowest = |r: usize| {
            let row = fine.row(r);
            (1..D).all(|a| row.index[a] % 2 == 0 && parents[r].behind[a] == 0)
        };
        let mut first_child = vec![0; coarse.rows() + 1];
        for r in (0..fine.rows()).filter(|&r| lowest(r)) {
            first_child[parents[r].row as usize + 1] += 1;
        }
        for r in 0..coarse.rows() {
            first_child[r + 1] += first_child[r];
        }
        let mut next = first_child.clone();
        let lines = Lines { first: [0; UP_LINES], before: None, behind: None };
        let mut children = vec![Children { x: 0, len: 0, row: 0, lines }; first_child[coarse.rows()] as usize];
        for r in (0..fine.rows()).filter(|&r| lowest(r)) {
            let Parent { row, x, .. } = parents[r];
            let len = fine.cells()[0].div_ceil(2).min(coarse.cells()[0] - x as usize);
            let lines = Lines::new(fine, fine.row(r), [[-1, 0, 1, 2]; D], 0, 2 * len);
            children[next[row as usize] as usize] = Children { x, len: len as u32, row: r as u32, lines };
            next[row as usize] += 1;
        }
        let len = fine.cells()[0].div_ceil(2);
        let lines = |(r, parent): (usize, &Parent<D>)| {
            let index = fine.row(r).index;
            let shifts = each(|a| {
                let near = parent.behind[a] as isize;
                [near, near + if index[a] % 2 == 0 { -1 } else { 1 }]
            });
            Lines::new(coarse, coarse.row(parent.row as usize), shifts, parent.x as usize, len)
        };
        let parents = parents.iter().enumerate().map(lines).collect();
        Ok(Transfer { parents, children, first_child, present: zeros(coarse, At::Center)?, isa })
    }

    /// The parts of a coarse row that have children.
    #[inline(always)]
    pub fn children(&self, coarse_row: usize) -> &[Children] {
        &self.children[self.first_child[coarse_row] as usize..self.first_child[coarse_row + 1] as usize]
    }

    /// Sets the shares, and the plain stretch of each row: the longest with whole shares where `uniform` is 1, too.
    pub fn set_shares(&self, fine: &mut Operator<D, T>, uniform: &Field<D, T>) {
        let Operator { share, plain, inverse, layout, ends, used, .. } = fine;
        let n = layout.cells()[0];
        let (inverse, used, [lo, hi]) = (&*inverse, &*used, ends.map(|end| end.present));
        let find = |r: usize, row: Row<'_, D>, span: &mut Span, [share]: [&mut [T]; 1]| {
            if used[r].is_empty() {
                share.fill(T::ZERO);
                *span = Span::default();
                return;
            }
            let (uniform, inverse) = (uniform.row(row), inverse.row(row));
            let (lines, coarse) = (&self.parents[r], &self.present.data[..]);
            self.isa.run(Interpolate::<D, T> { lines, coarse, out: share });
            let whole = |x: usize| {
                if x == 0 {
                    lo
                } else if x + 1 == n {
                    hi
                } else {
                    T::ONE
                }
            };
            *span = longest(n, |x| share[x] == whole(x) && uniform[x] == T::ONE);
            for x in (0..span.begin as usize).chain(span.end as usize..n) {
                let sum = share[x].to_f64();
                let used = inverse[x] > T::ZERO && sum > 0.0;
                share[x] = if used { T::of(1.0 / sum) } else { T::ZERO };
            }
        };
        rows::with_items([share], plain, find);
    }

    /// `x += share P X`. Needs the joined ghosts of `X`, those of corners, too.
    pub fn prolong(&self, coarse: &Field<D, T>, fine: &Operator<D, T>, x: &mut Field<D, T>) {
        rows::blocks([x], |rows, base, [x]| {
            let walk = Walk::new(&fine.layout, rows);
            self.isa.run(Prolong { transfer: self, fine, walk, coarse: &coarse.data, x, base });
            0.0
        });
    }

    /// `B = 2^(2 - D) P^T r` in rows that have unknowns, where `r` has its shares in it already. Needs the ghosts of `r` wrapped at twice the coarse
    /// cell count.
    pub fn restrict(&self, residual: &Field<D, T>, coarse: &Operator<D, T>, out: &mut Field<D, T>) {
        let layout = &coarse.layout;
        rows::blocks([out], |rows, base, [out]| {
            let walk = Walk::new(layout, rows);
            let (n, used) = (layout.cells()[0], &coarse.used[..]);
            self.isa.run(Restrict { transfer: self, walk, n, used, residual: &residual.data, out, base });
            0.0
        });
    }
}

/// Where the cells of a fine row lie on the coarser level.
struct Parent<const D: usize> {
    /// Number of the coarse row.
    row: u32,
    /// Coarse cell of the row's first cell, counted in the coarse row.
    x: u32,
    /// 1 where the parent is the ghost behind that row.
    behind: [i8; D],
}

/// Where the cells of a fine row lie on the coarser level.
fn parent<const D: usize>(row: Row<'_, D>, coarse: &Layout<D>, origin: [isize; D]) -> Parent<D> {
    let cells = coarse.cells().map(|n| n as isize);
    let index: [isize; D] = std::array::from_fn(|a| row.index[a].div_euclid(2) - origin[a]);
    let mut behind = [0; D];
    let mut local = index;
    let mut part = 0;
    if let Some(tiles) = coarse.as_tiles() {
        let tile = std::array::from_fn(|a| index[a].div_euclid(cells[a]) as i32);
        part = tiles.find(tile).expect("each tile has a coarser one above it");
        local = std::array::from_fn(|a| index[a].rem_euclid(cells[a]));
    } else {
        for a in 1..D {
            local[a] = index[a].min(cells[a] - 1);
            behind[a] = (index[a] - local[a]) as i8;
        }
    }
    let number = (1..D).rev().fold(part as isize, |number, a| number * cells[a] + local[a]);
    Parent { row: number as u32, x: local[0] as u32, behind }
}

impl<const N: usize> Lines<N> {
    /// The rows that many cells away along each axis but x, from cell `x` on, `len` of them.
    fn new<const D: usize, const W: usize>(
        layout: &Layout<D>,
        row: Row<'_, D>,
        shifts: [[isize; W]; D],
        x: usize,
        len: usize,
    ) -> Self {
        let n = layout.cells()[0] as isize;
        // One cell of all rows, in the tile `along` cells away along x.
        let cells = |along: isize, x: isize| {
            let mut places = [0; N];
            for (k, place) in places[..W.pow(D as u32 - 1)].iter_mut().enumerate() {
                let shift = each(|a| if a == 0 { along } else { shifts[a][k / W.pow(a as u32 - 1) % W] });
                *place = row.moved(shift).start.wrapping_add_signed(x) as u32;
            }
            places
        };
        Lines {
            first: cells(0, x as isize - 1),
            before: (row.on_tiles() && x == 0).then(|| cells(-n, n - 1)),
            behind: (row.on_tiles() && x + len == n as usize).then(|| cells(n, 0)),
        }
    }

    /// The rows with these weights, blended: `out.len()` cells, the first one being `from` cells behind the cell before the
    /// first. `last`: whether the last of them is the one behind the last.
    #[inline(always)]
    fn blend<const D: usize, const W: usize, T: Number>(
        &self,
        weights: [f64; W],
        data: &[T],
        from: usize,
        last: bool,
        out: &mut [T],
    ) {
        let len = out.len();
        // Along the second axis together: once in 2D, for every weight along the third axis in 3D.
        let groups = if D == 2 { 1 } else { W };
        for group in 0..groups {
            let across = if D == 2 { 1.0 } else { weights[group] };
            let (mut values, mut weight) = ([&data[..0]; W], [T::ZERO; W]);
            for k in 0..W {
                let start = self.first[group * W + k] as usize + from;
                values[k] = &data[start..start + len];
                weight[k] = T::of(weights[k] * across);
            }
            for i in 0..len {
                let mut sum = if group == 0 { T::ZERO } else { out[i] };
                for k in 0..W {
                    sum += weight[k] * values[k][i];
                }
                out[i] = sum;
            }
        }
        if let (Some(places), 0) = (&self.before, from) {
            out[0] = single::<D, W, N, T>(places, weights, data);
        }
        if let (Some(places), true) = (&self.behind, last) {
            out[len - 1] = single::<D, W, N, T>(places, weights, data);
        }
    }
}

/// One cell, blended.
#[inline(always)]
fn single<const D: usize, const W: usize, const N: usize, T: Number>(
    places: &[u32; N],
    weights: [f64; W],
    data: &[T],
) -> T {
    let mut sum = T::ZERO;
    for group in 0..if D == 2 { 1 } else { W } {
        let across = if D == 2 { 1.0 } else { weights[group] };
        for k in 0..W {
            sum += T::of(weights[k] * across) * data[places[group * W + k] as usize];
        }
    }
    sum
}

/// The values of a fine row, interpolated.
struct Interpolate<'a, const D: usize, T> {
    lines: &'a Lines<DOWN_LINES>,
    coarse: &'a [T],
    out: &'a mut [T],
}

impl<const D: usize, T: Number> Interpolate<'_, D, T> {
    /// The cells from `begin` on.
    #[inline(always)]
    fn chunk(&self, begin: usize, len: usize) -> [T; CHUNK] {
        let (near, far) = (T::of(DOWN[0]), T::of(DOWN[1]));
        let mut blend = [T::ZERO; CHUNK / 2 + 2];
        let count = len.div_ceil(2);
        let last = begin + len == self.out.len();
        self.lines.blend::<D, 2, T>(DOWN, self.coarse, begin / 2, last, &mut blend[..count + 2]);
        let mut values = [T::ZERO; CHUNK];
        for k in 0..count {
            values[2 * k] = near * blend[k + 1] + far * blend[k];
            values[2 * k + 1] = near * blend[k + 1] + far * blend[k + 2];
        }
        values
    }
}

impl<const D: usize, T: Number> Kernel for Interpolate<'_, D, T> {
    #[inline(always)]
    fn run(self) {
        let n = self.out.len();
        let mut begin = 0;
        while begin < n {
            let len = (n - begin).min(CHUNK);
            let values = self.chunk(begin, len);
            self.out[begin..begin + len].copy_from_slice(&values[..len]);
            begin += len;
        }
    }
}

/// A correction for a block of fine rows.
struct Prolong<'a, const D: usize, T> {
    transfer: &'a Transfer<D, T>,
    fine: &'a Operator<D, T>,
    walk: Walk<'a, D>,
    coarse: &'a [T],
    x: &'a mut [T],
    base: usize,
}

impl<const D: usize, T: Number> Kernel for Prolong<'_, D, T> {
    #[inline(always)]
    fn run(self) {
        let Prolong { transfer, fine, mut walk, coarse, x, base } = self;
        let n = fine.layout.cells()[0];
        while let Some(row) = walk.next() {
            let shares = fine.shares(row.number, row.here);
            let x = &mut x[row.here - base..row.here - base + n];
            let (mut begin, end) = fine.used[row.number].pairs();
            while begin < end {
                let len = (end - begin).min(CHUNK);
                let lines = &transfer.parents[row.number];
                let mut values = Interpolate::<D, T> { lines, coarse, out: x }.chunk(begin, len);
                shares.multiply(begin, &mut values[..len]);
                for (x, v) in x[begin..begin + len].iter_mut().zip(&values) {
                    *x += *v;
                }
                begin += len;
            }
        }
    }
}

/// The right side of a block of coarse rows.
struct Restrict<'a, const D: usize, T> {
    transfer: &'a Transfer<D, T>,
    walk: Walk<'a, D>,
    n: usize,
    used: &'a [Span],
    residual: &'a [T],
    out: &'a mut [T],
    base: usize,
}

impl<const D: usize, T: Number> Kernel for Restrict<'_, D, T> {
    #[inline(always)]
    fn run(self) {
        let Restrict { transfer, mut walk, n, used, residual, out, base } = self;
        let scale = 4.0 / (1u32 << D) as f64;
        let (near, far) = (T::of(scale * UP[1]), T::of(scale * UP[0]));
        while let Some(row) = walk.next() {
            let out = &mut out[row.here - base..row.here - base + n];
            if used[row.number].is_empty() {
                continue;
            }
            let parts = transfer.children(row.number);
            if parts.iter().map(|part| part.len as usize).sum::<usize>() < n {
                out.fill(T::ZERO);
            }
            for part in parts {
                let out = &mut out[part.x as usize..(part.x + part.len) as usize];
                let total = out.len();
                let mut begin = 0;
                while begin < total {
                    let len = (total - begin).min(CHUNK / 2);
                    let mut blend = [T::ZERO; CHUNK + 2];
                    let blend = &mut blend[..2 * len + 2];
                    part.lines.blend::<D, 4, T>(UP, residual, 2 * begin, begin + len == total, blend);
                    for (k, out) in out[begin..begin + len].iter_mut().enumerate() {
                        *out = near * (blend[2 * k + 1] + blend[2 * k + 2]) + far * (blend[2 * k] + blend[2 * k + 3]);
                    }
                    begin += len;
                }
            }
        }
    }
}

/// The longest stretch of cells for which `f` holds.
pub(super) fn longest(n: usize, f: impl Fn(usize) -> bool) -> Span {
    let mut best = Span::default();
    let mut begin = 0;
    for x in 0..=n {
        if x == n || !f(x) {
            if x - begin > (best.end - best.begin) as usize {
                best = Span { begin: begin as u32, end: x as u32 };
            }
            begin = x + 1;
        }
    }
    best
}
