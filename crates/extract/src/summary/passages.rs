//! Passages: the units that a summary contains or leaves out as a whole.

use crate::phrases::{PhraseTable, PhraseWord};
use crate::utterance::{Source, Utterance};

/// Length from which a passage ends with its line: a few lines of code, a sentence or two, in bytes.
const MIN_LENGTH: u32 = 100;
/// Length at which a line is cut, in bytes.
const MAX_LENGTH: u32 = 200;
/// Maximum number of bare numbers in a row that say something.
const MAX_NUMBERS: usize = 8;
/// Number of bytes before the first and after the last word of an utterance that are shown with it.
const TAIL: usize = 8;

/// A passage of an utterance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passage {
    /// Index of the utterance.
    pub(super) utterance: usize,
    /// Offset of its first byte in the text.
    pub(super) start: u32,
    /// Offset after its last byte.
    pub(super) end: u32,
    /// Index of its first word.
    pub(super) first_word: usize,
    /// Index after its last word.
    pub(super) end_word: usize,
    /// Approximate length when it is shown, in bytes.
    pub(super) size: u32,
    /// True if it is never selected: an edit replaced it, and next to the new text a reader could not tell
    /// which of them is in the file; or it only lists numbers.
    pub(super) is_left_out: bool,
}

/// Cuts all utterances into passages, except for prompts, which have their own section, and for the
/// answers to edits, which repeat the edit or only confirm it.
pub(super) fn passages(utterances: &[Utterance<'_>], phrases: &PhraseTable) -> Vec<Passage> {
    let mut passages: Vec<Passage> = Vec::new();
    for (number, (utterance, words)) in utterances.iter().zip(&phrases.words).enumerate() {
        let call = utterance.answers.and_then(|call| utterances.get(call));
        let of_edit = call.is_some_and(|call| call.source == Source::Edit);
        if utterance.source == Source::Prompt || (of_edit && utterance.source == Source::Output) {
            continue;
        }
        let first = passages.len();
        cut(number, utterance, words, &mut passages);
        // The text between two passages belongs to the first of them.
        let own = passages.get_mut(first..).unwrap_or_default();
        if let Some(first) = own.first_mut().filter(|first| first.start as usize <= TAIL) {
            first.start = 0;
        }
        for passage in own.iter_mut() {
            let shown = passage.start as usize..passage.end as usize;
            let shown = utterance.text.get(shown).unwrap_or_default();
            passage.is_left_out |= lists_numbers(shown);
        }
        let end = own.last().map_or(0, |last| last.end as usize + TAIL);
        let end = utterance.text.floor_char_boundary(end);
        let mut end = u32::try_from(end).unwrap_or(u32::MAX);
        for passage in own.iter_mut().rev() {
            passage.end = end;
            end = passage.start;
        }
    }
    passages
}

/// Returns true for a text that is nothing but numbers, and many of them.
fn lists_numbers(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_digit() || c.is_whitespace() || ".,;:+-|".contains(c);
    text.chars().all(is_part) && text.split_whitespace().nth(MAX_NUMBERS).is_some()
}

/// Cuts one text; passages end with their last word, and where a text that an edit replaces begins or ends.
fn cut(
    number: usize,
    utterance: &Utterance<'_>,
    words: &[PhraseWord],
    passages: &mut Vec<Passage>,
) {
    let text = utterance.text.as_ref();
    let replaced = |at: u32| {
        let mut parts = utterance.replaced.iter();
        parts.position(|part| part.contains(&(at as usize)))
    };
    let mut open: Option<Passage> = None;
    for (index, word) in words.iter().enumerate() {
        let before = open.map_or(word.start, |passage| passage.end);
        let gap = text.as_bytes().get(before as usize..word.start as usize);
        let gap = gap.unwrap_or_default();
        if let Some(passage) = open {
            let is_long = passage.end - passage.start >= MIN_LENGTH;
            if (is_long && gap.contains(&b'\n'))
                || word.end - passage.start > MAX_LENGTH
                || replaced(passage.start) != replaced(word.start)
            {
                passages.push(passage);
                open = None;
            }
        }
        // A passage that ends here does not show the gap.
        let gap = if open.is_some() { gap } else { &[] };
        let passage = open.get_or_insert(Passage {
            utterance: number,
            start: word.start,
            end: word.end,
            first_word: index,
            end_word: index + 1,
            size: 0,
            is_left_out: replaced(word.start).is_some(),
        });
        // Whitespace is shown as one space.
        let is_space = |byte: &&u8| byte.is_ascii_whitespace();
        let spaces = gap.iter().filter(is_space).count();
        let signs = u32::try_from(gap.len() - spaces).unwrap_or(u32::MAX);
        passage.size += word.end - word.start + u32::from(spaces > 0) + signs;
        passage.end = word.end;
        passage.end_word = index + 1;
    }
    passages.extend(open);
}
