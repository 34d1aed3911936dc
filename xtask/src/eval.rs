//! `cargo xtask eval`: quality of briefs on recorded work of others, which is kept beside the
//! repository and never in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use flamestack_brief::workflow::Workflows;
use flamestack_brief::{Document, Sources, WorkItem, WorkflowStatus, compose};
use flamestack_extract::tokens::Estimate;
use serde_json::Value;

/// Shares that the judge's own baseline reaches: the first open box, and one of the first three.
const BASELINE: (f64, f64) = (0.37, 0.63);

/// Runs the named evaluation.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    match arguments {
        ["stage"] => stage(),
        ["quality"] => crate::quality::run(),
        [] => {
            stage()?;
            crate::quality::run()
        }
        [other, ..] => bail!("there is no evaluation {other}: there are stage and quality"),
    }
}

/// Next task and stage on the histories of real specifications.
fn stage() -> Result<()> {
    let archive = crate::root()?.join("../shared/traces/ctrace-stage.tar.xz");
    if !archive.is_file() {
        println!(
            "the recorded histories are not here ({}): nothing was evaluated",
            archive.display()
        );
        return Ok(());
    }
    let scratch = std::env::temp_dir().join(format!("flamestack-eval-{}", std::process::id()));
    fs_err::create_dir_all(&scratch)?;
    let scored = unpack(&archive, &scratch).and_then(|()| score(&scratch.join("stage")));
    fs_err::remove_dir_all(&scratch)?;
    scored?.report()
}

fn unpack(archive: &Path, into: &Path) -> Result<()> {
    let status = Command::new("tar")
        .arg("xJf")
        .arg(archive)
        .arg("-C")
        .arg(into)
        .status()
        .context("tar could not be started")?;
    if status.success() {
        Ok(())
    } else {
        bail!("tar could not unpack {}", archive.display())
    }
}

#[derive(Default)]
struct Scores {
    steps: usize,
    first: usize,
    first_of_baseline: usize,
    among_three: usize,
    stages: usize,
    stages_right: usize,
}

fn score(folder: &Path) -> Result<Scores> {
    let workflows = Workflows::built_in();
    let mut files: Vec<PathBuf> = fs_err::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    files.sort();
    let mut scores = Scores::default();
    for file in files {
        let mut histories: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for line in fs_err::read_to_string(&file)?.lines().skip(1) {
            let commit: Value = serde_json::from_str(line)?;
            if text(&commit, "kind") == "specs" {
                let path = text(&commit, "path").to_owned();
                histories.entry(path).or_default().push(commit);
            }
        }
        for history in histories.values() {
            for pair in history.windows(2) {
                if let [before, after] = pair {
                    scores.add(&workflows, before, after);
                }
            }
        }
    }
    Ok(scores)
}

impl Scores {
    fn add(&mut self, workflows: &Workflows, before: &Value, after: &Value) {
        let happened = text(before, "next_label");
        if !["spec-design", "spec-tasks", "spec-execute"].contains(&happened) {
            return;
        }
        let status = status(workflows, before);
        self.stages += 1;
        let ahead = status.as_ref().map(|status| status.ahead.as_str());
        self.stages_right += usize::from(ahead == Some(happened));
        if happened != "spec-execute" {
            return;
        }
        let (was, is) = (boxes(before), boxes(after));
        let ticked: BTreeSet<&str> = was
            .iter()
            .filter(|(task, done)| !done && is.iter().any(|(other, done)| *done && other == task))
            .map(|(task, _)| task.as_str())
            .collect();
        let to_do = status.map(|status| status.to_do).unwrap_or_default();
        let hits = |most: usize| {
            let proposed = to_do.iter().take(most);
            proposed
                .map(|task| short(&task.written))
                .any(|task| ticked.contains(task.as_str()))
        };
        let first_open = was.iter().find(|(_, done)| !done);
        let baseline = first_open.is_some_and(|(task, _)| ticked.contains(task.as_str()));
        self.steps += 1;
        self.first += usize::from(hits(1));
        self.among_three += usize::from(hits(3));
        self.first_of_baseline += usize::from(baseline);
    }

    fn report(&self) -> Result<()> {
        #[expect(clippy::cast_precision_loss, reason = "some dozens")]
        let share = |part: usize, of: usize| part as f64 / of.max(1) as f64;
        let (first, three) = (
            share(self.first, self.steps),
            share(self.among_three, self.steps),
        );
        println!(
            "next task:  {} of {} ({:.0}%), one of three: {} ({:.0}%)",
            self.first,
            self.steps,
            100.0 * first,
            self.among_three,
            100.0 * three
        );
        println!(
            "  baseline: first open box {} of {} ({:.0}%); the judge's figures are {:.0}% and {:.0}%",
            self.first_of_baseline,
            self.steps,
            100.0 * share(self.first_of_baseline, self.steps),
            100.0 * BASELINE.0,
            100.0 * BASELINE.1
        );
        println!(
            "next stage: {} of {} ({:.0}%)",
            self.stages_right,
            self.stages,
            100.0 * share(self.stages_right, self.stages)
        );
        if first < BASELINE.0 || three < BASELINE.1 || self.stages_right < self.stages {
            bail!("the brief is worse than the baseline");
        }
        Ok(())
    }
}

/// Returns the brief of a commit's files.
fn status(workflows: &Workflows, commit: &Value) -> Option<WorkflowStatus> {
    let name = text(commit, "name");
    let files = commit.get("files").and_then(Value::as_object)?;
    let item = WorkItem {
        workflow: "spec".to_owned(),
        name: name.to_owned(),
        files: files
            .iter()
            .map(|(file, text)| {
                let path = format!(".codex/specs/{name}/{file}.md");
                Document::new(path, text.as_str().unwrap_or_default())
            })
            .collect(),
    };
    let sources = Sources {
        items: vec![item],
        ..Sources::default()
    };
    compose(&workflows.declared, &sources, 2_000, &Estimate).workflow
}

/// The boxes of a commit's list of tasks, as the judge reads them.
fn boxes(commit: &Value) -> Vec<(String, bool)> {
    let tasks = commit
        .get("files")
        .map(|files| text(files, "tasks"))
        .unwrap_or_default();
    tasks
        .lines()
        .filter_map(|line| {
            let behind = line.trim_start().strip_prefix(['-', '*'])?.trim_start();
            let mut inside = behind.strip_prefix('[')?.chars();
            let mark = inside.next()?;
            let behind = inside.as_str().strip_prefix(']')?;
            let is_box = matches!(mark, ' ' | 'x' | 'X' | '-' | '~');
            let task = behind.strip_prefix('*').unwrap_or(behind).trim();
            (is_box && !task.is_empty()).then(|| (short(task), matches!(mark, 'x' | 'X')))
        })
        .collect()
}

fn short(task: &str) -> String {
    task.trim().chars().take(80).collect()
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}
