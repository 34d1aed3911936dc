//! Frames and their parts in the journal's format.

use std::borrow::Cow;

use flamestack_core::Author;
use flamestack_core::event::{Edit, Goal, Results};
use flamestack_core::frame::{Awaiting, Frame, Invalidation, LogEntry, Origin, Outcome, Rank};
use flamestack_core::frame::{Span, Status};
use flamestack_core::id::{BlobId, FrameId, Seq, SessionRef, Timestamp};
use flamestack_core::note::{Evidence, Note};
use flamestack_core::text::{Text, Title};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::form::{self, Form, Stored, known, records, stored_by};

records! {
    GoalRecord for Goal as "Goal" {
        title: Title,
        criteria: Option<Text> = default,
        criteria_compacted: Option<Text> = default,
    }
    ResultsRecord for Results as "Results" {
        full: Text [rename = "results"],
        compacted: Option<Text> = default [rename = "results_compacted"],
    }
    EditRecord for Edit as "Edit" {
        title: Option<Title> = default,
        criteria: Option<Text> = default,
        criteria_compacted: Option<Text> = default,
        results: Option<Text> = default,
        results_compacted: Option<Text> = default,
    }
    LogRecord for LogEntry as "LogEntry" {
        label: Title,
        blob: BlobId,
        bytes: u64,
    }
    /// A frame that waits for a summary; in the projection and in whole frames.
    AwaitingRecord for Awaiting as "Awaiting" {
        session: SessionRef,
        since: Timestamp,
        outcome: Option<Outcome> [default],
        given: Option<Results> [default],
        note: Option<Text> [default],
        until: Option<Timestamp> [default],
    }
}

/// A whole frame. The skipped fields are folded from events that a whole frame has none of.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Frame")]
struct FrameRecord {
    #[serde(with = "form")]
    id: FrameId,
    #[serde(with = "form", default)]
    parent: Option<FrameId>,
    #[serde(with = "form")]
    rank: Rank,
    #[serde(with = "form")]
    status: Status,
    #[serde(with = "form", default, skip_serializing_if = "form::is_absent")]
    origin: Origin,
    #[serde(with = "form")]
    title: Title,
    #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
    criteria: Option<Text>,
    #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
    criteria_compacted: Option<Text>,
    #[serde(with = "form", default)]
    results: Option<Text>,
    #[serde(with = "form", default)]
    results_compacted: Option<Text>,
    #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
    summary: Option<Text>,
    #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
    awaiting: Option<Awaiting>,
    #[serde(with = "form")]
    notes: Vec<Note>,
    #[serde(with = "form")]
    log: Vec<LogEntry>,
    #[serde(with = "form", default)]
    blocked_on: Option<Text>,
    #[serde(with = "invalidation", flatten)]
    invalidation: Option<Invalidation>,
    #[serde(with = "form", default)]
    span: Option<Span>,
    #[serde(with = "form", default)]
    session: Option<SessionRef>,
    aliases: Vec<String>,
    foreign: Option<String>,
    #[serde(with = "form")]
    created_at: Timestamp,
    #[serde(with = "form")]
    updated_at: Timestamp,
    #[serde(skip)]
    changed: Seq,
    #[serde(skip)]
    closed: Option<Seq>,
}

stored_by! {
    Frame: FrameRecord;
}

/// An invalidation as two fields of its frame.
mod invalidation {
    use super::{Deserialize, Deserializer, Form, Invalidation, Serialize, Serializer};
    use super::{Text, Timestamp};

