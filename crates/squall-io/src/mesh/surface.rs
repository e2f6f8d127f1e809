//! What all writers of surfaces share: checks, names, and the way up.

use crate::output::IoError;
use squall_core::surface::SurfaceMesh;
use std::path::Path;

/// Which way is up in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UpAxis {
    /// As in Squall, glTF, Houdini and Maya.
    #[default]
    Y,
    /// As in Blender.
    Z,
}

/// Turns a mesh for programs in which z is up: (x, y, z) becomes (x, -z, y), and so do normals and velocities.
pub fn z_up(mesh: &mut SurfaceMesh) {
    let lists = [&mut mesh.positions, &mut mesh.normals, &mut mesh.velocities];
    // Subtracted from 0, because -0 is nobody's coordinate.
    lists.into_iter().flatten().for_each(|v| *v = [v[0], 0.0 - v[2], v[1]]);
}

/// Refuses what no file may hold: lists of the wrong length, triangles without vertices, numbers that are none.
pub(super) fn check(path: &Path, mesh: &SurfaceMesh) -> Result<(), IoError> {
    let count = mesh.positions.len();
    let refuse = |what: String| Err(IoError::content(path, what));
    let vectors = [
        ("positions", &mesh.positions),
        ("normals", &mesh.normals),
        ("velocities", &mesh.velocities),
        ("colors", &mesh.colors),
    ];
    let lists = vectors.map(|(name, values)| (name, values.as_flattened(), 3));
    for (name, values, each) in
        lists.into_iter().chain(mesh.attributes.iter().map(|(name, values)| (name.as_str(), &values[..], 1)))
    {
        // Normals, velocities and colours may be unknown; an attribute without values has no place in the list.
        if values.len() != each * count && !(values.is_empty() && each == 3) {
            return refuse(format!("{} numbers of \"{name}\" for {count} vertices", values.len()));
        }
        if let Some(i) = values.iter().position(|x| !x.is_finite()) {
            return refuse(format!("\"{name}\" of vertex {} is {}", i / each, values[i]));
        }
    }
    if u32::try_from(count).is_err() || u32::try_from(mesh.triangles.len()).is_err() {
        return refuse(format!("{count} vertices and {} triangles are too many for a file", mesh.triangles.len()));
    }
    match mesh.triangles.as_flattened().iter().find(|&&v| v as usize >= count) {
        Some(v) => refuse(format!("a triangle uses vertex {v} (from 0), but there are {count}")),
        None => Ok(()),
    }
}

/// Names for attributes that a format accepts, each once: only letters, digits and underscores, and none that is taken.
pub(crate) fn names<'a>(wanted: impl IntoIterator<Item = &'a str>, taken: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for wanted in wanted {
        let plain: String = wanted.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let digit = plain.starts_with(|c: char| c.is_ascii_digit());
        let plain = if plain.is_empty() || digit { format!("_{plain}") } else { plain };
        // Whatever its case: some formats write all names in capitals.
        let is_free = |name: &str| {
            let others = taken.iter().copied().chain(names.iter().map(String::as_str));
            !others.into_iter().any(|other| other.eq_ignore_ascii_case(name))
        };
        let numbered = (2..).map(|i| format!("{plain}_{i}"));
        let free = std::iter::once(plain.clone()).chain(numbered).find(|name| is_free(name));
        names.extend(free);
    }
    names
}

/// A colour in linear light as sRGB, from 0 to 1.
pub(super) fn to_srgb(color: [f32; 3]) -> [f32; 3] {
    color.map(|v| {
        let v = v.clamp(0.0, 1.0);
        if v <= 0.003_130_8 { 12.92 * v } else { 1.055 * v.powf(1.0 / 2.4) - 0.055 }
    })
}

/// And back.
pub(super) fn from_srgb(color: [f32; 3]) -> [f32; 3] {
    color.map(|v| if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) })
}

/// The lowest and the highest coordinate along each axis; zero if there are no vertices.
pub(super) fn bounds(mesh: &SurfaceMesh) -> ([f32; 3], [f32; 3]) {
    let Some(first) = mesh.positions.first() else { return ([0.0; 3], [0.0; 3]) };
    mesh.positions.iter().fold((*first, *first), |(low, high), p| {
        (std::array::from_fn(|a| low[a].min(p[a])), std::array::from_fn(|a| high[a].max(p[a])))
    })
}
