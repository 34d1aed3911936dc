//! Signals of the work on a frame, folded from what a host reports.

use std::collections::BTreeSet;

use flamestack_core::autonomy::Boundary;

use super::errors::ErrorLog;

/// Maximum number of files and folders that a frame remembers; beyond it they only count.
const REMEMBERED: usize = 512;

/// Something that happened, as far as signals depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sighting {
    /// The user sent a message.
    Prompt(PromptSigns),
    /// A tool call was answered.
    Step(StepSigns),
    /// The host's to-do list changed.
    Todos(TodoSigns),
    /// A subagent started.
    SubagentStarted,
    /// A subagent ended.
    SubagentEnded,
    /// The turn ended normally.
    TurnEnded,
    /// The user stopped the turn or rejected a call.
    Interrupted,
    /// The provider failed: no sign of the work itself.
    ProviderTrouble,
    /// The history was replaced by a summary.
    Compacted,
    /// A model call had a prompt and an answer of this many tokens.
    Spent(u64),
}

/// Signs in a message of the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PromptSigns {
    /// Share of its terms that the work so far does not know, in percent. None for a message that is
    /// too short to compare, such as "go on".
    pub divergence: Option<u8>,
    /// Number of items of lists in it.
    pub items: u32,
    /// True if it names files, and none that the work has touched.
    pub names_other_files: bool,
    /// Identifies the message.
    pub key: u64,
}

/// Signs in the answer to a tool call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepSigns {
    /// Fingerprints of the files that it names.
    pub files: Vec<u64>,
    /// Fingerprints of their folders.
    pub folders: Vec<u64>,
    /// Fingerprints of the files that it changed.
    pub edited: Vec<u64>,
    /// The check that it ran, and whether that succeeded.
    pub check: Option<(String, bool)>,
    /// True if it made a commit.
    pub committed: bool,
    /// The error, if it failed without being stopped.
    pub failure: Option<String>,
    /// True if the user rejected it: evidence of nothing.
    pub is_rejected: bool,
    /// True if it waits for something that is in progress elsewhere.
    pub is_waiting: bool,
}

/// Signs in a to-do list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TodoSigns {
    /// Items that are neither done nor cancelled.
    pub open: u32,
    /// Items that are being worked on.
    pub active: u32,
    /// Items that are done.
    pub done: u32,
    /// Items that were begun with the last change.
    pub begun: u32,
    /// Items that were finished with the last change.
    pub finished: u32,
}

/// Signs of the turn that is in progress, or that ended last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnSigns {
    /// Tool calls.
    pub steps: u32,
    /// Calls that failed.
    pub failures: u32,
    /// Calls that changed files.
    pub edits: u32,
    /// Commits.
    pub commits: u32,
    /// True once it ended normally.
    pub is_ended: bool,
}

/// The newest run of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastCheck {
    /// The command.
    pub name: String,
    /// True if it succeeded.
    pub ok: bool,
}

/// Criteria of a frame, and those that recorded evidence covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Criteria {
    /// Number of criteria.
    pub total: u32,
    /// Number of those that a command that succeeded, a test that passed or a commit covers.
    pub covered: u32,
}

/// Signs that the caller of a tool declares besides what was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// A goal for a new frame, and the share of its terms that the current goal lacks, in percent.
    pub goal: Option<(String, u8)>,
    /// Signs of success.
    pub successes: u32,
    /// Signs of failure.
    pub failures: u32,
    /// Turns without progress.
    pub idle_turns: u32,
    /// True if the host says that the work of this frame has ended.
    pub is_ended: bool,
}

