//! Visits every text of an event, for rewriting such as redaction.

use super::{Edit, Event, Goal, Results};
use crate::compaction::Anchor;
use crate::delivery::Delivery;
use crate::frame::Frame;
use crate::text::Rewrite;

impl Rewrite for Goal {
    fn rewrite(&mut self, change: &mut dyn FnMut(&str) -> Option<String>) {
        self.title.rewrite(change);
        self.criteria.rewrite(change);
        self.criteria_compacted.rewrite(change);
    }
}

impl Rewrite for Results {
    fn rewrite(&mut self, change: &mut dyn FnMut(&str) -> Option<String>) {
        self.full.rewrite(change);
        self.compacted.rewrite(change);
    }
}

impl Rewrite for Edit {
    fn rewrite(&mut self, change: &mut dyn FnMut(&str) -> Option<String>) {
        self.title.rewrite(change);
        self.criteria.rewrite(change);
        self.criteria_compacted.rewrite(change);
        self.results.rewrite(change);
        self.results_compacted.rewrite(change);
    }
}

impl Rewrite for Frame {
    fn rewrite(&mut self, change: &mut dyn FnMut(&str) -> Option<String>) {
        self.title.rewrite(change);
        self.criteria.rewrite(change);
        self.criteria_compacted.rewrite(change);
        self.results.rewrite(change);
        self.results_compacted.rewrite(change);
        self.blocked_on.rewrite(change);
        self.notes.iter_mut().for_each(|note| note.rewrite(change));
        self.log
            .iter_mut()
            .for_each(|entry| entry.label.rewrite(change));
        if let Some(invalidation) = &mut self.invalidation {
            invalidation.reason.rewrite(change);
        }
        if let Some(foreign) = &mut self.foreign
            && let Some(changed) = change(foreign)
        {
            *foreign = changed;
        }
    }
}

impl Rewrite for Delivery {
    fn rewrite(&mut self, change: &mut dyn FnMut(&str) -> Option<String>) {
        match self {
            Self::Nothing => {}
            Self::Update(text) | Self::Header(text) => {
                if let Some(changed) = change(text) {
                    *text = changed;
                }
            }
        }
    }
}

impl Rewrite for Event {
    fn rewrite(&mut self, change: &mut dyn FnMut(&str) -> Option<String>) {
        match self {
            Self::SessionTurned { said: text, .. }
            | Self::SessionInterrupted { how: text, .. }
            | Self::SubagentEnded { output: text, .. }
            | Self::SessionWaiting { on: text, .. } => {
                text.rewrite(change);
            }
            Self::SessionReverted { was, seen, .. } => {
                was.said.rewrite(change);
                seen.said.rewrite(change);
            }
            Self::SessionRestored { seen, .. } => seen.said.rewrite(change),
            Self::SubagentStarted(start) => {
                start.goal.rewrite(change);
                start.kind.rewrite(change);
            }
            Self::FrameOpened { goal, .. } => goal.rewrite(change),
            Self::FrameClosed { results, .. } => results.rewrite(change),
            Self::FrameBlocked {
                reason, results, ..
            } => {
                reason.rewrite(change);
                results.rewrite(change);
            }
            Self::FrameEdited { edit, .. } => edit.rewrite(change),
            Self::FrameInvalidated { reason, .. } => reason.rewrite(change),
            Self::CompactionBegun(checkpoint) => anchors(&mut checkpoint.anchors, change),
            Self::CompactionChecked(verdict) => {
                verdict.summary.rewrite(change);
                anchors(&mut verdict.survived, change);
                anchors(&mut verdict.lost, change);
            }
            Self::SummaryAwaited { given, note, .. } => {
                given.rewrite(change);
                note.rewrite(change);
            }
            Self::SummaryArrived { summary, .. } => summary.rewrite(change),
            Self::Noted { note, .. } => note.rewrite(change),
            Self::Logged { entry, .. } => entry.label.rewrite(change),
            Self::FrameImported { frame } | Self::FrameCopied { frame, .. } => {
                frame.rewrite(change)
            }
            Self::StackImported { foreign, .. } => {
                if let Some(changed) = change(foreign) {
                    *foreign = changed;
                }
            }
            Self::SessionDescribed(description) => {
                for text in [
                    &mut description.directory,
                    &mut description.host_version,
                    &mut description.agent,
                ] {
                    text.rewrite(change);
                }
            }
            Self::ModelUsed(model) => model.name.rewrite(change),
            Self::ContextSent(sending) => sending.delivery.rewrite(change),
            Self::SessionOpened { .. }
            | Self::SessionFocused { .. }
            | Self::SessionBound { .. }
            | Self::SessionUnbound { .. }
            | Self::SessionPrompted { .. }
            | Self::SessionCompacted { .. }
            | Self::SessionSpent { .. }
            | Self::SessionWitnessed { .. }
            | Self::FrameStarted { .. }
            | Self::FrameUnblocked { .. }
            | Self::FrameReopened { .. }
            | Self::FrameMoved { .. }
            | Self::FrameDeleted { .. }
            | Self::CommandUndone { .. }
            | Self::BlobDropped { .. } => {}
        }
    }
}

fn anchors(anchors: &mut [Anchor], change: &mut dyn FnMut(&str) -> Option<String>) {
    for anchor in anchors {
        if let Some(changed) = change(&anchor.text) {
            anchor.text = changed;
        }
    }
}
