//! Loops over tiles: cubes of [`tile_width`] cells, of a layout of tiles and of a box alike. A box is cut into such cubes from
//! cell 0 on, the last ones being as small as they must; so what is done tile by tile is the same on both layouts.
//!
//! ```
//! use squall_core::tiles::for_each_tile;
//! use squall_core::{At, Ends, Field};
//!
//! let mut number = Field::<3>::new([40, 16, 20], At::Center, [Ends::FLAT; 3])?;
//! for_each_tile([&mut number], |tile, [mut number]| {
//!     for row in tile.rows() {
//!         number.row(row).fill(tile.number as f32);
//!     }
//! });
//! assert_eq!((number.get([39, 0, 0]), number.get([0, 0, 19])), (2.0, 3.0));
//! # Ok::<(), squall_core::OutOfMemory>(())
//! ```

use crate::field::Field;
use crate::layout::{HALO, Layout, SLACK, tile_width};
use crate::threads;

/// A tile of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile<const D: usize> {
    /// Its number: x fastest, then y, then z.
    pub number: usize,
    /// The index of its first cell.
    pub first: [isize; D],
    /// Its cells along each axis.
    pub cells: [usize; D],
}

impl<const D: usize> Tile<D> {
    /// The places of its x-rows, counted from its first cell; entry 0 is 0.
    pub fn rows(&self) -> impl Iterator<Item = [usize; D]> + use<D> {
        let cells = self.cells;
        (0..cells[1..].iter().product()).map(move |mut r: usize| {
            let mut local = [0; D];
            for a in 1..D {
                local[a] = r % cells[a];
                r /= cells[a];
            }
            local
        })
    }

    /// Whether a cell is one of its own.
    pub fn contains(&self, index: [isize; D]) -> bool {
        (0..D).all(|a| (0..self.cells[a] as isize).contains(&(index[a] - self.first[a])))
    }
}

impl<const D: usize> Layout<D> {
    /// How many tiles of a box lie along each axis.
    fn counts(&self) -> [usize; D] {
        self.cells().map(|n| n.div_ceil(tile_width::<D>()))
    }

    /// How many tiles there are; those that a box is cut into, too.
    pub fn tile_count(&self) -> usize {
        self.as_tiles().map_or_else(|| self.counts().iter().product(), |tiles| tiles.coords().len())
    }

    /// The tile with a number.
    pub fn tile(&self, number: usize) -> Tile<D> {
        let width = tile_width::<D>();
        if let Some(tiles) = self.as_tiles() {
            let first = tiles.coords()[number].map(|c| c as isize * width as isize);
            return Tile { number, first, cells: [width; D] };
        }
        let (counts, mut rest) = (self.counts(), number);
        let mut tile = Tile { number, first: [0; D], cells: [0; D] };
        for a in 0..D {
            let begin = rest % counts[a] * width;
            rest /= counts[a];
            (tile.first[a], tile.cells[a]) = (begin as isize, width.min(self.cells()[a] - begin));
        }
        tile
    }

    /// The number of the tile that a cell is in; `None` where there is no cell.
    pub fn tile_of(&self, index: [isize; D]) -> Option<usize> {
        let coords = index.map(|i| i.div_euclid(tile_width::<D>() as isize));
        if let Some(tiles) = self.as_tiles() {
            return tiles.find(coords.map(|c| c as i32));
        }
        let counts = self.counts();
        let inside = (0..D).all(|a| (0..self.cells()[a] as isize).contains(&index[a]));
        inside.then(|| (0..D).rev().fold(0, |n, a| n * counts[a] + coords[a] as usize))
    }

    /// How many groups of tiles there are whose values lie together: tiles, or the layers of a box across its last axis.
    pub(crate) fn groups(&self) -> usize {
        if self.as_tiles().is_some() { self.tile_count() } else { self.counts()[D - 1] }
    }

    /// The numbers of the tiles of a group.
    pub(crate) fn group(&self, g: usize) -> std::ops::Range<usize> {
        let layer = if self.as_tiles().is_some() { 1 } else { self.tile_count() / self.groups() };
        g * layer..(g + 1) * layer
    }

    /// Where the values of a group begin, and end where those of the next one begin. (On tiles, slots of ghost tiles follow
    /// as further groups.)
    pub(crate) fn group_start(&self, g: usize) -> usize {
        let width = tile_width::<D>();
        match self.as_tiles() {
            Some(_) => SLACK + (g + 1) * width.pow(D as u32),
            None => SLACK + (HALO + g * width) * self.stride()[D - 1],
        }
    }
}

/// The values of one tile, to be written.
pub struct TileMut<'a, const D: usize, T> {
    data: &'a mut [T],
    /// Where the first one lies.
    at: usize,
    stride: [usize; D],
    cells: [usize; D],
}

impl<const D: usize, T> TileMut<'_, D, T> {
    /// The x-row through a place, counted from the tile's first cell.
    #[inline]
    pub fn row(&mut self, local: [usize; D]) -> &mut [T] {
        let at = self.at + (1..D).map(|a| local[a] * self.stride[a]).sum::<usize>();
        &mut self.data[at..at + self.cells[0]]
    }

    /// The value at a place, counted from the tile's first cell.
    #[inline]
    pub fn value(&mut self, local: [usize; D]) -> &mut T {
        &mut self.row(local)[local[0]]
    }
}

/// Calls `f(tile, values)` for every tile of fields that share one layout, in parallel. Each call has the cells of its own tile
/// alone, so that nothing depends on the order.
pub fn for_each_tile<const D: usize, const K: usize, T: Copy + Default + Send + Sync>(
    fields: [&mut Field<D, T>; K],
    f: impl Fn(Tile<D>, [TileMut<'_, D, T>; K]) + Sync,
) {
    let layout = fields[0].layout().clone();
    assert!(fields.iter().all(|f| f.layout() == &layout), "fields of one shape");
    let slices = fields.map(|f| &mut f.data_mut()[layout.group_start(0)..]);
    for_each_group(&layout, 0, layout.groups(), slices, &|g, mut slices| {
        let base = layout.group_start(g);
        for number in layout.group(g) {
            let tile = layout.tile(number);
            let at = layout.offset(tile.first) - base;
            let (stride, cells) = (layout.stride(), tile.cells);
            f(tile, slices.each_mut().map(|data| TileMut { data, at, stride, cells }));
        }
    });
}

/// Calls `f` with groups `begin` to `end` and the values of each, in parallel. The slices begin with the first group.
pub(crate) fn for_each_group<const D: usize, const K: usize, T: Send>(
    layout: &Layout<D>,
    begin: usize,
    end: usize,
    slices: [&mut [T]; K],
    f: &(impl Fn(usize, [&mut [T]; K]) + Sync),
) {
    if end - begin <= 1 {
        return f(begin, slices);
    }
    let middle = begin + (end - begin) / 2;
    let cut = layout.group_start(middle) - layout.group_start(begin);
    let mut halves = slices.map(|s| {
        let (low, high) = s.split_at_mut(cut);
        (low, Some(high))
    });
    let high = halves.each_mut().map(|h| h.1.take().unwrap_or_default());
    let low = halves.map(|h| h.0);
    threads::join(|| for_each_group(layout, begin, middle, low, f), || for_each_group(layout, middle, end, high, f));
}

impl<const D: usize, T: Copy + Default + Send + Sync> Field<D, T> {
    /// Calls `f` with every tile and its values, in parallel: [`for_each_tile`].
    pub fn par_tiles(&mut self, f: impl Fn(Tile<D>, TileMut<'_, D, T>) + Sync) {
        for_each_tile([self], |tile, [values]| f(tile, values));
    }
}
