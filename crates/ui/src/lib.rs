//! Views for people: flame graphs, the live page, the terminal view, and the export to
//! observability tools.
//!
//! Everything is drawn from the engine's view model (`flamestack_engine::views::work`), so that the
//! page, the terminal, the pictures and the exports cannot disagree. Nothing here decides about frames:
//! what a person does goes through the engine's commands, as at the command line.

pub mod otlp;
pub mod page;
pub mod picture;
pub mod terminal;
