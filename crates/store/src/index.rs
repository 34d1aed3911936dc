//! Full-text search over titles, criteria, results, decisions, other notes and raw text.
//!
//! An index of its own beside the journal. Writers never touch it: a search first brings it up to
//! the journal's last event, so it costs nothing until the first search, and it can be deleted at
//! any time. It matches by groups of three characters, which serves identifiers, paths and
//! languages without blanks alike.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use flamestack_core::event::{Event, Recorded};
use flamestack_core::frame::Frame;
use flamestack_core::id::{FrameId, Seq};
use flamestack_core::note::Note;
use flamestack_core::text::Text;
use rusqlite::{Connection, OptionalExtension, params};

use crate::blobs::Blobs;
use crate::disposable::{DisposableDb, Format};
use crate::error::{Result, StoreError};
use crate::projections::Reading;
use crate::sqlite::{cannot_be_written, rows};
use crate::transcript;

/// Number of events indexed in one transaction.
const STEP: usize = 5000;
/// Upper bound of the number of events of one command.
const LARGEST_COMMAND: usize = 1_000_000;
/// Number of bytes indexed at the beginning and at the end of a raw text.
const INDEXED_ENDS: usize = 128 * 1024;
/// The file and its tables. A search waits for other processes, since they may be indexing.
const FORMAT: Format = Format {
    file: "index.db",
    version: 2,
    schema: "DROP TABLE IF EXISTS docs;
        DROP TABLE IF EXISTS places;
        DROP TABLE IF EXISTS position;
        CREATE VIRTUAL TABLE docs USING fts5(
            text, frame UNINDEXED, field UNINDEXED, tokenize = 'trigram');
        CREATE TABLE places (frame TEXT NOT NULL, field TEXT NOT NULL, doc INTEGER NOT NULL);
        CREATE INDEX places_by_frame ON places (frame, field);
        CREATE TABLE position (seq INTEGER NOT NULL);
        INSERT INTO position VALUES (0);",
    busy_timeout: Duration::from_secs(30),
};

/// The search index of one project.
pub struct Index {
    db: DisposableDb,
}

/// Maximum number of words of a query; SQLite refuses a thousand.
const MOST_WORDS: usize = 100;

/// Marks that SQLite puts around a match: characters that occur in no text.
const BEGINS: char = '\u{1}';
const ENDS: char = '\u{2}';

/// A search result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The frame it belongs to.
    pub frame: FrameId,
    /// The field that matched: `title`, `criteria`, `results`, `decision`, `log` and so on.
    pub field: String,
    /// The text around the match, with `[` and `]` around the matching part.
    pub excerpt: String,
    /// The same text as it was written.
    pub passage: String,
}

