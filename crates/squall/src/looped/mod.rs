//! Seamless loops: a stretch of frames whose end is blended into its start, in velocity and in substances.
//!
//! A turbulent flow never comes back to where it was. So a loop is made in three parts:
//!
//! 1. **The flow.** The simulation runs until it looks as it should, and for `N + B` frames more, whose flows are recorded. Over
//!    `B` frames the flow of the loop goes over from the end of the record to its beginning:
//!    `u_k = m + g (a_k (u_{S+k} - m) + b_k (u_{S+N+k} - m))` with the mean flow `m` and weights `a + b = 1`. A mixture of flows
//!    without divergence has none either; the factor `g` gives back the energy that two flows lose that know nothing of each
//!    other. At `k = 0` it is the flow `N` frames later: the loop of the flow is closed.
//! 2. **What it carries** is carried anew by this flow, again and again around the loop, with the same sources. Smoke that
//!    leaves, or fades, is forgotten, so after some rounds it comes back to itself as the flow does. Nothing is faded in
//!    or out: every frame is smoke that flowed there.
//! 3. **What is not forgotten** (dye in a closed box) is closed by a mixture of two rounds over the `B` frames. Both are
//!    carried by the same flow, so what is mixed moves alike; and the contrast that a mixture loses is given back
//!    (`contrast.rs`).
//!
//! Texture coordinates are forgotten after their period: if the loop is a whole number of periods, they follow by themselves.
//!
//! A loop may begin anywhere: it does where neighbours are most alike, so that a player that stumbles at the seam does so where
//! it is seen least.
//!
//! Where flow and smoke must not be parted (smoke with targets), [`Method::Mix`] mixes both, as simulated, over `B` frames.

mod contrast;

pub use contrast::{Contrast, measure};

use squall_core::clock::next_dt;
use squall_core::{ParameterError, Replay, Simulation, Snapshot, StateVisitor, StepError, StepReport, Value};

/// How a loop is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The flow is closed, and everything is carried along it; for at most so many rounds before the one that is shown.
    Carry {
        /// Most rounds in which smoke finds its way back to itself.
        rounds: u32,
    },
    /// Flow and contents are mixed as they are.
    Mix,
}

/// What a loop is like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Frames per second.
    pub fps: f64,
    /// Frames before the loop: at least 1.
    pub start: u32,
    /// Frames of the loop: at least 2.
    pub frames: u32,
    /// Frames over which the end goes over into the beginning: 1 to `frames`.
    pub overlap: u32,
    /// How it is closed.
    pub method: Method,
    /// Whether every frame gets the contrast of the first: for what mixes in a closed box, and would grow dull and recover.
    pub even_contrast: bool,
}

/// Rounds end when the smoke comes back to itself up to this part of how far it moves in a frame.
const CLOSED: f64 = 0.25;

/// A round that leaves more than this part of the gap of the last one makes no progress.
const PROGRESS: f64 = 0.7;

/// A mixture of two flows that know nothing of each other has half of their energy: more than that is not given back.
const MOST_GAIN: f64 = std::f64::consts::SQRT_2;

/// How far the making of a loop is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preparation {
    /// Frames computed.
    pub done: u64,
    /// Frames to compute before the first frame of the loop; it may be fewer.
    pub of: u64,
    /// What is being done.
    pub doing: &'static str,
}

/// How well a loop is closed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seam {
    /// How often its contents were carried around until they came back to themselves.
    pub rounds: u32,
    /// The change of the flow from the last frame to the first, over the median change between neighbours.
    pub flow: f64,
    /// The same for the substance for which it is largest.
    pub contents: f64,
}

/// What happens in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Simulated, until the loop can begin to be shown.
    Simulate,
    /// Carried along the loop's flow, round after round.
    Settle,
    /// Carried once around as it will be shown, where nothing settles.
    Rehearse,
    /// Carried on to where the loop begins to be shown.
    Approach,
    /// Shown.
    Play,
}

