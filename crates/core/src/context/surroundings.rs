//! What is around a frame: everything that a context is made of.
//!
//! A store fills this in from its indexes, [`Surroundings::in_tree`] from a tree in memory. Lists
//! that can be long come as a choice with the number of all there are; whoever chooses brings the
//! frames that are likely to be worth most, and assembly ranks those.

use std::collections::BTreeSet;

use crate::event::Event;
use crate::frame::{Frame, Origin, Status};
use crate::id::{FrameId, Seq, SessionRef, Timestamp};
use crate::note::Note;
use crate::subagent::State;
use crate::text::{Prose, Title};
use crate::tree::Tree;

/// How many frames of a group are looked at, however many are handed in.
pub const CANDIDATES: usize = 256;
/// How many ancestors are looked at from the parent upwards; the root always is.
pub const LEVELS: usize = 64;
/// How many planned children are looked at.
pub const PLANNED: usize = 64;
/// How many directives are looked at, newest first.
pub const DIRECTIVES: usize = 128;

/// Some frames out of all that there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// The ones to look at. Their order means nothing unless it is said that it does.
    pub frames: Vec<Frame>,
    /// How many there are in all.
    pub total: usize,
}

/// Something the user said that is to be kept to.
///
/// Only a message of the user makes a directive. Text that came out of a tool never does, whatever
/// it says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// What was said, word for word.
    pub text: Prose,
    /// The event that recorded it.
    pub said: Seq,
    /// The conversation in which it was said.
    pub session: SessionRef,
    /// The frame that it was said in.
    pub frame: FrameId,
}

/// A conversation that another one started and that is not over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subagent {
    /// The conversation.
    pub session: SessionRef,
    /// What it is about.
    pub title: Title,
    /// The frame it works on, where it has one.
    pub frame: Option<FrameId>,
    /// The last event that was seen of its frame.
    pub seen: Seq,
    /// How it fares and since when, where that is known.
    pub standing: Option<(State, Timestamp)>,
}

/// The place of a frame among its siblings. Counts are of the siblings without the frame itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Its place in order, from 1.
    pub position: usize,
    /// How many there are, itself included.
    pub of: usize,
    /// Siblings that are done.
    pub completed: usize,
    /// Siblings that were given up.
    pub failed: usize,
    /// Siblings that are being worked on.
    pub in_progress: usize,
    /// Siblings that wait for something.
    pub blocked: usize,
    /// Siblings that are not begun.
    pub planned: usize,
    /// Siblings that are no longer wanted.
    pub invalidated: usize,
}

impl Place {
    /// Counts one more sibling.
    pub fn count(&mut self, status: Status) {
        let counted = match status {
            Status::Completed => &mut self.completed,
            Status::Failed => &mut self.failed,
            Status::InProgress => &mut self.in_progress,
            Status::Blocked => &mut self.blocked,
            Status::Planned => &mut self.planned,
            Status::Invalidated => &mut self.invalidated,
        };
        *counted += 1;
    }
}

/// Everything around a frame at one point of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// The last event that is taken into account.
    pub position: Seq,
    /// The conversation that the context is for, if it is for one.
    pub session: Option<SessionRef>,
    /// The frame that is worked on.
    pub current: Frame,
    /// The frames above it, parent first: at least the nearest few, and the root as the last.
    pub ancestors: Vec<Frame>,
    /// How many frames there are above it.
    pub levels: usize,
    /// Its completed and failed children, whichever finished last at least.
    pub children: Group,
    /// Its children that are planned, in order from the first.
    pub planned: Group,
    /// Children and siblings that are in progress or blocked, without the frame itself.
    pub open: Group,
    /// Completed and failed siblings. [`Surroundings::place`] counts all there are.
    pub siblings: Vec<Frame>,
    /// Completed siblings of its ancestors.
    pub uncles: Group,
    /// Its place among its siblings.
    pub place: Place,
    /// The sibling to take up next: the first planned one behind it, else the first at all.
    pub next: Option<Frame>,
    /// Conversations that this one started and that are not over.
    pub subagents: Vec<Subagent>,
    /// What the user said, oldest first.
    pub directives: Vec<Directive>,
}

