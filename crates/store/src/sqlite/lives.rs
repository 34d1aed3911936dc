//! The projection of sessions' lives: states, changes of state, interruptions and links.
//!
//! `flamestack_core::session` defines what an event means for them. A life is one row, written when one
//! of its session's signals is recorded, so that a listing costs as much as there are sessions, however
//! long their histories are.

use flamestack_core::event::{Event, Recorded};
use flamestack_core::id::{Seq, SessionRef, Timestamp};
use flamestack_core::session::checkpoint::InterruptionCheckpoint;
use flamestack_core::session::life::{Life, Transition};
use flamestack_core::session::link::{LinkChange, LinkKind, SessionLink};
use flamestack_core::session::state::{SessionState, Signal};
use flamestack_core::text::Text;
use rusqlite::{Connection, Row, params};

use super::rows;
use super::statements::{self, Statements as _};
use super::view::SqliteView;
use crate::error::Result;
use crate::projections::LifeReading;

/// Applies an event to the lives of sessions.
pub(super) fn project(connection: &Connection, recorded: &Recorded) -> Result<()> {
    if let Some(change) = SessionLink::changed(recorded) {
        link(connection, &change)?;
    }
    if let Event::InterruptionKept(checkpoint) = &recorded.event {
        connection.write(
            "INSERT OR REPLACE INTO interruptions VALUES (?1, ?2, ?3, ?4)",
            params![
                recorded.session.to_string(),
                recorded.seq.0,
                recorded.at.0,
                rows::encoded(checkpoint.as_ref())
            ],
        )?;
    }
    let Some(session) = Life::concerned(recorded) else {
        return Ok(());
    };
    let known = one(connection, session)?;
    let before = known.clone();
    let (life, changes) = Life::after(known, session, recorded);
    if before.as_ref() != Some(&life) {
        put(connection, &life)?;
    }
    keep(connection, &life, &changes)?;
    let Some(parent) = life.concerned_parent(recorded) else {
        return Ok(());
    };
    if let Some(mut above) = one(connection, parent)? {
        let change = above.after_child(session, recorded);
        put(connection, &above)?;
        keep(connection, &above, change.as_slice())?;
    }
    Ok(())
}

/// Appends changes of state to a session's history; the life counts them already.
fn keep(connection: &Connection, life: &Life, changes: &[Transition]) -> Result<()> {
    let first = life.transitions.saturating_sub(changes.len() as u64) + 1;
    for (n, change) in (first..).zip(changes) {
        connection.write(
            "INSERT OR REPLACE INTO transitions VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                life.session.to_string(),
                n.cast_signed(),
                change.from.map(SessionState::as_str),
                change.to.as_str(),
                change.at.0,
                change.seq.0,
                change.signal.as_str(),
                change.detail.as_ref().map(Text::as_str)
            ],
        )?;
    }
    Ok(())
}

fn link(connection: &Connection, change: &LinkChange) -> Result<()> {
    let (sql, link) = match change {
        LinkChange::Made(link) => ("INSERT OR IGNORE INTO links VALUES (?1, ?2, ?3)", link),
        LinkChange::Removed(link) => (
            "DELETE FROM links WHERE session = ?1 AND kind = ?2 AND target = ?3",
            link,
        ),
    };
    connection.write(
        sql,
        params![
            link.session.to_string(),
            link.kind.as_str(),
            link.to.to_string()
        ],
    )
}

fn put(connection: &Connection, life: &Life) -> Result<()> {
    connection.write(
        "INSERT OR REPLACE INTO lives VALUES (?1, ?2, ?3, ?4)",
        params![
            life.session.to_string(),
            life.parent.as_ref().map(SessionRef::to_string),
            life.state.as_str(),
            rows::encoded(life)
        ],
    )
}

/// Returns the life of a session.
pub(super) fn one(connection: &Connection, session: &SessionRef) -> Result<Option<Life>> {
    connection.one(
        "SELECT body FROM lives WHERE session = ?1",
        [session.to_string()],
        |row| rows::stored(row, 0),
    )
}

impl LifeReading for SqliteView<'_> {
    fn lives(&self, busy_only: bool) -> Result<Vec<Life>> {
        let sql = if busy_only {
            "SELECT body FROM lives INDEXED BY lives_busy
             WHERE state IN ('executing', 'waiting_user', 'waiting_child', 'compacting')
             ORDER BY session"
        } else {
            "SELECT body FROM lives ORDER BY session"
        };
        self.connection.many(sql, [], |row| rows::stored(row, 0))
    }

    fn transitions(&self, session: &SessionRef, limit: usize) -> Result<Vec<Transition>> {
        let mut found = self.connection.many(
            "SELECT from_state, to_state, at, seq, signal, detail FROM transitions
             WHERE session = ?1 ORDER BY n DESC LIMIT ?2",
            params![session.to_string(), statements::limit(limit)],
            transition,
        )?;
        found.reverse();
        Ok(found)
    }

    fn interruptions(
        &self,
        session: &SessionRef,
        limit: usize,
    ) -> Result<Vec<(Timestamp, InterruptionCheckpoint)>> {
        let mut found = self.connection.many(
            "SELECT at, body FROM interruptions WHERE session = ?1 ORDER BY seq DESC LIMIT ?2",
            params![session.to_string(), statements::limit(limit)],
            |row| Ok((Timestamp(row.get(0)?), rows::stored(row, 1)?)),
        )?;
        found.reverse();
        Ok(found)
    }

    fn all_links(&self) -> Result<Vec<SessionLink>> {
        links(self.connection, None)
    }
}

fn transition(row: &Row<'_>) -> rusqlite::Result<Transition> {
    let state = |column| {
        let name: Option<String> = row.get(column)?;
        Ok::<_, rusqlite::Error>(name.and_then(|name| SessionState::from_name(&name)))
    };
    let signal: String = row.get(4)?;
    Ok(Transition {
        from: state(0)?,
        // An unknown name was written by a newer version.
        to: state(1)?.unwrap_or(SessionState::Beginning),
        at: Timestamp(row.get(2)?),
        seq: Seq(row.get(3)?),
        signal: Signal::from_name(&signal).unwrap_or(Signal::Opened),
        detail: rows::prose(row, 5)?,
    })
}

/// Returns the forks and hand-offs of a session in both directions, or all of them, sorted.
pub(super) fn links(
    connection: &Connection,
    session: Option<&SessionRef>,
) -> Result<Vec<SessionLink>> {
    let read = |row: &Row<'_>| {
        let kind: String = row.get(1)?;
        Ok(SessionLink {
            session: rows::session(row, 0)?,
            kind: LinkKind::from_name(&kind).unwrap_or(LinkKind::Fork),
            to: rows::session(row, 2)?,
        })
    };
    let mut found = match session {
        Some(session) => connection.many(
            "SELECT session, kind, target FROM links WHERE session = ?1
             UNION SELECT session, kind, target FROM links WHERE target = ?1",
            [session.to_string()],
            read,
        )?,
        None => connection.many("SELECT session, kind, target FROM links", [], read)?,
    };
    found.sort();
    Ok(found)
}
