//! Raw fields for NumPy.

use squall_io::write_npy;

use super::{Expected, FrameOutput, Job, Shot, numbered, numbered_path};
use crate::picture::read_field;
use crate::run::RunError;
use crate::setup::Setup;

pub(super) struct Fields {
    names: Vec<String>,
    bytes: u64,
}

impl Fields {
    /// `None` if the scene wants none.
    pub fn new(setup: &Setup) -> Option<Self> {
        let names = setup.output.fields.clone();
        let components = |name: &String| if name == "velocity" { setup.dimensions() as u64 } else { 1 };
        let bytes = names.iter().map(components).sum::<u64>().saturating_mul(4).saturating_mul(setup.cell_count());
        (!names.is_empty()).then_some(Self { names, bytes })
    }
}

impl FrameOutput for Fields {
    fn name(&self) -> &'static str {
        "fields"
    }

    fn files(&self, frame: u64) -> Vec<String> {
        self.names.iter().map(|name| numbered(name, frame, "npy")).collect()
    }

    fn expected(&self) -> Expected {
        Expected { disk: self.bytes, memory: self.bytes, at_the_end: 0 }
    }

    fn needs_simulation(&self) -> bool {
        true
    }

    fn capture(&mut self, shot: &Shot<'_>) -> Result<Job, RunError> {
        let mut fields = Vec::with_capacity(self.names.len());
        for name in &self.names {
            let Some((sim, field)) = shot.sim.and_then(|sim| Some((sim, read_field(sim, name)?))) else { continue };
            // NumPy's last axis is the fastest.
            let mut shape: Vec<usize> = sim.cells().iter().rev().copied().collect();
            if field.components > 1 {
                shape.push(field.components);
            }
            fields.push((name.clone(), shape, field.values));
        }
        let number = shot.number;
        Ok(Box::new(move |folder| {
            fields.iter().try_for_each(|(name, shape, values)| {
                write_npy(numbered_path(folder, name, number, "npy"), shape, values)
            })
        }))
    }
}
