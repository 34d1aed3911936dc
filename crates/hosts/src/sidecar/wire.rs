//! The types that cross the pipe between a host's shim and the sidecar.
//!
//! These are the protocol's own types; `docs/protocol.md` describes them, and the TypeScript
//! declarations of the shims are generated from them. They are converted at the edge.

mod event;
mod hello;
mod prompt;
mod summary;
mod tool;

use serde::{Deserialize, Serialize};

pub use crate::opencode::message::{HostMessage, HostRole};
pub use event::{HookStats, HostEvent, ObserveParams, OriginalMessage, SessionFacts, TodoItem};
pub use hello::{
    CommandDeclaration, HelloParams, Isolation, Placement, SummaryMode, ToolDeclaration, Welcome,
};
pub use prompt::{
    Insertion, ModelInfo, ModelLimit, PrepareParams, PromptParams, PromptResult, RequestPlan,
    TextReplacement,
};
pub use summary::{SummarizeParams, SummarizeResult, SummaryReplacement, SummaryText};
pub use tool::{CallParams, ChildResult, DelegateParams, DelegateResult, Delegation, ToolResult};

/// Version of the protocol. A shim that speaks another one is refused with a hint.
pub const PROTOCOL: u32 = 2;

/// A request or notification of a session. `hello` is not among them: it comes before any session.
#[derive(Debug, Deserialize)]
#[serde(tag = "method", content = "params", rename_all = "camelCase")]
pub enum SessionRequest {
    /// Events of the host.
    Observe(ObserveParams),
    /// A user's message, before it is saved.
    Prompt(PromptParams),
    /// The messages of the next request to the model.
    Prepare(PrepareParams),
    /// A call of one of our tools.
    Call(CallParams),
    /// A call that starts a subagent.
    Delegate(DelegateParams),
    /// The end of a session that was made for a frame.
    ChildEnded(ChildResult),
    /// The start of a summary.
    Summarize(SummarizeParams),
    /// A summary that the model has written.
    Summarized(SummaryText),
    /// A view for the user.
    Show(ShowParams),
    /// The host has started, and no other program continues its sessions.
    Resume(ResumeParams),
}

/// `resume`: the host has started and asks for sessions to continue.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ResumeParams {}

/// The answer to `resume`.
#[derive(Debug, Default, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ResumeResult {
    /// The sessions to prompt, each of them once.
    pub sessions: Vec<ContinuedSession>,
}

/// A session that is continued automatically, because the user has set so.
#[derive(Debug, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
pub struct ContinuedSession {
    /// The session.
    pub session: String,
    /// The prompt.
    pub prompt: String,
    /// The agent that worked in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The model that it used, after its provider: `anthropic/claude-sonnet-4-5`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// `notice`: a notification of the sidecar with something for the user to read, such as a suggestion.
#[derive(Debug, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Notice {
    /// The session that it is about.
    pub session: String,
    /// The text.
    pub text: String,
}

/// `show`: a view for the user.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
pub struct ShowParams {
    /// The session, if one is open.
    pub session: Option<String>,
    /// The view.
    pub what: ShowView,
}

/// A view for the user.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum ShowView {
    /// The status of the session.
    Status,
    /// The tree of frames.
    Tree,
    /// The status of the session, its cost and what folding saved in it.
    Sidebar,
}

/// The answer to `show`.
#[derive(Debug, Serialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShowResult {
    /// The text of the view.
    pub text: String,
}
