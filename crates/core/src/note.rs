//! What is learned inside a frame: artifacts, decisions, failed attempts, evidence, directives.

use crate::text::{Prose, Rewrite};

/// One recorded fact of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A file or resource that the frame produced.
    Artifact(Prose),
    /// Something that was decided, and why if that was said.
    Decision {
        /// What was decided.
        text: Prose,
        /// The reason.
        why: Option<Prose>,
    },
    /// Something that was tried and did not work, so that nobody tries it again.
    FailedAttempt {
        /// What was tried.
        text: Prose,
        /// Why it failed.
        why: Option<Prose>,
    },
    /// Something that happened and can be checked, as against what was merely claimed.
    Evidence(Evidence),
    /// Something the user said that is to be kept to, word for word.
    ///
    /// Only a person makes one. Text that a tool or a model produced never becomes a directive,
    /// whatever it says about itself.
    Directive(Prose),
}

/// A checkable fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// A command that ran to its end.
    Command {
        /// The command line.
        command: Prose,
        /// Its exit code.
        exit_code: i32,
    },
    /// A test that ran.
    Test {
        /// The test's own name.
        id: Prose,
        /// Whether it passed.
        passed: bool,
    },
    /// A commit that holds the work.
    Commit(Prose),
}

impl Evidence {
    /// Whether it speaks for the work: a command that exited 0, a test that passed, a commit.
    pub fn speaks_for(&self) -> bool {
        match self {
            Self::Command { exit_code, .. } => *exit_code == 0,
            Self::Test { passed, .. } => *passed,
            Self::Commit(_) => true,
        }
    }
}

/// The kinds of notes, in the order in which views list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoteKind {
    /// See [`Note::Artifact`].
    Artifact,
    /// See [`Note::Decision`].
    Decision,
    /// See [`Note::FailedAttempt`].
    FailedAttempt,
    /// See [`Note::Evidence`].
    Evidence,
    /// See [`Note::Directive`].
    Directive,
}

impl Note {
    /// Which kind of note this is.
    pub fn kind(&self) -> NoteKind {
        match self {
            Self::Artifact(_) => NoteKind::Artifact,
            Self::Decision { .. } => NoteKind::Decision,
            Self::FailedAttempt { .. } => NoteKind::FailedAttempt,
            Self::Evidence(_) => NoteKind::Evidence,
            Self::Directive(_) => NoteKind::Directive,
        }
    }

    /// The note's main text: the path, the decision, the attempt, the command.
    pub fn text(&self) -> &Prose {
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

    /// Whether recording this a second time says nothing new. A command that runs again does.
    pub fn counts_once(&self) -> bool {
        !matches!(
            self,
            Self::Evidence(Evidence::Command { .. } | Evidence::Test { .. })
        )
    }
}

impl NoteKind {
    /// The kind in words, for a person.
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
            Self::Decision { text, why } | Self::FailedAttempt { text, why } => {
                text.rewrite(change);
                why.rewrite(change);
            }
        }
    }
}
