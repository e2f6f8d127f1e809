//! Checkpoints: everything that the next step depends on, so that a resumed run equals an uninterrupted one bit by bit.
//!
//! ```text
//! magic "SQUALLCP", version u32, scene hash [u8; 32], frame u64, step u64
//! entries: kind u8, length of the name u8, name, then
//!     'i' u64 | 'r' f64 | 'a' count u64, then per chunk of 2^18 values: packed size u32, CRC-32 u32, packed bytes
//! 'e', magic "SQUALLEN", length of the whole file u64, CRC-32 of all bytes before it u32
//! ```
//! All numbers are little endian. Arrays are split into their byte planes (the exponents of neighbours are alike, the
//! last bits are not) and packed by LZ4, chunks in parallel. The file is checked as a whole before any of it is used.

use crate::SceneHash;
use crate::output::{IoError, OutputFile, open_file};
use rayon::prelude::*;
use squall_core::StateVisitor;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"SQUALLCP";
const END_MAGIC: &[u8; 8] = b"SQUALLEN";
const VERSION: u32 = 2;
const HEADER: usize = 8 + 4 + 32 + 8 + 8;
const TRAILER: usize = 1 + 8 + 8 + 4;

/// Values per chunk: 1 MiB.
const CHUNK: usize = 1 << 18;
/// Chunks in memory at once: all cores are busy, and memory stays small.
const BATCH: usize = 16;

/// Where in a run a checkpoint was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The last finished frame.
    pub frame: u64,
    /// Steps taken since the start.
    pub step: u64,
}

/// Why a checkpoint cannot be used or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The file cannot be read or written.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The file does not begin like a checkpoint.
    #[error("{}: not a checkpoint of Squall", .path.display())]
    NotACheckpoint {
        /// Which file.
        path: PathBuf,
    },
    /// The file ends too early.
    #[error("{}: the checkpoint is truncated", .path.display())]
    Truncated {
        /// Which file.
        path: PathBuf,
    },
    /// The bytes are not those that were written.
    #[error("{}: the checkpoint is damaged ({what})", .path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What does not fit.
        what: String,
    },
    /// Another version of Squall wrote it.
    #[error("{}: format version {found}, but this Squall reads version {VERSION}", .path.display())]
    Version {
        /// Which file.
        path: PathBuf,
        /// The version in the file.
        found: u32,
    },
    /// It belongs to another scene.
    #[error("{}: belongs to another scene ({found}, not {wanted})", .path.display())]
    Scene {
        /// Which file.
        path: PathBuf,
        /// The scene in the file.
        found: SceneHash,
        /// The scene being run.
        wanted: SceneHash,
    },
    /// Its entries are not those of this simulation.
    #[error("{}: does not fit this simulation: {what}", .path.display())]
    Mismatch {
        /// Which file.
        path: PathBuf,
        /// Which entry, and what is different.
        what: String,
    },
}

impl CheckpointError {
    /// Whether the file itself is not good: an older generation may still be.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::NotACheckpoint { .. } | Self::Truncated { .. } | Self::Damaged { .. } => true,
            // Its bytes may be wrong, or it may be of another Squall: the one before may be of this.
            Self::Version { .. } => true,
            Self::Io(error) => error.is_not_found(),
            _ => false,
        }
    }
}

/// Writes a checkpoint; what is under `path` goes on as the previous generation (see [`previous_generation`]).
/// `visit` shows the state: `|visitor| simulation.visit_state(visitor)`.
pub fn save(
    path: impl AsRef<Path>,
    scene: SceneHash,
    position: Position,
    visit: impl FnOnce(&mut dyn StateVisitor),
) -> Result<(), CheckpointError> {
    let path = path.as_ref();
    let mut saver = Saver::create(path, scene, position)?;
    visit(&mut saver);
    let file = saver.end()?;
    Ok(file.finish_keeping(&previous_generation(path))?)
}

