//! Surface tension: on the surface the pressure is `p = sigma kappa`, with `kappa` the curvature (Laplace).
//!
//! That makes a pressure of its own in the liquid, `lap p = 0` with `p = sigma kappa` on the surface (by the ghost fluid method of Gibou et al. 2002), and it
//! pushes like gravity. It is solved for by itself, roughly, as the projection takes away what is left, and it stays out of the pressure that is remembered
//! from step to step: there the largest part of it is constant inside and drops to nothing over the last part of a cell, which threw
//! particles out of resting drops.
//!
//! Curvatures are second derivatives, and the surface around particles is bumpy by a tenth of a cell. So they are taken from how full cells
//! are, blurred with a standard deviation of two cells (`PASSES` times 1/4, 1/2, 1/4): around a ball that keeps spheres spheres, and waves
//! 30 cells long are seen 8 % too flat. A drop that touches nothing cannot push itself: what such curvatures would give it in all is taken away again
//! ([`Drops`]; two drops that merged flew off as fast as waves run). What solids cover counts neither as full nor as empty, so the surface meets them and the walls at right angles.

use crate::Real;
use crate::field::{Field, OutOfMemory, Pad, VectorField};
use crate::grid::{At, Axis, Grid};
use crate::layout::Row;
use crate::level_set::{self, LEAST_THETA, SLIVER};
use crate::rows;
use crate::solid::Solids;

/// The density of the liquid, in kg/m^3: that of water.
pub const DENSITY: f64 = 1000.0;

/// To which part the pressure is found: the projection takes away what is left of the divergence.
pub(super) const TOLERANCE: f64 = 1e-3;

/// How often cells are blurred; each time adds half a cell squared to the variance.
const PASSES: usize = 8;

/// The logistic function of this width is as steep as the blurred edge of a liquid, whose standard deviation is two cells.
const WIDTH: f64 = 2.0 / 1.702;

/// Where how full cells are changes by less than this over a cell, nothing is near.
const LEAST_SLOPE: f64 = 1e-4;

/// Particles that are further outside than others, by more than half a cell, are pulled back as by a bump of this times that height, in cells: what is
/// smaller than what is blurred has no curvature of its own, and drops lost particle after particle.
const BUMP: f64 = 0.25;

/// The longest step that waves on the surface allow: of the shortest, two cells long, none goes further than it is long.
pub(super) fn longest_step(tension: f64, h: f64) -> f64 {
    (DENSITY * h.powi(3) / (4.0 * std::f64::consts::PI * tension)).sqrt()
}

/// The pressure on the surface.
pub(super) struct Tension<const D: usize> {
    /// In cells beside the surface, over the density; ghosts filled.
    pressure: Field<D>,
    /// What it makes inside, less what it is on the surface.
    inside: Field<D>,
    full: Field<D>,
    next: Field<D>,
    /// How much of what is around a cell solids leave.
    around: Field<D>,
    /// The gradient of all of it.
    pull: VectorField<D>,
    drops: Drops<D>,
}

/// Connected parts of a liquid.
#[derive(Default)]
struct Drops<const D: usize> {
    /// The part that each cell belongs to, where fields have its value; 0 where there is no liquid.
    part: Vec<u32>,
    /// The cells of the present one.
    cells: Vec<[isize; D]>,
}

impl<const D: usize> Tension<D> {
    pub fn new(grid: &Grid<D>, faces: &VectorField<D>) -> Result<Self, OutOfMemory> {
        let layout = faces[0].layout();
        let field = || Field::on(layout, At::Center, grid.flat_ends(0.0));
        Ok(Tension {
            pressure: field()?,
            inside: field()?,
            full: field()?,
            next: field()?,
            around: field()?,
            pull: super::like(faces)?,
            drops: Drops::default(),
        })
    }

    /// The pressure that tension makes in the liquid, over the density.
    pub fn inside(&self) -> &Field<D> {
        &self.inside
    }

