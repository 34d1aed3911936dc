//! A conversation that its host makes as a copy of another one.
//!
//! It goes on from the last message that it got: what was open there is open in it too, as frames
//! of its own, and what was finished it knows by its results. Nothing happens to the original, and
//! nothing in the messages that were copied happened here.

use std::collections::{BTreeMap, BTreeSet};

use super::{Ground, Remark, Ruling};
use crate::Rejected;
use crate::command::Fork;
use crate::event::{Event, Recorded};
use crate::frame::{Frame, Origin, Rank, Span, Status};
use crate::id::{FrameId, Seq};
use crate::neighbourhood::Neighbourhood;
use crate::session::Session;
use crate::transcript::Entry;

/// The frames of the original as they were where the copy ends.
struct Then {
    /// The end of what was copied.
    point: Seq,
    /// The frame that was the original.
    own: Option<FrameId>,
    /// The frame that it worked on.
    active: Option<FrameId>,
    /// What was open, parents before children.
    open: Vec<Frame>,
    /// What was finished, in that order.
    finished: Vec<Frame>,
}

impl<N: Neighbourhood + ?Sized> Ground<'_, N> {
    pub(super) fn fork(&mut self, fork: &Fork) -> Ruling<(), N> {
        let session = self.actor.session.clone();
        let original = self.tree.session(&fork.from);
        let original = original.map_err(Rejected::Unreadable)?;
        let (Some(original), Some((_, first))) = (original, fork.messages.first()) else {
            return Ok(());
        };
        let begun = self.tree.is_seen(Entry::copied_mark(&session, first));
        let begun = begun.map_err(Rejected::Unreadable)?;
        if begun || self.own.is_some() || self.active.is_some() || fork.from == session {
            self.remarks.push(Remark::AlreadyRecorded);
            return Ok(());
        }
        let then = self.back_then(fork, &original)?;
        let copies = self.copy_open(fork, &then)?;
        self.copy_finished(fork, &then, &copies)?;
        if let Some(frame) = self.worked_on(&then, &copies)? {
            self.focus(&frame);
        }
        let marks = fork.messages.iter();
        self.events.push(Event::SessionWitnessed {
            marks: marks
                .map(|(_, copy)| Entry::copied_mark(&session, copy))
                .collect(),
            session,
        });
        Ok(())
    }

    fn back_then(&self, fork: &Fork, original: &Session) -> Ruling<Then, N> {
        let later = self.tree.passage(&fork.from, &fork.later);
        let later = later.map_err(Rejected::Unreadable)?;
        let point = later.first().map_or(Seq(i64::MAX), |first| first.seq);
        let done = self.tree.done_since(&fork.from, Seq::default());
        let mut done = done.map_err(Rejected::Unreadable)?;
        done.retain(|recorded| recorded.seq < point);
        let active = if later.is_empty() {
            original.active.clone()
        } else {
            let turned = done
                .iter()
                .rev()
                .find_map(|recorded| match &recorded.event {
                    Event::SessionFocused { session, to, .. } if *session == fork.from => Some(to),
                    _ => None,
                });
            turned.cloned().flatten()
        };
        let mut then = Then {
            point,
            own: original.own.clone(),
            active,
            open: Vec::new(),
            finished: Vec::new(),
        };
        for id in worked_in(original, &done) {
            let frame = self.tree.before(&id, point);
            let Some(frame) = frame.map_err(Rejected::Unreadable)? else {
                continue;
            };
            let of_others = frame.session.as_ref().is_some_and(|it| *it != fork.from);
            let elsewhere = frame
                .span
                .as_ref()
                .is_some_and(|it| it.session != fork.from);
            let is_own = then.own.as_ref() == Some(&id);
            if !is_own && (frame.origin != Origin::Asked || of_others || elsewhere) {
                continue;
            }
            match frame.status {
                Status::Planned | Status::InProgress | Status::Blocked => then.open.push(frame),
                Status::Completed | Status::Failed if !is_own => then.finished.push(frame),
                Status::Completed | Status::Failed | Status::Invalidated => {}
            }
        }
        then.order();
        Ok(then)
    }

    /// Copies what was open; answers which frame became which.
    fn copy_open(&mut self, fork: &Fork, then: &Then) -> Ruling<BTreeMap<FrameId, FrameId>, N> {
        let mut copies: BTreeMap<FrameId, FrameId> = BTreeMap::new();
        for frame in &then.open {
            let parent = frame.parent.as_ref();
            let above = parent.and_then(|parent| copies.get(parent)).cloned();
            // A plan below what is no part of this is there already.
            if parent.is_some() && above.is_none() && frame.status == Status::Planned {
                continue;
            }
            let (parent, rank) = match above {
                Some(above) => (Some(above), frame.rank),
                None => self.place_beside(parent)?,
            };
            let Some(id) = self.name(fork)? else {
                break;
            };
            copies.insert(frame.id.clone(), id.clone());
            let is_own = then.own.as_ref() == Some(&frame.id);
            self.events.push(Event::FrameCopied {
                of: frame.id.clone(),
                frame: Box::new(Frame {
                    session: is_own.then(|| self.actor.session.clone()),
                    ..self.copy(fork, frame, id, parent, rank)
                }),
            });
        }
        Ok(copies)
    }

    /// What was finished is known by its results, below the copies of what was open. What is below
    /// finished frames went into their results.
    fn copy_finished(
        &mut self,
        fork: &Fork,
        then: &Then,
        copies: &BTreeMap<FrameId, FrameId>,
    ) -> Ruling<(), N> {
        let is_known = |frame: &&Frame| match &frame.parent {
            Some(parent) => copies.contains_key(parent),
            None => true,
        };
        let known: Vec<&Frame> = then.finished.iter().filter(is_known).collect();
        let room = fork.ids.len().saturating_sub(self.drawn.len());
        for frame in known.iter().skip(known.len().saturating_sub(room)) {
            let Some(id) = self.name(fork)? else {
                break;
            };
            let above = frame.parent.as_ref();
            let (parent, rank) = match above.and_then(|parent| copies.get(parent)) {
                Some(parent) => (Some(parent.clone()), frame.rank),
                None => self.place_beside(None)?,
            };
            self.events.push(Event::FrameCopied {
                of: frame.id.clone(),
                frame: Box::new(Frame {
                    notes: Vec::new(),
                    session: None,
                    ..self.copy(fork, frame, id, parent, rank)
                }),
            });
        }
        Ok(())
    }

    fn copy(
        &self,
        fork: &Fork,
        frame: &Frame,
        id: FrameId,
        parent: Option<FrameId>,
        rank: Rank,
    ) -> Frame {
        // What was summarised away has no other name; nobody will meet the old one.
        let renamed = |message: &String| {
            let mut pairs = fork.messages.iter();
            let pair = pairs.find(|(original, _)| original == message);
            pair.map_or_else(|| message.clone(), |(_, copy)| copy.clone())
        };
        Frame {
            id,
            parent,
            rank,
            awaiting: None,
            aliases: Vec::new(),
            foreign: None,
            span: frame.span.as_ref().map(|span| Span {
                session: self.actor.session.clone(),
                first: span.first.as_ref().map(renamed),
                last: span.last.as_ref().map(renamed),
            }),
            ..frame.clone()
        }
    }

    /// The place of a copy that has no copy above it: beside the original where that is still
    /// possible, else among the roots.
    fn place_beside(&self, parent: Option<&FrameId>) -> Ruling<(Option<FrameId>, Rank), N> {
        let mut above = None;
        if let Some(parent) = parent {
            let head = self.tree.frame(parent).map_err(Rejected::Unreadable)?;
            let open = head.filter(|head| head.status == Status::InProgress);
            above = open.map(|head| head.id);
        }
        let last = self.tree.last_rank(above.as_ref());
        let mut rank = Rank::after(last.map_err(Rejected::Unreadable)?);
        for event in &self.events {
            if let Event::FrameCopied { frame, .. } = event
                && frame.parent == above
                && frame.rank >= rank
            {
                rank = Rank::after(Some(frame.rank));
            }
        }
        Ok((above, rank))
    }

    /// The next name that nobody has.
    fn name(&mut self, fork: &Fork) -> Ruling<Option<FrameId>, N> {
        for id in &fork.ids {
            let taken = self.tree.is_taken(id).map_err(Rejected::Unreadable)?;
            if !taken && self.drawn.insert(id.clone()) {
                return Ok(Some(id.clone()));
            }
        }
        Ok(None)
    }

    /// The copy of what the original worked on, or of the nearest frame above it.
    fn worked_on(
        &self,
        then: &Then,
        copies: &BTreeMap<FrameId, FrameId>,
    ) -> Ruling<Option<FrameId>, N> {
        let mut next = then.active.clone();
        let mut passed = BTreeSet::new();
        while let Some(id) = next.filter(|id| passed.insert(id.clone())) {
            let frame = self.tree.before(&id, then.point);
            let frame = frame.map_err(Rejected::Unreadable)?;
            let in_progress = frame
                .as_ref()
                .is_some_and(|frame| frame.status == Status::InProgress);
            if let Some(copy) = copies.get(&id).filter(|_| in_progress) {
                return Ok(Some(copy.clone()));
            }
            next = frame.and_then(|frame| frame.parent);
        }
        Ok(None)
    }
}