/// Signals of the work of a session on its current frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that are independent of each other"
)]
pub struct WorkSignals {
    /// Messages of the user.
    pub messages: u32,
    /// Tool calls.
    pub steps: u32,
    /// Errors by frequency.
    pub errors: ErrorLog,
    /// Number of files touched.
    pub files: u32,
    /// Number of folders touched.
    pub folders: u32,
    /// Number of files changed.
    pub artifacts: u32,
    /// Commits.
    pub commits: u32,
    /// Steps at the end that changed nothing and fixed nothing.
    pub idle_steps: u32,
    /// The check that ran last.
    pub last_check: Option<LastCheck>,
    /// True if a check that had failed succeeds now.
    pub turned_green: bool,
    /// True if files were changed since the last check that succeeded.
    pub has_unchecked: bool,
    /// True if files were changed since the last commit.
    pub has_uncommitted: bool,
    /// The host's to-do list.
    pub todos: TodoSigns,
    /// The frame's criteria.
    pub criteria: Criteria,
    /// The newest message of the user.
    pub prompt: PromptSigns,
    /// The current turn.
    pub turn: TurnSigns,
    /// Subagents that are running.
    pub children: u32,
    /// True from an interruption until the user's next message.
    pub is_interrupted: bool,
    /// True if the user rejected the last call.
    pub is_rejected: bool,
    /// Tokens of the last model call, prompt and answer.
    pub tokens: Option<u64>,
    /// Number of tokens that a prompt may have.
    pub window: Option<u64>,
    /// Tokens when the work on the frame began.
    pub tokens_before: u64,
    /// Compactions of the session.
    pub compactions: u32,
    /// The caller's own signs.
    pub declared: Declared,
    seen_files: BTreeSet<u64>,
    seen_folders: BTreeSet<u64>,
    changed_files: BTreeSet<u64>,
}

impl WorkSignals {
    /// Returns the signals for a judgement: without the files and folders by which further steps are counted.
    pub fn figures(&self) -> Self {
        Self {
            errors: self.errors.worst_alone(),
            last_check: self.last_check.clone(),
            declared: self.declared.clone(),
            seen_files: BTreeSet::new(),
            seen_folders: BTreeSet::new(),
            changed_files: BTreeSet::new(),
            ..*self
        }
    }

    /// Records something that happened, and returns the boundary that it is, if it is one.
    pub fn see(&mut self, sighting: &Sighting) -> Option<Boundary> {
        match sighting {
            Sighting::Prompt(signs) => {
                self.prompted(*signs);
                Some(Boundary::Prompt)
            }
            Sighting::Step(step) => self.stepped(step),
            Sighting::Todos(todos) => {
                self.todos = *todos;
                if todos.begun + todos.finished > 0 {
                    self.idle_steps = 0;
                }
                (todos.finished > 0).then_some(Boundary::PlanStep)
            }
            Sighting::SubagentStarted => {
                self.children = self.children.saturating_add(1);
                None
            }
            Sighting::SubagentEnded => {
                self.children = self.children.saturating_sub(1);
                self.idle_steps = 0;
                None
            }
            Sighting::TurnEnded => {
                self.turn.is_ended = true;
                Some(Boundary::Idle).filter(|_| !self.is_interrupted)
            }
            Sighting::Interrupted => {
                self.is_interrupted = true;
                None
            }
            Sighting::ProviderTrouble => None,
            Sighting::Compacted => {
                self.compactions = self.compactions.saturating_add(1);
                (self.tokens, self.tokens_before) = (None, 0);
                None
            }
            Sighting::Spent(tokens) => {
                self.tokens = Some(*tokens);
                None
            }
        }
    }

    /// Begins the work on another frame of the same session: counts start again, the state of the
    /// session stays.
    pub fn begin_frame(&mut self) {
        let former = std::mem::take(self);
        *self = Self {
            todos: former.todos,
            prompt: former.prompt,
            turn: former.turn,
            children: former.children,
            is_interrupted: former.is_interrupted,
            is_rejected: former.is_rejected,
            tokens: former.tokens,
            window: former.window,
            tokens_before: former.tokens.unwrap_or_default(),
            compactions: former.compactions,
            ..Self::default()
        };
    }

    /// Goes on with a frame after one below it was closed: counts start again, and the messages of
    /// the closed frame leave the prompt.
    pub fn return_to_frame(&mut self) {
        let left = Some(self.tokens_before).filter(|tokens| *tokens > 0);
        self.tokens = left.or(self.tokens);
        self.begin_frame();
    }

