//! Frames and their parts as rows.

use flamestack_core::compaction::Compaction;
use flamestack_core::frame::{
    Awaiting, Frame, FrameHead, Invalidation, LogEntry, Origin, Rank, Span, Status,
};
use flamestack_core::id::{BlobId, FrameId, Seq, SessionRef, Timestamp};
use flamestack_core::note::{Evidence, Note};
use flamestack_core::text::{Prose, Title};
use rusqlite::types::{Type, ValueRef};
use rusqlite::{Connection, Row, ToSql, params_from_iter};

use super::project;
use crate::error::StoreError;
use crate::record;
use crate::store::Totals;

/// The columns that [`frame`] expects, in order.
pub(super) const COLUMNS: &str = "f.id, f.parent, f.rank, f.status, f.title, f.criteria, \
     f.criteria_compacted, f.results, f.results_compacted, f.blocked_on, f.invalidation_reason, \
     f.invalidated_at, f.span_session, f.span_first, f.span_last, f.session, f.foreign_json, \
     f.created_at, f.updated_at, f.changed, f.closed, f.origin, f.summary, f.awaiting";
/// How many they are.
pub(super) const COUNT: usize = 24;

/// The columns that [`head`] expects, in order.
pub(super) const HEAD_COLUMNS: &str =
    "f.id, f.parent, f.rank, f.status, f.title, f.blocked_on, f.session, f.origin";

/// A row's text read through a parser, where it stands; a value that does not parse is a damaged
/// row.
fn parsed<T>(
    row: &Row<'_>,
    column: usize,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> rusqlite::Result<T> {
    parsed_text(row.get_ref(column)?.as_str()?, column, parse)
}

fn parsed_text<T>(
    text: &str,
    column: usize,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> rusqlite::Result<T> {
    parse(text).map_err(|problem| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, problem.into())
    })
}

/// The same for a value that may be missing.
fn opt_parsed<T>(
    row: &Row<'_>,
    column: usize,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> rusqlite::Result<Option<T>> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        value => parsed_text(value.as_str()?, column, parse).map(Some),
    }
}

pub(super) fn id(row: &Row<'_>, column: usize) -> rusqlite::Result<FrameId> {
    parsed(row, column, record::frame_id)
}

pub(super) fn opt_id(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<FrameId>> {
    opt_parsed(row, column, record::frame_id)
}

pub(super) fn session(row: &Row<'_>, column: usize) -> rusqlite::Result<SessionRef> {
    parsed(row, column, record::session)
}

fn opt_session(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<SessionRef>> {
    opt_parsed(row, column, record::session)
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

fn prose(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Prose>> {
    Ok(row.get::<_, Option<String>>(column)?.map(Prose::recorded))
}

pub(super) fn awaiting(row: &Row<'_>, column: usize) -> rusqlite::Result<Awaiting> {
    parsed(row, column, record::awaiting)
}

pub(super) fn compaction(row: &Row<'_>, column: usize) -> rusqlite::Result<Compaction> {
    parsed(row, column, record::compaction)
}

/// What the rules look at.
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
    })
}

/// A frame without its notes, log and aliases, which are rows of their own.
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
        awaiting: opt_parsed(row, 23, record::awaiting)?,
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

/// Totals out of the columns from `first` on; all are missing where nothing was ever counted.
pub(super) fn totals(row: &Row<'_>, first: usize) -> rusqlite::Result<Totals> {
    let mut totals = Totals::default();
    for (column, status) in (first..).zip(project::COUNTED) {
        let count: Option<i64> = row.get(column)?;
        totals.add(status, count.unwrap_or_default().unsigned_abs());
    }
    Ok(totals)
}

/// Writes a new frame's row. A journal that was mended may open a frame twice; the later one counts.
pub(super) fn insert_frame(connection: &Connection, frame: &Frame) -> Result<(), StoreError> {
    let mut insert = connection.prepare_cached(INSERT_FRAME)?;
    with_values(frame, |values| insert.execute(values))?;
    Ok(())
}

/// Writes what may have changed of a frame, except its place. Its status only if it did change:
/// naming the column makes SQLite write the indexes again.
pub(super) fn update_frame(
    connection: &Connection,
    before: Status,
    frame: &Frame,
) -> Result<(), StoreError> {
    let (sql, used) = if frame.status == before {
        (UPDATE_FRAME, 17)
    } else {
        (UPDATE_FRAME_AND_STATUS, 19)
    };
    let mut update = connection.prepare_cached(sql)?;
    with_values(frame, |values| {
        update.execute(params_from_iter(values.iter().take(used)))
    })?;
    Ok(())
}

/// The values of a frame's row: what an edit may change, what an end changes too, what stays.
fn with_values<T>(frame: &Frame, write: impl FnOnce(&[&dyn ToSql; 24]) -> T) -> T {
    let awaiting = frame.awaiting.as_ref().map(record::awaiting_text);
    let span = frame.span.as_ref();
    let invalidation = frame.invalidation.as_ref();
    write(&[
        &frame.id.as_str(),
        &frame.title.as_str(),
        &text(frame.criteria.as_ref()),
        &text(frame.criteria_compacted.as_ref()),
        &text(frame.results.as_ref()),
        &text(frame.results_compacted.as_ref()),
        &text(frame.blocked_on.as_ref()),
        &invalidation.map(|known| known.reason.as_str()),
        &invalidation.map(|known| known.at.0),
        &span.map(|span| span.session.to_string()),
        &span.and_then(|span| span.first.as_deref()),
        &span.and_then(|span| span.last.as_deref()),
        &frame.session.as_ref().map(ToString::to_string),
        &frame.updated_at.0,
        &frame.changed.0,
        &text(frame.summary.as_ref()),
        &awaiting,
        &frame.status.as_str(),
        &frame.closed.map(|seq| seq.0),
        &frame.parent.as_ref().map(FrameId::as_str),
        &frame.rank.0,
        &frame.foreign,
        &frame.created_at.0,
        &frame.origin.as_str(),
    ])
}

const INSERT_FRAME: &str = "INSERT OR REPLACE INTO frames (id, title, criteria,
         criteria_compacted, results, results_compacted, blocked_on, invalidation_reason,
         invalidated_at, span_session, span_first, span_last, session, updated_at, changed, summary,
         awaiting, status, closed, parent, rank, foreign_json, created_at, origin, root, depth)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19,
         ?20, ?21, ?22, ?23, ?24,
         coalesce((SELECT root FROM frames WHERE id = ?20), ?1),
         coalesce((SELECT depth + 1 FROM frames WHERE id = ?20), 0))";
