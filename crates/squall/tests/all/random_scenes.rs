//! A hundred random scenes: whatever is in them, nothing appears or vanishes unexplained, no value leaves its range, and nothing
//! gets faster than what drives it can explain. `SQUALL_SCENES=5000` runs more of them.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use squall::{Driver, Scene};

const SCENES: u64 = 100;

/// Steps of a scene in 2D and 3D.
const STEPS: [usize; 2] = [40, 15];

/// Solids, sources, inflow and walls move at up to 4 m/s, and forces act for less than two seconds: flow around an edge may be some
/// times as fast as that, but whatever gets faster than this many metres per second feeds on itself.
const FASTEST: f64 = 60.0;

/// Random numbers: SplitMix64.
struct Dice(u64);

impl Dice {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number between two, with few digits so that scenes can be read.
    fn number(&mut self, low: f64, high: f64) -> f64 {
        let part = (self.bits() >> 11) as f64 / (1u64 << 53) as f64;
        ((low + part * (high - low)) * 1e3).round() / 1e3
    }

    fn chance(&mut self, part: f64) -> bool {
        self.number(0.0, 1.0) < part
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[(self.bits() % all.len() as u64) as usize]
    }

    fn vector(&mut self, d: usize, low: f64, high: f64) -> Vec<f64> {
        (0..d).map(|_| self.number(low, high)).collect()
    }

    /// A shape somewhere in the unit box.
    fn shape(&mut self, d: usize) -> String {
        let center = self.vector(d, 0.25, 0.75);
        match self.bits() % 3 {
            0 => format!("{{ sphere = {{ center = {center:?}, radius = {} }} }}", self.number(0.06, 0.18)),
            1 => {
                let half = self.vector(d, 0.05, 0.15);
                let [min, max] = [-1.0, 1.0].map(|s| (0..d).map(|a| center[a] + s * half[a]).collect::<Vec<_>>());
                format!("{{ box = {{ min = {min:?}, max = {max:?} }} }}")
            }
            _ => {
                let by = self.vector(d, -0.15, 0.15);
                let to: Vec<f64> = (0..d).map(|a| center[a] + by[a]).collect();
                let radius = self.number(0.05, 0.1);
                format!("{{ capsule = {{ from = {center:?}, to = {to:?}, radius = {radius} }} }}")
            }
        }
    }

    /// A motion through the box, a turn, or both.
    fn motion(&mut self, d: usize) -> String {
        let mut parts = Vec::new();
        if self.chance(0.7) {
            parts.push(format!("velocity = {:?}", self.vector(d, -0.8, 0.8)));
        }
        if parts.is_empty() || self.chance(0.5) {
            let spin = if d == 2 {
                self.number(-400.0, 400.0).to_string()
            } else {
                format!("{:?}", self.vector(3, -300.0, 300.0))
            };
            parts.push(format!("spin = {spin}"));
        }
        format!("pivot = {:?}\nmotion = {{ {} }}", vec![0.5; d], parts.join(", "))
    }

    fn boundary(&mut self, d: usize) -> String {
        let mut text = "[boundary]\n".to_owned();
        // What flows in must be able to leave: the last axis has an open side then.
        let inflow = self.chance(0.3);
        for a in 0..d {
            let name = ["x", "y", "z"][a];
            if inflow && a == d - 1 {
                let mut velocity = vec![0.0; d];
                velocity[a] = self.number(0.1, 1.0);
                writeln!(text, "{name} = {{ lo = {{ inflow = {velocity:?} }}, hi = \"open\" }}").unwrap();
            } else if self.chance(0.3) {
                writeln!(text, "{name} = \"periodic\"").unwrap();
            } else {
                let [lo, hi] = [(); 2].map(|()| self.of(&["slip", "no_slip", "open"]));
                writeln!(text, "{name} = {{ lo = \"{lo}\", hi = \"{hi}\" }}").unwrap();
            }
        }
        text
    }

