//! The 1-D transforms that turn the compact Laplacian of one axis into a multiplication.
//!
//! Two real lines travel as the real and imaginary part of one complex line, and every transform is a real matrix, so
//! it acts on both at once. With `V` the FFT of length `N` of the re-ordered samples, all but one of the transforms are
//!
//! ```text
//! X_k = w_k V_k + w_k* V_{N-k},   X_{N-k} = i (w_k V_k - w_k* V_{N-k}),   0 < k < N/2
//! ```
//!
//! | ends of the axis | transform | order of the samples `x_n` | `w_k` | eigenvalue `lam_k` of `h^2 lap` |
//! |---|---|---|---|---|
//! | periodic | cosines and sines | natural | 1 | `-4 sin^2(pi k/N)` |
//! | flat, flat | DCT-II | even ones up, odd ones down (Makhoul 1980) | `exp(-i pi k/2N)` | `-4 sin^2(pi k/2N)` |
//! | value, value | DST-II | the same, odd ones negated | the same | `-4 sin^2(pi (N-k)/2N)` |
//! | flat, value | DCT-IV, odd `N` | `2n+1 = 8j+N`, folded (Chan and Ho 1990) | `exp(-i pi m/4)`, `m` the odd one of `k`, `k+N` | `-4 sin^2(pi m/4N)` |
//! | flat, value | DCT-IV, even `N` | even ones up, odd ones down | two FFTs of `N/2` | `-4 sin^2(pi (2k+1)/4N)` |
//! | value, flat | DST-IV | as DCT-IV, odd ones negated | as DCT-IV | the same, from the other end |
//!
//! A sine transform is the cosine transform of the samples with alternating signs, its modes counted backwards. Since
//! between forward and inverse each mode is only multiplied, the order, sign and scale of the modes are ours to choose:
//! modes stay in the *slot* where the transform finds them, and [`Transform::eigenvalues`] says which they are.

use std::f64::consts::PI;
use std::sync::Arc;

use rustfft::{Fft, FftDirection, FftPlanner, FftPlannerScalar};

use super::lines::{Batch, Columns, Lanes, PAIRS, read, write};
use crate::Real;
use crate::grid::{End, Ends};
use crate::sample::Isa;

/// What plans FFTs. RustFFT looks at the machine by itself, and its algorithms for each instruction set round differently; so
/// the portable ones are planned without looking.
pub(super) enum Planner {
    Best(FftPlanner<Real>),
    Portable(FftPlannerScalar<Real>),
}

impl Planner {
    pub fn new(isa: Isa) -> Self {
        match isa {
            Isa::Portable => Planner::Portable(FftPlannerScalar::new()),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2(_) => Planner::Best(FftPlanner::new()),
        }
    }

    fn plan(&mut self, len: usize, direction: FftDirection) -> Arc<dyn Fft<Real>> {
        match self {
            Planner::Best(planner) => planner.plan_fft(len, direction),
            Planner::Portable(planner) => planner.plan_fft(len, direction),
        }
    }
}

/// Two real values, one of each line of a pair.
pub(super) type Pair = rustfft::num_complex::Complex<Real>;

const ZERO: Pair = Pair::new(0.0, 0.0);

/// The side of a transform on which values stand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Domain {
    /// Samples along the axis.
    Space,
    /// Coefficients, slot by slot.
    Modes,
}

/// Where a sample stands in the line that is transformed, and with which sign.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    pub slot: usize,
    pub sign: Real,
}

/// How samples are ordered in the line that is transformed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Order {
    /// Sample `n` in slot `n`.
    Natural,
    /// Sample `2m` in slot `m`, sample `2m + 1` times `odd_sign` in slot `N - 1 - m`.
    EvenOdd { odd_sign: Real },
    /// As listed in the places.
    Listed,
}

/// One axis: a real transform of `len` samples and its inverse, up to a factor.
pub(super) struct Transform {
    len: usize,
    name: &'static str,
    order: Order,
    space: Vec<Place>,
    modes: Vec<Place>,
    eigenvalues: Vec<f64>,
    core: Core,
}

