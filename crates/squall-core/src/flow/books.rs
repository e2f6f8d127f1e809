//! Bookkeeping: the change of every substance in each part of a step.
//!
//! Amounts are measured between the parts, and each change is entered where it belongs. Advection must not change an amount
//! except through the sides; what it does change is put back ([`Flow::balance`](super::Flow::balance)).

use smallvec::{SmallVec, smallvec};

use super::obstacles::Obstacles;
use crate::Real;
use crate::advect::{Advection, MapScratch, settle, through_sides};
use crate::field::{Field, VectorField};
use crate::force::Substance;
use crate::grid::{Axis, End, Ends, Grid, Side};
use crate::layout::Row;
use crate::ledger::{Account, Ledger};
use crate::ops::{self, each};
use crate::rows;
use crate::sim::StateVisitor;
use crate::solid::Solids;

/// One number for each substance.
type Each<T> = SmallVec<[T; 4]>;

#[derive(Default)]
pub(crate) struct Books {
    ledger: Ledger,
    /// Amounts when they were last measured.
    amounts: Each<f64>,
    /// What the present advection brings in through the sides.
    sides: Each<f64>,
    /// What comes with the fluid that swells during it.
    swelled: Each<f64>,
    /// The range that initial values, boundary values and sources span.
    allowed: Each<[f64; 2]>,
    /// The volume of fluid before the solids move, in cells.
    volume: f64,
    /// Which axes keep momentum, and its sums before something acts.
    keeps_momentum: [bool; 3],
    momentum: [f64; 3],
    /// Whether cells that solids cut count whole: so does advection in flux form.
    pub whole_cells: bool,
    /// The part of the step after which an amount was found not to be finite.
    pub lost_in: Option<&'static str>,
}

impl Books {
    /// Opens the books of a step.
    pub fn open<const D: usize>(
        &mut self,
        grid: &Grid<D>,
        substances: &[Substance<D>],
        obstacles: Option<&Obstacles<D>>,
        velocity: &VectorField<D>,
    ) {
        let before: Each<f64> = std::mem::take(&mut self.amounts);
        self.amounts = amounts(grid, substances, self.weighing(obstacles));
        self.lost_in = None;
        if self.allowed.len() != substances.len() {
            self.allowed.truncate(substances.len());
            for s in &substances[self.allowed.len()..] {
                self.allowed.push(at_the_start(s));
            }
        }
        for (i, s) in substances.iter().enumerate() {
            // Somebody has changed the substance since the last step: what is there now is allowed.
            if before.get(i) != Some(&self.amounts[i]) {
                extend(&mut self.allowed[i], Survey::of(&s.field, s.ambient, None).range);
            }
        }
        self.ledger = Ledger::default();
        self.ledger.substances = self.amounts.iter().map(|&before| Account { before, ..Account::default() }).collect();
        self.sides = smallvec![0.0; substances.len()];
        self.swelled = smallvec![0.0; substances.len()];
        for a in 0..D {
            self.keeps_momentum[a] = grid.axes[a] == Axis::Periodic && obstacles.is_none();
            if self.keeps_momentum[a] {
                self.ledger.momentum[a].before = ops::sum(&velocity[a]);
            }
        }
    }

    /// Measures all amounts and enters their changes.
    pub fn enter<const D: usize>(
        &mut self,
        grid: &Grid<D>,
        substances: &[Substance<D>],
        obstacles: Option<&Obstacles<D>>,
        entry: impl Fn(&mut Account) -> &mut f64,
    ) {
        let now = amounts(grid, substances, self.weighing(obstacles));
        for ((account, now), before) in self.ledger.substances.iter_mut().zip(&now).zip(&self.amounts) {
            *entry(account) += now - before;
        }
        self.amounts = now;
    }

    /// Enters what sources did; what they gave off is allowed.
    pub fn emitted<const D: usize>(
        &mut self,
        grid: &Grid<D>,
        substances: &[Substance<D>],
        obstacles: Option<&Obstacles<D>>,
    ) {
        for (i, s) in substances.iter().enumerate() {
            let survey = Survey::of(&s.field, s.ambient, self.weighing(obstacles));
            let now = survey.amount * grid.cell_volume();
            if let (Some(account), Some(before)) = (self.ledger.substances.get_mut(i), self.amounts.get_mut(i)) {
                account.emitted += now - *before;
                *before = now;
                extend(&mut self.allowed[i], survey.range);
            }
        }
        self.look_for_lost("sources");
    }

