//! The command as users meet it: what it writes, what it says, how it ends.

mod common;
mod docs;
mod flipbook;
mod info;
mod interrupted;
mod messages;
mod morph;
mod render;
mod runs;
mod studio;
