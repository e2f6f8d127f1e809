//! The second solve and the second step allocate nothing. A binary of its own, because it counts every allocation of the process.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use squall_core::diffuse::{Around, Diffuser, Diffusion, DiffusionScheme};
use squall_core::force::{Buoyancy, Emitter, Substance, Supply};
use squall_core::model::smoke::{self, Smoke};
use squall_core::model::stable_fluids::{Options, Splitting, StableFluids};
use squall_core::model::target::{self, ShapeTarget, Target, TargetSmoke};
use squall_core::poisson::{Multigrid, Spectral, Symbol};
use squall_core::shape::Sphere;
use squall_core::solid::{Boundary, Obstacle};
use squall_core::{At, Axis, End, Ends, Field, Grid, Side, TextureCoordinates, VectorField};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes on to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::SeqCst);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const VALUES: Ends = Ends::Bounded { lo: End::Value(1.0), hi: End::Value(2.0) };
const FLAT_VALUE: Ends = Ends::Bounded { lo: End::Flat, hi: End::Value(0.0) };

fn count<const D: usize>(cells: [usize; D], ends: [Ends; D]) -> usize {
    let mut plan = Spectral::new(cells, [0.1; D], ends);
    let mut diffuser = Diffuser::new(cells, [0.1; D]);
    let mut field = Field::new(cells, At::Center, ends).unwrap();
    diffuser.prepare(&field).unwrap();
    let mut step = || {
        plan.apply(&mut field, Symbol::InverseLaplacian);
        diffuser.apply(&mut field, 0.1, DiffusionScheme::Implicit).unwrap();
        diffuser.apply(&mut field, 0.1, DiffusionScheme::Exact).unwrap();
    };
    step();
    // What a solve allocates it allocates every time. A worker that wakes up late and the test harness allocate, too,
    // but only once in a while: the quietest of several rounds tells them apart.
    let mut round = || {
        let before = ALLOCATIONS.load(Ordering::SeqCst);
        step();
        ALLOCATIONS.load(Ordering::SeqCst) - before
    };
    (0..20).map(|_| round()).min().unwrap_or(0)
}

fn count_step<const D: usize>(cells: [usize; D], splitting: Splitting) -> usize {
    let mut axes = [Axis::Bounded { lo: Side::Slip, hi: Side::Slip }; D];
    axes[1] = Axis::Bounded { lo: Side::STICKY, hi: Side::Open };
    let grid = Grid::new(cells, [1.0; D], axes);
    let mut sim = StableFluids::new(grid, Options { splitting, ..Options::default() }).unwrap();
    sim.flow.viscosity = 1e-3;
    for name in ["heat", "smoke"] {
        let mut substance = Substance::new(&grid, name).unwrap();
        substance.field.set_from(&grid, |p| p[0] * p[1]);
        substance.diffusion = 1e-3;
        substance.dissipation = 0.1;
        sim.flow.substances.push(substance);
    }
    sim.flow.forces.push(Box::new(Buoyancy { substance: 0, strength: 1.0, ambient: 0.0 }));
    // Each set is forgotten several times.
    sim.flow.texture = Some(TextureCoordinates::new(&grid, &squall_core::Layout::dense(cells), 0.05).unwrap());
    sim.step(0.01).unwrap();
    let mut round = || {
        let before = ALLOCATIONS.load(Ordering::SeqCst);
        sim.step(0.01).unwrap();
        ALLOCATIONS.load(Ordering::SeqCst) - before
    };
    (0..20).map(|_| round()).min().unwrap_or(0)
}

/// A step of viscous smoke that diffuses around a ball.
fn count_smoke<const D: usize>(grid: Grid<D>, friction: f64) -> usize {
    let mut sim = Smoke::new(grid, smoke::Options::default()).unwrap();
    sim.flow.viscosity = 1e-2;
    let smoke = sim.flow.add_substance("smoke", 0.0).unwrap();
    sim.flow.substances[smoke].diffusion = 1e-2;
    let mut source = Emitter::new(Box::new(Sphere { center: [0.5; D], radius: 0.2 }));
    source.supply = vec![(smoke, Supply::Hold(1.0))];
    sim.flow.sources.push(Box::new(source));
    let ball = Obstacle { friction, ..Obstacle::new("ball", Box::new(Sphere { center: [0.5; D], radius: 0.15 })) };
    sim.flow.set_obstacles(vec![ball], Boundary::CutCells).unwrap();
    (0..3).for_each(|_| drop(sim.step(0.01).unwrap()));
    let mut round = || {
        let before = ALLOCATIONS.load(Ordering::SeqCst);
        sim.step(0.01).unwrap();
        ALLOCATIONS.load(Ordering::SeqCst) - before
    };
    (0..20).map(|_| round()).min().unwrap_or(0)
}

