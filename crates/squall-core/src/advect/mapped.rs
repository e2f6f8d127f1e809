//! Transport of centred and staggered fields together, on a box or on tiles.
//!
//! Paths are traced once, from the cell centres, and kept as displacements in cells. What lives on a face moves by the
//! mean of the displacements on its two sides: as accurate as a path of its own to about a thousandth of a cell, at a
//! third of the cost. Fields at one location share the places they are sampled at.
//!
//! On tiles every tile is sampled through windows ([`Windows`]): dense copies of the tile and what lies around it. As
//! points are given by displacements, a tile gives the same bits as a box.

use std::ops::{Deref, DerefMut};
use std::sync::Mutex;

use super::{Advection, Flow, cubic};
use crate::Real;
use crate::field::{Field, OutOfMemory, VectorField};
use crate::grid::{At, Ends, Grid};
use crate::layout::{Layout, Row};
use crate::rows;
use crate::sample::{AxisLanes, AxisRule, CHUNK, Chunk, Corners, Isa, Kernel, Lanes, Places, Points, Windows};
use crate::sample::{chunks, flatten, gather, limit, reach};
use crate::trace::{Paths, Tracer, Work};

/// Fields that are moved at once in a box: all share one look at the displacements.
const BOX_GROUP: usize = 5;

/// Fields at one location that are moved at once on tiles, where the windows of more would not fit into the cache.
const TILE_GROUP: usize = 2;

/// How many of the fields are moved at once.
fn group<const D: usize>(fields: &[&mut Field<D>]) -> usize {
    if fields[0].layout().as_tiles().is_none() {
        return fields.len().min(BOX_GROUP);
    }
    fields.iter().take_while(|f| f.at() == fields[0].at()).count().min(TILE_GROUP)
}

/// Room for the largest group.
const fn largest_group<const D: usize>(tiles: bool) -> usize {
    if tiles { TILE_GROUP } else { BOX_GROUP }
}

/// What [`advect_mapped`] works in.
pub struct MapScratch<const D: usize> {
    /// Displacements of the paths back in time, and of those forward.
    back: Vec<Field<D>>,
    forth: Vec<Field<D>>,
    /// First a carrier, while paths are traced; then the fields moved once, and the results.
    work: Vec<Field<D>>,
    reach: Vec<u8>,
    tracing: Pool<Work<D>>,
    sampling: Pool<Bench<D>>,
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
            work: fields(
                Self::fields(scheme, layout.as_tiles().is_some())
                    - D * if scheme == Advection::MacCormack { 2 } else { 1 },
            )?,
            reach: Vec::new(),
            tracing: Pool::default(),
            sampling: Pool::default(),
        })
    }

    /// How many fields that is.
    pub const fn fields(scheme: Advection, tiles: bool) -> usize {
        let group = largest_group::<D>(tiles);
        match scheme {
            Advection::MacCormack => 2 * D + 2 * group,
            Advection::SemiLagrangian | Advection::MonotoneCubic => D + if group < D { D } else { group },
        }
    }

    /// Takes up its work on another layout.
    pub fn reset_on(&mut self, layout: &Layout<D>) -> Result<(), OutOfMemory> {
        let Self { back, forth, work, .. } = self;
        [back, forth, work].into_iter().flatten().try_for_each(|f| f.reset_on(layout))
    }

    /// Displacements from each cell centre to where it comes from, one field for each axis, in cells.
    pub(crate) fn back(&self) -> &[Field<D>] {
        &self.back
    }

    /// One field for each axis, for others to use between two calls.
    pub fn lend(&mut self) -> &mut VectorField<D> {
        (&mut self.work[..D]).try_into().expect("as many as axes")
    }

    /// Finds where everything comes from.
    pub fn trace(&mut self, scheme: Advection, flow: Flow<D>, dt: f64) {
        let Self { back, forth, reach: margins, tracing, .. } = self;
        trace_both(scheme, flow, dt, margins, tracing, back, forth);
    }

    /// [`MapScratch::trace`] through the velocity that was left in the lent fields.
    pub fn trace_lent(&mut self, scheme: Advection, grid: &Grid<D>, tracer: Tracer, isa: Isa, dt: f64) {
        let Self { back, forth, work, reach: margins, tracing, .. } = self;
        let velocity = (&work[..D]).try_into().expect("as many as axes");
        trace_both(scheme, Flow { grid, velocity, tracer, isa }, dt, margins, tracing, back, forth);
    }
}

