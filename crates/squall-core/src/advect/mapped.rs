//! Advection of centred and staggered fields together, on a box or on tiles.
//!
//! Paths are traced once, from the cell centres, and kept as displacements in cells. What lives on a face moves by the
//! mean of the displacements on its two sides: as accurate as a path of its own to about a thousandth of a cell, at a
//! third of the cost. Fields at one location share the places they are sampled at.
//!
//! On tiles every tile is sampled through windows ([`Windows`]): dense copies of the tile and what lies around it. As
//! points are given by displacements, a tile gives the same bits as a box.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use smallvec::SmallVec;

use super::correct::{Corrected, compensate, correct};
use super::exchange::{Clipped, exchange, no_room_outside};
use super::extent::{Extent, Span, cells_above};
use super::pool::{Lent, Pool};
use super::{Advection, Flow, cubic};
use crate::Real;
use crate::field::{Field, OutOfMemory, VectorField};
use crate::grid::{At, End, Ends, Grid};
use crate::halo::RowRules;
use crate::layout::{HALO, Layout, Row};
use crate::ops::max_abs_faces;
use crate::rows;
use crate::sample::{AxisRule, CHUNK, Chunk, Corners, Isa, Kernel, Lanes, Located, Places, Points, Rules, Windows};
use crate::sample::{chunks, gather, max, min, reach};
use crate::threads;
use crate::trace::{Paths, Tracer, Work};

/// Fields that are moved at once, with one look at the displacements: in a box, and on tiles, where the windows of more would not
/// fit into the cache.
const GROUP: usize = 3;
const SMALL_GROUP: usize = 2;

/// How many of the fields are moved at once.
fn group<const D: usize>(fields: &[&mut Field<D>], conserved: bool) -> usize {
    let Some(first) = fields.first() else { return 0 };
    let in_box = first.layout().as_tiles().is_none();
    let alike = |f: &&&mut Field<D>| match (conserved, in_box) {
        (true, _) => f.at() == first.at() && f.ends() == first.ends(),
        (false, true) => true,
        (false, false) => f.at() == first.at(),
    };
    // What is conserved takes more scratch.
    let most = if in_box && !conserved { GROUP } else { SMALL_GROUP };
    fields.iter().take(most).take_while(alike).count()
}

/// What [`advect_mapped`] works in.
pub struct MapScratch<const D: usize> {
    /// Displacements of the paths back in time, and of those forward.
    back: Vec<Field<D>>,
    forth: Vec<Field<D>>,
    /// First a carrier, while paths are traced; then the fields moved once, and what corrects them.
    work: Vec<Field<D>>,
    reach: Vec<u8>,
    too_far: Option<f64>,
    longest: Longest<D>,
    extent: Extent,
    /// Of each row the cells on whose faces alone velocities are moved; empty: everywhere.
    only: Vec<Span>,
    clipped: [Clipped; SMALL_GROUP],
    tracing: Pool<Work<D>>,
    sampling: Pool<Bench<D>>,
    exchanging: Pool<Windows<D>>,
}

impl<const D: usize> MapScratch<D> {
    /// Room to move any number of fields on a layout.
    pub fn new(layout: &Layout<D>, scheme: Advection) -> Result<Self, OutOfMemory> {
        let fields = |n: usize| -> Result<Vec<_>, _> {
            (0..n).map(|_| Field::on(layout, At::Center, [Ends::Unbounded(0.0); D])).collect()
        };
        Ok(MapScratch {
            back: fields(D)?,
            forth: fields(if scheme == Advection::MacCormack { D } else { 0 })?,
            work: fields(Self::fields(scheme) - D * if scheme == Advection::MacCormack { 2 } else { 1 })?,
            reach: Vec::new(),
            too_far: None,
            longest: Longest::default(),
            extent: Extent::default(),
            only: Vec::new(),
            clipped: Default::default(),
            tracing: Pool::default(),
            sampling: Pool::default(),
            exchanging: Pool::default(),
        })
    }

    /// Room to lend, and to move nothing.
    pub(crate) fn to_lend(layout: &Layout<D>) -> Result<Self, OutOfMemory> {
        let mut scratch = MapScratch::new(&Layout::dense([1; D]), Advection::SemiLagrangian)?;
        scratch.back.clear();
        scratch.work.truncate(D);
        scratch.reset_on(layout)?;
        Ok(scratch)
    }

