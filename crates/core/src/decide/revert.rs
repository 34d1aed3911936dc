//! A conversation that its host winds back to before a message, and forward again.
//!
//! What the conversation did from that message on counts no longer, and with it what its subagents
//! did that were started there. Nothing of it is lost: it counts again when the conversation is
//! wound forward, until its next prompt. What somebody else has built on stays as it is, both ways:
//! a host's undo reaches as far as its own conversation.

use std::collections::{BTreeMap, BTreeSet};

use super::{Ground, Rejected, Ruling};
use crate::event::{Event, Recorded};
use crate::frame::{FrameHead, Status};
use crate::id::{FrameId, Seq, SessionRef};
use crate::neighbourhood::{Neighbourhood, Otherwise};
use crate::session::{Conversation, Glimpse};

/// Events that are to count otherwise, by their places.
type Passage = BTreeMap<Seq, Recorded>;

impl<N: Neighbourhood + ?Sized> Ground<'_, N> {
    pub(super) fn revert(&mut self, messages: &[String], earlier: &[String]) -> Ruling<(), N> {
        let session = self.actor.session.clone();
        let known = self.tree.session(&session).map_err(Rejected::Unreadable)?;
        let (Some(known), Some(to)) = (known, messages.first()) else {
            return Ok(());
        };
        // Wound back already: that counts until it is wound forward or goes on.
        if known.reverted.is_some() {
            return Ok(());
        }
        let passage = self.tree.passage(&session, messages);
        let passage = passage.map_err(Rejected::Unreadable)?;
        let Some(first) = passage.first().map(|recorded| recorded.seq) else {
            return Ok(());
        };
        let late = |recorded: &Recorded| {
            let message = recorded.message.as_ref();
            message.is_some_and(|message| earlier.contains(message))
        };
        let mut passage: Passage = passage
            .into_iter()
            .filter(|recorded| self.goes(&recorded.event) && !late(recorded))
            .map(|recorded| (recorded.seq, recorded))
            .collect();
        self.add_subagents(&mut passage, first)?;
        self.leave_to_others(&mut passage, first, hide)?;
        let seen = self.seen_without(&passage, first)?;
        let was = self.tree.conversation(&session);
        let was = was.map_err(Rejected::Unreadable)?.glimpse();
        if passage.is_empty() {
            return Ok(());
        }
        self.events.push(Event::SessionReverted {
            session,
            to: to.clone(),
            masked: passage.keys().copied().collect(),
            stood: known.active,
            was,
            seen,
        });
        self.stand_back(&passage)
    }

    pub(super) fn unrevert(&mut self) -> Ruling<(), N> {
        let session = self.actor.session.clone();
        let known = self.tree.session(&session).map_err(Rejected::Unreadable)?;
        let Some(reverted) = known.as_ref().and_then(|known| known.reverted) else {
            return Ok(());
        };
        let found = self.tree.recorded(&[reverted]);
        let found = found.map_err(Rejected::Unreadable)?.into_iter().next();
        let Some(Event::SessionReverted {
            masked, stood, was, ..
        }) = found.map(|recorded| recorded.event)
        else {
            return Ok(());
        };
        let passage = self.tree.recorded(&masked).map_err(Rejected::Unreadable)?;
        let mut passage: Passage = passage
            .into_iter()
            .map(|recorded| (recorded.seq, recorded))
            .collect();
        self.leave_to_others(&mut passage, reverted, show)?;
        self.events.push(Event::SessionRestored {
            session: session.clone(),
            reverted,
            shown: passage.keys().copied().collect(),
            seen: was,
        });
        let counting = show(&passage);
        let now = known.and_then(|known| known.active);
        let to = self.in_progress_if(&counting, stood.as_ref())?;
        self.turn(&session, now, to);
        self.step_off(&passage, &counting, &BTreeSet::from([session]))
    }

    /// Whether an event goes when this session is wound back. What was seen of other conversations
    /// was seen.
    fn goes(&self, event: &Event) -> bool {
        let concerned = Conversation::concerned(event);
        event.goes_with_its_message() && concerned.is_none_or(|it| *it == self.actor.session)
    }

    /// What the subagents did that the passage started is part of it.
    fn add_subagents(&self, passage: &mut Passage, first: Seq) -> Ruling<(), N> {
        let mut known = BTreeSet::from([self.actor.session.clone()]);
        loop {
            let opened: BTreeSet<FrameId> = passage
                .values()
                .filter_map(|recorded| match &recorded.event {
                    Event::FrameOpened { frame, .. } => Some(frame.clone()),
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
            let done = self.tree.done_since(&subagent, first);
            for recorded in done.map_err(Rejected::Unreadable)? {
                if self.goes(&recorded.event) {
                    passage.insert(recorded.seq, recorded);
                }
            }
            known.insert(subagent);
        }
    }

    /// Takes out of a passage what cannot count otherwise because of what others have done since:
    /// frames that they changed or put something below, frames that would be open below finished
    /// ones or below none, and so the frames above those.
    fn leave_to_others(
        &self,
        passage: &mut Passage,
        since: Seq,
        side: fn(&Passage) -> Otherwise,
    ) -> Ruling<(), N> {
        loop {
            let counting = side(passage);
            let changes = passage.values().filter(|it| !is_note(&it.event));
            let touched: BTreeSet<FrameId> = changes.flat_map(|it| it.event.frames()).collect();
            let mut kept = BTreeSet::new();
            for frame in &touched {
                let changes = self.tree.changed_since(frame, since);
                let changes = changes.map_err(Rejected::Unreadable)?;
                let by_others = changes.iter().any(|seq| !passage.contains_key(seq));
                if by_others || !self.has_its_place(&counting, frame)? {
                    kept.insert(frame.clone());
                }
            }
            let mut above: Vec<FrameId> = kept.iter().cloned().collect();
            while let Some(id) = above.pop() {
                for head in [self.if_so(&counting, &id)?, self.now(&id)?] {
                    let parent = head.and_then(|head| head.parent);
                    if let Some(parent) = parent.filter(|parent| touched.contains(parent))
                        && kept.insert(parent.clone())
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

    /// Whether a frame that would be there would also be somewhere.
    fn has_its_place(&self, counting: &Otherwise, frame: &FrameId) -> Ruling<bool, N> {
        let Some(head) = self.if_so(counting, frame)? else {
            return Ok(true);
        };
        let Some(parent) = &head.parent else {
            return Ok(true);
        };
        Ok(self.if_so(counting, parent)?.is_some_and(|parent| {
            let ended = matches!(parent.status, Status::Completed | Status::Failed);
            !(ended && head.status.is_open())
        }))
    }

    /// What was seen of the conversation as far as it is not part of the passage.
    fn seen_without(&self, passage: &Passage, first: Seq) -> Ruling<Glimpse, N> {
        let session = &self.actor.session;
        let mut seen = self
            .tree
            .conversation(session)
            .map_err(Rejected::Unreadable)?
            .glimpse();
        let mut ended = false;
        for recorded in passage.values() {
            match &recorded.event {
                Event::SessionPrompted { session: spoken } if spoken == session => {
                    seen.prompts = seen.prompts.saturating_sub(1);
                    ended = true;
                }
                Event::SessionInterrupted {
                    session: stopped, ..
                } if stopped == session => {
                    seen.interruptions = seen.interruptions.saturating_sub(1);
                    ended = true;
                }
                Event::SessionTurned {
                    session: turned, ..
                } if turned == session => ended = true,
                _ => {}
            }
        }
        if seen.prompts == 0 {
            seen.opening = None;
        }
        if ended {
            let turn = self.tree.turn_before(session, first);
            let mut before = Conversation::default();
            for recorded in turn.map_err(Rejected::Unreadable)? {
                before.change(&recorded);
            }
            seen.said = before.said;
            seen.interrupted = before.interrupted;
        }
        Ok(seen)
    }

    /// Every session that turned to another frame in the passage goes back to where it came from,
    /// unless it has gone elsewhere since; nobody stands on what is no longer in progress.
    fn stand_back(&mut self, passage: &Passage) -> Ruling<(), N> {
        let mut moved: BTreeMap<SessionRef, (Option<FrameId>, Option<FrameId>)> = BTreeMap::new();
        for recorded in passage.values() {
            if let Event::SessionFocused { session, from, to } = &recorded.event {
                let path = moved.entry(session.clone());
                let path = path.or_insert_with(|| (from.clone(), None));
                path.1.clone_from(to);
            }
        }
        let counting = hide(passage);
        let mut done = BTreeSet::new();
        for (session, (from, last)) in moved {
            let now = self.tree.session(&session).map_err(Rejected::Unreadable)?;
            let now = now.and_then(|known| known.active);
            let start = if now == last { &from } else { &now };
            let to = self.in_progress_if(&counting, start.as_ref())?;
            self.turn(&session, now, to);
            done.insert(session);
        }
        self.step_off(passage, &counting, &done)
    }

    /// Whoever stands on a frame that would not be in progress goes to the nearest one above.
    fn step_off(
        &mut self,
        passage: &Passage,
        counting: &Otherwise,
        done: &BTreeSet<SessionRef>,
    ) -> Ruling<(), N> {
        for frame in frames(passage) {
            let standing = self.tree.focused_on(&frame).map_err(Rejected::Unreadable)?;
            for session in standing {
                if !done.contains(&session) {
                    let to = self.in_progress_if(counting, Some(&frame))?;
                    if to.as_ref() != Some(&frame) {
                        self.turn(&session, Some(frame.clone()), to);
                    }
                }
            }
        }
        Ok(())
    }

    fn turn(&mut self, session: &SessionRef, from: Option<FrameId>, to: Option<FrameId>) {
        self.events.push(Event::SessionFocused {
            session: session.clone(),
            from,
            to,
        });
    }

    /// The nearest frame that would be in progress, starting with `from` itself.
    fn in_progress_if(
        &self,
        counting: &Otherwise,
        from: Option<&FrameId>,
    ) -> Ruling<Option<FrameId>, N> {
        let mut next = from.cloned();
        while let Some(id) = next {
            let head = self.if_so(counting, &id)?;
            if head
                .as_ref()
                .is_some_and(|head| head.status == Status::InProgress)
            {
                return Ok(Some(id));
            }
            next = match head {
                Some(head) => head.parent,
                None => self.now(&id)?.and_then(|head| head.parent),
            };
        }
        Ok(None)
    }

    fn if_so(&self, counting: &Otherwise, frame: &FrameId) -> Ruling<Option<FrameHead>, N> {
        let head = self.tree.otherwise(frame, counting);
        head.map_err(Rejected::Unreadable)
    }

    fn now(&self, frame: &FrameId) -> Ruling<Option<FrameHead>, N> {
        self.tree.frame(frame).map_err(Rejected::Unreadable)
    }
}

fn hide(passage: &Passage) -> Otherwise {
    Otherwise {
        hidden: passage.keys().copied().collect(),
        shown: BTreeSet::new(),
    }
}

fn show(passage: &Passage) -> Otherwise {
    Otherwise {
        hidden: BTreeSet::new(),
        shown: passage.keys().copied().collect(),
    }
}

/// Whether an event only adds to what is known in a frame: it can go, and others need not care.
fn is_note(event: &Event) -> bool {
    matches!(event, Event::Noted { .. } | Event::Logged { .. })
}

fn frames(passage: &Passage) -> BTreeSet<FrameId> {
    let events = passage.values();
    events
        .flat_map(|recorded| recorded.event.frames())
        .collect()
}
