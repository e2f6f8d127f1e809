//! Pictures of pixels, through the decoders of the crate `image`, within limits.

use super::weights::AxisWeights;
use super::{
    Artwork, MOST_BYTES, MOST_DECODED_BYTES, MOST_KEPT_A_SIDE, MOST_OTHER_BYTES, MOST_PIXELS_A_SIDE, PictureError,
    read_limited,
};
use crate::caught::catch;
use ::image::codecs::gif::GifDecoder;
use ::image::codecs::png::PngDecoder;
use ::image::codecs::webp::WebPDecoder;
use ::image::{AnimationDecoder, DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits};
use std::io::Cursor;
use std::path::Path;

/// Frames after this one are not read.
const MOST_FRAMES: usize = 10_000;

/// A film of more pixels is refused: a minute of full HD.
const MOST_FILM_PIXELS: u64 = 1 << 31;

/// How long a frame without a duration is shown: what browsers do.
const USUAL_FRAME_SECONDS: f64 = 0.1;

/// Reads a picture: PNG, JPEG, WebP, GIF (its first frame), BMP or TIFF, recognised by its first bytes.
pub fn load_picture(path: impl AsRef<Path>) -> Result<Artwork, PictureError> {
    let path = path.as_ref();
    parse_picture(&read_limited(path, MOST_BYTES)?, path)
}

/// Reads a picture from the content of the file `path`.
pub fn parse_picture(data: &[u8], path: impl AsRef<Path>) -> Result<Artwork, PictureError> {
    let file = PictureFile::new(data, path.as_ref())?;
    let still = catch(|| file.still()).ok_or_else(|| file.damaged("it cannot be decoded"))?;
    still.map_err(|e| file.explain(e)).and_then(|image| file.artwork(&image))
}

/// The frames of a film in one file, one after the other: when each begins, in seconds, and what it shows. The last
/// item is the end of the film, without a picture.
pub type Frames<'a> = Box<dyn Iterator<Item = Result<(f64, Option<Artwork>), PictureError>> + 'a>;

/// Reads a film from the content of the file `path`: an animated GIF, PNG or WebP. Any other picture is a film of one
/// frame.
pub fn parse_frames<'a>(data: &'a [u8], path: &'a Path) -> Result<Frames<'a>, PictureError> {
    let file = PictureFile::new(data, path)?;
    let cannot = "its frames cannot be decoded";
    let frames = catch(|| file.frames()).ok_or_else(|| file.damaged(cannot))?;
    let Some(frames) = frames.map_err(|e| file.explain(e))? else {
        let still = parse_picture(data, path)?;
        return Ok(Box::new([Ok((0.0, Some(still))), Ok((USUAL_FRAME_SECONDS, None))].into_iter()));
    };
    let (mut time, mut pixels) = (0.0, 0);
    let mut frames = Some(frames.take(MOST_FRAMES));
    Ok(Box::new(std::iter::from_fn(move || {
        let rest = frames.as_mut()?;
        Some(match catch(|| rest.next()).unwrap_or_else(|| Some(Err(panicked(cannot)))) {
            Some(Ok(frame)) => {
                let (numerator, denominator) = frame.delay().numer_denom_ms();
                let seconds = f64::from(numerator) / f64::from(denominator.max(1)) / 1000.0;
                pixels += u64::from(frame.buffer().width()) * u64::from(frame.buffer().height());
                if pixels > MOST_FILM_PIXELS {
                    frames = None;
                    let what = "its frames have more than 2 billion pixels together".to_owned();
                    return Some(Err(PictureError::TooLarge { path: file.path.to_owned(), what }));
                }
                let begin = time;
                time += if seconds > 0.0 { seconds } else { USUAL_FRAME_SECONDS };
                file.artwork(&DynamicImage::ImageRgba8(frame.into_buffer())).map(|artwork| (begin, Some(artwork)))
            }
            Some(Err(e)) => {
                frames = None;
                Err(file.explain(e))
            }
            None => {
                frames = None;
                if time > 0.0 { Ok((time, None)) } else { Err(file.damaged("it has no frames")) }
            }
        })
    })))
}

