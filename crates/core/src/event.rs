//! What happened: the facts that the journal keeps.
//!
//! An event says everything that is needed to fold it. How it is written down is the store's
//! business; [`crate::tree`] says what it means.

mod rewrite;

use crate::compaction::{Checkpoint, Verdict};
use crate::context::{Delivery, Sending};
use crate::frame::{Frame, LogEntry, Origin, Outcome, Rank, Status};
use crate::id::{BlobId, FrameId, Mark, Seq, SessionRef, Timestamp};
use crate::note::Note;
use crate::session::{Description, Glimpse, Model};
use crate::subagent::{End, Start};
use crate::text::{Prose, Title};
use crate::transcript::Usage;

/// A fact, with its place in the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Its place.
    pub seq: Seq,
    /// The first event of the same command; the events of one command stand or fall together.
    pub batch: Seq,
    /// When it was recorded.
    pub at: Timestamp,
    /// Who caused it.
    pub session: SessionRef,
    /// The host's message in which it was caused, where the host names its messages.
    pub message: Option<String>,
    /// What happened.
    pub event: Event,
}

/// A fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A conversation was seen for the first time.
    SessionOpened {
        /// The conversation.
        session: SessionRef,
        /// The worktree it runs in.
        worktree: Option<String>,
    },
    /// A conversation turned to another frame, or to none.
    SessionFocused {
        /// The conversation.
        session: SessionRef,
        /// What it worked on before.
        from: Option<FrameId>,
        /// What it works on now.
        to: Option<FrameId>,
    },
    /// A conversation and a frame became one.
    SessionBound {
        /// The conversation.
        session: SessionRef,
        /// The frame.
        frame: FrameId,
    },
    /// They parted.
    SessionUnbound {
        /// The conversation.
        session: SessionRef,
        /// The frame.
        frame: FrameId,
    },
    /// A person spoke to a conversation.
    SessionPrompted {
        /// The conversation.
        session: SessionRef,
    },
    /// A turn of a conversation came to its ordinary end.
    SessionTurned {
        /// The conversation.
        session: SessionRef,
        /// What the model said last.
        said: Option<Prose>,
    },
    /// The user stopped the work of a conversation.
    SessionInterrupted {
        /// The conversation.
        session: SessionRef,
        /// How, in the host's words.
        how: Option<Prose>,
    },
    /// The host replaced the history of a conversation by a summary.
    SessionCompacted {
        /// The conversation.
        session: SessionRef,
        /// Whether the host did so by itself.
        automatic: bool,
        /// How large the prompt was before.
        tokens_before: Option<u64>,
    },
    /// The conversation that caused it is about to be compacted; this is where it stood.
    CompactionBegun(Box<Checkpoint>),
    /// Its summary is there, and this is what it kept and lost.
    CompactionChecked(Box<Verdict>),
    /// A frame waits for a summary: to be completed with it, or to have it.
    SummaryAwaited {
        /// The frame.
        frame: FrameId,
        /// How it ends once the summary is there; none, if it goes on.
        outcome: Option<Outcome>,
        /// What was said to have come out of it.
        given: Option<Results>,
        /// Why a summary is wanted.
        note: Option<Prose>,
    },
    /// A frame has a summary of what happened in it so far, and waits for none.
    SummaryArrived {
        /// The frame.
        frame: FrameId,
        /// The summary; none, if nobody waits for it any more.
        summary: Option<Prose>,
    },
    /// A model call of a conversation cost something.
    SessionSpent {
        /// The conversation.
        session: SessionRef,
        /// What.
        usage: Usage,
    },
    /// The host wound a conversation back to before a message: some of its events count no longer,
    /// until it is wound forward again. Its next prompt makes that final.
    SessionReverted {
        /// The conversation.
        session: SessionRef,
        /// The host's name of the first message that counts no longer.
        to: String,
        /// The events.
        masked: Vec<Seq>,
        /// What the conversation worked on until then.
        stood: Option<FrameId>,
        /// What was seen of it until then.
        was: Glimpse,
        /// What was seen of it as far as it still counts.
        seen: Glimpse,
    },
    /// The host wound a conversation forward again.
    SessionRestored {
        /// The conversation.
        session: SessionRef,
        /// The event that wound it back.
        reverted: Seq,
        /// The events that count again. Others stay out where somebody has built on their absence.
        shown: Vec<Seq>,
        /// What was seen of the conversation, all in all.
        seen: Glimpse,
    },
    /// A conversation was given work by another one, or by a host that does not say by whom.
    SubagentStarted(Box<Start>),
    /// It ended.
    SubagentEnded {
        /// The conversation.
        session: SessionRef,
        /// How.
        end: End,
        /// What it handed over, where no frame holds that.
        output: Option<Prose>,
    },
    /// A conversation began to wait for the user, or waits no longer.
    SessionWaiting {
        /// The conversation.
        session: SessionRef,
        /// For what; nothing, once the user has answered.
        on: Option<Prose>,
    },
    /// Things were seen of a conversation, and are not to be recorded again.
    ///
    /// Every command that records what was seen has one of these: what was seen happened, and
    /// undo does not take it back.
    SessionWitnessed {
        /// The conversation.
        session: SessionRef,
        /// The things.
        marks: Vec<Mark>,
    },
    /// A frame came into being, planned or at once in progress.
    FrameOpened {
        /// Its name.
        frame: FrameId,
        /// The frame it is part of.
        parent: Option<FrameId>,
        /// Its place among its siblings.
        rank: Rank,
        /// Whether work began at once.
        planned: bool,
        /// Why it is there.
        origin: Origin,
        /// What it is about.
        goal: Goal,
    },
    /// Work on a planned frame began.
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
        /// What came out of it.
        results: Results,
        /// Planned descendants that went with a failed frame, and open ones that only mirror what
        /// the host shows.
        cascaded: Vec<FrameId>,
    },
    /// A frame began to wait for something.
    FrameBlocked {
        /// The frame.
        frame: FrameId,
        /// What it waits for.
        reason: Prose,
        /// What was found so far, when it was popped as blocked.
        results: Option<Results>,
    },
    /// The wait is over.
    FrameUnblocked {
        /// The frame.
        frame: FrameId,
    },
    /// A finished frame of a subagent is worked on again: its host gave it more to do.
    FrameReopened {
        /// The frame.
        frame: FrameId,
    },
    /// Goal or results were corrected; only what is `Some` changed.
    FrameEdited {
        /// The frame.
        frame: FrameId,
        /// What changed.
        edit: Edit,
    },
    /// A frame is no longer wanted, and with it the planned frames below it.
    FrameInvalidated {
        /// The frame.
        frame: FrameId,
        /// Why.
        reason: Prose,
        /// The planned descendants that went with it.
        cascaded: Vec<FrameId>,
    },
    /// A planned frame got another parent or place.
    FrameMoved {
        /// The frame.
        frame: FrameId,
        /// Its parent from now on.
        parent: Option<FrameId>,
        /// Its place from now on.
        rank: Rank,
    },
    /// A planned frame left the tree, and with it the frames below it.
    FrameDeleted {
        /// The frame.
        frame: FrameId,
        /// Its descendants.
        with: Vec<FrameId>,
    },
    /// Something was learned.
    Noted {
        /// In which frame.
        frame: FrameId,
        /// What.
        note: Note,
    },
    /// Raw text was kept.
    Logged {
        /// For which frame.
        frame: FrameId,
        /// Which text.
        entry: LogEntry,
    },
    /// A whole frame was brought in from a file.
    FrameImported(Box<Frame>),
    /// A frame of another conversation is part of one that its host made as a copy of that: a frame
    /// that was open there, to go on with, or what a finished one came to.
    FrameCopied {
        /// The frame that it is a copy of.
        of: FrameId,
        /// The frame.
        frame: Box<Frame>,
    },
    /// A file was brought in; what it said besides its frames, as JSON, for export.
    StackImported {
        /// The file's kind and content hash, so that the same file is known again.
        source: String,
        /// The rest of the file.
        foreign: String,
    },
    /// A command was taken back: its events count no longer.
    CommandUndone {
        /// The first event of the command.
        batch: Seq,
    },
    /// Raw text was dropped to keep the store small.
    BlobDropped {
        /// Which.
        blob: BlobId,
        /// Its size, uncompressed.
        bytes: u64,
    },
    /// The host describes the conversation that caused it.
    SessionDescribed(Box<Description>),
    /// The conversation that caused it talks to a model.
    ModelUsed(Model),
    /// The conversation that caused it was sent something about the stack, or nothing.
    ContextSent(Box<Sending>),
}