fn trace_both<const D: usize>(
    scheme: Advection,
    flow: Flow<D>,
    dt: f64,
    margins: &mut Vec<u8>,
    pool: &Pool<Work<D>>,
    back: &mut [Field<D>],
    forth: &mut [Field<D>],
) {
    reach(flow.velocity, (dt / flow.grid.min_spacing()) as Real, margins);
    trace(&flow, dt, margins, pool, back);
    if scheme == Advection::MacCormack {
        trace(&flow, -dt, margins, pool, forth);
    }
}

/// Moves fields at any location with a staggered flow for `dt` seconds: `a(x) <- a(path from x, back by dt)`.
///
/// Needs the ghosts of the velocity. Where `exact` is not 1 (beside solids), MacCormack's correction is left out.
pub fn advect_mapped<const D: usize>(
    scheme: Advection,
    flow: Flow<D>,
    dt: f64,
    fields: &mut [&mut Field<D>],
    exact: Option<&Field<D>>,
    scratch: &mut MapScratch<D>,
) {
    scratch.trace(scheme, flow, dt);
    carry(scheme, flow.isa, fields, exact, scratch);
}

/// Moves fields along the paths that were traced last.
pub fn carry<const D: usize>(
    scheme: Advection,
    isa: Isa,
    fields: &mut [&mut Field<D>],
    exact: Option<&Field<D>>,
    scratch: &mut MapScratch<D>,
) {
    let MapScratch { back, forth, work, reach: margins, sampling, .. } = scratch;
    let sampler: Sampler<D> = if scheme == Advection::MonotoneCubic { cubic::gather_monotone } else { gather };
    let mut rest = fields;
    while !rest.is_empty() {
        let count = group(rest);
        let (now, later) = rest.split_at_mut(count);
        rest = later;
        now.iter_mut().for_each(|f| f.fill_halo());
        let map = |d| Map { d, margins, rules: now[0].axis_rules(), isa };
        let (results, rest_of_work) = work.split_at_mut(count);
        if scheme == Advection::MacCormack {
            let moved = &mut rest_of_work[..count];
            sample_all(&map(back), gather, now, moved, sampling);
            correct_all(&map(back), &map(forth), now, moved, exact, results, sampling);
        } else {
            sample_all(&map(back), sampler, now, results, sampling);
        }
        for (field, result) in now.iter_mut().zip(results) {
            field.swap_values(result);
            field.finish_end_faces();
        }
    }
}

/// Leaves in `d` the displacements of all cell centres, ghosts filled.
fn trace<const D: usize>(flow: &Flow<D>, dt: f64, margins: &[u8], pool: &Pool<Work<D>>, d: &mut [Field<D>]) {
    let paths = Paths::new(flow.velocity, flow.grid, dt, flow.tracer, flow.isa, margins);
    let mut out: smallvec::SmallVec<[&mut Field<D>; 3]> = d.iter_mut().collect();
    let work = || {
        let mut work = pool.take(Work::new);
        work.windows.leave();
        work
    };
    rows::for_each_run(&mut out, work, |work, row, out| {
        paths.enter(row, work);
        paths.isa.run(TraceRun { paths: &paths, work, row, out });
    });
    drop(out);
    for (a, d) in d.iter_mut().enumerate() {
        d.relabel(At::Center, displacement_ends(flow.velocity, flow.grid, a, dt));
        d.fill_halo();
    }
}

/// Beyond walls as beside them; where no tile is, as the velocity there says.
fn displacement_ends<const D: usize>(u: &VectorField<D>, grid: &Grid<D>, c: usize, dt: f64) -> [Ends; D] {
    u[c].ends().map(|ends| match ends {
        Ends::Periodic => Ends::Periodic,
        Ends::Bounded { .. } => Ends::FLAT,
        Ends::Unbounded(u) => Ends::Unbounded((-dt / grid.spacing[c]) as Real * u),
    })
}

struct TraceRun<'a, 'o, const D: usize> {
    paths: &'a Paths<'a, D>,
    work: &'a mut Work<D>,
    row: Row<'a, D>,
    out: &'a mut [&'o mut [Real]],
}

impl<const D: usize> Kernel for TraceRun<'_, '_, D> {
    #[inline(always)]
    fn run(self) {
        let TraceRun { paths, work, row, out } = self;
        for chunk in chunks(row, out[0].len(), work.windows.margin) {
            paths.displacement(row, chunk, work);
            for a in 0..D {
                chunk.store(&work.d[a], out[a]);
            }
        }
    }
}

