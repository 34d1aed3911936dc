//! The questions of the rules, answered from the projections.

use flamestack_core::Author;
use flamestack_core::compaction::Compaction;
use flamestack_core::event::{Event, Recorded, Subject};
use flamestack_core::frame::{Awaiting, Frame, FrameHead, LogEntry, Rank, Status};
use flamestack_core::id::{Fingerprint, FrameId, Seq, SessionRef};
use flamestack_core::note::Note;
use flamestack_core::session::Turn;
use flamestack_core::session::life::Life;
use flamestack_core::session::link::SessionLink;
use flamestack_core::subagent::SubagentRun;
use flamestack_core::text::{Text, Title};
use flamestack_core::tree_query::{LastCommand, MaskOverlay};
use flamestack_core::{Session, TreeQuery};
use rusqlite::{Connection, Row, params};

use super::statements::{self, Statements as _};
use super::{journal, lives, project, revert, rows, runs, sessions};
use crate::error::{Result, StoreError};
use crate::projections::Reading;
use crate::record::NoteRecord;

/// A snapshot of the projections at one point of the journal.
pub(super) struct SqliteView<'c> {
    pub(super) connection: &'c Connection,
}

/// Returns a query for the `rank` and `id` of a parent's children (`?1`) in some of the statuses, in
/// order. Each status is a range of the same index; SQLite merges them and reads no further than
/// needed.
pub(super) fn level(which: impl Fn(Status) -> bool, further: &str, order: Order) -> String {
    let ranges: Vec<String> = Status::ALL
        .into_iter()
        .filter(|status| which(*status))
        .map(|status| {
            let status = status.as_str();
            format!(
                "SELECT rank, id FROM frames
                 WHERE parent IS ?1 AND status = '{status}' {further}"
            )
        })
        .collect();
    let order = match order {
        Order::FirstToLast => "rank, id",
        Order::LastToFirst => "rank DESC, id DESC",
    };
    format!("{} ORDER BY {order}", ranges.join(" UNION ALL "))
}

/// Sort order of siblings.
#[derive(Clone, Copy)]
pub(super) enum Order {
    FirstToLast,
    LastToFirst,
}

/// Query for the highest rank among siblings, from the end of each range. Every push runs it.
const LAST_RANK: &str = "SELECT max(rank) FROM (
     SELECT max(rank) AS rank FROM frames WHERE parent IS ?1 AND status = 'planned' UNION ALL
     SELECT max(rank) FROM frames WHERE parent IS ?1 AND status = 'in_progress' UNION ALL
     SELECT max(rank) FROM frames WHERE parent IS ?1 AND status = 'completed' UNION ALL
     SELECT max(rank) FROM frames WHERE parent IS ?1 AND status = 'failed' UNION ALL
     SELECT max(rank) FROM frames WHERE parent IS ?1 AND status = 'blocked' UNION ALL
     SELECT max(rank) FROM frames WHERE parent IS ?1 AND status = 'invalidated')";

impl<'c> SqliteView<'c> {
    pub(super) fn new(connection: &'c Connection) -> Self {
        Self { connection }
    }

    /// Returns the sessions that a condition selects, by name.
    pub(super) fn sessions_where(
        &self,
        condition: &str,
        params: &[&dyn rusqlite::ToSql],
    ) -> Result<Vec<Session>> {
        let columns = "key, worktree, own, active, turn_message, turn_before, reverted";
        let sql = format!("SELECT {columns} FROM sessions {condition} ORDER BY key");
        let mut found = self.connection.many(&sql, params, session)?;
        for session in &mut found {
            let key = &session.key;
            session.activity = sessions::activity(self.connection, key)?;
            session.description = sessions::description(self.connection, key)?.unwrap_or_default();
            session.model = self.model_of(key)?;
            session.run = runs::one(self.connection, key)?;
        }
        Ok(found)
    }
}

/// Reads a row of `sessions`, without what other tables hold.
fn session(row: &Row<'_>) -> rusqlite::Result<Session> {
    Ok(Session {
        worktree: row.get(1)?,
        own: rows::opt_id(row, 2)?,
        active: rows::opt_id(row, 3)?,
        turn: match row.get(4)? {
            Some(message) => Some(Turn {
                message,
                before: rows::opt_id(row, 5)?,
            }),
            None => None,
        },
        reverted: row.get::<_, Option<i64>>(6)?.map(Seq),
        ..Session::new(rows::session(row, 0)?)
    })
}

