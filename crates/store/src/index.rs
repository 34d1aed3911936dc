//! Full-text search over titles, criteria, results, decisions, other notes and raw text.
//!
//! An index of its own beside the journal. Writers never touch it, so it costs nothing until the
//! first search, and it can be deleted at any time. It is brought up to date in steps of a bounded
//! size, each of which reads a snapshot of its own; a search answers from what is indexed.
//!
//! - `chunk`: texts are indexed whole, in overlapping chunks;
//! - `query`: words and their limits;
//! - `find`: chunks that may match come from FTS5 by groups of three characters, which serves
//!   identifiers, paths and languages without blanks alike, and are compared with the words;
//! - `passage`: the part of a text that is shown.

mod chunk;
mod find;
mod passage;
mod query;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use flamestack_core::event::{Event, Recorded};
use flamestack_core::frame::{Frame, LogEntry};
use flamestack_core::id::{FrameId, Seq};
use flamestack_core::note::Note;
use flamestack_core::text::Text;
use rusqlite::{Connection, OptionalExtension, params};

use self::chunk::{ChunkWriter, Class, DocId, chunk_at, next_chunk};
pub use self::query::{BadQuery, QUERY_LIMIT, SearchQuery, WORD_LIMIT, WORDS_LIMIT};
use crate::blobs::{BlobReader, Blobs};
use crate::disposable::{DisposableDb, Format};
use crate::error::{Result, StoreError};
use crate::projections::Reading;
use crate::sqlite::cannot_be_written;
use crate::transcript;

/// Maximum number of events that are read at once.
const STEP: usize = 500;
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
        })
    }

    fn connect(&self) -> Result<Connection> {
        let connection = match self.db.open() {
            // A read-only store can be searched too, indexing it from the beginning each time.
            Err(StoreError::Io(error)) if cannot_be_written(&error) => self.db.in_memory()?,
            other => other?,
        };
        // Searches go on while another thread or process adds to the index.
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        Ok(connection)
    }

    /// Deletes an index that does not work.
    fn discard(&self, error: &StoreError) -> Result<()> {
        tracing::warn!(path = %self.path().display(), "search index rebuilt: {error}");
        self.db.delete()
    }
}

/// A connection to a search index.
pub struct OpenIndex<'i> {
    index: &'i Index,
    connection: Connection,
}

impl OpenIndex<'_> {
    /// Indexes events that are not indexed yet, as many as the budget allows.
    pub fn advance(
        &mut self,
        reading: &dyn Reading,
        blobs: &Blobs,
        budget: &mut IndexBudget,
    ) -> Result<Indexed> {
        self.or_anew(|connection| {
            let end = reading.position()?;
            let done = position(connection)?;
            if done >= end {
                return Ok(Indexed { done, end });
            }
            let transaction =
                connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            let done = IndexStep {
                index: &transaction,
                reading,
                blobs: blobs.reader(),
                writer: ChunkWriter::new()?,
                budget,
                done: BTreeSet::new(),
            }
            .run(end)?;
            transaction.commit()?;
            Ok(Indexed { done, end })
        })
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

    /// Finds texts that contain every word of the query, best first. Stops early if `stop` is set.
    pub fn search(
        &mut self,
        query: &SearchQuery,
        limit: usize,
        stop: &AtomicBool,
    ) -> Result<Searched> {
        self.or_anew(|connection| find::find(connection, query, limit, stop))
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
        StoreError::Unreadable { .. } | StoreError::BadRow { .. } | StoreError::Sqlite(_)
    )
}

fn position(connection: &Connection) -> Result<Seq> {
    let seq = connection
        .query_row("SELECT seq FROM position", [], |row| row.get(0))
        .optional()?;
    Ok(Seq(seq.unwrap_or_default()))
}

/// Returns the number of frames that are done of the event after the position.
fn frames_done(connection: &Connection) -> Result<usize> {
    let frames: Option<i64> = connection
        .query_row("SELECT frames FROM position", [], |row| row.get(0))
        .optional()?;
    Ok(usize::try_from(frames.unwrap_or_default()).unwrap_or_default())
}

/// One transaction of indexing.
struct IndexStep<'s> {
    index: &'s Connection,
    reading: &'s dyn Reading,
    blobs: BlobReader,
    writer: ChunkWriter,
    budget: &'s mut IndexBudget,
    /// Frames that are up to date.
    done: BTreeSet<FrameId>,
}

