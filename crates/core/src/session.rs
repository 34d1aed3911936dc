//! What is known of a conversation: its own frame and the frame it works on.

use crate::id::{FrameId, SessionRef};

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
}
