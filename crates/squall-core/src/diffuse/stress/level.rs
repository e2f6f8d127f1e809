//! The operator on one level, and the passes that apply it.
//!
//! With `c` the coefficient of a stress and differences taken between neighbours,
//!
//! ```text
//! t_aa = c_aa (u_a(i + a) - u_a(i))                                         at centres, where c_aa = 2 V nu dt / h^2
//! t_ab = c_ab ((u_a(i) - u_a(i - b)) + (u_b(i) - u_b(i - a)))               on edges, where c_ab = V nu dt / h^2
//! (A u)_a = m_a u_a + t_aa(i - a) - t_aa(i) + sum over b of t_ab(i) - t_ab(i + b)
//! ```
//!
//! Differences come first: of a motion that is nearly rigid every stress is nearly zero, to many digits, and what one face gets from a
//! stress is to the bit what the other one loses. What sides and solids do is part of the coefficients.

use super::transfer::Transfer;
use crate::field::{Field, OutOfMemory, Pad, VectorField};
use crate::grid::{At, Ends};
use crate::layout::{Layout, Row};
use crate::poisson::multigrid::{Number, wrap};
use crate::rows::{self, Span};
use crate::sample::{Isa, Kernel};
use std::ops::Range;

/// Faces handled at once.
const LANES: usize = 8;

/// Which of the fields on edges has the stress between two axes.
pub(super) const fn pair(a: usize, b: usize) -> usize {
    a + b - 1
}

/// How many pairs of axes there are.
pub(super) const fn pairs(dimensions: usize) -> usize {
    dimensions * (dimensions - 1) / 2
}

/// The operator of one level.
pub(super) struct Operator<const D: usize, T: Number> {
    pub layout: Layout<D>,
    /// Which axes are periodic.
    pub joined: [bool; D],
    /// Coefficients of the stresses at centres, by axis.
    pub center: VectorField<D, T>,
    /// And on edges, by [`pair`].
    pub edge: Vec<Field<D, T>>,
    /// The liquid that belongs to each face; less than zero on faces that are held.
    pub mass: VectorField<D, T>,
    /// `1 / (m + 4 sum of c)`, which no row sum of the operator exceeds; 0 where there is no unknown.
    pub inverse: VectorField<D, T>,
    /// Of each row the shortest stretch that holds all unknowns.
    pub used: Vec<Span>,
    /// What coefficients and masses are deep in a liquid that is equally thick everywhere; `None` if it is not.
    pub deep: Option<Deep<T>>,
    /// Of each row a stretch of faces around which all is so, by whole groups of eight: kernels need not read it.
    plain: Vec<Span>,
    /// How far neighbours along each axis lie apart in a box.
    strides: Option<[usize; D]>,
    isa: Isa,
}

/// Coefficients at centres and on edges, and masses, that are the same in many places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Deep<T> {
    pub center: T,
    pub edge: T,
    pub mass: T,
}

impl<T: Number> Deep<T> {
    /// `1 / (m + 4 sum of c)`.
    fn inverse(self, dimensions: usize) -> T {
        let (center, edge) = (self.center.to_f64(), self.edge.to_f64());
        T::of(1.0 / (self.mass.to_f64() + 4.0 * center + 8.0 * (dimensions - 1) as f64 * edge))
    }
}

/// One level: its operator and its vectors, which are zero in rows without unknowns.
pub(super) struct Level<const D: usize, T: Number> {
    pub operator: Operator<D, T>,
    pub x: VectorField<D, T>,
    pub b: VectorField<D, T>,
    pub scratch: VectorField<D, T>,
    /// To the next coarser level.
    pub transfer: Option<Transfer<D>>,
}

/// A field of zeros. What happens at the ends is in the coefficients, so the field itself need not know.
pub(super) fn zeros<const D: usize, T: Number>(layout: &Layout<D>) -> Result<Field<D, T>, OutOfMemory> {
    let ends = if layout.as_tiles().is_some() { Ends::Unbounded(0.0) } else { Ends::FLAT };
    Field::on(layout, At::Center, [ends; D])
}

