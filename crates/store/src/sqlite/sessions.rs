//! What is kept about sessions: where they stand, and what was seen of them.

use flamestack_core::compaction::{Change, Compaction, Streak};
use flamestack_core::event::{Event, Recorded};
use flamestack_core::fold;
use flamestack_core::id::{FrameId, Seq, SessionRef};
use flamestack_core::session::{Conversation, Description};
use flamestack_core::text::Prose;
use flamestack_core::transcript::Usage;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::rows;
use crate::error::StoreError;
use crate::record;

/// Folds an event into what is kept about sessions.
pub(super) fn project(connection: &Connection, recorded: &Recorded) -> Result<(), StoreError> {
    match &recorded.event {
        Event::SessionOpened { session, worktree } => {
            require_session(connection, session)?;
            connection
                .prepare_cached(
                    "UPDATE sessions SET worktree = ?2 WHERE key = ?1 AND worktree IS NULL",
                )?
                .execute(params![session.to_string(), worktree])?;
        }
        Event::SessionFocused { session, to, .. } => {
            // A journal with a gap may never have said that the session is there.
            let turn = fold::turn(recorded);
            connection
                .prepare_cached(
                    "INSERT INTO sessions (key, id, active, turn_message, turn_before)
                     VALUES (?1, ?2, ?3, ?4, ?5)
                     ON CONFLICT (key) DO UPDATE
                     SET active = ?3, turn_message = ?4, turn_before = ?5",
                )?
                .execute(params![
                    session.to_string(),
                    session.id(),
                    to.as_ref().map(FrameId::as_str),
                    turn.as_ref().map(|turn| turn.message.as_str()),
                    turn.as_ref()
                        .and_then(|turn| turn.before.as_ref())
                        .map(FrameId::as_str)
                ])?;
        }
        Event::SessionBound { session, frame } => own(connection, session, Some(frame))?,
        Event::SessionUnbound { session, .. } => own(connection, session, None)?,
        Event::FrameImported(frame) | Event::FrameCopied { frame, .. } => {
            if let Some(session) = &frame.session {
                own(connection, session, Some(&frame.id))?;
            }
        }
        Event::SessionReverted { session, .. } => {
            require_session(connection, session)?;
            wound_back(connection, session, Some(recorded.seq))?;
        }
        Event::SessionRestored { session, .. } | Event::SessionPrompted { session } => {
            wound_back(connection, session, None)?;
        }
        Event::SessionWitnessed { marks, .. } => {
            connection
                .prepare_cached("INSERT OR IGNORE INTO witnessed VALUES (?1)")?
                .execute([recorded.batch.0])?;
            let mut insert = connection.prepare_cached("INSERT OR IGNORE INTO seen VALUES (?1)")?;
            for mark in marks {
                insert.execute([mark.0.cast_signed()])?;
            }
        }
        _ => {}
    }
    if let Some(session) = Conversation::concerned(&recorded.event) {
        let mut known = conversation(connection, session)?;
        known.change(recorded);
        put(connection, session, &known)?;
    }
    if let Some(session) = Compaction::concerned(recorded) {
        project_compaction(connection, session, recorded)?;
    }
    Ok(())
}

fn project_compaction(
    connection: &Connection,
    session: &SessionRef,
    recorded: &Recorded,
) -> Result<(), StoreError> {
    let newest = last_compaction(connection, session)?;
    let (n, newest) = newest.map_or((0, None), |(n, newest)| (n, Some(newest)));
    let (n, compaction) = match Compaction::change(newest, recorded) {
        None => return Ok(()),
        Some(Change::Next(next)) => (n + 1, next),
        Some(Change::Newest(newest)) => (n, newest),
    };
    let body = record::compaction_text(&compaction);
    connection
        .prepare_cached("INSERT OR REPLACE INTO compactions VALUES (?1, ?2, ?3)")?
        .execute(params![session.to_string(), n, body])?;
    Ok(())
}

