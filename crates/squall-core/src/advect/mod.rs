//! Transport: every cell takes the value that the flow carries into it.
//!
//! | scheme | order | samples per field | bounds | ns per cell, 2D / 3D | energy kept |
//! |---|---|---|---|---|---|
//! | [`Advection::SemiLagrangian`] | 1 | 1 linear | never exceeds old values | 17 / 45 | 0.70 |
//! | [`Advection::MonotoneCubic`] | 2 | 1 cubic | never exceeds old values | 237 / 958 | 0.99 |
//! | [`Advection::MacCormack`] | 2 | 2 linear + limiter | never exceeds the values around the departure point | 48 / 116 | 0.99 |
//!
//! Cost: five fields along a lively flow of two cells per step, 512² and 128³, one thread (`cargo bench --bench
//! transport`). Energy: Taylor–Green vortex, 64², two turns, CFL 1, lagged pressure (`docs/quality.md`).
//!
//! All fields at one location share one map of departure points. None of the schemes has a limit on the time step. Transport
//! that loses no mass, at up to one cell per step, is in [`hyperbolic`].
//! What loses most of a flow's energy is not the interpolation but the splitting of the step, see
//! [`Splitting`](crate::model::stable_fluids::Splitting).

mod account;
mod correct;
mod cubic;
mod exchange;
pub mod hyperbolic;
mod mapped;
mod pool;

pub use account::{settle, through_sides};
pub use mapped::{MapScratch, advect_mapped, carry};

use crate::Real;
use crate::field::{Field, OutOfMemory, VectorField};
use crate::grid::Grid;
use crate::layout::Row;
use crate::rows;
use crate::sample::{CHUNK, Chunk, Corners, Isa, Kernel, Lanes, Places, Points, chunks, flatten, gather, limit};
use crate::trace::{Paths, Tracer, Work};

/// How values are taken from departure points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advection {
    /// Linear interpolation (Stam 1999): robust and smooth, blurs details.
    SemiLagrangian,
    /// Cubic interpolation that makes no new extrema (Fedkiw, Stam & Jensen 2001).
    MonotoneCubic,
    /// Linear interpolation there and back to measure its error, corrected and limited (Selle et al. 2008).
    MacCormack,
}

/// Fields that [`advect`] works in.
#[derive(Debug, Default)]
pub struct Scratch<const D: usize> {
    fields: Vec<Field<D>>,
}

/// How many fields are moved at once. More share the work of tracing, fewer take less memory, which matters in 3D.
pub const fn group<const D: usize>() -> usize {
    if D == 3 { 3 } else { 6 }
}

/// The top bit of a stored place says that the path ran into a boundary. Places are below 2^31.
const MOVED: u32 = 1 << 31;

impl<const D: usize> Scratch<D> {
    /// Room to move any number of fields shaped like `model`, but `count` at most.
    pub fn new(model: &Field<D>, scheme: Advection, count: usize) -> Result<Self, OutOfMemory> {
        let fields = (0..Self::fields(scheme, count)).map(|_| Field::like(model)).collect::<Result<_, _>>()?;
        Ok(Scratch { fields })
    }

    /// How many fields it takes to move `count` fields.
    pub fn fields(scheme: Advection, count: usize) -> usize {
        let at_once = count.min(group::<D>());
        match scheme {
            Advection::SemiLagrangian | Advection::MonotoneCubic => at_once.max(2),
            Advection::MacCormack => 2 * at_once + 1,
        }
    }

    /// Two of the fields, for others to use between two calls.
    pub fn lend(&mut self) -> (&mut Field<D>, &mut Field<D>) {
        let (first, rest) = self.fields.split_at_mut(1);
        (&mut first[0], &mut rest[0])
    }
}

/// How and by what fields are moved.
#[derive(Clone, Copy)]
pub struct Flow<'a, const D: usize> {
    /// The grid that all fields live on.
    pub grid: &'a Grid<D>,
    /// The velocity that moves them, centred or staggered, with its ghosts.
    pub velocity: &'a VectorField<D>,
    /// The rule that traces paths.
    pub tracer: Tracer,
    /// The instruction set to use.
    pub isa: Isa,
}

/// Moves centred fields with the flow for `dt` seconds: `a(x) <- a(path from x, back by dt)`.
///
/// Needs the ghosts of the velocity.
pub fn advect<const D: usize>(
    scheme: Advection,
    flow: Flow<D>,
    dt: f64,
    fields: &mut [&mut Field<D>],
    scratch: &mut Scratch<D>,
) {
    let back = Paths::new(flow.velocity, flow.grid, dt, flow.tracer, flow.isa, &[]);
    for fields in fields.chunks_mut(group::<D>()) {
        fields.iter_mut().for_each(|f| f.fill_halo());
        match scheme {
            Advection::SemiLagrangian => sample_all(&back, gather, fields, &mut scratch.fields),
            Advection::MonotoneCubic => sample_all(&back, cubic::gather_monotone, fields, &mut scratch.fields),
            Advection::MacCormack => {
                let forth = Paths::new(flow.velocity, flow.grid, -dt, flow.tracer, flow.isa, &[]);
                maccormack(&back, &forth, fields, &mut scratch.fields);
            }
        }
    }
}

/// Leaves in `work` where the centres of a chunk came from.
#[inline(always)]
fn departure<const D: usize>(paths: &Paths<D>, model: &Field<D>, row: Row<'_, D>, chunk: Chunk<D>, work: &mut Work<D>) {
    paths.displacement(row, chunk, work);
    for (a, rule) in paths.rules.iter().enumerate() {
        rule.locate(a, chunk, &work.d[a], Points::CenterToCenter, &mut work.center[a]);
    }
    flatten(model.layout(), work.center.each_ref(), chunk.lanes, &mut work.places);
}

