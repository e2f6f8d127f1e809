//! Some fields of a simulation at one moment, whatever its dimension and layout: to be added up, compared and put back.

use crate::threads::prelude::*;

use crate::Real;
use crate::field::Field;
use crate::grid::At;
use crate::layout::Layout;
use crate::sim::StateVisitor;

/// Values that a task handles.
const BLOCK: usize = 1 << 14;

/// Fields as they were. Values are differences from what is far away, so that a tile that is not there holds zeros.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Which tiles there are, in the order of storage; empty in a box. In 2D the third coordinate is 0.
    tiles: Vec<[i32; 3]>,
    /// One value per place of each field, tile after tile.
    fields: Vec<Vec<f32>>,
}

impl Snapshot {
    /// A snapshot of some fields on one layout, each with its value far away.
    pub fn of<'a, const D: usize>(layout: &Layout<D>, fields: impl Iterator<Item = (&'a Field<D>, Real)>) -> Self {
        let tiles = layout.as_tiles().map_or(&[][..], |t| t.coords());
        let tiles = tiles.iter().map(|c| std::array::from_fn(|a| if a < D { c[a] } else { 0 })).collect();
        Snapshot { tiles, fields: fields.map(|(field, away)| saved(field, away)).collect() }
    }

    /// Puts a field back: on tiles that were not there it holds what is far away.
    pub fn restore<const D: usize>(&self, number: usize, field: &mut Field<D>, away: Real) {
        let values = &self.fields[number];
        let Some(tiles) = field.layout().as_tiles() else {
            if field.at() == At::Center {
                field.par_rows_with(values, |out, v| *out = away + v);
            } else {
                // Last faces lie behind the cells.
                let data = field.data_mut().par_chunks_mut(BLOCK).zip(values.par_chunks(BLOCK));
                data.for_each(|(out, v)| out.iter_mut().zip(v).for_each(|(out, v)| *out = away + v));
            }
            field.fill_halo();
            return;
        };
        let places: Vec<_> = tiles.coords().iter().map(|c| self.find(c)).collect();
        let (layout, rows, n) = (field.layout().clone(), field.layout().rows_per_part(), field.cells()[0]);
        let tile = rows * n;
        field.par_rows(|row, out| {
            let r = layout.row_number(row);
            match places[r / rows] {
                Some(t) => {
                    let from = t * tile + r % rows * n;
                    out.iter_mut().zip(&values[from..from + n]).for_each(|(out, v)| *out = away + v);
                }
                None => out.fill(away),
            }
        });
        field.fill_halo();
    }

    /// The places of its tiles; `None` in a box.
    pub fn tiles<const D: usize>(&self) -> Option<Vec<[i32; D]>> {
        let coords = self.tiles.iter().map(|c| std::array::from_fn(|a| c[a]));
        (!self.tiles.is_empty()).then(|| coords.collect())
    }

    fn find(&self, coords: &[i32]) -> Option<usize> {
        let coords = std::array::from_fn(|a| coords.get(a).copied().unwrap_or(0));
        self.tiles.binary_search_by_key(&order(&coords), order).ok()
    }

    /// The values of each field.
    pub fn fields_mut(&mut self) -> impl Iterator<Item = &mut Vec<f32>> {
        self.fields.iter_mut()
    }

    /// The values of each field.
    pub fn fields(&self) -> impl Iterator<Item = &[f32]> {
        self.fields.iter().map(Vec::as_slice)
    }

    /// `self = p self + q other`, on all tiles that either has.
    pub fn mix(&mut self, p: f64, other: &Snapshot, q: f64) {
        let (p, q) = (p as f32, q as f32);
        if self.fields.is_empty() {
            self.clone_from(other);
            return self.fields.iter_mut().flatten().for_each(|v| *v *= q);
        }
        if self.tiles != other.tiles {
            self.spread_over(&other.tiles);
        }
        let whole = self.tiles == other.tiles;
        let places: Vec<_> = self.tiles.iter().map(|c| other.find(c)).collect();
        for (mine, theirs) in self.fields.iter_mut().zip(&other.fields) {
            let tile = if whole { BLOCK } else { mine.len() / places.len().max(1) };
            mine.par_chunks_mut(tile).enumerate().for_each(|(t, mine)| {
                let from = if whole { Some(t) } else { places[t] };
                match from {
                    Some(o) => {
                        let theirs = &theirs[o * tile..][..mine.len()];
                        mine.iter_mut().zip(theirs).for_each(|(a, b)| *a = p * *a + q * b);
                    }
                    None => mine.iter_mut().for_each(|a| *a *= p),
                }
            });
        }
    }

    /// Adds empty tiles where others have some.
    fn spread_over(&mut self, others: &[[i32; 3]]) {
        let mut all: Vec<[i32; 3]> = self.tiles.iter().chain(others).copied().collect();
        all.sort_unstable_by_key(order);
        all.dedup();
        for field in &mut self.fields {
            let tile = field.len() / self.tiles.len();
            let mut wide = vec![0.0; all.len() * tile];
            for (t, c) in self.tiles.iter().enumerate() {
                let to = all.binary_search_by_key(&order(c), order).expect("all tiles are among all tiles");
                wide[to * tile..][..tile].copy_from_slice(&field[t * tile..][..tile]);
            }
            *field = wide;
        }
        self.tiles = all;
    }

    /// The sum of squares of all values, in a fixed order.
    pub fn square(&self) -> f64 {
        self.fields.iter().map(|field| square(field)).sum()
    }

    /// The root of the sum of squared differences.
    pub fn distance(&self, other: &Snapshot) -> f64 {
        self.distances(other).iter().map(|d| d * d).sum::<f64>().sqrt()
    }

    /// The same for each field.
    pub fn distances(&self, other: &Snapshot) -> Vec<f64> {
        let mut difference = self.clone();
        difference.mix(1.0, other, -1.0);
        difference.fields.iter().map(|field| square(field).sqrt()).collect()
    }

    /// Shows everything to a visitor that may write it, too: lengths first.
    pub fn visit_state(&mut self, visitor: &mut dyn StateVisitor) {
        let mut tiles = self.tiles.len() as u64;
        visitor.length("snapshot.tiles", &mut tiles, 3);
        // Coordinates are below 2^20: single precision holds them exactly.
        let mut coords: Vec<f32> = self.tiles.iter().flatten().map(|&c| c as f32).collect();
        coords.resize(3 * tiles as usize, 0.0);
        visitor.array("snapshot.coords", &mut coords);
        self.tiles = coords.chunks_exact(3).map(|c| std::array::from_fn(|a| c[a] as i32)).collect();
        let mut fields = self.fields.len() as u64;
        visitor.parts("snapshot.fields", &mut fields);
        self.fields.resize(fields as usize, Vec::new());
        for field in &mut self.fields {
            let mut values = field.len() as u64;
            visitor.length("snapshot.values", &mut values, 1);
            field.resize(values as usize, 0.0);
            visitor.array("snapshot.field", field);
        }
    }
}