enum Core {
    /// One sample: nothing to do.
    Identity,
    /// `X_k`, `X_{N-k}` from an FFT of length N.
    Split { forward: Arc<dyn Fft<Real>>, inverse: Arc<dyn Fft<Real>>, w: Vec<Pair>, middle: Option<Real> },
    /// DCT-IV of even length from FFTs of half the length; its own inverse.
    Quarter { half: Arc<dyn Fft<Real>>, w: Vec<Pair> },
}

/// The name of the transform for an axis with these ends.
pub fn name_for(ends: Ends) -> &'static str {
    Kind::of(ends).name()
}

/// What matters of the ends for the choice of a transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Periodic,
    FlatFlat,
    ValueValue,
    FlatValue,
    ValueFlat,
}

impl Kind {
    fn of(ends: Ends) -> Kind {
        match ends {
            Ends::Periodic => Kind::Periodic,
            Ends::Bounded { lo: End::Flat, hi: End::Flat } => Kind::FlatFlat,
            Ends::Bounded { lo: End::Value(_), hi: End::Value(_) } => Kind::ValueValue,
            Ends::Bounded { lo: End::Flat, hi: End::Value(_) } => Kind::FlatValue,
            Ends::Bounded { lo: End::Value(_), hi: End::Flat } => Kind::ValueFlat,
            Ends::Unbounded(_) | Ends::Bounded { .. } => panic!("transforms need ends"),
        }
    }

    /// Sine transforms are cosine transforms of samples with alternating signs, modes counted backwards.
    fn is_sine(self) -> bool {
        matches!(self, Kind::ValueValue | Kind::ValueFlat)
    }

    fn is_quarter(self) -> bool {
        matches!(self, Kind::FlatValue | Kind::ValueFlat)
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Periodic => "FFT",
            Kind::FlatFlat => "DCT-II",
            Kind::ValueValue => "DST-II",
            Kind::FlatValue => "DCT-IV",
            Kind::ValueFlat => "DST-IV",
        }
    }

    /// The eigenvalue of `h^2 lap` for mode `k` of this kind; never as `2 cos - 2`, which cancels.
    fn eigenvalue(self, k: usize, n: usize) -> f64 {
        let (k, n) = (k as f64, n as f64);
        let angle = match self {
            Kind::Periodic => PI * k / n,
            Kind::FlatFlat => PI * k / (2.0 * n),
            Kind::ValueValue => PI * (k + 1.0) / (2.0 * n),
            Kind::FlatValue | Kind::ValueFlat => PI * (2.0 * k + 1.0) / (4.0 * n),
        };
        let sine = libm::sin(angle);
        -4.0 * sine * sine
    }
}

impl Transform {
    /// Plans the transform that belongs to `ends`; prescribed values count as zero.
    pub fn new(len: usize, ends: Ends, planner: &mut Planner) -> Self {
        assert!(len > 0, "an axis has at least one cell");
        let kind = Kind::of(ends);
        let order = match kind {
            Kind::Periodic => Order::Natural,
            _ if len == 1 => Order::Natural,
            _ if kind.is_quarter() && len % 2 == 1 => Order::Listed,
            _ => Order::EvenOdd { odd_sign: if kind.is_sine() { -1.0 } else { 1.0 } },
        };
        let core = if len == 1 {
            Core::Identity
        } else if kind.is_quarter() && len.is_multiple_of(2) {
            Core::Quarter { half: planner.plan(len / 2, FftDirection::Forward), w: quarter_twiddles(len) }
        } else {
            Core::Split {
                forward: planner.plan(len, FftDirection::Forward),
                inverse: planner.plan(len, FftDirection::Inverse),
                w: split_twiddles(kind, len),
                middle: len
                    .is_multiple_of(2)
                    .then(|| if kind == Kind::Periodic { 1.0 } else { libm::cos(PI / 4.0) as Real }),
            }
        };
        let natural = (0..len).map(|slot| Place { slot, sign: 1.0 }).collect();
        let eigenvalues = (0..len).map(|slot| kind.eigenvalue(mode_of(kind, slot, len), len)).collect();
        Transform { len, name: kind.name(), order, space: places(order, kind, len), modes: natural, eigenvalues, core }
    }

