//! Suggestions: advice that was given, and what became of it.

use super::{AdviceKind, Boundary, Heuristic};
use crate::frame::Outcome;
use crate::id::{Fingerprint, FrameId};
use crate::names::enum_names;
use crate::text::{Text, Title};

/// Advice with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// Kind of advice.
    pub kind: AdviceKind,
    /// The heuristic whose evidence is the strongest.
    pub heuristic: Heuristic,
    /// Probability that it is right, in percent.
    pub score: u64,
    /// Identifies the evidence within its session.
    pub key: Fingerprint,
    /// The evidence for people.
    pub evidence: Text,
    /// The frame that the session works on.
    pub frame: Option<FrameId>,
    /// The status that a pop means.
    pub outcome: Option<Outcome>,
    /// Title for the frame that a push opens.
    pub title: Option<Title>,
    /// The moment at which it was made.
    pub boundary: Boundary,
    /// Tokens that acting on it takes out of the prompt.
    pub saves: u64,
    /// Number of sessions of the project that got this far.
    pub reached: u64,
    /// Number of all sessions of the project.
    pub sessions: u64,
    /// Number of prompts of the session before it.
    pub prompts: u64,
    /// True if Flamestack acted on it automatically.
    pub is_automatic: bool,
}

enum_names! {
    /// State of a suggestion.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum SuggestionState {
        /// Shown, and not answered yet.
        Pending = "pending",
        /// The user or the model did what it says, or Flamestack did.
        Acted = "acted on",
        /// The user does not want it.
        Dismissed = "dismissed",
        /// The frame that it was about changed otherwise.
        Expired = "expired",
        /// It was left unanswered, and what followed confirmed it, such as a compaction.
        Confirmed = "confirmed",
        /// It was contradicted by what followed, such as an undo.
        Contradicted = "contradicted",
    }
}

impl SuggestionState {
    /// Returns true if the suggestion was right, false if it was wrong, and none if that is unknown.
    pub fn verdict(self) -> Option<bool> {
        match self {
            Self::Acted | Self::Confirmed => Some(true),
            Self::Dismissed | Self::Contradicted => Some(false),
            Self::Pending | Self::Expired => None,
        }
    }
}

/// Counts of a heuristic's suggestions by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All suggestions.
    pub made: u64,
    /// Those that were acted on.
    pub acted: u64,
    /// Those that what followed confirmed.
    pub confirmed: u64,
    /// Those that were dismissed.
    pub dismissed: u64,
    /// Those that expired.
    pub expired: u64,
    /// Those that were contradicted.
    pub contradicted: u64,
}

impl Tally {
    /// Returns the number of suggestions that proved right.
    pub fn right(&self) -> u64 {
        self.acted + self.confirmed
    }

    /// Returns the number of suggestions that proved right or wrong.
    pub fn cases(&self) -> u64 {
        self.right() + self.dismissed + self.contradicted
    }

    /// Returns the share of them that was right, in percent.
    pub fn precision(&self) -> Option<u64> {
        (self.cases() > 0).then(|| self.right() * 100 / self.cases())
    }

    /// Returns true if the heuristic was wrong too often to continue: below `least` percent, on at least
    /// `cases` cases.
    pub fn is_too_low(&self, least: u64, cases: u64) -> bool {
        self.cases() >= cases && self.precision().is_some_and(|found| found < least)
    }

    /// Counts suggestions that are now in this state.
    pub fn add(&mut self, state: SuggestionState, count: u64) {
        self.made += count;
        let sum = match state {
            SuggestionState::Pending => return,
            SuggestionState::Acted => &mut self.acted,
            SuggestionState::Confirmed => &mut self.confirmed,
            SuggestionState::Dismissed => &mut self.dismissed,
            SuggestionState::Expired => &mut self.expired,
            SuggestionState::Contradicted => &mut self.contradicted,
        };
        *sum += count;
    }
}

/// Returns a suggestion as one line for a context, in the predecessor's format. Callers escape it.
pub fn suggestion_line(suggestion: &Suggestion) -> String {
    let advice = match (suggestion.kind, suggestion.outcome) {
        (AdviceKind::Push, _) => {
            let title = suggestion
                .title
                .as_ref()
                .map_or("a new goal", Title::as_str);
            format!("Consider pushing a new frame for \"{title}\"")
        }
        (AdviceKind::Pop, outcome) => {
            let status = outcome.unwrap_or(Outcome::Completed).status();
            format!(
                "Consider popping current frame with status \"{}\"",
                status.as_str()
            )
        }
    };
    let evidence = suggestion
        .evidence
        .as_str()
        .replace(['\n', '\r', '[', ']'], " ");
    format!(
        "[STACK SUGGESTION: {advice} - Reason: {}, {evidence} ({}% confidence)]",
        suggestion.heuristic.label(),
        suggestion.score
    )
}
