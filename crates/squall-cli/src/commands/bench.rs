//! `squall bench`: how fast this machine simulates. The cases are scenes, built and stepped as in a run, without
//! pictures or files.

use squall::{Driver, Scene, Setup, Step};
use squall_core::Timings;

use crate::exit::{Code, Failure};
use crate::output::print;
use crate::progress::json_line;

/// Measure how fast this machine simulates
#[derive(clap::Args)]
pub struct Args {
    /// Fewer steps, and only the smaller boxes
    #[arg(long)]
    quick: bool,
    /// Only this case; may be repeated
    #[arg(long = "case", value_name = "NAME")]
    cases: Vec<String>,
    /// Numbers of threads to measure, for example 1,2,8
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_values_t = [1, 2],
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Vec<u16>,
    /// Seconds per step that another program took for the same task on this machine, for each number of threads: the last column
    /// says how many times as fast Squall is
    #[arg(long, value_name = "SECONDS,...", value_delimiter = ',')]
    against: Vec<f64>,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
}

struct Case {
    name: &'static str,
    scene: &'static str,
    overrides: &'static [&'static str],
    is_large: bool,
}

const PLUME: &str = include_str!("bench/plume.toml");
const DYES: &str = include_str!("bench/dyes.toml");
const SMOKE: &str = include_str!("bench/smoke.toml");
const BALL: &str = include_str!("bench/ball.toml");
const FREE: &str = include_str!("bench/free.toml");
const TARGET: &str = include_str!("bench/target.toml");
const DAM: &str = include_str!("bench/dam.toml");

const CASES: &[Case] = &[
    Case::new("plume64", PLUME, &["grid.cells=[64, 64, 64]", "solver.splitting=plain"]),
    Case::new("plume64-lagged", PLUME, &["grid.cells=[64, 64, 64]", "solver.splitting=lagged_pressure"]),
    Case::new("plume128", PLUME, &["grid.cells=[128, 128, 128]", "solver.splitting=plain"]).large(),
    Case::new("plume128-lagged", PLUME, &["grid.cells=[128, 128, 128]", "solver.splitting=lagged_pressure"]).large(),
    Case::new("ball64", BALL, &["grid.cells=[64, 64, 64]"]),
    Case::new("free64", FREE, &["grid.cells=[64, 64, 64]"]),
    Case::new("smoke128", SMOKE, &[]).large(),
    Case::new("ball128", BALL, &[]).large(),
    Case::new("free128", FREE, &[]).large(),
    Case::new(
        "near128",
        SMOKE,
        &["grid.cells=[64, 64, 64]", "grid.size=[0.5, 0.5, 0.5]", "grid.origin=[0.25, 0, 0.25]"],
    ),
    Case::new("dam64", DAM, &[]),
    Case::new("honey64", DAM, &["liquid.viscosity=\"honey\""]),
    Case::new("dam128", DAM, &["grid.cells=[128, 128, 128]"]).large(),
    Case::new("target64", TARGET, &[]),
    Case::new("target128", TARGET, &["grid.cells=[128, 128]"]),
    Case::new("target512", TARGET, &["grid.cells=[512, 512]"]),
    Case::new("dyes512", DYES, &[]),
];

impl Case {
    const fn new(name: &'static str, scene: &'static str, overrides: &'static [&'static str]) -> Self {
        Case { name, scene, overrides, is_large: false }
    }

    const fn large(mut self) -> Self {
        self.is_large = true;
        self
    }
}

pub fn run(args: &Args) -> Result<Code, Failure> {
    let cases = chosen(args)?;
    check_peer(args)?;
    let steps = if args.quick { 5 } else { 20 };
    if !args.json {
        print(format!(
            "{:16} {:>7} {:>10} {:>8}  {:>6} {:>6} {:>7} {:>7} {:>7}  against\n",
            "case", "threads", "s/step", "ns/cell", "advect", "force", "diffuse", "project", "measure"
        ))?;
    }
    for case in cases {
        for (i, &threads) in args.threads.iter().enumerate() {
            let measured = measure(case, threads.into(), steps)?;
            let faster = args.against.get(i).map(|seconds| seconds / measured.seconds);
            if args.json {
                json_line(measured.json(case.name, threads, faster));
            } else {
                print(measured.row(case.name, threads, faster))?;
            }
        }
    }
    Ok(Code::Done)
}

/// Another program's seconds must belong to something.
fn check_peer(args: &Args) -> Result<(), Failure> {
    let wrong = |what: String, advice: &str| Err(Failure::new(Code::Usage, what, Some(advice.to_owned())));
    if let Some(seconds) = args.against.iter().find(|s| !(s.is_finite() && **s > 0.0)) {
        return wrong(format!("--against {seconds} is no time"), "give seconds per step, more than 0");
    }
    if !args.against.is_empty() && args.against.len() != args.threads.len() {
        return wrong(
            format!("--against has {} times for {} numbers of threads", args.against.len(), args.threads.len()),
            "give one time for each number in --threads, for example --threads 1,2 --against 1.7,0.9",
        );
    }
    Ok(())
}

