//! The word lists of `data/vocabulary.toml`, which describes each of them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::fields::Field;
use crate::words::WordSet;

/// The vocabulary, parsed at its first use.
pub(crate) static WORDS: LazyLock<Vocabulary> =
    // A list that does not parse is caught by the test below.
    LazyLock::new(|| toml::from_str(SOURCE).unwrap_or_default());

const SOURCE: &str = include_str!("../data/vocabulary.toml");

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Vocabulary {
    pub(crate) negation_before: WordSet,
    pub(crate) negation_after: WordSet,
    pub(crate) negation: WordSet,
    pub(crate) approved: WordSet,
    pub(crate) approval: WordSet,
    pub(crate) named_approval: WordSet,
    pub(crate) given: WordSet,
    pub(crate) not_yet: WordSet,
    pub(crate) blocker_label: WordSet,
    pub(crate) blocked: WordSet,
    pub(crate) not_blocked: WordSet,
    pub(crate) unblocked: WordSet,
    pub(crate) decided: WordSet,
    pub(crate) over: WordSet,
    pub(crate) nothing: Vec<String>,
    pub(crate) still_nothing: Vec<String>,
    pub(crate) countable: Vec<String>,
    pub(crate) kind_of: Vec<String>,
    pub(crate) goes_on: Vec<String>,
    pub(crate) doing: Vec<String>,
    pub(crate) explains: Vec<String>,
    pub(crate) status: Vec<String>,
    pub(crate) entry: Vec<String>,
    pub(crate) newest_first: Vec<String>,
    pub(crate) newest_last: Vec<String>,
    pub(crate) fields: BTreeMap<Field, Vec<String>>,
    pub(crate) topics: BTreeMap<Field, Vec<String>>,
}

/// Returns true if a list has a word, regardless of ASCII case.
pub(crate) fn has(list: &[String], word: &str) -> bool {
    list.iter().any(|known| known.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_can_be_read() {
        let words: Vocabulary = toml::from_str(SOURCE).unwrap();
        assert_eq!((words.fields.len(), words.topics.len()), (9, 5));
    }
}
