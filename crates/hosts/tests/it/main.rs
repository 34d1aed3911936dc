//! Predecessors' files in, frames out, and back.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "what helpers of a test expect, the test expects"
)]

mod fixtures;
mod generated;
mod laws;
mod refusals;
mod rescue;
mod support;
mod written;
