//! What the rules may ask about the tree.
//!
//! [`crate::decide()`] never sees a whole tree: it asks for the few frames around the one that a
//! command is about, so that its cost follows the neighbourhood and not the history. A store
//! answers from its projections, [`crate::Tree`] from memory.

use std::collections::BTreeSet;

use crate::compaction::Compaction;
use crate::event::{Event, Recorded};
use crate::frame::{Awaiting, Frame, FrameHead, LogEntry, Rank, Status};
use crate::id::{FrameId, Mark, Seq, SessionRef};
use crate::note::Note;
use crate::session::{Conversation, Description, Model, Session};
use crate::subagent::Run;
use crate::text::{Prose, Title};

/// A view of the tree at one point of the journal. All answers are of that same point.
pub trait Neighbourhood {
    /// What can go wrong in answering.
    type Error;

    /// A frame, unless there is none of that name (any more).
    fn frame(&self, id: &FrameId) -> Result<Option<FrameHead>, Self::Error>;
    /// Whether a name is or ever was a frame's.
    fn is_taken(&self, id: &FrameId) -> Result<bool, Self::Error>;
    /// A session, unless it was never seen.
    fn session(&self, session: &SessionRef) -> Result<Option<Session>, Self::Error>;
    /// The model that a session talks to, where its host said so.
    fn model(&self, session: &SessionRef) -> Result<Option<Model>, Self::Error>;
    /// What the host says of a session, where it says anything.
    fn description(&self, session: &SessionRef) -> Result<Option<Description>, Self::Error>;
    /// The sessions that work on a frame, by name.
    fn focused_on(&self, frame: &FrameId) -> Result<Vec<SessionRef>, Self::Error>;
    /// The children that are planned, in progress or blocked, in order, at most `limit` of them,
    /// and how many there are in all.
    fn open_children(
        &self,
        frame: &FrameId,
        limit: usize,
    ) -> Result<(Vec<FrameHead>, usize), Self::Error>;
    /// All descendants, or those of one status: level by level, on each level by the name of the
    /// parent, below each parent in order.
    fn descendants(
        &self,
        frame: &FrameId,
        status: Option<Status>,
    ) -> Result<Vec<FrameHead>, Self::Error>;
    /// The rank of the last child of a frame, or of the last root.
    fn last_rank(&self, parent: Option<&FrameId>) -> Result<Option<Rank>, Self::Error>;
    /// The ranks just before and just after a rank among the children of a frame.
    fn ranks_around(
        &self,
        parent: Option<&FrameId>,
        rank: Rank,
    ) -> Result<(Option<Rank>, Option<Rank>), Self::Error>;
    /// Whether a frame already has a note with this kind and text.
    fn has_note(&self, frame: &FrameId, note: &Note) -> Result<bool, Self::Error>;
    /// The child of a frame that mirrors a to-do item of this text; the last one, if there are
    /// several.
    fn todo(&self, frame: &FrameId, text: &Title) -> Result<Option<FrameHead>, Self::Error>;
    /// With which code a command exited when it was last recorded in a frame, and how many runs of
    /// commands the frame holds.
    fn command_runs(
        &self,
        frame: &FrameId,
        command: &Prose,
    ) -> Result<(Option<i32>, u64), Self::Error>;
    /// What was seen of a session so far; nothing much, of one that nothing was seen of.
    fn conversation(&self, session: &SessionRef) -> Result<Conversation, Self::Error>;
    /// The compaction of a session that began last, over or not.
    fn last_compaction(&self, session: &SessionRef) -> Result<Option<Compaction>, Self::Error>;
    /// The frames that wait for a summary of a session, by name.
    fn awaiting(&self, session: &SessionRef) -> Result<Vec<(FrameId, Awaiting)>, Self::Error>;
    /// What is known of a conversation as a subagent, if it is one.
    fn run(&self, session: &SessionRef) -> Result<Option<Run>, Self::Error>;
    /// The subagents that a conversation started, first to last.
    fn runs_of(&self, parent: &SessionRef) -> Result<Vec<Run>, Self::Error>;
    /// The raw text of a frame that has nothing else: no note, and no frame below it.
    fn only_text(&self, frame: &FrameId) -> Result<Option<Vec<LogEntry>>, Self::Error>;
    /// Whether a thing was seen before.
    fn is_seen(&self, mark: Mark) -> Result<bool, Self::Error>;
    /// Whether a file was brought in before.
    fn is_imported(&self, source: &str) -> Result<bool, Self::Error>;
    /// The frame that a former name belongs to.
    fn alias(&self, alias: &str) -> Result<Option<FrameId>, Self::Error>;
    /// Events by their places, as they were recorded.
    fn recorded(&self, places: &[Seq]) -> Result<Vec<Recorded>, Self::Error>;
    /// What a session did from the first of these messages on, as far as it counts.
    fn passage(
        &self,
        session: &SessionRef,
        messages: &[String],
    ) -> Result<Vec<Recorded>, Self::Error>;
    /// What a session did from a point on, as far as it counts.
    fn done_since(&self, session: &SessionRef, from: Seq) -> Result<Vec<Recorded>, Self::Error>;
    /// What was seen of a session's last turn before a point, from its prompt on, as far as it
    /// counts.
    fn turn_before(&self, session: &SessionRef, point: Seq) -> Result<Vec<Recorded>, Self::Error>;
    /// The events from a point on that count and change a frame or need it to be there. What is
    /// merely noted or kept in it is neither.
    fn changed_since(&self, frame: &FrameId, from: Seq) -> Result<Vec<Seq>, Self::Error>;
    /// A frame as it would be if other events counted; nothing, if it would not be there.
    fn otherwise(
        &self,
        frame: &FrameId,
        counting: &Otherwise,
    ) -> Result<Option<FrameHead>, Self::Error>;
    /// A whole frame as it was before a point, by what counts now.
    fn before(&self, frame: &FrameId, point: Seq) -> Result<Option<Frame>, Self::Error>;
    /// The last command of a session that still counts: its events, first to last.
    fn last_command(&self, session: &SessionRef) -> Result<Option<LastCommand>, Self::Error>;
}

/// Which events count otherwise than they do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Otherwise {
    /// Those that would not.
    pub hidden: BTreeSet<Seq>,
    /// Those that would, and do not because a session was wound back.
    pub shown: BTreeSet<Seq>,
}

impl Otherwise {
    /// Whether an event would count that does so now, or does not because of a revert.
    pub fn counts(&self, seq: Seq, masked: bool) -> bool {
        !self.hidden.contains(&seq) && (!masked || self.shown.contains(&seq))
    }
}

/// A command that could be taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastCommand {
    /// Its first event.
    pub batch: Seq,
    /// All of its events.
    pub events: Vec<Event>,
    /// The frames that it changed, as they would be without it. Those that it opened are not there.
    pub restored: Vec<FrameHead>,
    /// The last later event that still counts and touches what this command changed: who caused
    /// it, and what it was. A frame is also touched by opening one below it that is still there.
    pub touched_by: Option<(SessionRef, Event)>,
}
