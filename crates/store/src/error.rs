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
    #[error("`{}` is a database of another program", path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
    },
    /// Written by a newer version.
    #[error("the store was written by a newer Flamestack (format {found}, this one knows {known})")]
    TooNew {
        /// The format found.
        found: i64,
        /// The newest format known here.
        known: i64,
    },
    /// An event that cannot be decoded.
    #[error("event {seq} of the journal cannot be understood: {problem}")]
    BadEvent {
        /// Its sequence number.
        seq: i64,
        /// Description of the problem.
        problem: String,
    },
    /// A text to forget that is part of what an event is made of, such as the id of a frame.
    #[error("the text is part of what event {seq} is made of: {problem}")]
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
    #[error("a projection is damaged: {problem}")]
    BadRow {
        /// Description of the problem.
        problem: String,
    },
    /// The store, or the directory it is in, cannot be written.
    #[error("the store in {} cannot be written", path.display())]
    ReadOnly {
        /// The directory or file.
        path: PathBuf,
    },
    /// Other processes kept the store busy for too long.
    #[error("other processes keep the store busy")]
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
            CannotOpen, DatabaseBusy, DatabaseCorrupt, DatabaseLocked, NotADatabase,
            PermissionDenied, ReadOnly,
        };
        if let rusqlite::Error::FromSqlConversionFailure(_, _, problem) = &error {
            return Self::BadRow {
                problem: problem.to_string(),
            };
        }
        match error.sqlite_error_code() {
            Some(DatabaseBusy | DatabaseLocked) => Self::Busy,
            Some(DatabaseCorrupt | NotADatabase) => Self::Unreadable {
                path: PathBuf::new(),
                problem: error.to_string(),
            },
            Some(CannotOpen | PermissionDenied | ReadOnly) => Self::ReadOnly {
                path: PathBuf::new(),
            },
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
            Self::ReadOnly { path } if path.as_os_str().is_empty() => Self::ReadOnly {
                path: file.to_owned(),
            },
            other => other,
        }
    }
}