    /// Some sides, no side, or none at all: there, the grid follows the smoke.
    fn free_boundary(&mut self, d: usize) -> String {
        let mut text = "[boundary]\n".to_owned();
        for a in 0..d {
            let mut velocity = self.vector(d, -0.5, 0.5);
            velocity[a] = self.number(0.1, 2.0);
            let lo = match self.bits() % 6 {
                0 => format!("{{ inflow = {velocity:?} }}"),
                1 => "\"slip\"".into(),
                2 => "\"no_slip\"".into(),
                3 => "\"open\"".into(),
                _ => "\"unbounded\"".into(),
            };
            writeln!(text, "{} = {{ lo = {lo}, hi = \"unbounded\" }}", ["x", "y", "z"][a]).unwrap();
        }
        text
    }

    fn scene(&mut self) -> String {
        let d = if self.chance(0.15) { 3 } else { 2 };
        let model = self.of(&["stable_fluids", "smoke", "smoke", "smoke", "target_smoke"]);
        let sizes: &[usize] = if d == 2 { &[16, 24, 31, 32, 40, 48] } else { &[16, 18, 20] };
        let cells = self.of(sizes);
        let mut text =
            format!("model = \"{model}\"\n[grid]\ncells = {:?}\nsize = {:?}\n", vec![cells; d], vec![1.0; d]);
        let is_smoke = model == "smoke";
        match is_smoke && self.chance(0.5) {
            true if self.chance(0.5) => {}
            true => text += &self.free_boundary(d),
            false => text += &self.boundary(d),
        }
        let advection = self.of(&["maccormack", "maccormack", "monotone_cubic", "semi_lagrangian"]);
        let splitting = self.of(&["lagged_pressure", "lagged_pressure", "reflection", "plain"]);
        let cfl = self.number(0.5, if model == "target_smoke" { 0.8 } else { 4.0 });
        writeln!(text, "[solver]\ncfl = {cfl}").unwrap();
        if model != "target_smoke" {
            writeln!(text, "advection = \"{advection}\"\nsplitting = \"{splitting}\"").unwrap();
        }
        if is_smoke {
            let (confinement, fall) = (self.number(0.0, 2.0), self.number(0.0, 1.0));
            let law = self.of(&["even", "thin_first"]);
            writeln!(text, "[smoke]\nconfinement = {confinement}\nfall = {fall}\nfade_law = \"{law}\"").unwrap();
            if self.chance(0.3) {
                writeln!(text, "wind = {:?}", self.vector(d, -0.5, 0.5)).unwrap();
            }
        }
        writeln!(text, "[substance.density]").unwrap();
        if model == "target_smoke" {
            writeln!(text, "start = {{ shape = {} }}", self.shape(d)).unwrap();
            writeln!(text, "[[target]]\ntime = 1.0\nfigure = {{ shape = {} }}", self.shape(d)).unwrap();
        } else {
            if self.chance(0.6) {
                let [x, y, r] = [self.number(0.2, 0.8), self.number(0.2, 0.8), self.number(0.1, 0.3)];
                writeln!(text, "initial = \"sqrt((x-{x})^2 + (y-{y})^2) < {r}\"").unwrap();
            }
            if self.chance(0.2) {
                writeln!(text, "diffusion = {}", self.number(1e-3, 5e-3)).unwrap();
            }
            writeln!(text, "[fluid]").unwrap();
            if self.chance(0.5) {
                let velocity =
                    if d == 2 { "[\"sin(tau*y)\", \"cos(tau*x)\"]" } else { "[\"sin(tau*z)\", 0.3, \"cos(tau*x)\"]" };
                writeln!(text, "velocity = {velocity}").unwrap();
            }
            if self.chance(0.3) {
                writeln!(text, "viscosity = 1e{}", self.of(&[-4, -3, -2, -1, 0, 2, 5])).unwrap();
            }
        }
        let source_count = 1 + self.bits() % 3;
        for _ in 0..if model == "target_smoke" { self.bits() % 2 } else { source_count } {
            writeln!(text, "[[source]]\nshape = {}", self.shape(d)).unwrap();
            let (held, rate) = (self.number(0.2, 2.0), self.number(0.2, 20.0));
            match self.bits() % 5 {
                0 => writeln!(text, "sink = {rate}").unwrap(),
                1 | 2 => {
                    writeln!(text, "set = {{ density = {held}{} }}", if is_smoke { ", temperature = 80" } else { "" })
                        .unwrap()
                }
                _ => writeln!(text, "rate = {{ density = {rate} }}").unwrap(),
            }
            if self.chance(0.3) && model != "target_smoke" {
                writeln!(text, "velocity = {:?}", self.vector(d, -1.0, 1.0)).unwrap();
            }
            if self.chance(0.3) {
                writeln!(text, "noise = {}", self.number(0.1, 1.0)).unwrap();
            }
            if is_smoke && self.chance(0.2) {
                writeln!(text, "expansion = {}\nto = {}", self.number(1.0, 20.0), self.number(0.1, 1.0)).unwrap();
            }
            if is_smoke && self.chance(0.4) {
                writeln!(text, "{}", self.motion(d)).unwrap();
            }
        }
        if model != "stable_fluids" && self.chance(0.6) {
            for n in 0..1 + self.bits() % 2 {
                writeln!(text, "[[object]]\nname = \"solid {n}\"\nshape = {}", self.shape(d)).unwrap();
                if self.chance(0.7) {
                    writeln!(text, "{}", self.motion(d)).unwrap();
                }
                if self.chance(0.5) {
                    writeln!(text, "friction = {}", self.of(&[0.3, 1.0])).unwrap();
                }
            }
        }
        if self.chance(0.4) {
            writeln!(text, "[[force]]\nnoise = {{ strength = {}, scale = 0.3 }}", self.number(0.5, 8.0)).unwrap();
        }
        text
    }
}