    /// How many fields that is.
    pub const fn fields(scheme: Advection) -> usize {
        match scheme {
            // What is conserved takes four for each field of a group, the others two.
            Advection::MacCormack => 2 * D + 4 * SMALL_GROUP,
            Advection::SemiLagrangian | Advection::MonotoneCubic => D + GROUP,
        }
    }

    /// Takes up its work on another layout.
    pub fn reset_on(&mut self, layout: &Layout<D>) -> Result<(), OutOfMemory> {
        let Self { back, forth, work, .. } = self;
        [back, forth, work].into_iter().flatten().try_for_each(|f| f.reset_on(layout))
    }

    /// How far from a cell along an axis the values lie that one sample along the last paths may read, either way.
    pub(crate) fn longest_reach(&self, a: usize) -> usize {
        self.longest.reach(a)
    }

    /// Displacements from each cell centre to where it comes from, one field for each axis, in cells.
    pub(crate) fn back(&self) -> &[Field<D>] {
        &self.back
    }

    /// On tiles paths end within the tiles beside (14 cells away, 30 in 2D). If the last ones traced might have gone further,
    /// how far, in cells: then the step was too long.
    pub fn too_far(&self) -> Option<f64> {
        self.too_far
    }

    /// One field for each axis, for others to use between two calls.
    pub fn lend(&mut self) -> &mut VectorField<D> {
        (&mut self.work[..D]).try_into().expect("as many as axes")
    }

    /// Finds where everything comes from.
    pub fn trace(&mut self, scheme: Advection, flow: Flow<D>, dt: f64) {
        let Self { back, forth, reach: margins, too_far, longest, tracing, only, .. } = self;
        only.clear();
        *too_far = trace_both(scheme, flow, dt, margins, (tracing, longest), &|_| true, [back, forth]);
    }

    /// [`MapScratch::trace`] for velocities that are needed only on the faces of cells in which a field is above zero.
    pub(crate) fn trace_only(&mut self, scheme: Advection, flow: Flow<D>, dt: f64, where_above: &Field<D>) {
        let Self { back, forth, reach: margins, too_far, longest, tracing, only, extent, .. } = self;
        cells_above(where_above, only);
        // As far as the second and third of three passes may look.
        let furthest = flow.velocity.iter().zip(flow.grid.spacing).map(|(u, h)| f64::from(max_abs_faces(u)) / h);
        let reach = (f64::from(FORTH) * dt.abs() * furthest.fold(0.0, f64::max)).min(1e6).ceil() as usize + 2;
        extent.set_around(only, where_above, [2 * reach + 2; D]);
        let (extent, layout) = (&*extent, where_above.layout());
        let wanted = |row: Row<'_, D>| !extent.inside(layout, row).is_empty();
        *too_far = trace_both(scheme, flow, dt, margins, (tracing, longest), &wanted, [back, forth]);
    }

    /// [`MapScratch::trace`] through the velocity that was left in the lent fields.
    pub fn trace_lent(&mut self, scheme: Advection, grid: &Grid<D>, tracer: Tracer, isa: Isa, dt: f64) {
        let Self { back, forth, work, reach: margins, too_far, longest, tracing, only, .. } = self;
        only.clear();
        let velocity = (&work[..D]).try_into().expect("as many as axes");
        let flow = Flow { grid, velocity, tracer, isa };
        *too_far = trace_both(scheme, flow, dt, margins, (tracing, longest), &|_| true, [back, forth]);
    }
}

/// The way forth along an axis may be longer than the way back, or than the velocity at the start says, by so many times the
/// longest of those along any axis, less 1. Windows of tiles have to reach as far.
const FORTH: Real = 1.25;

