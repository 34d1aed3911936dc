//! Reverting a session to before a message, and restoring it, when its host does so.
//!
//! The events of the session from that message on are masked: they stay in the journal and stop
//! counting, until the host restores the session. Its next prompt makes the revert final.
//!
//! ```text
//!   m1        m2          m3            m4                    revert to m3:
//!   push a    push b      note, pop b   delegate to s         m3, m4 and all that s did are masked;
//!    ▲                        ▲             │                 b is open again, the session works on b
//!    └ still counts           │             └ s opens c, d
//!                             └ but if another session has changed b since m3, b stays popped
//! ```
//!
//! A revert reaches as far as its own session and the subagents that the masked messages started.
//! If another session has built on a masked frame, that frame, and the frames above it that are
//! part of the revert, keep their present state (`leave_to_others`, a fixed point: each frame that
//! stays may force its parent to stay). Both directions use the same check, with [`MaskOverlay`] as
//! the what-if state: masking on a revert, unmasking on a restore.

use std::collections::{BTreeMap, BTreeSet};

use super::{DecideResult, Decider};
use crate::event::{Event, Recorded};
use crate::frame::{FrameHead, Status};
use crate::id::{FrameId, Seq, SessionRef};
use crate::session::{Activity, ActivitySnapshot};
use crate::tree_query::{MaskOverlay, TreeQuery};

/// Events to mask or unmask, by their places.
type Passage = BTreeMap<Seq, Recorded>;

