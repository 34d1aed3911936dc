//! States of a session, and the table of transitions between them.
//!
//! The table is data: the fold of the journal ([`super::life`]), the tests and the table and diagram of
//! `docs/sessions.md` all read [`RULES`]. A signal that has no rule for the current state is ignored,
//! because hosts repeat signals, send them late and leave some out.

use self::SessionState as S;
use crate::names::enum_names;

enum_names! {
    /// State of a session.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum SessionState {
        /// New, without a prompt.
        Beginning = "beginning",
        /// The model or one of its tools works.
        Executing = "executing",
        /// A turn is over; the session waits for the next prompt.
        BetweenTurn = "between_turn",
        /// The host waits for a permission or an answer of the user.
        WaitingUser = "waiting_user",
        /// A subagent works, and the session waits for it.
        WaitingChild = "waiting_child",
        /// The host makes a summary of the history.
        Compacting = "compacting",
        /// A summary replaced the history, and nothing happened since.
        Compacted = "compacted",
        /// The turn was stopped before its end.
        Interrupted = "interrupted",
        /// An error ended the turn.
        Failed = "failed",
        /// Made by a command, without a prompt so far.
        Custom = "custom",
        /// Between turns for longer than a prompt stays in a provider's cache.
        Idle = "idle",
        /// Without a sign of life for so long that its work has probably moved on.
        Stale = "stale",
        /// A subagent that handed over its output.
        Completed = "completed",
        /// Deleted in the host, or closed by a command.
        Closed = "closed",
    }
}

impl SessionState {
    /// Returns true while a turn runs, so that the end of its host's process interrupts it.
    pub fn is_busy(self) -> bool {
        matches!(
            self,
            S::Executing | S::WaitingUser | S::WaitingChild | S::Compacting
        )
    }

    /// Returns true if nothing more is expected of the session.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Closed)
    }

    /// Describes the state for the user.
    pub fn about(self) -> &'static str {
        match self {
            Self::Beginning => "new, without a prompt",
            Self::Executing => "the model or one of its tools works",
            Self::BetweenTurn => "a turn is over; the next prompt is awaited",
            Self::WaitingUser => "a permission or an answer of the user is awaited",
            Self::WaitingChild => "a subagent works, and the session waits for it",
            Self::Compacting => "the host makes a summary of the history",
            Self::Compacted => "a summary replaced the history, and nothing happened since",
            Self::Interrupted => {
                "the turn was stopped before its end: by the user, a kill or a crash"
            }
            Self::Failed => "an error ended the turn",
            Self::Custom => "made by a command, without a prompt so far",
            Self::Idle => "between turns for longer than a prompt stays in the cache",
            Self::Stale => "without a sign of life for longer than `session.stale_after`",
            Self::Completed => "a subagent that handed over its output",
            Self::Closed => "deleted in the host, or closed by a command",
        }
    }
}

enum_names! {
    /// A signal of a host, a command of the user, or the passing of time.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Signal {
        /// The session was seen for the first time.
        Opened = "opened",
        /// A command made the session.
        Created = "created",
        /// A prompt arrived.
        Prompted = "prompted",
        /// Another session gave it work.
        Delegated = "delegated",
        /// A tool call began.
        CallBegun = "call_begun",
        /// The model was called.
        ModelCalled = "model_called",
        /// The host asks the user.
        Asked = "asked",
        /// The user answered.
        Answered = "answered",
        /// A subagent began.
        ChildBegun = "child_begun",
        /// The last subagent ended.
        ChildrenEnded = "children_ended",
        /// The turn ended normally.
        TurnEnded = "turn_ended",
        /// An error ended the turn.
        TurnFailed = "turn_failed",
        /// The user stopped the turn.
        Aborted = "aborted",
        /// The host's process ended during the turn, and its sidecar saw it.
        Killed = "killed",
        /// The host's process was found to be gone.
        Crashed = "crashed",
        /// The host began to make a summary.
        CompactionBegun = "compaction_begun",
        /// A summary replaced the history.
        Compacted = "compacted",
        /// The host took messages back, or restored them.
        Reverted = "reverted",
        /// A subagent handed over its output.
        Finished = "finished",
        /// The session was deleted or closed.
        Closed = "closed",
        /// The prompt cache has expired.
        TurnedCold = "turned_cold",
        /// No sign of life for the longest time.
        TurnedStale = "turned_stale",
    }
}

