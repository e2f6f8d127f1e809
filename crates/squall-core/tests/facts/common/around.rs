//! Small shapes and a small solver for tests of flow around solids.
#![allow(dead_code, missing_docs)]

use squall_core::poisson::{Domain, PoissonSolver, Unsuitable};
use squall_core::project::Projection;
use squall_core::solid::*;
use squall_core::*;

/// A ball that flies straight on.
#[derive(Clone)]
pub struct Ball<const D: usize> {
    pub center: [f64; D],
    pub radius: f64,
    pub velocity: [f64; D],
}

impl<const D: usize> Ball<D> {
    fn at(&self, t: f64) -> [f64; D] {
        std::array::from_fn(|a| self.center[a] + t * self.velocity[a])
    }
}

impl<const D: usize> Shape<D> for Ball<D> {
    fn distance(&self, x: [f64; D], t: f64) -> f64 {
        let c = self.at(t);
        (0..D).map(|a| (x[a] - c[a]).powi(2)).sum::<f64>().sqrt() - self.radius
    }
    fn velocity(&self, _: [f64; D], _: f64) -> [f64; D] {
        self.velocity
    }
    fn bounds(&self, t: f64) -> Option<([f64; D], [f64; D])> {
        Some((self.at(t).map(|c| c - self.radius), self.at(t).map(|c| c + self.radius)))
    }
    fn moves(&self) -> bool {
        self.velocity != [0.0; D]
    }
}

/// Everything below a plane that flies straight on.
#[derive(Clone)]
pub struct HalfSpace<const D: usize> {
    pub point: [f64; D],
    pub normal: [f64; D],
    pub velocity: [f64; D],
}

impl<const D: usize> Shape<D> for HalfSpace<D> {
    fn distance(&self, x: [f64; D], t: f64) -> f64 {
        (0..D).map(|a| (x[a] - self.point[a] - t * self.velocity[a]) * self.normal[a]).sum()
    }
    fn velocity(&self, _: [f64; D], _: f64) -> [f64; D] {
        self.velocity
    }
    fn bounds(&self, _: f64) -> Option<([f64; D], [f64; D])> {
        None
    }
    fn moves(&self) -> bool {
        self.velocity != [0.0; D]
    }
}

/// A flat plate without end, of any thickness, that flies straight on.
#[derive(Clone)]
pub struct Plate<const D: usize> {
    pub half_space: HalfSpace<D>,
    pub thickness: f64,
}

impl<const D: usize> Shape<D> for Plate<D> {
    fn distance(&self, x: [f64; D], t: f64) -> f64 {
        self.half_space.distance(x, t).abs() - 0.5 * self.thickness
    }
    fn velocity(&self, x: [f64; D], t: f64) -> [f64; D] {
        self.half_space.velocity(x, t)
    }
    fn bounds(&self, _: f64) -> Option<([f64; D], [f64; D])> {
        None
    }
    fn moves(&self) -> bool {
        self.half_space.moves()
    }
}

/// A box with edges along the axes that flies straight on.
#[derive(Clone)]
pub struct Brick<const D: usize> {
    pub center: [f64; D],
    pub half: [f64; D],
    pub velocity: [f64; D],
}

impl<const D: usize> Shape<D> for Brick<D> {
    fn distance(&self, x: [f64; D], t: f64) -> f64 {
        let out: [f64; D] =
            std::array::from_fn(|a| (x[a] - self.center[a] - t * self.velocity[a]).abs() - self.half[a]);
        let outside = out.iter().map(|o| o.max(0.0).powi(2)).sum::<f64>().sqrt();
        outside + out.iter().copied().fold(f64::NEG_INFINITY, f64::max).min(0.0)
    }
    fn velocity(&self, _: [f64; D], _: f64) -> [f64; D] {
        self.velocity
    }
    fn bounds(&self, t: f64) -> Option<([f64; D], [f64; D])> {
        let at = |sign: f64| std::array::from_fn(|a| self.center[a] + t * self.velocity[a] + sign * self.half[a]);
        Some((at(-1.0), at(1.0)))
    }
    fn moves(&self) -> bool {
        self.velocity != [0.0; D]
    }
}

