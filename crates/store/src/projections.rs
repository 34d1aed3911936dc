//! The projections: the current state, folded from the journal, and the questions asked about it.
//!
//! Projections are always SQLite, whatever the journal is: they are local, disposable and answer many
//! questions. [`Reading`] is a snapshot of them; the rules ask through its supertrait [`TreeQuery`].

use std::collections::BTreeMap;

use flamestack_core::autonomy::{Heuristic, SuggestionState, Tally};
use flamestack_core::compaction::Compaction;
use flamestack_core::event::Recorded;
use flamestack_core::frame::{Awaiting, Frame, FrameHead, FrameStanding, Origin, Rank, Status};
use flamestack_core::id::{BlobId, Fingerprint, FrameId, Seq, SessionRef, Timestamp};
use flamestack_core::note::{Directive, Note};
use flamestack_core::session::checkpoint::InterruptionCheckpoint;
use flamestack_core::session::life::{Life, Transition};
use flamestack_core::session::link::SessionLink;
use flamestack_core::subagent::SubagentRun;
use flamestack_core::text::Title;
use flamestack_core::{Session, TreeQuery};

use crate::error::{Result, StoreError};
use crate::identity::StoreId;

/// Tables folded from the journal.
pub trait Projections {
    /// Applies one event.
    fn apply(&self, event: &Recorded) -> Result<()>;
    /// Returns a view of the current state.
    fn reading(&self) -> &dyn Reading;
}

