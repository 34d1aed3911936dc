//! Extractive summaries: the part of a conversation that is most likely needed again, within a
//! number of tokens.

pub mod phrase;

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
