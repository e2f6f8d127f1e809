//! Transport keeps what it carries: mass, bounds and sharpness, against exact solutions and against MacCormack's scheme with
//! a plain clamp (Selle et al. 2008), which made mass.

use std::f64::consts::{PI, TAU};

use crate::common::values;
use squall_core::advect::{Advection, Flow, MapScratch, advect_mapped, carry, settle, through_sides};
use squall_core::sample::Isa;
use squall_core::trace::Tracer;
use squall_core::*;

/// A staggered velocity field given by a function of position.
fn faces<const D: usize>(grid: &Grid<D>, u: impl Fn([f64; D]) -> [f64; D] + Sync) -> VectorField<D> {
    std::array::from_fn(|a| {
        let mut f = Field::new(grid.cells, At::Face(a), grid.velocity_ends(a)).expect("memory");
        f.set_from(grid, |p| u(p)[a]);
        f
    })
}

fn scalar<const D: usize>(grid: &Grid<D>, outside: f32) -> Field<D> {
    Field::new(grid.cells, At::Center, grid.substance_ends(outside)).expect("memory")
}

fn total<const D: usize>(a: &Field<D>) -> f64 {
    ops::sum(a)
}

type Velocity<'a> = &'a (dyn Fn([f64; 2], f64) -> [f64; 2] + Sync);

/// Where what is at a point now was so many seconds before.
type Path = fn([f64; 2], f64) -> [f64; 2];

/// A flow in the unit square, what it carries, and how that looks in the end.
struct Case<'a> {
    name: &'static str,
    flow: Velocity<'a>,
    initial: &'a (dyn Fn([f64; 2]) -> f64 + Sync),
    end: f64,
    /// Cells per step at speed 1.
    cfl: f64,
    periodic: bool,
    /// Where everything comes from, if there is a formula for it.
    from: Option<Path>,
}

/// What is left in the end: mass in percent of what there was too much, mean error in percent of the mass, peak, variance.
#[derive(Debug)]
struct Outcome {
    mass: f64,
    error: f64,
    peak: f64,
    variance: f64,
}

