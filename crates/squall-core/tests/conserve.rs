#[path = "facts/common/mod.rs"]
mod common;
#[path = "facts/conservation.rs"]
mod conservation;
#[path = "facts/tiles.rs"]
mod tiles;
#[path = "facts/transport.rs"]
mod transport;
