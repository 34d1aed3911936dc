//! Phrases: four words in a row. What a model writes next is to a large part what it or its tools
//! wrote before, phrase by phrase; a summary is good as far as it holds those that come again.

use crate::anchor::moment::{Moment, Source};
use crate::anchor::table::{Table, hash, mix};
use crate::anchor::worth::logarithm;

/// How many words make a phrase.
pub const WORDS: usize = 4;
/// Of what a tool answered, so many bytes of the beginning are looked at.
const OUTPUT_LOOKED_AT: usize = 12_000;
/// Of anything else.
const TEXT_LOOKED_AT: usize = 40_000;

/// Where a phrase was met.
#[derive(Clone, Copy, Debug)]
pub struct Phrase {
    /// Calls until it was met last.
    pub last: u32,
    /// Calls until the model used it last.
    pub last_by_model: Option<u32>,
    /// In so many moments of the model.
    pub by_model: u16,
    /// In so many moments from outside.
    pub outside: u16,
    /// Where it was met last; the model's own words go before what came from outside.
    pub source: Source,
    /// In a person's words.
    pub prompted: bool,
    /// Since the newest prompt, or in it.
    pub this_turn: bool,
    /// The reader has it anyway.
    pub already: bool,
    stamp: u32,
}

/// A word's place in a moment's text.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    /// First byte.
    pub start: u32,
    /// Behind the last byte.
    pub end: u32,
    /// The phrase that begins with it.
    pub phrase: Option<u32>,
}

/// The phrases of a conversation.
#[derive(Debug)]
pub struct Phrases {
    /// In the order of their first appearance.
    pub all: Vec<Phrase>,
    /// The words of every moment.
    pub words: Vec<Vec<Word>>,
    /// How many calls there were.
    pub calls: u32,
}

/// How much of a moment is looked at.
pub fn looked_at<'a>(moment: &'a Moment<'_>) -> &'a str {
    let limit = match moment.source {
        Source::Output | Source::FailedOutput | Source::HostWords => OUTPUT_LOOKED_AT,
        _ => TEXT_LOOKED_AT,
    };
    let text: &str = &moment.text;
    text.get(..text.floor_char_boundary(limit)).unwrap_or(text)
}

