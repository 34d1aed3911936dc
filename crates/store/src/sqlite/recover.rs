//! Recovery of the readable events of a damaged store.
//!
//! The damaged files are copied first and never written to. Events are read one by one past the
//! damage, checked by their checksums, and appended after the events of the new store. The fold
//! tolerates the missing ones.
//!
//! ```text
//!  set-aside/…/journal.db ──copy──▶ rewrite the header ──▶ read event by event ──▶ found ──▶ append
//!                                                             │ unreadable
//!                                                             └──▶ scan raw pages ──▶ checksum fits ──▶ append
//! ```
//!
//! Three kinds of damage hide intact events. A single wrong bit in the 100-byte file header keeps SQLite
//! from opening the file at all, so the header is rewritten: every field of it is known. A damaged
//! interior page of the b-tree hides all leaf pages below it, so the leaves are read directly
//! (`pages`), each event proving itself by its checksum. A damaged frame of the write-ahead log hides
//! all frames after it, so those are read directly as well.
//!
//! The mark of the damaged store says how many events it had.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use flamestack_core::event::{Event, Recorded};
use flamestack_core::id::Seq;
use rusqlite::{Connection, TransactionBehavior};

use super::open::database;
use super::pages::{self, PAGE};
use super::{journal, project};
use crate::ack_mark::Mark;
use crate::error::Result;
use crate::identity::StoreId;
use crate::store::Recovered;

/// Name of the ids of recovered stores in the table `meta`, before the id.
pub(super) const ABSORBED: &str = "absorbed ";
/// Length of the header of an SQLite database, in bytes.
const HEADER: usize = 100;

/// Appends the readable events of a store in `from` to the journal of `into`.
pub(super) fn recover(
    into: &mut Connection,
    from: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Recovered> {
    let copy = from.join(format!("reading-{}", std::process::id()));
    super::private_dir(&copy)?;
    let recovered =
        copy_database(from, &copy).and_then(|()| salvage(into, from, &database(&copy), progress));
    fs_err::remove_dir_all(&copy)?;
    recovered
}

fn copy_database(from: &Path, to: &Path) -> Result<()> {
    for suffix in ["", "-wal"] {
        let name = format!("journal.db{suffix}");
        match fs_err::copy(from.join(&name), to.join(&name)) {
            Err(error) if suffix.is_empty() || error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error.into());
            }
            _ => {}
        }
    }
    Ok(())
}

/// Rewrites the header of the copy, of which every field is known. Returns true if the file is
/// shorter than its old header says, provided that the header can be trusted.
fn mend_header(database: &Path) -> Result<bool> {
    let mut file = fs_err::OpenOptions::new()
        .read(true)
        .write(true)
        .open(database)?;
    let length = file.metadata()?.len();
    if length < HEADER as u64 {
        return Ok(true);
    }
    let mut header = [0; HEADER];
    file.read_exact(&mut header)?;
    let is_cut = pages_by(&header).is_some_and(|pages| u64::from(pages) * u64::from(PAGE) > length);
    let pages = u32::try_from(length / u64::from(PAGE)).unwrap_or(u32::MAX);
    let mut put = |place: usize, bytes: &[u8]| {
        let rest = header.iter_mut().skip(place);
        rest.zip(bytes).for_each(|(old, new)| *old = *new);
    };
    put(0, b"SQLite format 3\0");
    put(16, &PAGE.to_be_bytes());
    // WAL mode for reading and writing, no reserved space, the fixed payload fractions.
    put(18, &[2, 2, 0, 64, 32, 32]);
    // SQLite trusts the size only if the two change counters agree.
    put(24, &1_u32.to_be_bytes());
    put(92, &1_u32.to_be_bytes());
    put(28, &pages.to_be_bytes());
    // No free pages, which do not matter for reading; schema format 4, no vacuum, UTF-8.
    put(32, &[0; 8]);
    put(44, &4_u32.to_be_bytes());
    put(52, &[0; 4]);
    put(56, &1_u32.to_be_bytes());
    put(64, &[0; 4]);
    file.rewind()?;
    file.write_all(&header)?;
    Ok(is_cut)
}

/// Returns the number of pages according to the header, if the header is one of ours.
fn pages_by(header: &[u8; HEADER]) -> Option<u32> {
    let number = |place: usize| -> Option<u32> {
        let bytes = header.get(place..)?.first_chunk::<4>()?;
        Some(u32::from_be_bytes(*bytes))
    };
    let ours =
        header.starts_with(b"SQLite format 3\0") && header.get(16..18)? == PAGE.to_be_bytes();
    // SQLite trusts the size only if the two change counters agree.
    (ours && number(24) == number(92))
        .then(|| number(28))
        .flatten()
}

