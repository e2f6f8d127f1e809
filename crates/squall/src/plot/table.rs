//! `targets.csv`: how well smokes met their targets, frame by frame.

use std::path::Path;

use squall_io::IoError;

/// What `targets.csv` says. All columns are as long as `times`; what the file does not say is NaN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetTable {
    /// Seconds.
    pub times: Vec<f64>,
    /// Kinetic energy.
    pub energy: Vec<f64>,
    /// One for each smoke.
    pub smokes: Vec<SmokeTable>,
}

/// What `targets.csv` says of one smoke.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SmokeTable {
    /// Its name.
    pub name: String,
    /// Which target is active.
    pub target: Vec<f64>,
    /// How far it is from the target: 0 to 2.
    pub raw_error: Vec<f64>,
    /// The same after smoothing.
    pub smooth_error: Vec<f64>,
    /// How much of it there is.
    pub mass: Vec<f64>,
}

impl TargetTable {
    /// Reads `targets.csv`; `None` if there is no such file.
    pub fn read(path: impl AsRef<Path>) -> Result<Option<Self>, IoError> {
        let path = path.as_ref();
        match squall_io::read_text(path) {
            Ok(text) => Ok(Some(Self::parse(&text))),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(IoError::File { path: path.to_owned(), action: "read", source }),
        }
    }

    /// Reads the text of such a file.
    pub fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next().unwrap_or_default().split(',').map(str::trim).collect();
        let rows: Vec<Vec<f64>> = lines
            .filter(|line| !line.trim().is_empty())
            .map(|line| line.split(',').map(|word| word.trim().parse().unwrap_or(f64::NAN)).collect())
            .collect();
        let column = |name: &str| {
            let place = names.iter().position(|n| *n == name);
            let value = |row: &Vec<f64>| place.and_then(|k| row.get(k)).copied().unwrap_or(f64::NAN);
            rows.iter().map(value).collect::<Vec<f64>>()
        };
        let smokes = names.iter().filter_map(|name| name.strip_suffix(".raw_error")).map(|name| SmokeTable {
            name: name.to_owned(),
            target: column(&format!("{name}.target")),
            raw_error: column(&format!("{name}.raw_error")),
            smooth_error: column(&format!("{name}.smooth_error")),
            mass: column(&format!("{name}.mass")),
        });
        TargetTable { smokes: smokes.collect(), times: column("time"), energy: column("energy") }
    }

    /// When smokes got another target.
    pub(super) fn changes(&self) -> impl Iterator<Item = f64> + '_ {
        let known = |k: usize| self.times[k].is_finite();
        let changed = |smoke: &SmokeTable, k: usize| {
            let [before, now] = [smoke.target[k], smoke.target[k + 1]];
            before.is_finite() && now.is_finite() && before != now
        };
        let rows = 0..self.times.len().saturating_sub(1);
        // A target is looked at anew in the step after the frame at which the one before was to be reached.
        rows.filter(move |&k| known(k) && self.smokes.iter().any(|smoke| changed(smoke, k))).map(|k| self.times[k])
    }

    /// The largest raw error of any smoke at the last frame that is not later than `time`. `None` if no error is known.
    pub fn error_at(&self, time: f64) -> Option<f64> {
        // Frames fall on exact times, up to rounding.
        let row = self.times.iter().rposition(|t| *t <= time + 1e-9)?;
        let errors = self.smokes.iter().map(|smoke| smoke.raw_error[row]).filter(|e| e.is_finite());
        errors.reduce(f64::max)
    }
}
