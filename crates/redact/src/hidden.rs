//! Text that terminals and browsers do not show: it hides a secret from every pattern, and from no
//! reader.

use std::ops::Range;

use crate::view::count;

/// Looks for invisible runs inside words. Between words they hide nothing, and terminal output is
/// full of them there.
pub(crate) struct Scan<'t> {
    text: &'t str,
    /// The end of what has been looked at.
    at: usize,
    /// The end of the last run.
    after: usize,
    /// The runs so far, in order.
    hidden: Vec<Range<usize>>,
}

/// Numbers of bytes that are looked at together.
const BLOCK: usize = 64;
const PART: usize = 16;
/// Minimum number of bytes to look at in a row: few enough to be in the processor's cache still
/// when the rules have just read them, which halves the time.
const STEP: usize = 4 << 10;

impl<'t> Scan<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        // Nothing is before the first byte.
        Self {
            text,
            at: 1,
            after: 0,
            hidden: Vec::new(),
        }
    }

    /// Looks at the text up to `end`, or at some less.
    pub(crate) fn follow(&mut self, end: usize) {
        if end >= self.at + STEP {
            self.run(end);
        }
    }

    /// Returns the invisible runs of the whole text.
    pub(crate) fn finish(mut self) -> Vec<Range<usize>> {
        let end = self.text.len();
        self.run(end);
        for place in self.at..end {
            self.look(place);
        }
        self.hidden
    }

    /// Looks at all whole blocks before `end`.
    fn run(&mut self, end: usize) {
        let bytes = self.text.as_bytes();
        let blocks = |start: usize| {
            let bytes = bytes.get(start..end).unwrap_or_default();
            bytes.as_chunks::<BLOCK>().0
        };
        let (befores, firsts) = (blocks(self.at - 1), blocks(self.at));
        for (befores, firsts) in befores.iter().zip(firsts) {
            self.look_at_block(befores, firsts);
            self.at += BLOCK;
        }
        count(firsts.len() * BLOCK);
    }

    /// Looks at the next block, of which these are the bytes and the byte before each.
    ///
    /// Without branches, so that the compiler compares many bytes at once: nearly no text has
    /// anything invisible, and most has nothing but ASCII.
    fn look_at_block(&mut self, befores: &[u8; BLOCK], firsts: &[u8; BLOCK]) {
        let is_plain = |byte: &u8| !matches!(byte, 0x1b | 0xc2..);
        if firsts.iter().fold(true, |all, byte| all & is_plain(byte)) {
            return;
        }
        let pairs = || befores.iter().zip(firsts);
        // Few words of Chinese and Japanese text are beside ASCII.
        let is_beside = |(before, first): (&u8, &u8)| before.is_ascii_graphic() & !is_plain(first);
        if !pairs().fold(false, |any, pair| any | is_beside(pair)) {
            return;
        }
        let may_hide = |(before, first): (&u8, &u8)| before.is_ascii_graphic() & may_begin(*first);
        if !pairs().fold(false, |any, pair| any | may_hide(pair)) {
            return;
        }
        let parts = befores.as_chunks::<PART>().0.iter();
        for (part, (befores, firsts)) in parts.zip(firsts.as_chunks::<PART>().0).enumerate() {
            let bits = befores.iter().zip(firsts).zip(0..PART);
            let mut places = bits.fold(0_u16, |places, (pair, place)| {
                places | u16::from(may_hide(pair)) << place
            });
            while places != 0 {
                self.look(self.at + part * PART + places.trailing_zeros() as usize);
                places &= places - 1;
            }
        }
    }

    /// Looks at what begins at `place`.
    fn look(&mut self, place: usize) {
        let bytes = self.text.as_bytes();
        let is_word = |place: usize| bytes.get(place).is_some_and(u8::is_ascii_graphic);
        let begins = bytes.get(place).is_some_and(|byte| may_begin(*byte));
        if !begins || place < self.after || !is_word(place - 1) {
            return;
        }
        self.after = place;
        while let length @ 1.. = self.text.get(self.after..).map_or(0, length) {
            self.after += length;
        }
        if self.after > place && is_word(self.after) {
            self.hidden.push(place..self.after);
        }
    }
}