/// The results of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Searched {
    /// The results, best first.
    pub hits: Vec<Hit>,
    /// True if there are more results than the limit.
    pub more: bool,
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

    /// Brings the index up to the journal's last event and returns its connection.
    fn caught_up(
        &self,
        reading: &dyn Reading,
        blobs: &Blobs,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Connection> {
        match self.try_catch_up(reading, blobs, progress) {
            Err(error) if is_damage(&error) => {
                self.discard(&error)?;
                self.try_catch_up(reading, blobs, progress)
            }
            other => other,
        }
    }

    fn try_catch_up(
        &self,
        reading: &dyn Reading,
        blobs: &Blobs,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Connection> {
        let mut connection = self.open()?;
        let end = reading.position()?;
        loop {
            let transaction =
                connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            let done = position(&transaction)?;
            if done >= end {
                drop(transaction);
                return Ok(connection);
            }
            let events = reading.events_after(done, STEP)?;
            let last = events.last().map_or(end, |recorded| recorded.seq);
            let mut touched = BTreeSet::new();
            for recorded in &events {
                touched.extend(frames_to_index(reading, recorded)?);
            }
            for frame in &touched {
                reindex(&transaction, reading, blobs, frame)?;
            }
            transaction.execute("UPDATE position SET seq = ?1", [last.0])?;
            transaction.commit()?;
            progress(last.0.unsigned_abs(), end.0.unsigned_abs());
        }
    }

    /// Brings the index up to date and finds texts that contain every word of the query, best first.
    pub fn search(
        &self,
        reading: &dyn Reading,
        blobs: &Blobs,
        query: &str,
        limit: usize,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Searched> {
        let index = self.caught_up(reading, blobs, progress)?;
        match Self::find(&index, query, limit) {
            Err(error) if is_damage(&error) => {
                drop(index);
                self.discard(&error)?;
                Self::find(&self.caught_up(reading, blobs, progress)?, query, limit)
            }
            other => other,
        }
    }

    fn find(index: &Connection, query: &str, limit: usize) -> Result<Searched> {
        let mut words: Vec<&str> = Vec::new();
        for word in query.split_whitespace() {
            if words.len() < MOST_WORDS && !words.contains(&word) {
                words.push(word);
            }
        }
        if words.is_empty() {
            return Ok(Searched::default());
        }
        let long_enough = |word: &&str| word.chars().count() >= 3;
        let wanted = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
        let (long, short): (Vec<&str>, Vec<&str>) = words.into_iter().partition(long_enough);
        // Words of one or two characters have no trigram, so they are matched by LIKE.
        let directly = short.iter().map(|word| format!("%{}%", escape_like(word)));
        let mut conditions = String::new();
        for n in 0..short.len() {
            conditions.push_str(&format!(" AND text LIKE ?{} ESCAPE '\\'", n + 3));
        }
        let matching = long
            .iter()
            .map(|word| quoted(word))
            .collect::<Vec<_>>()
            .join(" ");
        let sql = if long.is_empty() {
            format!(
                "SELECT frame, field, substr(text, 1, 160) FROM docs WHERE ?1 = ''{conditions}
                 ORDER BY rowid DESC LIMIT ?2"
            )
        } else {
            format!(
                "SELECT frame, field, snippet(docs, 0, char(1), char(2), '…', 40) FROM docs
                 WHERE docs MATCH ?1{conditions} ORDER BY rank, rowid LIMIT ?2"
            )
        };
        let mut values: Vec<Box<dyn rusqlite::ToSql>> = vec![Box::new(matching), Box::new(wanted)];
        values.extend(directly.map(|word| Box::new(word) as Box<dyn rusqlite::ToSql>));
        let mut statement = index.prepare(&sql)?;
        let mut found = statement.query(rusqlite::params_from_iter(values.iter()))?;
        let mut searched = Searched::default();
        while let Some(row) = found.next()? {
            if searched.hits.len() == limit {
                searched.more = true;
                break;
            }
            let found: String = row.get(2)?;
            searched.hits.push(Hit {
                frame: rows::id(row, 0)?,
                field: row.get(1)?,
                excerpt: found.replace(BEGINS, "[").replace(ENDS, "]"),
                passage: found.replace([BEGINS, ENDS], ""),
            });
        }
        Ok(searched)
    }

    /// Deletes an index that does not work.
    fn discard(&self, error: &StoreError) -> Result<()> {
        tracing::warn!(path = %self.path().display(), "search index rebuilt: {error}");
        self.db.delete()
    }

    fn open(&self) -> Result<Connection> {
        match self.db.open() {
            // A read-only store can be searched too, indexing it from the beginning each time.
            Err(StoreError::Io(error)) if cannot_be_written(&error) => self.db.in_memory(),
            other => other,
        }
    }
}

/// Returns true if an error means that the index is damaged. A damaged journal fails again with a
/// fresh index.
fn is_damage(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Unreadable { .. } | StoreError::BadRow { .. } | StoreError::Sqlite(_)
    )
}

fn position(connection: &Connection) -> Result<Seq> {
    let seq = connection
        .query_row("SELECT seq FROM position", [], |row| row.get(0))
        .optional()?;
    Ok(Seq(seq.unwrap_or_default()))
}

/// Quotes a word so that FTS5 takes it literally.
fn quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('"', "\"\""))
}

fn escape_like(word: &str) -> String {
    word.replace('\\', "\\\\")
        .replace('%', "\\%")
        .replace('_', "\\_")
}

