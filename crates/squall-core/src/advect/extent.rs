//! Where substances are present: elsewhere advection has nothing to do.
//!
//! A field is uniform but for some cells: what transport leaves differs from that one value only within reach of them. So
//! values are computed there, written around it, and read nowhere else; the result is the same to the bit as if all had been
//! computed.

use std::ops::Range;

use crate::Real;
use crate::field::Field;
use crate::grid::{End, Ends};
use crate::layout::{Layout, Row, Tiles, tile_width};
use crate::ops::is_all;
use crate::rows;

/// Cells `[begin, end)` of a row of a box, or of the runs of a tile.
pub(super) type Span = [u32; 2];

const NOTHING: Span = [u32::MAX, 0];

fn is_empty(span: Span) -> bool {
    span[0] >= span[1]
}

fn both(a: Span, b: Span) -> Span {
    [a[0].min(b[0]), a[1].max(b[1])]
}

/// Spans begin and end at multiples of this, or with the row: in a box whole vectors.
fn block<const D: usize>(layout: &Layout<D>) -> usize {
    if layout.as_tiles().is_some() { 1 } else { 8 }
}

/// Which cells of some fields can change.
#[derive(Debug, Default)]
pub(super) struct Extent {
    /// No part of the layout can be left out.
    everywhere: bool,
    /// The value that each field has everywhere else.
    elsewhere: Vec<Real>,
    /// For each row of a box, or each tile: what is to be computed, and what of the uniform rest is read.
    inside: Vec<Span>,
    around: Vec<Span>,
    /// For each row where fields were not uniform to begin with, and where they are not now.
    rows: Vec<Span>,
    scanned: Vec<Span>,
    spare: Vec<Span>,
}

impl Extent {
    /// Of the whole layout.
    pub fn set_everywhere(&mut self) {
        self.everywhere = true;
    }

    /// Of what lies within so many cells of some cells of each row ([`cells_above`]); the rest is neither computed nor read.
    pub fn set_around<const D: usize>(&mut self, cells: &[Span], field: &Field<D>, by: [usize; D]) {
        self.everywhere = false;
        self.elsewhere.clear();
        widen(cells, field, by, &mut self.inside, &mut self.spare);
        self.around.clone_from(&self.inside);
    }

    /// Of fields whose values are to be moved three times, by `reach` cells along each axis at most: after the last time they may
    /// differ within three times that distance, and within four times of it they are read.
    pub fn set<const D: usize>(&mut self, fields: &[&mut Field<D>], reach: [usize; D]) {
        self.everywhere = true;
        let layout = fields[0].layout().clone();
        let block = block(&layout);
        let mut rounded = reach;
        rounded[0] = reach[0].next_multiple_of(block);
        if (0..D).any(|a| 3 * rounded[a] >= layout.cells()[a]) {
            return;
        }
        self.elsewhere.clear();
        for field in fields {
            // Any value will do; this one is likely to be everywhere.
            let value = match layout.as_tiles() {
                None => field.get([0; D]),
                Some(_) => field.ends().into_iter().find_map(Ends::outside).unwrap_or(0.0),
            };
            let comes_in = |end| matches!(end, End::Value(b) | End::Outside(b) if b != value);
            if field.ends().iter().any(|ends| ends.pair().is_some_and(|pair| pair.into_iter().any(comes_in))) {
                return;
            }
            self.elsewhere.push(value);
        }
        self.rows.clear();
        self.rows.resize(layout.rows(), NOTHING);
        for (field, &value) in fields.iter().zip(&self.elsewhere) {
            rows::items(&layout, &mut self.rows, |row, span| {
                *span = both(*span, differing(field.row(row), value, block))
            });
        }
        match layout.as_tiles() {
            None => widen(&self.rows, fields[0], rounded.map(|r| 4 * r), &mut self.around, &mut self.spare),
            // Tiles are computed whole, so that all around each may be read.
            Some(tiles) => {
                widen(&self.rows, fields[0], rounded.map(|r| 3 * r), &mut self.spare, &mut Vec::new());
                self.around.clear();
                self.around.extend((0..tiles.coords().len()).map(|t| {
                    let near =
                        |&slot: &u32| slot != 0 && self.spare.get(slot as usize - 1).is_some_and(|&s| !is_empty(s));
                    if tiles.around(t as u32 + 1).iter().any(near) { [0, layout.run() as u32] } else { NOTHING }
                }));
            }
        }
        let part = self.around.iter().map(|s| s[1].saturating_sub(s[0]) as usize).sum::<usize>();
        self.everywhere = 5 * part > 4 * self.around.len() * layout.run();
        if !self.everywhere {
            widen(&self.rows, fields[0], reach, &mut self.inside, &mut self.spare);
        }
    }

