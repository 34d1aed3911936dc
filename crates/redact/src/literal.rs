//! Literals: the value of a name, bare or between quotes.

use crate::MARKER;
use crate::value::holds_marker;
use crate::view::{View, count, is_blank, is_quote};

/// Values no longer than this are judged whole, longer ones by their beginning.
const WINDOW: usize = 128;

/// A value as it is in the text, at most [`WINDOW`] bytes of it.
#[derive(Clone, Copy)]
pub(crate) struct Literal {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// True if the value continues after `end`.
    cut: bool,
    /// The quote that closes it, and the number of backslashes before that.
    close: Option<(u8, usize)>,
    query: bool,
}

impl Literal {
    /// Reads the value at `at`, which is where its quote is if it has one.
    pub(crate) fn read(view: View<'_>, at: usize, query: bool) -> Self {
        let literal = match opening(view, at) {
            Some((start, close)) => Self::read_quoted(view, start, close),
            None => Self::read_bare(view, at, WINDOW, query),
        };
        // What holds a marker was searched before. The marker may begin where the window ends.
        let marked = holds_marker(view.slice(literal.start..literal.end + MARKER.len()));
        let end = if marked { literal.start } else { literal.end };
        Self { end, ..literal }
    }

    pub(crate) fn quoted(self) -> bool {
        self.close.is_some()
    }

    /// Returns the beginning of the value, up to the first `end`.
    pub(crate) fn until(self, view: View<'_>, end: u8) -> Self {
        let value = view.slice(self.start..self.end);
        let Some(place) = value.iter().position(|byte| *byte == end) else {
            return self;
        };
        let (end, cut) = (self.start + place, false);
        Self { end, cut, ..self }
    }

    fn read_quoted(view: View<'_>, start: usize, close: (u8, usize)) -> Self {
        let bare = Self::read_bare(view, start, WINDOW, false);
        let (end, cut) = if let Some(end) = closing(view, start, close, WINDOW) {
            (end, false)
        } else {
            // No end in sight: either long, or the text was cut off within it, or a sentence.
            let line = view.run(start, WINDOW, |byte| byte != b'\n');
            let sentence = view.slice(start..line).iter().any(|byte| is_blank(*byte));
            (if sentence { start } else { bare.end }, bare.cut)
        };
        let close = Some(close);
        Self {
            end,
            cut,
            close,
            ..bare
        }
    }

    fn read_bare(view: View<'_>, start: usize, limit: usize, query: bool) -> Self {
        let bytes = view.slice(start..start.saturating_add(limit));
        let mut places = bytes.iter().enumerate();
        let length = places.position(|(place, byte)| ends_bare(view, start + place, *byte, query));
        let end = start + length.unwrap_or(bytes.len());
        count(end - start);
        let tail = view.slice(start..end).iter().rev();
        let tail = tail.take_while(|byte| b".,;:)]}".contains(byte)).count();
        let cut = length.is_none() && bytes.len() == limit;
        Self {
            start,
            end: end - tail,
            cut,
            close: None,
            query,
        }
    }

    /// Returns the end of the whole value, for one that has been judged a secret.
    pub(crate) fn full_end(self, view: View<'_>) -> usize {
        if !self.cut {
            return self.end;
        }
        let closed = self
            .close
            .and_then(|close| closing(view, self.end, close, usize::MAX));
        let bare = || Self::read_bare(view, self.end, usize::MAX, self.query).end;
        closed.unwrap_or_else(bare).max(self.end)
    }
}

/// Returns the place after an opening quote at `at`, and what will close it. Skips the letter of
/// `b"…"`, `f'…'` and `@"…"`.
fn opening(view: View<'_>, at: usize) -> Option<(usize, (u8, usize))> {
    let quote_at = |at: usize| {
        let slashes = view.run(at, 8, |byte| byte == b'\\');
        let quote = view.at(slashes).filter(|byte| is_quote(*byte))?;
        // Three quotes of TOML and Python, after which a line may end.
        let triple = view.run(slashes, 3, |byte| byte == quote) == slashes + 3;
        if triple && slashes == at {
            let line = view.run(at + 3, 2, |byte| b"\r\n".contains(&byte));
            let start = view.run(line, 64, |byte| line > at + 3 && is_blank(byte));
            return Some((start, (quote, 0)));
        }
        Some((slashes + 1, (quote, slashes - at)))
    };
    let prefixed = view.is(at, |byte| b"bfruBFRU@".contains(&byte));
    quote_at(at).or_else(|| quote_at(at + 1).filter(|_| prefixed))
}

/// Returns where the literal that began at `start` is closed, on the same line and within `limit`.
fn closing(view: View<'_>, start: usize, close: (u8, usize), limit: usize) -> Option<usize> {
    let (quote, escaping) = close;
    let mut slashes = 0;
    for (place, byte) in (start..start.saturating_add(limit)).zip(view.bytes.get(start..)?) {
        count(1);
        match *byte {
            b'\n' => return None,
            b'\\' => slashes += 1,
            // Unescaped literals hold `\"`, and escaped ones hold quotes escaped once more.
            byte if byte == quote && (slashes == escaping || escaping == 0 && slashes % 2 == 0) => {
                return Some(place - slashes);
            }
            _ => slashes = 0,
        }
    }
    None
}

/// Returns true if a bare value ends before `byte` at `at`.
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

/// Returns true if the text ends after a comma, semicolon or ampersand, or another `key=value`
/// follows.
fn next_begins(view: View<'_>, at: usize) -> bool {
    match view.at(at) {
        None => true,
        Some(byte) if byte <= b' ' || is_quote(byte) || byte == b'\\' => true,
        Some(_) => {
            let key = view.run(at, 32, |byte| {
                byte.is_ascii_alphanumeric() || b"_ \t-.".contains(&byte)
            });
            key > at && matches!(view.at(key), Some(b'=' | b':'))
        }
    }
}
