//! The picture, and the brush that paints on it.

use std::sync::{Arc, Mutex, PoisonError};

use eframe::egui::{
    self, Color32, ColorImage, PointerButton, Pos2, Rect, Sense, Stroke as Line, TextureHandle, TextureOptions, Ui,
};
use eframe::egui_glow;
use squall::Setup;
use squall::setup::{Model, Stroke, Thing};
use squall_render::Image;
use squall_render::film::Camera;

use super::{Studio, gl};
use crate::place;
use crate::player::{Command, things};
use crate::volume::Solid;

/// How near to a handle it is taken, in points of the screen.
const NEAR: f32 = 14.0;

/// The latest picture.
#[derive(Default)]
pub struct View {
    texture: Option<TextureHandle>,
    /// What draws in 3D, and what.
    pub gpu: Option<Arc<Mutex<gl::View>>>,
    pub solid: Option<Arc<Solid>>,
    /// Whether the film renderer is to draw although there is a graphics card.
    pub film: bool,
    /// From where it is seen, if not from the camera of the scene; and when that was changed last.
    pub look: Option<Camera>,
    turned: f64,
    /// Whether a brush is down.
    down: bool,
    /// What is in the hand: where it was taken, and how far it was from its own place then.
    held: Option<(Thing, Vec<f64>, Vec<f64>)>,
    /// The obstacle that is being drawn.
    wall: Vec<Vec<f64>>,
    /// Where something was asked about last.
    probed: Option<Vec<f64>>,
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
    /// Leaves an obstacle behind.
    Wall,
    /// Moves objects, sources and lights; in 3D, the camera.
    Move,
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
        if things::New::Ball.fits(setup) {
            tools.push((Tool::Wall, "Draw obstacle".to_owned()));
        }
        tools.push((Tool::Move, "Move".to_owned()));
        let strength = |tool: &Tool| match tool {
            // Kelvins.
            Tool::Paint(i) if names[*i] == "temperature" => 3000.0,
            Tool::Paint(_) => 10.0,
            Tool::Push => 30.0,
            Tool::Erase | Tool::Fill => 5.0,
            Tool::Wall | Tool::Move => 1.0,
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

    /// The tool in the hand.
    pub fn held(&self) -> Tool {
        self.tools[self.tool].0
    }

    /// A stroke that begins at a point.
    fn stroke(&self, at: Vec<f64>, pressure: f64) -> Stroke {
        let strength = self.strength[self.tool];
        let mut stroke = Stroke {
            force: vec![0.0; at.len()],
            points: vec![at],
            pressure: vec![pressure],
            radius: self.radius,
            softness: self.softness,
            ..Stroke::default()
        };
        match self.tools[self.tool].0 {
            Tool::Paint(i) => stroke.paint = vec![(self.names[i].clone(), strength)],
            Tool::Push => stroke.push = strength,
            Tool::Erase => stroke.erase = strength,
            Tool::Fill => stroke.fill = true,
            // These make no strokes.
            Tool::Wall | Tool::Move => {}
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

/// How places of the scene and of the screen belong together.
struct Lens {
    rect: Rect,
    camera: Option<Camera>,
    low: Vec<f64>,
    size: Vec<f64>,
}

impl Lens {
    fn pixels(&self) -> [usize; 2] {
        [self.rect.width().round().max(1.0) as usize, self.rect.height().round().max(1.0) as usize]
    }

    /// Where in the scene a point of the screen is: in 3D on the plane through a place across the line of sight.
    fn place(&self, at: Pos2, through: &[f64]) -> Option<Vec<f64>> {
        let (x, y) = ((at.x - self.rect.left()) / self.rect.width(), (at.y - self.rect.top()) / self.rect.height());
        let (x, y) = (f64::from(x), f64::from(y));
        if !(0.0..=1.0).contains(&x) || !(0.0..=1.0).contains(&y) {
            return None;
        }
        if self.low.len() == 2 {
            return Some(vec![self.low[0] + x * self.size[0], self.low[1] + (1.0 - y) * self.size[1]]);
        }
        let pixels = self.pixels();
        let pixel = [x * pixels[0] as f64, y * pixels[1] as f64];
        let through = [through[0], through[1], through[2]];
        self.camera?.seen_at(pixels, pixel, through).map(|p| p.to_vec())
    }

    /// Where on the screen a place of the scene is.
    fn screen(&self, place: &[f64]) -> Option<Pos2> {
        if self.low.len() == 2 {
            let part = |a: usize| ((place[a] - self.low[a]) / self.size[a]) as f32;
            let (x, y) =
                (self.rect.left() + part(0) * self.rect.width(), self.rect.bottom() - part(1) * self.rect.height());
            return Some(Pos2::new(x, y));
        }
        let pixels = self.pixels();
        let [x, y] = self.camera?.pixel_of(pixels, [place[0], place[1], place[2]])?;
        let scale = [self.rect.width() / pixels[0] as f32, self.rect.height() / pixels[1] as f32];
        Some(self.rect.min + egui::vec2(x as f32 * scale[0], y as f32 * scale[1]))
    }

    /// The middle of the box.
    fn middle(&self) -> Vec<f64> {
        self.low.iter().zip(&self.size).map(|(low, size)| low + 0.5 * size).collect()
    }
}

impl Studio {
    fn lens(&self, rect: Rect) -> Lens {
        let (low, size) = self.opened.bounds();
        Lens { rect, camera: self.camera(), low: low.to_vec(), size: size.to_vec() }
    }

    /// From where a 3D scene is seen.
    pub fn camera(&self) -> Option<Camera> {
        self.view.look.or(self.shown.camera)
    }

    /// Turns the camera, by degrees, and moves it away by a factor.
    pub(super) fn orbit(&mut self, yaw: f64, pitch: f64, away: f64) {
        if let Some(camera) = self.camera() {
            self.look_with(Some(camera.orbited(yaw, pitch, away)));
        }
    }

    fn look_with(&mut self, camera: Option<Camera>) {
        self.view.look = camera;
        self.send(Command::Look(camera));
    }

    /// Back to the camera of the scene.
    pub(super) fn frame_all(&mut self) {
        if self.view.look.is_some() {
            self.look_with(None);
        }
    }

    /// Whether 3D is drawn by the graphics card.
    fn on_gpu(&self) -> bool {
        self.view.gpu.is_some() && self.view.solid.is_some() && self.opened.view.film.is_some() && !self.view.film
    }

    /// The picture, as large as fits.
    pub(super) fn picture(&mut self, ui: &mut Ui) {
        self.view_controls(ui);
        if self.view.texture.is_none() && self.view.solid.is_none() {
            ui.centered_and_justified(|ui| ui.spinner());
            return;
        }
        let (whole, response) = ui.allocate_exact_size(ui.available_size(), Sense::click_and_drag());
        let name = || egui::WidgetInfo::labeled(egui::Role::Image, true, "The fluid: drag to paint");
        response.widget_info(name);
        let rect = match (self.on_gpu(), &self.view.texture) {
            (true, _) => {
                self.paint_solid(ui, whole);
                whole
            }
            (false, Some(texture)) => {
                let size = texture.size_vec2();
                let size = size * (whole.width() / size.x).min(whole.height() / size.y).max(0.01);
                let rect = Rect::from_center_size(whole.center(), size);
                let corners = Rect::from_min_max(Pos2::ZERO, Pos2::new(1.0, 1.0));
                ui.painter().image(texture.id(), rect, corners, Color32::WHITE);
                rect
            }
            (false, None) => return,
        };
        let lens = self.lens(rect);
        self.turn(ui, &response, rect);
        match self.brush.held() {
            Tool::Move => self.move_things(ui, &response, &lens),
            Tool::Wall => self.draw_wall(ui, &response, &lens),
            _ => self.paint_on(ui, &response, &lens),
        }
        self.draw_arrows(ui, &lens);
        self.ask_about(&response, &lens);
    }

    /// Asks the graphics card for the picture.
    fn paint_solid(&self, ui: &Ui, rect: Rect) {
        let (Some(gpu), Some(solid), Some(camera)) = (&self.view.gpu, &self.view.solid, self.camera()) else { return };
        let (gpu, solid) = (gpu.clone(), solid.clone());
        let turning = ui.input(|input| input.time) < self.view.turned + 0.2;
        if turning {
            // When it has come to rest, it is drawn finely.
            ui.ctx().request_repaint_after(std::time::Duration::from_millis(220));
        }
        let moving = turning || place::COARSE_WHILE_PLAYING && self.shown.playing;
        let paint = move |info: egui::PaintCallbackInfo, painter: &egui_glow::Painter| {
            let into = info.viewport_in_pixels();
            let size = [into.width_px, into.height_px];
            let wanted = gl::Wanted { camera, size, moving };
            let mut view = gpu.lock().unwrap_or_else(PoisonError::into_inner);
            view.paint(painter, &solid, &wanted, [into.left_px, into.from_bottom_px, size[0], size[1]]);
        };
        ui.painter().add(egui::PaintCallback { rect, callback: Arc::new(egui_glow::CallbackFn::new(paint)) });
    }

    /// The camera by mouse: the right button turns it, with Shift it moves, the wheel comes nearer. The left button turns it as well if it has nothing else to do.
    fn turn(&mut self, ui: &Ui, response: &egui::Response, rect: Rect) {
        if self.opened.view.film.is_none() {
            return;
        }
        let free = self.brush.held() == Tool::Move && self.view.held.is_none();
        let dragged = response.dragged_by(PointerButton::Secondary)
            || response.dragged_by(PointerButton::Middle)
            || free && response.dragged_by(PointerButton::Primary);
        let (shift, wheel, now) = ui.input(|input| (input.modifiers.shift, input.smooth_scroll_delta.y, input.time));
        let way = response.drag_delta();
        if dragged && way != egui::Vec2::ZERO {
            self.view.turned = now;
            match (shift, self.camera()) {
                (true, Some(camera)) => {
                    let height = f64::from(rect.height());
                    self.look_with(Some(camera.panned(-f64::from(way.x) / height, f64::from(way.y) / height)));
                }
                _ => self.orbit(-0.4 * f64::from(way.x), 0.4 * f64::from(way.y), 1.0),
            }
        }
        if response.hovered() && wheel != 0.0 {
            self.view.turned = now;
            self.orbit(0.0, 0.0, (-0.002 * f64::from(wheel)).exp());
        }
    }

    /// What can be taken in the hand, and taking it.
    fn move_things(&mut self, ui: &Ui, response: &egui::Response, lens: &Lens) {
        let painter = ui.painter_at(lens.rect);
        let pointer = response.interact_pointer_pos().or_else(|| response.hover_pos());
        let seen: Vec<(usize, Pos2)> =
            self.shown.handles.iter().enumerate().filter_map(|(i, h)| Some((i, lens.screen(&h.place)?))).collect();
        let nearest = pointer.and_then(|at| {
            let near = seen.iter().map(|(i, p)| (*i, p.distance(at))).filter(|(_, d)| *d < NEAR);
            near.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(i, _)| i)
        });
        for (i, at) in &seen {
            let handle = &self.shown.handles[*i];
            let chosen = self.selected == Some(handle.thing) || nearest == Some(*i);
            let color = match handle.thing {
                Thing::Object(_) => Color32::from_rgb(120, 190, 255),
                Thing::Source(_) => Color32::from_rgb(255, 160, 90),
                Thing::Light(_) => Color32::from_rgb(255, 230, 110),
            };
            painter.circle_filled(*at, if chosen { 8.0 } else { 6.0 }, color);
            painter.circle_stroke(*at, if chosen { 8.0 } else { 6.0 }, Line::new(1.5, Color32::BLACK));
            if chosen {
                let font = egui::FontId::proportional(13.0);
                painter.text(
                    *at + egui::vec2(11.0, -11.0),
                    egui::Align2::LEFT_BOTTOM,
                    &handle.name,
                    font,
                    Color32::WHITE,
                );
            }
        }
        let held = response.is_pointer_button_down_on()
            && ui.input(|input| input.pointer.primary_down())
            && self.ask.is_none();
        match (held, self.view.held.clone(), pointer) {
            (true, None, Some(at)) if !self.view.down => {
                self.view.down = true;
                if let Some(handle) = nearest.and_then(|i| self.shown.handles.get(i))
                    && let Some(taken) = lens.place(at, &handle.place)
                {
                    self.view.held = Some((handle.thing, taken, handle.displacement.clone()));
                    self.selected = Some(handle.thing);
                    self.send(Command::Grab(handle.thing));
                }
            }
            (true, Some((thing, taken, from)), Some(at)) => {
                if let Some(place) = lens.place(at, &taken) {
                    let by: Vec<f64> = place.iter().zip(&taken).map(|(a, b)| a - b).collect();
                    if by.iter().any(|v| *v != 0.0) {
                        self.send(Command::Carry(things::carried(&self.opened.view, thing, &from, &by)));
                    }
                }
            }
            (false, held, _) => {
                self.view.down = false;
                if held.is_some() {
                    self.view.held = None;
                    self.send(Command::Release);
                }
            }
            _ => {}
        }
    }

    /// An obstacle along the way of the mouse.
    fn draw_wall(&mut self, ui: &Ui, response: &egui::Response, lens: &Lens) {
        let held = response.is_pointer_button_down_on()
            && ui.input(|input| input.pointer.primary_down())
            && self.ask.is_none();
        let at = response.interact_pointer_pos().or_else(|| response.hover_pos());
        if held {
            let place = at.and_then(|at| lens.place(at, &lens.middle()));
            self.view.wall.extend(place.filter(|place| self.view.wall.last() != Some(place)));
        } else if !self.view.wall.is_empty() {
            let drawn = std::mem::take(&mut self.view.wall);
            let keys = things::wall(self.scene_now(), &drawn, self.brush.radius);
            self.send(Command::Change(keys));
        }
        let line: Vec<Pos2> = self.view.wall.iter().filter_map(|place| lens.screen(place)).collect();
        let width = (2.0 * self.brush.radius / lens.size[0]) as f32 * lens.rect.width();
        ui.painter_at(lens.rect).line(line, Line::new(width.clamp(2.0, 200.0), Color32::from_white_alpha(140)));
        self.draw_reach(ui, at, lens);
    }

    /// The circle that a brush covers, where that is the same everywhere.
    fn draw_reach(&self, ui: &Ui, at: Option<Pos2>, lens: &Lens) {
        if let (Some(at), 2) = (at.filter(|at| lens.rect.contains(*at)), lens.size.len()) {
            let radius = (self.brush.radius / lens.size[0]) as f32 * lens.rect.width();
            let painter = ui.painter_at(lens.rect);
            painter.circle_stroke(at, radius, Line::new(2.0, Color32::from_black_alpha(160)));
            painter.circle_stroke(at, radius, Line::new(1.0, Color32::WHITE));
        }
    }

    fn paint_on(&mut self, ui: &Ui, response: &egui::Response, lens: &Lens) {
        let held = response.is_pointer_button_down_on()
            && ui.input(|input| input.pointer.primary_down())
            && self.ask.is_none();
        let at = response.interact_pointer_pos().or_else(|| response.hover_pos());
        let place = at.and_then(|at| lens.place(at, &lens.middle()));
        match (held, self.view.down, place) {
            (true, false, Some(place)) => {
                self.view.down = true;
                self.send(Command::Down(self.brush.stroke(place, pressure(ui))));
            }
            (true, true, Some(place)) => self.send(Command::Move(place, pressure(ui))),
            (false, true, _) => {
                self.view.down = false;
                self.send(Command::Up);
            }
            _ => {}
        }
        self.draw_reach(ui, at, lens);
    }

    /// Velocities as arrows.
    fn draw_arrows(&self, ui: &Ui, lens: &Lens) {
        let speed = |a: &[f64; 4]| a[2].hypot(a[3]);
        let fastest = self.shown.arrows.iter().map(speed).fold(1e-9, f64::max);
        let painter = ui.painter_at(lens.rect);
        let longest = lens.rect.width().max(lens.rect.height()) / 30.0;
        for [x, y, u, v] in &self.shown.arrows {
            let Some(from) = lens.screen(&[*x, *y]) else { continue };
            let way = egui::vec2((u / fastest) as f32, -(v / fastest) as f32) * longest;
            if way.length() > 1.0 {
                painter.arrow(from, way, Line::new(1.0, Color32::from_white_alpha(190)));
            }
        }
    }

    /// Asks what is under the mouse.
    fn ask_about(&mut self, response: &egui::Response, lens: &Lens) {
        let place = response.hover_pos().and_then(|at| lens.place(at, &lens.middle()));
        if place != self.view.probed {
            self.view.probed.clone_from(&place);
            self.send(Command::Probe(place));
        }
    }
}
