//! The scene of a morph, as text.

use std::fmt::Write as _;

use crate::scene::write::quoted;
use crate::setup::{Dial, EASED_DRIVE, EASED_GATHERING};

/// What a scene shows at one time. Files are named relative to the folder of assets.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// A picture.
    Picture {
        /// Its file.
        file: String,
    },
    /// Letters.
    Text {
        /// Which.
        text: String,
        /// The file of their font; `None`: the usual one.
        font: Option<String>,
    },
    /// A mesh.
    Mesh {
        /// Its file.
        file: String,
    },
    /// A volume.
    Volume {
        /// Its file.
        file: String,
    },
    /// A disc or a ball.
    Ball {
        /// Its middle, metres.
        center: Vec<f64>,
        /// Its radius, metres.
        radius: f64,
    },
}

/// Everything that the text is written from.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The lines at its top, without `#`.
    pub header: Vec<String>,
    /// What it shows.
    pub description: String,
    /// Two or three.
    pub cells: Vec<usize>,
    /// What the smoke is at first.
    pub start: Figure,
    /// What it becomes, one after the other.
    pub targets: Vec<Figure>,
    /// How thick flat figures are in 3D, in metres.
    pub thickness: f64,
    /// Seconds that each target takes to form.
    pub duration: f64,
    /// Seconds that it stays.
    pub hold: f64,
    /// How long the smoke is free in the end, in seconds.
    pub release: Option<f64>,
    /// Factor on how strongly smoke is driven.
    pub strength: Option<f64>,
    /// Factor on the widths of smoothing.
    pub softness: Option<f64>,
    /// A number in place of "auto".
    pub gathering: Option<f64>,
    /// A number in place of "auto".
    pub damping: Option<f64>,
    /// Whether smoke is pushed gently at first; otherwise with the same strength at all times.
    pub eased: bool,
    /// What "auto" stands for: how strongly smoke is driven and gathered.
    pub usual: [f64; 2],
    /// From thin smoke to dense; empty for the usual ones.
    pub colors: Vec<String>,
    /// Colour behind it.
    pub background: Option<String>,
    /// Frames per second.
    pub fps: f64,
    /// Width of the pictures in pixels.
    pub width: u32,
}

const USUAL_BACKGROUND: &str = "#0b0e14";
const USUAL_COLORS: [&str; 2] = ["#54749c", "#f4f6f8"];

impl Plan {
    /// When each target should have formed; from then on it stays until the next begins to form.
    pub fn reached_at(&self, target: usize) -> f64 {
        tidy(self.left_at(target) - self.hold)
    }

    /// When the next target begins to form.
    fn left_at(&self, target: usize) -> f64 {
        tidy((target + 1) as f64 * (self.duration + self.hold))
    }

    /// When the last target has been held.
    fn end(&self) -> f64 {
        self.left_at(self.targets.len().saturating_sub(1))
    }

    /// How many frames there are.
    pub fn frames(&self) -> u64 {
        ((self.end() + self.release.unwrap_or(0.0)) * self.fps).round().max(1.0) as u64
    }

    /// The box in metres: one along x, cubic cells.
    pub fn size(&self) -> Vec<f64> {
        self.cells.iter().map(|&n| n as f64 / self.cells[0] as f64).collect()
    }

    /// Whether it is in 3D.
    pub fn is_solid(&self) -> bool {
        self.cells.len() == 3
    }

    /// The scene.
    pub fn to_toml(&self) -> String {
        let mut text: String = self.header.iter().map(|line| format!("# {}\n", one_line(line))).collect();
        // Writing to a string cannot fail.
        self.write(&mut text).expect("a string takes everything");
        text
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "description = {}\nmodel = \"target_smoke\"", quoted(&self.description))?;
        writeln!(out, "\n[grid]\ncells = {:?}", self.cells)?;

