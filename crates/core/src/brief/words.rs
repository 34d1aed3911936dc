//! Whole words in prose, and whether what they name is denied there.

use std::ops::Range;

/// Where a word stands in a text by itself, whatever its case. Letters, digits, `-` and `_` beside
/// it make it part of another word; so does a `/` behind something, as in a path.
pub(super) fn find_word(text: &str, word: &str) -> Option<Range<usize>> {
    find_words(text, word).next()
}

pub(super) fn find_words<'t>(text: &'t str, word: &str) -> impl Iterator<Item = Range<usize>> + 't {
    let (hay, needle) = (text.to_ascii_lowercase(), word.to_ascii_lowercase());
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            if needle.is_empty() {
                return None;
            }
            let start = from + hay.get(from..)?.find(&needle)?;
            let end = start + needle.len();
            from = end;
            let before = hay.get(..start).unwrap_or_default();
            let behind = hay.get(end..).unwrap_or_default();
            if stands_alone(before, behind) {
                return Some(start..end);
            }
        }
    })
}

fn stands_alone(before: &str, behind: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let mut earlier = before.chars().rev();
    let left = match earlier.next() {
        // `/bug-fix` is a command, `feature/bug-fix` is a path.
        Some('/' | '.') => earlier
            .next()
            .is_none_or(|c| !joins(c) && !matches!(c, '/' | '.' | '~')),
        Some(c) => !joins(c),
        None => true,
    };
    let mut later = behind.chars();
    let right = match later.next() {
        Some('/') => later.next().is_none_or(|c| !joins(c)),
        Some('.' | ':') => later.next().is_none_or(|c| !c.is_alphanumeric()),
        Some(c) => !joins(c),
        None => true,
    };
    left && right
}

pub(super) fn has_word(text: &str, word: &str) -> bool {
    find_word(text, word).is_some()
}

/// Whether what stands at a place in a text is said not to be so, or not yet: `bug-fix not
/// started`, `do not begin bug-fix`.
pub(super) fn is_denied(text: &str, at: &Range<usize>) -> bool {
    let ends = [';', ',', '—', '–', '|', '(', ')', '→'];
    let before = text.get(..at.start).unwrap_or_default();
    let before = before.rsplit(ends).next().unwrap_or_default();
    let before = before.rsplit(". ").next().unwrap_or_default();
    let behind = text.get(at.end..).unwrap_or_default();
    let behind = behind.split(ends).next().unwrap_or_default();
    let behind = behind.split(". ").next().unwrap_or_default();
    let refuses = [
        "not",
        "don't",
        "never",
        "until",
        "before",
        "without",
        "unless",
        "no longer",
        "avoid",
        "skip",
        "isn't",
        "wasn't",
    ];
    let few: Vec<&str> = behind.split_whitespace().take(4).collect();
    let few = few.join(" ");
    refuses.into_iter().any(|word| has_word(before, word))
        || ["not", "hasn't", "isn't", "wasn't", "later"]
            .into_iter()
            .any(|word| has_word(&few, word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
    fn what_is_denied_is_not_so() {
        let denied = |text: &str| is_denied(text, &find_word(text, "bug-fix").unwrap());
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
        fn searching_never_fails(text in any::<String>(), word in "\\PC{0,5}") {
            let found: Vec<_> = find_words(&text, &word).collect();
            prop_assert!(found.len() <= text.len());
        }
    }
}