impl<N: TreeQuery + ?Sized> Decider<'_, N> {
    pub(super) fn revert(
        &mut self,
        messages: &[String],
        earlier: &[String],
    ) -> DecideResult<(), N> {
        let session = self.actor.session.clone();
        let Some(to) = messages.first() else {
            return Ok(());
        };
        // Reverted already: that holds until it is restored or continues.
        if self.first_seen || self.session.reverted.is_some() {
            return Ok(());
        }
        let passage = self.tree.events_from_message(&session, messages)?;
        let Some(first) = passage.first().map(|recorded| recorded.seq) else {
            return Ok(());
        };
        let late = |recorded: &Recorded| {
            let message = recorded.message.as_ref();
            message.is_some_and(|message| earlier.contains(message))
        };
        let mut passage: Passage = passage
            .into_iter()
            .filter(|recorded| self.is_masked(&recorded.event) && !late(recorded))
            .map(|recorded| (recorded.seq, recorded))
            .collect();
        self.add_subagents(&mut passage, first)?;
        self.leave_to_others(&mut passage, first, hide)?;
        let activity_after = self.activity_without(&passage, first)?;
        if passage.is_empty() {
            return Ok(());
        }
        self.events.push(Event::SessionReverted {
            session,
            to: to.clone(),
            masked: passage.keys().copied().collect(),
            active_before: self.session.active,
            activity_before: self.session.activity.snapshot(),
            activity_after,
        });
        self.restore_focus(&passage)
    }

    pub(super) fn unrevert(&mut self) -> DecideResult<(), N> {
        let session = self.actor.session.clone();
        let Some(reverted) = self.session.reverted else {
            return Ok(());
        };
        let found = self.tree.recorded(&[reverted])?.into_iter().next();
        let Some(Event::SessionReverted {
            masked,
            active_before,
            activity_before,
            ..
        }) = found.map(|recorded| recorded.event)
        else {
            return Ok(());
        };
        let passage = self.tree.recorded(&masked)?;
        let mut passage: Passage = passage
            .into_iter()
            .map(|recorded| (recorded.seq, recorded))
            .collect();
        self.leave_to_others(&mut passage, reverted, show)?;
        self.events.push(Event::SessionRestored {
            session: session.clone(),
            reverted,
            unmasked: passage.keys().copied().collect(),
            activity_after: activity_before,
        });
        let counting = show(&passage);
        let to = self.in_progress_under(&counting, active_before.as_ref())?;
        self.set_focus(&session, self.session.active, to);
        self.leave_masked(&passage, &counting, &BTreeSet::from([session]))
    }

    /// Returns true if an event is masked when this session is reverted. Activity of other sessions
    /// did happen.
    fn is_masked(&self, event: &Event) -> bool {
        let concerned = Activity::concerned(event);
        event.traits().reverts && concerned.is_none_or(|it| *it == self.actor.session)
    }

    /// Adds the events of the subagents that the passage started.
    fn add_subagents(&self, passage: &mut Passage, first: Seq) -> DecideResult<(), N> {
        let mut known = BTreeSet::from([self.actor.session.clone()]);
        loop {
            let opened: BTreeSet<FrameId> = passage
                .values()
                .filter_map(|recorded| match &recorded.event {
                    Event::FrameOpened { frame, .. } => Some(*frame),
                    _ => None,
                })
                .collect();
            let bound = passage.values().find_map(|recorded| match &recorded.event {
                Event::SessionBound { session, frame }
                    if opened.contains(frame) && !known.contains(session) =>
                {
                    Some(session.clone())
                }
                _ => None,
            });
            let Some(subagent) = bound else {
                return Ok(());
            };
            for recorded in self.tree.events_since(&subagent, first)? {
                if self.is_masked(&recorded.event) {
                    passage.insert(recorded.seq, recorded);
                }
            }
            known.insert(subagent);
        }
    }

    /// Removes from a passage the frames that must keep their present state because of what other
    /// sessions did since: frames that they changed or extended, frames that would be open below a
    /// finished or missing parent, and then the frames above those.
    fn leave_to_others(
        &self,
        passage: &mut Passage,
        since: Seq,
        side: fn(&Passage) -> MaskOverlay,
    ) -> DecideResult<(), N> {
        loop {
            let counting = side(passage);
            let changes = passage.values().filter(|it| !is_note(&it.event));
            let touched: BTreeSet<FrameId> = changes.flat_map(|it| it.event.frames()).collect();
            let mut kept = BTreeSet::new();
            for frame in &touched {
                let changes = self.tree.changed_since(frame, since)?;
                let by_others = changes.iter().any(|seq| !passage.contains_key(seq));
                if by_others || !self.fits_under(&counting, frame)? {
                    kept.insert(*frame);
                }
            }
            let mut above: Vec<FrameId> = kept.iter().copied().collect();
            while let Some(id) = above.pop() {
                for head in [self.frame_under(&counting, &id)?, self.current(&id)?] {
                    let parent = head.and_then(|head| head.parent);
                    if let Some(parent) = parent.filter(|parent| touched.contains(parent))
                        && kept.insert(parent)
                    {
                        above.push(parent);
                    }
                }
            }
            let before = passage.len();
            passage.retain(|_, recorded| {
                is_note(&recorded.event) || !recorded.event.frames().any(|id| kept.contains(&id))
            });
            if passage.len() == before {
                return Ok(());
            }
        }
    }

    /// Returns false if the overlay would leave the frame open below a finished or missing parent.
    fn fits_under(&self, counting: &MaskOverlay, frame: &FrameId) -> DecideResult<bool, N> {
        let Some(head) = self.frame_under(counting, frame)? else {
            return Ok(true);
        };
        let Some(parent) = &head.parent else {
            return Ok(true);
        };
        Ok(self.frame_under(counting, parent)?.is_some_and(|parent| {
            let ended = matches!(parent.status, Status::Completed | Status::Failed);
            !(ended && head.status.is_open())
        }))
    }

    /// Returns the activity of the session without the passage.
    fn activity_without(&self, passage: &Passage, first: Seq) -> DecideResult<ActivitySnapshot, N> {
        let session = &self.actor.session;
        let mut seen = self.session.activity.snapshot();
        let mut ended = false;
        for recorded in passage.values() {
            match &recorded.event {
                Event::SessionPrompted {
                    session: spoken, ..
                } if spoken == session => {
                    seen.prompts = seen.prompts.saturating_sub(1);
                    ended = true;
                }
                Event::SessionInterrupted {
                    session: stopped, ..
                } if stopped == session => {
                    seen.interruptions = seen.interruptions.saturating_sub(1);
                    ended = true;
                }
                Event::TurnEnded {
                    session: turned, ..
                } if turned == session => ended = true,
                _ => {}
            }
        }
        if seen.prompts == 0 {
            seen.opening = None;
        }
        if ended {
            let mut before = Activity::default();
            for recorded in self.tree.turn_before(session, first)? {
                before.apply(&recorded);
            }
            seen.said = before.said;
            seen.interrupted = before.interrupted;
        }
        Ok(seen)
    }

    /// Sends every session that changed its focus in the passage back to where it came from, unless it
    /// has moved since. No session may work on a frame that is no longer in progress.
    fn restore_focus(&mut self, passage: &Passage) -> DecideResult<(), N> {
        let mut moved: BTreeMap<SessionRef, (Option<FrameId>, Option<FrameId>)> = BTreeMap::new();
        for recorded in passage.values() {
            if let Event::SessionFocused { session, from, to } = &recorded.event {
                let path = moved.entry(session.clone());
                let path = path.or_insert_with(|| (*from, None));
                path.1.clone_from(to);
            }
        }
        let counting = hide(passage);
        let mut done = BTreeSet::new();
        for (session, (from, last)) in moved {
            let now = self.tree.session(&session)?;
            let now = now.and_then(|known| known.active);
            let start = if now == last { &from } else { &now };
            let to = self.in_progress_under(&counting, start.as_ref())?;
            self.set_focus(&session, now, to);
            done.insert(session);
        }
        self.leave_masked(passage, &counting, &done)
    }

    /// Sends the sessions on frames that would not be in progress to the nearest one above.
    fn leave_masked(
        &mut self,
        passage: &Passage,
        counting: &MaskOverlay,
        done: &BTreeSet<SessionRef>,
    ) -> DecideResult<(), N> {
        for frame in frames(passage) {
            let focused = self.tree.focused_on(&frame)?;
            for session in focused {
                if !done.contains(&session) {
                    let to = self.in_progress_under(counting, Some(&frame))?;
                    if to.as_ref() != Some(&frame) {
                        self.set_focus(&session, Some(frame), to);
                    }
                }
            }
        }
        Ok(())
    }

    fn set_focus(&mut self, session: &SessionRef, from: Option<FrameId>, to: Option<FrameId>) {
        self.events.push(Event::SessionFocused {
            session: session.clone(),
            from,
            to,
        });
    }

    /// Returns the nearest frame that would be in progress, from `from` upwards.
    fn in_progress_under(
        &self,
        counting: &MaskOverlay,
        from: Option<&FrameId>,
    ) -> DecideResult<Option<FrameId>, N> {
        let mut next = from.copied();
        while let Some(id) = next {
            let head = self.frame_under(counting, &id)?;
            if head
                .as_ref()
                .is_some_and(|head| head.status == Status::InProgress)
            {
                return Ok(Some(id));
            }
            next = match head {
                Some(head) => head.parent,
                None => self.current(&id)?.and_then(|head| head.parent),
            };
        }
        Ok(None)
    }

    fn frame_under(
        &self,
        counting: &MaskOverlay,
        frame: &FrameId,
    ) -> DecideResult<Option<FrameHead>, N> {
        Ok(self.tree.frame_under(frame, counting)?)
    }

    fn current(&self, frame: &FrameId) -> DecideResult<Option<FrameHead>, N> {
        Ok(self.tree.frame(frame)?)
    }
}

fn hide(passage: &Passage) -> MaskOverlay {
    MaskOverlay {
        hidden: passage.keys().copied().collect(),
        shown: BTreeSet::new(),
    }
}

fn show(passage: &Passage) -> MaskOverlay {
    MaskOverlay {
        hidden: BTreeSet::new(),
        shown: passage.keys().copied().collect(),
    }
}

/// Returns true if an event only adds to a frame, so that masking it affects no other session.
fn is_note(event: &Event) -> bool {
    matches!(event, Event::Noted { .. } | Event::Logged { .. })
}

fn frames(passage: &Passage) -> BTreeSet<FrameId> {
    let events = passage.values();
    events
        .flat_map(|recorded| recorded.event.frames())
        .collect()
}
