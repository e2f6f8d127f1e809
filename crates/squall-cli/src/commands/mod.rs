//! The subcommands.

pub mod bench;
pub mod check;
pub mod completions;
pub mod flipbook;
pub mod info;
pub mod man;
pub mod mesh;
pub mod morph;
pub mod new;
pub mod render;
pub mod run;
pub mod scenes;
pub mod schema;
pub mod studio;
