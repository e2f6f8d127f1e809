//! Animated PNG without decoding: the packed pixels of each frame's file are copied, so it is quick and exact.

use crate::movie::{MovieError, Watch};
use crate::output::{IoError, OutputFile};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const SIGNATURE: &[u8; 8] = b"\x89PNG\r\n\x1a\n";
const IHDR: [u8; 4] = *b"IHDR";
const IDAT: [u8; 4] = *b"IDAT";
/// A picture of this many bytes is not one of ours.
const MAX_FILE: u64 = 1 << 31;

pub fn write_apng(frames: &[PathBuf], fps: f64, out: &Path, watch: &mut Watch<'_>) -> Result<(), MovieError> {
    let mut file = OutputFile::create(out)?;
    let failed = |e: io::Error| IoError::file(out, "write")(e);
    let (numerator, denominator) = frame_seconds(fps);
    let mut header = Vec::new();
    let mut sequence = 0u32;
    for (i, path) in frames.iter().enumerate() {
        let bytes = read(path)?;
        let chunks = chunks(path, &bytes)?;
        let this = chunks.iter().find(|(kind, _)| *kind == IHDR).map(|(_, data)| *data);
        let this = this.filter(|data| data.len() == 13).ok_or_else(|| IoError::content(path, "no PNG header"))?;
        // Colour type 3 takes its colours from a palette, which frames do not share.
        if this[9] == 3 {
            return Err(IoError::content(path, "a PNG with a palette cannot be a frame of an animated PNG").into());
        }
        if i == 0 {
            header = this.to_vec();
            file.write_all(SIGNATURE).map_err(failed)?;
            put(&mut file, IHDR, &header).map_err(failed)?;
            put(&mut file, *b"sRGB", &[0]).map_err(failed)?;
            let (count, for_ever) = ((frames.len() as u32).to_be_bytes(), 0u32.to_be_bytes());
            put(&mut file, *b"acTL", &[count, for_ever].concat()).map_err(failed)?;
        } else if this != header {
            let (found, first) = (describe(this), describe(&header));
            return Err(MovieError::UnlikeFirst { path: path.clone(), found, first });
        }

        // Frame control: sequence, size (as in the header), offset, delay; keep the canvas, replace every pixel.
        let mut control = sequence.to_be_bytes().to_vec();
        control.extend(&header[..8]);
        control.extend([0; 8]);
        control.extend([numerator.to_be_bytes(), denominator.to_be_bytes()].concat());
        control.extend([0, 0]);
        put(&mut file, *b"fcTL", &control).map_err(failed)?;
        sequence += 1;
        for (_, data) in chunks.iter().filter(|(kind, _)| *kind == IDAT) {
            if i == 0 {
                put(&mut file, IDAT, data).map_err(failed)?;
            } else {
                put(&mut file, *b"fdAT", &[&sequence.to_be_bytes()[..], data].concat()).map_err(failed)?;
                sequence += 1;
            }
        }
        watch(i + 1)?;
    }
    put(&mut file, *b"IEND", &[]).map_err(failed)?;
    Ok(file.finish()?)
}

fn read(path: &Path) -> Result<Vec<u8>, IoError> {
    let length = std::fs::metadata(path).map_err(IoError::file(path, "open"))?.len();
    if length > MAX_FILE {
        return Err(IoError::content(path, "too large for a frame"));
    }
    std::fs::read(path).map_err(IoError::file(path, "read"))
}

/// Kind and data.
type Chunk<'a> = ([u8; 4], &'a [u8]);

/// All chunks but the last, which is empty; checksums are checked.
fn chunks<'a>(path: &Path, bytes: &'a [u8]) -> Result<Vec<Chunk<'a>>, IoError> {
    let torn = || IoError::content(path, "not a whole PNG picture");
    let mut rest = bytes.strip_prefix(SIGNATURE).ok_or_else(torn)?;
    let mut chunks = Vec::new();
    loop {
        let (length, after) = rest.split_first_chunk::<4>().ok_or_else(torn)?;
        let length = u32::from_be_bytes(*length) as usize;
        let (body, after) = after.split_at_checked(length.saturating_add(4)).ok_or_else(torn)?;
        let (crc, after) = after.split_first_chunk::<4>().ok_or_else(torn)?;
        if crc32fast::hash(body) != u32::from_be_bytes(*crc) {
            return Err(torn());
        }
        let (kind, data) = body.split_first_chunk::<4>().ok_or_else(torn)?;
        if kind == b"IEND" {
            return Ok(chunks);
        }
        chunks.push((*kind, data));
        rest = after;
    }
}

fn put(file: &mut OutputFile, kind: [u8; 4], data: &[u8]) -> io::Result<()> {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&kind);
    crc.update(data);
    file.write_all(&(data.len() as u32).to_be_bytes())?;
    file.write_all(&kind)?;
    file.write_all(data)?;
    file.write_all(&crc.finalize().to_be_bytes())
}

fn describe(header: &[u8]) -> String {
    let side = |at: usize| u32::from_be_bytes(std::array::from_fn(|i| header[at + i]));
    let channels = match header[9] {
        2 => "RGB",
        6 => "RGBA",
        _ => "grey",
    };
    format!("{} x {} pixels, {} bits, {channels}", side(0), side(4), header[8])
}

/// Seconds per frame as a fraction of two 16-bit numbers: exact for whole rates and for 30000/1001 and its kin.
fn frame_seconds(fps: f64) -> (u16, u16) {
    let fraction = |numerator: u16| (numerator, (fps * f64::from(numerator)).round());
    let error = |(n, d): (u16, f64)| (d / f64::from(n) - fps).abs();
    let candidates = [1, 2, 10, 100, 1000, 1001, 10_000].map(fraction);
    let fitting = candidates.into_iter().filter(|&(_, d)| (1.0..=65535.0).contains(&d));
    let best = fitting.min_by(|&a, &b| error(a).total_cmp(&error(b)));
    // Slower than one frame in 20,000 seconds: as slow as the format allows.
    best.map_or((u16::MAX, 1), |(n, d)| (n, d as u16))
}

#[cfg(test)]
mod tests {
    use super::frame_seconds;

    #[test]
    fn frame_rates_become_exact_fractions() {
        assert_eq!(frame_seconds(24.0), (1, 24));
        assert_eq!(frame_seconds(12.5), (2, 25));
        assert_eq!(frame_seconds(30000.0 / 1001.0), (1001, 30000));
        assert_eq!(frame_seconds(1000.0), (1, 1000));
        assert_eq!(frame_seconds(1e-9), (u16::MAX, 1));
    }
}
