//! The files of the work item: which exist, which one the stage is about, which are missing.

use super::stage::counted;
use crate::Heading;
use crate::active::Active;
use crate::draft::{Draft, Rank};

pub(super) fn write(draft: &mut Draft, active: &Active<'_>) {
    let stage = active.stage;
    if let Some(current) = &stage.current_artifact {
        let suffix = match (active.content(current), active.file(current)) {
            (Some(_), _) => "",
            (None, Some(_)) => " (empty)",
            (None, None) => " (not written yet)",
        };
        let text = format!("{}{suffix}", active.path(current));
        let source = active.source(current, None);
        draft.vital(Heading::CurrentArtifact, &text, source);
    }
    write_tasks(draft, active);
    for artifact in &active.workflow.artifacts {
        let file = &artifact.file;
        let (path, source) = (active.path(file), active.source(file, None));
        let is_of_stage = stage.artifacts.is_empty() || stage.artifacts.contains(file);
        if active.content(file).is_some() {
            let rank = Rank::useful_if(is_of_stage);
            draft.add(Heading::SourceArtifacts, rank, &path, source.clone());
            draft.extra(Heading::ActiveFiles, &path, source);
        } else if is_of_stage && !artifact.role.is_record() {
            let text = format!("`{}` is missing or empty.", active.filled(file));
            draft.useful(Heading::ArtifactStatus, &text, source);
        }
    }
}

fn write_tasks(draft: &mut Draft, active: &Active<'_>) {
    let (item, tasks) = (active.name(), &active.tasks);
    let (done, to_do) = (tasks.done().len(), tasks.to_do());
    let text = if let Some(next) = to_do.first() {
        let (done, open, next) = (counted(done), to_do.len(), next.label());
        format!("{item}: {done} complete, {open} remaining; next task is {next}.")
    } else if tasks.is_finished() {
        format!("{item}: all tasks are complete ({done}).")
    } else {
        return;
    };
    let source = active.source(active.tasks_file(), None);
    draft.useful(Heading::ArtifactStatus, &text, source);
}
