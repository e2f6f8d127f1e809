//! Facts about passes and flipbooks.

mod atlas;
mod motion;
mod passes;
