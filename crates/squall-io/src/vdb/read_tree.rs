//! The tree of a grid, read.

use squall_core::volume::BLOCK_CELLS;

use super::pack::{Format, Unpacker};
use super::tree::{LOWER, LOWER_LOG, UPPER, UPPER_LOG, is_set, ones, place};
use super::wire::{Cursor, Parsed};

/// A region of one value: `1 << log` blocks along each side.
pub struct Tile<const N: usize> {
    pub block: [i32; 3],
    pub log: u32,
    pub value: [f32; N],
    pub is_active: bool,
}

/// Who wants to know what is in a tree. The methods are called in this order.
pub trait TreeVisitor<const N: usize> {
    /// A region of one value that is active or not the background.
    fn tile(&mut self, tile: Tile<N>) -> Parsed<()>;

    /// The value elsewhere, and the blocks of all leaves in the order of the file.
    fn topology(&mut self, background: [f32; N], leaves: &[[i32; 3]]) -> Parsed<()>;

    /// The `i`-th leaf.
    fn leaf(&mut self, i: usize, block: [i32; 3], leaf: &LeafValues<N>);
}

/// Which leaves there are, in the order of the file.
pub struct Topology<const N: usize> {
    pub background: [f32; N],
    pub leaves: Vec<[i32; 3]>,
}

/// Blocks along a side of an upper node, as a power of two.
const ROOT_LOG: u32 = LOWER_LOG + UPPER_LOG;

/// Reads the topology and shows its regions of one value.
pub fn read_topology<const N: usize>(
    from: &mut Cursor<'_>,
    format: Format,
    visitor: &mut impl TreeVisitor<N>,
) -> Parsed<Topology<N>> {
    let buffers = from.u32()?;
    if buffers != 1 {
        return Err(format!("its leaves have {buffers} buffers, not one"));
    }
    let background = from.f32s()?;
    let (tiles, children) = (from.u32()?, from.u32()?);
    let mut reader = TopologyReader { unpacker: Unpacker::new(format), background, leaves: Vec::new(), visitor };
    // Each turn takes bytes or fails: false counts end with the file.
    for _ in 0..tiles {
        let block = root_block(from)?;
        let value = from.f32s()?;
        let is_active = from.u8()? != 0;
        reader.tile(block, ROOT_LOG, value, is_active)?;
    }
    for _ in 0..children {
        let block = root_block(from)?;
        reader.upper(from, block)?;
    }
    Ok(Topology { background, leaves: reader.leaves })
}

/// The first block of a child of the root.
fn root_block(from: &mut Cursor<'_>) -> Parsed<[i32; 3]> {
    let cell: [i32; 3] = from.i32s()?;
    if cell.iter().any(|x| x.trailing_zeros() < ROOT_LOG + 3) {
        return Err(format!("a node begins at cell {cell:?}, which is no corner of a node"));
    }
    Ok(cell.map(|x| x >> 3))
}

struct TopologyReader<'a, const N: usize, V> {
    unpacker: Unpacker,
    background: [f32; N],
    leaves: Vec<[i32; 3]>,
    visitor: &'a mut V,
}

impl<const N: usize, V: TreeVisitor<N>> TopologyReader<'_, N, V> {
    fn tile(&mut self, block: [i32; 3], log: u32, value: [f32; N], is_active: bool) -> Parsed<()> {
        let is_background = value.map(f32::to_bits) == self.background.map(f32::to_bits);
        if is_background && !is_active { Ok(()) } else { self.visitor.tile(Tile { block, log, value, is_active }) }
    }

    /// Reads masks and values of an inner node and returns the mask of its children.
    fn node(
        &mut self,
        from: &mut Cursor<'_>,
        block: [i32; 3],
        size: usize,
        log: u32,
        child_log: u32,
    ) -> Parsed<Vec<u64>> {
        let children = from.mask(size)?;
        let active = from.mask(size)?;
        let mut values = vec![self.background; size];
        self.unpacker.get(from, &active, self.background, &mut values)?;
        for (i, &value) in values.iter().enumerate().filter(|(i, _)| !is_set(&children, *i)) {
            self.tile(child(block, i, log, child_log), child_log, value, is_set(&active, i))?;
        }
        Ok(children)
    }

    fn upper(&mut self, from: &mut Cursor<'_>, block: [i32; 3]) -> Parsed<()> {
        let children = self.node(from, block, UPPER, UPPER_LOG, LOWER_LOG)?;
        ones(&children).try_for_each(|i| self.lower(from, child(block, i, UPPER_LOG, LOWER_LOG)))
    }

    fn lower(&mut self, from: &mut Cursor<'_>, block: [i32; 3]) -> Parsed<()> {
        let children = self.node(from, block, LOWER, LOWER_LOG, 0)?;
        for i in ones(&children) {
            from.take(BLOCK_CELLS / 8)?; // the mask comes again with the values
            self.leaves.push(child(block, i, LOWER_LOG, 0));
        }
        Ok(())
    }
}

/// The first block of the `i`-th child of a node that begins at `block`.
fn child(block: [i32; 3], i: usize, log: u32, child_log: u32) -> [i32; 3] {
    let at = place(i, log);
    std::array::from_fn(|a| block[a] + (at[a] << child_log))
}

/// The values of one leaf, z fastest, and which of them are active.
pub struct LeafValues<const N: usize> {
    pub active: Vec<u64>,
    pub values: [[f32; N]; BLOCK_CELLS],
}

/// Reads the values of the leaves one after another.
pub struct LeafReader<'a, const N: usize> {
    from: Cursor<'a>,
    unpacker: Unpacker,
    background: [f32; N],
}

impl<'a, const N: usize> LeafReader<'a, N> {
    pub fn new(from: Cursor<'a>, format: Format, background: [f32; N]) -> Self {
        Self { from, unpacker: Unpacker::new(format), background }
    }

    pub fn next(&mut self) -> Parsed<LeafValues<N>> {
        let active = self.from.mask(BLOCK_CELLS)?;
        let mut values = [self.background; BLOCK_CELLS];
        self.unpacker.get(&mut self.from, &active, self.background, &mut values)?;
        Ok(LeafValues { active, values })
    }
}
