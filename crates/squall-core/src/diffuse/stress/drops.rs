//! Rigid motions of drops.
//!
//! A drop that touches nothing moves and turns as a whole without stress, so the operator sees only its mass there, however thick it is. Coarser
//! levels do not have these motions if the drop is smaller than their cells, and the smoother alone would take as many iterations as
//! `nu dt / h^2` has powers of two. So they are solved for directly, drop by drop: `M + R (R^T A R)^-1 R^T`, where the columns of `R` are the motions and
//! `R^T A R` is their matrix of masses. It is symmetric and positive as before.
//!
//! Stresses inside a drop of any size change neither its momentum nor its spin, but a solution that is right to a part in a thousand does: always in the same sense, so
//! that a bar at a million m^2/s lost a tenth of its spin within a third of a turn, won it back, and burst. What has been found is cleared of rigid motions at the end
//! ([`Drops::keep_momentum`]).

use super::level::Operator;
use crate::field::VectorField;
use crate::poisson::multigrid::Number;
use crate::rows::Span;

/// The largest drop, in cells along its longest side: larger ones are seen by coarser levels.
const LONGEST: isize = 12;
/// Below this `nu dt / h^2` the smoother alone is quick enough, and what is found is right.
const THIN: f64 = 1.0;
/// Motions of a drop in 3D: three ways and three turns.
const MOST: usize = 6;

/// The drops of a liquid that touch nothing.
#[derive(Default)]
pub(super) struct Drops<const D: usize> {
    /// Where faces lie, of which component they are, and how far from the middle of their drop.
    faces: Vec<Face<D>>,
    /// Which faces belong to each drop, and the inverse of its masses.
    drops: Vec<Drop>,
    runs: Vec<Run<D>>,
    /// Where the runs of each row begin.
    first: Vec<usize>,
    /// Runs by their roots.
    order: Vec<(usize, usize)>,
    /// Places and masses of the faces of a drop.
    list: Vec<([f64; D], f64)>,
}

struct Face<const D: usize> {
    component: usize,
    place: usize,
    way: [f32; D],
}

struct Drop {
    end: usize,
    /// Whether coarser levels do not see it.
    small: bool,
    inverse: [[f64; MOST]; MOST],
}

/// Neighbouring places with unknowns in a row.
struct Run<const D: usize> {
    index: [isize; D],
    end: isize,
    /// The first run of the same drop that is known.
    root: usize,
}

/// How many motions a drop has.
const fn motions(dimensions: usize) -> usize {
    dimensions + dimensions * (dimensions - 1) / 2
}

/// The motion of a face across `component` at a place, by each way and each turn.
fn motion<const D: usize>(component: usize, way: [f64; D]) -> [f64; MOST] {
    let mut out = [0.0; MOST];
    out[component] = 1.0;
    let mut turn = D;
    for a in 0..D {
        for b in a + 1..D {
            if component == a {
                out[turn] = -way[b];
            } else if component == b {
                out[turn] = way[a];
            }
            turn += 1;
        }
    }
    out
}

fn root<const D: usize>(runs: &mut [Run<D>], mut run: usize) -> usize {
    while runs[run].root != run {
        runs[run].root = runs[runs[run].root].root;
        run = runs[run].root;
    }
    run
}

