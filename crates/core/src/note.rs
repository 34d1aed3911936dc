//! Notes of a frame: artifacts, decisions, failed attempts, evidence, directives.

use crate::author::Author;
use crate::id::{FrameId, Seq, SessionRef};
use crate::text::{Rewrite, Text};

/// A recorded fact of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A file or resource that the frame produced.
    Artifact(Text),
    /// A decision and its reason, if one was given.
    Decision {
        /// The decision.
        text: Text,
        /// The reason.
        why: Option<Text>,
        /// The one who decided. Only the user's decision approves anything.
        by: Author,
    },
    /// An attempt that did not work, kept so that it is not repeated.
    FailedAttempt {
        /// The attempt.
        text: Text,
        /// Reason for its failure.
        why: Option<Text>,
    },
    /// A checkable fact, as opposed to a claim.
    Evidence(Evidence),
    /// An instruction of the user, verbatim.
    ///
    /// Only the user's own message makes one. Text that a tool or a model produced never does,
    /// whatever it says about itself.
    Directive(Text),
}

/// A checkable fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// A command that ran.
    Command {
        /// The command line.
        command: Text,
        /// Its exit code.
        exit_code: i32,
    },
    /// A test that ran.
    Test {
        /// The test's own name.
        id: Text,
        /// True if it passed.
        passed: bool,
    },
    /// A commit that holds the work.
    Commit(Text),
}

impl Evidence {
    /// Returns true if it is positive: a command that exited 0, a test that passed, a commit.
    pub fn is_positive(&self) -> bool {
        match self {
            Self::Command { exit_code, .. } => *exit_code == 0,
            Self::Test { passed, .. } => *passed,
            Self::Commit(_) => true,
        }
    }
}

/// Kinds of notes, in the order in which views list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoteKind {
    /// See [`Note::Directive`].
    Directive,
    /// See [`Note::Decision`].
    Decision,
    /// See [`Note::FailedAttempt`].
    FailedAttempt,
    /// See [`Note::Artifact`].
    Artifact,
    /// See [`Note::Evidence`].
    Evidence,
}

impl Note {
    /// Returns the kind of this note.
    pub fn kind(&self) -> NoteKind {
        match self {
            Self::Artifact(_) => NoteKind::Artifact,
            Self::Decision { .. } => NoteKind::Decision,
            Self::FailedAttempt { .. } => NoteKind::FailedAttempt,
            Self::Evidence(_) => NoteKind::Evidence,
            Self::Directive(_) => NoteKind::Directive,
        }
    }

    /// Returns the main text: the path, the decision, the attempt, the command.
    pub fn text(&self) -> &Text {
        match self {
            Self::Artifact(text)
            | Self::Directive(text)
            | Self::Decision { text, .. }
            | Self::FailedAttempt { text, .. }
            | Self::Evidence(
                Evidence::Command { command: text, .. }
                | Evidence::Test { id: text, .. }
                | Evidence::Commit(text),
            ) => text,
        }
    }

    /// Returns the author of a decision.
    pub fn decided_by(&self) -> Option<Author> {
        match self {
            Self::Decision { by, .. } => Some(*by),
            Self::Artifact(_)
            | Self::FailedAttempt { .. }
            | Self::Evidence(_)
            | Self::Directive(_) => None,
        }
    }

    /// Returns true if only the user can make it: a directive, or a decision that is to be the user's.
    pub fn needs_the_user(&self) -> bool {
        match self {
            Self::Directive(_) => true,
            Self::Decision { by, .. } => *by == Author::User,
            Self::Artifact(_) | Self::FailedAttempt { .. } | Self::Evidence(_) => false,
        }
    }

    /// Returns true if another note says the same: in the same words and, for a decision, by the same
    /// author.
    pub fn repeats(&self, other: &Self) -> bool {
        self.kind() == other.kind()
            && self.text() == other.text()
            && self.decided_by() == other.decided_by()
    }

    /// Returns true if recording it again adds nothing. A command that runs again does.
    pub fn is_idempotent(&self) -> bool {
        match self {
            Self::Evidence(Evidence::Command { .. } | Evidence::Test { .. }) => false,
            Self::Evidence(Evidence::Commit(_))
            | Self::Artifact(_)
            | Self::Decision { .. }
            | Self::FailedAttempt { .. }
            | Self::Directive(_) => true,
        }
    }
}

impl NoteKind {
    /// All kinds, in the order in which views list them.
    pub const ALL: [Self; 5] = [
        Self::Directive,
        Self::Decision,
        Self::FailedAttempt,
        Self::Artifact,
        Self::Evidence,
    ];

    /// Returns the heading of a list of these notes.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Directive => "Directives",
            Self::Decision => "Decisions",
            Self::FailedAttempt => "Failed attempts",
            Self::Artifact => "Artifacts",
            Self::Evidence => "Evidence",
        }
    }

    /// Returns the key of a list of these notes in JSON.
    pub fn key(self) -> &'static str {
        match self {
            Self::Directive => "directives",
            Self::Decision => "decisions",
            Self::FailedAttempt => "failedAttempts",
            Self::Artifact => "artifacts",
            Self::Evidence => "evidence",
        }
    }

    /// Returns the kind in words, for display.
    pub fn label(self) -> &'static str {
        match self {
            Self::Artifact => "artifact",
            Self::Decision => "decision",
            Self::FailedAttempt => "failed attempt",
            Self::Evidence => "evidence",
            Self::Directive => "directive",
        }
    }
}

impl Rewrite for Note {
    fn rewrite(&mut self, change: &mut dyn FnMut(&str) -> Option<String>) {
        match self {
            Self::Artifact(text)
            | Self::Directive(text)
            | Self::Evidence(
                Evidence::Command { command: text, .. }
                | Evidence::Test { id: text, .. }
                | Evidence::Commit(text),
            ) => text.rewrite(change),
            Self::Decision { text, why, .. } | Self::FailedAttempt { text, why } => {
                text.rewrite(change);
                why.rewrite(change);
            }
        }
    }
}

/// An instruction of the user.
///
/// Only a message of the user makes a directive. Output of a tool never does, whatever it says about
/// itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// The words, verbatim.
    pub text: Text,
    /// The event that recorded it.
    pub said: Seq,
    /// The session in which it was said.
    pub session: SessionRef,
    /// The frame in which it was said.
    pub frame: FrameId,
    /// The user if it was given at a terminal, an agent if it was said in a conversation.
    pub by: Author,
}

impl Directive {
    /// Returns true if it was said in the conversation of this session, so that its model has seen it.
    pub fn is_said_in(&self, session: Option<&SessionRef>) -> bool {
        self.by == Author::Agent && Some(&self.session) == session
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Views loop over [`NoteKind::ALL`], so a kind that is missing there is shown nowhere.
    #[test]
    fn all_kinds_are_listed_in_order() {
        let count = |kind: NoteKind| match kind {
            NoteKind::Directive
            | NoteKind::Decision
            | NoteKind::FailedAttempt
            | NoteKind::Artifact
            | NoteKind::Evidence => 5,
        };
        assert_eq!(NoteKind::ALL.len(), count(NoteKind::Directive));
        assert!(NoteKind::ALL.is_sorted_by(|a, b| a < b));
    }
}
