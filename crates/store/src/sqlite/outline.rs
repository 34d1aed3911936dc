//! The outline of all frames: their places, titles and evidence.

use std::collections::BTreeMap;

use flamestack_core::frame::Rank;
use flamestack_core::id::FrameId;
use flamestack_core::text::Title;
use rusqlite::Connection;

use super::rows;
use super::statements::Statements as _;
use crate::error::Result;
use crate::projections::OutlineRow;

/// The condition on a note `n` that supports its frame.
pub(super) const PROOF: &str =
    "n.kind = 'commit' OR n.kind = 'command' AND n.code = 0 OR n.kind = 'test' AND n.code = 1";
/// The condition on a note `n` of a command or test that failed.
pub(super) const FAILURE: &str =
    "n.kind = 'command' AND n.code <> 0 OR n.kind = 'test' AND n.code = 0";

/// Visits all frames, in the order of their ids.
pub(super) fn visit(connection: &Connection, each: &mut dyn FnMut(OutlineRow)) -> Result<()> {
    let evidence = evidence(connection)?;
    // Only columns that are stored before the long texts, whose pages are not read then.
    let sql = "SELECT id, parent, rank, status, title, origin FROM frames ORDER BY id";
    let mut statement = connection.prepare(sql)?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        let id = rows::id(row, 0)?;
        let (proofs, failures) = evidence.get(&id).copied().unwrap_or_default();
        each(OutlineRow {
            id,
            parent: rows::opt_id(row, 1)?,
            rank: Rank(row.get(2)?),
            status: rows::status(row, 3)?,
            title: Title::recorded(row.get(4)?),
            origin: rows::origin(row, 5)?,
            proofs,
            failures,
        });
    }
    Ok(())
}

/// Returns the number of proofs and failures of each frame that has any.
fn evidence(connection: &Connection) -> Result<BTreeMap<FrameId, (u64, u64)>> {
    let sql = format!(
        "SELECT n.frame, count(*) FILTER (WHERE {PROOF}), count(*) FILTER (WHERE {FAILURE})
         FROM notes n WHERE n.kind IN ('commit', 'command', 'test') GROUP BY n.frame"
    );
    let counts = connection.many(&sql, [], |row| {
        let count = |column: usize| row.get::<_, i64>(column).map(i64::unsigned_abs);
        Ok((rows::id(row, 0)?, (count(1)?, count(2)?)))
    })?;
    Ok(counts.into_iter().collect())
}
