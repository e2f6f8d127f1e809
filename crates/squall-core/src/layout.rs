//! Which cells exist, and where their values are in memory.
//!
//! Kernels work on x-rows: they ask a field for the slice that belongs to a [`Row`], and reach neighbours along the
//! other axes through [`Row::up`] and [`Row::down`]. Nothing else in the code knows strides. There are two layouts:
//!
//! | layout | cells | rows | beyond its cells |
//! |---|---|---|---|
//! | one box | a fixed box | as long as the box | [`HALO`] stored ghost cells all around |
//! | many tiles | any set of cubes ([`tile_width`] cells a side) | as long as a tile | the value of one shared background tile |
//!
//! Tiles have no ghost cells: a row knows the rows beside it, in its own tile or the next one, through a table. So nothing
//! has to be filled and nothing can be stale. Neighbours along x are not contiguous in memory there; [`Field::up`] and
//! [`Field::down`](crate::Field::down) lend a padded copy. Where a side bounds the tiles ([`Bounds`]), ghost tiles stand
//! behind it: rows find them like any others, but nobody iterates over them, and [`Field::fill_halo`](crate::Field::fill_halo)
//! writes what of them can be seen.
//!
//! [`Field::up`]: crate::Field::up

use std::ops::Range;
use std::sync::Arc;

use crate::rows::Span;

/// Ghost cells stored on each side of a box: enough for a cubic stencil or a fourth difference.
pub const HALO: usize = 2;

/// Unused values before the first and after the last stored cell, so that a wide load may start or end outside.
pub(crate) const SLACK: usize = 32;

/// Cells along each side of a tile: 16 in 3D, 32 in 2D.
pub const fn tile_width<const D: usize>() -> usize {
    if D == 3 { 16 } else { MAX_TILE }
}

/// Cells in a run of rows of a tile.
pub(crate) const TILE_RUN: usize = 128;

/// The longest row of a tile.
pub(crate) const MAX_TILE: usize = 32;

/// Which cells exist: one dense box with [`HALO`] ghost cells all around, or many tiles; x fastest.
#[derive(Clone, Debug)]
pub struct Layout<const D: usize> {
    /// Of the box, or of one tile.
    cells: [usize; D],
    stride: [usize; D],
    len: usize,
    tiles: Option<Arc<Tiles<D>>>,
}

impl<const D: usize> PartialEq for Layout<D> {
    fn eq(&self, other: &Self) -> bool {
        match (&self.tiles, &other.tiles) {
            (None, None) => self.cells == other.cells,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a.coords == b.coords && a.bounds == b.bounds,
            _ => false,
        }
    }
}

/// Where sides bound a set of tiles, along each axis, in tiles: the first tile inside, and the first one behind them.
pub type Bounds<const D: usize> = [[Option<i32>; 2]; D];

/// A set of tiles, sorted, with a table of neighbours.
#[derive(Debug)]
pub struct Tiles<const D: usize> {
    /// Place of each tile, in tiles from cell 0. Its values are those of slot `index + 1`; slot 0 is the background.
    coords: Vec<[i32; D]>,
    keys: Vec<u64>,
    bounds: Bounds<D>,
    /// Ghost tiles: those around tiles, but behind a side. Their slots follow those of the tiles.
    ghosts: Vec<[i32; D]>,
    ghost_keys: Vec<u64>,
    /// For each axis the slots of ghost tiles behind its two sides.
    behind: [[Vec<u32>; 2]; D],
    /// For each slot the slots of the 3^D tiles around it, itself in the middle, x fastest; 0 where there is none.
    around: Vec<u32>,
    /// Where the band of each tile begins and ends: a few tiles in a row along x, which are also neighbours in memory.
    bands: Vec<[u32; 2]>,
}

/// Most tiles of a band: what is prepared for several at once reaches less far beyond them for each.
const BAND: usize = 4;

/// One x-row of cells.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a, const D: usize> {
    /// Index of the row's first cell; on a box entry 0 is 0 unless the row was shifted along x.
    pub index: [isize; D],
    pub(crate) start: usize,
    stride: [usize; D],
    tiles: Option<&'a Tiles<D>>,
    /// The tile's slot; 0 on a box.
    slot: u32,
}

