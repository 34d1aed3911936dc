//! Projects that are moved, renamed, copied, and become repositories; and what a user does about them.

use std::path::Path;

use insta::assert_snapshot;

use crate::ground::TestProject;

/// Number of folders of state.
fn stores(project: &TestProject) -> usize {
    let projects = project.dir().join("state/projects");
    fs_err::read_dir(projects).unwrap().count()
}

/// The titles of all frames, as seen from the current folder.
#[track_caller]
fn titles(project: &TestProject) -> String {
    let output = project.flame(&["tree"]);
    assert_eq!(output.code, Some(0), "{output}");
    output.stdout
}

fn copy(from: &Path, to: &Path) {
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .args([from, to])
        .status();
    assert!(copied.unwrap().success());
}

#[test]
fn a_repository_keeps_its_frames_when_it_is_moved_and_says_so_once() {
    let mut project = TestProject::in_git();
    project.push("Moved soon");
    assert_eq!(project.git(&["status", "--porcelain", "--ignored"]), "");
    let new = project.dir().join("elsewhere/store");
    fs_err::create_dir(new.parent().unwrap()).unwrap();
    fs_err::rename(project.root(), &new).unwrap();
    project.turn_to_folder(&new);
    let first = project.flame(&["tree"]);
    assert!(first.stdout.contains("Moved soon"), "{first}");
    assert_snapshot!(project.stable(&first.stderr), @"note: this project was moved from DIR/shop; its frames were kept");
    // From then on it is at home there, and moving it back is as good.
    assert!(project.ok(&["tree"]).contains("Moved soon"));
    project.ok(&["note", "decision", "stay"]);
    let back = project.dir().join("shop");
    fs_err::rename(&new, &back).unwrap();
    project.turn_to_folder(&back);
    assert!(titles(&project).contains("Moved soon"));
    project.ok(&["pop", "done"]);
    assert_eq!(stores(&project), 1);
    assert_eq!(project.git(&["status", "--porcelain", "--ignored"]), "");
    project.well();
}

#[test]
fn a_repository_of_an_earlier_version_is_linked_by_its_next_command() {
    let mut project = TestProject::in_git();
    project.push("From before");
    // Earlier versions recorded the path alone.
    let git = project.root().join(".git");
    fs_err::remove_file(git.join("flamestack")).unwrap();
    fs_err::remove_file(project.file("project.json")).unwrap();
    let path = fs_err::canonicalize(&git).unwrap();
    fs_err::write(project.file("project.txt"), format!("{}\n", path.display())).unwrap();
    project.ok(&["status"]);
    let new = project.dir().join("renamed");
    fs_err::rename(project.root(), &new).unwrap();
    project.turn_to_folder(&new);
    assert!(titles(&project).contains("From before"));
    assert_eq!(stores(&project), 1);
}

#[test]
fn a_copy_of_a_repository_has_its_own_frames() {
    let mut project = TestProject::in_git();
    project.push("In the original");
    let original = project.root().to_owned();
    let other = project.dir().join("copy");
    copy(&original, &other);
    project.turn_to_folder(&other);
    let seen = project.flame(&["tree"]);
    assert!(!seen.stdout.contains("In the original"), "{seen}");
    assert_snapshot!(project.stable(&seen.stderr), @"note: this is a copy of DIR/shop and has its own frames: `flame -C DIR/shop export DIR` and `flame import DIR` copy those of the original");
    let pushed = project.flame(&["push", "In the copy"]);
    assert_eq!(pushed.code, Some(0), "{pushed}");
    assert!(project.ok(&["tree"]).contains("In the copy"));
    project.turn_to_folder(&original);
    let tree = project.ok(&["tree"]);
    assert!(
        tree.contains("In the original") && !tree.contains("In the copy"),
        "{tree}"
    );
    // Each of them is now known separately.
    let moved = project.dir().join("copy-moved");
    fs_err::rename(&other, &moved).unwrap();
    project.turn_to_folder(&moved);
    assert!(titles(&project).contains("In the copy"));
    assert_eq!(stores(&project), 2);
}

#[test]
fn a_repository_in_the_place_of_a_moved_one_is_another_project() {
    let mut project = TestProject::in_git();
    project.push("The first one");
    let (place, away) = (project.root().to_owned(), project.dir().join("away"));
    fs_err::rename(&place, &away).unwrap();
    project.turn_to_folder(&away);
    assert!(titles(&project).contains("The first one"));
    fs_err::create_dir(&place).unwrap();
    project.turn_to_folder(&place);
    project.git(&["init", "--quiet"]);
    assert!(!titles(&project).contains("The first one"));
    project.ok(&["push", "The second one"]);
    assert!(!project.ok(&["tree"]).contains("The first one"));
    project.turn_to_folder(&away);
    assert!(!project.ok(&["tree"]).contains("The second one"));
    assert_eq!(stores(&project), 2);
}

