//! Refusals: reasons for which a command was not granted.
//!
//! A refusal changes nothing. Its sentence names the problem in the words of the domain; the engine's
//! hints name a call that would work.

use crate::command::DEEPEST_PLAN;
use crate::frame::FrameHead;
use crate::id::{FrameId, SessionRef};
use crate::text::{Text, TextProblem, Title, condense};

/// Reason for refusing a command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A text is not usable.
    #[error("{field} {problem}")]
    BadText {
        /// Name of the text.
        field: &'static str,
        /// The problem.
        problem: TextProblem,
    },
    /// A text given as a commit is not a hash.
    #[error("“{}” is not a commit", condense(.0, 60))]
    NotACommit(String),
    /// A model tried to record a directive or an approval of the user.
    #[error("directives and approvals are the user's: an agent cannot record one")]
    OnlyTheUser,
    /// There is no frame with this id.
    #[error("there is no frame {0}")]
    NoSuchFrame(FrameId),
    /// No frame was named and the session works on none.
    #[error("no frame is active in {}", place(.0))]
    NoActiveFrame(SessionRef),
    /// A drawn id is in use; the caller draws another.
    #[error("the id {0} is taken")]
    IdTaken(FrameId),
    /// The parent is finished or invalidated, so nothing can be added below it.
    #[error("{} is {}, so nothing can be added below it", shown(.parent), .parent.status)]
    ParentFinished {
        /// The parent.
        parent: FrameHead,
        /// The nearest frame in progress above it.
        open_above: Option<FrameId>,
    },
    /// The parent was not started.
    #[error("{} is planned and was not started", shown(.0))]
    ParentPlanned(FrameHead),
    /// The frame, or one above it, is blocked.
    #[error("{} is blocked{}", shown(.0), reason(.0.blocked_on.as_ref()))]
    Blocked(FrameHead),
    /// The frame is blocked already.
    #[error("{} is blocked already{}", shown(.0), reason(.0.blocked_on.as_ref()))]
    AlreadyBlocked(FrameHead),
    /// Only a blocked frame can be unblocked.
    #[error("{} is {}, not blocked", shown(.0), .0.status)]
    NotBlocked(FrameHead),
    /// A planned frame cannot be popped.
    #[error("{} is planned and was not started", shown(.0))]
    NotBegun(FrameHead),
    /// The frame is finished or invalidated.
    #[error("{} is {} already", shown(.0), .0.status)]
    AlreadyFinished(FrameHead),
    /// A frame cannot be closed over open children.
    #[error("{} has {} open {}: {}", shown(.frame), .total, plural(*.total), listed(.children, *.total))]
    ChildrenOpen {
        /// The frame.
        frame: FrameHead,
        /// The first few open children.
        children: Vec<FrameHead>,
        /// Total number of open children.
        total: usize,
    },
    /// The goal of a finished frame cannot be changed.
    #[error("{} is {}: its goal can no longer be edited", shown(.0), .0.status)]
    GoalFrozen(FrameHead),
    /// Only finished frames have results.
    #[error("{} is {} and has no results to correct", shown(.0), .0.status)]
    NoResultsYet(FrameHead),
    /// Finished work cannot be invalidated.
    #[error("{} is {}: finished work cannot be invalidated", shown(.0), .0.status)]
    CannotInvalidateFinished(FrameHead),
    /// The edit names nothing to change.
    #[error("no change was given")]
    NothingToEdit,
    /// The plan has no frames.
    #[error("the plan names no frame")]
    EmptyPlan,
    /// The plan has more levels than one command accepts.
    #[error("the plan has more than {DEEPEST_PLAN} levels")]
    PlanTooDeep,
    /// Only planned frames can be deleted.
    #[error("{} is {}: only planned frames can be deleted", shown(.0), .0.status)]
    NotPlanned(FrameHead),
    /// Finished work, and work that mirrors a host's list, stays in its place.
    #[error("{} {}", shown(.0), immovable(.0))]
    NotMovable(FrameHead),
    /// A frame cannot be moved below itself.
    #[error("{} cannot be moved below {}", shown(.frame), around(.frame, .into))]
    Cycle {
        /// The frame.
        frame: FrameHead,
        /// Its new parent.
        into: FrameHead,
    },
    /// A frame cannot be moved next to itself.
    #[error("{} cannot be put before or after itself", shown(.0))]
    MoveNextToSelf(FrameHead),
    /// There is no rank left between two siblings.
    #[error("there is no room left next to {}", shown(.0))]
    NoRankLeft(FrameHead),
    /// The session is bound to another frame.
    #[error("{session} is bound to {} already", shown(.frame))]
    SessionBound {
        /// The session.
        session: SessionRef,
        /// Its frame.
        frame: FrameHead,
    },
    /// The frame is bound to another session.
    #[error("{} is bound to {session} already", shown(.frame))]
    FrameBound {
        /// The frame.
        frame: FrameHead,
        /// Its session.
        session: SessionRef,
    },
    /// The session is bound to no frame.
    #[error("{0} is bound to no frame")]
    NotBound(SessionRef),
    /// There is no session with this name.
    #[error("there is no session {0}")]
    NoSuchSession(SessionRef),
    /// A session cannot be linked to itself, nor be the parent of its own ancestor.
    #[error("{session} cannot be linked to {to}: {}", loop_problem(.session, .to))]
    SessionLoop {
        /// The session.
        session: SessionRef,
        /// The other one.
        to: SessionRef,
    },
    /// The session has no command to undo.
    #[error("{0} has nothing to undo")]
    NothingToUndo(SessionRef),
    /// Another session has built on the command.
    #[error(
        "the last command of {session} cannot be undone: {by} has worked on the same frame since"
    )]
    BuiltUpon {
        /// The session of the command.
        session: SessionRef,
        /// The session that came after.
        by: SessionRef,
    },
    /// The command would bring back work below a frame that has ended since.
    #[error(
        "the last command of {session} cannot be undone: the frame above {} has ended since",
        shown(.frame)
    )]
    ParentEnded {
        /// The session of the command.
        session: SessionRef,
        /// The frame that it would bring back.
        frame: FrameHead,
    },
    /// One message has both a pop and a push.
    #[error("a pop and a push in one message: the order is ambiguous")]
    PopWithPush,
    /// An imported frame does not fit into the tree.
    #[error("the import does not fit: {0}")]
    BadImport(String),
}