    /// Finds the pressure on the surface, which lies `outside` metres inside of where `phi` is zero. `count` adds to each cell how full it is.
    pub fn find(
        &mut self,
        tension: f64,
        (h, outside): (f64, f64),
        phi: &Field<D>,
        solids: Option<&Solids<D>>,
        count: impl FnOnce(&mut Field<D>) -> Result<(), OutOfMemory>,
    ) -> Result<(), OutOfMemory> {
        let Self { pressure, full, next, around, .. } = self;
        full.fill(0.0);
        count(full)?;
        // Crowds are no more liquid than is there.
        full.par_rows(|_, full| full.iter_mut().for_each(|full| *full = full.min(1.0)));
        blur(full, next);
        if let Some(solids) = solids {
            around.copy_all(solids.volume());
            blur(around, next);
            let around = &*around;
            full.par_rows(|row, full| {
                full.iter_mut().zip(around.row(row)).for_each(|(full, around)| *full /= around.max(0.05));
            });
        }
        full.fill_halo();
        let full = &*full;
        let outside = outside / h;
        let k = tension / (DENSITY * h);
        pressure.par_rows(|row, pressure| {
            pressure.fill(0.0);
            for_each_beside_surface(phi, row, |x| {
                let mut cell = row.index;
                cell[0] += x as isize;
                let found = curvature(full, row, cell);
                // Where the cell is, from the middle of the blurred edge: about the logistic function of the same width.
                let part = f64::from(full.get_near(row, cell)).clamp(1e-3, 1.0 - 1e-3);
                let away = WIDTH * ((1.0 - part) / part).ln();
                // Further outside spheres are larger: the curvature is that of the liquid's own surface.
                let inwards = 1.0 - (away * found / (D - 1) as f64).clamp(-1.0, 0.5);
                let bump = if phi.row(row)[x] < 0.0 { BUMP * (away - outside - 0.5).max(0.0) } else { 0.0 };
                let most = (D - 1) as f64;
                pressure[x] = (k * (found / inwards + bump).clamp(-most, most)) as Real;
            });
        });
        pressure.fill_halo();
        Ok(())
    }

    /// Finds the gradient of the pressure that tension makes. `solve(rhs, p)` finds `lap p = rhs` with zero on the surface; `rhs` and `other` may be
    /// anything. Needs the ghosts of `phi`.
    pub fn gradient(
        &mut self,
        surface: (&Field<D>, Option<&VectorField<D>>, f64),
        rhs: &mut Field<D>,
        other: &mut VectorField<D>,
        solve: impl FnOnce(&mut Field<D>, &mut Field<D>),
    ) {
        let (phi, open, h) = surface;
        jump(&self.pressure, surface, &mut self.pull);
        let g = &mut self.pull;
        // lap p = -div of what the surface makes of the gradient.
        let (jump, inv_h) = (&*g, (-1.0 / h) as Real);
        rhs.par_rows(|row, rhs| {
            rhs.fill(0.0);
            for a in 0..D {
                let (mut pad, mut other) = (Pad::default(), Pad::default());
                let (low, high) = (jump[a].row(row), jump[a].up(row, a, &mut pad));
                let open = open.map(|open| (open[a].row(row), open[a].up(row, a, &mut other)));
                for x in 0..rhs.len() {
                    let (below, above) = open.map_or((1.0, 1.0), |(low, high)| (low[x], high[x]));
                    rhs[x] += inv_h * (above * high[x] - below * low[x]);
                }
            }
            rhs.iter_mut().zip(phi.row(row)).filter(|(_, phi)| **phi >= 0.0).for_each(|(rhs, _)| *rhs = 0.0);
        });
        self.inside.fill(0.0);
        solve(rhs, &mut self.inside);
        self.inside.fill_halo();
        level_set::gradient(&self.inside, phi, open, h, other);
        for (g, other) in g.iter_mut().zip(other) {
            g.par_rows(|row, g| g.iter_mut().zip(other.row(row)).for_each(|(g, other)| *g += other));
        }
    }

