//! Facts about sessions in the journal's format: hosts' descriptions, costs, subagents, deliveries,
//! compactions.

use flamestack_core::autonomy::{AdviceKind, Boundary, Heuristic, Suggestion};
use flamestack_core::compaction::{Anchor, AnchorReport, Checkpoint, Compaction, CompactionKind};
use flamestack_core::delivery::{Delivery, HeaderReason, Sending};
use flamestack_core::frame::Outcome;
use flamestack_core::id::{Fingerprint, FrameId, SessionRef, Timestamp};
use flamestack_core::session::{ActivitySnapshot, Description, DiffTotals, Model};
use flamestack_core::stall::{Stall, StallKind};
use flamestack_core::subagent::SubagentStart;
use flamestack_core::text::{Text, Title};
use flamestack_core::transcript::Usage;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::form::{self, Stored, records, stored_as};

records! {
    DescriptionRecord for Description as "Description" {
        directory: Option<Text> = default,
        host_version: Option<Text> = default,
        agent: Option<Text> = default,
        parent: Option<SessionRef> = default,
        copy_of: Option<SessionRef> = default,
        /// Lines added, lines deleted, files.
        diff: Option<DiffTotals> = default,
        language: Option<Text> = default,
        governance: Option<Text> = default,
        phase: Option<Text> = default,
    }
    ModelRecord for Model as "Model" {
        name: Title,
        window: Option<u64> = default,
    }
    StartRecord for SubagentStart as "SubagentStart" {
        session: SessionRef,
        parent: Option<SessionRef> = default,
        goal: Title,
        kind: Option<Title> = default [rename = "agent"],
        task: Option<Fingerprint> = default,
    }
    StallRecord for Stall as "Stall" {
        kind: StallKind,
        what: Title,
        times: u32,
    }
    /// The cost of a model call; in transcripts too.
    UsageRecord for Usage as "Usage" {
        model: Option<String> = default,
        input: u64 [default],
        cache_read: u64 [default],
        cache_write: u64 [default],
        output: u64 [default],
        reasoning: u64 [default],
        micro_dollars: Option<u64> = default,
    }
    SnapshotRecord for ActivitySnapshot as "ActivitySnapshot" {
        prompts: u64,
        opening: Option<String> = default,
        said: Option<Text> = default,
        interrupted: bool = default,
        interruptions: u64 [default],
    }
    SuggestionRecord for Suggestion as "Suggestion" {
        kind: AdviceKind [rename = "advice"],
        heuristic: Heuristic,
        score: u64,
        key: Fingerprint,
        evidence: Text,
        frame: Option<FrameId> = default,
        outcome: Option<Outcome> = default,
        title: Option<Title> = default,
        boundary: Boundary,
        saves: u64 [default],
        reached: u64 [default],
        sessions: u64 [default],
        prompts: u64 [default],
        is_automatic: bool = default [rename = "automatic"],
    }
    SendingRecord for Sending as "Sending" {
        delivery: Delivery [flatten],
        after: Option<HeaderReason> = default,
        frame: Option<FrameId> = default,
        known: Vec<FrameId> = default,
    }
    CheckpointRecord for Checkpoint as "Checkpoint" {
        kind: CompactionKind [rename = "why"],
        frame: Option<FrameId> = default,
        tokens: Option<u64> = default,
        anchors: Vec<Anchor> = default,
    }
    ReportRecord for AnchorReport as "AnchorReport" {
        summary: Option<Text> = default,
        said_nothing: bool = default,
        survived: Vec<Anchor> = default,
        lost: Vec<Anchor> = default,
        restored: u64 [default],
    }
    /// A whole compaction; only in the projection.
    CompactionRecord for Compaction as "Compaction" {
        kind: Option<CompactionKind> [rename = "why", default],
        frame: Option<FrameId> [default],
        begun: Option<Timestamp> [default],
        ended: Option<Timestamp> [default],
        before: Option<u64> [default],
        after: Option<u64> [default],
        anchors: Vec<Anchor>,
        report: Option<AnchorReport> [rename = "verdict", default],
    }
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
    HeaderReason as ReasonRecord: |reason| match reason {
        Self::Compaction { count } => ReasonRecord::Compaction(*count),
        Self::Resume => ReasonRecord::Resume,
    }, |record| Ok(match record {
        ReasonRecord::Compaction(count) => Self::Compaction { count },
        ReasonRecord::Resume => Self::Resume,
    });
}