impl Surroundings {
    /// A frame with nothing around it.
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
            place: Place::default(),
            next: None,
            subagents: Vec::new(),
            directives: Vec::new(),
        }
    }

    /// The surroundings of a frame in a tree in memory, with nothing left out.
    ///
    /// What a store answers from its indexes must lead to the same context.
    pub fn in_tree(tree: &Tree, frame: &FrameId) -> Option<Self> {
        let current = tree.frames().get(frame)?.clone();
        let position = tree.journal().last().map_or(Seq(0), |last| last.seq);
        let mut around = Self::of(current, position);
        around.look_up(tree);
        around.look_down(tree);
        // Roots are other tasks, not siblings.
        if around.current.parent.is_some() {
            around.look_aside(tree);
        }
        around.open.total = around.open.frames.len();
        around.listen(tree);
        Some(around)
    }

    /// As if the subagent whose work this is had been started for nobody: without what is above its
    /// frame or beside it. What the user said stays.
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
        // The top one's siblings are its parent's business.
        let parents: Vec<&FrameId> = self.ancestors.iter().map(|it| &it.id).collect();
        let is_below = |it: &Frame| it.parent.as_ref().is_some_and(|id| parents.contains(&id));
        self.uncles.frames.retain(is_below);
        self.uncles.total = self.uncles.frames.len();
        if self.ancestors.is_empty() {
            self.siblings.clear();
            self.place = Place::default();
            self.next = None;
            let current = &self.current.id;
            self.open
                .frames
                .retain(|it| it.parent.as_ref() == Some(current));
            self.open.total = self.open.frames.len();
        }
        self
    }

    /// Without what subagents came to. They are still counted, as what is left out.
    #[must_use]
    pub fn without_subagents_results(mut self) -> Self {
        let is_own = |it: &Frame| it.origin != Origin::Subagent;
        self.children.frames.retain(is_own);
        self.siblings.retain(is_own);
        self.uncles.frames.retain(is_own);
        self
    }

    /// What the user said here and above, by the events that still count.
    fn listen(&mut self, tree: &Tree) {
        let here: Vec<&Frame> = self.ancestors.iter().chain([&self.current]).collect();
        let mut heard = Vec::new();
        for recorded in tree.journal().iter().filter(|it| tree.counts(it)) {
            let noted: &[Note] = match &recorded.event {
                Event::Noted { note, .. } => std::slice::from_ref(note),
                Event::FrameImported(frame) | Event::FrameCopied { frame, .. } => &frame.notes,
                _ => continue,
            };
            for frame in recorded.event.frames() {
                let frame = here.iter().find(|known| known.id == frame);
                for note in noted {
                    if let (Note::Directive(text), Some(frame)) = (note, frame)
                        && frame.notes.contains(note)
                    {
                        heard.push(Directive {
                            text: text.clone(),
                            said: recorded.seq,
                            session: recorded.session.clone(),
                            frame: frame.id.clone(),
                        });
                    }
                }
            }
        }
        self.directives = heard;
    }

    fn look_up(&mut self, tree: &Tree) {
        // A damaged journal may fold into a cycle.
        let mut seen = BTreeSet::from([self.current.id.clone()]);
        let mut above = self.current.parent.as_ref();
        while let Some(frame) = above.and_then(|id| tree.frames().get(id)) {
            if !seen.insert(frame.id.clone()) {
                break;
            }
            self.ancestors.push(frame.clone());
            above = frame.parent.as_ref();
            if let Some(grandparent) = &frame.parent {
                let uncles = tree.children(Some(grandparent));
                let finished = uncles.filter(|uncle| uncle.status == Status::Completed);
                let others = finished.filter(|uncle| uncle.id != frame.id);
                self.uncles.frames.extend(others.cloned());
            }
        }
        self.levels = self.ancestors.len();
        self.uncles.total = self.uncles.frames.len();
    }

    fn look_down(&mut self, tree: &Tree) {
        for child in tree.children(Some(&self.current.id)) {
            let group = match child.status {
                Status::Completed | Status::Failed => &mut self.children,
                Status::Planned => &mut self.planned,
                Status::InProgress | Status::Blocked => &mut self.open,
                Status::Invalidated => continue,
            };
            group.frames.push(child.clone());
            group.total += 1;
        }
    }

    fn look_aside(&mut self, tree: &Tree) {
        let mut behind = false;
        let mut first_planned = None;
        for (at, sibling) in tree.children(self.current.parent.as_ref()).enumerate() {
            self.place.of += 1;
            if sibling.id == self.current.id {
                self.place.position = at + 1;
                behind = true;
                continue;
            }
            self.place.count(sibling.status);
            match sibling.status {
                Status::Completed | Status::Failed => self.siblings.push(sibling.clone()),
                Status::InProgress | Status::Blocked => self.open.frames.push(sibling.clone()),
                Status::Planned => {
                    first_planned.get_or_insert(sibling);
                    if behind && self.next.is_none() {
                        self.next = Some(sibling.clone());
                    }
                }
                Status::Invalidated => {}
            }
        }
        self.next = self.next.take().or_else(|| first_planned.cloned());
    }

    /// Whether there is anything that the model does not know from the conversation itself.
    ///
    /// A root frame without criteria, plan, children or recorded decisions has nothing to tell:
    /// its title is what the user just said, and the files it changed the model changed itself.
    pub fn has_something_to_tell(&self) -> bool {
        let told_elsewhere =
            |directive: &Directive| Some(&directive.session) != self.session.as_ref();
        let learned =
            |note: &Note| matches!(note, Note::Decision { .. } | Note::FailedAttempt { .. });
        !self.ancestors.is_empty()
            || self.children.total > 0
            || self.planned.total > 0
            || self.open.total > 0
            || !self.subagents.is_empty()
            || self.current.criteria.is_some()
            || self.current.blocked_on.is_some()
            || self.current.notes.iter().any(learned)
            || self.directives.iter().any(told_elsewhere)
    }
}
