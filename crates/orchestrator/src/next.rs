//! The next move of a run, from the frames and the run's journal alone.
//!
//! This is a pure function. The driver asks it again after every step, so that a run that was killed
//! finds its place by looking, never by doing something again.

mod merging;

use flamestack_core::{FrameHead, FrameId, Status};
use serde::{Deserialize, Serialize};

use crate::budget::{BudgetLimit, Limits, Spending, compare};
use crate::keys;
use crate::options::{ContextPlacement, Strategy};
use crate::prompt::PromptKind;
use crate::report::RunEnding;
use crate::stack::RunTree;
use crate::state::{Phase, RunState};

pub(crate) use self::merging::{LAST_MERGE, left_because, place};
use self::merging::{is_delivered, is_left, wants_worktree};

/// The next thing that the driver does.
#[derive(Clone, Debug, PartialEq)]
pub enum NextMove {
    /// Find out about a call whose outcome is not recorded.
    Settle(u64),
    /// Apply the consequences of a turn that ended.
    Apply(FrameId),
    /// Stop the turn of a frame that is no longer wanted.
    Stop(FrameId),
    /// Give up a frame below one that was given up.
    Abandon(FrameId),
    /// Make a worktree.
    Worktree(FrameId),
    /// Merge a worktree.
    Merge(FrameId),
    /// Open the frame that resolves the conflicts of a merge.
    Conflict(FrameId),
    /// Create a session.
    OpenSession(FrameId),
    /// Bind the session to the frame and start the frame.
    Adopt(FrameId),
    /// Store the context in the session.
    SendContext(FrameId),
    /// Prompt the session.
    Prompt {
        /// The frame.
        frame: FrameId,
        /// Reason for the prompt.
        why: PromptKind,
        /// Children whose outcome it reports.
        children: Vec<FrameId>,
    },
    /// Pass a message of the user to a session that is at work.
    Say {
        /// The frame.
        frame: FrameId,
        /// Id of the user's message.
        spoken: String,
    },
    /// Warn the user about a limit.
    Warn(FrameId, BudgetLimit),
    /// Park a subtree, or the whole run.
    Park(Option<FrameId>, String),
    /// Wait for news.
    Wait,
    /// Stop driving.
    Finish(RunEnding),
}

/// Consequence of a turn for its frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "verdict")]
pub enum Verdict {
    /// The frame is finished.
    Closed {
        /// Its status.
        status: String,
        /// True if the session gave no signal, and its last message was taken as the result.
        inferred: bool,
    },
    /// The frame goes on when its children have ended.
    Waits {
        /// Children that it asked to start.
        #[serde(with = "keys::many")]
        started: Vec<FrameId>,
        /// Remarks for its next prompt.
        remarks: Vec<String>,
    },
    /// The session is prompted again.
    Again {
        /// Reason for the prompt.
        why: PromptKind,
        /// Remarks for it.
        remarks: Vec<String>,
    },
    /// The attempt failed, and there is another one.
    Retry {
        /// The reason of the failure.
        lesson: String,
    },
    /// The frame is blocked.
    Blocked {
        /// Reason.
        reason: String,
    },
    /// The provider refuses to work: the whole run is parked.
    Limited {
        /// Reason.
        reason: String,
        /// Time at which it can go on, in milliseconds, if known.
        until: Option<i64>,
    },
    /// The turn was stopped.
    Stopped,
}

/// Conditions under which the next move is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunConditions {
    /// True if the host waits for its provider: nothing more is dispatched.
    pub waits_for_provider: bool,
    /// True if the user paused the run.
    pub paused: bool,
    /// Time during which the run was driven, in milliseconds.
    pub wall_ms: u64,
}

/// Returns the next move.
pub fn next(state: &RunState, tree: &RunTree, conditions: RunConditions) -> NextMove {
    if let Some(step) = state.open.keys().next() {
        return NextMove::Settle(*step);
    }
    let ended = state.frames.iter().find(|(_, run)| {
        let turn = run.turn.as_ref();
        turn.is_some_and(|turn| matches!(turn.phase, Phase::Ended(_)))
    });
    if let Some((frame, _)) = ended {
        return NextMove::Apply(*frame);
    }
    if let Some(tidy) = tidied(state, tree) {
        return tidy;
    }
    if conditions.paused || state.parked.is_some() {
        return idle(state, tree, conditions);
    }
    if conditions.waits_for_provider {
        return NextMove::Wait;
    }
    dispatch(state, tree, conditions)
}

