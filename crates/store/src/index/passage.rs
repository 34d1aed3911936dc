//! Finding words in a piece of text and cutting out the passage around them.
//!
//! FTS5's own `snippet()` is worse than quadratic in the number of matches: a log of 65 kB took it a
//! minute. Everything here is linear in the text and looks at a bounded number of matches.

use std::ops::Range;

/// Maximum number of matches of one word that are counted.
const MATCHES_LIMIT: usize = 50;
/// Maximum number of matches at which a passage is tried, of one word and of all.
const ANCHORS_EACH: usize = 8;
const ANCHORS_LIMIT: usize = 24;
/// Length of a passage, in bytes.
const PASSAGE: usize = 480;
/// Length of an excerpt, in bytes.
const EXCERPT: usize = 140;
/// Length of the text before the first match, in bytes, unless its line begins there.
const BEFORE: usize = 40;

/// Converts text to lower case without changing the length of any character, so that places in the
/// result are places in the original.
pub(super) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().map(fold_char).collect()
}

fn fold_char(c: char) -> char {
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(folded), None) if folded.len_utf8() == c.len_utf8() => folded,
        _ => c,
    }
}

/// The part of a text that matches best.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Passage {
    /// Number of different words in it.
    pub(super) words: usize,
    /// Number of words in it that are not part of longer words.
    pub(super) whole_words: usize,
    /// Place in the text, in bytes.
    pub(super) start: usize,
    /// The passage.
    pub(super) text: String,
    /// The beginning of the passage with `[` and `]` around the matches.
    pub(super) excerpt: String,
}

/// Returns true if a folded text contains all words.
pub(super) fn contains_all(folded: &str, words: &[String]) -> bool {
    words.iter().all(|word| folded.contains(word.as_str()))
}

/// Cuts the passage with most of the words out of a text; `None` if it has none of them.
pub(super) fn best_passage(text: &str, folded: &str, words: &[String]) -> Option<Passage> {
    let mut best: Option<(usize, Range<usize>)> = None;
    for anchor in anchors(folded, words) {
        let start = beginning(text, anchor.start);
        let end = text.floor_char_boundary((start + PASSAGE).max(anchor.end).min(text.len()));
        let part = folded.get(start..end).unwrap_or_default();
        let found = words.iter().filter(|word| part.contains(word.as_str()));
        let found = found.count();
        if best.as_ref().is_none_or(|(most, _)| found > *most) {
            best = Some((found, start..end));
        }
        if found == words.len() {
            break;
        }
    }
    let (found, Range { start, end }) = best?;
    let part = folded.get(start..end)?;
    let mut matches: Vec<Range<usize>> = Vec::new();
    let mut whole_words = 0;
    for word in words {
        let places = part.match_indices(word.as_str());
        let places = places.map(|(at, found)| start + at..start + at + found.len());
        let before = matches.len();
        matches.extend(places);
        let is_whole = |range: &Range<usize>| is_whole_word(text, range);
        whole_words += usize::from(matches.iter().skip(before).any(is_whole));
    }
    matches.sort_by_key(|range| (range.start, range.end));
    // Long enough for the first match, however long that is.
    let shortest = matches.first().map_or(start, |range| range.end);
    let excerpt_end = text.floor_char_boundary((start + EXCERPT).max(shortest).min(end));
    let excerpt = marked(text, start, excerpt_end, matches.into_iter());
    Some(Passage {
        words: found,
        whole_words,
        start,
        text: framed(text, start, end, text.get(start..end)?),
        excerpt: framed(text, start, excerpt_end, &excerpt),
    })
}

/// Returns matches at which a passage may begin: those of the rarest word first.
fn anchors(folded: &str, words: &[String]) -> Vec<Range<usize>> {
    let mut by_word: Vec<Vec<Range<usize>>> = Vec::new();
    for word in words {
        let found = folded.match_indices(word.as_str()).take(MATCHES_LIMIT);
        let found = found.map(|(at, found)| at..at + found.len());
        by_word.push(found.collect());
    }
    by_word.retain(|found| !found.is_empty());
    // Of words that are equally rare, the longer one says more.
    let length = |found: &Vec<Range<usize>>| found.first().map_or(0, Range::len);
    by_word.sort_by_key(|found| (found.len(), std::cmp::Reverse(length(found))));
    let few = by_word
        .into_iter()
        .flat_map(|found| found.into_iter().take(ANCHORS_EACH));
    few.take(ANCHORS_LIMIT).collect()
}

