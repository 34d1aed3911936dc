//! Work that a session hands to a subagent and gets back.
//!
//! A subagent has a frame from its start on, since it is told what that frame is for. If it turns
//! out to have been too short to be worth one, the frame leaves the tree again, and its raw text
//! goes to the frame that it was started from.

use super::results::{LAST_WORDS, WORDLESS, as_is, plain};
use super::words::{prose, title};
use super::{Ruling, Scene, TITLE_LENGTH};
use crate::Rejected;
use crate::event::{Closing, Edit, Event, Goal};
use crate::frame::{FrameHead, Origin, Status};
use crate::id::{FrameId, SessionRef};
use crate::neighbourhood::Neighbourhood;
use crate::subagent::{self, End, Run, Start};
use crate::text::Title;

/// How much of what a subagent was told is kept as what defines its work, in bytes.
const TASK: usize = 4000;
/// How far down subagents of subagents are followed when one is stopped.
const DEEPEST: usize = 64;

impl<N: Neighbourhood + ?Sized> Scene<'_, '_, N> {
    pub(super) fn delegated(
        &mut self,
        id: &str,
        kind: Option<&str>,
        named: &str,
        prompt: &str,
    ) -> Ruling<(), N> {
        let me = self.session();
        let Some(child) = me.beside(id).filter(|_| self.framing.enabled) else {
            return Ok(());
        };
        let name = [named, prompt, kind.unwrap_or(id)]
            .into_iter()
            .find_map(|text| title(text, TITLE_LENGTH));
        let Some(goal) = name else {
            return Ok(());
        };
        let start = Event::SubagentStarted(Box::new(Start {
            session: child.clone(),
            parent: Some(me.clone()).filter(|me| *me != child),
            goal: goal.clone(),
            kind: kind.and_then(|kind| title(kind, TITLE_LENGTH)),
            task: subagent::task(&me, kind, prompt),
        }));
        // The session itself is a subagent of nobody knows whom.
        if child == me {
            self.tell(start);
            return Ok(());
        }
        self.own(None)?;
        let known = self.ground.require_session(&child)?;
        let run = self.run_of(&child)?;
        self.tell(start);
        let former = known.own.map(|own| self.ground.frame(&own)).transpose()?;
        if let Some(former) = former {
            if former.status.is_open() {
                // The host spoke of it before the call was seen that says what it is for.
                if former.origin == Origin::Subagent && run.is_none_or(|run| run.goal.is_none()) {
                    self.name_after(&former, goal, prompt);
                }
                return Ok(());
            }
            // The same subagent is given more to do.
            if self.reopen(&child, &former)? {
                let same = former.title.clone();
                self.name_after(&former, same, prompt);
                return Ok(());
            }
            self.tell(Event::SessionUnbound {
                session: child.clone(),
                frame: former.id,
            });
        }
        self.open_for(&child, known.active, goal, prompt)
    }

