//! Errors of the store.

use std::path::PathBuf;

/// The result of an operation on a store.
pub(crate) type Result<T, E = StoreError> = std::result::Result<T, E>;

/// A failure of the store. Nothing was changed when one of these is returned from a commit.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database is damaged; see [`crate::set_aside`].
    #[error("the store cannot be read: {problem}")]
    Unreadable {
        /// The database file.
        path: PathBuf,
        /// Description of the damage.
        problem: String,
    },
    /// The database belongs to another program.
    #[error("`{}` is a database of another program", .0.display())]
    NotOurs(PathBuf),
    /// Written by a newer version.
    #[error("the store was written by a newer Flamestack (format {found}, this one knows {known})")]
    TooNew {
        /// The format found.
        found: i64,
        /// The newest format known here.
        known: i64,
    },
    /// An event that cannot be decoded.
    #[error("event {seq} of the journal cannot be decoded: {problem}")]
    BadEvent {
        /// Its sequence number.
        seq: i64,
        /// Description of the problem.
        problem: String,
    },
    /// A text to forget that is part of the structure of an event, such as the id of a frame.
    #[error("the text is part of the structure of event {seq}: {problem}")]
    PartOfEvent {
        /// Its sequence number.
        seq: i64,
        /// Description of the problem.
        problem: String,
    },
    /// A file that is not a whole backup.
    #[error("the backup {} cannot be used: {problem}", path.display())]
    BadBackup {
        /// The file.
        path: PathBuf,
        /// Description of the problem.
        problem: String,
    },
    /// A row of a projection that cannot be decoded.
    #[error("a projection is damaged: {0}")]
    BadRow(String),
    /// The store, or the directory it is in, cannot be written.
    #[error("the store in {} cannot be written", .0.display())]
    ReadOnly(PathBuf),
    /// The journal is that of another store.
    #[error("`{}` is not the journal of this project, but that of another store", path.display())]
    OtherStore {
        /// The journal.
        path: PathBuf,
        /// The mark that belongs to the missing journal.
        mark: PathBuf,
    },
    /// The store was replaced, moved or deleted before anything was written.
    #[error("the store was replaced or deleted by another process")]
    Replaced,
    /// The store was moved or deleted while it was written to, not by this program.
    #[error("the store was moved or deleted while this was being recorded")]
    LostCommit,
    /// The disk is full.
    #[error("the disk is full: nothing was recorded")]
    DiskFull,
    /// Other processes kept the store busy for too long.
    #[error("the store is locked by other processes")]
    Busy,
    /// The database engine failed.
    #[error("the store failed: {0}")]
    Sqlite(#[source] rusqlite::Error),
    /// A file could not be read or written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{
            CannotOpen, DatabaseBusy, DatabaseCorrupt, DatabaseLocked, DiskFull, NotADatabase,
            PermissionDenied, ReadOnly,
        };
        if let rusqlite::Error::FromSqlConversionFailure(_, _, problem) = &error {
            return Self::BadRow(problem.to_string());
        }
        match error.sqlite_error_code() {
            Some(DatabaseBusy | DatabaseLocked) => Self::Busy,
            Some(DiskFull) => Self::DiskFull,
            Some(DatabaseCorrupt | NotADatabase) => Self::Unreadable {
                path: PathBuf::new(),
                problem: error.to_string(),
            },
            Some(CannotOpen | PermissionDenied | ReadOnly) => Self::ReadOnly(PathBuf::new()),
            _ => Self::Sqlite(error),
        }
    }
}

impl flamestack_core::tree_query::QueryError for StoreError {}

impl StoreError {
    /// Adds the file to an error of the database engine.
    pub(crate) fn at(self, file: &std::path::Path) -> Self {
        match self {
            Self::Unreadable { path, problem } if path.as_os_str().is_empty() => Self::Unreadable {
                path: file.to_owned(),
                problem,
            },
            // A store on a full disk is opened for reading only.
            Self::ReadOnly(path) if path.as_os_str().is_empty() && is_full(file) => Self::DiskFull,
            Self::ReadOnly(path) if path.as_os_str().is_empty() => Self::ReadOnly(file.to_owned()),
            Self::Sqlite(error) if is_io_failure(&error) && is_full(file) => Self::DiskFull,
            other => other,
        }
    }
}

fn is_io_failure(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::SystemIoFailure)
}

/// Returns true if nothing more can be written next to a file. SQLite reports a full disk as any
/// failure of a write when it creates the files that it needs.
pub(crate) fn is_full(file: &std::path::Path) -> bool {
    let dir = file.parent().unwrap_or(file);
    matches!(crate::sqlite::try_writing(dir), Err(StoreError::DiskFull))
}
