//! Damaged files: reported, set aside whole, recovered from; nothing is ever overwritten.

use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use serde_json::Value;

use crate::ground::{Dice, Output, TestProject};

/// A project whose store can be damaged and put back again and again.
struct Ward {
    project: TestProject,
    healthy: Files,
    events: Vec<String>,
}

/// The bytes of a store.
#[derive(Clone, PartialEq, Eq)]
struct Files {
    journal: Vec<u8>,
    wal: Option<Vec<u8>>,
}

impl Files {
    fn of(dir: &Path) -> Self {
        Self {
            journal: fs_err::read(dir.join("journal.db")).unwrap(),
            wal: fs_err::read(dir.join("journal.db-wal"))
                .ok()
                .filter(|wal| !wal.is_empty()),
        }
    }
}

impl Ward {
    /// A store of some 60 pages, with everything in its main file.
    fn new() -> Self {
        let project = TestProject::new();
        fill(&project);
        Self::take(project)
    }

    /// A store with its last commands still beside it, as after a crash or while others work.
    fn with_wal() -> Self {
        let project = TestProject::new();
        fill(&project);
        // Whoever closes last cleans up; so somebody stays.
        let stays = rusqlite::Connection::open(project.file("journal.db")).unwrap();
        let count = "SELECT count(*) FROM events";
        stays
            .query_row(count, [], |row| row.get::<_, i64>(0))
            .unwrap();
        for n in 0..20 {
            project.ok(&["note", "decision", &format!("late decision {n}")]);
        }
        let mut ward = Self::take(project);
        ward.healthy = Files::of(&ward.project.state());
        assert!(ward.healthy.wal.as_ref().unwrap().len() > 10_000);
        drop(stays);
        ward
    }

    fn take(project: TestProject) -> Self {
        Self {
            healthy: Files::of(&project.state()),
            events: project
                .journal()
                .into_iter()
                .map(|(_, _, _, body)| body)
                .collect(),
            project,
        }
    }

    /// Puts these files in place of whatever is there.
    fn put(&self, files: &Files) {
        let state = self.project.state();
        for entry in fs_err::read_dir(&state).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                fs_err::remove_dir_all(path).unwrap();
            } else {
                fs_err::remove_file(path).unwrap();
            }
        }
        fs_err::write(state.join("journal.db"), &files.journal).unwrap();
        if let Some(wal) = &files.wal {
            fs_err::write(state.join("journal.db-wal"), wal).unwrap();
        }
        self.close_to_others();
    }

    fn close_to_others(&self) {
        #[cfg(unix)]
        for entry in fs_err::read_dir(self.project.state()).unwrap() {
            use std::os::unix::fs::PermissionsExt;
            let private = std::fs::Permissions::from_mode(0o600);
            fs_err::set_permissions(entry.unwrap().path(), private).unwrap();
        }
    }

    /// Runs a command on damaged files. It works, or it is refused with a way on; where the store
    /// was set aside, it is there byte for byte.
    #[track_caller]
    fn attempt(&self, what: &str, damaged: &Files, line: &[&str]) -> (Output, Option<PathBuf>) {
        self.put(damaged);
        let output = self.project.flame(line);
        let place = self.judge(what, &output);
        if let Some(place) = &place {
            assert!(
                Files::of(place) == *damaged,
                "{what}: the bytes are kept as they were"
            );
            assert!(!self.project.file("journal.db").exists(), "{what}");
        }
        (output, place)
    }

    /// Asserts that a command worked or said what to do, and returns where it moved the store.
    #[track_caller]
    fn judge(&self, what: &str, output: &Output) -> Option<PathBuf> {
        match output.code {
            Some(0) => None,
            Some(1) if output.stderr.is_empty() => {
                assert!(output.stdout.contains("`flame rebuild"), "{what}: {output}");
                None
            }
            Some(1) => {
                assert!(output.stderr.contains("`flame rebuild"), "{what}: {output}");
                let (_, place) = output.stderr.split_once("It was moved to ")?;
                let place = PathBuf::from(place.lines().next().unwrap());
                assert!(place.is_dir(), "{what}: {output}");
                Some(place)
            }
            _ => panic!("{what}: {output}"),
        }
    }

    /// Recovers what can be recovered; afterwards all is well, nothing is there that never was,
    /// and the damaged files are still what they were. Returns how many events came back.
    #[track_caller]
    fn recover(&self, what: &str, place: Option<&Path>) -> usize {
        let before = place.map(Files::of);
        let line: &[&str] = if place.is_some() {
            &["rebuild"]
        } else {
            &["rebuild", "--recover"]
        };
        let output = self.project.flame(line);
        assert_eq!(output.code, Some(0), "{what}: {output}");
        assert!(
            place.map(Files::of) == before,
            "{what}: what was set aside is left alone"
        );
        self.project.well();
        self.project.ok(&["tree", "--all"]);
        let now = self.project.journal();
        for (_, _, _, body) in &now {
            assert!(
                self.events.contains(body),
                "{what}: {body} was never written"
            );
        }
        now.len()
    }

    /// Damages the store in one way and lets every kind of command meet it.
    #[track_caller]
    fn survive(&self, what: &str, damaged: &Files) -> usize {
        for line in [
            &["status"][..],
            &["note", "decision", "late decision 0"],
            &["tree", "--all"],
            &["doctor"],
        ] {
            let (output, place) = self.attempt(what, damaged, line);
            match (place, output.code) {
                (Some(place), _) => return self.recover(what, Some(&place)),
                (None, Some(1)) => return self.recover(what, None),
                _ => {}
            }
        }
        self.events.len()
    }
}

