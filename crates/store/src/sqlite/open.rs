//! Opening a store, creating a new one, and setting an unreadable one aside.
//!
//! A store appears under its name only when it is complete: it is created under another name and
//! linked into place. So a database file that is empty, cut short or not a database at all is always
//! damage, never a store that another process is still creating.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use flamestack_core::id::Seq;
use flamestack_redact::Redactor;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension};

use super::inspect::exclusive;
use super::{SqliteStore, journal, verify};
use crate::ack_mark::{self, Mark, MarkFile};
use crate::blobs::Blobs;
use crate::error::{Result, StoreError};
use crate::file_identity::FileId;
use crate::identity::StoreId;
use crate::index::Index;
use crate::store::{OpenStore, Recovered, Store};
use crate::write_queue::Turn;

/// Number of bytes that a command needs to write, at least.
const PROBE: usize = 64 * 1024;
/// No database is shorter than its smallest page.
const SHORTEST: u64 = 512;
/// "FLMS": tells a store from any other database.
const APPLICATION_ID: i64 = 0x464c_4d53;
/// Migrations of the journal's format, one file in `schema/` each.
const MIGRATIONS: [&str; 1] = [include_str!("schema/0001_journal.sql")];
/// Version of the projections; stores with another version are folded again.
const PROJECTIONS_VERSION: &str = "21";
/// Schema of all projections.
pub(super) const PROJECTIONS: &str = include_str!("schema/projections.sql");

/// Options for opening a store.
#[derive(Clone, Copy, Debug)]
pub struct OpenOptions {
    /// Time to wait for other writers.
    pub busy_timeout: Duration,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            busy_timeout: Duration::from_secs(30),
        }
    }
}

impl OpenStore for OpenOptions {
    fn open(&self, dir: &Path) -> Result<Box<dyn Store>> {
        let store = OpenOptions::open(*self, dir)?;
        Ok(Box::new(store))
    }

    fn open_existing(&self, dir: &Path) -> Result<Option<Box<dyn Store>>> {
        let store = OpenOptions::open_existing(*self, dir)?;
        Ok(store.map(|store| Box::new(store) as Box<dyn Store>))
    }

    fn empty(&self) -> Result<Box<dyn Store>> {
        Ok(Box::new(SqliteStore::empty()?))
    }
}

