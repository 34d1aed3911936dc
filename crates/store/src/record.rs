//! The journal's format.
//!
//! The format is a contract with every store ever written, so it is declared apart from the domain: a
//! type or a field may be renamed there (and gets a `rename` here), but what is written may only grow.
//! Texts are read back as recorded, without being validated again.

pub(crate) mod form;
mod frame;
mod session;
#[cfg(test)]
mod tests;

use flamestack_core::compaction::{AnchorReport, Checkpoint};
use flamestack_core::delivery::Sending;
use flamestack_core::event::{Closing, Edit, Event, Goal, Results};
use flamestack_core::frame::{Frame, LogEntry, Origin, Outcome, Rank};
use flamestack_core::id::{BlobId, Fingerprint, FrameId, Seq, SessionRef};
use flamestack_core::note::Note;
use flamestack_core::session::{ActivitySnapshot, Description, Model};
use flamestack_core::subagent::{End, Start};
use flamestack_core::text::Text;
use flamestack_core::transcript::Usage;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use form::{Form, Stored, stored_by};
pub(crate) use frame::NoteRecord;
pub(crate) use session::UsageRecord;

/// Writes a value as JSON.
pub(crate) fn encode<T: Stored>(value: &T) -> Result<String, serde_json::Error> {
    serde_json::to_string(&Form(value))
}

/// Reads a value back.
pub(crate) fn decode<T: Stored>(json: &str) -> Result<T, String> {
    let Form(value) = serde_json::from_str(json).map_err(|error| error.to_string())?;
    Ok(value)
}

stored_by! {
    Event: EventRecord;
}

