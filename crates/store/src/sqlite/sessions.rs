//! The projection of sessions: active frames and activity.

use flamestack_core::compaction::{Compaction, CompactionLoop, CompactionUpdate};
use flamestack_core::event::{Event, Recorded};
use flamestack_core::fold;
use flamestack_core::id::{FrameId, Seq, SessionRef};
use flamestack_core::session::{Activity, Description};
use flamestack_core::text::Text;
use flamestack_core::transcript::Usage;
use rusqlite::{Connection, Row, params};

use super::rows;
use super::statements::Statements as _;
use crate::error::Result;
use crate::record;

/// Applies an event to the projection of sessions.
pub(super) fn project(connection: &Connection, recorded: &Recorded) -> Result<()> {
    match &recorded.event {
        Event::SessionOpened { session, worktree } => {
            require_session(connection, session)?;
            connection.write(
                "UPDATE sessions SET worktree = ?2 WHERE key = ?1 AND worktree IS NULL",
                params![session.to_string(), worktree],
            )?;
        }
        Event::SessionFocused { session, to, .. } => {
            // A journal with a gap may lack the event that opened the session.
            let turn = fold::turn(recorded);
            connection.write(
                "INSERT INTO sessions (key, id, active, turn_message, turn_before)
                     VALUES (?1, ?2, ?3, ?4, ?5)
                     ON CONFLICT (key) DO UPDATE
                     SET active = ?3, turn_message = ?4, turn_before = ?5",
                params![
                    session.to_string(),
                    session.id(),
                    to.as_ref().map(FrameId::as_str),
                    turn.as_ref().map(|turn| turn.message.as_str()),
                    turn.as_ref()
                        .and_then(|turn| turn.before.as_ref())
                        .map(FrameId::as_str)
                ],
            )?;
        }
        event @ (Event::SessionBound { .. }
        | Event::SessionUnbound { .. }
        | Event::FrameImported { .. }
        | Event::FrameCopied { .. }) => bind(connection, event)?,
        Event::SessionReverted { session, .. } => {
            require_session(connection, session)?;
            wound_back(connection, session, Some(recorded.seq))?;
        }
        Event::SessionRestored { session, .. } | Event::SessionPrompted { session, .. } => {
            wound_back(connection, session, None)?;
        }
        Event::EntriesIngested { marks, .. } => {
            connection.write(
                "INSERT OR IGNORE INTO ingested VALUES (?1)",
                [recorded.batch.0],
            )?;
            let mut insert = connection.prepare_cached("INSERT OR IGNORE INTO seen VALUES (?1)")?;
            for mark in marks {
                insert.execute([mark.0.cast_signed()])?;
            }
        }
        _ => {}
    }
    if let Some(session) = Activity::concerned(&recorded.event) {
        let mut known = activity(connection, session)?;
        known.apply(recorded);
        put(connection, session, &known)?;
    }
    if let Some(session) = Compaction::concerned(recorded) {
        project_compaction(connection, session, recorded)?;
    }
    Ok(())
}

