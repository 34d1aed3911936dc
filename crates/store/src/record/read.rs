//! From the journal's format to the domain.

use flamestack_core::Model;
use flamestack_core::context::{Delivery, Reason, Sending};
use flamestack_core::event::{Closing, Edit, Event, Goal, Results};
use flamestack_core::frame::{Frame, Invalidation, LogEntry, Origin, Rank, Span, Status};
use flamestack_core::id::{
    BlobId, FrameId, Mark, NotAFrameId, NotASession, Seq, SessionRef, Timestamp,
};
use flamestack_core::note::{Evidence, Note};
use flamestack_core::session::Glimpse;
use flamestack_core::subagent::End;
use flamestack_core::text::{Prose, Title};
use flamestack_core::transcript::Usage;

use super::compaction::outcome;
use super::{
    EditRecord, FrameRecord, GlimpseRecord, GoalRecord, LogRecord, NoteRecord, ReasonRecord,
    Record, ResultsRecord, SendingRecord, UsageRecord,
};

/// A frame id out of the journal.
pub(crate) fn frame_id(text: &str) -> Result<FrameId, String> {
    text.parse().map_err(|error: NotAFrameId| error.to_string())
}

/// A session out of the journal.
pub(crate) fn session(text: &str) -> Result<SessionRef, String> {
    text.parse().map_err(|error: NotASession| error.to_string())
}

fn opt_id(text: Option<&String>) -> Result<Option<FrameId>, String> {
    text.map(|text| frame_id(text)).transpose()
}

fn all_ids(texts: &[String]) -> Result<Vec<FrameId>, String> {
    texts.iter().map(|text| frame_id(text)).collect()
}

fn blob(text: &str) -> Result<BlobId, String> {
    BlobId::from_hex(text).ok_or_else(|| format!("`{text}` is not a hash"))
}

fn status(name: &str) -> Result<Status, String> {
    Status::from_name(name).ok_or_else(|| format!("`{name}` is not a status"))
}

fn closing(name: &str) -> Result<Closing, String> {
    match status(name)? {
        Status::Completed => Ok(Closing::Completed),
        Status::Failed => Ok(Closing::Failed),
        other => Err(format!("a frame does not close as {other}")),
    }
}

fn origin(name: Option<&str>) -> Result<Origin, String> {
    match name {
        None => Ok(Origin::Asked),
        Some(name) => Origin::from_name(name).ok_or_else(|| format!("`{name}` is not an origin")),
    }
}

fn marks(digits: &str) -> Result<Vec<Mark>, String> {
    let bad = || format!("`{digits}` is not a row of marks");
    if !digits.is_ascii() || !digits.len().is_multiple_of(16) {
        return Err(bad());
    }
    (0..digits.len())
        .step_by(16)
        .map(|start| {
            let mark = digits.get(start..start + 16).unwrap_or_default();
            u64::from_str_radix(mark, 16).map(Mark).map_err(|_| bad())
        })
        .collect()
}

impl From<UsageRecord> for Usage {
    fn from(record: UsageRecord) -> Self {
        Self {
            model: record.model,
            input: record.input,
            cache_read: record.cache_read,
            cache_write: record.cache_write,
            output: record.output,
            reasoning: record.reasoning,
            micro_dollars: record.micro_dollars,
        }
    }
}

impl From<GlimpseRecord> for Glimpse {
    fn from(record: GlimpseRecord) -> Self {
        Self {
            prompts: record.prompts,
            opening: record.opening,
            said: record.said.map(Prose::recorded),
            interrupted: record.interrupted,
            interruptions: record.interruptions,
        }
    }
}

impl TryFrom<Record> for Event {
    type Error = String;

