//! How the `flamestack` objects are spelled in JSON.

use std::str::FromStr;

use flamestack_core::frame::{LogEntry, Origin, Rank, Span};
use flamestack_core::id::{BlobId, SHELL, SessionRef, Timestamp};
use flamestack_core::{Evidence, Note, Prose, Session, Title};
use serde::{Deserialize, Serialize};

use super::{Foreign, Own};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(super) struct WireFrame {
    key: String,
    id: String,
    rank: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    aliases: Vec<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    criteria_derived: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    results_derived: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<WireNote>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    log: Vec<WireLogEntry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    blocked_on: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    span: Option<WireSpan>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    created_at: Option<i64>,
    /// `true` for [`Foreign::Around`], else the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    foreign: Option<WireForeign>,
}

#[derive(Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
enum WireNote {
    Artifact { text: String },
    Decision { text: String, why: Option<String> },
    FailedAttempt { text: String, why: Option<String> },
    Command { text: String, exit_code: i32 },
    Test { text: String, passed: bool },
    Commit { text: String },
    Directive { text: String },
}

#[derive(Serialize, Deserialize)]
struct WireLogEntry {
    label: String,
    blob: String,
    bytes: u64,
}

#[derive(Serialize, Deserialize)]
struct WireSpan {
    session: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WireForeign {
    Around(bool),
    Text(String),
}

#[derive(Serialize, Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct WireState {
    pub(super) format: u64,
    #[serde(default)]
    pub(super) sessions: Vec<WireSession>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct WireSession {
    session: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    worktree: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    own: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    active: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

fn parsed<T: FromStr<Err: ToString>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

/// A session's name. That of a shell is the path of a worktree, which may hold blanks.
fn session_ref(text: &str) -> Result<SessionRef, String> {
    match text.split_once(':') {
        Some((SHELL, worktree)) => Ok(SessionRef::shell(worktree)),
        _ => parsed(text),
    }
}

fn prose(text: &str) -> Result<Prose, String> {
    Prose::new(text).map_err(|problem| format!("a text {problem}"))
}

fn maybe_prose(text: Option<&str>) -> Result<Option<Prose>, String> {
    text.map(prose).transpose()
}

fn owned(text: Option<&Prose>) -> Option<String> {
    text.map(|text| text.as_str().to_owned())
}

impl From<&Own> for WireFrame {
    fn from(own: &Own) -> Self {
        Self {
            key: own.key.clone(),
            id: own.id.to_string(),
            rank: own.rank.0,
            origin: (own.origin != Origin::Asked).then(|| own.origin.as_str().to_owned()),
            session: own.session.as_ref().map(ToString::to_string),
            aliases: own.aliases.clone(),
            criteria_derived: own.criteria_derived,
            results_derived: own.results_derived,
            notes: own.notes.iter().map(WireNote::from).collect(),
            log: own.log.iter().map(WireLogEntry::from).collect(),
            blocked_on: owned(own.blocked_on.as_ref()),
            span: own.span.as_ref().map(WireSpan::from),
            created_at: own.created_at.map(|Timestamp(ms)| ms),
            foreign: match &own.foreign {
                Foreign::None => None,
                Foreign::Around => Some(WireForeign::Around(true)),
                Foreign::Text(text) => Some(WireForeign::Text(text.clone())),
            },
        }
    }
}

impl TryFrom<WireFrame> for Own {
    type Error = String;

    fn try_from(wire: WireFrame) -> Result<Self, String> {
        Ok(Self {
            id: parsed(&wire.id)?,
            rank: Rank(wire.rank),
            // A later version may know others.
            origin: wire
                .origin
                .as_deref()
                .and_then(Origin::from_name)
                .unwrap_or_default(),
            session: wire.session.as_deref().map(session_ref).transpose()?,
            criteria_derived: wire.criteria_derived,
            results_derived: wire.results_derived,
            notes: wire
                .notes
                .iter()
                .map(Note::try_from)
                .collect::<Result<_, _>>()?,
            log: wire
                .log
                .iter()
                .map(LogEntry::try_from)
                .collect::<Result<_, _>>()?,
            blocked_on: maybe_prose(wire.blocked_on.as_deref())?,
            span: wire.span.map(Span::try_from).transpose()?,
            created_at: wire.created_at.map(Timestamp),
            foreign: match wire.foreign {
                None | Some(WireForeign::Around(false)) => Foreign::None,
                Some(WireForeign::Around(true)) => Foreign::Around,
                Some(WireForeign::Text(text)) => Foreign::Text(text),
            },
            aliases: wire.aliases,
            key: wire.key,
        })
    }
}

impl From<&Note> for WireNote {
    fn from(note: &Note) -> Self {
        let text = note.text().as_str().to_owned();
        match note {
            Note::Artifact(_) => Self::Artifact { text },
            Note::Decision { why, .. } => Self::Decision {
                text,
                why: owned(why.as_ref()),
            },
            Note::FailedAttempt { why, .. } => Self::FailedAttempt {
                text,
                why: owned(why.as_ref()),
            },
            Note::Evidence(Evidence::Command { exit_code, .. }) => Self::Command {
                text,
                exit_code: *exit_code,
            },
            Note::Evidence(Evidence::Test { passed, .. }) => Self::Test {
                text,
                passed: *passed,
            },
            Note::Evidence(Evidence::Commit(_)) => Self::Commit { text },
            Note::Directive(_) => Self::Directive { text },
        }
    }
}

impl TryFrom<&WireNote> for Note {
    type Error = String;

    fn try_from(wire: &WireNote) -> Result<Self, String> {
        Ok(match wire {
            WireNote::Artifact { text } => Self::Artifact(prose(text)?),
            WireNote::Decision { text, why } => Self::Decision {
                text: prose(text)?,
                why: maybe_prose(why.as_deref())?,
            },
            WireNote::FailedAttempt { text, why } => Self::FailedAttempt {
                text: prose(text)?,
                why: maybe_prose(why.as_deref())?,
            },
            WireNote::Command { text, exit_code } => Self::Evidence(Evidence::Command {
                command: prose(text)?,
                exit_code: *exit_code,
            }),
            WireNote::Test { text, passed } => Self::Evidence(Evidence::Test {
                id: prose(text)?,
                passed: *passed,
            }),
            WireNote::Directive { text } => Self::Directive(prose(text)?),
            WireNote::Commit { text } => Self::Evidence(Evidence::Commit(prose(text)?)),
        })
    }
}

impl From<&LogEntry> for WireLogEntry {
    fn from(entry: &LogEntry) -> Self {
        Self {
            label: entry.label.to_string(),
            blob: entry.blob.to_string(),
            bytes: entry.bytes,
        }
    }
}

impl TryFrom<&WireLogEntry> for LogEntry {
    type Error = String;

    fn try_from(wire: &WireLogEntry) -> Result<Self, String> {
        let label = Title::new(&wire.label).map_err(|problem| format!("a label {problem}"))?;
        let blob = BlobId::from_hex(&wire.blob).ok_or("a blob is not named by its hash")?;
        Ok(Self {
            label,
            blob,
            bytes: wire.bytes,
        })
    }
}

impl From<&Span> for WireSpan {
    fn from(span: &Span) -> Self {
        Self {
            session: span.session.to_string(),
            first: span.first.clone(),
            last: span.last.clone(),
        }
    }
}

impl TryFrom<WireSpan> for Span {
    type Error = String;

    fn try_from(wire: WireSpan) -> Result<Self, String> {
        Ok(Self {
            session: session_ref(&wire.session)?,
            first: wire.first,
            last: wire.last,
        })
    }
}

impl From<&Session> for WireSession {
    fn from(session: &Session) -> Self {
        Self {
            session: session.key.to_string(),
            worktree: session.worktree.clone(),
            own: session.own.as_ref().map(ToString::to_string),
            active: session.active.as_ref().map(ToString::to_string),
        }
    }
}

impl TryFrom<WireSession> for Session {
    type Error = String;

    fn try_from(wire: WireSession) -> Result<Self, String> {
        Ok(Self {
            key: session_ref(&wire.session)?,
            own: wire.own.as_deref().map(parsed).transpose()?,
            active: wire.active.as_deref().map(parsed).transpose()?,
            worktree: wire.worktree,
            turn: None,
            reverted: None,
        })
    }
}
