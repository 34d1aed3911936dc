//! Anchors: the facts that must survive a compaction.

use crate::names::enum_names;

/// A fact that must be found in what a compaction leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Kind of fact.
    pub kind: AnchorKind,
    /// Words to look for.
    pub text: String,
}

/// Kind of an [`Anchor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnchorKind {
    /// Read-only or not.
    Mode,
    /// Goal of the work.
    Goal,
    /// Definition of "done".
    Criteria,
    /// An instruction of the user, verbatim.
    Directive,
    /// Stage of a workflow, verbatim.
    Stage,
    /// Work item of a workflow.
    Unit,
    /// The file that the stage is about.
    Artifact,
    /// A command of the gate.
    Gate,
    /// A decision.
    Decision,
    /// An attempt that failed.
    FailedAttempt,
    /// An open question.
    Question,
    /// A blocker.
    Blocker,
    /// A running subagent.
    Subagent,
    /// Work that is not done yet.
    Remaining,
    /// A recent command.
    Command,
    /// The next action.
    NextAction,
}

enum_names!(AnchorKind {
    Mode = "mode",
    Goal = "goal",
    Criteria = "criteria",
    Directive = "directive",
    Stage = "stage",
    Unit = "unit",
    Artifact = "artifact",
    Gate = "gate",
    Decision = "decision",
    FailedAttempt = "failed-attempt",
    Question = "question",
    Blocker = "blocker",
    Subagent = "subagent",
    Remaining = "remaining",
    Command = "command",
    NextAction = "next-action",
});