/// A snapshot of the projections at one point of the journal.
pub trait Reading: TreeQuery<Error = StoreError> + LifeReading + SuggestionReading {
    /// Returns the sequence number of the last event.
    fn position(&self) -> Result<Seq>;
    /// Resolves a typed name: a frame id or a prefix of one, a former id, or a session (`host:id` or
    /// its bare id), which means the frame bound to it.
    fn named(&self, name: &str) -> Result<NameMatch>;
    /// Returns the first few frames with a title, in any case (of the letters A to Z), or with a title
    /// that begins like that: open ones first.
    fn titled(&self, title: &str, or_longer: bool) -> Result<Vec<(FrameId, String)>>;
    /// Returns a frame with everything recorded about it, but at most the newest 10,000 notes and 4 MB of
    /// them, so that no view is too large. [`Reading::note_count`] says how many there are.
    fn whole_frame(&self, id: &FrameId) -> Result<Option<Frame>>;
    /// Returns the number of notes of a frame.
    fn note_count(&self, id: &FrameId) -> Result<u64>;
    /// Returns a frame with its log, but without notes and former names.
    fn frame_with_log(&self, id: &FrameId) -> Result<Option<Frame>>;
    /// Visits the notes of a frame, in order and one in memory at a time, until `each` returns false.
    fn visit_notes(
        &self,
        frame: &FrameId,
        each: &mut dyn FnMut(Note) -> Result<bool>,
    ) -> Result<()>;
    /// Lists children of a frame, or roots, in order and without their notes.
    fn rows(&self, slice: &Slice) -> Result<Vec<FrameRow>>;
    /// Returns a frame without notes, log and aliases.
    fn bare_frame(&self, id: &FrameId) -> Result<Option<Frame>>;
    /// Returns one frame as a row of a listing.
    fn row(&self, id: &FrameId) -> Result<Option<FrameRow>>;
    /// Returns the number of children of a frame, or of roots, by status.
    fn child_totals(&self, parent: Option<&FrameId>) -> Result<Totals>;
    /// Returns the number of siblings before a frame; `level` are the totals of its siblings.
    fn siblings_before(&self, frame: &FrameHead, level: &Totals) -> Result<u64>;
    /// Returns the first planned child of a frame, or the first one after a rank.
    fn next_planned(&self, parent: &FrameId, after: Option<Rank>) -> Result<Option<FrameHead>>;
    /// Returns frames with their notes but without logs and former names, in the given order. Missing
    /// frames are skipped.
    fn frames_with_notes(&self, ids: &[FrameId]) -> Result<Vec<Frame>>;
    /// Returns a frame and its ancestors, itself first, with their notes and each with the totals of
    /// its children; at most `limit`. A frame appears once even if damage made a cycle of the path.
    fn path(&self, frame: &FrameId, limit: usize) -> Result<Vec<(Frame, Totals)>>;
    /// Returns the root of a frame and the frame's depth.
    fn top(&self, frame: &FrameId) -> Result<Option<(FrameId, usize)>>;
    /// Returns the children of a frame with a status, in order and without their notes, at most
    /// `limit`.
    fn children_with_status(
        &self,
        parent: &FrameId,
        status: Status,
        limit: usize,
    ) -> Result<Vec<Frame>>;
    /// Returns the children of a frame that ended with a status, most recently ended first, at most
    /// `limit`.
    fn ended(&self, parent: &FrameId, status: Status, limit: usize) -> Result<Vec<EndedFrame>>;
    /// Returns the same children as [`Reading::ended`], as frames with their notes.
    fn ended_with_notes(
        &self,
        parent: &FrameId,
        status: Status,
        limit: usize,
    ) -> Result<Vec<Frame>>;
    /// Returns the completed and failed children of a frame that changed after a point.
    fn ended_since(&self, parent: &FrameId, after: Seq) -> Result<Vec<FrameId>>;
    /// Returns true if anything was undone, reverted or restored after a point.
    fn undone_since(&self, after: Seq) -> Result<bool>;
    /// Returns the directives of a frame, newest first, at most `limit`.
    fn directives(&self, frame: &FrameId, limit: usize) -> Result<Vec<Directive>>;
    /// Returns the number of frames in the project, by status.
    fn totals(&self) -> Result<Totals>;
    /// Visits all frames without their notes, in order of rank.
    fn all_rows(&self, each: &mut dyn FnMut(FrameRow) -> Result<()>) -> Result<()>;
    /// Visits all frames as an outline of the work needs them, in the order of their ids.
    fn outline(&self, each: &mut dyn FnMut(OutlineRow)) -> Result<()>;
    /// Returns all sessions, or only those that work on a frame.
    fn sessions(&self, live_only: bool) -> Result<Vec<Session>>;
    /// Returns the time of the last event of each of these sessions, as far as it is among the last few
    /// thousand events.
    fn last_seen(&self, sessions: &[Session]) -> Result<BTreeMap<SessionRef, Timestamp>>;
    /// Returns the frames that a session worked on, newest first, as far as the last few thousand
    /// events name them. Work that was undone does not count.
    fn visited(&self, session: &SessionRef) -> Result<Vec<FrameId>>;
    /// Returns all subagents, or those that have not ended, first to last.
    fn runs(&self, in_flight_only: bool) -> Result<Vec<SubagentRun>>;
    /// Returns the frames that wait for a summary of any session, by id.
    fn all_awaiting(&self) -> Result<Vec<(FrameId, Awaiting)>>;
    /// Visits the events about a frame, oldest first, until `each` returns false. They may be large,
    /// so they are never in memory at the same time.
    fn visit_history(
        &self,
        frame: &FrameId,
        each: &mut dyn FnMut(Recorded) -> Result<bool>,
    ) -> Result<()>;
    /// Returns the last `limit` events about a frame, oldest first, and the number of those before them.
    fn last_events(&self, frame: &FrameId, limit: usize) -> Result<(Vec<Recorded>, u64)>;
    /// Returns turns of sessions in the logs of a frame and those below it, in order.
    fn turns(&self, wanted: &WantedTurns<'_>) -> Result<Vec<LoggedTurn>>;
    /// Returns events after a point, oldest first, at most `limit`, and fewer if they are large. Only
    /// an empty list means that there are no more.
    fn events_after(&self, after: Seq, limit: usize) -> Result<Vec<Recorded>>;
    /// Returns the events of a session after an event, oldest first.
    fn events_of(&self, session: &SessionRef, after: Seq, limit: usize) -> Result<Vec<Recorded>>;
    /// Returns the last delivery to a session, even an empty one.
    fn last_sent(&self, session: &SessionRef) -> Result<Option<Recorded>>;
    /// Returns the delivery to a session in one of its messages, since its last header.
    fn sent_with(&self, session: &SessionRef, message: &str) -> Result<Option<Recorded>>;
    /// Returns the last header that a session was sent and the updates after it, oldest first.
    fn sent(&self, session: &SessionRef) -> Result<Vec<Recorded>>;
    /// Returns the last `limit` compactions of a session, oldest first.
    fn compactions(&self, session: &SessionRef, limit: usize) -> Result<Vec<Compaction>>;
    /// Returns what imported files contained besides frames, newest last.
    fn imports(&self) -> Result<Vec<String>>;
    /// Returns the event that deleted a raw text, and the size of the text.
    fn dropped(&self, blob: &str) -> Result<Option<(Seq, u64)>>;
    /// Returns the frames of a session that were completed or failed after a point, in that order,
    /// without the session's own frame.
    fn finished_spans(&self, session: &SessionRef, after: Seq) -> Result<Vec<FinishedSpan>>;
    /// Returns the names of all raw texts that the journal refers to, sorted.
    fn blobs(&self) -> Result<Vec<String>>;
    /// Returns the remaining raw texts of finished frames, oldest frame first: name and size.
    fn droppable(&self) -> Result<Vec<(String, u64)>>;
    /// Returns the remaining raw texts that were last recorded before a time, oldest first: name and
    /// size.
    fn texts_before(&self, before: Timestamp) -> Result<Vec<(String, u64)>>;
    /// Returns the ids of the journal and of those that were recovered into it.
    fn stores(&self) -> Result<Vec<StoreId>>;
}

/// The part of a [`Reading`] that is about lives of sessions.
pub trait LifeReading {
    /// Returns the lives of all sessions, or of those with a running turn, by name.
    fn lives(&self, busy_only: bool) -> Result<Vec<Life>>;
    /// Returns the last `limit` changes of a session's state, oldest first.
    fn transitions(&self, session: &SessionRef, limit: usize) -> Result<Vec<Transition>>;
    /// Returns the last `limit` interruptions of a session, oldest first.
    fn interruptions(
        &self,
        session: &SessionRef,
        limit: usize,
    ) -> Result<Vec<(Timestamp, InterruptionCheckpoint)>>;
    /// Returns the forks and hand-offs of all sessions, sorted.
    fn all_links(&self) -> Result<Vec<SessionLink>>;
}

/// The part of a [`Reading`] that is about suggestions.
pub trait SuggestionReading {
    /// Returns the suggestions of a session, or of all, newest first, each with its state; at most
    /// `limit`.
    fn suggestions(
        &self,
        session: Option<&SessionRef>,
        limit: usize,
    ) -> Result<Vec<(Recorded, SuggestionState)>>;
    /// Returns true if a session was shown this evidence before.
    fn is_suggested(&self, session: &SessionRef, key: Fingerprint) -> Result<bool>;
    /// Returns the counts of each heuristic's suggestions since the last reset.
    fn suggestion_tallies(&self) -> Result<BTreeMap<Heuristic, Tally>>;
    /// Returns the number of prompts until which a session gets no suggestions; 0 if it does.
    fn snoozed_until(&self, session: &SessionRef) -> Result<u64>;
    /// Returns the number of sessions whose last prompt was at least this long, and of all sessions
    /// with known prompts.
    fn sessions_of_size(&self, tokens: u64) -> Result<(u64, u64)>;
}

/// A choice of recorded turns.
#[derive(Clone, Copy, Debug)]
pub struct WantedTurns<'w> {
    /// The frame in whose log they are, or in one below it.
    pub frame: &'w FrameId,
    /// Only turns of this session.
    pub session: Option<&'w SessionRef>,
    /// The end at which they are taken.
    pub end: LogEnd,
    /// Maximum size of their texts together, in bytes.
    pub bytes: u64,
}

