//! One octave of noise: random coefficients of smooth splines on a small lattice that repeats.
//!
//! A swirling pattern is the curl of a random potential made of B-splines. The derivative of a cubic spline is a quadratic
//! one whose coefficients are differences, so the curl can be taken once, of the coefficients: component `a` becomes a
//! spline that is cubic along its own axis and quadratic along the others, and has no divergence anywhere, not only on
//! some grid. (The spaces are those of divergence-conforming B-splines: Buffa, Rivas, Sangalli & Vázquez 2011.) In 2D
//! the potential is one number per node, in 3D a vector.

use std::ops::Range;

use wide::f32x4;

use crate::ops::each;

/// What the noise is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// One number per place.
    Scalar,
    /// A vector field without divergence.
    Swirls,
}

/// After how many nodes a pattern repeats at the latest: few megabytes, and further than one sees.
pub(super) const fn longest_period<const D: usize>() -> usize {
    if D == 3 { 64 } else { 128 }
}

/// Four nodes have an influence on each point along an axis; with quadratic splines the last one has none.
pub(super) const TAPS: usize = 4;

/// How the splines of the components, one per lane, look along one axis: tap `j` weighs `sum over k of basis[j][k] t^k` at
/// a point the part `t` of the way from node 1 to node 2 of its four.
pub(super) type Basis = [[f32x4; TAPS]; TAPS];

/// The basis along axis `a`.
pub(super) fn basis(kind: Kind, a: usize) -> Basis {
    const CUBIC: [[f32; 4]; 4] =
        [[1.0, -3.0, 3.0, -1.0], [4.0, 0.0, -6.0, 3.0], [1.0, 3.0, 3.0, -3.0], [0.0, 0.0, 0.0, 1.0]];
    const QUADRATIC: [[f32; 4]; 4] = [[1.0, -2.0, 1.0, 0.0], [1.0, 2.0, -2.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0; 4]];
    let of = |j: usize, k: usize| lanes(kind, a, CUBIC[j][k] / 6.0, QUADRATIC[j][k] / 2.0);
    each(|j| each(|k| of(j, k)))
}

/// A number for each component: one for those that are cubic along axis `a`, another for those that are quadratic.
fn lanes(kind: Kind, a: usize, cubic: f32, quadratic: f32) -> f32x4 {
    f32x4::new(each(|c| if kind == Kind::Scalar || c == a { cubic } else { quadratic }))
}

/// The coefficients of a pattern, one lane per component, that repeats after `period` nodes along each axis.
pub(super) struct Pattern<const D: usize> {
    pub period: [usize; D],
    /// Two independent patterns of unit mean square, to be taken in turn.
    sources: [Vec<f32x4>; 2],
    /// What they make together now.
    pub now: Vec<f32x4>,
}

impl<const D: usize> Pattern<D> {
    /// A pattern for a lattice whose cells have these lengths: a stretched curl has a divergence, unless its components
    /// are stretched, too.
    pub fn new(kind: Kind, period: [usize; D], lengths: [f64; D], seed: u64) -> Self {
        let sources = [0, 1].map(|s| {
            let random = random_nodes(period.iter().product(), mix(seed ^ s));
            let mut nodes = match kind {
                Kind::Scalar => without_slow_parts(random, period),
                Kind::Swirls => curl(&random, period),
            };
            let stretch = match kind {
                Kind::Scalar => f32x4::new([1.0, 0.0, 0.0, 0.0]),
                Kind::Swirls => f32x4::new(each(|c| if c < D { (lengths[c] / lengths[0]) as f32 } else { 0.0 })),
            };
            nodes.iter_mut().for_each(|v| *v *= stretch);
            let square = mean_square(kind, &nodes, period);
            let scale = f32x4::splat(if square > 0.0 { (1.0 / square.sqrt()) as f32 } else { 0.0 });
            nodes.iter_mut().for_each(|v| *v *= scale);
            nodes
        });
        let now = sources[0].clone();
        Pattern { period, sources, now }
    }

    /// Blends two moments that follow each other; each is one of the sources, moved to another place.
    pub fn blend(&mut self, knots: [(i64, f32); 2], seed: u64) {
        self.now.fill(f32x4::ZERO);
        for (knot, weight) in knots {
            let source = &self.sources[knot.rem_euclid(2) as usize];
            let bits = mix(seed ^ mix(knot as u64));
            let shift: [usize; D] = each(|a| (bits >> (16 * a) & 0xffff) as usize % self.period[a]);
            let n = self.period[0];
            for (r, now) in self.now.chunks_exact_mut(n).enumerate() {
                let (mut rest, mut from, mut stride) = (r, 0, 1);
                for a in 1..D {
                    from += (rest % self.period[a] + shift[a]) % self.period[a] * stride;
                    rest /= self.period[a];
                    stride *= self.period[a];
                }
                let (end, begin) = source[from * n..][..n].split_at(shift[0]);
                for (now, v) in now.iter_mut().zip(begin.iter().chain(end)) {
                    *now += *v * weight;
                }
            }
        }
    }
}

