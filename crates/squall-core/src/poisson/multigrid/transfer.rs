//! Between a level and the next coarser one.
//!
//! Each coarse cell covers two fine cells along each axis. A correction is brought to the finer level by multilinear
//! interpolation, `x_i += share_i sum over J of w_iJ X_J` with `w` made of 3/4 and 1/4 along each axis. Where some of the
//! coarse cells are solid or behind a wall, the others have to stand in for them: `share = 1 / sum of w over the cells
//! present`. Cells held at zero count as present. The way up is the transpose, scaled so that the coarse equation is the
//! fine one averaged: a residual in units of `h^2` grows by `(2h / h)^2`, and the weights of a cell sum up to `2^D`.

use super::number::Number;
use super::operator::{Operator, Span, zeros};
use crate::field::{Field, OutOfMemory};
use crate::grid::At;
use crate::layout::{Layout, Row};
use crate::ops::each;
use crate::rows;
use crate::sample::{Isa, Kernel};

/// Fine cells handled at once.
const CHUNK: usize = 128;

/// Where the cells of a fine row lie on the coarser level.
#[derive(Clone, Copy, Debug)]
struct Parent<const D: usize> {
    /// Number of the coarse row.
    row: u32,
    /// Coarse cell of the row's first cell, counted in the coarse row.
    x: u32,
    /// 1 where the parent is the ghost behind that row.
    behind: [i8; D],
}

/// Where the cells of a part of a coarse row lie on the finer level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Children {
    /// Coarse cells.
    pub x: u32,
    pub len: u32,
    /// Number of the fine row with the lowest children.
    pub row: u32,
}

pub(super) struct Transfer<const D: usize, T> {
    parents: Vec<Parent<D>>,
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
    pub fn new(fine: &Layout<D>, coarse: &Layout<D>, origin: [isize; D]) -> Result<Self, OutOfMemory> {
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
        let mut children = vec![Children { x: 0, len: 0, row: 0 }; first_child[coarse.rows()] as usize];
        for r in (0..fine.rows()).filter(|&r| lowest(r)) {
            let Parent { row, x, .. } = parents[r];
            let len = fine.cells()[0].div_ceil(2).min(coarse.cells()[0] - x as usize) as u32;
            children[next[row as usize] as usize] = Children { x, len, row: r as u32 };
            next[row as usize] += 1;
        }
        Ok(Transfer { parents, children, first_child, present: zeros(coarse, At::Center)?, isa: Isa::best() })
    }

    /// The parts of a coarse row that have children.
    #[inline]
    pub fn children(&self, coarse_row: usize) -> &[Children] {
        &self.children[self.first_child[coarse_row] as usize..self.first_child[coarse_row + 1] as usize]
    }

    /// Sets the shares, and the plain stretch of each row: the longest with whole shares where `uniform` is 1, too.
    pub fn set_shares(&self, fine: &mut Operator<D, T>, uniform: &Field<D, T>) {
        let Operator { share, plain, inverse, layout, ends, .. } = fine;
        let n = layout.cells()[0];
        let (inverse, [lo, hi]) = (&*inverse, ends.map(|end| end.present));
        let find = |r: usize, row: Row<'_, D>, span: &mut Span, [share]: [&mut [T]; 1]| {
            let (uniform, inverse) = (uniform.row(row), inverse.row(row));
            self.interpolate(r, row, n, &self.present, |x, sums| share[x..x + sums.len()].copy_from_slice(sums));
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
            for x in (0..span.begin as usize).chain(span.end as usize..share.len()) {
                let sum = share[x].to_f64();
                let used = inverse[x] > T::ZERO && sum > 0.0;
                share[x] = if used { T::of(1.0 / sum) } else { T::ZERO };
            }
        };
        rows::with_items([share], plain, find, |(), ()| ());
    }

    /// `x += share P X`. Needs the joined ghosts of `X`, those of corners, too.
    pub fn prolong(&self, coarse: &Field<D, T>, fine: &Operator<D, T>, x: &mut Field<D, T>) {
        rows::numbered([x], |r, row, [x]| {
            let shares = fine.shares(r, row);
            self.interpolate(r, row, x.len(), coarse, |begin, values| {
                shares.multiply(begin, values);
                x[begin..].iter_mut().zip(values).for_each(|(x, v)| *x += *v);
            });
        });
    }

    /// Calls `f(first cell, values)` with the interpolated values of one fine row of `n` cells, chunk by chunk.
    #[inline(always)]
    fn interpolate(
        &self,
        r: usize,
        row: Row<'_, D>,
        n: usize,
        coarse: &Field<D, T>,
        mut f: impl FnMut(usize, &mut [T]),
    ) {
        let parent = self.parents[r];
        let coarse_row = coarse.layout().row(parent.row as usize);
        // Along each axis the parent and the coarse cell on the nearer side of it.
        let taps = each(|a| {
            let near = parent.behind[a] as isize;
            let side = if row.index[a] % 2 == 0 { -1 } else { 1 };
            [(near, 0.75), (near + side, 0.25)]
        });
        for begin in (0..n).step_by(CHUNK) {
            let len = (n - begin).min(CHUNK);
            let mut values = [T::ZERO; CHUNK];
            let first = parent.x as isize + (begin / 2) as isize - 1;
            let window = Window { field: coarse, row: coarse_row, taps, first, len: len.div_ceil(2) + 2 };
            self.isa.run(Interpolate { window, values: &mut values });
            f(begin, &mut values[..len]);
        }
    }

    /// `B = 2^(2 - D) P^T r`, where `r` has its shares in it already. Needs the ghosts of `r` wrapped at twice the coarse
    /// cell count.
    pub fn restrict(&self, residual: &Field<D, T>, coarse: &mut Field<D, T>) {
        let fine = residual.layout();
        let scale = 4.0 / (1u32 << D) as f64;
        let scale = T::of(scale);
        let taps = [[(-1, 0.25), (0, 0.75), (1, 0.75), (2, 0.25)]; D];
        rows::numbered([coarse], |r, _, [out]| {
            out.fill(T::ZERO);
            for part in self.children(r) {
                let row = fine.row(part.row as usize);
                let out = &mut out[part.x as usize..][..part.len as usize];
                for (chunk, out) in out.chunks_mut(CHUNK / 2).enumerate() {
                    let first = (chunk * CHUNK) as isize - 1;
                    let window = Window { field: residual, row, taps, first, len: 2 * out.len() + 2 };
                    self.isa.run(Collect { window, scale, out });
                }
            }
        });
    }
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

