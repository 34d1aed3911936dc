//! What is kept about subagents.
//!
//! What an event means for one is `flamestack_core::subagent`'s to say.

use flamestack_core::event::{Event, Recorded};
use flamestack_core::id::{Mark, SessionRef, Timestamp};
use flamestack_core::subagent::{Run, State};
use flamestack_core::text::{Prose, Title};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::rows;
use crate::error::StoreError;

const COLUMNS: &str = "session, parent, goal, kind, task, message, state, waiting_for, attempts, \
     started, active, ended, output";

/// Folds an event into what is kept about subagents.
pub(super) fn project(connection: &Connection, recorded: &Recorded) -> Result<(), StoreError> {
    if matches!(recorded.event, Event::FrameReopened { .. }) {
        connection
            .prepare_cached("INSERT OR IGNORE INTO reopened VALUES (?1)")?
            .execute([recorded.seq.0])?;
    }
    let Some(session) = Run::concerned(recorded) else {
        return Ok(());
    };
    let known = one(connection, session)?;
    if let Some(run) = Run::after(known.clone(), recorded)
        && known.as_ref() != Some(&run)
    {
        put(connection, &run)?;
    }
    Ok(())
}

/// What is known of a conversation as a subagent.
pub(super) fn one(
    connection: &Connection,
    session: &SessionRef,
) -> Result<Option<Run>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM runs WHERE session = ?1");
    let found = connection
        .prepare_cached(&sql)?
        .query_row([session.to_string()], read)
        .optional()?;
    Ok(found)
}

/// The subagents that a conversation started, first to last.
pub(super) fn of(connection: &Connection, parent: &SessionRef) -> Result<Vec<Run>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM runs WHERE parent = ?1 ORDER BY started, session");
    many(connection, &sql, params![parent.to_string()])
}

/// All subagents, or those that have not ended, first to last.
pub(super) fn all(connection: &Connection, in_flight: bool) -> Result<Vec<Run>, StoreError> {
    let which = if in_flight { "WHERE ended IS NULL" } else { "" };
    let sql = format!("SELECT {COLUMNS} FROM runs {which} ORDER BY started, session");
    many(connection, &sql, &[])
}

fn many(
    connection: &Connection,
    sql: &str,
    params: &[&dyn rusqlite::ToSql],
) -> Result<Vec<Run>, StoreError> {
    let mut statement = connection.prepare_cached(sql)?;
    let found = statement
        .query_map(params, read)?
        .collect::<Result<_, _>>()?;
    Ok(found)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Run> {
    let title = |column| {
        Ok::<_, rusqlite::Error>(row.get::<_, Option<String>>(column)?.map(Title::recorded))
    };
    let prose = |column| {
        Ok::<_, rusqlite::Error>(row.get::<_, Option<String>>(column)?.map(Prose::recorded))
    };
    let state: String = row.get(6)?;
    Ok(Run {
        session: rows::session(row, 0)?,
        parent: match row.get_ref(1)? {
            rusqlite::types::ValueRef::Null => None,
            _ => Some(rows::session(row, 1)?),
        },
        goal: title(2)?,
        kind: title(3)?,
        task: row
            .get::<_, Option<i64>>(4)?
            .map(|task| Mark(task.cast_unsigned())),
        message: row.get(5)?,
        // Only we write here; another name would be a newer version's.
        state: State::from_name(&state).unwrap_or(State::Idle),
        waiting_for: prose(7)?,
        attempts: row.get::<_, i64>(8)?.cast_unsigned(),
        started: Timestamp(row.get(9)?),
        active: Timestamp(row.get(10)?),
        ended: row.get::<_, Option<i64>>(11)?.map(Timestamp),
        output: prose(12)?,
    })
}

fn put(connection: &Connection, run: &Run) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO runs
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        )?
        .execute(params![
            run.session.to_string(),
            run.parent.as_ref().map(SessionRef::to_string),
            run.goal.as_ref().map(Title::as_str),
            run.kind.as_ref().map(Title::as_str),
            run.task.map(|Mark(task)| task.cast_signed()),
            run.message,
            run.state.as_str(),
            run.waiting_for.as_ref().map(Prose::as_str),
            run.attempts.cast_signed(),
            run.started.0,
            run.active.0,
            run.ended.map(|ended| ended.0),
            run.output.as_ref().map(Prose::as_str),
        ])?;
    Ok(())
}
