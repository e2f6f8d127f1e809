//! `squall info`: what is in volumes and checkpoints.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use squall_io::checkpoint::{Checkpoint, Entry};
use squall_io::vdb::{MetaValue, Metadata, VdbGridInfo, VdbInfo};
use squall_io::{IoError, Position, SceneHash, VdbPrecision, read_vdb_info};

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
    let mut code = Code::Done;
    for (i, path) in args.files.iter().enumerate() {
        let seen = Seen::look(path)?;
        if seen.is_damaged() {
            code = Code::Input;
        }
        if args.json {
            json_line(seen.json());
        } else {
            print(format!("{}{seen}", if i > 0 { "\n" } else { "" }))?;
        }
    }
    Ok(code)
}

/// A file and what it turned out to be.
struct Seen<'a> {
    path: &'a Path,
    size: u64,
    content: Content,
}

enum Content {
    Vdb(VdbInfo),
    Checkpoint { position: Position, scene: SceneHash, entries: Vec<(String, Entry)> },
}

impl<'a> Seen<'a> {
    /// Looks at the content: names may lie.
    fn look(path: &'a Path) -> Result<Self, Failure> {
        let unreadable = |source| Failure::from(IoError::File { path: path.to_owned(), action: "read", source });
        // Opening a pipe would wait for ever.
        if !path.metadata().map_err(unreadable)?.is_file() {
            return Err(Failure::new(Code::Input, format!("{} is not a file", path.display()), None));
        }
        let mut file = File::open(path).map_err(unreadable)?;
        let mut start = Vec::new();
        file.by_ref().take(8).read_to_end(&mut start).map_err(unreadable)?;
        let size = file.metadata().map_err(unreadable)?.len();
        let content = match start.as_slice() {
            [b' ', b'B', b'D', b'V', ..] => Content::Vdb(read_vdb_info(path)?),
            b"SQUALLCP" => {
                let checkpoint = Checkpoint::open_any(path)?;
                let (position, scene) = (checkpoint.position, checkpoint.scene);
                Content::Checkpoint { position, scene, entries: checkpoint.entries()? }
            }
            _ => {
                let text = format!("{} is neither an OpenVDB file nor a checkpoint of Squall", path.display());
                let help = "for a scene, use `squall check`".to_owned();
                return Err(Failure::new(Code::Input, text, Some(help)));
            }
        };
        Ok(Self { path, size, content })
    }

    /// Whether a part of it cannot be read.
    fn is_damaged(&self) -> bool {
        match &self.content {
            Content::Vdb(info) => {
                let known = |grid: &VdbGridInfo| ["float", "vec3s"].contains(&grid.kind.as_str());
                info.grids.iter().any(|grid| known(grid) && (grid.values.is_err() || grid.transform.is_err()))
            }
            Content::Checkpoint { .. } => false,
        }
    }

    fn json(&self) -> Value {
        let Self { path, size, content } = self;
        match content {
            Content::Vdb(info) => json!({
                "path": path, "type": "openvdb", "bytes": size, "version": info.version, "uuid": info.uuid,
                "metadata": metadata_json(&info.metadata),
                "grids": info.grids.iter().map(grid_json).collect::<Vec<_>>(),
            }),
            Content::Checkpoint { position, scene, entries } => {
                let entry = |(name, entry): &(String, Entry)| match entry {
                    Entry::Integer(v) => json!({ "name": name, "integer": v }),
                    Entry::Real(v) => json!({ "name": name, "real": v }),
                    Entry::Array(n) => json!({ "name": name, "values": n }),
                };
                json!({
                    "path": path, "type": "checkpoint", "bytes": size, "frame": position.frame, "step": position.step,
                    "scene": scene.to_string(), "entries": entries.iter().map(entry).collect::<Vec<_>>(),
                })
            }
        }
    }
}

impl fmt::Display for Seen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, size) = (self.path.display(), bytes(self.size));
        match &self.content {
            Content::Vdb(info) => {
                let grids = if info.grids.len() == 1 { "grid" } else { "grids" };
                writeln!(f, "{path}: OpenVDB {}, {} {grids}, {size}", info.version, info.grids.len())?;
                for (name, value) in &info.metadata {
                    writeln!(f, "  {name} = {value}")?;
                }
                info.grids.iter().try_for_each(|grid| write_grid(f, grid))
            }
            Content::Checkpoint { position: Position { frame, step }, scene, entries } => {
                writeln!(f, "{path}: checkpoint after frame {frame}, step {step}, {size}")?;
                writeln!(f, "  scene {scene}")?;
                entries.iter().try_for_each(|(name, entry)| match entry {
                    Entry::Integer(v) => writeln!(f, "  {name} = {v}"),
                    Entry::Real(v) => writeln!(f, "  {name} = {v}"),
                    Entry::Array(n) => writeln!(f, "  {name}: {n} values"),
                })
            }
        }
    }
}

fn precision(grid: &VdbGridInfo) -> &'static str {
    if grid.precision == VdbPrecision::Half { "half" } else { "full" }
}

fn write_grid(f: &mut fmt::Formatter<'_>, grid: &VdbGridInfo) -> fmt::Result {
    let VdbGridInfo { name, kind, class, compression, .. } = grid;
    writeln!(f, "  {name}: {kind}, {}, {} floats, compression {compression}", class.name(), precision(grid))?;
    match &grid.transform {
        Ok(transform) => {
            let [x, y, z] = transform.voxel_size();
            match x == y && y == z {
                true => writeln!(f, "    voxel size {x} m")?,
                false => writeln!(f, "    voxel size {x} x {y} x {z} m")?,
            }
        }
        Err(why) => writeln!(f, "    voxel size unknown: {why}")?,
    }
    if let Some((low, high)) = grid.bounds {
        write!(f, "    cells {low:?} to {high:?}")?;
        if let Ok(transform) = &grid.transform {
            let (low, high) = transform.bounds(low, high);
            write!(f, ", {low:?} to {high:?} m")?;
        }
        writeln!(f)?;
    }
    if let Some(active) = grid.active_voxels {
        writeln!(f, "    {active} active voxels")?;
    }
    match &grid.values {
        Ok(values) => {
            for (component, range) in values.ranges.iter().enumerate() {
                let label = if values.ranges.len() == 3 { &"xyz"[component..=component] } else { "values" };
                let background = values.background.get(component).copied().unwrap_or_default();
                match range {
                    Some((low, high)) => writeln!(f, "    {label} {low} to {high}, background {background}")?,
                    None => writeln!(f, "    {label} only background, {background}")?,
                }
            }
            if values.not_finite > 0 {
                writeln!(f, "    {} values are not finite", values.not_finite)?;
            }
        }
        Err(why) => writeln!(f, "    values unknown: {why}")?,
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
