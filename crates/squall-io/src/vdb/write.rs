//! Whole files, written. Equal volumes give equal bytes, on any number of threads.

use std::io::Write;
use std::path::Path as FilePath;

use rayon::prelude::*;
use squall_core::Volume;
use squall_core::volume::{BLOCK, BLOCK_CELLS};

use super::meta::{MetaValue, Metadata, write_metadata};
use super::pack::{Format, Packer};
use super::transform::write_transform;
use super::tree::{FAR, LOWER, Path, UPPER, count, ones, place, root_origin, set};
use super::wire::{put_text, put_u32};
use super::{VdbClass, VdbGrid, VdbOptions, VdbPrecision, VdbValues, inside};
use crate::output::{IoError, OutputFile};

pub(super) const MAGIC: u64 = 0x5644_4220;
pub(super) const VERSION: u32 = 224;
/// The library whose files these are like.
const LIBRARY: [u32; 2] = [10, 0];
/// Between a grid's name and the number that tells it from others of the same name.
pub(super) const NAME_SEPARATOR: char = '\u{1e}';
pub(super) const HALF_SUFFIX: &str = "_HalfFloat";

/// Leaves that a thread packs at a time.
const CHUNK: usize = 64;

/// Writes grids to a file. Every grid needs a name of its own.
///
/// Values that equal the background bit by bit are inactive and not stored (see [`VdbClass`]); all others are stored as
/// they are, NaN included.
pub fn write_vdb(path: impl AsRef<FilePath>, grids: &[VdbGrid<'_>], options: &VdbOptions) -> Result<(), IoError> {
    let path = path.as_ref();
    for (i, grid) in grids.iter().enumerate() {
        let is_taken = grids[..i].iter().any(|other| other.name == grid.name);
        let fault = if is_taken { Err("there are two grids of this name".to_owned()) } else { check(grid) };
        fault.map_err(|e| IoError::content(path, format!("grid `{}`: {e}", grid.name)))?;
    }
    let bodies: Vec<Body> = grids.par_iter().map(|grid| Body::new(grid, options)).collect();
    let names: Vec<&str> = grids.iter().map(|grid| grid.name).collect();
    write_bodies(path, &names, &bodies, &options.metadata)
}

/// Writes a file of grids that are bytes already.
pub(super) fn write_bodies(
    path: &FilePath,
    names: &[&str],
    bodies: &[Body],
    metadata: &Metadata,
) -> Result<(), IoError> {
    let mut head = Vec::new();
    head.extend_from_slice(&MAGIC.to_le_bytes());
    [VERSION, LIBRARY[0], LIBRARY[1]].iter().for_each(|&v| put_u32(&mut head, v));
    head.push(1); // grids can be found by their offsets
    head.extend_from_slice(uuid(bodies, metadata).as_bytes());
    write_metadata(&mut head, metadata);
    put_u32(&mut head, bodies.len() as u32);

    let mut file = OutputFile::create(path)?;
    let mut offset = 0;
    for (name, body) in names.iter().zip(bodies) {
        let mut descriptor = std::mem::take(&mut head);
        put_text(&mut descriptor, name);
        put_text(&mut descriptor, body.kind);
        put_text(&mut descriptor, ""); // a tree of its own
        let start = offset + (descriptor.len() + 3 * 8) as u64;
        let values = start + body.before_values.len() as u64;
        let end = values + body.values.iter().map(|chunk| chunk.len() as u64).sum::<u64>();
        [start, values, end].iter().for_each(|at| descriptor.extend_from_slice(&at.to_le_bytes()));
        let pieces = [&descriptor, &body.before_values].into_iter().chain(&body.values);
        pieces.into_iter().try_for_each(|piece| file.write_all(piece)).map_err(|e| file.explain(e))?;
        offset = end;
    }
    file.write_all(&head).map_err(|e| file.explain(e))?; // a file without grids
    file.finish()
}

/// Whether a grid can have this name.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() || name.contains(NAME_SEPARATOR) {
        return Err("this is not a name that a grid can have".into());
    }
    Ok(())
}

