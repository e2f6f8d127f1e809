//! Pictures of a finished run, taken again without simulating: in 3D from its volumes, with another camera, light or style, in 2D
//! from its raw fields, in other colours. And meshes of a liquid, from its particles or its volumes.

use std::path::{Path, PathBuf};
use std::time::Instant;

use squall_core::Volume;
use squall_io::vdb::VdbLoaded;
use squall_io::{Files, OutputFolder, VdbValues, read_particles_ply, read_vdb};
use squall_render::RenderError;
use squall_render::map::Range;
use squall_render::texture::fine::refined;

use super::report::{Event, Observer, Outcome, RunError, Summary};
use super::stored::{self, Stored};
use super::writer::{Frame, Writer, Written};
use super::{CancelToken, RunOptions, SCENE, finish, frames, lock, owner};
use crate::output::{Outputs, PARTICLES, SURFACES, Shot, UP, VOLUMES, numbered_path};
use crate::picture::passes::PassPainter;
use crate::picture::{FilmPainter, Painter, Picture, Volumes, normalize};
use crate::setup::{Pass, Setup, Show, Up};
use crate::surface::{Solids, Surface};
use crate::{Assets, Scene};
use std::sync::Arc;

/// What is made again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Again {
    /// Pictures.
    Pictures,
    /// Meshes of a liquid.
    Meshes,
}

/// Draws the frames of the run in folder `run` anew, into `options.out`. Frames that are there already are kept.
pub fn render(
    setup: &Setup,
    run: &Path,
    assets: &Assets,
    options: &RunOptions,
    observer: &mut dyn Observer,
    cancel: &CancelToken,
) -> Result<Summary, RunError> {
    again(Again::Pictures, setup, run, assets, options, observer, cancel)
}

/// Makes meshes of the liquid of the run in folder `run`, into `options.out`. Those that are there already are kept.
pub fn mesh(
    setup: &Setup,
    run: &Path,
    assets: &Assets,
    options: &RunOptions,
    observer: &mut dyn Observer,
    cancel: &CancelToken,
) -> Result<Summary, RunError> {
    again(Again::Meshes, setup, run, assets, options, observer, cancel)
}

