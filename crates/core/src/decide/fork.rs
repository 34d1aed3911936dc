//! Forks: a host starts a session as a copy of another one, up to some message.
//!
//! ```text
//!   original   root > (done, open*)            m1 … m5 m6 m7
//!                       │     │                       └──┴─ not in the fork
//!   fork       root > (done', open'*)          m1'… m5'
//! ```
//!
//! The fork continues from its last message. It gets its own copies of the frames that were open
//! there, as they were at that point, and finished ones with their results. Nothing happens to the
//! original, and the copied messages count as ingested: nothing in them happened in the fork.

use std::collections::{BTreeMap, BTreeSet};

use super::{DecideResult, Decider, Remark};
use crate::command::Fork;
use crate::event::{Event, Recorded};
use crate::frame::{Frame, Origin, Rank, Span, Status};
use crate::id::{FrameId, Seq};
use crate::session::Session;
use crate::transcript::Entry;
use crate::tree_query::TreeQuery;

/// The frames of the original session at the fork point.
struct ForkPoint {
    /// First event that the fork does not have.
    point: Seq,
    /// The original's own frame.
    own: Option<FrameId>,
    /// Its active frame.
    active: Option<FrameId>,
    /// Its open frames, parents before children.
    open: Vec<Frame>,
    /// Its finished frames, in order of their end.
    finished: Vec<Frame>,
}

