//! The `squall` command.

fn main() {}
