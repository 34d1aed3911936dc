//! Workflows as they are declared: stages in order, the files that belong to them, and the signs by
//! which a stage is known.
//!
//! A declaration is data. Reading it from a file is done elsewhere, and what a project's files say
//! about a workflow is found out by [`crate::brief`].

/// A way of working with stages that leave files behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workflow {
    /// Its name, such as `spec`.
    pub name: String,
    /// Where it was declared: `built in`, or a file.
    pub origin: String,
    /// Where its files are.
    pub place: Place,
    /// Paths without which a project does not use this workflow at all.
    pub requires: Vec<String>,
    /// Folders beside the pieces of work that are none.
    pub skip: Vec<String>,
    /// The files of a piece of work.
    pub artifacts: Vec<Artifact>,
    /// The stages, first one first. There is at least one.
    pub stages: Vec<Stage>,
    /// Any of these says that a piece of work is over.
    pub finished_by: Vec<Sign>,
}

/// Where the files of a workflow are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Each piece of work has a folder of its own below this one.
    Below(String),
    /// There is one piece of work, and this is its folder; it has the workflow's name.
    Only(String),
    /// Each piece of work is a file; all of them share a folder.
    Files {
        /// The folder.
        folder: String,
        /// The file below it, with `<name>` in its name.
        form: String,
    },
}

/// A file that a workflow keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// Its path below the folder of the piece of work; `<name>` is filled in.
    pub file: String,
    /// What is in it.
    pub role: Role,
    /// Words that stand for it where somebody writes that it was approved. A file without any
    /// needs no approval.
    pub approval: Vec<String>,
}

/// What is in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Something to read: requirements, a design, an analysis.
    Document,
    /// A list of tasks with boxes.
    Tasks,
    /// What was learned and decided on the way.
    Context,
    /// A log of what was done, one bullet a step.
    Progress,
}

/// A stage of a workflow. Texts are shown as they are, with `<name>` and `<task>` filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Its canonical name, shown verbatim.
    pub name: String,
    /// Other spellings by which it is mentioned.
    pub mentions: Vec<String>,
    /// What it is for.
    pub objective: String,
    /// What is going on in it.
    pub current_step: String,
    /// What comes next in it.
    pub next_action: String,
    /// What it builds on.
    pub preconditions: Vec<String>,
    /// The files it reads or writes.
    pub artifacts: Vec<String>,
    /// The file it is about.
    pub current_artifact: Option<String>,
    /// Any of these says that the stage has been reached; a stage without any is where work begins.
    pub markers: Vec<Sign>,
    /// What has to hold before the next stage.
    pub gate: String,
    /// Commands that check the gate.
    pub commands: Vec<String>,
    /// What says that it is done.
    pub done: Vec<String>,
}

/// Something that can be seen in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sign {
    /// The file, as the artifact names it.
    pub file: String,
    /// What is to be seen.
    pub has: Has,
}

/// What is to be seen in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Has {
    /// More than headings and empty bullets.
    Content,
    /// At least one box.
    Tasks,
    /// At least one box, and none that is open.
    AllTasksDone,
    /// Any of these words.
    Text(Vec<String>),
}

impl Workflow {
    /// The folder that holds the pieces of work, relative to the project.
    pub fn home(&self) -> &str {
        match &self.place {
            Place::Below(home) | Place::Only(home) | Place::Files { folder: home, .. } => home,
        }
    }

    /// The path of one of the files of a piece of work, relative to [`Self::home`].
    pub fn below_home(&self, name: &str, file: &str) -> String {
        let file = fill(file, name, None);
        match &self.place {
            Place::Below(_) => format!("{name}/{file}"),
            Place::Only(_) | Place::Files { .. } => file,
        }
    }

    /// The folder of a piece of work, relative to the project.
    pub fn folder(&self, name: &str) -> String {
        match &self.place {
            Place::Below(parent) => format!("{parent}/{name}"),
            Place::Only(folder) | Place::Files { folder, .. } => folder.clone(),
        }
    }

    /// The path of one of its files, relative to the project.
    pub fn path(&self, name: &str, file: &str) -> String {
        format!("{}/{}", self.home(), self.below_home(name, file))
    }

    /// The path that stands for a piece of work: its folder, or the file that it is.
    pub fn mark(&self, name: &str) -> String {
        match &self.place {
            Place::Below(_) | Place::Only(_) => self.folder(name),
            Place::Files { form, .. } => self.path(name, form),
        }
    }

    /// The stage of a name.
    pub fn stage(&self, name: &str) -> Option<&Stage> {
        self.stages.iter().find(|stage| stage.name == name)
    }

    /// The stage that follows one.
    pub fn after(&self, stage: &Stage) -> Option<&Stage> {
        let at = self.stages.iter().position(|known| known == stage)?;
        self.stages.get(at + 1)
    }

    /// The file with this role.
    pub fn artifact(&self, role: Role) -> Option<&Artifact> {
        self.artifacts.iter().find(|artifact| artifact.role == role)
    }
}

impl Stage {
    /// The name and every other spelling.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.name)
            .chain(&self.mentions)
            .map(String::as_str)
    }
}

/// A declared text with `<name>` and `<task>` filled in. Without a task there is a hole, `TASK`: a
/// command with a hole is better than one with a guess.
pub fn fill(text: &str, name: &str, task: Option<&str>) -> String {
    let mut filled = String::with_capacity(text.len() + name.len());
    let mut rest = text;
    // One pass: a name that contains a placeholder must not be filled in again.
    while let Some(at) = rest.find('<') {
        let (before, after) = rest.split_at(at);
        filled.push_str(before);
        let known = [("<name>", name), ("<task>", task.unwrap_or("TASK"))];
        let found = known
            .into_iter()
            .find_map(|(hole, value)| Some((after.strip_prefix(hole)?, value)));
        if let Some((behind, value)) = found {
            filled.push_str(value);
            rest = behind;
        } else {
            filled.push('<');
            rest = after.get(1..).unwrap_or_default();
        }
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_filled_once() {
        assert_eq!(
            fill("gate <name> <task> < <x>", "a<task>b", Some("2.1")),
            "gate a<task>b 2.1 < <x>"
        );
        assert_eq!(fill("gate <name> <task>", "login", None), "gate login TASK");
        assert_eq!(fill("<", "login", None), "<");
    }
}
