//! Output files. Every kind of file is one [`FrameOutput`] in a file of its own and a line in [`outputs`]; the run loop, the budget,
//! resuming and `squall render` know nothing else of them.
//!
//! | file | what it writes |
//! |---|---|
//! | `pictures` | `frame_0001.png` |
//! | `light` | `frame_0001.exr`: the picture in linear light and all passes |
//! | `maps` | passes as games take them, `normal_0001.png`; `passes.json`, how to read passes |
//! | `volumes` | `volume_0001.vdb`, and `volume.usda` for the sequence |
//! | `meshes` | `surface_0001.ply`, and `surface.usda` for the sequence |
//! | `particles` | `particles_0001.ply`, `points_0001.vdb`, `particles_velocities_0001.npy` |
//! | `fields` | `velocity_0001.npy` |
//! | `movie` | the movie, at the end |

mod fields;
mod light;
mod maps;
mod meshes;
mod movie;
mod particles;
mod pictures;
mod usd;
mod volumes;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use squall_core::{CancelToken, Simulation};
use squall_io::IoError;
use squall_render::film;

use crate::picture::Picture;
use crate::picture::passes::PassImage;
use crate::run::{Observer, RunError};
use crate::setup::Setup;
use crate::surface::Surface;
pub use light::pass_name;
pub use meshes::SURFACES;
pub use movie::format as movie_format;
pub use particles::PARTICLES;
pub use pictures::Pixels;
pub(crate) use pictures::finish;
pub(crate) use volumes::UP;
pub use volumes::VOLUMES;

/// The series of the pictures: `frame_0001.png`.
pub const FRAMES: &str = "frame";

/// One kind of files of a run.
pub trait FrameOutput: Send + Sync {
    /// What it is, for messages.
    fn name(&self) -> &'static str;

    /// The names of its files of a frame. When a run is resumed, they are compared with what they were when they were written, and
    /// made again if they are not.
    fn files(&self, frame: u64) -> Vec<String>;

    /// The names of its files of the whole run.
    fn single(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether its files of the whole run, which grow with it, are good enough to go on from.
    fn is_intact(&self, _folder: &Path) -> bool {
        true
    }

    /// The movie that it makes.
    fn movie(&self) -> Option<&str> {
        None
    }

    /// What its files need.
    fn expected(&self) -> Expected;

    /// Whether it needs the simulation, and not only its pictures.
    fn needs_simulation(&self) -> bool {
        false
    }

    /// Takes what it needs of a frame, quickly: the simulation waits. What is given back encodes and writes it, on another
    /// thread, one frame after the other.
    fn capture(&mut self, shot: &Shot<'_>) -> Result<Job, RunError>;

    /// Brings files of the whole run up to date: all frames up to `last` are there. Called from time to time and at the end.
    fn update(&self, _folder: &Path, _last: u64) -> Result<(), IoError> {
        Ok(())
    }

    /// Makes what is made of all frames, unless `end.is_whole` says that it is there.
    fn finish(&self, _end: &mut End<'_>) -> Result<(), RunError> {
        Ok(())
    }
}

/// Writes the files of a frame into a folder.
pub type Job = Box<dyn FnOnce(&Path) -> Result<(), IoError> + Send>;

/// What a frame is made of.
pub struct Shot<'a> {
    /// Its number.
    pub number: u64,
    /// Seconds from the start.
    pub time: f64,
    /// Its state; `None` where old volumes are only drawn again.
    pub sim: Option<&'a dyn Simulation>,
    /// The picture for a screen.
    pub pixels: Arc<Pixels>,
    /// The same in linear light, if a camera took it.
    pub film: Option<Arc<film::Frame>>,
    /// What else was drawn.
    pub passes: Arc<[PassImage]>,
    /// The surface of a liquid, if something is made of it.
    pub surface: Option<Arc<Surface>>,
}

impl Shot<'_> {
    /// Of a picture and its passes.
    pub fn new<'a>(
        setup: &Setup,
        number: u64,
        time: f64,
        sim: Option<&'a dyn Simulation>,
        picture: Picture,
        passes: Vec<PassImage>,
    ) -> Shot<'a> {
        let (pixels, film) = finish(setup, picture, time);
        let film = film.map(Arc::new);
        Shot { number, time, sim, pixels: Arc::new(pixels), film, passes: passes.into(), surface: None }
    }
}

impl Shot<'static> {
    /// Of a surface alone, without a picture.
    pub fn of_surface(setup: &Setup, number: u64, surface: Surface) -> Self {
        let image = squall_render::Image { width: 0, height: 0, pixels: Vec::new() };
        let time = number as f64 / setup.time.fps;
        let shot = Shot::new(setup, number, time, None, Picture::Screen(image), Vec::new());
        Shot { surface: Some(Arc::new(surface)), ..shot }
    }
}