/// The newest compaction of a session and its number.
pub(super) fn last_compaction(
    connection: &Connection,
    session: &SessionRef,
) -> Result<Option<(i64, Compaction)>, StoreError> {
    let last = connection
        .prepare_cached(
            "SELECT n, body FROM compactions WHERE session = ?1 ORDER BY n DESC LIMIT 1",
        )?
        .query_row([session.to_string()], |row| {
            Ok((row.get(0)?, rows::compaction(row, 1)?))
        })
        .optional()?;
    Ok(last)
}

/// Folds in what a host says of a session.
pub(super) fn project_description(
    connection: &Connection,
    recorded: &Recorded,
    description: &Description,
) -> Result<(), StoreError> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO descriptions VALUES (?1, ?2)")?
        .execute(params![
            recorded.session.to_string(),
            record::description_text(description)
        ])?;
    Ok(())
}

/// What a host says of a session.
pub(super) fn description(
    connection: &Connection,
    session: &SessionRef,
) -> Result<Option<Description>, StoreError> {
    let body: Option<String> = connection
        .prepare_cached("SELECT body FROM descriptions WHERE session = ?1")?
        .query_row([session.to_string()], |row| row.get(0))
        .optional()?;
    Ok(body.as_deref().and_then(record::description))
}

fn require_session(connection: &Connection, session: &SessionRef) -> Result<(), StoreError> {
    connection
        .prepare_cached("INSERT OR IGNORE INTO sessions (key, id) VALUES (?1, ?2)")?
        .execute(params![session.to_string(), session.id()])?;
    Ok(())
}

fn wound_back(
    connection: &Connection,
    session: &SessionRef,
    by: Option<Seq>,
) -> Result<(), StoreError> {
    connection
        .prepare_cached("UPDATE sessions SET reverted = ?2 WHERE key = ?1 AND reverted IS NOT ?2")?
        .execute(params![session.to_string(), by.map(|seq| seq.0)])?;
    Ok(())
}

pub(super) fn own(
    connection: &Connection,
    session: &SessionRef,
    frame: Option<&FrameId>,
) -> Result<(), StoreError> {
    require_session(connection, session)?;
    connection
        .prepare_cached("UPDATE sessions SET own = ?2 WHERE key = ?1")?
        .execute(params![session.to_string(), frame.map(FrameId::as_str)])?;
    Ok(())
}

/// What was seen of a session.
pub(super) fn conversation(
    connection: &Connection,
    session: &SessionRef,
) -> Result<Conversation, StoreError> {
    let known = connection
        .prepare_cached(
            "SELECT prompts, opening, said, interrupted, interruptions, compactions, calls, model,
                 input, cache_read, cache_write, output, reasoning, micro_dollars, size, streak,
                 streak_calls
             FROM conversations WHERE session = ?1",
        )?
        .query_row([session.to_string()], read)
        .optional()?;
    Ok(known.unwrap_or_default())
}

fn read(row: &Row<'_>) -> rusqlite::Result<Conversation> {
    let count = |column: usize| row.get::<_, i64>(column).map(i64::cast_unsigned);
    Ok(Conversation {
        prompts: count(0)?,
        opening: row.get(1)?,
        said: row.get::<_, Option<String>>(2)?.map(Prose::recorded),
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
        streak: Streak {
            compactions: count(15)?,
            calls: count(16)?,
        },
    })
}

fn put(
    connection: &Connection,
    session: &SessionRef,
    known: &Conversation,
) -> Result<(), StoreError> {
    let spent = &known.spent;
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO conversations
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,
                 ?17, ?18)",
        )?
        .execute(params![
            session.to_string(),
            known.prompts.cast_signed(),
            known.opening,
            known.said.as_ref().map(Prose::as_str),
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
            known.streak.compactions.cast_signed(),
            known.streak.calls.cast_signed(),
        ])?;
    Ok(())
}
