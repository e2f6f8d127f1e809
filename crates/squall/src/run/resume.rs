//! Finds the newest checkpoint whose files are all intact.

use std::path::Path;

use squall_io::{Checkpoint, CheckpointError, OutputFolder, Start, checkpoint};

use super::log::Log;
use super::{Event, Observer, RunError, RunOptions, STEPS, figures_table, frames};
use crate::output::Outputs;
use crate::setup::Setup;

/// Where a run begins.
pub(super) enum Beginning {
    /// With its first step.
    Start,
    /// From a checkpoint.
    Checkpoint(Box<Checkpoint>),
    /// Nowhere: its frames up to this one are all there, though no checkpoint says how they came to be.
    Done(u64),
}

/// Where the run begins. What was recorded of later frames is forgotten.
pub(super) fn newest_state(
    folder: &mut OutputFolder,
    setup: &Setup,
    options: &RunOptions,
    outputs: &Outputs,
    observer: &mut dyn Observer,
) -> Result<Beginning, RunError> {
    let found = match options.start {
        Start::Resume => usable(folder, setup, options, outputs, observer)?,
        _ => Beginning::Start,
    };
    let last = match &found {
        Beginning::Start => None,
        Beginning::Checkpoint(checkpoint) => Some(checkpoint.position.frame),
        Beginning::Done(last) => Some(*last),
    };
    folder.keep_frames(last, last.is_some_and(|last| last >= u64::from(setup.time.frames)))?;
    Ok(found)
}

fn usable(
    folder: &OutputFolder,
    setup: &Setup,
    options: &RunOptions,
    outputs: &Outputs,
    observer: &mut dyn Observer,
) -> Result<Beginning, RunError> {
    let (path, hash) = (folder.checkpoint_path(), setup.hash().into());
    let every = frames(setup, options);
    let damage_up_to = |last: u64| {
        let files = folder.first_damage(*every.start()..=last, |frame| outputs.files(frame));
        let tables = std::iter::once(STEPS).chain(figures_table(setup));
        files.into_iter().chain(tables.filter_map(|table| folder.table_damage(table, last))).min_by_key(|d| d.frame)
    };
    let newest = match checkpoint::open_latest(&path, hash) {
        Ok((checkpoint, damage)) => {
            if let Some(damage) = damage {
                observer.event(&Event::Notice(format!("{damage}; resuming from the checkpoint before it")));
            }
            checkpoint
        }
        Err(CheckpointError::Io(e)) if e.is_not_found() => return Ok(Beginning::Start),
        Err(e) if e.is_damage() => {
            // What is finished needs no checkpoint.
            let finished = folder.manifest().frames_done.saturating_sub(1);
            if finished >= *every.end() && damage_up_to(*every.end()).is_none() {
                observer.event(&Event::Notice(format!("{e}; but all frames are there as they were written")));
                return Ok(Beginning::Done(finished));
            }
            return Err(e.into());
        }
        Err(e) => return Err(e.into()),
    };
    let damage = damage_up_to(newest.position.frame.min(*every.end()));
    let fault = |checkpoint: &Checkpoint| match &damage {
        Some(damage) if damage.frame <= checkpoint.position.frame => {
            Some(format!("{} is {}", damage.path.display(), damage.what))
        }
        _ => table_fault(folder.path(), setup, outputs, checkpoint),
    };
    let Some(why) = fault(&newest) else { return Ok(Beginning::Checkpoint(Box::new(newest))) };
    let previous = Checkpoint::open(checkpoint::previous_generation(&path), hash).ok();
    let previous = previous.filter(|checkpoint| fault(checkpoint).is_none());
    let from = match &previous {
        Some(checkpoint) => format!("frames after {} are made again", checkpoint.position.frame),
        None => "all frames are made again".to_owned(),
    };
    observer.event(&Event::Notice(format!("{why}; {from}")));
    Ok(previous.map_or(Beginning::Start, |checkpoint| Beginning::Checkpoint(Box::new(checkpoint))))
}

/// What is wrong with the tables and descriptions of a run up to a checkpoint.
fn table_fault(folder: &Path, setup: &Setup, outputs: &Outputs, checkpoint: &Checkpoint) -> Option<String> {
    let steps = folder.join(STEPS);
    if !Log::reaches(&steps, checkpoint.position.step) {
        return Some(format!("{} is not whole", steps.display()));
    }
    if let Some(figures) = figures_table(setup).map(|table| folder.join(table))
        && !Log::reaches(&figures, checkpoint.position.frame)
    {
        return Some(format!("{} is not whole", figures.display()));
    }
    let broken = outputs.all.iter().find(|output| !output.is_intact(folder));
    broken.map(|output| format!("what {} says of the {} is lost", folder.display(), output.name()))
}
