//! The one door to threads. With the feature `threads` work is spread by rayon over the pool that the caller is in; without it,
//! where there are no threads (a browser), everything runs in order, with the same bits.

#[cfg(feature = "threads")]
use rayon::join as join_two;
#[cfg(feature = "threads")]
pub(crate) use rayon::{current_num_threads, current_thread_index};

/// Parallel iterators over slices and ranges.
#[cfg(feature = "threads")]
pub(crate) mod prelude {
    pub use rayon::prelude::*;
}

#[cfg(not(feature = "threads"))]
use serial::join_two;
#[cfg(not(feature = "threads"))]
pub(crate) use serial::{current_num_threads, current_thread_index};

/// Does two things at once, if there is a thread for it.
///
/// Rayon's own `join` is compiled anew for every pair of closures, a third of this crate's code; here it sees only one type.
pub(crate) fn join<A: Send, B: Send>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B + Send) -> (A, B) {
    let (mut first, mut second) = (Some(first), Some(second));
    let (mut a, mut b) = (None, None);
    join_any(&mut || a = first.take().map(|f| f()), &mut || b = second.take().map(|f| f()));
    match (a, b) {
        (Some(a), Some(b)) => (a, b),
        _ => unreachable!("both have been called"),
    }
}

fn join_any(first: &mut (dyn FnMut() + Send), second: &mut (dyn FnMut() + Send)) {
    join_two(first, second);
}

/// The same names for iterators that are not parallel.
#[cfg(not(feature = "threads"))]
pub(crate) mod prelude {
    pub use super::serial::{Indexed, Many, ManyMut};
}

#[cfg(not(feature = "threads"))]
mod serial {
    use std::slice::{Chunks, ChunksExactMut, ChunksMut, Iter, IterMut};

    pub fn join_two<A, B>(first: impl FnOnce() -> A, second: impl FnOnce() -> B) -> (A, B) {
        (first(), second())
    }

    pub fn current_num_threads() -> usize {
        1
    }

    pub fn current_thread_index() -> Option<usize> {
        None
    }

    pub trait Many<T> {
        fn par_iter(&self) -> Iter<'_, T>;
        fn par_chunks(&self, size: usize) -> Chunks<'_, T>;
    }

    impl<T> Many<T> for [T] {
        fn par_iter(&self) -> Iter<'_, T> {
            self.iter()
        }

        fn par_chunks(&self, size: usize) -> Chunks<'_, T> {
            self.chunks(size)
        }
    }

    pub trait ManyMut<T> {
        fn par_iter_mut(&mut self) -> IterMut<'_, T>;
        fn par_chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T>;
        fn par_chunks_exact_mut(&mut self, size: usize) -> ChunksExactMut<'_, T>;
    }

    impl<T> ManyMut<T> for [T] {
        fn par_iter_mut(&mut self) -> IterMut<'_, T> {
            self.iter_mut()
        }

        fn par_chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T> {
            self.chunks_mut(size)
        }

        fn par_chunks_exact_mut(&mut self, size: usize) -> ChunksExactMut<'_, T> {
            self.chunks_exact_mut(size)
        }
    }

    pub trait Indexed: Iterator + Sized {
        fn with_min_len(self, _: usize) -> Self {
            self
        }

        fn into_par_iter(self) -> Self {
            self
        }

        fn map_init<S, R>(
            self,
            init: impl FnOnce() -> S,
            f: impl Fn(&mut S, Self::Item) -> R,
        ) -> impl Iterator<Item = R> {
            let mut state = init();
            self.map(move |item| f(&mut state, item))
        }

        fn for_each_init<W>(self, workspace: impl Fn() -> W, f: impl Fn(&mut W, Self::Item)) {
            let mut w = workspace();
            self.for_each(|item| f(&mut w, item));
        }
    }

    impl<I: Iterator> Indexed for I {}
}
