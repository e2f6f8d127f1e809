//! Whole files, read.

use std::io::Read;
use std::path::Path;

use squall_core::Volume;
use squall_core::volume::{BLOCK, BLOCK_CELLS};

use super::meta::{MetaValue, Metadata, read_metadata};
use super::pack::Format;
use super::read_tree::{LeafReader, LeafValues, Tile, TreeVisitor, read_topology};
use super::transform::{Transform, read_transform};
use super::tree::place;
use super::wire::{Cursor, Parsed};
use super::write::{HALF_SUFFIX, MAGIC, NAME_SEPARATOR, VERSION};
use super::{VdbClass, VdbPrecision, VdbValues};
use crate::output::{IoError, open_file};

/// The oldest file version that is read: since then, grids tell their compression.
const OLDEST: u32 = 222;

/// Regions of one value are spread over blocks; not more values than this (256 MiB) come into being that way.
const MOST_SPREAD_VALUES: u64 = 1 << 26;

/// All values of a file together, 1 GiB: leaves of a few bytes become 512 values each.
const MOST_VALUES: u64 = 1 << 28;

/// A file, read.
#[derive(Clone, Debug)]
pub struct VdbFile {
    /// What the file tells about itself.
    pub metadata: Metadata,
    /// The grids of numbers and vectors, in the order of the file.
    pub grids: Vec<VdbLoaded>,
    /// Names and types of the grids that are neither `float` nor `vec3s`, and so were not read.
    pub skipped: Vec<(String, String)>,
}

impl VdbFile {
    /// From z up to y up, as Blender's volumes are: the cell x, y, z goes to x, z, -1 - y. Components of vectors are not turned.
    pub fn upright(mut self) -> Self {
        for grid in &mut self.grids {
            match &mut grid.values {
                VdbValues::Scalar(volume) => *volume = upright(volume),
                VdbValues::Vector(volumes) => volumes.iter_mut().for_each(|volume| *volume = upright(volume)),
            }
        }
        self
    }
}

fn upright(volume: &Volume) -> Volume {
    let [x, y, z] = volume.origin;
    let turned = |[x, y, z]: [i32; 3]| [x, z, -1 - y];
    let mut order: Vec<([i32; 3], usize)> = volume.blocks.iter().map(|&block| turned(block)).zip(0..).collect();
    order.sort_unstable();
    let mut values = Vec::with_capacity(volume.values.len());
    for &(_, from) in &order {
        let from = volume.block(from);
        for i in 0..BLOCK_CELLS {
            let [x, y, z] = [i % BLOCK, i / BLOCK % BLOCK, i / (BLOCK * BLOCK)];
            // The new y is the old z, and the new z counts the old y backwards.
            values.push(from[x + BLOCK * ((BLOCK - 1 - z) + BLOCK * y)]);
        }
    }
    let blocks = order.into_iter().map(|(block, _)| block).collect();
    Volume { origin: [x, z, -y], blocks, values, ..*volume }
}

/// A grid, read.
#[derive(Clone, Debug)]
pub struct VdbLoaded {
    /// Its name.
    pub name: String,
    /// What its values mean.
    pub class: VdbClass,
    /// How they were stored.
    pub precision: VdbPrecision,
    /// The cells.
    pub values: VdbValues<Volume>,
    /// What else it tells.
    pub metadata: Metadata,
}

/// Reads all grids of numbers and of vectors of a file.
///
/// Cells must be cubes along the axes of space. Regions of one value are spread over blocks as long as they are small.
pub fn read_vdb(path: impl AsRef<Path>) -> Result<VdbFile, IoError> {
    let path = path.as_ref();
    let bytes = read_file(path)?;
    parse_vdb(&bytes, path)
}

/// [`read_vdb`] from the content of the file `path`.
pub fn parse_vdb(bytes: &[u8], path: impl AsRef<Path>) -> Result<VdbFile, IoError> {
    parse(bytes).map_err(|e| IoError::content(path.as_ref(), e))
}

/// Reads a whole file once it looks like an OpenVDB file.
pub(super) fn read_file(path: &Path) -> Result<Vec<u8>, IoError> {
    let unreadable = |e| IoError::file(path, "read")(e);
    let mut file = open_file(path).map_err(IoError::file(path, "open"))?;
    let mut bytes = Vec::new();
    file.by_ref().take(8).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes != MAGIC.to_le_bytes() {
        return Err(IoError::content(path, "not an OpenVDB file"));
    }
    let length = file.metadata().map_err(unreadable)?.len();
    file.take(length).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}

