//! `flame sidecar`: serves one host process over a pipe, as `docs/protocol.md` describes.
//!
//! - [`wire`]: what crosses the pipe;
//! - `rpc`: lines in, lines out, and what is wrong with a bad one;
//! - `serve`: who handles what, so that conversations do not wait for each other;
//! - `methods`: what each method does;
//! - `conversation`: what is kept of one conversation while it is served;
//! - `compacting`: what its summariser is told, and what is put back;
//! - `copying`: how one begins that is a copy of another one;
//! - `direct`: a shorter way for a shim that waits;
//! - `observing`: what happens in it, as the engine is told it;
//! - `queues`: what is still to be handled, by conversation;
//! - [`figures`]: how the shim's hooks fare;
//! - [`probe`]: a turn with a real sidecar, for `flame doctor`;
//! - `entries`: messages as the neutral entries that the engine takes.
//!
//! Nothing here knows a host's hooks; those are a shim's business.

mod compacting;
mod conversation;
mod copying;
mod direct;
mod entries;
pub mod figures;
mod methods;
mod observing;
pub mod probe;
mod queues;
mod rpc;
mod serve;
#[cfg(test)]
mod typescript;
pub mod wire;

use std::time::Duration;

use flamestack_engine::Engine;
use flamestack_engine::brief::Workflows;
use flamestack_engine::compaction::Author;
use flamestack_engine::folding::FoldPolicy;
use flamestack_engine::tools::Profile;

pub use methods::commands;
pub use serve::serve;

/// An engine and how it is to serve a host.
pub struct Sidecar {
    /// The project's engine.
    pub engine: Engine,
    /// The directory that the host works in, as sessions know it.
    pub worktree: Option<String>,
    /// Which tools are on offer.
    pub tools: Profile,
    /// Where what a model is told goes.
    pub placement: wire::Placement,
    /// What is folded.
    pub fold: FoldPolicy,
    /// How a planned frame is taken up.
    pub isolation: wire::Isolation,
    /// The workflows that briefs know.
    pub workflows: Workflows,
    /// How many tokens a summariser is told.
    pub brief_budget: usize,
    /// How many tokens of what a summary lost are put back.
    pub restore_budget: usize,
    /// Whose summary a compacted conversation goes on with.
    pub summaries: Author,
    /// How long a frame waits for a summary.
    pub patience: Duration,
}
