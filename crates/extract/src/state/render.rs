//! Writes the state of the work, one line or list per subject, each with the number of its entry.

use flamestack_core::text::{condense, for_model};
use flamestack_core::transcript::{Todo, TodoStatus};

use super::outcomes::CheckOutcome;
use super::{
    Action, ActionKind, ChangedFile, CheckResult, FailedApproach, FileChange, Said, WorkState,
    WorkStepKind,
};
use crate::tokens::Tokenizer;

/// Number of changed files that are listed.
const MAX_FILES: usize = 15;
/// Number of files with the names that were changed in them.
const NAMED_FILES: usize = 5;
/// Number of names for each of them.
const FILE_NAMES: usize = 3;
/// Number of open and of finished items of the to-do list.
const OPEN_TODOS: usize = 8;
const DONE_TODOS: usize = 3;
/// Shorter words of the model say nothing, in bytes.
const MIN_WORDS: usize = 16;
/// Maximum length of a path or command, in characters.
const MAX_NAME: usize = 300;

impl WorkState {
    /// Writes the state for a model that continues the work, within a number of tokens. What matters
    /// most comes first, and lines for which there is no room are left out.
    pub fn render(&self, limit: usize, tokenizer: &dyn Tokenizer) -> String {
        // What is quoted opens and closes no tag that a host or Flamestack gives a meaning. Contexts
        // escape results themselves.
        let safe = |block: &String| for_model(block).into_owned();
        let blocks: Vec<String> = self.blocks().iter().map(safe).collect();
        fitting(&blocks, limit, tokenizer)
    }

    /// Writes the state in which finished work was left, for the work that it was a part of.
    pub fn render_result(&self, limit: usize, tokenizer: &dyn Tokenizer) -> String {
        let mut blocks = Vec::new();
        let newest = self.changed.iter().rev().take(MAX_FILES);
        let shown: Vec<String> = newest.map(|file| one_line(&file.path)).collect();
        let shown = shown.join(", ");
        match self.changed.len().saturating_sub(MAX_FILES) {
            _ if self.changed.is_empty() => {}
            0 => blocks.push(format!("Files changed: {shown}")),
            more => blocks.push(format!("Files changed: {shown} and {more} more")),
        }
        if let Some(check) = &self.check {
            blocks.push(format!("Last check: {}", result(check)));
        }
        blocks.extend(
            self.errors
                .iter()
                .map(|error| format!("Still failing: {}", result(error))),
        );
        blocks.extend(self.git.commit.as_ref().map(|commit| {
            let hash = commit
                .hash
                .as_deref()
                .map(|hash| format!("{hash} "))
                .unwrap_or_default();
            format!("Commit: {hash}“{}”", commit.subject)
        }));
        let failed = self.failed.iter().map(|it| self.undone(it));
        blocks.extend(failed.map(|line| format!("Undone, or failed again: {line}")));
        fitting(&blocks, limit, tokenizer)
    }

