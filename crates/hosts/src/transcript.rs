//! Recorded conversations.

pub mod ctrace;
