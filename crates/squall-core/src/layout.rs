//! Which cells exist and where their values lie in memory.
//!
//! Kernels work on x-rows: they ask a field for the slice that belongs to a [`Row`], and reach neighbours along the
//! other axes through [`Row::up`] and [`Row::down`]. Nothing else in the code knows strides, so that a layout of many
//! tiles can stand beside the one dense box.

/// Ghost cells stored on each side of a box: enough for a cubic stencil or a fourth difference.
pub const HALO: usize = 2;

/// Unused values before the first and after the last stored cell, so that a wide load may start or end outside.
pub(crate) const SLACK: usize = 16;

/// One dense box of cells with [`HALO`] ghost cells all around, x fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout<const D: usize> {
    cells: [usize; D],
    stride: [usize; D],
    len: usize,
}

/// One x-row of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<const D: usize> {
    /// Index of the row's first cell; entry 0 is 0 unless the row was shifted along x.
    pub index: [isize; D],
    pub(crate) start: usize,
    stride: [usize; D],
}

impl<const D: usize> Row<D> {
    /// The row one cell further along axis `a` (for x: the same row shifted by one cell).
    #[inline(always)]
    pub fn up(self, a: usize) -> Self {
        self.shifted(a, 1)
    }

    /// The row one cell back along axis `a`.
    #[inline(always)]
    pub fn down(self, a: usize) -> Self {
        self.shifted(a, -1)
    }

    /// The row `by` cells along axis `a`; the halo allows two cells either way.
    #[inline(always)]
    pub fn shifted(mut self, a: usize, by: isize) -> Self {
        self.index[a] += by;
        self.start = self.start.wrapping_add_signed(by * self.stride[a] as isize);
        self
    }
}

impl<const D: usize> Layout<D> {
    /// A dense box of `cells`.
    pub fn dense(cells: [usize; D]) -> Self {
        let mut stride = [1; D];
        for a in 1..D {
            stride[a] = stride[a - 1] * (cells[a - 1] + 2 * HALO);
        }
        let len = stride[D - 1] * (cells[D - 1] + 2 * HALO) + 2 * SLACK;
        Layout { cells, stride, len }
    }

    /// Bytes one `f32` field of this many cells takes, without building anything; saturates instead of overflowing.
    pub fn bytes(cells: [usize; D]) -> u64 {
        cells.iter().fold(4u64, |b, &n| b.saturating_mul(n as u64 + 2 * HALO as u64))
    }

    /// Cells along each axis.
    pub fn cells(&self) -> [usize; D] {
        self.cells
    }

    /// Number of stored values, ghost cells and slack included.
    pub(crate) fn storage(&self) -> usize {
        self.len
    }

    /// Distance in memory between neighbours along each axis.
    pub(crate) fn stride(&self) -> [usize; D] {
        self.stride
    }

    /// Number of x-rows.
    pub fn rows(&self) -> usize {
        self.cells[1..].iter().product()
    }

    /// The `r`-th x-row, counted with y fastest.
    #[inline]
    pub fn row(&self, mut r: usize) -> Row<D> {
        let mut index = [0; D];
        for a in 1..D {
            index[a] = (r % self.cells[a]) as isize;
            r /= self.cells[a];
        }
        Row { index, start: self.offset(index), stride: self.stride }
    }

    /// The number `r` for which `layout.row(r)` is this row. The row must be one of the layout's, not a shifted one.
    #[inline]
    pub fn row_number(&self, row: Row<D>) -> usize {
        (1..D).rev().fold(0, |r, a| r * self.cells[a] + row.index[a] as usize)
    }

    /// Where the value of a cell lies; ghost cells have indices below 0 or from the cell count on.
    #[inline]
    pub(crate) fn offset(&self, index: [isize; D]) -> usize {
        let mut at = SLACK;
        for a in 0..D {
            at += (index[a] + HALO as isize) as usize * self.stride[a];
        }
        at
    }
}
