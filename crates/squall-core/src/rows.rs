//! Parallel loops over x-rows, with results that do not depend on the number of threads.
//!
//! Work is halved again and again at places that depend on the grid alone. Loops that write give each row to exactly
//! one task; reductions combine their halves in that fixed tree. Nothing is allocated.

use std::ops::Range;

use smallvec::SmallVec;

use crate::Real;
use crate::field::Field;
use crate::halo::RowRules;
use crate::layout::{HALO, Layout, Row};
use crate::threads;

/// A stretch of cells of one row: what is done with a row may be done there alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub begin: u32,
    pub end: u32,
}

impl Span {
    /// From the first to the last of `n` cells for which `f` holds; empty if it holds for none.
    pub fn around(n: usize, f: impl Fn(usize) -> bool) -> Self {
        let Some(begin) = (0..n).find(|&x| f(x)) else { return Span::default() };
        let end = (0..n).rfind(|&x| f(x)).map_or(n, |x| x + 1);
        Span { begin: begin as u32, end: end as u32 }
    }

    /// Whether no cell is in it.
    #[inline(always)]
    pub fn is_empty(self) -> bool {
        self.begin >= self.end
    }

    /// Its cells.
    #[inline(always)]
    pub fn range(self) -> Range<usize> {
        self.begin as usize..self.end.max(self.begin) as usize
    }

    /// The shortest one that holds both.
    #[inline(always)]
    pub fn join(self, other: Span) -> Span {
        match (self.is_empty(), other.is_empty()) {
            (true, _) => other,
            (_, true) => self,
            _ => Span { begin: self.begin.min(other.begin), end: self.end.max(other.end) },
        }
    }

    /// Its cells within a row of `n`, by whole groups of eight: sums over it have the bits of sums over a row that is zero elsewhere.
    #[inline(always)]
    pub fn eights(self, n: usize) -> Range<usize> {
        if self.is_empty() { 0..0 } else { self.begin as usize & !7..((self.end as usize + 7) & !7).min(n) }
    }

    /// The whole groups of eight in it.
    pub fn whole_eights(self) -> Span {
        let (begin, end) = (self.begin.next_multiple_of(8), self.end & !7);
        if begin < end { Span { begin, end } } else { Span::default() }
    }

    /// Its cells, from an even one on.
    #[inline(always)]
    pub fn pairs(self) -> (usize, usize) {
        (self.begin as usize & !1, self.end as usize)
    }
}

/// A task of fewer cells than this is not worth handing to another thread.
const GRAIN: usize = 8192;

fn grain_rows(nx: usize) -> usize {
    GRAIN.div_ceil(nx)
}

