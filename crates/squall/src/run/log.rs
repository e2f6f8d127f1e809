//! Tables that grow by a row for each step or frame.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use squall_io::{IoError, Stamp, Tally, open_file, write_whole};

/// A CSV file whose first column is the number of the step or frame. Rows wait in memory until [`save`](Self::save), which adds
/// them to the file. A row that was cut off by a crash is made again when the run is resumed.
pub(super) struct Log {
    path: PathBuf,
    file: File,
    pending: String,
    /// Of all rows, those that wait among them.
    tally: Tally,
}

impl Log {
    /// Begins with the rows up to number `keep` of what is there: later ones belong to steps that will be made again.
    pub fn open(path: PathBuf, header: &str, keep: Option<u64>) -> Result<Self, IoError> {
        let mut text = format!("{header}\n");
        if let Some(keep) = keep {
            for (_, line) in rows(&path).take_while(|(number, _)| *number <= keep) {
                text.push_str(&line);
                text.push('\n');
            }
        }
        write_whole(&path, text.as_bytes())?;
        let failed = |source| IoError::File { path: path.clone(), action: "open", source };
        let file = OpenOptions::new().append(true).open(&path).map_err(failed)?;
        let mut tally = Tally::default();
        tally.add(text.as_bytes());
        Ok(Self { path, file, pending: String::new(), tally })
    }

    /// Whether the file at `path` has all rows up to number `last`, beginning with 0 or 1.
    pub fn reaches(path: &Path, last: u64) -> bool {
        let count = rows(path).take_while(|(number, _)| *number <= last).map(|(number, _)| number.max(1)).last();
        last == 0 || count == Some(last)
    }

    /// Adds a row.
    pub fn row(&mut self, number: u64, values: impl IntoIterator<Item = f64>) {
        // Writing to a string cannot fail. `{:?}` is the shortest text that reads back as the same number.
        let first = self.pending.len();
        let _ = write!(self.pending, "{number}");
        for value in values {
            let _ = write!(self.pending, ",{value:?}");
        }
        self.pending.push('\n');
        self.tally.add(&self.pending.as_bytes()[first..]);
    }

    /// What the file will hold when all rows are saved.
    pub fn stamp(&self) -> Stamp {
        self.tally.stamp()
    }

    /// Hands all rows to the operating system.
    pub fn save(&mut self) -> Result<(), IoError> {
        if !self.pending.is_empty() {
            let wrote = self.file.write_all(self.pending.as_bytes());
            wrote.map_err(|source| IoError::File { path: self.path.clone(), action: "write", source })?;
            self.pending.clear();
        }
        Ok(())
    }
}

/// The whole rows of a file with their numbers: as many columns as the header has, and an end. Nothing comes after a row that is not
/// whole, or whose number does not follow.
fn rows(path: &Path) -> impl Iterator<Item = (u64, String)> {
    let mut lines = open_file(path).ok().into_iter().flat_map(|file| {
        let mut reader = BufReader::new(file);
        std::iter::from_fn(move || {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            line.strip_suffix('\n').map(str::to_owned)
        })
    });
    let columns = lines.next().map_or(0, |header| header.split(',').count());
    let mut before = None;
    lines.map_while(move |line| {
        let number: u64 = line.split(',').next()?.parse().ok()?;
        let follows = before.is_none_or(|before| number == before + 1);
        before = Some(number);
        (follows && line.split(',').count() == columns).then_some((number, line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_added_and_one_that_was_cut_off_is_not_taken_for_a_whole_one() {
        let path = std::env::temp_dir().join(format!("squall-log-{}.csv", std::process::id()));
        let mut log = Log::open(path.clone(), "step,a,b", None).unwrap();
        for step in 1..=3 {
            log.row(step, [0.5, step as f64]);
            log.save().unwrap();
        }
        let whole = std::fs::read_to_string(&path).unwrap();
        assert_eq!(whole, "step,a,b\n1,0.5,1.0\n2,0.5,2.0\n3,0.5,3.0\n");
        assert_eq!(log.stamp(), Stamp::of(&path).unwrap());
        assert!(Log::reaches(&path, 3) && Log::reaches(&path, 1) && !Log::reaches(&path, 4));
        for cut in 1..9 {
            std::fs::write(&path, &whole[..whole.len() - cut]).unwrap();
            assert!(Log::reaches(&path, 2) && !Log::reaches(&path, 3), "{cut} bytes are missing");
            let mut log = Log::open(path.clone(), "step,a,b", Some(2)).unwrap();
            log.row(3, [0.5, 3.0]);
            log.save().unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), whole);
        }
        std::fs::write(&path, "").unwrap();
        assert!(!Log::reaches(&path, 1) && Log::reaches(&path, 0));
        std::fs::remove_file(path).unwrap();
    }
}
