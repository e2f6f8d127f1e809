//! Obstacles in a staggered velocity field.
//!
//! A solid closes a part of each face that it covers. With `A` the open part of a face, `u` the fluid's velocity on it
//! and `u_s` the solid's, what passes a face is `A u + (1 - A) u_s`, and the pressure acts on the open part alone
//! (Batty, Bertails & Bridson 2007; open parts as in Ng, Min & Gibou 2009). Fluid at rest above a tilted floor then stays
//! at rest, which it does not if cells are solid or fluid as a whole.
//!
//! | file | what it holds |
//! |---|---|
//! | `fraction` | the open part of an edge or a square from signed distances at its corners |
//! | `place` | where obstacles are on a grid, at one time, with their periodic images |
//! | `update` | everything that is known about the solids at one time; only what a motion touches is computed anew |
//! | `ghost` | velocities inside of solids, as the flow outside sees them |
//! | `release` | liquid that leaves an object is not drawn back |
//! | `around` | divergence, gradient and projection around solids |
//! | `border` | the older method: solid cells and a correction of the cells at their border (Foster & Fedkiw 2001) |
//! | `substance` | smoke near solids: none inside, none fading along walls |
//! | `swept` | particles that meet objects: none ends inside, none passes |
//! | `thin` | what to do about plates thinner than the grid can see |
//! | `viscous` | friction: surfaces between the faces of the grid, as viscosity sees them |
//!
//! A step of a model with moving obstacles, from `t` to `t + dt`:
//!
//! ```text
//! solids.fill_inside(grid, smoke, ambient)       so that smoke does not fade along walls
//! advect velocity and smoke with u; first order where solids.distances_near(row) are small
//! solids.update(grid, t + dt)
//! solids.clear_inside(smoke, ambient)            between two steps the inside of a solid is ambient
//! forces
//! Projection::new(..).around(solids).faces(..)   solids take part; leaves u inside of solids as the outside sees it
//! ```
//!
//! Uncovered cells need nothing: they hold what was advected from beside the solid, and their faces its velocity.

mod around;
mod border;
mod fraction;
mod ghost;
mod place;
mod release;
mod substance;
mod swept;
mod thin;
mod update;
mod viscous;

pub use around::divergence_around;
pub use fraction::open_fraction;
pub use place::CellBox;
pub(crate) use swept::Sweep;
pub use update::Changed;
pub use viscous::Walls;

use crate::Real;
use crate::field::{Field, OutOfMemory, Pad, VectorField};
use crate::grid::{At, Grid};
use crate::layout::{Layout, Row, tile_width};
use crate::ops::{above, each};
use crate::shape::Shape;

/// Something in the way of the fluid.
pub struct Obstacle<const D: usize> {
    /// What messages call it.
    pub name: String,
    /// Where it is, and how it moves.
    pub shape: Box<dyn Shape<D>>,
    /// How much the fluid sticks to it: from 0, it slides along freely, to 1, it moves with the surface.
    pub friction: f64,
    /// How far the surface is moved outwards, in metres. [`Solids::thicken`] sets it for shapes that are too thin.
    pub grow: f64,
}

impl<const D: usize> Obstacle<D> {
    /// A smooth obstacle.
    pub fn new(name: impl Into<String>, shape: Box<dyn Shape<D>>) -> Self {
        Obstacle { name: name.into(), shape, friction: 0.0, grow: 0.0 }
    }
}

/// How solids enter the grid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Boundary {
    /// Faces are open in part.
    #[default]
    CutCells,
    /// A cell is solid if its centre is; its faces are closed, all others are open. Makes stairs of slopes.
    Cells,
}

/// Distances are kept up to this many cells from a surface, on either side; further away they are cut off there.
pub const BAND: f64 = 4.0;

/// Cells closer to a surface than this count as near it, see [`Solids::is_near`]. In cells.
pub const NEAR: f64 = 2.0;