enum_names! {
    /// Source of a signal.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum SignalSource {
        /// The host.
        Host = "host",
        /// A command of the user or a model.
        Command = "command",
        /// The comparison of the record with the processes that run.
        Reconciliation = "reconciliation",
        /// The clock, when a state is shown. Never recorded.
        Time = "time",
    }
}

impl Signal {
    /// Returns the source of the signal.
    pub fn source(self) -> SignalSource {
        match self {
            Self::Created => SignalSource::Command,
            Self::Crashed => SignalSource::Reconciliation,
            Self::TurnedCold | Self::TurnedStale => SignalSource::Time,
            _ => SignalSource::Host,
        }
    }

    /// Names the recorded events that are this signal, for the docs.
    pub fn recorded_as(self) -> &'static str {
        match self {
            Self::Opened => "`session_opened`, `session_described`",
            Self::Created => "`session_created`",
            Self::Prompted => "`session_prompted`",
            Self::Delegated | Self::ChildBegun => "`subagent_started`",
            Self::CallBegun => "`call_begun`",
            Self::ModelCalled => "`session_spent`",
            Self::Asked | Self::Answered => "`session_waiting`",
            Self::ChildrenEnded => "`subagent_ended` of the last one that ran",
            Self::TurnEnded => "`session_turned`",
            Self::TurnFailed => {
                "`session_turned` with the words of an error, `subagent_ended` as failed"
            }
            Self::Aborted => "`session_interrupted`, `subagent_ended` as aborted",
            Self::Killed | Self::Crashed => "`session_interrupted` with its cause",
            Self::CompactionBegun => "`compaction_begun`",
            Self::Compacted => "`session_compacted`",
            Self::Reverted => "`session_reverted`, `session_restored`",
            Self::Finished => "`subagent_ended` as done",
            Self::Closed => "`session_closed`",
            Self::TurnedCold | Self::TurnedStale => "never recorded",
        }
    }
}

/// A row of the table of transitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The signal.
    pub signal: Signal,
    /// States in which it counts; in every other one it is ignored.
    pub from: &'static [SessionState],
    /// The state that follows.
    pub to: SessionState,
    /// Reason, for the user.
    pub why: &'static str,
}

/// Declares transitions: the signal, the states in which it counts, the state that follows, and the
/// reason.
macro_rules! rules {
    ($($signal:ident: $($from:ident)|+ => $to:ident, $why:literal;)+) => {
        &[$(Rule { signal: Signal::$signal, from: &[$(S::$from),+], to: S::$to, why: $why }),+]
    };
}

