//! What obstacles made of triangles cost: seconds per step at rest, turning as a whole, and deforming.
//!
//! `cargo bench -p squall-core --bench mesh_speed -- [cells along each side]`

use squall_core::force::{Buoyancy, Emitter, Supply};
use squall_core::model::smoke::{Options, Smoke};
use squall_core::shape::mesh::samples::trefoil_knot;
use squall_core::shape::{Beyond, MeshOptions, MeshSequence, MeshShape, Motion, Moving, Sphere};
use squall_core::solid::{Boundary, Obstacle};
use squall_core::{Axis, Grid, Shape, Side};
use std::time::Instant;

fn main() {
    let n =
        std::env::args().skip(1).find(|word| word != "--bench").map_or(64, |n| n.parse().expect("a number of cells"));
    let h = 1.0 / n as f64;
    // 36,000 triangles, 0.6 m wide.
    let mut knot = trefoil_knot(0.06, 600, 30);
    knot.vertices.iter_mut().for_each(|v| *v = v.map(|x| 0.5 + 0.6 * x));
    let mut bent = knot.clone();
    bent.vertices.iter_mut().for_each(|v| v[0] += 0.1 * (6.0 * v[1]).sin());
    let still = || MeshShape::new(&knot, h).expect("a mesh");
    let spin = Motion { pivot: [0.5; 3], spin: [0.0, 60.0, 0.0], ..Motion::default() };
    let keys = vec![(0.0, knot.clone()), (1.0, bent)];
    let sequence = MeshSequence::new(keys, Beyond::Loop, h, MeshOptions::default()).expect("meshes");
    let shapes: [(&str, Box<dyn Shape<3>>); 3] = [
        ("at rest", Box::new(still())),
        ("turning", Box::new(Moving::new(still(), spin))),
        ("deforming", Box::new(sequence)),
    ];
    for (name, shape) in shapes {
        let axes = [Axis::Bounded { lo: Side::Slip, hi: Side::Slip }; 3];
        let mut sim = Smoke::new(Grid::<3>::new([n; 3], [1.0; 3], axes), Options::default()).expect("memory");
        let smoke = sim.flow.add_substance("smoke", 0.0).expect("memory");
        sim.flow.forces.push(Box::new(Buoyancy { substance: smoke, strength: 3.0, ambient: 0.0 }));
        let mut source = Emitter::new(Box::new(Sphere { center: [0.5, 0.1, 0.5], radius: 0.08 }));
        source.supply = vec![(smoke, Supply::Hold(1.0))];
        sim.flow.sources.push(Box::new(source));
        sim.flow.set_obstacles(vec![Obstacle::new(name, shape)], Boundary::CutCells).expect("memory");
        sim.step(0.01).expect("a step");
        let start = Instant::now();
        let (mut follow, mut iterations) = (0.0, 0);
        for _ in 0..10 {
            let report = sim.step(0.01).expect("a step");
            follow += report.timings.follow;
            iterations += report.pressure.iterations;
        }
        let each = start.elapsed().as_secs_f64() / 10.0;
        println!(
            "{name}: {each:.4} s a step, of which {:.4} for moving, {} iterations",
            follow / 10.0,
            iterations / 10
        );
    }
}
