//! The lexer: cuts text into words, names and terms.
//!
//! Everything that reads text in this crate reads it through `Runs`, one pass over the bytes with
//! one table of classes: a transcript has megabytes, so there is no pattern engine. Four readers
//! interpret the runs:
//!
//! | reader | unit | for |
//! |---|---|---|
//! | `words` | `parse_token`, `日` | phrases, which are compared word by word |
//! | [`names`] | `src/parse.rs`, `parse_token`, `#123`, `250 ms` | facts that must survive |
//! | `fragments` | `parse`, `token`, and the compound `parse_token` | the parts of names |
//! | [`terms`] | stems of fragments | finding texts about the same subject |

mod fragments;
mod names;
#[cfg(test)]
mod names_tests;
mod quantity;
mod terms;

pub(crate) use fragments::{Fragment, fragments};
pub(crate) use names::named_text;
pub use names::{NameKind, name_key, names, path_key};
pub use terms::terms;
pub(crate) use terms::{each_term, lowercase};

/// Classes of bytes, one bit each. A byte without a class separates names.
mod class {
    pub(super) const LOWER: u16 = 1;
    pub(super) const UPPER: u16 = 1 << 1;
    pub(super) const DIGIT: u16 = 1 << 2;
    pub(super) const UNDERSCORE: u16 = 1 << 3;
    pub(super) const DOT: u16 = 1 << 4;
    pub(super) const DASH: u16 = 1 << 5;
    pub(super) const SLASH: u16 = 1 << 6;
    /// Other characters that occur inside paths.
    pub(super) const BRACKET: u16 = 1 << 7;
    /// Part of a character beyond ASCII.
    pub(super) const WIDE: u16 = 1 << 8;
    pub(super) const AT: u16 = 1 << 9;
    /// A character of a script without spaces; no byte has this class.
    pub(super) const UNSPACED: u16 = 1 << 10;

    /// Bytes of a word, as programming languages see it.
    pub(super) const WORD: u16 = LOWER | UPPER | DIGIT | UNDERSCORE | WIDE;
    /// Bytes that join the words of a path or an address.
    pub(super) const JOINER: u16 = DOT | DASH | SLASH | AT | BRACKET;
}

const CLASSES: [u16; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::indexing_slicing,
            reason = "evaluated by the compiler, and counts to 255"
        )]
        {
            classes[byte] = match byte as u8 {
                b'a'..=b'z' => class::LOWER,
                b'A'..=b'Z' => class::UPPER,
                b'0'..=b'9' => class::DIGIT,
                b'_' => class::UNDERSCORE,
                b'.' => class::DOT,
                b'-' => class::DASH,
                b'/' => class::SLASH,
                b'@' => class::AT,
                b'+' | b'[' | b']' | b'~' => class::BRACKET,
                0x80.. => class::WIDE,
                _ => 0,
            };
        }
        byte += 1;
    }
    classes
};

fn class(byte: u8) -> u16 {
    CLASSES.get(usize::from(byte)).copied().unwrap_or(0)
}

/// Returns all classes that occur in a text.
fn classes(text: &str) -> u16 {
    text.bytes().fold(0, |all, byte| all | class(byte))
}

fn is_word(byte: u8) -> bool {
    class(byte) & class::WORD != 0
}

/// Returns true for characters of scripts without spaces between words, and for Hangul, which
/// appends endings to names.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}'        // Thai, Lao
        | '\u{1000}'..='\u{109f}'      // Burmese
        | '\u{1780}'..='\u{17ff}'      // Khmer
        | '\u{2e80}'..='\u{9fff}'      // kana, ideographs
        | '\u{ac00}'..='\u{d7af}'      // Hangul
        | '\u{f900}'..='\u{faff}'
        | '\u{ff00}'..='\u{ffef}'      // full-width forms
        | '\u{20000}'..='\u{3ffff}')
}

/// The longest runs of bytes of the given classes.
struct Runs<'a> {
    text: &'a str,
    mask: u16,
    at: usize,
}

/// A run of bytes.
struct Run<'a> {
    text: &'a str,
    start: usize,
    /// The classes that occur in it.
    classes: u16,
}

impl<'a> Runs<'a> {
    fn new(text: &'a str, mask: u16) -> Self {
        Self { text, mask, at: 0 }
    }
}

impl<'a> Iterator for Runs<'a> {
    type Item = Run<'a>;

    #[inline]
    fn next(&mut self) -> Option<Run<'a>> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let skipped = rest.iter().position(|byte| class(*byte) & self.mask != 0)?;
        let start = self.at + skipped;
        let (mut classes, mut end) = (0, start);
        for byte in rest.get(skipped..)? {
            let here = class(*byte) & self.mask;
            if here == 0 {
                break;
            }
            classes |= here;
            end += 1;
        }
        self.at = end;
        let text = self.text.get(start..end)?;
        Some(Run {
            text,
            start,
            classes,
        })
    }
}

/// Calls `visit` with the start and the text of each word: letters, digits and `_` of ASCII in a
/// row, or one letter or digit beyond ASCII.
pub(crate) fn words<'a>(text: &'a str, visit: &mut impl FnMut(usize, &'a str)) {
    for run in Runs::new(text, class::WORD) {
        if run.classes & class::WIDE == 0 {
            visit(run.start, run.text);
            continue;
        }
        let mut rest = run.text;
        while let Some(c) = rest.chars().next() {
            let start = run.start + run.text.len() - rest.len();
            let is_wide = !c.is_ascii();
            let length = if is_wide {
                c.len_utf8()
            } else {
                rest.find(|c: char| !c.is_ascii()).unwrap_or(rest.len())
            };
            let (word, after) = rest.split_at(length);
            if !is_wide || c.is_alphanumeric() {
                visit(start, word);
            }
            rest = after;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(text: &str) -> Vec<(usize, &str)> {
        let mut all = Vec::new();
        words(text, &mut |start, word| all.push((start, word)));
        all
    }

    #[test]
    fn identifiers_and_wide_characters_are_words() {
        assert_eq!(
            all("fn parse_2(日本) → é"),
            [(0, "fn"), (3, "parse_2"), (11, "日"), (14, "本"), (23, "é")]
        );
    }

    proptest! {
        #[test]
        fn words_are_at_their_places_and_nothing_else_is_alphanumeric(text in any::<String>()) {
            let mut end = 0;
            for (start, word) in all(&text) {
                prop_assert!(!text[end..start].contains(|c: char| c.is_alphanumeric() || c == '_'));
                prop_assert_eq!(&text[start..start + word.len()], word);
                end = start + word.len();
            }
            prop_assert!(!text[end..].contains(char::is_alphanumeric));
        }
    }
}
