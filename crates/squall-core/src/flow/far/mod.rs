//! Free space around an unbounded grid.
//!
//! Outside of the tiles the flow is a potential flow: the wind, and what the vorticity inside makes of it. Two things follow
//! for what the tiles know of the outside.
//!
//! **Pressure at the edge.** With `k = (|u|^2 - |U|^2) / 2` the sum `P = p + k` is harmonic outside (Bernoulli), so it is the
//! field in free space of the charges `b = div(du/dt without pressure) + lap k` inside, which lie where vorticity and forces
//! are: `P(x) = sum of b(y) G(x - y) h^D` ([`tree`]). That is summed up on the sides of the box around the tiles, and `lap P = b`
//! solved in it ([`Far::solve_around`]). Around solids, and where the box would be mostly empty, it is summed up in the outermost
//! cells, which then hold `p = P - k`, and the pressure solver finds the rest ([`Far::hold_edge`]).
//!
//! **Velocity at the edge.** Paths that come from outside bring nothing that is known. But in a potential flow `u . grad u =
//! grad k`, so faces within reach of the outside (the ring) are not advected at all: `u* = u - dt grad k`. Tiles that appear
//! get the velocity of the vorticity in the others (Biot & Savart), `u = U + curl A`, `A = -sum of curl u G h^D`, on edges, so
//! that it has no divergence; and the pressure of the charges `lap (p + k)` in the others.
//!
//! Solids are charges, too: where they are, `P` is continued by its mean beside them, and its Laplacian differs from `b` along their surface.
//! The difference that the last step found is what this one adds. A wall that reaches out of the tiles along a whole plane
//! acts by mirror images instead.
//!
//! Difference from direct sums at every point (James 1977 and later): none that matters, see `docs/quality.md`.

pub mod tree;

use super::follow::{Air, Edge, each_bit};
use super::{Flow, vector};
use crate::Real;
use crate::field::{Field, OutOfMemory, Pad, VectorField};
use crate::grid::{At, Ends, Grid, Side};
use crate::layout::{Layout, MAX_TILE, Row, TILE_RUN, tile_width};
use crate::ops::each;
use crate::poisson::AroundTiles;
use crate::rows;
use crate::sample::Isa;
use crate::solid::{BAND, Solids};
use smallvec::SmallVec;
use tree::{Mirror, Points, Tree};

type Mirrors = SmallVec<[Mirror; 4]>;

/// What solids add to the charges may be this many times the others, in all: around a ball that moves away from all sides it is up to 3 times.
const MOST_INDUCED: f64 = 4.0;

/// What is known of the outside of some tiles, and what is needed to find it.
pub(super) struct Far<const D: usize> {
    ring: Ring<D>,
    /// `(|v|^2 - |U|^2) / 2` at cell centres, of the velocity that paths were last traced through.
    head: Field<D>,
    /// The velocity of the ring before it was advected.
    kept: VectorField<D>,
    tree: Tree<D>,
    /// The outermost cells; the faces on the sides of the box around the tiles. Each is found when it is first needed, as a
    /// solver looks at one of them.
    edge: Vec<Points<D>>,
    sides: Vec<Points<D>>,
    /// Rows with an outermost cell in them or beside them.
    beside_edge: Vec<bool>,
    /// For how long paths were last traced; and for how long the velocity was advected along them, and the pressure pushed,
    /// since the last projection.
    traced: f64,
    advected: f64,
    pushed: f64,
    /// What flows out of open sides in the ring adds to the charges, per second; `None` if there are no open sides. (There the pressure is zero, and
    /// `P = k`; where something enters, that was at rest outside, and `P` is zero.)
    leaving: Option<Field<D>>,
    /// What solids added to the charges in the last step, per second; if the flow starts at once, as a whole.
    induced: Option<Field<D>>,
    /// Whether the flow starts at once, in no time.
    starts: bool,
}

impl<const D: usize> Far<D> {
    pub fn on(layout: &Layout<D>, grid: &Grid<D>, edge: &Edge<D>, isa: Isa) -> Result<Self, OutOfMemory> {
        // In a mirror `k` looks the same.
        let ends = grid.flat_ends(0.0);
        let is_open = grid.axes.iter().filter_map(|axis| axis.sides()).flatten().any(|side| side == Side::Open);
        let leaving = if is_open { Some(Field::on(layout, At::Center, ends)?) } else { None };
        let near = |r: usize| {
            let row = layout.row(r);
            let has = |row: Row<'_, D>| row.tile().is_some() && edge.cells[layout.row_number(row)] != 0;
            has(row) || (1..D).any(|a| has(row.up(a)) || has(row.down(a))) || {
                let n = tile_width::<D>() as isize;
                has(row.shifted(0, n)) || has(row.shifted(0, -n))
            }
        };
        Ok(Far {
            ring: Ring::of(layout, grid, edge, 2),
            head: Field::on(layout, At::Center, ends)?,
            kept: vector(|c| Field::on(layout, At::Face(c), ends))?,
            tree: Tree::on(layout, isa),
            edge: Vec::new(),
            sides: Vec::new(),
            beside_edge: (0..layout.rows()).map(near).collect(),
            traced: 0.0,
            advected: 0.0,
            pushed: 0.0,
            leaving,
            induced: None,
            starts: false,
        })
    }

    /// The next projections start the flow at once, or no longer do. What solids add to the charges is known only from the projection before;
    /// whether there are solids, so that it takes several.
    pub fn start_at_once(&mut self, starts: bool) -> bool {
        self.starts = starts;
        self.induced.as_mut().map(|f| f.fill(0.0)).is_some()
    }

    /// Faces across an axis that are in the ring, as one bit for each place of a row, for each row.
    pub fn ring(&self, a: usize) -> &[u64] {
        &self.ring.faces[a]
    }

    /// For how long solids have added to the charges since the last projection.
    fn induced_for(&self) -> f64 {
        if self.starts { 1.0 } else { self.advected }
    }

    /// Paths may come from this many cells away.
    pub fn set_reach(&mut self, layout: &Layout<D>, grid: &Grid<D>, edge: &Edge<D>, cells: usize) {
        let width = (cells + 1).clamp(2, tile_width::<D>() / 2);
        if width != self.ring.width {
            self.ring = Ring::of(layout, grid, edge, width);
        }
    }

