//! Volumes for programs in which z is up, and back.

use squall_core::Volume;
use squall_core::volume::{BLOCK, BLOCK_CELLS};

use super::VdbValues;

impl VdbValues<Volume> {
    /// The same where z is up instead of y: (x, y, z) becomes (x, -z, y), and so do vectors.
    pub fn z_up(self) -> Self {
        match self {
            Self::Scalar(volume) => Self::Scalar(turned(&volume, true)),
            Self::Vector([x, y, z]) => Self::Vector([turned(&x, true), negative(turned(&z, true)), turned(&y, true)]),
        }
    }

    /// The same where y is up instead of z: the opposite of [`z_up`](Self::z_up).
    pub fn y_up(self) -> Self {
        match self {
            Self::Scalar(volume) => Self::Scalar(turned(&volume, false)),
            Self::Vector([x, y, z]) => {
                Self::Vector([turned(&x, false), turned(&z, false), negative(turned(&y, false))])
            }
        }
    }
}

fn negative(mut volume: Volume) -> Volume {
    // Zero has no sign: it is the background.
    volume.values.iter_mut().chain([&mut volume.background]).for_each(|v| *v = 0.0 - *v);
    volume
}

/// Where a place, a cell or a block goes; `low` is -1 for cells and blocks, which are counted from their lower corner.
fn moved<T: std::ops::Sub<Output = T>>([x, y, z]: [T; 3], low: T, up: bool) -> [T; 3] {
    if up { [x, low - z, y] } else { [x, z, low - y] }
}

fn turned(volume: &Volume, up: bool) -> Volume {
    let mut order: Vec<([i32; 3], usize)> =
        volume.blocks.iter().enumerate().map(|(b, block)| (moved(*block, -1, up), b)).collect();
    order.sort_unstable();
    let mut values = vec![0.0; volume.values.len()];
    let last = BLOCK as i32 - 1;
    for ((_, b), to) in order.iter().zip(values.chunks_exact_mut(BLOCK_CELLS)) {
        for (i, &value) in volume.block(*b).iter().enumerate() {
            let cell = [i % BLOCK, i / BLOCK % BLOCK, i / (BLOCK * BLOCK)].map(|c| c as i32);
            let [x, y, z] = moved(cell, last, up).map(|c| c as usize);
            to[x + BLOCK * (y + BLOCK * z)] = value;
        }
    }
    Volume {
        origin: moved(volume.origin, 0.0, up),
        spacing: volume.spacing,
        background: volume.background,
        blocks: order.into_iter().map(|(block, _)| block).collect(),
        values,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume(seed: f32) -> Volume {
        let blocks = vec![[-2, 0, 5], [0, 0, 0], [1, -3, 2]];
        let values = (0..blocks.len() * BLOCK_CELLS).map(|i| seed + i as f32).collect();
        Volume { origin: [0.5, 1.0, -2.0], spacing: 0.25, background: 0.0, blocks, values }
    }

    #[test]
    fn every_cell_goes_where_its_place_goes_and_comes_back() {
        let before = volume(1.0);
        let after = turned(&before, true);
        assert!(after.blocks.is_sorted());
        for cell in [[0, 0, 0], [-16, 7, 40], [9, -24, 23], [3, 5, 6]] {
            // Its centre, turned, lies in the cell of the same value.
            let centre: [f64; 3] = std::array::from_fn(|a| before.origin[a] + (f64::from(cell[a]) + 0.5) * 0.25);
            let place = [centre[0], -centre[2], centre[1]];
            let there = std::array::from_fn(|a| ((place[a] - after.origin[a]) / 0.25).floor() as i32);
            assert_eq!(after.get(there), before.get(cell), "{cell:?}");
        }
        let vector = VdbValues::Vector([volume(1.0), volume(2.0), volume(3.0)]);
        assert_eq!(vector.clone().z_up().y_up(), vector);
        let VdbValues::Vector([x, y, z]) = vector.z_up() else { unreachable!() };
        // (1, 2, 3) in cell (0, 0, 0) of block (0, 0, 0), which is now the last along y.
        let first = BLOCK_CELLS as f32;
        assert_eq!([x, y, z].map(|v| v.get([0, -1, 0])), [first + 1.0, -(first + 3.0), first + 2.0]);
    }
}
