//! Where the fluid in each cell came from: paths traced back through a velocity field.
//!
//! A path starts at a cell centre and ends a displacement `d` away, in cells. For a staggered field every component is
//! interpolated from its own faces, so that the path follows the field that is exactly free of divergence.

use crate::Real;
use crate::field::VectorField;
use crate::grid::{At, Grid};
use crate::layout::Row;
use crate::ops::each;
use crate::sample::{AxisRule, CHUNK, Chunk, Isa, Lanes, Located, Points, Windows, gather};

/// How paths are traced.
///
/// | tracer | samples | use |
/// |---|---|---|
/// | `Rk2` | 1 + 1 | midpoint rule: steps of up to about 3 cells |
/// | `Rk3` | 1 + 2 | Ralston's third-order rule: longer steps; does not spiral outward in a solid rotation |
/// | `Adaptive` | as needed | halves the step, up to 16 parts, only where the velocity gradient is high |
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tracer {
    /// `Rk2` for steps of up to three cells, `Rk3` above.
    Auto,
    /// The midpoint rule.
    Rk2,
    /// Ralston's third-order rule.
    Rk3,
    /// The midpoint rule in parts, as in the paper: one part where `dt |grad u| <= 1/4`, elsewhere doubled until two
    /// successive results agree to a tenth of a cell.
    Adaptive,
}

impl Tracer {
    /// Settles `Auto`, given the largest distance travelled along one axis, in cells.
    pub fn resolve(self, cfl: f64) -> Tracer {
        match self {
            Tracer::Auto if cfl > 3.0 => Tracer::Rk3,
            Tracer::Auto => Tracer::Rk2,
            other => other,
        }
    }
}

/// What tracing one chunk works in.
pub(crate) struct Work<const D: usize> {
    /// Displacements, in cells.
    pub d: [Lanes; D],
    /// Velocities.
    k: [Lanes; D],
    /// The displacements that the velocities at the start alone would give.
    pub start: [Lanes; D],
    located: Located<D>,
    /// Of the velocity that is traced through; on tiles.
    pub windows: Windows<D>,
}

impl<const D: usize> Work<D> {
    pub fn new() -> Self {
        Work {
            d: [[0.0; CHUNK]; D],
            k: [[0.0; CHUNK]; D],
            start: [[0.0; CHUNK]; D],
            located: Located::new(),
            windows: Windows::new(),
        }
    }
}

/// Traces through one velocity field for one time step.
pub(crate) struct Paths<'a, const D: usize> {
    u: &'a VectorField<D>,
    /// In a box.
    pub rules: [AxisRule; D],
    /// How far paths reach around each tile, in cells; on tiles.
    reach: &'a [u8],
    /// `-dt / h` per axis: turns a velocity into a displacement in cells.
    scale: [Real; D],
    tracer: Tracer,
    pub isa: Isa,
}

impl<'a, const D: usize> Paths<'a, D> {
    /// Paths back in time by `dt` (forward if `dt` is negative). The ghosts of `u` must be filled. On tiles, `reach` must
    /// say how far paths reach around each of them.
    pub fn new(u: &'a VectorField<D>, grid: &Grid<D>, dt: f64, tracer: Tracer, isa: Isa, reach: &'a [u8]) -> Self {
        let scale = grid.spacing.map(|h| (-dt / h) as Real);
        Paths { u, rules: u[0].rules(false).of_box(u[0].cells()), reach, scale, tracer, isa }
    }

    /// On tiles, fetches the velocity around the tile of a row.
    #[inline(always)]
    pub fn enter(&self, row: Row<'_, D>, work: &mut Work<D>) {
        if row.on_tiles() {
            work.windows.enter(row, self.reach, self.u[0].rules(false), self.u.iter());
        }
    }

    /// Leaves in `work.d` the displacement of every cell of a chunk.
    #[inline(always)]
    pub fn displacement(&self, row: Row<'_, D>, chunk: Chunk<D>, work: &mut Work<D>) {
        self.at_centers(row, chunk, work);
        for a in 0..D {
            let (start, k) = (&mut work.start[a][..chunk.lanes], &work.k[a][..chunk.lanes]);
            for l in 0..start.len() {
                start[l] = self.scale[a] * k[l];
            }
        }
        match self.tracer {
            Tracer::Rk2 | Tracer::Auto => {
                self.move_by(0.5, chunk, work);
                self.sample(chunk, work);
                self.move_by(1.0, chunk, work);
            }
            Tracer::Rk3 => {
                let k1 = work.k;
                self.move_by(0.5, chunk, work);
                self.sample(chunk, work);
                let k2 = work.k;
                self.move_by(0.75, chunk, work);
                self.sample(chunk, work);
                for a in 0..D {
                    for l in 0..chunk.lanes {
                        let k = 2.0 * k1[a][l] + 3.0 * k2[a][l] + 4.0 * work.k[a][l];
                        work.d[a][l] = self.scale[a] * k * (1.0 / 9.0);
                    }
                }
            }
            Tracer::Adaptive => self.adaptive(row, chunk, work),
        }
    }

