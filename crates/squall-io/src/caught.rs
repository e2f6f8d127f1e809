//! Work by libraries on files from anywhere: it may panic, or never end.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

thread_local! {
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread, now, ends no more than the reading of one file. A panic hook has nothing to say then.
pub fn panics_are_caught() -> bool {
    IS_CAUGHT.get()
}

/// Does some work; `None` if it panics.
pub(crate) fn catch<T>(work: impl FnOnce() -> T) -> Option<T> {
    let before = IS_CAUGHT.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    IS_CAUGHT.set(before);
    result.ok()
}

/// Why some work has no result.
#[cfg_attr(not(feature = "svg"), allow(dead_code))]
#[derive(Debug)]
pub(crate) enum GivenUp {
    Panicked,
    TooSlow,
    NoThread(std::io::Error),
}

/// Threads that were given up and still run.
static LEFT_ALONE: AtomicUsize = AtomicUsize::new(0);

/// So many of them take all the machine has.
#[cfg_attr(not(feature = "svg"), allow(dead_code))]
const MOST_LEFT_ALONE: usize = 4;

const RUNNING: u8 = 0;
const DONE: u8 = 1;
const LEFT: u8 = 2;

/// Does some work in a thread of its own, with so much stack. After the deadline nobody waits any longer: the thread goes
/// on until it is done or the process ends, as there is no way to stop it.
#[cfg_attr(not(feature = "svg"), allow(dead_code))]
pub(crate) fn within<T: Send + 'static>(
    deadline: Duration,
    stack: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, GivenUp> {
    if LEFT_ALONE.load(Ordering::Relaxed) >= MOST_LEFT_ALONE {
        return Err(GivenUp::TooSlow);
    }
    if cfg!(target_arch = "wasm32") {
        // Where there are no threads one has to wait for it.
        return catch(work).ok_or(GivenUp::Panicked);
    }
    let state = Arc::new(AtomicU8::new(RUNNING));
    let (sender, receiver) = channel();
    let theirs = state.clone();
    let thread = std::thread::Builder::new().name("file".into()).stack_size(stack).spawn(move || {
        let result = catch(work);
        if theirs.swap(DONE, Ordering::AcqRel) == LEFT {
            LEFT_ALONE.fetch_sub(1, Ordering::AcqRel);
        }
        // Nobody may listen any more.
        let _ = sender.send(result);
    });
    if let Err(error) = thread {
        return Err(GivenUp::NoThread(error));
    }
    match receiver.recv_timeout(deadline) {
        Ok(Some(result)) => Ok(result),
        Ok(None) | Err(RecvTimeoutError::Disconnected) => Err(GivenUp::Panicked),
        Err(RecvTimeoutError::Timeout) => {
            LEFT_ALONE.fetch_add(1, Ordering::AcqRel);
            if state.swap(LEFT, Ordering::AcqRel) == DONE {
                LEFT_ALONE.fetch_sub(1, Ordering::AcqRel);
            }
            Err(GivenUp::TooSlow)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_panics_or_never_ends_is_given_up() {
        assert!(!panics_are_caught());
        assert_eq!(catch(panics_are_caught), Some(true));
        assert_eq!(catch(|| -> u8 { panic!("expected by this test") }), None);
        assert!(!panics_are_caught());
        let long = Duration::from_secs(60);
        assert_eq!(within(long, 1 << 20, || 7).unwrap(), 7);
        assert!(matches!(within(long, 1 << 20, || panic!("expected by this test")), Err::<(), _>(GivenUp::Panicked)));
        let (release, wait) = channel::<()>();
        let slow = within(Duration::from_millis(10), 1 << 20, move || {
            let _ = wait.recv();
        });
        assert!(matches!(slow, Err(GivenUp::TooSlow)));
        drop(release);
    }
}
