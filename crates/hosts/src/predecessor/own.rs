//! Our own `flamestack` objects: what the predecessors have no field for.
//!
//! One per frame and one for the whole state. They are additions: taken out, a file of the
//! predecessors' remains. What *has* a field of theirs is not repeated here, so that a frame which a
//! predecessor worked on after our export comes back with those changes.

mod wire;

use flamestack_core::frame::{LogEntry, Origin, Rank, Span};
use flamestack_core::id::{FrameId, SessionRef, Timestamp};
use flamestack_core::{Note, Prose, Session};
use serde::Deserialize as _;
use serde_json::Value;

use self::wire::{WireFrame, WireSession, WireState};

/// The name of the additional objects.
pub(super) const FIELD: &str = "flamestack";
/// The format of this version's exports.
pub(super) const FORMAT: u64 = 1;

/// What a frame is besides what the predecessors' fields say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Own {
    /// The name under which it was exported; another name in the file means that a predecessor
    /// renamed it, as it does when a planned frame begins.
    pub(super) key: String,
    pub(super) id: FrameId,
    pub(super) rank: Rank,
    pub(super) origin: Origin,
    pub(super) session: Option<SessionRef>,
    pub(super) aliases: Vec<String>,
    /// The dense criteria in the file were derived for the predecessor's sake.
    pub(super) criteria_derived: bool,
    /// The same for the results.
    pub(super) results_derived: bool,
    pub(super) notes: Vec<Note>,
    pub(super) log: Vec<LogEntry>,
    pub(super) blocked_on: Option<Prose>,
    pub(super) span: Option<Span>,
    /// When it was opened, where the predecessor's object does not say.
    pub(super) created_at: Option<Timestamp>,
    pub(super) foreign: Foreign,
}

/// The object that a frame was once imported from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Foreign {
    /// There is none: the frame is ours.
    None,
    /// The object around this one, as nothing has changed since.
    Around,
    /// This text.
    Text(String),
}

/// Reads the object of a frame.
pub(super) fn read(value: &Value) -> Result<Own, String> {
    let wire = WireFrame::deserialize(value).map_err(|error| error.to_string())?;
    wire.try_into()
}

/// Writes the object of a frame.
pub(super) fn write(own: &Own) -> Value {
    // Names and plain values only: there is nothing in it that could fail to become JSON.
    serde_json::to_value(WireFrame::from(own)).unwrap_or_default()
}

/// Reads the sessions out of the object of a whole state, or the format if it is a later one.
pub(super) fn read_sessions(value: &Value) -> Result<Vec<Session>, Unread> {
    if let Some(found) = value.get("format").and_then(Value::as_u64)
        && found > FORMAT
    {
        return Err(Unread::Newer(found));
    }
    let bad = |error: serde_json::Error| Unread::Bad(error.to_string());
    let wire = WireState::deserialize(value).map_err(bad)?;
    let sessions = wire.sessions.into_iter();
    sessions
        .map(|session| session.try_into().map_err(Unread::Bad))
        .collect()
}

/// Why the object of a state was not read.
pub(super) enum Unread {
    Newer(u64),
    Bad(String),
}

/// Writes the object of a whole state.
pub(super) fn write_sessions(sessions: &[&Session]) -> Value {
    let wire = WireState {
        format: FORMAT,
        sessions: sessions
            .iter()
            .map(|session| WireSession::from(*session))
            .collect(),
    };
    serde_json::to_value(wire).unwrap_or_default()
}
