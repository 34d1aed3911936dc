//! Looking at turns: the host's stored messages say how they go and how they ended.

use flamestack_core::FrameId;
use flamestack_core::text::shortened;

use super::{Choice, RunDriver};
use crate::budget::Spending;
use crate::error::RunError;
use crate::host::{EndedTurn, SessionLocation, TurnFault, TurnFinish, TurnView};
use crate::options::InterruptedPolicy;
use crate::record::{RunRecord, TurnReport};
use crate::report::{RunActivity, RunEvent};
use crate::signal::signals;
use crate::stack::RunTree;
use crate::state::TurnRun;

/// Time after which a stored prompt that nothing answers is sent again, with the same ids, in
/// milliseconds. OpenCode sometimes acknowledges a prompt and does not start.
const WAKE_AFTER: i64 = 4_000;
/// Time without progress after which the user is shown that, in milliseconds. Nothing is stopped by it.
const QUIET_AFTER: i64 = 5 * 60 * 1000;
/// Longest wait for a provider that the host announces before the run is parked, in milliseconds.
const LONGEST_WAIT: i64 = 15 * 60 * 1000;

impl RunDriver<'_> {
    /// Looks at the turns of sessions that something happened in.
    pub(super) fn look(&mut self) -> Result<(), RunError> {
        let everything = std::mem::take(&mut self.memory.all_dirty);
        let dirty = std::mem::take(&mut self.memory.dirty);
        if !everything && dirty.is_empty() {
            return Ok(());
        }
        if everything {
            self.memory.last_look = self.now();
        }
        let turns: Vec<(FrameId, u32, TurnRun)> = self
            .memory
            .state
            .running()
            .filter(|(_, run, _)| {
                let session = run.session.as_deref().unwrap_or_default();
                everything || dirty.contains(session)
            })
            .map(|(frame, run, turn)| (*frame, run.attempt, turn.clone()))
            .collect();
        if !turns.is_empty() {
            let tree = self.tree()?;
            for (frame, attempt, turn) in turns {
                let seen = self.observe(frame, attempt, &turn, &tree);
                self.survive(seen)?;
            }
        }
        // Only what runs can ask.
        if self.memory.state.running().next().is_none() {
            self.memory.asked.clear();
            return Ok(());
        }
        let asked = self.answer_asks();
        self.survive(asked)
    }

    fn observe(
        &mut self,
        frame: FrameId,
        attempt: u32,
        turn: &TurnRun,
        tree: &RunTree,
    ) -> Result<(), RunError> {
        let location = self.location(tree, &frame)?;
        let view = self.host.turn(&location, &turn.message)?;
        if !matches!(view, TurnView::Waiting { .. }) {
            self.memory.provider_waits.remove(&frame);
        }
        if view != TurnView::Unanswered {
            self.memory.unanswered.remove(&turn.step);
        }
        if matches!(view, TurnView::Ended(_) | TurnView::Cut { .. }) {
            self.keep(&location);
        }
        match view {
            TurnView::Ended(end) => self.ended(frame, turn.step, *end),
            TurnView::Missing => {
                let message = "its prompt was deleted from its session";
                self.fault(frame, turn.step, TurnFault::Other, message, None)
            }
            TurnView::Unanswered | TurnView::Cut { .. } if turn.stopped => {
                self.finish(frame, turn.step, TurnFinish::Stopped, Spending::default())
            }
            TurnView::Unanswered => {
                let now = self.now();
                let since = *self.memory.unanswered.entry(turn.step).or_insert(now);
                if now - since >= WAKE_AFTER {
                    self.memory.unanswered.remove(&turn.step);
                    let message = self.prompt_message(&frame, attempt, turn)?;
                    self.host.send(&location, &message)?;
                }
                Ok(())
            }
            TurnView::Running {
                progress,
                doing,
                spent,
            } => {
                self.progressed(frame, progress, RunActivity { doing, spent }, tree);
                Ok(())
            }
            TurnView::Waiting { message, until } => {
                self.waiting(frame, turn, &message, until, tree)
            }
            TurnView::Cut {
                used_tools: false, ..
            } => {
                self.host.discard(&location, &turn.message)?;
                let message = self.prompt_message(&frame, attempt, turn)?;
                self.host.send(&location, &message)?;
                let note =
                    format!("{frame}: its turn was cut off before it did anything, and continues");
                self.front.event(&RunEvent::Note(note));
                Ok(())
            }
            TurnView::Cut { spent, .. } => {
                let title = tree.title(&frame);
                let go_on = match self.memory.state.options.interrupted {
                    InterruptedPolicy::Continue => true,
                    InterruptedPolicy::Stop => false,
                    InterruptedPolicy::Ask => self.front.unknown_outcome(title) == Choice::GoOn,
                };
                self.finish(frame, turn.step, TurnFinish::Cut { go_on }, spent)
            }
        }
    }

    /// Records the messages of a session, before the end of its turn is: a crash in between records them again. The
    /// run does not depend on it, and the next turn of the session brings what could not be recorded.
    fn keep(&mut self, location: &SessionLocation) {
        let actor = self.session_actor(&location.session);
        let kept = match self.host.stored(location) {
            Ok(messages) => self
                .stack
                .keep(&actor, &messages)
                .map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        if let Err(problem) = kept {
            let note = format!(
                "the messages of {} are not recorded: {problem}",
                location.session
            );
            self.front.event(&RunEvent::Note(note));
        }
    }

    fn progressed(&mut self, frame: FrameId, progress: u64, activity: RunActivity, tree: &RunTree) {
        let before = self.memory.activity.get(&frame);
        let is_new = before.is_none_or(|before| before.doing != activity.doing);
        if let Some(what) = activity.doing.clone().filter(|_| is_new) {
            let title = tree.title(&frame).to_owned();
            self.front.event(&RunEvent::Doing { frame, title, what });
        }
        self.memory.activity.insert(frame, activity);
        let now = self.now();
        let known = self.memory.progress.get(&frame).copied();
        match known {
            Some((figure, since, said)) if figure == progress => {
                if now - since.max(said) >= QUIET_AFTER {
                    let seconds = (now - since).unsigned_abs() / 1000;
                    self.front.event(&RunEvent::Quiet { frame, seconds });
                    self.memory.progress.insert(frame, (figure, since, now));
                }
            }
            _ => {
                self.memory.progress.insert(frame, (progress, now, 0));
            }
        }
    }

    /// The host waits for its provider: nothing more is dispatched, and a long wait parks the run.
    fn waiting(
        &mut self,
        frame: FrameId,
        turn: &TurnRun,
        message: &str,
        until: i64,
        tree: &RunTree,
    ) -> Result<(), RunError> {
        if until - self.now() >= LONGEST_WAIT {
            self.host.stop(&self.location(tree, &frame)?)?;
            return self.fault(frame, turn.step, TurnFault::Limit, message, Some(until));
        }
        if self.memory.provider_waits.insert(frame, until).is_none() {
            let what = format!("waits for the provider: {message}");
            let activity = self.memory.activity.entry(frame).or_default();
            activity.doing = Some(what.clone());
            let title = tree.title(&frame).to_owned();
            self.front.event(&RunEvent::Doing { frame, title, what });
        }
        Ok(())
    }

    fn fault(
        &mut self,
        frame: FrameId,
        step: u64,
        fault: TurnFault,
        message: &str,
        until: Option<i64>,
    ) -> Result<(), RunError> {
        let finish = TurnFinish::Failed {
            fault,
            message: message.to_owned(),
            until,
        };
        self.finish(frame, step, finish, Spending::default())
    }

    fn finish(
        &mut self,
        frame: FrameId,
        step: u64,
        finish: TurnFinish,
        spent: Spending,
    ) -> Result<(), RunError> {
        let end = EndedTurn {
            finish,
            text: String::new(),
            calls: Vec::new(),
            spent,
            artifacts: Vec::new(),
        };
        self.ended(frame, step, end)
    }

    fn ended(&mut self, frame: FrameId, step: u64, end: EndedTurn) -> Result<(), RunError> {
        self.memory.progress.remove(&frame);
        self.memory.activity.remove(&frame);
        self.memory.provider_waits.remove(&frame);
        let mut draw = || self.stack.draw();
        let signals = signals(&end.text, &end.calls, &mut draw);
        let report = TurnReport {
            finish: end.finish,
            text: shortened(&end.text, TurnReport::TEXT_LIMIT).into_owned(),
            signals,
            spent: end.spent,
            artifacts: end.artifacts,
        };
        let at = self.now();
        self.record(&RunRecord::TurnEnded {
            step,
            at,
            report: Box::new(report),
        })
    }
}
