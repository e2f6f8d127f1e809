//! Scatter from particles to the grid, bit-identical for any number of threads.
//!
//! Every tile ([`mod@crate::tiles`]) has a window of its own, its cells and some around it, into which it adds what its particles
//! contribute, in its own order. Then every tile adds up its cells from the windows that reach them, in a fixed order. Nothing is
//! locked, and a box covered by tiles gets the same bits as the box itself.
//!
//! Mass on cells, by trilinear weights:
//!
//! ```
//! use squall_core::scatter::Scatter;
//! use squall_core::{At, Ends, Field};
//!
//! let places = [[3.2f32, 0.6], [31.9, 17.5], [39.8, 19.9]];          // in cells
//! let mut mass = Field::<2>::new([40, 20], At::Center, [Ends::Periodic; 2])?;
//! // The particles of each tile; a model keeps them sorted.
//! let cell = |p: &[f32; 2]| p.map(|x| x as isize);
//! let mut of_tile = vec![Vec::new(); mass.layout().tile_count()];
//! places.iter().for_each(|p| of_tile[mass.layout().tile_of(cell(p)).unwrap()].push(*p));
//!
//! let mut scatter = Scatter::new(1);
//! scatter.add([&mut mass], |tile, [mass]| {
//!     for p in &of_tile[tile.number] {
//!         // The cells whose centres are around it, and the way from the first.
//!         let first = p.map(|x| (x - 0.5).floor() as isize);
//!         let [x, y] = std::array::from_fn(|a| p[a] - 0.5 - first[a] as f32);
//!         for (j, wy) in [1.0 - y, y].into_iter().enumerate() {
//!             let row = mass.row([first[0], first[1] + j as isize], 2);
//!             row[0] += wy * (1.0 - x);
//!             row[1] += wy * x;
//!         }
//!     }
//! })?;
//! assert!((squall_core::ops::sum(&mass) - 3.0).abs() < 1e-6);
//! # Ok::<(), squall_core::OutOfMemory>(())
//! ```

use crate::Real;
use crate::field::{Field, OutOfMemory};
use crate::grid::{At, Ends};
use crate::layout::{Layout, tile_width};
use crate::threads::prelude::*;
use crate::tiles::{Tile, for_each_group};

/// Room for windows. It keeps its memory from one use to the next.
#[derive(Debug)]
pub struct Scatter<const D: usize> {
    margin: usize,
    windows: Vec<Real>,
    /// Whether a window holds anything.
    used: Vec<bool>,
    /// Of a box, for each kind of place, along each axis for each tile: which parts of which windows it takes.
    parts: Vec<(At, Parts<D>)>,
    /// What `parts` was made for.
    made_for: Option<([usize; D], [bool; D])>,
}

type Parts<const D: usize> = [Vec<Vec<Part>>; D];

/// A stretch of a window along one axis that belongs to a stretch of a tile.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    /// The tile whose window it is, along this axis.
    tile: usize,
    from: usize,
    to: usize,
    len: usize,
}

/// The cells of a tile and some around it, to be added to. Indices are those of the field: below 0 and behind the last cell,
/// too, along a periodic axis as if it went on.
pub struct Window<'a, const D: usize> {
    data: &'a mut [Real],
    used: &'a mut bool,
    /// What it begins with.
    nothing: Real,
    first: [isize; D],
    sizes: [usize; D],
    stride: [usize; D],
}

impl<const D: usize> Window<'_, D> {
    /// `len` values along x, from a place on.
    #[inline]
    pub fn row(&mut self, index: [isize; D], len: usize) -> &mut [Real] {
        if !*self.used {
            *self.used = true;
            self.data.fill(self.nothing);
        }
        let local: [usize; D] = std::array::from_fn(|a| (index[a] - self.first[a]) as usize);
        debug_assert!(local[0] + len <= self.sizes[0] && (1..D).all(|a| local[a] < self.sizes[a]), "beyond the window");
        let at: usize = (0..D).map(|a| local[a] * self.stride[a]).sum();
        &mut self.data[at..at + len]
    }

    /// The value at a place.
    #[inline]
    pub fn value(&mut self, index: [isize; D]) -> &mut Real {
        &mut self.row(index, 1)[0]
    }
}

impl<const D: usize> Scatter<D> {
    /// For windows that reach so many cells beyond their tile: 1 for trilinear weights, at cells, faces or nodes; 2 for quadratic
    /// B-splines.
    pub fn new(margin: usize) -> Self {
        assert!((1..=tile_width::<D>()).contains(&margin), "windows reach into the tiles beside");
        Scatter { margin, windows: Vec::new(), used: Vec::new(), parts: Vec::new(), made_for: None }
    }