/// A direction, made one long.
pub fn unit<const D: usize>(v: [f64; D]) -> [f64; D] {
    let length = v.iter().map(|v| v * v).sum::<f64>().sqrt();
    v.map(|v| v / length)
}

/// One obstacle in its place.
pub fn single<const D: usize>(
    grid: &Grid<D>,
    shape: impl Shape<D> + 'static,
    friction: f64,
    boundary: Boundary,
) -> Solids<D> {
    let obstacle = Obstacle { friction, ..Obstacle::new("it", Box::new(shape)) };
    let mut solids = Solids::new(grid, vec![obstacle], boundary).unwrap();
    solids.update(grid, 0.0);
    solids
}

/// A staggered velocity with the ends of the grid's own.
pub fn faces<const D: usize>(grid: &Grid<D>, f: impl Fn(usize, [f64; D]) -> f64 + Sync) -> VectorField<D> {
    std::array::from_fn(|a| {
        let mut u = Field::new(grid.cells, At::Face(a), grid.velocity_ends(a)).unwrap();
        u.set_from(grid, |x| f(a, x));
        u.set_end_faces();
        u.fill_halo();
        u
    })
}

/// All indices of cells.
pub fn cells<const D: usize>(grid: &Grid<D>) -> impl Iterator<Item = [usize; D]> + use<D> {
    let n = grid.cells;
    (0..n.iter().product::<usize>()).map(move |mut i| {
        n.map(|n| {
            let k = i % n;
            i /= n;
            k
        })
    })
}

pub fn shifted<const D: usize>(index: [usize; D], a: usize, by: isize) -> [isize; D] {
    let mut index = index.map(|i| i as isize);
    index[a] += by;
    index
}

/// Conjugate gradients in double precision for the pressure around solids.
pub struct ConjugateGradients<const D: usize> {
    /// Links of each cell: weight, and neighbour, or none for a value of zero on the face.
    links: Vec<Vec<(f64, Option<usize>)>>,
    /// Which part of the fluid a cell is in, and whether parts feel an open side.
    part: Vec<Option<usize>>,
    anchored: Vec<bool>,
}

impl<const D: usize> ConjugateGradients<D> {
    pub fn new(grid: &Grid<D>, solids: &Solids<D>) -> Self {
        let number = |index: [isize; D]| (0..D).rev().fold(0, |k, a| k * grid.cells[a] + index[a] as usize);
        let mut links = vec![Vec::new(); grid.cell_count()];
        for index in cells(grid) {
            let i = number(index.map(|i| i as isize));
            for a in 0..D {
                let n = grid.cells[a] as isize;
                for side in [0, 1] {
                    let open = solids.open()[a].get_signed(shifted(index, a, side)) as f64;
                    let weight = open / grid.spacing[a].powi(2);
                    let mut neighbour = shifted(index, a, 2 * side - 1);
                    if weight == 0.0 {
                        continue;
                    }
                    let outside = neighbour[a] < 0 || neighbour[a] == n;
                    match grid.pressure_ends()[a] {
                        Ends::Bounded { lo, hi } if outside => {
                            if (if side == 0 { lo } else { hi }) != End::Flat {
                                links[i].push((2.0 * weight, None));
                            }
                        }
                        _ => {
                            neighbour[a] = neighbour[a].rem_euclid(n);
                            links[i].push((weight, Some(number(neighbour))));
                        }
                    }
                }
            }
        }
        let (mut part, mut anchored) = (vec![None; links.len()], Vec::new());
        for start in 0..links.len() {
            if part[start].is_some() || links[start].is_empty() {
                continue;
            }
            let mut stack = vec![start];
            part[start] = Some(anchored.len());
            let mut feels = false;
            while let Some(i) = stack.pop() {
                for &(_, to) in &links[i] {
                    match to {
                        None => feels = true,
                        Some(j) if part[j].is_none() => {
                            part[j] = part[start];
                            stack.push(j);
                        }
                        Some(_) => {}
                    }
                }
            }
            anchored.push(feels);
        }
        ConjugateGradients { links, part, anchored }
    }

