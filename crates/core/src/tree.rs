//! The whole stack in memory: what the events of a journal add up to.
//!
//! This is the reference that a store's projections must agree with, and the ground on which the
//! rules are tested. A store answers from its own tables instead.

mod answers;

use std::collections::{BTreeMap, BTreeSet};

use crate::event::{Edit, Event, Goal, Recorded};
use crate::frame::{Frame, Invalidation, Rank, Span, Status};
use crate::id::{FrameId, Seq, SessionRef};
use crate::session::Session;

/// All frames and sessions, folded from a journal.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    frames: BTreeMap<FrameId, Frame>,
    children: BTreeMap<Option<FrameId>, BTreeSet<(Rank, FrameId)>>,
    sessions: BTreeMap<SessionRef, Session>,
    imports: BTreeMap<String, String>,
    journal: Vec<Recorded>,
    undone: BTreeSet<Seq>,
}

impl Tree {
    /// Folds a whole journal.
    pub fn fold(journal: impl IntoIterator<Item = Recorded>) -> Self {
        let mut tree = Self::default();
        for recorded in journal {
            tree.apply(recorded);
        }
        tree
    }

    /// Folds one more event.
    ///
    /// An event about a frame that is not there changes nothing: a journal from which a damaged
    /// part was lost still folds into what is left of it.
    pub fn apply(&mut self, recorded: Recorded) {
        if let Event::CommandUndone { batch } = recorded.event {
            self.undone.insert(batch);
            let journal = std::mem::take(&mut self.journal);
            let undone = std::mem::take(&mut self.undone);
            *self = Self {
                undone,
                ..Self::default()
            };
            for earlier in journal {
                self.count(&earlier);
                self.journal.push(earlier);
            }
        }
        self.count(&recorded);
        self.journal.push(recorded);
    }

    /// All frames by name.
    pub fn frames(&self) -> &BTreeMap<FrameId, Frame> {
        &self.frames
    }

    /// All sessions by name.
    pub fn sessions(&self) -> &BTreeMap<SessionRef, Session> {
        &self.sessions
    }

    /// The events folded so far.
    pub fn journal(&self) -> &[Recorded] {
        &self.journal
    }

    /// The children of a frame, or the roots, in order.
    pub fn children(&self, parent: Option<&FrameId>) -> impl Iterator<Item = &Frame> {
        let ids = self.children.get(&parent.cloned());
        ids.into_iter()
            .flatten()
            .filter_map(|(_, id)| self.frames.get(id))
    }

    fn count(&mut self, recorded: &Recorded) {
        // That a session exists is a fact about its host, which undo does not take back.
        let counts = !self.undone.contains(&recorded.batch)
            || matches!(recorded.event, Event::SessionOpened { .. });
        if counts {
            self.count_event(recorded);
        }
    }

    fn count_event(&mut self, recorded: &Recorded) {
        match &recorded.event {
            Event::SessionOpened { session, worktree } => {
                let known = self.session_mut(session);
                if known.worktree.is_none() {
                    known.worktree.clone_from(worktree);
                }
            }
            Event::SessionFocused { session, to, .. } => {
                self.session_mut(session).active.clone_from(to);
            }
            Event::SessionBound { session, frame } => {
                self.session_mut(session).own = Some(frame.clone());
                self.change(recorded, frame, |frame| {
                    frame.session = Some(session.clone())
                });
            }
            Event::SessionUnbound { session, frame } => {
                self.session_mut(session).own = None;
                self.change(recorded, frame, |frame| frame.session = None);
            }
            Event::FrameOpened {
                frame,
                parent,
                rank,
                planned,
                goal,
            } => {
                let opened = opened(recorded, frame, parent.as_ref(), *rank, *planned, goal);
                self.insert(opened);
            }
            Event::FrameImported(frame) => {
                if let Some(session) = &frame.session {
                    self.session_mut(session).own = Some(frame.id.clone());
                }
                let mut frame = Frame::clone(frame);
                frame.changed = recorded.seq;
                frame.closed = (!frame.status.is_open()).then_some(recorded.seq);
                self.insert(frame);
            }
            Event::StackImported { source, foreign } => {
                self.imports.insert(source.clone(), foreign.clone());
            }
            Event::FrameMoved {
                frame,
                parent,
                rank,
            } => self.relocate(recorded, frame, parent, *rank),
            Event::FrameDeleted { frame, with } => {
                for id in std::iter::once(frame).chain(with) {
                    self.remove(id);
                }
            }
            Event::Noted { frame, note } => {
                self.change(recorded, frame, |frame| frame.notes.push(note.clone()));
            }
            Event::Logged { frame, entry } => {
                self.change(recorded, frame, |frame| frame.log.push(entry.clone()));
            }
            Event::CommandUndone { .. } | Event::BlobDropped { .. } => {}
            Event::FrameStarted { .. }
            | Event::FrameClosed { .. }
            | Event::FrameBlocked { .. }
            | Event::FrameUnblocked { .. }
            | Event::FrameEdited { .. }
            | Event::FrameInvalidated { .. } => self.advance(recorded),
        }
    }