    /// Of the next round: what lies within `reach` of where results of the last one, or the fields to begin with, are not
    /// uniform.
    pub fn follow<const D: usize>(&mut self, results: &[Field<D>], reach: [usize; D]) {
        if self.everywhere {
            return;
        }
        let layout = results[0].layout().clone();
        let block = block(&layout);
        let mut scanned = std::mem::take(&mut self.scanned);
        scanned.clear();
        scanned.extend_from_slice(&self.rows);
        for (field, &value) in results.iter().zip(&self.elsewhere) {
            rows::items(&layout, &mut scanned, |row, span| {
                let cells = self.inside(&layout, row);
                if !cells.is_empty() {
                    *span = both(*span, differing_within(field.row(row), cells, value, block));
                }
            });
        }
        widen(&scanned, &results[0], reach, &mut self.inside, &mut self.spare);
        self.scanned = scanned;
    }

    pub fn is_everywhere(&self) -> bool {
        self.everywhere
    }

    /// The cells to be computed of the run that begins with a row.
    #[inline(always)]
    pub fn inside<const D: usize>(&self, layout: &Layout<D>, row: Row<'_, D>) -> Range<usize> {
        self.span(&self.inside, layout, row)
    }

    /// The cells that are read.
    #[inline(always)]
    pub fn around<const D: usize>(&self, layout: &Layout<D>, row: Row<'_, D>) -> Range<usize> {
        self.span(&self.around, layout, row)
    }

    #[inline(always)]
    fn span<const D: usize>(&self, spans: &[Span], layout: &Layout<D>, row: Row<'_, D>) -> Range<usize> {
        if self.everywhere {
            return 0..layout.run();
        }
        let number = row.tile().unwrap_or_else(|| layout.row_number(row));
        let span = spans[number];
        if is_empty(span) { 0..0 } else { span[0] as usize..span[1] as usize }
    }

    /// Gives what is read but not computed of a run the value of the `k`-th field there; 0 if there are not so many.
    #[inline(always)]
    pub fn fill_rest<const D: usize>(&self, layout: &Layout<D>, row: Row<'_, D>, k: usize, run: &mut [Real]) {
        self.fill_rest_with(layout, row, self.elsewhere.get(k).copied().unwrap_or(0.0), run);
    }

    /// Gives what is read but not computed of a run some value.
    #[inline(always)]
    pub fn fill_rest_with<const D: usize>(&self, layout: &Layout<D>, row: Row<'_, D>, value: Real, run: &mut [Real]) {
        if self.everywhere {
            return;
        }
        let (inside, around) = (self.inside(layout, row), self.around(layout, row));
        if inside.is_empty() {
            return run[around].fill(value);
        }
        run[around.start..inside.start].fill(value);
        run[inside.end..around.end].fill(value);
    }

    /// Copies what was computed.
    pub fn copy<const D: usize>(&self, from: &Field<D>, to: &mut Field<D>) {
        let layout = &from.layout().clone();
        rows::for_each_run(
            &mut [to],
            || (),
            |_, row, out| {
                let cells = self.inside(layout, row);
                out[0][cells.clone()].copy_from_slice(&from.run(row)[cells]);
            },
        );
    }
}

/// Leaves in `spans` for each row where a field is above zero.
pub(super) fn cells_above<const D: usize>(field: &Field<D>, spans: &mut Vec<Span>) {
    let layout = field.layout();
    spans.clear();
    spans.resize(layout.rows(), NOTHING);
    rows::items(layout, spans, |row, span| *span = differing(field.row(row), 0.0, block(layout)));
}

/// The cells of a row that differ from a value, in whole blocks.
fn differing(row: &[Real], value: Real, block: usize) -> Span {
    if is_all(row, value) {
        return NOTHING;
    }
    let differs = |block: &[Real]| !is_all(block, value);
    let Some(first) = row.chunks(block).position(differs) else { return NOTHING };
    let last = row.chunks(block).rposition(differs).unwrap_or(first);
    [(block * first) as u32, (block * (last + 1)).min(row.len()) as u32]
}

