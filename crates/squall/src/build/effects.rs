//! Forces, sources and initial values given as expressions, evaluated over 64 cells at a time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use squall_core::force::{Force, Moment, NoiseField, Source, Substance};
use squall_core::model::liquid::{Law, Melting, Surroundings};
use squall_core::{At, Field, Grid, Row, VectorField, rows};

use super::uses_noise;
use crate::expr::{Expr, LANES, Lanes};
use crate::setup::{ForceKind, Formula, Setup};

/// The noise that expressions may use; `None` where no expression does.
pub struct Noises<const D: usize> {
    scalar: Option<NoiseField<D>>,
    swirls: Option<NoiseField<D>>,
}

/// All expressions of a scene see the same noise.
pub type Shared<const D: usize> = Arc<Mutex<Noises<D>>>;

/// How long the features of noise in expressions last, in seconds.
const LASTING: f64 = 0.25;

impl<const D: usize> Noises<D> {
    fn wanted(setup: &Setup, swirls: bool) -> bool {
        let forces = setup.forces.iter().flat_map(|f| match &f.kind {
            ForceKind::Expression(components) => components.as_slice(),
            _ => &[],
        });
        let substances = setup.substances.iter().flat_map(|s| [Some(&s.initial), s.source.as_ref()]).flatten();
        let forces = forces.chain([&setup.viscosity]);
        setup.fluid.velocity.iter().chain(forces).chain(substances).any(|f| uses_noise(f, swirls))
    }

    /// How many there will be.
    pub fn count(setup: &Setup) -> usize {
        [false, true].into_iter().filter(|&swirls| Self::wanted(setup, swirls)).count()
    }

    pub fn shared(setup: &Setup, grid: &Grid<D>) -> Shared<D> {
        Self::those(setup, grid, |swirls| Self::wanted(setup, swirls))
    }

    /// The same noise, for one formula alone.
    pub fn of_formula(setup: &Setup, grid: &Grid<D>, formula: &Formula) -> Shared<D> {
        Self::those(setup, grid, |swirls| uses_noise(formula, swirls))
    }

    fn those(setup: &Setup, grid: &Grid<D>, want: impl Fn(bool) -> bool) -> Shared<D> {
        let scale = setup.fluid.noise_scale;
        let scalar = want(false).then(|| NoiseField::scalar(grid, scale, LASTING, setup.seed));
        let swirls = want(true).then(|| NoiseField::swirls(grid, scale, LASTING, setup.seed ^ 1));
        Arc::new(Mutex::new(Noises { scalar, swirls }))
    }

    fn at(shared: &Mutex<Self>, time: f64) -> MutexGuard<'_, Self> {
        // Nothing can be half done in here: each moment is prepared anew.
        let mut noises = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let Noises { scalar, swirls } = &mut *noises;
        for field in [scalar, swirls].into_iter().flatten() {
            field.move_to(time);
        }
        noises
    }
}

/// What a variable stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Variable {
    Position(usize),
    Time,
    Velocity(usize),
    Substance(usize),
    Noise,
    Swirl(usize),
    Shear,
}

impl Variable {
    /// The scene has been checked: every name is known.
    fn named(name: &str, substances: &[String]) -> Variable {
        let axis = |names: [&str; 3]| names.iter().position(|&n| n == name);
        if let Some(a) = axis(["x", "y", "z"]) {
            Variable::Position(a)
        } else if let Some(a) = axis(["u", "v", "w"]) {
            Variable::Velocity(a)
        } else if let Some(a) = axis(["noise_x", "noise_y", "noise_z"]) {
            Variable::Swirl(a)
        } else if let Some(s) = substances.iter().position(|s| s == name) {
            Variable::Substance(s)
        } else {
            match name {
                "t" => Variable::Time,
                "noise" => Variable::Noise,
                "shear" => Variable::Shear,
                _ => unreachable!("`{name}` was not refused when the scene was read"),
            }
        }
    }
}

/// A formula whose variables are resolved.
enum Program {
    Constant(f32),
    Expression { expr: Expr, variables: Vec<Variable> },
}

impl Program {
    fn new(formula: &Formula, substances: &[String]) -> Program {
        match formula {
            Formula::Number(value) => Program::Constant(*value as f32),
            Formula::Expression(expr) => Program::Expression {
                variables: expr.variables().iter().map(|v| Variable::named(v, substances)).collect(),
                expr: expr.clone(),
            },
        }
    }
}

/// The substances; one of them may be the row that is being written.
#[derive(Clone, Copy)]
struct Rows<'a, const D: usize> {
    before: &'a [Substance<D>],
    written: Option<&'a [f32]>,
    after: &'a [Substance<D>],
}

