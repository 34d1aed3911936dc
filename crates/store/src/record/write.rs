//! From the domain to the journal's format.

use std::fmt::Write as _;

use flamestack_core::context::{Delivery, Reason, Sending};
use flamestack_core::event::{Edit, Event, Goal, Results};
use flamestack_core::frame::{Frame, LogEntry, Origin};
use flamestack_core::id::{FrameId, Mark};
use flamestack_core::note::{Evidence, Note};
use flamestack_core::session::Glimpse;
use flamestack_core::text::Prose;
use flamestack_core::transcript::Usage;

use super::compaction::outcome_name;
use super::{
    EditRecord, FrameRecord, GlimpseRecord, GoalRecord, LogRecord, NoteRecord, ReasonRecord,
    Record, ResultsRecord, SendingRecord, UsageRecord,
};

fn text(prose: &Prose) -> String {
    prose.as_str().to_owned()
}

fn text_of(prose: Option<&Prose>) -> Option<String> {
    prose.map(text)
}

fn ids(frames: &[FrameId]) -> Vec<String> {
    frames.iter().map(ToString::to_string).collect()
}

impl From<&Glimpse> for GlimpseRecord {
    fn from(glimpse: &Glimpse) -> Self {
        Self {
            prompts: glimpse.prompts,
            opening: glimpse.opening.clone(),
            said: text_of(glimpse.said.as_ref()),
            interrupted: glimpse.interrupted,
            interruptions: glimpse.interruptions,
        }
    }
}

