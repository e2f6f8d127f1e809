use super::*;

const SIZES: [usize; 19] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17, 31, 32, 64, 127, 128, 250];

fn kinds() -> [(Ends, Kind); 5] {
    let (flat, value) = (End::Flat, End::Value(0.0));
    [
        (Ends::Periodic, Kind::Periodic),
        (Ends::Bounded { lo: flat, hi: flat }, Kind::FlatFlat),
        (Ends::Bounded { lo: value, hi: value }, Kind::ValueValue),
        (Ends::Bounded { lo: flat, hi: value }, Kind::FlatValue),
        (Ends::Bounded { lo: value, hi: flat }, Kind::ValueFlat),
    ]
}

/// Mode `k` of each kind at sample `i`, from its definition.
fn mode(kind: Kind, k: usize, i: usize, n: usize) -> f64 {
    let (kf, x, nf) = (k as f64, i as f64 + 0.5, n as f64);
    match kind {
        // cosines up to the middle, sines behind it
        Kind::Periodic if k <= n / 2 => (2.0 * PI * kf * i as f64 / nf).cos(),
        Kind::Periodic => (2.0 * PI * (nf - kf) * i as f64 / nf).sin(),
        Kind::FlatFlat => (PI * kf * x / nf).cos(),
        Kind::ValueValue => (PI * (kf + 1.0) * x / nf).sin(),
        Kind::FlatValue => (PI * (kf + 0.5) * x / nf).cos(),
        Kind::ValueFlat => (PI * (kf + 0.5) * x / nf).sin(),
    }
}

/// Two lines of unlike numbers between -1 and 1.
fn samples(n: usize) -> Vec<Pair> {
    let value = |i: usize, salt: f64| ((i as f64 + salt) * 12.9898).sin() as Real;
    (0..n).map(|i| Pair::new(value(i, 0.3), value(i, 77.7))).collect()
}

fn placed(transform: &Transform, x: &[Pair]) -> Vec<Pair> {
    let mut line = vec![Pair::default(); x.len()];
    for (x, p) in x.iter().zip(transform.places(Domain::Space)) {
        line[p.slot] = x * p.sign;
    }
    line
}

/// Rounding of an FFT grows with log N; primes go through a convolution of at least twice the length. The values
/// are of order 1 and the sums of order sqrt N.
fn tolerance(n: usize) -> f64 {
    4.0 * Real::EPSILON as f64 * (n as f64).sqrt() * (2.0 + (n as f64).log2())
}

#[test]
fn every_transform_is_its_matrix_up_to_order_sign_and_scale_of_the_modes() {
    for n in SIZES {
        for (ends, kind) in kinds() {
            let transform = Transform::new(n, ends, &mut Planner::new(Isa::best()));
            let x = samples(n);
            let mut line = placed(&transform, &x);
            let mut scratch = vec![Pair::new(Real::NAN, Real::NAN); transform.scratch_len()];
            transform.forward(&mut line, &mut scratch);
            for slot in 0..n {
                let k = mode_of(kind, slot, n);
                let sum =
                    |part: fn(&Pair) -> Real| (0..n).map(|i| part(&x[i]) as f64 * mode(kind, k, i, n)).sum::<f64>();
                let expected = [sum(|z| z.re), sum(|z| z.im)];
                // |scale| of this mode: the matrix has entries of order 1, so it is found from the larger part.
                let got = [line[slot].re as f64, line[slot].im as f64];
                let factor = (expected[0] * got[0] + expected[1] * got[1])
                    / (expected[0] * expected[0] + expected[1] * expected[1]);
                assert!((0.7..2.9).contains(&factor.abs()), "{kind:?} {n} mode {k}: factor {factor}");
                for c in 0..2 {
                    let error = (got[c] - factor * expected[c]).abs();
                    assert!(error < tolerance(n) * factor.abs(), "{kind:?} {n} mode {k}: {error}");
                }
            }
        }
    }
}

#[test]
fn the_slots_of_every_transform_hold_every_mode_once() {
    for n in SIZES {
        for (_, kind) in kinds() {
            let mut seen: Vec<usize> = (0..n).map(|slot| mode_of(kind, slot, n)).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..n).collect::<Vec<_>>(), "{kind:?} {n}");
        }
    }
}

#[test]
fn the_inverse_of_the_forward_transform_is_the_identity_times_the_scale() {
    for n in SIZES {
        for (ends, kind) in kinds() {
            let transform = Transform::new(n, ends, &mut Planner::new(Isa::best()));
            let before = placed(&transform, &samples(n));
            let mut line = before.clone();
            let mut scratch = vec![Pair::new(Real::NAN, Real::NAN); transform.scratch_len()];
            transform.forward(&mut line, &mut scratch);
            transform.inverse(&mut line, &mut scratch);
            let scale = transform.scale() as Real;
            for (a, b) in line.iter().zip(&before) {
                // Errors of a pair of orthogonal transforms stay relative to the values, which are of order 1.
                let error = (a / scale - b).norm() as f64;
                assert!(error < tolerance(n) / (n as f64).sqrt() * 2.0, "{kind:?} {n}: {error}");
            }
        }
    }
}

#[test]
fn modes_are_eigenvectors_of_the_compact_laplacian() {
    for n in SIZES {
        for (ends, kind) in kinds() {
            let transform = Transform::new(n, ends, &mut Planner::new(Isa::best()));
            for slot in 0..n {
                let k = mode_of(kind, slot, n);
                let at = |i: isize| {
                    let (last, m) = (n as isize - 1, |i: isize| mode(kind, k, i as usize, n));
                    match ends {
                        Ends::Periodic => m(i.rem_euclid(n as isize)),
                        Ends::Bounded { lo: End::Flat, .. } if i < 0 => m(0),
                        Ends::Bounded { lo: End::Value(_), .. } if i < 0 => -m(0),
                        Ends::Bounded { hi: End::Flat, .. } if i > last => m(last),
                        Ends::Bounded { hi: End::Value(_), .. } if i > last => -m(last),
                        _ => m(i),
                    }
                };
                for i in 0..n as isize {
                    let lap = at(i - 1) - 2.0 * at(i) + at(i + 1);
                    // f64 rounding of sines of arguments up to pi N
                    let error = (lap - transform.eigenvalues()[slot] * at(i)).abs();
                    assert!(error < 1e-12, "{kind:?} {n} mode {k}: {error}");
                }
            }
        }
    }
}