impl Phrases {
    /// Gathers the phrases of a conversation. `already` is text that the reader has anyway.
    pub fn gather(moments: &[Moment<'_>], already: &str) -> Self {
        let bytes: usize = moments.iter().map(|moment| looked_at(moment).len()).sum();
        let mut table = Table::with_room(bytes / 10);
        let mut all: Vec<Phrase> = Vec::new();
        let mut words = Vec::with_capacity(moments.len());
        let last_prompt = moments
            .iter()
            .rposition(|moment| moment.source == Source::Prompt);
        let calls = moments.last().map_or(0, |moment| moment.calls);
        let mut hashes: Vec<u64> = Vec::new();
        for (number, moment) in moments.iter().enumerate() {
            let this_turn = last_prompt.is_none_or(|prompt| number >= prompt);
            let text = looked_at(moment);
            let mut places = split(text, &mut hashes);
            for at in 0..places.len().saturating_sub(WORDS - 1) {
                let Some(four) = hashes.get(at..at + WORDS) else {
                    break;
                };
                let (phrase, new) = table.number(joined(four));
                if let Some(place) = places.get_mut(at) {
                    place.phrase = Some(phrase);
                }
                if new {
                    all.push(Phrase {
                        last: 0,
                        last_by_model: None,
                        by_model: 0,
                        outside: 0,
                        source: moment.source,
                        prompted: false,
                        this_turn: false,
                        already: false,
                        stamp: 0,
                    });
                }
                if let Some(known) = all.get_mut(phrase as usize) {
                    known.meet(number, moment, this_turn);
                }
            }
            words.push(places);
        }
        split(already, &mut hashes);
        for four in hashes.windows(WORDS) {
            let known = table.find(joined(four));
            if let Some(phrase) = known.and_then(|known| all.get_mut(known as usize)) {
                phrase.already = true;
            }
        }
        Self { all, words, calls }
    }
}

impl Phrase {
    fn meet(&mut self, number: usize, moment: &Moment<'_>, this_turn: bool) {
        let stamp = u32::try_from(number).unwrap_or(u32::MAX - 1) + 1;
        if self.stamp == stamp {
            return;
        }
        self.stamp = stamp;
        self.last = moment.calls;
        self.this_turn |= this_turn;
        self.prompted |= moment.source == Source::Prompt;
        if moment.source.by_model() {
            self.by_model = self.by_model.saturating_add(1);
            self.last_by_model = Some(moment.calls);
            self.source = moment.source;
        } else {
            self.outside = self.outside.saturating_add(1);
            if self.by_model == 0 {
                self.source = moment.source;
            }
        }
    }
}

/// The words of a text and their hashes. Characters of scripts without blanks are words each.
fn split(text: &str, hashes: &mut Vec<u64>) -> Vec<Word> {
    hashes.clear();
    let bytes = text.as_bytes();
    let mut words = Vec::with_capacity(bytes.len() / 8);
    let mut start = None;
    let mut push = |from: usize, to: usize, hashes: &mut Vec<u64>| {
        hashes.push(hash(bytes.get(from..to).unwrap_or_default()));
        words.push(Word {
            start: u32::try_from(from).unwrap_or(u32::MAX),
            end: u32::try_from(to).unwrap_or(u32::MAX),
            phrase: None,
        });
    };
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if byte.is_ascii_alphanumeric() || *byte == b'_' {
            start.get_or_insert(at);
            at += 1;
            continue;
        }
        if let Some(from) = start.take() {
            push(from, at, hashes);
        }
        if byte.is_ascii() {
            at += 1;
            continue;
        }
        let wide = text.get(at..).and_then(|rest| rest.chars().next());
        let length = wide.map_or(1, char::len_utf8);
        if wide.is_some_and(char::is_alphanumeric) {
            push(at, at + length, hashes);
        }
        at += length;
    }
    if let Some(from) = start {
        push(from, bytes.len(), hashes);
    }
    words
}

fn joined(words: &[u64]) -> u64 {
    words.iter().fold(0, |sum, word| mix(sum, *word))
}

/// How many features a phrase has.
pub const FEATURES: usize = 26;

/// What they are called, in the order of [`features`].
pub const FEATURE_NAMES: [&str; FEATURES] = [
    "always",
    "age",
    "age_by_model",
    "by_model",
    "outside",
    "by_model_twice",
    "prompt",
    "host_words",
    "prose",
    "plan",
    "command",
    "edit",
    "call",
    "output",
    "failed_output",
    "summary",
    "prompted",
    "this_turn",
    "age_1",
    "age_3",
    "age_8",
    "age_20",
    "age_50",
    "model_age_3",
    "model_age_10",
    "model_age_30",
];

/// The features of a phrase after so many calls.
pub fn features(phrase: &Phrase, calls: u32) -> [f32; FEATURES] {
    let ln = logarithm;
    let flag = |is: bool| if is { 1.0 } else { 0.0 };
    let source = |source: Source| flag(phrase.source == source);
    let age = calls.saturating_sub(phrase.last);
    let model_age = phrase.last_by_model.map(|last| calls.saturating_sub(last));
    let model_within = |limit: u32| flag(model_age.is_some_and(|age| age <= limit));
    [
        1.0,
        ln(age),
        model_age.map_or(0.0, ln),
        ln(u32::from(phrase.by_model)),
        ln(u32::from(phrase.outside)),
        flag(phrase.by_model >= 2),
        source(Source::Prompt),
        source(Source::HostWords),
        source(Source::Prose),
        source(Source::Plan),
        source(Source::Command),
        source(Source::Edit),
        source(Source::Call),
        source(Source::Output),
        source(Source::FailedOutput),
        source(Source::Summary),
        flag(phrase.prompted),
        flag(phrase.this_turn),
        flag(age <= 1),
        flag(age <= 3),
        flag(age <= 8),
        flag(age <= 20),
        flag(age <= 50),
        model_within(3),
        model_within(10),
        model_within(30),
    ]
}
