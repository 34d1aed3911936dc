//! The embedded store, tested from outside.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests may panic as tests do"
)]

mod damage;
mod laws;
mod siblings;
