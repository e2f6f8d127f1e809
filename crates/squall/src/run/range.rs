//! One range of values for all pictures of a run.

use super::{CancelToken, Event, Observer, RunError};
use crate::driver::Driver;
use crate::looped::Preparation;
use crate::picture::Painter;
use crate::setup::Setup;

/// What there is to know before the first picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Found {
    /// Nothing: the scene says its range, or it may grow, or it is found while a loop is prepared.
    Unneeded,
    /// The range of all frames.
    Range([f64; 2]),
    /// The search was cancelled.
    Cancelled,
}

/// Simulates the scene without pictures, if it wants one range for all of them and does not say which.
pub(super) fn find(setup: &Setup, observer: &mut dyn Observer, cancel: &CancelToken) -> Result<Found, RunError> {
    if !setup.picture.steady
        || setup.picture.range.is_some()
        || setup.film.is_some() && !setup.shows_light()
        || setup.time.looped.is_some()
    {
        return Ok(Found::Unneeded);
    }
    let (mut driver, painter) = (Driver::new(setup)?, Painter::new(setup)?);
    let of = u64::from(setup.time.frames);
    let mut range = [0.0f64; 2];
    let mut look = |driver: &Driver| {
        let [lo, hi] = painter.extremes(driver.simulation());
        range = [range[0].min(lo), range[1].max(hi)];
    };
    if setup.time.include_start {
        look(&driver);
    }
    while driver.frame() < of {
        let doing = "finding the range of values";
        observer.event(&Event::Preparing(Preparation { done: driver.frame(), of, doing }));
        let Some(step) = driver.step_unless(cancel)? else { return Ok(Found::Cancelled) };
        if step.reached {
            look(&driver);
        }
    }
    Ok(Found::Range(range))
}
