//! Giving up the open frames of a session that its host deletes.
//!
//! The frames stay, with everything in them. Frames that another session works on are not touched.

use super::{DecideResult, Decider};
use crate::event::Event;
use crate::frame::FrameHead;
use crate::id::FrameId;
use crate::session::life::SESSION_DELETED;
use crate::text::Text;
use crate::tree_query::TreeQuery;

/// Reason for closing the session.
const DELETED: &str = "the host deleted it";

impl<N: TreeQuery + ?Sized> Decider<'_, N> {
    pub(super) fn archive(&mut self) -> DecideResult<(), N> {
        // A session that was never seen has nothing to close.
        if self.is_new_session() {
            return Ok(());
        }
        self.give_up_frames()?;
        self.events.push(Event::SessionClosed {
            session: self.actor.session.clone(),
            why: Text::new(DELETED).ok(),
        });
        Ok(())
    }

    fn give_up_frames(&mut self) -> DecideResult<(), N> {
        let mut left = Vec::new();
        let tops = [self.own, self.active];
        for top in tops.into_iter().flatten() {
            let head = self.tree.frame(&top)?;
            let below = self.tree.descendants(&top, None)?;
            for frame in head.into_iter().chain(below) {
                let known = left.contains(&frame.id);
                if frame.status.is_open() && !known && !self.is_of_others(&frame)? {
                    left.push(frame.id);
                }
            }
        }
        let mut left = left.into_iter();
        let (Some(frame), Ok(reason)) = (left.next(), Text::new(SESSION_DELETED)) else {
            return Ok(());
        };
        let cascaded: Vec<FrameId> = left.collect();
        if let Some(active) = &self.active {
            self.events.push(Event::SessionFocused {
                session: self.actor.session.clone(),
                from: Some(*active),
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

    /// Returns true if another session is bound to the frame or works on it.
    fn is_of_others(&self, frame: &FrameHead) -> DecideResult<bool, N> {
        let me = &self.actor.session;
        let focused = self.tree.focused_on(&frame.id)?;
        let bound = frame.session.as_ref().is_some_and(|session| session != me);
        Ok(bound || focused.iter().any(|session| session != me))
    }
}
