//! Reads the signals of a session from its entries, code-aware and in any language.
//!
//! The cost of an entry is bounded by the part of its text that is read, not by the history.

use std::collections::{BTreeMap, BTreeSet};

use crate::autonomy::heuristics::{
    PromptSigns, Sighting, StepSigns, TodoSigns, WorkSignals, fingerprint,
};
use flamestack_core::FrameId;
use flamestack_core::autonomy::Boundary;
use flamestack_core::transcript::{Answer, Call, CallKind, Entry, EntryKind, Todo, TodoStatus};
use flamestack_extract::failure::error_line;
use flamestack_extract::lex::{NameKind, names, path_key};
use flamestack_extract::shell::{CommandKind, command_kind, commits, file_changes};

use super::terms::{KnownTerms, READ_OF_MODEL, READ_OF_PROMPT, beginning};
use crate::ingest::asked_words;

/// Length of an answer that is read for commits and errors, in bytes.
const READ_OF_ANSWER: usize = 8_000;
/// Maximum number of files and items that are known.
const KNOWN: usize = 4_000;
/// Maximum number of calls without an answer that are remembered.
const OPEN_CALLS: usize = 64;

/// Reads the signals of one session.
#[derive(Clone, Debug, Default)]
pub struct SignalReader {
    /// The signals so far.
    pub signals: WorkSignals,
    /// Calls without an answer.
    calls: BTreeMap<String, Call>,
    /// The terms of goal, prompts and answers.
    terms: KnownTerms,
    /// Fingerprints of the files that were touched.
    files: BTreeSet<u64>,
    todos: Vec<Todo>,
    /// The newest message of the user.
    pub(crate) asked: String,
    /// The frame that the signals are about.
    pub(crate) frame: Option<FrameId>,
    /// True once the whole session was read, and not only what this process has seen.
    pub(crate) is_whole: bool,
    /// The last boundary that was not considered yet.
    pub(crate) boundary: Option<Boundary>,
}

impl SignalReader {
    /// Begins the work on another frame, with the words of its goal. `is_return` says that the frame
    /// before was closed.
    pub fn begin_frame(&mut self, goal: &str, is_return: bool) {
        if is_return {
            self.signals.return_to_frame();
        } else {
            self.signals.begin_frame();
        }
        self.terms.clear();
        self.files.clear();
        self.terms.learn(goal, READ_OF_PROMPT);
    }

    /// Returns the share of the terms of a text that the work does not know, in percent; none if the
    /// text is too short to compare.
    pub fn divergence(&self, text: &str) -> Option<u8> {
        self.terms.divergence(text)
    }

    /// Reads an entry of the session's own thread, and returns the boundary that it is.
    pub fn read(&mut self, entry: &Entry) -> Option<Boundary> {
        let stacked = self.stacked(entry);
        let sighting = self.sighting(entry);
        if let Some((goal, is_return)) = stacked {
            self.begin_frame(&goal, is_return);
            // The store knows which one it is.
            self.frame = None;
            return is_return.then_some(Boundary::Pop);
        }
        self.signals.see(&sighting?)
    }

    /// Returns the arguments of an answered call that changed the frame, and whether it closed one.
    fn stacked(&self, entry: &Entry) -> Option<(String, bool)> {
        let EntryKind::Answer(answer) = &entry.kind else {
            return None;
        };
        let call = self.calls.get(&answer.call).filter(|_| answer.ok)?;
        // Some hosts put the name of a server before that of the tool.
        let tool = call.tool.rsplit("__").next().unwrap_or_default();
        let is_return = match tool {
            "stack_frame_push" | "stack_frame_activate" => false,
            "stack_frame_pop" => true,
            _ => return None,
        };
        let goal = beginning(&call.arguments, READ_OF_PROMPT);
        Some((goal.to_owned(), is_return))
    }

    /// Reads an entry without folding it into the signals.
    pub fn sighting(&mut self, entry: &Entry) -> Option<Sighting> {
        if entry.agent.is_some() {
            return None;
        }
        Some(match &entry.kind {
            EntryKind::User { speaker, text } => {
                let words = asked_words(*speaker, text)?;
                let signs = self.prompt(&words);
                beginning(&words, READ_OF_MODEL).clone_into(&mut self.asked);
                self.terms.learn(&words, READ_OF_PROMPT);
                Sighting::Prompt(signs)
            }
            EntryKind::Assistant { text } => {
                self.terms.learn(text, READ_OF_MODEL);
                return None;
            }
            EntryKind::Call(call) => {
                if self.calls.len() >= OPEN_CALLS {
                    self.calls.pop_first();
                }
                self.calls.insert(call.id.clone(), call.clone());
                return None;
            }
            EntryKind::Answer(answer) => {
                let call = self.calls.remove(&answer.call)?;
                if is_provider_trouble(answer) {
                    Sighting::ProviderTrouble
                } else {
                    Sighting::Step(self.step(&call, answer))
                }
            }
            EntryKind::Changed { paths } => {
                let step = StepSigns {
                    edited: prints(paths),
                    ..StepSigns::default()
                };
                self.touch(&step.edited);
                Sighting::Step(step)
            }
            EntryKind::Todos(items) => Sighting::Todos(self.todos(items)),
            EntryKind::SubagentStarted { .. } => Sighting::SubagentStarted,
            EntryKind::SubagentEnded { .. } => Sighting::SubagentEnded,
            EntryKind::TurnEnded => Sighting::TurnEnded,
            EntryKind::Interrupted { .. } => Sighting::Interrupted,
            EntryKind::Failed { .. } => Sighting::ProviderTrouble,
            EntryKind::Compacted { .. } => Sighting::Compacted,
            EntryKind::Usage(usage) => Sighting::Spent(usage.prompt().saturating_add(usage.output)),
            _ => return None,
        })
    }