/// A simulation that became a loop. What [`simulation`](Self::simulation) gives holds what is shown, at the time that objects and
/// sources are at.
pub struct Looped {
    sim: Box<dyn Replay>,
    options: Options,
    stage: Stage,
    /// Finished frames of the stage.
    frame: u64,
    /// The frame of the loop, from 0 on, that is carried on next; and the one from which it is shown.
    phase: u64,
    first: u64,
    /// How far each substance moves from each frame of the loop to the next: all frames of the first, all of the next.
    jumps: Vec<f64>,
    /// Finished rounds of settling, and the gap that the last one left.
    rounds: u32,
    gap: f64,
    /// What was carried one frame before, while that is looked at.
    last: Snapshot,
    /// Seconds done in the present frame.
    within: f64,
    /// The flow of the loop, one for each frame ([`Method::Mix`]: for the overlap), and its mean.
    flows: Vec<Snapshot>,
    mean: Snapshot,
    /// What was carried in the frames of the overlap, one round before.
    before: Vec<Snapshot>,
    /// What is carried, while something else is shown in its place; and the flow.
    hidden: Option<(Snapshot, Snapshot)>,
    /// What every frame's contrast is to be.
    contrast: Vec<Contrast>,
}

impl Looped {
    /// Makes a loop of a simulation that has not begun.
    pub fn new(sim: Box<dyn Replay>, options: Options) -> Self {
        assert!(
            options.start >= 1 && options.frames >= 2 && (1..=options.frames).contains(&options.overlap),
            "{options:?}"
        );
        Looped {
            sim,
            options,
            stage: Stage::Simulate,
            frame: 0,
            rounds: 0,
            gap: f64::INFINITY,
            phase: u64::from(options.overlap % options.frames),
            first: u64::from(options.overlap),
            jumps: Vec::new(),
            last: Snapshot::default(),
            within: 0.0,
            flows: Vec::new(),
            mean: Snapshot::default(),
            before: Vec::new(),
            hidden: None,
            contrast: Vec::new(),
        }
    }

    /// How many copies of flow and contents a loop keeps at most.
    pub fn copies(options: &Options) -> (u64, u64) {
        let (frames, overlap) = (u64::from(options.frames), u64::from(options.overlap));
        match options.method {
            Method::Carry { .. } => (frames + 3, overlap + 3),
            Method::Mix => (overlap + 3, overlap + 3),
        }
    }

    /// How far its making is; `None`: the loop can be shown.
    pub fn preparation(&self) -> Option<Preparation> {
        let rounds = match self.options.method {
            Method::Carry { rounds } => u64::from(rounds.max(1)),
            Method::Mix => 0,
        };
        let (simulated, round) = (self.simulated_frames(), self.frames());
        let (done, doing) = match self.stage {
            Stage::Simulate => (self.frame, "simulating"),
            Stage::Settle => (simulated + u64::from(self.rounds) * round + self.frame, "closing the loop"),
            Stage::Rehearse => (simulated + self.frame, "closing the loop"),
            Stage::Approach => (simulated + rounds * round, "closing the loop"),
            Stage::Play => return None,
        };
        Some(Preparation { done, of: simulated + rounds * round, doing })
    }

    fn frames(&self) -> u64 {
        u64::from(self.options.frames)
    }

    fn overlap(&self) -> u64 {
        u64::from(self.options.overlap)
    }

    fn start(&self) -> u64 {
        u64::from(self.options.start)
    }

    /// How many frames are simulated before the loop can be carried, or shown.
    fn simulated_frames(&self) -> u64 {
        match self.options.method {
            Method::Carry { .. } => self.start() + self.frames() + self.overlap(),
            Method::Mix => self.start() + self.overlap(),
        }
    }

    /// The weight of what was before in frame `k` of the loop; the rest is that of what is now. Real, for times between frames.
    fn weight(&self, k: f64) -> f64 {
        let part = (k / self.overlap() as f64).clamp(0.0, 1.0);
        part * part * (3.0 - 2.0 * part)
    }

    /// The flow of the loop `within` a frame, as a part of it.
    fn flow_at(&self, phase: u64, within: f64) -> Snapshot {
        let next = (phase + 1) % self.frames();
        let mut flow = self.flows[phase as usize].clone();
        flow.mix(1.0 - within, &self.flows[next as usize], within);
        flow
    }

    /// When sources are asked, and with which weights, `within` a frame of the loop.
    fn source_times(&self, phase: u64, within: f64) -> Vec<(f64, f64)> {
        let k = phase as f64 + within;
        let (first, second) = (self.start() as f64 + k, (self.start() + self.frames()) as f64 + k);
        let weight = self.weight(k);
        let times = [(first / self.options.fps, weight), (second / self.options.fps, 1.0 - weight)];
        times.into_iter().filter(|&(_, w)| w > 0.0).collect()
    }