    /// Looks at what flows out of open sides.
    fn note_what_leaves(&mut self, v: &VectorField<D>, h: f64) {
        let Some(leaving) = &mut self.leaving else { return };
        leaving.fill(0.0);
        let double_layer = (2.0 / (h * h)) as Real;
        for (a, v) in v.iter().enumerate() {
            for open in &mut self.ring.on_open_sides[a] {
                let leaves = open.outwards * v.data[open.face] > 0.0;
                open.head = if leaves { self.head.data[open.cell] } else { 0.0 };
                leaving.data[open.cell] -= double_layer * open.head;
            }
        }
    }

    /// Everything that goes on with other tiles.
    pub fn take_over(&mut self, old: Self, layout: &Layout<D>) -> Result<(), OutOfMemory> {
        self.induced = old.induced;
        self.induced.as_mut().map_or(Ok(()), |f| f.move_to(layout, 0.0))
    }

    /// What solids added to the charges, to be saved; `None` if there are none.
    pub fn induced(&mut self) -> Option<&mut Field<D>> {
        self.induced.as_mut()
    }
}

impl<const D: usize> Flow<D> {
    /// Paths have been traced through `v` (the present velocity if there is none) for `dt` seconds.
    pub(super) fn note_head(&mut self, lent: bool, dt: f64) {
        let Some(air) = Air::of(&mut self.following) else { return };
        let v = if lent { &*self.scratch.lend() } else { &self.velocity };
        set_head(&mut air.far.head, v, self.options.wind);
        air.far.note_what_leaves(v, self.grid.spacing[0]);
        air.far.traced = dt;
    }

    /// The pressure has pushed for `dt` seconds.
    pub(super) fn note_push(&mut self, dt: f64) {
        if let Some(air) = Air::of(&mut self.following) {
            air.far.pushed += dt;
        }
    }

    /// Keeps the velocity in the ring.
    pub(super) fn keep_ring(&mut self) {
        let Some(air) = Air::of(&mut self.following) else { return };
        let (far, layout) = (&mut air.far, &self.layout);
        for (c, kept) in far.kept.iter_mut().enumerate() {
            let (u, bits) = (&self.velocity[c], &far.ring.faces[c]);
            kept.par_rows(|row, kept| {
                if bits[layout.row_number(row)] != 0 {
                    kept.copy_from_slice(u.row(row));
                }
            });
            for open in &far.ring.on_open_sides[c] {
                kept.data[open.face] = u.data[open.face];
            }
        }
    }

    /// The velocity in the ring as it was kept; if it was advected, less `dt grad k`.
    pub(super) fn restore_ring(&mut self, advected: bool) {
        let Some(air) = Air::of(&mut self.following) else { return };
        let (far, layout) = (&mut air.far, &self.layout);
        let scale = if advected { (far.traced / self.grid.spacing[0]) as Real } else { 0.0 };
        for (c, u) in self.velocity.iter_mut().enumerate() {
            let (kept, head, bits) = (&far.kept[c], &far.head, &far.ring.faces[c]);
            u.par_rows(|row, u| {
                let bits = bits[layout.row_number(row)];
                if bits == 0 {
                    return;
                }
                let mut pad = Pad::default();
                let (kept, high, low) = (kept.row(row), head.row(row), head.down(row, c, &mut pad));
                let restored = |x: usize| kept[x] - scale * (high[x] - low[x]);
                if bits.count_ones() as usize == u.len() {
                    (0..u.len()).for_each(|x| u[x] = restored(x));
                } else {
                    each_bit(bits, |x| u[x] = restored(x));
                }
            });
            for open in &far.ring.on_open_sides[c] {
                // From the centre of the cell it is half a cell to the side.
                let change = 2.0 * (open.head - head.data[open.cell]);
                u.data[open.face] = kept.data[open.face] - scale * open.outwards * change;
            }
            u.forget_ghosts();
        }
        if advected {
            far.advected += far.traced;
            self.absorb_vorticity();
            self.smooth_the_edge();
            self.limit_ring();
        }
    }

