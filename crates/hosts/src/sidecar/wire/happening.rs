//! What happened in a conversation: `observe`, which nobody waits for.

use serde::{Deserialize, Serialize};

use super::message::{Message, Role};

/// `observe`: things that happened, in order. It is a notification: nobody waits for it.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Observe {
    /// The conversation.
    pub session: String,
    /// What happened.
    pub happenings: Vec<Happening>,
}

/// Something that happened in a conversation.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(
    tag = "kind",
    rename_all = "lowercase",
    rename_all_fields = "camelCase"
)]
pub enum Happening {
    /// The conversation was made or changed.
    Session(SessionFacts),
    /// A message or a part of it reached its final form.
    Message(Message),
    /// A message left the conversation for good.
    Removed {
        /// Which.
        message: String,
    },
    /// The conversation was wound back to before a message; `message` absent means: forward again.
    Reverted {
        /// The first message that counts no longer.
        #[serde(default)]
        #[cfg_attr(test, ts(optional))]
        message: Option<String>,
    },
    /// The conversation is a copy of another one, which has these messages.
    Copied {
        /// The other one.
        from: String,
        /// Its messages, in order.
        messages: Vec<Original>,
    },
    /// The whole to-do list as it is from now on.
    Todos {
        /// Its items.
        items: Vec<TodoItem>,
    },
    /// The user stopped the work.
    Interrupted,
    /// The conversation waits for the user; `on` absent means: no longer.
    Waiting {
        /// For what.
        #[serde(default)]
        #[cfg_attr(test, ts(optional))]
        on: Option<String>,
    },
    /// The turn is over, or the host rests for another reason.
    Idle,
    /// A summary replaced what came before.
    Compacted,
    /// The conversation was deleted.
    Deleted,
    /// How the shim's own work went, by hook.
    Shim {
        /// One entry a hook.
        hooks: Vec<HookFigures>,
    },
}

/// What is known of a conversation; what is absent is unchanged.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", default)]
pub struct SessionFacts {
    /// Its title.
    #[cfg_attr(test, ts(optional))]
    pub title: Option<String>,
    /// The conversation that started it.
    #[cfg_attr(test, ts(optional))]
    pub parent: Option<String>,
    /// The conversation that it is a copy of.
    #[cfg_attr(test, ts(optional))]
    pub copy_of: Option<String>,
    /// The directory it works in.
    #[cfg_attr(test, ts(optional))]
    pub directory: Option<String>,
    /// The version of the host that it runs in.
    #[cfg_attr(test, ts(optional))]
    pub host_version: Option<String>,
    /// The agent that works in it.
    #[cfg_attr(test, ts(optional))]
    pub agent: Option<String>,
    /// The planned frame that it was made for.
    #[cfg_attr(test, ts(optional))]
    pub frame: Option<String>,
    /// Lines added, lines deleted, files changed, by the host's account.
    #[cfg_attr(test, ts(type = "[number, number, number]", optional))]
    pub diff: Option<(u64, u64, u64)>,
}

/// A message of the conversation that another one is a copy of, as far as its copy is known by it.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Original {
    /// The host's name of it.
    pub id: String,
    /// Whose it is.
    pub role: Role,
    /// When it began, in milliseconds since 1970; its copy says the same.
    #[cfg_attr(test, ts(type = "number"))]
    pub at: i64,
}

/// An item of a to-do list.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TodoItem {
    /// What is to be done.
    pub text: String,
    /// `pending`, `in_progress`, `completed` or `cancelled`.
    pub status: String,
}

/// How often a hook ran, failed, and how long it took.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct HookFigures {
    /// The host's name of the hook.
    pub name: String,
    /// How often it ran.
    #[cfg_attr(test, ts(type = "number"))]
    pub calls: u64,
    /// How often it failed or missed its deadline.
    #[cfg_attr(test, ts(type = "number"))]
    pub failures: u64,
    /// Milliseconds that it took in all.
    pub total_ms: f64,
    /// Milliseconds of the slowest run.
    pub slowest_ms: f64,
}