fn trace_both<const D: usize>(
    scheme: Advection,
    flow: Flow<D>,
    dt: f64,
    margins: &mut Vec<u8>,
    (pool, longest): (&Pool<Work<D>>, &mut Longest<D>),
    wanted: &(impl Fn(Row<'_, D>) -> bool + Sync),
    [back, forth]: [&mut [Field<D>]; 2],
) -> Option<f64> {
    longest.forget();
    let far = &*longest;
    let forth_too = scheme == Advection::MacCormack && flow.tracer == Tracer::Rk2;
    let longest = if forth_too { FORTH as f64 } else { 1.0 };
    let too_far = reach(flow.velocity, (longest * dt.abs() / flow.grid.min_spacing()) as Real, margins);
    match (scheme, flow.tracer) {
        (Advection::MacCormack, Tracer::Rk2) => trace(&flow, dt, margins, (pool, far), wanted, [back, forth]),
        (Advection::MacCormack, _) => {
            trace(&flow, dt, margins, (pool, far), wanted, [back, &mut []]);
            trace(&flow, -dt, margins, (pool, far), wanted, [forth, &mut []]);
        }
        _ => trace(&flow, dt, margins, (pool, far), wanted, [back, &mut []]),
    }
    too_far
}

/// Moves fields at any location with a flow, staggered or centred, for `dt` seconds: `a(x) <- a(path from x, back by dt)`.
/// See [`carry`]. Needs the ghosts of the velocity.
pub fn advect_mapped<const D: usize>(
    scheme: Advection,
    flow: Flow<D>,
    dt: f64,
    fields: &mut [&mut Field<D>],
    conserved: &mut [&mut Field<D>],
    exact: Option<&Field<D>>,
    scratch: &mut MapScratch<D>,
) {
    scratch.trace(scheme, flow, dt);
    carry(scheme, flow.isa, fields, conserved, exact, scratch);
}

/// Moves fields along the paths that were traced last.
///
/// Of the fields in `conserved` (substances; not velocities) neither more nor less is there afterwards: what the
/// limiter cuts off goes to neighbours, and through an end that prescribes a value flows exactly that value, as if
/// cells outside held it. Where `exact` is not 1 (beside solids), MacCormack's correction is left out.
pub fn carry<const D: usize>(
    scheme: Advection,
    isa: Isa,
    fields: &mut [&mut Field<D>],
    conserved: &mut [&mut Field<D>],
    exact: Option<&Field<D>>,
    scratch: &mut MapScratch<D>,
) {
    let mut in_groups = |mut fields: &mut [&mut Field<D>], conserved: bool| {
        while !fields.is_empty() {
            let (now, later) = fields.split_at_mut(group(fields, conserved));
            fields = later;
            carry_group(scheme, isa, now, conserved, exact, scratch);
        }
    };
    in_groups(fields, false);
    in_groups(conserved, true);
}

fn carry_group<const D: usize>(
    scheme: Advection,
    isa: Isa,
    fields: &mut [&mut Field<D>],
    conserved: bool,
    exact: Option<&Field<D>>,
    scratch: &mut MapScratch<D>,
) {
    let MapScratch { back, forth, work, reach: margins, longest, extent, only, clipped, sampling, exchanging, .. } =
        scratch;
    let count = fields.len();
    let rules = fields[0].rules(conserved);
    let in_box = rules.of_box(fields[0].cells());
    // What the limiter cuts off goes two cells far; cubics read a cell more on each side.
    let reach: [usize; D] =
        std::array::from_fn(|a| longest.reach(a).max(2) + (scheme == Advection::MonotoneCubic) as usize);
    let most = std::array::from_fn(|a| longest.most(a));
    let limited = !conserved && !only.is_empty();
    // So many passes are still to come after one, of which each looks that far; faces lie between two cells.
    let around = |passes: usize| reach.map(|r| passes * r + 1);
    if conserved {
        extent.set(fields, reach)
    } else if limited {
        extent.set_around(only, fields[0], around(if scheme == Advection::MacCormack { 2 } else { 0 }));
    } else {
        extent.set_everywhere()
    }
    // Not a closure: what is to be computed changes in between.
    macro_rules! map {
        ($d:expr, $rows:expr) => {
            &Map { d: $d, margins, conserved, rules, in_box, longest: most, isa, extent, rows: $rows }
        };
    }
    let all_rows = 0..fields[0].layout().rows();
    fields.iter_mut().for_each(|field| fill_halo(field, conserved));
    let (moved, work) = work.split_at_mut(count);
    label(moved, fields);
    match scheme {
        Advection::MacCormack => {
            let (compensated, rooms) = work.split_at_mut(count);
            let exchanged = if conserved { count } else { 0 };
            let (rooms, clipped) = (&mut rooms[..2 * exchanged], &mut clipped[..exchanged]);
            label(compensated, fields);
            rooms.iter_mut().for_each(|room| room.relabel(At::Center, no_room_outside(fields[0])));
            clipped.iter_mut().for_each(|c| c.reset(fields[0]));
            let in_turns = extent.is_everywhere();
            for [first, second, third] in Turns::new(fields[0], reach[D - 1], in_turns) {
                sample_all(map!(back, first.rows()), gather, fields, moved, sampling);
                first.finish(moved, conserved);
                if limited {
                    extent.set_around(only, fields[0], around(1))
                } else {
                    extent.follow(moved, reach)
                }
                compensate(map!(forth, second.rows()), fields, moved, exact, compensated, sampling);
                second.finish(compensated, conserved);
                if limited {
                    extent.set_around(only, fields[0], around(0))
                } else {
                    extent.follow(compensated, reach)
                }
                let out = Corrected { moved: &mut *moved, rooms: &mut *rooms, clipped: &*clipped };
                correct(map!(back, third.rows()), fields, compensated, exact, out, sampling);
            }
            for (k, clipped) in clipped.iter().enumerate() {
                let rooms = rooms.get_disjoint_mut([k, count + k]).expect("two for each field");
                exchange(isa, &mut moved[k], rooms, &mut compensated[k], (clipped, extent), exchanging);
            }
        }
        Advection::SemiLagrangian => sample_all(map!(back, all_rows), gather, fields, moved, sampling),
        Advection::MonotoneCubic => sample_all(map!(back, all_rows), cubic::gather_monotone, fields, moved, sampling),
    }
    for (field, result) in fields.iter_mut().zip(moved) {
        if extent.is_everywhere() {
            field.swap_values(result);
            field.finish_end_faces();
        } else {
            extent.copy(result, field);
            if limited {
                field.finish_end_faces();
            }
        }
    }
}

/// Fields that are moved at once.
type Group<'a, const D: usize> = SmallVec<[&'a mut Field<D>; GROUP]>;

fn fill_halo<const D: usize>(field: &mut Field<D>, conserved: bool) {
    if conserved { field.fill_halo_from_outside() } else { field.fill_halo() }
}

/// Makes scratch what the fields are.
fn label<const D: usize>(values: &mut [Field<D>], like: &[&mut Field<D>]) {
    values.iter_mut().zip(like).for_each(|(values, like)| values.relabel(like.at(), like.ends()));
}

/// Planes across the last axis of a box that are computed together, or all that there is.
struct Planes {
    planes: Range<usize>,
    count: usize,
    rows_in_each: usize,
}

impl Planes {
    fn rows(&self) -> Range<usize> {
        self.planes.start * self.rows_in_each..self.planes.end * self.rows_in_each
    }

    /// Makes values that rows have left ready to be sampled.
    fn finish<const D: usize>(&self, values: &mut [Field<D>], conserved: bool) {
        for values in values {
            if self.planes.len() < self.count {
                values.finish_planes(self.planes.clone(), conserved);
            } else {
                values.finish_end_faces();
                fill_halo(values, conserved);
            }
        }
    }
}

/// The planes that each of three passes computes in turn, where a pass samples what the one before it has left: as soon as that
/// is there as far as paths reach. So it is still in the cache. One turn of all planes where that cannot be done.
struct Turns {
    count: usize,
    rows_in_each: usize,
    /// Planes in a turn, and how many beside a plane are sampled.
    step: usize,
    reach: usize,
    /// The end of what each pass has computed.
    done: [usize; 3],
}

impl Turns {
    /// Cells of a turn for each thread: few enough that all that the passes work with fits into the cache of a processor, but a
    /// millisecond of work, as threads wait for each other after each pass.
    const CELLS: usize = 1 << 17;

    fn new<const D: usize>(field: &Field<D>, reach: usize, in_turns: bool) -> Self {
        let (layout, rows) = (field.layout(), field.layout().rows());
        let in_turns = in_turns && layout.as_tiles().is_none() && field.ends()[D - 1] != Ends::Periodic;
        let count = if in_turns { layout.cells()[D - 1] } else { 1 };
        let cells = Self::CELLS * threads::current_num_threads();
        let step = (cells * count / layout.cell_count()).max(HALO);
        let step = if count < 2 * step { count } else { step };
        Turns { count, rows_in_each: rows / count, step, reach, done: [0; 3] }
    }
}

impl Iterator for Turns {
    type Item = [Planes; 3];

    fn next(&mut self) -> Option<[Planes; 3]> {
        let Turns { count, rows_in_each, step, reach, done: before } = *self;
        if before[2] == count {
            return None;
        }
        let behind = |end: usize| match end.saturating_sub(reach) {
            _ if end == count => count,
            // Ghosts take so many.
            few if few < HALO => 0,
            planes => planes,
        };
        let first = (before[0] + step).min(count);
        let second = behind(first).max(before[1]);
        let third = behind(second).max(before[2]);
        self.done = [first, second, third];
        Some(std::array::from_fn(|k| Planes { planes: before[k]..self.done[k], count, rows_in_each }))
    }
}

/// The rules for ghosts of fields.
pub(super) fn row_rules<const D: usize>(fields: &[Field<D>], conserved: bool) -> SmallVec<[RowRules; 12]> {
    fields.iter().map(|f| f.row_rules(conserved)).collect()
}

/// Leaves in `back` the displacements of all cell centres, and in `forth`, if there are fields, those the other way; ghosts
/// filled.
///
/// By the midpoint rule the way back is `-dt u + dt^2/2 (u grad) u` and the way forth `dt u + dt^2/2 (u grad) u`, both up to the
/// error of the rule: so the one is the other plus `2 dt u`, and needs no tracing of its own.
fn trace<const D: usize>(
    flow: &Flow<D>,
    dt: f64,
    margins: &[u8],
    (pool, longest): (&Pool<Work<D>>, &Longest<D>),
    wanted: &(impl Fn(Row<'_, D>) -> bool + Sync),
    [back, forth]: [&mut [Field<D>]; 2],
) {
    let paths = Paths::new(flow.velocity, flow.grid, dt, flow.tracer, flow.isa, margins);
    for (d, dt) in [(&mut *back, dt), (&mut *forth, -dt)] {
        for (a, d) in d.iter_mut().enumerate() {
            d.relabel(At::Center, displacement_ends(flow.velocity, flow.grid, a, dt));
        }
    }
    let mut out: SmallVec<[&mut Field<D>; 6]> = back.iter_mut().chain(forth.iter_mut()).collect();
    let rules: SmallVec<[RowRules; 6]> = out.iter().map(|d| d.row_rules(false)).collect();
    let work = || {
        let mut work = pool.take(Work::new);
        work.windows.leave();
        work
    };
    let all = 0..out[0].layout().rows();
    rows::for_each_run_with_ghosts(&mut out, &rules, all, wanted, work, |work, row, out| {
        paths.enter(row, work);
        paths.isa.run_wide(TraceRun { paths: &paths, work, row, out, longest });
    });
    out.iter_mut().for_each(|d| d.fill_halo());
}

/// Beyond walls as beside them; where no tile is, as the velocity there says.
fn displacement_ends<const D: usize>(u: &VectorField<D>, grid: &Grid<D>, c: usize, dt: f64) -> [Ends; D] {
    u[c].ends().map(|ends| {
        ends.map(|end| match end {
            End::Outside(u) => End::Outside((-dt / grid.spacing[c]) as Real * u),
            _ => End::Flat,
        })
    })
}

struct TraceRun<'a, 'o, const D: usize> {
    paths: &'a Paths<'a, D>,
    work: &'a mut Work<D>,
    row: Row<'a, D>,
    out: &'a mut [&'o mut [Real]],
    longest: &'a Longest<D>,
}

impl<const D: usize> Kernel for TraceRun<'_, '_, D> {
    #[inline(always)]
    fn run(self) {
        let TraceRun { paths, work, row, out, longest: far } = self;
        for chunk in chunks(row, 0..out[0].len(), work.windows.corner(row)) {
            paths.displacement(row, chunk, work);
            let (back, forth) = out.split_at_mut(D);
            for a in 0..D {
                chunk.store(&work.d[a], back[a]);
                far.note(a, chunk.of(back[a]));
            }
            if forth.is_empty() {
                continue;
            }
            let mut longest = [0.0; CHUNK];
            for a in 0..D {
                let (d, start) = (&work.d[a][..chunk.lanes], &work.start[a][..chunk.lanes]);
                let longest = &mut longest[..chunk.lanes];
                for l in 0..longest.len() {
                    longest[l] = max(max(d[l].abs(), start[l].abs()), longest[l]);
                }
            }
            for (a, forth) in forth.iter_mut().enumerate() {
                let forth = &mut forth[chunk.x..][..chunk.len];
                let (d, start) = (&work.d[a][..chunk.len], &work.start[a][..chunk.len]);
                let longest = &longest[..chunk.len];
                for l in 0..forth.len() {
                    let most = max(d[l].abs(), start[l].abs()) + (FORTH - 1.0) * longest[l];
                    forth[l] = min(max(d[l] - 2.0 * start[l], -most), most);
                }
                far.note(a, forth);
            }
        }
    }
}

/// The longest displacement along each axis, either way, in cells.
#[derive(Debug)]
struct Longest<const D: usize>([AtomicU32; D]);

impl<const D: usize> Default for Longest<D> {
    fn default() -> Self {
        Longest(std::array::from_fn(|_| AtomicU32::new(0)))
    }
}

impl<const D: usize> Longest<D> {
    fn forget(&mut self) {
        self.0.iter_mut().for_each(|most| *most.get_mut() = 0);
    }

    #[inline(always)]
    fn note(&self, a: usize, d: &[Real]) {
        // Without their signs, bits are ordered like numbers, and what is not a number comes last.
        let most = d.iter().fold(0, |most, d| (d.to_bits() & !(1 << 31)).max(most));
        // To look is cheap, to change is not: others look, too.
        if most > self.0[a].load(Relaxed) {
            self.0[a].fetch_max(most, Relaxed);
        }
    }

    /// May be infinite, or not a number.
    fn most(&self, a: usize) -> Real {
        Real::from_bits(self.0[a].load(Relaxed))
    }

    /// How far from a cell along an axis the values lie that one sample may read.
    fn reach(&self, a: usize) -> usize {
        let most = self.most(a);
        if most < 1e6 { most.ceil() as usize + 1 } else { usize::MAX >> 4 }
    }
}

/// Where values go to, or come from.
pub(super) struct Map<'a, const D: usize> {
    d: &'a [Field<D>],
    pub margins: &'a [u8],
    pub conserved: bool,
    /// For points that leave the window of a tile, and for those that leave the box.
    pub rules: Rules<D>,
    in_box: [AxisRule; D],
    /// The longest displacements along each axis.
    longest: [Real; D],
    pub isa: Isa,
    /// What is to be computed, and of that in a box these rows.
    pub extent: &'a Extent,
    rows: Range<usize>,
}

/// What sampling one chunk works in.
pub(super) struct Bench<const D: usize> {
    d: [Lanes; D],
    pub located: Located<D>,
    pub windows: Windows<D>,
}

impl<const D: usize> Bench<D> {
    fn new() -> Self {
        Bench { d: [[0.0; CHUNK]; D], located: Located::new(), windows: Windows::new() }
    }
}

impl<const D: usize> Map<'_, D> {
    /// Calls `f` for every run of which something is to be computed; what is read around it becomes what the fields are
    /// elsewhere, and 0 in those behind the fields of the map.
    pub fn for_each_run(
        &self,
        fields: &mut [&mut Field<D>],
        rules: &[RowRules],
        pool: &Pool<Bench<D>>,
        f: impl Fn(&mut Bench<D>, Row<'_, D>, &mut [&mut [Real]]) + Sync,
    ) {
        let layout = &fields[0].layout().clone();
        let wanted = |row: Row<'_, D>| !self.extent.around(layout, row).is_empty();
        rows::for_each_run_with_ghosts(fields, rules, self.rows.clone(), wanted, bench(pool), |bench, row, out| {
            out.iter_mut().enumerate().for_each(|(k, run)| self.extent.fill_rest(layout, row, k, run));
            if !self.extent.inside(layout, row).is_empty() {
                f(bench, row, out);
            }
        });
    }

    /// Leaves in the bench the places and fractions of the points of a chunk for fields at one location, and where one met a boundary.
    #[inline(always)]
    pub fn locate(&self, at: At, (row, chunk): (Row<'_, D>, Chunk<D>), layout: &Layout<D>, bench: &mut Bench<D>) {
        let Bench { d, located, windows } = bench;
        let by = if at == At::Center && chunk.len == CHUNK {
            std::array::from_fn(|a| chunk.of(self.d[a].run(row)).try_into().expect("a whole chunk"))
        } else {
            for a in 0..D {
                self.displacement(a, at, row, chunk, &mut d[a]);
            }
            d.each_ref()
        };
        let (rules, layout) = if row.on_tiles() { (&windows.rules, &windows.layout) } else { (&self.in_box, layout) };
        let points =
            std::array::from_fn(|a| if at.on_lower_side(a) { Points::FaceToFace } else { Points::CenterToCenter });
        located.find(layout, rules, chunk, (by, self.longest), points);
    }

    /// `d` = the displacement along axis `a` of what lives at a location: the mean over the cell centres around it.
    #[inline(always)]
    fn displacement(&self, a: usize, at: At, row: Row<'_, D>, chunk: Chunk<D>, d: &mut Lanes) {
        let from = &self.d[a];
        let here = chunk.of(from.run(row));
        let d = &mut d[..chunk.len];
        match at {
            At::Center => d.copy_from_slice(here),
            At::Face(f) if !row.on_tiles() => {
                let below = &from.row(row.shifted(f, -1))[chunk.x..][..d.len()];
                for l in 0..d.len() {
                    d[l] = 0.5 * (here[l] + below[l]);
                }
            }
            At::Face(f) => {
                from.beside(row, f, -1, chunk.x, d);
                for l in 0..d.len() {
                    d[l] = 0.5 * (here[l] + d[l]);
                }
            }
            At::Edge(_) | At::Node => {
                d.copy_from_slice(here);
                let mut other = [0.0; CHUNK];
                let mut count: Real = 1.0;
                for corner in 1..1usize << D {
                    if (0..D).any(|b| corner >> b & 1 == 1 && !at.on_lower_side(b)) {
                        continue;
                    }
                    let by = std::array::from_fn(|b| -((corner >> b & 1) as isize));
                    from.below(row, by, chunk.x, &mut other[..d.len()]);
                    for l in 0..d.len() {
                        d[l] += other[l];
                    }
                    count += 1.0;
                }
                // A power of two: exact.
                d.iter_mut().for_each(|d| *d *= 1.0 / count);
            }
        }
    }
}

type Sampler<const D: usize> = fn(Isa, Corners<D>, &Places, &[Lanes; D], &mut Lanes);

/// Each of `out` becomes the samples of a field at the points of the map.
fn sample_all<const D: usize>(
    map: &Map<D>,
    sampler: Sampler<D>,
    fields: &[&mut Field<D>],
    out: &mut [Field<D>],
    pool: &Pool<Bench<D>>,
) {
    let rules = row_rules(out, map.conserved);
    let mut refs: Group<D> = out.iter_mut().collect();
    map.for_each_run(&mut refs, &rules, pool, |bench, row, out| {
        if row.on_tiles() {
            bench.windows.enter(row, map.margins, map.rules, fields.iter().map(|f| &**f));
        }
        map.isa.run_wide(SampleRun { map, sampler, fields, bench, row, out });
    });
}

struct SampleRun<'a, 'f, 'o, const D: usize> {
    map: &'a Map<'a, D>,
    sampler: Sampler<D>,
    fields: &'a [&'f mut Field<D>],
    bench: &'a mut Bench<D>,
    row: Row<'a, D>,
    out: &'a mut [&'o mut [Real]],
}