    /// A frame has been simulated.
    fn simulated(&mut self) {
        self.frame += 1;
        let Some(k) = self.frame.checked_sub(self.start()) else { return };
        match self.options.method {
            Method::Mix => {
                self.flows.push(self.sim.record_flow());
                self.before.push(self.sim.contents());
            }
            Method::Carry { .. } if k < self.frames() => {
                let flow = self.sim.record_flow();
                let n = k as f64;
                self.mean.mix(n / (n + 1.0), &flow, 1.0 / (n + 1.0));
                self.flows.push(flow);
            }
            Method::Carry { .. } => {
                let k = k - self.frames();
                if k < self.overlap() {
                    let (weight, later) = (self.weight(k as f64), self.sim.record_flow());
                    let first = std::mem::take(&mut self.flows[k as usize]);
                    self.flows[k as usize] = mixed_flow(first, later, weight, &self.mean);
                }
                self.before.push(self.sim.contents());
            }
        }
        if self.frame == self.simulated_frames() {
            self.frame = 0;
            if self.options.method != Method::Mix {
                self.sim.set_flow(&self.flows[self.phase as usize]);
            }
            self.last = self.before.last().expect("an overlap").clone();
            self.contrast = measure(&self.last);
            match self.options.method {
                Method::Carry { rounds: 0 } => self.stage = Stage::Rehearse,
                Method::Carry { .. } => self.stage = Stage::Settle,
                Method::Mix => self.close(),
            }
        }
    }

    /// A frame has been carried for the sake of closing the loop.
    fn settled(&mut self) {
        self.frame += 1;
        let now = self.sim.contents();
        self.note_jump(&now);
        // In the overlap what is carried now takes the place of what was carried one round before.
        let mut gap = 0.0f64;
        if let Some(k) = (self.frame + self.overlap()).checked_sub(self.frames()) {
            let gaps = now.distances(&self.before[k as usize]);
            let jumps = self.jumps.chunks_exact(self.options.frames as usize);
            gap = gaps
                .iter()
                .zip(jumps)
                .map(|(gap, jumps)| gap / median(jumps).max(f64::MIN_POSITIVE))
                .fold(0.0, f64::max);
            self.before[k as usize] = now;
        }
        if self.frame < self.frames() {
            return;
        }
        let Method::Carry { rounds } = self.options.method else { unreachable!("mixtures do not settle") };
        (self.frame, self.rounds) = (0, self.rounds + 1);
        self.contrast = measure(self.before.last().expect("an overlap"));
        if gap <= CLOSED || gap > PROGRESS * self.gap || self.rounds >= rounds {
            self.close();
        }
        self.gap = gap;
    }

    /// The loop is closed: it will be shown from where neighbours are most alike, outside of the overlap.
    fn close(&mut self) {
        self.last = Snapshot::default();
        self.stage = Stage::Approach;
        if self.options.method != Method::Mix {
            let rows = self.relative_jumps();
            let score = |k: u64| rows.iter().map(|jumps| jumps[k as usize]).fold(0.0, f64::max);
            let places = self.overlap()..self.frames();
            self.first = places.min_by(|&a, &b| score(a).total_cmp(&score(b))).unwrap_or(self.overlap());
        }
        self.approached();
    }

    /// How far the flow, and each substance, moves from each frame to the next, over the median of that.
    fn relative_jumps(&self) -> Vec<Vec<f64>> {
        let next = |k: usize| &self.flows[(k + 1) % self.flows.len()];
        let flow = self.flows.iter().enumerate().map(|(k, flow)| flow.distance(next(k)));
        let all: Vec<f64> = flow.chain(self.jumps.iter().copied()).collect();
        let relative = |jumps: &[f64]| {
            let usual = median(jumps).max(f64::MIN_POSITIVE);
            jumps.iter().map(|jump| jump / usual).collect()
        };
        all.chunks_exact(self.flows.len()).map(relative).collect()
    }

    /// How far the smoke moved from the frame before.
    fn note_jump(&mut self, now: &Snapshot) {
        let distances = now.distances(&self.last);
        let (frames, place) = (self.options.frames as usize, (self.phase + self.frames() - 1) % self.frames());
        self.jumps.resize(frames * distances.len(), 0.0);
        for (jumps, distance) in self.jumps.chunks_exact_mut(frames).zip(distances) {
            jumps[place as usize] = distance;
        }
        self.last.clone_from(now);
    }

    /// A frame has been rehearsed.
    fn rehearsed(&mut self) {
        self.frame += 1;
        self.dress();
        let shown = self.sim.contents();
        self.note_jump(&shown);
        if self.frame == self.frames() {
            self.frame = 0;
            self.close();
        }
    }

