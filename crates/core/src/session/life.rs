//! The life of a session: its state and everything that its state depends on, folded from the journal.
//!
//! Every recorded signal counts, also one of a message that was reverted later: the session did work
//! then. States that follow from the clock are never recorded; [`Life::status`] derives them.

use super::checkpoint::{
    CallInFlight, CallOutcome, InterruptionCause, ProcessIdentity, QueuedPrompt,
};
use super::link::{Creation, LinkKind};
use super::state::{SessionState, Signal, rule};
use crate::delivery::HeaderReason;
use crate::event::{Event, Recorded};
use crate::id::{Seq, SessionRef, Timestamp};
use crate::subagent::SubagentEnd;
use crate::text::{Text, condense};
use crate::transcript::CallKind;

/// Beginning of the last words of a turn that an error ended. The turn is recorded with these words,
/// which its results repeat, so that it is known as failed when the next prompt closes its frame.
pub const ENDED_BY_ERROR: &str = "Ended by an error: ";
/// Description of an interruption by the user, where the host has no other.
pub const STOPPED: &str = "stopped by the user";
/// Reason with which the frames of a deleted session are invalidated.
pub const SESSION_DELETED: &str = "its session was deleted";
/// Description of the interruption of a subagent whose host ended while it ran.
pub const CUT_OFF: &str = "cut off with the host";
/// Reason for the stop of a subagent with the call that started it.
const PARENT_ENDED: &str = "the call of its parent ended";
/// Description of the interruption of a subagent whose session was deleted.
const DELETED: &str = "the session was deleted";

/// Maximum number of calls, files and subagents that are remembered at the same time.
const MAX_REMEMBERED: usize = 64;
/// Maximum number of queued prompts that are remembered at the same time. The life of a session is read and
/// written with each of its signals, so it has to stay small.
const MAX_QUEUED: usize = 16;
/// Maximum length of the detail of a cause, in characters.
const DETAIL_LIMIT: usize = 300;
/// Number of model calls after which a queued prompt has reached the model: the one that ran when it
/// came, and the next.
const STEPS_TO_SEE: u64 = 2;

/// A recorded change of state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// State before; none for the first.
    pub from: Option<SessionState>,
    /// State after.
    pub to: SessionState,
    /// Time of the signal.
    pub at: Timestamp,
    /// The event that is the signal.
    pub seq: Seq,
    /// The signal.
    pub signal: Signal,
    /// Details of the signal, such as the question that is asked.
    pub detail: Option<Text>,
}

impl Transition {
    /// Returns the reason for the state, for the user.
    pub fn why(&self) -> String {
        let known = self.from.and_then(|from| rule(from, self.signal));
        let why = known.map_or("the session was seen for the first time", |rule| rule.why);
        match &self.detail {
            // What hosts say of a stop repeats the rule.
            Some(detail) if detail.as_str() == PARENT_ENDED => PARENT_ENDED.to_owned(),
            Some(detail) if detail.as_str() != STOPPED => format!("{why}: {detail}"),
            _ => why.to_owned(),
        }
    }
}

/// Times of a session's life; absent ones did not happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LifeTimes {
    /// First sight of the session.
    pub opened: Timestamp,
    /// Last sign of life.
    pub active: Timestamp,
    /// Last prompt.
    pub prompted: Option<Timestamp>,
    /// Last normal end of a turn.
    pub idle: Option<Timestamp>,
    /// Last compaction.
    pub compacted: Option<Timestamp>,
    /// Last time that it was continued after a long silence.
    pub resumed: Option<Timestamp>,
}

/// Numbers of a session's life.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LifeMetrics {
    /// The first tool that was called.
    pub first_tool: Option<String>,
    /// Turns that ended normally.
    pub turns: u64,
    /// Turns that an error ended.
    pub failures: u64,
    /// Model calls.
    pub steps: u64,
    /// Tool calls that began.
    pub calls: u64,
    /// Those of them that failed.
    pub failed_calls: u64,
    /// Those of them that were refused.
    pub refused_calls: u64,
    /// Subagents that it started.
    pub delegations: u64,
}

