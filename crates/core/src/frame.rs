//! The frame: a unit of work, its status, and everything recorded about it.

use std::fmt;

use crate::event::Results;
use crate::id::{BlobId, FrameId, Seq, SessionRef, Timestamp};
use crate::names::enum_names;
use crate::note::Note;
use crate::session::life::ENDED_BY_ERROR;
use crate::text::{Text, Title};

enum_names! {
    /// Status of a frame. Views show counts in this order.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Status {
        /// Being worked on.
        InProgress = "in_progress",
        /// Waiting for something outside.
        Blocked = "blocked",
        /// Planned, not started.
        Planned = "planned",
        /// Goal reached, as stated by its results.
        Completed = "completed",
        /// Given up; its results say what was learned.
        Failed = "failed",
        /// No longer wanted.
        Invalidated = "invalidated",
    }
}

impl Status {
    /// Returns true if there is work left to do.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Planned | Self::InProgress | Self::Blocked)
    }

    /// Returns the status in words, for display.
    pub fn label(self) -> &'static str {
        match self {
            Self::InProgress => "in progress",
            other => other.as_str(),
        }
    }
}

/// The word for a frame that is completed without recorded evidence.
pub const CLAIMED: &str = "claimed";

/// The standing of a frame: its status, and whether its end is proven. Every view asks here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameStanding {
    /// Status.
    pub status: Status,
    /// True if it is completed, and no check that succeeded, test that passed or commit is recorded.
    pub is_claimed: bool,
}

impl FrameStanding {
    /// Returns the standing of a frame with this number of recorded proofs.
    ///
    /// Frames that mirror prompts and to-do lists claim nothing: the work is done, and its evidence recorded, in the
    /// frame above. A prompt that ran the tests was shown as claimed below a frame with the passed check.
    pub fn of(status: Status, origin: Origin, proofs: u64) -> Self {
        Self {
            status,
            is_claimed: status == Status::Completed && proofs == 0 && !origin.is_mirror(),
        }
    }
}

impl fmt::Display for FrameStanding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_claimed {
            f.pad(&format!("{} ({CLAIMED})", self.status))
        } else {
            self.status.fmt(f)
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.label())
    }
}

/// Outcome with which a frame is popped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The goal was reached.
    Completed,
    /// The goal was not reached and will not be here.
    Failed,
    /// The frame waits for something outside; it can be continued later.
    Blocked,
}

impl Outcome {
    /// Returns the status of a frame that was popped so.
    pub fn status(self) -> Status {
        match self {
            Self::Completed => Status::Completed,
            Self::Failed => Status::Failed,
            Self::Blocked => Status::Blocked,
        }
    }

    /// Parses a name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Completed, Self::Failed, Self::Blocked]
            .into_iter()
            .find(|outcome| outcome.status().as_str() == name)
    }
}

enum_names! {
    /// Reason for a frame: it was pushed or planned, or it was derived from a session's transcript.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Origin {
        /// Pushed or planned, by a tool or at the command line.
        #[default]
        Asked = "asked",
        /// A whole session.
        Session = "session",
        /// One prompt of the user.
        Prompt = "prompt",
        /// An item of the host's to-do list.
        Todo = "todo",
        /// The work of a subagent.
        Subagent = "subagent",
        /// The summary of a compaction.
        Compaction = "compaction",
    }
}

impl Origin {
    /// Returns true if the frame only mirrors what the host shows. No session works on such a frame,
    /// and it never prevents its parent's end.
    pub fn is_mirror(self) -> bool {
        matches!(self, Self::Prompt | Self::Todo | Self::Compaction)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Asked => "asked for",
            Self::Session => "a session",
            Self::Prompt => "a prompt",
            Self::Todo => "a to-do item",
            Self::Subagent => "a subagent",
            Self::Compaction => "a compaction",
        })
    }
}

/// Position of a frame among its siblings: lower comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(pub i64);

impl Rank {
    /// Distance between siblings, which leaves room for frames that are moved between them later.
    const STEP: i64 = 1 << 32;

