//! Which stage it is, what is at hand in it and what comes next.

use super::{Layer, counted};
use crate::brief::approvals::{Approval, approval};
use crate::brief::draft::{Draft, Rank};
use crate::brief::session_log::SessionLog;
use crate::brief::tasks::Task;
use crate::brief::{Heading, Source, Sources};
use crate::workflow::Stage;

impl Layer<'_, '_> {
    pub(super) fn stage(&self, draft: &mut Draft, sources: &Sources, log: Option<&SessionLog>) {
        let stage = self.active.stage;
        let (known_by, source) = self.evidence();
        draft.add(
            Heading::WorkflowType,
            Rank::Vital,
            &self.active.workflow.name,
            self.declared(),
        );
        draft.add(Heading::Stage, Rank::Vital, &stage.name, source.clone());
        draft.add(
            Heading::Objective,
            Rank::Vital,
            &self.filled(&stage.objective),
            self.declared(),
        );
        let unit = self.active.known_name().unwrap_or("The work");
        let mut status = format!("{unit} is in {} ({known_by})", stage.name);
        let tasks = &self.active.tasks;
        if !tasks.tasks.is_empty() {
            let (done, open) = (tasks.done().len(), tasks.to_do().len());
            status.push_str(&format!(
                "; {} complete and {open} remaining",
                counted(done)
            ));
        }
        status.push('.');
        draft.add(Heading::Status, Rank::Vital, &status, source.clone());
        if let Some(seen) = self.active.seen {
            let text = format!(
                "{} was {known_by}, but the files of {unit} look like {}.",
                stage.name, seen.name
            );
            draft.add(Heading::Blockers, Rank::Useful, &text, source);
        }
        match self.next_task() {
            Some(task) => {
                let source = self.task_source(task);
                let step = format!(
                    "Task at hand by `{}`: {}.",
                    self.active.called(self.tasks_file()),
                    task.label()
                );
                draft.add(Heading::CurrentStep, Rank::Vital, &step, source.clone());
                let next = format!("{} — next in {} of {unit}.", task.label(), stage.name);
                draft.add(Heading::NextAction, Rank::Vital, &next, source);
            }
            None if self.is_about_tasks(stage) && self.active.tasks.tasks.is_empty() => {
                let source = self.task_file_source();
                let file = self.active.called(self.tasks_file());
                let step = format!("`{file}` of {unit} is missing or has no tasks.");
                draft.add(Heading::CurrentStep, Rank::Vital, &step, source.clone());
                let next = format!(
                    "`{file}` of {unit}: {} has nothing to go by without it.",
                    stage.name
                );
                draft.add(Heading::NextAction, Rank::Vital, &next, source);
            }
            None if let Some((follows, source)) = self.opened(sources, log) => {
                let file = stage.current_artifact.as_deref().unwrap_or_default();
                let file = self.active.called(file);
                let step = format!("`{file}` of {unit} is written and approved.");
                draft.add(Heading::CurrentStep, Rank::Vital, &step, source.clone());
                let tasks = self.active.tasks.to_do();
                let task = tasks.first().filter(|_| self.is_about_tasks(follows));
                let next =
                    task.map_or_else(|| self.filled(&follows.next_action), |task| task.label());
                let next = format!("{} is open: {next}", follows.name);
                draft.add(Heading::NextAction, Rank::Vital, &next, source);
            }
            None => {
                draft.add(
                    Heading::CurrentStep,
                    Rank::Vital,
                    &self.filled(&stage.current_step),
                    self.declared(),
                );
                draft.add(
                    Heading::NextAction,
                    Rank::Vital,
                    &self.filled(&stage.next_action),
                    self.declared(),
                );
            }
        }
    }

    fn next_task(&self) -> Option<&Task> {
        let next = self.active.tasks.to_do().into_iter().next();
        next.filter(|_| self.is_about_tasks(self.active.stage))
    }

    /// The stage that follows, where the file of this one has its approval.
    fn opened(&self, sources: &Sources, log: Option<&SessionLog>) -> Option<(&Stage, Source)> {
        let (workflow, stage) = (self.active.workflow, self.active.stage);
        let follows = workflow.after(stage)?;
        let file = stage.current_artifact.as_ref()?;
        let artifact = workflow
            .artifacts
            .iter()
            .find(|artifact| artifact.file == *file && !artifact.approval.is_empty())?;
        // A stage that builds on a file that it does not write is not over with its approval.
        let is_written_here = workflow
            .stages
            .iter()
            .find(|stage| stage.current_artifact.as_ref() == Some(file))
            == Some(stage);
        match approval(self.active, artifact, sources, log) {
            Approval::Recorded { source, .. } if is_written_here => Some((follows, source)),
            _ => None,
        }
    }
}
