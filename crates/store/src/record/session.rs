//! Facts about sessions in the journal's format: hosts' descriptions, costs, subagents, deliveries,
//! compactions.

use flamestack_core::compaction::{Anchor, AnchorReport, Checkpoint, Compaction, CompactionKind};
use flamestack_core::delivery::{Delivery, Reason, Sending};
use flamestack_core::id::{Fingerprint, FrameId, SessionRef, Timestamp};
use flamestack_core::session::{ActivitySnapshot, Description, DiffTotals, Model};
use flamestack_core::subagent::Start;
use flamestack_core::text::{Text, Title};
use flamestack_core::transcript::Usage;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::form::{self, Stored, stored_as, stored_by};

#[derive(Serialize, Deserialize)]
#[serde(remote = "Description")]
struct DescriptionRecord {
    #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
    directory: Option<Text>,
    #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
    host_version: Option<Text>,
    #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
    agent: Option<Text>,
    #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
    parent: Option<SessionRef>,
    #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
    copy_of: Option<SessionRef>,
    /// Lines added, lines deleted, files.
    #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
    diff: Option<DiffTotals>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Model")]
struct ModelRecord {
    #[serde(with = "form")]
    name: Title,
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Start")]
struct StartRecord {
    #[serde(with = "form")]
    session: SessionRef,
    #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
    parent: Option<SessionRef>,
    #[serde(with = "form")]
    goal: Title,
    #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "agent")]
    kind: Option<Title>,
    #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
    task: Option<Fingerprint>,
}

/// The cost of a model call; in transcripts too.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Usage")]
pub(crate) struct UsageRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    micro_dollars: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ActivitySnapshot")]
struct SnapshotRecord {
    prompts: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    opening: Option<String>,
    #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
    said: Option<Text>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    interrupted: bool,
    #[serde(default)]
    interruptions: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Sending")]
struct SendingRecord {
    #[serde(with = "form", flatten)]
    delivery: Delivery,
    #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
    after: Option<Reason>,
    #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
    frame: Option<FrameId>,
    #[serde(with = "form", default, skip_serializing_if = "Vec::is_empty")]
    known: Vec<FrameId>,
}

#[derive(Serialize, Deserialize)]
struct DeliveryRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    header: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    update: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReasonRecord {
    Compaction(u32),
    Resume,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Checkpoint")]
struct CheckpointRecord {
    #[serde(with = "form", rename = "why")]
    kind: CompactionKind,
    #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
    frame: Option<FrameId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    #[serde(with = "form", default, skip_serializing_if = "Vec::is_empty")]
    anchors: Vec<Anchor>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "AnchorReport")]
struct ReportRecord {
    #[serde(with = "form", default, skip_serializing_if = "Option::is_none")]
    summary: Option<Text>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    said_nothing: bool,
    #[serde(with = "form", default, skip_serializing_if = "Vec::is_empty")]
    survived: Vec<Anchor>,
    #[serde(with = "form", default, skip_serializing_if = "Vec::is_empty")]
    lost: Vec<Anchor>,
    #[serde(default)]
    restored: u64,
}

/// A whole compaction; only in the projection.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Compaction")]
struct CompactionRecord {
    #[serde(with = "form", rename = "why", default)]
    kind: Option<CompactionKind>,
    #[serde(with = "form", default)]
    frame: Option<FrameId>,
    #[serde(with = "form", default)]
    begun: Option<Timestamp>,
    #[serde(with = "form", default)]
    ended: Option<Timestamp>,
    before: Option<u64>,
    after: Option<u64>,
    #[serde(with = "form")]
    anchors: Vec<Anchor>,
    #[serde(with = "form", rename = "verdict", default)]
    report: Option<AnchorReport>,
}

stored_by! {
    Description: DescriptionRecord;
    Model: ModelRecord;
    Start: StartRecord;
    Usage: UsageRecord;
    ActivitySnapshot: SnapshotRecord;
    Sending: SendingRecord;
    Checkpoint: CheckpointRecord;
    AnchorReport: ReportRecord;
    Compaction: CompactionRecord;
}

stored_as! {
    Delivery as DeliveryRecord: |delivery| {
        let (header, update) = match delivery {
            Self::Header(text) => (Some(text.clone()), None),
            Self::Update(text) => (None, Some(text.clone())),
            Self::Nothing => (None, None),
        };
        DeliveryRecord { header, update }
    }, |record| Ok(match (record.header, record.update) {
        (Some(text), _) => Self::Header(text),
        (None, Some(text)) => Self::Update(text),
        (None, None) => Self::Nothing,
    });
    Reason as ReasonRecord: |reason| match reason {
        Self::Compaction { count } => ReasonRecord::Compaction(*count),
        Self::Resume => ReasonRecord::Resume,
    }, |record| Ok(match record {
        ReasonRecord::Compaction(count) => Self::Compaction { count },
        ReasonRecord::Resume => Self::Resume,
    });
}