/// How far ahead obstacles are looked at for the length of a step, in seconds, and how often.
const LOOK_AHEAD: f64 = 0.1;
const LOOKS: usize = 32;

/// No value looks further than this at those beside it, in cells.
const BESIDE: isize = 2;

/// A face of which less than this is open is closed: the pressure of a cell behind a pinhole is badly determined.
const PINHOLE: Real = 0.01;

/// All obstacles on one grid, as they are at one time.
pub struct Solids<const D: usize> {
    obstacles: Vec<Obstacle<D>>,
    boundary: Boundary,
    /// The time of the last update, and what it was made for.
    made: Option<Made<D>>,
    /// Where tiles came or went since then.
    anew: Vec<CellBox<D>>,
    /// Signed distance at the lower corners of cells.
    phi: Field<D>,
    distance: Field<D>,
    /// The part of each cell that is fluid.
    volume: Field<D>,
    open: VectorField<D>,
    velocity: VectorField<D>,
    /// What flows out of each cell, per volume and second, because its surface lets go of a liquid.
    pub(crate) leaving: Option<Field<D>>,
    /// Rows with a cell within [`BAND`] of a surface, or inside.
    near_rows: Vec<bool>,
    /// What is inside but visible from outside, by rows.
    ghosts: Vec<Vec<ghost::Ghost<D>>>,
    /// Cells that a surface passes through, by rows; for [`Boundary::Cells`] only.
    border: Vec<Vec<border::BorderCell<D>>>,
    max_speed: f64,
}

/// What an update was made for.
struct Made<const D: usize> {
    grid: Grid<D>,
    t: f64,
    /// Where the obstacles were, by number.
    places: smallvec::SmallVec<[(CellBox<D>, usize); 4]>,
}

impl<const D: usize> Solids<D> {
    /// Obstacles on a grid. They are nowhere until [`Solids::update`] puts them in their places.
    pub fn new(grid: &Grid<D>, obstacles: Vec<Obstacle<D>>, boundary: Boundary) -> Result<Self, OutOfMemory> {
        Self::on(&Layout::dense(grid.cells), grid, obstacles, boundary)
    }

    /// Obstacles on the cells of a layout.
    pub fn on(
        layout: &Layout<D>,
        grid: &Grid<D>,
        obstacles: Vec<Obstacle<D>>,
        boundary: Boundary,
    ) -> Result<Self, OutOfMemory> {
        // Where no tile is, everything is open and far.
        let band = (BAND * cell_size(grid)) as Real;
        let field = |at, far| Field::on(layout, at, grid.flat_ends(far));
        let faces = |far| -> Result<VectorField<D>, OutOfMemory> {
            let made = (0..D).map(|a| field(At::Face(a), far)).collect::<Result<Vec<_>, _>>()?;
            let mut made = made.into_iter();
            Ok(each(|_| made.next().expect("one field for each axis")))
        };
        let phi = field(At::Node, band)?;
        let rows = phi.layout().rows();
        Ok(Solids {
            obstacles,
            boundary,
            made: None,
            anew: Vec::new(),
            distance: field(At::Center, band)?,
            volume: field(At::Center, 1.0)?,
            open: faces(1.0)?,
            velocity: faces(0.0)?,
            leaving: None,
            near_rows: vec![false; rows],
            ghosts: vec![Vec::new(); rows],
            border: vec![Vec::new(); rows],
            phi,
            max_speed: 0.0,
        })
    }

    /// The obstacles.
    pub fn obstacles(&self) -> &[Obstacle<D>] {
        &self.obstacles
    }

    /// How solids enter the grid.
    pub fn boundary(&self) -> Boundary {
        self.boundary
    }

    /// The open part of each face, from 0 to 1, ghosts filled.
    pub fn open(&self) -> &VectorField<D> {
        &self.open
    }

