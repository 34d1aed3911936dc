//! Why a command was refused, and what to do instead.
//!
//! A refusal changes nothing. Its sentence says what was wrong in the words of the domain; its hint
//! names a call that would work, in the voice of whoever asked.

use crate::command::DEEPEST_PLAN;
use crate::frame::{FrameHead, Status};
use crate::id::{FrameId, SessionRef};
use crate::text::{Prose, TextProblem, Title, condense};

/// Why a command was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A text was not usable.
    #[error("{field} {problem}")]
    BadText {
        /// Which text.
        field: &'static str,
        /// What is wrong with it.
        problem: TextProblem,
    },
    /// What was given as a commit is no hash.
    #[error("“{}” is not a commit", condense(.text, 60))]
    NotACommit {
        /// What was given.
        text: String,
    },
    /// There is no frame of that name.
    #[error("there is no frame {id}")]
    NoSuchFrame {
        /// The name.
        id: FrameId,
    },
    /// No frame was named and the session works on none.
    #[error("{session} works on no frame")]
    NoActiveFrame {
        /// The session.
        session: SessionRef,
    },
    /// A drawn id is in use; the caller draws another.
    #[error("the id {id} is taken")]
    IdTaken {
        /// The id.
        id: FrameId,
    },
    /// The parent is finished or given up, so nothing can be added below it.
    #[error("{} is {}, so nothing can be added below it", shown(.parent), .parent.status)]
    ParentFinished {
        /// The parent.
        parent: FrameHead,
        /// The nearest frame above it that is in progress.
        open_above: Option<FrameId>,
    },
    /// The parent was not begun.
    #[error("{} is planned and was not begun", shown(.parent))]
    ParentPlanned {
        /// The parent.
        parent: FrameHead,
    },
    /// The frame, or one above it, waits for something.
    #[error("{} is blocked{}", shown(.frame), reason(.frame.blocked_on.as_ref()))]
    Blocked {
        /// The frame.
        frame: FrameHead,
    },
    /// It is already blocked.
    #[error("{} is blocked already{}", shown(.frame), reason(.frame.blocked_on.as_ref()))]
    AlreadyBlocked {
        /// The frame.
        frame: FrameHead,
    },
    /// Only a blocked frame can be unblocked.
    #[error("{} is {}, not blocked", shown(.frame), .frame.status)]
    NotBlocked {
        /// The frame.
        frame: FrameHead,
    },
    /// A planned frame cannot be popped or blocked.
    #[error("{} is planned and was not begun", shown(.frame))]
    NotBegun {
        /// The frame.
        frame: FrameHead,
    },
    /// The frame is finished or given up.
    #[error("{} is {} already", shown(.frame), .frame.status)]
    AlreadyFinished {
        /// The frame.
        frame: FrameHead,
    },
    /// A frame cannot be closed over open children.
    #[error("{} has {} open {}: {}", shown(.frame), .total, plural(*.total), listed(.children, *.total))]
    ChildrenOpen {
        /// The frame.
        frame: FrameHead,
        /// The first few of the open children.
        children: Vec<FrameHead>,
        /// How many there are.
        total: usize,
    },
    /// What a finished frame was meant to do stays as it was.
    #[error("{} is {}: what it was meant to do stays as it was", shown(.frame), .frame.status)]
    GoalIsHistory {
        /// The frame.
        frame: FrameHead,
    },
    /// Results belong to finished frames.
    #[error("{} is {} and has no results to correct", shown(.frame), .frame.status)]
    NoResultsYet {
        /// The frame.
        frame: FrameHead,
    },
    /// Finished work is history and is not given up afterwards.
    #[error("{} is {}: its results stand", shown(.frame), .frame.status)]
    FinishedStands {
        /// The frame.
        frame: FrameHead,
    },
    /// Nothing to change was named.
    #[error("nothing to change was named")]
    NothingToEdit,
    /// A plan without frames.
    #[error("the plan names no frame")]
    EmptyPlan,
    /// A plan with more levels than one command takes.
    #[error("the plan has more than {DEEPEST_PLAN} levels")]
    PlanTooDeep,
    /// Only planned frames can be moved or deleted.
    #[error("{} is {}: only planned frames can be {verb}", shown(.frame), .frame.status)]
    NotPlanned {
        /// The frame.
        frame: FrameHead,
        /// "moved" or "deleted".
        verb: &'static str,
    },
    /// A frame cannot be placed below itself.
    #[error("{} cannot be moved below {}", shown(.frame), around(.frame, .into))]
    Cycle {
        /// The frame.
        frame: FrameHead,
        /// Where it was to go.
        into: FrameHead,
    },
    /// A frame has no place beside itself.
    #[error("{} cannot be put before or after itself", shown(.frame))]
    BesideItself {
        /// The frame.
        frame: FrameHead,
    },
    /// Two siblings stand so close that nothing fits between.
    #[error("there is no room left beside {}", shown(.sibling))]
    NoRoom {
        /// The sibling.
        sibling: FrameHead,
    },
    /// The session has another frame.
    #[error("{session} is bound to {} already", shown(.frame))]
    SessionBound {
        /// The session.
        session: SessionRef,
        /// Its frame.
        frame: FrameHead,
    },
    /// The frame has another session.
    #[error("{} is bound to {session} already", shown(.frame))]
    FrameBound {
        /// The frame.
        frame: FrameHead,
        /// Its session.
        session: SessionRef,
    },
    /// The session has no frame to part from.
    #[error("{session} is bound to no frame")]
    NotBound {
        /// The session.
        session: SessionRef,
    },
    /// The session has no command left to take back.
    #[error("{session} has nothing to undo")]
    NothingToUndo {
        /// The session.
        session: SessionRef,
    },
    /// Somebody has built on what would be taken back.
    #[error(
        "the last command of {session} cannot be undone: {by} has worked on the same frame since"
    )]
    BuiltUpon {
        /// Whose command.
        session: SessionRef,
        /// Who came after.
        by: SessionRef,
    },
    /// What would come back belongs below a frame that has ended meanwhile.
    #[error(
        "the last command of {session} cannot be undone: what {} belongs to has ended meanwhile",
        shown(.frame)
    )]
    EndedMeanwhile {
        /// Whose command.
        session: SessionRef,
        /// What it would bring back, and where to.
        frame: FrameHead,
    },
    /// One message asks for a frame to be ended and another one to be begun.
    #[error("a pop and a push in one message: which comes first is not clear")]
    PopBesidePush,
    /// An imported frame does not fit into the tree.
    #[error("the import does not fit: {problem}")]
    BadImport {
        /// Why not.
        problem: String,
    },
}

