//! Backups: a store and its raw texts in one file, made while others write, and restored from it.
//!
//! The file is a copy of the journal's database with one more table, `backup_texts`. It is made from
//! one snapshot of the journal. Raw texts are stored before the journal refers to them, so those that
//! are read afterwards are complete, unless a text is dropped in between: then the backup is made
//! again. Every event, projection and text is verified before the file gets its name.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, params};

use super::open::{self, OpenOptions, check_format, database, private_file};
use super::verify;
use crate::blobs::Blobs;
use crate::error::{Result, StoreError};

/// Number of attempts to make a backup while raw texts are dropped.
const ATTEMPTS: usize = 3;

/// Number of raw texts that are restored in one transaction.
const BATCH: usize = 256;

/// A backup that was made or restored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backup {
    /// Number of events.
    pub events: u64,
    /// Number of frames.
    pub frames: u64,
    /// Number of raw texts.
    pub texts: u64,
    /// Size of the file, in bytes.
    pub bytes: u64,
}

/// Writes a store and its raw texts to a new file that only its owner can read. `None` if there is
/// no store.
pub fn backup(dir: &Path, file: &Path) -> Result<Option<Backup>> {
    let Some(store) = OpenOptions::default().open_existing(dir)? else {
        return Ok(None);
    };
    if file.symlink_metadata().is_ok() {
        return Err(exists(file));
    }
    let making = beside(file, "making");
    let made = (|| {
        for attempt in 1.. {
            drop(fs_err::remove_file(&making));
            // SQLite writes into an empty file; made here, only its owner can read it.
            private_file(&making)?;
            let name = making.to_string_lossy();
            store.connection.execute("VACUUM INTO ?1", params![name])?;
            if copy_texts(&making, &Blobs::new(dir))? || attempt == ATTEMPTS {
                break;
            }
        }
        let made = check(&making)?;
        fs_err::File::open(&making)?.sync_all()?;
        match fs_err::hard_link(&making, file) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Err(exists(file)),
            other => Ok(other.map(|()| made)?),
        }
    })();
    drop(fs_err::remove_file(&making));
    made.map(Some)
}

/// Copies raw texts into a backup. Returns false if one that the journal refers to is missing, as
/// when it was dropped after the journal was copied.
fn copy_texts(backup: &Path, blobs: &Blobs) -> Result<bool> {
    let connection = Connection::open(backup)?;
    connection.busy_timeout(Duration::from_secs(30))?;
    connection.execute_batch(
        "CREATE TABLE backup_texts (
             hash  TEXT PRIMARY KEY,
             bytes INTEGER NOT NULL,
             data  BLOB NOT NULL
         ) STRICT, WITHOUT ROWID",
    )?;
    if blobs.path().exists() {
        let path = blobs.path().to_string_lossy();
        connection.execute("ATTACH ?1 AS raw", params![path])?;
        // Another process may have made the file just now, and not its table.
        let table = "SELECT count(*) FROM raw.sqlite_schema WHERE name = 'blobs'";
        let tables: i64 = connection.query_row(table, [], |row| row.get(0))?;
        if tables > 0 {
            connection.execute_batch(
                "INSERT INTO backup_texts SELECT hash, bytes, data FROM raw.blobs",
            )?;
        }
        connection.execute_batch("DETACH raw")?;
    }
    let missing: i64 = connection.query_row(
        "SELECT count(*) FROM log_entries
         WHERE blob NOT IN (SELECT hash FROM backup_texts)
           AND blob NOT IN (SELECT blob FROM dropped)",
        [],
        |row| row.get(0),
    )?;
    connection.close().map_err(|(_, error)| error)?;
    Ok(missing == 0)
}

