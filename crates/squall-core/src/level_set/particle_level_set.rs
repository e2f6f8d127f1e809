//! The particle level set (Enright, Marschner & Fedkiw 2002; Enright, Losasso & Fedkiw 2005): a field of distances that a flow carries, and particles
//! on both sides of its surface that know better where it is.
//!
//! Carrying `phi` between cells rounds corners off and loses what is thinner than a cell. Particles are carried exactly; each is a ball of radius `r` that
//! touches the surface from its own side `s` (-1 inside of the liquid, 1 outside). One that is on the other side by more than `r` has escaped: it says that `phi` is
//! wrong there, and its ball is put back,
//!
//! ```text
//! phi_p(x) = s (r - |x - x_p|),   phi+ = max(phi, phi_p),   phi- = min(phi, phi_p),   phi = whichever of the two is nearer to 0
//! ```
//!
//! What differs from the papers: particles are put anywhere in the cells of the band, on the side that they are on, instead of being drawn to a distance that
//! was drawn by lot.
//!
//! Measured, area lost by Zalesak's disc on 100² cells in a turn: with MacCormack -0.9 % (16 particles to a cell -1.1 %, none -7.7 %), semi-Lagrangian 1.7 %. Leaving
//! `phi` alone in cells beside the surface where its gradient is nearly 1, instead of [`FastMarching`]'s rule, 1.8 %; radii that are fitted only when particles are put
//! anew, -1.3 %.
//!
//! A disc 15 cells wide that makes half a turn, without a solver:
//!
//! ```
//! use squall_core::advect::{Advection, Flow, MapScratch};
//! use squall_core::level_set::ParticleLevelSet;
//! use squall_core::sample::Isa;
//! use squall_core::trace::Tracer;
//! use squall_core::{At, Field, Grid, Side};
//!
//! let grid = Grid::<2>::walled([50, 50], Side::Slip);
//! let mut u = [0, 1].map(|a| Field::new(grid.cells, At::Face(a), grid.flat_ends(0.0)).unwrap());
//! u[0].set_from(&grid, |x| 0.5 - x[1]);
//! u[1].set_from(&grid, |x| x[0] - 0.5);
//! let mut disc = ParticleLevelSet::new(&grid)?;
//! disc.add(&grid, None, |x| (x[0] - 0.5).hypot(x[1] - 0.7) - 0.15);
//! disc.finish(&grid, None)?;
//! let before = disc.volume(&grid, None);
//! let scheme = Advection::MacCormack;
//! let mut paths = MapScratch::new(disc.phi().layout(), scheme)?;
//! for _ in 0..100 {
//!     let dt = 0.0314;
//!     paths.trace(scheme, Flow { grid: &grid, velocity: &u, tracer: Tracer::Rk2, isa: Isa::best() }, dt);
//!     disc.advance(&grid, &u, dt, (scheme, &mut paths))?; //  phi and particles go along
//!     disc.finish(&grid, None)?; //                           distances again, and particles where they are needed
//! }
//! assert!((disc.volume(&grid, None) / before - 1.0).abs() < 0.02);
//! # Ok::<(), squall_core::OutOfMemory>(())
//! ```

use super::{FastMarching, redistance_inside};
use crate::Real;
use crate::advect::{Advection, MapScratch, carry};
use crate::field::{Field, OutOfMemory, VectorField};
use crate::grid::{At, Axis, Grid};
use crate::layout::{Layout, tile_width};
use crate::ops;
use crate::particles::{Carried, Leaving, Patch, Placed, cells_of, jitter, keep_within, position, settle};
use crate::rows;
use crate::sample::Isa;
use crate::scatter::Scatter;
use crate::sim::StateVisitor;
use crate::solid::Solids;
use crate::threads::prelude::*;
use crate::visit::visit_list;
use std::ops::Range;

