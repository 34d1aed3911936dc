//! Authors: the user, or an agent that works for the user.

use crate::id::SessionRef;
use crate::names::enum_names;

enum_names! {
    /// Author of a command and of its events.
    ///
    /// Only the user gives directives and approvals. A session alone does not say who acts in it: the
    /// user can act for an agent's session from a terminal, and a model can call `flame` in its shell.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Author {
        /// The user at a terminal, outside of every conversation.
        User = "user",
        /// An agent: a host, its model, and everything that is said in their conversation.
        #[default]
        Agent = "model",
    }
}

impl Author {
    /// Returns the usual author in a session: the user in that of a terminal, an agent in others.
    pub fn of(session: &SessionRef) -> Self {
        if session.is_shell() {
            Self::User
        } else {
            Self::Agent
        }
    }
}