impl<const D: usize> Kernel for SampleRun<'_, '_, '_, D> {
    #[inline(always)]
    fn run(self) {
        let SampleRun { map, sampler, fields, bench, row, out } = self;
        let mut value = [0.0; CHUNK];
        for chunk in chunks(row, map.extent.inside(fields[0].layout(), row), bench.windows.corner(row)) {
            let mut located = None;
            for (k, out) in out.iter_mut().enumerate() {
                if located != Some(fields[k].at()) {
                    located = Some(fields[k].at());
                    map.locate(fields[k].at(), (row, chunk), fields[0].layout(), bench);
                }
                let from = if row.on_tiles() { bench.windows.corners(k) } else { fields[k].corners() };
                let Located { places, frac, .. } = &bench.located;
                // A whole chunk goes where it belongs, without a copy.
                if let Ok(out) = (&mut out[chunk.x..][..chunk.len]).try_into() {
                    sampler(map.isa, from, places, frac, out);
                } else {
                    sampler(map.isa, from, places, frac, &mut value);
                    chunk.store(&value, out);
                }
            }
        }
    }
}

/// Benches that know nothing of any tile.
pub(super) fn bench<'a, const D: usize>(pool: &'a Pool<Bench<D>>) -> impl Fn() -> Lent<'a, Bench<D>> + Sync {
    || {
        let mut bench = pool.take(Bench::new);
        bench.windows.leave();
        bench
    }
}
