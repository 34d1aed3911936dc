//! Commands: requests to change the tree.
//!
//! Texts in a command are checked, frames are named by their full ids, and new ids are drawn.
//! [`crate::decide()`] grants or refuses it.

use crate::author::Author;
use crate::autonomy::{Suggestion, SuggestionState};
use crate::compaction::{AnchorReport, Checkpoint, Summary, SummaryClaims};
use crate::delivery::Sending;
use crate::event::{Edit, Goal, Results};
use crate::frame::{Frame, LogEntry, Outcome};
use crate::id::{BlobId, FrameId, Seq, SessionRef, Timestamp};
use crate::note::Note;
use crate::session::checkpoint::{InterruptionCause, InterruptionCheckpoint, ProcessIdentity};
use crate::session::link::{Creation, LinkKind};
use crate::session::{Description, Model};
use crate::text::Text;

/// Maximum number of levels in one plan. Trees may be deeper; a plan is walked recursively by its
/// callers.
pub const DEEPEST_PLAN: usize = 100;

/// The session that issues a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// The session.
    pub session: SessionRef,
    /// The worktree that it runs in, where it is known.
    pub worktree: Option<String>,
    /// The host's message that issues the command, where the host names its messages.
    pub message: Option<String>,
    /// The author of the command.
    pub by: Author,
}

/// A command. Where `frame` is `None`, it means the session's active frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Open a frame and focus it.
    Push {
        /// Id of the new frame.
        id: FrameId,
        /// Its parent.
        under: Under,
        /// Its goal.
        goal: Goal,
    },
    /// Finish a frame, or block it, and return to its parent.
    Pop {
        /// The frame.
        frame: Option<FrameId>,
        /// Outcome.
        outcome: Outcome,
        /// Results.
        results: Results,
    },
    /// Open planned frames, each with its own planned frames below it.
    Plan {
        /// Their parent.
        under: Under,
        /// The plan, in order.
        items: Vec<PlanItem>,
    },
    /// Focus a frame, and start it if it is planned or blocked.
    Activate(FrameId),
    /// Block a frame.
    Block {
        /// The frame.
        frame: Option<FrameId>,
        /// The thing that it is waiting for.
        reason: Text,
    },
    /// Unblock a frame.
    Unblock(FrameId),
    /// Edit a goal or results.
    Edit {
        /// The frame.
        frame: Option<FrameId>,
        /// The changes.
        edit: Edit,
    },
    /// Record a note.
    Note {
        /// The frame.
        frame: Option<FrameId>,
        /// The note.
        note: Note,
    },
    /// Attach raw text.
    Log {
        /// The frame.
        frame: Option<FrameId>,
        /// Reference to the text.
        entry: LogEntry,
        /// The note that the text is about: both are one command, and undone together.
        note: Option<Note>,
    },
    /// Give up a frame and what is planned below it.
    Invalidate {
        /// The frame.
        frame: Option<FrameId>,
        /// Reason.
        reason: Text,
    },
    /// Give an open frame another parent or rank.
    Move {
        /// The frame.
        frame: FrameId,
        /// Its new place.
        to: Place,
    },
    /// Delete a planned frame.
    Delete(FrameId),
    /// Bind a session to a frame.
    Bind {
        /// The frame.
        frame: FrameId,
        /// The session.
        session: SessionRef,
    },
    /// Unbind a session from its frame.
    Unbind(SessionRef),
    /// Make a frame wait for a summary: to be closed with it, or to keep it.
    AwaitSummary {
        /// The frame.
        frame: Option<FrameId>,
        /// Outcome with which it is closed then; none if it stays open.
        outcome: Option<Outcome>,
        /// Results given so far.
        given: Option<Results>,
        /// Reason for the summary.
        note: Option<Text>,
        /// End of the wait: the frame then gets a summary made from its record.
        until: Timestamp,
    },
    /// Give a frame a summary of its record, and close it if it has an outcome. In one command, so that one
    /// undo takes all of it back.
    SummarizeNow {
        /// The frame.
        frame: Option<FrameId>,
        /// Outcome with which it is closed; none if it stays open.
        outcome: Option<Outcome>,
        /// Results given so far.
        given: Option<Results>,
        /// The summary; none if nothing is recorded.
        summary: Option<Box<Summary>>,
    },
    /// End the wait of a frame for a summary.
    TakeSummary {
        /// The frame.
        frame: FrameId,
        /// The summary, or a text made from the frame's record; none if nothing is recorded.
        summary: Option<Box<Summary>>,
        /// Ends only a wait whose deadline is over at this time; none ends any wait.
        if_over: Option<Timestamp>,
    },
    /// Record the state of the session before it is compacted.
    Checkpoint(Box<Checkpoint>),
    /// Record which anchors the session's summary kept, and hand it to the frames that wait for it.
    Summarise {
        /// The summary and its anchors.
        report: Box<AnchorReport>,
        /// Claims of the summary about the frames that end with it.
        claims: SummaryClaims,
    },
    /// Undo the session's last command.
    Undo,
    /// Mask the events of reverted messages: the host reverted the session to before the first of
    /// them.
    Revert {
        /// The first reverted message, and the later ones that are known.
        messages: Vec<String>,
        /// Messages known to be before it; late events of theirs still count.
        earlier: Vec<String>,
    },
    /// Unmask them: the host restored the session.
    Unrevert,
    /// Copy the frames of the session that this one was forked from.
    Fork(Box<Fork>),
    /// Give up what the session left open: the host deleted it.
    Archive,
    /// Import frames from a file.
    Import(Box<Import>),
    /// Record that raw text was dropped.
    DropBlobs(Vec<(BlobId, u64)>),
    /// Make a session, or describe one that its host has just made.
    CreateSession {
        /// The session.
        creation: Box<Creation>,
        /// Its parent.
        parent: Option<SessionRef>,
    },
    /// Link a session to another one, or remove the link.
    LinkSession {
        /// The session.
        session: SessionRef,
        /// Kind of the link.
        kind: LinkKind,
        /// The other one; none for a session that has no parent from now on.
        to: Option<SessionRef>,
        /// True to remove the link.
        removed: bool,
    },
    /// Close a session.
    CloseSession {
        /// The session.
        session: SessionRef,
        /// Reason.
        why: Option<Text>,
    },
    /// Record that the session was interrupted, if a turn runs.
    Interrupt {
        /// Cause.
        cause: InterruptionCause,
        /// Description.
        how: Option<Text>,
    },
    /// Record the state of the session at its interruption.
    KeepInterruption(Box<InterruptionCheckpoint>),
    /// Record the host's process that serves the session.
    HostSession(ProcessIdentity),
    /// Record that Flamestack is about to continue the session after an interruption.
    BeginResume,
    /// Record the host's description of the session.
    Describe(Box<Description>),
    /// Record the model that the session uses.
    UseModel(Model),
    /// Record what the session is sent.
    Send(Box<Sending>),
    /// Record a suggestion.
    Suggest(Box<Suggestion>),
    /// Record what became of a suggestion.
    AnswerSuggestion {
        /// The event that made it.
        suggestion: Seq,
        /// Its state from now on.
        state: SuggestionState,
    },
    /// Make no suggestions in the session for a while.
    Snooze {
        /// Number of prompts of the session at which suggestions resume.
        until: u64,
    },
    /// Begin the counts of all heuristics again.
    ResetSuggestions,
}