    /// The gradient, less its mean over the liquid of each drop that touches neither sides nor solids; `full` says how full cells are.
    pub fn balance(
        &mut self,
        grid: &Grid<D>,
        (phi, full): (&Field<D>, &Field<D>),
        solids: Option<&Solids<D>>,
    ) -> &VectorField<D> {
        let g = &mut self.pull;
        let layout = phi.layout().clone();
        let joined = grid.axes.map(|axis| axis == Axis::Periodic);
        let sides: [[isize; 2]; D] = std::array::from_fn(|a| [layout.begin(a), layout.end(a)]);
        let mut place = layout.cursor();
        let Drops { part, cells } = &mut self.drops;
        part.clear();
        part.resize(layout.storage(), 0);
        // The cell beside, if there is one.
        let beside = |mut at: [isize; D], a: usize, step: isize| {
            at[a] += step;
            if joined[a] {
                at[a] = at[a].rem_euclid(sides[a][1]);
            }
            (sides[a][0]..sides[a][1]).contains(&at[a]).then_some(at)
        };
        let mut name = 0;
        for seed in (0..layout.rows()).flat_map(|r| {
            let first = layout.row(r).index;
            (0..layout.cells()[0]).map(move |x| {
                let mut at = first;
                at[0] += x as isize;
                at
            })
        }) {
            let there = place.offset(seed);
            if part[there] != 0 || phi.data()[there] >= 0.0 {
                continue;
            }
            name += 1;
            part[there] = name;
            cells.clear();
            cells.push(seed);
            let (mut sum, mut weights, mut touches, mut next) = ([0.0; D], 0.0, false, 0);
            while let Some(&at) = cells.get(next) {
                next += 1;
                let here = place.offset(at);
                let weight = f64::from(full.data()[here]);
                weights += weight;
                touches |= solids.is_some_and(|solids| solids.volume().data()[here] < 1.0);
                for a in 0..D {
                    for step in [-1, 1] {
                        let Some(other) = beside(at, a, step) else {
                            touches = true;
                            continue;
                        };
                        let there = place.offset(other);
                        let face = if step < 0 { here } else { there };
                        sum[a] += 0.5 * weight * f64::from(g[a].data()[face]);
                        if part[there] == 0 && phi.data()[there] < 0.0 {
                            part[there] = name;
                            cells.push(other);
                        }
                    }
                }
            }
            if touches || weights == 0.0 {
                continue;
            }
            for a in 0..D {
                let mean = (sum[a] / weights) as Real;
                let data = g[a].data_mut();
                for &at in &*cells {
                    data[place.offset(at)] -= mean;
                    // The upper face belongs to the cell above, if that is of the same drop. Tiles reach further than drops.
                    if let Some(above) =
                        beside(at, a, 1).map(|above| place.offset(above)).filter(|&above| part[above] != name)
                    {
                        data[above] -= mean;
                    }
                }
            }
        }
        &self.pull
    }
}

/// Blurs a field, [`PASSES`] times along each axis.
fn blur<const D: usize>(field: &mut Field<D>, next: &mut Field<D>) {
    for a in (0..PASSES * D).map(|k| k % D) {
        field.fill_halo();
        let now = &*field;
        next.par_rows(|row, next| {
            let mut pads = [Pad::default(); 2];
            let [low, high] = &mut pads;
            let (low, here, high) = (now.down(row, a, low), now.row(row), now.up(row, a, high));
            for x in 0..next.len() {
                next[x] = 0.5 * here[x] + 0.25 * (low[x] + high[x]);
            }
        });
        field.swap_values(next);
    }
}

