//! The whole stack in memory, folded from the events of a journal.
//!
//! This is the reference that a store's projections must agree with, and the state on which the
//! rules are tested. A store answers from its own tables instead.

mod answers;

use std::collections::{BTreeMap, BTreeSet};

use flamestack_core::compaction::{Compaction, CompactionUpdate};
use flamestack_core::event::{Event, Recorded};
use flamestack_core::fold;
use flamestack_core::frame::{Frame, Rank};
use flamestack_core::id::{Fingerprint, FrameId, Seq, SessionRef, Timestamp};
use flamestack_core::session::checkpoint::InterruptionCheckpoint;
use flamestack_core::session::life::{Life, Transition};
use flamestack_core::session::link::SessionLink;
use flamestack_core::session::{Activity, Session};
use flamestack_core::subagent::SubagentRun;

/// All frames and sessions, folded from a journal.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    frames: BTreeMap<FrameId, Frame>,
    children: BTreeMap<Option<FrameId>, BTreeSet<(Rank, FrameId)>>,
    sessions: BTreeMap<SessionRef, Session>,
    compactions: BTreeMap<SessionRef, Vec<Compaction>>,
    lives: BTreeMap<SessionRef, Life>,
    transitions: BTreeMap<SessionRef, Vec<Transition>>,
    interruptions: BTreeMap<SessionRef, Vec<(Timestamp, InterruptionCheckpoint)>>,
    links: BTreeSet<SessionLink>,
    seen: BTreeSet<Fingerprint>,
    imports: BTreeMap<String, String>,
    journal: Vec<Recorded>,
    undone: BTreeSet<Seq>,
    /// Events that no longer count because a session was reverted.
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
    /// An event about a missing frame changes nothing: a journal that lost a damaged part still folds
    /// into the rest.
    pub fn apply(&mut self, recorded: Recorded) {
        let rewritten = match &recorded.event {
            Event::CommandUndone { batch } => self.undone.insert(*batch),
            Event::SessionReverted { masked, .. } => {
                self.masked.extend(masked);
                true
            }
            Event::SessionRestored { unmasked, .. } => {
                self.masked.retain(|seq| !unmasked.contains(seq));
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

    /// Returns all frames by id.
    pub fn frames(&self) -> &BTreeMap<FrameId, Frame> {
        &self.frames
    }

    /// Returns all sessions by name.
    pub fn sessions(&self) -> &BTreeMap<SessionRef, Session> {
        &self.sessions
    }

    /// Returns the compactions of sessions, by name, oldest first.
    pub fn compactions(&self) -> &BTreeMap<SessionRef, Vec<Compaction>> {
        &self.compactions
    }

    /// Returns subagents, ordered by the name of their session.
    pub fn runs(&self) -> impl Iterator<Item = &SubagentRun> {
        self.sessions
            .values()
            .filter_map(|session| session.run.as_ref())
    }

    /// Returns the lives of sessions, by name.
    pub fn lives(&self) -> &BTreeMap<SessionRef, Life> {
        &self.lives
    }

    /// Returns the changes of state of a session, oldest first.
    pub fn transitions(&self, session: &SessionRef) -> &[Transition] {
        let known = self.transitions.get(session);
        known.map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the interruptions of a session, oldest first.
    pub fn interruptions(&self, session: &SessionRef) -> &[(Timestamp, InterruptionCheckpoint)] {
        let known = self.interruptions.get(session);
        known.map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the events folded so far.
    pub fn journal(&self) -> &[Recorded] {
        &self.journal
    }

    /// Returns the children of a frame, or the roots, in order.
    pub fn children(&self, parent: Option<&FrameId>) -> impl Iterator<Item = &Frame> {
        let ids = self.children.get(&parent.copied());
        ids.into_iter()
            .flatten()
            .filter_map(|(_, id)| self.frames.get(id))
    }

    /// Returns true if an event counts: it was neither undone nor reverted.
    pub fn counts(&self, recorded: &Recorded) -> bool {
        !self.undone.contains(&recorded.batch) && !self.masked.contains(&recorded.seq)
    }

    fn count(&mut self, recorded: &Recorded) {
        // A session was in a state, whether or not its messages were taken back later.
        self.count_life(recorded);
        // The existence of a session is a fact about its host, which undo does not take back.
        if self.counts(recorded) || matches!(recorded.event, Event::SessionOpened { .. }) {
            self.count_event(recorded);
        } else if !self.undone.contains(&recorded.batch) {
            // A run did happen, even if the session that started it was reverted.
            self.count_run(recorded);
        }
    }

    fn count_compaction(&mut self, recorded: &Recorded) {
        let Some(session) = Compaction::concerned(recorded) else {
            return;
        };
        let known = self.compactions.get(session);
        let newest = known.and_then(|known| known.last()).cloned();
        let Some(change) = Compaction::apply(newest, recorded) else {
            return;
        };
        let all = self.compactions.entry(session.clone()).or_default();
        match change {
            CompactionUpdate::Added(next) => all.push(next),
            CompactionUpdate::Newest(newest) => {
                all.pop();
                all.push(newest);
            }
        }
    }

    fn count_life(&mut self, recorded: &Recorded) {
        if let Some(change) = SessionLink::changed(recorded) {
            change.apply(&mut self.links);
        }
        if let Event::InterruptionKept(checkpoint) = &recorded.event {
            let kept = self.interruptions.entry(recorded.session.clone());
            kept.or_default()
                .push((recorded.at, checkpoint.as_ref().clone()));
        }
        let Some(session) = Life::concerned(recorded) else {
            return;
        };
        let (life, changes) = Life::after(self.lives.remove(session), session, recorded);
        let parent = life.concerned_parent(recorded).cloned();
        self.lives.insert(session.clone(), life);
        let history = self.transitions.entry(session.clone()).or_default();
        history.extend(changes);
        let Some(parent) = parent else {
            return;
        };
        if let Some(life) = self.lives.get_mut(&parent)
            && let Some(change) = life.after_child(session, recorded)
        {
            self.transitions.entry(parent).or_default().push(change);
        }
    }

    fn count_run(&mut self, recorded: &Recorded) {
        if let Some(session) = SubagentRun::concerned(recorded) {
            let known = self.session_mut(session);
            known.run = SubagentRun::after(known.run.take(), recorded);
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
                self.session_mut(session).own = Some(*frame);
            }
            Event::SessionUnbound { session, .. } => self.session_mut(session).own = None,
            Event::FrameImported { frame } | Event::FrameCopied { frame, .. } => {
                if let Some(session) = &frame.session {
                    self.session_mut(session).own = Some(frame.id);
                }
            }
            Event::SessionReverted { session, .. } => {
                self.session_mut(session).reverted = Some(recorded.seq);
            }
            Event::SessionRestored { session, .. } | Event::SessionPrompted { session, .. } => {
                // The next prompt makes a revert final.
                if let Some(known) = self.sessions.get_mut(session) {
                    known.reverted = None;
                }
            }
            Event::EntriesIngested { marks, .. } => self.seen.extend(marks),
            Event::StackImported { source, foreign } => {
                self.imports.insert(source.clone(), foreign.clone());
            }
            Event::SessionDescribed(description) => {
                self.session_mut(&recorded.session).description = description.as_ref().clone();
            }
            Event::ModelUsed(model) => {
                self.session_mut(&recorded.session).model = Some(model.clone());
            }
            _ => {}
        }
        if let Some(session) = Activity::concerned(&recorded.event) {
            self.session_mut(session).activity.apply(recorded);
        }
        self.count_compaction(recorded);
        self.count_run(recorded);
        if let Some(frame) = fold::opened(recorded) {
            self.insert(frame);
            return;
        }
        for id in recorded.event.frames() {
            // Removes and adds it again: the event may move the frame.
            if let Some(mut frame) = self.remove(&id)
                && !matches!(recorded.event, Event::FrameDeleted { .. })
            {
                fold::change(&mut frame, recorded);
                self.insert(frame);
            }
        }
    }

    fn insert(&mut self, frame: Frame) {
        let place = (frame.rank, frame.id);
        self.children.entry(frame.parent).or_default().insert(place);
        self.frames.insert(frame.id, frame);
    }

    fn remove(&mut self, id: &FrameId) -> Option<Frame> {
        let frame = self.frames.remove(id)?;
        if let Some(siblings) = self.children.get_mut(&frame.parent) {
            siblings.remove(&(frame.rank, frame.id));
        }
        Some(frame)
    }

    fn session_mut(&mut self, key: &SessionRef) -> &mut Session {
        self.sessions
            .entry(key.clone())
            .or_insert_with(|| Session::new(key.clone()))
    }
}
