//! Conjugate gradients with multigrid: iteration counts, symmetry, accuracy, closed rooms, odd sizes, tiles.

use std::collections::{HashMap, HashSet};
use std::f64::consts::PI;

use crate::common::Random;
use squall_core::poisson::multigrid::Number;
use squall_core::poisson::{Multigrid, Spectral, Symbol};
use squall_core::{At, End, Ends, Field, Layout, SolveReport, VectorField};

const ZERO: Ends = Ends::Bounded { lo: End::Value(0.0), hi: End::Value(0.0) };
const OPEN_TOP: Ends = Ends::Bounded { lo: End::Flat, hi: End::Value(0.0) };
const OPEN_BOTTOM: Ends = Ends::Bounded { lo: End::Value(0.0), hi: End::Flat };

/// The five kinds of ends, prescribed values being zero.
const KINDS: [Ends; 5] = [Ends::Periodic, Ends::FLAT, ZERO, OPEN_TOP, OPEN_BOTTOM];

/// A room whose smoke leaves through the top.
fn chimney<const D: usize>() -> [Ends; D] {
    std::array::from_fn(|a| if a == 1 { OPEN_TOP } else { Ends::FLAT })
}

fn field<const D: usize, T: Number>(layout: &Layout<D>, at: At) -> Field<D, T> {
    let ends = if layout.as_tiles().is_some() { Ends::Unbounded(0.0) } else { Ends::FLAT };
    Field::on(layout, at, [ends; D]).unwrap()
}

/// Every index of a box, x fastest.
fn indices<const D: usize>(cells: [usize; D]) -> impl Iterator<Item = [isize; D]> {
    (0..cells.iter().product()).map(move |mut c| {
        cells.map(|n| {
            let i = c % n;
            c /= n;
            i as isize
        })
    })
}

/// Every index of a layout.
fn cells_of<const D: usize>(layout: &Layout<D>) -> Vec<[isize; D]> {
    let row_cells = |row: squall_core::Row<'_, D>| {
        let index = row.index;
        (0..layout.cells()[0] as isize).map(move |x| {
            let mut i = index;
            i[0] += x;
            i
        })
    };
    (0..layout.rows()).flat_map(|r| row_cells(layout.row(r))).collect()
}

fn set<const D: usize, T: Number>(field: &mut Field<D, T>, f: impl Fn([f64; D]) -> f64 + Sync) {
    field.par_rows(|row, out| {
        for (x, out) in out.iter_mut().enumerate() {
            let mut i = row.index;
            i[0] += x as isize;
            *out = T::of(f(i.map(|i| i as f64 + 0.5)));
        }
    });
}

/// The open part of every face beside solids given by a distance, in cells, negative inside; faces are sampled.
fn open_beside<const D: usize, T: Number>(
    layout: &Layout<D>,
    distance: impl Fn([f64; D]) -> f64 + Sync,
) -> VectorField<D, T> {
    const SAMPLES: usize = 4;
    let open = |a: usize, i: [isize; D]| {
        let count = SAMPLES.pow(D as u32 - 1);
        let outside = (0..count).filter(|&s| {
            let mut rest = s;
            let point = std::array::from_fn(|b| {
                if b == a {
                    return i[b] as f64;
                }
                let offset = ((rest % SAMPLES) as f64 + 0.5) / SAMPLES as f64;
                rest /= SAMPLES;
                i[b] as f64 + offset
            });
            distance(point) > 0.0
        });
        outside.count() as f64 / count as f64
    };
    std::array::from_fn(|a| {
        let mut faces = field::<D, T>(layout, At::Face(a));
        faces.par_rows(|row, out| {
            for (x, out) in out.iter_mut().enumerate() {
                let mut i = row.index;
                i[0] += x as isize;
                *out = T::of(open(a, i));
            }
        });
        if layout.as_tiles().is_none() {
            let mut last = layout.cells();
            last[a] = 1;
            for mut i in indices(last) {
                i[a] = layout.cells()[a] as isize;
                faces.set(i.map(|i| i as usize), T::of(open(a, i)));
            }
        }
        faces
    })
}

fn ball<const D: usize>(center: [f64; D], radius: f64) -> impl Fn([f64; D]) -> f64 + Sync {
    move |p| (0..D).map(|a| (p[a] - center[a]).powi(2)).sum::<f64>().sqrt() - radius
}

/// The equation, written down once more in the plainest way.
struct Problem<const D: usize, T: Number> {
    layout: Layout<D>,
    ends: [Ends; D],
    h: f64,
    open: Option<VectorField<D, T>>,
}

