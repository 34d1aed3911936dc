//! Subagents: sessions that other sessions started.
//!
//! A [`SubagentRun`] is the state of one, folded from the journal. Only the host's word ends one; silence never does.
//! [`Framing`] decides which runs are worth a frame, and [`crate::session::Activity`] has their
//! costs.

use std::fmt;

use crate::event::{Event, Recorded};
use crate::id::{Fingerprint, SessionRef, Timestamp};
use crate::names::enum_names;
use crate::text::{Text, Title};

enum_names! {
    /// State of a subagent.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum SubagentState {
        /// At work.
        Running = "running",
        /// Its turn is over, and nothing says yet that it has ended.
        Idle = "idle",
        /// Waiting for the user.
        Waiting = "waiting",
        /// Ended; its output was handed to its parent.
        Done = "done",
        /// Ended with an error.
        Failed = "failed",
        /// Stopped.
        Aborted = "aborted",
    }
}

impl SubagentState {
    /// Returns true until it has ended.
    pub fn is_in_flight(self) -> bool {
        matches!(self, Self::Running | Self::Idle | Self::Waiting)
    }
}

impl fmt::Display for SubagentState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Waiting => "waiting for the user",
            other => other.as_str(),
        })
    }
}

/// Kind of end of a subagent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubagentEnd {
    /// It finished.
    Done,
    /// It failed.
    Failed,
    /// It was stopped.
    Aborted,
}

impl SubagentEnd {
    /// Returns the state after this end.
    pub fn state(self) -> SubagentState {
        match self {
            Self::Done => SubagentState::Done,
            Self::Failed => SubagentState::Failed,
            Self::Aborted => SubagentState::Aborted,
        }
    }

    /// Parses a name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Done, Self::Failed, Self::Aborted]
            .into_iter()
            .find(|end| end.state().as_str() == name)
    }
}

enum_names! {
    /// Reporter of the end of a subagent.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum EndedBy {
        /// The host reported it.
        #[default]
        Host = "host",
        /// It was idle for long enough, on a host that reports no ends.
        Idle = "idle",
        /// The user or a model said so.
        Request = "request",
    }
}

/// Start of a subagent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubagentStart {
    /// Its session.
    pub session: SessionRef,
    /// The session that started it; none where the host does not say.
    pub parent: Option<SessionRef>,
    /// Its goal, shortened.
    pub goal: Title,
    /// Kind of agent.
    pub kind: Option<Title>,
    /// Fingerprint of its instructions: the same words to the same kind of agent are the same task.
    pub task: Option<Fingerprint>,
}

/// Returns the fingerprint of a subagent's instructions.
pub fn task(host: &SessionRef, kind: Option<&str>, prompt: &str) -> Option<Fingerprint> {
    let prompt = prompt.trim();
    // Only the host of the session counts: two sessions may ask for the same.
    let any_session = host.beside("any")?;
    let name = format!("{}\n{prompt}", kind.unwrap_or_default());
    (!prompt.is_empty()).then(|| Fingerprint::of(&any_session, "task", &name))
}

/// A subagent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubagentRun {
    /// Its session, which is its handle.
    pub session: SessionRef,
    /// The session that started it; none where the host gives no ids.
    pub parent: Option<SessionRef>,
    /// Its goal, shortened, once the parent's call names it.
    pub goal: Option<Title>,
    /// Kind of agent.
    pub kind: Option<Title>,
    /// Fingerprint of its instructions.
    pub task: Option<Fingerprint>,
    /// The parent's message that started the last attempt.
    pub message: Option<String>,
    /// Its state.
    pub state: SubagentState,
    /// The thing that it is waiting for.
    pub waiting_for: Option<Text>,
    /// Number of attempts; 0 until the parent's call was seen.
    pub attempts: u64,
    /// Start of the last attempt.
    pub started: Timestamp,
    /// Time of its last activity.
    pub active: Timestamp,
    /// Time of its end.
    pub ended: Option<Timestamp>,
    /// Reporter of its end.
    pub ended_by: Option<EndedBy>,
    /// Its output, if no frame holds it.
    pub output: Option<Text>,
}

impl SubagentRun {
    /// Returns the subagent that an event may change.
    pub fn concerned(recorded: &Recorded) -> Option<&SessionRef> {
        match &recorded.event {
            Event::SubagentStarted(start) => Some(&start.session),
            Event::SubagentEnded { session, .. }
            | Event::SessionWaiting { session, .. }
            | Event::SessionPrompted { session, .. }
            | Event::TurnEnded { session, .. }
            | Event::SessionInterrupted { session, .. }
            | Event::SessionSpent { session, .. } => Some(session),
            Event::SessionDescribed(_) => Some(&recorded.session),
            _ => None,
        }
    }

