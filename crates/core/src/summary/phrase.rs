//! Phrases: four words in a row. What a model writes next is to a large part what it or its tools
//! wrote before, phrase by phrase; a summary is good as far as it holds those that come again.

use crate::anchor::moment::{Moment, Source};
use crate::anchor::table::{Table, hash};
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
            // First all numbers, then all phrases: each pass waits for memory, and neither for the
            // other's.
            for (place, four) in places.iter_mut().zip(hashes.windows(WORDS)) {
                place.phrase = Some(table.number(joined(four)).0);
            }
            all.resize(table.members(), Phrase::new(moment.source));
            for phrase in places.iter().filter_map(|place| place.phrase) {
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
    /// Not met yet.
    fn new(source: Source) -> Self {
        Self {
            last: 0,
            last_by_model: None,
            by_model: 0,
            outside: 0,
            source,
            prompted: false,
            this_turn: false,
            already: false,
            stamp: 0,
        }
    }

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
    let mut push = |from: usize, to: usize, hashes: &mut Vec<u64>| {
        hashes.push(hash(bytes.get(from..to).unwrap_or_default()));
        words.push(Word {
            start: u32::try_from(from).unwrap_or(u32::MAX),
            end: u32::try_from(to).unwrap_or(u32::MAX),
            phrase: None,
        });
    };
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let from = at;
        if is_word(byte) {
            at += 1;
            while bytes.get(at).is_some_and(|byte| is_word(*byte)) {
                at += 1;
            }
            push(from, at, hashes);
        } else if byte.is_ascii() {
            at += 1;
        } else {
            let wide = text.get(at..).and_then(|rest| rest.chars().next());
            at += wide.map_or(1, char::len_utf8);
            if wide.is_some_and(char::is_alphanumeric) {
                push(from, at, hashes);
            }
        }
    }
    words
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The hash of a phrase. The words are hashes already: what is left is to tell their order.
fn joined(words: &[u64]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let sum = words.iter().fold(0u64, |sum, word| {
        sum.rotate_left(17).wrapping_add(*word).wrapping_mul(ODD)
    });
    sum ^ sum >> 29
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

/// How likely each phrase is needed again: [`features`] weighted and summed, through the logistic
/// function. There are as many phrases as words, so what many of them share is summed once.
pub(crate) fn worths(phrases: &Phrases, weights: &[f32; FEATURES]) -> Vec<f32> {
    let [
        always,
        age,
        age_by_model,
        by_model,
        outside,
        by_model_twice,
        sources @ ..,
        prompted,
        this_turn,
        age_1,
        age_3,
        age_8,
        age_20,
        age_50,
        model_age_3,
        model_age_10,
        model_age_30,
    ] = *weights;
    let within = |age: u32, steps: &[(u32, f32)]| -> f32 {
        let steps = steps.iter().filter(|(limit, _)| age <= *limit);
        steps.map(|(_, weight)| weight).sum()
    };
    let steps = [
        (1, age_1),
        (3, age_3),
        (8, age_8),
        (20, age_20),
        (50, age_50),
    ];
    let of_age: Vec<f32> = (0..=phrases.calls)
        .map(|calls| age * logarithm(calls) + within(calls, &steps))
        .collect();
    let steps = [(3, model_age_3), (10, model_age_10), (30, model_age_30)];
    let of_model_age: Vec<f32> = (0..=phrases.calls)
        .map(|calls| age_by_model * logarithm(calls) + within(calls, &steps))
        .collect();
    let logarithms: [f32; FEW] =
        std::array::from_fn(|count| logarithm(u32::try_from(count).unwrap_or_default()));
    let ln = |count: u16| {
        let known = logarithms.get(usize::from(count));
        known
            .copied()
            .unwrap_or_else(|| logarithm(u32::from(count)))
    };
    let at = |sums: &[f32], age: u32| sums.get(age as usize).copied().unwrap_or_default();
    let worth = |known: &Phrase| {
        let mut sum = always + at(&of_age, phrases.calls.saturating_sub(known.last));
        if let Some(last) = known.last_by_model {
            sum += at(&of_model_age, phrases.calls.saturating_sub(last));
        }
        sum += by_model * ln(known.by_model) + outside * ln(known.outside);
        sum += sources
            .get(known.source as usize)
            .copied()
            .unwrap_or_default();
        for (is, weight) in [
            (known.by_model >= 2, by_model_twice),
            (known.prompted, prompted),
            (known.this_turn, this_turn),
        ] {
            if is {
                sum += weight;
            }
        }
        1.0 / (1.0 + (-sum).exp())
    };
    phrases.all.iter().map(worth).collect()
}

/// Logarithms of counts below this are at hand.
const FEW: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anchor::weights;
    use crate::anchor::worth::probability;

    #[test]
    fn what_is_summed_at_once_is_the_weighted_sum_of_the_features() {
        let mut all = Vec::new();
        for (nth, source) in Source::ALL.into_iter().cycle().take(400).enumerate() {
            let nth = u16::try_from(nth).unwrap();
            all.push(Phrase {
                last: u32::from(nth),
                last_by_model: (nth % 3 > 0).then_some(u32::from(nth / 2)),
                by_model: nth % 5 * 40,
                outside: nth % 7,
                prompted: nth % 4 == 0,
                this_turn: nth % 11 == 0,
                ..Phrase::new(source)
            });
        }
        let phrases = Phrases {
            all,
            words: Vec::new(),
            calls: 400,
        };
        let sums = worths(&phrases, &weights::PHRASES);
        for (known, sum) in phrases.all.iter().zip(sums) {
            let expected = probability(&features(known, phrases.calls), &weights::PHRASES);
            assert!((sum - expected).abs() < 1e-5, "{known:?}: {sum} {expected}");
        }
    }

    #[test]
    fn the_order_of_words_makes_a_phrase() {
        let mut words = Vec::new();
        split("a b c d c b a d", &mut words);
        let mut hashes: Vec<u64> = words.windows(WORDS).map(joined).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 5);
    }
}