impl<'a, const D: usize> Rows<'a, D> {
    fn of(substances: &'a [Substance<D>]) -> Self {
        Rows { before: substances, written: None, after: &[] }
    }

    fn row(&self, s: usize, row: Row<'_, D>) -> &'a [f32] {
        match (s.checked_sub(self.before.len()), self.written) {
            (None, _) => self.before[s].field.row(row),
            (Some(0), Some(written)) => written,
            (Some(behind), _) => self.after[behind - 1].field.row(row),
        }
    }
}

/// What the expressions of one row can see.
struct Scene<'a, const D: usize> {
    grid: &'a Grid<D>,
    time: f64,
    velocity: [&'a [f32]; D],
    substances: Rows<'a, D>,
    noises: &'a Noises<D>,
    row: Row<'a, D>,
    /// How many cells the row has.
    cells: usize,
    /// How fast a liquid is sheared, for laws of its viscosity.
    shear: &'a [f32],
}

impl<const D: usize> Scene<'_, D> {
    /// The values of a program in the (at most 64) cells from `first` on.
    fn eval(&self, program: &Program, first: usize) -> Lanes {
        let Program::Expression { expr, variables } = program else {
            let Program::Constant(value) = program else { unreachable!() };
            return Lanes::splat(*value);
        };
        let mut inputs = [Lanes::splat(0.0); crate::expr::MAX_VARIABLES];
        for (lanes, &variable) in inputs.iter_mut().zip(variables) {
            self.load(variable, first, &mut lanes.0);
        }
        expr.eval(&inputs[..variables.len()])
    }

    fn load(&self, variable: Variable, first: usize, out: &mut [f32; LANES]) {
        let len = (self.cells - first).min(LANES);
        let copy = |out: &mut [f32; LANES], row: &[f32]| out[..len].copy_from_slice(&row[first..first + len]);
        match variable {
            Variable::Time => out.fill(self.time as f32),
            Variable::Position(a) => {
                let mut index = self.row.index;
                index[0] += first as isize;
                let start = self.grid.position(At::Center, index)[a];
                let step = if a == 0 { self.grid.spacing[0] } else { 0.0 };
                for (l, x) in out.iter_mut().enumerate() {
                    *x = (start + l as f64 * step) as f32;
                }
            }
            Variable::Velocity(a) => copy(out, self.velocity[a]),
            Variable::Substance(s) => copy(out, self.substances.row(s, self.row)),
            Variable::Shear => copy(out, self.shear),
            Variable::Noise => self.add_noise(&self.noises.scalar, 0, first, &mut out[..len]),
            Variable::Swirl(a) => self.add_noise(&self.noises.swirls, a, first, &mut out[..len]),
        }
    }

    fn add_noise(&self, field: &Option<NoiseField<D>>, a: usize, first: usize, out: &mut [f32]) {
        if let Some(field) = field {
            field.add_row(a, self.row, first, |_| 1.0, out);
        }
    }
}

fn names(setup: &Setup) -> Vec<String> {
    setup.substances.iter().map(|s| s.name.clone()).collect()
}

/// Sets a field at rest, at time zero, to the values of a formula.
pub fn fill<const D: usize>(field: &mut Field<D>, grid: &Grid<D>, formula: &Formula, noises: &Shared<D>) {
    fill_at(field, grid, formula, noises, 0.0);
}

/// Sets a field to the values of a formula over position, time and noise.
pub fn fill_at<const D: usize>(field: &mut Field<D>, grid: &Grid<D>, formula: &Formula, noises: &Shared<D>, time: f64) {
    let program = Program::new(formula, &[]);
    let noises = &*Noises::at(noises, time);
    field.par_rows(|row, out| {
        let cells = out.len();
        let scene = Scene { grid, time, velocity: [&[]; D], substances: Rows::of(&[]), noises, row, cells, shear: &[] };
        for (k, out) in out.chunks_mut(LANES).enumerate() {
            out.copy_from_slice(&scene.eval(&program, k * LANES).0[..out.len()]);
        }
    });
    field.fill_halo();
}

/// Sets the cells of a field that `inside` says to the values of a formula, at time zero.
pub fn fill_row<const D: usize>(
    field: &mut Field<D>,
    grid: &Grid<D>,
    formula: &Formula,
    noises: &Shared<D>,
    inside: impl Fn([isize; D]) -> bool + Sync,
) {
    let program = Program::new(formula, &[]);
    let noises = &*Noises::at(noises, 0.0);
    field.par_rows(|row, out| {
        let cells = out.len();
        let scene =
            Scene { grid, time: 0.0, velocity: [&[]; D], substances: Rows::of(&[]), noises, row, cells, shear: &[] };
        for (k, out) in out.chunks_mut(LANES).enumerate() {
            let values = scene.eval(&program, k * LANES);
            for (x, out) in out.iter_mut().enumerate() {
                let mut index = row.index;
                index[0] += (k * LANES + x) as isize;
                if inside(index) {
                    *out = values.0[x];
                }
            }
        }
    });
}

