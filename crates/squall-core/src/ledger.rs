//! The ledger: where the amount of each conserved quantity went in a step, and what is unexplained.
//!
//! ```text
//! after = before + emitted + dissipated + sides + tiles + solids + unexplained
//! ```
//!
//! Amounts are integrals over the fluid of what exceeds the ambient value. Advection gains and loses a little; what was put
//! back of that is told as `corrected`, and what could not be put back is `unexplained`. That is a fault of the
//! method, not of the scene: it is measured in every step, and [`Watch`] says when it is more than [`DRIFT`] of what is there per
//! second, or when a value leaves the range that initial values, sources and boundaries span.

use smallvec::SmallVec;

use crate::sim::StateVisitor;

/// The part of what is there that may appear or vanish without an explanation, per simulated second.
pub const DRIFT: f64 = 1e-3;

/// How far a value may leave its allowed range, as a part of that range: rounding of many steps.
pub const SLACK: f64 = 1e-3;

/// Where the amount of one quantity went in a step. Positive numbers went in.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Account {
    /// How much there was at the beginning of the step.
    pub before: f64,
    /// By sources; for momentum, by forces.
    pub emitted: f64,
    /// By dissipation, cooling and sinks.
    pub dissipated: f64,
    /// Through the sides of the box: by the flow, and by diffusion from walls of a given value.
    pub sides: f64,
    /// With tiles that were removed.
    pub tiles: f64,
    /// By the motion of solids: what the grid's view of their volume changes by.
    pub solids: f64,
    /// What was added to put back what advection lost (or gained, then it is negative): a measure of its error, not part of the
    /// sum.
    pub corrected: f64,
    /// How much there is at the end.
    pub after: f64,
    /// The integral of the absolute value at the end: what `unexplained` is compared with.
    pub present: f64,
    /// The smallest and the largest value at the end.
    pub range: [f64; 2],
    /// The range that initial values, sources and boundary values allow.
    pub allowed: [f64; 2],
    /// What one cell holds at most: smaller amounts are not resolved by the grid.
    pub cell: f64,
}

impl Account {
    /// What [`Account::entries`] holds, by name: columns of tables.
    pub const ENTRIES: [&str; 7] = ["emitted", "dissipated", "sides", "tiles", "solids", "corrected", "unexplained"];

    /// Where the amount went, in the order of [`Account::ENTRIES`].
    pub fn entries(&self) -> [f64; 7] {
        let Account { emitted, dissipated, sides, tiles, solids, corrected, .. } = *self;
        [emitted, dissipated, sides, tiles, solids, corrected, self.unexplained()]
    }

    /// What none of the entries accounts for.
    pub fn unexplained(&self) -> f64 {
        let Account { before, emitted, dissipated, sides, tiles, solids, after, .. } = *self;
        after - (before + emitted + dissipated + sides + tiles + solids)
    }

    /// By how much values leave the allowed range, as a part of that range; 0 if they do not.
    pub fn excess(&self) -> f64 {
        let [low, high] = self.allowed;
        let width = (high - low).max(f64::MIN_POSITIVE);
        ((low - self.range[0]).max(self.range[1] - high) / width).max(0.0)
    }
}

impl Account {
    /// The account of this step and the next one, as if they were one.
    fn followed_by(&self, next: &Account) -> Account {
        Account {
            before: self.before,
            emitted: self.emitted + next.emitted,
            dissipated: self.dissipated + next.dissipated,
            sides: self.sides + next.sides,
            tiles: self.tiles + next.tiles,
            solids: self.solids + next.solids,
            corrected: self.corrected + next.corrected,
            ..*next
        }
    }
}

/// All accounts of a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    /// One for each substance, in the order in which they were given.
    pub substances: SmallVec<[Account; 4]>,
    /// The volume of fluid, in cubic metres (2D: square metres): `emitted` is what swells, `sides` what flows in.
    pub volume: Account,
    /// Momentum over density along each axis that is periodic, where no solid takes up any; others stay zero.
    pub momentum: [Account; 3],
}

impl Ledger {
    /// The accounts of this step and the next one, as if they were one.
    pub fn followed_by(&self, next: &Ledger) -> Ledger {
        Ledger {
            substances: self.substances.iter().zip(&next.substances).map(|(a, b)| a.followed_by(b)).collect(),
            volume: self.volume.followed_by(&next.volume),
            momentum: std::array::from_fn(|a| self.momentum[a].followed_by(&next.momentum[a])),
        }
    }
}

/// What a [`Watch`] found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Finding {
    /// More than [`DRIFT`] of a substance appeared or vanished without an explanation within a simulated second.
    Unexplained {
        /// Which substance, by its place in the list.
        substance: usize,
        /// How much, as a part of what is there; negative if it vanished.
        part: f64,
    },
    /// A value left the range that sources, initial and boundary values allow.
    OutOfRange {
        /// Which substance, by its place in the list.
        substance: usize,
        /// The value.
        value: f64,
        /// The allowed range.
        allowed: [f64; 2],
    },
}

/// Follows the accounts of a run, one simulated second after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Watch {
    /// Simulated seconds of the present window.
    seconds: f64,
    substances: Vec<Watched>,
}

