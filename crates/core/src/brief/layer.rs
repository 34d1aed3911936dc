//! The layer of a workflow: its ten sections, and what it adds to the generic ones.

use super::approvals::{Approval, approval};
use super::choice::{Active, KnownBy};
use super::document::Document;
use super::draft::{Draft, Rank};
use super::findings::{Topic, findings, labelled_value};
use super::progress::Progress;
use super::session_log::{Field, SessionLog};
use super::tasks::{Mark, Task};
use super::{Heading, Source, Sources, Standing};
use crate::workflow::{Has, Role, Stage, fill};

/// How many of the tasks that are done are shown: the latest.
const DONE: usize = 4;
/// How many of those that are not are shown.
const TO_DO: usize = 6;
/// How many findings of one topic are shown: the latest.
const FINDINGS: usize = 6;

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

    fn task_source(&self, task: &Task) -> Source {
        let file = self.active.workflow.artifact(Role::Tasks);
        Source::File {
            path: file
                .map(|file| self.active.path(&file.file))
                .unwrap_or_default(),
            line: task.line,
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

    fn stage(&self, draft: &mut Draft, sources: &Sources, log: Option<&SessionLog>) {
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
        let unit = self
            .active
            .unit
            .map_or("The work", |unit| unit.name.as_str());
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

    fn tasks_file(&self) -> &str {
        self.active
            .workflow
            .artifact(Role::Tasks)
            .map_or("tasks", |artifact| &artifact.file)
    }

    fn tasks(&self, draft: &mut Draft) {
        let tasks = &self.active.tasks;
        let done = tasks.done();
        let first = done.len().saturating_sub(DONE);
        for task in done.iter().skip(first) {
            draft.add(
                Heading::Completed,
                Rank::Useful,
                &task.label(),
                self.task_source(task),
            );
        }
        draft.omit(Heading::Completed, first);
        let to_do = tasks.to_do();
        let ahead = to_do.len().saturating_sub(tasks.passed_over());
        for (place, task) in to_do.iter().enumerate().take(TO_DO) {
            let mut label = task.label();
            if task.mark == Mark::Begun {
                label.push_str(" — begun");
            }
            if place >= ahead {
                label.push_str(" — passed over earlier");
            }
            let rank = if place < 3 { Rank::Useful } else { Rank::Extra };
            draft.add(Heading::Remaining, rank, &label, self.task_source(task));
        }
        draft.omit(Heading::Remaining, to_do.len().saturating_sub(TO_DO));
    }

    fn artifacts(&self, draft: &mut Draft) {
        let active = self.active;
        let of_stage = |file: &str| {
            active.stage.artifacts.is_empty()
                || active.stage.artifacts.iter().any(|known| known == file)
        };
        let mut missing = Vec::new();
        for artifact in &active.workflow.artifacts {
            let path = active.path(&artifact.file);
            let source = Source::File {
                path: path.clone(),
                line: None,
            };
            if active.content(&artifact.file).is_some() {
                let rank = if of_stage(&artifact.file) {
                    Rank::Useful
                } else {
                    Rank::Extra
                };
                draft.add(Heading::SourceArtifacts, rank, &path, source.clone());
                draft.add(Heading::ActiveFiles, Rank::Extra, &path, source);
            } else if of_stage(&artifact.file)
                && artifact.role != Role::Context
                && artifact.role != Role::Progress
            {
                missing.push(artifact.file.as_str());
            }
        }
        if let Some(current) = &active.stage.current_artifact {
            let mut text = active.path(current);
            let is_there = active
                .unit
                .and_then(|unit| unit.file(active.workflow, current));
            if active.content(current).is_none() {
                text.push_str(if is_there.is_some() {
                    " (empty)"
                } else {
                    " (not written yet)"
                });
            }
            let source = Source::File {
                path: active.path(current),
                line: None,
            };
            draft.add(Heading::CurrentArtifact, Rank::Vital, &text, source);
        }
        let unit = active.name();
        let tasks = &active.tasks;
        if tasks.is_finished() {
            let text = format!("{unit}: all tasks are complete ({}).", tasks.done().len());
            draft.add(
                Heading::ArtifactStatus,
                Rank::Useful,
                &text,
                self.task_file_source(),
            );
        } else if !tasks.tasks.is_empty() {
            let to_do = tasks.to_do();
            let next = to_do
                .first()
                .map(|task| format!("; next task is {}", task.label()));
            let text = format!(
                "{unit}: {} complete, {} remaining{}.",
                counted(tasks.done().len()),
                to_do.len(),
                next.unwrap_or_default()
            );
            draft.add(
                Heading::ArtifactStatus,
                Rank::Useful,
                &text,
                self.task_file_source(),
            );
        }
        for file in missing {
            let text = format!("`{}` is missing or empty.", active.called(file));
            let source = Source::File {
                path: active.path(file),
                line: None,
            };
            draft.add(Heading::ArtifactStatus, Rank::Useful, &text, source);
        }
    }

    fn task_file_source(&self) -> Source {
        Source::File {
            path: self.active.path(self.tasks_file()),
            line: None,
        }
    }

    /// A log of progress: its newest line is the status, the others were done before.
    fn progress(&self, draft: &mut Draft) {
        for artifact in &self.active.workflow.artifacts {
            let Some(document) = self.active.content(&artifact.file) else {
                continue;
            };
            match artifact.role {
                Role::Progress => self.progress_of(draft, document),
                Role::Context => {
                    for label in ["Last completed batch", "Remaining batches"] {
                        if let Some((value, line)) = labelled_value(document, label) {
                            let text = format!("{label}: {value}");
                            draft.add(
                                Heading::Status,
                                Rank::Useful,
                                &text,
                                Source::file(document, line),
                            );
                        }
                    }
                }
                Role::Document | Role::Tasks => {}
            }
        }
    }

    fn progress_of(&self, draft: &mut Draft, document: &Document) {
        let progress = Progress::parse(document);
        let source = |line| Source::file(document, line);
        if let Some(newest) = &progress.status {
            let status = format!("Progress notes: {}", newest.text);
            let artifact = format!("{}: {}", self.active.name(), newest.text);
            for (heading, rank, text) in [
                (Heading::Status, Rank::Needed, status),
                (Heading::ArtifactStatus, Rank::Useful, artifact),
            ] {
                draft.add(heading, rank, &text, source(newest.number));
            }
        }
        let first = progress.done.len().saturating_sub(DONE);
        for item in progress.done.iter().skip(first) {
            let line = source(item.number);
            draft.add(Heading::Completed, Rank::Useful, &item.text, line);
        }
        draft.omit(Heading::Completed, first);
        for item in progress.open.iter().take(TO_DO) {
            let line = source(item.number);
            draft.add(Heading::Remaining, Rank::Useful, &item.text, line);
        }
        draft.omit(
            Heading::Remaining,
            progress.open.len().saturating_sub(TO_DO),
        );
        for (field, item) in &progress.others {
            let (heading, rank) = match field {
                Field::Blockers => (Heading::Blockers, Rank::Needed),
                Field::Decisions => (Heading::Decisions, Rank::Useful),
                Field::Questions => (Heading::Pending, Rank::Needed),
                _ => continue,
            };
            draft.add(heading, rank, &item.text, source(item.number));
        }
    }

    fn approvals(&self, draft: &mut Draft, sources: &Sources, log: Option<&SessionLog>) {
        let active = self.active;
        for artifact in active
            .workflow
            .artifacts
            .iter()
            .filter(|artifact| !artifact.approval.is_empty())
        {
            let own = Source::File {
                path: active.path(&artifact.file),
                line: None,
            };
            let file = active.called(&artifact.file);
            let unit = active.name();
            match approval(active, artifact, sources, log) {
                Approval::Recorded { source, words } => {
                    let words = crate::text::condense(&words, 120);
                    let text =
                        format!("{unit}: `{file}` is approved, recorded in {source}: “{words}”");
                    draft.add(Heading::Approved, Rank::Useful, &text, source);
                }
                Approval::Denied { source, words } => {
                    let words = crate::text::condense(&words, 120);
                    let text =
                        format!("{unit}: `{file}` is not approved, as {source} says: “{words}”");
                    draft.add(Heading::Pending, Rank::Needed, &text, source);
                }
                Approval::Inferred { from } => {
                    let text = format!(
                        "{unit}: approval of `{file}` is inferred from {from}; none is recorded."
                    );
                    draft.add(Heading::Approved, Rank::Useful, &text, own);
                }
                Approval::Open => {
                    let text = format!("{unit}: approval of `{file}` is not recorded.");
                    draft.add(Heading::Pending, Rank::Needed, &text, own);
                }
                Approval::NoFile { is_empty } => {
                    let is_due = active.stage.current_artifact.as_ref() == Some(&artifact.file);
                    let why = if is_empty { "empty" } else { "missing" };
                    if is_due {
                        let text =
                            format!("{unit}: `{file}` is {why}; there is nothing to approve yet.");
                        draft.add(Heading::Pending, Rank::Needed, &text, own);
                    }
                }
            }
        }
        if let (Some(log), Some(document)) = (log, &sources.session_log) {
            for said in log
                .newest()
                .iter()
                .flat_map(|entry| entry.all(Field::Questions))
            {
                draft.add(
                    Heading::Pending,
                    Rank::Needed,
                    &said.text,
                    Source::file(document, said.line),
                );
            }
        }
    }

    fn findings(&self, draft: &mut Draft) {
        for artifact in &self.active.workflow.artifacts {
            let Some(document) = self.active.content(&artifact.file) else {
                continue;
            };
            let all = findings(document);
            for (topic, heading, prefix, rank) in [
                (Topic::Decision, Heading::Decisions, "", Rank::Useful),
                (
                    Topic::Discovery,
                    Heading::Completed,
                    "Discovery: ",
                    Rank::Extra,
                ),
                (
                    Topic::Utility,
                    Heading::Preconditions,
                    "Utility: ",
                    Rank::Extra,
                ),
                (Topic::Warning, Heading::Blockers, "Warning: ", Rank::Useful),
                (Topic::Question, Heading::Pending, "", Rank::Needed),
            ] {
                let of_topic: Vec<_> = all
                    .iter()
                    .filter(|finding| finding.topic == topic)
                    .collect();
                let first = of_topic.len().saturating_sub(FINDINGS);
                for finding in of_topic.iter().skip(first) {
                    let text = format!("{prefix}{}", finding.text);
                    draft.add(heading, rank, &text, Source::file(document, finding.line));
                }
                draft.omit(heading, first);
            }
        }
    }

    fn gate(&self, draft: &mut Draft) {
        let stage = self.active.stage;
        draft.add(
            Heading::Gate,
            Rank::Vital,
            &self.filled(&stage.gate),
            self.declared(),
        );
        for command in &stage.commands {
            let text = format!("Gate command: `{}`", self.filled(command));
            draft.add(Heading::Gate, Rank::Vital, &text, self.declared());
        }
        for text in &stage.preconditions {
            draft.add(
                Heading::Preconditions,
                Rank::Useful,
                &self.filled(text),
                self.declared(),
            );
        }
        for text in &stage.done {
            draft.add(
                Heading::DoneCriteria,
                Rank::Useful,
                &self.filled(text),
                self.declared(),
            );
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
            unit: active.unit.map(|unit| unit.name.clone()),
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
