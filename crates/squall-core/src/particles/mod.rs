//! Particles that carry a liquid, kept by tiles.
//!
//! Every tile ([`mod@crate::tiles`]) has a list of its own particles, with places counted from its lower corner: a splash far from the
//! origin is as exact as one beside it, and what a tile does with its particles depends on no other. After a move, those that have
//! left a tile are handed to the tiles beside in a fixed order, so that lists are the same for any number of threads.
//!
//! | file | what it holds |
//! |---|---|
//! | `seed` | particles that fill a shape |
//! | `transfer` | momentum from particles to faces and back (APIC), and moving them |
//! | `carried` | what particles carry besides: inks, heat |
//! | `strain` | how elastic matter around them is deformed |
//! | `patch` | values around one tile, to be sampled |
//! | `spread` | those that are too close move apart |
//! | `eight` | eight of them at once |
//! | `faces` | velocities around one tile, as particles read them |
//! | `follow` | going over to other tiles |
//! | `walls` | what keeps them in the box |

mod carried;
mod eight;
mod faces;
mod follow;
mod patch;
mod seed;
mod spread;
mod strain;
mod transfer;
mod walls;

pub(crate) use carried::{Carried, Found, SPREAD, continue_beyond};
pub(crate) use patch::Patch;
pub(crate) use seed::{Cells, cells_of, jitter, lattice_point, position};
pub(crate) use strain::{Deformation, Slopes, components, edge_at};
pub(crate) use transfer::BackTracer;
pub use transfer::Blend;
pub(crate) use transfer::cell_of;
pub(crate) use walls::{keep_within, within};

use crate::Real;
use crate::field::Field;
use crate::layout::{Layout, tile_width};
use crate::sample::Isa;
use crate::sim::StateVisitor;
use crate::threads::{self, prelude::*};
use crate::tiles::Tile;
use crate::visit::visit_list;

/// A particle: a piece of liquid. 64 bytes in 3D.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Particle<const D: usize> {
    /// Where it is, in cells from the lower corner of its tile.
    pub place: [Real; D],
    /// Its velocity, in metres per second.
    pub velocity: [Real; D],
    /// How each component of the velocity changes along each axis, in metres per second over a cell.
    pub slope: [[Real; D]; D],
    /// A number that it keeps for life.
    pub id: u32,
}

/// All particles of a simulation.
#[derive(Debug)]
pub struct Particles<const D: usize> {
    /// The instruction set that kernels run on; all give the same bits.
    isa: Isa,
    layout: Layout<D>,
    /// By tiles.
    tiles: Vec<Vec<Particle<D>>>,
    leaving: Vec<Leaving<Particle<D>>>,
    /// What they carry besides.
    carried: Carried,
    next_id: u32,
}

