//! Raw text, compressed and named by the hash of its content.
//!
//! A separate database next to the journal: thousands of small texts fit into one file, and deleting
//! them never touches the journal. A text is stored before the journal refers to it, so every
//! reference is valid, and unreferenced texts are waste that [`crate::collect`] removes.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flamestack_core::id::BlobId;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use crate::error::{Result, StoreError};
use crate::sqlite::{cannot_be_written, private_file};
use flamestack_redact::Redactor;

/// Compression level: good for text at a negligible cost.
const LEVEL: i32 = 6;
/// Upper bound of a text's size, SQLite's own limit; guards against damaged sizes.
const LARGEST: usize = 1_000_000_000;

/// The raw texts of one project.
#[derive(Clone)]
pub struct Blobs {
    path: PathBuf,
    redactor: Redactor,
}

/// A text that was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
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

    /// Stores a text, redacted. Equal texts are stored once.
    pub fn put(&self, text: &str) -> Result<Kept> {
        let mut kept = self.put_all(&[text])?;
        // One text in, one name out.
        kept.pop()
            .ok_or_else(|| StoreError::Io(std::io::ErrorKind::InvalidInput.into()))
    }

    /// Stores several texts in one transaction, redacted.
    pub fn put_all(&self, texts: &[&str]) -> Result<Vec<Kept>> {
        let mut packed = Vec::with_capacity(texts.len());
        for text in texts {
            let text = self.redactor.redact(text);
            let kept = Kept {
                id: name(text.as_bytes()),
                bytes: text.len() as u64,
            };
            packed.push((kept, zstd::bulk::compress(text.as_bytes(), LEVEL)?));
        }
        match self.insert(&packed) {
            // Damage must not stop new text from being stored.
            Err(StoreError::Unreadable { problem, .. }) => {
                self.begin_anew(&problem)?;
                self.insert(&packed)?;
            }
            other => other?,
        }
        Ok(packed.into_iter().map(|(kept, _)| kept).collect())
    }

    fn insert(&self, texts: &[(Kept, Vec<u8>)]) -> Result<()> {
        let mut connection = self.open()?;
        let mut insert = || -> rusqlite::Result<()> {
            let transaction = connection.transaction()?;
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
            Some((Kept { id, bytes }, packed))
        });
        self.insert(&kept.collect::<Vec<_>>())
    }

    /// Moves a damaged database away and copies what can still be read of it.
    fn begin_anew(&self, problem: &str) -> Result<()> {
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
            let mut rows = damaged.prepare("SELECT hash, bytes, data FROM blobs")?;
            let mut rows = rows.query([])?;
            while let Some(row) = rows.next()? {
                let (hash, bytes, packed): (String, i64, Vec<u8>) =
                    (row.get(0)?, row.get(1)?, row.get(2)?);
                if let Some(id) = BlobId::from_hex(&hash)
                    && self.unpack(&id, bytes, &packed).is_ok()
                {
                    let bytes = bytes.unsigned_abs();
                    self.insert(&[(Kept { id, bytes }, packed)])?;
                }
            }
            Ok(())
        };
        // Reading stops at the damage; what was read until then is copied.
        match salvage() {
            Err(error @ (StoreError::Io(_) | StoreError::Busy)) => Err(error),
            _ => Ok(()),
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
        let text = zstd::bulk::decompress(packed, capacity)
            .map_err(|error| damaged(format!("the text {id} does not unpack: {error}")))?;
        if name(&text) != *id {
            return Err(damaged(format!("the text {id} is not what was written")));
        }
        String::from_utf8(text)
            .map_err(|error| damaged(format!("the text {id} is not UTF-8: {error}")))
    }

    /// Returns the names of all stored texts.
    pub fn names(&self) -> Result<Vec<String>> {
        if !self.path.exists() {
            return Ok(Vec::new());
        }
        let connection = self.open_to_read()?;
        let mut statement = connection.prepare("SELECT hash FROM blobs ORDER BY hash")?;
        let names = statement
            .query_map([], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        Ok(names)
    }

    /// Returns the compressed size of a text.
    pub fn stored_size(&self, hash: &str) -> Result<u64> {
        if !self.path.exists() {
            return Ok(0);
        }
        let size: Option<i64> = self
            .open_to_read()?
            .query_row(
                "SELECT length(data) FROM blobs WHERE hash = ?1",
                [hash],
                |row| row.get(0),
            )
            .optional()?;
        Ok(size.unwrap_or_default().unsigned_abs())
    }

    /// Deletes texts and returns their space to the file system.
    pub fn drop_all(&self, hashes: &[String]) -> Result<()> {
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
        connection.execute_batch("VACUUM")?;
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
            let connection = Connection::open(&self.path)?;
            connection.busy_timeout(Duration::from_secs(30))?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.execute_batch(
                "CREATE TABLE IF NOT EXISTS blobs (
                     hash  TEXT PRIMARY KEY,
                     bytes INTEGER NOT NULL,
                     data  BLOB NOT NULL
                 ) STRICT, WITHOUT ROWID",
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
        let kept = blobs.put(&text).unwrap();
        assert_eq!(blobs.put(&text).unwrap(), kept);
        assert_eq!(blobs.get(&kept.id).unwrap().as_deref(), Some(text.as_str()));
        assert!(blobs.stored_size(kept.id.as_str()).unwrap() < 1000);
        assert_eq!(blobs.names().unwrap(), [kept.id.to_string()]);
        blobs.drop_all(&[kept.id.to_string()]).unwrap();
        assert_eq!(blobs.get(&kept.id).unwrap(), None);
    }

    #[test]
    fn a_damaged_text_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = Blobs::new(dir.path());
        let kept = blobs.put("all is well").unwrap();
        let other = zstd::bulk::compress(b"all is lost", LEVEL).unwrap();
        blobs
            .open()
            .unwrap()
            .execute("UPDATE blobs SET data = ?1", [other])
            .unwrap();
        let error = blobs.get(&kept.id).unwrap_err().to_string();
        assert!(error.contains("is not what was written"), "{error}");
    }
}
