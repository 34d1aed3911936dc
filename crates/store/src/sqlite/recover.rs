//! Bringing back what can be read of a damaged store.
//!
//! The damaged files are copied first and never written to. Events are read one by one past the
//! damage, checked by their sums, and appended behind what the new store already holds; the fold
//! does without the ones that are lost.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

use flamestack_core::event::{Event, Recorded};
use flamestack_core::id::Seq;
use rusqlite::{Connection, TransactionBehavior, params};

use super::open::database;
use super::pages::{self, PAGE};
use super::{append, project};
use crate::error::StoreError;
use crate::store::Recovered;

/// The header of an SQLite database.
const HEADER: usize = 100;

/// Appends the readable events of a store in `from` to the journal of `into`.
pub(super) fn recover(
    into: &mut Connection,
    from: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Recovered, StoreError> {
    let copy = from.join(format!("reading-{}", std::process::id()));
    super::private_dir(&copy)?;
    let recovered =
        copy_database(from, &copy).and_then(|()| salvage(into, &database(&copy), progress));
    fs_err::remove_dir_all(&copy)?;
    recovered
}

fn copy_database(from: &Path, to: &Path) -> Result<(), StoreError> {
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

/// Writes the header of the copy anew: everything in it is known, and a single wrong bit there
/// keeps SQLite from reading any of the pages behind it. Says whether the file is shorter than its
/// header, where that can be believed.
fn mend_header(database: &Path) -> Result<bool, StoreError> {
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
        let behind = header.iter_mut().skip(place);
        behind.zip(bytes).for_each(|(old, new)| *old = *new);
    };
    put(0, b"SQLite format 3\0");
    put(16, &PAGE.to_be_bytes());
    // Readable and writable by way of a WAL, no reserved space, the fixed payload fractions.
    put(18, &[2, 2, 0, 64, 32, 32]);
    // The size counts only where the two change counters agree.
    put(24, &1_u32.to_be_bytes());
    put(92, &1_u32.to_be_bytes());
    put(28, &pages.to_be_bytes());
    // Nothing is on the list of free pages as far as reading goes; schema format 4, no vacuum,
    // UTF-8.
    put(32, &[0; 8]);
    put(44, &4_u32.to_be_bytes());
    put(52, &[0; 4]);
    put(56, &1_u32.to_be_bytes());
    put(64, &[0; 4]);
    file.rewind()?;
    file.write_all(&header)?;
    Ok(is_cut)
}

/// How many pages a database has by its header, if the header is one of ours.
fn pages_by(header: &[u8; HEADER]) -> Option<u32> {
    let number = |place: usize| -> Option<u32> {
        let bytes = header.get(place..)?.first_chunk::<4>()?;
        Some(u32::from_be_bytes(*bytes))
    };
    let ours =
        header.starts_with(b"SQLite format 3\0") && header.get(16..18)? == PAGE.to_be_bytes();
    // The size counts only where the two change counters agree.
    (ours && number(24) == number(92))
        .then(|| number(28))
        .flatten()
}

fn salvage(
    into: &mut Connection,
    database: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Recovered, StoreError> {
    let is_cut = mend_header(database)?;
    let damaged = Connection::open(database)?;
    damaged.busy_timeout(Duration::from_secs(5))?;
    // Lets SQLite open a file that is shorter than its header says.
    damaged.pragma_update(None, "writable_schema", "ON")?;
    let lost = Lost::of(&damaged, database)?;
    let transaction = into.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let offset = append::last_seq(&transaction)?.0;
    let mut recovered = Recovered {
        cut: is_cut,
        ..Recovered::default()
    };
    let mut next = offset;
    // Numbers stay as they are in an empty store; behind other events they move up, and with them
    // the references between events.
    let mut moved: BTreeMap<i64, i64> = BTreeMap::new();
    for seq in 1..=lost.last {
        let found = match lost.found_elsewhere.get(&seq) {
            Some(entry) => Some(entry.clone()),
            None => read_one(&damaged, seq).unwrap_or_default(),
        };
        if let Some(mut entry) = found {
            next += 1;
            moved.insert(seq, next);
            entry.seq = Seq(next);
            entry.batch = Seq(moved.get(&entry.batch.0).copied().unwrap_or(next));
            let there = |seq: &mut Seq| {
                let place = moved.get(&seq.0).copied();
                *seq = Seq(place.unwrap_or_default());
                place.is_some()
            };
            match &mut entry.event {
                Event::CommandUndone { batch } => drop(there(batch)),
                Event::SessionReverted { masked, .. } => masked.retain_mut(there),
                Event::SessionRestored {
                    reverted, shown, ..
                } => {
                    there(reverted);
                    shown.retain_mut(there);
                }
                _ => {}
            }
            append::insert(&transaction, &entry)?;
            project::project(&transaction, &entry)?;
            recovered.events += 1;
        } else {
            recovered.lost += 1;
        }
        if seq % 1000 == 0 {
            progress(seq.unsigned_abs(), lost.last.unsigned_abs());
        }
    }
    transaction.commit()?;
    Ok(recovered)
}

/// What the engine cannot find any more.
struct Lost {
    /// The last event of which anything is known.
    last: i64,
    /// Events that stand in the file and cannot be reached through the tree.
    found_elsewhere: BTreeMap<i64, Recorded>,
}

impl Lost {
    fn of(damaged: &Connection, database: &Path) -> Result<Self, StoreError> {
        let last = damaged.query_row("SELECT max(seq) FROM events", [], |row| row.get(0));
        let known: Option<Option<i64>> = last.ok();
        let last = known.flatten().unwrap_or_default();
        let mut unread = BTreeSet::new();
        for seq in 1..=last {
            if !matches!(read_one(damaged, seq), Ok(Some(_))) {
                unread.insert(seq);
            }
        }
        let mut found_elsewhere = BTreeMap::new();
        if !unread.is_empty() || known.is_none() {
            // Pages that are still in the WAL belong into the file first; it is only a copy.
            drop(damaged.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)"));
            pages::scan(database, &mut |entry| {
                if unread.contains(&entry.seq.0) || entry.seq.0 > last {
                    found_elsewhere.insert(entry.seq.0, entry);
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

fn read_one(damaged: &Connection, seq: i64) -> Result<Option<Recorded>, StoreError> {
    let columns = append::COLUMNS;
    let found = project::events(
        damaged,
        &format!("SELECT {columns} FROM events e WHERE e.seq = ?1"),
        params![seq],
    )?;
    Ok(found.into_iter().next())
}