    #[expect(clippy::too_many_lines, reason = "one arm an event")]
    fn try_from(record: Record) -> Result<Self, String> {
        Ok(match record {
            Record::SessionOpened {
                session: key,
                worktree,
            } => Self::SessionOpened {
                session: session(&key)?,
                worktree,
            },
            Record::SessionFocused {
                session: key,
                from,
                to,
            } => Self::SessionFocused {
                session: session(&key)?,
                from: opt_id(from.as_ref())?,
                to: opt_id(to.as_ref())?,
            },
            Record::SessionBound {
                session: key,
                frame,
            } => Self::SessionBound {
                session: session(&key)?,
                frame: frame_id(&frame)?,
            },
            Record::SessionUnbound {
                session: key,
                frame,
            } => Self::SessionUnbound {
                session: session(&key)?,
                frame: frame_id(&frame)?,
            },
            Record::SessionPrompted { session: key } => Self::SessionPrompted {
                session: session(&key)?,
            },
            Record::SessionTurned { session: key, said } => Self::SessionTurned {
                session: session(&key)?,
                said: said.map(Prose::recorded),
            },
            Record::SessionInterrupted { session: key, how } => Self::SessionInterrupted {
                session: session(&key)?,
                how: how.map(Prose::recorded),
            },
            Record::SessionCompacted {
                session: key,
                automatic,
                tokens_before,
            } => Self::SessionCompacted {
                session: session(&key)?,
                automatic,
                tokens_before,
            },
            Record::CompactionBegun(checkpoint) => {
                Self::CompactionBegun(Box::new(checkpoint.try_into()?))
            }
            Record::CompactionChecked(verdict) => Self::CompactionChecked(Box::new(verdict.into())),
            Record::SummaryAwaited {
                frame,
                outcome: ending,
                given,
                note,
            } => Self::SummaryAwaited {
                frame: frame_id(&frame)?,
                outcome: outcome(ending.as_deref())?,
                given: given.map(Into::into),
                note: note.map(Prose::recorded),
            },
            Record::SummaryArrived { frame, summary } => Self::SummaryArrived {
                frame: frame_id(&frame)?,
                summary: summary.map(Prose::recorded),
            },
            Record::SessionReverted {
                session: key,
                to,
                masked,
                stood,
                was,
                seen,
            } => Self::SessionReverted {
                session: session(&key)?,
                to,
                masked: masked.into_iter().map(Seq).collect(),
                stood: opt_id(stood.as_ref())?,
                was: was.into(),
                seen: seen.into(),
            },
            Record::SessionRestored {
                session: key,
                reverted,
                shown,
                seen,
            } => Self::SessionRestored {
                session: session(&key)?,
                reverted: Seq(reverted),
                shown: shown.into_iter().map(Seq).collect(),
                seen: seen.into(),
            },
            Record::SessionSpent {
                session: key,
                usage,
            } => Self::SessionSpent {
                session: session(&key)?,
                usage: usage.into(),
            },
            Record::SubagentStarted(start) => Self::SubagentStarted(Box::new(start.try_into()?)),
            Record::SubagentEnded {
                session: key,
                end,
                output,
            } => Self::SubagentEnded {
                session: session(&key)?,
                end: End::from_name(&end).ok_or_else(|| format!("`{end}` is not an end"))?,
                output: output.map(Prose::recorded),
            },
            Record::SessionWaiting { session: key, on } => Self::SessionWaiting {
                session: session(&key)?,
                on: on.map(Prose::recorded),
            },
            Record::SessionWitnessed {
                session: key,
                marks: digits,
            } => Self::SessionWitnessed {
                session: session(&key)?,
                marks: marks(&digits)?,
            },
            Record::FrameOpened {
                frame,
                parent,
                rank,
                planned,
                origin: name,
                goal,
            } => Self::FrameOpened {
                frame: frame_id(&frame)?,
                parent: opt_id(parent.as_ref())?,
                rank: Rank(rank),
                planned,
                origin: origin(name.as_deref())?,
                goal: goal.into(),
            },
            Record::FrameStarted { frame } => Self::FrameStarted {
                frame: frame_id(&frame)?,
            },
            Record::FrameClosed {
                frame,
                outcome,
                results,
                cascaded,
            } => Self::FrameClosed {
                frame: frame_id(&frame)?,
                outcome: closing(&outcome)?,
                results: results.into(),
                cascaded: all_ids(&cascaded)?,
            },
            Record::FrameBlocked {
                frame,
                reason,
                results,
            } => Self::FrameBlocked {
                frame: frame_id(&frame)?,
                reason: Prose::recorded(reason),
                results: results.map(Into::into),
            },
            Record::FrameUnblocked { frame } => Self::FrameUnblocked {
                frame: frame_id(&frame)?,
            },
            Record::FrameReopened { frame } => Self::FrameReopened {
                frame: frame_id(&frame)?,
            },
            Record::FrameEdited { frame, edit } => Self::FrameEdited {
                frame: frame_id(&frame)?,
                edit: edit.into(),
            },
            Record::FrameInvalidated {
                frame,
                reason,
                cascaded,
            } => Self::FrameInvalidated {
                frame: frame_id(&frame)?,
                reason: Prose::recorded(reason),
                cascaded: all_ids(&cascaded)?,
            },
            Record::FrameMoved {
                frame,
                parent,
                rank,
            } => Self::FrameMoved {
                frame: frame_id(&frame)?,
                parent: opt_id(parent.as_ref())?,
                rank: Rank(rank),
            },
            Record::FrameDeleted { frame, with } => Self::FrameDeleted {
                frame: frame_id(&frame)?,
                with: all_ids(&with)?,
            },
            Record::Noted { frame, note } => Self::Noted {
                frame: frame_id(&frame)?,
                note: note.into(),
            },
            Record::Logged { frame, entry } => Self::Logged {
                frame: frame_id(&frame)?,
                entry: entry.try_into()?,
            },
            Record::FrameImported { frame } => {
                Self::FrameImported(Box::new(Frame::try_from(*frame)?))
            }
            Record::FrameCopied { of, frame } => Self::FrameCopied {
                of: frame_id(&of)?,
                frame: Box::new(Frame::try_from(*frame)?),
            },
            Record::StackImported { source, foreign } => Self::StackImported { source, foreign },
            Record::CommandUndone { batch } => Self::CommandUndone { batch: Seq(batch) },
            Record::BlobDropped { blob: hash, bytes } => Self::BlobDropped {
                blob: blob(&hash)?,
                bytes,
            },
            Record::SessionDescribed(description) => {
                Self::SessionDescribed(Box::new(description.try_into()?))
            }
            Record::ModelUsed { name, window } => Self::ModelUsed(Model {
                name: Title::recorded(name),
                window,
            }),
            Record::ContextSent(sending) => Self::ContextSent(Box::new(sending.try_into()?)),
        })
    }
}