/// Verifies a backup, which it may migrate: the database, every event, the projections and every raw
/// text.
fn check(file: &Path) -> Result<Backup> {
    let unusable = |problem: String| StoreError::BadBackup {
        path: file.to_owned(),
        problem,
    };
    let checked = (|| {
        let connection = Connection::open(file)?;
        check_format(&connection, file)?;
        let verified = verify::verify(&connection, file, &mut |_, _| ())?;
        if let Some(finding) = verified.findings.first() {
            return Err(unusable(finding.to_string()));
        }
        let mut texts = 0;
        each_text(&connection, &mut |hash, bytes, data| {
            texts += 1;
            if Blobs::is_whole(&hash, bytes, &data) {
                return Ok(());
            }
            Err(unusable(format!("the raw text {hash} was altered")))
        })?;
        Ok(Backup {
            events: verified.events,
            frames: verified.frames,
            texts,
            bytes: fs_err::metadata(file)?.len(),
        })
    })();
    checked.map_err(|error| match error {
        StoreError::Unreadable { problem, .. } => unusable(problem),
        StoreError::NotOurs(_) => unusable("it is not a backup".to_owned()),
        other @ (StoreError::Sqlite(_) | StoreError::BadRow(_)) => unusable(other.to_string()),
        other => other,
    })
}

/// Visits the raw texts of a backup: name, uncompressed size and compressed text.
fn each_text(
    backup: &Connection,
    each: &mut dyn FnMut(String, i64, Vec<u8>) -> Result<()>,
) -> Result<()> {
    let mut texts = backup.prepare("SELECT hash, bytes, data FROM backup_texts")?;
    let mut texts = texts.query([])?;
    while let Some(row) = texts.next()? {
        each(row.get(0)?, row.get(1)?, row.get(2)?)?;
    }
    Ok(())
}

/// Replaces a store and its raw texts by a backup. What was there is set aside under `name`, and its
/// place is returned.
pub fn restore(dir: &Path, file: &Path, name: &str) -> Result<(Backup, Option<PathBuf>)> {
    // Opening a pipe would block until another process writes to it.
    if !fs_err::metadata(file)?.is_file() {
        return Err(StoreError::BadBackup {
            path: file.to_owned(),
            problem: "it is not a regular file".to_owned(),
        });
    }
    super::private_dir(dir)?;
    let new = dir.join(format!("restoring-{}", std::process::id()));
    super::private_dir(&new)?;
    let restored = (|| {
        let journal = database(&new);
        {
            let mut copy = private_file(&journal)?;
            copy.set_len(0)?;
            std::io::copy(&mut fs_err::File::open(file)?, &mut copy)?;
        }
        let backup = check(&journal).map_err(|error| match error {
            StoreError::BadBackup { problem, .. } => StoreError::BadBackup {
                path: file.to_owned(),
                problem,
            },
            other => other,
        })?;
        let connection = Connection::open(&journal)?;
        let blobs = Blobs::new(&new);
        let mut batch = Vec::new();
        each_text(&connection, &mut |hash, bytes, data| {
            batch.push((hash, bytes, data));
            if batch.len() < BATCH {
                return Ok(());
            }
            blobs.put_packed(std::mem::take(&mut batch))
        })?;
        if !batch.is_empty() {
            blobs.put_packed(batch)?;
        }
        connection.execute_batch("DROP TABLE backup_texts; VACUUM")?;
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        connection.close().map_err(|(_, error)| error)?;
        fs_err::File::open(&journal)?.sync_all()?;
        let aside = open::replace(dir, name, &new)?;
        Ok((backup, aside))
    })();
    fs_err::remove_dir_all(&new)?;
    restored
}

fn exists(file: &Path) -> StoreError {
    let problem = format!("{} exists already", file.display());
    StoreError::Io(std::io::Error::new(
        std::io::ErrorKind::AlreadyExists,
        problem,
    ))
}

/// Returns the name of a file that is being made for another.
fn beside(file: &Path, doing: &str) -> PathBuf {
    let mut name = file.to_owned().into_os_string();
    name.push(format!(".{doing}-{}", std::process::id()));
    PathBuf::from(name)
}