/// Calls `f(row, slices)` for every x-row of fields that share one shape, in parallel.
pub fn for_each<const D: usize, const K: usize, T: Copy + Default + Send + Sync>(
    fields: [&mut Field<D, T>; K],
    f: impl Fn(Row<'_, D>, [&mut [T]; K]) + Sync,
) {
    let layout = fields[0].layout().clone();
    assert!(fields.iter().all(|f| f.layout() == &layout), "fields of one shape");
    let first = layout.first();
    let slices = values(fields, first);
    split(&layout, Piece::row(&layout), 0, layout.rows(), slices, &|| (), &|_, row, at, slices| {
        f(row, each(slices, at))
    });
}

/// [`for_each`] by runs of rows: `f` gets the first row of a run and the values of all its rows.
pub(crate) fn for_each_by_runs<const D: usize, const K: usize, T: Copy + Default + Send + Sync>(
    fields: [&mut Field<D, T>; K],
    f: impl Fn(Row<'_, D>, [&mut [T]; K]) + Sync,
) {
    let layout = fields[0].layout().clone();
    assert!(fields.iter().all(|f| f.layout() == &layout), "fields of one shape");
    let first = layout.first();
    let slices = values(fields, first);
    split(&layout, Piece::run(&layout), 0, layout.rows(), slices, &|| (), &|_, row, at, slices| {
        f(row, each(slices, at))
    });
}

/// Calls `f` with every x-row of one field, ghosts along x included, in parallel.
pub fn for_each_padded<const D: usize, T: Copy + Default + Send + Sync>(
    field: &mut Field<D, T>,
    f: impl Fn(&mut [T]) + Sync,
) {
    let layout = field.layout().clone();
    assert!(layout.as_tiles().is_none(), "tiles have no ghosts");
    let slices = [&mut field.data_mut()[layout.row(0).start - HALO..]];
    split(
        &layout,
        Piece { rows: 1, len: layout.cells()[0] + 2 * HALO },
        0,
        layout.rows(),
        slices,
        &|| (),
        &|_, _, at, [row]| f(&mut row[at]),
    );
}

/// Most fields that [`for_each_of`] takes.
pub const MAX: usize = 12;

/// [`for_each`] for a number of fields known only at run time, [`MAX`] at most, with a workspace that is made once for
/// many rows.
pub fn for_each_of<const D: usize, T: Copy + Default + Send + Sync, W>(
    fields: &mut [Field<D, T>],
    workspace: impl Fn() -> W + Sync,
    f: impl Fn(&mut W, Row<'_, D>, &mut [&mut [T]]) + Sync,
) {
    let count = fields.len();
    assert!((1..=MAX).contains(&count), "from 1 to {MAX} fields");
    let layout = fields[0].layout().clone();
    assert!(fields.iter().all(|f| f.layout() == &layout), "fields of one shape");
    let first = layout.first();
    let slices = values_of(&mut fields.iter_mut(), first);
    split(&layout, Piece::row(&layout), 0, layout.rows(), slices, &workspace, &|w, row, at, slices| {
        f(w, row, &mut pieces(slices, count, at))
    });
}

/// [`for_each_of`] by runs of rows: `f` gets the first row of a run and the values of all its rows.
pub(crate) fn for_each_run<const D: usize, W>(
    fields: &mut [&mut Field<D>],
    workspace: impl Fn() -> W + Sync,
    f: impl Fn(&mut W, Row<'_, D>, &mut [&mut [Real]]) + Sync,
) {
    let count = fields.len();
    assert!((1..=MAX).contains(&count), "from 1 to {MAX} fields");
    let layout = fields[0].layout().clone();
    assert!(fields.iter().all(|f| f.layout() == &layout), "fields of one shape");
    let first = layout.first();
    let slices = values_of(&mut fields.iter_mut().map(|f| &mut **f), first);
    split(&layout, Piece::run(&layout), 0, layout.rows(), slices, &workspace, &|w, row, at, slices| {
        f(w, row, &mut pieces(slices, count, at))
    });
}

/// [`for_each_run`] over those of some rows that are wanted, which also writes, in a box, what lies on the ends of each row and its
/// ghosts, by the rules of those fields that have some: the first ones. On tiles over all rows.
pub(crate) fn for_each_run_with_ghosts<const D: usize, W>(
    fields: &mut [&mut Field<D>],
    rules: &[RowRules],
    rows: Range<usize>,
    wanted: impl Fn(Row<'_, D>) -> bool + Sync,
    workspace: impl Fn() -> W + Sync,
    f: impl Fn(&mut W, Row<'_, D>, &mut [&mut [Real]]) + Sync,
) {
    let layout = fields[0].layout().clone();
    if layout.as_tiles().is_some() {
        return for_each_run(fields, workspace, |w, row, out| {
            if wanted(row) {
                f(w, row, out);
            }
        });
    }
    if rows.is_empty() {
        return;
    }
    let count = fields.len();
    assert!((1..=MAX).contains(&count) && rules.len() <= count, "from 1 to {MAX} fields");
    assert!(fields.iter().all(|f| f.layout() == &layout), "fields of one shape");
    let first = layout.row(rows.start).start - HALO;
    let slices = values_of(&mut fields.iter_mut().map(|f| &mut **f), first);
    let piece = Piece { rows: 1, len: layout.cells()[0] + 2 * HALO };
    split(&layout, piece, rows.start, rows.end, slices, &workspace, &|w, row, at, slices| {
        if !wanted(row) {
            return;
        }
        f(w, row, &mut pieces(slices, count, at.start + HALO..at.end - HALO));
        slices.iter_mut().zip(rules).for_each(|(row, rules)| rules.finish_row(&mut row[at.clone()]));
    });
    fields.iter_mut().zip(rules).for_each(|(field, rules)| field.x_filled = Some(*rules));
}

/// The same piece of each of the first slices.
#[inline(always)]
fn pieces<'a, T>(slices: &'a mut [&mut [T]; MAX], count: usize, at: Range<usize>) -> SmallVec<[&'a mut [T]; MAX]> {
    slices.iter_mut().take(count).map(|s| &mut s[at.clone()]).collect()
}

/// [`for_each`] that also writes the ghosts along x of a box, while a row is in the cache: of those fields that have no values on
/// the ends of that axis.
pub(crate) fn for_each_with_ghosts<const D: usize, const K: usize>(
    fields: [&mut Field<D>; K],
    f: impl Fn(Row<'_, D>, [&mut [Real]; K]) + Sync,
) {
    let layout = fields[0].layout().clone();
    if layout.as_tiles().is_some() {
        return for_each(fields, f);
    }
    assert!(fields.iter().all(|f| f.layout() == &layout), "fields of one shape");
    let rules = fields.each_ref().map(|f| (!f.at().on_lower_side(0)).then(|| f.row_rules(false)));
    let first = layout.first() - HALO;
    let piece = Piece { rows: 1, len: layout.cells()[0] + 2 * HALO };
    let mut fields = fields;
    let slices = fields.each_mut().map(|f| &mut f.data_mut()[first..]);
    split(&layout, piece, 0, layout.rows(), slices, &|| (), &|_, row, at, slices| {
        f(row, each(slices, at.start + HALO..at.end - HALO));
        for (row, rules) in slices.iter_mut().zip(&rules) {
            if let Some(rules) = rules {
                rules.fill_ghosts(&mut row[at.clone()]);
            }
        }
    });
    fields.into_iter().zip(rules).for_each(|(field, rules)| field.x_filled = rules);
}

/// What one call gets: some rows that lie together, as so many values.
#[derive(Clone, Copy)]
struct Piece {
    rows: usize,
    len: usize,
}

impl Piece {
    fn row<const D: usize>(layout: &Layout<D>) -> Self {
        Piece { rows: 1, len: layout.cells()[0] }
    }

    fn run<const D: usize>(layout: &Layout<D>) -> Self {
        Piece { rows: layout.run() / layout.cells()[0], len: layout.run() }
    }
}

/// The slices begin with the piece of row `begin`; `f` gets the place of each piece in them.
fn split<const D: usize, const K: usize, T: Send, W>(
    layout: &Layout<D>,
    piece: Piece,
    begin: usize,
    end: usize,
    slices: [&mut [T]; K],
    workspace: &(impl Fn() -> W + Sync),
    f: &(impl Fn(&mut W, Row<'_, D>, Range<usize>, &mut [&mut [T]; K]) + Sync),
) {
    let base = layout.row(begin).start;
    let middle = if piece.rows > 1 { between_bands(layout, begin, end) } else { middle(layout, begin, end) };
    if end - begin <= grain_rows(layout.cells()[0]) || middle == end {
        let mut slices = slices;
        let mut w = workspace();
        for r in (begin..end).step_by(piece.rows) {
            let row = layout.row(r);
            let at = row.start - base;
            f(&mut w, row, at..at + piece.len, &mut slices);
        }
        return;
    }
    let cut = layout.row(middle).start - base;
    let (mut lower, mut upper) = (slices, empty());
    cut_off(&mut lower, cut, &mut upper);
    threads::join(
        || split(layout, piece, begin, middle, lower, workspace, f),
        || split(layout, piece, middle, end, upper, workspace, f),
    );
}

// What follows is made of closures over arrays, which would be compiled for every loop of this crate if they stood in the loops'
// functions: a tenth of its code.

/// The values of fields, from one place on.
fn values<const D: usize, const K: usize, T: Copy + Default + Send + Sync>(
    fields: [&mut Field<D, T>; K],
    first: usize,
) -> [&mut [T]; K] {
    fields.map(|f| &mut f.data_mut()[first..])
}

/// [`values`] of at most [`MAX`] fields.
fn values_of<'a, const D: usize, T: Copy + Default + Send + Sync + 'a>(
    fields: &mut dyn Iterator<Item = &'a mut Field<D, T>>,
    first: usize,
) -> [&'a mut [T]; MAX] {
    std::array::from_fn(|_| fields.next().map(|f| &mut f.data_mut()[first..]).unwrap_or_default())
}

/// The same piece of every slice.
#[inline]
fn each<'a, const K: usize, T>(slices: &'a mut [&mut [T]; K], at: Range<usize>) -> [&'a mut [T]; K] {
    slices.each_mut().map(|s| &mut s[at.clone()])
}

/// As many slices without values.
fn empty<'a, const K: usize, T>() -> [&'a mut [T]; K] {
    std::array::from_fn(|_| Default::default())
}

/// Shortens slices, and puts what is cut off into others.
fn cut_off<'a, const K: usize, T>(slices: &mut [&'a mut [T]; K], at: usize, rest: &mut [&'a mut [T]; K]) {
    for (slice, rest) in slices.iter_mut().zip(rest) {
        let whole = std::mem::take(slice);
        (*slice, *rest) = whole.split_at_mut(at.min(whole.len()));
    }
}

/// Where to halve a range of rows. A tile stays whole: what is prepared for one serves all its rows.
fn middle<const D: usize>(layout: &Layout<D>, begin: usize, end: usize) -> usize {
    let part = if layout.as_tiles().is_some() { layout.rows_per_part() } else { 1 };
    let half = (end - begin) / 2;
    if half <= part { begin + half } else { begin + half - half % part }
}

/// [`middle`] between two bands of tiles, as what is prepared for one serves all its tiles; `end` if there is only one.
fn between_bands<const D: usize>(layout: &Layout<D>, begin: usize, end: usize) -> usize {
    let middle = middle(layout, begin, end);
    let Some(tiles) = layout.as_tiles() else { return middle };
    let part = layout.rows_per_part();
    let band = tiles.band((middle / part).min(tiles.coords().len() - 1));
    let (first, last) = (band.start * part, band.end * part);
    if first > begin { first } else { last.min(end) }
}

/// Combines `f(row)` over every x-row in a fixed tree.
pub fn reduce<const D: usize, A: Send>(
    layout: &Layout<D>,
    f: impl Fn(Row<'_, D>) -> A + Sync,
    combine: impl Fn(A, A) -> A + Sync,
) -> A {
    fold(layout, 1, 0, layout.rows(), &f, &combine)
}

/// [`reduce`] by runs of rows, of which `f` gets the first: for values that are looked at by themselves.
pub(crate) fn reduce_runs<const D: usize, A: Send>(
    layout: &Layout<D>,
    f: impl Fn(Row<'_, D>) -> A + Sync,
    combine: impl Fn(A, A) -> A + Sync,
) -> A {
    fold(layout, layout.run() / layout.cells()[0], 0, layout.rows(), &f, &combine)
}

fn fold<const D: usize, A: Send>(
    layout: &Layout<D>,
    step: usize,
    begin: usize,
    end: usize,
    f: &(impl Fn(Row<'_, D>) -> A + Sync),
    combine: &(impl Fn(A, A) -> A + Sync),
) -> A {
    if end - begin <= grain_rows(layout.cells()[0]) {
        let first = f(layout.row(begin));
        return (begin + step..end).step_by(step).fold(first, |sum, r| combine(sum, f(layout.row(r))));
    }
    // Whole tiles, or rows of a box: no run is cut.
    let middle = middle(layout, begin, end);
    let part = |begin: usize, end: usize| fold(layout, step, begin, end, f, combine);
    let (lo, hi) = threads::join(|| part(begin, middle), || part(middle, end));
    combine(lo, hi)
}

/// Calls `f(number of the row, row, its item, slices)` for every x-row of fields that share one shape, in parallel.
/// `items` holds something for each row.
pub(crate) fn with_items<const D: usize, const K: usize, T: Copy + Default + Send + Sync, I: Send>(
    fields: [&mut Field<D, T>; K],
    items: &mut [I],
    f: impl Fn(usize, Row<'_, D>, &mut I, [&mut [T]; K]) + Sync,
) {
    let layout = fields[0].layout().clone();
    let n = layout.cells()[0];
    let each_row = |rows: Range<usize>, base: usize, mut slices: [&mut [T]; K], items: &mut [I]| {
        for (r, item) in rows.zip(items) {
            let row = layout.row(r);
            let at = row.start - base;
            f(r, row, item, each(&mut slices, at..at + n));
        }
    };
    sweep(&layout, fields, items, &each_row, &|(), ()| ());
}

/// [`for_each`], with a result of every row, combined in a fixed tree.
pub(crate) fn for_each_and_reduce<const D: usize, const K: usize, T: Copy + Default + Send + Sync, A: Send>(
    fields: [&mut Field<D, T>; K],
    f: impl Fn(Row<'_, D>, [&mut [T]; K]) -> A + Sync,
    combine: impl Fn(A, A) -> A + Sync,
) -> A {
    let layout = fields[0].layout().clone();
    let n = layout.cells()[0];
    let block = |rows: Range<usize>, base: usize, mut slices: [&mut [T]; K], _: &mut [()]| {
        let mut of_row = |r: usize| {
            let row = layout.row(r);
            let at = row.start - base;
            f(row, each(&mut slices, at..at + n))
        };
        let first = of_row(rows.start);
        (rows.start + 1..rows.end).fold(first, |sum, r| combine(sum, of_row(r)))
    };
    let mut nothing = vec![(); layout.rows()];
    sweep(&layout, fields, &mut nothing, &block, &combine)
}

/// Calls `f(row, its item)` for every x-row of a layout, in parallel.
pub(crate) fn items<const D: usize, I: Send>(
    layout: &Layout<D>,
    items: &mut [I],
    f: impl Fn(Row<'_, D>, &mut I) + Sync,
) {
    let each_row = |rows: Range<usize>, _, _: [&mut [Real]; 0], items: &mut [I]| {
        rows.zip(items).for_each(|(r, item)| f(layout.row(r), item));
    };
    sweep(layout, [], items, &each_row, &|(), ()| ());
}

/// [`with_items`] without items.
pub(crate) fn numbered<const D: usize, const K: usize, T: Copy + Default + Send + Sync>(
    fields: [&mut Field<D, T>; K],
    f: impl Fn(usize, Row<'_, D>, [&mut [T]; K]) + Sync,
) {
    let mut nothing = vec![(); fields[0].layout().rows()];
    with_items(fields, &mut nothing, |r, row, _, slices| f(r, row, slices));
}

/// Calls `f(numbers of the rows, place of the slices, slices)` for blocks of rows of fields that share one shape, in
/// parallel, and adds up the results in a fixed tree. The slices begin with the first row of the block; the place is that
/// of their first value among all values of the field.
pub(crate) fn blocks<const D: usize, const K: usize, T: Copy + Default + Send + Sync>(
    fields: [&mut Field<D, T>; K],
    f: impl Fn(Range<usize>, usize, [&mut [T]; K]) -> f64 + Sync,
) -> f64 {
    let layout = fields[0].layout().clone();
    let mut nothing = vec![(); layout.rows()];
    sweep(&layout, fields, &mut nothing, &|rows, base, slices, _| f(rows, base, slices), &|a, b| a + b)
}

fn sweep<const D: usize, const K: usize, T: Copy + Default + Send + Sync, I: Send, A: Send>(
    layout: &Layout<D>,
    fields: [&mut Field<D, T>; K],
    items: &mut [I],
    f: &(impl Fn(Range<usize>, usize, [&mut [T]; K], &mut [I]) -> A + Sync),
    combine: &(impl Fn(A, A) -> A + Sync),
) -> A {
    assert!(fields.iter().all(|f| f.layout() == layout), "fields of one shape");
    assert_eq!(items.len(), layout.rows(), "one item for each row");
    let first = layout.first();
    sweep_part(layout, 0, values(fields, first), items, f, combine)
}

fn sweep_part<const D: usize, const K: usize, T: Send, I: Send, A: Send>(
    layout: &Layout<D>,
    begin: usize,
    slices: [&mut [T]; K],
    items: &mut [I],
    f: &(impl Fn(Range<usize>, usize, [&mut [T]; K], &mut [I]) -> A + Sync),
    combine: &(impl Fn(A, A) -> A + Sync),
) -> A {
    let end = begin + items.len();
    let base = layout.row(begin).start;
    if items.len() <= grain_rows(layout.cells()[0]) {
        return f(begin..end, base, slices, items);
    }
    let middle = middle(layout, begin, end);
    let cut = layout.row(middle).start - base;
    let (low_items, high_items) = items.split_at_mut(middle - begin);
    let (mut low, mut high) = (slices, empty());
    cut_off(&mut low, cut, &mut high);
    let (low, high) = threads::join(
        || sweep_part(layout, begin, low, low_items, f, combine),
        || sweep_part(layout, middle, high, high_items, f, combine),
    );
    combine(low, high)
}
