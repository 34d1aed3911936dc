//! The embedded store, tested from outside.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may panic as tests do"
)]

mod laws;
mod siblings;
