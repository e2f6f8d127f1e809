//! OpenEXR pictures: linear light without an upper end, alpha, depth. What compositing programs want.

use std::fs::File;
use std::io::{BufReader, Cursor, Seek, Write};
use std::path::Path;

use ::exr::prelude::{
    AnyChannel, AnyChannels, Compression, Encoding, FlatSamples, Image, Layer, LayerAttributes, MetaData, ReadChannels,
    ReadLayers, SmallVec, WritableImage, f16, read,
};

use crate::output::{IoError, OutputFile};

/// How colours are stored. Depth is always full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExrPrecision {
    /// 16 bits: three digits, up to 65504. What pictures are usually kept in.
    #[default]
    Half,
    /// 32 bits: exact.
    Full,
}

/// A picture in linear light, the top row first.
#[derive(Clone, Debug, PartialEq)]
pub struct ExrPicture {
    /// Pixels per row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Red, green, blue, alpha of each pixel; colours are already multiplied by alpha.
    pub rgba: Vec<[f32; 4]>,
    /// The distance from the camera, infinite where there is nothing.
    pub depth: Option<Vec<f32>>,
}

/// No picture of Squall is larger; a file that claims to be is refused before memory is spent on it.
const MAX_PIXELS: u64 = 1 << 26;

/// Channels in the order of the values of a pixel.
const CHANNELS: [&str; 4] = ["R", "G", "B", "A"];
const DEPTH: &str = "Z";

/// Writes a picture in linear light with colours multiplied by alpha, the top row first, and if wanted the depth of each
/// pixel in a channel `Z`. Values may exceed 1. Equal pixels give equal bytes.
pub fn write_exr(
    path: impl AsRef<Path>,
    width: usize,
    height: usize,
    rgba: &[[f32; 4]],
    depth: Option<&[f32]>,
    precision: ExrPrecision,
) -> Result<(), IoError> {
    let path = path.as_ref();
    let pixels = width.checked_mul(height).filter(|&n| n > 0 && n as u64 <= MAX_PIXELS);
    if pixels != Some(rgba.len()) || depth.is_some_and(|depth| depth.len() != rgba.len()) {
        let depths = depth.map_or_else(String::new, |depth| format!(" and {} depths", depth.len()));
        let reason = format!("{} pixels{depths} are no picture of {width} x {height}", rgba.len());
        return Err(IoError::content(path, reason));
    }
    let mut channels = SmallVec::new();
    for (c, name) in CHANNELS.iter().enumerate() {
        let values = rgba.iter().map(|pixel| pixel[c]);
        let samples = match precision {
            ExrPrecision::Half => FlatSamples::F16(values.map(half).collect()),
            ExrPrecision::Full => FlatSamples::F32(values.collect()),
        };
        channels.push(AnyChannel::new(*name, samples));
    }
    if let Some(depth) = depth {
        channels.push(AnyChannel::new(DEPTH, FlatSamples::F32(depth.to_vec())));
    }
    let encoding = Encoding { compression: Compression::ZIP16, ..Encoding::default() };
    let layer = Layer::new((width, height), LayerAttributes::default(), encoding, AnyChannels::sort(channels));
    let mut encoded = Cursor::new(Vec::new());
    let done = Image::from_layer(layer).write().non_parallel().to_buffered(&mut encoded);
    done.map_err(|e| IoError::content(path, e))?;
    let mut file = OutputFile::create(path)?;
    file.write_all(encoded.get_ref()).map_err(|e| file.explain(e))?;
    file.finish()
}

/// Rounded to 16 bits, which end at 65504: beyond lies only infinity, which other programs stumble over.
fn half(value: f32) -> f16 {
    f16::from_f32(value.clamp(-f16::MAX.to_f32(), f16::MAX.to_f32()))
}

