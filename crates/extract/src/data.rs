//! The word lists and weights below `data/`, which say where they come from.
//!
//! All files have one format: `#` begins a comment, `[name]` a section, and every other line is an
//! entry. They are compiled in and parsed on first use, which takes microseconds.

use std::sync::LazyLock;

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

/// A set of words with fast lookups.
pub(crate) type WordSet = IndexSet<&'static str, FxBuildHasher>;

/// Weights of the models that `cargo xtask train` fits.
pub(crate) const WEIGHTS: &str = include_str!("../data/weights.toml");
/// Weights of the relevance of a frame.
pub(crate) const RELEVANCE: &str = include_str!("../data/relevance.toml");
/// Commands that check the work.
pub(crate) const CHECKS: &str = include_str!("../data/checks.txt");
/// Lines of output that decide an outcome.
pub(crate) const OUTCOMES: &str = include_str!("../data/outcomes.txt");
/// Words of prompts: noise of hosts, orders.
pub(crate) const PROMPTS: &str = include_str!("../data/prompts.txt");
/// Units of quantities.
pub(crate) const UNITS: &str = include_str!("../data/units.txt");

/// Identifiers that say nothing about a project.
pub(crate) static COMMON_IDENTIFIERS: LazyLock<WordSet> =
    LazyLock::new(|| section(include_str!("../data/common_identifiers.txt"), "").collect());
/// File extensions that make a word with a dot a path.
pub(crate) static FILE_EXTENSIONS: LazyLock<WordSet> =
    LazyLock::new(|| section(include_str!("../data/file_extensions.txt"), "").collect());
/// Words that say nothing about a subject.
pub(crate) static STOP_WORDS: LazyLock<WordSet> =
    LazyLock::new(|| section(include_str!("../data/stop_words.txt"), "").collect());

/// Returns the entries of a section; those before the first section have the name "".
pub(crate) fn section(file: &'static str, name: &str) -> impl Iterator<Item = &'static str> {
    let mut here = name.is_empty();
    file.lines().map(str::trim).filter(move |line| {
        if let Some(header) = line.strip_prefix('[') {
            here = header.strip_suffix(']') == Some(name);
            return false;
        }
        here && !line.is_empty() && !line.starts_with('#')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_belong_to_the_section_above_them() {
        let file = "# a comment\nfirst\n\n[one]\n  a b\n# c\n[two]\nd\n";
        assert_eq!(section(file, "").collect::<Vec<_>>(), ["first"]);
        assert_eq!(section(file, "one").collect::<Vec<_>>(), ["a b"]);
        assert_eq!(section(file, "two").collect::<Vec<_>>(), ["d"]);
        assert_eq!(section(file, "three").count(), 0);
    }

    #[test]
    fn no_list_is_empty_or_repeats_itself() {
        let lists: [Vec<&str>; 5] = [
            section(include_str!("../data/common_identifiers.txt"), "").collect(),
            section(include_str!("../data/file_extensions.txt"), "").collect(),
            section(include_str!("../data/stop_words.txt"), "").collect(),
            section(UNITS, "words").collect(),
            section(UNITS, "symbols").collect(),
        ];
        for list in lists {
            let distinct: WordSet = list.iter().copied().collect();
            assert!(!list.is_empty() && distinct.len() == list.len(), "{list:?}");
            // Units are compared with text in lower case.
            assert!(list.len() > 50 || list.iter().all(|entry| *entry == entry.to_lowercase()));
        }
    }
}
