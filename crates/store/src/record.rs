//! How an event is written down.
//!
//! The journal's format is a contract with every store ever written, so it has types of its own:
//! the domain may be renamed, this may only grow. Texts come back as they were recorded, without
//! being checked again.

mod compaction;
mod description;
mod read;
mod start;
mod write;

use flamestack_core::event::Event;
use serde::{Deserialize, Serialize};

use compaction::{CheckpointRecord, VerdictRecord};
pub(crate) use compaction::{awaiting, awaiting_text, compaction, compaction_text};
pub(crate) use description::{description, description_text};
pub(crate) use read::{frame_id, session};

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
    SessionPrompted {
        session: String,
    },
    SessionTurned {
        session: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<String>,
    },
    SessionInterrupted {
        session: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        how: Option<String>,
    },
    SessionCompacted {
        session: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        automatic: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens_before: Option<u64>,
    },
    CompactionBegun(CheckpointRecord),
    CompactionChecked(VerdictRecord),
    SummaryAwaited {
        frame: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        given: Option<ResultsRecord>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    SummaryArrived {
        frame: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
    },
    SessionSpent {
        session: String,
        #[serde(flatten)]
        usage: UsageRecord,
    },
    SessionReverted {
        session: String,
        to: String,
        masked: Vec<i64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stood: Option<String>,
        was: GlimpseRecord,
        seen: GlimpseRecord,
    },
    SessionRestored {
        session: String,
        reverted: i64,
        shown: Vec<i64>,
        seen: GlimpseRecord,
    },
    SubagentStarted(StartRecord),
    SubagentEnded {
        session: String,
        end: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<String>,
    },
    SessionWaiting {
        session: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on: Option<String>,
    },
    /// The marks are 16 hex digits each, without anything between them.
    SessionWitnessed {
        session: String,
        marks: String,
    },
    FrameOpened {
        frame: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<String>,
        rank: i64,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        planned: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<String>,
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
    FrameReopened {
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
    FrameCopied {
        of: String,
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
    SessionDescribed(DescriptionRecord),
    ModelUsed {
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<u64>,
    },
    ContextSent(SendingRecord),
}

#[derive(Serialize, Deserialize)]
struct DescriptionRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    directory: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host_version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    copy_of: Option<String>,
    /// Lines added, lines deleted, files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    diff: Option<(u64, u64, u64)>,
}

#[derive(Serialize, Deserialize)]
struct StartRecord {
    session: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    goal: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// 16 hex digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct SendingRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    header: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    update: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<ReasonRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    frame: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    known: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReasonRecord {
    Compaction(u32),
    Resume,
}

#[derive(Serialize, Deserialize)]
struct UsageRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(default)]
    input: u64,
    #[serde(default)]
    cache_read: u64,
    #[serde(default)]
    cache_write: u64,
    #[serde(default)]
    output: u64,
    #[serde(default)]
    reasoning: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    micro_dollars: Option<u64>,
}

#[derive(Serialize, Deserialize)]
struct GlimpseRecord {
    prompts: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    opening: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    said: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    interrupted: bool,
    #[serde(default)]
    interruptions: u64,
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
    Directive {
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
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
