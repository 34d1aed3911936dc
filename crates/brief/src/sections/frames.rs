//! The frame tree: goals, results, plan, directives, decisions, blockers, failed attempts, subagents.

use std::collections::BTreeSet;

use flamestack_context::{Failed, Surroundings, reasoned};
use flamestack_core::frame::{CLAIMED, FrameStanding, Origin};
use flamestack_core::note::Directive;
use flamestack_core::{Author, Frame, Note, Status, Text};

use super::{REMAINING, SHOWN};
use crate::draft::{Draft, Rank};
use crate::facts::Facts;
use crate::{Heading, LineSource};

/// Follows a prompt that the model has answered.
const ANSWERED: &str = " (answered)";
/// Follows a goal that is no longer worked on.
const FINISHED: &str = " (finished)";

pub(super) fn write(draft: &mut Draft, facts: &Facts<'_>) {
    let Some(around) = &facts.sources.around else {
        return;
    };
    let current = &around.current;
    let root = around.ancestors.last().unwrap_or(current);
    let prompt = newest_prompt(around, root);
    let is_answered = prompt.is_some() && facts.is_answered();
    let objective = prompt.unwrap_or(root);
    let over = match objective.status {
        Status::Completed | Status::Failed => FINISHED,
        _ if is_answered => ANSWERED,
        _ => "",
    };
    let text = format!("{}{over}", goal(objective));
    draft.vital(Heading::Objective, &text, source(objective));
    // A frame derived from what was observed is only known to be in progress: todos and files may know the
    // step better, see `write_fallback`.
    let is_asked = current.origin == Origin::Asked;
    if current.status.is_open() && is_asked {
        draft.vital(Heading::CurrentStep, &goal(current), source(current));
    }
    write_status(draft, around);
    write_done_and_ahead(draft, facts, around);
    write_notes(draft, facts, around);
    write_obstacles(draft, around);
    let is_current = current.status == Status::InProgress && is_asked;
    let next = next_below(around)
        .or(is_current.then_some(current))
        .or(around.next.as_ref());
    if let Some(next) = next {
        draft.vital(Heading::NextAction, &goal(next), source(next));
    }
}

/// Returns the newest prompt of a conversation whose first one has been answered. The conversation bears
/// the title of its first prompt, which is not its goal any more.
fn newest_prompt<'a>(around: &'a Surroundings, root: &Frame) -> Option<&'a Frame> {
    let is_first = |frame: &Frame| frame.origin == Origin::Prompt && frame.title == root.title;
    let is_named_after_it = root.origin == Origin::Session
        && root.id == around.current.id
        && around.children.frames.iter().any(is_first);
    let mut open = around.open.frames.iter().rev();
    let is_prompt =
        |frame: &&Frame| frame.origin == Origin::Prompt && frame.parent.as_ref() == Some(&root.id);
    open.find(is_prompt).filter(|_| is_named_after_it)
}

/// Returns the next step below the current frame: one that was begun, else the first that is planned.
fn next_below(around: &Surroundings) -> Option<&Frame> {
    let children = around.open.frames.iter();
    let begun = children.filter(|frame| {
        frame.parent.as_ref() == Some(&around.current.id)
            && frame.status == Status::InProgress
            && frame.origin == Origin::Asked
            && !is_subagent(around, frame)
    });
    let order = |frame: &&Frame| (frame.rank, frame.id);
    let planned = around.planned.frames.iter().min_by_key(order);
    begun.min_by_key(order).or(planned)
}

/// Returns true if the model said that it is done, and nothing recorded proves it. An answered prompt and
/// an item of the host's list claim nothing: the state says what was checked.
fn is_claimed(frame: &Frame) -> bool {
    let is_said = matches!(frame.origin, Origin::Asked | Origin::Subagent);
    is_said && frame.standing().is_claimed
}

fn is_subagent(around: &Surroundings, frame: &Frame) -> bool {
    let mut subagents = around.subagents.iter();
    subagents.any(|subagent| subagent.frame.as_ref() == Some(&frame.id))
}

