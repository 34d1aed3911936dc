//! Who is there, and what is on offer: `hello` and its answer.

use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    /// The shim would use a direct line.
    #[serde(default)]
    #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
    pub direct: bool,
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
    /// A direct line that was laid because the shim would use one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub direct: Option<Direct>,
}

/// Two named pipes, to be written and read without waiting.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Direct {
    /// Where the shim writes what it would write to standard input, once it has said `direct`.
    pub questions: String,
    /// Where answers to `prepare` come in addition to standard output.
    pub answers: String,
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
