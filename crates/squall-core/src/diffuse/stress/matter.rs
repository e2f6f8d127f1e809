//! Coefficients of the finest level: where there is liquid, and how viscous it is.

use super::level::{Deep, Level, Operator, pair, pairs, vector, zeros};
use crate::Real;
use crate::field::{Field, OutOfMemory, Pad, VectorField};
use crate::grid::{Axis, Grid, Side};
use crate::halo::slab_runs;
use crate::layout::{Layout, Row};
use crate::ops::each;
use crate::poisson::CellState;
use crate::poisson::multigrid::{Number, wrap};
use crate::rows;
use crate::solid::{Solids, Walls};

/// The least liquid that belongs to a face with stress, as a part of a cell: what moves with nothing of its own must not be lost.
const LEAST: f64 = 1e-3;

/// The least viscosity, in square metres per second: logarithms need one.
const THINNEST: f64 = 1e-8;

/// The largest `nu dt / h^2`: what is more viscous is treated as if it had this viscosity. Even a body a hundred cells wide then loses all but a thousandth of its
/// strain rate in a step, so it moves as a rigid body; beyond, single precision takes rounding for strain (drops reached 35,000 m/s at 1e9 m^2/s).
const THICKEST: f64 = 1e8;

/// Cells handled at once.
const CHUNK: usize = 128;

/// How much liquid there is around a place, from the mean distance there, in cells; all of it if everything is `full`.
#[inline(always)]
fn share<T: Number>(distance: T, full: bool) -> T {
    let part = T::of(0.5) - distance;
    let part = if part < T::ONE { part } else { T::ONE };
    if full {
        T::ONE
    } else if part > T::ZERO {
        part
    } else {
        T::ZERO
    }
}

/// Parts of liquid times a coefficient and, where it varies, the exponential of the mean of logarithms.
fn thicken<const N: usize, T: Number>(c: &mut [T], coefficient: T, logarithms: Option<[&[T]; N]>) {
    let Some(logarithms) = logarithms else { return c.iter_mut().for_each(|c| *c = *c * coefficient) };
    for (x, c) in c.iter_mut().enumerate().filter(|(_, c)| **c > T::ZERO) {
        let mean = logarithms.iter().map(|l| l[x].to_f64()).sum::<f64>() / N as f64;
        *c = T::of(c.to_f64() * coefficient.to_f64() * libm::exp(mean));
    }
}

/// How thick it is: kinematic viscosity, in square metres per second.
#[derive(Clone, Copy)]
pub enum Thickness<'a, const D: usize> {
    /// The same everywhere.
    Constant(f64),
    /// At cell centres, ghosts filled. Between cells it is the geometric mean (Carlson et al. 2002).
    Varying(&'a Field<D>),
}

/// A viscous liquid, and what is around it.
pub struct Matter<'a, const D: usize> {
    /// Where cells are, and what stands at the sides. Cells must be cubes.
    pub grid: &'a Grid<D>,
    /// The distance to the surface, in metres and negative inside, ghosts filled, and which distance the surface is at; `None` if
    /// everything is liquid.
    pub surface: Option<(&'a Field<D>, Real)>,
    /// How thick it is.
    pub viscosity: Thickness<'a, D>,
    /// What is in the way, and room for what viscosity has to know of it.
    pub solids: Option<(&'a Solids<D>, &'a mut Walls<D>)>,
}

/// How a liquid that remembers is deformed: a stress besides that of viscosity, `2 k E`.
#[derive(Clone, Copy)]
pub(crate) struct Strain<'a, const D: usize> {
    /// `k`: the shear modulus over the density, in square metres per square second.
    pub stiffness: f64,
    /// `E_aa` at cell centres.
    pub center: &'a VectorField<D>,
    /// `E_ab` on edges, by [`pair`].
    pub edge: &'a [Field<D>],
}

/// What stresses that are there already do: `dt div (2 k E)`, times the liquid on each face.
pub(super) struct Load<const D: usize, T: Number> {
    pub push: VectorField<D, T>,
    center: VectorField<D, T>,
    edge: Vec<Field<D, T>>,
}

