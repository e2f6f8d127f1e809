//! Unpacking of Blosc chunks, as OpenVDB writes them unless told otherwise: LZ4 after a shuffle of bytes.
//!
//! ```text
//! version u8, version of the codec u8, flags u8, size of an element u8, bytes u32, bytes of a block u32, packed bytes u32
//! start of each block u32
//! per block and stream: packed length i32, packed bytes (not packed if the length is that of the stream)
//! ```
//! A block is one stream, or as many as an element has bytes. Shuffled, it holds the first bytes of all elements, then
//! the second bytes, and so on.

use super::wire::{Cursor, Parsed};

const SHUFFLED: u8 = 1;
const STORED: u8 = 2;
const BITS_SHUFFLED: u8 = 4;
const NOT_SPLIT: u8 = 16;
const LZ4: u8 = 1;
const HEADER: usize = 16;

/// OpenVDB fills lists up to this length, because Blosc does not pack shorter ones.
const SHORTEST: usize = 128;
/// Blosc splits a block only if the streams are at least this long, and elements are at most 16 bytes.
const SHORTEST_STREAM: usize = 128;
const MOST_STREAMS: usize = 16;

/// Unpacks a chunk that must fill `out`.
pub fn unpack(chunk: &[u8], out: &mut [u8]) -> Parsed<()> {
    let mut from = Cursor::new(chunk);
    let [_, _, flags, element] = from.array()?;
    let [bytes, block, _]: [usize; 3] = [from.u32()?, from.u32()?, from.u32()?].map(|v| v as usize);
    if bytes != out.len() && bytes != out.len().max(SHORTEST) {
        return Err(format!("{bytes} bytes in a Blosc block where {} belong", out.len()));
    }
    if flags & STORED != 0 || out.is_empty() {
        out.copy_from_slice(from.take(out.len())?);
        return Ok(());
    }
    if flags >> 5 != LZ4 || flags & BITS_SHUFFLED != 0 {
        return Err("a Blosc block of a kind that OpenVDB does not write (not LZ4)".into());
    }
    if block == 0 || element == 0 || block > bytes {
        return Err("a Blosc block without size".into());
    }
    let element = usize::from(element);
    let mut plain = Vec::with_capacity(bytes);
    let mut packed = vec![0; block];
    for b in 0..bytes.div_ceil(block) {
        let start = u64::from(from.u32()?);
        let mut from = from.window(start.max(HEADER as u64), chunk.len() as u64)?;
        let length = block.min(bytes - b * block);
        let is_whole = length == block;
        let is_split =
            flags & NOT_SPLIT == 0 && is_whole && element <= MOST_STREAMS && block / element >= SHORTEST_STREAM;
        let streams = if is_split { element } else { 1 };
        if length % streams != 0 {
            return Err("a Blosc block that does not divide into its streams".into());
        }
        let shuffled = &mut packed[..length];
        for stream in shuffled.chunks_exact_mut(length / streams) {
            let size = from.u32()? as usize;
            let bytes = from.take(size)?;
            if size == stream.len() {
                stream.copy_from_slice(bytes);
            } else if lz4_flex::block::decompress_into(bytes, stream).ok() != Some(stream.len()) {
                return Err("a Blosc block cannot be unpacked".into());
            }
        }
        if flags & SHUFFLED != 0 && element > 1 {
            let count = length / element;
            plain.extend((0..count * element).map(|i| shuffled[i % element * count + i / element]));
            plain.extend_from_slice(&shuffled[count * element..]);
        } else {
            plain.extend_from_slice(shuffled);
        }
    }
    out.copy_from_slice(&plain[..out.len()]);
    Ok(())
}
