//! Texts for a model: `prompt` for a user's message, `prepare` for a whole request.

use serde::{Deserialize, Serialize};

use crate::opencode::message::HostMessage;

/// `prompt`: the user sends a message that is not part of the session yet.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
#[serde(rename_all = "camelCase")]
pub struct PromptParams {
    /// The session.
    pub session: String,
    /// The message.
    #[cfg_attr(test, ts(type = "HostMessage"))]
    pub message: HostMessage,
    /// The agent that is to answer.
    pub agent: Option<String>,
}

/// The answer to `prompt`.
#[derive(Debug, Default, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
pub struct PromptResult {
    /// A text to append to the message for good. Absent if there is nothing new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub append: Option<String>,
}

/// `prepare`: a request to the model is about to be made of these messages.
///
/// Only new messages cross the pipe: `known` is the number of messages at the beginning that are
/// unchanged since the last `prepare`, and `messages` holds the rest.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
#[serde(rename_all = "camelCase")]
pub struct PrepareParams {
    /// The session.
    pub session: String,
    /// Number of messages at the beginning that are unchanged.
    pub known: usize,
    /// The messages after them.
    #[cfg_attr(test, ts(type = "HostMessage[]"))]
    pub messages: Vec<HostMessage>,
    /// The name of the plan that the shim holds.
    pub has: Option<String>,
    /// True if the messages are about to be summarised, not answered.
    #[serde(default)]
    #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
    pub compacting: bool,
    /// The model, if it is known.
    pub model: Option<ModelInfo>,
}

/// A model.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
pub struct ModelInfo {
    /// Its name, after the provider's: `anthropic/claude-sonnet-4-5`.
    pub name: String,
    /// Its limits, once the host has named them.
    pub limit: Option<ModelLimit>,
}

/// A model's limits in tokens, as OpenCode has them; 0 for none.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(default)]
pub struct ModelLimit {
    /// Tokens of prompt and answer.
    #[cfg_attr(test, ts(type = "number"))]
    pub context: u64,
    /// Tokens of the prompt.
    #[cfg_attr(test, ts(optional, as = "Option<f64>"))]
    pub input: u64,
    /// Tokens of the answer.
    #[cfg_attr(test, ts(type = "number"))]
    pub output: u64,
}

/// The answer to `prepare`: the changes to the list of messages.
#[derive(Clone, Debug, Default, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
#[serde(rename_all = "camelCase")]
pub struct RequestPlan {
    /// The sidecar does not know the first messages: ask again with `known: 0`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
    pub resync: bool,
    /// The plan that the shim holds is still good; the rest of this one is empty.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
    pub same: bool,
    /// The name of the plan: equal names mean equal plans.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(test, ts(optional, as = "Option<String>"))]
    pub plan: String,
    /// Messages to drop.
    pub drop: Vec<String>,
    /// Text parts to remove from a summary, because Flamestack added them.
    pub strip: Vec<String>,
    /// Text parts to replace in a summary.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, ts(optional, as = "Option<Vec<TextReplacement>>"))]
    pub rewrite: Vec<TextReplacement>,
    /// Texts to insert before a message, as user messages.
    pub insert: Vec<Insertion>,
    /// The end of the system prompt; absent for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The end of the newest user message, in this request only; absent for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail: Option<String>,
}

/// A new text for a text part.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TextReplacement {
    /// The part.
    pub part: String,
    /// Its new text.
    pub text: String,
}

/// A text between two messages.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Insertion {
    /// The message after it.
    pub before: String,
    /// The id of the part, the same every time.
    pub id: String,
    /// The text.
    pub text: String,
}