/// An event as JSON.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Event", tag = "kind", rename_all = "snake_case")]
enum EventRecord {
    SessionOpened {
        #[serde(with = "form")]
        session: SessionRef,
        #[serde(skip_serializing_if = "Option::is_none")]
        worktree: Option<String>,
    },
    SessionFocused {
        #[serde(with = "form")]
        session: SessionRef,
        #[serde(with = "form", default)]
        from: Option<FrameId>,
        #[serde(with = "form", default)]
        to: Option<FrameId>,
    },
    SessionBound {
        #[serde(with = "form")]
        session: SessionRef,
        #[serde(with = "form")]
        frame: FrameId,
    },
    SessionUnbound {
        #[serde(with = "form")]
        session: SessionRef,
        #[serde(with = "form")]
        frame: FrameId,
    },
    SessionPrompted {
        #[serde(with = "form")]
        session: SessionRef,
    },
    SessionTurned {
        #[serde(with = "form")]
        session: SessionRef,
        #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
        said: Option<Text>,
    },
    SessionInterrupted {
        #[serde(with = "form")]
        session: SessionRef,
        #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
        how: Option<Text>,
    },
    SessionCompacted {
        #[serde(with = "form")]
        session: SessionRef,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        automatic: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        tokens_before: Option<u64>,
    },
    CompactionBegun(#[serde(with = "form")] Box<Checkpoint>),
    CompactionChecked(#[serde(with = "form")] Box<AnchorReport>),
    SummaryAwaited {
        #[serde(with = "form")]
        frame: FrameId,
        #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
        outcome: Option<Outcome>,
        #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
        given: Option<Results>,
        #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
        note: Option<Text>,
    },
    SummaryArrived {
        #[serde(with = "form")]
        frame: FrameId,
        #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
        summary: Option<Text>,
    },
    SessionSpent {
        #[serde(with = "form")]
        session: SessionRef,
        #[serde(with = "form", flatten)]
        usage: Usage,
    },
    SessionReverted {
        #[serde(with = "form")]
        session: SessionRef,
        to: String,
        #[serde(with = "form")]
        masked: Vec<Seq>,
        #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
        stood: Option<FrameId>,
        #[serde(with = "form")]
        was: ActivitySnapshot,
        #[serde(with = "form")]
        seen: ActivitySnapshot,
    },
    SessionRestored {
        #[serde(with = "form")]
        session: SessionRef,
        #[serde(with = "form")]
        reverted: Seq,
        #[serde(with = "form")]
        shown: Vec<Seq>,
        #[serde(with = "form")]
        seen: ActivitySnapshot,
    },
    SubagentStarted(#[serde(with = "form")] Box<Start>),
    SubagentEnded {
        #[serde(with = "form")]
        session: SessionRef,
        #[serde(with = "form")]
        end: End,
        #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
        output: Option<Text>,
    },
    SessionWaiting {
        #[serde(with = "form")]
        session: SessionRef,
        #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
        on: Option<Text>,
    },
    /// Fingerprints of 16 hex digits each, without separators.
    SessionWitnessed {
        #[serde(with = "form")]
        session: SessionRef,
        #[serde(with = "form::marks")]
        marks: Vec<Fingerprint>,
    },
    FrameOpened {
        #[serde(with = "form")]
        frame: FrameId,
        #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
        parent: Option<FrameId>,
        #[serde(with = "form")]
        rank: Rank,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        planned: bool,
        #[serde(with = "form", default, skip_serializing_if = "frame::is_asked")]
        origin: Origin,
        #[serde(with = "form", flatten)]
        goal: Goal,
    },
    FrameStarted {
        #[serde(with = "form")]
        frame: FrameId,
    },
    FrameClosed {
        #[serde(with = "form")]
        frame: FrameId,
        #[serde(with = "form")]
        outcome: Closing,
        #[serde(with = "form", flatten)]
        results: Results,
        #[serde(with = "form", default, skip_serializing_if = "Vec::is_empty")]
        cascaded: Vec<FrameId>,
    },
    FrameBlocked {
        #[serde(with = "form")]
        frame: FrameId,
        #[serde(with = "form")]
        reason: Text,
        #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
        results: Option<Results>,
    },
    FrameUnblocked {
        #[serde(with = "form")]
        frame: FrameId,
    },
    FrameReopened {
        #[serde(with = "form")]
        frame: FrameId,
    },
    FrameEdited {
        #[serde(with = "form")]
        frame: FrameId,
        #[serde(with = "form")]
        edit: Edit,
    },
    FrameInvalidated {
        #[serde(with = "form")]
        frame: FrameId,
        #[serde(with = "form")]
        reason: Text,
        #[serde(with = "form", default, skip_serializing_if = "Vec::is_empty")]
        cascaded: Vec<FrameId>,
    },
    FrameMoved {
        #[serde(with = "form")]
        frame: FrameId,
        #[serde(with = "form", default)]
        parent: Option<FrameId>,
        #[serde(with = "form")]
        rank: Rank,
    },
    FrameDeleted {
        #[serde(with = "form")]
        frame: FrameId,
        #[serde(with = "form", default, skip_serializing_if = "Vec::is_empty")]
        with: Vec<FrameId>,
    },
    Noted {
        #[serde(with = "form")]
        frame: FrameId,
        #[serde(with = "form")]
        note: Note,
    },
    Logged {
        #[serde(with = "form")]
        frame: FrameId,
        #[serde(with = "form")]
        entry: LogEntry,
    },
    FrameImported(#[serde(with = "frame::imported")] Box<Frame>),
    FrameCopied {
        #[serde(with = "form")]
        of: FrameId,
        #[serde(with = "form")]
        frame: Box<Frame>,
    },
    StackImported {
        source: String,
        foreign: String,
    },
    CommandUndone {
        #[serde(with = "form")]
        batch: Seq,
    },
    BlobDropped {
        #[serde(with = "form")]
        blob: BlobId,
        bytes: u64,
    },
    SessionDescribed(#[serde(with = "form")] Box<Description>),
    ModelUsed(#[serde(with = "form")] Model),
    ContextSent(#[serde(with = "form")] Box<Sending>),
}