pub(super) fn parse(bytes: &[u8]) -> Parsed<VdbFile> {
    let directory = Directory::read(bytes)?;
    let (mut grids, mut skipped) = (Vec::new(), Vec::new());
    let mut room = MOST_VALUES;
    for entry in &directory.entries {
        let values = match entry.kind.as_str() {
            "Tree_float_5_4_3" => entry.load::<1>(&mut room).map(|[volume]| VdbValues::Scalar(volume)),
            "Tree_vec3s_5_4_3" => entry.load::<3>(&mut room).map(VdbValues::Vector),
            _ => {
                skipped.push((entry.name.clone(), entry.kind.clone()));
                continue;
            }
        };
        grids.push(VdbLoaded {
            values: values.map_err(|e| format!("grid `{}`: {e}", entry.name))?,
            name: entry.name.clone(),
            class: entry.class(),
            precision: entry.precision(),
            metadata: entry.metadata.clone(),
        });
    }
    Ok(VdbFile { metadata: directory.metadata, grids, skipped })
}

/// A file up to the trees of its grids.
pub(super) struct Directory<'a> {
    pub version: u32,
    pub uuid: String,
    pub metadata: Metadata,
    pub entries: Vec<Entry<'a>>,
}

/// A grid up to its tree.
pub(super) struct Entry<'a> {
    pub name: String,
    /// The type of the tree, without the mark of half floats.
    pub kind: String,
    pub metadata: Metadata,
    pub format: Format,
    pub transform: Parsed<Transform>,
    /// The grid whose tree it shares; empty if it has its own.
    parent: String,
    topology: Cursor<'a>,
    values: Cursor<'a>,
}

impl<'a> Directory<'a> {
    pub fn read(bytes: &'a [u8]) -> Parsed<Self> {
        let mut from = Cursor::new(bytes);
        if from.u64() != Ok(MAGIC) {
            return Err("not an OpenVDB file".into());
        }
        let version = from.u32()?;
        if !(OLDEST..=VERSION).contains(&version) {
            let fix = if version > VERSION { "an update of Squall" } else { "saving it anew with a newer program" };
            return Err(format!("file version {version}, but {OLDEST} to {VERSION} can be read; {fix} may help"));
        }
        from.take(2 * 4)?; // the version of the library that wrote it
        if from.u8()? == 0 {
            return Err("written as a stream, without the places of its grids; save it as a file".into());
        }
        let uuid = String::from_utf8_lossy(from.take(36)?).into_owned();
        let metadata = read_metadata(&mut from)?;
        let count = from.u32()?;
        let mut entries = Vec::new();
        // Each turn takes bytes or fails: a false count ends with the file.
        for i in 0..count {
            let name = from.text("the name of a grid").map_err(|e| format!("grid {} of {count}: {e}", i + 1))?;
            let name = name.split(NAME_SEPARATOR).next().unwrap_or_default().to_owned();
            let wrong = |e| format!("grid `{name}`: {e}");
            let (entry, end) = Entry::read(&mut from, &name).map_err(wrong)?;
            // Forwards only, so that a file cannot keep us going round.
            if end < from.position() as u64 {
                return Err(wrong(format!("its end (byte {end}) is before its beginning")));
            }
            from = Cursor::new(bytes).window(end, bytes.len() as u64).map_err(wrong)?;
            entries.push(entry);
        }
        Ok(Self { version, uuid, metadata, entries })
    }
}

impl<'a> Entry<'a> {
    /// Reads a grid up to its tree; also returns where it ends.
    fn read(from: &mut Cursor<'a>, name: &str) -> Parsed<(Self, u64)> {
        let kind = from.text("its type")?;
        let parent = from.text("its parent")?;
        let [start, values, end] = [from.u64()?, from.u64()?, from.u64()?];
        let mut topology = from.window(start, end)?;
        let values = from.window(values, end)?;
        let flags = topology.u32()?;
        let metadata = read_metadata(&mut topology)?;
        let is_half = metadata.get("is_saved_as_half_float") == Some(&MetaValue::Bool(true));
        let format = Format::from_flags(flags, is_half)?;
        let transform = read_transform(&mut topology);
        let kind = kind.strip_suffix(HALF_SUFFIX).unwrap_or(&kind).to_owned();
        Ok((Self { name: name.to_owned(), kind, metadata, format, transform, parent, topology, values }, end))
    }

    pub fn class(&self) -> VdbClass {
        match self.metadata.get("class") {
            Some(MetaValue::Text(name)) => VdbClass::from_name(name),
            _ => VdbClass::Unknown,
        }
    }

    pub fn precision(&self) -> VdbPrecision {
        if self.format.half { VdbPrecision::Half } else { VdbPrecision::Full }
    }

