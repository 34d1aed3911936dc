//! The ledger: the last steps that mattered, one line each. Looking around is not a step.

use std::collections::BTreeMap;

use flamestack_core::text::condense;
use flamestack_core::transcript::{CallKind, Entry, EntryKind};

use super::doing::without_setup;
use super::files::Edit;
use super::outcomes::{CheckOutcome, SETUP, Verdict, first_failure, verdict};
use super::prompts;
use super::runs::{Run, RunState};
use super::{MAX_COMMAND, MAX_FAILURE};
use crate::shell::{CommandKind, SimpleCommand, command_kind, git_words, invocation};

/// A step of the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkStep {
    /// Index of the entry that has it, or its last part.
    pub entry: usize,
    /// Its description.
    pub kind: WorkStepKind,
}

/// Kind of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkStepKind {
    /// Changed a file, in one or several edits in a row.
    Edited {
        /// The file.
        path: String,
        /// Number of edits.
        times: usize,
    },
    /// Deleted a file.
    Deleted(String),
    /// Started a command line that has not ended.
    Started(String),
    /// Ran a command line.
    Ran {
        /// The line.
        line: String,
        /// Its outcome, if that is certain.
        outcome: Option<CheckOutcome>,
        /// The line of its output that names the first failure.
        failure: Option<String>,
    },
    /// Gave a task to a subagent.
    Delegated(String),
    /// Got this answer from a subagent.
    Returned(String),
    /// Ended a turn with these words.
    Replied(String),
}

/// Number of steps that are kept, the newest ones.
const MAX_STEPS: usize = 32;
/// Maximum length of the words that ended a turn, in characters.
const MAX_REPLY: usize = 160;
/// Maximum length of the newest answer of a subagent, in characters: what comes next depends on it.
const MAX_ANSWER: usize = 480;
/// A shorter answer of a subagent only says that it was started, in bytes.
const MIN_ANSWER: usize = 40;
/// Maximum length of a subagent's task, in characters.
const MAX_TASK: usize = 120;

/// Verbs of git that change nothing.
const GIT_LOOKS: [&str; 14] = [
    "status",
    "diff",
    "log",
    "show",
    "branch",
    "rev-parse",
    "ls-files",
    "ls-remote",
    "blame",
    "grep",
    "remote",
    "describe",
    "merge-base",
    "config",
];
/// Verbs of GitHub's program that change nothing.
const GH_LOOKS: [&str; 6] = ["view", "list", "checks", "status", "diff", "api"];

