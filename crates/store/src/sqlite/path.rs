//! The path from a frame to its root.
//!
//! Each step reads one row by its id. That is cheaper than a recursive query, which maintains a queue
//! and copies whole frames through it.

use std::sync::LazyLock;

use flamestack_core::frame::Frame;
use flamestack_core::id::FrameId;
use rusqlite::{Connection, OptionalExtension as _};

use super::{batch, rows};
use crate::error::Result;
use crate::projections::Totals;

static STEP: LazyLock<String> = LazyLock::new(|| {
    let columns = rows::COLUMNS;
    format!(
        "SELECT {columns}, t.planned, t.in_progress, t.completed, t.failed, t.blocked, t.invalidated
         FROM frames f LEFT JOIN totals t ON t.scope = f.id WHERE f.id = ?1"
    )
});

/// Returns a frame and its ancestors, itself first, with their notes and each with the totals of its
/// children; at most `limit`.
pub(super) fn path(
    connection: &Connection,
    frame: &FrameId,
    limit: usize,
) -> Result<Vec<(Frame, Totals)>> {
    let mut step = connection.prepare_cached(&STEP)?;
    let (mut frames, mut totals): (Vec<Frame>, Vec<Totals>) = Default::default();
    let mut next = Some(*frame);
    while let Some(id) = next.take()
        && frames.len() < limit
        // Damage may make a cycle of a path; it ends at the first frame seen twice.
        && !frames.iter().any(|known| known.id == id)
    {
        let found = step.query_row([id.as_str()], |row| {
            Ok((rows::frame(row)?, rows::totals(row, rows::COUNT)?))
        });
        if let Some((frame, children)) = found.optional()? {
            next.clone_from(&frame.parent);
            frames.push(frame);
            totals.push(children);
        }
    }
    batch::add_notes(connection, &mut frames)?;
    Ok(frames.into_iter().zip(totals).collect())
}