/// What is on the other side of a face.
enum Behind<const D: usize> {
    Cell([isize; D]),
    Wall,
    /// The value zero on the face.
    Zero,
    /// No cell: only on tiles.
    Nothing,
}

impl<const D: usize, T: Number> Problem<D, T> {
    fn on(layout: Layout<D>, ends: [Ends; D], h: f64) -> Self {
        Problem { layout, ends, h, open: None }
    }

    fn with(mut self, distance: impl Fn([f64; D]) -> f64 + Sync) -> Self {
        self.open = Some(open_beside(&self.layout, distance));
        self
    }

    fn solver(&self) -> Multigrid<D, T> {
        let mut solver = Multigrid::new(&self.layout, self.h, self.ends).unwrap();
        solver.set_open_faces(self.open.as_ref());
        solver
    }

    fn zeros(&self) -> Field<D, T> {
        field(&self.layout, At::Center)
    }

    fn behind(&self, i: [isize; D], a: usize, step: isize) -> Behind<D> {
        let mut j = i;
        j[a] += step;
        let n = self.layout.cells()[a] as isize;
        if let Some(tiles) = self.layout.as_tiles() {
            let exists = tiles.find(j.map(|j| j.div_euclid(n) as i32)).is_some();
            return if exists { Behind::Cell(j) } else { Behind::Nothing };
        }
        match self.ends[a] {
            _ if (0..n).contains(&j[a]) => Behind::Cell(j),
            Ends::Periodic => {
                j[a] = j[a].rem_euclid(n);
                Behind::Cell(j)
            }
            Ends::Bounded { lo, hi } => match if step < 0 { lo } else { hi } {
                End::Flat => Behind::Wall,
                End::Value(_) | End::Outside(_) => Behind::Zero,
            },
            Ends::Unbounded(_) => Behind::Nothing,
        }
    }

    /// The weight of the face of cell `i` towards `step` along `a`.
    fn weight(&self, i: [isize; D], a: usize, step: isize) -> f64 {
        let mut face = i;
        face[a] += (step + 1) / 2;
        if self.ends[a] == Ends::Periodic {
            face[a] = face[a].rem_euclid(self.layout.cells()[a] as isize);
        }
        self.open.as_ref().map_or(1.0, |open| open[a].get_signed(face).to_f64())
    }

    fn faces(&self, i: [isize; D]) -> impl Iterator<Item = (f64, Behind<D>)> {
        (0..2 * D).map(move |f| {
            let (a, step) = (f / 2, f as isize % 2 * 2 - 1);
            match self.behind(i, a, step) {
                Behind::Wall => (0.0, Behind::Wall),
                Behind::Zero => (2.0 * self.weight(i, a, step), Behind::Zero),
                other => (self.weight(i, a, step), other),
            }
        })
    }

    fn is_unknown(&self, i: [isize; D]) -> bool {
        !self.faces(i).any(|(_, behind)| matches!(behind, Behind::Nothing))
            && self.faces(i).map(|(w, _)| w).sum::<f64>() > 0.0
    }

    /// `lap_A q` in cell `i`.
    fn laplacian(&self, q: &Field<D, T>, i: [isize; D]) -> f64 {
        let here = q.get_signed(i).to_f64();
        let difference = |(w, behind): (f64, Behind<D>)| match behind {
            Behind::Cell(j) => w * (q.get_signed(j).to_f64() - here),
            _ => w * (0.0 - here),
        };
        self.faces(i).map(difference).sum::<f64>() / (self.h * self.h)
    }

    /// For each unknown the number of its closed room, if it is in one.
    fn rooms(&self) -> HashMap<[isize; D], Option<usize>> {
        let mut rooms = HashMap::new();
        let mut count = 0;
        for start in cells_of(&self.layout) {
            if rooms.contains_key(&start) || !self.is_unknown(start) {
                continue;
            }
            let (mut found, mut seen, mut held) = (vec![start], HashSet::from([start]), false);
            let mut next = 0;
            while next < found.len() {
                for (w, behind) in self.faces(found[next]).filter(|f| f.0 > 0.0) {
                    match behind {
                        Behind::Cell(j) if self.is_unknown(j) => {
                            if seen.insert(j) {
                                found.push(j);
                            }
                        }
                        _ => held |= w > 0.0,
                    }
                }
                next += 1;
            }
            rooms.extend(found.into_iter().map(|i| (i, (!held).then_some(count))));
            count += !held as usize;
        }
        rooms
    }

