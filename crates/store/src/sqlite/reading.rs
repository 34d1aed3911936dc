//! The questions of the engine and the fronts, answered from the projections.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use flamestack_core::compaction::Compaction;
use flamestack_core::event::Recorded;
use flamestack_core::frame::{Awaiting, Frame, FrameHead, Rank, Status};
use flamestack_core::id::{FrameId, Seq, SessionRef, Timestamp};
use flamestack_core::note::{Directive, Note};
use flamestack_core::subagent::SubagentRun;
use flamestack_core::text::Text;
use flamestack_core::{Event, Session, TreeQuery};
use rusqlite::params;

use super::journal::SqliteJournal;
use super::recover::ABSORBED;
use super::statements::{self, Statements as _};
use super::view::{Order, SqliteView, level};
use super::{batch, journal, logs, outline, path, project, rows, runs};
use crate::error::Result;
use crate::identity::StoreId;
use crate::journal::Journal;
use crate::projections::{
    EndedFrame, FinishedSpan, FrameRow, LoggedTurn, NameMatch, OutlineRow, Reading, Slice, Totals,
    WantedTurns,
};

/// Query for the notes of a frame.
const NOTES: &str = "SELECT kind, text, why, code, by FROM notes WHERE frame = ?1 ORDER BY seq, n";

/// Query for the newest notes of a frame, newest first.
const NEWEST_NOTES: &str = "SELECT kind, text, why, code, by FROM notes
     WHERE frame = ?1 ORDER BY seq DESC, n DESC LIMIT ?2";

/// Query for the children of a frame with one outcome, newest first.
static ENDED: LazyLock<String> = LazyLock::new(|| {
    let columns = rows::COLUMNS;
    format!(
        "SELECT {columns} FROM frames f INDEXED BY frames_ended
         WHERE f.parent = ?1 AND f.status = ?2 AND f.status IN ('completed', 'failed')
         ORDER BY f.closed DESC, f.rank DESC, f.id DESC LIMIT ?3"
    )
});

/// Number of events at the end of the journal that are searched for the work of a session.
const RECENT: i64 = 5_000;

/// Maximum number of frames listed for an ambiguous name.
const CANDIDATES: i64 = 6;

/// The columns of a [`FrameRow`].
fn row_columns() -> String {
    let columns = rows::COLUMNS;
    let count =
        |of: &str| format!("(SELECT count(*) FROM notes n WHERE n.frame = f.id AND ({of}))");
    let (proofs, failures) = (count(outline::PROOF), count(outline::FAILURE));
    let commits = count("n.kind = 'commit'");
    format!("{columns}, {proofs}, {failures}, {commits}")
}

fn frame_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<FrameRow> {
    let count = |column: usize| row.get::<_, i64>(column).map(i64::unsigned_abs);
    Ok(FrameRow {
        frame: rows::frame(row)?,
        proofs: count(rows::COUNT)?,
        failures: count(rows::COUNT + 1)?,
        commits: count(rows::COUNT + 2)?,
    })
}

