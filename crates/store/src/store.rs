//! What a store does, in the words of the domain.
//!
//! Two traits, so that a second engine is two `impl`s: [`Reading`] answers questions about one
//! point of the journal, [`Store`] hands out such readings and takes commands.

use std::path::PathBuf;

use flamestack_core::command::Actor;
use flamestack_core::compaction::Compaction;
use flamestack_core::context::Directive;
use flamestack_core::decide::{Decision, Rejected, Remark};
use flamestack_core::event::{Event, Recorded};
use flamestack_core::frame::{Frame, FrameHead, Origin, Rank, Status};
use flamestack_core::id::{FrameId, Seq, SessionRef, Timestamp};
use flamestack_core::subagent::Run;
use flamestack_core::{Neighbourhood, Session};

use crate::error::StoreError;

/// Why a command changed nothing.
pub type Rejection = Rejected<StoreError>;

/// What answers with one step of a command after the other.
pub type NextStep<'a> = dyn FnMut(&dyn Reading) -> Result<Option<Step>, Rejection> + 'a;

/// A journal with its projections.
pub trait Store: Send {
    /// Decides and records one command.
    ///
    /// The decision is made on the state that it is appended to: no other writer, in this process
    /// or another, comes between. The events, redacted, and their effect on every projection
    /// become durable together, or not at all; once this returns `Ok`, they survive the death of
    /// the process and the loss of power.
    fn commit(
        &mut self,
        at: Timestamp,
        actor: &Actor,
        decide: &mut dyn FnMut(&dyn Reading) -> Result<Decision, Rejection>,
    ) -> Result<Committed, Rejection>;

