//! Finished frames by session.

use flamestack_core::id::{FrameId, Seq, SessionRef};
use rusqlite::params;

use super::rows;
use super::statements::Statements as _;
use super::view::SqliteView;
use crate::error::Result;
use crate::projections::FinishedSpan;

impl SqliteView<'_> {
    /// Returns the frames of a session that were completed or failed after a point, in that order.
    pub(super) fn finished_spans(
        &self,
        session: &SessionRef,
        after: Seq,
    ) -> Result<Vec<FinishedSpan>> {
        self.connection.many(
            "SELECT f.id, f.span_first, f.span_last, f.closed, f.origin
             FROM frames f INDEXED BY frames_by_span
             WHERE f.span_session = ?1 AND f.closed > ?2 AND f.session IS NOT ?1
               AND (f.span_session < 'shell:' OR f.span_session > 'shell;')
               AND f.status IN ('completed', 'failed')
             ORDER BY f.closed",
            params![session.to_string(), after.0],
            |row| {
                let frame: FrameId = rows::id(row, 0)?;
                Ok(FinishedSpan {
                    frame,
                    first: row.get(1)?,
                    last: row.get(2)?,
                    closed: Seq(row.get(3)?),
                    origin: rows::origin(row, 4)?,
                })
            },
        )
    }
}