/// One for each axis.
pub(super) fn vector<const D: usize, T: Number>(layout: &Layout<D>) -> Result<VectorField<D, T>, OutOfMemory> {
    let fields = (0..D).map(|_| zeros(layout)).collect::<Result<Vec<_>, _>>()?;
    Ok(fields.try_into().unwrap_or_else(|_| unreachable!("one field for each axis")))
}

impl<const D: usize, T: Number> Operator<D, T> {
    fn new(layout: &Layout<D>, joined: [bool; D], isa: Isa) -> Result<Self, OutOfMemory> {
        Ok(Operator {
            joined,
            center: vector(layout)?,
            edge: (0..pairs(D)).map(|_| zeros(layout)).collect::<Result<_, _>>()?,
            mass: vector(layout)?,
            inverse: vector(layout)?,
            used: vec![Span::default(); layout.rows()],
            deep: None,
            plain: vec![Span::default(); layout.rows()],
            strides: layout.as_tiles().is_none().then(|| {
                let at = |a: usize| layout.offset(std::array::from_fn(|b| isize::from(a == b)));
                std::array::from_fn(|a| at(a) - layout.offset([0; D]))
            }),
            layout: layout.clone(),
            isa,
        })
    }

    /// Writes the ghosts of periodic axes.
    pub fn join(&self, fields: &mut VectorField<D, T>) {
        fields.iter_mut().for_each(|field| wrap(field, self.joined, self.layout.cells()));
    }

    /// Finds the unknowns, once coefficients and masses are set.
    pub fn finish(&mut self) {
        let cells = self.layout.cells();
        for field in self.center.iter_mut().chain(&mut self.edge) {
            wrap(field, self.joined, cells);
        }
        let Operator { center, edge, mass, inverse, used, plain, deep, layout, .. } = self;
        let (center, edge, mass) = (&*center, &*edge, &*mass);
        rows::with_items(inverse.each_mut(), used, |_, row, used, inverse| {
            *used = Span::default();
            for (a, inverse) in inverse.into_iter().enumerate() {
                let n = inverse.len();
                let mut pads = [Pad::default(); 1];
                let low = center[a].down(row, a, &mut pads[0]);
                let (high, mass) = (center[a].row(row), mass[a].row(row));
                for x in 0..n {
                    inverse[x] = low[x] + high[x] + low[x] + high[x];
                }
                for b in (0..D).filter(|&b| b != a) {
                    let mut pad = Pad::default();
                    let edge = &edge[pair(a, b)];
                    let (low, high) = (edge.row(row), edge.up(row, b, &mut pad));
                    for x in 0..n {
                        let sum = low[x] + high[x];
                        inverse[x] += sum + sum + sum + sum;
                    }
                }
                for x in 0..n {
                    let (sum, mass) = (inverse[x].to_f64(), mass[x].to_f64());
                    inverse[x] = if sum > 0.0 && mass > 0.0 { T::of(1.0 / (mass + sum)) } else { T::ZERO };
                }
                *used = used.join(Span::around(n, |x| inverse[x] > T::ZERO));
            }
        });
        let used = &*used;
        rows::items(layout, plain, |row, plain| {
            *plain = Span::default();
            let (Some(deep), false) = (*deep, used[layout.row_number(row)].is_empty()) else { return };
            *plain = find_plain(row, deep, center, edge, mass).whole_eights();
        });
    }

    /// `out = A x` in the unknowns, 0 elsewhere in rows that have some; returns the sum of `x out`. Needs the joined ghosts of `x`.
    pub fn apply(&self, x: &VectorField<D, T>, out: &mut VectorField<D, T>) -> f64 {
        self.run(x, None, out, Job::Apply)
    }