    /// The 2-norm of `r - lap q`, relative to that of `r`, both without the means over closed rooms; and checks that `q`
    /// is zero where no unknown is, and without mean in closed rooms.
    fn residual(&self, rhs: &Field<D, T>, q: &Field<D, T>, closed: bool) -> f64 {
        let rooms = if closed { self.rooms() } else { HashMap::new() };
        let cells = cells_of(&self.layout);
        let unknowns: Vec<[isize; D]> = cells.iter().copied().filter(|&i| self.is_unknown(i)).collect();
        let room = |i| rooms.get(&i).copied().flatten();
        let count = rooms.values().flatten().max().map_or(0, |max| max + 1);
        let mut sums = vec![(0.0, 0.0, 0.0); count];
        for &i in &unknowns {
            if let Some(room) = room(i) {
                sums[room].0 += rhs.get_signed(i).to_f64();
                sums[room].1 += q.get_signed(i).to_f64();
                sums[room].2 += 1.0;
            }
        }
        let largest = unknowns.iter().map(|&i| q.get_signed(i).to_f64().abs()).fold(0.0, f64::max);
        for (_, q, size) in &sums {
            // A mean is subtracted in the fields' own precision.
            assert!((q / size).abs() <= 1e-6 * largest, "mean {} of q up to {largest}", q / size);
        }
        let (mut rest, mut all) = (0.0, 0.0);
        for &i in &unknowns {
            let r = rhs.get_signed(i).to_f64() - room(i).map_or(0.0, |room| sums[room].0 / sums[room].2);
            all += r * r;
            rest += (r - self.laplacian(q, i)).powi(2);
        }
        for i in cells {
            assert!(self.is_unknown(i) || q.get_signed(i).to_f64() == 0.0, "{i:?} is no unknown");
        }
        (rest / all).sqrt()
    }
}

/// Smoke around a sphere in a chimney: a puff of divergence and some waves everywhere.
fn past_a_sphere<T: Number>(n: usize) -> (Problem<3, T>, Field<3, T>) {
    let size = n as f64;
    let sphere = ball([0.5 * size, 0.45 * size, 0.5 * size], 0.15 * size);
    let problem = Problem::on(Layout::dense([n; 3]), chimney(), 1.0 / size).with(sphere);
    let mut rhs = problem.zeros();
    set(&mut rhs, |p| {
        let p = p.map(|p| p / size);
        let puff = if ball([0.5, 0.2, 0.5], 0.1)(p) < 0.0 { 1.0 } else { 0.0 };
        puff + (30.0 * p[0]).sin() * (20.0 * p[1] + 13.0 * p[2]).cos()
    });
    (problem, rhs)
}

fn noise<const D: usize, T: Number>(problem: &Problem<D, T>, seed: u64) -> Field<D, T> {
    let mut random = Random::new(seed);
    let mut field = problem.zeros();
    let values: Vec<T> = (0..problem.layout.cell_count()).map(|_| T::of(random.next())).collect();
    field.copy_from(&values);
    field
}

// ------------------------------------------------------------------------------------------------ iteration counts

fn iterations<T: Number>(n: usize, tolerance: f64) -> u32 {
    let (problem, rhs) = past_a_sphere::<T>(n);
    let mut q = problem.zeros();
    let report = problem.solver().solve_from(&rhs, &mut q, tolerance, 300);
    let residual = problem.residual(&rhs, &q, false);
    assert!(report.converged, "{n}: {report:?}");
    // Computed in another order: the reported residual is a true one to the fields' rounding times the cells along an axis.
    assert!(residual < 1.5 * tolerance, "{n}: {residual}, reported {report:?}");
    report.iterations
}

#[test]
fn smoke_past_a_sphere_takes_few_iterations_whatever_the_size() {
    let counts = [32, 64, 128].map(|n| iterations::<f32>(n, 1e-4));
    // 5, 5 and 6 at the time of writing.
    assert!(counts.iter().all(|&c| c <= 8), "{counts:?}");
    assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 2, "{counts:?}");
}

#[test]
fn ten_digits_take_few_iterations_in_f64() {
    let counts = [16, 32, 64].map(|n| iterations::<f64>(n, 1e-10));
    assert!(counts.iter().all(|&c| c <= 12), "{counts:?}");
}

// ------------------------------------------------------------------------------------------------ against the direct solver