    /// The usual name of the transform.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Eigenvalues of `h^2 lap`, slot by slot.
    pub fn eigenvalues(&self) -> &[f64] {
        &self.eigenvalues
    }

    /// Where each value stands in a line.
    pub fn places(&self, domain: Domain) -> &[Place] {
        match domain {
            Domain::Space => &self.space,
            Domain::Modes => &self.modes,
        }
    }

    /// How values are ordered in a line.
    pub fn order(&self, domain: Domain) -> Order {
        if domain == Domain::Space { self.order } else { Order::Natural }
    }

    /// What `inverse(forward(x))` has to be divided by.
    pub fn scale(&self) -> f64 {
        match self.core {
            Core::Identity => 1.0,
            Core::Split { .. } => 2.0 * self.len as f64,
            Core::Quarter { .. } => 0.5 * self.len as f64,
        }
    }

    /// How much scratch `forward` and `inverse` need.
    pub fn scratch_len(&self) -> usize {
        match &self.core {
            Core::Identity => 0,
            Core::Split { forward, inverse, .. } => {
                forward.get_inplace_scratch_len().max(inverse.get_inplace_scratch_len())
            }
            Core::Quarter { half, .. } => half.get_inplace_scratch_len(),
        }
    }

    /// Samples, each in its place, to modes.
    pub fn forward(&self, line: &mut [Pair], scratch: &mut [Pair]) {
        match &self.core {
            Core::Identity => {}
            Core::Split { forward, w, middle, .. } => {
                forward.process_with_scratch(line, scratch);
                combine(line, w, *middle);
            }
            Core::Quarter { half, w } => quarter(line, w, half.as_ref(), scratch),
        }
    }

    /// Modes to samples, each in its place, times [`Transform::scale`].
    pub fn inverse(&self, line: &mut [Pair], scratch: &mut [Pair]) {
        match &self.core {
            Core::Identity => {}
            Core::Split { inverse, w, middle, .. } => {
                separate(line, w, *middle);
                inverse.process_with_scratch(line, scratch);
            }
            Core::Quarter { half, w } => quarter(line, w, half.as_ref(), scratch),
        }
    }
}

/// The same transforms for a batch of lines side by side, with the passes around the FFTs fused into the moves from and
/// to the field: all lanes share one `w`, so these passes are vector arithmetic.
impl Transform {
    /// Samples of the columns from `begin` on to FFT input.
    pub fn gather_samples<C: Columns + ?Sized>(&self, columns: &mut C, begin: usize, batch: &mut Batch) {
        let Core::Quarter { w, .. } = &self.core else {
            for (n, place) in self.space.iter().enumerate() {
                batch.set(place.slot, read(columns.row(n), begin).scaled(place.sign));
            }
            return;
        };
        let (last, half) = (self.len - 1, self.len / 2);
        for (j, w) in w.iter().enumerate() {
            let lo = read(columns.row(2 * j), begin);
            let hi = read(columns.row(last - 2 * j), begin).scaled(self.odd_sign());
            let (a, b) = quarter_before(lo, hi, Lanes::all(*w));
            batch.set(j, a);
            batch.set(half + j, b);
        }
    }

