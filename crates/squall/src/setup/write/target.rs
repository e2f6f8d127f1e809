//! Targets as TOML.

use std::fmt::{self, Write};

use super::shape::{motion_keys, shape};
use super::{formula, list, text};
use crate::setup::{Dial, Figure, FigureKind, FlatAxis, Frame, Guide, Guided, Setup, Substance};

/// What only a smoke with targets says, in its own table.
pub(super) fn write_smoke(out: &mut String, s: &Substance, guided: Option<&Guided>) -> fmt::Result {
    if let Some(start) = &s.start {
        write_figure(out, "start", start)?;
    }
    if let Some(guided) = guided {
        writeln!(out, "drive = {}\ngathering = {}", dial(&guided.drive), dial(&guided.gathering))?;
        writeln!(out, "levelling = {:?}", guided.levelling)?;
        writeln!(out, "match = \"{}\"", guided.matching.word())?;
    }
    Ok(())
}

impl Setup {
    pub(super) fn write_guide(&self, out: &mut String, guide: &Guide) -> fmt::Result {
        writeln!(out, "\n[guide]\ndamping = {}", dial(&guide.damping))?;
        if let Some(release) = guide.release {
            writeln!(out, "release = {:?}\nrelease_over = {:?}", release.from, release.over)?;
        }
        writeln!(out, "limiter = \"{}\"\nprojections = {}", guide.limiter.word(), guide.projections)?;
        for smoke in &guide.smokes {
            for target in &smoke.targets {
                writeln!(out, "\n[[target]]\nsubstance = {}", text(&self.substances[smoke.substance].name))?;
                writeln!(out, "time = {:?}", target.time)?;
                write_figure(out, "figure", &target.figure)?;
                writeln!(out, "strength = {:?}\nsmoothing = {}", target.strength, list(&target.smoothing))?;
                writeln!(out, "blend = {:?}", target.blend)?;
            }
        }
        Ok(())
    }
}

/// One number, or keyframes.
fn dial(dial: &Dial) -> String {
    match dial.0.as_slice() {
        [[0.0, value]] => format!("{value:?}"),
        keys => format!("{keys:?}"),
    }
}

/// The line `figure = ...`, after a comment for each file: their fingerprints take part in that of the scene.
fn write_figure(out: &mut String, key: &str, figure: &Figure) -> fmt::Result {
    for file in figure.files() {
        writeln!(out, "# {:?} holds {:016x}", file.name, file.fingerprint)?;
    }
    let mut keys: Vec<String> = Vec::new();
    match &figure.kind {
        FigureKind::Image { file, ink, .. } => {
            keys.push(format!("image = {}", text(&file.name)));
            keys.push(format!("channel = \"{}\", invert = {}", ink.channel.word(), ink.invert));
        }
        FigureKind::Text { text: words, font, .. } => {
            keys.push(format!("text = {}", text(words)));
            keys.extend(font.iter().map(|font| format!("font = {}", text(&font.name))));
        }
        FigureKind::Film { file, numbered, from, repeat, ink, .. } => {
            match numbered {
                Some(([first, last], fps)) => {
                    keys.push(format!("images = {}", text(&file.name)));
                    keys.push(format!("frames = [{first}, {last}], fps = {fps:?}"));
                }
                None => keys.push(format!("film = {}", text(&file.name))),
            }
            keys.push(format!("from = {from:?}, loop = {repeat}"));
            keys.push(format!("channel = \"{}\", invert = {}", ink.channel.word(), ink.invert));
        }
        FigureKind::Mesh { file, up, rotation, .. } => {
            keys.push(format!("mesh = {}, up = \"{}\"", text(&file.name), up.word()));
            if *rotation != [0.0; 3] {
                keys.push(format!("rotation = {}", list(rotation)));
            }
        }
        FigureKind::Vdb { file, up, grid, .. } => {
            keys.push(format!("vdb = {}, up = \"{}\"", text(&file.name), up.word()));
            keys.extend(grid.iter().map(|grid| format!("grid = {}", text(grid))));
        }
        FigureKind::Shape { shape: s, motion } => {
            for mesh in s.meshes() {
                writeln!(out, "# {:?} holds {:016x}", mesh.file, mesh.fingerprint)?;
            }
            keys.push(format!("shape = {}", shape(s)));
            keys.extend(motion_keys(motion));
        }
        FigureKind::Formula(f) => keys.push(format!("formula = {}", formula(f))),
    }
    if let Some(frame) = &figure.frame {
        let solid = matches!(figure.kind, FigureKind::Mesh { .. } | FigureKind::Vdb { .. });
        keys.extend(frame_keys(frame, solid));
    }
    writeln!(out, "{key} = {{ {} }}", keys.join(", "))
}

fn frame_keys(frame: &Frame, solid: bool) -> Vec<String> {
    let mut keys = vec![format!("margin = {:?}", frame.margin)];
    if !solid {
        keys.push(format!("fit = \"{}\", rotation = {:?}", frame.fit.word(), frame.rotation));
    }
    keys.extend(frame.center.iter().map(|center| format!("center = {}", list(center))));
    keys.extend(frame.size.iter().map(|size| format!("size = {}", list(size))));
    keys.extend(
        frame.slab.iter().map(|(thickness, axis): &(f64, FlatAxis)| {
            format!("thickness = {thickness:?}, normal = \"{}\"", axis.word())
        }),
    );
    keys
}
