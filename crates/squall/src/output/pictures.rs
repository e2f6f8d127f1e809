//! Pictures for a screen: PNG.

use squall_io::{write_png, write_png16};
use squall_render::{Image, film};

use super::{Expected, FRAMES, FrameOutput, Job, Shot, numbered, numbered_path};
use crate::picture::{Picture, tone};
use crate::run::RunError;
use crate::setup::Setup;

/// A picture for a screen.
#[derive(Clone, Debug)]
pub enum Pixels {
    /// Without opacity.
    Opaque(Image),
    /// With opacity.
    Transparent(Image),
    /// The same, and with 16 bits for red, green, blue and opacity of each pixel.
    Deep(Image, Vec<u16>),
}

impl Pixels {
    /// With 8 bits.
    pub fn image(&self) -> &Image {
        match self {
            Pixels::Opaque(image) | Pixels::Transparent(image) | Pixels::Deep(image, _) => image,
        }
    }
}

/// A picture as the scene wants it on a screen, and in linear light if a camera took it.
pub(crate) fn finish(setup: &Setup, picture: Picture, time: f64) -> (Pixels, Option<film::Frame>) {
    let frame = match picture {
        Picture::Screen(image) if setup.picture.transparent => return (Pixels::Transparent(image), None),
        Picture::Screen(image) => return (Pixels::Opaque(image), None),
        Picture::Film(frame) => frame,
    };
    let tone = tone(setup, time);
    let bloom = setup.picture.bloom.at(time).clamp(0.0, 1.0) as f32;
    let grain = setup.picture.grain.at(time).clamp(0.0, 1.0) as f32;
    let lensed = (bloom > 0.0 || grain > 0.0).then(|| {
        let mut lensed = frame.clone();
        lensed.bloom(bloom);
        lensed.grain(grain / tone.exposure, (time * setup.time.fps).round() as u64);
        lensed
    });
    let shown = lensed.as_ref().unwrap_or(&frame);
    let transparent = setup.film.as_ref().is_some_and(|film| film.render.transparent);
    let pixels = match (setup.output.bits, transparent) {
        (16, _) => Pixels::Deep(shown.to_image(&tone), shown.to_rgba16(&tone)),
        (_, true) => Pixels::Transparent(shown.to_image(&tone)),
        (_, false) => Pixels::Opaque(shown.to_image(&tone)),
    };
    (pixels, Some(frame))
}

pub(super) struct Pictures {
    pixels: u64,
}

impl Pictures {
    pub fn new(setup: &Setup) -> Self {
        Self { pixels: u64::from(setup.output.width) * u64::from(setup.output.height) }
    }
}

impl FrameOutput for Pictures {
    fn name(&self) -> &'static str {
        "pictures"
    }

    fn files(&self, frame: u64) -> Vec<String> {
        vec![numbered(FRAMES, frame, "png")]
    }

    fn expected(&self) -> Expected {
        // Smoke in PNG takes 0.3 to 0.7 bytes per pixel.
        Expected { disk: self.pixels / 4, ..Expected::default() }
    }

    fn capture(&mut self, shot: &Shot<'_>) -> Result<Job, RunError> {
        let (pixels, number) = (shot.pixels.clone(), shot.number);
        Ok(Box::new(move |folder| {
            let path = numbered_path(folder, FRAMES, number, "png");
            let (width, height) = (pixels.image().width as u32, pixels.image().height as u32);
            match &*pixels {
                Pixels::Opaque(image) => write_png(&path, width, height, &image.to_rgb()),
                Pixels::Transparent(image) => write_png(&path, width, height, image.rgba()),
                Pixels::Deep(_, samples) => write_png16(&path, width, height, samples),
            }
        }))
    }
}