impl<const D: usize, T: Number> Load<D, T> {
    pub fn new(layout: &Layout<D>) -> Result<Self, OutOfMemory> {
        let edge = (0..pairs(D)).map(|_| zeros(layout)).collect::<Result<_, _>>()?;
        Ok(Load { push: vector(layout)?, center: vector(layout)?, edge })
    }

    /// What one face gets the other loses: `div` of the stresses.
    fn finish(&mut self, operator: &Operator<D, T>) {
        let Load { push, center, edge } = self;
        for field in center.iter_mut().chain(&mut *edge) {
            wrap(field, operator.joined, operator.layout.cells());
        }
        for (a, push) in push.iter_mut().enumerate() {
            push.par_rows(|row, out| {
                let (mut pad, mut other) = (Pad::default(), Pad::default());
                let (high, low) = (center[a].row(row), center[a].down(row, a, &mut pad));
                (0..out.len()).for_each(|x| out[x] = high[x] - low[x]);
                for b in (0..D).filter(|&b| b != a) {
                    let edge = &edge[pair(a, b)];
                    let (low, high) = (edge.row(row), edge.up(row, b, &mut other));
                    (0..out.len()).for_each(|x| out[x] += high[x] - low[x]);
                }
                let inverse = operator.inverse[a].row(row);
                (0..out.len()).filter(|&x| inverse[x] == T::ZERO).for_each(|x| out[x] = T::ZERO);
            });
        }
    }
}

/// The cells of the solver: as many as there are and one more behind each far side, whose faces and edges are values like others; of tiles
/// also those behind sides.
pub(super) fn own_layout<const D: usize>(layout: &Layout<D>, grid: &Grid<D>) -> Layout<D> {
    match layout.as_tiles() {
        None => Layout::dense(each(|a| layout.cells()[a] + usize::from(grid.axes[a] != Axis::Periodic))),
        Some(tiles) => Layout::tiles((1..tiles.slots() as u32).map(|slot| tiles.place(slot))),
    }
}

/// Copies all values, with ghosts as far as one cell behind the sides.
pub(super) fn copy_in<const D: usize, U: Copy + Default + Send + Sync, T: Number>(
    from: &Field<D, U>,
    to: &mut Field<D, T>,
    convert: impl Fn(U) -> T,
) {
    let (source, target) = (from.layout().clone(), to.layout().clone());
    let out = to.data_mut();
    let mut copy = |from_start: usize, to_start: usize, len: usize| {
        let from = &from.data[from_start..from_start + len];
        out[to_start..to_start + len].iter_mut().zip(from).for_each(|(to, from)| *to = convert(*from));
    };
    if let (Some(old), Some(new)) = (source.as_tiles(), target.as_tiles()) {
        let tile = source.cells()[0].pow(D as u32);
        for slot in 1..new.slots() as u32 {
            let from = old.slot(new.place(slot));
            if from != 0 {
                copy(source.in_slot(from, [0; D]), target.in_slot(slot, [0; D]), tile);
            }
        }
        return;
    }
    // Rows from one before the first to one behind the last.
    let count: [usize; D] = each(|a| if a == 0 { 1 } else { source.cells()[a] + 2 });
    for r in 0..count.iter().product() {
        let mut rest: usize = r;
        let index: [isize; D] = each(|a| {
            let i = (rest % count[a]) as isize - 1;
            rest /= count[a];
            i
        });
        copy(source.offset(index), target.offset(index), source.cells()[0] + 2);
    }
}

/// Sets all values with index `i` along axis `a`.
fn set_slab<const D: usize, T: Number>(field: &mut Field<D, T>, a: usize, i: isize, value: T) {
    let layout = field.layout().clone();
    if layout.as_tiles().is_none() {
        let data = field.data_mut();
        return slab_runs(&layout, a, i, |start, run| data[start..start + run].fill(value));
    }
    field.par_rows(|row, out| match a {
        0 if row.index[0] <= i && i < row.index[0] + out.len() as isize => out[(i - row.index[0]) as usize] = value,
        0 => {}
        _ if row.index[a] == i => out.fill(value),
        _ => {}
    });
}