/// Whose words a hint is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    /// A person at a terminal: `flame …`.
    Cli,
    /// An agent that calls tools: `stack_…`.
    Tool,
}

impl Refusal {
    /// What to do instead.
    pub fn hint(&self, voice: Voice) -> Option<String> {
        let hint = match self {
            Self::IdTaken { .. } | Self::BadImport { .. } => return None,
            Self::BadText { problem, .. } => way_out(problem, voice).to_owned(),
            Self::NotACommit { .. } => {
                "give its hash, as `git rev-parse HEAD` prints it".to_owned()
            }
            Self::NoSuchFrame { .. } => match voice {
                Voice::Cli => "`flame tree` shows the frames there are".to_owned(),
                Voice::Tool => "stack_tree shows the frames there are".to_owned(),
            },
            Self::NoActiveFrame { .. } => match voice {
                Voice::Cli => "name a frame, begin one with `flame push TITLE`, \
                     or turn to one with `flame activate ID`"
                    .to_owned(),
                Voice::Tool => "name a frame, begin one with stack_frame_push, \
                     or turn to one with stack_frame_activate"
                    .to_owned(),
            },
            Self::ParentFinished { open_above, .. } => match (voice, open_above) {
                (Voice::Cli, Some(above)) => {
                    format!("name {above} above it instead, which is in progress")
                }
                (Voice::Cli, None) => "use `--root` to begin a new tree".to_owned(),
                (Voice::Tool, Some(above)) => {
                    format!(
                        "{above} above it is in progress: call stack_frame_activate with it first"
                    )
                }
                (Voice::Tool, None) => "call stack_frame_push to begin a new tree".to_owned(),
            },
            Self::ParentPlanned { parent: frame } | Self::NotBegun { frame } => {
                format!(
                    "begin it with {}, or give it up with {}",
                    call(voice, "activate", &frame.id),
                    call(voice, "invalidate", &frame.id)
                )
            }
            Self::Blocked { frame } | Self::AlreadyBlocked { frame } => {
                format!("when the wait is over: `flame unblock {}`", frame.id)
            }
            Self::NotBlocked { frame } => match frame.status {
                Status::Planned | Status::InProgress => {
                    format!("turn to it with {}", call(voice, "activate", &frame.id))
                }
                _ => redo(voice),
            },
            Self::ChildrenOpen { children, .. } => match children.first() {
                Some(child) => {
                    let go_on = match child.status {
                        Status::Planned => {
                            format!("begin it with {}", call(voice, "activate", &child.id))
                        }
                        Status::Blocked => format!("unblock it with `flame unblock {}`", child.id),
                        _ => format!("finish it with {}", call(voice, "pop", &child.id)),
                    };
                    format!(
                        "{go_on}, or give it up with {}",
                        call(voice, "invalidate", &child.id)
                    )
                }
                None => return None,
            },
            Self::AlreadyFinished { .. } | Self::GoalIsHistory { .. } => redo(voice),
            Self::NoResultsYet { frame } => {
                format!(
                    "results are given when it ends: {}",
                    call(voice, "pop", &frame.id)
                )
            }
            Self::FinishedStands { frame } => format!(
                "correct what it says with `flame edit {} --results TEXT`, or {}",
                frame.id,
                redo(voice)
            ),
            Self::NothingToEdit => {
                "name what changes: `--title`, `--criteria`, `--criteria-compacted`, \
                 `--results` or `--results-compacted`"
                    .to_owned()
            }
            Self::PlanTooDeep => "plan the rest below its deepest frame afterwards".to_owned(),
            Self::EmptyPlan => "name at least one title".to_owned(),
            Self::NotPlanned { frame, verb } => begun(frame, verb, voice),
            Self::Cycle { .. } => "choose a place outside of it".to_owned(),
            Self::BesideItself { .. } => "name another frame".to_owned(),
            Self::NoRoom { .. } => "move one of its neighbours away first, then back".to_owned(),
            Self::SessionBound { session, .. } | Self::FrameBound { session, .. } => {
                format!("part them first: `flame unbind {session}`")
            }
            Self::NotBound { session } => format!("`flame bind ID {session}` binds it to a frame"),
            Self::PopBesidePush => "call one now and the other in the next message".to_owned(),
            Self::NothingToUndo { .. } => "undo takes back only what this session did".to_owned(),
            Self::BuiltUpon { .. } | Self::EndedMeanwhile { .. } => {
                "change what is there now instead: `flame log ID` shows what happened".to_owned()
            }
        };
        Some(hint)
    }
}

