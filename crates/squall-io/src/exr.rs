//! OpenEXR pictures: linear light without an upper end, and passes for compositing, in one file.
//!
//! Channels are called as Blender calls its own: `ViewLayer.Combined.R`, `ViewLayer.Depth.Z`. Its compositor shows a socket for each
//! pass, and other programs show layers.

use std::io::{BufReader, Cursor, Seek, Write};
use std::path::Path;

use ::exr::meta::attribute::TimeCode;
use ::exr::prelude::{
    AnyChannel, AnyChannels, AttributeValue, Compression, Encoding, FlatSamples, Image, Layer, LayerAttributes,
    MetaData, ReadChannels, ReadLayers, SmallVec, Text, WritableImage, f16, read,
};

use crate::output::{IoError, OutputFile, open_file};

/// How numbers are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExrPrecision {
    /// 16 bits: three digits, up to 65504. What pictures are usually kept in.
    #[default]
    Half,
    /// 32 bits: exact.
    Full,
}

/// One pass of a picture: up to four numbers for each pixel.
#[derive(Clone, Copy)]
pub struct ExrPass<'a> {
    /// What it is called: `Combined` for the picture itself, `Depth`, `Normal`.
    pub name: &'a str,
    /// One letter for each number: `RGBA`, `XYZ`, `Z`, `V`.
    pub channels: &'a str,
    /// How numbers are stored.
    pub precision: ExrPrecision,
    /// The numbers of pixel `i`, the top row first; those beyond the channels do not count. Colours are multiplied by alpha.
    pub pixel: &'a (dyn Fn(usize) -> [f32; 4] + Sync),
}

/// When a picture is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExrTime {
    /// Frames per second.
    pub fps: f64,
    /// Its number: frame 0 is shown at time 0.
    pub frame: u64,
}

/// A pass that was read, the top row first.
#[derive(Clone, Debug, PartialEq)]
pub struct ExrPixels {
    /// Pixels per row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// The numbers of each pixel in the order of [`ExrPass::channels`]; 0 where there are fewer.
    pub pixels: Vec<[f32; 4]>,
}

/// What is written instead of larger and infinite 32-bit numbers, as Blender does: the depth where there is nothing.
pub const FARTHEST: f32 = 1e10;

/// No picture of Squall is larger; a file that claims to be is refused before memory is spent on it.
const MAX_PIXELS: u64 = 1 << 26;

/// What all channels begin with.
const LAYER: &str = "ViewLayer";

/// The letters of numbers, in the order in which they are read.
const LETTERS: [&str; 4] = ["RXV", "GY", "BZ", "AW"];

