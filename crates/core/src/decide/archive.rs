//! A conversation that its host deletes.
//!
//! Its frames stay, with everything in them, and are nothing to do any more: those that are open are
//! given up, except where somebody else works on them.

use super::{Ground, Rejected, Ruling};
use crate::event::Event;
use crate::frame::FrameHead;
use crate::id::FrameId;
use crate::neighbourhood::Neighbourhood;
use crate::text::Prose;

/// Why its frames are given up.
const REASON: &str = "its session was deleted";

impl<N: Neighbourhood + ?Sized> Ground<'_, N> {
    pub(super) fn archive(&mut self) -> Ruling<(), N> {
        let mut left = Vec::new();
        let tops = [self.own.clone(), self.active.clone()];
        for top in tops.into_iter().flatten() {
            let head = self.tree.frame(&top).map_err(Rejected::Unreadable)?;
            let below = self.tree.descendants(&top, None);
            let below = below.map_err(Rejected::Unreadable)?;
            for frame in head.into_iter().chain(below) {
                let known = left.contains(&frame.id);
                if frame.status.is_open() && !known && !self.is_of_others(&frame)? {
                    left.push(frame.id);
                }
            }
        }
        let mut left = left.into_iter();
        let (Some(frame), Ok(reason)) = (left.next(), Prose::new(REASON)) else {
            return Ok(());
        };
        let cascaded: Vec<FrameId> = left.collect();
        if let Some(active) = &self.active {
            self.events.push(Event::SessionFocused {
                session: self.actor.session.clone(),
                from: Some(active.clone()),
                to: None,
            });
        }
        self.events.push(Event::FrameInvalidated {
            frame,
            reason,
            cascaded,
        });
        Ok(())
    }

    /// Whether another session is this frame, or works on it.
    fn is_of_others(&self, frame: &FrameHead) -> Ruling<bool, N> {
        let me = &self.actor.session;
        let focused = self.tree.focused_on(&frame.id);
        let focused = focused.map_err(Rejected::Unreadable)?;
        let bound = frame.session.as_ref().is_some_and(|session| session != me);
        Ok(bound || focused.iter().any(|session| session != me))
    }
}
