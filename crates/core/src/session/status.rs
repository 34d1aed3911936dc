//! The state of a session as it is shown: the recorded one, or one that follows from the clock.

use super::life::Life;
use super::state::{SessionState, Signal, rule};
use crate::id::Timestamp;

/// Times after which a silent session is shown as idle and as stale, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// Time that a provider keeps a prompt in its cache.
    pub cold_after: i64,
    /// Time after which the work has probably moved on.
    pub stale_after: i64,
}

impl Default for Thresholds {
    /// Five minutes and 48 hours.
    fn default() -> Self {
        Self {
            cold_after: 5 * 60 * 1000,
            stale_after: 48 * 60 * 60 * 1000,
        }
    }
}

/// State of a session at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LifeStatus {
    /// The state.
    pub state: SessionState,
    /// Time since which it is in this state.
    pub since: Timestamp,
    /// Reason for the state.
    pub why: String,
    /// State before.
    pub previous: Option<SessionState>,
    /// Milliseconds since the last sign of life.
    pub silent: i64,
    /// True if its prompt has left the provider's cache.
    pub is_cold: bool,
    /// True if it was silent for so long that its work has probably moved on.
    pub is_stale: bool,
}

impl Life {
    /// Returns the state at a time.
    ///
    /// A running turn whose process is known does not get stale: reconciliation finds its end.
    pub fn status(&self, now: Timestamp, thresholds: &Thresholds) -> LifeStatus {
        let active = self.times.active.0;
        let silent = now.0.saturating_sub(active).max(0);
        let is_cold = self.times.prompted.is_some() && silent >= thresholds.cold_after;
        let is_stale = silent >= thresholds.stale_after;
        let is_served = self.state.is_busy() && self.process.is_some();
        let derived = match (is_stale, is_cold) {
            (true, _) if !is_served => Some((Signal::TurnedStale, thresholds.stale_after)),
            (false, true) => Some((Signal::TurnedCold, thresholds.cold_after)),
            _ => None,
        };
        let rule = derived.and_then(|(signal, after)| Some((rule(self.state, signal)?, after)));
        let (state, since, why, previous) = match rule {
            Some((rule, after)) => (
                rule.to,
                Timestamp(active.saturating_add(after)),
                format!("{}; before: {}", rule.why, self.last.why()),
                Some(self.state),
            ),
            None => (self.state, self.last.at, self.last.why(), self.last.from),
        };
        LifeStatus {
            state,
            since,
            why,
            previous,
            silent,
            is_cold,
            is_stale,
        }
    }
}