    /// Folds an event of a session. A session that was not started by another one has no run.
    pub fn after(known: Option<Self>, recorded: &Recorded) -> Option<Self> {
        let at = recorded.at;
        let known = match (&recorded.event, known) {
            (Event::SubagentStarted(start), known) => {
                return Some(Self::begun(known, start, recorded));
            }
            (Event::SessionDescribed(described), None) => {
                let mut run = Self::new(recorded.session.clone(), at);
                run.parent = Some(described.parent.clone()?);
                return Some(run);
            }
            (Event::SessionDescribed(described), Some(mut run)) => {
                run.parent = run.parent.or(described.parent.clone());
                return Some(run);
            }
            (_, known) => known,
        };
        let mut run = known?;
        run.active = run.active.max(at);
        match &recorded.event {
            Event::SessionPrompted { .. } => run.resumed(),
            Event::TurnEnded { .. } if run.state.is_in_flight() => {
                run.state = SubagentState::Idle;
                run.waiting_for = None;
            }
            // A stop says more than the failed call that follows from it.
            Event::SessionInterrupted { .. } if run.state != SubagentState::Done => {
                run.over(SubagentState::Aborted, at, EndedBy::Host);
            }
            Event::SessionWaiting { on, .. } if run.state.is_in_flight() => {
                run.state = if on.is_some() {
                    SubagentState::Waiting
                } else {
                    SubagentState::Running
                };
                run.waiting_for.clone_from(on);
            }
            Event::SubagentEnded {
                end,
                output,
                ended_by: by,
                ..
            } => {
                if (run.state, *end) == (SubagentState::Aborted, SubagentEnd::Failed) {
                    run.over(SubagentState::Aborted, at, *by);
                } else {
                    run.over(end.state(), at, *by);
                }
                run.output.clone_from(output);
            }
            _ => {}
        }
        Some(run)
    }

    fn new(session: SessionRef, at: Timestamp) -> Self {
        Self {
            session,
            parent: None,
            goal: None,
            kind: None,
            task: None,
            message: None,
            state: SubagentState::Running,
            waiting_for: None,
            attempts: 0,
            started: at,
            active: at,
            ended: None,
            ended_by: None,
            output: None,
        }
    }

    fn begun(known: Option<Self>, start: &SubagentStart, recorded: &Recorded) -> Self {
        let mut run = match known {
            // The host mentioned it before the call that started it.
            Some(run) if run.attempts == 0 => run,
            Some(mut run) => {
                run.resumed();
                run.started = recorded.at;
                run
            }
            None => Self::new(start.session.clone(), recorded.at),
        };
        run.attempts = run.attempts.saturating_add(1);
        run.active = run.active.max(recorded.at);
        run.parent = start.parent.clone().or(run.parent);
        run.goal = Some(start.goal.clone());
        run.kind = start.kind.clone().or(run.kind);
        run.task = start.task;
        run.message.clone_from(&recorded.message);
        run
    }

    fn resumed(&mut self) {
        self.state = SubagentState::Running;
        self.waiting_for = None;
        self.ended = None;
        self.ended_by = None;
        self.output = None;
    }

    fn over(&mut self, state: SubagentState, at: Timestamp, by: EndedBy) {
        self.state = state;
        self.ended_by = Some(by);
        self.waiting_for = None;
        self.ended = Some(self.ended.map_or(at, |ended| ended.max(at)));
    }

    /// Returns the duration of the last attempt in milliseconds, up to its last activity.
    pub fn duration(&self) -> i64 {
        let last = self
            .ended
            .map_or(self.active, |ended| ended.max(self.active));
        last.0.saturating_sub(self.started.0).max(0)
    }
}

/// Selects the runs that become frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// True if subagents are tracked at all.
    pub enabled: bool,
    /// Minimum duration in milliseconds.
    pub min_duration: i64,
    /// Minimum number of messages.
    pub min_messages: u64,
}

impl Default for Framing {
    fn default() -> Self {
        Self::ALL
    }
}

impl Framing {
    /// Selects all runs.
    pub const ALL: Self = Self {
        enabled: true,
        min_duration: 0,
        min_messages: 0,
    };

