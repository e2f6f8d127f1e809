//! Values on a grid.

use crate::grid::{At, Ends, Grid};
use crate::halo::RowRules;
use crate::large_pages::prefer_large_pages;
use crate::layout::{Layout, MAX_TILE, Row, SLACK, tile_width};
use crate::threads::prelude::*;
use crate::{Real, rows};

/// The machine has not enough memory for a field.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
#[error("no memory for a field of {cells:?} cells ({bytes} bytes)")]
pub struct OutOfMemory {
    /// Cells along each axis.
    pub cells: Vec<usize>,
    /// Size of the allocation that failed.
    pub bytes: usize,
}

/// Values that are copied at once.
const PART: usize = 1 << 14;

/// A field of more values than this is refused.
const MOST_VALUES: usize = i32::MAX as usize;

/// Memory for all values of a layout, made from what there was.
fn room<const D: usize, T: Copy>(mut data: Vec<T>, layout: &Layout<D>, value: T) -> Result<Vec<T>, OutOfMemory> {
    let out_of_memory =
        || OutOfMemory { cells: vec![layout.cell_count()], bytes: layout.storage().saturating_mul(size_of::<T>()) };
    data.clear();
    // Places are found by 32-bit numbers.
    if layout.storage() > MOST_VALUES {
        return Err(out_of_memory());
    }
    data.try_reserve_exact(layout.storage()).map_err(|_| out_of_memory())?;
    prefer_large_pages(data.spare_capacity_mut());
    data.resize(layout.storage(), value);
    Ok(data)
}

/// Room for the copy of one row of a tile.
#[derive(Clone, Copy, Debug)]
pub struct Pad<T = Real>([T; MAX_TILE]);

impl<T: Copy + Default> Default for Pad<T> {
    fn default() -> Self {
        Pad([T::default(); MAX_TILE])
    }
}

/// One value per cell, with ghost cells around the box.
///
/// A field knows where its values live ([`At`]) and what it does at the ends of each axis ([`Ends`]);
/// [`Field::fill_halo`] turns that knowledge into ghost values. A staggered field has the same shape as a centred one;
/// its last face along its own axis is stored in the first ghost cell behind the box.
#[derive(Clone, Debug)]
pub struct Field<const D: usize, T = Real> {
    layout: Layout<D>,
    at: At,
    ends: [Ends; D],
    /// Whether the ghosts belong to the values as they are.
    pub(crate) ghosts_filled: bool,
    /// For which rules the ghosts along x, and what lies on the ends of that axis, belong to the values as they are.
    pub(crate) x_filled: Option<RowRules>,
    pub(crate) data: Vec<T>,
}

impl<const D: usize, T: Copy + Default + Send + Sync> Field<D, T> {
    /// A field of zeros on a box.
    pub fn new(cells: [usize; D], at: At, ends: [Ends; D]) -> Result<Self, OutOfMemory> {
        Field::on(&Layout::dense(cells), at, ends)
    }

    /// A field of zeros on a box or on tiles.
    pub fn on(layout: &Layout<D>, at: At, ends: [Ends; D]) -> Result<Self, OutOfMemory> {
        let layout = layout.clone();
        let data = room(Vec::new(), &layout, T::default())?;
        Ok(Field { layout, at, ends, ghosts_filled: false, x_filled: None, data })
    }

    /// A field of zeros of the same shape, at the same place, with the same ends.
    pub fn like(other: &Self) -> Result<Self, OutOfMemory> {
        Field::on(&other.layout, other.at, other.ends)
    }

    /// Cells along each axis, of the box or of one tile.
    pub fn cells(&self) -> [usize; D] {
        self.layout.cells()
    }

    /// The shape in memory.
    pub fn layout(&self) -> &Layout<D> {
        &self.layout
    }

    /// Where in its cell a value lives.
    pub fn at(&self) -> At {
        self.at
    }

    /// What the field does at the ends of each axis.
    pub fn ends(&self) -> [Ends; D] {
        self.ends
    }

    /// Changes where the values live and what happens at the ends; for scratch that serves several purposes.
    pub fn relabel(&mut self, at: At, ends: [Ends; D]) {
        self.ghosts_filled &= self.at == at && self.ends == ends;
        self.at = at;
        self.ends = ends;
    }

