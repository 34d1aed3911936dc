//! Opening a store, making a new one, and setting an unreadable one aside.
//!
//! A store appears under its name only when it is whole: it is made under another name and linked
//! into place. So a database file that is empty, cut short or not a database at all is always
//! damage, never a store that somebody is just making.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension};

use super::{SqliteStore, append, verify};
use crate::error::StoreError;
use crate::index::Index;

/// No database is shorter than its smallest page.
const SHORTEST: u64 = 512;
/// "FLMS", so that a store is known from any other database.
const APPLICATION_ID: i64 = 0x464c_4d53;
/// The journal's format. Each step up is a file in `schema/`.
const MIGRATIONS: [&str; 1] = [include_str!("schema/0001_journal.sql")];
/// The projections' format; another one means that they are folded anew.
const PROJECTIONS_VERSION: &str = "11";
/// All projections.
pub(super) const PROJECTIONS: &str = include_str!("schema/projections.sql");

/// How to open a store.
#[derive(Clone, Copy, Debug)]
pub struct OpenOptions {
    /// How long to wait for other writers.
    pub busy_timeout: Duration,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            busy_timeout: Duration::from_secs(30),
        }
    }
}

impl OpenOptions {
    /// Opens the store in a directory, if there is one.
    pub fn open_existing(self, dir: &Path) -> Result<Option<SqliteStore>, StoreError> {
        let path = database(dir);
        match fs_err::metadata(&path) {
            Ok(_) => self.open_database(path).map(Some),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the store in a directory, making directory and store if need be.
    pub fn open(self, dir: &Path) -> Result<SqliteStore, StoreError> {
        if let Some(store) = self.open_existing(dir)? {
            return Ok(store);
        }
        private_dir(dir)?;
        create(dir)?;
        self.open_database(database(dir))
    }

    fn open_database(self, path: PathBuf) -> Result<SqliteStore, StoreError> {
        let opened = match self.prepared(&path, Access::Full) {
            // Where nothing can be written, SQLite cannot make the files that readers share, unless
            // it is told that nobody else writes either. What is only in a WAL would be missed.
            Err(StoreError::ReadOnly { .. }) if !has_wal(&path) => {
                self.prepared(&path, Access::ReadOnly)
            }
            other => other,
        };
        let connection = opened.map_err(|error| error.at(&path))?;
        Ok(SqliteStore {
            connection,
            path,
            written: 0,
        })
    }

    fn prepared(self, path: &Path, access: Access) -> Result<Connection, StoreError> {
        // SQLite takes a file without a page for a new database and writes on it.
        match fs_err::metadata(path)?.len() {
            0 => return Err(unreadable("the file is empty")),
            length if length < SHORTEST => return Err(unreadable("the file is cut short")),
            _ => {}
        }
        let connection = match access {
            Access::Full => {
                let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
                Connection::open_with_flags(path, flags)?
            }
            Access::ReadOnly => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
                    | OpenFlags::SQLITE_OPEN_NO_MUTEX
                    | OpenFlags::SQLITE_OPEN_URI;
                Connection::open_with_flags(immutable(path), flags)?
            }
        };
        leave_as_it_is(&connection, true)?;
        connection.busy_timeout(self.busy_timeout)?;
        connection.set_prepared_statement_cache_capacity(64);
        connection.pragma_update(None, "synchronous", "FULL")?;
        // Plans must not depend on what is bound, or the statements that partial indexes serve
        // would be planned again each time.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        check_format(&connection, path)?;
        leave_as_it_is(&connection, false)?;
        Ok(connection)
    }
}

/// How a database is opened.
#[derive(Clone, Copy)]
enum Access {
    Full,
    ReadOnly,
}

/// The name under which a reader attaches a database: where SQLite can make no files beside it, it
/// is told that nobody else writes either.
pub(super) fn attachable(connection: &Connection, path: &Path) -> Result<String, StoreError> {
    Ok(if connection.is_readonly("main")? && !has_wal(path) {
        immutable(path)
    } else {
        path.to_string_lossy().into_owned()
    })
}

/// Whether some of a database is still in its write-ahead log.
fn has_wal(path: &Path) -> bool {
    let mut wal = path.to_owned().into_os_string();
    wal.push("-wal");
    fs_err::metadata(PathBuf::from(wal)).is_ok_and(|file| file.len() > 0)
}

/// The name of a database that nobody writes.
fn immutable(path: &Path) -> String {
    let path = path.to_string_lossy();
    let path = path
        .replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23");
    format!("file:{path}?immutable=1")
}

fn unreadable(problem: &str) -> StoreError {
    StoreError::Unreadable {
        path: PathBuf::new(),
        problem: problem.to_owned(),
    }
}

/// Whether closing a connection leaves the files as they are. Otherwise the last one to close
/// writes the WAL into the database; files that cannot be read are set aside as they were found.
pub(super) fn leave_as_it_is(connection: &Connection, leave: bool) -> Result<(), StoreError> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, leave)?;
    Ok(())
}

/// The database file of a store.
pub(super) fn database(dir: &Path) -> PathBuf {
    dir.join("journal.db")
}

