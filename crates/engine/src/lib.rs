//! One engine for every front: a wish comes in by name, events go into the store, views come back.
//!
//! The CLI, and every other front, speaks to an [`Engine`]: it resolves names, draws ids, reads the
//! clock, lets `flamestack-core` decide under the store's lock, and renders what people and models
//! read. The tools that agents call are declared once, in [`tools`]. Nothing here prints.

pub mod brief;
pub mod clock;
pub mod compaction;
pub mod context;
mod engine;
pub mod error;
pub mod folding;
pub mod json;
pub mod maintain;
mod names;
pub mod project;
pub mod recall;
pub mod request;
pub mod resume;
pub mod settings;
pub mod subagents;
pub mod tools;
pub mod views;
pub mod witness;

pub use clock::{Clock, SystemClock};
pub use engine::{Engine, Found, Receipt};
pub use error::EngineError;
pub use names::exactly;
pub use project::{Home, Project};
pub use request::{Parent, Request};
pub use witness::View;
