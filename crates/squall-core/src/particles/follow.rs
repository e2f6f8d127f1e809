//! Particles on tiles that follow them.

use super::{Particle, Particles};
use crate::layout::Layout;
use crate::threads::prelude::*;
use std::ops::Range;

impl<const D: usize> Particles<D> {
    /// The smallest box of cells around the particles of each tile that has some.
    pub(crate) fn occupied(&self) -> Vec<[Range<isize>; D]> {
        let part = |(number, list): (usize, &Vec<Particle<D>>)| {
            let first = list.first()?;
            let (mut low, mut high) = (first.place, first.place);
            for p in list {
                for a in 0..D {
                    low[a] = low[a].min(p.place[a]);
                    high[a] = high[a].max(p.place[a]);
                }
            }
            let tile = self.layout.tile(number);
            Some(std::array::from_fn(|a| {
                tile.first[a] + low[a].floor() as isize..tile.first[a] + high[a].floor() as isize + 1
            }))
        };
        let parts: Vec<_> = self.tiles.par_iter().enumerate().map(part).collect();
        parts.into_iter().flatten().collect()
    }

    /// Goes over to another set of tiles. Places are counted from tiles, so that nothing else changes; what is where no tile is any more is gone.
    pub(crate) fn go_to(&mut self, layout: &Layout<D>) {
        let old = std::mem::replace(&mut self.layout, layout.clone());
        let count = layout.tile_count();
        let before: Vec<_> = (0..count).map(|number| old.tile_of(layout.tile(number).first)).collect();
        take_along(&mut self.tiles, &before);
        take_along(&mut self.carried.tiles, &before);
        self.leaving.resize_with(count, Vec::new);
        self.carried.leaving.resize_with(count, Vec::new);
    }
}

/// The lists of tiles in another order: each has the number that it had `before`, or is new.
fn take_along<T: Default>(lists: &mut Vec<T>, before: &[Option<usize>]) {
    let mut old = std::mem::take(lists);
    lists.extend(before.iter().map(|n| n.map(|n| std::mem::take(&mut old[n])).unwrap_or_default()));
}
