//! The words of a text, as far as they can show that two texts are about the same thing.
//!
//! Code is half identifiers and paths, so these are taken apart (`parseToken`, `parse_token` and
//! `src/token/parse.rs` all speak of `parse` and `token`). Words are reduced to their stems, and
//! scripts that put no blanks between words are taken in pairs of characters.

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};

/// Words that say nothing about a subject.
const STOP_WORDS: [&str; 52] = [
    "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do",
    "does", "for", "from", "had", "has", "have", "he", "i", "in", "is", "it", "its", "may",
    "might", "must", "need", "of", "on", "or", "shall", "she", "should", "that", "the", "these",
    "they", "this", "those", "to", "was", "we", "were", "will", "with", "would", "you", "src",
    "www",
];
/// Longer words are hashes and base64, not language.
const LONGEST_WORD: usize = 40;
/// Shorter names are words that happen to hold a dot.
const SHORTEST_NAME: usize = 5;

/// A piece of text that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// A word, or a part of an identifier or path, as it was written, in ASCII.
    Word(&'a str),
    /// The same in whatever script.
    Wide(&'a str),
    /// A whole identifier or path, as it was written.
    Name(&'a str),
}

/// What a byte can be in a word, one bit each.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Class {
    Outside = 0,
    Lower = 1,
    Upper = 2,
    Digit = 4,
    /// Inside names, between words.
    Join = 8,
    /// Part of a character beyond ASCII.
    Wide = 16,
}

/// Looked up rather than worked out: every byte of every frame that is ranked comes by here.
fn class(byte: u8) -> Class {
    #[expect(
        clippy::indexing_slicing,
        reason = "evaluated by the compiler, which refuses an index beyond the end"
    )]
    const CLASSES: [Class; 256] = {
        let mut classes = [Class::Outside; 256];
        let mut byte = 0_u8;
        loop {
            classes[byte as usize] = match byte {
                b'a'..=b'z' => Class::Lower,
                b'A'..=b'Z' => Class::Upper,
                b'0'..=b'9' => Class::Digit,
                b'_' | b'-' | b'.' | b'/' | b'@' => Class::Join,
                0x80.. => Class::Wide,
                _ => Class::Outside,
            };
            if byte == u8::MAX {
                break classes;
            }
            byte += 1;
        }
    };
    let class = CLASSES.get(usize::from(byte)).copied();
    class.unwrap_or(Class::Outside)
}

/// Calls `visit` with every name and every word of a text.
pub(crate) fn pieces<'a>(text: &'a str, visit: &mut impl FnMut(Piece<'a>)) {
    let mut start = 0;
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let first = class(*first);
        let mut length = 1;
        if first != Class::Outside {
            // One look at each byte finds the end of a chunk and of what it is made.
            let mut behind_first = 0;
            for byte in behind {
                let class = class(*byte);
                if class == Class::Outside {
                    break;
                }
                behind_first |= class as u8;
                length += 1;
            }
            let chunk = text.get(start..start + length).unwrap_or_default();
            if first as u8 & WORD != 0 && behind_first & !(Class::Lower as u8) == 0 {
                visit(Piece::Word(chunk));
            } else if (first as u8 | behind_first) & Class::Wide as u8 == 0 {
                ascii(chunk, visit);
            } else {
                let inside = |c: char| c.is_alphanumeric() || class_of(c) == Class::Join;
                let parts = chunk.split(|c| !inside(c));
                parts.for_each(|part| wide(part, visit));
            }
        }
        start += length;
        rest = rest.get(length..).unwrap_or_default();
    }
}

/// How most words begin; the rest of them is small letters.
const WORD: u8 = Class::Lower as u8 | Class::Upper as u8;

fn class_of(c: char) -> Class {
    u8::try_from(c).map_or(Class::Wide, class)
}

