//! A way to stop long work from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Not asked to stop.
const NEVER: u32 = u32::MAX;

/// Asks work to stop. Clones stop the same work.
#[derive(Clone, Debug)]
pub struct CancelToken(Arc<AtomicU32>);

impl Default for CancelToken {
    fn default() -> Self {
        CancelToken::after(NEVER)
    }
}

impl CancelToken {
    /// One that asks by itself when it has been looked at so often: for tests.
    pub fn after(looks: u32) -> Self {
        CancelToken(Arc::new(AtomicU32::new(looks)))
    }

    /// Asks the work to stop at the next place where it can.
    pub fn cancel(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Whether that has been asked for.
    pub fn is_cancelled(&self) -> bool {
        match self.0.load(Ordering::Relaxed) {
            0 => true,
            NEVER => false,
            looks => {
                // If someone else asks in between, that counts.
                let _ = self.0.compare_exchange(looks, looks - 1, Ordering::Relaxed, Ordering::Relaxed);
                false
            }
        }
    }
}
