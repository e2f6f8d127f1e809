//! SVG drawings.

use super::{Artwork, MOST_BYTES, MOST_KEPT_A_SIDE, PictureError, read_limited};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{self, ImageHrefResolver, Options, Tree};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Larger drawings are refused: text of this size takes seconds to draw.
const MOST_SVG_BYTES: u64 = 32 << 20;

/// Groups in groups take stack; drawings may have about a thousand levels of them.
const STACK_BYTES: usize = 256 << 20;

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
    // A thread of its own: with enough stack for what is nested deeply, and a panic in the library ends only it.
    let drawn = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("svg".into()).stack_size(STACK_BYTES);
        thread.spawn_scoped(scope, || draw(data, path, resolution)).map(|thread| thread.join())
    });
    match drawn {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err(damaged(path, "it cannot be drawn")),
        Err(error) => Err(damaged(path, &format!("no thread can be started to draw it: {error}"))),
    }
}

fn damaged(path: &Path, reason: &str) -> PictureError {
    PictureError::Damaged { path: path.to_owned(), format: "SVG", reason: reason.to_owned() }
}

fn draw(data: &[u8], path: &Path, resolution: [usize; 2]) -> Result<Artwork, PictureError> {
    let has_pictures = Arc::new(AtomicBool::new(false));
    let tree = Tree::from_data(data, &options(&has_pictures)).map_err(|error| damaged(path, &error.to_string()))?;
    if has_pictures.load(Ordering::Relaxed) {
        return Err(PictureError::PictureInDrawing { path: path.to_owned() });
    }
    let size = [tree.size().width(), tree.size().height()];
    let scale = (resolution[0] as f32 / size[0]).min(resolution[1] as f32 / size[1]);
    let pixels: [u32; 2] = std::array::from_fn(|a| ((size[a] * scale).round() as u32).clamp(1, resolution[a] as u32));
    let stretch = Transform::from_scale(pixels[0] as f32 / size[0], pixels[1] as f32 / size[1]);
    let mut canvas = Pixmap::new(pixels[0], pixels[1]).ok_or_else(|| damaged(path, "it has no size"))?;
    resvg::render(&tree, stretch, &mut canvas.as_mut());
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
    fonts.load_font_data(notosans::BOLD_TTF.to_vec());
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
