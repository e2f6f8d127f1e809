//! Refuses what cannot fit before anything is allocated.

use super::{RunError, RunOptions};
use crate::build::Estimate;
use crate::setup::Setup;

/// Compares what the run needs with what it may take.
pub(super) fn check(_setup: &Setup, estimate: &Estimate, options: &RunOptions) -> Result<(), RunError> {
    // Linux grants memory that it does not have, and ends the process later: the limit must be ours.
    let limit = options.memory_limit.or_else(|| Some(available_memory()? / 10 * 9));
    match limit {
        Some(limit) if estimate.bytes > limit => Err(RunError::Memory { needed: estimate.bytes, limit }),
        _ => Ok(()),
    }
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
