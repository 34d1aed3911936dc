//! Raw text, compressed and named by the hash of its content.
//!
//! A separate database next to the journal: thousands of small texts fit into one file, and deleting
//! them never touches the journal. A text is stored before the journal refers to it, so every
//! reference is valid, and unreferenced texts are waste that garbage collection removes. Between the
//! two, a [`TextHold`] keeps the text from being taken for waste.
//!
//! The database also notes the ids of the journals that it was written for: an unreferenced text of a
//! journal that is missing is not waste.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flamestack_core::id::BlobId;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use crate::ack_mark::Mark;
use crate::error::{Result, StoreError};
use crate::file_identity::FileId;
use crate::identity::StoreId;
use crate::sqlite::{cannot_be_written, private_file};
use crate::unpack::unpack;
use crate::write_queue::{self, Turn};
use flamestack_redact::Redactor;

/// Compression level: good for text at a negligible cost.
const LEVEL: i32 = 6;
/// Upper bound of a text's size, SQLite's own limit; guards against damaged sizes.
const LARGEST: usize = 1_000_000_000;

/// SQLite's number of the mode in which deleted pages are returned on request.
const INCREMENTAL: i64 = 2;
/// Time to wait for other processes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// Number of times that texts are written again because the database was replaced meanwhile.
const MAX_REPLACEMENTS: usize = 3;

/// Keeps garbage collection away from texts that the journal does not refer to yet. It must live
/// until the command that refers to them is recorded.
pub struct TextHold {
    _file: File,
}

/// The right to delete texts: while it lives, no process has a [`TextHold`].
pub struct TextSweep {
    hold: TextHold,
}

impl TextSweep {
    /// Returns a hold: nothing else deletes texts meanwhile.
    pub fn hold(&self) -> &TextHold {
        &self.hold
    }
}

/// The raw texts of one project.
#[derive(Clone)]
pub struct Blobs {
    path: PathBuf,
    redactor: Redactor,
}

/// A text that was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredBlob {
    /// Its id.
    pub id: BlobId,
    /// Its size in bytes, redacted but not compressed.
    pub bytes: u64,
}

impl Blobs {
    /// The texts in a store's directory. Nothing is opened or made before it is needed.
    pub fn new(dir: &Path) -> Self {
        Self {
            path: dir.join("blobs.db"),
            redactor: Redactor::default(),
        }
    }

