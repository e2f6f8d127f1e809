//! Letters.

use super::{Coverage, MOST_BYTES, MOST_KEPT_A_SIDE, PictureError, read_limited};
use ab_glyph::{Font as _, FontArc, FontVec, Glyph, GlyphId, OutlinedGlyph, Point, PxScale, ScaleFont};
use std::path::Path;

/// Longer texts are refused: no letter of theirs would be readable.
const MOST_CHARACTERS: usize = 2000;

/// Size at which lines are laid out, before it is known how large they can be drawn.
const DRAFT: f32 = 1000.0;

/// The font that Squall carries: Noto Sans Bold, under the SIL Open Font License beside it.
pub(super) const CARRIED: &[u8] = include_bytes!("../../fonts/NotoSans-Bold.ttf");

/// What letters look like.
#[derive(Clone, Debug)]
pub struct Font {
    name: String,
    font: FontArc,
}

impl Font {
    /// Noto Sans Bold, which Squall carries: Latin, Greek and Cyrillic. (Noto Sans is free under the SIL Open Font License.)
    pub fn carried() -> Self {
        let font = FontArc::try_from_slice(CARRIED).expect("the carried font is one");
        Font { name: "Noto Sans Bold".into(), font }
    }

    /// A TTF or OTF file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, PictureError> {
        let path = path.as_ref();
        Self::parse(read_limited(path, MOST_BYTES)?, path)
    }

    /// A font from the content of the file `path`.
    pub fn parse(data: Vec<u8>, path: impl AsRef<Path>) -> Result<Self, PictureError> {
        let path = path.as_ref();
        match FontVec::try_from_vec(data) {
            Ok(font) => Ok(Font { name: path.display().to_string(), font: FontArc::new(font) }),
            Err(_) => Err(PictureError::NotAFont { path: path.to_owned() }),
        }
    }

    /// Its name, or its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// One line of letters for labels, `height` pixels from the lowest to the highest letters of the font, whichever letters
    /// the text has: labels of one height stand on one line. What the font lacks is drawn as its sign for that.
    pub fn label(&self, text: &str, height: f32) -> Coverage {
        let text: String = text.chars().filter(|c| !c.is_control()).take(MOST_CHARACTERS).collect();
        let scaled = self.font.as_scaled(height);
        let (glyphs, length) = self.line(&text);
        let size = height / DRAFT;
        let (width, height) = ((size * length).ceil().max(1.0) as usize, height.ceil().max(1.0) as usize);
        let mut values = vec![0.0; width * height];
        for (id, x) in glyphs {
            let glyph = Glyph { id, scale: scaled.scale(), position: Point { x: size * x, y: scaled.ascent() } };
            let Some(outline) = self.font.outline_glyph(glyph) else { continue };
            let corner = outline.px_bounds().min;
            outline.draw(|x, y, covered| {
                let (x, y) = (corner.x as i64 + i64::from(x), corner.y as i64 + i64::from(y));
                if (0..width as i64).contains(&x) && (0..height as i64).contains(&y) {
                    let value: &mut f32 = &mut values[y as usize * width + x as usize];
                    *value = (*value + covered).clamp(0.0, 1.0);
                }
            });
        }
        Coverage { width, height, values }
    }

    /// The glyphs of one line and where each begins, and the width of the line, at the size [`DRAFT`].
    fn line(&self, text: &str) -> (Vec<(GlyphId, f32)>, f32) {
        let scaled = self.font.as_scaled(DRAFT);
        let (mut glyphs, mut x, mut last): (Vec<_>, _, Option<GlyphId>) = (Vec::new(), 0.0, None);
        for c in text.chars().map(|c| if c == '\t' { ' ' } else { c }) {
            let glyph = scaled.glyph_id(c);
            x += last.map_or(0.0, |last| scaled.kern(last, glyph));
            glyphs.push((glyph, x));
            x += scaled.h_advance(glyph);
            last = Some(glyph);
        }
        (glyphs, x)
    }

    /// Outlines at a size, as a multiple of the draft's. Lines are centred.
    fn outlines(&self, text: &str, size: f32) -> Vec<OutlinedGlyph> {
        let scaled = self.font.as_scaled(DRAFT);
        let line_height = scaled.height() + scaled.line_gap();
        let mut outlines = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let (glyphs, width) = self.line(line.trim_end());
            for (id, x) in glyphs {
                let position = Point { x: size * (x - 0.5 * width), y: size * number as f32 * line_height };
                let glyph = Glyph { id, scale: PxScale::from(size * DRAFT), position };
                outlines.extend(self.font.outline_glyph(glyph));
            }
        }
        outlines
    }

    fn check(&self, text: &str) -> Result<(), PictureError> {
        let mut missing: Vec<String> = Vec::new();
        for c in text.chars().filter(|c| !c.is_whitespace()) {
            let quoted = format!("{c:?}");
            if self.font.glyph_id(c).0 == 0 && !missing.contains(&quoted) {
                missing.push(quoted);
            }
        }
        match missing.is_empty() {
            true => Ok(()),
            false => Err(PictureError::MissingCharacters { font: self.name.clone(), characters: missing.join(", ") }),
        }
    }
}

/// Draws a text as large as fits into `resolution` pixels, without any margin. `\n` begins a new line; lines are centred.
/// Letters follow each other from left to right and do not join: Arabic or Devanagari need a drawing.
pub fn draw_text(text: &str, font: &Font, resolution: [usize; 2]) -> Result<Coverage, PictureError> {
    if text.chars().count() > MOST_CHARACTERS {
        return Err(PictureError::Text { what: format!("it has more than {MOST_CHARACTERS} characters: shorten it") });
    }
    if !resolution.iter().all(|side| (1..=MOST_KEPT_A_SIDE).contains(side)) {
        let what = format!("{resolution:?} pixels are asked for: take 1 to {MOST_KEPT_A_SIDE} along each side");
        return Err(PictureError::Text { what });
    }
    font.check(text)?;
    let draft = bounds(&font.outlines(text, 1.0)).ok_or(PictureError::NoVisibleText)?;
    let [width, height] = [draft[2] - draft[0], draft[3] - draft[1]];
    // Bounds are rounded outwards to whole pixels, at most one on each side.
    let [most_width, most_height] = resolution.map(|side| (side as f32 - 2.0).max(1.0));
    let outlines = font.outlines(text, (most_width / width).min(most_height / height));
    let [left, top, right, bottom] = bounds(&outlines).ok_or(PictureError::NoVisibleText)?;
    let (width, height) = ((right - left) as usize, (bottom - top) as usize);
    let mut values = vec![0.0_f32; width * height];
    for outline in &outlines {
        let corner = outline.px_bounds().min;
        let (x0, y0) = ((corner.x - left) as usize, (corner.y - top) as usize);
        outline.draw(|x, y, covered| {
            let (x, y) = (x0 + x as usize, y0 + y as usize);
            if x < width && y < height {
                // Letters that touch share pixels.
                let value = &mut values[y * width + x];
                *value = (*value + covered).clamp(0.0, 1.0);
            }
        });
    }
    Ok(Coverage { width, height, values })
}

/// Left, top, right and bottom of all outlines. `None` if there are none, or they have no area.
fn bounds(outlines: &[OutlinedGlyph]) -> Option<[f32; 4]> {
    let boxes = outlines.iter().map(|outline| {
        let b = outline.px_bounds();
        [b.min.x, b.min.y, b.max.x, b.max.y]
    });
    let union = boxes.reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2]), a[3].max(b[3])])?;
    (union.iter().all(|v| v.is_finite()) && union[2] > union[0] && union[3] > union[1]).then_some(union)
}