    /// All stored values, ghosts and slack included.
    pub(crate) fn data(&self) -> &[T] {
        &self.data
    }

    /// All stored values, ghosts and slack included, to be written.
    pub(crate) fn data_mut(&mut self) -> &mut [T] {
        self.ghosts_filled = false;
        self.x_filled = None;
        &mut self.data
    }

    /// Becomes a copy of another field of the same shape: values, ghosts, and what they mean.
    pub(crate) fn copy_all(&mut self, other: &Self) {
        self.relabel(other.at, other.ends);
        let parts = self.data_mut().par_chunks_mut(PART).zip(other.data.par_chunks(PART));
        parts.for_each(|(values, other)| values.copy_from_slice(other));
        self.ghosts_filled = other.ghosts_filled;
        self.x_filled = other.x_filled;
    }

    /// The values of one x-row.
    #[inline(always)]
    pub fn row(&self, row: Row<'_, D>) -> &[T] {
        let n = self.layout.cells()[0];
        debug_assert!(
            !row.on_tiles() || (row.index[0] as usize).is_multiple_of(n),
            "rows of tiles lie together whole only"
        );
        &self.data[row.start..row.start + n]
    }

    /// The values of a run of rows that lie together: one row of a box, several of a tile.
    #[inline(always)]
    pub(crate) fn run(&self, row: Row<'_, D>) -> &[T] {
        &self.data[row.start..row.start + self.layout.run()]
    }

    /// Copies into `out` the part from `x` on of the run `by` = 1 or -1 cells along axis `a`.
    #[inline(always)]
    pub(crate) fn beside(&self, row: Row<'_, D>, a: usize, by: isize, x: usize, out: &mut [T]) {
        if !row.on_tiles() {
            return out.copy_from_slice(&self.row(row.shifted(a, by))[x..x + out.len()]);
        }
        // A run of a tile is several whole rows that lie together, and so are those beside it.
        let n = const { tile_width::<D>() };
        let (len, rows) = (out.len(), out.len() / n);
        let here = &self.data[row.start..row.start + len];
        match (a, by > 0) {
            (0, true) => {
                let next = &self.data[row.shifted(0, n as isize).start..];
                out[..len - 1].copy_from_slice(&here[1..]);
                (0..rows).for_each(|j| out[j * n + n - 1] = next[j * n]);
            }
            (0, false) => {
                let next = &self.data[row.shifted(0, -(n as isize)).start..];
                out[1..].copy_from_slice(&here[..len - 1]);
                (0..rows).for_each(|j| out[j * n] = next[j * n + n - 1]);
            }
            (1, true) => {
                out[..len - n].copy_from_slice(&here[n..]);
                out[len - n..].copy_from_slice(self.row(row.shifted(1, rows as isize)));
            }
            (1, false) => {
                out[n..].copy_from_slice(&here[..len - n]);
                out[..n].copy_from_slice(self.row(row.shifted(1, -1)));
            }
            _ => out.copy_from_slice(&self.data[row.shifted(a, by).start..][..len]),
        }
    }

    /// Copies into `out` the part from `x` on of the run that lies `by` cells away along each axis, 0 or -1 of them.
    #[inline(always)]
    pub(crate) fn below(&self, row: Row<'_, D>, by: [isize; D], x: usize, out: &mut [T]) {
        if !row.on_tiles() {
            return out.copy_from_slice(&self.row(row.moved(by))[x..x + out.len()]);
        }
        let n = const { tile_width::<D>() };
        let (mut here, mut left) = (by, by);
        (here[0], left[0]) = (0, -(n as isize));
        for (j, out) in out.chunks_exact_mut(n).enumerate() {
            let row = row.shifted(1, j as isize);
            let start = row.moved(here).start;
            if by[0] == 0 {
                out.copy_from_slice(&self.data[start..start + n]);
            } else {
                out[0] = self.data[row.moved(left).start + n - 1];
                out[1..].copy_from_slice(&self.data[start..start + n - 1]);
            }
        }
    }

