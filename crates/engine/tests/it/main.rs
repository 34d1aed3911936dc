//! The engine as fronts use it, on real stores.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod contexts;
mod ground;