    /// Replaces the rules by which texts are redacted before they are stored.
    #[must_use]
    pub fn with_redactor(self, redactor: Redactor) -> Self {
        Self { redactor, ..self }
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps texts that are stored from now on, until the journal refers to them.
    pub fn hold(&self) -> Result<TextHold> {
        let file = self.lock_file()?;
        let deadline = Instant::now().checked_add(PATIENCE);
        write_queue::poll(deadline, || file.try_lock_shared())?;
        Ok(TextHold { _file: file })
    }

    /// Waits until the journal refers to every text that is being stored, but not for long.
    pub fn sweep(&self, patience: Duration) -> Result<TextSweep> {
        let file = self.lock_file()?;
        write_queue::poll(Instant::now().checked_add(patience), || file.try_lock())?;
        let hold = TextHold { _file: file };
        Ok(TextSweep { hold })
    }

    fn lock_file(&self) -> Result<File> {
        write_queue::open(&self.path.with_file_name("blobs.lock"))
    }

    /// Stores a text, redacted. Equal texts are stored once.
    pub fn put(&self, hold: &TextHold, text: &str) -> Result<StoredBlob> {
        let mut kept = self.put_all(hold, &[text])?;
        // One text in, one name out.
        kept.pop()
            .ok_or_else(|| StoreError::Io(std::io::ErrorKind::InvalidInput.into()))
    }

    /// Stores several texts in one transaction, redacted.
    pub fn put_all(&self, _hold: &TextHold, texts: &[&str]) -> Result<Vec<StoredBlob>> {
        let mut packed = Vec::with_capacity(texts.len());
        let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
        for text in texts {
            let text = self.redactor.redact(text);
            let kept = StoredBlob {
                id: name(text.as_bytes()),
                bytes: text.len() as u64,
            };
            packed.push((kept, compressor.compress(text.as_bytes())?));
        }
        match self.insert(&packed) {
            // Damage must not stop new text from being stored.
            Err(StoreError::Unreadable { problem, .. }) => {
                self.begin_anew(&problem, &packed)?;
            }
            other => other?,
        }
        Ok(packed.into_iter().map(|(kept, _)| kept).collect())
    }

    /// Writes texts. Another process may move a damaged database away at the same time; what was
    /// written to that one is written again.
    fn insert(&self, texts: &[(StoredBlob, Vec<u8>)]) -> Result<()> {
        for _ in 0..MAX_REPLACEMENTS {
            let file = FileId::of(&self.path)?;
            self.insert_once(texts)?;
            if file.is_none() || FileId::of(&self.path)? == file {
                return Ok(());
            }
        }
        Err(StoreError::Replaced)
    }

    fn insert_once(&self, texts: &[(StoredBlob, Vec<u8>)]) -> Result<()> {
        let store = Mark::read(self.dir())?.map(|mark| mark.store);
        let mut connection = self.open()?;
        let mut insert = || -> rusqlite::Result<()> {
            let transaction = connection.transaction()?;
            if let Some(store) = &store {
                note_store(&transaction, store)?;
            }
            for (kept, packed) in texts {
                transaction
                    .prepare_cached("INSERT OR REPLACE INTO blobs VALUES (?1, ?2, ?3)")?
                    .execute(params![kept.id.as_str(), kept.bytes.cast_signed(), packed])?;
            }
            transaction.commit()
        };
        insert().map_err(|error| StoreError::from(error).at(&self.path))
    }

    /// Returns true if a compressed text is what its name says.
    pub(crate) fn is_whole(hash: &str, bytes: i64, packed: &[u8]) -> bool {
        let nowhere = Self::new(Path::new(""));
        BlobId::from_hex(hash).is_some_and(|id| nowhere.unpack(&id, bytes, packed).is_ok())
    }

    /// Stores texts that are compressed and redacted already, as in a backup: name, uncompressed size
    /// and compressed text.
    pub(crate) fn put_packed(&self, texts: Vec<(String, i64, Vec<u8>)>) -> Result<()> {
        let kept = texts.into_iter().filter_map(|(hash, bytes, packed)| {
            let id = BlobId::from_hex(&hash)?;
            let bytes = bytes.unsigned_abs();
            Some((StoredBlob { id, bytes }, packed))
        });
        self.insert(&kept.collect::<Vec<_>>())
    }

    fn dir(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// Moves a damaged database away, copies what can still be read of it, and writes texts to the
    /// new one.
    fn begin_anew(&self, problem: &str, texts: &[(StoredBlob, Vec<u8>)]) -> Result<()> {
        let _turn = Turn::take(self.dir(), PATIENCE)?;
        // Another process may have done it meanwhile.
        match self.insert(texts) {
            Err(StoreError::Unreadable { .. }) => {}
            other => return other,
        }
        let mut place = self.path.with_extension("db.damaged");
        let mut attempt = 1;
        while place.exists() {
            attempt += 1;
            place = self.path.with_extension(format!("db.damaged-{attempt}"));
        }
        fs_err::rename(&self.path, &place)?;
        tracing::error!(place = %place.display(), "Raw text set aside: {problem}");
        let salvage = || -> Result<()> {
            let damaged = Connection::open_with_flags(&place, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            let into = self.open()?;
            for store in stores(&damaged).unwrap_or_default() {
                note_store(&into, &store)?;
            }
            drop(into);
            let mut rows = damaged.prepare("SELECT hash, bytes, data FROM blobs")?;
            let mut rows = rows.query([])?;
            while let Some(row) = rows.next()? {
                let (hash, bytes, packed): (String, i64, Vec<u8>) =
                    (row.get(0)?, row.get(1)?, row.get(2)?);
                if let Some(id) = BlobId::from_hex(&hash)
                    && self.unpack(&id, bytes, &packed).is_ok()
                {
                    let bytes = bytes.unsigned_abs();
                    self.insert(&[(StoredBlob { id, bytes }, packed)])?;
                }
            }
            Ok(())
        };
        // Reading stops at the damage; what was read until then is copied.
        match salvage() {
            Err(error @ (StoreError::Io(_) | StoreError::Busy)) => Err(error),
            _ => self.insert(texts),
        }
    }

    /// Returns a text, unless it was deleted.
    pub fn get(&self, id: &BlobId) -> Result<Option<String>> {
        self.reader().get(id)
    }

    /// Returns a reader of several texts, which opens the database once, with the first of them.
    pub fn reader(&self) -> BlobReader {
        BlobReader {
            blobs: self.clone(),
            connection: OnceCell::new(),
        }
    }

    fn unpack(&self, id: &BlobId, bytes: i64, packed: &[u8]) -> Result<String> {
        let damaged = |problem: String| StoreError::Unreadable {
            path: self.path.clone(),
            problem,
        };
        let capacity = usize::try_from(bytes).unwrap_or_default().min(LARGEST);
        let text = unpack(packed, capacity)
            .map_err(|error| damaged(format!("the text {id} does not unpack: {error}")))?;
        if name(&text) != *id {
            return Err(damaged(format!("the text {id} was altered")));
        }
        String::from_utf8(text)
            .map_err(|error| damaged(format!("the text {id} is not UTF-8: {error}")))
    }

    /// Returns the names of all stored texts with their compressed sizes.
    pub fn stored_sizes(&self) -> Result<BTreeMap<String, u64>> {
        if !self.path.exists() {
            return Ok(BTreeMap::new());
        }
        let connection = self.open_to_read()?;
        let mut statement = connection.prepare("SELECT hash, length(data) FROM blobs")?;
        let sizes = statement
            .query_map([], |row| {
                Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs()))
            })?
            .collect::<Result<_, _>>()?;
        Ok(sizes)
    }

    /// Returns the ids of the journals that texts were stored for. Earlier versions noted none.
    pub fn stores(&self) -> Result<Vec<StoreId>> {
        if !self.path.exists() {
            return Ok(Vec::new());
        }
        stores(&self.open_to_read()?)
    }

    /// Marks the texts stored so far as those of an unknown journal, unless their journal is recorded.
    pub(crate) fn disown(&self) -> Result<()> {
        if self.path.exists() && self.stores()?.is_empty() && !self.stored_sizes()?.is_empty() {
            note_store(&self.open()?, &StoreId::unknown())?;
        }
        Ok(())
    }

    /// Forgets all journals but the one that is here, once the texts of the others are deleted.
    pub fn forget_journals(&self, _sweep: &TextSweep) -> Result<()> {
        if let Some(mark) = Mark::read(self.dir())?
            && self.path.exists()
        {
            let connection = self.open()?;
            connection.execute("DELETE FROM stores", [])?;
            note_store(&connection, &mark.store)?;
        }
        Ok(())
    }

    /// Deletes texts. Their space can be used again; [`Self::compact`] returns it.
    pub fn drop_all(&self, _sweep: &TextSweep, hashes: &[String]) -> Result<()> {
        if hashes.is_empty() || !self.path.exists() {
            return Ok(());
        }
        let mut connection = self.open()?;
        let transaction = connection.transaction()?;
        for hash in hashes {
            transaction
                .prepare_cached("DELETE FROM blobs WHERE hash = ?1")?
                .execute([hash])?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// Deletes texts and writes the file anew, so that no trace of them is left in it.
    pub(crate) fn erase_all(&self, sweep: &TextSweep, hashes: &[String]) -> Result<()> {
        if hashes.is_empty() || !self.path.exists() {
            return Ok(());
        }
        self.drop_all(sweep, hashes)?;
        self.open()?.execute_batch("VACUUM")?;
        Ok(())
    }

    /// Returns the space of deleted texts to the file system.
    pub fn compact(&self) -> Result<()> {
        if !self.path.exists() {
            return Ok(());
        }
        let connection = self.open()?;
        let pragma = |name: &str| -> Result<i64> {
            Ok(connection.pragma_query_value(None, name, |row| row.get(0))?)
        };
        if pragma("freelist_count")? == 0 {
            return Ok(());
        }
        if pragma("auto_vacuum")? != INCREMENTAL {
            // A file of an earlier version is written anew once.
            connection.pragma_update(None, "auto_vacuum", INCREMENTAL)?;
            connection.execute_batch("VACUUM")?;
            return Ok(());
        }
        // In small steps, so that writers do not wait.
        while pragma("freelist_count")? > 0 {
            let mut step = connection.prepare("PRAGMA incremental_vacuum(256)")?;
            let mut rows = step.query([])?;
            while rows.next()?.is_some() {}
        }
        Ok(())
    }

    /// Opens what is there, also where nothing can be written.
    fn open_to_read(&self) -> Result<Connection> {
        match self.open() {
            Err(StoreError::Io(error)) if cannot_be_written(&error) => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
                let opened = Connection::open_with_flags(&self.path, flags);
                opened.map_err(|error| StoreError::from(error).at(&self.path))
            }
            other => other,
        }
    }

    fn open(&self) -> Result<Connection> {
        let attempt = || -> Result<Connection> {
            private_file(&self.path)?;
            let is_new = fs_err::metadata(&self.path)?.len() == 0;
            let connection = Connection::open(&self.path)?;
            connection.busy_timeout(Duration::from_secs(30))?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            // The pragma only affects a new file, but SQLite writes it to existing ones too, which costs
            // every reader four flushes.
            if is_new {
                connection.pragma_update(None, "auto_vacuum", INCREMENTAL)?;
            }
            connection.execute_batch(
                "CREATE TABLE IF NOT EXISTS blobs (
                     hash  TEXT PRIMARY KEY,
                     bytes INTEGER NOT NULL,
                     data  BLOB NOT NULL
                 ) STRICT, WITHOUT ROWID;
                 -- The journals that texts were stored for.
                 CREATE TABLE IF NOT EXISTS stores (
                     id TEXT PRIMARY KEY
                 ) STRICT, WITHOUT ROWID;",
            )?;
            Ok(connection)
        };
        attempt().map_err(|error| error.at(&self.path))
    }
}

/// An open connection to the raw texts of a project.
pub struct BlobReader {
    blobs: Blobs,
    connection: OnceCell<Connection>,
}

impl BlobReader {
    /// Returns a text, unless it was dropped.
    pub fn get(&self, id: &BlobId) -> Result<Option<String>> {
        if self.connection.get().is_none() {
            if !self.blobs.path.exists() {
                return Ok(None);
            }
            // Nothing else sets it: a cell belongs to one thread.
            drop(self.connection.set(self.blobs.open_to_read()?));
        }
        let Some(connection) = self.connection.get() else {
            return Ok(None);
        };
        let row: Option<(i64, Vec<u8>)> = connection
            .prepare_cached("SELECT bytes, data FROM blobs WHERE hash = ?1")
            .and_then(|mut select| {
                let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
                select.query_row([id.as_str()], row).optional()
            })
            .map_err(|error| StoreError::from(error).at(&self.blobs.path))?;
        row.map(|(bytes, packed)| self.blobs.unpack(id, bytes, &packed))
            .transpose()
    }
}

fn note_store(connection: &Connection, store: &StoreId) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR IGNORE INTO stores VALUES (?1)")?
        .execute([store.as_str()])?;
    Ok(())
}

