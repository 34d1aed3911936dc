//! Worktrees in the order of a run: who gets one, when its work is merged, and who waits for that.

use flamestack_core::{FrameId, Status};

use crate::record::ActionOutcome;
use crate::stack::RunTree;
use crate::state::{FrameRun, RunState};

/// Number of merges that may meet conflicts before a worktree is left to the user.
const MERGES: u32 = 3;
/// Number of merges that met conflicts, after which one more is tried.
pub(crate) const LAST_MERGE: u32 = MERGES - 1;

/// Returns true if a frame still needs a worktree of its own. A frame that resolves conflicts works where
/// the merge is made.
pub(super) fn wants_worktree(state: &RunState, frame: &FrameId, run: &FrameRun) -> bool {
    let resolves = state.frames.values().any(
        |other| matches!(&other.merged, Some(ActionOutcome::Conflicts { frame: new, .. }) if new == frame),
    );
    state.options.worktrees
        && state.root != Some(*frame)
        && !resolves
        && run.worktree.is_none()
        && run.session.is_none()
}

/// Returns the frame in whose worktree a frame is worked on: its own, or that of the nearest frame
/// above it; none for the project's own folder. A worktree that was merged is gone.
pub(crate) fn place(state: &RunState, tree: &RunTree, frame: &FrameId) -> Option<FrameId> {
    let has_worktree = |id: &FrameId| state.frame(id).is_some_and(FrameRun::is_unmerged);
    tree.path(frame).into_iter().find(has_worktree)
}

/// Returns true if a frame that resolves the conflicts of a merge is to be opened.
pub(super) fn wants_resolver(tree: &RunTree, frame: &FrameId, run: &FrameRun) -> bool {
    let Some(ActionOutcome::Conflicts { frame: new, .. }) = &run.merged else {
        return false;
    };
    let parent = tree.get(frame).and_then(|head| head.parent);
    run.conflicts < MERGES
        && tree.get(new).is_none()
        && parent.is_some_and(|parent| tree.is_wanted(&parent))
}

/// Returns true if a frame's worktree can be merged now, or removed if the frame was given up: for the
/// first time, after a frame has resolved its conflicts, or when its parent has ended, who may have
/// resolved them. Nothing is merged into a folder in which a session is at work.
pub(super) fn is_mergeable(
    state: &RunState,
    tree: &RunTree,
    frame: &FrameId,
    run: &FrameRun,
) -> bool {
    let Some(parent) = tree.get(frame).and_then(|head| head.parent) else {
        return false;
    };
    let is = |frame: &FrameId, status: Status| tree.status(frame) == Some(status);
    let is_due = match &run.merged {
        None => !tree.status(frame).is_some_and(Status::is_open) && run.turn.is_none(),
        Some(ActionOutcome::Conflicts { frame: new, .. }) => {
            let is_resolved = is(new, Status::Completed) || is(&parent, Status::Completed);
            run.conflicts < MERGES && is_resolved
        }
        Some(_) => false,
    };
    let target = place(state, tree, &parent);
    let mut busy = state.frames.iter().filter(|(_, run)| run.turn.is_some());
    run.worktree.is_some() && is_due && !busy.any(|(id, _)| place(state, tree, id) == target)
}

/// Returns true if everything that a frame made is where other frames find it.
pub(super) fn is_delivered(state: &RunState, tree: &RunTree, frame: &FrameId) -> bool {
    tree.status(frame) == Some(Status::Completed) && !is_left(state, tree, frame)
}

/// Returns true if a frame is completed and its work is not merged.
pub(super) fn is_left(state: &RunState, tree: &RunTree, frame: &FrameId) -> bool {
    let is_unmerged = state.frame(frame).is_some_and(FrameRun::is_unmerged);
    is_unmerged && tree.status(frame) == Some(Status::Completed)
}

/// Returns true if a frame's parent has to wait for the merge of its work. A frame that resolves conflicts
/// is a child like any other.
pub(super) fn is_awaited(state: &RunState, tree: &RunTree, frame: &FrameId) -> bool {
    let is_resolved = |run: &FrameRun| {
        matches!(run.merged, Some(ActionOutcome::Conflicts { .. })) && run.conflicts < MERGES
    };
    is_left(state, tree, frame) && !state.frame(frame).is_some_and(is_resolved)
}

/// Returns the reason for which a frame's work is left to the user, if it is.
pub(crate) fn left_because(state: &RunState, tree: &RunTree, frame: &FrameId) -> Option<String> {
    let run = state.frame(frame).filter(|run| run.conflicts >= MERGES);
    match &run.filter(|_| is_left(state, tree, frame))?.merged {
        Some(ActionOutcome::Conflicts { files, .. }) => Some(format!(
            "its work is not merged: conflicts in {}",
            files.join(", ")
        )),
        _ => None,
    }
}