/// The row of a layout that begins with a cell, if there is one.
fn row_at<const D: usize>(layout: &Layout<D>, index: [isize; D]) -> Option<Row<'_, D>> {
    let cells = layout.cells().map(|n| n as isize);
    let (mut part, mut local) = (0, index);
    if let Some(tiles) = layout.as_tiles() {
        part = tiles.find(each(|a| index[a].div_euclid(cells[a]) as i32))?;
        local = each(|a| index[a].rem_euclid(cells[a]));
    }
    if (0..D).any(|a| local[a] < 0 || local[a] >= cells[a]) {
        return None;
    }
    let within = (1..D).rev().fold(0, |r, a| r * cells[a] + local[a]);
    Some(layout.row(part * layout.rows_per_part() + within as usize))
}

/// What stands at the ends of axes: the index of the far side, and whether the liquid sticks to each.
#[derive(Clone, Copy)]
struct Ends {
    first: isize,
    last: isize,
    sticks: [bool; 2],
}

impl Ends {
    fn of<const D: usize>(grid: &Grid<D>, a: usize) -> Self {
        let [first, last] = grid.end_faces(a);
        let sides = grid.axes[a].sides().map_or([false; 2], |sides| sides.map(Side::sticks));
        Ends { first, last, sticks: sides }
    }

    /// Whether a cell is inside.
    fn holds(&self, i: isize) -> bool {
        self.first <= i && i < self.last
    }

    /// How much stress there is on an edge with this index. On a side to which the liquid sticks it is half a cell away from it.
    fn on_edge(&self, i: isize) -> f64 {
        let stuck = |side: usize| if self.sticks[side] { 2.0 } else { 0.0 };
        match () {
            _ if i == self.first => stuck(0),
            _ if i == self.last => stuck(1),
            _ if self.holds(i) => 1.0,
            _ => 0.0,
        }
    }

    /// Where the cells from `first` to `last` lie among `n` places of a row that begins with index `begin`.
    fn among(&self, begin: isize, n: usize) -> [usize; 2] {
        [self.first, self.last].map(|side| side.saturating_sub(begin).clamp(0, n as isize) as usize)
    }

    /// No stress at centres outside.
    fn cut_cells<T: Number>(&self, begin: isize, c: &mut [T]) {
        let [first, last] = self.among(begin, c.len());
        c[..first].fill(T::ZERO);
        c[last..].fill(T::ZERO);
    }

    /// The same on edges along a row that ends on sides: [`Ends::on_edge`].
    fn cut_edges<T: Number>(&self, begin: isize, c: &mut [T]) {
        let [first, last] = self.among(begin, c.len());
        for (side, at) in [(self.first, first), (self.last, last)] {
            if at < c.len() && begin + at as isize == side {
                c[at] = c[at] * T::of(self.on_edge(side));
            }
        }
        c[..first].fill(T::ZERO);
        if last < c.len() {
            c[last + 1..].fill(T::ZERO);
        }
    }

    /// Faces of a row that do not move: those across x on its sides and beyond, others behind sides to which the liquid sticks.
    fn hold_ends<T: Number>(&self, begin: isize, across: bool, mass: &mut [T]) {
        let n = mass.len();
        let [first, last] = self.among(begin, n);
        let held = T::of(-1.0);
        if across {
            let on_side = first < n && begin + first as isize == self.first;
            mass[..first + usize::from(on_side)].fill(held);
            mass[last..].fill(held);
            return;
        }
        if self.sticks[0] {
            mass[..first].fill(held);
        }
        if self.sticks[1] {
            mass[last..].fill(held);
        }
    }

    /// Whether nothing moves beyond the sides because of what stands there.
    fn is_held(&self, i: isize) -> bool {
        i < self.first && self.sticks[0] || i >= self.last && self.sticks[1]
    }
}