    fn blocks(&self) -> Vec<String> {
        let mut blocks = Vec::new();
        if let Some(request) = &self.request {
            let n = request.entry + 1;
            blocks.push(format!("Request (#{n}): {}", request.text));
        }
        if let Some(earlier) = &self.earlier {
            let n = earlier.entry + 1;
            blocks.push(format!("Request before it (#{n}): {}", earlier.text));
        }
        if let Some(go_on) = &self.go_on {
            blocks.push(format!(
                "User's last words (#{}): {}",
                go_on.entry + 1,
                go_on.text
            ));
        }
        let (answered, last) = self.last_words_by_place();
        if let Some(reply) = self.reply.as_ref().or(answered.as_ref()) {
            let n = reply.entry + 1;
            blocks.push(format!("Reply that it answers (#{n}): {}", reply.text));
        }
        blocks.push(listed(
            "Directives of the user, in earlier messages too",
            self.directives
                .iter()
                .map(|said| format!("{} (#{})", said.text, said.entry + 1)),
        ));
        if let Some(check) = &self.check {
            blocks.push(format!(
                "Last check (#{}): {}",
                check.entry + 1,
                result(check)
            ));
        }
        if self.is_unchecked && !self.changed.is_empty() {
            blocks.push("No test, build or lint was run so far.".to_owned());
        }
        blocks.push(listed(
            "Still failing",
            self.errors
                .iter()
                .map(|error| format!("{} (#{})", result(error), error.entry + 1)),
        ));
        blocks.push(self.todo_list());
        if let Some(action) = &self.last_action {
            let words = self.acted(action);
            blocks.push(format!("Last action (#{}): {words}", action.entry + 1));
        }
        if let Some(at) = self.stopped {
            let n = at + 1;
            blocks.push(format!(
                "Stopped by the user (#{n}), who has said nothing since"
            ));
        }
        if let Some(words) = last {
            let n = words.entry + 1;
            let since = if self.is_at_work() {
                ""
            } else {
                ", nothing was done since"
            };
            blocks.push(format!("Model's last words (#{n}{since}): {}", words.text));
        }
        if let Some(step) = &self.intention {
            let acted = self.last_action.as_ref();
            let label = match self.stopped {
                Some(_) => "Was about to, until the user stopped it",
                None if acted.is_some_and(|action| action.entry > step.entry) => "Doing",
                None => "About to",
            };
            blocks.push(format!("{label} (#{}): {}", step.entry + 1, step.text));
        }
        blocks.push(self.git_line());
        blocks.push(listed(
            "Undone, or failed again",
            self.failed.iter().map(|it| self.undone(it)),
        ));
        blocks.push(self.changed_files());
        if self.is_untouched {
            blocks.push("No file was changed so far.".to_owned());
        }
        blocks.retain(|block| !block.is_empty());
        blocks
    }

    /// Returns the last action with its outcome, unless another line has that.
    fn acted(&self, action: &Action) -> String {
        let object = &action.object;
        let at = action.answered;
        let steps = self.steps.iter().rev().take_while(|step| step.entry >= at);
        let mut steps = steps.filter(|step| step.entry == at).map(|step| &step.kind);
        let checks = self.check.iter().chain(&self.errors);
        let is_known = checks.into_iter().any(|check| check.entry == at);
        match (action.kind, steps.next()) {
            (ActionKind::Ran, Some(WorkStepKind::Started(_))) => {
                format!("started `{object}`, which had not ended")
            }
            (
                ActionKind::Ran,
                Some(WorkStepKind::Ran {
                    outcome, failure, ..
                }),
            ) if *outcome == Some(CheckOutcome::Failed) && !is_known => {
                let failure = failure.as_ref().map(|it| format!(": {it}"));
                format!(
                    "ran `{object}`, which failed{}",
                    failure.unwrap_or_default()
                )
            }
            (ActionKind::Ran, _) => format!("ran `{object}`"),
            (ActionKind::Edited, Some(WorkStepKind::Deleted(_))) => format!("deleted {object}"),
            (ActionKind::Edited, _) => format!("edited {object}"),
            (ActionKind::Read, _) => format!("read {object}"),
            (ActionKind::Refused, _) => format!("`{object}`, refused by the user, not done"),
        }
    }

    /// Returns the model's last words without the step that they announce, first if the newest message of
    /// the user answers them.
    fn last_words_by_place(&self) -> (Option<Said>, Option<Said>) {
        let Some(words) = &self.last_words else {
            return (None, None);
        };
        let step = self.intention.as_ref();
        let text = match step.filter(|step| step.entry == words.entry) {
            Some(step) => words.text.replace(&step.text, "").trim().to_owned(),
            None => words.text.clone(),
        };
        if text.len() < MIN_WORDS {
            return (None, None);
        }
        let entry = words.entry;
        let words = Said { entry, text };
        let newest = self.go_on.as_ref().or(self.request.as_ref());
        match newest {
            Some(said) if entry < said.entry => (Some(words), None),
            _ => (None, Some(words)),
        }
    }

    fn todo_list(&self) -> String {
        let of = |status| self.todos.iter().filter(move |todo| todo.status == status);
        let line = |mark: &'static str| move |todo: &Todo| format!("{mark}: {}", todo.text);
        let done = of(TodoStatus::Done).count();
        let lines = of(TodoStatus::Active).map(line("now"));
        let lines = lines.chain(of(TodoStatus::Pending).take(OPEN_TODOS).map(line("next")));
        let finished = of(TodoStatus::Done).skip(done.saturating_sub(DONE_TODOS));
        listed("To do", lines.chain(finished.map(line("done"))))
    }

