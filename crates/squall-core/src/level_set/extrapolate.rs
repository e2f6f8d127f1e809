//! Velocities beyond the surface of a liquid: what particles there see, and what new liquid begins with.
//!
//! Layer by layer: a face that is not known takes the mean of those beside it that are. Every layer reads what the one before left, so
//! no order matters. Each row knows where its known faces are, so that a layer looks no further than one face from them.

use super::SLIVER;
use crate::Real;
use crate::field::{Field, OutOfMemory, Pad, VectorField};
use crate::grid::{At, Ends, Grid};
use crate::layout::{Layout, Row};
use crate::rows::{self, Span};

/// Room for it.
pub struct Extrapolation<const D: usize> {
    /// 1 on faces that are known, 0 elsewhere.
    known: Field<D>,
    change: Field<D>,
    changed: Field<D>,
    next: [Field<D>; 2],
    /// Where faces are known, and where changes.
    reach: Reach,
    change_reach: Reach,
}

/// How many layers a change is continued by: as far as particles of the liquid reach.
const HEARD: usize = 2;

impl<const D: usize> Extrapolation<D> {
    /// For fields of a layout.
    pub fn new(grid: &Grid<D>, layout: &Layout<D>) -> Result<Self, OutOfMemory> {
        let field = || Field::on(layout, At::Face(0), grid.flat_ends(0.0));
        Ok(Extrapolation {
            known: field()?,
            change: field()?,
            changed: field()?,
            next: [field()?, field()?],
            reach: Reach::default(),
            change_reach: Reach::default(),
        })
    }

    /// Goes over to another layout.
    pub fn reset_on(&mut self, layout: &Layout<D>) -> Result<(), OutOfMemory> {
        let Self { known, change, changed, next: [next, next_known], .. } = self;
        [known, change, changed, next, next_known].into_iter().try_for_each(|field| field.reset_on(layout))
    }

    /// Continues `u` from the faces of liquid cells (`phi < 0`) that are open (more than a sliver) by so many layers; it is zero further away. Needs the ghosts of
    /// `phi`, leaves those of `u` filled.
    ///
    /// Faces that particles have `told` what they were before, zero where none has (with the pressure, for walls that the liquid lets
    /// go of), keep that and take the change of the faces beside: the
    /// velocity of a particle at the surface is then not mixed with that of others.
    pub fn apply(
        &mut self,
        u: &mut VectorField<D>,
        told: Option<(&VectorField<D>, &Field<D>)>,
        phi: &Field<D>,
        open: Option<&VectorField<D>>,
        layers: usize,
    ) {
        let Self { known, change, changed, next, reach, change_reach } = self;
        for (a, u) in u.iter_mut().enumerate() {
            for field in [&mut *known, change, changed] {
                field.relabel(At::Face(a), field.ends());
                // Last faces, too, which are never written: what another component left there would be taken for known.
                field.fill(0.0);
            }
            next.iter_mut().for_each(|field| field.relabel(At::Face(a), field.ends()));
            reach.find(known, |row, known| {
                let mut pad = Pad::default();
                let (low, high) = (phi.down(row, a, &mut pad), phi.row(row));
                let open = open.map(|open| open[a].row(row));
                for x in 0..known.len() {
                    let wet = low[x] < 0.0 || high[x] < 0.0;
                    known[x] = Real::from(wet && open.is_none_or(|open| open[x] > SLIVER));
                }
            });
            if let Some(told) = told.map(|(told, _)| &told[a]) {
                let (now, there) = (&*u, &*known);
                change_reach.copy(reach);
                rows::with_items([&mut *change, &mut *changed], &mut reach.now, |_, row, span, [change, changed]| {
                    let span = span.range();
                    changed[span.clone()].copy_from_slice(&there.row(row)[span.clone()]);
                    let (now, told) = (now.row(row), told.row(row));
                    for x in span {
                        change[x] = changed[x] * (now[x] - told[x]);
                    }
                });
                for _ in 0..HEARD {
                    layer(change, changed, next, change_reach);
                }
                let (change, changed) = (&*change, &*changed);
                rows::with_items([&mut *u, &mut *known], &mut change_reach.now, |_, row, span, [u, known]| {
                    let (told, change, changed) = (told.row(row), change.row(row), changed.row(row));
                    for x in span.range() {
                        if known[x] == 0.0 && changed[x] > 0.0 && told[x] != 0.0 {
                            u[x] = told[x] + change[x];
                            known[x] = 1.0;
                        }
                    }
                });
                reach.copy(change_reach);
            }
            for _ in 0..layers {
                layer(u, known, next, reach);
            }
            let known = &*known;
            u.par_rows(|row, u| u.iter_mut().zip(known.row(row)).for_each(|(u, known)| *u *= known));
            match told {
                Some((_, p)) => u.set_end_faces_that_press(p),
                // What was not projected knows nothing of the last faces of open sides.
                None => u.finish_end_faces(),
            }
            u.fill_halo();
        }
    }

    /// Continues `u` from the faces that particles have told something, those with a weight, by so many layers. Leaves ghosts filled.
    pub fn from_told(&mut self, u: &mut VectorField<D>, weight: &VectorField<D>, p: &Field<D>, layers: usize) {
        let Self { known, next, reach, .. } = self;
        for (a, (u, weight)) in u.iter_mut().zip(weight).enumerate() {
            known.relabel(At::Face(a), known.ends());
            known.fill(0.0);
            next.iter_mut().for_each(|field| field.relabel(At::Face(a), field.ends()));
            reach.find(known, |row, known| {
                known.iter_mut().zip(weight.row(row)).for_each(|(known, weight)| *known = Real::from(*weight > 0.0));
            });
            for _ in 0..layers {
                layer(u, known, next, reach);
            }
            u.set_end_faces_that_press(p);
            u.fill_halo();
        }
    }
}

