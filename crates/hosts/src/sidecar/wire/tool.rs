//! Calls of our tools, and work that a model delegates.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `call`: a model calls one of the tools.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
#[serde(rename_all = "camelCase")]
pub struct CallParams {
    /// The session.
    pub session: String,
    /// The message that holds the call.
    pub message: Option<String>,
    /// The tool.
    pub name: String,
    /// The arguments, unchecked.
    #[serde(default)]
    #[cfg_attr(test, ts(type = "unknown"))]
    pub arguments: Value,
}

/// The answer to `call`.
#[derive(Debug, Default, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// The answer for the model.
    pub output: String,
    /// True if the tool refused.
    pub refused: bool,
    /// A short title for the user.
    pub title: String,
    /// A session to be made for a planned frame, where frames are sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delegate: Option<Delegation>,
    /// True if the session is to be summarised now, because a frame waits for that.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
    pub summarize: bool,
}

/// A session to be made for a planned frame.
#[derive(Debug, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Delegation {
    /// The frame.
    pub frame: String,
    /// The title of the session.
    pub title: String,
    /// Its first prompt.
    pub prompt: String,
}

/// `childEnded`: a session that was made for a frame has ended.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ChildResult {
    /// The session that asked for it.
    pub session: String,
    /// The frame.
    pub frame: String,
    /// The session that was made.
    pub child: String,
    /// True if it ended without being stopped and without an error.
    pub ok: bool,
    /// True if the user stopped it.
    #[serde(default)]
    #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
    pub stopped: bool,
    /// Its last text, or its error.
    pub text: String,
}

/// `delegate`: a model is about to start a subagent.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
pub struct DelegateParams {
    /// The session.
    pub session: String,
    /// The message that holds the call.
    pub message: Option<String>,
    /// The kind of agent.
    pub agent: Option<String>,
    /// Its prompt.
    pub prompt: String,
    /// The maximum depth of subagents that the user gave the host.
    #[cfg_attr(test, ts(type = "number", optional))]
    pub limit: Option<u64>,
}

/// The answer to `delegate`.
#[derive(Debug, Default, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
pub struct DelegateResult {
    /// The answer for the model, if the same task is under way already: the call is not made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<String>,
    /// The answer for the model, if the delegation is too deep: the call is not made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// A notice for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}
