//! The layer of a workflow: its ten sections, and what it adds to the generic ones.
//!
//! Here is the order in which things are added, and what all of them need; what is added is told
//! by the files below.

mod approvals;
mod artifacts;
mod gate;
mod records;
mod stage;

use super::choice::{Active, KnownBy};
use super::draft::Draft;
use super::session_log::SessionLog;
use super::tasks::Task;
use super::{Source, Sources, Standing};
use crate::workflow::{Has, Role, Stage, fill};

/// How many of the things that are done are shown: the latest.
const DONE: usize = 4;
/// How many of those that are not are shown.
const TO_DO: usize = 6;

/// Adds everything that the workflow has to say.
pub(super) fn add(
    draft: &mut Draft,
    active: &Active<'_>,
    sources: &Sources,
    log: Option<&SessionLog>,
) -> Standing {
    let layer = Layer { active };
    layer.stage(draft, sources, log);
    layer.tasks(draft);
    layer.artifacts(draft);
    layer.progress(draft);
    layer.approvals(draft, sources, log);
    layer.findings(draft);
    layer.gate(draft);
    layer.standing()
}

struct Layer<'a, 'b> {
    active: &'b Active<'a>,
}

impl Layer<'_, '_> {
    fn declared(&self) -> Source {
        Source::Workflow(self.active.workflow.name.clone())
    }

    fn filled(&self, text: &str) -> String {
        let to_do = self.active.tasks.to_do();
        let task = to_do.first().and_then(|task| task.id.as_deref());
        fill(text, self.active.name(), task)
    }

    /// What says which stage it is.
    fn evidence(&self) -> (String, Source) {
        match &self.active.known_by {
            KnownBy::Said(source) => (format!("named in {source}"), source.clone()),
            KnownBy::Seen(file) => {
                let source = Source::File {
                    path: self.active.path(file),
                    line: None,
                };
                let file = self.active.called(file);
                (format!("inferred from `{file}`"), source)
            }
            KnownBy::Nothing => ("where the workflow begins".to_owned(), self.declared()),
        }
    }

    /// Whether a stage works its way through the list of tasks, rather than writing it.
    fn is_about_tasks(&self, stage: &Stage) -> bool {
        let workflow = self.active.workflow;
        let is_current = workflow
            .artifact(Role::Tasks)
            .is_some_and(|tasks| stage.current_artifact.as_ref() == Some(&tasks.file));
        let works = stage.markers.iter().any(|sign| sign.has == Has::Tasks);
        is_current && (works || workflow.stages.last() == Some(stage))
    }

    fn tasks_file(&self) -> &str {
        self.active
            .workflow
            .artifact(Role::Tasks)
            .map_or("tasks", |artifact| &artifact.file)
    }

    fn task_file_source(&self) -> Source {
        Source::File {
            path: self.active.path(self.tasks_file()),
            line: None,
        }
    }

    fn task_source(&self, task: &Task) -> Source {
        let file = self.active.workflow.artifact(Role::Tasks);
        Source::File {
            path: file
                .map(|file| self.active.path(&file.file))
                .unwrap_or_default(),
            line: task.line,
        }
    }

    fn standing(&self) -> Standing {
        let active = self.active;
        let follows = active
            .workflow
            .after(active.stage)
            .map(|stage| stage.name.clone());
        let current = active.stage.current_artifact.as_ref();
        let is_written = current.is_some_and(|file| active.content(file).is_some());
        let ahead = follows.clone().filter(|_| is_written);
        Standing {
            workflow: active.workflow.name.clone(),
            unit: active.known_name().map(str::to_owned),
            stage: active.stage.name.clone(),
            known_by: self.evidence().0,
            follows,
            ahead: ahead.unwrap_or_else(|| active.stage.name.clone()),
            to_do: active.tasks.to_do().into_iter().cloned().collect(),
            done: active.tasks.done().len(),
        }
    }
}

fn counted(tasks: usize) -> String {
    if tasks == 1 {
        "1 task".to_owned()
    } else {
        format!("{tasks} tasks")
    }
}