impl From<&Event> for Record {
    #[expect(clippy::too_many_lines, reason = "one arm an event")]
    fn from(event: &Event) -> Self {
        match event {
            Event::SessionOpened { session, worktree } => Self::SessionOpened {
                session: session.to_string(),
                worktree: worktree.clone(),
            },
            Event::SessionFocused { session, from, to } => Self::SessionFocused {
                session: session.to_string(),
                from: from.as_ref().map(ToString::to_string),
                to: to.as_ref().map(ToString::to_string),
            },
            Event::SessionBound { session, frame } => Self::SessionBound {
                session: session.to_string(),
                frame: frame.to_string(),
            },
            Event::SessionUnbound { session, frame } => Self::SessionUnbound {
                session: session.to_string(),
                frame: frame.to_string(),
            },
            Event::SessionPrompted { session } => Self::SessionPrompted {
                session: session.to_string(),
            },
            Event::SessionTurned { session, said } => Self::SessionTurned {
                session: session.to_string(),
                said: text_of(said.as_ref()),
            },
            Event::SessionInterrupted { session, how } => Self::SessionInterrupted {
                session: session.to_string(),
                how: text_of(how.as_ref()),
            },
            Event::SessionCompacted {
                session,
                automatic,
                tokens_before,
            } => Self::SessionCompacted {
                session: session.to_string(),
                automatic: *automatic,
                tokens_before: *tokens_before,
            },
            Event::CompactionBegun(checkpoint) => Self::CompactionBegun(checkpoint.as_ref().into()),
            Event::CompactionChecked(verdict) => Self::CompactionChecked(verdict.as_ref().into()),
            Event::SummaryAwaited {
                frame,
                outcome,
                given,
                note,
            } => Self::SummaryAwaited {
                frame: frame.to_string(),
                outcome: outcome_name(*outcome),
                given: given.as_ref().map(Into::into),
                note: text_of(note.as_ref()),
            },
            Event::SummaryArrived { frame, summary } => Self::SummaryArrived {
                frame: frame.to_string(),
                summary: text_of(summary.as_ref()),
            },
            Event::SessionSpent { session, usage } => Self::SessionSpent {
                session: session.to_string(),
                usage: usage.into(),
            },
            Event::SessionReverted {
                session,
                to,
                masked,
                stood,
                was,
                seen,
            } => Self::SessionReverted {
                session: session.to_string(),
                to: to.clone(),
                masked: masked.iter().map(|seq| seq.0).collect(),
                stood: stood.as_ref().map(ToString::to_string),
                was: was.into(),
                seen: seen.into(),
            },
            Event::SessionRestored {
                session,
                reverted,
                shown,
                seen,
            } => Self::SessionRestored {
                session: session.to_string(),
                reverted: reverted.0,
                shown: shown.iter().map(|seq| seq.0).collect(),
                seen: seen.into(),
            },
            Event::SubagentStarted(start) => Self::SubagentStarted(start.as_ref().into()),
            Event::SubagentEnded {
                session,
                end,
                output,
            } => Self::SubagentEnded {
                session: session.to_string(),
                end: end.state().as_str().to_owned(),
                output: text_of(output.as_ref()),
            },
            Event::SessionWaiting { session, on } => Self::SessionWaiting {
                session: session.to_string(),
                on: text_of(on.as_ref()),
            },
            Event::SessionWitnessed { session, marks } => Self::SessionWitnessed {
                session: session.to_string(),
                marks: digits(marks),
            },
            Event::FrameOpened {
                frame,
                parent,
                rank,
                planned,
                origin,
                goal,
            } => Self::FrameOpened {
                frame: frame.to_string(),
                parent: parent.as_ref().map(ToString::to_string),
                rank: rank.0,
                planned: *planned,
                origin: origin_name(*origin),
                goal: goal.into(),
            },
            Event::FrameStarted { frame } => Self::FrameStarted {
                frame: frame.to_string(),
            },
            Event::FrameClosed {
                frame,
                outcome,
                results,
                cascaded,
            } => Self::FrameClosed {
                frame: frame.to_string(),
                outcome: outcome.status().as_str().to_owned(),
                results: results.into(),
                cascaded: ids(cascaded),
            },
            Event::FrameBlocked {
                frame,
                reason,
                results,
            } => Self::FrameBlocked {
                frame: frame.to_string(),
                reason: text(reason),
                results: results.as_ref().map(Into::into),
            },
            Event::FrameUnblocked { frame } => Self::FrameUnblocked {
                frame: frame.to_string(),
            },
            Event::FrameReopened { frame } => Self::FrameReopened {
                frame: frame.to_string(),
            },
            Event::FrameEdited { frame, edit } => Self::FrameEdited {
                frame: frame.to_string(),
                edit: edit.into(),
            },
            Event::FrameInvalidated {
                frame,
                reason,
                cascaded,
            } => Self::FrameInvalidated {
                frame: frame.to_string(),
                reason: text(reason),
                cascaded: ids(cascaded),
            },
            Event::FrameMoved {
                frame,
                parent,
                rank,
            } => Self::FrameMoved {
                frame: frame.to_string(),
                parent: parent.as_ref().map(ToString::to_string),
                rank: rank.0,
            },
            Event::FrameDeleted { frame, with } => Self::FrameDeleted {
                frame: frame.to_string(),
                with: ids(with),
            },
            Event::Noted { frame, note } => Self::Noted {
                frame: frame.to_string(),
                note: note.into(),
            },
            Event::Logged { frame, entry } => Self::Logged {
                frame: frame.to_string(),
                entry: entry.into(),
            },
            Event::FrameImported(frame) => Self::FrameImported {
                frame: Box::new(frame.as_ref().into()),
            },
            Event::FrameCopied { of, frame } => Self::FrameCopied {
                of: of.to_string(),
                frame: Box::new(frame.as_ref().into()),
            },
            Event::StackImported { source, foreign } => Self::StackImported {
                source: source.clone(),
                foreign: foreign.clone(),
            },
            Event::CommandUndone { batch } => Self::CommandUndone { batch: batch.0 },
            Event::BlobDropped { blob, bytes } => Self::BlobDropped {
                blob: blob.to_string(),
                bytes: *bytes,
            },
            Event::SessionDescribed(description) => {
                Self::SessionDescribed(description.as_ref().into())
            }
            Event::ModelUsed(model) => Self::ModelUsed {
                name: model.name.as_str().to_owned(),
                window: model.window,
            },
            Event::ContextSent(sending) => Self::ContextSent(sending.as_ref().into()),
        }
    }
}

impl From<&Sending> for SendingRecord {
    fn from(sending: &Sending) -> Self {
        let (header, update) = match &sending.delivery {
            Delivery::Header(text) => (Some(text.clone()), None),
            Delivery::Update(text) => (None, Some(text.clone())),
            Delivery::Nothing => (None, None),
        };
        Self {
            header,
            update,
            after: sending.after.map(|after| match after {
                Reason::Compaction { count } => ReasonRecord::Compaction(count),
                Reason::Resume => ReasonRecord::Resume,
            }),
            frame: sending.frame.as_ref().map(ToString::to_string),
            known: ids(&sending.known),
        }
    }
}