impl Case<'_> {
    fn grid(&self, n: usize) -> Grid<2> {
        if self.periodic { Grid::periodic([n; 2]) } else { Grid::walled([n; 2], Side::Slip) }
    }

    fn steps(&self, n: usize) -> usize {
        (self.end * n as f64 / self.cfl).ceil() as usize
    }

    /// The mean over a cell of what the exact flow carries there, from 3 x 3 points.
    fn exact(&self, n: usize) -> Vec<f32> {
        let parts = (60.0 * self.end).ceil() as usize;
        let dt = self.end / parts as f64;
        let back = |mut p: [f64; 2]| {
            let parts = if let Some(from) = self.from {
                p = from(p, self.end);
                0
            } else {
                parts
            };
            for k in (0..parts).rev() {
                let t = (k as f64 + 1.0) * dt;
                let at = |q: [f64; 2], t| (self.flow)(q, t);
                let go = |k: [f64; 2], by: f64| [p[0] - by * k[0], p[1] - by * k[1]];
                let k1 = at(p, t);
                let k2 = at(go(k1, 0.5 * dt), t - 0.5 * dt);
                let k3 = at(go(k2, 0.5 * dt), t - 0.5 * dt);
                let k4 = at(go(k3, dt), t - dt);
                p = std::array::from_fn(|a| p[a] - dt / 6.0 * (k1[a] + 2.0 * k2[a] + 2.0 * k3[a] + k4[a]));
            }
            if self.periodic { p.map(|x| x.rem_euclid(1.0)) } else { p }
        };
        let h = 1.0 / n as f64;
        let mean = |i: usize, j: usize| {
            let points = (0..9).map(|s| [i * 3 + s % 3, j * 3 + s / 3].map(|k| (k as f64 + 0.5) / 3.0 * h));
            points.map(|p| (self.initial)(back(p))).sum::<f64>() / 9.0
        };
        (0..n * n).map(|c| mean(c % n, c / n) as f32).collect()
    }

    fn outcome(&self, n: usize, before: f64, after: &[f32], exact: &[f32]) -> Outcome {
        let mass: f64 = after.iter().map(|&v| v as f64).sum();
        let error: f64 = after.iter().zip(exact).map(|(a, b)| (a - b).abs() as f64).sum();
        let mean = mass / (n * n) as f64;
        let variance = after.iter().map(|&v| (v as f64 - mean).powi(2)).sum::<f64>() / (n * n) as f64;
        let peak = after.iter().copied().fold(0.0, f32::max) as f64;
        Outcome { mass: 100.0 * (mass / before - 1.0), error: 100.0 * error / before, peak, variance }
    }

    /// What was there in the beginning, as means over cells.
    fn start(&self, n: usize) -> Vec<f32> {
        Case { end: 0.0, from: Some(|p, _| p), ..*self }.exact(n)
    }

    fn ours(&self, n: usize) -> Vec<f32> {
        let grid = self.grid(n);
        let mut a = scalar(&grid, 0.0);
        a.copy_from(&self.start(n));
        let steps = self.steps(n);
        let dt = self.end / steps as f64;
        let mut scratch = MapScratch::new(a.layout(), Advection::MacCormack).expect("memory");
        for k in 0..steps {
            let u = faces(&grid, |p| (self.flow)(p, (k as f64 + 0.5) * dt));
            let flow = Flow { grid: &grid, velocity: &u, tracer: Tracer::Rk3, isa: Isa::best() };
            advect_mapped(Advection::MacCormack, flow, dt, &mut [], &mut [&mut a], None, &mut scratch);
        }
        values(&a)
    }

    /// MacCormack's scheme with a plain clamp, in a few lines.
    fn clamped(&self, n: usize) -> Vec<f32> {
        let mut a = self.start(n);
        let steps = self.steps(n);
        let (dt, h) = (self.end / steps as f64, 1.0 / n as f64);
        let wrap =
            |i: isize| if self.periodic { i.rem_euclid(n as isize) } else { i.clamp(0, n as isize - 1) } as usize;
        let corners = |a: &[f32], p: [f64; 2]| -> ([f32; 4], [f32; 2]) {
            let q = p.map(|x| if self.periodic { x / h - 0.5 } else { (x / h - 0.5).clamp(-0.5, n as f64 - 0.5) });
            let i = q.map(|x| x.floor());
            let at = |x: isize, y: isize| a[wrap(i[1] as isize + y) * n + wrap(i[0] as isize + x)];
            ([at(0, 0), at(1, 0), at(0, 1), at(1, 1)], [(q[0] - i[0]) as f32, (q[1] - i[1]) as f32])
        };
        let sample = |a: &[f32], p| {
            let (c, [s, t]) = corners(a, p);
            let (low, high) = (c[0] + s * (c[1] - c[0]), c[2] + s * (c[3] - c[2]));
            low + t * (high - low)
        };
        for k in 0..steps {
            let u = |p| (self.flow)(p, (k as f64 + 0.5) * dt);
            let path = |c: usize, dt: f64| {
                let p = [(c % n) as f64 * h + 0.5 * h, (c / n) as f64 * h + 0.5 * h];
                let v = u(p);
                let v = u([p[0] - 0.5 * dt * v[0], p[1] - 0.5 * dt * v[1]]);
                [p[0] - dt * v[0], p[1] - dt * v[1]]
            };
            let a1: Vec<f32> = (0..n * n).map(|c| sample(&a, path(c, dt))).collect();
            a = (0..n * n)
                .map(|c| {
                    let a0 = sample(&a1, path(c, -dt));
                    let (around, _) = corners(&a, path(c, dt));
                    let (lo, hi) = (
                        around.iter().copied().fold(f32::MAX, f32::min),
                        around.iter().copied().fold(f32::MIN, f32::max),
                    );
                    (a1[c] + 0.5 * (a[c] - a0)).clamp(lo, hi)
                })
                .collect();
        }
        a
    }
}

fn disc(p: [f64; 2], at: [f64; 2], radius: f64) -> f64 {
    if (p[0] - at[0]).hypot(p[1] - at[1]) < radius { 1.0 } else { 0.0 }
}

fn vortex([x, y]: [f64; 2]) -> [f64; 2] {
    [-(PI * x).sin().powi(2) * (TAU * y).sin(), (PI * y).sin().powi(2) * (TAU * x).sin()]
}