/// Deletes the project's folder and makes it again, with a repository or without.
fn make_again(project: &TestProject, git: bool) {
    let place = project.root().to_owned();
    fs_err::remove_dir_all(&place).unwrap();
    fs_err::create_dir(&place).unwrap();
    if git {
        project.git(&["init", "--quiet"]);
    }
}

/// Returns true if the file system knows when a folder was made.
fn has_birth_times(project: &TestProject) -> bool {
    fs_err::metadata(project.root()).unwrap().created().is_ok()
}

#[test]
fn a_repository_in_the_place_of_a_deleted_one_is_another_project() {
    let project = TestProject::in_git();
    project.push("The first one");
    let first = project.state();
    let first = first.file_name().unwrap().to_str().unwrap();
    make_again(&project, true);
    // Said until it has frames of its own.
    let seen = project.flame(&["tree"]);
    assert!(!seen.stdout.contains("The first one"), "{seen}");
    assert_snapshot!(project.stable(&seen.stderr), @"note: the frames of DIR/shop belong to what was there before, and are kept; this project starts without frames: `flame projects relink shop-HASH` continues with the others");
    let pushed = project.flame(&["push", "The second one"]);
    assert_eq!(pushed.code, Some(0), "{pushed}");
    assert!(pushed.stderr.contains(first), "{pushed}");
    let tree = project.ok(&["tree"]);
    assert!(
        tree.contains("The second one") && !tree.contains("The first one"),
        "{tree}"
    );
    assert_eq!(stores(&project), 2);
    let listed = project.ok(&["projects"]);
    assert!(listed.contains(&format!("shop ({first})")), "{listed}");
    // The third one has two predecessors; the newest is named, and can be taken up.
    make_again(&project, true);
    let seen = project.flame(&["tree"]);
    assert!(seen.stderr.contains(&format!("{first}-2")), "{seen}");
    project.ok(&["projects", "relink", first]);
    assert!(project.ok(&["tree"]).contains("The first one"));
    assert_eq!(stores(&project), 2);
    project.well();
}

#[test]
fn a_copy_in_the_place_of_a_deleted_repository_is_another_project() {
    let mut project = TestProject::in_git();
    project.push("The original");
    let original = project.root().to_owned();
    let place = project.dir().join("place");
    fs_err::create_dir(&place).unwrap();
    project.turn_to_folder(&place);
    project.git(&["init", "--quiet"]);
    project.ok(&["push", "Deleted soon"]);
    fs_err::remove_dir_all(&place).unwrap();
    copy(&original, &place);
    assert!(!titles(&project).contains("Deleted soon"));
    let pushed = project.flame(&["push", "In the copy"]);
    assert_eq!(pushed.code, Some(0), "{pushed}");
    assert!(!project.ok(&["tree"]).contains("Deleted soon"));
    assert_eq!(stores(&project), 3);
}

#[test]
fn a_folder_in_the_place_of_a_deleted_one_is_another_project() {
    // With and without git, before and after.
    for (before, after) in [(false, false), (false, true), (true, false)] {
        let project = if before {
            TestProject::in_git()
        } else {
            TestProject::new()
        };
        if !has_birth_times(&project) {
            return;
        }
        project.push("The first one");
        make_again(&project, after);
        let pushed = project.flame(&["push", "The second one"]);
        assert_eq!(pushed.code, Some(0), "{pushed}");
        assert!(
            pushed.stderr.contains("flame projects relink shop-"),
            "{pushed}"
        );
        let tree = project.ok(&["tree"]);
        assert!(!tree.contains("The first one"), "{tree}");
        assert_eq!(stores(&project), 2);
    }
}

#[cfg(unix)]
#[test]
fn a_git_directory_that_cannot_be_written_keeps_its_frames() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = TestProject::in_git();
    let git = project.root().join(".git");
    let mode = |mode| fs_err::set_permissions(&git, std::fs::Permissions::from_mode(mode));
    mode(0o555).unwrap();
    if fs_err::write(git.join("probe"), "").is_ok() {
        // The superuser writes anyway. A folder in the place of the file cannot be replaced.
        fs_err::create_dir_all(git.join("flamestack/in-the-way")).unwrap();
    }
    project.push("Still here");
    let tree = project.flame(&["tree"]);
    mode(0o755).unwrap();
    assert!(tree.stdout.contains("Still here"), "{tree}");
    assert_eq!(stores(&project), 1);
}

