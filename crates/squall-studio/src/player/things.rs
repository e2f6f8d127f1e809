//! Objects, sources and lights: where they are, how they are added and taken away; and what is at a place.

use squall::Setup;
use squall::setup::{Model, Thing};
use squall_core::Simulation;

/// Something that can be taken in the hand.
#[derive(Clone, Debug, PartialEq)]
pub struct Handle {
    /// What.
    pub thing: Thing,
    /// What it is called.
    pub name: String,
    /// Where it is now, in metres; of a sun, where its light seems to come from.
    pub place: Vec<f64>,
    /// How far it is from its own place.
    pub displacement: Vec<f64>,
}

/// Everything that can be moved at a frame.
pub fn handles(setup: &Setup, frame: u64, time: f64) -> Vec<Handle> {
    let setup = setup.at_frame(frame);
    let d = setup.dimensions();
    let objects = setup.objects.iter().enumerate().filter(|(_, o)| o.solid || o.visible);
    let objects = objects.map(|(i, o)| (Thing::Object(i), o.name.clone()));
    let sources = setup.sources.iter().enumerate().filter(|(_, s)| s.active.to > time && s.follow.is_none());
    let sources = sources.map(|(i, _)| (Thing::Source(i), format!("source {}", i + 1)));
    let lights = setup.film.iter().flat_map(|film| &film.lights).enumerate();
    let lights =
        lights.filter(|(_, l)| l.strength.at(time) > 0.0).map(|(i, _)| (Thing::Light(i), format!("light {}", i + 1)));
    let all = objects.chain(sources).chain(lights);
    all.filter_map(|(thing, name)| {
        let displacement = setup.displacement_of(thing, time)[..d].to_vec();
        let own = setup.place_of(thing, time)?;
        let mut place: Vec<f64> = own.iter().zip(&displacement).map(|(a, b)| a + b).collect();
        if let Thing::Light(i) = thing {
            let light = &setup.film.as_ref()?.lights[i];
            let (is_place, seen) = light.source.at(time, light.path.as_ref());
            place = seen.to_vec();
            if !is_place {
                place = sun(setup, seen);
            }
        }
        Some(Handle { thing, name, place, displacement })
    })
    .collect()
}

/// Where a sun is drawn: outside of the box, in its direction.
fn sun(setup: &Setup, towards: [f64; 3]) -> Vec<f64> {
    let length = towards.iter().map(|v| v * v).sum::<f64>().sqrt().max(1e-9);
    let grid = &setup.grid;
    (0..3).map(|a| grid.origin[a] + 0.5 * grid.size[a] + 0.55 * grid.longest() * towards[a] / length).collect()
}

/// How a displacement in the picture moves a thing: a sun turns as if it were where it is drawn.
pub fn carried(setup: &Setup, thing: Thing, from: &[f64], by: &[f64]) -> Vec<f64> {
    let is_sun = matches!(thing, Thing::Light(i) if setup.film.as_ref().and_then(|f| f.lights.get(i)).is_some_and(|l| !l.source.at(0.0, None).0));
    let scale = if is_sun { 1.0 / (0.55 * setup.grid.longest()) } else { 1.0 };
    from.iter().zip(by).map(|(a, b)| a + scale * b).collect()
}

/// A small picture in grey.
#[derive(Clone, Debug, PartialEq)]
pub struct Grey {
    /// Its size in pixels.
    pub size: [usize; 2],
    /// How bright each is, the top row first.
    pub values: Vec<u8>,
}

impl Grey {
    /// A field of a 2D scene, white where it has its largest value.
    pub fn of(sim: &dyn Simulation, name: &str) -> Option<Self> {
        let &[width, height] = sim.cells() else { return None };
        let mut field = Vec::new();
        if !sim.read(name, 0, &mut field) {
            return None;
        }
        let most = field.iter().copied().fold(1e-9, f32::max);
        let rows = (0..height).rev().flat_map(|y| &field[width * y..width * (y + 1)]);
        let values = rows.map(|v| (255.0 * (v / most).clamp(0.0, 1.0)).round() as u8).collect();
        Some(Grey { size: [width, height], values })
    }
}

/// What can be added to a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum New {
    /// A ball, in 2D a disc.
    Ball,
    /// A box, in 2D a rectangle.
    Block,
    /// Something that smoke or liquid comes out of.
    Source,
    /// A light at a place.
    Light,
}

impl New {
    /// All of them.
    pub const ALL: [New; 4] = [New::Ball, New::Block, New::Source, New::Light];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            New::Ball => "Add ball",
            New::Block => "Add box",
            New::Source => "Add source",
            New::Light => "Add light",
        }
    }

    /// Whether a scene can have one.
    pub fn fits(self, setup: &Setup) -> bool {
        match self {
            New::Ball | New::Block => setup.model != Model::StableFluids && setup.grid.has_cubes(),
            New::Source => !(setup.substances.is_empty() || setup.model == Model::TargetSmoke),
            New::Light => setup.film.as_ref().is_some_and(|film| film.lights.len() < 6),
        }
    }

    /// The keys that add one of a size at a place, to a scene as it is at this moment.
    pub fn keys(self, setup: &Setup, place: &[f64], radius: f64) -> Vec<String> {
        let (low, high): (Vec<f64>, Vec<f64>) = place.iter().map(|x| (x - radius, x + radius)).unzip();
        let ball = format!("{{ sphere = {{ center = {place:?}, radius = {radius:?} }} }}");
        let block = format!("{{ box = {{ min = {low:?}, max = {high:?} }} }}");
        let object = |shape: String| {
            let number = setup.objects.len();
            vec![format!("object.{number}={{ name = \"added {}\", shape = {shape} }}", number + 1)]
        };
        match self {
            New::Ball => object(ball),
            New::Block => object(block),
            New::Source => {
                let does = match setup.model {
                    Model::Liquid => "fill = true".to_owned(),
                    Model::Smoke => "set = { density = 1.0, temperature = 200.0 }".to_owned(),
                    _ => format!("set = {{ {} = 1.0 }}", setup.substances[0].name),
                };
                vec![format!("source.{}={{ shape = {ball}, {does} }}", setup.sources.len())]
            }
            New::Light => {
                let lights = setup.film.as_ref().map_or(0, |film| film.lights.len());
                vec![format!("light.{lights}={{ point = {place:?} }}")]
            }
        }
    }
}

