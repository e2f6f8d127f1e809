//! The particles of a liquid, sorted for whoever looks for its surface: those that are too deep inside to be seen from there are left out.
//!
//! A cell of the grid is full if it holds about half of its particles, *inside* if all cells within reach of a kernel are full, and deep if all cells
//! within twice that are. Inside distances are as far as they go; so nobody asks for the particles of deep cells, and these are most of
//! them. (But for those beside walls, where meshes end.)

use super::bins::Bins;
use super::blocks::{BlockMap, Numbered, around, cell_at};
use super::distance::{REACH, Room};

/// Cells along each side of a block, a bit each.
const SIDE: i32 = 8;

/// Rows and columns of a window: a block, and half of one on both sides.
const WINDOW: usize = 16;
const MARGIN: i32 = 4;

/// How far kernels reach, in whole cells: twice that is the margin of a window.
const AROUND: usize = REACH.ceil() as usize;
const _: () = assert!(2 * AROUND as i32 == MARGIN);

/// Particles, for whoever looks for the surface of their liquid.
#[derive(Clone, Debug)]
pub struct Points<const D: usize> {
    pub(super) room: Room<D>,
    /// Those that matter, and those near walls behind them again.
    pub(super) bins: Bins<D>,
    /// Which of all particles each of those is.
    which: Vec<u32>,
    pub(super) cells: Cells<D>,
}

/// What is known of cells of the grid.
#[derive(Clone, Debug)]
pub(super) struct Cells<const D: usize> {
    slots: BlockMap<D>,
    /// For each block its rows along x, one bit for each cell: cells with particles, and those inside.
    occupied: Vec<u8>,
    inside: Vec<u8>,
    /// See [`between_walls`].
    within: [[i32; 2]; D],
}

impl<const D: usize> Points<D> {
    /// Sorts particles at `places`, in metres.
    pub fn new(places: &[[f32; D]], room: &Room<D>) -> Self {
        let per_cell = 1.0 / room.cell;
        let in_cells =
            |p: &[f32; D]| -> [f64; D] { std::array::from_fn(|a| (f64::from(p[a]) - room.origin[a]) * per_cell) };
        // How many there are in each cell.
        let mut found = Numbered::default();
        let mut counts: Vec<u8> = Vec::new();
        let mut keys = Vec::with_capacity(places.len());
        for p in places {
            let cell = cell_at(in_cells(p));
            let slot = found.number(cell.map(|i| i.div_euclid(SIDE)));
            if counts.len() < found.blocks.len() * Self::CELLS {
                counts.resize(2 * found.blocks.len() * Self::CELLS, 0);
            }
            let local = (0..D).rev().fold(0, |at, a| SIDE * at + cell[a].rem_euclid(SIDE));
            let key = slot * Self::CELLS as u32 + local as u32;
            counts[key as usize] = counts[key as usize].saturating_add(1);
            keys.push(key);
        }
        let Numbered { slots, blocks, .. } = found;
        counts.truncate(blocks.len() * Self::CELLS);
        // Half of those in a cell at rest, or a bit fewer: four in 2D, eight in 3D.
        let full = if D == 2 { 2 } else { 3 };
        let rows = |least: u8| -> Vec<u8> {
            let row =
                |counts: &[u8]| counts.iter().enumerate().fold(0, |bits, (x, n)| bits | u8::from(*n >= least) << x);
            counts.chunks_exact(SIDE as usize).map(row).collect()
        };
        let full = rows(full);
        let (mut inside, mut deep) = (Vec::with_capacity(full.len()), Vec::with_capacity(full.len()));
        let mut window = Window::new(room);
        for block in &blocks {
            window.open(*block, &slots, &full);
            window.shrink();
            window.middle(&mut inside);
            window.shrink();
            window.middle(&mut deep);
        }
        let is_deep = |key: u32| deep[key as usize / SIDE as usize] >> (key % SIDE as u32) & 1 == 1;
        // Meshes end at walls, and their vertices there ask for what particles carry.
        let within = between_walls(room);
        let at_wall =
            |p: &[f32; D]| cell_at(in_cells(p)).iter().zip(within).any(|(&i, [low, high])| i <= low || i >= high - 1);
        let is_kept = |i: &u32| !is_deep(keys[*i as usize]) || at_wall(&places[*i as usize]);
        let mut which: Vec<u32> = (0..places.len() as u32).filter(is_kept).collect();
        let mut kept: Vec<[f64; D]> = which.iter().map(|&i| in_cells(&places[i as usize])).collect();
        mirror(&mut kept, &mut which, room);
        Points { room: *room, bins: Bins::new(&kept), which, cells: Cells { slots, occupied: rows(1), inside, within } }
    }

    const CELLS: usize = (SIDE as usize).pow(D as u32);

    /// Which of the particles that were given one of the bins is.
    #[inline(always)]
    pub(super) fn particle(&self, sorted: usize) -> usize {
        self.which[self.bins.order[sorted] as usize] as usize
    }
}

impl<const D: usize> Cells<D> {
    const ROWS: usize = (SIDE as usize).pow(D as u32 - 1);

    /// Whether all cells within reach of a kernel in one are full. Behind a wall it is as beside it.
    pub fn is_inside(&self, mut cell: [i32; D]) -> bool {
        cell.iter_mut().zip(self.within).for_each(|(i, [low, high])| *i = (*i).clamp(low, high - 1));
        let Some(&slot) = self.slots.get(&cell.map(|i| i.div_euclid(SIDE))) else { return false };
        let row = (1..D).rev().fold(0, |at, a| SIDE * at + cell[a].rem_euclid(SIDE));
        self.inside[slot as usize * Self::ROWS + row as usize] >> cell[0].rem_euclid(SIDE) & 1 == 1
    }