/// The name of the generation before: `checkpoint.prev.sqc` for `checkpoint.sqc`.
pub fn previous_generation(path: &Path) -> PathBuf {
    path.with_extension("prev.sqc")
}

/// Opens the newest whole generation of a checkpoint. The second value says what is wrong with the newest one if the
/// previous one had to serve.
pub fn open_latest(
    path: impl AsRef<Path>,
    scene: SceneHash,
) -> Result<(Checkpoint, Option<CheckpointError>), CheckpointError> {
    let path = path.as_ref();
    match Checkpoint::open(path, scene) {
        Ok(checkpoint) => Ok((checkpoint, None)),
        // If neither is any good, the newest one's fault is the one to tell.
        Err(error) if error.is_damage() => match Checkpoint::open(previous_generation(path), scene) {
            Ok(checkpoint) => Ok((checkpoint, Some(error))),
            Err(_) => Err(error),
        },
        Err(error) => Err(error),
    }
}

/// Writes entries. The first error ends the writing and is told by `end`.
struct Saver {
    file: OutputFile,
    crc: crc32fast::Hasher,
    length: u64,
    result: io::Result<()>,
}

impl Saver {
    fn create(path: &Path, scene: SceneHash, position: Position) -> Result<Self, IoError> {
        let file = OutputFile::create(path)?;
        let mut saver = Self { file, crc: crc32fast::Hasher::new(), length: 0, result: Ok(()) };
        for bytes in [MAGIC, &VERSION.to_le_bytes()[..], &scene.0] {
            saver.put(bytes);
        }
        saver.put(&position.frame.to_le_bytes());
        saver.put(&position.step.to_le_bytes());
        Ok(saver)
    }

    fn put(&mut self, bytes: &[u8]) {
        if self.result.is_ok() {
            self.crc.update(bytes);
            self.length += bytes.len() as u64;
            self.result = self.file.write_all(bytes);
        }
    }

    fn entry(&mut self, kind: Kind, name: &str) {
        match u8::try_from(name.len()) {
            Ok(length) => {
                self.put(&[kind as u8, length]);
                self.put(name.as_bytes());
            }
            Err(_) => self.result = Err(io::Error::other(format!("the name `{name}` is longer than 255 bytes"))),
        }
    }