/// Returns true if `byte` is the first of something invisible: an escape, or a character of
/// [`is_ignorable`] in UTF-8.
fn may_begin(byte: u8) -> bool {
    let firsts = [0x1b, 0xc2, 0xcd, 0xd8, 0xe1, 0xe2, 0xe3, 0xef, 0xf0, 0xf3];
    let any = firsts
        .iter()
        .fold(0, |any, first| any | u8::from(byte == *first));
    any != 0
}

/// Returns the parts of `text` that a secret with one of the `hidden` runs inside can be in, and the
/// runs of each.
pub(crate) fn around<'h>(text: &str, hidden: &'h [Range<usize>]) -> Vec<Around<'h>> {
    /// Maximum distances at which a secret begins and ends; an RSA key has 3 KB.
    const BEFORE: usize = 4 << 10;
    const AFTER: usize = 8 << 10;
    let bytes = text.as_bytes();
    let runs = hidden.chunk_by(|left, right| right.start - left.end < BEFORE + AFTER);
    let parts = runs.filter_map(|hidden| {
        let (first, last) = (hidden.first()?.start, hidden.last()?.end);
        let start = text.floor_char_boundary(first.saturating_sub(BEFORE));
        let end = text.ceil_char_boundary(last.saturating_add(AFTER));
        // Whole lines if there are some, so that no word is cut.
        let line = |byte: &u8| *byte == b'\n';
        let skipped = bytes.get(start..first)?.iter().position(line);
        let start = start
            + skipped
                .filter(|_| start > 0)
                .map_or(0, |skipped| skipped + 1);
        let kept = bytes.get(last..end)?.iter().rposition(line);
        let end = kept
            .filter(|_| end < bytes.len())
            .map_or(end, |kept| last + kept);
        Some(Around {
            part: start..end,
            hidden,
        })
    });
    parts.collect()
}

/// A part of a text with invisible runs.
pub(crate) struct Around<'h> {
    pub(crate) part: Range<usize>,
    pub(crate) hidden: &'h [Range<usize>],
}

/// Returns the length of the invisible character or sequence that `text` begins with, if any.
fn length(text: &str) -> usize {
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return 0 };
    let (kind, rest) = match first {
        '\u{1b}' => (chars.next(), chars.as_str()),
        '\u{9b}' => (Some('['), chars.as_str()),
        '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => (Some(']'), chars.as_str()),
        first if is_ignorable(first) => return first.len_utf8(),
        _ => return 0,
    };
    let begun = text.len() - rest.len();
    let sequence = match kind {
        Some('[') => control(rest),
        Some(']' | 'P' | 'X' | '^' | '_') => string(rest),
        // Character sets: a letter follows.
        Some('('..='/') => rest
            .starts_with(|c: char| c.is_ascii_alphanumeric())
            .then_some(1),
        Some('7' | '8' | '=' | '>' | 'c' | 'D' | 'E' | 'H' | 'M' | 'N' | 'O' | 'Z') => Some(0),
        _ => None,
    };
    sequence.map_or(0, |length| begun + length)
}

/// Returns the length of a control sequence: parameters, then a final character.
fn control(text: &str) -> Option<usize> {
    let parameters = text.bytes().take_while(|byte| matches!(byte, b' '..=b'?'));
    let length = parameters.count();
    count(length);
    let last = text.as_bytes().get(length)?;
    matches!(last, b'@'..=b'~').then_some(length + 1)
}

/// Returns the length of a string for the terminal, such as a link, with its end. A string ends on
/// its line: one without an end takes nothing with it.
fn string(text: &str) -> Option<usize> {
    let at = text.find(char::is_control)?;
    count(at);
    let rest = text.get(at..)?;
    let mut ends = ["\u{7}", "\u{9c}", "\u{1b}\\"].into_iter();
    ends.find(|end| rest.starts_with(end))
        .map(|end| at + end.len())
}

/// Returns true for characters that are drawn as nothing, `Default_Ignorable_Code_Point` of
/// Unicode.
fn is_ignorable(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}
