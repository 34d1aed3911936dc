//! The projections, asked by the rules.

use flamestack_core::compaction::Compaction;
use flamestack_core::event::{Event, Recorded, Subject};
use flamestack_core::frame::{Awaiting, Frame, FrameHead, LogEntry, Rank, Status};
use flamestack_core::id::{FrameId, Mark, Seq, SessionRef};
use flamestack_core::neighbourhood::{LastCommand, Otherwise};
use flamestack_core::note::Note;
use flamestack_core::session::{Conversation, Description, Turn};
use flamestack_core::subagent::Run;
use flamestack_core::text::{Prose, Title};
use flamestack_core::{Model, Neighbourhood, Session};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{append, project, revert, rows, runs, sessions};
use crate::error::StoreError;

/// One point of the journal, seen through the projections.
pub(super) struct SqliteView<'c> {
    pub(super) connection: &'c Connection,
}

/// The frames of one level in some of the statuses, in order: a query for `rank` and `id` that has
/// the parent as `?1`. Each status is a range of the same index; SQLite merges them and reads no
/// further than asked.
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

/// Which end of a level comes first.
#[derive(Clone, Copy)]
pub(super) enum Order {
    FirstToLast,
    LastToFirst,
}

/// The highest rank of a level: the end of each of the ranges. Every push asks for it.
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

    /// At most one row, read by `read`.
    pub(super) fn one<T>(
        &self,
        sql: &str,
        params: &[&dyn rusqlite::ToSql],
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        Ok(self
            .connection
            .prepare_cached(sql)?
            .query_row(params, read)
            .optional()?)
    }

    /// All rows, read by `read`.
    pub(super) fn many<T>(
        &self,
        sql: &str,
        params: &[&dyn rusqlite::ToSql],
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let found = statement
            .query_map(params, read)?
            .collect::<Result<_, _>>()?;
        Ok(found)
    }
}

/// What [`session`] reads.
pub(super) const SESSION_COLUMNS: &str =
    "key, worktree, own, active, turn_message, turn_before, reverted";

pub(super) fn session(row: &Row<'_>) -> rusqlite::Result<Session> {
    Ok(Session {
        key: rows::session(row, 0)?,
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
    })
}