#[test]
fn a_folder_that_becomes_a_repository_keeps_its_frames() {
    let mut project = TestProject::new();
    project.push("Before git");
    let below = project.root().join("src/deep");
    fs_err::create_dir_all(&below).unwrap();
    // A folder below is the same project, before and after.
    let root = project.root().to_owned();
    project.turn_to_folder(&below);
    assert!(project.ok(&["tree"]).contains("Before git"));
    project.turn_to_folder(&root);
    project.git(&["init", "--quiet"]);
    project.turn_to_folder(&below);
    assert!(titles(&project).contains("Before git"));
    assert!(project.ok(&["tree"]).contains("Before git"));
    // And when it is no longer a repository.
    fs_err::remove_dir_all(root.join(".git")).unwrap();
    project.turn_to_folder(&root);
    let after = project.flame(&["tree"]);
    assert!(after.stdout.contains("Before git"), "{after}");
    assert_snapshot!(project.stable(&after.stderr), @"note: this folder is no longer a git repository; its frames were kept");
    project.turn_to_folder(&below);
    assert!(project.ok(&["tree"]).contains("Before git"));
    assert_eq!(stores(&project), 1);
}

#[cfg(unix)]
#[test]
fn a_folder_without_git_is_recognised_when_it_is_renamed() {
    let mut project = TestProject::new();
    project.push("No git here");
    if fs_err::metadata(project.root()).unwrap().created().is_err() {
        // This file system does not know when a folder was made, so the user has to relink it.
        return;
    }
    let new = project.dir().join("renamed");
    fs_err::rename(project.root(), &new).unwrap();
    project.turn_to_folder(&new);
    assert!(titles(&project).contains("No git here"));
    assert!(project.ok(&["tree"]).contains("No git here"));
    assert_eq!(stores(&project), 1);
}

#[test]
fn worktrees_share_their_frames_also_after_a_move() {
    let mut project = TestProject::in_git();
    project.push("Shared");
    let (main, tree) = (project.root().to_owned(), project.dir().join("feature"));
    project.git(&["worktree", "add", "--quiet", tree.to_str().unwrap()]);
    project.turn_to_folder(&tree);
    assert!(project.ok(&["tree"]).contains("Shared"));
    let moved = project.dir().join("main-moved");
    fs_err::rename(&main, &moved).unwrap();
    // Git itself has lost the repository here; its frames are found.
    assert!(project.ok(&["tree"]).contains("Shared"));
    project.turn_to_folder(&moved);
    assert!(titles(&project).contains("Shared"));
    project.git(&["worktree", "repair", tree.to_str().unwrap()]);
    project.turn_to_folder(&tree);
    assert!(project.ok(&["tree"]).contains("Shared"));
    assert_eq!(stores(&project), 1);
}

#[test]
fn first_commands_at_the_same_time_agree_on_one_store_and_one_id() {
    for _ in 0..5 {
        let mut project = TestProject::in_git();
        std::thread::scope(|scope| {
            let project = &project;
            for n in 0..8 {
                scope.spawn(move || project.ok(&["push", "--root", &format!("Frame {n}")]));
            }
        });
        assert_eq!(stores(&project), 1);
        let record = fs_err::read_to_string(project.file("project.json")).unwrap();
        let link = fs_err::read_to_string(project.root().join(".git/flamestack")).unwrap();
        let (id, _) = link.split_once(' ').unwrap();
        assert!(record.contains(id), "{record} {link}");
        let new = project.dir().join("moved");
        fs_err::rename(project.root(), &new).unwrap();
        project.turn_to_folder(&new);
        let tree = titles(&project);
        assert!(
            (0..8).all(|n| tree.contains(&format!("Frame {n}"))),
            "{tree}"
        );
    }
}

#[test]
fn a_repository_from_elsewhere_cannot_name_the_state_of_another() {
    let mut project = TestProject::in_git();
    project.push("Mine");
    let folder = project.state();
    let folder = folder.file_name().unwrap().to_str().unwrap();
    let hostile = project.dir().join("hostile");
    fs_err::create_dir(&hostile).unwrap();
    project.turn_to_folder(&hostile);
    project.git(&["init", "--quiet"]);
    for link in [
        format!("{} {folder}\n", "0".repeat(32)),
        format!("{} ../projects/{folder}\n", "0".repeat(32)),
        format!("{} /etc\n", "a".repeat(32)),
        "x".repeat(100_000),
        String::new(),
    ] {
        fs_err::write(hostile.join(".git/flamestack"), link).unwrap();
        assert!(!titles(&project).contains("Mine"));
    }
    project.ok(&["push", "Theirs"]);
    assert!(!project.ok(&["tree"]).contains("Mine"));
}

