//! Where a value ends: between quotes of any escaping, or bare up to what cannot belong to it.
//! Whether the value is a secret is not asked here.

use super::bytes::{BACKSLASH, BLANK, QUOTE, Set, View, WORD};
use super::value::WINDOW;
use super::{MARKER, holds_marker};

/// A value as it stands in the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Literal {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) quoted: bool,
    /// Whether the value goes on after `end`, which is then [`WINDOW`] bytes away.
    cut: bool,
    /// What closes it, when it is quoted: a quote after so many backslashes.
    close: (u8, usize),
}

impl Literal {
    /// The value at `at`, which is where its quote is if it has one; at most [`WINDOW`] of it.
    pub(super) fn read(view: View<'_>, at: usize, query: bool) -> Self {
        let literal = match opening(view, at) {
            Some((start, close)) => Self::quoted(view, start, close),
            None => Self::bare(view, at, WINDOW, query),
        };
        // What holds a marker was looked at before. The marker may begin where the window ends.
        let reach = view.slice(literal.start..view.len().min(literal.end + MARKER.len()));
        if holds_marker(reach) {
            Self {
                end: literal.start,
                ..literal
            }
        } else {
            literal
        }
    }

    fn quoted(view: View<'_>, start: usize, close: (u8, usize)) -> Self {
        if let Some(end) = closing(view, start, close, WINDOW) {
            return Self {
                start,
                end,
                quoted: true,
                cut: false,
                close,
            };
        }
        // No end in sight: either long, or the text was cut off within it, or a sentence.
        let bare = Self::bare(view, start, WINDOW, false);
        let mut line = view
            .from(start)
            .iter()
            .take(WINDOW)
            .take_while(|byte| **byte != b'\n');
        let sentence = line.any(|byte| BLANK.has(*byte));
        let end = if sentence { start } else { bare.end };
        Self {
            end,
            quoted: true,
            close,
            ..bare
        }
    }

    fn bare(view: View<'_>, start: usize, limit: usize, query: bool) -> Self {
        let bytes = view.slice(start..view.len().min(start.saturating_add(limit)));
        let length = bytes
            .iter()
            .enumerate()
            .position(|(place, byte)| ends_bare(view, start + place, *byte, query));
        let cut = length.is_none() && bytes.len() == limit;
        let end = start + length.unwrap_or(bytes.len());
        let trailing = Set::of(b".,;:)]}");
        let tail = view
            .slice(start..end)
            .iter()
            .rev()
            .take_while(|byte| trailing.has(**byte));
        Self {
            start,
            end: end - tail.count(),
            quoted: false,
            cut,
            close: (0, 0),
        }
    }

    /// The end of the whole value, for one that has been judged a secret.
    pub(super) fn full_end(self, view: View<'_>, query: bool) -> usize {
        if !self.cut {
            return self.end;
        }
        if self.quoted
            && let Some(end) = closing(view, self.end, self.close, usize::MAX)
        {
            return end;
        }
        Self::bare(view, self.end, usize::MAX, query)
            .end
            .max(self.end)
    }
}

/// The place after an opening quote at `at`, and what will close it. Skips the letter of
/// `b"…"`, `f'…'` and `@"…"`.
pub(super) fn opening(view: View<'_>, at: usize) -> Option<(usize, (u8, usize))> {
    let quote_at = |at: usize| {
        let slashes = view.run(at, BACKSLASH, 8);
        let quote = view.at(slashes).filter(|byte| QUOTE.has(*byte))?;
        Some((slashes + 1, (quote, slashes - at)))
    };
    let prefixed = view.at(at).is_some_and(|byte| b"bfruBFRU@".contains(&byte));
    quote_at(at).or_else(|| if prefixed { quote_at(at + 1) } else { None })
}

/// Where the literal that began at `start` is closed, on the same line and within `limit`.
fn closing(view: View<'_>, start: usize, close: (u8, usize), limit: usize) -> Option<usize> {
    let (quote, escaping) = close;
    let bytes = view.slice(start..view.len().min(start.saturating_add(limit)));
    let mut slashes = 0;
    for (place, byte) in bytes.iter().enumerate() {
        match *byte {
            b'\n' => return None,
            b'\\' => slashes += 1,
            // Unescaped literals hold `\"`, and escaped ones hold quotes escaped once more.
            byte if byte == quote && (slashes == escaping || escaping == 0 && slashes % 2 == 0) => {
                return Some(start + place - slashes);
            }
            _ => slashes = 0,
        }
    }
    None
}

/// Whether a bare value ends before `byte` at `at`.
fn ends_bare(view: View<'_>, at: usize, byte: u8, query: bool) -> bool {
    match byte {
        b'&' | b'#' if query => true,
        b',' | b';' | b'&' => next_begins(view, at + 1),
        0..=b' ' | 0x7f | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' => true,
        // Latin, Greek and Cyrillic letters (two bytes) may be of a password. Blanks that do not
        // break, quotation marks, dashes, CJK and emoji belong to the sentence around it.
        _ => byte == 0xc2 || byte >= 0xe0,
    }
}

/// Whether what follows a comma, semicolon or ampersand is the end, or another `key=value`.
fn next_begins(view: View<'_>, at: usize) -> bool {
    match view.at(at) {
        None => true,
        Some(byte) if byte <= b' ' || QUOTE.has(byte) || byte == b'\\' => true,
        Some(_) => {
            let key = view.run(at, WORD.and(BLANK).and(Set::of(b"-.")), 32);
            key > at && matches!(view.at(key), Some(b'=' | b':'))
        }
    }
}
