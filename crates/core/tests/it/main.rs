//! The rules and the lives of sessions, tested on a tree in memory.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests may panic as tests do"
)]

mod decide;
mod life;
