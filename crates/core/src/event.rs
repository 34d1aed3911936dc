//! Events: the facts that the journal keeps.
//!
//! An event has everything that is needed to fold it. The store decides how it is written down;
//! [`crate::fold`] defines its meaning for frames, [`crate::session::life`] for sessions.

mod rewrite;
mod traits;

pub use traits::{EventTraits, Subject};

use crate::author::Author;
use crate::autonomy::{Suggestion, SuggestionState};
use crate::compaction::{AnchorReport, Checkpoint};
use crate::delivery::Sending;
use crate::frame::{Frame, LogEntry, Origin, Outcome, Rank, Status};
use crate::id::{BlobId, Fingerprint, FrameId, Seq, SessionRef, Timestamp};
use crate::note::Note;
use crate::session::checkpoint::{
    CallOutcome, CallStart, InterruptionCause, InterruptionCheckpoint, ProcessIdentity,
};
use crate::session::link::{Creation, LinkKind};
use crate::session::{ActivitySnapshot, Description, Model};
use crate::stall::Stall;
use crate::subagent::{EndedBy, SubagentEnd, SubagentStart};
use crate::text::{Text, Title};
use crate::transcript::Usage;

/// An event with its place in the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Place in the journal.
    pub seq: Seq,
    /// First event of the same command; the events of one command are recorded and undone together.
    pub batch: Seq,
    /// Time of recording.
    pub at: Timestamp,
    /// The session that caused it.
    pub session: SessionRef,
    /// The host's message that caused it, where the host names its messages.
    pub message: Option<String>,
    /// Its author.
    pub by: Author,
    /// The event itself.
    pub event: Event,
}

