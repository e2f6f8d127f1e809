//! From the files of a run to the textures of a flipbook.

use std::path::{Path, PathBuf};

use squall_io::exr::FARTHEST;
use squall_io::{ExrPixels, read_exr, read_png};
use squall_render::color::{from_srgb8, to_srgb};
use squall_render::fill::fill;
use squall_render::flow::fit;
use squall_render::maps::resize;

use super::atlas::Atlas;
use super::{FlipbookError, Layout, Selection};
use crate::output::FRAMES;
use crate::output::pass_name;
use crate::picture::passes::series;
use crate::picture::tone;
use crate::run::CancelToken;
use crate::setup::{Alpha, Green, Pass, Setup};

/// A texture, and what is needed to read it.
pub(super) struct Map {
    /// What its file is called, after the name of the flipbook.
    pub name: &'static str,
    pub atlas: Atlas,
    pub bits: u32,
    pub channels: usize,
    pub srgb: bool,
    /// The number that 1 stands for, and the one that 0 stands for, where they are not 1 and 0.
    pub scale: f64,
    pub zero: f64,
}

/// The names of the textures of a pass.
pub(super) fn name(pass: Pass) -> &'static [&'static str] {
    match pass {
        Pass::Motion => &["motion"],
        Pass::SixWay => &["sixway_positive", "sixway_negative"],
        other => series(other),
    }
}

/// Four numbers for each pixel of a frame.
type Pixels = Vec<[f32; 4]>;

pub(super) struct Job<'a> {
    pub setup: &'a Setup,
    pub run: &'a Path,
    pub layout: &'a Layout,
    pub selection: &'a Selection,
    pub cancel: &'a CancelToken,
}

