//! What somebody wants to happen.
//!
//! Texts in a command are already checked, frames are already named by their full ids, and new ids
//! are already drawn. Whether the wish can be granted is [`crate::decide()`]'s to say.

use crate::compaction::{Checkpoint, Verdict};
use crate::context::Sending;
use crate::event::{Edit, Goal, Results};
use crate::frame::{Frame, LogEntry, Outcome};
use crate::id::{BlobId, FrameId, SessionRef};
use crate::note::Note;
use crate::session::{Description, Model};
use crate::text::Prose;

/// How many levels one plan may have. Trees may be deeper than that; nobody plans so far ahead, and
/// whoever carries a plan walks it level by level.
pub const DEEPEST_PLAN: usize = 100;

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// The conversation that asks.
    pub session: SessionRef,
    /// The worktree it runs in, where that is known.
    pub worktree: Option<String>,
    /// The host's message in which it asks, where the host names its messages.
    pub message: Option<String>,
}

/// A wish. Where `frame` is `None`, the session's active frame is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Open a frame and turn to it.
    Push {
        /// The name of the new frame.
        id: FrameId,
        /// Where it belongs.
        under: Under,
        /// What it is about.
        goal: Goal,
    },
    /// Finish a frame, or set it down as blocked, and return to its parent.
    Pop {
        /// Which.
        frame: Option<FrameId>,
        /// How it ends.
        outcome: Outcome,
        /// What came out of it.
        results: Results,
    },
    /// Open planned frames, each with its own planned frames below it.
    Plan {
        /// Where they belong.
        under: Under,
        /// The plan, in order.
        items: Vec<PlanItem>,
    },
    /// Turn to a frame, beginning it if it is planned.
    Activate {
        /// Which.
        frame: FrameId,
    },
    /// Let a frame wait.
    Block {
        /// Which.
        frame: Option<FrameId>,
        /// For what.
        reason: Prose,
    },
    /// End the wait.
    Unblock {
        /// Which.
        frame: FrameId,
    },
    /// Correct a goal or results.
    Edit {
        /// Which.
        frame: Option<FrameId>,
        /// How.
        edit: Edit,
    },
    /// Record what was learned.
    Note {
        /// Where.
        frame: Option<FrameId>,
        /// What.
        note: Note,
    },
    /// Attach raw text.
    Log {
        /// To which frame.
        frame: Option<FrameId>,
        /// Which text.
        entry: LogEntry,
    },
    /// Give up a frame and what is planned below it.
    Invalidate {
        /// Which.
        frame: Option<FrameId>,
        /// Why.
        reason: Prose,
    },
    /// Give a planned frame another parent or place.
    Move {
        /// Which.
        frame: FrameId,
        /// Where to.
        to: Place,
    },
    /// Take a planned frame out of the tree.
    Delete {
        /// Which.
        frame: FrameId,
    },
    /// Make a frame and a session one.
    Bind {
        /// Which frame.
        frame: FrameId,
        /// Which session.
        session: SessionRef,
    },
    /// Part them.
    Unbind {
        /// Which session.
        session: SessionRef,
    },
    /// Have a frame wait for a summary: to end with it, or only to have it.
    AwaitSummary {
        /// Which.
        frame: Option<FrameId>,
        /// How it ends then, if it does.
        outcome: Option<Outcome>,
        /// What came out of it, as far as that was said.
        given: Option<Results>,
        /// Why a summary is wanted.
        note: Option<Prose>,
    },
    /// End the wait of a frame with a text that stands for the summary.
    TakeSummary {
        /// Which.
        frame: FrameId,
        /// The text; none, if nothing is known that could stand for it.
        text: Option<Prose>,
    },
    /// Remember where the session stands before it is compacted.
    Checkpoint(Box<Checkpoint>),
    /// Remember what the session's summary kept, and give it to the frames that wait for it.
    Summarise(Box<Verdict>),
    /// Take back the session's last command.
    Undo,
    /// The host wound the session back: what happened in these messages and behind them counts no
    /// longer.
    Revert {
        /// The first message that counts no longer, and those behind it as far as they are known.
        messages: Vec<String>,
        /// Messages known to be in front of it; what is late of them stays.
        earlier: Vec<String>,
    },
    /// The host wound the session forward again.
    Unrevert,
    /// The host made the session as a copy of another one.
    Fork(Box<Fork>),
    /// The host deleted the session: what it left open is nothing to do any more.
    Archive,
    /// Bring in frames from a file.
    Import(Box<Import>),
    /// Forget raw text that was dropped.
    DropBlobs(Vec<(BlobId, u64)>),
    /// Remember what the host says of the session.
    Describe(Box<Description>),
    /// Remember which model the session talks to.
    UseModel(Model),
    /// Remember what the session is sent.
    Send(Box<Sending>),
}

/// A session that begins with messages of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    /// The session that it is a copy of.
    pub from: SessionRef,
    /// That one's messages and what the copy calls them, in order.
    pub messages: Vec<(String, String)>,
    /// Messages of the original behind those, which the copy does not have.
    pub later: Vec<String>,
    /// Names for the copy's frames. There are no more copies than that.
    pub ids: Vec<FrameId>,
}

/// Where new frames belong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Under {
    /// Below the session's active frame, else below its own frame, else nowhere.
    Active,
    /// Below this frame.
    Frame(FrameId),
    /// Below none: a new root.
    Root,
}

/// A planned frame and those below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanItem {
    /// The name of the new frame.
    pub id: FrameId,
    /// What it is about.
    pub goal: Goal,
    /// What is planned below it.
    pub children: Vec<PlanItem>,
}

/// Where a frame is moved to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The last place below a frame.
    Under(FrameId),
    /// The last place among the roots.
    Root,
    /// Just before a sibling-to-be.
    Before(FrameId),
    /// Just after a sibling-to-be.
    After(FrameId),
}

/// Frames from a file, parents before children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The file's kind and content hash.
    pub source: String,
    /// What the file said besides its frames, as JSON.
    pub foreign: String,
    /// The frames.
    pub frames: Vec<Frame>,
    /// Sessions that the file knows, with their worktrees.
    pub sessions: Vec<(SessionRef, Option<String>)>,
    /// Which session worked on which frame.
    pub focus: Vec<(SessionRef, FrameId)>,
}
