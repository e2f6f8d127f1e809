//! Pictures of all around in linear light: OpenEXR, Radiance HDR, and what `picture` reads.

use std::io::Cursor;
use std::path::Path;

use ::exr::prelude::{MetaData, ReadChannels, ReadLayers, read};

use crate::output::IoError;
use crate::picture::parse_artwork;

/// Red, green and blue in linear light, the top row first.
#[derive(Clone, Debug, PartialEq)]
pub struct Light {
    /// Pixels per row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Of each pixel.
    pub pixels: Vec<[f32; 3]>,
}

/// More pixels than this are refused: 16,384 by 8,192.
const MAX_PIXELS: usize = 1 << 27;

/// What a file holds; `path` is for messages and for telling drawings apart.
pub fn parse_light(data: &[u8], path: &Path) -> Result<Light, IoError> {
    if data.starts_with(&[0x76, 0x2f, 0x31, 0x01]) {
        return open_exr(data, path);
    }
    if data.starts_with(b"#?") {
        return radiance(data).map_err(|reason| IoError::content(path, reason));
    }
    let artwork = parse_artwork(data, path, [4096; 2]).map_err(|e| IoError::content(path, e))?;
    let linear = |v: f32| if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) };
    let pixels = artwork.pixels.iter().map(|&[r, g, b, a]| [r, g, b].map(|v| a * linear(v))).collect();
    Ok(Light { width: artwork.width, height: artwork.height, pixels })
}

fn open_exr(data: &[u8], path: &Path) -> Result<Light, IoError> {
    let wrong = |e: ::exr::error::Error| IoError::content(path, format!("not a whole OpenEXR picture: {e}"));
    let headers = MetaData::read_from_buffered(Cursor::new(data), false).map_err(wrong)?.headers;
    if let Some(size) = headers.iter().map(|h| h.layer_size).find(|s| s.area() > MAX_PIXELS) {
        return Err(IoError::content(path, format!("{} x {} pixels are too many", size.width(), size.height())));
    }
    let reader = read().no_deep_data().largest_resolution_level().all_channels().first_valid_layer().all_attributes();
    let layer = reader.non_parallel().from_buffered(Cursor::new(data)).map_err(wrong)?.layer_data;
    let (width, height) = (layer.size.width(), layer.size.height());
    let mut pixels = vec![[0.0; 3]; width * height];
    for (c, letter) in ["R", "G", "B"].into_iter().enumerate() {
        let named = |name: &str| name == letter || name.rsplit('.').next() == Some(letter);
        let channel = layer.channel_data.list.iter().find(|channel| named(&channel.name.to_string()));
        let Some(channel) = channel.filter(|channel| channel.sample_data.len() == pixels.len()) else {
            return Err(IoError::content(path, format!("it has no channel {letter} of full size")));
        };
        pixels.iter_mut().zip(channel.sample_data.values_as_f32()).for_each(|(pixel, value)| pixel[c] = value);
    }
    Ok(Light { width, height, pixels })
}

