//! How an event is written down.
//!
//! The journal's format is a contract with every store ever written, so it has types of its own:
//! the domain may be renamed, this may only grow. Texts come back as they were recorded, without
//! being checked again.

use flamestack_core::event::{Closing, Edit, Event, Goal, Results};
use flamestack_core::frame::{Frame, Invalidation, LogEntry, Rank, Span, Status};
use flamestack_core::id::{BlobId, FrameId, Seq, SessionRef, Timestamp};
use flamestack_core::note::{Evidence, Note};
use flamestack_core::text::{Prose, Title};
use serde::{Deserialize, Serialize};

/// An event as JSON.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Record {
    SessionOpened {
        session: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        worktree: Option<String>,
    },
    SessionFocused {
        session: String,
        from: Option<String>,
        to: Option<String>,
    },
    SessionBound {
        session: String,
        frame: String,
    },
    SessionUnbound {
        session: String,
        frame: String,
    },
    FrameOpened {
        frame: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<String>,
        rank: i64,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        planned: bool,
        #[serde(flatten)]
        goal: GoalRecord,
    },
    FrameStarted {
        frame: String,
    },
    FrameClosed {
        frame: String,
        outcome: String,
        #[serde(flatten)]
        results: ResultsRecord,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cascaded: Vec<String>,
    },
    FrameBlocked {
        frame: String,
        reason: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        results: Option<ResultsRecord>,
    },
    FrameUnblocked {
        frame: String,
    },
    FrameEdited {
        frame: String,
        edit: EditRecord,
    },
    FrameInvalidated {
        frame: String,
        reason: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cascaded: Vec<String>,
    },
    FrameMoved {
        frame: String,
        parent: Option<String>,
        rank: i64,
    },
    FrameDeleted {
        frame: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        with: Vec<String>,
    },
    Noted {
        frame: String,
        note: NoteRecord,
    },
    Logged {
        frame: String,
        entry: LogRecord,
    },
    FrameImported {
        frame: Box<FrameRecord>,
    },
    StackImported {
        source: String,
        foreign: String,
    },
    CommandUndone {
        batch: i64,
    },
    BlobDropped {
        blob: String,
        bytes: u64,
    },
}

#[derive(Serialize, Deserialize)]
struct GoalRecord {
    title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    criteria: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    criteria_compacted: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct ResultsRecord {
    results: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    results_compacted: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct EditRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    criteria: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    criteria_compacted: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    results: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    results_compacted: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case")]
enum NoteRecord {
    Artifact {
        text: String,
    },
    Decision {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    FailedAttempt {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    Command {
        text: String,
        exit_code: i32,
    },
    Test {
        text: String,
        passed: bool,
    },
    Commit {
        text: String,
    },
}

#[derive(Serialize, Deserialize)]
struct LogRecord {
    label: String,
    blob: String,
    bytes: u64,
}

#[derive(Serialize, Deserialize)]
struct FrameRecord {
    id: String,
    parent: Option<String>,
    rank: i64,
    status: String,
    #[serde(flatten)]
    goal: GoalRecord,
    results: Option<String>,
    results_compacted: Option<String>,
    notes: Vec<NoteRecord>,
    log: Vec<LogRecord>,
    blocked_on: Option<String>,
    invalidation_reason: Option<String>,
    invalidated_at: Option<i64>,
    span: Option<(String, Option<String>, Option<String>)>,
    session: Option<String>,
    aliases: Vec<String>,
    foreign: Option<String>,
    created_at: i64,
    updated_at: i64,
}

/// Writes an event as JSON.
pub(crate) fn encode(event: &Event) -> Result<String, serde_json::Error> {
    serde_json::to_string(&Record::from(event))
}

/// Reads an event back.
pub(crate) fn decode(json: &str) -> Result<Event, String> {
    let record: Record = serde_json::from_str(json).map_err(|error| error.to_string())?;
    Event::try_from(record)
}

fn text(prose: &Prose) -> String {
    prose.as_str().to_owned()
}

fn text_of(prose: Option<&Prose>) -> Option<String> {
    prose.map(text)
}

fn ids(frames: &[FrameId]) -> Vec<String> {
    frames.iter().map(ToString::to_string).collect()
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
            Event::FrameOpened {
                frame,
                parent,
                rank,
                planned,
                goal,
            } => Self::FrameOpened {
                frame: frame.to_string(),
                parent: parent.as_ref().map(ToString::to_string),
                rank: rank.0,
                planned: *planned,
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
            Event::StackImported { source, foreign } => Self::StackImported {
                source: source.clone(),
                foreign: foreign.clone(),
            },
            Event::CommandUndone { batch } => Self::CommandUndone { batch: batch.0 },
            Event::BlobDropped { blob, bytes } => Self::BlobDropped {
                blob: blob.to_string(),
                bytes: *bytes,
            },
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

/// A frame id out of the journal.
pub(crate) fn frame_id(text: &str) -> Result<FrameId, String> {
    text.parse()
        .map_err(|error: flamestack_core::id::NotAFrameId| error.to_string())
}

/// A session out of the journal.
pub(crate) fn session(text: &str) -> Result<SessionRef, String> {
    text.parse()
        .map_err(|error: flamestack_core::id::NotASession| error.to_string())
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
            Record::FrameOpened {
                frame,
                parent,
                rank,
                planned,
                goal,
            } => Self::FrameOpened {
                frame: frame_id(&frame)?,
                parent: opt_id(parent.as_ref())?,
                rank: Rank(rank),
                planned,
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
            Record::StackImported { source, foreign } => Self::StackImported { source, foreign },
            Record::CommandUndone { batch } => Self::CommandUndone { batch: Seq(batch) },
            Record::BlobDropped { blob: hash, bytes } => Self::BlobDropped {
                blob: blob(&hash)?,
                bytes,
            },
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
            title: goal.title,
            criteria: goal.criteria,
            criteria_compacted: goal.criteria_compacted,
            results: record.results.map(Prose::recorded),
            results_compacted: record.results_compacted.map(Prose::recorded),
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