#[test]
fn mass_stays_and_errors_are_smaller_than_with_a_plain_clamp() {
    let rotation = |p: [f64; 2], _: f64| [-TAU * (p[1] - 0.5), TAU * (p[0] - 0.5)];
    let slotted = |p: [f64; 2]| {
        let slot = (p[0] - 0.5).abs() < 0.025 && p[1] < 0.85;
        if slot { 0.0 } else { disc(p, [0.5, 0.75], 0.15) }
    };
    let blob = |p: [f64; 2]| disc(p, [0.5, 0.5], 1.5 / 64.0);
    let stirred = |[x, y]: [f64; 2], t: f64| {
        let s = |k: f64, q: f64, shift: f64| (TAU * k * q + shift).sin();
        [0.7 * s(1.0, y, t) + 0.3 * s(2.0, y, 1.0 - 2.0 * t), 0.7 * s(1.0, x, 2.0 + t) + 0.3 * s(2.0, x, 3.0 * t)]
    };
    let ball = |p: [f64; 2]| disc(p, [0.5, 0.75], 0.15);
    let turning = |p: [f64; 2], t: f64| vortex(p).map(|u| u * (PI * t / 4.0).cos());
    let cases = [
        Case {
            name: "vortex",
            flow: &|p, _| vortex(p),
            initial: &ball,
            end: 4.0,
            cfl: 2.0,
            periodic: false,
            from: None,
        },
        Case {
            name: "reversed",
            flow: &turning,
            initial: &ball,
            end: 4.0,
            cfl: 2.0,
            periodic: false,
            from: Some(|p, _| p),
        },
        Case {
            name: "slotted disc",
            flow: &rotation,
            initial: &slotted,
            end: 1.0,
            cfl: 0.5,
            periodic: true,
            from: Some(|p, _| p),
        },
        Case {
            name: "small blob",
            flow: &|_, _| [1.0, 0.37],
            initial: &blob,
            end: 500.0 / 64.0,
            cfl: 0.7,
            periodic: true,
            from: Some(|p, t| [p[0] - t, p[1] - 0.37 * t]),
        },
        Case { name: "stirred", flow: &stirred, initial: &ball, end: 2.0, cfl: 1.5, periodic: true, from: None },
    ];
    for case in cases {
        // At 128 the same holds (mass within 0.03 %, errors 0.4 to 0.7 of a clamp's); it takes eight times as long.
        for n in [64] {
            let exact = case.exact(n);
            let before: f64 = case.start(n).iter().map(|&v| v as f64).sum();
            let ours = case.outcome(n, before, &case.ours(n), &exact);
            let clamped = case.outcome(n, before, &case.clamped(n), &exact);
            for (scheme, o) in [("ours", &ours), ("clamped", &clamped)] {
                println!(
                    "{:12} {n:3} {scheme:8} mass {:+7.2} %  error {:6.1} %  peak {:.3}  variance {:.5}",
                    case.name, o.mass, o.error, o.peak, o.variance
                );
            }
            // A half percent is what nobody sees; measured: below a tenth, but for a few cells that nothing resolves.
            assert!(ours.mass.abs() < 0.5, "{} {n}: mass {:+.2} %", case.name, ours.mass);
            assert!(ours.error <= clamped.error, "{} {n}: {ours:?}, a clamp {clamped:?}", case.name);
        }
    }
}

/// A lively flow in a closed box: three swirls that take turns.
fn swirls(p: [f64; 3], t: f64) -> [f64; 3] {
    let s = |a: usize| (PI * p[a]).sin();
    let c = |a: usize| (PI * p[a]).cos();
    let axis = (3.0 * t) as usize % 3;
    let [i, j, k] = [axis, (axis + 1) % 3, (axis + 2) % 3];
    let mut u = [0.0; 3];
    u[i] = s(i) * c(j) * c(k) * 2.0;
    u[j] = -c(i) * s(j) * c(k);
    u[k] = -c(i) * c(j) * s(k);
    u
}

