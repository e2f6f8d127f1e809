//! Dense copies of a tile and what lies around it, so that a tile is sampled like a box.

use std::ops::Range;

use crate::threads::prelude::*;

use super::{AxisRule, Corners, Rules};
use crate::Real;
use crate::field::{Field, VectorField};
use crate::grid::Ends;
use crate::layout::{HALO, Layout, Row, SLACK, tile_width};

/// Copies of some fields around a tile, or some tiles in a row, with the memory layout of a box.
pub(crate) struct Windows<const D: usize> {
    tiles: Range<usize>,
    /// Cells around the tiles, ghosts not counted.
    margin: usize,
    pub layout: Layout<D>,
    pub rules: [AxisRule; D],
    data: Vec<Vec<Real>>,
}

impl<const D: usize> Windows<D> {
    pub fn new() -> Self {
        let layout = Layout::dense([tile_width::<D>(); D]);
        let rules = Rules { ends: [Ends::FLAT; D], conserved: false }.of_box(layout.cells());
        Windows { tiles: 0..0, margin: 0, layout, rules, data: Vec::new() }
    }

    /// Forgets the tiles: the fields have changed.
    pub fn leave(&mut self) {
        self.tiles = 0..0;
    }

    /// Makes the windows those around the band of the tile of a row, if they are not yet: `margins` says for each tile how many
    /// cells around it are needed, ghosts not counted. Points are kept between the sides that bound the tiles.
    pub fn enter<'f>(
        &mut self,
        row: Row<'_, D>,
        margins: &[u8],
        rules: Rules<D>,
        fields: impl Iterator<Item = &'f Field<D>>,
    ) {
        let tile = row.tile().expect("windows are for tiles");
        if !self.tiles.contains(&tile) {
            let band = row.band();
            let margin = margins[band.clone()].iter().copied().max().unwrap_or(0);
            self.go_to(row, band, margin.into(), rules, fields);
        }
    }

    /// [`Windows::enter`] for the tile of the row alone, with nothing but ghosts around it.
    pub fn enter_tile<'f>(&mut self, row: Row<'_, D>, rules: Rules<D>, fields: impl Iterator<Item = &'f Field<D>>) {
        let tile = row.tile().expect("windows are for tiles");
        if !self.tiles.contains(&tile) {
            self.go_to(row, tile..tile + 1, 0, rules, fields);
        }
    }

    fn go_to<'f>(
        &mut self,
        row: Row<'_, D>,
        tiles: Range<usize>,
        margin: usize,
        rules: Rules<D>,
        fields: impl Iterator<Item = &'f Field<D>>,
    ) {
        if margin != self.margin || tiles.len() != self.tiles.len() {
            let width = |a: usize| tile_width::<D>() * if a == 0 { tiles.len() } else { 1 };
            self.margin = margin;
            self.layout = Layout::dense(std::array::from_fn(|a| width(a) + 2 * margin));
        }
        self.tiles = tiles;
        let cells = self.layout.cells();
        self.rules = std::array::from_fn(|a| {
            let [below, above] = row.ghosts_beside(&self.tiles, a);
            let faces = [margin as i32, (cells[a] - margin) as i32];
            rules.rule(a, cells[a], [below.then_some(faces[0]), above.then_some(faces[1])])
        });
        for (i, field) in fields.enumerate() {
            if self.data.len() == i {
                self.data.push(Vec::new());
            }
            self.data[i].resize(self.layout.storage(), 0.0);
            copy_around(row, &self.tiles, field, &self.layout, &mut self.data[i]);
        }
    }

    /// Where the first cell of the tile of a row is in the windows; in a box, where there are none, nowhere.
    #[inline(always)]
    pub fn corner(&self, row: Row<'_, D>) -> [i32; D] {
        let mut corner = [self.margin as i32; D];
        if let Some(tile) = row.tile() {
            corner[0] += ((tile - self.tiles.start) * tile_width::<D>()) as i32;
        }
        corner
    }

    /// The values of the `i`-th field.
    pub fn corners(&self, i: usize) -> Corners<'_, D> {
        Corners { data: &self.data[i], stride: self.layout.stride() }
    }
}