impl<const D: usize> Row<'_, D> {
    /// The row one cell further along axis `a` (for x, on a box only: the same row shifted by one cell).
    #[inline(always)]
    pub fn up(self, a: usize) -> Self {
        self.shifted(a, 1)
    }

    /// The row one cell back along axis `a`.
    #[inline(always)]
    pub fn down(self, a: usize) -> Self {
        self.shifted(a, -1)
    }

    /// The row `by` cells along axis `a`. The halo of a box allows two cells either way; a tile allows its own width, and
    /// for x only whole tiles.
    #[inline(always)]
    pub fn shifted(mut self, a: usize, by: isize) -> Self {
        if let Some(tiles) = self.tiles {
            let width = tile_width::<D>() as isize;
            let moved = (self.index[a] & (width - 1)) + by;
            let step = moved.div_euclid(width);
            if step != 0 {
                debug_assert!(step.abs() == 1, "rows reach one tile far");
                let next = tiles.beside(self.slot, a, step > 0);
                let tile = width.pow(D as u32);
                self.start = self.start.wrapping_add_signed(
                    (next as isize - self.slot as isize) * tile - step * width * self.stride[a] as isize,
                );
                self.slot = next;
            }
        }
        self.index[a] += by;
        self.start = self.start.wrapping_add_signed(by * self.stride[a] as isize);
        self
    }

    /// The row that many cells away along each axis, with the limits of [`Row::shifted`]. On tiles it is found even if no
    /// tile lies on the way.
    #[inline(always)]
    pub fn moved(mut self, by: [isize; D]) -> Self {
        let mut next = 0;
        if let Some(tiles) = self.tiles {
            let width = tile_width::<D>() as isize;
            let mut beside = 0;
            for a in 0..D {
                let step = ((self.index[a] & (width - 1)) + by[a]).div_euclid(width);
                debug_assert!(step.abs() <= 1, "rows reach one tile far");
                beside += (step + 1) * 3isize.pow(a as u32);
                next -= step * width * self.stride[a] as isize;
            }
            let slot = tiles.around(self.slot)[beside as usize];
            next += (slot as isize - self.slot as isize) * width.pow(D as u32);
            self.slot = slot;
        }
        for a in 0..D {
            self.index[a] += by[a];
            next += by[a] * self.stride[a] as isize;
        }
        self.start = self.start.wrapping_add_signed(next);
        self
    }

    /// Whether the row's cells exist; on a box always.
    #[inline(always)]
    pub fn exists(&self) -> bool {
        self.tiles.is_none() || self.slot != 0
    }

    /// The number of the row's tile in the order of [`Tiles::coords`]; `None` on a box, in a ghost tile, or where no tile is.
    #[inline(always)]
    pub fn tile(&self) -> Option<usize> {
        let tiles = self.tiles?;
        (self.slot != 0 && self.slot as usize <= tiles.coords.len()).then(|| self.slot as usize - 1)
    }

    /// On tiles: whether the tiles beside some in a row are ghost tiles, along an axis, so that sides stand between.
    pub(crate) fn ghosts_beside(&self, band: &Range<usize>, a: usize) -> [bool; 2] {
        let is_ghost =
            |tiles: &Tiles<D>, tile, upper| tiles.beside(tile as u32 + 1, a, upper) as usize > tiles.coords.len();
        self.tiles.map_or([false; 2], |tiles| [is_ghost(tiles, band.start, false), is_ghost(tiles, band.end - 1, true)])
    }

    /// The slots of the 3^D tiles around the row's own, x fastest.
    pub(crate) fn around(&self) -> Option<&[u32]> {
        self.tiles.map(|tiles| tiles.around(self.slot))
    }

    /// The slots of the 3^D tiles around any tile.
    #[inline(always)]
    pub(crate) fn around_tile(&self, tile: usize) -> Option<&[u32]> {
        self.tiles.map(|tiles| tiles.around(tile as u32 + 1))
    }

    /// The numbers of the tiles of the row's band; on a box none.
    pub(crate) fn band(&self) -> Range<usize> {
        match (self.tiles, self.tile()) {
            (Some(tiles), Some(tile)) => tiles.band(tile),
            _ => 0..0,
        }
    }

    #[inline(always)]
    pub(crate) fn on_tiles(&self) -> bool {
        self.tiles.is_some()
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
        Layout { cells, stride, len, tiles: None }
    }

    /// The tiles with these coordinates, in tiles from cell 0: tile `c` holds the cells from `width c` on. The order does
    /// not matter, and the same tile may be named more than once. There must be at least one.
    pub fn tiles(coords: impl IntoIterator<Item = [i32; D]>) -> Self {
        Layout::tiles_within(coords, [[None; 2]; D])
    }

    /// [`Layout::tiles`] between sides; tiles behind them are left out.
    pub fn tiles_within(coords: impl IntoIterator<Item = [i32; D]>, bounds: Bounds<D>) -> Self {
        let width = tile_width::<D>();
        let tiles = Tiles::new(coords, bounds);
        assert!(!tiles.coords.is_empty(), "at least one tile");
        let len = tiles.slots() * width.pow(D as u32) + 2 * SLACK;
        let stride = std::array::from_fn(|a| width.pow(a as u32));
        Layout { cells: [width; D], stride, len, tiles: Some(Arc::new(tiles)) }
    }

    /// Bytes one `f32` field of a box of this many cells takes, without building anything; saturates instead of
    /// overflowing.
    pub fn bytes(cells: [usize; D]) -> u64 {
        cells.iter().fold(4u64, |b, &n| b.saturating_mul(n as u64 + 2 * HALO as u64))
    }

    /// Cells along each axis: of the box, or of one tile.
    pub fn cells(&self) -> [usize; D] {
        self.cells
    }

    /// The index behind the last cell along an axis; of tiles that no side bounds there, as large as can be.
    pub fn end(&self, a: usize) -> isize {
        match self.as_tiles() {
            None => self.cells[a] as isize,
            Some(tiles) => tiles.bounds[a][1].map_or(isize::MAX, |end| end as isize * self.cells[a] as isize),
        }
    }

    /// The index of the first cell along an axis; of tiles that no side bounds there, as small as can be.
    pub fn begin(&self, a: usize) -> isize {
        match self.as_tiles() {
            None => 0,
            Some(tiles) => tiles.bounds[a][0].map_or(isize::MIN, |first| first as isize * self.cells[a] as isize),
        }
    }

    /// How many cells exist.
    pub fn cell_count(&self) -> usize {
        self.rows() * self.cells[0]
    }

    /// The tiles, if this is a layout of tiles.
    pub fn as_tiles(&self) -> Option<&Tiles<D>> {
        self.tiles.as_deref()
    }

    /// Number of stored values, ghost cells and slack included.
    pub(crate) fn storage(&self) -> usize {
        self.len
    }

    /// Distance in memory between neighbours along each axis, within the box or the tile.
    pub(crate) fn stride(&self) -> [usize; D] {
        self.stride
    }

    /// Where the value of cell 0 of a box lies.
    #[inline(always)]
    pub(crate) fn corner(&self) -> usize {
        self.stride.iter().fold(SLACK, |at, stride| at + HALO * stride)
    }

    /// Where the values of the first row lie.
    pub(crate) fn first(&self) -> usize {
        self.row(0).start
    }

    /// Number of x-rows.
    pub fn rows(&self) -> usize {
        self.rows_per_part() * self.tiles.as_ref().map_or(1, |t| t.coords.len())
    }

    /// Values that lie together and are best worked on at once: a row of a box, several rows of a tile.
    pub(crate) fn run(&self) -> usize {
        if self.tiles.is_some() { TILE_RUN } else { self.cells[0] }
    }

    /// Rows of the box or of one tile.
    pub(crate) fn rows_per_part(&self) -> usize {
        self.cells[1..].iter().product()
    }

    /// The `r`-th x-row: of a box counted with y fastest; of tiles one tile after the other.
    #[inline]
    pub fn row(&self, mut r: usize) -> Row<'_, D> {
        let mut index = [0; D];
        let Some(tiles) = self.tiles.as_deref() else {
            for a in 1..D {
                index[a] = (r % self.cells[a]) as isize;
                r /= self.cells[a];
            }
            return Row { index, start: self.offset(index), stride: self.stride, tiles: None, slot: 0 };
        };
        // Powers of two that the compiler knows: rows of tiles are short, and a division takes as long as some of them.
        let width = tile_width::<D>();
        let start = SLACK + width.pow(D as u32) + r * width;
        for a in 1..D {
            index[a] = (r % width) as isize;
            r /= width;
        }
        for a in 0..D {
            index[a] += tiles.coords[r][a] as isize * width as isize;
        }
        Row { index, start, stride: self.stride, tiles: Some(tiles), slot: r as u32 + 1 }
    }

    /// Calls `f` with every row that meets a box of cells (all rows if there is none), and with the part of it inside.
    pub fn rows_within(
        &self,
        within: Option<[std::ops::Range<isize>; D]>,
        mut f: impl FnMut(Row<'_, D>, std::ops::Range<usize>),
    ) {
        let part = self.rows_per_part();
        for p in 0..self.rows() / part {
            let corner = self.row(p * part).index;
            let inside = |a: usize, i: isize, n: usize| {
                within.as_ref().is_none_or(|w| w[a].start < i + n as isize && i < w[a].end)
            };
            if !(0..D).all(|a| inside(a, corner[a], self.cells[a])) {
                continue;
            }
            for row in
                (0..part).map(|r| self.row(p * part + r)).filter(|row| (1..D).all(|a| inside(a, row.index[a], 1)))
            {
                let n = self.cells[0] as isize;
                let xs = within.as_ref().map_or(0..n, |w| w[0].start - row.index[0]..w[0].end - row.index[0]);
                f(row, xs.start.clamp(0, n) as usize..xs.end.clamp(0, n) as usize);
            }
        }
    }

    /// The number `r` for which `layout.row(r)` is this row. The row must be one of the layout's, not a shifted one.
    #[inline]
    pub fn row_number(&self, row: Row<'_, D>) -> usize {
        let width = tile_width::<D>() as isize;
        let local = |a: usize| if row.on_tiles() { row.index[a] & (width - 1) } else { row.index[a] } as usize;
        let within = (1..D).rev().fold(0, |r, a| r * self.cells[a] + local(a));
        within + row.tile().map_or(0, |t| t * self.rows_per_part())
    }

    /// Where the value of a cell lies. In a box, ghost cells have indices below 0 or from the cell count on; where no tile
    /// is, it is the background's.
    #[inline]
    pub(crate) fn offset(&self, index: [isize; D]) -> usize {
        let Some(tiles) = &self.tiles else {
            let mut at = SLACK;
            for a in 0..D {
                at += (index[a] + HALO as isize) as usize * self.stride[a];
            }
            return at;
        };
        let width = self.cells[0] as isize;
        let slot = tiles.slot(index.map(|i| i.div_euclid(width) as i32));
        self.in_slot(slot, index.map(|i| i.rem_euclid(width)))
    }

    /// The cell whose value lies at a place, in a box.
    pub(crate) fn index_at(&self, at: usize) -> [isize; D] {
        let mut rest = at - SLACK;
        let mut index = [0; D];
        for a in (0..D).rev() {
            index[a] = (rest / self.stride[a]) as isize - HALO as isize;
            rest %= self.stride[a];
        }
        index
    }

    /// Where the value of a cell lies that is no further than a tile's width from a row. `None`: no tile is there.
    #[inline]
    pub(crate) fn offset_near(&self, row: Row<'_, D>, index: [isize; D]) -> Option<usize> {
        let Some(around) = row.around() else { return Some(self.offset(index)) };
        let width = self.cells[0] as isize;
        let mut n = 0;
        for a in (0..D).rev() {
            let tiles_away = index[a].div_euclid(width) - row.index[a].div_euclid(width);
            debug_assert!(tiles_away.abs() <= 1, "near means within the tiles beside");
            n = 3 * n + (tiles_away + 1) as usize;
        }
        (around[n] != 0).then(|| self.in_slot(around[n], index.map(|i| i.rem_euclid(width))))
    }

    #[inline]
    pub(crate) fn in_slot(&self, slot: u32, local: [isize; D]) -> usize {
        let tile = self.cells[0].pow(D as u32);
        SLACK + slot as usize * tile + (0..D).map(|a| local[a] as usize * self.stride[a]).sum::<usize>()
    }
}

