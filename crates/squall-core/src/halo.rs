//! Ghost cells: the only file that knows what each boundary condition means for values at each location.

use std::ops::Range;

use crate::Real;
use crate::field::{Field, Pad, VectorField};
use crate::grid::{At, End, Ends, Grid, Side};
use crate::layout::{Bounds, HALO, Layout, Row, SLACK, tile_width};
use crate::rows;
use crate::threads::prelude::*;

/// A liquid that leaves a wall at a speed `u` is not held back by a pressure (over density) of less than this times `u^2`.
pub(crate) const PRESSES: Real = 0.25;

impl<const D: usize> Grid<D> {
    /// What the pressure does: flat at walls and where the flow across the face is given, zero where the side is open.
    pub fn pressure_ends(&self) -> [Ends; D] {
        self.ends(|_, side| match side {
            Side::Slip | Side::NoSlip { .. } | Side::Inflow { .. } => End::Flat,
            Side::Open => End::Value(0.0),
            Side::Unbounded => End::Outside(0.0),
        })
    }

    /// What velocity component `c` does at the ends of each axis.
    pub fn velocity_ends(&self, c: usize) -> [Ends; D] {
        self.ends(|a, side| match side {
            Side::Slip if a == c => End::Value(0.0),
            Side::Slip | Side::Open => End::Flat,
            Side::NoSlip { .. } if a == c => End::Value(0.0),
            Side::NoSlip { velocity } | Side::Inflow { velocity } => End::Value(velocity[c]),
            Side::Unbounded => End::Outside(0.0),
        })
    }

    /// What velocity component `c` does at the ends of each axis while it is transported: what comes in through an open
    /// side was at rest outside. If it brought the velocity that it finds inside, a vortex on the side could feed itself
    /// and grow without end.
    pub fn transported_velocity_ends(&self, c: usize) -> [Ends; D] {
        let usual = self.velocity_ends(c);
        std::array::from_fn(|a| match (usual[a].pair(), self.axes[a].sides()) {
            (Some(ends), Some(sides)) => {
                Ends::of(std::array::from_fn(|k| if sides[k] == Side::Open { End::Value(0.0) } else { ends[k] }))
            }
            _ => usual[a],
        })
    }

    /// What a substance does if nothing else is said: insulated walls, and what enters from outside brings `outside`.
    /// Values on an open side do not hold back what leaves: its paths come from inside.
    pub fn substance_ends(&self, outside: Real) -> [Ends; D] {
        self.ends(|_, side| match side {
            Side::Slip | Side::NoSlip { .. } => End::Flat,
            Side::Inflow { .. } | Side::Open => End::Value(outside),
            Side::Unbounded => End::Outside(outside),
        })
    }

    /// Flat at all ends, `outside` where there is none.
    pub fn flat_ends(&self, outside: Real) -> [Ends; D] {
        self.ends(|_, side| if side == Side::Unbounded { End::Outside(outside) } else { End::Flat })
    }

    /// Ends from what stands at the sides of each axis.
    fn ends(&self, end: impl Fn(usize, Side<D>) -> End) -> [Ends; D] {
        std::array::from_fn(|a| match self.axes[a].sides() {
            None => Ends::Periodic,
            Some(sides) => Ends::of(sides.map(|side| end(a, side))),
        })
    }

    /// Where the sides bound the tiles of a grid that goes anywhere else, in tiles from cell 0. A side can only stand between
    /// two tiles, so the number of cells to one on the far side must be a multiple of [`tile_width`].
    pub fn tile_bounds(&self) -> Bounds<D> {
        let width = tile_width::<D>();
        std::array::from_fn(|a| {
            let sides = self.axes[a].sides().expect("an axis beside one without bounds does not join");
            let bounded = sides.map(|side| side != Side::Unbounded);
            assert!(!bounded[1] || self.cells[a].is_multiple_of(width), "a far side of tiles lies between two of them");
            [bounded[0].then_some(0), bounded[1].then_some((self.cells[a] / width) as i32)]
        })
    }
}