/// Cells along x, blended over rows beside each other.
struct Window<'a, const D: usize, const W: usize, T> {
    field: &'a Field<D, T>,
    row: Row<'a, D>,
    /// For every axis but x: which rows, and with what weight.
    taps: [[(isize, f64); W]; D],
    /// The first cell, and how many: up to one cell beyond the row on tiles, the ghosts on a box.
    first: isize,
    len: usize,
}

impl<const D: usize, const W: usize, T: Number> Window<'_, D, W, T> {
    /// The rows that are blended: where the cell `x` of each lies, and its weight; those along the second axis together.
    /// The rows are taken from the tiles `along` cells away along x.
    #[inline(always)]
    fn lines(&self, along: isize, x: isize) -> [[(usize, T); W]; W] {
        let mut lines = [[(0, T::ZERO); W]; W];
        for group in 0..Self::GROUPS {
            let mut shift = [0; D];
            shift[0] = along;
            let mut weight = 1.0;
            for a in 2..D {
                let (by, w) = self.taps[a][group];
                shift[a] = by;
                weight *= w;
            }
            for k in 0..W {
                let (by, w) = self.taps[1][k];
                shift[1] = by;
                lines[group][k] = (self.row.moved(shift).start.wrapping_add_signed(x), T::of(weight * w));
            }
        }
        lines
    }

    /// How many times rows along the second axis are blended: once in 2D, for every tap along the third axis in 3D.
    const GROUPS: usize = if D == 2 { 1 } else { W };

    #[inline(always)]
    fn blend(&self, out: &mut [T; CHUNK + 2]) {
        const { assert!(D == 2 || D == 3, "two or three dimensions") };
        let data = &self.field.data;
        let len = self.len;
        let out = &mut out[..len];
        let lines = self.lines(0, self.first);
        for group in 0..Self::GROUPS {
            let mut values = [&data[..0]; W];
            for k in 0..W {
                values[k] = &data[lines[group][k].0..lines[group][k].0 + len];
            }
            for i in 0..len {
                let mut sum = if group == 0 { T::ZERO } else { out[i] };
                for k in 0..W {
                    sum += lines[group][k].1 * values[k][i];
                }
                out[i] = sum;
            }
        }
        // In a tile, what lies before the first and behind the last cell in memory is not what is beside them.
        if self.row.on_tiles() {
            let n = self.field.layout().cells()[0] as isize;
            if self.first < 0 {
                out[0] = self.single(-n, n - 1);
            }
            if self.first + len as isize > n {
                out[len - 1] = self.single(n, 0);
            }
        }
    }

    /// The blend of one cell of the tiles `along` cells away along x.
    #[inline(always)]
    fn single(&self, along: isize, x: isize) -> T {
        let lines = self.lines(along, x);
        let mut sum = T::ZERO;
        for group in 0..Self::GROUPS {
            for k in 0..W {
                sum += lines[group][k].1 * self.field.data[lines[group][k].0];
            }
        }
        sum
    }
}

/// Two fine values from each coarse one and those beside it.
struct Interpolate<'a, const D: usize, T> {
    window: Window<'a, D, 2, T>,
    values: &'a mut [T; CHUNK],
}

impl<const D: usize, T: Number> Kernel for Interpolate<'_, D, T> {
    #[inline(always)]
    fn run(self) {
        let mut blend = [T::ZERO; CHUNK + 2];
        self.window.blend(&mut blend);
        let (near, far) = (T::of(0.75), T::of(0.25));
        for (k, pair) in self.values.chunks_exact_mut(2).enumerate().take(self.window.len - 2) {
            pair[0] = near * blend[k + 1] + far * blend[k];
            pair[1] = near * blend[k + 1] + far * blend[k + 2];
        }
    }
}

/// One coarse value from its two fine ones and those beside them.
struct Collect<'a, const D: usize, T> {
    window: Window<'a, D, 4, T>,
    scale: T,
    out: &'a mut [T],
}

impl<const D: usize, T: Number> Kernel for Collect<'_, D, T> {
    #[inline(always)]
    fn run(self) {
        let mut blend = [T::ZERO; CHUNK + 2];
        self.window.blend(&mut blend);
        let (near, far) = (self.scale * T::of(0.75), self.scale * T::of(0.25));
        for (k, out) in self.out.iter_mut().enumerate() {
            *out = near * (blend[2 * k + 1] + blend[2 * k + 2]) + far * (blend[2 * k] + blend[2 * k + 3]);
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
