//! One step of indexing: the texts of frames that changed, within a budget.

use std::collections::{BTreeMap, BTreeSet};

use flamestack_core::event::{Event, Recorded};
use flamestack_core::frame::LogEntry;
use flamestack_core::id::{FrameId, Seq};
use rusqlite::{Connection, OptionalExtension, params};

use super::IndexBudget;
use super::chunk::{ChunkWriter, Class, DocId, chunk_at, next_chunk};
use super::docs::{self, DocKey, KnownDoc, Source, Wanted};
use crate::blobs::BlobReader;
use crate::error::{Result, StoreError};
use crate::projections::Reading;
use crate::transcript;

/// Maximum number of events that are read at a time.
const STEP: usize = 500;
/// Amount of text that even the shortest one counts as, in bytes: each is several rows.
const LEAST: usize = 2048;

pub(super) fn position(connection: &Connection) -> Result<Seq> {
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

/// The texts of a frame while it is brought up to date.
struct Texts {
    /// Those in the index that were not met yet.
    known: BTreeMap<DocKey, KnownDoc>,
    seen: BTreeSet<DocKey>,
}

/// One transaction of indexing.
pub(super) struct IndexStep<'s> {
    pub(super) index: &'s Connection,
    pub(super) reading: &'s dyn Reading,
    pub(super) blobs: BlobReader,
    pub(super) writer: ChunkWriter,
    pub(super) budget: &'s mut IndexBudget,
    /// Frames that are up to date, with the point of the journal as of which they are.
    pub(super) done: &'s mut BTreeMap<FrameId, Seq>,
}

impl IndexStep<'_> {
    /// Indexes events and returns the last one that is indexed.
    pub(super) fn run(mut self, end: Seq) -> Result<Seq> {
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
                let is_done = self
                    .done
                    .get(frame)
                    .is_some_and(|as_of| *as_of >= recorded.seq);
                if !is_done {
                    if !self.bring_up_to_date(frame)? {
                        skip = place;
                        break 'events;
                    }
                    self.done.insert(*frame, end);
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
        let mut texts = Texts {
            known: self.known_docs(id)?,
            seen: BTreeSet::new(),
        };
        let reading = self.reading;
        if let Some(frame) = reading.frame_with_log(id)? {
            for wanted in docs::fields(&frame) {
                if !self.take(id, wanted, &mut texts)? {
                    return Ok(false);
                }
            }
            let mut goes_on = true;
            reading.visit_notes(id, &mut |note| {
                goes_on = self.take(id, docs::note(&note), &mut texts)?;
                Ok(goes_on)
            })?;
            if !goes_on {
                return Ok(false);
            }
            for wanted in docs::raw_texts(&frame) {
                if !self.take(id, wanted, &mut texts)? {
                    return Ok(false);
                }
            }
        }
        for doc in texts.known.values() {
            self.forget(doc.id)?;
        }
        Ok(true)
    }

    /// Adds a text unless it is indexed. Returns false if the budget ended before.
    fn take(&mut self, frame: &FrameId, wanted: Wanted<'_>, texts: &mut Texts) -> Result<bool> {
        let content = wanted.content();
        let key = DocKey::new(wanted.field, wanted.piece, &content);
        // The same text twice in one field is found once.
        if !texts.seen.insert(key) {
            return Ok(true);
        }
        let wanted = match texts.known.remove(&key) {
            Some(KnownDoc { indexed: None, .. }) => return Ok(true),
            Some(KnownDoc { id, indexed }) => wanted.resumed(id, indexed),
            None => wanted,
        };
        if self.budget.is_spent() {
            return Ok(false);
        }
        self.add(frame, &wanted, &content)
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
            let (field, content): (String, String) = (row.get(2)?, row.get(4)?);
            let key = DocKey::new(&field, row.get(3)?, &content);
            let doc = KnownDoc {
                id: DocId::new(class, row.get(0)?),
                indexed: row.get(5)?,
            };
            known.insert(key, doc);
        }
        Ok(known)
    }

    /// Adds a text, or the rest of it. Returns false if the budget ended before.
    fn add(&mut self, frame: &FrameId, wanted: &Wanted<'_>, content: &str) -> Result<bool> {
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
            None => (self.new_doc(frame, wanted, content)?, 0),
        };
        let mut number = self
            .index
            .prepare_cached("SELECT count(*) FROM chunks WHERE id >= ?1 AND id < ?2")?
            .query_row([doc.chunks().start, doc.chunks().end], |row| row.get(0))?;
        loop {
            let chunk = chunk_at(text, start);
            self.writer.add(self.index, doc, number, start, chunk)?;
            number += 1;
            self.budget.bytes = self.budget.bytes.saturating_sub(chunk.len().max(LEAST));
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

    fn new_doc(&self, frame: &FrameId, wanted: &Wanted<'_>, content: &str) -> Result<DocId> {
        self.index
            .prepare_cached(
                "INSERT INTO docs (frame, class, field, piece, content)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                frame.as_str(),
                wanted.class as i64,
                wanted.field,
                wanted.piece,
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

/// Returns the frames whose text changes with an event. Frames are indexed whole and as they are now,
/// so indexing an event twice, or several events of one frame, has the same result.
fn frames_to_index(reading: &dyn Reading, recorded: &Recorded) -> Result<Vec<FrameId>> {
    match &recorded.event {
        Event::CommandUndone { batch } => frames_of_batch(reading, *batch),
        Event::SessionReverted { masked: seqs, .. }
        | Event::SessionRestored { unmasked: seqs, .. } => {
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