    /// Enters what a reaction did: what it made is emitted and allowed, what it used up is dissipated.
    pub fn reacted<const D: usize>(
        &mut self,
        grid: &Grid<D>,
        substances: &[Substance<D>],
        obstacles: Option<&Obstacles<D>>,
    ) {
        let weighing = self.weighing(obstacles);
        for (i, s) in substances.iter().enumerate() {
            let survey = Survey::of(&s.field, s.ambient, weighing);
            let now = survey.amount * grid.cell_volume();
            if let (Some(account), Some(before)) = (self.ledger.substances.get_mut(i), self.amounts.get_mut(i)) {
                let entry = if now > *before { &mut account.emitted } else { &mut account.dissipated };
                *entry += now - *before;
                *before = now;
                extend(&mut self.allowed[i], survey.range);
            }
        }
        self.look_for_lost("burning");
    }

    /// Before substances move: what will come in through the sides. Solids hold what is beside them now.
    pub fn before_advection<const D: usize>(
        &mut self,
        grid: &Grid<D>,
        substances: &[Substance<D>],
        (scheme, scratch): (Advection, &MapScratch<D>),
        obstacles: Option<&Obstacles<D>>,
    ) {
        for (sides, s) in self.sides.iter_mut().zip(substances) {
            *sides = through_sides(scheme, &s.field, s.ambient, scratch) * grid.cell_volume();
        }
        self.volume = obstacles.map_or(0.0, |o| o.solids.fluid_volume());
    }

    /// After substances have moved along `paths`, in a flow that swells at `rate`.
    pub fn swelled<const D: usize>(
        &mut self,
        grid: &Grid<D>,
        substances: &[Substance<D>],
        obstacles: Option<&Obstacles<D>>,
        paths: &[Field<D>],
        rate: &Field<D>,
    ) {
        if ops::max_abs(rate) == 0.0 {
            return;
        }
        let solids = self.weighing(obstacles);
        for (swelled, s) in self.swelled.iter_mut().zip(substances) {
            *swelled = with_swelling(&s.field, s.ambient, solids, paths, rate) * grid.cell_volume();
        }
    }

    /// Something may drive a substance to values within this range.
    pub fn allow(&mut self, substance: usize, range: [f64; 2]) {
        if let Some(allowed) = self.allowed.get_mut(substance) {
            extend(allowed, range);
        }
    }

    /// Before substances are advected in flux form.
    pub fn before_fluxes<const D: usize>(&mut self, substances: &[Substance<D>], obstacles: Option<&Obstacles<D>>) {
        for (sides, s) in self.sides.iter_mut().zip(substances) {
            *sides = -ops::sum(&s.field);
        }
        self.volume = obstacles.map_or(0.0, |o| o.solids.fluid_volume());
    }

    /// After that: in a box with open sides what has changed went through them, in a closed one nothing should have.
    pub fn after_fluxes<const D: usize>(&mut self, grid: &Grid<D>, substances: &[Substance<D>]) {
        let wall = |side: &Side<D>| matches!(side, Side::Slip | Side::NoSlip { .. });
        let closed = |axis: &Axis<D>| axis.sides().is_none_or(|sides| sides.iter().all(wall));
        let closed = grid.axes.iter().all(closed);
        for (sides, s) in self.sides.iter_mut().zip(substances) {
            *sides = if closed { 0.0 } else { (*sides + ops::sum(&s.field)) * grid.cell_volume() };
        }
    }

    /// After substances and solids have moved: what advection gained or lost is put back.
    pub fn after_advection<const D: usize>(
        &mut self,
        grid: &Grid<D>,
        substances: &mut [Substance<D>],
        obstacles: Option<&Obstacles<D>>,
        spare: &mut Field<D>,
    ) {
        let solids = obstacles.map(|o| &o.solids);
        let weighing = if self.whole_cells { None } else { solids };
        // The grid's view of the volume of a solid changes a little as it moves; the fluid beside it is not to blame. Where
        // cells count whole, that view does not matter.
        let grown = weighing.map_or(0.0, |s| s.fluid_volume() - self.volume);
        let volume = grid.cell_volume();
        for (i, s) in substances.iter_mut().enumerate() {
            let (Some(account), Some(before)) = (self.ledger.substances.get_mut(i), self.amounts.get_mut(i)) else {
                continue;
            };
            let beside = if grown == 0.0 { 0.0 } else { solids.map_or(0.0, |o| o.mean_beside(&s.field, s.ambient)) };
            let by_solids = beside * grown * volume;
            let [now, there] = amount(&s.field, s.ambient, weighing);
            let now = now * volume;
            account.sides += self.sides[i];
            account.solids += by_solids;
            account.emitted += self.swelled[i];
            let missing = *before + self.sides[i] + by_solids + self.swelled[i] - now;
            *before = now;
            let volumes = (solids.map(|o| o.volume()), self.whole_cells);
            let added = settle(&mut s.field, volumes, s.ambient, (missing / volume, there), spare) * volume;
            *before += added;
            account.corrected += added;
        }
        self.look_for_lost("advection");
    }

