//! Plays the textures as an engine does: from the files, with frames interpolated by motion.
//!
//! Between frames k and k + 1, at t from 0 to 1, with the motion mv of each frame:
//!
//! color(uv) = lerp(frame_k(uv - t mv_k(uv)), frame_k+1(uv + (1 - t) mv_k+1(uv)), t)

use std::path::{Path, PathBuf};

use squall_io::{IoError, MovieError, MovieFormat, assemble, read_png16, write_png};
use squall_render::color::to_srgb;

use super::{FlipbookError, Layout, Selection};
use crate::run::{CancelToken, Event, Observer};
use crate::setup::{Alpha, Green, Setup};

/// What is behind transparent frames: a neutral grey, in linear light.
const BEHIND: f32 = 0.18;
/// A GIF can show no more frames per second.
const MOST_FPS: f64 = 50.0;

pub(super) struct Playback<'a> {
    pub setup: &'a Setup,
    pub name: &'a str,
    /// Where the textures are.
    pub folder: &'a Path,
    pub layout: &'a Layout,
    pub selection: &'a Selection,
    /// The largest motion that the motion texture holds, if there is one.
    pub motion: Option<f64>,
}

impl Playback<'_> {
    /// Writes the movie; `false` if it was cancelled.
    pub fn write(&self, path: &Path, observer: &mut dyn Observer, cancel: &CancelToken) -> Result<bool, FlipbookError> {
        let color = self.texture("color")?;
        let motion = self.motion.map(|most| Ok::<_, IoError>((self.texture("motion")?, most as f32))).transpose()?;
        let (count, looped) = (self.selection.count, self.setup.flipbook.looped);
        let fps = self.setup.time.fps / f64::from(self.selection.every);
        let between = (MOST_FPS / fps).floor().clamp(2.0, 4.0) as u32;
        let pairs = if looped { count } else { count.saturating_sub(1) };
        // Beside the movie, so that it is on the same disk; gone when the movie is there.
        let folder = self.folder.join(format!(".{}_preview", self.name));
        let failed = |action| {
            let path = folder.clone();
            move |source| IoError::File { path, action, source }
        };
        std::fs::create_dir_all(&folder).map_err(failed("create the folder"))?;
        let mut pictures: Vec<PathBuf> = Vec::new();
        let [width, height] = self.layout.frame;
        let player = Player { playback: self, color: &color, motion: motion.as_ref().map(|(m, most)| (m, *most)) };
        let mut whole = true;
        for step in 0..(pairs * between + u32::from(!looped)) {
            if cancel.is_cancelled() {
                whole = false;
                break;
            }
            let (k, t) = (step / between, (step % between) as f32 / between as f32);
            let picture = folder.join(format!("{step:05}.png"));
            write_png(&picture, width, height, &player.draw(k, (k + 1) % count, t))?;
            pictures.push(picture);
        }
        let mut progress = |done| observer.event(&Event::Movie { done, of: pictures.len() });
        let movie = match whole {
            true => assemble(&pictures, fps * f64::from(between), MovieFormat::Gif, path, &mut progress, &|| {
                cancel.is_cancelled()
            }),
            false => Err(MovieError::Cancelled),
        };
        std::fs::remove_dir_all(&folder).map_err(failed("remove"))?;
        match movie {
            Ok(()) => Ok(true),
            Err(MovieError::Cancelled) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn texture(&self, map: &str) -> Result<Texture, IoError> {
        let (width, _, samples) = read_png16(self.folder.join(format!("{}_{map}.png", self.name)))?;
        let linear = |v: f32| if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) };
        let decode = |pixel: &[u16; 4]| {
            let [r, g, b, a] = pixel.map(|v| f32::from(v) / 65535.0);
            if map == "color" { [linear(r), linear(g), linear(b), a] } else { [r, g, b, a] }
        };
        Ok(Texture { width: width as usize, pixels: samples.as_chunks().0.iter().map(decode).collect() })
    }
}

/// A texture as a shader sees it.
struct Texture {
    width: usize,
    pixels: Vec<[f32; 4]>,
}

