//! A frame of a finished 2D run, from the raw fields that it wrote: enough for pictures.

use std::path::{Path, PathBuf};

use squall_core::{FieldInfo, Simulation, StateVisitor, StepError, StepReport};
use squall_io::read_npy;

use super::RunError;
use crate::output::{Shot, numbered_path};
use crate::picture::Painter;
use crate::setup::{FlowLines, Pass, Setup, Show};

/// What a frame was. Nothing goes on from it: it takes no steps.
pub(super) struct Stored {
    cells: Vec<usize>,
    origin: Vec<f64>,
    spacing: Vec<f64>,
    time: f64,
    /// By name and component.
    fields: Vec<((String, usize), Vec<f32>)>,
}

/// The fields that pictures of a 2D scene are drawn from; `None` if they need more than fields.
pub(super) fn needed(setup: &Setup) -> Option<Vec<String>> {
    if setup.dimensions() != 2 || setup.texture.is_some() {
        return None;
    }
    let substance = |i: usize| setup.substances[i].name.clone();
    let mut names = match setup.picture.show {
        Show::Substance(i) => vec![substance(i)],
        Show::Substances => (0..setup.substances.len()).map(substance).collect(),
        Show::Speed | Show::Vorticity => vec!["velocity".to_owned()],
        Show::Pressure => vec!["pressure".to_owned()],
        Show::Texture | Show::Water => return None,
    };
    let moves = setup.output.passes.iter().any(|pass| matches!(pass, Pass::Motion | Pass::Flow));
    if moves || setup.picture.flow != FlowLines::None {
        names.push("velocity".to_owned());
    }
    if let (true, Some(hot)) = (setup.output.passes.contains(&Pass::Temperature), setup.heat()) {
        names.push(substance(hot));
    }
    names.sort();
    names.dedup();
    Some(names)
}

/// Their files.
pub(super) fn files(names: &[String], run: &Path, frame: u64) -> Vec<PathBuf> {
    names.iter().map(|name| numbered_path(run, name, frame, "npy")).collect()
}

impl Stored {
    /// Reads the fields `names` of a frame of the run in a folder.
    pub fn load(setup: &Setup, names: &[String], run: &Path, frame: u64) -> Result<Self, RunError> {
        let cells = setup.grid.cells.clone();
        let count = cells.iter().product::<usize>();
        let mut fields = Vec::new();
        for (name, path) in names.iter().zip(files(names, run, frame)) {
            let (_, values) = read_npy(&path)?;
            let components = values.len() / count.max(1);
            if components == 0 || components * count != values.len() {
                return Err(RunError::NoField { path, name: name.clone() });
            }
            for component in 0..components {
                let every = values.iter().copied().skip(component).step_by(components).collect();
                fields.push(((name.clone(), component), every));
            }
        }
        let (origin, spacing) = (setup.grid.origin.clone(), setup.grid.spacing());
        Ok(Stored { cells, origin, spacing, time: frame as f64 / setup.time.fps, fields })
    }
}

/// The frame of a run, drawn from its fields.
pub(super) fn draw<'a>(
    setup: &Setup,
    names: &[String],
    painter: &mut Painter,
    run: &Path,
    number: u64,
) -> Result<Shot<'a>, RunError> {
    let frame = Stored::load(setup, names, run, number)?;
    let time = number as f64 / setup.time.fps;
    let picture = painter.draw(&frame, time, number)?;
    let passes = painter.draw_passes(&frame, time, number, &picture)?;
    Ok(Shot::new(setup, number, time, None, picture, passes))
}

impl Simulation for Stored {
    fn cells(&self) -> &[usize] {
        &self.cells
    }

    fn placement(&self) -> (Vec<f64>, Vec<f64>) {
        (self.origin.clone(), self.spacing.clone())
    }

    fn time(&self) -> f64 {
        self.time
    }

    fn cells_per_second(&self) -> f64 {
        0.0
    }

    fn step(&mut self, _dt: f64) -> Result<StepReport, StepError> {
        Err(StepError::Cancelled)
    }

    fn snap_time(&mut self, t: f64) {
        self.time = t;
    }

    fn fields(&self) -> Vec<FieldInfo> {
        let components = |name: &str| self.fields.iter().filter(|((other, _), _)| other == name).count();
        let first = self.fields.iter().filter(|((_, component), _)| *component == 0);
        first.map(|((name, _), _)| FieldInfo { name: name.clone(), components: components(name) }).collect()
    }

    fn read(&self, name: &str, component: usize, out: &mut Vec<f32>) -> bool {
        let found = self.fields.iter().find(|((other, c), _)| other == name && *c == component);
        out.clear();
        found.map(|(_, values)| out.extend_from_slice(values)).is_some()
    }

    fn visit_state(&mut self, _visitor: &mut dyn StateVisitor) {}
}