    /// `out = b - A x` in the unknowns, 0 elsewhere in their rows. Needs the joined ghosts of `x`.
    pub fn residual(&self, x: &VectorField<D, T>, b: &VectorField<D, T>, out: &mut VectorField<D, T>) {
        self.run(x, Some(b), out, Job::Residual);
    }

    /// `out = -m d - (A - m) u` in the unknowns, 0 elsewhere in their rows; returns its sum of squares. Needs the ghosts of `u`.
    pub fn change_residual(&self, u: &VectorField<D, T>, d: &VectorField<D, T>, out: &mut VectorField<D, T>) -> f64 {
        self.run(u, Some(d), out, Job::Change)
    }

    /// `out = x + factor inverse (b - A x)`; returns the sum of `b out`, if asked to. Needs the joined ghosts of `x`.
    fn smooth(
        &self,
        factor: f64,
        x: &VectorField<D, T>,
        b: &VectorField<D, T>,
        out: &mut VectorField<D, T>,
        sums: bool,
    ) -> f64 {
        self.run(x, Some(b), out, Job::Smooth { factor: T::of(factor), sums })
    }

    fn run(
        &self,
        x: &VectorField<D, T>,
        other: Option<&VectorField<D, T>>,
        out: &mut VectorField<D, T>,
        job: Job<T>,
    ) -> f64 {
        rows::blocks(out.each_mut(), |rows, base, out| {
            let mut sum = 0.0;
            self.isa.run(Block { level: self, rows, x, other, job, out, base, sum: &mut sum });
            sum
        })
    }
}

impl<const D: usize, T: Number> Level<D, T> {
    pub fn new(layout: &Layout<D>, joined: [bool; D], isa: Isa) -> Result<Self, OutOfMemory> {
        let operator = Operator::new(layout, joined, isa)?;
        Ok(Level { operator, x: vector(layout)?, b: vector(layout)?, scratch: vector(layout)?, transfer: None })
    }

    fn smooth(&mut self, factor: f64, sums: bool) -> f64 {
        let Level { operator, x, b, scratch, .. } = self;
        operator.join(x);
        let sum = operator.smooth(factor, x, b, scratch, sums);
        std::mem::swap(x, scratch);
        sum
    }

    /// The passes before the coarse correction, from zero.
    pub fn smooth_before(&mut self, factors: &[f64]) {
        let Level { operator: Operator { inverse, used, .. }, x, b, .. } = &mut *self;
        let first = T::of(factors[0]);
        rows::numbered(x.each_mut(), |r, row, out| {
            if used[r].is_empty() {
                return;
            }
            for (a, out) in out.into_iter().enumerate() {
                let (b, inverse) = (b[a].row(row), inverse[a].row(row));
                for x in 0..out.len() {
                    out[x] = first * inverse[x] * b[x];
                }
            }
        });
        for &factor in &factors[1..] {
            self.smooth(factor, false);
        }
    }

    /// The passes after the coarse correction; returns the sum of `b x`.
    pub fn smooth_after(&mut self, factors: &[f64]) -> f64 {
        for &factor in factors[1..].iter().rev() {
            self.smooth(factor, false);
        }
        self.smooth(factors[0], true)
    }

    /// Makes all vectors zero, ghosts too.
    pub fn clear(&mut self) {
        self.x.iter_mut().chain(&mut self.b).chain(&mut self.scratch).for_each(|v| v.fill(T::ZERO));
    }

    /// `scratch = b - A x`.
    pub fn find_residual(&mut self) {
        let Level { operator, x, b, scratch, .. } = self;
        operator.join(x);
        operator.residual(x, b, scratch);
    }
}