#[test]
fn mass_stays_over_three_hundred_lively_steps_in_a_closed_box_in_3d() {
    let n = 32;
    let grid = Grid::<3>::walled([n; 3], Side::Slip);
    let mut a = scalar(&grid, 0.0);
    let inside = |p: [f64; 3]| (0..3).map(|k| (p[k] - [0.4, 0.3, 0.45][k]).powi(2)).sum::<f64>() < 0.04;
    a.set_from(&grid, |p| if inside(p) { 1.0 } else { 0.0 });
    let mut scratch = MapScratch::new(a.layout(), Advection::MacCormack).expect("memory");
    let before = total(&a);
    let flows = [0.0, 0.34, 0.67].map(|t| faces(&grid, |p| swirls(p, t)));
    // One cell per step at most. What is left is the error of paths through cells that the flow stretches by a third in a
    // step, not of the limiter: half the step or 48 cells a side have less than half of it.
    let dt = 0.5 / n as f64;
    for k in 0..300 {
        let u = &flows[(3.0 * k as f64 * dt) as usize % 3];
        let flow = Flow { grid: &grid, velocity: u, tracer: Tracer::Rk2, isa: Isa::best() };
        advect_mapped(Advection::MacCormack, flow, dt, &mut [], &mut [&mut a], None, &mut scratch);
    }
    assert!(values(&a).iter().all(|v| (0.0..=1.0).contains(v)), "a value beyond the first ones");
    let change = total(&a) / before - 1.0;
    println!("3D: {:+.3} %", 100.0 * change);
    assert!(change.abs() < 5e-3, "mass changes by {change:+.2e}");
}

#[test]
fn smoke_blown_out_through_an_open_side_leaves_nothing_behind() {
    for (lo, hi) in [(Side::Inflow { velocity: [1.0, 0.0] }, Side::Open), (Side::Open, Side::Open)] {
        let grid = Grid::<2>::new([40, 16], [40.0, 16.0], [Axis::Bounded { lo, hi }, Axis::Periodic]);
        for cells in [0.1, 0.4, 1.0, 1.7, 3.0] {
            for angle in [0.0, 0.3] {
                let u = faces(&grid, |_| [1.0, angle]);
                let flow = Flow { grid: &grid, velocity: &u, tracer: Tracer::Rk2, isa: Isa::best() };
                let mut a = scalar(&grid, 0.0);
                a.set_from(&grid, |p| if (p[0] - 34.0).hypot(p[1] - 8.0) < 4.0 { 1.0 } else { 0.0 });
                let mut scratch = MapScratch::new(a.layout(), Advection::MacCormack).expect("memory");
                // Upwind cells empty like (1 - c)^steps: 30 cells on, nothing may be left.
                for _ in 0..(40.0 / cells) as usize {
                    advect_mapped(Advection::MacCormack, flow, cells, &mut [], &mut [&mut a], None, &mut scratch);
                }
                let most = ops::max_abs(&a);
                assert!(most < 1e-5, "{cells} cells a step, angle {angle}: {most} stays");
            }
        }
    }
}

#[test]
fn what_leaves_and_enters_through_open_sides_is_known() {
    let open = Axis::Bounded { lo: Side::Open, hi: Side::Open };
    let grid = Grid::<2>::new([40, 30], [40.0, 30.0], [open; 2]);
    let disc = |p: [f64; 2]| if (p[0] - 33.0).hypot(p[1] - 23.0) < 6.0 { 1.0 } else { 0.0 };
    for scheme in [Advection::SemiLagrangian, Advection::MacCormack] {
        for velocity in [[0.3, 0.0], [1.0, 0.0], [-1.7, 0.0], [0.0, 2.6], [0.8, 0.7], [2.2, 1.9]] {
            let u = faces(&grid, |_| velocity);
            let flow = Flow { grid: &grid, velocity: &u, tracer: Tracer::Rk2, isa: Isa::best() };
            let mut scratch = MapScratch::new(u[0].layout(), scheme).expect("memory");
            scratch.trace(scheme, flow, 1.0);

            // A uniform density: what leaves is what crosses the sides, and nothing comes in. With the same density outside
            // as much enters.
            for (outside, entering) in [(0.0f32, 0.0), (1.0, 1.0)] {
                let mut a = scalar(&grid, outside);
                a.fill(1.0);
                let before = total(&a);
                let through = through_sides(scheme, &a, 0.0, &scratch);
                carry(scheme, Isa::best(), &mut [], &mut [&mut a], None, &mut scratch);
                let [c, d] = velocity.map(f64::abs);
                let lost = 40.0 * 30.0 - (40.0 - c) * (30.0 - d);
                assert!((through - (entering - 1.0) * lost).abs() < 1e-4 * lost, "{velocity:?}: {through}, not {lost}");
                assert!((total(&a) - before - through).abs() < 1e-4 * lost, "{scheme:?} {velocity:?}");
            }

            // A disc on its way out, at an angle: 30 steps.
            let mut a = scalar(&grid, 0.0);
            a.set_from(&grid, disc);
            let start = total(&a);
            let (mut accounted, mut worst) = (start, 0.0f64);
            for _ in 0..30 {
                accounted += through_sides(scheme, &a, 0.0, &scratch);
                carry(scheme, Isa::best(), &mut [], &mut [&mut a], None, &mut scratch);
                worst = worst.max((total(&a) - accounted).abs() / start);
            }
            println!(
                "{scheme:?} {velocity:?}: {:.1} of {start:.1} left, off by {:.4} %",
                start - total(&a),
                100.0 * worst
            );
            // Exact without the correction; with it, up to what the limiter does beside the side.
            let most = if scheme == Advection::MacCormack { 5e-3 } else { 1e-5 };
            assert!(worst < most, "{scheme:?} {velocity:?}: off by {worst:.1e} of what was there");
        }
    }
}

