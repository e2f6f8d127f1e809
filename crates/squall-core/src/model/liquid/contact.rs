//! Collisions of particles with walls and moving obstacles.

use crate::Real;
use crate::grid::Grid;
use crate::layout::tile_width;
use crate::particles::{Particles, keep_within};
use crate::solid::Sweep;
use crate::threads::prelude::*;

/// How close particles come to a wall or an object, in cells.
pub(super) const APART: Real = 0.05;

/// No particle goes further in a step, in cells.
fn furthest<const D: usize>() -> f64 {
    0.5 * tile_width::<D>() as f64
}

/// Where particles near objects were before they moved, by tiles.
#[derive(Debug, Default)]
pub(super) struct Contact<const D: usize> {
    from: Vec<Vec<[Real; D]>>,
}

impl<const D: usize> Contact<D> {
    /// Notes where particles are that may meet an object.
    pub fn note(&mut self, particles: &Particles<D>, sweep: &Sweep<'_, D>) {
        let layout = particles.layout();
        self.from.resize_with(layout.tile_count(), Vec::new);
        self.from.par_iter_mut().enumerate().for_each(|(number, from)| {
            from.clear();
            let (list, tile) = (particles.of_tile(number), layout.tile(number));
            if !list.is_empty() && !sweep.near(tile.first, tile.cells, furthest::<D>()).is_empty() {
                from.extend(list.iter().map(|p| p.place));
            }
        });
    }

    /// Puts particles that met an object back to their side of it.
    pub fn hold(&self, particles: &mut Particles<D>, sweep: &Sweep<'_, D>, grid: &Grid<D>) {
        let (layout, keep) = (particles.layout().clone(), keep_within(grid, APART));
        particles.for_each_tile(|number, list| {
            let from = &self.from[number];
            if from.len() != list.len() || list.is_empty() {
                return;
            }
            let tile = layout.tile(number);
            let near = sweep.near(tile.first, tile.cells, furthest::<D>());
            let metres = |place: [Real; D]| -> [f64; D] {
                std::array::from_fn(|a| grid.origin[a] + (tile.first[a] as f64 + f64::from(place[a])) * grid.spacing[a])
            };
            let place = |x: [f64; D]| -> [Real; D] {
                std::array::from_fn(|a| ((x[a] - grid.origin[a]) / grid.spacing[a] - tile.first[a] as f64) as Real)
            };
            let apart = f64::from(APART) * grid.spacing[0];
            for (p, from) in list.iter_mut().zip(from) {
                let way = (0..D).map(|a| (p.place[a] - from[a]).powi(2)).sum::<Real>().sqrt();
                let cell = std::array::from_fn(|a| tile.first[a] + p.place[a].floor() as isize);
                if sweep.is_clear(&near, cell, f64::from(way)) {
                    continue;
                }
                let within = |x: [f64; D]| {
                    let mut place = place(x);
                    keep(&tile, &mut place);
                    metres(place)
                };
                if let Some(x) = sweep.hold(&near, metres(*from), metres(p.place), apart, within) {
                    p.place = place(x);
                }
            }
        });
    }
}
