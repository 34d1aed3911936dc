//! Many frames at once, by name.
//!
//! A context reads dozens of frames with their notes. Starting a statement costs as much as reading
//! a row, so names are handed over in bunches. Frames by where they stand are `reading`'s business.

use std::sync::LazyLock;

use flamestack_core::frame::Frame;
use flamestack_core::id::FrameId;
use rusqlite::{Connection, Params, Row, params_from_iter};

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
}

/// Frames with their notes, in the order asked for and without those that are not there.
pub(super) fn frames_with_notes(
    connection: &Connection,
    ids: &[FrameId],
) -> Result<Vec<Frame>, StoreError> {
    let mut frames = Vec::with_capacity(ids.len());
    let mut rest = ids;
    while !rest.is_empty() {
        let fits = |bunch: &&Bunch| bunch.names >= rest.len();
        let Some(bunch) = STATEMENTS.iter().find(fits).or(STATEMENTS.last()) else {
            break;
        };
        let (ids, behind) = rest.split_at(bunch.names.min(rest.len()));
        read(connection, bunch, ids, &mut frames)?;
        rest = behind;
    }
    Ok(frames)
}

fn read(
    connection: &Connection,
    bunch: &Bunch,
    ids: &[FrameId],
    frames: &mut Vec<Frame>,
) -> Result<(), StoreError> {
    let names = || {
        let names = ids.iter().map(|id| Some(id.as_str()));
        // No frame has the name of what is missing to a whole bunch.
        params_from_iter(names.chain(std::iter::repeat_n(None, bunch.names - ids.len())))
    };
    let mut found: Vec<(i64, Frame)> = Vec::with_capacity(ids.len());
    each(connection, &bunch.frames, names(), |row| {
        found.push((row.get(22)?, rows::frame(row)?));
        Ok(())
    })?;
    let mut notes = Vec::new();
    each(connection, &bunch.notes, names(), |row| {
        let place: (i64, i64, i64) = (row.get(4)?, row.get(5)?, row.get(6)?);
        notes.push((place, rows::note(row)?));
        Ok(())
    })?;
    // They come in this order already, which SQL does not promise.
    found.sort_by_key(|(place, _)| *place);
    notes.sort_by_key(|(place, _)| *place);
    let mut notes = notes.into_iter().peekable();
    for (place, mut frame) in found {
        // A frame that was removed leaves no notes behind, unless by damage.
        while notes.next_if(|((of, ..), _)| *of < place).is_some() {}
        while let Some((_, note)) = notes.next_if(|((of, ..), _)| *of == place) {
            frame.notes.push(note);
        }
        frames.push(frame);
    }
    Ok(())
}

fn each(
    connection: &Connection,
    sql: &str,
    names: impl Params,
    mut visit: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = statement.query(names)?;
    while let Some(row) = found.next()? {
        visit(row)?;
    }
    Ok(())
}
