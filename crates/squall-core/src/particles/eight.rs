//! SIMD: values of eight particles at once.
//!
//! Particles lie together as they are used by others; kernels turn eight of them round into vectors, and back. Safe code for that, as
//! the compiler makes it, takes two to three times as long per particle as these few instructions (moving 42 ns instead of 18), so this is the second place of
//! the numerics with `unsafe`. Both kinds of vectors give the same bits: nothing is fused.

use super::Particle;
use crate::Real;
use crate::sample::{Isa, Kernel};
use std::marker::PhantomData;
use std::ops::{Add, Mul, Sub};

/// How many.
pub(super) const LANES: usize = 8;

/// A number of each of eight particles.
pub(super) trait Eight: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {
    /// A whole number of each.
    type Whole: Copy + Add<Output = Self::Whole>;

    fn new(values: [Real; LANES]) -> Self;
    fn array(self) -> [Real; LANES];
    /// The smaller and the larger of two; the second, if one is no number.
    fn min(self, other: Self) -> Self;
    fn max(self, other: Self) -> Self;
    /// Without what comes after the point; they must be far from the largest whole number.
    fn whole(self) -> Self::Whole;
    fn real(whole: Self::Whole) -> Self;
    fn times(whole: Self::Whole, factor: u32) -> Self::Whole;
    fn places(whole: Self::Whole) -> [u32; LANES];

    /// Two values from each of eight places on, turned round.
    ///
    /// # Safety
    /// They must be there.
    unsafe fn twos(values: &[Real], at: &[u32; LANES], on: usize) -> [Self; 2];

    /// Four values from each of eight places on, turned round.
    ///
    /// # Safety
    /// They must be there.
    unsafe fn fours(values: &[Real], at: &[u32; LANES], on: usize) -> [Self; 4];

    /// Adds four values from each of eight places on, one place after the other.
    ///
    /// # Safety
    /// They must be there.
    unsafe fn add_fours(values: &mut [Real], at: &[u32; LANES], on: usize, more: [Self; 4]);

    fn read<const D: usize>(particles: &[Particle<D>; LANES]) -> Block<D, Self> {
        let of = |f: &dyn Fn(&Particle<D>) -> Real| Self::new(std::array::from_fn(|i| f(&particles[i])));
        Block {
            place: std::array::from_fn(|a| of(&|p| p.place[a])),
            velocity: std::array::from_fn(|a| of(&|p| p.velocity[a])),
            slope: std::array::from_fn(|a| std::array::from_fn(|b| of(&|p| p.slope[a][b]))),
        }
    }

    /// Writes all but what they are called.
    fn write<const D: usize>(block: &Block<D, Self>, particles: &mut [Particle<D>; LANES]) {
        for a in 0..D {
            let (place, velocity) = (block.place[a].array(), block.velocity[a].array());
            for (i, p) in particles.iter_mut().enumerate() {
                (p.place[a], p.velocity[a]) = (place[i], velocity[i]);
            }
            for b in 0..D {
                let slope = block.slope[a][b].array();
                particles.iter_mut().zip(slope).for_each(|(p, v)| p.slope[a][b] = v);
            }
        }
    }

    #[inline(always)]
    fn splat(value: Real) -> Self {
        Self::new([value; LANES])
    }

    /// `self + t (other - self)`.
    #[inline(always)]
    fn mix(self, other: Self, t: Self) -> Self {
        self + t * (other - self)
    }
}

/// Eight particles, turned round.
#[derive(Clone, Copy)]
pub(super) struct Block<const D: usize, V> {
    pub place: [V; D],
    pub velocity: [V; D],
    pub slope: [[V; D]; D],
}

/// What is done with particles, eight at once. (Methods and no closures: those are not always inlined, and then miss the instruction set.)
pub(super) trait Job<const D: usize> {
    /// Eight of them, of which the first ones count. Must be marked `#[inline(always)]`, like [`Kernel::run`].
    fn eight<V: Eight>(&mut self, particles: &mut [Particle<D>; LANES], count: usize);
}

/// Does a job with all particles of a list; what becomes of the last ones of eight that do not count is forgotten.
pub(super) fn run_mut<const D: usize>(isa: Isa, job: impl Job<D>, particles: &mut [Particle<D>]) {
    match isa {
        Isa::Portable => isa.run(OnEach::<D, _, Portable> { job, particles, vectors: PhantomData }),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(_) => isa.run(OnEach::<D, _, avx2::Wide> { job, particles, vectors: PhantomData }),
    }
}

struct OnEach<'a, const D: usize, J, V> {
    job: J,
    particles: &'a mut [Particle<D>],
    vectors: PhantomData<V>,
}