/// A fact of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A session was seen for the first time.
    SessionOpened {
        /// The session.
        session: SessionRef,
        /// The worktree that it runs in.
        worktree: Option<String>,
    },
    /// A session changed its active frame.
    SessionFocused {
        /// The session.
        session: SessionRef,
        /// The frame that it worked on before.
        from: Option<FrameId>,
        /// The frame that it works on now.
        to: Option<FrameId>,
    },
    /// A session was bound to a frame, which stands for the whole session.
    SessionBound {
        /// The session.
        session: SessionRef,
        /// The frame.
        frame: FrameId,
    },
    /// A session was unbound from its frame.
    SessionUnbound {
        /// The session.
        session: SessionRef,
        /// The frame.
        frame: FrameId,
    },
    /// The user sent a message to a session.
    SessionPrompted {
        /// The session.
        session: SessionRef,
        /// The words of a prompt that arrived while a turn ran, so that the model has not seen it yet.
        queued: Option<Text>,
    },
    /// A turn of a session ended normally.
    TurnEnded {
        /// The session.
        session: SessionRef,
        /// The model's last words.
        said: Option<Text>,
    },
    /// A turn of a session was stopped before its end.
    SessionInterrupted {
        /// The session.
        session: SessionRef,
        /// The host's description of the interruption.
        how: Option<Text>,
        /// Cause of the interruption.
        cause: InterruptionCause,
    },
    /// The host replaced the history of a session by a summary.
    SessionCompacted {
        /// The session.
        session: SessionRef,
        /// True if the host started the compaction, not the user.
        automatic: bool,
        /// Size of the prompt before, in tokens.
        tokens_before: Option<u64>,
    },
    /// The session that caused it is about to be compacted, in this state.
    CompactionBegun(Box<Checkpoint>),
    /// The summary exists; the report lists the anchors that it kept and lost.
    CompactionChecked(Box<AnchorReport>),
    /// A frame waits for a summary: to be closed with it, or to keep it.
    SummaryAwaited {
        /// The frame.
        frame: FrameId,
        /// Outcome with which the frame is closed once the summary arrives; none if it stays open.
        outcome: Option<Outcome>,
        /// Results given so far.
        given: Option<Results>,
        /// Reason for the summary.
        note: Option<Text>,
        /// End of the wait. Events from before deadlines existed have none.
        until: Option<Timestamp>,
    },
    /// A frame received a summary of its work so far, and waits for none.
    SummaryArrived {
        /// The frame.
        frame: FrameId,
        /// The summary; none if the wait ended without one.
        summary: Option<Text>,
    },
    /// A model call of a session was charged.
    SessionSpent {
        /// The session.
        session: SessionRef,
        /// Its cost.
        usage: Usage,
    },
    /// The host reverted a session to before a message: these of its events no longer count until it
    /// restores the session. The next prompt makes the revert final.
    SessionReverted {
        /// The session.
        session: SessionRef,
        /// The host's name of the first reverted message.
        to: String,
        /// Events that no longer count.
        masked: Vec<Seq>,
        /// The session's active frame before the revert.
        active_before: Option<FrameId>,
        /// The session's activity before the revert.
        activity_before: ActivitySnapshot,
        /// The session's activity without the reverted events.
        activity_after: ActivitySnapshot,
    },
    /// The host restored a reverted session.
    SessionRestored {
        /// The session.
        session: SessionRef,
        /// The revert that is undone.
        reverted: Seq,
        /// Events that count again. Others stay masked because another session has built on their absence.
        unmasked: Vec<Seq>,
        /// The session's activity after the restore.
        activity_after: ActivitySnapshot,
    },
    /// A session was started as a subagent, by another session or by one that the host does not name.
    SubagentStarted(Box<SubagentStart>),
    /// A subagent ended.
    SubagentEnded {
        /// Its session.
        session: SessionRef,
        /// Kind of end.
        end: SubagentEnd,
        /// Its output, if no frame holds it.
        output: Option<Text>,
        /// Reporter of the end.
        ended_by: EndedBy,
    },
    /// A session began or stopped waiting for the user.
    SessionWaiting {
        /// The session.
        session: SessionRef,
        /// Object of the wait; none once the user has answered.
        on: Option<Text>,
    },
    /// Flamestack is about to continue a session that was cut off. Recorded before the prompt is sent:
    /// an attempt that dies with its host has been made nevertheless.
    ResumeBegun {
        /// The session.
        session: SessionRef,
    },
    /// The work of a session repeats itself, in this way; or no longer does.
    SessionStalled {
        /// The session.
        session: SessionRef,
        /// The evidence; none once the stall is over.
        stall: Option<Stall>,
    },
    /// Entries of a session were ingested, and are not recorded again.
    ///
    /// Every ingest has one of these. Undo skips such commands: what was observed did happen.
    EntriesIngested {
        /// The session.
        session: SessionRef,
        /// Fingerprints of the entries.
        marks: Vec<Fingerprint>,
    },
    /// A frame was opened, planned or in progress.
    FrameOpened {
        /// Its id.
        frame: FrameId,
        /// Its parent.
        parent: Option<FrameId>,
        /// Its place among its siblings.
        rank: Rank,
        /// True if the frame is only planned; false if work starts immediately.
        planned: bool,
        /// Reason for the frame.
        origin: Origin,
        /// Its goal.
        goal: Goal,
    },
    /// Work on a planned frame started.
    FrameStarted {
        /// The frame.
        frame: FrameId,
    },
    /// A frame was popped as completed or failed.
    FrameClosed {
        /// The frame.
        frame: FrameId,
        /// Completed or failed; `Blocked` is [`Event::FrameBlocked`].
        outcome: Closing,
        /// Its results.
        results: Results,
        /// Open descendants closed with it: the plan of a failed frame, and frames that only mirror the
        /// host's lists.
        cascaded: Vec<FrameId>,
    },
    /// A frame was blocked.
    FrameBlocked {
        /// The frame.
        frame: FrameId,
        /// The thing that it is waiting for.
        reason: Text,
        /// Results so far, if it was popped as blocked.
        results: Option<Results>,
    },
    /// A frame was unblocked.
    FrameUnblocked {
        /// The frame.
        frame: FrameId,
        /// True if it was not started before it was blocked, and is planned again.
        planned: bool,
    },
    /// The finished frame of a subagent was reopened: the subagent was given more work.
    FrameReopened {
        /// The frame.
        frame: FrameId,
    },
    /// Goal or results were edited; only fields that are `Some` changed.
    FrameEdited {
        /// The frame.
        frame: FrameId,
        /// The changed fields.
        edit: Edit,
    },
    /// A frame and the planned frames below it were invalidated.
    FrameInvalidated {
        /// The frame.
        frame: FrameId,
        /// Reason.
        reason: Text,
        /// The planned descendants invalidated with it.
        cascaded: Vec<FrameId>,
    },
    /// An open frame got another parent or rank.
    FrameMoved {
        /// The frame.
        frame: FrameId,
        /// Its new parent.
        parent: Option<FrameId>,
        /// Its new rank.
        rank: Rank,
    },
    /// A planned frame was deleted with the frames below it.
    FrameDeleted {
        /// The frame.
        frame: FrameId,
        /// Its descendants.
        with: Vec<FrameId>,
    },
    /// A note was recorded.
    Noted {
        /// The frame.
        frame: FrameId,
        /// The note.
        note: Note,
    },
    /// Raw text was attached to a frame.
    Logged {
        /// The frame.
        frame: FrameId,
        /// Reference to the text.
        entry: LogEntry,
    },
    /// A whole frame was imported from a file.
    FrameImported {
        /// The frame.
        frame: Box<Frame>,
    },
    /// A fork got its own copy of a frame of the original session: an open one to continue, or a
    /// finished one with its results.
    FrameCopied {
        /// The original frame.
        of: FrameId,
        /// The copy.
        frame: Box<Frame>,
    },
    /// A file was imported; its content beyond frames is kept as JSON for export.
    StackImported {
        /// Kind and content hash of the file, to recognise it.
        source: String,
        /// The rest of the file.
        foreign: String,
    },
    /// A command was undone: its events no longer count.
    CommandUndone {
        /// The first event of the command.
        batch: Seq,
    },
    /// Raw text was dropped to keep the store small.
    BlobDropped {
        /// The text.
        blob: BlobId,
        /// Its uncompressed size.
        bytes: u64,
    },
    /// Text was erased from the journal and the raw texts, at the user's request.
    TextForgotten {
        /// Number of places in the journal.
        places: u64,
        /// Number of raw texts.
        texts: u64,
    },
    /// A command made a session.
    SessionCreated(Box<Creation>),
    /// A session was linked to another one, or the link was removed.
    SessionLinked {
        /// The session.
        session: SessionRef,
        /// Kind of the link.
        kind: LinkKind,
        /// The other one; none for a session that has no parent from now on.
        to: Option<SessionRef>,
        /// True if the link was removed.
        removed: bool,
    },
    /// A session was deleted in its host, or closed by a command.
    SessionClosed {
        /// The session.
        session: SessionRef,
        /// Reason.
        why: Option<Text>,
    },
    /// A process of the host serves the session that caused this event.
    SessionHosted(ProcessIdentity),
    /// A tool call of the session that caused this event began.
    CallBegun(Box<CallStart>),
    /// A tool call of the session that caused this event ended.
    CallEnded {
        /// The host's id of the call.
        call: String,
        /// Its outcome.
        outcome: CallOutcome,
    },
    /// The session that caused this event was interrupted, in this state.
    InterruptionKept(Box<InterruptionCheckpoint>),
    /// The host described the session that caused this event.
    SessionDescribed(Box<Description>),
    /// The session that caused this event uses a model.
    ModelUsed(Model),
    /// The session that caused this event was sent a context, or nothing.
    ContextSent(Box<Sending>),
    /// A suggestion was made in the session that caused this event.
    SuggestionMade(Box<Suggestion>),
    /// A suggestion of the session was answered, or what followed answered it.
    SuggestionAnswered {
        /// The event that made it.
        suggestion: Seq,
        /// Its state from now on.
        state: SuggestionState,
    },
    /// The user wants no suggestions in the session that caused this event for a while.
    SuggestionsSnoozed {
        /// Number of prompts of the session at which suggestions resume.
        until: u64,
    },
    /// The counts of all heuristics begin again.
    SuggestionsReset,
}