impl Reading for SqliteView<'_> {
    fn position(&self) -> Result<Seq> {
        journal::last_seq(self.connection)
    }

    fn named(&self, name: &str) -> Result<NameMatch> {
        if let Ok(id) = name.parse::<FrameId>() {
            if self.frame(&id)?.is_some() {
                return Ok(NameMatch::Frame(id));
            }
            if self.is_taken(&id)? {
                return Ok(NameMatch::Gone(id));
            }
        }
        if let Some(id) = self.alias(name)? {
            return Ok(NameMatch::Frame(id));
        }
        let sessions = self.sessions_where("WHERE key = ?1 OR id = ?1", params![name])?;
        if let Some(own) = sessions.iter().find_map(|known| known.own) {
            return Ok(NameMatch::Frame(own));
        }
        if let Some(known) = sessions.into_iter().next() {
            return Ok(NameMatch::Unbound(known.key));
        }
        self.by_prefix(name)
    }

    fn titled(&self, title: &str, or_longer: bool) -> Result<Vec<(FrameId, String)>> {
        // The highest character ends the range of everything that begins with the title.
        let end = format!("{title}\u{10ffff}");
        let range = if or_longer {
            "title >= ?1 COLLATE NOCASE AND title < ?2 COLLATE NOCASE"
        } else {
            "title = ?1 COLLATE NOCASE AND ?2 = ?2"
        };
        self.connection.many(
            &format!(
                "SELECT id, title FROM
                     (SELECT id, title, status, changed FROM frames WHERE {range} LIMIT 200)
                 ORDER BY status NOT IN ('planned', 'in_progress', 'blocked'), changed DESC
                 LIMIT ?3"
            ),
            params![title, end, CANDIDATES],
            |row| Ok((rows::id(row, 0)?, row.get(1)?)),
        )
    }

    fn whole_frame(&self, id: &FrameId) -> Result<Option<Frame>> {
        let Some(mut frame) = self.frame_with_log(id)? else {
            return Ok(None);
        };
        frame.notes = self.newest_notes(id)?;
        frame.aliases = self.connection.many(
            "SELECT alias FROM aliases WHERE frame = ?1 ORDER BY n",
            params![id.as_str()],
            |row| row.get(0),
        )?;
        Ok(Some(frame))
    }

    fn note_count(&self, id: &FrameId) -> Result<u64> {
        let sql = "SELECT count(*) FROM notes WHERE frame = ?1";
        let count: Option<i64> = self.connection.one(sql, [id.as_str()], |row| row.get(0))?;
        Ok(count.unwrap_or_default().unsigned_abs())
    }

    fn frame_with_log(&self, id: &FrameId) -> Result<Option<Frame>> {
        let Some(mut frame) = project::load(self.connection, id)? else {
            return Ok(None);
        };
        frame.log = self.connection.many(
            "SELECT label, blob, bytes FROM log_entries WHERE frame = ?1 ORDER BY seq, n",
            params![id.as_str()],
            rows::log_entry,
        )?;
        Ok(Some(frame))
    }

    fn visit_notes(
        &self,
        frame: &FrameId,
        each: &mut dyn FnMut(Note) -> Result<bool>,
    ) -> Result<()> {
        let mut statement = self.connection.prepare_cached(NOTES)?;
        let mut found = statement.query(params![frame.as_str()])?;
        while let Some(row) = found.next()? {
            if !each(rows::note(row)?)? {
                break;
            }
        }
        Ok(())
    }

    fn rows(&self, slice: &Slice) -> Result<Vec<FrameRow>> {
        let columns = row_columns();
        let (order, sign) = if slice.last {
            (Order::LastToFirst, "DESC")
        } else {
            (Order::FirstToLast, "ASC")
        };
        let wanted = |status: Status| slice.open.is_none_or(|open| open == status.is_open());
        let level = level(wanted, "", order);
        let limit = slice
            .limit
            .and_then(|limit| i64::try_from(limit).ok())
            .unwrap_or(-1);
        let parent = slice.parent.as_ref().map(FrameId::as_str);
        let mut found = self.connection.many(
            &format!(
                "SELECT {columns} FROM ({level} LIMIT ?2) l CROSS JOIN frames f ON f.id = l.id
                 ORDER BY l.rank {sign}, l.id {sign}"
            ),
            params![parent, limit],
            frame_row,
        )?;
        if slice.last {
            found.reverse();
        }
        Ok(found)
    }

    fn bare_frame(&self, id: &FrameId) -> Result<Option<Frame>> {
        project::load(self.connection, id)
    }

    fn row(&self, id: &FrameId) -> Result<Option<FrameRow>> {
        let columns = row_columns();
        let sql = format!("SELECT {columns} FROM frames f WHERE f.id = ?1");
        self.connection.one(&sql, params![id.as_str()], frame_row)
    }

    fn child_totals(&self, parent: Option<&FrameId>) -> Result<Totals> {
        self.totals_of(parent.map_or(project::ROOTS, FrameId::as_str))
    }

    fn siblings_before(&self, frame: &FrameHead, level: &Totals) -> Result<u64> {
        let parent = frame.parent.as_ref().map(FrameId::as_str);
        let mut before = 0;
        // One range of the index after the other, skipping statuses without frames.
        for status in Status::ALL {
            if level.of(status) > 0 {
                let count = self.connection.one(
                    "SELECT count(*) FROM frames
                     WHERE parent IS ?1 AND status = ?2 AND (rank, id) < (?3, ?4)",
                    params![parent, status.as_str(), frame.rank.0, frame.id.as_str()],
                    |row| row.get::<_, i64>(0),
                )?;
                before += count.unwrap_or_default().unsigned_abs();
            }
        }
        Ok(before)
    }

    fn next_planned(&self, parent: &FrameId, after: Option<Rank>) -> Result<Option<FrameHead>> {
        let columns = rows::HEAD_COLUMNS;
        self.connection.one(
            &format!(
                "SELECT {columns} FROM frames f
                 WHERE f.parent = ?1 AND f.status = 'planned' AND f.rank > ?2
                 ORDER BY f.rank, f.id LIMIT 1"
            ),
            params![parent.as_str(), after.map_or(i64::MIN, |rank| rank.0)],
            rows::head,
        )
    }

    fn frames_with_notes(&self, ids: &[FrameId]) -> Result<Vec<Frame>> {
        batch::frames_with_notes(self.connection, ids)
    }

    fn path(&self, frame: &FrameId, limit: usize) -> Result<Vec<(Frame, Totals)>> {
        path::path(self.connection, frame, limit)
    }

    fn top(&self, frame: &FrameId) -> Result<Option<(FrameId, usize)>> {
        self.connection.one(
            "SELECT root, depth FROM frames WHERE id = ?1",
            params![frame.as_str()],
            |row| {
                let levels: i64 = row.get(1)?;
                Ok((rows::id(row, 0)?, usize::try_from(levels).unwrap_or(0)))
            },
        )
    }

    fn children_with_status(
        &self,
        parent: &FrameId,
        status: Status,
        limit: usize,
    ) -> Result<Vec<Frame>> {
        let columns = rows::COLUMNS;
        self.connection.many(
            &format!(
                "SELECT {columns} FROM frames f WHERE f.parent = ?1 AND f.status = ?2
                 ORDER BY f.rank, f.id LIMIT ?3"
            ),
            params![parent.as_str(), status.as_str(), statements::limit(limit)],
            rows::frame,
        )
    }

    fn ended(&self, parent: &FrameId, status: Status, limit: usize) -> Result<Vec<EndedFrame>> {
        self.connection.many(
            "SELECT f.closed, f.rank, f.id FROM frames f
             WHERE f.parent = ?1 AND f.status = ?2 AND f.status IN ('completed', 'failed')
             ORDER BY f.closed DESC, f.rank DESC, f.id DESC LIMIT ?3",
            params![parent.as_str(), status.as_str(), statements::limit(limit)],
            |row| {
                Ok(EndedFrame {
                    at: Seq(row.get(0)?),
                    rank: Rank(row.get(1)?),
                    id: rows::id(row, 2)?,
                })
            },
        )
    }

    fn ended_with_notes(
        &self,
        parent: &FrameId,
        status: Status,
        limit: usize,
    ) -> Result<Vec<Frame>> {
        // Frames are large: moving them while a list grows would cost as much as reading some.
        let mut frames = Vec::with_capacity(limit.min(256));
        let mut statement = self.connection.prepare_cached(&ENDED)?;
        let mut found = statement.query(params![
            parent.as_str(),
            status.as_str(),
            statements::limit(limit)
        ])?;
        while let Some(row) = found.next()? {
            frames.push(rows::frame(row)?);
        }
        batch::add_notes(self.connection, &mut frames)?;
        Ok(frames)
    }

    fn ended_since(&self, parent: &FrameId, after: Seq) -> Result<Vec<FrameId>> {
        self.connection.many(
            "SELECT id, changed FROM frames
             WHERE parent = ?1 AND status = 'completed' AND closed > ?2
               AND status IN ('completed', 'failed')
             UNION
             SELECT id, changed FROM frames
             WHERE parent = ?1 AND status = 'failed' AND closed > ?2
               AND status IN ('completed', 'failed')
             UNION
             SELECT id, changed FROM frames
             WHERE parent = ?1 AND changed > ?2
               AND status IN ('completed', 'failed') AND changed > closed
             ORDER BY changed",
            params![parent.as_str(), after.0],
            |row| rows::id(row, 0),
        )
    }

    fn undone_since(&self, after: Seq) -> Result<bool> {
        let sql = "SELECT 1 FROM undone WHERE by > ?1 UNION ALL
             SELECT 1 FROM reopened WHERE seq > ?1 UNION ALL
             SELECT 1 FROM rewound WHERE seq > ?1 LIMIT 1";
        self.connection.has(sql, params![after.0])
    }

    fn directives(&self, frame: &FrameId, limit: usize) -> Result<Vec<Directive>> {
        self.connection.many(
            "SELECT n.text, n.seq, e.session, n.by FROM notes n INDEXED BY notes_directives
             CROSS JOIN events e ON e.seq = n.seq
             WHERE n.frame = ?1 AND n.kind = 'directive'
             ORDER BY n.seq DESC, n.n DESC LIMIT ?2",
            params![frame.as_str(), statements::limit(limit)],
            |row| {
                Ok(Directive {
                    text: Text::recorded(row.get(0)?),
                    said: Seq(row.get(1)?),
                    session: rows::session(row, 2)?,
                    frame: *frame,
                    by: rows::author(row, 3)?,
                })
            },
        )
    }

    fn finished_spans(&self, session: &SessionRef, after: Seq) -> Result<Vec<FinishedSpan>> {
        self.connection.many(
            "SELECT f.id, f.span_first, f.span_last, f.closed, f.origin
             FROM frames f INDEXED BY frames_by_span
             WHERE f.span_session = ?1 AND f.closed > ?2 AND f.session IS NOT ?1
               AND (f.span_session < 'shell:' OR f.span_session > 'shell;')
               AND f.status IN ('completed', 'failed')
             ORDER BY f.closed",
            params![session.to_string(), after.0],
            |row| {
                Ok(FinishedSpan {
                    frame: rows::id(row, 0)?,
                    first: row.get(1)?,
                    last: row.get(2)?,
                    closed: Seq(row.get(3)?),
                    origin: rows::origin(row, 4)?,
                })
            },
        )
    }

    fn totals(&self) -> Result<Totals> {
        self.totals_of(project::EVERYWHERE)
    }

    fn all_rows(&self, each: &mut dyn FnMut(FrameRow) -> Result<()>) -> Result<()> {
        let columns = row_columns();
        let sql = format!("SELECT {columns} FROM frames f ORDER BY f.parent, f.rank, f.id");
        let mut statement = self.connection.prepare(&sql)?;
        let mut found = statement.query([])?;
        while let Some(row) = found.next()? {
            each(frame_row(row)?)?;
        }
        Ok(())
    }

    fn outline(&self, each: &mut dyn FnMut(OutlineRow)) -> Result<()> {
        outline::visit(self.connection, each)
    }

    fn sessions(&self, live_only: bool) -> Result<Vec<Session>> {
        let live = if live_only {
            "WHERE active IS NOT NULL"
        } else {
            ""
        };
        self.sessions_where(live, params![])
    }

    fn runs(&self, in_flight_only: bool) -> Result<Vec<SubagentRun>> {
        runs::all(self.connection, in_flight_only)
    }

    fn all_awaiting(&self) -> Result<Vec<(FrameId, Awaiting)>> {
        let sql = "SELECT id, awaiting FROM frames WHERE awaiting IS NOT NULL ORDER BY id";
        self.connection.many(sql, [], |row| {
            Ok((rows::id(row, 0)?, rows::awaiting(row, 1)?))
        })
    }

    fn visit_history(
        &self,
        frame: &FrameId,
        each: &mut dyn FnMut(Recorded) -> Result<bool>,
    ) -> Result<()> {
        logs::visit_history(self.connection, frame, each)
    }

    fn last_events(&self, frame: &FrameId, limit: usize) -> Result<(Vec<Recorded>, u64)> {
        logs::last_events(self.connection, frame, limit)
    }

    fn turns(&self, wanted: &WantedTurns<'_>) -> Result<Vec<LoggedTurn>> {
        logs::turns(self.connection, wanted)
    }

    fn last_seen(&self, sessions: &[Session]) -> Result<BTreeMap<SessionRef, Timestamp>> {
        let mut wanted: BTreeMap<String, &SessionRef> = sessions
            .iter()
            .map(|session| (session.key.to_string(), &session.key))
            .collect();
        let mut statement = self
            .connection
            .prepare("SELECT session, at FROM events ORDER BY seq DESC LIMIT ?1")?;
        let mut events = statement.query(params![RECENT])?;
        let mut seen = BTreeMap::new();
        // A session that works on a frame is mostly among the last to have recorded something.
        while !wanted.is_empty()
            && let Some(event) = events.next()?
        {
            if let Some(key) = wanted.remove(&event.get::<_, String>(0)?) {
                seen.insert(key.clone(), Timestamp(event.get(1)?));
            }
        }
        Ok(seen)
    }

    fn visited(&self, session: &SessionRef) -> Result<Vec<FrameId>> {
        let events = project::latest(self.connection, &session.to_string(), RECENT)?;
        let visited = events.iter().filter_map(|recorded| match &recorded.event {
            Event::SessionFocused {
                session: of,
                from,
                to,
            } if of == session => Some([*to, *from]),
            _ => None,
        });
        Ok(visited.flatten().flatten().collect())
    }

    fn events_after(&self, after: Seq, limit: usize) -> Result<Vec<Recorded>> {
        SqliteJournal(self.connection).after(after, limit)
    }

    fn events_of(&self, session: &SessionRef, after: Seq, limit: usize) -> Result<Vec<Recorded>> {
        journal::of_session(self.connection, session, after, limit)
    }

    fn last_sent(&self, session: &SessionRef) -> Result<Option<Recorded>> {
        let last = self.deliveries(
            "true ORDER BY s.seq DESC LIMIT 1",
            params![session.to_string()],
        )?;
        Ok(last.into_iter().next())
    }

    fn sent_with(&self, session: &SessionRef, message: &str) -> Result<Option<Recorded>> {
        let found = self.deliveries(
            "s.message = ?2 ORDER BY s.seq DESC LIMIT 1",
            params![session.to_string(), message],
        )?;
        Ok(found.into_iter().next())
    }

    fn sent(&self, session: &SessionRef) -> Result<Vec<Recorded>> {
        self.deliveries("s.content > 0 ORDER BY s.seq", params![session.to_string()])
    }

    fn compactions(&self, session: &SessionRef, limit: usize) -> Result<Vec<Compaction>> {
        let sql = "SELECT body FROM compactions WHERE session = ?1 ORDER BY n DESC LIMIT ?2";
        let limit = statements::limit(limit);
        let mut found = self
            .connection
            .many(sql, params![session.to_string(), limit], |row| {
                rows::compaction(row, 0)
            })?;
        found.reverse();
        Ok(found)
    }

    fn imports(&self) -> Result<Vec<String>> {
        self.connection.many(
            "SELECT foreign_json FROM imports ORDER BY seq",
            params![],
            |row| row.get(0),
        )
    }

    fn dropped(&self, blob: &str) -> Result<Option<(Seq, u64)>> {
        let sql = "SELECT seq, bytes FROM dropped WHERE blob = ?1";
        self.connection.one(sql, params![blob], |row| {
            Ok((Seq(row.get(0)?), row.get::<_, i64>(1)?.unsigned_abs()))
        })
    }

    fn blobs(&self) -> Result<Vec<String>> {
        let sql = "SELECT DISTINCT blob FROM log_entries ORDER BY blob";
        self.connection.many(sql, params![], |row| row.get(0))
    }

    fn droppable(&self) -> Result<Vec<(String, u64)>> {
        let sql = "SELECT l.blob, max(l.bytes) FROM log_entries l JOIN frames f ON f.id = l.frame
             WHERE l.blob NOT IN (SELECT blob FROM dropped)
             GROUP BY l.blob
             HAVING sum(f.status IN ('planned', 'in_progress', 'blocked')) = 0
             ORDER BY max(f.closed), l.blob";
        self.connection.many(sql, params![], |row| {
            Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs()))
        })
    }

    fn texts_before(&self, before: Timestamp) -> Result<Vec<(String, u64)>> {
        let sql = "SELECT l.blob, max(l.bytes) FROM log_entries l JOIN events e ON e.seq = l.seq
             WHERE l.blob NOT IN (SELECT blob FROM dropped)
             GROUP BY l.blob HAVING max(e.at) < ?1 ORDER BY max(l.seq), l.blob";
        self.connection.many(sql, params![before.0], |row| {
            Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs()))
        })
    }

    fn stores(&self) -> Result<Vec<StoreId>> {
        let sql = "SELECT substr(name, 1 + length(?1)) FROM meta WHERE name LIKE ?1 || '%'";
        let ids: Vec<String> = self
            .connection
            .many(sql, params![ABSORBED], |row| row.get(0))?;
        let absorbed = ids.iter().filter_map(|id| StoreId::parse(id));
        Ok(absorbed.chain(StoreId::of(self.connection)?).collect())
    }
}