fn check(grid: &VdbGrid<'_>) -> Result<(), String> {
    check_name(grid.name)?;
    let volumes: &[&Volume] = match (&grid.values, grid.class) {
        (VdbValues::Scalar(_), VdbClass::Staggered) => return Err("only vectors can be staggered".into()),
        (VdbValues::Vector(_), VdbClass::LevelSet) => {
            return Err("a level set has one value per cell, not three".into());
        }
        (VdbValues::Scalar(volume), _) => &[*volume],
        (VdbValues::Vector(volumes), _) => volumes,
    };
    for volume in volumes {
        let Volume { origin, spacing, blocks, values, .. } = volume;
        if !(spacing.is_finite() && *spacing > 0.0 && origin.iter().all(|x| x.is_finite())) {
            return Err(format!("cells of side {spacing} at {origin:?} are nowhere"));
        }
        if (origin, spacing) != (&volumes[0].origin, &volumes[0].spacing) {
            return Err("the components of a vector must have the same cells".into());
        }
        if values.len() != blocks.len() * BLOCK_CELLS {
            return Err(format!("{} values for {} blocks", values.len(), blocks.len()));
        }
        if !blocks.is_sorted_by(|a, b| a < b) {
            return Err("its blocks are not in ascending order, each once".into());
        }
        if let Some(block) = blocks.iter().find(|b| b.iter().any(|x| !(-FAR..FAR).contains(x))) {
            return Err(format!("the cells of block {block:?} are too far out"));
        }
    }
    if grid.class == VdbClass::LevelSet {
        let far = volumes[0].background;
        if far.is_nan() || far <= 0.0 {
            return Err(format!("a level set with {far} far outside: it must be positive there"));
        }
        inside::check(volumes[0])?;
    }
    Ok(())
}

/// A grid as bytes, up to its name and its place in the file.
pub(super) struct Body {
    pub kind: &'static str,
    /// Compression, metadata, transform and topology.
    pub before_values: Vec<u8>,
    /// The leaves, in chunks.
    pub values: Vec<Vec<u8>>,
}

impl Body {
    fn new(grid: &VdbGrid<'_>, options: &VdbOptions) -> Self {
        let format = Format::new(options.compression, grid.precision);
        match (&grid.values, grid.precision) {
            (VdbValues::Scalar(volume), VdbPrecision::Full) => Self::of("Tree_float_5_4_3", [*volume], grid, format),
            (VdbValues::Scalar(volume), VdbPrecision::Half) => {
                Self::of("Tree_float_5_4_3_HalfFloat", [*volume], grid, format)
            }
            (VdbValues::Vector(volumes), VdbPrecision::Full) => Self::of("Tree_vec3s_5_4_3", *volumes, grid, format),
            (VdbValues::Vector(volumes), VdbPrecision::Half) => {
                Self::of("Tree_vec3s_5_4_3_HalfFloat", *volumes, grid, format)
            }
        }
    }

    fn of<const N: usize>(kind: &'static str, volumes: [&Volume; N], grid: &VdbGrid<'_>, format: Format) -> Self {
        let tree = Tree::new(volumes, grid.class, format);
        let mut before_values = Vec::new();
        put_u32(&mut before_values, format.flags());
        write_metadata(&mut before_values, &tree.metadata(grid.name, grid.class, format));
        write_transform(&mut before_values, volumes[0].origin, volumes[0].spacing);
        tree.write_topology(&mut before_values, format);
        Self { kind, before_values, values: tree.values }
    }
}

/// What the file says about one block.
pub(super) struct Leaf {
    pub path: Path,
    pub block: [i32; 3],
    /// Which cells are active; `None` if the whole block is the negative background and no leaf is needed.
    pub active: Option<[u64; 8]>,
}

/// The blocks of a grid in the order of the file, and their values as bytes.
pub(super) struct Tree<const N: usize> {
    pub background: [f32; N],
    pub leaves: Vec<Leaf>,
    pub values: Vec<Vec<u8>>,
}