impl<const D: usize> Matter<'_, D> {
    /// Sets the coefficients, masses and velocities. Faces inside of solids to which the liquid sticks get their velocity.
    pub(super) fn set<T: Number>(
        &mut self,
        dt: f64,
        u: &mut VectorField<D>,
        level: &mut Level<D, T>,
        own: &mut VectorField<D, T>,
        mut strained: Option<(Strain<'_, D>, &mut Load<D, T>)>,
    ) {
        let h = self.grid.spacing[0];
        let k = dt / (h * h);
        let Level { operator, x, scratch, .. } = level;
        let [distance, logarithm, ..] = &mut x[..] else { unreachable!("two axes at least") };
        let ends: [Ends; D] = each(|a| Ends::of(self.grid, a));
        // Weights of stresses where there are solids: 1 where there are none.
        let near = self.solids.is_some();
        if let Some((solids, walls)) = &mut self.solids {
            for field in operator.center.iter_mut().chain(&mut operator.edge) {
                field.par_rows(|_, out| out.fill(T::ONE));
            }
            for a in 0..D {
                walls.find(solids, self.grid, a, &mut u[a]);
                let Walls { state, weight } = &**walls;
                weigh(solids, a, state, weight, operator, &mut scratch[a]);
            }
        }
        for (a, u) in u.iter_mut().enumerate() {
            u.fill_halo();
            copy_in(u, &mut own[a], |u| T::of(u.into()));
            for b in (0..D).filter(|&b| b != a) {
                let Some(sides) = self.grid.axes[b].sides() else { continue };
                for (side, i) in sides.into_iter().zip([ends[b].first.saturating_sub(1), ends[b].last]) {
                    if let Side::NoSlip { velocity } | Side::Inflow { velocity } = side {
                        set_slab(&mut own[a], b, i, T::of(velocity[a].into()));
                    }
                }
            }
        }
        if let Some((phi, level)) = self.surface {
            distance.fill(T::of(2.0));
            copy_in(phi, distance, |phi| T::of(f64::from(phi - level) / h));
        }
        if let Thickness::Varying(nu) = self.viscosity {
            logarithm.fill(T::of(libm::log(THINNEST)));
            let thickest = (THICKEST / k).max(THINNEST);
            copy_in(nu, logarithm, |nu| T::of(libm::log(f64::from(nu).clamp(THINNEST, thickest))));
        }
        let (distance, logarithm) = (&*distance, &*logarithm);
        let full = self.surface.is_none();
        // How much liquid there is around a place, from the mean distance there, in cells.
        let part = |distance: f64| if full { 1.0 } else { (0.5 - distance).clamp(0.0, 1.0) };
        let constant = match self.viscosity {
            Thickness::Constant(nu) => Some((nu * k).min(THICKEST)),
            Thickness::Varying(_) => None,
        };
        operator.deep = constant.map(|k| Deep { center: T::of(2.0 * k), edge: T::of(k), mass: T::ONE });
        let inside =
            |index: &[isize; D], but: [usize; 2]| (0..D).filter(|a| !but.contains(a)).all(|a| ends[a].holds(index[a]));
        // A solid or a wall that is nearer than the next face makes velocities change faster, and strains that are there no larger.
        let known = |weight: T| if near { weight.to_f64().clamp(0.0, 1.0) } else { 1.0 };
        if let Some((strain, load)) = &mut strained {
            let k = 2.0 * strain.stiffness * dt / h;
            for a in 0..D {
                copy_in(&strain.center[a], &mut load.center[a], |e| T::of(e.into()));
                let weight = &operator.center[a];
                load.center[a].par_rows(|row, out| {
                    let (distance, weight) = (distance.row(row), weight.row(row));
                    for x in 0..out.len() {
                        let mut index = row.index;
                        index[0] += x as isize;
                        let some =
                            if inside(&index, [D; 2]) { part(distance[x].to_f64()) * known(weight[x]) } else { 0.0 };
                        out[x] = T::of(k * some * out[x].to_f64());
                    }
                });
                for b in a + 1..D {
                    let (field, weight) = (&mut load.edge[pair(a, b)], &operator.edge[pair(a, b)]);
                    copy_in(&strain.edge[pair(a, b)], field, |e| T::of(e.into()));
                    field.par_rows(|row, out| {
                        let mut pads = None;
                        let (distance, weight) = (four(distance, row, a, b, &mut pads), weight.row(row));
                        for x in 0..out.len() {
                            let mut index = row.index;
                            index[0] += x as isize;
                            let mean = distance.iter().map(|v| v[x].to_f64()).sum::<f64>() / 4.0;
                            let sides = ends[a].on_edge(index[a]).min(1.0) * ends[b].on_edge(index[b]).min(1.0);
                            let some = if inside(&index, [a, b]) { part(mean) * sides * known(weight[x]) } else { 0.0 };
                            out[x] = T::of(k * some * out[x].to_f64());
                        }
                    });
                }
            }
        }
        let coefficient = T::of(constant.unwrap_or(k));
        let logarithms = constant.is_none().then_some(logarithm);
        rows::for_each(operator.center.each_mut(), |row, out| {
            let (mut out, distance) = (out, distance.row(row));
            let dry = !full && distance.iter().all(|d| *d >= T::of(0.5));
            if dry || (1..D).any(|a| !ends[a].holds(row.index[a])) {
                return out.iter_mut().for_each(|out| out.fill(T::ZERO));
            }
            let logarithm = logarithms.map(|field| [field.row(row)]);
            for begin in (0..distance.len()).step_by(CHUNK) {
                let len = (distance.len() - begin).min(CHUNK);
                let cut = |values: &'_ [T]| -> [T; CHUNK] {
                    let mut copy = [T::ZERO; CHUNK];
                    copy[..len].copy_from_slice(&values[begin..begin + len]);
                    copy
                };
                let mut c = cut(distance);
                c[..len].iter_mut().for_each(|c| *c = share(*c, full));
                thicken(&mut c[..len], coefficient + coefficient, logarithm.map(|l| l.map(|l| &l[begin..begin + len])));
                ends[0].cut_cells(row.index[0] + begin as isize, &mut c[..len]);
                for out in &mut out {
                    let out = &mut out[begin..begin + len];
                    match near {
                        true => out.iter_mut().zip(&c).for_each(|(out, c)| *out = *out * *c),
                        false => out.copy_from_slice(&c[..len]),
                    }
                }
            }
        });
        for a in 0..D {
            for b in a + 1..D {
                operator.edge[pair(a, b)].par_rows(|row, out| {
                    let (mut pads, mut more) = (None, None);
                    let distance = four(distance, row, a, b, &mut pads);
                    let sides: f64 =
                        [a, b].iter().filter(|&&c| c > 0).map(|&c| ends[c].on_edge(row.index[c])).product();
                    let inside = (1..D).filter(|&c| c != a && c != b).all(|c| ends[c].holds(row.index[c]));
                    let dry = !full && distance.iter().all(|line| line.iter().all(|d| *d >= T::of(0.5)));
                    if dry || sides == 0.0 || !inside {
                        return out.fill(T::ZERO);
                    }
                    let logarithm = logarithms.map(|field| four(field, row, a, b, &mut more));
                    let quarter = T::of(0.25);
                    for begin in (0..out.len()).step_by(CHUNK) {
                        let len = (out.len() - begin).min(CHUNK);
                        let [d0, d1, d2, d3] = distance.map(|line| &line[begin..begin + len]);
                        let mut c = [T::ZERO; CHUNK];
                        let c = &mut c[..len];
                        for x in 0..len {
                            c[x] = share(quarter * ((d0[x] + d1[x]) + (d2[x] + d3[x])), full);
                        }
                        thicken(c, T::of(sides) * coefficient, logarithm.map(|l| l.map(|l| &l[begin..begin + len])));
                        let first = row.index[0] + begin as isize;
                        if a == 0 {
                            ends[0].cut_edges(first, c)
                        } else {
                            ends[0].cut_cells(first, c)
                        }
                        let out = &mut out[begin..begin + len];
                        for x in 0..len {
                            let weight = if near && out[x] < T::ZERO { T::ZERO } else { out[x] };
                            out[x] = if near { c[x] * weight } else { c[x] };
                        }
                    }
                });
            }
        }
        let least = T::of(LEAST);
        for (a, mass) in operator.mass.iter_mut().enumerate() {
            let held = &scratch[a];
            mass.par_rows(|row, out| {
                let end = a > 0 && (row.index[a] <= ends[a].first || row.index[a] >= ends[a].last);
                let behind = (1..D).any(|b| b != a && ends[b].is_held(row.index[b]));
                if end || behind {
                    return out.fill(T::of(-1.0));
                }
                let mut pad = Pad::default();
                let (high, low) = (distance.row(row), distance.down(row, a, &mut pad));
                let half = T::of(0.5);
                for x in 0..out.len() {
                    let liquid = share(half * (high[x] + low[x]), full);
                    out[x] = if liquid < least { least } else { liquid };
                }
                if near {
                    let held = held.row(row);
                    out.iter_mut()
                        .zip(held)
                        .filter(|(_, held)| **held > T::ZERO)
                        .for_each(|(out, _)| *out = T::of(-1.0));
                }
                ends[0].hold_ends(row.index[0], a == 0, out);
            });
        }
        operator.finish();
        if let Some((_, load)) = strained {
            load.finish(operator);
        }
        // Where no cells are, vectors are zero.
        x.iter_mut().for_each(|x| x.fill(T::ZERO));
    }
}