impl<const D: usize> Field<D> {
    /// Writes the ghost cells from the cells inside and the rules at the ends; does nothing if they are as they should be.
    /// Who needs ghosts calls this first, who changes values need not.
    ///
    /// Axis after axis, each including the ghosts of the axes before it, so that corners are filled too. Along its own
    /// axis a staggered field keeps its first and last face when the axis is bounded: those are values, not ghosts. On
    /// tiles there are the background, and ghost tiles where sides bound them.
    pub fn fill_halo(&mut self) {
        if self.ghosts_filled {
            return;
        }
        self.fill_background();
        for a in 0..D {
            self.fill_axis(a, Prescribed::OnFace);
        }
        self.ghosts_filled = true;
    }

    /// Writes the ghost cells as transport of what is conserved needs them: beyond an end that prescribes a value lie
    /// cells that hold it. (Ghosts that put the value on the boundary face would carry in half a cell too much of it.)
    pub(crate) fn fill_halo_from_outside(&mut self) {
        let holds = |ends: &Ends| ends.pair().is_some_and(|pair| pair.iter().any(|end| matches!(end, End::Value(_))));
        if !self.ends().iter().any(holds) {
            return self.fill_halo();
        }
        self.fill_background();
        for a in 0..D {
            self.fill_axis(a, Prescribed::InCells);
        }
        self.ghosts_filled = false;
    }

    /// On tiles, gives the background the value that the field has where no cells are.
    fn fill_background(&mut self) {
        if self.layout().as_tiles().is_some() {
            let outside = self.ends().into_iter().find_map(Ends::outside).unwrap_or(0.0);
            let tile = self.layout().cells()[0].pow(D as u32);
            self.data[SLACK..][..tile].fill(outside);
        }
    }

    /// Makes this field, which lives on the faces across axis `a`, the mean of the centred values on both sides. Where an
    /// end prescribes a value, the boundary face has it exactly. Needs the ghosts of `cells`.
    pub fn set_face_means(&mut self, cells: &Field<D>, a: usize) {
        self.relabel(At::Face(a), cells.ends());
        self.par_rows_and_ghosts(|row, face| {
            let mut pad = Pad::default();
            let (low, high) = (cells.down(row, a, &mut pad), cells.row(row));
            for x in 0..face.len() {
                face[x] = 0.5 * (low[x] + high[x]);
            }
        });
        // The last face lies behind the cells.
        let n = self.layout().end(a);
        let Some([lo, hi]) = cells.ends()[a].pair() else {
            return self.copy_slab(a, &Ghost { from: 0, to: n, scale: 1.0, shift: 0.0 });
        };
        if let End::Value(b) = lo {
            self.set_slab(a, 0, b);
        }
        match hi {
            End::Value(b) => self.set_slab(a, n, b),
            End::Flat => self.change_slab(a, n, |face, _, below| *face = cells.data[below]),
            End::Outside(_) => {}
        }
    }

    /// Gives a field on faces, edges or nodes its values on the ends of each bounded axis across which it lies: what the
    /// end prescribes, or the next value inside.
    pub fn finish_end_faces(&mut self) {
        let at = self.at();
        let rules = self.x_filled.filter(|rules| rules.on_face == at.on_lower_side(0) && rules.ends == self.ends()[0]);
        for a in (0..D).filter(|&a| at.on_lower_side(a)) {
            // What lies on the ends of rows may have been set with them.
            if a == 0 && rules.is_some() {
                continue;
            }
            let Some([lo, hi]) = self.ends()[a].pair() else { continue };
            let n = self.layout().end(a);
            for (end, at, inside) in [(lo, 0, 1), (hi, n, n - 1)] {
                match end {
                    End::Value(b) => self.set_slab(a, at, b),
                    End::Flat => self.copy_slab(a, &Ghost { from: inside.clamp(0, n), to: at, scale: 1.0, shift: 0.0 }),
                    End::Outside(_) => {}
                }
                // Rows of the slab have ghosts, too.
                if let (Some(rules), false) = (rules, matches!(end, End::Outside(_))) {
                    let layout = self.layout().clone();
                    slab_runs(&layout, a, at, |start, run| {
                        self.data[start..start + run]
                            .chunks_exact_mut(layout.stride()[1])
                            .for_each(|row| rules.fill_ghosts(row));
                    });
                }
            }
            self.ghosts_filled = false;
            self.x_filled = rules;
        }
    }

