//! Decisions and failed approaches in prose: sentences in which the model states them.
//!
//! They are recognised by phrases of the languages that people work in most (`data/decisions.txt`).
//! Recorded notes come before them: those were made on purpose.

use std::sync::LazyLock;

use super::story::printable;
use crate::data::{DECISIONS, section};
use crate::tokens::Tokenizer;
use crate::utterance::{Source, Utterance};
use flamestack_core::text::condense;

/// Shorter sentences say too little, in bytes. A wide character says as much as three narrow ones.
const MIN_SENTENCE: usize = 15;
/// Maximum length of a sentence that is shown, in characters.
const MAX_SENTENCE: usize = 220;
/// Number of the newest texts and plans that are searched.
const MAX_TEXTS: usize = 150;

static DECIDED: LazyLock<Vec<&str>> = LazyLock::new(|| section(DECISIONS, "decided").collect());
static FAILED: LazyLock<Vec<&str>> = LazyLock::new(|| section(DECISIONS, "failed").collect());

/// Returns the newest such sentences that fit, oldest first, each with the number of its entry.
pub(super) fn decisions(
    utterances: &[Utterance<'_>],
    already: &str,
    limit: usize,
    tokenizer: &dyn Tokenizer,
) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut left = limit;
    let by_model = |u: &&Utterance<'_>| matches!(u.source, Source::Text | Source::Plan);
    for utterance in utterances.iter().rev().filter(by_model).take(MAX_TEXTS) {
        for sentence in sentences(&utterance.text).into_iter().rev() {
            let Some(label) = label(sentence) else {
                continue;
            };
            let text = condense(&printable(sentence), MAX_SENTENCE);
            let line = format!("#{} {label}: {text}\n", utterance.entry + 1);
            let known = already.contains(&text) || lines.iter().any(|line| line.contains(&text));
            let cost = tokenizer.count(&line);
            if known || cost > left {
                continue;
            }
            left -= cost;
            lines.push(line);
        }
        if left < MIN_SENTENCE / 2 {
            break;
        }
    }
    lines.reverse();
    lines.concat()
}

/// Splits a text into sentences, roughly.
fn sentences(text: &str) -> Vec<&str> {
    text.lines()
        .flat_map(|line| line.split_inclusive(['。', '！', '？']))
        .flat_map(|part| part.split_inclusive(". "))
        .map(|part| part.trim().trim_start_matches(['-', '*', '#', '>', ' ']))
        .collect()
}

/// Returns the label of a sentence that states a failure or a decision.
fn label(sentence: &str) -> Option<&'static str> {
    if sentence.len() < MIN_SENTENCE {
        return None;
    }
    let sentence = sentence.to_lowercase();
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| sentence.contains(phrase));
    if has(&FAILED) {
        Some("did not work")
    } else if has(&DECIDED) {
        Some("decided")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::Estimate;
    use crate::utterance::utterances;
    use flamestack_core::transcript::{Entry, EntryKind};

    fn said(texts: &[&str]) -> Vec<Entry> {
        let entry = |text: &&str| Entry {
            id: None,
            message: None,
            at: None,
            agent: None,
            kind: EntryKind::Assistant {
                text: (*text).to_owned(),
            },
        };
        texts.iter().map(entry).collect()
    }

    #[test]
    fn decisions_and_failures_are_found_in_any_language() {
        let entries = said(&[
            "I looked at the parser. Caching tokens didn't work because they expire.",
            "Now let me read the file.",
            "- We keep one table instead of two, since joins are slow. Next, the tests.",
            "缓存行不通，所以改用数据库。然后继续。",
            "So etwas funktioniert nicht mit alten Browsern.",
        ]);
        insta::assert_snapshot!(decisions(&utterances(&entries), "", 200, &Estimate), @r"
        #1 did not work: Caching tokens didn't work because they expire.
        #3 decided: We keep one table instead of two, since joins are slow.
        #4 did not work: 缓存行不通，所以改用数据库。
        #5 did not work: So etwas funktioniert nicht mit alten Browsern.
        ");
    }

    #[test]
    fn the_newest_are_kept_if_space_is_short() {
        let entries = said(&[
            "The old cache didn't work.",
            "The new cache didn't work either.",
        ]);
        let text = decisions(&utterances(&entries), "", 14, &Estimate);
        assert_eq!(text, "#2 did not work: The new cache didn't work either.\n");
        assert_eq!(decisions(&utterances(&entries), "", 3, &Estimate), "");
    }
}
