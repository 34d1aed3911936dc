//! Terms: the forms of words by which two texts show that they are about the same subject.
//!
//! Words are reduced to their stems; scripts without spaces are taken in pairs of characters.

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};

use super::{Fragment, fragments, is_unspaced};
use crate::data::STOP_WORDS;

/// Longer words are hashes and base64, not language, in bytes.
const MAX_WORD: usize = 40;

/// Returns the distinct terms of a text, sorted.
pub fn terms(text: &str) -> Vec<String> {
    let (mut words, mut terms) = (Vec::new(), Vec::new());
    fragments(text, &mut |fragment| match fragment {
        Fragment::Compound(compound) => terms.push(compound.to_lowercase()),
        Fragment::Word(word) => words.push(word),
    });
    // Stemming is the expensive part.
    words.sort_unstable();
    words.dedup();
    for word in words {
        each_term(word, &mut |term| terms.push(term.to_owned()));
    }
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// Calls `visit` with the terms of one word: its stem, or its pairs of characters.
pub(crate) fn each_term(word: &str, visit: &mut dyn FnMut(&str)) {
    if word.starts_with(is_unspaced) {
        return pairs(word, visit);
    }
    if word.len() > MAX_WORD {
        return;
    }
    let word = lowercase(word);
    if word.chars().nth(2).is_none() || STOP_WORDS.contains(word.as_ref()) {
        return;
    }
    visit(&stem(&word));
}

/// Returns a text in lower case, without a copy if it already is.
pub(crate) fn lowercase(text: &str) -> Cow<'_, str> {
    if text
        .bytes()
        .all(|b| b.is_ascii() && !b.is_ascii_uppercase())
    {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.to_lowercase())
    }
}

fn pairs(word: &str, visit: &mut dyn FnMut(&str)) {
    let starts: Vec<usize> = word.char_indices().map(|(at, _)| at).collect();
    if starts.len() < 2 {
        return visit(word);
    }
    let ends = starts.iter().skip(2).copied().chain([word.len()]);
    for (start, end) in starts.iter().zip(ends) {
        visit(word.get(*start..end).unwrap_or_default());
    }
}

fn stem(word: &str) -> Cow<'_, str> {
    let algorithm = match word.chars().next() {
        Some('a'..='z') => Algorithm::English,
        Some('\u{400}'..='\u{4ff}') => Algorithm::Russian,
        Some('\u{370}'..='\u{3ff}') => Algorithm::Greek,
        _ => return Cow::Borrowed(word),
    };
    // A stemmer slices at byte offsets of its own alphabet and panics on others.
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
    fn identifiers_and_paths_have_the_terms_of_their_parts() {
        assert_eq!(terms("parseToken"), ["pars", "parsetoken", "token"]);
        assert_eq!(terms("parse_tokens"), ["pars", "parse_tokens", "token"]);
        assert_eq!(
            terms("src/token/parse.rs"),
            ["pars", "src/token/parse.rs", "token"]
        );
        assert_eq!(terms("HTTPHeader2XML"), ["header", "http", "xml"]);
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        assert_eq!(terms("Testing the tests, tested"), ["test"]);
        assert_eq!(terms("тестирование тестов"), terms("тестирования тестами"));
        assert_eq!(terms("café"), ["café"]);
    }

    #[test]
    fn scripts_without_spaces_are_taken_in_pairs() {
        assert_eq!(terms("認証を修正"), ["を修", "修正", "証を", "認証"]);
        assert_eq!(terms("字"), ["字"]);
        assert_eq!(terms("JWT認証"), ["jwt", "認証"]);
    }

    #[test]
    fn words_without_a_subject_have_no_terms() {
        assert!(terms("this is it, and of the -- !").is_empty());
        assert!(terms(&"f00".repeat(30)).is_empty() || terms(&"f00".repeat(30)) == ["f00"]);
    }

    proptest! {
        #[test]
        fn terms_are_sorted_distinct_and_do_not_depend_on_order(
            words in prop::collection::vec("\\PC{1,12}|[a-zа-яёα-ωάέήίόύώ]{1,30}", 0..8)
        ) {
            let found = terms(&words.join(" "));
            prop_assert!(found.is_sorted() && found.windows(2).all(|two| two[0] != two[1]));
            let backwards: Vec<String> = words.iter().rev().cloned().collect();
            prop_assert_eq!(found, terms(&backwards.join(" ")));
        }

        #[test]
        fn a_stem_begins_like_its_word(word in "[a-z]{3,20}|[а-я]{3,20}") {
            for term in terms(&word) {
                let same = term.chars().zip(word.chars()).take_while(|(a, b)| a == b).count();
                prop_assert!(same >= 1, "{word}: {term}");
            }
        }
    }
}