    /// `face += mean of the centred values on both sides`, the last face included. Needs the ghosts of `cells`.
    pub(crate) fn add_face_means(&mut self, cells: &Field<D>, a: usize) {
        self.add_scaled_face_means(cells, a, 1.0, 0.0);
    }

    /// `face += k (mean of the centred values on both sides - less)`, the last face included. Needs the ghosts of `cells`.
    pub(crate) fn add_scaled_face_means(&mut self, cells: &Field<D>, a: usize, k: Real, less: Real) {
        self.par_rows_and_ghosts(|row, face| {
            let mut pad = Pad::default();
            let (low, high) = (cells.down(row, a, &mut pad), cells.row(row));
            for x in 0..face.len() {
                face[x] += k * (0.5 * (low[x] + high[x]) - less);
            }
        });
        if self.has_last_faces(a, |_| true) {
            self.change_slab(a, self.layout().end(a), |face, at, below| {
                *face += k * (0.5 * (cells.data[at] + cells.data[below]) - less)
            });
        }
    }

    /// `self = now + ahead (now - before)`, then `before = now`, in all that is stored: the last faces lie behind the cells.
    pub(crate) fn set_ahead(&mut self, now: &Self, before: &mut Self, ahead: Real) {
        const BLOCK: usize = 1 << 14;
        before.relabel(now.at(), now.ends());
        let filled = now.ghosts_filled;
        let data = self.data_mut().par_chunks_mut(BLOCK).zip(now.data.par_chunks(BLOCK));
        data.zip(before.data_mut().par_chunks_mut(BLOCK)).for_each(|((out, now), before)| {
            for x in 0..out.len() {
                out[x] = now[x] + ahead * (now[x] - before[x]);
                before[x] = now[x];
            }
        });
        before.ghosts_filled = filled;
    }

    /// Gives the faces on both ends of a staggered field's own axis what the ends prescribe, if they do.
    pub fn set_end_faces(&mut self) {
        let At::Face(a) = self.at() else { return };
        let Some([lo, hi]) = self.ends()[a].pair() else { return };
        self.ghosts_filled = false;
        for (i, end) in [(0, lo), (self.layout().end(a), hi)] {
            if let End::Value(b) = end {
                self.set_slab(a, i, b);
            }
        }
    }

    /// Takes the faces on both ends of its own axis from another field of the same kind.
    pub(crate) fn copy_end_faces(&mut self, other: &Field<D>) {
        let At::Face(a) = self.at() else { return };
        let Some([lo, hi]) = self.ends()[a].pair() else { return };
        self.ghosts_filled = false;
        for (i, end) in [(0, lo), (self.layout().end(a), hi)] {
            if !matches!(end, End::Outside(_)) {
                self.change_slab(a, i, |face, at, _| *face = other.data[at]);
            }
        }
    }