/// The rows of the four cells around the lower edges between two axes.
fn four<'a, const D: usize, T: Number>(
    field: &'a Field<D, T>,
    row: Row<'_, D>,
    a: usize,
    b: usize,
    pads: &'a mut Option<[Pad<T>; 2]>,
) -> [&'a [T]; 4] {
    let [pad, other] = pads.insert([Pad::default(); 2]);
    [field.row(row), field.down(row, a, pad), field.row(row.down(b)), field.down(row.down(b), a, other)]
}

/// Notes what solids mean for the stresses that act on a component: see [`Walls`]. Stresses between the liquid and a solid along which
/// it slides are none.
fn weigh<const D: usize, T: Number>(
    solids: &Solids<D>,
    a: usize,
    state: &Field<D, CellState>,
    weight: &VectorField<D>,
    operator: &mut Operator<D, T>,
    held: &mut Field<D, T>,
) {
    let layout = state.layout();
    let at = |row: Row<'_, D>| row_at(layout, row.index).filter(|row| solids.is_near(*row));
    held.fill(T::ZERO);
    held.par_rows(|row, out| {
        let Some(row) = at(row) else { return };
        for (out, state) in out.iter_mut().zip(state.row(row)) {
            *out = if *state == CellState::Air { T::ONE } else { T::ZERO };
        }
    });
    operator.center[a].par_rows(|row, out| {
        let Some(row) = at(row) else { return };
        let mut pad = Pad::default();
        let above = weight[a].up(row, a, &mut pad);
        out.iter_mut().zip(above).for_each(|(out, w)| *out = T::of((*w).into()));
    });
    for b in (0..D).filter(|&b| b != a) {
        operator.edge[pair(a, b)].par_rows(|row, out| {
            let Some(row) = at(row) else { return };
            let mut pad = Pad::default();
            let (here, below) = (state.row(row), state.down(row, b, &mut pad));
            let weight = weight[b].row(row);
            for x in 0..here.len() {
                let slides = here[x] == CellState::Solid || below[x] == CellState::Solid;
                let now = if slides { -1.0 } else { f64::from(weight[x]) };
                let before = out[x].to_f64();
                out[x] = T::of(match a < b {
                    true => now,
                    false if now < 0.0 || before < 0.0 => -1.0,
                    false => now.max(before),
                });
            }
        });
    }
}
