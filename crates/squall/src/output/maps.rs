//! Passes as games take them, and the file that says how to read all passes.

use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use squall_io::{IoError, Samples, write_map, write_whole};

use super::{Expected, FrameOutput, Job, Shot, numbered, numbered_path};
use crate::picture::passes::{GameMap, PassImage, series};
use crate::run::RunError;
use crate::setup::{Green, Pass, Setup};

/// Says how the passes are to be read.
const SIDECAR: &str = "passes.json";

pub(super) struct Maps {
    passes: Vec<Pass>,
    sidecar: Arc<Sidecar>,
    pixels: u64,
}

impl Maps {
    /// `None` if the scene has no passes.
    pub fn new(setup: &Setup) -> Option<Self> {
        let output = &setup.output;
        let passes = output.passes.clone();
        let (green, fps) = (output.green, setup.time.fps);
        let sidecar = Arc::new(Sidecar { passes: passes.clone(), green, fps, scales: Mutex::new(None) });
        let pixels = u64::from(output.width) * u64::from(output.height);
        (!passes.is_empty()).then_some(Self { passes, sidecar, pixels })
    }

    /// The passes that are maps as well.
    fn maps(&self) -> impl Iterator<Item = &'static str> {
        let mapped = |pass: &&Pass| matches!(pass, Pass::Normal | Pass::Height | Pass::Flow);
        self.passes.iter().filter(mapped).flat_map(|&pass| series(pass).iter().copied())
    }
}

impl FrameOutput for Maps {
    fn name(&self) -> &'static str {
        "maps"
    }

    fn files(&self, frame: u64) -> Vec<String> {
        self.maps().map(|name| numbered(name, frame, "png")).collect()
    }

    fn single(&self) -> Vec<String> {
        vec![SIDECAR.to_owned()]
    }

    fn is_intact(&self, folder: &Path) -> bool {
        // Only flow maps need what it says of earlier frames.
        !self.passes.contains(&Pass::Flow) || earlier_scales(&folder.join(SIDECAR)).is_some()
    }

    fn expected(&self) -> Expected {
        let maps = self.maps().count() as u64;
        Expected { disk: self.pixels / 2 * maps, memory: 8 * self.pixels * maps, at_the_end: 0 }
    }

    fn capture(&mut self, shot: &Shot<'_>) -> Result<Job, RunError> {
        let (sidecar, passes, number) = (self.sidecar.clone(), shot.passes.clone(), shot.number);
        Ok(Box::new(move |folder| {
            for pass in passes.iter() {
                let path = numbered_path(folder, pass.name, number, "png");
                let (width, height) = (pass.width as u32, pass.height as u32);
                match &pass.map {
                    Some(GameMap::Rgb(samples)) => write_map(path, width, height, Samples::Eight(samples))?,
                    Some(GameMap::Grey(samples) | GameMap::Flow(samples, _)) => {
                        write_map(path, width, height, Samples::Sixteen(samples))?;
                    }
                    None => {}
                }
            }
            sidecar.note(folder, number, &passes)
        }))
    }
}

/// The file that says how passes are to be read, kept up to date.
struct Sidecar {
    passes: Vec<Pass>,
    green: Green,
    fps: f64,
    /// From which frame on flow maps have which scale; `None` until the file of an earlier run was looked at.
    scales: Mutex<Option<Vec<(u64, f64)>>>,
}

impl Sidecar {
    /// Takes note of a frame, and writes the file anew if it says anything new.
    fn note(&self, folder: &Path, number: u64, images: &[PassImage]) -> Result<(), IoError> {
        let path = folder.join(SIDECAR);
        let mut known = self.scales.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let first = known.is_none();
        let mut scales = known.take().or_else(|| earlier_scales(&path)).unwrap_or_default();
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
        *known = Some(scales);
        Ok(())
    }

    fn describe(&self, scales: &[(u64, f64)]) -> Value {
        let green = self.green.word();
        let layer = |pass: Pass| format!("ViewLayer.{}", super::pass_name(series(pass)[0]).0);
        let describe = |&pass: &Pass| match pass {
            Pass::Motion => json!({
                "layer": layer(pass), "x": "pixels to the right until the next frame", "y": "pixels up until the next frame",
            }),
            Pass::Normal => json!({
                "layer": layer(pass), "x": "to the right, -1 to 1", "y": "up", "z": "towards the viewer",
                "png": { "files": "normal_####.png", "bits": 8, "encoding": "0.5 + 0.5 n", "green": green, "srgb": false },
            }),
            Pass::Depth => json!({
                "layer": layer(pass), "z": "metres along the ray, 1e10 where there is nothing",
            }),
            Pass::SixWay => json!({
                "layers": ["ViewLayer.SixWayPositive", "ViewLayer.SixWayNegative"],
                "positive": { "red": "light from the right", "green": "from the top", "blue": "from the back", "alpha": "opacity" },
                "negative": { "red": "light from the left", "green": "from the bottom", "blue": "from the front", "alpha": "glow" },
                "premultiplied": true,
            }),
            Pass::Temperature => json!({
                "layer": layer(pass), "v": "mean of what is seen, in the units of the scene",
            }),
            Pass::Height => json!({
                "layer": layer(pass), "v": "1 at the upper end of picture.range",
                "png": { "files": "height_####.png", "bits": 16, "encoding": "height", "srgb": false },
            }),
            Pass::Flow => json!({
                "layer": layer(pass), "x": "m/s to the right", "y": "m/s up",
                "png": {
                    "files": "flow_####.png", "bits": 16, "encoding": "0.5 + 0.5 v / scale", "green": green, "srgb": false,
                    "scales": scales.iter().map(|(frame, scale)| json!({ "from_frame": frame, "scale": scale })).collect::<Vec<_>>(),
                },
            }),
        };
        let passes: serde_json::Map<String, Value> =
            self.passes.iter().map(|pass| (pass.word().to_owned(), describe(pass))).collect();
        json!({
            "fps": self.fps, "exr": "frame_####.exr", "opacity": "ViewLayer.Opacity.V: opacity of the smoke", "passes": passes,
        })
    }
}

/// What the file of an earlier run says; `None` if there is none.
fn earlier_scales(path: &Path) -> Option<Vec<(u64, f64)>> {
    let value: Value = serde_json::from_slice(&squall_io::read_file(path).ok()?).ok()?;
    let scales = value.pointer("/passes/flow/png/scales")?.as_array()?;
    scales.iter().map(|s| Some((s.get("from_frame")?.as_u64()?, s.get("scale")?.as_f64()?))).collect()
}