    /// Calls `f` with every cell that has particles.
    pub fn for_each_occupied(&self, mut f: impl FnMut([i32; D])) {
        for (block, &slot) in &self.slots {
            for row in 0..Self::ROWS {
                let bits = self.occupied[slot as usize * Self::ROWS + row];
                for x in (0..SIDE).filter(|x| bits >> x & 1 == 1) {
                    let local = |a: usize| if a == 0 { x } else { row as i32 / SIDE.pow(a as u32 - 1) % SIDE };
                    f(std::array::from_fn(|a| SIDE * block[a] + local(a)));
                }
            }
        }
    }
}

/// Adds the places near a wall behind it again: mirrored, or those from the other end.
fn mirror<const D: usize>(places: &mut Vec<[f64; D]>, which: &mut Vec<u32>, room: &Room<D>) {
    for a in 0..D {
        let walls = room.walls_in_cells(a);
        let count = places.len();
        for (n, side) in [1.0, -1.0].into_iter().enumerate() {
            let Some(wall) = walls[n] else { continue };
            let behind = if room.periodic[a] { walls[1 - n] } else { None };
            for i in 0..count {
                let away = side * (places[i][a] - wall);
                if (0.0..REACH).contains(&away) {
                    let mut image = places[i];
                    image[a] = behind.map_or(wall - side * away, |other| other + side * away);
                    places.push(image);
                    which.push(which[i]);
                }
            }
        }
    }
}

/// Along each axis the first cell that is not behind the lower wall, and the first that is behind the upper one. Where the room repeats itself nothing
/// is known of what is behind its ends, so nothing near them is left out.
fn between_walls<const D: usize>(room: &Room<D>) -> [[i32; 2]; D] {
    std::array::from_fn(|a| {
        let [low, high] = if room.periodic[a] { [None; 2] } else { room.walls_in_cells(a) };
        // What a wall cuts is not behind it.
        [low.map_or(i32::MIN, |x| (x + 1e-6).floor() as i32), high.map_or(i32::MAX, |x| (x - 1e-6).ceil() as i32)]
    })
}

/// The rows of a block and around it, a bit for each cell.
struct Window<const D: usize> {
    rows: Vec<u16>,
    /// See [`between_walls`].
    within: [[i32; 2]; D],
}

impl<const D: usize> Window<D> {
    fn new(room: &Room<D>) -> Self {
        Window { rows: vec![0; WINDOW.pow(D as u32 - 1)], within: between_walls(room) }
    }

    /// Where row `r` is from the block's first one, along axis `a`.
    fn offset(r: usize, a: usize) -> i32 {
        (r / WINDOW.pow(a as u32 - 1) % WINDOW) as i32 - MARGIN
    }

    /// Looks at a block. Behind walls all is full: there is no surface.
    fn open(&mut self, block: [i32; D], slots: &BlockMap<D>, full: &[u8]) {
        let slots: Vec<Option<u32>> = around(block).map(|b| slots.get(&b).copied()).collect();
        let behind = |a: usize, cell: i32| cell < self.within[a][0] || cell >= self.within[a][1];
        let x_behind =
            (0..WINDOW as i32).fold(0, |bits, x| bits | u16::from(behind(0, SIDE * block[0] + x - MARGIN)) << x);
        for r in 0..self.rows.len() {
            if (1..D).any(|a| behind(a, SIDE * block[a] + Self::offset(r, a))) {
                self.rows[r] = u16::MAX;
                continue;
            }
            let (mut beside, mut row) = (0, 0);
            for a in (1..D).rev() {
                let at = Self::offset(r, a);
                beside = 3 * beside + (at.div_euclid(SIDE) + 1) as usize;
                row = SIDE as usize * row + at.rem_euclid(SIDE) as usize;
            }
            let bits = (0..3).fold(0u32, |bits, x| {
                let here = slots[3 * beside + x].map_or(0, |slot| full[slot as usize * Cells::<D>::ROWS + row]);
                bits | u32::from(here) << (SIDE as usize * x)
            });
            self.rows[r] = (bits >> MARGIN) as u16 | x_behind;
        }
    }

    /// Keeps cells all around which were kept, as far as kernels reach. (What lies beyond the window counts as kept: the middle of it is right twice.)
    fn shrink(&mut self) {
        for row in &mut self.rows {
            let bits = *row;
            *row = (1..=AROUND)
                .fold(bits, |kept, by| kept & (bits >> by | !(u16::MAX >> by)) & (bits << by | !(u16::MAX << by)));
        }
        for a in 1..D {
            let stride = WINDOW.pow(a as u32 - 1);
            let before = self.rows.clone();
            for (r, row) in self.rows.iter_mut().enumerate() {
                let at = r / stride % WINDOW;
                for by in 1..=AROUND {
                    *row &= if at >= by { before[r - by * stride] } else { u16::MAX };
                    *row &= if at + by < WINDOW { before[r + by * stride] } else { u16::MAX };
                }
            }
        }
    }

    /// The rows of the block itself.
    fn middle(&self, out: &mut Vec<u8>) {
        let own = |r: &usize| (1..D).all(|a| (0..SIDE).contains(&Self::offset(*r, a)));
        out.extend((0..self.rows.len()).filter(own).map(|r| (self.rows[r] >> MARGIN) as u8));
    }
}
