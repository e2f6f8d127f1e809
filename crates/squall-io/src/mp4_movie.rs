//! MP4 through an installed `ffmpeg`: raw pixels go in by a pipe.

use crate::image::read_png;
use crate::movie::{MovieError, Watch, batch, read_batch};
use crate::output::{IoError, OutputFile};
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub fn write(
    program: &OsStr,
    frames: &[PathBuf],
    fps: f64,
    out: &Path,
    watch: &mut Watch<'_>,
) -> Result<(), MovieError> {
    let first = read_png(&frames[0])?;
    // Reserves the temporary name; ffmpeg writes the file, and `finish` renames it.
    let file = OutputFile::create(out)?;
    let mut ffmpeg = start(program, first.width, first.height, fps, &file)?;
    let mut pipe = ffmpeg.0.stdin.take();
    let errors = ffmpeg.0.stderr.take();
    // Read beside the writing: a program blocked on a full error pipe would never read its input.
    let errors = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = errors.map(|pipe| pipe.take(1 << 16).read_to_string(&mut text));
        text
    });

    let mut done = 0;
    let mut feed = || -> Result<(), MovieError> {
        for batch in frames.chunks(batch(first.width, first.height)) {
            let paths: Vec<_> = batch.iter().collect();
            for picture in read_batch(&paths, first.width, first.height)? {
                let sent = pipe.as_mut().map_or(Ok(()), |pipe| pipe.write_all(&picture.rgba));
                match sent {
                    // It gave up: its own message says why.
                    Err(e) if e.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                    sent => sent.map_err(IoError::file(out, "send a frame to ffmpeg for"))?,
                }
                done += 1;
            }
            watch(done)?;
        }
        Ok(())
    };
    feed()?;
    drop(pipe);
    let status = ffmpeg.0.wait().map_err(IoError::file(out, "wait for ffmpeg to write"))?;
    let message = errors.join().unwrap_or_default();
    if !status.success() {
        let last = message.trim().lines().next_back().map_or_else(|| status.to_string(), String::from);
        return Err(MovieError::Ffmpeg { path: out.to_owned(), message: last });
    }
    Ok(file.finish()?)
}

/// A child that does not outlive us: when the movie is cancelled or a frame is bad, it is stopped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Neither does anything to a child that has ended and been waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(program: &OsStr, width: u32, height: u32, fps: f64, file: &OutputFile) -> Result<Running, MovieError> {
    let child = Command::new(program)
        .args(["-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgba"])
        .args(["-video_size", &format!("{width}x{height}"), "-framerate", &fps.to_string(), "-i", "-"])
        // yuv420p wants even sizes; the rest says which colours are meant, so that players agree.
        .args(["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2,scale=out_color_matrix=bt709:out_range=tv,format=yuv420p"])
        .args(["-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"])
        .args(["-c:v", "libx264", "-crf", "16", "-preset", "medium", "-movflags", "+faststart"])
        // Without dates and version texts equal frames give equal bytes.
        .args(["-map_metadata", "-1", "-fflags", "+bitexact", "-flags:v", "+bitexact", "-f", "mp4"])
        .arg(file.temporary_path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    match child {
        Ok(child) => Ok(Running(child)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Err(MovieError::NoFfmpeg),
        Err(e) => Err(IoError::file(Path::new(program), "start")(e).into()),
    }
}
