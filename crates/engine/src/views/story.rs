//! An event in one line, for time lines and diagnostics.

use flamestack_core::Model;
use flamestack_core::context::Delivery;
use flamestack_core::event::{Edit, Event, Recorded};
use flamestack_core::note::{Evidence, Note};
use flamestack_core::text::{Prose, condense};

use super::counted;

/// What happened, naming the frame.
pub fn line(recorded: &Recorded) -> String {
    let what = happened(&recorded.event);
    match recorded.event.frames().next() {
        Some(frame) => format!("{frame} {what}"),
        None => what,
    }
}

/// What happened, without naming the frame.
#[expect(clippy::too_many_lines, reason = "one arm an event")]
pub fn happened(event: &Event) -> String {
    match event {
        Event::SessionOpened { session, .. } => format!("session {session} seen first"),
        Event::SessionFocused {
            session,
            to: Some(frame),
            ..
        } => {
            format!("{session} turned to {frame}")
        }
        Event::SessionFocused {
            session, to: None, ..
        } => format!("{session} works on nothing"),
        Event::SessionBound { session, .. } => format!("bound to {session}"),
        Event::SessionUnbound { session, .. } => format!("parted from {session}"),
        Event::SessionPrompted { session } => format!("the user spoke to {session}"),
        Event::SessionTurned {
            said: Some(said), ..
        } => format!("turn ended: {}", brief(said)),
        Event::SessionTurned { said: None, .. } => "turn ended".to_owned(),
        Event::SessionInterrupted { how: Some(how), .. } => {
            format!("interrupted by the user: {}", brief(how))
        }
        Event::SessionInterrupted { how: None, .. } => "interrupted by the user".to_owned(),
        Event::SessionCompacted {
            session, automatic, ..
        } => match automatic {
            true => format!("{session} was compacted by its host"),
            false => format!("{session} was compacted by the user"),
        },
        Event::CompactionBegun(_)
        | Event::CompactionChecked(_)
        | Event::SummaryAwaited { .. }
        | Event::SummaryArrived { .. } => summed_up(event),
        Event::SessionReverted {
            session, masked, ..
        } => format!(
            "{session} was wound back: {} events count no longer",
            masked.len()
        ),
        Event::SessionRestored { session, shown, .. } => format!(
            "{session} was wound forward: {} events count again",
            shown.len()
        ),
        Event::SessionSpent { session, usage } => format!(
            "{session} spent {} tokens in, {} out",
            usage
                .input
                .saturating_add(usage.cache_read)
                .saturating_add(usage.cache_write),
            usage.output
        ),
        Event::SubagentStarted(start) => {
            format!("subagent {} started: {}", start.session, start.goal)
        }
        Event::SubagentEnded { session, end, .. } => format!("subagent {session} {}", end.state()),
        Event::SessionWaiting {
            session,
            on: Some(on),
        } => format!("{session} waits for the user: {}", brief(on)),
        Event::SessionWaiting { session, on: None } => format!("{session} waits no longer"),
        Event::SessionWitnessed { session, marks } => {
            format!("{} things seen of {session}", marks.len())
        }
        Event::FrameOpened {
            planned: true,
            goal,
            ..
        } => format!("planned: {}", goal.title),
        Event::FrameOpened { goal, .. } => format!("opened: {}", goal.title),
        Event::FrameStarted { .. } => "begun".to_owned(),
        Event::FrameClosed {
            outcome, results, ..
        } => {
            format!("{}: {}", outcome.status(), brief(&results.full))
        }
        Event::FrameBlocked { reason, .. } => format!("blocked: {}", brief(reason)),
        Event::FrameUnblocked { .. } => "unblocked".to_owned(),
        Event::FrameReopened { .. } => "taken up again".to_owned(),
        Event::FrameEdited { edit, .. } => corrected(edit),
        Event::FrameInvalidated {
            reason, cascaded, ..
        } => match cascaded.len() {
            0 => format!("invalidated: {}", brief(reason)),
            n => format!("invalidated with {n} planned below it: {}", brief(reason)),
        },
        Event::FrameMoved {
            parent: Some(parent),
            ..
        } => format!("moved below {parent}"),
        Event::FrameMoved { parent: None, .. } => "moved to the roots".to_owned(),
        Event::FrameDeleted { .. } => "deleted".to_owned(),
        Event::Noted { note, .. } => noted(note),
        Event::Logged { entry, .. } => format!("log: {} ({} bytes)", entry.label, entry.bytes),
        Event::FrameImported(frame) => format!("imported: {}", frame.title),
        Event::FrameCopied { of, frame } => format!("copied from {of}: {}", frame.title),
        Event::StackImported { .. } => "import finished".to_owned(),
        Event::CommandUndone { batch } => format!("the command of event {batch} was taken back"),
        Event::SessionDescribed(_) => "the host described the session".to_owned(),
        Event::ModelUsed(Model { name, window }) => match window {
            Some(tokens) => format!("the model is {name}, with room for {tokens} tokens"),
            None => format!("the model is {name}"),
        },
        Event::ContextSent(sending) => sent(&sending.delivery),
        Event::BlobDropped { bytes, .. } => format!("raw text dropped ({bytes} bytes)"),
    }
}

