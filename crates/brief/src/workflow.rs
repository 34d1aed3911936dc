//! Workflows: stages in order, the files that belong to them, and the signs by which a stage is
//! recognised.
//!
//! A declaration is data: [`Workflows`] collects those that are usable, `declaration` parses and checks
//! one. Reading the files is up to the caller.

mod declaration;

use std::path::{Path, PathBuf};

use serde::Deserialize;

const BUILT_IN: [(&str, &str); 4] = [
    ("spec.toml", include_str!("../workflows/spec.toml")),
    ("bug.toml", include_str!("../workflows/bug.toml")),
    ("spec-kit.toml", include_str!("../workflows/spec-kit.toml")),
    ("openspec.toml", include_str!("../workflows/openspec.toml")),
];

/// The known workflows.
#[derive(Clone, Debug, Default)]
pub struct Workflows {
    /// Usable declarations; names are unique.
    pub declared: Vec<Workflow>,
    /// Unusable declarations.
    pub problems: Vec<DeclarationError>,
}

/// A declaration that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {problem}; {remedy}", file.display(), .line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct DeclarationError {
    /// File of the declaration.
    pub file: PathBuf,
    /// Line, if known.
    pub line: Option<usize>,
    /// Description of what is wrong.
    pub problem: String,
    /// Advice on what to do.
    pub remedy: String,
}

impl Workflows {
    /// Returns the built-in workflows.
    pub fn built_in() -> Self {
        let mut workflows = Self::default();
        for (file, text) in BUILT_IN {
            workflows.add(Path::new(file), text);
        }
        workflows
    }

    /// Adds a declaration, which replaces an earlier one of the same name.
    pub fn add(&mut self, file: &Path, text: &str) {
        match declaration::parse(file, text) {
            Ok(workflow) => {
                self.declared.retain(|known| known.name != workflow.name);
                self.declared.push(workflow);
            }
            Err(problem) => self.problems.push(problem),
        }
    }
}

/// A way of working in stages, each of which leaves files.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workflow {
    /// Name, such as `spec`.
    pub name: String,
    /// Folder of a work item, with `<name>` as a placeholder, or of all; see [`Self::layout`].
    folder: String,
    /// Path of a work item that is a file, below the folder.
    pieces: Option<String>,
    /// Paths without which a project does not use this workflow.
    #[serde(default)]
    pub requires: Vec<String>,
    /// Sibling folders to ignore.
    #[serde(default)]
    pub skip: Vec<String>,
    /// Signs, any of which says that a work item is finished.
    #[serde(default)]
    pub finished_by: Vec<Sign>,
    /// Files of a work item.
    #[serde(default, rename = "artifact")]
    pub artifacts: Vec<Artifact>,
    /// Stages in order; at least one.
    #[serde(default, rename = "stage")]
    pub stages: Vec<Stage>,
}

/// Place of the files of work items, relative to the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemLayout<'a> {
    /// Each work item has its folder below this one.
    Below(&'a str),
    /// There is one work item, with the name of the workflow, and this is its folder.
    Only(&'a str),
    /// Each work item is a file; all of them share a folder.
    Files {
        /// The folder.
        folder: &'a str,
        /// Path of the file below the folder, with `<name>` in its name.
        form: &'a str,
    },
}

/// A file that a workflow keeps.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// Path below the folder of the work item, with `<name>` as a placeholder.
    pub file: String,
    /// Kind of its content.
    #[serde(default)]
    pub role: ArtifactRole,
    /// Words that name it in a line that records its approval. Without any it needs no approval.
    #[serde(default)]
    pub approval: Vec<String>,
}

/// Kind of a file's content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArtifactRole {
    /// Something to read: requirements, a design, an analysis.
    #[default]
    Document,
    /// A list of tasks with check boxes.
    Tasks,
    /// Decisions and discoveries on the way.
    Context,
    /// A log of steps, one bullet each.
    Progress,
}