    /// FFT output to samples of the columns from `begin` on.
    pub fn scatter_samples<C: Columns + ?Sized>(&self, columns: &mut C, begin: usize, batch: &Batch) {
        let Core::Quarter { w, .. } = &self.core else {
            for (n, place) in self.space.iter().enumerate() {
                write(columns.row(n), begin, batch.get(place.slot).scaled(place.sign));
            }
            return;
        };
        let (last, half) = (self.len - 1, self.len / 2);
        for (j, w) in w.iter().enumerate() {
            let (lo, hi) = quarter_after(batch.get(j), batch.get(half + j), Lanes::all(*w));
            write(columns.row(2 * j), begin, lo);
            write(columns.row(last - 2 * j), begin, hi.scaled(self.odd_sign()));
        }
    }

    /// FFT output to modes of the columns from `begin` on.
    pub fn scatter_modes<C: Columns + ?Sized>(&self, columns: &mut C, begin: usize, batch: &Batch) {
        match &self.core {
            Core::Identity => write(columns.row(0), begin, batch.get(0)),
            Core::Split { w, middle, .. } => {
                write(columns.row(0), begin, batch.get(0).scaled(2.0));
                for (k, w) in (1..).zip(w) {
                    let (x, y) = combine_lanes(batch.get(k), batch.get(self.len - k), Lanes::all(*w));
                    write(columns.row(k), begin, x);
                    write(columns.row(self.len - k), begin, y);
                }
                if let Some(re) = middle {
                    write(columns.row(self.len / 2), begin, batch.get(self.len / 2).scaled(2.0 * re));
                }
            }
            Core::Quarter { w, .. } => {
                let half = self.len / 2;
                for (j, w) in w.iter().enumerate() {
                    let (lo, hi) = quarter_after(batch.get(j), batch.get(half + j), Lanes::all(*w));
                    write(columns.row(j), begin, lo);
                    write(columns.row(half + j), begin, hi);
                }
            }
        }
    }

    /// Modes of the columns from `begin` on to FFT input.
    pub fn gather_modes<C: Columns + ?Sized>(&self, columns: &mut C, begin: usize, batch: &mut Batch) {
        match &self.core {
            Core::Identity => batch.set(0, read(columns.row(0), begin)),
            Core::Split { w, middle, .. } => {
                batch.set(0, read(columns.row(0), begin));
                for (k, w) in (1..).zip(w) {
                    let (x, y) = (read(columns.row(k), begin), read(columns.row(self.len - k), begin));
                    let (a, b) = separate_lanes(x, y, Lanes::all(*w));
                    batch.set(k, a);
                    batch.set(self.len - k, b);
                }
                if let Some(re) = middle {
                    batch.set(self.len / 2, read(columns.row(self.len / 2), begin).scaled(1.0 / re));
                }
            }
            Core::Quarter { w, .. } => {
                let half = self.len / 2;
                for (j, w) in w.iter().enumerate() {
                    let (lo, hi) = (read(columns.row(j), begin), read(columns.row(half + j), begin));
                    let (a, b) = quarter_before(lo, hi, Lanes::all(*w));
                    batch.set(j, a);
                    batch.set(half + j, b);
                }
            }
        }
    }

    /// FFT output to modes, each changed by `multiply(slot, modes)`, to FFT input.
    #[inline(always)]
    pub fn change_modes(&self, batch: &mut Batch, multiply: impl Fn(usize, Lanes) -> Lanes) {
        match &self.core {
            Core::Identity => batch.set(0, multiply(0, batch.get(0))),
            Core::Split { w, middle, .. } => {
                batch.set(0, multiply(0, batch.get(0)).scaled(2.0));
                for (k, w) in (1..).zip(w) {
                    let (x, y) = combine_lanes(batch.get(k), batch.get(self.len - k), Lanes::all(*w));
                    let (a, b) = separate_lanes(multiply(k, x), multiply(self.len - k, y), Lanes::all(*w));
                    batch.set(k, a);
                    batch.set(self.len - k, b);
                }
                if middle.is_some() {
                    let slot = self.len / 2;
                    batch.set(slot, multiply(slot, batch.get(slot)).scaled(2.0));
                }
            }
            Core::Quarter { w, .. } => {
                let half = self.len / 2;
                for (j, w) in w.iter().enumerate() {
                    let (lo, hi) = quarter_after(batch.get(j), batch.get(half + j), Lanes::all(*w));
                    let (a, b) = quarter_before(multiply(j, lo), multiply(half + j, hi), Lanes::all(*w));
                    batch.set(j, a);
                    batch.set(half + j, b);
                }
            }
        }
    }

