//! Everything around the picture.

use eframe::egui::{self, Pos2, RichText, Sense, Slider, Stroke as Line, Theme, Ui};
use squall::gallery;
use squall::setup::{Change, Edit};
use squall_core::{Parameter, Value};

use super::view::Tool;
use super::{Source, Studio};
use crate::bake::Export;
use crate::place;
use crate::player::{Command, Measured};

/// How fast time can run, and what that is called.
const SPEEDS: [(f64, &str); 5] = [
    (0.125, "1/8 speed"),
    (0.25, "1/4 speed"),
    (0.5, "1/2 speed"),
    (1.0, "Real time"),
    (f64::INFINITY, "As fast as it can"),
];

/// Cells compared with what the scene says.
const SCALES: [(f64, &str); 4] =
    [(0.25, "1/4 of the cells"), (0.5, "1/2 of the cells"), (1.0, "Its own cells"), (2.0, "2 x the cells")];

impl Studio {
    /// Play, stop, step, rewind; undo; looks.
    pub(super) fn controls(&mut self, ui: &mut Ui) {
        ui.horizontal_wrapped(|ui| {
            let play = if self.shown.playing { "Stop" } else { "Play" };
            if ui.button(play).on_hover_text("Space").clicked() {
                self.play_or_stop();
            }
            if ui.button("Step").on_hover_text("One frame more: right arrow").clicked() {
                self.send(Command::Step);
            }
            if ui.button("Back").on_hover_text("One frame back: left arrow").clicked() {
                self.send(Command::GoTo(self.shown.frame.saturating_sub(1)));
            }
            if ui.button("Rewind").on_hover_text("To the start; what was played plays again: Home").clicked() {
                self.send(Command::GoTo(0));
            }
            if ui.button("Reset").on_hover_text("To the start, and nothing was played").clicked() {
                self.send(Command::Reset);
            }
            let chosen = SPEEDS.iter().find(|(speed, _)| *speed == self.speed).map_or("Real time", |(_, name)| name);
            egui::ComboBox::from_label("Speed").selected_text(chosen).show_ui(ui, |ui| {
                for (speed, name) in SPEEDS {
                    if ui.selectable_value(&mut self.speed, speed, name).clicked() {
                        self.send(Command::Speed(speed));
                    }
                }
            });
            ui.separator();
            let can_undo = !self.shown.edits.is_empty();
            if ui.add_enabled(can_undo, egui::Button::new("Undo")).on_hover_text("Ctrl+Z").clicked() {
                self.send(Command::Undo);
            }
            if ui.add_enabled(self.shown.undone > 0, egui::Button::new("Redo")).on_hover_text("Ctrl+Shift+Z").clicked()
            {
                self.send(Command::Redo);
            }
            ui.separator();
            let dark = ui.ctx().theme() == Theme::Dark;
            if ui.button(if dark { "Light" } else { "Dark" }).on_hover_text("Colours of the window").clicked() {
                ui.ctx().set_theme(if dark { Theme::Light } else { Theme::Dark });
            }
            let star = if self.is_unsaved() { "*" } else { "" };
            ui.label(RichText::new(format!("{}{star}", self.opened.name)).strong());
        });
    }

    /// Scenes to play with.
    pub(super) fn gallery(&mut self, ui: &mut Ui) {
        ui.heading("Scenes");
        if place::HAS_DISK {
            let label = ui.label("Scene file").id;
            ui.add(egui::TextEdit::singleline(&mut self.file).hint_text("scene.toml")).labelled_by(label);
            if ui.button("Open file").on_hover_text("Or drop a scene file on the window").clicked() {
                let path = self.file.trim().into();
                self.open(Source::File(path));
            }
        } else {
            ui.weak("Drop a scene file here to open it.");
        }
        let mut scale = self.opened.scale;
        let known = SCALES.iter().find(|(factor, _)| *factor == scale);
        let chosen =
            known.map_or_else(|| format!("{:.0} % of the cells", 100.0 * scale), |(_, name)| (*name).to_owned());
        egui::ComboBox::from_label("Cells").selected_text(chosen).show_ui(ui, |ui| {
            for (factor, name) in SCALES {
                ui.selectable_value(&mut scale, factor, name);
            }
        });
        if scale != self.opened.scale {
            self.open(Source::Scaled(scale));
        }
        if ui.button("Targets").on_hover_text("Smoke that becomes words, pictures, meshes, drawings").clicked() {
            self.targets.open = !self.targets.open;
            self.send(Command::Compare(self.targets.open));
        }
        ui.separator();
        let label = ui.label("Search scenes").id;
        ui.text_edit_singleline(&mut self.search).labelled_by(label);
        self.take_pictures(ui.ctx());
        egui::ScrollArea::vertical().id_salt("scenes").show(ui, |ui| {
            let typed = self.search.trim().to_lowercase().replace(' ', "_");
            let mut wanted = None;
            for scene in gallery::all().iter().filter(|scene| scene.name.contains(&typed)) {
                self.thumb(ui, scene.name);
                let current = self.opened.path.is_none() && self.opened.name == scene.name;
                let button = ui.selectable_label(current, scene.name.replace('_', " "));
                if button
                    .on_hover_ui(|ui| {
                        ui.label(scene.description());
                    })
                    .clicked()
                {
                    wanted = Some(scene.name);
                }
            }
            if let Some(name) = wanted {
                self.open(Source::Gallery(name));
            }
        });
    }

