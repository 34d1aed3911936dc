//! Hosts: agent servers that hold sessions and run turns.
//!
//! Every call that changes something carries ids that the caller chose, so that a call whose outcome is
//! unknown can be looked up, and repeated if it never arrived. Events are only a reason to look;
//! stored messages are the source of truth.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::budget::Spending;
use crate::options::ModelName;

/// An agent server.
pub trait Host {
    /// Returns the name of the host in session names, such as `opencode`.
    fn name(&self) -> &str;
    /// Makes ids for a message and its parts. Messages of a session are ordered by them, and `seed`
    /// makes them unique.
    fn message_ids(&self, now: i64, seed: &str, parts: usize) -> (String, Vec<String>);
    /// Creates a session and returns its id.
    fn create(&mut self, wanted: &SessionWanted) -> Result<String, HostError>;
    /// Looks for the session that was created for a key.
    fn find(&mut self, wanted: &SessionWanted) -> Result<Option<String>, HostError>;
    /// Stores a message and, unless it wants no reply, starts a turn. Sending the newest message of a
    /// session once more changes nothing, except that a turn that is not running is started.
    fn send(&mut self, location: &SessionLocation, message: &Outgoing) -> Result<(), HostError>;
    /// Returns true if a message is stored.
    fn has(&mut self, location: &SessionLocation, message: &str) -> Result<bool, HostError>;
    /// Returns the messages of a session as the host stores them, for the record of the work.
    fn stored(&mut self, location: &SessionLocation) -> Result<Vec<Value>, HostError>;
    /// Returns the state of the turn that a message started.
    fn turn(&mut self, location: &SessionLocation, message: &str) -> Result<TurnView, HostError>;
    /// Deletes the unfinished answer to a message, which used no tools.
    fn discard(&mut self, location: &SessionLocation, message: &str) -> Result<(), HostError>;
    /// Stops the turn of a session. Stopping an idle session changes nothing.
    fn stop(&mut self, location: &SessionLocation) -> Result<(), HostError>;
    /// Lists permissions and questions that sessions wait for.
    fn asks(&mut self) -> Result<Vec<Ask>, HostError>;
    /// Answers one of them.
    fn answer(&mut self, ask: &Ask, reply: &Reply) -> Result<(), HostError>;
    /// Waits for news, at most for a while.
    fn wait(&mut self, at_most: Duration) -> Wake;
    /// Brings the server back after a call failed to reach it, or says why that is impossible.
    fn revive(&mut self) -> Result<(), HostError>;
}

/// Identity of a session that a run needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionKey {
    /// The run.
    pub run: String,
    /// The frame.
    pub frame: String,
    /// Number of the attempt, from 1.
    pub attempt: u32,
}

/// A session to create.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionWanted {
    /// Its identity, which the host keeps with it.
    pub key: SessionKey,
    /// Its title.
    pub title: String,
    /// Folder that it works in; the host's own if none.
    pub directory: Option<PathBuf>,
    /// Tools that it must not use.
    pub without_tools: Vec<String>,
}

/// A session and the folder that it works in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionLocation {
    /// The host's id of the session.
    pub session: String,
    /// Its folder; the host's own if none.
    pub directory: Option<PathBuf>,
}

/// A message to a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Outgoing {
    /// Id of the message.
    pub id: String,
    /// Ids and texts of its parts.
    pub parts: Vec<(String, String)>,
    /// False if it is only to be stored.
    pub wants_reply: bool,
    /// System prompt of the turn.
    pub system: Option<String>,
    /// The model.
    pub model: Option<ModelName>,
    /// The agent.
    pub agent: Option<String>,
}

/// A tool call of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolUse {
    /// Name of the tool.
    pub name: String,
    /// Its arguments.
    pub input: Value,
    /// True if it ran and did not fail.
    pub succeeded: bool,
}

/// State of a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum TurnView {
    /// The message is not stored.
    Missing,
    /// The message is stored, and nothing answers it.
    Unanswered,
    /// The turn is running.
    Running {
        /// A figure that grows with everything that the session does.
        progress: u64,
        /// Name of the tool that runs, or another short description.
        doing: Option<String>,
        /// Spending of the turn until now.
        spent: Spending,
    },
    /// The host waits before it asks the provider again.
    Waiting {
        /// The provider's message.
        message: String,
        /// Time of the next try, in milliseconds.
        until: i64,
    },
    /// The turn was cut off, and nothing is running.
    Cut {
        /// True if the unfinished answer has used a tool, so that its effects are unknown.
        used_tools: bool,
        /// Spending of the turn until then, as far as it is known.
        spent: Spending,
    },
    /// The turn ended.
    Ended(Box<EndedTurn>),
}