/// Goal of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal {
    /// Title.
    pub title: Title,
    /// Definition of "done".
    pub criteria: Option<Text>,
    /// Dense version of the criteria, where one was given.
    pub criteria_compacted: Option<Text>,
}

/// Results of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Results {
    /// Full text.
    pub full: Text,
    /// Dense version, where one was given.
    pub compacted: Option<Text>,
}

/// Kind of end of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// The goal was reached.
    Completed,
    /// The goal was not reached.
    Failed,
}

impl Closing {
    /// Returns the status of a frame that ended so.
    pub fn status(self) -> Status {
        match self {
            Self::Completed => Outcome::Completed.status(),
            Self::Failed => Outcome::Failed.status(),
        }
    }
}

/// Changes to a frame; only fields that are `Some` change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    /// New title.
    pub title: Option<Title>,
    /// New criteria.
    pub criteria: Option<Text>,
    /// Their compacted form. New criteria without one remove the old compacted form.
    pub criteria_compacted: Option<Text>,
    /// New results.
    pub results: Option<Text>,
    /// Their compacted form. New results without one remove the old compacted form.
    pub results_compacted: Option<Text>,
}

/// Prefix of the reason left on the planned frames below an invalidated one.
pub const CASCADE_PREFIX: &str = "Parent frame invalidated: ";
/// Prefix of the reason left on the planned frames below a failed one.
pub const FAILED_PREFIX: &str = "Parent frame failed: ";
/// Prefix of the reason left on mirrored frames below a completed one.
pub const COMPLETED_PREFIX: &str = "Parent frame completed: ";

impl Event {
    /// Returns the frames that this event closes besides its own, and the reason left on them.
    pub fn cascade(&self) -> Option<(Text, &[FrameId])> {
        let (prefix, reason, cascaded) = match self {
            Self::FrameInvalidated {
                reason, cascaded, ..
            } => (CASCADE_PREFIX, reason.as_str().to_owned(), cascaded),
            Self::FrameClosed {
                outcome,
                results,
                cascaded,
                ..
            } => {
                let compacted = results
                    .compacted
                    .as_ref()
                    .map(|text| text.as_str().to_owned());
                let prefix = match outcome {
                    Closing::Failed => FAILED_PREFIX,
                    Closing::Completed => COMPLETED_PREFIX,
                };
                (
                    prefix,
                    compacted.unwrap_or_else(|| results.full.compacted()),
                    cascaded,
                )
            }
            _ => return None,
        };
        let marked = Text::new(&format!("{prefix}{reason}"));
        // A reason of nearly the maximum length leaves no room for the prefix.
        let reason = marked.or_else(|_| Text::new(&reason)).ok()?;
        Some((reason, cascaded))
    }
}