impl TryFrom<SendingRecord> for Sending {
    type Error = String;

    fn try_from(record: SendingRecord) -> Result<Self, String> {
        Ok(Self {
            delivery: match (record.header, record.update) {
                (Some(text), _) => Delivery::Header(text),
                (None, Some(text)) => Delivery::Update(text),
                (None, None) => Delivery::Nothing,
            },
            after: record.after.map(|after| match after {
                ReasonRecord::Compaction(count) => Reason::Compaction { count },
                ReasonRecord::Resume => Reason::Resume,
            }),
            frame: opt_id(record.frame.as_ref())?,
            known: all_ids(&record.known)?,
        })
    }
}

impl From<GoalRecord> for Goal {
    fn from(record: GoalRecord) -> Self {
        Self {
            title: Title::recorded(record.title),
            criteria: record.criteria.map(Prose::recorded),
            criteria_compacted: record.criteria_compacted.map(Prose::recorded),
        }
    }
}

impl From<ResultsRecord> for Results {
    fn from(record: ResultsRecord) -> Self {
        Self {
            full: Prose::recorded(record.results),
            compacted: record.results_compacted.map(Prose::recorded),
        }
    }
}

impl From<EditRecord> for Edit {
    fn from(record: EditRecord) -> Self {
        Self {
            title: record.title.map(Title::recorded),
            criteria: record.criteria.map(Prose::recorded),
            criteria_compacted: record.criteria_compacted.map(Prose::recorded),
            results: record.results.map(Prose::recorded),
            results_compacted: record.results_compacted.map(Prose::recorded),
        }
    }
}

impl From<NoteRecord> for Note {
    fn from(record: NoteRecord) -> Self {
        match record {
            NoteRecord::Artifact { text } => Self::Artifact(Prose::recorded(text)),
            NoteRecord::Decision { text, why } => Self::Decision {
                text: Prose::recorded(text),
                why: why.map(Prose::recorded),
            },
            NoteRecord::FailedAttempt { text, why } => Self::FailedAttempt {
                text: Prose::recorded(text),
                why: why.map(Prose::recorded),
            },
            NoteRecord::Command { text, exit_code } => Self::Evidence(Evidence::Command {
                command: Prose::recorded(text),
                exit_code,
            }),
            NoteRecord::Test { text, passed } => Self::Evidence(Evidence::Test {
                id: Prose::recorded(text),
                passed,
            }),
            NoteRecord::Directive { text } => Self::Directive(Prose::recorded(text)),
            NoteRecord::Commit { text } => Self::Evidence(Evidence::Commit(Prose::recorded(text))),
        }
    }
}

impl TryFrom<LogRecord> for LogEntry {
    type Error = String;

    fn try_from(record: LogRecord) -> Result<Self, String> {
        Ok(Self {
            label: Title::recorded(record.label),
            blob: blob(&record.blob)?,
            bytes: record.bytes,
        })
    }
}

impl TryFrom<FrameRecord> for Frame {
    type Error = String;

    fn try_from(record: FrameRecord) -> Result<Self, String> {
        let invalidation = record.invalidation_reason.map(|reason| Invalidation {
            reason: Prose::recorded(reason),
            at: Timestamp(record.invalidated_at.unwrap_or(record.updated_at)),
        });
        let span = match record.span {
            Some((key, first, last)) => Some(Span {
                session: session(&key)?,
                first,
                last,
            }),
            None => None,
        };
        let goal = Goal::from(record.goal);
        Ok(Self {
            id: frame_id(&record.id)?,
            parent: opt_id(record.parent.as_ref())?,
            rank: Rank(record.rank),
            status: status(&record.status)?,
            origin: origin(record.origin.as_deref())?,
            title: goal.title,
            criteria: goal.criteria,
            criteria_compacted: goal.criteria_compacted,
            results: record.results.map(Prose::recorded),
            results_compacted: record.results_compacted.map(Prose::recorded),
            summary: None,
            awaiting: None,
            notes: record.notes.into_iter().map(Into::into).collect(),
            log: record
                .log
                .into_iter()
                .map(TryInto::try_into)
                .collect::<Result<_, _>>()?,
            blocked_on: record.blocked_on.map(Prose::recorded),
            invalidation,
            span,
            session: record.session.as_deref().map(session).transpose()?,
            aliases: record.aliases,
            foreign: record.foreign,
            created_at: Timestamp(record.created_at),
            updated_at: Timestamp(record.updated_at),
            changed: Seq(0),
            closed: None,
        })
    }
}