/// All transitions. Anything that is not listed is ignored.
pub const RULES: &[Rule] = rules! {
    Created: Beginning => Custom, "a command made the session";
    // While a turn runs, a prompt is queued and changes nothing.
    Prompted: Beginning | BetweenTurn | Compacting | Compacted | Interrupted | Failed | Custom |
        Completed | Closed => Executing, "a prompt arrived";
    Delegated: Beginning | Interrupted | Failed | Custom | Completed | Closed
        => Executing, "another session gave it work";
    // Hosts continue without a prompt after a compaction, and other plugins resume sessions.
    CallBegun: Beginning | BetweenTurn | Compacting | Compacted | Interrupted | Failed | Custom |
        Completed | Closed => Executing, "a tool call began";
    // Only here: the cost of a turn may be reported after its end.
    ModelCalled: Compacted => Executing, "the model continued after the compaction";
    Asked: Beginning | Executing | WaitingChild | Compacting | Compacted | Custom
        => WaitingUser, "the user is asked";
    Answered: WaitingUser => Executing, "the user answered";
    ChildBegun: Beginning | Executing | Compacted | Custom => WaitingChild, "a subagent began";
    ChildrenEnded: WaitingChild => Executing, "its subagents have ended";
    // A summary that the user asked for ends with an idle host: the session stays compacted.
    TurnEnded: Beginning | Executing | WaitingUser | WaitingChild | Compacting | Custom
        => BetweenTurn, "the turn ended";
    // The host may be idle before the message with the error is final.
    TurnFailed: Beginning | Executing | BetweenTurn | WaitingUser | WaitingChild | Compacting |
        Compacted | Custom => Failed, "an error ended the turn";
    // A stop says more than the idle host and the failed calls that follow from it, in any order.
    Aborted: Beginning | Executing | BetweenTurn | WaitingUser | WaitingChild | Compacting |
        Compacted | Failed | Custom => Interrupted, "the user stopped the turn";
    Killed: Executing | WaitingUser | WaitingChild | Compacting
        => Interrupted, "the host ended during the turn";
    Crashed: Executing | WaitingUser | WaitingChild | Compacting
        => Interrupted, "the host's process is gone, and the turn never ended";
    CompactionBegun: Beginning | Executing | BetweenTurn | WaitingUser | WaitingChild |
        Compacted | Interrupted | Failed | Custom => Compacting, "the host began to make a summary";
    Compacted: Beginning | Executing | BetweenTurn | WaitingUser | WaitingChild | Compacting |
        Interrupted | Failed | Custom => Compacted, "a summary replaced the history";
    Reverted: Compacted | Interrupted | Failed
        => BetweenTurn, "the host took messages back or restored them";
    Finished: Beginning | Executing | BetweenTurn | WaitingUser | WaitingChild | Compacting |
        Compacted | Interrupted | Failed | Custom => Completed, "its output was handed over";
    Closed: Beginning | Executing | BetweenTurn | WaitingUser | WaitingChild | Compacting |
        Compacted | Interrupted | Failed | Custom | Completed => Closed, "it was deleted or closed";
    // The rest is never recorded: it follows from the clock whenever a state is shown.
    TurnedCold: BetweenTurn | Compacted
        => Idle, "nothing happened for longer than a prompt stays in the cache";
    // A running turn whose process is known is found by reconciliation instead.
    TurnedStale: Beginning | Executing | BetweenTurn | WaitingUser | WaitingChild | Compacting |
        Compacted | Custom | Idle => Stale, "no sign of life for a long time";
};

/// Returns the rule for a signal in a state; none if the signal is ignored there.
pub fn rule(from: SessionState, signal: Signal) -> Option<&'static Rule> {
    RULES
        .iter()
        .find(|rule| rule.signal == signal && rule.from.contains(&from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signal_has_one_rule_for_a_state() {
        for state in SessionState::ALL {
            for signal in Signal::ALL {
                let rules = RULES
                    .iter()
                    .filter(|rule| rule.signal == signal && rule.from.contains(&state));
                assert!(rules.count() <= 1, "{state:?} {signal:?}");
            }
        }
    }

    #[test]
    fn a_repeated_signal_changes_nothing() {
        for rule in RULES {
            assert!(!rule.from.contains(&rule.to), "{:?}", rule.signal);
        }
    }

    #[test]
    fn every_state_can_be_reached_and_left() {
        for state in SessionState::ALL {
            let reached = RULES.iter().any(|rule| rule.to == state);
            assert!(reached || state == SessionState::Beginning, "{state:?}");
            // Time ends at `stale`, and what happens next starts from the recorded state.
            let left = RULES.iter().any(|rule| rule.from.contains(&state));
            assert!(left || state == SessionState::Stale, "{state:?}");
        }
    }

    #[test]
    fn a_prompt_gets_every_session_at_rest_going() {
        for state in SessionState::ALL {
            let by_time = matches!(state, SessionState::Idle | SessionState::Stale);
            let waits = matches!(
                state,
                SessionState::WaitingUser | SessionState::WaitingChild
            );
            if state == SessionState::Executing || by_time || waits {
                continue;
            }
            let prompted = rule(state, Signal::Prompted).map(|rule| rule.to);
            assert_eq!(prompted, Some(SessionState::Executing), "{state:?}");
        }
    }
}
