//! Frames and their parts as rows.

use flamestack_core::Author;
use flamestack_core::compaction::Compaction;
use flamestack_core::frame::{
    Awaiting, Frame, FrameHead, Invalidation, LogEntry, Origin, Rank, Span, Status,
};
use flamestack_core::id::{BlobId, FrameId, Seq, SessionRef, Timestamp};
use flamestack_core::note::Note;
use flamestack_core::text::{Text, Title};
use rusqlite::types::{Type, ValueRef};
use rusqlite::{Connection, Row, ToSql, params_from_iter};

use super::long_texts::{self, FrameTexts, long_text};
use super::project;
use crate::error::Result;
use crate::projections::Totals;
use crate::record::form::Stored;
use crate::record::{self, NoteRecord};

/// The columns that [`frame`] expects, in order.
pub(super) const COLUMNS: &str = concat!(
    "f.id, f.parent, f.rank, f.status, f.title, ",
    long_text!("criteria", 1),
    ", ",
    long_text!("criteria_compacted", 2),
    ", ",
    long_text!("results", 4),
    ", ",
    long_text!("results_compacted", 8),
    ", ",
    long_text!("blocked_on", 16),
    ", ",
    long_text!("invalidation_reason", 32),
    ", f.invalidated_at, f.span_session, f.span_first, f.span_last, f.session, ",
    long_text!("foreign_json", 128),
    ", f.created_at, f.updated_at, f.changed, f.closed, f.origin, ",
    long_text!("summary", 64),
    ", f.awaiting",
);
/// The number of these columns.
pub(super) const COUNT: usize = 24;

/// The columns that [`head`] expects, in order.
pub(super) const HEAD_COLUMNS: &str = concat!(
    "f.id, f.parent, f.rank, f.status, f.title, ",
    long_text!("blocked_on", 16),
    ", f.session, f.origin, f.span_session IS NOT NULL",
);

/// Parses a column's text in place; a value that does not parse means a damaged row.
fn parsed<T, E: ToString>(
    row: &Row<'_>,
    column: usize,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> rusqlite::Result<T> {
    parse(row.get_ref(column)?.as_str()?).map_err(|problem| {
        let problem = problem.to_string().into();
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, problem)
    })
}

/// Parses a column's text that may be null.
fn opt_parsed<T, E: ToString>(
    row: &Row<'_>,
    column: usize,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> rusqlite::Result<Option<T>> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        _ => parsed(row, column, parse).map(Some),
    }
}

pub(crate) fn id(row: &Row<'_>, column: usize) -> rusqlite::Result<FrameId> {
    parsed(row, column, str::parse)
}

