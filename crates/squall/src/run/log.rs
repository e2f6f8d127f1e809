//! Tables that grow by a row for each step or frame, and are whole at every moment.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;

use squall_io::{IoError, OutputFile, write_whole};

/// A CSV file whose first column is the number of the step or frame. Rows wait in memory until [`save`](Self::save), which
/// replaces the file by a longer one.
pub(super) struct Log {
    path: PathBuf,
    pending: String,
}

impl Log {
    /// Begins with the rows up to number `keep` of what is there: later ones belong to steps that will be made again.
    pub fn open(path: PathBuf, header: &str, keep: Option<u64>) -> Result<Self, IoError> {
        let mut text = format!("{header}\n");
        if let Some(keep) = keep
            && let Ok(file) = File::open(&path)
        {
            for line in BufReader::new(file).lines().skip(1).map_while(Result::ok) {
                let number = line.split(',').next().and_then(|first| first.parse().ok());
                if number.is_none_or(|number: u64| number > keep) {
                    break;
                }
                text.push_str(&line);
                text.push('\n');
            }
        }
        write_whole(&path, text.as_bytes())?;
        Ok(Self { path, pending: String::new() })
    }

    /// Adds a row.
    pub fn row(&mut self, number: u64, values: impl IntoIterator<Item = f64>) {
        // Writing to a string cannot fail. `{:?}` is the shortest text that reads back as the same number.
        let _ = write!(self.pending, "{number}");
        for value in values {
            let _ = write!(self.pending, ",{value:?}");
        }
        self.pending.push('\n');
    }

    /// Puts all rows on disk.
    pub fn save(&mut self) -> Result<(), IoError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let mut file = OutputFile::create(&self.path)?;
        let copied = File::open(&self.path).and_then(|mut old| io::copy(&mut old, &mut file));
        copied.and_then(|_| file.write_all(self.pending.as_bytes())).map_err(|e| file.explain(e))?;
        file.finish()?;
        self.pending.clear();
        Ok(())
    }
}