    fn approached(&mut self) {
        if self.phase == self.first % self.frames() {
            self.frame = 0;
            self.stage = Stage::Play;
        }
    }

    /// A frame of the loop is there: puts in place what is shown, and hides what goes on.
    fn dress(&mut self) {
        // The last frame of the overlap is the first behind it.
        let k = if self.phase == 0 && self.overlap() == self.frames() { self.frames() } else { self.phase };
        let overlap = (k <= self.overlap()).then_some(k);
        let flow = match self.options.method {
            Method::Carry { .. } => self.flows[self.phase as usize].clone(),
            Method::Mix => self.sim.record_flow(),
        };
        let mut now = self.sim.contents();
        if overlap == Some(self.overlap()) && self.options.method != Method::Mix {
            // From here on the loop is what it was one round before.
            now.clone_from(self.before.last().expect("an overlap"));
        } else if overlap.is_none() && !self.options.even_contrast {
            return;
        }
        let (mut shown, mut shown_flow) = (now.clone(), flow.clone());
        let mut wanted = measure(&now);
        if let Some(k) = overlap {
            let weight = self.weight(k as f64);
            let before = &self.before[k as usize];
            shown.mix(1.0 - weight, before, weight);
            if self.options.method == Method::Mix {
                shown_flow.mix(1.0 - weight, &self.flows[k as usize], weight);
            }
            let contrasts = wanted.iter_mut().zip(measure(before));
            contrasts.for_each(|(now, before)| *now = before.between(*now, weight));
        }
        if self.options.even_contrast {
            wanted.clone_from(&self.contrast);
        }
        for (field, wanted) in shown.fields_mut().zip(wanted) {
            contrast::restore(field, wanted);
        }
        self.sim.set_contents(&shown);
        self.sim.set_flow(&shown_flow);
        self.hidden = Some((now, flow));
    }

    /// Takes back what was only shown.
    fn unhide(&mut self) {
        if let Some((contents, flow)) = self.hidden.take() {
            self.sim.set_contents(&contents);
            self.sim.set_flow(&flow);
        }
    }

    /// Seconds to the next frame, rounded as whoever asks for the time rounds it.
    fn left(&self) -> f64 {
        let (frame, fps) = (self.frame as f64, self.options.fps);
        ((frame + 1.0) / fps - (frame / fps + self.within)).max(0.0)
    }
}

/// The middle one.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// `m + g (a (first - m) + b (later - m))`, where `g` gives back the energy that the mixture lost.
fn mixed_flow(first: Snapshot, later: Snapshot, a: f64, mean: &Snapshot) -> Snapshot {
    let swirls = |mut flow: Snapshot| {
        flow.mix(1.0, mean, -1.0);
        flow
    };
    let (mut first, later) = (swirls(first), swirls(later));
    let energy = a * first.square() + (1.0 - a) * later.square();
    first.mix(a, &later, 1.0 - a);
    let left = first.square();
    let gain = if left > 0.0 { (energy / left).sqrt().clamp(1.0, MOST_GAIN) } else { 1.0 };
    first.mix(gain, mean, 1.0);
    first
}

impl Looped {
    /// The simulation as it is shown. Its time is that of the scene: it comes back in every round.
    pub fn simulation(&self) -> &dyn Simulation {
        &*self.sim
    }

    /// The simulation as it is shown, to be looked at.
    pub fn simulation_mut(&mut self) -> &mut dyn Simulation {
        &mut *self.sim
    }

    /// Seconds: 0 at the first frame of the loop, and negative before.
    pub fn time(&self) -> f64 {
        match self.preparation() {
            None => self.frame as f64 / self.options.fps + self.within,
            Some(p) => (p.done as f64 - p.of as f64) / self.options.fps + self.within,
        }
    }

    /// How well it is closed; `None`: not yet, or it is a mixture.
    pub fn seam(&self) -> Option<Seam> {
        if self.stage != Stage::Play || self.options.method == Method::Mix {
            return None;
        }
        let jumps = self.relative_jumps();
        let at = |jumps: &Vec<f64>| jumps[(self.first % self.frames()) as usize];
        let contents = jumps[1..].iter().map(at).fold(0.0, f64::max);
        Some(Seam { rounds: self.rounds, flow: at(&jumps[0]), contents })
    }

    /// The longest step, in seconds, in which nothing moves by more than `cfl` cells; never beyond the next frame.
    pub fn longest_step(&self, cfl: f64) -> f64 {
        next_dt(self.left(), self.sim.longest_step(cfl))
    }