/// Ward's format: lines of text, an empty one, `-Y height +X width`, then four bytes a pixel, each byte of a row run-length encoded by itself.
fn radiance(data: &[u8]) -> Result<Light, String> {
    let mut rest = data;
    let mut line = || -> Result<String, String> {
        let end = rest.iter().position(|&b| b == b'\n').ok_or("its header does not end")?;
        let text = String::from_utf8_lossy(&rest[..end]).trim().to_owned();
        rest = &rest[end + 1..];
        Ok(text)
    };
    while !line()?.is_empty() {}
    let size = line()?;
    let words: Vec<&str> = size.split_whitespace().collect();
    let [Some("-Y"), Some(height), Some("+X"), Some(width)] = [0, 1, 2, 3].map(|i| words.get(i).copied()) else {
        return Err(format!("`{size}` is not its size: rows from top to bottom are read, -Y height +X width"));
    };
    let number = |text: &str| text.parse::<usize>().ok().filter(|n| (1..=1 << 16).contains(n));
    let (Some(width), Some(height)) = (number(width), number(height)) else {
        return Err(format!("`{size}` is no size"));
    };
    if width * height > MAX_PIXELS {
        return Err(format!("{width} x {height} pixels are too many"));
    }
    let short = "it ends before its last row";
    let mut take = |n: usize| -> Result<&[u8], String> {
        let (taken, left) = rest.split_at_checked(n).ok_or(short)?;
        rest = left;
        Ok(taken)
    };
    let mut pixels = Vec::with_capacity(width * height);
    let mut row = vec![[0u8; 4]; width];
    for _ in 0..height {
        let first: [u8; 4] = take(4)?.try_into().map_err(|_| short)?;
        let coded = first[0] == 2 && first[1] == 2 && usize::from(first[2]) << 8 | usize::from(first[3]) == width;
        if coded && (8..32768).contains(&width) {
            for c in 0..4 {
                let mut x = 0;
                while x < width {
                    let count = usize::from(take(1)?[0]);
                    let (run, n) = if count > 128 { (true, count - 128) } else { (false, count) };
                    if n == 0 || x + n > width {
                        return Err("a row is longer than the picture is wide".to_owned());
                    }
                    let bytes = take(if run { 1 } else { n })?;
                    for (i, pixel) in row[x..x + n].iter_mut().enumerate() {
                        pixel[c] = bytes[if run { 0 } else { i }];
                    }
                    x += n;
                }
            }
        } else {
            row[0] = first;
            for pixel in &mut row[1..] {
                *pixel = take(4)?.try_into().map_err(|_| short)?;
            }
        }
        pixels.extend(row.iter().map(|&[r, g, b, e]| {
            let scale = if e == 0 { 0.0 } else { 2f32.powi(i32::from(e) - 136) };
            [r, g, b].map(|v| f32::from(v) * scale)
        }));
    }
    Ok(Light { width, height, pixels })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(width: usize, height: usize) -> Vec<u8> {
        format!("#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y {height} +X {width}\n").into_bytes()
    }

    #[test]
    fn radiance_pictures_are_read_flat_and_run_length_encoded() {
        let mut flat = header(2, 1);
        flat.extend([128, 64, 0, 129, 255, 0, 0, 128]);
        let light = parse_light(&flat, Path::new("a.hdr")).unwrap();
        assert_eq!((light.width, light.height), (2, 1));
        assert_eq!(light.pixels, [[1.0, 0.5, 0.0], [255.0 / 256.0, 0.0, 0.0]]);

        let mut coded = header(8, 1);
        coded.extend([2, 2, 0, 8]);
        // Red: a run of eight; green: eight single bytes; blue: five and three; exponent: a run.
        coded.extend([136, 128, 8, 0, 16, 32, 48, 64, 80, 96, 112, 133, 64, 3, 1, 2, 3, 136, 129]);
        let light = parse_light(&coded, Path::new("a.hdr")).unwrap();
        assert!(light.pixels.iter().all(|p| p[0] == 1.0));
        assert_eq!((light.pixels[4][1], light.pixels[4][2], light.pixels[7][2]), (0.5, 0.5, 3.0 / 128.0));
    }

    #[test]
    fn broken_pictures_are_refused_and_never_panic() {
        let mut whole = header(8, 2);
        whole.extend([2, 2, 0, 8, 136, 128, 136, 0, 136, 0, 136, 129, 2, 2, 0, 8, 136, 128, 136, 0, 136, 0, 136, 129]);
        assert!(parse_light(&whole, Path::new("a.hdr")).is_ok());
        for end in 0..whole.len() {
            assert!(parse_light(&whole[..end], Path::new("a.hdr")).is_err(), "{end}");
        }
        let mut long = header(8, 1);
        long.extend([2, 2, 0, 8, 140, 128]);
        assert!(parse_light(&long, Path::new("a.hdr")).is_err());
        assert!(parse_light(&header(70_000, 70_000), Path::new("a.hdr")).is_err());
    }
}
