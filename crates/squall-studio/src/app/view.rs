//! The picture, and the brush that paints on it.

use eframe::egui::{self, Color32, ColorImage, Pos2, Rect, Sense, Stroke as Line, TextureHandle, TextureOptions, Ui};
use squall::Setup;
use squall::setup::{Model, Stroke};
use squall_render::Image;

use super::Studio;
use crate::player::Command;

/// The latest picture.
#[derive(Default)]
pub struct View {
    texture: Option<TextureHandle>,
    /// Whether a brush is down.
    down: bool,
}

impl View {
    /// Takes a new picture.
    pub fn show(&mut self, ctx: &egui::Context, image: &Image) {
        let colors = ColorImage::from_rgba_unmultiplied([image.width, image.height], image.rgba());
        match &mut self.texture {
            Some(texture) => texture.set(colors, TextureOptions::LINEAR),
            None => self.texture = Some(ctx.load_texture("picture", colors, TextureOptions::LINEAR)),
        }
    }
}

/// What a brush does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Adds the substance of this number.
    Paint(usize),
    /// Takes the fluid along.
    Push,
    /// Takes substances or liquid away.
    Erase,
    /// Fills with liquid.
    Fill,
}

/// The brush in the hand.
#[derive(Clone, Debug, PartialEq)]
pub struct Brush {
    /// What can be done in this scene, with its name.
    pub tools: Vec<(Tool, String)>,
    /// Which of them.
    pub tool: usize,
    /// How far it reaches, in metres, and the longest side of the box.
    pub radius: f64,
    pub longest: f64,
    /// How strong each tool is.
    pub strength: Vec<f64>,
    /// The part of the radius over which it fades.
    pub softness: f64,
    names: Vec<String>,
}

impl Brush {
    /// For a scene.
    pub fn new(setup: &Setup) -> Self {
        let names: Vec<String> = setup.substances.iter().map(|s| s.name.clone()).collect();
        let is_liquid = setup.model == Model::Liquid;
        let mut tools: Vec<(Tool, String)> = Vec::new();
        if is_liquid {
            tools.push((Tool::Fill, "Pour liquid".to_owned()));
        }
        let carried = names.iter().enumerate().skip(usize::from(is_liquid));
        tools.extend(carried.map(|(i, name)| (Tool::Paint(i), format!("Paint {name}"))));
        tools.extend([(Tool::Push, "Push".to_owned()), (Tool::Erase, "Erase".to_owned())]);
        let strength = |tool: &Tool| match tool {
            // Kelvins.
            Tool::Paint(i) if names[*i] == "temperature" => 3000.0,
            Tool::Paint(_) => 10.0,
            Tool::Push => 30.0,
            Tool::Erase | Tool::Fill => 5.0,
        };
        let longest = setup.grid.longest();
        let strength = tools.iter().map(|(tool, _)| strength(tool)).collect();
        Brush { tool: 0, radius: longest / 16.0, longest, strength, softness: 0.5, tools, names }
    }

    /// Larger or smaller.
    pub fn resize(&mut self, factor: f64) {
        self.radius = (self.radius * factor).clamp(self.longest / 200.0, self.longest / 2.0);
    }

    /// The tool of this number, if there is one.
    pub fn choose(&mut self, number: usize) {
        self.tool = if number < self.tools.len() { number } else { self.tool };
    }

    /// A stroke that begins at a point.
    fn stroke(&self, at: Vec<f64>) -> Stroke {
        let strength = self.strength[self.tool];
        let mut stroke = Stroke {
            force: vec![0.0; at.len()],
            points: vec![at],
            pressure: vec![1.0],
            radius: self.radius,
            softness: self.softness,
            ..Stroke::default()
        };
        match self.tools[self.tool].0 {
            Tool::Paint(i) => stroke.paint = vec![(self.names[i].clone(), strength)],
            Tool::Push => stroke.push = strength,
            Tool::Erase => stroke.erase = strength,
            Tool::Fill => stroke.fill = true,
        }
        stroke
    }
}

/// How hard a pen or finger is pressed; a mouse always is.
fn pressure(ui: &Ui) -> f64 {
    let touched = ui.input(|input| {
        input.events.iter().rev().find_map(|event| match event {
            egui::Event::Touch { force: Some(force), .. } => Some(f64::from(*force)),
            _ => None,
        })
    });
    touched.unwrap_or(1.0).clamp(0.0, 1.0)
}

impl Studio {
    /// Where in the scene a point of the picture is.
    fn place(&self, rect: Rect, at: Pos2) -> Option<Vec<f64>> {
        let (origin, size) = self.opened.bounds();
        let (x, y) = ((at.x - rect.left()) / rect.width(), (at.y - rect.top()) / rect.height());
        let (x, y) = (f64::from(x), f64::from(y));
        if !(0.0..=1.0).contains(&x) || !(0.0..=1.0).contains(&y) {
            return None;
        }
        if origin.len() == 2 {
            return Some(vec![origin[0] + x * size[0], origin[1] + (1.0 - y) * size[1]]);
        }
        // On the plane through the middle of the box, across the line of sight.
        let output = &self.opened.view.output;
        let pixels = [output.width as usize, output.height as usize];
        let middle = std::array::from_fn(|a| origin[a] + 0.5 * size[a]);
        let pixel = [x * f64::from(output.width), y * f64::from(output.height)];
        self.shown.camera?.seen_at(pixels, pixel, middle).map(|p| p.to_vec())
    }

    /// The picture, as large as fits.
    pub(super) fn picture(&mut self, ui: &mut Ui) {
        let Some(texture) = self.view.texture.clone() else {
            ui.centered_and_justified(|ui| ui.spinner());
            return;
        };
        let (whole, response) = ui.allocate_exact_size(ui.available_size(), Sense::click_and_drag());
        let name = || egui::WidgetInfo::labeled(egui::Role::Image, true, "The fluid: drag to paint");
        response.widget_info(name);
        let size = texture.size_vec2();
        let size = size * (whole.width() / size.x).min(whole.height() / size.y).max(0.01);
        let rect = Rect::from_center_size(whole.center(), size);
        let corners = Rect::from_min_max(Pos2::ZERO, Pos2::new(1.0, 1.0));
        ui.painter().image(texture.id(), rect, corners, Color32::WHITE);
        self.paint_on(ui, &response, rect);
    }

    fn paint_on(&mut self, ui: &Ui, response: &egui::Response, rect: Rect) {
        let held = response.is_pointer_button_down_on() && self.ask.is_none();
        let at = response.interact_pointer_pos().or_else(|| response.hover_pos());
        let place = at.and_then(|at| self.place(rect, at));
        match (held, self.view.down, place) {
            (true, false, Some(place)) => {
                self.view.down = true;
                self.send(Command::Down(self.brush.stroke(place)));
            }
            (true, true, Some(place)) => self.send(Command::Move(place, pressure(ui))),
            (false, true, _) => {
                self.view.down = false;
                self.send(Command::Up);
            }
            _ => {}
        }
        // Its reach, where that is the same everywhere.
        let (_, size) = self.opened.bounds();
        if let (Some(at), 2) = (at.filter(|at| rect.contains(*at)), size.len()) {
            let radius = (self.brush.radius / size[0]) as f32 * rect.width();
            let painter = ui.painter_at(rect);
            painter.circle_stroke(at, radius, Line::new(2.0, Color32::from_black_alpha(160)));
            painter.circle_stroke(at, radius, Line::new(1.0, Color32::WHITE));
        }
    }
}
