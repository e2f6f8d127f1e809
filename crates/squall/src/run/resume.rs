//! Finds the newest checkpoint whose files are all intact.

use std::path::Path;

use squall_io::{Checkpoint, CheckpointError, OutputFolder, Start, checkpoint};

use super::log::Log;
use super::{Event, Observer, RunError, RunOptions, STEPS, figures_table, frames};
use crate::output::Outputs;
use crate::setup::Setup;

/// The checkpoint to go on from; `None`: the run begins with its first step. What was recorded of later frames is forgotten.
pub(super) fn newest_state(
    folder: &mut OutputFolder,
    setup: &Setup,
    options: &RunOptions,
    outputs: &Outputs,
    observer: &mut dyn Observer,
) -> Result<Option<Checkpoint>, RunError> {
    let found = match options.start {
        Start::Resume => usable(folder, setup, options, outputs, observer)?,
        _ => None,
    };
    let last = found.as_ref().map(|checkpoint| checkpoint.position.frame);
    folder.keep_frames(last, last.is_some_and(|last| last >= u64::from(setup.time.frames)))?;
    Ok(found)
}

fn usable(
    folder: &OutputFolder,
    setup: &Setup,
    options: &RunOptions,
    outputs: &Outputs,
    observer: &mut dyn Observer,
) -> Result<Option<Checkpoint>, RunError> {
    let (path, hash) = (folder.checkpoint_path(), setup.hash().into());
    let newest = match checkpoint::open_latest(&path, hash) {
        Ok((checkpoint, damage)) => {
            if let Some(damage) = damage {
                observer.event(&Event::Notice(format!("{damage}; resuming from the checkpoint before it")));
            }
            checkpoint
        }
        Err(CheckpointError::Io(e)) if e.is_not_found() => return Ok(None),
        Err(e) => return Err(e.into()),
    };
    let every = frames(setup, options);
    let last = newest.position.frame.min(*every.end());
    let damage = folder.first_damage(*every.start()..=last, |frame| outputs.files(frame));
    let fault = |checkpoint: &Checkpoint| match &damage {
        Some(damage) if damage.frame <= checkpoint.position.frame => {
            Some(format!("{} is {}", damage.path.display(), damage.what))
        }
        _ => table_fault(folder.path(), setup, outputs, checkpoint),
    };
    let Some(why) = fault(&newest) else { return Ok(Some(newest)) };
    let previous = Checkpoint::open(checkpoint::previous_generation(&path), hash).ok();
    let previous = previous.filter(|checkpoint| fault(checkpoint).is_none());
    let from = match &previous {
        Some(checkpoint) => format!("frames after {} are made again", checkpoint.position.frame),
        None => "all frames are made again".to_owned(),
    };
    observer.event(&Event::Notice(format!("{why}; {from}")));
    Ok(previous)
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