/// Looks up cells one after the other. On tiles it remembers the last tile, so that cells near the last one are found without
/// a search.
pub(crate) struct Cursor<'a, const D: usize> {
    layout: &'a Layout<D>,
    tile: [i32; D],
    slot: u32,
}

impl<const D: usize> Layout<D> {
    pub(crate) fn cursor(&self) -> Cursor<'_, D> {
        Cursor { layout: self, tile: [i32::MAX; D], slot: 0 }
    }
}

impl<const D: usize> Cursor<'_, D> {
    /// [`Layout::offset`].
    #[inline]
    pub fn offset(&mut self, index: [isize; D]) -> usize {
        let Some(tiles) = self.layout.as_tiles() else { return self.layout.offset(index) };
        let width = tile_width::<D>() as isize;
        let tile = index.map(|i| i.div_euclid(width) as i32);
        if tile != self.tile {
            (self.tile, self.slot) = (tile, tiles.slot(tile));
        }
        self.layout.in_slot(self.slot, index.map(|i| i.rem_euclid(width)))
    }
}

impl<const D: usize> Tiles<D> {
    fn new(coords: impl IntoIterator<Item = [i32; D]>, bounds: Bounds<D>) -> Self {
        let sorted = |coords: Vec<[i32; D]>| -> (Vec<u64>, Vec<[i32; D]>) {
            let mut keyed: Vec<(u64, [i32; D])> = coords.into_iter().map(|c| (key(c), c)).collect();
            keyed.sort_unstable_by_key(|&(key, _)| key);
            keyed.dedup_by_key(|&mut (key, _)| key);
            keyed.into_iter().unzip()
        };
        let below = |a: usize, c: i32| bounds[a][0].is_some_and(|first| c < first);
        let above = |a: usize, c: i32| bounds[a][1].is_some_and(|end| c >= end);
        let inside = |c: &[i32; D]| (0..D).all(|a| !below(a, c[a]) && !above(a, c[a]));
        let neighbours = 3i32.pow(D as u32);
        let beside = |mut c: [i32; D], n: i32| {
            for a in 0..D {
                c[a] += n / 3i32.pow(a as u32) % 3 - 1;
            }
            c
        };
        let (keys, coords) = sorted(coords.into_iter().filter(inside).collect());
        let mut ghosts = Vec::new();
        if bounds.as_flattened().iter().any(Option::is_some) {
            for &c in &coords {
                ghosts.extend((0..neighbours).map(|n| beside(c, n)).filter(|c| !inside(c)));
            }
        }
        let (ghost_keys, ghosts) = sorted(ghosts);
        let first = coords.len() as u32 + 1;
        let slots = |a: usize, is: &dyn Fn(usize, i32) -> bool| {
            (first..).zip(&ghosts).filter(|(_, c)| is(a, c[a])).map(|(slot, _)| slot).collect()
        };
        let behind = std::array::from_fn(|a| [slots(a, &below), slots(a, &above)]);
        let around = vec![0; neighbours as usize];
        let bands = bands(&coords);
        let mut tiles = Tiles { coords, keys, bounds, ghosts, ghost_keys, behind, around, bands };
        for t in 0..tiles.coords.len() + tiles.ghosts.len() {
            let here = *tiles.coords.get(t).unwrap_or_else(|| &tiles.ghosts[t - tiles.coords.len()]);
            let slots = (0..neighbours).map(|n| tiles.slot(beside(here, n))).collect::<Vec<_>>();
            tiles.around.extend(slots);
        }
        tiles
    }

