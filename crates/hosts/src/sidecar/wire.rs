//! What crosses the pipe between a host's shim and the sidecar.
//!
//! These are the protocol's own types; `docs/protocol.md` tells the story and the TypeScript
//! declarations of the shims are made from them. They are converted at the edge and never handed
//! further in.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Which version of the protocol this is. A shim that speaks another one is told so.
pub const PROTOCOL: u32 = 1;

/// `hello`: who is there.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    /// The version of the protocol that the shim speaks.
    pub protocol: u32,
    /// The host program, such as `opencode`.
    pub host: String,
    /// Its version, where it says so.
    #[serde(default)]
    pub host_version: Option<String>,
    /// The directory that the host works in.
    pub directory: String,
    /// The shim's own version.
    #[serde(default)]
    pub shim_version: Option<String>,
    /// The host does not say which conversation started which.
    #[serde(default)]
    #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
    pub without_parents: bool,
}

/// The answer to `hello`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Welcome {
    /// The version of the protocol that is spoken from now on.
    pub protocol: u32,
    /// The version of the sidecar.
    pub version: String,
    /// The tools on offer.
    pub tools: Vec<ToolDeclaration>,
    /// Commands that a person may type.
    pub commands: Vec<CommandDeclaration>,
    /// Where a header goes.
    pub placement: Placement,
    /// How a planned frame is taken up.
    pub isolation: Isolation,
    /// Whose summary a compacted conversation goes on with.
    pub compaction: Summaries,
}

/// Whose summary a compacted conversation goes on with.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum Summaries {
    /// The host's, with what it lost behind it.
    Assist,
    /// Our own: the host need not ask a model for one.
    Own,
}

/// Where what a model is told goes.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// A header that stays, and updates behind it.
    Auto,
    /// Everything, in the system prompt of each request.
    System,
    /// Everything, in the newest user message.
    Message,
}

/// How a planned frame is taken up.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// In the same conversation.
    Inline,
    /// In a conversation of its own.
    Session,
}

/// A tool on offer.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ToolDeclaration {
    /// Its name.
    pub name: String,
    /// What it does, for a model.
    pub description: String,
    /// What it takes, as JSON Schema.
    #[cfg_attr(test, ts(type = "Record<string, unknown>"))]
    pub schema: Value,
}

/// A command that a person may type.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CommandDeclaration {
    /// Its name, without the slash.
    pub name: String,
    /// What it does, for a person.
    pub description: String,
    /// What the model is told; `$ARGUMENTS` stands for what was typed behind the name.
    pub template: String,
}

/// A message of a conversation.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// The host's name of it.
    pub id: String,
    /// Whose it is.
    pub role: Role,
    /// When it began, in milliseconds since 1970.
    #[serde(default)]
    #[cfg_attr(test, ts(type = "number", optional))]
    pub at: Option<i64>,
    /// What it holds, in order.
    pub parts: Vec<Part>,
    /// Whether it is a summary that replaced what came before it.
    #[serde(default)]
    #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
    pub summary: bool,
    /// What it cost, once it is complete.
    #[serde(default)]
    #[cfg_attr(test, ts(optional))]
    pub usage: Option<Usage>,
    /// What went wrong, if something did: `aborted` when the user stopped it.
    #[serde(default)]
    #[cfg_attr(test, ts(optional))]
    pub error: Option<String>,
}

/// Whose a message is.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The user's side.
    User,
    /// The model's side.
    Assistant,
}