    fn open_for(
        &mut self,
        child: &SessionRef,
        worked_on: Option<FrameId>,
        title: Title,
        prompt: &str,
    ) -> Ruling<(), N> {
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
                session: child.clone(),
                from: worked_on,
                to: Some(frame),
            });
        }
        Ok(())
    }

    fn name_after(&mut self, frame: &FrameHead, title: Title, prompt: &str) {
        let edit = Edit {
            title: (frame.title != title).then_some(title),
            criteria: prose(prompt, TASK),
            ..Edit::default()
        };
        if edit != Edit::default() {
            self.tell(Event::FrameEdited {
                frame: frame.id.clone(),
                edit,
            });
        }
    }

    /// Goes on with the finished frame of a subagent, unless what it belonged to is over too.
    pub(super) fn reopen(&mut self, child: &SessionRef, frame: &FrameHead) -> Ruling<bool, N> {
        if frame.origin != Origin::Subagent {
            return Ok(false);
        }
        if let Some(above) = &frame.parent
            && self.ground.frame(above)?.status != Status::InProgress
        {
            return Ok(false);
        }
        self.tell(Event::FrameReopened {
            frame: frame.id.clone(),
        });
        if self.live {
            let known = self.ground.tree.session(child);
            let known = known.map_err(Rejected::Unreadable)?;
            self.tell(Event::SessionFocused {
                session: child.clone(),
                from: known.and_then(|known| known.active),
                to: Some(frame.id.clone()),
            });
        }
        Ok(true)
    }

    pub(super) fn returned(&mut self, id: &str, ok: bool, text: &str) -> Ruling<(), N> {
        let me = self.session();
        let Some(child) = me.beside(id).filter(|_| self.framing.enabled) else {
            return Ok(());
        };
        let tree = self.ground.tree;
        let known = tree.session(&child).map_err(Rejected::Unreadable)?;
        let own = known.and_then(|known| known.own);
        let own = own.map(|own| self.ground.frame(&own)).transpose()?;
        let run = self.run_of(&child)?;
        if own.is_none() && run.is_none() {
            return Ok(());
        }
        let end = if ok {
            End::Done
        } else if self.was_stopped(&child)? || self.was_stopped(&me)? {
            End::Aborted
        } else {
            End::Failed
        };
        let mut output = prose(text, LAST_WORDS);
        if let Some(frame) = own {
            let ours = frame.origin == Origin::Subagent || child == me;
            match run.as_ref().filter(|_| ours) {
                Some(run) if self.is_short(run)? && self.withdraw(&child, &frame)? => {}
                _ => {
                    output = None;
                    if ours {
                        self.close_for(&child, &frame, end, text)?;
                    }
                }
            }
        }
        if run.is_some() {
            self.over(&child, end, output, DEEPEST)?;
        }
        Ok(())
    }

    /// Says that a subagent ended and, if it was stopped, those that it had started.
    fn over(
        &mut self,
        session: &SessionRef,
        end: End,
        output: Option<crate::Prose>,
        deepest: usize,
    ) -> Ruling<(), N> {
        self.tell(Event::SubagentEnded {
            session: session.clone(),
            end,
            output,
        });
        if end != End::Aborted || deepest == 0 {
            return Ok(());
        }
        let below = self.ground.tree.runs_of(session);
        for run in below.map_err(Rejected::Unreadable)? {
            if run.state.is_in_flight() {
                self.over(&run.session, End::Aborted, None, deepest - 1)?;
            }
        }
        Ok(())
    }

    fn close_for(
        &mut self,
        child: &SessionRef,
        frame: &FrameHead,
        end: End,
        text: &str,
    ) -> Ruling<(), N> {
        match frame.status {
            Status::InProgress => {}
            Status::Blocked => self.tell(Event::FrameUnblocked {
                frame: frame.id.clone(),
            }),
            _ => return Ok(()),
        }
        let results = match prose(text, usize::MAX) {
            Some(text) => as_is(text),
            None => plain(WORDLESS),
        };
        let closing = match end {
            End::Done => Closing::Completed,
            End::Failed | End::Aborted => Closing::Failed,
        };
        // Nobody is left to go on with what is open below it.
        let mut below: Vec<FrameHead> = self.ground.below(frame, Status::Planned)?;
        below.extend(self.ground.begun_below(frame)?);
        let cascaded: Vec<FrameId> = below.into_iter().map(|head| head.id).collect();
        let before = self.ground.events.len();
        self.ground.end(frame, closing, &results, cascaded)?;
        self.works_on_nothing(child, before);
        Ok(())
    }

    /// Takes the frame of a short run out of the tree, if nothing but raw text is in it.
    fn withdraw(&mut self, child: &SessionRef, frame: &FrameHead) -> Ruling<bool, N> {
        if frame.status != Status::InProgress {
            return Ok(false);
        }
        let tree = self.ground.tree;
        let text = tree.only_text(&frame.id).map_err(Rejected::Unreadable)?;
        let Some(text) = text.filter(|text| text.is_empty() || frame.parent.is_some()) else {
            return Ok(false);
        };
        if let Some(above) = &frame.parent {
            for entry in text {
                self.tell(Event::Logged {
                    frame: above.clone(),
                    entry,
                });
            }
        }
        let before = self.ground.events.len();
        self.ground
            .leave_all(std::slice::from_ref(&frame.id), frame.parent.as_ref())?;
        self.works_on_nothing(child, before);
        self.tell(Event::SessionUnbound {
            session: child.clone(),
            frame: frame.id.clone(),
        });
        self.tell(Event::FrameDeleted {
            frame: frame.id.clone(),
            with: Vec::new(),
        });
        Ok(true)
    }

    /// Its own session works on nothing from now on; others return to what is above.
    fn works_on_nothing(&mut self, child: &SessionRef, since: usize) {
        for event in self.ground.events.iter_mut().skip(since) {
            if let Event::SessionFocused { session, to, .. } = event
                && session == child
            {
                *to = None;
            }
        }
    }

    fn is_short(&self, run: &Run) -> Ruling<bool, N> {
        let seen = self.ground.tree.conversation(&run.session);
        let seen = seen.map_err(Rejected::Unreadable)?;
        let messages = seen.prompts.saturating_add(seen.calls);
        let last = self.at.map_or(run.active, |at| at.max(run.active));
        let duration = last.0.saturating_sub(run.started.0).max(0);
        Ok(run.attempts <= 1 && !self.framing.keeps(duration, messages))
    }

    fn was_stopped(&self, session: &SessionRef) -> Ruling<bool, N> {
        let seen = self.ground.tree.conversation(session);
        Ok(seen.map_err(Rejected::Unreadable)?.interrupted)
    }

    /// The session began to wait for the user, or waits no longer. Only of subagents this matters:
    /// in front of any other session the user sits.
    pub(super) fn waiting(&mut self, on: Option<&str>) -> Ruling<(), N> {
        if self.run()?.is_some_and(|run| run.state.is_in_flight()) {
            let session = self.session();
            let on = on.map(|on| prose(on, LAST_WORDS).unwrap_or_else(|| plain("the user").full));
            self.tell(Event::SessionWaiting { session, on });
        }
        Ok(())
    }

    /// What is known of this session as a subagent.
    pub(super) fn run(&self) -> Ruling<Option<Run>, N> {
        self.run_of(&self.ground.actor.session)
    }

    fn run_of(&self, session: &SessionRef) -> Ruling<Option<Run>, N> {
        self.ground.tree.run(session).map_err(Rejected::Unreadable)
    }

    /// Whether another session is known to have started this one.
    pub(super) fn has_parent(&self) -> Ruling<bool, N> {
        Ok(self.run()?.is_some_and(|run| run.parent.is_some()))
    }

    /// Whether this is the session of a subagent, and subagents are not tracked.
    pub(super) fn is_untracked(&self) -> bool {
        self.parent.is_some() && !self.framing.enabled
    }

    /// The frame that stands in for the one that this session has not got: that of the session
    /// that started it.
    pub(super) fn frame_instead(&self) -> Ruling<Option<FrameHead>, N> {
        let over = match &self.parent {
            Some(_) => self.run()?.is_some_and(|run| !run.state.is_in_flight()),
            None => return Ok(None),
        };
        if !over && !self.is_untracked() {
            return Ok(None);
        }
        let above = self.frame_above()?;
        above.map(|above| self.ground.frame(&above)).transpose()
    }
}
