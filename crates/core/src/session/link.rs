//! Links between sessions, and sessions made by a command.

use std::collections::BTreeSet;

use crate::event::{Event, Recorded};
use crate::id::{FrameId, SessionRef};
use crate::names::enum_names;
use crate::text::Text;

enum_names! {
    /// Kind of a link from a session to another one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum LinkKind {
        /// The other one started it, or took it over.
        Parent = "parent",
        /// It began as a copy of the other one.
        Fork = "fork",
        /// The other one goes on with its work.
        HandOff = "hand_off",
    }
}

/// A link from a session to another one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionLink {
    /// The session.
    pub session: SessionRef,
    /// Kind of the link.
    pub kind: LinkKind,
    /// The other one.
    pub to: SessionRef,
}

/// Effect of an event on the links between sessions. Parents are part of a session's life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkChange {
    /// A link was made.
    Made(SessionLink),
    /// A link was removed.
    Removed(SessionLink),
}

impl SessionLink {
    /// Returns the change of links that an event causes.
    pub fn changed(recorded: &Recorded) -> Option<LinkChange> {
        match &recorded.event {
            Event::SessionLinked {
                session,
                kind: kind @ (LinkKind::Fork | LinkKind::HandOff),
                to: Some(to),
                removed,
            } => {
                let link = Self {
                    session: session.clone(),
                    kind: *kind,
                    to: to.clone(),
                };
                Some(if *removed {
                    LinkChange::Removed(link)
                } else {
                    LinkChange::Made(link)
                })
            }
            Event::SessionDescribed(described) => described.copy_of.as_ref().map(|original| {
                LinkChange::Made(Self {
                    session: recorded.session.clone(),
                    kind: LinkKind::Fork,
                    to: original.clone(),
                })
            }),
            _ => None,
        }
    }
}

impl LinkChange {
    /// Applies the change to a set of links.
    pub fn apply(self, links: &mut BTreeSet<SessionLink>) {
        match self {
            Self::Made(link) => drop(links.insert(link)),
            Self::Removed(link) => drop(links.remove(&link)),
        }
    }
}

/// A session made by a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Creation {
    /// The session.
    pub session: SessionRef,
    /// Its purpose.
    pub purpose: Text,
    /// The agent that is to work in it.
    pub agent: Option<Text>,
    /// Phase of the work, in the words of the user.
    pub phase: Option<Text>,
    /// The session that it was made from.
    pub from: Option<SessionRef>,
    /// The frame that it is to work on.
    pub frame: Option<FrameId>,
}

/// Place of a session in the tree of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Number of its ancestors.
    pub depth: u64,
    /// True if it has no children.
    pub is_leaf: bool,
}

impl Level {
    /// Returns the level: 1 for a session of the user, 2 for its subagents, 3 for everything below.
    pub fn number(self) -> u64 {
        self.depth.saturating_add(1).min(3)
    }

    /// Returns the one whose messages reach the session. The user may stop any session.
    pub fn addressee(self) -> &'static str {
        if self.depth == 0 { "user" } else { "parent" }
    }
}
