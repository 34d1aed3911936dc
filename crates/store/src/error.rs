//! What can go wrong in keeping things.

use std::path::PathBuf;

/// A failure of the store. Nothing was changed when one of these is returned from a commit.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database cannot be read as one; see [`crate::set_aside`].
    #[error("the store cannot be read: {problem}")]
    Unreadable {
        /// The database file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A database, but not one of ours.
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
    /// An event that cannot be understood.
    #[error("event {seq} of the journal cannot be understood: {problem}")]
    BadEvent {
        /// Its place in the journal.
        seq: i64,
        /// What is wrong.
        problem: String,
    },
    /// A row of a projection that makes no sense.
    #[error("a projection is damaged: {problem}")]
    BadRow {
        /// What is wrong.
        problem: String,
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
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseCorrupt, DatabaseLocked, NotADatabase};
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
            _ => Self::Sqlite(error),
        }
    }
}

impl StoreError {
    /// Names the file in question, where the engine could not.
    pub(crate) fn at(self, file: &std::path::Path) -> Self {
        match self {
            Self::Unreadable { path, problem } if path.as_os_str().is_empty() => Self::Unreadable {
                path: file.to_owned(),
                problem,
            },
            other => other,
        }
    }
}