    /// Returns true if a run is worth a frame. Either minimum suffices.
    pub fn keeps(&self, duration: i64, messages: u64) -> bool {
        duration >= self.min_duration || messages >= self.min_messages
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::author::Author;
    use crate::id::Seq;
    use crate::session::Description;

    fn child() -> SessionRef {
        "opencode:child".parse().unwrap()
    }

    fn at(at: i64, event: Event) -> Recorded {
        Recorded {
            seq: Seq(at),
            batch: Seq(at),
            at: Timestamp(at),
            session: child(),
            message: Some("msg".to_owned()),
            by: Author::Agent,
            event,
        }
    }

    fn started() -> Event {
        Event::SubagentStarted(Box::new(SubagentStart {
            session: child(),
            parent: "opencode:root".parse().ok(),
            goal: Title::new("Look around").unwrap(),
            kind: None,
            task: None,
        }))
    }

    fn ended(end: SubagentEnd) -> Event {
        Event::SubagentEnded {
            session: child(),
            end,
            output: None,
            ended_by: EndedBy::Host,
        }
    }

    fn waiting(on: Option<&str>) -> Event {
        Event::SessionWaiting {
            session: child(),
            on: on.map(|on| Text::new(on).unwrap()),
        }
    }

    fn stopped() -> Event {
        Event::SessionInterrupted {
            session: child(),
            how: None,
            cause: crate::session::checkpoint::InterruptionCause::Abort,
        }
    }

    fn turned() -> Event {
        Event::TurnEnded {
            session: child(),
            said: None,
        }
    }

    fn described() -> Event {
        Event::SessionDescribed(Box::new(Description {
            parent: "opencode:root".parse().ok(),
            ..Description::default()
        }))
    }

    fn fold(events: Vec<Event>) -> Option<SubagentRun> {
        (1..).zip(events).fold(None, |known, (time, event)| {
            SubagentRun::after(known, &at(time, event))
        })
    }

    fn state(events: Vec<Event>) -> SubagentState {
        fold(events).unwrap().state
    }

    #[test]
    fn silence_ends_nothing() {
        assert_eq!(state(vec![started()]), SubagentState::Running);
        assert_eq!(state(vec![started(), turned()]), SubagentState::Idle);
        assert_eq!(
            state(vec![started(), turned(), ended(SubagentEnd::Done)]),
            SubagentState::Done
        );
        let late = vec![started(), ended(SubagentEnd::Failed), turned()];
        assert_eq!(state(late), SubagentState::Failed);
    }

    #[test]
    fn waiting_ends_when_the_user_has_answered() {
        let run = fold(vec![started(), waiting(Some("bash rm"))]).unwrap();
        assert_eq!(run.state, SubagentState::Waiting);
        assert_eq!(run.waiting_for.unwrap().as_str(), "bash rm");
        let answered = vec![started(), waiting(Some("bash rm")), waiting(None)];
        assert_eq!(state(answered), SubagentState::Running);
        let over = vec![started(), ended(SubagentEnd::Done), waiting(Some("late"))];
        assert_eq!(state(over), SubagentState::Done);
    }

    #[test]
    fn a_stop_is_distinguished_from_a_failure_in_either_order() {
        let orders = [
            vec![started(), stopped(), ended(SubagentEnd::Failed)],
            vec![started(), ended(SubagentEnd::Failed), stopped()],
            vec![started(), ended(SubagentEnd::Aborted), stopped(), turned()],
        ];
        for order in orders {
            assert_eq!(state(order), SubagentState::Aborted);
        }
        let handed_over = vec![started(), ended(SubagentEnd::Done), stopped()];
        assert_eq!(state(handed_over), SubagentState::Done);
    }

    #[test]
    fn the_host_may_describe_it_before_its_parents_call() {
        for order in [vec![described(), started()], vec![started(), described()]] {
            let run = fold(order).unwrap();
            assert_eq!((run.attempts, run.started), (1, Timestamp(1)));
            assert_eq!(run.parent.unwrap().id(), "root");
        }
        assert_eq!(
            fold(vec![turned(), stopped(), ended(SubagentEnd::Done)]),
            None
        );
    }

    #[test]
    fn more_work_for_the_same_subagent_is_another_attempt() {
        let run = fold(vec![started(), ended(SubagentEnd::Done), started()]).unwrap();
        assert_eq!((run.state, run.attempts), (SubagentState::Running, 2));
        assert_eq!((run.started, run.ended), (Timestamp(3), None));
    }

    #[test]
    fn either_time_or_messages_make_a_run_worth_a_frame() {
        let framing = Framing {
            enabled: true,
            min_duration: 60_000,
            min_messages: 3,
        };
        assert!(framing.keeps(60_000, 1) && framing.keeps(5, 3));
        assert!(!framing.keeps(59_999, 2));
        assert!(Framing::ALL.keeps(0, 0));
    }

    #[test]
    fn the_same_task_is_the_same_for_every_session() {
        let other: SessionRef = "opencode:other".parse().unwrap();
        let of = |session: &SessionRef, kind, prompt| task(session, Some(kind), prompt);
        assert_eq!(of(&child(), "a", " Look\n"), of(&other, "a", "Look"));
        assert_ne!(of(&child(), "a", "Look"), of(&child(), "b", "Look"));
        assert_eq!(of(&child(), "a", "  "), None);
    }
}