/// Where values go to, or come from.
struct Map<'a, const D: usize> {
    d: &'a [Field<D>],
    margins: &'a [u8],
    /// Of the box.
    rules: [AxisRule; D],
    isa: Isa,
}

/// What sampling one chunk works in.
struct Bench<const D: usize> {
    d: [Lanes; D],
    axis: [AxisLanes; D],
    places: Places,
    limits: Places,
    windows: Windows<D>,
}

impl<const D: usize> Bench<D> {
    fn new() -> Self {
        Bench {
            d: [[0.0; CHUNK]; D],
            axis: std::array::from_fn(|_| AxisLanes::new()),
            places: Places::new(),
            limits: Places::new(),
            windows: Windows::new(),
        }
    }
}

impl<const D: usize> Map<'_, D> {
    fn margin(&self, row: Row<'_, D>) -> u8 {
        row.tile().map_or(0, |t| self.margins[t])
    }

    /// Leaves in the bench the places and fractions of the points of a chunk at one location, and in `hit` where one met a
    /// boundary.
    #[inline(always)]
    fn locate(
        &self,
        at: At,
        (row, chunk): (Row<'_, D>, Chunk<D>),
        layout: &Layout<D>,
        bench: &mut Bench<D>,
        hit: &mut [u32; CHUNK],
    ) {
        let Bench { d, axis, places, windows, .. } = bench;
        for a in 0..D {
            let d = &mut d[a][..chunk.len];
            let here = chunk.of(self.d[a].run(row));
            match at {
                At::Center | At::Node => d.copy_from_slice(here),
                At::Face(f) => {
                    self.d[a].beside(row, f, -1, chunk.x, d);
                    for l in 0..d.len() {
                        d[l] = 0.5 * (here[l] + d[l]);
                    }
                }
            }
        }
        let (rules, layout) = if row.on_tiles() { (&windows.rules, &windows.layout) } else { (&self.rules, layout) };
        for a in 0..D {
            let points = if at == At::Face(a) { Points::FaceToFace } else { Points::CenterToCenter };
            rules[a].locate(a, chunk, &d[a], points, &mut axis[a]);
        }
        flatten(layout, axis.each_ref(), chunk.lanes, places);
        for l in 0..chunk.lanes {
            hit[l] |= axis.iter().fold(0, |m, a| m | a.moved[l]);
        }
    }
}

type Sampler<const D: usize> = fn(Isa, Corners<D>, &Places, [&Lanes; D], &mut Lanes);

/// Each of `out` becomes the samples of a field at the points of the map.
fn sample_all<const D: usize>(
    map: &Map<D>,
    sampler: Sampler<D>,
    fields: &[&mut Field<D>],
    out: &mut [Field<D>],
    pool: &Pool<Bench<D>>,
) {
    let mut refs: smallvec::SmallVec<[&mut Field<D>; BOX_GROUP]> = out.iter_mut().collect();
    rows::for_each_run(&mut refs, bench(pool), |bench, row, out| {
        if row.on_tiles() {
            bench.windows.enter(row, map.margin(row), fields.iter().map(|f| &**f));
        }
        map.isa.run(SampleRun { map, sampler, fields, bench, row, out });
    });
    drop(refs);
    for (out, field) in out.iter_mut().zip(fields) {
        out.relabel(field.at(), field.ends());
        out.finish_end_faces();
        out.fill_halo();
    }
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
        for chunk in chunks(row, out[0].len(), bench.windows.margin) {
            let mut located = None;
            for (k, out) in out.iter_mut().enumerate() {
                let at = fields[k].at();
                if located != Some(at) {
                    located = Some(at);
                    map.locate(at, (row, chunk), fields[0].layout(), bench, &mut [0; CHUNK]);
                }
                let from = if row.on_tiles() { bench.windows.corners(k) } else { fields[k].corners() };
                sampler(map.isa, from, &bench.places, bench.axis.each_ref().map(|a| &a.frac), &mut value);
                chunk.store(&value, out);
            }
        }
    }
}

