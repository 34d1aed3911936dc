//! Text from users and models, checked once at the edge.
//!
//! A [`Title`] is one short line, [`Text`] is anything longer. Neither is ever empty, neither
//! holds a NUL, and both are bounded, so that no other module has to check again. [`Rewrite`] visits all
//! texts of a value, which is how the store redacts them; [`condense`] shortens one.

mod encode;
mod escape;
mod for_model;
mod visible;

use std::fmt;

pub use self::encode::{percent_encoded, xml_escaped};
pub use self::escape::without_escapes;
pub use self::for_model::for_model;
pub use self::visible::{QUOTE_LIMIT, disguises, quoted, shortened, undisguised};

/// Maximum length of a title, in characters.
pub const TITLE_LIMIT: usize = 500;
/// Maximum length of a text, in bytes; longer text belongs into a frame's log.
pub const PROSE_LIMIT: usize = 1024 * 1024;
/// Maximum length of a derived, compacted text, in characters.
pub const COMPACTED_LIMIT: usize = 280;

/// Reason for which a text is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextProblem {
    /// It is blank.
    #[error("is empty")]
    Empty,
    /// It is longer than a title may be.
    #[error("is {0} characters long; the limit for a title is {TITLE_LIMIT}")]
    TitleTooLong(usize),
    /// It is longer than a text may be.
    #[error("has {0} bytes and may have {PROSE_LIMIT}")]
    ProseTooLong(usize),
    /// It has a NUL character, at which many tools cut text.
    #[error("holds a NUL character (at byte {0})")]
    Nul(usize),
}

/// One short line of text. Blanks, line breaks and control characters inside become one blank;
/// terminal escape sequences are removed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Title(String);

impl Title {
    /// Checks and tidies a title.
    pub fn new(text: &str) -> Result<Self, TextProblem> {
        refuse_nul(text)?;
        let mut line = String::with_capacity(text.len().min(4 * TITLE_LIMIT));
        let text = without_escapes(text);
        for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
            if !word.is_empty() {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(word);
            }
        }
        let length = line.chars().count();
        match length {
            0 => Err(TextProblem::Empty),
            _ if length > TITLE_LIMIT => Err(TextProblem::TitleTooLong(length)),
            _ => Ok(Self(line)),
        }
    }

    /// Restores a title that was checked when it was recorded.
    pub fn recorded(text: String) -> Self {
        Self(text)
    }

    /// Returns the title as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Text of one or more lines, without surrounding blanks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Text(String);

impl Text {
    /// Checks a text.
    pub fn new(text: &str) -> Result<Self, TextProblem> {
        refuse_nul(text)?;
        let text = text.trim();
        match text.len() {
            0 => Err(TextProblem::Empty),
            length if length > PROSE_LIMIT => Err(TextProblem::ProseTooLong(length)),
            _ => Ok(Self(text.to_owned())),
        }
    }

