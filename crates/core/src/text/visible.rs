//! Text that looks like what it is: no invisible characters, no change of direction, and excerpts of
//! a bounded length in messages.

use std::borrow::Cow;

/// Maximum length of an argument that a message quotes, in characters.
pub const QUOTE_LIMIT: usize = 200;

/// Removes characters that make text look different from what it is.
///
/// Characters that change the direction of text are replaced by their name (`<U+202E>`), and line
/// separators that are not a line break by a blank; invisible marks are dropped. Letters of every
/// script stay, and so do the joiners of scripts and emoji.
pub fn undisguised(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !text.contains(disguises) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if turns(c) {
            plain.push_str(&format!("<U+{:04X}>", u32::from(c)));
        } else if separates_lines(c) {
            plain.push(' ');
        } else if !disguises(c) {
            plain.push(c);
        }
    }
    Cow::Owned(plain)
}

/// Returns true for characters that make text look like other text: invisible ones, and those that
/// change its direction.
pub fn disguises(c: char) -> bool {
    c > '\u{7f}' && (turns(c) || separates_lines(c) || is_invisible(c))
}

/// Returns true for characters that start or end an embedding, override or isolate of direction.
fn turns(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn separates_lines(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}')
}

/// Returns true for characters without a glyph, other than blanks, joiners and the selectors that
/// emoji need. The tags and selectors of plane 14 can carry whole hidden sentences.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{80}'..='\u{9f}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'
            | '\u{200e}'..='\u{200f}'
            | '\u{2060}'..='\u{2065}'
            | '\u{206a}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Shortens a text for a message: the middle of a long one is left out.
pub fn shortened(text: &str, limit: usize) -> Cow<'_, str> {
    // A character has at most four bytes, so most texts need not be counted.
    if text.len() <= limit || text.chars().nth(limit).is_none() {
        return Cow::Borrowed(text);
    }
    let last = limit / 4;
    let first = limit - last;
    let head_end = text
        .char_indices()
        .nth(first)
        .map_or(text.len(), |(at, _)| at);
    let tail_start = text
        .char_indices()
        .rev()
        .nth(last.saturating_sub(1))
        .map_or(0, |(at, _)| at);
    let head = text.get(..head_end).unwrap_or_default();
    let tail = text.get(tail_start.max(head_end)..).unwrap_or_default();
    Cow::Owned(format!("{head} … {tail}"))
}

/// Shortens an argument that a message quotes.
pub fn quoted(text: &str) -> Cow<'_, str> {
    shortened(text, QUOTE_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_reads_as_it_is_written() {
        assert_eq!(
            undisguised("safe\u{202e}gpj.exe\u{2069}"),
            "safe<U+202E>gpj.exe<U+2069>"
        );
        assert_eq!(undisguised("pass\u{200b}word\u{feff}\u{200f}"), "password");
        assert_eq!(undisguised("a\u{2028}b\u{3164}c\u{ad}"), "a bc");
        let hidden: String = "obey"
            .chars()
            .filter_map(|c| char::from_u32(0xe0000 + c as u32))
            .collect();
        assert_eq!(undisguised(&format!("Fix it{hidden}")), "Fix it");
        // Letters, joiners and emoji stay.
        for honest in [
            "שלום, עולם",
            "می\u{200c}خواهم",
            "👩\u{200d}👩\u{200d}👧",
            "❤\u{fe0f}",
        ] {
            assert!(matches!(undisguised(honest), Cow::Borrowed(text) if text == honest));
        }
    }

    #[test]
    fn a_long_argument_is_quoted_in_part() {
        assert_eq!(quoted("short"), "short");
        assert_eq!(quoted(&"é".repeat(200)), "é".repeat(200));
        let long = format!("{}end", "日".repeat(100_000));
        let shown = quoted(&long);
        assert_eq!(shown.chars().count(), QUOTE_LIMIT + 3);
        assert!(
            shown.starts_with("日日") && shown.ends_with("日end"),
            "{shown}"
        );
    }
}
