//! Facts about scenes, runs and what they write: one program, as linking a dozen of them took longer than running them.

mod bad_scenes;
mod build;
mod film;
mod fire;
mod flipbook;
mod folder;
mod fuzz;
mod liquid;
mod loops;
mod properties;
mod random_scenes;
mod run;
mod scenes;
mod smoke;
mod takes;
mod target;
mod texture;
