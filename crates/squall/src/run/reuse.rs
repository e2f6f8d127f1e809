//! A scene whose looks alone were edited: its frames are drawn from the fields that its run stored, and nothing is simulated again.
//!
//! Only where pictures get the same bytes as those of a new run: in 2D, from raw fields. Volumes leave out what is thin, and round.

use squall_io::folder::read_manifest;
use squall_io::{Files, Manifest, OutputFolder, SceneHash, Start, checkpoint};
use squall_render::RenderError;

use super::simulate::{Totals, visit};
use super::{CancelToken, Event, Observer, RunError, RunOptions, SCENE, frames, owner, single_files, stored};
use crate::driver::Driver;
use crate::output::Outputs;
use crate::picture::Painter;
use crate::setup::Setup;
use crate::{Assets, Scene};

/// What became of the output that was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reuse {
    /// There is none of this scene, or more than its looks have changed.
    Nothing,
    /// Only looks have changed, but they cannot be drawn exactly from what is stored.
    NotStored {
        /// Whether `squall render` can draw something like it.
        by_render: bool,
    },
    /// The frames were drawn again. The run may go on from them.
    Drawn,
    /// It was cancelled: the old output is still that of the old scene.
    Cancelled,
}

/// Draws the frames of an edited scene from what its run before the edit stored, if that is possible.
pub(super) fn draw_again(
    setup: &Setup,
    options: &RunOptions,
    outputs: &Outputs,
    observer: &mut dyn Observer,
    cancel: &CancelToken,
) -> Result<Reuse, RunError> {
    let Some(old) = former(setup, options) else { return Ok(Reuse::Nothing) };
    let not_stored = Ok(Reuse::NotStored { by_render: old.output.vdb.is_some() });
    // One range for all frames is found before the first one is drawn.
    let needs_all = setup.picture.range.is_none() && (setup.picture.steady || setup.time.looped.is_some());
    let Some(names) = stored::needed(setup).filter(|_| !needs_all) else { return not_stored };
    let old_outputs = Outputs::new(&old, &options.name);
    let [new_raw, old_raw] = [outputs, &old_outputs].map(|outputs| {
        let raw = outputs.all.iter().filter(|output| output.needs_simulation());
        move |frame: u64| raw.clone().flat_map(|output| output.files(frame)).collect::<Vec<String>>()
    });
    let fields = |frame: u64| stored::files(&names, "".as_ref(), frame).into_iter().map(|p| p.display().to_string());
    // What was simulated must be there already.
    if new_raw(0).into_iter().chain(fields(0)).any(|file| !old_raw(0).contains(&file)) {
        return not_stored;
    }
    let nothing_more = Files { series: &[], single: &[], end: 0 };
    let mut folder = OutputFolder::open(&options.out, owner(&old, options), nothing_more, Start::Resume)?;
    let Ok((state, None)) = checkpoint::open_latest(folder.checkpoint_path(), old.hash().into()) else {
        return not_stored;
    };
    let every = *frames(setup, options).start()..=state.position.frame;
    let is_damaged =
        folder.first_damage(every.clone(), |frame| new_raw(frame).into_iter().chain(fields(frame)).collect());
    if is_damaged.is_some() || options.only.is_some() {
        return not_stored;
    }

    let (mut driver, mut old_painter, mut totals) =
        (Driver::new(&old)?, Painter::new(&old)?, Totals::new(old.substances.len()));
    let position = state.position;
    state.restore(|visitor| visit(visitor, &mut driver, &mut old_painter, &mut totals))?;
    let text = "only the appearance of the scene has changed: frames are redrawn from its fields, without simulating";
    observer.event(&Event::Notice(text.to_owned()));
    observer.event(&Event::Started { first: (*every.start()).max(1), last: *every.end(), resumed_from: None });
    let (series, single) = (outputs.series(), single_files(setup, outputs));
    let files = Files { series: &series, single: &single, end: frames(setup, options).end() + 1 };
    folder.claim(files)?;
    let mut painter = Painter::new(setup)?;
    painter.set_cancel(cancel);
    let mut drawn = Outputs::without_simulation(setup, &options.name);
    for number in every.clone() {
        if cancel.is_cancelled() {
            return Ok(Reuse::Cancelled);
        }
        let shot = match stored::draw(setup, &names, &mut painter, folder.path(), number) {
            Err(RunError::Picture(RenderError::Cancelled)) => return Ok(Reuse::Cancelled),
            shot => shot?,
        };
        observer.event(&Event::Picture { frame: number, image: shot.pixels.image() });
        for job in drawn.capture(&shot)? {
            job(folder.path())?;
        }
        let path = folder.path().join(drawn.files(number).first().map_or("", String::as_str));
        observer.event(&Event::Frame { frame: number, path: &path });
    }
    outputs.update(folder.path(), position.frame)?;
    squall_io::write_whole(folder.path().join(SCENE), setup.to_toml().as_bytes())?;
    let (path, checkpoints) = (folder.checkpoint_path(), setup.output.checkpoint_seconds > 0.0);
    let keep: Vec<String> = single.iter().filter(|name| folder.path().join(name).exists()).cloned().collect();
    folder.become_edited(owner(setup, options), files, &keep, every, |frame| outputs.files(frame))?;
    if checkpoints {
        checkpoint::save(&path, setup.hash().into(), position, |visitor| {
            visit(visitor, &mut driver, &mut painter, &mut totals)
        })?;
    }
    Ok(Reuse::Drawn)
}

/// The scene before the edit, if its output is there and nothing but its looks has changed.
fn former(setup: &Setup, options: &RunOptions) -> Option<Setup> {
    let Manifest { scene, scene_hash, origin, assets, .. } = read_manifest(&options.out).ok()??;
    let same = scene == options.name && origin.is_some() && origin == options.origin;
    if !same || options.start != Start::Resume || scene_hash == SceneHash::from(setup.hash()).to_string() {
        return None;
    }
    let text = squall_io::read_text(options.out.join(SCENE)).ok()?;
    let assets = assets.map_or_else(Assets::none, |place| Assets::at(&place)).within(options.memory_limit);
    let (old, _) = Scene::parse(SCENE, &text, &[]).ok()?.with_assets(assets).setup().ok()?;
    let is_it = SceneHash::from(old.hash()).to_string() == scene_hash;
    (is_it && old.physics_hash() == setup.physics_hash()).then_some(old)
}
