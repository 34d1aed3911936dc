//! The way up from a frame.
//!
//! One step is one row by its name: cheaper than a recursive query, which keeps a queue of its own
//! and could not carry whole frames along without copying them.

use std::sync::LazyLock;

use flamestack_core::frame::Frame;
use flamestack_core::id::FrameId;
use rusqlite::{Connection, OptionalExtension as _};

use super::{crowd, rows};
use crate::error::StoreError;
use crate::store::Totals;

static STEP: LazyLock<String> = LazyLock::new(|| {
    let columns = rows::COLUMNS;
    format!(
        "SELECT {columns}, t.planned, t.in_progress, t.completed, t.failed, t.blocked, t.invalidated
         FROM frames f LEFT JOIN totals t ON t.scope = f.id WHERE f.id = ?1"
    )
});

/// A frame and those above it, itself first, with their notes and each with the totals of its
/// children; at most `limit`.
pub(super) fn path(
    connection: &Connection,
    frame: &FrameId,
    limit: usize,
) -> Result<Vec<(Frame, Totals)>, StoreError> {
    let mut step = connection.prepare_cached(&STEP)?;
    let (mut frames, mut totals): (Vec<Frame>, Vec<Totals>) = Default::default();
    let mut next = Some(frame.clone());
    while let Some(id) = next.take()
        && frames.len() < limit
        // Damage may make a circle of a path; it is cut where it comes back.
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
    crowd::add_notes(connection, &mut frames)?;
    Ok(frames.into_iter().zip(totals).collect())
}