/// Returns the last steps, the newest last.
pub(super) fn steps(entries: &[Entry], edits: &[Edit], runs: &[Run<'_>]) -> Vec<WorkStep> {
    let mut all: Vec<WorkStep> = Vec::new();
    let newest = edits.len().saturating_sub(4 * MAX_STEPS);
    for edit in edits.iter().skip(newest) {
        let path = edit.replacement.path.clone();
        let kind = if edit.replacement.deleted {
            WorkStepKind::Deleted(path)
        } else {
            WorkStepKind::Edited { path, times: 1 }
        };
        let entry = edit.entry;
        all.push(WorkStep { entry, kind });
    }
    let newest = runs.len().saturating_sub(8 * MAX_STEPS);
    all.extend(runs.iter().skip(newest).filter_map(ran));
    all.extend(spoken(entries));
    all.sort_by_key(|step| step.entry);
    let mut steps: Vec<WorkStep> = Vec::new();
    for step in all {
        match (steps.last_mut(), &step.kind) {
            (
                Some(WorkStep {
                    entry,
                    kind: WorkStepKind::Edited { path, times },
                }),
                WorkStepKind::Edited { path: again, .. },
            ) if path == again => {
                // A patch may have several parts.
                *times += usize::from(*entry != step.entry);
                *entry = step.entry;
            }
            _ => steps.push(step),
        }
    }
    let excess = steps.len().saturating_sub(MAX_STEPS);
    steps.split_off(excess)
}

/// Returns the step of a run, unless it only looked around.
fn ran(run: &Run<'_>) -> Option<WorkStep> {
    let line = without_setup(&run.line);
    let line = match line.split_once("&&") {
        Some((first, rest)) if first.starts_with("git add ") => rest.trim_start(),
        _ => line,
    };
    if matches!(run.state, RunState::Refused | RunState::Mixed) || run.commands.iter().all(looks) {
        return None;
    }
    if run.state == RunState::Running {
        return Some(WorkStep {
            entry: run.entry,
            kind: WorkStepKind::Started(condense(line, MAX_COMMAND)),
        });
    }
    let outcome = outcome(run);
    let failure = first_failure(&run.output).filter(|_| outcome == Some(CheckOutcome::Failed));
    Some(WorkStep {
        entry: run.entry,
        kind: WorkStepKind::Ran {
            line: condense(line, MAX_COMMAND),
            outcome,
            failure: failure.map(|line| condense(&line, MAX_FAILURE)),
        },
    })
}

/// Returns true if a command only looks around.
pub(super) fn looks(command: &SimpleCommand) -> bool {
    if let Some(words) = git_words(command) {
        return words.first().is_none_or(|verb| GIT_LOOKS.contains(verb));
    }
    let words = invocation(command);
    let has = |options: &[&str]| words.iter().any(|word| options.contains(word));
    match words.first() {
        Some(&"gh") => has(&GH_LOOKS) && !has(&["-X", "-f", "-F", "--method", "--input"]),
        Some(&"sed") => !words.iter().any(|word| word.starts_with("-i")),
        Some(&"rm" | &"mkdir") => false,
        Some(program) => SETUP.contains(program) || command_kind(program) == CommandKind::Look,
        None => true,
    }
}

/// Returns the outcome of a whole line: that of its checks, else its status.
fn outcome(run: &Run<'_>) -> Option<CheckOutcome> {
    if run.state != RunState::Done {
        return None;
    }
    let verdicts = run.checks.iter();
    let verdicts: Vec<Verdict> = verdicts
        .map(|(at, check)| verdict(run, *at, check))
        .collect();
    let failed = Verdict::Certain(CheckOutcome::Failed);
    let passed = Verdict::Certain(CheckOutcome::Passed);
    match run.exit {
        _ if verdicts.contains(&failed) => Some(CheckOutcome::Failed),
        Some(exit) if exit != 0 => Some(CheckOutcome::Failed),
        _ if !verdicts.is_empty() && verdicts.iter().all(|it| *it == passed) => {
            Some(CheckOutcome::Passed)
        }
        _ => None,
    }
}

/// Returns the words that ended turns, and the tasks of subagents with their answers.
fn spoken(entries: &[Entry]) -> Vec<WorkStep> {
    let mut found = Vec::new();
    let mut turn_is_over = true;
    let mut answers: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for (at, entry) in entries.iter().enumerate().rev() {
        match &entry.kind {
            EntryKind::Assistant { text } if turn_is_over && !text.trim().is_empty() => {
                turn_is_over = false;
                let kind = WorkStepKind::Replied(prompts::gist(text, MAX_REPLY));
                found.push(WorkStep { entry: at, kind });
            }
            EntryKind::Call(call) => {
                turn_is_over = false;
                let answer = answers.remove(call.id.as_str());
                if call.kind == CallKind::Delegate {
                    let answer = answer.map(|(entry, text)| (entry, returned(text)));
                    let answer = answer.filter(|(_, text)| text.len() >= MIN_ANSWER);
                    found.extend(answer.map(|(entry, text)| {
                        let kind = WorkStepKind::Returned(text);
                        WorkStep { entry, kind }
                    }));
                    let task = crate::arguments::text(&call.arguments);
                    let kind = WorkStepKind::Delegated(condense(&task, MAX_TASK));
                    found.push(WorkStep { entry: at, kind });
                }
            }
            EntryKind::Answer(answer) => {
                answers.insert(&answer.call, (at, &answer.text));
            }
            EntryKind::TurnEnded => turn_is_over = true,
            _ if prompts::is_from_user(entry) => turn_is_over = true,
            _ => {}
        }
        if found.len() >= MAX_STEPS {
            break;
        }
    }
    found
}

/// Returns the answer of a subagent without what hosts put around it.
fn returned(text: &str) -> String {
    let is_wrapping = |line: &&str| line.starts_with("task_id:") || line.starts_with('<');
    let lines: Vec<&str> = text.lines().filter(|line| !is_wrapping(line)).collect();
    prompts::gist(&lines.join("\n"), MAX_ANSWER)
}

impl WorkStep {
    /// Writes the newest step, in more detail.
    pub(crate) fn newest_line(&self) -> String {
        match &self.kind {
            WorkStepKind::Returned(words) => {
                format!("#{} the subagent answered: {words}", self.entry + 1)
            }
            _ => self.line(),
        }
    }

    /// Writes the step in one line.
    pub(crate) fn line(&self) -> String {
        let n = self.entry + 1;
        match &self.kind {
            WorkStepKind::Edited { path, times: 1 } => {
                format!("#{n} edited {}", condense(path, 300))
            }
            WorkStepKind::Edited { path, times } => {
                format!("#{n} edited {}, {times} times", condense(path, 300))
            }
            WorkStepKind::Ran {
                line,
                outcome,
                failure,
            } => {
                let outcome = match outcome {
                    Some(CheckOutcome::Passed) => ", passed",
                    Some(CheckOutcome::Failed) => ", failed",
                    None => "",
                };
                let failure = failure.as_ref().map(|it| format!(": {it}"));
                format!("#{n} ran `{line}`{outcome}{}", failure.unwrap_or_default())
            }
            WorkStepKind::Deleted(path) => format!("#{n} deleted {}", condense(path, 300)),
            WorkStepKind::Started(line) => format!("#{n} started `{line}`, which had not ended"),
            WorkStepKind::Delegated(task) => format!("#{n} gave a subagent the task: {task}"),
            WorkStepKind::Returned(words) => {
                format!("#{n} the subagent answered: {}", condense(words, MAX_REPLY))
            }
            WorkStepKind::Replied(words) => format!("#{n} replied: {words}"),
        }
    }
}
