//! Files in, frames out, and back; and hosts on the other end of a pipe.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "what helpers of a test expect, the test expects"
)]

mod bounds;
mod compaction;
mod completing;
mod fixtures;
mod forking;
mod generated;
mod heuristics;
mod laws;
mod recordings;
mod refusals;
mod rescue;
mod rewinding;
mod secrets;
mod sidecar;
mod signals;
mod subagents;
mod support;
mod written;
