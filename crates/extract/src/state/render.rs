//! Writes the state of the work, one line or list a subject, each with the number of its entry.

use flamestack_core::transcript::{Todo, TodoStatus};

use super::outcomes::CheckOutcome;
use super::{ActionKind, ChangedFile, CheckResult, FailedApproach, FileChange, WorkState};
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

impl WorkState {
    /// Writes the state for a model that continues the work, within a number of tokens. What matters
    /// most comes first, and lines for which there is no room are left out.
    pub fn render(&self, limit: usize, tokenizer: &dyn Tokenizer) -> String {
        fitting(&self.blocks(), limit, tokenizer)
    }

    /// Writes the state in which finished work was left, for the work that it was a part of.
    pub fn render_result(&self, limit: usize, tokenizer: &dyn Tokenizer) -> String {
        let mut blocks = Vec::new();
        let files: Vec<&str> = self
            .changed
            .iter()
            .rev()
            .map(|file| file.path.as_str())
            .collect();
        let shown = files
            .iter()
            .take(MAX_FILES)
            .copied()
            .collect::<Vec<_>>()
            .join(", ");
        match files.len().saturating_sub(MAX_FILES) {
            _ if files.is_empty() => {}
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
        let failed = self.failed.iter().map(failed);
        blocks.extend(failed.map(|line| format!("Tried, did not work: {line}")));
        fitting(&blocks, limit, tokenizer)
    }
    fn blocks(&self) -> Vec<String> {
        let mut blocks = Vec::new();
        if let Some(request) = &self.request {
            let n = request.entry + 1;
            blocks.push(format!("Request (#{n}): {}", request.text));
        }
        if let Some(go_on) = &self.go_on {
            blocks.push(format!(
                "User's last words (#{}): {}",
                go_on.entry + 1,
                go_on.text
            ));
        }
        blocks.push(listed(
            "Directives of the user",
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
        blocks.push(listed(
            "Still failing",
            self.errors
                .iter()
                .map(|error| format!("{} (#{})", result(error), error.entry + 1)),
        ));
        blocks.push(self.todo_list());
        if let Some(action) = &self.last_action {
            let object = &action.object;
            let words = match action.kind {
                ActionKind::Ran => format!("ran `{object}`"),
                ActionKind::Edited => format!("edited {object}"),
                ActionKind::Read => format!("read {object}"),
            };
            blocks.push(format!("Last action (#{}): {words}", action.entry + 1));
        }
        if let Some(step) = &self.intention {
            blocks.push(format!("About to (#{}): {}", step.entry + 1, step.text));
        }
        blocks.push(self.git_line());
        blocks.push(listed(
            "Tried, did not work",
            self.failed.iter().map(failed),
        ));
        blocks.push(self.changed_files());
        blocks.retain(|block| !block.is_empty());
        blocks
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
            parts.push(format!(
                "last commit {hash}“{subject}” (#{})",
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
    let mut text = file.path.clone();
    let names = file.names.iter().rev().take(FILE_NAMES).rev();
    let names: Vec<&str> = names.map(String::as_str).collect();
    if with_names && !names.is_empty() {
        text.push_str(&format!(" ({})", names.join(", ")));
    }
    if file.change == FileChange::Written {
        text.push_str(", written");
    }
    text.push_str(&format!(" #{}", file.entry + 1));
    text
}

fn result(check: &CheckResult) -> String {
    let commands: Vec<String> = check.commands.iter().map(|it| format!("`{it}`")).collect();
    let mut text = commands.join(", ");
    match check.outcome {
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

fn failed(approach: &FailedApproach) -> String {
    match approach {
        FailedApproach::Reverted { path, entry } => {
            format!("the changes of {path} were reverted (#{})", entry + 1)
        }
        FailedApproach::Repeated {
            command,
            failure,
            entry,
        } => {
            format!(
                "`{command}` failed again with the same failure after an edit: {failure} (#{})",
                entry + 1
            )
        }
    }
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