/// Solves on a box without obstacles both ways.
fn compare<const D: usize>(cells: [usize; D], kinds: [usize; D]) -> u32 {
    let ends = kinds.map(|k| KINDS[k]);
    let h = 0.3;
    let problem = Problem::<D, f32>::on(Layout::dense(cells), ends, h);
    let rhs = noise(&problem, 7);
    let mut q = problem.zeros();
    let report = problem.solver().solve_from(&rhs, &mut q, 1e-5, 300);
    let mut direct = rhs.clone();
    Spectral::new(cells, [h; D], ends).apply(&mut direct, Symbol::InverseLaplacian);
    let scale = squall_core::ops::max_abs(&direct).max(1e-6);
    for i in indices(cells) {
        let error = (q.get_signed(i) - direct.get_signed(i)).abs();
        // A residual of 1e-5 may hide in the smoothest mode, where the solution is largest by the condition number; for
        // noise it does not.
        assert!(error <= 1e-3 * scale, "{cells:?} {kinds:?} {i:?}: {error} of {scale}, {report:?}");
    }
    assert!(report.converged, "{cells:?} {kinds:?}: {report:?}");
    report.iterations
}

fn combinations<const D: usize>() -> impl Iterator<Item = [usize; D]> {
    (0..5usize.pow(D as u32)).map(|c| std::array::from_fn(|a| c / 5usize.pow(a as u32) % 5))
}

#[test]
fn agrees_with_the_direct_solver_in_2d_for_all_ends_and_odd_sizes() {
    for cells in [[1, 1], [1, 8], [5, 1], [2, 3], [16, 12], [17, 31], [37, 20], [33, 65], [64, 64], [97, 127]] {
        let most = combinations().map(|kinds| compare::<2>(cells, kinds)).max().unwrap();
        println!("{cells:?} {most}");
        assert!(most <= 12, "{cells:?}: {most} iterations");
    }
}

#[test]
fn agrees_with_the_direct_solver_in_3d_for_all_ends_and_odd_sizes() {
    for cells in [[1, 1, 1], [4, 1, 3], [8, 6, 4], [5, 7, 3], [19, 10, 13], [1, 18, 2], [32, 17, 29], [31, 33, 32]] {
        let most = combinations().map(|kinds| compare::<3>(cells, kinds)).max().unwrap();
        println!("{cells:?} {most}");
        assert!(most <= 12, "{cells:?}: {most} iterations");
    }
}

// ------------------------------------------------------------------------------------------------ symmetry

fn dot<const D: usize>(a: &Field<D, f64>, b: &Field<D, f64>) -> f64 {
    cells_of(a.layout()).into_iter().map(|i| a.get_signed(i) * b.get_signed(i)).sum()
}

fn check_symmetry<const D: usize>(problem: &Problem<D, f64>, name: &str) {
    let mut solver = problem.solver();
    let (x, y) = (noise(problem, 1), noise(problem, 2));
    let (mut ax, mut ay) = (problem.zeros(), problem.zeros());
    solver.laplacian(&x, &mut ax);
    solver.laplacian(&y, &mut ay);
    let (a, b, size) = (dot(&x, &ay), dot(&y, &ax), dot(&ax, &ax).sqrt() * dot(&y, &y).sqrt());
    // Sums of up to 1e5 numbers in f64, in two orders.
    assert!((a - b).abs() < 1e-12 * size, "{name}: operator, {a} and {b} of {size}");
    solver.v_cycle(&x, &mut ax);
    solver.v_cycle(&y, &mut ay);
    let (a, b, size) = (dot(&x, &ay), dot(&y, &ax), dot(&ax, &ax).sqrt() * dot(&y, &y).sqrt());
    assert!((a - b).abs() < 1e-12 * size, "{name}: V-cycle, {a} and {b} of {size}");
    assert!(dot(&x, &ax) < 0.0, "{name}: V-cycle");
}

