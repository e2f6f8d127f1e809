//! Values inside of solids, as the outside sees them.
//!
//! Transport and viscosity look across surfaces. What they find there is made from the flow outside: for a value at
//! depth `d` below the surface, the velocity `u` at the point `max(d, h/2)` above it, straight up. With
//! `w = u - u_s`, its part `w_n n` across the surface and its part `w_t` along it, the value inside is
//!
//! ```text
//! u_s + max(0, w_n) n + w_t         where the fluid slides freely
//! u_s + max(0, w_n) n - w_t         where it sticks: on the surface, half way, it moves as the solid does
//! ```
//!
//! and in between for a friction in between. Deeper inside, everything moves as the solid does. One look straight up
//! replaces the layers of averages of older methods: it does not depend on an order and needs no rounds.

use super::update::Now;
use super::{Solids, cell_of, cell_size, position};
use crate::Real;
use crate::field::{Field, Pad, VectorField};
use crate::grid::{At, Axis, Grid};
use crate::layout::Row;
use crate::ops::{above, each};

/// How deep below a surface values are made from those above it, in cells.
pub(super) const DEPTH: f64 = 2.5;

/// How far above the surface is looked, in cells, at least and at most.
const LOOK: (f64, f64) = (0.5, 1.5);

/// Below this length a gradient of distances has no direction: the middle of a thin plate.
const NO_DIRECTION: f64 = 0.1;

/// A place inside of a solid, or half inside, with a value that is made from values outside.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ghost<const D: usize> {
    /// The cell along its row.
    x: u32,
    place: Place,
    /// How deep it is, in metres.
    depth: f64,
    /// The way out.
    normal: [f64; D],
    /// The solid's velocity there.
    velocity: [f64; D],
    friction: f64,
    /// What was found, until it is written.
    value: Real,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// A closed face across this axis.
    Face(usize),
    /// A face across this axis that is open in part, but with its centre inside of a solid that the fluid sticks to.
    StickyFace(usize),
    /// A solid cell.
    Cell,
}

/// The nodes around a face across axis `a`, in cyclic order; the first two in 2D.
#[inline(always)]
pub(super) fn face_nodes<const D: usize>(face: [isize; D], a: usize) -> [[isize; D]; 4] {
    let (b, c) = ((a + 1) % D, (a + 2) % D);
    let up = |i: [isize; D], a: usize| -> [isize; D] { each(|b| i[b] + (a == b) as isize) };
    [face, up(face, b), up(up(face, b), c), up(face, c)]
}

/// The values of all nodes around the face across axis `a` of a cell `shift` cells along that axis from cell `x` of a row.
#[inline(always)]
pub(super) fn node_values<const D: usize>(
    phi: &Field<D>,
    row: Row<'_, D>,
    x: usize,
    a: usize,
    shift: isize,
) -> [f64; 4] {
    let mut face = cell_of(row, x);
    face[a] += shift;
    let nodes = face_nodes(face, a);
    each(|i| if i < 1 << (D - 1) { phi.get_near(row, nodes[i]) as f64 } else { 0.0 })
}

/// The mean over the nodes of a face.
pub(super) fn mean<const D: usize>(v: [f64; 4]) -> f64 {
    if D == 2 { 0.5 * (v[0] + v[1]) } else { 0.25 * ((v[0] + v[1]) + (v[2] + v[3])) }
}

impl<const D: usize> Ghost<D> {
    /// All of them along a row.
    pub fn collect(
        now: &Now<D>,
        row: Row<'_, D>,
        phi: &Field<D>,
        distance: &Field<D>,
        open: &VectorField<D>,
        out: &mut Vec<Self>,
    ) {
        for a in 0..D {
            Self::collect_faces(now, row, phi, &open[a], a, out);
        }
        Self::collect_cells(now, row, phi, distance, open, out);
    }

