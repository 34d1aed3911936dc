//! Selecting passages: those whose phrases are most likely needed again, each phrase counted once.

use std::collections::BinaryHeap;
use std::ops::Range;

use super::passages::Passage;
use crate::phrases::{PHRASE_WORDS, PhraseTable};
use crate::score::{PHRASES, phrase_features};

/// Cost of the heading that an utterance's first passage needs, in bytes.
const HEADING: f32 = 14.0;

/// A passage with its gain per byte when that was last calculated, as the bits of a positive `f32`,
/// which are ordered like the numbers. Of two with the same gain, the newer comes first.
type Candidate = (u32, usize);

/// The answer to the question whether a passage fits.
pub(super) enum Fit {
    /// It fits, and is selected.
    Yes,
    /// It is too long; a shorter one may fit.
    No,
    /// No passage fits.
    Full,
}

/// A selection of passages.
pub(super) struct Selection<'a> {
    passages: &'a [Passage],
    phrases: &'a PhraseTable,
    /// The value that each phrase would add; 0 once it is selected.
    values: Vec<f32>,
    /// For each passage, true if it is selected.
    pub(super) selected: Vec<bool>,
    /// For each utterance, true if one of its passages is selected.
    opened: Vec<bool>,
    heap: BinaryHeap<Candidate>,
}

impl<'a> Selection<'a> {
    /// Returns an empty selection.
    pub(super) fn new(passages: &'a [Passage], phrases: &'a PhraseTable) -> Self {
        let model = *PHRASES;
        let values = phrases.all.iter().map(|phrase| {
            if phrase.already {
                0.0
            } else {
                model.probability(&phrase_features(phrase, phrases.calls))
            }
        });
        let mut selection = Self {
            passages,
            phrases,
            values: values.collect(),
            selected: vec![false; passages.len()],
            opened: vec![false; phrases.words.len()],
            heap: BinaryHeap::new(),
        };
        let candidates = (0..passages.len()).filter_map(|passage| selection.candidate(passage));
        selection.heap = candidates.collect::<Vec<_>>().into();
        selection
    }

    /// Selects the best passages until `fits` says that no other fits. `fits` is called with the
    /// index of a passage, and true if the passage needs a heading.
    pub(super) fn fill(&mut self, mut fits: impl FnMut(usize, bool) -> Fit) {
        let mut later = Vec::new();
        while let Some((_, passage)) = self.heap.pop() {
            // Selecting others may have changed its density.
            let Some(candidate) = self.candidate(passage) else {
                continue;
            };
            if self.heap.peek().is_some_and(|next| candidate.0 < next.0) {
                self.heap.push(candidate);
                continue;
            }
            match fits(passage, !self.is_opened(passage)) {
                Fit::Yes => self.select(passage),
                Fit::No => later.push(candidate),
                Fit::Full => {
                    later.push(candidate);
                    break;
                }
            }
        }
        self.heap.extend(later);
    }

    fn select(&mut self, passage: usize) {
        for word in self.new_words(passage) {
            let phrase = self.phrase_at(passage, word);
            if let Some(value) = phrase.and_then(|phrase| self.values.get_mut(phrase)) {
                *value = 0.0;
            }
        }
        if let Some(selected) = self.selected.get_mut(passage) {
            *selected = true;
        }
        let utterance = self.passages.get(passage).map(|known| known.utterance);
        if let Some(opened) = utterance.and_then(|number| self.opened.get_mut(number)) {
            *opened = true;
        }
        // A neighbour now also adds the phrases that span both passages.
        for neighbour in [passage.checked_sub(1), Some(passage + 1)] {
            let candidate = neighbour.and_then(|neighbour| self.candidate(neighbour));
            self.heap.extend(candidate);
        }
    }

    fn is_opened(&self, passage: usize) -> bool {
        let utterance = self.passages.get(passage).map(|known| known.utterance);
        utterance.and_then(|number| self.opened.get(number)) == Some(&true)
    }

    /// Returns a passage with its gain per byte; nothing if it is selected or adds nothing.
    fn candidate(&self, passage: usize) -> Option<Candidate> {
        let known = self.passages.get(passage).filter(|it| !it.is_left_out)?;
        if self.selected.get(passage) != Some(&false) {
            return None;
        }

        let gain: f32 = self
            .new_words(passage)
            .filter_map(|word| self.values.get(self.phrase_at(passage, word)?))
            .sum();
        let heading = if self.is_opened(passage) {
            0.0
        } else {
            HEADING
        };
        #[expect(clippy::cast_precision_loss, reason = "a passage is short")]
        let size = known.size as f32;
        let density = gain / (size + heading);
        (density > 0.0).then_some((density.to_bits(), passage))
    }

    /// Returns the words whose phrases a passage adds: of those that span two passages, the ones
    /// whose other passage is selected.
    fn new_words(&self, passage: usize) -> Range<usize> {
        const SPAN: usize = PHRASE_WORDS - 1;
        let Some(known) = self.passages.get(passage) else {
            return 0..0;
        };
        let is_joined = |other: Option<usize>| {
            other.is_some_and(|other| {
                let utterance = self.passages.get(other).map(|other| other.utterance);
                self.selected.get(other) == Some(&true) && utterance == Some(known.utterance)
            })
        };
        let before = if is_joined(passage.checked_sub(1)) {
            SPAN
        } else {
            0
        };
        let after = if is_joined(Some(passage + 1)) {
            0
        } else {
            SPAN
        };
        let first = known.first_word.saturating_sub(before);
        first..known.end_word.saturating_sub(after).max(first)
    }

    /// Returns the phrase that begins with a word of a passage's utterance.
    fn phrase_at(&self, passage: usize, word: usize) -> Option<usize> {
        let utterance = self.passages.get(passage)?.utterance;
        let phrase = self.phrases.words.get(utterance)?.get(word)?.phrase?;
        Some(phrase as usize)
    }
}