impl<const D: usize, J: Job<D>, V: Eight> Kernel for OnEach<'_, D, J, V> {
    #[inline(always)]
    fn run(self) {
        let OnEach { mut job, particles, .. } = self;
        let (whole, rest) = particles.as_chunks_mut::<LANES>();
        for eight in whole {
            job.eight::<V>(eight, LANES);
        }
        if let Some(last) = rest.last() {
            let mut eight = [*last; LANES];
            eight[..rest.len()].copy_from_slice(rest);
            job.eight::<V>(&mut eight, rest.len());
            rest.copy_from_slice(&eight[..rest.len()]);
        }
    }
}

/// [`run_mut`] for particles that stay as they are.
pub(super) fn run<const D: usize>(isa: Isa, job: impl Job<D>, particles: &[Particle<D>]) {
    match isa {
        Isa::Portable => isa.run(Each::<D, _, Portable> { job, particles, vectors: PhantomData }),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(_) => isa.run(Each::<D, _, avx2::Wide> { job, particles, vectors: PhantomData }),
    }
}

struct Each<'a, const D: usize, J, V> {
    job: J,
    particles: &'a [Particle<D>],
    vectors: PhantomData<V>,
}

impl<const D: usize, J: Job<D>, V: Eight> Kernel for Each<'_, D, J, V> {
    #[inline(always)]
    fn run(self) {
        let Each { mut job, particles, .. } = self;
        for chunk in particles.chunks(LANES) {
            let mut eight = [chunk[0]; LANES];
            eight[..chunk.len()].copy_from_slice(chunk);
            job.eight::<V>(&mut eight, chunk.len());
        }
    }
}

/// Vectors of safe code.
#[derive(Clone, Copy)]
pub(super) struct Portable([Real; LANES]);

impl Portable {
    #[inline(always)]
    fn with(self, other: Self, f: impl Fn(Real, Real) -> Real) -> Self {
        Portable(std::array::from_fn(|i| f(self.0[i], other.0[i])))
    }
}

impl Add for Portable {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.with(other, |a, b| a + b)
    }
}

impl Sub for Portable {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.with(other, |a, b| a - b)
    }
}

impl Mul for Portable {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.with(other, |a, b| a * b)
    }
}

/// Whole numbers of safe code.
#[derive(Clone, Copy)]
pub(super) struct PortableWhole([i32; LANES]);

impl Add for PortableWhole {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        PortableWhole(std::array::from_fn(|i| self.0[i].wrapping_add(other.0[i])))
    }
}

impl Eight for Portable {
    type Whole = PortableWhole;

    #[inline(always)]
    fn new(values: [Real; LANES]) -> Self {
        Portable(values)
    }

