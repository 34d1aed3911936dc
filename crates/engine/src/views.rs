//! Views for users and models: plain text without colour, and the data it is rendered from.
//!
//! Every view is a pure rendering of recorded state onto a [`Canvas`], so the same journal gives the
//! same text. Models read the same views as users: `flame show` and `stack_frame_details` are one.

pub mod canvas;
pub mod compactions;
pub mod context;
pub mod details;
pub mod hosted;
pub mod log;
pub mod markdown;
pub mod receipt;
pub mod sessions;
pub mod sessions_svg;
pub mod status;
pub mod story;
pub mod subagents;
pub mod time;
pub mod tree;
pub mod work;

pub use canvas::Canvas;
pub use flamestack_core::text::{disguises, undisguised};
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

/// Columns before a title: the sign, the id and the blanks around it.
const BEFORE_TITLE: usize = 12;

/// Renders sign, id and title of a frame, with `used` columns of the line taken by other text.
fn frame_line(
    canvas: &Canvas<'_>,
    status: Status,
    id: &FrameId,
    title: &Title,
    used: usize,
) -> String {
    let icon = canvas.ink(Ink::Status(status), icon(status));
    let id = canvas.ink(Ink::Id, id.as_str());
    let title = canvas.title(title.as_str(), used + BEFORE_TITLE);
    format!("{icon} {id}  {title}")
}

/// Returns up to `open` open children of a frame, or roots, and the last `finished` ones, in order.
pub(crate) fn level(
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

/// Returns the compacted form of the results of a frame that was finished and not invalidated.
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

/// Renders a size in its largest unit: `812 bytes`, `5.8 kB`, `50 MB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return counted(bytes, "byte", "bytes");
    }
    let (mut tenths, mut unit) = (bytes.saturating_add(50) / 100, 0);
    while tenths >= 10_000 && unit + 1 < UNITS.len() {
        tenths = (tenths + 500) / 1000;
        unit += 1;
    }
    let name = UNITS.get(unit).copied().unwrap_or_default();
    match (tenths / 10, tenths % 10) {
        (whole @ 0..10, tenth @ 1..) => format!("{whole}.{tenth} {name}"),
        (whole, tenth) => format!("{} {name}", grouped(whole + u64::from(tenth >= 5))),
    }
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
        .map(|c| match c {
            '\u{2028}' | '\u{2029}' => '\n',
            c => c,
        })
        .collect();
    match undisguised(&harmless) {
        std::borrow::Cow::Borrowed(_) => harmless,
        std::borrow::Cow::Owned(text) => text,
    }
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
    fn sizes_are_in_their_largest_unit() {
        let sizes = [
            0,
            1,
            999,
            1000,
            5_812,
            49_999,
            999_960,
            50_000_000,
            2_340_000_000,
        ];
        assert_eq!(
            sizes.map(size).join(", "),
            "0 bytes, 1 byte, 999 bytes, 1 kB, 5.8 kB, 50 kB, 1 MB, 50 MB, 2.3 GB"
        );
    }

    #[test]
    fn a_title_cannot_drive_the_terminal() {
        assert_eq!(printable("a\u{1b}[31mb\n\u{7}c"), "a[31mb\nc");
        assert_eq!(printable("a\u{2028}b\u{3164}"), "a\nb");
        assert_eq!(one_line("a\u{2029}b\u{200b}c", 72), "a bc");
    }
}
