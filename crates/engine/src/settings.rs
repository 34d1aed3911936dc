//! Settings: the table of all settings, their values by layer, and changing them.
//!
//! Built-in < user file < team file in the repository < project file < environment; options of a
//! command come on top. Every value has an origin. [`Settings::gather`] fails at the first invalid value
//! and names its origin; [`Settings::survey`], which commands and the sidecar use, lists it as a
//! problem and keeps the default. An unknown key, and one that only the user may set in a team file, is
//! reported and stops nothing; nothing is silently ignored.

mod file;
mod known;
mod layers;
mod rules;
mod sources;

pub use file::{Change, Scope, change, reset, set, unset};
pub(crate) use known::nearest;
pub use known::size;
pub use known::{KNOWN, Kind, Patterns, SetBy, Setting, pattern, setting};
pub use layers::{Environment, Problem, Settings, Value, ValueOrigin};
pub use rules::RedactionRule;
pub use sources::SettingsSources;
