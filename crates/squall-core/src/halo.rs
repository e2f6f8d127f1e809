//! Ghost cells: the one file that knows what each kind of boundary means for values at each location.

use crate::Real;
use crate::field::{Field, Pad};
use crate::grid::{At, Axis, End, Ends, Grid, Side};
use crate::layout::{HALO, Layout, Row, SLACK};
use crate::rows;
use rayon::prelude::*;

impl<const D: usize> Grid<D> {
    /// What the pressure does: flat at walls and where the flow across the face is given, zero where the side is open.
    pub fn pressure_ends(&self) -> [Ends; D] {
        let end = |side| match side {
            Side::Slip | Side::NoSlip { .. } | Side::Inflow { .. } => End::Flat,
            Side::Open => End::Value(0.0),
        };
        self.axes.map(|axis| match axis {
            Axis::Unbounded => Ends::Unbounded(0.0),
            Axis::Periodic => Ends::Periodic,
            Axis::Bounded { lo, hi } => Ends::Bounded { lo: end(lo), hi: end(hi) },
        })
    }

    /// What velocity component `c` does at the ends of each axis.
    pub fn velocity_ends(&self, c: usize) -> [Ends; D] {
        std::array::from_fn(|a| {
            let end = |side| match side {
                Side::Slip if a == c => End::Value(0.0),
                Side::Slip | Side::Open => End::Flat,
                Side::NoSlip { .. } if a == c => End::Value(0.0),
                Side::NoSlip { velocity } | Side::Inflow { velocity } => End::Value(velocity[c]),
            };
            match self.axes[a] {
                Axis::Unbounded => Ends::Unbounded(0.0),
                Axis::Periodic => Ends::Periodic,
                Axis::Bounded { lo, hi } => Ends::Bounded { lo: end(lo), hi: end(hi) },
            }
        })
    }

    /// What velocity component `c` does at the ends of each axis while it is transported: what comes in through an open
    /// side was at rest outside. If it brought the velocity that it finds inside, a vortex on the side could feed itself
    /// and grow without end.
    pub fn transported_velocity_ends(&self, c: usize) -> [Ends; D] {
        let mut ends = self.velocity_ends(c);
        for (ends, axis) in ends.iter_mut().zip(self.axes) {
            if let (Ends::Bounded { lo, hi }, Axis::Bounded { lo: low, hi: high }) = (ends, axis) {
                for (end, _) in [(lo, low), (hi, high)].into_iter().filter(|(_, side)| *side == Side::Open) {
                    *end = End::Value(0.0);
                }
            }
        }
        ends
    }

    /// What a substance does if nothing else is said: insulated walls, and what enters from outside brings `outside`.
    /// Values on an open side do not hold back what leaves: its paths come from inside.
    pub fn substance_ends(&self, outside: Real) -> [Ends; D] {
        let end = |side| match side {
            Side::Slip | Side::NoSlip { .. } => End::Flat,
            Side::Inflow { .. } | Side::Open => End::Value(outside),
        };
        self.axes.map(|axis| match axis {
            Axis::Unbounded => Ends::Unbounded(outside),
            Axis::Periodic => Ends::Periodic,
            Axis::Bounded { lo, hi } => Ends::Bounded { lo: end(lo), hi: end(hi) },
        })
    }
}

impl<const D: usize> Field<D> {
    /// Writes the ghost cells from the cells inside and the rules at the ends; does nothing if they are as they should be.
    /// Who needs ghosts calls this first, who changes values need not.
    ///
    /// Axis after axis, each including the ghosts of the axes before it, so that corners are filled too. Along its own
    /// axis a staggered field keeps its first and last face when the axis is bounded: those are values, not ghosts. On
    /// tiles there is only the background to fill.
    pub fn fill_halo(&mut self) {
        if self.ghosts_filled {
            return;
        }
        if let Ends::Unbounded(outside) = self.ends()[0] {
            let tile = self.layout().cells()[0].pow(D as u32);
            self.data[SLACK..][..tile].fill(outside);
        } else {
            for a in 0..D {
                self.fill_axis(a, Prescribed::OnFace);
            }
        }
        self.ghosts_filled = true;
    }

