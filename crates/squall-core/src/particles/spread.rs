//! Particles that come too close to each other move apart.
//!
//! A flow that draws a thread out pulls particles apart along it and squeezes them together across it. Cells hold as many as before, so nothing looks
//! wrong to the grid, until gaps of a cell open between sheets of particles: the surface breaks there, no stress crosses the gap, and the thread falls
//! to pieces. So pairs that are closer than particles should be push each other away a little in every step, which fills the gaps with those that are squeezed. The
//! outermost particles are not pushed out of the liquid. The velocity of a particle that moves changes by its slope: linear flows stay as they are.

use super::{Particle, Particles, Patch, source};
use crate::Real;
use crate::field::Field;
use crate::layout::Layout;
use crate::threads::prelude::*;

/// Particles closer than this push each other away, in cells. They are half a cell apart where all is even.
const CLOSE: Real = 0.42;
/// Which part of what is missing a pair makes up for in a step.
const PART: Real = 0.5;
/// How far none goes in a step, in cells.
const FURTHEST: Real = 0.1;
/// Deeper than this below the surface nobody sees gaps, in cells.
const DEEP: Real = -4.0;
/// From this depth on particles are not pushed outwards, in cells.
const OUTERMOST: Real = -1.5;

/// Places around a tile, by cells.
#[derive(Default)]
struct Near<const D: usize> {
    places: Vec<([Real; D], u32)>,
    /// Where those of each cell begin, with a cell more on either side of the tile.
    starts: Vec<u32>,
    sorted: Vec<([Real; D], u32)>,
}

impl<const D: usize> Near<D> {
    /// Finds the particles of a tile, and those of tiles beside that are within reach.
    fn gather(&mut self, particles: &Particles<D>, number: usize, periodic: [bool; D]) -> [usize; D] {
        let layout: &Layout<D> = &particles.layout;
        let tile = layout.tile(number);
        let wide = tile.cells.map(|n| n + 2);
        self.places.clear();
        for code in 0..3u8.pow(D as u32) {
            // Who comes from there goes the other way.
            let Some(from) = source(layout, number, code, periodic) else { continue };
            let there = layout.tile(from);
            let mut rest = code;
            let shift: [Real; D] = std::array::from_fn(|a| {
                let digit = rest % 3;
                rest /= 3;
                match digit {
                    0 => tile.cells[a] as Real,
                    2 => -(there.cells[a] as Real),
                    _ => 0.0,
                }
            });
            for p in &particles.tiles[from] {
                let place: [Real; D] = std::array::from_fn(|a| p.place[a] + shift[a]);
                if (0..D).all(|a| place[a] > -CLOSE && place[a] < tile.cells[a] as Real + CLOSE) {
                    self.places.push((place, p.id));
                }
            }
        }
        let cell = |place: &[Real; D]| {
            (0..D).rev().fold(0, |at, a| at * wide[a] + ((place[a] + 1.0).max(0.0) as usize).min(wide[a] - 1))
        };
        self.starts.clear();
        self.starts.resize(wide.iter().product::<usize>() + 1, 0);
        self.places.iter().for_each(|(place, _)| self.starts[cell(place) + 1] += 1);
        for i in 1..self.starts.len() {
            self.starts[i] += self.starts[i - 1];
        }
        self.sorted.clear();
        self.sorted.resize(self.places.len(), ([0.0; D], 0));
        let mut next = self.starts.clone();
        for one in &self.places {
            let at = &mut next[cell(&one.0)];
            self.sorted[*at as usize] = *one;
            *at += 1;
        }
        wide
    }

    /// How far a particle is pushed.
    fn push(&self, p: &Particle<D>, wide: [usize; D]) -> [Real; D] {
        let bound = |a: usize, by: Real| ((p.place[a] + by + 1.0).max(0.0) as usize).min(wide[a] - 1);
        let low: [usize; D] = std::array::from_fn(|a| bound(a, -CLOSE));
        let count: [usize; D] = std::array::from_fn(|a| bound(a, CLOSE) - low[a] + 1);
        let mut push = [0.0; D];
        for mut row in 0..count[1..].iter().product::<usize>() {
            let mut at = low;
            for a in 1..D {
                at[a] += row % count[a];
                row /= count[a];
            }
            let first = (0..D).rev().fold(0, |sum, a| sum * wide[a] + at[a]);
            let all = self.starts[first] as usize..self.starts[first + count[0]] as usize;
            for (place, id) in &self.sorted[all] {
                let away: [Real; D] = std::array::from_fn(|a| p.place[a] - place[a]);
                let square: Real = away.iter().map(|v| v * v).sum();
                if square >= CLOSE * CLOSE || *id == p.id {
                    continue;
                }
                let distance = square.sqrt();
                if distance > 1e-4 {
                    let by = 0.5 * PART * (CLOSE - distance) / distance;
                    (0..D).for_each(|a| push[a] += by * away[a]);
                } else {
                    // In one place: along some axis, the lower number down.
                    push[(p.id ^ id) as usize % D] += 0.5 * PART * if p.id < *id { -CLOSE } else { CLOSE };
                }
            }
        }
        push
    }
}

impl<const D: usize> Particles<D> {
    /// Moves particles apart that are too close to each other, up to some cells below the surface of `phi`, a distance in metres with cells of `h`. Needs the
    /// ghosts of `phi`.
    pub(crate) fn spread(&mut self, phi: &Field<D>, h: Real, periodic: [bool; D]) {
        let all = &*self;
        let moves: Vec<Vec<[Real; D]>> = (0..self.tiles.len())
            .into_par_iter()
            .map_init(<(Near<D>, Patch<D>)>::default, |(near, patch), number| {
                let list = &all.tiles[number];
                if list.is_empty() {
                    return Vec::new();
                }
                patch.copy(phi, &all.layout.tile(number), 2, periodic);
                if patch.values().iter().all(|v| *v < DEEP * h) {
                    return Vec::new();
                }
                let wide = near.gather(all, number, periodic);
                list.iter().map(|p| near.limited(p, wide, patch, h)).collect()
            })
            .collect();
        self.tiles.par_iter_mut().zip(moves).for_each(|(list, moves)| {
            for (p, way) in list.iter_mut().zip(moves) {
                for a in 0..D {
                    p.velocity[a] += (0..D).map(|b| p.slope[a][b] * way[b]).sum::<Real>();
                    p.place[a] += way[a];
                }
            }
        });
    }
}

impl<const D: usize> Near<D> {
    /// The push, not too far and not out of the liquid.
    fn limited(&self, p: &Particle<D>, wide: [usize; D], phi: &Patch<D>, h: Real) -> [Real; D] {
        let (distance, slope) = phi.value_and_slope(p.place);
        let depth = distance / h;
        if depth < DEEP {
            return [0.0; D];
        }
        let mut push = self.push(p, wide);
        if depth > OUTERMOST {
            let square: Real = slope.iter().map(|v| v * v).sum();
            let out: Real = (0..D).map(|a| slope[a] * push[a]).sum();
            if out > 0.0 && square > 0.0 {
                (0..D).for_each(|a| push[a] -= out / square * slope[a]);
            }
        }
        let length = push.iter().map(|v| v * v).sum::<Real>().sqrt();
        if length > FURTHEST { push.map(|v| v * FURTHEST / length) } else { push }
    }
}