    /// Brushes.
    pub(super) fn tools(&mut self, ui: &mut Ui) {
        ui.heading("Brush");
        let brush = &mut self.brush;
        ui.horizontal_wrapped(|ui| {
            for (number, (_, name)) in brush.tools.iter().enumerate() {
                ui.selectable_value(&mut brush.tool, number, name).on_hover_text(format!("Key {}", number + 1));
            }
        });
        let longest = brush.longest;
        let sizes = longest / 200.0..=longest / 2.0;
        ui.add(Slider::new(&mut brush.radius, sizes).logarithmic(true).text("Size, m")).on_hover_text("Keys [ and ]");
        let (tool, _) = brush.tools[brush.tool];
        if !matches!(tool, Tool::Fill | Tool::Wall | Tool::Move) {
            let strength = &mut brush.strength[brush.tool];
            let unit = if matches!(tool, Tool::Paint(_)) { "Strength, per second" } else { "Strength, 1/s" };
            ui.add(Slider::new(strength, 0.1..=100_000.0).logarithmic(true).text(unit));
            ui.add(Slider::new(&mut brush.softness, 0.0..=1.0).text("Softness"));
        }
        ui.weak(match tool {
            Tool::Move => "Drag the marks in the picture. In 3D, drag beside them to turn the camera.",
            Tool::Wall => "Drag on the picture: an obstacle stays there.",
            _ => "Drag on the picture. Time runs while the brush is down.",
        });
        ui.separator();
    }

    /// What can be changed while it runs.
    pub(super) fn parameters(&mut self, ui: &mut Ui) {
        egui::CollapsingHeader::new("Parameters").default_open(true).show(ui, |ui| {
            let mut wanted = None;
            for parameter in &self.shown.parameters {
                let first = self.first.iter().find(|p| p.name == parameter.name);
                ui.horizontal(|ui| {
                    if let Some(value) = control(ui, parameter) {
                        wanted = Some((parameter.name.clone(), value));
                    }
                    let changed = first.filter(|first| first.value != parameter.value);
                    if let Some(first) = changed
                        && ui.small_button(format!("Reset {}", parameter.name)).clicked()
                    {
                        wanted = Some((parameter.name.clone(), first.value.clone()));
                    }
                });
            }
            if self.shown.parameters.is_empty() {
                ui.weak("None that can change while it runs.");
            }
            if let Some((name, value)) = wanted {
                self.send(Command::Set(name, value));
            }
        });
        ui.separator();
    }

    /// What was played: a list, saved as a scene, baked.
    pub(super) fn takes(&mut self, ui: &mut Ui) {
        egui::CollapsingHeader::new("Take").default_open(true).show(ui, |ui| {
            let (mut dropped, mut shifted) = (None, None);
            egui::ScrollArea::vertical().id_salt("edits").max_height(140.0).show(ui, |ui| {
                for (number, edit) in self.shown.edits.iter().enumerate() {
                    ui.horizontal_wrapped(|ui| {
                        if ui.small_button(format!("Drop {}", number + 1)).clicked() {
                            dropped = Some(number);
                        }
                        for (word, by) in [("Earlier", -1), ("Later", 1)] {
                            if ui.small_button(format!("{word} {}", number + 1)).on_hover_text("By a frame").clicked() {
                                shifted = Some((number, by));
                            }
                        }
                        ui.label(describe(edit));
                    });
                }
            });
            if let Some(number) = dropped {
                self.send(Command::Drop(number));
            }
            if let Some((number, by)) = shifted {
                self.send(Command::Shift(number, by));
            }
            if self.shown.edits.is_empty() {
                ui.weak("Nothing was done yet: all strokes and changes come here.");
            }
            let label = ui.label("Scene file of the take").id;
            ui.text_edit_singleline(&mut self.take).labelled_by(label);
            if ui.button("Save take").on_hover_text("`squall run` makes the same frames of it: Ctrl+S").clicked() {
                self.save();
            }
            if let Some(share) = place::SHARE
                && ui
                    .button("Copy link")
                    .on_hover_text("Whoever opens it sees this scene, and what was played")
                    .clicked()
            {
                match share(&self.opened.take(&self.shown.edits)) {
                    Ok(link) => {
                        ui.ctx().copy_text(link);
                        self.message = Some("The link is in the clipboard and in the address bar".to_owned());
                    }
                    Err(reason) => self.message = Some(reason),
                }
            }
            if !place::HAS_DISK {
                return;
            }
            egui::ComboBox::from_label("Export").selected_text(self.export.name()).show_ui(ui, |ui| {
                for export in Export::ALL {
                    if export.fits(&self.opened.setup) {
                        ui.selectable_value(&mut self.export, export, export.name());
                    }
                }
            });
            let label = ui.label("Folder for frames").id;
            ui.text_edit_singleline(&mut self.out).labelled_by(label);
            let mut frames = if self.frames == 0 { self.shown.last.max(1) } else { self.frames };
            if ui.add(egui::DragValue::new(&mut frames).range(1..=1_000_000).prefix("Frames: ")).changed() {
                self.frames = frames;
            }
            self.baking(ui);
        });
        ui.separator();
    }

