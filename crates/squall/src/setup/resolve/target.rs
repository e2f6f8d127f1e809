//! Keys of the model "target_smoke": targets and their control.

use squall_core::model::target::{PEAKS_MATCH, Parameters, suggest};
use squall_core::ops::{max_abs, sum};
use squall_core::{At, Ends, Field};

use super::*;
use crate::build::{self, BuildError};

/// Stands for a value that is yet to be chosen.
const AUTO: Dial = Dial(Vec::new());

/// A guide in which values may still be [`AUTO`].
struct Draft {
    guide: Guide,
    /// For each smoke and each of its targets, its number in the file.
    numbers: Vec<Vec<usize>>,
}

impl Resolver<'_> {
    /// In this model the pressure is solved for twice in a step and kept for none.
    pub(super) fn no_pressure(&mut self, span: Span) {
        if self.model == Model::TargetSmoke {
            self.problems
                .error(span, "the model \"target_smoke\" keeps no pressure", "no such field")
                .help("there are the substances, \"velocity\", \"speed\" and \"vorticity\"");
        }
    }

    /// How a substance is formed at the start.
    pub(super) fn start(&mut self, s: &scene::Substance, key: &str) -> Option<Figure> {
        if self.model != Model::TargetSmoke {
            return None;
        }
        let start = s.start.as_ref()?;
        if s.initial.is_some() {
            self.problems
                .error(start.span, format!("`{key}` has both `start` and `initial`"), "one or the other")
                .help("`start` is a figure, `initial` a number or an expression: keep one of the two");
        }
        self.figure(&start.0, start.span, &format!("{key}.start"))
    }

    /// How smoke is guided; `None` for other models. The rest of the setup is there already.
    pub(super) fn guide(&mut self, file: &mut SceneFile, setup: &Setup) -> Option<Guide> {
        if setup.model != Model::TargetSmoke {
            return None;
        }
        if !setup.grid.has_cubes() && setup.objects.iter().any(|o| o.solid) {
            let span = file.grid.as_ref().and_then(|g| g.size.as_ref()).map(|s| s.span);
            self.problems
                .error(span, "around solid objects cells must be cubes", "not in proportion to `cells`")
                .help("leave out `size`, or make it proportional to `cells`");
        }
        let mut draft = self.draft(file, setup);
        if !self.problems.errors.is_empty() || !self.fits_into_memory(&setup.grid) {
            // The values behind an error are stand-ins: nothing can be chosen for them.
            return Some(draft.guide);
        }
        let chosen = match self.d {
            2 => self.choose::<2>(&mut draft, setup, file),
            _ => self.choose::<3>(&mut draft, setup, file),
        };
        if let Err(e) = chosen {
            self.problems.error(None, e.to_string(), "");
        }
        tell_choices(file, &draft, setup);
        Some(draft.guide)
    }

    /// What was typed.
    fn draft(&mut self, file: &SceneFile, setup: &Setup) -> Draft {
        let g = file.guide();
        if let (Some(over), None) = (&g.release_over, &g.release) {
            self.problems
                .error(over.span, "`guide.release_over` without `guide.release`", "from when on?")
                .help("for example release = 6.0");
        }
        let mut draft = Draft {
            guide: Guide {
                damping: self.dial(&g.damping, "guide.damping"),
                release: g
                    .release
                    .as_ref()
                    .map(|from| Release { from: from.value, over: g.release_over.as_deref().copied().unwrap_or(1.0) }),
                limiter: *g.limiter(),
                projections: *g.projections(),
                smokes: Vec::new(),
            },
            numbers: Vec::new(),
        };
        let targets = file.target.as_ref().map_or(&[][..], |list| &list.value);
        let owners: Vec<Option<usize>> =
            targets.iter().enumerate().map(|(i, t)| self.owner(t, &format!("target.{i}"))).collect();
        for (substance, (name, s)) in file.substance.iter().flat_map(|named| &named.0).enumerate() {
            let (mut mine, mut numbers): (Vec<Target>, Vec<usize>) = (Vec::new(), Vec::new());
            for (i, t) in targets.iter().enumerate().filter(|(i, _)| owners[*i] == Some(substance)) {
                mine.push(self.target(t, mine.last(), &format!("target.{i}"), setup));
                numbers.push(i);
            }
            let (name, key) = (&name.value, format!("substance.{}", name.value));
            if mine.is_empty() {
                for (word, span) in guided_keys(s) {
                    if let Some(span) = span {
                        self.problems
                            .error(span, format!("`{key}.{word}`, but `{name}` has no target"), "driven to what?")
                            .help("add a [[target]] for it, or leave this out");
                    }
                }
                continue;
            }
            draft.guide.smokes.push(Guided {
                substance,
                drive: self.dial(&s.drive, &format!("{key}.drive")),
                gathering: self.dial(&s.gathering, &format!("{key}.gathering")),
                levelling: *s.levelling(),
                matching: *s.r#match(),
                targets: mine,
            });
            draft.numbers.push(numbers);
        }
        if targets.is_empty() && !self.names.is_empty() {
            self.problems
                .error(None, "the scene has no [[target]]", "")
                .help("add [[target]] with time = 4.0 and figure = { text = \"Hello\" }");
        }
        draft
    }

    /// The smoke that a target is for.
    fn owner(&mut self, t: &Spanned<scene::Target>, key: &str) -> Option<usize> {
        match (&t.substance, self.names.len()) {
            (Some(name), _) => self.substance(name),
            (None, 1) => Some(0),
            (None, 0) => {
                self.problems
                    .error(t.span, format!("`{key}` has no smoke"), "what is to become this?")
                    .help("add [substance.density] with start = { text = \"Hello\" }");
                None
            }
            (None, _) => {
                self.problems
                    .error(t.span, format!("`{key}` does not say which smoke it is for"), "`substance` is missing")
                    .help(format!("there are several: write substance = \"{}\", for example", self.names[0]));
                None
            }
        }
    }

    fn target(&mut self, t: &Spanned<scene::Target>, last: Option<&Target>, key: &str, setup: &Setup) -> Target {
        let time = *t.time();
        if let (Some(given), Some(last)) = (&t.time, last)
            && time <= last.time
        {
            let message = format!("`{key}` is at {time} s, not later than the target before it");
            self.problems
                .error(given.span, message, "too early")
                .help("put the targets of a smoke in order of time, each later than the one before");
        }
        let figure = t.figure.as_ref().and_then(|f| self.figure(f, f.span, &format!("{key}.figure")));
        let duration = setup.time.duration();
        if let (Some(given), true) = (&t.time, last.is_some_and(|last| last.time >= duration)) {
            let message = format!("`{key}` is never begun: the last frame is at {duration} s");
            self.problems.warn(given.span, message, "too late").help("raise `time.frames`, or make targets earlier");
        }
        Target {
            time,
            figure: figure.unwrap_or(Figure { kind: FigureKind::Formula(Formula::Number(0.0)), frame: None }),
            strength: *t.strength(),
            smoothing: self.widths(&t.smoothing, &format!("{key}.smoothing")),
            blend: *t.blend(),
        }
    }

    /// Widths at first and in the end; NaN where they are yet to be chosen.
    fn widths(&mut self, typed: &Option<Spanned<scene::Width>>, key: &str) -> [f64; 2] {
        let Some(typed) = typed else { return [f64::NAN; 2] };
        match &typed.value {
            scene::Width::Auto => [f64::NAN; 2],
            scene::Width::Number(value) => [*value; 2],
            scene::Width::Pair(list) => match list.as_slice() {
                [first, last] => [first.value, last.value],
                _ => {
                    self.problems
                        .error(typed.span, format!("`{key}` has {}", entries(list.len())), "expected [first, last]")
                        .help("for example [0.12, 0.02]: wide at first, narrow in the end");
                    [0.0; 2]
                }
            },
        }
    }

    /// A number over time; [`AUTO`] if it is yet to be chosen.
    fn dial(&mut self, typed: &Option<Spanned<scene::Dial>>, key: &str) -> Dial {
        let Some(typed) = typed else { return AUTO };
        let mut keys: Vec<[f64; 2]> = Vec::new();
        match &typed.value {
            scene::Dial::Auto => return AUTO,
            scene::Dial::Number(value) => keys.push([0.0, *value]),
            scene::Dial::Keys(list) => {
                for pair in list {
                    let [time, value] = pair.as_slice() else {
                        self.problems
                            .error(
                                pair.span,
                                format!("a keyframe of `{key}` has {}", entries(pair.len())),
                                "expected [time, value]",
                            )
                            .help("for example [[0.0, 3.0], [4.0, 0.0]]");
                        return Dial::constant(0.0);
                    };
                    if keys.last().is_some_and(|last| last[0] >= time.value) {
                        let message =
                            format!("`{key}` has a keyframe at {} s that is not later than the one before", time.value);
                        self.problems.error(pair.span, message, "too early").help("put keyframes in order of time");
                    }
                    keys.push([time.value, value.value]);
                }
            }
        }
        if keys.is_empty() {
            self.problems
                .error(typed.span, format!("`{key}` has no keyframes"), "0 or more")
                .help("for example 3.0, [[0.0, 3.0], [4.0, 0.0]], or \"auto\"");
            return Dial::constant(0.0);
        }
        Dial(keys)
    }

    /// Chooses what was left open, and looks whether targets can be reached.
    fn choose<const D: usize>(&mut self, draft: &mut Draft, setup: &Setup, file: &SceneFile) -> Result<(), BuildError> {
        let grid = build::grid::<D>(&setup.grid);
        let Draft { guide, numbers } = draft;
        let softness = *file.guide().softness();
        let place = |number: usize| {
            let figure = file.target.as_ref().and_then(|list| list.get(number)).and_then(|t| t.figure.as_ref());
            figure.map(|f| f.span)
        };
        let mut damping: f64 = 0.0;
        for (smoke, numbers) in guide.smokes.iter_mut().zip(numbers) {
            let fed = is_fed(setup, smoke.substance);
            let start = build::target::start(setup, &grid, smoke.substance)?;
            if sum(&start) <= 0.0 && !fed {
                self.no_smoke(setup, smoke.substance, file);
                continue;
            }
            let mut before = match sum(&start) > 0.0 {
                true => start.clone(),
                // What sources give off may be anywhere.
                false => {
                    let mut anywhere = start.clone();
                    let most = super::picture::largest_emitted(
                        smoke.substance,
                        &setup.substances,
                        &setup.sources,
                        self.duration,
                    );
                    anywhere.fill(if most > 0.0 { most as f32 } else { 1.0 });
                    anywhere
                }
            };
            let mut begin = 0.0;
            // What has to follow something, or to catch what comes in, cannot wait.
            let eased = !fed && !smoke.targets.iter().any(|target| target.figure.moves());
            let begins = std::iter::once(0.0).chain(smoke.targets.iter().map(|target| target.time));
            let forming: Vec<[f64; 2]> =
                begins.zip(&smoke.targets).map(|(begin, target)| [begin, target.time]).collect();
            let dial = |curve, full| if eased { Dial::eased(curve, full, &forming) } else { Dial::constant(full) };
            for (k, target) in smoke.targets.iter_mut().enumerate() {
                let mut density = Field::new(grid.cells, At::Center, [Ends::FLAT; D])?;
                let mut source = build::figure::source(setup, &grid, &target.figure)?;
                // What moves is looked at when it begins to count.
                source.density(&grid, if target.figure.moves() { begin } else { target.time }, &mut density);
                if sum(&density) <= 0.0 {
                    self.problems
                        .error(
                            place(numbers[k]),
                            format!("there is nothing of this figure in the box at {begin} s"),
                            "empty",
                        )
                        .help(
                            "smoke needs somewhere to go: move the figure into the box, or make it larger than a cell",
                        );
                    return Ok(());
                }
                if let Some(names) = build::target::covered(setup, &grid, &density)? {
                    let names = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ");
                    self.problems
                        .error(
                            place(numbers[k]),
                            format!("this figure lies inside of the object {names}"),
                            "no room for smoke",
                        )
                        .help("move the figure or the object, or let the object be no obstacle: solid = false");
                    return Ok(());
                }
                let suggested = suggest(&grid, &before, &density)?.lasting(target.time - begin);
                let Parameters { smoothing, drive, damping: v_d, gathering, .. } = suggested;
                if target.smoothing[0].is_nan() {
                    target.smoothing = [smoothing.begin, smoothing.end];
                }
                target.smoothing = target.smoothing.map(|width| width * softness);
                if k == 0 {
                    damping = damping.max(v_d);
                    if smoke.drive == AUTO {
                        smoke.drive = dial(EASED_DRIVE, drive);
                    }
                    if smoke.gathering == AUTO {
                        smoke.gathering = dial(EASED_GATHERING, gathering);
                    }
                }
                if !fed && smoke.matching == Matching::Mass && smoke.gathering.is_zero() {
                    self.compare_peaks(&start, &density, place(numbers[k]));
                }
                (before, begin) = (density, target.time);
            }
        }
        if guide.damping == AUTO {
            guide.damping = Dial::constant(damping);
        }
        Ok(())
    }

    fn no_smoke(&mut self, setup: &Setup, substance: usize, file: &SceneFile) {
        let name = &setup.substances[substance].name;
        let typed = file.substance.iter().flat_map(|named| &named.0).find(|(typed, _)| typed.value == *name);
        let span = typed.map(|(key, s)| s.start.as_ref().map_or(key.span, |start| start.span));
        self.problems.error(span, format!("`{name}` is empty at the start, so it cannot form a target"), "empty").help(
            format!("form it by start = {{ text = \"Hello\" }}, or add a [[source]] with rate = {{ {name} = 1.0 }}"),
        );
    }

    /// A flow rearranges densities and cannot change them.
    fn compare_peaks<const D: usize>(&mut self, smoke: &Field<D>, target: &Field<D>, place: Option<Span>) {
        let ratio = sum(smoke) / sum(target) * f64::from(max_abs(target)) / f64::from(max_abs(smoke));
        if (PEAKS_MATCH[0]..=PEAKS_MATCH[1]).contains(&ratio) {
            return;
        }
        let message = format!("this figure needs {ratio:.2} times the density of the smoke, and nothing gathers it");
        self.problems
            .warn(place, message, "cannot be reached by flow alone")
            .help("write match = \"area\" to make the figure as large as the smoke, or leave out `gathering`");
    }
}