/// A session that begins with messages of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    /// The session that it was forked from.
    pub from: SessionRef,
    /// Pairs of the original's messages and the fork's, in order.
    pub messages: Vec<(String, String)>,
    /// Later messages of the original, which the fork does not have.
    pub later: Vec<String>,
    /// Ids for the fork's frames, and thereby their maximum number.
    pub ids: Vec<FrameId>,
}

/// Parent of new frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Under {
    /// The session's active frame, else its own frame, else none.
    Active,
    /// This frame.
    Frame(FrameId),
    /// None: a new root.
    Root,
}

/// A planned frame and those below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanItem {
    /// Id of the new frame.
    pub id: FrameId,
    /// Its goal.
    pub goal: Goal,
    /// Frames planned below it.
    pub children: Vec<PlanItem>,
}

/// New place of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Last below a frame.
    Under(FrameId),
    /// Last among the roots.
    Root,
    /// Just before a frame.
    Before(FrameId),
    /// Just after a frame.
    After(FrameId),
}

/// Frames from a file, parents before children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// Kind and content hash of the file.
    pub source: String,
    /// Content of the file beyond frames, as JSON.
    pub foreign: String,
    /// The frames.
    pub frames: Vec<Frame>,
    /// Sessions that the file knows, with their worktrees.
    pub sessions: Vec<(SessionRef, Option<String>)>,
    /// Active frames of sessions.
    pub focus: Vec<(SessionRef, FrameId)>,
}
