//! `squall studio` starts the program beside the command.

use std::process::Command;

use crate::common::Folder;

/// The command alone in a folder, as if it were installed there.
fn alone(folder: &Folder) -> Command {
    let program = folder.path().join(format!("squall{}", std::env::consts::EXE_SUFFIX));
    std::fs::copy(env!("CARGO_BIN_EXE_squall"), &program).unwrap();
    Command::new(program)
}

#[test]
fn without_the_studio_it_says_how_to_install_it() {
    let folder = Folder::new("studio-missing");
    let output = alone(&folder).args(["studio", "plume"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).replace(['\n', '│'], " ");
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("the studio is not installed"), "{told}");
    assert!(told.contains("cargo install --path crates/squall-studio"), "{told}");
}

#[cfg(unix)]
#[test]
fn the_studio_beside_it_gets_the_scene_and_its_exit_code_counts() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("studio-beside");
    let studio = folder.path().join("squall-studio");
    std::fs::write(&studio, "#!/bin/sh\necho \"plays $1\"\n[ \"$1\" = plume ] || exit 3\n").unwrap();
    std::fs::set_permissions(&studio, std::fs::Permissions::from_mode(0o755)).unwrap();
    let good = alone(&folder).args(["studio", "plume"]).output().unwrap();
    assert_eq!((good.status.code(), &good.stdout[..]), (Some(0), &b"plays plume\n"[..]));
    let bad = alone(&folder).args(["studio", "missing.toml"]).output().unwrap();
    assert_eq!(bad.status.code(), Some(3));
}
