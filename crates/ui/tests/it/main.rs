//! Pictures, the page and the terminal view, on real stores.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "what helpers of a test expect, the test expects"
)]

mod ground;
mod observability;
mod pictures;
mod terminal;
