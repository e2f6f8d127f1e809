//! SVG drawings.

use super::{Artwork, MOST_BYTES, MOST_KEPT_A_SIDE, PictureError, read_limited, svg_limits};
use crate::caught::{self, GivenUp};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::roxmltree::{self, Document, ParsingOptions};
use resvg::usvg::{self, ImageHrefResolver, Options, Tree};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Larger drawings are refused: text of this size takes seconds to read.
const MOST_SVG_BYTES: u64 = 32 << 20;

/// A drawing that takes longer is given up.
const DEADLINE: Duration = Duration::from_millis(1500);

/// Elements in elements take stack: those that are allowed take a tenth of this.
const STACK_BYTES: usize = 64 << 20;

/// The family of the carried font.
const FONT_FAMILY: &str = "Noto Sans";

/// Draws an SVG file as large as fits into `resolution` pixels. Text is drawn in the font that Squall carries, whatever the
/// file asks for; nothing that the file refers to is opened.
pub fn load_svg(path: impl AsRef<Path>, resolution: [usize; 2]) -> Result<Artwork, PictureError> {
    let path = path.as_ref();
    parse_svg(&read_limited(path, MOST_BYTES)?, path, resolution)
}

/// [`load_svg`] of the content of the file `path`.
pub fn parse_svg(data: &[u8], path: impl AsRef<Path>, resolution: [usize; 2]) -> Result<Artwork, PictureError> {
    let path = path.as_ref();
    let too_large = |what: String| PictureError::TooLarge { path: path.to_owned(), what };
    if data.len() as u64 > MOST_SVG_BYTES {
        return Err(too_large(format!("{} MB, where at most {} MB are read", data.len() >> 20, MOST_SVG_BYTES >> 20)));
    }
    if !resolution.iter().all(|side| (1..=MOST_KEPT_A_SIDE).contains(side)) {
        return Err(too_large(format!("{resolution:?} pixels, where 1 to {MOST_KEPT_A_SIDE} a side can be drawn")));
    }
    // In a thread of its own: with enough stack for what is nested deeply, and nobody has to wait for it.
    let (data, owned_path) = (data.to_vec(), path.to_owned());
    match caught::within(DEADLINE, STACK_BYTES, move || draw(&data, &owned_path, resolution)) {
        Ok(result) => result,
        Err(GivenUp::Panicked) => Err(damaged(path, "it cannot be drawn")),
        Err(GivenUp::TooSlow) => {
            let what = format!("it takes more than {} s to draw", DEADLINE.as_secs_f64());
            Err(PictureError::TooComplex { path: path.to_owned(), what })
        }
        Err(GivenUp::NoThread(error)) => Err(damaged(path, &format!("no thread can be started to draw it: {error}"))),
    }
}

fn damaged(path: &Path, reason: &str) -> PictureError {
    PictureError::Damaged { path: path.to_owned(), format: "SVG", reason: reason.to_owned() }
}

fn draw(data: &[u8], path: &Path, resolution: [usize; 2]) -> Result<Artwork, PictureError> {
    let complex = |what: String| PictureError::TooComplex { path: path.to_owned(), what };
    let text = std::str::from_utf8(data).map_err(|_| damaged(path, "it is no text in UTF-8"))?;
    svg_limits::check_entities(text).map_err(complex)?;
    let reading = ParsingOptions { allow_dtd: true, nodes_limit: svg_limits::MOST_NODES, ..Default::default() };
    let document = Document::parse_with_options(text, reading).map_err(|error| match error {
        roxmltree::Error::NodesLimitReached => complex(format!("it has more than {} parts", svg_limits::MOST_NODES)),
        error => damaged(path, &error.to_string()),
    })?;
    svg_limits::check_document(&document).map_err(complex)?;
    let has_pictures = Arc::new(AtomicBool::new(false));
    let tree = Tree::from_xmltree(&document, &options(&has_pictures));
    let tree = tree.map_err(|error| damaged(path, &error.to_string()))?;
    if has_pictures.load(Ordering::Relaxed) {
        return Err(PictureError::PictureInDrawing { path: path.to_owned() });
    }
    let size = [tree.size().width(), tree.size().height()];
    let scale = (resolution[0] as f32 / size[0]).min(resolution[1] as f32 / size[1]);
    let pixels: [u32; 2] = std::array::from_fn(|a| ((size[a] * scale).round() as u32).clamp(1, resolution[a] as u32));
    let stretch = [pixels[0] as f32 / size[0], pixels[1] as f32 / size[1]];
    svg_limits::check_layers(&tree, pixels, stretch).map_err(complex)?;
    let mut canvas = Pixmap::new(pixels[0], pixels[1]).ok_or_else(|| damaged(path, "it has no size"))?;
    resvg::render(&tree, Transform::from_scale(stretch[0], stretch[1]), &mut canvas.as_mut());
    let pixels = canvas.pixels().iter().map(|p| {
        // Stored multiplied with alpha.
        let part = |v: u8| if p.alpha() == 0 { 0.0 } else { f32::from(v) / f32::from(p.alpha()) };
        [part(p.red()), part(p.green()), part(p.blue()), f32::from(p.alpha()) / 255.0]
    });
    Ok(Artwork {
        name: path.display().to_string(),
        width: canvas.width() as usize,
        height: canvas.height() as usize,
        pixels: pixels.collect(),
    })
}

/// One font for everything, and nothing is opened.
fn options(has_pictures: &Arc<AtomicBool>) -> Options<'static> {
    let mut options = Options { font_family: FONT_FAMILY.into(), ..Options::default() };
    let fonts = options.fontdb_mut();
    fonts.load_font_data(super::text::CARRIED.to_vec());
    fonts.set_serif_family(FONT_FAMILY);
    fonts.set_sans_serif_family(FONT_FAMILY);
    fonts.set_cursive_family(FONT_FAMILY);
    fonts.set_fantasy_family(FONT_FAMILY);
    fonts.set_monospace_family(FONT_FAMILY);
    let [in_file, elsewhere] = [has_pictures.clone(), has_pictures.clone()];
    options.image_href_resolver = ImageHrefResolver {
        resolve_data: Box::new(move |_, _, _| refuse(&in_file)),
        resolve_string: Box::new(move |_, _| refuse(&elsewhere)),
    };
    options
}

fn refuse(seen: &AtomicBool) -> Option<usvg::ImageKind> {
    seen.store(true, Ordering::Relaxed);
    None
}
