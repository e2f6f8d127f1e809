//! The resolved scene as TOML, which reads back as the same setup, and its fingerprint.

use std::fmt::{self, Write};

use super::*;
use crate::assets::fingerprint;
use film::write_smoke;
use shape::{write_motion, write_object, write_shape};

mod film;
mod shape;
mod target;
mod texture;

impl Setup {
    /// The scene with every value filled in. Parsing it again gives the same setup.
    pub fn to_toml(&self) -> String {
        let description = match self.description.as_str() {
            "" => String::new(),
            words => format!("description = {}\n", text(words)),
        };
        // Above the first table, as TOML demands.
        let dark = if self.film.as_ref().is_some_and(|f| f.lights.is_empty()) { "light = []\n" } else { "" };
        let flipbook = self.flipbook.to_toml();
        format!("{description}{dark}{}{}{}{flipbook}", self.physics_toml(true), self.run_toml(true), self.look_toml())
    }

    /// A fingerprint of everything that affects the simulation or the pictures. The number of frames, the movie and the
    /// interval between checkpoints do not: a run may be made longer and resumed.
    pub fn hash(&self) -> u64 {
        fingerprint(format!("{}{}{}", self.physics_toml(true), self.run_toml(false), self.look_toml()).as_bytes())
    }

    /// A fingerprint of what affects the simulation alone: a run may be resumed with other colours.
    pub fn physics_hash(&self) -> u64 {
        fingerprint(self.physics_toml(false).as_bytes())
    }