    fn git_line(&self) -> String {
        let mut parts = Vec::new();
        if let Some(branch) = &self.git.branch {
            parts.push(format!("on branch {branch}"));
        }
        if let Some(commit) = &self.git.commit {
            let hash = commit
                .hash
                .as_deref()
                .map(|hash| format!("{hash} "))
                .unwrap_or_default();
            let subject = &commit.subject;
            let pushed = if commit.is_pushed { ", pushed" } else { "" };
            parts.push(format!(
                "last commit {hash}“{subject}” (#{}{pushed})",
                commit.entry + 1
            ));
        }
        match self.git.uncommitted {
            Some(true) => parts.push("there are uncommitted changes".to_owned()),
            Some(false) => parts.push("working tree clean".to_owned()),
            None => {}
        }
        if parts.is_empty() {
            String::new()
        } else {
            format!("Git: {}", parts.join("; "))
        }
    }

    /// Returns an approach that was given up or did not work.
    fn undone(&self, approach: &FailedApproach) -> String {
        match approach {
            FailedApproach::Reverted { path, entry } => {
                let mut later = self.changed.iter();
                let is_changed = later.any(|file| file.path == *path && file.entry > *entry);
                let again = if is_changed {
                    ", changed again since"
                } else {
                    ""
                };
                let n = entry + 1;
                format!(
                    "the changes of {} were reverted (#{n}{again})",
                    one_line(path)
                )
            }
            FailedApproach::Repeated {
                command,
                failure,
                entry,
                passed_since,
            } => {
                let passed = if *passed_since { ", passed since" } else { "" };
                format!(
                    "`{}` failed again with the same failure after an edit: {failure} (#{}{passed})",
                    one_line(command),
                    entry + 1,
                )
            }
        }
    }

    fn changed_files(&self) -> String {
        let newest = self.changed.iter().rev().take(MAX_FILES).enumerate();
        let mut lines: Vec<String> = newest
            .map(|(n, file)| changed(file, n < NAMED_FILES))
            .collect();
        let more = self.changed.len().saturating_sub(MAX_FILES);
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        listed("Files changed, newest first", lines.into_iter())
    }
}

fn changed(file: &ChangedFile, with_names: bool) -> String {
    let mut text = one_line(&file.path);
    let names = file.names.iter().rev().take(FILE_NAMES).rev();
    let names: Vec<&str> = names.map(String::as_str).collect();
    if with_names && !names.is_empty() {
        text.push_str(&format!(" ({})", names.join(", ")));
    }
    match file.change {
        FileChange::Edited => {}
        FileChange::Written => text.push_str(", written"),
        FileChange::Deleted => text.push_str(", deleted"),
    }
    text.push_str(&format!(" #{}", file.entry + 1));
    text
}

fn result(check: &CheckResult) -> String {
    let commands = check.commands.iter();
    let commands: Vec<String> = commands.map(|it| format!("`{}`", one_line(it))).collect();
    let mut text = commands.join(", ");
    match check.outcome {
        CheckOutcome::Passed if check.ran_nothing => text.push_str(" passed, but ran no test"),
        CheckOutcome::Passed => text.push_str(" passed"),
        CheckOutcome::Failed => text.push_str(" failed"),
    }
    if let Some(failure) = &check.failure {
        text.push_str(&format!(", first failure: {failure}"));
    }
    match check.edits_since {
        0 => {}
        1 => text.push_str(" (1 edit since, not run again)"),
        n => text.push_str(&format!(" ({n} edits since, not run again)")),
    }
    text
}

/// Returns a path or command on one line: a line break in it would let it pass for a line of ours.
fn one_line(text: &str) -> String {
    condense(text, MAX_NAME)
}

/// Returns the lines that fit into a number of tokens.
fn fitting(blocks: &[String], limit: usize, tokenizer: &dyn Tokenizer) -> String {
    let mut text = String::new();
    let mut left = limit;
    for line in blocks.iter().flat_map(|block| block.lines()) {
        let line = format!("{line}\n");
        let cost = tokenizer.count(&line);
        if cost <= left {
            left -= cost;
            text.push_str(&line);
        }
    }
    text
}

/// Returns a titled list, or nothing.
fn listed(title: &str, items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.map(|item| format!("- {item}")).collect();
    if items.is_empty() {
        return String::new();
    }
    format!("{title}:\n{}", items.join("\n"))
}
