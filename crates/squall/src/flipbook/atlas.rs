//! Tiles with borders on a texture.

use std::path::Path;

use squall_io::{IoError, Samples, write_map, write_png};

use super::Layout;

/// The numbers of a texture.
#[derive(Clone, Debug)]
enum Canvas {
    Eight(Vec<u8>),
    Sixteen(Vec<u16>),
}

/// A texture in the making: some numbers for each pixel, all zero at first.
#[derive(Clone, Debug)]
pub(super) struct Atlas {
    layout: Layout,
    channels: usize,
    canvas: Canvas,
}

impl Atlas {
    pub fn new(layout: &Layout, channels: usize, bits: u32) -> Self {
        let [width, height] = layout.size().map(|n| n as usize);
        let count = width * height * channels;
        let canvas = if bits == 16 { Canvas::Sixteen(vec![0; count]) } else { Canvas::Eight(vec![0; count]) };
        Self { layout: *layout, channels, canvas }
    }

    /// Of no size.
    pub fn empty() -> Self {
        Self {
            layout: Layout { columns: 0, rows: 0, frame: [0; 2], padding: 0, wraps: [false; 2] },
            channels: 1,
            canvas: Canvas::Eight(vec![]),
        }
    }

    /// Puts a frame into its place. Its border goes on at the opposite edge where the scene tiles, and repeats the edge elsewhere. `value` gives the channels of a pixel, from 0 to 1.
    pub fn put<const C: usize>(&mut self, i: u32, value: impl Fn(usize) -> [f32; C]) {
        assert_eq!(C, self.channels, "as many numbers as the texture has");
        let [width, height] = self.layout.frame.map(|n| n as usize);
        let padding = self.layout.padding as usize;
        let [left, top] = self.layout.place(i).map(|n| n as usize - padding);
        let across = self.layout.size()[0] as usize;
        let inside = |i: usize, n: usize, wraps: bool| match wraps {
            true => (i + n * padding.div_ceil(n) - padding) % n,
            false => i.saturating_sub(padding).min(n - 1),
        };
        for y in 0..height + 2 * padding {
            let from = inside(y, height, self.layout.wraps[1]) * width;
            for x in 0..width + 2 * padding {
                let numbers = value(from + inside(x, width, self.layout.wraps[0]));
                let to = ((top + y) * across + left + x) * C;
                for (c, number) in numbers.into_iter().enumerate() {
                    let number = number.clamp(0.0, 1.0);
                    match &mut self.canvas {
                        Canvas::Eight(samples) => samples[to + c] = (255.0 * number + 0.5) as u8,
                        Canvas::Sixteen(samples) => samples[to + c] = (65535.0 * number + 0.5) as u16,
                    }
                }
            }
        }
    }

    /// Fills the places after the last frame, so that what is read there by mistake does no harm.
    pub fn put_rest<const C: usize>(&mut self, count: u32, value: [f32; C]) {
        for i in count..self.layout.columns * self.layout.rows {
            self.put(i, |_| value);
        }
    }

    /// `srgb`: whether the numbers are colours for a screen.
    pub fn write(&self, path: &Path, srgb: bool) -> Result<(), IoError> {
        let [width, height] = self.layout.size();
        match &self.canvas {
            Canvas::Eight(samples) if srgb => write_png(path, width, height, samples),
            Canvas::Eight(samples) => write_map(path, width, height, Samples::Eight(samples)),
            Canvas::Sixteen(samples) => write_map(path, width, height, Samples::Sixteen(samples)),
        }
    }
}
