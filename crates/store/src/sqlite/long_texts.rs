//! Texts of frames that are too long for their rows.
//!
//! SQLite rewrites a whole row to change one of its columns, and in a table without row ids it reads
//! a whole row to compare its key. A frame's texts may have megabytes: recording 5,000 prompts next
//! to a few such frames took 10 s.

use flamestack_core::frame::Frame;
use flamestack_core::id::FrameId;
use flamestack_core::text::Text;
use rusqlite::{Connection, params};

use super::statements::Statements as _;
use crate::error::Result;

/// Maximum length of a text in the row of its frame, in bytes.
const MAX_IN_ROW: usize = 1_000;

/// Texts of a frame that may be long. The place of each is its bit in the column `long`.
pub(super) type FrameTexts<'f> = [Option<&'f str>; 8];

/// Returns the SQL of a column that holds the text with this bit.
macro_rules! long_text {
    ($column:literal, $bit:literal) => {
        concat!(
            "CASE WHEN f.long & ",
            $bit,
            " THEN (SELECT l.text FROM long_texts l WHERE l.frame = f.id AND l.bit = ",
            $bit,
            ") ELSE f.",
            $column,
            " END"
        )
    };
}
pub(super) use long_text;

/// Returns the texts of a frame that may be long.
pub(super) fn texts(frame: &Frame) -> FrameTexts<'_> {
    let invalidation = frame.invalidation.as_ref();
    [
        frame.criteria.as_ref().map(Text::as_str),
        frame.criteria_compacted.as_ref().map(Text::as_str),
        frame.results.as_ref().map(Text::as_str),
        frame.results_compacted.as_ref().map(Text::as_str),
        frame.blocked_on.as_ref().map(Text::as_str),
        invalidation.map(|known| known.reason.as_str()),
        frame.summary.as_ref().map(Text::as_str),
        frame.foreign.as_deref(),
    ]
}

/// Returns the bits of the texts that are too long for a row.
pub(super) fn long_bits(texts: &FrameTexts<'_>) -> i64 {
    let lengths = texts.iter().map(|text| text.map_or(0, str::len));
    let long = (0..)
        .zip(lengths)
        .filter(|(_, length)| *length > MAX_IN_ROW);
    long.map(|(place, _)| 1 << place).sum()
}

/// Replaces the long texts of a frame.
pub(super) fn write(
    connection: &Connection,
    frame: &FrameId,
    texts: &FrameTexts<'_>,
) -> Result<()> {
    let bits = long_bits(texts);
    connection.write("DELETE FROM long_texts WHERE frame = ?1", [frame.as_str()])?;
    for (place, text) in (0..).zip(texts) {
        let bit = 1_i64 << place;
        if bits & bit != 0 {
            connection.write(
                "INSERT INTO long_texts VALUES (?1, ?2, ?3)",
                params![frame.as_str(), bit, text],
            )?;
        }
    }
    Ok(())
}