    /// Enters what diffusion did to one substance. Between closed sides nothing should change; else what changed went through them, but for
    /// what the solver left too little in cells that solids cut (in cells). That is put back.
    pub fn diffused<const D: usize>(
        &mut self,
        grid: &Grid<D>,
        (i, s): (usize, &mut Substance<D>),
        left: f64,
        obstacles: Option<&Obstacles<D>>,
        spare: &mut Field<D>,
    ) {
        let (weighing, volume) = (self.weighing(obstacles), grid.cell_volume());
        let (Some(account), Some(before)) = (self.ledger.substances.get_mut(i), self.amounts.get_mut(i)) else {
            return;
        };
        let [now, there] = amount(&s.field, s.ambient, weighing);
        let is_closed = |ends: &Ends| ends.pair().is_none_or(|pair| pair == [End::Flat; 2]);
        let left = if s.field.ends().iter().all(is_closed) { *before / volume - now } else { left };
        account.sides += (now + left) * volume - *before;
        *before = now * volume;
        if weighing.is_some() {
            let volumes = (weighing.map(|solids| solids.volume()), false);
            let added = settle(&mut s.field, volumes, s.ambient, (left, there), spare) * volume;
            *before += added;
            account.corrected += added;
        }
    }

    /// The sum over all cells of what the projection left, in 1/s, and what swells.
    pub fn volume<const D: usize>(&mut self, grid: &Grid<D>, left: f64, swelling: Option<&Field<D>>) {
        let account = &mut self.ledger.volume;
        account.emitted = swelling.map_or(0.0, |e| ops::sum(e) * grid.cell_volume());
        // The flow out of all cells together is the flow out of the box.
        account.sides = -account.emitted - left * grid.cell_volume();
    }

    /// Before something pushes.
    pub fn momentum_before<const D: usize>(&mut self, u: &VectorField<D>) {
        for a in (0..D).filter(|&a| self.keeps_momentum[a]) {
            self.momentum[a] = ops::sum(&u[a]);
        }
    }

    /// After it has pushed.
    pub fn momentum_after<const D: usize>(&mut self, u: &VectorField<D>) {
        for a in (0..D).filter(|&a| self.keeps_momentum[a]) {
            self.ledger.momentum[a].emitted += ops::sum(&u[a]) - self.momentum[a];
        }
    }

    /// Closes the books of a step of `dt` seconds.
    pub fn close<const D: usize>(
        &mut self,
        grid: &Grid<D>,
        substances: &[Substance<D>],
        obstacles: Option<&Obstacles<D>>,
        velocity: &VectorField<D>,
        dt: f64,
    ) -> Ledger {
        let cell = grid.cell_volume();
        for (i, s) in substances.iter().enumerate().take(self.ledger.substances.len()) {
            let survey = Survey::of(&s.field, s.ambient, self.weighing(obstacles));
            let account = &mut self.ledger.substances[i];
            account.after = survey.amount * cell;
            account.present = survey.present * cell;
            account.range = survey.range;
            account.allowed = self.allowed[i];
            account.cell = cell * (self.allowed[i][1] - self.allowed[i][0]).max(0.0);
            self.amounts[i] = account.after;
        }
        self.look_for_lost("end of step");
        let volume = &mut self.ledger.volume;
        volume.emitted *= dt;
        volume.sides *= dt;
        for a in (0..D).filter(|&a| self.keeps_momentum[a]) {
            let account = &mut self.ledger.momentum[a];
            account.after = ops::sum(&velocity[a]);
            for entry in [&mut account.before, &mut account.emitted, &mut account.after] {
                *entry *= cell;
            }
        }
        std::mem::take(&mut self.ledger)
    }