/// An end of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogEnd {
    /// Its beginning. The turn with which the limit is reached is included.
    Oldest,
    /// Its end. The turn with which the limit is passed is left out.
    Newest,
}

/// A turn of a session in the log of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedTurn {
    /// The frame whose log has it.
    pub frame: FrameId,
    /// Its text.
    pub blob: BlobId,
    /// Size of the text, in bytes.
    pub bytes: u64,
}

/// A finished frame with the messages in which it began and ended, if known.
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
    /// Its origin.
    pub origin: Origin,
}

/// A frame that ended. Ordered by the time of its end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EndedFrame {
    /// The event that ended it, or the last one that changed it if that is unknown.
    pub at: Seq,
    /// Its rank among its siblings, which orders frames ended by one command.
    pub rank: Rank,
    /// The frame.
    pub id: FrameId,
}

/// The meaning of a typed name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameMatch {
    /// One frame.
    Frame(FrameId),
    /// Several frames have this prefix; the first few of them.
    Ambiguous(Vec<(FrameId, String)>),
    /// A known session that is bound to no frame.
    Unbound(SessionRef),
    /// A frame that was deleted or whose opening was undone.
    Gone(FrameId),
    /// No frame or session.
    Unknown,
}

/// A range of children to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// The parent; `None` for the roots.
    pub parent: Option<FrameId>,
    /// Only open (true) or only finished (false) frames.
    pub open: Option<bool>,
    /// Maximum number of frames.
    pub limit: Option<usize>,
    /// Takes the last frames instead of the first. The order stays the same.
    pub last: bool,
}

