//! Files next to or in place of the journal: indexes, raw text, other programs' databases.

use insta::assert_snapshot;

use crate::ground::{Dice, TestProject};
use crate::ward::Ward;

#[test]
fn other_peoples_databases_are_left_alone() {
    let ward = Ward::new();
    let untouched = |what: &str| {
        let before = fs_err::read(ward.project.file("journal.db")).unwrap();
        let output = ward.project.flame(&["push", "x"]);
        assert_eq!(output.code, Some(1), "{what}: {output}");
        for line in [
            &["status"][..],
            &["doctor"],
            &["rebuild"],
            &["gc", "--max-size", "1 B"],
        ] {
            assert_eq!(ward.project.flame(line).code, Some(1), "{what}: {line:?}");
        }
        assert!(
            fs_err::read(ward.project.file("journal.db")).unwrap() == before,
            "{what}"
        );
        assert!(!ward.project.file("set-aside").exists(), "{what}");
        output
    };
    let journal = rusqlite::Connection::open(ward.project.file("journal.db")).unwrap();
    journal.pragma_update(None, "user_version", 99).unwrap();
    drop(journal);
    assert_snapshot!(untouched("newer"), @"
    --- stderr
    error: the store was written by a newer Flamestack (format 99, this one knows 1)
    hint: update Flamestack; if there is no newer version, the version number in the store is damaged and `flame rebuild --recover` keeps everything that can be read
    [exit 1]
    ");

    fs_err::remove_file(ward.project.file("journal.db")).unwrap();
    let foreign = rusqlite::Connection::open(ward.project.file("journal.db")).unwrap();
    foreign.execute_batch("CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('https://example.org')").unwrap();
    drop(foreign);
    assert_snapshot!(untouched("foreign"), @"
    --- stderr
    error: `DIR/state/projects/shop-HASH/journal.db` is a database of another program
    hint: move it away, or set FLAME_STATE_DIR to another directory
    [exit 1]
    ");
}

#[test]
fn the_search_index_is_made_again() {
    let ward = Ward::new();
    let found = ward.project.ok(&["search", "Decision", "7"]);
    let index = ward.project.file("index.db");
    let healthy = fs_err::read(&index).unwrap();
    let mut dice = Dice(0x1de);
    let mut damages: Vec<Vec<u8>> = vec![
        Vec::new(),
        b"junk".repeat(3_000),
        healthy[..healthy.len() / 2].to_vec(),
    ];
    for _ in 0..30 {
        let mut flipped = healthy.clone();
        for _ in 0..20 {
            let place = usize::try_from(dice.roll(healthy.len() as u64)).unwrap();
            flipped[place] ^= 0x55;
        }
        damages.push(flipped);
    }
    for (n, damaged) in damages.iter().enumerate() {
        fs_err::write(&index, damaged).unwrap();
        let output = ward.project.flame(&["search", "Decision", "7"]);
        assert_eq!(output.code, Some(0), "damage {n}: {output}");
        // What a search does not meet, `flame doctor` finds.
        if output.stdout != found {
            let report = ward.project.flame(&["doctor"]);
            assert!(
                report.stdout.contains("the search index is damaged"),
                "damage {n}: {output}\n{report}"
            );
            ward.project.ok(&["rebuild"]);
            assert_eq!(ward.project.ok(&["search", "Decision", "7"]), found);
        }
    }
    ward.project.well();
}

#[test]
fn lost_raw_text_is_said_and_everything_else_goes_on() {
    let project = TestProject::new();
    let frame = project.push("Build");
    let logged = project.flame_reading(
        &["note", "log", "-", "--label", "cargo"],
        b"error[E0308]: mismatched types\n",
    );
    assert_eq!(logged.code, Some(0), "{logged}");
    let blobs = project.file("blobs.db");
    let piece = format!("{frame}#1");
    let healthy = fs_err::read(&blobs).unwrap();
    let mut flipped = healthy.clone();
    // The page of the text, between SQLite's own and that of the ids.
    flipped[3 * 4096 - 20] ^= 0x10;
    for damage in [
        None,
        Some(Vec::new()),
        Some(b"junk".repeat(5_000)),
        Some(healthy[..4096].to_vec()),
        Some(flipped),
    ] {
        match &damage {
            Some(bytes) => fs_err::write(&blobs, bytes).unwrap(),
            None => fs_err::remove_file(&blobs).unwrap(),
        }
        let what = format!("{:?} bytes", damage.as_ref().map(Vec::len));
        let output = project.flame(&["log", &piece]);
        assert_eq!(output.code, Some(1), "{what}: {output}");
        assert!(output.stderr.contains("hint: "), "{what}: {output}");
        let doctor = project.flame(&["doctor"]);
        assert_eq!(doctor.code, Some(1), "{what}: {doctor}");
        assert!(
            doctor.stdout.contains("is missing or damaged"),
            "{what}: {doctor}"
        );
        // The rest does not mind.
        project.ok(&["rebuild"]);
        project.ok(&["search", "Build"]);
        project.ok(&["log", &frame]);
        project.ok(&["show", &frame]);
        project.ok(&["push", "Go on"]);
        project.ok(&["pop", "done"]);
        let again = project.flame_reading(&["note", "log", "-", "--label", "more"], b"new text\n");
        assert_eq!(again.code, Some(0), "{what}: {again}");
        project.ok(&["undo"]);
        fs_err::write(&blobs, &healthy).unwrap();
        project.well();
    }
    assert_snapshot!(project.flame(&["log", &format!("{frame}#7")]), @"
    --- stderr
    error: there is no id-1#7: id-1 has 1 raw text
    hint: `flame log id-1` lists its raw texts
    [exit 1]
    ");
}

#[cfg(unix)]
#[test]
fn a_place_that_cannot_be_written_is_named() {
    use std::os::unix::fs::PermissionsExt;
    // A file where the directory should be stops everyone, the superuser included.
    let project = TestProject::new();
    fs_err::write(project.dir().join("state"), "a file").unwrap();
    let output = project.flame(&["push", "x"]);
    assert_snapshot!(output, @"
    --- stderr
    error: FLAME_STATE_DIR is `DIR/state`, which is not a folder
    hint: name a folder; it is created if it does not exist
    [exit 1]
    ");

    let project = TestProject::new();
    project.push("Root");
    let state = project.state();
    let set =
        |mode: u32| fs_err::set_permissions(&state, std::fs::Permissions::from_mode(mode)).unwrap();
    set(0o500);
    if fs_err::write(state.join("probe"), "").is_err() {
        let output = project.flame(&["push", "x"]);
        assert_eq!(output.code, Some(1), "{output}");
        assert!(output.stderr.contains("hint: "), "{output}");
    }
    set(0o700);
}