    /// Returns the rank after the last sibling.
    pub fn after(last: Option<Self>) -> Self {
        Self(last.map_or(0, |Self(rank)| rank.saturating_add(Self::STEP)))
    }

    /// Returns the rank before the first sibling.
    pub fn before(Self(first): Self) -> Self {
        Self(first.saturating_sub(Self::STEP))
    }

    /// Returns a rank between two, unless they are adjacent.
    pub fn between(Self(low): Self, Self(high): Self) -> Option<Self> {
        let middle = low + (high.checked_sub(low)?) / 2;
        (middle > low && middle < high).then_some(Self(middle))
    }
}

/// Location of a frame: a session and, where the host names its messages, the first and last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The session.
    pub session: SessionRef,
    /// The message in which work started.
    pub first: Option<String>,
    /// The message in which it ended.
    pub last: Option<String>,
}

/// Raw text that belongs to a frame; the text itself is a blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Label, such as `note` or a file name.
    pub label: Title,
    /// Reference to the text.
    pub blob: BlobId,
    /// Its uncompressed size.
    pub bytes: u64,
}

/// Reason and time of an invalidation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalidation {
    /// The given reason, or for a cascade the reason of the frame above.
    pub reason: Text,
    /// Time.
    pub at: Timestamp,
}

/// A summary that a frame waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Awaiting {
    /// The session to be summarised.
    pub session: SessionRef,
    /// Start of the wait.
    pub since: Timestamp,
    /// Outcome with which the frame is closed once the summary arrives; none if it stays open.
    pub outcome: Option<Outcome>,
    /// Results given so far.
    pub given: Option<Results>,
    /// Reason for the summary.
    pub note: Option<Text>,
    /// End of the wait; none if it was begun before deadlines existed.
    pub until: Option<Timestamp>,
}

impl Awaiting {
    /// Time that a wait without a deadline lasts, in milliseconds.
    const WITHOUT_DEADLINE: i64 = 5 * 60 * 1000;

    /// Returns true if the wait is over.
    pub fn is_over(&self, now: Timestamp) -> bool {
        let end = self.since.0.saturating_add(Self::WITHOUT_DEADLINE);
        now >= self.until.unwrap_or(Timestamp(end))
    }
}

/// A unit of work with everything recorded about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Permanent id.
    pub id: FrameId,
    /// Parent; none for a root.
    pub parent: Option<FrameId>,
    /// Position among its siblings.
    pub rank: Rank,
    /// Status.
    pub status: Status,
    /// Reason for the frame.
    pub origin: Origin,
    /// Title.
    pub title: Title,
    /// Definition of "done".
    pub criteria: Option<Text>,
    /// Dense version of the criteria, where one was given.
    pub criteria_compacted: Option<Text>,
    /// Results: what was accomplished or learned.
    pub results: Option<Text>,
    /// Dense version of the results, where one was given.
    pub results_compacted: Option<Text>,
    /// Summary of its work so far.
    pub summary: Option<Text>,
    /// A summary that it waits for.
    pub awaiting: Option<Awaiting>,
    /// Artifacts, decisions, failed attempts and evidence, in order.
    pub notes: Vec<Note>,
    /// Raw text.
    pub log: Vec<LogEntry>,
    /// Object of the wait of a blocked frame.
    pub blocked_on: Option<Text>,
    /// Reason for which it is no longer wanted.
    pub invalidation: Option<Invalidation>,
    /// Location in a session.
    pub span: Option<Span>,
    /// The session that is bound to it.
    pub session: Option<SessionRef>,
    /// Former ids, which stay valid.
    pub aliases: Vec<String>,
    /// Content of an imported file beyond our vocabulary, as JSON, for export.
    pub foreign: Option<String>,
    /// Time of opening.
    pub created_at: Timestamp,
    /// Time of its last change.
    pub updated_at: Timestamp,
    /// The event that last changed it.
    pub changed: Seq,
    /// The event that closed it.
    pub closed: Option<Seq>,
}