    fn baking(&mut self, ui: &mut Ui) {
        let Some(progress) = self.bake.as_ref().map(|bake| bake.progress()) else {
            if ui.button("Bake").on_hover_text("Finished frames and a movie, while you play on").clicked() {
                self.start_bake();
            }
            return;
        };
        let (done, of) = progress.frames;
        match progress.ended {
            None => {
                ui.add(egui::ProgressBar::new(done as f32 / of.max(1) as f32).text(format!("{done} of {of} frames")));
                if ui.button("Cancel").clicked()
                    && let Some(bake) = &self.bake
                {
                    bake.cancel();
                }
            }
            Some(ended) => {
                self.bake = None;
                self.message = Some(match ended {
                    Ok(made) => format!("Baked: {made}"),
                    Err(reason) => format!("Not baked: {reason}"),
                });
            }
        }
    }

    /// Energy and mass over time.
    pub(super) fn plots(&mut self, ui: &mut Ui) {
        egui::CollapsingHeader::new("Plots").default_open(true).show(ui, |ui| {
            let history = &self.shown.history;
            let mass = if self.opened.setup.liquid.is_some() { "Volume" } else { "Mass" };
            plot(ui, "Energy", history, |m| m.energy);
            plot(ui, mass, history, |m| m.mass);
            if let Some((name, _)) = self.shown.figures.first() {
                plot(ui, name, history, |m| m.figure);
            }
        });
    }

    /// Where it is and how it runs.
    pub(super) fn status(&mut self, ui: &mut Ui) {
        if let Some(message) = self.message.clone() {
            ui.horizontal_wrapped(|ui| {
                ui.colored_label(ui.visuals().warn_fg_color, message);
                if ui.small_button("Dismiss").clicked() {
                    self.message = None;
                }
            });
        }
        let shown = &self.shown;
        // A line of its own that is always there: the picture must not move while the mouse does.
        let probe: Vec<String> = shown.probe.iter().map(|(name, value)| format!("{name} {value:.3}")).collect();
        let probe = if probe.is_empty() { "Point at the picture to see values".to_owned() } else { probe.join("   ") };
        ui.add(egui::Label::new(RichText::new(probe).weak()).truncate());
        let mut frame = shown.frame;
        let mut moved = false;
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().slider_width = (ui.available_width() - 620.0).clamp(80.0, 500.0);
            let slider = ui.add(Slider::new(&mut frame, 0..=shown.last.max(1)).text("Frame"));
            moved = slider.changed();
            ui.label(format!("{:.2} s", shown.time));
            ui.separator();
            let [step, draw] = shown.seconds.map(|s| 1e3 * s);
            ui.label(format!("{} fps", self.came.len()));
            ui.label(format!("{step:.0} ms in {} steps, picture {draw:.0} ms", shown.steps));
            ui.label(format!("{} cells", thousands(shown.cells)));
            if let Some(particles) = shown.particles {
                ui.label(format!("{} particles", thousands(particles as u64)));
            }
            ui.label(format!("divergence {:.0e}", shown.divergence));
            if shown.busy {
                ui.label("on its way");
            }
        });
        if moved && frame != shown.frame {
            self.send(Command::GoTo(frame));
        }
    }
}

impl Studio {
    /// Pictures of scenes that have come since the last time.
    fn take_pictures(&mut self, ctx: &egui::Context) {
        let Some(thumbs) = &self.thumbs else { return };
        for scene in gallery::all() {
            if let Some(images) = thumbs.take(scene.name) {
                let texture = |image: &squall_render::Image| {
                    let colors = egui::ColorImage::from_rgba_unmultiplied([image.width, image.height], image.rgba());
                    ctx.load_texture(scene.name, colors, egui::TextureOptions::LINEAR)
                };
                self.pictures.insert(scene.name, images.iter().map(texture).collect());
            }
        }
    }