    /// The ring is no faster than what moves it, the fluid inside, solids and sides: in a potential flow every component is largest there.
    /// What feeds on itself ends here.
    fn limit_ring(&mut self) {
        const LANES: usize = 16;
        let wind = self.options.wind;
        let solids = self.solids().map_or(0.0, |s| s.max_speed());
        let sides = self.grid.fastest_side() * self.grid.spacing[0];
        let Flow { velocity, layout, following, .. } = self;
        let Some(air) = Air::of(following) else { return };
        let (ring, last) = (&air.far.ring, &air.edge.last);
        let inside = |c: usize, u: &Field<D>| {
            let of_row = |row: Row<'_, D>| {
                let r = layout.row_number(row);
                let outside = ring.faces[c][r] | last[c][r];
                if outside.count_ones() as usize == tile_width::<D>() {
                    return None;
                }
                // Lanes, so that it is done with vectors.
                let mut most = [0.0; LANES];
                for (n, u) in u.row(row).chunks_exact(LANES).enumerate() {
                    for l in 0..LANES {
                        let there = outside >> (n * LANES + l) & 1 == 0;
                        let speed = if there { (u[l] - wind[c]).abs() } else { 0.0 };
                        most[l] = if speed > most[l] { speed } else { most[l] };
                    }
                }
                Some(most.into_iter().fold(0.0, Real::max))
            };
            rows::reduce(layout, of_row, |a: Option<Real>, b| a.map_or(b, |a| Some(a.max(b.unwrap_or(0.0)))))
        };
        let found = (0..D).filter_map(|c| inside(c, &velocity[c])).reduce(Real::max);
        let Some(found) = found else { return };
        // Past a solid air is some times as fast as that.
        let most = found.max(2.0 * solids.max(sides) as Real);
        for (c, u) in velocity.iter_mut().enumerate() {
            let (least, most) = (wind[c] - most, wind[c] + most);
            u.par_rows(|row, u| {
                each_bit(ring.faces[c][layout.row_number(row)], |x| u[x] = u[x].clamp(least, most));
            });
        }
    }

    /// Vorticity in the ring fades, `u -= a h^2 curl curl u`, which leaves a potential flow as it is: the ring is not advected, so
    /// vorticity that came there with a new edge would stay and feed the inside forever.
    fn absorb_vorticity(&mut self) {
        let Flow { grid, velocity, obstacles, layout, following, .. } = self;
        let Some(air) = Air::of(following) else { return };
        let (ring, curl) = (&air.far.ring, &mut air.far.kept);
        let solids = obstacles.as_ref().map(|o| &o.solids);
        let (h, inv_h) = (grid.spacing[0], (1.0 / grid.spacing[0]) as Real);
        let n = tile_width::<D>();
        // One field in 2D, for the axis across the plane.
        let axis = |k: usize| if D == 3 { k } else { 2 };
        let count = if D == 3 { D } else { 1 };
        for (k, curl) in curl.iter_mut().enumerate().take(count) {
            let (velocity, axis) = (&*velocity, axis(k));
            curl.par_runs(|row, out| {
                let first = layout.row_number(row);
                if ring.nodes[k][first..first + out.len() / n].iter().all(|bits| *bits == 0) {
                    return out.fill(0.0);
                }
                let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
                let mut below = [0.0; TILE_RUN];
                velocity[c].beside(row, b, -1, 0, &mut below[..out.len()]);
                let high = velocity[c].run(row);
                (0..out.len()).for_each(|x| out[x] = inv_h * (high[x] - below[x]));
                velocity[b].beside(row, c, -1, 0, &mut below[..out.len()]);
                let high = velocity[b].run(row);
                (0..out.len()).for_each(|x| out[x] -= inv_h * (high[x] - below[x]));
                for (r, out) in (first..).zip(out.chunks_exact_mut(n)) {
                    // Along a solid there is vorticity that belongs there.
                    keep_bits(ring.nodes[k][r] & away_from(solids, h, layout.row(r)), out);
                }
            });
            curl.relabel(At::Center, [Ends::Unbounded(0.0); D]);
            curl.fill_halo();
        }
        let curl = &*curl;
        // All of the shortest waves.
        let rate = (h / (4 * D) as f64) as Real;
        for (c, u) in velocity.iter_mut().enumerate() {
            let (a, b) = ((c + 1) % 3, (c + 2) % 3);
            u.par_runs(|row, u| {
                let first = layout.row_number(row);
                if !ring.touched[first..first + u.len() / n].contains(&true) {
                    return;
                }
                for (of, along, sign) in [(b, a, rate), (a, b, -rate)] {
                    let Some(k) = (0..count).find(|&k| axis(k) == of && along < D) else { continue };
                    let mut next = [0.0; TILE_RUN];
                    curl[k].beside(row, along, 1, 0, &mut next[..u.len()]);
                    let here = curl[k].run(row);
                    (0..u.len()).for_each(|x| u[x] -= sign * (next[x] - here[x]));
                }
            });
        }
    }

    /// The same for what has no curl: `P` jumps a little from tile to tile, and a projection does not look at the outermost cells, so
    /// single faces between them would speed up without end. A fourth difference along the edge, `u -= d^4 u / 16`, takes short
    /// waves and leaves waves of 32 cells as they are but for 1e-4.
    fn smooth_the_edge(&mut self) {
        let Flow { grid, velocity, obstacles, layout, following, .. } = self;
        let Some(air) = Air::of(following) else { return };
        let solids = obstacles.as_ref().map(|o| &o.solids);
        let h = grid.spacing[0];
        for (c, u) in velocity.iter_mut().enumerate() {
            let (before, bits, looked_at) = (&mut air.far.kept[c], &air.edge.along[c], &air.edge.near_along[c]);
            before.par_rows(|row, before| {
                if looked_at[layout.row_number(row)] {
                    before.copy_from_slice(u.row(row));
                }
            });
            let before = &*before;
            u.par_rows(|row, u| {
                let bits = bits[layout.row_number(row)] & away_from(solids, h, row);
                if bits == 0 {
                    return;
                }
                // Rows beside this one along the axis; along x the same one.
                let rows = [-2, -1, 0, 1, 2].map(|by| before.row(if c == 0 { row } else { row.shifted(c, by) }));
                each_bit(bits, |x| {
                    let at = |by: isize| {
                        if c > 0 {
                            return rows[(by + 2) as usize][x];
                        }
                        let x = x as isize + by;
                        if (0..u.len() as isize).contains(&x) {
                            return rows[2][x as usize];
                        }
                        let mut index = row.index;
                        index[0] += x;
                        before.get_near(row, index)
                    };
                    u[x] -= (at(-2) + at(2) - 4.0 * (at(-1) + at(1)) + 6.0 * at(0)) / 16.0;
                });
            });
        }
    }

    /// Beyond the outermost cells there is nothing but wind.
    pub(super) fn calm_the_outside(&mut self) {
        if let Some(air) = Air::of(&mut self.following) {
            air.edge.calm(&mut self.velocity, self.options.wind);
        }
    }

    /// What the velocity and the pressure are on tiles that are to appear; `None` if they are the wind and zero.
    pub(super) fn look_outside(&mut self, new: &Layout<D>) -> Option<Outside<D>> {
        let old = self.layout.as_tiles()?;
        let fresh: Vec<[i32; D]> =
            new.as_tiles()?.coords().iter().copied().filter(|&c| old.find(c).is_none()).collect();
        let Flow { grid, velocity, pressure, obstacles, layout, following, .. } = self;
        let far = &mut Air::of(following)?.far;
        if fresh.is_empty() {
            return None;
        }
        velocity.iter_mut().for_each(|u| u.fill_halo());
        set_head(&mut far.head, velocity, self.options.wind);
        far.note_what_leaves(velocity, grid.spacing[0]);
        let Far { tree, head, ring, leaving, .. } = far;
        let solids = obstacles.as_ref().map(|o| &o.solids);
        let mirrors = mirrors(grid, solids);
        let h2 = grid.spacing[0] * grid.spacing[0];
        let mut points: Vec<Points<D>> = fresh.iter().flat_map(|&c| nodes_of(c)).collect();
        let mut outside = Outside { fresh, stream: Default::default(), pressure: Vec::new() };
        let mut any = false;
        for (a, stream) in outside.stream.iter_mut().enumerate().filter(|&(a, _)| D == 3 || a == 2) {
            tree.set(layout, |row, out| vorticity(grid, velocity, solids, a, row, out));
            any |= !tree.is_empty();
            tree.sum(&mirrors_of_vorticity::<D>(&mirrors, a), &mut points);
            *stream = collect(&points, -h2);
        }
        let whole = &mut self.potential;
        add_up(whole, &[(1.0, &*pressure), (1.0, &*head)], solids);
        whole.fill_halo();
        let whole = &self.potential;
        tree.set(layout, |row, out| {
            laplacian(whole, None, grid.spacing[0], row, out);
            only_what_leaves(ring.cells[layout.row_number(row)], (leaving, 1.0), row, out);
        });
        any |= !tree.is_empty();
        tree.sum(&mirrors, &mut points);
        outside.pressure = collect(&points, h2);
        any.then_some(outside)
    }

    /// Gives tiles that have appeared their velocity and pressure.
    pub(super) fn fill_fresh_tiles(&mut self, outside: &Outside<D>) {
        let Some(air) = Air::of(&mut self.following) else { return };
        let n = tile_width::<D>();
        let inv_h = 1.0 / self.grid.spacing[0];
        let all: Vec<[usize; D]> = places(n + 1).collect();
        for (t, coords) in outside.fresh.iter().enumerate() {
            for &i in &all {
                let cell: [isize; D] = each(|a| (coords[a] as isize * n as isize) + i[a] as isize);
                // The first faces of the tile behind belong to this one, too.
                for c in (0..D).filter(|&c| (0..D).all(|a| a == c || i[a] < n)) {
                    let curl = outside.curl(t, c, i) * inv_h;
                    let u = self.options.wind[c] + curl as Real;
                    self.velocity[c].set_signed(cell, u);
                    self.before[c].set_signed(cell, u);
                }
            }
        }
        for u in [&mut self.velocity, &mut self.before] {
            air.edge.calm(u, self.options.wind);
            u.iter_mut().for_each(|u| u.set_end_faces());
            u.iter_mut().for_each(|u| u.fill_halo());
        }
        let head = &mut air.far.head;
        set_head(head, &self.velocity, self.options.wind);
        for (t, coords) in outside.fresh.iter().enumerate() {
            for i in places::<D>(n) {
                let cell = each(|a| (coords[a] as isize * n as isize) + i[a] as isize);
                self.pressure.set_signed(cell, outside.pressure[outside.at(t, i)] as Real - head.get_signed(cell));
            }
        }
    }
}