/// The longest stretch of a row around whose faces everything is as deep in the liquid.
fn find_plain<const D: usize, T: Number>(
    row: Row<'_, D>,
    deep: Deep<T>,
    center: &VectorField<D, T>,
    edge: &[Field<D, T>],
    mass: &VectorField<D, T>,
) -> Span {
    let n = mass[0].row(row).len();
    let mut best = Span::default();
    let mut pads = [Pad::default(); 3];
    let mut edge_pads = [Pad::default(); 6];
    let mut more = edge_pads.iter_mut();
    let mut lists: smallvec::SmallVec<[(&[T], T); 24]> = smallvec::SmallVec::new();
    for (a, pad) in (0..D).zip(&mut pads) {
        lists.push((center[a].row(row), deep.center));
        lists.push((center[a].down(row, a, pad), deep.center));
        lists.push((mass[a].row(row), deep.mass));
        for b in (0..D).filter(|&b| b != a) {
            let edge = &edge[pair(a, b)];
            lists.push((edge.row(row), deep.edge));
            lists.push((edge.up(row, b, more.next().expect("one for each pair")), deep.edge));
        }
    }
    const MOST: usize = 256;
    let mut run = None;
    for first in (0..n).step_by(MOST) {
        // One list after the other, by vectors.
        let len = (n - first).min(MOST);
        let mut same = [true; MOST];
        for (values, value) in &lists {
            let values = &values[first..first + len];
            same[..len].iter_mut().zip(values).for_each(|(same, v)| *same &= *v == *value);
        }
        for x in first..first + len {
            if !same[x - first] {
                run = None;
                continue;
            }
            let begin = *run.get_or_insert(x);
            if x + 1 - begin > best.range().len() {
                best = Span { begin: begin as u32, end: x as u32 + 1 };
            }
        }
    }
    best
}

/// What is done with `A x`.
#[derive(Clone, Copy)]
enum Job<T> {
    Apply,
    Residual,
    Change,
    Smooth { factor: T, sums: bool },
}

/// A job for a block of rows.
struct Block<'a, const D: usize, T: Number> {
    level: &'a Operator<D, T>,
    rows: Range<usize>,
    x: &'a VectorField<D, T>,
    /// The right side, or the change.
    other: Option<&'a VectorField<D, T>>,
    job: Job<T>,
    out: [&'a mut [T]; D],
    /// Place of the first values of `out` among those of the fields.
    base: usize,
    sum: &'a mut f64,
}

impl<const D: usize, T: Number> Kernel for Block<'_, D, T> {
    #[inline(always)]
    fn run(self) {
        let zero = T::ZERO;
        let if_unknown = |inverse: T, value: T| if inverse > zero { value } else { zero };
        match self.job {
            Job::Apply => self
                .faces(|f| if_unknown(f.inverse, f.mass * f.here + f.stress), |f, out| f.here.to_f64() * out.to_f64()),
            Job::Residual => self.faces(|f| if_unknown(f.inverse, f.other - (f.mass * f.here + f.stress)), |_, _| 0.0),
            Job::Change => self.faces(
                |f| if_unknown(f.inverse, zero - (f.mass * f.other + f.stress)),
                |_, out| out.to_f64() * out.to_f64(),
            ),
            Job::Smooth { factor, sums: false } => self.faces(|f| f.smoothed(factor), |_, _| 0.0),
            Job::Smooth { factor, sums: true } => {
                self.faces(|f| f.smoothed(factor), |f, out| f.other.to_f64() * out.to_f64())
            }
        }
    }
}

/// What is known of a face, once the stresses on it are.
#[derive(Clone, Copy)]
struct Face<T> {
    stress: T,
    mass: T,
    inverse: T,
    here: T,
    other: T,
}

impl<T: Number> Face<T> {
    #[inline(always)]
    fn smoothed(self, factor: T) -> T {
        self.here + factor * self.inverse * (self.other - (self.mass * self.here + self.stress))
    }
}