    /// How many parts the fluid has.
    pub fn parts(&self) -> usize {
        self.anchored.len()
    }

    /// The part that a cell is in.
    pub fn part_of(&self, grid: &Grid<D>, index: [usize; D]) -> Option<usize> {
        self.part[(0..D).rev().fold(0, |k, a| k * grid.cells[a] + index[a])]
    }

    fn drop_means(&self, v: &mut [f64]) {
        for p in 0..self.anchored.len() {
            let of_part: Vec<usize> = (0..v.len()).filter(|&i| self.part[i] == Some(p)).collect();
            let mean = of_part.iter().map(|&i| v[i]).sum::<f64>() / of_part.len() as f64;
            if !self.anchored[p] {
                of_part.iter().for_each(|&i| v[i] -= mean);
            }
        }
    }

    pub fn solve(&self, rhs: &Field<D>, q: &mut Field<D>) -> SolveReport {
        let mut values = Vec::new();
        rhs.copy_to(&mut values);
        // The operator with its sign changed is positive.
        let mut r: Vec<f64> =
            values.iter().zip(&self.part).map(|(&v, p)| if p.is_some() { -v as f64 } else { 0.0 }).collect();
        self.drop_means(&mut r);
        let diagonal: Vec<f64> = self.links.iter().map(|l| l.iter().map(|l| l.0).sum::<f64>().max(1e-300)).collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let start = dot(&r, &r).sqrt();
        let mut x = vec![0.0; r.len()];
        let mut z: Vec<f64> = r.iter().zip(&diagonal).map(|(r, d)| r / d).collect();
        let mut p = z.clone();
        let mut rz = dot(&r, &z);
        let mut iterations = 0;
        while dot(&r, &r).sqrt() > 1e-10 * start && iterations < 5000 {
            let ap: Vec<f64> = (0..p.len())
                .map(|i| self.links[i].iter().map(|&(w, j)| w * (p[i] - j.map_or(0.0, |j| p[j]))).sum())
                .collect();
            let alpha = rz / dot(&p, &ap);
            for i in 0..x.len() {
                x[i] += alpha * p[i];
                r[i] -= alpha * ap[i];
                z[i] = r[i] / diagonal[i];
            }
            let next = dot(&r, &z);
            for i in 0..p.len() {
                p[i] = z[i] + next / rz * p[i];
            }
            rz = next;
            iterations += 1;
        }
        self.drop_means(&mut x);
        let values: Vec<f32> = x.iter().map(|&x| x as f32).collect();
        q.copy_from(&values);
        SolveReport {
            iterations,
            residual: dot(&r, &r).sqrt() / start.max(1e-300),
            converged: iterations < 5000,
            ..SolveReport::default()
        }
    }
}

/// A solver that is a function of the right side.
pub struct SolvedBy<F>(pub F);

impl<const D: usize, F: FnMut(&Field<D>, &mut Field<D>) -> SolveReport + Send> PoissonSolver<D> for SolvedBy<F> {
    fn improve(&mut self, rhs: &mut Field<D>, q: &mut Field<D>, _: f64) -> SolveReport {
        self.0(rhs, q)
    }

    fn set(&mut self, _: Domain<'_, D>) -> Result<(), Unsuitable> {
        Ok(())
    }

    fn describe(&self) -> String {
        "a function".to_owned()
    }
}

/// Projects around solids with conjugate gradients.
pub fn project<const D: usize>(
    grid: &Grid<D>,
    u: &mut VectorField<D>,
    solids: &mut Solids<D>,
) -> squall_core::project::Projected {
    let mut q = Field::new(grid.cells, At::Center, grid.pressure_ends()).unwrap();
    let mut spare = [Field::like(&q).unwrap(), Field::like(&q).unwrap()];
    spare.iter_mut().for_each(|f| f.fill(f32::NAN));
    let solver = ConjugateGradients::new(grid, solids);
    let mut solver = SolvedBy(|rhs: &Field<D>, q: &mut Field<D>| solver.solve(rhs, q));
    Projection::new(grid, &mut solver).around(solids).faces(u, &mut q, &mut spare)
}
