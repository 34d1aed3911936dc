//! Bringing back what can be read of a damaged store.
//!
//! The damaged files are copied first and never written to. Events are read one by one past the
//! damage, checked by their sums, and appended behind what the new store already holds; the fold
//! does without the ones that are lost.

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

fn salvage(
    into: &mut Connection,
    database: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Recovered, StoreError> {
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
        if let Ok(Some(mut entry)) = read_one(&damaged, seq) {
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
        } else {
            failures += 1;
            if seq <= last {
                recovered.lost += 1;
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