pub(super) fn opt_id(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<FrameId>> {
    opt_parsed(row, column, str::parse)
}

pub(super) fn session(row: &Row<'_>, column: usize) -> rusqlite::Result<SessionRef> {
    parsed(row, column, str::parse)
}

pub(super) fn opt_session(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<SessionRef>> {
    opt_parsed(row, column, str::parse)
}

pub(super) fn status(row: &Row<'_>, column: usize) -> rusqlite::Result<Status> {
    parsed(row, column, |name| {
        Status::from_name(name).ok_or_else(|| format!("`{name}` is not a status"))
    })
}

pub(super) fn origin(row: &Row<'_>, column: usize) -> rusqlite::Result<Origin> {
    parsed(row, column, |name| {
        Origin::from_name(name).ok_or_else(|| format!("`{name}` is not an origin"))
    })
}

pub(super) fn author(row: &Row<'_>, column: usize) -> rusqlite::Result<Author> {
    let known = opt_parsed(row, column, |name| Ok::<_, String>(Author::from_name(name)))?;
    Ok(known.flatten().unwrap_or_default())
}

pub(super) fn prose(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Text>> {
    Ok(row.get::<_, Option<String>>(column)?.map(Text::recorded))
}

pub(super) fn awaiting(row: &Row<'_>, column: usize) -> rusqlite::Result<Awaiting> {
    parsed(row, column, record::decode)
}

/// Parses a column that holds a value as JSON.
pub(super) fn stored<T: Stored>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    parsed(row, column, record::decode)
}

pub(super) fn compaction(row: &Row<'_>, column: usize) -> rusqlite::Result<Compaction> {
    parsed(row, column, record::decode)
}

/// Reads the part of a frame that the rules need.
pub(super) fn head(row: &Row<'_>) -> rusqlite::Result<FrameHead> {
    Ok(FrameHead {
        id: id(row, 0)?,
        parent: opt_id(row, 1)?,
        rank: Rank(row.get(2)?),
        status: status(row, 3)?,
        origin: origin(row, 7)?,
        title: Title::recorded(row.get(4)?),
        blocked_on: prose(row, 5)?,
        session: opt_session(row, 6)?,
        is_started: row.get(8)?,
    })
}

/// Reads a frame without its notes, log and aliases, which have their own tables.
pub(super) fn frame(row: &Row<'_>) -> rusqlite::Result<Frame> {
    let invalidated_at: Option<i64> = row.get(11)?;
    let span = match opt_session(row, 12)? {
        Some(session) => Some(Span {
            session,
            first: row.get(13)?,
            last: row.get(14)?,
        }),
        None => None,
    };
    Ok(Frame {
        id: id(row, 0)?,
        parent: opt_id(row, 1)?,
        rank: Rank(row.get(2)?),
        status: status(row, 3)?,
        origin: origin(row, 21)?,
        title: Title::recorded(row.get(4)?),
        criteria: prose(row, 5)?,
        criteria_compacted: prose(row, 6)?,
        results: prose(row, 7)?,
        results_compacted: prose(row, 8)?,
        summary: prose(row, 22)?,
        awaiting: opt_parsed(row, 23, record::decode)?,
        notes: Vec::new(),
        log: Vec::new(),
        blocked_on: prose(row, 9)?,
        invalidation: prose(row, 10)?.map(|reason| Invalidation {
            reason,
            at: Timestamp(invalidated_at.unwrap_or_default()),
        }),
        span,
        session: opt_session(row, 15)?,
        aliases: Vec::new(),
        foreign: row.get(16)?,
        created_at: Timestamp(row.get(17)?),
        updated_at: Timestamp(row.get(18)?),
        changed: Seq(row.get(19)?),
        closed: row.get::<_, Option<i64>>(20)?.map(Seq),
    })
}

/// Reads totals from the columns from `first` on; null columns mean that nothing was counted.
pub(super) fn totals(row: &Row<'_>, first: usize) -> rusqlite::Result<Totals> {
    let mut totals = Totals::default();
    for (column, status) in (first..).zip(project::COUNTED) {
        let count: Option<i64> = row.get(column)?;
        totals.add(status, count.unwrap_or_default().unsigned_abs());
    }
    Ok(totals)
}

/// Writes a new frame's row. A recovered journal may open a frame twice; the later one wins.
pub(super) fn insert_frame(connection: &Connection, frame: &Frame) -> Result<()> {
    let texts = long_texts::texts(frame);
    if long_texts::long_bits(&texts) != 0 {
        long_texts::write(connection, &frame.id, &texts)?;
    }
    let mut insert = connection.prepare_cached(INSERT_FRAME)?;
    with_values(frame, &texts, |values| insert.execute(values))?;
    Ok(())
}

/// Writes a frame's columns except its position, and its status only if it changed: naming the
/// column makes SQLite rewrite the indexes.
pub(super) fn update_frame(
    connection: &Connection,
    before: &RowBefore,
    frame: &Frame,
) -> Result<()> {
    let (sql, used) = if frame.status == before.status {
        (UPDATE_FRAME, 18)
    } else {
        (UPDATE_FRAME_AND_STATUS, 20)
    };
    let texts = long_texts::texts(frame);
    if before.long | long_texts::long_bits(&texts) != 0 {
        long_texts::write(connection, &frame.id, &texts)?;
    }
    let mut update = connection.prepare_cached(sql)?;
    with_values(frame, &texts, |values| {
        update.execute(params_from_iter(values.iter().take(used)))
    })?;
    Ok(())
}

/// The properties of a frame's row that decide how it is updated.
pub(super) struct RowBefore {
    status: Status,
    /// Bits of its long texts.
    long: i64,
}

impl RowBefore {
    pub(super) fn of(frame: &Frame) -> Self {
        Self {
            status: frame.status,
            long: long_texts::long_bits(&long_texts::texts(frame)),
        }
    }
}

/// Returns the values of a frame's row: those an edit may change, those an end changes, the rest.
fn with_values<T>(
    frame: &Frame,
    texts: &FrameTexts<'_>,
    write: impl FnOnce(&[&dyn ToSql; 25]) -> T,
) -> T {
    let awaiting = frame.awaiting.as_ref().map(encoded);
    let span = frame.span.as_ref();
    let long = long_texts::long_bits(texts);
    let in_row: FrameTexts<'_> = std::array::from_fn(|place| {
        texts
            .get(place)
            .copied()
            .flatten()
            .filter(|_| long & (1 << place) == 0)
    });
    let [
        criteria,
        criteria_compacted,
        results,
        results_compacted,
        blocked,
        reason,
        summary,
        foreign,
    ] = &in_row;
    write(&[
        &frame.id.as_str(),
        &frame.title.as_str(),
        criteria,
        criteria_compacted,
        results,
        results_compacted,
        blocked,
        reason,
        &frame.invalidation.as_ref().map(|known| known.at.0),
        &span.map(|span| span.session.to_string()),
        &span.and_then(|span| span.first.as_deref()),
        &span.and_then(|span| span.last.as_deref()),
        &frame.session.as_ref().map(ToString::to_string),
        &frame.updated_at.0,
        &frame.changed.0,
        summary,
        &awaiting,
        &long,
        &frame.status.as_str(),
        &frame.closed.map(|seq| seq.0),
        &frame.parent.as_ref().map(FrameId::as_str),
        &frame.rank.0,
        foreign,
        &frame.created_at.0,
        &frame.origin.as_str(),
    ])
}

