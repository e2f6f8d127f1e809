//! Velocities beyond the surface of a liquid: what particles there see, and what new liquid begins with.
//!
//! Layer by layer: a face that is not known takes the mean of those beside it that are. Every layer reads what the one before left, so
//! no order matters.

use super::SLIVER;
use crate::Real;
use crate::field::{Field, OutOfMemory, Pad, VectorField};
use crate::grid::{At, Grid};
use crate::layout::Layout;
use crate::rows;

/// Room for it.
pub struct Extrapolation<const D: usize> {
    /// 1 on faces that are known, 0 elsewhere.
    known: Field<D>,
    change: Field<D>,
    changed: Field<D>,
    next: [Field<D>; 2],
}

/// How many layers a change is continued by: as far as particles of the liquid reach.
const HEARD: usize = 2;

impl<const D: usize> Extrapolation<D> {
    /// For fields of a layout.
    pub fn new(grid: &Grid<D>, layout: &Layout<D>) -> Result<Self, OutOfMemory> {
        let field = || Field::on(layout, At::Face(0), grid.flat_ends(0.0));
        Ok(Extrapolation { known: field()?, change: field()?, changed: field()?, next: [field()?, field()?] })
    }

    /// Goes over to another layout.
    pub fn reset_on(&mut self, layout: &Layout<D>) -> Result<(), OutOfMemory> {
        let Self { known, change, changed, next: [next, next_known] } = self;
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
        let Self { known, change, changed, next } = self;
        for (a, u) in u.iter_mut().enumerate() {
            for field in [&mut *known, change, changed].into_iter().chain(next.iter_mut()) {
                field.relabel(At::Face(a), field.ends());
                // Last faces, too, which are never written: what another component left there would be taken for known.
                field.fill(0.0);
            }
            known.par_rows(|row, known| {
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
                rows::for_each([&mut *change, &mut *changed], |row, [change, changed]| {
                    changed.copy_from_slice(there.row(row));
                    let (now, told) = (now.row(row), told.row(row));
                    for (x, change) in change.iter_mut().enumerate() {
                        *change = changed[x] * (now[x] - told[x]);
                    }
                });
                for _ in 0..HEARD {
                    layer(change, changed, next);
                }
                let (change, changed) = (&*change, &*changed);
                rows::for_each([&mut *u, &mut *known], |row, [u, known]| {
                    let (told, change, changed) = (told.row(row), change.row(row), changed.row(row));
                    for x in 0..u.len() {
                        if known[x] == 0.0 && changed[x] > 0.0 && told[x] != 0.0 {
                            u[x] = told[x] + change[x];
                            known[x] = 1.0;
                        }
                    }
                });
            }
            for _ in 0..layers {
                layer(u, known, next);
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
        let Self { known, next, .. } = self;
        for (a, (u, weight)) in u.iter_mut().zip(weight).enumerate() {
            for field in [&mut *known].into_iter().chain(next.iter_mut()) {
                field.relabel(At::Face(a), field.ends());
                field.fill(0.0);
            }
            known.par_rows(|row, known| {
                known.iter_mut().zip(weight.row(row)).for_each(|(known, weight)| *known = Real::from(*weight > 0.0));
            });
            for _ in 0..layers {
                layer(u, known, next);
            }
            u.set_end_faces_that_press(p);
            u.fill_halo();
        }
    }
}

/// Gives faces that are not known the mean of those beside them that are, and calls them known.
fn layer<const D: usize>(u: &mut Field<D>, known: &mut Field<D>, next: &mut [Field<D>; 2]) {
    u.fill_halo();
    known.fill_halo();
    let (now, there) = (&*u, &*known);
    let [next, next_known] = next;
    rows::for_each([&mut *next, &mut *next_known], |row, [next, next_known]| {
        next.copy_from_slice(now.row(row));
        next_known.copy_from_slice(there.row(row));
        if next_known.iter().all(|k| *k > 0.0) {
            return;
        }
        let mut sum = [0.0; 256];
        let mut count = [0.0; 256];
        let n = next.len();
        for begin in (0..n).step_by(256) {
            let len = (n - begin).min(256);
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
    rows::for_each([u, known], |row, [u, known]| {
        u.copy_from_slice(next.row(row));
        known.copy_from_slice(next_known.row(row));
    });
}