impl<const N: usize> Tree<N> {
    fn new(volumes: [&Volume; N], class: VdbClass, format: Format) -> Self {
        let background = volumes.map(|v| v.background);
        let mut blocks = volumes.map(|v| v.blocks.as_slice()).concat();
        blocks.sort_unstable_by_key(|block| Path::to_block(*block));
        blocks.dedup();
        let chunks: Vec<(Vec<Leaf>, Vec<u8>)> = blocks
            .par_chunks(CHUNK)
            .map_init(
                || Packer::new(format),
                |packer, blocks| {
                    let (mut leaves, mut bytes) = (Vec::new(), Vec::new());
                    for &block in blocks {
                        leaves.extend(put_leaf(&mut bytes, block, volumes, class, packer));
                    }
                    (leaves, bytes)
                },
            )
            .collect();
        let (leaves, values): (Vec<_>, _) = chunks.into_iter().unzip();
        let mut leaves: Vec<Leaf> = leaves.into_iter().flatten().collect();
        if class == VdbClass::LevelSet {
            let missing = inside::missing_inside(volumes[0]).into_iter();
            leaves.extend(missing.map(|block| Leaf { path: Path::to_block(block), block, active: None }));
            leaves.par_sort_unstable_by_key(|leaf| leaf.path);
        }
        Self { background, leaves, values }
    }

    /// What is told of a grid.
    pub fn metadata(&self, name: &str, class: VdbClass, format: Format) -> Metadata {
        let active: usize = self.leaves.iter().flat_map(|leaf| leaf.active).map(|mask| count(&mask)).sum();
        let memory =
            self.leaves.iter().filter(|leaf| leaf.active.is_some()).count() * (N * BLOCK_CELLS * 4 + BLOCK_CELLS / 8);
        let (low, high) = self.bounds();
        let mut metadata = Metadata::from([
            ("name".into(), name.into()),
            ("class".into(), class.name().into()),
            ("file_bbox_min".into(), MetaValue::Ints(low)),
            ("file_bbox_max".into(), MetaValue::Ints(high)),
            ("file_compression".into(), MetaValue::Text(format.describe())),
            ("file_voxel_count".into(), MetaValue::Long(active as i64)),
            ("file_mem_bytes".into(), MetaValue::Long(memory as i64)),
            ("is_saved_as_half_float".into(), MetaValue::Bool(format.half)),
        ]);
        if N == 3 {
            // A vector that turns and stretches with the grid but is not moved by it, as velocities do.
            metadata.insert("vector_type".into(), "contravariant relative".into());
        }
        metadata
    }

    /// The lowest and the highest active cell; turned inside out if there is none, as OpenVDB has it.
    fn bounds(&self) -> ([i32; 3], [i32; 3]) {
        let (mut low, mut high) = ([i32::MAX; 3], [i32::MIN; 3]);
        for leaf in &self.leaves {
            for bit in leaf.active.iter().flat_map(|mask| ones(mask)) {
                let within = place(bit, 3);
                for a in 0..3 {
                    let cell = leaf.block[a] * BLOCK as i32 + within[a];
                    (low[a], high[a]) = (low[a].min(cell), high[a].max(cell));
                }
            }
        }
        (low, high)
    }

    pub fn write_topology(&self, out: &mut Vec<u8>, format: Format) {
        let mut packer = Packer::new(format);
        put_u32(out, 1); // buffers per leaf
        self.background.iter().for_each(|&v| out.extend_from_slice(&format.round(v).to_le_bytes()));
        put_u32(out, 0); // tiles of the root
        let roots: Vec<&[Leaf]> = self.leaves.chunk_by(|a, b| a.path.root == b.path.root).collect();
        put_u32(out, roots.len() as u32);
        for root in roots {
            root_origin(root[0].path.root).iter().for_each(|x| out.extend_from_slice(&x.to_le_bytes()));
            let lowers: Vec<&[Leaf]> = root.chunk_by(|a, b| a.path.upper == b.path.upper).collect();
            let (mut children, mut negative) = (vec![0; UPPER / 64], vec![0; UPPER / 64]);
            // A node deep inside is one value.
            let is_needed = |lower: &&[Leaf]| lower.len() < LOWER || lower.iter().any(|leaf| leaf.active.is_some());
            for lower in &lowers {
                set(if is_needed(lower) { &mut children } else { &mut negative }, lower[0].path.upper.into());
            }
            self.write_node(out, &mut packer, &children, &negative);
            for lower in lowers.into_iter().filter(is_needed) {
                let (mut children, mut negative) = ([0; LOWER / 64], [0; LOWER / 64]);
                for leaf in lower {
                    set(if leaf.active.is_some() { &mut children } else { &mut negative }, leaf.path.lower.into());
                }
                self.write_node(out, &mut packer, &children, &negative);
                for mask in lower.iter().flat_map(|leaf| leaf.active) {
                    mask.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
                }
            }
        }
    }