/// What the outside does to a projection.
impl<const D: usize> Far<D> {
    /// Makes room for what solids do.
    pub fn allow_solids(&mut self, layout: &Layout<D>) -> Result<(), OutOfMemory> {
        if self.induced.is_none() {
            self.induced = Some(Field::on(layout, At::Center, [Ends::Unbounded(0.0); D])?);
        }
        Ok(())
    }

    /// Forgets what was done since the last projection: a step was not finished.
    pub fn forget_step(&mut self) {
        (self.pushed, self.advected) = (0.0, 0.0);
    }

    /// Finds the values of the potential in the outermost cells, puts them into `held` and nothing else there, and what follows
    /// for the cells beside into the right side.
    pub fn hold_edge(
        &mut self,
        grid: &Grid<D>,
        outermost: &Edge<D>,
        pressure: &Field<D>,
        solids: Option<&Solids<D>>,
        rhs: &mut Field<D>,
        held: &mut Field<D>,
    ) {
        let layout = &rhs.layout().clone();
        let (h, time, induced_for) = (grid.spacing[0], self.advected as Real, self.induced_for() as Real);
        add_up(held, &self.done(pressure), None);
        held.fill_halo();
        if self.edge.is_empty() {
            self.edge = points_of(layout, outermost);
        }
        let Far { ring, tree, edge, beside_edge, induced, leaving, .. } = self;
        let (done, right) = (&*held, &*rhs);
        let charges = |row: Row<'_, D>, out: &mut [Real]| {
            laplacian(done, solids, h, row, out);
            out.iter_mut().zip(right.row(row)).for_each(|(out, r)| *out += r);
        };
        // No more than a few times what acts on them: near a side that cuts them, they would answer to themselves.
        let counted = induced.as_ref().filter(|_| !self.starts).map_or(1.0, |induced| {
            let sizes = |row: Row<'_, D>| {
                let mut out = [0.0; MAX_TILE];
                let out = &mut out[..tile_width::<D>()];
                charges(row, out);
                only_what_leaves(ring.cells[layout.row_number(row)], (leaving, time), row, out);
                let size = |row: &[Real]| row.iter().map(|v| f64::from(v.abs())).sum::<f64>();
                [size(out), f64::from(induced_for) * size(induced.row(row))]
            };
            let [own, added] = rows::reduce(layout, sizes, |a, b| [a[0] + b[0], a[1] + b[1]]);
            if added > MOST_INDUCED * own { MOST_INDUCED * own / added } else { 1.0 }
        });
        let induced_for = induced_for * counted as Real;
        tree.set(layout, |row, out| {
            charges(row, out);
            if let Some(induced) = induced.as_ref().filter(|_| solids.is_some_and(|s| s.is_near(row))) {
                out.iter_mut().zip(induced.row(row)).for_each(|(out, i)| *out += induced_for * i);
            }
            only_what_leaves(ring.cells[layout.row_number(row)], (leaving, time), row, out);
        });
        tree.sum(&mirrors(grid, solids), edge);
        if let (Some(induced), Some(solids)) = (induced, solids) {
            // Less what is known; `finish_edge` adds the rest.
            induced.par_rows(|row, out| match solids.is_near(row) {
                true => charges(row, out),
                false => out.fill(0.0),
            });
        }
        for points in edge.iter_mut() {
            points.each_with(layout, |at, value| *value = (h * h) as Real * *value - done.data[at]);
        }
        held.fill(0.0);
        for points in edge.iter_mut() {
            points.each_with(layout, |at, value| held.data[at] = *value);
        }
        let held = &*held;
        rhs.par_rows(|row, rhs| {
            if beside_edge[layout.row_number(row)] {
                let mut out = [0.0; MAX_TILE];
                let out = &mut out[..rhs.len()];
                neighbours(held, solids, h, row, out);
                rhs.iter_mut().zip(out).for_each(|(r, o)| *r -= *o);
            }
        });
    }

    /// Puts the values of the outermost cells into the potential, and learns what solids add to the charges.
    pub fn finish_edge(
        &mut self,
        grid: &Grid<D>,
        pressure: &Field<D>,
        solids: Option<&Solids<D>>,
        q: &mut Field<D>,
        spare: &mut Field<D>,
    ) {
        let layout = &q.layout().clone();
        for points in &mut self.edge {
            points.each_with(layout, |at, value| q.data[at] = *value);
        }
        let time = self.induced_for();
        if let (Some(solids), true) = (solids, time > 0.0) {
            let [pushed, advected] = self.done(pressure);
            add_up(spare, &[pushed, advected, (1.0, &*q)], Some(solids));
            let (h, inv_time, whole) = (grid.spacing[0], (1.0 / time) as Real, &*spare);
            let mirrors = mirrors(grid, Some(solids));
            let ring = &self.ring;
            let induced = self.induced.as_mut().expect("solids are allowed");
            induced.par_rows(|row, out| {
                if !solids.is_near(row) {
                    return;
                }
                let mut all = [0.0; MAX_TILE];
                let all = &mut all[..out.len()];
                laplacian(whole, None, h, row, all);
                for (x, (out, all)) in out.iter_mut().zip(all).enumerate() {
                    let other = is_cut(solids, row, x) && !is_at_a_mirror(solids, &mirrors, h, row, x);
                    *out = if other { inv_time * (*all - *out) } else { 0.0 };
                }
                // What is not counted must not be made up for elsewhere: with what the rest of a solid in the ring adds, a solid that left
                // the tiles was driven by itself.
                each_bit(ring.cells[layout.row_number(row)], |x| out[x] = 0.0);
            });
            neutralise(induced);
        } else if let Some(induced) = &mut self.induced {
            induced.fill(0.0);
        }
        self.forget_step();
    }

    /// Finds the potential in free space where there are no solids: `P`, of which nothing is charged outside of the tiles, in the box
    /// around them, given on its sides by the sum over charges; less what has been done already.
    pub fn solve_around(
        &mut self,
        grid: &Grid<D>,
        outermost: &Edge<D>,
        pressure: &Field<D>,
        (rhs, space): (&Field<D>, &mut AroundTiles<D>),
        q: &mut Field<D>,
        done: &mut Field<D>,
    ) {
        let layout = &rhs.layout().clone();
        let h = grid.spacing[0];
        add_up(done, &self.done(pressure), None);
        done.fill_halo();
        let (done, leaving, time) = (&*done, &self.leaving, self.advected as Real);
        space.set(|row, out| {
            laplacian(done, None, h, row, out);
            out.iter_mut().zip(rhs.row(row)).for_each(|(out, r)| *out += r);
            only_what_leaves(outermost.cells[layout.row_number(row)], (leaving, time), row, out);
        });
        if self.sides.is_empty() {
            self.sides = space.along_sides().map(points_on).collect();
        }
        let Far { ring, tree, sides, leaving, .. } = self;
        tree.set(layout, |row, out| {
            out.copy_from_slice(space.row(row));
            only_what_leaves(ring.cells[layout.row_number(row)], (leaving, time), row, out);
        });
        tree.sum(&mirrors(grid, None), sides);
        for points in sides {
            points.cells().zip(&points.values).for_each(|(cell, sum)| space.prescribe(cell, (h * h) as Real * sum));
        }
        space.solve();
        q.par_rows(|row, q| {
            let (whole, done) = (space.row(row), done.row(row));
            (0..q.len()).for_each(|x| q[x] = whole[x] - done[x]);
        });
        self.forget_step();
    }

    /// What the pressure and advection have done already, as a potential.
    fn done<'a>(&'a self, pressure: &'a Field<D>) -> [(Real, &'a Field<D>); 2] {
        [(self.pushed as Real, pressure), (self.advected as Real, &self.head)]
    }
}

