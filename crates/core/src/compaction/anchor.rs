//! The type of an anchor, a fact that must survive a compaction, and its kinds. `flamestack-brief` chooses
//! them.

use crate::names::enum_names;

/// A fact that must be found in what a compaction leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Kind of fact.
    pub kind: AnchorKind,
    /// Words to look for.
    pub text: String,
}

enum_names! {
    /// Kind of an [`Anchor`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum AnchorKind {
        /// Read-only or not.
        Mode = "mode",
        /// Goal of the work.
        Goal = "goal",
        /// Definition of "done".
        Criteria = "criteria",
        /// An instruction of the user, verbatim.
        Directive = "directive",
        /// Stage of a workflow, verbatim.
        Stage = "stage",
        /// Work item of a workflow.
        Unit = "unit",
        /// The file that the stage is about.
        Artifact = "artifact",
        /// A command of the gate.
        Gate = "gate",
        /// A decision.
        Decision = "decision",
        /// An attempt that failed.
        FailedAttempt = "failed-attempt",
        /// An open question.
        Question = "question",
        /// A blocker.
        Blocker = "blocker",
        /// A running subagent.
        Subagent = "subagent",
        /// Work that is not done yet.
        Remaining = "remaining",
        /// A recent command.
        Command = "command",
        /// The next action.
        NextAction = "next-action",
    }
}
