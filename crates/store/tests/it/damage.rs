//! Damage to the write-ahead log: acknowledged events come back, or their loss is counted.

use std::path::{Path, PathBuf};

use flamestack_core::command::{Actor, Command, Under};
use flamestack_core::event::Goal;
use flamestack_core::id::{FrameId, SessionRef, Timestamp};
use flamestack_core::{Author, Title, decide};
use flamestack_store::{OpenOptions, SqliteStore, Store as _, StoreError, set_aside};

/// Commits that are only in the log.
const IN_LOG: u64 = 60;
/// Rounds of every kind of damage.
const ROUNDS: usize = 220;

/// The files of a store whose process was killed.
struct Killed {
    dir: tempfile::TempDir,
    events: i64,
}

impl Killed {
    /// A store with some commits in its database and the rest in its log.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let live = tempfile::tempdir().unwrap();
        let mut store = OpenOptions::default().open(live.path()).unwrap();
        for n in 0..20 {
            push(&mut store, n);
        }
        drop(store);
        let mut store = OpenOptions::default().open(live.path()).unwrap();
        for n in 20..20 + IN_LOG {
            push(&mut store, n);
        }
        // While the store is open, its log is as a kill leaves it.
        copy(live.path(), dir.path());
        let events = last(&store);
        Self { dir, events }
    }

    /// A copy of the files, of which one was changed.
    fn damaged(&self, file: &str, damage: impl FnOnce(&mut Vec<u8>)) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        copy(self.dir.path(), dir.path());
        let path = dir.path().join(file);
        let mut bytes = fs_err::read(&path).unwrap();
        damage(&mut bytes);
        fs_err::write(path, bytes).unwrap();
        dir
    }

    fn length(&self, file: &str) -> usize {
        fs_err::read(self.dir.path().join(file)).unwrap().len()
    }
}

fn copy(from: &Path, to: &Path) {
    for name in ["journal.db", "journal.db-wal", "journal.mark"] {
        fs_err::copy(from.join(name), to.join(name)).unwrap();
    }
}

fn push(store: &mut SqliteStore, n: u64) {
    let actor = Actor {
        session: SessionRef::shell("main"),
        worktree: None,
        message: None,
        by: Author::User,
    };
    let command = Command::Push {
        id: FrameId::from_entropy(n * 7_919 + 1),
        under: Under::Root,
        goal: Goal {
            title: Title::recorded(format!("Frame {n}")),
            criteria: None,
            criteria_compacted: None,
        },
    };
    let committed = store.commit(Timestamp(1), &actor, &mut |reading| {
        decide(reading, &actor, &command)
    });
    committed.unwrap();
}

fn last(store: &SqliteStore) -> i64 {
    let mut last = 0;
    store
        .read(&mut |reading| {
            last = reading.position()?.0;
            Ok(())
        })
        .unwrap();
    last
}

/// The outcomes of damaged stores.
#[derive(Default, Debug)]
struct Fate {
    harmless: usize,
    noticed: usize,
    back: u64,
    lost: u64,
    silent: usize,
}

