//! The frame tree: goals, results, plan, directives, decisions, blockers, failed attempts, subagents.

use flamestack_context::{Failed, Surroundings, reasoned};
use flamestack_core::frame::Origin;
use flamestack_core::{Frame, Note, Status, Text};

use super::SHOWN;
use crate::draft::{Draft, Rank};
use crate::facts::Facts;
use crate::{Heading, LineSource};

pub(super) fn write(draft: &mut Draft, facts: &Facts<'_>) {
    let Some(around) = &facts.sources.around else {
        return;
    };
    let current = &around.current;
    let root = around.ancestors.last().unwrap_or(current);
    draft.vital(Heading::Objective, &goal(root), source(root));
    // A frame derived from what was observed is only known to be going on: todos and files may know the
    // step better, see `write_fallback`.
    let is_asked = current.origin == Origin::Asked;
    if current.status.is_open() && is_asked {
        draft.vital(Heading::CurrentStep, &goal(current), source(current));
    }
    write_status(draft, around);
    write_done_and_ahead(draft, around);
    write_notes(draft, around);
    write_obstacles(draft, around);
    if let Some(next) = around.frontier().next {
        draft.vital(Heading::NextAction, &goal(next), source(next));
    } else if current.status == Status::InProgress && is_asked {
        draft.vital(Heading::NextAction, &goal(current), source(current));
    }
}

/// Fills step and next action with the current frame if nothing else did.
pub(super) fn write_fallback(draft: &mut Draft, facts: &Facts<'_>) {
    let current = facts.sources.around.as_ref().map(|around| &around.current);
    let Some(current) = current.filter(|frame| frame.status == Status::InProgress) else {
        return;
    };
    for heading in [Heading::CurrentStep, Heading::NextAction] {
        if draft.is_empty(heading) {
            draft.vital(heading, &goal(current), source(current));
        }
    }
}

fn write_status(draft: &mut Draft, around: &Surroundings) {
    let (current, place) = (&around.current, &around.place);
    let mut status = format!("“{}” is {}", current.title, current.status.label());
    if place.of > 1 {
        let (completed, others) = (place.completed, place.of - 1);
        status.push_str(&format!("; {completed} of {others} siblings complete"));
    }
    draft.useful(Heading::Status, &format!("{status}."), source(current));
    // What a subagent is doing need not be started again.
    for subagent in &around.subagents {
        let mut text = format!("Subagent {}: “{}”", subagent.session, subagent.title);
        if let Some((state, started)) = subagent.standing {
            text.push_str(&format!(", {state}, started {started}"));
        }
        let source = subagent.frame.map_or(LineSource::Host, |frame| {
            text.push_str(&format!(", frame {frame}"));
            LineSource::Frame(frame)
        });
        draft.needed(Heading::Status, &text, source);
    }
}

fn write_done_and_ahead(draft: &mut Draft, around: &Surroundings) {
    let siblings = around.siblings.iter();
    let mut done: Vec<&Frame> = siblings
        .filter(|frame| frame.status == Status::Completed)
        .collect();
    done.sort_by_key(|frame| (frame.closed, frame.rank, frame.id));
    let frontier = around.frontier();
    done.extend(&frontier.done);
    let done = done.into_iter().map(|frame| {
        let text = match frame.compacted_results() {
            Some(results) => format!("{}: {results}", frame.title),
            None => frame.title.to_string(),
        };
        (text, source(frame))
    });
    draft.add_last((Heading::Completed, Rank::Useful), SHOWN, done);

    let mut planned: Vec<&Frame> = around.planned.frames.iter().collect();
    planned.sort_by_key(|frame| (frame.rank, frame.id));
    let is_subagent = |frame: &Frame| {
        let mut subagents = around.subagents.iter();
        subagents.any(|subagent| subagent.frame.as_ref() == Some(&frame.id))
    };
    let open = around.open.frames.iter();
    let begun = open.filter(|frame| frame.status == Status::InProgress && !is_subagent(frame));
    let ahead = planned.into_iter().chain(&around.next).chain(begun);
    let ahead = ahead.map(|frame| (goal(frame), source(frame)));
    draft.add_first((Heading::Remaining, Rank::Useful), SHOWN, ahead);
}

fn write_notes(draft: &mut Draft, around: &Surroundings) {
    let current = &around.current;
    for directive in around.directives.iter().rev().take(SHOWN).rev() {
        let text = format!("The user said: {}", directive.text);
        draft.needed(Heading::Decisions, &text, source(current));
    }
    for frame in around.ancestors.iter().rev().chain([current]) {
        for note in &frame.notes {
            match note {
                Note::Decision { text, why, .. } => {
                    let text = reasoned(text.as_str(), why.as_ref().map(Text::as_str));
                    draft.useful(Heading::Decisions, &text, source(frame));
                }
                Note::Artifact(path) => {
                    draft.useful(Heading::ActiveFiles, path.as_str(), source(frame));
                }
                _ => {}
            }
        }
    }
}

fn write_obstacles(draft: &mut Draft, around: &Surroundings) {
    let frontier = around.frontier();
    for frame in &frontier.blocked {
        let text = match &frame.blocked_on {
            Some(reason) => format!("“{}” waits for: {reason}", frame.title),
            None => format!("“{}” is blocked", frame.title),
        };
        draft.needed(Heading::Blockers, &text, source(frame));
    }
    for failed in frontier.failed.iter().rev().take(SHOWN).rev() {
        let (text, frame) = match failed {
            Failed::Frame(frame) => {
                let results = frame.compacted_results();
                (reasoned(frame.title.as_str(), results.as_deref()), frame.id)
            }
            Failed::Attempt { frame, text, why } => (reasoned(text, *why), **frame),
        };
        let text = format!("Tried without success: {text}");
        draft.extra(Heading::Blockers, &text, LineSource::Frame(frame));
    }
}

fn source(frame: &Frame) -> LineSource {
    LineSource::Frame(frame.id)
}

fn goal(frame: &Frame) -> String {
    match frame.compacted_criteria() {
        Some(criteria) => format!("{} — done when: {criteria}", frame.title),
        None => frame.title.to_string(),
    }
}