type Sampler<const D: usize> = fn(Isa, Corners<D>, &Places, [&Lanes; D], &mut Lanes);

/// Each field becomes its own samples at the departure points.
fn sample_all<const D: usize>(
    back: &Paths<D>,
    sampler: Sampler<D>,
    fields: &mut [&mut Field<D>],
    scratch: &mut [Field<D>],
) {
    let scratch = &mut scratch[..fields.len()];
    rows::for_each_of(scratch, Work::new, |work, row, out| {
        back.isa.run(SampleRow { back, sampler, fields, work, row, out });
    });
    for (field, result) in fields.iter_mut().zip(scratch) {
        field.swap_values(result);
    }
}

/// `a1 = A a`, `a0 = A^-1 a1`, result `a1 + (a - a0) / 2`, limited to the values that `A` used.
fn maccormack<const D: usize>(
    back: &Paths<D>,
    forth: &Paths<D>,
    fields: &mut [&mut Field<D>],
    scratch: &mut [Field<D>],
) {
    let count = fields.len();
    let (first, rest) = scratch.split_at_mut(count + 1);
    let results = &mut rest[..count];

    // a1 = A a; behind the fields, where the limiter will find the corners of the departure points.
    let sampler = gather;
    rows::for_each_of(first, Work::new, |work, row, out| {
        back.isa.run(SampleRow { back, sampler, fields, work, row, out });
    });
    let (a1, corner) = first.split_at_mut(count);
    let corner = &corner[0];
    for (a1, field) in a1.iter_mut().zip(fields.iter()) {
        a1.relabel(field.at(), field.ends());
        a1.fill_halo();
    }

    // a1 + (a - A^-1 a1) / 2
    rows::for_each_of(
        results,
        || (Work::new(), Places::new()),
        |(work, limits), row, out| {
            forth.isa.run(CorrectRow { forth, fields, a1, corner, work, limits, row, out });
        },
    );
    for (field, result) in fields.iter_mut().zip(results) {
        field.swap_values(result);
    }
}

/// One row of every field, sampled at the departure points. One more row, if there is one, gets the places of their low
/// corners, as bits, marked where the path met a boundary.
struct SampleRow<'a, 'f, 'o, const D: usize> {
    back: &'a Paths<'a, D>,
    sampler: Sampler<D>,
    fields: &'a [&'f mut Field<D>],
    work: &'a mut Work<D>,
    row: Row<'a, D>,
    out: &'a mut [&'o mut [Real]],
}

impl<const D: usize> Kernel for SampleRow<'_, '_, '_, D> {
    #[inline(always)]
    fn run(self) {
        let SampleRow { back, sampler, fields, work, row, out } = self;
        let mut value = [0.0; CHUNK];
        for chunk in chunks(row, out[0].len(), 0) {
            departure(back, fields[0], row, chunk, work);
            for (field, out) in fields.iter().zip(out.iter_mut()) {
                sampler(back.isa, field.corners(), &work.places, work.center.each_ref().map(|a| &a.frac), &mut value);
                chunk.store(&value, out);
            }
            if let Some(corner) = out.get_mut(fields.len()) {
                let places = work.places.get();
                for l in 0..places.len() {
                    let moved = work.center.iter().fold(0, |m, a| m | a.moved[l]);
                    value[l] = Real::from_bits(places[l] | moved & MOVED);
                }
                chunk.store(&value, corner);
            }
        }
    }
}

/// One row of MacCormack's correction.
struct CorrectRow<'a, 'f, 'o, const D: usize> {
    forth: &'a Paths<'a, D>,
    fields: &'a [&'f mut Field<D>],
    a1: &'a [Field<D>],
    corner: &'a Field<D>,
    work: &'a mut Work<D>,
    limits: &'a mut Places,
    row: Row<'a, D>,
    out: &'a mut [&'o mut [Real]],
}

impl<const D: usize> Kernel for CorrectRow<'_, '_, '_, D> {
    #[inline(always)]
    fn run(self) {
        let CorrectRow { forth, fields, a1, corner, work, limits, row, out } = self;
        let isa = forth.isa;
        let (mut value, mut half) = ([0.0; CHUNK], [0.0; CHUNK]);
        for chunk in chunks(row, out[0].len(), 0) {
            departure(forth, fields[0], row, chunk, work);
            let corner = chunk.of(corner.row(row));
            let mut place = [corner[0].to_bits() & !MOVED; CHUNK];
            for (place, corner) in place.iter_mut().zip(corner) {
                *place = corner.to_bits() & !MOVED;
            }
            limits.set(chunk.lanes, |l| place[l]);
            // Where either path met a boundary there is no way back: keep a1.
            for l in 0..corner.len() {
                let moved = work.center.iter().fold(corner[l].to_bits() & MOVED, |m, a| m | a.moved[l]);
                half[l] = if moved == 0 { 0.5 } else { 0.0 };
            }
            for (k, out) in out.iter_mut().enumerate() {
                let frac = work.center.each_ref().map(|a| &a.frac);
                gather(isa, a1[k].corners(), &work.places, frac, &mut value);
                let (old, new) = (chunk.of(fields[k].row(row)), chunk.of(a1[k].row(row)));
                let (corrected, half) = (&mut value[..old.len()], &half[..old.len()]);
                for l in 0..old.len() {
                    corrected[l] = new[l] + half[l] * (old[l] - corrected[l]);
                }
                limit(isa, fields[k].corners(), limits, &mut value);
                chunk.store(&value, out);
            }
        }
    }
}
