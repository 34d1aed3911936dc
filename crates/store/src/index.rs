//! Full-text search over titles, criteria, results, decisions, other notes and raw text.
//!
//! An index of its own next to the journal. Writers never touch it, so it costs nothing until the
//! first search, and it can be deleted at any time. It is brought up to date in steps of a bounded
//! size, each of which reads a snapshot of its own; a search answers from what is indexed.
//!
//! - `chunk`: texts are indexed whole, in overlapping chunks;
//! - `docs`, `step`: the texts of a frame, and bringing them up to date;
//! - `query`: words and their limits;
//! - `find`: chunks that may match come from FTS5 by groups of three characters, which serves
//!   identifiers, paths and languages without blanks alike, and are compared with the words;
//! - `passage`: the part of a text that is shown.

mod chunk;
mod docs;
mod find;
mod passage;
mod query;
mod step;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use flamestack_core::id::{FrameId, Seq};
use rusqlite::Connection;

use self::chunk::ChunkWriter;
pub use self::query::{BadQuery, QUERY_LIMIT, SearchQuery, WORD_LIMIT, WORDS_LIMIT};
use self::step::{IndexStep, position};
use crate::blobs::Blobs;
use crate::disposable::{DisposableDb, Format};
use crate::error::{Result, StoreError};
use crate::projections::Reading;
use crate::sqlite::cannot_be_written;

/// The file and its tables. `docs` are texts, `chunks` their parts, `grams` the groups of three
/// characters in each part. `docs.indexed` is the length of what is indexed of an unfinished text,
/// `position.frames` the number of frames that are done of the event after `position.seq`.
const FORMAT: Format = Format {
    file: "index.db",
    version: 3,
    schema: "DROP TABLE IF EXISTS docs;
        DROP TABLE IF EXISTS places;
        DROP TABLE IF EXISTS position;
        DROP TABLE IF EXISTS grams;
        DROP TABLE IF EXISTS chunks;
        CREATE VIRTUAL TABLE grams USING fts5(
            text, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram');
        CREATE TABLE chunks (id INTEGER PRIMARY KEY, start INTEGER NOT NULL, data BLOB NOT NULL);
        CREATE TABLE docs (
            id INTEGER PRIMARY KEY AUTOINCREMENT, frame TEXT NOT NULL, class INTEGER NOT NULL,
            field TEXT NOT NULL, piece INTEGER, content TEXT NOT NULL, indexed INTEGER);
        CREATE INDEX docs_by_frame ON docs (frame);
        CREATE TABLE position (seq INTEGER NOT NULL, frames INTEGER NOT NULL);
        INSERT INTO position VALUES (0, 0);",
    busy_timeout: Duration::from_millis(250),
};

/// The search index of one project.
pub struct Index {
    db: DisposableDb,
}

/// A search result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The frame it belongs to.
    pub frame: FrameId,
    /// The field that matched: `title`, `criteria`, `results`, `decision`, `log` and so on.
    pub field: String,
    /// Number of the raw text in the frame's log, from 1, if it is one.
    pub piece: Option<u32>,
    /// Place of the passage in its text, in bytes.
    pub position: u64,
    /// The text around the match, with `[` and `]` around the matching part.
    pub excerpt: String,
    /// A longer part of the text around the match, as it was written.
    pub passage: String,
}

/// The results of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Searched {
    /// The results, best first.
    pub hits: Vec<Hit>,
    /// True if there are more results than the limit.
    pub more: bool,
    /// True if the search ended at one of its limits, so that texts may be missing.
    pub is_cut_short: bool,
}

/// The amount of indexing that may still be done.
#[derive(Clone, Copy, Debug)]
pub struct IndexBudget {
    /// Maximum number of events.
    pub events: usize,
    /// Maximum amount of text, in bytes. A single chunk may exceed it.
    pub bytes: usize,
    /// Time at which indexing ends, whatever is left.
    pub until: Option<Instant>,
}

impl IndexBudget {
    /// Returns true if nothing more may be done.
    pub fn is_spent(&self) -> bool {
        let is_late = self.until.is_some_and(|until| Instant::now() >= until);
        self.events == 0 || self.bytes == 0 || is_late
    }
}

/// The part of the journal that is indexed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Indexed {
    /// The last event that is indexed.
    pub done: Seq,
    /// The last event of the journal.
    pub end: Seq,
}

impl Indexed {
    /// Returns true if everything is indexed.
    pub fn is_whole(&self) -> bool {
        self.done >= self.end
    }
}

impl Index {
    /// Returns the index in a store's directory. Nothing is opened before it is needed.
    pub fn new(dir: &Path) -> Self {
        Self {
            db: DisposableDb::new(dir, FORMAT),
        }
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        self.db.path()
    }

    /// Deletes the index. The next search builds it again.
    pub fn drop_all(&self) -> Result<()> {
        self.db.delete()
    }

