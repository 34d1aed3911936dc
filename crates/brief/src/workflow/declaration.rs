//! Workflow declarations in TOML, and the checks before one is used.

use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::{DeclarationError, Sign, Workflow};

/// An error in a declaration.
struct Invalid {
    /// Keys and indexes of the value at fault, such as `stage.1.name`.
    place: String,
    problem: String,
    remedy: &'static str,
}

/// Parses and checks a declaration.
pub(super) fn parse(file: &Path, text: &str) -> Result<Workflow, DeclarationError> {
    let error = |start: Option<usize>, problem: String, remedy: &str| DeclarationError {
        file: file.to_owned(),
        line: start.and_then(|start| Some(text.get(..start)?.matches('\n').count() + 1)),
        problem,
        remedy: remedy.to_owned(),
    };
    let workflow = toml::from_str(text).map_err(|invalid| {
        let start = invalid.span().map(|span| span.start);
        let problem = invalid.message().replace('\n', " ");
        let remedy = "docs/briefs.md lists what a declaration may say";
        error(start, problem, remedy)
    })?;
    match check(&workflow) {
        Ok(()) => Ok(workflow),
        Err(invalid) => {
            let start = start_of(text, &invalid.place);
            Err(error(start, invalid.problem, invalid.remedy))
        }
    }
}

/// Returns the offset of a value in the text of a declaration.
fn start_of(text: &str, place: &str) -> Option<usize> {
    let table = DeTable::parse(text).ok()?;
    let mut steps = place.split('.');
    let mut value = table.get_ref().get(steps.next()?)?;
    for step in steps {
        value = match value.get_ref() {
            DeValue::Array(items) => items.get(step.parse::<usize>().ok()?)?,
            DeValue::Table(fields) => fields.get(step)?,
            _ => return None,
        };
    }
    Some(value.span().start)
}

fn ensure(
    holds: bool,
    place: impl Into<String>,
    problem: impl Into<String>,
    remedy: &'static str,
) -> Result<(), Invalid> {
    let invalid = || Invalid {
        place: place.into(),
        problem: problem.into(),
        remedy,
    };
    if holds { Ok(()) } else { Err(invalid()) }
}

fn check(workflow: &Workflow) -> Result<(), Invalid> {
    let is_named = !workflow.name.trim().is_empty();
    ensure(
        is_named,
        "name",
        "`name` is empty",
        "give the workflow a name",
    )?;
    check_layout(workflow)?;
    for (at, path) in workflow.requires.iter().enumerate() {
        check_inside(format!("requires.{at}"), path)?;
    }
    let (has_stage, remedy) = (!workflow.stages.is_empty(), "declare at least one stage");
    ensure(has_stage, "name", "there is no [[stage]]", remedy)?;
    for (at, artifact) in workflow.artifacts.iter().enumerate() {
        let (place, file) = (format!("artifact.{at}.file"), &artifact.file);
        check_inside(place.clone(), file)?;
        let mut earlier = workflow.artifacts.iter().take(at);
        let is_new = !earlier.any(|other| other.file == *file);
        let problem = format!("the artifact `{file}` is declared twice");
        ensure(is_new, place, problem, "remove one of them")?;
    }
    for (at, stage) in workflow.stages.iter().enumerate() {
        let name = &stage.name;
        let mut earlier = workflow.stages.iter().take(at);
        let is_new = !name.trim().is_empty() && !earlier.any(|other| other.name == *name);
        let problem = format!("the stage name `{name}` is empty or used twice");
        let remedy = "give each stage its own name";
        ensure(is_new, format!("stage.{at}.name"), problem, remedy)?;
        for (file_at, file) in stage.artifacts.iter().enumerate() {
            check_declared(workflow, format!("stage.{at}.artifacts.{file_at}"), file)?;
        }
        if let Some(file) = &stage.current_artifact {
            check_declared(workflow, format!("stage.{at}.current_artifact"), file)?;
        }
        check_signs(workflow, &format!("stage.{at}.markers"), &stage.markers)?;
    }
    check_signs(workflow, "finished_by", &workflow.finished_by)
}

fn check_layout(workflow: &Workflow) -> Result<(), Invalid> {
    check_inside("folder".to_owned(), &workflow.folder)?;
    let folder = workflow.folder.trim_end_matches('/');
    let Some(form) = &workflow.pieces else {
        let parent = folder.strip_suffix("/<name>").unwrap_or(folder);
        let problem = format!("`folder` is `{folder}`");
        let remedy = "let it end in /<name>, or name a folder without a placeholder";
        return ensure(!parent.contains('<'), "folder", problem, remedy);
    };
    check_inside("pieces".to_owned(), form)?;
    let problem = format!("`folder` is `{folder}`, and there is `pieces`");
    let remedy = "where work items are files, name their folder without a placeholder";
    ensure(!folder.contains('<'), "folder", problem, remedy)?;
    let file = form.rsplit('/').next().unwrap_or_default();
    let has_one = file.matches("<name>").count() == 1 && form.matches('<').count() == 1;
    let problem = format!("`pieces` is `{form}`");
    let remedy = "write <name> once, in the name of the file, such as stories/<name>.md";
    ensure(has_one && file != "<name>", "pieces", problem, remedy)
}

fn check_signs(workflow: &Workflow, place: &str, signs: &[Sign]) -> Result<(), Invalid> {
    for (at, sign) in signs.iter().enumerate() {
        let place = format!("{place}.{at}.file");
        let is_one = sign.has.is_some() == sign.text.is_empty();
        let problem = "a sign has either `has` or `text`";
        let remedy = "write has = \"content\", \"tasks\" or \"all-tasks-done\", or text = [\"…\"]";
        ensure(is_one, place.as_str(), problem, remedy)?;
        check_declared(workflow, place, &sign.file)?;
    }
    Ok(())
}

/// Fails if a file is not an artifact of the workflow.
fn check_declared(workflow: &Workflow, place: String, file: &str) -> Result<(), Invalid> {
    let mut artifacts = workflow.artifacts.iter();
    let is_declared = artifacts.any(|artifact| artifact.file == file);
    let problem = format!("`{file}` is not an [[artifact]] of this workflow");
    let remedy = "declare it, or name one that is declared";
    ensure(is_declared, place, problem, remedy)
}

/// Fails if a path leaves the project.
fn check_inside(place: String, path: &str) -> Result<(), Invalid> {
    let leaves = path.is_empty()
        || path.starts_with(['/', '\\', '~'])
        || path.contains(':')
        || path.split(['/', '\\']).any(|part| part == "..");
    let problem = format!("the path `{path}` does not stay inside the project");
    let remedy = "write it relative to the project, without `..`";
    ensure(!leaves, place, problem, remedy)
}
