//! Scene files, the run loop and the gallery of Squall.

pub mod diagnostic;
pub mod expr;
pub mod gallery;
pub mod scene;
pub mod schema;
pub mod setup;

pub use diagnostic::{Problem, SceneError};
pub use scene::Scene;
pub use setup::Setup;
