//! Multilinear sampling of many points at once: with `particles/eight.rs` the only place of the numerics with `unsafe`.
//!
//! Hardware gathers are slow; what is fast is to notice that the points of neighbouring cells lie close together. Eight
//! points whose low corners are consecutive need two plain loads per line of corners, points within a window of fifteen
//! need two loads and permutations, and any others are fetched as eight pairs `(x, x + 1)`. Machines with AVX-512 take sixteen
//! points at once, and what is not consecutive from as many windows of 32 values as it takes: two or three in a turbulent flow.
//! On a Zen 5 core that took 1.5 ns per point there, pairs 1.9, gather instructions 3.1.
//!
//! Every path computes `a + t (b - a)` along x, then y, then z, in the same order and without fused multiply-add, so all
//! of them give the same bits.

use super::{CHUNK, Lanes};
use crate::Real;

/// The instruction set that kernels run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// Safe code, whatever the compiler makes of it.
    Portable,
    /// 256-bit vectors.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
}

/// Proof that the machine has AVX2: the only way to get one is [`Isa::best`] and [`Isa::all`].
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Avx2 {
    /// Whether it has AVX-512 as well, for gathers.
    wide: bool,
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    // All machines that are still in use have all four or none.
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512bw")
}

impl Isa {
    /// The best instruction set of this machine.
    pub fn best() -> Isa {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            return Isa::Avx2(Avx2 { wide: has_avx512() });
        }
        Isa::Portable
    }

    /// All that this machine can run, the best one last. All give the same bits.
    pub fn all() -> Vec<Isa> {
        let mut all = vec![Isa::Portable];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            all.push(Isa::Avx2(Avx2 { wide: false }));
            if has_avx512() {
                all.push(Isa::Avx2(Avx2 { wide: true }));
            }
        }
        all
    }

    /// Runs a kernel compiled for this instruction set, so that the compiler vectorises its loops to the full width.
    #[inline(always)]
    pub fn run(self, kernel: impl Kernel) {
        match self {
            Isa::Portable => kernel.run(),
            // SAFETY: an `Avx2` exists only on machines that have it.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2(_) => unsafe { avx2::run(kernel) },
        }
    }
}

impl Isa {
    /// [`Isa::run`] for the few kernels that are compiled for AVX-512 as well.
    #[inline(always)]
    pub fn run_wide(self, kernel: impl Kernel) {
        match self {
            // SAFETY: the machine has it.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2(Avx2 { wide: true }) => unsafe { avx512::run(kernel) },
            _ => self.run(kernel),
        }
    }
}

/// Code that is compiled once per instruction set. `run` must be marked `#[inline(always)]`: what is not inlined keeps the
/// instruction set of the oldest machine. (A closure cannot be marked, and the compiler does not always inline it.)
pub trait Kernel {
    /// Does the work.
    fn run(self);
}

/// The values that a gather reads, with the distances to the other corners.
#[derive(Clone, Copy)]
pub(crate) struct Corners<'a, const D: usize> {
    pub data: &'a [Real],
    pub stride: [usize; D],
}

impl<const D: usize> Corners<'_, D> {
    /// Distance from the low corner to the `r`-th line of corners along x.
    #[inline(always)]
    fn line(&self, r: usize) -> usize {
        (1..D).map(|a| if r >> (a - 1) & 1 == 1 { self.stride[a] } else { 0 }).sum()
    }

    /// Panics unless every read of every path stays inside the data.
    fn check(&self, places: &Places) {
        let last = places.last as usize + self.line((1 << (D - 1)) - 1);
        assert!(last + 32 <= self.data.len(), "sample outside");
    }
}

/// Where the low corners of a chunk's points lie in memory. Knows its largest place, so that a whole chunk can be checked
/// at once.
pub(crate) struct Places {
    at: [u32; CHUNK],
    lanes: usize,
    last: u32,
}

impl Places {
    pub fn new() -> Self {
        Places { at: [0; CHUNK], lanes: 0, last: 0 }
    }

    /// The places, to be written. None of them counts before they are closed again.
    #[inline(always)]
    pub fn open(&mut self) -> &mut [u32; CHUNK] {
        self.lanes = 0;
        &mut self.at
    }