/// The life of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Life {
    /// The session.
    pub session: SessionRef,
    /// Its recorded state.
    pub state: SessionState,
    /// The last change of its state.
    pub last: Transition,
    /// Number of changes of its state.
    pub transitions: u64,
    /// The session that started it or took it over.
    pub parent: Option<SessionRef>,
    /// True if a command chose the parent, so that the host's word no longer counts.
    pub is_adopted: bool,
    /// Subagents that it waits for.
    pub children: Vec<SessionRef>,
    /// Calls without a known outcome.
    pub calls: Vec<CallInFlight>,
    /// Prompts that the model has not seen.
    pub queued: Vec<QueuedPrompt>,
    /// Files that calls named since the last finished step.
    pub touched: Vec<String>,
    /// The host's last message.
    pub message: Option<String>,
    /// The host's process that served it last.
    pub process: Option<ProcessIdentity>,
    /// The command that made it.
    pub creation: Option<Creation>,
    /// Times.
    pub times: LifeTimes,
    /// Numbers.
    pub metrics: LifeMetrics,
}

impl Life {
    /// Returns the session that an event is about. A user at a terminal has no life of this kind.
    pub fn concerned(recorded: &Recorded) -> Option<&SessionRef> {
        let session = match &recorded.event {
            Event::SessionOpened { session, .. }
            | Event::SessionPrompted { session, .. }
            | Event::TurnEnded { session, .. }
            | Event::SessionInterrupted { session, .. }
            | Event::SessionCompacted { session, .. }
            | Event::SessionSpent { session, .. }
            | Event::SessionReverted { session, .. }
            | Event::SessionRestored { session, .. }
            | Event::SubagentEnded { session, .. }
            | Event::SessionWaiting { session, .. }
            | Event::SessionLinked { session, .. }
            | Event::SessionClosed { session, .. } => session,
            Event::SubagentStarted(start) => &start.session,
            Event::SessionCreated(creation) => &creation.session,
            Event::CompactionBegun(_)
            | Event::SessionDescribed(_)
            | Event::SessionHosted(_)
            | Event::CallBegun(_)
            | Event::CallEnded { .. } => &recorded.session,
            Event::ContextSent(sending) if sending.after == Some(HeaderReason::Resume) => {
                &recorded.session
            }
            Event::FrameInvalidated { reason, .. } if reason.as_str() == SESSION_DELETED => {
                &recorded.session
            }
            _ => return None,
        };
        (!session.is_shell()).then_some(session)
    }

    /// Returns the session that an event is about as the parent of the one with this life.
    pub fn concerned_parent(&self, recorded: &Recorded) -> Option<&SessionRef> {
        let is_news = matches!(
            recorded.event,
            Event::SubagentStarted(_) | Event::SubagentEnded { .. }
        );
        self.parent.as_ref().filter(|_| is_news)
    }

    /// Folds an event about the session, and returns the changes of state that it caused.
    pub fn after(
        known: Option<Self>,
        session: &SessionRef,
        recorded: &Recorded,
    ) -> (Self, Vec<Transition>) {
        let mut changes = Vec::new();
        let mut life = known.unwrap_or_else(|| {
            let life = Self::begun(session, recorded);
            changes.push(life.last.clone());
            life
        });
        if recorded.session == life.session && recorded.message.is_some() {
            life.message.clone_from(&recorded.message);
        }
        life.note(recorded);
        if let Some((signal, detail)) = signal(&recorded.event) {
            changes.extend(life.receive(signal, detail, recorded));
        }
        (life, changes)
    }

    /// Folds the start or the end of a subagent of this session.
    pub fn after_child(&mut self, child: &SessionRef, recorded: &Recorded) -> Option<Transition> {
        self.times.active = self.times.active.max(recorded.at);
        if matches!(recorded.event, Event::SubagentStarted(_)) {
            self.metrics.delegations = self.metrics.delegations.saturating_add(1);
            remember(&mut self.children, child);
            return self.receive(Signal::ChildBegun, None, recorded);
        }
        self.children.retain(|running| running != child);
        if self.children.is_empty() {
            self.receive(Signal::ChildrenEnded, None, recorded)
        } else {
            None
        }
    }

    /// Returns a life that begins with an event.
    pub fn begun(session: &SessionRef, recorded: &Recorded) -> Self {
        let state = SessionState::Beginning;
        Self {
            session: session.clone(),
            state,
            last: Transition {
                from: None,
                to: state,
                at: recorded.at,
                seq: recorded.seq,
                signal: Signal::Opened,
                detail: None,
            },
            transitions: 1,
            parent: None,
            is_adopted: false,
            children: Vec::new(),
            calls: Vec::new(),
            queued: Vec::new(),
            touched: Vec::new(),
            message: None,
            process: None,
            creation: None,
            times: LifeTimes {
                opened: recorded.at,
                active: recorded.at,
                ..LifeTimes::default()
            },
            metrics: LifeMetrics::default(),
        }
    }

