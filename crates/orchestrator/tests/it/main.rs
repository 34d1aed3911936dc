//! Laws of a run, in simulation: crashes anywhere, and the demands of users.

mod demands;
mod laws;
mod matrix;
mod scenario;
mod sim;
mod worktrees;