impl<const D: usize> Particles<D> {
    /// None yet, on a layout, for kernels of an instruction set: all give the same bits.
    pub fn new(layout: &Layout<D>, isa: Isa) -> Self {
        let count = layout.tile_count();
        let numbers = || (0..count).map(|_| Vec::new()).collect();
        Particles {
            isa,
            layout: layout.clone(),
            tiles: (0..count).map(|_| Vec::new()).collect(),
            leaving: (0..count).map(|_| Vec::new()).collect(),
            carried: Carried { tiles: numbers(), leaving: numbers(), ..Default::default() },
            next_id: 0,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.tiles.iter().map(Vec::len).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tiles.iter().all(Vec::is_empty)
    }

    /// Where its tiles are.
    pub(crate) fn layout(&self) -> &Layout<D> {
        &self.layout
    }

    /// The particles of a tile.
    pub fn of_tile(&self, number: usize) -> &[Particle<D>] {
        &self.tiles[number]
    }

    /// All particles with their tiles' first cells, in the order of the tiles.
    pub fn iter(&self) -> impl Iterator<Item = ([isize; D], &Particle<D>)> {
        self.tiles.iter().enumerate().flat_map(|(number, list)| {
            let first = self.layout.tile(number).first;
            list.iter().map(move |p| (first, p))
        })
    }

    /// Changes every particle, tile by tile, in parallel.
    pub(crate) fn for_each_tile(&mut self, f: impl Fn(usize, &mut [Particle<D>]) + Sync + Send) {
        self.tiles.par_iter_mut().enumerate().for_each(|(number, list)| f(number, list));
    }

    /// Adds particles at places within cells. `begin(place, carried)` fills in what one carries, and gives its velocity. Those where no cell is
    /// are left out; returns how many were added.
    pub fn extend(
        &mut self,
        places: impl IntoIterator<Item = ([isize; D], [Real; D])>,
        mut begin: impl FnMut([isize; D], [Real; D], &mut [Real]) -> [Real; D],
    ) -> usize {
        let (mut added, each) = (0, self.carried.each);
        for (cell, within) in places {
            let Some(number) = self.layout.tile_of(cell) else { continue };
            let first = self.layout.tile(number).first;
            let place = std::array::from_fn(|a| (cell[a] - first[a]) as Real + within[a]);
            let id = self.next_id;
            self.next_id = self.next_id.wrapping_add(1);
            let numbers = &mut self.carried.tiles[number];
            let old = numbers.len();
            numbers.resize(old + each, 0.0);
            let velocity = begin(cell, within, &mut numbers[old..]);
            make_room_for_one(&mut self.tiles[number]);
            self.tiles[number].push(Particle { place, velocity, slope: [[0.0; D]; D], id });
            added += 1;
        }
        added
    }

    /// Adds particles at places within cells, of which `begin(tile, place)` tells the velocity and how it changes around them.
    pub(crate) fn extend_with_slopes(
        &mut self,
        places: impl IntoIterator<Item = ([isize; D], [Real; D])>,
        mut begin: impl FnMut(&Tile<D>, [Real; D]) -> ([Real; D], [[Real; D]; D]),
    ) {
        assert_eq!(self.carried.each, 0, "particles that carry nothing");
        for (cell, within) in places {
            let Some(number) = self.layout.tile_of(cell) else { continue };
            let tile = self.layout.tile(number);
            let place = std::array::from_fn(|a| (cell[a] - tile.first[a]) as Real + within[a]);
            let id = self.next_id;
            self.next_id = self.next_id.wrapping_add(1);
            let (velocity, slope) = begin(&tile, place);
            make_room_for_one(&mut self.tiles[number]);
            self.tiles[number].push(Particle { place, velocity, slope, id });
        }
    }

    /// Removes those in cells where a field is above zero; returns how many.
    pub(crate) fn remove_where(&mut self, field: &Field<D>) -> usize {
        assert_eq!(self.carried.each, 0, "particles that carry nothing");
        let (layout, before) = (&self.layout, self.len());
        let tiles = self.tiles.par_iter_mut().enumerate().filter(|(_, list)| !list.is_empty());
        tiles.for_each_init(Patch::default, |patch, (number, list)| {
            let tile = layout.tile(number);
            patch.copy(field, &tile, 0, [false; D]);
            if patch.values().iter().any(|v| *v > 0.0) {
                list.retain(|p| patch.values()[cell_of(p.place, tile.cells)] <= 0.0);
            }
        });
        before - self.len()
    }

    /// Gives memory back that is not needed for the particles that there are.
    pub(crate) fn give_back(&mut self) {
        self.tiles.iter_mut().for_each(|list| list.shrink_to(list.len() + list.len() / 8));
    }

    /// Gives particles that have moved to the tiles where they now are: at most one tile away. Those where no cell is leave the
    /// liquid; returns how many did. `periodic` axes come back at the other end.
    pub fn settle(&mut self, periodic: [bool; D]) -> usize {
        settle(&self.layout, &mut self.tiles, &mut self.leaving, &mut self.carried, periodic)
    }

    /// Kinetic energy and momentum, if each has this mass.
    pub fn energy_and_momentum(&self, mass: f64) -> (f64, [f64; D]) {
        let (squares, sum) = sums(&self.tiles);
        (0.5 * mass * squares, sum.map(|v| mass * v))
    }

    /// Shows the visitor all of it.
    pub fn visit_state(&mut self, visitor: &mut dyn StateVisitor) {
        let mut next = u64::from(self.next_id);
        visitor.integer("next_particle", &mut next);
        self.next_id = next as u32;
        let mut counts: Vec<u32> = self.tiles.iter().map(|list| list.len() as u32).collect();
        let tiles = counts.len();
        visit_list(visitor, "particles_of_tiles", &mut counts);
        let mut ids: Vec<u32> = self.tiles.iter().flatten().map(|p| p.id).collect();
        visit_list(visitor, "particle_ids", &mut ids);
        let of = |f: &dyn Fn(&Particle<D>) -> Real| -> Vec<Real> { self.tiles.iter().flatten().map(f).collect() };
        let mut numbers: Vec<Vec<Real>> = Vec::new();
        for a in 0..D {
            numbers.push(of(&|p| p.place[a]));
            numbers.push(of(&|p| p.velocity[a]));
            (0..D).for_each(|b| numbers.push(of(&|p| p.slope[a][b])));
        }
        numbers.iter_mut().for_each(|values| visit_list(visitor, "particles", values));
        let total = counts.iter().map(|&n| n as usize).sum::<usize>();
        let whole = counts.len() == tiles && ids.len() == total && numbers.iter().all(|values| values.len() == total);
        if !whole || numbers.iter().flatten().any(|v| !v.is_finite()) {
            return visitor.refuse("its particles are not as many as it says, or nowhere");
        }
        let mut next = 0;
        for (list, count) in self.tiles.iter_mut().zip(counts) {
            list.clear();
            list.extend((next..next + count as usize).map(|i| {
                let column = |a: usize, k: usize| numbers[a * (D + 2) + k][i];
                Particle {
                    place: std::array::from_fn(|a| column(a, 0)),
                    velocity: std::array::from_fn(|a| column(a, 1)),
                    slope: std::array::from_fn(|a| std::array::from_fn(|b| column(a, 2 + b))),
                    id: ids[i],
                }
            }));
            next += count as usize;
        }
        if !self.visit_carried(visitor, total) {
            visitor.refuse("its particles do not carry what they should");
        }
    }
}

/// The sums of the squares of velocities and of velocities, in parallel, in an order that depends on nothing but the tiles.
fn sums<const D: usize>(tiles: &[Vec<Particle<D>>]) -> (f64, [f64; D]) {
    if tiles.len() > 1 {
        let (low, high) = tiles.split_at(tiles.len() / 2);
        let (low, high) = threads::join(|| sums(low), || sums(high));
        return (low.0 + high.0, std::array::from_fn(|a| low.1[a] + high.1[a]));
    }
    let (mut squares, mut sum) = (0.0, [0.0; D]);
    for p in tiles.iter().flatten() {
        for a in 0..D {
            let v = f64::from(p.velocity[a]);
            squares += v * v;
            sum[a] += v;
        }
    }
    (squares, sum)
}

/// What has a place, in cells from the lower corner of its tile.
pub(crate) trait Placed<const D: usize>: Copy + Send + Sync {
    fn place(&mut self) -> &mut [Real; D];
}

impl<const D: usize> Placed<D> for Particle<D> {
    fn place(&mut self) -> &mut [Real; D] {
        &mut self.place
    }
}

/// Lists of particles grow by an eighth: twice as much would be most of the memory of a liquid.
fn make_room_for_one<P>(list: &mut Vec<P>) {
    if list.len() == list.capacity() {
        list.reserve_exact(list.len() / 8 + 16);
    }
}

/// Those that leave a tile, with the way to the one that they go to; `None` leaves the grid.
pub(crate) type Leaving<P> = Vec<(Option<u8>, P)>;

/// Hands what has moved to the tiles where it now is ([`Particles::settle`]).
pub(crate) fn settle<const D: usize, P: Placed<D>>(
    layout: &Layout<D>,
    tiles: &mut [Vec<P>],
    leaving: &mut [Leaving<P>],
    carried: &mut Carried,
    periodic: [bool; D],
) -> usize {
    let each = carried.each;
    carried.tiles.resize_with(tiles.len(), Vec::new);
    carried.leaving.resize_with(tiles.len(), Vec::new);
    let numbers = carried.tiles.par_iter_mut().zip(carried.leaving.par_iter_mut());
    let lists = tiles.par_iter_mut().zip(leaving.par_iter_mut());
    lists.zip(numbers).enumerate().for_each(|(number, ((list, leaving), (carried, taken)))| {
        let tile = layout.tile(number);
        leaving.clear();
        taken.clear();
        let mut i = 0;
        while i < list.len() {
            let place = *list[i].place();
            if (0..D).all(|a| place[a] >= 0.0 && place[a] < tile.cells[a] as Real) {
                i += 1;
                continue;
            }
            // The last one takes its place: an order like any other, as long as it is always the same.
            let mut p = list.swap_remove(i);
            leaving.push((step(layout, &tile, periodic, p.place()), p));
            carried::swap_remove(carried, i, each, taken);
        }
    });
    let (leaving, taken) = (&*leaving, &carried.leaving);
    tiles.par_iter_mut().zip(carried.tiles.par_iter_mut()).enumerate().for_each(|(number, (list, carried))| {
        for code in 0..3u8.pow(D as u32) {
            let Some(from) = source(layout, number, code, periodic) else { continue };
            for (i, (_, p)) in leaving[from].iter().enumerate().filter(|(_, (way, _))| *way == Some(code)) {
                make_room_for_one(list);
                list.push(*p);
                carried.extend_from_slice(&taken[from][i * each..][..each]);
            }
        }
    });
    leaving.iter().flatten().filter(|(way, _)| way.is_none()).count()
}

/// The way from a tile to the one where a place is, and the place as seen from there. The code has a digit for each axis: 0 for those
/// that go down, 1 for those that stay, 2 for those that go up; `None` behind a side.
fn step<const D: usize>(layout: &Layout<D>, tile: &Tile<D>, periodic: [bool; D], place: &mut [Real; D]) -> Option<u8> {
    let (mut code, from) = (0, *place);
    for a in (0..D).rev() {
        let up = place[a] >= tile.cells[a] as Real;
        let digit = if place[a] < 0.0 { 0 } else { 1 + u8::from(up) };
        code = 3 * code + digit;
        if digit == 1 {
            continue;
        }
        let size = size_along(layout, neighbour(layout, tile, a, up, periodic[a])?, a) as Real;
        // A place a rounding below 0 must not become the whole width.
        place[a] = if up { place[a] - tile.cells[a] as Real } else { (place[a] + size).min(size.next_down()) };
        if !(0.0..size).contains(&place[a]) {
            return None;
        }
    }
    let first = beside(tile, code);
    if layout.as_tiles().is_none() || layout.tile_of(first).is_some() {
        return Some(code);
    }
    if (0..D).any(|a| first[a] < layout.begin(a) || first[a] >= layout.end(a)) {
        return None;
    }
    // Tiles are made further away than particles go; what is faster than anybody knew waits for them.
    *place = std::array::from_fn(|a| from[a].clamp(0.0, (tile.cells[a] as Real).next_down()));
    Some(3u8.pow(D as u32) / 2)
}

/// The first cell of the tile on the way that a code says; not at the ends of a box.
fn beside<const D: usize>(tile: &Tile<D>, code: u8) -> [isize; D] {
    let mut rest = code;
    std::array::from_fn(|a| {
        let step = isize::from(rest % 3) - 1;
        rest /= 3;
        tile.first[a] + step * tile_width::<D>() as isize
    })
}

/// The tile that particles with this code come from to tile `number`.
fn source<const D: usize>(layout: &Layout<D>, number: usize, code: u8, periodic: [bool; D]) -> Option<usize> {
    let tile = layout.tile(number);
    let mut cell = tile.first;
    let mut rest = code;
    for a in 0..D {
        match rest % 3 {
            // Who went down comes from above.
            0 => cell[a] = neighbour(layout, &tile, a, true, periodic[a])?,
            2 => cell[a] = neighbour(layout, &tile, a, false, periodic[a])?,
            _ => {}
        }
        rest /= 3;
    }
    layout.tile_of(cell)
}

/// The first cell, along an axis, of the tile beside another; `None` behind the end of a box.
fn neighbour<const D: usize>(layout: &Layout<D>, tile: &Tile<D>, a: usize, up: bool, periodic: bool) -> Option<isize> {
    let width = tile_width::<D>() as isize;
    let first = if up { tile.first[a] + tile.cells[a] as isize } else { tile.first[a] - width };
    if layout.as_tiles().is_some() {
        return Some(first);
    }
    let n = layout.cells()[a] as isize;
    match (0..n).contains(&first) {
        true => Some(first),
        false => periodic.then_some(if up { 0 } else { (n - 1) / width * width }),
    }
}

/// How many cells the tile that begins at a cell has along an axis.
fn size_along<const D: usize>(layout: &Layout<D>, first: isize, a: usize) -> usize {
    let width = tile_width::<D>();
    if layout.as_tiles().is_some() { width } else { (layout.cells()[a] - first as usize).min(width) }
}
