//! `--tune`: which push meets the targets up to a stated error, found on a coarse grid.

use std::path::Path;

use squall::plot::TargetTable;
use squall::{Driver, Setup};
use squall_core::model::target::{Parameters, suggest};
use squall_core::{At, Field, Grid, Side, Simulation};

use super::super::run::pool;
use super::Args;
use super::scene::{Plan, tidy};
use super::search::{Found, Push, gentlest};
use crate::Voice;
use crate::exit::{Code, Failure};
use crate::output::print;
use crate::progress::json_line;
use crate::scene;

/// Cells along the longer side of the grids that are tried on, in 2D and in 3D: a second or two for a run. On coarser ones strokes
/// of letters are two cells wide, and their errors say little about finer ones.
const TRIAL_CELLS: [usize; 2] = [128, 48];

/// What core suggests for smoke of density one, whatever its form: this is what "auto" means for these numbers.
pub fn usual(plan: &Plan) -> Parameters {
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

/// Finds the gentlest push that meets all targets up to the error `wanted`; tells what it found.
pub fn tune(
    wanted: f64,
    plan: Plan,
    found_of: &(dyn Fn(&Plan) -> scene::Found + Sync),
    args: &Args,
    voice: Voice,
) -> Result<Plan, Failure> {
    let trial = coarse(&plan);
    let times: Vec<f64> = (0..plan.targets.len()).map(|k| plan.reached_at(k)).collect();
    let mut changes = args.set.clone();
    changes.push(format!("grid.cells={:?}", trial.cells));
    let found = pool(args.how.threads)?.install(|| {
        gentlest(wanted, |push| {
            let (setup, _) = found_of(&pushed(&trial, push)).setup(&changes)?;
            let error = worst_error(&setup, &times)?;
            tracing::info!("strength {:.2}, gathering {:.2}: error {error:.4}", push.strength, push.gathering);
            Ok::<f64, Failure>(error)
        })
    })?;
    let chosen = pushed(&plan, found.push);
    if args.how.json {
        json_line(serde_json::json!({
            "event": "tuned",
            "wanted": wanted,
            "reached": found.reached,
            "error": found.error,
            "runs": found.runs,
            "strength": chosen.strength,
            "damping": chosen.damping,
            "gathering": chosen.gathering,
        }));
    } else if !voice.quiet {
        // A scene that is printed is all that belongs on the standard output.
        let text = describe(wanted, &found, &chosen, &trial);
        if args.print_scene { eprint!("{text}") } else { print(text)? }
    }
    Ok(chosen)
}

fn describe(wanted: f64, found: &Found, chosen: &Plan, trial: &Plan) -> String {
    let cells = trial.cells.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
    let [damping, gathering] = [chosen.damping, chosen.gathering].map(Option::unwrap_or_default);
    let Push { strength, gathering: factor } = found.push;
    let chosen = format!(
        "strength {strength:.2}, damping {damping:.3}, gathering {gathering:.3e} ({factor:.2} of the usual): error {:.3} after {} runs of {cells} cells",
        found.error, found.runs
    );
    match found.reached {
        true => format!("Tuned: {chosen}.\n"),
        false => format!(
            "An error of {wanted} was not reached. The best is {chosen}.\nMore time (--duration), finer cells (--resolution) \
             or shapes with as much smoke as each other may help.\n"
        ),
    }
}

/// Runs a setup without pictures; the largest raw error of any smoke at any of the times. Infinite if it breaks down.
fn worst_error(setup: &Setup, times: &[f64]) -> Result<f64, Failure> {
    let mut driver = Driver::new(setup).map_err(squall::RunError::from)?;
    let mut worst: f64 = 0.0;
    for &time in times {
        if driver.run_to_time(time).is_err() {
            return Ok(f64::INFINITY);
        }
        let Some(error) = raw_error(driver.simulation_mut()) else {
            return Err(Failure::new(Code::Usage, "there is nothing to tune: the scene has no targets", None));
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

/// Says which error the run itself reached when its targets were to be formed.
pub fn tell_reached(wanted: f64, plan: &Plan, folder: &Path, args: &Args, voice: Voice) -> Result<(), Failure> {
    let Some(table) = TargetTable::read(folder.join("targets.csv"))? else { return Ok(()) };
    let errors = (0..plan.targets.len()).filter_map(|k| table.error_at(plan.reached_at(k)));
    let Some(error) = errors.reduce(f64::max) else { return Ok(()) };
    if args.how.json {
        json_line(serde_json::json!({ "event": "reached", "wanted": wanted, "error": error }));
    } else if !voice.quiet {
        let missed = if error > wanted { ": more than wanted" } else { "" };
        print(format!("Error:  {error:.3} when the shapes were to be formed; {wanted} was wanted{missed}.\n"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::morph::scene::Figure;

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

    #[test]
    fn what_cannot_be_reached_is_said() {
        let found = Found { push: Push::USUAL, error: 0.2, reached: false, runs: 11 };
        let told = describe(0.01, &found, &pushed(&plan(), found.push), &coarse(&plan()));
        assert!(told.contains("0.01 was not reached") && told.contains("0.200"), "{told}");
        let told = describe(0.3, &Found { reached: true, ..found }, &pushed(&plan(), found.push), &coarse(&plan()));
        assert!(told.starts_with("Tuned: strength 1.00") && told.contains("128 x 72 cells"), "{told}");
    }
}