    /// [`Field::set_end_faces`] for a liquid, which lets go of walls: where the pressure `p` in the cell beside is negative, or small for how fast
    /// the liquid leaves, the wall would have to draw, and its face moves like the next one.
    pub(crate) fn set_end_faces_that_press(&mut self, p: &Field<D>) {
        let At::Face(a) = self.at() else { return };
        let Some([lo, hi]) = self.ends()[a].pair() else { return };
        (self.ghosts_filled, self.x_filled) = (false, None);
        let layout = self.layout().clone();
        let n = layout.end(a);
        for (end, face, next, inwards) in [(lo, 0, 1, 1.0), (hi, n, n - 1, -1.0)] {
            let End::Value(b) = end else { continue };
            slab_pairs(&layout, a, face, next, |face, next, run| {
                for k in 0..run {
                    // The cell between the two is stored where the lower one is.
                    let away = self.data[next + k];
                    let leaves = inwards * (away - b);
                    let drawn = p.data[face.min(next) + k] < PRESSES * leaves * leaves;
                    self.data[face + k] = if drawn && leaves > 0.0 { away } else { b };
                }
            });
        }
    }

    /// What enters through an open side was at rest outside: on the faces of such sides across a staggered field's own axis, `du/dt =
    /// -u |u| / h` where the flow comes in, which is the pressure that it takes to set it in motion within a cell. Without that,
    /// flow that comes in costs nothing, and jets through a side grow without end.
    pub fn slow_what_enters(&mut self, grid: &Grid<D>, dt: f64) {
        let At::Face(a) = self.at() else { return };
        let Some([lo, hi]) = grid.axes[a].sides() else { return };
        let k = (dt / grid.spacing[a]) as Real;
        for (side, at, inward) in [(lo, 0, 1.0), (hi, self.layout().end(a), -1.0)] {
            if side == Side::Open {
                self.change_slab(a, at, |u, _, _| *u /= 1.0 + k * (inward * *u).max(0.0));
            }
        }
        self.ghosts_filled = false;
    }

    /// Sets the values that lie on the far ends of the box and are stored behind the cells, by their index: the last
    /// faces of a staggered field, the last corners of one at nodes. `None` leaves a value as it is.
    pub(crate) fn set_last(&mut self, f: impl Fn([isize; D]) -> Option<Real>) {
        let (layout, at) = (self.layout().clone(), self.at());
        each_last(&layout, at, |index| {
            if let Some(value) = f(index) {
                self.data[layout.offset(index)] = value;
            }
        });
        self.ghosts_filled = false;
        self.x_filled = None;
    }

    /// Changes the same values, by their index.
    pub(crate) fn change_last(&mut self, f: impl Fn([isize; D], Real) -> Real) {
        let (layout, at) = (self.layout().clone(), self.at());
        each_last(&layout, at, |index| {
            let value = &mut self.data[layout.offset(index)];
            *value = f(index, *value);
        });
        self.ghosts_filled = false;
        self.x_filled = None;
    }

    /// Calls `f` with the values that lie on the far ends of bounded axes and are stored behind the cells: the last faces
    /// of a staggered field.
    pub(crate) fn for_each_last(&self, mut f: impl FnMut(Real)) {
        each_last(self.layout(), self.at(), |index| {
            if (0..D).all(|a| index[a] < self.layout().end(a) || self.has_last_faces(a, |_| true)) {
                f(self.get_signed(index));
            }
        });
    }

    /// The place of a value among those that [`Field::for_each_last`] goes through, if there is one that is wanted.
    pub(crate) fn find_last(&self, wanted: impl Fn(Real) -> bool) -> Option<[isize; D]> {
        let mut found = None;
        each_last(self.layout(), self.at(), |index| {
            let there = (0..D).all(|a| index[a] < self.layout().end(a) || self.has_last_faces(a, |_| true));
            if found.is_none() && there && wanted(self.get_signed(index)) {
                found = Some(index);
            }
        });
        found
    }

    /// Whether the far end of an axis is one of a certain kind, not joined and not missing.
    fn has_last_faces(&self, a: usize, kind: impl Fn(End) -> bool) -> bool {
        self.ends()[a].pair().is_some_and(|[_, hi]| !matches!(hi, End::Outside(_)) && kind(hi))
    }

    /// Sets the values with index `i` along axis `a`.
    fn set_slab(&mut self, a: usize, i: isize, value: Real) {
        self.change_slab(a, i, |v, _, _| *v = value);
    }

