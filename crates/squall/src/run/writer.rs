//! Encodes and writes frames on a thread of its own, while the next one is being computed.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use squall_io::{IoError, OutputFolder, write_npy, write_png};
use squall_render::Image;

use super::{FRAMES, RunError};

/// Everything that is written for a frame.
pub(super) struct Frame {
    pub number: u64,
    pub image: Image,
    /// Name, shape for NumPy, values.
    pub fields: Vec<(String, Vec<usize>, Vec<f32>)>,
}

/// A frame whose files are on disk.
pub(super) struct Written {
    pub frame: u64,
    pub path: PathBuf,
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
    pub fn new(mut folder: OutputFolder) -> Self {
        let (queue, frames) = sync_channel::<Frame>(QUEUE);
        let (tell, written) = channel();
        let thread = std::thread::spawn(move || {
            for frame in frames {
                let path = write(&mut folder, &frame)?;
                // Nobody listens any more when the run has failed; the frame is on disk all the same.
                let _ = tell.send(Written { frame: frame.number, path });
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

/// The writer has stopped.
#[derive(Debug)]
pub(super) struct Failed;

fn write(folder: &mut OutputFolder, frame: &Frame) -> Result<PathBuf, IoError> {
    for (name, shape, values) in &frame.fields {
        write_npy(folder.frame_path(name, frame.number, "npy"), shape, values)?;
    }
    let path = folder.frame_path(FRAMES, frame.number, "png");
    let image = &frame.image;
    write_png(&path, image.width as u32, image.height as u32, &image.to_rgb())?;
    folder.record_frame(frame.number)?;
    Ok(path)
}
