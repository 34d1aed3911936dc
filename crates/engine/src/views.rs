//! Views for users and models: plain text without colour, and the data it is rendered from.
//!
//! Every view is a pure rendering of recorded state, so the same journal gives the same text.

pub mod compactions;
pub mod context;
pub mod details;
pub mod hosted;
pub mod log;
pub mod receipt;
pub mod status;
pub mod story;
pub mod subagents;
pub mod time;
pub mod tree;

use std::borrow::Cow;

use flamestack_core::{Frame, FrameId, Status, Title};
use flamestack_store::{FrameRow, Reading, Slice};

use crate::error::Result;

/// The role of a piece of text, which a front may colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// The subject of a line.
    Bold,
    /// An addition.
    Dim,
    /// The id of a frame.
    Id,
    /// The sign of a status.
    Status(Status),
}

/// Colours a piece of text.
pub type Paint<'p> = &'p dyn Fn(Ink, &str) -> String;

/// Leaves a piece of text without colour.
pub fn unpainted(_: Ink, text: &str) -> String {
    text.to_owned()
}

/// Renders sign, id and title of a frame.
fn frame_line(status: Status, id: &FrameId, title: &Title, paint: Paint<'_>) -> String {
    let icon = paint(Ink::Status(status), icon(status));
    let id = paint(Ink::Id, id.as_str());
    format!("{icon} {id}  {}", one_line(title.as_str(), 72))
}

/// Returns up to `open` open children of a frame, or roots, and the last `finished` ones, in order.
fn level(
    reading: &dyn Reading,
    parent: Option<FrameId>,
    open: usize,
    finished: usize,
) -> Result<Vec<FrameRow>> {
    let slice = |open: bool, limit: usize| Slice {
        parent,
        open: Some(open),
        limit: Some(limit),
        last: !open,
    };
    let mut rows = reading.rows(&slice(true, open))?;
    if finished > 0 {
        rows.extend(reading.rows(&slice(false, finished))?);
    }
    rows.sort_by(|a, b| (a.frame.rank, &a.frame.id).cmp(&(b.frame.rank, &b.frame.id)));
    Ok(rows)
}

/// Returns the dense form of the results of a frame that was finished and not given up.
pub(crate) fn finished_results(frame: &Frame) -> Option<String> {
    let finished = matches!(frame.status, Status::Completed | Status::Failed);
    finished.then(|| frame.compacted_results()).flatten()
}

/// Returns the sign of a status in a tree.
pub fn icon(status: Status) -> &'static str {
    match status {
        Status::Planned => "○",
        Status::InProgress => "→",
        Status::Completed => "✓",
        Status::Failed => "✗",
        Status::Blocked => "!",
        Status::Invalidated => "–",
    }
}

/// Renders a number with its noun.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    if count == 1 {
        format!("1 {one}")
    } else {
        format!("{} {many}", grouped(count))
    }
}

/// Renders a number with its digits in groups of three.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Renders text as one line of a listing: without control characters, cut to a width.
pub fn one_line(text: &str, limit: usize) -> String {
    undisguised(&flamestack_core::text::condense(text, limit)).into_owned()
}

/// Renders text of several lines so that it is safe on a terminal: without control characters and
/// characters that disguise it.
pub fn printable(text: &str) -> String {
    let harmless: String = text
        .chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect();
    match undisguised(&harmless) {
        Cow::Borrowed(_) => harmless,
        Cow::Owned(text) => text,
    }
}

/// Removes characters that make text look different from what it is.
///
/// Characters that change the direction of text are replaced by their name (`<U+202E>`); invisible
/// marks are dropped. Letters of every script stay, and so do the joiners of scripts and emoji.
pub fn undisguised(text: &str) -> Cow<'_, str> {
    if !text.contains(disguises) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if turns(c) {
            plain.push_str(&format!("<U+{:04X}>", u32::from(c)));
        } else if !disguises(c) {
            plain.push(c);
        }
    }
    Cow::Owned(plain)
}

/// Returns true for invisible characters that make text look like other text.
pub fn disguises(c: char) -> bool {
    let shows_nothing = matches!(
        c,
        '\u{200b}' | '\u{2060}' | '\u{feff}' | '\u{200e}' | '\u{200f}' | '\u{61c}'
    );
    turns(c) || shows_nothing
}

/// Returns true for characters that start or end an embedding, override or isolate of direction.
fn turns(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_counted() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(counted(1, "child", "children"), "1 child");
    }

    #[test]
    fn a_title_cannot_drive_the_terminal() {
        assert_eq!(printable("a\u{1b}[31mb\n\u{7}c"), "a[31mb\nc");
    }

    #[test]
    fn text_reads_as_it_is_written() {
        assert_eq!(
            undisguised("safe\u{202e}gpj.exe\u{2069}"),
            "safe<U+202E>gpj.exe<U+2069>"
        );
        assert_eq!(undisguised("pass\u{200b}word\u{feff}\u{200f}"), "password");
        // Letters and joiners stay.
        for honest in ["שלום, עולם", "می\u{200c}خواهم", "👩\u{200d}👩\u{200d}👧"]
        {
            assert!(matches!(undisguised(honest), Cow::Borrowed(text) if text == honest));
            assert_eq!(one_line(honest, 72), honest);
        }
    }
}
