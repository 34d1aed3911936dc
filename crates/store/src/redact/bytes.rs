//! Reading bytes without panicking: a text with a wall in it, and sets of ASCII bytes.
//! Nothing here knows what a secret is.

use std::ops::Range;

/// A set of ASCII bytes; no byte of a multi-byte character is ever in one.
#[derive(Clone, Copy)]
pub(super) struct Set(u128);

impl Set {
    pub(super) const fn of(bytes: &[u8]) -> Self {
        let (mut set, mut rest) = (0, bytes);
        while let [byte, tail @ ..] = rest {
            set |= 1 << *byte;
            rest = tail;
        }
        Self(set)
    }

    const fn range(first: u8, last: u8) -> Self {
        let (mut set, mut byte) = (0, first);
        while byte <= last {
            set |= 1 << byte;
            byte += 1;
        }
        Self(set)
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn has(self, byte: u8) -> bool {
        byte < 128 && self.0 >> byte & 1 == 1
    }
}

pub(super) const LOWER: Set = Set::range(b'a', b'z');
pub(super) const UPPER: Set = Set::range(b'A', b'Z');
pub(super) const DIGIT: Set = Set::range(b'0', b'9');
pub(super) const LETTER: Set = LOWER.and(UPPER);
pub(super) const ALNUM: Set = LETTER.and(DIGIT);
pub(super) const HEX: Set = DIGIT.and(Set::of(b"abcdefABCDEF"));
pub(super) const WORD: Set = ALNUM.and(Set::of(b"_"));
pub(super) const B64URL: Set = WORD.and(Set::of(b"-"));
pub(super) const DOTTED: Set = B64URL.and(Set::of(b"."));
pub(super) const B64: Set = ALNUM.and(Set::of(b"+/="));
/// Base64 of either alphabet as it stands in a URL or a header.
pub(super) const B64ANY: Set = B64.and(Set::of(b"-_.~%"));
pub(super) const BLANK: Set = Set::of(b" \t");
pub(super) const SPACE: Set = Set::of(b" \t\r\n");
pub(super) const QUOTE: Set = Set::of(b"\"'`");
pub(super) const BACKSLASH: Set = Set::of(b"\\");
/// The kinds of our own markers.
pub(super) const KIND: Set = LOWER.and(Set::of(b"-"));

/// A text of which the part before a wall is already decided and must not be seen again.
#[derive(Clone, Copy)]
pub(super) struct View<'t> {
    bytes: &'t [u8],
    floor: usize,
}

impl<'t> View<'t> {
    pub(super) fn new(bytes: &'t [u8]) -> Self {
        Self { bytes, floor: 0 }
    }

    /// The same text with the wall at `floor`.
    pub(super) fn walled(self, floor: usize) -> Self {
        Self { floor, ..self }
    }

    pub(super) fn at(self, index: usize) -> Option<u8> {
        self.bytes.get(index).copied()
    }

    /// The byte `back` places before `index`, unless the wall or the start is in between.
    pub(super) fn back(self, index: usize, back: usize) -> Option<u8> {
        let index = index.checked_sub(back)?;
        if index < self.floor {
            None
        } else {
            self.at(index)
        }
    }

    /// The bytes of `range`; empty when it is none.
    pub(super) fn slice(self, range: Range<usize>) -> &'t [u8] {
        self.bytes.get(range).unwrap_or_default()
    }

    pub(super) fn from(self, index: usize) -> &'t [u8] {
        self.bytes.get(index..).unwrap_or_default()
    }

    pub(super) fn len(self) -> usize {
        self.bytes.len()
    }

    pub(super) fn has(self, index: usize, literal: &str) -> bool {
        self.from(index).starts_with(literal.as_bytes())
    }

    pub(super) fn has_any_case(self, index: usize, literal: &str) -> bool {
        self.slice(index..index + literal.len())
            .eq_ignore_ascii_case(literal.as_bytes())
    }

    /// The end of the run of `set` from `start`, at most `limit` bytes long.
    pub(super) fn run(self, start: usize, set: Set, limit: usize) -> usize {
        let run = self
            .from(start)
            .iter()
            .take(limit)
            .take_while(|byte| set.has(**byte))
            .count();
        start + run
    }

    /// The start of the run of `set` that ends before `end`, at most `limit` bytes long.
    pub(super) fn run_back(self, end: usize, set: Set, limit: usize) -> usize {
        let before = self.slice(self.floor..end);
        let run = before
            .iter()
            .rev()
            .take(limit)
            .take_while(|byte| set.has(**byte))
            .count();
        end - run
    }

    /// `end` without the full stops before it: a token does not own those of its sentence.
    pub(super) fn without_dots(self, start: usize, end: usize) -> usize {
        let bytes = self.slice(start..end).iter().rev();
        end - bytes.take_while(|byte| **byte == b'.').count()
    }

    /// The bytes of the same line before `index`, at most `limit` of them.
    pub(super) fn line_before(self, index: usize, limit: usize) -> &'t [u8] {
        let before = self.slice(self.floor.max(index.saturating_sub(limit))..index);
        before
            .rsplit(|byte| *byte == b'\n')
            .next()
            .unwrap_or_default()
    }

    /// Whether a token can begin at `index`: no byte of `joined` stands before it.
    ///
    /// Agents keep text as others escaped it, so the end of an escape is an edge as well:
    /// `\n` in JSON, `\u0026` in JSON by Go, `%3D` in URLs, `ESC[32m` in terminal output.
    pub(super) fn edge(self, index: usize, joined: Set) -> bool {
        match self.back(index, 1) {
            Some(byte) if joined.has(byte) => self.after_escape(index),
            _ => true,
        }
    }

    fn after_escape(self, index: usize) -> bool {
        let back = |n| self.back(index, n);
        let hex = |n| back(n).is_some_and(|byte| HEX.has(byte));
        if back(2) == Some(b'\\') {
            return matches!(back(1), Some(b'n' | b'r' | b't'));
        }
        if back(3) == Some(b'%') {
            return hex(2) && hex(1);
        }
        if back(6) == Some(b'\\') && back(5) == Some(b'u') {
            return (1..=4).all(hex);
        }
        if back(1) == Some(b'm') {
            let codes = self.run_back(index - 1, DIGIT.and(Set::of(b";")), 16);
            return self.back(codes, 1) == Some(b'[');
        }
        false
    }
}