    /// Advances by `dt` seconds.
    pub fn step(&mut self, dt: f64) -> Result<StepReport, StepError> {
        self.unhide();
        let fps = self.options.fps;
        // A whole frame is the same whole frame in every round.
        let rest = 1.0 / fps - self.within;
        let dt = if (dt - rest).abs() < 1e-9 / fps { rest } else { dt };
        let carries = self.stage != Stage::Simulate && self.options.method != Method::Mix;
        let report = if carries {
            let phase = self.phase;
            let (begin, middle) = (self.within * fps, (self.within + 0.5 * dt) * fps);
            self.sim.snap_time(((self.start() + phase) as f64 + begin) / fps);
            self.sim.replay(&self.flow_at(phase, middle.min(1.0)), &self.source_times(phase, begin), dt)?
        } else {
            self.sim.step(dt)?
        };
        self.within += dt;
        // Steps add up to frames but for rounding.
        if self.left() < 1e-9 / fps {
            self.within = 0.0;
            let frame = match (self.stage, self.options.method) {
                (Stage::Simulate, _) => self.frame,
                (_, Method::Mix) => self.start() + self.overlap() + self.frame,
                (_, Method::Carry { .. }) => self.start() + self.phase,
            };
            self.sim.snap_time((frame + 1) as f64 / fps);
            if self.stage != Stage::Simulate {
                self.phase = (self.phase + 1) % self.frames();
            }
            if carries {
                self.sim.set_flow(&self.flows[self.phase as usize]);
            }
            match self.stage {
                Stage::Simulate => self.simulated(),
                Stage::Settle => self.settled(),
                Stage::Rehearse => self.rehearsed(),
                Stage::Approach => self.approached(),
                Stage::Play => {
                    self.frame += 1;
                    self.dress();
                }
            }
        }
        Ok(report)
    }

    /// Changes a parameter while the loop is made; a loop that is shown repeats what was recorded.
    pub fn set_parameter(&mut self, name: &str, value: Value) -> Result<(), ParameterError> {
        if self.stage != Stage::Simulate {
            let reason = "the flow of the loop is recorded";
            return Err(ParameterError::Fixed { name: name.to_owned(), reason });
        }
        self.sim.set_parameter(name, value)
    }

    /// Shows the visitor everything that the next step depends on, always in the same order.
    pub fn visit_state(&mut self, visitor: &mut dyn StateVisitor) {
        let stages = [Stage::Simulate, Stage::Settle, Stage::Rehearse, Stage::Approach, Stage::Play];
        let mut stage = stages.iter().position(|&s| s == self.stage).unwrap_or(0) as u64;
        visitor.integer("loop.stage", &mut stage);
        self.stage = stages[stage.min(4) as usize];
        visitor.integer("loop.frame", &mut self.frame);
        let mut rounds = u64::from(self.rounds);
        visitor.integer("loop.rounds", &mut rounds);
        self.rounds = rounds as u32;
        visitor.real("loop.gap", &mut self.gap);
        visitor.real("loop.within", &mut self.within);
        visitor.integer("loop.phase", &mut self.phase);
        visitor.integer("loop.first", &mut self.first);
        let mut jumps = self.jumps.len() as u64;
        visitor.parts("loop.jumps", &mut jumps);
        self.jumps.resize(jumps as usize, 0.0);
        self.jumps.iter_mut().for_each(|j| visitor.real("loop.jump", j));
        self.last.visit_state(visitor);
        self.mean.visit_state(visitor);
        let mut contrasts = self.contrast.len() as u64;
        visitor.parts("loop.contrasts", &mut contrasts);
        self.contrast.resize(contrasts as usize, Contrast::default());
        self.contrast.iter_mut().for_each(|c| c.visit_state(visitor));
        for list in [&mut self.flows, &mut self.before] {
            let mut count = list.len() as u64;
            visitor.parts("loop.snapshots", &mut count);
            list.resize(count as usize, Snapshot::default());
            list.iter_mut().for_each(|s| s.visit_state(visitor));
        }
        let mut hides = u64::from(self.hidden.is_some());
        visitor.integer("loop.hides", &mut hides);
        if hides == 0 {
            self.hidden = None;
        } else {
            let (contents, flow) = self.hidden.get_or_insert_default();
            contents.visit_state(visitor);
            flow.visit_state(visitor);
        }
        self.sim.visit_state(visitor);
    }
}
