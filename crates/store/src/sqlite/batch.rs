//! Reading many frames at once, by id.
//!
//! A context reads dozens of frames with their notes. Starting a statement costs as much as reading a
//! row, so ids are bound in batches.

use std::collections::VecDeque;
use std::sync::LazyLock;

use flamestack_core::frame::Frame;
use flamestack_core::id::FrameId;
use flamestack_core::note::Note;
use rusqlite::{Connection, Row, params_from_iter};

use super::rows;
use crate::error::Result;

/// Maximum number of notes that are read of a frame, and of their bytes; a single one may exceed them.
pub(super) const MAX_NOTES: usize = 10_000;
pub(super) const MAX_NOTE_BYTES: usize = 4 * 1024 * 1024;

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

/// The newest notes of a frame, within the limits.
#[derive(Default)]
struct NewestNotes {
    notes: VecDeque<((i64, i64), Note)>,
    bytes: usize,
}

impl NewestNotes {
    fn add(&mut self, place: (i64, i64), note: Note) {
        self.bytes += note.text().as_str().len();
        self.notes.push_back((place, note));
        while self.notes.len() > MAX_NOTES || self.bytes > MAX_NOTE_BYTES && self.notes.len() > 1 {
            let oldest = self.notes.pop_front();
            let bytes = oldest.map_or(0, |(_, note)| note.text().as_str().len());
            self.bytes = self.bytes.saturating_sub(bytes);
        }
    }

    fn in_order(self) -> Vec<Note> {
        let mut notes: Vec<_> = self.notes.into();
        // They come in this order anyway, but SQL does not promise it.
        notes.sort_by_key(|(place, _)| *place);
        notes.into_iter().map(|(_, note)| note).collect()
    }
}

/// Loads the notes of frames, at most the newest [`MAX_NOTES`] of each.
pub(super) fn add_notes(connection: &Connection, frames: &mut [Frame]) -> Result<()> {
    let mut rest = frames;
    while let Some(batch) = Batch::for_names(rest.len())
        && !rest.is_empty()
    {
        let (frames, rest_of) = rest.split_at_mut(batch.names.min(rest.len()));
        let mut notes: Vec<NewestNotes> = frames.iter().map(|_| NewestNotes::default()).collect();
        let ids = frames.iter().map(|frame| &frame.id);
        each(connection, &batch.notes, batch.names, ids, |row| {
            let frame = usize::try_from(row.get::<_, i64>(5)? - 1);
            if let Some(of_frame) = frame.ok().and_then(|frame| notes.get_mut(frame)) {
                of_frame.add((row.get(6)?, row.get(7)?), rows::note(row)?);
            }
            Ok(())
        })?;
        for (frame, notes) in frames.iter_mut().zip(notes) {
            frame.notes = notes.in_order();
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
