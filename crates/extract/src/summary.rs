//! Extractive summaries: the part of a session that is most likely needed again, within a number of
//! tokens.
//!
//! First comes the state of the work ([`crate::state`]), then what happened, then a map of names.
//!
//! The transcript is cut into passages of a few lines. A passage is worth what its phrases are
//! worth, each phrase counted once; the best passages for their length are chosen and shown in the
//! order of the transcript, each with the number of its entry. Names that are in none of them go
//! into an index. [`crate::score`] says what a phrase or a name is worth. Nothing is rephrased, so
//! nothing is made up.

mod assemble;
mod index;
mod passages;
mod sections;
mod select;
mod story;
#[cfg(test)]
mod tests;

use crate::state::WorkState;
use crate::tokens::Tokenizer;
use crate::utterance::{utterances, utterances_of};
use assemble::Assembler;
use flamestack_core::note::Note;
use flamestack_core::transcript::{Entry, EntryKind, Todo};

/// The facts about a session besides its transcript.
#[derive(Clone, Copy, Debug, Default)]
pub struct SummaryInput<'a> {
    /// Goal of the work.
    pub goal: Option<&'a str>,
    /// Criteria for its success.
    pub criteria: Option<&'a str>,
    /// Notes, oldest first.
    pub notes: &'a [Note],
    /// The frame whose log holds the entries, for pointers to them.
    pub log: Option<&'a str>,
    /// Text that the reader has, such as the host's own summary. It is not repeated.
    pub already: &'a str,
    /// True if the reader has a summary of the session by the host ([`is_summary`]).
    pub has_summary: bool,
    /// True if the reader has the state of the work.
    pub has_state: bool,
}

/// Minimum length of a session summary, in bytes: the summariser of a shorter one forgot nearly everything.
const MIN_SUMMARY: usize = 1_600;

/// Returns true if a text of the host is long enough to be a summary of a session.
pub fn is_summary(text: &str) -> bool {
    text.len() >= MIN_SUMMARY
}

/// Returns a brief to continue a session from, after a compaction or a pause.
pub fn brief(
    entries: &[Entry],
    input: &SummaryInput<'_>,
    limit: usize,
    tokenizer: &dyn Tokenizer,
) -> String {
    let state = if input.has_state {
        WorkState::default()
    } else {
        WorkState::read(entries)
    };
    Assembler {
        state: &state,
        utterances: &utterances(entries),
        todos: newest_todos(entries),
        input,
        limit,
        tokenizer,
    }
    .brief()
}

/// Returns the result of a finished frame for its parent. The entries are all of the frame's,
/// those of subagents included; the model's last text among them is its answer.
pub fn result(
    entries: &[Entry],
    input: &SummaryInput<'_>,
    limit: usize,
    tokenizer: &dyn Tokenizer,
) -> String {
    Assembler {
        state: &WorkState::of_all(entries),
        utterances: &utterances_of(entries.iter().enumerate()),
        todos: &[],
        input,
        limit,
        tokenizer,
    }
    .result()
}

/// Returns the last state of the to-do list.
pub fn newest_todos(entries: &[Entry]) -> &[Todo] {
    entries
        .iter()
        .rev()
        .filter(|entry| entry.agent.is_none())
        .find_map(|entry| match &entry.kind {
            EntryKind::Todos(todos) => Some(todos.as_slice()),
            _ => None,
        })
        .unwrap_or_default()
}