/// Takes `src/parseHTTPHeader2.rs` apart into `src`, `parse`, `HTTP`, `Header`, `2` and `rs`, and
/// notices that it is a name: of a path, an identifier, a version or a host.
fn ascii<'a>(chunk: &'a str, visit: &mut impl FnMut(Piece<'a>)) {
    let mut bytes = chunk.as_bytes();
    while let [b'-' | b'.' | b'/' | b'@', rest @ ..] = bytes {
        bytes = rest;
    }
    let first = chunk.len() - bytes.len();
    while let [rest @ .., b'-' | b'.' | b'/' | b'@'] = bytes {
        bytes = rest;
    }
    let chunk = chunk.get(first..first + bytes.len()).unwrap_or_default();
    let mut is_name = false;
    let mut start = 0;
    let mut before = Class::Outside;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let here = class(byte);
        let turns = match (before, here) {
            (_, Class::Join) => {
                is_name |= matches!(byte, b'_' | b'/');
                true
            }
            (Class::Join, _) => {
                is_name |= at.checked_sub(1).and_then(|at| bytes.get(at)) == Some(&b'.');
                start = at;
                false
            }
            (Class::Lower, Class::Upper) => {
                is_name = true;
                true
            }
            (Class::Upper, Class::Upper) => bytes
                .get(at + 1)
                .is_some_and(|next| class(*next) == Class::Lower),
            (Class::Digit, here) => here != Class::Digit,
            (Class::Lower | Class::Upper, Class::Digit) => true,
            _ => false,
        };
        if turns {
            if before != Class::Join && start < at {
                visit(Piece::Word(chunk.get(start..at).unwrap_or_default()));
            }
            start = at;
        }
        before = here;
        at += 1;
        if here == Class::Lower {
            // Most of a name is small letters in a row.
            let behind = bytes.get(at..).unwrap_or_default();
            at += behind
                .iter()
                .take_while(|byte| class(**byte) == here)
                .count();
        }
    }
    if before != Class::Join && start < bytes.len() {
        visit(Piece::Word(chunk.get(start..).unwrap_or_default()));
    }
    if is_name && bytes.len() >= SHORTEST_NAME {
        visit(Piece::Name(chunk));
    }
}

/// What stands around names without being part of them.
const AROUND: [char; 4] = ['-', '.', '/', '@'];

/// The same for any script.
fn wide<'a>(chunk: &'a str, visit: &mut impl FnMut(Piece<'a>)) {
    let chunk = chunk.trim_matches(AROUND);
    let mut is_name = false;
    for part in chunk.split(|c| class_of(c) == Class::Join) {
        let mut start = 0;
        let mut before: Option<char> = None;
        for (at, c) in part.char_indices() {
            let hump = before.is_some_and(|before| before.is_lowercase() && c.is_uppercase());
            is_name |= hump;
            let turns = before.is_some_and(|before| {
                before.is_numeric() != c.is_numeric() || is_unspaced(before) != is_unspaced(c)
            });
            if hump || turns {
                visit(Piece::Wide(part.get(start..at).unwrap_or_default()));
                start = at;
            }
            before = Some(c);
        }
        if start < part.len() {
            visit(Piece::Wide(part.get(start..).unwrap_or_default()));
        }
    }
    is_name |= chunk.contains(['_', '/']);
    if is_name && chunk.len() >= SHORTEST_NAME {
        visit(Piece::Name(chunk));
    }
}

/// Whether a character belongs to a script that is written without blanks between words.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}'        // Thai, Lao
        | '\u{1000}'..='\u{109f}'      // Burmese
        | '\u{1780}'..='\u{17ff}'      // Khmer
        | '\u{2e80}'..='\u{9fff}'      // kana, ideographs
        | '\u{ac00}'..='\u{d7af}'      // hangul
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

