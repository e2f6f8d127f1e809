//! Values on keyframes.

/// A value at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key<const N: usize> {
    /// When, in seconds.
    pub time: f64,
    /// What.
    pub value: [f64; N],
}

/// How values change between two keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interpolation {
    /// At constant speed.
    #[default]
    Linear,
    /// Without jerks and without overshooting: monotone cubic. Comes to rest at the first and last key, unless it loops.
    Smooth,
    /// Not at all: the value jumps at each key, and the speed is 0.
    Step,
}

/// What happens before the first and after the last key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beyond {
    /// The first and last values stay.
    #[default]
    Hold,
    /// Everything repeats, in both directions of time: the last key is the first one of the next round. Where
    /// they differ the value jumps.
    Loop,
}

/// Why keys make no track.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TrackError {
    /// A time or value is infinite or not a number.
    #[error("key {key} (counted from 1) has a time or value that is not a finite number")]
    NotFinite {
        /// Number of the key, from 1.
        key: usize,
    },
    /// Times must grow.
    #[error(
        "key {key} (counted from 1) is at {time} s, which is not later than the key before it: put keys in order of time"
    )]
    NotLater {
        /// Number of the key, from 1.
        key: usize,
        /// Its time.
        time: f64,
    },
}

/// `N` numbers that change with time. Without keys they are 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Track<const N: usize> {
    keys: Vec<Key<N>>,
    interpolation: Interpolation,
    beyond: Beyond,
}

impl<const N: usize> Track<N> {
    /// A track through keys whose times grow.
    pub fn new(keys: Vec<Key<N>>, interpolation: Interpolation, beyond: Beyond) -> Result<Self, TrackError> {
        for (i, key) in keys.iter().enumerate() {
            if !key.time.is_finite() || !key.value.iter().all(|v| v.is_finite()) {
                return Err(TrackError::NotFinite { key: i + 1 });
            }
            if i > 0 && key.time <= keys[i - 1].time {
                return Err(TrackError::NotLater { key: i + 1, time: key.time });
            }
        }
        Ok(Track { keys, interpolation, beyond })
    }

    /// A value that never changes.
    pub fn constant(value: [f64; N]) -> Self {
        Track { keys: vec![Key { time: 0.0, value }], ..Track::default() }
    }

    /// Whether the value ever changes.
    pub fn moves(&self) -> bool {
        self.keys.windows(2).any(|pair| pair[0].value != pair[1].value)
    }

    /// The value at time `t` and its derivative, per second. At a corner: the derivative after it.
    pub fn at(&self, t: f64) -> ([f64; N], [f64; N]) {
        let rest = [0.0; N];
        let (Some(first), Some(last)) = (self.keys.first(), self.keys.last()) else { return (rest, rest) };
        let t = match self.beyond {
            Beyond::Loop => in_loop(t, first.time, last.time),
            _ if t < first.time => return (first.value, rest),
            _ => t,
        };
        // The last key at or before t.
        let i = self.keys.partition_point(|key| key.time <= t).saturating_sub(1);
        if i + 1 == self.keys.len() {
            return (last.value, rest);
        }
        self.between(i, t)
    }

    /// The value and its derivative between the keys `i` and `i + 1`.
    fn between(&self, i: usize, t: f64) -> ([f64; N], [f64; N]) {
        let (from, to) = (self.keys[i], self.keys[i + 1]);
        let span = to.time - from.time;
        let s = (t - from.time) / span;
        let mut value = from.value;
        let mut rate = [0.0; N];
        for n in 0..N {
            let change = to.value[n] - from.value[n];
            match self.interpolation {
                Interpolation::Step => {}
                Interpolation::Linear => {
                    value[n] += s * change;
                    rate[n] = change / span;
                }
                Interpolation::Smooth => {
                    // Hermite: p = p0 + s (m0 + s (3 change - 2 m0 - m1 + s (m0 + m1 - 2 change))), m = span * tangent.
                    let (m0, m1) = (span * self.tangent(i, n), span * self.tangent(i + 1, n));
                    let (quadratic, cubic) = (3.0 * change - 2.0 * m0 - m1, m0 + m1 - 2.0 * change);
                    value[n] += s * (m0 + s * (quadratic + s * cubic));
                    rate[n] = (m0 + s * (2.0 * quadratic + s * 3.0 * cubic)) / span;
                }
            }
        }
        (value, rate)
    }

    /// Slope of channel `n` at key `i`: the harmonic mean of the slopes on both sides, 0 at extremes. (Fritsch & Butland
    /// 1984: no overshoot, whatever the spacing of keys.)
    fn tangent(&self, i: usize, n: usize) -> f64 {
        let last = self.keys.len() - 1;
        let slope = |i: usize| {
            let (a, b) = (self.keys[i], self.keys[i + 1]);
            let span = b.time - a.time;
            ((b.value[n] - a.value[n]) / span, span)
        };
        let ((before, span_before), (after, span_after)) = match self.beyond {
            _ if i > 0 && i < last => (slope(i - 1), slope(i)),
            Beyond::Loop => (slope(last - 1), slope(0)),
            Beyond::Hold => return 0.0,
        };
        if before * after <= 0.0 {
            return 0.0;
        }
        let total = 3.0 * (span_before + span_after);
        let (w0, w1) = (span_before + 2.0 * span_after, 2.0 * span_before + span_after);
        total / (w1 / before + w0 / after)
    }
}

/// The time in the round from `first` to `last` at which the same happens as at `t`.
pub(crate) fn in_loop(t: f64, first: f64, last: f64) -> f64 {
    let period = last - first;
    if period <= 0.0 {
        return first;
    }
    let after = (t - first).rem_euclid(period);
    // Rounding may yield the whole period, which is the start of the next one.
    first + if after < period { after } else { 0.0 }
}