    /// Calls `f(value, its place in memory, the place of the value below it)` for the values with index `i` along axis `a`.
    fn change_slab(&mut self, a: usize, i: isize, f: impl Fn(&mut Real, usize, usize)) {
        self.x_filled = None;
        let layout = self.layout().clone();
        slab_pairs(&layout, a, i, i - 1, |start, below, run| {
            for k in 0..run {
                f(&mut self.data[start + k], start + k, below + k);
            }
        });
    }

    /// What the ghosts along x, and what lies on the ends of that axis, are made by.
    pub(crate) fn row_rules(&self, conserved: bool) -> RowRules {
        self.rules_along_x(if conserved { Prescribed::InCells } else { Prescribed::OnFace })
    }

    fn rules_along_x(&self, prescribed: Prescribed) -> RowRules {
        let (on_face, ends) = (self.at().on_lower_side(0), self.ends()[0]);
        // Where nothing is prescribed both are the same.
        let holds = ends.pair().is_some_and(|pair| pair.iter().any(|end| matches!(end, End::Value(_))));
        let prescribed = if holds { prescribed } else { Prescribed::OnFace };
        let (ghosts, count) = Ghost::of(self.layout().cells()[0] as isize, ends, on_face, prescribed);
        RowRules { on_face, ends, prescribed, ghosts, count }
    }

    fn fill_axis(&mut self, a: usize, prescribed: Prescribed) {
        if a == 0 && self.layout().as_tiles().is_none() {
            let rules = self.rules_along_x(prescribed);
            if self.x_filled != Some(rules) {
                // Ghosts of both ends while a row is in the cache. Rows of ghosts get theirs from the other axes.
                rows::for_each_padded(self, |row| rules.fill_ghosts(row));
                // On faces this is but half of it: what lies on the ends is for `finish_end_faces`.
                self.x_filled = (!rules.on_face).then_some(rules);
            }
            // The last values on the lower sides across other axes lie behind the cells, and are values as well.
            let at = self.at();
            for c in (1..D).filter(|&c| at.on_lower_side(c)) {
                if !matches!(self.ends()[c], Ends::Bounded { .. }) {
                    continue;
                }
                let (layout, last) = (self.layout().clone(), self.cells()[c] as isize);
                slab_runs(&layout, c, last, |start, run| {
                    for row in self.data[start..start + run].chunks_exact_mut(layout.stride()[1]) {
                        rules.fill_ghosts(row);
                    }
                });
            }
        } else {
            let (ghosts, count) =
                Ghost::of(self.layout().end(a), self.ends()[a], self.at().on_lower_side(a), prescribed);
            for g in &ghosts[..count] {
                self.copy_slab(a, g);
            }
        }
    }

    /// Cells with index `to` along axis `a` become `scale` times the cells with index `from`, plus `shift`.
    fn copy_slab(&mut self, a: usize, ghost: &Ghost) {
        let layout = self.layout().clone();
        slab_pairs(&layout, a, ghost.to, ghost.from, |t, s, run| ghost.copy(&mut self.data, t, s, run));
    }