    /// The numbers of the tiles in the band of one.
    pub(crate) fn band(&self, tile: usize) -> Range<usize> {
        let [begin, end] = self.bands[tile];
        begin as usize..end as usize
    }

    /// Where sides bound the tiles.
    pub fn bounds(&self) -> Bounds<D> {
        self.bounds
    }

    /// The slots of ghost tiles behind one side of an axis.
    pub(crate) fn behind(&self, a: usize, upper: bool) -> &[u32] {
        &self.behind[a][upper as usize]
    }

    /// How many slots there are: the background, the tiles, and ghost tiles.
    pub(crate) fn slots(&self) -> usize {
        1 + self.coords.len() + self.ghosts.len()
    }

    /// The place of the tile in a slot, in tiles; not of the background.
    pub(crate) fn place(&self, slot: u32) -> [i32; D] {
        let t = slot as usize - 1;
        *self.coords.get(t).unwrap_or_else(|| &self.ghosts[t - self.coords.len()])
    }

    /// Place of each tile, in tiles from cell 0, in the order in which they are stored.
    pub fn coords(&self) -> &[[i32; D]] {
        &self.coords
    }

    /// The number of a tile in the order of [`Tiles::coords`].
    pub fn find(&self, coords: [i32; D]) -> Option<usize> {
        self.keys.binary_search(&key(coords)).ok()
    }

