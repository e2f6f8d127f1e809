//! Objects, sources and lights: a list of them, and how they come and go; and what is seen of the scene.

use eframe::egui::{self, Ui};
use squall::Setup;
use squall::setup::{MAPS, Thing};

use super::Studio;
use crate::place;
use crate::player::{Command, things};

impl Studio {
    /// The scene as edits have made it by now.
    pub(super) fn scene_now(&self) -> &Setup {
        self.shown.now.as_deref().unwrap_or(&self.opened.setup)
    }

    /// What can be moved.
    pub(super) fn things(&mut self, ui: &mut Ui) {
        egui::CollapsingHeader::new("Objects, sources, lights").default_open(true).show(ui, |ui| {
            let mut commands = Vec::new();
            egui::ScrollArea::vertical().id_salt("things").max_height(120.0).show(ui, |ui| {
                for handle in &self.shown.handles {
                    let chosen = self.selected == Some(handle.thing);
                    if ui.selectable_label(chosen, &handle.name).clicked() {
                        self.selected = if chosen { None } else { Some(handle.thing) };
                    }
                }
            });
            if self.shown.handles.is_empty() {
                ui.weak("There are none.");
            }
            if let Some(handle) = self.selected.and_then(|t| self.shown.handles.iter().find(|h| h.thing == t)) {
                ui.horizontal(|ui| {
                    for (a, axis) in ["x", "y", "z"].into_iter().enumerate().take(handle.displacement.len()) {
                        let mut value = handle.displacement[a];
                        let drag = egui::DragValue::new(&mut value).speed(0.005).max_decimals(4);
                        let label = ui.label(axis).id;
                        if ui.add(drag).labelled_by(label).on_hover_text("How far it was moved, m").changed() {
                            let mut by = handle.displacement.clone();
                            by[a] = value;
                            commands.extend([Command::Grab(handle.thing), Command::Carry(by), Command::Release]);
                        }
                    }
                });
                if ui.button(format!("Remove {}", handle.name)).clicked() {
                    commands.push(Command::Change(things::removed(self.scene_now(), handle.thing, self.shown.time)));
                }
            }
            ui.horizontal_wrapped(|ui| {
                for new in things::New::ALL {
                    if new.fits(&self.opened.setup)
                        && ui.button(new.name()).on_hover_text("In the middle of the box").clicked()
                    {
                        let (low, size) = self.opened.bounds();
                        let middle: Vec<f64> =
                            low.iter().zip(size).map(|(low, size)| ((low + 0.5 * size) * 1e4).round() / 1e4).collect();
                        commands.push(Command::Change(new.keys(self.scene_now(), &middle, self.brush.radius)));
                        self.choose_move();
                    }
                }
            });
            commands.into_iter().for_each(|command| self.send(command));
        });
        ui.separator();
    }

    /// Takes the tool that moves things.
    fn choose_move(&mut self) {
        let place = self.brush.tools.iter().position(|(tool, _)| *tool == super::view::Tool::Move);
        self.brush.tool = place.unwrap_or(self.brush.tool);
    }

    /// What is chosen of what can be moved.
    pub fn selected(&self) -> Option<Thing> {
        self.selected
    }

    /// What is shown, and how.
    pub(super) fn view_controls(&mut self, ui: &mut Ui) {
        let mut keys = Vec::new();
        ui.horizontal_wrapped(|ui| {
            let value = |path: &str| {
                let listed = self.keys.iter().find(|listed| listed.path == path);
                listed.and_then(|listed| listed.value.clone()).unwrap_or_default().trim_matches('"').to_owned()
            };
            let (mut show, mut map) = (value("picture.show"), value("picture.map"));
            let (old_show, old_map) = (show.clone(), map.clone());
            let setup = &self.opened.setup;
            let mut shows: Vec<String> = setup.substances.iter().map(|s| s.name.clone()).collect();
            shows.extend(["substances", "speed", "vorticity", "pressure"].map(str::to_owned));
            if setup.liquid.is_some() {
                shows.insert(0, "water".to_owned());
            }
            egui::ComboBox::from_label("Show").selected_text(show.clone()).show_ui(ui, |ui| {
                for name in shows {
                    ui.selectable_value(&mut show, name.clone(), name);
                }
            });
            egui::ComboBox::from_label("Colours").selected_text(map.clone()).show_ui(ui, |ui| {
                for name in MAPS {
                    ui.selectable_value(&mut map, (*name).to_owned(), *name);
                }
            });
            if show != old_show {
                keys.push(format!("picture.show={show:?}"));
            }
            if map != old_map {
                keys.push(format!("picture.map={map:?}"));
            }
            if setup.dimensions() == 2 && ui.checkbox(&mut self.arrows, "Arrows").on_hover_text("Velocity").changed() {
                self.session.send(Command::Arrows(self.arrows));
            }
            if setup.film.is_some() {
                if self.view.gpu.is_some()
                    && ui
                        .checkbox(&mut self.view.film, "Film renderer")
                        .on_hover_text("Slower, as frames will be")
                        .changed()
                {
                    self.session.send(Command::Film(self.view.film));
                }
                if ui.button("Frame").on_hover_text("The camera of the scene: F").clicked() {
                    self.frame_all();
                }
                if self.view.look.is_some()
                    && ui.button("Keep camera").on_hover_text("Makes this the camera of the scene").clicked()
                {
                    keys.extend(self.camera_keys());
                }
            }
            let still = format!("{}_{:04}.png", self.opened.name, self.shown.frame);
            if place::HAS_DISK
                && ui.button("Still").on_hover_text(format!("This view by the final renderer: {still}")).clicked()
            {
                let folder = self.opened.take_path().parent().map(std::path::Path::to_owned).unwrap_or_default();
                self.send(Command::Still(folder.join(still)));
            }
        });
        if !keys.is_empty() {
            self.change_scene(keys);
        }
    }

    /// The camera that is looked with, as keys of the scene.
    fn camera_keys(&self) -> Vec<String> {
        let Some(camera) = self.view.look else { return Vec::new() };
        let way: [f64; 3] = std::array::from_fn(|a| camera.position[a] - camera.target[a]);
        let distance = way.iter().map(|v| v * v).sum::<f64>().sqrt();
        let (yaw, pitch) = (way[0].atan2(way[2]).to_degrees(), (way[1] / distance).asin().to_degrees());
        vec![format!(
            "camera={{ yaw = {yaw:.2}, pitch = {pitch:.2}, distance = {distance:.4}, target = {:?} }}",
            camera.target.map(|v| (v * 1e4).round() / 1e4)
        )]
    }
}
