//! Extractive summaries: the part of a conversation that is most likely needed again, within a
//! number of tokens.

mod choose;
pub mod draft;
mod index;
pub mod phrase;
mod said;
mod unit;

use crate::transcript::{Entry, Todo, What};

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

/// A brief of a session.
pub fn brief(
    entries: &[Entry],
    limit: usize,
    tokenizer: &dyn crate::tokens::Tokenizer,
    shares: draft::Shares,
) -> String {
    let moments = crate::anchor::moment::moments(entries);
    draft::draft(&moments, newest_todos(entries), limit, tokenizer, shares)
}