/// A stage of a workflow. Texts are shown verbatim, with `<name>` and `<task>` filled in.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Canonical name, shown verbatim.
    pub name: String,
    /// Other spellings.
    #[serde(default)]
    pub mentions: Vec<String>,
    /// Purpose of the stage.
    pub objective: String,
    /// Description of the work in it.
    pub current_step: String,
    /// Description of what comes next in it.
    pub next_action: String,
    /// Conditions that it builds on.
    #[serde(default)]
    pub preconditions: Vec<String>,
    /// Files that it reads or writes.
    #[serde(default)]
    pub artifacts: Vec<String>,
    /// File that it is about.
    pub current_artifact: Option<String>,
    /// Signs, any of which says that the stage is reached; the first stage needs none.
    #[serde(default)]
    pub markers: Vec<Sign>,
    /// Condition of the next stage.
    #[serde(default)]
    pub gate: String,
    /// Commands that check the gate.
    #[serde(default)]
    pub commands: Vec<String>,
    /// Criteria of completion.
    #[serde(default)]
    pub done: Vec<String>,
}

/// Something recognisable in a file: its state, or one of several phrases.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sign {
    /// File, as the artifact names it.
    pub file: String,
    /// State of the file.
    pub has: Option<FileState>,
    /// Phrases, any of which makes the sign.
    #[serde(default)]
    pub text: Vec<String>,
}

/// State of a file that makes a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileState {
    /// More than headings and empty bullets.
    Content,
    /// At least one check box.
    Tasks,
    /// At least one check box, and none that is open.
    AllTasksDone,
}

impl Workflow {
    /// Returns the place of the files of work items.
    pub fn layout(&self) -> ItemLayout<'_> {
        let folder = self.folder.trim_end_matches('/');
        match (&self.pieces, folder.strip_suffix("/<name>")) {
            (Some(form), _) => ItemLayout::Files { folder, form },
            (None, Some(parent)) => ItemLayout::Below(parent),
            (None, None) => ItemLayout::Only(folder),
        }
    }

    /// Returns the folder that holds the work items, relative to the project.
    pub fn home(&self) -> &str {
        match self.layout() {
            ItemLayout::Below(home)
            | ItemLayout::Only(home)
            | ItemLayout::Files { folder: home, .. } => home,
        }
    }

    /// Returns the path of a file of a work item, relative to [`Self::home`].
    pub fn path_below_home(&self, name: &str, file: &str) -> String {
        let file = fill(file, name, None);
        match self.layout() {
            ItemLayout::Below(_) => format!("{name}/{file}"),
            ItemLayout::Only(_) | ItemLayout::Files { .. } => file,
        }
    }

    /// Returns the path of a file of a work item, relative to the project.
    pub fn path(&self, name: &str, file: &str) -> String {
        format!("{}/{}", self.home(), self.path_below_home(name, file))
    }

    /// Returns the path of a work item: its folder, or the file that it is.
    pub fn item_path(&self, name: &str) -> String {
        match self.layout() {
            ItemLayout::Below(parent) => format!("{parent}/{name}"),
            ItemLayout::Only(folder) => folder.to_owned(),
            ItemLayout::Files { form, .. } => self.path(name, form),
        }
    }

    /// Returns the stage after another.
    pub fn after(&self, stage: &Stage) -> Option<&Stage> {
        let at = self.stages.iter().position(|known| known == stage)?;
        self.stages.get(at + 1)
    }

    /// Returns the first file with a role.
    pub fn artifact(&self, role: ArtifactRole) -> Option<&Artifact> {
        self.artifacts.iter().find(|artifact| artifact.role == role)
    }
}

impl ArtifactRole {
    /// Returns true if the file records the work rather than being its result.
    pub fn is_record(self) -> bool {
        matches!(self, Self::Context | Self::Progress)
    }
}

impl Artifact {
    /// Returns true if the declaration says by which words its approval is recorded.
    pub fn needs_approval(&self) -> bool {
        !self.approval.is_empty()
    }
}

impl Stage {
    /// Returns true if a file is the one that the stage is about.
    pub fn is_about(&self, file: &str) -> bool {
        self.current_artifact.as_deref() == Some(file)
    }

    /// Returns the name and every other spelling.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let names = std::iter::once(&self.name).chain(&self.mentions);
        names.map(String::as_str)
    }
}