    /// The velocity of the solid on each face that is not wide open, elsewhere zero; ghosts filled.
    pub fn velocity(&self) -> &VectorField<D> {
        &self.velocity
    }

    /// Signed distance to the nearest surface at cell centres, negative inside, cut off at [`BAND`] cells; ghosts filled.
    pub fn distance(&self) -> &Field<D> {
        &self.distance
    }

    /// The part of each cell that is fluid, from 0 to 1; 0 in solid cells, ghosts filled.
    pub fn volume(&self) -> &Field<D> {
        &self.volume
    }

    /// The same along a row, if any of its cells may be less than 1.
    #[inline]
    pub fn volumes_near(&self, row: Row<'_, D>) -> Option<&[Real]> {
        self.is_near(row).then(|| self.volume.row(row))
    }

    /// How much fluid there is, in cells.
    pub fn fluid_volume(&self) -> f64 {
        crate::ops::sum(&self.volume)
    }

    /// Whether none of them ever moves.
    pub fn are_still(&self) -> bool {
        self.obstacles.iter().all(|o| !o.shape.moves())
    }

    /// The largest velocity component of a solid in the grid, in metres per second: a bound for the time step like the
    /// fluid's own.
    pub fn max_speed(&self) -> f64 {
        self.max_speed
    }

    /// For how long, from `t` on, no obstacle that moves as a whole goes further than `way` metres; infinite, if that is longer than
    /// a tenth of a second. [`Self::max_speed`] knows only of now, when what is about to be set in motion is still at rest.
    pub fn keep_within(&self, way: f64, t: f64) -> f64 {
        let part = LOOK_AHEAD / LOOKS as f64;
        let limit = |obstacle: &Obstacle<D>| {
            let mut gone = 0.0;
            // At least one part: what jumps is not to be approached in ever shorter steps.
            let mut ends = (0..LOOKS).map(|i| [i, i + 1].map(|i| t + i as f64 * part)).enumerate();
            let too_far = ends.find(|(_, [from, to])| {
                gone += obstacle.shape.way(*from, *to);
                gone > way
            });
            too_far.map_or(f64::INFINITY, |(i, _)| part * i.max(1) as f64)
        };
        self.obstacles.iter().filter(|o| o.shape.moves()).map(limit).fold(f64::INFINITY, f64::min)
    }

    /// Whether a row has a cell within [`BAND`] cells of a solid. Away from solids nothing needs to know of them.
    #[inline]
    pub fn is_near(&self, row: Row<'_, D>) -> bool {
        self.near_rows[self.phi.layout().row_number(row)]
    }

    /// The distances along a row, if it is near a solid. Where they are below `NEAR` times the cell size, transport
    /// should fall back to first order: higher orders would look across the surface.
    #[inline]
    pub fn distances_near(&self, row: Row<'_, D>) -> Option<&[Real]> {
        self.is_near(row).then(|| self.distance.row(row))
    }

    /// The distances along a row; further than [`BAND`] cells away they are that.
    pub(crate) fn distances(&self, row: Row<'_, D>) -> &[Real] {
        self.distance.row(row)
    }

    /// The distance of a cell.
    pub(crate) fn distance_at(&self, cell: [isize; D]) -> Real {
        self.distance.get_signed(cell)
    }

    /// Calls `f` with each cell along a row that is solid: no face of it is open.
    fn for_each_solid_cell(&self, row: Row<'_, D>, mut f: impl FnMut(usize)) {
        let here: [&[Real]; D] = each(|a| self.open[a].row(row));
        let mut pad = Pad::default();
        let next = above(&self.open, row, &mut pad);
        for x in 0..here[0].len() {
            if (0..D).all(|a| here[a][x] + next[a][x] == 0.0) {
                f(x);
            }
        }
    }

    /// Whether a cell is solid: no face of it is open.
    pub fn is_solid(&self, index: [isize; D]) -> bool {
        (0..D).all(|a| {
            let mut next = index;
            next[a] += 1;
            self.open[a].get_signed(index) + self.open[a].get_signed(next) == 0.0
        })
    }

