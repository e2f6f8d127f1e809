//! Work by libraries on files from anywhere: it may panic, or never end.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

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

/// On a busy machine work may take this many times as long as it works.
const BUSY: u32 = 10;

/// Where Linux tells how long the present thread has worked.
fn task_of_thread() -> Option<PathBuf> {
    Some(Path::new("/proc").join(std::fs::read_link("/proc/thread-self").ok()?).join("schedstat"))
}

/// For how long a thread has worked; `None` where nobody tells.
fn worked(task: Option<&PathBuf>) -> Option<Duration> {
    let told = std::fs::read_to_string(task?).ok()?;
    told.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// Does some work in a thread of its own, with so much stack. When it has worked for as long as the deadline, or waited for many times that, nobody waits any
/// longer: the thread goes on until it is done or the process ends, as there is no way to stop it.
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
    let task = Arc::new(OnceLock::new());
    let (theirs, their_task) = (state.clone(), task.clone());
    let thread = std::thread::Builder::new().name("file".into()).stack_size(stack).spawn(move || {
        let _ = their_task.set(task_of_thread());
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
    let began = Instant::now();
    let mut result = receiver.recv_timeout(deadline);
    while matches!(result, Err(RecvTimeoutError::Timeout)) && began.elapsed() < deadline * BUSY {
        match worked(task.get().and_then(Option::as_ref)) {
            Some(time) if time < deadline => result = receiver.recv_timeout((deadline - time).max(deadline / 8)),
            _ => break,
        }
    }
    match result {
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