const INSERT_FRAME: &str = "INSERT OR REPLACE INTO frames (id, title, criteria,
         criteria_compacted, results, results_compacted, blocked_on, invalidation_reason,
         invalidated_at, span_session, span_first, span_last, session, updated_at, changed, summary,
         awaiting, long, status, closed, parent, rank, foreign_json, created_at, origin, root, depth)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19,
         ?20, ?21, ?22, ?23, ?24, ?25,
         coalesce((SELECT root FROM frames WHERE id = ?21), ?1),
         coalesce((SELECT depth + 1 FROM frames WHERE id = ?21), 0))";
const UPDATE_FRAME: &str = "UPDATE frames SET title = ?2, criteria = ?3, criteria_compacted = ?4,
         results = ?5, results_compacted = ?6, blocked_on = ?7, invalidation_reason = ?8,
         invalidated_at = ?9, span_session = ?10, span_first = ?11, span_last = ?12,
         session = ?13, updated_at = ?14, changed = ?15, summary = ?16, awaiting = ?17, long = ?18
     WHERE id = ?1";
const UPDATE_FRAME_AND_STATUS: &str = "UPDATE frames SET title = ?2, criteria = ?3,
         criteria_compacted = ?4, results = ?5, results_compacted = ?6, blocked_on = ?7,
         invalidation_reason = ?8, invalidated_at = ?9, span_session = ?10, span_first = ?11,
         span_last = ?12, session = ?13, updated_at = ?14, changed = ?15,
         summary = ?16, awaiting = ?17, long = ?18, status = ?19, closed = ?20
     WHERE id = ?1";

/// Reads a note from `kind, text, why, code`.
pub(super) fn note(row: &Row<'_>) -> rusqlite::Result<Note> {
    let text: String = row.get(1)?;
    let why: Option<String> = row.get(2)?;
    let code: Option<i64> = row.get(3)?;
    let by: Option<String> = row.get(4)?;
    parsed(row, 0, |kind| {
        Note::try_from(NoteRecord {
            kind: kind.into(),
            text: text.into(),
            why: why.map(Into::into),
            exit_code: code.and_then(|code| i32::try_from(code).ok()),
            passed: code.map(|code| code == 1),
            by: by.map(Into::into),
        })
    })
}

/// Encodes a value for a column of the projection.
pub(super) fn encoded<T: Stored>(value: &T) -> String {
    // Strings and numbers always serialise.
    record::encode(value).unwrap_or_default()
}

/// Returns the hash by which a text is found.
pub(super) fn text_mark(text: &str) -> i64 {
    let hash = *blake3::hash(text.as_bytes()).as_bytes();
    let first: [u8; 8] = std::array::from_fn(|n| hash.get(n).copied().unwrap_or_default());
    i64::from_le_bytes(first)
}

/// Reads a log entry from `label, blob, bytes`.
pub(super) fn log_entry(row: &Row<'_>) -> rusqlite::Result<LogEntry> {
    let bytes: i64 = row.get(2)?;
    Ok(LogEntry {
        label: Title::recorded(row.get(0)?),
        blob: parsed(row, 1, |hash| {
            BlobId::from_hex(hash).ok_or_else(|| format!("`{hash}` is not a hash"))
        })?,
        bytes: bytes.unsigned_abs(),
    })
}
