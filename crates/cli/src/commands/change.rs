//! The commands that change frames: arguments in, a request to the engine out.

use clap::{Args, Subcommand, ValueEnum};
use flamestack_core::{Outcome, SessionRef};
use flamestack_engine::EngineError;
use flamestack_engine::request::{EditInput, GoalInput, MoveTarget, ParentInput, Request};
use flamestack_engine::views::{receipt, status};

use super::{execute, note, plan, text_or_stdin};
use crate::command_context::CommandContext;
use crate::complete;
use crate::failure::Failure;
use crate::output::Output;

#[derive(Subcommand)]
pub(crate) enum Change {
    /// Open a new frame under the active one and switch to it
    #[command(aliases = ["add", "new"])]
    Push {
        /// A short name for the work, 2 to 5 words; `-` reads standard input
        title: String,
        /// The success criteria: what defines "done"; `-` reads standard input
        #[arg(short, long, value_name = "TEXT")]
        criteria: Option<String>,
        /// The criteria in compacted form (derived when absent)
        #[arg(long, value_name = "TEXT")]
        criteria_compacted: Option<String>,
        /// Open it below this frame
        #[arg(short, long, value_name = "FRAME", conflicts_with = "root", add = complete::frames())]
        parent: Option<String>,
        /// Start a new tree
        #[arg(long)]
        root: bool,
    },
    /// Finish the active frame with its results and return to its parent
    #[command(visible_alias = "done", aliases = ["finish", "close"])]
    Pop {
        /// The results: what was done or learned; `-` reads standard input. Optional with
        /// `--summarize`
        #[arg(required_unless_present = "summarize")]
        results: Option<String>,
        /// Append a summary of the frame's recorded work to the results, or use it instead of them
        #[arg(long)]
        summarize: bool,
        /// The outcome
        #[arg(short, long, value_enum, default_value_t = PopStatus::Completed)]
        status: PopStatus,
        /// The results in compacted form (derived when absent)
        #[arg(long, value_name = "TEXT")]
        compacted: Option<String>,
        /// Finish this frame instead of the active one
        #[arg(short, long, value_name = "FRAME", add = complete::frames())]
        frame: Option<String>,
    },
    /// Save a summary of a frame as a checkpoint; the frame stays open
    ///
    /// Uses no model. `flame show` prints the summary until the frame has results.
    Summarize {
        /// The frame (default: the active one)
        #[arg(add = complete::frames())]
        frame: Option<String>,
        /// The reason, in a few words
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    Plan(plan::Plan),
    /// Switch to a frame, starting it if it is planned or blocked
    #[command(visible_alias = "start")]
    Activate {
        /// The frame; `-` for the one that was active before
        #[arg(add = complete::frames())]
        frame: String,
    },
    /// Switch to the next planned frame: the first one below the active frame, or next to it
    Next,
    Note(note::Note),
    /// Correct a frame's goal, or the results of a finished one
    ///
    /// Every version stays in the frame's log.
    Edit {
        /// The frame (default: the active one)
        #[arg(add = complete::frames())]
        frame: Option<String>,
        /// The new title
        #[arg(short, long, value_name = "TEXT")]
        title: Option<String>,
        /// The new criteria; `-` reads standard input
        #[arg(short, long, value_name = "TEXT")]
        criteria: Option<String>,
        /// The new criteria in compacted form
        #[arg(long, value_name = "TEXT")]
        criteria_compacted: Option<String>,
        /// The new results; `-` reads standard input
        #[arg(short, long, value_name = "TEXT")]
        results: Option<String>,
        /// The new results in compacted form
        #[arg(long, value_name = "TEXT")]
        results_compacted: Option<String>,
    },
    /// Mark a frame as blocked and return to its parent
    ///
    /// Planned work can be blocked too. `flame activate` resumes a blocked frame.
    Block {
        /// The reason, such as the thing it is waiting for
        reason: String,
        /// The frame (default: the active one)
        #[arg(short, long, value_name = "FRAME", add = complete::frames())]
        frame: Option<String>,
    },
    /// Unblock a frame, returning it to in progress or planned
    Unblock {
        /// The frame
        #[arg(add = complete::frames())]
        frame: String,
    },
    /// Abandon a frame and everything planned under it
    ///
    /// Work in progress below it is reported and left alone; finished work stays as it is.
    #[command(aliases = ["abandon", "cancel"])]
    Invalidate {
        /// The frame (default: the active one)
        #[arg(add = complete::frames())]
        frame: Option<String>,
        /// The reason why it is no longer wanted
        #[arg(short, long, value_name = "WHY")]
        reason: String,
    },
    /// Move an open frame to another parent or position
    ///
    /// Work in progress moves with everything below it, to another frame in progress or to the top.
    Move {
        /// The frame
        #[arg(add = complete::frames())]
        frame: String,
        #[command(flatten)]
        to: To,
    },
    /// Delete a planned frame and everything under it
    #[command(visible_alias = "rm")]
    Delete {
        /// The frame
        #[arg(add = complete::frames())]
        frame: String,
    },
    /// Bind an agent session to a frame
    ///
    /// The session's name then means the frame wherever a frame is named. If the session works on no
    /// frame, it switches to this one.
    Bind {
        /// The frame
        #[arg(add = complete::frames())]
        frame: String,
        /// The session, as `host:id`
        #[arg(value_name = "SESSION", add = complete::sessions())]
        bound: String,
    },
    /// Unbind an agent session from its frame
    Unbind {
        /// The session, as `host:id`
        #[arg(value_name = "SESSION", add = complete::sessions())]
        bound: String,
    },
    /// Undo this session's last command
    ///
    /// Run it again to undo the one before. There is no redo. Refused if the work of another session
    /// depends on the command. Nothing is removed from the journal.
    Undo,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum PopStatus {
    /// The goal was reached
    Completed,
    /// The goal was not reached and will not be; planned frames below are invalidated
    Failed,
    /// It waits for something; the frame can be resumed
    Blocked,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
pub(crate) struct To {
    /// Put it last below this frame
    #[arg(short, long, value_name = "FRAME", add = complete::frames())]
    under: Option<String>,
    /// Make it a root
    #[arg(long)]
    root: bool,
    /// Put it just before this frame
    #[arg(short, long, value_name = "FRAME", add = complete::frames())]
    before: Option<String>,
    /// Put it just after this frame
    #[arg(short, long, value_name = "FRAME", add = complete::frames())]
    after: Option<String>,
}

impl Change {
    pub(crate) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        match self {
            Self::Note(note) => return note.run(ctx, output),
            Self::Plan(plan) => return plan.run(ctx, output),
            _ => {}
        }
        let is_undo = matches!(self, Self::Undo);
        let this = match self {
            Self::Activate { frame } if frame == "-" => Self::Activate {
                frame: previous(ctx)?,
            },
            Self::Next => Self::Activate { frame: next(ctx)? },
            other => other,
        };
        for request in this.requests()? {
            execute(ctx, output, &request)?;
        }
        if is_undo && output.is_terminal() {
            output.dim("`flame undo` again undoes the command before it; there is no redo")?;
        }
        Ok(())
    }

    /// Returns the requests to the engine, in order; more than one for several notes.
    pub(crate) fn requests(self) -> Result<Vec<Request>, Failure> {
        Ok(vec![match self {
            Self::Push {
                title,
                criteria,
                criteria_compacted,
                parent,
                root,
            } => Request::Push {
                parent: parent_of(parent, root),
                goal: GoalInput {
                    title: text_or_stdin(&title)?,
                    criteria: given(criteria)?,
                    criteria_compacted,
                },
            },
            Self::Pop {
                results,
                summarize,
                status,
                compacted,
                frame,
            } => {
                let outcome = status.into();
                match given(results)? {
                    Some(results) if !summarize => Request::Pop {
                        frame,
                        outcome,
                        results,
                        compacted,
                    },
                    results => Request::AwaitSummary {
                        frame,
                        outcome: Some(outcome),
                        results,
                        compacted,
                        note: None,
                    },
                }
            }
            Self::Summarize { frame, note } => Request::AwaitSummary {
                frame,
                outcome: None,
                results: None,
                compacted: None,
                note,
            },
            Self::Plan(plan) => plan.request()?,
            Self::Activate { frame } => Request::Activate(frame),
            // Which frame that is depends on the session: `run` has replaced it.
            Self::Next => return Err(EngineError::Internal("`next` was not resolved").into()),
            Self::Note(note) => return note.requests(),
            Self::Edit {
                frame,
                title,
                criteria,
                criteria_compacted,
                results,
                results_compacted,
            } => Request::Edit {
                frame,
                edit: EditInput {
                    title,
                    criteria: given(criteria)?,
                    criteria_compacted,
                    results: given(results)?,
                    results_compacted,
                },
            },
            Self::Block { reason, frame } => Request::Block { frame, reason },
            Self::Unblock { frame } => Request::Unblock(frame),
            Self::Invalidate { frame, reason } => Request::Invalidate { frame, reason },
            Self::Move { frame, to } => Request::Move {
                frame,
                to: to.into(),
            },
            Self::Delete { frame } => Request::Delete(frame),
            Self::Bind { frame, bound } => Request::Bind {
                frame,
                session: session(&bound)?,
            },
            Self::Unbind { bound } => Request::Unbind(session(&bound)?),
            Self::Undo => Request::Undo,
        }])
    }
}

/// Returns the frame in progress that was active before.
fn previous(ctx: &CommandContext) -> Result<String, Failure> {
    let session = &ctx.actor.session;
    let frame = ctx
        .engine
        .read(|reading| receipt::previous(reading, session))?;
    frame.map(|frame| frame.id.to_string()).ok_or_else(|| {
        Failure::refused(
            "no other frame in progress was active here before",
            "`flame tree` shows the frames",
        )
    })
}

/// Returns the next planned frame.
fn next(ctx: &CommandContext) -> Result<String, Failure> {
    let session = &ctx.actor.session;
    let standing = ctx
        .engine
        .read(|reading| status::gather(reading, Some(session), ""))?;
    // Without an active frame that is refused like any command that needs one.
    if standing.is_empty() {
        ctx.active_frame()?;
    }
    let next = standing.into_iter().find_map(|standing| standing.next);
    next.map(|frame| frame.id.to_string()).ok_or_else(|| {
        Failure::refused(
            "nothing is planned below the active frame or next to it",
            "plan something with `flame plan TITLE`, or finish the frame with `flame pop RESULTS`",
        )
    })
}

/// Returns a text option, or standard input if its value is `-`.
pub(super) fn given(text: Option<String>) -> Result<Option<String>, Failure> {
    text.map(|text| text_or_stdin(&text)).transpose()
}

/// Returns the parent of new frames from the flags `--parent` and `--root`.
pub(super) fn parent_of(parent: Option<String>, root: bool) -> ParentInput {
    match parent {
        Some(name) => ParentInput::Named(name),
        None if root => ParentInput::Root,
        None => ParentInput::Active,
    }
}

fn session(name: &str) -> Result<SessionRef, Failure> {
    Ok(name.parse().map_err(EngineError::BadSession)?)
}

impl From<PopStatus> for Outcome {
    fn from(status: PopStatus) -> Self {
        match status {
            PopStatus::Completed => Self::Completed,
            PopStatus::Failed => Self::Failed,
            PopStatus::Blocked => Self::Blocked,
        }
    }
}

impl From<To> for MoveTarget {
    fn from(to: To) -> Self {
        match (to.under, to.before, to.after) {
            (Some(parent), _, _) => Self::Under(parent),
            (_, Some(sibling), _) => Self::Before(sibling),
            (_, _, Some(sibling)) => Self::After(sibling),
            (None, None, None) => Self::Root,
        }
    }
}
