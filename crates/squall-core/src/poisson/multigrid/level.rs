//! One level: its operator, its vectors, and how both come from the next finer one.
//!
//! The weight of a coarse face is the mean of the `2^(D-1)` fine faces on it; fine faces that do not exist count as
//! closed. What the boundary does is put into the weights afterwards.
//!
//! Beside air, where the value is zero, the weight of a face is divided by `theta`, the part of the way to the cell behind
//! it after which the surface is met; coarse weights are made of fine ones without it. A coarse cell is fluid only if all
//! its children are (measured: with "most of them" or "any" it takes two to four times as many iterations).

use super::number::Number;
use super::operator::{End, Operator, wrap, zeros};
use super::shape::{Around, Shape, Side, Stand};
use super::transfer::{Transfer, longest};
use crate::field::{Field, OutOfMemory, Pad, VectorField};
use crate::grid::At;
use crate::halo::{slab_pairs, slab_runs};
use crate::layout::{Layout, Row, SLACK};
use crate::ops::each;
use crate::poisson::{CellState, Domain};
use crate::rows::{self, Span};
use crate::sample::Isa;

pub(super) struct Level<const D: usize, T> {
    pub shape: Shape<D>,
    pub operator: Operator<D, T>,
    /// Unknowns, right side and scratch of `S x = b`. During set-up `x` holds what each cell is, if that is not clear from
    /// its faces, `b` is 1 where all faces are open, and `scratch` holds the distance to the surface of a liquid.
    pub x: Field<D, T>,
    pub b: Field<D, T>,
    pub scratch: Field<D, T>,
    /// To the next coarser level.
    pub transfer: Option<Transfer<D, T>>,
    /// Whether `x` holds what each cell is, during set-up.
    has_states: bool,
    /// Whether `scratch` holds distances, during set-up.
    has_distances: bool,
}

/// What a cell is: a coarse cell is the largest of what its children are. The rim of tiles is open here.
const MISSING: f64 = 0.0;
const SOLID: f64 = 1.0;
const OPEN: f64 = 2.0;
const AIR: f64 = 3.0;

/// The smallest `theta`: on the finest level, so that a surface that touches a centre does not make one weight rule all
/// others; on coarser ones, where the distance is a guess.
const THETA: [f64; 2] = [0.05, 0.25];

/// Cells of a row that are looked at together.
const PIECE: usize = 16;

/// Distances in cells, where none are given and air is zero in the centres of its cells: a flat surface between coarse
/// cells is then met after 3/4 of the way, where the next fine centre is.
const FLUID_DISTANCE: f64 = -0.75;
const AIR_DISTANCE: f64 = 0.25;

impl<const D: usize, T: Number> Level<D, T> {
    pub fn new(shape: Shape<D>, coarser: Option<&Shape<D>>, isa: Isa) -> Result<Self, OutOfMemory> {
        let layout = &shape.layout;
        let mut transfer = None;
        if let Some(coarser) = coarser {
            let mut t = Transfer::new(layout, &coarser.layout, coarser.origin, isa)?;
            set_present_outside(coarser, &mut t.present);
            transfer = Some(t);
        }
        Ok(Level {
            operator: Operator::new(layout, shape.joined(), row_ends(&shape), isa)?,
            x: zeros(layout, At::Center)?,
            b: zeros(layout, At::Center)?,
            scratch: zeros(layout, At::Center)?,
            transfer,
            shape,
            has_states: false,
            has_distances: false,
        })
    }

