//! OpenCode's formats, as far as they are read. Unknown fields are ignored, missing ones tolerated.

use serde::Deserialize;
use serde_json::Value;

/// A session.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct WireSession {
    pub(super) id: String,
    #[serde(default, rename = "parentID")]
    pub(super) parent: Option<String>,
    #[serde(default)]
    pub(super) metadata: Option<Value>,
    #[serde(default)]
    pub(super) time: WireTime,
}

/// Times, in milliseconds.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct WireTime {
    #[serde(default)]
    pub(super) created: Option<i64>,
    #[serde(default)]
    pub(super) completed: Option<i64>,
}

/// A message with its parts.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct WireMessage {
    pub(super) info: WireInfo,
    #[serde(default)]
    pub(super) parts: Vec<WirePart>,
}

/// A message.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct WireInfo {
    pub(super) id: String,
    pub(super) role: String,
    #[serde(default)]
    pub(super) time: WireTime,
    #[serde(default)]
    pub(super) error: Option<WireFault>,
    #[serde(default)]
    pub(super) finish: Option<String>,
    /// True, or an object on user messages: only the summary of a compaction has `true`.
    #[serde(default)]
    pub(super) summary: Option<Value>,
    #[serde(default)]
    pub(super) cost: Option<f64>,
    #[serde(default)]
    pub(super) tokens: Option<WireTokens>,
}

/// An error of a message.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct WireFault {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) data: Value,
}

/// Tokens of a message.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct WireTokens {
    #[serde(default)]
    pub(super) input: f64,
    #[serde(default)]
    pub(super) output: f64,
    #[serde(default)]
    pub(super) reasoning: f64,
    #[serde(default)]
    pub(super) cache: WireCache,
}

/// Cached tokens.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct WireCache {
    #[serde(default)]
    pub(super) read: f64,
    #[serde(default)]
    pub(super) write: f64,
}

/// A part of a message.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct WirePart {
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) synthetic: bool,
    #[serde(default)]
    pub(super) ignored: bool,
    #[serde(default)]
    pub(super) tool: Option<String>,
    #[serde(default)]
    pub(super) state: Option<WireToolState>,
    /// Files of a `patch` part.
    #[serde(default)]
    pub(super) files: Option<Value>,
}

/// State of a tool call.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct WireToolState {
    #[serde(default)]
    pub(super) status: String,
    #[serde(default)]
    pub(super) input: Value,
}

/// A permission that a session waits for.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct WirePermission {
    pub(super) id: String,
    #[serde(rename = "sessionID")]
    pub(super) session: String,
    #[serde(default)]
    pub(super) permission: String,
    #[serde(default)]
    pub(super) patterns: Vec<String>,
}

/// Questions that a session waits for.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct WireQuestions {
    pub(super) id: String,
    #[serde(rename = "sessionID")]
    pub(super) session: String,
    #[serde(default)]
    pub(super) questions: Vec<WireQuestion>,
}

/// A question.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct WireQuestion {
    #[serde(default)]
    pub(super) question: String,
    #[serde(default)]
    pub(super) options: Vec<WireOption>,
}

/// A possible answer.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct WireOption {
    #[serde(default)]
    pub(super) label: String,
}

/// Answer of `/global/health`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct WireHealth {
    #[serde(default)]
    pub(super) healthy: bool,
    #[serde(default)]
    pub(super) version: String,
}
