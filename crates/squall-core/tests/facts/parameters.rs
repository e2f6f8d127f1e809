//! Parameters by name, changed while a simulation runs.

use squall_core::advect::Advection;
use squall_core::flow::Options;
use squall_core::force::{Buoyancy, Confinement, Emitter, Supply};
use squall_core::ledger::Watch;
use squall_core::model::{Model, Smoke, StableFluids, TargetSmoke, target};
use squall_core::shape::Sphere;
use squall_core::*;

fn grid(axis: Axis<2>) -> Grid<2> {
    Grid::new([32; 2], [1.0; 2], [axis; 2])
}

const WALLS: Axis<2> = Axis::Bounded { lo: Side::Slip, hi: Side::Slip };

fn source(expansion: f32) -> Box<Emitter<2>> {
    let mut source = Emitter::new(Box::new(Sphere { center: [0.5, 0.3], radius: 0.1 }));
    source.supply.push((0, Supply::Hold(1.0)));
    source.expansion = expansion;
    Box::new(source)
}

fn furnish(sim: &mut impl Model<2>) {
    let flow = sim.flow_mut();
    flow.add_substance("smoke", 0.0).unwrap();
    flow.forces.push(Box::new(Buoyancy { substance: 0, strength: 3.0, ambient: 0.0 }));
    flow.forces.push(Box::new(Buoyancy { substance: 0, strength: -1.0, ambient: 0.0 }));
    flow.forces.push(Box::new(Confinement::new(0.5)));
    flow.sources.push(source(0.0));
}

fn steps(sim: &mut impl Model<2>, watch: &mut Watch) {
    for _ in 0..5 {
        let dt = Model::longest_step(sim, 2.0).min(1.0 / 30.0);
        let report = Model::step(sim, dt).unwrap();
        assert_eq!(watch.observe(&report.ledger, dt)[..], [], "{:?}", report.ledger);
    }
}

#[test]
fn every_parameter_can_be_changed_while_running_and_is_then_what_it_was_changed_to() {
    fn all(mut sim: impl Model<2> + Simulation, expected: &[&str]) {
        furnish(&mut sim);
        let mut watch = Watch::new(1);
        let names: Vec<String> = sim.parameters().into_iter().map(|p| p.name).collect();
        for name in expected {
            assert!(names.iter().any(|n| n == name), "{name} in {names:?}");
        }
        for (k, p) in sim.parameters().into_iter().enumerate() {
            assert!(!p.doc.is_empty(), "{}", p.name);
            let other = match &p.value {
                Value::Number(v) => Value::Number((v + 1e-3).clamp(p.range[0], p.range[1])),
                Value::Choice(now) => Value::from(*p.choices.iter().find(|c| *c != now).unwrap()),
            };
            assert_ne!(other, p.value, "{}", p.name);
            sim.set_parameter(&p.name, other.clone()).unwrap();
            // Whole cells are counted whole.
            let expected = if p.name == "buffer" { p.value } else { other };
            let Value::Number(now) = sim.parameters()[k].value else {
                assert_eq!(sim.parameters()[k].value, expected, "{}", p.name);
                continue;
            };
            // Some are kept in single precision.
            assert!(matches!(expected, Value::Number(v) if (v - now).abs() < 1e-6), "{}: {now}", p.name);
            steps(&mut sim, &mut watch);
        }
    }
    let common =
        ["viscosity", "tolerance", "smoke.diffusion", "smoke.dissipation", "buoyancy", "buoyancy_2", "confinement"];
    let with = |more: &[&'static str]| common.iter().chain(more).copied().collect::<Vec<_>>();
    let schemes = ["advection", "splitting"];
    all(StableFluids::new(grid(WALLS), Options::default()).unwrap(), &with(&schemes));
    all(Smoke::new(grid(WALLS), Options::default()).unwrap(), &with(&schemes));
    let far = ["advection", "wind.x", "wind.y", "buffer"];
    all(Smoke::new(grid(Axis::Unbounded), Options::default()).unwrap(), &with(&far));
    all(TargetSmoke::new(grid(WALLS), target::Options::default()).unwrap(), &common);
}

#[test]
fn schemes_substances_and_sources_that_need_memory_can_come_later() {
    for axis in [WALLS, Axis::Unbounded] {
        let options = Options { advection: Advection::SemiLagrangian, ..Options::default() };
        let mut sim = Smoke::new(grid(axis), options).unwrap();
        furnish(&mut sim);
        let mut watch = Watch::new(1);
        steps(&mut sim, &mut watch);
        sim.set_parameter("advection", "maccormack".into()).unwrap();
        steps(&mut sim, &mut watch);
        sim.flow.add_substance("ink", 0.0).unwrap();
        steps(&mut sim, &mut watch);
        let before = sim.flow.mass()[0];
        // In a closed box nothing can swell.
        sim.flow.sources.push(source(if axis == Axis::Unbounded { 8.0 } else { 0.0 }));
        steps(&mut sim, &mut watch);
        let grown = sim.flow.mass()[0] / before;
        // Five steps of up to 1/30 s: the disc alone swells by up to 1.3.
        assert!(axis == WALLS || grown > 1.1, "{grown}");
    }
}

#[test]
fn what_cannot_change_says_why() {
    let mut sim = TargetSmoke::new(grid(WALLS), target::Options::default()).unwrap();
    furnish(&mut sim);
    let why = |sim: &mut TargetSmoke<2>, name: &str, value: Value| sim.set_parameter(name, value).unwrap_err();
    assert!(matches!(why(&mut sim, "cells", 64.0.into()), ParameterError::Fixed { .. }));
    assert!(matches!(why(&mut sim, "advection", "maccormack".into()), ParameterError::Fixed { .. }));
    assert!(matches!(why(&mut sim, "viscosity", (-1.0).into()), ParameterError::OutOfRange { .. }));
    assert!(matches!(why(&mut sim, "viscosity", f64::NAN.into()), ParameterError::OutOfRange { .. }));
    assert!(matches!(why(&mut sim, "viscosity", "thick".into()), ParameterError::NotANumber { .. }));
    let told = why(&mut sim, "viscose", 1.0.into()).to_string();
    assert!(told.contains("no parameter \"viscose\"") && told.contains("viscosity"), "{told}");
    let mut sim = Smoke::new(grid(WALLS), Options::default()).unwrap();
    let told = sim.set_parameter("advection", "best".into()).unwrap_err().to_string();
    assert!(told.contains("maccormack, monotone_cubic, semi_lagrangian"), "{told}");
}