        writeln!(out, "\n[substance.density]\nstart = {}", self.figure(&self.start))?;
        let gathering = self.gathering.unwrap_or(self.usual[1]);
        let drive = self.usual[0];
        match self.eased {
            true => {
                writeln!(out, "drive = {}", self.keyframes(EASED_DRIVE, drive))?;
                writeln!(out, "gathering = {}", self.keyframes(EASED_GATHERING, gathering))?;
            }
            false => writeln!(out, "drive = {}\ngathering = {}", number(tidy(drive)), number(tidy(gathering)))?,
        }

        for (k, figure) in self.targets.iter().enumerate() {
            writeln!(out, "\n[[target]]\ntime = {}", number(self.left_at(k)))?;
            writeln!(out, "figure = {}", self.figure(figure))?;
            if let Some(strength) = self.strength {
                writeln!(out, "strength = {}", number(strength))?;
            }
        }

        writeln!(out, "\n[guide]\ndamping = {}", number_or_auto(self.damping))?;
        if let Some(softness) = self.softness {
            writeln!(out, "softness = {}", number(softness))?;
        }
        if self.release.is_some() {
            self.write_release(out)?;
        }
        writeln!(out, "\n[time]\nfps = {}\nframes = {}", number(self.fps), self.frames())?;
        writeln!(out, "\n[output]\nwidth = {}", self.width)?;
        self.write_looks(out)
    }

    /// A curve over the time in which each target forms, as keyframes.
    fn keyframes(&self, curve: &[[f64; 2]], full: f64) -> String {
        let begin = |k: usize| if k == 0 { 0.0 } else { self.left_at(k - 1) };
        let forming: Vec<[f64; 2]> = (0..self.targets.len()).map(|k| [begin(k), self.reached_at(k)]).collect();
        let Dial(keys) = Dial::eased(curve, full, &forming);
        let keys: Vec<String> =
            keys.iter().map(|[time, value]| format!("[{}, {}]", number(tidy(*time)), number(*value))).collect();
        format!("[{}]", keys.join(", "))
    }

    /// From the end on: the smoke rises and is blown about.
    fn write_release(&self, out: &mut String) -> std::fmt::Result {
        let (end, shortest) = (number(self.end()), self.size().into_iter().fold(f64::INFINITY, f64::min));
        let [rise, stir, scale] = [1.0, 1.2, 0.2].map(|part| number(tidy(part * shortest)));
        writeln!(out, "release = {end}\nrelease_over = 0.5")?;
        writeln!(out, "\n[[force]]\nbuoyancy = {{ substance = \"density\", strength = {rise} }}\nfrom = {end}")?;
        writeln!(
            out,
            "\n[[force]]\nnoise = {{ strength = {stir}, scale = {scale}, substance = \"density\" }}\nfrom = {end}"
        )
    }

    fn write_looks(&self, out: &mut String) -> std::fmt::Result {
        if self.is_solid() {
            writeln!(out, "\n[camera]\nyaw = 20.0\npitch = 8.0")?;
            if let Some(color) = self.colors.first() {
                writeln!(out, "\n[render]\ncolor = {}", quoted(color))?;
            }
            if let Some(background) = &self.background {
                writeln!(out, "\n[picture]\nbackground = {}", quoted(background))?;
            }
            return Ok(());
        }
        let background = self.background.as_deref().unwrap_or(USUAL_BACKGROUND);
        let colors: Vec<&str> = match self.colors.is_empty() {
            true => USUAL_COLORS.to_vec(),
            false => self.colors.iter().map(String::as_str).collect(),
        };
        let map: Vec<String> = [background].into_iter().chain(colors).map(quoted).collect();
        writeln!(out, "\n[picture]\nrange = [0.0, 1.0]\nmap = [{}]", map.join(", "))
    }

    fn figure(&self, figure: &Figure) -> String {
        let thickness =
            if self.is_solid() { format!(", thickness = {}", number(self.thickness)) } else { String::new() };
        match figure {
            Figure::Picture { file } => format!("{{ image = {}{thickness} }}", quoted(file)),
            Figure::Text { text, font } => {
                let font = font.as_ref().map_or_else(String::new, |font| format!(", font = {}", quoted(font)));
                format!("{{ text = {}{font}{thickness} }}", quoted(text))
            }
            Figure::Mesh { file } => format!("{{ mesh = {} }}", quoted(file)),
            Figure::Volume { file } => format!("{{ vdb = {} }}", quoted(file)),
            Figure::Ball { center, radius } => {
                let center: Vec<String> = center.iter().map(|x| number(*x)).collect();
                let center = center.join(", ");
                format!("{{ shape = {{ sphere = {{ center = [{center}], radius = {} }} }} }}", number(*radius))
            }
        }
    }
}

