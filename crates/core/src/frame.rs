//! The frame: a unit of work, its status, and what it says about itself.

use std::fmt;

use crate::event::Results;
use crate::id::{BlobId, FrameId, Seq, SessionRef, Timestamp};
use crate::note::Note;
use crate::text::{Prose, Title};

/// Where a frame stands in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Agreed on, not begun.
    Planned,
    /// Being worked on.
    InProgress,
    /// Done, by its own account.
    Completed,
    /// Given up; its results say what was learned.
    Failed,
    /// Waiting for something outside.
    Blocked,
    /// No longer wanted.
    Invalidated,
}

impl Status {
    /// All of them, in the order in which counts are shown.
    pub const ALL: [Self; 6] = [
        Self::InProgress,
        Self::Blocked,
        Self::Planned,
        Self::Completed,
        Self::Failed,
        Self::Invalidated,
    ];

    /// Whether there is something left to do.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Planned | Self::InProgress | Self::Blocked)
    }

    /// The name in files, tools and `--json`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Invalidated => "invalidated",
        }
    }

    /// The status that a name stands for.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }

    /// The status in words, for a person.
    pub fn label(self) -> &'static str {
        match self {
            Self::InProgress => "in progress",
            other => other.as_str(),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.label())
    }
}

/// How a frame ends when it is popped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The goal was reached.
    Completed,
    /// It was not, and will not be here.
    Failed,
    /// It waits for something outside; not an end, the frame can be taken up again.
    Blocked,
}

impl Outcome {
    /// The status that a frame has afterwards.
    pub fn status(self) -> Status {
        match self {
            Self::Completed => Status::Completed,
            Self::Failed => Status::Failed,
            Self::Blocked => Status::Blocked,
        }
    }

    /// The outcome that a name stands for.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Completed, Self::Failed, Self::Blocked]
            .into_iter()
            .find(|outcome| outcome.status().as_str() == name)
    }
}

/// Why a frame is there: somebody asked for it, or it was derived from what was seen of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// Somebody opened it, by a tool or at the command line.
    #[default]
    Asked,
    /// It is a whole session.
    Session,
    /// It is what the user asked for in one message.
    Prompt,
    /// It is an item of the host's to-do list.
    Todo,
    /// It is the work of a subagent.
    Subagent,
    /// It is what the host's summary kept when it replaced the history.
    Compaction,
}

impl Origin {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Asked,
        Self::Session,
        Self::Prompt,
        Self::Todo,
        Self::Subagent,
        Self::Compaction,
    ];

    /// The name in files and `--json`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Session => "session",
            Self::Prompt => "prompt",
            Self::Todo => "todo",
            Self::Subagent => "subagent",
            Self::Compaction => "compaction",
        }
    }

    /// The origin that a name stands for.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|origin| origin.as_str() == name)
    }

    /// Whether the frame only mirrors what a host shows: nobody asked for it, no session works on
    /// it, and so it is in nobody's way.
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

/// The place of a frame among its siblings: lower comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(pub i64);

impl Rank {
    /// Room left between two siblings for frames that are moved between them later.
    const STEP: i64 = 1 << 32;

    /// The rank behind the last sibling.
    pub fn after(last: Option<Self>) -> Self {
        Self(last.map_or(0, |Self(rank)| rank.saturating_add(Self::STEP)))
    }

    /// The rank before the first sibling.
    pub fn before(Self(first): Self) -> Self {
        Self(first.saturating_sub(Self::STEP))
    }

    /// A rank between two, unless they touch.
    pub fn between(Self(low): Self, Self(high): Self) -> Option<Self> {
        let middle = low + (high.checked_sub(low)?) / 2;
        (middle > low && middle < high).then_some(Self(middle))
    }
}

/// Where a frame happened: a session and, where the host names its messages, the first and last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The conversation.
    pub session: SessionRef,
    /// The message in which work began.
    pub first: Option<String>,
    /// The message in which it ended.
    pub last: Option<String>,
}

/// A piece of raw text that belongs to a frame; the text itself is a blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// What it is, such as `note` or a file's name.
    pub label: Title,
    /// Where the text is.
    pub blob: BlobId,
    /// Its size, uncompressed.
    pub bytes: u64,
}

