//! Settings: what can be set, where each value came from, and changing one.
//!
//! Built-in < user file < team file in the repository < project file < environment < flag. Every
//! value knows its origin, and a bad one is an error that names it. A key that nobody knows stops
//! nothing and is told by `flame config list` and `flame doctor`; nothing is silently ignored.

mod file;
mod known;
mod layers;

pub use file::{Change, Scope, change, set, unset};
pub(crate) use known::nearest;
pub use known::size;
pub use known::{KNOWN, Kind, Patterns, Setting, pattern, setting};
pub use layers::{Environment, Origin, Problem, Settings, Value};
