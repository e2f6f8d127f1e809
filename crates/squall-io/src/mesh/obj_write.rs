//! Meshes as Wavefront OBJ.

use super::surface::{check, to_srgb};
use super::text::{put_number, put_whole, write_list};
use crate::output::{IoError, OutputFile};
use squall_core::shape::TriangleMesh;
use squall_core::surface::SurfaceMesh;
use std::fmt::{Display, LowerExp};
use std::io;
use std::path::Path;

/// Writes a mesh as Wavefront OBJ.
pub fn write_obj(path: impl AsRef<Path>, mesh: &TriangleMesh) -> Result<(), IoError> {
    write(path.as_ref(), &mesh.vertices, &[], &[], &mesh.triangles)
}

/// Writes a surface as Wavefront OBJ: places, and normals if they are known; colours stand behind places, in sRGB from 0 to 1, as Blender and MeshLab
/// read them. The format has no room for more.
pub fn write_surface_obj(path: impl AsRef<Path>, mesh: &SurfaceMesh) -> Result<(), IoError> {
    check(path.as_ref(), mesh)?;
    let colors: Vec<[f32; 3]> = mesh.colors.iter().map(|color| to_srgb(*color)).collect();
    write(path.as_ref(), &mesh.positions, &colors, &mesh.normals, &mesh.triangles)
}

fn write<T>(
    path: &Path,
    places: &[[T; 3]],
    colors: &[[f32; 3]],
    normals: &[[T; 3]],
    triangles: &[[u32; 3]],
) -> Result<(), IoError>
where
    T: Display + LowerExp + Copy + Into<f64> + Sync,
{
    let mut file = OutputFile::create(path)?;
    let written = (|| -> io::Result<()> {
        for (word, vectors) in [("v", places), ("vn", normals)] {
            let colors = if word == "v" { colors } else { &[] };
            write_list(&mut file, vectors, |out, i, vector| {
                out.extend_from_slice(word.as_bytes());
                for &x in vector {
                    out.push(b' ');
                    put_number(out, x);
                }
                // Ten thousandths: finer than any screen.
                for v in colors.get(i).iter().flat_map(|color| color.iter()) {
                    out.extend_from_slice(format!(" {v:.4}").as_bytes());
                }
                out.push(b'\n');
            })?;
        }
        write_list(&mut file, triangles, |out, _, triangle| {
            out.push(b'f');
            for vertex in triangle.map(|vertex| u64::from(vertex) + 1) {
                out.push(b' ');
                put_whole(out, vertex);
                if !normals.is_empty() {
                    out.extend_from_slice(b"//");
                    put_whole(out, vertex);
                }
            }
            out.push(b'\n');
        })
    })();
    written.map_err(|e| file.explain(e))?;
    file.finish()
}