/// Why and when a frame stopped being wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalidation {
    /// The reason given, or for a cascade the reason of the frame above.
    pub reason: Prose,
    /// When.
    pub at: Timestamp,
}

/// A summary that a frame waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Awaiting {
    /// The conversation that is summarised.
    pub session: SessionRef,
    /// Since when.
    pub since: Timestamp,
    /// How the frame ends once the summary is there; none, if it goes on.
    pub outcome: Option<Outcome>,
    /// What was said to have come out of it.
    pub given: Option<Results>,
    /// Why a summary is wanted.
    pub note: Option<Prose>,
}

/// A unit of work with everything recorded about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its permanent name.
    pub id: FrameId,
    /// The frame it is part of; none for a root.
    pub parent: Option<FrameId>,
    /// Its place among its siblings.
    pub rank: Rank,
    /// Where it stands.
    pub status: Status,
    /// Why it is there.
    pub origin: Origin,
    /// A short name.
    pub title: Title,
    /// What defines "done".
    pub criteria: Option<Prose>,
    /// The dense version of the criteria, where one was given.
    pub criteria_compacted: Option<Prose>,
    /// What was accomplished or learned.
    pub results: Option<Prose>,
    /// The dense version of the results, where one was given.
    pub results_compacted: Option<Prose>,
    /// What a summary said of it while it was worked on.
    pub summary: Option<Prose>,
    /// A summary that it waits for.
    pub awaiting: Option<Awaiting>,
    /// Artifacts, decisions, failed attempts and evidence, as they were recorded.
    pub notes: Vec<Note>,
    /// Raw text that belongs to it.
    pub log: Vec<LogEntry>,
    /// What a blocked frame waits for.
    pub blocked_on: Option<Prose>,
    /// Why it is no longer wanted.
    pub invalidation: Option<Invalidation>,
    /// Where it happened.
    pub span: Option<Span>,
    /// The host session that *is* this frame, if one is bound to it.
    pub session: Option<SessionRef>,
    /// Former names, which stay valid.
    pub aliases: Vec<String>,
    /// What an imported file said beyond our vocabulary, as JSON, for export.
    pub foreign: Option<String>,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// The event that last changed it.
    pub changed: Seq,
    /// The event that finished it.
    pub closed: Option<Seq>,
}

impl Frame {
    /// The criteria in dense form: as given, else derived.
    pub fn compacted_criteria(&self) -> Option<String> {
        dense(self.criteria_compacted.as_ref(), self.criteria.as_ref())
    }

    /// The results in dense form: as given, else derived.
    pub fn compacted_results(&self) -> Option<String> {
        dense(self.results_compacted.as_ref(), self.results.as_ref())
    }

    /// What the rules need to know of it.
    pub fn head(&self) -> FrameHead {
        FrameHead {
            id: self.id.clone(),
            parent: self.parent.clone(),
            rank: self.rank,
            status: self.status,
            origin: self.origin,
            title: self.title.clone(),
            blocked_on: self.blocked_on.clone(),
            session: self.session.clone(),
        }
    }
}

fn dense(given: Option<&Prose>, full: Option<&Prose>) -> Option<String> {
    given
        .map(|text| text.as_str().to_owned())
        .or_else(|| full.map(Prose::compacted))
}

/// The little of a frame that the rules look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameHead {
    /// Its name.
    pub id: FrameId,
    /// The frame it is part of.
    pub parent: Option<FrameId>,
    /// Its place among its siblings.
    pub rank: Rank,
    /// Where it stands.
    pub status: Status,
    /// Why it is there.
    pub origin: Origin,
    /// A short name.
    pub title: Title,
    /// What a blocked frame waits for.
    pub blocked_on: Option<Prose>,
    /// The session bound to it.
    pub session: Option<SessionRef>,
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
    fn every_status_has_a_name_of_its_own() {
        for status in Status::ALL {
            assert_eq!(Status::from_name(status.as_str()), Some(status));
        }
        assert_eq!(Status::from_name("done"), None);
        for origin in Origin::ALL {
            assert_eq!(Origin::from_name(origin.as_str()), Some(origin));
        }
    }
}