/// What a frame is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal {
    /// A short name.
    pub title: Title,
    /// What defines "done".
    pub criteria: Option<Prose>,
    /// The dense version of it, where one was given.
    pub criteria_compacted: Option<Prose>,
}

/// What came out of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Results {
    /// In full.
    pub full: Prose,
    /// In dense form, where one was given.
    pub compacted: Option<Prose>,
}

/// How a frame was finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// The goal was reached.
    Completed,
    /// It was not.
    Failed,
}

impl Closing {
    /// The status that a frame has afterwards.
    pub fn status(self) -> Status {
        match self {
            Self::Completed => Outcome::Completed.status(),
            Self::Failed => Outcome::Failed.status(),
        }
    }
}

/// A correction; only what is `Some` changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    /// The new title.
    pub title: Option<Title>,
    /// The new criteria.
    pub criteria: Option<Prose>,
    /// Their dense version. New criteria without it take the old dense version away.
    pub criteria_compacted: Option<Prose>,
    /// The new results.
    pub results: Option<Prose>,
    /// Their dense version. New results without it take the old dense version away.
    pub results_compacted: Option<Prose>,
}

/// The prefix of the reason that a cascade leaves on the frames it takes along.
pub const CASCADE_PREFIX: &str = "Parent frame invalidated: ";
/// The same for the planned frames of a frame that failed.
pub const FAILED_PREFIX: &str = "Parent frame failed: ";
/// The same for what only mirrored the host's lists below a frame that was completed.
pub const COMPLETED_PREFIX: &str = "Parent frame completed: ";

