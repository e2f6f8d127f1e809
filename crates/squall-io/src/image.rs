//! PNG pictures: sRGB, 8 or 16 bits, with or without alpha.

use crate::output::{IoError, OutputFile};
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::Path;

/// A picture in memory: 8 bits, sRGB, four bytes per pixel, the top row first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Pixels per row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Red, green, blue, alpha of each pixel.
    pub rgba: Vec<u8>,
}

/// Writes an 8-bit sRGB picture, the top row first. `samples` holds three (RGB) or four (RGBA) values per pixel.
/// Equal samples give equal bytes.
pub fn write_png(path: impl AsRef<Path>, width: u32, height: u32, samples: &[u8]) -> Result<(), IoError> {
    let channels = channels(path.as_ref(), width, height, samples.len())?;
    write(path.as_ref(), width, height, channels, png::BitDepth::Eight, samples)
}

/// Like [`write_png`] with 16 bits per sample: for further grading without banding.
pub fn write_png16(path: impl AsRef<Path>, width: u32, height: u32, samples: &[u16]) -> Result<(), IoError> {
    let channels = channels(path.as_ref(), width, height, samples.len())?;
    let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_be_bytes()).collect();
    write(path.as_ref(), width, height, channels, png::BitDepth::Sixteen, &bytes)
}

fn channels(path: &Path, width: u32, height: u32, samples: usize) -> Result<png::ColorType, IoError> {
    let pixels = u128::from(width) * u128::from(height);
    match samples as u128 {
        0 => Err(IoError::content(path, format!("a picture of {width} x {height} pixels cannot be written"))),
        n if n == 3 * pixels => Ok(png::ColorType::Rgb),
        n if n == 4 * pixels => Ok(png::ColorType::Rgba),
        n => {
            Err(IoError::content(path, format!("{n} samples are neither 3 nor 4 for each pixel of {width} x {height}")))
        }
    }
}

fn write(
    path: &Path,
    width: u32,
    height: u32,
    color: png::ColorType,
    depth: png::BitDepth,
    bytes: &[u8],
) -> Result<(), IoError> {
    let mut encoded = Vec::with_capacity(bytes.len() / 2 + 1024);
    encode(&mut encoded, width, height, color, depth, bytes).map_err(|e| IoError::content(path, e))?;
    let mut file = OutputFile::create(path)?;
    file.write_all(&encoded).map_err(|e| file.explain(e))?;
    file.finish()
}

fn encode(
    to: &mut Vec<u8>,
    width: u32,
    height: u32,
    color: png::ColorType,
    depth: png::BitDepth,
    bytes: &[u8],
) -> Result<(), png::EncodingError> {
    let mut encoder = png::Encoder::new(to, width, height);
    encoder.set_color(color);
    encoder.set_depth(depth);
    encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(bytes)?;
    writer.finish()
}

/// No picture of Squall is larger; a file that claims to be is refused before memory is spent on it.
const MAX_PIXELS: u64 = 1 << 28;

/// Reads any PNG as 8-bit RGBA.
pub fn read_png(path: impl AsRef<Path>) -> Result<Picture, IoError> {
    let path = path.as_ref();
    let file = File::open(path).map_err(IoError::file(path, "open"))?;
    let wrong = |e: png::DecodingError| match e {
        png::DecodingError::IoError(e) if e.kind() != std::io::ErrorKind::UnexpectedEof => {
            IoError::file(path, "read")(e)
        }
        e => IoError::content(path, format!("not a whole PNG picture: {e}")),
    };
    let limits = png::Limits { bytes: 64 << 20 };
    let mut decoder = png::Decoder::new_with_limits(BufReader::with_capacity(1 << 16, file), limits);
    decoder.set_transformations(png::Transformations::normalize_to_color8() | png::Transformations::ALPHA);
    let mut reader = decoder.read_info().map_err(wrong)?;
    let (width, height) = reader.info().size();
    if u64::from(width) * u64::from(height) > MAX_PIXELS {
        return Err(IoError::content(path, format!("{width} x {height} pixels are too many")));
    }
    let size = reader.output_buffer_size().ok_or_else(|| IoError::content(path, "too large for this machine"))?;
    let mut samples = vec![0; size];
    let info = reader.next_frame(&mut samples).map_err(wrong)?;
    samples.truncate(info.buffer_size());
    let rgba = match info.color_type {
        png::ColorType::Rgba => samples,
        png::ColorType::Rgb => samples.as_chunks().0.iter().flat_map(|&[r, g, b]| [r, g, b, 255]).collect(),
        png::ColorType::GrayscaleAlpha => samples.as_chunks().0.iter().flat_map(|&[v, a]| [v, v, v, a]).collect(),
        _ => samples.iter().flat_map(|&v| [v, v, v, 255]).collect(),
    };
    Ok(Picture { width, height, rgba })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;

    fn noise(n: usize) -> Vec<u8> {
        (0..n as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
    }

    #[test]
    fn a_picture_decodes_to_the_pixels_that_were_written() {
        let folder = TestFolder::new("png");
        let path = folder.join("a.png");
        let rgba = noise(4 * 13 * 7);
        write_png(&path, 13, 7, &rgba).unwrap();
        assert_eq!(read_png(&path).unwrap(), Picture { width: 13, height: 7, rgba });
        let rgb = noise(3 * 13 * 7);
        write_png(&path, 13, 7, &rgb).unwrap();
        let back = read_png(&path).unwrap();
        assert!(back.rgba.chunks(4).zip(rgb.chunks(3)).all(|(a, b)| &a[..3] == b && a[3] == 255));
    }

    #[test]
    fn sixteen_bits_survive() {
        let folder = TestFolder::new("png16");
        let path = folder.join("a.png");
        let samples: Vec<u16> = (0..3 * 5 * 4).map(|i| i * 1091).collect();
        write_png16(&path, 5, 4, &samples).unwrap();
        let mut reader = png::Decoder::new(BufReader::new(File::open(&path).unwrap())).read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        assert_eq!((info.bit_depth, info.color_type), (png::BitDepth::Sixteen, png::ColorType::Rgb));
        let back: Vec<u16> = bytes.chunks(2).map(|b| u16::from_be_bytes([b[0], b[1]])).collect();
        assert_eq!(back, samples);
    }

    #[test]
    fn equal_pictures_give_equal_bytes() {
        let folder = TestFolder::new("png-equal");
        let rgba = noise(4 * 64 * 64);
        for name in ["a.png", "b.png"] {
            write_png(folder.join(name), 64, 64, &rgba).unwrap();
        }
        assert_eq!(std::fs::read(folder.join("a.png")).unwrap(), std::fs::read(folder.join("b.png")).unwrap());
    }

    #[test]
    fn wrong_sizes_and_torn_files_are_errors_that_name_the_file() {
        let folder = TestFolder::new("png-bad");
        let path = folder.join("bad.png");
        for (width, height, samples) in [(0, 5, 0), (2, 2, 15), (2, 2, 0), (u32::MAX, u32::MAX, 16)] {
            let error = write_png(&path, width, height, &vec![0; samples]).unwrap_err();
            assert!(error.to_string().contains("bad.png"), "{error}");
        }
        assert!(folder.names().is_empty());
        write_png(&path, 16, 16, &noise(4 * 256)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        // The last 12 bytes are the end chunk, which carries no pixels.
        for length in 0..whole.len() - 12 {
            std::fs::write(&path, &whole[..length]).unwrap();
            let error = read_png(&path).unwrap_err();
            assert!(error.to_string().contains("bad.png"), "{error}");
        }
    }
}