/// The distinct words of a text in the form in which they can be compared, in order.
///
/// For a goal they are what to look for in an index of frames; for a frame they are what to put
/// into it.
pub fn terms(text: &str) -> Vec<String> {
    let (mut words, mut found) = (Vec::new(), Vec::new());
    pieces(text, &mut |piece| match piece {
        Piece::Name(name) => found.push(name.to_lowercase()),
        Piece::Word(word) | Piece::Wide(word) => words.push(word),
    });
    // Stemming is the dear part.
    words.sort_unstable();
    words.dedup();
    for word in words {
        each_term(word, &mut |term| found.push(term.to_owned()));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Calls `visit` with the comparable forms of one word: its stem, or its pairs of characters.
pub(crate) fn each_term(word: &str, visit: &mut dyn FnMut(&str)) {
    if word.starts_with(is_unspaced) {
        return pairs(word, visit);
    }
    if word.len() > LONGEST_WORD {
        return;
    }
    let word = lower(word);
    if word.chars().nth(2).is_none() || STOP_WORDS.contains(&word.as_ref()) {
        return;
    }
    visit(&stem(&word));
}

/// A word in lower case, without a copy where it already is.
pub(crate) fn lower(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if word.chars().all(plain) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(word.to_lowercase())
    }
}

fn pairs(word: &str, visit: &mut dyn FnMut(&str)) {
    let mut starts = word.char_indices();
    let Some(_) = starts.next() else {
        return;
    };
    let Some((mut middle, _)) = starts.next() else {
        return visit(word);
    };
    let mut start = 0;
    for end in starts.map(|(at, _)| at).chain([word.len()]) {
        visit(word.get(start..end).unwrap_or_default());
        (start, middle) = (middle, end);
    }
}

fn stem(word: &str) -> Cow<'_, str> {
    let algorithm = match word.chars().next() {
        Some('a'..='z') => Algorithm::English,
        Some('\u{400}'..='\u{4ff}') => Algorithm::Russian,
        Some('\u{370}'..='\u{3ff}') => Algorithm::Greek,
        _ => return Cow::Borrowed(word),
    };
    // Stemmers know only their own letters, and cut at places that others do not have.
    let own = |c: char| match algorithm {
        Algorithm::Russian => matches!(c, '\u{430}'..='\u{451}'),
        Algorithm::Greek => matches!(c, '\u{3ac}'..='\u{3ce}'),
        _ => c.is_ascii_lowercase(),
    };
    if word.chars().all(own) {
        Stemmer::create(algorithm).stem(word)
    } else {
        Cow::Borrowed(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn identifiers_and_paths_speak_of_their_parts() {
        assert_eq!(terms("parseToken"), ["pars", "parsetoken", "token"]);
        assert_eq!(terms("parse_tokens"), ["pars", "parse_tokens", "token"]);
        assert_eq!(
            terms("src/token/parse.rs"),
            ["pars", "src/token/parse.rs", "token"]
        );
        assert_eq!(terms("HTTPHeader2XML"), ["header", "http", "xml"]);
    }

    #[test]
    fn words_meet_in_their_stems() {
        assert_eq!(terms("Testing the tests, tested"), ["test"]);
        assert_eq!(terms("тестирование тестов"), terms("тестирования тестами"));
        assert_eq!(terms("café"), ["café"]);
    }

    #[test]
    fn scripts_without_blanks_are_taken_in_pairs() {
        assert_eq!(terms("認証を修正"), ["を修", "修正", "証を", "認証"]);
        assert_eq!(terms("字"), ["字"]);
        assert_eq!(terms("JWT認証"), ["jwt", "認証"]);
    }

    #[test]
    fn what_says_nothing_is_left_out() {
        assert!(terms("this is it, and of the -- !").is_empty());
        assert!(terms(&"f00".repeat(30)).is_empty() || terms(&"f00".repeat(30)) == ["f00"]);
    }

    #[test]
    fn names_are_names_of_things() {
        let names = |text: &str| {
            let mut found = Vec::new();
            pieces(text, &mut |piece| {
                if let Piece::Name(name) = piece {
                    found.push(name.to_owned());
                }
            });
            found
        };
        assert_eq!(
            names("Fixed `refresh_token` in src/auth.rs (see v1.2.3, e.g. TokenStore)."),
            ["refresh_token", "src/auth.rs", "v1.2.3", "TokenStore"]
        );
    }

    proptest! {
        #[test]
        fn any_text_has_terms(text in any::<String>()) {
            terms(&text);
        }

        #[test]
        fn stemmers_take_any_word(word in "[a-zа-яёα-ωάέήίόύώ]{1,30}") {
            terms(&word);
        }
    }
}