    /// The forward FFT of the first `count` lines.
    pub fn fft(&self, batch: &mut Batch, count: usize, scratch: &mut [Pair]) {
        let fft = match &self.core {
            Core::Identity => return,
            Core::Split { forward, .. } => forward,
            Core::Quarter { half, .. } => half,
        };
        batch.lines[..count].iter_mut().for_each(|line| fft.process_with_scratch(line, scratch));
    }

    /// The FFT of the inverse transform of the first `count` lines.
    pub fn inverse_fft(&self, batch: &mut Batch, count: usize, scratch: &mut [Pair]) {
        let fft = match &self.core {
            Core::Identity => return,
            Core::Split { inverse, .. } => inverse,
            Core::Quarter { half, .. } => half,
        };
        batch.lines[..count].iter_mut().for_each(|line| fft.process_with_scratch(line, scratch));
    }

    fn odd_sign(&self) -> Real {
        if let Order::EvenOdd { odd_sign } = self.order { odd_sign } else { 1.0 }
    }
}

/// Which mode the transform of this kind leaves in `slot`.
fn mode_of(kind: Kind, slot: usize, n: usize) -> usize {
    let cosine = match kind {
        Kind::FlatValue | Kind::ValueFlat if n % 2 == 1 => {
            // The FFT's frequency is 2 k + 1 modulo N, so for slots up to the middle k is half of the odd one of
            // slot and slot + N; the partner slot holds the partner mode.
            let low = slot.min((n - slot) % n);
            let odd = if low % 2 == 1 { low } else { low + n };
            if low == slot { (odd - 1) / 2 } else { n - 1 - (odd - 1) / 2 }
        }
        Kind::FlatValue | Kind::ValueFlat if slot < n / 2 => 2 * slot,
        Kind::FlatValue | Kind::ValueFlat => n - 1 - 2 * (slot - n / 2),
        _ => slot,
    };
    if kind.is_sine() { n - 1 - cosine } else { cosine }
}

/// Where each sample goes.
fn places(order: Order, kind: Kind, n: usize) -> Vec<Place> {
    let mut places = vec![Place { slot: 0, sign: 1.0 }; n];
    for (i, place) in places.iter_mut().enumerate() {
        *place = match order {
            Order::EvenOdd { odd_sign } if i % 2 == 1 => Place { slot: n - 1 - i / 2, sign: odd_sign },
            Order::EvenOdd { .. } => Place { slot: i / 2, sign: 1.0 },
            _ => Place { slot: i, sign: 1.0 },
        };
    }
    if order == Order::Listed {
        // cos(pi m (2k+1) / 4N) with odd m is even about 0 and odd about 2N: fold m = 8 slot + N into 0 < m < 2N.
        for slot in 0..n {
            let mut m = (8 * slot + n) % (8 * n);
            m = m.min(8 * n - m);
            let folded = m > 2 * n;
            let sample = if folded { 4 * n - m } else { m } / 2;
            let negate = folded != (kind.is_sine() && sample % 2 == 1);
            places[sample] = Place { slot, sign: if negate { -1.0 } else { 1.0 } };
        }
    }
    places
}

/// `exp(-i angle)`, rounded once.
fn turn(angle: f64) -> Pair {
    let (sin, cos) = libm::sincos(angle);
    Pair::new(cos as Real, -sin as Real)
}

