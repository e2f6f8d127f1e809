//! A field as files and pictures see it: blocks of values where there is something, nothing elsewhere.

/// Cells along each side of a block.
pub const BLOCK: usize = 8;

/// Values per block in 3D.
pub const BLOCK_CELLS: usize = BLOCK * BLOCK * BLOCK;

/// One number per cell, stored for some blocks of [`BLOCK`] cells along each axis; everywhere else it is `background`.
///
/// Cell `i` (any sign) covers `[origin + i spacing, origin + (i + 1) spacing]` along each axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Volume<const D: usize = 3> {
    /// The lower corner of cell 0, in metres.
    pub origin: [f64; D],
    /// The side of a cell, in metres.
    pub spacing: f64,
    /// The value where no block is.
    pub background: f32,
    /// Which blocks there are: block `b` holds the cells from `8 b` to `8 b + 7` along each axis. In ascending order (x
    /// first), each once.
    pub blocks: Vec<[i32; D]>,
    /// [`Volume::CELLS`] values for each block, in the order of `blocks`; within a block x is fastest, then y, then z.
    pub values: Vec<f32>,
}

impl<const D: usize> Default for Volume<D> {
    fn default() -> Self {
        Volume { origin: [0.0; D], spacing: 0.0, background: 0.0, blocks: Vec::new(), values: Vec::new() }
    }
}

impl<const D: usize> Volume<D> {
    /// Values per block.
    pub const CELLS: usize = BLOCK.pow(D as u32);

    /// The values of the `b`-th block.
    pub fn block(&self, b: usize) -> &[f32] {
        &self.values[b * Self::CELLS..][..Self::CELLS]
    }

    /// The value of one cell. For tests and single look-ups.
    pub fn get(&self, cell: [i32; D]) -> f32 {
        let side = BLOCK as i32;
        let Ok(b) = self.blocks.binary_search(&cell.map(|i| i.div_euclid(side))) else { return self.background };
        self.block(b)[(0..D).rev().fold(0, |at, a| BLOCK * at + cell[a].rem_euclid(side) as usize)]
    }

    /// The cells that have stored values: the lowest, and the one behind the highest, along each axis. `None` if empty.
    pub fn bounds(&self) -> Option<([i32; D], [i32; D])> {
        let side = BLOCK as i32;
        let low = std::array::from_fn(|a| self.blocks.iter().map(|b| b[a]).min().unwrap_or(0) * side);
        let high = std::array::from_fn(|a| (self.blocks.iter().map(|b| b[a]).max().unwrap_or(0) + 1) * side);
        (!self.blocks.is_empty()).then_some((low, high))
    }
}

impl Volume {
    /// The volume of a dense box of `cells` whose cell 0 is at `origin`: x fastest. Blocks in which every value is
    /// `background` are left out.
    pub fn from_dense(origin: [f64; 3], spacing: f64, background: f32, cells: [usize; 3], values: &[f32]) -> Self {
        assert_eq!(values.len(), cells.iter().product::<usize>(), "one value per cell");
        let mut volume = Volume { origin, spacing, background, ..Volume::default() };
        let blocks = cells.map(|n| n.div_ceil(BLOCK));
        let mut block = [background; BLOCK_CELLS];
        for bx in 0..blocks[0] {
            for by in 0..blocks[1] {
                for bz in 0..blocks[2] {
                    block.fill(background);
                    let low = [bx, by, bz].map(|b| b * BLOCK);
                    let n: [usize; 3] = std::array::from_fn(|a| (cells[a] - low[a]).min(BLOCK));
                    for z in 0..n[2] {
                        for y in 0..n[1] {
                            let from = low[0] + cells[0] * (low[1] + y + cells[1] * (low[2] + z));
                            block[BLOCK * (y + BLOCK * z)..][..n[0]].copy_from_slice(&values[from..from + n[0]]);
                        }
                    }
                    if block.iter().any(|&v| v != background) {
                        volume.blocks.push([bx, by, bz].map(|b| b as i32));
                        volume.values.extend_from_slice(&block);
                    }
                }
            }
        }
        volume
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dense_box_keeps_its_values_and_loses_its_empty_blocks() {
        let cells = [19, 9, 17];
        let value = |i: [i32; 3]| if i[0] < 8 { (1 + i[0] + 100 * i[1] + 10_000 * i[2]) as f32 } else { 0.0 };
        let mut values = Vec::new();
        for z in 0..cells[2] as i32 {
            for y in 0..cells[1] as i32 {
                values.extend((0..cells[0] as i32).map(|x| value([x, y, z])));
            }
        }
        let volume = Volume::from_dense([0.0; 3], 0.5, 0.0, cells, &values);
        assert_eq!(volume.blocks.len(), 2 * 3, "only the first eight cells along x hold anything");
        assert!(volume.blocks.is_sorted());
        for cell in [[0, 0, 0], [7, 8, 16], [8, 8, 16], [3, 4, 5], [-1, 0, 0], [0, 100, 0]] {
            let inside = (0..3).all(|a| (0..cells[a] as i32).contains(&cell[a]));
            assert_eq!(volume.get(cell), if inside { value(cell) } else { 0.0 }, "{cell:?}");
        }
        assert_eq!(volume.bounds(), Some(([0, 0, 0], [8, 16, 24])));
    }
}
