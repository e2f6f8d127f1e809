//! How the command ends: exit codes and messages.

use crate::output::say;
use std::io::IsTerminal;

use miette::{MietteHandlerOpts, Report};
use squall::build::BuildError;
use squall::morph::MorphError;
use squall::{DriveError, RunError, SceneError};
use squall_core::StepError;
use squall_io::{CheckpointError, FolderError, IoError, MeshFileError};

use crate::drawn::Message;

/// The exit codes, as documented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Code {
    /// All done.
    Done = 0,
    /// A bug in Squall.
    Bug = 1,
    /// The command was used wrongly.
    Usage = 2,
    /// A scene, checkpoint or other file that is read is not right.
    Input = 3,
    /// Over the memory, disk or cell budget.
    Budget = 4,
    /// A file cannot be read or written.
    Io = 5,
    /// Non-finite values; with `--strict` no convergence, or amounts that are not accounted for.
    Numerical = 6,
    /// Interrupted.
    Interrupted = 130,
}

impl From<Code> for std::process::ExitCode {
    fn from(code: Code) -> Self {
        (code as u8).into()
    }
}

/// An error and the exit code that it ends the command with.
#[derive(Debug)]
pub struct Failure {
    pub code: Code,
    pub report: Report,
}

impl Failure {
    /// A message, and perhaps what to do about it.
    pub fn new(code: Code, text: impl Into<String>, help: Option<String>) -> Self {
        Self { code, report: Report::new(Message::new(text.into(), help)) }
    }

    /// Writes the message to the standard error stream.
    pub fn tell(self) -> std::process::ExitCode {
        say!("{:?}", self.report);
        self.code.into()
    }
}

impl From<SceneError> for Failure {
    fn from(error: SceneError) -> Self {
        let code = match &error {
            SceneError::Budget(_) => Code::Budget,
            _ if error.is_io() => Code::Io,
            _ => Code::Input,
        };
        Self { code, report: Report::new(Message::from(&error)) }
    }
}

impl From<IoError> for Failure {
    fn from(error: IoError) -> Self {
        Self::new(io_code(&error), error.to_string(), None)
    }
}

impl From<CheckpointError> for Failure {
    fn from(error: CheckpointError) -> Self {
        let code = if let CheckpointError::Io(e) = &error { io_code(e) } else { Code::Input };
        Self::new(code, error.to_string(), None)
    }
}

impl From<MorphError> for Failure {
    fn from(error: MorphError) -> Self {
        let code = match error {
            MorphError::Scene(error) => return error.into(),
            MorphError::Run(error) => return error.into(),
            MorphError::Io { .. } => Code::Io,
            MorphError::Usage { .. } => Code::Usage,
            _ => Code::Input,
        };
        Self::new(code, error.to_string(), error.help().map(str::to_owned))
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let code = match &error {
            RunError::Memory { .. } | RunError::Disk { .. } | RunError::Build(BuildError::OutOfMemory(_)) => {
                Code::Budget
            }
            RunError::Folder(FolderError::Io(e)) | RunError::Checkpoint(CheckpointError::Io(e)) | RunError::Io(e) => {
                io_code(e)
            }
            // The wrong folder was named, or `--overwrite` forgotten.
            RunError::Folder(_)
            | RunError::NoVolumes { .. }
            | RunError::NoFields { .. }
            | RunError::NoSurface { .. }
            | RunError::OtherPhysics { .. } => Code::Usage,
            RunError::OverItself { .. } | RunError::NoFrames { .. } => Code::Usage,
            RunError::Build(BuildError::Mesh { .. } | BuildError::Target(_) | BuildError::Edit { .. })
            | RunError::NoField { .. } => Code::Input,
            RunError::Checkpoint(_) | RunError::Picture(_) => Code::Input,
            RunError::Mesh(MeshFileError::Io(e)) => io_code(e),
            RunError::Mesh(_) => Code::Input,
            RunError::Busy { .. } | RunError::MissingFrame { .. } | RunError::Movie(_) => Code::Io,
            RunError::Drive(DriveError::Step(StepError::OutOfMemory(_))) => Code::Budget,
            RunError::Drive(_) => Code::Numerical,
            _ => Code::Bug,
        };
        Self::new(code, error.to_string(), error.advice())
    }
}

fn io_code(error: &IoError) -> Code {
    if matches!(error, IoError::Content { .. }) { Code::Input } else { Code::Io }
}

/// Whether colours are welcome on the standard error stream.
pub fn colors() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

/// Sets up what is told when something goes wrong.
pub fn prepare() {
    // A file that grows beyond a limit of the system is an error like a full disk, and not the end of the process. That it
    // cannot be asked for only means that it stays as it was.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(
        signal_hook::consts::SIGXFSZ,
        std::sync::Arc::<std::sync::atomic::AtomicBool>::default(),
    );
    let colors = colors();
    // Fails only if it was set before, which it was not.
    let _ =
        miette::set_hook(Box::new(move |_| Box::new(MietteHandlerOpts::new().color(colors).context_lines(1).build())));
    std::panic::set_hook(Box::new(|panic| {
        // A library gave up on a file, and whoever asked it will say so.
        if squall_io::panics_are_caught() {
            return;
        }
        let text = panic.payload_as_str().unwrap_or("no message");
        let place = panic.location().map_or_else(String::new, |l| format!(" at {}:{}", l.file(), l.line()));
        say!("This is a bug in Squall {}, not in your scene: {text}{place}", env!("CARGO_PKG_VERSION"));
        say!("Please report it together with the scene. Finished frames are on disk and whole.");
        std::process::exit(Code::Bug as i32);
    }));
}
