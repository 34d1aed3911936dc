//! Events in one line each, for timelines and diagnostics.

use flamestack_core::delivery::Delivery;
use flamestack_core::event::{Closing, Edit};
use flamestack_core::frame::FrameStanding;
use flamestack_core::session::checkpoint::InterruptionCause;
use flamestack_core::session::link::Creation;
use flamestack_core::text::condense;
use flamestack_core::{Author, Event, Evidence, Model, Note, Recorded, Text};

use super::{counted, size};

/// Renders an event with the id of its frame.
pub fn line(recorded: &Recorded) -> String {
    line_in(recorded, None)
}

/// Renders an event with the id of its frame, and the end of a frame with its standing.
pub fn line_in(recorded: &Recorded, standing: Option<FrameStanding>) -> String {
    let what = happened_in(&recorded.event, standing);
    match recorded.event.frames().next() {
        Some(frame) => format!("{frame} {what}"),
        None => what,
    }
}

/// Renders an event of a frame that has this standing now. A frame without any proof never had one, so that each
/// of its ends was only claimed.
pub fn happened_in(event: &Event, standing: Option<FrameStanding>) -> String {
    match (event, standing) {
        (
            Event::FrameClosed {
                outcome: Closing::Completed,
                results,
                ..
            },
            Some(standing),
        ) if standing.is_claimed => format!("{standing}: {}", brief(&results.full)),
        _ => happened(event),
    }
}

/// Renders an event without the id of its frame.
#[expect(clippy::too_many_lines, reason = "one arm per event")]
pub fn happened(event: &Event) -> String {
    match event {
        Event::SessionOpened { session, .. } => format!("session {session} first seen"),
        Event::SessionFocused { session, to, .. } => match to {
            Some(frame) => format!("{session} switched to {frame}"),
            None => format!("{session} works on no frame"),
        },
        Event::SessionBound { session, .. } => format!("bound to {session}"),
        Event::SessionUnbound { session, .. } => format!("unbound from {session}"),
        Event::SessionPrompted { session, queued } => match queued {
            Some(words) => format!("the user queued a prompt for {session}: {}", brief(words)),
            None => format!("the user prompted {session}"),
        },
        Event::TurnEnded { said, .. } => with_words("turn ended", said.as_ref()),
        Event::SessionInterrupted { how, cause, .. } => {
            let what = match cause {
                InterruptionCause::Abort => "interrupted by the user",
                InterruptionCause::Failure => "ended by an error",
                InterruptionCause::Kill => "the host ended during the turn",
                InterruptionCause::Crash => "the host's process was gone",
            };
            with_words(what, how.as_ref())
        }
        Event::SessionCompacted {
            session, automatic, ..
        } => match automatic {
            true => format!("{session} was compacted by its host"),
            false => format!("{session} was compacted by the user"),
        },
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
        Event::SummaryAwaited { outcome, .. } => match outcome {
            Some(outcome) => format!("waits for a summary, to end as {}", outcome.status()),
            None => "waits for a summary".to_owned(),
        },
        Event::SummaryArrived { summary, .. } => match summary {
            Some(summary) => format!("summarised: {}", brief(summary)),
            None => "no longer waits for a summary".to_owned(),
        },
        Event::SessionReverted {
            session, masked, ..
        } => format!(
            "{session} was reverted: {} events no longer count",
            masked.len()
        ),
        Event::SessionRestored {
            session, unmasked, ..
        } => {
            format!(
                "{session} was restored: {} events count again",
                unmasked.len()
            )
        }
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
        Event::SessionWaiting { session, on } => match on {
            Some(on) => format!("{session} waits for the user: {}", brief(on)),
            None => format!("{session} no longer waits"),
        },
        Event::ResumeBegun { session } => format!("{session} is continued"),
        Event::SessionStalled { session, stall } => match stall {
            Some(stall) => format!("{session} repeats itself: {}", stall.sentence()),
            None => format!("{session} no longer repeats itself"),
        },
        Event::EntriesIngested { session, marks } => {
            format!("{} items of {session} observed", marks.len())
        }
        Event::FrameOpened { planned, goal, .. } => {
            let how = if *planned { "planned" } else { "opened" };
            format!("{how}: {}", goal.title)
        }
        Event::FrameStarted { .. } => "begun".to_owned(),
        Event::FrameClosed {
            outcome, results, ..
        } => {
            format!("{}: {}", outcome.status(), brief(&results.full))
        }
        Event::FrameBlocked { reason, .. } => format!("blocked: {}", brief(reason)),
        Event::FrameUnblocked { .. } => "unblocked".to_owned(),
        Event::FrameReopened { .. } => "reopened".to_owned(),
        Event::FrameEdited { edit, .. } => edited(edit),
        Event::FrameInvalidated {
            reason, cascaded, ..
        } => match cascaded.len() {
            0 => format!("invalidated: {}", brief(reason)),
            n => format!("invalidated with {n} planned below it: {}", brief(reason)),
        },
        Event::FrameMoved { parent, .. } => match parent {
            Some(parent) => format!("moved below {parent}"),
            None => "became a root".to_owned(),
        },
        Event::FrameDeleted { .. } => "deleted".to_owned(),
        Event::Noted { note, .. } => noted(note),
        Event::Logged { entry, .. } => format!("log: {} ({})", entry.label, size(entry.bytes)),
        Event::FrameImported { frame } => format!("imported: {}", frame.title),
        Event::FrameCopied { of, frame } => format!("copied from {of}: {}", frame.title),
        Event::StackImported { .. } => "import finished".to_owned(),
        Event::CommandUndone { batch } => format!("the command of event {batch} was undone"),
        Event::SessionCreated(creation) => {
            let Creation {
                session, purpose, ..
            } = creation.as_ref();
            format!("session {session} made: {}", brief(purpose))
        }
        Event::SessionLinked {
            session,
            kind,
            to,
            removed,
        } => {
            let to = to.as_ref().map_or("none".to_owned(), ToString::to_string);
            let verb = if *removed { "no longer" } else { "now" };
            format!("{} of {session} is {verb} {to}", kind.as_str())
        }
        Event::SessionClosed { session, why } => {
            with_words(&format!("session {session} closed"), why.as_ref())
        }
        Event::SessionHosted(process) => format!("served by process {}", process.pid),
        Event::CallBegun(start) => format!("call {} began: {}", start.call, start.tool),
        Event::CallEnded { call, outcome } => format!("call {call}: {}", outcome.as_str()),
        Event::InterruptionKept(kept) => format!(
            "checkpoint of an interruption ({}), {} in flight",
            kept.cause.as_str(),
            counted(kept.in_flight.len() as u64, "call", "calls")
        ),
        Event::SessionDescribed(_) => "the host described the session".to_owned(),
        Event::ModelUsed(Model { name, window }) => match window {
            Some(tokens) => format!("the model is {name}, with a window of {tokens} tokens"),
            None => format!("the model is {name}"),
        },
        Event::ContextSent(sending) => sent(&sending.delivery),
        Event::SuggestionMade(made) => {
            let who = if made.is_automatic {
                "acted automatically"
            } else {
                "suggested"
            };
            let advice = made.kind.as_str();
            format!(
                "{who}: {advice} ({}), {}",
                made.heuristic.label(),
                brief(&made.evidence)
            )
        }
        Event::SuggestionAnswered { state, .. } => format!("the suggestion was {}", state.as_str()),
        Event::SuggestionsSnoozed { .. } => "no suggestions for a while".to_owned(),
        Event::SuggestionsReset => "the counts of suggestions begin again".to_owned(),
        Event::BlobDropped { bytes, .. } => format!("raw text dropped ({})", size(*bytes)),
        Event::TextForgotten { places, texts } => {
            let places = counted(*places, "place", "places");
            let texts = counted(*texts, "raw text", "raw texts");
            format!("text forgotten in {places} and {texts}")
        }
    }
}