/// Of each row the stretch outside of which nothing is known.
#[derive(Debug, Default)]
struct Reach {
    now: Vec<Span>,
    next: Vec<Span>,
    /// Of each row the part in which the present layer can change something.
    changes: Vec<Span>,
}

impl Reach {
    /// Writes what is known, row by row, and notes where that is.
    fn find<const D: usize>(&mut self, known: &mut Field<D>, f: impl Fn(Row<'_, D>, &mut [Real]) + Sync + Send) {
        let rows = known.layout().rows();
        self.now.resize(rows, Span::default());
        rows::with_items([known], &mut self.now, |_, row, span, [known]| {
            f(row, known);
            *span = Span::around(known.len(), |x| known[x] > 0.0);
        });
    }

    fn copy(&mut self, other: &Reach) {
        self.now.clone_from(&other.now);
    }

    /// Goes on by one layer.
    fn grow<const D: usize>(&mut self, layout: &Layout<D>, ends: [Ends; D]) {
        self.next.resize(self.now.len(), Span::default());
        self.changes.resize(self.now.len(), Span::default());
        for r in 0..self.now.len() {
            self.next[r] = Reach::ahead(&self.now, layout, ends, r);
        }
        std::mem::swap(&mut self.now, &mut self.next);
    }

    /// Where a row can be reached by the next layer.
    fn ahead<const D: usize>(now: &[Span], layout: &Layout<D>, ends: [Ends; D], row: usize) -> Span {
        let n = layout.cells()[0];
        let whole = Span { begin: 0, end: n as u32 };
        if layout.as_tiles().is_some() {
            // Rows of tiles are short, and go on in others.
            return whole;
        }
        let mut span = now[row];
        let mut stride = 1;
        for a in 1..D {
            let (count, at) = (layout.cells()[a], row / stride % layout.cells()[a]);
            let joined = ends[a] == Ends::Periodic;
            for (last, step) in [(0, -1), (count - 1, 1)] {
                // Beyond an end that is not joined lies what is within.
                let by = if at != last {
                    step
                } else if joined {
                    -step * (count as isize - 1)
                } else {
                    0
                };
                span = span.join(now[row.wrapping_add_signed(by * stride as isize)]);
            }
            stride *= count;
        }
        let touches = !span.is_empty() && (span.begin == 0 || span.end as usize == n);
        if touches && ends[0] == Ends::Periodic { whole } else { span.grown(n) }
    }
}

/// Gives faces that are not known the mean of those beside them that are, and calls them known.
fn layer<const D: usize>(u: &mut Field<D>, known: &mut Field<D>, next: &mut [Field<D>; 2], reach: &mut Reach) {
    u.fill_halo();
    known.fill_halo();
    reach.grow(known.layout(), known.ends());
    let (now, there) = (&*u, &*known);
    let [next, next_known] = next;
    let Reach { now: spans, changes, .. } = reach;
    rows::with_items([&mut *next, &mut *next_known], changes, |r, row, changes, [next, next_known]| {
        // Most of the faces there are known: what is left of them is a short stretch.
        let (within, here) = (spans[r].range(), there.row(row));
        let unknown = Span::around(within.len(), |x| here[within.start + x] == 0.0).range();
        let range = within.start + unknown.start..within.start + unknown.end;
        *changes = Span { begin: range.start as u32, end: range.end as u32 };
        if range.is_empty() {
            return;
        }
        next[range.clone()].copy_from_slice(&now.row(row)[range.clone()]);
        next_known[range.clone()].copy_from_slice(&there.row(row)[range.clone()]);
        let mut sum = [0.0; 256];
        let mut count = [0.0; 256];
        for begin in range.clone().step_by(256) {
            let len = (range.end - begin).min(256);
            let (sum, count) = (&mut sum[..len], &mut count[..len]);
            sum.fill(0.0);
            count.fill(0.0);
            for b in 0..D {
                for up in [false, true] {
                    let (mut pad, mut other) = (Pad::default(), Pad::default());
                    let (u, k) = match up {
                        true => (now.up(row, b, &mut pad), there.up(row, b, &mut other)),
                        false => (now.down(row, b, &mut pad), there.down(row, b, &mut other)),
                    };
                    let (u, k) = (&u[begin..][..len], &k[begin..][..len]);
                    for x in 0..len {
                        sum[x] += u[x] * k[x];
                        count[x] += k[x];
                    }
                }
            }
            let (next, next_known) = (&mut next[begin..][..len], &mut next_known[begin..][..len]);
            for x in 0..len {
                let reached = (next_known[x] == 0.0) & (count[x] > 0.0);
                next[x] = if reached { sum[x] / count[x] } else { next[x] };
                next_known[x] = if reached { 1.0 } else { next_known[x] };
            }
        }
    });
    rows::with_items([u, known], changes, |_, row, changes, [u, known]| {
        let range = changes.range();
        u[range.clone()].copy_from_slice(&next.row(row)[range.clone()]);
        known[range.clone()].copy_from_slice(&next_known.row(row)[range]);
    });
}
