//! The `flame` command, used the way people, scripts and accidents use it.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what helpers of a test expect, the test expects"
)]

mod damage;
mod exchange;
mod ground;
mod large;
mod manners;
mod names;
mod nothing_lost;
mod refusals;
mod sessions;
mod story;
mod tools;
mod upkeep;
