//! Triangle meshes from and to files: OBJ, PLY, STL, glTF, USD; particles as PLY.
//!
//! Files come from anywhere: every count is checked against the size of the file before memory is taken, every number is
//! finite, every index exists. Coordinates are taken as metres with y up, as they stand.
//!
//! | format | read | written |
//! |---|---|---|
//! | OBJ | polygons of all groups as one mesh | yes |
//! | PLY | text, binary of both byte orders | binary, little endian |
//! | STL | text, binary; corners at the same place become one | no |
//! | glTF, GLB | triangles of all nodes of the scene, transformed and animated; no compression, bones or morph targets | GLB |
//! | USD | no | text, with time samples |
//!
//! Surfaces of liquids ([`SurfaceMesh`](squall_core::surface::SurfaceMesh)) go to all formats that are written, with normals, velocities
//! and attributes where the format has room. Nothing is written that is not finite.

mod build;
mod glb;
mod gltf;
mod gltf_buffer;
mod gltf_motion;
mod obj;
mod obj_write;
mod particles;
#[cfg(test)]
mod particles_tests;
mod ply;
mod ply_table;
mod ply_write;
mod stl;
mod surface;
#[cfg(test)]
mod surface_tests;
#[cfg(test)]
mod tests;
mod text;
mod usda;

use crate::output::IoError;
use build::Fault;
pub use glb::{GlbMaterial, write_glb};
pub use obj_write::{write_obj, write_surface_obj};
pub(crate) use particles::check as check_particles;
pub use particles::{LoadedParticles, read_particles_ply, write_particles_npy, write_particles_ply};
pub use ply_table::read_surface_ply;
pub use ply_write::{write_ply, write_surface_ply};
use squall_core::shape::TriangleMesh;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
pub(crate) use surface::names as attribute_names;
pub use surface::{UpAxis, z_up};
pub use usda::{UsdaSequence, write_surface_usda};

/// A larger file is refused.
const MOST_BYTES: u64 = 512 << 20;

/// Longer animations are refused.
const MOST_FRAMES: f64 = 10_000.0;

/// A mesh and what is worth knowing about how it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedMesh {
    /// The mesh: not empty, all coordinates finite, all indices valid, no triangle without area.
    pub mesh: TriangleMesh,
    /// What was left out or changed, one sentence each.
    pub notes: Vec<String>,
}

/// Where in a file something is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line of text, counted from 1.
    Line(usize),
    /// A byte, counted from 0.
    Byte(usize),
    /// No place in particular.
    Whole,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(line) => write!(f, ", line {line}"),
            Place::Byte(byte) => write!(f, ", byte {byte}"),
            Place::Whole => Ok(()),
        }
    }
}

/// Why a mesh cannot be read. The message names the file, the place, what is wrong and what helps.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeshFileError {
    /// The file cannot be read at all.
    #[error(transparent)]
    Io(#[from] IoError),
    /// Its content makes no sense.
    #[error("{}{place}: {what}", .path.display())]
    Content {
        /// Which file.
        path: PathBuf,
        /// Where in it.
        place: Place,
        /// What is wrong and what helps.
        what: String,
    },
}

/// Reads a mesh. The format is recognised by the first bytes of the file, or else by its extension.
pub fn load_mesh(path: impl AsRef<Path>) -> Result<LoadedMesh, MeshFileError> {
    let path = path.as_ref();
    parse_mesh(&read_limited(path, MOST_BYTES)?, path)
}

/// Reads a mesh from the content of the file `path`: it need not exist, but buffers of a glTF file are looked for next to
/// it.
pub fn parse_mesh(data: &[u8], path: impl AsRef<Path>) -> Result<LoadedMesh, MeshFileError> {
    let path = path.as_ref();
    let folder = path.parent().unwrap_or(Path::new(""));
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    parse(data, &extension, folder).map_err(|Fault { place, what }| MeshFileError::Content {
        path: path.to_owned(),
        place,
        what,
    })
}

/// Reads the meshes of an animation from the content of the file `path`: `fps` a second, from time 0 to its end, with the same
/// triangles all. One mesh if the file has no animation.
pub fn parse_mesh_frames(data: &[u8], path: impl AsRef<Path>, fps: f64) -> Result<Vec<TriangleMesh>, MeshFileError> {
    let path = path.as_ref();
    let folder = path.parent().unwrap_or(Path::new(""));
    let is_text = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gltf"));
    let file = match is_text || data.starts_with(b"glTF") {
        true if data.starts_with(b"glTF") => gltf::parse_binary(data, folder),
        true => gltf::parse_text(data, folder),
        false => return Ok(vec![parse_mesh(data, path)?.mesh]),
    };
    let meshes = file.and_then(|file| {
        let first = file.mesh(0.0)?.mesh;
        let frames = (file.seconds * fps + 1e-6).floor() + 1.0;
        let bytes = size_of_val(&*first.vertices) + size_of_val(&*first.triangles);
        if frames * bytes as f64 > MOST_BYTES as f64 || frames > MOST_FRAMES {
            return Err(Fault::whole(format!(
                "its animation has {frames} frames of {} triangles; at most {MOST_FRAMES} and {} MB are read: simplify the \
                 mesh, or lower `fps`",
                first.triangles.len(),
                MOST_BYTES >> 20
            )));
        }
        let others = (1..frames as usize).map(|i| Ok(file.mesh(i as f64 / fps)?.mesh));
        std::iter::once(Ok(first)).chain(others).collect()
    });
    meshes.map_err(|Fault { place, what }| MeshFileError::Content { path: path.to_owned(), place, what })
}

/// Reads a mesh from the content of a file. `folder` is where buffers of a glTF file lie.
fn parse(data: &[u8], extension: &str, folder: &Path) -> Result<LoadedMesh, Fault> {
    match extension {
        _ if data.starts_with(b"ply\n") || data.starts_with(b"ply\r") => ply::parse(data),
        _ if data.starts_with(b"glTF") => gltf::parse_binary(data, folder)?.mesh(0.0),
        "gltf" => gltf::parse_text(data, folder)?.mesh(0.0),
        "stl" => stl::parse(data),
        "obj" => obj::parse(data),
        "ply" => Err(Fault::at(0, "this is no PLY file: it does not begin with \"ply\"")),
        "glb" => Err(Fault::at(0, "this is no GLB file: it does not begin with \"glTF\"")),
        _ => Err(Fault::whole("the format is not known: use .obj, .ply, .stl, .gltf or .glb")),
    }
}

/// The bytes of a regular file of limited size.
fn read_limited(path: &Path, most: u64) -> Result<Vec<u8>, MeshFileError> {
    let content = |what: String| MeshFileError::Content { path: path.to_owned(), place: Place::Whole, what };
    // Asked before opening: opening a pipe would wait for its other end.
    let metadata = std::fs::metadata(path).map_err(IoError::file(path, "read"))?;
    if !metadata.is_file() {
        return Err(content("this is not a file".into()));
    }
    if metadata.len() > most {
        let (size, most) = (metadata.len() >> 20, most >> 20);
        return Err(content(format!("{size} MB are too much, at most {most} MB are read: simplify the mesh")));
    }
    let mut data = Vec::with_capacity(metadata.len() as usize);
    let file = File::open(path).map_err(IoError::file(path, "read"))?;
    // It may have grown since.
    file.take(most).read_to_end(&mut data).map_err(IoError::file(path, "read"))?;
    Ok(data)
}