impl Texture {
    /// Linear between pixels; `x` and `y` count pixels from the upper left corner.
    fn at(&self, x: f32, y: f32) -> [f32; 4] {
        let rows = self.pixels.len() / self.width;
        let (x, y) = (x - 0.5, y - 0.5);
        let (u, v) = (x - x.floor(), y - y.floor());
        let inside = |i: f32, n: usize| i.max(0.0).min((n - 1) as f32) as usize;
        let [left, right] = [inside(x.floor(), self.width), inside(x.floor() + 1.0, self.width)];
        let [top, bottom] = [inside(y.floor(), rows), inside(y.floor() + 1.0, rows)];
        let pixel = |x: usize, y: usize| self.pixels[y * self.width + x];
        let (a, b, c, d) = (pixel(left, top), pixel(right, top), pixel(left, bottom), pixel(right, bottom));
        std::array::from_fn(|i| {
            let (above, below) = (a[i] + u * (b[i] - a[i]), c[i] + u * (d[i] - c[i]));
            above + v * (below - above)
        })
    }
}

struct Player<'a> {
    playback: &'a Playback<'a>,
    color: &'a Texture,
    motion: Option<(&'a Texture, f32)>,
}

impl Player<'_> {
    /// One picture, three bytes for each pixel.
    fn draw(&self, k: u32, next: u32, t: f32) -> Vec<u8> {
        let layout = self.playback.layout;
        let [width, height] = layout.frame.map(|n| n as usize);
        let alpha = self.playback.setup.flipbook.alpha;
        let mut out = Vec::with_capacity(3 * width * height);
        for i in 0..width * height {
            let place = [(i % width) as f32 + 0.5, (i / width) as f32 + 0.5];
            let a = self.sample(k, place, -t);
            let b = if t > 0.0 { self.sample(next, place, 1.0 - t) } else { a };
            let [r, g, b, opacity]: [f32; 4] = std::array::from_fn(|c| a[c] + t * (b[c] - a[c]));
            let light = match alpha {
                Alpha::Opaque => [r, g, b],
                Alpha::Premultiplied => [r, g, b].map(|v| v + (1.0 - opacity) * BEHIND),
                Alpha::Straight => [r, g, b].map(|v| opacity * v + (1.0 - opacity) * BEHIND),
            };
            out.extend(light.map(|v| (to_srgb(v) + 0.5) as u8));
        }
        out
    }

    /// The colour of a frame, moved by `share` of its motion there. It stays within the cell of the frame.
    fn sample(&self, frame: u32, place: [f32; 2], share: f32) -> [f32; 4] {
        let layout = self.playback.layout;
        let corner = layout.place(frame).map(|v| v as f32);
        let at: [f32; 2] = std::array::from_fn(|a| corner[a] + place[a]);
        let mut moved = at;
        if let Some((motion, most)) = self.motion {
            let [u, v, ..] = motion.at(at[0], at[1]).map(|v| (2.0 * v - 1.0) * most);
            // Rows are counted downwards.
            let v = if self.playback.setup.flipbook.green == Green::Down { v } else { -v };
            let cell = layout.cell().map(|n| n as f32);
            moved = [at[0] + share * u * cell[0], at[1] + share * v * cell[1]];
        }
        let padding = layout.padding as f32;
        let kept: [f32; 2] = std::array::from_fn(|a| {
            if layout.wraps[a] {
                return corner[a] + (moved[a] - corner[a]).rem_euclid(layout.frame[a] as f32);
            }
            let (low, high) = (corner[a] - padding + 0.5, corner[a] + layout.frame[a] as f32 + padding - 0.5);
            moved[a].clamp(low, high)
        });
        self.color.at(kept[0], kept[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampling_is_linear_between_pixels_and_keeps_to_the_edge() {
        let texture = Texture { width: 2, pixels: vec![[0.0; 4], [1.0; 4], [2.0; 4], [3.0; 4]] };
        assert_eq!(texture.at(0.5, 0.5), [0.0; 4]);
        assert_eq!(texture.at(1.0, 1.0), [1.5; 4]);
        assert_eq!(texture.at(-7.0, 0.5), [0.0; 4]);
        assert_eq!(texture.at(9.0, 9.0), [3.0; 4]);
    }
}
