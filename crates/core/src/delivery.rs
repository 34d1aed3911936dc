//! Deliveries: the contexts that a session was sent, as the journal keeps them.
//!
//! These are facts about the past. The context crate decides what to send next.

use std::collections::BTreeSet;

use crate::id::{FrameId, Seq};

/// Reason for which a session is sent its whole context again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderReason {
    /// Its history was replaced by a summary.
    Compaction {
        /// Number of compactions so far.
        count: u32,
    },
    /// It was resumed, perhaps by another program.
    Resume,
}

impl HeaderReason {
    /// Returns the name in the journal.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Compaction { .. } => "compaction",
            Self::Resume => "resume",
        }
    }
}

/// Content of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Nothing new.
    Nothing,
    /// An update, after everything sent before.
    Update(String),
    /// A header, replacing everything sent before; it may be empty.
    Header(String),
}

/// A delivery with the session's knowledge after it, as recorded in the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sending {
    /// Its content.
    pub delivery: Delivery,
    /// Reason for a whole context, if it is one.
    pub after: Option<HeaderReason>,
    /// The active frame as the session knows it from now on.
    pub frame: Option<FrameId>,
    /// The open frames that the session may know, so that it can be informed when they are gone.
    /// Finished frames stay known.
    pub known: Vec<FrameId>,
}

impl Sending {
    /// Returns the state of the session once this is recorded at `position`.
    pub fn sent_at(&self, position: Seq) -> Sent {
        Sent {
            position,
            frame: self.frame,
            known: self.known.iter().copied().collect(),
        }
    }
}

/// State of a session after its last delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The last event that it knows.
    pub position: Seq,
    /// The active frame as it knows it.
    pub frame: Option<FrameId>,
    /// The open frames that it may know.
    pub known: BTreeSet<FrameId>,
}
