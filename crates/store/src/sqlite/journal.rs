//! The journal's table: the only place where events are written to and read from disk.

use flamestack_core::Author;
use flamestack_core::event::{Event, Recorded};
use flamestack_core::id::{NotASession, Seq, SessionRef, Timestamp};
use flamestack_core::note::Note;
use rusqlite::{Connection, params};
use xxhash_rust::xxh3::Xxh3;

use super::Transaction;
use super::statements::{self, Statements as _};
use crate::error::{Result, StoreError};
use crate::journal::{Journal, JournalLock};
use crate::record;

/// The journal in an SQLite database. Its lock is a transaction, which the projections share.
pub(super) struct SqliteJournal<'c>(pub(super) &'c Connection);

impl Journal for SqliteJournal<'_> {
    fn lock(&self) -> Result<Box<dyn JournalLock + '_>> {
        Ok(Box::new(Transaction::writing(self.0)?))
    }

    fn last(&self) -> Result<Seq> {
        last_seq(self.0)
    }

    fn append(&self, event: &Recorded) -> Result<()> {
        insert(self.0, event)
    }

    fn after(&self, after: Seq, limit: usize) -> Result<Vec<Recorded>> {
        let sql =
            format!("SELECT {COLUMNS} FROM events e WHERE e.seq > ?1 ORDER BY e.seq LIMIT ?2");
        let mut statement = self.0.prepare_cached(&sql)?;
        let mut found = statement.query(params![after.0, statements::limit(limit)])?;
        let mut events = Vec::new();
        let mut bytes = 0;
        while bytes < AT_ONCE
            && let Some(row) = found.next()?
        {
            bytes += row.get_ref(BODY)?.as_bytes().map_or(0, <[u8]>::len);
            events.push(read(row)?);
        }
        Ok(events)
    }
}

/// Returns the events of a session after an event, oldest first.
pub(super) fn of_session(
    connection: &Connection,
    session: &SessionRef,
    after: Seq,
    limit: usize,
) -> Result<Vec<Recorded>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM events e WHERE e.seq > ?1 AND e.session = ?2 ORDER BY e.seq LIMIT ?3"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query(params![
        after.0,
        session.to_string(),
        statements::limit(limit)
    ])?;
    let mut events = Vec::new();
    while let Some(row) = found.next()? {
        events.push(read(row)?);
    }
    Ok(events)
}

/// Writes one event unchanged. The caller has redacted it.
pub(super) fn insert(connection: &Connection, entry: &Recorded) -> Result<()> {
    let body = record::encode_by(&entry.event, entry.by, &entry.session).map_err(|error| {
        StoreError::BadEvent {
            seq: entry.seq.0,
            problem: error.to_string(),
        }
    })?;
    let session = entry.session.to_string();
    let sum = checksum(entry, &session, &body);
    connection.write(
        "INSERT INTO events (seq, batch, at, session, message, body, sum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            entry.seq.0,
            entry.batch.0,
            entry.at.0,
            session,
            entry.message,
            body,
            sum
        ],
    )
}

/// Returns the sequence number of the last event; 0 in an empty journal.
pub(super) fn last_seq(connection: &Connection) -> Result<Seq> {
    let seq = connection.one(
        "SELECT seq FROM events ORDER BY seq DESC LIMIT 1",
        [],
        |row| row.get(0),
    )?;
    Ok(Seq(seq.unwrap_or(0)))
}

/// Size of events that are read at a time, in bytes. A single one may have a megabyte.
const AT_ONCE: usize = 2 * 1024 * 1024;

/// Place of the body among the columns.
const BODY: usize = 5;

/// The columns that [`read`] expects, in order.
pub(super) const COLUMNS: &str = "e.seq, e.batch, e.at, e.session, e.message, e.body, e.sum";

/// Reads an event back and checks that it is what was written.
pub(super) fn read(row: &rusqlite::Row<'_>) -> Result<Recorded> {
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
    // Invalid text, or a number in place of text, means that the event was altered.
    let row = row().map_err(|error| match StoreError::from(error) {
        StoreError::Sqlite(error) => StoreError::BadEvent {
            seq,
            problem: error.to_string(),
        },
        StoreError::BadRow(problem) => StoreError::BadEvent { seq, problem },
        other => other,
    })?;
    row.check()
}

/// Condition on an event: neither was its command undone nor is it masked by a revert.
pub(super) const COUNTS: &str = "e.batch NOT IN (SELECT batch FROM undone)
     AND e.seq NOT IN (SELECT seq FROM masked)";

/// Reads events by the rest of a query, from `FROM` on.
pub(super) fn select(
    connection: &Connection,
    from: &str,
    params: &[&dyn rusqlite::ToSql],
) -> Result<Vec<Recorded>> {
    let mut statement = connection.prepare_cached(&format!("SELECT {COLUMNS} {from}"))?;
    let mut found = statement.query(params)?;
    let mut events = Vec::new();
    while let Some(row) = found.next()? {
        events.push(read(row)?);
    }
    Ok(events)
}

/// Reads one event.
pub(super) fn event(connection: &Connection, Seq(seq): Seq) -> Result<Option<Recorded>> {
    let found = select(connection, "FROM events e WHERE e.seq = ?1", params![seq])?;
    Ok(found.into_iter().next())
}

/// A row of the table.
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
    /// Returns the event if its checksum matches.
    pub(super) fn check(self) -> Result<Recorded> {
        let seq = self.seq;
        let bad = |problem: String| StoreError::BadEvent { seq, problem };
        let mut entry = Recorded {
            seq: Seq(seq),
            batch: Seq(self.batch),
            at: Timestamp(self.at),
            session: self
                .session
                .parse()
                .map_err(|error: NotASession| bad(error.to_string()))?,
            message: self.message,
            by: Author::default(),
            event: record::decode(&self.body).map_err(bad)?,
        };
        entry.by = record::author(&self.body, &entry.session);
        // A decision is that of the event's author; events from before authors do not say so.
        if let Event::Noted {
            note: Note::Decision { by, .. },
            ..
        } = &mut entry.event
        {
            *by = entry.by;
        }
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
