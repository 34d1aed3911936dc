//! Disposable databases: files that can be deleted at any time and are made again when needed.
//!
//! The search index, the sibling index and the token counts follow the journal or only save time.
//! They share one way to be opened, versioned, thrown away after damage and deleted.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use crate::error::{Result, StoreError};
use crate::sqlite::private_file;

/// A database that can be deleted without losing anything.
pub(crate) struct DisposableDb {
    path: PathBuf,
    format: Format,
}

/// The format of a disposable database and its patience with other processes.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    /// File name in the store's directory.
    pub(crate) file: &'static str,
    /// Version of the schema; a file with another version is emptied.
    pub(crate) version: i64,
    /// Statements that drop the tables of any older version and create the current ones.
    pub(crate) schema: &'static str,
    /// Time to wait for other processes.
    pub(crate) busy_timeout: Duration,
}

impl DisposableDb {
    /// Returns the database in a store's directory. Nothing is opened or created yet.
    pub(crate) fn new(dir: &Path, format: Format) -> Self {
        Self {
            path: dir.join(format.file),
            format,
        }
    }

    /// The database file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the database, creating it if needed.
    pub(crate) fn open(&self) -> Result<Connection> {
        private_file(&self.path)?;
        self.prepare(Connection::open(&self.path)?)
    }

    /// Returns an empty database in memory, for when the file cannot be used.
    pub(crate) fn in_memory(&self) -> Result<Connection> {
        self.prepare(Connection::open_in_memory()?)
    }

    fn prepare(&self, connection: Connection) -> Result<Connection> {
        connection.busy_timeout(self.format.busy_timeout)?;
        // Losing the last writes of a file that can be made again costs nothing.
        connection.pragma_update(None, "synchronous", "OFF")?;
        let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version != self.format.version {
            connection.execute_batch(&format!(
                "BEGIN IMMEDIATE; {} PRAGMA user_version = {}; COMMIT;",
                self.format.schema, self.format.version
            ))?;
        }
        Ok(connection)
    }

    /// Deletes the database after an error that means damage. Other errors leave it alone.
    pub(crate) fn discard_if_damaged(&self, error: &StoreError) -> Result<()> {
        tracing::warn!(path = %self.path.display(), "not used: {error}");
        if matches!(error, StoreError::Unreadable { .. }) {
            self.delete()?;
        }
        Ok(())
    }

    /// Deletes the files of the database.
    pub(crate) fn delete(&self) -> Result<()> {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let mut path = self.path.clone().into_os_string();
            path.push(suffix);
            match fs_err::remove_file(PathBuf::from(path)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error.into());
                }
                _ => {}
            }
        }
        Ok(())
    }
}
