//! Where workflow declarations come from: the built-in ones, the user's, the team's, the project's.
//!
//! A declaration of the same name replaces an earlier one. One that cannot be used is reported with
//! its file and line, and the others work.

mod form;

use std::path::{Path, PathBuf};

use flamestack_core::workflow::Workflow;

use crate::project::{Home, Project};

/// Files of declarations are short; a longer one is something else.
const LONGEST: u64 = 256 * 1024;
/// How many files of one folder are read.
const MOST: usize = 64;

const BUILT_IN: [(&str, &str); 4] = [
    ("spec", include_str!("workflows/spec.toml")),
    ("bug", include_str!("workflows/bug.toml")),
    ("spec-kit", include_str!("workflows/spec-kit.toml")),
    ("openspec", include_str!("workflows/openspec.toml")),
];

/// The workflows that are known here.
#[derive(Clone, Debug, Default)]
pub struct Workflows {
    /// Those that can be used.
    pub declared: Vec<Workflow>,
    /// Those that cannot, and why.
    pub problems: Vec<Problem>,
}

/// A declaration that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {problem}; {remedy}", file.display(), .line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// The line, where it is known.
    pub line: Option<usize>,
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub remedy: String,
}

impl Workflows {
    /// The built-in ones.
    pub fn built_in() -> Self {
        let mut workflows = Self::default();
        for (name, text) in BUILT_IN {
            let file = PathBuf::from(format!("{name}.toml"));
            workflows.add(&file, "built in", text);
        }
        workflows
    }

    /// The built-in ones and those of the user, the team and the project, in this order.
    pub fn gather(home: &Home, project: &Project) -> Self {
        let mut workflows = Self::built_in();
        for folder in folders(home, project) {
            workflows.add_folder(&folder);
        }
        workflows
    }

    fn add_folder(&mut self, folder: &Path) {
        let Ok(entries) = fs_err::read_dir(folder) else {
            return;
        };
        let mut files: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| {
                path.extension()
                    .is_some_and(|extension| extension == "toml")
            })
            .take(MOST)
            .collect();
        files.sort();
        for file in files {
            match read(&file) {
                Ok(text) => self.add(&file, &file.display().to_string(), &text),
                Err(problem) => self.problems.push(Problem {
                    file,
                    line: None,
                    problem,
                    remedy: "make it a readable text file, or remove it".to_owned(),
                }),
            }
        }
    }

    fn add(&mut self, file: &Path, origin: &str, text: &str) {
        match form::parse(text, origin) {
            Ok(workflow) => {
                self.declared.retain(|known| known.name != workflow.name);
                self.declared.push(workflow);
            }
            Err(wrong) => self.problems.push(Problem {
                file: file.to_owned(),
                line: wrong.at.map(|at| line_of(text, at)),
                problem: wrong.problem,
                remedy: wrong.remedy,
            }),
        }
    }
}

/// Where declarations are looked for, the one that counts most last.
pub fn folders(home: &Home, project: &Project) -> [PathBuf; 3] {
    [
        home.config.join("workflows"),
        project.root.join(".flamestack/workflows"),
        project.dir.join("workflows"),
    ]
}

fn read(file: &Path) -> Result<String, String> {
    let metadata = fs_err::metadata(file).map_err(|error| error.to_string())?;
    if !metadata.is_file() || metadata.len() > LONGEST {
        return Err(format!("it is no file of at most {} kB", LONGEST / 1024));
    }
    fs_err::read_to_string(file).map_err(|error| error.to_string())
}

fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_ones_are_good_and_keep_their_names() {
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
    fn built_in_texts_order_nobody_about() {
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
    fn a_bad_one_says_where_and_what_to_do() {
        let stage = "[[stage]]\nname = 'a'\nobjective = ''\ncurrent_step = ''\nnext_action = ''\n";
        let said = |text: &str| {
            let mut workflows = Workflows::default();
            workflows.add(Path::new("team.toml"), "team.toml", text);
            assert!(workflows.declared.is_empty());
            workflows.problems[0].to_string()
        };
        insta::assert_snapshot!(said("name = 'x'\nfolder = \n"), @"team.toml:2: string values must be quoted, expected literal string; docs/briefs.md lists what a declaration may say");
        insta::assert_snapshot!(said("name = 'x'\nfolder = 'a'\nstages = 3\n"), @"team.toml:3: unknown field `stages`, expected one of `name`, `folder`, `pieces`, `requires`, `skip`, `finished_by`, `artifact`, `stage`; docs/briefs.md lists what a declaration may say");
        insta::assert_snapshot!(said("name = 'x'\nfolder = '../a/<name>'\n"), @"team.toml:2: the path `../a/<name>` does not stay inside the project; write it relative to the project, without `..`");
        insta::assert_snapshot!(said("name = 'x'\nfolder = 'a/<name>/b'\n"), @"team.toml:2: `folder` is `a/<name>/b`; let it end in /<name>, or name a folder without a placeholder");
        insta::assert_snapshot!(said("name = 'x'\nfolder = 'a/<name>'\n"), @"team.toml:1: there is no [[stage]]; declare at least one stage");
        insta::assert_snapshot!(said(&format!("name = 'x'\nfolder = 'a'\n{stage}current_artifact = 'b.md'\n")), @"team.toml:8: `b.md` is no [[artifact]] of this workflow; declare it, or name one that is declared");
        insta::assert_snapshot!(said(&format!("name = 'x'\nfolder = 'a'\n{stage}{stage}")), @"team.toml:9: the stage `a` has no name of its own; give each stage another name");
        insta::assert_snapshot!(said(&format!("name = 'x'\nfolder = 'a'\n{stage}markers = [{{ file = 'b' }}]")), @r#"team.toml:8: a sign has either `has` or `text`; write has = "content", "tasks" or "all-tasks-done", or text = ["…"]"#);
    }
}
