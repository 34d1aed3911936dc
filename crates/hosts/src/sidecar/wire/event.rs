//! Events of a session: `observe`, a notification.

use serde::{Deserialize, Serialize};

use crate::opencode::message::{HostMessage, HostRole};

/// `observe`: events in their order. A notification: it has no answer.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ObserveParams {
    /// The session.
    pub session: String,
    /// The events.
    pub events: Vec<HostEvent>,
}

/// An event of a session.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum HostEvent {
    /// The session was made or changed.
    Session(SessionFacts),
    /// A message or a part of it reached its final form.
    Message(#[cfg_attr(test, ts(type = "HostMessage"))] HostMessage),
    /// A message was removed for good.
    Removed {
        /// The message.
        message: String,
    },
    /// The session was reverted to before a message, or restored if `message` is absent.
    Reverted {
        /// The first message that was taken back.
        #[cfg_attr(test, ts(optional))]
        message: Option<String>,
    },
    /// The session is a copy of another one, which has these messages.
    Copied {
        /// The original.
        from: String,
        /// Its messages, in order.
        messages: Vec<OriginalMessage>,
    },
    /// The whole to-do list changed.
    Todos {
        /// Its items.
        items: Vec<TodoItem>,
    },
    /// The user made this session by a command, from another one.
    Created {
        /// The session in which the command was given.
        from: String,
        /// The purpose.
        purpose: String,
        /// The agent that is to work in it.
        #[cfg_attr(test, ts(optional))]
        agent: Option<String>,
        /// The phase of the work.
        #[cfg_attr(test, ts(optional))]
        phase: Option<String>,
    },
    /// An error ended the turn. A message may say so too.
    Failed {
        /// The error.
        why: String,
        /// The model's message that the error ended, which says so once it is complete.
        #[serde(default)]
        #[cfg_attr(test, ts(optional))]
        message: Option<String>,
    },
    /// The user stopped the work.
    Interrupted,
    /// The session waits for the user, or no longer if `on` is absent.
    Waiting {
        /// The question.
        #[cfg_attr(test, ts(optional))]
        on: Option<String>,
    },
    /// The turn is over, or the host is idle for another reason.
    Idle {
        /// True if the user stopped the turn, which the host says in no other way.
        #[serde(default)]
        #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
        stopped: bool,
    },
    /// A summary replaced the history.
    Compacted,
    /// The session was deleted.
    Deleted,
    /// The shim reports on its hooks.
    HookStats {
        /// One entry per hook.
        hooks: Vec<HookStats>,
    },
}

/// Facts about a session; an absent one is unchanged.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
#[serde(rename_all = "camelCase", default)]
pub struct SessionFacts {
    /// Its title.
    pub title: Option<String>,
    /// The session that started it.
    pub parent: Option<String>,
    /// The session that it is a copy of.
    pub copy_of: Option<String>,
    /// The directory it works in.
    pub directory: Option<String>,
    /// The version of the host that it runs in.
    pub host_version: Option<String>,
    /// The agent that works in it.
    pub agent: Option<String>,
    /// The planned frame that it was made for.
    pub frame: Option<String>,
    /// The language of the conversation.
    pub language: Option<String>,
    /// The host's mode of permissions.
    pub governance: Option<String>,
    /// The phase of the work.
    pub phase: Option<String>,
    /// Numbers of lines added, lines deleted and files changed, by the host's account.
    #[cfg_attr(test, ts(type = "[number, number, number]", optional))]
    pub diff: Option<(u64, u64, u64)>,
}

/// A message of the session that another one is a copy of, with the properties that its copy shares.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct OriginalMessage {
    /// The host's id of it.
    pub id: String,
    /// Its author.
    pub role: HostRole,
    /// Time of its creation, in milliseconds since 1970; the same for its copy.
    #[cfg_attr(test, ts(type = "number"))]
    pub at: i64,
}

/// An item of a to-do list.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TodoItem {
    /// The task.
    pub text: String,
    /// `pending`, `in_progress`, `completed` or `cancelled`.
    pub status: String,
}

/// The counts and times of a hook since the last report.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct HookStats {
    /// The host's name of the hook.
    pub name: String,
    /// Number of runs.
    #[cfg_attr(test, ts(type = "number"))]
    pub calls: u64,
    /// Number of runs that failed or missed their deadline.
    #[cfg_attr(test, ts(type = "number"))]
    pub failures: u64,
    /// Total time of all runs, in milliseconds.
    pub total_ms: f64,
    /// Time of the slowest run, in milliseconds.
    pub slowest_ms: f64,
}
