//! What people and models read: plain text without colour, and the data behind it.
//!
//! Everything here is a function of recorded state, so the same journal gives the same text.

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

use flamestack_core::frame::Status;

/// The sign of a status in a tree.
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

/// A number with its noun.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    if count == 1 {
        format!("1 {one}")
    } else {
        format!("{} {many}", grouped(count))
    }
}

/// A number with its digits in groups of three.
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

/// Text as one line of a listing shows it: control characters made visible or dropped, cut to a
/// width.
pub fn one_line(text: &str, limit: usize) -> String {
    flamestack_core::text::condense(text, limit)
}

/// Text of several lines that is safe on a terminal: escape sequences lose their power.
pub fn printable(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(counted(1, "child", "children"), "1 child");
    }

    #[test]
    fn a_title_cannot_drive_the_terminal() {
        assert_eq!(printable("a\u{1b}[31mb\n\u{7}c"), "a[31mb\nc");
    }
}