/// In these cells of a row there are no charges but those of what leaves through open sides, for a time.
fn only_what_leaves<const D: usize>(
    bits: u64,
    (leaving, time): (&Option<Field<D>>, Real),
    row: Row<'_, D>,
    out: &mut [Real],
) {
    match leaving {
        None => each_bit(bits, |x| out[x] = 0.0),
        Some(leaving) => each_bit(bits, |x| out[x] = time * leaving.row(row)[x]),
    }
}

/// The outermost cells, by tiles.
fn points_of<const D: usize>(layout: &Layout<D>, edge: &Edge<D>) -> Vec<Points<D>> {
    let tiles = layout.as_tiles().expect("tiles");
    let rows = layout.rows_per_part();
    let points = |t: usize| {
        let mut places = Vec::new();
        for r in 0..rows {
            let local = layout.row(t * rows + r).index.map(|i| (i & (tile_width::<D>() as isize - 1)) as u8);
            each_bit(edge.cells[t * rows + r], |x| {
                let mut place = local;
                place[0] = x as u8;
                places.push(place);
            });
        }
        (!places.is_empty()).then(|| Points::new(tiles.coords()[t], places))
    };
    (0..tiles.coords().len()).filter_map(points).collect()
}

/// The middles of the faces of a tile on one side, each with the cell inside.
fn points_on<const D: usize>((a, upper, coords): (usize, bool, [i32; D])) -> Points<D> {
    let n = tile_width::<D>();
    let layer = if upper { n - 1 } else { 0 };
    let cells = places::<D>(n).filter(|p| p[a] == layer).map(|p| p.map(|i| i as u8)).collect();
    let out = if upper { 0.5 } else { -0.5 };
    Points::new(coords, cells).shifted(each(|b| if b == a { out } else { 0.0 }))
}