    /// Shows the whole tree.
    pub fn walk<const N: usize>(&self, visitor: &mut impl TreeVisitor<N>) -> Parsed<()> {
        if !self.parent.is_empty() {
            return Err(format!("it shares the tree of `{}`; save it with a tree of its own", self.parent));
        }
        let topology = read_topology(&mut self.topology.clone(), self.format, visitor)?;
        visitor.topology(topology.background, &topology.leaves)?;
        let mut reader = LeafReader::new(self.values.clone(), self.format, topology.background);
        for (i, &block) in topology.leaves.iter().enumerate() {
            visitor.leaf(i, block, &reader.next()?);
        }
        Ok(())
    }

    /// Reads all of it, if it has no more values than there is room for.
    fn load<const N: usize>(&self, room: &mut u64) -> Parsed<[Volume; N]> {
        let (origin, spacing) = self.transform.clone()?.cells().ok_or(
            "its cells are not cubes along the axes of space; resample it to a uniform voxel size without rotation",
        )?;
        let mut loader = Loader::<N> { room: *room, ..Loader::default() };
        self.walk(&mut loader)?;
        *room = loader.room;
        Ok(loader.volumes.map(|volume| Volume { origin, spacing, ..volume }))
    }
}

/// Puts a tree into volumes.
struct Loader<const N: usize> {
    /// How many more values there may be.
    room: u64,
    tiles: Vec<Tile<N>>,
    spread: u64,
    /// Where the values of each leaf go.
    slots: Vec<usize>,
    volumes: [Volume; N],
}

impl<const N: usize> Default for Loader<N> {
    fn default() -> Self {
        Self { room: 0, tiles: vec![], spread: 0, slots: vec![], volumes: std::array::from_fn(|_| Volume::default()) }
    }
}

impl<const N: usize> TreeVisitor<N> for Loader<N> {
    fn tile(&mut self, tile: Tile<N>) -> Parsed<()> {
        self.spread += (N * BLOCK_CELLS) as u64 * (1 << (3 * tile.log));
        if self.spread > MOST_SPREAD_VALUES {
            return Err(format!(
                "its regions of one value are too large to be spread over cells (more than {MOST_SPREAD_VALUES} values)"
            ));
        }
        self.tiles.push(tile);
        Ok(())
    }

    /// Knows now which blocks there are: puts them in order and spreads the regions of one value.
    fn topology(&mut self, background: [f32; N], leaves: &[[i32; 3]]) -> Parsed<()> {
        let values = (N * BLOCK_CELLS) as u64 * leaves.len() as u64 + self.spread;
        self.room = self.room.checked_sub(values).ok_or_else(|| {
            format!("its blocks have {values} values, and all grids of a file may have {MOST_VALUES}; use larger cells")
        })?;
        // A block, and what fills it: a leaf, or after all leaves, a tile.
        let mut blocks: Vec<([i32; 3], usize)> = leaves.iter().copied().zip(0..).collect();
        for (t, tile) in self.tiles.iter().enumerate() {
            for i in 0..1_usize << (3 * tile.log) {
                let at = place(i, tile.log);
                blocks.push((std::array::from_fn(|a| tile.block[a] + at[a]), leaves.len() + t));
            }
        }
        blocks.sort_unstable();
        if let Some(pair) = blocks.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(format!("block {:?} occurs twice", pair[0].0));
        }
        self.slots = vec![0; leaves.len()];
        for (component, volume) in self.volumes.iter_mut().enumerate() {
            volume.background = background[component];
            volume.blocks = blocks.iter().map(|(block, _)| *block).collect();
            volume.values = vec![0.0; blocks.len() * BLOCK_CELLS];
        }
        for (slot, &(_, source)) in blocks.iter().enumerate() {
            match source.checked_sub(leaves.len()) {
                None => self.slots[source] = slot,
                Some(t) => {
                    for (volume, value) in self.volumes.iter_mut().zip(self.tiles[t].value) {
                        volume.values[slot * BLOCK_CELLS..][..BLOCK_CELLS].fill(value);
                    }
                }
            }
        }
        Ok(())
    }

    fn leaf(&mut self, i: usize, _: [i32; 3], leaf: &LeafValues<N>) {
        for (component, volume) in self.volumes.iter_mut().enumerate() {
            let to = &mut volume.values[self.slots[i] * BLOCK_CELLS..][..BLOCK_CELLS];
            // From z fastest to x fastest.
            for (c, value) in leaf.values.iter().enumerate() {
                let (x, y, z) = (c / (BLOCK * BLOCK), c / BLOCK % BLOCK, c % BLOCK);
                to[x + BLOCK * (y + BLOCK * z)] = value[component];
            }
        }
    }
}
