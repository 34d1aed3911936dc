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
        let frame = match (&self.turned_from, frame) {
            // Another pop in one message is meant for the frame that the first one ended.
            (Some(Some(before)), None) if !self.frame(before)?.status.is_open() => {
                self.frame(before)?
            }
            (Some(_), None) => return Err(Refusal::PopBesidePush.into()),
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
            Outcome::Blocked => self.events.push(Event::FrameBlocked {
                frame: frame.id.clone(),
                reason: results.full.clone(),
                results: Some(results.clone()),
            }),
        }
        if frame.parent.is_none() && outcome != Outcome::Blocked {
            self.remarks.push(Remark::TreeFinished);
        }
        self.leave(&frame)
    }

    fn close(&mut self, frame: &FrameHead, closing: Closing, results: &Results) -> Ruling<(), N> {
        let (children, total) = self
            .tree
            .open_children(&frame.id, NAMED_CHILDREN)
            .map_err(Rejected::Unreadable)?;
        // A failed frame takes its plan with it; nobody would ever begin those frames. Work that
        // was begun is another matter, and completing over an open plan would hide work.
        let cascaded = match closing {
            Closing::Failed if total > 0 => self.plan_of_failed(frame)?,
            _ if total > 0 => {
                return Err(Refusal::ChildrenOpen {
                    frame: frame.clone(),
                    children,
                    total,
                }
                .into());
            }
            _ => Vec::new(),
        };
        self.events.push(Event::FrameClosed {
            frame: frame.id.clone(),
            outcome: closing,
            results: results.clone(),
            cascaded,
        });
        Ok(())
    }

    /// The planned descendants of a frame that fails, provided that nothing below it was begun.
    fn plan_of_failed(&self, frame: &FrameHead) -> Ruling<Vec<FrameId>, N> {
        let mut begun = self.begun_below(frame)?;
        if begun.is_empty() {
            return self.ids_below(frame, Status::Planned);
        }
        let total = begun.len();
        begun.truncate(NAMED_CHILDREN);
        Err(Refusal::ChildrenOpen {
            frame: frame.clone(),
            children: begun,
            total,
        }
        .into())
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
        let cascaded = self.ids_below(&frame, Status::Planned)?;
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

    fn begun_below(&self, frame: &FrameHead) -> Ruling<Vec<FrameHead>, N> {
        let mut begun = Vec::new();
        for status in [Status::InProgress, Status::Blocked] {
            let found = self.tree.descendants(&frame.id, Some(status));
            begun.extend(found.map_err(Rejected::Unreadable)?);
        }
        Ok(begun)
    }

    fn ids_below(&self, frame: &FrameHead, status: Status) -> Ruling<Vec<FrameId>, N> {
        let found = self
            .tree
            .descendants(&frame.id, Some(status))
            .map_err(Rejected::Unreadable)?;
        Ok(found.into_iter().map(|below| below.id).collect())
    }
}