/// A part of a message. What a shim does not know it leaves out.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(
    tag = "kind",
    rename_all = "lowercase",
    rename_all_fields = "camelCase"
)]
pub enum Part {
    /// Words.
    Text {
        /// The host's name of it.
        id: String,
        /// The words.
        text: String,
        /// Whether the host or a plugin put them there.
        #[serde(default)]
        #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
        synthetic: bool,
    },
    /// Recorded reasoning.
    Thinking {
        /// The host's name of it.
        id: String,
        /// The words.
        text: String,
    },
    /// A tool call with its answer, once there is one.
    Call {
        /// The host's name of the part.
        id: String,
        /// The name that the model gave the call.
        call: String,
        /// The tool.
        tool: String,
        /// How far it is.
        state: CallState,
        /// The arguments.
        #[serde(default)]
        #[cfg_attr(test, ts(type = "unknown"))]
        input: Value,
        /// What the tool answered, or the error's text.
        #[serde(default)]
        #[cfg_attr(test, ts(optional))]
        output: Option<String>,
        /// The exit code of a command.
        #[serde(default)]
        #[cfg_attr(test, ts(optional))]
        exit_code: Option<i32>,
        /// Files that the tool changed, by its own account.
        #[serde(default)]
        #[cfg_attr(test, ts(optional, as = "Option<Vec<String>>"))]
        changed: Vec<String>,
        /// The conversation of the subagent that it started.
        #[serde(default)]
        #[cfg_attr(test, ts(optional))]
        session: Option<String>,
        /// When it began to run, in milliseconds since 1970.
        #[serde(default)]
        #[cfg_attr(test, ts(type = "number", optional))]
        began: Option<i64>,
        /// When it ended.
        #[serde(default)]
        #[cfg_attr(test, ts(type = "number", optional))]
        ended: Option<i64>,
    },
    /// Files that the host itself saw change.
    Changed {
        /// The host's name of it.
        id: String,
        /// The files.
        paths: Vec<String>,
    },
    /// A request to replace what came before by a summary.
    Compaction {
        /// The host's name of it.
        id: String,
        /// Whether the host decided so itself.
        automatic: bool,
    },
}

/// How far a call is.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum CallState {
    /// It runs, or will.
    Running,
    /// It answered.
    Completed,
    /// It failed.
    Error,
}

/// What a model call cost.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// New tokens of the prompt.
    #[cfg_attr(test, ts(type = "number"))]
    pub input: u64,
    /// Tokens that the model wrote.
    #[cfg_attr(test, ts(type = "number"))]
    pub output: u64,
    /// Those of them that were reasoning.
    #[cfg_attr(test, ts(type = "number"))]
    pub reasoning: u64,
    /// Tokens of the prompt that came from the cache.
    #[cfg_attr(test, ts(type = "number"))]
    pub cache_read: u64,
    /// Tokens that were put into the cache.
    #[cfg_attr(test, ts(type = "number"))]
    pub cache_write: u64,
    /// What it cost, in dollars.
    pub cost: f64,
}

/// `observe`: things that happened, in order. It is a notification: nobody waits for it.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Observe {
    /// The conversation.
    pub session: String,
    /// What happened.
    pub happenings: Vec<Happening>,
}

/// Something that happened in a conversation.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(
    tag = "kind",
    rename_all = "lowercase",
    rename_all_fields = "camelCase"
)]
pub enum Happening {
    /// The conversation was made or changed.
    Session(SessionFacts),
    /// A message or a part of it reached its final form.
    Message(Message),
    /// A message left the conversation for good.
    Removed {
        /// Which.
        message: String,
    },
    /// The conversation was wound back to before a message; `message` absent means: forward again.
    Reverted {
        /// The first message that counts no longer.
        #[serde(default)]
        #[cfg_attr(test, ts(optional))]
        message: Option<String>,
    },
    /// The conversation is a copy of another one, which has these messages.
    Copied {
        /// The other one.
        from: String,
        /// Its messages, in order.
        messages: Vec<Original>,
    },
    /// The whole to-do list as it is from now on.
    Todos {
        /// Its items.
        items: Vec<TodoItem>,
    },
    /// The user stopped the work.
    Interrupted,
    /// The conversation waits for the user; `on` absent means: no longer.
    Waiting {
        /// For what.
        #[serde(default)]
        #[cfg_attr(test, ts(optional))]
        on: Option<String>,
    },
    /// The turn is over, or the host rests for another reason.
    Idle,
    /// A summary replaced what came before.
    Compacted,
    /// The conversation was deleted.
    Deleted,
    /// How the shim's own work went, by hook.
    Shim {
        /// One entry a hook.
        hooks: Vec<HookFigures>,
    },
}

