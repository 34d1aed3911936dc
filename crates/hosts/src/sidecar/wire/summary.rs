//! Summaries that a host has made: `summarize` before one, `summarized` after it.

use serde::{Deserialize, Serialize};

/// `summarize`: the host is about to have a session summarised.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SummarizeParams {
    /// The session.
    pub session: String,
}

/// The answer to `summarize`.
#[derive(Debug, Default, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
pub struct SummarizeResult {
    /// Further instructions for the summariser.
    pub instructions: Vec<String>,
    /// A notice for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// `summarized`: the model has written a summary.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SummaryText {
    /// The session.
    pub session: String,
    /// The message.
    pub message: String,
    /// The summary.
    pub text: String,
}

/// The answer to `summarized`.
#[derive(Debug, Default, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
pub struct SummaryReplacement {
    /// The text that replaces the summary; absent if it stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// A notice for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}