fn fill(project: &TestProject) {
    project.push("Root");
    let outline: String = (0..300)
        .map(|n| {
            format!(
                "- Part {n} | {}\n",
                format!("Criteria of part {n}. ").repeat(8)
            )
        })
        .collect();
    let planned = project.flame_reading(&["plan", "--from", "-"], outline.as_bytes());
    assert_eq!(planned.code, Some(0), "{planned}");
    for n in 0..12 {
        project.ok(&[
            "note",
            "decision",
            &format!("Decision {n}"),
            "--why",
            &"because ".repeat(40),
        ]);
    }
    project.ok(&["note", "decision", "late decision 0"]);
}

#[test]
fn a_store_that_is_no_store_is_set_aside_and_said() {
    let ward = Ward::new();
    let empty = Files {
        journal: Vec::new(),
        wal: None,
    };
    let (output, place) = ward.attempt("empty", &empty, &["status"]);
    assert_snapshot!(output, @"
    --- stderr
    error: the store could not be read (the file is empty). It was moved to DIR/state/projects/shop-HASH/set-aside/TIME
    hint: nothing was deleted: `flame rebuild` recovers what can be read of it; without that, the next command begins with an empty store
    [exit 1]
    ");
    // Until somebody recovers it, everyone is told.
    ward.project.push("Begin anew");
    assert_snapshot!(ward.project.flame(&["status"]), @"
    shell:main (you)
      → id-22  Begin anew

    shop · 1 frame: 1 in progress
    --- stderr
    note: an unreadable store waits in DIR/state/projects/shop-HASH/set-aside/TIME: `flame rebuild` recovers what can be read of it
    ");
    assert_snapshot!(ward.project.flame(&["doctor"]), @"
    project      shop (DIR/shop)
    worktree     main
    state        DIR/state/projects/shop-HASH
    diagnostics  DIR/state/projects/shop-HASH/diagnostics.log
    journal      3 events, 1 frame
    size         N kB (limit 50 MB)
    set aside    DIR/state/projects/shop-HASH/set-aside/TIME (`flame rebuild` recovers it)

    All is well: journal and projections agree.
    ");
    assert!(place.unwrap().join("journal.db").exists());

    let text = Files {
        journal: b"this is not a database, it is a shopping list\n".repeat(99),
        wal: None,
    };
    assert_snapshot!(ward.attempt("text", &text, &["push", "x"]).0, @"
    --- stderr
    error: the store could not be read (file is not a database). It was moved to DIR/state/projects/shop-HASH/set-aside/TIME
    hint: nothing was deleted: `flame rebuild` recovers what can be read of it; without that, the next command begins with an empty store
    [exit 1]
    ");
    let binary = Files {
        journal: vec![0xff; 40_000],
        wal: Some(vec![7; 5_000]),
    };
    assert_snapshot!(ward.attempt("binary", &binary, &["doctor"]).0, @"
    --- stderr
    error: the store could not be read (file is not a database). It was moved to DIR/state/projects/shop-HASH/set-aside/TIME
    hint: nothing was deleted: `flame rebuild` recovers what can be read of it; without that, the next command begins with an empty store
    [exit 1]
    ");
}

#[test]
fn recovery_says_what_came_back() {
    let ward = Ward::new();
    let mut damaged = ward.healthy.clone();
    damaged.journal.truncate(damaged.journal.len() / 2);
    let (_, place) = ward.attempt("half", &damaged, &["tree", "--all"]);
    assert!(place.is_some());
    assert_snapshot!(ward.project.flame(&["rebuild"]), @"
    Recovered 187 events from DIR/state/projects/shop-HASH/set-aside/TIME; none is known to be missing.
    Folded 187 events into 185 frames.
    ");
    // Once is enough.
    let again = ward.project.json(&["rebuild"]);
    assert_eq!(again["recovered"], Value::Array(Vec::new()));
    assert_snapshot!(ward.project.flame(&["doctor"]), @"
    project      shop (DIR/shop)
    worktree     main
    state        DIR/state/projects/shop-HASH
    diagnostics  DIR/state/projects/shop-HASH/diagnostics.log
    journal      187 events, 185 frames
    size         N kB (limit 50 MB)

    All is well: journal and projections agree.
    ");
}

#[test]
fn truncated_at_many_lengths() {
    let ward = Ward::new();
    let length = ward.healthy.journal.len();
    let mut lengths = vec![
        1,
        15,
        16,
        17,
        99,
        100,
        101,
        512,
        1024,
        4095,
        4096,
        4097,
        8192,
        length - 1,
        length - 4096,
    ];
    lengths.extend((1..12).map(|n| length * n / 12));
    for cut in lengths {
        let mut damaged = ward.healthy.clone();
        damaged.journal.truncate(cut);
        ward.survive(&format!("cut to {cut} of {length}"), &damaged);
    }
}

#[test]
fn truncated_with_a_wal_beside() {
    let ward = Ward::with_wal();
    let length = ward.healthy.journal.len();
    for cut in [
        0,
        1,
        100,
        4096,
        length / 3,
        length / 2,
        length - 4096,
        length - 1,
    ] {
        let mut damaged = ward.healthy.clone();
        damaged.journal.truncate(cut);
        ward.survive(&format!("cut to {cut} of {length} with a WAL"), &damaged);
    }
    // Half a WAL is what a crash leaves: the store opens, and no half command is in it.
    let wal = ward.healthy.wal.clone().unwrap();
    for cut in [0, 1, 32, 33, wal.len() / 2, wal.len() - 1] {
        let mut damaged = ward.healthy.clone();
        damaged.wal.as_mut().unwrap().truncate(cut);
        ward.put(&damaged);
        ward.project.ok(&["status"]);
        ward.project.well();
    }
}

#[test]
fn bits_flipped_at_many_places() {
    let ward = Ward::new();
    let length = ward.healthy.journal.len();
    let mut dice = Dice(0xb17);
    let in_header = (0..100).step_by(7).map(|place| (place, 3));
    let anywhere: Vec<(usize, u32)> = (0..32)
        .map(|_| {
            (
                usize::try_from(dice.roll(length as u64)).unwrap(),
                u32::try_from(dice.roll(8)).unwrap(),
            )
        })
        .collect();
    // Where pages begin, the engine keeps its own books.
    let in_books = (0..length / 4096)
        .step_by(5)
        .map(|page| (page * 4096 + 1, 6));
    for (place, bit) in in_header.chain(anywhere).chain(in_books) {
        let mut damaged = ward.healthy.clone();
        damaged.journal[place] ^= 1 << bit;
        let back = ward.survive(&format!("bit {bit} of byte {place} of {length}"), &damaged);
        // One page of the journal at most is lost, and none where the damage is in the header.
        let most = if place < 100 { 0 } else { 20 };
        assert!(
            back + most >= ward.events.len(),
            "byte {place}: {back} events came back"
        );
    }
}

#[test]
fn bits_flipped_in_the_text_of_the_journal() {
    let ward = Ward::new();
    for text in ["Decision 7", "Part 77", "Decision 11"] {
        // The text stands in the journal and in a projection. Some places are only remains of what
        // the engine has moved since; nobody misses those.
        let mut noticed = 0;
        let places: Vec<usize> = places_of(&ward.healthy.journal, text.as_bytes()).collect();
        for place in places.into_iter().take(6) {
            let mut damaged = ward.healthy.clone();
            damaged.journal[place + 1] ^= 1;
            ward.put(&damaged);
            let doctor = ward.project.flame(&["doctor"]);
            noticed += doctor.code.unwrap();
            ward.survive(&format!("{text} at {place}"), &damaged);
        }
        assert!(noticed >= 2, "{text}: noticed {noticed} times");
    }
}

fn places_of<'b>(bytes: &'b [u8], text: &'b [u8]) -> impl Iterator<Item = usize> + 'b {
    bytes
        .windows(text.len())
        .enumerate()
        .filter(move |(_, window)| *window == text)
        .map(|(place, _)| place)
}

#[test]
fn an_altered_event_is_named() {
    let ward = Ward::new();
    let journal = rusqlite::Connection::open(ward.project.file("journal.db")).unwrap();
    journal.execute("UPDATE events SET body = replace(body, 'Decision 3', 'Decision 4') WHERE body LIKE '%Decision 3%'", []).unwrap();
    journal
        .execute("DELETE FROM events WHERE body LIKE '%Decision 9%'", [])
        .unwrap();
    drop(journal);
    assert_snapshot!(ward.project.flame(&["doctor"]), @"
    project      shop (DIR/shop)
    worktree     main
    state        DIR/state/projects/shop-HASH
    diagnostics  DIR/state/projects/shop-HASH/diagnostics.log
    journal      315 events, 301 frames
    size         N kB (limit 50 MB)

    ! an event is missing after event 312
      `flame rebuild --recover` keeps everything that can be read
    ! event 307 is not what was written: its checksum does not fit
      `flame rebuild --recover` keeps everything that can be read
    ! the projection `notes` differs from the journal in 2 rows
      `flame rebuild --recover` keeps everything that can be read
    ! the projection `subjects` differs from the journal in 2 rows
      `flame rebuild --recover` keeps everything that can be read
    [exit 1]
    ");
    assert_snapshot!(ward.project.flame(&["rebuild"]), @"
    --- stderr
    error: event 307 of the journal cannot be understood: its checksum does not fit
    hint: `flame doctor` shows how far the damage goes, `flame rebuild --recover` keeps everything that can be read
    [exit 1]
    ");
    assert_snapshot!(ward.project.flame(&["rebuild", "--recover"]), @"
    Recovered 314 events from DIR/state/projects/shop-HASH/set-aside/TIME; 2 events could not be read.
    Folded 314 events into 301 frames.
    ");
    ward.project.well();
}

#[test]
fn a_damaged_projection_is_reported_and_mended() {
    let ward = Ward::new();
    let damage = |sql: &str| {
        let journal = rusqlite::Connection::open(ward.project.file("journal.db")).unwrap();
        journal.execute(sql, []).unwrap();
    };
    for sql in [
        "UPDATE frames SET title = 'Hacked' WHERE title = 'Part 7'",
        "DELETE FROM frames WHERE title = 'Part 8'",
        "UPDATE frames SET status = 'completed' WHERE title = 'Part 9'",
        "DELETE FROM notes",
        "UPDATE totals SET n = n + 1",
        "UPDATE sessions SET active = NULL",
        "DELETE FROM subjects WHERE seq = 5",
    ] {
        damage(sql);
        let doctor = ward.project.flame(&["doctor"]);
        assert_eq!(doctor.code, Some(1), "{sql}: {doctor}");
        assert!(
            doctor
                .stdout
                .contains("`flame rebuild` folds the projections anew"),
            "{sql}: {doctor}"
        );
        ward.project.ok(&["rebuild"]);
        ward.project.well();
    }
    damage("UPDATE frames SET status = 'confused' WHERE title = 'Part 9'");
    assert_snapshot!(ward.project.flame(&["tree", "--all"]), @"
    --- stderr
    error: a projection is damaged: `confused` is not a status
    hint: `flame rebuild` folds the projections anew
    [exit 1]
    ");
    ward.project.ok(&["rebuild"]);
    damage("DROP TABLE notes");
    let output = ward.project.flame(&["show"]);
    ward.judge("a missing table", &output);
    ward.project.ok(&["rebuild"]);
    ward.project.well();
}

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
            &["gc", "--max-size", "1"],
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
    hint: update Flamestack; if there is no newer one, the mark of the store is damaged and `flame rebuild --recover` keeps everything that can be read
    [exit 1]
    ");

    fs_err::remove_file(ward.project.file("journal.db")).unwrap();
    let foreign = rusqlite::Connection::open(ward.project.file("journal.db")).unwrap();
    foreign.execute_batch("CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('https://example.org')").unwrap();
    drop(foreign);
    assert_snapshot!(untouched("foreign"), @"
    --- stderr
    error: `DIR/state/projects/shop-HASH/journal.db` is a database of another program
    hint: move it away, or set FLAME_STATE_DIR to another place
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
        fs_err::remove_file(&index).unwrap();
        assert_eq!(ward.project.ok(&["search", "Decision", "7"]), found);
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
    let last = flipped.len() - 20;
    flipped[last] ^= 0x10;
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
    error: id-1 has 1 piece of raw text, so there is no id-1#7
    hint: `flame log id-1` lists what it has
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
    error: failed to open file `DIR/state/projects/shop-HASH/config.toml`: Not a directory (os error 20)
    hint: check the path
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
