//! Reads the bytes of a text without panicking.

use std::ops::Range;

/// A text that is being searched.
#[derive(Clone, Copy)]
pub(crate) struct View<'t> {
    pub(crate) bytes: &'t [u8],
    /// The end of the last finding, before which nothing is read again.
    pub(crate) floor: usize,
}

impl<'t> View<'t> {
    /// Returns the byte `back` places before `index`, unless it is before the floor.
    pub(crate) fn back(self, index: usize, back: usize) -> Option<u8> {
        let index = index.checked_sub(back)?;
        (index >= self.floor).then(|| self.at(index)).flatten()
    }

    pub(crate) fn at(self, index: usize) -> Option<u8> {
        self.bytes.get(index).copied()
    }

    /// Returns true if there is a byte at `index` and it is one of `set`.
    pub(crate) fn is(self, index: usize, set: impl Fn(u8) -> bool) -> bool {
        self.at(index).is_some_and(set)
    }

    /// Returns the bytes of `range`, which may reach beyond the end of the text.
    pub(crate) fn slice(self, range: Range<usize>) -> &'t [u8] {
        let end = range.end.min(self.bytes.len());
        self.bytes.get(range.start..end).unwrap_or_default()
    }

    pub(crate) fn has(self, index: usize, literal: &str) -> bool {
        self.slice(index..index + literal.len()) == literal.as_bytes()
    }

    /// Returns the end of the run of `set` from `start`, at most `limit` bytes long.
    pub(crate) fn run(self, start: usize, limit: usize, set: impl Fn(u8) -> bool) -> usize {
        let bytes = self.slice(start..start.saturating_add(limit));
        let length = bytes.iter().take_while(|byte| set(**byte)).count();
        count(length + 1);
        start + length
    }

    /// Returns the start of the run of `set` before `end`, at most `limit` bytes long.
    pub(crate) fn run_back(self, end: usize, limit: usize, set: impl Fn(u8) -> bool) -> usize {
        let bytes = self.slice(self.floor.max(end.saturating_sub(limit))..end);
        let length = bytes.iter().rev().take_while(|byte| set(**byte)).count();
        count(length + 1);
        end - length
    }

    /// Returns true if a token can begin at `index`, because no byte of `joined` precedes it.
    ///
    /// Agents record text as other programs escaped it, so the end of an escape is an edge too:
    /// `\n` in JSON, `\u0026` in JSON by Go, `%3D` in URLs, `ESC[32m` in terminal output.
    pub(crate) fn edge(self, index: usize, joined: impl Fn(u8) -> bool) -> bool {
        !self.back(index, 1).is_some_and(joined) || self.after_escape(index)
    }

    /// Returns true if the word at `index` is the first of its line, of a quoted text, or after the
    /// prompt of a shell.
    pub(crate) fn is_first_word(self, index: usize) -> bool {
        let start = self.run_back(index, 16, is_blank);
        let before = self.back(start, 1);
        let begins = |byte: u8| b"\r\n>|+".contains(&byte) || is_quote(byte);
        before.is_none_or(begins) || self.after_escape(start)
    }

    fn after_escape(self, index: usize) -> bool {
        let back = |n| self.back(index, n);
        let hex = |n| back(n).is_some_and(|byte| byte.is_ascii_hexdigit());
        if back(2) == Some(b'\\') {
            return matches!(back(1), Some(b'n' | b'r' | b't'));
        }
        if back(3) == Some(b'%') {
            return hex(2) && hex(1);
        }
        if back(6) == Some(b'\\') && back(5) == Some(b'u') {
            return (1..=4).all(hex);
        }
        let Some(last) = back(1).filter(u8::is_ascii_alphanumeric) else {
            return false;
        };
        // `ESC ( B` selects characters, as `tput sgr0` does.
        if back(2) == Some(b'(') && back(3) == Some(0x1b) {
            return true;
        }
        let codes = |byte: u8| byte.is_ascii_digit() || b";?".contains(&byte);
        let start = self.run_back(index - 1, 16, codes);
        match self.back(start, 1) {
            // The first byte may be lost on the way.
            Some(b'[') => last == b'm' || self.back(start, 2) == Some(0x1b),
            // The last byte of U+009B, which is `ESC [` in one character.
            Some(0x9b) => self.back(start, 2) == Some(0xc2),
            _ => false,
        }
    }
}

/// Returns the place of `literal` in `text`.
///
/// The crate `memchr` does this faster, but first asks the processor what it can do, which took a
/// fresh process in a virtual machine 60 µs.
pub(crate) fn find(text: &[u8], literal: impl AsRef<[u8]>) -> Option<usize> {
    let literal = literal.as_ref();
    // Most texts do not even contain the first byte, and that is found fast.
    if !literal.first().is_some_and(|first| text.contains(first)) {
        count(text.len());
        return None;
    }
    let mut windows = text.windows(literal.len());
    let place = windows.position(|window| window == literal);
    count(place.unwrap_or(text.len()));
    place
}

/// Returns the words of `list`, which has one blank between them.
pub(crate) fn words(list: &str) -> impl Iterator<Item = &[u8]> {
    list.as_bytes().split(|byte| *byte == b' ')
}

pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

pub(crate) fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

/// Returns true for what base64 is made of.
pub(crate) fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// Returns true for the bytes of names: `db_password`, `X-Api-Key`, `spring.datasource.password`.
pub(crate) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

#[cfg(test)]
thread_local! {
    /// Number of bytes that this thread has read.
    pub(crate) static READ: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts `bytes` that are read, so that a test can demand work in proportion to the text.
pub(crate) fn count(bytes: usize) {
    #[cfg(test)]
    READ.set(READ.get() + bytes);
    let _ = bytes;
}
