//! Installing Flamestack into a host program, and removing it.
//!
//! - `plugin`: the plugin's files, which are embedded in the binary;
//! - `entry`: the plugin's entry in a host's configuration file, edited with comments and formatting
//!   kept;
//! - `change`: writing and deleting files, all of them or none;
//! - `manifest`: the record of what was written, so that exactly that can be removed;
//! - `npm_placeholder`: files that keep OpenCode from running npm before its first request;
//! - [`opencode`]: OpenCode's configuration files and folders;
//! - [`program`]: the version of an installed program.
//!
//! Everything is planned first and then done: if a file cannot be parsed or written, planning fails and
//! nothing has changed.

mod change;
mod entry;
mod error;
mod git;
mod manifest;
mod npm_placeholder;
pub mod opencode;
mod plan;
mod plugin;
pub mod program;

pub use entry::{ConfigFormat, PluginEntry};
pub use error::InstallError;
pub use git::is_ignored;
pub use plan::{InstallPlan, InstallScope, InstallStep, StepKind};
