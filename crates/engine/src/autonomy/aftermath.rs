//! The events after a suggestion, and what they made of it.

use flamestack_core::autonomy::{AdviceKind, Heuristic, Suggestion, SuggestionState};
use flamestack_core::frame::Origin;
use flamestack_core::{Event, Recorded};

/// Returns what the events after a suggestion made of it.
pub(super) fn became<'e>(
    suggestion: &Suggestion,
    following: impl Iterator<Item = &'e Recorded>,
) -> Option<SuggestionState> {
    let is_of_window = matches!(
        suggestion.heuristic,
        Heuristic::ContextOverflow | Heuristic::Duration
    );
    for recorded in following {
        match &recorded.event {
            Event::FrameOpened {
                parent,
                origin: Origin::Asked,
                ..
            } if suggestion.kind == AdviceKind::Push && *parent == suggestion.frame => {
                return Some(SuggestionState::Acted);
            }
            Event::FrameClosed { frame, .. } | Event::FrameBlocked { frame, .. }
                if Some(*frame) == suggestion.frame =>
            {
                return Some(match suggestion.kind {
                    AdviceKind::Pop => SuggestionState::Acted,
                    AdviceKind::Push => SuggestionState::Expired,
                });
            }
            Event::FrameInvalidated { frame, .. } if Some(*frame) == suggestion.frame => {
                return Some(SuggestionState::Expired);
            }
            Event::SessionCompacted { .. } if is_of_window => {
                return Some(SuggestionState::Confirmed);
            }
            _ => {}
        }
    }
    None
}

/// Returns that an automatic act was contradicted if it was undone.
pub(super) fn undone<'e>(following: impl Iterator<Item = &'e Recorded>) -> Option<SuggestionState> {
    let mut act = None;
    for recorded in following {
        match &recorded.event {
            Event::FrameOpened { .. } | Event::FrameClosed { .. } if act.is_none() => {
                act = Some(recorded.batch);
            }
            Event::CommandUndone { batch } if Some(*batch) == act => {
                return Some(SuggestionState::Contradicted);
            }
            _ => {}
        }
    }
    None
}