    /// The solids whose cells count in part.
    fn weighing<'a, const D: usize>(&self, obstacles: Option<&'a Obstacles<D>>) -> Option<&'a Solids<D>> {
        obstacles.map(|o| &o.solids).filter(|_| !self.whole_cells)
    }

    fn look_for_lost(&mut self, stage: &'static str) {
        if self.lost_in.is_none() && !self.amounts.iter().all(|a| a.is_finite()) {
            self.lost_in = Some(stage);
        }
    }

    /// Shows what the next step depends on.
    pub fn visit_state(&mut self, visitor: &mut dyn StateVisitor, substances: usize) {
        self.allowed.resize(substances, [f64::INFINITY, f64::NEG_INFINITY]);
        self.amounts.resize(substances, f64::NAN);
        for range in &mut self.allowed {
            range.iter_mut().for_each(|v| visitor.real("allowed", v));
        }
        self.amounts.iter_mut().for_each(|v| visitor.real("amount", v));
    }
}

/// The range that a substance, its surroundings and its sides span.
fn at_the_start<const D: usize>(s: &Substance<D>) -> [f64; 2] {
    let mut range = [s.ambient as f64; 2];
    for ends in s.field.ends() {
        for end in ends.pair().into_iter().flatten() {
            if let End::Value(b) | End::Outside(b) = end {
                extend(&mut range, [b as f64; 2]);
            }
        }
    }
    range
}

fn extend(range: &mut [f64; 2], by: [f64; 2]) {
    *range = [range[0].min(by[0]), range[1].max(by[1])];
}

fn amounts<const D: usize>(grid: &Grid<D>, substances: &[Substance<D>], solids: Option<&Solids<D>>) -> Each<f64> {
    let of = |s: &Substance<D>| amount(&s.field, s.ambient, solids)[0] * grid.cell_volume();
    substances.iter().map(of).collect()
}

/// The sums over the fluid of what exceeds the ambient value, and of its sizes, in cells.
fn amount<const D: usize>(field: &Field<D>, ambient: Real, solids: Option<&Solids<D>>) -> [f64; 2] {
    let Survey { amount, present, .. } = Survey::of(field, ambient, solids);
    [amount, present]
}

/// How many places of a path are looked at for fluid that swells there.
const PLACES: usize = 4;

/// The box of cells whose paths may lead through fluid that swells; `None` if none does.
fn where_it_swells<const D: usize>(rate: &Field<D>, paths: &[Field<D>]) -> Option<[std::ops::Range<isize>; D]> {
    let of_row = |row: Row<'_, D>| {
        let rate = rate.row(row);
        let first = rate.iter().position(|&r| r != 0.0)?;
        let last = rate.iter().rposition(|&r| r != 0.0).unwrap_or(first);
        let mut low = row.index;
        let mut high = row.index;
        (low[0], high[0]) = (row.index[0] + first as isize, row.index[0] + last as isize);
        Some((low, high))
    };
    let both = |x: Option<([isize; D], [isize; D])>, y: Option<([isize; D], [isize; D])>| match (x, y) {
        (Some(x), Some(y)) => Some((each(|a| x.0[a].min(y.0[a])), each(|a| x.1[a].max(y.1[a])))),
        (x, y) => x.or(y),
    };
    let (low, high) = rows::reduce(rate.layout(), of_row, both)?;
    Some(each(|a| {
        let reach = ops::max_abs(&paths[a]).min(1e6).ceil() as isize + 1;
        low[a] - reach..high[a] + reach + 1
    }))
}