/// Formats a frame for a sentence: its id, which can be typed, and its title.
fn shown(frame: &FrameHead) -> String {
    format!("{} “{}”", frame.id, short(&frame.title))
}

/// Formats a session for a sentence. A user at a terminal thinks of the worktree.
fn place(session: &SessionRef) -> String {
    if session.is_shell() {
        "this worktree".to_owned()
    } else {
        session.to_string()
    }
}

/// Formats the target of a move.
fn around(frame: &FrameHead, into: &FrameHead) -> String {
    if frame.id == into.id {
        "itself".to_owned()
    } else {
        format!("{}, which is below it", shown(into))
    }
}

/// Says why a frame stays in its place.
fn immovable(frame: &FrameHead) -> String {
    if frame.status.is_open() {
        format!(
            "is {} and cannot be moved: it mirrors the host's list",
            frame.origin
        )
    } else {
        format!("is {}: only open work can be moved", frame.status)
    }
}

fn short(title: &Title) -> String {
    condense(title.as_str(), 60)
}

fn reason(reason: Option<&Text>) -> String {
    reason
        .map(|text| format!(" ({})", condense(text.as_str(), 80)))
        .unwrap_or_default()
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "child" } else { "children" }
}

fn listed(children: &[FrameHead], total: usize) -> String {
    let mut list: Vec<String> = children
        .iter()
        .map(|child| format!("{} ({})", shown(child), child.status))
        .collect();
    if total > children.len() {
        list.push(format!("and {} more", total - children.len()));
    }
    list.join(", ")
}

fn loop_problem(session: &SessionRef, to: &SessionRef) -> &'static str {
    if session == to {
        "it is the same session"
    } else {
        "one is below the other"
    }
}