/// What to do about a frame that cannot be moved or deleted any more.
fn begun(frame: &FrameHead, verb: &str, voice: Voice) -> String {
    match frame.status {
        Status::InProgress | Status::Blocked if verb == "moved" => {
            "work that has begun stays in its place; what is to be done elsewhere can be planned \
             there"
                .to_owned()
        }
        Status::InProgress | Status::Blocked => {
            format!("give it up with {}", call(voice, "invalidate", &frame.id))
        }
        _ => redo(voice),
    }
}

/// What to do about a text that cannot be taken.
fn way_out(problem: &TextProblem, voice: Voice) -> &'static str {
    match (problem, voice) {
        (TextProblem::Empty, _) => "say it in a few words",
        (TextProblem::TitleTooLong { .. }, _) => "put the detail into the success criteria",
        (TextProblem::ProseTooLong { .. }, Voice::Cli) => {
            "keep the long text in the frame's log: `flame note log FILE`"
        }
        (TextProblem::ProseTooLong { .. }, Voice::Tool) => {
            "say it shorter, and name the file that holds the rest"
        }
        (TextProblem::Nul { .. }, _) => "remove it",
    }
}

/// A frame as a sentence names it: its id, which can be typed, and its title.
fn shown(frame: &FrameHead) -> String {
    format!("{} “{}”", frame.id, short(&frame.title))
}

/// Where a frame was to go that is itself or below it.
fn around(frame: &FrameHead, into: &FrameHead) -> String {
    if frame.id == into.id {
        "itself".to_owned()
    } else {
        format!("{}, which is below it", shown(into))
    }
}

fn short(title: &Title) -> String {
    condense(title.as_str(), 60)
}

fn reason(reason: Option<&Prose>) -> String {
    reason
        .map(|text| format!(" ({})", condense(text.as_str(), 80)))
        .unwrap_or_default()
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "child" } else { "children" }
}

fn listed(children: &[FrameHead], total: usize) -> String {
    let mut list: Vec<String> = children
        .iter()
        .map(|child| format!("{} ({})", shown(child), child.status))
        .collect();
    if total > children.len() {
        list.push(format!("and {} more", total - children.len()));
    }
    list.join(", ")
}

fn redo(voice: Voice) -> String {
    match voice {
        Voice::Cli => "push a new frame to do it again".to_owned(),
        Voice::Tool => "call stack_frame_push to do it again".to_owned(),
    }
}

/// A call by its verb, as the one who asked would make it.
fn call(voice: Voice, verb: &str, id: &FrameId) -> String {
    match (voice, verb) {
        (Voice::Cli, "pop") => format!("`flame pop --frame {id} RESULTS`"),
        (Voice::Cli, "invalidate") => format!("`flame invalidate {id} --reason WHY`"),
        (Voice::Cli, _) => format!("`flame {verb} {id}`"),
        (Voice::Tool, _) => format!("stack_frame_{verb} ({id})"),
    }
}