    /// The weights and states of the finest level, as they are given; no weights are weights of 1 everywhere.
    pub fn set_finest(&mut self, domain: Domain<'_, D, T>) {
        for a in 0..D {
            let given = domain.open.map(|open| &open[a]);
            self.operator.open[a].par_rows(|row, out| match given {
                Some(given) => out.iter_mut().zip(given.row(row)).for_each(|(out, &w)| *out = weight(w)),
                None => out.fill(T::ONE),
            });
            if let Around::Envelope { sides, .. } = self.shape.around {
                let weights = &mut self.operator.open[a].data;
                for stand in sides[a].into_iter().flatten() {
                    let factor = T::of(stand.side.weight(1.0));
                    slab_runs(&self.shape.layout, a, stand.face.floor() as isize, |start, run| {
                        for at in start..start + run {
                            weights[at] = factor * given.map_or(T::ONE, |given| weight(given.data[at]));
                        }
                    });
                }
            }
            if let Around::Sides(sides) = self.shape.around {
                let [near, far] = sides[a];
                let weights = &mut self.operator.open[a].data;
                lines(&self.shape.layout, a, |_, first, last| {
                    weights[first] = near.weight(weights[first]);
                    let given = given.map_or(T::ONE, |given| weight(given.data[last]));
                    weights[last] = if far == Side::Joined { weights[first] } else { far.weight(given) };
                });
            }
        }
        self.has_states = self.is_envelope() || domain.state.is_some();
        self.has_distances = domain.state.is_some();
        if self.has_states {
            let open = &self.operator.open;
            self.x.par_rows(|row, state| {
                weights(open, row, |x, sum, _| state[x] = T::of(if sum > T::ZERO { OPEN } else { SOLID }));
                for (state, given) in state.iter_mut().zip(domain.state.map(|s| s.row(row)).unwrap_or_default()) {
                    match given {
                        CellState::Fluid => {}
                        CellState::Air => *state = T::of(AIR),
                        CellState::Solid => *state = T::of(SOLID),
                    }
                }
            });
        }
        if domain.state.is_some() {
            let solid = |row: Row<'_, D>| self.x.row(row).iter().fold(false, |any, s| any | (*s == T::of(SOLID)));
            if rows::reduce(&self.shape.layout, solid, |a, b| a || b) {
                (0..D).for_each(|a| self.close_solids(a));
            }
            let state = &self.x;
            self.scratch.par_rows(|row, out| match domain.phi {
                Some(phi) => out.copy_from_slice(phi.row(row)),
                None => {
                    for (out, &state) in out.iter_mut().zip(state.row(row)) {
                        *out = T::of(if state == T::of(AIR) { AIR_DISTANCE } else { FLUID_DISTANCE });
                    }
                }
            });
        }
    }

    /// The weights and states of a level from those of the next finer one.
    pub fn coarsen(&mut self, fine: &mut Level<D, T>) {
        let transfer = fine.transfer.as_ref().expect("the level above has one below");
        for a in 0..D {
            self.average_faces(&fine.operator, transfer, a);
        }
        self.has_states = fine.has_states;
        self.has_distances = fine.has_distances;
        if fine.has_states {
            // Where a coarse cell covers one cell only, the other one is missing.
            let period = self.shape.layout.cells().map(|n| 2 * n);
            wrap(&mut fine.x, fine.operator.joined, period);
            self.set_states(&fine.x, transfer);
            if fine.has_distances {
                wrap(&mut fine.scratch, fine.operator.joined, period);
                self.set_distances(&fine.x, &fine.scratch, transfer);
            }
        }
        match self.shape.around {
            Around::Sides(sides) => {
                for a in 0..D {
                    self.set_far_faces(&fine.operator, &fine.shape, a, sides[a][1]);
                }
            }
            Around::Envelope { weight, sides } => {
                for a in 0..D {
                    self.set_envelope(a, T::of(weight.unwrap_or(1.0)), sides[a]);
                }
            }
        }
    }

    /// Puts the surface into the weights and finds the unknowns. `finest` without distances: the air is zero in its centres.
    pub fn finish(&mut self, finest: bool, given: bool) {
        if self.has_distances && (!finest || given) {
            let (joined, cells) = (self.operator.joined, self.shape.layout.cells());
            wrap(&mut self.x, joined, cells);
            wrap(&mut self.scratch, joined, cells);
            (0..D).for_each(|a| self.set_surface(a, THETA[!finest as usize]));
        }
        self.set_inverse();
    }