    fn end(mut self) -> Result<OutputFile, IoError> {
        self.put(&[Kind::End as u8]);
        self.put(END_MAGIC);
        let whole = self.length + 12;
        self.put(&whole.to_le_bytes());
        let crc = self.crc.clone().finalize();
        self.put(&crc.to_le_bytes());
        match self.result {
            Ok(()) => Ok(self.file),
            Err(error) => Err(self.file.explain(error)),
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
#[repr(u8)]
enum Kind {
    Integer = b'i',
    Real = b'r',
    Array = b'a',
    End = b'e',
}

impl StateVisitor for Saver {
    fn integer(&mut self, name: &str, value: &mut u64) {
        self.entry(Kind::Integer, name);
        self.put(&value.to_le_bytes());
    }

    fn real(&mut self, name: &str, value: &mut f64) {
        self.entry(Kind::Real, name);
        self.put(&value.to_bits().to_le_bytes());
    }

    fn array(&mut self, name: &str, values: &mut [f32]) {
        self.entry(Kind::Array, name);
        self.put(&(values.len() as u64).to_le_bytes());
        for batch in values.chunks(CHUNK * BATCH) {
            let packed: Vec<_> = batch.par_chunks(CHUNK).map(pack).collect();
            for chunk in &packed {
                self.put(&(chunk.len() as u32).to_le_bytes());
                self.put(&crc32fast::hash(chunk).to_le_bytes());
                self.put(chunk);
            }
        }
    }
}

fn pack(values: &[f32]) -> Vec<u8> {
    let mut planes = vec![0; 4 * values.len()];
    for (plane, bytes) in planes.chunks_mut(values.len()).enumerate() {
        for (byte, value) in bytes.iter_mut().zip(values) {
            *byte = (value.to_bits() >> (8 * plane)) as u8;
        }
    }
    lz4_flex::block::compress(&planes)
}

fn unpack(packed: &[u8], values: &mut [f32]) -> Result<(), String> {
    let planes = lz4_flex::block::decompress(packed, 4 * values.len()).map_err(|e| e.to_string())?;
    if planes.len() != 4 * values.len() {
        return Err(format!("{} bytes where {} belong", planes.len(), 4 * values.len()));
    }
    let (low, high) = planes.split_at(2 * values.len());
    let ((a, b), (c, d)) = (low.split_at(values.len()), high.split_at(values.len()));
    for (i, value) in values.iter_mut().enumerate() {
        *value = f32::from_bits(u32::from_le_bytes([a[i], b[i], c[i], d[i]]));
    }
    Ok(())
}

/// A checkpoint whose bytes have been checked, ready to restore a simulation from.
#[derive(Debug)]
pub struct Checkpoint {
    /// Where in the run it was taken.
    pub position: Position,
    /// The scene that it belongs to.
    pub scene: SceneHash,
    path: PathBuf,
    file: File,
}

impl Checkpoint {
    /// Opens a checkpoint of `scene` and checks all of it: magic, version, length, checksum and scene.
    pub fn open(path: impl AsRef<Path>, scene: SceneHash) -> Result<Self, CheckpointError> {
        let checkpoint = Self::open_any(path)?;
        // After the checksum: a flipped bit in the hash is damage, not another scene.
        if checkpoint.scene != scene {
            let Self { path, scene: found, .. } = checkpoint;
            return Err(CheckpointError::Scene { path, found, wanted: scene });
        }
        Ok(checkpoint)
    }

    /// Like [`open`](Self::open), whatever the scene.
    pub fn open_any(path: impl AsRef<Path>) -> Result<Self, CheckpointError> {
        let path = path.as_ref().to_owned();
        let file = open_file(&path).map_err(IoError::file(&path, "open"))?;
        let unreadable = |e: io::Error| CheckpointError::Io(IoError::file(&path, "read")(e));
        let length = file.metadata().map_err(unreadable)?.len();

        let mut reader = BufReader::with_capacity(1 << 20, &file);
        let mut header = Vec::with_capacity(HEADER);
        (&mut reader).take(HEADER as u64).read_to_end(&mut header).map_err(unreadable)?;
        if !header.starts_with(&MAGIC[..header.len().min(MAGIC.len())]) {
            return Err(CheckpointError::NotACheckpoint { path });
        }
        let Ok(header): Result<[u8; HEADER], _> = header.try_into() else {
            return Err(CheckpointError::Truncated { path });
        };
        let version = u32::from_le_bytes(bytes(&header, 8));
        if version != VERSION {
            return Err(CheckpointError::Version { path, found: version });
        }
        if length < (HEADER + TRAILER) as u64 {
            return Err(CheckpointError::Truncated { path });
        }

        let mut crc = crc32fast::Hasher::new();
        crc.update(&header);
        let mut left = length - (HEADER + TRAILER) as u64;
        let mut buffer = vec![0; 1 << 20];
        while left > 0 {
            let some = &mut buffer[..left.min(1 << 20) as usize];
            reader.read_exact(some).map_err(unreadable)?;
            crc.update(some);
            left -= some.len() as u64;
        }
        let mut trailer = [0; TRAILER];
        reader.read_exact(&mut trailer).map_err(unreadable)?;
        crc.update(&trailer[..TRAILER - 4]);
        if trailer[0] != Kind::End as u8
            || &trailer[1..9] != END_MAGIC
            || u64::from_le_bytes(bytes(&trailer, 9)) != length
        {
            return Err(CheckpointError::Truncated { path });
        }
        if crc.finalize() != u32::from_le_bytes(bytes(&trailer, 17)) {
            return Err(CheckpointError::Damaged { path, what: "its checksum is wrong".into() });
        }
        let scene = SceneHash(bytes(&header, 12));
        let position =
            Position { frame: u64::from_le_bytes(bytes(&header, 44)), step: u64::from_le_bytes(bytes(&header, 52)) };
        Ok(Self { position, scene, path, file })
    }

    /// Puts the state back. `visit` is the one that was given to [`save`]. After an error the simulation holds a
    /// mixture and must not be used.
    pub fn restore(self, visit: impl FnOnce(&mut dyn StateVisitor)) -> Result<Position, CheckpointError> {
        let Self { position, path, mut file, .. } = self;
        file.seek(SeekFrom::Start(HEADER as u64)).map_err(IoError::file(&path, "read"))?;
        let mut loader = Loader { reader: BufReader::with_capacity(1 << 16, file), path, result: Ok(()) };
        visit(&mut loader);
        loader.end()?;
        Ok(position)
    }
}

/// `N` bytes at a place that is known to exist.
fn bytes<const N: usize>(from: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|i| from[at + i])
}

/// Reads entries. The first error ends the reading and is told by `end`.
struct Loader {
    reader: BufReader<File>,
    path: PathBuf,
    result: Result<(), CheckpointError>,
}

impl Loader {
    fn get<const N: usize>(&mut self) -> Result<[u8; N], CheckpointError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), CheckpointError> {
        self.reader.read_exact(bytes).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => CheckpointError::Truncated { path: self.path.clone() },
            _ => IoError::file(&self.path, "read")(e).into(),
        })
    }

    fn mismatch(&self, what: String) -> CheckpointError {
        CheckpointError::Mismatch { path: self.path.clone(), what }
    }

    fn damaged(&self, what: String) -> CheckpointError {
        CheckpointError::Damaged { path: self.path.clone(), what }
    }

    /// Reads an entry up to its value.
    fn entry(&mut self, kind: Kind, name: &str) -> Result<(), CheckpointError> {
        let [found_kind] = self.get()?;
        if found_kind == Kind::End as u8 {
            return Err(self.mismatch(format!("`{name}` is missing")));
        }
        let [length] = self.get()?;
        let mut found = vec![0; length as usize];
        self.fill(&mut found)?;
        if found_kind != kind as u8 || found != name.as_bytes() {
            let found = String::from_utf8_lossy(&found);
            let (found_kind, kind) = (describe(found_kind), describe(kind as u8));
            return Err(self.mismatch(format!("it holds {found_kind} `{found}` where {kind} `{name}` belongs")));
        }
        Ok(())
    }

    fn number(&mut self, kind: Kind, name: &str) -> Result<u64, CheckpointError> {
        self.entry(kind, name)?;
        Ok(u64::from_le_bytes(self.get()?))
    }

    /// A number of parts, each of which takes more bytes than one.
    fn count(&mut self, name: &str) -> Result<u64, CheckpointError> {
        let count = self.number(Kind::Integer, name)?;
        let unreadable = |e| IoError::file(&self.path, "read")(e);
        let left = self.reader.get_ref().metadata().map_err(unreadable)?.len();
        match count > left {
            true => Err(self.damaged(format!("`{name}` is {count}, in a file of {left} bytes"))),
            false => Ok(count),
        }
    }

    /// The number of entries of the array that comes next, which must be there as a whole.
    fn array_length(&mut self, name: &str, words: u64) -> Result<u64, CheckpointError> {
        let length = self.number(Kind::Integer, name)?;
        let here = self.reader.stream_position().map_err(IoError::file(&self.path, "read"))?;
        let [kind, size] = self.get()?;
        let mut found = vec![0; size as usize];
        self.fill(&mut found)?;
        let values = if kind == Kind::Array as u8 { u64::from_le_bytes(self.get()?) } else { u64::MAX };
        if length.checked_mul(words) != Some(values) {
            return Err(self.damaged(format!("`{name}` is {length}, but the array after it is not that long")));
        }
        self.skip_chunks(values)?;
        self.reader.seek(SeekFrom::Start(here)).map_err(IoError::file(&self.path, "read"))?;
        Ok(length)
    }

    /// Passes over the values of an array. Each chunk takes bytes or fails: a false count ends with the file.
    fn skip_chunks(&mut self, values: u64) -> Result<(), CheckpointError> {
        for _ in 0..values.div_ceil(CHUNK as u64) {
            let size = u32::from_le_bytes(self.get()?);
            let _checksum: [u8; 4] = self.get()?;
            self.reader.seek_relative(i64::from(size)).map_err(IoError::file(&self.path, "read"))?;
        }
        Ok(())
    }

    fn values(&mut self, name: &str, values: &mut [f32]) -> Result<(), CheckpointError> {
        let count = self.number(Kind::Array, name)?;
        if count != values.len() as u64 {
            return Err(self.mismatch(format!("`{name}` has {count} values, not {}", values.len())));
        }
        // Memory is asked for by the length that the simulation knows, never by one that the file claims.
        for batch in values.chunks_mut(CHUNK * BATCH) {
            let mut packed = Vec::with_capacity(BATCH);
            for chunk in batch.chunks(CHUNK) {
                let size = u32::from_le_bytes(self.get()?) as usize;
                let crc = u32::from_le_bytes(self.get()?);
                if size > lz4_flex::block::get_maximum_output_size(4 * chunk.len()) {
                    return Err(self.damaged(format!("a chunk of `{name}` claims {size} bytes")));
                }
                let mut bytes = vec![0; size];
                self.fill(&mut bytes)?;
                if crc32fast::hash(&bytes) != crc {
                    return Err(self.damaged(format!("the checksum of `{name}` is wrong")));
                }
                packed.push(bytes);
            }
            let unpacked: Result<(), String> =
                batch.par_chunks_mut(CHUNK).zip(&packed).map(|(values, bytes)| unpack(bytes, values)).collect();
            unpacked.map_err(|e| self.damaged(format!("`{name}` cannot be unpacked: {e}")))?;
        }
        Ok(())
    }

    fn end(mut self) -> Result<(), CheckpointError> {
        std::mem::replace(&mut self.result, Ok(()))?;
        let [kind] = self.get()?;
        if kind == Kind::End as u8 {
            Ok(())
        } else {
            Err(self.mismatch("it holds more than the simulation asks for".into()))
        }
    }
}