/// Returns the next move that needs no model.
fn tidied(state: &RunState, tree: &RunTree) -> Option<NextMove> {
    for (frame, run) in &state.frames {
        match &run.turn {
            Some(turn) if !tree.is_wanted(frame) && !turn.stopped => {
                return Some(NextMove::Stop(*frame));
            }
            Some(turn) if turn.phase == Phase::Sent && !turn.stopped => {
                if let Some((id, _)) = run.spoken.first() {
                    return Some(NextMove::Say {
                        frame: *frame,
                        spoken: id.clone(),
                    });
                }
            }
            _ => {}
        }
        if merging::wants_resolver(tree, frame, run) {
            return Some(NextMove::Conflict(*frame));
        }
        if merging::is_mergeable(state, tree, frame, run) {
            return Some(NextMove::Merge(*frame));
        }
    }
    // Work that was going on when a frame above it was given up stays open in the tree.
    let left = tree.heads().find(|head| {
        let busy = state.frame(&head.id).is_some_and(|run| run.turn.is_some());
        let above = head.parent.and_then(|parent| tree.status(&parent));
        let given_up = matches!(above, Some(Status::Invalidated | Status::Failed));
        head.status.is_open() && given_up && !busy
    });
    left.map(|head| NextMove::Abandon(head.id))
}

/// Waits for what is going on, or ends.
fn idle(state: &RunState, tree: &RunTree, conditions: RunConditions) -> NextMove {
    if state.frames.values().any(|run| run.turn.is_some()) {
        return NextMove::Wait;
    }
    NextMove::Finish(ending(state, tree, conditions))
}

/// Returns the state in which a run that does nothing more is.
fn ending(state: &RunState, tree: &RunTree, conditions: RunConditions) -> RunEnding {
    let root = state.root.and_then(|root| tree.get(&root));
    let parked = || {
        let run = state.parked.clone();
        run.or_else(|| state.frames.values().find_map(|run| run.parked.clone()))
    };
    let open = tree
        .heads()
        .any(|head| head.status.is_open() || is_left(state, tree, &head.id));
    match root.map(|head| head.status) {
        Some(Status::Completed) if !open => RunEnding::Completed,
        Some(Status::Failed) => RunEnding::Failed,
        Some(Status::Invalidated) => RunEnding::Invalidated,
        None => RunEnding::Gone,
        Some(_) => match parked() {
            Some((reason, until)) => RunEnding::Parked { reason, until },
            None if conditions.paused => RunEnding::Paused,
            None => RunEnding::Blocked {
                on: waits(state, tree),
            },
        },
    }
}

/// Returns the open frames that nothing can be done about, each with its reason.
fn waits(state: &RunState, tree: &RunTree) -> Vec<String> {
    let blocked = tree.heads().filter(|head| head.status == Status::Blocked);
    let mut all: Vec<String> = blocked
        .map(|head| {
            let reason = head.blocked_on.as_ref().map_or("", |text| text.as_str());
            format!("{} {}: {reason}", head.id, head.title.as_str())
        })
        .collect();
    all.extend(tree.heads().filter_map(|head| {
        let reason = left_because(state, tree, &head.id)?;
        Some(format!("{} {}: {reason}", head.id, head.title.as_str()))
    }));
    let planned = tree.heads().filter(|head| head.status == Status::Planned);
    for head in planned {
        let setup = state.setup(&head.id);
        let missing = setup
            .after
            .iter()
            .filter(|id| !is_delivered(state, tree, id));
        let missing: Vec<&str> = missing
            .filter_map(|id| tree.get(id).map(|head| head.title.as_str()))
            .collect();
        if !missing.is_empty() {
            let (id, title) = (head.id, head.title.as_str());
            all.push(format!("{id} {title}: waits for {}", missing.join(", ")));
        }
    }
    all
}

/// A frame whose session can be prompted.
struct PromptDue {
    frame: FrameId,
    why: PromptKind,
    children: Vec<FrameId>,
}