#[test]
fn a_remainder_is_put_back_without_new_extrema_on_any_layout() {
    let width = layout::tile_width::<2>();
    let n = 3 * width;
    let tiles = Layout::<2>::tiles((0..9).map(|t| [t % 3, t / 3]));
    let value = |i: [isize; 2]| {
        let r = ((i[0] - 45) as f64).hypot((i[1] - 50) as f64);
        if r < 20.0 { (0.5 + 0.5 * (0.9 * i[0] as f64 + 0.1 * r * r).sin()) as f32 } else { 0.0 }
    };
    // A solid plate within.
    let open = |i: [isize; 2]| if (40..44).contains(&i[1]) { 0.0 } else { 1.0f32 };
    let on = |layout: &Layout<2>, f: &(dyn Fn([isize; 2]) -> f32 + Sync)| {
        let ends = if layout.as_tiles().is_some() { Ends::Unbounded(0.0) } else { Ends::FLAT };
        let mut field = Field::on(layout, At::Center, [ends; 2]).expect("memory");
        field.par_rows(|row, out| {
            for (x, v) in out.iter_mut().enumerate() {
                *v = f([row.index[0] + x as isize, row.index[1]]);
            }
        });
        field.fill_halo();
        field
    };
    for solid in [false, true] {
        for part in [3e-3, -3e-3, 1e-9] {
            let results = [Layout::dense([n; 2]), tiles.clone()].map(|layout| {
                let mut a = on(&layout, &value);
                let volumes = on(&layout, &open);
                let volumes = solid.then_some(&volumes);
                let sum = |a: &Field<2>| volumes.map_or_else(|| ops::sum(a), |v| ops::dot(a, v));
                let before = sum(&a);
                let mut spare = Field::like(&a).expect("memory");
                let run = |threads: usize, a: &mut Field<2>, spare: &mut Field<2>| {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
                    pool.install(|| settle(a, (volumes, false), 0.0, (part * before, before), spare))
                };
                let mut again = a.clone();
                let added = run(1, &mut a, &mut spare);
                assert_eq!(run(3, &mut again, &mut spare), added);
                assert!(values(&a) == values(&again), "threads");
                let wanted = if part.abs() < 1e-7 { 0.0 } else { part * before };
                assert!((added - wanted).abs() <= 1e-9 * before, "{added} of {wanted}");
                // Each value is rounded once.
                assert!((sum(&a) - before - wanted).abs() < 1e-6 * before);
                a
            });
            for i in (0..n * n).map(|c| [c % n, c / n]) {
                let [a, b] = results.each_ref().map(|f| f.get(i));
                assert_eq!(a.to_bits(), b.to_bits(), "box and tiles at {i:?}");
                let old = value(i.map(|i| i as isize));
                if solid && open(i.map(|i| i as isize)) == 0.0 {
                    assert_eq!(a, old, "inside a solid");
                }
                assert!((0.0..=1.0).contains(&a));
            }
        }
    }
    let mut flat = on(&tiles, &|_| 0.0);
    flat.fill(0.3);
    flat.relabel(At::Center, [Ends::Unbounded(0.3); 2]);
    let mut spare = Field::like(&flat).expect("memory");
    assert_eq!(settle(&mut flat, (None, false), 0.0, (5.0, 5.0), &mut spare), 0.0);
    assert!(values(&flat).iter().all(|&v| v == 0.3), "a constant has no room");
}
