//! The particles of a liquid, and embers, for other programs.

use std::path::Path;

use squall_core::sim::Particles;
use squall_io::{IoError, UpAxis, VdbPoints, write_particles_npy, write_particles_ply, write_vdb_points};

use super::volumes::metadata;
use super::{Expected, FrameOutput, Job, Shot, numbered, numbered_path};
use crate::run::RunError;
use crate::setup::{ParticleFormat, Setup, Up};

/// The series of the particles: `particles_0001.ply`.
pub const PARTICLES: &str = "particles";
/// The series of OpenVDB points, `points_0001.vdb`, and the name of their grid.
const POINTS: &str = "points";

#[derive(Clone)]
pub(super) struct ParticleFiles {
    formats: Vec<ParticleFormat>,
    /// What each array is called: `particles_positions`.
    arrays: Vec<String>,
    origin: [f64; 3],
    cell: f64,
    /// As large as a particle's part of a cell.
    radius: f64,
    up: Up,
    fps: f64,
}

impl ParticleFiles {
    /// `None` if the scene wants none.
    pub fn new(setup: &Setup) -> Option<Self> {
        let in_liquid = setup.substances.iter().skip(1).filter(|_| setup.liquid.is_some()).map(|s| s.name.as_str());
        let carried = in_liquid.chain(setup.embers.is_some().then_some("heat"));
        let cell = setup.grid.spacing()[0];
        let axis = |a: usize| setup.grid.origin.get(a).copied().unwrap_or(0.0);
        Some(Self {
            formats: setup.output.particles.clone(),
            arrays: ["positions", "velocities"].into_iter().chain(carried).map(array_series).collect(),
            origin: [axis(0), axis(1), axis(2)],
            cell,
            radius: setup.embers.as_ref().map_or_else(|| radius(setup.grid.cells.len(), cell), |e| 0.5 * e.size),
            up: setup.surface.up,
            fps: setup.time.fps,
        })
        .filter(|files| !files.formats.is_empty())
    }

    fn write(&self, folder: &Path, frame: u64, time: f64, particles: &Particles) -> Result<(), IoError> {
        self.formats.iter().try_for_each(|format| match format {
            ParticleFormat::Ply => {
                let notes = [("cell", &*self.cell.to_string())];
                write_particles_ply(numbered_path(folder, PARTICLES, frame, "ply"), particles, &notes)
            }
            ParticleFormat::Vdb => {
                let points = VdbPoints {
                    name: POINTS,
                    origin: self.origin,
                    spacing: self.cell,
                    radius: self.radius as f32,
                    up: if self.up == Up::Z { UpAxis::Z } else { UpAxis::Y },
                };
                let metadata = metadata(frame, time, self.fps, self.up);
                write_vdb_points(numbered_path(folder, POINTS, frame, "vdb"), particles, &points, &metadata)
            }
            ParticleFormat::Npy => {
                write_particles_npy(|name| numbered_path(folder, &array_series(name), frame, "npy"), particles)
            }
        })
    }
}

/// The radius of a ball, in 2D of a disc, that is as large as the part of a cell that belongs to a particle: a half along each axis.
fn radius(axes: usize, cell: f64) -> f64 {
    let part = (0.5 * cell).powi(axes as i32);
    match axes {
        2 => (part / std::f64::consts::PI).sqrt(),
        _ => (0.75 * part / std::f64::consts::PI).cbrt(),
    }
}

/// The series of an array of particles: `particles_positions_0001.npy`.
fn array_series(name: &str) -> String {
    format!("{PARTICLES}_{name}")
}

impl FrameOutput for ParticleFiles {
    fn name(&self) -> &'static str {
        "particles"
    }

    fn files(&self, frame: u64) -> Vec<String> {
        let names = self.formats.iter().flat_map(|format| match format {
            ParticleFormat::Ply => vec![numbered(PARTICLES, frame, "ply")],
            ParticleFormat::Vdb => vec![numbered(POINTS, frame, "vdb")],
            ParticleFormat::Npy => self.arrays.iter().map(|series| numbered(series, frame, "npy")).collect(),
        });
        names.collect()
    }

    fn expected(&self) -> Expected {
        Expected::default()
    }

    fn needs_simulation(&self) -> bool {
        true
    }

    fn capture(&mut self, shot: &Shot<'_>) -> Result<Job, RunError> {
        let (files, number, time) = (self.clone(), shot.number, shot.time);
        if let Some(surface) = shot.surface.clone() {
            return Ok(Box::new(move |folder: &Path| files.write(folder, number, time, &surface.particles)));
        }
        let Some(particles) = shot.sim.and_then(|sim| sim.particles()) else { return Ok(Box::new(|_| Ok(()))) };
        Ok(Box::new(move |folder: &Path| files.write(folder, number, time, &particles)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_balls_fill_a_cell_and_so_do_four_discs() {
        let r = radius(3, 0.1);
        assert!((8.0 * 4.0 / 3.0 * std::f64::consts::PI * r.powi(3) - 1e-3).abs() < 1e-12, "{r}");
        let r = radius(2, 0.1);
        assert!((4.0 * std::f64::consts::PI * r * r - 1e-2).abs() < 1e-12, "{r}");
    }
}