fn stores(connection: &Connection) -> Result<Vec<StoreId>> {
    // A database of an earlier version that is read-only has no such table.
    let Ok(mut statement) = connection.prepare("SELECT id FROM stores") else {
        return Ok(Vec::new());
    };
    let ids: Vec<String> = statement
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    Ok(ids.iter().filter_map(|id| StoreId::parse(id)).collect())
}

fn name(content: &[u8]) -> BlobId {
    let hex = blake3::hash(content).to_hex();
    // A hash in hex is always a valid id.
    BlobId::from_hex(&hex).unwrap_or_else(|| unreachable!("a hash is 64 hex digits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_comes_back_and_is_kept_once() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = Blobs::new(dir.path());
        let text = "cargo test\n日本語\n".repeat(1000);
        let hold = blobs.hold().unwrap();
        let kept = blobs.put(&hold, &text).unwrap();
        assert_eq!(blobs.put(&hold, &text).unwrap(), kept);
        assert_eq!(blobs.get(&kept.id).unwrap().as_deref(), Some(text.as_str()));
        let sizes = blobs.stored_sizes().unwrap();
        assert_eq!(sizes.len(), 1);
        assert!(sizes[kept.id.as_str()] < 1000);
        // Nothing is deleted between storing a text and recording it.
        let swept = blobs.sweep(Duration::ZERO);
        assert!(matches!(swept, Err(StoreError::Busy)));
        drop(hold);
        let sweep = blobs.sweep(Duration::ZERO).unwrap();
        blobs.drop_all(&sweep, &[kept.id.to_string()]).unwrap();
        assert_eq!(blobs.get(&kept.id).unwrap(), None);
    }

    #[test]
    fn a_damaged_text_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = Blobs::new(dir.path());
        let hold = blobs.hold().unwrap();
        let kept = blobs.put(&hold, "all is well").unwrap();
        let other = zstd::bulk::compress(b"all is lost", LEVEL).unwrap();
        blobs
            .open()
            .unwrap()
            .execute("UPDATE blobs SET data = ?1", [other])
            .unwrap();
        let error = blobs.get(&kept.id).unwrap_err().to_string();
        assert!(error.contains("was altered"), "{error}");
    }
}
