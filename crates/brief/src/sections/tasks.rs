//! The list of tasks: the latest that are done and the first that are not.

use super::{DONE, TO_DO};
use crate::Heading;
use crate::active::Active;
use crate::draft::{Draft, Rank};
use crate::tasks::TaskState;

/// Number of open tasks that outrank files and discoveries.
const NEXT_TASKS: usize = 3;

pub(super) fn write(draft: &mut Draft, active: &Active<'_>) {
    let tasks = &active.tasks;
    let done = tasks.done().into_iter();
    let done = done.map(|task| (task.label(), active.task_source(task)));
    draft.add_last((Heading::Completed, Rank::Useful), DONE, done);
    let to_do = tasks.to_do();
    let ahead = to_do.len().saturating_sub(tasks.skipped());
    for (place, task) in (0..).zip(&to_do).take(TO_DO) {
        let mut label = task.label();
        if task.state == TaskState::Begun {
            label.push_str(" — begun");
        }
        if place >= ahead {
            label.push_str(" — skipped earlier");
        }
        let rank = Rank::useful_if(place < NEXT_TASKS);
        draft.add(Heading::Remaining, rank, &label, active.task_source(task));
    }
    draft.omit(Heading::Remaining, to_do.len().saturating_sub(TO_DO));
}
