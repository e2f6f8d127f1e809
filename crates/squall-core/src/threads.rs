//! The one door to threads. With the feature `threads` work is spread by rayon over the pool that the caller is in; without it,
//! where there are no threads (a browser), everything runs in order, with the same bits.

#[cfg(feature = "threads")]
pub(crate) use rayon::{current_num_threads, current_thread_index, join};

/// Parallel iterators over slices and ranges.
#[cfg(feature = "threads")]
pub(crate) mod prelude {
    pub use rayon::prelude::*;
}

#[cfg(not(feature = "threads"))]
pub(crate) use serial::{current_num_threads, current_thread_index, join};

/// The same names for iterators that are not parallel.
#[cfg(not(feature = "threads"))]
pub(crate) mod prelude {
    pub use super::serial::{Indexed, Many, ManyMut};
}

#[cfg(not(feature = "threads"))]
mod serial {
    use std::slice::{Chunks, ChunksExactMut, ChunksMut, IterMut};

    pub fn join<A, B>(first: impl FnOnce() -> A, second: impl FnOnce() -> B) -> (A, B) {
        (first(), second())
    }

    pub fn current_num_threads() -> usize {
        1
    }

    pub fn current_thread_index() -> Option<usize> {
        None
    }

    pub trait Many<T> {
        fn par_chunks(&self, size: usize) -> Chunks<'_, T>;
    }

    impl<T> Many<T> for [T] {
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
    }

    impl<I: Iterator> Indexed for I {}
}
