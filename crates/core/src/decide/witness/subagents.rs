//! Work that a session hands to a subagent and gets back.

use super::results::{WORDLESS, as_is, plain};
use super::words::{prose, title};
use super::{Ruling, Scene, TITLE_LENGTH};
use crate::Rejected;
use crate::event::{Closing, Event, Goal};
use crate::frame::{FrameHead, Origin, Status};
use crate::id::FrameId;
use crate::neighbourhood::Neighbourhood;

/// How much of what a subagent was told is kept as what defines its work, in bytes.
const TASK: usize = 4000;

impl<N: Neighbourhood + ?Sized> Scene<'_, '_, N> {
    pub(super) fn delegated(
        &mut self,
        id: &str,
        kind: Option<&str>,
        named: &str,
        prompt: &str,
    ) -> Ruling<(), N> {
        let Some(child) = self.ground.actor.session.beside(id) else {
            return Ok(());
        };
        let name = [named, prompt, kind.unwrap_or(id)]
            .into_iter()
            .find_map(|text| title(text, TITLE_LENGTH));
        let Some(title) = name.filter(|_| child != self.ground.actor.session) else {
            return Ok(());
        };
        self.own(None)?;
        let known = self.ground.require_session(&child)?;
        let former = known.own.map(|own| self.ground.frame(&own)).transpose()?;
        match former {
            Some(former) if former.status.is_open() => return Ok(()),
            // The same subagent is given more to do.
            Some(former) => self.tell(Event::SessionUnbound {
                session: child.clone(),
                frame: former.id,
            }),
            None => {}
        }
        let standing = self.ground.active.clone().or(self.ground.own.clone());
        let opened_now = self.ground.events.iter().any(
            |event| matches!(event, Event::FrameOpened { frame, .. } if Some(frame) == standing.as_ref()),
        );
        let above = if opened_now {
            standing
        } else {
            self.ground.in_progress_from(standing.as_ref())?
        };
        let goal = Goal {
            title,
            criteria: prose(prompt, TASK),
            criteria_compacted: None,
        };
        let frame = self.derive(above.as_ref(), false, Origin::Subagent, &goal)?;
        self.tell(Event::SessionBound {
            session: child.clone(),
            frame: frame.clone(),
        });
        if self.live {
            self.tell(Event::SessionFocused {
                session: child,
                from: known.active,
                to: Some(frame),
            });
        }
        Ok(())
    }

    pub(super) fn returned(&mut self, id: &str, ok: bool, text: &str) -> Ruling<(), N> {
        let Some(child) = self.ground.actor.session.beside(id) else {
            return Ok(());
        };
        let tree = self.ground.tree;
        let known = tree.session(&child).map_err(Rejected::Unreadable)?;
        let Some(own) = known.and_then(|known| known.own) else {
            return Ok(());
        };
        let frame = self.ground.frame(&own)?;
        if frame.origin != Origin::Subagent {
            return Ok(());
        }
        match frame.status {
            Status::InProgress => {}
            Status::Blocked => self.tell(Event::FrameUnblocked { frame: own.clone() }),
            _ => return Ok(()),
        }
        let results = match prose(text, usize::MAX) {
            Some(text) => as_is(text),
            None => plain(WORDLESS),
        };
        let closing = if ok {
            Closing::Completed
        } else {
            Closing::Failed
        };
        // Nobody is left to go on with what is open below it.
        let mut below: Vec<FrameHead> = self.ground.below(&frame, Status::Planned)?;
        below.extend(self.ground.begun_below(&frame)?);
        let cascaded: Vec<FrameId> = below.into_iter().map(|head| head.id).collect();
        let before = self.ground.events.len();
        self.ground.end(&frame, closing, &results, cascaded)?;
        // Its own session works on nothing from now on; others return to what is above.
        for event in self.ground.events.iter_mut().skip(before) {
            if let Event::SessionFocused { session, to, .. } = event
                && *session == child
            {
                *to = None;
            }
        }
        Ok(())
    }
}
