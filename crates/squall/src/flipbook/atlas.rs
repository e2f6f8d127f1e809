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
            layout: Layout { columns: 0, rows: 0, frame: [0; 2], padding: 0 },
            channels: 1,
            canvas: Canvas::Eight(vec![]),
        }
    }

    /// Puts a frame into its place, with its edge repeated around it. `value` gives the channels of a pixel, from 0 to 1.
    pub fn put<const C: usize>(&mut self, i: u32, value: impl Fn(usize) -> [f32; C]) {
        assert_eq!(C, self.channels, "as many numbers as the texture has");
        let [width, height] = self.layout.frame.map(|n| n as usize);
        let padding = self.layout.padding as usize;
        let [left, top] = self.layout.place(i).map(|n| n as usize - padding);
        let across = self.layout.size()[0] as usize;
        for y in 0..height + 2 * padding {
            let from = y.saturating_sub(padding).min(height - 1) * width;
            for x in 0..width + 2 * padding {
                let numbers = value(from + x.saturating_sub(padding).min(width - 1));
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