    /// From now on there are so many (a multiple of eight).
    #[inline(always)]
    pub fn close(&mut self, lanes: usize) {
        assert!(lanes.is_multiple_of(8) && lanes <= CHUNK);
        let mut last = 0;
        for &at in &self.at[..lanes] {
            last = if at > last { at } else { last };
        }
        (self.lanes, self.last) = (lanes, last);
    }

    /// The places that have been set.
    #[inline(always)]
    pub fn get(&self) -> &[u32] {
        &self.at[..self.lanes]
    }
}

/// Number of corner lines along x: one in 1D, two in 2D, four in 3D.
const MAX_LINES: usize = 4;

/// Blends the corner lines of one point along y and z.
#[inline(always)]
fn blend<const D: usize>(mut line: [Real; MAX_LINES], frac: &[Lanes; D], l: usize) -> Real {
    let mut count = 1 << (D - 1);
    for a in 1..D {
        count /= 2;
        for r in 0..count {
            line[r] = line[2 * r] + frac[a][l] * (line[2 * r + 1] - line[2 * r]);
        }
    }
    line[0]
}

/// `out[l]` = the field at the `l`-th point, `frac` of the way from its low corner to the next along each axis.
#[inline(always)]
pub(crate) fn gather<const D: usize>(isa: Isa, from: Corners<D>, places: &Places, frac: &[Lanes; D], out: &mut Lanes) {
    from.check(places);
    match isa {
        Isa::Portable => {
            for (l, &base) in places.get().iter().enumerate() {
                let mut line = [0.0; MAX_LINES];
                for (r, v) in line.iter_mut().take(1 << (D - 1)).enumerate() {
                    let at = base as usize + from.line(r);
                    *v = from.data[at] + frac[0][l] * (from.data[at + 1] - from.data[at]);
                }
                out[l] = blend(line, frac, l);
            }
        }
        // SAFETY: the machine has AVX2, and AVX-512 where it says so; `check` has bounded every read.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(Avx2 { wide }) => unsafe {
            let done = if wide { avx512::gather(from, places, frac, out) } else { 0 };
            avx2::gather(from, places, frac, out, done);
        },
    }
}

/// `value[l]` = the field at the `l`-th point, and `lo[l]`, `hi[l]` = the range of the corners of another field around it.
#[inline(always)]
pub(crate) fn gather_within<const D: usize>(
    isa: Isa,
    [from, bounds]: [Corners<D>; 2],
    places: &Places,
    frac: &[Lanes; D],
    value: &mut Lanes,
    [lo, hi]: [&mut Lanes; 2],
) {
    from.check(places);
    bounds.check(places);
    assert!(from.stride == bounds.stride, "fields of one shape");
    match isa {
        Isa::Portable => {
            for (l, &base) in places.get().iter().enumerate() {
                let mut line = [0.0; MAX_LINES];
                (lo[l], hi[l]) = (Real::INFINITY, Real::NEG_INFINITY);
                for (r, v) in line.iter_mut().take(1 << (D - 1)).enumerate() {
                    let at = base as usize + from.line(r);
                    *v = from.data[at] + frac[0][l] * (from.data[at + 1] - from.data[at]);
                    let (a, b) = (bounds.data[at], bounds.data[at + 1]);
                    lo[l] = min(min(a, b), lo[l]);
                    hi[l] = max(max(a, b), hi[l]);
                }
                value[l] = blend(line, frac, l);
            }
        }
        // SAFETY: the machine has AVX2, and AVX-512 where it says so; `check` has bounded every read.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(Avx2 { wide }) => unsafe {
            let done = if wide { avx512::gather_within([from, bounds], places, frac, value, [lo, hi]) } else { 0 };
            avx2::gather_within([from, bounds], places, frac, value, [lo, hi], done);
        },
    }
}

/// The smaller value, as the vector instruction has it: `b` if either is NaN.
#[inline(always)]
pub(crate) fn min(a: Real, b: Real) -> Real {
    if a < b { a } else { b }
}