fn describe(kind: u8) -> &'static str {
    match kind {
        b'i' => "the integer",
        b'r' => "the number",
        b'a' => "the array",
        _ => "an unknown thing",
    }
}

impl StateVisitor for Loader {
    fn integer(&mut self, name: &str, value: &mut u64) {
        if self.result.is_ok() {
            self.result = self.number(Kind::Integer, name).map(|v| *value = v);
        }
    }

    fn real(&mut self, name: &str, value: &mut f64) {
        if self.result.is_ok() {
            self.result = self.number(Kind::Real, name).map(|v| *value = f64::from_bits(v));
        }
    }

    fn array(&mut self, name: &str, values: &mut [f32]) {
        if self.result.is_ok() {
            self.result = self.values(name, values);
        }
    }

    fn parts(&mut self, name: &str, count: &mut u64) {
        if self.result.is_ok() {
            self.result = self.count(name).map(|v| *count = v);
        }
    }

    fn length(&mut self, name: &str, length: &mut u64, words: u64) {
        if self.result.is_ok() {
            self.result = self.array_length(name, words).map(|v| *length = v);
        }
    }

    fn refuse(&mut self, what: &str) {
        if self.result.is_ok() {
            self.result = Err(self.damaged(what.to_owned()));
        }
    }
}

#[path = "checkpoint_list.rs"]
mod list;
pub use list::Entry;

#[cfg(test)]
#[path = "checkpoint_tests.rs"]
mod tests;
