//! `flame sidecar`: serves one host process over a pipe, as `docs/protocol.md` describes.
//!
//! - [`wire`]: the types that cross the pipe;
//! - `rpc`: JSON-RPC, one object per line;
//! - `server`: one reader thread and a bounded number of workers;
//! - `scheduler`: a queue for each session;
//! - `methods`: the methods of the protocol;
//! - `session`: the state of one session, its prompts and requests;
//! - `ingest`: the events of a session, recorded by the engine;
//! - `compaction`: summaries of a session;
//! - `fork`: sessions that are copies of others;
//! - `upkeep`: clean-ups in idle moments;
//! - [`hook_stats`]: counts and times of the shim's hooks;
//! - [`probe`]: a turn with a real sidecar, for `flame doctor`.
//!
//! Nothing here knows a host's hooks, which are the shim's business. Messages come in OpenCode's own
//! JSON and are read by [`crate::opencode`].

mod compaction;
mod fork;
pub mod hook_stats;
mod ingest;
mod methods;
pub mod probe;
mod rpc;
mod scheduler;
mod server;
mod session;
mod turn;
#[cfg(test)]
mod typescript_tests;
mod upkeep;
pub mod wire;

use std::time::Duration;

use flamestack_brief::workflow::Workflows;
use flamestack_core::session::checkpoint::ProcessIdentity;
use flamestack_engine::Engine;
use flamestack_engine::compaction::SummaryAuthor;
use flamestack_engine::folding::FoldPolicy;
use flamestack_engine::tools::Profile;

pub use crate::opencode::commands::commands;
pub use server::serve;
pub use upkeep::Upkeep;

/// An engine and the settings for serving a host.
pub struct Sidecar {
    /// The project's engine.
    pub engine: Engine,
    /// The directory that the host works in, as sessions know it.
    pub worktree: Option<String>,
    /// The tools that are offered.
    pub tools: Profile,
    /// The place of the context in a request.
    pub placement: wire::Placement,
    /// The messages that are folded.
    pub fold: FoldPolicy,
    /// The session in which a planned frame is worked on.
    pub isolation: wire::Isolation,
    /// The workflows that briefs know.
    pub workflows: Workflows,
    /// Maximum number of tokens of the instructions for a summary.
    pub brief_budget: usize,
    /// Maximum number of tokens that are restored after a summary.
    pub restore_budget: usize,
    /// The author of the summaries.
    pub summaries: SummaryAuthor,
    /// Maximum time that a frame waits for a summary.
    pub patience: Duration,
    /// Messages for the user, such as settings that are ignored.
    pub notices: Vec<String>,
    /// The reason why every request is refused, if there is one.
    pub stopped: Option<String>,
    /// True if an agent's tool call started it: prompts of its sessions are the agent's words, not the user's.
    pub in_tool_call: bool,
    /// Clean-ups in idle moments.
    pub upkeep: Option<Upkeep>,
    /// The host's process, where the system says which one it is.
    pub process: Option<ProcessIdentity>,
}