/// Cells of a row that no solid touches, as bits.
fn away_from<const D: usize>(solids: Option<&Solids<D>>, h: f64, row: Row<'_, D>) -> u64 {
    let Some(distances) = solids.and_then(|s| s.distances_near(row)) else { return u64::MAX };
    let far = (1.5 * h) as Real;
    distances.iter().enumerate().fold(0, |bits, (x, d)| bits | u64::from(*d > far) << x)
}

/// Whether a face of a cell is not wide open.
fn is_cut<const D: usize>(solids: &Solids<D>, row: Row<'_, D>, x: usize) -> bool {
    let mut index = row.index;
    index[0] += x as isize;
    (0..D).any(|a| {
        let mut next = index;
        next[a] += 1;
        let open = &solids.open()[a];
        open.get_near(row, index) < 1.0 || open.get_near(row, next) < 1.0
    })
}

/// Whether the solid that is nearest to a cell is a mirror.
fn is_at_a_mirror<const D: usize>(solids: &Solids<D>, mirrors: &[Mirror], h: f64, row: Row<'_, D>, x: usize) -> bool {
    let distance = solids.distance().row(row)[x] as f64 / h;
    mirrors.iter().any(|m| {
        let at = row.index[m.axis] as f64 + if m.axis == 0 { x as f64 } else { 0.0 };
        // On whichever side; a deep inside is cut off.
        distance.abs() + 0.05 >= (at - m.at).abs().min(BAND)
    })
}

/// The ring: cells and faces within reach of the outside, as one bit for each place of a row, for each row.
struct Ring<const D: usize> {
    width: usize,
    cells: Vec<u64>,
    /// Faces of these cells, but for those with nothing below.
    faces: [Vec<u64>; D],
    /// Lower edges along each axis that touch these cells, with cells all around; in 2D corners, which are the first of them.
    nodes: [Vec<u64>; D],
    /// Rows with faces beside such edges.
    touched: Vec<bool>,
    /// Faces of these cells on open sides, across each axis.
    on_open_sides: [Vec<OnOpenSide>; D],
}

/// A face on an open side: where it and its cell are stored, which way is out, and `k` on it, which is zero where something enters.
struct OnOpenSide {
    face: usize,
    cell: usize,
    outwards: Real,
    head: Real,
}

/// The faces on open sides across an axis of the cells of rows that have a bit.
fn faces_on_open_sides<const D: usize>(layout: &Layout<D>, grid: &Grid<D>, cells: &[u64], a: usize) -> Vec<OnOpenSide> {
    let Some(sides) = grid.axes[a].sides() else { return Vec::new() };
    let mut all = Vec::new();
    let mut cursor = layout.cursor();
    for (r, bits) in cells.iter().enumerate() {
        let first = layout.row(r).index;
        each_bit(*bits, |x| {
            let mut cell = first;
            cell[0] += x as isize;
            for (i, end) in grid.end_faces(a).into_iter().enumerate() {
                let mut face = cell;
                face[a] += i as isize;
                if sides[i] == Side::Open && face[a] == end {
                    let [face, cell] = [face, cell].map(|at| cursor.offset(at));
                    all.push(OnOpenSide { face, cell, outwards: [-1.0, 1.0][i], head: 0.0 });
                }
            }
        });
    }
    all
}

impl<const D: usize> Ring<D> {
    fn of(layout: &Layout<D>, grid: &Grid<D>, edge: &Edge<D>, width: usize) -> Self {
        let n = tile_width::<D>();
        let all = (1u64 << n) - 1;
        let find = |row: Row<'_, D>| {
            let Some(around) = row.around() else { return 0 };
            let mut bits = 0u64;
            for (k, _) in around.iter().enumerate().filter(|&(_, &slot)| slot == 0) {
                let side = |a: usize| k / 3usize.pow(a as u32) % 3;
                let within = |a: usize| {
                    let local = (row.index[a] & (n as isize - 1)) as usize;
                    [local < width, true, local >= n - width][side(a)]
                };
                if (1..D).all(within) {
                    let low = (1u64 << width) - 1;
                    bits |= [low, all, low << (n - width)][side(0)];
                }
            }
            bits
        };
        let found: Vec<u64> = (0..layout.rows()).map(|r| find(layout.row(r))).collect();
        // All where no tile is, none behind a side.
        let cells = |row: Row<'_, D>| match row.tile() {
            Some(_) => found[layout.row_number(row)],
            None if row.exists() => 0,
            None => all,
        };
        let rows = || (0..layout.rows()).map(|r| layout.row(r));
        let below = |row: Row<'_, D>, c: usize| match c {
            0 => (cells(row) << 1 | cells(row.shifted(0, -(n as isize))) >> (n - 1)) & ((1 << n) - 1),
            _ => cells(row.down(c)),
        };
        let faces = each(|c| {
            let bits = |(r, row): (usize, Row<'_, D>)| (cells(row) | below(row, c)) & !edge.last[c][r];
            rows().enumerate().map(bits).collect()
        });
        let nodes: [Vec<u64>; D] = each(|k| {
            let axis = if D == 3 { k } else { 2 };
            let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
            // Where a row is missing, all its cells count.
            let bits = |row: Row<'_, D>| match (b, c) {
                (0, other) | (other, 0) => {
                    cells(row) | below(row, 0) | cells(row.down(other)) | below(row.down(other), 0)
                }
                _ => cells(row) | cells(row.down(b)) | cells(row.down(c)) | cells(row.down(b).down(c)),
            };
            rows().map(|row| bits(row) & edges_inside(axis, row)).collect()
        });
        let touched = |row: Row<'_, D>| {
            let has = |row: Row<'_, D>| row.tile().is_some() && nodes.iter().any(|n| n[layout.row_number(row)] != 0);
            has(row) || has(row.shifted(0, n as isize)) || (1..D).any(|a| has(row.up(a)))
        };
        let touched = rows().map(touched).collect();
        let on_open_sides = each(|c| faces_on_open_sides(layout, grid, &found, c));
        Ring { width, cells: found, faces, nodes, touched, on_open_sides }
    }
}