impl SqliteView<'_> {
    /// Returns the newest notes of a frame, oldest first.
    fn newest_notes(&self, frame: &FrameId) -> Result<Vec<Note>> {
        let mut statement = self.connection.prepare_cached(NEWEST_NOTES)?;
        let mut found =
            statement.query(params![frame.as_str(), statements::limit(batch::MAX_NOTES)])?;
        let mut notes = Vec::new();
        let mut bytes = 0;
        while bytes < batch::MAX_NOTE_BYTES
            && let Some(row) = found.next()?
        {
            let note = rows::note(row)?;
            bytes += note.text().as_str().len();
            notes.push(note);
        }
        notes.reverse();
        Ok(notes)
    }

    pub(super) fn totals_of(&self, scope: &str) -> Result<Totals> {
        let sql = "SELECT planned, in_progress, completed, failed, blocked, invalidated
             FROM totals WHERE scope = ?1";
        let found = self
            .connection
            .one(sql, params![scope], |row| rows::totals(row, 0))?;
        Ok(found.unwrap_or_default())
    }

    /// Resolves a prefix of an id or a former id.
    fn by_prefix(&self, prefix: &str) -> Result<NameMatch> {
        if prefix.is_empty() {
            return Ok(NameMatch::Unknown);
        }
        // The highest character ends the range of everything with this prefix.
        let end = format!("{prefix}\u{10ffff}");
        let candidates = self.connection.many(
            "SELECT id, title FROM frames WHERE id >= ?1 AND id < ?2
             UNION
             SELECT f.id, f.title FROM aliases a JOIN frames f ON f.id = a.frame
             WHERE a.alias >= ?1 AND a.alias < ?2
             ORDER BY 1 LIMIT ?3",
            params![prefix, end, CANDIDATES],
            |row| Ok((rows::id(row, 0)?, row.get::<_, String>(1)?)),
        )?;
        Ok(match candidates.as_slice() {
            [] => NameMatch::Unknown,
            [(id, _)] => NameMatch::Frame(*id),
            _ => NameMatch::Ambiguous(candidates),
        })
    }
}
