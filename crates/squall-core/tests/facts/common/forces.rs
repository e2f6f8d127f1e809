//! Flow past cylinders, and the force on what is in a box of cells, from the momentum that passes its sides.

use squall_core::field::VectorField;
use squall_core::force::{Force, Moment, Substance};
use squall_core::model::smoke::{Options, Smoke};
use squall_core::shape::Sphere;
use squall_core::solid::{Boundary, Obstacle};
use squall_core::{Axis, Grid, Side, StepReport};

/// A box of cells around a cylinder.
type Around = [[isize; 2]; 2];

/// A flow past a cylinder.
pub struct Past {
    pub sim: Smoke<2>,
    around: Around,
}

impl Past {
    fn new(grid: Grid<2>, viscosity: f64, center: [f64; 2], diameter: f64) -> Self {
        let mut sim = Smoke::new(grid, Options::default()).unwrap();
        sim.flow.viscosity = viscosity;
        let shape = Sphere { center, radius: 0.5 * diameter };
        let cylinder = Obstacle { friction: 1.0, ..Obstacle::new("cylinder", Box::new(shape)) };
        sim.flow.set_obstacles(vec![cylinder], Boundary::CutCells).unwrap();
        let cell = |a: usize, at: f64| ((at - grid.origin[a]) / grid.spacing[a]).round() as isize;
        let around = [-1.4, 1.4].map(|by| [0, 1].map(|a| cell(a, center[a] + by * diameter)));
        Past { sim, around }
    }

    /// One metre across in a flow of one metre per second, between smooth walls, a little off the middle.
    pub fn free(cells: f64, reynolds: f64, length: f64, width: f64) -> Self {
        let flow = Axis::Bounded { lo: Side::Inflow { velocity: [1.0, 0.0] }, hi: Side::Open };
        let walls = Axis::Bounded { lo: Side::Slip, hi: Side::Slip };
        let count = [length, width].map(|l| (l * cells).round() as usize);
        let grid = Grid::<2>::new(count, [length, width], [flow, walls]);
        let mut past = Past::new(grid, 1.0 / reynolds, [0.3 * length, 0.5 * width + 0.01], 1.0);
        past.sim.flow.set_velocity(|a, u| u.fill(if a == 0 { 1.0 } else { 0.0 }));
        past
    }

    /// The channel of Schaefer & Turek (1996) with a mean velocity of 0.2 (Reynolds number 20) or 1 (100), `length` metres long (theirs:
    /// 2.2).
    pub fn channel(cells: usize, mean: f64, length: f64) -> Self {
        let flow = Axis::Bounded { lo: Side::Inflow { velocity: [mean as f32, 0.0] }, hi: Side::Open };
        let walls = Axis::Bounded { lo: Side::STICKY, hi: Side::STICKY };
        // Where the flow comes in uniform and is given its profile lies before the channel.
        let count = [(10.0 * length * cells as f64).round() as usize + 3 * cells / 10, 4 * cells + cells / 10];
        let size = count.map(|n| 0.1 * n as f64 / cells as f64);
        let grid = Grid { origin: [length - size[0], 0.0], ..Grid::<2>::new(count, size, [flow, walls]) };
        let mut past = Past::new(grid, 1e-3, [0.2, 0.2], 0.1);
        past.sim.flow.forces.push(Box::new(Profile(mean)));
        past.sim.flow.set_velocity(|a, u| u.set_from(&grid, |p| if a == 0 { mean * profile(p[1]) } else { 0.0 }));
        past
    }

    /// One step; drag and lift on the cylinder, divided by the density.
    pub fn step(&mut self, dt: f64) -> ([f64; 2], StepReport) {
        let Past { sim, around } = self;
        let old = momentum(sim, *around);
        let report = sim.step(dt).unwrap();
        let (force, now) = (force(sim, *around), momentum(sim, *around));
        ([0, 1].map(|a| force[a] - (now[a] - old[a]) / dt), report)
    }
}

/// The velocity of a channel 0.41 wide, where its mean is 1.
fn profile(y: f64) -> f64 {
    6.0 * y * (0.41 - y) / (0.41 * 0.41)
}

/// Holds that velocity, times its own, where the flow comes in.
struct Profile(f64);

impl Force<2> for Profile {
    fn apply(&mut self, _: &Grid<2>, _: Moment, _: &mut VectorField<2>, _: &[Substance<2>]) {}

    fn apply_to_faces(&mut self, grid: &Grid<2>, _: Moment, u: &mut VectorField<2>, _: &[Substance<2>]) -> bool {
        for (a, u) in u.iter_mut().enumerate() {
            u.par_rows(|row, u| {
                let y = (self.0 * profile(grid.position(squall_core::At::Face(0), row.index)[1])) as f32;
                let held = (-grid.origin[0] / grid.spacing[0]).round() as usize;
                u[1..=held].fill(if a == 0 { y } else { 0.0 });
            });
        }
        true
    }
}

/// The momentum in a box of cells.
fn momentum(sim: &Smoke<2>, [lo, hi]: Around) -> [f64; 2] {
    let h = sim.flow.grid.spacing[0];
    let solids = sim.flow.solids().expect("a cylinder");
    [0, 1].map(|a| {
        let mut sum = 0.0;
        for y in lo[1]..hi[1] {
            for x in lo[0]..hi[0] {
                let mut up = [x, y];
                up[a] += 1;
                let flow =
                    |i: [isize; 2]| f64::from(sim.flow.velocity()[a].get_signed(i) * solids.open()[a].get_signed(i));
                sum += 0.5 * (flow([x, y]) + flow(up));
            }
        }
        sum * h * h
    })
}

/// What pushes the fluid in a box of cells, with the momentum that comes in: all of it would be the force on the cylinder, if
/// the momentum inside did not change.
fn force(sim: &Smoke<2>, [lo, hi]: Around) -> [f64; 2] {
    let (nu, h) = (sim.flow.viscosity, sim.flow.grid.spacing[0]);
    let (u, p) = (sim.flow.velocity(), sim.flow.pressure());
    let u = |a: usize, i: [isize; 2]| f64::from(u[a].get_signed(i));
    let p = |i: [isize; 2]| f64::from(p.get_signed(i));
    let mut total = [0.0; 2];
    for (a, b) in [(0, 1), (1, 0)] {
        for (at, sign) in [(lo[a], -1.0), (hi[a], 1.0)] {
            for j in lo[b]..hi[b] {
                let cell = |along: isize, across: isize| if a == 0 { [along, across] } else { [across, along] };
                // On the middle of the face across axis a.
                let normal = u(a, cell(at, j));
                let mean = |along: isize| 0.5 * (u(b, cell(along, j)) + u(b, cell(along, j + 1)));
                let tangent = 0.5 * (mean(at - 1) + mean(at));
                let pressure = 0.5 * (p(cell(at - 1, j)) + p(cell(at, j)));
                let stretch = (u(a, cell(at + 1, j)) - u(a, cell(at - 1, j))) / (2.0 * h);
                let shear = (mean(at) - mean(at - 1)) / h + (u(a, cell(at, j + 1)) - u(a, cell(at, j - 1))) / (2.0 * h);
                total[a] += sign * h * (-pressure - normal * normal + 2.0 * nu * stretch);
                total[b] += sign * h * (-normal * tangent + nu * shear);
            }
        }
    }
    total
}