/// Says what is wrong with a scene, if anything is.
fn fault(text: &str, steps: [usize; 2]) -> Option<String> {
    let setup = match Scene::parse("random.toml", text, &[]).and_then(|scene| scene.setup()) {
        Ok((setup, _)) => setup,
        Err(e) => return Some(format!("no scene: {e:?}")),
    };
    let mut driver = match Driver::new(&setup) {
        Ok(driver) => driver,
        Err(e) => return Some(format!("not built: {e}")),
    };
    for _ in 0..steps[setup.dimensions() - 2] {
        // Not finite is an error of the step.
        let step = match driver.step() {
            Ok(step) => step,
            Err(e) => return Some(e.to_string()),
        };
        if let Some(trouble) = step.troubles.first() {
            return Some(format!("{trouble}\n{:#?}", step.report.ledger.substances));
        }
        if step.report.max_speed > FASTEST {
            return Some(format!("{} m/s at t = {} s", step.report.max_speed, driver.time()));
        }
    }
    None
}

#[test]
fn in_a_hundred_random_scenes_everything_is_accounted_for_and_stays_in_its_range() {
    let scenes = std::env::var("SQUALL_SCENES").map_or(SCENES, |n| n.parse().expect("a number of scenes"));
    let next = AtomicU64::new(0);
    let worker = || {
        let mut faults = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= scenes {
                return faults;
            }
            let text = Dice(seed).scene();
            faults.extend(fault(&text, STEPS).map(|fault| format!("--- scene {seed}: {fault}\n{text}")));
        }
    };
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get());
    let faults: Vec<String> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        all.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(faults.is_empty(), "{} of {scenes} scenes:\n{}", faults.len(), faults.join("\n"));
}

