//! Work that a session delegates to a subagent, and its return.
//!
//! A subagent has a frame from its start on, because its context shows the frame's goal. If its run
//! turns out too short to be worth one, the frame leaves the tree again, and its raw text moves to
//! the frame that it was started from.

use flamestack_core::decide::{Beginning, DecideResult};
use flamestack_core::event::{Closing, Edit, Goal};
use flamestack_core::frame::Origin;
use flamestack_core::session::Activity;
use flamestack_core::subagent::{self, SubagentEnd, SubagentRun, SubagentStart};
use flamestack_core::{Event, FrameHead, FrameId, SessionRef, Status, Text, Title, TreeQuery};

use super::recorder::{EntryRecorder, TITLE_LENGTH};
use super::results::{LAST_WORDS, WORDLESS, as_is, is_error, plain};
use super::words::{prose, title};

/// Maximum length of a subagent's instructions that are kept as its criteria, in bytes.
const TASK: usize = 4000;
/// Maximum depth of subagents below one that is stopped.
const MAX_DEPTH: usize = 64;

impl<N: TreeQuery + ?Sized> EntryRecorder<'_, '_, N> {
    /// Records the start of a subagent. Its frame depends on what the subagent has already:
    ///
    /// | its frame                        | effect                                           |
    /// |----------------------------------|--------------------------------------------------|
    /// | none                             | a new frame                                      |
    /// | open, opened before its goal     | takes the goal: the host named the subagent      |
    /// |                                  | before the call that says what it is for         |
    /// | open, otherwise                  | stays: more work for a running subagent          |
    /// | open, at the top of the tree     | also moves below this session's work: the        |
    /// |                                  | subagent was recorded before its parent          |
    /// | finished below work in progress  | reopened: more work for the same subagent        |
    /// | finished below finished work     | a new frame instead of it                        |
    pub(super) fn delegated(
        &mut self,
        id: &str,
        kind: Option<&str>,
        named: &str,
        prompt: &str,
    ) -> DecideResult<(), N> {
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
        let start = Event::SubagentStarted(Box::new(SubagentStart {
            session: child.clone(),
            parent: Some(me.clone()).filter(|me| *me != child),
            goal: goal.clone(),
            kind: kind.and_then(|kind| title(kind, TITLE_LENGTH)),
            task: subagent::task(&me, kind, prompt),
        }));
        // The host says that this session is a subagent, but not of which session.
        if child == me {
            self.emit(start);
            return Ok(());
        }
        self.own(None)?;
        let known = self.decider.require_session(&child)?;
        self.emit(start);
        match known.own.map(|own| self.decider.frame(&own)).transpose()? {
            None => self.open_for(&child, known.active, goal, prompt),
            Some(frame) if frame.status.is_open() => {
                let has_no_goal = known.run.is_none_or(|run| run.goal.is_none());
                if frame.origin == Origin::Subagent && has_no_goal {
                    self.set_goal(&frame, goal, prompt);
                }
                self.adopt(&frame)
            }
            Some(frame) if self.reopen(&child, &frame)? => {
                let same_title = frame.title.clone();
                self.set_goal(&frame, same_title, prompt);
                Ok(())
            }
            Some(frame) => {
                self.emit(Event::SessionUnbound {
                    session: child.clone(),
                    frame: frame.id,
                });
                self.open_for(&child, known.active, goal, prompt)
            }
        }
    }

    fn open_for(
        &mut self,
        child: &SessionRef,
        worked_on: Option<FrameId>,
        title: Title,
        prompt: &str,
    ) -> DecideResult<(), N> {
        let above = self.delegating_frame()?;
        let goal = Goal {
            title,
            criteria: prose(prompt, TASK),
            criteria_compacted: None,
        };
        let frame = self.derive(above.as_ref(), Beginning::Started, Origin::Subagent, &goal)?;
        self.emit(Event::SessionBound {
            session: child.clone(),
            frame,
        });
        self.focus(child, worked_on, frame);
        Ok(())
    }

    /// Returns the frame below which the frames of this session's subagents are opened.
    fn delegating_frame(&self) -> DecideResult<Option<FrameId>, N> {
        let focus = self.decider.active.or(self.decider.own);
        let opened_now = self.decider.events.iter().any(
            |event| matches!(event, Event::FrameOpened { frame, .. } if Some(frame) == focus.as_ref()),
        );
        // The tree does not know a frame that was opened by this very entry.
        if opened_now {
            return Ok(focus);
        }
        self.decider.in_progress_from(focus.as_ref())
    }