    /// Writes the ghost cells as transport of what is conserved needs them: beyond an end that prescribes a value lie
    /// cells that hold it. (Ghosts that put the value on the boundary face would carry in half a cell too much of it.)
    pub(crate) fn fill_halo_from_outside(&mut self) {
        let holds = |ends: &Ends| matches!(ends, Ends::Bounded { lo, hi } if *lo != End::Flat || *hi != End::Flat);
        if !self.ends().iter().any(holds) {
            return self.fill_halo();
        }
        for a in 0..D {
            self.fill_axis(a, Prescribed::InCells);
        }
        self.ghosts_filled = false;
    }

    /// Makes this field, which lives on the faces across axis `a`, the mean of the centred values on both sides. Where an
    /// end prescribes a value, the boundary face has it exactly. Needs the ghosts of `cells`.
    pub fn set_face_means(&mut self, cells: &Field<D>, a: usize) {
        self.relabel(At::Face(a), cells.ends());
        self.par_rows(|row, face| {
            let mut pad = Pad::default();
            let (low, high) = (cells.down(row, a, &mut pad), cells.row(row));
            for x in 0..face.len() {
                face[x] = 0.5 * (low[x] + high[x]);
            }
        });
        // The last face lies behind the cells.
        let n = self.cells()[a] as isize;
        match cells.ends()[a] {
            Ends::Unbounded(_) => {}
            Ends::Periodic => self.copy_slab(a, &Ghost { from: 0, to: n, scale: 1.0, shift: 0.0 }),
            Ends::Bounded { lo, hi } => {
                if let End::Value(b) = lo {
                    self.set_slab(a, 0, |_| b);
                }
                let inside = cells.layout().stride()[a];
                match hi {
                    End::Value(b) => self.set_slab(a, n, |_| b),
                    End::Flat => self.set_slab(a, n, |at| cells.data[at - inside]),
                }
            }
        }
    }

    /// Gives a field on faces, edges or nodes its values on the ends of each bounded axis across which it lies: what the
    /// end prescribes, or the next value inside.
    pub fn finish_end_faces(&mut self) {
        let at = self.at();
        for a in (0..D).filter(|&a| at.on_lower_side(a)) {
            let Ends::Bounded { lo, hi } = self.ends()[a] else { continue };
            let n = self.cells()[a] as isize;
            for (end, at, inside) in [(lo, 0, 1), (hi, n, n - 1)] {
                match end {
                    End::Value(b) => self.set_slab(a, at, |_| b),
                    End::Flat => self.copy_slab(a, &Ghost { from: inside.clamp(0, n), to: at, scale: 1.0, shift: 0.0 }),
                }
            }
            self.ghosts_filled = false;
        }
    }

    /// `face += mean of the centred values on both sides`, the last face included. Needs the ghosts of `cells`.
    pub(crate) fn add_face_means(&mut self, cells: &Field<D>, a: usize) {
        self.add_scaled_face_means(cells, a, 1.0, 0.0);
    }

    /// `face += k (mean of the centred values on both sides - less)`, the last face included. Needs the ghosts of `cells`.
    pub(crate) fn add_scaled_face_means(&mut self, cells: &Field<D>, a: usize, k: Real, less: Real) {
        self.par_rows(|row, face| {
            let mut pad = Pad::default();
            let (low, high) = (cells.down(row, a, &mut pad), cells.row(row));
            for x in 0..face.len() {
                face[x] += k * (0.5 * (low[x] + high[x]) - less);
            }
        });
        if let Ends::Bounded { .. } = self.ends()[a] {
            let n = self.cells()[a] as isize;
            let (below, layout) = (self.layout().stride()[a], self.layout().clone());
            slab_runs(&layout, a, n, |start, run| {
                for at in start..start + run {
                    self.data[at] += k * (0.5 * (cells.data[at] + cells.data[at - below]) - less);
                }
            });
        }
    }

    /// `self = now + ahead (now - before)`, in all that is stored: the last faces lie behind the cells.
    pub(crate) fn set_ahead(&mut self, now: &Self, before: &Self, ahead: Real) {
        const BLOCK: usize = 1 << 14;
        let data = self.data_mut().par_chunks_mut(BLOCK);
        data.zip(now.data.par_chunks(BLOCK)).zip(before.data.par_chunks(BLOCK)).for_each(|((out, now), before)| {
            for x in 0..out.len() {
                out[x] = now[x] + ahead * (now[x] - before[x]);
            }
        });
    }