/// Each of these blew up.
#[test]
fn smoke_past_obstacles_that_move_fast_or_meet_walls_is_not_driven_by_itself() {
    let source = "[[source]]\nshape = { sphere = { center = [0.3, 0.2], radius = 0.08 } }\nset = { density = 1.0, temperature = 100.0 }\n";
    let plate =
        "[[object]]\nname = \"plate\"\nfriction = 1.0\nshape = { box = { min = [0.6, 0.1], max = [0.63, 0.4] } }\n";
    let grid = "model = \"smoke\"\n[grid]\ncells = [64, 64]\n";
    let beside_an_inflow = format!(
        "{grid}[boundary]\nx = {{ lo = {{ inflow = [2.0, 0.0] }}, hi = \"unbounded\" }}\n\
         y = {{ lo = \"no_slip\", hi = \"unbounded\" }}\n{source}{plate}motion = {{ spin = 720.0 }}\n"
    );
    let viscous = format!("{grid}[boundary]\n[fluid]\nviscosity = 1e4\n{source}{plate}motion = {{ spin = 360.0 }}\n");
    let into_a_corner = format!(
        "{}[boundary]\nx = {{ lo = \"no_slip\", hi = \"unbounded\" }}\ny = {{ lo = \"no_slip\", hi = \"unbounded\" }}\n\
         {source}[[object]]\nname = \"ball\"\nshape = {{ sphere = {{ center = [0.41, 0.39], radius = 0.129 }} }}\n\
         motion = {{ velocity = [-0.292, -0.37] }}\n",
        grid.replace("64", "24")
    );
    let through_a_shaft = "model = \"smoke\"\n[grid]\ncells = [64, 32]\nsize = [2.0, 1.0]\n[boundary]\n\
        y = { lo = \"unbounded\", hi = \"unbounded\" }\n[[object]]\nname = \"ball\"\n\
        shape = { sphere = { center = [0.66, 0.594], radius = 0.16 } }\nmotion = { velocity = [-0.413, -0.557] }\n";
    let all = [
        ("inflow", beside_an_inflow),
        ("viscous", viscous),
        ("corner", into_a_corner),
        ("shaft", through_a_shaft.to_owned()),
    ];
    for (what, text) in all {
        assert_eq!(fault(&text, [200, 0]), None, "{what}");
    }
}

/// So did these.
#[test]
fn air_around_unbounded_smoke_is_driven_by_the_smoke_and_not_by_itself() {
    let grid = |cells: [usize; 2]| {
        format!(
            "model = \"smoke\"\n[grid]\ncells = {cells:?}\nsize = {:?}\n[boundary]\n",
            cells.map(|n| n as f64 / 32.0)
        )
    };
    let source = "[[source]]\nshape = { sphere = { center = [0.75, 0.75], radius = 0.15 } }\nset = { density = 1.45, temperature = 134.0 }\n";
    let thick_and_blown = grid([64, 64])
        + "x = { lo = \"unbounded\", hi = { inflow = [-1.346, -0.89] } }\n[fluid]\nviscosity = 1e5\n"
        + source;
    let wiped =
        grid([32, 32]) + "y = { lo = \"unbounded\", hi = { inflow = [-0.99, -0.643] } }\n[fluid]\nviscosity = 100\n";
    let below_an_open_top = grid([64, 32])
        + "x = { lo = \"unbounded\", hi = \"slip\" }\ny = { lo = \"unbounded\", hi = \"open\" }\n[solver]\ncfl = 4\n"
        + "[[source]]\nshape = { sphere = { center = [0.244, 0.861], radius = 0.105 } }\nset = { density = 1.59, temperature = 35.3 }\n"
        + "[[source]]\nshape = { box = { min = [0.431, 0.341], max = [0.641, 0.683] } }\nset = { density = 0.508, temperature = 35.3 }\n"
        + "motion = { velocity = [0.469, -0.724] }\n"
        + "[[object]]\nname = \"rod\"\nshape = { capsule = { from = [0.666, 0.384], to = [0.769, 0.539], radius = 0.093 } }\n"
        + "[[force]]\nnoise = { strength = 5.39, scale = 0.3 }\n";
    for (what, text) in [("thick", thick_and_blown), ("wiped", wiped), ("open top", below_an_open_top)] {
        assert_eq!(fault(&text, [300, 0]), None, "{what}");
    }
}

#[test]
fn random_scenes_are_of_all_kinds() {
    let all: Vec<String> = (0..SCENES).map(|seed| Dice(seed).scene()).collect();
    let with = |word: &str| all.iter().filter(|text| text.contains(word)).count();
    let kinds = [
        "stable_fluids",
        "\"smoke\"",
        "target_smoke",
        "inflow",
        "periodic",
        "open",
        "no_slip",
        "[[object]]",
        "spin",
        "rate = {",
        "set = {",
        "expansion",
        "semi_lagrangian",
        "monotone_cubic",
        "reflection",
        "plain",
        "capsule",
        "wind",
        "viscosity",
        "friction",
        "\"unbounded\"",
    ];
    for word in kinds {
        assert!(with(word) >= 3, "{word}: {} scenes", with(word));
    }
    assert!(all.iter().filter(|text| !text.contains("[boundary]")).count() >= 10, "unbounded");
}
