//! The turn of a session that is being served: what was seen of it and is not recorded yet, and how far it
//! is.
//!
//! Hosts report the end of a turn in several events and messages, in different orders. [`Ingest`] makes one
//! entry of them; `ingest` fills it and records its entries.

use std::collections::BTreeMap;

use flamestack_core::id::Timestamp;
use flamestack_core::session::life::STOPPED;
use flamestack_core::transcript::{Entry, EntryKind};

use super::wire::HostMessage;
use crate::opencode::entries::{EMPTY_ANSWER, Source, entries};

/// The part of a session that is not recorded yet, and what has to be remembered until more of it
/// is seen.
#[derive(Default)]
pub(super) struct Ingest {
    /// Messages of the model's last request, which was answered before they were read.
    pub(super) deferred: Vec<HostMessage>,
    pub(super) waiting: Vec<Entry>,
    /// The newest message of the model in this turn.
    pub(super) last: Option<String>,
    /// That message, if it says nothing and cost nothing, and the host has not asked again.
    pub(super) empty: Option<String>,
    /// Times at which the messages began, in milliseconds since 1970.
    pub(super) began: BTreeMap<String, i64>,
    pub(super) turn: Turn,
    /// Time at which the host was idle; none since the next prompt. Calls of messages that began before
    /// are reported late, and start no turn.
    idle_at: Option<i64>,
    /// An error that ended the turn, and that no message has named yet, with the message that will.
    pub(super) failed: Option<(String, Option<String>)>,
    pub(super) history: History,
    /// True if messages were removed for good: what was reverted stays so.
    pub(super) is_cut: bool,
    /// True once the process that serves the session is recorded.
    pub(super) is_hosted: bool,
    /// True if anything of the session was recorded by this process.
    pub(super) has_begun: bool,
}

/// The messages of a session from before this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum History {
    /// All that are needed are known.
    #[default]
    Known,
    /// Another process served the session last and may have ended without recording all of them: they come
    /// first.
    Awaited,
}

/// The progress of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Turn {
    #[default]
    Running,
    /// The user stopped it, and no message has said so yet.
    Stopping { was_idle: bool },
    /// The user stopped it, and that is recorded.
    Stopped,
}

impl Ingest {
    /// Starts the turn of a user's message.
    pub(super) fn begin_turn(&mut self) {
        self.is_cut = false;
        self.end_stopping();
        self.failed = None;
        self.last = None;
        self.empty = None;
        self.idle_at = None;
        self.turn = Turn::Running;
    }

    /// Keeps messages that are read once the host has its answer.
    ///
    /// The host asks the model, so that an empty answer before was not the end of the turn.
    pub(super) fn defer(&mut self, messages: Vec<HostMessage>) {
        self.empty = None;
        self.deferred.extend(messages);
    }

    /// Records nothing before the next request to the model, which has all messages.
    pub(super) fn await_history(&mut self) {
        self.history = History::Awaited;
    }

    pub(super) fn extend(&mut self, entries: Vec<Entry>) {
        self.waiting.extend(entries);
    }

    pub(super) fn message(&mut self, message: &HostMessage, source: Source<'_>) {
        if let Some(at) = message.at {
            self.began.insert(message.id.clone(), at);
        }
        self.waiting.extend(entries(message, source));
    }

    pub(super) fn add(&mut self, id: Option<String>, kind: EntryKind) {
        let entry = Entry::from(kind);
        self.waiting.push(Entry { id, ..entry });
    }

    /// Handles a stop of the turn by the user.
    pub(super) fn stop(&mut self) {
        if self.turn == Turn::Running {
            self.turn = Turn::Stopping { was_idle: false };
        }
    }

    /// Records a stop that the host reports once: OpenCode names no error if it was about to ask the
    /// provider again.
    pub(super) fn stop_at_last(&mut self) {
        if self.turn == Turn::Running {
            self.turn = Turn::Stopped;
            let (last, how) = (self.last.clone(), STOPPED.to_owned());
            self.add(last, EntryKind::Interrupted { how });
        }
    }

    /// Handles an error that ends the turn, unless a message says so.
    pub(super) fn fail(&mut self, why: &str, message: Option<&str>) {
        if self.turn == Turn::Running {
            self.failed = Some((why.to_owned(), message.map(str::to_owned)));
        }
    }

    /// Handles the report that the host is idle, which is the ordinary end of a turn that was not stopped.
    ///
    /// OpenCode reports a stop as an error of the session, an idle session, a message with the same
    /// error, and an idle session again. That is one interruption, recorded with the message, whose
    /// id makes it count once, and neither of the two is the end of an ordinary turn. An error is reported in
    /// the same order, and recorded immediately under the id of its message.
    pub(super) fn idle(&mut self, now: Timestamp) {
        self.idle_at = Some(now.0);
        match self.turn {
            Turn::Running => {
                let (last, failed) = (self.last.clone(), self.failed.take());
                // OpenCode asks again after an empty answer; one that nothing follows ends no turn.
                let empty = self.empty.as_ref().map(|_| EMPTY_ANSWER.to_owned());
                match failed.or(empty.map(|why| (why, None))) {
                    Some((why, message)) => self.add(message, EntryKind::Failed { why }),
                    None => self.add(last, EntryKind::TurnEnded),
                }
            }
            Turn::Stopping { was_idle: false } => self.turn = Turn::Stopping { was_idle: true },
            Turn::Stopping { was_idle: true } => self.end_stopping(),
            Turn::Stopped => {}
        }
    }

    /// Returns true if a message began before the host was idle: its calls ended with that turn.
    pub(super) fn is_late(&self, message: &HostMessage) -> bool {
        let is_over = self.turn == Turn::Stopped || self.idle_at.is_some();
        let idle_at = self.idle_at.unwrap_or(i64::MAX);
        is_over && message.at.is_some_and(|began| began <= idle_at)
    }

    /// Records a stop that no message has confirmed: the model had not begun to answer.
    pub(super) fn end_stopping(&mut self) {
        if matches!(self.turn, Turn::Stopping { .. }) {
            self.turn = Turn::Stopped;
            let how = STOPPED.to_owned();
            self.add(None, EntryKind::Interrupted { how });
        }
    }
}