/// `a1 + (a - A^-1 a1) / 2`, limited to the values that `a1 = A a` was made of.
fn correct_all<const D: usize>(
    back: &Map<D>,
    forth: &Map<D>,
    fields: &[&mut Field<D>],
    moved: &[Field<D>],
    exact: Option<&Field<D>>,
    results: &mut [Field<D>],
    pool: &Pool<Bench<D>>,
) {
    let mut refs: smallvec::SmallVec<[&mut Field<D>; BOX_GROUP]> = results.iter_mut().collect();
    rows::for_each_run(&mut refs, bench(pool), |bench, row, out| {
        if row.on_tiles() {
            bench.windows.enter(row, back.margin(row), moved.iter().chain(fields.iter().map(|f| &**f)));
        }
        back.isa.run(CorrectRun { back, forth, fields, moved, exact, bench, row, out });
    });
}

struct CorrectRun<'a, 'f, 'o, const D: usize> {
    back: &'a Map<'a, D>,
    forth: &'a Map<'a, D>,
    fields: &'a [&'f mut Field<D>],
    moved: &'a [Field<D>],
    exact: Option<&'a Field<D>>,
    bench: &'a mut Bench<D>,
    row: Row<'a, D>,
    out: &'a mut [&'o mut [Real]],
}

impl<const D: usize> Kernel for CorrectRun<'_, '_, '_, D> {
    #[inline(always)]
    fn run(self) {
        let CorrectRun { back, forth, fields, moved, exact, bench, row, out } = self;
        let isa = back.isa;
        let count = fields.len();
        let (mut value, mut half) = ([0.0; CHUNK], [0.0; CHUNK]);
        for chunk in chunks(row, out[0].len(), bench.windows.margin) {
            let mut located = None;
            for (k, out) in out.iter_mut().enumerate() {
                let at = fields[k].at();
                if located != Some(at) {
                    located = Some(at);
                    // Where either path met a boundary there is no way back: keep a1. Beside solids, too.
                    let mut hit = [0; CHUNK];
                    back.locate(at, (row, chunk), fields[0].layout(), bench, &mut hit);
                    std::mem::swap(&mut bench.places, &mut bench.limits);
                    forth.locate(at, (row, chunk), fields[0].layout(), bench, &mut hit);
                    for l in 0..chunk.lanes {
                        half[l] = if hit[l] == 0 { 0.5 } else { 0.0 };
                    }
                    if let Some(exact) = exact {
                        let factor = chunk.of(exact.run(row));
                        for l in 0..factor.len() {
                            half[l] *= factor[l];
                        }
                    }
                }
                let tiles = row.on_tiles();
                let from = if tiles { bench.windows.corners(k) } else { moved[k].corners() };
                gather(isa, from, &bench.places, bench.axis.each_ref().map(|a| &a.frac), &mut value);
                let (old, new) = (chunk.of(fields[k].run(row)), chunk.of(moved[k].run(row)));
                let (corrected, half) = (&mut value[..old.len()], &half[..old.len()]);
                for l in 0..old.len() {
                    corrected[l] = new[l] + half[l] * (old[l] - corrected[l]);
                }
                let around = if tiles { bench.windows.corners(count + k) } else { fields[k].corners() };
                limit(isa, around, &bench.limits, &mut value);
                chunk.store(&value, out);
            }
        }
    }
}

fn bench<'a, const D: usize>(pool: &'a Pool<Bench<D>>) -> impl Fn() -> Lent<'a, Bench<D>> + Sync {
    || {
        let mut bench = pool.take(Bench::new);
        bench.windows.leave();
        bench
    }
}

/// Things that are dear to make: who is done with one puts it back.
#[derive(Debug)]
struct Pool<T>(Mutex<Vec<T>>);

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool(Mutex::new(Vec::new()))
    }
}

impl<T> Pool<T> {
    fn take(&self, new: impl Fn() -> T) -> Lent<'_, T> {
        let kept = self.0.lock().expect("nothing panics while it holds the lock").pop();
        Lent { thing: Some(kept.unwrap_or_else(new)), pool: self }
    }
}

struct Lent<'a, T> {
    thing: Option<T>,
    pool: &'a Pool<T>,
}

impl<T> Deref for Lent<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.thing.as_ref().expect("there until dropped")
    }
}

impl<T> DerefMut for Lent<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.thing.as_mut().expect("there until dropped")
    }
}

impl<T> Drop for Lent<'_, T> {
    fn drop(&mut self) {
        if let (Some(thing), Ok(mut pool)) = (self.thing.take(), self.pool.0.lock()) {
            pool.push(thing);
        }
    }
}
