//! GIF: one palette, ordered dithering, only what changed from frame to frame.

use crate::dither::{Mapper, opaque};
use crate::image::read_png;
use crate::movie::{MovieError, Watch, batch, read_batch};
use crate::output::{IoError, OutputFile};
use crate::palette::{Histogram, Palette};
use gif::{DisposalMethod, Encoder, Frame, Repeat};
use rayon::prelude::*;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// The palette entry that means "as before". The colours use the 255 entries below it.
const UNCHANGED: u8 = 255;
/// Frames that the palette is made from, spread over the movie.
const PALETTE_FRAMES: usize = 48;

pub fn write(frames: &[PathBuf], fps: f64, out: &Path, watch: &mut Watch<'_>) -> Result<(), MovieError> {
    let first = read_png(&frames[0])?;
    let (Ok(width), Ok(height)) = (u16::try_from(first.width), u16::try_from(first.height)) else {
        return Err(MovieError::TooLargeForGif { width: first.width, height: first.height });
    };
    let palette = palette(frames, first.width, first.height, watch)?;
    let mapper = Mapper::new(palette);
    let mut global: Vec<u8> = mapper.palette().colors.as_flattened().to_vec();
    global.resize(3 * 256, 0);

    let file = OutputFile::create(out)?;
    let failed = |e: gif::EncodingError| match e {
        gif::EncodingError::Io(e) => IoError::file(out, "write")(e),
        e => IoError::content(out, e),
    };
    let mut encoder = Encoder::new(file, width, height, &global).map_err(failed)?;
    encoder.set_repeat(Repeat::Infinite).map_err(failed)?;

    let shown = shown_frames(frames.len(), fps);
    let mut before: Option<Vec<u8>> = None;
    for batch in shown.chunks(batch(first.width, first.height)) {
        let paths: Vec<_> = batch.iter().map(|&(frame, _)| &frames[frame]).collect();
        let pictures = read_batch(&paths, first.width, first.height)?;
        let indices: Vec<_> = pictures.par_iter().map(|p| mapper.indices(&p.rgba, usize::from(width))).collect();
        let encode = |i: usize| {
            let earlier = if i > 0 { Some(&indices[i - 1]) } else { before.as_ref() };
            let mut frame = changes(earlier, &indices[i], usize::from(width));
            frame.delay = batch[i].1;
            frame.make_lzw_pre_encoded();
            frame
        };
        let encoded: Vec<Frame<'_>> = (0..batch.len()).into_par_iter().map(encode).collect();
        for frame in &encoded {
            encoder.write_lzw_pre_encoded_frame(frame).map_err(failed)?;
        }
        watch(batch.last().map_or(0, |&(frame, _)| frame + 1))?;
        before = indices.into_iter().next_back();
    }
    let file = encoder.into_inner().map_err(failed)?;
    Ok(file.finish()?)
}

fn palette(frames: &[PathBuf], width: u32, height: u32, watch: &mut Watch<'_>) -> Result<Palette, MovieError> {
    let histogram = Histogram::new();
    let count = frames.len().min(PALETTE_FRAMES);
    let chosen: Vec<_> = (0..count).map(|i| &frames[i * frames.len() / count]).collect();
    for batch in chosen.chunks(batch(width, height)) {
        let pictures = read_batch(batch, width, height)?;
        pictures.par_iter().for_each(|p| p.rgba.as_chunks().0.iter().for_each(|&pixel| histogram.add(opaque(pixel))));
        watch(0)?;
    }
    Ok(Palette::fitting(&histogram))
}

/// Which frames are shown and for how many hundredths of a second each. The sum is that of the movie, to the nearest
/// hundredth: rounding is spread over the frames. Players slow down what is shown for less than two hundredths, so
/// above 50 frames per second some frames are left out instead.
fn shown_frames(count: usize, fps: f64) -> Vec<(usize, u16)> {
    let starts = |frame: usize| (100.0 * frame as f64 / fps).round() as u64;
    let end = starts(count).max(2);
    let mut shown: Vec<(usize, u64)> = Vec::new();
    for frame in 0..count {
        let start = starts(frame);
        if shown.last().is_none_or(|&(_, last)| start >= last + 2) && start + 2 <= end {
            shown.push((frame, start));
        }
    }
    let ends: Vec<u64> = shown.iter().skip(1).map(|&(_, start)| start).chain([end]).collect();
    let delay = |(&(frame, start), end): (&(usize, u64), u64)| (frame, u16::try_from(end - start).unwrap_or(u16::MAX));
    shown.iter().zip(ends).map(delay).collect()
}

/// The smallest rectangle that holds all changes, with unchanged pixels in it left out.
fn changes<'a>(before: Option<&Vec<u8>>, now: &'a [u8], width: usize) -> Frame<'a> {
    let height = now.len() / width;
    let mut frame = Frame { dispose: DisposalMethod::Keep, transparent: Some(UNCHANGED), ..Frame::default() };
    let Some(before) = before else {
        (frame.width, frame.height) = (width as u16, height as u16);
        frame.buffer = Cow::Borrowed(now);
        return frame;
    };
    let rows = || now.chunks(width).zip(before.chunks(width));
    let changed = |(a, b): (&[u8], &[u8])| a != b;
    // A frame without any change still needs one pixel to carry its delay.
    let top = rows().position(changed).unwrap_or(0);
    let bottom = rows().rposition(changed).unwrap_or(top) + 1;
    let left = rows().filter_map(|(a, b)| (0..width).find(|&x| a[x] != b[x])).min().unwrap_or(0);
    let right = rows().filter_map(|(a, b)| (0..width).rfind(|&x| a[x] != b[x])).max().unwrap_or(left) + 1;

    let mut pixels = Vec::with_capacity((right - left) * (bottom - top));
    for (a, b) in rows().take(bottom).skip(top) {
        pixels.extend((left..right).map(|x| if a[x] == b[x] { UNCHANGED } else { a[x] }));
    }
    (frame.left, frame.top) = (left as u16, top as u16);
    (frame.width, frame.height) = ((right - left) as u16, (bottom - top) as u16);
    frame.buffer = Cow::Owned(pixels);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_add_up_to_the_length_of_the_movie() {
        for fps in [1.0, 7.5, 12.0, 23.976, 24.0, 25.0, 29.97, 30.0, 48.0, 50.0, 60.0, 120.0] {
            for count in [1, 2, 7, 90, 1000] {
                let shown = shown_frames(count, fps);
                let total: u64 = shown.iter().map(|&(_, delay)| u64::from(delay)).sum();
                let expected = ((100.0 * count as f64 / fps).round() as u64).max(2);
                assert_eq!(total, expected, "{count} frames at {fps} per second");
                assert!(shown.iter().all(|&(_, delay)| delay >= 2));
                assert!(fps > 50.0 || shown.len() == count);
            }
        }
    }
}
