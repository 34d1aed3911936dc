//! Anchors: the facts of a conversation that must survive when its words do not.
//!
//! [`scan`] finds names in text of any language, [`moment`] says who spoke. What an anchor is worth
//! is said by a table of weights that a person can read; it is trained, not written.

mod common;
mod extension;
pub mod known;
pub mod moment;
pub mod name;
mod quantity;
pub mod scan;
#[cfg(test)]
mod scan_tests;
pub(crate) mod table;
pub mod weights;
pub mod worth;
