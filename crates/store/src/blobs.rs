//! Raw text, compressed, under the hash of its content.
//!
//! A database of its own beside the journal: thousands of small texts fit into one file, and
//! dropping them never touches the truth. A text is kept before the journal speaks of it, so what
//! the journal names is there, and what it does not name is waste that [`crate::collect`] removes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use flamestack_core::id::BlobId;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use crate::error::StoreError;
use crate::redact::redact;
use crate::sqlite::{cannot_be_written, private_file};

/// Good compression of text at a speed that nobody notices.
const LEVEL: i32 = 6;
/// No text is larger than SQLite can hold; a damaged size must not be believed.
const LARGEST: usize = 1_000_000_000;

/// The raw texts of one project.
pub struct Blobs {
    path: PathBuf,
}

/// A text that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its name.
    pub id: BlobId,
    /// Its size as kept, that is, redacted but not compressed.
    pub bytes: u64,
}

impl Blobs {
    /// The texts in a store's directory. Nothing is opened or made before it is needed.
    pub fn new(dir: &Path) -> Self {
        Self {
            path: dir.join("blobs.db"),
        }
    }

    /// The file they are kept in.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps a text, redacted. The same text twice is kept once.
    pub fn put(&self, text: &str) -> Result<Kept, StoreError> {
        let mut kept = self.put_all(&[text])?;
        // One text in, one name out.
        kept.pop()
            .ok_or_else(|| StoreError::Io(std::io::ErrorKind::InvalidInput.into()))
    }

    /// Keeps several texts at once, redacted: all of them, or none.
    pub fn put_all(&self, texts: &[&str]) -> Result<Vec<Kept>, StoreError> {
        let mut packed = Vec::with_capacity(texts.len());
        for text in texts {
            let text = redact(text);
            let kept = Kept {
                id: name(text.as_bytes()),
                bytes: text.len() as u64,
            };
            packed.push((kept, zstd::bulk::compress(text.as_bytes(), LEVEL)?));
        }
        match self.insert(&packed) {
            // What cannot be read must not keep new text from being kept.
            Err(StoreError::Unreadable { problem, .. }) => {
                self.begin_anew(&problem)?;
                self.insert(&packed)?;
            }
            other => other?,
        }
        Ok(packed.into_iter().map(|(kept, _)| kept).collect())
    }

    fn insert(&self, texts: &[(Kept, Vec<u8>)]) -> Result<(), StoreError> {
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

    /// Moves a damaged database out of the way and takes over what can still be read of it.
    fn begin_anew(&self, problem: &str) -> Result<(), StoreError> {
        let mut place = self.path.with_extension("db.damaged");
        let mut attempt = 1;
        while place.exists() {
            attempt += 1;
            place = self.path.with_extension(format!("db.damaged-{attempt}"));
        }
        fs_err::rename(&self.path, &place)?;
        tracing::error!(place = %place.display(), "Raw text set aside: {problem}");
        let salvage = || -> Result<(), StoreError> {
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
        // Reading ends where the damage is; what was read until then is taken over.
        match salvage() {
            Err(error @ (StoreError::Io(_) | StoreError::Busy)) => Err(error),
            _ => Ok(()),
        }
    }

    /// A text, unless it was dropped.
    pub fn get(&self, id: &BlobId) -> Result<Option<String>, StoreError> {
        if !self.path.exists() {
            return Ok(None);
        }
        let row: Option<(i64, Vec<u8>)> = self
            .open_to_read()?
            .query_row(
                "SELECT bytes, data FROM blobs WHERE hash = ?1",
                [id.as_str()],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()
            .map_err(|error| StoreError::from(error).at(&self.path))?;
        row.map(|(bytes, packed)| self.unpack(id, bytes, &packed))
            .transpose()
    }

    fn unpack(&self, id: &BlobId, bytes: i64, packed: &[u8]) -> Result<String, StoreError> {
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

    /// All texts that are kept.
    pub fn names(&self) -> Result<Vec<String>, StoreError> {
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

    /// How much room a text takes, compressed.
    pub fn stored_size(&self, hash: &str) -> Result<u64, StoreError> {
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

    /// Drops texts and gives their room back to the disk.
    pub fn drop_all(&self, hashes: &[String]) -> Result<(), StoreError> {
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
    fn open_to_read(&self) -> Result<Connection, StoreError> {
        match self.open() {
            Err(StoreError::Io(error)) if cannot_be_written(&error) => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
                let opened = Connection::open_with_flags(&self.path, flags);
                opened.map_err(|error| StoreError::from(error).at(&self.path))
            }
            other => other,
        }
    }

    fn open(&self) -> Result<Connection, StoreError> {
        let attempt = || -> Result<Connection, StoreError> {
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

fn name(content: &[u8]) -> BlobId {
    let hex = blake3::hash(content).to_hex();
    // A hash in hex is always a name; the alternative does not exist.
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