    /// Sets the number of tokens that a prompt may have, where it is known.
    pub fn set_window(&mut self, window: Option<u64>) {
        self.window = window;
    }

    /// Returns the share of the window that the prompt takes, in percent.
    pub fn fill(&self) -> Option<u64> {
        let (tokens, window) = (self.tokens?, self.window?);
        (window > 0).then(|| tokens.saturating_mul(100) / window)
    }

    /// Returns the share of the window that the work on this frame takes, in percent.
    pub fn frame_fill(&self) -> Option<u64> {
        let (tokens, window) = (self.tokens?, self.window?);
        let own = tokens.saturating_sub(self.tokens_before);
        (window > 0).then(|| own.saturating_mul(100) / window)
    }

    /// Returns true if the work stopped in a state that a person or a child has to leave first:
    /// nothing is suggested then.
    pub fn is_held(&self) -> bool {
        self.is_interrupted || self.is_rejected || self.children > 0
    }

    /// Returns true if the evidence of this frame is positive and nothing changed since.
    pub fn is_verified(&self) -> bool {
        let green = self.last_check.as_ref().is_some_and(|check| check.ok) && !self.has_unchecked;
        let committed = self.commits > 0 && !self.has_uncommitted;
        green || committed
    }

    fn prompted(&mut self, signs: PromptSigns) {
        self.messages = self.messages.saturating_add(1);
        self.prompt = signs;
        self.turn = TurnSigns::default();
        self.idle_steps = 0;
        self.is_interrupted = false;
        self.is_rejected = false;
        self.turned_green = false;
    }

    fn stepped(&mut self, step: &StepSigns) -> Option<Boundary> {
        self.is_rejected = step.is_rejected;
        if step.is_rejected {
            return None;
        }
        self.steps = self.steps.saturating_add(1);
        self.turn.steps = self.turn.steps.saturating_add(1);
        count(&mut self.seen_files, &mut self.files, &step.files);
        count(&mut self.seen_folders, &mut self.folders, &step.folders);
        let boundary = self.effect(step);
        let has_effect = boundary.is_some() || !step.edited.is_empty();
        if has_effect {
            self.idle_steps = 0;
        } else if !step.is_waiting {
            self.idle_steps = self.idle_steps.saturating_add(1);
        }
        if let Some(error) = &step.failure {
            self.turn.failures = self.turn.failures.saturating_add(1);
            self.errors.add(error);
        }
        boundary
    }

    /// Records what a step changed.
    fn effect(&mut self, step: &StepSigns) -> Option<Boundary> {
        if !step.edited.is_empty() {
            count(&mut self.changed_files, &mut self.artifacts, &step.edited);
            self.turn.edits = self.turn.edits.saturating_add(1);
            (self.has_unchecked, self.has_uncommitted) = (true, true);
        }
        if step.committed {
            self.commits = self.commits.saturating_add(1);
            self.turn.commits = self.turn.commits.saturating_add(1);
            self.has_uncommitted = false;
            return Some(Boundary::Commit);
        }
        let (name, ok) = step.check.as_ref()?;
        let was_red = self.last_check.as_ref().is_some_and(|last| !last.ok);
        let was_open = self.has_unchecked;
        self.has_unchecked &= !ok;
        self.last_check = Some(LastCheck {
            name: name.clone(),
            ok: *ok,
        });
        if !ok {
            return None;
        }
        self.errors.clear();
        self.turned_green = was_red;
        (was_red || was_open).then_some(Boundary::Green)
    }
}

/// Counts fingerprints that were not seen before, and remembers a bounded number of them.
fn count(seen: &mut BTreeSet<u64>, total: &mut u32, new: &[u64]) {
    for print in new {
        if seen.contains(print) {
            continue;
        }
        *total = total.saturating_add(1);
        if seen.len() < REMEMBERED {
            seen.insert(*print);
        }
    }
}
