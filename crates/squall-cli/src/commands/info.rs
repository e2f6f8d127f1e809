//! `squall info`: what is in volumes and checkpoints.

use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use squall_io::checkpoint::{Checkpoint, Entry};
use squall_io::vdb::{MetaValue, Metadata, VdbGridInfo, VdbInfo};
use squall_io::{VdbPrecision, read_vdb_info};

use crate::exit::{Code, Failure};
use crate::output::{bytes, print};
use crate::progress::json_line;

/// Show what is in volumes and checkpoints
///
/// For OpenVDB files (.vdb): grids, cells, values. For checkpoints (.sqc): where the run is, and its state.
#[derive(clap::Args)]
pub struct Args {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// One JSON object per file and line
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<Code, Failure> {
    for (i, path) in args.files.iter().enumerate() {
        let seen = look(path)?;
        if args.json {
            json_line(seen.json(path));
        } else {
            print((if i > 0 { "\n" } else { "" }).to_owned() + &seen.text(path))?;
        }
    }
    Ok(Code::Done)
}

/// What a file turned out to be.
enum Seen {
    Vdb { size: u64, info: VdbInfo },
    Checkpoint { size: u64, frame: u64, step: u64, scene: String, entries: Vec<(String, Entry)> },
}

/// Looks at the content: names may lie.
fn look(path: &Path) -> Result<Seen, Failure> {
    let unreadable = |e| Failure::new(Code::Io, format!("cannot read {}: {e}", path.display()), None);
    let mut file = File::open(path).map_err(unreadable)?;
    let mut start = Vec::new();
    file.by_ref().take(8).read_to_end(&mut start).map_err(unreadable)?;
    let size = file.metadata().map_err(unreadable)?.len();
    match start.as_slice() {
        [b' ', b'B', b'D', b'V', ..] => Ok(Seen::Vdb { size, info: read_vdb_info(path)? }),
        b"SQUALLCP" => {
            let checkpoint = Checkpoint::open_any(path)?;
            let (position, scene) = (checkpoint.position, checkpoint.scene.to_string());
            let entries = checkpoint.entries()?;
            Ok(Seen::Checkpoint { size, frame: position.frame, step: position.step, scene, entries })
        }
        _ => {
            let text = format!("{} is neither an OpenVDB file nor a checkpoint of Squall", path.display());
            let help = "for a scene, use `squall check`".to_owned();
            Err(Failure::new(Code::Input, text, Some(help)))
        }
    }
}

impl Seen {
    fn text(&self, path: &Path) -> String {
        let path = path.display();
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = match self {
            Self::Vdb { size, info } => {
                let grids = if info.grids.len() == 1 { "grid" } else { "grids" };
                let head = format!("OpenVDB {}, {} {grids}, {}", info.version, info.grids.len(), bytes(*size));
                let _ = writeln!(text, "{path}: {head}");
                info.metadata.iter().for_each(|(name, value)| {
                    let _ = writeln!(text, "  {name} = {value}");
                });
                info.grids.iter().try_for_each(|grid| write_grid(&mut text, grid))
            }
            Self::Checkpoint { size, frame, step, scene, entries } => {
                let _ = writeln!(text, "{path}: checkpoint after frame {frame}, step {step}, {}", bytes(*size));
                let _ = writeln!(text, "  scene {scene}");
                entries.iter().try_for_each(|(name, entry)| match entry {
                    Entry::Integer(v) => writeln!(text, "  {name} = {v}"),
                    Entry::Real(v) => writeln!(text, "  {name} = {v}"),
                    Entry::Array(n) => writeln!(text, "  {name}: {n} values"),
                })
            }
        };
        text
    }

