//! Applies events to the projections.
//!
//! `flamestack_core::fold` defines what an event means for a frame; this module only loads the frame's
//! row and stores it again.

use std::collections::BTreeSet;

use flamestack_core::Author;
use flamestack_core::event::{Event, Recorded, Subject};
use flamestack_core::fold;
use flamestack_core::frame::{Frame, FrameHead, LogEntry, Status};
use flamestack_core::id::{FrameId, Seq, SessionRef};
use flamestack_core::note::Note;
use rusqlite::{Connection, params};

use super::journal::COUNTS;
use super::rows::RowBefore;
use super::statements::Statements as _;
use super::{journal, lives, revert, rows, runs, sent, sessions, suggestions};
use crate::error::Result;
use crate::record::NoteRecord;

/// The scope of all roots in `totals`.
pub(super) const ROOTS: &str = "";
/// The scope of all frames in `totals`.
pub(super) const EVERYWHERE: &str = "*";

/// Part of a subject in an event, by its number in `subjects`.
#[derive(Clone, Copy)]
pub(super) enum Role {
    /// A frame that the event changes.
    Frame = 0,
    /// A frame that the event needs.
    Support = 1,
    /// The session that the event is about.
    Session = 2,
}

/// Applies one event to the projections.
pub(super) fn project(connection: &Connection, recorded: &Recorded) -> Result<()> {
    remember_subjects(connection, recorded)?;
    match &recorded.event {
        Event::CommandUndone { batch } => take_back(connection, recorded, *batch)?,
        Event::SessionReverted { masked, .. } => {
            revert::project(connection, recorded, masked, true)?;
        }
        Event::SessionRestored { unmasked, .. } => {
            revert::project(connection, recorded, unmasked, false)?;
        }
        Event::StackImported { source, foreign } => {
            connection.write(
                "INSERT OR REPLACE INTO imports VALUES (?1, ?2, ?3)",
                params![source, foreign, recorded.seq.0],
            )?;
        }
        // The same text was stored again.
        Event::Logged { entry, .. } => {
            connection.write("DELETE FROM dropped WHERE blob = ?1", [entry.blob.as_str()])?;
        }
        Event::BlobDropped { blob, bytes } => {
            connection.write(
                "INSERT OR REPLACE INTO dropped VALUES (?1, ?2, ?3)",
                params![blob.as_str(), bytes.cast_signed(), recorded.seq.0],
            )?;
        }
        Event::SessionDescribed(description) => {
            sessions::project_description(connection, recorded, description)?;
        }
        Event::ModelUsed(model) => sent::project_model(connection, recorded, model)?,
        Event::ContextSent(sending) => sent::project_sending(connection, recorded, sending)?,
        Event::SuggestionMade(_)
        | Event::SuggestionAnswered { .. }
        | Event::SuggestionsSnoozed { .. }
        | Event::SuggestionsReset => suggestions::project(connection, recorded)?,
        _ => {}
    }
    sessions::project(connection, recorded)?;
    runs::project(connection, recorded)?;
    lives::project(connection, recorded)?;
    for frame in recorded.event.frames() {
        project_frame(connection, recorded, &frame)?;
    }
    Ok(())
}

fn remember_subjects(connection: &Connection, recorded: &Recorded) -> Result<()> {
    let mut insert =
        connection.prepare_cached("INSERT OR IGNORE INTO subjects VALUES (?1, ?2, ?3)")?;
    for subject in recorded.event.subjects() {
        let mut insert =
            |name: &str, role: Role| insert.execute(params![name, recorded.seq.0, role as i64]);
        match subject {
            Subject::Frame(id) => insert(id.as_str(), Role::Frame)?,
            Subject::Support(id) => insert(id.as_str(), Role::Support)?,
            Subject::Session(key) => insert(&key.to_string(), Role::Session)?,
        };
    }
    Ok(())
}

