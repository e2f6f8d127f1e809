//! Passes as files, and the file that says how to read them.

use std::path::PathBuf;

use serde_json::{Value, json};
use squall_io::{ExrPrecision, IoError, OutputFolder, Samples, write_exr, write_map, write_whole};

use crate::picture::passes::{self, GameMap, PassImage};
use crate::setup::{Green, Pass, Setup};

/// Says how the passes are to be read.
pub(super) const SIDECAR: &str = "passes.json";

/// The names of all files of passes.
pub(super) fn series(setup: &Setup) -> impl Iterator<Item = &str> {
    setup.output.passes.iter().flat_map(|&pass| passes::series(pass).iter().copied())
}

/// Writes a pass in all its forms.
pub(super) fn write_pass(folder: &OutputFolder, number: u64, pass: &PassImage) -> Result<(), IoError> {
    let path = |extension| folder.frame_path(pass.name, number, extension);
    let precision = if pass.exact { ExrPrecision::Full } else { ExrPrecision::Half };
    write_exr(path("exr"), pass.width, pass.height, &pass.rgba, None, precision)?;
    let (width, height) = (pass.width as u32, pass.height as u32);
    match &pass.map {
        Some(GameMap::Rgb(samples)) => write_map(path("png"), width, height, Samples::Eight(samples)),
        Some(GameMap::Grey(samples) | GameMap::Flow(samples, _)) => {
            write_map(path("png"), width, height, Samples::Sixteen(samples))
        }
        None => Ok(()),
    }
}

/// The file that says how passes are to be read, kept up to date.
pub(super) struct Sidecar {
    passes: Vec<Pass>,
    green: Green,
    fps: f64,
    /// From which frame on flow maps have which scale; `None` until the file of an earlier run was looked at.
    scales: Option<Vec<(u64, f64)>>,
}

impl Sidecar {
    pub fn new(setup: &Setup) -> Self {
        let output = &setup.output;
        Self { passes: output.passes.clone(), green: output.green, fps: setup.time.fps, scales: None }
    }

    /// Takes note of a frame, and writes the file anew if it says anything new.
    pub fn note(&mut self, folder: &OutputFolder, number: u64, images: &[PassImage]) -> Result<(), IoError> {
        if self.passes.is_empty() {
            return Ok(());
        }
        let path = folder.path().join(SIDECAR);
        let first = self.scales.is_none();
        let mut scales = self.scales.take().unwrap_or_else(|| earlier_scales(&path));
        let before = scales.len();
        // A run that goes on draws the frames after its checkpoint again.
        scales.retain(|(frame, _)| *frame < number);
        let flow = images.iter().find_map(|image| match image.map {
            Some(GameMap::Flow(_, scale)) => Some(scale),
            _ => None,
        });
        if let Some(scale) = flow.filter(|scale| scales.last().is_none_or(|(_, last)| last != scale)) {
            scales.push((number, scale));
        }
        let changed = first || scales.len() != before;
        if changed {
            write_whole(&path, format!("{:#}\n", self.describe(&scales)).as_bytes())?;
        }
        self.scales = Some(scales);
        Ok(())
    }

    fn describe(&self, scales: &[(u64, f64)]) -> Value {
        let green = self.green.word();
        let describe = |&pass: &Pass| match pass {
            Pass::Motion => json!({
                "exr": "motion_####.exr", "red": "pixels to the right until the next frame",
                "green": "pixels up until the next frame", "alpha": "opacity of the smoke",
            }),
            Pass::Normal => json!({
                "exr": "normal_####.exr", "red": "to the right, -1 to 1", "green": "up", "blue": "towards the viewer",
                "alpha": "opacity of the smoke",
                "png": { "files": "normal_####.png", "bits": 8, "encoding": "0.5 + 0.5 n", "green": green, "srgb": false },
            }),
            Pass::Depth => json!({
                "exr": "depth_####.exr", "red": "metres along the ray, infinite where there is nothing",
                "alpha": "opacity of the smoke",
            }),
            Pass::SixWay => json!({
                "exr": ["six_way_positive_####.exr", "six_way_negative_####.exr"],
                "positive": { "red": "light from the right", "green": "from the top", "blue": "from the back", "alpha": "opacity" },
                "negative": { "red": "light from the left", "green": "from the bottom", "blue": "from the front", "alpha": "glow" },
                "premultiplied": true,
            }),
            Pass::Temperature => json!({
                "exr": "temperature_####.exr", "red": "mean of what is seen, in the units of the scene",
                "alpha": "opacity of the smoke",
            }),
            Pass::Height => json!({
                "exr": "height_####.exr", "red": "1 at the upper end of picture.range",
                "png": { "files": "height_####.png", "bits": 16, "encoding": "height", "srgb": false },
            }),
            Pass::Flow => json!({
                "exr": "flow_####.exr", "red": "m/s to the right", "green": "m/s up",
                "png": {
                    "files": "flow_####.png", "bits": 16, "encoding": "0.5 + 0.5 v / scale", "green": green, "srgb": false,
                    "scales": scales.iter().map(|(frame, scale)| json!({ "from_frame": frame, "scale": scale })).collect::<Vec<_>>(),
                },
            }),
        };
        let passes: serde_json::Map<String, Value> =
            self.passes.iter().map(|pass| (pass.word().to_owned(), describe(pass))).collect();
        json!({ "fps": self.fps, "passes": passes })
    }
}

/// What the file of an earlier run says; nothing if there is none.
fn earlier_scales(path: &PathBuf) -> Vec<(u64, f64)> {
    let read = || -> Option<Vec<(u64, f64)>> {
        let value: Value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
        let scales = value.pointer("/passes/flow/png/scales")?.as_array()?;
        scales.iter().map(|s| Some((s.get("from_frame")?.as_u64()?, s.get("scale")?.as_f64()?))).collect()
    };
    read().unwrap_or_default()
}