fn dispatch(state: &RunState, tree: &RunTree, conditions: RunConditions) -> NextMove {
    let Some(root) = state.root else {
        return NextMove::Finish(RunEnding::Gone);
    };
    let busy = state.frames.values().filter(|run| run.turn.is_some());
    let busy = busy.count();
    let jobs = match state.options.strategy {
        Strategy::Parallel => state.options.jobs.max(1),
        Strategy::DepthFirst | Strategy::Free => 1,
    };
    let mut due = Vec::new();
    visit(state, tree, &root, &mut due);
    match due.into_iter().next() {
        Some(due) if busy < jobs => {
            budget(state, tree, &due.frame, conditions).unwrap_or_else(|| stage(state, tree, due))
        }
        _ => idle(state, tree, conditions),
    }
}

/// Collects the frames below `id` that can be prompted, in order.
fn visit(state: &RunState, tree: &RunTree, id: &FrameId, due: &mut Vec<PromptDue>) {
    let Some(head) = tree.get(id) else { return };
    let run = state.frame(id);
    let is_workable = matches!(head.status, Status::Planned | Status::InProgress);
    if !is_workable || run.is_some_and(|run| run.parked.is_some() || run.turn.is_some()) {
        return;
    }
    let troubled = news(state, tree, id)
        .iter()
        .any(|child| matches!(tree.status(child), Some(Status::Failed | Status::Blocked)));
    if let Some(found) = prompt_due(state, tree, id, troubled) {
        due.push(found);
        return;
    }
    for child in startable(state, tree, id) {
        // A parent that has to decide about one child starts no other, but what has begun goes on.
        if troubled && tree.status(&child) == Some(Status::Planned) {
            continue;
        }
        visit(state, tree, &child, due);
        if state.options.strategy != Strategy::Parallel {
            return;
        }
    }
}

/// Returns the children of a frame that ended and whose outcome its session does not know.
fn news(state: &RunState, tree: &RunTree, id: &FrameId) -> Vec<FrameId> {
    let run = state.frame(id);
    let is_new = |child: &&FrameId| {
        let turns = state.frame(child).map_or(0, |run| run.spent.turns);
        let known = run.and_then(|run| run.delivered.get(*child));
        known.is_none_or(|known| *known < turns)
    };
    let ended = |child: &&FrameId| match tree.status(child) {
        Some(Status::Completed | Status::Failed | Status::Blocked) => true,
        // Its own session gave it up, or never knew it.
        Some(Status::Invalidated) => state.frame(child).is_some_and(|run| run.spent.turns > 0),
        _ => false,
    };
    let children = tree.children(id).iter();
    children.filter(ended).filter(is_new).copied().collect()
}

/// Returns the children of a frame that can be worked on, in order.
pub(crate) fn startable(state: &RunState, tree: &RunTree, id: &FrameId) -> Vec<FrameId> {
    let run = state.frame(id);
    let can_start = |head: &FrameHead| {
        let after = state.setup(&head.id).after;
        let ready = after.iter().all(|id| is_delivered(state, tree, id));
        let asked = state.options.strategy != Strategy::Free
            || run.is_some_and(|run| run.asked_for.contains(&head.id));
        let parked = state
            .frame(&head.id)
            .is_some_and(|run| run.parked.is_some());
        match head.status {
            Status::InProgress => !parked,
            Status::Planned => ready && asked && !parked,
            _ => false,
        }
    };
    let open = tree.open_children(id).filter(|head| can_start(head));
    open.map(|head| head.id).collect()
}

/// Returns true if a turn goes on somewhere below a frame.
fn busy_below(state: &RunState, tree: &RunTree, id: &FrameId) -> bool {
    let below = tree.below(id);
    below
        .iter()
        .skip(1)
        .any(|id| state.frame(id).is_some_and(|run| run.turn.is_some()))
}