    /// The moving picture of a scene, if there is one.
    fn thumb(&self, ui: &mut Ui, name: &str) {
        let Some(pictures) = self.pictures.get(name).filter(|pictures| !pictures.is_empty()) else { return };
        // Forth and back, so that it does not jump.
        let turn = (ui.input(|input| input.time) * 6.0) as usize % (2 * pictures.len());
        let texture = &pictures[turn.min(2 * pictures.len() - 1 - turn)];
        ui.add(egui::Image::new((texture.id(), texture.size_vec2())).alt_text(name));
    }
}

/// A number with spaces: 12 345.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let spaced = digits.as_bytes().rchunks(3).rev().map(|chunk| String::from_utf8_lossy(chunk).into_owned());
    spaced.collect::<Vec<_>>().join(" ")
}

/// What an edit is, in a few words.
fn describe(edit: &Edit) -> String {
    let what = match &edit.change {
        Change::Parameter { name, value: Value::Number(value) } => format!("{name} = {value:.4}"),
        Change::Parameter { name, value: Value::Choice(word) } => format!("{name} = {word}"),
        Change::Stroke(stroke) => {
            let mut what: Vec<String> = stroke.paint.iter().map(|(name, _)| format!("paint {name}")).collect();
            what.extend((stroke.erase > 0.0).then(|| "erase".to_owned()));
            what.extend((stroke.push > 0.0).then(|| "push".to_owned()));
            what.extend(stroke.fill.then(|| "pour".to_owned()));
            format!("{}, {} frames", what.join(", "), stroke.points.len())
        }
        Change::Move(m) => format!("{} moved, {} frames", m.thing, m.points.len()),
        Change::Set(keys) => {
            let short = |key: &String| {
                if key.chars().count() > 40 { key.chars().take(40).chain("..".chars()).collect() } else { key.clone() }
            };
            keys.iter().map(short).collect::<Vec<_>>().join(", ")
        }
    };
    format!("{}: {what}", edit.frame)
}

/// The control of a parameter; what it is to be, if that was changed.
fn control(ui: &mut Ui, parameter: &Parameter) -> Option<Value> {
    let Parameter { name, unit, doc, range: [low, high], choices, value } = parameter;
    let doc = if unit.is_empty() { (*doc).to_owned() } else { format!("{doc} ({unit})") };
    match value {
        Value::Number(number) => {
            let mut wanted = *number;
            // A hundredth of the number for each point of the mouse, or of one.
            let speed = (0.01 * number.abs()).max(1e-4);
            let drag = egui::DragValue::new(&mut wanted).range(*low..=*high).speed(speed).max_decimals(6);
            let label = ui.label(name).on_hover_text(&doc).id;
            let changed = ui.add(drag).labelled_by(label).on_hover_text(doc).changed();
            (changed && wanted != *number).then_some(Value::Number(wanted))
        }
        Value::Choice(word) => {
            let mut wanted = word.as_str();
            let combo = egui::ComboBox::from_label(name).selected_text(wanted);
            combo
                .show_ui(ui, |ui| {
                    for choice in choices {
                        ui.selectable_value(&mut wanted, choice, *choice);
                    }
                })
                .response
                .on_hover_text(doc);
            (wanted != word).then(|| Value::from(wanted))
        }
    }
}

/// A curve over frames, from 0 or its least value to its largest.
fn plot(ui: &mut Ui, name: &str, history: &[Measured], value: impl Fn(&Measured) -> f64) {
    let last = history.last().map_or(0.0, &value);
    ui.label(format!("{name}: {last:.4e}"));
    let width = ui.available_width().max(20.0);
    let (rect, _) = ui.allocate_exact_size(egui::vec2(width, 48.0), Sense::hover());
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 2.0, ui.visuals().extreme_bg_color);
    // One value for each point of the screen.
    let every = (history.len() / rect.width().max(1.0) as usize).max(1);
    let values: Vec<f64> = history.iter().step_by(every).map(value).filter(|v| v.is_finite()).collect();
    let least = values.iter().copied().fold(0.0, f64::min);
    let most = values.iter().copied().fold(least + 1e-30, f64::max);
    if values.len() < 2 {
        return;
    }
    let at = |(i, v): (usize, &f64)| {
        let x = rect.left() + rect.width() * i as f32 / (values.len() - 1) as f32;
        let y = rect.bottom() - (rect.height() - 4.0) * ((v - least) / (most - least)) as f32 - 2.0;
        Pos2::new(x, y)
    };
    let points: Vec<Pos2> = values.iter().enumerate().map(at).collect();
    painter.line(points, Line::new(1.5, ui.visuals().hyperlink_color));
}