    /// Applies a signal; it is ignored if the table has no rule for it in this state.
    fn receive(
        &mut self,
        signal: Signal,
        detail: Option<Text>,
        recorded: &Recorded,
    ) -> Option<Transition> {
        let rule = rule(self.state, signal)?;
        // Whatever the turn before left open is over.
        if matches!(
            signal,
            Signal::Prompted | Signal::Delegated | Signal::TurnEnded
        ) {
            self.children.clear();
            self.calls.clear();
            self.touched.clear();
            self.queued.clear();
        }
        // Counted here, since hosts report the end of a turn more than once.
        if signal == Signal::TurnEnded {
            self.times.idle = Some(recorded.at);
            self.metrics.turns = self.metrics.turns.saturating_add(1);
        }
        if rule.to == SessionState::Failed {
            self.metrics.failures = self.metrics.failures.saturating_add(1);
        }
        let change = Transition {
            from: Some(self.state),
            to: rule.to,
            at: recorded.at,
            seq: recorded.seq,
            signal,
            detail: detail.map(bounded),
        };
        self.state = rule.to;
        self.last = change.clone();
        self.transitions = self.transitions.saturating_add(1);
        Some(change)
    }

    /// Records everything but the state.
    fn note(&mut self, recorded: &Recorded) {
        let at = recorded.at;
        if is_sign_of_life(&recorded.event) {
            self.times.active = self.times.active.max(at);
        }
        match &recorded.event {
            Event::SessionPrompted { queued, .. } => {
                self.times.prompted = Some(at);
                if let Some(words) = queued.as_ref().filter(|_| self.state.is_busy()) {
                    self.queued.truncate(MAX_QUEUED - 1);
                    self.queued.push(QueuedPrompt {
                        message: recorded.message.clone(),
                        words: words.clone(),
                        steps: 0,
                    });
                }
            }
            Event::SessionCompacted { .. } => self.times.compacted = Some(at),
            Event::ContextSent(_) => self.times.resumed = Some(at),
            Event::SessionSpent { usage, .. } => {
                self.metrics.steps = self.metrics.steps.saturating_add(1);
                // The cost of a step that was cut off is zero: it did not finish.
                if usage.prompt().saturating_add(usage.output) > 0 {
                    self.touched.clear();
                    for queued in &mut self.queued {
                        queued.steps = queued.steps.saturating_add(1);
                    }
                    self.queued.retain(|queued| queued.steps < STEPS_TO_SEE);
                }
            }
            Event::SubagentStarted(start) if !self.is_adopted => {
                self.parent = start.parent.clone().or(self.parent.take());
            }
            Event::SessionDescribed(described) if !self.is_adopted => {
                self.parent = described.parent.clone().or(self.parent.take());
            }
            Event::SessionLinked {
                kind: LinkKind::Parent,
                to,
                removed,
                ..
            } => {
                self.parent = to.clone().filter(|_| !removed);
                self.is_adopted = true;
            }
            Event::SessionCreated(creation) => {
                self.creation = Some(creation.as_ref().clone());
            }
            Event::SessionHosted(process) => self.process = Some(process.clone()),
            Event::CallBegun(_) | Event::CallEnded { .. } => self.call(recorded),
            _ => {}
        }
    }

    fn call(&mut self, recorded: &Recorded) {
        let metrics = &mut self.metrics;
        match &recorded.event {
            Event::CallBegun(start) => {
                if self
                    .calls
                    .iter()
                    .any(|known| known.start.call == start.call)
                {
                    return;
                }
                metrics.calls = metrics.calls.saturating_add(1);
                metrics.first_tool.get_or_insert_with(|| start.tool.clone());
                if matches!(start.kind, CallKind::Edit | CallKind::Write) {
                    for path in &start.paths {
                        remember(&mut self.touched, path);
                    }
                }
                self.calls.truncate(MAX_REMEMBERED - 1);
                self.calls.push(CallInFlight {
                    start: start.as_ref().clone(),
                    since: recorded.at,
                    cut: false,
                });
            }
            Event::CallEnded { call, outcome } => {
                let counter = match outcome {
                    CallOutcome::Done | CallOutcome::Cut => None,
                    CallOutcome::Failed => Some(&mut metrics.failed_calls),
                    CallOutcome::Refused => Some(&mut metrics.refused_calls),
                };
                if let Some(counter) = counter {
                    *counter = counter.saturating_add(1);
                }
                match outcome {
                    CallOutcome::Cut => {
                        let known = self
                            .calls
                            .iter_mut()
                            .find(|known| known.start.call == *call);
                        if let Some(known) = known {
                            known.cut = true;
                        }
                    }
                    _ => self.calls.retain(|known| known.start.call != *call),
                }
            }
            _ => {}
        }
    }
}

