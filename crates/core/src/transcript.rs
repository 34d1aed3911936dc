//! Host-independent transcripts: what was said and done in a session.
//!
//! A live host and a recorded file both end up here, so that everything else (derived frames,
//! anchors, summaries, folding) has one source. Fronts read a host's own format; the engine's ingest
//! derives events from entries.

pub mod turns;

use crate::id::{Fingerprint, SessionRef, Timestamp};
use crate::names::enum_names;
use crate::text::Rewrite;

/// One entry of a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The host's own id of a message part or a call. The same id means the same item, however often it
    /// is reported.
    pub id: Option<String>,
    /// The host's message that it is part of, where the host names its messages.
    pub message: Option<String>,
    /// Time, where it is known.
    pub at: Option<Timestamp>,
    /// The subagent inside of which it happened, where its words are part of the same record.
    pub agent: Option<String>,
    /// Content.
    pub kind: EntryKind,
}

impl From<EntryKind> for Entry {
    /// Makes an entry of which only the content is known.
    fn from(kind: EntryKind) -> Self {
        Self {
            id: None,
            message: None,
            at: None,
            agent: None,
            kind,
        }
    }
}

/// Content of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// Text from the user's side.
    User {
        /// The actual speaker.
        speaker: Speaker,
        /// The text.
        text: String,
    },
    /// Text of the model.
    Assistant {
        /// The text.
        text: String,
    },
    /// Recorded reasoning of the model.
    Thinking {
        /// The text.
        text: String,
    },
    /// A tool call.
    Call(Call),
    /// A tool call that runs. The host reports it a second time once it has an answer.
    Begun(Call),
    /// The answer to a tool call.
    Answer(Answer),
    /// A file or snippet that the host attached.
    Attached {
        /// The files.
        paths: Vec<String>,
        /// The attached text.
        text: String,
    },
    /// A subagent started.
    SubagentStarted {
        /// The host's id of it.
        id: String,
        /// The call that started it.
        call: Option<String>,
        /// Kind of agent.
        kind: Option<String>,
        /// Its goal, shortened.
        title: String,
        /// Its instructions.
        prompt: String,
    },
    /// A subagent ended.
    SubagentEnded {
        /// The host's id of it.
        id: String,
        /// True if it finished, by its own account.
        ok: bool,
        /// Its output for the parent.
        text: String,
    },
    /// The host replaced the history by a summary.
    Compacted {
        /// True if the host started the compaction, not the user.
        automatic: bool,
        /// The summary, where it can be read.
        summary: Option<String>,
        /// Size of the prompt before, in tokens.
        tokens_before: Option<u64>,
    },
    /// The whole to-do list after a change.
    Todos(Vec<Todo>),
    /// A plan that the model proposed.
    Plan {
        /// The text.
        text: String,
    },
    /// Files that the host saw change, whichever process changed them.
    Changed {
        /// The files.
        paths: Vec<String>,
    },
    /// The user interrupted the work.
    Interrupted {
        /// The host's description of the interruption.
        how: String,
    },
    /// An error ended the turn, such as a request that the provider refused.
    Failed {
        /// The host's description of the error.
        why: String,
    },
    /// The session began or stopped waiting for the user.
    Waiting {
        /// Object of the wait; none once the user has answered.
        on: Option<String>,
    },
    /// The turn ended normally.
    TurnEnded,
    /// The host gave the session a title.
    Titled {
        /// The title.
        title: String,
    },
    /// Cost of a model call.
    Usage(Usage),
}

impl Entry {
    /// Returns the fingerprint of the entry, unless the host has no id for it. A call and its answer
    /// may share an id, and so may a message and its cost.
    pub fn mark(&self, session: &SessionRef) -> Option<Fingerprint> {
        let id = self.id.as_deref()?;
        Some(Fingerprint::of(session, self.kind.name(), id))
    }

    /// Returns the fingerprint of its raw text, which may be stored later than its events.
    pub fn text_mark(&self, session: &SessionRef) -> Option<Fingerprint> {
        let id = self.id.as_deref()?;
        let kind = format!("text of {}", self.kind.name());
        Some(Fingerprint::of(session, &kind, id))
    }

    /// Returns the fingerprint of a message that a fork got from the original session.
    pub fn copied_mark(session: &SessionRef, message: &str) -> Fingerprint {
        Fingerprint::of(session, "copied message", message)
    }

    /// Returns true for a prompt of the user.
    pub fn is_prompt(&self) -> bool {
        let speaker = match &self.kind {
            EntryKind::User { speaker, .. } => *speaker,
            _ => return false,
        };
        self.agent.is_none() && matches!(speaker, Speaker::Person | Speaker::Slash)
    }
}

