//! What several tests share.
#![allow(dead_code, missing_docs)] // Each test binary uses only some of it.

pub mod around;
pub mod forces;
pub mod strokes;

use squall_core::*;

/// The kinds of axis there are: periodic, and every pair of sides.
pub fn axes<const D: usize>() -> Vec<Axis<D>> {
    let inflow = Side::Inflow { velocity: [0.0; D] };
    let sides = [Side::Slip, Side::STICKY, Side::Open, inflow];
    let mut all = vec![Axis::Periodic];
    for lo in sides {
        for hi in sides {
            all.push(Axis::Bounded { lo, hi });
        }
    }
    all
}

/// Numbers from -1 to 1 that look random, the same every time.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as f64 / u64::MAX as f64 * 2.0 - 1.0
    }

    pub fn fill<const D: usize>(&mut self, field: &mut Field<D>) {
        let count: usize = field.cells().iter().product();
        let values: Vec<f32> = (0..count).map(|_| self.next() as f32).collect();
        field.copy_from(&values);
        field.fill_halo();
    }
}

/// The rows of a CSV file whose first lines are comments and one header.
pub fn table(text: &str) -> Vec<Vec<f64>> {
    let lines = text.lines().filter(|l| !l.starts_with('#')).skip(1);
    lines.map(|l| l.split(',').map(|v| v.parse().unwrap_or(f64::NAN)).collect()).collect()
}

/// All values of a field, ghosts left out.
pub fn values<const D: usize>(field: &Field<D>) -> Vec<f32> {
    let mut out = Vec::new();
    field.copy_to(&mut out);
    out
}
