//! Summaries that a host has made: `summarizing` before one, `written` after it.

use serde::{Deserialize, Serialize};

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