    /// [`Field::finish_end_faces`] and then [`Field::fill_halo`], or [`Field::fill_halo_from_outside`] for what is conserved, for
    /// some planes across the last axis of a box, which must be bounded. Rows have been written with their ghosts. Planes are finished
    /// from the first on, and at first at least [`HALO`] of them.
    pub(crate) fn finish_planes(&mut self, planes: Range<usize>, conserved: bool) {
        let (layout, at, ends) = (self.layout().clone(), self.at(), self.ends());
        let (rules, last, count) = (self.row_rules(conserved), D - 1, layout.cells()[D - 1]);
        let (first, finished) = (planes.start == 0, planes.end == count);
        if planes.is_empty() {
            return;
        }
        assert!(ends[last].pair().is_some() && (!first || planes.len() >= HALO), "planes from a side on");
        // Places are counted from the first ghosts on.
        let mut inside = planes.start + HALO..planes.end + HALO;
        for a in (1..D).filter(|&a| at.on_lower_side(a)) {
            let Some([lo, hi]) = ends[a].pair() else { continue };
            let n = layout.end(a);
            for (end, to, from, wanted) in [(lo, 0, 1, first), (hi, n, n - 1, finished)] {
                if a == last && !wanted {
                    continue;
                }
                let among = if a == last { 0..1 } else { inside.clone() };
                slab_pairs_of_box(&layout, a, [to, from.clamp(0, n)], among, |to, from, run| {
                    match end {
                        End::Value(b) => self.data[to..to + run].fill(b),
                        End::Flat => self.data.copy_within(from..from + run, to),
                        End::Outside(_) => return,
                    }
                    self.data[to..to + run].chunks_exact_mut(layout.stride()[1]).for_each(|row| rules.fill_ghosts(row));
                });
            }
        }
        // The values on the far side lie behind the last plane.
        inside.end += (finished && at.on_lower_side(last)) as usize;
        let prescribed = if conserved { Prescribed::InCells } else { Prescribed::OnFace };
        for a in 1..D {
            let (ghosts, number) = Ghost::of(layout.end(a), ends[a], at.on_lower_side(a), prescribed);
            for g in &ghosts[..number] {
                let wanted = if g.to < 0 { first } else { finished };
                let among = if a == last { 0..wanted as usize } else { inside.clone() };
                slab_pairs_of_box(&layout, a, [g.to, g.from], among, |t, s, run| g.copy(&mut self.data, t, s, run));
            }
        }
    }
}

/// `u -= grad q` for velocities on faces, the last ones included. Needs the ghosts of `q`.
pub fn subtract_gradient<const D: usize>(u: &mut VectorField<D>, q: &Field<D>, spacing: [f64; D]) {
    subtract_gradient_around(u, q, spacing, None::<Closed<D, fn(Row<'_, D>) -> bool>>);
}

/// Faces that solids close.
pub(crate) struct Closed<'a, const D: usize, F> {
    /// The open part of each face, with the last ones.
    pub open: &'a VectorField<D>,
    /// The velocity that a face gets that is not open at all, with the last ones; else it stays as it is.
    pub solid: Option<&'a VectorField<D>>,
    /// Which rows have a face that is not wide open.
    pub near: F,
}

/// [`subtract_gradient`] on faces that are open, at least in part.
pub(crate) fn subtract_gradient_around<const D: usize>(
    u: &mut VectorField<D>,
    q: &Field<D>,
    spacing: [f64; D],
    closed: Option<Closed<'_, D, impl Fn(Row<'_, D>) -> bool + Sync>>,
) {
    let inv_h = spacing.map(|h| (1.0 / h) as Real);
    rows::for_each_with_ghosts(u.each_mut(), |row, faces| {
        let mut pad = Pad::default();
        let high = q.row(row);
        let closed = closed.as_ref().filter(|closed| (closed.near)(row));
        for (a, face) in faces.into_iter().enumerate() {
            let low = q.down(row, a, &mut pad);
            let after = |x: usize, face: Real| face - inv_h[a] * (high[x] - low[x]);
            match closed.map(|c| (c.open[a].row(row), c.solid.map(|s| s[a].row(row)))) {
                None => face.iter_mut().enumerate().for_each(|(x, face)| *face = after(x, *face)),
                Some((open, solid)) => {
                    for (x, face) in face.iter_mut().enumerate() {
                        let shut = solid.map_or(*face, |solid| solid[x]);
                        *face = if open[x] > 0.0 { after(x, *face) } else { shut };
                    }
                }
            }
        }
    });
    for (a, u) in u.iter_mut().enumerate().filter(|(a, u)| u.has_last_faces(*a, |end| end == End::Flat)) {
        let x_filled = u.x_filled;
        u.change_slab(a, u.layout().end(a), |face, at, below| {
            let after = *face - inv_h[a] * (q.data[at] - q.data[below]);
            *face = match &closed {
                Some(c) if c.open[a].data[at] <= 0.0 => c.solid.map_or(*face, |solid| solid[a].data[at]),
                _ => after,
            };
        });
        // The last faces across other axes lie behind the rows.
        u.x_filled = x_filled.filter(|_| a != 0);
    }
}