/// How far distances are known on both sides of the surface, in cells.
pub const KNOWN: Real = 6.0;
/// How far particles are from it at most, in cells.
const BAND: Real = 3.0;
/// The smallest and the largest radius, in cells.
const RADII: [Real; 2] = [0.1, 0.5];
/// After so many steps particles are put where they are needed.
const RESEED: u64 = 20;
/// One that has escaped further than this, in cells, is a stray.
const STRAY: Real = 1.0;
/// Air that has escaped further than this, in cells, is a bubble.
const BUBBLE: Real = 0.5;
/// How close particles come to walls, in cells.
const APART: Real = 0.01;

/// Particles to a cell: in 2D as many as the papers have of both sides together; in 3D, where they have 128, fewer, as they take most of the time.
const PER_CELL: usize = 32;

/// A ball that touches the surface.
#[derive(Clone, Copy, Debug)]
struct Ball<const D: usize> {
    /// In cells from the lower corner of its tile.
    place: [Real; D],
    /// In cells; negative inside of the liquid.
    radius: Real,
}

impl<const D: usize> Placed<D> for Ball<D> {
    fn place(&mut self) -> &mut [Real; D] {
        &mut self.place
    }
}

impl<const D: usize> Ball<D> {
    /// How far it is on its own side, in cells, where the distance is `phi` cells.
    fn own_side(&self, phi: Real) -> Real {
        phi * self.radius.signum()
    }

    fn has_escaped(&self, phi: Real) -> bool {
        self.own_side(phi) < -self.radius.abs()
    }
}

/// Where a liquid is: a distance and the particles that keep it right. In a box of cubes.
pub struct ParticleLevelSet<const D: usize> {
    /// In metres, negative inside.
    phi: Field<D>,
    balls: Vec<Vec<Ball<D>>>,
    leaving: Vec<Leaving<Ball<D>>>,
    /// What they carry.
    nothing: Carried,
    /// Whether there are particles at all; without them it is a plain level set, which loses what is thin.
    pub with_particles: bool,
    /// Whether strays are forgotten: drops and bubbles too small for the grid. Else they become liquid again where they meet others of their kind.
    pub forgets_strays: bool,
    /// How often it has been finished.
    steps: u64,
    /// Whether something appeared or vanished since.
    changed: bool,
    marching: FastMarching<D>,
    /// `phi-`, and `phi+` with its sign turned.
    corrected: [Field<D>; 2],
    scatter: Scatter<D>,
}

impl<const D: usize> ParticleLevelSet<D> {
    /// No liquid.
    pub fn new(grid: &Grid<D>) -> Result<Self, OutOfMemory> {
        let layout = Layout::dense(grid.cells);
        let field = || Field::on(&layout, At::Center, grid.flat_ends(1.0));
        let count = layout.tile_count();
        let mut phi = field()?;
        phi.fill(KNOWN * grid.spacing[0] as Real);
        Ok(ParticleLevelSet {
            phi,
            balls: (0..count).map(|_| Vec::new()).collect(),
            leaving: (0..count).map(|_| Vec::new()).collect(),
            nothing: Carried::default(),
            with_particles: true,
            forgets_strays: false,
            steps: 0,
            changed: true,
            marching: FastMarching::new(grid, KNOWN)?,
            corrected: [field()?, field()?],
            scatter: Scatter::new(1),
        })
    }

    /// The distance to the surface at cell centres, in metres, negative inside; ghosts filled.
    pub fn phi(&self) -> &Field<D> {
        &self.phi
    }

    /// How many particles there are.
    pub fn particles(&self) -> usize {
        self.balls.iter().map(Vec::len).sum()
    }

    /// The volume inside, in cubic metres, without what solids take of it.
    pub fn volume(&self, grid: &Grid<D>, solids: Option<&Solids<D>>) -> f64 {
        self.volume_up_to(0.0, grid, solids)
    }