fn again(
    what: Again,
    setup: &Setup,
    run: &Path,
    assets: &Assets,
    options: &RunOptions,
    observer: &mut dyn Observer,
    cancel: &CancelToken,
) -> Result<Summary, RunError> {
    let start = Instant::now();
    same_physics(setup, run, assets)?;
    if same_folder(run, &options.out) {
        return Err(RunError::OverItself { folder: run.to_owned() });
    }
    let every = frames(setup, options);
    let last = *every.end();
    if every.is_empty() {
        return Err(RunError::NoFrames { frames: setup.time.frames });
    }
    let mut source = Source::new(what, setup, run)?;
    if let Some(path) = every.clone().flat_map(|k| source.files(run, k)).find(|path| !path.exists()) {
        return Err(match source.files(run, 1).iter().all(|path| path.exists()) {
            true => RunError::MissingFrame { path },
            false => source.missing(run),
        });
    }
    let _lock = lock(&options.out)?;
    let mut outputs = match what {
        Again::Pictures => Outputs::without_simulation(setup, &options.name),
        Again::Meshes => Outputs::of_meshes(setup),
    };
    let files = Files { series: &outputs.series(), single: &outputs.single(), end: last + 1 };
    let mut folder = OutputFolder::open(&options.out, owner(setup, options), files, options.start)?;
    super::tell_of_replacing(&folder, super::Reuse::Nothing, observer);
    // Pictures do not depend on each other: all before the first that is missing or damaged are kept.
    let damage = folder.first_damage(every.clone(), |frame| outputs.files(frame));
    let first = damage.map_or(last + 1, |damage| damage.frame);
    let kept = first.checked_sub(1).filter(|kept| every.contains(kept));
    let mut summary = Summary::new(setup, folder.path(), kept);
    if first > last {
        summary.outcome = Outcome::AlreadyDone;
    } else {
        folder.keep_frames(kept, false)?;
        observer.event(&Event::Started { first: first.max(1), last, resumed_from: summary.resumed_from });
    }
    source.begin(setup, run, first, cancel)?;
    let mut writer = Writer::new(folder);
    let mut failed = None;
    for number in first..=last {
        if cancel.is_cancelled() {
            summary.outcome = Outcome::Cancelled;
            break;
        }
        match source.draw(setup, run, number) {
            Ok(shot) => {
                if what == Again::Pictures {
                    observer.event(&Event::Picture { frame: number, image: shot.pixels.image() });
                }
                let (jobs, files) = (outputs.capture(&shot)?, outputs.files(number));
                if writer.send(Frame { number, files, tables: Vec::new(), jobs }).is_err() {
                    break;
                }
            }
            Err(RunError::Picture(RenderError::Cancelled)) => {
                summary.outcome = Outcome::Cancelled;
                break;
            }
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
        summary.frames = number;
        tell(writer.news(), observer);
    }
    // A writer's error is told by `finish`.
    let (folder, news) = writer.finish()?;
    tell(news, observer);
    if let Some(error) = failed {
        return Err(error);
    }
    if summary.outcome != Outcome::Cancelled {
        finish(&outputs, every, folder, &mut summary, observer, cancel)?;
    }
    summary.seconds = start.elapsed().as_secs_f64();
    summary.peak_memory = super::peak_memory();
    Ok(summary)
}

fn tell(news: Vec<Written>, observer: &mut dyn Observer) {
    for Written { frame, path } in news {
        observer.event(&Event::Frame { frame, path: &path });
    }
}

/// Whether two paths lead to the same folder.
fn same_folder(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

fn particles_path(run: &Path, frame: u64) -> PathBuf {
    numbered_path(run, PARTICLES, frame, "ply")
}

fn volume_path(run: &Path, frame: u64) -> PathBuf {
    run.join(format!("{VOLUMES}_{frame:04}.vdb"))
}

/// Volumes belong to the scene that they were computed by: only its looks may change.
fn same_physics(setup: &Setup, run: &Path, assets: &Assets) -> Result<(), RunError> {
    let path = run.join(SCENE);
    let text = squall_io::read_text(&path).map_err(|_| RunError::NoVolumes { folder: run.to_owned() })?;
    let parsed = Scene::parse(&path.display().to_string(), &text, &[]);
    let before = parsed.and_then(|scene| scene.with_assets(assets.clone()).setup());
    match before {
        Ok((before, _)) if before.physics_hash() == setup.physics_hash() => Ok(()),
        _ => Err(RunError::OtherPhysics { folder: run.to_owned() }),
    }
}

/// What pictures are drawn from.
enum Source {
    Volumes(Box<FilmPainter>),
    /// Raw fields of these names.
    Fields(Vec<String>, Box<Painter>),
    Particles(Box<Solids>),
    /// The volumes of a liquid.
    Distances,
}

impl Source {
    fn new(what: Again, setup: &Setup, run: &Path) -> Result<Self, RunError> {
        if what == Again::Meshes {
            let first = u64::from(!setup.time.include_start);
            return match (particles_path(run, first).exists(), setup.dimensions()) {
                (true, _) => Ok(Source::Particles(Box::new(Solids::new(setup)?))),
                (false, 3) => Ok(Source::Distances),
                (false, _) => Err(RunError::NoSurface { folder: run.to_owned() }),
            };
        }
        Ok(match &setup.film {
            Some(film) => Source::Volumes(Box::new(FilmPainter::new(setup, film)?)),
            None => {
                let names = stored::needed(setup).ok_or_else(|| RunError::NoFields { folder: run.to_owned() })?;
                Source::Fields(names, Box::new(Painter::new(setup)?))
            }
        })
    }

    fn files(&self, run: &Path, frame: u64) -> Vec<PathBuf> {
        match self {
            Source::Volumes(_) | Source::Distances => vec![volume_path(run, frame)],
            Source::Particles(_) => vec![particles_path(run, frame)],
            Source::Fields(names, _) => stored::files(names, run, frame),
        }
    }

    fn missing(&self, run: &Path) -> RunError {
        let folder = run.to_owned();
        match self {
            Source::Volumes(_) => RunError::NoVolumes { folder },
            Source::Fields(..) => RunError::NoFields { folder },
            Source::Particles(_) | Source::Distances => RunError::NoSurface { folder },
        }
    }

    /// Before frame `first` is drawn: the range of values is that of all frames of the run, or of those before.
    fn begin(&mut self, setup: &Setup, run: &Path, first: u64, cancel: &CancelToken) -> Result<(), RunError> {
        let (names, painter) = match self {
            Source::Volumes(painter) => {
                painter.set_cancel(cancel);
                return Ok(());
            }
            Source::Fields(names, painter) => (names, painter),
            Source::Particles(_) | Source::Distances => return Ok(()),
        };
        if setup.picture.range.is_some() {
            return Ok(());
        }
        let steady = setup.picture.steady || setup.time.looped.is_some();
        let mut range = [0.0f64; 2];
        let all = u64::from(!setup.time.include_start)..=u64::from(setup.time.frames);
        for frame in all.take_while(|frame| steady || *frame < first) {
            let [lo, hi] = painter.extremes(&Stored::load(setup, names, run, frame)?);
            range = [range[0].min(lo), range[1].max(hi)];
        }
        if steady {
            painter.fix_range(range)
        } else {
            painter.has_seen(range)
        }
        Ok(())
    }

    fn draw<'a>(&mut self, setup: &Setup, run: &Path, number: u64) -> Result<Shot<'a>, RunError> {
        match self {
            Source::Volumes(painter) => draw(setup, run, painter, number),
            Source::Particles(solids) => {
                let particles = read_particles_ply(particles_path(run, number))?.particles;
                let time = number as f64 / setup.time.fps;
                let surface = Surface::around(setup, solids, particles, time, &CancelToken::default())?;
                Ok(Shot::of_surface(setup, number, surface))
            }
            Source::Distances => {
                let path = volume_path(run, number);
                let grids = grids(&path)?;
                let distance = take(&grids, &path, SURFACES)?;
                let values = |name: &str| grids.iter().find(|grid| grid.name == name).map(|grid| &grid.values);
                let surface = match values("velocity") {
                    Some(VdbValues::Vector(velocity)) => {
                        let carried = setup.substances.iter().skip(1).filter_map(|s| match values(&s.name)? {
                            VdbValues::Scalar(volume) => Some((s.name.clone(), volume)),
                            VdbValues::Vector(_) => None,
                        });
                        Surface::from_volumes(distance, velocity, &carried.collect::<Vec<_>>())
                    }
                    _ => Surface::from_volume(distance),
                };
                Ok(Shot::of_surface(setup, number, surface))
            }
            Source::Fields(names, painter) => stored::draw(setup, names, painter, run, number),
        }
    }
}

/// The volumes of a file, with y up.
fn grids(path: &Path) -> Result<Vec<VdbLoaded>, RunError> {
    let file = read_vdb(path)?;
    let mut grids = file.grids;
    if file.metadata.get(UP).is_some_and(|up| up.to_string() == Up::Z.word()) {
        for grid in &mut grids {
            grid.values = std::mem::replace(&mut grid.values, VdbValues::Scalar(Volume::default())).y_up();
        }
    }
    Ok(grids)
}

/// One of them.
fn take(grids: &[VdbLoaded], path: &Path, name: &str) -> Result<Volume, RunError> {
    match grids.iter().find(|grid| grid.name == name).map(|grid| &grid.values) {
        // The substance that is shown may also be the one that glows.
        Some(VdbValues::Scalar(volume)) => Ok(volume.clone()),
        _ => Err(RunError::NoField { path: path.to_owned(), name: name.to_owned() }),
    }
}

fn draw<'a>(setup: &Setup, run: &Path, painter: &mut FilmPainter, number: u64) -> Result<Shot<'a>, RunError> {
    let path = volume_path(run, number);
    let grids = grids(&path)?;
    let take = |name: &str| take(&grids, &path, name);
    let names: Vec<String> = painter.substances().map(str::to_owned).collect();
    let mut substances = names.iter().map(|name| take(name)).collect::<Result<Vec<_>, _>>()?;
    let heat = painter.heat().map(str::to_owned).map(|name| take(&name)).transpose()?;
    let time = number as f64 / setup.time.fps;
    let mut volumes = match substances.as_mut_slice() {
        [field] if setup.shows_light() => {
            let mut field = std::mem::take(field);
            let range = setup.picture.range.map(|[lo, hi]| Range { lo: lo as f32, hi: hi as f32 });
            let range = range.unwrap_or_else(|| Range::robust(&field.values, 0.001));
            normalize(&mut field.values, range, setup.picture.gamma.at(time).clamp(0.1, 10.0));
            Volumes::of_light(field, None)
        }
        _ => Volumes { substances, heat, ..Volumes::default() },
    };
    if setup.picture.show == Show::Water {
        volumes.liquid = Some(Arc::new(Surface::from_volume(take(SURFACES)?)));
        volumes.inks = painter.inks().map(take).collect::<Result<_, _>>()?;
    }
    if setup.output.passes.contains(&Pass::Motion) || painter.wants_velocity() {
        let velocity = grids.iter().find(|grid| grid.name == "velocity").map(|grid| &grid.values);
        let Some(VdbValues::Vector(velocity)) = velocity else {
            return Err(RunError::NoField { path, name: "velocity".to_owned() });
        };
        volumes.velocity = Some(velocity.clone());
    }
    if let (true, Some(hot)) = (setup.output.passes.contains(&Pass::Temperature), setup.heat()) {
        volumes.temperature = Some(take(&setup.substances[hot].name)?);
    }
    same_cells(&mut volumes);
    let shot = painter.shoot(&volumes, time, number)?;
    let passes = PassPainter::new(setup).film(painter, &volumes, &shot, time, number)?;
    Ok(Shot::new(setup, number, time, None, Picture::Film(shot), passes))
}

/// Rays want all volumes to have the same cells; temperature is written without the finer ones of a texture.
fn same_cells(volumes: &mut Volumes) {
    let Volumes { substances, heat, temperature, .. } = volumes;
    let all = substances.iter().chain(&*heat).map(|volume| (volume.origin, volume.spacing));
    let Some((origin, spacing)) = all.min_by(|a, b| a.1.total_cmp(&b.1)) else { return };
    for volume in substances.iter_mut().chain(heat).chain(temperature) {
        let refine = (volume.spacing / spacing).round();
        if refine > 1.0 {
            // Files hold centres of cells: corners come back with a rounding error that depends on the spacing.
            *volume = Volume { origin, spacing, ..refined(volume, refine as usize, None) };
        }
    }
}
