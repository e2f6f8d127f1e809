//! Loops.

use serde_json::{Value as Json, json};

use super::MAX_FRAMES;
use super::key::Range::Within;
use super::kind::{Kind, Reader};
use super::table::table;
use super::tree::{Node, Value};
use super::write::Writer;
use crate::diagnostic::Span;
use crate::setup::Resolver;

table! {
    /// A seamless loop.
    pub struct LoopTable {
        /// Frames of the loop: frames 1 to this are written.
        frames: u32 [Within(2.0, MAX_FRAMES)] (required "64"),
        /// Frames over which the end is blended into the beginning.
        overlap: u32 [Within(1.0, MAX_FRAMES)] (none "half of them"),
        /// Maximum number of times that smoke is advected around the loop before it is shown.
        rounds: u32 [Within(0.0, 100.0)] (none "4; 0 where nothing dissipates or leaves"),
        /// Keep the contrast constant over the loop: dye in a closed box would otherwise fade and recover.
        even: bool [] (none "where nothing dissipates or leaves"),
    }
}

/// A number of frames, or a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop(pub LoopTable);

impl Kind for Loop {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match &node.value {
            Value::Int(_) | Value::Float(_) => {
                let key = &LoopTable::all_keys()[0];
                let frames = super::table::read_value(node, reader, key)?;
                Some(Loop(LoopTable { frames: Some(frames), ..LoopTable::default() }))
            }
            Value::Table(_) => LoopTable::read(node, reader).map(Loop),
            _ => {
                reader.wrong(node, "a number of frames or a table", "for example 64, or { frames = 64, overlap = 32 }")
            }
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [u64::schema(), LoopTable::schema()] })
    }
    fn kind() -> String {
        "whole number, or a table".to_owned()
    }
    fn write(&self, writer: &Writer) -> String {
        self.0.write(writer)
    }
    fn complete(&mut self, span: Span, path: &str, resolver: &mut Resolver<'_>) {
        self.0.complete(span, path, resolver);
    }
}