    /// Adds to fields that share a layout, a place in the cell and ends. `f(tile, windows)` is called once for each tile, in
    /// parallel, and adds into its windows, one for each field.
    ///
    /// What reaches beyond a periodic end comes back at the other. Beyond other ends only the values on the end itself exist, the
    /// last faces or nodes; what else reaches there, or where no tile is, is dropped. Memory is taken at the first use, and when
    /// there are more tiles.
    pub fn add<const K: usize>(
        &mut self,
        fields: [&mut Field<D>; K],
        f: impl Fn(Tile<D>, &mut [Window<'_, D>; K]) + Sync,
    ) -> Result<(), OutOfMemory> {
        self.combine([fields], 0.0, |sum, v| *sum += v, |tile, [windows]| f(tile, windows))
    }

    /// [`Scatter::add`] to `N` lists of fields, each of which has a place in the cell of its own.
    pub fn add_all<const K: usize, const N: usize>(
        &mut self,
        fields: [[&mut Field<D>; K]; N],
        f: impl Fn(Tile<D>, &mut [[Window<'_, D>; K]; N]) + Sync,
    ) -> Result<(), OutOfMemory> {
        self.combine(fields, 0.0, |sum, v| *sum += v, f)
    }

    /// [`Scatter::add`] for the smallest of what many contribute: a field keeps what it has where nothing smaller comes. Windows begin
    /// with what is larger than everything.
    pub fn least<const K: usize>(
        &mut self,
        fields: [&mut Field<D>; K],
        f: impl Fn(Tile<D>, &mut [Window<'_, D>; K]) + Sync,
    ) -> Result<(), OutOfMemory> {
        self.combine([fields], Real::INFINITY, |least, v| *least = least.min(v), |tile, [windows]| f(tile, windows))
    }

    fn combine<const K: usize, const N: usize>(
        &mut self,
        fields: [[&mut Field<D>; K]; N],
        nothing: Real,
        join: impl Fn(&mut Real, Real) + Sync,
        f: impl Fn(Tile<D>, &mut [[Window<'_, D>; K]; N]) + Sync,
    ) -> Result<(), OutOfMemory> {
        let layout = fields[0][0].layout().clone();
        let periodic = |field: &Field<D>| field.ends().map(|e| e == Ends::Periodic);
        let joined = periodic(fields[0][0]);
        let alike = |list: &[&mut Field<D>; K]| {
            list.iter().all(|f| f.layout() == &layout && f.at() == list[0].at() && periodic(f) == joined)
        };
        assert!(fields.iter().all(alike), "fields of one shape at one place");

        // Windows of the same size for all tiles, so that their places are known.
        let margin = self.margin;
        let sizes = layout.cells().map(|n| n.min(tile_width::<D>()) + 2 * margin);
        let mut stride = [1; D];
        for a in 1..D {
            stride[a] = stride[a - 1] * sizes[a - 1];
        }
        let (size, count) = (sizes.iter().product::<usize>(), layout.tile_count());
        let (values, there) = (count.saturating_mul(N * K * size), self.windows.len());
        let bytes = values.saturating_mul(size_of::<Real>());
        let room = self.windows.try_reserve_exact(values.saturating_sub(there));
        room.map_err(|_| OutOfMemory { cells: layout.cells().to_vec(), bytes })?;
        self.windows.resize(values.max(there), 0.0);
        self.used.clear();
        self.used.resize(count * N * K, false);
        let windows = self.windows[..values].par_chunks_mut(N * K * size);
        windows.zip(self.used.par_chunks_mut(N * K)).enumerate().for_each(|(number, (data, used))| {
            let tile = layout.tile(number);
            let first = tile.first.map(|i| i - margin as isize);
            let mut parts = data.chunks_exact_mut(size).zip(used);
            let mut windows = std::array::from_fn(|_| {
                std::array::from_fn(|_| {
                    let (data, used) = parts.next().expect("a window for each field");
                    Window { data, used, nothing, first, sizes, stride }
                })
            });
            f(tile, &mut windows);
        });

        if layout.as_tiles().is_none() && self.made_for != Some((layout.cells(), joined)) {
            self.parts.clear();
            self.made_for = Some((layout.cells(), joined));
        }
        for (n, fields) in fields.into_iter().enumerate() {
            let at = fields[0].at();
            if layout.as_tiles().is_none() && !self.parts.iter().any(|(place, _)| *place == at) {
                let along = |a: usize| {
                    parts_along(layout.cells()[a], tile_width::<D>(), margin, joined[a], at.on_lower_side(a))
                };
                self.parts.push((at, std::array::from_fn(along)));
            }
            let window = |number: usize, k: usize| {
                let w = (number * N + n) * K + k;
                self.used[w].then(|| &self.windows[w * size..][..size])
            };
            let slices = fields.map(|f| &mut f.data_mut()[layout.group_start(0)..]);
            if let Some(tiles) = layout.as_tiles() {
                let groups = tiles.slots() - 1;
                for_each_group(&layout, 0, groups, slices, &|g, mut slices| {
                    let slot = g as u32 + 1;
                    let Some(cells) = written(&layout, at, slot) else { return };
                    for (n, &from) in tiles.around(slot).iter().enumerate() {
                        if from == 0 || from as usize > count {
                            continue;
                        }
                        let parts =
                            std::array::from_fn(|a| part_beside::<D>(n / 3usize.pow(a as u32) % 3, cells[a], margin));
                        for (k, out) in slices.iter_mut().enumerate() {
                            if let Some(window) = window(from as usize - 1, k) {
                                add_part((&mut **out, 0, layout.stride()), (window, stride), parts, &join);
                            }
                        }
                    }
                });
                continue;
            }
            let parts = self.parts.iter().find(|(place, _)| *place == at).map(|(_, parts)| parts);
            let parts = parts.expect("just made");
            let counts = parts.each_ref().map(Vec::len);
            for_each_group(&layout, 0, layout.groups(), slices, &|g, mut slices| {
                for number in layout.group(g) {
                    let begin = layout.offset(layout.tile(number).first) - layout.group_start(g);
                    let mut rest = number;
                    let lists: [&[Part]; D] = std::array::from_fn(|a| {
                        let c = rest % counts[a];
                        rest /= counts[a];
                        &parts[a][c][..]
                    });
                    for mut s in 0..lists.iter().map(|list| list.len()).product::<usize>() {
                        let parts = lists.map(|list| {
                            let part = list[s % list.len()];
                            s /= list.len();
                            part
                        });
                        let from = (0..D).rev().fold(0, |n, a| n * counts[a] + parts[a].tile);
                        for (k, out) in slices.iter_mut().enumerate() {
                            if let Some(window) = window(from, k) {
                                add_part((&mut **out, begin, layout.stride()), (window, stride), parts, &join);
                            }
                        }
                    }
                }
            });
        }
        Ok(())
    }
}

/// How many values along each axis a tile has: all of its cells; of a ghost tile those on the end of an axis, if it is the upper
/// one and the field has values there.
fn written<const D: usize>(layout: &Layout<D>, at: At, slot: u32) -> Option<[usize; D]> {
    let (tiles, width) = (layout.as_tiles()?, tile_width::<D>());
    let mut cells = [width; D];
    for (a, c) in tiles.place(slot).into_iter().enumerate() {
        let [first, end] = tiles.bounds()[a];
        if first.is_some_and(|first| c < first) {
            return None;
        }
        match end {
            Some(end) if c == end && at.on_lower_side(a) => cells[a] = 1,
            Some(end) if c >= end => return None,
            _ => {}
        }
    }
    Some(cells)
}

/// What a tile of so many cells takes along one axis of the window of the tile below (0), of its own (1), of the tile above (2).
fn part_beside<const D: usize>(which: usize, cells: usize, margin: usize) -> Part {
    let width = tile_width::<D>();
    let (from, to, len) = match which {
        0 => (margin + width, 0, margin.min(cells)),
        1 => (margin, 0, cells),
        _ => (0, width - margin, if cells == width { margin } else { 0 }),
    };
    Part { tile: 0, from, to, len }
}

/// The same for all tiles of an axis of a box, in the order of the windows in space.
fn parts_along(cells: usize, width: usize, margin: usize, periodic: bool, on_lower_side: bool) -> Vec<Vec<Part>> {
    let count = cells.div_ceil(width);
    let mut all: Vec<Vec<(isize, Part)>> = vec![Vec::new(); count];
    // On an end that is not joined lies one value more: it belongs to the last tile.
    let last = if on_lower_side && !periodic { cells } else { cells - 1 };
    for tile in 0..count {
        let own = width.min(cells - tile * width);
        for from in 0..own + 2 * margin {
            let place = (tile * width + from) as isize - margin as isize;
            let index = if periodic { place.rem_euclid(cells as isize) } else { place };
            if index < 0 || index > last as isize {
                continue;
            }
            let index = index as usize;
            let owner = (index / width).min(count - 1);
            let (to, turn) = (index - owner * width, (index as isize - place) / cells as isize);
            // Where the window begins, as its owner sees it.
            let begin = tile as isize * width as isize + turn * cells as isize;
            match all[owner].last_mut() {
                Some((b, part))
                    if *b == begin && part.tile == tile && (part.from + part.len, part.to + part.len) == (from, to) =>
                {
                    part.len += 1;
                }
                _ => all[owner].push((begin, Part { tile, from, to, len: 1 })),
            }
        }
    }
    let sorted = |mut parts: Vec<(isize, Part)>| {
        parts.sort_by_key(|&(begin, part)| (begin, part.from));
        parts.into_iter().map(|(_, part)| part).collect()
    };
    all.into_iter().map(sorted).collect()
}

/// Joins a part of a window to values, of which the tile's first lies at a place.
fn add_part<const D: usize>(
    (out, begin, out_stride): (&mut [Real], usize, [usize; D]),
    (window, stride): (&[Real], [usize; D]),
    parts: [Part; D],
    join: &impl Fn(&mut Real, Real),
) {
    let from: usize = (0..D).map(|a| parts[a].from * stride[a]).sum();
    let to: usize = begin + (0..D).map(|a| parts[a].to * out_stride[a]).sum::<usize>();
    for mut r in 0..parts[1..].iter().map(|p| p.len).product::<usize>() {
        let (mut from, mut to) = (from, to);
        for a in 1..D {
            let i = r % parts[a].len;
            r /= parts[a].len;
            (from, to) = (from + i * stride[a], to + i * out_stride[a]);
        }
        let n = parts[0].len;
        out[to..to + n].iter_mut().zip(&window[from..from + n]).for_each(|(out, v)| join(out, *v));
    }
}
