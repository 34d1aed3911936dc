//! Reading many frames at once, by id.
//!
//! A context reads dozens of frames with their notes. Starting a statement costs as much as reading a
//! row, so ids are bound in batches.

use std::sync::LazyLock;

use flamestack_core::frame::Frame;
use flamestack_core::id::FrameId;
use rusqlite::{Connection, Row, params_from_iter};

use super::rows;
use crate::error::Result;

/// Numbers of ids that a statement takes.
const BATCH_SIZES: [usize; 3] = [1, 4, 16];

/// The statements for one batch size.
struct Batch {
    names: usize,
    frames: String,
    notes: String,
}

static STATEMENTS: LazyLock<[Batch; 3]> = LazyLock::new(|| BATCH_SIZES.map(Batch::new));

impl Batch {
    fn new(names: usize) -> Self {
        let values: Vec<String> = (1..=names).map(|n| format!("({n}, ?{n})")).collect();
        let batch = format!("(VALUES {}) batch", values.join(", "));
        let columns = rows::COLUMNS;
        Self {
            names,
            frames: format!(
                "SELECT {columns}, batch.column1
                 FROM {batch} CROSS JOIN frames f ON f.id = batch.column2"
            ),
            notes: format!(
                "SELECT n.kind, n.text, n.why, n.code, n.by, batch.column1, n.seq, n.n
                 FROM {batch} CROSS JOIN notes n ON n.frame = batch.column2"
            ),
        }
    }

    /// Returns the smallest batch that takes `count` ids, else the largest.
    fn for_names(count: usize) -> Option<&'static Self> {
        let fits = |batch: &&Self| batch.names >= count;
        STATEMENTS.iter().find(fits).or(STATEMENTS.last())
    }
}

/// Returns frames with their notes, in the given order. Missing frames are skipped.
pub(super) fn frames_with_notes(connection: &Connection, ids: &[FrameId]) -> Result<Vec<Frame>> {
    let mut frames = Vec::with_capacity(ids.len());
    let mut rest = ids;
    while let Some(batch) = Batch::for_names(rest.len())
        && !rest.is_empty()
    {
        let (ids, rest_of) = rest.split_at(batch.names.min(rest.len()));
        let mut found: Vec<(i64, Frame)> = Vec::with_capacity(ids.len());
        each(connection, &batch.frames, batch.names, ids.iter(), |row| {
            found.push((row.get(rows::COUNT)?, rows::frame(row)?));
            Ok(())
        })?;
        // They come in this order anyway, but SQL does not promise it.
        found.sort_by_key(|(place, _)| *place);
        frames.extend(found.into_iter().map(|(_, frame)| frame));
        rest = rest_of;
    }
    add_notes(connection, &mut frames)?;
    Ok(frames)
}

/// Loads the notes of frames.
pub(super) fn add_notes(connection: &Connection, frames: &mut [Frame]) -> Result<()> {
    let mut rest = frames;
    while let Some(batch) = Batch::for_names(rest.len())
        && !rest.is_empty()
    {
        let (frames, rest_of) = rest.split_at_mut(batch.names.min(rest.len()));
        let mut notes = Vec::with_capacity(2 * frames.len());
        let ids = frames.iter().map(|frame| &frame.id);
        each(connection, &batch.notes, batch.names, ids, |row| {
            let place: (i64, i64, i64) = (row.get(5)?, row.get(6)?, row.get(7)?);
            notes.push((place, rows::note(row)?));
            Ok(())
        })?;
        notes.sort_by_key(|(place, _)| *place);
        let mut notes = notes.into_iter().peekable();
        for (place, frame) in (1..).zip(frames) {
            while let Some((_, note)) = notes.next_if(|((of, ..), _)| *of == place) {
                frame.notes.push(note);
            }
        }
        rest = rest_of;
    }
    Ok(())
}

fn each<'i>(
    connection: &Connection,
    sql: &str,
    names: usize,
    ids: impl ExactSizeIterator<Item = &'i FrameId>,
    mut visit: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    // Nulls fill up the batch: no frame has a null id.
    let missing = std::iter::repeat_n(None, names.saturating_sub(ids.len()));
    let ids = ids.map(|id| Some(id.as_str()));
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = statement.query(params_from_iter(ids.chain(missing)))?;
    while let Some(row) = found.next()? {
        visit(row)?;
    }
    Ok(())
}