fn salvage(
    into: &mut Connection,
    from: &Path,
    database: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Recovered> {
    let mark = Mark::read(from)?;
    // Before SQLite opens the copy: it deletes the log of an empty database.
    let mut in_log = BTreeMap::new();
    pages::scan_log(database, &log(database), &mut |entry| {
        in_log.insert(entry.seq.0, entry);
    })?;
    let is_cut = mend_header(database)?;
    let damaged = Connection::open(database)?;
    damaged.busy_timeout(Duration::from_secs(5))?;
    // Lets SQLite open a file that is shorter than its header says.
    damaged.pragma_update(None, "writable_schema", "ON")?;
    let mut lost = Lost::of(&damaged, database, in_log)?;
    lost.last = mark
        .iter()
        .map(|mark| mark.last.0)
        .fold(lost.last, i64::max);
    let transaction = into.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let offset = journal::last_seq(&transaction)?.0;
    let mut recovered = Recovered {
        // The mark says where the end was.
        cut: is_cut && mark.is_none(),
        ..Recovered::default()
    };
    let mut next = offset;
    // In an empty store sequence numbers stay as they are. After existing events they are shifted,
    // together with the references between events.
    let mut moved: BTreeMap<i64, i64> = BTreeMap::new();
    for seq in 1..=lost.last {
        let found = match lost.found_elsewhere.get(&seq) {
            Some(entry) => Some(entry.clone()),
            None => journal::event(&damaged, Seq(seq)).unwrap_or_default(),
        };
        if let Some(mut entry) = found {
            next += 1;
            moved.insert(seq, next);
            entry.seq = Seq(next);
            entry.batch = Seq(moved.get(&entry.batch.0).copied().unwrap_or(next));
            shift_references(&mut entry.event, &moved);
            journal::insert(&transaction, &entry)?;
            project::project(&transaction, &entry)?;
            recovered.events += 1;
        } else {
            recovered.lost += 1;
        }
        if seq % 1000 == 0 {
            progress(seq.unsigned_abs(), lost.last.unsigned_abs());
        }
    }
    let id = StoreId::of(&damaged).unwrap_or_default();
    absorb(&transaction, id.or(mark.map(|mark| mark.store)))?;
    transaction.commit()?;
    Ok(recovered)
}

/// Notes that this journal has the events of another one, and refers to its raw texts.
fn absorb(connection: &Connection, id: Option<StoreId>) -> Result<()> {
    let id = id.unwrap_or_else(StoreId::unknown);
    connection.execute(
        "INSERT OR IGNORE INTO meta VALUES (?1, '')",
        [format!("{ABSORBED}{id}")],
    )?;
    Ok(())
}

/// Returns the path of the write-ahead log of a database.
fn log(database: &Path) -> PathBuf {
    let mut log = database.to_owned().into_os_string();
    log.push("-wal");
    PathBuf::from(log)
}

/// Shifts the references of an event to other events, and drops those to lost ones.
fn shift_references(event: &mut Event, moved: &BTreeMap<i64, i64>) {
    let shift = |seq: &mut Seq| {
        let place = moved.get(&seq.0).copied();
        *seq = Seq(place.unwrap_or_default());
        place.is_some()
    };
    match event {
        Event::CommandUndone { batch } => drop(shift(batch)),
        Event::SessionReverted { masked, .. } => masked.retain_mut(shift),
        Event::SessionRestored {
            reverted, unmasked, ..
        } => {
            shift(reverted);
            unmasked.retain_mut(shift);
        }
        _ => {}
    }
}

/// Events that SQLite cannot find any more.
struct Lost {
    /// The last event of which there is a trace.
    last: i64,
    /// Events that are in the file but cannot be reached through the b-tree.
    found_elsewhere: BTreeMap<i64, Recorded>,
}

impl Lost {
    fn of(damaged: &Connection, database: &Path, in_log: BTreeMap<i64, Recorded>) -> Result<Self> {
        let last = damaged.query_row("SELECT max(seq) FROM events", [], |row| row.get(0));
        let known: Option<Option<i64>> = last.ok();
        let last = known.flatten().unwrap_or_default();
        let mut unread = BTreeSet::new();
        for seq in 1..=last {
            if !matches!(journal::event(damaged, Seq(seq)), Ok(Some(_))) {
                unread.insert(seq);
            }
        }
        let mut found_elsewhere = in_log;
        found_elsewhere.retain(|seq, _| *seq > last || unread.contains(seq));
        if !unread.is_empty() || known.is_none() {
            // Pages in the WAL are moved into the file first; it is only a copy.
            drop(damaged.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)"));
            pages::scan(database, &mut |entry| {
                if unread.contains(&entry.seq.0) || entry.seq.0 > last {
                    found_elsewhere.entry(entry.seq.0).or_insert(entry);
                }
            })?;
        }
        let last = found_elsewhere.keys().copied().fold(last, i64::max);
        Ok(Self {
            last,
            found_elsewhere,
        })
    }
}
