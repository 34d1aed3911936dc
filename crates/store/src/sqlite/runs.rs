//! The projection of subagents.
//!
//! `flamestack_core::subagent` defines what an event means for one.

use flamestack_core::event::{Event, Recorded};
use flamestack_core::id::{Fingerprint, SessionRef, Timestamp};
use flamestack_core::subagent::{EndedBy, SubagentRun, SubagentState};
use flamestack_core::text::{Text, Title};
use rusqlite::{Connection, Row, params};

use super::rows;
use super::statements::Statements as _;
use crate::error::Result;

const COLUMNS: &str = "session, parent, goal, kind, task, message, state, waiting_for, attempts, \
     started, active, ended, output, ended_by";

/// Applies an event to the projection of subagents.
pub(super) fn project(connection: &Connection, recorded: &Recorded) -> Result<()> {
    if matches!(recorded.event, Event::FrameReopened { .. }) {
        connection.write(
            "INSERT OR IGNORE INTO reopened VALUES (?1)",
            [recorded.seq.0],
        )?;
    }
    let Some(session) = SubagentRun::concerned(recorded) else {
        return Ok(());
    };
    let known = one(connection, session)?;
    if let Some(run) = SubagentRun::after(known.clone(), recorded)
        && known.as_ref() != Some(&run)
    {
        put(connection, &run)?;
    }
    Ok(())
}

/// Returns the record of a session as a subagent.
pub(super) fn one(connection: &Connection, session: &SessionRef) -> Result<Option<SubagentRun>> {
    let sql = format!("SELECT {COLUMNS} FROM runs WHERE session = ?1");
    let found = connection.one(&sql, [session.to_string()], read)?;
    Ok(found)
}

/// Returns the subagents that a session started, first to last.
pub(super) fn of(connection: &Connection, parent: &SessionRef) -> Result<Vec<SubagentRun>> {
    let sql = format!("SELECT {COLUMNS} FROM runs WHERE parent = ?1 ORDER BY started, session");
    connection.many(&sql, [parent.to_string()], read)
}

/// Returns all subagents, or those that have not ended, first to last.
pub(super) fn all(connection: &Connection, in_flight: bool) -> Result<Vec<SubagentRun>> {
    let which = if in_flight { "WHERE ended IS NULL" } else { "" };
    let sql = format!("SELECT {COLUMNS} FROM runs {which} ORDER BY started, session");
    connection.many(&sql, [], read)
}

fn read(row: &Row<'_>) -> rusqlite::Result<SubagentRun> {
    let title = |column| {
        Ok::<_, rusqlite::Error>(row.get::<_, Option<String>>(column)?.map(Title::recorded))
    };
    let state: String = row.get(6)?;
    Ok(SubagentRun {
        session: rows::session(row, 0)?,
        parent: rows::opt_session(row, 1)?,
        goal: title(2)?,
        kind: title(3)?,
        task: row
            .get::<_, Option<i64>>(4)?
            .map(|task| Fingerprint(task.cast_unsigned())),
        message: row.get(5)?,
        // An unknown name was written by a newer version.
        state: SubagentState::from_name(&state).unwrap_or(SubagentState::Idle),
        waiting_for: rows::prose(row, 7)?,
        attempts: row.get::<_, i64>(8)?.cast_unsigned(),
        started: Timestamp(row.get(9)?),
        active: Timestamp(row.get(10)?),
        ended: row.get::<_, Option<i64>>(11)?.map(Timestamp),
        output: rows::prose(row, 12)?,
        ended_by: row
            .get::<_, Option<String>>(13)?
            .map(|by| EndedBy::from_name(&by).unwrap_or_default()),
    })
}

fn put(connection: &Connection, run: &SubagentRun) -> Result<()> {
    connection.write(
        "INSERT OR REPLACE INTO runs
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        params![
            run.session.to_string(),
            run.parent.as_ref().map(SessionRef::to_string),
            run.goal.as_ref().map(Title::as_str),
            run.kind.as_ref().map(Title::as_str),
            run.task.map(|Fingerprint(task)| task.cast_signed()),
            run.message,
            run.state.as_str(),
            run.waiting_for.as_ref().map(Text::as_str),
            run.attempts.cast_signed(),
            run.started.0,
            run.active.0,
            run.ended.map(|ended| ended.0),
            run.output.as_ref().map(Text::as_str),
            run.ended_by.map(EndedBy::as_str),
        ],
    )
}
