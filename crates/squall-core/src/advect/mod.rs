//! Transport: every cell takes the value that the flow carries into it.
//!
//! | scheme | order | samples per field | bounds | energy kept, Taylor–Green vortex, 64², CFL 1 |
//! |---|---|---|---|---|
//! | [`Advection::SemiLagrangian`] | 1 | 1 linear | never exceeds old values | see `docs/quality.md` |
//! | [`Advection::MonotoneCubic`] | 2–3 | 1 cubic | never exceeds old values | |
//! | [`Advection::MacCormack`] | 2 | 2 linear + limiter | never exceeds the values around the departure point | |
//!
//! All fields at one location share one map of departure points. None of the schemes has a limit on the time step.
//! What loses most of a flow's energy is not the interpolation but the splitting of the step, see
//! [`Splitting`](crate::model::stable_fluids::Splitting).

mod cubic;

use crate::Real;
use crate::field::{Field, OutOfMemory, VectorField};
use crate::grid::Grid;
use crate::layout::Row;
use crate::rows;
use crate::sample::{CHUNK, Chunk, Isa, Lanes, Places, chunks, flatten, gather, limit};
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

/// MacCormack's second pass works on this many fields at once: their old values are free afterwards and hold the results
/// of the next ones.
const GROUP: usize = 3;

/// Most fields that one call can move.
pub const MAX_FIELDS: usize = rows::MAX - 1;

/// The top bit of a stored place says that the path ran into a boundary. Places are below 2^31.
const MOVED: u32 = 1 << 31;

impl<const D: usize> Scratch<D> {
    /// Room to move `count` fields shaped like `model`.
    pub fn new(model: &Field<D>, scheme: Advection, count: usize) -> Result<Self, OutOfMemory> {
        let fields = (0..Self::fields(scheme, count)).map(|_| Field::like(model)).collect::<Result<_, _>>()?;
        Ok(Scratch { fields })
    }

