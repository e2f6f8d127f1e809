//! Solids as viscosity sees them.
//!
//! A velocity component is known on faces whose centres lie in the fluid. Between such a face and one inside of a solid, the
//! fluid has the solid's velocity on the surface, the part `theta` of the way along; so the link between the two has
//! the weight `friction / theta` and leads to that velocity (Gibou, Fedkiw, Cheng & Kang 2002): second order in the cell
//! size, whatever the angle, and symmetric. Where the fluid slides, there is no link.

use super::ghost::{face_nodes, mean};
use super::place::{Block, CellBox, Placed, place};
use super::{Boundary, Solids, cell_of, cell_size, position};
use crate::Real;
use crate::diffuse::Around;
use crate::field::{Field, OutOfMemory, VectorField};
use crate::grid::{At, Axis, Grid};
use crate::layout::{Layout, Row};
use crate::ops::each;
use crate::poisson::CellState;

/// The smallest part of the way to a surface: a face that a surface touches shall not rule all others.
const LEAST: f64 = 0.05;

/// Further from a surface than this, in cells, no link crosses it: the faces of a cell lie within one of its centre, and their
/// neighbours one further.
const REACH: f64 = 2.5;

/// What stands in the way of the viscosity of one velocity component.
pub struct Walls<const D: usize> {
    pub(crate) state: Field<D, CellState>,
    /// Of the link to the next value down each axis.
    pub(crate) weight: VectorField<D>,
}

impl<const D: usize> Walls<D> {
    /// Nothing, yet.
    pub fn new(layout: &Layout<D>, grid: &Grid<D>) -> Result<Self, OutOfMemory> {
        let ends = grid.flat_ends(1.0);
        let links = (0..D).map(|b| Field::on(layout, At::Face(b), ends)).collect::<Result<Vec<_>, _>>()?;
        let mut links = links.into_iter();
        let state = Field::on(layout, At::Center, ends)?;
        Ok(Walls { state, weight: each(|_| links.next().expect("one field for each axis")) })
    }

    /// The cells that it is for.
    pub fn layout(&self) -> &Layout<D> {
        self.state.layout()
    }

    /// There are no solids: everything moves, and all links count.
    pub(crate) fn clear(&mut self) {
        self.state.fill(CellState::Fluid);
        self.weight.iter_mut().for_each(|weight| weight.fill(1.0));
    }

    /// For [`Diffusion`](crate::diffuse::Diffusion).
    pub fn around(&self) -> Around<'_, D> {
        Around::Links { state: &self.state, weight: &self.weight }
    }

    /// Finds them for the component `a`, and gives its faces inside of solids the velocity of those.
    pub fn find(&mut self, solids: &Solids<D>, grid: &Grid<D>, a: usize, u: &mut Field<D>) {
        let Some(made) = &solids.made else { return };
        let look =
            Look { solids, grid, a, t: made.t, placed: place(&solids.obstacles, grid, made.t), one: friction(solids) };
        let reach = (REACH * cell_size(grid)) as Real;
        self.state.par_rows(|row, state| {
            state.fill(CellState::Fluid);
            let Some(distance) = solids.distances_near(row) else { return };
            let deep = if look.one == Some(0.0) { CellState::Solid } else { CellState::Air };
            for (x, state) in state.iter_mut().enumerate().filter(|(x, _)| distance[*x] < reach) {
                *state = if distance[x] < -reach { deep } else { look.state(row, cell_of(row, x)) };
            }
        });
        for (b, weight) in self.weight.iter_mut().enumerate() {
            weight.par_rows(|row, weight| {
                weight.fill(1.0);
                let Some(distance) = solids.distances_near(row) else { return };
                for (x, weight) in weight.iter_mut().enumerate().filter(|(x, _)| distance[*x].abs() < reach) {
                    *weight = look.weight(row, cell_of(row, x), b);
                }
            });
            // What lies on the far end is none of the solids' business.
            weight.set_last(|_| Some(1.0));
            weight.fill_halo();
        }
        let (state, held) = (&self.state, &solids.velocity[a]);
        u.par_rows(|row, u| {
            if solids.is_near(row) {
                for ((u, state), held) in u.iter_mut().zip(state.row(row)).zip(held.row(row)) {
                    *u = if *state == CellState::Fluid { *u } else { *held };
                }
            }
        });
    }
}