/// Fills `<name>` and `<task>` into a declared text. Without a task the placeholder becomes `TASK`: a
/// command with a hole is better than one with a guess.
pub fn fill(text: &str, name: &str, task: Option<&str>) -> String {
    // The name last: one that contains a placeholder must not be filled in again.
    let text = text.replace("<task>", task.unwrap_or("TASK"));
    text.replace("<name>", name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_once() {
        assert_eq!(
            fill("gate <name> <task> < <x>", "a<task>b", Some("2.1")),
            "gate a<task>b 2.1 < <x>"
        );
        assert_eq!(fill("gate <name> <task>", "login", None), "gate login TASK");
        assert_eq!(fill("<", "login", None), "<");
    }

    #[test]
    fn built_in_workflows_are_valid_and_keep_their_names() {
        let workflows = Workflows::built_in();
        assert_eq!(workflows.problems, []);
        let stages: Vec<Vec<&str>> = workflows
            .declared
            .iter()
            .map(|workflow| {
                workflow
                    .stages
                    .iter()
                    .map(|stage| stage.name.as_str())
                    .collect()
            })
            .collect();
        assert_eq!(
            stages[0],
            ["spec-create", "spec-design", "spec-tasks", "spec-execute"]
        );
        assert_eq!(
            stages[1],
            ["bug-create", "bug-analyze", "bug-fix", "bug-verify"]
        );
        assert_eq!(stages.len(), 4);
    }

    #[test]
    fn built_in_texts_give_no_orders() {
        let allowed = ["spec-execute", "speckit.implement", "speckit-implement"];
        for workflow in Workflows::built_in().declared {
            for stage in &workflow.stages {
                for text in [
                    &stage.objective,
                    &stage.current_step,
                    &stage.next_action,
                    &stage.gate,
                ] {
                    let bare = allowed
                        .iter()
                        .fold(text.clone(), |text, name| text.replace(name, ""));
                    for word in ["execute", "implement", "continue", "approved"] {
                        assert!(
                            !bare.to_lowercase().contains(word),
                            "{}: {text}",
                            stage.name
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn errors_name_the_place_and_the_remedy() {
        let stage = "[[stage]]\nname = 'a'\nobjective = ''\ncurrent_step = ''\nnext_action = ''\n";
        let said = |text: &str| {
            let mut workflows = Workflows::default();
            workflows.add(Path::new("team.toml"), text);
            assert!(workflows.declared.is_empty());
            workflows.problems[0].to_string()
        };
        insta::assert_snapshot!(said("name = 'x'\nfolder = \n"), @"team.toml:2: string values must be quoted, expected literal string; docs/briefs.md lists what a declaration may say");
        insta::assert_snapshot!(said("name = 'x'\nfolder = 'a'\nstages = 3\n"), @"team.toml:3: unknown field `stages`, expected one of `name`, `folder`, `pieces`, `requires`, `skip`, `finished_by`, `artifact`, `stage`; docs/briefs.md lists what a declaration may say");
        insta::assert_snapshot!(said("name = 'x'\nfolder = '../a/<name>'\n"), @"team.toml:2: the path `../a/<name>` does not stay inside the project; write it relative to the project, without `..`");
        insta::assert_snapshot!(said("name = 'x'\nfolder = 'a/<name>/b'\n"), @"team.toml:2: `folder` is `a/<name>/b`; let it end in /<name>, or name a folder without a placeholder");
        insta::assert_snapshot!(said("name = 'x'\nfolder = 'a/<name>'\n"), @"team.toml:1: there is no [[stage]]; declare at least one stage");
        insta::assert_snapshot!(said(&format!("name = 'x'\nfolder = 'a'\n{stage}current_artifact = 'b.md'\n")), @"team.toml:8: `b.md` is not an [[artifact]] of this workflow; declare it, or name one that is declared");
        insta::assert_snapshot!(said(&format!("name = 'x'\nfolder = 'a'\n{stage}{stage}")), @"team.toml:9: the stage name `a` is empty or used twice; give each stage its own name");
        insta::assert_snapshot!(said(&format!("name = 'x'\nfolder = 'a'\n{stage}markers = [{{ file = 'b' }}]")), @r#"team.toml:8: a sign has either `has` or `text`; write has = "content", "tasks" or "all-tasks-done", or text = ["…"]"#);
    }
}