/// Decides if a frame's own session is to be prompted now.
fn prompt_due(state: &RunState, tree: &RunTree, id: &FrameId, troubled: bool) -> Option<PromptDue> {
    if busy_below(state, tree, id) {
        return None;
    }
    let mut children = tree.children(id).iter();
    if children.any(|child| merging::is_awaited(state, tree, child)) {
        return None;
    }
    // What is parked waits for the user, and so does everything that needs its results.
    let parked = |head: &FrameHead| {
        state
            .frame(&head.id)
            .is_some_and(|run| run.parked.is_some())
    };
    if !troubled && tree.open_children(id).any(parked) {
        return None;
    }
    let children = news(state, tree, id);
    let startable = !startable(state, tree, id).is_empty();
    let open = tree.open_children(id).next().is_some();
    let due = |why: PromptKind| {
        Some(PromptDue {
            frame: *id,
            why,
            children: children.clone(),
        })
    };
    let Some(run) = state.frame(id).filter(|run| run.prompts > 0) else {
        // A frame with a plan is asked when the plan has run, or when something went wrong.
        let plan_first = open && startable && !troubled;
        let stuck = open && !startable && children.is_empty();
        let free = state.options.strategy == Strategy::Free;
        return if plan_first || (stuck && !free) {
            None
        } else {
            due(PromptKind::Begin)
        };
    };
    match &run.last {
        Some(Verdict::Again { why, .. }) => due(*why),
        Some(Verdict::Limited { .. } | Verdict::Stopped) => due(PromptKind::Resume),
        Some(Verdict::Blocked { .. }) => due(PromptKind::Unblocked),
        _ if troubled => due(PromptKind::Continue),
        _ if startable => None,
        _ if !children.is_empty() => due(PromptKind::Continue),
        _ if !run.spoken.is_empty() => due(PromptKind::Said),
        _ => None,
    }
}

/// Returns the step that brings a frame's session nearer to its prompt.
fn stage(state: &RunState, tree: &RunTree, due: PromptDue) -> NextMove {
    let PromptDue {
        frame,
        why,
        children,
    } = due;
    let run = state.frame(&frame).cloned().unwrap_or_default();
    if wants_worktree(state, &frame, &run) {
        return NextMove::Worktree(frame);
    }
    let Some(session) = &run.session else {
        return NextMove::OpenSession(frame);
    };
    let head = tree.get(&frame);
    let bound = head.and_then(|head| head.session.as_ref());
    let is_adopted = bound.is_some_and(|bound| bound.id() == session)
        && head.is_some_and(|head| head.status == Status::InProgress);
    if !is_adopted {
        return NextMove::Adopt(frame);
    }
    if !run.has_context && state.options.placed == ContextPlacement::Message {
        return NextMove::SendContext(frame);
    }
    NextMove::Prompt {
        frame,
        why,
        children,
    }
}

/// Returns a warning or a park if the frame, or one above it, has spent its budget.
fn budget(
    state: &RunState,
    tree: &RunTree,
    frame: &FrameId,
    conditions: RunConditions,
) -> Option<NextMove> {
    for above in tree.path(frame) {
        let is_root = state.root == Some(above);
        let limits = limits_of(state, &above);
        let since = if is_root {
            Some(0)
        } else {
            let below = tree.below(&above);
            below.iter().filter_map(|id| state.frame(id)?.since).min()
        };
        let wall = since.map_or(0, |since| conditions.wall_ms.saturating_sub(since));
        let (near, over) = compare(&limits, &subtree(state, tree, &above), wall);
        if let Some(limit) = over.first() {
            let reason = format!("budget: {}", limit.sentence());
            return Some(NextMove::Park((!is_root).then_some(above), reason));
        }
        let new = near
            .into_iter()
            .find(|limit| !state.warned.contains(&(above, limit.name.clone())));
        if let Some(limit) = new {
            return Some(NextMove::Warn(above, limit));
        }
    }
    None
}

/// Returns the limit of the whole run that is reached, if there is one: nothing is prompted until it is
/// raised.
pub fn limit_reached(state: &RunState) -> Option<BudgetLimit> {
    let limits = limits_of(state, &state.root?);
    let mut spent = Spending::default();
    for run in state.frames.values() {
        spent.add(&run.spent);
    }
    let (_, over) = compare(&limits, &spent, state.wall_ms);
    over.into_iter().next()
}

/// Returns the limits of a frame and everything below it.
pub(crate) fn limits_of(state: &RunState, frame: &FrameId) -> Limits {
    let own = state.setup(frame).limits;
    if state.root == Some(*frame) {
        own.replaced_by(&state.options.limits)
    } else {
        own
    }
}

/// Returns the spending of a frame and everything below it.
pub(crate) fn subtree(state: &RunState, tree: &RunTree, frame: &FrameId) -> Spending {
    let mut all = Spending::default();
    for below in tree.below(frame) {
        if let Some(run) = state.frame(&below) {
            all.add(&run.spent);
        }
    }
    all
}
