//! Meshes and tables as binary PLY, little endian.

use super::surface::{check, names, to_srgb};
use crate::output::{IoError, OutputFile};
use squall_core::shape::TriangleMesh;
use squall_core::surface::SurfaceMesh;
use std::io::{self, Write};
use std::path::Path;

/// Rows that are put together before they are written.
const CHUNK: usize = 1 << 12;

/// Names with a meaning of their own, which no attribute may take.
pub(super) const TAKEN: [&str; 10] = ["x", "y", "z", "nx", "ny", "nz", "vx", "vy", "vz", "id"];

/// The properties of colours: bytes of sRGB, and opacity, which makes them as long as a number.
pub(super) const COLORS: [&str; 4] = ["red", "green", "blue", "alpha"];

/// Properties of all vertices.
pub(super) enum Column<'a> {
    Vectors([&'static str; 3], &'a [[f32; 3]]),
    /// Rounded to single precision.
    Doubles([&'static str; 3], &'a [[f64; 3]]),
    Floats(&'a str, &'a [f32]),
    Whole(&'a str, &'a [u32]),
    /// In linear light.
    Colors(&'a [[f32; 3]]),
}

impl Column<'_> {
    fn bytes(&self) -> usize {
        if matches!(self, Self::Vectors(..) | Self::Doubles(..)) { 12 } else { 4 }
    }

    fn describe(&self) -> String {
        match self {
            Self::Vectors(names, _) | Self::Doubles(names, _) => {
                names.iter().map(|name| format!("property float {name}\n")).collect()
            }
            Self::Floats(name, _) => format!("property float {name}\n"),
            Self::Whole(name, _) => format!("property uint {name}\n"),
            Self::Colors(_) => COLORS.iter().map(|name| format!("property uchar {name}\n")).collect(),
        }
    }

    /// Puts the values of the rows from `first` on into `rows`, `at` bytes after the start of each.
    fn put(&self, first: usize, rows: &mut [u8], stride: usize, at: usize) {
        let rows = rows.chunks_exact_mut(stride).map(|row| &mut row[at..at + self.bytes()]);
        match self {
            Self::Vectors(_, values) => rows.zip(&values[first..]).for_each(|(row, v)| put(row, *v)),
            Self::Doubles(_, values) => {
                rows.zip(&values[first..]).for_each(|(row, v)| put(row, v.map(|x| x as f32)));
            }
            Self::Floats(_, values) => {
                rows.zip(&values[first..]).for_each(|(row, x)| row.copy_from_slice(&x.to_le_bytes()));
            }
            Self::Whole(_, values) => {
                rows.zip(&values[first..]).for_each(|(row, n)| row.copy_from_slice(&n.to_le_bytes()));
            }
            Self::Colors(values) => rows.zip(&values[first..]).for_each(|(row, color)| {
                let [r, g, b] = to_srgb(*color).map(|v| (255.0 * v).round() as u8);
                row.copy_from_slice(&[r, g, b, 255]);
            }),
        }
    }
}

fn put(row: &mut [u8], vector: [f32; 3]) {
    row.copy_from_slice(vector.map(f32::to_le_bytes).as_flattened());
}

/// Writes a mesh as binary PLY, little endian, coordinates as `f32`.
pub fn write_ply(path: impl AsRef<Path>, mesh: &TriangleMesh) -> Result<(), IoError> {
    let columns = [Column::Doubles(["x", "y", "z"], &mesh.vertices)];
    write_table(path.as_ref(), &[], mesh.vertices.len(), &columns, Some(&mesh.triangles))
}

/// Writes a surface as binary PLY: `x y z`, then `nx ny nz`, `vx vy vz` and `red green blue alpha` (bytes of sRGB) where known, then each
/// attribute under its name.
///
/// Whatever in a name is neither a letter nor a digit becomes `_`; a name that is taken gets a number.
pub fn write_surface_ply(path: impl AsRef<Path>, mesh: &SurfaceMesh) -> Result<(), IoError> {
    check(path.as_ref(), mesh)?;
    let colors: &[&str] = if mesh.colors.is_empty() { &[] } else { &COLORS };
    let names = names(mesh.attributes.iter().map(|(name, _)| name.as_str()), &[&TAKEN, colors].concat());
    let vectors = [
        Column::Vectors(["x", "y", "z"], &mesh.positions),
        Column::Vectors(["nx", "ny", "nz"], &mesh.normals),
        Column::Vectors(["vx", "vy", "vz"], &mesh.velocities),
    ];
    let attributes = names.iter().zip(&mesh.attributes).map(|(name, (_, values))| Column::Floats(name, values));
    // What is not known has no column; places have one even if there are none.
    let is_known = |(i, column): &(usize, Column<'_>)| {
        *i == 0 || !matches!(column, Column::Vectors(_, values) if values.is_empty())
    };
    let vectors = vectors.into_iter().enumerate().filter(is_known).map(|(_, column)| column);
    let colors = (!mesh.colors.is_empty()).then_some(Column::Colors(&mesh.colors));
    let columns: Vec<Column<'_>> = vectors.chain(colors).chain(attributes).collect();
    write_table(path.as_ref(), &[], mesh.positions.len(), &columns, Some(&mesh.triangles))
}

/// Writes the vertices of a PLY file, with one row for each, and its triangles unless there is no such thing.
pub(super) fn write_table(
    path: &Path,
    comments: &[String],
    count: usize,
    columns: &[Column<'_>],
    triangles: Option<&[[u32; 3]]>,
) -> Result<(), IoError> {
    let mut file = OutputFile::create(path)?;
    let written = (|| -> io::Result<()> {
        file.write_all(b"ply\nformat binary_little_endian 1.0\n")?;
        comments.iter().try_for_each(|comment| writeln!(file, "comment {comment}"))?;
        writeln!(file, "element vertex {count}")?;
        columns.iter().try_for_each(|column| file.write_all(column.describe().as_bytes()))?;
        if let Some(triangles) = triangles {
            write!(file, "element face {}\nproperty list uchar uint vertex_indices\n", triangles.len())?;
        }
        file.write_all(b"end_header\n")?;

        let stride = columns.iter().map(Column::bytes).sum();
        let mut rows = Vec::new();
        for first in (0..count).step_by(CHUNK) {
            rows.resize((count - first).min(CHUNK) * stride, 0);
            let mut at = 0;
            for column in columns {
                column.put(first, &mut rows, stride, at);
                at += column.bytes();
            }
            file.write_all(&rows)?;
        }
        for some in triangles.unwrap_or_default().chunks(CHUNK) {
            rows.clear();
            for triangle in some {
                rows.push(3);
                rows.extend_from_slice(triangle.map(u32::to_le_bytes).as_flattened());
            }
            file.write_all(&rows)?;
        }
        Ok(())
    })();
    written.map_err(|e| file.explain(e))?;
    file.finish()
}
