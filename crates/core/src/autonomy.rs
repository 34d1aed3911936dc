//! Autonomy: when to open a frame, when to close one, and what became of the advice.
//!
//! - a [`Heuristic`] is a reason to do either;
//! - a [`Suggestion`] is advice that was given, with its evidence and what became of it.
//!
//! Reading signals and judging them is the engine's task, and so is acting.

mod suggestion;

pub use suggestion::{Suggestion, SuggestionState, Tally, suggestion_line};

use crate::names::enum_names;

enum_names! {
    /// Kind of advice.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum AdviceKind {
        /// Open a frame.
        Push = "push",
        /// Close the frame.
        Pop = "pop",
    }
}

enum_names! {
    /// The extent to which Flamestack acts by itself.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub enum AutonomyLevel {
        /// Answers when it is asked.
        Manual = "manual",
        /// Shows suggestions to the user.
        #[default]
        Suggest = "suggest",
        /// Opens and closes frames at boundaries.
        Auto = "auto",
    }
}

enum_names! {
    /// A reason to open or to close a frame.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Heuristic {
        /// An error that does not go away is work of its own.
        FailureBoundary = "failure_boundary",
        /// The newest request is about something else.
        ContextSwitch = "context_switch",
        /// The request has several parts.
        Complexity = "complexity",
        /// The frame has grown long.
        Duration = "duration",
        /// The goal is reached.
        GoalCompletion = "goal_completion",
        /// The work goes on without effect.
        Stagnation = "stagnation",
        /// The prompt is about to outgrow the window.
        ContextOverflow = "context_overflow",
    }
}

enum_names! {
    /// A moment at which a suggestion interrupts least.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Boundary {
        /// The user sent a message, and nothing was done about it yet.
        Prompt = "prompt",
        /// A frame was closed.
        Pop = "pop",
        /// The work was committed.
        Commit = "commit",
        /// A check that had failed succeeds, or one succeeds after changes.
        Green = "green",
        /// An item of the to-do list is done.
        PlanStep = "plan step",
        /// The turn ended.
        Idle = "idle",
    }
}

impl Heuristic {
    /// Those whose precision was at least 0.9 on recordings of owners that they were not fitted to: none
    /// so far. `docs/autonomy.md` has the figures of all of them.
    pub const MEASURED: [Self; 0] = [];

    /// Returns the kind of advice that it gives.
    pub fn kind(self) -> AdviceKind {
        match self {
            Self::FailureBoundary | Self::ContextSwitch | Self::Complexity | Self::Duration => {
                AdviceKind::Push
            }
            Self::GoalCompletion | Self::Stagnation | Self::ContextOverflow => AdviceKind::Pop,
        }
    }

    /// Returns its name for people.
    pub fn label(self) -> String {
        self.as_str().replace('_', " ")
    }
}
