//! Laws of a run, in simulation: crashes anywhere, and the demands of users.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of a test expect, the test expects"
)]

mod demands;
mod laws;
mod matrix;
mod scenario;
mod sim;
mod worktrees;