/// What a [`Watch`] knows of a substance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Watched {
    /// What appeared without an explanation in the present window.
    drift: f64,
    /// The most that there was in the present window.
    most: f64,
    /// The most that ever appeared or vanished without an explanation within a second, as a part of what was there; negative
    /// if it vanished.
    pub worst_drift: f64,
    /// The most by which values ever left the allowed range, as a part of that range, and the value that did.
    pub worst_excess: f64,
    /// See [`Watched::worst_excess`]; 0 if none did.
    pub worst_value: f64,
}

impl Watch {
    /// A watch over this many substances.
    pub fn new(substances: usize) -> Self {
        Watch { seconds: 0.0, substances: vec![Watched::default(); substances] }
    }

    /// Takes the accounts of a step of `dt` seconds; returns what they show: at most one finding of each kind for each
    /// substance, for as long as it lasts.
    pub fn observe(&mut self, ledger: &Ledger, dt: f64) -> SmallVec<[Finding; 2]> {
        if self.substances.len() < ledger.substances.len() {
            self.substances.resize(ledger.substances.len(), Watched::default());
        }
        if self.seconds >= 1.0 {
            self.seconds = 0.0;
            self.substances.iter_mut().for_each(|s| (s.drift, s.most) = (0.0, 0.0));
        }
        self.seconds += dt;
        let mut found = SmallVec::new();
        for (substance, (account, watched)) in ledger.substances.iter().zip(&mut self.substances).enumerate() {
            watched.drift += account.unexplained();
            // What has almost vanished is no measure, nor is what a single cell holds.
            watched.most = watched.most.max(account.present).max(account.before.abs()).max(account.cell);
            let part = watched.drift / watched.most.max(f64::MIN_POSITIVE);
            if part.abs() > watched.worst_drift.abs() {
                watched.worst_drift = part;
            }
            if part.abs() > DRIFT {
                found.push(Finding::Unexplained { substance, part });
            }
            let excess = account.excess();
            let value = if account.range[1] > account.allowed[1] { account.range[1] } else { account.range[0] };
            if excess > watched.worst_excess {
                (watched.worst_excess, watched.worst_value) = (excess, value);
            }
            if excess > SLACK {
                found.push(Finding::OutOfRange { substance, value, allowed: account.allowed });
            }
        }
        found
    }

    /// What is known of each substance.
    pub fn substances(&self) -> &[Watched] {
        &self.substances
    }

    /// Shows what the next observation depends on.
    pub fn visit_state(&mut self, visitor: &mut dyn StateVisitor) {
        visitor.real("watch.seconds", &mut self.seconds);
        for Watched { drift, most, worst_drift, worst_excess, worst_value } in &mut self.substances {
            for value in [drift, most, worst_drift, worst_excess, worst_value] {
                visitor.real("watch", value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(unexplained: f64, range: [f64; 2]) -> Ledger {
        let account = Account {
            before: 2.0,
            after: 2.0 + unexplained,
            present: 2.0,
            range,
            allowed: [0.0, 1.0],
            ..Account::default()
        };
        Ledger { substances: SmallVec::from_slice(&[account]), ..Ledger::default() }
    }

    #[test]
    fn a_drift_of_a_thousandth_in_a_second_is_found_and_less_is_not() {
        let mut watch = Watch::new(1);
        for _ in 0..300 {
            assert!(watch.observe(&ledger(2.0 * 0.9e-3 / 30.0, [0.0, 1.0]), 1.0 / 30.0).is_empty());
        }
        // 0.9e-3 of the 2 that are there: the windows hold 30 steps, or 31 where they add up to a little less than a second.
        assert!((watch.substances()[0].worst_drift / 0.9e-3 - 1.0).abs() < 0.04, "{watch:?}");
        let mut watch = Watch::new(1);
        let found = (0..30).find_map(|_| watch.observe(&ledger(-2.0 * 1.2e-3 / 30.0, [0.0, 1.0]), 1.0 / 30.0).pop());
        assert!(matches!(found, Some(Finding::Unexplained { substance: 0, part }) if part < -DRIFT), "{found:?}");
    }

    #[test]
    fn a_value_beyond_its_sources_is_found() {
        let found = Watch::new(1).observe(&ledger(0.0, [0.0, 1.1]), 0.1);
        assert_eq!(found[..], [Finding::OutOfRange { substance: 0, value: 1.1, allowed: [0.0, 1.0] }]);
    }

    #[test]
    fn findings_of_both_kinds_are_told_together() {
        let found = Watch::new(1).observe(&ledger(0.1, [-0.5, 1.0]), 0.1);
        assert!(
            matches!(found[..], [Finding::Unexplained { .. }, Finding::OutOfRange { value: -0.5, .. }]),
            "{found:?}"
        );
    }

    #[test]
    fn what_has_vanished_since_is_compared_with_what_there_was() {
        let mut watch = Watch::new(1);
        assert!(watch.observe(&ledger(1e-6, [0.0, 1.0]), 0.1).is_empty());
        let nothing = Ledger { substances: SmallVec::from_slice(&[Account::default()]), ..Ledger::default() };
        assert!(watch.observe(&nothing, 0.1).is_empty());
    }

    #[test]
    fn what_is_accounted_for_is_explained() {
        let account = Account {
            before: 1.0,
            emitted: 2.0,
            dissipated: -0.5,
            sides: -0.25,
            tiles: -0.125,
            solids: 0.0625,
            corrected: 0.5,
            after: 2.1875,
            ..Account::default()
        };
        assert_eq!(account.unexplained(), 0.0);
    }
}