    /// [`Solids::is_solid`] for a cell close to a row.
    fn is_solid_near(&self, row: Row<'_, D>, index: [isize; D]) -> bool {
        (0..D).all(|a| {
            let mut next = index;
            next[a] += 1;
            self.open[a].get_near(row, index) + self.open[a].get_near(row, next) == 0.0
        })
    }

    /// Goes over to another set of tiles; the next update finds what is new on them.
    pub fn move_to(&mut self, layout: &Layout<D>, grid: &Grid<D>) -> Result<(), OutOfMemory> {
        let old = self.phi.layout().clone();
        let (Some(before), Some(after)) = (old.as_tiles(), layout.as_tiles()) else {
            let holds_liquid = self.leaving.is_some();
            *self = Self::on(layout, grid, std::mem::take(&mut self.obstacles), self.boundary)?;
            return if holds_liquid { self.expect_liquid() } else { Ok(()) };
        };
        let band = (BAND * cell_size(grid)) as Real;
        self.phi.move_to(layout, band)?;
        self.distance.move_to(layout, band)?;
        self.volume.move_to(layout, 1.0)?;
        self.open.iter_mut().try_for_each(|open| open.move_to(layout, 1.0))?;
        self.velocity.iter_mut().try_for_each(|u| u.move_to(layout, 0.0))?;
        self.leaving.iter_mut().try_for_each(|rate| rate.move_to(layout, 0.0))?;
        let rows = layout.rows_per_part();
        let place = |t: usize| before.find(after.coords()[t]).map(|t| t * rows);
        let places = || (0..after.coords().len()).flat_map(|t| (0..rows).map(move |r| (t, r)));
        let from = |(t, r): (usize, usize)| place(t).map(|first| first + r);
        self.near_rows = places().map(|at| from(at).is_some_and(|r| self.near_rows[r])).collect();
        self.ghosts = places().map(|at| from(at).map_or(Vec::new(), |r| std::mem::take(&mut self.ghosts[r]))).collect();
        self.border = places().map(|at| from(at).map_or(Vec::new(), |r| std::mem::take(&mut self.border[r]))).collect();
        // What is beside looks across the border.
        let width = tile_width::<D>() as isize;
        let around = |c: &[i32; D]| CellBox {
            lo: c.map(|c| c as isize * width - BESIDE),
            hi: c.map(|c| (c as isize + 1) * width + BESIDE),
        };
        let come = after.coords().iter().filter(|&&c| before.find(c).is_none());
        let gone = before.coords().iter().filter(|&&c| after.find(c).is_none());
        self.anew.extend(come.chain(gone).map(around));
        Ok(())
    }
}

/// The lower corner of a cell, in metres.
fn corner<const D: usize>(grid: &Grid<D>, index: [isize; D]) -> [f64; D] {
    each(|a| grid.origin[a] + index[a] as f64 * grid.spacing[a])
}

/// Where the value of a cell lives, in metres. Unlike [`Grid::position`] it knows cells on all sides of the origin.
fn position<const D: usize>(grid: &Grid<D>, at: At, index: [isize; D]) -> [f64; D] {
    each(|a| {
        let shift = if at.on_lower_side(a) { 0.0 } else { 0.5 };
        grid.origin[a] + (index[a] as f64 + shift) * grid.spacing[a]
    })
}

/// The largest cell size over the axes: the unit of widths given in cells.
fn cell_size<const D: usize>(grid: &Grid<D>) -> f64 {
    grid.spacing.iter().copied().fold(0.0, f64::max)
}

/// The index of a row's cell `x`.
#[inline(always)]
fn cell_of<const D: usize>(row: Row<'_, D>, x: usize) -> [isize; D] {
    let mut index = row.index;
    index[0] += x as isize;
    index
}
