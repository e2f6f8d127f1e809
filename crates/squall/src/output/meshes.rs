//! The surface of a liquid for other programs.

use std::sync::Arc;

use squall_io::{
    GlbMaterial, OutlineStyle, UpAxis, UsdaSequence, read_surface_ply, write_glb, write_outline_svg, write_surface_obj,
    write_surface_ply, write_surface_usda, z_up,
};

use super::{End, Expected, FrameOutput, Job, Shot, numbered, numbered_path};
use crate::run::RunError;
use crate::setup::{MeshFormat, Setup, Up};

/// The series of the meshes: `surface_0001.ply`.
pub const SURFACES: &str = "surface";

pub(super) struct Meshes {
    setup: Arc<Setup>,
}

impl Meshes {
    /// `None` if the scene wants none.
    pub fn new(setup: &Setup) -> Option<Self> {
        (!setup.output.mesh.is_empty()).then(|| Self { setup: Arc::new(setup.clone()) })
    }

    fn wants(&self, format: MeshFormat) -> bool {
        self.setup.output.mesh.contains(&format)
    }

    /// What is written for each frame: the USD file is made of the PLY files.
    fn formats(&self) -> Vec<MeshFormat> {
        let mut formats = self.setup.output.mesh.clone();
        if self.wants(MeshFormat::Usda) && !self.wants(MeshFormat::Ply) {
            formats.push(MeshFormat::Ply);
        }
        formats.retain(|format| *format != MeshFormat::Usda);
        formats
    }
}

impl FrameOutput for Meshes {
    fn name(&self) -> &'static str {
        "meshes"
    }

    fn files(&self, frame: u64) -> Vec<String> {
        self.formats().iter().map(|format| numbered(SURFACES, frame, format.word())).collect()
    }

    fn single(&self) -> Vec<String> {
        if self.wants(MeshFormat::Usda) { vec![format!("{SURFACES}.usda")] } else { Vec::new() }
    }

    fn expected(&self) -> Expected {
        // How large the surface is, is not known before.
        Expected::default()
    }

    fn needs_simulation(&self) -> bool {
        true
    }

    fn capture(&mut self, shot: &Shot<'_>) -> Result<Job, RunError> {
        let Some(surface) = shot.surface.clone() else { return Ok(Box::new(|_| Ok(()))) };
        let (number, formats, setup) = (shot.number, self.formats(), self.setup.clone());
        Ok(Box::new(move |folder| {
            let path = |format: MeshFormat| numbered_path(folder, SURFACES, number, format.word());
            if formats.contains(&MeshFormat::Svg) {
                let grid = &setup.grid;
                let [x, y, width, height] =
                    [grid.origin[0], grid.origin[1], grid.size[0], grid.size[1]].map(|v| v as f32);
                let style = OutlineStyle {
                    view: [x, y, width, height],
                    width: setup.output.width,
                    fill: [0x1f, 0x6f, 0xa8],
                    background: None,
                };
                return write_outline_svg(path(MeshFormat::Svg), &surface.outline(), &style);
            }
            let mut mesh = surface.mesh(&setup);
            if setup.surface.up == Up::Z {
                z_up(&mut mesh);
            }
            formats.iter().try_for_each(|format| match format {
                MeshFormat::Obj => write_surface_obj(path(*format), &mesh),
                MeshFormat::Glb => write_glb(path(*format), &mesh, &GlbMaterial::default()),
                _ => write_surface_ply(path(*format), &mesh),
            })
        }))
    }

    fn finish(&self, end: &mut End<'_>) -> Result<(), RunError> {
        let name = format!("{SURFACES}.usda");
        if !self.wants(MeshFormat::Usda) || (end.is_whole)(&name) {
            return Ok(());
        }
        let up = if self.setup.surface.up == Up::Z { UpAxis::Z } else { UpAxis::Y };
        let sequence = UsdaSequence { frames: end.frames.clone(), fps: self.setup.time.fps, up };
        let (folder, cancel) = (end.folder, end.cancel);
        let read = |frame: u64| {
            if cancel.is_cancelled() {
                return Err(RunError::Picture(squall_render::RenderError::Cancelled));
            }
            Ok(read_surface_ply(numbered_path(folder, SURFACES, frame, "ply"))?)
        };
        match write_surface_usda(folder.join(&name), &sequence, read) {
            Err(RunError::Picture(squall_render::RenderError::Cancelled)) => end.cancelled = true,
            done => {
                done?;
                end.made.push(name);
            }
        }
        Ok(())
    }
}