/// [`differing`] among some cells of a row of a box, or in a whole row of a tile.
fn differing_within(row: &[Real], cells: Range<usize>, value: Real, block: usize) -> Span {
    let (begin, end) = (cells.start.min(row.len()), cells.end.min(row.len()));
    let [first, last] = differing(&row[begin..end], value, block);
    if first >= last { NOTHING } else { [first + begin as u32, last + begin as u32] }
}

/// What lies within so many cells of where fields are not uniform: for each row of a box, or each tile as a whole. `from` has a
/// span for each row.
fn widen<const D: usize>(from: &[Span], field: &Field<D>, by: [usize; D], out: &mut Vec<Span>, spare: &mut Vec<Span>) {
    let layout = field.layout();
    if let Some(tiles) = layout.as_tiles() {
        return widen_tiles(from, layout, tiles, by, out);
    }
    let periodic = field.ends().map(|ends| ends == Ends::Periodic);
    let cells = layout.cells();
    let n = cells[0];
    let by_x = by[0].next_multiple_of(block(layout));
    out.clear();
    out.extend(from.iter().map(|&[begin, end]| {
        if begin >= end {
            return NOTHING;
        }
        let (begin, end) = (begin as usize, end as usize + by_x);
        if periodic[0] && (begin < by_x || end > n) {
            return [0, n as u32];
        }
        [begin.saturating_sub(by_x) as u32, end.min(n) as u32]
    }));
    let mut stride = 1;
    for a in 1..D {
        std::mem::swap(out, spare);
        out.clear();
        let rows = cells[a] as isize;
        // Rows further away from all that are not empty stay empty; with joined ends nothing is far away.
        let filled = |&span: &Span| !is_empty(span);
        let reach = by[a] * stride + stride;
        let near = match (spare.iter().position(filled), spare.iter().rposition(filled)) {
            _ if periodic[a] => 0..spare.len(),
            (Some(first), Some(last)) => first.saturating_sub(reach)..(last + reach + 1).min(spare.len()),
            _ => 0..0,
        };
        out.resize(near.start, NOTHING);
        for r in near {
            let i = (r / stride % cells[a]) as isize;
            let mut span = NOTHING;
            for to in i - by[a] as isize..=i + by[a] as isize {
                let to = if periodic[a] { to.rem_euclid(rows) } else { to };
                if (0..rows).contains(&to) {
                    span = both(span, spare[(r as isize + (to - i) * stride as isize) as usize]);
                }
            }
            out.push(span);
        }
        out.resize(spare.len(), NOTHING);
        stride *= cells[a];
    }
}

fn widen_tiles<const D: usize>(
    from: &[Span],
    layout: &Layout<D>,
    tiles: &Tiles<D>,
    by: [usize; D],
    out: &mut Vec<Span>,
) {
    let (count, whole) = (tiles.coords().len(), [0, layout.run() as u32]);
    out.clear();
    out.resize(count, NOTHING);
    for (t, rows) in from.chunks_exact(layout.rows_per_part()).enumerate() {
        let Some(bounds) = bounding_box::<D>(rows) else { continue };
        for (n, &slot) in tiles.around(t as u32 + 1).iter().enumerate() {
            let reached = (0..D).all(|a| match n / 3usize.pow(a as u32) % 3 {
                0 => bounds[a].start < by[a],
                1 => true,
                _ => bounds[a].end + by[a] > layout.cells()[a],
            });
            if let (true, Some(span)) = (reached && slot != 0, out.get_mut((slot as usize).wrapping_sub(1))) {
                *span = whole;
            }
        }
    }
}

/// Where the rows of a tile are not empty, in cells from its corner.
fn bounding_box<const D: usize>(rows: &[Span]) -> Option<[Range<usize>; D]> {
    let width = tile_width::<D>();
    let mut found: Option<[Range<usize>; D]> = None;
    for (r, span) in rows.iter().enumerate().filter(|&(_, &span)| !is_empty(span)) {
        let here: [Range<usize>; D] = std::array::from_fn(|a| match a {
            0 => span[0] as usize..span[1] as usize,
            _ => {
                let i = r / width.pow(a as u32 - 1) % width;
                i..i + 1
            }
        });
        found = Some(match found {
            None => here,
            Some(b) => std::array::from_fn(|a| b[a].start.min(here[a].start)..b[a].end.max(here[a].end)),
        });
    }
    found
}
