//! Surroundings of a frame: everything that a context is made of.
//!
//! A store fills this in from its indexes. Lists that can be long contain a selection and the total
//! number; the selection should contain the frames that are likely to matter most, and the assembly
//! ranks those.

use flamestack_core::frame::{Frame, Origin};
use flamestack_core::id::{FrameId, Seq, SessionRef, Timestamp};
use flamestack_core::note::{Directive, Note};
use flamestack_core::subagent::SubagentState;
use flamestack_core::text::Title;

/// Maximum number of frames of a group that are ranked.
pub const CANDIDATES: usize = 256;
/// Maximum number of ancestors from the parent upwards; the root is always included.
pub const LEVELS: usize = 64;
/// Penalty on the score of an ancestor's finished sibling for each level of distance. The engine selects
/// candidates with it, and a context ranks them with it.
pub const LEVEL_PENALTY: i64 = 16;
/// Maximum number of planned children.
pub const PLANNED: usize = 64;
/// Maximum number of directives: those given at a terminal, then the first, then the newest.
pub const DIRECTIVES: usize = 128;

/// A selection of frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// The selected frames, in no particular order unless stated.
    pub frames: Vec<Frame>,
    /// Number of frames in all.
    pub total: usize,
}

/// A running subagent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subagent {
    /// Session of the subagent.
    pub session: SessionRef,
    /// Title of its task.
    pub title: Title,
    /// Its frame, if it has one.
    pub frame: Option<FrameId>,
    /// Last event of its frame.
    pub seen: Seq,
    /// Its state and the time of its start, if known.
    pub state_and_start: Option<(SubagentState, Timestamp)>,
}

/// Position of a frame among its siblings. Status counts exclude the frame itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiblingPosition {
    /// Its position in order, from 1.
    pub position: usize,
    /// Number of siblings, including itself and without the invalidated ones.
    pub of: usize,
    /// Number of completed siblings.
    pub completed: usize,
    /// Number of failed siblings.
    pub failed: usize,
    /// Number of siblings in progress.
    pub in_progress: usize,
    /// Number of blocked siblings.
    pub blocked: usize,
    /// Number of planned siblings.
    pub planned: usize,
    /// Number of invalidated siblings.
    pub invalidated: usize,
}

/// Surroundings of a frame at one position of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// Last event that is taken into account.
    pub position: Seq,
    /// Session that the context is for, if any.
    pub session: Option<SessionRef>,
    /// The current frame.
    pub current: Frame,
    /// Its ancestors, parent first: the nearest ones, and the root as the last.
    pub ancestors: Vec<Frame>,
    /// Number of its ancestors.
    pub levels: usize,
    /// Its completed and failed children, at least the last finished ones.
    pub children: Group,
    /// Its planned children, in order from the first.
    pub planned: Group,
    /// Children and siblings that are in progress or blocked, without the frame itself.
    pub open: Group,
    /// Completed and failed siblings. [`Surroundings::place`] has their total numbers.
    pub siblings: Vec<Frame>,
    /// Completed siblings of its ancestors.
    pub uncles: Group,
    /// Its position among its siblings.
    pub place: SiblingPosition,
    /// The next planned sibling: the first one after it, else the first.
    pub next: Option<Frame>,
    /// Running subagents of the session.
    pub subagents: Vec<Subagent>,
    /// Directives of the user, oldest first.
    pub directives: Vec<Directive>,
}

impl Surroundings {
    /// Creates surroundings that consist of a frame only.
    pub fn of(current: Frame, position: Seq) -> Self {
        Self {
            position,
            session: None,
            current,
            ancestors: Vec::new(),
            levels: 0,
            children: Group::default(),
            planned: Group::default(),
            open: Group::default(),
            siblings: Vec::new(),
            uncles: Group::default(),
            place: SiblingPosition::default(),
            next: None,
            subagents: Vec::new(),
            directives: Vec::new(),
        }
    }

    /// Removes everything above and next to the frame of the subagent that works here, except for the
    /// user's directives.
    #[must_use]
    pub fn within_its_subagent(mut self) -> Self {
        let path = std::iter::once(&self.current).chain(&self.ancestors);
        let Some(above) = path
            .into_iter()
            .position(|it| it.origin == Origin::Subagent)
        else {
            return self;
        };
        self.ancestors.truncate(above);
        self.levels = above;
        // The siblings of the topmost frame belong to the parent's work.
        let parents: Vec<&FrameId> = self.ancestors.iter().map(|it| &it.id).collect();
        let is_below = |it: &Frame| it.parent.as_ref().is_some_and(|id| parents.contains(&id));
        self.uncles.frames.retain(is_below);
        self.uncles.total = self.uncles.frames.len();
        if self.ancestors.is_empty() {
            self.siblings.clear();
            self.place = SiblingPosition::default();
            self.next = None;
            let current = &self.current.id;
            self.open
                .frames
                .retain(|it| it.parent.as_ref() == Some(current));
            self.open.total = self.open.frames.len();
        }
        self
    }

    /// Removes the results of subagents. They are still counted as left out.
    #[must_use]
    pub fn without_subagents_results(mut self) -> Self {
        let is_own = |it: &Frame| it.origin != Origin::Subagent;
        self.children.frames.retain(is_own);
        self.siblings.retain(is_own);
        self.uncles.frames.retain(is_own);
        self
    }

    /// Returns true if there is anything that the model does not know from the session itself.
    ///
    /// A root without criteria, plan, children or decisions adds nothing: its title is the user's
    /// last message, and the model itself changed its files.
    pub fn adds_information(&self) -> bool {
        let given_elsewhere = |directive: &Directive| !directive.is_said_in(self.session.as_ref());
        let learned = |note: &Note| match note {
            Note::Decision { .. } | Note::FailedAttempt { .. } => true,
            Note::Artifact(_) | Note::Evidence(_) | Note::Directive(_) => false,
        };
        !self.ancestors.is_empty()
            || self.children.total > 0
            || self.planned.total > 0
            || self.open.total > 0
            || !self.subagents.is_empty()
            || self.current.criteria.is_some()
            || self.current.blocked_on.is_some()
            || self.current.notes.iter().any(learned)
            || self.directives.iter().any(given_elsewhere)
    }
}
