//! Calls whose outcome is not recorded: looked up, and made only if they never arrived.

use super::RunDriver;
use crate::error::RunError;
use crate::host::TurnView;
use crate::record::{Act, Done};
use crate::stack::RunTree;

impl RunDriver<'_> {
    /// Finds out about a call.
    pub(super) fn settle(&mut self, step: u64, tree: &RunTree) -> Result<(), RunError> {
        let open = self.memory.state.open.get(&step).cloned();
        let Some((frame, _, act)) = open else {
            return Ok(());
        };
        match act {
            Act::Session => match self.host.find(&self.wanted(tree, &frame))? {
                Some(id) => self.created(step, &frame, id),
                None => self.create(step, &frame, tree),
            },
            Act::Context { message, part } => {
                if self.host.has(&self.seat(tree, &frame)?, &message)? {
                    self.conclude(step, Done::Made)
                } else {
                    self.deliver_context(step, &frame, (message, part), tree)
                }
            }
            Act::Prompt { message, .. } => {
                let view = self.host.turn(&self.seat(tree, &frame)?, &message)?;
                let is_missing = view == TurnView::Missing;
                if !is_missing {
                    self.memory.all_dirty = true;
                    self.conclude(step, Done::Made)
                } else if tree.is_wanted(&frame) {
                    self.deliver_prompt(step, &frame, tree)
                } else {
                    let reason = "the frame was given up".to_owned();
                    self.conclude(step, Done::Failed { reason })
                }
            }
            Act::Say {
                message,
                part,
                spoken,
            } => {
                if self.host.has(&self.seat(tree, &frame)?, &message)? {
                    self.conclude(step, Done::Made)
                } else {
                    self.deliver_spoken(step, &frame, (message, part, &spoken), tree)
                }
            }
            Act::Stop => {
                self.host.stop(&self.seat(tree, &frame)?)?;
                self.conclude(step, Done::Made)
            }
            Act::Worktree { .. } => self.make_worktree(step, &frame, tree),
            Act::Merge => self.merge(step, &frame, tree),
        }
    }
}
