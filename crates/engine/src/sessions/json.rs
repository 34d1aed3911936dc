//! Sessions as JSON, for `--json` and for tools. These keys are a contract with programs.

use flamestack_core::compaction::Compaction;
use flamestack_core::id::Timestamp;
use flamestack_core::session::checkpoint::{CallInFlight, InterruptionCheckpoint};
use flamestack_core::session::life::Transition;
use flamestack_core::session::link::SessionLink;
use flamestack_core::session::state::SessionState;
use flamestack_core::{SessionRef, Text};
use serde_json::{Value, json};

use super::listing::{SessionDetails, SessionRow};
use crate::views::time::stamp;

/// Renders sessions of a list.
pub fn list(rows: &[SessionRow]) -> Value {
    rows.iter().map(row).collect()
}

/// Renders a session of a list. A fact that is not known is null.
pub fn row(row: &SessionRow) -> Value {
    let life = &row.life;
    let text = |text: Option<&Text>| text.map(|text| text.as_str().to_owned());
    let creation = life.creation.as_ref().map(|made| {
        json!({
            "purpose": made.purpose.as_str(),
            "agent": text(made.agent.as_ref()),
            "phase": text(made.phase.as_ref()),
            "from": made.from.as_ref().map(SessionRef::to_string),
        })
    });
    json!({
        "session": row.key().to_string(),
        "host": row.key().host(),
        "state": row.status.state.as_str(),
        "since": stamp(row.status.since),
        "why": row.status.why,
        "level": row.level.number(),
        "depth": row.level.depth,
        "leaf": row.level.is_leaf,
        "addressedBy": row.level.addressee(),
        "parent": life.parent.as_ref().map(SessionRef::to_string),
        "orphan": row.is_orphan,
        "frame": row.frame.as_ref().map(|frame| frame.id.as_str().to_owned()),
        "title": row.title(),
        "role": row.role(),
        "worktree": row.session.worktree,
        "here": row.is_here,
        "lastActive": stamp(life.times.active),
        "cold": row.status.is_cold,
        "stale": row.status.is_stale,
        "custom": creation,
    })
}

/// Renders a session in full.
pub fn details(details: &SessionDetails) -> Value {
    let mut value = row(&details.row);
    let life = &details.row.life;
    let session = &details.row.session;
    let described = &session.description;
    let created = life.creation.as_ref();
    let phase = described.phase.as_ref();
    let phase = phase.or(created.and_then(|made| made.phase.as_ref()));
    let text = |text: Option<&Text>| text.map(|text| text.as_str().to_owned());
    let at = |at: Option<Timestamp>| at.map(stamp);
    let more = json!({
        "stall": session.activity.stall.as_ref().map(crate::json::stall),
        "resumeAttempts": session.activity.resumes,
        "previousState": details.row.status.previous.map(SessionState::as_str),
        "stateHistory": details.history.iter().map(transition).collect::<Vec<_>>(),
        "checkpoint": details.checkpoint.as_ref().map(checkpoint),
        "children": details.children.iter().map(child).collect::<Vec<_>>(),
        "ancestors": details.ancestors.iter().map(SessionRef::to_string).collect::<Vec<_>>(),
        "links": details.links.iter().map(link).collect::<Vec<_>>(),
        "queued": queued(&life.queued),
        "inFlight": life.calls.iter().map(call).collect::<Vec<_>>(),
        "language": text(described.language.as_ref()),
        "governance": text(described.governance.as_ref()),
        "phase": text(phase),
        "directory": text(described.directory.as_ref()),
        "model": session.model.as_ref().map(|model| model.name.as_str()),
        "contextSize": (session.activity.size > 0).then_some(session.activity.size),
        "createdAt": stamp(life.times.opened),
        "promptedAt": at(life.times.prompted),
        "idleAt": at(life.times.idle),
        "compactedAt": at(life.times.compacted),
        "resumedAt": at(life.times.resumed),
        "process": life.process.as_ref().map(|process| json!({
            "pid": process.pid,
            "started": process.started,
        })),
        "metrics": {
            "firstTool": life.metrics.first_tool,
            "prompts": session.activity.prompts,
            "turns": life.metrics.turns,
            "failures": life.metrics.failures,
            "interruptions": session.activity.interruptions,
            "modelCalls": life.metrics.steps,
            "toolCalls": life.metrics.calls,
            "failedCalls": life.metrics.failed_calls,
            "refusedCalls": life.metrics.refused_calls,
            "delegations": life.metrics.delegations,
            "tokensIn": session.activity.spent.prompt(),
            "tokensOut": session.activity.spent.output,
            "microDollars": session.activity.spent.micro_dollars,
        },
        "compactionHistory": (1..).zip(&details.compactions).map(compaction).collect::<Vec<_>>(),
    });
    if let (Value::Object(all), Value::Object(more)) = (&mut value, more) {
        all.extend(more);
    }
    value
}

