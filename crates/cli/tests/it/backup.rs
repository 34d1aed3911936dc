//! Backups made while others work, and stores restored from them.

use std::sync::atomic::{AtomicBool, Ordering};

use insta::assert_snapshot;

use crate::ground::TestProject;

/// Bytes of a file.
fn bytes(project: &TestProject, name: &str) -> Vec<u8> {
    fs_err::read(project.dir().join(name)).unwrap()
}

fn fill(project: &TestProject) -> String {
    let frame = project.push("Kept");
    let logged = project.flame_reading(&["note", "log", "-"], b"raw text of the frame\n");
    assert_eq!(logged.code, Some(0), "{logged}");
    frame
}

#[test]
fn a_backup_brings_everything_back() {
    let project = TestProject::in_git();
    let frame = fill(&project);
    assert_snapshot!(project.flame(&["backup", "../kept.db"]), @"Backed up 1 frame, 4 events and 1 raw text (N kB) to ../kept.db.");
    let journal = project.journal();
    project.ok(&["pop", "came after"]);
    project.push("Came after");

    // A backup never replaces a file.
    let before = bytes(&project, "kept.db");
    assert_snapshot!(project.refused(&["backup", "../kept.db"]), @"
    --- stderr
    error: ../kept.db exists already
    hint: choose another file name, or delete it first
    [exit 1]
    ");
    assert!(bytes(&project, "kept.db") == before);

    let restored = project.flame(&["backup", "--restore", "../kept.db"]);
    assert_snapshot!(restored, @"
    Restored 1 frame, 4 events and 1 raw text (N kB) from ../kept.db.
    The former store is in DIR/state/projects/shop-HASH/set-aside/TIME.
    ");
    assert_eq!(project.journal(), journal);
    assert!(
        project
            .ok(&["log", &format!("{frame}#1")])
            .contains("raw text of the frame")
    );
    project.well();
    project.ok(&["note", "decision", "and work continues"]);
    project.well();

    // The former store is whole, and is not taken for a damaged one.
    let aside = fs_err::read_dir(project.file("set-aside")).unwrap();
    let aside = aside.map(|entry| entry.unwrap().path()).next().unwrap();
    let aside = rusqlite::Connection::open(aside.join("journal.db")).unwrap();
    let events: u32 = aside
        .query_row("SELECT count(*) FROM events", [], |row| row.get(0))
        .unwrap();
    assert!(events as usize > journal.len());
}

#[test]
fn a_backup_restores_a_store_that_is_gone_or_in_another_place() {
    let project = TestProject::in_git();
    let frame = fill(&project);
    project.ok(&["backup", "../kept.db"]);
    let journal = project.journal();
    fs_err::remove_dir_all(project.state()).unwrap();
    project.ok(&["backup", "--restore", "../kept.db"]);
    assert_eq!(project.journal(), journal);
    assert!(
        project
            .ok(&["log", &format!("{frame}#1")])
            .contains("raw text of the frame")
    );
    project.well();

    // Another project with a store of its own.
    let elsewhere = TestProject::new();
    elsewhere.push("Something else");
    let file = project.dir().join("kept.db");
    elsewhere.ok(&["backup", "--restore", file.to_str().unwrap()]);
    assert_eq!(elsewhere.journal(), journal);
    elsewhere.well();
}

#[test]
fn a_damaged_backup_is_refused_and_changes_nothing() {
    let project = TestProject::new();
    fill(&project);
    assert_snapshot!(project.refused(&["backup", "--restore", "nowhere.db"]), @"
    --- stderr
    error: there is no file or folder nowhere.db
    hint: check the path
    [exit 1]
    ");
    project.ok(&["backup", "../kept.db"]);
    let whole = bytes(&project, "kept.db");
    let place = |text: &[u8]| whole.windows(text.len()).position(|part| part == text);
    let in_event = place(b"\"title\":\"Kept\"").unwrap() + 10;
    let half = whole.len() / 2;
    let damaged = project.dir().join("damaged.db");
    let mut altered = whole.clone();
    altered[in_event] ^= 1;
    for bytes in [&altered[..], &whole[..half], b"not a database", b""] {
        fs_err::write(&damaged, bytes).unwrap();
        project.refused(&["backup", "--restore", "../damaged.db"]);
    }
    // The database of another program.
    fs_err::remove_file(&damaged).unwrap();
    let other = rusqlite::Connection::open(&damaged).unwrap();
    other.execute_batch("CREATE TABLE x (y)").unwrap();
    drop(other);
    project.refused(&["backup", "--restore", "../damaged.db"]);
    project.well();
}

#[test]
fn a_store_that_is_in_use_is_not_replaced() {
    let project = TestProject::new();
    fill(&project);
    project.ok(&["backup", "../kept.db"]);
    let open = rusqlite::Connection::open(project.file("journal.db")).unwrap();
    let count = "SELECT count(*) FROM events";
    open.query_row(count, [], |row| row.get::<_, i64>(0))
        .unwrap();
    assert_snapshot!(project.refused(&["backup", "--restore", "../kept.db"]), @"
    --- stderr
    error: another process has the store in DIR/state/projects/shop-HASH open
    hint: close the agent programs that work on this project, such as OpenCode, and try again
    [exit 1]
    ");
}

#[test]
fn backups_are_whole_while_others_write() {
    let project = TestProject::new();
    project.push("Root");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let (project, done) = (&project, &done);
            scope.spawn(move || {
                let mut n = 0;
                while !done.load(Ordering::Relaxed) {
                    n += 1;
                    let text = format!("text {n} of writer {writer}\n");
                    let noted = project.flame_reading(&["note", "log", "-"], text.as_bytes());
                    assert_eq!(noted.code, Some(0), "{noted}");
                }
            });
        }
        let made: Vec<_> = (0..10)
            .map(|n| project.flame(&["backup", &format!("../kept-{n}.db"), "--json"]))
            .collect();
        // Before anything fails: the writers would never end.
        done.store(true, Ordering::Relaxed);
        for made in made {
            assert_eq!(made.code, Some(0), "{made}");
        }
    });
    for n in 0..10 {
        let restored = TestProject::new();
        let file = project.dir().join(format!("kept-{n}.db"));
        restored.ok(&["backup", "--restore", file.to_str().unwrap()]);
        // Every text that the journal refers to is there.
        restored.well();
    }
}