impl Neighbourhood for SqliteView<'_> {
    type Error = StoreError;

    fn frame(&self, id: &FrameId) -> Result<Option<FrameHead>, StoreError> {
        let columns = rows::HEAD_COLUMNS;
        self.one(
            &format!("SELECT {columns} FROM frames f WHERE f.id = ?1"),
            params![id.as_str()],
            rows::head,
        )
    }

    fn is_taken(&self, id: &FrameId) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM subjects WHERE name = ?1 LIMIT 1";
        Ok(self.one(sql, params![id.as_str()], |_| Ok(()))?.is_some())
    }

    fn session(&self, key: &SessionRef) -> Result<Option<Session>, StoreError> {
        let sql = format!("SELECT {SESSION_COLUMNS} FROM sessions WHERE key = ?1");
        self.one(&sql, params![key.to_string()], session)
    }

    fn model(&self, session: &SessionRef) -> Result<Option<Model>, StoreError> {
        self.model_of(session)
    }

    fn description(&self, session: &SessionRef) -> Result<Option<Description>, StoreError> {
        sessions::description(self.connection, session)
    }

    fn focused_on(&self, frame: &FrameId) -> Result<Vec<SessionRef>, StoreError> {
        let sql = "SELECT key FROM sessions WHERE active = ?1 ORDER BY key";
        self.many(sql, params![frame.as_str()], |row| rows::session(row, 0))
    }

    fn open_children(
        &self,
        frame: &FrameId,
        limit: usize,
    ) -> Result<(Vec<FrameHead>, usize), StoreError> {
        let total = usize::try_from(self.totals_of(frame.as_str())?.open()).unwrap_or(usize::MAX);
        if total == 0 {
            return Ok((Vec::new(), 0));
        }
        let columns = rows::HEAD_COLUMNS;
        let open = level(Status::is_open, "", Order::FirstToLast);
        let first = self.many(
            &format!(
                "SELECT {columns} FROM ({open} LIMIT ?2) o CROSS JOIN frames f ON f.id = o.id
                 ORDER BY o.rank, o.id"
            ),
            params![frame.as_str(), i64::try_from(limit).unwrap_or(i64::MAX)],
            rows::head,
        )?;
        Ok((first, total))
    }

    fn descendants(
        &self,
        frame: &FrameId,
        status: Option<Status>,
    ) -> Result<Vec<FrameHead>, StoreError> {
        let columns = rows::HEAD_COLUMNS;
        // UNION ALL into a queue: SQLite walks the tree level by level and never recurses.
        self.many(
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

    fn last_rank(&self, parent: Option<&FrameId>) -> Result<Option<Rank>, StoreError> {
        let parent = parent.map(FrameId::as_str);
        let last = self.one(LAST_RANK, params![parent], |row| {
            row.get::<_, Option<i64>>(0)
        })?;
        Ok(last.flatten().map(Rank))
    }

    fn ranks_around(
        &self,
        parent: Option<&FrameId>,
        Rank(rank): Rank,
    ) -> Result<(Option<Rank>, Option<Rank>), StoreError> {
        let parent = parent.map(FrameId::as_str);
        let nearest = |side: &str, order: Order| {
            let sql = level(|_| true, side, order) + " LIMIT 1";
            self.one(&sql, params![parent, rank], |row| row.get(0).map(Rank))
        };
        Ok((
            nearest("AND rank < ?2", Order::LastToFirst)?,
            nearest("AND rank > ?2", Order::FirstToLast)?,
        ))
    }

    fn has_note(&self, frame: &FrameId, note: &Note) -> Result<bool, StoreError> {
        let (kind, text, ..) = rows::note_columns(note);
        let sql = "SELECT 1 FROM notes WHERE frame = ?1 AND kind = ?2 AND text = ?3 LIMIT 1";
        Ok(self
            .one(sql, params![frame.as_str(), kind, text], |_| Ok(()))?
            .is_some())
    }

    fn todo(&self, frame: &FrameId, text: &Title) -> Result<Option<FrameHead>, StoreError> {
        let columns = rows::HEAD_COLUMNS;
        self.one(
            &format!(
                "SELECT {columns} FROM frames f
                 WHERE f.parent = ?1 AND f.title = ?2 AND f.origin = 'todo'
                 ORDER BY f.rank DESC, f.id DESC LIMIT 1"
            ),
            params![frame.as_str(), text.as_str()],
            rows::head,
        )
    }

    fn command_runs(
        &self,
        frame: &FrameId,
        command: &Prose,
    ) -> Result<(Option<i32>, u64), StoreError> {
        let last = self.one(
            "SELECT code FROM notes WHERE frame = ?1 AND kind = 'command' AND text = ?2
             ORDER BY seq DESC, n DESC LIMIT 1",
            params![frame.as_str(), command.as_str()],
            |row| row.get(0),
        )?;
        let runs = self.one(
            "SELECT count(*) FROM notes WHERE frame = ?1 AND kind = 'command'",
            params![frame.as_str()],
            |row| row.get::<_, i64>(0),
        )?;
        Ok((last, runs.unwrap_or_default().unsigned_abs()))
    }

    fn conversation(&self, session: &SessionRef) -> Result<Conversation, StoreError> {
        sessions::conversation(self.connection, session)
    }

    fn last_compaction(&self, session: &SessionRef) -> Result<Option<Compaction>, StoreError> {
        let last = sessions::last_compaction(self.connection, session)?;
        Ok(last.map(|(_, compaction)| compaction))
    }

    fn awaiting(&self, session: &SessionRef) -> Result<Vec<(FrameId, Awaiting)>, StoreError> {
        let sql = "SELECT id, awaiting FROM frames WHERE awaiting IS NOT NULL ORDER BY id";
        let mut waiting = self.many(sql, params![], |row| {
            Ok((rows::id(row, 0)?, rows::awaiting(row, 1)?))
        })?;
        waiting.retain(|(_, awaiting)| awaiting.session == *session);
        Ok(waiting)
    }

    fn run(&self, session: &SessionRef) -> Result<Option<Run>, StoreError> {
        runs::one(self.connection, session)
    }

    fn runs_of(&self, parent: &SessionRef) -> Result<Vec<Run>, StoreError> {
        runs::of(self.connection, parent)
    }

    fn only_text(&self, frame: &FrameId) -> Result<Option<Vec<LogEntry>>, StoreError> {
        let more = "SELECT 1 FROM notes WHERE frame = ?1 UNION ALL
             SELECT 1 FROM frames WHERE parent = ?1 LIMIT 1";
        let there = "SELECT 1 FROM frames WHERE id = ?1";
        let id = params![frame.as_str()];
        if self.one(there, id, |_| Ok(()))?.is_none() || self.one(more, id, |_| Ok(()))?.is_some() {
            return Ok(None);
        }
        let sql = "SELECT label, blob, bytes FROM log_entries WHERE frame = ?1 ORDER BY seq, n";
        self.many(sql, id, rows::log_entry).map(Some)
    }

    fn is_seen(&self, mark: Mark) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM seen WHERE mark = ?1";
        let mark = mark.0.cast_signed();
        Ok(self.one(sql, params![mark], |_| Ok(()))?.is_some())
    }

    fn is_imported(&self, source: &str) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM imports WHERE source = ?1";
        Ok(self.one(sql, params![source], |_| Ok(()))?.is_some())
    }

    fn alias(&self, alias: &str) -> Result<Option<FrameId>, StoreError> {
        let sql = "SELECT frame FROM aliases WHERE alias = ?1";
        self.one(sql, params![alias], |row| rows::id(row, 0))
    }

    fn recorded(&self, places: &[Seq]) -> Result<Vec<Recorded>, StoreError> {
        revert::recorded(self.connection, places)
    }

    fn passage(
        &self,
        session: &SessionRef,
        messages: &[String],
    ) -> Result<Vec<Recorded>, StoreError> {
        revert::passage(self.connection, session, messages)
    }

    fn done_since(&self, session: &SessionRef, from: Seq) -> Result<Vec<Recorded>, StoreError> {
        revert::done_since(self.connection, session, from)
    }

    fn turn_before(&self, session: &SessionRef, point: Seq) -> Result<Vec<Recorded>, StoreError> {
        revert::turn_before(self.connection, session, point)
    }

    fn changed_since(&self, frame: &FrameId, from: Seq) -> Result<Vec<Seq>, StoreError> {
        revert::changed_since(self.connection, frame, from)
    }

    fn otherwise(
        &self,
        frame: &FrameId,
        counting: &Otherwise,
    ) -> Result<Option<FrameHead>, StoreError> {
        revert::otherwise(self.connection, frame, counting)
    }

    fn before(&self, frame: &FrameId, point: Seq) -> Result<Option<Frame>, StoreError> {
        project::before(self.connection, frame, point)
    }

    fn last_command(&self, session: &SessionRef) -> Result<Option<LastCommand>, StoreError> {
        // Backwards from the end, without an index: undo is rare, and every command would write it.
        let sql = "SELECT seq FROM events
             WHERE session = ?1 AND seq = batch AND seq NOT IN (SELECT batch FROM undone)
               AND seq NOT IN (SELECT by FROM undone)
               AND seq NOT IN (SELECT batch FROM witnessed)
             ORDER BY seq DESC";
        let masked = |entry: &Recorded| revert::is_masked(self.connection, entry.seq);
        let batches: Vec<i64> = {
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut found = statement.query(params![session.to_string()])?;
            let mut batches = Vec::new();
            // Imports, clean-ups and reports of hosts are not commands in this sense.
            while let Some(row) = found.next()? {
                let batch = row.get(0)?;
                let events = project::of_batch(self.connection, Seq(batch))?;
                let mut counts = events.iter().all(|entry| entry.event.can_be_undone());
                for entry in &events {
                    counts = counts && !masked(entry)?;
                }
                if counts {
                    batches.push(batch);
                    break;
                }
            }
            batches
        };
        let Some(batch) = batches.first().map(|batch| Seq(*batch)) else {
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
    /// What touches a subject of a command after it and still counts: the last event about it, and
    /// the last ones that opened a frame below it.
    fn touching(&self, subject: &Subject, batch: Seq) -> Result<Vec<Recorded>, StoreError> {
        let (name, opened_below) = match subject {
            Subject::Frame(id) => (id.to_string(), self.opened_last_below(id)?),
            Subject::Session(key) => (key.to_string(), Vec::new()),
            Subject::Support(_) => return Ok(Vec::new()),
        };
        let columns = append::COLUMNS;
        let counts = "e.batch > ?2 AND e.batch NOT IN (SELECT batch FROM undone)
                      AND e.batch NOT IN (SELECT by FROM undone)
                      AND e.seq NOT IN (SELECT seq FROM masked)";
        let mut touching = project::events(
            self.connection,
            &format!(
                "SELECT {columns} FROM subjects s JOIN events e ON e.seq = s.seq
                 WHERE s.name = ?1 AND s.seq > ?2 AND {counts}
                 ORDER BY s.seq DESC LIMIT 1"
            ),
            params![name, batch.0],
        )?;
        for seq in opened_below {
            let sql = format!("SELECT {columns} FROM events e WHERE e.seq = ?1 AND {counts}");
            let opening = project::events(self.connection, &sql, params![seq, batch.0])?;
            // One that was opened elsewhere came here by a move, which names this frame itself.
            touching.extend(opening.into_iter().filter(|entry| {
                matches!((&entry.event, subject),
                    (Event::FrameOpened { parent: Some(parent), .. }, Subject::Frame(id))
                        if parent == id)
            }));
        }
        Ok(touching)
    }

    /// When the last child in each status was opened. New frames come last, so no other child that
    /// was opened here is younger than all of these.
    fn opened_last_below(&self, id: &FrameId) -> Result<Vec<i64>, StoreError> {
        let mut opened = Vec::new();
        for status in project::COUNTED {
            let last = self.one(
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