/// Adds a value to a bounded list, unless it is there.
fn remember<T: Clone + PartialEq>(list: &mut Vec<T>, value: &T) {
    if !list.contains(value) && list.len() < MAX_REMEMBERED {
        list.push(value.clone());
    }
}

fn bounded(detail: Text) -> Text {
    if detail.as_str().chars().count() > DETAIL_LIMIT {
        Text::recorded(condense(detail.as_str(), DETAIL_LIMIT))
    } else {
        detail
    }
}

/// Returns true if the last words of a turn are those of an error.
pub fn is_failure(said: Option<&Text>) -> bool {
    said.is_some_and(|said| said.as_str().starts_with(ENDED_BY_ERROR))
}

/// Returns the signal of an event for its own session.
fn signal(event: &Event) -> Option<(Signal, Option<Text>)> {
    let plain = |signal| Some((signal, None));
    match event {
        Event::SessionCreated(creation) => Some((Signal::Created, Some(creation.purpose.clone()))),
        Event::SessionPrompted { .. } => plain(Signal::Prompted),
        Event::SubagentStarted(_) => plain(Signal::Delegated),
        Event::CallBegun(start) => {
            let tool = Text::new(&start.tool).ok();
            Some((Signal::CallBegun, tool))
        }
        Event::SessionSpent { .. } => plain(Signal::ModelCalled),
        Event::SessionWaiting { on: Some(on), .. } => Some((Signal::Asked, Some(on.clone()))),
        Event::SessionWaiting { on: None, .. } => plain(Signal::Answered),
        Event::TurnEnded { said, .. } if is_failure(said.as_ref()) => {
            let words = said.as_ref().map(Text::as_str).unwrap_or_default();
            let error = words.strip_prefix(ENDED_BY_ERROR).unwrap_or(words);
            Some((Signal::TurnFailed, Text::new(error).ok()))
        }
        Event::TurnEnded { .. } => plain(Signal::TurnEnded),
        Event::SessionInterrupted { how, cause, .. } => {
            let words = how.as_ref().map(Text::as_str).unwrap_or_default();
            let signal = match cause {
                // Journals from before causes were recorded.
                InterruptionCause::Abort if words == DELETED => Signal::Closed,
                InterruptionCause::Abort if words == CUT_OFF => Signal::Crashed,
                InterruptionCause::Abort => Signal::Aborted,
                InterruptionCause::Failure => Signal::TurnFailed,
                InterruptionCause::Kill => Signal::Killed,
                InterruptionCause::Crash => Signal::Crashed,
            };
            Some((signal, how.clone()))
        }
        Event::CompactionBegun(_) => plain(Signal::CompactionBegun),
        Event::SessionCompacted { .. } => plain(Signal::Compacted),
        Event::SessionReverted { .. } | Event::SessionRestored { .. } => plain(Signal::Reverted),
        Event::SubagentEnded { end, .. } => match end {
            SubagentEnd::Done => plain(Signal::Finished),
            SubagentEnd::Failed => plain(Signal::TurnFailed),
            SubagentEnd::Aborted => Some((Signal::Aborted, Text::new(PARENT_ENDED).ok())),
        },
        Event::SessionClosed { why, .. } => Some((Signal::Closed, why.clone())),
        Event::FrameInvalidated { reason, .. } => Some((Signal::Closed, Some(reason.clone()))),
        _ => None,
    }
}

/// Returns true for an event that shows the session at work. Descriptions are repeated whenever a host
/// starts, and a crash is found long after the last sign of life.
fn is_sign_of_life(event: &Event) -> bool {
    match event {
        Event::SessionPrompted { .. }
        | Event::TurnEnded { .. }
        | Event::SessionCompacted { .. }
        | Event::CompactionBegun(_)
        | Event::SessionSpent { .. }
        | Event::SessionReverted { .. }
        | Event::SessionRestored { .. }
        | Event::SubagentStarted(_)
        | Event::SubagentEnded { .. }
        | Event::SessionWaiting { .. }
        | Event::SessionCreated(_)
        | Event::CallBegun(_)
        | Event::CallEnded { .. } => true,
        Event::SessionInterrupted { cause, .. } => *cause != InterruptionCause::Crash,
        _ => false,
    }
}