/// The keys that put an obstacle along a line.
pub fn wall(setup: &Setup, points: &[Vec<f64>], radius: f64) -> Vec<String> {
    let number = setup.objects.len();
    let capsule = |a: &Vec<f64>, b: &Vec<f64>| {
        if a == b {
            return format!("{{ sphere = {{ center = {a:?}, radius = {radius:?} }} }}");
        }
        format!("{{ capsule = {{ from = {a:?}, to = {b:?}, radius = {radius:?} }} }}")
    };
    let points = &thinned(points, 0.5 * radius)[..];
    let parts: Vec<String> = match points {
        [one] => vec![capsule(one, one)],
        points => points.windows(2).map(|p| capsule(&p[0], &p[1])).collect(),
    };
    let shape = if parts.len() == 1 { parts[0].clone() } else { format!("{{ union = [{}] }}", parts.join(", ")) };
    vec![format!("object.{number}={{ name = \"drawn {}\", shape = {shape} }}", number + 1)]
}

/// Most parts of an obstacle that is drawn: texts of scenes have an end.
const PARTS: usize = 30;

/// A line with fewer points, in tenths of a thousandth: those that are nearer than `apart` to the last one that was kept are left out, but for the end.
fn thinned(points: &[Vec<f64>], apart: f64) -> Vec<Vec<f64>> {
    let rounded = |p: &Vec<f64>| p.iter().map(|x| (x * 1e4).round() / 1e4).collect();
    let points: &[Vec<f64>] = &points.iter().map(rounded).collect::<Vec<_>>();
    let mut apart = apart.max(1e-6);
    loop {
        let kept = further_apart(points, apart);
        if kept.len() <= PARTS {
            return kept;
        }
        apart *= 1.5;
    }
}

fn further_apart(points: &[Vec<f64>], apart: f64) -> Vec<Vec<f64>> {
    let far = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt() >= apart;
    let mut kept: Vec<Vec<f64>> = Vec::new();
    for point in points {
        if kept.last().is_none_or(|last| far(last, point)) {
            kept.push(point.clone());
        }
    }
    if let Some(end) = points.last().filter(|end| kept.last() != Some(*end)) {
        kept.push(end.clone());
    }
    kept
}

/// The keys that take a thing out of the scene from a time on.
pub fn removed(setup: &Setup, thing: Thing, time: f64) -> Vec<String> {
    match thing {
        Thing::Object(_) => vec![format!("{thing}.solid=false"), format!("{thing}.visible=false")],
        Thing::Source(i) => {
            let from = setup.sources.get(i).map_or(0.0, |s| s.active.from);
            vec![format!("{thing}.to={:?}", time.max(from + 1e-6))]
        }
        Thing::Light(_) => vec![format!("{thing}.strength=0.0")],
    }
}

/// Values of all fields at a place: that of the cell that it lies in.
pub fn probe(sim: &dyn Simulation, at: &[f64]) -> Vec<(String, f64)> {
    let (cells, (origin, spacing)) = (sim.cells(), sim.placement());
    let mut index = 0;
    for a in (0..cells.len()).rev() {
        let x = (at.get(a).copied().unwrap_or(f64::NAN) - origin[a]) / spacing[a];
        if !(x >= 0.0 && x < cells[a] as f64) {
            return Vec::new();
        }
        index = index * cells[a] + x as usize;
    }
    let mut values = Vec::new();
    let mut found = Vec::new();
    for field in sim.fields() {
        let mut squares = 0.0;
        for component in 0..field.components {
            if sim.read(&field.name, component, &mut values)
                && let Some(value) = values.get(index)
            {
                squares += f64::from(*value) * f64::from(*value);
            }
        }
        let value =
            if field.components == 1 { values.get(index).map_or(0.0, |v| f64::from(*v)) } else { squares.sqrt() };
        found.push((if field.name == "velocity" { "speed".to_owned() } else { field.name }, value));
    }
    found
}

/// Velocities of a 2D scene on a lattice of some thirty places along its longer side.
pub fn arrows(sim: &dyn Simulation) -> Vec<[f64; 4]> {
    let (cells, (origin, spacing)) = (sim.cells(), sim.placement());
    let (mut u, mut v) = (Vec::new(), Vec::new());
    if cells.len() != 2 || !sim.read("velocity", 0, &mut u) || !sim.read("velocity", 1, &mut v) {
        return Vec::new();
    }
    let every = (cells[0].max(cells[1]) / 30).max(1);
    let mut all = Vec::new();
    for y in (every / 2..cells[1]).step_by(every) {
        for x in (every / 2..cells[0]).step_by(every) {
            let i = x + cells[0] * y;
            let place = |k: usize, a: usize| origin[a] + (k as f64 + 0.5) * spacing[a];
            all.push([place(x, 0), place(y, 1), f64::from(u[i]), f64::from(v[i])]);
        }
    }
    all
}
