//! How frames end or pause: pop, block, unblock, invalidate.

use super::{Ground, Remark, Ruling};
use crate::Rejected;
use crate::event::{Closing, Event, Results};
use crate::frame::{FrameHead, Outcome, Status};
use crate::id::FrameId;
use crate::neighbourhood::Neighbourhood;
use crate::refusal::Refusal;
use crate::text::Prose;

/// How many open children a refusal names before it counts the rest.
const NAMED_CHILDREN: usize = 5;

impl<N: Neighbourhood + ?Sized> Ground<'_, N> {
    pub(super) fn pop(
        &mut self,
        frame: Option<&FrameId>,
        outcome: Outcome,
        results: &Results,
    ) -> Ruling<(), N> {
        let frame = match (&self.turned, frame) {
            // Another pop in one message is meant for the frame that the first one ended.
            (Some(turn), None) => match &turn.before {
                Some(before) if !self.frame(before)?.status.is_open() => self.frame(before)?,
                _ => return Err(Refusal::PopBesidePush.into()),
            },
            (_, named) => self.named_or_active(named)?,
        };
        match (frame.status, outcome) {
            (Status::InProgress, _) | (Status::Blocked, Outcome::Failed) => {}
            (Status::Blocked, Outcome::Completed) => return Err(Refusal::Blocked { frame }.into()),
            (Status::Blocked, Outcome::Blocked) => {
                return Err(Refusal::AlreadyBlocked { frame }.into());
            }
            (Status::Planned, _) => return Err(Refusal::NotBegun { frame }.into()),
            (Status::Completed | Status::Failed | Status::Invalidated, _) => {
                return Err(Refusal::AlreadyFinished { frame }.into());
            }
        }
        match outcome {
            Outcome::Completed => self.close(&frame, Closing::Completed, results)?,
            Outcome::Failed => self.close(&frame, Closing::Failed, results)?,
            Outcome::Blocked => {
                self.events.push(Event::FrameBlocked {
                    frame: frame.id.clone(),
                    reason: results.full.clone(),
                    results: Some(results.clone()),
                });
                self.leave(&frame)?;
            }
        }
        if frame.parent.is_none() && outcome != Outcome::Blocked {
            self.remarks.push(Remark::TreeFinished);
        }
        Ok(())
    }

    /// Ends a frame, and sends every session that worked on it or on what goes with it back to the
    /// nearest frame in progress above.
    pub(super) fn close(
        &mut self,
        frame: &FrameHead,
        closing: Closing,
        results: &Results,
    ) -> Ruling<(), N> {
        let (_, open) = self
            .tree
            .open_children(&frame.id, 0)
            .map_err(Rejected::Unreadable)?;
        let cascaded = if open == 0 {
            Vec::new()
        } else {
            match self.going_along(frame, closing)? {
                Ok(cascaded) => cascaded,
                Err(in_the_way) => {
                    return Err(Refusal::ChildrenOpen {
                        frame: frame.clone(),
                        total: in_the_way.len(),
                        children: in_the_way.into_iter().take(NAMED_CHILDREN).collect(),
                    }
                    .into());
                }
            }
        };
        self.end(frame, closing, results, cascaded)
    }

    /// Ends a frame with what goes along.
    pub(super) fn end(
        &mut self,
        frame: &FrameHead,
        closing: Closing,
        results: &Results,
        cascaded: Vec<FrameId>,
    ) -> Ruling<(), N> {
        let gone: Vec<FrameId> = std::iter::once(frame.id.clone())
            .chain(cascaded.iter().cloned())
            .collect();
        self.events.push(Event::FrameClosed {
            frame: frame.id.clone(),
            outcome: closing,
            results: results.clone(),
            cascaded,
        });
        self.leave_all(&gone, frame.parent.as_ref())
    }

    /// The open frames below that go along with a frame that ends, or else what is in the way.
    ///
    /// What only mirrors the host's lists is in nobody's way. A failed frame takes its plan along
    /// besides: nobody would ever begin those frames. Work that was begun is another matter, and
    /// completing over an open plan would hide work.
    fn going_along(
        &self,
        frame: &FrameHead,
        closing: Closing,
    ) -> Ruling<Result<Vec<FrameId>, Vec<FrameHead>>, N> {
        let planned = self.below(frame, Status::Planned)?;
        let begun = self.begun_below(frame)?;
        let asked_for = |head: &&FrameHead| !head.origin.is_mirror();
        let mut in_the_way: Vec<FrameHead> = begun.iter().filter(asked_for).cloned().collect();
        if closing == Closing::Completed {
            in_the_way.extend(planned.iter().filter(asked_for).cloned());
        }
        if !in_the_way.is_empty() {
            let is_child = |head: &FrameHead| head.parent.as_ref() == Some(&frame.id);
            if closing == Closing::Completed && in_the_way.iter().any(is_child) {
                in_the_way.retain(is_child);
                in_the_way.sort_by(|one, other| (one.rank, &one.id).cmp(&(other.rank, &other.id)));
            }
            return Ok(Err(in_the_way));
        }
        let all = planned.into_iter().chain(begun);
        Ok(Ok(all.map(|head| head.id).collect()))
    }

    pub(super) fn block(&mut self, frame: Option<&FrameId>, reason: &Prose) -> Ruling<(), N> {
        let frame = self.named_or_active(frame)?;
        match frame.status {
            Status::InProgress => {}
            Status::Planned => return Err(Refusal::NotBegun { frame }.into()),
            Status::Blocked => return Err(Refusal::AlreadyBlocked { frame }.into()),
            _ => return Err(Refusal::AlreadyFinished { frame }.into()),
        }
        self.events.push(Event::FrameBlocked {
            frame: frame.id.clone(),
            reason: reason.clone(),
            results: None,
        });
        self.leave(&frame)
    }

    pub(super) fn unblock(&mut self, id: &FrameId) -> Ruling<(), N> {
        let frame = self.frame(id)?;
        if frame.status != Status::Blocked {
            return Err(Refusal::NotBlocked { frame }.into());
        }
        self.events.push(Event::FrameUnblocked { frame: frame.id });
        Ok(())
    }

    pub(super) fn invalidate(&mut self, frame: Option<&FrameId>, reason: &Prose) -> Ruling<(), N> {
        let frame = self.named_or_active(frame)?;
        match frame.status {
            Status::Planned | Status::InProgress | Status::Blocked => {}
            Status::Completed | Status::Failed => {
                return Err(Refusal::FinishedStands { frame }.into());
            }
            Status::Invalidated => return Err(Refusal::AlreadyFinished { frame }.into()),
        }
        let planned = self.below(&frame, Status::Planned)?;
        let cascaded = planned.into_iter().map(|below| below.id).collect();
        let still_open = self.begun_below(&frame)?;
        self.remarks
            .extend(still_open.into_iter().map(Remark::StillOpen));
        self.events.push(Event::FrameInvalidated {
            frame: frame.id.clone(),
            reason: reason.clone(),
            cascaded,
        });
        self.leave(&frame)
    }

    /// The frames below that were begun and have not ended.
    pub(super) fn begun_below(&self, frame: &FrameHead) -> Ruling<Vec<FrameHead>, N> {
        let mut begun = self.below(frame, Status::InProgress)?;
        begun.extend(self.below(frame, Status::Blocked)?);
        Ok(begun)
    }

    /// The frames below that have a status.
    pub(super) fn below(&self, frame: &FrameHead, status: Status) -> Ruling<Vec<FrameHead>, N> {
        let found = self.tree.descendants(&frame.id, Some(status));
        found.map_err(Rejected::Unreadable)
    }
}
