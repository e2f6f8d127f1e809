//! Writes frames on a thread of its own, while the next one is being computed.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use squall_io::{IoError, OutputFolder, Stamp};

use super::RunError;
use crate::output::{FRAMES, Job};

/// Everything that is written for a frame.
pub(super) struct Frame {
    pub number: u64,
    /// The files that the jobs write.
    pub files: Vec<String>,
    /// What tables hold by then.
    pub tables: Vec<(String, Stamp)>,
    pub jobs: Vec<Job>,
}

/// What the thread is told to do.
enum Order {
    Write(Frame),
    /// Wait until all frames so far, and these files, are on the disk.
    Sync(Vec<String>),
}

/// What it says.
enum News {
    Written(Written),
    Synced,
}

/// A frame whose files are written.
pub(super) struct Written {
    pub frame: u64,
    pub path: PathBuf,
}

/// Frames that may wait: more would only take memory.
pub(super) const QUEUE: usize = 1;

pub(super) struct Writer {
    queue: SyncSender<Order>,
    news: Receiver<News>,
    thread: JoinHandle<Result<OutputFolder, IoError>>,
    /// Frames that were sent and not yet heard of.
    waiting: usize,
}

impl Writer {
    pub fn new(mut folder: OutputFolder) -> Self {
        let (queue, orders) = sync_channel::<Order>(QUEUE);
        let (tell, news) = channel();
        let thread = std::thread::spawn(move || {
            for order in orders {
                let done = match order {
                    Order::Write(frame) => News::Written(write(&mut folder, frame)?),
                    Order::Sync(files) => {
                        folder.sync(&files)?;
                        News::Synced
                    }
                };
                // Nobody listens any more when the run has failed; the frame is written all the same.
                let _ = tell.send(done);
            }
            Ok(folder)
        });
        Self { queue, news, thread, waiting: 0 }
    }

    /// Hands over a frame. `Err`: the thread has failed, and [`finish`](Self::finish) tells why.
    pub fn send(&mut self, frame: Frame) -> Result<(), Failed> {
        self.waiting += 1;
        self.queue.send(Order::Write(frame)).map_err(|_| Failed)
    }

    /// The frames written since the last call.
    pub fn news(&mut self) -> Vec<Written> {
        let news: Vec<Written> = written(self.news.try_iter()).collect();
        self.waiting -= news.len();
        news
    }

    /// Waits until all frames are written.
    pub fn flush(&mut self) -> Result<Vec<Written>, Failed> {
        let mut news = Vec::new();
        while self.waiting > 0 {
            if let News::Written(one) = self.news.recv().map_err(|_| Failed)? {
                news.push(one);
                self.waiting -= 1;
            }
        }
        Ok(news)
    }

    /// Waits until everything that was written, and these files, would survive a power cut. After [`flush`](Self::flush).
    pub fn sync(&mut self, files: Vec<String>) -> Result<(), Failed> {
        self.queue.send(Order::Sync(files)).map_err(|_| Failed)?;
        while !matches!(self.news.recv().map_err(|_| Failed)?, News::Synced) {}
        Ok(())
    }

    /// Ends the thread after all frames are written; gives the folder back, and the frames not yet told of.
    pub fn finish(self) -> Result<(OutputFolder, Vec<Written>), RunError> {
        drop(self.queue);
        let folder = match self.thread.join() {
            Ok(result) => result?,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        Ok((folder, written(self.news.try_iter()).collect()))
    }
}

fn written(news: impl Iterator<Item = News>) -> impl Iterator<Item = Written> {
    news.filter_map(|news| match news {
        News::Written(written) => Some(written),
        News::Synced => None,
    })
}

/// The writer has stopped.
#[derive(Debug)]
pub(super) struct Failed;

fn write(folder: &mut OutputFolder, frame: Frame) -> Result<Written, IoError> {
    for job in frame.jobs {
        job(folder.path())?;
    }
    folder.record_frame(frame.number, &frame.files, &frame.tables)?;
    Ok(Written { frame: frame.number, path: folder.frame_path(FRAMES, frame.number, "png") })
}