    /// `face -= (q(i) - q(i - e_a)) / h` for values on the faces across axis `a`, the last one included. Needs the ghosts
    /// of `q`.
    pub fn subtract_face_gradient(&mut self, q: &Field<D>, a: usize, h: f64) {
        let inv_h = (1.0 / h) as Real;
        self.par_rows(|row, face| {
            let mut pad = Pad::default();
            let (low, high) = (q.down(row, a, &mut pad), q.row(row));
            for x in 0..face.len() {
                face[x] -= inv_h * (high[x] - low[x]);
            }
        });
        if let Ends::Bounded { hi: End::Flat, .. } = self.ends()[a] {
            let n = self.cells()[a] as isize;
            let below = self.layout().stride()[a];
            let layout = self.layout().clone();
            slab_runs(&layout, a, n, |start, run| {
                for at in start..start + run {
                    self.data[at] -= inv_h * (q.data[at] - q.data[at - below]);
                }
            });
        }
    }

    /// Face after the pressure solve, for values on the faces across axis `a`, the last one included:
    /// `face -= (q(i) - q(i - e_a)) / h` where the face is open, at least in part; the solid's velocity where it is not.
    /// Needs the ghosts of `q`, and the last faces of `open` and `solid`. `near` says which rows have a face that is not
    /// wide open.
    pub(crate) fn subtract_open_gradient(
        &mut self,
        q: &Field<D>,
        (a, h): (usize, f64),
        open: &Field<D>,
        solid: &Field<D>,
        near: impl Fn(Row<'_, D>) -> bool + Sync,
    ) {
        let inv_h = (1.0 / h) as Real;
        let settled = |u: Real, low: Real, high: Real, open: Real, solid: Real| {
            if open > 0.0 { u - inv_h * (high - low) } else { solid }
        };
        self.par_rows(|row, face| {
            let mut pad = Pad::default();
            let (low, high) = (q.down(row, a, &mut pad), q.row(row));
            if near(row) {
                let (open, solid) = (open.row(row), solid.row(row));
                for x in 0..face.len() {
                    face[x] = settled(face[x], low[x], high[x], open[x], solid[x]);
                }
            } else {
                for x in 0..face.len() {
                    face[x] -= inv_h * (high[x] - low[x]);
                }
            }
        });
        if let Ends::Bounded { hi: End::Flat, .. } = self.ends()[a] {
            let n = self.cells()[a] as isize;
            let layout = self.layout().clone();
            let below = layout.stride()[a];
            slab_runs(&layout, a, n, |start, run| {
                for at in start..start + run {
                    let (low, high) = (q.data[at - below], q.data[at]);
                    self.data[at] = settled(self.data[at], low, high, open.data[at], solid.data[at]);
                }
            });
        }
    }

    /// [`Field::subtract_face_gradient`] where faces are open, at least in part; others stay as they are.
    pub(crate) fn subtract_gradient_where_open(&mut self, q: &Field<D>, (a, h): (usize, f64), open: &Field<D>) {
        let inv_h = (1.0 / h) as Real;
        self.par_rows(|row, face| {
            let mut pad = Pad::default();
            let (low, high, open) = (q.down(row, a, &mut pad), q.row(row), open.row(row));
            for x in 0..face.len() {
                face[x] -= if open[x] > 0.0 { inv_h * (high[x] - low[x]) } else { 0.0 };
            }
        });
        if let Ends::Bounded { hi: End::Flat, .. } = self.ends()[a] {
            let (n, layout) = (self.cells()[a] as isize, self.layout().clone());
            let below = layout.stride()[a];
            slab_runs(&layout, a, n, |start, run| {
                for at in (start..start + run).filter(|&at| open.data[at] > 0.0) {
                    self.data[at] -= inv_h * (q.data[at] - q.data[at - below]);
                }
            });
        }
    }

    /// Gives the faces on both ends of a staggered field's own axis what the ends prescribe, if they do.
    pub fn set_end_faces(&mut self) {
        let At::Face(a) = self.at() else { return };
        let Ends::Bounded { lo, hi } = self.ends()[a] else { return };
        self.ghosts_filled = false;
        for (i, end) in [(0, lo), (self.cells()[a] as isize, hi)] {
            if let End::Value(b) = end {
                self.set_slab(a, i, |_| b);
            }
        }
    }

    /// What enters through an open side was at rest outside: on the faces of such sides across a staggered field's own axis, `du/dt =
    /// -u |u| / h` where the flow comes in, which is the pressure that it takes to set it in motion within a cell. Without that,
    /// flow that comes in costs nothing, and jets through a side grow without end.
    pub fn slow_what_enters(&mut self, grid: &Grid<D>, dt: f64) {
        let (At::Face(a), layout) = (self.at(), self.layout().clone()) else { return };
        let Axis::Bounded { lo, hi } = grid.axes[a] else { return };
        let k = (dt / grid.spacing[a]) as Real;
        for (side, at, inward) in [(lo, 0, 1.0), (hi, self.cells()[a] as isize, -1.0)] {
            if side == Side::Open {
                slab_runs(&layout, a, at, |start, run| {
                    for u in &mut self.data[start..start + run] {
                        *u /= 1.0 + k * (inward * *u).max(0.0);
                    }
                });
            }
        }
        self.ghosts_filled = false;
    }

    /// Sets the values that lie on the far ends of the box and are stored behind the cells, by their index: the last
    /// faces of a staggered field, the last corners of one at nodes. `None` leaves a value as it is.
    pub(crate) fn set_last(&mut self, f: impl Fn([usize; D]) -> Option<Real>) {
        let (layout, at) = (self.layout().clone(), self.at());
        each_last(&layout, at, |index| {
            if let Some(value) = f(index) {
                self.data[layout.offset(index.map(|i| i as isize))] = value;
            }
        });
        self.ghosts_filled = false;
    }

    /// Calls `f` with the values that lie on the far ends of bounded axes and are stored behind the cells: the last faces
    /// of a staggered field.
    pub(crate) fn for_each_last(&self, mut f: impl FnMut(Real)) {
        let bounded = |a: usize| matches!(self.ends()[a], Ends::Bounded { .. });
        each_last(self.layout(), self.at(), |index| {
            if (0..D).all(|a| index[a] < self.cells()[a] || bounded(a)) {
                f(self.get(index));
            }
        });
    }

    /// Sets the values with index `i` along axis `a` from their places in memory.
    fn set_slab(&mut self, a: usize, i: isize, value: impl Fn(usize) -> Real) {
        let layout = self.layout().clone();
        slab_runs(&layout, a, i, |start, run| {
            for at in start..start + run {
                self.data[at] = value(at);
            }
        });
    }

    fn fill_axis(&mut self, a: usize, prescribed: Prescribed) {
        let n = self.cells()[a] as isize;
        let (ghosts, count) = Ghost::of(n, self.ends()[a], self.at().on_lower_side(a), prescribed);
        let ghosts = &ghosts[..count];
        if a == 0 {
            // Ghosts of both ends while a row is in the cache. Rows of ghosts get theirs from the other axes.
            rows::for_each_padded(self, |row| {
                for g in ghosts {
                    let value = g.scale * row[(g.from + HALO as isize) as usize] + g.shift;
                    row[(g.to + HALO as isize) as usize] = value;
                }
            });
            // The last values on the lower sides across other axes lie behind the cells, and are values as well.
            let at = self.at();
            for c in (1..D).filter(|&c| at.on_lower_side(c)) {
                if !matches!(self.ends()[c], Ends::Bounded { .. }) {
                    continue;
                }
                let (layout, last) = (self.layout().clone(), self.cells()[c] as isize);
                slab_runs(&layout, c, last, |start, run| {
                    for row in self.data[start..start + run].chunks_exact_mut(layout.stride()[1]) {
                        for g in ghosts {
                            let value = g.scale * row[(g.from + HALO as isize) as usize] + g.shift;
                            row[(g.to + HALO as isize) as usize] = value;
                        }
                    }
                });
            }
        } else {
            for g in ghosts {
                self.copy_slab(a, g);
            }
        }
    }

    /// Cells with index `to` along axis `a` become `scale` times the cells with index `from`, plus `shift`.
    fn copy_slab(&mut self, a: usize, &Ghost { from, to, scale, shift }: &Ghost) {
        let layout = self.layout().clone();
        let distance = (from - to) * layout.stride()[a] as isize;
        slab_runs(&layout, a, to, |t, run| {
            let s = t.wrapping_add_signed(distance);
            let (from, to) = if s < t {
                let (low, high) = self.data.split_at_mut(t);
                (&low[s..s + run], &mut high[..run])
            } else {
                let (low, high) = self.data.split_at_mut(s);
                (&high[..run], &mut low[t..t + run])
            };
            for (t, &s) in to.iter_mut().zip(from) {
                *t = scale * s + shift;
            }
        });
    }
}

/// Where the value lies that an end prescribes.
#[derive(Clone, Copy, PartialEq)]
enum Prescribed {
    /// On the boundary face.
    OnFace,
    /// In all cells beyond it.
    InCells,
}

/// One ghost value along an axis: `value[to] = scale * value[from] + shift`.
#[derive(Clone, Copy, Default)]
struct Ghost {
    to: isize,
    from: isize,
    scale: Real,
    shift: Real,
}

impl Ghost {
    /// The ghosts of an axis of `n` cells, in an order in which each finds its source filled.
    fn of(n: isize, ends: Ends, own_face: bool, prescribed: Prescribed) -> ([Ghost; 2 * HALO], usize) {
        let mut ghosts = [Ghost::default(); 2 * HALO];
        let mut count = 0;
        let mut add = |from, to, scale, shift| {
            ghosts[count] = Ghost { to, from, scale, shift };
            count += 1;
        };
        // Layer by layer: with one cell along the axis the second ghost mirrors the first on the other side.
        for g in 1..=HALO as isize {
            match ends {
                Ends::Unbounded(_) => {}
                Ends::Periodic => {
                    add((-g).rem_euclid(n), -g, 1.0, 0.0);
                    add((n + g - 1).rem_euclid(n), n + g - 1, 1.0, 0.0);
                }
                Ends::Bounded { .. } if own_face => {
                    add(0, -g, 1.0, 0.0);
                    // The last face is a value, not a ghost.
                    if g > 1 {
                        add(n, n + g - 1, 1.0, 0.0);
                    }
                }
                Ends::Bounded { lo, hi } => {
                    let rule = |end| match end {
                        End::Flat => (1.0, 0.0),
                        End::Value(b) if prescribed == Prescribed::InCells => (0.0, b),
                        End::Value(b) => (-1.0, 2.0 * b),
                    };
                    let (lo, hi) = (rule(lo), rule(hi));
                    add(g - 1, -g, lo.0, lo.1);
                    add(n - g, n + g - 1, hi.0, hi.1);
                }
            }
        }
        (ghosts, count)
    }
}

/// The places of all values with index `i` along axis `a`, ghosts included, as runs `(start, length)`.
pub(crate) fn slab_runs<const D: usize>(layout: &Layout<D>, a: usize, i: isize, mut f: impl FnMut(usize, usize)) {
    let mut origin = [-(HALO as isize); D];
    origin[a] = i;
    let first = layout.offset(origin);
    let run = layout.stride()[a];
    let period = run * (layout.cells()[a] + 2 * HALO);
    let repeats: usize = layout.cells()[a + 1..].iter().map(|n| n + 2 * HALO).product();
    for r in 0..repeats {
        f(first + r * period, run);
    }
}

/// Calls `f` with the indices of the values of a box that are stored behind its cells.
fn each_last<const D: usize>(layout: &Layout<D>, at: At, mut f: impl FnMut([usize; D])) {
    if layout.as_tiles().is_some() {
        return;
    }
    for a in (0..D).filter(|&a| at.on_lower_side(a)) {
        // Indices along the other axes; corners beyond an axis that had its turn are done.
        let mut count = layout.cells();
        count[a] = 1;
        for b in a + 1..D {
            count[b] += at.on_lower_side(b) as usize;
        }
        for i in 0..count.iter().product() {
            let mut rest: usize = i;
            let mut index = count.map(|n| {
                let i = rest % n;
                rest /= n;
                i
            });
            index[a] = layout.cells()[a];
            f(index);
        }
    }
}