/// What ghosts along x are made by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RowRules {
    /// Whether values lie on the faces across x, so that some lie on the ends.
    on_face: bool,
    ends: Ends,
    prescribed: Prescribed,
    /// What follows from these.
    ghosts: [Ghost; 2 * HALO],
    count: usize,
}

impl RowRules {
    /// Gives a row of a box, ghosts included, what lies on its ends and behind them: to be called by who has just written the
    /// row, while it is in the cache. (Filling ghosts later, row by row, took a tenth of a step.)
    #[inline]
    pub fn finish_row(&self, row: &mut [Real]) {
        let n = row.len() - 2 * HALO;
        if let (true, Some([lo, hi])) = (self.on_face, self.ends.pair()) {
            match lo {
                End::Value(b) => row[HALO] = b,
                End::Flat => row[HALO] = row[HALO + 1.min(n)],
                End::Outside(_) => {}
            }
            match hi {
                End::Value(b) => row[HALO + n] = b,
                End::Flat => row[HALO + n] = row[HALO + n - 1],
                End::Outside(_) => {}
            }
        }
        self.fill_ghosts(row);
    }

    /// Gives a row of a box, ghosts included, its ghosts.
    #[inline]
    pub fn fill_ghosts(&self, row: &mut [Real]) {
        for g in &self.ghosts[..self.count] {
            let value = g.scale * row[(g.from + HALO as isize) as usize] + g.shift;
            row[(g.to + HALO as isize) as usize] = value;
        }
    }
}

/// Where the value lies that an end prescribes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Prescribed {
    /// On the boundary face.
    OnFace,
    /// In all cells beyond it.
    InCells,
}

/// One ghost value along an axis: `value[to] = scale * value[from] + shift`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Ghost {
    to: isize,
    from: isize,
    scale: Real,
    shift: Real,
}

impl Ghost {
    /// Makes some values, from one place on, those from another.
    fn copy(&self, data: &mut [Real], to: usize, from: usize, run: usize) {
        let (from, to) = if from < to {
            let (low, high) = data.split_at_mut(to);
            (&low[from..from + run], &mut high[..run])
        } else {
            let (low, high) = data.split_at_mut(from);
            (&high[..run], &mut low[to..to + run])
        };
        for (t, &s) in to.iter_mut().zip(from) {
            *t = self.scale * s + self.shift;
        }
    }

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
            let Some([lo, hi]) = ends.pair() else {
                add((-g).rem_euclid(n), -g, 1.0, 0.0);
                add((n + g - 1).rem_euclid(n), n + g - 1, 1.0, 0.0);
                continue;
            };
            let rule = |end| match end {
                End::Outside(_) => None,
                _ if own_face => Some((1.0, 0.0)),
                End::Flat => Some((1.0, 0.0)),
                End::Value(b) if prescribed == Prescribed::InCells => Some((0.0, b)),
                End::Value(b) => Some((-1.0, 2.0 * b)),
            };
            if let Some((scale, shift)) = rule(lo) {
                add(if own_face { 0 } else { g - 1 }, -g, scale, shift);
            }
            // The last face is a value, not a ghost.
            if let (Some((scale, shift)), true) = (rule(hi), !own_face || g > 1) {
                add(if own_face { n } else { n - g }, n + g - 1, scale, shift);
            }
        }
        (ghosts, count)
    }
}

