//! The stage of the workflow, the step at hand in it and the next action.

use crate::active::Active;
use crate::approvals::{Approval, approval};
use crate::draft::Draft;
use crate::facts::Facts;
use crate::tasks::Task;
use crate::workflow::Stage;
use crate::{Heading, LineSource};

pub(super) fn write(draft: &mut Draft, facts: &Facts<'_>, active: &Active<'_>) {
    let stage = active.stage;
    let (_, source) = active.evidence();
    let (workflow, objective) = (&active.workflow.name, active.filled(&stage.objective));
    draft.vital(Heading::WorkflowType, workflow, active.declaration());
    draft.vital(Heading::Stage, &stage.name, source);
    draft.vital(Heading::Objective, &objective, active.declaration());
    write_status(draft, active);
    let step = Step::of(facts, active);
    draft.vital(Heading::CurrentStep, &step.current, step.source.clone());
    if step.is_ahead {
        draft.useful(Heading::Remaining, &step.current, step.source.clone());
    }
    draft.vital(Heading::NextAction, &step.next, step.source);
}

fn write_status(draft: &mut Draft, active: &Active<'_>) {
    let (item, stage) = (item_name(active), &active.stage.name);
    let (known_by, source) = active.evidence();
    let mut status = format!("{item} is in {stage} ({known_by})");
    let tasks = &active.tasks;
    if !tasks.tasks.is_empty() {
        let (done, open) = (counted(tasks.done().len()), tasks.to_do().len());
        status.push_str(&format!("; {done} complete and {open} remaining"));
    }
    draft.vital(Heading::Status, &format!("{status}."), source.clone());
    if let Some(seen) = active.contradiction {
        let seen = &seen.name;
        let text = format!("{stage} was {known_by}, but the files of {item} look like {seen}.");
        draft.useful(Heading::Blockers, &text, source);
    }
}

/// The step at hand and the one after it.
struct Step {
    current: String,
    next: String,
    /// True if no list of tasks says what remains of the stage.
    is_ahead: bool,
    source: LineSource,
}

impl Step {
    fn of(facts: &Facts<'_>, active: &Active<'_>) -> Self {
        let stage = active.stage;
        if active.works_on_tasks(stage) {
            if let Some(task) = active.tasks.to_do().first() {
                return Self::task(active, task);
            }
            if active.tasks.tasks.is_empty() {
                return Self::no_tasks(active);
            }
        }
        if let Some((follows, source)) = opened_stage(facts, active) {
            return Self::opened(active, follows, source);
        }
        Self {
            current: active.filled(&stage.current_step),
            next: active.filled(&stage.next_action),
            is_ahead: active.tasks.tasks.is_empty(),
            source: active.declaration(),
        }
    }

    fn task(active: &Active<'_>, task: &Task) -> Self {
        let (label, file) = (task.label(), active.filled(active.tasks_file()));
        let (item, stage) = (item_name(active), &active.stage.name);
        Self {
            current: format!("Current task in `{file}`: {label}."),
            next: format!("{label} — next in {stage} of {item}."),
            is_ahead: false,
            source: active.task_source(task),
        }
    }

    fn no_tasks(active: &Active<'_>) -> Self {
        let (item, stage) = (item_name(active), &active.stage.name);
        let file = active.filled(active.tasks_file());
        Self {
            current: format!("`{file}` of {item} is missing or has no tasks."),
            next: format!("`{file}` of {item}: {stage} needs it first."),
            is_ahead: false,
            source: active.source(active.tasks_file(), None),
        }
    }

    /// The file of this stage is approved, so that the next stage is open.
    fn opened(active: &Active<'_>, follows: &Stage, source: LineSource) -> Self {
        let file = active.stage.current_artifact.as_deref().unwrap_or_default();
        let (file, item) = (active.filled(file), item_name(active));
        let to_do = active.tasks.to_do();
        let task = to_do.first().filter(|_| active.works_on_tasks(follows));
        let next = task.map_or_else(|| active.filled(&follows.next_action), |task| task.label());
        Self {
            current: format!("`{file}` of {item} is written and approved."),
            next: format!("{} is open: {next}", follows.name),
            is_ahead: false,
            source,
        }
    }
}

/// Returns the next stage if the file that this stage writes has its approval. A stage that only builds
/// on a file of an earlier one is not over with the approval of that file.
fn opened_stage<'a>(facts: &Facts<'_>, active: &Active<'a>) -> Option<(&'a Stage, LineSource)> {
    let (workflow, stage) = (active.workflow, active.stage);
    let follows = workflow.after(stage)?;
    let file = stage.current_artifact.as_ref()?;
    let writer = workflow.stages.iter().find(|stage| stage.is_about(file));
    let mut artifacts = workflow.artifacts.iter().filter(|it| it.needs_approval());
    let artifact = artifacts.find(|artifact| artifact.file == *file)?;
    match approval(active, artifact, facts) {
        Approval::Recorded { source, .. } if writer == Some(stage) => Some((follows, source)),
        _ => None,
    }
}

fn item_name<'a>(active: &'a Active<'_>) -> &'a str {
    active.known_name().unwrap_or("The work")
}

pub(super) fn counted(tasks: usize) -> String {
    match tasks {
        1 => "1 task".to_owned(),
        more => format!("{more} tasks"),
    }
}
