//! What a model does: calls of our tools, and work that it hands over.

use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    /// Whether it ended by itself, and well.
    pub ok: bool,
    /// Whether the user stopped it.
    #[serde(default)]
    #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
    pub stopped: bool,
    /// Its last words, or what went wrong.
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