fn transition(change: &Transition) -> Value {
    json!({
        "from": change.from.map(SessionState::as_str),
        "to": change.to.as_str(),
        "at": stamp(change.at),
        "cause": change.signal.as_str(),
        "why": change.why(),
        "event": change.seq.0,
    })
}

/// Renders the state of a session at an interruption.
pub fn checkpoint((at, kept): &(Timestamp, InterruptionCheckpoint)) -> Value {
    json!({
        "at": stamp(*at),
        "cause": kept.cause.as_str(),
        "frame": kept.frame.as_ref().map(|frame| frame.as_str().to_owned()),
        "lastMessage": kept.last_message,
        "inFlight": kept.in_flight.iter().map(call).collect::<Vec<_>>(),
        "files": kept.files,
        "queued": queued(&kept.queued),
        "git": kept.git.as_ref().map(|git| json!({
            "head": git.head,
            "dirty": git.dirty,
            "dirtyTotal": git.dirty_total,
        })),
    })
}

fn call(call: &CallInFlight) -> Value {
    json!({
        "call": call.start.call,
        "tool": call.start.tool,
        "kind": call.start.kind.as_str(),
        "input": call.start.input,
        "paths": call.start.paths,
        "since": stamp(call.since),
        "outcome": "unknown: verify first",
        "check": call.start.check(),
    })
}

fn queued(prompts: &[flamestack_core::session::checkpoint::QueuedPrompt]) -> Vec<Value> {
    let render = |prompt: &flamestack_core::session::checkpoint::QueuedPrompt| json!({ "message": prompt.message, "text": prompt.words.as_str() });
    prompts.iter().map(render).collect()
}

fn child(row: &SessionRow) -> Value {
    json!({
        "session": row.key().to_string(),
        "agent": row.role(),
        "state": row.status.state.as_str(),
        "since": stamp(row.status.since),
        "createdAt": stamp(row.life.times.opened),
    })
}

fn link(link: &SessionLink) -> Value {
    json!({
        "session": link.session.to_string(),
        "kind": link.kind.as_str(),
        "to": link.to.to_string(),
    })
}

fn compaction((n, compaction): (u64, &Compaction)) -> Value {
    let names = |anchors: &[flamestack_core::compaction::Anchor]| {
        let names = anchors.iter().map(|anchor| anchor.text.clone());
        names.collect::<Vec<_>>()
    };
    let report = compaction.report.as_ref();
    json!({
        "n": n,
        "timestamp": compaction.ended.or(compaction.begun).map(stamp),
        "contextSizeBefore": compaction.before,
        "contextSizeAfter": compaction.after,
        "anchorsSurvived": report.map(|report| names(&report.survived)),
        "anchorsLost": report.map(|report| names(&report.lost)),
    })
}

/// Renders the graph of sessions: its nodes and its edges.
pub fn graph(rows: &[SessionRow], links: &[SessionLink]) -> Value {
    let parents = rows.iter().filter_map(|row| {
        let parent = row.life.parent.as_ref()?;
        Some(json!({
            "session": row.key().to_string(),
            "kind": "parent",
            "to": parent.to_string(),
        }))
    });
    let edges = parents.chain(links.iter().map(link));
    json!({ "nodes": list(rows), "edges": edges.collect::<Vec<_>>() })
}
