//! The embedded store: one SQLite database in WAL mode.
//!
//! Any number of processes may open it. A writer takes the write lock before it reads what it
//! decides on, so no decision is made on a state that another process changes meanwhile. Readers see
//! one point of the journal and block no writer.

mod backup;
mod batch;
mod erase;
mod inspect;
mod journal;
mod lives;
mod logs;
mod long_texts;
mod open;
mod outline;
mod pages;
mod path;
mod project;
mod reading;
mod recover;
mod revert;
pub(crate) mod rows;
mod runs;
mod sent;
mod sessions;
mod statements;
mod suggestions;
mod verify;
mod view;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flamestack_core::command::Actor;
use flamestack_core::decide::DecideError;
use flamestack_core::event::Recorded;
use flamestack_core::id::{Seq, Timestamp};
use flamestack_redact::Redactor;
use rusqlite::Connection;

pub use self::backup::{Backup, backup, restore};
pub(crate) use self::erase::{Erased, exclusively, surveyed};
pub use self::inspect::{Glance, glance, is_in_use};
use self::journal::SqliteJournal;
pub(crate) use self::open::cannot_be_written;
pub use self::open::{OpenOptions, move_aside, private_dir, private_file, set_aside, try_writing};
use self::view::SqliteView;
use crate::ack_mark::{Mark, MarkFile};
use crate::error::{Result, StoreError};
use crate::file_identity::{FileId, StoreFileState};
use crate::identity::StoreId;
use crate::journal::JournalLock;
use crate::projections::{Projections, Reading};
use crate::store::{
    CommitError, Committed, Decide, NextStep, Rebuilt, Recovered, Store, Verified, Version,
};
use crate::write::WritePath;
use crate::write_queue::Turn;

// Older versions can corrupt a database when a checkpoint and a WAL reset coincide.
const _: () = assert!(rusqlite::ffi::SQLITE_VERSION_NUMBER >= 3_051_003);

/// A file is written anew if more than one page in this many is unused.
const FREE_PART: i64 = 8;

/// A journal and its projections in an SQLite database.
pub struct SqliteStore {
    connection: Connection,
    path: PathBuf,
    id: Option<StoreId>,
    /// The file as it was when it was opened; `None` in memory.
    file: Option<FileId>,
    mark: MarkFile,
    /// Time to wait for other writers.
    patience: Duration,
    /// Tells this connection from earlier ones of the process.
    opened: u64,
    /// Number of commits by this process; `data_version` only counts those of others.
    written: u64,
    redactor: Redactor,
}

impl SqliteStore {
    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The id of the store. A store of an earlier version that cannot be written has none.
    pub fn id(&self) -> Option<&StoreId> {
        self.id.as_ref()
    }

    /// Returns an empty store in memory, which represents a project without a store.
    pub fn empty() -> Result<Self> {
        Ok(Self {
            connection: open::in_memory()?,
            path: PathBuf::new(),
            id: None,
            file: None,
            mark: MarkFile::new(Path::new("")),
            patience: Duration::ZERO,
            opened: 0,
            written: 0,
            redactor: Redactor::default(),
        })
    }
}

impl Store for SqliteStore {
    fn set_redactor(&mut self, redactor: Redactor) {
        self.redactor = redactor;
    }

    fn commit(
        &mut self,
        at: Timestamp,
        actor: &Actor,
        decide: &mut Decide<'_>,
    ) -> Result<Committed, CommitError> {
        let turn = self.turn()?;
        let committed = self.writing(|path| path.commit(at, actor, decide))?;
        self.acknowledge(turn.as_ref(), &committed.events)?;
        Ok(committed)
    }

    fn commit_steps(&mut self, next: &mut NextStep<'_>) -> Result<Vec<Recorded>, CommitError> {
        let turn = self.turn()?;
        let recorded = self.writing(|path| path.commit_steps(next))?;
        self.acknowledge(turn.as_ref(), &recorded)?;
        Ok(recorded)
    }

    fn file_state(&self) -> Result<StoreFileState> {
        let Some(file) = self.file else {
            return Ok(StoreFileState::InPlace);
        };
        match FileId::of(&self.path)? {
            Some(now) if now == file => Ok(StoreFileState::InPlace),
            Some(_) => Ok(StoreFileState::Replaced),
            None if file.is_set_aside(self.dir())? => Ok(StoreFileState::Replaced),
            None => Ok(StoreFileState::Gone),
        }
    }

    fn retire(self: Box<Self>) -> Result<u64> {
        // SQLite would clean up files by their names, which are those of another store by now.
        open::leave_as_it_is(&self.connection, true)?;
        // What is deleted can still be read while it is open.
        let last = journal::last_seq(&self.connection)?;
        if let (StoreFileState::Gone, Some(id)) = (self.file_state()?, &self.id) {
            private_dir(self.dir())?;
            let store = id.clone();
            Mark { store, last }.write(self.dir())?;
        }
        Ok(last.0.unsigned_abs())
    }