    /// `colors`: whether the looks of substances and objects are told as well.
    fn physics_toml(&self, colors: bool) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_physics(&mut out, colors);
        out
    }

    fn run_toml(&self, whole: bool) -> String {
        let mut out = String::new();
        let _ = self.write_run(&mut out, whole);
        out
    }

    fn look_toml(&self) -> String {
        let mut out = String::new();
        let _ = self.write_look(&mut out);
        out
    }

    fn write_physics(&self, out: &mut String, colors: bool) -> fmt::Result {
        let axes = &["x", "y", "z"][..self.dimensions()];
        writeln!(out, "model = \"{}\"\nseed = {}", self.model.word(), self.seed)?;
        let cells = self.grid.cells.iter().map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
        writeln!(out, "\n[grid]\ncells = [{cells}]")?;
        writeln!(out, "size = {}\norigin = {}", list(&self.grid.size), list(&self.grid.origin))?;
        if self.grid.axes.iter().any(|axis| *axis != Axis::Unbounded) {
            writeln!(out, "\n[boundary]")?;
        }
        for (name, axis) in axes.iter().zip(&self.grid.axes) {
            match axis {
                Axis::Periodic => writeln!(out, "{name} = \"periodic\"")?,
                // Without the table no axis has ends.
                Axis::Unbounded if self.grid.axes.iter().all(|axis| *axis == Axis::Unbounded) => {}
                Axis::Unbounded => writeln!(out, "{name} = \"unbounded\"")?,
                Axis::Bounded { lo, hi } => writeln!(out, "{name} = {{ lo = {}, hi = {} }}", side(lo), side(hi))?,
            }
        }
        writeln!(out, "\n[fluid]")?;
        if self.model != Model::TargetSmoke {
            writeln!(out, "viscosity = {:?}", self.fluid.viscosity)?;
        }
        writeln!(out, "velocity = {}\nnoise_scale = {:?}", formulas(&self.fluid.velocity), self.fluid.noise_scale)?;
        if let Some(smoke) = &self.smoke {
            write_smoke(out, smoke)?;
        }
        for s in &self.substances {
            writeln!(out, "\n[substance.{}]\ndiffusion = {:?}", s.name, s.diffusion)?;
            writeln!(out, "dissipation = {:?}", s.dissipation)?;
            if s.start.is_none() {
                writeln!(out, "initial = {}", formula(&s.initial))?;
            }
            let guided =
                self.guide.iter().flat_map(|g| &g.smokes).find(|g| self.substances[g.substance].name == s.name);
            target::write_smoke(out, s, guided)?;
            let ends = (0..self.dimensions()).filter(|&a| !self.grid.is_endless(a)).map(|a| {
                let [lo, hi] = s.boundary[a].map(end);
                let sides = [format!("lo = {lo}"), format!("hi = {hi}")];
                let bounded = sides.into_iter().zip(self.grid.is_unbounded_at(a)).filter(|(_, unbounded)| !unbounded);
                format!("{} = {{ {} }}", axes[a], bounded.map(|(side, _)| side).collect::<Vec<_>>().join(", "))
            });
            let ends = ends.collect::<Vec<_>>().join(", ");
            if !ends.is_empty() {
                writeln!(out, "boundary = {{ {ends} }}")?;
            }
            if colors {
                writeln!(out, "color = {}", color(s.color))?;
            }
            if self.grid.is_unbounded() {
                writeln!(out, "threshold = {:?}", s.threshold)?;
            }
            if let Some(source) = &s.source {
                writeln!(out, "source = {}", formula(source))?;
            }
        }
        if let Some(guide) = &self.guide {
            self.write_guide(out, guide)?;
        }
        for s in &self.sources {
            self.write_source(out, s)?;
        }
        for object in &self.objects {
            write_object(out, object, colors)?;
        }
        for f in &self.forces {
            writeln!(out, "\n[[force]]\n{}", self.force(&f.kind))?;
            interval(out, &f.active)?;
        }
        if let (Some(texture), false) = (&self.texture, colors) {
            // What is painted does not matter to the flow, but how long it is remembered is part of its state.
            writeln!(out, "\n[texture]\nperiod = {:?}", texture.period)?;
        }
        let s = &self.solver;
        writeln!(out, "\n[solver]")?;
        if self.model != Model::TargetSmoke {
            writeln!(out, "advection = \"{}\"\nsplitting = \"{}\"", s.advection.word(), s.splitting.word())?;
            writeln!(out, "tracer = \"{}\"", s.tracer.word())?;
        }
        match self.model {
            Model::Smoke | Model::TargetSmoke => writeln!(out, "solids = \"{}\"", s.solids.word())?,
            Model::StableFluids => {
                writeln!(out, "advect_with = \"{}\"\ndiffusion = \"{}\"", s.advect_with.word(), s.diffusion.word())?;
            }
        }
        if let Some(filter) = s.filter {
            writeln!(out, "filter = {filter:?}")?;
        }
        writeln!(out, "cfl = {:?}", s.cfl)?;
        if s.max_dt.is_finite() {
            writeln!(out, "max_dt = {:?}", s.max_dt)?;
        }
        writeln!(out, "steps_per_frame = {}", s.steps_per_frame)?;
        // Frames end steps, so their rate is part of the simulation.
        writeln!(out, "\n[time]\nfps = {:?}", self.time.fps)?;
        let Some(Loop { start, overlap, rounds, even }) = &self.time.looped else { return Ok(()) };
        let frames = self.time.frames;
        writeln!(
            out,
            "frames = {start}\nloop = {{ frames = {frames}, overlap = {overlap}, rounds = {rounds}, even = {even} }}"
        )
    }

    fn write_source(&self, out: &mut String, s: &Source) -> fmt::Result {
        let amounts = |list: &[(usize, f64)]| {
            let list = list.iter().map(|(i, value)| format!("{} = {value:?}", self.substances[*i].name));
            list.collect::<Vec<_>>().join(", ")
        };
        writeln!(out, "\n[[source]]")?;
        write_shape(out, &s.shape)?;
        write_motion(out, &s.motion)?;
        if let Some(object) = s.follow {
            writeln!(out, "follow = {}", text(&self.objects[object].name))?;
        }
        match self.model {
            Model::Smoke => writeln!(out, "drag = {}\nexpansion = {:?}", s.drag, s.expansion)?,
            Model::TargetSmoke => writeln!(out, "drag = {}", s.drag)?,
            Model::StableFluids => writeln!(out, "softness = {:?}", s.softness)?,
        }
        for (key, amount) in [("set", &s.set), ("rate", &s.rate)] {
            if !amount.is_empty() {
                writeln!(out, "{key} = {{ {} }}", amounts(amount))?;
            }
        }
        if let Some(velocity) = &s.velocity {
            writeln!(out, "velocity = {}", list(velocity))?;
        }
        writeln!(out, "noise = {:?}\nsink = {:?}", s.noise, s.sink)?;
        if s.every.is_finite() {
            writeln!(out, "every = {:?}", s.every)?;
        }
        interval(out, &s.active)
    }

    fn force(&self, kind: &ForceKind) -> String {
        let name = |index: usize| &self.substances[index].name;
        match kind {
            ForceKind::Buoyancy { substance, strength, ambient } => format!(
                "buoyancy = {{ substance = \"{}\", strength = {strength:?}, ambient = {ambient:?} }}",
                name(*substance)
            ),
            ForceKind::Uniform(f) => format!("uniform = {}", list(f)),
            ForceKind::Wind { velocity, rate } => {
                format!("wind = {{ velocity = {}, rate = {rate:?} }}", list(velocity))
            }
            ForceKind::Vortex { center, axis, radius, strength } => {
                let axis = if axis.is_empty() { String::new() } else { format!(", axis = {}", list(axis)) };
                format!("vortex = {{ center = {}{axis}, radius = {radius:?}, strength = {strength:?} }}", list(center))
            }
            ForceKind::Noise { strength, scale, speed, substance } => {
                let substance = substance.map_or(String::new(), |s| format!(", substance = \"{}\"", name(s)));
                format!("noise = {{ strength = {strength:?}, scale = {scale:?}, speed = {speed:?}{substance} }}")
            }
            ForceKind::Radial { center, radius, strength } => {
                format!("radial = {{ center = {}, radius = {radius:?}, strength = {strength:?} }}", list(center))
            }
            ForceKind::Stir { path, times, looped, radius, rate, rods, apart } => {
                let path = path.iter().map(|p| list(p)).collect::<Vec<_>>().join(", ");
                let times = list(times);
                let comb = if *rods > 1 { format!(", rods = {rods}, apart = {}", list(apart)) } else { String::new() };
                format!(
                    "stir = {{ path = [{path}], times = {times}, radius = {radius:?}, rate = {rate:?}, loop = {looped}{comb} }}"
                )
            }
            ForceKind::Expression(list) => format!("expression = {}", formulas(list)),
        }
    }

    fn write_run(&self, out: &mut String, whole: bool) -> fmt::Result {
        // The number of frames of a loop is a part of the simulation.
        if self.time.looped.is_none() {
            if whole {
                writeln!(out, "frames = {}", self.time.frames)?;
            }
            writeln!(out, "include_start = {}", self.time.include_start)?;
        }
        let o = &self.output;
        let fields = o.fields.iter().map(|f| text(f)).collect::<Vec<_>>().join(", ");
        writeln!(out, "\n[output]\nwidth = {}", o.width)?;
        match self.film {
            Some(_) => writeln!(out, "height = {}\nbits = {}\nexr = {}", o.height, o.bits, o.exr)?,
            None => writeln!(out, "# height {}", o.height)?,
        }
        match &o.vdb {
            Some(vdb) => {
                let fields = vdb.fields.iter().map(|f| text(f)).collect::<Vec<_>>().join(", ");
                let detail = if vdb.detail || self.texture.is_some() {
                    format!(", detail = {}", vdb.detail)
                } else {
                    String::new()
                };
                let up = if vdb.up == Up::Z { ", up = \"z\"" } else { "" };
                let mask = if vdb.mask { "" } else { ", mask = false" };
                writeln!(out, "vdb = {{ fields = [{fields}], half = {}{detail}{up}{mask} }}", vdb.half)?;
            }
            None => writeln!(out, "vdb = false")?,
        }
        writeln!(out, "fields = [{fields}]")?;
        // Left out where there is nothing to say: fingerprints of runs without passes stay what they were.
        if !o.passes.is_empty() {
            let passes = o.passes.iter().map(|pass| text(pass.word())).collect::<Vec<_>>().join(", ");
            writeln!(out, "passes = [{passes}]")?;
        }
        if o.green != Green::Up {
            writeln!(out, "green = \"{}\"", o.green.word())?;
        }
        if whole {
            writeln!(out, "movie = \"{}\"", o.movie.word())?;
            writeln!(out, "checkpoint_seconds = {:?}", o.checkpoint_seconds)?;
        }
        Ok(())
    }

    fn write_look(&self, out: &mut String) -> fmt::Result {
        let p = &self.picture;
        let show = match p.show {
            Show::Substance(index) => &self.substances[index].name,
            Show::Substances => "substances",
            Show::Speed => "speed",
            Show::Vorticity => "vorticity",
            Show::Pressure => "pressure",
            Show::Texture => "texture",
        };
        let map = color_map(&p.map);
        writeln!(out, "\n[picture]\nshow = \"{show}\"\nmap = {map}")?;
        if let Some(range) = p.range {
            writeln!(out, "range = {}", list(&range))?;
        }
        let [top, bottom] = p.background.map(color);
        writeln!(out, "mode = \"{}\"\nbackground = [{top}, {bottom}]", p.mode.word())?;
        writeln!(out, "relief = {:?}\nexposure = {:?}", p.relief, p.exposure)?;
        writeln!(out, "opacity = {:?}\ngamma = {:?}", p.opacity, p.gamma)?;
        if p.steady {
            // The range is that of all frames: a longer run has another.
            writeln!(out, "steady = true # over {} frames", self.time.frames)?;
        }
        if p.transparent {
            writeln!(out, "transparent = true")?;
        }
        writeln!(out, "view = {{ yaw = {:?}, pitch = {:?} }}", p.view.yaw, p.view.pitch)?;
        if let Some(t) = &self.texture {
            texture::write_texture(out, t)?;
        }
        self.film.as_ref().map_or(Ok(()), |film| self.write_film(out, film))
    }
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_toml())
    }
}

