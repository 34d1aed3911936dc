//! Sessions that are wound back: what of the journal counts then, and what the rules ask about it.
//!
//! There is no index of events by session: this is rare, and every command would write it.

use flamestack_core::context::Delivery;
use flamestack_core::event::{Event, Recorded, Subject};
use flamestack_core::fold;
use flamestack_core::frame::FrameHead;
use flamestack_core::id::{FrameId, Seq, SessionRef};
use flamestack_core::neighbourhood::Otherwise;
use flamestack_core::session::Conversation;
use rusqlite::{Connection, params};

use super::{append, project, sent};
use crate::error::StoreError;

/// Lets events count no longer, or again, and folds what they changed once more.
pub(super) fn project(
    connection: &Connection,
    rewound: &Recorded,
    events: &[Seq],
    hide: bool,
) -> Result<(), StoreError> {
    connection
        .prepare_cached("INSERT OR IGNORE INTO rewound VALUES (?1)")?
        .execute([rewound.seq.0])?;
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

/// Whether an event counts no longer because its session was wound back.
pub(super) fn is_masked(connection: &Connection, seq: Seq) -> Result<bool, StoreError> {
    let mut found = connection.prepare_cached("SELECT 1 FROM masked WHERE seq = ?1")?;
    Ok(found.exists([seq.0])?)
}

/// Events by their places.
pub(super) fn recorded(
    connection: &Connection,
    places: &[Seq],
) -> Result<Vec<Recorded>, StoreError> {
    let columns = append::COLUMNS;
    let sql = format!("SELECT {columns} FROM events e WHERE e.seq = ?1");
    let mut events = Vec::with_capacity(places.len());
    for seq in places {
        events.extend(project::events(connection, &sql, params![seq.0])?);
    }
    Ok(events)
}

/// What a session did, newest first and as far as it counts, until `each` has seen enough.
fn backwards(
    connection: &Connection,
    session: &SessionRef,
    before: Seq,
    each: &mut dyn FnMut(Recorded) -> bool,
) -> Result<(), StoreError> {
    let columns = append::COLUMNS;
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {columns} FROM events e WHERE e.session = ?1 AND e.seq < ?2
           AND e.batch NOT IN (SELECT batch FROM undone)
           AND e.seq NOT IN (SELECT seq FROM masked)
         ORDER BY e.seq DESC"
    ))?;
    let mut found = statement.query(params![session.to_string(), before.0])?;
    while let Some(row) = found.next()? {
        if !each(append::read(row)?) {
            break;
        }
    }
    Ok(())
}

/// What a session did from the first of these messages on.
pub(super) fn passage(
    connection: &Connection,
    session: &SessionRef,
    messages: &[String],
) -> Result<Vec<Recorded>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, message FROM events
         WHERE session = ?1 AND message IS NOT NULL
           AND batch NOT IN (SELECT batch FROM undone)
           AND seq NOT IN (SELECT seq FROM masked)
         ORDER BY seq",
    )?;
    let mut found = statement.query(params![session.to_string()])?;
    while let Some(row) = found.next()? {
        let message: String = row.get(1)?;
        if messages.contains(&message) {
            return done_since(connection, session, Seq(row.get(0)?));
        }
    }
    Ok(Vec::new())
}

/// What a session did from a point on.
pub(super) fn done_since(
    connection: &Connection,
    session: &SessionRef,
    from: Seq,
) -> Result<Vec<Recorded>, StoreError> {
    let columns = append::COLUMNS;
    project::events(
        connection,
        &format!(
            "SELECT {columns} FROM events e WHERE e.session = ?1 AND e.seq >= ?2
               AND e.batch NOT IN (SELECT batch FROM undone)
               AND e.seq NOT IN (SELECT seq FROM masked)
             ORDER BY e.seq"
        ),
        params![session.to_string(), from.0],
    )
}

/// What was seen of a session's last turn before a point.
pub(super) fn turn_before(
    connection: &Connection,
    session: &SessionRef,
    point: Seq,
) -> Result<Vec<Recorded>, StoreError> {
    let mut turn = Vec::new();
    backwards(connection, session, point, &mut |entry| {
        let began = matches!(entry.event, Event::SessionPrompted { .. });
        if Conversation::concerned(&entry.event) != Some(session) {
            return true;
        }
        turn.push(entry);
        !began
    })?;
    turn.reverse();
    Ok(turn)
}

/// The events from a point on that count and change a frame or need it.
pub(super) fn changed_since(
    connection: &Connection,
    frame: &FrameId,
    from: Seq,
) -> Result<Vec<Seq>, StoreError> {
    let columns = append::COLUMNS;
    let events = project::events(
        connection,
        &format!(
            "SELECT {columns} FROM events e
             WHERE e.seq IN (
                     SELECT seq FROM subjects WHERE name = ?1 AND role < 2 AND seq >= ?2
                     UNION ALL
                     SELECT s.seq FROM frames f JOIN subjects s
                     ON s.name = f.id AND s.role = 0 AND s.seq >= ?2
                     WHERE f.parent = ?1)
               AND e.batch NOT IN (SELECT batch FROM undone)
               AND e.seq NOT IN (SELECT seq FROM masked)
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
        event => event.subjects().iter().any(
            |subject| matches!(subject, Subject::Frame(id) | Subject::Support(id) if id == frame),
        ),
    });
    Ok(changes.map(|entry| entry.seq).collect())
}

/// A frame as it would be if other events counted.
pub(super) fn otherwise(
    connection: &Connection,
    frame: &FrameId,
    counting: &Otherwise,
) -> Result<Option<FrameHead>, StoreError> {
    let columns = append::COLUMNS;
    let events = project::events(
        connection,
        &format!(
            "SELECT {columns} FROM subjects s JOIN events e ON e.seq = s.seq
             WHERE s.name = ?1 AND s.role = 0 AND e.batch NOT IN (SELECT batch FROM undone)
             ORDER BY s.seq"
        ),
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