    fn version(&self) -> Result<Version> {
        let others = self
            .connection
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut pragma| pragma.query_row([], |row| row.get(0)))
            .map_err(|error| self.judged(error.into()))?;
        Ok(Version {
            opened: self.opened,
            others,
            own: self.written,
        })
    }

    fn read(&self, work: &mut dyn FnMut(&dyn Reading) -> Result<()>) -> Result<()> {
        let mut attempt = || -> Result<()> {
            // Dropping it rolls back; there is nothing to commit.
            let _snapshot = Transaction::reading(&self.connection)?;
            work(&SqliteView::new(&self.connection))
        };
        attempt().map_err(|error| self.judged(error))
    }

    fn rebuild(&mut self, progress: &mut dyn FnMut(u64, u64)) -> Result<Rebuilt> {
        let _turn = self.turn()?;
        self.written += 1;
        let rebuilt = verify::rebuild(&mut self.connection, progress);
        rebuilt.map_err(|error| self.judged(error))
    }

    fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Verified> {
        let verified = verify::verify(&self.connection, &self.path, progress);
        verified.map_err(|error| self.judged(error))
    }

    fn compact(&mut self) -> Result<()> {
        let turn = self.turn()?;
        let pragma = |name: &str| -> Result<i64> {
            let value = self
                .connection
                .pragma_query_value(None, name, |row| row.get(0));
            Ok(value?)
        };
        // Writing the whole file anew is worth it for a good part of it only.
        if turn.is_some() && pragma("freelist_count")? > pragma("page_count")? / FREE_PART {
            self.connection.execute_batch("VACUUM")?;
        }
        // A reader may keep part of the log in use; it is emptied the next time.
        let mut checkpoint = self.connection.prepare("PRAGMA wal_checkpoint(TRUNCATE)")?;
        checkpoint.query_row([], |_| Ok(()))?;
        Ok(())
    }

    fn recover(&mut self, from: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<Recovered> {
        let turn = self.turn()?;
        self.written += 1;
        let recovered = recover::recover(&mut self.connection, from, progress)?;
        self.note_mark(turn.as_ref(), journal::last_seq(&self.connection)?);
        Ok(recovered)
    }
}

impl SqliteStore {
    /// The folder of the store.
    fn dir(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// Waits for a turn to write. Fails if the file is not in its place by then; it is only
    /// replaced in a turn of its own.
    fn turn(&self) -> Result<Option<Turn>> {
        if self.file.is_none() {
            return Ok(None);
        }
        let turn = match Turn::take(self.dir(), self.patience) {
            // The whole folder is gone.
            Err(StoreError::Io(error)) if error.kind() == ErrorKind::NotFound => {
                return Err(StoreError::Replaced);
            }
            Err(StoreError::Io(error)) if cannot_be_written(&error) => {
                return Err(StoreError::ReadOnly(self.path.clone()));
            }
            other => other?,
        };
        match self.file_state()? {
            StoreFileState::InPlace => Ok(Some(turn)),
            StoreFileState::Replaced | StoreFileState::Gone => Err(StoreError::Replaced),
        }
    }

    /// Ends a commit: notes its last event beside the journal, unless the journal is gone.
    fn acknowledge(&mut self, turn: Option<&Turn>, events: &[Recorded]) -> Result<()> {
        let Some(last) = events.last() else {
            return Ok(());
        };
        self.written += 1;
        if self.file_state()? != StoreFileState::InPlace {
            return Err(StoreError::LostCommit);
        }
        self.note_mark(turn, last.seq);
        Ok(())
    }

    /// Writes the mark. What is recorded stays recorded if that fails, as on a full disk.
    fn note_mark(&mut self, turn: Option<&Turn>, last: Seq) {
        if let (Some(_), Some(id)) = (turn, &self.id) {
            let store = id.clone();
            if let Err(error) = self.mark.write(&Mark { store, last }) {
                tracing::warn!("mark not written: {error}");
            }
        }
    }

    fn writing<T>(
        &self,
        work: impl FnOnce(WritePath<'_>) -> Result<T, CommitError>,
    ) -> Result<T, CommitError> {
        let path = WritePath {
            journal: &SqliteJournal(&self.connection),
            projections: &SqliteView::new(&self.connection),
            redactor: &self.redactor,
        };
        work(path).map_err(|rejected| match rejected {
            DecideError::Unreadable(error) => DecideError::Unreadable(self.judged(error)),
            refused @ DecideError::Refused(_) => refused,
        })
    }

    /// Adds the file to an error. An unreadable file is left exactly as it is from then on.
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

impl Projections for SqliteView<'_> {
    fn apply(&self, event: &Recorded) -> Result<()> {
        project::project(self.connection, event)
    }

    fn reading(&self) -> &dyn Reading {
        self
    }
}

/// A transaction that rolls back unless it is committed. Unlike rusqlite's own, it caches its
/// prepared statements.
struct Transaction<'c> {
    connection: &'c Connection,
}

impl<'c> Transaction<'c> {
    fn reading(connection: &'c Connection) -> Result<Self> {
        connection.prepare_cached("BEGIN")?.execute([])?;
        Ok(Self { connection })
    }

    fn writing(connection: &'c Connection) -> Result<Self> {
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        Ok(Self { connection })
    }
}

impl JournalLock for Transaction<'_> {
    fn commit(self: Box<Self>) -> Result<()> {
        self.connection.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.connection.is_autocommit() {
            let rolled_back = self.connection.prepare_cached("ROLLBACK");
            // A failure here fails again, and is reported, with the next command.
            let _ = rolled_back.and_then(|mut rollback| rollback.execute([]));
        }
    }
}
