//! The greeting: `hello` and its answer.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `hello`: the host introduces itself.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct HelloParams {
    /// The version of the protocol that the shim speaks.
    pub protocol: u32,
    /// The host program, such as `opencode`.
    pub host: String,
    /// Its version, if it is known.
    pub host_version: Option<String>,
    /// The directory that the host works in.
    pub directory: String,
    /// The shim's own version.
    pub shim_version: Option<String>,
    /// True if the host does not say which session started which.
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
    /// The tools that are offered.
    pub tools: Vec<ToolDeclaration>,
    /// Commands for the user.
    pub commands: Vec<CommandDeclaration>,
    /// The place of the header.
    pub placement: Placement,
    /// The session in which a planned frame is worked on.
    pub isolation: Isolation,
    /// The author of the summaries.
    pub compaction: SummaryMode,
    /// Messages to show to the user, such as settings that are ignored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<String>>"))]
    pub notices: Vec<String>,
}

/// A tool that is offered.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ToolDeclaration {
    /// Its name.
    pub name: String,
    /// Its description for a model.
    pub description: String,
    /// Its arguments, as JSON Schema.
    #[cfg_attr(test, ts(type = "Record<string, unknown>"))]
    pub schema: Value,
}

/// A command for the user.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CommandDeclaration {
    /// Its name, without the slash.
    pub name: String,
    /// Its description for the user.
    pub description: String,
    /// The prompt for the model; `$ARGUMENTS` is the text after the name.
    pub template: String,
}

/// The place of the context in a request.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// A header that stays, and updates in user messages.
    Auto,
    /// All of it in the system prompt of each request.
    System,
    /// All of it in the newest user message of each request.
    Message,
}

/// The session in which a planned frame is worked on.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// The same session.
    Inline,
    /// A new session.
    Session,
}

/// The author of the summaries.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum SummaryMode {
    /// The host, with the facts that it lost added.
    Assist,
    /// Flamestack: the host need not ask a model.
    Own,
}
