//! What Flamestack shares with the programs around it: their files, hooks and wire formats.
//!
//! Everything here converts between a format at the edge and the types of the core. Storing and
//! deciding are the engine's.

pub mod install;
pub mod predecessor;
pub mod sidecar;
pub mod transcript;