/// A number from 64 bits that looks random (the finaliser of splitmix64).
pub(crate) fn mix(z: u64) -> u64 {
    let z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Three numbers from -1 to 1 per node.
fn random_nodes(count: usize, seed: u64) -> Vec<f32x4> {
    let node = |n: usize| {
        let bits = mix(seed ^ mix(n as u64));
        let number = |c: usize| (bits >> (21 * c) & 0x1f_ffff) as f32 / 1_048_575.5 - 1.0;
        f32x4::new(each(|c| if c < 3 { number(c) } else { 0.0 }))
    };
    (0..count).map(node).collect()
}

/// Calls `f` with every line of nodes across axis `a` and the one `by` further along it, as ranges.
fn pairs<const D: usize>(period: [usize; D], a: usize, by: isize, mut f: impl FnMut(Range<usize>, Range<usize>)) {
    let (n, stride) = (period[a], period[..a].iter().product::<usize>());
    for block in (0..period.iter().product()).step_by(n * stride) {
        for i in 0..n {
            let other = (i as isize + by).rem_euclid(n as isize) as usize;
            let at = |i: usize| block + i * stride..block + (i + 1) * stride;
            f(at(i), at(other));
        }
    }
}

/// `sum over d of weights[|d|] nodes[i + d]` along axis `a`.
fn filtered<const D: usize>(nodes: &[f32x4], period: [usize; D], a: usize, weights: &[f32x4]) -> Vec<f32x4> {
    let mut sum: Vec<f32x4> = nodes.iter().map(|v| *v * weights[0]).collect();
    for (d, &weight) in weights.iter().enumerate().skip(1) {
        for by in [d as isize, -(d as isize)] {
            pairs(period, a, by, |here, other| {
                for (sum, v) in sum[here].iter_mut().zip(&nodes[other]) {
                    *sum += *v * weight;
                }
            });
        }
    }
    sum
}

/// Takes away the mean of the nodes around each, so that no place is brighter than others for long.
fn without_slow_parts<const D: usize>(nodes: Vec<f32x4>, period: [usize; D]) -> Vec<f32x4> {
    let weights = [0.5, 0.25].map(f32x4::splat);
    let blurred = (0..D).fold(nodes.clone(), |nodes, a| filtered(&nodes, period, a, &weights));
    nodes.iter().zip(blurred).map(|(v, mean)| *v - mean).collect()
}

/// `v_a = sum over b, c of epsilon_abc (psi_c(i + e_b) - psi_c(i))`.
fn curl<const D: usize>(potential: &[f32x4], period: [usize; D]) -> Vec<f32x4> {
    let steps: [Vec<[f32; 4]>; D] = each(|b| {
        let mut steps = vec![[0.0; 4]; potential.len()];
        pairs(period, b, 1, |here, next| {
            for (step, (here, next)) in steps[here.clone()].iter_mut().zip(potential[here].iter().zip(&potential[next]))
            {
                *step = (*next - *here).to_array();
            }
        });
        steps
    });
    let slope = |i: usize, b: usize, c: usize| if b < D { steps[b][i][c] } else { 0.0 };
    let component = |i: usize, a: usize| {
        let (b, c) = ((a + 1) % 3, (a + 2) % 3);
        slope(i, b, c) - slope(i, c, b)
    };
    (0..potential.len()).map(|i| f32x4::new(each(|a| if a < D { component(i, a) } else { 0.0 }))).collect()
}

/// The mean over all places of the square of the spline with these coefficients, summed over the components:
/// `sum over i, j of v_i v_j integral(B_i B_j)`, where the integrals are values of a spline of twice the degree plus one.
fn mean_square<const D: usize>(kind: Kind, nodes: &[f32x4], period: [usize; D]) -> f64 {
    const CUBIC: [f32; 4] = [2416.0 / 5040.0, 1191.0 / 5040.0, 120.0 / 5040.0, 1.0 / 5040.0];
    const QUADRATIC: [f32; 4] = [66.0 / 120.0, 26.0 / 120.0, 1.0 / 120.0, 0.0];
    let weights = |a: usize| -> [f32x4; 4] { each(|d| lanes(kind, a, CUBIC[d], QUADRATIC[d])) };
    let overlaps = (0..D).fold(nodes.to_vec(), |nodes, a| filtered(&nodes, period, a, &weights(a)));
    let sum: f64 = nodes.iter().zip(overlaps).flat_map(|(v, w)| (*v * w).to_array()).map(f64::from).sum();
    sum / nodes.len() as f64
}