impl<const D: usize, T: Number> Block<'_, D, T> {
    /// Writes what `value` makes of each face, and adds up what `part` makes of it.
    #[inline(always)]
    fn faces(self, value: impl Fn(Face<T>) -> T + Copy, part: impl Fn(Face<T>, T) -> f64 + Copy) {
        let Block { level, rows, x, other, mut out, base, sum, .. } = self;
        let n = level.layout.cells()[0];
        let mut sums = [0.0; LANES];
        for number in rows {
            let (used, plain) = (level.used[number].eights(n), level.plain[number].range());
            if used.is_empty() {
                continue;
            }
            let row = level.layout.row(number);
            for (a, out) in out.iter_mut().enumerate() {
                let out = &mut out[row.start - base..row.start - base + n];
                out[..used.start].fill(T::ZERO);
                out[used.end..].fill(T::ZERO);
                let mut pads = None;
                let stencil = match level.strides {
                    Some(strides) => Stencil::in_box(level, x, row.start..row.start + n, a, strides),
                    None => Stencil::new(level, x, row, a, pads.insert([Pad::default(); 10])),
                };
                let other = other.map_or(stencil.own[0], |other| other[a].row(row));
                let line = Line { stencil, mass: level.mass[a].row(row), inverse: level.inverse[a].row(row), other };
                let mut begin = used.start;
                while begin + LANES <= used.end {
                    let deep = level.deep.filter(|_| plain.contains(&begin));
                    // Up to the next place where what is plain begins or ends.
                    let end = match () {
                        _ if deep.is_some() => plain.end,
                        _ if begin < plain.start => plain.start,
                        _ => used.end,
                    };
                    let end = end - (end - begin) % LANES;
                    let (line, out) = (line.cut(begin..end), &mut out[begin..end]);
                    match deep {
                        Some(deep) => line.plain::<D>(deep, value, part, out, &mut sums),
                        None => line.eights::<D, LANES>(value, part, out, &mut sums),
                    }
                    begin = end;
                }
                line.cut(begin..used.end).eights::<D, 1>(value, part, &mut out[begin..used.end], &mut sums);
            }
        }
        *sum += sums.iter().sum::<f64>();
    }
}

/// All that is known of the faces of a row across an axis.
#[derive(Clone, Copy)]
struct Line<'a, T> {
    stencil: Stencil<'a, T>,
    mass: &'a [T],
    inverse: &'a [T],
    other: &'a [T],
}

impl<'a, T: Number> Line<'a, T> {
    #[inline(always)]
    fn cut(self, at: Range<usize>) -> Self {
        let cut = |values: &'a [T]| &values[at.clone()];
        Line {
            stencil: self.stencil.cut(at.clone()),
            mass: cut(self.mass),
            inverse: cut(self.inverse),
            other: cut(self.other),
        }
    }

    /// By groups of so many.
    #[inline(always)]
    fn eights<const D: usize, const W: usize>(
        self,
        value: impl Fn(Face<T>) -> T,
        part: impl Fn(Face<T>, T) -> f64,
        out: &mut [T],
        sums: &mut [f64; LANES],
    ) {
        let n = out.len();
        let mut begin = 0;
        while begin + W <= n {
            let stress: [T; W] = self.stencil.stresses::<D, W>(n, begin);
            let here = group::<T, W>(self.stencil.own[0], n, begin);
            let [mass, inverse, other] = [self.mass, self.inverse, self.other].map(|v| group::<T, W>(v, n, begin));
            let mut found = [T::ZERO; W];
            for l in 0..W {
                let face =
                    Face { stress: stress[l], mass: mass[l], inverse: inverse[l], here: here[l], other: other[l] };
                found[l] = value(face);
                sums[l] += part(face, found[l]);
            }
            out[begin..begin + W].copy_from_slice(&found);
            begin += W;
        }
    }

    /// Where all coefficients are the same.
    #[inline(always)]
    fn plain<const D: usize>(
        self,
        deep: Deep<T>,
        value: impl Fn(Face<T>) -> T,
        part: impl Fn(Face<T>, T) -> f64,
        out: &mut [T],
        sums: &mut [f64; LANES],
    ) {
        let (n, mass, inverse) = (out.len(), deep.mass, deep.inverse(D));
        let mut begin = 0;
        while begin + LANES <= n {
            let stress = self.stencil.plain_stresses::<D, LANES>(deep, n, begin);
            let here = group::<T, LANES>(self.stencil.own[0], n, begin);
            let other = group::<T, LANES>(self.other, n, begin);
            let mut found = [T::ZERO; LANES];
            for l in 0..LANES {
                let face = Face { stress: stress[l], mass, inverse, here: here[l], other: other[l] };
                found[l] = value(face);
                sums[l] += part(face, found[l]);
            }
            out[begin..begin + LANES].copy_from_slice(&found);
            begin += LANES;
        }
    }
}

