//! The interactive studio: play with fluids, paint them, and bake exactly what was played.
//!
//! | module | what it holds |
//! |---|---|
//! | [`open`] | a scene that was opened, and takes as scene files |
//! | [`recover`] | what was played survives a crash |
//! | [`volume`] | what a view in 3D draws |
//! | [`player`] | plays it frame by frame: brushes, parameters, undo, rewind; no thread, no window |
//! | [`session`] | commands go in, the latest picture comes out |
//! | [`place`] | what a desktop and a browser do differently: threads, files, how it starts |
//! | [`link`] | a scene as a part of a web address |
//! | [`thumbs`] | small moving pictures of the gallery |
//! | [`bake`] | finished frames of a take, in the background |
//! | [`app`] | the window |
//!
//! Everything that is done while playing is an [`Edit`](squall::setup::Edit) of the scene, stamped by frame, so `squall run` makes of a saved take
//! the same bytes that were seen.

#[cfg(feature = "window")]
pub mod app;
pub mod bake;
pub mod link;
pub mod open;
#[cfg_attr(not(target_arch = "wasm32"), path = "desktop.rs")]
#[cfg_attr(target_arch = "wasm32", path = "browser.rs")]
pub mod place;
pub mod player;
pub mod recover;
pub mod session;
pub mod thumbs;
pub mod volume;
