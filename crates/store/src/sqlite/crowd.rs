//! Many frames at once, by name.
//!
//! A context reads dozens of frames with their notes. Starting a statement costs as much as reading
//! a row, so names are handed over in bunches. Frames by where they stand are `reading`'s business.

use std::sync::LazyLock;

use flamestack_core::frame::Frame;
use flamestack_core::id::FrameId;
use rusqlite::{Connection, Row, params_from_iter};

use super::rows;
use crate::error::StoreError;

/// How many names a statement takes.
const BUNCHES: [usize; 3] = [1, 4, 16];

/// The statements for one size of bunch.
struct Bunch {
    names: usize,
    frames: String,
    notes: String,
}

static STATEMENTS: LazyLock<[Bunch; 3]> = LazyLock::new(|| BUNCHES.map(Bunch::new));

impl Bunch {
    fn new(names: usize) -> Self {
        let values: Vec<String> = (1..=names).map(|n| format!("({n}, ?{n})")).collect();
        let bunch = format!("(VALUES {}) bunch", values.join(", "));
        let columns = rows::COLUMNS;
        Self {
            names,
            frames: format!(
                "SELECT {columns}, bunch.column1
                 FROM {bunch} CROSS JOIN frames f ON f.id = bunch.column2"
            ),
            notes: format!(
                "SELECT n.kind, n.text, n.why, n.code, bunch.column1, n.seq, n.n
                 FROM {bunch} CROSS JOIN notes n ON n.frame = bunch.column2"
            ),
        }
    }

    /// The smallest that takes so many, else the largest.
    fn for_names(count: usize) -> Option<&'static Self> {
        let fits = |bunch: &&Self| bunch.names >= count;
        STATEMENTS.iter().find(fits).or(STATEMENTS.last())
    }
}

/// Frames with their notes, in the order asked for and without those that are not there.
pub(super) fn frames_with_notes(
    connection: &Connection,
    ids: &[FrameId],
) -> Result<Vec<Frame>, StoreError> {
    let mut frames = Vec::with_capacity(ids.len());
    let mut rest = ids;
    while let Some(bunch) = Bunch::for_names(rest.len())
        && !rest.is_empty()
    {
        let (ids, behind) = rest.split_at(bunch.names.min(rest.len()));
        let mut found: Vec<(i64, Frame)> = Vec::with_capacity(ids.len());
        each(connection, &bunch.frames, bunch.names, ids.iter(), |row| {
            found.push((row.get(rows::COUNT)?, rows::frame(row)?));
            Ok(())
        })?;
        // They come in this order already, which SQL does not promise.
        found.sort_by_key(|(place, _)| *place);
        frames.extend(found.into_iter().map(|(_, frame)| frame));
        rest = behind;
    }
    add_notes(connection, &mut frames)?;
    Ok(frames)
}

/// Puts the notes of frames into them.
pub(super) fn add_notes(connection: &Connection, frames: &mut [Frame]) -> Result<(), StoreError> {
    let mut rest = frames;
    while let Some(bunch) = Bunch::for_names(rest.len())
        && !rest.is_empty()
    {
        let (frames, behind) = rest.split_at_mut(bunch.names.min(rest.len()));
        let mut notes = Vec::with_capacity(2 * frames.len());
        let ids = frames.iter().map(|frame| &frame.id);
        each(connection, &bunch.notes, bunch.names, ids, |row| {
            let place: (i64, i64, i64) = (row.get(4)?, row.get(5)?, row.get(6)?);
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
        rest = behind;
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
    // No frame has the name of what is missing to a whole bunch.
    let missing = std::iter::repeat_n(None, names.saturating_sub(ids.len()));
    let ids = ids.map(|id| Some(id.as_str()));
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = statement.query(params_from_iter(ids.chain(missing)))?;
    while let Some(row) = found.next()? {
        visit(row)?;
    }
    Ok(())
}
