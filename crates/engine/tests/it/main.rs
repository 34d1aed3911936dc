//! The engine as fronts use it, on real stores.

#![expect(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "what helpers of a test expect, the test expects"
)]

mod autonomy;
mod bounds;
mod briefs;
mod contexts;
mod damage;
mod deliveries;
mod ground;
mod heuristics;
mod ingest;
mod opening;
mod resuming;
mod retention;
mod search;
mod secrets;
mod sessions;
mod stability;
mod work;