    /// Decides and records one command of several steps, each decided on the state that the steps
    /// before it led to. The steps become durable together, or not at all. `next` answers `None`
    /// when there is nothing left to do.
    fn commit_steps(&mut self, next: &mut NextStep<'_>) -> Result<Vec<Recorded>, Rejection>;

    /// What of the store this is: as long as two answers are equal, nobody, in this process or
    /// another, has written in between. Cheap enough to ask before every answer from a cache:
    /// no state is read from disk.
    fn version(&self) -> Result<Version, StoreError>;

    /// Answers questions about one point of the journal, whatever others write meanwhile.
    fn read(
        &self,
        work: &mut dyn FnMut(&dyn Reading) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;

    /// Folds the journal into fresh projections and puts them in place of the old ones.
    /// `progress` hears how many events of how many are folded.
    fn rebuild(&mut self, progress: &mut dyn FnMut(u64, u64)) -> Result<Rebuilt, StoreError>;

    /// Proves or disproves that journal and projections are whole and agree. Changes nothing.
    fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Verified, StoreError>;
}

/// Questions about one point of the journal.
pub trait Reading: Neighbourhood<Error = StoreError> {
    /// The last event.
    fn position(&self) -> Result<Seq, StoreError>;
    /// What a typed name stands for: a frame id or the beginning of one, a former id, or a session
    /// (`host:id` or its bare id), which means the frame bound to it.
    fn named(&self, name: &str) -> Result<Named, StoreError>;
    /// A frame with everything recorded about it.
    fn whole_frame(&self, id: &FrameId) -> Result<Option<Frame>, StoreError>;
    /// Frames below a frame or at the root, in order, without their notes.
    fn rows(&self, slice: &Slice) -> Result<Vec<FrameRow>, StoreError>;
    /// How many children a frame has, or how many roots there are, by status.
    fn child_totals(&self, parent: Option<&FrameId>) -> Result<Totals, StoreError>;
    /// How many siblings come before a frame, of the statuses that somebody has on its level.
    fn siblings_before(&self, frame: &FrameHead, level: &Totals) -> Result<u64, StoreError>;
    /// The first planned child of a frame behind a rank, or at all.
    fn next_planned(
        &self,
        parent: &FrameId,
        behind: Option<Rank>,
    ) -> Result<Option<FrameHead>, StoreError>;
    /// Frames with their notes, in the order asked for and without those that are not there. Logs
    /// and former names are left out.
    fn frames_with_notes(&self, ids: &[FrameId]) -> Result<Vec<Frame>, StoreError>;
    /// A frame and those above it, itself first, with their notes and each with the totals of its
    /// children; at most `limit`, and nobody twice, whatever damage has done to the tree.
    fn path(&self, frame: &FrameId, limit: usize) -> Result<Vec<(Frame, Totals)>, StoreError>;
    /// The root above a frame, and how many frames there are above it.
    fn top(&self, frame: &FrameId) -> Result<Option<(FrameId, usize)>, StoreError>;
    /// The children of a frame that have a status, in order and without their notes, at most
    /// `limit`.
    fn standing(
        &self,
        parent: &FrameId,
        status: Status,
        limit: usize,
    ) -> Result<Vec<Frame>, StoreError>;
    /// The children of a frame that were completed or failed, whichever is asked for; the ones that
    /// ended last, the very last first, at most `limit`.
    fn ended(
        &self,
        parent: &FrameId,
        status: Status,
        limit: usize,
    ) -> Result<Vec<Ended>, StoreError>;
    /// The same as frames with their notes.
    fn ended_with_notes(
        &self,
        parent: &FrameId,
        status: Status,
        limit: usize,
    ) -> Result<Vec<Frame>, StoreError>;
    /// The completed and failed children of a frame that changed after a point.
    fn ended_since(&self, parent: &FrameId, after: Seq) -> Result<Vec<FrameId>, StoreError>;
    /// Whether anything was taken back, or taken up again, after a point.
    fn undone_since(&self, after: Seq) -> Result<bool, StoreError>;
    /// What the user said in a frame, newest first, at most `limit`.
    fn directives(&self, frame: &FrameId, limit: usize) -> Result<Vec<Directive>, StoreError>;
    /// How many frames there are in all, by status.
    fn totals(&self) -> Result<Totals, StoreError>;
    /// All frames without their notes, parents before their children where ranks allow.
    fn all_rows(
        &self,
        each: &mut dyn FnMut(FrameRow) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;
    /// All sessions, or only those that work on a frame.
    fn sessions(&self, live_only: bool) -> Result<Vec<Session>, StoreError>;
    /// All subagents, or those that have not ended, first to last.
    fn runs(&self, in_flight_only: bool) -> Result<Vec<Run>, StoreError>;
    /// What happened to a frame, oldest first.
    fn history(&self, frame: &FrameId) -> Result<Vec<Recorded>, StoreError>;
    /// Events after a point, at most `limit`, oldest first.
    fn events_after(&self, after: Seq, limit: usize) -> Result<Vec<Recorded>, StoreError>;
    /// The last delivery to a session, even one of nothing.
    fn last_sent(&self, session: &SessionRef) -> Result<Option<Recorded>, StoreError>;
    /// The delivery to a session in one of its messages, since its last header.
    fn sent_with(
        &self,
        session: &SessionRef,
        message: &str,
    ) -> Result<Option<Recorded>, StoreError>;
    /// What a session has been sent: its last header and the updates behind it, oldest first.
    fn sent(&self, session: &SessionRef) -> Result<Vec<Recorded>, StoreError>;
    /// What the compactions of a session came to, oldest first, the last `limit` of them.
    fn compactions(
        &self,
        session: &SessionRef,
        limit: usize,
    ) -> Result<Vec<Compaction>, StoreError>;
    /// What brought-in files said besides their frames, newest last.
    fn imports(&self) -> Result<Vec<String>, StoreError>;
    /// When and why raw text was dropped.
    fn dropped(&self, blob: &str) -> Result<Option<(Seq, u64)>, StoreError>;
    /// The frames of a session that were completed or failed after a point, in that order, without
    /// the frame that is the session itself.
    fn finished_spans(
        &self,
        session: &SessionRef,
        after: Seq,
    ) -> Result<Vec<FinishedSpan>, StoreError>;
    /// All raw text that the journal speaks of, sorted.
    fn blobs(&self) -> Result<Vec<String>, StoreError>;
    /// The raw text of finished frames that is still there, oldest frame first: blob and size.
    fn droppable(&self) -> Result<Vec<(String, u64)>, StoreError>;
}

/// One step of a command.
#[derive(Clone, Debug)]
pub struct Step {
    /// When it happened.
    pub at: Timestamp,
    /// Who caused it.
    pub actor: Actor,
    /// What happens.
    pub events: Vec<Event>,
}

/// What of a store somebody has seen. Only good for comparing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Changes with everybody else's commits.
    pub(crate) others: i64,
    /// Changes with our own.
    pub(crate) own: u64,
}

/// A finished frame and the messages that it began and ended in, where those are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedSpan {
    /// The frame.
    pub frame: FrameId,
    /// The message in which work began.
    pub first: Option<String>,
    /// The message in which it ended.
    pub last: Option<String>,
    /// The event that ended it.
    pub closed: Seq,
    /// Why it is there.
    pub origin: Origin,
}

/// A frame that ended, and its place in the order in which frames did.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ended {
    /// The event that ended it, or where that is unknown, the last one that changed it.
    pub at: Seq,
    /// Its place among its siblings, for frames that one command ended.
    pub rank: Rank,
    /// The frame.
    pub id: FrameId,
}