/// An acceleration given by one formula per axis.
pub struct ExpressionForce<const D: usize> {
    programs: [Program; D],
    noises: Shared<D>,
}

impl<const D: usize> ExpressionForce<D> {
    pub fn new(setup: &Setup, components: &[Formula], noises: &Shared<D>) -> Self {
        let names = names(setup);
        let programs = std::array::from_fn(|a| Program::new(&components[a], &names));
        ExpressionForce { programs, noises: noises.clone() }
    }
}

impl<const D: usize> Force<D> for ExpressionForce<D> {
    fn apply(&mut self, grid: &Grid<D>, now: Moment, u: &mut VectorField<D>, substances: &[Substance<D>]) {
        let noises = &*Noises::at(&self.noises, now.time);
        let dt = now.dt as f32;
        rows::for_each(u.each_mut(), |row, u| {
            for first in (0..u[0].len()).step_by(LANES) {
                // All components from the old velocity, before any is changed.
                let velocity = u.each_ref().map(|u| &**u);
                let substances = Rows::of(substances);
                let scene =
                    Scene { grid, time: now.time, velocity, substances, noises, row, cells: u[0].len(), shear: &[] };
                let f = self.programs.each_ref().map(|p| scene.eval(p, first));
                for a in 0..D {
                    for (u, f) in u[a][first..].iter_mut().zip(&f[a].0) {
                        *u += dt * f;
                    }
                }
            }
        });
    }
}

/// A rate at which a substance appears, given by a formula over the whole box.
pub struct ExpressionSource<const D: usize> {
    substance: usize,
    program: Program,
    noises: Shared<D>,
}

impl<const D: usize> ExpressionSource<D> {
    pub fn new(setup: &Setup, substance: usize, rate: &Formula, noises: &Shared<D>) -> Self {
        ExpressionSource { substance, program: Program::new(rate, &names(setup)), noises: noises.clone() }
    }
}

impl<const D: usize> Source<D> for ExpressionSource<D> {
    fn apply(&mut self, grid: &Grid<D>, now: Moment, u: &mut VectorField<D>, substances: &mut [Substance<D>]) {
        let noises = &*Noises::at(&self.noises, now.time);
        let dt = now.dt as f32;
        let (before, rest) = substances.split_at_mut(self.substance);
        let Some((fed, after)) = rest.split_first_mut() else { return };
        fed.field.par_rows(|row, out| {
            for first in (0..out.len()).step_by(LANES) {
                let velocity = u.each_ref().map(|u| u.row(row));
                // The formula may read the substance that it feeds.
                let substances = Rows { before, written: Some(&*out), after };
                let scene =
                    Scene { grid, time: now.time, velocity, substances, noises, row, cells: out.len(), shear: &[] };
                let rate = scene.eval(&self.program, first);
                for (a, rate) in out[first..].iter_mut().zip(&rate.0) {
                    *a += dt * rate;
                }
            }
        });
    }
}

/// A law that says how thick a liquid is.
pub struct Thickness<const D: usize> {
    program: Program,
    noises: Shared<D>,
    /// Its viscosity when molten is that of the formula.
    melting: Option<Melting>,
}

impl<const D: usize> Thickness<D> {
    pub fn new(setup: &Setup, formula: &Formula, melting: Option<Melting>, noises: &Shared<D>) -> Self {
        Thickness { program: Program::new(formula, &names(setup)), noises: noises.clone(), melting }
    }
}

impl<const D: usize> Law<D> for Thickness<D> {
    fn find(&self, at: &Surroundings<'_, D>, viscosity: &mut Field<D>) {
        let &Surroundings { grid, time, substances, shear } = at;
        let noises = &*Noises::at(&self.noises, time);
        viscosity.par_rows(|row, out| {
            let (cells, shear) = (out.len(), shear.row(row));
            let scene =
                Scene { grid, time, velocity: [&[]; D], substances: Rows::of(substances), noises, row, cells, shear };
            for (k, out) in out.chunks_mut(LANES).enumerate() {
                let values = scene.eval(&self.program, k * LANES);
                out.copy_from_slice(&values.0[..out.len()]);
                if let Some(melting) = &self.melting {
                    let temperature = &substances[melting.substance].field.row(row)[k * LANES..];
                    for (out, t) in out.iter_mut().zip(temperature) {
                        let viscosity = [melting.viscosity[0], f64::from(*out)];
                        *out = Melting { viscosity, ..*melting }.at(f64::from(*t)) as f32;
                    }
                }
            }
        });
    }
}
