//! The moves of a run: each an intent, a call and an outcome.

use flamestack_core::{Actor, Command, Frame, FrameId, Status};

use super::RunDriver;
use crate::error::RunError;
use crate::host::{HostError, Outgoing};
use crate::next::{NextMove, Verdict};
use crate::options::ContextPlacement;
use crate::prompt::{self, PromptInput, PromptKind};
use crate::record::{ActionOutcome, RunAction, RunRecord};
use crate::report::RunEvent;
use crate::ruling::{ConditionalCommand, rule, text};
use crate::stack::{RunTree, StackError};
use crate::state::{Phase, TurnRun};

impl RunDriver<'_> {
    /// Makes a move.
    pub(super) fn make(&mut self, next: NextMove, tree: &RunTree) -> Result<(), RunError> {
        match next {
            NextMove::Apply(frame) => self.apply(frame, tree),
            NextMove::Stop(frame) => {
                let step = self.intend(frame, RunAction::Stop)?;
                self.host.stop(&self.location(tree, &frame)?)?;
                self.conclude(step, ActionOutcome::Made)
            }
            NextMove::Abandon(frame) => {
                let reason = text("a frame above it was given up");
                let command = Command::Invalidate {
                    frame: Some(frame),
                    reason,
                };
                let actor = self.actor.clone();
                self.change(&actor, &command)
            }
            NextMove::Worktree(frame) => self.worktree(frame, tree),
            NextMove::Merge(frame) => {
                let step = self.intend(frame, RunAction::Merge)?;
                self.merge(step, &frame, tree)
            }
            NextMove::Conflict(frame) => self.open_conflict(&frame, tree),
            NextMove::OpenSession(frame) => {
                let step = self.intend(frame, RunAction::Session)?;
                self.create(step, &frame, tree)
            }
            NextMove::Adopt(frame) => self.adopt(&frame, tree),
            NextMove::SendContext(frame) => self.send_context(frame, tree),
            NextMove::Prompt {
                frame,
                why,
                children,
            } => self.prompt(frame, why, children, tree),
            NextMove::Say { frame, spoken } => self.say(frame, &spoken, tree),
            NextMove::Warn(frame, limit) => {
                let at = self.now();
                self.record(&RunRecord::Warned {
                    at,
                    frame,
                    limit: limit.name.clone(),
                })?;
                let what = limit.sentence();
                self.front.event(&RunEvent::Warning { frame, what });
                Ok(())
            }
            NextMove::Park(frame, reason) => self.park(frame, &reason, None),
            NextMove::Wait | NextMove::Finish(_) | NextMove::Settle(_) => Ok(()),
        }
    }

    /// Changes frames. A refusal means that another process was faster; the next look shows how.
    pub(super) fn change(&mut self, actor: &Actor, command: &Command) -> Result<(), RunError> {
        match self.stack.run(actor, command) {
            Err(StackError::Refused(refusal)) => {
                self.front.event(&RunEvent::Note(refusal.to_string()));
                Ok(())
            }
            other => Ok(other?),
        }
    }

    pub(super) fn create(
        &mut self,
        step: u64,
        frame: &FrameId,
        tree: &RunTree,
    ) -> Result<(), RunError> {
        match self.host.create(&self.wanted(tree, frame)) {
            Ok(id) => self.created(step, frame, id),
            Err(HostError::Refused { status, message }) => {
                self.refused(step, frame, &format!("no session ({status}): {message}"))
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn created(
        &mut self,
        step: u64,
        frame: &FrameId,
        id: String,
    ) -> Result<(), RunError> {
        self.front.event(&RunEvent::Session {
            frame: *frame,
            session: id.clone(),
        });
        self.conclude(step, ActionOutcome::Session { id })
    }

    /// Parks the frame of a call that will never succeed, so that it is not retried forever.
    pub(super) fn refused(
        &mut self,
        step: u64,
        frame: &FrameId,
        reason: &str,
    ) -> Result<(), RunError> {
        let is_root = self.memory.state.root == Some(*frame);
        self.park((!is_root).then_some(*frame), reason, None)?;
        self.conclude(
            step,
            ActionOutcome::Failed {
                reason: reason.to_owned(),
            },
        )
    }

    /// Binds the session to the frame and starts the frame.
    fn adopt(&mut self, frame: &FrameId, tree: &RunTree) -> Result<(), RunError> {
        let location = self.location(tree, frame)?;
        let actor = self.session_actor(&location.session);
        let head = tree.get(frame).cloned();
        let bound = head.as_ref().and_then(|head| head.session.clone());
        if bound.as_ref() != Some(&actor.session) {
            if let Some(session) = bound {
                self.change(&actor, &Command::Unbind(session))?;
            }
            let session = actor.session.clone();
            let bind = Command::Bind {
                frame: *frame,
                session,
            };
            self.stack.run(&actor, &bind)?;
        }
        self.stack.run(&actor, &Command::Activate(*frame))?;
        let title = head.map_or_else(String::new, |head| head.title.as_str().to_owned());
        self.front.event(&RunEvent::Frame {
            frame: *frame,
            title,
            status: Status::InProgress,
            is_claimed: false,
        });
        Ok(())
    }

    fn ids(&self, parts: usize) -> (String, Vec<String>) {
        let state = &self.memory.state;
        let seed = format!("{}/{}", state.run, state.next_step);
        self.host.message_ids(self.now(), &seed, parts)
    }

    fn send_context(&mut self, frame: FrameId, tree: &RunTree) -> Result<(), RunError> {
        let (message, parts) = self.ids(1);
        let part = parts.into_iter().next().unwrap_or_default();
        let act = RunAction::Context {
            message: message.clone(),
            part: part.clone(),
        };
        let step = self.intend(frame, act)?;
        self.deliver_context(step, &frame, (message, part), tree)
    }

    pub(super) fn deliver_context(
        &mut self,
        step: u64,
        frame: &FrameId,
        (message, part): (String, String),
        tree: &RunTree,
    ) -> Result<(), RunError> {
        let text = prompt::context_message(&self.stack.context(frame)?);
        let outgoing = self.outgoing(frame, message, vec![(part, text)], false, None);
        self.deliver(step, frame, &outgoing, tree).map(|_| ())
    }

    fn prompt(
        &mut self,
        frame: FrameId,
        why: PromptKind,
        children: Vec<FrameId>,
        tree: &RunTree,
    ) -> Result<(), RunError> {
        let (message, parts) = self.ids(prompt::count(children.len()));
        let run = self.memory.state.frame(&frame);
        let spoken = run.map(|run| run.spoken.iter().map(|(id, _)| id.clone()).collect());
        let act = RunAction::Prompt {
            message,
            parts,
            why,
            children,
            spoken: spoken.unwrap_or_default(),
        };
        let step = self.intend(frame, act)?;
        self.deliver_prompt(step, &frame, tree)
    }

    /// Sends the prompt of a frame's turn.
    pub(super) fn deliver_prompt(
        &mut self,
        step: u64,
        frame: &FrameId,
        tree: &RunTree,
    ) -> Result<(), RunError> {
        let run = self.memory.state.frame(frame).cloned().unwrap_or_default();
        let Some(turn) = &run.turn else {
            return self.conclude(
                step,
                ActionOutcome::Failed {
                    reason: "its turn is gone".to_owned(),
                },
            );
        };
        let outgoing = self.prompt_message(frame, run.attempt, turn)?;
        if self.deliver(step, frame, &outgoing, tree)? {
            self.front.event(&RunEvent::Prompted {
                frame: *frame,
                title: tree.title(frame).to_owned(),
                attempt: run.attempt,
                why: turn.why.as_str(),
            });
        }
        Ok(())
    }

    /// Renders the prompt of a turn.
    pub(super) fn prompt_message(
        &self,
        frame: &FrameId,
        attempt: u32,
        turn: &TurnRun,
    ) -> Result<Outgoing, RunError> {
        let gone = || {
            RunError::Stack(StackError::Lost(format!(
                "the frame {frame} no longer exists"
            )))
        };
        let whole = self.stack.frame(frame)?.ok_or_else(gone)?;
        let mut children: Vec<Frame> = Vec::new();
        for child in &turn.children {
            children.extend(self.stack.frame(child)?);
        }
        let spoken: Vec<String> = turn.spoken.iter().map(|(_, text)| text.clone()).collect();
        let texts = prompt::parts(&PromptInput {
            why: turn.why,
            frame: &whole,
            attempt,
            children: &children,
            remarks: &turn.remarks,
            spoken: &spoken,
        });
        let system = match self.memory.state.options.placed {
            ContextPlacement::System => Some(self.stack.context(frame)?),
            ContextPlacement::Message => None,
        };
        let parts = turn.parts.iter().cloned().zip(texts).collect();
        Ok(self.outgoing(frame, turn.message.clone(), parts, true, system))
    }

    fn outgoing(
        &self,
        frame: &FrameId,
        id: String,
        parts: Vec<(String, String)>,
        wants_reply: bool,
        system: Option<String>,
    ) -> Outgoing {
        let state = &self.memory.state;
        let setup = state.setup(frame);
        Outgoing {
            id,
            parts,
            wants_reply,
            system,
            model: setup.model.or_else(|| state.options.model.clone()),
            agent: setup.agent.or_else(|| state.options.agent.clone()),
        }
    }

    /// Sends a message and records it. Returns false if the server refuses it.
    fn deliver(
        &mut self,
        step: u64,
        frame: &FrameId,
        message: &Outgoing,
        tree: &RunTree,
    ) -> Result<bool, RunError> {
        let location = self.location(tree, frame)?;
        match self.host.send(&location, message) {
            Ok(()) => self.conclude(step, ActionOutcome::Made).map(|()| true),
            Err(HostError::Refused { status, message }) => {
                let reason = format!("prompt refused ({status}): {message}");
                self.refused(step, frame, &reason).map(|()| false)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn say(&mut self, frame: FrameId, spoken: &str, tree: &RunTree) -> Result<(), RunError> {
        let (message, parts) = self.ids(1);
        let part = parts.into_iter().next().unwrap_or_default();
        let act = RunAction::Say {
            message: message.clone(),
            part: part.clone(),
            spoken: spoken.to_owned(),
        };
        let step = self.intend(frame, act)?;
        self.deliver_spoken(step, &frame, (message, part, spoken), tree)
    }

    pub(super) fn deliver_spoken(
        &mut self,
        step: u64,
        frame: &FrameId,
        (message, part, spoken): (String, String, &str),
        tree: &RunTree,
    ) -> Result<(), RunError> {
        let run = self.memory.state.frame(frame);
        let said = run.and_then(|run| run.spoken.iter().find(|(id, _)| id == spoken));
        let said = said.map_or_else(String::new, |(_, text)| text.clone());
        let outgoing = self.outgoing(frame, message, vec![(part, said)], true, None);
        self.deliver(step, frame, &outgoing, tree).map(|_| ())
    }

    /// Applies the consequences of a turn that ended.
    fn apply(&mut self, frame: FrameId, tree: &RunTree) -> Result<(), RunError> {
        let run = self.memory.state.frame(&frame).cloned().unwrap_or_default();
        let Some(turn) = run.turn else { return Ok(()) };
        let Phase::Ended(report) = turn.phase else {
            return Ok(());
        };
        let ruling = rule(&self.memory.state, tree, &frame, &report);
        let actor = match &run.session {
            Some(session) => self.session_actor(session),
            None => self.actor.clone(),
        };
        let mut titles = Vec::new();
        for write in &ruling.writes {
            let status = |id: &FrameId| tree.status(id);
            match write {
                ConditionalCommand::Open(id, command) if tree.get(id).is_none() => {
                    titles.extend(title_in(command));
                    self.change(&actor, command)?;
                }
                ConditionalCommand::WhileOpen(id, command)
                    if status(id).is_some_and(Status::is_open)
                        && !is_blocked_again(status(id), command) =>
                {
                    self.change(&actor, command)?;
                }
                ConditionalCommand::WhileBlocked(id, command)
                    if status(id) == Some(Status::Blocked) =>
                {
                    self.change(&actor, command)?;
                }
                _ => {}
            }
        }
        if !titles.is_empty() {
            self.front.event(&RunEvent::Opened {
                parent: frame,
                titles,
            });
        }
        let verdict = ruling.verdict;
        let at = self.now();
        self.record(&RunRecord::Applied {
            step: turn.step,
            at,
            verdict: verdict.clone(),
        })?;
        let standing = self.stack.standing(&frame)?;
        let is_claimed = standing.is_some_and(|standing| standing.is_claimed);
        self.report_turn(frame, tree, &verdict, is_claimed, report.spent);
        Ok(())
    }

    fn report_turn(
        &mut self,
        frame: FrameId,
        tree: &RunTree,
        verdict: &Verdict,
        is_claimed: bool,
        spent: crate::budget::Spending,
    ) {
        let word = match verdict {
            Verdict::Closed { status, .. } => status.clone(),
            Verdict::Waits { .. } => "waits".to_owned(),
            Verdict::Again { why, .. } => why.as_str().to_owned(),
            Verdict::Retry { lesson } => format!("retry: {lesson}"),
            Verdict::Blocked { reason } => format!("blocked: {reason}"),
            // The reason is in the event that follows.
            Verdict::Limited { .. } => "parked".to_owned(),
            Verdict::Stopped => "stopped".to_owned(),
        };
        self.front.event(&RunEvent::Turned {
            frame,
            title: tree.title(&frame).to_owned(),
            verdict: word,
            is_claimed,
            spent,
        });
        if let Verdict::Limited { reason, until } = verdict {
            self.front.event(&RunEvent::Parked {
                frame: None,
                reason: reason.clone(),
                until: *until,
            });
        }
        let status = match verdict {
            Verdict::Closed { status, .. } => Status::from_name(status),
            Verdict::Blocked { .. } => Some(Status::Blocked),
            _ => None,
        };
        if let (Some(status), Some(head)) = (status, tree.get(&frame)) {
            self.front.event(&RunEvent::Frame {
                frame,
                title: head.title.as_str().to_owned(),
                status,
                is_claimed,
            });
        }
    }
}

/// Returns the title of the frame that a plan opens.
fn title_in(command: &Command) -> Option<String> {
    match command {
        Command::Plan { items, .. } => items
            .first()
            .map(|item| item.goal.title.as_str().to_owned()),
        _ => None,
    }
}

/// Returns true if a frame that is blocked already would be blocked once more.
fn is_blocked_again(status: Option<Status>, command: &Command) -> bool {
    let blocks = match command {
        Command::Block { .. } => true,
        Command::Pop { outcome, .. } => outcome.status() == Status::Blocked,
        _ => false,
    };
    blocks && status == Some(Status::Blocked)
}
