//! Host programs and other tools: their files, hooks and wire formats.
//!
//! - [`install`]: installing the plugin into a host;
//! - [`legacy`]: files of the tools that Flamestack descends from;
//! - [`opencode`]: messages of OpenCode, live and recorded;
//! - [`recordings`]: sessions that hosts record;
//! - [`sidecar`]: the process that a host's plugin talks to.
//!
//! This crate converts between these formats and the types of the core. The engine decides and stores.

pub mod install;
pub mod legacy;
mod line_input;
pub mod opencode;
pub mod recordings;
pub mod sidecar;
mod staging;
