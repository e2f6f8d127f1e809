//! Values on a grid.

use crate::grid::{At, Ends, Grid};
use crate::layout::{Layout, Row};
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
    pub(crate) data: Vec<T>,
}

impl<const D: usize, T: Copy + Default + Send + Sync> Field<D, T> {
    /// A field of zeros.
    pub fn new(cells: [usize; D], at: At, ends: [Ends; D]) -> Result<Self, OutOfMemory> {
        let layout = Layout::dense(cells);
        let mut data = Vec::new();
        data.try_reserve_exact(layout.storage())
            .map_err(|_| OutOfMemory { cells: cells.to_vec(), bytes: layout.storage() * size_of::<T>() })?;
        data.resize(layout.storage(), T::default());
        Ok(Field { layout, at, ends, ghosts_filled: false, data })
    }

    /// A field of zeros of the same shape, at the same place, with the same ends.
    pub fn like(other: &Self) -> Result<Self, OutOfMemory> {
        Field::new(other.cells(), other.at, other.ends)
    }

    /// Cells along each axis.
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

    /// All stored values, ghosts and slack included, to be written.
    pub(crate) fn data_mut(&mut self) -> &mut [T] {
        self.ghosts_filled = false;
        &mut self.data
    }

    /// Becomes a copy of another field of the same shape: values, ghosts, and what they mean.
    pub(crate) fn copy_all(&mut self, other: &Self) {
        self.relabel(other.at, other.ends);
        self.data_mut().copy_from_slice(&other.data);
        self.ghosts_filled = other.ghosts_filled;
    }

    /// The values of one x-row.
    #[inline(always)]
    pub fn row(&self, row: Row<D>) -> &[T] {
        &self.data[row.start..row.start + self.layout.cells()[0]]
    }

    /// The values of one x-row, to be written.
    #[inline(always)]
    pub fn row_mut(&mut self, row: Row<D>) -> &mut [T] {
        self.ghosts_filled = false;
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

    /// The value of a cell or of a ghost cell.
    #[inline]
    pub fn get_signed(&self, index: [isize; D]) -> T {
        self.data[self.layout.offset(index)]
    }

    /// Sets everything, ghost cells included, to one value.
    pub fn fill(&mut self, value: T) {
        self.data_mut().fill(value);
    }

    /// Calls `f` with every x-row, in parallel.
    pub fn par_rows(&mut self, f: impl Fn(Row<D>, &mut [T]) + Sync) {
        rows::for_each([self], |row, [out]| f(row, out));
    }

    /// Exchanges the values, not what they mean, with another field of the same shape.
    pub fn swap_values(&mut self, other: &mut Self) {
        assert_eq!(self.layout, other.layout, "fields of one shape");
        std::mem::swap(&mut self.data, &mut other.data);
        let same = self.at == other.at && self.ends == other.ends;
        (self.ghosts_filled, other.ghosts_filled) = (same && other.ghosts_filled, same && self.ghosts_filled);
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
            let row = self.layout.row(r);
            self.row_mut(row).copy_from_slice(v);
        }
    }
}

impl<const D: usize> Field<D> {
    /// Sets every value to `f(position)`, where the position is that of the value on `grid`, in metres: the last face of
    /// a staggered field, too.
    pub fn set_from(&mut self, grid: &Grid<D>, f: impl Fn([f64; D]) -> f64 + Sync) {
        let at = self.at;
        self.par_rows(|row, out| {
            let mut index = row.index.map(|i| i as usize);
            for (x, v) in out.iter_mut().enumerate() {
                index[0] = x;
                *v = f(grid.position(at, index)) as Real;
            }
        });
        self.set_last(|index| Some(f(grid.position(at, index)) as Real));
        self.fill_halo();
    }
}

/// One field per axis: a vector quantity, centred or staggered.
pub type VectorField<const D: usize, T = Real> = [Field<D, T>; D];
