//! Meshes to files.

use crate::output::{IoError, OutputFile};
use squall_core::shape::TriangleMesh;
use std::io::{self, Write};
use std::path::Path;

/// Writes a mesh as Wavefront OBJ.
pub fn write_obj(path: impl AsRef<Path>, mesh: &TriangleMesh) -> Result<(), IoError> {
    let mut file = OutputFile::create(path)?;
    let written = (|| -> io::Result<()> {
        for [x, y, z] in &mesh.vertices {
            writeln!(file, "v {x} {y} {z}")?;
        }
        for [a, b, c] in mesh.triangles.iter().map(|triangle| triangle.map(|vertex| vertex + 1)) {
            writeln!(file, "f {a} {b} {c}")?;
        }
        Ok(())
    })();
    written.map_err(|e| file.explain(e))?;
    file.finish()
}

/// Writes a mesh as binary PLY, little endian, coordinates as `f32`.
pub fn write_ply(path: impl AsRef<Path>, mesh: &TriangleMesh) -> Result<(), IoError> {
    let mut file = OutputFile::create(path)?;
    let written = (|| -> io::Result<()> {
        write!(
            file,
            "ply\nformat binary_little_endian 1.0\nelement vertex {}\nproperty float x\nproperty float y\n\
             property float z\nelement face {}\nproperty list uchar uint vertex_indices\nend_header\n",
            mesh.vertices.len(),
            mesh.triangles.len()
        )?;
        for vertex in &mesh.vertices {
            for x in vertex {
                file.write_all(&(*x as f32).to_le_bytes())?;
            }
        }
        for triangle in &mesh.triangles {
            file.write_all(&[3])?;
            for vertex in triangle {
                file.write_all(&vertex.to_le_bytes())?;
            }
        }
        Ok(())
    })();
    written.map_err(|e| file.explain(e))?;
    file.finish()
}
