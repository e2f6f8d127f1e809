//! Smoke: what rises, what falls, what stays, and where the grid is.

use squall_core::force::{Buoyancy, ShapedSource, Supply};
use squall_core::model::Splitting;
use squall_core::model::smoke::{Options, Smoke};
use squall_core::shape::Shape;
use squall_core::{Axis, Grid, Side, Simulation};

struct Ball<const D: usize>([f64; D], f64);

impl<const D: usize> Shape<D> for Ball<D> {
    fn distance(&self, x: [f64; D], _: f64) -> f64 {
        (0..D).map(|a| (x[a] - self.0[a]).powi(2)).sum::<f64>().sqrt() - self.1
    }
    fn velocity(&self, _: [f64; D], _: f64) -> [f64; D] {
        [0.0; D]
    }
    fn bounds(&self, _: f64) -> Option<([f64; D], [f64; D])> {
        Some((self.0.map(|c| c - self.1), self.0.map(|c| c + self.1)))
    }
    fn moves(&self) -> bool {
        false
    }
}

fn unbounded<const D: usize>(h: f64) -> Grid<D> {
    Grid { origin: [0.0; D], spacing: [h; D], cells: [64; D], axes: [Axis::Unbounded; D] }
}

fn plume<const D: usize>(grid: Grid<D>, center: [f64; D], options: Options<D>) -> Smoke<D> {
    let mut sim = Smoke::new(grid, options).unwrap();
    let smoke = sim.add_substance("density", 0.0).unwrap();
    let heat = sim.add_substance("temperature", 0.0).unwrap();
    let mut source = ShapedSource::new(Box::new(Ball(center, 0.12)));
    source.supply = vec![(smoke, Supply::Hold(1.0)), (heat, Supply::Hold(1.0))];
    sim.sources.push(Box::new(source));
    sim.forces.push(Box::new(Buoyancy { substance: heat, strength: 3.0, ambient: 0.0 }));
    sim
}

fn run<const D: usize>(sim: &mut Smoke<D>, until: f64) -> Vec<squall_core::StepReport> {
    let mut reports = Vec::new();
    while sim.clock().time < until - 1e-9 {
        let dt = squall_core::clock::next_dt(until - sim.clock().time, sim.longest_step(2.0).min(1.0 / 24.0));
        reports.push(sim.step(dt).unwrap());
    }
    reports
}

/// Mass and centre of mass of a substance.
fn moments<const D: usize>(sim: &Smoke<D>, s: usize) -> (f64, [f64; D]) {
    let field = &sim.substances[s].field;
    let (mut mass, mut moment) = (0.0, [0.0; D]);
    for r in 0..field.layout().rows() {
        let row = field.layout().row(r);
        for (x, &v) in field.row(row).iter().enumerate() {
            let mut i = row.index;
            i[0] += x as isize;
            let p = sim.grid.position(squall_core::At::Center, i);
            mass += v as f64;
            (0..D).for_each(|a| moment[a] += v as f64 * p[a]);
        }
    }
    (mass * sim.grid.cell_volume(), moment.map(|m| m / mass.max(1e-300)))
}

#[test]
fn a_plume_without_bounds_rises_as_in_a_box_that_is_large_enough() {
    for splitting in [Splitting::LaggedPressure, Splitting::Reflection, Splitting::Plain] {
        let h = 1.0 / 32.0;
        let options = Options { splitting, ..Options::default() };
        let mut free = plume(unbounded::<2>(h), [0.0, 0.0], options);
        let mut grid = Grid::<2>::walled([128, 192], Side::Open);
        (grid.spacing, grid.origin) = ([h; 2], [-64.0 * h, -64.0 * h]);
        let mut boxed = plume(grid, [0.0, 0.0], options);
        let reports = run(&mut free, 1.0);
        run(&mut boxed, 1.0);
        let ((free_mass, free_center), (mass, center)) = (moments(&free, 0), moments(&boxed, 0));
        println!(
            "{splitting:?}: {free_mass} {free_center:?} / {mass} {center:?}; cells {}",
            free.layout().cell_count()
        );
        println!(
            "iterations {:?}, divergence {:?}",
            reports.iter().map(|r| r.pressure.iterations).max(),
            reports.iter().map(|r| r.relative_divergence).fold(0.0, f64::max)
        );
        assert!((free_mass / mass - 1.0).abs() < 0.02 && (free_center[1] - center[1]).abs() < 0.02);
        assert!(center[1] > 0.1);
    }
}
