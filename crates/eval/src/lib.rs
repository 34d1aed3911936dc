//! Quality of contexts, measured without a model: recorded sessions show what was needed next.
//!
//! A [`Recording`] is cut where the work continued; [`need`] says what the agent used after the cut
//! before anything repeated it, and how much of that a text supplies. [`pop`] asks the same of finished
//! subagents, [`siblings`] of finished siblings of a frame, [`artifacts`] which files changed,
//! [`interruption`] and [`held_out`] which turns were cut short and how they were resumed. [`cost`] replays every model
//! call under several ways to keep a prompt short. [`autonomy`] asks how often advice to open or close a
//! frame is right. Nothing here reads files or prints.

pub mod artifacts;
pub mod autonomy;
pub mod compaction;
pub mod cost;
pub mod held_out;
mod interned;
pub mod interruption;
pub mod need;
pub mod pop;
pub mod recording;
pub mod report;
pub mod siblings;
mod tracked;
mod words;

pub use recording::{Cut, Recording};