impl Fate {
    /// Opens a damaged store as a command does, and recovers it as `flame rebuild` does.
    fn meet(&mut self, killed: &Killed, dir: &Path) {
        match OpenOptions::default().open_existing(dir) {
            Ok(Some(store)) if last(&store) >= killed.events => {
                let verified = store.verify(&mut |_, _| ()).unwrap();
                if verified.findings.is_empty() {
                    self.harmless += 1;
                } else {
                    self.noticed += 1;
                }
            }
            Ok(_) => self.silent += 1,
            Err(StoreError::Unreadable { .. }) => {
                self.noticed += 1;
                let place: PathBuf = set_aside(dir, "now").unwrap().unwrap();
                let mut anew = OpenOptions::default().open(dir).unwrap();
                let found = anew.recover(&place, &mut |_, _| ()).unwrap();
                assert_eq!(last(&anew).unsigned_abs(), found.events);
                assert_eq!(
                    found.events + found.lost,
                    killed.events.unsigned_abs(),
                    "every event is back or counted: {found:?}"
                );
                self.back += found.events;
                self.lost += found.lost;
            }
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn flipped_bits_in_the_log_are_noticed() {
    let killed = Killed::new();
    let length = killed.length("journal.db-wal");
    let mut fate = Fate::default();
    for round in 0..ROUNDS {
        let place = round * (length / ROUNDS) + round * 37 % 4_000;
        let dir = killed.damaged("journal.db-wal", |log| {
            log[place % length] ^= 1 << (round % 8);
        });
        fate.meet(&killed, dir.path());
    }
    println!("log, one bit flipped, {ROUNDS} rounds: {fate:?}");
    assert_eq!(fate.silent, 0);
    // A page is written again with every commit, so hardly anything is only in the damaged one.
    assert!(fate.lost * 1_000 < fate.back, "{fate:?}");
}

#[test]
fn a_log_that_is_cut_short_is_noticed() {
    let killed = Killed::new();
    let length = killed.length("journal.db-wal");
    let mut fate = Fate::default();
    for round in 0..ROUNDS {
        let dir = killed.damaged("journal.db-wal", |log| {
            log.truncate(length * round / ROUNDS);
        });
        fate.meet(&killed, dir.path());
    }
    println!("log cut short, {ROUNDS} rounds: {fate:?}");
    assert_eq!((fate.silent, fate.harmless), (0, 0));
    // What was cut off is gone, but it is counted.
    assert!(fate.lost > 0);
}

#[test]
fn the_log_of_an_empty_database_is_read() {
    let killed = Killed::new();
    let dir = killed.damaged("journal.db", Vec::clear);
    let mut fate = Fate::default();
    fate.meet(&killed, dir.path());
    assert_eq!(fate.silent, 0);
    // Each push is two events or three; those of the last pages of the database are in the log too.
    assert!(fate.back >= IN_LOG * 2, "{fate:?}");
}

#[test]
fn a_log_that_was_deleted_is_noticed() {
    let killed = Killed::new();
    let dir = killed.damaged("journal.db-wal", Vec::clear);
    fs_err::remove_file(dir.path().join("journal.db-wal")).unwrap();
    let mut fate = Fate::default();
    fate.meet(&killed, dir.path());
    assert_eq!((fate.silent, fate.noticed), (0, 1), "{fate:?}");
    assert!(fate.lost > IN_LOG, "{fate:?}");
}

#[test]
fn what_was_not_committed_does_not_come_back() {
    let killed = Killed::new();
    // The frame that ends the last commit is cut off, and the one before it is damaged.
    let dir = killed.damaged("journal.db-wal", |log| {
        let frame = 24 + 4_096;
        let cut = log.len() - frame;
        log.truncate(cut);
        log[cut - frame + 100] ^= 1;
    });
    let mut fate = Fate::default();
    fate.meet(&killed, dir.path());
    assert_eq!((fate.silent, fate.noticed), (0, 1), "{fate:?}");
    // The last command is lost as a whole.
    assert!(fate.lost >= 2, "{fate:?}");
}

#[test]
fn the_journal_of_another_project_is_refused() {
    let (one, two) = (Killed::new(), Killed::new());
    let journal = fs_err::read(two.dir.path().join("journal.db")).unwrap();
    fs_err::write(one.dir.path().join("journal.db"), journal).unwrap();
    fs_err::remove_file(one.dir.path().join("journal.db-wal")).unwrap();
    let opened = OpenOptions::default().open_existing(one.dir.path());
    assert!(matches!(opened, Err(StoreError::OtherStore { .. })));
    // The user may accept it.
    fs_err::remove_file(one.dir.path().join("journal.mark")).unwrap();
    let opened = OpenOptions::default().open_existing(one.dir.path());
    assert!(last(&opened.unwrap().unwrap()) > 0);
}

#[test]
fn a_journal_that_is_missing_is_counted_as_lost() {
    let killed = Killed::new();
    for name in ["journal.db", "journal.db-wal"] {
        fs_err::remove_file(killed.dir.path().join(name)).unwrap();
    }
    let anew = OpenOptions::default().open(killed.dir.path()).unwrap();
    assert_eq!(last(&anew), 0);
    let places = fs_err::read_dir(killed.dir.path().join("set-aside")).unwrap();
    let places: Vec<PathBuf> = places.map(|place| place.unwrap().path()).collect();
    let [place] = places.as_slice() else {
        panic!("{places:?}");
    };
    let lost = flamestack_store::Recovered::of(place).unwrap().unwrap();
    assert_eq!(
        (lost.events, lost.lost),
        (0, killed.events.unsigned_abs()),
        "{lost:?}"
    );
}
