//! Extractive summaries: the part of a conversation that is most likely needed again, within a
//! number of tokens.
//!
//! What was said is taken apart into passages of a few lines. A passage is worth what its phrases
//! are worth, each phrase once; the best passages for their length are taken, and told in the order
//! in which they happened, each with the number of its entry. Names that are in none of them go
//! into an index. What a phrase or a name is worth is said by [`crate::anchor::weights`]. Nothing
//! is rephrased, so nothing is made up.

mod choose;
mod claims;
mod draft;
mod index;
#[cfg(test)]
mod laws;
pub mod phrase;
mod said;
mod story;
mod unit;

use crate::anchor::moment::{moments, of_thread};
use crate::note::Note;
use crate::tokens::Tokenizer;
use crate::transcript::{Entry, Todo, What};
use draft::Draft;

/// What is known beside the conversation itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told<'a> {
    /// What the work is for.
    pub goal: Option<&'a str>,
    /// When it is done.
    pub criteria: Option<&'a str>,
    /// What was noted, oldest first.
    pub notes: &'a [Note],
    /// The frame whose log holds the entries, for pointers to them.
    pub log: Option<&'a str>,
    /// What the reader has anyway, such as the host's own summary. It is not said again.
    pub already: &'a str,
}

/// The brief from which a conversation can be taken up again, after a compaction or a pause.
pub fn brief(
    entries: &[Entry],
    told: &Told<'_>,
    limit: usize,
    tokenizer: &dyn Tokenizer,
) -> String {
    Draft {
        moments: &moments(entries),
        todos: newest_todos(entries),
        told,
        limit,
        tokenizer,
    }
    .brief()
}

/// What a parent needs of a frame that is finished. The entries are the frame's own, whoever spoke;
/// the model's last words among them are its answer.
pub fn result(
    entries: &[Entry],
    told: &Told<'_>,
    limit: usize,
    tokenizer: &dyn Tokenizer,
) -> String {
    Draft {
        moments: &of_thread(entries.iter().enumerate()),
        todos: &[],
        told,
        limit,
        tokenizer,
    }
    .result()
}

/// The to-do list as it is at the end.
pub fn newest_todos(entries: &[Entry]) -> &[Todo] {
    entries
        .iter()
        .rev()
        .filter(|entry| entry.agent.is_none())
        .find_map(|entry| match &entry.what {
            What::Todos(todos) => Some(todos.as_slice()),
            _ => None,
        })
        .unwrap_or_default()
}
