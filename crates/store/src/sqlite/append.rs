//! Adding to the journal, and reading it back: the one place where events meet the disk.

use flamestack_core::command::Actor;
use flamestack_core::event::{Event, Recorded};
use flamestack_core::id::{Seq, Timestamp};
use flamestack_core::text::Rewrite;
use rusqlite::{Connection, OptionalExtension, params};
use xxhash_rust::xxh3::Xxh3;

use crate::error::StoreError;
use crate::record;
use crate::redact::redact;

/// Redacts events and appends them as one command: a new one, or the one that began with `batch`.
pub(super) fn append(
    connection: &Connection,
    at: Timestamp,
    actor: &Actor,
    events: Vec<Event>,
    batch: Option<Seq>,
) -> Result<Vec<Recorded>, StoreError> {
    let first = Seq(last_seq(connection)?.0 + 1);
    let mut recorded = Vec::with_capacity(events.len());
    for (seq, mut event) in (first.0..).map(Seq).zip(events) {
        event.rewrite(&mut |text| match redact(text) {
            std::borrow::Cow::Borrowed(_) => None,
            std::borrow::Cow::Owned(redacted) => Some(redacted),
        });
        let entry = Recorded {
            seq,
            batch: batch.unwrap_or(first),
            at,
            session: actor.session.clone(),
            message: actor.message.clone(),
            event,
        };
        insert(connection, &entry)?;
        recorded.push(entry);
    }
    Ok(recorded)
}

/// Writes one event as it is. The caller answers for its being redacted.
pub(super) fn insert(connection: &Connection, entry: &Recorded) -> Result<(), StoreError> {
    let body = record::encode(&entry.event).map_err(|error| StoreError::BadEvent {
        seq: entry.seq.0,
        problem: error.to_string(),
    })?;
    let session = entry.session.to_string();
    let sum = checksum(entry, &session, &body);
    connection
        .prepare_cached(
            "INSERT INTO events (seq, batch, at, session, message, body, sum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            entry.seq.0,
            entry.batch.0,
            entry.at.0,
            session,
            entry.message,
            body,
            sum
        ])?;
    Ok(())
}

/// The last event's place; 0 in an empty journal.
pub(super) fn last_seq(connection: &Connection) -> Result<Seq, StoreError> {
    let seq = connection
        .prepare_cached("SELECT seq FROM events ORDER BY seq DESC LIMIT 1")?
        .query_row([], |row| row.get(0))
        .optional()?;
    Ok(Seq(seq.unwrap_or(0)))
}

/// The columns that [`read`] expects, in order.
pub(super) const COLUMNS: &str = "e.seq, e.batch, e.at, e.session, e.message, e.body, e.sum";

/// Reads an event back and checks that it is what was written.
pub(super) fn read(row: &rusqlite::Row<'_>) -> Result<Recorded, StoreError> {
    let seq = row.get(0)?;
    let row = || -> rusqlite::Result<Row> {
        Ok(Row {
            seq,
            batch: row.get(1)?,
            at: row.get(2)?,
            session: row.get(3)?,
            message: row.get(4)?,
            body: row.get(5)?,
            sum: row.get(6)?,
        })
    };
    // Text that is no text, or a number where text was: an event that is not what was written.
    let row = row().map_err(|error| match StoreError::from(error) {
        StoreError::Sqlite(error) => StoreError::BadEvent {
            seq,
            problem: error.to_string(),
        },
        StoreError::BadRow { problem } => StoreError::BadEvent { seq, problem },
        other => other,
    })?;
    row.check()
}

/// An event as it stands in the table.
pub(super) struct Row {
    pub(super) seq: i64,
    pub(super) batch: i64,
    pub(super) at: i64,
    pub(super) session: String,
    pub(super) message: Option<String>,
    pub(super) body: String,
    pub(super) sum: i64,
}

impl Row {
    /// The event, if it is what was written.
    pub(super) fn check(self) -> Result<Recorded, StoreError> {
        let seq = self.seq;
        let bad = |problem: String| StoreError::BadEvent { seq, problem };
        let entry = Recorded {
            seq: Seq(seq),
            batch: Seq(self.batch),
            at: Timestamp(self.at),
            session: record::session(&self.session).map_err(bad)?,
            message: self.message,
            event: record::decode(&self.body).map_err(bad)?,
        };
        if checksum(&entry, &self.session, &self.body) == self.sum {
            Ok(entry)
        } else {
            Err(bad("its checksum does not fit".to_owned()))
        }
    }
}

fn checksum(entry: &Recorded, session: &str, body: &str) -> i64 {
    let mut hash = Xxh3::new();
    for number in [entry.seq.0, entry.batch.0, entry.at.0] {
        hash.update(&number.to_le_bytes());
    }
    for text in [session, entry.message.as_deref().unwrap_or_default(), body] {
        hash.update(&(text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    hash.digest().cast_signed()
}