    /// Restores a text that was checked when it was recorded.
    pub fn recorded(text: String) -> Self {
        Self(text)
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns a compacted form for where space is short: the first sentences, on one line, cut at a
    /// word.
    pub fn compacted(&self) -> String {
        condense(&self.0, COMPACTED_LIMIT)
    }
}

/// Rewrites a text in place, as redaction does; a result that would be empty is not applied.
pub trait Rewrite {
    /// Applies `change` to the text.
    fn rewrite(&mut self, change: &mut dyn FnMut(&str) -> Option<String>);
}

impl Rewrite for Title {
    fn rewrite(&mut self, change: &mut dyn FnMut(&str) -> Option<String>) {
        rewrite(&mut self.0, change);
    }
}

impl Rewrite for Text {
    fn rewrite(&mut self, change: &mut dyn FnMut(&str) -> Option<String>) {
        rewrite(&mut self.0, change);
    }
}

impl<T: Rewrite> Rewrite for Option<T> {
    fn rewrite(&mut self, change: &mut dyn FnMut(&str) -> Option<String>) {
        if let Some(text) = self {
            text.rewrite(change);
        }
    }
}

impl<T: Rewrite> Rewrite for Vec<T> {
    fn rewrite(&mut self, change: &mut dyn FnMut(&str) -> Option<String>) {
        for text in self {
            text.rewrite(change);
        }
    }
}

/// A text that may be empty.
impl Rewrite for String {
    fn rewrite(&mut self, change: &mut dyn FnMut(&str) -> Option<String>) {
        if let Some(changed) = change(self) {
            *self = changed;
        }
    }
}

fn rewrite(text: &mut String, change: &mut dyn FnMut(&str) -> Option<String>) {
    if let Some(changed) = change(text).filter(|changed| !changed.is_empty()) {
        *text = changed;
    }
}

impl fmt::Display for Title {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn refuse_nul(text: &str) -> Result<(), TextProblem> {
    match text.find('\0') {
        Some(at) => Err(TextProblem::Nul(at)),
        None => Ok(()),
    }
}

/// Puts a text on one line and cuts it to `limit` characters: after a sentence if one ends in the
/// second half, else at a blank, else in the middle of the word. A cut is marked with `…`.
pub fn condense(text: &str, limit: usize) -> String {
    let mut line = String::new();
    let mut length = 0;
    let mut last_blank = None;
    let mut last_sentence = None;
    let mut blank_pending = false;
    let mut before = ' ';
    for c in without_escapes(text).chars() {
        if c.is_whitespace() || c.is_control() {
            blank_pending = !line.is_empty();
            continue;
        }
        if blank_pending {
            if matches!(before, '.' | '!' | '?' | ';') && length * 2 >= limit {
                last_sentence = Some(line.len());
            }
            last_blank = Some(line.len());
            line.push(' ');
            length += 1;
            blank_pending = false;
        } else if matches!(before, '。' | '！' | '？') && length * 2 >= limit {
            last_sentence = Some(line.len());
        }
        if length + 1 > limit {
            return cut(line, last_sentence, last_blank);
        }
        line.push(c);
        before = c;
        length += 1;
    }
    line
}

fn cut(mut line: String, sentence: Option<usize>, blank: Option<usize>) -> String {
    if let Some(end) = sentence {
        line.truncate(end);
        line.push_str(" …");
        return line;
    }
    // The mark must fit too, so at least one character goes.
    match blank.filter(|&end| end * 2 >= line.len()) {
        Some(end) => line.truncate(end),
        None => {
            line.pop();
        }
    }
    line.push('…');
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_title_is_one_tidy_line() {
        assert_eq!(
            Title::new("  Fix\n\tthe \u{1b}login ").unwrap().as_str(),
            "Fix the login"
        );
        assert_eq!(Title::new(" \n "), Err(TextProblem::Empty));
        assert_eq!(Title::new("a\0b"), Err(TextProblem::Nul(1)));
        let long = "長".repeat(TITLE_LIMIT + 1);
        assert_eq!(
            Title::new(&long),
            Err(TextProblem::TitleTooLong(TITLE_LIMIT + 1))
        );
        assert!(Title::new(&long[3..]).is_ok());
    }

    #[test]
    fn prose_keeps_its_lines() {
        assert_eq!(
            Text::new("\n one\n\n two \n").unwrap().as_str(),
            "one\n\n two"
        );
        let long = "x".repeat(PROSE_LIMIT + 1);
        assert!(matches!(
            Text::new(&long),
            Err(TextProblem::ProseTooLong(_))
        ));
    }

    #[test]
    fn condensing_prefers_a_sentence_then_a_word() {
        assert_eq!(condense("short enough", 20), "short enough");
        assert_eq!(
            condense("First is done. Second is not done", 20),
            "First is done. …"
        );
        assert_eq!(
            condense("one two three four five six", 20),
            "one two three four…"
        );
        assert_eq!(condense("aaaaaaaaaaaaaaaaaaaaaaaaaaa", 10), "aaaaaaaaa…");
        assert_eq!(
            condense("長い文章です。そしてまだ続きます", 10),
            "長い文章です。 …"
        );
    }

    proptest! {
        #[test]
        fn condensed_text_fits(text in "\\PC{0,400}", limit in 2usize..300) {
            let condensed = condense(&text, limit);
            // A whole sentence may end at the limit with its mark beyond it.
            prop_assert!(condensed.chars().count() <= limit + 2);
            prop_assert!(!condensed.contains('\n'));
        }

        #[test]
        fn any_text_is_taken_or_refused(text in any::<String>()) {
            if let Ok(title) = Title::new(&text) {
                prop_assert_eq!(Title::new(title.as_str()), Ok(title));
            }
            if let Ok(prose) = Text::new(&text) {
                prop_assert_eq!(Text::new(prose.as_str()), Ok(prose));
            }
        }
    }
}
