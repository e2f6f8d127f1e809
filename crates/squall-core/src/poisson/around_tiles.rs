//! `lap f = r` in free space, where `r` is zero except on some tiles.
//!
//! Nothing bounds such a solution at the rim of the tiles, so it need not be looked for on them, ragged as they are: in the box
//! around them transforms find it exactly, if somebody says what it is on the sides of the box. Sides of the grid that the
//! box touches are sides like those of any box.
//!
//! The box has more cells than the tiles, so this pays only where they fill enough of it.

use super::spectral::residual;
use super::{Domain, PoissonSolver, Spectral, Symbol, Unsuitable};
use crate::Real;
use crate::field::{Field, OutOfMemory};
use crate::grid::{At, End, Ends};
use crate::layout::{Layout, Row, tile_width};
use crate::ops::each;
use crate::report::SolveReport;
use crate::sample::Isa;

/// Tiles must fill at least one part in so many of the box. A solve takes about 15 ns for each cell of the box, and multigrid 55 for
/// each cell of the tiles.
const PARTS: u64 = 3;

/// No tile is there.
const NONE: u32 = u32::MAX;

/// The box around some tiles. As a [`PoissonSolver`] it takes the sides of the box for zero.
pub struct AroundTiles<const D: usize> {
    tiles: Layout<D>,
    spacing: f64,
    /// The first tile of the box, and how many there are along each axis.
    first: [i32; D],
    count: [usize; D],
    /// The number of the tile at each place of the box, x fastest.
    numbers: Vec<u32>,
    /// Which sides of the box are no sides of the grid.
    free: [[bool; 2]; D],
    /// The right side, then the solution.
    values: Field<D>,
    spectral: Spectral<D>,
}

impl<const D: usize> AroundTiles<D> {
    /// `None` if the tiles fill too little of the box. Depends on nothing but the tiles.
    pub fn new(layout: &Layout<D>, spacing: f64, ends: [Ends; D], isa: Isa) -> Result<Option<Self>, OutOfMemory> {
        let tiles = layout.as_tiles().expect("a box around tiles");
        let (coords, bounds) = (tiles.coords(), tiles.bounds());
        let first: [i32; D] = each(|a| coords.iter().map(|c| c[a]).min().expect("at least one tile"));
        let end: [i32; D] = each(|a| coords.iter().map(|c| c[a] + 1).max().expect("at least one tile"));
        let count: [usize; D] = each(|a| (end[a] - first[a]) as usize);
        let places = count.iter().fold(1u64, |places, &n| places.saturating_mul(n as u64));
        if places > PARTS * coords.len() as u64 {
            return Ok(None);
        }
        let mut numbers = vec![NONE; places as usize];
        for (t, c) in coords.iter().enumerate() {
            numbers[(0..D).rev().fold(0, |n, a| n * count[a] + (c[a] - first[a]) as usize)] = t as u32;
        }
        let free = each(|a| [bounds[a][0] != Some(first[a]), bounds[a][1] != Some(end[a])]);
        let ends = each(|a| {
            let pair = ends[a].pair().expect("no axis beside an unbounded one is periodic");
            Ends::of(each(|side| if free[a][side] { End::Value(0.0) } else { pair[side] }))
        });
        let cells = count.map(|n| n * tile_width::<D>());
        let values = Field::new(cells, At::Center, ends)?;
        let spectral = Spectral::with_isa(cells, [spacing; D], ends, isa);
        Ok(Some(AroundTiles { tiles: layout.clone(), spacing, first, count, numbers, free, values, spectral }))
    }

    /// The tiles of the box that lie along its sides, but for sides of the grid: the axis, whether it is the upper side, and the
    /// coordinates of the tile, which need not exist.
    pub fn along_sides(&self) -> impl Iterator<Item = (usize, bool, [i32; D])> {
        let sides = (0..2 * D).map(|k| (k / 2, k % 2 == 1)).filter(|&(a, upper)| self.free[a][upper as usize]);
        sides.flat_map(move |(a, upper)| {
            let layer = if upper { self.count[a] - 1 } else { 0 };
            let place = move |n: usize| -> [usize; D] {
                let mut rest = n;
                each(|b| {
                    let i = rest % self.count[b];
                    rest /= self.count[b];
                    i
                })
            };
            let on_side = (0..self.numbers.len()).map(place).filter(move |p| p[a] == layer);
            on_side.map(move |p| (a, upper, each(|b| self.first[b] + p[b] as i32)))
        })
    }

    /// Sets the right side in each row of the tiles, and zero beside them.
    pub fn set(&mut self, f: impl Fn(Row<'_, D>, &mut [Real]) + Sync) {
        let AroundTiles { tiles, count, numbers, .. } = self;
        let width = tile_width::<D>();
        self.values.par_rows(|row, out| {
            let among = |parts: [usize; D]| (1..D).rev().fold(0, |n, a| n * parts[a] + row.index[a] as usize / width);
            let line = count[0] * among(*count);
            let local = (1..D).rev().fold(0, |n, a| n * width + row.index[a] as usize % width);
            for (out, &number) in out.chunks_exact_mut(width).zip(&numbers[line..]) {
                match number {
                    NONE => out.fill(0.0),
                    t => f(tiles.row(t as usize * tiles.rows_per_part() + local), out),
                }
            }
        });
    }

    /// Prescribes the value on the face of a cell that lies on a side of the box.
    pub fn prescribe(&mut self, cell: [isize; D], value: Real) {
        let at = self.values.layout().offset(self.place(cell));
        // The ghost behind the face is `2 value - f`.
        self.values.data_mut()[at] -= 2.0 * value / (self.spacing * self.spacing) as Real;
    }

    /// Makes the right side the solution.
    pub fn solve(&mut self) {
        self.spectral.apply(&mut self.values, Symbol::InverseLaplacian);
    }

    /// What the box holds in a row of the tiles.
    #[inline(always)]
    pub fn row(&self, row: Row<'_, D>) -> &[Real] {
        let start = self.values.layout().offset(self.place(row.index));
        &self.values.data[start..start + const { tile_width::<D>() }]
    }

    /// Counted from the first cell of the box.
    #[inline(always)]
    fn place(&self, cell: [isize; D]) -> [isize; D] {
        each(|a| cell[a] - self.first[a] as isize * tile_width::<D>() as isize)
    }
}

impl<const D: usize> PoissonSolver<D> for AroundTiles<D> {
    fn improve(&mut self, rhs: &mut Field<D>, q: &mut Field<D>, _tolerance: f64) -> SolveReport {
        self.set(|row, out| out.copy_from_slice(rhs.row(row)));
        let right = self.values.clone();
        AroundTiles::solve(self);
        q.par_rows(|row, q| q.copy_from_slice(self.row(row)));
        self.values.fill_halo();
        let [rest, size] = residual(&right, &self.values, [self.spacing; D], 0.0);
        SolveReport::of_direct(size, rest, 0.0, self.tiles.cell_count())
    }

    fn set(&mut self, domain: Domain<'_, D>) -> Result<(), Unsuitable> {
        if domain.open.is_some() || domain.state.is_some() {
            return Err(Unsuitable { solver: self.describe() });
        }
        Ok(())
    }

    fn around_tiles(&mut self) -> Option<&mut AroundTiles<D>> {
        Some(self)
    }

    fn describe(&self) -> String {
        let cells = self.values.cells().map(|n| n.to_string()).join(" x ");
        format!("{} in the box of {cells} cells around the tiles", self.spectral.describe())
    }
}
