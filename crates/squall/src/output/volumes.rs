//! Volumes for other programs, and for `squall render`: OpenVDB, and a `.usda` that makes a sequence of them.
//!
//! Only what is there is written: of a substance the cells with more than a thousandth of the most that is emitted, of velocity
//! and pressure those with smoke and two cells around. Velocity of 16 bits is rounded to a five-hundredth of the fastest: finer steps are
//! noise that takes a third of the file. With `mask = false` nothing is left out.

use std::path::Path;

use squall_core::{Simulation, Volume};
use squall_io::vdb::{Mask, MetaValue, Metadata};
use squall_io::{IoError, VdbClass, VdbGrid, VdbOptions, VdbPrecision, VdbValues, write_vdb, write_whole};

use super::{Expected, FrameOutput, Job, SURFACES, Shot, numbered, numbered_path, usd};
use crate::run::RunError;
use crate::setup::{Setup, Up, Vdb};
use crate::surface::Surface;
use crate::texture::Detail;

/// The series of the volumes: `volume_0001.vdb`.
pub const VOLUMES: &str = "volume";
/// What the metadata of a file calls the axis that is up.
pub(crate) const UP: &str = "up";

/// Less than this part of the most that is emitted is nothing: less than a step of a 16-bit number there.
const FAINT: f64 = 1e-3;
/// Cells around the smoke in which velocity is written: pictures with motion blur look there.
const AROUND: usize = 2;

pub(super) struct Volumes {
    vdb: Vdb,
    detail: Option<Detail>,
    /// Names of the substances, the most that is emitted of each, and whether it is smoke.
    substances: Vec<(String, f64, bool)>,
    fps: f64,
    first: u64,
}

impl Volumes {
    /// `None` if the scene wants none.
    pub fn new(setup: &Setup) -> Option<Self> {
        let vdb = setup.output.vdb.clone()?;
        let substance = |i: usize| (setup.substances[i].name.clone(), setup.largest_emitted(i), setup.is_smoke(i));
        Some(Self {
            detail: if vdb.detail { Detail::new(setup) } else { None },
            substances: (0..setup.substances.len()).map(substance).collect(),
            fps: setup.time.fps,
            first: u64::from(!setup.time.include_start),
            vdb,
        })
    }

    /// What is to be written, as it is now.
    fn take(&self, sim: &dyn Simulation, surface: Option<&Surface>) -> Captured {
        let component = |name: &str, a: usize| {
            let mut out = Volume::default();
            sim.volume(name, a, &mut out).then_some(out)
        };
        let displacements = self.detail.as_ref().map(|detail| detail.displacements(sim));
        let values = |name: &String| match name.as_str() {
            SURFACES => surface.and_then(Surface::volume).cloned().map(VdbValues::Scalar),
            "velocity" => Some(VdbValues::Vector([component(name, 0)?, component(name, 1)?, component(name, 2)?])),
            _ => component(name, 0).map(|volume| match (&self.detail, &displacements) {
                // Patterns do not affect temperature: it is as coarse as it was.
                (Some(detail), Some(d)) if self.substances.iter().any(|(n, ..)| n == name) && detail.shows_in(name) => {
                    VdbValues::Scalar(detail.apply(name, &volume, d))
                }
                _ => VdbValues::Scalar(volume),
            }),
        };
        let grids = self.vdb.fields.iter().filter_map(|name| {
            let most = self.substances.iter().find(|(n, ..)| n == name).map(|(_, most, _)| *most);
            Some((name.clone(), values(name)?, most))
        });
        let grids: Vec<_> = grids.collect();
        let needs_mask = self.vdb.mask && grids.iter().any(|(name, _, most)| most.is_none() && name != SURFACES);
        let smoke = self.substances.iter().filter(|(.., smoke)| *smoke && needs_mask);
        let smoke = smoke.filter_map(|(name, most, _)| Some((component(name, 0)?, *most))).collect();
        Captured { grids, smoke, mask: self.vdb.mask }
    }
}

/// What is to be written of a frame.
struct Captured {
    /// Name, values, and for substances the most that is emitted.
    grids: Vec<(String, VdbValues<Volume>, Option<f64>)>,
    /// Where velocity is wanted; empty: everywhere.
    smoke: Vec<(Volume, f64)>,
    /// Whether anything is left out.
    mask: bool,
}

