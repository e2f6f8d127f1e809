//! OpenVDB files: sparse volumes for Blender, Houdini and whoever else reads them. Our own reader and writer of file
//! version 224; no C++ library is involved.
//!
//! ```text
//! magic, version, library version, "has offsets", UUID, file metadata, number of grids
//! per grid: name, type, parent, offsets of the grid, its values and its end
//!     compression, grid metadata, transform
//!     topology: root { background, children: upper node 32^3 { children: lower node 16^3 { children: leaf 8^3 } } }
//!     values:   per leaf, in the order of the topology: mask of active values, the active values
//! ```
//! Nodes are masks of bits and lists of values; along them x is slowest and z fastest. A block of a [`Volume`] is a leaf.
//!
//! | module | what it holds |
//! |---|---|
//! | `wire` | numbers and strings, and a reader that never leaves its bytes |
//! | `meta`, `transform` | metadata and the map from cells to metres |
//! | `tree` | where in a tree a block is |
//! | `mask`, `turn` | what is worth writing; z up instead of y |
//! | `inside` | what of a level set is inside though nobody stored it |
//! | `pack` | values of nodes as bytes and back: masks, half floats, zlib, Blosc |
//! | `write`, `read`, `info` | whole files |
//! | `points` | files of particles |
//!
//! [`Volume`]: squall_core::Volume

mod blosc;
mod info;
mod inside;
mod mask;
mod meta;
mod pack;
mod points;
mod read;
mod read_tree;
#[cfg(test)]
mod tests;
mod transform;
mod tree;
mod turn;
mod wire;
mod write;

pub use info::{ValueSummary, VdbGridInfo, VdbInfo, read_vdb_info};
pub use mask::Mask;
pub use meta::{MetaValue, Metadata};
pub use points::{VdbPoints, write_vdb_points};
pub use read::{VdbFile, VdbLoaded, parse_vdb, read_vdb};
pub use transform::Transform;
pub use write::write_vdb;

use squall_core::Volume;

/// One number or three per cell. `V` is `&Volume` where volumes are written and `Volume` where they are read.
#[derive(Clone, Debug, PartialEq)]
pub enum VdbValues<V> {
    /// Density, temperature, distance.
    Scalar(V),
    /// Velocity, colour: one volume for each component, with the same cells but perhaps other blocks.
    Vector([V; 3]),
}

impl VdbValues<Volume> {
    /// The same by reference, ready to be written.
    pub fn by_ref(&self) -> VdbValues<&Volume> {
        match self {
            Self::Scalar(volume) => VdbValues::Scalar(volume),
            Self::Vector(volumes) => VdbValues::Vector(volumes.each_ref()),
        }
    }
}

/// A grid to be written.
#[derive(Clone, Debug)]
pub struct VdbGrid<'a> {
    /// What other programs find it by: by custom `density`, `temperature`, `velocity` (Blender) or `vel` (Houdini).
    pub name: &'a str,
    /// The cells.
    pub values: VdbValues<&'a Volume>,
    /// What the values mean.
    pub class: VdbClass,
    /// How they are stored.
    pub precision: VdbPrecision,
}

/// What the values of a grid mean. It decides which of them count as active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VdbClass {
    /// Nothing in particular. Active: what differs from the background.
    Unknown,
    /// Density and the like. Active: what differs from the background.
    FogVolume,
    /// A signed distance, negative inside, with a positive background. Active: what is neither the background nor its
    /// negative. Blocks full of the negative are written as one value each, and so are blocks that are not stored but lie
    /// inside, by the signs of the stored cells around them.
    LevelSet,
    /// A vector of which component `a` lives in the middle of the cell's lower face across `a`. The transform is that of
    /// the cells; readers that know the class shift each component by half a cell.
    Staggered,
}

impl VdbClass {
    const ALL: [Self; 4] = [Self::Unknown, Self::FogVolume, Self::LevelSet, Self::Staggered];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::FogVolume => "fog volume",
            Self::LevelSet => "level set",
            Self::Staggered => "staggered",
        }
    }

    fn from_name(name: &str) -> Self {
        Self::ALL.into_iter().find(|class| class.name() == name).unwrap_or(Self::Unknown)
    }
}

/// How many bits a number has in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VdbPrecision {
    /// 32 bits: exact.
    #[default]
    Full,
    /// 16 bits, rounded to nearest: three digits, up to 65504, which also stands for everything above. Plenty for density.
    Half,
}

/// How values are packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VdbCompression {
    /// Active values only, deflated where that saves an eighth or more: runs of equal values, not smooth fields.
    #[default]
    Zip,
    /// Active values only, as they are.
    ActiveOnly,
    /// All values of every leaf, as they are.
    None,
}

/// What concerns the whole file.
#[derive(Clone, Debug, Default)]
pub struct VdbOptions {
    /// How values are packed.
    pub compression: VdbCompression,
    /// What else the file tells, such as `creator`, `frame`, `fps` and `time`.
    pub metadata: Metadata,
}
