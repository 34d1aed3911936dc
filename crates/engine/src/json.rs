//! Frames as JSON: what `--json` prints and tools return to machines.
//!
//! Names follow the seeds' camel case. These types are a contract with readers; core's are not.

use flamestack_core::frame::{Frame, FrameHead, Status};
use flamestack_core::note::{Evidence, Note};
use flamestack_store::{FrameRow, Totals};
use serde::Serialize;
use serde_json::{Value, json};

/// A frame in full.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FrameJson {
    /// Its name.
    pub id: String,
    /// Its parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Where it stands.
    pub status: &'static str,
    /// Why it is there.
    pub origin: &'static str,
    /// A short name.
    pub title: String,
    /// What defines "done".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_criteria: Option<String>,
    /// The same in dense form, given or derived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_criteria_compacted: Option<String>,
    /// What came out of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results: Option<String>,
    /// The same in dense form, given or derived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results_compacted: Option<String>,
    /// What a summary said of it while it was worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Whether it waits for a summary.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub awaits_summary: bool,
    /// Files and resources.
    pub artifacts: Vec<String>,
    /// Decisions with reasons.
    pub decisions: Vec<Value>,
    /// Attempts that failed.
    pub failed_attempts: Vec<Value>,
    /// Commands, tests and commits.
    pub evidence: Vec<Value>,
    /// What the user said, word for word.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directives: Vec<String>,
    /// What it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_on: Option<String>,
    /// Why it is no longer wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalidation_reason: Option<String>,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalidated_at: Option<i64>,
    /// The session bound to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Where it happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<Value>,
    /// Former names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Raw text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<Value>,
    /// When it was opened, in milliseconds since 1970.
    pub created_at: i64,
    /// When it last changed.
    pub updated_at: i64,
}

impl From<&Frame> for FrameJson {
    fn from(frame: &Frame) -> Self {
        let of =
            |wanted: fn(&Note) -> Option<Value>| frame.notes.iter().filter_map(wanted).collect();
        let text = |prose: &flamestack_core::Prose| prose.as_str().to_owned();
        Self {
            id: frame.id.to_string(),
            parent: frame.parent.as_ref().map(ToString::to_string),
            status: frame.status.as_str(),
            origin: frame.origin.as_str(),
            title: frame.title.as_str().to_owned(),
            success_criteria: frame.criteria.as_ref().map(text),
            success_criteria_compacted: frame.compacted_criteria(),
            results: frame.results.as_ref().map(text),
            results_compacted: frame.compacted_results(),
            summary: frame.summary.as_ref().map(text),
            awaits_summary: frame.awaiting.is_some(),
            artifacts: frame
                .notes
                .iter()
                .filter_map(|note| match note {
                    Note::Artifact(path) => Some(text(path)),
                    _ => None,
                })
                .collect(),
            decisions: of(|note| match note {
                Note::Decision { text, why } => Some(reasoned(text, why.as_ref())),
                _ => None,
            }),
            failed_attempts: of(|note| match note {
                Note::FailedAttempt { text, why } => Some(reasoned(text, why.as_ref())),
                _ => None,
            }),
            evidence: of(|note| match note {
                Note::Evidence(evidence) => Some(proof(evidence)),
                _ => None,
            }),
            directives: frame
                .notes
                .iter()
                .filter_map(|note| match note {
                    Note::Directive(said) => Some(text(said)),
                    _ => None,
                })
                .collect(),
            blocked_on: frame.blocked_on.as_ref().map(text),
            invalidation_reason: frame.invalidation.as_ref().map(|known| text(&known.reason)),
            invalidated_at: frame.invalidation.as_ref().map(|known| known.at.0),
            session: frame.session.as_ref().map(ToString::to_string),
            span: frame.span.as_ref().map(|span| {
                json!({ "session": span.session.to_string(), "first": span.first, "last": span.last })
            }),
            aliases: frame.aliases.clone(),
            log: (1..)
                .zip(&frame.log)
                .map(|(n, entry)| {
                    json!({
                        "pointer": format!("{}#{n}", frame.id),
                        "label": entry.label.as_str(),
                        "bytes": entry.bytes,
                    })
                })
                .collect(),
            created_at: frame.created_at.0,
            updated_at: frame.updated_at.0,
        }
    }
}

fn reasoned(text: &flamestack_core::Prose, why: Option<&flamestack_core::Prose>) -> Value {
    match why {
        Some(why) => json!({ "text": text.as_str(), "why": why.as_str() }),
        None => json!({ "text": text.as_str() }),
    }
}

fn proof(evidence: &Evidence) -> Value {
    match evidence {
        Evidence::Command { command, exit_code } => {
            json!({ "command": command.as_str(), "exitCode": exit_code })
        }
        Evidence::Test { id, passed } => json!({ "test": id.as_str(), "passed": passed }),
        Evidence::Commit(hash) => json!({ "commit": hash.as_str() }),
    }
}

/// A frame in a listing.
pub fn row(row: &FrameRow) -> Value {
    let frame = &row.frame;
    json!({
        "id": frame.id.as_str(),
        "parent": frame.parent.as_ref().map(flamestack_core::FrameId::as_str),
        "status": frame.status.as_str(),
        "origin": frame.origin.as_str(),
        "title": frame.title.as_str(),
        "successCriteriaCompacted": frame.compacted_criteria(),
        "resultsCompacted": frame.compacted_results(),
        "blockedOn": frame.blocked_on.as_ref().map(flamestack_core::Prose::as_str),
        "proofs": row.proofs,
        "failures": row.failures,
    })
}

/// A frame on a path.
pub fn head(head: &FrameHead) -> Value {
    json!({ "id": head.id.as_str(), "status": head.status.as_str(), "title": head.title.as_str() })
}

/// Numbers by status.
pub fn totals(totals: &Totals) -> Value {
    let counts = Status::ALL
        .into_iter()
        .map(|status| (status.as_str().to_owned(), json!(totals.of(status))));
    Value::Object(counts.collect())
}
