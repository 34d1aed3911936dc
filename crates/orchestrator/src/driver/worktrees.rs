//! Moves with git: worktrees made and merged, and frames that resolve conflicts.

use flamestack_core::command::{PlanItem, Under};
use flamestack_core::event::Goal;
use flamestack_core::{Command, FrameId, Status, Text};

use super::RunDriver;
use crate::error::RunError;
use crate::record::{ActionOutcome, RunAction};
use crate::report::RunEvent;
use crate::ruling::title_of;
use crate::stack::RunTree;
use crate::worktree::{Merged, Worktrees};

impl RunDriver<'_> {
    pub(super) fn worktree(&mut self, frame: FrameId, tree: &RunTree) -> Result<(), RunError> {
        let place = self.worktrees.as_ref().map(|all| all.place(&frame));
        let (folder, branch) = place.unwrap_or_default();
        let step = self.intend(frame, RunAction::Worktree { folder, branch })?;
        self.make_worktree(step, &frame, tree)
    }

    /// Makes a frame's worktree from the state of the folder that the frame above works in.
    pub(super) fn make_worktree(
        &mut self,
        step: u64,
        frame: &FrameId,
        tree: &RunTree,
    ) -> Result<(), RunError> {
        let base = self.directory(tree, frame);
        let parent = tree.get(frame).and_then(|head| head.parent);
        let title = parent.map_or("", |parent| tree.title(&parent));
        let made = self.git(|all| all.create(frame, base.as_deref(), title));
        match made {
            Ok(changes) => {
                if changes > 0 && !std::mem::replace(&mut self.memory.noted_changes, true) {
                    let what = if changes == 1 { "change" } else { "changes" };
                    let note = format!(
                        "worktrees begin at the last commit, without {changes} {what} in the project"
                    );
                    self.front.event(&RunEvent::Note(note));
                }
                self.conclude(step, ActionOutcome::Made)
            }
            Err(error) => self.refused(step, frame, &error.to_string()),
        }
    }

    /// Merges the worktree of a completed frame, or removes that of one that was given up.
    pub(super) fn merge(
        &mut self,
        step: u64,
        frame: &FrameId,
        tree: &RunTree,
    ) -> Result<(), RunError> {
        let parent = tree.get(frame).and_then(|head| head.parent);
        let into = parent.and_then(|parent| self.directory(tree, &parent));
        if tree.status(frame) != Some(Status::Completed) {
            let is_removed = self.git(|all| all.remove_unused(frame, into.as_deref()));
            return self.conclude(step, given_up(is_removed));
        }
        let title = tree.title(frame);
        let run = self.memory.state.frame(frame);
        let was_resolved = run.is_some_and(|run| run.conflicts > 0);
        match self.git(|all| all.merge(frame, into.as_deref(), title, was_resolved)) {
            Ok(Merged::Whole) => self.conclude(step, ActionOutcome::Made),
            Ok(Merged::Left(reason)) => {
                self.front.event(&RunEvent::Note(reason));
                self.conclude(step, ActionOutcome::Made)
            }
            Ok(Merged::Conflicts(files)) => {
                let frame = self.stack.draw();
                self.conclude(step, ActionOutcome::Conflicts { frame, files })
            }
            Err(error) => self.refused(step, frame, &error.to_string()),
        }
    }

    /// Opens the frame that resolves the conflicts of a merge, below the frame's parent.
    pub(super) fn open_conflict(
        &mut self,
        frame: &FrameId,
        tree: &RunTree,
    ) -> Result<(), RunError> {
        let run = self.memory.state.frame(frame).cloned().unwrap_or_default();
        let parent = tree.get(frame).and_then(|head| head.parent);
        let (Some(ActionOutcome::Conflicts { frame: new, files }), Some(parent)) =
            (run.merged, parent)
        else {
            return Ok(());
        };
        let title = tree.title(frame);
        let branch = run.worktree.map_or_else(String::new, |(_, branch)| branch);
        let goal = Goal {
            title: title_of(&format!("Merge the work of: {title}")),
            criteria: Text::new(&format!(
                "`git merge {branch}` is done and committed here. Git met conflicts: {}",
                files.join(", ")
            ))
            .ok(),
            criteria_compacted: None,
        };
        let titles = vec![goal.title.as_str().to_owned()];
        let item = PlanItem {
            id: new,
            goal,
            children: Vec::new(),
        };
        let command = Command::Plan {
            under: Under::Frame(parent),
            items: vec![item],
        };
        let actor = self.actor.clone();
        self.change(&actor, &command)?;
        self.front.event(&RunEvent::Opened { parent, titles });
        Ok(())
    }

    fn git<T>(&self, act: impl FnOnce(&Worktrees) -> Result<T, RunError>) -> Result<T, RunError> {
        let none = || RunError::Git {
            action: "worktree".to_owned(),
            reason: "this project is not a git repository".to_owned(),
        };
        act(self.worktrees.as_ref().ok_or_else(none)?)
    }
}

/// Returns the outcome for a worktree whose frame was given up: it stays if it holds any work.
fn given_up(is_removed: Result<bool, RunError>) -> ActionOutcome {
    match is_removed {
        Ok(true) => ActionOutcome::Made,
        Ok(false) => ActionOutcome::Failed {
            reason: "it holds work".to_owned(),
        },
        Err(error) => ActionOutcome::Failed {
            reason: error.to_string(),
        },
    }
}