    /// What the next finer level needs to know of this one.
    pub fn set_transfer(&self, fine: &mut Level<D, T>) {
        let transfer = fine.transfer.as_mut().expect("the level above has one below");
        let (inverse, state) = (&self.operator.inverse, &self.x);
        let (states, envelope, shape) = (self.has_states, self.is_envelope(), &self.shape);
        transfer.present.par_rows(|row, present| {
            let (inverse, state) = (inverse.row(row), state.row(row));
            for x in 0..present.len() {
                let mut index = row.index;
                index[0] += x as isize;
                let missing = envelope && state[x] == T::of(MISSING) && !shape.is_behind_wall(index);
                let held = states && (state[x] == T::of(AIR) || missing);
                present[x] = if inverse[x] > T::ZERO || held { T::ONE } else { T::ZERO };
            }
        });
        wrap(&mut transfer.present, self.shape.joined(), self.shape.layout.cells());
        transfer.set_shares(&mut fine.operator, &fine.b);
    }

    /// Sets the shift of the operator, all else being as it is.
    pub fn set_shift(&mut self, shift: f64) {
        let Operator { open, inverse, layout, joined, .. } = &mut self.operator;
        let open = &*open;
        inverse.par_rows(|row, inverse| {
            weights(open, row, |x, sum, _| {
                let unknown = inverse[x] > T::ZERO;
                inverse[x] = if unknown { T::of(1.0 / (sum.to_f64() + shift)) } else { T::ZERO };
            });
        });
        wrap(inverse, *joined, layout.cells());
        self.operator.set_shift(shift);
    }

    /// Of each row the longest stretch of cells with open faces only: for the coarsest level, which has no shares.
    pub fn set_plain(&mut self) {
        let layout = &self.shape.layout;
        for (r, span) in self.operator.plain.iter_mut().enumerate() {
            let uniform = self.b.row(layout.row(r));
            *span = longest(uniform.len(), |x| uniform[x] == T::ONE);
        }
    }

    fn is_envelope(&self) -> bool {
        matches!(self.shape.around, Around::Envelope { .. })
    }

    /// `A_F = mean of the fine A_f on the face`, without the far ends.
    fn average_faces(&mut self, fine: &Operator<D, T>, transfer: &Transfer<D, T>, a: usize) {
        let share = T::of(1.0 / (1u32 << (D - 1)) as f64);
        rows::numbered([&mut self.operator.open[a]], |r, _, [out]| {
            out.fill(T::ZERO);
            for part in transfer.children(r) {
                let fine_row = fine.layout.row(part.row as usize);
                let out = &mut out[part.x as usize..][..part.len as usize];
                for place in (0..1usize << D).filter(|place| place & 1 == 0 && place >> a & 1 == 0) {
                    let start = fine_row.moved(each(|b| (place >> b & 1) as isize)).start;
                    let faces = fine.open[a].data[start..].chunks_exact(2).zip(out.iter_mut());
                    // Along x the first of two faces lies on the coarse face, across x both do.
                    if a == 0 {
                        faces.for_each(|(f, out)| *out += share * f[0]);
                    } else {
                        faces.for_each(|(f, out)| *out += share * (f[0] + f[1]));
                    }
                }
            }
        });
    }

