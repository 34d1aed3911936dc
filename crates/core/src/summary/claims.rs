//! Decisions and failed approaches in prose: sentences in which the model says what it settled on, or
//! what did not work. They are known by words that such sentences have, in the languages that people
//! work in most; recorded notes go before them, since somebody meant those.

use super::story::clean;
use crate::anchor::moment::{Moment, Source};
use crate::text::condense;
use crate::tokens::Tokenizer;

/// What a sentence with a decision has, in small letters.
const DECIDED: [&str; 33] = [
    "decided to",
    "decision is",
    "decision was",
    "let's go with",
    "i'll go with",
    "we'll go with",
    "going with",
    "settled on",
    "opted for",
    "chose to",
    "instead of",
    "rather than",
    "the right approach",
    "wir nehmen",
    "entschieden",
    "stattdessen",
    "anstatt",
    "j'ai décidé",
    "on va utiliser",
    "plutôt que",
    "au lieu de",
    "decidí",
    "decidido",
    "en lugar de",
    "решил",
    "вместо",
    "决定",
    "改用",
    "而不是",
    "ことにし",
    "代わりに",
    "하기로",
    "대신",
];
/// What a sentence with a failed approach has, in small letters.
const FAILED: [&str; 32] = [
    "didn't work",
    "did not work",
    "doesn't work",
    "does not work",
    "won't work",
    "not working",
    "that failed",
    "failed because",
    "fails because",
    "turned out to be",
    "dead end",
    "reverted",
    "reverting",
    "gave up",
    "no luck",
    "funktioniert nicht",
    "hat nicht geklappt",
    "gescheitert",
    "ne fonctionne pas",
    "n'a pas marché",
    "no funciona",
    "no funcionó",
    "не работает",
    "не сработал",
    "不起作用",
    "行不通",
    "没有用",
    "うまくいか",
    "動かな",
    "失敗し",
    "실패",
    "작동하지",
];
/// Shorter sentences say too little (in characters).
const SHORTEST: usize = 15;
/// Longer ones are cut (in characters).
const LONGEST: usize = 220;
/// Only so many of the newest passages of prose are looked at.
const NEWEST: usize = 150;

/// The newest sentences that fit, in the order in which they were said, each with the number of its
/// entry.
pub(super) fn claims(
    moments: &[Moment<'_>],
    already: &str,
    limit: usize,
    tokenizer: &dyn Tokenizer,
) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut left = limit;
    let prose = |moment: &&Moment<'_>| matches!(moment.source, Source::Prose | Source::Plan);
    for moment in moments.iter().rev().filter(prose).take(NEWEST) {
        for sentence in sentences(&moment.text).into_iter().rev() {
            let Some(label) = label(sentence) else {
                continue;
            };
            let text = condense(&clean(sentence), LONGEST);
            let line = format!("#{} {label}: {text}\n", moment.entry + 1);
            let known = already.contains(&text) || lines.iter().any(|line| line.contains(&text));
            let cost = tokenizer.count(&line);
            if known || cost > left {
                continue;
            }
            left -= cost;
            lines.push(line);
        }
        if left < SHORTEST / 2 {
            break;
        }
    }
    lines.reverse();
    lines.concat()
}

/// The sentences of a text, roughly.
fn sentences(text: &str) -> Vec<&str> {
    text.lines()
        .flat_map(|line| line.split_inclusive(['。', '！', '？']))
        .flat_map(|part| part.split_inclusive(". "))
        .map(|part| part.trim().trim_start_matches(['-', '*', '#', '>', ' ']))
        .collect()
}

/// What a sentence says, if it says either.
fn label(sentence: &str) -> Option<&'static str> {
    // A wide character says as much as three narrow ones.
    if sentence.len() < SHORTEST {
        return None;
    }
    let low = sentence.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| low.contains(word));
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
    use crate::anchor::moment::moments;
    use crate::tokens::Estimate;
    use crate::transcript::{Entry, What};

    fn said(texts: &[&str]) -> Vec<Entry> {
        let entry = |text: &&str| Entry {
            id: None,
            message: None,
            at: None,
            agent: None,
            what: What::Assistant {
                text: (*text).to_owned(),
            },
        };
        texts.iter().map(entry).collect()
    }

    #[test]
    fn what_was_decided_and_what_failed_is_found_in_prose_of_any_language() {
        let entries = said(&[
            "I looked at the parser. Caching tokens didn't work because they expire.",
            "Now let me read the file.",
            "- We keep one table instead of two, since joins are slow. Next, the tests.",
            "缓存行不通，所以改用数据库。然后继续。",
            "So etwas funktioniert nicht mit alten Browsern.",
        ]);
        insta::assert_snapshot!(claims(&moments(&entries), "", 200, &Estimate), @r"
        #1 did not work: Caching tokens didn't work because they expire.
        #3 decided: We keep one table instead of two, since joins are slow.
        #4 did not work: 缓存行不通，所以改用数据库。
        #5 did not work: So etwas funktioniert nicht mit alten Browsern.
        ");
    }

    #[test]
    fn the_newest_go_first_where_room_is_short() {
        let entries = said(&[
            "The old cache didn't work.",
            "The new cache didn't work either.",
        ]);
        let told = claims(&moments(&entries), "", 14, &Estimate);
        assert_eq!(told, "#2 did not work: The new cache didn't work either.\n");
        assert_eq!(claims(&moments(&entries), "", 3, &Estimate), "");
    }
}
