//! `--tune`: the drive that meets the targets within a given error, found on a coarse grid.

use squall_core::model::target::{Parameters, suggest};
use squall_core::{At, Field, Grid, Side, Simulation};

use super::scene::{Plan, tidy};
use super::search::{Found, Push, gentlest};
use super::{Morph, MorphError};
use crate::{Driver, RunError, Setup};

/// Cells along the longer side of the grids that are tried on, in 2D and in 3D: a second or two for a run. On coarser ones strokes
/// of letters are two cells wide, and their errors say little about finer ones.
const TRIAL_CELLS: [usize; 2] = [128, 48];

/// What core suggests for smoke of density one, whatever its form: this is what "auto" means for these numbers.
pub(super) fn usual(plan: &Plan) -> Parameters {
    let shortest = plan.size().into_iter().fold(f64::INFINITY, f64::min);
    let grid = Grid { spacing: [shortest / 4.0; 2], ..Grid::walled([4, 4], Side::Slip) };
    let mut full = Field::<2>::new(grid.cells, At::Center, grid.pressure_ends()).expect("sixteen cells");
    full.set_from(&grid, |_| 1.0);
    let suggested = suggest(&grid, &full, &full).expect("sixteen cells");
    suggested.lasting(plan.duration + plan.hold)
}

/// The same plan with a push.
fn pushed(plan: &Plan, push: Push) -> Plan {
    let usual = usual(plan);
    Plan {
        strength: Some(tidy(push.strength)),
        gathering: Some(tidy(push.gathering * usual.gathering)),
        // Smoke swings about its target like a weight on a spring: the damping that just stops it goes with the root.
        damping: Some(tidy(push.strength.sqrt() * usual.damping)),
        ..plan.clone()
    }
}

/// The same plan on a coarse grid.
fn coarse(plan: &Plan) -> Plan {
    let most = TRIAL_CELLS[usize::from(plan.is_solid())];
    let longest = plan.cells.iter().copied().max().unwrap_or(most);
    let cells = |n: &usize| if longest > most { (n * most).div_ceil(longest).max(8) } else { *n };
    Plan { cells: plan.cells.iter().map(cells).collect(), ..plan.clone() }
}

/// What tuning has found.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuned {
    /// The push, and how well it did.
    pub found: Found,
    /// The plan with its numbers.
    pub plan: Plan,
    /// The cells that it was tried on.
    pub cells: Vec<usize>,
}

impl Morph {
    /// Finds the gentlest push that meets all targets up to the error `wanted`, with changes to the scene, each `key.path=value`; with
    /// the threads of the rayon pool that it is called in. `tried` hears of every push and its error.
    pub fn tune(
        &self,
        wanted: f64,
        changes: &[String],
        tried: &mut (dyn FnMut(Push, f64) + Send),
    ) -> Result<Tuned, MorphError> {
        let (plan, trial) = (&self.plan, coarse(&self.plan));
        let times: Vec<f64> = (0..plan.targets.len()).map(|k| plan.reached_at(k)).collect();
        let mut changes = changes.to_vec();
        changes.push(format!("grid.cells={:?}", trial.cells));
        let found = gentlest(wanted, |push| {
            let pushed = Morph { plan: pushed(&trial, push), ..self.clone() };
            let (setup, _) = pushed.setup(&changes)?;
            let error = worst_error(&setup, &times)?;
            tried(push, error);
            Ok::<f64, MorphError>(error)
        })?;
        Ok(Tuned { found, plan: pushed(plan, found.push), cells: trial.cells })
    }
}

/// Runs a setup without pictures; the largest raw error of any smoke at any of the times. Infinite if it breaks down.
fn worst_error(setup: &Setup, times: &[f64]) -> Result<f64, MorphError> {
    let mut driver = Driver::new(setup).map_err(RunError::from)?;
    let mut worst: f64 = 0.0;
    for &time in times {
        if driver.run_to_time(time).is_err() {
            return Ok(f64::INFINITY);
        }
        let Some(error) = raw_error(driver.simulation_mut()) else {
            return Err(MorphError::usage("there is nothing to tune: the scene has no targets", ""));
        };
        worst = worst.max(error);
    }
    Ok(worst)
}

/// The largest raw error of any smoke as it is now.
fn raw_error(sim: &mut dyn Simulation) -> Option<f64> {
    let figures = sim.figures();
    figures.iter().filter(|figure| figure.name.ends_with(".raw_error")).map(|figure| figure.value).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::morph::Figure;

    fn plan() -> Plan {
        Plan {
            header: Vec::new(),
            description: String::new(),
            cells: vec![256, 144],
            start: Figure::Text { text: "A".into(), font: None },
            targets: vec![Figure::Text { text: "B".into(), font: None }],
            thickness: 0.1,
            duration: 3.0,
            hold: 1.0,
            release: None,
            strength: None,
            softness: None,
            gathering: None,
            damping: None,
            eased: true,
            usual: [1.0; 2],
            colors: Vec::new(),
            background: None,
            fps: 30.0,
            width: 64,
        }
    }

    #[test]
    fn the_usual_push_is_what_core_suggests_for_the_shorter_side() {
        let usual = usual(&plan());
        // Four seconds is what core's numbers are made for: 6 per second, and 6e-3 of the shorter side squared.
        assert!((usual.damping - 6.0).abs() < 1e-9);
        assert!((usual.gathering - 6e-3 * 0.5625 * 0.5625).abs() < 1e-9);
    }

    #[test]
    fn a_push_becomes_numbers() {
        let pushed = pushed(&plan(), Push { strength: 4.0, gathering: 2.0 });
        assert_eq!((pushed.strength, pushed.damping), (Some(4.0), Some(12.0)));
        assert_eq!(pushed.gathering, Some(tidy(0.003_796_875)));
    }

    #[test]
    fn trials_are_coarse_and_have_the_same_proportions() {
        assert_eq!(coarse(&plan()).cells, [128, 72]);
        assert_eq!(coarse(&Plan { cells: vec![48, 28], ..plan() }).cells, [48, 28], "already coarse");
        assert_eq!(coarse(&Plan { cells: vec![96, 54, 54], ..plan() }).cells, [48, 27, 27]);
    }
}