/// Comments end where lines do, and have no control characters.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A float of TOML: always with a point or an exponent.
fn number(value: f64) -> String {
    format!("{:?}", tidy(value))
}

fn number_or_auto(value: Option<f64>) -> String {
    value.map_or_else(|| "\"auto\"".to_owned(), number)
}

/// Six digits are enough for people and for smoke.
pub(super) fn tidy(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use toml::{Table, Value};

    fn plan() -> Plan {
        Plan {
            header: vec!["Hello becomes Squall.".into()],
            description: "Hello becomes Squall".into(),
            cells: vec![256, 144],
            start: Figure::Text { text: "Hello".into(), font: None },
            targets: vec![Figure::Text { text: "Squall".into(), font: None }],
            thickness: 0.2,
            duration: 4.0,
            hold: 1.0,
            release: None,
            strength: None,
            softness: None,
            gathering: None,
            damping: None,
            eased: true,
            usual: [0.6, 0.0015],
            colors: Vec::new(),
            background: None,
            fps: 30.0,
            width: 640,
        }
    }

    fn parsed(plan: &Plan) -> Table {
        let text = plan.to_toml();
        text.parse().unwrap_or_else(|e| panic!("{e}\n{text}"))
    }

    fn at<'a>(table: &'a Table, path: &str) -> Option<&'a Value> {
        let mut keys = path.split('.');
        let first = table.get(keys.next()?)?;
        keys.try_fold(first, |value, key| match key.parse::<usize>() {
            Ok(index) => value.get(index),
            Err(_) => value.get(key),
        })
    }

    #[test]
    fn the_scene_of_two_words_reads_like_this() {
        let expected = r##"# Hello becomes Squall.
description = "Hello becomes Squall"
model = "target_smoke"

[grid]
cells = [256, 144]

[substance.density]
start = { text = "Hello" }
drive = [[0.0, 0.0102], [1.0, 0.15], [2.0, 0.6], [4.0, 0.6]]
gathering = [[0.0, 0.0], [2.4, 0.0], [4.0, 0.003]]

[[target]]
time = 5.0
figure = { text = "Squall" }

[guide]
damping = "auto"

[time]
fps = 30.0
frames = 150

[output]
width = 640

[picture]
range = [0.0, 1.0]
map = ["#0b0e14", "#54749c", "#f4f6f8"]
"##;
        assert_eq!(plan().to_toml(), expected);
    }

    #[test]
    fn each_option_becomes_its_key() {
        let plan = Plan {
            targets: vec![
                Figure::Picture { file: "a/logo.png".into() },
                Figure::Text { text: "End".into(), font: Some("f.ttf".into()) },
            ],
            duration: 2.5,
            hold: 0.5,
            release: Some(3.0),
            strength: Some(2.0),
            softness: Some(1.5),
            gathering: Some(0.004),
            damping: Some(8.0),
            eased: false,
            colors: vec!["#ff8800".into()],
            background: Some("#ffffff".into()),
            fps: 25.0,
            width: 320,
            ..plan()
        };
        let scene = parsed(&plan);
        for (key, value) in [
            ("target.0.time", Value::Float(3.0)),
            ("target.0.figure.image", "a/logo.png".into()),
            ("target.0.strength", Value::Float(2.0)),
            ("target.1.time", Value::Float(6.0)),
            ("target.1.figure.text", "End".into()),
            ("target.1.figure.font", "f.ttf".into()),
            ("substance.density.gathering", Value::Float(0.004)),
            ("guide.damping", Value::Float(8.0)),
            ("guide.softness", Value::Float(1.5)),
            ("guide.release", Value::Float(6.0)),
            ("force.0.from", Value::Float(6.0)),
            ("force.0.buoyancy.substance", "density".into()),
            ("time.frames", Value::Integer(225)),
            ("time.fps", Value::Float(25.0)),
            ("output.width", Value::Integer(320)),
            ("picture.map", Value::Array(vec!["#ffffff".into(), "#ff8800".into()])),
        ] {
            assert_eq!(at(&scene, key), Some(&value), "{key}\n{}", plan.to_toml());
        }
        assert_eq!((plan.reached_at(0), plan.reached_at(1)), (2.5, 5.5));
    }

    #[test]
    fn each_target_is_approached_gently() {
        let three = vec![Figure::Mesh { file: "a.obj".into() }; 3];
        for (duration, hold) in [(4.0, 1.0), (4.0, 0.0), (0.05, 0.0), (3.3, 0.7)] {
            let plan = Plan { targets: three.clone(), duration, hold, ..plan() };
            let scene = parsed(&plan);
            for key in ["drive", "gathering"] {
                let keys = at(&scene, &format!("substance.density.{key}")).unwrap().as_array().unwrap();
                let times: Vec<f64> = keys.iter().map(|pair| pair[0].as_float().unwrap()).collect();
                assert!(times.windows(2).all(|pair| pair[1] > pair[0]), "{duration} {hold} {key}: {times:?}");
                assert_eq!(times.last(), Some(&plan.reached_at(2)));
            }
        }
        let scene = parsed(&Plan { eased: false, ..plan() });
        assert_eq!(at(&scene, "substance.density.drive"), Some(&Value::Float(0.6)));
        assert_eq!(at(&scene, "substance.density.gathering"), Some(&Value::Float(0.0015)));
    }

    #[test]
    fn what_is_not_asked_for_is_not_written() {
        let scene = parsed(&plan());
        for key in ["guide.softness", "guide.release", "force", "target.0.strength", "camera", "render"] {
            assert_eq!(at(&scene, key), None, "{key}");
        }
    }

    #[test]
    fn solid_scenes_have_a_camera_and_flat_figures_a_thickness() {
        let plan = Plan {
            cells: vec![96, 96, 96],
            start: Figure::Ball { center: vec![0.5; 3], radius: 0.3 },
            targets: vec![
                Figure::Mesh { file: "horse.obj".into() },
                Figure::Text { text: "3D".into(), font: None },
                Figure::Volume { file: "cloud.vdb".into() },
            ],
            colors: vec!["#ff8800".into()],
            background: Some("#203040".into()),
            ..plan()
        };
        let scene = parsed(&plan);
        for (key, value) in [
            ("substance.density.start.shape.sphere.radius", Value::Float(0.3)),
            ("substance.density.start.shape.sphere.center.2", Value::Float(0.5)),
            ("target.0.figure.mesh", "horse.obj".into()),
            ("target.1.figure.thickness", Value::Float(0.2)),
            ("target.2.figure.vdb", "cloud.vdb".into()),
            ("render.color", "#ff8800".into()),
            ("picture.background", "#203040".into()),
        ] {
            assert_eq!(at(&scene, key), Some(&value), "{key}");
        }
        assert!(at(&scene, "camera.yaw").is_some() && at(&scene, "target.0.figure.thickness").is_none());
        assert!(at(&scene, "picture.map").is_none(), "in 3D smoke is lit");
    }

    #[test]
    fn any_text_survives() {
        let text = "a \"quote\" \\ back\nline\ttab \u{1} é 漢";
        let header = vec!["first\nsecond = 1".to_owned()];
        let start = Figure::Text { text: text.into(), font: None };
        let scene = parsed(&Plan { start, header, description: text.into(), ..plan() });
        assert_eq!(at(&scene, "substance.density.start.text"), Some(&text.into()));
        assert_eq!(at(&scene, "description"), Some(&text.into()));
        assert_eq!(at(&scene, "second"), None, "comments stay comments");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(number(0.1 + 0.2), "0.3");
        assert_eq!(number(4.0), "4.0");
        assert_eq!(number(1e-7 / 3.0), "3.33333e-8");
    }
}
