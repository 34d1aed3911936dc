//! The projections, asked by the fronts.

use std::sync::LazyLock;

use flamestack_core::compaction::Compaction;
use flamestack_core::context::Directive;
use flamestack_core::event::Recorded;
use flamestack_core::frame::{Frame, FrameHead, Rank, Status};
use flamestack_core::id::{FrameId, Seq, SessionRef};
use flamestack_core::subagent::Run;
use flamestack_core::text::Prose;
use flamestack_core::{Neighbourhood, Session};
use rusqlite::params;

use super::view::{Order, SESSION_COLUMNS, SqliteView, level, session};
use super::{append, crowd, path, project, rows, runs};
use crate::error::StoreError;
use crate::store::{Ended, FinishedSpan, FrameRow, Named, Reading, Slice, Totals};

/// The notes of a frame.
const NOTES: &str = "SELECT kind, text, why, code FROM notes WHERE frame = ?1 ORDER BY seq, n";

/// The frames below another one that ended in one way, newest first.
static ENDED: LazyLock<String> = LazyLock::new(|| {
    let columns = rows::COLUMNS;
    format!(
        "SELECT {columns} FROM frames f INDEXED BY frames_ended
         WHERE f.parent = ?1 AND f.status = ?2 AND f.status IN ('completed', 'failed')
         ORDER BY f.closed DESC, f.rank DESC, f.id DESC LIMIT ?3"
    )
});

/// How many frames an ambiguous name lists.
const CANDIDATES: i64 = 6;

/// The columns of a [`FrameRow`].
fn row_columns() -> String {
    let columns = rows::COLUMNS;
    let count =
        |of: &str| format!("(SELECT count(*) FROM notes n WHERE n.frame = f.id AND ({of}))");
    let proofs = count(
        "n.kind = 'commit' OR n.kind = 'command' AND n.code = 0 OR n.kind = 'test' AND n.code = 1",
    );
    let failures = count("n.kind = 'command' AND n.code <> 0 OR n.kind = 'test' AND n.code = 0");
    format!("{columns}, {proofs}, {failures}")
}

fn frame_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<FrameRow> {
    let count = |column: usize| row.get::<_, i64>(column).map(i64::unsigned_abs);
    Ok(FrameRow {
        frame: rows::frame(row)?,
        proofs: count(rows::COUNT)?,
        failures: count(rows::COUNT + 1)?,
    })
}

