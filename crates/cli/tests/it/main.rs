//! The `flame` command, used the way people, scripts and accidents use it.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what helpers of a test expect, the test expects"
)]

mod context;
mod ground;
mod manners;
mod names;
mod refusals;
mod sessions;
mod story;
mod tools;