    /// `k` = velocities at the centres of the chunk's cells.
    #[inline(always)]
    fn at_centers(&self, row: Row<'_, D>, chunk: Chunk<D>, work: &mut Work<D>) {
        for (a, u) in self.u.iter().enumerate() {
            let here = chunk.of(u.run(row));
            let k = &mut work.k[a][..chunk.len];
            if u.at() == At::Face(a) && !row.on_tiles() {
                let next = &u.row(row.up(a))[chunk.x..][..k.len()];
                for l in 0..k.len() {
                    k[l] = 0.5 * (here[l] + next[l]);
                }
            } else if u.at() == At::Face(a) {
                u.beside(row, a, 1, chunk.x, k);
                for l in 0..k.len() {
                    k[l] = 0.5 * (here[l] + k[l]);
                }
            } else {
                k.copy_from_slice(here);
            }
        }
    }

    /// `d` = the displacement by `part` of a step with velocity `k`.
    #[inline(always)]
    fn move_by(&self, part: Real, chunk: Chunk<D>, work: &mut Work<D>) {
        for a in 0..D {
            let s = self.scale[a] * part;
            let (d, k) = (&mut work.d[a][..chunk.lanes], &work.k[a][..chunk.lanes]);
            for l in 0..d.len() {
                d[l] = s * k[l];
            }
        }
    }

    /// `k` = velocities at the points displaced by `d`.
    #[inline(always)]
    fn sample(&self, chunk: Chunk<D>, work: &mut Work<D>) {
        let Work { d, k, located, windows, .. } = work;
        let staggered = self.u[0].at() == At::Face(0);
        let on_tiles = !self.reach.is_empty();
        let (rules, layout) =
            if on_tiles { (&windows.rules, &windows.layout) } else { (&self.rules, self.u[0].layout()) };
        for c in 0..D {
            if c == 0 || staggered {
                let on_face = |a: usize| staggered && a == c;
                let points = each(|a| if on_face(a) { Points::CenterToFace } else { Points::CenterToCenter });
                located.find(layout, rules, chunk, (d.each_ref(), [Real::INFINITY; D]), points);
            }
            let from = if on_tiles { windows.corners(c) } else { self.u[c].corners() };
            gather(self.isa, from, &located.places, &located.frac, &mut k[c]);
        }
    }

    /// One midpoint step where the velocity gradient is low; elsewhere as many as it takes.
    fn adaptive(&self, row: Row<'_, D>, chunk: Chunk<D>, work: &mut Work<D>) {
        const LOW: Real = 0.25;
        const TOLERANCE: Real = 0.1;
        const MAX_LEVEL: u32 = 4;

        self.move_by(0.5, chunk, work);
        self.sample(chunk, work);
        self.move_by(1.0, chunk, work);
        let mut best = work.d;
        let gradient = self.gradient(row, chunk);
        let mut open: [bool; CHUNK] = each(|l| l < chunk.len && gradient[l] > LOW);
        for level in 1..=MAX_LEVEL {
            if !open.contains(&true) {
                break;
            }
            self.in_parts(chunk, 1 << level, work);
            for l in 0..chunk.len {
                if !open[l] {
                    continue;
                }
                let change = (0..D).map(|a| (work.d[a][l] - best[a][l]).abs()).fold(0.0, max_or_nan);
                for a in 0..D {
                    best[a][l] = work.d[a][l];
                }
                open[l] = change > TOLERANCE;
            }
        }
        work.d = best;
    }

    /// `dt` times the largest entry of the velocity gradient, in cells per cell.
    fn gradient(&self, row: Row<'_, D>, chunk: Chunk<D>) -> Lanes {
        let mut g = [0.0; CHUNK];
        let (mut up, mut down) = ([0.0; CHUNK], [0.0; CHUNK]);
        for (c, u) in self.u.iter().enumerate() {
            for a in 0..D {
                u.beside(row, a, 1, chunk.x, &mut up[..chunk.len]);
                u.beside(row, a, -1, chunk.x, &mut down[..chunk.len]);
                for l in 0..chunk.len {
                    let slope = 0.5 * self.scale[c] * (up[l] - down[l]);
                    g[l] = max_or_nan(g[l], slope.abs());
                }
            }
        }
        g
    }

    /// `d` = the displacement traced in equal parts.
    fn in_parts(&self, chunk: Chunk<D>, parts: u32, work: &mut Work<D>) {
        let part = 1.0 / parts as Real;
        let mut d = [[0.0; CHUNK]; D];
        let moved = |d: &[Lanes; D], k: &[Lanes; D], part: Real| -> [Lanes; D] {
            each(|a| each(|l| d[a][l] + part * self.scale[a] * k[a][l]))
        };
        for _ in 0..parts {
            work.d = d;
            self.sample(chunk, work);
            work.d = moved(&d, &work.k, 0.5 * part);
            self.sample(chunk, work);
            d = moved(&d, &work.k, part);
        }
        work.d = d;
    }
}

fn max_or_nan(a: Real, b: Real) -> Real {
    if a > b || a.is_nan() { a } else { b }
}