/// Writes passes in one file, with the number of frames per second and the timecode. Numbers beyond what their precision can hold become the largest
/// that it can, or [`FARTHEST`]. Equal pixels give equal bytes.
pub fn write_exr(
    path: impl AsRef<Path>,
    [width, height]: [usize; 2],
    passes: &[ExrPass<'_>],
    time: ExrTime,
) -> Result<(), IoError> {
    let path = path.as_ref();
    let Some(pixels) = width.checked_mul(height).filter(|&n| n > 0 && n as u64 <= MAX_PIXELS) else {
        return Err(IoError::content(path, format!("{width} x {height} pixels are no picture")));
    };
    let mut channels = SmallVec::new();
    for pass in passes {
        for (c, letter) in pass.channels.chars().enumerate() {
            let values = (0..pixels).map(|i| (pass.pixel)(i)[c]);
            let samples = match pass.precision {
                ExrPrecision::Half => FlatSamples::F16(values.map(to_half).collect()),
                ExrPrecision::Full => FlatSamples::F32(values.map(|v| v.clamp(-FARTHEST, FARTHEST)).collect()),
            };
            channels.push(AnyChannel::new(format!("{LAYER}.{}.{letter}", pass.name).as_str(), samples));
        }
    }
    let mut attributes = LayerAttributes {
        software_name: Some(Text::from(concat!("Squall ", env!("CARGO_PKG_VERSION")))),
        frames_per_second: Some(rational(time.fps)),
        ..LayerAttributes::default()
    };
    // Older versions of Blender look for this before they look for layers.
    let multi = AttributeValue::Text(Text::from("Blender V2.55.1 and newer"));
    attributes.other.insert(Text::from("BlenderMultiChannel"), multi);
    let encoding = Encoding { compression: Compression::ZIP16, ..Encoding::default() };
    let layer = Layer::new((width, height), attributes, encoding, AnyChannels::sort(channels));
    let mut encoded = Cursor::new(Vec::new());
    let mut image = Image::from_layer(layer);
    image.attributes.time_code = timecode(time);
    let done = image.write().non_parallel().to_buffered(&mut encoded);
    done.map_err(|e| IoError::content(path, e))?;
    let mut file = OutputFile::create(path)?;
    file.write_all(encoded.get_ref()).map_err(|e| file.explain(e))?;
    file.finish()
}

fn to_half(value: f32) -> f16 {
    f16::from_f32(value.clamp(-f16::MAX.to_f32_const(), f16::MAX.to_f32_const()))
}

/// Frames per second as film and television write them: 30000/1001 for 29.97.
fn rational(fps: f64) -> (i32, u32) {
    // Whole ones, whole ones slowed down by a thousandth, thousandths.
    for (denominator, multiple) in [(1u32, 1.0), (1001, 1000.0), (1000, 1.0)] {
        let numerator = (fps * f64::from(denominator) / multiple).round() * multiple;
        if (fps - numerator / f64::from(denominator)).abs() < 5e-4 * fps.min(1.0) && numerator >= 1.0 {
            return (numerator as i32, denominator);
        }
    }
    ((fps * 1e4).round().clamp(1.0, f64::from(i32::MAX)) as i32, 10_000)
}

/// Hours, minutes, seconds and frames as SMPTE counts them: without leaving out numbers, up to 30 frames a second and a day.
fn timecode(ExrTime { fps, frame }: ExrTime) -> Option<TimeCode> {
    let rate = fps.round() as u64;
    let seconds = frame.checked_div(rate).filter(|_| rate <= 30 && (fps / rate as f64 - 1.0).abs() < 2e-3)?;
    Some(TimeCode {
        hours: u8::try_from(seconds / 3600).ok().filter(|hours| *hours < 24)?,
        minutes: (seconds / 60 % 60) as u8,
        seconds: (seconds % 60) as u8,
        frame: (frame % rate) as u8,
        ..TimeCode::default()
    })
}

/// Reads one pass of a picture; `Ok(None)`: it has no such pass.
pub fn read_exr(path: impl AsRef<Path>, pass: &str) -> Result<Option<ExrPixels>, IoError> {
    let path = path.as_ref();
    let file = open_file(path).map_err(IoError::file(path, "open"))?;
    let wrong = |e: ::exr::error::Error| match e {
        ::exr::error::Error::Io(e) if e.kind() != std::io::ErrorKind::UnexpectedEof => IoError::file(path, "read")(e),
        e => IoError::content(path, format!("not a whole OpenEXR picture: {e}")),
    };
    let mut bytes = BufReader::new(file);
    let headers = MetaData::read_from_buffered(&mut bytes, false).map_err(wrong)?.headers;
    if let Some(size) = headers.iter().map(|h| h.layer_size).find(|s| s.area() as u64 > MAX_PIXELS) {
        return Err(IoError::content(path, format!("{} x {} pixels are too many", size.width(), size.height())));
    }
    bytes.rewind().map_err(IoError::file(path, "read"))?;
    let reader = read().no_deep_data().largest_resolution_level().all_channels().first_valid_layer().all_attributes();
    let image = reader.non_parallel().from_buffered(bytes).map_err(wrong)?;
    let layer = image.layer_data;
    let (width, height) = (layer.size.width(), layer.size.height());
    let mut pixels = vec![[0.0; 4]; width * height];
    let mut found = 0;
    let prefix = format!("{LAYER}.{pass}.");
    let of_pass = |name: &Text| name.to_string().strip_prefix(&prefix).map(str::to_owned);
    let letters: Vec<String> = layer.channel_data.list.iter().filter_map(|c| of_pass(&c.name)).collect();
    for channel in &layer.channel_data.list {
        let Some(letter) = of_pass(&channel.name) else { continue };
        // A depth has but one number, called Z.
        let place = if letters.len() == 1 { Some(0) } else { LETTERS.iter().position(|l| l.contains(&letter)) };
        let (Some(c), true) = (place, channel.sample_data.len() == pixels.len()) else {
            return Err(IoError::content(path, format!("its channel {} is not of full size", channel.name)));
        };
        pixels.iter_mut().zip(channel.sample_data.values_as_f32()).for_each(|(pixel, value)| pixel[c] = value);
        found += 1;
    }
    Ok((found > 0).then_some(ExrPixels { width, height, pixels }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;

    fn color(i: usize) -> [f32; 4] {
        let alpha = (i % 9) as f32 / 8.0;
        [0.1 * i as f32 * alpha, 100.0 * alpha, 3e-5 * alpha, alpha]
    }

    fn depth(i: usize) -> [f32; 4] {
        [if i.is_multiple_of(9) { f32::INFINITY } else { 0.1 + i as f32 }; 4]
    }

    fn write(folder: &Path, size: [usize; 2], precision: ExrPrecision) -> Result<Vec<u8>, IoError> {
        let path = folder.join("a.exr");
        let passes = [
            ExrPass { name: "Combined", channels: "RGBA", precision, pixel: &color },
            ExrPass { name: "Depth", channels: "Z", precision: ExrPrecision::Full, pixel: &depth },
            ExrPass { name: "Normal", channels: "XYZ", precision, pixel: &color },
        ];
        write_exr(&path, size, &passes, ExrTime { fps: 30.0, frame: 95 })?;
        Ok(std::fs::read(path).unwrap())
    }

    fn pass(folder: &Path, name: &str) -> Vec<[f32; 4]> {
        read_exr(folder.join("a.exr"), name).unwrap().unwrap().pixels
    }

    #[test]
    fn all_passes_survive_in_one_file_with_light_beyond_1() {
        let folder = TestFolder::new("exr-full");
        // More rows than a chunk of the file holds, and a number that it does not divide.
        let size = [13, 37];
        let bytes = write(&folder, size, ExrPrecision::Full).unwrap();
        let colors: Vec<[f32; 4]> = (0..13 * 37).map(color).collect();
        assert!(pass(&folder, "Combined") == colors);
        let normals: Vec<[f32; 4]> = colors.iter().map(|&[x, y, z, _]| [x, y, z, 0.0]).collect();
        assert!(pass(&folder, "Normal") == normals);
        let depths: Vec<[f32; 4]> = (0..13 * 37).map(|i| [depth(i)[0].min(FARTHEST), 0.0, 0.0, 0.0]).collect();
        assert!(pass(&folder, "Depth") == depths);
        assert!(read_exr(folder.join("a.exr"), "Motion").unwrap().is_none());
        assert!(write(&folder, size, ExrPrecision::Full).unwrap() == bytes, "equal pixels are equal bytes");
        assert_eq!(folder.names(), ["a.exr"]);
    }

    #[test]
    fn half_pictures_are_rounded_and_nothing_is_infinite() {
        let folder = TestFolder::new("exr-half");
        write(&folder, [20, 10], ExrPrecision::Half).unwrap();
        let rounded: Vec<[f32; 4]> = (0..200).map(|i| color(i).map(|v| f16::from_f32(v).to_f32())).collect();
        assert!(pass(&folder, "Combined") == rounded);
        let bright = |_| [1e9, f32::INFINITY, -1e30, 1.0];
        let passes = [ExrPass { name: "Combined", channels: "RGBA", precision: ExrPrecision::Half, pixel: &bright }];
        write_exr(folder.join("a.exr"), [1, 1], &passes, ExrTime { fps: 24.0, frame: 1 }).unwrap();
        assert_eq!(pass(&folder, "Combined"), [[65504.0, 65504.0, -65504.0, 1.0]]);
    }

    #[test]
    fn frame_rates_are_those_of_film_and_television() {
        assert_eq!([24.0, 25.0, 60.0, 0.5].map(rational), [(24, 1), (25, 1), (60, 1), (500, 1000)]);
        assert_eq!([23.976, 29.97, 59.94].map(rational), [(24_000, 1001), (30_000, 1001), (60_000, 1001)]);
        assert_eq!(rational(12.5), (12_500, 1000));
    }

    #[test]
    fn pictures_say_when_they_are_shown() {
        let folder = TestFolder::new("exr-time");
        write(&folder, [2, 2], ExrPrecision::Half).unwrap();
        let read = MetaData::read_from_file(folder.join("a.exr"), false).unwrap();
        let attributes = &read.headers[0].shared_attributes;
        assert_eq!(attributes.time_code, Some(TimeCode { seconds: 3, frame: 5, ..TimeCode::default() }));
        assert_eq!(read.headers[0].own_attributes.frames_per_second, Some((30, 1)));
        let day = 24 * 3600 * 24;
        let last = timecode(ExrTime { fps: 23.976, frame: day - 1 }).unwrap();
        assert_eq!((last.hours, last.minutes, last.seconds, last.frame), (23, 59, 59, 23));
        // What SMPTE has no numbers for has none.
        for (fps, frame) in [(24.0, day), (60.0, 1), (12.5, 1), (0.2, 1)] {
            assert_eq!(timecode(ExrTime { fps, frame }), None, "{fps}");
        }
    }

    #[test]
    fn wrong_sizes_and_damaged_files_are_errors() {
        let folder = TestFolder::new("exr-wrong");
        for size in [[0, 0], [usize::MAX, 2], [1 << 14, 1 << 13]] {
            let error = write(&folder, size, ExrPrecision::Half).unwrap_err();
            assert!(error.to_string().contains("no picture"), "{size:?}: {error}");
        }
        assert!(folder.names().is_empty());
        let bytes = write(&folder, [8, 8], ExrPrecision::Half).unwrap();
        let path = folder.join("a.exr");
        for length in 0..bytes.len() {
            std::fs::write(&path, &bytes[..length]).unwrap();
            let error = read_exr(&path, "Combined").unwrap_err().to_string();
            assert!(error.contains("a.exr"), "{length}: {error}");
        }
    }
}
