//! States of a session, and the table of transitions between them.
//!
//! The table is data: the fold of the journal ([`super::life`]), the tests and the table and diagram of
//! `docs/sessions.md` all read [`RULES`]. A signal that has no rule for the current state is ignored,
//! because hosts repeat signals, send them late and leave some out.

use self::SessionState as S;
use crate::names::enum_names;

/// State of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SessionState {
    /// New, without a prompt.
    Beginning,
    /// The model or one of its tools works.
    Executing,
    /// A turn is over; the session waits for the next prompt.
    BetweenTurn,
    /// The host waits for a permission or an answer of the user.
    WaitingUser,
    /// A subagent works, and the session waits for it.
    WaitingChild,
    /// The host makes a summary of the history.
    Compacting,
    /// A summary replaced the history, and nothing happened since.
    Compacted,
    /// The turn was stopped before its end.
    Interrupted,
    /// An error ended the turn.
    Failed,
    /// Made by a command, without a prompt so far.
    Custom,
    /// Between turns for longer than a prompt stays in a provider's cache.
    Idle,
    /// Without a sign of life for so long that its work has probably moved on.
    Stale,
    /// A subagent that handed over its output.
    Completed,
    /// Deleted in the host, or closed by a command.
    Closed,
}

enum_names!(SessionState {
    Beginning = "beginning",
    Executing = "executing",
    BetweenTurn = "between_turn",
    WaitingUser = "waiting_user",
    WaitingChild = "waiting_child",
    Compacting = "compacting",
    Compacted = "compacted",
    Interrupted = "interrupted",
    Failed = "failed",
    Custom = "custom",
    Idle = "idle",
    Stale = "stale",
    Completed = "completed",
    Closed = "closed",
});

impl SessionState {
    /// Returns true while a turn runs, so that the end of its host's process interrupts it.
    pub fn is_busy(self) -> bool {
        BUSY.contains(&self)
    }

    /// Returns true if nothing more is expected of the session.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Closed)
    }

    /// Returns the label of the seed's five states, where it is one of them.
    pub fn label(self) -> Option<&'static str> {
        Some(match self {
            Self::Beginning => "S1",
            Self::Compacted => "S2",
            Self::BetweenTurn => "S3",
            Self::Interrupted => "S4",
            Self::Custom => "S5",
            _ => return None,
        })
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

/// A signal of a host, a command of the user, or the passing of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Signal {
    /// The session was seen for the first time.
    Opened,
    /// A command made the session.
    Created,
    /// A prompt arrived.
    Prompted,
    /// Another session gave it work.
    Delegated,
    /// A tool call began.
    CallBegun,
    /// The model was called.
    ModelCalled,
    /// The host asks the user.
    Asked,
    /// The user answered.
    Answered,
    /// A subagent began.
    ChildBegun,
    /// The last subagent ended.
    ChildrenEnded,
    /// The turn ended normally.
    TurnEnded,
    /// An error ended the turn.
    TurnFailed,
    /// The user stopped the turn.
    Aborted,
    /// The host's process ended during the turn, and its sidecar saw it.
    Killed,
    /// The host's process was found to be gone.
    Crashed,
    /// The host began to make a summary.
    CompactionBegun,
    /// A summary replaced the history.
    Compacted,
    /// The host took messages back, or restored them.
    Reverted,
    /// A subagent handed over its output.
    Finished,
    /// The session was deleted or closed.
    Closed,
    /// The prompt cache has expired.
    TurnedCold,
    /// No sign of life for the longest time.
    TurnedStale,
}

enum_names!(Signal {
    Opened = "opened",
    Created = "created",
    Prompted = "prompted",
    Delegated = "delegated",
    CallBegun = "call_begun",
    ModelCalled = "model_called",
    Asked = "asked",
    Answered = "answered",
    ChildBegun = "child_begun",
    ChildrenEnded = "children_ended",
    TurnEnded = "turn_ended",
    TurnFailed = "turn_failed",
    Aborted = "aborted",
    Killed = "killed",
    Crashed = "crashed",
    CompactionBegun = "compaction_begun",
    Compacted = "compacted",
    Reverted = "reverted",
    Finished = "finished",
    Closed = "closed",
    TurnedCold = "turned_cold",
    TurnedStale = "turned_stale",
});

/// Source of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SignalSource {
    /// The host.
    Host,
    /// A command of the user or a model.
    Command,
    /// The comparison of the record with the processes that run.
    Reconciliation,
    /// The clock, when a state is shown. Never recorded.
    Time,
}

enum_names!(SignalSource {
    Host = "host",
    Command = "command",
    Reconciliation = "reconciliation",
    Time = "time",
});

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

/// States in which a turn runs.
const BUSY: &[SessionState] = &[S::Executing, S::WaitingUser, S::WaitingChild, S::Compacting];

