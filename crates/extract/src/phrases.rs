//! Phrases: four words in a row.
//!
//! Most of what a model writes next is what it or its tools wrote before, phrase by phrase; a
//! summary is good if it contains those that come again.

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use crate::lex::words;
use crate::utterance::{Source, Utterance};

/// Number of words in a phrase.
pub const PHRASE_WORDS: usize = 4;
/// Length of a tool's answer that is searched for phrases, in bytes.
const MAX_OUTPUT: usize = 12_000;
/// Length of any other text that is searched for phrases, in bytes.
const MAX_TEXT: usize = 40_000;

/// The occurrences of a phrase. Positions are numbers of calls.
#[derive(Clone, Copy, Debug)]
pub struct Phrase {
    /// Last occurrence.
    pub last: u32,
    /// Last occurrence in the model's own words.
    pub last_by_model: Option<u32>,
    /// Number of the model's utterances that have it.
    pub by_model: u16,
    /// Number of other utterances that have it.
    pub outside: u16,
    /// Source of the last occurrence, preferably of one in the model's own words.
    pub source: Source,
    /// True if the user wrote it.
    pub prompted: bool,
    /// True if it occurs in the newest prompt or after it.
    pub this_turn: bool,
    /// True if the reader has it already.
    pub already: bool,
    /// The last utterance that has it, counted from 1.
    last_utterance: u32,
}

/// The place of a word in an utterance's text.
#[derive(Clone, Copy, Debug)]
pub struct PhraseWord {
    /// Offset of its first byte.
    pub start: u32,
    /// Offset after its last byte.
    pub end: u32,
    /// Index of the phrase that begins with it.
    pub phrase: Option<u32>,
}

/// The phrases of a session.
#[derive(Debug)]
pub struct PhraseTable {
    /// The phrases, in the order of their first occurrence.
    pub all: Vec<Phrase>,
    /// The words of every utterance.
    pub words: Vec<Vec<PhraseWord>>,
    /// Number of calls.
    pub calls: u32,
}

/// The words of a session, and its phrases as sequences of words.
#[derive(Default)]
struct Ids<'a> {
    words: IndexSet<&'a str, FxBuildHasher>,
    phrases: IndexSet<[u32; PHRASE_WORDS], FxBuildHasher>,
}

/// Returns the part of an utterance's text that is searched for phrases.
pub fn searched_text<'a>(utterance: &'a Utterance<'_>) -> &'a str {
    let limit = match utterance.source {
        Source::Output | Source::FailedOutput | Source::HostWords => MAX_OUTPUT,
        _ => MAX_TEXT,
    };
    let end = utterance.text.floor_char_boundary(limit);
    utterance.text.get(..end).unwrap_or_default()
}

impl PhraseTable {
    /// Collects the phrases of a session. `already` is text that the reader has.
    pub fn collect(utterances: &[Utterance<'_>], already: &str) -> Self {
        let mut table = Self {
            all: Vec::new(),
            words: Vec::with_capacity(utterances.len()),
            calls: utterances.last().map_or(0, |utterance| utterance.calls),
        };
        let is_prompt = |utterance: &Utterance<'_>| utterance.source == Source::Prompt;
        let last_prompt = utterances.iter().rposition(is_prompt);
        let mut ids = Ids::default();
        // About one phrase in ten bytes is new; growing the table would copy it again and again.
        let bytes = utterances
            .iter()
            .map(|utterance| searched_text(utterance).len());
        ids.phrases.reserve(bytes.sum::<usize>() / 10);
        let mut sequence = Vec::new();
        for (number, utterance) in (1u32..).zip(utterances) {
            let this_turn = last_prompt.is_none_or(|prompt| number as usize > prompt);
            let mut places = ids.read(searched_text(utterance), &mut sequence);
            for (place, phrase) in places.iter_mut().zip(sequence.array_windows()) {
                place.phrase = u32::try_from(ids.phrases.insert_full(*phrase).0).ok();
            }
            // Numbers first, then counts: the two passes wait for different memory.
            table
                .all
                .resize(ids.phrases.len(), Phrase::new(utterance.source));
            for phrase in places.iter().filter_map(|place| place.phrase) {
                if let Some(phrase) = table.all.get_mut(phrase as usize) {
                    phrase.mention(number, utterance, this_turn);
                }
            }
            table.words.push(places);
        }
        ids.read(already, &mut sequence);
        for phrase in sequence.array_windows() {
            let known = ids.phrases.get_index_of(phrase);
            if let Some(phrase) = known.and_then(|known| table.all.get_mut(known)) {
                phrase.already = true;
            }
        }
        table
    }
}

impl<'a> Ids<'a> {
    /// Returns the places of a text's words, and their numbers in `sequence`.
    fn read(&mut self, text: &'a str, sequence: &mut Vec<u32>) -> Vec<PhraseWord> {
        sequence.clear();
        let mut places = Vec::with_capacity(text.len() / 8);
        let number = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        words(text, &mut |start, word| {
            sequence.push(number(self.words.insert_full(word).0));
            places.push(PhraseWord {
                start: number(start),
                end: number(start + word.len()),
                phrase: None,
            });
        });
        places
    }
}

impl Phrase {
    /// Returns a phrase without occurrences.
    pub(crate) fn new(source: Source) -> Self {
        Self {
            last: 0,
            last_by_model: None,
            by_model: 0,
            outside: 0,
            source,
            prompted: false,
            this_turn: false,
            already: false,
            last_utterance: 0,
        }
    }

    /// Counts an utterance that has the phrase, unless it is counted already.
    fn mention(&mut self, number: u32, utterance: &Utterance<'_>, this_turn: bool) {
        if self.last_utterance == number {
            return;
        }
        self.last_utterance = number;
        self.last = utterance.calls;
        self.this_turn |= this_turn;
        self.prompted |= utterance.source == Source::Prompt;
        if utterance.source.by_model() {
            self.by_model = self.by_model.saturating_add(1);
            self.last_by_model = Some(utterance.calls);
            self.source = utterance.source;
        } else {
            self.outside = self.outside.saturating_add(1);
            if self.by_model == 0 {
                self.source = utterance.source;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_words_makes_a_phrase() {
        let text = "a b c d c b a d; a b c d";
        let table = PhraseTable::collect(&[Utterance::of_text(Source::Text, text)], "a b, c d");
        // abcd, bcdc, cdcb, dcba, cbad, badа, adab, dabc, and abcd again.
        assert_eq!(table.all.len(), 8);
        let [words] = &table.words[..] else { panic!() };
        assert_eq!(words[0].phrase, words[8].phrase);
        assert_eq!((words[8].start, words[8].end), (17, 18));
        assert!(words[9..].iter().all(|word| word.phrase.is_none()));
        let already: Vec<bool> = table.all.iter().map(|phrase| phrase.already).collect();
        assert_eq!(already.iter().filter(|already| **already).count(), 1);
        assert!(already[0]);
    }
}
