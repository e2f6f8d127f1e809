//! What is in a file, without keeping its values.

use std::path::Path;

use squall_core::volume::BLOCK;

use super::meta::{MetaValue, Metadata};
use super::read::{Directory, Entry, read_file};
use super::read_tree::{LeafValues, Tile, TreeVisitor};
use super::transform::Transform;
use super::tree::{count, ones, place};
use super::wire::Parsed;
use super::{VdbClass, VdbPrecision};
use crate::output::IoError;

/// What is in a file.
#[derive(Clone, Debug)]
pub struct VdbInfo {
    /// The version of the file format.
    pub version: u32,
    /// The file's name for its content.
    pub uuid: String,
    /// What the file tells about itself.
    pub metadata: Metadata,
    /// Its grids, in the order of the file.
    pub grids: Vec<VdbGridInfo>,
}

/// What is in a grid.
#[derive(Clone, Debug)]
pub struct VdbGridInfo {
    /// Its name.
    pub name: String,
    /// The type of its values: `float`, `vec3s`, or whatever the file says.
    pub kind: String,
    /// What its values mean.
    pub class: VdbClass,
    /// How they are stored.
    pub precision: VdbPrecision,
    /// How they are packed, in OpenVDB's words.
    pub compression: String,
    /// Where its cells are; an error says why that is not known.
    pub transform: Result<Transform, String>,
    /// How many cells are active.
    pub active_voxels: Option<u64>,
    /// The lowest and the highest active cell. `None` if there is none.
    pub bounds: Option<([i32; 3], [i32; 3])>,
    /// The values; an error says why they could not be read.
    pub values: Result<ValueSummary, String>,
    /// What else it tells.
    pub metadata: Metadata,
}

/// The values of a grid, in short.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueSummary {
    /// The value where nothing is stored; one number for each component.
    pub background: Vec<f32>,
    /// The least and the greatest finite active value of each component. `None` where there is none.
    pub ranges: Vec<Option<(f32, f32)>>,
    /// How many active numbers are not finite.
    pub not_finite: u64,
    /// How many blocks of 8³ cells are stored.
    pub leaves: usize,
}

/// Looks through a file. All values are read, none is kept.
pub fn read_vdb_info(path: impl AsRef<Path>) -> Result<VdbInfo, IoError> {
    let path = path.as_ref();
    let bytes = read_file(path)?;
    parse_info(&bytes).map_err(|e| IoError::content(path, e))
}

pub(super) fn parse_info(bytes: &[u8]) -> Parsed<VdbInfo> {
    let directory = Directory::read(bytes)?;
    let grids = directory.entries.iter().map(describe).collect();
    Ok(VdbInfo { version: directory.version, uuid: directory.uuid, metadata: directory.metadata, grids })
}

fn describe(entry: &Entry<'_>) -> VdbGridInfo {
    let kind = entry.kind.strip_prefix("Tree_").and_then(|k| k.strip_suffix("_5_4_3")).unwrap_or(&entry.kind);
    let surveyed = match kind {
        "float" => survey::<1>(entry),
        "vec3s" => survey::<3>(entry),
        _ => Err(format!("values of the type {kind} are not read")),
    };
    let (active_voxels, bounds, values) = match surveyed {
        Ok(survey) => (Some(survey.active), survey.bounds, Ok(survey.values)),
        Err(why) => (told_count(&entry.metadata), told_bounds(&entry.metadata), Err(why)),
    };
    VdbGridInfo {
        name: entry.name.clone(),
        kind: kind.to_owned(),
        class: entry.class(),
        precision: entry.precision(),
        compression: entry.format.describe(),
        transform: entry.transform.clone(),
        active_voxels,
        bounds,
        values,
        metadata: entry.metadata.clone(),
    }
}

fn told_count(metadata: &Metadata) -> Option<u64> {
    match metadata.get("file_voxel_count") {
        Some(MetaValue::Long(n)) => u64::try_from(*n).ok(),
        _ => None,
    }
}

fn told_bounds(metadata: &Metadata) -> Option<([i32; 3], [i32; 3])> {
    match (metadata.get("file_bbox_min"), metadata.get("file_bbox_max")) {
        (Some(&MetaValue::Ints(low)), Some(&MetaValue::Ints(high))) => {
            (0..3).all(|a| low[a] <= high[a]).then_some((low, high))
        }
        _ => None,
    }
}

#[derive(Default)]
struct Survey {
    active: u64,
    bounds: Option<([i32; 3], [i32; 3])>,
    values: ValueSummary,
}

fn survey<const N: usize>(entry: &Entry<'_>) -> Parsed<Survey> {
    let mut survey = Survey::default();
    survey.values.ranges = vec![None; N];
    entry.walk::<N>(&mut survey)?;
    Ok(survey)
}

impl<const N: usize> TreeVisitor<N> for Survey {
    fn tile(&mut self, tile: Tile<N>) -> Parsed<()> {
        if tile.is_active {
            let side = 8_i64 << tile.log;
            self.active = self.active.saturating_add(side.pow(3) as u64);
            let low = tile.block.map(|b| b * BLOCK as i32);
            self.reach(low, low.map(|x| (i64::from(x) + side - 1) as i32));
            self.value(tile.value);
        }
        Ok(())
    }

    fn topology(&mut self, background: [f32; N], leaves: &[[i32; 3]]) -> Parsed<()> {
        self.values.background = background.to_vec();
        self.values.leaves = leaves.len();
        Ok(())
    }

    fn leaf(&mut self, _: usize, block: [i32; 3], leaf: &LeafValues<N>) {
        self.active += count(&leaf.active) as u64;
        for i in ones(&leaf.active) {
            let within = place(i, 3);
            let cell = std::array::from_fn(|a| block[a] * BLOCK as i32 + within[a]);
            self.reach(cell, cell);
            self.value(leaf.values[i]);
        }
    }
}

impl Survey {
    fn reach(&mut self, low: [i32; 3], high: [i32; 3]) {
        let (mut least, mut most) = self.bounds.unwrap_or((low, high));
        for a in 0..3 {
            (least[a], most[a]) = (least[a].min(low[a]), most[a].max(high[a]));
        }
        self.bounds = Some((least, most));
    }

    fn value<const N: usize>(&mut self, value: [f32; N]) {
        for (range, v) in self.values.ranges.iter_mut().zip(value) {
            if v.is_finite() {
                let (low, high) = range.unwrap_or((v, v));
                *range = Some((low.min(v), high.max(v)));
            } else {
                self.values.not_finite += 1;
            }
        }
    }
}
