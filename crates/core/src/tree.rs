//! The whole stack in memory: what the events of a journal add up to.
//!
//! This is the reference that a store's projections must agree with, and the ground on which the
//! rules are tested. A store answers from its own tables instead.

mod answers;

use std::collections::{BTreeMap, BTreeSet};

use crate::compaction::{Change, Compaction};
use crate::event::{Event, Recorded};
use crate::fold;
use crate::frame::{Frame, Rank};
use crate::id::{FrameId, Mark, Seq, SessionRef};
use crate::session::{Conversation, Description, Model, Session};
use crate::subagent::Run;

/// All frames and sessions, folded from a journal.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    frames: BTreeMap<FrameId, Frame>,
    children: BTreeMap<Option<FrameId>, BTreeSet<(Rank, FrameId)>>,
    sessions: BTreeMap<SessionRef, Session>,
    models: BTreeMap<SessionRef, Model>,
    descriptions: BTreeMap<SessionRef, Description>,
    conversations: BTreeMap<SessionRef, Conversation>,
    compactions: BTreeMap<SessionRef, Vec<Compaction>>,
    runs: BTreeMap<SessionRef, Run>,
    seen: BTreeSet<Mark>,
    imports: BTreeMap<String, String>,
    journal: Vec<Recorded>,
    undone: BTreeSet<Seq>,
    /// Events that count no longer because a session was wound back.
    masked: BTreeSet<Seq>,
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
        let rewritten = match &recorded.event {
            Event::CommandUndone { batch } => self.undone.insert(*batch),
            Event::SessionReverted { masked, .. } => {
                self.masked.extend(masked);
                true
            }
            Event::SessionRestored { shown, .. } => {
                self.masked.retain(|seq| !shown.contains(seq));
                true
            }
            _ => false,
        };
        if rewritten {
            let journal = std::mem::take(&mut self.journal);
            let undone = std::mem::take(&mut self.undone);
            let masked = std::mem::take(&mut self.masked);
            *self = Self {
                undone,
                masked,
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

    /// What was seen of sessions, by name.
    pub fn conversations(&self) -> &BTreeMap<SessionRef, Conversation> {
        &self.conversations
    }

    /// The compactions of sessions, by name, oldest first.
    pub fn compactions(&self) -> &BTreeMap<SessionRef, Vec<Compaction>> {
        &self.compactions
    }

    /// Subagents, by name.
    pub fn runs(&self) -> &BTreeMap<SessionRef, Run> {
        &self.runs
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

    /// Whether an event counts: nobody took it back, and no session was wound back behind it.
    pub fn counts(&self, recorded: &Recorded) -> bool {
        !self.undone.contains(&recorded.batch) && !self.masked.contains(&recorded.seq)
    }

    fn count(&mut self, recorded: &Recorded) {
        // That a session exists is a fact about its host, which undo does not take back.
        if self.counts(recorded) || matches!(recorded.event, Event::SessionOpened { .. }) {
            self.count_event(recorded);
        } else if !self.undone.contains(&recorded.batch) {
            // What ran has run, whether the conversation that started it was wound back or not.
            self.count_run(recorded);
        }
    }

    fn count_compaction(&mut self, recorded: &Recorded) {
        let Some(session) = Compaction::concerned(recorded) else {
            return;
        };
        let known = self.compactions.get(session);
        let newest = known.and_then(|known| known.last()).cloned();
        let Some(change) = Compaction::change(newest, recorded) else {
            return;
        };
        let all = self.compactions.entry(session.clone()).or_default();
        match change {
            Change::Next(next) => all.push(next),
            Change::Newest(newest) => {
                all.pop();
                all.push(newest);
            }
        }
    }

    fn count_run(&mut self, recorded: &Recorded) {
        if let Some(session) = Run::concerned(recorded) {
            let known = self.runs.remove(session);
            let session = session.clone();
            self.runs
                .extend(Run::after(known, recorded).map(|run| (session, run)));
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
                let known = self.session_mut(session);
                known.active.clone_from(to);
                known.turn = fold::turn(recorded);
            }
            Event::SessionBound { session, frame } => {
                self.session_mut(session).own = Some(frame.clone());
            }
            Event::SessionUnbound { session, .. } => self.session_mut(session).own = None,
            Event::FrameImported(frame) | Event::FrameCopied { frame, .. } => {
                if let Some(session) = &frame.session {
                    self.session_mut(session).own = Some(frame.id.clone());
                }
            }
            Event::SessionReverted { session, .. } => {
                self.session_mut(session).reverted = Some(recorded.seq);
            }
            Event::SessionRestored { session, .. } | Event::SessionPrompted { session } => {
                // Nobody goes back to before a revert once the conversation has gone on.
                if let Some(known) = self.sessions.get_mut(session) {
                    known.reverted = None;
                }
            }
            Event::SessionWitnessed { marks, .. } => self.seen.extend(marks),
            Event::StackImported { source, foreign } => {
                self.imports.insert(source.clone(), foreign.clone());
            }
            Event::SessionDescribed(description) => {
                let session = recorded.session.clone();
                self.descriptions
                    .insert(session, description.as_ref().clone());
            }
            Event::ModelUsed(model) => {
                let session = recorded.session.clone();
                self.models.insert(session, model.clone());
            }
            _ => {}
        }
        if let Some(session) = Conversation::concerned(&recorded.event) {
            let known = self.conversations.entry(session.clone()).or_default();
            known.change(recorded);
        }
        self.count_compaction(recorded);
        self.count_run(recorded);
        if let Some(frame) = fold::opened(recorded) {
            self.insert(frame);
            return;
        }
        for id in recorded.event.frames() {
            // Out and in again: the event may give the frame another place.
            if let Some(mut frame) = self.remove(&id)
                && !matches!(recorded.event, Event::FrameDeleted { .. })
            {
                fold::change(&mut frame, recorded);
                self.insert(frame);
            }
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
        self.sessions
            .entry(key.clone())
            .or_insert_with(|| Session::new(key.clone()))
    }
}