/// Fills step and next action with the current frame if nothing else did.
pub(super) fn write_fallback(draft: &mut Draft, facts: &Facts<'_>) {
    let Some(around) = &facts.sources.around else {
        return;
    };
    if around.current.status != Status::InProgress {
        return;
    }
    let Some((text, source)) = step(around, facts.is_answered()) else {
        return;
    };
    for heading in [Heading::CurrentStep, Heading::NextAction] {
        if draft.is_empty(heading) {
            draft.vital(heading, &text, source.clone());
        }
    }
}

/// Returns the step that the frames know: the newest prompt says more than the title of its session. A
/// conversation whose only prompt was answered has none.
fn step(around: &Surroundings, is_answered: bool) -> Option<(String, LineSource)> {
    let current = &around.current;
    let mut open = around.open.frames.iter().rev();
    let prompt = open.find(|frame| {
        let is_here = !is_answered || frame.parent == Some(current.id);
        frame.origin == Origin::Prompt && frame.status == Status::InProgress && is_here
    });
    if let Some(prompt) = prompt {
        let answered = if is_answered { ANSWERED } else { "" };
        return Some((format!("{}{answered}", goal(prompt)), source(prompt)));
    }
    let is_over = current.origin == Origin::Session && is_answered;
    (!is_over).then(|| (goal(current), source(current)))
}

fn write_status(draft: &mut Draft, around: &Surroundings) {
    let (current, place) = (&around.current, &around.place);
    let label = FrameStanding {
        is_claimed: is_claimed(current),
        ..current.standing()
    };
    let mut status = match newest_prompt(around, current) {
        Some(_) => format!(
            "The conversation that began with “{}” is {label}",
            current.title
        ),
        None => format!("“{}” is {label}", current.title),
    };
    if place.of > 1 {
        let (completed, others) = (place.completed, place.of - 1);
        let siblings = if others == 1 { "sibling" } else { "siblings" };
        status.push_str(&format!("; {completed} of {others} {siblings} complete"));
    }
    draft.useful(Heading::Status, &format!("{status}."), source(current));
    // What a subagent is doing need not be started again.
    for subagent in &around.subagents {
        let mut text = format!("Subagent {}: “{}”", subagent.session, subagent.title);
        if let Some((state, started)) = subagent.state_and_start {
            text.push_str(&format!(", {state}, started {started}"));
        }
        let source = subagent.frame.map_or(LineSource::Host, |frame| {
            text.push_str(&format!(", frame {frame}"));
            LineSource::Frame(frame)
        });
        draft.needed(Heading::Status, &text, source);
    }
}

fn write_done_and_ahead(draft: &mut Draft, facts: &Facts<'_>, around: &Surroundings) {
    let siblings = around.siblings.iter();
    let mut done: Vec<&Frame> = siblings
        .filter(|frame| frame.status == Status::Completed)
        .collect();
    done.sort_by_key(|frame| (frame.closed, frame.rank, frame.id));
    let frontier = around.frontier();
    done.extend(&frontier.done);
    // A tree that is finished is summed up by the results of its root.
    let current = Some(&around.current);
    done.extend(current.filter(|frame| frame.status == Status::Completed));
    let done = done.into_iter().map(|frame| {
        let claimed = if is_claimed(frame) {
            format!(" ({CLAIMED})")
        } else {
            String::new()
        };
        let text = match frame.compacted_results() {
            Some(results) => format!("{}{claimed}: {results}", frame.title),
            None => format!("{}{claimed}", frame.title),
        };
        (text, source(frame))
    });
    draft.add_last((Heading::Completed, Rank::Useful), SHOWN, done);

    let mut planned: Vec<&Frame> = around.planned.frames.iter().collect();
    planned.sort_by_key(|frame| (frame.rank, frame.id));
    let open = around.open.frames.iter();
    let begun = open.filter(|frame| {
        // A prompt that is being worked on is the current step.
        let is_step = frame.origin != Origin::Prompt;
        frame.status == Status::InProgress && !is_subagent(around, frame) && is_step
    });
    let nearest = planned.into_iter().chain(&around.next);
    let ahead = facts.sources.planned.iter().chain(nearest).chain(begun);
    // Frames of different parents may have the same title; each is listed once.
    let mut listed = BTreeSet::new();
    let ahead = ahead.filter(|frame| listed.insert(frame.id));
    let ahead: Vec<_> = ahead.map(|frame| (goal(frame), source(frame))).collect();
    draft.add_first((Heading::Remaining, Rank::Useful), REMAINING, ahead);
}

