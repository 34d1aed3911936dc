//! Files and folders on a machine with other users, signals and links.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;

use crate::ground::TestProject;

/// Asserts that no other user can write to anything below a folder.
fn check(folder: &Path) -> usize {
    let mut seen = 0;
    for entry in fs_err::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let mode = fs_err::symlink_metadata(&path)
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o022, 0, "{} has mode {mode:o}", path.display());
        seen += 1;
        if path.is_dir() {
            seen += check(&path);
        }
    }
    seen
}

#[test]
fn no_umask_lets_others_write_to_the_plugin() {
    let project = TestProject::in_git();
    let flame = project.command(&["init", "--host", "opencode"]);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "umask 000; exec \"$@\"", "sh"])
        .arg(flame.get_program())
        .args(flame.get_args())
        .current_dir(project.root())
        .env_clear();
    for (name, value) in flame.get_envs() {
        shell.env(name, value.unwrap());
    }
    let done = shell.output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let root = project.root();
    assert!(check(&root.join(".opencode")) > 3);
    assert!(check(&project.dir().join("state")) > 0);
}

#[test]
fn an_export_does_not_follow_links() {
    let project = TestProject::new();
    let frame = project.push("Exported");
    project.flame_reading(&["note", "log", "-"], b"raw text\n");
    project.ok(&["pop", "done"]);
    let outside = project.dir().join("outside");
    fs_err::create_dir(&outside).unwrap();
    let victim = outside.join("victim");
    fs_err::write(&victim, "mine").unwrap();
    // Folders that are links are refused.
    for folder in ["frames", "logs", "raw"] {
        let to = project.dir().join(format!("to-{folder}"));
        let stack = to.join(".opencode/stack");
        fs_err::create_dir_all(&stack).unwrap();
        symlink(&outside, stack.join(folder)).unwrap();
        let refused = project.flame(&["export", to.to_str().unwrap(), "--force"]);
        assert_eq!(refused.code, Some(1), "{folder}: {refused}");
        assert!(refused.stderr.contains("is a link"), "{refused}");
    }
    // Files that are links are replaced.
    let to = project.dir().join("to-files");
    let stack = to.join(".opencode/stack");
    for file in [
        format!("frames/{frame}.json"),
        format!("logs/{frame}.md"),
        "state.json".to_owned(),
    ] {
        fs_err::create_dir_all(stack.join(&file).parent().unwrap()).unwrap();
        symlink(&victim, stack.join(&file)).unwrap();
    }
    project.ok(&["export", to.to_str().unwrap(), "--force"]);
    assert!(!stack.join(format!("logs/{frame}.md")).is_symlink());
    assert_eq!(fs_err::read_to_string(&victim).unwrap(), "mine");
    assert_eq!(fs_err::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn a_terminated_command_leaves_no_temporary_folder() {
    let project = TestProject::new();
    let temporary = project.dir().join("tmp");
    fs_err::create_dir(&temporary).unwrap();
    let count = || fs_err::read_dir(&temporary).unwrap().count();
    let mut terminated = 0;
    for _ in 0..10 {
        let mut command = project.command(&["demo"]);
        command.env("TMPDIR", &temporary);
        command.stdout(std::process::Stdio::null());
        let mut child = command.spawn().unwrap();
        while count() == 0 && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        let sent = Command::new("kill").arg(child.id().to_string()).output();
        assert!(sent.is_ok());
        terminated += usize::from(!child.wait().unwrap().success());
        assert_eq!(count(), 0);
    }
    assert!(terminated > 0, "the demo always ended before the signal");
}

#[test]
fn a_state_directory_of_another_user_is_refused() {
    let project = TestProject::new();
    let state = project.dir().join("state");
    fs_err::create_dir(&state).unwrap();
    let me = fs_err::metadata(&state).unwrap().uid();
    // Only the superuser can give a folder away.
    if me != 0 || std::os::unix::fs::chown(&state, Some(12_345), None).is_err() {
        return;
    }
    for line in [&["tree"][..], &["doctor"]] {
        assert_eq!(project.flame(line).code, Some(1));
    }
    assert_snapshot!(project.flame(&["push", "x"]), @"
    --- stderr
    error: the state directory DIR/state belongs to another user
    hint: set FLAME_STATE_DIR to a directory of your own
    [exit 1]
    ");
    // Nor is a link followed that another user has put there.
    std::os::unix::fs::chown(&state, Some(me), None).unwrap();
    let elsewhere = project.dir().join("elsewhere");
    fs_err::create_dir(&elsewhere).unwrap();
    let link = state.join("projects");
    fs_err::os::unix::fs::symlink(&elsewhere, &link).unwrap();
    std::os::unix::fs::lchown(&link, Some(12_345), None).unwrap();
    assert_eq!(project.flame(&["push", "x"]).code, Some(1));
}