    #[inline(always)]
    fn array(self) -> [Real; LANES] {
        self.0
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.with(other, |a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.with(other, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn whole(self) -> PortableWhole {
        PortableWhole(self.0.map(|v| v as i32))
    }

    #[inline(always)]
    fn real(whole: PortableWhole) -> Self {
        Portable(whole.0.map(|i| i as Real))
    }

    #[inline(always)]
    fn times(whole: PortableWhole, factor: u32) -> PortableWhole {
        PortableWhole(whole.0.map(|i| i.wrapping_mul(factor as i32)))
    }

    #[inline(always)]
    fn places(whole: PortableWhole) -> [u32; LANES] {
        whole.0.map(|i| i as u32)
    }

    #[inline(always)]
    unsafe fn twos(values: &[Real], at: &[u32; LANES], on: usize) -> [Self; 2] {
        std::array::from_fn(|k| Portable(at.map(|at| values[at as usize + on + k])))
    }

    #[inline(always)]
    unsafe fn fours(values: &[Real], at: &[u32; LANES], on: usize) -> [Self; 4] {
        std::array::from_fn(|k| Portable(at.map(|at| values[at as usize + on + k])))
    }

    #[inline(always)]
    unsafe fn add_fours(values: &mut [Real], at: &[u32; LANES], on: usize, more: [Self; 4]) {
        for (i, at) in at.iter().enumerate() {
            let values = &mut values[*at as usize + on..][..4];
            values.iter_mut().zip(more).for_each(|(v, more)| *v += more.0[i]);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{Add, Block, Eight, LANES, Mul, Particle, Real, Sub};
    use std::arch::x86_64::*;

    // SAFETY of everything here: these vectors are used by `run` alone, on machines that have AVX2.

    /// Vectors of AVX2.
    #[derive(Clone, Copy)]
    pub struct Wide(__m256);

    /// And of whole numbers.
    #[derive(Clone, Copy)]
    pub struct WideWhole(__m256i);

    impl Add for Wide {
        type Output = Self;
        #[inline(always)]
        fn add(self, other: Self) -> Self {
            Wide(unsafe { _mm256_add_ps(self.0, other.0) })
        }
    }

    impl Sub for Wide {
        type Output = Self;
        #[inline(always)]
        fn sub(self, other: Self) -> Self {
            Wide(unsafe { _mm256_sub_ps(self.0, other.0) })
        }
    }

    impl Mul for Wide {
        type Output = Self;
        #[inline(always)]
        fn mul(self, other: Self) -> Self {
            Wide(unsafe { _mm256_mul_ps(self.0, other.0) })
        }
    }

    impl Add for WideWhole {
        type Output = Self;
        #[inline(always)]
        fn add(self, other: Self) -> Self {
            WideWhole(unsafe { _mm256_add_epi32(self.0, other.0) })
        }
    }

    /// Two halves as one.
    #[inline(always)]
    unsafe fn join(low: __m128, high: __m128) -> __m256 {
        unsafe { _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(low), high) }
    }

    /// Turns four rows of four round, in both halves.
    #[inline(always)]
    unsafe fn turned([a, b, c, d]: [Wide; 4]) -> [Wide; 4] {
        unsafe {
            let (ab, cd) = (_mm256_unpacklo_ps(a.0, b.0), _mm256_unpacklo_ps(c.0, d.0));
            let (ab, cd) = (_mm256_castps_pd(ab), _mm256_castps_pd(cd));
            let (ef, gh) = (_mm256_unpackhi_ps(a.0, b.0), _mm256_unpackhi_ps(c.0, d.0));
            let (ef, gh) = (_mm256_castps_pd(ef), _mm256_castps_pd(gh));
            [
                Wide(_mm256_castpd_ps(_mm256_unpacklo_pd(ab, cd))),
                Wide(_mm256_castpd_ps(_mm256_unpackhi_pd(ab, cd))),
                Wide(_mm256_castpd_ps(_mm256_unpacklo_pd(ef, gh))),
                Wide(_mm256_castpd_ps(_mm256_unpackhi_pd(ef, gh))),
            ]
        }
    }

    /// Four values from each of eight places on, from `first`.
    #[inline(always)]
    unsafe fn load(first: *const Real, at: &[u32; LANES]) -> [Wide; 4] {
        unsafe {
            let mut rows = [Wide(_mm256_setzero_ps()); 4];
            for i in 0..4 {
                let low = _mm_loadu_ps(first.add(at[i] as usize));
                let high = _mm_loadu_ps(first.add(at[i + 4] as usize));
                rows[i] = Wide(join(low, high));
            }
            turned(rows)
        }
    }

    /// Two pairs of values.
    #[inline(always)]
    unsafe fn pairs(first: *const Real, at: &[u32; LANES], i: usize) -> __m128 {
        unsafe {
            let low = _mm_castsi128_pd(_mm_loadl_epi64(first.add(at[i] as usize).cast()));
            _mm_castpd_ps(_mm_loadh_pd(low, first.add(at[i + 1] as usize).cast()))
        }
    }

    /// How many numbers a particle is in 3D.
    const COLUMNS: usize = 16;

    impl Eight for Wide {
        type Whole = WideWhole;

        #[inline(always)]
        fn splat(value: Real) -> Self {
            Wide(unsafe { _mm256_set1_ps(value) })
        }

        #[inline(always)]
        fn new(values: [Real; LANES]) -> Self {
            Wide(unsafe { _mm256_loadu_ps(values.as_ptr()) })
        }

        #[inline(always)]
        fn array(self) -> [Real; LANES] {
            let mut values = [0.0; LANES];
            unsafe { _mm256_storeu_ps(values.as_mut_ptr(), self.0) };
            values
        }

        #[inline(always)]
        fn min(self, other: Self) -> Self {
            Wide(unsafe { _mm256_min_ps(self.0, other.0) })
        }

        #[inline(always)]
        fn max(self, other: Self) -> Self {
            Wide(unsafe { _mm256_max_ps(self.0, other.0) })
        }

        #[inline(always)]
        fn whole(self) -> WideWhole {
            WideWhole(unsafe { _mm256_cvttps_epi32(self.0) })
        }

        #[inline(always)]
        fn real(whole: WideWhole) -> Self {
            Wide(unsafe { _mm256_cvtepi32_ps(whole.0) })
        }

        #[inline(always)]
        fn times(whole: WideWhole, factor: u32) -> WideWhole {
            WideWhole(unsafe { _mm256_mullo_epi32(whole.0, _mm256_set1_epi32(factor as i32)) })
        }

        #[inline(always)]
        fn places(whole: WideWhole) -> [u32; LANES] {
            let mut places = [0; LANES];
            unsafe { _mm256_storeu_si256(places.as_mut_ptr().cast(), whole.0) };
            places
        }

        #[inline(always)]
        unsafe fn twos(values: &[Real], at: &[u32; LANES], on: usize) -> [Self; 2] {
            unsafe {
                let first = values.as_ptr().add(on);
                let a = join(pairs(first, at, 0), pairs(first, at, 4));
                let b = join(pairs(first, at, 2), pairs(first, at, 6));
                [Wide(_mm256_shuffle_ps::<0x88>(a, b)), Wide(_mm256_shuffle_ps::<0xdd>(a, b))]
            }
        }

        #[inline(always)]
        unsafe fn fours(values: &[Real], at: &[u32; LANES], on: usize) -> [Self; 4] {
            unsafe { load(values.as_ptr().add(on), at) }
        }

        #[inline(always)]
        unsafe fn add_fours(values: &mut [Real], at: &[u32; LANES], on: usize, more: [Self; 4]) {
            unsafe {
                let rows = turned(more);
                let first = values.as_mut_ptr().add(on);
                for i in 0..4 {
                    let place = first.add(at[i] as usize);
                    _mm_storeu_ps(place, _mm_add_ps(_mm_loadu_ps(place), _mm256_castps256_ps128(rows[i].0)));
                }
                for i in 0..4 {
                    let place = first.add(at[i + 4] as usize);
                    _mm_storeu_ps(place, _mm_add_ps(_mm_loadu_ps(place), _mm256_extractf128_ps::<1>(rows[i].0)));
                }
            }
        }

        #[inline(always)]
        fn read<const D: usize>(particles: &[Particle<D>; LANES]) -> Block<D, Self> {
            if D != 3 {
                return super::Portable::read(particles).map(|v| Wide::new(v.array()));
            }
            const { assert!(size_of::<Particle<3>>() == COLUMNS * size_of::<Real>()) };
            let first: *const Real = particles.as_ptr().cast();
            let at = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| (COLUMNS * i) as u32);
            let mut groups = [[Wide::splat(0.0); 4]; 4];
            for (g, group) in groups.iter_mut().enumerate() {
                // SAFETY: a particle in 3D is sixteen numbers in the order in which they are declared.
                *group = unsafe { load(first.add(4 * g), &at) };
            }
            let columns = groups.as_flattened();
            let mut block = Block { place: [columns[0]; D], velocity: [columns[0]; D], slope: [[columns[0]; D]; D] };
            for a in 0..D {
                (block.place[a], block.velocity[a]) = (columns[a], columns[3 + a]);
                for b in 0..D {
                    block.slope[a][b] = columns[6 + 3 * a + b];
                }
            }
            block
        }

        #[inline(always)]
        fn write<const D: usize>(block: &Block<D, Self>, particles: &mut [Particle<D>; LANES]) {
            if D != 3 {
                return super::Portable::write(&block.map(|v| super::Portable(v.array())), particles);
            }
            let mut ids = [0.0; LANES];
            for i in 0..LANES {
                ids[i] = Real::from_bits(particles[i].id);
            }
            let mut columns = [Wide::new(ids); COLUMNS];
            for a in 0..D {
                (columns[a], columns[3 + a]) = (block.place[a], block.velocity[a]);
                for b in 0..D {
                    columns[6 + 3 * a + b] = block.slope[a][b];
                }
            }
            let first: *mut Real = particles.as_mut_ptr().cast();
            for g in 0..4 {
                // SAFETY: as above; the last number, which is none, is only moved.
                unsafe {
                    let rows = turned([columns[4 * g], columns[4 * g + 1], columns[4 * g + 2], columns[4 * g + 3]]);
                    for i in 0..4 {
                        _mm_storeu_ps(first.add(COLUMNS * i + 4 * g), _mm256_castps256_ps128(rows[i].0));
                        _mm_storeu_ps(first.add(COLUMNS * (i + 4) + 4 * g), _mm256_extractf128_ps::<1>(rows[i].0));
                    }
                }
            }
        }
    }
}

impl<const D: usize, V: Copy> Block<D, V> {
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn map<W>(&self, f: impl Fn(V) -> W) -> Block<D, W> {
        Block {
            place: std::array::from_fn(|a| f(self.place[a])),
            velocity: std::array::from_fn(|a| f(self.velocity[a])),
            slope: std::array::from_fn(|a| std::array::from_fn(|b| f(self.slope[a][b]))),
        }
    }
}
