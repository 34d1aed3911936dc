//! Terminal escape sequences in text, removed whole so that no remnant is left.

use std::borrow::Cow;

/// Removes terminal escape sequences. Removing only the first byte of `ESC [31m` would leave
/// `[31m` in the text.
pub fn without_escapes(text: &str) -> Cow<'_, str> {
    // Nearly no text has one, and many are long. In blocks, so that the compiler compares many bytes at
    // once; 0xC2 begins the other characters in UTF-8.
    let may_begin = |block: &[u8]| {
        block
            .iter()
            .fold(false, |found, byte| found | matches!(byte, 0x1b | 0xc2))
    };
    if !text.as_bytes().chunks(64).any(may_begin) || !text.contains(begins) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    // Once a string has no end in the rest of the text, none after it has one. Looking again for each
    // took minutes for half a megabyte of unended strings.
    let mut strings_end = true;
    while let Some(at) = rest.find(begins) {
        let (before, sequence) = rest.split_at(at);
        kept.push_str(before);
        let length = length(sequence, &mut strings_end);
        rest = sequence.get(length..).unwrap_or_default();
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

/// ESC, and the single characters that are equivalent to ESC and another one.
fn begins(c: char) -> bool {
    matches!(
        c,
        '\u{1b}' | '\u{90}' | '\u{98}' | '\u{9b}' | '\u{9d}'..='\u{9f}'
    )
}

/// Returns the length of the sequence that a text begins with. `strings_end` is false once a string
/// without an end was found.
fn length(text: &str, strings_end: &mut bool) -> usize {
    let mut chars = text.chars();
    let first = chars.next();
    let kind = match first {
        Some('\u{1b}') => chars.next(),
        Some('\u{9b}') => Some('['),
        Some('\u{9d}') => Some(']'),
        _ => Some('P'),
    };
    let begun = text.len() - chars.as_str().len();
    let esc = first.map_or(0, char::len_utf8);
    match kind {
        Some('[') => begun + control_length(chars.as_str()),
        Some(']' | 'P' | 'X' | '^' | '_') => {
            let length = strings_end.then(|| string_length(chars.as_str())).flatten();
            *strings_end = length.is_some();
            begun + length.unwrap_or(0)
        }
        // Other sequences are up to two intermediate characters, then a final one.
        Some(' '..='/') => begun + chars.next().map_or(0, char::len_utf8),
        // Two-character sequences that terminals know; a stray ESC before a word takes no letter.
        Some('7' | '8' | '=' | '>' | 'c' | 'D' | 'E' | 'H' | 'M' | 'N' | 'O' | 'Z') => begun,
        _ => esc,
    }
}

/// Returns the length of a control sequence: parameters, then a final character.
fn control_length(text: &str) -> usize {
    let parameters = text
        .find(|c: char| !matches!(c, ' '..='?'))
        .unwrap_or(text.len());
    match text.get(parameters..).and_then(|rest| rest.chars().next()) {
        Some('@'..='~') => parameters + 1,
        // Cut off: what follows is not part of it.
        _ => parameters,
    }
}

/// Returns the length of a string for the terminal, such as a window title or a link, up to its
/// terminator; `None` for a string that never ends, which takes nothing with it.
fn string_length(text: &str) -> Option<usize> {
    text.char_indices().find_map(|(at, c)| match c {
        '\u{7}' => Some(at + 1),
        '\u{9c}' => Some(at + 2),
        '\u{1b}' if text.get(at + 1..)?.starts_with('\\') => Some(at + 2),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sequences_go_whole() {
        for (text, left) in [
            ("plain [31m text", "plain [31m text"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            (
                "\u{1b}[38;5;196mred\u{1b}[m and \u{1b}[1;4mmore",
                "red and more",
            ),
            ("a\u{1b}[2Kb\u{1b}[?25lc", "abc"),
            ("\u{1b}]0;a title\u{7}after", "after"),
            (
                "\u{1b}]8;;https://example.org\u{1b}\\link\u{1b}]8;;\u{1b}\\",
                "link",
            ),
            ("\u{1b}P1;2|data\u{1b}\\x", "x"),
            ("\u{1b}(Bx\u{1b}Mx\u{1b}=", "xx"),
            ("\u{9b}31mred", "red"),
            ("\u{1b}[31", ""),
            ("\u{1b}[31é", "é"),
            ("\u{1b}]never ended", "never ended"),
            ("\u{1b}é", "é"),
            ("\u{1b}", ""),
        ] {
            assert_eq!(without_escapes(text), left, "{text:?}");
        }
    }

    #[test]
    fn many_strings_cost_one_pass() {
        let count = 200_000;
        let unended = "\u{1b}]a".repeat(count);
        assert_eq!(without_escapes(&unended).len(), count);
        let ended = "\u{1b}]a\u{7}b".repeat(count);
        assert_eq!(without_escapes(&ended).len(), count);
    }

    proptest! {
        #[test]
        fn nothing_that_begins_a_sequence_is_left(text in "[\u{1b}\u{9b}\\[\\]0-9;m a-cé\u{7}\\\\]{0,40}") {
            prop_assert!(!without_escapes(&text).contains(begins));
        }
    }
}
