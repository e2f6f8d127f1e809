//! What files held when they were finished: `files.csv`, one row for each file, in the order of the frames.
//!
//! Of tables that grow by rows, each frame has a row as well: what they held up to then.
//!
//! Rows are only ever added, so that a frame costs the same however long the run is. A row that was cut off by a crash is not
//! counted.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::output::{IoError, open_file, read_file, write_whole};

/// The name of the table.
pub const RECORDS: &str = "files.csv";
const HEADER: &str = "frame,file,bytes,crc32\n";
/// What stands in the place of a frame for files of the whole run.
const END: &str = "end";

/// Size and checksum of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Its length.
    pub bytes: u64,
    /// The CRC-32 of its content.
    pub crc32: u32,
}

impl Stamp {
    /// That of a file as it is now.
    pub fn of(path: impl AsRef<Path>) -> Result<Self, IoError> {
        let path = path.as_ref();
        let mut file = open_file(path).map_err(IoError::file(path, "open"))?;
        let (mut buffer, mut tally) = (vec![0; 1 << 16], Tally::default());
        loop {
            let n = file.read(&mut buffer).map_err(IoError::file(path, "read"))?;
            if n == 0 {
                return Ok(tally.stamp());
            }
            tally.add(&buffer[..n]);
        }
    }
}

/// The stamp of what is written bit by bit.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    bytes: u64,
    hasher: crc32fast::Hasher,
}

impl Tally {
    /// Goes on with more bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.hasher.update(bytes);
    }

    /// That of all bytes so far.
    pub fn stamp(&self) -> Stamp {
        Stamp { bytes: self.bytes, crc32: self.hasher.clone().finalize() }
    }
}

/// A file that is not what it was when it was finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The frame that it belongs to.
    pub frame: u64,
    /// Which file.
    pub path: PathBuf,
    /// What is wrong: "missing", "damaged", "not recorded".
    pub what: &'static str,
}

/// The table of one folder.
#[derive(Debug)]
pub struct Records {
    folder: PathBuf,
    /// Frame (`None`: of the whole run), name, and what it held.
    rows: Vec<(Option<u64>, String, Stamp)>,
    /// Where rows are added.
    file: Option<File>,
}

