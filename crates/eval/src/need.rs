//! Measures the share of the facts needed after a cut that a text supplies. A cut is a place in a
//! recording at which its history is replaced by that text.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use flamestack_core::transcript::{EntryKind, Speaker};
use flamestack_extract::lex::NameKind;

use crate::interned::Interned;
use crate::recording::{Cut, Recording};
use crate::words::{keywords, phrases};

/// Number of calls before a cut after which a name counts as old.
const OLD: usize = 25;
/// Number of newest prompts that count.
const PROMPTS: usize = 12;
/// Minimum number of names for a meaningful figure.
const FEWEST_NAMES: usize = 5;
/// Minimum number of phrases for a meaningful figure.
const FEWEST_PHRASES: usize = 20;
/// Minimum number of words of a prompt that counts.
const FEWEST_WORDS: usize = 4;

/// Facts that the agent used after a cut before anything repeated them.
#[derive(Debug, Default)]
pub struct Need {
    pub(crate) names: BTreeSet<u32>,
    /// Numbers with units: weights are fitted to them as well, and no figure is about them.
    pub(crate) quantities: BTreeSet<u32>,
    pub(crate) old: BTreeSet<u32>,
    pub(crate) phrases: HashSet<u64>,
    pub(crate) prompts: Vec<BTreeSet<String>>,
}

/// Shares of the needed facts that a text supplies, each between 0 and 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// Names.
    pub names: Option<f64>,
    /// Names that had not occurred for a while.
    pub old_names: Option<f64>,
    /// Sequences of four words.
    pub phrases: Option<f64>,
    /// Words of the user's prompts.
    pub prompts: Option<f64>,
    /// The share of the supplied names that were needed.
    pub precision: Option<f64>,
}

impl Need {
    /// Collects the facts that were needed after a cut.
    pub fn after(recording: &Recording<'_>, cut: &Cut<'_>) -> Self {
        let mut last: BTreeMap<u32, usize> = BTreeMap::new();
        let mut known_phrases: HashSet<u64> = HashSet::new();
        let mut prompts = Vec::new();
        let mut calls = 0;
        for at in 0..cut.at {
            match recording.entry(at).map(|entry| &entry.kind) {
                Some(EntryKind::Call(_)) => calls += 1,
                Some(EntryKind::User {
                    speaker: Speaker::Person,
                    text,
                }) => prompts.push(text.as_str()),
                _ => {}
            }
            if let Some(utterance) = recording.utterance(at) {
                let names = recording.names.get(utterance).into_iter().flatten();
                last.extend(names.map(|name| (*name, calls)));
                known_phrases.extend(recording.phrases.get(utterance).into_iter().flatten());
            }
        }
        let mut need = Self::default();
        let mut repeated: BTreeSet<u32> = BTreeSet::new();
        let (mut ours, mut theirs) = (String::new(), String::new());
        for number in (cut.resume..cut.end).filter_map(|at| recording.utterance(at)) {
            let Some(utterance) = recording.utterances.get(number) else {
                continue;
            };
            let names = recording.names.get(number).into_iter().flatten().copied();
            let into = if utterance.source.by_model() {
                need.names.extend(
                    names.filter(|name| last.contains_key(name) && !repeated.contains(name)),
                );
                &mut ours
            } else {
                repeated.extend(names);
                &mut theirs
            };
            into.push_str(&utterance.text);
            into.push('\n');
        }
        let theirs: HashSet<u64> = phrases(&theirs).into_iter().collect();
        need.phrases = phrases(&ours)
            .into_iter()
            .filter(|phrase| known_phrases.contains(phrase) && !theirs.contains(phrase))
            .collect();
        need.part(&recording.interned);
        let is_old = |name: &&u32| last.get(name).is_some_and(|at| calls - at > OLD);
        need.old = need.names.iter().filter(is_old).copied().collect();
        need.prompts = prompts
            .iter()
            .rev()
            .take(PROMPTS)
            .map(|prompt| keywords(prompt))
            .filter(|words| words.len() >= FEWEST_WORDS)
            .collect();
        need
    }

    /// Returns true if a name was needed.
    pub(crate) fn has(&self, name: u32) -> bool {
        self.names.contains(&name) || self.quantities.contains(&name)
    }

    /// Returns true if a name of the recording was needed.
    pub fn has_name(&self, recording: &Recording<'_>, kind: NameKind, key: &str) -> bool {
        let number = recording.interned.find(kind, key);
        number.is_some_and(|number| self.has(number))
    }

    /// Returns for each phrase of a text, in order, true if it was needed.
    pub fn has_phrases(&self, text: &str) -> impl Iterator<Item = bool> {
        let phrases = phrases(text).into_iter();
        phrases.map(|phrase| self.phrases.contains(&phrase))
    }

    /// Separates the names that the measure ignores.
    pub(crate) fn part(&mut self, interned: &Interned) {
        let (names, quantities) = std::mem::take(&mut self.names)
            .into_iter()
            .partition(|name| interned.is_measured(*name));
        self.names = names;
        self.quantities = quantities;
    }

    /// Scores a text by the share that it supplies.
    pub fn score(&self, text: &str, recording: &Recording<'_>) -> Score {
        let mut score = Score::default();
        if self.names.len() >= FEWEST_NAMES {
            self.score_names(text, &recording.interned, &mut score);
            let have = keywords(text);
            let kept = self
                .prompts
                .iter()
                .map(|words| share(words.intersection(&have).count(), words.len()));
            score.prompts = mean(kept);
        }
        if self.phrases.len() >= FEWEST_PHRASES {
            let have: HashSet<u64> = phrases(text).into_iter().collect();
            let found = self.phrases.intersection(&have).count();
            score.phrases = Some(share(found, self.phrases.len()));
        }
        score
    }

    pub(crate) fn score_names(&self, text: &str, interned: &Interned, score: &mut Score) {
        let present = interned.present(text);
        let has = |name: &&u32| present.known.contains(name) || interned.is_written(**name, text);
        let found = self.names.iter().filter(has).count();
        score.names = Some(share(found, self.names.len()));
        score.precision = Some(share(found, present.known.len() + present.unknown));
        if !self.old.is_empty() {
            let found = self.old.iter().filter(has).count();
            score.old_names = Some(share(found, self.old.len()));
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
pub(crate) fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// Returns the mean, if there are values.
pub(crate) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0usize), |(sum, count), value| {
        (sum + value, count + 1)
    });
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let count_as_number = count as f64;
    (count > 0).then(|| sum / count_as_number)
}

/// Cuts a text to a number of tokens of four characters.
pub fn clip(text: &str, tokens: usize) -> &str {
    let end = text.char_indices().nth(tokens.saturating_mul(4));
    end.and_then(|(at, _)| text.get(..at)).unwrap_or(text)
}