/// The content of a file that looks like a picture.
struct PictureFile<'a> {
    data: &'a [u8],
    path: &'a Path,
    format: ImageFormat,
}

impl<'a> PictureFile<'a> {
    fn new(data: &'a [u8], path: &'a Path) -> Result<Self, PictureError> {
        let known = [
            ImageFormat::Png,
            ImageFormat::Jpeg,
            ImageFormat::WebP,
            ImageFormat::Gif,
            ImageFormat::Bmp,
            ImageFormat::Tiff,
        ];
        match ::image::guess_format(data) {
            Ok(format) if known.contains(&format) => Ok(Self { data, path, format }),
            _ => Err(PictureError::Unknown { path: path.to_owned() }),
        }
    }

    fn still(&self) -> Result<DynamicImage, ImageError> {
        let mut reader = ImageReader::with_format(Cursor::new(self.data), self.format);
        reader.limits(limits(MOST_OTHER_BYTES));
        let mut decoder = reader.into_decoder()?;
        let mut rest = limits(MOST_DECODED_BYTES + MOST_OTHER_BYTES);
        rest.reserve(decoder.total_bytes())?;
        decoder.set_limits(rest)?;
        let orientation = decoder.orientation()?;
        let mut image = DynamicImage::from_decoder(decoder)?;
        image.apply_orientation(orientation);
        Ok(image)
    }

    fn frames(&self) -> Result<Option<::image::Frames<'a>>, ImageError> {
        let data = Cursor::new(self.data);
        Ok(match self.format {
            ImageFormat::Gif => {
                let mut decoder = GifDecoder::new(data)?;
                decoder.set_limits(limits(MOST_DECODED_BYTES))?;
                Some(decoder.into_frames())
            }
            ImageFormat::Png => {
                let mut decoder = PngDecoder::with_limits(data, limits(MOST_OTHER_BYTES))?;
                decoder.set_limits(limits(MOST_DECODED_BYTES))?;
                if decoder.is_apng()? { Some(decoder.apng()?.into_frames()) } else { None }
            }
            ImageFormat::WebP => {
                let mut decoder = WebPDecoder::new(data)?;
                decoder.set_limits(limits(MOST_DECODED_BYTES))?;
                if decoder.has_animation() { Some(decoder.into_frames()) } else { None }
            }
            _ => None,
        })
    }

    fn explain(&self, error: ImageError) -> PictureError {
        let path = self.path.to_owned();
        match error {
            ImageError::Limits(_) => {
                let (pixels, other) = (MOST_DECODED_BYTES / 1_000_000, MOST_OTHER_BYTES >> 20);
                let what = format!(
                    "at most {MOST_PIXELS_A_SIDE} pixels a side, {pixels} MB of pixels in all (50 million of 4 bytes) and {other} MB of other data are read"
                );
                PictureError::TooLarge { path, what }
            }
            ImageError::IoError(_) => {
                PictureError::Damaged { path, format: self.name(), reason: "it breaks off".into() }
            }
            other => PictureError::Damaged { path, format: self.name(), reason: one_line(&other.to_string()) },
        }
    }

    fn damaged(&self, reason: &str) -> PictureError {
        PictureError::Damaged { path: self.path.to_owned(), format: self.name(), reason: reason.into() }
    }

    fn name(&self) -> &'static str {
        match self.format {
            ImageFormat::Png => "PNG",
            ImageFormat::Jpeg => "JPEG",
            ImageFormat::WebP => "WebP",
            ImageFormat::Gif => "GIF",
            ImageFormat::Bmp => "BMP",
            _ => "TIFF",
        }
    }

    fn artwork(&self, image: &DynamicImage) -> Result<Artwork, PictureError> {
        let (width, height) = (image.width() as usize, image.height() as usize);
        if width == 0 || height == 0 {
            return Err(self.damaged("it has no pixels"));
        }
        let shrink = width.max(height).div_ceil(MOST_KEPT_A_SIDE);
        let [kept_width, kept_height] = [width, height].map(|n| n.div_ceil(shrink));
        let pixels = match shrink {
            1 => (0..height).flat_map(|y| row(image, y)).collect(),
            _ => averaged(image, kept_width, kept_height),
        };
        // Pictures of floats may hold anything.
        if !pixels.iter().flatten().all(|v| v.is_finite()) {
            return Err(self.damaged("it has pixels that are not numbers"));
        }
        Ok(Artwork { name: self.path.display().to_string(), width: kept_width, height: kept_height, pixels })
    }
}