fn digits(marks: &[Mark]) -> String {
    let mut digits = String::with_capacity(16 * marks.len());
    for mark in marks {
        // Writing into a string cannot fail.
        let _ = write!(digits, "{:016x}", mark.0);
    }
    digits
}

/// What was asked for needs no mention: it always was, before there was anything else.
fn origin_name(origin: Origin) -> Option<String> {
    (origin != Origin::Asked).then(|| origin.as_str().to_owned())
}

impl From<&Usage> for UsageRecord {
    fn from(usage: &Usage) -> Self {
        Self {
            model: usage.model.clone(),
            input: usage.input,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            output: usage.output,
            reasoning: usage.reasoning,
            micro_dollars: usage.micro_dollars,
        }
    }
}

impl From<&Goal> for GoalRecord {
    fn from(goal: &Goal) -> Self {
        Self {
            title: goal.title.as_str().to_owned(),
            criteria: text_of(goal.criteria.as_ref()),
            criteria_compacted: text_of(goal.criteria_compacted.as_ref()),
        }
    }
}

impl From<&Results> for ResultsRecord {
    fn from(results: &Results) -> Self {
        Self {
            results: text(&results.full),
            results_compacted: text_of(results.compacted.as_ref()),
        }
    }
}

impl From<&Edit> for EditRecord {
    fn from(edit: &Edit) -> Self {
        Self {
            title: edit.title.as_ref().map(|title| title.as_str().to_owned()),
            criteria: text_of(edit.criteria.as_ref()),
            criteria_compacted: text_of(edit.criteria_compacted.as_ref()),
            results: text_of(edit.results.as_ref()),
            results_compacted: text_of(edit.results_compacted.as_ref()),
        }
    }
}

impl From<&Note> for NoteRecord {
    fn from(note: &Note) -> Self {
        match note {
            Note::Artifact(path) => Self::Artifact { text: text(path) },
            Note::Decision { text: what, why } => Self::Decision {
                text: text(what),
                why: text_of(why.as_ref()),
            },
            Note::FailedAttempt { text: what, why } => Self::FailedAttempt {
                text: text(what),
                why: text_of(why.as_ref()),
            },
            Note::Evidence(Evidence::Command { command, exit_code }) => Self::Command {
                text: text(command),
                exit_code: *exit_code,
            },
            Note::Evidence(Evidence::Test { id, passed }) => Self::Test {
                text: text(id),
                passed: *passed,
            },
            Note::Directive(what) => Self::Directive { text: text(what) },
            Note::Evidence(Evidence::Commit(hash)) => Self::Commit { text: text(hash) },
        }
    }
}

impl From<&LogEntry> for LogRecord {
    fn from(entry: &LogEntry) -> Self {
        Self {
            label: entry.label.as_str().to_owned(),
            blob: entry.blob.to_string(),
            bytes: entry.bytes,
        }
    }
}

impl From<&Frame> for FrameRecord {
    fn from(frame: &Frame) -> Self {
        Self {
            id: frame.id.to_string(),
            parent: frame.parent.as_ref().map(ToString::to_string),
            rank: frame.rank.0,
            status: frame.status.as_str().to_owned(),
            origin: origin_name(frame.origin),
            goal: GoalRecord {
                title: frame.title.as_str().to_owned(),
                criteria: text_of(frame.criteria.as_ref()),
                criteria_compacted: text_of(frame.criteria_compacted.as_ref()),
            },
            results: text_of(frame.results.as_ref()),
            results_compacted: text_of(frame.results_compacted.as_ref()),
            notes: frame.notes.iter().map(Into::into).collect(),
            log: frame.log.iter().map(Into::into).collect(),
            blocked_on: text_of(frame.blocked_on.as_ref()),
            invalidation_reason: frame.invalidation.as_ref().map(|known| text(&known.reason)),
            invalidated_at: frame.invalidation.as_ref().map(|known| known.at.0),
            span: frame.span.as_ref().map(|span| {
                (
                    span.session.to_string(),
                    span.first.clone(),
                    span.last.clone(),
                )
            }),
            session: frame.session.as_ref().map(ToString::to_string),
            aliases: frame.aliases.clone(),
            foreign: frame.foreign.clone(),
            created_at: frame.created_at.0,
            updated_at: frame.updated_at.0,
        }
    }
}
