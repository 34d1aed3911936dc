//! The run's journal: intents before calls, outcomes after them.
//!
//! Frames, their status and their results are in the project's journal, not here. This one knows what
//! was asked of the host and what came back. No prompt is stored: it is rendered again from the frames
//! if it never arrived.

use flamestack_core::FrameId;
use serde::{Deserialize, Serialize};

use crate::budget::Spending;
use crate::host::TurnFinish;
use crate::keys;
use crate::next::Verdict;
use crate::options::{FrameSetup, RunOptions};
use crate::prompt::PromptKind;
use crate::report::RunEnding;
use crate::signal::FrameSignal;

/// A line of the run's journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "record")]
pub enum RunRecord {
    /// The run began.
    Begun {
        /// Time, in milliseconds.
        at: i64,
        /// Name of the run.
        run: String,
        /// Name of the host.
        host: String,
        /// The frame that is the goal.
        #[serde(with = "keys::one")]
        root: FrameId,
        /// Options.
        options: RunOptions,
        /// Frames with options of their own.
        frames: Vec<FrameSetup>,
    },
    /// The run was resumed; nothing is parked any more.
    Resumed {
        /// Time, in milliseconds.
        at: i64,
        /// Options from now on.
        options: RunOptions,
    },
    /// A call is about to be made.
    Intent {
        /// Number of the step.
        step: u64,
        /// Time, in milliseconds.
        at: i64,
        /// The frame.
        #[serde(with = "keys::one")]
        frame: FrameId,
        /// Number of the attempt at the frame, from 1.
        attempt: u32,
        /// The call.
        act: RunAction,
    },
    /// A call was made.
    Outcome {
        /// Number of the step.
        step: u64,
        /// Time, in milliseconds.
        at: i64,
        /// Its outcome.
        done: ActionOutcome,
    },
    /// The turn that a prompt started has ended.
    TurnEnded {
        /// Number of the prompt's step.
        step: u64,
        /// Time, in milliseconds.
        at: i64,
        /// The host's record of it.
        report: Box<TurnReport>,
    },
    /// The consequences of a turn are in the project's journal.
    Applied {
        /// Number of the prompt's step.
        step: u64,
        /// Time, in milliseconds.
        at: i64,
        /// The verdict.
        verdict: Verdict,
    },
    /// A user's message for a frame was accepted.
    Spoken {
        /// Time, in milliseconds.
        at: i64,
        /// Id of the message, by which it is accepted once.
        id: String,
        /// The frame.
        #[serde(with = "keys::one")]
        frame: FrameId,
        /// The message.
        text: String,
    },
    /// A frame, or the whole run, is parked: nothing more is dispatched for it.
    Parked {
        /// Time, in milliseconds.
        at: i64,
        /// The frame; none for the whole run.
        #[serde(with = "keys::option")]
        frame: Option<FrameId>,
        /// Reason.
        reason: String,
        /// Time at which it can continue, in milliseconds, if known.
        until: Option<i64>,
    },
    /// The user was warned about a limit of a frame.
    Warned {
        /// Time, in milliseconds.
        at: i64,
        /// The frame.
        #[serde(with = "keys::one")]
        frame: FrameId,
        /// Name of the limit.
        limit: String,
    },
    /// The driver was at work until now. Written at most once a minute, so that a crash loses little
    /// of the run's time.
    Alive {
        /// Time, in milliseconds.
        at: i64,
    },
    /// The driver stopped.
    Ended {
        /// Time, in milliseconds.
        at: i64,
        /// Its state.
        ending: RunEnding,
    },
}

impl RunRecord {
    /// Returns true if the record must survive a loss of power before anything else is done. An outcome that
    /// is lost is looked up, and a turn is applied again with the same consequences.
    pub(crate) fn must_be_durable(&self) -> bool {
        !matches!(
            self,
            Self::Outcome { .. } | Self::Applied { .. } | Self::Alive { .. }
        )
    }

    /// Returns the time of the record.
    pub fn at(&self) -> i64 {
        match self {
            Self::Begun { at, .. }
            | Self::Resumed { at, .. }
            | Self::Intent { at, .. }
            | Self::Outcome { at, .. }
            | Self::TurnEnded { at, .. }
            | Self::Applied { at, .. }
            | Self::Spoken { at, .. }
            | Self::Parked { at, .. }
            | Self::Warned { at, .. }
            | Self::Alive { at }
            | Self::Ended { at, .. } => *at,
        }
    }
}

/// A call to the host, or a step with git.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "act")]
pub enum RunAction {
    /// Give the frame a worktree.
    Worktree {
        /// Its folder.
        folder: String,
        /// Its branch.
        branch: String,
    },
    /// Create a session.
    Session,
    /// Store the frame's context in its session.
    Context {
        /// Id of the message.
        message: String,
        /// Id of its part.
        part: String,
    },
    /// Prompt the session.
    Prompt {
        /// Id of the message.
        message: String,
        /// Ids of its parts.
        parts: Vec<String>,
        /// Reason for the prompt.
        why: PromptKind,
        /// Children whose outcome it reports.
        #[serde(with = "keys::many")]
        children: Vec<FrameId>,
        /// Messages of the user that it carries.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        spoken: Vec<String>,
    },
    /// Pass a message of the user to a session that is at work.
    Say {
        /// Id of the message.
        message: String,
        /// Id of its part.
        part: String,
        /// Id under which it was accepted.
        spoken: String,
    },
    /// Stop the session's turn.
    Stop,
    /// Merge the frame's worktree into its parent's.
    Merge,
}

/// Outcome of an action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "done")]
pub enum ActionOutcome {
    /// The call had its effect.
    Made,
    /// The session has this id.
    Session {
        /// The id.
        id: String,
    },
    /// The merge met conflicts, which a new frame is to resolve.
    Conflicts {
        /// Id of that frame.
        #[serde(with = "keys::one")]
        frame: FrameId,
        /// Files with conflicts.
        files: Vec<String>,
    },
    /// The call is not possible.
    Failed {
        /// Reason.
        reason: String,
    },
}

/// The host's record of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnReport {
    /// Kind of end.
    #[serde(flatten)]
    pub finish: TurnFinish,
    /// Text of the final message, at most [`TurnReport::TEXT_LIMIT`] bytes of it.
    pub text: String,
    /// Wishes of the session.
    pub signals: Vec<FrameSignal>,
    /// Spending.
    pub spent: Spending,
    /// Files that the turn changed.
    pub artifacts: Vec<String>,
}

impl TurnReport {
    /// Maximum length of a final message that is kept, in bytes.
    pub const TEXT_LIMIT: usize = 60_000;
}