/// End of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedTurn {
    /// Kind of end.
    pub finish: TurnFinish,
    /// Text of the final message.
    pub text: String,
    /// Tool calls of the whole turn.
    pub calls: Vec<ToolUse>,
    /// Spending of the whole turn.
    pub spent: Spending,
    /// Files that the turn changed.
    pub artifacts: Vec<String>,
}

/// Kind of a turn's end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "finish")]
pub enum TurnFinish {
    /// The model had nothing more to say.
    Stop,
    /// The answer was cut off at its maximum length.
    Length,
    /// The turn was stopped.
    Stopped,
    /// A crash cut the turn off after it had used tools.
    Cut {
        /// True if the session is to continue.
        go_on: bool,
    },
    /// The turn failed.
    Failed {
        /// Kind of failure.
        fault: TurnFault,
        /// The host's or provider's message.
        message: String,
        /// Time at which the provider can be asked again, in milliseconds, if it said so.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<i64>,
    },
}

/// Kind of a turn's failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnFault {
    /// A limit of the provider: quota, rate or credit.
    Limit,
    /// Missing or wrong credentials.
    Credentials,
    /// Anything else.
    Other,
}

/// A permission or question that a session waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The host's id of it.
    pub id: String,
    /// The session.
    pub session: String,
    /// Kind of the ask.
    pub kind: AskKind,
}

/// Kind of an ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskKind {
    /// Permission for something.
    Permission {
        /// The host's name of the permission, such as `bash`.
        permission: String,
        /// The commands or files concerned.
        patterns: Vec<String>,
    },
    /// Questions to the user, each with its possible answers.
    Questions(Vec<(String, Vec<String>)>),
}

/// Answer to an ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Allows it this time.
    Once,
    /// Allows it for the rest of the session.
    Always,
    /// Refuses it, with a reason for the model.
    Reject(String),
    /// Answers questions.
    Answers(Vec<Vec<String>>),
}

/// Result of waiting for news.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Something happened in these sessions.
    News(Vec<String>),
    /// Something may have been missed: everything should be looked at.
    Everything,
    /// Nothing happened.
    Quiet,
}

/// Failure of a call to a host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// The server cannot be reached, or the connection broke: the outcome is unknown.
    #[error("{url} cannot be reached: {reason}")]
    Unreachable {
        /// Address.
        url: String,
        /// Reason.
        reason: String,
    },
    /// The server failed: the outcome is unknown.
    #[error("the server answered {status}: {message}")]
    Failed {
        /// HTTP status.
        status: u16,
        /// Its message.
        message: String,
    },
    /// The server refused the call; nothing happened.
    #[error("the server refused the call ({status}): {message}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// Its message.
        message: String,
    },
    /// The password is wrong or missing.
    #[error("{url} rejected the password")]
    Unauthorized {
        /// Address.
        url: String,
    },
    /// The address answers, but not as the expected server.
    #[error("{url} is not an OpenCode server: {reason}")]
    Stranger {
        /// Address.
        url: String,
        /// Reason.
        reason: String,
    },
    /// The certificates that a server is to be checked against cannot be read.
    #[error("the file of certificates in SSL_CERT_FILE cannot be read: {reason}")]
    Certificates {
        /// Reason.
        reason: String,
    },
    /// The server is too old.
    #[error("the server is OpenCode {found}; this needs {needed} or newer")]
    TooOld {
        /// Its version.
        found: String,
        /// The oldest version that works.
        needed: String,
    },
    /// The server could not be started.
    #[error("OpenCode could not be started: {reason}")]
    NotStarted {
        /// Reason.
        reason: String,
    },
    /// The session no longer exists.
    #[error("the session {session} no longer exists")]
    NoSession {
        /// The session.
        session: String,
    },
    /// An answer that makes no sense.
    #[error("the server's answer cannot be read: {reason}")]
    Unreadable {
        /// Reason.
        reason: String,
    },
}

impl HostError {
    /// Returns true if the call may or may not have had its effect, and the server may come back.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Failed { .. })
    }

    /// Returns the next step for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => {
                "is the server running, and is the address right? `flame run --resume` continues"
            }
            Self::Failed { .. } | Self::Unreadable { .. } => {
                "see the server's log; `flame run --resume` continues where this stopped"
            }
            Self::Refused { .. } => "the message says what the server did not accept",
            Self::Unauthorized { .. } => {
                "set OPENCODE_SERVER_PASSWORD (and OPENCODE_SERVER_USERNAME) to the server's"
            }
            Self::Stranger { .. } => "`--server` takes the address that `opencode serve` prints",
            Self::Certificates { .. } => {
                "name a file of certificates in PEM, or unset SSL_CERT_FILE for the public authorities"
            }
            Self::TooOld { .. } => "update OpenCode with `opencode upgrade`",
            Self::NotStarted { .. } => {
                "install OpenCode, or name a running server with `--server URL`"
            }
            Self::NoSession { .. } => "`flame run --resume` starts the frame again",
        }
    }
}
