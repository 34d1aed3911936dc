//! What was said and done in a conversation, in words that belong to no host.
//!
//! A live host and a recorded file both end up here, so that everything behind it (derived frames,
//! anchors, summaries, folding) has one source. Reading a host's own format is the fronts'
//! business; what an entry means for the tree is [`crate::decide()`]'s.

use crate::id::{Mark, SessionRef, Timestamp};

/// One thing that was seen of a conversation, in the order in which it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The host's own name of the thing: a message part or a call. The same name is the same thing,
    /// however often it is seen.
    pub id: Option<String>,
    /// The host's message that it is part of, where the host names its messages.
    pub message: Option<String>,
    /// When it happened, where that is known.
    pub at: Option<Timestamp>,
    /// Inside which subagent, where its words are part of the same record.
    pub agent: Option<String>,
    /// What it was.
    pub what: What,
}

/// What was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Words that came in from the user's side.
    User {
        /// Who really spoke.
        voice: Voice,
        /// The words.
        text: String,
    },
    /// Words of the model.
    Assistant {
        /// The words.
        text: String,
    },
    /// The model's recorded reasoning.
    Thinking {
        /// The words.
        text: String,
    },
    /// A tool was called.
    Call(Call),
    /// What a tool answered.
    Answer(Answer),
    /// A file or snippet that the host attached.
    Attached {
        /// The files.
        paths: Vec<String>,
        /// What was shown of them.
        text: String,
    },
    /// A subagent began.
    SubagentStarted {
        /// The host's name of it.
        id: String,
        /// The call that began it.
        call: Option<String>,
        /// What kind of agent it is.
        kind: Option<String>,
        /// What it is to do, in short.
        title: String,
        /// What it was told.
        prompt: String,
    },
    /// A subagent ended.
    SubagentEnded {
        /// The host's name of it.
        id: String,
        /// Whether it reached its end by its own account.
        ok: bool,
        /// What its parent was given.
        text: String,
    },
    /// The host replaced the history by a summary.
    Compacted {
        /// Whether the host did so by itself.
        automatic: bool,
        /// The summary, where it can be read.
        summary: Option<String>,
        /// How large the prompt was before.
        tokens_before: Option<u64>,
    },
    /// The whole to-do list as it is from now on.
    Todos(Vec<Todo>),
    /// A plan that the model proposed.
    Plan {
        /// Its words.
        text: String,
    },
    /// Files that the host itself saw change, whoever changed them.
    Changed {
        /// The files.
        paths: Vec<String>,
    },
    /// The user stopped the work.
    Interrupted {
        /// How, in the host's words.
        how: String,
    },
    /// The conversation began to wait for the user, or waits no longer.
    Waiting {
        /// For what; nothing, once the user has answered.
        on: Option<String>,
    },
    /// The turn came to its ordinary end.
    TurnEnded,
    /// The host gave the conversation a title.
    Titled {
        /// The title.
        title: String,
    },
    /// What a model call cost.
    Usage(Usage),
}

impl Entry {
    /// By what it is known again, unless the host has no name for it. A call and its answer may
    /// share a name, and so may a message and what it cost.
    pub fn mark(&self, session: &SessionRef) -> Option<Mark> {
        let id = self.id.as_deref()?;
        Some(Mark::of(session, self.what.kind(), id))
    }

    /// By what its raw text is known again, which may be kept later than what it came to.
    pub fn text_mark(&self, session: &SessionRef) -> Option<Mark> {
        let id = self.id.as_deref()?;
        let kind = format!("text of {}", self.what.kind());
        Some(Mark::of(session, &kind, id))
    }

    /// By what a message is known again that its session got from the one it is a copy of: nothing
    /// in it happened here.
    pub fn copied_mark(session: &SessionRef, message: &str) -> Mark {
        Mark::of(session, "copied message", message)
    }

    /// Whether a person asks for something.
    pub fn is_prompt(&self) -> bool {
        let voice = match &self.what {
            What::User { voice, .. } => *voice,
            _ => return false,
        };
        self.agent.is_none() && matches!(voice, Voice::Person | Voice::Slash)
    }
}

impl What {
    fn kind(&self) -> &'static str {
        match self {
            Self::User { .. } => "user",
            Self::Assistant { .. } => "assistant",
            Self::Thinking { .. } => "thinking",
            Self::Call(_) => "call",
            Self::Answer(_) => "answer",
            Self::Attached { .. } => "attached",
            Self::SubagentStarted { .. } => "subagent-started",
            Self::SubagentEnded { .. } => "subagent-ended",
            Self::Compacted { .. } => "compacted",
            Self::Todos(_) => "todos",
            Self::Plan { .. } => "plan",
            Self::Changed { .. } => "changed",
            Self::Interrupted { .. } => "interrupted",
            Self::Waiting { .. } => "waiting",
            Self::TurnEnded => "turn-ended",
            Self::Titled { .. } => "titled",
            Self::Usage(_) => "usage",
        }
    }
}

/// Who speaks on the user's side of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Voice {
    /// A person.
    Person,
    /// A person, through a slash command.
    Slash,
    /// A person, at the host's own shell prompt.
    Shell,
    /// The host: reminders, hook output, notifications.
    Host,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The name that its answer refers to.
    pub id: String,
    /// The tool's name in the host.
    pub tool: String,
    /// What the tool does.
    pub kind: CallKind,
    /// The arguments, as JSON text.
    pub arguments: String,
    /// The files that it names, relative to the project where they lie inside it.
    pub paths: Vec<String>,
    /// The command line, where it runs one.
    pub command: Option<String>,
}

/// What a tool does, whatever the host calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallKind {
    /// Reads files.
    Read,
    /// Searches files.
    Search,
    /// Changes a file.
    Edit,
    /// Writes a whole file.
    Write,
    /// Runs a command.
    Execute,
    /// Starts a subagent.
    Delegate,
    /// Keeps the to-do list.
    Todo,
    /// Looks at the web.
    Web,
    /// Asks the user.
    Ask,
    /// Proposes a plan.
    Plan,
    /// One of Flamestack's own tools.
    Stack,
    /// Anything else.
    Other,
}

/// A tool's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The call that it answers.
    pub call: String,
    /// Whether the tool says that it worked.
    pub ok: bool,
    /// The exit code, where a command ran.
    pub exit_code: Option<i32>,
    /// The text.
    pub text: String,
}

/// An item of a to-do list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Todo {
    /// What is to be done.
    pub text: String,
    /// How far it is.
    pub status: TodoStatus,
}

/// How far an item of a to-do list is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Being worked on.
    Active,
    /// Done.
    Done,
    /// No longer wanted.
    Cancelled,
}

/// What a model call cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The model, where it is named.
    pub model: Option<String>,
    /// New tokens of the prompt.
    pub input: u64,
    /// Tokens of the prompt that came from the cache.
    pub cache_read: u64,
    /// Tokens that were put into the cache.
    pub cache_write: u64,
    /// Tokens that the model wrote.
    pub output: u64,
    /// Those of them that were reasoning.
    pub reasoning: u64,
    /// What it cost in millionths of a dollar, where the host says so.
    pub micro_dollars: Option<u64>,
}

impl Usage {
    /// How large the prompt was.
    pub fn prompt(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
    }

    /// Adds what another call cost.
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
