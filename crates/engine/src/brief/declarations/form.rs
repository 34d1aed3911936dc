//! A workflow declaration as it is written in TOML, and what is checked before it is used.

use flamestack_core::workflow::{Artifact, Has, Place, Role, Sign, Stage, Workflow};
use serde::Deserialize;
use toml::Spanned;

/// What is wrong with a declaration, and where.
pub(super) struct Wrong {
    pub(super) at: Option<usize>,
    pub(super) problem: String,
    pub(super) remedy: String,
}

impl Wrong {
    fn at<T>(place: &Spanned<T>, problem: String, remedy: &str) -> Self {
        Self {
            at: Some(place.span().start),
            problem,
            remedy: remedy.to_owned(),
        }
    }
}

/// Reads a declaration and checks it.
pub(super) fn parse(text: &str, origin: &str) -> Result<Workflow, Wrong> {
    let written: Written = toml::from_str(text).map_err(|error| Wrong {
        at: error.span().map(|span| span.start),
        problem: error.message().replace('\n', " "),
        remedy: "docs/briefs.md lists what a declaration may say".to_owned(),
    })?;
    written.check(origin)
}

/// A declaration as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: Spanned<String>,
    folder: Spanned<String>,
    pieces: Option<Spanned<String>>,
    #[serde(default)]
    requires: Vec<Spanned<String>>,
    #[serde(default)]
    skip: Vec<String>,
    #[serde(default)]
    finished_by: Vec<WrittenSign>,
    #[serde(default, rename = "artifact")]
    artifacts: Vec<WrittenArtifact>,
    #[serde(default, rename = "stage")]
    stages: Vec<WrittenStage>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenArtifact {
    file: Spanned<String>,
    #[serde(default)]
    role: WrittenRole,
    #[serde(default)]
    approval: Vec<String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum WrittenRole {
    #[default]
    Document,
    Tasks,
    Context,
    Progress,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenStage {
    name: Spanned<String>,
    #[serde(default)]
    mentions: Vec<String>,
    objective: String,
    current_step: String,
    next_action: String,
    #[serde(default)]
    preconditions: Vec<String>,
    #[serde(default)]
    artifacts: Vec<Spanned<String>>,
    current_artifact: Option<Spanned<String>>,
    #[serde(default)]
    markers: Vec<WrittenSign>,
    #[serde(default)]
    gate: String,
    #[serde(default)]
    commands: Vec<String>,
    #[serde(default)]
    done: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSign {
    file: Spanned<String>,
    has: Option<WrittenHas>,
    text: Option<Vec<String>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum WrittenHas {
    Content,
    Tasks,
    AllTasksDone,
}

impl Written {
    fn check(self, origin: &str) -> Result<Workflow, Wrong> {
        if self.name.get_ref().trim().is_empty() {
            let remedy = "give the workflow a name";
            return Err(Wrong::at(&self.name, "`name` is empty".to_owned(), remedy));
        }
        let place = match &self.pieces {
            Some(form) => files(&self.folder, form)?,
            None => place(&self.folder)?,
        };
        for path in &self.requires {
            inside(path)?;
        }
        if self.stages.is_empty() {
            let problem = "there is no [[stage]]".to_owned();
            return Err(Wrong::at(&self.name, problem, "declare at least one stage"));
        }
        let mut files: Vec<String> = Vec::new();
        for artifact in &self.artifacts {
            inside(&artifact.file)?;
            let file = artifact.file.get_ref();
            if files.contains(file) {
                let problem = format!("the artifact `{file}` is declared twice");
                return Err(Wrong::at(&artifact.file, problem, "remove one of them"));
            }
            files.push(file.clone());
        }
        let known = |file: &Spanned<String>| -> Result<String, Wrong> {
            if files.contains(file.get_ref()) {
                return Ok(file.get_ref().clone());
            }
            let problem = format!("`{}` is no [[artifact]] of this workflow", file.get_ref());
            Err(Wrong::at(
                file,
                problem,
                "declare it, or name one that is declared",
            ))
        };
        let mut stages: Vec<Stage> = Vec::new();
        for stage in self.stages {
            let name = stage.name.get_ref();
            let is_twice = stages.iter().any(|other| other.name == *name);
            if name.trim().is_empty() || is_twice {
                let problem = format!("the stage `{name}` has no name of its own");
                return Err(Wrong::at(
                    &stage.name,
                    problem,
                    "give each stage another name",
                ));
            }
            stages.push(stage.check(&known)?);
        }
        let signs = |signs: Vec<WrittenSign>| -> Result<Vec<Sign>, Wrong> {
            signs.into_iter().map(|sign| sign.check(&known)).collect()
        };
        Ok(Workflow {
            name: self.name.into_inner(),
            origin: origin.to_owned(),
            place,
            requires: self.requires.into_iter().map(Spanned::into_inner).collect(),
            skip: self.skip,
            finished_by: signs(self.finished_by)?,
            artifacts: self
                .artifacts
                .into_iter()
                .map(WrittenArtifact::check)
                .collect(),
            stages,
        })
    }
}

type Known<'k> = &'k dyn Fn(&Spanned<String>) -> Result<String, Wrong>;

impl WrittenArtifact {
    fn check(self) -> Artifact {
        Artifact {
            file: self.file.into_inner(),
            role: match self.role {
                WrittenRole::Document => Role::Document,
                WrittenRole::Tasks => Role::Tasks,
                WrittenRole::Context => Role::Context,
                WrittenRole::Progress => Role::Progress,
            },
            approval: self.approval,
        }
    }
}

impl WrittenStage {
    fn check(self, known: Known<'_>) -> Result<Stage, Wrong> {
        Ok(Stage {
            name: self.name.into_inner(),
            mentions: self.mentions,
            objective: self.objective,
            current_step: self.current_step,
            next_action: self.next_action,
            preconditions: self.preconditions,
            artifacts: self.artifacts.iter().map(known).collect::<Result<_, _>>()?,
            current_artifact: self.current_artifact.as_ref().map(known).transpose()?,
            markers: self
                .markers
                .into_iter()
                .map(|sign| sign.check(known))
                .collect::<Result<_, _>>()?,
            gate: self.gate,
            commands: self.commands,
            done: self.done,
        })
    }
}

impl WrittenSign {
    fn check(self, known: Known<'_>) -> Result<Sign, Wrong> {
        let has = match (self.has, self.text) {
            (Some(WrittenHas::Content), None) => Has::Content,
            (Some(WrittenHas::Tasks), None) => Has::Tasks,
            (Some(WrittenHas::AllTasksDone), None) => Has::AllTasksDone,
            (None, Some(words)) if !words.is_empty() => Has::Text(words),
            _ => {
                let problem = "a sign has either `has` or `text`".to_owned();
                let remedy =
                    "write has = \"content\", \"tasks\" or \"all-tasks-done\", or text = [\"…\"]";
                return Err(Wrong::at(&self.file, problem, remedy));
            }
        };
        Ok(Sign {
            file: known(&self.file)?,
            has,
        })
    }
}

/// `specs/<name>` or a folder without a name in it.
fn place(folder: &Spanned<String>) -> Result<Place, Wrong> {
    inside(folder)?;
    let path = folder.get_ref().trim_end_matches('/');
    match path.strip_suffix("/<name>") {
        Some(parent) if !parent.contains('<') => Ok(Place::Below(parent.to_owned())),
        None if !path.contains('<') => Ok(Place::Only(path.to_owned())),
        _ => {
            let problem = format!("`folder` is `{path}`");
            let remedy = "let it end in /<name>, or name a folder without a placeholder";
            Err(Wrong::at(folder, problem, remedy))
        }
    }
}

/// A folder with a file for each piece of work.
fn files(folder: &Spanned<String>, form: &Spanned<String>) -> Result<Place, Wrong> {
    inside(folder)?;
    inside(form)?;
    let path = folder.get_ref().trim_end_matches('/');
    if path.contains('<') {
        let problem = format!("`folder` is `{path}`, and there is `pieces`");
        let remedy = "where pieces of work are files, name their folder without a placeholder";
        return Err(Wrong::at(folder, problem, remedy));
    }
    let file = form.get_ref().rsplit('/').next().unwrap_or_default();
    let is_one = file.matches("<name>").count() == 1
        && form.get_ref().matches('<').count() == 1
        && file != "<name>";
    if !is_one {
        let problem = format!("`pieces` is `{}`", form.get_ref());
        let remedy = "write <name> once, in the name of the file, such as stories/<name>.md";
        return Err(Wrong::at(form, problem, remedy));
    }
    Ok(Place::Files {
        folder: path.to_owned(),
        form: form.get_ref().clone(),
    })
}

/// A path that stays inside the project.
fn inside(path: &Spanned<String>) -> Result<(), Wrong> {
    let text = path.get_ref();
    let leaves = text.is_empty()
        || text.starts_with(['/', '\\', '~'])
        || text.contains(':')
        || text.split(['/', '\\']).any(|part| part == "..");
    if leaves {
        let problem = format!("the path `{text}` does not stay inside the project");
        return Err(Wrong::at(
            path,
            problem,
            "write it relative to the project, without `..`",
        ));
    }
    Ok(())
}
