//! A state directory that can only be read: reading works, writing says why it does not.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;

use crate::ground::TestProject;

/// Root may write anywhere, so as root the commands run as another user.
const NOBODY: u32 = 65_534;

/// Takes the right to write away, from everything below a folder too.
fn lock(path: &Path) {
    let mut mode = fs_err::metadata(path).unwrap().permissions();
    mode.set_mode(mode.mode() & 0o555);
    if path.is_dir() {
        for entry in fs_err::read_dir(path).unwrap() {
            lock(&entry.unwrap().path());
        }
    }
    fs_err::set_permissions(path, mode).unwrap();
}

/// Makes everything belong to whom the command is run as.
fn hand_over(path: &Path) {
    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    if path.is_dir() {
        for entry in fs_err::read_dir(path).unwrap() {
            hand_over(&entry.unwrap().path());
        }
    }
}

fn run(project: &TestProject, arguments: &[&str]) -> (String, Option<i32>) {
    let mut command: Command = project.command(arguments);
    if fs_err::metadata("/proc/self").is_ok_and(|process| process.uid() == 0) {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).unwrap();
    (project.stable(&said), output.status.code())
}

#[test]
fn a_store_that_can_only_be_read_is_read() {
    let project = TestProject::new();
    let root = project.push("Root");
    project.ok(&["note", "decision", "Tokens last an hour"]);
    let logged = project.flame_reading(&["note", "log", "-"], b"raw text");
    assert_eq!(logged.code, Some(0), "{logged}");
    if fs_err::metadata("/proc/self").is_ok_and(|process| process.uid() == 0) {
        hand_over(project.dir());
    }
    lock(&project.dir().join("state"));
    for arguments in [
        vec!["status"],
        vec!["tree"],
        vec!["show", &root],
        vec!["log", &root],
        vec!["context"],
        vec!["search", "Tokens"],
        vec!["recall", "Tokens last"],
    ] {
        let (said, code) = run(&project, &arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {said}");
        assert!(said.contains("Root"), "{arguments:?}: {said}");
    }
    let (said, _) = run(&project, &["log", &format!("{root}#1")]);
    assert_eq!(said, "raw text");
    let (said, code) = run(&project, &["doctor"]);
    assert_eq!(code, Some(1));
    assert_snapshot!(said, @"
    project      shop (DIR/shop)
    worktree     main
    state        DIR/state/projects/shop-HASH
    diagnostics  DIR/state/projects/shop-HASH/diagnostics.log
    journal      5 events, 1 frame
    size         N kB (limit 50 MB)
    opencode     not found on the search path, plugin not installed (`flame init`)

    ! the store can be read, but not written: DIR/state/projects/shop-HASH/journal.db
      check the owner and the permissions of the file and its directory
    ");
    let (said, code) = run(&project, &["push", "More"]);
    assert_eq!(code, Some(1));
    assert_snapshot!(said, @"
    error: the store in DIR/state/projects/shop-HASH/journal.db cannot be written
    hint: check the owner and the permissions of the file and its directory
    ");
    // The clean-up after the test needs write access again.
    unlock(&project.dir().join("state"));
}

#[test]
fn a_configuration_that_can_only_be_read_stops_an_installation() {
    let project = TestProject::new();
    let folder = project.root().join(".opencode");
    fs_err::create_dir(&folder).unwrap();
    fs_err::write(folder.join("opencode.json"), "{}").unwrap();
    if fs_err::metadata("/proc/self").is_ok_and(|process| process.uid() == 0) {
        hand_over(project.dir());
    }
    lock(project.root());
    let (said, code) = run(&project, &["init"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("nothing was changed"), "{said}");
    assert!(!project.dir().join("state/flamestack-opencode").exists());
    assert!(!project.dir().join("config/opencode").exists());
    unlock(project.root());
}

fn unlock(path: &Path) {
    let mut mode = fs_err::metadata(path).unwrap().permissions();
    mode.set_mode(mode.mode() | 0o700);
    fs_err::set_permissions(path, mode).unwrap();
    if path.is_dir() {
        for entry in fs_err::read_dir(path).unwrap() {
            unlock(&entry.unwrap().path());
        }
    }
}
