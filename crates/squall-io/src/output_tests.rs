use super::*;
use crate::test_folder::TestFolder;

#[test]
fn a_file_appears_under_its_name_only_when_finished() {
    let folder = TestFolder::new("appears");
    let path = folder.join("frame.png");
    let mut file = OutputFile::create(&path).unwrap();
    file.write_all(b"whole").unwrap();
    assert!(!path.exists());
    file.finish().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"whole");
    assert_eq!(folder.names(), ["frame.png"]);
}

#[test]
fn a_dropped_writer_leaves_nothing_and_keeps_the_older_file() {
    let folder = TestFolder::new("dropped");
    let path = folder.join("frame.png");
    write_whole(&path, b"older").unwrap();
    let mut file = OutputFile::create(&path).unwrap();
    file.write_all(&vec![1; 1 << 20]).unwrap();
    drop(file);
    assert_eq!(folder.names(), ["frame.png"]);
    assert_eq!(fs::read(&path).unwrap(), b"older");
}

#[test]
fn two_writers_of_one_file_do_not_mix() {
    let folder = TestFolder::new("two");
    let path = folder.join("a");
    let (mut one, mut two) = (OutputFile::create(&path).unwrap(), OutputFile::create(&path).unwrap());
    one.write_all(b"1111").unwrap();
    two.write_all(b"22").unwrap();
    one.finish().unwrap();
    two.finish().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"22");
}

#[test]
fn sweeping_removes_only_left_overs_of_dead_processes() {
    let folder = TestFolder::new("sweep");
    // Linux process numbers stay below 2^22.
    let left_over = temporary_name(&folder.join("a.png"), host(), 4_000_000_000, 0).unwrap();
    let elsewhere = temporary_name(&folder.join("a.png"), host() ^ 1, 4_000_000_000, 0).unwrap();
    let other = [
        &*elsewhere.file_name().unwrap().to_string_lossy(),
        ".a.png.tmp",
        "a.squall-tmp-1-2",
        ".squall-tmp-",
        ".b.squall-tmp-x-1",
        ".b.squall-tmp-4000000000",
    ];
    fs::write(&left_over, b"").unwrap();
    for name in other {
        fs::write(folder.join(name), b"").unwrap();
    }
    let running = OutputFile::create(folder.join("now.png")).unwrap();
    assert_eq!(sweep_temporaries(&*folder).unwrap(), 1);
    assert!(!left_over.exists());
    assert_eq!(folder.names().len(), other.len() + 1);
    running.finish().unwrap();
}

#[test]
fn a_missing_folder_is_named_in_the_error() {
    let error = write_whole("/nowhere/at/all/frame.png", b"x").unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(
        error.to_string(),
        "cannot create /nowhere/at/all/frame.png: it, or the folder it lies in, does not exist"
    );
}

#[test]
fn a_path_without_a_file_name_is_an_error() {
    assert!(OutputFile::create("/").is_err());
    assert!(OutputFile::create("").is_err());
    assert!(OutputFile::create("..").is_err());
}

#[test]
fn a_folder_in_the_way_is_an_error_and_leaves_no_temporary() {
    let folder = TestFolder::new("in-the-way");
    fs::create_dir(folder.join("frame.png")).unwrap();
    let error = write_whole(folder.join("frame.png"), b"x").unwrap_err();
    assert!(error.to_string().contains("frame.png"), "{error}");
    assert_eq!(folder.names(), ["frame.png"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported_by_finish_at_the_latest() {
    let folder = TestFolder::new("full");
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let path = folder.join("frame.png");
    let mut file = OutputFile::over(full, folder.join("temporary"), path.clone());
    // Small enough to stay in the buffer: without the check in `finish` nobody would notice.
    file.write_all(b"a few bytes").unwrap();
    let error = file.finish().unwrap_err();
    assert!(error.is_full_disk());
    assert_eq!(error.to_string(), format!("cannot write {}: the disk is full", path.display()));
    assert!(!path.exists());
}

#[test]
fn the_older_file_can_be_kept_under_another_name() {
    let folder = TestFolder::new("keeping");
    let (path, previous) = (folder.join("a"), folder.join("a.prev"));
    for round in 0..3u8 {
        let mut file = OutputFile::create(&path).unwrap();
        file.write_all(&[round]).unwrap();
        file.finish_keeping(&previous).unwrap();
    }
    assert_eq!((fs::read(&path).unwrap(), fs::read(&previous).unwrap()), (vec![2], vec![1]));
}