impl Frame {
    /// Creates a planned frame of which only the title is known.
    pub fn new(id: FrameId, title: Title, at: Timestamp) -> Self {
        Self {
            id,
            parent: None,
            rank: Rank::default(),
            status: Status::Planned,
            origin: Origin::default(),
            title,
            criteria: None,
            criteria_compacted: None,
            results: None,
            results_compacted: None,
            summary: None,
            awaiting: None,
            notes: Vec::new(),
            log: Vec::new(),
            blocked_on: None,
            invalidation: None,
            span: None,
            session: None,
            aliases: Vec::new(),
            foreign: None,
            created_at: at,
            updated_at: at,
            changed: Seq::default(),
            closed: None,
        }
    }

    /// Returns the dense criteria: as given, else derived.
    pub fn compacted_criteria(&self) -> Option<String> {
        dense(self.criteria_compacted.as_ref(), self.criteria.as_ref())
    }

    /// Returns true if an error of the host or of its provider ended the work, such as a refused request.
    /// It says nothing about the work itself.
    pub fn is_ended_by_error(&self) -> bool {
        let results = self.results.as_ref();
        let is_error = results.is_some_and(|text| text.as_str().starts_with(ENDED_BY_ERROR));
        self.status == Status::Failed && self.origin != Origin::Asked && is_error
    }

    /// Returns the dense results: as given, else derived.
    pub fn compacted_results(&self) -> Option<String> {
        dense(self.results_compacted.as_ref(), self.results.as_ref())
    }

    /// Returns the number of its notes with positive evidence, and of those with negative evidence.
    pub fn proofs_and_failures(&self) -> (u64, u64) {
        let (mut proofs, mut failures) = (0, 0);
        for note in &self.notes {
            match note {
                Note::Evidence(evidence) if evidence.is_positive() => proofs += 1,
                Note::Evidence(_) => failures += 1,
                _ => {}
            }
        }
        (proofs, failures)
    }

    /// Returns its standing, by its notes: a frame of a listing has none, and is asked by its row.
    pub fn standing(&self) -> FrameStanding {
        FrameStanding::of(self.status, self.origin, self.proofs_and_failures().0)
    }

    /// Returns the part that the rules need.
    pub fn head(&self) -> FrameHead {
        FrameHead {
            id: self.id,
            parent: self.parent,
            rank: self.rank,
            status: self.status,
            origin: self.origin,
            title: self.title.clone(),
            blocked_on: self.blocked_on.clone(),
            session: self.session.clone(),
            is_started: self.span.is_some(),
        }
    }
}

fn dense(given: Option<&Text>, full: Option<&Text>) -> Option<String> {
    given
        .map(|text| text.as_str().to_owned())
        .or_else(|| full.map(Text::compacted))
}

/// The part of a frame that the rules need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameHead {
    /// Id.
    pub id: FrameId,
    /// Parent.
    pub parent: Option<FrameId>,
    /// Position among its siblings.
    pub rank: Rank,
    /// Status.
    pub status: Status,
    /// Reason for the frame.
    pub origin: Origin,
    /// Title.
    pub title: Title,
    /// Object of the wait of a blocked frame.
    pub blocked_on: Option<Text>,
    /// The session that is bound to it.
    pub session: Option<SessionRef>,
    /// True if work on it was started here. Imported frames may have been started elsewhere.
    pub is_started: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_leave_room() {
        let first = Rank::after(None);
        let second = Rank::after(Some(first));
        let between = Rank::between(first, second).unwrap();
        assert!(Rank::before(first) < first && first < between && between < second);
        assert_eq!(Rank::between(Rank(4), Rank(5)), None);
        assert_eq!(Rank::between(Rank(i64::MIN), Rank(i64::MAX)), None);
    }

    #[test]
    fn every_status_has_its_own_name() {
        for status in Status::ALL {
            assert_eq!(Status::from_name(status.as_str()), Some(status));
        }
        assert_eq!(Status::from_name("done"), None);
        for origin in Origin::ALL {
            assert_eq!(Origin::from_name(origin.as_str()), Some(origin));
        }
    }
}