    fn volume_up_to(&self, level: Real, grid: &Grid<D>, solids: Option<&Solids<D>>) -> f64 {
        let h = grid.spacing[0] as Real;
        let part = |phi: Real| f64::from((0.5 - (phi - level) / h).clamp(0.0, 1.0));
        let cells = rows::reduce(
            self.phi.layout(),
            |row| {
                let phi = self.phi.row(row).iter();
                match solids.and_then(|s| s.volumes_near(row)) {
                    None => phi.map(|phi| part(*phi)).sum::<f64>(),
                    Some(free) => phi.zip(free).map(|(phi, free)| part(*phi) * f64::from(*free)).sum(),
                }
            },
            |a, b| a + b,
        );
        cells * grid.cell_volume()
    }

    /// Liquid appears where `distance(position)` is negative: `phi = min(phi, distance)`. It is looked for in some cells, or in all.
    pub fn add(
        &mut self,
        grid: &Grid<D>,
        cells: Option<&[Range<isize>; D]>,
        distance: impl Fn([f64; D]) -> f64 + Sync + Send,
    ) {
        // A point on the surface is inside: shapes that lie side by side have no air between them.
        let slightly = 1e-4 * grid.spacing[0] as Real;
        self.combine(grid, cells, 1.0, |phi, d| phi.min(d - slightly), distance);
    }

    /// Finds distances inside again from those outside: where liquid has appeared beside other liquid or at a wall, shapes say how far it is to a side that
    /// is none.
    pub fn deepen(&mut self, grid: &Grid<D>) {
        redistance_inside(&mut self.phi, &mut self.corrected[0], grid.spacing[0] as Real, super::BAND);
    }

    /// It vanishes there: `phi = max(phi, -distance)`.
    pub fn remove(
        &mut self,
        grid: &Grid<D>,
        cells: Option<&[Range<isize>; D]>,
        distance: impl Fn([f64; D]) -> f64 + Sync + Send,
    ) {
        self.combine(grid, cells, -1.0, |phi, d| phi.max(-d), distance);
    }

    /// Particles of a side say no longer what is true: those in the shape, or that reach into it, go.
    fn combine(
        &mut self,
        grid: &Grid<D>,
        cells: Option<&[Range<isize>; D]>,
        side: Real,
        join: impl Fn(Real, Real) -> Real + Sync,
        distance: impl Fn([f64; D]) -> f64 + Sync + Send,
    ) {
        // Distances count around the shape, too.
        let reach = BAND as isize + 1;
        let near = |a: usize, i: isize| cells.is_none_or(|c| (c[a].start - reach..c[a].end + reach).contains(&i));
        self.phi.par_rows(|row, phi| {
            if !(1..D).all(|a| near(a, row.index[a])) {
                return;
            }
            let mut index = row.index;
            for (x, phi) in phi.iter_mut().enumerate() {
                index[0] = row.index[0] + x as isize;
                if near(0, index[0]) {
                    *phi = join(*phi, distance(grid.position(At::Center, index)) as Real);
                }
            }
        });
        let (layout, h) = (self.phi.layout().clone(), grid.spacing[0]);
        self.balls.par_iter_mut().enumerate().for_each(|(number, balls)| {
            let first = layout.tile(number).first;
            balls.retain(|ball| {
                let inside = (0..D).all(|a| near(a, first[a] + ball.place[a] as isize));
                let gone = |x| distance(x) < h * f64::from(ball.radius.abs());
                !(ball.radius * side > 0.0 && inside && gone(position(grid, first, ball.place)))
            });
        });
        self.changed = true;
    }

    /// Lets the liquid go along with a flow for `dt` seconds: both `phi`, along the paths that were traced last for this scheme, and particles, by the midpoint
    /// rule. Then particles that have escaped correct `phi`. Needs the ghosts of `u`.
    pub fn advance(
        &mut self,
        grid: &Grid<D>,
        u: &VectorField<D>,
        dt: f64,
        (scheme, paths): (Advection, &mut MapScratch<D>),
    ) -> Result<(), OutOfMemory> {
        carry(scheme, Isa::best(), &mut [&mut self.phi], &mut [], None, paths);
        self.phi.fill_halo();
        self.move_balls(grid, u, dt);
        self.correct(grid)
    }

