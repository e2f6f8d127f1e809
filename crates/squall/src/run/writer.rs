//! Encodes and writes frames on a thread of its own, while the next one is being computed.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use squall_core::Volume;
use squall_io::vdb::{MetaValue, Metadata};
use squall_io::{
    ExrPrecision, IoError, OutputFolder, VdbClass, VdbGrid, VdbOptions, VdbPrecision, VdbValues, write_exr, write_npy,
    write_png, write_png16, write_vdb,
};
use squall_render::Image;
use squall_render::film::Frame as Film;

use super::passes::{Sidecar, write_pass};
use super::{Event, FRAMES, Observer, RunError, VOLUMES};
use crate::picture::passes::PassImage;

/// Everything that is written for a frame.
pub(super) struct Frame {
    pub number: u64,
    pub pixels: Pixels,
    /// The picture in linear light.
    pub exr: Option<Film>,
    pub passes: Vec<PassImage>,
    pub volumes: Vec<(String, VdbValues<Volume>)>,
    /// Whether volumes have 16 bits.
    pub half: bool,
    /// Seconds from the start, and frames per second.
    pub time: f64,
    pub fps: f64,
    /// Name, shape for NumPy, values.
    pub fields: Vec<(String, Vec<usize>, Vec<f32>)>,
}

/// A picture for a screen.
pub(super) enum Pixels {
    /// Without opacity.
    Opaque(Image),
    /// With opacity.
    Transparent(Image),
    /// The same, and with 16 bits for red, green, blue and opacity of each pixel.
    Deep(Image, Vec<u16>),
}

impl Pixels {
    /// With 8 bits.
    pub fn image(&self) -> &Image {
        match self {
            Pixels::Opaque(image) | Pixels::Transparent(image) | Pixels::Deep(image, _) => image,
        }
    }
}

/// A frame whose files are on disk.
pub(super) struct Written {
    pub frame: u64,
    pub path: PathBuf,
    /// Whether it is the first one with values that 16 bits cannot hold.
    pub saturated: bool,
}

/// The largest number of 16 bits.
const LARGEST_HALF: f32 = 65504.0;

impl Frame {
    /// Whether files of 16 bits cannot hold all values: they hold the largest number instead.
    fn saturates(&self) -> bool {
        let too_large = |v: &f32| v.abs() > LARGEST_HALF;
        let in_volume = |volume: &Volume| volume.values.iter().any(too_large);
        let in_volumes = |(_, values): &(String, VdbValues<Volume>)| match values {
            VdbValues::Scalar(volume) => in_volume(volume),
            VdbValues::Vector(volumes) => volumes.iter().any(in_volume),
        };
        let in_picture = self.exr.as_ref().is_some_and(|film| film.rgba.as_flattened().iter().any(too_large));
        in_picture || self.half && self.volumes.iter().any(in_volumes)
    }
}

/// Frames that may wait: more would only take memory.
pub(super) const QUEUE: usize = 1;

pub(super) struct Writer {
    queue: SyncSender<Frame>,
    written: Receiver<Written>,
    thread: JoinHandle<Result<OutputFolder, IoError>>,
    /// Frames that were sent and not yet heard of.
    waiting: usize,
}

impl Writer {
    pub fn new(mut folder: OutputFolder, mut sidecar: Sidecar) -> Self {
        let (queue, frames) = sync_channel::<Frame>(QUEUE);
        let (tell, written) = channel();
        let thread = std::thread::spawn(move || {
            let mut told = false;
            for frame in frames {
                let saturated = !told && frame.saturates();
                told |= saturated;
                let path = write(&mut folder, &mut sidecar, &frame)?;
                // Nobody listens any more when the run has failed; the frame is on disk all the same.
                let _ = tell.send(Written { frame: frame.number, path, saturated });
            }
            Ok(folder)
        });
        Self { queue, written, thread, waiting: 0 }
    }

    /// Hands over a frame. `Err`: the thread has failed, and [`finish`](Self::finish) tells why.
    pub fn send(&mut self, frame: Frame) -> Result<(), Failed> {
        self.waiting += 1;
        self.queue.send(frame).map_err(|_| Failed)
    }

