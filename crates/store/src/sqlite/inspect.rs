//! Inspects a store from outside: its size and last use, and whether a process has it open.

use std::path::Path;
use std::time::Duration;

use flamestack_core::id::Timestamp;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _};

use super::open::{self, database, immutable};
use crate::error::{Result, StoreError};

/// A few numbers of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glance {
    /// Number of frames.
    pub frames: u64,
    /// Time of the last event.
    pub last_used: Option<Timestamp>,
}

/// Reads a few numbers of a store without migrating or repairing it. `None` if there is none, or if
/// it cannot be read.
pub fn glance(dir: &Path) -> Option<Glance> {
    let path = database(dir);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let look = |name: String| -> Option<Glance> {
        let store = Connection::open_with_flags(name, flags).ok()?;
        open::leave_as_it_is(&store, true).ok()?;
        let frames = "SELECT count(*) FROM frames";
        let frames: i64 = store.query_row(frames, [], |row| row.get(0)).ok()?;
        let last = "SELECT at FROM events ORDER BY seq DESC LIMIT 1";
        let last: Option<i64> = store
            .query_row(last, [], |row| row.get(0))
            .optional()
            .ok()?;
        Some(Glance {
            frames: frames.unsigned_abs(),
            last_used: last.map(Timestamp),
        })
    };
    if !path.exists() {
        return None;
    }
    // In a read-only directory SQLite cannot create the files that readers share.
    look(path.to_string_lossy().into_owned()).or_else(|| look(immutable(&path)))
}

/// Returns true if another process, or another connection of this one, has the store open.
///
/// A connection in WAL mode holds a shared lock on the file for as long as it is open, so an
/// exclusive lock can only be taken if there is none.
pub fn is_in_use(dir: &Path) -> Result<bool> {
    let path = database(dir);
    if !path.exists() {
        return Ok(false);
    }
    match exclusive(&path, Duration::ZERO) {
        // A damaged store is not a store that is used.
        Ok(_) | Err(StoreError::Unreadable { .. }) => Ok(false),
        Err(StoreError::Busy) => Ok(true),
        Err(other) => Err(other),
    }
}

/// Opens a database that no other connection may use until this one is closed.
pub(super) fn exclusive(path: &Path, patience: Duration) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    open::leave_as_it_is(&connection, true)?;
    connection.busy_timeout(patience)?;
    // Set before the database is first read, or the lock would not cover other readers.
    connection.pragma_update_and_check(None, "locking_mode", "EXCLUSIVE", |_| Ok(()))?;
    connection.execute_batch("BEGIN EXCLUSIVE; COMMIT")?;
    Ok(connection)
}
