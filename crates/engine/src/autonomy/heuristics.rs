//! Heuristics: when to open a frame, and when to close one.
//!
//! - [`WorkSignals`] are folded from what hosts report, one [`Sighting`] at a time, at a cost that does
//!   not depend on the length of the history;
//! - a [`AdviceRule`] is one piece of evidence with the probability that it is right, measured on recorded
//!   sessions or given by its definition;
//! - a [`Heuristic`](flamestack_core::autonomy::Heuristic) is as sure as its strongest rule that holds, and
//!   [`judge`] combines them.
//!
//! Pure functions: nothing here reads a transcript, and nothing opens or closes a frame.

mod errors;
mod judge;
mod rules;
mod signals;
#[cfg(test)]
mod tests;

pub use errors::{ErrorLog, normalise_error};
pub use judge::{Assessment, Judgement, judge};
pub use rules::{AdviceRule, Basis, Calibration, Proof, RULES, fingerprint};
pub use signals::{
    Criteria, Declared, LastCheck, PromptSigns, Sighting, StepSigns, TodoSigns, TurnSigns,
    WorkSignals,
};