/// `w_k` for `0 < k < N/2`, see the table above.
fn split_twiddles(kind: Kind, n: usize) -> Vec<Pair> {
    let inner = 1..n.div_ceil(2);
    match kind {
        Kind::Periodic => inner.map(|_| Pair::new(1.0, 0.0)).collect(),
        Kind::FlatFlat | Kind::ValueValue => inner.map(|k| turn(PI * k as f64 / (2 * n) as f64)).collect(),
        // The angle only matters modulo 2 pi, so an odd multiple of pi/4 is taken modulo 8.
        Kind::FlatValue | Kind::ValueFlat => {
            inner.map(|k| turn(PI / 4.0 * ((if k % 2 == 1 { k } else { k + n }) % 8) as f64)).collect()
        }
    }
}

/// `exp(-i pi (8j+1) / 8N)` for `j < N/2`.
fn quarter_twiddles(n: usize) -> Vec<Pair> {
    (0..n / 2).map(|j| turn(PI * (8 * j + 1) as f64 / (8 * n) as f64)).collect()
}

/// `z w`
#[inline(always)]
fn times(z: Lanes, w: Lanes) -> Lanes {
    Lanes { re: z.re * w.re - z.im * w.im, im: z.re * w.im + z.im * w.re }
}

/// `z w*`
#[inline(always)]
fn times_conjugate(z: Lanes, w: Lanes) -> Lanes {
    Lanes { re: z.re * w.re + z.im * w.im, im: z.im * w.re - z.re * w.im }
}

/// `X_k = A + B` and `X_{N-k} = i (A - B)` with `A = w V_k`, `B = w* V_{N-k}`.
#[inline(always)]
fn combine_lanes(v: Lanes, u: Lanes, w: Lanes) -> (Lanes, Lanes) {
    let (a, b) = (times(v, w), times_conjugate(u, w));
    (Lanes { re: a.re + b.re, im: a.im + b.im }, Lanes { re: b.im - a.im, im: a.re - b.re })
}

/// The inverse of [`combine_lanes`], times 2: `V_k = w* (X_k - i X_{N-k})`, `V_{N-k} = w (X_k + i X_{N-k})`.
#[inline(always)]
fn separate_lanes(x: Lanes, y: Lanes, w: Lanes) -> (Lanes, Lanes) {
    let a = Lanes { re: x.re + y.im, im: x.im - y.re };
    let b = Lanes { re: x.re - y.im, im: x.im + y.re };
    (times_conjugate(a, w), times(b, w))
}

/// `X_0 = 2 V_0`, `X_{N/2} = 2 Re(w) V_{N/2}`, and the slots between by [`combine_lanes`].
fn combine(line: &mut [Pair], w: &[Pair], middle: Option<Real>) {
    line[0] *= 2.0;
    let (low, mid, high) = halves(line);
    if let (Some(v), Some(re)) = (mid, middle) {
        *v *= 2.0 * re;
    }
    mirrored(low, high, w, combine_lanes);
}

/// The inverse of [`combine`], times 2.
fn separate(line: &mut [Pair], w: &[Pair], middle: Option<Real>) {
    let (low, mid, high) = halves(line);
    if let (Some(v), Some(re)) = (mid, middle) {
        *v *= 1.0 / re;
    }
    mirrored(low, high, w, separate_lanes);
}

/// Calls the kernel for slots of `low` in ascending and of `high` in descending order.
#[inline(always)]
fn mirrored(low: &mut [Pair], high: &mut [Pair], w: &[Pair], kernel: impl Fn(Lanes, Lanes, Lanes) -> (Lanes, Lanes)) {
    let ((low, low_rest), (high_rest, high), (w, w_rest)) =
        (low.as_chunks_mut::<PAIRS>(), high.as_rchunks_mut::<PAIRS>(), w.as_chunks::<PAIRS>());
    let wide = |lo: &mut [Pair; PAIRS], hi: &mut [Pair; PAIRS], w: &[Pair; PAIRS]| {
        let last = PAIRS - 1;
        let (x, y) = kernel(Lanes::from_fn(|l| lo[l]), Lanes::from_fn(|l| hi[last - l]), Lanes::from_fn(|l| w[l]));
        *lo = x.pairs();
        *hi = y.pairs();
        hi.reverse();
    };
    for ((lo, hi), w) in low.iter_mut().zip(high.iter_mut().rev()).zip(w) {
        wide(lo, hi, w);
    }
    // What is left goes through the same arithmetic, filled up with zeros.
    let (rest, mut lo, mut hi, mut tail) = (w_rest.len(), [ZERO; PAIRS], [ZERO; PAIRS], [ZERO; PAIRS]);
    lo[..rest].copy_from_slice(low_rest);
    hi[PAIRS - rest..].copy_from_slice(high_rest);
    tail[..rest].copy_from_slice(w_rest);
    wide(&mut lo, &mut hi, &tail);
    low_rest.copy_from_slice(&lo[..rest]);
    high_rest.copy_from_slice(&hi[PAIRS - rest..]);
}

