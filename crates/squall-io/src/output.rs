//! The one writer of the project: a file appears under its final name when it is whole, or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

/// Something went wrong with a file. The message names the path, what was tried and why it failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IoError {
    /// The operating system refused.
    #[error("cannot {action} {}: {}", .path.display(), explain(.source))]
    File {
        /// Which file or folder.
        path: PathBuf,
        /// What was tried, as a verb: "create", "write", "read".
        action: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
    /// The content of a file, or what was to become its content, makes no sense.
    #[error("{}: {reason}", .path.display())]
    Content {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl IoError {
    pub(crate) fn file(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { path: path.to_owned(), action, source }
    }

    pub(crate) fn content(path: &Path, reason: impl ToString) -> Self {
        Self::Content { path: path.to_owned(), reason: reason.to_string() }
    }

    /// Whether the disk is full or the quota used up: freeing space and resuming helps.
    pub fn is_full_disk(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        matches!(self, Self::File { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded))
    }

    /// Whether the file or its folder does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::File { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// The operating system's message in words that say what to do.
fn explain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull => "the disk is full".into(),
        io::ErrorKind::QuotaExceeded => "the disk quota is used up".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only".into(),
        io::ErrorKind::NotFound => "it, or the folder it lies in, does not exist".into(),
        io::ErrorKind::NotADirectory => "a part of the path is a file, not a folder".into(),
        io::ErrorKind::IsADirectory => "it is a folder".into(),
        _ => error.to_string(),
    }
}

const MARK: &str = ".squall-tmp-";

/// A file being written. It lives under a temporary name in the folder of its final one until
/// [`finish`](Self::finish) has seen every byte reach the operating system; dropped before that, it vanishes.
#[derive(Debug)]
pub struct OutputFile {
    // None once finished: then nothing is left for `drop` to remove.
    writer: Option<BufWriter<File>>,
    temporary: PathBuf,
    path: PathBuf,
}

impl OutputFile {
    /// Starts the file that will become `path`. Its folder must exist.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, IoError> {
        let path = path.as_ref();
        // One process may write the same file twice at once, and process numbers come again: hence a count, and
        // `create_new` so that nobody's file is ever written into.
        static COUNT: AtomicU64 = AtomicU64::new(0);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let temporary = temporary_name(path, host(), std::process::id(), count)?;
            match OpenOptions::new().write(true).create_new(true).open(&temporary) {
                Ok(file) => return Ok(Self::over(file, temporary, path.to_owned())),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(e) => return Err(IoError::file(path, "create")(e)),
            }
        }
    }

    fn over(file: File, temporary: PathBuf, path: PathBuf) -> Self {
        Self { writer: Some(BufWriter::with_capacity(1 << 16, file)), temporary, path }
    }

    /// The final name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name until `finish`, for programs that write the file on our behalf.
    pub fn temporary_path(&self) -> &Path {
        &self.temporary
    }

    /// Hands all bytes to the operating system and gives the file its final name, replacing what was there.
    pub fn finish(self) -> Result<(), IoError> {
        self.complete(false, None)
    }

    /// Like [`finish`](Self::finish), and waits until the bytes are on the disk: they survive a power cut.
    pub fn finish_durably(self) -> Result<(), IoError> {
        self.complete(true, None)
    }

    /// Like [`finish_durably`](Self::finish_durably), and what was under the final name goes on as `previous`.
    pub fn finish_keeping(self, previous: &Path) -> Result<(), IoError> {
        self.complete(true, Some(previous))
    }

    fn complete(mut self, durably: bool, previous: Option<&Path>) -> Result<(), IoError> {
        let wrote = self.writer.as_mut().map_or(Ok(()), |writer| {
            writer.flush()?;
            if durably { writer.get_ref().sync_data() } else { Ok(()) }
        });
        wrote.map_err(IoError::file(&self.path, "write"))?;
        if let Some(previous) = previous {
            match fs::rename(&self.path, previous) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => {
                    return Err(IoError::file(previous, "move the older file to")(e));
                }
                _ => {}
            }
        }
        fs::rename(&self.temporary, &self.path).map_err(IoError::file(&self.path, "give a finished file the name"))?;
        self.writer = None;
        match (durably, self.path.parent()) {
            (true, Some(folder)) if folder.as_os_str().is_empty() => sync_folder("."),
            (true, Some(folder)) => sync_folder(folder),
            _ => Ok(()),
        }
    }

    /// Turns an error of a `Write` call on this file into one that names the file.
    pub fn explain(&self, error: io::Error) -> IoError {
        IoError::file(&self.path, "write")(error)
    }

    fn open_writer(&mut self) -> io::Result<&mut BufWriter<File>> {
        self.writer.as_mut().ok_or_else(|| io::Error::other("the file is finished"))
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.open_writer()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.open_writer()?.flush()
    }
}