    fn collect_faces(now: &Now<D>, row: Row<'_, D>, phi: &Field<D>, open: &Field<D>, a: usize, out: &mut Vec<Self>) {
        let grid = now.grid;
        // What stands on the sides of the box is none of the solids' business.
        let first = grid.end_faces(a)[0];
        if a > 0 && row.index[a] == first {
            return;
        }
        let open = open.row(row);
        let deepest = DEPTH * cell_size(grid);
        for x in 0..open.len() {
            if open[x] == 1.0 || (a == 0 && cell_of(row, x)[0] == first) {
                continue;
            }
            let v = node_values(phi, row, x, a, 0);
            let depth = -mean::<D>(v);
            let closed = open[x] == 0.0;
            if depth > deepest || !closed && depth < 0.0 {
                continue;
            }
            let (high, low) = (node_values(phi, row, x, a, 1), node_values(phi, row, x, a, -1));
            let across = 0.5 * (mean::<D>(high) - mean::<D>(low));
            let along = if D == 2 {
                [v[1] - v[0], 0.0]
            } else {
                [0.5 * ((v[1] - v[0]) + (v[2] - v[3])), 0.5 * ((v[3] - v[0]) + (v[2] - v[1]))]
            };
            let mut slope = [0.0; D];
            slope[a] = across / grid.spacing[a];
            for b in 1..D {
                slope[(a + b) % D] = along[b - 1] / grid.spacing[(a + b) % D];
            }
            let place = if closed { Place::Face(a) } else { Place::StickyFace(a) };
            Self::add(now, row, x, (place, At::Face(a)), depth, slope, out);
        }
    }

    fn collect_cells(
        now: &Now<D>,
        row: Row<'_, D>,
        phi: &Field<D>,
        distance: &Field<D>,
        open: &VectorField<D>,
        out: &mut Vec<Self>,
    ) {
        let here: [&[Real]; D] = each(|a| open[a].row(row));
        let mut pad = Pad::default();
        let next = above(open, row, &mut pad);
        let distance = distance.row(row);
        let deepest = (DEPTH * cell_size(now.grid)) as Real;
        for x in 0..distance.len() {
            if -distance[x] <= deepest && (0..D).all(|a| here[a][x] + next[a][x] == 0.0) {
                let slope = cell_slope(now.grid, phi, row, x);
                Self::add(now, row, x, (Place::Cell, At::Center), -distance[x] as f64, slope, out);
            }
        }
    }

    fn add(
        now: &Now<D>,
        row: Row<'_, D>,
        x: usize,
        (place, at): (Place, At),
        depth: f64,
        slope: [f64; D],
        out: &mut Vec<Self>,
    ) {
        let point = position(now.grid, at, cell_of(row, x));
        let Some(normal) = direction(slope) else { return };
        let Some(owner) = now.owner(&now.look_around(row, x), point) else { return };
        let friction = owner.obstacle.friction.clamp(0.0, 1.0);
        if matches!(place, Place::StickyFace(_)) && friction == 0.0 {
            return;
        }
        let velocity = owner.velocity(point, now.t);
        out.push(Ghost { x: x as u32, place, depth, normal, velocity, friction, value: 0.0 });
    }

    /// The point outside that this place looks at, and how far above the surface it is.
    fn look(&self, grid: &Grid<D>, row: Row<'_, D>, at: At) -> ([f64; D], f64) {
        let h = cell_size(grid);
        let above = self.depth.clamp(LOOK.0 * h, LOOK.1 * h);
        let from = position(grid, at, cell_of(row, self.x as usize));
        (each(|a| from[a] + (self.depth + above) * self.normal[a]), above)
    }

    /// The velocity across the face, from the flow outside.
    fn face_value(&self, grid: &Grid<D>, row: Row<'_, D>, a: usize, u: &VectorField<D>, open: &VectorField<D>) -> Real {
        let (point, above) = self.look(grid, row, At::Face(a));
        let w: [f64; D] = each(|c| {
            let known = |index| (open[c].get_near(row, index) > 0.0).then(|| u[c].get_near(row, index));
            sample_known(grid, At::Face(c), point, known).map_or(0.0, |u| u - self.velocity[c])
        });
        let n = self.normal;
        let w_n = (0..D).map(|c| w[c] * n[c]).sum::<f64>();
        let w_t = w[a] - w_n * n[a];
        let sticking = -(self.depth / above).clamp(0.0, 1.0);
        let kept = 1.0 + self.friction * (sticking - 1.0);
        (self.velocity[a] + kept * w_t + w_n.max(0.0) * n[a]) as Real
    }
}

