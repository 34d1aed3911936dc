//! Files in, frames out, and back; and hosts on the other end of a pipe.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "what helpers of a test expect, the test expects"
)]

mod compaction;
mod completing;
#[cfg(target_os = "linux")]
mod direct;
mod fixtures;
mod forking;
mod generated;
mod laws;
mod refusals;
mod rescue;
mod rewinding;
mod secrets;
mod sidecar;
mod subagents;
mod support;
mod transcripts;
mod written;
