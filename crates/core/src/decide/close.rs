//! Closing and pausing frames: pop, block, unblock, invalidate.

use super::{DecideResult, Decider, Remark};
use crate::event::{Closing, Event, Results};
use crate::frame::{FrameHead, Outcome, Status};
use crate::id::FrameId;
use crate::refusal::Refusal;
use crate::text::Text;
use crate::tree_query::TreeQuery;

/// Number of open children that a refusal names; it counts the rest.
const NAMED_CHILDREN: usize = 5;

impl<N: TreeQuery + ?Sized> Decider<'_, N> {
    pub(super) fn pop(
        &mut self,
        frame: Option<&FrameId>,
        outcome: Outcome,
        results: &Results,
    ) -> DecideResult<(), N> {
        let frame = match (&self.turned, frame) {
            // A second pop in one message repeats the first: it means the frame that was active.
            (Some(turn), None) => match &turn.before {
                Some(before) if !self.frame(before)?.status.is_open() => self.frame(before)?,
                _ => return Err(Refusal::PopWithPush.into()),
            },
            (_, named) => self.named_or_active(named)?,
        };
        match (frame.status, outcome) {
            (Status::InProgress, _)
            | (Status::Blocked, Outcome::Failed)
            | (Status::Planned, Outcome::Blocked) => {}
            (Status::Blocked, Outcome::Completed) => self.end_block(&frame, false),
            (Status::Blocked, Outcome::Blocked) => {
                return Err(Refusal::AlreadyBlocked(frame).into());
            }
            (Status::Planned, _) => return Err(Refusal::NotBegun(frame).into()),
            (Status::Completed | Status::Failed | Status::Invalidated, _) => {
                return Err(Refusal::AlreadyFinished(frame).into());
            }
        }
        match outcome {
            Outcome::Completed => self.close(&frame, Closing::Completed, results)?,
            Outcome::Failed => self.close(&frame, Closing::Failed, results)?,
            Outcome::Blocked => {
                self.events.push(Event::FrameBlocked {
                    frame: frame.id,
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

    /// Closes a frame and the open frames below it that may be closed with it, or refuses. Every
    /// session that worked on one of them goes to the nearest frame in progress above.
    pub fn close(
        &mut self,
        frame: &FrameHead,
        closing: Closing,
        results: &Results,
    ) -> DecideResult<(), N> {
        let (_, open) = self.tree.open_children(&frame.id, 0)?;
        let cascaded = if open == 0 {
            Vec::new()
        } else {
            match self.cascade(frame, closing)? {
                Ok(cascaded) => cascaded,
                Err(blocking) => {
                    return Err(Refusal::ChildrenOpen {
                        frame: frame.clone(),
                        total: blocking.len(),
                        children: blocking.into_iter().take(NAMED_CHILDREN).collect(),
                    }
                    .into());
                }
            }
        };
        self.end(frame, closing, results, cascaded)
    }

    /// Closes a frame together with the frames in `cascaded`.
    pub fn end(
        &mut self,
        frame: &FrameHead,
        closing: Closing,
        results: &Results,
        cascaded: Vec<FrameId>,
    ) -> DecideResult<(), N> {
        let gone: Vec<FrameId> = std::iter::once(frame.id)
            .chain(cascaded.iter().copied())
            .collect();
        self.events.push(Event::FrameClosed {
            frame: frame.id,
            outcome: closing,
            results: results.clone(),
            cascaded,
        });
        self.leave_all(&gone, frame.parent.as_ref())
    }

    /// Returns the open frames below that are closed together with a frame, or else those that
    /// prevent its end.
    ///
    /// Frames that only mirror the host's lists never prevent it. A failed frame takes its plan with
    /// it, because those frames would never be started. Started work does prevent it, and completing
    /// a frame over an open plan would hide work.
    fn cascade(
        &self,
        frame: &FrameHead,
        closing: Closing,
    ) -> DecideResult<Result<Vec<FrameId>, Vec<FrameHead>>, N> {
        let planned = self.below(frame, Status::Planned)?;
        let begun = self.begun_below(frame)?;
        let asked_for = |head: &&FrameHead| !head.origin.is_mirror();
        let mut blocking: Vec<FrameHead> = begun.iter().filter(asked_for).cloned().collect();
        if closing == Closing::Completed {
            blocking.extend(planned.iter().filter(asked_for).cloned());
        }
        if !blocking.is_empty() {
            let is_child = |head: &FrameHead| head.parent.as_ref() == Some(&frame.id);
            if closing == Closing::Completed && blocking.iter().any(is_child) {
                blocking.retain(is_child);
                blocking.sort_by(|one, other| (one.rank, &one.id).cmp(&(other.rank, &other.id)));
            }
            return Ok(Err(blocking));
        }
        let all = planned.into_iter().chain(begun);
        Ok(Ok(all.map(|head| head.id).collect()))
    }

    pub(super) fn block(&mut self, frame: Option<&FrameId>, reason: &Text) -> DecideResult<(), N> {
        let frame = self.named_or_active(frame)?;
        match frame.status {
            Status::InProgress | Status::Planned => {}
            Status::Blocked => return Err(Refusal::AlreadyBlocked(frame).into()),
            _ => return Err(Refusal::AlreadyFinished(frame).into()),
        }
        self.events.push(Event::FrameBlocked {
            frame: frame.id,
            reason: reason.clone(),
            results: None,
        });
        self.leave(&frame)
    }

    pub(super) fn unblock(&mut self, id: &FrameId) -> DecideResult<(), N> {
        let frame = self.frame(id)?;
        if frame.status != Status::Blocked {
            return Err(Refusal::NotBlocked(frame).into());
        }
        self.end_block(&frame, !frame.is_started);
        Ok(())
    }

    /// Unblocks a blocked frame; `planned` if work on it was not started.
    pub(super) fn end_block(&mut self, frame: &FrameHead, planned: bool) {
        self.events.push(Event::FrameUnblocked {
            frame: frame.id,
            planned,
        });
        self.remarks.push(Remark::WasBlocked(frame.clone()));
    }

    /// Gives up a frame and what is planned below it.
    pub fn invalidate(&mut self, frame: Option<&FrameId>, reason: &Text) -> DecideResult<(), N> {
        let frame = self.named_or_active(frame)?;
        match frame.status {
            Status::Planned | Status::InProgress | Status::Blocked => {}
            Status::Completed | Status::Failed => {
                return Err(Refusal::CannotInvalidateFinished(frame).into());
            }
            Status::Invalidated => return Err(Refusal::AlreadyFinished(frame).into()),
        }
        let planned = self.below(&frame, Status::Planned)?;
        let cascaded = planned.into_iter().map(|below| below.id).collect();
        let still_open = self.begun_below(&frame)?;
        self.remarks
            .extend(still_open.into_iter().map(Remark::StillOpen));
        self.events.push(Event::FrameInvalidated {
            frame: frame.id,
            reason: reason.clone(),
            cascaded,
        });
        self.leave(&frame)
    }

    /// Returns the descendants that were started and have not ended.
    pub fn begun_below(&self, frame: &FrameHead) -> DecideResult<Vec<FrameHead>, N> {
        let mut begun = self.below(frame, Status::InProgress)?;
        begun.extend(self.below(frame, Status::Blocked)?);
        Ok(begun)
    }

    /// Returns the descendants with a status.
    pub fn below(&self, frame: &FrameHead, status: Status) -> DecideResult<Vec<FrameHead>, N> {
        Ok(self.tree.descendants(&frame.id, Some(status))?)
    }
}