/// Whether this is our database, of a format that we know. Reads the first page only, unless the
/// store was written by an older version.
fn check_format(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    if pragma("application_id")? != APPLICATION_ID {
        // Nobody else has a journal like this: the mark is damaged, not the owner another.
        let journal = format!("SELECT {} FROM events e", append::COLUMNS);
        if connection.prepare(&journal).is_ok() {
            return Err(unreadable("its mark is damaged"));
        }
        return Err(StoreError::NotOurs {
            path: path.to_owned(),
        });
    }
    let found = pragma("user_version")?;
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    if found > known {
        return Err(StoreError::TooNew { found, known });
    }
    if found < known || projections_version(connection)?.as_deref() != Some(PROJECTIONS_VERSION) {
        migrate(connection)?;
    }
    Ok(())
}

fn projections_version(connection: &Connection) -> Result<Option<String>, StoreError> {
    let version = connection
        .query_row(
            "SELECT value FROM meta WHERE name = 'projections'",
            [],
            |row| row.get(0),
        )
        .optional()?;
    Ok(version)
}

/// Brings the journal to the current format and folds the projections anew. Two processes may
/// come here at once: the second finds the work done once it gets the write lock.
fn migrate(connection: &Connection) -> Result<(), StoreError> {
    let transaction =
        rusqlite::Transaction::new_unchecked(connection, rusqlite::TransactionBehavior::Immediate)?;
    let found: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let done = usize::try_from(found).unwrap_or_default();
    for migration in MIGRATIONS.iter().skip(done) {
        transaction.execute_batch(migration)?;
    }
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    transaction.pragma_update(None, "user_version", known)?;
    if projections_version(&transaction)?.as_deref() != Some(PROJECTIONS_VERSION) {
        verify::refold(&transaction, &mut |_, _| ())?;
        transaction.execute(
            "INSERT OR REPLACE INTO meta VALUES ('projections', ?1)",
            [PROJECTIONS_VERSION],
        )?;
    }
    transaction.commit()?;
    Ok(())
}

/// Makes an empty store. If another process does the same, one of them wins and both are content.
fn create(dir: &Path) -> Result<(), StoreError> {
    let making = dir.join(format!("making-{}-{}", std::process::id(), thread_name()));
    private_file(&making)?;
    let made = (|| -> Result<(), StoreError> {
        let connection = Connection::open(&making)?;
        connection.pragma_update(None, "application_id", APPLICATION_ID)?;
        migrate(&connection)?;
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        connection.close().map_err(|(_, error)| error)?;
        fs_err::File::open(&making)?.sync_all()?;
        match fs_err::hard_link(&making, database(dir)) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error.into()),
            _ => Ok(()),
        }
    })();
    fs_err::remove_file(&making)?;
    made?;
    fs_err::File::open(dir)?.sync_all()?;
    Ok(())
}

/// An empty database that is nowhere on disk.
pub(super) fn in_memory() -> Result<Connection, StoreError> {
    let connection = Connection::open_in_memory()?;
    migrate(&connection)?;
    Ok(connection)
}

/// Tells threads of one process apart in a file name.
fn thread_name() -> String {
    let id = format!("{:?}", std::thread::current().id());
    id.chars().filter(char::is_ascii_digit).collect()
}

/// Makes a directory that only its owner can look into.
pub fn private_dir(dir: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(|error| naming(&error, dir))
}

/// Makes or opens a file that only its owner can read.
pub fn private_file(path: &Path) -> std::io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).read(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| naming(&error, path))
}

/// Whether an error says that a file or its directory can only be read.
pub(crate) fn cannot_be_written(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem)
}

/// An error that says which file or directory it is about.
fn naming(error: &std::io::Error, path: &Path) -> std::io::Error {
    std::io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Moves an unreadable store out of the way, whole, and returns where it is now.
///
/// Nothing is deleted or overwritten. Under a lock, the store is looked at once more: if another
/// process has set it aside already, or it can be read after all, nothing happens.
pub fn set_aside(dir: &Path, name: &str) -> Result<Option<PathBuf>, StoreError> {
    let lock = private_file(&dir.join("set-aside.lock"))?;
    lock.lock()?;
    let readable = match OpenOptions::default().open_existing(dir) {
        Ok(None) => return Ok(None),
        Ok(Some(store)) => {
            let readable = verify::quick_check(&store.connection);
            leave_as_it_is(&store.connection, !readable)?;
            readable
        }
        Err(StoreError::Unreadable { .. }) => false,
        Err(other) => return Err(other),
    };
    if readable {
        return Ok(None);
    }
    move_files(dir, name).map(Some)
}

/// Moves a store out of the way although it can be opened, because its owner says so.
pub fn move_aside(dir: &Path, name: &str) -> Result<PathBuf, StoreError> {
    let lock = private_file(&dir.join("set-aside.lock"))?;
    lock.lock()?;
    move_files(dir, name)
}

fn move_files(dir: &Path, name: &str) -> Result<PathBuf, StoreError> {
    let mut place = dir.join("set-aside").join(name);
    let mut attempt = 1;
    while place.exists() {
        attempt += 1;
        place = dir.join("set-aside").join(format!("{name}-{attempt}"));
    }
    private_dir(&place)?;
    // It speaks of events that the next store does not have.
    Index::new(dir).drop_all()?;
    let database = database(dir);
    for suffix in ["-wal", "-shm", ""] {
        let mut from = database.clone().into_os_string();
        from.push(suffix);
        let from = PathBuf::from(from);
        if let Some(file_name) = from.file_name()
            && from.exists()
        {
            fs_err::rename(&from, place.join(file_name))?;
        }
    }
    Ok(place)
}