/// The friction of all obstacles, if they have the same.
fn friction<const D: usize>(solids: &Solids<D>) -> Option<f64> {
    let mut all = solids.obstacles.iter().map(|o| o.friction.clamp(0.0, 1.0));
    let first = all.next()?;
    all.all(|f| f == first).then_some(first)
}

struct Look<'a, const D: usize> {
    solids: &'a Solids<D>,
    grid: &'a Grid<D>,
    a: usize,
    t: f64,
    placed: smallvec::SmallVec<[Placed<'a, D>; 4]>,
    one: Option<f64>,
}

/// What is known about a face.
struct Face {
    state: CellState,
    /// Distance of its centre from the surface, in metres.
    phi: f64,
    friction: f64,
}

impl<const D: usize> Look<'_, D> {
    fn face(&self, row: Row<'_, D>, index: [isize; D]) -> Face {
        let open = self.solids.open[self.a].get_near(row, index);
        let nodes = face_nodes(index, self.a);
        let phi = &self.solids.phi;
        let phi = mean::<D>(each(|i| if i < 1 << (D - 1) { phi.get_near(row, nodes[i]) as f64 } else { 0.0 }));
        let fluid = Face { state: CellState::Fluid, phi, friction: 0.0 };
        if open == 1.0 || open > 0.0 && phi > 0.0 {
            return fluid;
        }
        let friction = self.one.unwrap_or_else(|| self.friction(index));
        match (friction > 0.0, open > 0.0) {
            (true, _) => Face { state: CellState::Air, phi: phi.min(0.0), friction },
            // What passes a face in part slides along.
            (false, true) => fluid,
            (false, false) => Face { state: CellState::Solid, phi: phi.min(0.0), friction },
        }
    }

    /// What a face is. One that nothing links to others moves with the solid: its flow would never slow down.
    fn state(&self, row: Row<'_, D>, index: [isize; D]) -> CellState {
        let Face { state, phi, .. } = self.face(row, index);
        let linked = |b: usize, by: isize| {
            let beside = each(|c| index[c] + if b == c { by } else { 0 });
            self.face(row, beside).state == CellState::Fluid
        };
        if state != CellState::Fluid || phi > 0.0 || (0..D).any(|b| linked(b, -1) || linked(b, 1)) {
            state
        } else {
            CellState::Solid
        }
    }

    /// The friction of the solid that a face belongs to.
    fn friction(&self, index: [isize; D]) -> f64 {
        let around = CellBox { lo: index.map(|i| i - 1), hi: index.map(|i| i + 1) };
        let at = position(self.grid, At::Face(self.a), index);
        let owner = match Block::look(&self.placed, &around, self.grid, self.t) {
            Block::Far => return 0.0,
            Block::Inside(p) => p,
            Block::Near(near) => near.nearest(at, self.t).1,
        };
        owner.obstacle.friction.clamp(0.0, 1.0)
    }

    /// The weight of the link from a face to the next one down axis `b`.
    fn weight(&self, row: Row<'_, D>, index: [isize; D], b: usize) -> Real {
        if index[b] == 0 && matches!(self.grid.axes[b], Axis::Bounded { .. }) {
            return 1.0;
        }
        let [here, below] = [index, each(|c| index[c] - (b == c) as isize)].map(|index| self.face(row, index));
        let (fluid, held) = match (here.state, below.state) {
            (CellState::Fluid, CellState::Fluid) => return 1.0,
            (CellState::Fluid, _) => (here, below),
            (_, CellState::Fluid) => (below, here),
            _ => return 0.0,
        };
        let theta = if self.solids.boundary == Boundary::Cells {
            // Closed faces are walls, and cells beside them end half way to the next one.
            if b == self.a { 1.0 } else { 0.5 }
        } else if fluid.phi > 0.0 {
            (fluid.phi / (fluid.phi - held.phi)).max(LEAST)
        } else {
            1.0
        };
        (held.friction / theta) as Real
    }
}