/// A message of the conversation that another one is a copy of, as far as its copy is known by it.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Original {
    /// The host's name of it.
    pub id: String,
    /// Whose it is.
    pub role: Role,
    /// When it began, in milliseconds since 1970; its copy says the same.
    #[cfg_attr(test, ts(type = "number"))]
    pub at: i64,
}

/// What is known of a conversation; what is absent is unchanged.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct SessionFacts {
    /// Its title.
    #[cfg_attr(test, ts(optional))]
    pub title: Option<String>,
    /// The conversation that started it.
    #[cfg_attr(test, ts(optional))]
    pub parent: Option<String>,
    /// The conversation that it is a copy of.
    #[cfg_attr(test, ts(optional))]
    pub copy_of: Option<String>,
    /// The directory it works in.
    #[cfg_attr(test, ts(optional))]
    pub directory: Option<String>,
    /// The version of the host that it runs in.
    #[cfg_attr(test, ts(optional))]
    pub host_version: Option<String>,
    /// The agent that works in it.
    #[cfg_attr(test, ts(optional))]
    pub agent: Option<String>,
    /// The planned frame that it was made for.
    #[cfg_attr(test, ts(optional))]
    pub frame: Option<String>,
    /// Lines added, lines deleted, files changed, by the host's account.
    #[cfg_attr(test, ts(type = "[number, number, number]", optional))]
    pub diff: Option<(u64, u64, u64)>,
}

/// An item of a to-do list.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TodoItem {
    /// What is to be done.
    pub text: String,
    /// `pending`, `in_progress`, `completed` or `cancelled`.
    pub status: String,
}

/// How often a hook ran, failed, and how long it took.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct HookFigures {
    /// The host's name of the hook.
    pub name: String,
    /// How often it ran.
    #[cfg_attr(test, ts(type = "number"))]
    pub calls: u64,
    /// How often it failed or missed its deadline.
    #[cfg_attr(test, ts(type = "number"))]
    pub failures: u64,
    /// Milliseconds that it took in all.
    pub total_ms: f64,
    /// Milliseconds of the slowest run.
    pub slowest_ms: f64,
}

/// `prompt`: the user sends a message that is not yet part of the conversation.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Prompt {
    /// The conversation.
    pub session: String,
    /// The message.
    pub message: Message,
    /// The agent that is to answer.
    #[serde(default)]
    #[cfg_attr(test, ts(optional))]
    pub agent: Option<String>,
}

/// The answer to `prompt`.
#[derive(Debug, Default, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Prompted {
    /// Words to put behind the user's own, to stay there. Absent where there is nothing to tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub append: Option<String>,
}

/// `prepare`: a request to the model is about to be made of these messages.
///
/// Only what is new crosses the pipe: `known` says how many of the messages at the beginning are
/// the ones of the last `prepare`, unchanged, and `messages` holds the rest.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Prepare {
    /// The conversation.
    pub session: String,
    /// How many messages at the beginning are unchanged.
    pub known: usize,
    /// The messages behind them.
    pub messages: Vec<Message>,
    /// The plan that the shim holds, by its name, if it holds one.
    #[serde(default)]
    #[cfg_attr(test, ts(optional))]
    pub has: Option<String>,
    /// Whether the messages are about to be summarised rather than answered.
    #[serde(default)]
    #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
    pub compacting: bool,
    /// The model, where the host says.
    #[serde(default)]
    #[cfg_attr(test, ts(optional))]
    pub model: Option<Model>,
}

/// A model.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// Its name, with the provider's in front.
    pub name: String,
    /// How many tokens it can take, by the host's account.
    #[serde(default)]
    #[cfg_attr(test, ts(type = "number", optional))]
    pub window: Option<u64>,
}