#[cfg(unix)]
#[test]
fn a_git_file_without_an_end_is_not_read() {
    let project = TestProject::new();
    std::os::unix::fs::symlink("/dev/zero", project.root().join(".git")).unwrap();
    project.push("Still works");
    assert!(project.ok(&["tree"]).contains("Still works"));
}

#[test]
fn projects_are_listed_relinked_and_forgotten() {
    let mut project = TestProject::in_git();
    assert_snapshot!(project.flame(&["projects"]), @"No project has frames yet.");
    project.push("Here");
    let listed = project.json(&["projects"]);
    let only = &listed["projects"][0];
    assert_eq!((&only["state"], &only["frames"]), (&"ok".into(), &1.into()));
    assert_eq!(only["id"].as_str().unwrap().len(), 32);

    // Cloned again elsewhere: the id is gone with the old git directory.
    let old = fs_err::canonicalize(project.root()).unwrap();
    fs_err::remove_dir_all(&old).unwrap();
    let new = project.dir().join("clones/shop");
    fs_err::create_dir_all(&new).unwrap();
    project.turn_to_folder(&new);
    project.git(&["init", "--quiet"]);
    assert_snapshot!(project.flame(&["status"]), @"
    Nothing is in progress here.
    `flame push TITLE` starts a frame.

    shop · no frames yet
    --- stderr
    note: DIR/shop is gone and its frames are kept: if it was moved here, `flame projects relink DIR/shop`
    ");
    assert_snapshot!(project.flame(&["projects"]), @"
    missing  1 frame  N kB  TIME UTC  DIR/shop
    `flame projects relink PATH` relinks a moved project from its new location, `flame projects forget PATH` deletes its frames
    ");
    let doctor = project.flame(&["doctor"]);
    assert!(
        doctor.stdout.contains("`flame projects` lists them"),
        "{doctor}"
    );
    assert_eq!(doctor.code, Some(0), "{doctor}");
    assert_snapshot!(project.flame(&["projects", "relink", old.to_str().unwrap()]), @"Moved 1 frame from DIR/shop to DIR/clones/shop.");
    assert!(project.ok(&["tree"]).contains("Here"));
    project.well();

    // A project in its place is not given away, and one with frames takes no others.
    let here = fs_err::canonicalize(&new).unwrap();
    let other = project.dir().join("other");
    fs_err::create_dir(&other).unwrap();
    project.turn_to_folder(&other);
    assert_snapshot!(project.refused(&["projects", "relink", here.to_str().unwrap()]), @"
    --- stderr
    error: DIR/clones/shop still exists and has frames
    hint: nothing needs to be relinked; a copy starts with frames of its own, and `flame export` and `flame import` copy frames
    [exit 1]
    ");
    assert_snapshot!(project.refused(&["projects", "relink", "nowhere"]), @"
    --- stderr
    error: there is no project `nowhere`
    hint: `flame projects` lists all projects
    [exit 1]
    ");

    let here = here.to_str().unwrap();
    assert_snapshot!(project.refused(&["projects", "forget", here]), @"
    --- stderr
    error: this needs your consent
    hint: `--yes` deletes without asking
    [exit 1]
    ");
    // A program that works on it has the store open.
    let open = rusqlite::Connection::open(project.file("journal.db")).unwrap();
    let count = "SELECT count(*) FROM events";
    open.query_row(count, [], |row| row.get::<_, i64>(0))
        .unwrap();
    assert_snapshot!(project.refused(&["projects", "forget", here, "--yes"]), @"
    --- stderr
    error: another process has the store in DIR/state/projects/shop-HASH open
    hint: close the agent programs that work on this project, such as OpenCode, and try again
    [exit 1]
    ");
    drop(open);
    assert_snapshot!(project.flame(&["projects", "forget", here, "--yes"]), @"Deleted 1 frame of DIR/clones/shop.");
    assert_eq!(stores(&project), 0);
    assert!(!new.join(".git/flamestack").exists());
}

#[test]
fn a_relative_home_is_refused() {
    let project = TestProject::in_git();
    for name in ["HOME", "XDG_STATE_HOME"] {
        let mut command = project.command(&["push", "x"]);
        command.env_remove("FLAME_STATE_DIR");
        command.env_remove("XDG_STATE_HOME");
        command.env_remove("XDG_CONFIG_HOME");
        command.env(name, "relative");
        let output = command.output().unwrap();
        if name == "HOME" {
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(said.contains("set HOME to an absolute path"), "{said}");
            assert_eq!(output.status.code(), Some(1));
        }
        assert_eq!(project.git(&["status", "--porcelain"]), "");
    }
}