    /// Moves a subagent's frame from the top of the tree to its place below this session's work.
    ///
    /// Sessions are recorded side by side, and a busy machine may record the first prompt of a
    /// subagent before the first one of its parent, which then has no frame for it to be under.
    fn adopt(&mut self, frame: &FrameHead) -> DecideResult<(), N> {
        if frame.origin != Origin::Subagent || frame.parent.is_some() {
            return Ok(());
        }
        let Some(above) = self.delegating_frame()?.filter(|above| *above != frame.id) else {
            return Ok(());
        };
        let rank = self.decider.next_rank(Some(&above))?;
        self.emit(Event::FrameMoved {
            frame: frame.id,
            parent: Some(above),
            rank,
        });
        Ok(())
    }

    fn set_goal(&mut self, frame: &FrameHead, title: Title, prompt: &str) {
        let edit = Edit {
            title: (frame.title != title).then_some(title),
            criteria: prose(prompt, TASK),
            ..Edit::default()
        };
        if edit != Edit::default() {
            self.emit(Event::FrameEdited {
                frame: frame.id,
                edit,
            });
        }
    }

    /// Reopens the finished frame of a subagent, unless its parent is no longer in progress.
    pub(super) fn reopen(
        &mut self,
        child: &SessionRef,
        frame: &FrameHead,
    ) -> DecideResult<bool, N> {
        if frame.origin != Origin::Subagent {
            return Ok(false);
        }
        if let Some(above) = &frame.parent
            && self.decider.frame(above)?.status != Status::InProgress
        {
            return Ok(false);
        }
        self.emit(Event::FrameReopened { frame: frame.id });
        let known = self.decider.tree.session(child)?;
        self.focus(child, known.and_then(|known| known.active), frame.id);
        Ok(true)
    }

    /// Records the end of a subagent. Its output is kept with its run only where no frame holds it:
    ///
    /// | its frame                          | effect on the frame             | output        |
    /// |------------------------------------|---------------------------------|---------------|
    /// | none                               | –                               | with the run  |
    /// | pushed by hand, bound to it        | stays open: it is not ours      | nowhere       |
    /// | derived, run too short, only text  | leaves the tree                 | with the run  |
    /// | derived, otherwise                 | closed with the output          | its results   |
    pub(super) fn returned(&mut self, id: &str, ok: bool, text: &str) -> DecideResult<(), N> {
        let me = self.session();
        let Some(child) = me.beside(id).filter(|_| self.framing.enabled) else {
            return Ok(());
        };
        let Some(known) = self.decider.tree.session(&child)? else {
            return Ok(());
        };
        let own = known.own.map(|own| self.decider.frame(&own)).transpose()?;
        let interrupted = known.activity.interrupted || self.decider.session.activity.interrupted;
        // Some hosts report a subagent as completed, without a word, whose last request was refused.
        let said = known.activity.said.as_ref().map(Text::as_str);
        let error = said.filter(|said| text.trim().is_empty() && is_error(said));
        let text = error.unwrap_or(text);
        let end = match ok && error.is_none() {
            true => SubagentEnd::Done,
            false if interrupted => SubagentEnd::Aborted,
            false => SubagentEnd::Failed,
        };
        let output = match (&own, &known.run) {
            (None, None) => return Ok(()),
            (None, Some(_)) => prose(text, LAST_WORDS),
            (Some(frame), _) if frame.origin != Origin::Subagent && child != me => None,
            // A failure is worth a frame, however short the run was.
            (Some(frame), Some(run))
                if end != SubagentEnd::Failed
                    && self.is_short(run, &known.activity)
                    && self.withdraw(&child, frame)? =>
            {
                prose(text, LAST_WORDS)
            }
            (Some(frame), _) => {
                self.close_for(&child, frame, end, text)?;
                None
            }
        };
        if known.run.is_some() {
            self.end_run(&child, end, output, MAX_DEPTH)?;
        }
        Ok(())
    }