#[test]
fn the_operator_and_the_v_cycle_are_symmetric() {
    for (k, cells) in [[24, 40], [31, 33], [17, 64]].into_iter().enumerate() {
        for kinds in combinations::<2>() {
            let problem = Problem::on(Layout::dense(cells), kinds.map(|k| KINDS[k]), 0.1).with(ball([9.3, 12.1], 5.2));
            check_symmetry(&problem, &format!("2D {k} {kinds:?}"));
        }
    }
    for kinds in [[0, 0, 0], [1, 3, 1], [2, 4, 0], [3, 0, 2], [1, 1, 1]] {
        let sphere = ball([9.3, 12.1, 7.7], 5.2);
        let problem = Problem::on(Layout::dense([19, 24, 17]), kinds.map(|k| KINDS[k]), 0.1).with(sphere);
        check_symmetry(&problem, &format!("3D {kinds:?}"));
    }
    check_symmetry(&ragged_tiles::<2, f64>().with(ball([10.0, -20.0], 25.0)), "2D tiles");
    check_symmetry(&ragged_tiles::<3, f64>().with(ball([10.0, -20.0, 3.0], 14.0)), "3D tiles");
    check_symmetry(&wide_tiles(), "tiles far apart");
}

// ------------------------------------------------------------------------------------------------ accuracy

/// The error, in the 2-norm over open cells, of a potential around a cylinder: `q = cos^4` of the distance to its surface,
/// which is flat there and vanishes before the walls.
fn error_around_a_cylinder(n: usize) -> f64 {
    let (radius, reach, center) = (0.17, 0.25, [0.51, 0.487]);
    let h = 1.0 / n as f64;
    let q_at = |x: f64, y: f64| {
        let s = ((x - center[0]).hypot(y - center[1]) - radius) / reach;
        if s > 1.0 { 0.0 } else { (0.5 * PI * s).cos().powi(4) }
    };
    let gradient = |a: usize, p: [f64; 2]| {
        let d: [f64; 2] = std::array::from_fn(|b| p[b] - center[b]);
        let r = d[0].hypot(d[1]);
        let s = (r - radius) / reach;
        let slope = |s: f64| -4.0 * (0.5 * PI * s).cos().powi(3) * (0.5 * PI * s).sin() * 0.5 * PI / reach;
        if s > 1.0 { 0.0 } else { slope(s) * d[a] / r }
    };
    // The open part of the face from `p`, one cell long, across axis `a`: ends of up to two stretches.
    let stretches = |a: usize, p: [f64; 2]| {
        let (b, d) = (1 - a, p[a] - center[a]);
        let (lo, hi) = (p[b], p[b] + h);
        let half = (radius * radius - d * d).max(0.0).sqrt();
        let (from, to) = ((center[b] - half).clamp(lo, hi), (center[b] + half).clamp(lo, hi));
        [(lo, from), (to, hi)]
    };
    let mut problem = Problem::<2, f64>::on(Layout::dense([n; 2]), [ZERO; 2], h);
    let mut rhs = problem.zeros();
    let corner = |i: [isize; 2]| i.map(|i| i as f64 * h);
    let mut open: VectorField<2, f64> = std::array::from_fn(|a| field(&problem.layout, At::Face(a)));
    for a in 0..2 {
        let mut extended = [n; 2];
        extended[a] += 1;
        for i in indices(extended) {
            let length: f64 = stretches(a, corner(i)).iter().map(|s| s.1 - s.0).sum();
            open[a].set(i.map(|i| i as usize), length / h);
        }
    }
    problem.open = Some(open);
    for i in indices([n; 2]) {
        let mut flux = 0.0;
        for a in 0..2 {
            for step in 0..2 {
                let mut face = i;
                face[a] += step;
                let p = corner(face);
                for (from, to) in stretches(a, p) {
                    // Gauss's rule with two points is exact to the fourth order.
                    for g in [-1.0, 1.0] {
                        let mut at = p;
                        at[1 - a] = 0.5 * (from + to) + 0.5 * (to - from) * g / 3f64.sqrt();
                        flux += (2 * step - 1) as f64 * 0.5 * (to - from) * gradient(a, at);
                    }
                }
            }
        }
        rhs.set(i.map(|i| i as usize), flux / (h * h));
    }
    let mut q = problem.zeros();
    assert!(problem.solver().solve_from(&rhs, &mut q, 1e-10, 100).converged);
    let mut sum = 0.0;
    for i in indices([n; 2]) {
        let [x, y] = i.map(|i| (i as f64 + 0.5) * h);
        if problem.is_unknown(i) && (x - center[0]).hypot(y - center[1]) > radius {
            sum += (q.get_signed(i) - q_at(x, y)).powi(2) * h * h;
        }
    }
    sum.sqrt()
}

#[test]
fn a_potential_around_a_cylinder_is_second_order_accurate() {
    let errors = [64, 128, 256].map(error_around_a_cylinder);
    for pair in errors.windows(2) {
        let order = (pair[0] / pair[1]).log2();
        assert!(order > 1.9, "{errors:?}: order {order}");
    }
}

