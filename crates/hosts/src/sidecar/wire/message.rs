//! A message of a conversation and what it holds.

use serde::Deserialize;
use serde_json::Value;

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