impl Seek for OutputFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.open_writer()?.seek(to)
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.take() {
            // The buffer's content is not wanted any more: do not let `BufWriter` write it.
            drop(writer.into_parts());
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Opens a file for reading. Only regular files, and links to them: opening a pipe would wait for ever, and a device may have no end.
pub fn open_file(path: impl AsRef<Path>) -> io::Result<File> {
    match fs::metadata(&path)?.is_file() {
        true => File::open(path),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// Reads a whole regular file.
pub fn read_file(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_file(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a whole regular file as text.
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    String::from_utf8(read_file(path)?).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))
}

/// Writes a whole file in one go.
pub fn write_whole(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), IoError> {
    let mut file = OutputFile::create(path)?;
    file.write_all(bytes).map_err(|e| file.explain(e))?;
    file.finish()
}

/// Waits until the bytes of finished files are on the disk, and their names in the folder: both survive a power cut. Files that
/// have vanished meanwhile are nobody's loss.
pub fn sync_files(folder: impl AsRef<Path>, files: &[PathBuf]) -> Result<(), IoError> {
    // Several at once: the file system then writes its journal once for all.
    files.par_iter().try_for_each(|path| match OpenOptions::new().append(true).open(path) {
        Ok(file) => file.sync_data().map_err(IoError::file(path, "write to the disk")),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(IoError::file(path, "open")(e)),
    })?;
    sync_folder(folder)
}

/// Waits until the names in a folder are on the disk: files that were removed or renamed stay so after a power cut.
pub fn sync_folder(folder: impl AsRef<Path>) -> Result<(), IoError> {
    let folder = folder.as_ref();
    if cfg!(not(unix)) {
        return Ok(()); // folders cannot be opened elsewhere
    }
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    match synced {
        // Some file systems cannot sync folders; nothing more can be done there.
        Err(e) if e.kind() == io::ErrorKind::InvalidInput => Ok(()),
        result => result.map_err(IoError::file(folder, "write to the disk")),
    }
}

/// Removes from a folder the temporary files of runs that were killed; returns how many there were. Files of
/// processes that still run stay, and so do those of other computers that share the disk.
pub fn sweep_temporaries(folder: impl AsRef<Path>) -> Result<usize, IoError> {
    let folder = folder.as_ref();
    let mut swept = 0;
    for entry in fs::read_dir(folder).map_err(IoError::file(folder, "list"))? {
        let entry = entry.map_err(IoError::file(folder, "list"))?;
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        let owner = entry.file_name().to_str().and_then(owner_of_temporary);
        if is_file && owner.is_some_and(|process| !is_running(process)) {
            fs::remove_file(entry.path()).map_err(IoError::file(&entry.path(), "remove"))?;
            swept += 1;
        }
    }
    Ok(swept)
}

/// Tells this computer from others: process numbers mean nothing elsewhere.
fn host() -> u32 {
    static HOST: OnceLock<u32> = OnceLock::new();
    let name =
        || fs::read("/proc/sys/kernel/hostname").ok().or_else(|| Some(std::env::var("COMPUTERNAME").ok()?.into()));
    *HOST.get_or_init(|| crc32fast::hash(&name().unwrap_or_default()))
}

/// `.name.squall-tmp-HOST-PROCESS-COUNT` in the folder of `name`.
fn temporary_name(path: &Path, host: u32, process: u32, count: u64) -> Result<PathBuf, IoError> {
    let Some(name) = path.file_name() else {
        return Err(IoError::content(path, "this path does not name a file"));
    };
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!("{MARK}{host:08x}-{process}-{count}"));
    Ok(path.with_file_name(hidden))
}

/// The process of this computer that a temporary file belonged to; `None` for files that are not ours.
fn owner_of_temporary(name: &str) -> Option<u32> {
    let (stem, tail) = name.rsplit_once(MARK)?;
    let (owner, rest) = tail.split_once('-')?;
    let (process, count) = rest.split_once('-')?;
    count.parse::<u64>().ok()?;
    let ours = owner.len() == 8 && u32::from_str_radix(owner, 16) == Ok(host());
    if ours && stem.len() > 1 && stem.starts_with('.') { process.parse().ok() } else { None }
}

fn is_running(process: u32) -> bool {
    process == std::process::id() || (cfg!(target_os = "linux") && Path::new(&format!("/proc/{process}")).exists())
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