impl OpenOptions {
    /// Opens the store in a directory, if there is one.
    pub fn open_existing(self, dir: &Path) -> Result<Option<SqliteStore>> {
        let path = database(dir);
        match fs_err::metadata(&path) {
            // It may just have been replaced.
            Ok(_) => match self.open_database(path.clone()) {
                Err(StoreError::Replaced) => self.open_existing(dir),
                other => other.map(Some),
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the store in a directory, creating both if needed.
    pub fn open(self, dir: &Path) -> Result<SqliteStore> {
        if let Some(store) = self.open_existing(dir)? {
            return Ok(store);
        }
        private_dir(dir)?;
        let turn = Turn::take(dir, self.busy_timeout)?;
        // Another process may have created it meanwhile.
        if !database(dir).exists() {
            report_missing(dir)?;
            create(dir)?;
            // Texts that are here already belong to another, unknown journal, unless theirs is recorded.
            Blobs::new(dir).disown()?;
        }
        drop(turn);
        self.open_database(database(dir))
    }

    fn open_database(self, path: PathBuf) -> Result<SqliteStore> {
        let opened = self.prepared(&path, Access::Full);
        let opened = match opened.map_err(|error| error.at(&path)) {
            // In a read-only directory, and on a full disk, SQLite cannot create the files that readers
            // share, so the database is opened as immutable. That would miss what is only in the WAL.
            Err(StoreError::ReadOnly(_) | StoreError::DiskFull) if !has_wal(&path) => {
                let opened = self.prepared(&path, Access::ReadOnly);
                opened.map_err(|error| error.at(&path))?
            }
            other => other?,
        };
        let dir = path.parent().unwrap_or(Path::new(""));
        Ok(SqliteStore {
            mark: MarkFile::new(dir),
            connection: opened.connection,
            id: opened.id,
            file: Some(opened.file),
            patience: self.busy_timeout,
            opened: OPENED.fetch_add(1, Ordering::Relaxed),
            path,
            written: 0,
            redactor: Redactor::default(),
        })
    }

    fn prepared(self, path: &Path, access: Access) -> Result<Opened> {
        let dir = path.parent().unwrap_or(Path::new(""));
        // Read first: the journal only grows meanwhile.
        let mark = Mark::read(dir)?;
        let file = FileId::of(path)?.ok_or(StoreError::Replaced)?;
        // SQLite takes a file without a page for a new database and would write to it.
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
        // Query plans must not depend on bound values, or statements served by partial indexes
        // would be planned again each time.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        check_format(&connection, path)?;
        let mut id = StoreId::of(&connection)?;
        if id.is_none() && !connection.is_readonly("main")? {
            migrate(&connection)?;
            id = StoreId::of(&connection)?;
        }
        check_mark(&connection, path, id.as_ref(), mark.as_ref())?;
        // Another process may have replaced the file before it was opened, or after.
        if FileId::of(path)? != Some(file) {
            return Err(StoreError::Replaced);
        }
        let marked = mark.map(|mark| mark.store);
        if marked != id
            && let (Some(id), Access::Full) = (&id, access)
        {
            let mark = Mark {
                store: id.clone(),
                last: journal::last_seq(&connection)?,
            };
            // Without the mark, some kinds of damage go undetected.
            if let Err(error) = mark.write(dir) {
                tracing::warn!("mark not written: {error}");
            }
        }
        leave_as_it_is(&connection, false)?;
        Ok(Opened {
            connection,
            id,
            file,
        })
    }
}

/// Number of stores that this process has opened.
static OPENED: AtomicU64 = AtomicU64::new(1);

/// A database that was opened.
struct Opened {
    connection: Connection,
    id: Option<StoreId>,
    file: FileId,
}

/// Checks that the journal is the one that the mark names, with everything that was
/// acknowledged.
fn check_mark(
    connection: &Connection,
    path: &Path,
    id: Option<&StoreId>,
    mark: Option<&Mark>,
) -> Result<()> {
    let Some(mark) = mark else {
        return Ok(());
    };
    // Where nothing was acknowledged, nothing can be missing.
    if mark.last == Seq(0) {
        return Ok(());
    }
    if id.is_some_and(|id| *id != mark.store) {
        return Err(StoreError::OtherStore {
            path: path.to_owned(),
            mark: path.with_file_name(ack_mark::FILE),
        });
    }
    let last = journal::last_seq(connection)?;
    match mark.last.0 - last.0 {
        missing if missing <= 0 => Ok(()),
        1 => Err(unreadable("the last event is missing")),
        missing => Err(unreadable(&format!(
            "the last {missing} events are missing"
        ))),
    }
}

/// Ways to open a database.
#[derive(Clone, Copy)]
enum Access {
    Full,
    ReadOnly,
}

/// Returns the name under which a reader attaches a database: as immutable if SQLite can create no
/// files next to it.
pub(super) fn attachable(connection: &Connection, path: &Path) -> Result<String> {
    Ok(if connection.is_readonly("main")? && !has_wal(path) {
        immutable(path)
    } else {
        path.to_string_lossy().into_owned()
    })
}

/// Returns true if part of a database is still in its write-ahead log.
fn has_wal(path: &Path) -> bool {
    let mut wal = path.to_owned().into_os_string();
    wal.push("-wal");
    fs_err::metadata(PathBuf::from(wal)).is_ok_and(|file| file.len() > 0)
}

/// Returns the URI that opens a database as immutable.
pub(super) fn immutable(path: &Path) -> String {
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

/// Sets whether closing a connection leaves the files as they are. By default the last connection to
/// close writes the WAL into the database, but damaged files are set aside exactly as found.
pub(super) fn leave_as_it_is(connection: &Connection, leave: bool) -> Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, leave)?;
    Ok(())
}

/// Returns the database file of a store.
pub(super) fn database(dir: &Path) -> PathBuf {
    dir.join("journal.db")
}

/// Checks that this is our database in a known format. Reads the first page only, unless the store
/// was written by an older version.
pub(super) fn check_format(connection: &Connection, path: &Path) -> Result<()> {
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    if pragma("application_id")? != APPLICATION_ID {
        // No other program has a journal like this: the application id is damaged.
        let journal = format!("SELECT {} FROM events e", journal::COLUMNS);
        if connection.prepare(&journal).is_ok() {
            return Err(unreadable("its mark is damaged"));
        }
        return Err(StoreError::NotOurs(path.to_owned()));
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

fn projections_version(connection: &Connection) -> Result<Option<String>> {
    let version = connection
        .query_row(
            "SELECT value FROM meta WHERE name = 'projections'",
            [],
            |row| row.get(0),
        )
        .optional()?;
    Ok(version)
}

/// Migrates the journal to the current format, gives it an id and folds the projections again. If two processes get
/// here at the same time, the second finds the work done when it gets the write lock.
fn migrate(connection: &Connection) -> Result<()> {
    let transaction =
        rusqlite::Transaction::new_unchecked(connection, rusqlite::TransactionBehavior::Immediate)?;
    let found: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let done = usize::try_from(found).unwrap_or_default();
    for migration in MIGRATIONS.iter().skip(done) {
        transaction.execute_batch(migration)?;
    }
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    transaction.pragma_update(None, "user_version", known)?;
    StoreId::assign(&transaction)?;
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

/// Creates an empty store. If another process does the same, one of them wins and both use it.
fn create(dir: &Path) -> Result<()> {
    let making = dir.join(format!("making-{}-{}", std::process::id(), thread_name()));
    private_file(&making)?;
    let made = (|| -> Result<()> {
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

/// Returns an empty database in memory.
pub(super) fn in_memory() -> Result<Connection> {
    let connection = Connection::open_in_memory()?;
    migrate(&connection)?;
    Ok(connection)
}

/// Returns a number that tells threads of one process apart in file names.
fn thread_name() -> String {
    let id = format!("{:?}", std::thread::current().id());
    id.chars().filter(char::is_ascii_digit).collect()
}

/// Creates a directory that only its owner can read.
pub fn private_dir(dir: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(|error| naming(&error, dir))
}

/// Opens a file that only its owner can read, creating it if needed.
pub fn private_file(path: &Path) -> std::io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).read(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| naming(&error, path))
}

/// Tries to write in a store's folder, or in the nearest folder above it that exists, as the next
/// command would. Nothing is left there.
pub fn try_writing(dir: &Path) -> Result<()> {
    let Some(place) = dir.ancestors().find(|folder| folder.exists()) else {
        return Ok(());
    };
    let probe = place.join(format!(".flame-{}-{}", std::process::id(), thread_name()));
    let written = write_probe(&probe).map_err(|error| match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => StoreError::DiskFull,
        _ if cannot_be_written(&error) => StoreError::ReadOnly(place.to_owned()),
        _ => error.into(),
    });
    match fs_err::remove_file(&probe) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            written.and(Err(error.into()))
        }
        _ => written,
    }
}

fn write_probe(probe: &Path) -> std::io::Result<()> {
    let mut file = private_file(probe)?;
    // A process that is killed while it writes leaves nothing.
    #[cfg(unix)]
    fs_err::remove_file(probe)?;
    file.write_all(&vec![0; PROBE])?;
    file.sync_all()
}

/// Returns true if an error means that a file or its directory is read-only.
pub(crate) fn cannot_be_written(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem)
}

/// Adds the file or directory to an error.
fn naming(error: &std::io::Error, path: &Path) -> std::io::Error {
    std::io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Moves an unreadable store to `set-aside/`, whole, and returns its new path.
///
/// Nothing is deleted or overwritten. The store is checked once more under a lock: if another process
/// has already set it aside, or it can be read after all, nothing happens.
pub fn set_aside(dir: &Path, name: &str) -> Result<Option<PathBuf>> {
    let _turn = Turn::take(dir, OpenOptions::default().busy_timeout)?;
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

/// Moves a store to `set-aside/` at the user's request, even if it can be opened.
pub fn move_aside(dir: &Path, name: &str) -> Result<PathBuf> {
    let _turn = Turn::take(dir, OpenOptions::default().busy_timeout)?;
    move_files(dir, name)
}

/// Puts the complete store in `new` in the place of the one in `dir`, which is set aside with its raw
/// texts. Fails as busy if another process has it open.
pub(super) fn replace(dir: &Path, name: &str, new: &Path) -> Result<Option<PathBuf>> {
    let _turn = Turn::take(dir, OpenOptions::default().busy_timeout)?;
    let present = database(dir);
    let mut aside = None;
    if present.exists() {
        // Held until the new store is in place.
        let held = match exclusive(&present, Duration::from_secs(3)) {
            Err(busy @ StoreError::Busy) => return Err(busy),
            // A damaged store can be replaced too.
            other => other.ok(),
        };
        let place = move_files(dir, name)?;
        let texts = dir.join("blobs.db");
        if texts.exists() {
            fs_err::rename(&texts, place.join("blobs.db"))?;
        }
        aside = Some(place);
        drop(held);
    }
    for file in ["blobs.db", "journal.db"] {
        if new.join(file).exists() {
            fs_err::rename(new.join(file), dir.join(file))?;
        }
    }
    fs_err::File::open(dir)?.sync_all()?;
    Ok(aside)
}

/// Reports a journal that is missing although its mark is there: as a store that was set aside
/// with nothing recovered.
fn report_missing(dir: &Path) -> Result<()> {
    let Some(mark) = Mark::read(dir)?.filter(|mark| mark.last.0 > 0) else {
        return Ok(());
    };
    let name: String = mark.store.as_str().chars().take(8).collect();
    let place = new_place(dir, &format!("missing-{name}"))?;
    let lost = Recovered {
        lost: mark.last.0.unsigned_abs(),
        ..Recovered::default()
    };
    lost.note(&place)?;
    fs_err::rename(dir.join(ack_mark::FILE), place.join(ack_mark::FILE))?;
    tracing::error!(place = %place.display(), "The journal is missing");
    Ok(())
}

/// Creates a folder in `set-aside/`.
fn new_place(dir: &Path, name: &str) -> Result<PathBuf> {
    let mut place = dir.join("set-aside").join(name);
    let mut attempt = 1;
    while place.exists() {
        attempt += 1;
        place = dir.join("set-aside").join(format!("{name}-{attempt}"));
    }
    private_dir(&place)?;
    Ok(place)
}

fn move_files(dir: &Path, name: &str) -> Result<PathBuf> {
    let place = new_place(dir, name)?;
    // The index refers to events that the next store does not have.
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
    // The mark of a store that was cut short says how much is missing.
    match fs_err::rename(dir.join(ack_mark::FILE), place.join(ack_mark::FILE)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(place),
    }
}