    /// Whether the tile beside tile `t` along axis `a` exists.
    pub fn has_beside(&self, t: usize, a: usize, upper: bool) -> bool {
        self.beside(t as u32 + 1, a, upper) != 0
    }

    /// The slot of a tile or ghost tile; 0 where there is none.
    pub(crate) fn slot(&self, coords: [i32; D]) -> u32 {
        let ghost = || self.ghost_keys.binary_search(&key(coords)).ok().map(|g| self.coords.len() + g);
        self.find(coords).or_else(ghost).map_or(0, |t| t as u32 + 1)
    }

    /// The slots of the 3^D tiles around a slot, x fastest.
    #[inline(always)]
    pub(crate) fn around(&self, slot: u32) -> &[u32] {
        let n = 3usize.pow(D as u32);
        &self.around[slot as usize * n..][..n]
    }

    /// The slot beside a slot along an axis.
    #[inline(always)]
    pub(crate) fn beside(&self, slot: u32, a: usize, upper: bool) -> u32 {
        let (n, step) = (3usize.pow(D as u32), 3usize.pow(a as u32));
        let middle = slot as usize * n + n / 2;
        self.around[if upper { middle + step } else { middle - step }]
    }
}

/// Of sorted tiles where the band of each begins and ends.
fn bands<const D: usize>(coords: &[[i32; D]]) -> Vec<[u32; 2]> {
    let mut bands = Vec::with_capacity(coords.len());
    while bands.len() < coords.len() {
        let begin = bands.len();
        let follows = |i: usize| {
            let mut next = coords[begin];
            next[0] = next[0].wrapping_add((i - begin) as i32);
            coords[i] == next
        };
        let most = coords.len().min(begin + BAND);
        let end = (begin + 1..most).find(|&i| !follows(i)).unwrap_or(most);
        bands.resize(end, [begin as u32, end as u32]);
    }
    bands
}

