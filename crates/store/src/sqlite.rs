//! The embedded store: one SQLite database in WAL mode.
//!
//! Any number of processes may open it. A writer takes the write lock before it reads what it
//! decides on, so no decision is made on a state that somebody else changes meanwhile; readers see
//! one point of the journal and are never in the way.

mod append;
mod crowd;
mod open;
mod pages;
mod path;
mod project;
mod reading;
mod recover;
mod revert;
mod rows;
mod runs;
mod sent;
mod sessions;
mod spans;
mod verify;
mod view;

use std::path::{Path, PathBuf};

use flamestack_core::command::Actor;
use flamestack_core::decide::{Decision, Rejected};
use flamestack_core::event::Recorded;
use flamestack_core::id::Timestamp;
use rusqlite::Connection;

pub(crate) use self::open::cannot_be_written;
pub use self::open::{OpenOptions, move_aside, private_dir, private_file, set_aside};
use self::view::SqliteView;
use crate::error::StoreError;
use crate::store::{
    Committed, NextStep, Reading, Rebuilt, Recovered, Rejection, Store, Verified, Version,
};

// Older ones can corrupt a database when a checkpoint and a WAL reset meet.
const _: () = assert!(rusqlite::ffi::SQLITE_VERSION_NUMBER >= 3_051_003);

/// A journal and its projections in an SQLite database.
pub struct SqliteStore {
    connection: Connection,
    path: PathBuf,
    /// How often this process has written; SQLite tells only of others.
    written: u64,
}

impl SqliteStore {
    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A store with nothing in it that vanishes with its connection: what a project looks like
    /// that has no store yet.
    pub fn empty() -> Result<Self, StoreError> {
        Ok(Self {
            connection: open::in_memory()?,
            path: PathBuf::new(),
            written: 0,
        })
    }

    /// Brings back what can be read of a store that was set aside, behind what is here now.
    pub fn recover(
        &mut self,
        from: &Path,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Recovered, StoreError> {
        self.written += 1;
        recover::recover(&mut self.connection, from, progress)
    }
}

impl Store for SqliteStore {
    fn commit(
        &mut self,
        at: Timestamp,
        actor: &Actor,
        decide: &mut dyn FnMut(&dyn Reading) -> Result<Decision, Rejection>,
    ) -> Result<Committed, Rejection> {
        self.commit_once(at, actor, decide)
            .map_err(|rejected| match rejected {
                Rejected::Unreadable(error) => Rejected::Unreadable(self.judged(error)),
                refused @ Rejected::Refused(_) => refused,
            })
    }

    fn commit_steps(&mut self, next: &mut NextStep<'_>) -> Result<Vec<Recorded>, Rejection> {
        self.commit_steps_once(next)
            .map_err(|rejected| match rejected {
                Rejected::Unreadable(error) => Rejected::Unreadable(self.judged(error)),
                refused @ Rejected::Refused(_) => refused,
            })
    }

    fn version(&self) -> Result<Version, StoreError> {
        let others = self
            .connection
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut pragma| pragma.query_row([], |row| row.get(0)))
            .map_err(|error| self.judged(error.into()))?;
        Ok(Version {
            others,
            own: self.written,
        })
    }

    fn read(
        &self,
        work: &mut dyn FnMut(&dyn Reading) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut attempt = || -> Result<(), StoreError> {
            // Dropping it rolls back; a reading has nothing to keep.
            let _snapshot = Held::reading(&self.connection)?;
            work(&SqliteView::new(&self.connection))
        };
        attempt().map_err(|error| self.judged(error))
    }

    fn rebuild(&mut self, progress: &mut dyn FnMut(u64, u64)) -> Result<Rebuilt, StoreError> {
        self.written += 1;
        let rebuilt = verify::rebuild(&mut self.connection, progress);
        rebuilt.map_err(|error| self.judged(error))
    }

    fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Verified, StoreError> {
        let verified = verify::verify(&self.connection, &self.path, progress);
        verified.map_err(|error| self.judged(error))
    }
}

impl SqliteStore {
    fn commit_once(
        &mut self,
        at: Timestamp,
        actor: &Actor,
        decide: &mut dyn FnMut(&dyn Reading) -> Result<Decision, Rejection>,
    ) -> Result<Committed, Rejection> {
        let unreadable = Rejected::Unreadable;
        let transaction = Held::writing(&self.connection).map_err(unreadable)?;
        let decision = decide(&SqliteView::new(&self.connection))?;
        if decision.events.is_empty() {
            return Ok(Committed {
                events: Vec::new(),
                remarks: decision.remarks,
            });
        }
        let events = append::append(&self.connection, at, actor, decision.events, None)
            .map_err(unreadable)?;
        for recorded in &events {
            project::project(&self.connection, recorded).map_err(unreadable)?;
        }
        transaction.commit().map_err(unreadable)?;
        self.written += 1;
        Ok(Committed {
            events,
            remarks: decision.remarks,
        })
    }

    fn commit_steps_once(&mut self, next: &mut NextStep<'_>) -> Result<Vec<Recorded>, Rejection> {
        let unreadable = Rejected::Unreadable;
        let transaction = Held::writing(&self.connection).map_err(unreadable)?;
        let mut recorded: Vec<Recorded> = Vec::new();
        while let Some(step) = next(&SqliteView::new(&self.connection))? {
            let batch = recorded.first().map(|first| first.batch);
            let events = append::append(&self.connection, step.at, &step.actor, step.events, batch)
                .map_err(unreadable)?;
            for entry in &events {
                project::project(&self.connection, entry).map_err(unreadable)?;
            }
            recorded.extend(events);
        }
        if recorded.is_empty() {
            return Ok(recorded);
        }
        transaction.commit().map_err(unreadable)?;
        self.written += 1;
        Ok(recorded)
    }

    /// An error that names the file. Once it cannot be read, it is left exactly as it is.
    fn judged(&self, error: StoreError) -> StoreError {
        let error = error.at(&self.path);
        match &error {
            StoreError::Unreadable { path, .. } if *path == self.path => {
                match open::leave_as_it_is(&self.connection, true) {
                    Ok(()) => error,
                    Err(worse) => worse,
                }
            }
            _ => error,
        }
    }
}

/// One point of the journal, or the write lock of one command; without a commit, nothing has
/// happened. Unlike the library's own transactions, it prepares its statements once.
struct Held<'c> {
    connection: &'c Connection,
}

impl<'c> Held<'c> {
    fn reading(connection: &'c Connection) -> Result<Self, StoreError> {
        connection.prepare_cached("BEGIN")?.execute([])?;
        Ok(Self { connection })
    }

    fn writing(connection: &'c Connection) -> Result<Self, StoreError> {
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        Ok(Self { connection })
    }

    fn commit(self) -> Result<(), StoreError> {
        self.connection.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if !self.connection.is_autocommit() {
            let rolled_back = self.connection.prepare_cached("ROLLBACK");
            // What fails here fails again, and is told, with the next command.
            let _ = rolled_back.and_then(|mut rollback| rollback.execute([]));
        }
    }
}