    /// Makes `phi` a distance again, lets particles correct that, gives them their radii, and puts new ones where they are needed. In solids it goes on as it
    /// is beside them.
    pub fn finish(&mut self, grid: &Grid<D>, solids: Option<&mut Solids<D>>) -> Result<(), OutOfMemory> {
        let h = grid.spacing[0] as Real;
        self.marching.redistance(&mut self.phi, h);
        if self.forgets_strays {
            self.forget_bubbles(grid);
        }
        self.correct(grid)?;
        let solids = solids.map(|solids| {
            solids.continue_distances(grid, &mut self.phi, &mut self.corrected[0]);
            &*solids
        });
        if self.with_particles {
            if self.changed || self.steps.is_multiple_of(RESEED) {
                self.reseed(grid, solids);
            }
            self.fit_radii(grid);
        }
        self.steps += 1;
        self.changed = false;
        Ok(())
    }

    /// Moves the surface outwards until the volume inside is `wanted`, but by no more than `most` cells; inwards, if it is too large. Particles move along.
    /// Returns by how much the volume grew.
    pub fn swell_to(&mut self, wanted: f64, most: Real, grid: &Grid<D>, solids: Option<&Solids<D>>) -> f64 {
        let h = grid.spacing[0] as Real;
        let [less, now, more] = [-0.25, 0.0, 0.25].map(|level| self.volume_up_to(level * h, grid, solids));
        let per_cell = 2.0 * (more - less);
        if per_cell <= 0.0 || wanted == now {
            return 0.0;
        }
        let by = (((wanted - now) / per_cell) as Real).clamp(-most, most);
        self.phi.par_rows(|_, phi| phi.iter_mut().for_each(|phi| *phi -= by * h));
        self.phi.fill_halo();
        self.for_each_tile(grid, |phi, balls, _| {
            for ball in balls {
                let (_, slope) = phi.value_and_slope(ball.place);
                let size = slope.iter().map(|s| s * s).sum::<Real>().sqrt();
                if size > 0.0 {
                    (0..D).for_each(|a| ball.place[a] += by * slope[a] / size);
                }
            }
        });
        self.settle(grid);
        self.volume(grid, solids) - now
    }

    /// Calls `f(phi, balls, tile)` for each tile, in parallel: `phi` in metres around it.
    fn for_each_tile(&mut self, grid: &Grid<D>, f: impl Fn(&Patch<D>, &mut Vec<Ball<D>>, usize) + Sync + Send) {
        let (phi, layout, periodic) = (&self.phi, self.phi.layout().clone(), periodic(grid));
        self.balls.par_iter_mut().enumerate().for_each_init(Patch::default, |patch, (number, balls)| {
            if !balls.is_empty() {
                patch.copy(phi, &layout.tile(number), 1, periodic);
                f(patch, balls, number);
            }
        });
    }

    fn settle(&mut self, grid: &Grid<D>) {
        let layout = self.phi.layout().clone();
        let hold = keep_within(grid, APART);
        self.balls.par_iter_mut().enumerate().for_each(|(number, balls)| {
            let tile = layout.tile(number);
            balls.iter_mut().for_each(|ball| hold(&tile, &mut ball.place));
        });
        settle(&layout, &mut self.balls, &mut self.leaving, &mut self.nothing, periodic(grid));
    }