/// The places of all values with index `i` along axis `a`, ghosts included, as runs `(start, length)`. On tiles `i` must be
/// beside a side that bounds them.
pub(crate) fn slab_runs<const D: usize>(layout: &Layout<D>, a: usize, i: isize, mut f: impl FnMut(usize, usize)) {
    slab_pairs(layout, a, i, i, |start, _, run| f(start, run));
}

/// [`slab_runs`] with the places of the values that have another index along that axis: `(start, other start, length)`.
pub(crate) fn slab_pairs<const D: usize>(
    layout: &Layout<D>,
    a: usize,
    i: isize,
    other: isize,
    mut f: impl FnMut(usize, usize, usize),
) {
    let run = layout.stride()[a];
    let Some(tiles) = layout.as_tiles() else {
        let repeats: usize = layout.cells()[a + 1..].iter().map(|n| n + 2 * HALO).product();
        return slab_pairs_of_box(layout, a, [i, other], 0..repeats, f);
    };
    let width = layout.cells()[a] as isize;
    let upper = tiles.bounds()[a][1].is_some_and(|end| 2 * (i - (end as isize - 1) * width) >= width);
    let Some(bound) = tiles.bounds()[a][upper as usize] else { return };
    let repeats = layout.cells()[a + 1..].iter().product();
    for &ghost in tiles.behind(a, upper) {
        // The ghost tile behind the side, or the tile in front of it.
        let slot = |i: isize| {
            let outside = (i.div_euclid(width) >= bound as isize) == upper;
            if outside { ghost } else { tiles.beside(ghost, a, !upper) }
        };
        if slot(i) == 0 {
            continue;
        }
        let start =
            |i: isize| layout.in_slot(slot(i), std::array::from_fn(|b| if b == a { i.rem_euclid(width) } else { 0 }));
        let (here, there) = (start(i), start(other));
        for r in 0..repeats {
            f(here + r * run * width as usize, there + r * run * width as usize, run);
        }
    }
}

/// [`slab_pairs`] of a box for some of the runs, counted from the first ghosts on.
fn slab_pairs_of_box<const D: usize>(
    layout: &Layout<D>,
    a: usize,
    [i, other]: [isize; 2],
    runs: Range<usize>,
    mut f: impl FnMut(usize, usize, usize),
) {
    let run = layout.stride()[a];
    let mut origin = [-(HALO as isize); D];
    origin[a] = i;
    let first = layout.offset(origin);
    let distance = (other - i) * run as isize;
    let period = run * (layout.cells()[a] + 2 * HALO);
    for r in runs {
        let start = first + r * period;
        f(start, start.wrapping_add_signed(distance), run);
    }
}

/// Calls `f` with the indices of the values that are stored behind the cells; with some of them more than once.
fn each_last<const D: usize>(layout: &Layout<D>, at: At, mut f: impl FnMut([isize; D])) {
    let cells = layout.cells();
    for a in (0..D).filter(|&a| at.on_lower_side(a)) {
        let mut visit = |origin: [isize; D], count: [usize; D]| {
            for i in 0..count.iter().product() {
                let mut rest: usize = i;
                f(std::array::from_fn(|b| {
                    let i = rest % count[b];
                    rest /= count[b];
                    origin[b] + i as isize
                }));
            }
        };
        let Some(tiles) = layout.as_tiles() else {
            let mut count: [usize; D] = std::array::from_fn(|b| cells[b] + at.on_lower_side(b) as usize);
            count[a] = 1;
            let mut origin = [0; D];
            origin[a] = cells[a] as isize;
            visit(origin, count);
            continue;
        };
        for &ghost in tiles.behind(a, true) {
            let place = tiles.place(ghost);
            let bounds = tiles.bounds();
            // Behind other sides there is one more value, if any.
            let count = std::array::from_fn(|b| match bounds[b] {
                [Some(first), _] if place[b] < first => 0,
                [_, Some(end)] if place[b] >= end => at.on_lower_side(b) as usize,
                _ => cells[b],
            });
            visit(std::array::from_fn(|b| place[b] as isize * cells[b] as isize), count);
        }
    }
}