impl Event {
    /// The planned frames that this event takes along, and the reason it leaves on them.
    pub fn cascade(&self) -> Option<(Prose, &[FrameId])> {
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
        let marked = Prose::new(&format!("{prefix}{reason}"));
        // Only a reason that already fills all the room there is fails to take the prefix.
        let reason = marked.or_else(|_| Prose::new(&reason)).ok()?;
        Some((reason, cascaded))
    }
}

/// What an event is about. Undo asks: has anyone touched what this command changed?
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A frame whose state the event changes.
    Frame(FrameId),
    /// A frame that the event needs to be there, such as the new parent of a frame that moves. The
    /// parent of a new frame is not among them: the new frame's own place tells.
    Support(FrameId),
    /// A session whose state the event changes.
    Session(SessionRef),
}

impl Event {
    /// The frames whose state the event changes.
    pub fn frames(&self) -> impl Iterator<Item = FrameId> {
        self.subjects()
            .into_iter()
            .filter_map(|subject| match subject {
                Subject::Frame(id) => Some(id),
                Subject::Support(_) | Subject::Session(_) => None,
            })
    }

    /// Everything the event is about.
    pub fn subjects(&self) -> Vec<Subject> {
        let frame = |id: &FrameId| Subject::Frame(id.clone());
        let support = |id: &FrameId| Subject::Support(id.clone());
        match self {
            Self::SessionOpened { session, .. } => vec![Subject::Session(session.clone())],
            Self::SessionBound { session, frame: id }
            | Self::SessionUnbound { session, frame: id } => {
                vec![Subject::Session(session.clone()), frame(id)]
            }
            Self::FrameMoved {
                frame: id, parent, ..
            } => {
                let mut subjects = vec![frame(id)];
                subjects.extend(parent.as_ref().map(support));
                subjects
            }
            Self::FrameOpened { frame: id, .. }
            | Self::FrameStarted { frame: id }
            | Self::FrameBlocked { frame: id, .. }
            | Self::FrameUnblocked { frame: id }
            | Self::FrameReopened { frame: id }
            | Self::FrameEdited { frame: id, .. }
            | Self::SummaryAwaited { frame: id, .. }
            | Self::SummaryArrived { frame: id, .. }
            | Self::Noted { frame: id, .. }
            | Self::Logged { frame: id, .. } => vec![frame(id)],
            Self::FrameClosed {
                frame: id,
                cascaded: others,
                ..
            }
            | Self::FrameInvalidated {
                frame: id,
                cascaded: others,
                ..
            }
            | Self::FrameDeleted {
                frame: id,
                with: others,
            } => std::iter::once(id).chain(others).map(frame).collect(),
            Self::FrameImported(imported)
            | Self::FrameCopied {
                frame: imported, ..
            } => {
                let mut subjects = vec![frame(&imported.id)];
                subjects.extend(imported.parent.as_ref().map(support));
                subjects
            }
            // Where a session stands is not in the way of an undo unless it stands there still, which
            // the rules look at; nobody builds on what was seen of a conversation or sent to it.
            Self::SessionFocused { .. }
            | Self::SessionPrompted { .. }
            | Self::SessionTurned { .. }
            | Self::SessionInterrupted { .. }
            | Self::SessionCompacted { .. }
            | Self::CompactionBegun(_)
            | Self::CompactionChecked(_)
            | Self::SessionSpent { .. }
            | Self::SessionReverted { .. }
            | Self::SessionRestored { .. }
            | Self::SubagentStarted(_)
            | Self::SubagentEnded { .. }
            | Self::SessionWaiting { .. }
            | Self::SessionWitnessed { .. }
            | Self::StackImported { .. }
            | Self::CommandUndone { .. }
            | Self::BlobDropped { .. }
            | Self::SessionDescribed(_)
            | Self::ModelUsed(_)
            | Self::ContextSent(_) => Vec::new(),
        }
    }