    /// The frames written since the last call.
    pub fn news(&mut self) -> Vec<Written> {
        let news: Vec<Written> = self.written.try_iter().collect();
        self.waiting -= news.len();
        news
    }

    /// Waits until all frames are on disk.
    pub fn flush(&mut self) -> Result<Vec<Written>, Failed> {
        let mut news = Vec::new();
        while self.waiting > 0 {
            news.push(self.written.recv().map_err(|_| Failed)?);
            self.waiting -= 1;
        }
        Ok(news)
    }

    /// Ends the thread after all frames are written; gives the folder back, and the frames not yet told of.
    pub fn finish(self) -> Result<(OutputFolder, Vec<Written>), RunError> {
        drop(self.queue);
        let folder = match self.thread.join() {
            Ok(result) => result?,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        Ok((folder, self.written.try_iter().collect()))
    }
}

/// Tells of frames that are on disk.
pub(super) fn tell(news: Vec<Written>, observer: &mut dyn Observer) {
    for Written { frame, path, saturated } in news {
        if saturated {
            observer.event(&Event::Notice(format!(
                "frame {frame} has values above 65504, the largest number of 16 bits: they are written as that; \
                 output.vdb = {{ half = false }} keeps them in volumes"
            )));
        }
        observer.event(&Event::Frame { frame, path: &path });
    }
}

/// The writer has stopped.
#[derive(Debug)]
pub(super) struct Failed;

fn write(folder: &mut OutputFolder, sidecar: &mut Sidecar, frame: &Frame) -> Result<PathBuf, IoError> {
    for (name, shape, values) in &frame.fields {
        write_npy(folder.frame_path(name, frame.number, "npy"), shape, values)?;
    }
    write_volumes(folder, frame)?;
    for pass in &frame.passes {
        write_pass(folder, frame.number, pass)?;
    }
    sidecar.note(folder, frame.number, &frame.passes)?;
    let path = write_picture(folder, frame.number, &frame.pixels, frame.exr.as_ref())?;
    folder.record_frame(frame.number)?;
    Ok(path)
}

/// Writes a picture in all its forms; gives the path of the PNG file.
pub(super) fn write_picture(
    folder: &OutputFolder,
    number: u64,
    pixels: &Pixels,
    exr: Option<&Film>,
) -> Result<PathBuf, IoError> {
    if let Some(film) = exr {
        let path = folder.frame_path(FRAMES, number, "exr");
        write_exr(path, film.width, film.height, &film.rgba, Some(&film.depth), ExrPrecision::Half)?;
    }
    let path = folder.frame_path(FRAMES, number, "png");
    let (width, height) = (pixels.image().width as u32, pixels.image().height as u32);
    match pixels {
        Pixels::Opaque(image) => write_png(&path, width, height, &image.to_rgb())?,
        Pixels::Transparent(image) => write_png(&path, width, height, image.rgba())?,
        Pixels::Deep(_, samples) => write_png16(&path, width, height, samples)?,
    }
    Ok(path)
}

fn write_volumes(folder: &OutputFolder, frame: &Frame) -> Result<(), IoError> {
    if frame.volumes.is_empty() {
        return Ok(());
    }
    let precision = if frame.half { VdbPrecision::Half } else { VdbPrecision::Full };
    let grids: Vec<VdbGrid<'_>> = frame
        .volumes
        .iter()
        .map(|(name, values)| VdbGrid { name, values: values.by_ref(), class: VdbClass::FogVolume, precision })
        .collect();
    let mut metadata = Metadata::default();
    metadata.insert("creator".into(), MetaValue::Text(format!("Squall {}", env!("CARGO_PKG_VERSION"))));
    metadata.insert("frame".into(), MetaValue::Long(frame.number as i64));
    metadata.insert("time".into(), MetaValue::Double(frame.time));
    metadata.insert("fps".into(), MetaValue::Double(frame.fps));
    let options = VdbOptions { metadata, ..VdbOptions::default() };
    write_vdb(folder.frame_path(VOLUMES, frame.number, "vdb"), &grids, &options)
}
