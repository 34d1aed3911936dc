//! Putting Flamestack into a host program, and taking it out again.
//!
//! - `plugin`: the plugin's files, which the binary carries;
//! - `entry`: the plugin's entry in a host's configuration file, comments and formatting kept;
//! - `change`: files to write and to delete, all of them or none;
//! - `ledger`: what was written, so that exactly that can be taken out again;
//! - `seed`: what spares OpenCode's first request an npm install;
//! - [`opencode`]: where OpenCode looks for all this;
//! - [`program`]: which version of a program is there.
//!
//! Everything is planned first, from what is there, and then done: a file that cannot be understood
//! or written stops the plan, and nothing has changed.

mod change;
mod entry;
mod error;
mod ledger;
pub mod opencode;
mod plan;
mod plugin;
pub mod program;
mod seed;

pub use entry::{Dialect, Entry};
pub use error::InstallError;
pub use plan::{Plan, Scope, Step, Verb};