    /// The row one cell further along axis `a`. Along x on tiles it is a copy in `pad`, as half of it lies in the next tile.
    #[inline(always)]
    pub fn up<'a>(&'a self, row: Row<'_, D>, a: usize, pad: &'a mut Pad<T>) -> &'a [T] {
        if a > 0 || !row.on_tiles() {
            return self.row(row.up(a));
        }
        // A length that the compiler knows: the copy becomes a few moves.
        let n = const { tile_width::<D>() };
        let (here, out) = (&self.data[row.start..row.start + n], &mut pad.0[..n]);
        out[..n - 1].copy_from_slice(&here[1..]);
        out[n - 1] = self.data[row.shifted(0, n as isize).start];
        out
    }

    /// The row one cell back along axis `a`. Along x on tiles it is a copy in `pad`.
    #[inline(always)]
    pub fn down<'a>(&'a self, row: Row<'_, D>, a: usize, pad: &'a mut Pad<T>) -> &'a [T] {
        if a > 0 || !row.on_tiles() {
            return self.row(row.down(a));
        }
        let n = const { tile_width::<D>() };
        let (here, out) = (&self.data[row.start..row.start + n], &mut pad.0[..n]);
        out[1..].copy_from_slice(&here[..n - 1]);
        out[0] = self.data[row.shifted(0, -(n as isize)).start + n - 1];
        out
    }

    /// The values of one x-row, to be written.
    #[inline(always)]
    pub fn row_mut(&mut self, row: Row<'_, D>) -> &mut [T] {
        self.ghosts_filled = false;
        self.x_filled = None;
        &mut self.data[row.start..row.start + self.layout.cells()[0]]
    }

    /// The value of one cell. For tests and single look-ups; kernels take rows.
    pub fn get(&self, index: [usize; D]) -> T {
        self.data[self.layout.offset(index.map(|i| i as isize))]
    }

    /// Sets the value of one cell. For tests and single values; kernels take rows.
    pub fn set(&mut self, index: [usize; D], value: T) {
        let at = self.layout.offset(index.map(|i| i as isize));
        self.data_mut()[at] = value;
    }

    /// The value of a cell, of a ghost cell, or of the background where no tile is.
    #[inline]
    pub fn get_signed(&self, index: [isize; D]) -> T {
        self.data[self.layout.offset(index)]
    }

    /// Sets the value of a cell; where no tile is, nothing.
    pub(crate) fn set_signed(&mut self, index: [isize; D], value: T) {
        let width = self.layout.cells()[0] as isize;
        let exists = self.layout.as_tiles().is_none_or(|t| t.find(index.map(|i| i.div_euclid(width) as i32)).is_some());
        if exists {
            let at = self.layout.offset(index);
            self.data_mut()[at] = value;
        }
    }

    /// The value of a cell no further than a tile's width from a row, or of the background where no tile is.
    #[inline]
    pub(crate) fn get_near(&self, row: Row<'_, D>, index: [isize; D]) -> T {
        self.data[self.layout.offset_near(row, index).unwrap_or(SLACK)]
    }

    /// Sets everything, ghost cells included, to one value.
    pub fn fill(&mut self, value: T) {
        self.data_mut().par_chunks_mut(PART).for_each(|values| values.fill(value));
    }

    /// Calls `f` with every x-row, in parallel.
    pub fn par_rows(&mut self, f: impl Fn(Row<'_, D>, &mut [T]) + Sync) {
        rows::for_each([self], |row, [out]| f(row, out));
    }

    /// [`Field::par_rows`] by runs of rows, of which `f` gets the first: for what looks at each value by itself.
    pub(crate) fn par_runs(&mut self, f: impl Fn(Row<'_, D>, &mut [T]) + Sync) {
        rows::for_each_by_runs([self], |row, [out]| f(row, out));
    }

    /// Exchanges the values, not what they mean, with another field of the same shape.
    pub fn swap_values(&mut self, other: &mut Self) {
        assert_eq!(self.layout, other.layout, "fields of one shape");
        std::mem::swap(&mut self.data, &mut other.data);
        let same = self.at == other.at && self.ends == other.ends;
        (self.ghosts_filled, other.ghosts_filled) = (same && other.ghosts_filled, same && self.ghosts_filled);
        // The rules are those that the ghosts were made by, whatever the field is now.
        std::mem::swap(&mut self.x_filled, &mut other.x_filled);
    }

    /// Says that values have been written that ghosts may depend on.
    pub(crate) fn forget_ghosts(&mut self) {
        (self.ghosts_filled, self.x_filled) = (false, None);
    }

    /// Moves the field to another set of tiles. Tiles in both keep their values, new ones begin with `fresh`.
    pub fn move_to(&mut self, layout: &Layout<D>, fresh: T) -> Result<(), OutOfMemory> {
        let (Some(old), Some(new)) = (self.layout.as_tiles(), layout.as_tiles()) else {
            panic!("only fields on tiles move");
        };
        let mut data = room(Vec::new(), layout, fresh)?;
        let tile = layout.cell_count() / new.coords().len();
        data[SLACK..][..tile].copy_from_slice(&self.data[SLACK..][..tile]);
        for slot in 1..new.slots() {
            // Ghost tiles, too: last faces are values that lie in them.
            let before = old.slot(new.place(slot as u32)) as usize;
            if before != 0 {
                let (from, to) = (SLACK + before * tile, SLACK + slot * tile);
                data[to..to + tile].copy_from_slice(&self.data[from..from + tile]);
            }
        }
        self.data = data;
        self.layout = layout.clone();
        self.ghosts_filled = false;
        self.x_filled = None;
        Ok(())
    }

    /// Becomes a field of zeros on another layout; for scratch.
    pub fn reset_on(&mut self, layout: &Layout<D>) -> Result<(), OutOfMemory> {
        self.data = room(std::mem::take(&mut self.data), layout, T::default())?;
        self.layout = layout.clone();
        self.ghosts_filled = false;
        self.x_filled = None;
        Ok(())
    }

    /// Copies the cells, without ghosts, x fastest, into `out`.
    pub fn copy_to(&self, out: &mut Vec<T>) {
        out.clear();
        for r in 0..self.layout.rows() {
            out.extend_from_slice(self.row(self.layout.row(r)));
        }
    }

    /// Copies the cells, without ghosts, x fastest, from `values`, which must hold exactly one value per cell.
    pub fn copy_from(&mut self, values: &[T]) {
        let nx = self.cells()[0];
        assert_eq!(values.len(), self.layout.rows() * nx, "one value per cell");
        for (r, v) in values.chunks_exact(nx).enumerate() {
            let start = self.layout.row(r).start;
            self.data_mut()[start..start + nx].copy_from_slice(v);
        }
    }
}

impl<const D: usize> Field<D> {
    /// [`Field::par_rows`], which also writes ghosts along x while a row is in the cache, if there is nothing else to be known
    /// for them. [`Field::fill_halo`] does the rest.
    pub(crate) fn par_rows_and_ghosts(&mut self, f: impl Fn(Row<'_, D>, &mut [Real]) + Sync) {
        rows::for_each_with_ghosts([self], |row, [out]| f(row, out));
    }

    /// [`Field::par_runs`], which writes ghosts as [`Field::par_rows_and_ghosts`] does.
    pub(crate) fn par_runs_and_ghosts(&mut self, f: impl Fn(Row<'_, D>, &mut [Real]) + Sync) {
        if self.layout.as_tiles().is_some() { self.par_runs(f) } else { self.par_rows_and_ghosts(f) }
    }

    /// Sets every value to `f(position)`, where the position is that of the value on `grid`, in metres: the last face of
    /// a staggered field, too.
    pub fn set_from(&mut self, grid: &Grid<D>, f: impl Fn([f64; D]) -> f64 + Sync) {
        let at = self.at;
        self.par_rows(|row, out| {
            let mut index = row.index;
            for (x, v) in out.iter_mut().enumerate() {
                index[0] = row.index[0] + x as isize;
                *v = f(grid.position(at, index)) as Real;
            }
        });
        self.set_last(|index| Some(f(grid.position(at, index)) as Real));
        self.fill_halo();
    }
}

/// One field per axis: a vector quantity, centred or staggered.
pub type VectorField<const D: usize, T = Real> = [Field<D, T>; D];
