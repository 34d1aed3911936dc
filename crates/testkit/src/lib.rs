//! Shared by the tests of several crates: arbitrary commands, short ways to write them, the tree
//! in memory that they make, and made-up secrets.
//!
//! Nothing here is part of the product.

mod arbitrary_command;
mod frames;
pub mod secrets;
mod tree;

use flamestack_core::Author;
use flamestack_core::command::Actor;
use flamestack_core::event::{Goal, Results};
use flamestack_core::text::{Text, Title};

pub use arbitrary_command::{ArbitraryCommand, arbitrary_commands, rewinding};
pub use frames::{finished, frame};
pub use tree::Tree;

/// The shell session of a worktree.
pub fn shell(worktree: &str) -> Actor {
    Actor {
        session: flamestack_core::SessionRef::shell(worktree),
        worktree: Some(worktree.to_owned()),
        message: None,
        by: Author::User,
    }
}

/// A goal with a title and criteria made from it.
pub fn goal(title: &str) -> Goal {
    Goal {
        title: Title::recorded(title.to_owned()),
        criteria: Some(prose(&format!("{title} is done"))),
        criteria_compacted: None,
    }
}

/// Results without a compacted form.
pub fn results(text: &str) -> Results {
    Results {
        full: prose(text),
        compacted: None,
    }
}

/// A text that needs no check.
pub fn prose(text: &str) -> Text {
    Text::recorded(text.to_owned())
}