impl Records {
    /// The table that is there; without rows if there is none.
    pub fn read(folder: &Path) -> Self {
        let mut rows = Vec::new();
        let text = read_file(folder.join(RECORDS)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        rows.extend(whole.lines().skip(1).map_while(parse));
        Self { folder: folder.to_owned(), rows, file: None }
    }

    /// Forgets the files of later frames than `last` (`None`: all), and those of the whole run unless it is `done`.
    pub fn keep(&mut self, last: Option<u64>, done: bool) -> Result<(), IoError> {
        self.rows.retain(|(frame, ..)| frame.map_or(done, |frame| last.is_some_and(|last| frame <= last)));
        self.rewrite()
    }

    fn rewrite(&mut self) -> Result<(), IoError> {
        self.file = None;
        let text: String = std::iter::once(HEADER.to_owned()).chain(self.rows.iter().map(row)).collect();
        write_whole(self.folder.join(RECORDS), text.as_bytes())
    }

    /// Adds finished files of a frame, and what tables held by then; without a frame: files of the whole run, in the place of what was told of them before.
    pub fn add(&mut self, frame: Option<u64>, names: &[String], tables: &[(String, Stamp)]) -> Result<(), IoError> {
        if frame.is_none() && self.rows.iter().any(|(frame, name, _)| frame.is_none() && names.contains(name)) {
            self.rows.retain(|(frame, name, _)| frame.is_some() || !names.contains(name));
            self.rewrite()?;
        }
        let mut text = String::new();
        let files = names.iter().map(|name| Ok((name.clone(), Stamp::of(self.folder.join(name))?)));
        for entry in files.chain(tables.iter().cloned().map(Ok)) {
            let (name, stamp) = entry?;
            let entry = (frame, name, stamp);
            text += &row(&entry);
            self.rows.push(entry);
        }
        let path = self.folder.join(RECORDS);
        if self.file.is_none() {
            let file = OpenOptions::new().append(true).open(&path).map_err(IoError::file(&path, "open"))?;
            self.file = Some(file);
        }
        let wrote = self.file.as_mut().map_or(Ok(()), |file| file.write_all(text.as_bytes()));
        wrote.map_err(IoError::file(&path, "write"))
    }

    /// What a table held when each frame was finished, as far as that was told.
    pub fn table(&self, name: &str) -> Vec<(u64, Stamp)> {
        let rows = self.rows.iter().filter(|(_, n, _)| n == name);
        rows.filter_map(|(frame, _, stamp)| Some(((*frame)?, *stamp))).collect()
    }

    /// The earliest frame up to `last` with which a table does not hold any more what it held.
    pub fn table_damage(&self, name: &str, last: u64) -> Option<Damage> {
        let path = self.folder.join(name);
        let (mut buffer, mut tally) = (vec![0; 1 << 16], Tally::default());
        let mut file = open_file(&path).ok();
        let held = self.table(name).into_iter().take_while(|(frame, _)| *frame <= last);
        for (frame, stamp) in held {
            while tally.bytes < stamp.bytes {
                let most = (stamp.bytes - tally.bytes).min(buffer.len() as u64) as usize;
                let read = file.as_mut().and_then(|file| file.read(&mut buffer[..most]).ok());
                let Some(n) = read.filter(|n| *n > 0) else { break };
                tally.add(&buffer[..n]);
            }
            if tally.stamp() != stamp {
                return Some(Damage { frame, path, what: if file.is_none() { "missing" } else { "damaged" } });
            }
        }
        None
    }

    /// Whether a file of the whole run is there as it was finished.
    pub fn is_whole(&self, name: &str) -> bool {
        let found = self.rows.iter().find(|(frame, n, _)| frame.is_none() && n == name);
        found.is_some_and(|(.., stamp)| Stamp::of(self.folder.join(name)).is_ok_and(|now| now == *stamp))
    }

    /// The earliest of the frames up to `last` whose files are not what they were when they were finished. `files` names those of a
    /// frame.
    pub fn first_damage(
        &self,
        frames: std::ops::RangeInclusive<u64>,
        files: impl Fn(u64) -> Vec<String> + Sync,
    ) -> Option<Damage> {
        let rows = &self.rows;
        frames.into_par_iter().find_map_first(|frame| {
            // Rows are in the order of frames, but for those of the whole run at the end.
            let first = rows.partition_point(|(f, ..)| f.is_some_and(|f| f < frame));
            let known = || rows[first..].iter().take_while(|(f, ..)| *f == Some(frame));
            files(frame).into_iter().find_map(|name| {
                let path = self.folder.join(&name);
                let stamp = known().find(|(_, n, _)| *n == name).map(|(.., stamp)| stamp);
                let what = match (stamp, fs::metadata(&path)) {
                    (_, Err(_)) => "missing",
                    (None, Ok(_)) => "not recorded",
                    (Some(stamp), Ok(data)) if data.len() != stamp.bytes => "damaged",
                    (Some(stamp), Ok(_)) if Stamp::of(&path).is_ok_and(|now| now == *stamp) => return None,
                    _ => "damaged",
                };
                Some(Damage { frame, path, what })
            })
        })
    }
}

fn row((frame, name, stamp): &(Option<u64>, String, Stamp)) -> String {
    let frame = frame.map_or_else(|| END.to_owned(), |frame| frame.to_string());
    format!("{frame},{name},{},{:08x}\n", stamp.bytes, stamp.crc32)
}

fn parse(line: &str) -> Option<(Option<u64>, String, Stamp)> {
    let (frame, rest) = line.split_once(',')?;
    // From the end: names may have commas.
    let (rest, crc32) = rest.rsplit_once(',')?;
    let (name, bytes) = rest.rsplit_once(',')?;
    let frame = if frame == END { None } else { Some(frame.parse().ok()?) };
    let crc32 = u32::from_str_radix(crc32, 16).ok().filter(|_| crc32.len() == 8)?;
    Some((frame, name.to_owned(), Stamp { bytes: bytes.parse().ok()?, crc32 }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;

    fn names(frame: u64) -> Vec<String> {
        vec![format!("a_{frame}.png"), format!("b,{frame}.vdb")]
    }

    fn filled(folder: &Path, frames: u64) -> Records {
        let mut records = Records::read(folder);
        records.keep(None, false).unwrap();
        for frame in 1..=frames {
            for name in names(frame) {
                fs::write(folder.join(&name), name.repeat(7)).unwrap();
            }
            records.add(Some(frame), &names(frame), &[]).unwrap();
        }
        records
    }

    #[test]
    fn damage_is_found_wherever_it_is_and_the_earliest_is_told() {
        let folder = TestFolder::new("records");
        filled(&folder, 9);
        let look = || Records::read(&folder).first_damage(1..=9, names);
        assert_eq!(look(), None);
        // The same length, one byte changed.
        fs::write(folder.join("b,7.vdb"), "b,7.vdb".repeat(6) + "b,7.vdB").unwrap();
        assert_eq!(look(), Some(Damage { frame: 7, path: folder.join("b,7.vdb"), what: "damaged" }));
        fs::write(folder.join("a_5.png"), "").unwrap();
        assert_eq!(look().map(|d| (d.frame, d.what)), Some((5, "damaged")));
        fs::remove_file(folder.join("b,2.vdb")).unwrap();
        assert_eq!(look().map(|d| (d.frame, d.what)), Some((2, "missing")));
        // An output that the run so far did not have.
        fs::write(folder.join("c_1.exr"), "").unwrap();
        let more = Records::read(&folder).first_damage(1..=1, |_| vec!["c_1.exr".into()]);
        assert_eq!(more.map(|d| d.what), Some("not recorded"));
    }

    #[test]
    fn a_row_that_was_cut_off_is_not_counted_and_rows_go_on_after_what_is_kept() {
        let folder = TestFolder::new("records-torn");
        filled(&folder, 4);
        let path = folder.join(RECORDS);
        let whole = fs::read(&path).unwrap();
        for cut in 1..40 {
            fs::write(&path, &whole[..whole.len() - cut]).unwrap();
            let mut records = Records::read(&folder);
            assert_eq!(records.first_damage(1..=4, names).map(|d| d.frame), Some(4), "{cut} bytes are missing");
            records.keep(Some(3), true).unwrap();
            records.add(Some(4), &names(4), &[]).unwrap();
            assert!(fs::read(&path).unwrap() == whole);
        }
    }

    #[test]
    fn a_changed_byte_of_a_table_is_found_with_the_first_frame_after_it() {
        let folder = TestFolder::new("records-tables");
        let (path, mut text, mut tally) = (folder.join("steps.csv"), String::new(), Tally::default());
        let mut records = Records::read(&folder);
        records.keep(None, false).unwrap();
        for frame in 1..=9 {
            let row = format!("{frame},0.5\n");
            tally.add(row.as_bytes());
            text += &row;
            records.add(Some(frame), &[], &[("steps.csv".to_owned(), tally.stamp())]).unwrap();
        }
        // Steps towards a frame that is not finished.
        fs::write(&path, text.clone() + "10,0.5\n").unwrap();
        let look = |last| Records::read(&folder).table_damage("steps.csv", last).map(|d| (d.frame, d.what));
        assert_eq!(look(9), None);
        fs::write(&path, text.replace("6,0.5", "6,0.6")).unwrap();
        assert_eq!((look(9), look(5)), (Some((6, "damaged")), None));
        fs::write(&path, &text[..10]).unwrap();
        assert_eq!(look(9), Some((2, "damaged")));
        fs::remove_file(&path).unwrap();
        assert_eq!(look(9), Some((1, "missing")));
        assert_eq!(Records::read(&folder).table_damage("targets.csv", 9), None, "nothing was told of it");
    }

    #[test]
    fn files_of_the_whole_run_are_told_once_and_forgotten_when_the_run_goes_on() {
        let folder = TestFolder::new("records-end");
        let mut records = filled(&folder, 2);
        let movie = "m.gif".to_owned();
        for content in ["one", "other"] {
            fs::write(folder.join(&movie), content).unwrap();
            assert!(!records.is_whole(&movie));
            records.add(None, std::slice::from_ref(&movie), &[]).unwrap();
            assert!(Records::read(&folder).is_whole(&movie));
        }
        records.keep(Some(2), true).unwrap();
        assert!(records.is_whole(&movie));
        records.keep(Some(2), false).unwrap();
        assert!(!records.is_whole(&movie));
        assert_eq!(Records::read(&folder).first_damage(1..=2, names), None);
    }
}
