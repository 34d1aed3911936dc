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

use std::borrow::Cow;

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
    undisguised(&flamestack_core::text::condense(text, limit)).into_owned()
}

/// Text of several lines that is safe on a terminal: escape sequences lose their power, and nothing
/// is disguised.
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

/// Text that is read, and copied from a terminal, as it is written.
///
/// What turns the direction of the letters around it is named (`<U+202E>`); marks that show nothing
/// are dropped. Letters of every script stay, and so do the joiners of scripts and emoji.
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

/// Whether a character makes text look like other text without being seen itself.
pub fn disguises(c: char) -> bool {
    let shows_nothing = matches!(
        c,
        '\u{200b}' | '\u{2060}' | '\u{feff}' | '\u{200e}' | '\u{200f}' | '\u{61c}'
    );
    turns(c) || shows_nothing
}

/// Whether a character begins or ends an embedding, an override or an isolate of direction.
fn turns(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
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

    #[test]
    fn text_reads_as_it_is_written() {
        assert_eq!(
            undisguised("safe\u{202e}gpj.exe\u{2069}"),
            "safe<U+202E>gpj.exe<U+2069>"
        );
        assert_eq!(undisguised("pass\u{200b}word\u{feff}\u{200f}"), "password");
        // Letters, and what joins or parts them, are no disguise.
        for honest in ["שלום, עולם", "می\u{200c}خواهم", "👩\u{200d}👩\u{200d}👧"]
        {
            assert!(matches!(undisguised(honest), Cow::Borrowed(text) if text == honest));
            assert_eq!(one_line(honest, 72), honest);
        }
    }
}
