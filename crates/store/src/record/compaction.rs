//! How compactions, and frames that wait for a summary, are written down.

use flamestack_core::brief::{Anchor, AnchorKind};
use flamestack_core::compaction::{Checkpoint, Compaction, CompactionKind, Verdict};
use flamestack_core::frame::{Awaiting, Outcome};
use flamestack_core::id::Timestamp;
use flamestack_core::text::Prose;
use serde::{Deserialize, Serialize};

use super::ResultsRecord;
use super::read::{frame_id, session};

/// The kind of an anchor and its words.
type AnchorRecord = (String, String);

#[derive(Serialize, Deserialize)]
pub(super) struct CheckpointRecord {
    why: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    frame: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    anchors: Vec<AnchorRecord>,
}

#[derive(Default, Serialize, Deserialize)]
pub(super) struct VerdictRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    said_nothing: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    survived: Vec<AnchorRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    lost: Vec<AnchorRecord>,
    #[serde(default)]
    restored: u64,
}

/// A row of the projection; the journal has its parts.
#[derive(Default, Serialize, Deserialize)]
struct CompactionRecord {
    why: Option<String>,
    frame: Option<String>,
    begun: Option<i64>,
    ended: Option<i64>,
    before: Option<u64>,
    after: Option<u64>,
    anchors: Vec<AnchorRecord>,
    verdict: Option<VerdictRecord>,
}

#[derive(Serialize, Deserialize)]
struct AwaitingRecord {
    session: String,
    since: i64,
    outcome: Option<String>,
    given: Option<ResultsRecord>,
    note: Option<String>,
}

fn written(anchors: &[Anchor]) -> Vec<AnchorRecord> {
    let written = |anchor: &Anchor| (anchor.kind.as_str().to_owned(), anchor.text.clone());
    anchors.iter().map(written).collect()
}

/// A kind that a later version made up is no reason to lose the words.
fn read(anchors: Vec<AnchorRecord>) -> Vec<Anchor> {
    let read = |(kind, text): AnchorRecord| Anchor {
        kind: AnchorKind::from_name(&kind).unwrap_or(AnchorKind::Goal),
        text,
    };
    anchors.into_iter().map(read).collect()
}

fn kind(name: &str) -> Result<CompactionKind, String> {
    CompactionKind::from_name(name).ok_or_else(|| format!("`{name}` is no kind of compaction"))
}

pub(super) fn outcome(name: Option<&str>) -> Result<Option<Outcome>, String> {
    let known = |name: &str| {
        Outcome::from_name(name).ok_or_else(|| format!("a frame does not end as `{name}`"))
    };
    name.map(known).transpose()
}

pub(super) fn outcome_name(outcome: Option<Outcome>) -> Option<String> {
    outcome.map(|outcome| outcome.status().as_str().to_owned())
}

impl From<&Checkpoint> for CheckpointRecord {
    fn from(checkpoint: &Checkpoint) -> Self {
        Self {
            why: checkpoint.kind.as_str().to_owned(),
            frame: checkpoint.frame.as_ref().map(ToString::to_string),
            tokens: checkpoint.tokens,
            anchors: written(&checkpoint.anchors),
        }
    }
}

impl TryFrom<CheckpointRecord> for Checkpoint {
    type Error = String;

    fn try_from(record: CheckpointRecord) -> Result<Self, String> {
        Ok(Self {
            kind: kind(&record.why)?,
            frame: record.frame.as_deref().map(frame_id).transpose()?,
            tokens: record.tokens,
            anchors: read(record.anchors),
        })
    }
}

impl From<&Verdict> for VerdictRecord {
    fn from(verdict: &Verdict) -> Self {
        Self {
            summary: verdict
                .summary
                .as_ref()
                .map(|text| text.as_str().to_owned()),
            said_nothing: verdict.said_nothing,
            survived: written(&verdict.survived),
            lost: written(&verdict.lost),
            restored: verdict.restored,
        }
    }
}

impl From<VerdictRecord> for Verdict {
    fn from(record: VerdictRecord) -> Self {
        Self {
            summary: record.summary.map(Prose::recorded),
            said_nothing: record.said_nothing,
            survived: read(record.survived),
            lost: read(record.lost),
            restored: record.restored,
        }
    }
}

/// A compaction as it stands in the projection.
pub(crate) fn compaction_text(compaction: &Compaction) -> String {
    let record = CompactionRecord {
        why: compaction.kind.map(|kind| kind.as_str().to_owned()),
        frame: compaction.frame.as_ref().map(ToString::to_string),
        begun: compaction.begun.map(|at| at.0),
        ended: compaction.ended.map(|at| at.0),
        before: compaction.before,
        after: compaction.after,
        anchors: written(&compaction.anchors),
        verdict: compaction.verdict.as_ref().map(Into::into),
    };
    // Texts and numbers always have a JSON form.
    serde_json::to_string(&record).unwrap_or_default()
}

/// The same, read back.
pub(crate) fn compaction(text: &str) -> Result<Compaction, String> {
    let record: CompactionRecord = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(Compaction {
        kind: record.why.as_deref().map(kind).transpose()?,
        frame: record.frame.as_deref().map(frame_id).transpose()?,
        begun: record.begun.map(Timestamp),
        ended: record.ended.map(Timestamp),
        before: record.before,
        after: record.after,
        anchors: read(record.anchors),
        verdict: record.verdict.map(Into::into),
    })
}

/// What a frame waits for, as it stands in the projection.
pub(crate) fn awaiting_text(awaiting: &Awaiting) -> String {
    let record = AwaitingRecord {
        session: awaiting.session.to_string(),
        since: awaiting.since.0,
        outcome: outcome_name(awaiting.outcome),
        given: awaiting.given.as_ref().map(Into::into),
        note: awaiting.note.as_ref().map(|note| note.as_str().to_owned()),
    };
    serde_json::to_string(&record).unwrap_or_default()
}

/// The same, read back.
pub(crate) fn awaiting(text: &str) -> Result<Awaiting, String> {
    let record: AwaitingRecord = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(Awaiting {
        session: session(&record.session)?,
        since: Timestamp(record.since),
        outcome: outcome(record.outcome.as_deref())?,
        given: record.given.map(Into::into),
        note: record.note.map(Prose::recorded),
    })
}
