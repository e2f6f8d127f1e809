//! PNG pictures: sRGB, 8 or 16 bits, with or without alpha.

use crate::output::{IoError, OutputFile, open_file};
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
    write(path.as_ref(), width, height, channels, png::BitDepth::Eight, samples, true)
}

/// Like [`write_png`] with 16 bits per sample: for further grading without banding.
pub fn write_png16(path: impl AsRef<Path>, width: u32, height: u32, samples: &[u16]) -> Result<(), IoError> {
    let channels = channels(path.as_ref(), width, height, samples.len())?;
    let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_be_bytes()).collect();
    write(path.as_ref(), width, height, channels, png::BitDepth::Sixteen, &bytes, true)
}

/// Numbers that are no colours, one, three or four for each pixel, the top row first.
#[derive(Clone, Copy, Debug)]
pub enum Samples<'a> {
    /// With 8 bits.
    Eight(&'a [u8]),
    /// With 16 bits.
    Sixteen(&'a [u16]),
}

/// Writes numbers that are no colours: one (grey), three (RGB) or four (RGBA) for each pixel. The file does not claim to be
/// sRGB, so that nobody bends the numbers. Equal samples give equal bytes.
pub fn write_map(path: impl AsRef<Path>, width: u32, height: u32, samples: Samples<'_>) -> Result<(), IoError> {
    let path = path.as_ref();
    let (count, depth, bytes) = match samples {
        Samples::Eight(samples) => (samples.len(), png::BitDepth::Eight, samples.to_vec()),
        Samples::Sixteen(samples) => {
            let bytes = samples.iter().flat_map(|sample| sample.to_be_bytes()).collect();
            (samples.len(), png::BitDepth::Sixteen, bytes)
        }
    };
    let grey = count > 0 && count as u128 == u128::from(width) * u128::from(height);
    let color = if grey { png::ColorType::Grayscale } else { channels(path, width, height, count)? };
    write(path, width, height, color, depth, &bytes, false)
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
    srgb: bool,
) -> Result<(), IoError> {
    let mut encoded = Vec::with_capacity(bytes.len() / 2 + 1024);
    encode(&mut encoded, width, height, color, depth, bytes, srgb).map_err(|e| IoError::content(path, e))?;
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
    srgb: bool,
) -> Result<(), png::EncodingError> {
    let mut encoder = png::Encoder::new(to, width, height);
    encoder.set_color(color);
    encoder.set_depth(depth);
    if srgb {
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
    }
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(bytes)?;
    writer.finish()
}

/// No picture of Squall is larger; a file that claims to be is refused before memory is spent on it.
const MAX_PIXELS: u64 = 1 << 28;

/// Reads any PNG as 8-bit RGBA.
pub fn read_png(path: impl AsRef<Path>) -> Result<Picture, IoError> {
    let eight = png::Transformations::normalize_to_color8() | png::Transformations::ALPHA;
    let (width, height, _, rgba) = read(path.as_ref(), eight)?;
    Ok(Picture { width, height, rgba })
}

/// Reads any PNG as 16-bit RGBA: width, height, and four numbers for each pixel. 8 bits become 16 that mean the same.
pub fn read_png16(path: impl AsRef<Path>) -> Result<(u32, u32, Vec<u16>), IoError> {
    let whole = png::Transformations::EXPAND | png::Transformations::ALPHA;
    let (width, height, depth, bytes) = read(path.as_ref(), whole)?;
    let samples = match depth {
        png::BitDepth::Sixteen => bytes.as_chunks().0.iter().map(|&b| u16::from_be_bytes(b)).collect(),
        _ => bytes.iter().map(|&b| 257 * u16::from(b)).collect(),
    };
    Ok((width, height, samples))
}

/// Width, height, bits, and four samples for each pixel.
fn read(path: &Path, transformations: png::Transformations) -> Result<(u32, u32, png::BitDepth, Vec<u8>), IoError> {
    let file = open_file(path).map_err(IoError::file(path, "open"))?;
    let wrong = |e: png::DecodingError| match e {
        png::DecodingError::IoError(e) if e.kind() != std::io::ErrorKind::UnexpectedEof => {
            IoError::file(path, "read")(e)
        }
        e => IoError::content(path, format!("not a whole PNG picture: {e}")),
    };
    let limits = png::Limits { bytes: 64 << 20 };
    let mut decoder = png::Decoder::new_with_limits(BufReader::with_capacity(1 << 16, file), limits);
    decoder.set_transformations(transformations);
    let mut reader = decoder.read_info().map_err(wrong)?;
    let (width, height) = reader.info().size();
    if u64::from(width) * u64::from(height) > MAX_PIXELS {
        return Err(IoError::content(path, format!("{width} x {height} pixels are too many")));
    }
    let size = reader.output_buffer_size().ok_or_else(|| IoError::content(path, "too large for this machine"))?;
    let mut samples = vec![0; size];
    let info = reader.next_frame(&mut samples).map_err(wrong)?;
    samples.truncate(info.buffer_size());
    // Which sample of a pixel becomes which; `None` is opaque.
    let order: [Option<usize>; 4] = match info.color_type {
        png::ColorType::Rgba => return Ok((width, height, info.bit_depth, samples)),
        png::ColorType::Rgb => [Some(0), Some(1), Some(2), None],
        png::ColorType::GrayscaleAlpha => [Some(0), Some(0), Some(0), Some(1)],
        _ => [Some(0), Some(0), Some(0), None],
    };
    let bytes = if info.bit_depth == png::BitDepth::Sixteen { 2 } else { 1 };
    let pixel = bytes * info.color_type.samples();
    let mut rgba = Vec::with_capacity(4 * bytes * samples.len() / pixel);
    for pixel in samples.chunks_exact(pixel) {
        for from in order {
            match from {
                Some(from) => rgba.extend_from_slice(&pixel[from * bytes..][..bytes]),
                None => rgba.extend_from_slice(&[255; 2][..bytes]),
            }
        }
    }
    Ok((width, height, info.bit_depth, rgba))
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
        let mut reader = png::Decoder::new(BufReader::new(open_file(&path).unwrap())).read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        assert_eq!((info.bit_depth, info.color_type), (png::BitDepth::Sixteen, png::ColorType::Rgb));
        let back: Vec<u16> = bytes.chunks(2).map(|b| u16::from_be_bytes([b[0], b[1]])).collect();
        assert_eq!(back, samples);
    }

    #[test]
    fn maps_keep_their_numbers_and_do_not_claim_to_be_colours() {
        let folder = TestFolder::new("png-map");
        let path = folder.join("a.png");
        let samples: Vec<u16> = (0..12).map(|i| i * 5003).collect();
        for channels in [1, 3] {
            write_map(&path, 12 / channels, 1, Samples::Sixteen(&samples)).unwrap();
            let (width, _, back) = read_png16(&path).unwrap();
            assert_eq!(width, 12 / channels);
            for (i, pixel) in back.chunks(4).enumerate() {
                let expected: [u16; 3] = std::array::from_fn(|c| samples[if channels == 1 { i } else { 3 * i + c }]);
                assert_eq!(pixel, [expected[0], expected[1], expected[2], 65535]);
            }
        }
        write_map(&path, 3, 1, Samples::Eight(&[0, 128, 255])).unwrap();
        assert_eq!(read_png16(&path).unwrap().2[4], 128 * 257);
        assert!(!std::fs::read(&path).unwrap().windows(4).any(|w| w == b"sRGB"));
        assert!(write_map(&path, 5, 1, Samples::Eight(&[0; 7])).is_err());
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