// ------------------------------------------------------------------------------------------------ solids of all kinds

fn check<const D: usize, T: Number>(problem: &Problem<D, T>, tolerance: f64, name: &str) -> SolveReport {
    let rhs = noise(problem, 5);
    let mut q = noise(problem, 6);
    let report = problem.solver().solve_from(&rhs, &mut q, tolerance, 300);
    let residual = problem.residual(&rhs, &q, true);
    assert!(report.converged, "{name}: {report:?}");
    assert!(residual < 1.5 * tolerance, "{name}: {residual}, {report:?}");
    report
}

/// Closes faces at random: many small rooms, isolated cells, thin walls.
fn porous<const D: usize, T: Number>(mut problem: Problem<D, T>, closed: f64) -> Problem<D, T> {
    let mut random = Random::new(11);
    let mut open: VectorField<D, T> = std::array::from_fn(|a| field(&problem.layout, At::Face(a)));
    for a in 0..D {
        open[a].fill(T::ONE);
        let mut face = |_| if random.next() < 2.0 * closed - 1.0 { T::ZERO } else { T::ONE };
        let values: Vec<T> = (0..problem.layout.cell_count()).map(&mut face).collect();
        open[a].copy_from(&values);
    }
    problem.open = Some(open);
    problem
}

#[test]
fn faces_that_are_open_or_closed_at_random_give_the_right_solution_in_every_room() {
    for kinds in combinations::<2>() {
        let ends = kinds.map(|k| KINDS[k]);
        let problem = porous(Problem::<2, f32>::on(Layout::dense([21, 18]), ends, 0.1), 0.55);
        check(&problem, 1e-4, &format!("2D {kinds:?}"));
    }
    for kinds in [[0, 0, 0], [1, 3, 1], [1, 1, 1], [2, 4, 0]] {
        let ends = kinds.map(|k| KINDS[k]);
        let problem = porous(Problem::<3, f32>::on(Layout::dense([13, 12, 9]), ends, 0.1), 0.75);
        check(&problem, 1e-4, &format!("3D {kinds:?}"));
    }
    check(&porous(ragged_tiles::<2, f32>(), 0.5), 1e-4, "2D tiles");
}

#[test]
fn two_closed_rooms_and_the_pressing_into_them_are_found() {
    // A wall three cells thick divides the box.
    let wall = |p: [f64; 3]| (p[0] - 16.0).abs() - 1.6;
    let problem = Problem::<3, f32>::on(Layout::dense([32, 16, 20]), [Ends::FLAT; 3], 0.1).with(wall);
    let report = check(&problem, 1e-4, "two rooms");
    assert!(report.iterations <= 12, "{report:?}");
    // Noise has a small mean by chance; a source in one room has a large one.
    assert!(report.imbalance < 0.1, "{report:?}");
    let mut rhs = problem.zeros();
    set(&mut rhs, |p| if p[0] < 10.0 { 1.0 } else { 0.0 });
    let report = problem.solver().solve_from(&rhs, &mut problem.zeros(), 1e-4, 300);
    // 9/14.4 of the room is a source: what remains of a field of ones and zeros without its mean.
    assert!(report.imbalance > 0.7, "{report:?}");
}

#[test]
fn thin_walls_with_fluid_on_both_sides_converge() {
    // Plates one cell thick, with gaps.
    let plates = |p: [f64; 3]| {
        let plate = |at: f64, gap: f64| if p[2] > gap { 1.0 } else { (p[1] - at).abs() - 0.6 };
        plate(20.3, 50.0).min(plate(30.8, 40.0)).min(ball([30.0, 50.0, 30.0], 6.0)(p))
    };
    let problem = Problem::<3, f32>::on(Layout::dense([64; 3]), chimney(), 0.1).with(plates);
    let report = check(&problem, 1e-4, "plates");
    println!("plates: {report:?}");
    assert!(report.iterations <= 40, "{report:?}");
}

// ------------------------------------------------------------------------------------------------ tiles

/// A ragged set of tiles around zero, some of which meet in corners only, and one by itself.
fn ragged_tiles<const D: usize, T: Number>() -> Problem<D, T> {
    let mut coords: Vec<[i32; D]> = Vec::new();
    for n in 0..4i32.pow(D as u32) {
        if n * 7919 % 11 < 7 {
            coords.push(std::array::from_fn(|a| n / 4i32.pow(a as u32) % 4 - 2));
        }
    }
    coords.push([5; D]);
    Problem::on(Layout::tiles(coords), [Ends::Unbounded(0.0); D], 0.1)
}