/// Applies an event to the frame that is a session's own.
pub(super) fn bind(connection: &Connection, event: &Event) -> Result<()> {
    match event {
        Event::SessionBound { session, frame } => own(connection, session, Some(frame)),
        Event::SessionUnbound { session, .. } => own(connection, session, None),
        Event::FrameImported { frame } | Event::FrameCopied { frame, .. } => match &frame.session {
            Some(session) => own(connection, session, Some(&frame.id)),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

fn project_compaction(
    connection: &Connection,
    session: &SessionRef,
    recorded: &Recorded,
) -> Result<()> {
    let newest = last_compaction(connection, session)?;
    let (n, newest) = newest.map_or((0, None), |(n, newest)| (n, Some(newest)));
    let (n, compaction) = match Compaction::apply(newest, recorded) {
        None => return Ok(()),
        Some(CompactionUpdate::Added(next)) => (n + 1, next),
        Some(CompactionUpdate::Newest(newest)) => (n, newest),
    };
    let body = rows::encoded(&compaction);
    connection.write(
        "INSERT OR REPLACE INTO compactions VALUES (?1, ?2, ?3)",
        params![session.to_string(), n, body],
    )
}

/// Returns the newest compaction of a session and its number.
pub(super) fn last_compaction(
    connection: &Connection,
    session: &SessionRef,
) -> Result<Option<(i64, Compaction)>> {
    let last = connection.one(
        "SELECT n, body FROM compactions WHERE session = ?1 ORDER BY n DESC LIMIT 1",
        [session.to_string()],
        |row| Ok((row.get(0)?, rows::compaction(row, 1)?)),
    )?;
    Ok(last)
}

/// Applies a host's description of a session.
pub(super) fn project_description(
    connection: &Connection,
    recorded: &Recorded,
    description: &Description,
) -> Result<()> {
    connection.write(
        "INSERT OR REPLACE INTO descriptions VALUES (?1, ?2)",
        params![recorded.session.to_string(), rows::encoded(description)],
    )
}

/// Returns the host's description of a session.
pub(super) fn description(
    connection: &Connection,
    session: &SessionRef,
) -> Result<Option<Description>> {
    let body: Option<String> = connection.one(
        "SELECT body FROM descriptions WHERE session = ?1",
        [session.to_string()],
        |row| row.get(0),
    )?;
    // An unreadable description is treated as an unknown one.
    Ok(body.and_then(|body| record::decode(&body).ok()))
}

fn require_session(connection: &Connection, session: &SessionRef) -> Result<()> {
    connection.write(
        "INSERT OR IGNORE INTO sessions (key, id) VALUES (?1, ?2)",
        params![session.to_string(), session.id()],
    )
}

fn wound_back(connection: &Connection, session: &SessionRef, by: Option<Seq>) -> Result<()> {
    connection.write(
        "UPDATE sessions SET reverted = ?2 WHERE key = ?1 AND reverted IS NOT ?2",
        params![session.to_string(), by.map(|seq| seq.0)],
    )
}

pub(super) fn own(
    connection: &Connection,
    session: &SessionRef,
    frame: Option<&FrameId>,
) -> Result<()> {
    require_session(connection, session)?;
    connection.write(
        "UPDATE sessions SET own = ?2 WHERE key = ?1",
        params![session.to_string(), frame.map(FrameId::as_str)],
    )
}

/// Returns the activity counters of a session; all zero if it is unknown.
pub(super) fn activity(connection: &Connection, session: &SessionRef) -> Result<Activity> {
    let known = connection.one(
        "SELECT prompts, opening, said, interrupted, interruptions, compactions, calls, model,
                 input, cache_read, cache_write, output, reasoning, micro_dollars, size, streak,
                 streak_calls, stall, resumes, is_resuming
             FROM activity WHERE session = ?1",
        [session.to_string()],
        read,
    )?;
    Ok(known.unwrap_or_default())
}

fn read(row: &Row<'_>) -> rusqlite::Result<Activity> {
    let count = |column: usize| row.get::<_, i64>(column).map(i64::cast_unsigned);
    Ok(Activity {
        prompts: count(0)?,
        opening: row.get(1)?,
        said: row.get::<_, Option<String>>(2)?.map(Text::recorded),
        interrupted: row.get(3)?,
        interruptions: count(4)?,
        compactions: count(5)?,
        calls: count(6)?,
        spent: Usage {
            model: row.get(7)?,
            input: count(8)?,
            cache_read: count(9)?,
            cache_write: count(10)?,
            output: count(11)?,
            reasoning: count(12)?,
            micro_dollars: row.get::<_, Option<i64>>(13)?.map(i64::cast_unsigned),
        },
        size: count(14)?,
        compaction_loop: CompactionLoop {
            compactions: count(15)?,
            calls: count(16)?,
        },
        // An unreadable stall is treated as none.
        stall: row
            .get::<_, Option<String>>(17)?
            .and_then(|body| record::decode(&body).ok()),
        resumes: count(18)?,
        is_resuming: row.get(19)?,
    })
}

fn put(connection: &Connection, session: &SessionRef, known: &Activity) -> Result<()> {
    let spent = &known.spent;
    connection.write(
        "INSERT OR REPLACE INTO activity
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,
                 ?17, ?18, ?19, ?20, ?21)",
        params![
            session.to_string(),
            known.prompts.cast_signed(),
            known.opening,
            known.said.as_ref().map(Text::as_str),
            known.interrupted,
            known.interruptions.cast_signed(),
            known.compactions.cast_signed(),
            known.calls.cast_signed(),
            spent.model,
            spent.input.cast_signed(),
            spent.cache_read.cast_signed(),
            spent.cache_write.cast_signed(),
            spent.output.cast_signed(),
            spent.reasoning.cast_signed(),
            spent.micro_dollars.map(u64::cast_signed),
            known.size.cast_signed(),
            known.compaction_loop.compactions.cast_signed(),
            known.compaction_loop.calls.cast_signed(),
            known.stall.as_ref().map(rows::encoded),
            known.resumes.cast_signed(),
            known.is_resuming,
        ],
    )
}
