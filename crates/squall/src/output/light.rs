//! The picture in linear light and all passes, in one OpenEXR file for compositing.

use squall_io::{ExrPass, ExrPrecision, ExrTime, write_exr};

use super::{Expected, FRAMES, FrameOutput, Job, Shot, numbered, numbered_path};
use crate::picture::passes::{PassImage, series};
use crate::run::RunError;
use crate::setup::Setup;

/// What a pass is called in the file, and its channels; by the name of its series.
pub fn pass_name(series: &str) -> (&'static str, &'static str) {
    match series {
        "motion" => ("Motion", "XYZ"),
        "normal" => ("Normal", "XYZ"),
        "depth" => ("Depth", "Z"),
        "temperature" => ("Temperature", "V"),
        "six_way_positive" => ("SixWayPositive", "RGBA"),
        "six_way_negative" => ("SixWayNegative", "RGBA"),
        "height" => ("Height", "V"),
        _ => ("Flow", "XYZ"),
    }
}

pub(super) struct Light {
    fps: f64,
    pixels: u64,
    passes: u64,
}

impl Light {
    /// `None` if the scene wants neither linear light nor passes.
    pub fn new(setup: &Setup) -> Option<Self> {
        let output = &setup.output;
        let pixels = u64::from(output.width) * u64::from(output.height);
        let passes = output.passes.iter().map(|&pass| series(pass).len() as u64).sum();
        (output.exr || passes > 0).then_some(Self { fps: setup.time.fps, pixels, passes })
    }
}

impl FrameOutput for Light {
    fn name(&self) -> &'static str {
        "linear light and passes"
    }

    fn files(&self, frame: u64) -> Vec<String> {
        vec![numbered(FRAMES, frame, "exr")]
    }

    fn expected(&self) -> Expected {
        // A pass takes half a byte to three per pixel, and four numbers for each until it is written. The picture takes five, but is seldom kept by each
        // of the frames that may wait.
        let memory = (9 + 16 * self.passes) * self.pixels;
        Expected { disk: self.pixels / 2 * (self.passes + 1), memory, at_the_end: 0 }
    }

    fn capture(&mut self, shot: &Shot<'_>) -> Result<Job, RunError> {
        let (film, passes, number, fps) = (shot.film.clone(), shot.passes.clone(), shot.number, self.fps);
        let size = shot.pixels.image();
        let size = [size.width, size.height];
        Ok(Box::new(move |folder| {
            let half = ExrPrecision::Half;
            let precision = |pass: &PassImage| if pass.exact { ExrPrecision::Full } else { half };
            let opacity = passes.iter().find(|pass| !["flow", "height", "six_way_negative"].contains(&pass.name));
            let color = film.as_ref().map(|film| move |i: usize| film.rgba[i]);
            let depth = film.as_ref().map(|film| move |i: usize| [film.depth[i]; 4]);
            let opacity = opacity.map(|pass| move |i: usize| [pass.rgba[i][3]; 4]);
            let others: Vec<_> = passes.iter().map(|pass| (pass, move |i: usize| pass.rgba[i])).collect();
            let mut all = Vec::new();
            if let (Some(color), Some(depth)) = (&color, &depth) {
                all.push(ExrPass { name: "Combined", channels: "RGBA", precision: half, pixel: color });
                all.push(ExrPass { name: "Depth", channels: "Z", precision: ExrPrecision::Full, pixel: depth });
            }
            for (pass, pixel) in others.iter().filter(|(pass, _)| pass.name != "depth") {
                let (name, channels) = pass_name(pass.name);
                all.push(ExrPass { name, channels, precision: precision(pass), pixel });
            }
            if let Some(opacity) = &opacity {
                all.push(ExrPass { name: "Opacity", channels: "V", precision: half, pixel: opacity });
            }
            write_exr(numbered_path(folder, FRAMES, number, "exr"), size, &all, ExrTime { fps, frame: number })
        }))
    }
}
