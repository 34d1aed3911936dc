//! OpenCode as a host: its server over HTTP, and events as wake-ups.
//!
//! The server is one that we start, which ends with us in every kind of death, or one that is running
//! already. Formats of OpenCode stay in `wire`; the measured traps are noted where they are met.

mod client;
mod events;
pub mod guard;
mod host;
mod ids;
mod server;
mod turns;
mod wire;

pub use client::Login;
pub use host::OpenCodeHost;
pub use server::{ServerPlan, ServerProcess};