    /// The faces at the far end of an axis of a box, which lie behind its cells.
    fn set_far_faces(&mut self, fine: &Operator<D, T>, fine_shape: &Shape<D>, a: usize, far: Side) {
        let layout = &self.shape.layout;
        let (n, fine_n) = (layout.cells()[a] as isize, fine.layout.cells()[a] as isize);
        // The fine face nearest to the end of the coarse cells. If it is the last one, it has the fine level's factor.
        let fine_face = (2 * n).min(fine_n);
        let factor = match fine_shape.around {
            Around::Sides(sides) if fine_face == fine_n => sides[a][1].weight(1.0),
            _ => 1.0,
        };
        let share = 1.0 / (1u32 << (D - 1)) as f64;
        let weights = &mut self.operator.open[a].data;
        lines(layout, a, |index, first, last| {
            weights[last] = match far {
                Side::Joined => weights[first],
                Side::Wall => T::ZERO,
                Side::Zero { weight } => {
                    let mut mean = 0.0;
                    for place in (0..1usize << D).filter(|place| place >> a & 1 == 0) {
                        let child = each(|b| if b == a { fine_face } else { 2 * index[b] + (place >> b & 1) as isize });
                        mean += share * fine.open[a].get_signed(child).to_f64();
                    }
                    T::of(weight * mean / factor)
                }
            };
        });
    }

    /// What each cell is: the largest of what its children are.
    fn set_states(&mut self, fine: &Field<D, T>, transfer: &Transfer<D, T>) {
        rows::numbered([&mut self.x], |r, _, [out]| {
            out.fill(T::of(MISSING));
            for part in transfer.children(r) {
                let fine_row = fine.layout().row(part.row as usize);
                let out = &mut out[part.x as usize..][..part.len as usize];
                for place in (0..1usize << D).filter(|place| place & 1 == 0) {
                    let start = fine_row.moved(each(|b| (place >> b & 1) as isize)).start;
                    for (children, out) in fine.data[start..].chunks_exact(2).zip(out.iter_mut()) {
                        for &child in children {
                            if child > *out {
                                *out = child;
                            }
                        }
                    }
                }
            }
        });
    }

    /// The distance of each cell from the surface: the mean over its children.
    fn set_distances(&mut self, state: &Field<D, T>, fine: &Field<D, T>, transfer: &Transfer<D, T>) {
        rows::numbered([&mut self.scratch], |r, _, [out]| {
            out.fill(T::ZERO);
            for part in transfer.children(r) {
                let fine_row = fine.layout().row(part.row as usize);
                for (i, out) in out[part.x as usize..][..part.len as usize].iter_mut().enumerate() {
                    let (mut sum, mut count) = (0.0, 0.0);
                    for place in 0..1usize << D {
                        let across = each(|b| if b == 0 { 0 } else { (place >> b & 1) as isize });
                        let at = fine_row.moved(across).start + 2 * i + (place & 1);
                        if state.data[at] != T::of(MISSING) {
                            sum += fine.data[at].to_f64();
                            count += 1.0;
                        }
                    }
                    *out = T::of(if count > 0.0 { sum / count } else { 0.0 });
                }
            }
        });
    }

    /// Closes the faces of cells that are solid.
    fn close_solids(&mut self, a: usize) {
        let (joined, layout) = (self.operator.joined, &self.shape.layout);
        wrap(&mut self.x, joined, layout.cells());
        let (state, solid) = (&self.x, T::of(SOLID));
        self.operator.open[a].par_rows(|row, faces| {
            let mut pad = Pad::default();
            let (low, high) = (state.down(row, a, &mut pad), state.row(row));
            for x in 0..faces.len() {
                if low[x] == solid || high[x] == solid {
                    faces[x] = T::ZERO;
                }
            }
        });
        if layout.as_tiles().is_none() {
            let below = layout.stride()[a];
            let weights = &mut self.operator.open[a].data;
            lines(layout, a, |_, first, last| {
                if joined[a] {
                    weights[last] = weights[first];
                } else if state.data[last - below] == solid {
                    weights[last] = T::ZERO;
                }
            });
        }
    }