/// The slots `0 < k < N/2`, the middle one if there is one, and the slots `N/2 < k < N`.
fn halves(line: &mut [Pair]) -> (&mut [Pair], Option<&mut Pair>, &mut [Pair]) {
    let n = line.len();
    let inner = n.div_ceil(2) - 1;
    let (low, rest) = line[1..].split_at_mut(inner);
    let (mid, high) = rest.split_at_mut(rest.len() - inner);
    (low, mid.first_mut(), high)
}

/// DCT-IV of two real lines of even length, each as one FFT of half the length.
///
/// Slot `j` holds sample `2j`, slot `N/2 + j` sample `N - 1 - 2j`; so do the modes afterwards. For each line
/// `t_j = w_j (x_{2j} + i x_{N-1-2j})`, `T = FFT(t)`, `X_{2j} = Re(w_j T_j)`, `X_{N-1-2j} = -Im(w_j T_j)`.
fn quarter(line: &mut [Pair], w: &[Pair], half: &dyn Fft<Real>, scratch: &mut [Pair]) {
    alongside(line, w, quarter_before);
    half.process_with_scratch(line, scratch);
    alongside(line, w, quarter_after);
}

/// Calls the kernel for slots of the lower and the upper half of a line.
#[inline(always)]
fn alongside(line: &mut [Pair], w: &[Pair], kernel: impl Fn(Lanes, Lanes, Lanes) -> (Lanes, Lanes)) {
    let (low, high) = line.split_at_mut(w.len());
    for ((lo, hi), w) in low.chunks_mut(PAIRS).zip(high.chunks_mut(PAIRS)).zip(w.chunks(PAIRS)) {
        let (x, y) = kernel(filled(lo), filled(hi), filled(w));
        lo.copy_from_slice(&x.pairs()[..lo.len()]);
        hi.copy_from_slice(&y.pairs()[..hi.len()]);
    }
}

/// Up to [`PAIRS`] pairs, filled up with zeros.
#[inline(always)]
fn filled(pairs: &[Pair]) -> Lanes {
    if let Some(whole) = pairs.first_chunk::<PAIRS>() {
        return Lanes::from_fn(|l| whole[l]);
    }
    Lanes::from_fn(|l| pairs.get(l).copied().unwrap_or(ZERO))
}

/// `t = w (x_{2j} + i x_{N-1-2j})` for the first and for the second line of each pair.
#[inline(always)]
fn quarter_before(lo: Lanes, hi: Lanes, w: Lanes) -> (Lanes, Lanes) {
    (times(Lanes { re: lo.re, im: hi.re }, w), times(Lanes { re: lo.im, im: hi.im }, w))
}

/// `X_{2j} = Re(w T)`, `X_{N-1-2j} = -Im(w T)` for the first and for the second line of each pair.
#[inline(always)]
fn quarter_after(a: Lanes, b: Lanes, w: Lanes) -> (Lanes, Lanes) {
    let (a, b) = (times(a, w), times(b, w));
    (Lanes { re: a.re, im: b.re }, Lanes { re: -a.im, im: -b.im })
}

#[cfg(test)]
mod tests;
