//! Steps that are stopped on the way.

use squall_core::force::{Emitter, Supply};
use squall_core::model::smoke::{Options, Smoke};
use squall_core::poisson::{Multigrid, PoissonSolver};
use squall_core::shape::Sphere;
use squall_core::solid::{Boundary, Obstacle};
use squall_core::visit::StateCopy;
use squall_core::*;

use crate::common::Random;
use crate::common::around::Ball;

/// Smoke around a ball that moves, on tiles or in a box.
fn smoke(unbounded: bool) -> Smoke<2> {
    let side = Axis::Bounded { lo: Side::Open, hi: Side::Open };
    let grid = Grid::new([64, 64], [1.0, 1.0], [if unbounded { Axis::Unbounded } else { side }; 2]);
    let mut sim = Smoke::new(grid, Options::default()).unwrap();
    let density = sim.flow.add_substance("density", 0.0).unwrap();
    let mut source = Emitter::new(Box::new(Sphere { center: [0.3, 0.3], radius: 0.1 }));
    source.supply = vec![(density, Supply::Hold(1.0))];
    sim.flow.sources.push(Box::new(source));
    sim.flow.viscosity = 1e-3;
    let ball = Ball { center: [0.3, 0.55], radius: 0.1, velocity: [0.5, 0.1] };
    sim.flow.set_obstacles(vec![Obstacle::new("ball", Box::new(ball))], Boundary::CutCells).unwrap();
    sim
}

fn bits(sim: &mut Smoke<2>) -> StateCopy {
    let mut copy = StateCopy::default();
    assert!(copy.save(|visitor| sim.visit_state(visitor)));
    copy
}

#[test]
fn a_step_that_is_cancelled_anywhere_leaves_a_state_that_can_be_put_back_to_the_bit() {
    for unbounded in [false, true] {
        let mut sim = smoke(unbounded);
        (0..6).for_each(|_| drop(sim.step(0.02).unwrap()));
        let before = bits(&mut sim);
        sim.step(0.02).unwrap();
        let after = bits(&mut sim);
        before.restore(|visitor| sim.visit_state(visitor));
        let mut cancelled = 0;
        for looks in 0.. {
            sim.set_cancel(&CancelToken::after(looks));
            let made = sim.step(0.02);
            sim.set_cancel(&CancelToken::default());
            if made.is_ok() {
                break;
            }
            assert!(matches!(made, Err(StepError::Cancelled)), "{made:?}");
            cancelled += 1;
            before.restore(|visitor| sim.visit_state(visitor));
            assert!(bits(&mut sim) == before, "cancelled at look {looks}");
        }
        assert!(bits(&mut sim) == after, "the step is the same as if nothing had happened");
        // At the begin, before diffusion, in every iteration of the pressure, and at the end.
        assert!(cancelled > 5, "{cancelled} places");
    }
}

#[test]
fn iterations_for_the_pressure_end_when_asked() {
    let layout = Layout::dense([64, 64]);
    let mut solver = Multigrid::<2>::new(&layout, 1.0, [Ends::FLAT; 2]).unwrap();
    let (mut rhs, mut q) = (
        Field::new([64, 64], At::Center, [Ends::FLAT; 2]).unwrap(),
        Field::new([64, 64], At::Center, [Ends::FLAT; 2]).unwrap(),
    );
    Random::new(1).fill(&mut rhs);
    solver.set_cancel(&CancelToken::after(2));
    let stopped = PoissonSolver::solve(&mut solver, &mut rhs.clone(), &mut q, 1e-6);
    assert!(stopped.iterations == 2 && !stopped.converged, "{stopped:?}");
    solver.set_cancel(&CancelToken::default());
    let done = PoissonSolver::solve(&mut solver, &mut rhs, &mut q, 1e-6);
    assert!(done.iterations > 2 && done.converged, "{done:?}");
}
