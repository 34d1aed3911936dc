//! The files of a piece of work, and the boxes in its list of tasks.

use super::{DONE, Layer, TO_DO, counted};
use crate::brief::draft::{Draft, Rank};
use crate::brief::tasks::Mark;
use crate::brief::{Heading, Source};
use crate::workflow::Role;

impl Layer<'_, '_> {
    pub(super) fn tasks(&self, draft: &mut Draft) {
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

    pub(super) fn artifacts(&self, draft: &mut Draft) {
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
}