fn list(values: &[f64]) -> String {
    // `{:?}` of an f64 is the shortest text that reads back as the same number, always with a point or an exponent.
    format!("{values:?}")
}

fn text(s: &str) -> String {
    let mut out = String::from("\"");
    for c in s.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out += &format!("\\u{:04X}", c as u32),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn color([r, g, b]: [u8; 3]) -> String {
    format!("\"#{r:02x}{g:02x}{b:02x}\"")
}

fn color_map(map: &ColorMap) -> String {
    match map {
        ColorMap::Named(name) => text(name),
        ColorMap::Ramp(colors) => format!("[{}]", colors.iter().map(|c| color(*c)).collect::<Vec<_>>().join(", ")),
    }
}

fn formula(f: &Formula) -> String {
    match f {
        Formula::Number(value) => format!("{value:?}"),
        Formula::Expression(expr) => text(expr.text()),
    }
}

fn formulas(list: &[Formula]) -> String {
    format!("[{}]", list.iter().map(formula).collect::<Vec<_>>().join(", "))
}

fn side(side: &Side) -> String {
    match side {
        Side::Slip => "\"slip\"".to_owned(),
        Side::NoSlip(velocity) if velocity.iter().all(|v| *v == 0.0) => "\"no_slip\"".to_owned(),
        Side::NoSlip(velocity) => format!("{{ moving = {} }}", list(velocity)),
        Side::Inflow(velocity) => format!("{{ inflow = {} }}", list(velocity)),
        Side::Open => "\"open\"".to_owned(),
        Side::Unbounded => "\"unbounded\"".to_owned(),
    }
}

fn end(end: End) -> String {
    match end {
        End::Insulated => "\"insulated\"".to_owned(),
        End::Value(value) => format!("{value:?}"),
    }
}

fn interval(out: &mut String, active: &Interval) -> fmt::Result {
    writeln!(out, "from = {:?}", active.from)?;
    if active.to.is_finite() {
        writeln!(out, "to = {:?}", active.to)?;
    }
    Ok(())
}
