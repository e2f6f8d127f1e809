//! Targets that change.

use super::TargetError;
use squall_core::shape::Beyond;

/// Frames that take more memory than this, in bytes, are refused.
const MOST_BYTES: usize = 2 << 30;

/// A density at each of several times, linear between them.
#[derive(Clone, Debug, PartialEq)]
pub struct DensitySequence {
    keys: Vec<(f64, Vec<f32>)>,
    beyond: Beyond,
}

impl DensitySequence {
    /// Densities at growing times, in seconds. With [`Beyond::Loop`] the last one is the first of the next round.
    pub fn new(keys: Vec<(f64, Vec<f32>)>, beyond: Beyond) -> Result<Self, TargetError> {
        let wrong = |what: String| Err(TargetError::Sequence { what });
        let Some((_, first)) = keys.first() else { return wrong("there are none".into()) };
        for (i, (time, density)) in keys.iter().enumerate() {
            if !time.is_finite() || i > 0 && *time <= keys[i - 1].0 {
                return wrong(format!("number {} is at {time} s: times must be finite and grow", i + 1));
            }
            if density.len() != first.len() {
                let (here, there) = (density.len(), first.len());
                return wrong(format!("number {} has {here} cells, the first one {there}", i + 1));
            }
        }
        Ok(Self { keys, beyond })
    }

    /// Whether one more frame still fits, before it is made.
    pub(super) fn check_memory(frames: usize, cells: usize) -> Result<(), TargetError> {
        match frames.saturating_mul(cells).saturating_mul(size_of::<f32>()) > MOST_BYTES {
            true => Err(TargetError::Sequence {
                what: format!(
                    "{frames} frames of {cells} cells take more than 2 GB: use fewer frames or a coarser grid"
                ),
            }),
            false => Ok(()),
        }
    }

    /// The times of the densities, in seconds.
    pub fn times(&self) -> impl Iterator<Item = f64> + '_ {
        self.keys.iter().map(|key| key.0)
    }

    /// How many values all densities have together.
    pub fn values(&self) -> usize {
        self.keys.iter().map(|key| key.1.len()).sum()
    }

    /// The density at a time.
    pub fn at(&self, time: f64, density: &mut Vec<f32>) {
        let (first, last) = (self.keys[0].0, self.keys[self.keys.len() - 1].0);
        let period = last - first;
        let time = match self.beyond {
            Beyond::Loop if period > 0.0 => first + (time - first).rem_euclid(period),
            _ => time,
        };
        let to = self.keys.partition_point(|key| key.0 <= time);
        density.clear();
        if to == 0 || to == self.keys.len() {
            return density.extend_from_slice(&self.keys[to.saturating_sub(1)].1);
        }
        let [(t0, from), (t1, to)] = [&self.keys[to - 1], &self.keys[to]];
        let share = ((time - t0) / (t1 - t0)) as f32;
        density.extend(from.iter().zip(to).map(|(a, b)| a * (1.0 - share) + b * share));
    }
}