impl IndexStep<'_> {
    /// Indexes events and returns the last one that is indexed.
    fn run(mut self, end: Seq) -> Result<Seq> {
        let before = position(self.index)?;
        let events = self
            .reading
            .events_after(before, self.budget.events.min(STEP))?;
        if events.is_empty() {
            return Ok(before.max(end));
        }
        let mut done = before;
        let mut skip = frames_done(self.index)?;
        'events: for recorded in &events {
            let frames = frames_to_index(self.reading, recorded)?;
            for (place, frame) in frames.iter().enumerate().skip(skip) {
                // One event may be about all frames of an import.
                if place > skip && self.budget.is_spent() {
                    skip = place;
                    break 'events;
                }
                if !self.done.contains(frame) {
                    if !self.bring_up_to_date(frame)? {
                        skip = place;
                        break 'events;
                    }
                    self.done.insert(*frame);
                }
            }
            (done, skip) = (recorded.seq, 0);
            self.budget.events = self.budget.events.saturating_sub(1);
            if self.budget.is_spent() {
                break;
            }
        }
        self.index.execute(
            "UPDATE position SET seq = ?1, frames = ?2",
            params![done.0, i64::try_from(skip).unwrap_or(i64::MAX)],
        )?;
        Ok(done)
    }

    /// Replaces the indexed texts of a frame by its current texts. Returns false if the budget ended
    /// before; texts that are indexed already are left alone the next time.
    fn bring_up_to_date(&mut self, id: &FrameId) -> Result<bool> {
        let mut known = self.known_docs(id)?;
        let frame = self.reading.whole_frame(id)?;
        let mut wanted = frame.as_ref().map(wanted_docs).unwrap_or_default();
        // The same text twice in one field is found once.
        let mut seen = BTreeSet::new();
        wanted.retain(|wanted| seen.insert(wanted.key()));
        let missing: Vec<Wanted<'_>> = wanted
            .into_iter()
            .filter_map(|wanted| match known.remove(&wanted.key()) {
                Some(KnownDoc { indexed: None, .. }) => None,
                Some(KnownDoc { id, indexed }) => Some(wanted.resumed(id, indexed)),
                None => Some(wanted),
            })
            .collect();
        for doc in known.values() {
            self.forget(doc.id)?;
        }
        for wanted in missing {
            if !self.add(id, &wanted)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn known_docs(&self, frame: &FrameId) -> Result<BTreeMap<DocKey, KnownDoc>> {
        let mut statement = self.index.prepare_cached(
            "SELECT id, class, field, piece, content, indexed FROM docs WHERE frame = ?1",
        )?;
        let mut rows = statement.query([frame.as_str()])?;
        let mut known = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let class = match row.get(1)? {
                3 => Class::Title,
                2 => Class::Field,
                _ => Class::Log,
            };
            let key = (row.get(2)?, row.get(3)?, row.get(4)?);
            let doc = KnownDoc {
                id: DocId::new(class, row.get(0)?),
                indexed: row.get(5)?,
            };
            known.insert(key, doc);
        }
        Ok(known)
    }

    /// Adds a text, or the rest of it. Returns false if the budget ended before.
    fn add(&mut self, frame: &FrameId, wanted: &Wanted<'_>) -> Result<bool> {
        let rendered;
        let text = match wanted.source {
            Source::Text(text) => text,
            Source::Reason(text, why) => {
                rendered = format!("{text} ({why})");
                &rendered
            }
            Source::Raw(entry) => {
                rendered = self.raw_text(entry)?;
                &rendered
            }
        };
        let (doc, mut start) = match wanted.resumed {
            Some((doc, indexed)) => (doc, usize::try_from(indexed).unwrap_or_default()),
            None => (self.new_doc(frame, wanted)?, 0),
        };
        let mut number = self
            .index
            .prepare_cached("SELECT count(*) FROM chunks WHERE id >= ?1 AND id < ?2")?
            .query_row([doc.chunks().start, doc.chunks().end], |row| row.get(0))?;
        loop {
            let chunk = chunk_at(text, start);
            self.writer.add(self.index, doc, number, start, chunk)?;
            number += 1;
            self.budget.bytes = self.budget.bytes.saturating_sub(chunk.len().max(1));
            let Some(next) = next_chunk(text, start, chunk.len()) else {
                break;
            };
            start = next;
            if self.budget.is_spent() {
                self.set_indexed(doc, Some(start))?;
                return Ok(false);
            }
        }
        if wanted.resumed.is_some() {
            self.set_indexed(doc, None)?;
        }
        Ok(true)
    }

    /// Returns a raw text as it is shown; empty if it is lost. Everything else can be indexed.
    fn raw_text(&self, entry: &LogEntry) -> Result<String> {
        match self.blobs.get(&entry.blob) {
            Ok(Some(text)) if entry.label.as_str() == transcript::LABEL => {
                Ok(transcript::whole_markdown(&text))
            }
            Ok(Some(text)) => Ok(text),
            Ok(None) | Err(StoreError::Unreadable { .. }) => Ok(String::new()),
            Err(error) => Err(error),
        }
    }

    fn new_doc(&self, frame: &FrameId, wanted: &Wanted<'_>) -> Result<DocId> {
        let (field, piece, content) = wanted.key();
        self.index
            .prepare_cached(
                "INSERT INTO docs (frame, class, field, piece, content)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                frame.as_str(),
                wanted.class as i64,
                field,
                piece,
                content
            ])?;
        Ok(DocId::new(wanted.class, self.index.last_insert_rowid()))
    }

    fn set_indexed(&self, doc: DocId, indexed: Option<usize>) -> Result<()> {
        let indexed = indexed.map(|indexed| i64::try_from(indexed).unwrap_or(i64::MAX));
        self.index
            .prepare_cached("UPDATE docs SET indexed = ?2 WHERE id = ?1")?
            .execute(params![doc.number(), indexed])?;
        Ok(())
    }

    fn forget(&self, doc: DocId) -> Result<()> {
        let chunks = doc.chunks();
        for statement in [
            "DELETE FROM grams WHERE rowid IN
                 (SELECT id FROM chunks WHERE id >= ?1 AND id < ?2)",
            "DELETE FROM chunks WHERE id >= ?1 AND id < ?2",
        ] {
            self.index
                .prepare_cached(statement)?
                .execute([chunks.start, chunks.end])?;
        }
        self.index
            .prepare_cached("DELETE FROM docs WHERE id = ?1")?
            .execute([doc.number()])?;
        Ok(())
    }
}

