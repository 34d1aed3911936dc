//! Looking after a store: its size, its diagnostics, its permissions.

use std::path::Path;

use insta::assert_snapshot;
use serde_json::json;

use crate::ground::{Dice, TestProject};

/// Text that does not compress away.
fn noise(seed: u64, length: usize) -> String {
    let mut dice = Dice(seed * 7919 + 1);
    let letter = |_| char::from(b'a' + u8::try_from(dice.roll(26)).unwrap());
    (0..length).map(letter).collect()
}

/// Opens a frame with a piece of raw text, and returns its id.
fn with_log(project: &TestProject, title: &str, seed: u64) -> String {
    let frame = project.opened(&["push", title, "--root"]).remove(0);
    let text = noise(seed, 40_000);
    let logged = project.flame_reading(&["note", "log", "-", "--label", "build"], text.as_bytes());
    assert_eq!(logged.code, Some(0), "{logged}");
    frame
}

/// Cleans up with a limit a little below the present size.
fn squeeze(project: &TestProject) {
    let bytes = &project.json(&["doctor"])["bytes"];
    let parts = ["journal", "blobs", "index", "logs"].map(|part| bytes[part].as_u64().unwrap());
    let limit = format!("{} B", parts.iter().sum::<u64>() - 1_000);
    project.flame(&["gc", "--max-size", &limit]);
}