    fn move_balls(&mut self, grid: &Grid<D>, u: &VectorField<D>, dt: f64) {
        let cells = (dt / grid.spacing[0]) as Real;
        let fastest = u.iter().map(ops::max_abs_faces).fold(0.0, Real::max);
        let margin = (0.5 * cells.abs() * fastest).ceil() as usize + 2;
        // However fast: it stays within reach of the tile beside.
        let most = 0.5 * tile_width::<D>() as Real;
        let (layout, periodic) = (self.phi.layout().clone(), periodic(grid));
        let patches = || -> [Patch<D>; D] { std::array::from_fn(|_| Patch::default()) };
        self.balls.par_iter_mut().enumerate().filter(|(_, balls)| !balls.is_empty()).for_each_init(
            patches,
            |flow, (number, balls)| {
                let tile = layout.tile(number);
                for (patch, u) in flow.iter_mut().zip(u) {
                    patch.copy(u, &tile, margin.min(tile_width::<D>()), periodic);
                }
                for ball in balls {
                    let from = ball.place;
                    let middle: [Real; D] = std::array::from_fn(|a| from[a] + 0.5 * cells * flow[a].value(from));
                    ball.place =
                        std::array::from_fn(|a| from[a] + (cells * flow[a].value(middle)).max(-most).min(most));
                }
            },
        );
        self.settle(grid);
    }

    /// Particles that have escaped put the surface back. The nearest counts, so no order matters.
    fn correct(&mut self, grid: &Grid<D>) -> Result<(), OutOfMemory> {
        let Self { phi, balls, corrected, scatter, .. } = self;
        if balls.iter().all(Vec::is_empty) {
            return Ok(());
        }
        let [lower, upper] = corrected;
        lower.copy_all(phi);
        let values = &*phi;
        upper.relabel(values.at(), values.ends());
        upper.par_rows(|row, upper| upper.iter_mut().zip(values.row(row)).for_each(|(upper, phi)| *upper = -phi));
        let (h, periodic) = (grid.spacing[0] as Real, periodic(grid));
        scatter.least([&mut *lower, &mut *upper], |tile, windows| {
            let balls = &balls[tile.number];
            if balls.is_empty() {
                return;
            }
            let mut around = Patch::default();
            around.copy(values, &tile, 1, periodic);
            for ball in balls.iter().filter(|ball| ball.has_escaped(around.value(ball.place) / h)) {
                let window = &mut windows[usize::from(ball.radius > 0.0)];
                let first = ball.place.map(|x| (x - 0.5).floor());
                for corner in 0..1usize << D {
                    let cell: [Real; D] = std::array::from_fn(|a| first[a] + (corner >> a & 1) as Real);
                    let way = (0..D).map(|a| (cell[a] + 0.5 - ball.place[a]).powi(2)).sum::<Real>().sqrt();
                    let index = std::array::from_fn(|a| tile.first[a] + cell[a] as isize);
                    let value = window.value(index);
                    // In both windows the smaller one is nearer to its side.
                    *value = value.min(h * (way - ball.radius.abs()));
                }
            }
        })?;
        let (lower, upper) = (&*lower, &*upper);
        phi.par_rows(|row, phi| {
            for ((phi, lower), upper) in phi.iter_mut().zip(lower.row(row)).zip(upper.row(row)) {
                *phi = if upper.abs() <= lower.abs() { -upper } else { *lower };
            }
        });
        phi.fill_halo();
        Ok(())
    }

    /// Every ball touches the surface, if that is neither too near nor too far.
    fn fit_radii(&mut self, grid: &Grid<D>) {
        let per_h = (1.0 / grid.spacing[0]) as Real;
        self.for_each_tile(grid, |phi, balls, _| {
            for ball in balls {
                let away = ball.own_side(phi.value(ball.place) * per_h);
                ball.radius = away.clamp(RADII[0], RADII[1]).copysign(ball.radius);
            }
        });
    }

    /// Air that has escaped into the liquid, further than corrections of `phi` have to reach, is a bubble smaller than the grid sees: nothing in it holds the
    /// liquid back. Put back in every step it would close in every step, and liquid would be gone for good. To be called where `phi` is a distance
    /// again and not yet corrected: a particle that has corrected it is never far from the surface.
    fn forget_bubbles(&mut self, grid: &Grid<D>) {
        let per_h = (1.0 / grid.spacing[0]) as Real;
        self.for_each_tile(grid, |phi, balls, _| {
            balls.retain(|ball| ball.radius < 0.0 || ball.own_side(phi.value(ball.place) * per_h) > -BUBBLE);
        });
    }

