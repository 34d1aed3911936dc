//! Queries of the rules about the tree.
//!
//! [`crate::decide()`] never sees a whole tree: it queries the few frames around the one that a
//! command is about, so that its cost follows the neighbourhood and not the history. A store
//! answers from its projections, the tree of the tests from memory.

use std::collections::BTreeSet;

use crate::compaction::Compaction;
use crate::event::{Event, Recorded};
use crate::frame::{Awaiting, Frame, FrameHead, LogEntry, Rank, Status};
use crate::id::{Fingerprint, FrameId, Seq, SessionRef};
use crate::note::Note;
use crate::session::Session;
use crate::session::life::Life;
use crate::session::link::SessionLink;
use crate::subagent::SubagentRun;
use crate::text::{Text, Title};

/// Marks the error types of [`TreeQuery`], so that `?` turns them into a
/// [`DecideError`](crate::DecideError) in addition to refusals.
pub trait QueryError {}

impl QueryError for std::convert::Infallible {}

/// A view of the tree at one point of the journal.
pub trait TreeQuery {
    /// Failure of a query.
    type Error: QueryError;

    /// Returns a frame if it exists.
    fn frame(&self, id: &FrameId) -> Result<Option<FrameHead>, Self::Error>;
    /// Returns true if an id is or ever was a frame's.
    fn is_taken(&self, id: &FrameId) -> Result<bool, Self::Error>;
    /// Returns a session, unless it is unknown.
    fn session(&self, session: &SessionRef) -> Result<Option<Session>, Self::Error>;
    /// Returns the sessions that work on a frame, by name.
    fn focused_on(&self, frame: &FrameId) -> Result<Vec<SessionRef>, Self::Error>;
    /// Returns the children that are planned, in progress or blocked, in order, at most `limit` of
    /// them, and their total number.
    fn open_children(
        &self,
        frame: &FrameId,
        limit: usize,
    ) -> Result<(Vec<FrameHead>, usize), Self::Error>;
    /// Returns all descendants, or those of one status: level by level, on each level by the id of
    /// the parent, below each parent in order.
    fn descendants(
        &self,
        frame: &FrameId,
        status: Option<Status>,
    ) -> Result<Vec<FrameHead>, Self::Error>;
    /// Returns the rank of the last child of a frame, or of the last root.
    fn last_rank(&self, parent: Option<&FrameId>) -> Result<Option<Rank>, Self::Error>;
    /// Returns the ranks just before and just after a rank among the children of a frame.
    fn ranks_around(
        &self,
        parent: Option<&FrameId>,
        rank: Rank,
    ) -> Result<(Option<Rank>, Option<Rank>), Self::Error>;
    /// Returns true if a frame has a note that this one repeats, see [`Note::repeats`].
    fn has_note(&self, frame: &FrameId, note: &Note) -> Result<bool, Self::Error>;
    /// Returns the child of a frame that mirrors a to-do item of this text; the last one if there are
    /// several.
    fn todo(&self, frame: &FrameId, text: &Title) -> Result<Option<FrameHead>, Self::Error>;
    /// Returns the exit code of the last recorded run of a command in a frame, and the number of runs
    /// of all commands that the frame has.
    fn command_runs(
        &self,
        frame: &FrameId,
        command: &Text,
    ) -> Result<(Option<i32>, u64), Self::Error>;
    /// Returns the newest compaction of a session, finished or not.
    fn last_compaction(&self, session: &SessionRef) -> Result<Option<Compaction>, Self::Error>;
    /// Returns the frames that wait for a summary of a session, by id.
    fn awaiting(&self, session: &SessionRef) -> Result<Vec<(FrameId, Awaiting)>, Self::Error>;
    /// Returns the subagents that a session started, in order.
    fn runs_of(&self, parent: &SessionRef) -> Result<Vec<SubagentRun>, Self::Error>;
    /// Returns the life of a session, unless it is unknown or a user at a terminal.
    fn life(&self, session: &SessionRef) -> Result<Option<Life>, Self::Error>;
    /// Returns the forks and hand-offs of a session, in both directions, sorted.
    fn links(&self, session: &SessionRef) -> Result<Vec<SessionLink>, Self::Error>;
    /// Returns the raw text of a frame that has nothing else: no note and no child.
    fn only_text(&self, frame: &FrameId) -> Result<Option<Vec<LogEntry>>, Self::Error>;
    /// Returns true if an item was ingested before.
    fn is_seen(&self, mark: Fingerprint) -> Result<bool, Self::Error>;
    /// Returns true if a file was imported before.
    fn is_imported(&self, source: &str) -> Result<bool, Self::Error>;
    /// Returns the frame of a former id.
    fn alias(&self, alias: &str) -> Result<Option<FrameId>, Self::Error>;
    /// Returns events by their places.
    fn recorded(&self, places: &[Seq]) -> Result<Vec<Recorded>, Self::Error>;
    /// Returns the events of a session that count, from the first of these messages on.
    fn events_from_message(
        &self,
        session: &SessionRef,
        messages: &[String],
    ) -> Result<Vec<Recorded>, Self::Error>;
    /// Returns the events of a session that count, from a point on.
    fn events_since(&self, session: &SessionRef, from: Seq) -> Result<Vec<Recorded>, Self::Error>;
    /// Returns the events of a session's last turn before a point that count, from its prompt
    /// on.
    fn turn_before(&self, session: &SessionRef, point: Seq) -> Result<Vec<Recorded>, Self::Error>;
    /// Returns the events from a point on that count and change or rely on a frame. Notes and raw
    /// text do neither.
    fn changed_since(&self, frame: &FrameId, from: Seq) -> Result<Vec<Seq>, Self::Error>;
    /// Returns a frame as it would be under an overlay; none if it would not exist.
    fn frame_under(
        &self,
        frame: &FrameId,
        counting: &MaskOverlay,
    ) -> Result<Option<FrameHead>, Self::Error>;
    /// Returns a whole frame as it was before a point, folded from the events that count now.
    fn before(&self, frame: &FrameId, point: Seq) -> Result<Option<Frame>, Self::Error>;
    /// Returns the last command of a session that still counts, if it can be undone.
    fn last_command(&self, session: &SessionRef) -> Result<Option<LastCommand>, Self::Error>;
}

/// A what-if overlay: events to mask or unmask.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MaskOverlay {
    /// Events that would not count.
    pub hidden: BTreeSet<Seq>,
    /// Masked events that would count again.
    pub shown: BTreeSet<Seq>,
}

impl MaskOverlay {
    /// Returns true if an event counts under the overlay.
    pub fn counts(&self, seq: Seq, masked: bool) -> bool {
        !self.hidden.contains(&seq) && (!masked || self.shown.contains(&seq))
    }
}

/// A command that could be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastCommand {
    /// Its first event.
    pub batch: Seq,
    /// All of its events.
    pub events: Vec<Event>,
    /// The frames that it changed, as they would be without it. Frames that it opened are not in it.
    pub restored: Vec<FrameHead>,
    /// The last later event that counts and touches what this command changed, and its session. Opening
    /// a frame below another one that still exists touches that one, too.
    pub touched_by: Option<(SessionRef, Event)>,
}