    /// Puts the surface into the weights: between fluid and air, `theta` is how much of the way lies in the fluid.
    fn set_surface(&mut self, a: usize, least: f64) {
        let (state, distance) = (&self.x, &self.scratch);
        let (open, air) = (T::of(OPEN), T::of(AIR));
        self.operator.open[a].par_rows(|row, faces| {
            let mut pads = [Pad::default(); 2];
            let [pad, other] = &mut pads;
            let (low, high) = (state.down(row, a, pad), state.row(row));
            let (phi_low, phi_high) = (distance.down(row, a, other), distance.row(row));
            let n = faces.len();
            for begin in (0..n).step_by(PIECE) {
                let piece = begin..(begin + PIECE).min(n);
                // Most pieces lie in the liquid, or in the air.
                if !differ(&low[piece.clone()], &high[piece.clone()]) {
                    continue;
                }
                for x in piece {
                    let (inside, outside) = match (low[x], high[x]) {
                        (l, h) if l == open && h == air => (phi_low[x], phi_high[x]),
                        (l, h) if l == air && h == open => (phi_high[x], phi_low[x]),
                        _ => continue,
                    };
                    let (inside, outside) = (-inside.to_f64(), outside.to_f64());
                    // Not between 0 and 1, or not a number, where distances contradict the states: then all of the way.
                    let theta = if inside >= 0.0 && outside > 0.0 { inside / (inside + outside) } else { 1.0 };
                    faces[x] = T::of(faces[x].to_f64() / theta.max(least));
                }
            }
        });
        if self.operator.joined[a] {
            let weights = &mut self.operator.open[a].data;
            lines(&self.shape.layout, a, |_, first, last| weights[last] = weights[first]);
        }
    }

    /// Puts the envelope into the weights: faces between a cell and a missing one lead to the value zero, unless a side
    /// stands there.
    fn set_envelope(&mut self, a: usize, weight: T, sides: [Option<Stand>; 2]) {
        let state = &self.x;
        let (missing, open) = (T::of(MISSING), T::of(OPEN));
        let link = |s: T, weight: T| if s == open { weight } else { T::ZERO };
        // The weight of a face that leads out of the set of cells, by its index.
        let at = sides.map(|stand| stand.map(|stand| stand.last_face()));
        let weights_at = [0, 1].map(|k| sides[k].map_or(T::ZERO, |stand| T::of(stand.weight(k == 1))));
        let out = |face: isize, upper: bool| {
            if at[upper as usize] == Some(face) { weights_at[upper as usize] } else { weight }
        };
        self.operator.open[a].par_rows(|row, faces| {
            let mut pad = Pad::default();
            let (low, high) = (state.down(row, a, &mut pad), state.row(row));
            for x in 0..faces.len() {
                let face = row.index[a] + if a == 0 { x as isize } else { 0 };
                if low[x] == missing {
                    faces[x] = link(high[x], out(face, false));
                } else if high[x] == missing {
                    faces[x] = link(low[x], out(face, true));
                }
            }
        });
        let layout = &self.shape.layout;
        let weights = &mut self.operator.open[a];
        if layout.as_tiles().is_some() {
            // Upper faces of tiles with no tile behind them are read from the background, or from ghost tiles.
            let tile = layout.cells()[0].pow(D as u32);
            weights.data_mut()[SLACK..][..tile].fill(weight);
            if let (Some(face), true) = (at[1], layout.end(a) != isize::MAX) {
                let data = weights.data_mut();
                if face == layout.end(a) {
                    slab_pairs(layout, a, face, face - 1, |start, below, run| {
                        for k in 0..run {
                            data[start + k] = link(state.data[below + k], weights_at[1]);
                        }
                    });
                }
            }
        } else {
            let below = layout.stride()[a];
            let last_weight = out(layout.cells()[a] as isize, true);
            lines(layout, a, |_, _, last| weights.data[last] = link(state.data[last - below], last_weight));
        }
    }