/// Returns the place where a passage with a match at `at` begins: its line, or a little before it.
fn beginning(text: &str, at: usize) -> usize {
    let earliest = text.ceil_char_boundary(at.saturating_sub(BEFORE));
    let before = text.get(earliest..at).unwrap_or_default();
    before
        .rfind('\n')
        .map_or(earliest, |line| earliest + line + 1)
}

fn is_whole_word(text: &str, range: &Range<usize>) -> bool {
    let before = text
        .get(..range.start)
        .and_then(|text| text.chars().next_back());
    let after = text.get(range.end..).and_then(|text| text.chars().next());
    !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
}

/// Puts marks around the matches in a part of a text.
fn marked(
    text: &str,
    start: usize,
    end: usize,
    matches: impl Iterator<Item = Range<usize>>,
) -> String {
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in matches.filter(|range| range.end <= end) {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    let mut marked = String::new();
    let mut at = start;
    for range in merged {
        marked.push_str(part(at, range.start));
        marked.push('[');
        marked.push_str(part(range.start, range.end));
        marked.push(']');
        at = range.end;
    }
    marked.push_str(part(at, end));
    marked
}

/// Marks the ends at which a passage was cut out of its text.
fn framed(text: &str, start: usize, end: usize, passage: &str) -> String {
    let is_line_start = start == 0 || text.as_bytes().get(start - 1) == Some(&b'\n');
    let before = if is_line_start { "" } else { "…" };
    let after = if end == text.len() { "" } else { "…" };
    format!("{before}{passage}{after}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(text: &str, words: &[&str]) -> Passage {
        let words: Vec<String> = words.iter().map(|word| fold(word)).collect();
        best_passage(text, &fold(text), &words).unwrap()
    }

    #[test]
    fn the_passage_with_most_words_is_found() {
        let text = format!("one\n{}two\nOne and TWO\n", "filler\n".repeat(200));
        let passage = found(&text, &["one", "two"]);
        assert_eq!((passage.words, passage.whole_words), (2, 2));
        assert_eq!(passage.text, "One and TWO\n");
        assert_eq!(passage.excerpt, "[One] and [TWO]\n");
        assert_eq!(&text[passage.start..], "One and TWO\n");
    }

    #[test]
    fn matches_that_touch_are_marked_once() {
        assert_eq!(found("x aaaa y", &["aa", "aaa"]).excerpt, "x [aaaa] y");
        assert_eq!(found("Straße ÜBER", &["über"]).excerpt, "Straße [ÜBER]");
    }

    #[test]
    fn a_text_of_one_letter_is_no_trouble() {
        let text = "a".repeat(1 << 20);
        let passage = found(&text, &["a", "aa", &"a".repeat(200)]);
        assert!(passage.text.len() < 500 && passage.excerpt.len() < 500);
    }

    proptest! {
        #[test]
        fn a_passage_is_part_of_the_text(
            text in "[aAé日\u{130}\n -]{0,900}",
            words in proptest::collection::vec("[aé日\u{130}-]{1,4}", 1..4),
        ) {
            let words: Vec<String> = words.iter().map(|word| fold(word)).collect();
            let folded = fold(&text);
            prop_assert_eq!(folded.len(), text.len());
            let passage = best_passage(&text, &folded, &words);
            prop_assert_eq!(passage.is_some(), words.iter().any(|word| folded.contains(word)));
            if let Some(passage) = passage {
                let inner = passage.text.trim_matches('…');
                prop_assert!(text[passage.start..].starts_with(inner));
                prop_assert!(passage.excerpt.contains('['));
                prop_assert_eq!(passage.excerpt.matches('[').count(), passage.excerpt.matches(']').count());
            }
        }
    }
}