fn write_notes(draft: &mut Draft, facts: &Facts<'_>, around: &Surroundings) {
    let current = &around.current;
    let state = facts.sources.state.as_ref();
    // The state has the request, and orders that stand.
    let is_shown = |said: &&Directive| {
        state.is_some_and(|state| state.quotes(said.text.as_str()) || is_request(around, said))
    };
    let directives = around.directives.iter().rev();
    let directives = directives.filter(|said| !is_shown(said));
    let directives: Vec<_> = directives.take(SHOWN).collect();
    for directive in directives.into_iter().rev() {
        let text = format!("The user said: {}", directive.text);
        draft.needed(Heading::Decisions, &text, source(current));
    }
    for frame in around.ancestors.iter().rev().chain([current]) {
        for note in &frame.notes {
            match note {
                Note::Decision { .. } => {
                    draft.useful(Heading::Decisions, &decision(note, None), source(frame));
                }
                Note::Artifact(path) => {
                    draft.useful(Heading::ActiveFiles, path.as_str(), source(frame));
                }
                Note::FailedAttempt { .. } | Note::Evidence(_) | Note::Directive(_) => {}
            }
        }
    }
    // What was decided in finished work around here holds after its end; the last of it is shown.
    let below = around.children.frames.iter();
    let below = below.chain(&facts.sources.finished_below);
    let siblings = around.siblings.iter().map(|frame| (false, frame));
    let mut finished: Vec<(bool, &Frame)> = siblings.chain(below.map(|it| (true, it))).collect();
    finished.sort_by_key(|(is_below, frame)| (*is_below, frame.closed, frame.id));
    let decided = finished.into_iter().flat_map(|(_, frame)| {
        let notes = frame.notes.iter();
        let decisions = notes.filter(|note| note.decided_by().is_some());
        decisions.map(move |note| (decision(note, Some(frame)), source(frame)))
    });
    draft.add_last((Heading::Decisions, Rank::Useful), SHOWN, decided);
}

/// Returns true for a prompt that decides nothing: a question, or a request that has a frame of its own.
fn is_request(around: &Surroundings, said: &Directive) -> bool {
    if said.by == Author::User {
        return false;
    }
    let text = said.text.as_str();
    let sentences = text.split_inclusive(['.', '!', '?', '\n']).map(str::trim);
    let mut sentences = sentences.filter(|sentence| !sentence.is_empty());
    let is_title = |frame: &Frame| {
        let is_derived = matches!(frame.origin, Origin::Prompt | Origin::Session);
        let words = frame.title.as_str().split_whitespace();
        is_derived && words.eq(text.split_whitespace())
    };
    let path = around.ancestors.iter().chain([&around.current]);
    let below = around.children.frames.iter().chain(&around.open.frames);
    sentences.all(|sentence| sentence.ends_with('?'))
        || path.chain(below).chain(&around.siblings).any(is_title)
}

/// Renders a decision with its author, and with its frame if that is finished.
fn decision(note: &Note, of: Option<&Frame>) -> String {
    let (text, why, by) = match note {
        Note::Decision { text, why, by } => (text.as_str(), why.as_ref(), *by),
        other => (other.text().as_str(), None, Author::Agent),
    };
    let of = of.map_or_else(String::new, |frame| format!(" in “{}”", frame.title));
    let text = reasoned(text, why.map(Text::as_str));
    format!("The {} decided{of}: {text}", by.as_str())
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
    let current = Some(&around.current);
    if let Some(failed) = current.filter(|frame| frame.status == Status::Failed) {
        let results = failed.compacted_results();
        let text = reasoned(failed.title.as_str(), results.as_deref());
        let text = format!("Ended without success: {text}");
        draft.needed(Heading::Blockers, &text, source(failed));
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