/// A row and what lies beside it, as places in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beside<const D: usize> {
    /// Number of the row.
    pub number: usize,
    /// Its first cell.
    pub here: usize,
    /// The first cells of the rows beside it; along x of the same row, shifted by one cell, which on tiles is right for
    /// all cells but one.
    pub below: [usize; D],
    pub above: [usize; D],
    /// The cells before its first and behind its last one.
    pub ends: [usize; 2],
}

/// Walks along rows by steps, which is cheaper than to look up each of them.
pub(crate) struct Walk<'a, const D: usize> {
    layout: &'a Layout<D>,
    number: usize,
    end: usize,
    here: usize,
    /// Index of the row within its box or tile.
    local: [usize; D],
    slot: u32,
    /// How far from a cell at the rim of the box or tile the cells beside it are; for x from the first cell of the row.
    beyond: [[isize; 2]; D],
}

impl<'a, const D: usize> Walk<'a, D> {
    pub fn new(layout: &'a Layout<D>, rows: std::ops::Range<usize>) -> Self {
        let first = layout.row(rows.start);
        let mut local = [0; D];
        for a in 1..D {
            local[a] = first.index[a].rem_euclid(layout.cells[a] as isize) as usize;
        }
        let (number, end) = (rows.start, rows.end);
        let mut walk = Walk { layout, number, end, here: first.start, local, slot: first.slot, beyond: [[0; 2]; D] };
        walk.enter();
        walk
    }

