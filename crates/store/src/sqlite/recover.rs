//! Bringing back what can be read of a damaged store.
//!
//! The damaged files are copied first and never written to. Events are read one by one past the
//! damage, checked by their sums, and appended behind what the new store already holds; the fold
//! does without the ones that are lost.

use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

use flamestack_core::event::{Event, Recorded};
use flamestack_core::id::Seq;
use rusqlite::{Connection, TransactionBehavior, params};

use super::open::database;
use super::{append, project};
use crate::error::StoreError;
use crate::store::Recovered;

/// How many events in a row may be unreadable before the journal counts as ended.
const PATIENCE: i64 = 20_000;

/// The header of an SQLite database.
const HEADER: usize = 100;
/// The page size of our stores, SQLite's default.
const PAGE: u16 = 4096;

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
/// keeps SQLite from reading any of the pages behind it.
fn mend_header(database: &Path) -> Result<(), StoreError> {
    let mut file = fs_err::OpenOptions::new()
        .read(true)
        .write(true)
        .open(database)?;
    let length = file.metadata()?.len();
    if length < HEADER as u64 {
        return Ok(());
    }
    let mut header = [0; HEADER];
    file.read_exact(&mut header)?;
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
    Ok(())
}

fn salvage(
    into: &mut Connection,
    database: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Recovered, StoreError> {
    mend_header(database)?;
    let damaged = Connection::open(database)?;
    damaged.busy_timeout(Duration::from_secs(5))?;
    // Lets SQLite open a file that is shorter than its header says.
    damaged.pragma_update(None, "writable_schema", "ON")?;
    let last: i64 = damaged
        .query_row("SELECT max(seq) FROM events", [], |row| row.get(0))
        .unwrap_or_default();
    let transaction = into.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let offset = append::last_seq(&transaction)?.0;
    let mut recovered = Recovered::default();
    let mut next = offset;
    let mut failures = 0;
    let mut seq = 1;
    // Numbers stay as they are in an empty store; behind other events they move up, and with them
    // the references between events.
    let mut moved: std::collections::BTreeMap<i64, i64> = std::collections::BTreeMap::new();
    while seq <= last || (failures < PATIENCE && last == 0) {
        match read_one(&damaged, seq) {
            Ok(Some(mut entry)) => {
                failures = 0;
                next += 1;
                moved.insert(seq, next);
                entry.seq = Seq(next);
                entry.batch = Seq(moved.get(&entry.batch.0).copied().unwrap_or(next));
                if let Event::CommandUndone { batch } = &mut entry.event {
                    *batch = Seq(moved.get(&batch.0).copied().unwrap_or_default());
                }
                append::insert(&transaction, &entry)?;
                project::project(&transaction, &entry)?;
                recovered.events += 1;
            }
            Ok(None) | Err(_) => {
                failures += 1;
                if seq <= last {
                    recovered.lost += 1;
                }
            }
        }
        if seq % 1000 == 0 {
            progress(seq.unsigned_abs(), last.max(seq).unsigned_abs());
        }
        seq += 1;
    }
    transaction.commit()?;
    Ok(recovered)
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