/// Applies an event to one of the frames it changes.
fn project_frame(connection: &Connection, recorded: &Recorded, id: &FrameId) -> Result<()> {
    if let Some(frame) = fold::opened(recorded) {
        return open(connection, &frame, recorded.seq);
    }
    match &recorded.event {
        Event::FrameDeleted { .. } => return remove(connection, id),
        Event::Noted { note, .. } => {
            let by = note.decided_by().unwrap_or(recorded.by);
            insert_note(connection, id, recorded.seq, 0, note, by)?;
        }
        Event::Logged { entry, .. } => insert_log(connection, id, recorded.seq, 0, entry)?,
        _ => {}
    }
    if matches!(recorded.event, Event::Noted { .. } | Event::Logged { .. }) {
        connection.write(
            "UPDATE frames SET updated_at = ?2, changed = ?3 WHERE id = ?1",
            params![id.as_str(), recorded.at.0, recorded.seq.0],
        )?;
        return Ok(());
    }
    let Some(mut frame) = load(connection, id)? else {
        return Ok(());
    };
    let (parent, status) = (frame.parent, frame.status);
    let row = RowBefore::of(&frame);
    fold::change(&mut frame, recorded);
    rows::update_frame(connection, &row, &frame)?;
    if matches!(recorded.event, Event::FrameMoved { .. }) {
        connection.write(
            "UPDATE frames SET parent = ?2, rank = ?3 WHERE id = ?1",
            params![
                id.as_str(),
                frame.parent.as_ref().map(FrameId::as_str),
                frame.rank.0
            ],
        )?;
        replant(connection, id)?;
    }
    let before = (parent.as_ref(), status);
    let after = (frame.parent.as_ref(), frame.status);
    if before != after {
        recount(connection, before, after)?;
    }
    Ok(())
}

/// Recomputes root and depth of a frame and everything below it after a move. Started work moves with
/// everything below it, so the subtree may be large.
fn replant(connection: &Connection, id: &FrameId) -> Result<()> {
    // A subtree cannot have more frames than the tree, unless damage made a cycle of it.
    connection.write("WITH RECURSIVE branch (id, root, depth) AS (
                 SELECT f.id, coalesce(p.root, f.id), coalesce(p.depth + 1, 0)
                 FROM frames f LEFT JOIN frames p ON p.id = f.parent WHERE f.id = ?1
                 UNION
                 SELECT f.id, b.root, b.depth + 1 FROM branch b CROSS JOIN frames f ON f.parent = b.id
                 LIMIT (SELECT planned + in_progress + completed + failed + blocked + invalidated
                        FROM totals WHERE scope = ?2))
             UPDATE frames SET root = b.root, depth = b.depth
             FROM branch b WHERE frames.id = b.id", params![id.as_str(), EVERYWHERE])
}

pub(super) fn load(connection: &Connection, id: &FrameId) -> Result<Option<Frame>> {
    let columns = rows::COLUMNS;
    let sql = format!("SELECT {columns} FROM frames f WHERE f.id = ?1");
    connection.one(&sql, [id.as_str()], rows::frame)
}

fn open(connection: &Connection, frame: &Frame, seq: Seq) -> Result<()> {
    rows::insert_frame(connection, frame)?;
    for (n, note) in (0..).zip(&frame.notes) {
        let by = note.decided_by().unwrap_or_default();
        insert_note(connection, &frame.id, seq, n, note, by)?;
    }
    for (n, entry) in (0..).zip(&frame.log) {
        insert_log(connection, &frame.id, seq, n, entry)?;
    }
    for (n, alias) in (0_i64..).zip(&frame.aliases) {
        connection.write(
            "INSERT OR IGNORE INTO aliases VALUES (?1, ?2, ?3)",
            params![alias, frame.id.as_str(), n],
        )?;
    }
    count(connection, frame.parent.as_ref(), frame.status, 1)
}

/// Tables with rows of a frame, which go with it.
const TABLES_OF_FRAMES: [&str; 4] = ["long_texts", "notes", "log_entries", "aliases"];

fn remove(connection: &Connection, id: &FrameId) -> Result<()> {
    let place = connection.one(
        "SELECT parent, status FROM frames WHERE id = ?1",
        [id.as_str()],
        |row| Ok((rows::opt_id(row, 0)?, rows::status(row, 1)?)),
    )?;
    let Some((parent, status)) = place else {
        return Ok(());
    };
    for table in TABLES_OF_FRAMES {
        connection.write(
            &format!("DELETE FROM {table} WHERE frame = ?1"),
            [id.as_str()],
        )?;
    }
    connection.write("DELETE FROM frames WHERE id = ?1", [id.as_str()])?;
    count(connection, parent.as_ref(), status, -1)
}

