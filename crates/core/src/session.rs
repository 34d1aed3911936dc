//! What is known of a conversation: its own frame and the frame it works on.

use crate::id::{FrameId, SessionRef};
use crate::text::Title;

/// A conversation in a host, as the rules see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its name.
    pub key: SessionRef,
    /// The worktree it was first seen in, where that is known.
    pub worktree: Option<String>,
    /// The frame that is this session as a whole.
    pub own: Option<FrameId>,
    /// The frame it works on. There is no such thing outside a session.
    pub active: Option<FrameId>,
    /// When it last turned to another frame by itself, where its host names its messages.
    pub turn: Option<Turn>,
}

/// A message in which a session turned from one frame to another.
///
/// A model that makes several calls in one message means them all from where it stood before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The host's message.
    pub message: String,
    /// What the session worked on before.
    pub before: Option<FrameId>,
}

impl Session {
    /// A session of which nothing is known but its name.
    pub fn new(key: SessionRef) -> Self {
        Self {
            key,
            worktree: None,
            own: None,
            active: None,
            turn: None,
        }
    }
}

/// The model that a conversation talks to, as its host says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// What the host calls it.
    pub name: Title,
    /// How many tokens of a prompt it can take, where the host says so.
    pub window: Option<u64>,
}
