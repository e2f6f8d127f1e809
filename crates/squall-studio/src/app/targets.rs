//! Smoke that takes one shape after the other: words, pictures, meshes, drawings, when they form, and how well they are met.

use std::path::{Path, PathBuf};

use eframe::egui::{self, Color32, ColorImage, Pos2, Rect, Sense, TextureHandle, TextureOptions, Ui};
use squall::morph::{Morph, Thing, Wishes};

use super::{Source, Studio};
use crate::open::Opened;
use crate::place;
use crate::player::Command;
use crate::player::things::Grey;

/// Pixels along a side of a drawing.
const CANVAS: usize = 160;

/// The window of targets.
pub struct Targets {
    /// Whether it is open.
    pub open: bool,
    /// What the smoke is at first, and what it becomes: words, or files.
    pub things: Vec<String>,
    duration: f64,
    hold: f64,
    cells: usize,
    solid: bool,
    /// A drawing: how dark each pixel is.
    canvas: Vec<u8>,
    drawings: usize,
    canvas_texture: Option<TextureHandle>,
    /// Source, present and target.
    compared: [Option<TextureHandle>; 3],
}

impl Default for Targets {
    fn default() -> Self {
        Targets {
            open: false,
            things: vec!["SMOKE".to_owned(), "WATER".to_owned()],
            duration: 2.0,
            hold: 0.5,
            cells: 128,
            solid: false,
            canvas: vec![255; CANVAS * CANVAS],
            drawings: 0,
            canvas_texture: None,
            compared: [None, None, None],
        }
    }
}

/// The scene of what is wished for. Its file would lie beside the files that it names.
pub fn opened(wishes: &Wishes) -> Result<Opened, String> {
    let told = |e: squall::morph::MorphError| match e.help() {
        Some(help) => format!("{e} ({help})"),
        None => e.to_string(),
    };
    let morph = Morph::new(wishes).map_err(told)?;
    let folder = morph.assets.place().map(PathBuf::from);
    let path = folder.filter(|_| wishes.things.iter().any(|thing| thing.file().is_some()));
    let path = path.map(|folder| folder.join(format!("{}.toml", morph.name)));
    Opened::text(&morph.name, &morph.plan.to_toml(), morph.assets.clone(), path)
}

impl Targets {
    /// A file is one more shape.
    pub fn add_file(&mut self, path: &Path) {
        let is_first = self.things == ["SMOKE", "WATER"];
        if is_first {
            self.things = vec!["cloud".to_owned()];
        }
        self.things.push(path.display().to_string());
        self.open = true;
    }

    fn wishes(&self) -> Result<Wishes, String> {
        let things = self.things.iter().map(|word| word.trim()).filter(|word| !word.is_empty());
        // Whatever is no file, and could be none, is a word.
        let parse = |word: &str| match word != "cloud" && !word.contains([':', '.', '/']) && !Path::new(word).exists() {
            true => Ok(Thing::Text(word.to_owned())),
            false => Thing::parse(word),
        };
        let things: Result<Vec<Thing>, _> = things.map(parse).collect();
        let things = things.map_err(|e| e.help().map_or_else(|| e.to_string(), |help| format!("{e} ({help})")))?;
        if things.len() < 2 {
            return Err("smoke needs two shapes at least: what it is at first, and what it becomes".to_owned());
        }
        Ok(Wishes {
            things,
            duration: self.duration,
            hold: self.hold,
            release: None,
            strength: None,
            eager: false,
            softness: None,
            gathering: None,
            resolution: Some(self.cells),
            solid: self.solid,
            colors: Vec::new(),
            background: None,
            font: None,
            fps: 30.0,
            width: 640,
            written_by: "squall studio".to_owned(),
        })
    }