/// The answer to `prepare`: what to change in the list of messages, and nothing else.
#[derive(Clone, Debug, Default, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Prepared {
    /// The sidecar does not know the messages it is said to know: ask again with `known: 0`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
    pub resync: bool,
    /// The plan that the shim holds is still good, and the rest of this is left empty.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
    pub same: bool,
    /// A name for all of the rest: the same name, the same plan.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(test, ts(optional, as = "Option<String>"))]
    pub plan: String,
    /// Messages to leave out.
    pub drop: Vec<String>,
    /// Text parts to leave out: what Flamestack added itself, before a summary is made.
    pub strip: Vec<String>,
    /// Text parts that say something else to a summariser.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<Rewriting>>"))]
    pub rewrite: Vec<Rewriting>,
    /// Text to put in front of a message, as a message of the user's side.
    pub insert: Vec<Insertion>,
    /// What the system prompt ends with; absent for nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub system: Option<String>,
    /// What the newest user message ends with, in this request only; absent for nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub tail: Option<String>,
}

/// A text part with other words.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Rewriting {
    /// Which.
    pub part: String,
    /// What it says instead.
    pub text: String,
}

/// Text at a place between messages.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Insertion {
    /// In front of which message.
    pub before: String,
    /// A name for the part, the same every time.
    pub id: String,
    /// The text.
    pub text: String,
}

/// `call`: a model calls one of the tools.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Call {
    /// The conversation.
    pub session: String,
    /// The message that holds the call.
    #[serde(default)]
    #[cfg_attr(test, ts(optional))]
    pub message: Option<String>,
    /// The tool.
    pub name: String,
    /// The arguments, unchecked.
    #[serde(default)]
    #[cfg_attr(test, ts(type = "unknown"))]
    pub arguments: Value,
}

/// The answer to `call`.
#[derive(Debug, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Called {
    /// What the model is told.
    pub output: String,
    /// Whether the tool refused.
    pub refused: bool,
    /// A few words for a person.
    pub title: String,
    /// A conversation to be made for a planned frame, where frames are conversations.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub delegate: Option<Delegation>,
    /// Whether the conversation is to be summarised now: something waits for that.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
    pub summarize: bool,
}

/// A conversation to be made for a planned frame.
#[derive(Debug, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Delegation {
    /// The frame.
    pub frame: String,
    /// The title of the conversation.
    pub title: String,
    /// Its first prompt.
    pub prompt: String,
}

/// `returned`: a conversation that was made for a frame has ended.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Returned {
    /// The conversation that asked for it.
    pub session: String,
    /// The frame.
    pub frame: String,
    /// The conversation that was made.
    pub child: String,
    /// Whether it ended by itself.
    pub ok: bool,
    /// Its last words.
    pub text: String,
}

/// `delegating`: a model is about to start a subagent.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Delegating {
    /// The conversation.
    pub session: String,
    /// The message that holds the call.
    #[serde(default)]
    #[cfg_attr(test, ts(optional))]
    pub message: Option<String>,
    /// What kind of agent it is to be.
    #[serde(default)]
    #[cfg_attr(test, ts(optional))]
    pub agent: Option<String>,
    /// What it is told.
    pub prompt: String,
}

/// The answer to `delegating`.
#[derive(Debug, Default, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Delegated {
    /// The same is under way already: what the model is told instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub running: Option<String>,
}

/// `summarizing`: the host is about to have a conversation summarised.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Summarizing {
    /// The conversation.
    pub session: String,
}

/// The answer to `summarizing`.
#[derive(Debug, Default, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Instructions {
    /// What to tell the summariser besides.
    pub instructions: Vec<String>,
    /// What to tell the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub notice: Option<String>,
}

/// `written`: the model has written a text.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Written {
    /// The conversation.
    pub session: String,
    /// The message.
    pub message: String,
    /// Whether it is a summary.
    pub summary: bool,
    /// The text.
    pub text: String,
}

/// The answer to `written`.
#[derive(Debug, Default, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Rewritten {
    /// What is to stand there instead; absent where it stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub text: Option<String>,
    /// What to tell the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub notice: Option<String>,
}

/// `show`: something for a person to look at.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Show {
    /// The conversation, if one is open.
    #[serde(default)]
    #[cfg_attr(test, ts(optional))]
    pub session: Option<String>,
    /// `status` or `tree`.
    pub what: String,
}

/// The answer to `show`.
#[derive(Debug, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Shown {
    /// The text.
    pub text: String,
}