impl<const D: usize> Solids<D> {
    /// Gives closed faces near a surface velocities that continue the flow outside: along the surface as its friction
    /// says, across it never into the solid. Call it after the pressure solve; the faces that the flow passes stay as
    /// they are. Fills the ghosts of `u`.
    pub fn constrain(&mut self, grid: &Grid<D>, u: &mut VectorField<D>) {
        self.set_faces(grid, u, None, |place| match place {
            Place::Face(a) => Some(a),
            _ => None,
        });
    }

    /// Slows faces that are open in part, but with their centre inside of a solid that the fluid sticks to. Call it
    /// before the pressure solve: it changes what passes.
    pub(super) fn stick(&mut self, grid: &Grid<D>, u: &mut VectorField<D>, pushed: Option<(&Field<D>, f64)>) {
        self.set_faces(grid, u, pushed, |place| match place {
            Place::StickyFace(a) => Some(a),
            _ => None,
        });
    }

    /// Sets the faces across the axes that `axis` names, and pushes them by `dt grad p`, if there is such a pressure.
    fn set_faces(
        &mut self,
        grid: &Grid<D>,
        u: &mut VectorField<D>,
        pushed: Option<(&Field<D>, f64)>,
        axis: impl Fn(Place) -> Option<usize> + Sync,
    ) {
        u.iter_mut().for_each(Field::fill_halo);
        let (values, open) = (&*u, &self.open);
        for_each_list(&self.phi, &mut self.ghosts, |row, ghosts| {
            for ghost in ghosts {
                if let Some(a) = axis(ghost.place) {
                    ghost.value = ghost.face_value(grid, row, a, values, open);
                    if let Some((p, dt)) = pushed {
                        let high = cell_of(row, ghost.x as usize);
                        let low = each(|b| high[b] - (a == b) as isize);
                        let push = (dt / grid.spacing[a]) as Real;
                        ghost.value -= push * (p.get_near(row, high) - p.get_near(row, low));
                    }
                }
            }
        });
        let layout = self.phi.layout();
        for (row, ghosts) in self.ghosts.iter().enumerate().map(|(r, ghosts)| (layout.row(r), ghosts)) {
            for ghost in ghosts {
                if let Some(a) = axis(ghost.place) {
                    u[a].row_mut(row)[ghost.x as usize] = ghost.value;
                }
            }
        }
        u.iter_mut().for_each(Field::fill_halo);
    }

    /// Gives solid cells near a surface the value that is outside, straight up from them, so that interpolation finds no
    /// edge there: smoke that glides along a wall does not fade. Deeper cells get `ambient`. All this is no substance:
    /// [`Solids::clear_inside`] takes it away again. Fills the ghosts.
    pub fn fill_inside(&mut self, grid: &Grid<D>, substance: &mut Field<D>, ambient: Real) {
        self.clear_inside(substance, ambient);
        let mut ghosts = std::mem::take(&mut self.ghosts);
        let (values, solids) = (&*substance, &*self);
        for_each_list(&self.phi, &mut ghosts, |row, ghosts| {
            for ghost in ghosts.iter_mut().filter(|ghost| ghost.place == Place::Cell) {
                let (point, _) = ghost.look(grid, row, At::Center);
                let known = |index| (!solids.is_solid_near(row, index)).then(|| values.get_near(row, index));
                ghost.value = sample_known(grid, At::Center, point, known).map_or(ambient, |v| v as Real);
            }
        });
        for (r, ghosts) in ghosts.iter().enumerate() {
            let row = self.phi.layout().row(r);
            for ghost in ghosts.iter().filter(|ghost| ghost.place == Place::Cell) {
                substance.row_mut(row)[ghost.x as usize] = ghost.value;
            }
        }
        substance.fill_halo();
        self.ghosts = ghosts;
    }