    fn prompt(&self, text: &str) -> PromptSigns {
        let mut named = Vec::new();
        names(beginning(text, READ_OF_PROMPT), &mut |kind, name| {
            if kind == NameKind::Path {
                named.push(fingerprint(&[path_key(name)]));
            }
        });
        let is_other = !named.is_empty() && named.iter().all(|file| !self.files.contains(file));
        PromptSigns {
            divergence: self.divergence(text),
            items: items(text),
            names_other_files: is_other,
            key: fingerprint(&[text]),
        }
    }

    fn step(&mut self, call: &Call, answer: &Answer) -> StepSigns {
        let ok = succeeded(answer);
        let is_rejected = !ok && is_rejection(&answer.text);
        let text = beginning(&answer.text, READ_OF_ANSWER);
        let mut step = StepSigns {
            files: prints(&call.paths),
            folders: folders(&call.paths),
            is_rejected,
            is_waiting: is_waiting(call),
            ..StepSigns::default()
        };
        let edits = matches!(call.kind, CallKind::Edit | CallKind::Write);
        if ok && edits {
            step.edited.clone_from(&step.files);
        }
        let mut is_look = false;
        if let Some(command) = call
            .command
            .as_deref()
            .filter(|_| call.kind == CallKind::Execute)
        {
            let kind = command_kind(command);
            is_look = kind == CommandKind::Look;
            if ok {
                step.edited = prints(&file_changes(command, text).made);
                step.committed = !commits(command, text, answer.exit_code).is_empty();
            }
            if kind == CommandKind::Check && !step.committed {
                step.check = Some((flamestack_core::text::condense(command, 80), ok));
            }
        }
        if !ok && !is_rejected && !is_look && call.kind != CallKind::Stack {
            step.failure = Some(error_line(&answer.text));
        }
        self.touch(&step.files);
        self.touch(&step.edited);
        step
    }

    fn todos(&mut self, items: &[Todo]) -> TodoSigns {
        let mut signs = TodoSigns::default();
        for item in items {
            let before = self.todos.iter().find(|known| known.text == item.text);
            let was = before.map(|known| known.status);
            match item.status {
                TodoStatus::Pending => signs.open += 1,
                TodoStatus::Active => {
                    signs.open += 1;
                    signs.active += 1;
                    signs.begun += u32::from(was != Some(TodoStatus::Active));
                }
                TodoStatus::Done => {
                    signs.done += 1;
                    signs.finished += u32::from(was != Some(TodoStatus::Done));
                }
                TodoStatus::Cancelled => {}
            }
        }
        self.todos = items.iter().take(KNOWN).cloned().collect();
        signs
    }

    fn touch(&mut self, files: &[u64]) {
        let room = KNOWN.saturating_sub(self.files.len());
        self.files.extend(files.iter().take(room));
    }
}

fn prints(paths: &[String]) -> Vec<u64> {
    paths
        .iter()
        .map(|path| fingerprint(&[path_key(path)]))
        .collect()
}

fn folders(paths: &[String]) -> Vec<u64> {
    let folder = |path: &String| {
        path.rsplit_once('/')
            .map(|(folder, _)| fingerprint(&[folder]))
    };
    paths.iter().filter_map(folder).collect()
}

/// Returns the number of list items in a text: lines that begin with a dash, an asterisk or a number.
fn items(text: &str) -> u32 {
    let is_item = |line: &&str| {
        let line = line.trim_start();
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_numbered = rest.len() < line.len() && rest.starts_with(['.', ')']);
        is_numbered || line.starts_with("- ") || line.starts_with("* ") || line.starts_with("• ")
    };
    u32::try_from(text.lines().take(2_000).filter(is_item).count()).unwrap_or(u32::MAX)
}

/// Returns true if the answer says that the user rejected the call.
fn is_rejection(text: &str) -> bool {
    let start = beginning(text, 400).to_ascii_lowercase();
    [
        "doesn't want to proceed",
        "rejected",
        "denied by the user",
        "permission denied by",
    ]
    .iter()
    .any(|words| start.contains(words))
}

/// Returns true if a call succeeded. OpenCode reports a command that failed as complete, with its exit code.
fn succeeded(answer: &Answer) -> bool {
    answer.ok && answer.exit_code.is_none_or(|code| code == 0)
}

/// Returns true if a tool's answer is about the provider's trouble, not about the work.
fn is_provider_trouble(answer: &Answer) -> bool {
    let start = beginning(&answer.text, 300).to_ascii_lowercase();
    let is_trouble = [
        "rate limit",
        "rate_limit",
        "overloaded",
        "too many requests",
        "service unavailable",
    ]
    .iter()
    .any(|words| start.contains(words))
        || ["429", "503", "529"].iter().any(|code| {
            start.contains(&format!("status {code}"))
                || start.contains(&format!("error {code}"))
                || start.contains(&format!("http {code}"))
        });
    !succeeded(answer) && is_trouble
}

/// Returns true if a call only waits for something that is in progress elsewhere.
fn is_waiting(call: &Call) -> bool {
    let command = call.command.as_deref().unwrap_or_default();
    let tool = call.tool.to_ascii_lowercase();
    command
        .split_whitespace()
        .any(|word| word == "sleep" || word == "watch" || word == "--watch")
        || ["wait", "output", "poll"]
            .iter()
            .any(|word| tool.contains(word))
}
