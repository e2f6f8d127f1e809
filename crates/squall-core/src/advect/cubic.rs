//! Monotone cubic interpolation (Fedkiw, Stam & Jensen 2001, with the slopes limited to three times the difference,
//! which monotonicity needs).

use crate::Real;
use crate::sample::{Corners, Isa, Lanes, Places};

/// Between `f[1]` and `f[2]` at `t`, never outside them.
#[inline(always)]
fn monotone(f: [Real; 4], t: Real) -> Real {
    let rise = f[2] - f[1];
    // Slopes against the rise are dropped, and none may exceed three times the rise.
    let slope = |s: Real| {
        let s = if s * rise > 0.0 { s } else { 0.0 };
        let most = 3.0 * rise.abs();
        if s.abs() > most { most.copysign(s) } else { s }
    };
    let (d1, d2) = (slope(0.5 * (f[2] - f[0])), slope(0.5 * (f[3] - f[1])));
    // f1 + d1 t + (3 D - 2 d1 - d2) t^2 + (d1 + d2 - 2 D) t^3
    let value = f[1] + t * (d1 + t * (3.0 * rise - 2.0 * d1 - d2 + t * (d1 + d2 - 2.0 * rise)));
    // Rounding may step over an end by a last digit. NaN stays NaN, to be found.
    let (lo, hi) = if rise > 0.0 { (f[1], f[2]) } else { (f[2], f[1]) };
    if value < lo {
        lo
    } else if value > hi {
        hi
    } else {
        value
    }
}

/// `out[l]` = the field at the `l`-th point of the map, from the 4^D values around it.
pub(super) fn gather_monotone<const D: usize>(
    _isa: Isa,
    from: Corners<D>,
    places: &Places,
    frac: &[Lanes; D],
    out: &mut Lanes,
) {
    let stride = from.stride;
    let lines = 4usize.pow(D as u32 - 1);
    for (l, &base) in places.get().iter().enumerate() {
        let mut value = [0.0; 16];
        for (r, v) in value.iter_mut().take(lines).enumerate() {
            let mut at = base as usize - 1;
            let mut digit = r;
            for a in 1..D {
                at = at + (digit % 4) * stride[a] - stride[a];
                digit /= 4;
            }
            let f = &from.data[at..at + 4];
            *v = monotone([f[0], f[1], f[2], f[3]], frac[0][l]);
        }
        let mut count = lines;
        for a in 1..D {
            count /= 4;
            for r in 0..count {
                value[r] = monotone([value[4 * r], value[4 * r + 1], value[4 * r + 2], value[4 * r + 3]], frac[a][l]);
            }
        }
        out[l] = value[0];
    }
}