impl Captured {
    /// Leaves out what is not worth writing.
    fn thin_out(&mut self, half: bool) {
        let masks = self.smoke.iter().map(|(smoke, most)| Mask::of(smoke, threshold(smoke, *most)));
        let around = masks.reduce(Mask::or).map(|mask| mask.grown(AROUND));
        for (_, values, most) in self.grids.iter_mut().filter(|(name, ..)| name != SURFACES) {
            match (values, most, &around) {
                (VdbValues::Scalar(volume), Some(most), _) if self.mask => {
                    Mask::of(volume, threshold(volume, *most)).apply(volume);
                }
                (VdbValues::Scalar(volume), None, Some(mask)) => mask.apply(volume),
                (VdbValues::Vector(volumes), _, Some(mask)) => volumes.iter_mut().for_each(|v| mask.apply(v)),
                _ => {}
            }
        }
        for (_, values, _) in self.grids.iter_mut().filter(|_| half) {
            if let VdbValues::Vector(components) = values {
                round(components);
            }
        }
        self.smoke.clear();
    }
}

/// Rounds by at most a five-hundredth of the largest component: to multiples of a power of two, which halves hold exactly.
fn round(components: &mut [Volume; 3]) {
    let all = components.iter().flat_map(|c| &c.values);
    let most = all.filter(|v| v.is_finite()).fold(0.0f32, |most, v| most.max(v.abs()));
    let step = 2f32.powi(((most / 256.0).log2().floor() as i32).clamp(-24, 15));
    if most > 0.0 {
        // Zero has no sign: it is the background.
        components.iter_mut().flat_map(|c| &mut c.values).for_each(|v| *v = (*v / step).round() * step + 0.0);
    }
}

/// What a file says about itself.
pub(super) fn metadata(frame: u64, time: f64, fps: f64, up: Up) -> Metadata {
    Metadata::from([
        ("creator".into(), MetaValue::Text(format!("Squall {}", env!("CARGO_PKG_VERSION")))),
        ("frame".into(), MetaValue::Long(frame as i64)),
        ("time".into(), MetaValue::Double(time)),
        ("fps".into(), MetaValue::Double(fps)),
        (UP.into(), up.word().into()),
    ])
}

/// What is nothing in a volume of which `most` is emitted; if that is not known, the largest value is what counts.
fn threshold(volume: &Volume, most: f64) -> f32 {
    let seen = || volume.values.iter().filter(|v| v.is_finite()).fold(0.0f32, |most, v| most.max(v.abs()));
    (FAINT * if most > 0.0 { most } else { f64::from(seen()) }) as f32
}

impl FrameOutput for Volumes {
    fn name(&self) -> &'static str {
        "volumes"
    }

    fn files(&self, frame: u64) -> Vec<String> {
        vec![numbered(VOLUMES, frame, "vdb")]
    }

    fn single(&self) -> Vec<String> {
        vec![format!("{VOLUMES}.usda")]
    }

    fn expected(&self) -> Expected {
        // How much of the box smoke fills is not known before.
        Expected::default()
    }

    fn needs_simulation(&self) -> bool {
        true
    }

    fn capture(&mut self, shot: &Shot<'_>) -> Result<Job, RunError> {
        let Some(sim) = shot.sim else { return Ok(Box::new(|_| Ok(()))) };
        let (mut captured, number) = (self.take(sim, shot.surface.as_deref()), shot.number);
        let precision = if self.vdb.half { VdbPrecision::Half } else { VdbPrecision::Full };
        let metadata = metadata(number, shot.time, self.fps, self.vdb.up);
        let up = self.vdb.up;
        Ok(Box::new(move |folder| {
            captured.thin_out(precision == VdbPrecision::Half);
            if up == Up::Z {
                captured.grids.iter_mut().for_each(|(_, values, _)| {
                    let turned = std::mem::replace(values, VdbValues::Scalar(Volume::default())).z_up();
                    *values = turned;
                });
            }
            let class = |name: &str| if name == SURFACES { VdbClass::LevelSet } else { VdbClass::FogVolume };
            let grids: Vec<VdbGrid<'_>> = captured
                .grids
                .iter()
                .map(|(name, values, _)| VdbGrid { name, values: values.by_ref(), class: class(name), precision })
                .collect();
            let options = VdbOptions { metadata, ..VdbOptions::default() };
            write_vdb(numbered_path(folder, VOLUMES, number, "vdb"), &grids, &options)
        }))
    }

    fn update(&self, folder: &Path, last: u64) -> Result<(), IoError> {
        let text = usd::volume(&self.vdb, self.fps, self.first..=last, |frame| numbered(VOLUMES, frame, "vdb"));
        write_whole(folder.join(format!("{VOLUMES}.usda")), text.as_bytes())
    }
}