    /// Ends the run of a subagent and the runs that it had started: their frames end with its own.
    fn end_run(
        &mut self,
        session: &SessionRef,
        end: SubagentEnd,
        output: Option<Text>,
        depth: usize,
    ) -> DecideResult<(), N> {
        self.emit(Event::SubagentEnded {
            session: session.clone(),
            end,
            output,
            ended_by: self.ended_by,
        });
        if depth == 0 {
            return Ok(());
        }
        for run in self.decider.tree.runs_of(session)? {
            if run.state.is_in_flight() {
                self.end_run(&run.session, SubagentEnd::Aborted, None, depth - 1)?;
            }
        }
        Ok(())
    }

    fn close_for(
        &mut self,
        child: &SessionRef,
        frame: &FrameHead,
        end: SubagentEnd,
        text: &str,
    ) -> DecideResult<(), N> {
        match frame.status {
            Status::InProgress => {}
            Status::Blocked => self.emit(Event::FrameUnblocked {
                frame: frame.id,
                planned: false,
            }),
            _ => return Ok(()),
        }
        let results = match prose(text, usize::MAX) {
            Some(text) => as_is(text),
            None => plain(WORDLESS),
        };
        let closing = match end {
            SubagentEnd::Done => Closing::Completed,
            SubagentEnd::Failed | SubagentEnd::Aborted => Closing::Failed,
        };
        // The subagent is gone, and with it everything that is open below its frame.
        let mut below: Vec<FrameHead> = self.decider.below(frame, Status::Planned)?;
        below.extend(self.decider.begun_below(frame)?);
        let cascaded: Vec<FrameId> = below.into_iter().map(|head| head.id).collect();
        self.decider.ending = Some(child.clone());
        self.decider.end(frame, closing, &results, cascaded)
    }

    /// Takes the frame of a short run out of the tree, if it has nothing but raw text.
    fn withdraw(&mut self, child: &SessionRef, frame: &FrameHead) -> DecideResult<bool, N> {
        if frame.status != Status::InProgress {
            return Ok(false);
        }
        let text = self.decider.tree.only_text(&frame.id)?;
        let Some(text) = text.filter(|text| text.is_empty() || frame.parent.is_some()) else {
            return Ok(false);
        };
        if let Some(above) = &frame.parent {
            for entry in text {
                self.emit(Event::Logged {
                    frame: *above,
                    entry,
                });
            }
        }
        self.decider.ending = Some(child.clone());
        self.decider
            .leave_all(std::slice::from_ref(&frame.id), frame.parent.as_ref())?;
        self.emit(Event::SessionUnbound {
            session: child.clone(),
            frame: frame.id,
        });
        self.emit(Event::FrameDeleted {
            frame: frame.id,
            with: Vec::new(),
        });
        Ok(true)
    }

    fn is_short(&self, run: &SubagentRun, seen: &Activity) -> bool {
        let messages = seen.prompts.saturating_add(seen.calls);
        let last = self.at.map_or(run.active, |at| at.max(run.active));
        let duration = last.0.saturating_sub(run.started.0).max(0);
        run.attempts <= 1 && !self.framing.keeps(duration, messages)
    }

    /// Records that the session began to wait for the user, or stopped waiting.
    pub(super) fn waiting(&mut self, on: Option<&str>) {
        // A session without any other entry has no turn that could wait.
        if self.decider.is_new_session() || self.run().is_some_and(|run| !run.state.is_in_flight())
        {
            return;
        }
        let session = self.session();
        let on = on.map(|on| prose(on, LAST_WORDS).unwrap_or_else(|| plain("the user").full));
        self.emit(Event::SessionWaiting { session, on });
    }

    /// Returns this session's run as a subagent.
    pub(super) fn run(&self) -> Option<&SubagentRun> {
        self.decider.session.run.as_ref()
    }

    /// Returns true for a subagent's session if subagents are not tracked.
    pub(super) fn is_untracked(&self) -> bool {
        self.parent.is_some() && !self.framing.enabled
    }

    /// Returns the frame that a subagent's entries go to if the subagent cannot have its own: the
    /// frame of the session that started it.
    pub(super) fn parent_frame_instead(&self) -> DecideResult<Option<FrameHead>, N> {
        let over = match &self.parent {
            Some(_) => self.run().is_some_and(|run| !run.state.is_in_flight()),
            None => return Ok(None),
        };
        if !over && !self.is_untracked() {
            return Ok(None);
        }
        let above = self.frame_above()?;
        above.map(|above| self.decider.frame(&above)).transpose()
    }
}
