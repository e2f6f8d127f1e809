//! A run that becomes a loop.

use serde_json::{Value as Json, json};

use super::read::{Read, Reader, plain_key, read_keys, table};
use super::tree::{Node, Value};
use crate::diagnostic::Spanned;

table! {
    /// How a run becomes a loop.
    pub struct LoopTable {
        /// Frames of the loop: frames 1 to this are written. Required.
        frames: u64,
        /// Frames over which the end goes over into the beginning. Default: half of them.
        overlap: u64,
        /// How often smoke is carried around before it is shown, at most. Default: 4, or 0 where nothing ever leaves.
        rounds: u64,
        /// Whether every frame has the contrast of the first. Default: where nothing ever leaves.
        even: bool,
    }
}

/// A number of frames, or a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Loop {
    /// With default values.
    Frames(Spanned<u64>),
    /// With values.
    Table(Box<LoopTable>),
}

impl Read for Loop {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match &node.value {
            Value::Int(_) | Value::Float(_) => Spanned::read(node, reader).map(Loop::Frames),
            Value::Table(_) => LoopTable::read(node, reader).map(|table| Loop::Table(Box::new(table))),
            _ => {
                reader.wrong(node, "a number of frames or a table", "for example 64, or { frames = 64, overlap = 32 }")
            }
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [u64::schema(), LoopTable::schema()] })
    }
}