fn insert_note(
    connection: &Connection,
    frame: &FrameId,
    seq: Seq,
    n: i64,
    note: &Note,
    by: Author,
) -> Result<()> {
    let record = NoteRecord::from(note);
    connection.write(
        "INSERT INTO notes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            frame.as_str(),
            seq.0,
            n,
            record.kind,
            record.text,
            record.why,
            record.code(),
            (by == Author::User).then_some(by.as_str()),
            rows::text_mark(&record.text)
        ],
    )
}

fn insert_log(
    connection: &Connection,
    frame: &FrameId,
    seq: Seq,
    n: i64,
    entry: &LogEntry,
) -> Result<()> {
    connection.write(
        "INSERT INTO log_entries VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            frame.as_str(),
            seq.0,
            n,
            entry.label.as_str(),
            entry.blob.as_str(),
            entry.bytes.cast_signed()
        ],
    )
}

/// Adds a frame to, or removes it from, the totals of its parent and of the project.
fn count(connection: &Connection, parent: Option<&FrameId>, status: Status, by: i64) -> Result<()> {
    tally_with_all(connection, parent, deltas(&[(status, by)]))
}

/// Updates the totals for a frame that changed its status, its parent, or both.
fn recount(
    connection: &Connection,
    (parent, status): (Option<&FrameId>, Status),
    (new_parent, new_status): (Option<&FrameId>, Status),
) -> Result<()> {
    if parent == new_parent {
        return tally_with_all(connection, parent, deltas(&[(status, -1), (new_status, 1)]));
    }
    tally_with_all(connection, parent, deltas(&[(status, -1)]))?;
    tally_with_all(connection, new_parent, deltas(&[(new_status, 1)]))
}

/// The columns of `totals` after the scope, in order.
pub(super) const COUNTED: [Status; 6] = [
    Status::Planned,
    Status::InProgress,
    Status::Completed,
    Status::Failed,
    Status::Blocked,
    Status::Invalidated,
];

/// Returns the change of each of these columns.
fn deltas(changes: &[(Status, i64)]) -> [i64; 6] {
    COUNTED.map(|status| {
        let mine = changes.iter().filter(|(changed, _)| *changed == status);
        mine.map(|(_, by)| by).sum()
    })
}

/// Adds to the totals of a parent, or of the roots, and of the project.
fn tally_with_all(
    connection: &Connection,
    parent: Option<&FrameId>,
    [
        planned,
        in_progress,
        completed,
        failed,
        blocked,
        invalidated,
    ]: [i64; 6],
) -> Result<()> {
    connection.write(
        "INSERT INTO totals VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7), (?8, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (scope) DO UPDATE SET
                 planned = planned + ?2, in_progress = in_progress + ?3,
                 completed = completed + ?4, failed = failed + ?5,
                 blocked = blocked + ?6, invalidated = invalidated + ?7",
        params![
            parent.map_or(ROOTS, FrameId::as_str),
            planned,
            in_progress,
            completed,
            failed,
            blocked,
            invalidated,
            EVERYWHERE
        ],
    )
}

/// Folds again the frames and sessions that a command changed, without that command.
///
/// This is exact because undo is refused if a later event touched what the command changed, and it
/// costs as much as the history of those few frames.
fn take_back(connection: &Connection, undo: &Recorded, batch: Seq) -> Result<()> {
    connection.write(
        "INSERT OR IGNORE INTO undone VALUES (?1, ?2)",
        params![batch.0, undo.batch.0],
    )?;
    let undone = of_batch(connection, batch)?;
    fold_again(connection, &undone, undo.seq)
}