/// `(|v|^2 - |U|^2) / 2` at cell centres. A face that is not there is as the one on the other side of its cell.
fn set_head<const D: usize>(head: &mut Field<D>, v: &VectorField<D>, wind: [Real; D]) {
    head.par_rows(|row, out| {
        let n = out.len();
        out.fill(0.0);
        for c in 0..D {
            let mut pad = Pad::default();
            let there = |by: isize| row.shifted(c, if c == 0 { by * n as isize } else { by }).exists();
            let (low, high) = (v[c].row(row), v[c].up(row, c, &mut pad));
            let add = |out: &mut Real, low: Real, high: Real| {
                let mean = 0.5 * (low + high);
                *out += 0.5 * (mean - wind[c]) * (mean + wind[c]);
            };
            let (below, above) = (there(-1), there(1));
            if c > 0 {
                let (low, high) = (if below { low } else { high }, if above { high } else { low });
                (0..n).for_each(|x| add(&mut out[x], low[x], high[x]));
            } else {
                (1..n - 1).for_each(|x| add(&mut out[x], low[x], high[x]));
                add(&mut out[0], if below { low[0] } else { high[0] }, high[0]);
                add(&mut out[n - 1], low[n - 1], if above { high[n - 1] } else { low[n - 1] });
            }
        }
    });
}

/// Takes the mean of all values that are not zero from them. What solids add is no charge as a whole, as they push aside what flows in behind
/// them; what rounding and sides that cut them leave of it would grow from step to step.
fn neutralise<const D: usize>(induced: &mut Field<D>) {
    let sums = |row: Row<'_, D>| {
        let charged = induced.row(row).iter().filter(|v| **v != 0.0);
        charged.fold((0.0, 0.0), |(sum, count), v| (sum + f64::from(*v), count + 1.0))
    };
    let (sum, count) = rows::reduce(induced.layout(), sums, |a, b| (a.0 + b.0, a.1 + b.1));
    let mean = (sum / f64::max(count, 1.0)) as Real;
    induced.par_rows(|_, row| row.iter_mut().filter(|v| **v != 0.0).for_each(|v| *v -= mean));
}

/// The sum of fields with their weights. In solids, if there are any, the mean beside them: only differences of the pressure mean
/// anything, and at a solid that a side cuts off its level would count as a charge.
fn add_up<const D: usize>(out: &mut Field<D>, parts: &[(Real, &Field<D>)], solids: Option<&Solids<D>>) {
    out.par_runs(|row, out| {
        out.fill(0.0);
        for &(weight, part) in parts {
            out.iter_mut().zip(part.run(row)).for_each(|(out, v)| *out += weight * v);
        }
    });
    let Some(solids) = solids else { return };
    let level = solids.mean_beside(out, 0.0) as Real;
    out.par_rows(|row, out| {
        if let Some(volume) = solids.volumes_near(row) {
            out.iter_mut().zip(volume).filter(|(_, v)| **v == 0.0).for_each(|(out, _)| *out = level);
        }
    });
}

/// The sum over the neighbours of each cell of a row, times the open part of the face between, over `h^2`.
fn neighbours<const D: usize>(f: &Field<D>, solids: Option<&Solids<D>>, h: f64, row: Row<'_, D>, out: &mut [Real]) {
    let inv_h2 = (1.0 / (h * h)) as Real;
    let solids = solids.filter(|s| s.is_near(row));
    for a in 0..D {
        let mut pads = [Pad::default(); 3];
        let [pad, other, open_pad] = &mut pads;
        let (up, down) = (f.up(row, a, pad), f.down(row, a, other));
        match solids.map(|s| &s.open()[a]) {
            None => (0..out.len()).for_each(|x| out[x] += inv_h2 * (up[x] + down[x])),
            Some(open) => {
                let (low, high) = (open.row(row), open.up(row, a, open_pad));
                (0..out.len()).for_each(|x| out[x] += inv_h2 * (high[x] * up[x] + low[x] * down[x]));
            }
        }
    }
}

/// The Laplacian along a row, through the open parts of faces alone if solids are given.
fn laplacian<const D: usize>(f: &Field<D>, solids: Option<&Solids<D>>, h: f64, row: Row<'_, D>, out: &mut [Real]) {
    let inv_h2 = (1.0 / (h * h)) as Real;
    let solids = solids.filter(|s| s.is_near(row));
    let here = f.row(row);
    out.fill(0.0);
    for a in 0..D {
        let mut pads = [Pad::default(); 3];
        let [pad, other, open_pad] = &mut pads;
        let (up, down) = (f.up(row, a, pad), f.down(row, a, other));
        match solids.map(|s| &s.open()[a]) {
            None => (0..out.len()).for_each(|x| out[x] += inv_h2 * ((up[x] - here[x]) - (here[x] - down[x]))),
            Some(open) => {
                let (low, high) = (open.row(row), open.up(row, a, open_pad));
                let flow = |x: usize| high[x] * (up[x] - here[x]) - low[x] * (here[x] - down[x]);
                (0..out.len()).for_each(|x| out[x] += inv_h2 * flow(x));
            }
        }
    }
}

/// Component `a` of `curl u` along a row, on the lower edges of cells along that axis (in 2D on their lower corners), of what
/// passes faces: inside of solids that is the motion of the solid. Zero where not all cells around an edge exist.
fn vorticity<const D: usize>(
    grid: &Grid<D>,
    u: &VectorField<D>,
    solids: Option<&Solids<D>>,
    a: usize,
    row: Row<'_, D>,
    out: &mut [Real],
) {
    let (b, c) = ((a + 1) % 3, (a + 2) % 3);
    out.fill(0.0);
    let inv_h = (1.0 / grid.spacing[0]) as Real;
    for (own, across, sign) in [(c, b, inv_h), (b, c, -inv_h)] {
        let mut pads = [Pad::default(); 3];
        let [pad, open_pad, solid_pad] = &mut pads;
        let (high, low) = (u[own].row(row), u[own].down(row, across, pad));
        match solids.filter(|s| s.is_near(row)) {
            None => (0..out.len()).for_each(|x| out[x] += sign * (high[x] - low[x])),
            Some(s) => {
                let (open, solid) = (&s.open()[own], &s.velocity()[own]);
                let flow = |u: Real, open: Real, solid: Real| u + (1.0 - open) * (solid - u);
                let (open_low, solid_low) = (open.down(row, across, open_pad), solid.down(row, across, solid_pad));
                let (open_high, solid_high) = (open.row(row), solid.row(row));
                for x in 0..out.len() {
                    let high = flow(high[x], open_high[x], solid_high[x]);
                    out[x] += sign * (high - flow(low[x], open_low[x], solid_low[x]));
                }
            }
        }
    }
    keep_bits(edges_inside(a, row), out);
}