/// Bytes that a frame takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// On the disk, at the least.
    pub disk: u64,
    /// In memory, from its capture until it is written.
    pub memory: u64,
    /// In memory while the end is made.
    pub at_the_end: u64,
}

/// The end of a run.
pub struct End<'a> {
    /// The folder of the run.
    pub folder: &'a Path,
    /// Its first and its last frame.
    pub frames: std::ops::RangeInclusive<u64>,
    /// Whether a file of the whole run is there as it was written.
    pub is_whole: &'a dyn Fn(&str) -> bool,
    /// Hears how far it is.
    pub observer: &'a mut dyn Observer,
    /// Whether to stop.
    pub cancel: &'a CancelToken,
    /// What was made.
    pub made: Vec<String>,
    /// Whether it was stopped before something was made.
    pub cancelled: bool,
}

/// Whether a scene wants files of the surface of its liquid.
pub fn needs_surface(setup: &Setup) -> bool {
    let out = &setup.output;
    let volumes = out.vdb.as_ref().is_some_and(|vdb| vdb.fields.iter().any(|field| field == SURFACES));
    setup.liquid.is_some() && (!out.mesh.is_empty() || !out.particles.is_empty() || volumes)
}

/// Everything that a scene asks for. Its movie bears the name `name`.
pub fn outputs(setup: &Setup, name: &str) -> Vec<Box<dyn FrameOutput>> {
    let all: [Option<Box<dyn FrameOutput>>; 8] = [
        meshes::Meshes::new(setup).map(boxed),
        particles::ParticleFiles::new(setup).map(boxed),
        fields::Fields::new(setup).map(boxed),
        volumes::Volumes::new(setup).map(boxed),
        light::Light::new(setup).map(boxed),
        maps::Maps::new(setup).map(boxed),
        Some(boxed(pictures::Pictures::new(setup))),
        movie::MovieOutput::new(setup, name).map(boxed),
    ];
    all.into_iter().flatten().collect()
}

fn boxed<T: FrameOutput + 'static>(output: T) -> Box<dyn FrameOutput> {
    Box::new(output)
}

/// What belongs together: outputs and the names of their files.
pub(crate) struct Outputs {
    pub all: Vec<Box<dyn FrameOutput>>,
}

impl Outputs {
    /// All of a scene.
    pub fn new(setup: &Setup, name: &str) -> Self {
        Self { all: outputs(setup, name) }
    }

    /// Those that old volumes can give.
    pub fn without_simulation(setup: &Setup, name: &str) -> Self {
        Self { all: outputs(setup, name).into_iter().filter(|o| !o.needs_simulation()).collect() }
    }

    /// Meshes alone.
    pub fn of_meshes(setup: &Setup) -> Self {
        Self { all: meshes::Meshes::new(setup).map(boxed).into_iter().collect() }
    }

    /// The files of a frame.
    pub fn files(&self, frame: u64) -> Vec<String> {
        self.all.iter().flat_map(|output| output.files(frame)).collect()
    }

    /// The series of numbered files: `frame` for `frame_0001.png`.
    pub fn series(&self) -> Vec<String> {
        let mut series: Vec<String> =
            self.files(0).iter().filter_map(|name| Some(name.rsplit_once('_')?.0.to_owned())).collect();
        series.dedup();
        series
    }

    /// The files of the whole run.
    pub fn single(&self) -> Vec<String> {
        self.all.iter().flat_map(|output| output.single()).collect()
    }

    /// What a frame takes, all together.
    pub fn expected(&self) -> Expected {
        self.all.iter().map(|output| output.expected()).fold(Expected::default(), |sum, e| Expected {
            disk: sum.disk.saturating_add(e.disk),
            memory: sum.memory.saturating_add(e.memory),
            at_the_end: sum.at_the_end.max(e.at_the_end),
        })
    }

    /// Takes what all need.
    pub fn capture(&mut self, shot: &Shot<'_>) -> Result<Vec<Job>, RunError> {
        self.all.iter_mut().map(|output| output.capture(shot)).collect()
    }

    /// Brings files of the whole run up to date.
    pub fn update(&self, folder: &Path, last: u64) -> Result<(), IoError> {
        self.all.iter().try_for_each(|output| output.update(folder, last))
    }
}

/// The file of a frame in a series: `smoke_0012.png` for `("smoke", 12, "png")`.
pub fn numbered(series: &str, frame: u64, extension: &str) -> String {
    format!("{series}_{frame:04}.{extension}")
}

/// The same in a folder.
pub fn numbered_path(folder: &Path, series: &str, frame: u64, extension: &str) -> PathBuf {
    folder.join(numbered(series, frame, extension))
}