impl<const D: usize> Drops<D> {
    /// Finds all drops that touch nothing.
    pub fn find<T: Number>(&mut self, operator: &Operator<D, T>) {
        self.faces.clear();
        self.drops.clear();
        self.runs.clear();
        let layout = &operator.layout;
        // What is thin needs no help. Runs would have to be joined across tiles; drops on tiles are left to the smoother.
        let thin = operator.deep.is_some_and(|deep| deep.edge.to_f64() < THIN);
        if thin || layout.as_tiles().is_some() {
            return;
        }
        let Drops { runs, first, order, .. } = self;
        let cells = layout.cells().map(|n| n as isize);
        first.clear();
        for (number, used) in operator.used.iter().enumerate() {
            first.push(runs.len());
            let Span { begin, end } = *used;
            let row = layout.row(number);
            let mut open = false;
            for x in begin as usize..end as usize {
                let some = (0..D).any(|a| operator.inverse[a].data[row.start + x] > T::ZERO);
                if some && !open {
                    let mut index = row.index;
                    index[0] = x as isize;
                    runs.push(Run { index, end: x as isize + 1, root: runs.len() });
                } else if some {
                    runs.last_mut().expect("one is open").end += 1;
                }
                open = some;
            }
        }
        first.push(runs.len());
        // Stresses reach places whose indices differ by one: runs of neighbouring rows join if they come so close.
        let row_of = |index: [isize; D]| (1..D).rev().fold(0, |r, a| r * cells[a] + index[a]) as usize;
        for i in 0..runs.len() {
            let index = runs[i].index;
            for k in 0..3usize.pow(D as u32 - 1) {
                let mut beside = index;
                (1..D).for_each(|a| beside[a] += (k / 3usize.pow(a as u32 - 1) % 3) as isize - 1);
                if (1..D).any(|a| beside[a] < 0 || beside[a] >= cells[a]) || row_of(beside) < row_of(index) {
                    continue;
                }
                let r = row_of(beside);
                for j in first[r]..first[r + 1] {
                    if runs[j].index[0] <= runs[i].end && runs[i].index[0] <= runs[j].end && i != j {
                        let (a, b) = (root(runs, i), root(runs, j));
                        runs[a.max(b)].root = a.min(b);
                    }
                }
            }
        }
        order.clear();
        for i in 0..runs.len() {
            order.push((root(runs, i), i));
        }
        order.sort_unstable();
        let (order, mut begin) = (std::mem::take(order), 0);
        while begin < order.len() {
            let end = begin + order[begin..].iter().take_while(|(r, _)| *r == order[begin].0).count();
            self.enter(operator, &order[begin..end]);
            begin = end;
        }
        self.order = order;
    }

    /// Takes up a drop of some runs, if it is free.
    fn enter<T: Number>(&mut self, operator: &Operator<D, T>, of: &[(usize, usize)]) {
        let (layout, runs) = (&operator.layout, &self.runs);
        let cells = layout.cells().map(|n| n as isize);
        let (mut low, mut high) = ([isize::MAX; D], [isize::MIN; D]);
        for &(_, i) in of {
            for a in 0..D {
                low[a] = low[a].min(runs[i].index[a]);
                high[a] = high[a].max(if a == 0 { runs[i].end - 1 } else { runs[i].index[a] });
            }
        }
        // Beside a side something may hold it, or it goes on at the other end.
        if (0..D).any(|a| low[a] < 2 || high[a] + 2 >= cells[a]) {
            return;
        }
        let small = (0..D).all(|a| high[a] - low[a] < LONGEST);
        let begin = self.faces.len();
        let (mut middle, mut masses) = ([0.0; D], 0.0);
        self.list.clear();
        for &(_, i) in of {
            let run = &runs[i];
            for x in run.index[0]..run.end {
                let mut index = run.index;
                index[0] = x;
                let place = layout.offset(index);
                for a in 0..D {
                    // Something that does not move beside it.
                    let held = |b: usize, step: isize| {
                        let mut beside = index;
                        beside[b] += step;
                        operator.mass[a].data[layout.offset(beside)] < T::ZERO
                    };
                    if (0..D).any(|b| held(b, -1) || held(b, 1)) {
                        self.faces.truncate(begin);
                        return;
                    }
                    if operator.inverse[a].data[place] > T::ZERO {
                        let mass = operator.mass[a].data[place].to_f64();
                        let at: [f64; D] = std::array::from_fn(|b| index[b] as f64 + if a == b { 0.0 } else { 0.5 });
                        (0..D).for_each(|b| middle[b] += mass * at[b]);
                        masses += mass;
                        self.list.push((at, mass));
                        self.faces.push(Face { component: a, place, way: [0.0; D] });
                    }
                }
            }
        }
        let middle = middle.map(|v| v / masses);
        let n = motions(D);
        let mut matrix = [[0.0; MOST]; MOST];
        for (face, (at, mass)) in self.faces[begin..].iter_mut().zip(&self.list) {
            face.way = std::array::from_fn(|b| (at[b] - middle[b]) as f32);
            let m = motion(face.component, face.way.map(f64::from));
            for i in 0..n {
                (0..n).for_each(|j| matrix[i][j] += mass * m[i] * m[j]);
            }
        }
        match inverse(matrix, n) {
            Some(inverse) => self.drops.push(Drop { end: self.faces.len(), small, inverse }),
            None => self.faces.truncate(begin),
        }
    }

