//! Smoke near solids.

use crate::common::around::*;
use squall_core::advect::{Advection, Flow, MapScratch, advect_mapped};
use squall_core::model::smoke::{Options, Smoke};
use squall_core::sample::Isa;
use squall_core::solid::*;
use squall_core::trace::Tracer;
use squall_core::*;

/// Smoke of density one everywhere in a closed box in which something moves, for so many seconds in steps of about one cell;
/// calls `look` after each.
fn full_box<const D: usize>(
    cells: [usize; D],
    obstacle: Box<dyn Shape<D>>,
    friction: f64,
    seconds: f64,
    mut look: impl FnMut(&Smoke<D>, &StepReport),
) {
    let grid = Grid::walled(cells, Side::Slip);
    let mut sim = Smoke::new(grid, Options::default()).unwrap();
    let smoke = sim.flow.add_substance("smoke", 0.0).unwrap();
    sim.flow.substances[smoke].field.fill(1.0);
    let obstacle = Obstacle { friction, ..Obstacle::new("solid", obstacle) };
    sim.flow.set_obstacles(vec![obstacle], Boundary::CutCells).unwrap();
    while sim.flow.time() < seconds {
        let dt = sim.flow.longest_step(1.5).min(1.0 / 30.0);
        let report = sim.step(dt).unwrap();
        look(&sim, &report);
    }
}

/// A ball that goes to and fro.
#[derive(Clone)]
struct Swinging<const D: usize>;

impl<const D: usize> Shape<D> for Swinging<D> {
    fn distance(&self, x: [f64; D], t: f64) -> f64 {
        let middle: [f64; D] = std::array::from_fn(|a| if a == 0 { 0.5 + 0.2 * (3.0 * t).sin() } else { 0.5 });
        (0..D).map(|a| (x[a] - middle[a]).powi(2)).sum::<f64>().sqrt() - 0.13
    }

    fn velocity(&self, _: [f64; D], t: f64) -> [f64; D] {
        std::array::from_fn(|a| if a == 0 { 0.6 * (3.0 * t).cos() } else { 0.0 })
    }

    fn moves(&self) -> bool {
        true
    }

    fn bounds(&self, t: f64) -> Option<([f64; D], [f64; D])> {
        let x = 0.5 + 0.2 * (3.0 * t).sin();
        let at = |a: usize| if a == 0 { x } else { 0.5 };
        Some((std::array::from_fn(|a| at(a) - 0.13), std::array::from_fn(|a| at(a) + 0.13)))
    }
}

#[test]
fn smoke_of_one_density_stays_so_around_a_ball_that_moves_through_it() {
    let uniform = |report: &StepReport| {
        let account = &report.ledger.substances[0];
        // Every value is a mean of values that are one: rounding.
        assert!(account.range[0] > 0.9999 && account.range[1] < 1.0001, "{:?}", account.range);
        assert!(account.unexplained().abs() < 1e-4 * account.present, "{account:?}");
    };
    for friction in [0.0, 1.0] {
        full_box::<2>([64, 64], Box::new(Swinging), friction, 4.0, |_, report| uniform(report));
    }
    full_box::<3>([32, 32, 32], Box::new(Swinging), 0.0, 1.0, |_, report| uniform(report));
}

#[test]
fn a_ball_that_stirs_half_a_box_of_smoke_creates_none_and_loses_none() {
    let grid = Grid::walled([64, 64], Side::Slip);
    for friction in [0.0, 1.0] {
        let mut sim = Smoke::new(grid, Options::default()).unwrap();
        let smoke = sim.flow.add_substance("smoke", 0.0).unwrap();
        sim.flow.substances[smoke].field.set_from(&grid, |p| if p[1] < 0.5 { 1.0 } else { 0.0 });
        let ball = Obstacle { friction, ..Obstacle::new("ball", Box::new(Swinging)) };
        sim.flow.set_obstacles(vec![ball], Boundary::CutCells).unwrap();
        let (mut first, mut last) = (None, 0.0);
        while sim.flow.time() < 4.0 {
            let report = sim.step(sim.flow.longest_step(1.5).min(1.0 / 30.0)).unwrap();
            let account = report.ledger.substances[0];
            assert!(account.range[0] > -1e-3 && account.range[1] < 1.001, "{:?} at {}", account.range, sim.flow.time());
            first.get_or_insert(account.before);
            last = account.after;
        }
        let change = last / first.unwrap() - 1.0;
        // The promise for closed boxes; half of the smoke passes the ball.
        assert!(change.abs() < 5e-3, "friction {friction}: {:+.2} %", 100.0 * change);
        assert!(sim.flow.solids().unwrap().sum_inside(&sim.flow.substances[0].field, 0.0) == 0.0, "none inside");
    }
}

/// Smoke of density one above a tilted wall, after it glided along the wall for a while: the least density next to the
/// wall.
fn density_at_the_wall(fill: bool) -> f32 {
    let grid = Grid::<2>::walled([48, 48], Side::Open);
    let h = grid.spacing[0];
    let normal = unit([-0.37, 1.0]);
    let wall = HalfSpace { point: [0.5, 0.4], normal, velocity: [0.0; 2] };
    let mut solids = single(&grid, wall.clone(), 0.0, Boundary::CutCells);
    let mut smoke = Field::new(grid.cells, At::Center, [Ends::FLAT; 2]).unwrap();
    smoke.fill(1.0);
    solids.clear_inside(&mut smoke, 0.0);
    let u = faces(&grid, |a, _| [normal[1], -normal[0]][a]);
    let mut scratch = MapScratch::new(smoke.layout(), Advection::SemiLagrangian).unwrap();
    for _ in 0..40 {
        if fill {
            solids.fill_inside(&grid, &mut smoke, 0.0);
        }
        let flow = Flow { grid: &grid, velocity: &u, tracer: Tracer::Rk2, isa: Isa::best() };
        advect_mapped(Advection::SemiLagrangian, flow, 0.7 * h, &mut [&mut smoke], &mut [], None, &mut scratch);
        solids.clear_inside(&mut smoke, 0.0);
    }
    let outside =
        cells(&grid).filter(|&index| wall.distance(grid.position(At::Center, index.map(|i| i as isize)), 0.0) > 0.0);
    outside.map(|index| smoke.get(index)).fold(1.0, f32::min)
}

#[test]
fn smoke_that_glides_along_a_wall_keeps_its_density() {
    let (filled, bare) = (density_at_the_wall(true), density_at_the_wall(false));
    println!("density at the wall {filled}, without the values inside {bare}");
    assert!(filled > 0.999, "{filled}");
    assert!(bare < 0.8, "then the values inside are not needed: {bare}");
}