    fn json(&self, path: &Path) -> Value {
        match self {
            Self::Vdb { size, info } => json!({
                "path": path, "type": "openvdb", "bytes": size, "version": info.version, "uuid": info.uuid,
                "metadata": metadata_json(&info.metadata),
                "grids": info.grids.iter().map(grid_json).collect::<Vec<_>>(),
            }),
            Self::Checkpoint { size, frame, step, scene, entries } => {
                let entry = |(name, entry): &(String, Entry)| match entry {
                    Entry::Integer(v) => json!({ "name": name, "integer": v }),
                    Entry::Real(v) => json!({ "name": name, "real": v }),
                    Entry::Array(n) => json!({ "name": name, "values": n }),
                };
                json!({
                    "path": path, "type": "checkpoint", "bytes": size, "frame": frame, "step": step, "scene": scene,
                    "entries": entries.iter().map(entry).collect::<Vec<_>>(),
                })
            }
        }
    }
}

fn precision(grid: &VdbGridInfo) -> &'static str {
    if grid.precision == VdbPrecision::Half { "half" } else { "full" }
}

fn write_grid(text: &mut String, grid: &VdbGridInfo) -> std::fmt::Result {
    let VdbGridInfo { name, kind, class, compression, .. } = grid;
    writeln!(text, "  {name}: {kind}, {}, {} floats, compression {compression}", class.name(), precision(grid))?;
    match &grid.transform {
        Ok(transform) => {
            let [x, y, z] = transform.voxel_size();
            match x == y && y == z {
                true => writeln!(text, "    voxel size {x} m")?,
                false => writeln!(text, "    voxel size {x} x {y} x {z} m")?,
            }
        }
        Err(why) => writeln!(text, "    voxel size unknown: {why}")?,
    }
    if let Some((low, high)) = grid.bounds {
        write!(text, "    cells {low:?} to {high:?}")?;
        if let Ok(transform) = &grid.transform {
            let (low, high) = transform.bounds(low, high);
            write!(text, ", {low:?} to {high:?} m")?;
        }
        writeln!(text)?;
    }
    if let Some(active) = grid.active_voxels {
        writeln!(text, "    {active} active voxels")?;
    }
    match &grid.values {
        Ok(values) => {
            for (component, range) in values.ranges.iter().enumerate() {
                let label = if values.ranges.len() == 3 { &"xyz"[component..=component] } else { "values" };
                let background = values.background.get(component).copied().unwrap_or_default();
                match range {
                    Some((low, high)) => writeln!(text, "    {label} {low} to {high}, background {background}")?,
                    None => writeln!(text, "    {label} only background, {background}")?,
                }
            }
            if values.not_finite > 0 {
                writeln!(text, "    {} values are not finite", values.not_finite)?;
            }
        }
        Err(why) => writeln!(text, "    values unknown: {why}")?,
    }
    Ok(())
}

fn grid_json(grid: &VdbGridInfo) -> Value {
    let transform = grid.transform.as_ref().ok();
    let values = grid.values.as_ref().ok();
    let metres = transform.zip(grid.bounds).map(|(t, (low, high))| t.bounds(low, high));
    json!({
        "name": grid.name, "type": grid.kind, "class": grid.class.name(), "precision": precision(grid),
        "compression": grid.compression,
        "voxel_size": transform.map(|t| t.voxel_size()),
        "cells": grid.bounds, "metres": metres, "active_voxels": grid.active_voxels,
        "background": values.map(|v| &v.background),
        "ranges": values.map(|v| &v.ranges), "not_finite": values.map(|v| v.not_finite),
        "problem": grid.values.as_ref().err(),
        "metadata": metadata_json(&grid.metadata),
    })
}

fn metadata_json(metadata: &Metadata) -> Value {
    let value = |value: &MetaValue| match value {
        MetaValue::Text(v) => json!(v),
        MetaValue::Bool(v) => json!(v),
        MetaValue::Int(v) => json!(v),
        MetaValue::Long(v) => json!(v),
        MetaValue::Float(v) => json!(v),
        MetaValue::Double(v) => json!(v),
        MetaValue::Ints(v) => json!(v),
        MetaValue::Floats(v) => json!(v),
        MetaValue::Doubles(v) => json!(v),
        other => json!(other.to_string()),
    };
    metadata.iter().map(|(name, v)| (name.clone(), value(v))).collect()
}