    /// Looks up what lies around a box or tile.
    #[inline(always)]
    fn enter(&mut self) {
        let Layout { cells, stride, tiles, .. } = self.layout;
        for a in 0..D {
            let (step, across) = (stride[a] as isize, ((cells[a] - 1) * stride[a]) as isize);
            self.beyond[a] = match tiles.as_deref() {
                None => [-step, if a == 0 { across + step } else { step }],
                Some(tiles) => {
                    let tile = cells[0].pow(D as u32) as isize;
                    let to = |upper| (tiles.beside(self.slot, a, upper) as isize - self.slot as isize) * tile;
                    [to(false) + across, if a == 0 { to(true) } else { to(true) - across }]
                }
            };
        }
    }

    /// The first cell and the number of cells of the next stretch of memory without ghosts: a row of a box, or all the
    /// tiles that are left.
    #[inline(always)]
    pub fn stretch(&mut self) -> Option<(usize, usize)> {
        if self.layout.tiles.is_none() {
            let n = self.layout.cells[0];
            return self.next().map(|row| (row.here, n));
        }
        let rows = self.end - self.number;
        self.number = self.end;
        (rows > 0).then_some((self.here, rows * self.layout.cells[0]))
    }

    /// [`Walk::stretch`], in a box without what lies outside of the spans of rows, if there are some.
    #[inline(always)]
    pub fn stretch_of(&mut self, used: &[Span]) -> Option<(usize, usize)> {
        if used.is_empty() || self.layout.tiles.is_some() {
            return self.stretch();
        }
        loop {
            let row = self.next()?;
            let cells = used[row.number].eights(self.layout.cells[0]);
            if !cells.is_empty() {
                return Some((row.here + cells.start, cells.len()));
            }
        }
    }

    #[inline(always)]
    pub fn next(&mut self) -> Option<Beside<D>> {
        if self.number == self.end {
            return None;
        }
        let Layout { cells, stride, .. } = self.layout;
        let here = self.here;
        let (mut below, mut above) = ([here - 1; D], [here + 1; D]);
        for a in 1..D {
            let step = stride[a] as isize;
            let down = if self.local[a] == 0 { self.beyond[a][0] } else { -step };
            let up = if self.local[a] + 1 == cells[a] { self.beyond[a][1] } else { step };
            below[a] = here.wrapping_add_signed(down);
            above[a] = here.wrapping_add_signed(up);
        }
        let ends = self.beyond[0].map(|by| here.wrapping_add_signed(by));
        let row = Beside { number: self.number, here, below, above, ends };

        self.number += 1;
        for a in 1..D {
            self.local[a] += 1;
            self.here += stride[a];
            if self.local[a] < cells[a] {
                return Some(row);
            }
            self.local[a] = 0;
            self.here -= cells[a] * stride[a];
        }
        // The next tile, if there is one: a box ends here.
        if self.number < self.end {
            self.here += cells[0].pow(D as u32);
            self.slot += 1;
            self.enter();
        }
        Some(row)
    }
}

/// Coordinates of tiles lie within this far of zero: 2^20 tiles are 16 million cells.
pub(crate) const REACH: i64 = 1 << 20;

/// What tiles are sorted by: z, then y, then x, so that the order does not depend on where they are. Tiles further than
/// `REACH` away share the key of the last one within: who makes tiles refuses them before.
fn key<const D: usize>(coords: [i32; D]) -> u64 {
    let place = |a: usize| ((coords[a] as i64).clamp(-REACH, REACH - 1) + REACH) as u64;
    (0..D).rev().fold(0, |key, a| key << 21 | place(a))
}