/// All transitions. Anything that is not listed is ignored.
pub const RULES: &[Rule] = &[
    Rule {
        signal: Signal::Created,
        from: &[S::Beginning],
        to: S::Custom,
        why: "a command made the session",
    },
    // While a turn runs, a prompt is queued and changes nothing.
    Rule {
        signal: Signal::Prompted,
        from: &[
            S::Beginning,
            S::BetweenTurn,
            S::Compacting,
            S::Compacted,
            S::Interrupted,
            S::Failed,
            S::Custom,
            S::Completed,
            S::Closed,
        ],
        to: S::Executing,
        why: "a prompt arrived",
    },
    Rule {
        signal: Signal::Delegated,
        from: &[
            S::Beginning,
            S::Interrupted,
            S::Failed,
            S::Custom,
            S::Completed,
            S::Closed,
        ],
        to: S::Executing,
        why: "another session gave it work",
    },
    // Hosts continue without a prompt after a compaction, and other plugins resume sessions.
    Rule {
        signal: Signal::CallBegun,
        from: &[
            S::Beginning,
            S::BetweenTurn,
            S::Compacting,
            S::Compacted,
            S::Interrupted,
            S::Failed,
            S::Custom,
            S::Completed,
            S::Closed,
        ],
        to: S::Executing,
        why: "a tool call began",
    },
    // Only here: the cost of a turn may be reported after its end.
    Rule {
        signal: Signal::ModelCalled,
        from: &[S::Compacted],
        to: S::Executing,
        why: "the model went on after the compaction",
    },
    Rule {
        signal: Signal::Asked,
        from: &[
            S::Beginning,
            S::Executing,
            S::WaitingChild,
            S::Compacting,
            S::Compacted,
            S::Custom,
        ],
        to: S::WaitingUser,
        why: "the user is asked",
    },
    Rule {
        signal: Signal::Answered,
        from: &[S::WaitingUser],
        to: S::Executing,
        why: "the user answered",
    },
    Rule {
        signal: Signal::ChildBegun,
        from: &[S::Beginning, S::Executing, S::Compacted, S::Custom],
        to: S::WaitingChild,
        why: "a subagent began",
    },
    Rule {
        signal: Signal::ChildrenEnded,
        from: &[S::WaitingChild],
        to: S::Executing,
        why: "its subagents have ended",
    },
    // A summary that the user asked for ends with an idle host: the session stays compacted.
    Rule {
        signal: Signal::TurnEnded,
        from: &[
            S::Beginning,
            S::Executing,
            S::WaitingUser,
            S::WaitingChild,
            S::Compacting,
            S::Custom,
        ],
        to: S::BetweenTurn,
        why: "the turn ended",
    },
    // The host may be idle before the message with the error is final.
    Rule {
        signal: Signal::TurnFailed,
        from: &[
            S::Beginning,
            S::Executing,
            S::BetweenTurn,
            S::WaitingUser,
            S::WaitingChild,
            S::Compacting,
            S::Compacted,
            S::Custom,
        ],
        to: S::Failed,
        why: "an error ended the turn",
    },
    // A stop says more than the idle host and the failed calls that follow from it, in any order.
    Rule {
        signal: Signal::Aborted,
        from: &[
            S::Beginning,
            S::Executing,
            S::BetweenTurn,
            S::WaitingUser,
            S::WaitingChild,
            S::Compacting,
            S::Compacted,
            S::Failed,
            S::Custom,
        ],
        to: S::Interrupted,
        why: "the user stopped the turn",
    },
    Rule {
        signal: Signal::Killed,
        from: BUSY,
        to: S::Interrupted,
        why: "the host ended during the turn",
    },
    Rule {
        signal: Signal::Crashed,
        from: BUSY,
        to: S::Interrupted,
        why: "the host's process is gone, and the turn never ended",
    },
    Rule {
        signal: Signal::CompactionBegun,
        from: &[
            S::Beginning,
            S::Executing,
            S::BetweenTurn,
            S::WaitingUser,
            S::WaitingChild,
            S::Compacted,
            S::Interrupted,
            S::Failed,
            S::Custom,
        ],
        to: S::Compacting,
        why: "the host began to make a summary",
    },
    Rule {
        signal: Signal::Compacted,
        from: &[
            S::Beginning,
            S::Executing,
            S::BetweenTurn,
            S::WaitingUser,
            S::WaitingChild,
            S::Compacting,
            S::Interrupted,
            S::Failed,
            S::Custom,
        ],
        to: S::Compacted,
        why: "a summary replaced the history",
    },
    Rule {
        signal: Signal::Reverted,
        from: &[S::Compacted, S::Interrupted, S::Failed],
        to: S::BetweenTurn,
        why: "the host took messages back or restored them",
    },
    Rule {
        signal: Signal::Finished,
        from: &[
            S::Beginning,
            S::Executing,
            S::BetweenTurn,
            S::WaitingUser,
            S::WaitingChild,
            S::Compacting,
            S::Compacted,
            S::Interrupted,
            S::Failed,
            S::Custom,
        ],
        to: S::Completed,
        why: "its output was handed over",
    },
    Rule {
        signal: Signal::Closed,
        from: &[
            S::Beginning,
            S::Executing,
            S::BetweenTurn,
            S::WaitingUser,
            S::WaitingChild,
            S::Compacting,
            S::Compacted,
            S::Interrupted,
            S::Failed,
            S::Custom,
            S::Completed,
        ],
        to: S::Closed,
        why: "it was deleted or closed",
    },
    // The rest is never recorded: it follows from the clock whenever a state is shown.
    Rule {
        signal: Signal::TurnedCold,
        from: &[S::BetweenTurn, S::Compacted],
        to: S::Idle,
        why: "nothing happened for longer than a prompt stays in the cache",
    },
    // A running turn whose process is known is found by reconciliation instead.
    Rule {
        signal: Signal::TurnedStale,
        from: &[
            S::Beginning,
            S::Executing,
            S::BetweenTurn,
            S::WaitingUser,
            S::WaitingChild,
            S::Compacting,
            S::Compacted,
            S::Custom,
            S::Idle,
        ],
        to: S::Stale,
        why: "no sign of life for a long time",
    },
];

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