    /// How many fields it takes to move `count` fields.
    pub fn fields(scheme: Advection, count: usize) -> usize {
        match scheme {
            Advection::SemiLagrangian | Advection::MonotoneCubic => count,
            Advection::MacCormack => count + 1 + count.min(GROUP),
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
    /// The velocity that moves them, centred or staggered, with its ghosts filled.
    pub velocity: &'a VectorField<D>,
    /// The rule that traces paths.
    pub tracer: Tracer,
    /// The instruction set to use.
    pub isa: Isa,
}

/// Moves centred fields with the flow for `dt` seconds: `a(x) <- a(path from x, back by dt)`.
///
/// Needs the ghosts of all fields filled; leaves them filled.
pub fn advect<const D: usize>(
    scheme: Advection,
    flow: Flow<D>,
    dt: f64,
    fields: &mut [&mut Field<D>],
    scratch: &mut Scratch<D>,
) {
    let back = Paths::new(flow.velocity, flow.grid, dt, flow.tracer, flow.isa);
    for fields in fields.chunks_mut(MAX_FIELDS) {
        match scheme {
            Advection::SemiLagrangian => sample_all(&back, gather_linear, fields, &mut scratch.fields),
            Advection::MonotoneCubic => sample_all(&back, cubic::gather_monotone, fields, &mut scratch.fields),
            Advection::MacCormack => {
                let forth = Paths::new(flow.velocity, flow.grid, -dt, flow.tracer, flow.isa);
                maccormack(&back, &forth, fields, &mut scratch.fields);
            }
        }
        for f in fields {
            f.fill_halo();
        }
    }
}

/// Leaves in `work` where the centres of a chunk came from.
#[inline(always)]
fn departure<const D: usize>(paths: &Paths<D>, model: &Field<D>, row: Row<D>, chunk: Chunk<D>, work: &mut Work<D>) {
    paths.displacement(row, chunk, work);
    for (a, rule) in paths.rules.iter().enumerate() {
        rule.locate(a, chunk, &work.d[a], false, &mut work.center[a]);
    }
    flatten(model.layout(), work.center.each_ref(), chunk.lanes, &mut work.places);
}

type Sampler<const D: usize> = fn(Isa, &Field<D>, &Places, [&Lanes; D], &mut Lanes);

fn gather_linear<const D: usize>(isa: Isa, field: &Field<D>, at: &Places, frac: [&Lanes; D], out: &mut Lanes) {
    gather(isa, field.corners(), at, frac, out);
}

/// Each field becomes its own samples at the departure points.
fn sample_all<const D: usize>(
    back: &Paths<D>,
    sampler: Sampler<D>,
    fields: &mut [&mut Field<D>],
    scratch: &mut [Field<D>],
) {
    let isa = back.isa;
    rows::for_each_of(&mut scratch[..fields.len()], Work::new, |work, row, out| {
        isa.run(|| {
            let mut value = [0.0; CHUNK];
            for chunk in chunks(row.index, out[0].len()) {
                departure(back, fields[0], row, chunk, work);
                for (field, out) in fields.iter().zip(out.iter_mut()) {
                    sampler(isa, field, &work.places, work.center.each_ref().map(|a| &a.frac), &mut value);
                    chunk.store(&value, out);
                }
            }
        })
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
    let isa = back.isa;
    let (first, results) = scratch.split_at_mut(count + 1);

    // a1 = A a, and the low corners of the departure points for the limiter.
    rows::for_each_of(first, Work::new, |work, row, out| {
        isa.run(|| {
            let mut value = [0.0; CHUNK];
            for chunk in chunks(row.index, out[0].len()) {
                departure(back, fields[0], row, chunk, work);
                for (field, out) in fields.iter().zip(out.iter_mut()) {
                    let frac = work.center.each_ref().map(|a| &a.frac);
                    gather(isa, field.corners(), &work.places, frac, &mut value);
                    chunk.store(&value, out);
                }
                for (l, &place) in work.places.get().iter().enumerate() {
                    let moved = work.center.iter().fold(0, |m, a| m | a.moved[l]);
                    value[l] = Real::from_bits(place | moved & MOVED);
                }
                chunk.store(&value, out[count]);
            }
        })
    });
    let (a1, corner) = first.split_at_mut(count);
    let corner = &corner[0];
    for (a1, field) in a1.iter_mut().zip(fields.iter()) {
        a1.relabel(field.at(), field.ends());
        a1.fill_halo();
    }

    // a1 + (a - A^-1 a1) / 2, a few fields at a time.
    for (fields, a1) in fields.chunks_mut(GROUP).zip(a1.chunks(GROUP)) {
        rows::for_each_of(
            &mut results[..fields.len()],
            || (Work::new(), Places::new()),
            |(work, limits), row, out| {
                isa.run(|| {
                    let mut value = [0.0; CHUNK];
                    let mut half = [0.0; CHUNK];
                    for chunk in chunks(row.index, out[0].len()) {
                        departure(forth, fields[0], row, chunk, work);
                        let corner = chunk.of(corner.row(row));
                        let last = corner.len() - 1;
                        limits.set(chunk.lanes, |l| corner[l.min(last)].to_bits() & !MOVED);
                        // Where either path met a boundary there is no way back: keep a1.
                        for l in 0..corner.len() {
                            let moved = work.center.iter().fold(corner[l].to_bits() & MOVED, |m, a| m | a.moved[l]);
                            half[l] = if moved == 0 { 0.5 } else { 0.0 };
                        }
                        for (k, out) in out.iter_mut().enumerate() {
                            let frac = work.center.each_ref().map(|a| &a.frac);
                            gather(isa, a1[k].corners(), &work.places, frac, &mut value);
                            let (old, new) = (chunk.of(fields[k].row(row)), chunk.of(a1[k].row(row)));
                            let (value_, half) = (&mut value[..old.len()], &half[..old.len()]);
                            for l in 0..old.len() {
                                value_[l] = new[l] + half[l] * (old[l] - value_[l]);
                            }
                            limit(isa, fields[k].corners(), limits, &mut value);
                            chunk.store(&value, out);
                        }
                    }
                })
            },
        );
        for (field, result) in fields.iter_mut().zip(results.iter_mut()) {
            field.swap_values(result);
        }
    }
}
