//! Text on the standard streams.

use std::io::{self, Write};

use crate::Voice;
use crate::exit::{Code, Failure, colors};

/// Writes text to the standard output stream. A reader that has seen enough (`| head`) is no error.
pub fn print(text: impl AsRef<str>) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_ref().as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(Code::Io, format!("cannot write to the standard output: {e}"), None))
        }
        _ => Ok(()),
    }
}

/// Writes a line to the standard error stream, like `eprintln!`, which ends the process if nobody can hear it.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), $($text)*);
    }};
}
pub(crate) use say;

/// Logs go to the standard error stream: warnings, with `-v` what happens, with `-vv` every step.
pub fn start_logging(voice: Voice) {
    let level = match (voice.quiet, voice.verbose) {
        (true, _) => tracing::Level::ERROR,
        (_, 0) => tracing::Level::WARN,
        (_, 1) => tracing::Level::INFO,
        _ => tracing::Level::DEBUG,
    };
    tracing_subscriber::fmt()
        .with_writer(|| Patient)
        .with_max_level(level)
        .with_ansi(colors())
        .with_target(false)
        .without_time()
        .init();
}

/// The standard error stream; whether anybody can hear is not the run's concern.
struct Patient;

impl Write for Patient {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let _ = io::stderr().write_all(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A number of bytes for people.
pub fn bytes(n: u64) -> String {
    match n as f64 {
        n if n >= 1e9 => format!("{:.1} GB", n / 1e9),
        n if n >= 1e6 => format!("{:.0} MB", n / 1e6),
        n if n >= 1e3 => format!("{:.0} kB", n / 1e3),
        n => format!("{n} bytes"),
    }
}

/// So many things: "1 frame", "2 frames", "3 meshes".
pub fn count(n: u64, thing: &str) -> String {
    match n {
        1 => format!("1 {thing}"),
        _ if thing.ends_with("sh") => format!("{n} {thing}es"),
        _ => format!("{n} {thing}s"),
    }
}

/// A stretch of time for people.
pub fn seconds(s: f64) -> String {
    match s {
        s if s < 1e-3 => format!("{:.0} us", 1e6 * s),
        s if s < 1.0 => format!("{:.1} ms", 1e3 * s),
        s if s < 60.0 => format!("{s:.1} s"),
        s if s < 3600.0 => format!("{:.0} min {:02.0} s", (s / 60.0).floor(), (s % 60.0).floor()),
        s => format!("{:.0} h {:02.0} min", (s / 3600.0).floor(), (s % 3600.0 / 60.0).floor()),
    }
}
