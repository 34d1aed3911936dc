//! Applies events to one frame, which defines their meaning. (Leaving finished work out of a prompt is
//! [`crate::folding`].)
//!
//! The tree in memory of the tests and the stores' projections both fold through these functions, so they cannot
//! diverge.

use crate::event::{Edit, Event, Goal, Recorded};
use crate::frame::{Awaiting, Frame, Invalidation, Rank, Span, Status};
use crate::id::FrameId;
use crate::session::Turn;
use crate::text::Text;

/// Returns the frame that an event creates, if it creates one.
pub fn opened(recorded: &Recorded) -> Option<Frame> {
    match &recorded.event {
        Event::FrameOpened {
            frame,
            parent,
            rank,
            planned,
            origin,
            goal,
        } => Some(Frame {
            origin: *origin,
            ..fresh(recorded, frame, parent.as_ref(), *rank, *planned, goal)
        }),
        Event::FrameImported { frame } | Event::FrameCopied { frame, .. } => {
            let mut frame = Frame::clone(frame);
            frame.changed = recorded.seq;
            frame.closed = (!frame.status.is_open()).then_some(recorded.seq);
            Some(frame)
        }
        _ => None,
    }
}

/// Folds the events that name a frame; none if the frame does not exist after them.
pub fn frame<'e>(events: impl IntoIterator<Item = &'e Recorded>) -> Option<Frame> {
    let mut frame: Option<Frame> = None;
    for recorded in events {
        match (opened(recorded), &mut frame) {
            (Some(opened), _) => frame = Some(opened),
            (None, _) if matches!(recorded.event, Event::FrameDeleted { .. }) => frame = None,
            (None, Some(frame)) => change(frame, recorded),
            (None, None) => {}
        }
    }
    frame
}

/// Returns the focus change of an event, if a session changed its own focus and its host names its
/// messages.
pub fn turn(recorded: &Recorded) -> Option<Turn> {
    match (&recorded.event, &recorded.message) {
        (Event::SessionFocused { session, from, .. }, Some(message))
            if *session == recorded.session =>
        {
            Some(Turn {
                message: message.clone(),
                before: *from,
            })
        }
        _ => None,
    }
}

/// Applies an event to a frame that is among its subjects.
pub fn change(frame: &mut Frame, recorded: &Recorded) {
    frame.updated_at = recorded.at;
    frame.changed = recorded.seq;
    match &recorded.event {
        Event::SessionBound { session, .. } => frame.session = Some(session.clone()),
        Event::SessionUnbound { .. } => frame.session = None,
        Event::FrameStarted { .. } => {
            frame.status = Status::InProgress;
            frame.span = Some(begun(recorded));
        }
        Event::FrameUnblocked { planned, .. } => {
            frame.status = if *planned {
                Status::Planned
            } else {
                Status::InProgress
            };
            frame.blocked_on = None;
        }
        Event::SummaryAwaited { .. } | Event::SummaryArrived { .. } => wait(frame, recorded),
        Event::FrameReopened { .. } => {
            frame.status = Status::InProgress;
            frame.invalidation = None;
            frame.closed = None;
            // Work done before the reopening belongs to the previous run.
            frame.span = Some(begun(recorded));
        }
        Event::FrameClosed {
            frame: closed,
            outcome,
            results,
            ..
        } if *closed == frame.id => {
            frame.awaiting = None;
            frame.status = outcome.status();
            frame.results = Some(results.full.clone());
            frame.results_compacted.clone_from(&results.compacted);
            frame.blocked_on = None;
            frame.closed = Some(recorded.seq);
            if let Some(span) = &mut frame.span
                && span.session == recorded.session
            {
                span.last.clone_from(&recorded.message);
            }
        }
        Event::FrameBlocked {
            reason, results, ..
        } => {
            frame.awaiting = None;
            frame.status = Status::Blocked;
            frame.blocked_on = Some(reason.clone());
            if let Some(results) = results {
                frame.results = Some(results.full.clone());
                frame.results_compacted.clone_from(&results.compacted);
            }
        }
        Event::FrameEdited { edit, .. } => correct(frame, edit),
        Event::FrameMoved { parent, rank, .. } => {
            frame.parent.clone_from(parent);
            frame.rank = *rank;
        }
        Event::FrameInvalidated {
            frame: given_up,
            reason,
            ..
        } if *given_up == frame.id => {
            give_up(frame, reason.clone(), recorded);
        }
        // The frame is part of a cascade.
        Event::FrameInvalidated { .. } | Event::FrameClosed { .. } => {
            if let Some((reason, _)) = recorded.event.cascade() {
                give_up(frame, reason, recorded);
            }
        }
        Event::Noted { note, .. } => frame.notes.push(note.clone()),
        Event::Logged { entry, .. } => frame.log.push(entry.clone()),
        // The others change no frame that is there: `Event::traits` names none for them, or they make
        // or delete it.
        _ => {}
    }
}

/// Begins or ends the wait for a summary.
fn wait(frame: &mut Frame, recorded: &Recorded) {
    match &recorded.event {
        Event::SummaryAwaited {
            outcome,
            given,
            note,
            until,
            ..
        } => {
            frame.awaiting = Some(Awaiting {
                session: recorded.session.clone(),
                since: recorded.at,
                outcome: *outcome,
                given: given.clone(),
                note: note.clone(),
                until: *until,
            });
        }
        Event::SummaryArrived { summary, .. } => {
            frame.awaiting = None;
            if summary.is_some() {
                frame.summary.clone_from(summary);
            }
        }
        _ => {}
    }
}

fn begun(recorded: &Recorded) -> Span {
    Span {
        session: recorded.session.clone(),
        first: recorded.message.clone(),
        last: None,
    }
}

fn fresh(
    recorded: &Recorded,
    id: &FrameId,
    parent: Option<&FrameId>,
    rank: Rank,
    planned: bool,
    goal: &Goal,
) -> Frame {
    let status = if planned {
        Status::Planned
    } else {
        Status::InProgress
    };
    Frame {
        parent: parent.copied(),
        rank,
        status,
        criteria: goal.criteria.clone(),
        criteria_compacted: goal.criteria_compacted.clone(),
        span: (!planned).then(|| begun(recorded)),
        changed: recorded.seq,
        ..Frame::new(*id, goal.title.clone(), recorded.at)
    }
}

fn give_up(frame: &mut Frame, reason: Text, recorded: &Recorded) {
    frame.status = Status::Invalidated;
    frame.awaiting = None;
    frame.blocked_on = None;
    frame.invalidation = Some(Invalidation {
        reason,
        at: recorded.at,
    });
    frame.closed = Some(recorded.seq);
}

/// Replaces criteria or results. Without a new compacted form the old one goes, since it describes the
/// old text.
fn correct(frame: &mut Frame, edit: &Edit) {
    if let Some(title) = &edit.title {
        frame.title = title.clone();
    }
    if edit.criteria.is_some() {
        frame.criteria.clone_from(&edit.criteria);
        frame
            .criteria_compacted
            .clone_from(&edit.criteria_compacted);
    } else if edit.criteria_compacted.is_some() {
        frame
            .criteria_compacted
            .clone_from(&edit.criteria_compacted);
    }
    if edit.results.is_some() {
        frame.results.clone_from(&edit.results);
        frame.results_compacted.clone_from(&edit.results_compacted);
    } else if edit.results_compacted.is_some() {
        frame.results_compacted.clone_from(&edit.results_compacted);
    }
}