    /// `z += R (R^T A R)^-1 R^T r`; returns by how much the sum of `r z` grows.
    pub fn add<T: Number>(&self, r: &VectorField<D, T>, z: &mut VectorField<D, T>) -> f64 {
        let (mut begin, mut sum, n) = (0, 0.0, motions(D));
        let data = z.each_mut().map(|z| z.data_mut());
        for drop in &self.drops {
            let faces = &self.faces[begin..drop.end];
            begin = drop.end;
            if !drop.small {
                continue;
            }
            let mut right = [0.0; MOST];
            for face in faces {
                let m = motion(face.component, face.way.map(f64::from));
                let r = r[face.component].data[face.place].to_f64();
                (0..n).for_each(|i| right[i] += m[i] * r);
            }
            let found: [f64; MOST] = std::array::from_fn(|i| (0..n).map(|j| drop.inverse[i][j] * right[j]).sum());
            sum += (0..n).map(|i| found[i] * right[i]).sum::<f64>();
            for face in faces {
                let m = motion(face.component, face.way.map(f64::from));
                let value: f64 = (0..n).map(|i| m[i] * found[i]).sum();
                data[face.component][face.place] += T::of(value);
            }
        }
        sum
    }

    /// Takes the rigid motion out of a change that stresses inside of drops make.
    pub fn keep_momentum<T: Number>(&self, mass: &VectorField<D, T>, change: &mut VectorField<D, T>) {
        let (mut begin, n) = (0, motions(D));
        let data = change.each_mut().map(|change| change.data_mut());
        for drop in &self.drops {
            let faces = &self.faces[begin..drop.end];
            begin = drop.end;
            let mut gained = [0.0; MOST];
            for face in faces {
                let m = motion(face.component, face.way.map(f64::from));
                let momentum =
                    mass[face.component].data[face.place].to_f64() * data[face.component][face.place].to_f64();
                (0..n).for_each(|i| gained[i] += m[i] * momentum);
            }
            let found: [f64; MOST] = std::array::from_fn(|i| (0..n).map(|j| drop.inverse[i][j] * gained[j]).sum());
            for face in faces {
                let m = motion(face.component, face.way.map(f64::from));
                let value: f64 = (0..n).map(|i| m[i] * found[i]).sum();
                let change = &mut data[face.component][face.place];
                *change = T::of(change.to_f64() - value);
            }
        }
    }
}

/// The inverse of the first `n` rows and columns of a symmetric positive matrix (Gauss and Jordan); `None` if there is none, as of a drop of a
/// single face, which cannot turn.
fn inverse(matrix: [[f64; MOST]; MOST], n: usize) -> Option<[[f64; MOST]; MOST]> {
    let (mut a, mut out) = (matrix, [[0.0; MOST]; MOST]);
    (0..n).for_each(|i| out[i][i] = 1.0);
    let largest = (0..n).map(|i| a[i][i]).fold(0.0, f64::max);
    for i in 0..n {
        if a[i][i] <= 1e-9 * largest {
            return None;
        }
        let per = 1.0 / a[i][i];
        for j in 0..n {
            a[i][j] *= per;
            out[i][j] *= per;
        }
        for k in (0..n).filter(|&k| k != i) {
            let factor = a[k][i];
            for j in 0..n {
                a[k][j] -= factor * a[i][j];
                out[k][j] -= factor * out[i][j];
            }
        }
    }
    // Symmetric to the last bit.
    Some(std::array::from_fn(|i| std::array::from_fn(|j| 0.5 * (out[i][j] + out[j][i]))))
}
