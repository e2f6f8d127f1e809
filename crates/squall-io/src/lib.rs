//! Files for Squall: pictures, movies, meshes, checkpoints, output folders, raw fields.
//!
//! Everything is written through [`OutputFile`], so that no file exists under its final name unless it is whole.
//!
//! | module | what it holds |
//! |---|---|
//! | [`output`] | [`OutputFile`], the one writer of the project, and [`IoError`] |
//! | [`image`] | PNG, 8 and 16 bits |
//! | [`picture`] | pictures, drawings and letters of users, as densities |
//! | [`movie`] | GIF, APNG and MP4 from finished PNG frames |
//! | [`mesh`] | triangle meshes: OBJ, PLY, STL, glTF, USD; particles: PLY, NumPy |
//! | [`outline`] | outlines of liquids in 2D: SVG |
//! | `checkpoint` | the state of a simulation, for exact resume |
//! | [`folder`] | the output folder of a scene and its manifest |
//! | [`records`] | size and checksum of every finished file |
//! | [`vdb`] | OpenVDB volumes, read and written |
//! | [`exr`] | OpenEXR pictures: linear light, with alpha and depth |
//! | [`npy`] | fields for NumPy |

mod caught;
pub mod checkpoint;
mod dither;
pub mod exr;
pub mod folder;
mod gif_movie;
pub mod image;
mod light;
pub mod mesh;
pub mod movie;
mod mp4_movie;
pub mod npy;
pub mod outline;
pub mod output;
mod palette;
pub mod picture;
mod png_chunks;
pub mod records;
mod scene_hash;
#[cfg(test)]
mod test_folder;
pub mod vdb;

pub use checkpoint::{Checkpoint, CheckpointError, Position};

pub use crate::caught::panics_are_caught;
pub use crate::image::{Picture, Samples, read_png, read_png16, write_map, write_png, write_png16};
pub use exr::{ExrPass, ExrPixels, ExrPrecision, ExrTime, read_exr, write_exr};
pub use folder::{Files, FolderError, Manifest, OutputFolder, Owner, Start};
pub use light::{Light, parse_light};
pub use mesh::{
    GlbMaterial, LoadedMesh, LoadedParticles, MeshFileError, UpAxis, UsdaSequence, load_mesh, parse_mesh,
    parse_mesh_frames, read_particles_ply, read_surface_ply, write_glb, write_obj, write_particles_npy,
    write_particles_ply, write_ply, write_surface_obj, write_surface_ply, write_surface_usda, z_up,
};
pub use movie::{MovieError, MovieFormat, assemble};
pub use npy::{read_npy, write_npy};
pub use outline::{OutlineStyle, write_outline_svg};
pub use output::{
    IoError, OutputFile, open_file, read_file, read_text, sweep_temporaries, sync_files, sync_folder, write_whole,
};
pub use records::{Damage, Stamp, Tally};
pub use scene_hash::SceneHash;
pub use vdb::{
    VdbClass, VdbCompression, VdbGrid, VdbOptions, VdbPoints, VdbPrecision, VdbValues, read_vdb, read_vdb_info,
    write_vdb, write_vdb_points,
};
