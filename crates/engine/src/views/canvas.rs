//! The medium of a view: its colours, the width of a line, the reader's clock and the reader's calls.

use flamestack_core::id::Timestamp;
use jiff::Zoned;
use textwrap::core::{Word, display_width};
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::UnicodeWidthChar as _;

use super::{Ink, Paint, one_line, time, unpainted};
use crate::hints::Voice;

/// A blank at which no line is broken.
const UNBROKEN: &str = "\u{a0}";
/// Columns of a title where the width of a line is not limited.
const TITLE: usize = 72;
/// Minimum number of columns of a shortened text.
const SHORTEST: usize = 12;

/// The medium on which a view is drawn.
#[derive(Clone)]
pub struct Canvas<'p> {
    /// Colours a piece of text.
    pub paint: Paint<'p>,
    /// Columns of a line; `None` if a line may have any length.
    pub width: Option<usize>,
    /// The reader's time and zone; without it, times are in UTC and not relative.
    pub now: Option<Zoned>,
    /// The reader; decides which calls are shown.
    pub voice: Voice,
}

impl Canvas<'static> {
    /// Returns a canvas without colours and without limits: the same journal gives the same text.
    pub fn plain(voice: Voice) -> Self {
        Self {
            paint: &unpainted,
            width: None,
            now: None,
            voice,
        }
    }
}

impl Canvas<'_> {
    /// Colours a piece of text.
    pub fn ink(&self, ink: Ink, text: &str) -> String {
        (self.paint)(ink, text)
    }

    /// Returns a title on one line, with `used` columns of the line taken by other text.
    pub fn title(&self, title: &str, used: usize) -> String {
        match self.width {
            None => one_line(title, TITLE),
            Some(width) => shortened(title, width.saturating_sub(used).max(SHORTEST)),
        }
    }

    /// Returns a text on one line of at most `limit` columns, or of what the line has left if that is
    /// more: a wide terminal shows more of it.
    pub fn excerpt(&self, text: &str, limit: usize, used: usize) -> String {
        let room = self.width.map_or(0, |width| width.saturating_sub(used));
        one_line(text, limit.max(room))
    }

    /// Renders a text after a prefix, with its further lines below its first word, and ends the line.
    pub fn paragraph(&self, prefix: &str, text: &str) -> String {
        self.hanging(prefix, &" ".repeat(display_width(prefix)), text)
    }

    /// Renders a text after a prefix, with another prefix for its further lines, and ends the line.
    pub fn hanging(&self, first: &str, rest: &str, text: &str) -> String {
        match self.width {
            None => format!("{first}{text}\n"),
            Some(width) => wrapped(first, rest, text, width),
        }
    }

    /// Returns a text that stays on one line wherever this canvas breaks lines.
    pub fn unbroken(&self, text: &str) -> String {
        match self.width {
            Some(_) => text.replace(' ', UNBROKEN),
            None => text.to_owned(),
        }
    }

    /// Formats a recorded time for the reader.
    pub fn time(&self, at: Timestamp) -> String {
        match &self.now {
            Some(now) => time::local(at, now),
            None => time::minute(at),
        }
    }

    /// Returns the distance of a time from now if it is at least that many milliseconds.
    pub fn age_from(&self, at: Timestamp, least: i64) -> Option<String> {
        let now = self.now.as_ref()?;
        let age = now.timestamp().as_millisecond().saturating_sub(at.0);
        (age >= least).then(|| time::ago(at, now))
    }

    /// Formats a recorded time with its distance from now, if that is known.
    pub fn time_and_age(&self, at: Timestamp) -> String {
        match &self.now {
            Some(now) => {
                let age = format!("({})", time::ago(at, now));
                let at = self.unbroken(&time::local(at, now));
                format!("{at} {}", self.unbroken(&age))
            }
            None => time::minute(at),
        }
    }
}

/// Time without an event after which a session is marked with its age, in milliseconds.
pub(super) const QUIET: i64 = 60 * 60 * 1000;
/// Time without an event after which a session counts as idle, in milliseconds: a day.
pub(super) const IDLE: i64 = 24 * QUIET;

/// Returns the columns that a text takes, without its colours.
pub fn columns(text: &str) -> usize {
    display_width(text)
}

/// Cuts a text to a number of columns, at a blank if there is one in the second half. A cut is
/// marked with `…`.
pub fn shortened(text: &str, limit: usize) -> String {
    let line = one_line(text, usize::MAX);
    if columns(&line) <= limit {
        return line;
    }
    let (mut end, mut blank, mut used) = (0, None, 0);
    for (place, c) in line.char_indices() {
        used += c.width().unwrap_or(0);
        // One column is for the mark.
        if used + 1 > limit {
            break;
        }
        if c == ' ' && used * 2 >= limit {
            blank = Some(place);
        }
        end = place + c.len_utf8();
    }
    let end = blank.unwrap_or(end);
    let kept = line.get(..end).unwrap_or_default();
    format!("{}…", kept.trim_end())
}

/// Breaks a text into lines of at most `width` columns between words. A word that is longer than a
/// line, such as a path, stays whole; text in a script without blanks breaks anywhere.
pub fn wrapped(first: &str, rest: &str, text: &str, width: usize) -> String {
    let options = Options::new(width)
        .initial_indent(first)
        .subsequent_indent(rest)
        .break_words(false)
        .word_separator(WordSeparator::Custom(words))
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    let mut lines = String::new();
    for line in textwrap::wrap(text, options) {
        lines.push_str(&line.trim_end().replace(UNBROKEN, " "));
        lines.push('\n');
    }
    lines
}

/// Splits a line into words, and words of wide characters into those.
fn words(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let words = WordSeparator::AsciiSpace.find_words(line);
    Box::new(words.flat_map(|word| {
        let is_wide = |c: char| c.width() == Some(2);
        if !word.word.contains(is_wide) {
            return vec![word];
        }
        let mut pieces: Vec<Word<'_>> =
            word.word.split_inclusive(is_wide).map(Word::from).collect();
        if let Some(last) = pieces.last_mut() {
            last.whitespace = word.whitespace;
        }
        pieces
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_is_cut_by_the_columns_that_it_takes() {
        assert_eq!(shortened("Parse the tokens", 40), "Parse the tokens");
        assert_eq!(shortened("Parse the tokens", 12), "Parse the…");
        assert_eq!(shortened("解析トークンの列", 9), "解析トー…");
        assert_eq!(shortened("abcdefghijklmnop", 8), "abcdefg…");
    }

    #[test]
    fn a_text_breaks_between_words_and_hangs_below_its_first_one() {
        assert_eq!(
            wrapped(
                "- ",
                "  ",
                "see /a/very/long/path/of/a/file for the rest",
                16
            ),
            "- see\n  /a/very/long/path/of/a/file\n  for the rest\n"
        );
        assert_eq!(
            wrapped("", "", "\u{1b}[2mone two\u{1b}[0m three", 8),
            "\u{1b}[2mone two\u{1b}[0m\nthree\n"
        );
        assert_eq!(
            wrapped("", " ", "日本語の文章です", 7),
            "日本語\n の文章\n です\n"
        );
    }

    proptest! {
        #[test]
        fn a_shortened_text_fits(text in "\\PC{0,80}", limit in 2usize..60) {
            prop_assert!(columns(&shortened(&text, limit)) <= limit);
        }

        #[test]
        fn wrapping_keeps_every_word(text in "[a-z日 ]{0,80}", width in 4usize..40) {
            let kept = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(kept(&wrapped("", "", &text, width)), kept(&text));
        }
    }
}
