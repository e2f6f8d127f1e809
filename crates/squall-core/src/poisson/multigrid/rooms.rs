//! Closed rooms: connected sets of unknowns that nothing holds.
//!
//! If every face of every cell in a set is closed or leads to another cell of the set, the pressure there is known up to a
//! constant only, and a solution exists only if the right side sums up to zero. So the mean is taken from both.

use crate::threads::prelude::*;

use super::level::Level;
use super::number::Number;
use super::operator::Operator;
use crate::field::Field;
use crate::layout::{Layout, Row};
use crate::ops::lanes_sum;
use crate::rows;

/// Unknowns that follow each other in one row and are connected.
#[derive(Clone, Copy, Debug)]
struct Run {
    row: u32,
    begin: u32,
    end: u32,
    room: u32,
}

/// Runs that are handled by one task.
const RUNS: usize = 64;

/// A run that belongs to no closed room.
const HELD: u32 = u32::MAX;

#[derive(Default)]
pub(super) struct Rooms {
    /// In the order of rows.
    runs: Vec<Run>,
    /// Where the runs of each row begin.
    first: Vec<u32>,
    /// Cells of each room.
    sizes: Vec<usize>,
    sums: Vec<f64>,
    means: Vec<f64>,
    /// During set-up: for each run another one of the same set, with a smaller number, or itself.
    parents: Vec<u32>,
    /// During set-up: whether something holds the set that is named after a run.
    held: Vec<bool>,
}

impl Rooms {
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// Finds the rooms of the finest level. Uses its scratch fields.
    pub fn find<const D: usize, T: Number>(&mut self, level: &mut Level<D, T>) {
        let Level { operator, x, b, shape, .. } = level;
        // S applied to 1 in the unknowns and 0 elsewhere is the weight of links to what is held.
        let inverse = &operator.inverse;
        x.par_rows(|row, x| {
            let inverse = inverse.row(row);
            for i in 0..x.len() {
                x[i] = if inverse[i] > T::ZERO { T::ONE } else { T::ZERO };
            }
        });
        operator.join(x);
        let links = operator.apply(x, b);

        self.list_runs(operator);
        let layout = &shape.layout;
        for r in 0..layout.rows() {
            for a in 0..D {
                if let Some(below) = number_below(layout, operator.joined, r, a) {
                    self.connect(operator, layout.row(r), r, below, a);
                }
            }
        }
        let mut held = std::mem::take(&mut self.held);
        held.clear();
        held.resize(self.runs.len(), false);
        if links > 0.0 {
            for (i, run) in self.runs.iter().enumerate() {
                let links = &b.row(layout.row(run.row as usize))[run.begin as usize..run.end as usize];
                held[root(&mut self.parents, i as u32) as usize] |= links.iter().any(|&w| w > T::ZERO);
            }
        }
        self.number_rooms(&held);
        self.held = held;
    }

    /// Lists the runs of every row, each a set of its own.
    fn list_runs<const D: usize, T: Number>(&mut self, operator: &Operator<D, T>) {
        let layout = &operator.layout;
        self.runs.clear();
        self.first.clear();
        for r in 0..layout.rows() {
            let row = layout.row(r);
            let (inverse, open) = (operator.inverse.row(row), operator.open[0].row(row));
            let plain = operator.plain[r];
            self.first.push(self.runs.len() as u32);
            let mut current: Option<Run> = None;
            let mut x = 0;
            while x < inverse.len() {
                if inverse[x] > T::ZERO {
                    match &mut current {
                        Some(run) if open[x] > T::ZERO => run.end = x as u32 + 1,
                        _ => {
                            self.runs.extend(current);
                            current = Some(Run { row: r as u32, begin: x as u32, end: x as u32 + 1, room: HELD });
                        }
                    }
                } else {
                    self.runs.extend(current.take());
                }
                x += 1;
                if let (Some(run), true) = (&mut current, plain.begin < x as u32 && (x as u32) < plain.end) {
                    // The rest of a plain stretch is connected.
                    run.end = plain.end;
                    x = plain.end as usize;
                }
            }
            self.runs.extend(current);
        }
        self.first.push(self.runs.len() as u32);
        self.parents.clear();
        self.parents.extend(0..self.runs.len() as u32);
    }