    /// Which cells are unknowns, and what the sum of their weights is.
    fn set_inverse(&mut self) {
        let Level { operator, x: state, b: uniform, shape, has_states, .. } = self;
        operator.set_shift(0.0);
        let states = *has_states;
        let Operator { open, inverse, ends, used, .. } = operator;
        let (open, state, ends) = (&*open, &*state, *ends);
        rows::with_items([inverse, uniform], used, |_, row, used, [inverse, uniform]| {
            if states && !state.row(row).iter().any(|s| *s == T::of(OPEN)) {
                inverse.fill(T::ZERO);
                uniform.fill(T::ZERO);
                *used = Span::default();
                return;
            }
            weights(open, row, |x, sum, others| {
                inverse[x] = sum;
                uniform[x] = others;
            });
            let n = uniform.len();
            for (x, upper) in [(0, false), (n - 1, true)] {
                let extra = ends[upper as usize].extra;
                if extra != T::ZERO {
                    uniform[x] = difference_at_end(open, row, x, upper, extra);
                }
            }
            if n == 1 {
                // The ends of a row are not made for being one cell.
                uniform[0] = T::ONE;
            }
            if let Around::Envelope { weight: None, .. } = shape.around {
                hold_last_cells(row, inverse);
            }
            if states {
                for (inverse, &state) in inverse.iter_mut().zip(state.row(row)) {
                    *inverse = if state == T::of(OPEN) { *inverse } else { T::ZERO };
                }
            }
            for x in 0..inverse.len() {
                let unknown = inverse[x] > T::ZERO;
                uniform[x] = if unknown && uniform[x] == T::ZERO { T::ONE } else { T::ZERO };
                inverse[x] = if unknown { T::of(1.0 / inverse[x].to_f64()) } else { T::ZERO };
            }
            *used = Span::around(inverse.len(), |x| inverse[x] > T::ZERO);
        });
        wrap(&mut operator.inverse, operator.joined, shape.layout.cells());
    }
}

/// Whether two lists differ anywhere; without a branch for each value.
#[inline(always)]
fn differ<T: Number>(a: &[T], b: &[T]) -> bool {
    a.iter().zip(b).fold(false, |any, (a, b)| any | (a != b))
}

/// A weight that can be used: not a number counts as closed.
fn weight<T: Number>(w: T) -> T {
    if w > T::ZERO { w } else { T::ZERO }
}

impl Side {
    /// The weight of a face at this end.
    pub fn weight<T: Number>(self, open: T) -> T {
        match self {
            Side::Wall => T::ZERO,
            Side::Joined => open,
            Side::Zero { weight } => T::of(weight) * open,
        }
    }
}

/// Calls `f(x, sum of the weights, sum of squared differences from 1)` for the cells of a row.
#[inline(always)]
fn weights<const D: usize, T: Number>(open: &VectorField<D, T>, row: Row<'_, D>, mut f: impl FnMut(usize, T, T)) {
    let mut pad = Pad::default();
    let low: [&[T]; D] = each(|a| open[a].row(row));
    let n = low[0].len();
    let next = open[0].up(row, 0, &mut pad);
    let high: [&[T]; D] = each(|a| if a == 0 { &next[..n] } else { &open[a].row(row.up(a))[..n] });
    for x in 0..n {
        let (mut sum, mut others) = (T::ZERO, T::ZERO);
        for a in 0..D {
            sum += low[a][x] + high[a][x];
            let (l, h) = (low[a][x] - T::ONE, high[a][x] - T::ONE);
            others += l * l + h * h;
        }
        f(x, sum, others);
    }
}

/// The sum of squared differences of a cell's weights from those of a plain cell at one end of a row.
fn difference_at_end<const D: usize, T: Number>(
    open: &VectorField<D, T>,
    row: Row<'_, D>,
    x: usize,
    upper: bool,
    extra: T,
) -> T {
    let mut sum = T::ZERO;
    for a in 0..D {
        for (face, row) in [(false, row), (true, row.up(a))] {
            let mut difference = open[a].row(row)[x] - T::ONE;
            if a == 0 && face == upper {
                difference -= extra;
            }
            sum += difference * difference;
        }
    }
    sum
}