/// Fills a whole window, ghosts included, from some tiles in a row and those around them.
fn copy_around<const D: usize>(
    row: Row<'_, D>,
    tiles: &Range<usize>,
    field: &Field<D>,
    window: &Layout<D>,
    out: &mut [Real],
) {
    let width = tile_width::<D>();
    let [long, total] = [window.cells()[0] + 2 * HALO, window.cells()[D - 1] + 2 * HALO];
    // The window begins `before` cells before the tiles.
    let before = (total - width) / 2;
    let around = |tile: usize| row.around_tile(tile).expect("windows are for tiles");
    // Copies of a length known to the compiler are a few instructions; others are calls.
    let copy: fn(&[Real], &mut [Real]) = match before {
        2 => copy_exactly::<2>,
        3 => copy_exactly::<3>,
        4 => copy_exactly::<4>,
        5 => copy_exactly::<5>,
        6 => copy_exactly::<6>,
        _ => |from, to| to.copy_from_slice(from),
    };
    // Counted, as a division takes as long as some copies.
    let mut place = [0; D];
    for _ in 0..total.pow(D as u32 - 1) {
        let (mut from, mut to, mut line) = ([0isize; D], SLACK, 0);
        for a in 1..D {
            let i = place[a];
            let third = 1 + (i >= before + width) as usize - (i < before) as usize;
            from[a] = (i + width - before - third * width) as isize;
            line += third * 3usize.pow(a as u32);
            to += i * window.stride()[a];
        }
        for i in &mut place[1..] {
            *i += 1;
            if *i < total {
                break;
            }
            *i = 0;
        }
        let first = field.layout().in_slot(0, from);
        let start = |tile: usize, third: usize| {
            first + around(tile)[line + third] as usize * const { tile_width::<D>().pow(D as u32) }
        };
        let (out_left, out) = out[to..to + long].split_at_mut(before);
        let (out_middle, out_right) = out.split_at_mut(tiles.len() * width);
        copy(&field.data[start(tiles.start, 0) + width - before..][..before], out_left);
        for (tile, out) in tiles.clone().zip(out_middle.chunks_exact_mut(width)) {
            let middle = start(tile, 1);
            if D == 3 {
                copy_exactly::<16>(&field.data[middle..middle + width], out);
            } else {
                copy_exactly::<32>(&field.data[middle..middle + width], out);
            }
        }
        copy(&field.data[start(tiles.end - 1, 2)..][..before], out_right);
    }
}

#[inline(always)]
fn copy_exactly<const N: usize>(from: &[Real], to: &mut [Real]) {
    let (from, to): (&[Real; N], &mut [Real; N]) =
        (from.try_into().expect("as long as said"), to.try_into().expect("as long as said"));
    *to = *from;
}

/// How many cells paths can be long on tiles: they end within the tiles beside.
pub(crate) fn furthest<const D: usize>() -> usize {
    tile_width::<D>() - HALO
}

/// For every tile: how many cells around it paths may reach, given the largest distance that one unit of velocity covers in
/// cells, along any axis. Windows end within the tiles beside: if a path may go further, returns how far, in cells.
pub(crate) fn reach<const D: usize>(u: &VectorField<D>, cells_per_speed: Real, out: &mut Vec<u8>) -> Option<f64> {
    let layout = u[0].layout();
    let tiles = layout.as_tiles()?;
    let tile = tile_width::<D>().pow(D as u32);
    let speed = |slot: usize| {
        let most =
            |f: &Field<D>| f.data[SLACK + slot * tile..][..tile].iter().fold(0, |m: u32, v| m.max(v.abs().to_bits()));
        Real::from_bits(u.iter().map(most).max().unwrap_or(0))
    };
    let count = tiles.coords().len();
    let speeds: Vec<Real> = (0..tiles.slots()).into_par_iter().map(speed).collect();
    let furthest = furthest::<D>();
    out.clear();
    out.extend((0..count).map(|t| {
        let most = tiles.around(t as u32 + 1).iter().map(|&slot| speeds[slot as usize]).fold(0.0, Real::max);
        // A little more for rounding. NaN and what is too fast reach as far as the tiles beside.
        let cells = (most * cells_per_speed * 1.001).ceil();
        if cells < furthest as Real { cells as u8 } else { furthest as u8 }
    }));
    let most = speeds.iter().copied().fold(0.0, Real::max) as f64 * cells_per_speed as f64;
    (most > furthest as f64).then_some(most)
}