fn count_multigrid<const D: usize>(layout: &squall_core::Layout<D>, ends: [Ends; D]) -> usize {
    let mut solver = Multigrid::<D>::new(layout, 0.1, ends).unwrap();
    let mut open: VectorField<D> = std::array::from_fn(|a| Field::on(layout, At::Face(a), ends).unwrap());
    open.iter_mut().for_each(|f| f.fill(1.0));
    // A closed room beside others.
    let n = layout.cells()[1] as isize;
    open[1].par_rows(|row, out| out.fill(if row.index[1] == n / 2 { 0.0 } else { 1.0 }));
    solver.set_open_faces(Some(&open));
    let mut rhs = Field::on(layout, At::Center, ends).unwrap();
    rhs.par_rows(|row, out| out.iter_mut().enumerate().for_each(|(x, v)| *v = (x as f32 + row.index[1] as f32).sin()));
    let mut q = Field::on(layout, At::Center, ends).unwrap();
    let mut round = || {
        q.fill(0.0);
        let before = ALLOCATIONS.load(Ordering::SeqCst);
        solver.solve_from(&rhs, &mut q, 1e-4, 300);
        ALLOCATIONS.load(Ordering::SeqCst) - before
    };
    (0..20).map(|_| round()).min().unwrap_or(0)
}

fn count_diffusion<const D: usize>(layout: &squall_core::Layout<D>, ends: [Ends; D]) -> usize {
    let mut diffusion = Diffusion::new(layout, [0.1; D]);
    let [mut u, mut free] = [0; 2].map(|_| Field::on(layout, At::Face(1), ends).unwrap());
    free.par_rows(|row, out| {
        out.iter_mut().enumerate().for_each(|(x, v)| *v = ((x as isize + row.index[1]) % 7) as f32)
    });
    // Steps short and long, of changing length, around something that stays or moves.
    let mut round = |k: f64| {
        u.par_rows(|row, out| {
            out.iter_mut().enumerate().for_each(|(x, v)| *v = (x as f32 + row.index[1] as f32).sin())
        });
        let before = ALLOCATIONS.load(Ordering::SeqCst);
        diffusion.apply(&mut u, k, Around::Held(&free)).unwrap();
        diffusion.apply(&mut u, 1.1 * k, Around::Nothing).unwrap();
        ALLOCATIONS.load(Ordering::SeqCst) - before
    };
    round(10.0);
    (0..20).map(|n| round(0.9 + n as f64) + round(1e-3)).min().unwrap_or(0)
}

fn count_target<const D: usize>(cells: [usize; D]) -> usize {
    let grid = Grid::new(cells, cells.map(|n| n as f64 / 32.0), [Axis::Bounded { lo: Side::Slip, hi: Side::Slip }; D]);
    let mut sim = TargetSmoke::new(grid, target::Options::default()).unwrap();
    let smoke = sim.flow.add_substance("smoke", 0.0).unwrap();
    sim.flow.substances[smoke].field.set_from(&grid, |p| f64::from(p[0] < 0.3));
    let guided = sim.guide(smoke).unwrap();
    let ball = Sphere { center: [0.5; D], radius: 0.3 };
    sim.add_target(guided, Target::new(4.0, Box::new(ShapeTarget(Box::new(ball))), 0.05)).unwrap();
    sim.step(0.001).unwrap();
    let mut round = || {
        let before = ALLOCATIONS.load(Ordering::SeqCst);
        sim.step(0.001).unwrap();
        ALLOCATIONS.load(Ordering::SeqCst) - before
    };
    (0..20).map(|_| round()).min().unwrap_or(0)
}

#[test]
fn the_second_solve_and_the_second_step_allocate_nothing() {
    // Inside the pool: handing work to a pool from outside allocates in rayon, once in a while.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| {
        assert_eq!(count([33], [VALUES]), 0, "1D");
        assert_eq!(count([64, 37], [Ends::Periodic, VALUES]), 0, "2D");
        assert_eq!(count([31, 32, 20], [Ends::FLAT, FLAT_VALUE, VALUES]), 0, "3D");
        use squall_core::Layout;
        assert_eq!(count_multigrid(&Layout::dense([140, 90]), [Ends::FLAT, FLAT_VALUE]), 0, "multigrid, 2D");
        assert_eq!(count_multigrid(&Layout::dense([33, 30, 28]), [Ends::Periodic; 3]), 0, "multigrid, 3D");
        let tiles = Layout::tiles([[0, 0, 0], [1, 0, 0], [1, 1, 0], [20, 20, 20]]);
        assert_eq!(count_multigrid(&tiles, [Ends::Unbounded(0.0); 3]), 0, "multigrid, tiles");
        assert_eq!(count_diffusion(&Layout::dense([50, 40]), [FLAT_VALUE, VALUES]), 0, "diffusion, 2D");
        assert_eq!(count_diffusion(&tiles, [Ends::Unbounded(0.0); 3]), 0, "diffusion, tiles");
        assert_eq!(count_target([70, 45]), 0, "2D step towards a target");
        assert_eq!(count_target([33, 30, 28]), 0, "3D step towards a target");
        assert_eq!(count_smoke(Grid::<2>::walled([70; 2], Side::STICKY), 0.5), 0, "2D step of viscous smoke");
        assert_eq!(count_smoke(Grid::<3>::walled([30; 3], Side::STICKY), 1.0), 0, "3D step of viscous smoke");
        // One test for all: a second one running beside it would be counted, too.
        for splitting in [Splitting::LaggedPressure, Splitting::Reflection, Splitting::Plain, Splitting::Paper] {
            assert_eq!(count_step([140, 90], splitting), 0, "2D step, {splitting:?}");
            assert_eq!(count_step([33, 30, 28], splitting), 0, "3D step, {splitting:?}");
        }
    });
}
