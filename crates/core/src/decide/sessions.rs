//! Sessions made, linked, closed and interrupted by commands.

use std::collections::BTreeSet;

use super::{DecideResult, Decider, Remark};
use crate::event::Event;
use crate::id::SessionRef;
use crate::refusal::Refusal;
use crate::session::checkpoint::{InterruptionCause, ProcessIdentity};
use crate::session::life::Life;
use crate::session::link::{Creation, LinkKind, SessionLink};
use crate::session::state::{SessionState, Signal};
use crate::text::Text;
use crate::tree_query::TreeQuery;

impl<N: TreeQuery + ?Sized> Decider<'_, N> {
    /// Makes a session, or describes one that its host has just made.
    pub(super) fn create_session(
        &mut self,
        creation: &Creation,
        parent: Option<&SessionRef>,
    ) -> DecideResult<(), N> {
        let session = &creation.session;
        for named in creation.from.iter().chain(parent) {
            self.known_session(named)?;
        }
        let known = self.tree.life(session)?;
        if known.is_some_and(|known| known.creation.as_ref() == Some(creation)) {
            self.remarks.push(Remark::AlreadyRecorded);
            return Ok(());
        }
        self.require_session(session)?;
        if let Some(frame) = &creation.frame {
            let frame = self.frame(frame)?;
            if frame.session.as_ref() != Some(session) {
                self.bind(&frame.id, session)?;
            }
        }
        self.events
            .push(Event::SessionCreated(Box::new(creation.clone())));
        if let Some(parent) = parent {
            self.link_session(session, LinkKind::Parent, Some(parent), false)?;
        }
        if let Some(from) = creation.from.as_ref().filter(|from| *from != session) {
            self.link_session(from, LinkKind::HandOff, Some(session), false)?;
        }
        Ok(())
    }

    /// Links a session to another one, or removes the link.
    pub(super) fn link_session(
        &mut self,
        session: &SessionRef,
        kind: LinkKind,
        to: Option<&SessionRef>,
        removed: bool,
    ) -> DecideResult<(), N> {
        for named in [Some(session), to].into_iter().flatten() {
            self.known_session(named)?;
        }
        if let Some(to) = to.filter(|_| !removed) {
            let is_above = kind == LinkKind::Parent && self.is_above(session, to)?;
            if to == session || is_above {
                return Err(Refusal::SessionLoop {
                    session: session.clone(),
                    to: to.clone(),
                }
                .into());
            }
        }
        let is_there = match (kind, to) {
            (LinkKind::Parent, to) => {
                let known = self.tree.life(session)?;
                known.and_then(|life| life.parent).as_ref() == to
            }
            (_, Some(to)) => self.tree.links(session)?.contains(&SessionLink {
                session: session.clone(),
                kind,
                to: to.clone(),
            }),
            (_, None) => true,
        };
        // A session without a parent may be kept so against its host's word.
        let is_detached = kind == LinkKind::Parent && to.is_none();
        if is_there != removed && !is_detached {
            self.remarks.push(Remark::AlreadyRecorded);
            return Ok(());
        }
        self.events.push(Event::SessionLinked {
            session: session.clone(),
            kind,
            to: to.cloned(),
            removed,
        });
        Ok(())
    }

    /// Closes a session: nothing more is expected of it. A user's terminal has no state, and only leaves its frame.
    pub(super) fn close_session(
        &mut self,
        session: &SessionRef,
        why: Option<&Text>,
    ) -> DecideResult<(), N> {
        self.known_session(session)?;
        if session.is_shell() {
            return self.leave_frame(session);
        }
        let known = self.tree.life(session)?;
        if known.is_some_and(|life| life.state == SessionState::Closed) {
            self.remarks.push(Remark::AlreadyRecorded);
            return Ok(());
        }
        self.events.push(Event::SessionClosed {
            session: session.clone(),
            why: why.cloned(),
        });
        Ok(())
    }

    /// Ends the work of a session on its active frame, which stays open.
    fn leave_frame(&mut self, session: &SessionRef) -> DecideResult<(), N> {
        match self.tree.session(session)?.and_then(|known| known.active) {
            Some(active) => self.events.push(Event::SessionFocused {
                session: session.clone(),
                from: Some(active),
                to: None,
            }),
            None => self.remarks.push(Remark::AlreadyRecorded),
        }
        Ok(())
    }

    /// Records that the acting session was interrupted, if a turn runs.
    pub(super) fn interrupt(
        &mut self,
        cause: InterruptionCause,
        how: Option<&Text>,
    ) -> DecideResult<(), N> {
        let known = self.tree.life(&self.actor.session)?;
        if known.is_some_and(|life| life.state.is_busy()) {
            self.events.push(Event::SessionInterrupted {
                session: self.actor.session.clone(),
                how: how.cloned(),
                cause,
            });
        }
        Ok(())
    }

    /// Records the process that serves the acting session, unless it is known.
    pub(super) fn host_session(&mut self, process: &ProcessIdentity) -> DecideResult<(), N> {
        let known = self.tree.life(&self.actor.session)?;
        if known.and_then(|life| life.process).as_ref() != Some(process) {
            self.events.push(Event::SessionHosted(process.clone()));
        }
        Ok(())
    }

    /// Records that the acting session is continued. Only a session that was cut off with its host is,
    /// and only once: two hosts that start at the same time decide one after the other.
    pub(super) fn begin_resume(&mut self) -> DecideResult<(), N> {
        let known = self.tree.life(&self.actor.session)?;
        let was_cut_off = known.is_some_and(|life| {
            let by_end_of_host = matches!(life.last.signal, Signal::Killed | Signal::Crashed);
            life.state == SessionState::Interrupted && by_end_of_host
        });
        if was_cut_off && self.session.activity.resumes == 0 {
            self.events.push(Event::ResumeBegun {
                session: self.actor.session.clone(),
            });
        }
        Ok(())
    }

    /// Returns true if a session is another one or above it.
    fn is_above(&self, session: &SessionRef, other: &SessionRef) -> DecideResult<bool, N> {
        let mut seen = BTreeSet::new();
        let mut next = Some(other.clone());
        while let Some(current) = next.filter(|current| seen.insert(current.clone())) {
            if current == *session {
                return Ok(true);
            }
            let life: Option<Life> = self.tree.life(&current)?;
            next = life.and_then(|life| life.parent);
        }
        Ok(false)
    }

    fn known_session(&self, session: &SessionRef) -> DecideResult<(), N> {
        let is_acting = *session == self.actor.session;
        let is_opened = self.opened.contains(session);
        if is_acting || is_opened || self.tree.session(session)?.is_some() {
            return Ok(());
        }
        Err(Refusal::NoSuchSession(session.clone()).into())
    }
}
