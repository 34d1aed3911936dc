//! Damaged files: reported, set aside whole, recovered from; nothing is ever overwritten.

use insta::assert_snapshot;
use serde_json::Value;

use crate::ground::Dice;
use crate::ward::{Files, Ward};

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
    hint: nothing was deleted: `flame rebuild` recovers what can be read of it; otherwise the next command starts with an empty store
    [exit 1]
    ");
    // Every command prints a note until the store is recovered.
    assert_snapshot!(ward.project.flame(&["push", "Begin anew"]), @"
    id-1 “Begin anew” is in progress, at the root of a new tree
    --- stderr
    note: an unreadable store is in DIR/state/projects/shop-HASH/set-aside/TIME: `flame rebuild` recovers what can be read of it
    ");
    assert_snapshot!(ward.project.flame(&["status"]), @"
    shell:main (you)
      → id-1  Begin anew

    shop · 1 frame: 1 in progress
    --- stderr
    note: an unreadable store is in DIR/state/projects/shop-HASH/set-aside/TIME: `flame rebuild` recovers what can be read of it
    ");
    assert_snapshot!(ward.project.flame(&["doctor"]), @"
    project      shop (DIR/shop)
    worktree     main
    state        DIR/state/projects/shop-HASH
    diagnostics  DIR/state/projects/shop-HASH/diagnostics.log
    journal      3 events, 1 frame
    size         N kB (limit 50 MB)
    opencode     not found on the search path, plugin not installed (`flame init`)

    ! an unreadable store is in DIR/state/projects/shop-HASH/set-aside/TIME
      `flame rebuild` recovers what can be read of it
    [exit 1]
    ");
    assert!(place.unwrap().join("journal.db").exists());

    let text = Files {
        journal: b"this is not a database, it is a shopping list\n".repeat(99),
        wal: None,
    };
    assert_snapshot!(ward.attempt("text", &text, &["push", "x"]).0, @"
    --- stderr
    error: the store could not be read (file is not a database). It was moved to DIR/state/projects/shop-HASH/set-aside/TIME
    hint: nothing was deleted: `flame rebuild` recovers what can be read of it; otherwise the next command starts with an empty store
    [exit 1]
    ");
    let binary = Files {
        journal: vec![0xff; 40_000],
        wal: Some(vec![7; 5_000]),
    };
    assert_snapshot!(ward.attempt("binary", &binary, &["doctor"]).0, @"
    project      shop (DIR/shop)
    worktree     main
    state        DIR/state/projects/shop-HASH
    diagnostics  DIR/state/projects/shop-HASH/diagnostics.log
    journal      0 events, 0 frames
    size         0 bytes (limit 50 MB)
    opencode     not found on the search path, plugin not installed (`flame init`)

    ! the store could not be read (file is not a database). It was moved to DIR/state/projects/shop-HASH/set-aside/TIME
      nothing was deleted: `flame rebuild` recovers what can be read of it; otherwise the next command starts with an empty store
    [exit 1]
    ");
}

#[test]
fn recovery_says_what_came_back() {
    let ward = Ward::new();
    let mut damaged = ward.healthy.clone();
    damaged.journal.truncate(damaged.journal.len() / 2);
    let (_, place) = ward.attempt("half", &damaged, &["tree", "--all"]);
    let said = ward.project.flame(&["rebuild"]);
    assert_eq!(said.code, Some(1), "{said}");
    let said = said.stdout;
    let [recovered, rest, folded] = said.lines().collect::<Vec<_>>()[..] else {
        panic!("{said}");
    };
    assert!(recovered.contains("/set-aside/"), "{said}");
    // A file that was cut does not say how many events it had.
    assert_snapshot!(rest, @"The end of that file is missing, with everything written after the last of them.");
    // The number of events in the remaining half depends on SQLite's page layout.
    let count: usize = recovered.split(' ').nth(1).unwrap().parse().unwrap();
    assert!(count > 20 && count < ward.events.len(), "{said}");
    assert!(
        folded.ends_with(&format!(" from {count} events.")),
        "{said}"
    );
    // Once is enough.
    let again = ward.project.json(&["rebuild"]);
    assert_eq!(again["recovered"], Value::Array(Vec::new()));
    // Set-aside files stay in place.
    assert!(place.unwrap().join("journal.db").exists());
    ward.well_but_for_losses("half", true);
}

#[test]
fn recovering_takes_one_command() {
    let ward = Ward::new();
    for line in [&["rebuild"][..], &["rebuild", "--recover"]] {
        let mut damaged = ward.healthy.clone();
        damaged.journal[3] ^= 1;
        ward.put(&damaged);
        let said = ward.project.json(line);
        assert_eq!(
            said["recovered"][0]["events"],
            ward.events.len(),
            "{said:#}"
        );
        ward.project.well();
    }
    // If there is nothing to recover, nothing is invented.
    let empty = crate::ground::TestProject::new();
    assert_eq!(empty.json(&["rebuild", "--recover"])["events"], 0);
    assert!(!empty.dir().join("state").exists());
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
    // Page starts hold SQLite's own bookkeeping.
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
        // The text is in the journal and in a projection. Some copies are only remains of pages that
        // SQLite has moved since; those do not matter.
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
    opencode     not found on the search path, plugin not installed (`flame init`)

    ! an event is missing after event 312
      `flame rebuild --recover` keeps everything that can be read
    ! event 307 was altered: its checksum does not fit
      `flame rebuild --recover` keeps everything that can be read
    ! the projection `notes` differs from the journal in 2 rows
      `flame rebuild --recover` keeps everything that can be read
    ! the projection `subjects` differs from the journal in 2 rows
      `flame rebuild --recover` keeps everything that can be read
    [exit 1]
    ");
    assert_snapshot!(ward.project.flame(&["rebuild"]), @"
    --- stderr
    error: event 307 of the journal cannot be decoded: its checksum does not fit
    hint: `flame doctor` shows the extent of the damage, `flame rebuild --recover` keeps everything that can be read
    [exit 1]
    ");
    assert_snapshot!(ward.project.flame(&["rebuild", "--recover"]), @"
    Recovered 314 events from DIR/state/projects/shop-HASH/set-aside/TIME; 2 events could not be read.
    Anything written after the last of them is no longer in the file.
    Rebuilt 301 frames from 314 events.
    [exit 1]
    ");
    assert_snapshot!(ward.project.flame(&["doctor"]), @"
    project      shop (DIR/shop)
    worktree     main
    state        DIR/state/projects/shop-HASH
    diagnostics  DIR/state/projects/shop-HASH/diagnostics.log
    journal      314 events, 301 frames
    size         N kB (limit 50 MB)
    opencode     not found on the search path, plugin not installed (`flame init`)

    ! not all of 316 events (2 missing) came back from the store in DIR/state/projects/shop-HASH/set-aside/TIME
      nothing more can be read of it; delete that folder to stop this message
    [exit 1]
    ");
    ward.well_but_for_losses("altered", true);
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
        "UPDATE totals SET planned = planned + 1",
        "UPDATE sessions SET active = NULL",
        "DELETE FROM subjects WHERE seq = 5",
    ] {
        damage(sql);
        let doctor = ward.project.flame(&["doctor"]);
        assert_eq!(doctor.code, Some(1), "{sql}: {doctor}");
        assert!(
            doctor
                .stdout
                .contains("`flame rebuild` rebuilds the projections"),
            "{sql}: {doctor}"
        );
        ward.project.ok(&["rebuild"]);
        ward.project.well();
    }
    damage("UPDATE frames SET status = 'confused' WHERE title = 'Part 9'");
    assert_snapshot!(ward.project.flame(&["tree", "--all"]), @"
    --- stderr
    error: a projection is damaged: `confused` is not a status
    hint: `flame rebuild` rebuilds the projections
    [exit 1]
    ");
    ward.project.ok(&["rebuild"]);
    damage("DROP TABLE notes");
    let output = ward.project.flame(&["show"]);
    ward.judge("a missing table", &output);
    ward.project.ok(&["rebuild"]);
    ward.project.well();
}
