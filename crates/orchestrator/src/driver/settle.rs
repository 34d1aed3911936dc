//! Calls whose outcome is not recorded: looked up, and made only if they never arrived.

use super::RunDriver;
use crate::error::RunError;
use crate::host::TurnView;
use crate::record::{ActionOutcome, RunAction};
use crate::stack::RunTree;

impl RunDriver<'_> {
    /// Finds out about a call.
    pub(super) fn settle(&mut self, step: u64, tree: &RunTree) -> Result<(), RunError> {
        let open = self.memory.state.open.get(&step).cloned();
        let Some((frame, _, act)) = open else {
            return Ok(());
        };
        match act {
            RunAction::Session => match self.host.find(&self.wanted(tree, &frame))? {
                Some(id) => self.created(step, &frame, id),
                None => self.create(step, &frame, tree),
            },
            RunAction::Context { message, part } => {
                if self.host.has(&self.location(tree, &frame)?, &message)? {
                    self.conclude(step, ActionOutcome::Made)
                } else {
                    self.deliver_context(step, &frame, (message, part), tree)
                }
            }
            RunAction::Prompt { message, .. } => {
                let view = self.host.turn(&self.location(tree, &frame)?, &message)?;
                let is_missing = view == TurnView::Missing;
                if !is_missing {
                    self.memory.all_dirty = true;
                    self.conclude(step, ActionOutcome::Made)
                } else if tree.is_wanted(&frame) {
                    self.deliver_prompt(step, &frame, tree)
                } else {
                    let reason = "the frame was given up".to_owned();
                    self.conclude(step, ActionOutcome::Failed { reason })
                }
            }
            RunAction::Say {
                message,
                part,
                spoken,
            } => {
                if self.host.has(&self.location(tree, &frame)?, &message)? {
                    self.conclude(step, ActionOutcome::Made)
                } else {
                    self.deliver_spoken(step, &frame, (message, part, &spoken), tree)
                }
            }
            RunAction::Stop => {
                self.host.stop(&self.location(tree, &frame)?)?;
                self.conclude(step, ActionOutcome::Made)
            }
            RunAction::Worktree { .. } => self.make_worktree(step, &frame, tree),
            RunAction::Merge => self.merge(step, &frame, tree),
        }
    }
}
