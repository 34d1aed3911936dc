//! The events after a suggestion, and what they made of it.

use flamestack_core::autonomy::{AdviceKind, Heuristic, Suggestion, SuggestionState};
use flamestack_core::frame::Origin;
use flamestack_core::id::Seq;
use flamestack_core::{Actor, Event, Recorded};

use super::suggestions::Autonomy;
use crate::error::Result;

/// Prompts after which a suggestion that was left alone expires.
const PROMPTS: u64 = 3;
/// Maximum number of events after a suggestion that are read at a time to see what became of it.
const FOLLOWING: usize = 2_000;

/// The part of a suggestion's aftermath that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Followed {
    /// The suggestion.
    pub(super) suggestion: Seq,
    /// The last event that was read.
    pub(super) read: Seq,
    /// The batch of the automatic act.
    pub(super) act: Option<Seq>,
}

impl Followed {
    /// Begins to follow a suggestion.
    pub(super) fn from(suggestion: Seq) -> Self {
        Self {
            suggestion,
            read: suggestion,
            act: None,
        }
    }
}

impl Autonomy<'_> {
    /// Records what became of the session's last suggestion, if anything did.
    pub fn settle(&self, actor: &Actor) -> Result<()> {
        let prompts = self.engine.session(&actor.session)?;
        let prompts = prompts.map_or(0, |known| known.activity.prompts);
        self.settle_known(actor, prompts)
    }

    /// Settles the last suggestion of a session that has this number of prompts. Only events that were not
    /// read before are read.
    pub(super) fn settle_known(&self, actor: &Actor, prompts: u64) -> Result<()> {
        let Some((seq, suggestion, state)) = self.history(Some(&actor.session), 1)?.pop() else {
            return Ok(());
        };
        let is_open = match state {
            SuggestionState::Pending => true,
            SuggestionState::Acted => suggestion.is_automatic,
            _ => false,
        };
        if !is_open {
            return Ok(());
        }
        let followed = self.engine.followed(&actor.session);
        let followed = followed.filter(|followed| followed.suggestion == seq);
        let mut followed = followed.unwrap_or_else(|| Followed::from(seq));
        let (own, position) = self.engine.read(|reading| {
            let own = reading.events_of(&actor.session, followed.read, FOLLOWING)?;
            Ok((own, reading.position()?))
        })?;
        followed.read = match own.last() {
            Some(last) if own.len() == FOLLOWING => last.seq,
            _ => position,
        };
        let now = if state == SuggestionState::Pending {
            became(&suggestion, own.iter()).or_else(|| {
                let is_old = prompts >= suggestion.prompts.saturating_add(PROMPTS);
                is_old.then_some(SuggestionState::Expired)
            })
        } else {
            undone(&mut followed.act, own.iter())
        };
        if let Some(now) = now {
            return self.answer(actor, seq, now);
        }
        self.engine.keep_followed(&actor.session, followed);
        Ok(())
    }
}

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

/// Returns that an automatic act was contradicted if it was undone. `act` is its batch, once it is known.
pub(super) fn undone<'e>(
    act: &mut Option<Seq>,
    following: impl Iterator<Item = &'e Recorded>,
) -> Option<SuggestionState> {
    for recorded in following {
        match &recorded.event {
            Event::FrameOpened { .. } | Event::FrameClosed { .. } if act.is_none() => {
                *act = Some(recorded.batch);
            }
            Event::CommandUndone { batch } if Some(*batch) == *act => {
                return Some(SuggestionState::Contradicted);
            }
            _ => {}
        }
    }
    None
}
