//! What of a picture is drawn, and what is paper.

use super::colors;
use super::{Artwork, PictureError};

/// How much is drawn in each pixel, from 0 to 1; the top row first.
#[derive(Clone, Debug, PartialEq)]
pub struct Coverage {
    /// Pixels per row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// One value for each pixel.
    pub values: Vec<f32>,
}

/// Something drawn in one colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Ink {
    /// Where it is.
    pub coverage: Coverage,
    /// Its mean colour: red, green, blue as light, from 0 to 1.
    pub color: [f32; 3],
}

/// What in a picture counts as drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Channel {
    /// Alpha if more than 1 % of the picture is transparent. Else what differs from the colour along the border, in
    /// relation to the largest difference: dark on light or light on dark, in any colour.
    #[default]
    Auto,
    /// What is opaque.
    Alpha,
    /// What is dark, as on white paper.
    Darkness,
    /// What is bright, as on a black screen.
    Brightness,
}

/// Share of a picture that must be transparent for that to mean something.
const MEANT_TRANSPARENCY: f64 = 0.01;

/// Largest share of the whole contrast that can pass for noise of the paper.
const MOST_NOISE: f32 = 0.25;

impl Coverage {
    /// The mean over all pixels.
    pub fn mean(&self) -> f64 {
        self.values.iter().map(|&v| f64::from(v)).sum::<f64>() / self.values.len() as f64
    }
}

impl Artwork {
    /// What is drawn. `invert` takes what is not drawn instead.
    pub fn ink(&self, channel: Channel, invert: bool) -> Result<Ink, PictureError> {
        let coverage = self.coverage(channel, invert)?.0;
        let color = colors::mean(&self.pixels, &coverage.values);
        Ok(Ink { coverage, color })
    }

    /// What is drawn, apart by its colours: at most `most` of them, the one with the most pixels first. Together they
    /// cover what [`ink`](Self::ink) does.
    pub fn inks(&self, channel: Channel, most: usize) -> Result<Vec<Ink>, PictureError> {
        let (coverage, paper) = self.coverage(channel, false)?;
        Ok(colors::split(&self.pixels, coverage, paper, most))
    }

    /// What is drawn, and the colour of the paper if there is any.
    fn coverage(&self, channel: Channel, invert: bool) -> Result<(Coverage, Option<[f32; 3]>), PictureError> {
        let blank = |why| PictureError::Blank { name: self.name.clone(), why };
        let transparent: f64 = self.pixels.iter().map(|p| 1.0 - f64::from(p[3])).sum();
        let transparent = transparent > MEANT_TRANSPARENCY * self.pixels.len() as f64;
        let (mut values, paper): (Vec<f32>, _) = match channel {
            Channel::Auto if !transparent => {
                let (values, paper) = self.unlike_border().ok_or_else(|| blank("it has one colour all over"))?;
                (values, Some(paper))
            }
            Channel::Auto | Channel::Alpha => (self.pixels.iter().map(|p| p[3]).collect(), None),
            Channel::Darkness => (self.pixels.iter().map(|p| p[3] * (1.0 - brightness(p))).collect(), Some([1.0; 3])),
            Channel::Brightness => (self.pixels.iter().map(|p| p[3] * brightness(p)).collect(), Some([0.0; 3])),
        };
        values.iter_mut().for_each(|v| *v = if invert { 1.0 - *v } else { *v }.clamp(0.0, 1.0));
        if values.iter().all(|&v| v == 0.0) {
            return Err(blank(match channel {
                Channel::Auto | Channel::Alpha => "it is transparent all over",
                Channel::Darkness => "it is white all over",
                Channel::Brightness => "it is black all over",
            }));
        }
        Ok((Coverage { width: self.width, height: self.height, values }, paper))
    }

    /// How much each pixel differs from the border, in relation to the largest difference, and the colour of the border.
    /// `None` if nothing differs.
    fn unlike_border(&self) -> Option<(Vec<f32>, [f32; 3])> {
        let (w, h) = (self.width, self.height);
        let rim = |i: usize| [0, w - 1].contains(&(i % w)) || [0, h - 1].contains(&(i / w));
        let border: Vec<&[f32; 4]> = (0..w * h).filter(|&i| rim(i)).map(|i| &self.pixels[i]).collect();
        let paper: [f32; 3] = std::array::from_fn(|c| median(border.iter().map(|p| p[c]).collect()));
        // The largest over the colours, not their sum: yellow on white is as much ink as black is.
        let unlike = |p: &[f32; 4]| (0..3).map(|c| (p[c] - paper[c]).abs()).fold(0.0, f32::max);
        let values: Vec<f32> = self.pixels.iter().map(unlike).collect();
        let largest = values.iter().copied().fold(0.0, f32::max);
        // The grain of paper and of JPEG: thrice its median passes for nothing. It is 0 where paper is of one colour.
        let grain = median(border.iter().map(|p| unlike(p)).collect());
        let noise = (3.0 * grain).min(MOST_NOISE * largest);
        (largest > 0.0).then(|| {
            let scale = 1.0 / (largest - noise);
            (values.iter().map(|v| ((v - noise) * scale).clamp(0.0, 1.0)).collect(), paper)
        })
    }
}

/// Rec. 709, of stored values: grey is what it is stored as.
fn brightness([r, g, b, _]: &[f32; 4]) -> f32 {
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

fn median(mut values: Vec<f32>) -> f32 {
    values.sort_unstable_by(f32::total_cmp);
    values[values.len() / 2]
}