impl Rewrite for Entry {
    /// Visits every text, and the id, which may repeat one. Other ids of the host stay.
    fn rewrite(&mut self, change: &mut dyn FnMut(&str) -> Option<String>) {
        let mut visit = |text: &mut String| {
            if let Some(changed) = change(text) {
                *text = changed;
            }
        };
        self.id.iter_mut().for_each(&mut visit);
        match &mut self.kind {
            EntryKind::User { text, .. }
            | EntryKind::Assistant { text }
            | EntryKind::Thinking { text }
            | EntryKind::Answer(Answer { text, .. })
            | EntryKind::SubagentEnded { text, .. }
            | EntryKind::Plan { text }
            | EntryKind::Interrupted { how: text }
            | EntryKind::Failed { why: text }
            | EntryKind::Titled { title: text } => visit(text),
            EntryKind::Call(call) | EntryKind::Begun(call) => {
                visit(&mut call.tool);
                visit(&mut call.arguments);
                call.paths
                    .iter_mut()
                    .chain(&mut call.command)
                    .for_each(visit);
            }
            EntryKind::Attached { paths, text } => {
                paths.iter_mut().chain([text]).for_each(visit);
            }
            EntryKind::SubagentStarted {
                kind,
                title,
                prompt,
                ..
            } => kind.iter_mut().chain([title, prompt]).for_each(visit),
            EntryKind::Compacted { summary: text, .. } | EntryKind::Waiting { on: text } => {
                text.iter_mut().for_each(visit);
            }
            EntryKind::Todos(items) => {
                items.iter_mut().map(|item| &mut item.text).for_each(visit);
            }
            EntryKind::Changed { paths } => paths.iter_mut().for_each(visit),
            EntryKind::Usage(usage) => usage.model.iter_mut().for_each(visit),
            EntryKind::TurnEnded => {}
        }
    }
}

impl EntryKind {
    fn name(&self) -> &'static str {
        match self {
            Self::User { .. } => "user",
            Self::Assistant { .. } => "assistant",
            Self::Thinking { .. } => "thinking",
            Self::Call(_) => "call",
            Self::Begun(_) => "begun",
            Self::Answer(_) => "answer",
            Self::Attached { .. } => "attached",
            Self::SubagentStarted { .. } => "subagent-started",
            Self::SubagentEnded { .. } => "subagent-ended",
            Self::Compacted { .. } => "compacted",
            Self::Todos(_) => "todos",
            Self::Plan { .. } => "plan",
            Self::Changed { .. } => "changed",
            Self::Interrupted { .. } => "interrupted",
            Self::Failed { .. } => "failed",
            Self::Waiting { .. } => "waiting",
            Self::TurnEnded => "turn-ended",
            Self::Titled { .. } => "titled",
            Self::Usage(_) => "usage",
        }
    }
}

enum_names! {
    /// Speaker on the user's side of a session.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Speaker {
        /// The user.
        Person = "person",
        /// The user, through a slash command.
        Slash = "slash",
        /// The user, at the host's own shell prompt.
        Shell = "shell",
        /// The host: reminders, hook output, notifications.
        Host = "host",
    }
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Id that its answer refers to.
    pub id: String,
    /// Name of the tool in the host.
    pub tool: String,
    /// Kind of tool.
    pub kind: CallKind,
    /// The arguments, as JSON text.
    pub arguments: String,
    /// Files that it names, relative to the project where they are inside it.
    pub paths: Vec<String>,
    /// The command line, where it runs one.
    pub command: Option<String>,
}

enum_names! {
    /// Kind of tool, independent of its name in the host.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum CallKind {
        /// Reads files.
        Read = "read",
        /// Searches files.
        Search = "search",
        /// Changes a file.
        Edit = "edit",
        /// Writes a whole file.
        Write = "write",
        /// Runs a command.
        Execute = "execute",
        /// Starts a subagent.
        Delegate = "delegate",
        /// Keeps the to-do list.
        Todo = "todo",
        /// Looks at the web.
        Web = "web",
        /// Asks the user.
        Ask = "ask",
        /// Proposes a plan.
        Plan = "plan",
        /// One of Flamestack's own tools.
        Stack = "stack",
        /// Anything else.
        Other = "other",
    }
}

/// A tool's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The call that it answers.
    pub call: String,
    /// True if the tool says that it succeeded.
    pub ok: bool,
    /// The exit code, where a command ran.
    pub exit_code: Option<i32>,
    /// The text.
    pub text: String,
}

/// An item of a to-do list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Todo {
    /// The text.
    pub text: String,
    /// Its status.
    pub status: TodoStatus,
}

enum_names! {
    /// Status of an item of a to-do list.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum TodoStatus {
        /// Not started.
        Pending = "pending",
        /// Being worked on.
        Active = "active",
        /// Done.
        Done = "done",
        /// No longer wanted.
        Cancelled = "cancelled",
    }
}

/// Cost of a model call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The model, where it is named.
    pub model: Option<String>,
    /// New tokens of the prompt.
    pub input: u64,
    /// Tokens of the prompt that came from the cache.
    pub cache_read: u64,
    /// Tokens that were written to the cache.
    pub cache_write: u64,
    /// Tokens that the model wrote.
    pub output: u64,
    /// Those of them that were reasoning.
    pub reasoning: u64,
    /// Cost in millionths of a dollar, where the host says so.
    pub micro_dollars: Option<u64>,
}

impl Usage {
    /// Returns the size of the prompt.
    pub fn prompt(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
    }

    /// Adds the cost of another call.
    pub fn add(&mut self, other: &Self) {
        if other.model.is_some() {
            self.model.clone_from(&other.model);
        }
        for (sum, more) in [
            (&mut self.input, other.input),
            (&mut self.cache_read, other.cache_read),
            (&mut self.cache_write, other.cache_write),
            (&mut self.output, other.output),
            (&mut self.reasoning, other.reasoning),
        ] {
            *sum = sum.saturating_add(more);
        }
        if let Some(more) = other.micro_dollars {
            let sum = self.micro_dollars.unwrap_or_default();
            self.micro_dollars = Some(sum.saturating_add(more));
        }
    }
}