#[test]
fn what_can_be_made_again_goes_first_then_the_oldest_raw_text() {
    let project = TestProject::new();
    let first = with_log(&project, "First", 1);
    project.ok(&["pop", "done"]);
    let second = with_log(&project, "Second", 2);
    project.ok(&["pop", "done"]);
    let open = with_log(&project, "Open", 3);
    project.ok(&["search", "First"]);
    project.ok(&["log", &first]);
    assert!(project.file("index.db").exists() && project.file("logs").exists());
    let bytes = |what: &str| project.json(&["doctor"])["bytes"][what].as_u64().unwrap();
    let all = || {
        ["journal", "blobs", "index", "logs"]
            .map(bytes)
            .iter()
            .sum::<u64>()
    };

    // Enough room: nothing goes.
    assert_snapshot!(project.flame(&["gc"]), @"N MB now (was N MB), within the limit of 50 MB");
    assert!(project.file("index.db").exists());

    // A little less: the index and the rendered logs.
    let limit = format!("{} B", all() - 1_000);
    assert_snapshot!(project.flame(&["gc", "--max-size", &limit, "--dry-run"]), @"
    would delete: search index and rendered logs (made again when needed)
    N kB afterwards (was N MB), within the limit of N MB
    ");
    assert!(project.file("index.db").exists(), "a dry run drops nothing");
    assert_snapshot!(project.flame(&["gc", "--max-size", &limit]), @"
    deleted: search index and rendered logs (made again when needed)
    N kB now (was N MB), within the limit of N MB
    ");
    assert!(!project.file("index.db").exists() && !project.file("logs").exists());
    assert_eq!(
        project.ok(&["log", &format!("{first}#1")]),
        noise(1, 40_000)
    );

    // Less than that: the oldest finished frame's text, and a tombstone in its place.
    let limit = format!("{} B", all() - 1_000);
    assert_snapshot!(project.flame(&["gc", "--max-size", &limit]), @"
    deleted: 1 raw text of finished frames
    N kB now (was N kB), within the limit of N kB
    ");
    let log = project.flame(&["log", &first]).stdout;
    let raw = log.split_once("## Raw text").unwrap().1;
    assert_snapshot!(project.stable(raw.split_once("##").unwrap().0), @"- `id-1#1` build (N kB; dropped by `flame gc` at event 15)");
    assert_snapshot!(project.flame(&["log", &format!("{first}#1")]), @"[dropped by `flame gc` at event 15 to keep the store small: N kB]");
    assert_eq!(
        project.ok(&["log", &format!("{second}#1")]),
        noise(2, 40_000)
    );
    assert!(all() <= limit.trim_end_matches(" B").parse().unwrap());

    // It is marked wherever it is listed.
    let shown = project.ok(&["show", &first]);
    assert!(shown.contains("dropped by `flame gc`"), "{shown}");
    assert_eq!(project.json(&["show", &first])["log"][0]["dropped"], true);

    // The journal alone is larger: nothing goes.
    assert_snapshot!(project.flame(&["gc", "--max-size", "1 kB"]), @"
    N kB now (was N kB), still over the limit of N kB
    --- stderr
    note: the journal alone takes N kB and is never cut, so nothing was deleted: raise the limit (`--max-size`, the setting `gc.max_size`), or `flame export` and start over
    [exit 1]
    ");
    assert!(project.file("logs").exists());
    assert_eq!(
        project.ok(&["log", &format!("{second}#1")]),
        noise(2, 40_000)
    );

    // What may go is not enough, but brings it much closer. Texts of open frames stay.
    let limit = format!("{} B", bytes("journal") + 30_000);
    assert_snapshot!(project.flame(&["gc", "--max-size", &limit]), @"
    deleted: search index and rendered logs (made again when needed)
    deleted: 1 raw text of finished frames
    N kB now (was N kB), still over the limit of N kB
    --- stderr
    note: the rest belongs to open frames: finish some, or raise the limit (`--max-size`, the setting `gc.max_size`)
    [exit 1]
    ");
    assert!(
        project
            .ok(&["log", &format!("{second}#1")])
            .starts_with("[dropped by `flame gc`")
    );
    assert_eq!(project.ok(&["log", &format!("{open}#1")]), noise(3, 40_000));

    // Nothing may go.
    let limit = format!("{} B", bytes("journal") + 10_000);
    let said = project.flame(&["gc", "--max-size", &limit]);
    assert_eq!(said.code, Some(1), "{said}");
    assert!(said.stderr.contains("no raw text was deleted"), "{said}");

    // A plain number could be meant in any unit.
    assert_snapshot!(project.flame(&["gc", "--max-size", "50"]), @"
    --- stderr
    error: invalid value '50' for '--max-size <SIZE>': a size is a whole number with a unit, such as `50 MB`

    For more information, try '--help'.
    [exit 2]
    ");

    // All of it is still known, still found, still well.
    project.well();
    assert_eq!(
        project.json(&["search", "First"])["hits"][0]["frame"],
        *first
    );
    assert_eq!(project.json(&["rebuild"])["frames"], 3);
    assert!(
        project
            .ok(&["log", &format!("{first}#1")])
            .starts_with("[dropped")
    );
    // A clean-up is nothing that `undo` takes back.
    project.ok(&["undo"]);
    assert_eq!(project.json(&["show", &open]).get("log"), None);
}

#[test]
fn the_same_text_of_an_open_frame_stays() {
    let project = TestProject::new();
    let closed = with_log(&project, "Closed", 1);
    project.ok(&["pop", "done"]);
    let open = with_log(&project, "Open", 1);
    squeeze(&project);
    for frame in [closed, open] {
        assert_eq!(
            project.ok(&["log", &format!("{frame}#1")]),
            noise(1, 40_000)
        );
    }
    project.well();
}

#[test]
fn text_that_was_dropped_and_comes_again_is_there_again() {
    let project = TestProject::new();
    let first = with_log(&project, "First", 1);
    project.ok(&["pop", "done"]);
    squeeze(&project);
    assert!(
        project
            .ok(&["log", &format!("{first}#1")])
            .starts_with("[dropped")
    );
    let again = with_log(&project, "Again", 1);
    assert_eq!(
        project.ok(&["log", &format!("{again}#1")]),
        noise(1, 40_000)
    );
    project.well();
    // And it may go again, once that frame is finished too.
    project.ok(&["pop", "done"]);
    squeeze(&project);
    assert!(
        project
            .ok(&["log", &format!("{again}#1")])
            .starts_with("[dropped")
    );
    project.well();
}

#[test]
fn text_that_no_frame_speaks_of_is_swept_up() {
    let project = TestProject::new();
    project.push("Root");
    // The text is kept before the journal refers to it; between the two, a process may die.
    let blobs = flamestack_store::Blobs::new(&project.state());
    let hold = blobs.hold().unwrap();
    blobs.put(&hold, "orphaned").unwrap();
    drop(hold);
    assert_snapshot!(project.flame(&["gc"]), @"
    deleted: 1 raw text that no frame refers to
    N kB now (was N kB), within the limit of 50 MB
    ");
    assert!(blobs.stored_sizes().unwrap().is_empty());
    assert_eq!(project.json(&["gc"])["orphans"], 0);
}

#[test]
fn rebuilding_gives_the_same() {
    let project = TestProject::new();
    let root = project.push("Root");
    let planned = project.plan(&["A", "B", "C"]);
    project.ok(&["activate", &planned[0]]);
    project.ok(&["note", "decision", "x"]);
    project.ok(&["pop", "done"]);
    project.ok(&["move", &planned[2], "--before", &planned[1]]);
    project.ok(&["bind", &root, "opencode:ses_a"]);
    project.ok(&["undo"]);
    let see = || {
        [
            &["tree", "--all"][..],
            &["status"],
            &["show", &root],
            &["log", &planned[0]],
        ]
        .map(|line| project.ok(line))
    };
    let before = see();
    assert_snapshot!(project.flame(&["rebuild"]), @"Rebuilt 4 frames from 17 events.");
    assert_eq!(see(), before);
    for file in ["index.db", "logs"] {
        let path = project.file(file);
        if path.is_dir() {
            fs_err::remove_dir_all(path).unwrap();
        } else if path.exists() {
            fs_err::remove_file(path).unwrap();
        }
    }
    assert_eq!(see(), before);
    project.well();
}

#[test]
fn diagnostics_are_stamped_prefixed_and_rotated() {
    let project = TestProject::new().with_env("FLAME_DIAGNOSTICS_MAX_SIZE", "2 kB");
    project.push("Line\nbreak \u{1b}[31m");
    let file = project.file("diagnostics.log");
    assert_eq!(
        project.json(&["doctor"])["diagnostics"],
        json!(file.display().to_string())
    );
    for n in 0..40 {
        project.ok(&["note", "decision", &format!("Decision {n}\nof many")]);
    }
    let old = project.file("diagnostics.log.1");
    let text = [&old, &file]
        .map(|path| fs_err::read_to_string(path).unwrap())
        .concat();
    for line in text.lines() {
        let (stamp, rest) = line.split_once(' ').unwrap();
        assert!(
            stamp.starts_with("[20") && stamp.ends_with("Z]") && stamp.len() == 26,
            "{line}"
        );
        assert!(rest.starts_with("[stack] "), "{line}");
        assert!(!line.contains('\u{1b}'), "{line}");
    }
    assert!(text.contains("Decision 39"));
    for path in [&old, &file] {
        assert!(fs_err::metadata(path).unwrap().len() < 2_600);
    }
    assert!(!project.file("diagnostics.log.2").exists());

    let quiet = TestProject::new().with_env("FLAME_DIAGNOSTICS_LEVEL", "off");
    quiet.push("Root");
    assert!(!quiet.file("diagnostics.log").exists());
}

#[cfg(unix)]
#[test]
fn everything_belongs_to_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    fn look(dir: &Path, seen: &mut Vec<String>) {
        for entry in fs_err::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let mode = fs_err::metadata(&path).unwrap().permissions().mode() & 0o777;
            let wanted = if path.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode, wanted, "{} is {mode:o}", path.display());
            seen.push(path.file_name().unwrap().to_string_lossy().into_owned());
            if path.is_dir() {
                look(&path, seen);
            }
        }
    }
    let project = TestProject::new();
    let frame = with_log(&project, "Root", 1);
    project.ok(&["search", "Root"]);
    project.ok(&["log", &frame]);
    project.ok(&["config", "set", "gc.max_size", "1 MB", "--project"]);
    project.ok(&["config", "set", "gc.max_size", "2 MB"]);
    // While another process reads, SQLite's own files exist too.
    let reader = rusqlite::Connection::open(project.file("journal.db")).unwrap();
    reader
        .query_row("SELECT count(*) FROM events", [], |row| {
            row.get::<_, i64>(0)
        })
        .unwrap();
    project.ok(&["note", "decision", "x"]);
    let mut seen = Vec::new();
    look(&project.dir().join("state"), &mut seen);
    look(&project.dir().join("config"), &mut seen);
    drop(reader);
    for name in [
        "journal.db",
        "journal.db-wal",
        "journal.db-shm",
        "blobs.db",
        "index.db",
        "logs",
        "diagnostics.log",
        "config.toml",
        "project.json",
    ] {
        assert!(seen.contains(&name.to_owned()), "{name} in {seen:?}");
    }
    fs_err::write(project.file("journal.db"), "").unwrap();
    project.flame(&["status"]);
    project.flame(&["rebuild"]);
    look(&project.dir().join("state"), &mut seen);

    // Files that other users can read are reported.
    let open = std::fs::Permissions::from_mode(0o644);
    fs_err::set_permissions(project.file("journal.db"), open).unwrap();
    let doctor = project.flame(&["doctor"]);
    assert_eq!(doctor.code, Some(1), "{doctor}");
    assert!(doctor.stdout.contains("can be read by others"), "{doctor}");
    assert!(doctor.stdout.contains("`chmod go-rwx"), "{doctor}");
    // So is a state directory that they can write to.
    let closed = std::fs::Permissions::from_mode(0o600);
    fs_err::set_permissions(project.file("journal.db"), closed).unwrap();
    let open = std::fs::Permissions::from_mode(0o777);
    fs_err::set_permissions(project.dir().join("state"), open).unwrap();
    let doctor = project.flame(&["doctor"]);
    assert!(
        doctor.stdout.contains("state can be read by others"),
        "{doctor}"
    );
}

#[test]
fn a_limit_that_cannot_be_met_is_reported() {
    let project = TestProject::new();
    project.push("Root");
    assert_snapshot!(project.flame(&["gc", "--max-size", "1 B"]), @"
    N kB now (was N kB), still over the limit of 1 byte
    --- stderr
    note: the journal alone takes N kB and is never cut, so nothing was deleted: raise the limit (`--max-size`, the setting `gc.max_size`), or `flame export` and start over
    [exit 1]
    ");
    assert_snapshot!(project.flame(&["gc", "--max-size", "10 MB"]), @"N kB now (was N kB), within the limit of 10 MB");
    // It says when it last ran.
    let last = &project.well()["lastCollection"];
    assert!(last["before"].as_u64().unwrap() >= last["after"].as_u64().unwrap());
}

#[test]
fn many_small_texts_are_not_replaced_by_larger_tombstones() {
    let project = TestProject::new();
    project.push("Root");
    for n in 0..40 {
        let logged = project.flame_reading(&["note", "log", "-"], format!("line {n}").as_bytes());
        assert_eq!(logged.code, Some(0), "{logged}");
    }
    project.ok(&["pop", "done"]);
    let sum = || {
        let bytes = &project.json(&["doctor"])["bytes"];
        bytes["journal"].as_u64().unwrap() + bytes["blobs"].as_u64().unwrap()
    };
    let before = sum();
    let limit = format!("{} B", before - 1_000);
    let said = project.flame(&["gc", "--max-size", &limit]);
    assert_eq!(said.code, Some(1), "{said}");
    assert!(said.stderr.contains("no raw text was deleted"), "{said}");
    assert!(sum() <= before);
    project.well();
}

#[test]
fn an_export_of_a_collected_store_is_imported_without_complaint() {
    let project = TestProject::new();
    let first = with_log(&project, "First", 1);
    project.ok(&["pop", "done"]);
    squeeze(&project);
    let to = project.dir().join("exported");
    project.ok(&["export", &to.display().to_string()]);
    let other = TestProject::new();
    other.ok(&["import", &to.display().to_string()]);
    other.well();
    let text = other.ok(&["log", &format!("{first}#1")]);
    assert!(text.starts_with("[dropped by `flame gc`"), "{text}");
}

#[test]
fn a_journal_that_was_deleted_or_exchanged_is_reported() {
    let project = TestProject::new();
    with_log(&project, "First", 1);
    let journal = fs_err::read(project.file("journal.db")).unwrap();
    fs_err::remove_file(project.file("journal.db")).unwrap();
    let doctor = project.flame(&["doctor"]);
    assert_eq!(doctor.code, Some(1), "{doctor}");
    let missing = "the journal of this project is missing, with ";
    assert!(doctor.stdout.contains(missing), "{doctor}");
    let said = project.flame(&["gc"]);
    assert!(said.stderr.contains("1 raw text is kept"), "{said}");
    fs_err::write(project.file("journal.db"), journal).unwrap();

    let other = TestProject::new();
    other.push("Other");
    fs_err::copy(other.file("journal.db"), project.file("journal.db")).unwrap();
    assert_snapshot!(project.flame(&["status"]), @"
    --- stderr
    error: `DIR/state/projects/shop-HASH/journal.db` is not the journal of this project, but that of another store
    hint: put the journal of this project back; to continue with `DIR/state/projects/shop-HASH/journal.db` instead, delete `DIR/state/projects/shop-HASH/journal.mark`
    [exit 1]
    ");
    assert_eq!(project.flame(&["doctor"]).code, Some(1));
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_reported_as_such() {
    // A file system of its own, where this may be made.
    let project = TestProject::new();
    let state = project.dir().join("state");
    fs_err::create_dir(&state).unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs"])
        .arg(&state)
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        return;
    }
    project.push("Root");
    // Leaves no room for another page.
    let filler = state.join("filler");
    let mut file = fs_err::File::create(&filler).unwrap();
    while std::io::Write::write_all(&mut file, &[0; 4096]).is_ok() {}
    drop(file);
    let full = (0..40)
        .map(|n| project.flame(&["note", "decision", &format!("Decision {n}")]))
        .find(|said| said.code != Some(0));
    let doctor = project.flame(&["doctor"]);
    let tree = project.flame(&["tree"]);
    let unmounted = std::process::Command::new("umount")
        .arg("-l")
        .arg(&state)
        .status();
    assert!(unmounted.unwrap().success());
    let full = full.expect("the disk is full");
    assert!(full.stderr.contains("free some disk space"), "{full}");
    assert!(!full.stderr.contains("rebuild"), "{full}");
    assert_eq!(doctor.code, Some(1), "{doctor}");
    assert!(doctor.stdout.contains("free some disk space"), "{doctor}");
    // What is recorded can still be read.
    assert!(tree.stdout.contains("Root"), "{tree}");
}

#[test]
fn the_recovery_of_a_sound_store_misses_nothing() {
    let project = TestProject::new();
    project.push("Login");
    assert_snapshot!(project.flame(&["rebuild", "--recover"]), @"
    Recovered 3 events from DIR/state/projects/shop-HASH/set-aside/TIME; no gaps between them.
    Rebuilt 1 frame from 3 events.
    ");
}