    /// Events that move a frame along its life.
    fn advance(&mut self, recorded: &Recorded) {
        match &recorded.event {
            Event::FrameStarted { frame } => self.change(recorded, frame, |frame| {
                frame.status = Status::InProgress;
                frame.span = Some(begun(recorded));
            }),
            Event::FrameClosed {
                frame,
                outcome,
                results,
                ..
            } => {
                self.change(recorded, frame, |frame| {
                    frame.status = outcome.status();
                    frame.results = Some(results.full.clone());
                    frame.results_compacted.clone_from(&results.compacted);
                    frame.blocked_on = None;
                    frame.closed = Some(recorded.seq);
                    if let Some(span) = &mut frame.span
                        && span.session == recorded.session
                    {
                        span.last.clone_from(&recorded.message);
                    }
                });
            }
            Event::FrameBlocked {
                frame,
                reason,
                results,
            } => {
                self.change(recorded, frame, |frame| {
                    frame.status = Status::Blocked;
                    frame.blocked_on = Some(reason.clone());
                    if let Some(results) = results {
                        frame.results = Some(results.full.clone());
                        frame.results_compacted.clone_from(&results.compacted);
                    }
                });
            }
            Event::FrameUnblocked { frame } => self.change(recorded, frame, |frame| {
                frame.status = Status::InProgress;
                frame.blocked_on = None;
            }),
            Event::FrameEdited { frame, edit } => {
                self.change(recorded, frame, |frame| corrected(frame, edit));
            }
            Event::FrameInvalidated { frame, reason, .. } => {
                let invalidation = Invalidation {
                    reason: reason.clone(),
                    at: recorded.at,
                };
                self.change(recorded, frame, |frame| {
                    invalidated(frame, &invalidation, recorded.seq)
                });
            }
            _ => {}
        }
        if let Some((reason, cascaded)) = recorded.event.cascade() {
            let invalidation = Invalidation {
                reason,
                at: recorded.at,
            };
            for id in cascaded {
                self.change(recorded, id, |frame| {
                    invalidated(frame, &invalidation, recorded.seq)
                });
            }
        }
    }

    fn change(&mut self, recorded: &Recorded, id: &FrameId, change: impl FnOnce(&mut Frame)) {
        if let Some(frame) = self.frames.get_mut(id) {
            change(frame);
            frame.updated_at = recorded.at;
            frame.changed = recorded.seq;
        }
    }

    fn relocate(
        &mut self,
        recorded: &Recorded,
        id: &FrameId,
        parent: &Option<FrameId>,
        rank: Rank,
    ) {
        if let Some(mut frame) = self.remove(id) {
            frame.parent.clone_from(parent);
            frame.rank = rank;
            frame.updated_at = recorded.at;
            frame.changed = recorded.seq;
            self.insert(frame);
        }
    }

    fn insert(&mut self, frame: Frame) {
        let place = (frame.rank, frame.id.clone());
        self.children
            .entry(frame.parent.clone())
            .or_default()
            .insert(place);
        self.frames.insert(frame.id.clone(), frame);
    }

    fn remove(&mut self, id: &FrameId) -> Option<Frame> {
        let frame = self.frames.remove(id)?;
        if let Some(siblings) = self.children.get_mut(&frame.parent) {
            siblings.remove(&(frame.rank, frame.id.clone()));
        }
        Some(frame)
    }

    fn session_mut(&mut self, key: &SessionRef) -> &mut Session {
        self.sessions.entry(key.clone()).or_insert_with(|| Session {
            key: key.clone(),
            worktree: None,
            own: None,
            active: None,
        })
    }
}

fn begun(recorded: &Recorded) -> Span {
    Span {
        session: recorded.session.clone(),
        first: recorded.message.clone(),
        last: None,
    }
}

fn opened(
    recorded: &Recorded,
    id: &FrameId,
    parent: Option<&FrameId>,
    rank: Rank,
    planned: bool,
    goal: &Goal,
) -> Frame {
    Frame {
        id: id.clone(),
        parent: parent.cloned(),
        rank,
        status: if planned {
            Status::Planned
        } else {
            Status::InProgress
        },
        title: goal.title.clone(),
        criteria: goal.criteria.clone(),
        criteria_compacted: goal.criteria_compacted.clone(),
        results: None,
        results_compacted: None,
        notes: Vec::new(),
        log: Vec::new(),
        blocked_on: None,
        invalidation: None,
        span: (!planned).then(|| begun(recorded)),
        session: None,
        aliases: Vec::new(),
        foreign: None,
        created_at: recorded.at,
        updated_at: recorded.at,
        changed: recorded.seq,
        closed: None,
    }
}

fn invalidated(frame: &mut Frame, invalidation: &Invalidation, seq: Seq) {
    frame.status = Status::Invalidated;
    frame.blocked_on = None;
    frame.invalidation = Some(invalidation.clone());
    frame.closed = Some(seq);
}

fn corrected(frame: &mut Frame, edit: &Edit) {
    if let Some(title) = &edit.title {
        frame.title = title.clone();
    }
    if edit.criteria.is_some() {
        frame.criteria.clone_from(&edit.criteria);
        frame
            .criteria_compacted
            .clone_from(&edit.criteria_compacted);
    } else if edit.criteria_compacted.is_some() {
        frame
            .criteria_compacted
            .clone_from(&edit.criteria_compacted);
    }
    if edit.results.is_some() {
        frame.results.clone_from(&edit.results);
        frame.results_compacted.clone_from(&edit.results_compacted);
    } else if edit.results_compacted.is_some() {
        frame.results_compacted.clone_from(&edit.results_compacted);
    }
}