/// How much of what exceeds the ambient value has come with fluid that swells, in cells, after values have moved along `paths`.
///
/// What swells is like what is there: values stay, and their volume grows. A cell was `det(1 + grad d)` of its volume before,
/// with the displacements `d`; the rest is new. Elsewhere that determinant is 1 but for the error of tracing, which is to be
/// seen: so only paths through fluid that swells count.
fn with_swelling<const D: usize>(
    field: &Field<D>,
    ambient: Real,
    solids: Option<&Solids<D>>,
    paths: &[Field<D>],
    rate: &Field<D>,
) -> f64 {
    let Some(places) = where_it_swells(rate, paths) else { return 0.0 };
    let cells = field.cells().map(|n| n as isize);
    let bounded = field.layout().as_tiles().is_none();
    let inside = |index: [isize; D]| each(|a| if bounded { index[a].clamp(0, cells[a] - 1) } else { index[a] });
    let of_cell = |index: [isize; D]| {
        let d: [f64; D] = each(|a| paths[a].get_signed(index) as f64);
        let swells = (0..=PLACES).any(|k| {
            let part = k as f64 / PLACES as f64;
            rate.get_signed(inside(each(|a| index[a] + (part * d[a]).round() as isize))) != 0.0
        });
        if !swells {
            return 0.0;
        }
        let slope = |a: usize, b: usize| {
            let (mut up, mut down) = (index, index);
            (up[b], down[b]) = (index[b] + 1, index[b] - 1);
            let [up, down] = [up, down].map(inside);
            let apart = (up[b] - down[b]).max(1) as f64;
            (paths[a].get_signed(up) - paths[a].get_signed(down)) as f64 / apart
        };
        let mut matrix = [[0.0; 3]; 3];
        for a in 0..3 {
            for b in 0..3 {
                matrix[a][b] = f64::from(a == b) + if a < D && b < D { slope(a, b) } else { 0.0 };
            }
        }
        let [x, y, z] = matrix;
        let volume = x[0] * (y[1] * z[2] - y[2] * z[1]) - x[1] * (y[0] * z[2] - y[2] * z[0])
            + x[2] * (y[0] * z[1] - y[1] * z[0]);
        1.0 - volume
    };
    let of_row = |row: Row<'_, D>| {
        let (a, volumes) = (field.row(row), solids.and_then(|s| s.volumes_near(row)));
        let mut sum = 0.0;
        if (1..D).any(|b| !places[b].contains(&row.index[b])) {
            return 0.0;
        }
        for x in (0..a.len()).filter(|&x| a[x] != ambient && places[0].contains(&(row.index[0] + x as isize))) {
            let mut index = row.index;
            index[0] += x as isize;
            let fluid = volumes.map_or(1.0, |v| v[x] as f64);
            sum += fluid * (a[x] - ambient) as f64 * of_cell(index);
        }
        sum
    };
    rows::reduce(field.layout(), of_row, |x, y| x + y)
}

/// The sum of what exceeds the ambient value, of its absolute value, and the extremes.
type Found = (f64, f64, [Real; 2]);

/// [`Found`] over the values of a row with their volumes. Eight lanes at once.
#[inline(always)]
fn survey_row(n: usize, at: impl Fn(usize) -> (Real, Real), ambient: Real) -> Found {
    const LANES: usize = 8;
    let (mut amount, mut present) = ([0.0f64; LANES], [0.0f64; LANES]);
    let (mut low, mut high) = ([Real::INFINITY; LANES], [Real::NEG_INFINITY; LANES]);
    let mut note = |l: usize, i: usize| {
        let (a, v) = at(i);
        let more = f64::from(a - ambient);
        amount[l] += f64::from(v) * more;
        present[l] += f64::from(v) * more.abs();
        low[l] = if (a < low[l]) & (v > 0.0) { a } else { low[l] };
        high[l] = if (a > high[l]) & (v > 0.0) { a } else { high[l] };
    };
    let whole = n / LANES * LANES;
    for i in (0..whole).step_by(LANES) {
        for l in 0..LANES {
            note(l, i + l);
        }
    }
    (whole..n).for_each(|i| note(0, i));
    let range = [low.into_iter().fold(Real::INFINITY, Real::min), high.into_iter().fold(Real::NEG_INFINITY, Real::max)];
    (amount.iter().sum(), present.iter().sum(), range)
}

/// Sums and extremes over the fluid.
struct Survey {
    amount: f64,
    present: f64,
    range: [f64; 2],
}

impl Survey {
    fn of<const D: usize>(field: &Field<D>, ambient: Real, solids: Option<&Solids<D>>) -> Self {
        // Most rows hold nothing.
        let without_solids = |a: &[Real]| match ops::is_all(a, ambient) {
            true => (0.0, 0.0, [ambient; 2]),
            false => survey_row(a.len(), |i| (a[i], 1.0), ambient),
        };
        let add = |x: Found, y: Found| (x.0 + y.0, x.1 + y.1, [x.2[0].min(y.2[0]), x.2[1].max(y.2[1])]);
        let (amount, present, range) = match solids {
            None => rows::reduce_runs(field.layout(), |row| without_solids(field.run(row)), add),
            Some(solids) => {
                let of_row = |row: Row<'_, D>| match (field.row(row), solids.volumes_near(row)) {
                    (a, None) => without_solids(a),
                    (a, Some(v)) => survey_row(a.len(), |i| (a[i], v[i]), ambient),
                };
                rows::reduce(field.layout(), of_row, add)
            }
        };
        Survey { amount, present, range: range.map(f64::from) }
    }
}
