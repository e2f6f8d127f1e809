//! Memory and disk budgets, checked before anything is allocated.

use std::path::Path;

use super::{RunError, RunOptions, writer};
use crate::build::{estimate, estimate_at};
use crate::output::Outputs;
use crate::setup::Setup;

/// Bytes of memory that a run takes at its peak: simulation and pictures, or what is made at the end if that is more.
pub fn memory_needed(setup: &Setup) -> u64 {
    let expected = Outputs::new(setup, "").expected();
    // Frames wait for the writer.
    let waiting = expected.memory.saturating_mul(writer::QUEUE as u64 + 2);
    estimate(setup).bytes.saturating_add(waiting).max(expected.at_the_end)
}

/// The same where the grid follows the fluid and has come to have so many cells.
pub fn memory_needed_at(setup: &Setup, cells: u64) -> u64 {
    memory_needed(setup).saturating_sub(estimate(setup).bytes).saturating_add(estimate_at(setup, cells))
}

/// Compares the memory that the run needs with what it may take.
pub(super) fn check_memory(setup: &Setup, options: &RunOptions) -> Result<(), RunError> {
    let needed = memory_needed(setup);
    match limit(options) {
        Some(limit) if needed > limit => Err(RunError::Memory { needed, limit }),
        _ => Ok(()),
    }
}

/// The same with the cells that there are by now. Other models have the cells that they began with.
pub(super) fn check_cells(setup: &Setup, options: &RunOptions, cells: u64) -> Result<(), RunError> {
    match options.memory_limit {
        Some(limit) if setup.grid.is_unbounded() && memory_needed_at(setup, cells) > limit => {
            Err(RunError::Memory { needed: memory_needed_at(setup, cells), limit })
        }
        _ => Ok(()),
    }
}

/// What a run may take, if that is known.
fn limit(options: &RunOptions) -> Option<u64> {
    options.memory_limit.or_else(usable_memory)
}

/// What a run may take if nobody says: nine tenths of what is free. Linux grants memory that it does not have, and ends the
/// process later: the limit must be ours.
pub fn usable_memory() -> Option<u64> {
    Some(available_memory()? / 10 * 9)
}

/// Steps of fewer cells are short: nobody needs to cancel one on its way.
const SHORT_STEPS: u64 = 1 << 22;

/// Whether a run keeps a copy of its state, so that long steps can be cancelled on their way: if the grid is large, and there is
/// memory beyond what is needed. By the size and not by the clock, so that a run takes the same memory every time.
pub(super) fn has_room_for_a_copy(setup: &Setup, options: &RunOptions) -> bool {
    let copy = state_numbers(setup).saturating_mul(4);
    let fits = |limit| memory_needed(setup).saturating_add(copy) <= limit;
    setup.cell_count() >= SHORT_STEPS && limit(options).is_none_or(fits)
}

/// How many numbers a state has: velocity twice, pressure and substances.
fn state_numbers(setup: &Setup) -> u64 {
    let d = setup.dimensions() as u64;
    // Loops keep the flow of every frame.
    let flows = setup.time.looped.as_ref().map_or(0, |_| u64::from(setup.time.frames) * d);
    setup.cell_count().saturating_mul(2 * d + 1 + setup.substances.len() as u64 + flows)
}

/// Bytes on disk that this many frames take, roughly: what is refused surely does not fit.
pub fn disk_needed(setup: &Setup, frames: u64) -> u64 {
    let frame = Outputs::new(setup, "").expected().disk;
    // Two generations of the state, packed.
    frame.saturating_mul(frames).saturating_add(state_numbers(setup).saturating_mul(2))
}

/// Compares the disk space that the frames to come need with what is free.
pub(super) fn check_disk(setup: &Setup, folder: &Path, frames: u64) -> Result<(), RunError> {
    let needed = disk_needed(setup, frames);
    match free_space(folder) {
        Some(free) if needed > free => Err(RunError::Disk { needed, free, folder: folder.to_owned() }),
        _ => Ok(()),
    }
}

#[cfg(unix)]
fn free_space(folder: &Path) -> Option<u64> {
    let space = rustix::fs::statvfs(folder).ok()?;
    space.f_bavail.checked_mul(space.f_frsize)
}

#[cfg(not(unix))]
fn free_space(_: &Path) -> Option<u64> {
    None
}

/// Bytes of memory that programs could still take, if the system says (Linux does).
pub fn available_memory() -> Option<u64> {
    kilobytes("/proc/meminfo", "MemAvailable:")
}

/// The most memory that this process ever had, in bytes, if the system says (Linux does).
pub fn peak_memory() -> Option<u64> {
    kilobytes("/proc/self/status", "VmHWM:")
}

fn kilobytes(file: &str, key: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}