/// Reads the first layer of a picture that has channels `R`, `G` and `B`, and perhaps `A` (1 if missing) and `Z`.
pub fn read_exr(path: impl AsRef<Path>) -> Result<ExrPicture, IoError> {
    let path = path.as_ref();
    let file = File::open(path).map_err(IoError::file(path, "open"))?;
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
    let channel = |name: &str| layer.channel_data.list.iter().find(|channel| channel.name.eq(name));
    let values = |name: &str| Some(channel(name)?.sample_data.values_as_f32().collect::<Vec<f32>>());

    let mut rgba = vec![[1.0; 4]; width * height];
    for (c, name) in CHANNELS.iter().enumerate() {
        match values(name) {
            Some(values) if values.len() == rgba.len() => {
                rgba.iter_mut().zip(values).for_each(|(pixel, value)| pixel[c] = value);
            }
            None if *name == "A" => {}
            _ => return Err(IoError::content(path, format!("it has no channel {name} of full size"))),
        }
    }
    Ok(ExrPicture { width, height, rgba, depth: values(DEPTH) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;

    fn picture(width: usize, height: usize) -> ExrPicture {
        let pixel = |i: usize| {
            let alpha = (i % 9) as f32 / 8.0;
            [0.1 * i as f32 * alpha, 100.0 * alpha, 3e-5 * alpha, alpha]
        };
        let depth = |i: usize| if i.is_multiple_of(9) { f32::INFINITY } else { 0.1 + i as f32 };
        ExrPicture {
            width,
            height,
            rgba: (0..width * height).map(pixel).collect(),
            depth: Some((0..width * height).map(depth).collect()),
        }
    }

    fn write(folder: &Path, picture: &ExrPicture, precision: ExrPrecision) -> Vec<u8> {
        let path = folder.join("a.exr");
        let ExrPicture { width, height, rgba, depth } = picture;
        write_exr(&path, *width, *height, rgba, depth.as_deref(), precision).unwrap();
        std::fs::read(path).unwrap()
    }

    #[test]
    fn full_pictures_survive_with_light_beyond_1_alpha_and_endless_depth() {
        let folder = TestFolder::new("exr-full");
        // More rows than a chunk of the file holds, and a number that it does not divide.
        let mut before = picture(13, 37);
        let bytes = write(&folder, &before, ExrPrecision::Full);
        assert!(read_exr(folder.join("a.exr")).unwrap() == before);
        assert!(write(&folder, &before, ExrPrecision::Full) == bytes, "equal pixels are equal bytes");
        before.depth = None;
        write(&folder, &before, ExrPrecision::Full);
        assert!(read_exr(folder.join("a.exr")).unwrap() == before);
        assert_eq!(folder.names(), ["a.exr"]);
    }

    #[test]
    fn half_pictures_are_rounded_and_their_depth_is_not() {
        let folder = TestFolder::new("exr-half");
        let before = picture(20, 10);
        write(&folder, &before, ExrPrecision::Half);
        let after = read_exr(folder.join("a.exr")).unwrap();
        let rounded: Vec<[f32; 4]> = before.rgba.iter().map(|p| p.map(|v| f16::from_f32(v).to_f32())).collect();
        assert!(after.rgba == rounded);
        assert!(after.depth == before.depth);
        let bright = ExrPicture { width: 1, height: 1, rgba: vec![[1e9, f32::INFINITY, -1e30, 1.0]], depth: None };
        write(&folder, &bright, ExrPrecision::Half);
        assert_eq!(read_exr(folder.join("a.exr")).unwrap().rgba, [[65504.0, 65504.0, -65504.0, 1.0]]);
    }

    #[test]
    fn wrong_sizes_and_damaged_files_are_errors() {
        let folder = TestFolder::new("exr-wrong");
        let path = folder.join("a.exr");
        for (width, height, depths) in [(3, 3, None), (0, 0, None), (2, 2, Some(3)), (usize::MAX, 2, None)] {
            let depth = depths.map(|n| vec![1.0; n]);
            let wrote = write_exr(&path, width, height, &[[0.0; 4]; 4], depth.as_deref(), ExrPrecision::Half);
            assert!(wrote.unwrap_err().to_string().contains("no picture"), "{width} x {height}");
        }
        assert!(folder.names().is_empty());
        let bytes = write(&folder, &picture(8, 8), ExrPrecision::Half);
        for length in 0..bytes.len() {
            std::fs::write(&path, &bytes[..length]).unwrap();
            let error = read_exr(&path).unwrap_err().to_string();
            assert!(error.contains("a.exr"), "{length}: {error}");
        }
    }
}