/// A frame in the outline of the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlineRow {
    /// The frame.
    pub id: FrameId,
    /// The frame above it.
    pub parent: Option<FrameId>,
    /// Its place among its siblings.
    pub rank: Rank,
    /// Its status.
    pub status: Status,
    /// Reason for the frame.
    pub origin: Origin,
    /// Its title.
    pub title: Title,
    /// Number of pieces of evidence that support it.
    pub proofs: u64,
    /// Number of commands and tests that failed.
    pub failures: u64,
}

/// A row of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameRow {
    /// The frame, without notes, log and aliases.
    pub frame: Frame,
    /// Number of pieces of evidence that support it.
    pub proofs: u64,
    /// Number of those that are commits.
    pub commits: u64,
    /// Number of commands and tests that failed.
    pub failures: u64,
}

impl FrameRow {
    /// Returns the standing of the frame.
    pub fn standing(&self) -> FrameStanding {
        FrameStanding::of(self.frame.status, self.frame.origin, self.proofs)
    }
}

/// Number of frames by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals([u64; 6]);

impl Totals {
    /// Returns the number of frames with a status.
    pub fn of(&self, status: Status) -> u64 {
        let place = Status::ALL.iter().position(|known| *known == status);
        place
            .and_then(|place| self.0.get(place))
            .copied()
            .unwrap_or_default()
    }

    /// Adds to the number of frames with a status.
    pub fn add(&mut self, status: Status, count: u64) {
        self.set(status, self.of(status) + count);
    }

    /// Sets the number of frames with a status.
    pub fn set(&mut self, status: Status, count: u64) {
        let place = Status::ALL.iter().position(|known| *known == status);
        if let Some(slot) = place.and_then(|place| self.0.get_mut(place)) {
            *slot = count;
        }
    }

    /// Returns the sum over all statuses.
    pub fn all(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns the number of planned, active and blocked frames.
    pub fn open(&self) -> u64 {
        Status::ALL
            .into_iter()
            .filter(|status| status.is_open())
            .map(|s| self.of(s))
            .sum()
    }
}
