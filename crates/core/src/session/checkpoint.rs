//! Interruptions: their causes, the state of the work at that moment, and calls with an unknown outcome.

use crate::id::{FrameId, Timestamp};
use crate::names::enum_names;
use crate::text::{Text, condense};
use crate::transcript::{Call, CallKind};

/// Maximum length of a call's input that is kept, in characters.
pub const INPUT_LIMIT: usize = 2_000;
/// Maximum length of a queued prompt that is kept, in characters.
pub const PROMPT_LIMIT: usize = 4_000;

enum_names! {
    /// Cause of an interruption.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum InterruptionCause {
        /// The user stopped the turn.
        #[default]
        Abort = "abort",
        /// The provider or the host reported an error.
        Failure = "failure",
        /// The host's process ended during the turn, and its sidecar saw it.
        Kill = "kill",
        /// The host's process was found to be gone.
        Crash = "crash",
    }
}

/// A process, distinguished from a later one with the same number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// Its number.
    pub pid: u64,
    /// Its start time as the system writes it; empty where the system does not say.
    pub started: String,
    /// The system's name of the current boot; empty where it has none.
    pub boot: String,
}

/// A tool call that began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallStart {
    /// The host's id of the call.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// Kind of tool.
    pub kind: CallKind,
    /// The input, shortened to [`INPUT_LIMIT`].
    pub input: String,
    /// Files that it names.
    pub paths: Vec<String>,
}

impl CallStart {
    /// Describes a call.
    pub fn of(call: &Call) -> Self {
        let input = call.command.as_deref().unwrap_or(&call.arguments);
        Self {
            call: call.id.clone(),
            tool: call.tool.clone(),
            kind: call.kind,
            input: condense(input, INPUT_LIMIT),
            paths: call.paths.clone(),
        }
    }

    /// Returns true if repeating the call does no harm.
    pub fn is_harmless(&self) -> bool {
        matches!(
            self.kind,
            CallKind::Read | CallKind::Search | CallKind::Web | CallKind::Ask | CallKind::Todo
        )
    }

    /// Describes the check that would show the outcome of the call.
    pub fn check(&self) -> String {
        let paths = self.paths.join(" ");
        match self.kind {
            CallKind::Edit | CallKind::Write if paths.is_empty() => {
                "`git status` and `git diff` show whether the change is there".to_owned()
            }
            CallKind::Edit | CallKind::Write => {
                format!("`git diff -- {paths}` shows whether the change is there, whole or in part")
            }
            CallKind::Execute => {
                "look at what the command changes (files by `git status`, services by their own status) \
                 before running it again"
                    .to_owned()
            }
            CallKind::Delegate => {
                "`flame session list` shows the subagent's state and its results".to_owned()
            }
            CallKind::Stack => "`flame tree` shows whether the stack has the change".to_owned(),
            _ if self.is_harmless() => "it changes nothing: it may simply be made again".to_owned(),
            _ => "query the system that the tool talks to before calling it again".to_owned(),
        }
    }
}

enum_names! {
    /// Outcome of a tool call.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum CallOutcome {
        /// It succeeded.
        Done = "done",
        /// It failed.
        Failed = "failed",
        /// The user or a rule refused it, so that it had no effect.
        Refused = "refused",
        /// It was cut off: its effect is unknown.
        Cut = "cut",
    }
}

/// A call without a known outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallInFlight {
    /// The call.
    pub start: CallStart,
    /// Time of its start.
    pub since: Timestamp,
    /// True if the host reported that it was cut off.
    pub cut: bool,
}

/// A prompt that arrived during a turn and that the model has not seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedPrompt {
    /// The host's message.
    pub message: Option<String>,
    /// The words, shortened to [`PROMPT_LIMIT`].
    pub words: Text,
    /// Number of model calls that ended since; the second one has seen it.
    pub steps: u64,
}

/// State of the repository at an interruption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryState {
    /// The commit that was checked out; none in a repository without commits.
    pub head: Option<String>,
    /// Uncommitted files, as far as they are kept.
    pub dirty: Vec<String>,
    /// Number of uncommitted files.
    pub dirty_total: u64,
}

/// State of a session at an interruption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterruptionCheckpoint {
    /// Cause of the interruption.
    pub cause: InterruptionCause,
    /// The frame that the session worked on.
    pub frame: Option<FrameId>,
    /// The host's last message.
    pub last_message: Option<String>,
    /// Calls whose outcome is unknown.
    pub in_flight: Vec<CallInFlight>,
    /// Files that calls named since the last finished step.
    pub files: Vec<String>,
    /// Prompts that the model has not seen.
    pub queued: Vec<QueuedPrompt>,
    /// State of the repository; none where git did not answer.
    pub git: Option<RepositoryState>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(kind: CallKind, paths: &[&str]) -> CallStart {
        CallStart {
            call: "c".to_owned(),
            tool: "t".to_owned(),
            kind,
            input: String::new(),
            paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        }
    }

    #[test]
    fn every_kind_of_call_has_a_check_that_fits_it() {
        assert!(
            call(CallKind::Edit, &["a.rs"])
                .check()
                .contains("git diff -- a.rs")
        );
        assert!(call(CallKind::Write, &[]).check().contains("git status"));
        assert!(
            call(CallKind::Execute, &[])
                .check()
                .contains("before running it again")
        );
        assert!(call(CallKind::Read, &["a"]).check().contains("made again"));
        assert!(
            call(CallKind::Other, &[])
                .check()
                .contains("before calling it again")
        );
    }

    #[test]
    fn the_input_of_a_call_is_bounded() {
        let long = Call {
            id: "c".to_owned(),
            tool: "bash".to_owned(),
            kind: CallKind::Execute,
            arguments: "{}".to_owned(),
            paths: Vec::new(),
            command: Some("x".repeat(10_000)),
        };
        assert!(CallStart::of(&long).input.chars().count() <= INPUT_LIMIT);
    }
}