impl Then {
    /// Parents before children, and what was finished in the order in which it was.
    fn order(&mut self) {
        let parents: BTreeMap<FrameId, Option<FrameId>> = self
            .open
            .iter()
            .map(|frame| (frame.id.clone(), frame.parent.clone()))
            .collect();
        let depth = |frame: &Frame| {
            let mut above = frame.parent.as_ref();
            let mut depth = 0;
            while let Some(parent) = above.and_then(|id| parents.get(id))
                && depth < parents.len()
            {
                depth += 1;
                above = parent.as_ref();
            }
            depth
        };
        self.open.sort_by_cached_key(depth);
        self.finished.sort_by_key(|frame| frame.closed);
    }
}

/// The frames that a session opened or began, and the one that it is.
fn worked_in(original: &Session, done: &[Recorded]) -> Vec<FrameId> {
    let mut met = BTreeSet::new();
    let begun = done.iter().filter_map(|recorded| match &recorded.event {
        Event::FrameOpened { frame, .. } | Event::FrameStarted { frame } => Some(frame),
        Event::FrameCopied { frame, .. } => Some(&frame.id),
        _ => None,
    });
    original
        .own
        .iter()
        .chain(begun)
        .filter(|id| met.insert((*id).clone()))
        .cloned()
        .collect()
}