/// The lower edges of the cells of a row along an axis (in 2D their lower corners) around which all cells exist, as bits.
fn edges_inside<const D: usize>(axis: usize, row: Row<'_, D>) -> u64 {
    let (b, c) = ((axis + 1) % 3, (axis + 2) % 3);
    let exists = |by: [isize; 2], x: isize| {
        let mut to = [0; D];
        (to[b], to[c]) = (by[0], by[1]);
        to[0] = if to[0] == 0 { 0 } else { x };
        row.moved(to).exists()
    };
    let whole = |x: isize| [[0, -1], [-1, 0], [-1, -1]].into_iter().all(|by| exists(by, x));
    // Along x the tile before counts for the first cell alone.
    let n = tile_width::<D>();
    u64::from(whole(-(n as isize))) | if whole(0) { ((1 << n) - 1) & !1 } else { 0 }
}

/// Sets all values of a row to zero but for those with a bit.
fn keep_bits(bits: u64, row: &mut [Real]) {
    if bits != (1 << row.len()) - 1 {
        row.iter_mut().enumerate().for_each(|(x, v)| *v = if bits >> x & 1 == 1 { *v } else { 0.0 });
    }
}

/// Walls that act by mirror images: the sides of the grid, and solids at rest that are everything below a plane across an
/// axis. (An open side holds the pressure at zero: the image of a charge is its opposite.)
fn mirrors<const D: usize>(grid: &Grid<D>, solids: Option<&Solids<D>>) -> Mirrors {
    let planes = solids.into_iter().flat_map(|s| s.obstacles()).filter_map(|o| {
        let (point, normal) = o.shape.plane()?;
        let axis = (0..D).find(|&a| normal[a].abs() > 1.0 - 1e-9)?;
        let at = (point[axis] + normal[axis] * o.grow - grid.origin[axis]) / grid.spacing[axis] - 0.5;
        Some(Mirror { axis, at, sign: 1.0 })
    });
    let sides = (0..D).flat_map(|axis| {
        let faces = grid.end_faces(axis);
        let sides = grid.axes[axis].sides().into_iter().flatten().zip(faces);
        sides.filter(|(side, _)| *side != Side::Unbounded).map(move |(side, face)| {
            let sign = if side == Side::Open { -1.0 } else { 1.0 };
            Mirror { axis, at: face as f64 - 0.5, sign }
        })
    });
    sides.chain(planes).collect()
}

/// The same for component `a` of the vorticity, which lives on the lower side of cells across the other axes. Along the normal
/// of a mirror its image has the same sign; along the mirror it is opposite.
fn mirrors_of_vorticity<const D: usize>(mirrors: &[Mirror], a: usize) -> Mirrors {
    let image = |m: &Mirror| match m.axis == a {
        true => *m,
        false => Mirror { at: m.at + 0.5, sign: -m.sign, ..*m },
    };
    mirrors.iter().map(image).collect()
}

/// Velocity and pressure around tiles that are to appear.
pub(super) struct Outside<const D: usize> {
    fresh: Vec<[i32; D]>,
    /// The components of `A / h` that there are, and the pressure, for each tile at `n + 1` places along each axis.
    stream: [Vec<f64>; 3],
    pressure: Vec<f64>,
}

impl<const D: usize> Outside<D> {
    fn at(&self, tile: usize, i: [usize; D]) -> usize {
        let side = tile_width::<D>() + 1;
        (0..D).rev().fold(tile, |at, a| at * side + i[a])
    }

    /// `d_a A_b - d_b A_a` on the lower face across axis `c`, with `c, a, b` in cyclic order, times `h`.
    fn curl(&self, tile: usize, c: usize, i: [usize; D]) -> f64 {
        let (a, b) = ((c + 1) % 3, (c + 2) % 3);
        let slope = |of: usize, along: usize| {
            if self.stream[of].is_empty() || along >= D {
                return 0.0;
            }
            let mut next = i;
            next[along] += 1;
            self.stream[of][self.at(tile, next)] - self.stream[of][self.at(tile, i)]
        };
        slope(b, a) - slope(a, b)
    }
}

/// All places with indices below `n`, x fastest.
fn places<const D: usize>(n: usize) -> impl Iterator<Item = [usize; D]> {
    (0..n.pow(D as u32)).map(move |k| each(|a| k / n.pow(a as u32) % n))
}

/// The cells of a tile and those behind it, by tiles.
fn nodes_of<const D: usize>(coords: [i32; D]) -> Vec<Points<D>> {
    let n = tile_width::<D>();
    let of = |k: usize| {
        let behind: [bool; D] = each(|a| k >> a & 1 == 1);
        let inside = |p: &[usize; D]| (0..D).all(|a| !behind[a] || p[a] == 0);
        let cells = places::<D>(n).filter(inside).map(|p| p.map(|i| i as u8)).collect();
        Points::new(each(|a| coords[a] + behind[a] as i32), cells)
    };
    (0..1 << D).map(of).collect()
}

/// The values at all points of [`nodes_of`] some tiles, tile by tile, times a factor.
fn collect<const D: usize>(points: &[Points<D>], factor: f64) -> Vec<f64> {
    let (n, side) = (tile_width::<D>() as isize, tile_width::<D>() + 1);
    let mut out = vec![0.0; points.len() / (1 << D) * side.pow(D as u32)];
    for (out, tile) in out.chunks_exact_mut(side.pow(D as u32)).zip(points.chunks_exact(1 << D)) {
        let corner = tile[0].coords().map(|c| c as isize * n);
        for points in tile {
            for (cell, value) in points.cells().zip(&points.values) {
                let at = (0..D).rev().fold(0, |at, a| at * side + (cell[a] - corner[a]) as usize);
                out[at] = factor * *value as f64;
            }
        }
    }
    out
}