    /// Writes an inner node: which children it has, and the values elsewhere, none of which is active.
    fn write_node(&self, out: &mut Vec<u8>, packer: &mut Packer, children: &[u64], negative: &[u64]) {
        children.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
        let active = vec![0; children.len()];
        out.resize(out.len() + 8 * active.len(), 0);
        let mut values = vec![self.background; 64 * children.len()];
        ones(negative).for_each(|i| values[i] = self.background.map(|v| -v));
        packer.put(out, &active, negative, &values);
    }
}

/// Writes the values of a block: its mask and the active ones. `None` if all of it is background.
fn put_leaf<const N: usize>(
    out: &mut Vec<u8>,
    block: [i32; 3],
    volumes: [&Volume; N],
    class: VdbClass,
    packer: &mut Packer,
) -> Option<Leaf> {
    let background = volumes.map(|v| v.background);
    let mut values = [background; BLOCK_CELLS];
    for (component, volume) in volumes.iter().enumerate() {
        let Ok(b) = volume.blocks.binary_search(&block) else { continue };
        let from = volume.block(b);
        // From x fastest to z fastest.
        for (x, plane) in values.chunks_exact_mut(BLOCK * BLOCK).enumerate() {
            for (y, line) in plane.chunks_exact_mut(BLOCK).enumerate() {
                for (z, value) in line.iter_mut().enumerate() {
                    value[component] = from[x + BLOCK * (y + BLOCK * z)];
                }
            }
        }
    }
    // Bit by bit: -0 is not 0, and a NaN equals itself.
    let bits = background.map(f32::to_bits);
    let other = mask(&values, |v| v != bits);
    let minus = background.map(|v| (-v).to_bits());
    let negative = if class == VdbClass::LevelSet { mask(&values, |v| v == minus) } else { [0; 8] };
    let active: [u64; 8] = std::array::from_fn(|w| other[w] & !negative[w]);
    let path = Path::to_block(block);
    if other == [0; 8] {
        return None;
    }
    if negative == [u64::MAX; 8] {
        return Some(Leaf { path, block, active: None });
    }
    active.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    packer.put(out, &active, &negative, &values);
    Some(Leaf { path, block, active: Some(active) })
}

/// The cells of a leaf whose bits are as wanted.
fn mask<const N: usize>(values: &[[f32; N]; BLOCK_CELLS], wanted: impl Fn([u32; N]) -> bool) -> [u64; 8] {
    let mut mask = [0; 8];
    for (word, values) in mask.iter_mut().zip(values.as_chunks::<64>().0) {
        for (i, value) in values.iter().enumerate() {
            *word |= u64::from(wanted(value.map(f32::to_bits))) << i;
        }
    }
    mask
}

/// The name of a file's content: equal for equal content, different for different content.
fn uuid(bodies: &[Body], told: &Metadata) -> String {
    let mut metadata = Vec::new();
    write_metadata(&mut metadata, told);
    let mut hash = [0xcbf2_9ce4_8422_2325_u64, 0x9ae1_6a3b_2f90_404f];
    let mut mix = |bytes: &[u8]| {
        let (words, rest) = bytes.as_chunks::<8>();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        let words = words.iter().map(|w| u64::from_le_bytes(*w));
        for word in words.chain([u64::from_le_bytes(last), bytes.len() as u64]) {
            hash[0] = (hash[0] ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
            hash[1] = (hash[1] ^ word).wrapping_mul(0xc2b2_ae3d_27d4_eb4f).rotate_left(31);
        }
    };
    mix(&metadata);
    for body in bodies {
        mix(body.kind.as_bytes());
        mix(&body.before_values);
        body.values.iter().for_each(|chunk| mix(chunk));
    }
    let [a, b] = hash.map(|h| h ^ (h >> 32));
    // Version 8, variant 1: "made in a way of one's own".
    format!(
        "{:08x}-{:04x}-8{:03x}-{:04x}-{:012x}",
        a >> 32,
        (a >> 16) & 0xffff,
        a & 0xfff,
        0x8000 | (b >> 50),
        b & 0xffff_ffff_ffff
    )
}
