//! Settings: the table of all settings, their values by layer, and changing them.
//!
//! Built-in < user file < team file in the repository < project file < environment; options of a
//! command come on top. Every value has an origin, and an invalid one is an error that names it. An unknown key is reported by
//! `flame config list` and `flame doctor` and stops nothing; nothing is silently ignored.

mod file;
mod known;
mod layers;
mod rules;

pub use file::{Change, Scope, change, reset, set, unset};
pub(crate) use known::nearest;
pub use known::size;
pub use known::{KNOWN, Kind, Patterns, Setting, pattern, setting};
pub use layers::{Environment, Problem, Settings, Value, ValueOrigin};
pub use rules::RedactionRule;
