//! `squall info`: what is in volumes, meshes, particles, pictures, checkpoints and folders of runs.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use squall_io::checkpoint::{Checkpoint, Entry};
use squall_io::folder::read_manifest;
use squall_io::vdb::{MetaValue, Metadata, VdbGridInfo, VdbInfo};
use squall_io::{
    IoError, LoadedMesh, LoadedParticles, Manifest, Position, SceneHash, VdbPrecision, load_mesh, read_exr,
    read_particles_ply, read_png, read_vdb_info,
};

use crate::exit::{Code, Failure};
use crate::output::{bytes, count, print};
use crate::progress::json_line;

/// Show what is in volumes, meshes, pictures, checkpoints and runs
///
/// For OpenVDB files (.vdb): grids, cells, values. For checkpoints (.sqc): where the run is, and its state. For meshes (.obj, .ply, .stl,
/// .gltf, .glb): how large they are and where they lie. For particles (.ply): what each carries. For pictures (.png, .exr): pixels. For the
/// folder of a run: how far it is.
#[derive(clap::Args)]
pub struct Args {
    /// The files, or folders of runs
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
    Run(Manifest),
    Mesh { triangles: usize, vertices: usize, bounds: [[f64; 3]; 2], notes: Vec<String> },
    Particles { count: usize, bounds: [[f64; 3]; 2], attributes: Vec<String> },
    Picture { kind: &'static str, size: [u64; 2] },
}

/// The lowest and the highest coordinates of points.
fn bounds(points: impl Iterator<Item = [f64; 3]>) -> [[f64; 3]; 2] {
    points.fold([[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]], |[low, high], x| {
        [std::array::from_fn(|a| low[a].min(x[a])), std::array::from_fn(|a| high[a].max(x[a]))]
    })
}

impl Content {
    /// Of a file in a format that Squall writes for others, by its extension; `None` if it is none of these.
    fn of_extension(path: &Path) -> Result<Option<Self>, Failure> {
        let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        Ok(Some(match extension.as_str() {
            "png" => {
                let picture = read_png(path)?;
                Content::Picture { kind: "PNG", size: [picture.width, picture.height].map(u64::from) }
            }
            "exr" => {
                let Some(picture) = read_exr(path, "Combined")? else { return Ok(None) };
                Content::Picture { kind: "OpenEXR", size: [picture.width as u64, picture.height as u64] }
            }
            "ply" | "obj" | "stl" | "gltf" | "glb" => match load_mesh(path) {
                Ok(LoadedMesh { mesh, notes }) => Content::Mesh {
                    triangles: mesh.triangles.len(),
                    vertices: mesh.vertices.len(),
                    bounds: bounds(mesh.vertices.into_iter()),
                    notes,
                },
                Err(error) => match read_particles_ply(path) {
                    Ok(LoadedParticles { particles, .. }) if extension == "ply" => {
                        let place = |i: usize| {
                            std::array::from_fn(|a| particles.positions.get(a).map_or(0.0, |x| f64::from(x[i])))
                        };
                        Content::Particles {
                            count: particles.len(),
                            bounds: bounds((0..particles.len()).map(place)),
                            attributes: particles.attributes.iter().map(|(name, _)| name.clone()).collect(),
                        }
                    }
                    _ => return Err(squall::RunError::Mesh(error).into()),
                },
            },
            _ => return Ok(None),
        }))
    }
}

impl<'a> Seen<'a> {
    /// Looks at the content: names may lie.
    fn look(path: &'a Path) -> Result<Self, Failure> {
        let unreadable = |source| Failure::from(IoError::File { path: path.to_owned(), action: "read", source });
        if path.metadata().map_err(unreadable)?.is_dir() {
            let Some(run) = read_manifest(path)? else {
                let help = "name a file, or the folder of a run, which has a squall.json".to_owned();
                return Err(Failure::new(
                    Code::Input,
                    format!("{} is not the folder of a run", path.display()),
                    Some(help),
                ));
            };
            return Ok(Self { path, size: 0, content: Content::Run(run) });
        }
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
            _ => match Content::of_extension(path)? {
                Some(content) => content,
                None => {
                    let text = format!("{} is no volume, checkpoint, mesh or picture", path.display());
                    let help = "for a scene, use `squall check`".to_owned();
                    return Err(Failure::new(Code::Input, text, Some(help)));
                }
            },
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
            _ => false,
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
            Content::Run(run) => json!({
                "path": path, "type": "run", "scene": run.scene, "squall": run.squall, "fps": run.fps,
                "frames": run.frames_done.saturating_sub(1), "series": run.series, "single": run.single,
            }),
            Content::Mesh { triangles, vertices, bounds, notes } => json!({
                "path": path, "type": "mesh", "bytes": size, "triangles": triangles, "vertices": vertices,
                "metres": bounds, "notes": notes,
            }),
            Content::Particles { count, bounds, attributes } => json!({
                "path": path, "type": "particles", "bytes": size, "particles": count, "metres": bounds,
                "attributes": attributes,
            }),
            Content::Picture { kind, size: [width, height] } => json!({
                "path": path, "type": kind, "bytes": size, "width": width, "height": height,
            }),
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
            Content::Run(run) => {
                let Manifest { scene, squall, fps, series, single, .. } = run;
                let frames = count(run.frames_done.saturating_sub(1), "frame");
                writeln!(f, "{path}: run of `{scene}` by Squall {squall}, {frames} at {fps} per second")?;
                writeln!(f, "  of each frame: {}", series.join(", "))?;
                writeln!(f, "  other files: {}", single.join(", "))
            }
            Content::Mesh { triangles, vertices, bounds: [low, high], notes } => {
                writeln!(f, "{path}: mesh of {triangles} triangles and {vertices} vertices, {size}")?;
                writeln!(f, "  {low:?} to {high:?} m")?;
                notes.iter().try_for_each(|note| writeln!(f, "  {note}"))
            }
            Content::Particles { count, bounds: [low, high], attributes } => {
                writeln!(f, "{path}: {count} particles, {size}")?;
                if *count > 0 {
                    writeln!(f, "  {low:?} to {high:?} m")?;
                }
                attributes.iter().try_for_each(|name| writeln!(f, "  each with {name}"))
            }
            Content::Picture { kind, size: [width, height] } => {
                writeln!(f, "{path}: {kind} picture of {width} x {height} pixels, {size}", size = bytes(self.size))
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