/// Writes into the file what was chosen.
fn tell_choices(file: &mut SceneFile, draft: &Draft, setup: &Setup) {
    let dial = |dial: &Dial| match dial.0.as_slice() {
        [[0.0, value]] => scene::Dial::Number(*value),
        keys => {
            let number = |&value: &f64| Spanned { value, span: Span::DEFAULT };
            let key = |key: &[f64; 2]| Spanned { value: key.iter().map(number).collect(), span: Span::DEFAULT };
            scene::Dial::Keys(keys.iter().map(key).collect())
        }
    };
    if let Some(Spanned { value: guide, .. }) = &mut file.guide {
        replace(&mut guide.damping, dial(&draft.guide.damping));
        // The widths of all targets have it now.
        replace(&mut guide.softness, 1.0);
    }
    for (smoke, numbers) in draft.guide.smokes.iter().zip(&draft.numbers) {
        if let Some(named) = &mut file.substance {
            let table = &mut named.value.0[smoke.substance].1.value;
            replace(&mut table.drive, dial(&smoke.drive));
            replace(&mut table.gathering, dial(&smoke.gathering));
        }
        for (target, &number) in smoke.targets.iter().zip(numbers) {
            if let Some(list) = &mut file.target {
                let table = &mut list.value[number].value;
                fill(&mut table.substance, || setup.substances[smoke.substance].name.clone());
                let widths = target.smoothing.map(|value| Spanned { value, span: Span::DEFAULT });
                replace(&mut table.smoothing, scene::Width::Pair(widths.to_vec()));
            }
        }
    }
}

/// Keys of a substance that only mean something with a target.
fn guided_keys(s: &scene::Substance) -> [(&'static str, Option<Span>); 4] {
    [
        ("drive", s.drive.as_ref().map(|v| v.span)),
        ("gathering", s.gathering.as_ref().map(|v| v.span)),
        ("levelling", typed(&s.levelling).map(|v| v.span)),
        ("match", typed(&s.r#match).map(|v| v.span)),
    ]
}

/// Whether more of a substance enters the box.
fn is_fed(setup: &Setup, substance: usize) -> bool {
    let s = &setup.substances[substance];
    let emitted = setup.sources.iter().any(|o| o.set.iter().chain(&o.rate).any(|(i, _)| *i == substance));
    let held = s.boundary.iter().flatten().any(|end| !matches!(end, End::Insulated | End::Value(0.0)));
    emitted || held || s.source.is_some()
}