/// A thin, slanted plume of tiles and one tile far away, so that tiles stay tiles over several levels.
fn wide_tiles<T: Number>() -> Problem<3, T> {
    let mut coords = vec![[60, -55, 40]];
    for i in 0..12 {
        coords.extend([[i, i, 0], [i, i + 1, 0], [i, i, 1]]);
    }
    Problem::on(Layout::tiles(coords), [Ends::Unbounded(0.0); 3], 0.1)
}

#[test]
fn a_cube_of_tiles_takes_as_few_iterations_as_a_box() {
    let coords = indices([4; 3]).map(|i| i.map(|i| i as i32 - 1));
    let problem = Problem::<3, f32>::on(Layout::tiles(coords), [Ends::Unbounded(0.0); 3], 1.0 / 64.0);
    let report = check(&problem.with(ball([18.0, 12.0, 20.0], 9.0)), 1e-4, "cube");
    assert!(report.iterations <= 8, "{report:?}");
}

#[test]
fn ragged_tiles_with_and_without_obstacles_are_solved_in_few_iterations() {
    let plain = check(&ragged_tiles::<2, f32>(), 1e-4, "2D");
    let around = check(&ragged_tiles::<2, f32>().with(ball([10.0, -20.0], 25.0)), 1e-4, "2D ball");
    assert!(plain.iterations <= 10 && around.iterations <= 10, "{plain:?} {around:?}");
    let plain = check(&ragged_tiles::<3, f32>(), 1e-4, "3D");
    let around = check(&ragged_tiles::<3, f32>().with(ball([10.0, -20.0, 3.0], 14.0)), 1e-4, "3D ball");
    assert!(plain.iterations <= 10 && around.iterations <= 10, "{plain:?} {around:?}");
    let wide = check(&wide_tiles::<f32>(), 1e-4, "wide");
    assert!(wide.iterations <= 10, "{wide:?}");
}

/// A flat layer of tiles that a floor at this height passes through.
fn tiles_on_a_floor<T: Number>(height: f64) -> Problem<3, T> {
    let coords = indices([6, 2, 4]).map(|i| [i[0] as i32 - 3, i[1] as i32 - 1, i[2] as i32 - 2]);
    Problem::on(Layout::tiles(coords), [Ends::Unbounded(0.0); 3], 0.1).with(move |p: [f64; 3]| p[1] - height)
}

#[test]
fn tiles_that_a_floor_passes_through_are_solved_in_few_iterations() {
    for height in [0.0, 0.3, 5.0, -0.4, -7.3, -14.9] {
        check_symmetry(&tiles_on_a_floor(height), &format!("floor at {height}"));
        let report = check(&tiles_on_a_floor::<f32>(height), 1e-4, &format!("floor at {height}"));
        assert!(report.iterations <= 10, "floor at {height}: {report:?}");
    }
}

// ------------------------------------------------------------------------------------------------ manners

#[test]
fn a_right_side_that_is_not_finite_ends_at_once_and_a_guess_that_is_not_is_dropped() {
    let (problem, rhs) = past_a_sphere::<f32>(16);
    let mut solver = problem.solver();
    for bad in [f32::NAN, f32::INFINITY, f32::MAX] {
        let (mut broken, mut q) = (rhs.clone(), problem.zeros());
        broken.set([3, 3, 3], bad);
        let report = solver.solve_from(&broken, &mut q, 1e-4, 300);
        assert!(!report.converged || bad == f32::MAX, "{bad}: {report:?}");
        assert!(squall_core::ops::max_abs(&q).is_finite(), "{bad}");

        let mut q = problem.zeros();
        q.fill(bad);
        let report = solver.solve_from(&rhs, &mut q, 1e-4, 300);
        assert!(report.converged && problem.residual(&rhs, &q, false) < 1.5e-4, "{bad}: {report:?}");
    }
}

#[test]
fn what_is_solved_already_takes_no_iteration_and_nothing_takes_none() {
    let (problem, rhs) = past_a_sphere::<f32>(32);
    let mut solver = problem.solver();
    let mut q = problem.zeros();
    assert!(solver.solve_from(&rhs, &mut q, 1e-4, 300).iterations > 0);
    let again = solver.solve_from(&rhs, &mut q, 1e-4, 300);
    assert_eq!((again.iterations, again.converged), (0, true));
    let none = solver.solve_from(&problem.zeros(), &mut q, 1e-4, 300);
    assert_eq!((none.iterations, none.converged, squall_core::ops::max_abs(&q)), (0, true, 0.0));
}