fn panicked(what: &str) -> ImageError {
    ImageError::IoError(std::io::Error::other(what.to_owned()))
}

fn limits(bytes: u64) -> Limits {
    let mut limits = Limits::no_limits();
    limits.max_image_width = Some(MOST_PIXELS_A_SIDE);
    limits.max_image_height = Some(MOST_PIXELS_A_SIDE);
    limits.max_alloc = Some(bytes);
    limits
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One row of pixels, red, green, blue, alpha.
fn row(image: &DynamicImage, y: usize) -> impl Iterator<Item = [f32; 4]> + '_ {
    let color = image.color();
    let (channels, width) = (usize::from(color.channel_count()), image.width() as usize);
    let bytes_per_sample = usize::from(color.bytes_per_pixel()) / channels;
    let stride = width * channels * bytes_per_sample;
    let samples = image.as_bytes()[y * stride..][..stride].chunks_exact(channels * bytes_per_sample);
    let sample = move |bytes: &[u8]| match *bytes {
        [a] => f32::from(a) / 255.0,
        [a, b] => f32::from(u16::from_ne_bytes([a, b])) / 65535.0,
        [a, b, c, d] => to_srgb(f32::from_ne_bytes([a, b, c, d])),
        _ => 0.0,
    };
    samples.map(move |pixel| {
        let v = |i: usize| sample(&pixel[i * bytes_per_sample..][..bytes_per_sample]);
        match channels {
            1 => [v(0), v(0), v(0), 1.0],
            2 => [v(0), v(0), v(0), v(1)],
            3 => [v(0), v(1), v(2), 1.0],
            _ => [v(0), v(1), v(2), v(3)],
        }
    })
}

/// The picture with fewer pixels: each the exact mean of what it covers. Colours are weighted with their alpha.
fn averaged(image: &DynamicImage, width: usize, height: usize) -> Vec<[f32; 4]> {
    let axis = |count: usize, kept: usize| AxisWeights::new(count, [0.0, kept as f64], kept, 0.0, 1.0);
    let (along, down) = (axis(image.width() as usize, width), axis(image.height() as usize, height));
    let mut pixels = Vec::with_capacity(width * height);
    let mut sums = vec![[0.0_f64; 4]; width];
    for j in 0..height {
        sums.fill([0.0; 4]);
        let (first, weights) = down.of(j);
        for (k, down) in weights.iter().enumerate() {
            let source: Vec<[f32; 4]> = row(image, first + k).collect();
            for (i, sum) in sums.iter_mut().enumerate() {
                let (first, weights) = along.of(i);
                for ([r, g, b, a], along) in source[first..].iter().zip(weights) {
                    let (weight, a) = (down * along, f64::from(*a));
                    [r, g, b].iter().zip(&mut sum[..3]).for_each(|(v, sum)| *sum += weight * a * f64::from(**v));
                    sum[3] += weight * a;
                }
            }
        }
        pixels.extend(sums.iter().map(|&[r, g, b, a]| {
            let color = if a > 0.0 { [r / a, g / a, b / a] } else { [0.0; 3] };
            [color[0] as f32, color[1] as f32, color[2] as f32, a as f32]
        }));
    }
    pixels
}

/// Light as sRGB stores it. Not a number stays so.
fn to_srgb(light: f32) -> f32 {
    let light = light.clamp(0.0, 1.0);
    if light <= 0.003_130_8 { 12.92 * light } else { 1.055 * libm::powf(light, 1.0 / 2.4) - 0.055 }
}
