//! What is in a checkpoint, without a simulation to restore it into.

use super::{Checkpoint, CheckpointError, HEADER, Kind, Loader};
use crate::output::IoError;
use std::io::{BufReader, Seek, SeekFrom};

/// One entry of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Entry {
    /// A count.
    Integer(u64),
    /// A number.
    Real(f64),
    /// An array of so many values.
    Array(u64),
}

impl Checkpoint {
    /// Lists the entries: names, numbers, and the lengths of arrays, whose values are passed over.
    pub fn entries(self) -> Result<Vec<(String, Entry)>, CheckpointError> {
        let Self { path, mut file, .. } = self;
        file.seek(SeekFrom::Start(HEADER as u64)).map_err(IoError::file(&path, "read"))?;
        let mut loader = Loader { reader: BufReader::with_capacity(1 << 16, file), path, result: Ok(()) };
        let mut entries = Vec::new();
        loop {
            let [kind] = loader.get()?;
            if kind == Kind::End as u8 {
                return Ok(entries);
            }
            let [length] = loader.get()?;
            let mut name = vec![0; length as usize];
            loader.fill(&mut name)?;
            let value = u64::from_le_bytes(loader.get()?);
            let entry = match kind {
                k if k == Kind::Integer as u8 => Entry::Integer(value),
                k if k == Kind::Real as u8 => Entry::Real(f64::from_bits(value)),
                k if k == Kind::Array as u8 => {
                    loader.skip_chunks(value)?;
                    Entry::Array(value)
                }
                k => return Err(loader.damaged(format!("an entry of the kind {k}"))),
            };
            entries.push((String::from_utf8_lossy(&name).into_owned(), entry));
        }
    }
}
