//! Visits every text of an event, for rewriting such as redaction.

use super::{Edit, Event, Goal, Results};
use crate::autonomy::Suggestion;
use crate::compaction::{Anchor, AnchorReport, Checkpoint};
use crate::delivery::{Delivery, Sending};
use crate::frame::{Frame, Invalidation, LogEntry};
use crate::session::checkpoint::{
    CallInFlight, CallStart, InterruptionCheckpoint, QueuedPrompt, RepositoryState,
};
use crate::session::link::Creation;
use crate::session::{ActivitySnapshot, Description, Model};
use crate::stall::Stall;
use crate::subagent::SubagentStart;
use crate::text::Rewrite;

/// Implements [`Rewrite`] by rewriting these fields.
macro_rules! rewrite_fields {
    ($($type:ty: $($field:ident),+;)+) => {$(
        impl Rewrite for $type {
            fn rewrite(&mut self, change: &mut dyn FnMut(&str) -> Option<String>) {
                $(self.$field.rewrite(change);)+
            }
        }
    )+};
}

rewrite_fields! {
    Goal: title, criteria, criteria_compacted;
    Results: full, compacted;
    Edit: title, criteria, criteria_compacted, results, results_compacted;
    Frame: title, criteria, criteria_compacted, results, results_compacted, blocked_on, notes, log,
        invalidation, foreign;
    LogEntry: label;
    Invalidation: reason;
    ActivitySnapshot: said;
    SubagentStart: goal, kind;
    Description: directory, host_version, agent, language, governance, phase;
    Creation: purpose, agent, phase;
    CallStart: tool, input, paths;
    CallInFlight: start;
    QueuedPrompt: words;
    RepositoryState: dirty;
    InterruptionCheckpoint: in_flight, files, queued, git;
    Stall: what;
    Model: name;
    Anchor: text;
    Checkpoint: anchors;
    AnchorReport: summary, survived, lost;
    Sending: delivery;
    Suggestion: evidence, title;
}

impl Rewrite for Delivery {
    fn rewrite(&mut self, change: &mut dyn FnMut(&str) -> Option<String>) {
        match self {
            Self::Nothing => {}
            Self::Update(text) | Self::Header(text) => text.rewrite(change),
        }
    }
}

impl Rewrite for Event {
    fn rewrite(&mut self, change: &mut dyn FnMut(&str) -> Option<String>) {
        match self {
            Self::TurnEnded { said: text, .. }
            | Self::SessionInterrupted { how: text, .. }
            | Self::SubagentEnded { output: text, .. }
            | Self::SessionWaiting { on: text, .. }
            | Self::SessionPrompted { queued: text, .. }
            | Self::SessionClosed { why: text, .. } => {
                text.rewrite(change);
            }
            Self::SessionReverted {
                activity_before,
                activity_after,
                ..
            } => {
                activity_before.rewrite(change);
                activity_after.rewrite(change);
            }
            Self::SessionRestored { activity_after, .. } => activity_after.rewrite(change),
            Self::SessionStalled { stall, .. } => stall.rewrite(change),
            Self::SubagentStarted(start) => start.rewrite(change),
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
            Self::CompactionBegun(checkpoint) => checkpoint.rewrite(change),
            Self::CompactionChecked(report) => report.rewrite(change),
            Self::SummaryAwaited { given, note, .. } => {
                given.rewrite(change);
                note.rewrite(change);
            }
            Self::SummaryArrived { summary, .. } => summary.rewrite(change),
            Self::Noted { note, .. } => note.rewrite(change),
            Self::Logged { entry, .. } => entry.rewrite(change),
            Self::FrameImported { frame } | Self::FrameCopied { frame, .. } => {
                frame.rewrite(change);
            }
            Self::StackImported { foreign, .. } => foreign.rewrite(change),
            Self::SessionCreated(creation) => creation.rewrite(change),
            Self::CallBegun(start) => start.rewrite(change),
            Self::InterruptionKept(checkpoint) => checkpoint.rewrite(change),
            Self::SessionDescribed(description) => description.rewrite(change),
            Self::ModelUsed(model) => model.rewrite(change),
            Self::ContextSent(sending) => sending.rewrite(change),
            Self::SuggestionMade(suggestion) => suggestion.rewrite(change),
            Self::SessionOpened { .. }
            | Self::SessionFocused { .. }
            | Self::SessionBound { .. }
            | Self::SessionUnbound { .. }
            | Self::SessionLinked { .. }
            | Self::ResumeBegun { .. }
            | Self::SessionHosted(_)
            | Self::CallEnded { .. }
            | Self::SessionCompacted { .. }
            | Self::SessionSpent { .. }
            | Self::EntriesIngested { .. }
            | Self::FrameStarted { .. }
            | Self::FrameUnblocked { .. }
            | Self::FrameReopened { .. }
            | Self::FrameMoved { .. }
            | Self::FrameDeleted { .. }
            | Self::CommandUndone { .. }
            | Self::BlobDropped { .. }
            | Self::TextForgotten { .. }
            | Self::SuggestionAnswered { .. }
            | Self::SuggestionsSnoozed { .. }
            | Self::SuggestionsReset => {}
        }
    }
}
