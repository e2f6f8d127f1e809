//! PLY files as Squall writes them, with everything that is in them: binary, little endian, numbers of four bytes, triangles.

use super::build::{Fault, quote};
use super::ply::{Header, Kind, Numbers, Property, header};
use super::ply_write::COLORS;
use super::surface::from_srgb;
use super::{MeshFileError, read_limited};
use squall_core::surface::SurfaceMesh;
use std::path::Path;

/// A larger file is refused. Simulations write larger ones than users bring.
const MOST_BYTES: u64 = 8 << 30;

/// Bytes of a triangle: a count and three vertices.
const TRIANGLE: usize = 13;

/// The vertices of a file, a list for each property, and its triangles.
pub(super) struct Table {
    pub comments: Vec<String>,
    pub floats: Vec<(String, Vec<f32>)>,
    pub whole: Vec<(String, Vec<u32>)>,
    /// Bytes of sRGB.
    pub colors: Vec<[u8; 3]>,
    pub triangles: Vec<[u32; 3]>,
}

impl Table {
    /// The values of the property of that name, which are then no longer in the table.
    pub fn take(&mut self, name: &str) -> Option<Vec<f32>> {
        let at = self.floats.iter().position(|(known, _)| known == name)?;
        Some(self.floats.remove(at).1)
    }

    /// Three properties as vectors; none if any is missing.
    fn take_vectors(&mut self, names: [&str; 3]) -> Option<Vec<[f32; 3]>> {
        if !names.iter().all(|name| self.floats.iter().any(|(known, _)| known == name)) {
            return None;
        }
        let [x, y, z] = names.map(|name| self.take(name).unwrap_or_default());
        Some(x.into_iter().zip(y).zip(z).map(|((x, y), z)| [x, y, z]).collect())
    }
}

/// Reads a surface as [`write_surface_ply`](super::write_surface_ply) writes it, with normals, velocities, colours and attributes. It
/// may be empty.
pub fn read_surface_ply(path: impl AsRef<Path>) -> Result<SurfaceMesh, MeshFileError> {
    read(path.as_ref(), |mut table| {
        let missing = || Fault::whole("its vertices lack x, y or z");
        Ok(SurfaceMesh {
            positions: table.take_vectors(["x", "y", "z"]).ok_or_else(missing)?,
            normals: table.take_vectors(["nx", "ny", "nz"]).unwrap_or_default(),
            velocities: table.take_vectors(["vx", "vy", "vz"]).unwrap_or_default(),
            colors: table.colors.iter().map(|color| from_srgb(color.map(|v| f32::from(v) / 255.0))).collect(),
            attributes: table.floats,
            triangles: table.triangles,
        })
    })
}

/// Reads a file and makes something of its table.
pub(super) fn read<T>(path: &Path, make: impl FnOnce(Table) -> Result<T, Fault>) -> Result<T, MeshFileError> {
    let data = read_limited(path, MOST_BYTES)?;
    parse(&data).and_then(make).map_err(|Fault { place, what }| MeshFileError::Content {
        path: path.to_owned(),
        place,
        what,
    })
}

pub(super) fn parse(data: &[u8]) -> Result<Table, Fault> {
    if !data.starts_with(b"ply\n") {
        return Err(Fault::at(0, "this is no PLY file: it does not begin with \"ply\""));
    }
    let foreign = |what: &str| Fault::whole(format!("{what}: only PLY files that Squall wrote can be read here"));
    let Header { elements, comments, numbers, .. } = header(data)?;
    let Numbers::Binary { at: start, big_endian: false, .. } = numbers else {
        return Err(foreign("it is not binary and little endian"));
    };
    let (vertices, faces) = match elements.as_slice() {
        [vertices] if vertices.name == b"vertex" => (vertices, 0),
        [vertices, faces] if vertices.name == b"vertex" && faces.name == b"face" => {
            let is_ours = matches!(&faces.properties[..], [p] if p.list == Some(Kind::U8) && p.kind == Kind::U32);
            (vertices, if is_ours { faces.count } else { return Err(foreign("its faces have unknown properties")) })
        }
        _ => return Err(foreign("it holds other things than vertices and faces")),
    };
    // Four bytes for each: a number, or a colour.
    let is_color = |four: &[Property]| {
        four.iter().zip(COLORS).all(|(p, name)| p.list.is_none() && p.kind == Kind::U8 && p.name == name.as_bytes())
    };
    let mut words: Vec<&Property> = Vec::new();
    let mut rest = &vertices.properties[..];
    while let [property, behind @ ..] = rest {
        words.push(property);
        rest = match rest.split_at_checked(COLORS.len()) {
            Some((four, behind)) if is_color(four) => behind,
            _ if property.list.is_some() || !matches!(property.kind, Kind::F32 | Kind::U32) => {
                return Err(foreign(&format!("{} is not of the type float or uint", quote(&property.name))));
            }
            _ => behind,
        };
    }
    // Before any memory is taken: a lie in the header ends here.
    let stride = 4 * words.len();
    let bytes = |count: usize, each: usize| count.checked_mul(each);
    let size = bytes(vertices.count, stride).zip(bytes(faces, TRIANGLE)).and_then(|(v, f)| v.checked_add(f));
    match size.and_then(|size| size.checked_add(start)) {
        Some(end) if end == data.len() => {}
        Some(end) if end < data.len() => {
            return Err(Fault::at(end, format!("{} bytes too many", data.len() - end)));
        }
        _ => {
            let what =
                format!("the file ends too early for {} vertices and {faces} faces: is it whole?", vertices.count);
            return Err(Fault::at(data.len(), what));
        }
    }

    let (rows, faces) = data[start..].split_at(vertices.count * stride);
    let comments = comments.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect();
    let (floats, whole, colors) = (Vec::new(), Vec::new(), Vec::new());
    let mut table = Table { comments, floats, whole, colors, triangles: Vec::new() };
    for (p, property) in words.iter().enumerate() {
        let name = String::from_utf8_lossy(&property.name).into_owned();
        let words = rows.as_chunks::<4>().0.iter().skip(p).step_by(words.len());
        if property.kind == Kind::U8 {
            table.colors = words.map(|[r, g, b, _]| [*r, *g, *b]).collect();
            continue;
        }
        if property.kind == Kind::U32 {
            table.whole.push((name, words.map(|w| u32::from_le_bytes(*w)).collect()));
            continue;
        }
        let values: Vec<f32> = words.map(|w| f32::from_le_bytes(*w)).collect();
        if let Some(bad) = values.iter().position(|x| !x.is_finite()) {
            let what = format!("{} of vertex {bad} (from 0) is {}", quote(&property.name), values[bad]);
            return Err(Fault::at(start + bad * stride + 4 * p, what));
        }
        table.floats.push((name, values));
    }
    let start = data.len() - faces.len();
    table.triangles.reserve_exact(faces.len() / TRIANGLE);
    for (f, [corners, rest @ ..]) in faces.as_chunks::<TRIANGLE>().0.iter().enumerate() {
        let fault = |what: String| Err(Fault::at(start + f * TRIANGLE, what));
        if *corners != 3 {
            return fault(format!("a face with {corners} corners: Squall writes triangles"));
        }
        let [a, b, c, ..] = rest.as_chunks::<4>().0 else { continue };
        let triangle = [a, b, c].map(|word| u32::from_le_bytes(*word));
        if let Some(v) = triangle.iter().find(|&&v| v as usize >= vertices.count) {
            return fault(format!("a face uses vertex {v} (from 0), but there are {}", vertices.count));
        }
        table.triangles.push(triangle);
    }
    Ok(table)
}