    #[expect(clippy::ref_option, reason = "serde passes a reference")]
    pub(super) fn serialize<S: Serializer>(
        invalidation: &Option<Invalidation>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields<'a> {
            invalidation_reason: Option<Form<&'a Text>>,
            invalidated_at: Option<Form<&'a Timestamp>>,
        }
        let known = invalidation.as_ref();
        let fields = Fields {
            invalidation_reason: known.map(|known| Form(&known.reason)),
            invalidated_at: known.map(|known| Form(&known.at)),
        };
        fields.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Invalidation>, D::Error> {
        #[derive(Deserialize)]
        struct Fields {
            invalidation_reason: Option<Form<Text>>,
            invalidated_at: Option<Form<Timestamp>>,
        }
        let fields = Fields::deserialize(deserializer)?;
        let invalidated = fields.invalidation_reason.zip(fields.invalidated_at);
        Ok(invalidated.map(|(Form(reason), Form(at))| Invalidation { reason, at }))
    }
}

/// A note in parts, which are fields of the journal and columns of the projection.
#[derive(Serialize, Deserialize)]
pub(crate) struct NoteRecord<'a> {
    /// Kind of note.
    #[serde(rename = "note")]
    pub(crate) kind: Cow<'a, str>,
    /// Its main text.
    pub(crate) text: Cow<'a, str>,
    /// Reason of a decision or a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<Cow<'a, str>>,
    /// Exit code of a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exit_code: Option<i32>,
    /// Outcome of a test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) passed: Option<bool>,
    /// The author of a decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<Cow<'a, str>>,
}

impl<'a> From<&'a Note> for NoteRecord<'a> {
    fn from(note: &'a Note) -> Self {
        let (kind, why, exit_code, passed) = match note {
            Note::Artifact(_) => ("artifact", None, None, None),
            Note::Decision { why, .. } => ("decision", why.as_ref(), None, None),
            Note::FailedAttempt { why, .. } => ("failed_attempt", why.as_ref(), None, None),
            Note::Evidence(Evidence::Command { exit_code, .. }) => {
                ("command", None, Some(*exit_code), None)
            }
            Note::Evidence(Evidence::Test { passed, .. }) => ("test", None, None, Some(*passed)),
            Note::Evidence(Evidence::Commit(_)) => ("commit", None, None, None),
            Note::Directive(_) => ("directive", None, None, None),
        };
        Self {
            kind: kind.into(),
            text: note.text().as_str().into(),
            why: why.map(|why| why.as_str().into()),
            exit_code,
            passed,
            // Left out for a model, as in journals from before decisions had an author.
            by: note
                .decided_by()
                .filter(|by| *by == Author::User)
                .map(|by| by.as_str().into()),
        }
    }
}

impl NoteRecord<'_> {
    /// Returns the exit code or the outcome as a number.
    pub(crate) fn code(&self) -> Option<i64> {
        let exit_code = self.exit_code.map(i64::from);
        exit_code.or(self.passed.map(i64::from))
    }
}

impl TryFrom<NoteRecord<'_>> for Note {
    type Error = String;

    fn try_from(record: NoteRecord<'_>) -> Result<Self, String> {
        let text = Text::recorded(record.text.into_owned());
        let why = record.why.map(|why| Text::recorded(why.into_owned()));
        let note = match &*record.kind {
            "artifact" => Self::Artifact(text),
            "decision" => Self::Decision {
                text,
                why,
                by: record
                    .by
                    .and_then(|by| Author::from_name(&by))
                    .unwrap_or_default(),
            },
            "failed_attempt" => Self::FailedAttempt { text, why },
            "command" => Self::Evidence(Evidence::Command {
                command: text,
                exit_code: record.exit_code.unwrap_or_default(),
            }),
            "test" => Self::Evidence(Evidence::Test {
                id: text,
                passed: record.passed.unwrap_or_default(),
            }),
            "commit" => Self::Evidence(Evidence::Commit(text)),
            "directive" => Self::Directive(text),
            other => return known(None, other, "a kind of note"),
        };
        Ok(note)
    }
}

impl Stored for Note {
    fn store<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        NoteRecord::from(self).serialize(serializer)
    }

    fn load<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let record = NoteRecord::deserialize(deserializer)?;
        record.try_into().map_err(D::Error::custom)
    }
}