fn chosen(args: &Args) -> Result<Vec<&'static Case>, Failure> {
    if args.cases.is_empty() {
        return Ok(CASES.iter().filter(|case| !(args.quick && case.is_large)).collect());
    }
    let find = |name: &String| {
        CASES.iter().find(|case| case.name == name).ok_or_else(|| {
            let names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
            Failure::new(
                Code::Usage,
                format!("there is no case {name:?}"),
                Some(format!("cases: {}", names.join(", "))),
            )
        })
    };
    args.cases.iter().map(find).collect()
}

struct Measured {
    /// The median step.
    seconds: f64,
    ns_per_cell: f64,
    /// Sums over all steps, as shares of the whole.
    shares: [f64; 5],
}

const PARTS: [&str; 5] = ["advect", "force", "diffuse", "project", "measure"];

fn measure(case: &Case, threads: usize, steps: usize) -> Result<Measured, Failure> {
    let overrides: Vec<String> = case.overrides.iter().map(|&o| o.to_owned()).collect();
    let (setup, _) = Scene::parse(case.name, case.scene, &overrides)?.setup()?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|e| Failure::new(Code::Io, format!("cannot start threads: {e}"), None))?;
    let (mut seconds, parts, cells) = pool.install(|| time_steps(&setup, steps))?;
    seconds.sort_by(f64::total_cmp);
    let median = seconds[seconds.len() / 2];
    let whole: f64 = seconds.iter().sum();
    Ok(Measured { seconds: median, ns_per_cell: 1e9 * median / cells as f64, shares: parts.map(|part| part / whole) })
}

/// Seconds of each step, the sums of the parts, and the cells at the end.
fn time_steps(setup: &Setup, steps: usize) -> Result<(Vec<f64>, [f64; 5], u64), Failure> {
    let failed = |e: squall::RunError| Failure::from(e);
    let mut driver = Driver::new(setup).map_err(|e| failed(e.into()))?;
    let mut step = || driver.step().map_err(|e| failed(e.into()));
    // The first steps start from rest and touch memory for the first time.
    for _ in 0..3 {
        step()?;
    }
    let (mut seconds, mut parts, mut cells) = (Vec::with_capacity(steps), [0.0; 5], 0);
    for _ in 0..steps.max(1) {
        let Step { seconds: spent, report, .. } = step()?;
        seconds.push(spent);
        cells = report.cells;
        let Timings { follow, advect, force, diffuse, project, measure } = report.timings;
        let force = force + follow;
        for (sum, part) in parts.iter_mut().zip([advect, force, diffuse, project, measure]) {
            *sum += part;
        }
    }
    Ok((seconds, parts, cells))
}

impl Measured {
    fn row(&self, name: &str, threads: u16, faster: Option<f64>) -> String {
        let percent = self.shares.map(|share| format!("{:.0} %", 100.0 * share));
        let [advect, force, diffuse, project, measure] = &percent;
        let against = faster.map_or_else(String::new, |ratio| format!("{ratio:.1} x"));
        format!(
            "{name:16} {threads:>7} {:>10.5} {:>8.1}  {advect:>6} {force:>6} {diffuse:>7} {project:>7} {measure:>7}  {against}\n",
            self.seconds, self.ns_per_cell
        )
    }

    fn json(&self, name: &str, threads: u16, faster: Option<f64>) -> serde_json::Value {
        let shares: serde_json::Map<_, _> =
            PARTS.iter().zip(self.shares).map(|(part, share)| ((*part).to_owned(), share.into())).collect();
        serde_json::json!({
            "case": name,
            "threads": threads,
            "seconds_per_step": self.seconds,
            "ns_per_cell_step": self.ns_per_cell,
            "shares": shares,
            "times_faster": faster,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_a_scene_that_is_right() {
        for case in CASES {
            let overrides: Vec<String> = case.overrides.iter().map(|&o| o.to_owned()).collect();
            let (_, warnings) = Scene::parse(case.name, case.scene, &overrides).unwrap().setup().unwrap();
            assert!(warnings.is_empty(), "{}", case.name);
        }
    }

    #[test]
    fn parts_of_a_step_are_not_longer_than_the_step() {
        let text = PLUME.replace("[64, 64, 64]", "[16, 16, 16]");
        let (setup, _) = Scene::parse("small", &text, &[]).unwrap().setup().unwrap();
        let (seconds, parts, _) = time_steps(&setup, 3).unwrap();
        let (whole, parts) = (seconds.iter().sum::<f64>(), parts.iter().sum::<f64>());
        assert!(parts > 0.0 && parts <= whole, "{parts} of {whole}");
    }
}