/// The larger value, as the vector instruction has it: `b` if either is NaN.
#[inline(always)]
pub(crate) fn max(a: Real, b: Real) -> Real {
    if a > b { a } else { b }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{Corners, Lanes, MAX_LINES, Places, Real};
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx2")]
    pub unsafe fn run(kernel: impl super::Kernel) {
        kernel.run();
    }

    /// How the pairs `(x, x + 1)` of eight points are fetched; the same for every field and corner line.
    pub enum Fetch {
        /// The low corners are consecutive from here on.
        Run(usize),
        /// All low corners lie in the fifteen places from `first` on, at `offset`.
        Near { first: usize, offset: __m256i },
        /// Anywhere.
        Far([u32; 8]),
    }

    impl Fetch {
        #[inline]
        #[target_feature(enable = "avx2")]
        pub unsafe fn of(base: &[u32]) -> Fetch {
            let base: &[u32; 8] = base.try_into().expect("eight points");
            // SAFETY: eight values are there.
            let b = unsafe { _mm256_loadu_si256(base.as_ptr().cast()) };
            let iota = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
            let run = _mm256_add_epi32(_mm256_set1_epi32(base[0] as i32), iota);
            if _mm256_movemask_epi8(_mm256_cmpeq_epi32(b, run)) == -1 {
                return Fetch::Run(base[0] as usize);
            }
            // Horizontal minimum by folding halves.
            let m = _mm_min_epu32(_mm256_castsi256_si128(b), _mm256_extracti128_si256::<1>(b));
            let m = _mm_min_epu32(m, _mm_shuffle_epi32::<0b01_00_11_10>(m));
            let m = _mm_min_epu32(m, _mm_shuffle_epi32::<0b10_11_00_01>(m));
            let first = _mm_cvtsi128_si32(m);
            let offset = _mm256_sub_epi32(b, _mm256_set1_epi32(first));
            let far = _mm256_cmpgt_epi32(offset, _mm256_set1_epi32(14));
            if _mm256_movemask_epi8(far) == 0 {
                return Fetch::Near { first: first as u32 as usize, offset };
            }
            Fetch::Far(*base)
        }

        /// The values at `x` and at `x + 1` of the eight points, `shift` places behind the low corners.
        #[inline]
        #[target_feature(enable = "avx2")]
        pub unsafe fn pairs(&self, data: *const Real, shift: usize) -> (__m256, __m256) {
            // SAFETY: the caller has checked that `base + shift + 32` lies inside the data for every base.
            unsafe {
                match self {
                    Fetch::Run(first) => {
                        let p = data.add(first + shift);
                        (_mm256_loadu_ps(p), _mm256_loadu_ps(p.add(1)))
                    }
                    Fetch::Near { first, offset } => {
                        let p = data.add(first + shift);
                        let (a, b) = (_mm256_loadu_ps(p), _mm256_loadu_ps(p.add(8)));
                        let pick = |o: __m256i| {
                            // Bit 3 of the offset says which of the two loads; moved to the sign bit, it selects.
                            let second = _mm256_castsi256_ps(_mm256_slli_epi32::<28>(o));
                            let (a, b) = (_mm256_permutevar8x32_ps(a, o), _mm256_permutevar8x32_ps(b, o));
                            _mm256_blendv_ps(a, b, second)
                        };
                        (pick(*offset), pick(_mm256_add_epi32(*offset, _mm256_set1_epi32(1))))
                    }
                    Fetch::Far(base) => {
                        // 64 bits at once, from addresses of any alignment.
                        let pair = |l: usize| _mm_loadl_epi64(data.add(base[l] as usize + shift).cast());
                        let two = |l: usize| _mm_unpacklo_epi64(pair(l), pair(l + 1));
                        let a = _mm256_castsi256_ps(_mm256_set_m128i(two(4), two(0)));
                        let b = _mm256_castsi256_ps(_mm256_set_m128i(two(6), two(2)));
                        (_mm256_shuffle_ps::<0b10_00_10_00>(a, b), _mm256_shuffle_ps::<0b11_01_11_01>(a, b))
                    }
                }
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn lerp(t: __m256, a: __m256, b: __m256) -> __m256 {
        _mm256_add_ps(a, _mm256_mul_ps(t, _mm256_sub_ps(b, a)))
    }

    /// The points from `begin` on, a multiple of eight.
    #[target_feature(enable = "avx2")]
    pub unsafe fn gather<const D: usize>(
        from: Corners<D>,
        places: &Places,
        frac: &[Lanes; D],
        out: &mut Lanes,
        begin: usize,
    ) {
        let shifts: [usize; MAX_LINES] = std::array::from_fn(|r| from.line(r));
        for (g, base) in places.get().chunks_exact(8).enumerate().skip(begin / 8).map(|(g, b)| (8 * g, b)) {
            // SAFETY: the caller has checked every base.
            unsafe {
                let fetch = Fetch::of(base);
                let frac = |a: usize| _mm256_loadu_ps(frac[a][g..g + 8].as_ptr());
                let mut line = [_mm256_setzero_ps(); MAX_LINES];
                for r in 0..1 << (D - 1) {
                    let (a, b) = fetch.pairs(from.data.as_ptr(), shifts[r]);
                    line[r] = lerp(frac(0), a, b);
                }
                let mut count = 1 << (D - 1);
                for a in 1..D {
                    count /= 2;
                    for r in 0..count {
                        line[r] = lerp(frac(a), line[2 * r], line[2 * r + 1]);
                    }
                }
                _mm256_storeu_ps(out[g..g + 8].as_mut_ptr(), line[0]);
            }
        }
    }

    #[target_feature(enable = "avx2")]
    pub unsafe fn gather_within<const D: usize>(
        [from, bounds]: [Corners<D>; 2],
        places: &Places,
        frac: &[Lanes; D],
        value: &mut Lanes,
        [low, high]: [&mut Lanes; 2],
        begin: usize,
    ) {
        let shifts: [usize; MAX_LINES] = std::array::from_fn(|r| from.line(r));
        for (g, base) in places.get().chunks_exact(8).enumerate().skip(begin / 8).map(|(g, b)| (8 * g, b)) {
            // SAFETY: the caller has checked every base, for both fields.
            unsafe {
                let fetch = Fetch::of(base);
                let frac = |a: usize| _mm256_loadu_ps(frac[a][g..g + 8].as_ptr());
                let mut line = [_mm256_setzero_ps(); MAX_LINES];
                let (mut lo, mut hi) = (_mm256_set1_ps(Real::INFINITY), _mm256_set1_ps(Real::NEG_INFINITY));
                for r in 0..1 << (D - 1) {
                    let (a, b) = fetch.pairs(from.data.as_ptr(), shifts[r]);
                    line[r] = lerp(frac(0), a, b);
                    let (a, b) = fetch.pairs(bounds.data.as_ptr(), shifts[r]);
                    lo = _mm256_min_ps(_mm256_min_ps(a, b), lo);
                    hi = _mm256_max_ps(_mm256_max_ps(a, b), hi);
                }
                let mut count = 1 << (D - 1);
                for a in 1..D {
                    count /= 2;
                    for r in 0..count {
                        line[r] = lerp(frac(a), line[2 * r], line[2 * r + 1]);
                    }
                }
                _mm256_storeu_ps(value[g..g + 8].as_mut_ptr(), line[0]);
                _mm256_storeu_ps(low[g..g + 8].as_mut_ptr(), lo);
                _mm256_storeu_ps(high[g..g + 8].as_mut_ptr(), hi);
            }
        }
    }
}

/// Sixteen points at once.
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::{Corners, Lanes, MAX_LINES, Places, Real};
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2")]
    pub unsafe fn run(kernel: impl super::Kernel) {
        kernel.run();
    }

    /// Values before and from the first point of a window on that it holds.
    const BEFORE: u32 = 7;
    const WINDOW: i32 = 32;

    /// The corners of sixteen points: for each line along x the values at `x` and those at `x + 1`.
    #[inline]
    #[target_feature(enable = "avx512f,avx2")]
    unsafe fn corners<const D: usize>(
        data: *const Real,
        shifts: &[usize; MAX_LINES],
        base: &[u32],
    ) -> [[__m512; 2]; MAX_LINES] {
        let base: &[u32; 16] = base.try_into().expect("sixteen points");
        // SAFETY: sixteen places are there, and the caller has checked that what is read around each of them lies inside the data:
        // `BEFORE` values before it, if there are so many, and less than 32 from it on.
        unsafe {
            let b = _mm512_loadu_si512(base.as_ptr().cast());
            let iota = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
            let run = _mm512_add_epi32(_mm512_set1_epi32(base[0] as i32), iota);
            let mut lines = [[_mm512_setzero_ps(); 2]; MAX_LINES];
            if _mm512_cmpeq_epi32_mask(b, run) == u16::MAX {
                for r in 0..1 << (D - 1) {
                    let p = data.add(base[0] as usize + shifts[r]);
                    lines[r] = [_mm512_loadu_ps(p), _mm512_loadu_ps(p.add(1))];
                }
                return lines;
            }
            let mut left = u16::MAX;
            while left != 0 {
                let first = base[left.trailing_zeros() as usize].saturating_sub(BEFORE);
                let at = _mm512_sub_epi32(b, _mm512_set1_epi32(first as i32));
                let next = _mm512_add_epi32(at, _mm512_set1_epi32(1));
                let here = _mm512_mask_cmplt_epu32_mask(left, at, _mm512_set1_epi32(WINDOW - 1));
                for r in 0..1 << (D - 1) {
                    let p = data.add(first as usize + shifts[r]);
                    let (low, high) = (_mm512_loadu_ps(p), _mm512_loadu_ps(p.add(16)));
                    let [x, y] = lines[r];
                    lines[r] = [
                        _mm512_mask_mov_ps(x, here, _mm512_permutex2var_ps(low, at, high)),
                        _mm512_mask_mov_ps(y, here, _mm512_permutex2var_ps(low, next, high)),
                    ];
                }
                left &= !here;
            }
            lines
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx2")]
    fn lerp(t: __m512, a: __m512, b: __m512) -> __m512 {
        _mm512_add_ps(a, _mm512_mul_ps(t, _mm512_sub_ps(b, a)))
    }

    /// Blends the corners of sixteen points.
    #[inline]
    #[target_feature(enable = "avx512f,avx2")]
    unsafe fn blend<const D: usize>(lines: [[__m512; 2]; MAX_LINES], frac: &[Lanes; D], g: usize) -> __m512 {
        // SAFETY: the slice has sixteen values.
        let frac = |a: usize| unsafe { _mm512_loadu_ps(frac[a][g..g + 16].as_ptr()) };
        let along_x = frac(0);
        let mut line = lines.map(|[a, b]| lerp(along_x, a, b));
        let mut count = 1 << (D - 1);
        for a in 1..D {
            count /= 2;
            let t = frac(a);
            for r in 0..count {
                line[r] = lerp(t, line[2 * r], line[2 * r + 1]);
            }
        }
        line[0]
    }

    /// As many points as make whole vectors; returns how many.
    #[target_feature(enable = "avx512f,avx2")]
    pub unsafe fn gather<const D: usize>(
        from: Corners<D>,
        places: &Places,
        frac: &[Lanes; D],
        out: &mut Lanes,
    ) -> usize {
        let shifts: [usize; MAX_LINES] = std::array::from_fn(|r| from.line(r));
        for (g, base) in places.get().chunks_exact(16).enumerate().map(|(g, b)| (16 * g, b)) {
            // SAFETY: the caller has checked every base.
            unsafe {
                let lines = corners::<D>(from.data.as_ptr(), &shifts, base);
                _mm512_storeu_ps(out[g..g + 16].as_mut_ptr(), blend(lines, frac, g));
            }
        }
        places.get().len() / 16 * 16
    }

    /// As many points as make whole vectors; returns how many.
    #[target_feature(enable = "avx512f,avx2")]
    pub unsafe fn gather_within<const D: usize>(
        [from, bounds]: [Corners<D>; 2],
        places: &Places,
        frac: &[Lanes; D],
        value: &mut Lanes,
        [low, high]: [&mut Lanes; 2],
    ) -> usize {
        let shifts: [usize; MAX_LINES] = std::array::from_fn(|r| from.line(r));
        for (g, base) in places.get().chunks_exact(16).enumerate().map(|(g, b)| (16 * g, b)) {
            // SAFETY: the caller has checked every base, for both fields.
            unsafe {
                let lines = corners::<D>(from.data.as_ptr(), &shifts, base);
                _mm512_storeu_ps(value[g..g + 16].as_mut_ptr(), blend(lines, frac, g));
                let lines = corners::<D>(bounds.data.as_ptr(), &shifts, base);
                let (mut lo, mut hi) = (_mm512_set1_ps(Real::INFINITY), _mm512_set1_ps(Real::NEG_INFINITY));
                for [a, b] in &lines[..1 << (D - 1)] {
                    lo = _mm512_min_ps(_mm512_min_ps(*a, *b), lo);
                    hi = _mm512_max_ps(_mm512_max_ps(*a, *b), hi);
                }
                _mm512_storeu_ps(low[g..g + 16].as_mut_ptr(), lo);
                _mm512_storeu_ps(high[g..g + 16].as_mut_ptr(), hi);
            }
        }
        places.get().len() / 16 * 16
    }
}