    /// Opens the index. A damaged one is replaced by an empty one.
    pub fn open(&self) -> Result<OpenIndex<'_>> {
        let connection = match self.connect() {
            Err(error) if is_damage(&error) => {
                self.discard(&error)?;
                self.connect()?
            }
            other => other?,
        };
        Ok(OpenIndex {
            index: self,
            connection,
            frames: BTreeMap::new(),
        })
    }

    /// Returns the first sign of damage, if there is an index. A search notices the damage that it
    /// meets; this reads everything.
    pub fn damage(&self) -> Result<Option<String>> {
        if !self.path().exists() {
            return Ok(None);
        }
        match self.connect().and_then(|index| examine(&index)) {
            Err(error) if is_damage(&error) => Ok(Some(error.to_string())),
            other => other,
        }
    }

    fn connect(&self) -> Result<Connection> {
        let connection = match self.db.open() {
            // A read-only store can be searched too, indexing it from the beginning each time.
            Err(StoreError::Io(error)) if cannot_be_written(&error) => self.db.in_memory()?,
            other => other?,
        };
        // Searches continue while another thread or process adds to the index.
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        Ok(connection)
    }

    /// Deletes an index that does not work.
    fn discard(&self, error: &StoreError) -> Result<()> {
        tracing::warn!(path = %self.path().display(), "search index rebuilt: {error}");
        self.db.delete()
    }
}

/// Checks the pages, the full-text index and the checksum of each chunk.
fn examine(index: &Connection) -> Result<Option<String>> {
    let checked: String = index.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if checked != "ok" {
        return Ok(Some(checked));
    }
    index.execute("INSERT INTO grams (grams) VALUES ('integrity-check')", [])?;
    let mut statement = index.prepare("SELECT start, data FROM chunks")?;
    let mut chunks = statement.query([])?;
    while let Some(row) = chunks.next()? {
        let data: Vec<u8> = row.get(1)?;
        chunk::unpacked(row.get(0)?, &data)?;
    }
    Ok(None)
}

/// A connection to a search index.
pub struct OpenIndex<'i> {
    index: &'i Index,
    connection: Connection,
    /// Frames that are indexed as of a point of the journal: a frame with thousands of events is read
    /// once, not with each of them.
    frames: BTreeMap<FrameId, Seq>,
}

impl OpenIndex<'_> {
    /// Indexes events that are not indexed yet, as many as the budget allows.
    pub fn advance(
        &mut self,
        reading: &dyn Reading,
        blobs: &Blobs,
        budget: &mut IndexBudget,
    ) -> Result<Indexed> {
        let mut frames = std::mem::take(&mut self.frames);
        let advanced = self.or_anew(|connection| {
            let end = reading.position()?;
            let done = position(connection)?;
            if done >= end {
                return Ok(Indexed { done, end });
            }
            if done == Seq(0) {
                // A new index, perhaps in the place of a damaged one.
                frames.clear();
            }
            let transaction =
                connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            let done = IndexStep {
                index: &transaction,
                reading,
                blobs: blobs.reader(),
                writer: ChunkWriter::new()?,
                budget,
                done: &mut frames,
            }
            .run(end)?;
            transaction.commit()?;
            Ok(Indexed { done, end })
        });
        // After an error, nothing is known to be in the index.
        if advanced.is_ok() {
            self.frames = frames;
        }
        advanced
    }

    /// Returns the part of the journal that is indexed.
    pub fn indexed(&mut self, reading: &dyn Reading) -> Result<Indexed> {
        self.or_anew(|connection| {
            Ok(Indexed {
                done: position(connection)?,
                end: reading.position()?,
            })
        })
    }

    /// Finds texts that contain every word of the query, best first. Stops early once `is_unwanted`.
    /// Returns `None` if the index was damaged: it is empty now and has to be filled again.
    pub fn search(
        &mut self,
        query: &SearchQuery,
        limit: usize,
        is_unwanted: &dyn Fn() -> bool,
    ) -> Result<Option<Searched>> {
        let mut is_anew = false;
        self.or_anew(|connection| {
            if std::mem::replace(&mut is_anew, true) {
                return Ok(None);
            }
            find::find(connection, query, limit, is_unwanted).map(Some)
        })
    }

    /// Runs `work`; if the index turns out to be damaged, runs it again on a new one.
    fn or_anew<T>(&mut self, mut work: impl FnMut(&mut Connection) -> Result<T>) -> Result<T> {
        match work(&mut self.connection) {
            Err(error) if is_damage(&error) => {
                self.index.discard(&error)?;
                self.connection = self.index.connect()?;
                work(&mut self.connection)
            }
            other => other,
        }
        // The error is about this file, not about the journal that is being read.
        .map_err(|error| error.at(self.index.path()))
    }
}

/// Returns true if an error means that the index is damaged. A damaged journal fails again with a
/// fresh index.
fn is_damage(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Unreadable { .. } | StoreError::BadRow(_) | StoreError::Sqlite(_)
    )
}
