//! One engine for every front: requests come in, events go into the store, views come back.
//!
//! The CLI, and every other front, works with the handles of an [`Engine`]. They resolve names,
//! draw ids, read the clock, let `flamestack-core` decide under the store's lock, and render what
//! users and models read. The tools that agents call are declared once, in [`tools`]. Nothing here
//! prints.

pub mod autonomy;
mod backup;
pub mod brief;
pub mod clock;
pub mod commands;
pub mod compaction;
pub mod context;
mod delegation;
mod engine;
pub mod error;
pub mod folding;
pub mod forget;
pub mod hand_off;
pub mod hints;
pub mod ingest;
pub mod json;
pub mod json_problem;
mod left_open;
pub mod logs;
pub mod maintenance;
mod names;
pub mod project;
pub mod projects;
mod readers;
pub mod recall;
pub mod request;
pub mod resumption;
pub mod sessions;
pub mod settings;
pub mod small_file;
pub mod subagents;
pub mod summaries;
pub mod tools;
pub mod views;
mod workspace;

pub use clock::{Clock, SystemClock};
pub use commands::Receipt;
pub use engine::Engine;
pub use error::EngineError;
pub use flamestack_redact::Redactor;
pub use ingest::{IngestMode, IngestOptions};
pub use names::exactly;
pub use project::{Home, Project};
pub use request::{ParentInput, Request};