impl TreeQuery for SqliteView<'_> {
    type Error = StoreError;

    fn frame(&self, id: &FrameId) -> Result<Option<FrameHead>> {
        let columns = rows::HEAD_COLUMNS;
        self.connection.one(
            &format!("SELECT {columns} FROM frames f WHERE f.id = ?1"),
            params![id.as_str()],
            rows::head,
        )
    }

    fn is_taken(&self, id: &FrameId) -> Result<bool> {
        let sql = "SELECT 1 FROM subjects WHERE name = ?1 LIMIT 1";
        self.connection.has(sql, params![id.as_str()])
    }

    fn session(&self, key: &SessionRef) -> Result<Option<Session>> {
        let found = self.sessions_where("WHERE key = ?1", params![key.to_string()])?;
        Ok(found.into_iter().next())
    }

    fn focused_on(&self, frame: &FrameId) -> Result<Vec<SessionRef>> {
        let sql = "SELECT key FROM sessions WHERE active = ?1 ORDER BY key";
        self.connection
            .many(sql, params![frame.as_str()], |row| rows::session(row, 0))
    }

    fn open_children(&self, frame: &FrameId, limit: usize) -> Result<(Vec<FrameHead>, usize)> {
        let total = usize::try_from(self.totals_of(frame.as_str())?.open()).unwrap_or(usize::MAX);
        if total == 0 {
            return Ok((Vec::new(), 0));
        }
        let columns = rows::HEAD_COLUMNS;
        let open = level(Status::is_open, "", Order::FirstToLast);
        let first = self.connection.many(
            &format!(
                "SELECT {columns} FROM ({open} LIMIT ?2) o CROSS JOIN frames f ON f.id = o.id
                 ORDER BY o.rank, o.id"
            ),
            params![frame.as_str(), statements::limit(limit)],
            rows::head,
        )?;
        Ok((first, total))
    }

    fn descendants(&self, frame: &FrameId, status: Option<Status>) -> Result<Vec<FrameHead>> {
        let columns = rows::HEAD_COLUMNS;
        // UNION ALL into a queue: SQLite walks the tree level by level and never recurses.
        self.connection.many(
            &format!(
                "WITH RECURSIVE below (id, level) AS (
                     SELECT id, 1 FROM frames WHERE parent = ?1
                     UNION ALL
                     SELECT f.id, level + 1 FROM below JOIN frames f ON f.parent = below.id)
                 SELECT {columns} FROM below JOIN frames f ON f.id = below.id
                 WHERE ?2 IS NULL OR f.status = ?2
                 ORDER BY below.level, f.parent, f.rank, f.id"
            ),
            params![frame.as_str(), status.map(Status::as_str)],
            rows::head,
        )
    }

    fn last_rank(&self, parent: Option<&FrameId>) -> Result<Option<Rank>> {
        let parent = parent.map(FrameId::as_str);
        let last = self.connection.one(LAST_RANK, params![parent], |row| {
            row.get::<_, Option<i64>>(0)
        })?;
        Ok(last.flatten().map(Rank))
    }

    fn ranks_around(
        &self,
        parent: Option<&FrameId>,
        Rank(rank): Rank,
    ) -> Result<(Option<Rank>, Option<Rank>)> {
        let parent = parent.map(FrameId::as_str);
        let nearest = |side: &str, order: Order| {
            let sql = level(|_| true, side, order) + " LIMIT 1";
            self.connection
                .one(&sql, params![parent, rank], |row| row.get(0).map(Rank))
        };
        Ok((
            nearest("AND rank < ?2", Order::LastToFirst)?,
            nearest("AND rank > ?2", Order::FirstToLast)?,
        ))
    }

    fn has_note(&self, frame: &FrameId, note: &Note) -> Result<bool> {
        let NoteRecord { kind, text, .. } = note.into();
        let by = note.decided_by().map(Author::as_str);
        let sql = "SELECT 1 FROM notes INDEXED BY notes_by_text
             WHERE frame = ?1 AND kind = ?2 AND mark = ?3 AND text = ?4
             AND (kind <> 'decision' OR coalesce(by, 'model') = ?5) LIMIT 1";
        let mark = rows::text_mark(&text);
        self.connection
            .has(sql, params![frame.as_str(), kind, mark, text, by])
    }

    fn todo(&self, frame: &FrameId, text: &Title) -> Result<Option<FrameHead>> {
        let columns = rows::HEAD_COLUMNS;
        self.connection.one(
            &format!(
                "SELECT {columns} FROM frames f
                 WHERE f.parent = ?1 AND f.title = ?2 AND f.origin = 'todo'
                 ORDER BY f.rank DESC, f.id DESC LIMIT 1"
            ),
            params![frame.as_str(), text.as_str()],
            rows::head,
        )
    }

    fn command_runs(&self, frame: &FrameId, command: &Text) -> Result<(Option<i32>, u64)> {
        let last = self.connection.one(
            "SELECT code FROM notes INDEXED BY notes_by_text
             WHERE frame = ?1 AND kind = 'command' AND mark = ?2 AND text = ?3
             ORDER BY seq DESC, n DESC LIMIT 1",
            params![
                frame.as_str(),
                rows::text_mark(command.as_str()),
                command.as_str()
            ],
            |row| row.get(0),
        )?;
        let runs = self.connection.one(
            "SELECT count(*) FROM notes WHERE frame = ?1 AND kind = 'command'",
            params![frame.as_str()],
            |row| row.get::<_, i64>(0),
        )?;
        Ok((last, runs.unwrap_or_default().unsigned_abs()))
    }

    fn last_compaction(&self, session: &SessionRef) -> Result<Option<Compaction>> {
        let last = sessions::last_compaction(self.connection, session)?;
        Ok(last.map(|(_, compaction)| compaction))
    }

    fn awaiting(&self, session: &SessionRef) -> Result<Vec<(FrameId, Awaiting)>> {
        let mut waiting = Reading::all_awaiting(self)?;
        waiting.retain(|(_, awaiting)| awaiting.session == *session);
        Ok(waiting)
    }

    fn runs_of(&self, parent: &SessionRef) -> Result<Vec<SubagentRun>> {
        runs::of(self.connection, parent)
    }

    fn life(&self, session: &SessionRef) -> Result<Option<Life>> {
        lives::one(self.connection, session)
    }

    fn links(&self, session: &SessionRef) -> Result<Vec<SessionLink>> {
        lives::links(self.connection, Some(session))
    }

    fn only_text(&self, frame: &FrameId) -> Result<Option<Vec<LogEntry>>> {
        let more = "SELECT 1 FROM notes WHERE frame = ?1 UNION ALL
             SELECT 1 FROM frames WHERE parent = ?1 LIMIT 1";
        let there = "SELECT 1 FROM frames WHERE id = ?1";
        let id = params![frame.as_str()];
        if self.connection.one(there, id, |_| Ok(()))?.is_none()
            || self.connection.one(more, id, |_| Ok(()))?.is_some()
        {
            return Ok(None);
        }
        let sql = "SELECT label, blob, bytes FROM log_entries WHERE frame = ?1 ORDER BY seq, n";
        self.connection.many(sql, id, rows::log_entry).map(Some)
    }

    fn is_seen(&self, mark: Fingerprint) -> Result<bool> {
        let sql = "SELECT 1 FROM seen WHERE mark = ?1";
        let mark = mark.0.cast_signed();
        self.connection.has(sql, params![mark])
    }

    fn is_imported(&self, source: &str) -> Result<bool> {
        let sql = "SELECT 1 FROM imports WHERE source = ?1";
        self.connection.has(sql, params![source])
    }

    fn alias(&self, alias: &str) -> Result<Option<FrameId>> {
        let sql = "SELECT frame FROM aliases WHERE alias = ?1";
        self.connection
            .one(sql, params![alias], |row| rows::id(row, 0))
    }

    fn recorded(&self, places: &[Seq]) -> Result<Vec<Recorded>> {
        revert::recorded(self.connection, places)
    }

    fn events_from_message(
        &self,
        session: &SessionRef,
        messages: &[String],
    ) -> Result<Vec<Recorded>> {
        revert::events_from_message(self.connection, session, messages)
    }

    fn events_since(&self, session: &SessionRef, from: Seq) -> Result<Vec<Recorded>> {
        revert::events_since(self.connection, session, from)
    }

    fn turn_before(&self, session: &SessionRef, point: Seq) -> Result<Vec<Recorded>> {
        revert::turn_before(self.connection, session, point)
    }

    fn changed_since(&self, frame: &FrameId, from: Seq) -> Result<Vec<Seq>> {
        revert::changed_since(self.connection, frame, from)
    }

    fn frame_under(&self, frame: &FrameId, counting: &MaskOverlay) -> Result<Option<FrameHead>> {
        revert::frame_under(self.connection, frame, counting)
    }

    fn before(&self, frame: &FrameId, point: Seq) -> Result<Option<Frame>> {
        project::before(self.connection, frame, point)
    }

    fn last_command(&self, session: &SessionRef) -> Result<Option<LastCommand>> {
        let Some(batch) = self.last_undoable(session)? else {
            return Ok(None);
        };
        let events: Vec<Event> = project::of_batch(self.connection, batch)?
            .into_iter()
            .map(|entry| entry.event)
            .collect();
        let mut touched_by: Option<Recorded> = None;
        for subject in events.iter().flat_map(Event::subjects) {
            for later in self.touching(&subject, batch)? {
                if touched_by
                    .as_ref()
                    .is_none_or(|known| later.seq > known.seq)
                {
                    touched_by = Some(later);
                }
            }
        }
        let touched_by = touched_by.map(|later| (later.session, later.event));
        let mut restored = Vec::new();
        for id in events.iter().flat_map(Event::frames) {
            restored.extend(project::without(self.connection, &id, batch)?);
        }
        Ok(Some(LastCommand {
            batch,
            events,
            restored,
            touched_by,
        }))
    }
}

