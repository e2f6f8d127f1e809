//! Search for the weakest drive that reaches a target.

/// How hard smoke is pushed: factors on what is usual.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Push {
    /// Of the drive.
    pub strength: f64,
    /// Of the gathering.
    pub gathering: f64,
}

impl Push {
    /// As usual.
    pub const USUAL: Push = Push { strength: 1.0, gathering: 1.0 };
}

/// What a search has found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// The gentlest push that was good enough; else the one that came closest.
    pub push: Push,
    /// Its error.
    pub error: f64,
    /// Whether that is good enough.
    pub reached: bool,
    /// How many pushes were tried.
    pub runs: usize,
}

/// More than four times the usual strength only stirs.
const MOST_STRENGTH: i32 = 2;
/// More than 32 times the usual gathering looks like a cross-fade, and costs too many steps. Powers of two, both.
const MOST_GATHERING: i32 = 5;
const LEAST: i32 = -3;
/// Bisections between a push that is not enough and one that is: to about a tenth.
const REFINEMENTS: usize = 3;
/// What has to be gained for another doubling of the strength to be worth it.
const WORTH: f64 = 0.97;

/// Finds the gentlest push whose error is at most `wanted`, in at most twelve runs. If the usual one is enough, less is tried; if it
/// is not, first a stronger drive, which is still flow, and then more gathering, which no longer is.
pub(super) fn gentlest<E>(wanted: f64, error: impl FnMut(Push) -> Result<f64, E>) -> Result<Found, E> {
    let mut search = Search { wanted, error, best: None, runs: 0 };
    if search.is_enough(Push::USUAL)? {
        let at = |x: f64| Push { strength: x.exp2(), gathering: x.exp2() };
        for x in (LEAST..0).rev() {
            if !search.is_enough(at(x.into()))? {
                search.refine(x.into(), at)?;
                break;
            }
        }
        return Ok(search.found());
    }
    let at = |x: f64| Push { strength: x.exp2(), ..Push::USUAL };
    for x in 1..=MOST_STRENGTH {
        let before = search.found().error;
        if search.is_enough(at(x.into()))? {
            search.refine(f64::from(x - 1), at)?;
            return Ok(search.found());
        }
        if search.found().error > WORTH * before {
            break;
        }
    }
    let best = search.found().push;
    let at = |x: f64| Push { gathering: x.exp2(), ..best };
    for x in 1..=MOST_GATHERING {
        if search.is_enough(at(x.into()))? {
            search.refine(f64::from(x - 1), at)?;
            break;
        }
    }
    Ok(search.found())
}

struct Search<F> {
    wanted: f64,
    error: F,
    best: Option<(Push, f64)>,
    runs: usize,
}

impl<E, F: FnMut(Push) -> Result<f64, E>> Search<F> {
    /// Tries a push. Of those that are enough the last is kept: whoever calls tries gentler ones later.
    fn is_enough(&mut self, push: Push) -> Result<bool, E> {
        self.runs += 1;
        let error = (self.error)(push)?;
        // A simulation that failed gives no number.
        let error = if error.is_nan() { f64::INFINITY } else { error };
        if error <= self.wanted || self.best.is_none_or(|(_, least)| error < least) {
            self.best = Some((push, error));
        }
        Ok(error <= self.wanted)
    }

    /// Goes down from a push that is enough, a doubling above `low`, which is not.
    fn refine(&mut self, mut low: f64, at: impl Fn(f64) -> Push) -> Result<(), E> {
        let mut high = low + 1.0;
        for _ in 0..REFINEMENTS {
            let middle = 0.5 * (low + high);
            *(if self.is_enough(at(middle))? { &mut high } else { &mut low }) = middle;
        }
        Ok(())
    }

    fn found(&self) -> Found {
        let (push, error) = self.best.unwrap_or((Push::USUAL, f64::INFINITY));
        Found { push, error, reached: error <= self.wanted, runs: self.runs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    /// Stronger is better up to twice the usual, and worse beyond; gathering always helps.
    fn smoke(push: Push) -> f64 {
        let drive = (push.strength.log2() - 1.0).abs();
        0.3 + 0.1 * drive - 0.05 * push.gathering.log2()
    }

    fn search(wanted: f64, error: impl Fn(Push) -> f64) -> (Found, Vec<Push>) {
        let mut tried = Vec::new();
        let found = gentlest(wanted, |push| {
            tried.push(push);
            Ok::<f64, Infallible>(error(push))
        });
        (found.unwrap(), tried)
    }

    #[test]
    fn what_is_enough_is_made_gentler() {
        let (found, _) = search(0.5, smoke);
        assert!(found.reached && found.error <= 0.5);
        // 0.3 + 0.1 (1 - x) - 0.05 x = 0.5 at x = -2/3; found to within an eighth of a doubling.
        let x = found.push.strength.log2();
        assert!((-2.0 / 3.0..-2.0 / 3.0 + 0.126).contains(&x), "{x}");
        assert_eq!(found.push.strength, found.push.gathering);
    }

    #[test]
    fn a_stronger_drive_is_tried_before_more_gathering() {
        let (found, tried) = search(0.35, smoke);
        assert!(found.reached && found.push.gathering == 1.0, "{found:?}");
        assert!((0.5..0.626).contains(&found.push.strength.log2()), "{found:?}");
        assert!(tried.iter().all(|push| push.gathering == 1.0));
    }

    #[test]
    fn gathering_does_what_the_drive_cannot() {
        let (found, _) = search(0.2, smoke);
        assert!(found.reached && found.push.strength == 2.0, "twice is best, four times is worse: {found:?}");
        assert!((2.0..2.126).contains(&found.push.gathering.log2()), "{found:?}");
    }

    #[test]
    fn the_closest_is_told_if_nothing_is_enough() {
        let (found, _) = search(0.01, smoke);
        assert!(!found.reached);
        assert_eq!(found.push, Push { strength: 2.0, gathering: 32.0 });
        assert!((found.error - 0.05).abs() < 1e-12);
    }

    #[test]
    fn it_never_takes_more_than_twelve_runs() {
        for k in 0..=100 {
            let (found, tried) = search(f64::from(k) / 100.0, smoke);
            assert!(found.runs <= 12 && tried.len() == found.runs, "{found:?}");
        }
    }

    #[test]
    fn failed_simulations_are_passed_over() {
        let (found, _) = search(0.35, |push| if push.strength > 1.0 { f64::NAN } else { smoke(push) });
        assert!(found.reached && found.push.strength == 1.0, "{found:?}");
        let (nothing, _) = search(0.35, |_| f64::NAN);
        assert!(!nothing.reached && nothing.error.is_infinite());
    }

    #[test]
    fn an_error_ends_the_search() {
        assert_eq!(gentlest(0.1, |_| Err::<f64, _>("stop")), Err("stop"));
    }
}