/// Returns the frames whose text changes with an event. Frames are indexed whole and as they are now,
/// so indexing an event twice, or several events of one frame, has the same result.
fn frames_to_index(reading: &dyn Reading, recorded: &Recorded) -> Result<Vec<FrameId>> {
    match &recorded.event {
        Event::CommandUndone { batch } => {
            let undone = reading.events_after(Seq(batch.0 - 1), LARGEST_COMMAND)?;
            let undone = undone.into_iter().take_while(|entry| entry.batch == *batch);
            Ok(undone
                .flat_map(|entry| entry.event.frames().collect::<Vec<_>>())
                .collect())
        }
        Event::SessionReverted { masked: seqs, .. }
        | Event::SessionRestored { shown: seqs, .. } => {
            let changed = reading.recorded(seqs)?;
            Ok(changed
                .iter()
                .flat_map(|entry| entry.event.frames())
                .collect())
        }
        Event::SessionBound { .. }
        | Event::SessionUnbound { .. }
        | Event::FrameStarted { .. }
        | Event::FrameMoved { .. } => Ok(Vec::new()),
        event => Ok(event.frames().collect()),
    }
}

/// Replaces the indexed text of a frame by its current text.
fn reindex(index: &Connection, reading: &dyn Reading, blobs: &Blobs, id: &FrameId) -> Result<()> {
    forget(index, id)?;
    let Some(frame) = reading.whole_frame(id)? else {
        return Ok(());
    };
    add(index, id, "title", frame.title.as_str())?;
    for (field, text) in texts(&frame) {
        if let Some(text) = text {
            add(index, id, field, text.as_str())?;
        }
    }
    for note in &frame.notes {
        add_note(index, id, note)?;
    }
    for entry in &frame.log {
        add_log(index, blobs, id, entry)?;
    }
    Ok(())
}

fn texts(frame: &Frame) -> [(&'static str, Option<&Text>); 6] {
    [
        ("criteria", frame.criteria.as_ref()),
        ("criteria", frame.criteria_compacted.as_ref()),
        ("results", frame.results.as_ref()),
        ("results", frame.results_compacted.as_ref()),
        ("blocked", frame.blocked_on.as_ref()),
        (
            "invalidated",
            frame.invalidation.as_ref().map(|known| &known.reason),
        ),
    ]
}

fn add_note(index: &Connection, frame: &FrameId, note: &Note) -> Result<()> {
    let field = note.kind().label();
    match note {
        Note::Decision {
            text,
            why: Some(why),
        }
        | Note::FailedAttempt {
            text,
            why: Some(why),
        } => add(index, frame, field, &format!("{text} ({why})")),
        _ => add(index, frame, field, note.text().as_str()),
    }
}

fn add_log(
    index: &Connection,
    blobs: &Blobs,
    frame: &FrameId,
    entry: &flamestack_core::frame::LogEntry,
) -> Result<()> {
    match blobs.get(&entry.blob) {
        Ok(Some(text)) => {
            let text = if entry.label.as_str() == transcript::LABEL {
                transcript::markdown(&text)
            } else {
                text
            };
            let (beginning, end) = ends(&text);
            add(index, frame, "log", beginning)?;
            if end.is_empty() {
                Ok(())
            } else {
                add(index, frame, "log", end)
            }
        }
        // Lost raw text cannot be indexed; everything else can.
        Ok(None) | Err(StoreError::Unreadable { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns the beginning and the end of a text that is too long to be indexed whole.
fn ends(text: &str) -> (&str, &str) {
    if text.len() <= 2 * INDEXED_ENDS {
        return (text, "");
    }
    let first = text.floor_char_boundary(INDEXED_ENDS);
    let last = text.ceil_char_boundary(text.len() - INDEXED_ENDS);
    (text.split_at(first).0, text.split_at(last).1)
}

fn add(index: &Connection, frame: &FrameId, field: &str, text: &str) -> Result<()> {
    index
        .prepare_cached("INSERT INTO docs (text, frame, field) VALUES (?1, ?2, ?3)")?
        .execute(params![text, frame.as_str(), field])?;
    let doc = index.last_insert_rowid();
    index
        .prepare_cached("INSERT INTO places VALUES (?1, ?2, ?3)")?
        .execute(params![frame.as_str(), field, doc])?;
    Ok(())
}

fn forget(index: &Connection, frame: &FrameId) -> Result<()> {
    index
        .prepare_cached(
            "DELETE FROM docs WHERE rowid IN (SELECT doc FROM places WHERE frame = ?1)",
        )?
        .execute([frame.as_str()])?;
    index
        .prepare_cached("DELETE FROM places WHERE frame = ?1")?
        .execute([frame.as_str()])?;
    Ok(())
}