/// Folds again the frames and sessions that some events changed, from the unmasked events before a
/// point.
pub(super) fn fold_again(connection: &Connection, changed: &[Recorded], before: Seq) -> Result<()> {
    // In the order of the events, so that a restored frame finds its parent.
    let mut folded = BTreeSet::new();
    for id in changed.iter().flat_map(|entry| entry.event.frames()) {
        if !folded.insert(id) {
            continue;
        }
        remove(connection, &id)?;
        let mut there = false;
        for entry in counting(connection, id.as_str(), Role::Frame, before)? {
            // Notes in a masked frame are masked too.
            there |= fold::opened(&entry).is_some();
            if there {
                project_frame(connection, &entry, &id)?;
            }
            there &= !matches!(entry.event, Event::FrameDeleted { .. });
        }
    }
    for entry in changed {
        if let Event::FrameMoved { frame, .. } | Event::FrameDeleted { frame, .. } = &entry.event {
            replant(connection, frame)?;
        }
        if let (Some(session), Some(_)) = (entry.event.traits().session, entry.event.traits().frame)
        {
            bind_again(connection, session, before)?;
        }
    }
    Ok(())
}

/// Folds again which frame is a session's own. Copied and imported frames bind sessions too: once
/// only explicit bindings were folded here, and the undo of one lost the frame of a forked session.
fn bind_again(connection: &Connection, session: &SessionRef, before: Seq) -> Result<()> {
    sessions::own(connection, session, None)?;
    for entry in counting(connection, &session.to_string(), Role::Session, before)? {
        sessions::bind(connection, &entry.event)?;
    }
    Ok(())
}

/// Returns the events of one command, which are contiguous.
pub(super) fn of_batch(connection: &Connection, batch: Seq) -> Result<Vec<Recorded>> {
    journal::select(
        connection,
        "FROM events e
         WHERE e.seq >= ?1 AND e.seq < coalesce(
             (SELECT seq FROM events WHERE seq > ?1 AND batch <> ?1 ORDER BY seq LIMIT 1),
             9223372036854775807)
         ORDER BY e.seq",
        params![batch.0],
    )
}

/// Returns the unmasked events about a subject before a point.
pub(super) fn counting(
    connection: &Connection,
    name: &str,
    role: Role,
    before: Seq,
) -> Result<Vec<Recorded>> {
    journal::select(
        connection,
        &format!(
            "FROM subjects s JOIN events e ON e.seq = s.seq
             WHERE s.name = ?1 AND s.role = ?2 AND s.seq < ?3 AND {COUNTS}
             ORDER BY s.seq"
        ),
        params![name, role as i64, before.0],
    )
}

/// Returns the unmasked events of a session among the last ones of the journal, newest first.
pub(super) fn latest(connection: &Connection, session: &str, recent: i64) -> Result<Vec<Recorded>> {
    journal::select(
        connection,
        &format!(
            "FROM events e
             WHERE e.seq > (SELECT max(seq) FROM events) - ?2 AND e.session = ?1 AND {COUNTS}
             ORDER BY e.seq DESC"
        ),
        params![session, recent],
    )
}

/// Returns a frame as it would be without one command; `None` if it would not exist.
pub(super) fn without(
    connection: &Connection,
    id: &FrameId,
    batch: Seq,
) -> Result<Option<FrameHead>> {
    let events = counting(connection, id.as_str(), Role::Frame, Seq(i64::MAX))?;
    let events = events.iter().filter(|entry| entry.batch != batch);
    Ok(fold::frame(events).map(|frame| frame.head()))
}

/// Returns a frame as it was before a point, under the current masks.
pub(super) fn before(connection: &Connection, id: &FrameId, point: Seq) -> Result<Option<Frame>> {
    let events = counting(connection, id.as_str(), Role::Frame, point)?;
    Ok(fold::frame(&events))
}

#[cfg(test)]
mod tests {
    use super::TABLES_OF_FRAMES;

    /// A table that is missing there would keep the rows of frames that were undone or deleted.
    #[test]
    fn every_table_with_a_frame_is_cleared_with_it() {
        let tables = super::super::open::PROJECTIONS
            .split("CREATE TABLE ")
            .skip(1);
        let with_frames = tables.filter_map(|table| {
            let (name, columns) = table.split_once(" (")?;
            let (columns, _) = columns.split_once("\n)")?;
            let is_frame = |line: &str| line.trim_start().starts_with("frame ");
            columns.lines().any(is_frame).then_some(name)
        });
        assert_eq!(with_frames.collect::<Vec<_>>(), TABLES_OF_FRAMES);
    }
}