/// A command that was recorded.
#[derive(Clone, Debug)]
pub struct Committed {
    /// Its events as recorded, that is, redacted. Empty if the wish was fulfilled already.
    pub events: Vec<Recorded>,
    /// What to tell the one who asked.
    pub remarks: Vec<Remark>,
}

impl Committed {
    /// The events without their envelopes.
    pub fn facts(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().map(|recorded| &recorded.event)
    }
}

/// What a typed name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// One frame.
    Frame(FrameId),
    /// Several frames begin like this; the first few of them.
    Ambiguous(Vec<(FrameId, String)>),
    /// A session that is known but has no frame of its own.
    Unbound(SessionRef),
    /// A frame that was deleted or whose opening was undone.
    Gone(FrameId),
    /// Nothing.
    Unknown,
}

/// Which frames to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Below which frame; none for the roots.
    pub parent: Option<FrameId>,
    /// Only open or only finished ones.
    pub open: Option<bool>,
    /// At most so many.
    pub limit: Option<usize>,
    /// The last ones instead of the first. The order stays the same.
    pub last: bool,
}

/// A line of a listing: a frame and how much is recorded about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameRow {
    /// The frame, without notes, log and aliases.
    pub frame: Frame,
    /// How many pieces of evidence speak for it.
    pub proofs: u64,
    /// How many speak against it: commands and tests that failed.
    pub failures: u64,
}

/// Numbers of frames by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals([u64; 6]);

impl Totals {
    /// How many have a status.
    pub fn of(&self, status: Status) -> u64 {
        let place = Status::ALL.iter().position(|known| *known == status);
        place
            .and_then(|place| self.0.get(place))
            .copied()
            .unwrap_or_default()
    }

    /// Adds to the number of a status.
    pub fn add(&mut self, status: Status, count: u64) {
        self.set(status, self.of(status) + count);
    }

    /// Says how many have a status.
    pub fn set(&mut self, status: Status, count: u64) {
        let place = Status::ALL.iter().position(|known| *known == status);
        if let Some(slot) = place.and_then(|place| self.0.get_mut(place)) {
            *slot = count;
        }
    }

    /// All of them.
    pub fn all(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Planned, in progress or blocked.
    pub fn open(&self) -> u64 {
        Status::ALL
            .into_iter()
            .filter(|status| status.is_open())
            .map(|s| self.of(s))
            .sum()
    }
}

/// What a rebuild did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// Events folded.
    pub events: u64,
    /// Frames there are now.
    pub frames: u64,
}

/// What was brought back from a damaged store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Events brought back.
    pub events: u64,
    /// Events known to be missing.
    pub lost: u64,
    /// Whether the file was shorter than it once was: what stood at its end is gone, and nobody
    /// knows how much that was.
    pub cut: bool,
}

impl Recovered {
    /// Whether nothing is known to be missing.
    pub fn is_whole(&self) -> bool {
        self.events > 0 && self.lost == 0 && !self.cut
    }
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Events in the journal.
    pub events: u64,
    /// Frames in the projections.
    pub frames: u64,
    /// What is wrong; nothing, if all is well.
    pub findings: Vec<Finding>,
}

/// Something that is wrong with a store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Finding {
    /// The database engine's own check.
    #[error("the database is damaged: {0}")]
    Damaged(String),
    /// An event is not what was written.
    #[error("event {seq} is not what was written: {problem}")]
    Altered {
        /// Its place in the journal.
        seq: i64,
        /// What is wrong.
        problem: String,
    },
    /// Events are missing in between.
    #[error("{} missing after event {after}", if *.missing == 1 { "an event is".to_owned() } else { format!("{missing} events are") })]
    Gap {
        /// The event before the gap.
        after: i64,
        /// How many.
        missing: i64,
    },
    /// The store cannot be written.
    #[error("the store can be read, but not written: {}", path.display())]
    ReadOnly {
        /// The database file.
        path: PathBuf,
    },
    /// A projection says something else than the journal.
    #[error("the projection `{table}` differs from the journal in {rows} rows")]
    Disagrees {
        /// Which projection.
        table: String,
        /// In how many rows.
        rows: u64,
    },
}