const UPDATE_FRAME: &str = "UPDATE frames SET title = ?2, criteria = ?3, criteria_compacted = ?4,
         results = ?5, results_compacted = ?6, blocked_on = ?7, invalidation_reason = ?8,
         invalidated_at = ?9, span_session = ?10, span_first = ?11, span_last = ?12,
         session = ?13, updated_at = ?14, changed = ?15, summary = ?16, awaiting = ?17
     WHERE id = ?1";
const UPDATE_FRAME_AND_STATUS: &str = "UPDATE frames SET title = ?2, criteria = ?3,
         criteria_compacted = ?4, results = ?5, results_compacted = ?6, blocked_on = ?7,
         invalidation_reason = ?8, invalidated_at = ?9, span_session = ?10, span_first = ?11,
         span_last = ?12, session = ?13, updated_at = ?14, changed = ?15,
         summary = ?16, awaiting = ?17, status = ?18, closed = ?19
     WHERE id = ?1";

fn text(prose: Option<&Prose>) -> Option<&str> {
    prose.map(Prose::as_str)
}

/// The kind, text, reason and number under which a note is kept.
pub(super) fn note_columns(note: &Note) -> (&'static str, &str, Option<&str>, Option<i64>) {
    match note {
        Note::Artifact(text) => ("artifact", text.as_str(), None, None),
        Note::Decision { text, why } => (
            "decision",
            text.as_str(),
            why.as_ref().map(Prose::as_str),
            None,
        ),
        Note::FailedAttempt { text, why } => (
            "failed_attempt",
            text.as_str(),
            why.as_ref().map(Prose::as_str),
            None,
        ),
        Note::Evidence(Evidence::Command { command, exit_code }) => (
            "command",
            command.as_str(),
            None,
            Some(i64::from(*exit_code)),
        ),
        Note::Evidence(Evidence::Test { id, passed }) => {
            ("test", id.as_str(), None, Some(i64::from(*passed)))
        }
        Note::Directive(text) => ("directive", text.as_str(), None, None),
        Note::Evidence(Evidence::Commit(hash)) => ("commit", hash.as_str(), None, None),
    }
}

/// A note back from `kind, text, why, code`.
pub(super) fn note(row: &Row<'_>) -> rusqlite::Result<Note> {
    let text = Prose::recorded(row.get(1)?);
    let why = prose(row, 2)?;
    let code: Option<i64> = row.get(3)?;
    parsed(row, 0, |kind| match kind {
        "artifact" => Ok(Note::Artifact(text)),
        "decision" => Ok(Note::Decision { text, why }),
        "failed_attempt" => Ok(Note::FailedAttempt { text, why }),
        "command" => {
            let exit_code = code
                .and_then(|code| i32::try_from(code).ok())
                .unwrap_or_default();
            Ok(Note::Evidence(Evidence::Command {
                command: text,
                exit_code,
            }))
        }
        "test" => Ok(Note::Evidence(Evidence::Test {
            id: text,
            passed: code == Some(1),
        })),
        "directive" => Ok(Note::Directive(text)),
        "commit" => Ok(Note::Evidence(Evidence::Commit(text))),
        other => Err(format!("`{other}` is not a kind of note")),
    })
}

/// A log entry back from `label, blob, bytes`.
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