/// On tiles, cells without all their neighbours are held at zero.
fn hold_last_cells<const D: usize, T: Number>(row: Row<'_, D>, inverse: &mut [T]) {
    let n = inverse.len();
    if !(1..D).all(|a| row.up(a).exists() && row.down(a).exists()) {
        inverse.fill(T::ZERO);
    }
    if !row.shifted(0, -(n as isize)).exists() {
        inverse[0] = T::ZERO;
    }
    if !row.shifted(0, n as isize).exists() {
        inverse[n - 1] = T::ZERO;
    }
}

/// Calls `f(index, first, last)` for every line of faces along axis `a` of a box: the index of its first cell, and where
/// its first and its last face lie.
fn lines<const D: usize>(layout: &Layout<D>, a: usize, mut f: impl FnMut([isize; D], usize, usize)) {
    let along = layout.cells()[a] * layout.stride()[a];
    for row in (0..layout.rows()).map(|r| layout.row(r)).filter(|row| a == 0 || row.index[a] == 0) {
        for x in 0..if a == 0 { 1 } else { layout.cells()[0] } {
            let mut index = row.index;
            index[0] = x as isize;
            f(index, row.start + x, row.start + x + along);
        }
    }
}

/// What counts in the interpolation around a level: not what is behind walls, but what is held at zero.
fn set_present_outside<const D: usize, T: Number>(shape: &Shape<D>, present: &mut Field<D, T>) {
    let sides = match shape.around {
        Around::Sides(sides) => sides,
        Around::Envelope { sides, .. } => {
            present.fill(T::ONE);
            if let Some(tiles) = shape.layout.as_tiles() {
                let walls: [[bool; 2]; D] = sides.map(|pair| pair.map(|s| s.is_some_and(|s| s.side == Side::Wall)));
                for a in 0..D {
                    for upper in [false, true] {
                        for &slot in tiles.behind(a, upper).iter().filter(|_| walls[a][upper as usize]) {
                            let tile = shape.layout.cells()[0].pow(D as u32);
                            present.data_mut()[SLACK + slot as usize * tile..][..tile].fill(T::ZERO);
                        }
                    }
                }
            } else {
                for a in 0..D {
                    for (k, ghost) in [-1, shape.layout.cells()[a] as isize].into_iter().enumerate() {
                        let wall = sides[a][k]
                            .is_some_and(|s| s.side == Side::Wall && s.last_face() == if k == 0 { 0 } else { ghost });
                        if wall {
                            slab_runs(&shape.layout, a, ghost, |start, run| {
                                present.data[start..start + run].fill(T::ZERO)
                            });
                        }
                    }
                }
            }
            return;
        }
    };
    // Walls last: behind a corner of both kinds the wall has the say, as it has along its own axis.
    for wall in [false, true] {
        for a in 0..D {
            for (side, ghost) in sides[a].into_iter().zip([-1, shape.layout.cells()[a] as isize]) {
                if side != Side::Joined && (side == Side::Wall) == wall {
                    let value = if wall { T::ZERO } else { T::ONE };
                    slab_runs(&shape.layout, a, ghost, |start, run| present.data[start..start + run].fill(value));
                }
            }
        }
    }
}

/// What the ends of plain rows are.
fn row_ends<const D: usize, T: Number>(shape: &Shape<D>) -> [End<T>; 2] {
    let Around::Sides(sides) = shape.around else { return [End::new(D, 1.0, 1.0); 2] };
    // The last cell of an odd number is not interpolated from behind the end.
    let odd = shape.layout.cells()[0] % 2 == 1;
    let present = |side: Side, beyond: bool| if side == Side::Wall && beyond { 0.75 } else { 1.0 };
    let [lo, hi] = sides[0];
    [End::new(D, lo.weight(1.0), present(lo, true)), End::new(D, hi.weight(1.0), present(hi, !odd))]
}