    /// Whether it goes with its message when a conversation is wound back. What a conversation
    /// cost, that it was summarised and what its host says of it stay facts; so does its header,
    /// which no message holds.
    pub fn goes_with_its_message(&self) -> bool {
        match self {
            Self::SessionFocused { .. }
            | Self::SessionBound { .. }
            | Self::SessionUnbound { .. }
            | Self::SessionPrompted { .. }
            | Self::SessionTurned { .. }
            | Self::SessionInterrupted { .. }
            | Self::FrameOpened { .. }
            | Self::FrameStarted { .. }
            | Self::FrameClosed { .. }
            | Self::FrameBlocked { .. }
            | Self::FrameUnblocked { .. }
            | Self::FrameEdited { .. }
            | Self::FrameInvalidated { .. }
            | Self::FrameMoved { .. }
            | Self::FrameDeleted { .. }
            | Self::Noted { .. }
            | Self::FrameReopened { .. }
            | Self::SummaryAwaited { .. }
            | Self::SummaryArrived { .. }
            | Self::Logged { .. } => true,
            Self::ContextSent(sending) => !matches!(sending.delivery, Delivery::Header(_)),
            Self::SessionOpened { .. }
            | Self::SessionCompacted { .. }
            | Self::CompactionBegun(_)
            | Self::CompactionChecked(_)
            | Self::SessionSpent { .. }
            | Self::SessionReverted { .. }
            | Self::SessionRestored { .. }
            | Self::SubagentStarted(_)
            | Self::SubagentEnded { .. }
            | Self::SessionWaiting { .. }
            | Self::SessionWitnessed { .. }
            | Self::FrameImported(_)
            | Self::FrameCopied { .. }
            | Self::StackImported { .. }
            | Self::CommandUndone { .. }
            | Self::BlobDropped { .. }
            | Self::SessionDescribed(_)
            | Self::ModelUsed(_) => false,
        }
    }

    /// Whether a command of which this is part is what somebody means by "my last command". Files
    /// brought in, texts dropped and what hosts report are facts, and no undo takes them back.
    pub fn can_be_undone(&self) -> bool {
        !matches!(
            self,
            Self::StackImported { .. }
                | Self::FrameCopied { .. }
                | Self::CommandUndone { .. }
                | Self::BlobDropped { .. }
                | Self::SessionReverted { .. }
                | Self::SessionRestored { .. }
                | Self::SessionWitnessed { .. }
                | Self::CompactionBegun(_)
                | Self::CompactionChecked(_)
                | Self::SubagentStarted(_)
                | Self::SubagentEnded { .. }
                | Self::SessionDescribed(_)
                | Self::ModelUsed(_)
                | Self::ContextSent(_)
        )
    }
}