    /// Where the mouse draws.
    fn draw(&mut self, ui: &mut Ui) {
        let side = 160.0;
        let (rect, response) = ui.allocate_exact_size(egui::vec2(side, side), Sense::click_and_drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, "Draw a shape here"));
        if response.is_pointer_button_down_on()
            && let Some(at) = response.interact_pointer_pos()
        {
            let part = (at - rect.min) / side * CANVAS as f32;
            self.dot(part.x, part.y);
            self.canvas_texture = None;
        }
        let texture = self.canvas_texture.get_or_insert_with(|| {
            ui.ctx().load_texture("drawing", ColorImage::from_gray([CANVAS; 2], &self.canvas), TextureOptions::LINEAR)
        });
        let corners = Rect::from_min_max(Pos2::ZERO, Pos2::new(1.0, 1.0));
        ui.painter().image(texture.id(), rect, corners, Color32::WHITE);
    }

    /// A round black dot.
    pub fn dot(&mut self, x: f32, y: f32) {
        let reach = 6.0f32;
        for j in 0..CANVAS {
            for i in 0..CANVAS {
                if (i as f32 - x).hypot(j as f32 - y) < reach {
                    self.canvas[i + CANVAS * j] = 0;
                }
            }
        }
    }

    /// Writes the drawing as a picture, and adds it.
    fn keep_drawing(&mut self) -> Result<(), String> {
        self.drawings += 1;
        let folder = std::env::temp_dir().join(format!("squall-studio-{}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
        let path = folder.join(format!("drawing_{}.png", self.drawings));
        let pixels: Vec<u8> = self.canvas.iter().flat_map(|v| [*v; 3]).collect();
        squall_io::image::write_png(&path, CANVAS as u32, CANVAS as u32, &pixels).map_err(|e| e.to_string())?;
        self.add_file(&path);
        self.canvas.fill(255);
        self.canvas_texture = None;
        Ok(())
    }

    fn show(&mut self, ctx: &egui::Context, number: usize, grey: &Grey) {
        let image = ColorImage::from_gray(grey.size, &grey.values);
        match &mut self.compared[number] {
            Some(texture) => texture.set(image, TextureOptions::LINEAR),
            None => self.compared[number] = Some(ctx.load_texture("compared", image, TextureOptions::LINEAR)),
        }
    }
}

impl Studio {
    /// The window of targets.
    pub(super) fn targets(&mut self, ctx: &egui::Context) {
        if !self.targets.open {
            return;
        }
        for (number, grey) in self.shown.compared.iter().enumerate().take(3) {
            self.targets.show(ctx, number, grey);
        }
        let mut open = true;
        let mut wanted = None;
        let mut keys = Vec::new();
        egui::Window::new("Targets").open(&mut open).default_width(420.0).show(ctx, |ui| {
            let what = if place::HAS_DISK { "words, or files of pictures, drawings, meshes, volumes" } else { "words" };
            ui.label(format!("Smoke is the first of these, and becomes the others: {what}; `cloud` is a cloud."));
            let targets = &mut self.targets;
            let mut removed = None;
            for (number, thing) in targets.things.iter_mut().enumerate() {
                ui.horizontal(|ui| {
                    let label = ui.label(if number == 0 { "Source".to_owned() } else { format!("Target {number}") }).id;
                    ui.text_edit_singleline(thing).labelled_by(label);
                    if number > 1 && ui.small_button(format!("Leave out {number}")).clicked() {
                        removed = Some(number);
                    }
                });
            }
            removed.into_iter().for_each(|number| drop(targets.things.remove(number)));
            ui.horizontal_wrapped(|ui| {
                if ui.button("Add target").clicked() {
                    targets.things.push(String::new());
                }
                ui.add(
                    egui::DragValue::new(&mut targets.duration)
                        .range(0.2..=60.0)
                        .speed(0.05)
                        .prefix("Forms in ")
                        .suffix(" s"),
                );
                ui.add(
                    egui::DragValue::new(&mut targets.hold).range(0.0..=60.0).speed(0.05).prefix("Stays ").suffix(" s"),
                );
                ui.add(egui::DragValue::new(&mut targets.cells).range(24..=512).prefix("Cells "));
                ui.checkbox(&mut targets.solid, "3D");
            });
            if ui.button("Play targets").clicked() {
                wanted = Some(targets.wishes());
            }
            if place::HAS_DISK {
                ui.horizontal(|ui| {
                    targets.draw(ui);
                    ui.vertical(|ui| {
                        if ui.button("Add drawing").clicked()
                            && let Err(reason) = targets.keep_drawing()
                        {
                            self.message = Some(reason);
                        }
                        if ui.button("Clear drawing").clicked() {
                            targets.canvas.fill(255);
                            targets.canvas_texture = None;
                        }
                    });
                });
            }
            ui.separator();
            self.compared(ui);
            keys = self.timeline(ui);
        });
        if open != self.targets.open {
            self.targets.open = open;
            self.send(Command::Compare(open));
        }
        match wanted {
            Some(Ok(wishes)) => {
                self.open(Source::Morph(Box::new(wishes)));
                self.send(Command::Compare(true));
            }
            Some(Err(reason)) => self.message = Some(reason),
            None => {}
        }
        if !keys.is_empty() {
            self.change_scene(keys);
        }
    }

    /// Source, present and target side by side.
    fn compared(&self, ui: &mut Ui) {
        if self.shown.compared.is_empty() {
            ui.weak("Source, smoke and target are shown here while a scene with targets plays.");
            return;
        }
        ui.horizontal(|ui| {
            for (name, texture) in ["Source", "Now", "Target"].into_iter().zip(&self.targets.compared) {
                let Some(texture) = texture else { continue };
                ui.vertical(|ui| {
                    ui.label(name);
                    let size = texture.size_vec2();
                    ui.add(egui::Image::new((texture.id(), size * (120.0 / size.x.max(size.y)))).alt_text(name));
                });
            }
        });
        for (name, value) in &self.shown.figures {
            ui.label(format!("{name}: {value:.4}"));
        }
    }

    /// When the targets of the scene are to be there.
    fn timeline(&mut self, ui: &mut Ui) -> Vec<String> {
        let is_time = |path: &str| {
            path.strip_prefix("target.")
                .and_then(|p| p.strip_suffix(".time"))
                .is_some_and(|n| n.parse::<usize>().is_ok())
        };
        let times: Vec<(String, f64)> = self
            .keys
            .iter()
            .filter(|listed| is_time(&listed.path))
            .filter_map(|listed| Some((listed.path.clone(), listed.value.as_ref()?.parse().ok()?)))
            .collect();
        if times.is_empty() {
            return Vec::new();
        }
        let end = times.iter().map(|(_, t)| *t).fold(self.opened.setup.time.duration(), f64::max);
        let (rect, _) = ui.allocate_exact_size(egui::vec2(ui.available_width().min(400.0), 22.0), Sense::hover());
        let painter = ui.painter_at(rect);
        painter.rect_filled(rect, 2.0, ui.visuals().extreme_bg_color);
        let at = |t: f64| rect.left() + rect.width() * (t / end.max(1e-9)) as f32;
        for (_, time) in &times {
            painter.circle_filled(Pos2::new(at(*time), rect.center().y), 6.0, ui.visuals().hyperlink_color);
        }
        let now = at(self.shown.time.min(end));
        painter.line_segment(
            [Pos2::new(now, rect.top()), Pos2::new(now, rect.bottom())],
            egui::Stroke::new(1.5, Color32::WHITE),
        );
        let mut keys = Vec::new();
        for (number, (path, time)) in times.into_iter().enumerate() {
            let draft = self.drafts.get(&path).and_then(|d| d.parse().ok()).unwrap_or(time);
            let mut value: f64 = draft;
            ui.horizontal(|ui| {
                let drag = egui::DragValue::new(&mut value).range(0.05..=600.0).speed(0.02).suffix(" s");
                let label = ui.label(format!("Time of target {}", number + 1)).id;
                let response = ui.add(drag).labelled_by(label);
                if response.changed() {
                    self.drafts.insert(path.clone(), value.to_string());
                }
                if (response.drag_stopped() || response.lost_focus()) && value != time {
                    self.drafts.remove(&path);
                    keys.push(format!("{path}={value:?}"));
                }
            });
        }
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_a_scene_of_smoke() {
        let targets = Targets { things: vec!["cloud".to_owned(), "A".to_owned()], cells: 32, ..Targets::default() };
        let opened = opened(&targets.wishes().unwrap()).unwrap();
        assert_eq!(opened.setup.model, squall::setup::Model::TargetSmoke);
        assert!(opened.path.is_none());
        let alone = Targets { things: vec!["A".to_owned(), " ".to_owned()], ..Targets::default() };
        assert!(alone.wishes().unwrap_err().contains("two shapes"));
    }

    #[test]
    fn a_drawing_is_a_shape() {
        let mut targets = Targets::default();
        for k in 0..60 {
            targets.dot(50.0 + k as f32, 80.0);
        }
        targets.keep_drawing().unwrap();
        assert_eq!(targets.things.len(), 2);
        assert!(targets.open && targets.things[0] == "cloud" && targets.things[1].ends_with("drawing_1.png"));
        targets.cells = 32;
        let opened = opened(&targets.wishes().unwrap()).unwrap();
        assert!(opened.path.is_some_and(|path| path.starts_with(std::env::temp_dir())));
    }
}
