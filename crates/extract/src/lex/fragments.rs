//! Fragments: words, the parts of compounds, and the compounds themselves.
//!
//! Code is half identifiers and paths, so these are taken apart: `parseToken`, `parse_token` and
//! `src/token/parse.rs` all have the fragments `parse` and `token`.

use super::class::{DIGIT, LOWER, UNSPACED, UPPER, WIDE};
use super::{Runs, class, is_unspaced};

/// Shorter compounds are words that happen to contain a dot, in bytes.
const MIN_COMPOUND: usize = 5;
/// Bytes between the parts of a compound. A dash or an `@` alone makes no compound.
const COMPOUND: u16 = class::UNDERSCORE | class::DOT | class::SLASH;
const SEPARATOR: u16 = COMPOUND | class::DASH | class::AT;
/// Bytes of words and compounds.
const FRAGMENT: u16 = class::WORD | SEPARATOR;

/// A part of a text that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fragment<'a> {
    /// A word, or a part of a compound, as it was written.
    Word(&'a str),
    /// A whole identifier, path, version or host, as it was written. Its parts come before it.
    Compound(&'a str),
}

/// Calls `visit` with every fragment of a text.
pub(crate) fn fragments<'a>(text: &'a str, visit: &mut impl FnMut(Fragment<'a>)) {
    for run in Runs::new(text, FRAGMENT) {
        // Most words: all letters are small, the first one aside.
        let is_lower = || {
            let tail = run.text.as_bytes().get(1..).unwrap_or_default();
            tail.iter().all(u8::is_ascii_lowercase)
        };
        if run.classes == LOWER || (run.classes & !(LOWER | UPPER) == 0 && is_lower()) {
            visit(Fragment::Word(run.text));
        } else if run.classes & WIDE == 0 {
            split_compound(run.text, visit);
        } else {
            let inside = |c: char| c.is_alphanumeric() || c == '_' || is_separator(c);
            for part in run.text.split(|c| !inside(c)) {
                split_compound(part, visit);
            }
        }
    }
}

/// Characters between the parts of a compound, besides `_`.
fn is_separator(c: char) -> bool {
    matches!(c, '-' | '.' | '/' | '@')
}

/// Returns the class of a character inside a compound.
fn class_of(c: char) -> u16 {
    match u8::try_from(c) {
        Ok(byte) if byte.is_ascii() => class(byte),
        _ if is_unspaced(c) => UNSPACED,
        _ if c.is_lowercase() => LOWER,
        _ if c.is_uppercase() => UPPER,
        _ if c.is_numeric() => DIGIT,
        _ => WIDE,
    }
}

/// Splits `src/parseHTTPHeader2.rs` into `src`, `parse`, `HTTP`, `Header`, `2` and `rs`.
fn split_compound<'a>(compound: &'a str, visit: &mut impl FnMut(Fragment<'a>)) {
    let compound = compound.trim_matches(is_separator);
    let is_compound = if compound.is_ascii() {
        split(compound, compound.bytes().map(class).enumerate(), visit)
    } else {
        let classes = compound.char_indices().map(|(at, c)| (at, class_of(c)));
        split(compound, classes, visit)
    };
    if is_compound && compound.len() >= MIN_COMPOUND {
        visit(Fragment::Compound(compound));
    }
}

/// Visits the parts of a text, given the classes of its characters; returns true if they make a
/// compound.
fn split<'a>(
    text: &'a str,
    classes: impl Iterator<Item = (usize, u16)>,
    visit: &mut impl FnMut(Fragment<'a>),
) -> bool {
    let (mut is_compound, mut start) = (false, 0);
    // The two characters before, the last one with its place.
    let (mut older, mut before, mut last) = (SEPARATOR, SEPARATOR, 0);
    let mut word = |range: std::ops::Range<usize>| {
        if let Some(word) = text.get(range).filter(|word| !word.is_empty()) {
            visit(Fragment::Word(word));
        }
    };
    for (at, class) in classes {
        let boundary = match (before, class) {
            // Most of a compound is small letters in a row.
            (LOWER, LOWER) => continue,
            _ if class & SEPARATOR != 0 => {
                is_compound |= class & COMPOUND != 0;
                word(start..at);
                start = at + 1;
                None
            }
            _ if before & SEPARATOR != 0 => None,
            (LOWER, UPPER) => {
                is_compound = true;
                Some(at)
            }
            // The last capital before a small letter begins a word: `HTTP`, `Header`.
            (UPPER, LOWER) => (older == UPPER).then_some(last),
            _ if (before | class) & (DIGIT | UNSPACED) != 0 => (before != class).then_some(at),
            _ => None,
        };
        if let Some(boundary) = boundary {
            word(start..boundary);
            start = boundary;
        }
        (older, before, last) = (before, class, at);
    }
    word(start..text.len());
    is_compound
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(text: &str) -> (Vec<&str>, Vec<&str>) {
        let (mut words, mut compounds) = (Vec::new(), Vec::new());
        fragments(text, &mut |fragment| match fragment {
            Fragment::Word(word) => words.push(word),
            Fragment::Compound(compound) => compounds.push(compound),
        });
        (words, compounds)
    }

    #[test]
    fn compounds_are_taken_apart_and_kept() {
        let (words, compounds) =
            split("Fixed `refresh_token` in src/auth.rs (see v1.2.3, e.g. TokenStore).");
        assert_eq!(
            words,
            [
                "Fixed", "refresh", "token", "in", "src", "auth", "rs", "see", "v", "1", "2", "3",
                "e", "g", "Token", "Store"
            ]
        );
        assert_eq!(
            compounds,
            ["refresh_token", "src/auth.rs", "v1.2.3", "TokenStore"]
        );
        assert_eq!(split("HTTPHeader2XML").0, ["HTTP", "Header", "2", "XML"]);
    }

    proptest! {
        #[test]
        fn every_letter_is_in_one_word_in_its_order(text in "\\PC{0,60}|[a-zA-Z0-9_./@ -]{0,60}|[ぁ-ん漢字a-z_. ]{0,30}") {
            let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
            prop_assert_eq!(letters(&split(&text).0.concat()), letters(&text));
        }
    }
}