fn edited(edit: &Edit) -> String {
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

/// Renders what happened and the words that came with it.
fn with_words(what: &str, words: Option<&Text>) -> String {
    words.map_or_else(
        || what.to_owned(),
        |words| format!("{what}: {}", brief(words)),
    )
}

fn sent(delivery: &Delivery) -> String {
    match delivery {
        Delivery::Nothing => "nothing new was sent".to_owned(),
        Delivery::Update(text) => format!("an update was sent ({})", size(text.len() as u64)),
        Delivery::Header(text) => format!("a header was sent ({})", size(text.len() as u64)),
    }
}

/// Renders a note in one line.
pub fn noted(note: &Note) -> String {
    match note {
        Note::Artifact(path) => format!("artifact: {}", brief(path)),
        Note::Decision { text, why, by } => {
            format!(
                "decision of the {}: {}",
                by.as_str(),
                with_reason(text, why.as_ref())
            )
        }
        Note::FailedAttempt { text, why } => {
            format!("failed attempt: {}", with_reason(text, why.as_ref()))
        }
        Note::Evidence(evidence) => format!("evidence: {}", proof(evidence)),
        Note::Directive(text) => format!("the user said: {}", brief(text)),
    }
}

/// Renders evidence in one line.
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

/// Names the author of a decision.
pub fn by(note: &Note) -> &'static str {
    match note.decided_by() {
        Some(Author::User) => ", decided by the user",
        Some(Author::Agent) => ", decided by the model",
        None => "",
    }
}

/// Renders a text and its reason in one line.
pub fn with_reason(text: &Text, why: Option<&Text>) -> String {
    match why {
        Some(why) => format!("{} (because {})", brief(text), brief(why)),
        None => brief(text),
    }
}

fn brief(text: &Text) -> String {
    condense(text.as_str(), 160)
}