/// What the pressure on the surface adds to the gradient of one that is zero there, on faces between liquid and air.
fn jump<const D: usize>(
    pressure: &Field<D>,
    (phi, open, h): (&Field<D>, Option<&VectorField<D>>, f64),
    g: &mut VectorField<D>,
) {
    let inv_h = (1.0 / h) as Real;
    g.iter_mut().for_each(|g| g.fill(0.0));
    rows::for_each(g.each_mut(), |row, faces| {
        for (a, face) in faces.into_iter().enumerate() {
            let (mut pad_phi, mut pad_p) = (Pad::default(), Pad::default());
            let (phi_low, phi_high) = (phi.down(row, a, &mut pad_phi), phi.row(row));
            let (p_low, p_high) = (pressure.down(row, a, &mut pad_p), pressure.row(row));
            let open = open.map(|open| open[a].row(row));
            for x in 0..face.len() {
                let (low, high) = (phi_low[x] < 0.0, phi_high[x] < 0.0);
                if low == high || open.is_some_and(|open| open[x] <= SLIVER) {
                    continue;
                }
                // How much of the way from the lower to the upper cell lies below the surface.
                let part = phi_low[x] / (phi_low[x] - phi_high[x]);
                let p = p_low[x] + part * (p_high[x] - p_low[x]);
                let (theta, sign) = if low { (part, 1.0) } else { (1.0 - part, -1.0) };
                face[x] = sign * inv_h * p / theta.max(LEAST_THETA);
            }
        }
    });
    g.iter_mut().for_each(Field::fill_halo);
}

/// Calls `f` for the cells of a row that have one beside them on the other side of the surface.
fn for_each_beside_surface<const D: usize>(phi: &Field<D>, row: Row<'_, D>, mut f: impl FnMut(usize)) {
    let here = phi.row(row);
    let mut beside = [false; 256];
    for begin in (0..here.len()).step_by(256) {
        let len = (here.len() - begin).min(256);
        beside[..len].fill(false);
        for a in 0..D {
            let (mut pad, mut other) = (Pad::default(), Pad::default());
            let (low, high) = (phi.down(row, a, &mut pad), phi.up(row, a, &mut other));
            for x in 0..len {
                let inside = here[begin + x] < 0.0;
                beside[x] |= (low[begin + x] < 0.0) != inside || (high[begin + x] < 0.0) != inside;
            }
        }
        (0..len).filter(|&x| beside[x]).for_each(|x| f(begin + x));
    }
}

/// `-div (grad c / |grad c|)` at a cell, times the cell size: the curvature of the surface of which `c` is more on the inside, positive for balls.
fn curvature<const D: usize>(c: &Field<D>, row: Row<'_, D>, cell: [isize; D]) -> f64 {
    let at = |by: [isize; D]| f64::from(c.get_near(row, std::array::from_fn(|a| cell[a] + by[a])));
    let unit = |a: usize, s: isize| -> [isize; D] { std::array::from_fn(|b| s * isize::from(a == b)) };
    let both = |a: usize, s: isize, b: usize, t: isize| -> [isize; D] {
        std::array::from_fn(|c| s * isize::from(a == c) + t * isize::from(b == c))
    };
    let here = at([0; D]);
    let first: [f64; D] = std::array::from_fn(|a| 0.5 * (at(unit(a, 1)) - at(unit(a, -1))));
    let square: f64 = first.iter().map(|d| d * d).sum();
    if square < LEAST_SLOPE * LEAST_SLOPE {
        return 0.0;
    }
    // |grad c|^3 div (grad c / |grad c|) = |grad c|^2 lap c - grad c . H grad c.
    let mut sum = 0.0;
    for a in 0..D {
        let second = at(unit(a, 1)) + at(unit(a, -1)) - 2.0 * here;
        sum += second * (square - first[a] * first[a]);
        for b in 0..a {
            let mixed =
                0.25 * (at(both(a, 1, b, 1)) + at(both(a, -1, b, -1)) - at(both(a, 1, b, -1)) - at(both(a, -1, b, 1)));
            sum -= 2.0 * mixed * first[a] * first[b];
        }
    }
    -sum / (square * square.sqrt())
}
