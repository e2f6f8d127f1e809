//! Where in a tree a block is: which upper node, which lower node in it, which leaf in that.

/// Leaves along a side of a lower node, as a power of two.
pub const LOWER_LOG: u32 = 4;
/// Lower nodes along a side of an upper node, as a power of two.
pub const UPPER_LOG: u32 = 5;
/// Children of a lower node.
pub const LOWER: usize = 1 << (3 * LOWER_LOG);
/// Children of an upper node.
pub const UPPER: usize = 1 << (3 * UPPER_LOG);
/// Blocks along a side of an upper node, as a power of two.
const ROOT_LOG: u32 = LOWER_LOG + UPPER_LOG;
/// Blocks further out than this have cells that no `i32` can name.
pub const FAR: i32 = 1 << 28;

/// The path from the root to a block. Paths compare in the order in which a file holds blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path {
    /// The upper node, counted in upper nodes.
    pub root: [i32; 3],
    /// The lower node's number in it.
    pub upper: u16,
    /// The leaf's number in that.
    pub lower: u16,
}

impl Path {
    pub fn to_block(block: [i32; 3]) -> Self {
        Self {
            root: block.map(|b| b >> ROOT_LOG),
            upper: number(block.map(|b| b >> LOWER_LOG), UPPER_LOG),
            lower: number(block, LOWER_LOG),
        }
    }
}

/// The number of a child: x slowest, z fastest.
fn number(at: [i32; 3], log: u32) -> u16 {
    at.iter().fold(0, |n, &x| (n << log) | (x & ((1 << log) - 1)) as u16)
}

/// The inverse: where child `n` of a node with `1 << log` children along a side is.
pub fn place(n: usize, log: u32) -> [i32; 3] {
    let side = (1 << log) - 1;
    [n >> (2 * log), n >> log, n].map(|i| (i & side) as i32)
}

/// The first cell of an upper node.
pub fn root_origin(root: [i32; 3]) -> [i32; 3] {
    root.map(|r| r << (ROOT_LOG + 3))
}

/// Sets a bit of a mask.
pub fn set(mask: &mut [u64], bit: usize) {
    mask[bit / 64] |= 1 << (bit % 64);
}

/// Whether a bit of a mask is set.
pub fn is_set(mask: &[u64], bit: usize) -> bool {
    mask[bit / 64] >> (bit % 64) & 1 == 1
}

/// The bits that are set, in ascending order.
pub fn ones(mask: &[u64]) -> impl Iterator<Item = usize> {
    mask.iter().enumerate().flat_map(|(w, &word)| {
        std::iter::successors(Some(word), |word| Some(word & word.wrapping_sub(1)))
            .take_while(|&word| word != 0)
            .map(move |word| 64 * w + word.trailing_zeros() as usize)
    })
}

/// How many bits are set.
pub fn count(mask: &[u64]) -> usize {
    mask.iter().map(|word| word.count_ones() as usize).sum()
}
