//! Whole words in prose, and the test for a negation around one.

use std::ops::Range;

use aho_corasick::AhoCorasick;
use serde::Deserialize;

use crate::vocabulary::WORDS;

/// Number of words after a mention in which a negation still refers to it.
const NEGATION_REACH: usize = 4;

/// A set of words and short phrases, searched for in one pass and regardless of ASCII case.
///
/// A word counts only as a whole: letters, digits, `-` and `_` beside it make it part of another
/// word, and so does a `/` inside a path.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "Vec<String>")]
pub(crate) struct WordSet(Option<AhoCorasick>);

impl WordSet {
    pub(crate) fn new<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> Self {
        let words: Vec<W> = words.into_iter().collect();
        // An empty word would be found everywhere. Its index must stay, so it becomes a newline, which
        // no line of text contains.
        let patterns = words.iter().map(|word| match word.as_ref() {
            "" => "\n",
            word => word,
        });
        // Building fails only beyond two billion patterns.
        let builder = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(patterns);
        Self(builder.ok())
    }

    /// Returns the index of each word found and its position in the text.
    pub(crate) fn find<'t>(&'t self, text: &'t str) -> impl Iterator<Item = (usize, Range<usize>)> {
        // Overlapping, so that `spec` does not hide `spec-create`.
        let matches = self.0.iter().flat_map(move |set| {
            let found = set.try_find_overlapping_iter(text);
            found.into_iter().flatten()
        });
        matches
            .filter(move |found| is_whole(text, found.start(), found.end()))
            .map(|found| (found.pattern().as_usize(), found.range()))
    }

    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.find(text).next().is_some()
    }

    /// Returns true if the text begins with one of the words, give or take a mark such as `**`.
    pub(crate) fn begins(&self, text: &str) -> bool {
        self.find(text).any(|(_, at)| at.start <= 2)
    }
}

impl From<Vec<String>> for WordSet {
    fn from(words: Vec<String>) -> Self {
        Self::new(words)
    }
}

fn is_whole(text: &str, start: usize, end: usize) -> bool {
    let joins = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let mut before = text.get(..start).unwrap_or_default().chars().rev();
    let left = match before.next() {
        // `/bug-fix` is a command, `feature/bug-fix` is a path.
        Some('/' | '.') => before
            .next()
            .is_none_or(|c| !joins(c) && !matches!(c, '/' | '.' | '~')),
        Some(c) => !joins(c),
        None => true,
    };
    let mut after = text.get(end..).unwrap_or_default().chars();
    let right = match after.next() {
        Some('/') => after.next().is_none_or(|c| !joins(c)),
        Some('.' | ':') => after.next().is_none_or(|c| !c.is_alphanumeric()),
        Some(c) => !joins(c),
        None => true,
    };
    left && right
}

/// Returns true if the clause around a mention denies it: `bug-fix not started`, `do not begin
/// bug-fix`.
pub(crate) fn is_denied(text: &str, at: &Range<usize>) -> bool {
    let ends = [';', ',', '—', '–', '|', '(', ')', '→'];
    let before = text.get(..at.start).unwrap_or_default();
    let before = before.rsplit(ends).next().unwrap_or_default();
    let before = before.rsplit(". ").next().unwrap_or_default();
    let after = text.get(at.end..).unwrap_or_default();
    let after = after.split(ends).next().unwrap_or_default();
    let after = after.split(". ").next().unwrap_or_default();
    let after: Vec<&str> = after.split_whitespace().take(NEGATION_REACH).collect();
    WORDS.negation_before.is_in(before) || WORDS.negation_after.is_in(&after.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn has_word(text: &str, word: &str) -> bool {
        WordSet::new([word]).is_in(text)
    }

    #[test]
    fn a_word_is_a_whole_word() {
        for yes in [
            "bug-fix",
            "`bug-fix x`",
            "/bug-fix now",
            "the Bug-Fix.",
            "run (bug-fix)",
            "bug-fix: on",
        ] {
            assert!(has_word(yes, "bug-fix"), "{yes}");
        }
        for no in [
            "debug-fix",
            "bug-fixes",
            "bug-fix-2",
            "feature/bug-fix",
            "bug_bug-fix_x",
            "bug-fix/x",
            "bug-fix.rs",
        ] {
            assert!(!has_word(no, "bug-fix"), "{no}");
        }
    }

    #[test]
    fn words_inside_each_other_are_all_found() {
        let set = WordSet::new(["spec", "", "spec-create", "create"]);
        let found: Vec<usize> = set
            .find("spec, then spec-create")
            .map(|(word, _)| word)
            .collect();
        assert_eq!(found, [0, 2]);
    }

    #[test]
    fn a_denied_mention_does_not_count() {
        let denied = |text: &str| {
            let set = WordSet::new(["bug-fix"]);
            let (_, at) = set.find(text).next().unwrap();
            is_denied(text, &at)
        };
        for yes in [
            "bug-fix not started; waiting",
            "do not begin bug-fix",
            "bug-analyze is done, bug-fix has not begun",
            "wait before bug-fix",
        ] {
            assert!(denied(yes), "{yes}");
        }
        for no in [
            "bug-fix under way, not verified",
            "not reproduced. Now bug-fix",
            "begin bug-fix",
        ] {
            assert!(!denied(no), "{no}");
        }
    }

    proptest! {
        #[test]
        fn matches_are_in_the_text(text in any::<String>(), word in "\\PC{0,5}") {
            let set = WordSet::new([&word]);
            for (_, at) in set.find(&text) {
                prop_assert!(text[at].eq_ignore_ascii_case(&word));
            }
        }
    }
}