fn corrected(edit: &Edit) -> String {
    let parts = [
        edit.title.as_ref().map(|title| format!("title: {title}")),
        edit.criteria
            .as_ref()
            .map(|text| format!("criteria: {}", brief(text))),
        edit.criteria_compacted
            .as_ref()
            .map(|_| "compacted criteria".to_owned()),
        edit.results
            .as_ref()
            .map(|text| format!("results: {}", brief(text))),
        edit.results_compacted
            .as_ref()
            .map(|_| "compacted results".to_owned()),
    ];
    format!(
        "corrected {}",
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    )
}

/// What a compaction or a summary came to.
fn summed_up(event: &Event) -> String {
    match event {
        Event::CompactionBegun(checkpoint) => format!(
            "checkpoint before a compaction ({}), {}",
            checkpoint.kind.label(),
            counted(checkpoint.anchors.len() as u64, "anchor", "anchors")
        ),
        Event::CompactionChecked(verdict) => format!(
            "the summary kept {} and lost {}",
            counted(verdict.survived.len() as u64, "anchor", "anchors"),
            verdict.lost.len()
        ),
        Event::SummaryAwaited {
            outcome: Some(outcome),
            ..
        } => format!("waits for a summary, to end as {}", outcome.status()),
        Event::SummaryAwaited { .. } => "waits for a summary".to_owned(),
        Event::SummaryArrived {
            summary: Some(summary),
            ..
        } => format!("summarised: {}", brief(summary)),
        Event::SummaryArrived { .. } => "waits for no summary any more".to_owned(),
        _ => String::new(),
    }
}

fn sent(delivery: &Delivery) -> String {
    match delivery {
        Delivery::Nothing => "nothing new was sent".to_owned(),
        Delivery::Update(text) => format!("an update was sent ({} bytes)", text.len()),
        Delivery::Header(text) => format!("a header was sent ({} bytes)", text.len()),
    }
}

/// A note in one line.
pub fn noted(note: &Note) -> String {
    match note {
        Note::Artifact(path) => format!("artifact: {}", brief(path)),
        Note::Decision { text, why } => format!("decision: {}", with_reason(text, why.as_ref())),
        Note::FailedAttempt { text, why } => {
            format!("failed attempt: {}", with_reason(text, why.as_ref()))
        }
        Note::Evidence(evidence) => format!("evidence: {}", proof(evidence)),
        Note::Directive(text) => format!("the user said: {}", brief(text)),
    }
}

/// Evidence in one line.
pub fn proof(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Command { command, exit_code } => {
            format!("`{}` exited {exit_code}", brief(command))
        }
        Evidence::Test { id, passed: true } => format!("test {} passed", brief(id)),
        Evidence::Test { id, passed: false } => format!("test {} failed", brief(id)),
        Evidence::Commit(hash) => format!("commit {}", brief(hash)),
    }
}

/// A text and why, in one line.
pub fn with_reason(text: &Prose, why: Option<&Prose>) -> String {
    match why {
        Some(why) => format!("{} (because {})", brief(text), brief(why)),
        None => brief(text),
    }
}

fn brief(text: &Prose) -> String {
    condense(text.as_str(), 160)
}
