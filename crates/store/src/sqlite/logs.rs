//! The history of a frame and the turns in its log.

use flamestack_core::event::Recorded;
use flamestack_core::id::{BlobId, FrameId, SessionRef};
use rusqlite::{Connection, params};

use super::journal::{self, COLUMNS, COUNTS};
use super::project::Role;
use super::statements::{self, Statements as _};
use crate::error::Result;
use crate::projections::{LogEnd, LoggedTurn, WantedTurns};
use crate::transcript;

/// Visits the events about a frame, oldest first, until `each` returns false.
pub(super) fn visit_history(
    connection: &Connection,
    frame: &FrameId,
    each: &mut dyn FnMut(Recorded) -> Result<bool>,
) -> Result<()> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM subjects s JOIN events e ON e.seq = s.seq
         WHERE s.name = ?1 AND s.role = ?2 AND {COUNTS} ORDER BY s.seq"
    ))?;
    let mut found = statement.query(params![frame.as_str(), Role::Frame as i64])?;
    while let Some(row) = found.next()? {
        if !each(journal::read(row)?)? {
            break;
        }
    }
    Ok(())
}

/// Returns the last events about a frame, oldest first, and the number of those before them.
pub(super) fn last_events(
    connection: &Connection,
    frame: &FrameId,
    limit: usize,
) -> Result<(Vec<Recorded>, u64)> {
    let of_frame = format!(
        "FROM subjects s JOIN events e ON e.seq = s.seq
         WHERE s.name = ?1 AND s.role = ?2 AND {COUNTS}"
    );
    let mut events = journal::select(
        connection,
        &format!("{of_frame} ORDER BY s.seq DESC LIMIT ?3"),
        params![frame.as_str(), Role::Frame as i64, statements::limit(limit)],
    )?;
    events.reverse();
    let all: Option<i64> = connection.one(
        &format!("SELECT count(*) {of_frame}"),
        params![frame.as_str(), Role::Frame as i64],
        |row| row.get(0),
    )?;
    let before = all.unwrap_or_default().unsigned_abs();
    let before = before.saturating_sub(events.len() as u64);
    Ok((events, before))
}

/// Returns turns in the logs of a frame and those below it, in order.
pub(super) fn turns(connection: &Connection, wanted: &WantedTurns<'_>) -> Result<Vec<LoggedTurn>> {
    let order = match wanted.end {
        LogEnd::Oldest => "ASC",
        LogEnd::Newest => "DESC",
    };
    // `UNION` ends even if damage made a cycle. Copies of a log, in imports and forks, do not count.
    let mut statement = connection.prepare_cached(&format!(
        "WITH RECURSIVE below (id) AS (
             VALUES (?1) UNION SELECT f.id FROM below b JOIN frames f ON f.parent = b.id)
         SELECT l.blob, l.bytes, l.frame
         FROM below b CROSS JOIN log_entries l ON l.frame = b.id CROSS JOIN events e ON e.seq = l.seq
         WHERE l.label = ?2 AND substr(e.body, 1, 16) = '{{\"kind\":\"logged\"'
           AND (?3 IS NULL OR e.session = ?3)
         ORDER BY l.seq {order}"
    ))?;
    let session = wanted.session.map(SessionRef::to_string);
    let mut found = statement.query(params![wanted.frame.as_str(), transcript::LABEL, session])?;
    let mut turns = Vec::new();
    let mut room = wanted.bytes;
    while let Some(row) = found.next()? {
        let bytes = row.get::<_, i64>(1)?.unsigned_abs();
        if wanted.end == LogEnd::Newest && bytes > room {
            break;
        }
        room = room.saturating_sub(bytes);
        let blob: String = row.get(0)?;
        let frame = row.get::<_, String>(2)?.parse();
        if let (Some(blob), Ok(frame)) = (BlobId::from_hex(&blob), frame) {
            turns.push(LoggedTurn { frame, blob, bytes });
        }
        if room == 0 {
            break;
        }
    }
    if wanted.end == LogEnd::Newest {
        turns.reverse();
    }
    Ok(turns)
}
