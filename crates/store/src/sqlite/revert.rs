//! Reverted sessions: masking events, and the questions of the rules about them.
//!
//! There is no index of events by session: reverts are rare, but every command would have to write
//! it.

use flamestack_core::delivery::Delivery;
use flamestack_core::event::{Event, Recorded, Subject};
use flamestack_core::fold;
use flamestack_core::frame::FrameHead;
use flamestack_core::id::{FrameId, Seq, SessionRef};
use flamestack_core::session::Activity;
use flamestack_core::tree_query::MaskOverlay;
use rusqlite::{Connection, params};

use super::journal::COUNTS;
use super::statements::Statements as _;
use super::{journal, project, sent};
use crate::error::Result;

/// Masks or unmasks events and folds again what they changed.
pub(super) fn project(
    connection: &Connection,
    rewound: &Recorded,
    events: &[Seq],
    hide: bool,
) -> Result<()> {
    connection.write("INSERT OR IGNORE INTO rewound VALUES (?1)", [rewound.seq.0])?;
    let sql = if hide {
        "INSERT OR IGNORE INTO masked VALUES (?1)"
    } else {
        "DELETE FROM masked WHERE seq = ?1"
    };
    let mut change = connection.prepare_cached(sql)?;
    for seq in events {
        change.execute([seq.0])?;
    }
    let events = recorded(connection, events)?;
    project::fold_again(connection, &events, rewound.seq)?;
    for entry in &events {
        if let Event::ContextSent(sending) = &entry.event
            && !matches!(sending.delivery, Delivery::Header(_))
        {
            sent::count(connection, entry, sending, !hide)?;
        }
    }
    Ok(())
}

/// Returns true if an event is masked by a revert of its session.
pub(super) fn is_masked(connection: &Connection, seq: Seq) -> Result<bool> {
    let mut found = connection.prepare_cached("SELECT 1 FROM masked WHERE seq = ?1")?;
    Ok(found.exists([seq.0])?)
}

/// Returns events by their sequence numbers.
pub(super) fn recorded(connection: &Connection, places: &[Seq]) -> Result<Vec<Recorded>> {
    let mut events = Vec::with_capacity(places.len());
    for seq in places {
        events.extend(journal::event(connection, *seq)?);
    }
    Ok(events)
}

/// Visits the unmasked events of a session, newest first, until `each` returns false.
fn backwards(
    connection: &Connection,
    session: &SessionRef,
    before: Seq,
    each: &mut dyn FnMut(Recorded) -> bool,
) -> Result<()> {
    let columns = journal::COLUMNS;
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {columns} FROM events e
         WHERE e.session = ?1 AND e.seq < ?2 AND {COUNTS} ORDER BY e.seq DESC"
    ))?;
    let mut found = statement.query(params![session.to_string(), before.0])?;
    while let Some(row) = found.next()? {
        if !each(journal::read(row)?) {
            break;
        }
    }
    Ok(())
}

/// Returns the events of a session from the first of these messages on.
pub(super) fn events_from_message(
    connection: &Connection,
    session: &SessionRef,
    messages: &[String],
) -> Result<Vec<Recorded>> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT e.seq, e.message FROM events e
         WHERE e.session = ?1 AND e.message IS NOT NULL AND {COUNTS} ORDER BY e.seq"
    ))?;
    let mut found = statement.query(params![session.to_string()])?;
    while let Some(row) = found.next()? {
        let message: String = row.get(1)?;
        if messages.contains(&message) {
            return events_since(connection, session, Seq(row.get(0)?));
        }
    }
    Ok(Vec::new())
}

/// Returns the events of a session from a point on.
pub(super) fn events_since(
    connection: &Connection,
    session: &SessionRef,
    from: Seq,
) -> Result<Vec<Recorded>> {
    let from_point =
        format!("FROM events e WHERE e.session = ?1 AND e.seq >= ?2 AND {COUNTS} ORDER BY e.seq");
    journal::select(
        connection,
        &from_point,
        params![session.to_string(), from.0],
    )
}

/// Returns the ingested events of a session's last turn before a point.
pub(super) fn turn_before(
    connection: &Connection,
    session: &SessionRef,
    point: Seq,
) -> Result<Vec<Recorded>> {
    let mut turn = Vec::new();
    backwards(connection, session, point, &mut |entry| {
        let began = matches!(entry.event, Event::SessionPrompted { .. });
        if Activity::concerned(&entry.event) != Some(session) {
            return true;
        }
        turn.push(entry);
        !began
    })?;
    turn.reverse();
    Ok(turn)
}

/// Returns the unmasked events from a point on that change a frame or need it.
pub(super) fn changed_since(
    connection: &Connection,
    frame: &FrameId,
    from: Seq,
) -> Result<Vec<Seq>> {
    let events = journal::select(
        connection,
        &format!(
            "FROM events e
             WHERE e.seq IN (
                     SELECT seq FROM subjects WHERE name = ?1 AND role < 2 AND seq >= ?2
                     UNION ALL
                     SELECT s.seq FROM frames f JOIN subjects s
                     ON s.name = f.id AND s.role = 0 AND s.seq >= ?2
                     WHERE f.parent = ?1)
               AND {COUNTS}
             ORDER BY e.seq"
        ),
        params![frame.as_str(), from.0],
    )?;
    let changes = events.iter().filter(|entry| match &entry.event {
        Event::Noted { .. } | Event::Logged { .. } => false,
        Event::FrameOpened {
            parent: Some(parent),
            ..
        } if parent == frame => true,
        event => event.subjects().any(
            |subject| matches!(subject, Subject::Frame(id) | Subject::Support(id) if id == *frame),
        ),
    });
    Ok(changes.map(|entry| entry.seq).collect())
}

/// Returns a frame as it would be under a mask overlay.
pub(super) fn frame_under(
    connection: &Connection,
    frame: &FrameId,
    counting: &MaskOverlay,
) -> Result<Option<FrameHead>> {
    let events = journal::select(
        connection,
        "FROM subjects s JOIN events e ON e.seq = s.seq
         WHERE s.name = ?1 AND s.role = 0 AND e.batch NOT IN (SELECT batch FROM undone)
         ORDER BY s.seq",
        params![frame.as_str()],
    )?;
    let mut counted = Vec::with_capacity(events.len());
    for entry in events {
        if counting.counts(entry.seq, is_masked(connection, entry.seq)?) {
            counted.push(entry);
        }
    }
    Ok(fold::frame(&counted).map(|frame| frame.head()))
}