impl SqliteView<'_> {
    /// Returns the last command of a session that can be undone. Imports, garbage collection and
    /// ingested events cannot.
    fn last_undoable(&self, session: &SessionRef) -> Result<Option<Seq>> {
        // Backwards from the end, without an index: undo is rare, but every command would have to
        // write the index.
        let mut statement = self.connection.prepare_cached(
            "SELECT seq FROM events
             WHERE session = ?1 AND seq = batch AND seq NOT IN (SELECT batch FROM undone)
               AND seq NOT IN (SELECT by FROM undone)
               AND seq NOT IN (SELECT batch FROM ingested)
             ORDER BY seq DESC",
        )?;
        let mut found = statement.query(params![session.to_string()])?;
        while let Some(row) = found.next()? {
            let batch = Seq(row.get(0)?);
            let mut counts = true;
            for entry in project::of_batch(self.connection, batch)? {
                counts &= entry.event.traits().undoable
                    && !revert::is_masked(self.connection, entry.seq)?;
            }
            if counts {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    /// Returns the later events that still count and touch a subject of a command: the last event
    /// about it, and the last ones that opened a frame below it.
    fn touching(&self, subject: &Subject, batch: Seq) -> Result<Vec<Recorded>> {
        let (name, opened_below) = match subject {
            Subject::Frame(id) => (id.to_string(), self.opened_last_below(id)?),
            Subject::Session(key) => (key.to_string(), Vec::new()),
            Subject::Support(_) => return Ok(Vec::new()),
        };
        let counts = "e.batch > ?2 AND e.batch NOT IN (SELECT batch FROM undone)
                      AND e.batch NOT IN (SELECT by FROM undone)
                      AND e.seq NOT IN (SELECT seq FROM masked)";
        let mut touching = journal::select(
            self.connection,
            &format!(
                "FROM subjects s JOIN events e ON e.seq = s.seq
                 WHERE s.name = ?1 AND s.seq > ?2 AND {counts}
                 ORDER BY s.seq DESC LIMIT 1"
            ),
            params![name, batch.0],
        )?;
        for seq in opened_below {
            let sql = format!("FROM events e WHERE e.seq = ?1 AND {counts}");
            let opening = journal::select(self.connection, &sql, params![seq, batch.0])?;
            // A child opened elsewhere came here by a move, which names this frame itself.
            touching.extend(opening.into_iter().filter(|entry| {
                matches!((&entry.event, subject),
                    (Event::FrameOpened { parent: Some(parent), .. }, Subject::Frame(id))
                        if parent == id)
            }));
        }
        Ok(touching)
    }

    /// Returns the event that opened the last child in each status. New frames are appended at the
    /// end, so no other child opened here is younger than all of these.
    fn opened_last_below(&self, id: &FrameId) -> Result<Vec<i64>> {
        let mut opened = Vec::new();
        for status in project::COUNTED {
            let last = self.connection.one(
                "SELECT min(s.seq) FROM subjects s WHERE s.role = 0 AND s.name =
                     (SELECT id FROM frames WHERE parent = ?1 AND status = ?2
                      ORDER BY rank DESC, id DESC LIMIT 1)",
                params![id.as_str(), status.as_str()],
                |row| row.get::<_, Option<i64>>(0),
            )?;
            opened.extend(last.flatten());
        }
        Ok(opened)
    }
}