impl<N: TreeQuery + ?Sized> Decider<'_, N> {
    pub(super) fn fork(&mut self, fork: &Fork) -> DecideResult<(), N> {
        let session = self.actor.session.clone();
        let original = self.tree.session(&fork.from)?;
        let (Some(original), Some((_, first))) = (original, fork.messages.first()) else {
            return Ok(());
        };
        let begun = self.tree.is_seen(Entry::copied_mark(&session, first))?;
        if begun || self.own.is_some() || self.active.is_some() || fork.from == session {
            self.remarks.push(Remark::AlreadyRecorded);
            return Ok(());
        }
        let then = self.fork_point(fork, &original)?;
        let copies = self.copy_open(fork, &then)?;
        self.copy_finished(fork, &then, &copies)?;
        if let Some(frame) = self.worked_on(&then, &copies)? {
            self.focus(&frame);
        }
        let marks = fork.messages.iter();
        self.events.push(Event::EntriesIngested {
            marks: marks
                .map(|(_, copy)| Entry::copied_mark(&session, copy))
                .collect(),
            session,
        });
        Ok(())
    }

    fn fork_point(&self, fork: &Fork, original: &Session) -> DecideResult<ForkPoint, N> {
        let later = self.tree.events_from_message(&fork.from, &fork.later)?;
        let point = later.first().map_or(Seq(i64::MAX), |first| first.seq);
        let mut done = self.tree.events_since(&fork.from, Seq::default())?;
        done.retain(|recorded| recorded.seq < point);
        let active = if later.is_empty() {
            original.active
        } else {
            let turned = done
                .iter()
                .rev()
                .find_map(|recorded| match &recorded.event {
                    Event::SessionFocused { session, to, .. } if *session == fork.from => Some(to),
                    _ => None,
                });
            turned.copied().flatten()
        };
        let mut then = ForkPoint {
            point,
            own: original.own,
            active,
            open: Vec::new(),
            finished: Vec::new(),
        };
        for id in worked_in(original, &done) {
            let frame = self.tree.before(&id, point);
            let Some(frame) = frame? else {
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

    /// Copies the open frames and returns the copy of each.
    fn copy_open(
        &mut self,
        fork: &Fork,
        then: &ForkPoint,
    ) -> DecideResult<BTreeMap<FrameId, FrameId>, N> {
        let mut copies: BTreeMap<FrameId, FrameId> = BTreeMap::new();
        for frame in &then.open {
            let parent = frame.parent.as_ref();
            let above = parent.and_then(|parent| copies.get(parent)).copied();
            // A plan below a frame that is not copied exists already.
            if parent.is_some() && above.is_none() && frame.status == Status::Planned {
                continue;
            }
            let (parent, rank) = match above {
                Some(above) => (Some(above), frame.rank),
                None => self.place_beside(parent)?,
            };
            let Some(id) = self.next_id(fork)? else {
                break;
            };
            copies.insert(frame.id, id);
            let is_own = then.own.as_ref() == Some(&frame.id);
            self.events.push(Event::FrameCopied {
                of: frame.id,
                frame: Box::new(Frame {
                    session: is_own.then(|| self.actor.session.clone()),
                    ..self.copy(fork, frame, id, parent, rank)
                }),
            });
        }
        Ok(copies)
    }

    /// Copies the finished frames below the copied open ones, newest first if ids run short. Frames
    /// below finished ones are part of their results.
    fn copy_finished(
        &mut self,
        fork: &Fork,
        then: &ForkPoint,
        copies: &BTreeMap<FrameId, FrameId>,
    ) -> DecideResult<(), N> {
        let is_known = |frame: &&Frame| match &frame.parent {
            Some(parent) => copies.contains_key(parent),
            None => true,
        };
        let known: Vec<&Frame> = then.finished.iter().filter(is_known).collect();
        let room = fork.ids.len().saturating_sub(self.drawn.len());
        for frame in known.iter().skip(known.len().saturating_sub(room)) {
            let Some(id) = self.next_id(fork)? else {
                break;
            };
            let above = frame.parent.as_ref();
            let (parent, rank) = match above.and_then(|parent| copies.get(parent)) {
                Some(parent) => (Some(*parent), frame.rank),
                None => self.place_beside(None)?,
            };
            self.events.push(Event::FrameCopied {
                of: frame.id,
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
        // A message that was summarised away has no counterpart; its old id will not be looked up.
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

    /// Returns the place of a copy whose parent is not copied: beside the original if the parent is
    /// in progress, else among the roots.
    fn place_beside(&self, parent: Option<&FrameId>) -> DecideResult<(Option<FrameId>, Rank), N> {
        let mut above = None;
        if let Some(parent) = parent {
            let head = self.tree.frame(parent)?;
            let open = head.filter(|head| head.status == Status::InProgress);
            above = open.map(|head| head.id);
        }
        let last = self.tree.last_rank(above.as_ref());
        let mut rank = Rank::after(last?);
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

    /// Returns the next id that is not taken.
    fn next_id(&mut self, fork: &Fork) -> DecideResult<Option<FrameId>, N> {
        for id in &fork.ids {
            let taken = self.tree.is_taken(id)?;
            if !taken && self.drawn.insert(*id) {
                return Ok(Some(*id));
            }
        }
        Ok(None)
    }

    /// Returns the copy of the original's active frame, or of the nearest frame above it.
    fn worked_on(
        &self,
        then: &ForkPoint,
        copies: &BTreeMap<FrameId, FrameId>,
    ) -> DecideResult<Option<FrameId>, N> {
        let mut next = then.active;
        let mut passed = BTreeSet::new();
        while let Some(id) = next.filter(|id| passed.insert(*id)) {
            let frame = self.tree.before(&id, then.point)?;
            let in_progress = frame
                .as_ref()
                .is_some_and(|frame| frame.status == Status::InProgress);
            if let Some(copy) = copies.get(&id).filter(|_| in_progress) {
                return Ok(Some(*copy));
            }
            next = frame.and_then(|frame| frame.parent);
        }
        Ok(None)
    }
}

impl ForkPoint {
    /// Sorts open frames parents first, and finished ones by their end.
    fn order(&mut self) {
        let parents: BTreeMap<FrameId, Option<FrameId>> = self
            .open
            .iter()
            .map(|frame| (frame.id, frame.parent))
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

/// Returns the frames that a session opened or started, and its own.
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
        .filter(|id| met.insert(*(*id)))
        .copied()
        .collect()
}
