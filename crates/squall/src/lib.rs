//! Scene files, the run loop and the gallery of Squall.
//!
//! A scene passes through three forms, never mixed: [`Scene`], what was typed; [`Setup`], what is meant, with every
//! default filled in and every value checked; and the simulation that is built from it.
//!
//! ```
//! let text = "[grid]\ncells = [64, 96]\n[substance.density]\ninitial = \"y < 0.2\"";
//! let scene = squall::Scene::parse("smoke.toml", text, &["time.frames=10".to_owned()])?;
//! let (setup, warnings) = scene.setup()?;
//! assert_eq!((setup.dimensions(), setup.time.frames), (2, 10));
//! assert!(warnings.is_empty());
//! # Ok::<(), squall::SceneError>(())
//! ```

pub mod assets;
pub mod build;
pub mod diagnostic;
pub mod driver;
pub mod expr;
pub mod flipbook;
pub mod gallery;
pub mod looped;
pub mod morph;
pub mod output;
pub mod picture;
pub mod plot;
pub mod run;
pub mod scene;
pub mod schema;
pub mod setup;
pub mod surface;
pub mod target;
pub mod texture;

pub use assets::Assets;
pub use diagnostic::{Problem, SceneError};
pub use driver::{DriveError, Driver, EditError, Step, Trouble};
pub use looped::{Preparation, Seam};
pub use run::{CancelToken, Event, Observer, RunError, RunOptions, Summary, run};
pub use scene::Scene;
pub use setup::Setup;

/// The examples of docs/library.md are compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct Library;