impl Job<'_> {
    /// The textures of a pass; of the colours, if it is `None`. `Ok(None)`: cancelled.
    pub fn draw(&self, pass: Option<Pass>) -> Result<Option<Vec<Map>>, FlipbookError> {
        match pass {
            None => self.colors(),
            Some(Pass::Motion) => self.motion(),
            Some(Pass::SixWay) => self.six_way(),
            Some(Pass::Normal) => self.normal(),
            Some(Pass::Depth) => self.range(Pass::Depth),
            Some(Pass::Temperature) => self.range(Pass::Temperature),
            // No setup has these in a flipbook.
            Some(Pass::Height | Pass::Flow) => Ok(Some(vec![])),
        }
    }

    fn path(&self, series: &str, frame: u32, extension: &str) -> PathBuf {
        self.run.join(format!("{series}_{frame:04}.{extension}"))
    }

    /// Full numbers of a layer, as they were written. `pass` is what a scene calls it.
    fn full(&self, pass: &'static str, layer: &str, frame: u32) -> Result<ExrPixels, FlipbookError> {
        let path = self.path(FRAMES, frame, "exr");
        let found = if path.exists() { read_exr(&path, layer)? } else { None };
        found.ok_or(FlipbookError::Missing { path, pass })
    }

    /// The same in the size of a frame. `outside` stands for what is farthest.
    fn read(&self, pass: &'static str, layer: &str, frame: u32, outside: f32) -> Result<Sized, FlipbookError> {
        let ExrPixels { width, height, mut pixels } = self.full(pass, layer, frame)?;
        pixels.iter_mut().flatten().filter(|v| is_far(**v)).for_each(|v| *v = outside);
        Ok(self.sized(pixels, [width, height]))
    }

    fn sized(&self, pixels: Pixels, from: [usize; 2]) -> Sized {
        Sized { pixels: resize(&pixels, from, self.layout.frame.map(|n| n as usize), self.layout.wraps), from }
    }

    /// Does something with each frame; `false` if it was cancelled.
    fn each(&self, mut f: impl FnMut(u32, u32) -> Result<(), FlipbookError>) -> Result<bool, FlipbookError> {
        for (i, frame) in (0..).zip(self.selection.frames()) {
            if self.cancel.is_cancelled() {
                return Ok(false);
            }
            f(i, frame)?;
        }
        Ok(true)
    }

    /// Linear light, premultiplied, of a frame.
    fn light(&self, frame: u32) -> Result<Pixels, FlipbookError> {
        if self.setup.film.is_some() {
            let time = f64::from(frame) / self.setup.time.fps;
            let tone = tone(self.setup, time);
            let mut light = self.read("frame", "Combined", frame, 0.0)?.pixels;
            for pixel in &mut light {
                let [r, g, b, _] = *pixel;
                pixel[..3].copy_from_slice(&tone.apply([r, g, b]));
            }
            return Ok(light);
        }
        let path = self.path(FRAMES, frame, "png");
        if !path.exists() {
            return Err(FlipbookError::Missing { path, pass: "frame" });
        }
        let picture = read_png(path)?;
        let pixel = |&[r, g, b, a]: &[u8; 4]| {
            let alpha = f32::from(a) / 255.0;
            let [r, g, b] = from_srgb8([r, g, b]).map(|v| v * alpha);
            [r, g, b, alpha]
        };
        let pixels = picture.rgba.as_chunks().0.iter().map(pixel).collect();
        Ok(self.sized(pixels, [picture.width as usize, picture.height as usize]).pixels)
    }

    fn colors(&self) -> Result<Option<Vec<Map>>, FlipbookError> {
        let alpha = self.setup.flipbook.alpha;
        let channels = if alpha == Alpha::Opaque { 3 } else { 4 };
        let mut atlas = Atlas::new(self.layout, channels, 8);
        let done = self.each(|i, frame| {
            let light = self.light(frame)?;
            let code = |v: f32| to_srgb(v) / 255.0;
            match alpha {
                Alpha::Opaque => atlas.put(i, |p| [0, 1, 2].map(|c| code(light[p][c]))),
                // Encoded after it was multiplied: an engine that reads sRGB gets back what is blended.
                Alpha::Premultiplied => atlas.put(i, |p| {
                    let [r, g, b, a] = light[p];
                    [code(r), code(g), code(b), a]
                }),
                Alpha::Straight => {
                    let straight = self.straight(&light);
                    atlas.put(i, |p| {
                        let [r, g, b, a] = straight[p];
                        [code(r), code(g), code(b), a]
                    });
                }
            }
            Ok(())
        })?;
        Ok(done.then(|| vec![Map { name: "color", bits: 8, channels, srgb: true, scale: 1.0, zero: 0.0, atlas }]))
    }

    /// Colours without their opacity. Glow that hides nothing gets the opacity that it takes to show it; transparent
    /// places get the colours around them, so that filtering brings no dark edges.
    fn straight(&self, light: &[[f32; 4]]) -> Pixels {
        let mut colors = vec![[0.0; 3]; light.len()];
        let mut alphas = vec![0.0; light.len()];
        for (i, &[r, g, b, a]) in light.iter().enumerate() {
            alphas[i] = a.max(r).max(g).max(b).clamp(0.0, 1.0);
            colors[i] = [r, g, b].map(|v| v / alphas[i].max(1e-6));
        }
        let [width, height] = self.layout.frame.map(|n| n as usize);
        // Less than a level of opacity says little about the colour.
        let weights: Vec<f32> = alphas.iter().map(|a| 64.0 * a).collect();
        fill(&mut colors, &weights, width, height);
        colors.iter().zip(alphas).map(|(&[r, g, b], a)| [r, g, b, a]).collect()
    }

    /// Motion from one frame of the flipbook to the next, in fractions of a cell to the right and up: what the velocity gives,
    /// fitted to what is seen in the frames before and after.
    fn motions(&self) -> Result<Option<Vec<Vec<[f32; 2]>>>, FlipbookError> {
        let frames: Vec<u32> = self.selection.frames().collect();
        let (width, cell) = (self.layout.frame[0] as usize, self.layout.cell());
        let looped = self.setup.flipbook.looped;
        let neighbour = |i: usize, by: isize| match i.checked_add_signed(by) {
            Some(k) if k < frames.len() => Some(k),
            _ if looped => Some((i + frames.len()).wrapping_add_signed(by) % frames.len()),
            _ => None,
        };
        let light = |i: Option<usize>| i.map(|i| self.light(frames[i])).transpose();
        let (mut before, mut now) = (light(neighbour(0, -1))?, self.light(frames[0])?);
        let mut all = Vec::with_capacity(frames.len());
        for (i, &frame) in frames.iter().enumerate() {
            if self.cancel.is_cancelled() {
                return Ok(None);
            }
            let next = light(neighbour(i, 1))?;
            let Sized { pixels, from } = self.read("motion", pass_name("motion").0, frame, 0.0)?;
            let scale: [f32; 2] = std::array::from_fn(|a| {
                (f64::from(self.selection.every) * f64::from(self.layout.frame[a]) / from[a] as f64) as f32
            });
            // Rows go down.
            let mut motion: Vec<[f32; 2]> = pixels.iter().map(|[u, v, ..]| [scale[0] * u, -scale[1] * v]).collect();
            if self.setup.flipbook.fit {
                fit(&mut motion, width, self.layout.wraps, &now, next.as_deref(), before.as_deref());
            }
            motion.iter_mut().for_each(|m| *m = [m[0] / cell[0] as f32, -m[1] / cell[1] as f32]);
            all.push(motion);
            if let Some(next) = next {
                before = Some(std::mem::replace(&mut now, next));
            }
        }
        Ok(Some(all))
    }

    fn motion(&self) -> Result<Option<Vec<Map>>, FlipbookError> {
        let Some(motions) = self.motions()? else { return Ok(None) };
        let mut most = 1e-4f32;
        let seen = self.each(|i, frame| {
            // What cannot be seen may be as fast as it likes.
            let light = self.light(frame)?;
            let moving = motions[i as usize].iter().zip(&light).filter(|(_, p)| p[3].max(p[0]) > 0.01);
            most = moving.fold(most, |most, (m, _)| most.max(m[0].abs()).max(m[1].abs()));
            Ok(())
        })?;
        let bits = self.setup.flipbook.motion_bits;
        let mut atlas = Atlas::new(self.layout, 3, bits);
        let down = if self.setup.flipbook.green == Green::Down { -1.0 } else { 1.0 };
        let code = |v: f32| 0.5 + 0.5 * v / most;
        for (i, motion) in (0..).zip(&motions) {
            atlas.put(i, |p| [code(motion[p][0]), code(down * motion[p][1]), 0.0]);
        }
        atlas.put_rest(self.selection.count, [0.5, 0.5, 0.0]);
        let scale = f64::from(most);
        Ok(seen.then(|| {
            vec![Map { name: name(Pass::Motion)[0], bits, channels: 3, srgb: false, scale, zero: 0.0, atlas }]
        }))
    }

    fn normal(&self) -> Result<Option<Vec<Map>>, FlipbookError> {
        let mut atlas = Atlas::new(self.layout, 3, 8);
        let [width, height] = self.layout.frame.map(|n| n as usize);
        let green = self.setup.flipbook.green;
        let done = self.each(|i, frame| {
            let pixels = self.read("normal", pass_name("normal").0, frame, 0.0)?.pixels;
            let mut normals: Vec<[f32; 3]> = pixels.iter().map(|&[x, y, z, _]| [x, y, z]).collect();
            if self.setup.film.is_some() {
                let opacity = self.read("normal", "Opacity", frame, 0.0)?.pixels;
                let weights: Vec<f32> = opacity.iter().map(|p| 50.0 * p[0]).collect();
                fill(&mut normals, &weights, width, height);
            }
            atlas.put(i, |p| {
                let n = normals[p];
                let length = n.iter().map(|v| v * v).sum::<f32>().sqrt().max(1e-6);
                let [x, y, z] = n.map(|v| v / length);
                [x, if green == Green::Down { -y } else { y }, z].map(|v| 0.5 + 0.5 * v)
            });
            Ok(())
        })?;
        atlas.put_rest(self.selection.count, [0.5, 0.5, 1.0]);
        let name = name(Pass::Normal)[0];
        Ok(done.then(|| vec![Map { name, bits: 8, channels: 3, srgb: false, scale: 1.0, zero: 0.0, atlas }]))
    }

    /// A number from the least to the largest that is seen, with 16 bits.
    fn range(&self, pass: Pass) -> Result<Option<Vec<Map>>, FlipbookError> {
        let (layer, is_depth) = (pass_name(series(pass)[0]).0, pass == Pass::Depth);
        let (mut least, mut most) = (f32::INFINITY, f32::NEG_INFINITY);
        let seen = self.each(|_, frame| {
            for value in self.full(pass.word(), layer, frame)?.pixels.iter().map(|p| p[0]).filter(|v| !is_far(*v)) {
                (least, most) = (least.min(value), most.max(value));
            }
            Ok(())
        })?;
        // Heat begins where there is none.
        least = if pass == Pass::Temperature { least.min(0.0) } else { least };
        if most <= least {
            (least, most) = (0.0, 1.0);
        }
        let mut atlas = Atlas::new(self.layout, 1, 16);
        let outside = if is_depth { most } else { 0.0 };
        let done = seen
            && self.each(|i, frame| {
                let pixels = self.read(pass.word(), layer, frame, outside)?.pixels;
                atlas.put(i, |p| [(pixels[p][0] - least) / (most - least)]);
                Ok(())
            })?;
        let (scale, zero) = (f64::from(most), f64::from(least));
        Ok(done.then(|| vec![Map { name: name(pass)[0], bits: 16, channels: 1, srgb: false, scale, zero, atlas }]))
    }

    fn six_way(&self) -> Result<Option<Vec<Map>>, FlipbookError> {
        let [positive, negative] = [0, 1].map(|i| pass_name(series(Pass::SixWay)[i]).0);
        let both = |frame| -> Result<[Pixels; 2], FlipbookError> {
            let [mut p, mut n] = [
                self.read("six_way", positive, frame, 0.0)?.pixels,
                self.read("six_way", negative, frame, 0.0)?.pixels,
            ];
            if self.setup.flipbook.alpha == Alpha::Premultiplied {
                return Ok([p, n]);
            }
            // All six lights together, so that one opacity and one filling serve all.
            let mut light: Vec<[f32; 6]> = p
                .iter()
                .zip(&n)
                .map(|(p, n)| [p[0], p[1], p[2], n[0], n[1], n[2]].map(|v| v / p[3].max(1e-6)))
                .collect();
            let weights: Vec<f32> = p.iter().map(|p| 64.0 * p[3]).collect();
            let [width, height] = self.layout.frame.map(|n| n as usize);
            fill(&mut light, &weights, width, height);
            for (i, light) in light.iter().enumerate() {
                (0..3).for_each(|c| (p[i][c], n[i][c]) = (light[c], light[3 + c]));
            }
            Ok([p, n])
        };
        let (mut most, mut glow) = (1.0f32, 0.0f32);
        let seen = self.each(|_, frame| {
            let [p, n] = both(frame)?;
            for (p, n) in p.iter().zip(&n).filter(|(p, _)| p[3] > 0.01) {
                most = p[..3].iter().chain(&n[..3]).fold(most, |most, v| most.max(*v));
            }
            glow = n.iter().fold(glow, |glow, n| glow.max(n[3]));
            Ok(())
        })?;
        let glow = if glow > 0.0 { glow } else { 1.0 };
        let [mut first, mut second] = [Atlas::new(self.layout, 4, 8), Atlas::new(self.layout, 4, 8)];
        let done = seen
            && self.each(|i, frame| {
                let [p, n] = both(frame)?;
                let lit = |[r, g, b, _]: [f32; 4], last: f32| [r / most, g / most, b / most, last];
                first.put(i, |k| lit(p[k], p[k][3]));
                second.put(i, |k| lit(n[k], n[k][3] / glow));
                Ok(())
            })?;
        let [positive, negative] = [name(Pass::SixWay)[0], name(Pass::SixWay)[1]];
        let map =
            |name, atlas, zero| Map { name, bits: 8, channels: 4, srgb: false, scale: f64::from(most), zero, atlas };
        // What the last channel is multiplied by.
        Ok(done.then(|| vec![map(positive, first, 1.0), map(negative, second, f64::from(glow))]))
    }
}

/// Where there is nothing.
fn is_far(v: f32) -> bool {
    !v.is_finite() || v >= FARTHEST
}

/// Pixels in the size of a frame, and the size that they had.
struct Sized {
    pixels: Pixels,
    from: [usize; 2],
}
