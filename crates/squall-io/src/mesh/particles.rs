//! Particles as PLY files, and as arrays for NumPy.

use super::MeshFileError;
use super::build::{Fault, quote};
use super::ply_table::{Table, read};
use super::ply_write::{Column, TAKEN, write_table};
use super::surface::names;
use crate::npy::write_npy;
use crate::output::IoError;
use squall_core::Particles;
use std::path::{Path, PathBuf};

const PLACES: [&str; 3] = ["x", "y", "z"];
const VELOCITIES: [&str; 3] = ["vx", "vy", "vz"];
/// The comment that tells 2D from 3D.
const DIMENSIONS: &str = "dimensions";
/// Between a note's key and its value.
const EQUALS: &str = " = ";

/// Particles from a file, and what else it tells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadedParticles {
    /// The particles, in the order of the file.
    pub particles: Particles,
    /// Keys and values that were written along with them.
    pub notes: Vec<(String, String)>,
}

/// Writes particles as binary PLY without faces: `x y z`, `vx vy vz` where known, `id`, then each attribute under its name.
///
/// In 2D `z` and `vz` are 0. `notes` are keys and values for the header, such as `("cell size", "0.01")`. Names of attributes are
/// written as [`write_surface_ply`](super::write_surface_ply) does.
pub fn write_particles_ply(
    path: impl AsRef<Path>,
    particles: &Particles,
    notes: &[(&str, &str)],
) -> Result<(), IoError> {
    let path = path.as_ref();
    check(particles).map_err(|what| IoError::content(path, what))?;
    let ids: Option<Vec<u32>> = particles.ids.iter().map(|&id| id.try_into().ok()).collect();
    let ids = ids.ok_or_else(|| IoError::content(path, "a particle has a number beyond 32 bits"))?;
    let mut comments = vec![format!("{DIMENSIONS} {}", particles.positions.len())];
    for (key, value) in notes {
        if [key, value].iter().any(|text| text.contains(char::is_control) || text.trim() != **text)
            || key.is_empty()
            || key.contains('=')
        {
            return Err(IoError::content(path, format!("a note {key:?} = {value:?} does not fit into a line")));
        }
        comments.push(format!("{key}{EQUALS}{value}"));
    }
    let zeros = vec![0.0; if particles.positions.len() == 2 { particles.len() } else { 0 }];
    let names = names(particles.attributes.iter().map(|(name, _)| name.as_str()), &TAKEN);
    let mut columns = Vec::new();
    for (axes, values) in [(PLACES, &particles.positions), (VELOCITIES, &particles.velocities)] {
        if !values.is_empty() {
            let values = values.iter().map(Vec::as_slice).chain([zeros.as_slice()]);
            columns.extend(axes.into_iter().zip(values).map(|(axis, values)| Column::Floats(axis, values)));
        }
    }
    columns.push(Column::Whole("id", &ids));
    columns.extend(names.iter().zip(&particles.attributes).map(|(name, (_, values))| Column::Floats(name, values)));
    write_table(path, &comments, particles.len(), &columns, None)
}

/// Refuses what no file may hold: other than two or three axes, lists of the wrong length, numbers that are none.
pub(crate) fn check(particles: &Particles) -> Result<(), String> {
    let Particles { positions, velocities, attributes, .. } = particles;
    let axes = positions.len();
    if !(2..=3).contains(&axes) || ![0, axes].contains(&velocities.len()) {
        return Err(format!("particles with {axes} coordinates and {} velocities", velocities.len()));
    }
    let vectors = PLACES.into_iter().zip(positions).chain(VELOCITIES.into_iter().zip(velocities));
    let attributes = attributes.iter().map(|(name, values)| (name.as_str(), values));
    for (name, values) in vectors.chain(attributes) {
        if values.len() != particles.len() {
            return Err(format!("{} numbers of \"{name}\" for {} particles", values.len(), particles.len()));
        }
        if let Some(i) = values.iter().position(|x| !x.is_finite()) {
            return Err(format!("\"{name}\" of particle {i} is {}", values[i]));
        }
    }
    Ok(())
}

/// Reads particles as [`write_particles_ply`] writes them.
pub fn read_particles_ply(path: impl AsRef<Path>) -> Result<LoadedParticles, MeshFileError> {
    read(path.as_ref(), from_table)
}

fn from_table(mut table: Table) -> Result<LoadedParticles, Fault> {
    let mut axes = 3;
    let mut notes = Vec::new();
    for comment in &table.comments {
        if let Some((key, value)) = comment.split_once(EQUALS.trim_end()) {
            notes.push((key.to_owned(), value.trim_start().to_owned()));
        } else if let Some(count) = comment.strip_prefix(DIMENSIONS) {
            axes = match count.trim() {
                "2" => 2,
                "3" => 3,
                other => return Err(Fault::whole(format!("{} dimensions: 2 or 3 are known", quote(other.as_bytes())))),
            };
        }
    }
    let mut lists = |names: [&str; 3]| -> Option<Vec<Vec<f32>>> {
        let mut lists: Vec<Vec<f32>> = names.iter().map(|name| table.take(name)).collect::<Option<_>>()?;
        lists.truncate(axes);
        Some(lists)
    };
    let positions = lists(PLACES).ok_or_else(|| Fault::whole("its particles lack x, y or z"))?;
    let velocities = lists(VELOCITIES).unwrap_or_default();
    let ids = table.whole.iter().find(|(name, _)| name == "id").map(|(_, ids)| ids);
    let ids = ids.ok_or_else(|| Fault::whole("its particles lack an id"))?.iter().map(|&id| id.into()).collect();
    let particles = Particles { ids, positions, velocities, attributes: table.floats };
    Ok(LoadedParticles { particles, notes })
}

/// Writes particles as arrays for NumPy, one file for each: `path("positions")` and `path("velocities")` with a row for each particle and a column for
/// each axis, and every attribute under its name with a number for each particle.
pub fn write_particles_npy(path: impl Fn(&str) -> PathBuf, particles: &Particles) -> Result<(), IoError> {
    check(particles).map_err(|what| IoError::content(&path("positions"), what))?;
    for (name, lists) in [("positions", &particles.positions), ("velocities", &particles.velocities)] {
        let rows: Vec<f32> = (0..particles.len()).flat_map(|i| lists.iter().map(move |list| list[i])).collect();
        write_npy(path(name), &[particles.len(), lists.len()], &rows)?;
    }
    particles.attributes.iter().try_for_each(|(name, values)| write_npy(path(name), &[particles.len()], values))
}
