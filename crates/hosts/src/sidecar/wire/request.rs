//! What goes to a model: `prompt` for the user's words, `prepare` for a request as a whole.

use serde::{Deserialize, Serialize};

use super::message::Message;

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
