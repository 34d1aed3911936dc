//! The work item and the stage that a brief is about.

use crate::document::Document;
use crate::facts::Facts;
use crate::signs::is_present;
use crate::stages::{StageMention, name_in_command, stage_in_agents};
use crate::tasks::{Task, TaskList};
use crate::workflow::{ArtifactRole, FileState, Stage, Workflow, fill};
use crate::{LineSource, WorkItem, WorkflowStatus};

/// A workflow in progress.
#[derive(Debug)]
pub(crate) struct Active<'a> {
    pub(crate) workflow: &'a Workflow,
    /// None for a first stage that has no files yet.
    item: Option<&'a WorkItem>,
    /// Name of an item without files, as a command gave it.
    given_name: Option<String>,
    pub(crate) stage: &'a Stage,
    basis: StageBasis,
    /// The stage that the files look like, if it contradicts the named one.
    pub(crate) contradiction: Option<&'a Stage>,
    pub(crate) tasks: TaskList,
}

/// Evidence for the stage.
#[derive(Debug)]
enum StageBasis {
    Named(LineSource),
    /// A marker in this file.
    File(String),
    FirstStage,
}

impl<'a> Active<'a> {
    /// Determines the stage of a work item: the named one, else the last one whose markers are present.
    pub(crate) fn new(
        facts: &Facts<'a>,
        workflow: &'a Workflow,
        item: &'a WorkItem,
        named: Option<&StageMention<'a>>,
    ) -> Option<Self> {
        let mut stages = workflow.stages.iter().rev();
        let reached = stages.find_map(|stage| {
            let mut markers = stage.markers.iter();
            let sign = markers.find(|sign| is_present(workflow, item, sign))?;
            Some((stage, sign.file.clone()))
        });
        let named = named.filter(|named| named.workflow == workflow).cloned();
        let named = named.or_else(|| stage_in_agents(facts, workflow));
        let first = workflow.stages.first()?;
        let seen = reached.as_ref().map_or(first, |(stage, _)| stage);
        let (stage, basis) = match (named, reached) {
            (Some(named), _) => (named.stage, StageBasis::Named(named.source)),
            (None, Some((stage, file))) => (stage, StageBasis::File(file)),
            (None, None) => {
                let file = first.current_artifact.clone();
                let written = file.filter(|file| item.content(workflow, file).is_some());
                let basis = written.map_or(StageBasis::FirstStage, StageBasis::File);
                (first, basis)
            }
        };
        // A stage that was only just entered has no files yet: one step ahead of them is not a contradiction.
        let is_next = workflow.after(seen) == Some(stage);
        let tasks = workflow.artifact(ArtifactRole::Tasks);
        let tasks = tasks.and_then(|artifact| item.content(workflow, &artifact.file));
        Some(Self {
            workflow,
            item: Some(item),
            given_name: None,
            stage,
            basis,
            contradiction: (stage != seen && !is_next).then_some(seen),
            tasks: tasks.map(TaskList::parse).unwrap_or_default(),
        })
    }

    /// Creates work that has only just begun: its first stage is named firmly, and it has no files.
    pub(crate) fn without_files(facts: &Facts<'a>, named: &StageMention<'a>) -> Option<Self> {
        let is_first = named.workflow.stages.first() == Some(named.stage);
        (is_first && named.is_firm()).then(|| Self {
            workflow: named.workflow,
            item: None,
            given_name: name_in_command(facts, named.stage),
            stage: named.stage,
            basis: StageBasis::Named(named.source.clone()),
            contradiction: None,
            tasks: TaskList::default(),
        })
    }

    /// Returns the name of the work item, once it has one.
    pub(crate) fn known_name(&self) -> Option<&str> {
        let item = self.item.map(|item| item.name.as_str());
        item.or(self.given_name.as_deref())
    }

    pub(crate) fn name(&self) -> &str {
        self.known_name().unwrap_or("the new one")
    }

    pub(crate) fn file(&self, file: &str) -> Option<&'a Document> {
        self.item?.file(self.workflow, file)
    }

    /// Returns a file that has content.
    pub(crate) fn content(&self, file: &str) -> Option<&'a Document> {
        self.item?.content(self.workflow, file)
    }

    /// Returns the path of a file of the work item.
    pub(crate) fn path(&self, file: &str) -> String {
        self.workflow.path(self.known_name().unwrap_or("…"), file)
    }

    /// Returns a declared text with the names of the item and of the next task.
    pub(crate) fn filled(&self, text: &str) -> String {
        let to_do = self.tasks.to_do();
        let task = to_do.first().and_then(|task| task.id.as_deref());
        fill(text, self.name(), task)
    }

    pub(crate) fn declaration(&self) -> LineSource {
        LineSource::Workflow(self.workflow.name.clone())
    }

    /// Returns a file of the item as a source.
    pub(crate) fn source(&self, file: &str, line: Option<usize>) -> LineSource {
        let path = self.path(file);
        LineSource::File { path, line }
    }

    pub(crate) fn tasks_file(&self) -> &'a str {
        let artifact = self.workflow.artifact(ArtifactRole::Tasks);
        artifact.map_or("tasks", |artifact| &artifact.file)
    }

    pub(crate) fn task_source(&self, task: &Task) -> LineSource {
        self.source(self.tasks_file(), task.line)
    }

    /// Returns the evidence for the stage, in words and as a source.
    pub(crate) fn evidence(&self) -> (String, LineSource) {
        match &self.basis {
            StageBasis::Named(source) => (format!("named in {source}"), source.clone()),
            StageBasis::File(file) => {
                let known_by = format!("inferred from `{}`", self.filled(file));
                (known_by, self.source(file, None))
            }
            StageBasis::FirstStage => ("first stage of the workflow".into(), self.declaration()),
        }
    }

    /// Returns true if a stage works through the list of tasks, rather than writing it.
    pub(crate) fn works_on_tasks(&self, stage: &Stage) -> bool {
        let tasks = self.workflow.artifact(ArtifactRole::Tasks);
        let is_current = tasks.is_some_and(|tasks| stage.is_about(&tasks.file));
        let mut markers = stage.markers.iter();
        let has_marker = markers.any(|sign| sign.has == Some(FileState::Tasks));
        is_current && (has_marker || self.workflow.stages.last() == Some(stage))
    }

    pub(crate) fn status(&self) -> WorkflowStatus {
        let follows = self.workflow.after(self.stage);
        let follows = follows.map(|stage| stage.name.clone());
        let current = self.stage.current_artifact.as_ref();
        let is_written = current.is_some_and(|file| self.content(file).is_some());
        let ahead = follows.clone().filter(|_| is_written);
        WorkflowStatus {
            workflow: self.workflow.name.clone(),
            item: self.known_name().map(str::to_owned),
            stage: self.stage.name.clone(),
            known_by: self.evidence().0,
            follows,
            ahead: ahead.unwrap_or_else(|| self.stage.name.clone()),
            to_do: self.tasks.to_do().into_iter().cloned().collect(),
            done: self.tasks.done().len(),
        }
    }
}