fn square(field: &[f32]) -> f64 {
    let sums: Vec<f64> = field.par_chunks(BLOCK).map(|c| c.iter().map(|v| f64::from(v * v)).sum()).collect();
    sums.iter().sum()
}

/// Tiles are stored in this order.
fn order(coords: &[i32; 3]) -> [i32; 3] {
    [coords[2], coords[1], coords[0]]
}

fn saved<const D: usize>(field: &Field<D>, away: Real) -> Vec<f32> {
    let mut out = Vec::new();
    if field.layout().as_tiles().is_none() && field.at() != At::Center {
        out.extend_from_slice(&field.data);
    } else {
        field.copy_to(&mut out);
    }
    if away != 0.0 {
        out.iter_mut().for_each(|v| *v -= away);
    }
    out
}

impl<const D: usize> Field<D> {
    /// Calls `f` with every value and the one of `values` that has its place, x fastest.
    fn par_rows_with(&mut self, values: &[f32], f: impl Fn(&mut Real, Real) + Sync) {
        let (layout, n) = (self.layout().clone(), self.cells()[0]);
        self.par_rows(|row, out| {
            let from = layout.row_number(row) * n;
            out.iter_mut().zip(&values[from..from + n]).for_each(|(out, v)| f(out, *v));
        });
    }
}
