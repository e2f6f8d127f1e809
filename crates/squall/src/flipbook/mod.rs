//! Flipbooks: the frames of a scene in one texture, with maps beside it, as games play them.
//!
//! [`prepare`] asks a scene for the passes that the maps need, [`run`](crate::run()) writes them frame by frame, and
//! [`pack`] puts them together from the files. So a flipbook can be packed in another way without simulating again.
//!
//! | file | what it does |
//! |---|---|
//! | `layout` | which frames, how large, where on the texture |
//! | `atlas` | tiles with borders on a texture |
//! | `maps` | from the files of a run to tiles: colours, motion, light, normals, depth, heat |
//! | `sidecar` | the file that says how to read the textures |
//! | `preview` | plays the textures as an engine does |

mod atlas;
mod layout;
mod maps;
mod preview;
mod sidecar;

use std::path::{Path, PathBuf};

use squall_io::{IoError, MovieError, write_whole};

pub use layout::{Layout, LayoutError, MAX_SIDE, Selection};

use crate::run::{CancelToken, Observer};
use crate::setup::{Alpha, Movie, Pass, Setup};
use maps::Map;

/// Why there is no flipbook.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FlipbookError {
    /// The frames do not fit.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The scene cannot have a map.
    #[error("there can be no map \"{map}\": {why}")]
    Map {
        /// Which one.
        map: &'static str,
        /// Why.
        why: &'static str,
        /// What to do.
        advice: &'static str,
    },
    /// The pictures of the run have a background.
    #[error("the pictures in {} have a background, and so would the flipbook", .folder.display())]
    Background {
        /// Where they are.
        folder: PathBuf,
    },
    /// The run has not written what is needed.
    #[error("{} is missing", .path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// What was not asked for.
        pass: &'static str,
    },
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The preview cannot be written.
    #[error(transparent)]
    Movie(#[from] MovieError),
}

impl FlipbookError {
    /// What to do about it.
    pub fn advice(&self) -> Option<String> {
        match self {
            FlipbookError::Layout(error) => Some(error.advice()),
            FlipbookError::Map { advice, .. } => Some((*advice).to_owned()),
            FlipbookError::Background { .. } => {
                Some("use --opaque, or give `squall flipbook` the scene itself".to_owned())
            }
            FlipbookError::Missing { pass: "frame", .. } => {
                Some("run the scene with transparent pictures (and output.exr in 3D), or give `squall flipbook` the scene itself".to_owned())
            }
            FlipbookError::Missing { pass, .. } => Some(format!(
                "run the scene with --set 'output.passes=[\"{pass}\"]', or give `squall flipbook` the scene itself"
            )),
            _ => None,
        }
    }
}

/// Changes a setup so that its run writes what its flipbook needs: pictures of the size of a frame, transparent, and passes.
pub fn prepare(setup: &mut Setup) -> Result<(), FlipbookError> {
    let maps = setup.flipbook.maps.clone();
    for &map in &maps {
        if let Some((why, advice)) = setup.cannot_pass(map) {
            return Err(FlipbookError::Map { map: map.word(), why, advice });
        }
    }
    let (layout, selection) = layout::plan(setup)?;
    let [width, height] = layout.frame;
    let transparent = setup.flipbook.alpha != Alpha::Opaque;
    let output = &mut setup.output;
    (output.width, output.movie, output.passes) = (width, Movie::None, maps);
    (output.bits, output.vdb) = (8, None);
    output.fields.clear();
    match &mut setup.film {
        Some(film) => {
            (output.height, output.exr) = (height, true);
            film.render.transparent = transparent;
            if transparent {
                // A card that is put anywhere must not bring its own floor.
                film.render.ground = None;
            }
        }
        None => {
            setup.picture.transparent = transparent;
            // A range that grows would make the first frames brighter than the last.
            setup.picture.steady |= setup.picture.range.is_none() && setup.time.looped.is_none();
            output.height = (f64::from(width) * setup.grid.size[1] / setup.grid.size[0]).round().max(1.0) as u32;
        }
    }
    // What was chosen stays, though the scene has another size and length now.
    let f = &mut setup.flipbook;
    (f.columns, f.rows, f.padding) = (Some(layout.columns), Some(layout.rows), Some(layout.padding));
    (f.width, f.height) = (width, Some(height));
    (f.from, f.every, f.count) = (Some(selection.from), Some(selection.every), Some(selection.count));
    // What comes after the last frame of the flipbook need not be computed; a loop is whole or none.
    if setup.time.looped.is_none() {
        setup.time.frames = setup.time.frames.min(selection.last().max(1));
    }
    setup.tell_output();
    Ok(())
}

/// What was written.
#[derive(Clone, Debug)]
pub struct Packed {
    /// Where the frames are.
    pub layout: Layout,
    /// Which frames of the run they are.
    pub selection: Selection,
    /// The textures, and the file that says how to read them.
    pub files: Vec<PathBuf>,
    /// The preview.
    pub preview: Option<PathBuf>,
    /// Whether it was stopped before its end.
    pub cancelled: bool,
}

/// Packs the frames of the run in folder `run` into textures `NAME_color.png` and so on, in folder `out`.
pub fn pack(
    setup: &Setup,
    name: &str,
    run: &Path,
    out: &Path,
    observer: &mut dyn Observer,
    cancel: &CancelToken,
) -> Result<Packed, FlipbookError> {
    let clear = setup.film.as_ref().map_or(setup.picture.transparent, |film| film.render.transparent);
    if setup.flipbook.alpha != Alpha::Opaque && !clear {
        return Err(FlipbookError::Background { folder: run.to_owned() });
    }
    let (layout, selection) = layout::plan(setup)?;
    std::fs::create_dir_all(out).map_err(|source| IoError::File {
        path: out.to_owned(),
        action: "create the folder",
        source,
    })?;
    let mut packed = Packed { layout, selection, files: Vec::new(), preview: None, cancelled: false };
    let job = maps::Job { setup, run, layout: &layout, selection: &selection, cancel };
    let mut written: Vec<Map> = vec![];
    let colors = std::iter::once(None).chain(setup.flipbook.maps.iter().copied().map(Some));
    for what in colors {
        let Some(maps) = job.draw(what)? else {
            packed.cancelled = true;
            return Ok(packed);
        };
        for map in maps {
            let path = out.join(format!("{name}_{}.png", map.name));
            map.atlas.write(&path, map.srgb)?;
            packed.files.push(path);
            // The texture is on disk now; only what is said about it is kept.
            written.push(Map { atlas: atlas::Atlas::empty(), ..map });
        }
    }
    let path = out.join(format!("{name}.json"));
    write_whole(&path, format!("{:#}\n", sidecar::describe(setup, name, &layout, &selection, &written)).as_bytes())?;
    packed.files.push(path);
    if setup.flipbook.preview {
        let path = out.join(format!("{name}_preview.gif"));
        let motion = written.iter().find(|map| map.name == maps::name(Pass::Motion)[0]).map(|map| map.scale);
        let played = preview::Playback { setup, name, folder: out, layout: &layout, selection: &selection, motion };
        if played.write(&path, observer, cancel)? {
            packed.preview = Some(path);
        } else {
            packed.cancelled = true;
        }
    }
    Ok(packed)
}