#[test]
fn a_tolerance_out_of_reach_of_f32_ends_and_says_so() {
    let (problem, rhs) = past_a_sphere::<f32>(32);
    let mut q = problem.zeros();
    let report = problem.solver().solve_from(&rhs, &mut q, 1e-9, 300);
    assert!(!report.converged && report.iterations < 40, "{report:?}");
    // The floor of f32: about 3e-7 times the cells along an axis.
    assert!(report.residual < 1e-5, "{report:?}");
}

#[test]
fn the_bits_do_not_depend_on_the_number_of_threads() {
    let solve = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let (problem, rhs) = past_a_sphere::<f32>(48);
            let mut q = problem.zeros();
            problem.solver().solve_from(&rhs, &mut q, 1e-4, 300);
            let closed = Problem::<2, f32>::on(Layout::dense([200, 150]), [Ends::FLAT; 2], 0.1);
            let closed = closed.with(|p| (p[0] - 99.0).abs() - 2.0);
            let mut closed_q = closed.zeros();
            closed.solver().solve_from(&noise(&closed, 3), &mut closed_q, 1e-4, 300);
            let tiles = ragged_tiles::<3, f32>();
            let mut tiles_q = tiles.zeros();
            tiles.solver().solve_from(&noise(&tiles, 3), &mut tiles_q, 1e-4, 300);
            let mut bits = Vec::new();
            for values in [crate::common::values(&q), crate::common::values(&closed_q), crate::common::values(&tiles_q)]
            {
                bits.extend(values.into_iter().map(f32::to_bits));
            }
            bits
        })
    };
    let one = solve(1);
    for threads in [2, 3, 7] {
        assert!(solve(threads) == one, "{threads} threads");
    }
}

#[test]
fn moving_obstacles_leave_nothing_behind() {
    let (problem, rhs) = past_a_sphere::<f32>(32);
    let mut solver = problem.solver();
    let moved = Problem::<3, f32>::on(Layout::dense([32; 3]), chimney(), problem.h).with(ball([8.0, 20.0, 12.0], 6.0));
    let (mut fresh, mut used) = (problem.zeros(), problem.zeros());
    moved.solver().solve_from(&rhs, &mut fresh, 1e-4, 300);
    solver.solve_from(&rhs, &mut used, 1e-4, 300);
    solver.set_open_faces(moved.open.as_ref());
    used.fill(0.0);
    solver.solve_from(&rhs, &mut used, 1e-4, 300);
    assert!(crate::common::values(&fresh) == crate::common::values(&used));
}

#[test]
fn far_away_the_solution_is_the_same() {
    let corner = vec![[0, 0], [-1, 0], [0, -1], [-1, -1]];
    let ragged = vec![[0, 0], [-1, 0], [0, -1], [-1, -1], [0, 1], [-1, 1], [0, 2], [-2, 0]];
    let wide = (-9..9).flat_map(|i| [[i, i], [i, i + 1]]).collect();
    for coords in [corner, ragged, wide] {
        let solve = |by: i32| {
            let layout = Layout::tiles(coords.iter().map(|[x, y]| [x + by, y - by]));
            let problem = Problem::<2, f32>::on(layout, [Ends::Unbounded(0.0); 2], 1.0 / 32.0);
            let shift = 32.0 * by as f64;
            let (mut rhs, mut q) = (problem.zeros(), problem.zeros());
            set(&mut rhs, |p| ball([3.0, 5.0], 4.0)([p[0] - shift, p[1] + shift]).min(0.0));
            let report = problem.solver().solve_from(&rhs, &mut q, 1e-4, 300);
            let cells = coords
                .iter()
                .flat_map(|&[x, y]| indices([32; 2]).map(move |i| [i[0] + 32 * x as isize, i[1] + 32 * y as isize]));
            let by = 32 * by as isize;
            let values: Vec<u32> = cells.map(|[x, y]| q.get_signed([x + by, y - by]).to_bits()).collect();
            (values, report)
        };
        let here = solve(0);
        for by in [1, 64, 1000] {
            let there = solve(by);
            let different = here.0.iter().zip(&there.0).filter(|(a, b)| a != b).count();
            assert_eq!(different, 0, "{} tiles, by {by}: {:?} {:?}", coords.len(), here.1, there.1);
        }
    }
}