/// Field, number in the log and content of a text, which identify it within its frame.
type DocKey = (String, Option<u32>, String);

/// A text in the index.
struct KnownDoc {
    id: DocId,
    /// Length of what is indexed; `None` for all of it.
    indexed: Option<i64>,
}

/// A text that the index should contain.
struct Wanted<'f> {
    class: Class,
    field: &'static str,
    piece: Option<u32>,
    source: Source<'f>,
    /// The document that holds its beginning, and the length of that.
    resumed: Option<(DocId, i64)>,
}

/// The source of a text.
#[derive(Clone, Copy)]
enum Source<'f> {
    Text(&'f str),
    /// A text with its reason.
    Reason(&'f str, &'f str),
    Raw(&'f LogEntry),
}

impl<'f> Wanted<'f> {
    fn new(class: Class, field: &'static str, source: Source<'f>) -> Self {
        Self {
            class,
            field,
            piece: None,
            source,
            resumed: None,
        }
    }

    fn resumed(self, doc: DocId, indexed: Option<i64>) -> Self {
        let resumed = Some((doc, indexed.unwrap_or_default()));
        Self { resumed, ..self }
    }

    fn key(&self) -> DocKey {
        let content = match self.source {
            Source::Text(text) => blake3::hash(text.as_bytes()).to_string(),
            Source::Reason(text, why) => {
                let mut hash = blake3::Hasher::new();
                hash.update(text.as_bytes())
                    .update(b"\0")
                    .update(why.as_bytes());
                hash.finalize().to_string()
            }
            Source::Raw(entry) => format!("{} {}", entry.blob, entry.label),
        };
        (self.field.to_owned(), self.piece, content)
    }
}

/// Returns the texts of a frame.
fn wanted_docs(frame: &Frame) -> Vec<Wanted<'_>> {
    let mut docs = vec![Wanted::new(
        Class::Title,
        "title",
        Source::Text(frame.title.as_str()),
    )];
    let field = |field, text| Wanted::new(Class::Field, field, Source::Text(text));
    for (name, text) in texts(frame) {
        docs.extend(text.map(|text| field(name, text.as_str())));
    }
    for note in &frame.notes {
        let name = note.kind().label();
        docs.push(match note {
            Note::Decision {
                text,
                why: Some(why),
                ..
            }
            | Note::FailedAttempt {
                text,
                why: Some(why),
            } => Wanted::new(
                Class::Field,
                name,
                Source::Reason(text.as_str(), why.as_str()),
            ),
            _ => field(name, note.text().as_str()),
        });
    }
    for (number, entry) in (1..).zip(&frame.log) {
        docs.push(Wanted {
            piece: Some(number),
            ..Wanted::new(Class::Log, "log", Source::Raw(entry))
        });
    }
    docs
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

/// Returns the frames whose text changes with an event. Frames are indexed whole and as they are now,
/// so indexing an event twice, or several events of one frame, has the same result.
fn frames_to_index(reading: &dyn Reading, recorded: &Recorded) -> Result<Vec<FrameId>> {
    match &recorded.event {
        Event::CommandUndone { batch } => frames_of_batch(reading, *batch),
        Event::SessionReverted { masked: seqs, .. }
        | Event::SessionRestored { shown: seqs, .. } => {
            let mut frames = Vec::new();
            for seqs in seqs.chunks(STEP) {
                let changed = reading.recorded(seqs)?;
                frames.extend(changed.iter().flat_map(|entry| entry.event.frames()));
            }
            Ok(frames)
        }
        Event::SessionBound { .. }
        | Event::SessionUnbound { .. }
        | Event::FrameStarted { .. }
        | Event::FrameMoved { .. } => Ok(Vec::new()),
        event => Ok(event.frames().collect()),
    }
}

/// Returns the frames that a command changed.
fn frames_of_batch(reading: &dyn Reading, batch: Seq) -> Result<Vec<FrameId>> {
    let mut frames = Vec::new();
    let mut after = Seq(batch.0 - 1);
    loop {
        let events = reading.events_after(after, STEP)?;
        for entry in &events {
            if entry.batch != batch {
                return Ok(frames);
            }
            frames.extend(entry.event.frames());
            after = entry.seq;
        }
        if events.is_empty() {
            return Ok(frames);
        }
    }
}