impl Reading for SqliteView<'_> {
    fn position(&self) -> Result<Seq, StoreError> {
        append::last_seq(self.connection)
    }

    fn named(&self, name: &str) -> Result<Named, StoreError> {
        if let Ok(id) = name.parse::<FrameId>() {
            if self.frame(&id)?.is_some() {
                return Ok(Named::Frame(id));
            }
            if self.is_taken(&id)? {
                return Ok(Named::Gone(id));
            }
        }
        if let Some(id) = self.alias(name)? {
            return Ok(Named::Frame(id));
        }
        let sessions = self.many(
            &format!(
                "SELECT {SESSION_COLUMNS} FROM sessions WHERE key = ?1 OR id = ?1 ORDER BY key"
            ),
            params![name],
            session,
        )?;
        if let Some(own) = sessions.iter().find_map(|known| known.own.clone()) {
            return Ok(Named::Frame(own));
        }
        if let Some(known) = sessions.into_iter().next() {
            return Ok(Named::Unbound(known.key));
        }
        self.by_prefix(name)
    }

    fn whole_frame(&self, id: &FrameId) -> Result<Option<Frame>, StoreError> {
        let columns = rows::COLUMNS;
        let sql = format!("SELECT {columns} FROM frames f WHERE f.id = ?1");
        let Some(mut frame) = self.one(&sql, params![id.as_str()], rows::frame)? else {
            return Ok(None);
        };
        frame.notes = self.notes(id)?;
        frame.log = self.many(
            "SELECT label, blob, bytes FROM log_entries WHERE frame = ?1 ORDER BY seq, n",
            params![id.as_str()],
            rows::log_entry,
        )?;
        frame.aliases = self.many(
            "SELECT alias FROM aliases WHERE frame = ?1 ORDER BY n",
            params![id.as_str()],
            |row| row.get(0),
        )?;
        Ok(Some(frame))
    }

    fn rows(&self, slice: &Slice) -> Result<Vec<FrameRow>, StoreError> {
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
        let mut found = self.many(
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

    fn child_totals(&self, parent: Option<&FrameId>) -> Result<Totals, StoreError> {
        self.totals_of(parent.map_or(project::ROOTS, FrameId::as_str))
    }

    fn siblings_before(&self, frame: &FrameHead, level: &Totals) -> Result<u64, StoreError> {
        let parent = frame.parent.as_ref().map(FrameId::as_str);
        let mut before = 0;
        // One range of the index after the other, and none for a status that nobody has.
        for status in Status::ALL {
            if level.of(status) > 0 {
                let count = self.one(
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

    fn next_planned(
        &self,
        parent: &FrameId,
        behind: Option<Rank>,
    ) -> Result<Option<FrameHead>, StoreError> {
        let columns = rows::HEAD_COLUMNS;
        self.one(
            &format!(
                "SELECT {columns} FROM frames f
                 WHERE f.parent = ?1 AND f.status = 'planned' AND f.rank > ?2
                 ORDER BY f.rank, f.id LIMIT 1"
            ),
            params![parent.as_str(), behind.map_or(i64::MIN, |rank| rank.0)],
            rows::head,
        )
    }

    fn frames_with_notes(&self, ids: &[FrameId]) -> Result<Vec<Frame>, StoreError> {
        crowd::frames_with_notes(self.connection, ids)
    }

    fn path(&self, frame: &FrameId, limit: usize) -> Result<Vec<(Frame, Totals)>, StoreError> {
        path::path(self.connection, frame, limit)
    }

    fn top(&self, frame: &FrameId) -> Result<Option<(FrameId, usize)>, StoreError> {
        self.one(
            "SELECT root, depth FROM frames WHERE id = ?1",
            params![frame.as_str()],
            |row| {
                let levels: i64 = row.get(1)?;
                Ok((rows::id(row, 0)?, usize::try_from(levels).unwrap_or(0)))
            },
        )
    }

    fn standing(
        &self,
        parent: &FrameId,
        status: Status,
        limit: usize,
    ) -> Result<Vec<Frame>, StoreError> {
        let columns = rows::COLUMNS;
        self.many(
            &format!(
                "SELECT {columns} FROM frames f WHERE f.parent = ?1 AND f.status = ?2
                 ORDER BY f.rank, f.id LIMIT ?3"
            ),
            params![
                parent.as_str(),
                status.as_str(),
                i64::try_from(limit).unwrap_or(i64::MAX)
            ],
            rows::frame,
        )
    }

    fn ended(
        &self,
        parent: &FrameId,
        status: Status,
        limit: usize,
    ) -> Result<Vec<Ended>, StoreError> {
        self.many(
            "SELECT f.closed, f.rank, f.id FROM frames f
             WHERE f.parent = ?1 AND f.status = ?2 AND f.status IN ('completed', 'failed')
             ORDER BY f.closed DESC, f.rank DESC, f.id DESC LIMIT ?3",
            params![
                parent.as_str(),
                status.as_str(),
                i64::try_from(limit).unwrap_or(i64::MAX)
            ],
            |row| {
                Ok(Ended {
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
    ) -> Result<Vec<Frame>, StoreError> {
        // Frames are large, and moving them while a list grows would cost as much as reading some.
        let mut frames = Vec::with_capacity(limit.min(256));
        let mut statement = self.connection.prepare_cached(&ENDED)?;
        let mut found = statement.query(params![
            parent.as_str(),
            status.as_str(),
            i64::try_from(limit).unwrap_or(i64::MAX)
        ])?;
        while let Some(row) = found.next()? {
            frames.push(rows::frame(row)?);
        }
        crowd::add_notes(self.connection, &mut frames)?;
        Ok(frames)
    }

    fn ended_since(&self, parent: &FrameId, after: Seq) -> Result<Vec<FrameId>, StoreError> {
        self.many(
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

    fn undone_since(&self, after: Seq) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM undone WHERE by > ?1 UNION ALL
             SELECT 1 FROM reopened WHERE seq > ?1 UNION ALL
             SELECT 1 FROM rewound WHERE seq > ?1 LIMIT 1";
        Ok(self.one(sql, params![after.0], |_| Ok(()))?.is_some())
    }

    fn directives(&self, frame: &FrameId, limit: usize) -> Result<Vec<Directive>, StoreError> {
        self.many(
            "SELECT n.text, n.seq, e.session FROM notes n INDEXED BY notes_directives
             CROSS JOIN events e ON e.seq = n.seq
             WHERE n.frame = ?1 AND n.kind = 'directive'
             ORDER BY n.seq DESC, n.n DESC LIMIT ?2",
            params![frame.as_str(), i64::try_from(limit).unwrap_or(i64::MAX)],
            |row| {
                Ok(Directive {
                    text: Prose::recorded(row.get(0)?),
                    said: Seq(row.get(1)?),
                    session: rows::session(row, 2)?,
                    frame: frame.clone(),
                })
            },
        )
    }

    fn finished_spans(
        &self,
        session: &SessionRef,
        after: Seq,
    ) -> Result<Vec<FinishedSpan>, StoreError> {
        SqliteView::finished_spans(self, session, after)
    }

    fn totals(&self) -> Result<Totals, StoreError> {
        self.totals_of(project::EVERYWHERE)
    }

    fn all_rows(
        &self,
        each: &mut dyn FnMut(FrameRow) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let columns = row_columns();
        let sql = format!("SELECT {columns} FROM frames f ORDER BY f.parent, f.rank, f.id");
        let mut statement = self.connection.prepare(&sql)?;
        let mut found = statement.query([])?;
        while let Some(row) = found.next()? {
            each(frame_row(row)?)?;
        }
        Ok(())
    }

    fn sessions(&self, live_only: bool) -> Result<Vec<Session>, StoreError> {
        let live = if live_only {
            "WHERE active IS NOT NULL"
        } else {
            ""
        };
        let sql = format!("SELECT {SESSION_COLUMNS} FROM sessions {live} ORDER BY key");
        self.many(&sql, params![], session)
    }

    fn runs(&self, in_flight_only: bool) -> Result<Vec<Run>, StoreError> {
        runs::all(self.connection, in_flight_only)
    }

    fn history(&self, frame: &FrameId) -> Result<Vec<Recorded>, StoreError> {
        let columns = append::COLUMNS;
        project::events(
            self.connection,
            &format!(
                "SELECT {columns} FROM subjects s JOIN events e ON e.seq = s.seq
                 WHERE s.name = ?1 AND s.role = 0 AND e.batch NOT IN (SELECT batch FROM undone)
                   AND e.seq NOT IN (SELECT seq FROM masked)
                 ORDER BY s.seq"
            ),
            params![frame.as_str()],
        )
    }

    fn events_after(&self, after: Seq, limit: usize) -> Result<Vec<Recorded>, StoreError> {
        let columns = append::COLUMNS;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        project::events(
            self.connection,
            &format!("SELECT {columns} FROM events e WHERE e.seq > ?1 ORDER BY e.seq LIMIT ?2"),
            params![after.0, limit],
        )
    }

    fn last_sent(&self, session: &SessionRef) -> Result<Option<Recorded>, StoreError> {
        let last = self.deliveries(
            "true ORDER BY s.seq DESC LIMIT 1",
            params![session.to_string()],
        )?;
        Ok(last.into_iter().next())
    }

    fn sent_with(
        &self,
        session: &SessionRef,
        message: &str,
    ) -> Result<Option<Recorded>, StoreError> {
        let found = self.deliveries(
            "s.message = ?2 ORDER BY s.seq DESC LIMIT 1",
            params![session.to_string(), message],
        )?;
        Ok(found.into_iter().next())
    }

    fn sent(&self, session: &SessionRef) -> Result<Vec<Recorded>, StoreError> {
        self.deliveries("s.told > 0 ORDER BY s.seq", params![session.to_string()])
    }

    fn compactions(
        &self,
        session: &SessionRef,
        limit: usize,
    ) -> Result<Vec<Compaction>, StoreError> {
        let sql = "SELECT body FROM compactions WHERE session = ?1 ORDER BY n DESC LIMIT ?2";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut found = self.many(sql, params![session.to_string(), limit], |row| {
            rows::compaction(row, 0)
        })?;
        found.reverse();
        Ok(found)
    }

    fn imports(&self) -> Result<Vec<String>, StoreError> {
        self.many(
            "SELECT foreign_json FROM imports ORDER BY seq",
            params![],
            |row| row.get(0),
        )
    }

    fn dropped(&self, blob: &str) -> Result<Option<(Seq, u64)>, StoreError> {
        let sql = "SELECT seq, bytes FROM dropped WHERE blob = ?1";
        self.one(sql, params![blob], |row| {
            Ok((Seq(row.get(0)?), row.get::<_, i64>(1)?.unsigned_abs()))
        })
    }

    fn blobs(&self) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT DISTINCT blob FROM log_entries ORDER BY blob";
        self.many(sql, params![], |row| row.get(0))
    }

    fn droppable(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let sql = "SELECT l.blob, max(l.bytes) FROM log_entries l JOIN frames f ON f.id = l.frame
             WHERE l.blob NOT IN (SELECT blob FROM dropped)
             GROUP BY l.blob
             HAVING sum(f.status IN ('planned', 'in_progress', 'blocked')) = 0
             ORDER BY max(f.closed), l.blob";
        self.many(sql, params![], |row| {
            Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs()))
        })
    }
}

impl SqliteView<'_> {
    fn notes(&self, frame: &FrameId) -> Result<Vec<flamestack_core::Note>, StoreError> {
        self.many(NOTES, params![frame.as_str()], rows::note)
    }

    pub(super) fn totals_of(&self, scope: &str) -> Result<Totals, StoreError> {
        let sql = "SELECT planned, in_progress, completed, failed, blocked, invalidated
             FROM totals WHERE scope = ?1";
        let found = self.one(sql, params![scope], |row| rows::totals(row, 0))?;
        Ok(found.unwrap_or_default())
    }

    /// The frame whose id, or former id, begins with what was typed.
    fn by_prefix(&self, prefix: &str) -> Result<Named, StoreError> {
        if prefix.is_empty() {
            return Ok(Named::Unknown);
        }
        // The highest character there is ends the range of everything that begins like this.
        let end = format!("{prefix}\u{10ffff}");
        let candidates = self.many(
            "SELECT id, title FROM frames WHERE id >= ?1 AND id < ?2
             UNION
             SELECT f.id, f.title FROM aliases a JOIN frames f ON f.id = a.frame
             WHERE a.alias >= ?1 AND a.alias < ?2
             ORDER BY 1 LIMIT ?3",
            params![prefix, end, CANDIDATES],
            |row| Ok((rows::id(row, 0)?, row.get::<_, String>(1)?)),
        )?;
        Ok(match candidates.as_slice() {
            [] => Named::Unknown,
            [(id, _)] => Named::Frame(id.clone()),
            _ => Named::Ambiguous(candidates),
        })
    }
}