/// Some of `n` values.
#[inline(always)]
fn group<T, const W: usize>(values: &[T], n: usize, begin: usize) -> &[T; W] {
    values[..n][begin..begin + W].try_into().expect("as many")
}

/// All that the stresses on the faces of a row across axis `a` are made of.
#[derive(Clone, Copy)]
struct Stencil<'a, T> {
    /// The component itself: here, next up and down its own axis.
    own: [&'a [T]; 3],
    /// Coefficients at the centres above and below the faces.
    center: [&'a [T]; 2],
    /// For each other axis `b`.
    across: [Across<'a, T>; 2],
}

#[derive(Clone, Copy)]
struct Across<'a, T> {
    /// The component itself, next up and down axis `b`.
    own: [&'a [T]; 2],
    /// Component `b`: here, down `a`, up `b`, up `b` and down `a`.
    other: [&'a [T]; 4],
    /// Coefficients on the edges here and up `b`.
    edge: [&'a [T]; 2],
}

impl<'a, T: Number> Stencil<'a, T> {
    /// In a box, where all neighbours lie at fixed distances in memory.
    #[inline(always)]
    fn in_box<const D: usize>(
        level: &'a Operator<D, T>,
        x: &'a VectorField<D, T>,
        row: Range<usize>,
        a: usize,
        strides: [usize; D],
    ) -> Self {
        let here = |field: &'a Field<D, T>| &field.data[row.clone()];
        let up = |field: &'a Field<D, T>, b: usize| &field.data[row.start + strides[b]..row.end + strides[b]];
        let down = |field: &'a Field<D, T>, b: usize| &field.data[row.start - strides[b]..row.end - strides[b]];
        let own = [here(&x[a]), up(&x[a], a), down(&x[a], a)];
        let center = [here(&level.center[a]), down(&level.center[a], a)];
        let mut across = [Across { own: [own[0]; 2], other: [own[0]; 4], edge: [own[0]; 2] }; 2];
        for (count, b) in (0..D).filter(|&b| b != a).enumerate() {
            let (u, edge) = (&x[b], &level.edge[pair(a, b)]);
            let corner = row.start + strides[b] - strides[a];
            across[count] = Across {
                own: [up(&x[a], b), down(&x[a], b)],
                other: [here(u), down(u, a), up(u, b), &u.data[corner..corner + row.len()]],
                edge: [here(edge), up(edge, b)],
            };
        }
        Stencil { own, center, across }
    }

    /// On tiles, whose rows may have neighbours anywhere.
    #[inline(always)]
    fn new<const D: usize>(
        level: &'a Operator<D, T>,
        x: &'a VectorField<D, T>,
        row: Row<'_, D>,
        a: usize,
        pads: &'a mut [Pad<T>; 10],
    ) -> Self {
        let [p0, p1, p2, p3, p4, p5, p6, p7, p8, p9] = pads;
        let own = [x[a].row(row), x[a].up(row, a, p0), x[a].down(row, a, p1)];
        let center = [level.center[a].row(row), level.center[a].down(row, a, p2)];
        let none: &'a [T] = own[0];
        let mut across = [Across { own: [none; 2], other: [none; 4], edge: [none; 2] }; 2];
        let mut pads = [Some((p3, p4, p5, p6)), None];
        let mut more = Some((p7, p8, p9));
        for (count, b) in (0..D).filter(|&b| b != a).enumerate() {
            let (u, edge) = (&x[b], &level.edge[pair(a, b)]);
            // Along x rows of tiles are copied: only one of the axes is that one.
            across[count] = if a == 0 {
                let (down, above) = match count {
                    0 => {
                        let (p3, p4, ..) = pads[0].take().expect("taken once");
                        (u.down(row, 0, p3), u.down(row.up(b), 0, p4))
                    }
                    _ => {
                        let (p7, p8, _) = more.take().expect("taken once");
                        (u.down(row, 0, p7), u.down(row.up(b), 0, p8))
                    }
                };
                Across {
                    own: [x[a].row(row.up(b)), x[a].row(row.down(b))],
                    other: [u.row(row), down, u.row(row.up(b)), above],
                    edge: [edge.row(row), edge.row(row.up(b))],
                }
            } else if b == 0 {
                let (p3, p4, p5, p6) = pads[0].take().expect("taken once");
                let (p7, ..) = more.take().expect("taken once");
                Across {
                    own: [x[a].up(row, 0, p3), x[a].down(row, 0, p4)],
                    other: [u.row(row), u.row(row.down(a)), u.up(row, 0, p5), u.up(row.down(a), 0, p6)],
                    edge: [edge.row(row), edge.up(row, 0, p7)],
                }
            } else {
                Across {
                    own: [x[a].row(row.up(b)), x[a].row(row.down(b))],
                    other: [u.row(row), u.row(row.down(a)), u.row(row.up(b)), u.row(row.up(b).down(a))],
                    edge: [edge.row(row), edge.row(row.up(b))],
                }
            };
        }
        Stencil { own, center, across }
    }

    /// Some faces of the row.
    #[inline(always)]
    fn cut(&self, at: Range<usize>) -> Self {
        let cut = |values: &'a [T]| &values[at.clone()];
        let across = |across: Across<'a, T>| Across {
            own: across.own.map(cut),
            other: across.other.map(cut),
            edge: across.edge.map(cut),
        };
        let across = [across(self.across[0]), across(self.across[1])];
        Stencil { own: self.own.map(cut), center: self.center.map(cut), across }
    }

    /// What the stresses take from some of `n` faces.
    #[inline(always)]
    fn stresses<const D: usize, const W: usize>(&self, n: usize, begin: usize) -> [T; W] {
        let cut = |values: &'a [T]| group::<T, W>(values, n, begin);
        let [here, up, down] = self.own.map(cut);
        let [high, low] = self.center.map(cut);
        let mut out = [T::ZERO; W];
        for l in 0..W {
            out[l] = low[l] * (here[l] - down[l]) - high[l] * (up[l] - here[l]);
        }
        for across in &self.across[..D - 1] {
            let [up, down] = across.own.map(cut);
            let [other, beside, above, corner] = across.other.map(cut);
            let [low, high] = across.edge.map(cut);
            for l in 0..W {
                let below = low[l] * ((here[l] - down[l]) + (other[l] - beside[l]));
                let over = high[l] * ((up[l] - here[l]) + (above[l] - corner[l]));
                out[l] += below - over;
            }
        }
        out
    }

    /// The same where all coefficients are.
    #[inline(always)]
    fn plain_stresses<const D: usize, const W: usize>(&self, deep: Deep<T>, n: usize, begin: usize) -> [T; W] {
        let cut = |values: &'a [T]| group::<T, W>(values, n, begin);
        let [here, up, down] = self.own.map(cut);
        let mut out = [T::ZERO; W];
        for l in 0..W {
            out[l] = deep.center * ((here[l] - down[l]) - (up[l] - here[l]));
        }
        for across in &self.across[..D - 1] {
            let [up, down] = across.own.map(cut);
            let [other, beside, above, corner] = across.other.map(cut);
            for l in 0..W {
                let below = (here[l] - down[l]) + (other[l] - beside[l]);
                let over = (up[l] - here[l]) + (above[l] - corner[l]);
                out[l] += deep.edge * (below - over);
            }
        }
        out
    }
}