    /// Joins the sets of runs in row `r` and the row below it along axis `a` where a face between them is open.
    fn connect<const D: usize, T: Number>(
        &mut self,
        operator: &Operator<D, T>,
        row: Row<'_, D>,
        r: usize,
        below: usize,
        a: usize,
    ) {
        let here = self.first[r] as usize..self.first[r + 1] as usize;
        let there = self.first[below] as usize..self.first[below + 1] as usize;
        let open = operator.open[a].row(row);
        if here.is_empty() || there.is_empty() {
            return;
        }
        if a == 0 {
            // The first cell of this row and the last of the other.
            let touch = self.runs[here.start].begin == 0 && self.runs[there.end - 1].end as usize == open.len();
            if touch && open[0] > T::ZERO {
                merge(&mut self.parents, here.start as u32, there.end as u32 - 1);
            }
            return;
        }
        let (mut i, mut j) = (here.start, there.start);
        while i < here.end && j < there.end {
            let (p, q) = (self.runs[i], self.runs[j]);
            let both = p.begin.max(q.begin) as usize..p.end.min(q.end) as usize;
            if both.start < both.end && open[both].iter().any(|&w| w > T::ZERO) {
                merge(&mut self.parents, i as u32, j as u32);
            }
            if p.end < q.end { i += 1 } else { j += 1 }
        }
    }

    /// Numbers the sets that nothing holds, and forgets the runs of others.
    fn number_rooms(&mut self, held: &[bool]) {
        self.sizes.clear();
        for i in 0..self.runs.len() {
            let root = root(&mut self.parents, i as u32) as usize;
            let room = if held[root] {
                HELD
            } else if root == i {
                self.sizes.push(0);
                self.sizes.len() as u32 - 1
            } else {
                self.runs[root].room
            };
            let run = &mut self.runs[i];
            run.room = room;
            if room != HELD {
                self.sizes[room as usize] += (run.end - run.begin) as usize;
            }
        }
        let mut kept = 0;
        for r in 0..self.first.len() - 1 {
            let row = self.first[r] as usize..self.first[r + 1] as usize;
            self.first[r] = kept as u32;
            for i in row {
                if self.runs[i].room != HELD {
                    self.runs[kept] = self.runs[i];
                    kept += 1;
                }
            }
        }
        *self.first.last_mut().expect("one more than rows") = kept as u32;
        self.runs.truncate(kept);
        self.sums.resize(kept, 0.0);
        self.means.resize(self.sizes.len(), 0.0);
    }

    /// Takes from the field its mean over each room; returns the sum over all cells of what was taken, squared.
    pub fn remove_means<const D: usize, T: Number>(&mut self, field: &mut Field<D, T>) -> f64 {
        if self.sizes.is_empty() {
            return 0.0;
        }
        let layout = field.layout().clone();
        let values = &*field;
        self.sums.par_iter_mut().zip(&self.runs).with_min_len(RUNS).for_each(|(sum, run)| {
            let v = &values.row(layout.row(run.row as usize))[run.begin as usize..run.end as usize];
            *sum = lanes_sum(v.len(), |i| v[i].to_f64());
        });
        self.means.fill(0.0);
        for (sum, run) in self.sums.iter().zip(&self.runs) {
            self.means[run.room as usize] += sum;
        }
        self.means.iter_mut().zip(&self.sizes).for_each(|(mean, &size)| *mean /= size as f64);
        rows::numbered([field], |r, _, [values]| {
            for run in &self.runs[self.first[r] as usize..self.first[r + 1] as usize] {
                let mean = T::of(self.means[run.room as usize]);
                values[run.begin as usize..run.end as usize].iter_mut().for_each(|v| *v -= mean);
            }
        });
        self.means.iter().zip(&self.sizes).map(|(mean, &size)| mean * mean * size as f64).sum()
    }
}

/// The number of the row below row `r` along an axis; for x of the row before it.
fn number_below<const D: usize>(layout: &Layout<D>, joined: [bool; D], r: usize, a: usize) -> Option<usize> {
    let cells = layout.cells();
    let row = layout.row(r);
    let number = |part: usize, index: [isize; D]| {
        let inside = |b: usize| index[b].rem_euclid(cells[b] as isize) as usize;
        (1..D).rev().fold(part, |number, b| number * cells[b] + inside(b))
    };
    if layout.as_tiles().is_some() {
        let below = row.shifted(a, if a == 0 { -(cells[0] as isize) } else { -1 });
        return below.tile().map(|tile| number(tile, below.index));
    }
    let mut index = row.index;
    index[a] -= 1;
    (index[a] >= 0 || joined[a]).then(|| number(0, index))
}

fn root(parents: &mut [u32], mut i: u32) -> u32 {
    while parents[i as usize] != i {
        parents[i as usize] = parents[parents[i as usize] as usize];
        i = parents[i as usize];
    }
    i
}

fn merge(parents: &mut [u32], i: u32, j: u32) {
    let (i, j) = (root(parents, i), root(parents, j));
    // The smaller number stays, so that names do not depend on the order of merging.
    parents[i.max(j) as usize] = i.min(j);
}
