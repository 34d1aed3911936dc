//! The journal's format.
//!
//! The format is a contract with every store ever written, so it is declared apart from the domain: a
//! type or a field may be renamed there (and gets a `rename` here), but what is written may only grow.
//! Texts are read back as recorded, without being validated again.

pub(crate) mod form;
mod frame;
mod life;
mod session;
mod tagged;
#[cfg(test)]
mod tests;

use flamestack_core::Author;
use flamestack_core::autonomy::{Suggestion, SuggestionState};
use flamestack_core::compaction::{AnchorReport, Checkpoint};
use flamestack_core::delivery::Sending;
use flamestack_core::event::{Closing, Edit, Event, Goal, Results};
use flamestack_core::frame::{Frame, LogEntry, Origin, Outcome, Rank};
use flamestack_core::id::{BlobId, Fingerprint, FrameId, Seq, SessionRef, Timestamp};
use flamestack_core::note::Note;
use flamestack_core::session::checkpoint::{
    CallOutcome, CallStart, InterruptionCause, InterruptionCheckpoint, ProcessIdentity,
};
use flamestack_core::session::link::{Creation, LinkKind};
use flamestack_core::session::{ActivitySnapshot, Description, Model};
use flamestack_core::stall::Stall;
use flamestack_core::subagent::{EndedBy, SubagentEnd, SubagentStart};
use flamestack_core::text::Text;
use flamestack_core::transcript::Usage;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use form::{Form, Stored, tagged_record};
pub(crate) use frame::NoteRecord;
use tagged::Tagged;

/// Writes a value as JSON.
pub(crate) fn encode<T: Stored>(value: &T) -> Result<String, serde_json::Error> {
    serde_json::to_string(&Form(value))
}

/// Reads a value back.
pub(crate) fn decode<T: Stored>(json: &str) -> Result<T, String> {
    let Form(value) = serde_json::from_str(json).map_err(|error| error.to_string())?;
    Ok(value)
}

/// Start of an event whose author is not the usual one of its session.
const BY: &str = r#"{"by":""#;

/// Writes an event as JSON, with its author if that is not the usual one of its session.
pub(crate) fn encode_by(
    event: &Event,
    by: Author,
    session: &SessionRef,
) -> Result<String, serde_json::Error> {
    let body = encode(event)?;
    match body.strip_prefix('{') {
        Some(fields) if by != Author::of(session) => {
            Ok(format!(r#"{BY}{}",{fields}"#, by.as_str()))
        }
        _ => Ok(body),
    }
}

/// Returns the author of an event: the one it names, else the usual one of its session.
pub(crate) fn author(body: &str, session: &SessionRef) -> Author {
    let named = body.strip_prefix(BY).and_then(|rest| rest.split_once('"'));
    named
        .and_then(|(name, _)| Author::from_name(name))
        .unwrap_or_else(|| Author::of(session))
}

impl Stored for Event {
    fn store<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        EventRecord::serialize(self, serializer)
    }

    fn load<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        EventReader::deserialize(Tagged::new(deserializer, "kind"))
    }
}

tagged_record! { EventRecord, EventReader as "Event" by "kind" {
    SessionOpened { session: SessionRef, worktree: Option<String> = default },
    SessionFocused {
        session: SessionRef,
        from: Option<FrameId> [default],
        to: Option<FrameId> [default]
    },
    SessionBound { session: SessionRef, frame: FrameId },
    SessionUnbound { session: SessionRef, frame: FrameId },
    SessionPrompted { session: SessionRef, queued: Option<Text> = default },
    #[serde(rename = "session_turned")]
    TurnEnded { session: SessionRef, said: Option<Text> = default },
    SessionInterrupted {
        session: SessionRef,
        how: Option<Text> = default,
        cause: InterruptionCause = default
    },
    SessionCompacted {
        session: SessionRef,
        automatic: bool = default,
        tokens_before: Option<u64> = default
    },
    CompactionBegun(Box<Checkpoint>),
    CompactionChecked(Box<AnchorReport>),
    SummaryAwaited {
        frame: FrameId,
        outcome: Option<Outcome> = default,
        given: Option<Results> = default,
        note: Option<Text> = default,
        until: Option<Timestamp> = default
    },
    SummaryArrived { frame: FrameId, summary: Option<Text> = default },
    SessionSpent { session: SessionRef, usage: Usage [flatten] },
    SessionReverted {
        session: SessionRef,
        to: String,
        masked: Vec<Seq>,
        active_before: Option<FrameId> = default [rename = "stood"],
        activity_before: ActivitySnapshot [rename = "was"],
        activity_after: ActivitySnapshot [rename = "seen"]
    },
    SessionRestored {
        session: SessionRef,
        reverted: Seq,
        unmasked: Vec<Seq> [rename = "shown"],
        activity_after: ActivitySnapshot [rename = "seen"]
    },
    SubagentStarted(Box<SubagentStart>),
    SubagentEnded {
        session: SessionRef,
        end: SubagentEnd,
        output: Option<Text> = default,
        ended_by: EndedBy = default
    },
    SessionWaiting { session: SessionRef, on: Option<Text> = default },
    ResumeBegun { session: SessionRef },
    SessionStalled { session: SessionRef, stall: Option<Stall> = default },
    /// Fingerprints of 16 hex digits each, without separators.
    #[serde(rename = "session_witnessed")]
    EntriesIngested { session: SessionRef, marks: Vec<Fingerprint> },
    FrameOpened {
        frame: FrameId,
        parent: Option<FrameId> = default,
        rank: Rank,
        planned: bool = default,
        origin: Origin = default,
        goal: Goal [flatten]
    },
    FrameStarted { frame: FrameId },
    FrameClosed {
        frame: FrameId,
        outcome: Closing,
        results: Results [flatten],
        cascaded: Vec<FrameId> = default
    },
    FrameBlocked { frame: FrameId, reason: Text, results: Option<Results> = default },
    FrameUnblocked { frame: FrameId, planned: bool = default },
    FrameReopened { frame: FrameId },
    FrameEdited { frame: FrameId, edit: Edit },
    FrameInvalidated { frame: FrameId, reason: Text, cascaded: Vec<FrameId> = default },
    FrameMoved { frame: FrameId, parent: Option<FrameId> [default], rank: Rank },
    FrameDeleted { frame: FrameId, with: Vec<FrameId> = default },
    Noted { frame: FrameId, note: Note },
    Logged { frame: FrameId, entry: LogEntry },
    FrameImported { frame: Box<Frame> },
    FrameCopied { of: FrameId, frame: Box<Frame> },
    StackImported { source: String, foreign: String },
    CommandUndone { batch: Seq },
    BlobDropped { blob: BlobId, bytes: u64 },
    TextForgotten { places: u64, texts: u64 },
    SessionCreated(Box<Creation>),
    SessionLinked {
        session: SessionRef,
        kind: LinkKind [rename = "link"],
        to: Option<SessionRef> = default,
        removed: bool = default
    },
    SessionClosed { session: SessionRef, why: Option<Text> = default },
    SessionHosted(ProcessIdentity),
    CallBegun(Box<CallStart>),
    CallEnded { call: String, outcome: CallOutcome },
    InterruptionKept(Box<InterruptionCheckpoint>),
    SessionDescribed(Box<Description>),
    ModelUsed(Model),
    ContextSent(Box<Sending>),
    SuggestionMade(Box<Suggestion>),
    SuggestionAnswered { suggestion: Seq, state: SuggestionState },
    SuggestionsSnoozed { until: u64 },
    SuggestionsReset,
} }