    /// Continues distances to a surface into cells with their centre inside of a solid, along a straight line from two points outside: a flat surface goes on flat,
    /// whatever the shape of the solid. Cells from which nothing outside is seen keep what they have. Fills the ghosts.
    pub fn continue_distances(&self, grid: &Grid<D>, distances: &mut Field<D>, spare: &mut Field<D>) {
        distances.fill_halo();
        let (values, h) = (&*distances, cell_size(grid));
        spare.par_rows(|row, out| {
            out.copy_from_slice(values.row(row));
            let Some(depths) = self.distances_near(row) else { return };
            for x in (0..out.len()).filter(|&x| depths[x] < 0.0 && f64::from(depths[x]) >= -DEPTH * h) {
                let Some(normal) = direction(cell_slope(grid, &self.phi, row, x)) else { continue };
                let (depth, centre) = (-f64::from(depths[x]), position(grid, At::Center, cell_of(row, x)));
                let known = |index| (self.distance.get_near(row, index) >= 0.0).then(|| values.get_near(row, index));
                // So high that all around the points is outside, as a rule.
                let above = LOOK.1 * h;
                let at = |above: f64| {
                    sample_known(grid, At::Center, each(|a| centre[a] + (depth + above) * normal[a]), known)
                };
                out[x] = match (at(above), at(above + h)) {
                    (Some(near), Some(far)) => {
                        let slope = ((far - near) / h).clamp(-1.0, 1.0);
                        (near - slope * (depth + above)) as Real
                    }
                    (Some(only), None) | (None, Some(only)) => only as Real,
                    (None, None) => continue,
                };
            }
        });
        distances.copy_all(spare);
        distances.fill_halo();
    }
}

/// Calls `f` with each row that has a list with entries, in parallel.
pub(super) fn for_each_list<const D: usize, T: Send>(
    shape: &Field<D>,
    lists: &mut [Vec<T>],
    f: impl Fn(Row<'_, D>, &mut [T]) + Sync,
) {
    use crate::threads::prelude::*;
    let layout = shape.layout().clone();
    lists.par_iter_mut().enumerate().for_each(|(r, list)| {
        if !list.is_empty() {
            f(layout.row(r), list);
        }
    });
}

/// The slope of the distance at the centre of a cell, from the nodes around it.
pub(super) fn cell_slope<const D: usize>(grid: &Grid<D>, phi: &Field<D>, row: Row<'_, D>, x: usize) -> [f64; D] {
    each(|a| {
        let (low, high) = (node_values(phi, row, x, a, 0), node_values(phi, row, x, a, 1));
        (mean::<D>(high) - mean::<D>(low)) / grid.spacing[a]
    })
}

/// The direction of a slope of distances, if it has one.
pub(super) fn direction<const D: usize>(slope: [f64; D]) -> Option<[f64; D]> {
    unit(slope, NO_DIRECTION)
}

/// A vector made one long, if it is longer than `least`.
pub(super) fn unit<const D: usize>(v: [f64; D], least: f64) -> Option<[f64; D]> {
    let length = v.iter().map(|s| s * s).sum::<f64>().sqrt();
    (length > least).then(|| v.map(|s| s / length))
}

/// Linear interpolation at a point from those values around it that are known, if any is.
pub(super) fn sample_known<const D: usize>(
    grid: &Grid<D>,
    at: At,
    point: [f64; D],
    known: impl Fn([isize; D]) -> Option<Real>,
) -> Option<f64> {
    // With less weight than this, a value is not around but beyond the point.
    const LEAST: f64 = 1e-3;
    let place: [f64; D] = each(|a| {
        let shift = if at.on_lower_side(a) { 0.0 } else { 0.5 };
        (point[a] - grid.origin[a]) / grid.spacing[a] - shift
    });
    let base = place.map(|s| s.floor());
    let (mut sum, mut weights) = (0.0, 0.0);
    for corner in 0..1usize << D {
        let mut weight = 1.0;
        let index: [isize; D] = each(|a| {
            let (upper, part) = ((corner >> a) & 1, place[a] - base[a]);
            weight *= if upper == 1 { part } else { 1.0 - part };
            let i = base[a] as isize + upper as isize;
            let [first, last] = grid.end_faces(a);
            match grid.axes[a] {
                Axis::Periodic => i.rem_euclid(grid.cells[a] as isize),
                _ => i.clamp(first, if at.on_lower_side(a) { last } else { last - 1 }),
            }
        });
        if weight > 0.0
            && let Some(value) = known(index)
        {
            sum += weight * value as f64;
            weights += weight;
        }
    }
    (weights > LEAST).then(|| sum / weights)
}