    /// As many particles in each cell near the surface as there should be; none elsewhere but those that have escaped.
    fn reseed(&mut self, grid: &Grid<D>, solids: Option<&Solids<D>>) {
        let (phi, layout, periodic) = (&self.phi, self.phi.layout().clone(), periodic(grid));
        let (per_h, seed, forgets) = ((1.0 / grid.spacing[0]) as Real, self.steps, self.forgets_strays);
        self.balls.par_iter_mut().enumerate().for_each_init(
            || (Patch::default(), Vec::new()),
            |(patch, counts), (number, balls)| {
                let tile = layout.tile(number);
                patch.copy(phi, &tile, 1, periodic);
                let place_of = |local: [usize; D]| (0..D).rev().fold(0, |n, a| n * tile.cells[a] + local[a]);
                counts.clear();
                counts.resize(tile.cells.iter().product(), 0usize);
                balls.retain(|ball| {
                    let here = patch.value(ball.place) * per_h;
                    if ball.has_escaped(here) {
                        return !(forgets && ball.own_side(here) < -STRAY);
                    }
                    let local = std::array::from_fn(|a| (ball.place[a] as usize).min(tile.cells[a] - 1));
                    let count = &mut counts[place_of(local)];
                    *count += 1;
                    here.abs() <= BAND && *count <= PER_CELL
                });
                for cell in cells_of(&tile) {
                    let local: [usize; D] = std::array::from_fn(|a| (cell[a] - tile.first[a]) as usize);
                    let there = counts[place_of(local)];
                    let far = phi.get_signed(cell).abs() * per_h > BAND + 1.0;
                    if far || there >= PER_CELL || solids.is_some_and(|s| s.is_solid(cell)) {
                        continue;
                    }
                    for k in there..PER_CELL {
                        let random: [Real; D] = jitter(cell.into_iter().chain([k as isize]), seed);
                        let place = std::array::from_fn(|a| local[a] as Real + 0.5 + random[a]);
                        let here = patch.value(place) * per_h;
                        if here.abs() <= BAND {
                            balls.push(Ball { place, radius: RADII[0].copysign(here) });
                        }
                    }
                }
            },
        );
    }

    /// Shows the visitor all of it.
    pub fn visit_state(&mut self, visitor: &mut dyn StateVisitor) {
        visitor.integer("level_set_steps", &mut self.steps);
        self.changed = self.steps == 0;
        crate::flow::show(visitor, "level_set", &mut self.phi);
        let mut counts: Vec<u32> = self.balls.iter().map(|list| list.len() as u32).collect();
        let tiles = counts.len();
        visit_list(visitor, "balls_of_tiles", &mut counts);
        let of = |f: &dyn Fn(&Ball<D>) -> Real| -> Vec<Real> { self.balls.iter().flatten().map(f).collect() };
        let mut numbers: Vec<Vec<Real>> = (0..D).map(|a| of(&|ball| ball.place[a])).collect();
        numbers.push(of(&|ball| ball.radius));
        numbers.iter_mut().for_each(|values| visit_list(visitor, "balls", values));
        let total = counts.iter().map(|&n| n as usize).sum::<usize>();
        let somewhere = 0.0..=tile_width::<D>() as Real;
        if counts.len() != tiles
            || numbers.iter().any(|values| values.len() != total)
            || numbers[..D].iter().flatten().any(|place| !somewhere.contains(place))
            || numbers[D].iter().any(|radius| !radius.is_finite())
        {
            return visitor.refuse("the particles beside its surface are not as many as it says, or nowhere");
        }
        let mut all = (0..total).map(|i| Ball { place: std::array::from_fn(|a| numbers[a][i]), radius: numbers[D][i] });
        for (list, count) in self.balls.iter_mut().zip(counts) {
            list.clear();
            list.extend(all.by_ref().take(count as usize));
        }
    }
}

/// Which axes go on at their other end.
fn periodic<const D: usize>(grid: &Grid<D>) -> [bool; D] {
    grid.axes.map(|axis| axis == Axis::Periodic)
}
