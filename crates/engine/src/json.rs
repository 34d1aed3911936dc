//! Frames as JSON, for `--json` and for tools.
//!
//! Names are in the camel case of the predecessors. These keys are a contract with programs.

use flamestack_core::note::NoteKind;
use flamestack_core::stall::Stall;
use flamestack_core::transcript::TodoStatus;
use flamestack_core::{Evidence, Frame, FrameHead, FrameId, Note, Status, Text};
use flamestack_extract::state::{CheckOutcome, CheckResult, FailedApproach, Said, WorkState};
use flamestack_store::{FrameRow, Totals};
use serde_json::{Value, json};

/// Renders the state of the work in a session. What is not known has no key.
pub fn work_state(state: &WorkState) -> Value {
    let text = |said: &Option<Said>| said.as_ref().map(|said| said.text.clone());
    let check = |check: &CheckResult| {
        let outcome = match check.outcome {
            CheckOutcome::Passed => "pass",
            CheckOutcome::Failed => "fail",
        };
        present(json!({
            "command": check.commands.join(", "),
            "outcome": outcome,
            "failure": check.failure,
            "entry": check.entry + 1,
            "editsSince": check.edits_since,
        }))
    };
    let changed = state
        .changed
        .iter()
        .map(|file| json!({ "path": file.path, "names": file.names, "entry": file.entry + 1 }));
    let todo = state.todos.iter().filter_map(|todo| {
        let state = match todo.status {
            TodoStatus::Active => "current",
            TodoStatus::Pending => "open",
            TodoStatus::Done => "done",
            TodoStatus::Cancelled => return None,
        };
        Some(json!({ "text": todo.text, "state": state }))
    });
    let failed = state.failed.iter().map(|approach| match approach {
        FailedApproach::Reverted { path, .. } => path.clone(),
        FailedApproach::Repeated { command, .. } => command.clone(),
    });
    let git = &state.git;
    present(json!({
        "request": text(&state.request),
        "directives": state.directives.iter().map(|said| said.text.as_str()).collect::<Vec<_>>(),
        "changed": changed.collect::<Vec<_>>(),
        "verification": state.check.as_ref().map(check),
        "errors": state.errors.iter().map(check).collect::<Vec<_>>(),
        "todo": todo.collect::<Vec<_>>(),
        "last_action": state.last_action.as_ref().map(|action| action.object.as_str()),
        "next": text(&state.intention),
        "git": present(json!({
            "branch": git.branch,
            "commit": git.commit.as_ref().map(|commit| commit.subject.as_str()),
            "uncommitted": git.uncommitted,
        })),
        "failed": failed.collect::<Vec<_>>(),
    }))
}

/// Renders a frame in full. What it does not have has no key.
pub fn frame(frame: &Frame) -> Value {
    let log = (1..).zip(&frame.log).map(|(n, entry)| {
        json!({
            "pointer": format!("{}#{n}", frame.id),
            "label": entry.label.as_str(),
            "bytes": entry.bytes,
        })
    });
    let mut value = json!({
        "id": frame.id.as_str(),
        "parent": frame.parent.as_ref().map(FrameId::as_str),
        "status": frame.status.as_str(),
        "claimed": frame.standing().is_claimed.then_some(true),
        "origin": frame.origin.as_str(),
        "title": frame.title.as_str(),
        "successCriteria": frame.criteria.as_ref().map(Text::as_str),
        "successCriteriaCompacted": frame.compacted_criteria(),
        "results": frame.results.as_ref().map(Text::as_str),
        "resultsCompacted": frame.compacted_results(),
        "summary": frame.summary.as_ref().map(Text::as_str),
        "awaitsSummary": frame.awaiting.as_ref().map(|_| true),
        "blockedOn": frame.blocked_on.as_ref().map(Text::as_str),
        "invalidationReason": frame.invalidation.as_ref().map(|known| known.reason.as_str()),
        "invalidatedAt": frame.invalidation.as_ref().map(|known| known.at.0),
        "session": frame.session.as_ref().map(ToString::to_string),
        "span": frame.span.as_ref().map(|span| json!({
            "session": span.session.to_string(),
            "first": span.first,
            "last": span.last,
        })),
        "aliases": unless_empty(frame.aliases.clone()),
        "log": unless_empty(log.collect()),
        "createdAt": frame.created_at.0,
        "updatedAt": frame.updated_at.0,
    });
    if let Value::Object(fields) = &mut value {
        for kind in NoteKind::ALL {
            let notes = frame.notes.iter().filter(|note| note.kind() == kind);
            let notes: Vec<Value> = notes.map(note).collect();
            // Scripts rely on the other lists, which are there even if they are empty.
            if kind != NoteKind::Directive || !notes.is_empty() {
                fields.insert(kind.key().to_owned(), Value::Array(notes));
            }
        }
    }
    present(value)
}

fn note(note: &Note) -> Value {
    match note {
        Note::Artifact(text) | Note::Directive(text) => json!(text.as_str()),
        Note::Decision { text, why, by } => {
            let mut decision = reasoned(text, why.as_ref());
            if let Value::Object(fields) = &mut decision {
                fields.insert("by".to_owned(), json!(by.as_str()));
            }
            decision
        }
        Note::FailedAttempt { text, why } => reasoned(text, why.as_ref()),
        Note::Evidence(evidence) => proof(evidence),
    }
}

/// Removes the keys of absent values.
pub(crate) fn present(mut value: Value) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.retain(|_, value| !value.is_null());
    }
    value
}

fn unless_empty<T>(list: Vec<T>) -> Option<Vec<T>> {
    Some(list).filter(|list| !list.is_empty())
}

fn reasoned(text: &Text, why: Option<&Text>) -> Value {
    present(json!({ "text": text.as_str(), "why": why.map(Text::as_str) }))
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

/// Renders a frame of a listing.
pub fn row(row: &FrameRow) -> Value {
    let frame = &row.frame;
    json!({
        "id": frame.id.as_str(),
        "parent": frame.parent.as_ref().map(FrameId::as_str),
        "status": frame.status.as_str(),
        "origin": frame.origin.as_str(),
        "title": frame.title.as_str(),
        "successCriteriaCompacted": frame.compacted_criteria(),
        "resultsCompacted": frame.compacted_results(),
        "blockedOn": frame.blocked_on.as_ref().map(Text::as_str),
        "claimed": row.standing().is_claimed,
        "proofs": row.proofs,
        "failures": row.failures,
    })
}

/// Renders a frame of a path.
pub fn head(head: &FrameHead) -> Value {
    json!({ "id": head.id.as_str(), "status": head.status.as_str(), "title": head.title.as_str() })
}

/// Renders numbers by status.
pub fn totals(totals: &Totals) -> Value {
    let counts = Status::ALL
        .into_iter()
        .map(|status| (status.as_str().to_owned(), json!(totals.of(status))));
    Value::Object(counts.collect())
}

/// Renders the evidence that a session's work repeats itself.
pub fn stall(stall: &Stall) -> Value {
    json!({
        "kind": stall.kind.as_str(),
        "what": stall.what.as_str(),
        "times": stall.times,
        "sentence": stall.sentence(),
    })
}
